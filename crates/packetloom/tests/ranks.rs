//! Ranks of jobs that begin late, compute slowly, or fail: what can be worked out by hand.

use crate::common::{cases, run, simulate, write_file};
use packetloom::measure::fingerprint;
use packetloom::scenario::Scenario;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;
use std::path::Path;

const NDP: &str =
    "transport = { kind = \"ndp\", pull_rate = 1.0 }\nqueue = \"ndp\"\nrouting = \"permutation\"";
const PACKETS: &str = "\"packets\"";
const FLOWS: &str = "\"flows\"";
const WHOLE: &str = "{ kind = \"flows\", collectives = \"whole\" }";
const RUNGS: [&str; 3] = [PACKETS, FLOWS, WHOLE];

fn text(topology: &str, workloads: &[&str], faults: &[&str], fidelity: &str) -> String {
    let sections = |name: &str, all: &[&str]| {
        all.iter().map(|one| format!("[[{name}]]\n{one}\n")).collect::<Vec<_>>().concat()
    };
    format!(
        "[topology]\n{topology}\nlink = {{ rate = \"100Gbps\", delay = \"1us\" }}\n{}{}\
         [[scheme]]\nname = \"any\"\n{NDP}\n[run]\nfidelity = {fidelity}\n",
        sections("workload", workloads),
        sections("fault", faults),
    )
}

/// A job on a rack of so many hosts.
fn job(hosts: u32, arrivals: &str, faults: &[&str], fidelity: &str) -> Outcome {
    let rack = format!("kind = \"rack\"\nhosts = {hosts}");
    run(&text(&rack, &[&format!("arrivals = {{ {arrivals} }}")], faults, fidelity))
}

/// Two ranks that compute for 10 us in each of five steps.
fn computing(faults: &[&str], fidelity: &str) -> Outcome {
    write_file("ranks-compute.goal", "num_ranks 2\nrank 0 {\nc: calc 10000\n}\nrank 1 {\nc: calc 10000\n}\n");
    job(2, "kind = \"goal\", file = \"ranks-compute.goal\", repeat = 5", faults, fidelity)
}

/// So many data parallel ranks that compute for 300 us in each step, and then reduce 900 KB for each of them.
fn training(ranks: u32, steps: u32, faults: &[&str], fidelity: &str) -> Outcome {
    let gradients = PART * u64::from(ranks);
    let arrivals = format!(
        "kind = \"training\", data = {ranks}, layers = 1, forward = \"100us\", activations = \"1KB\", \
         gradients = \"{gradients}B\", repeat = {steps}"
    );
    job(ranks, &arrivals, faults, fidelity)
}

const PART: u64 = 900_000;
const COMPUTE: Time = Time::from_us(300);

/// What a message of full packets of 9064 B takes on a link of 100 Gb/s, and what follows its last bit.
const WIRE: Time = Time((PART + 100 * 64) * 80);
const BEHIND: Time = Time(725_120 + 2_000_000);

/// What a ring takes whose ranks begin together.
fn ring(ranks: u32) -> Time {
    (WIRE + BEHIND).times(2 * u64::from(ranks - 1))
}

fn ends(outcome: &Outcome) -> Vec<Option<u64>> {
    let end = |end: Time| (end != Time::NEVER).then(|| end.as_ps() / 1_000_000);
    outcome.iterations.iter().map(|row| end(row.end)).collect()
}

fn last_end(outcome: &Outcome) -> Time {
    outcome.iterations.last().expect("a repetition").end
}

#[track_caller]
fn assert_says(outcome: &Outcome, what: &str) {
    assert!(outcome.warnings.iter().any(|one| one.contains(what)), "{:?}", outcome.warnings);
}

fn assert_close(time: Time, expected: Time, within: f64, about: &str) {
    let ratio = time.as_ns_f64() / expected.as_ns_f64();
    assert!((ratio - 1.0).abs() <= within, "{about}: {time}, not {expected}");
}

#[test]
fn a_rank_is_late_with_the_steps_that_it_could_begin_in_the_time() {
    let fault = "kind = \"rank-delay\"\nrank = 1\nby = \"5us\"\nat = \"10us\"\nuntil = \"35us\"";
    for rung in RUNGS {
        // The second step from 15 us on, the third, which it could begin at 25, from 30; no other.
        assert_eq!(ends(&computing(&[fault], rung)), [10, 25, 40, 50, 60].map(Some), "{rung}");
        let twice = computing(&[fault, fault], rung);
        assert_eq!(ends(&twice)[1], Some(30), "{rung}: delays add up");
    }
}

#[test]
fn a_rank_is_slow_for_as_long_as_it_is_and_no_longer() {
    let slow =
        |factor: &str, times: &str| format!("kind = \"rank-slow\"\nrank = 0\nfactor = {factor}\n{times}");
    for rung in RUNGS {
        // Of the 10 us 4 are done before, 2 in the 6 us of the time, and 4 after it.
        let outcome = computing(&[&slow("3.0", "at = \"4us\"\nuntil = \"10us\"")], rung);
        assert_eq!(ends(&outcome), [14, 24, 34, 44, 54].map(Some), "{rung}");
        // The slowest holds: 4, then 1 in the 2 us of both and 3 in the 9 us of the one, then 2.
        let both =
            [slow("2.0", "at = \"4us\"\nuntil = \"6us\""), slow("3.0", "at = \"6us\"\nuntil = \"15us\"")];
        let outcome = computing(&[&both[0], &both[1]], rung);
        assert_eq!(ends(&outcome)[0], Some(17), "{rung}");
        let overlapping =
            [slow("2.0", "at = \"4us\"\nuntil = \"15us\""), slow("3.0", "at = \"6us\"\nuntil = \"15us\"")];
        assert_eq!(ends(&computing(&[&overlapping[0], &overlapping[1]], rung))[0], Some(17), "{rung}");
        assert_eq!(ends(&computing(&[&slow("2.5", "")], rung)), [25, 50, 75, 100, 125].map(Some), "{rung}");
        let row = outcome.ranks.iter().find(|row| row.rank == 0).expect("a rank");
        assert_eq!(row.computed, Time::from_us(17), "{rung}");
    }
}

#[test]
fn a_ring_with_a_slow_rank_takes_as_long_as_that_computes_and_the_ring() {
    let slow = "kind = \"rank-slow\"\nrank = 1\nfactor = 1.5";
    for ranks in [2, 3, 8] {
        let outcome = training(ranks, 1, &[slow], WHOLE);
        assert_eq!(last_end(&outcome), Time::from_us(450) + ring(ranks), "{ranks} ranks");
        let reduced = outcome.ranks.iter().find(|row| row.rank == 1).expect("a rank");
        assert_eq!((reduced.last_in, reduced.delayed), (1, Time::from_us(150)));
    }
    // Of two ranks the one has the other's first part when it begins, so that its two messages share its link; then the
    // other sends its second.
    let expected = Time::from_us(450) + WIRE.times(3) + BEHIND.times(2);
    assert_eq!(last_end(&training(2, 1, &[slow], FLOWS)), expected);
    assert_close(last_end(&training(2, 1, &[slow], PACKETS)), expected, 0.01, "packets");
    for rung in RUNGS {
        assert_close(last_end(&training(2, 1, &[], rung)), COMPUTE + ring(2), 0.01, rung);
    }
}

#[test]
fn a_ring_with_a_late_rank_is_as_late() {
    let late = "kind = \"rank-delay\"\nrank = 2\nby = \"1ms\"";
    let arrivals = "kind = \"collective\", operation = \"all-reduce\", size = \"3600000B\"";
    let took = |fidelity| last_end(&job(4, arrivals, &[late], fidelity));
    assert_eq!(took(WHOLE), Time::from_us(1_000) + ring(4));
    // Message by message the late rank has three parts when it begins, and sends four, which share its link; so does the
    // next with those of its six stages that it has not sent, and the one after that. The fourth has three left to send,
    // then the late rank its last two, and the next one its last.
    let expected = Time::from_us(1_000) + WIRE.times(4 + 4 + 4 + 3 + 2 + 1) + BEHIND.times(6);
    assert_eq!(took(FLOWS), expected);
    // Packets of messages that share a link come in another order; the late rank's own link carries six parts.
    let packets = took(PACKETS);
    assert!(packets < expected && packets > Time::from_us(1_000) + WIRE.times(6), "{packets}");
}

#[test]
fn a_job_stops_when_a_rank_fails() {
    let fail = "kind = \"rank-fail\"\nrank = 1\nat = \"25us\"";
    for rung in RUNGS {
        let outcome = computing(&[fail], rung);
        assert_eq!(ends(&outcome), [Some(10), Some(20), None], "{rung}");
        assert_says(
            &outcome,
            "rank 1 of workload[0] failed at 25us: its job stopped; 2 of 5 steps were finished",
        );
        assert!(outcome.stalled.is_none(), "{rung}");
    }
    // With messages under way: they are delivered, and nobody waits for those that never start.
    for rung in RUNGS {
        let outcome = training(4, 3, &["kind = \"rank-fail\"\nrank = 0\nat = \"500us\""], rung);
        assert_eq!(ends(&outcome), [None], "{rung}");
        assert_eq!(outcome.never_started, 0, "{rung}");
        assert!(outcome.stalled.is_none() && outcome.flows.iter().all(|row| row.fct().is_some()), "{rung}");
    }
}

#[test]
fn a_job_begins_again_with_the_step_that_was_not_finished() {
    let fail = "kind = \"rank-fail\"\nrank = 0\nthen = \"restart\"\nafter = \"30us\"\n";
    for rung in RUNGS {
        let outcome = computing(&[&format!("{fail}at = \"25us\"")], rung);
        assert_eq!(ends(&outcome), [10, 20, 65, 75, 85].map(Some), "{rung}");
        assert_eq!(outcome.iterations[2].start, Time::from_us(55), "{rung}");
        assert_says(&outcome, "its job began again 30us later; 2 of 5 steps were finished");
        assert_eq!(outcome.ranks.len(), 10, "{rung}: each rank has each step once");
    }
    // Ranks are in different steps when one fails: of these the first is done again by all.
    for rung in RUNGS {
        let slow = "kind = \"rank-slow\"\nrank = 1\nfactor = 2.0";
        let outcome = computing(&[slow, &format!("{fail}at = \"25us\"")], rung);
        assert_eq!(ends(&outcome), [20, 75, 95, 115, 135].map(Some), "{rung}");
    }
    for rung in RUNGS {
        let usual = training(3, 1, &[], rung);
        let step = last_end(&usual);
        let at = Time(step.as_ps() * 5 / 2);
        let outcome = training(3, 5, &[&format!("{fail}at = \"{}ps\"", at.as_ps())], rung);
        let expected = at + Time::from_us(30) + step.times(3);
        let within = if rung == PACKETS { 0.005 } else { 0.0 };
        assert_close(last_end(&outcome), expected, within, rung);
        assert_eq!(outcome.iterations.len(), 5, "{rung}");
        assert_eq!(outcome.jobs.len(), 5, "{rung}");
        assert!(outcome.jobs.iter().all(|row| row.end != Time::NEVER && row.source == 0), "{rung}");
    }
}

#[test]
fn a_job_goes_on_without_a_replica() {
    let fail = "kind = \"rank-fail\"\nrank = 1\nthen = \"without-replica\"\nafter = \"1ms\"\nat = \"400us\"";
    for (ranks, left) in [(4, 3), (3, 2)] {
        let outcome = training(ranks, 3, &[fail], WHOLE);
        // The ring has the same bytes, in larger parts.
        let bytes = PART * u64::from(ranks) / u64::from(left);
        let part = Time((bytes + bytes.div_ceil(9_000) * 64) * 80);
        let ring = (part + BEHIND).times(2 * u64::from(left - 1));
        let step = COMPUTE + ring;
        assert_eq!(last_end(&outcome), Time::from_us(1_400) + step.times(3), "{ranks} ranks");
        assert_eq!(outcome.iterations.iter().map(|row| row.ranks).collect::<Vec<_>>(), [left; 3]);
        assert!(outcome.ranks.iter().all(|row| row.rank != 1));
        assert_says(&outcome, &format!("its job went on 1ms later on {left} of {ranks} ranks; 0 of 3 steps"));
    }
    // One that is left has nobody to reduce with.
    for rung in RUNGS {
        let outcome = training(2, 2, &[fail], rung);
        assert_eq!(last_end(&outcome), Time::from_us(1_400) + COMPUTE.times(2), "{rung}");
    }
    // Tensor and pipeline parallel ranks of the copy go with it.
    let arrivals = "kind = \"training\", tensor = 2, data = 3, pipeline = 2, layers = 2, microbatches = 2, \
                    forward = \"10us\", activations = \"20KB\", gradients = \"60KB\", repeat = 4";
    for rung in RUNGS {
        let outcome = job(12, arrivals, &[&fail.replace("rank = 1\n", "rank = 8\n")], rung);
        assert_eq!(outcome.iterations.len(), 4, "{rung}");
        assert!(outcome.iterations.iter().all(|row| row.end != Time::NEVER), "{rung}");
        let last: Vec<u32> =
            outcome.ranks.iter().filter(|row| row.iteration == 3).map(|row| row.rank).collect();
        assert_eq!(last, [0, 1, 4, 5, 6, 7, 10, 11], "{rung}: rank 8 is of the copy of ranks 2, 3, 8 and 9");
    }
}

#[test]
fn a_fault_that_changes_nothing_is_said_to() {
    let faults = [
        "kind = \"rank-fail\"\nrank = 0\nat = \"1ms\"\nthen = \"restart\"\nafter = \"1us\"",
        "kind = \"rank-slow\"\nrank = 0\nfactor = 2.0\nat = \"500us\"",
        "kind = \"rank-delay\"\nrank = 0\nby = \"1us\"\nat = \"50us\"",
    ];
    for rung in RUNGS {
        let outcome = computing(&faults, rung);
        assert_eq!(ends(&outcome), [10, 20, 30, 40, 50].map(Some), "{rung}");
        for fault in 0..3 {
            assert_says(&outcome, &format!("fault[{fault}] changed nothing"));
        }
        assert!(outcome.stalled.is_none(), "{rung}");
    }
    // Background traffic does not go on for a failure that does not come.
    let background = "background = true\nsizes = { kind = \"constant\", size = \"10KB\" }\n\
                      arrivals = { kind = \"poisson\", rate_per_second = 1e5 }";
    write_file("ranks-compute.goal", "num_ranks 2\nrank 0 {\nc: calc 10000\n}\nrank 1 {\nc: calc 10000\n}\n");
    let goal = "arrivals = { kind = \"goal\", file = \"ranks-compute.goal\", repeat = 5 }";
    for rung in [PACKETS, FLOWS] {
        let text = text("kind = \"rack\"\nhosts = 2", &[goal, background], &[faults[0]], rung);
        let outcome = run(&text);
        assert!(outcome.simulated < Time::from_us(200), "{rung}: {}", outcome.simulated);
    }
}

#[test]
fn of_several_jobs_one_has_a_failure() {
    let ring = "arrivals = { kind = \"collective\", operation = \"all-reduce\", size = \"1MB\", repeat = 3 }";
    let fail =
        "kind = \"rank-fail\"\njob = 1\nrank = 2\nat = \"300us\"\nthen = \"restart\"\nafter = \"50us\"";
    for rung in RUNGS {
        let text = text("kind = \"rack\"\nhosts = 4", &[ring, ring], &[fail], rung)
            + "[measure]\noperations = true\n";
        let outcome = run(&text);
        let rows: Vec<(u8, u32)> = outcome.iterations.iter().map(|row| (row.source, row.iteration)).collect();
        assert_eq!(rows, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)], "{rung}");
        assert!(outcome.iterations.iter().all(|row| row.end != Time::NEVER), "{rung}");
        let sources: Vec<u8> = outcome.critical_path.iter().map(|row| row.source).collect();
        assert!(sources.is_sorted() && sources.contains(&1), "{rung}");
        assert!(outcome.operations.is_sorted_by_key(|row| (row.source, row.rank)), "{rung}");
    }
}

#[test]
fn failures_do_not_depend_on_threads_and_windows() {
    let training = "arrivals = { kind = \"training\", tensor = 2, data = 4, pipeline = 2, layers = 2, \
                    microbatches = 2, forward = \"10us\", activations = \"200KB\", gradients = \"600KB\", repeat = 4 }";
    let faults = [
        "kind = \"rank-slow\"\nrank = 3\nfactor = 1.7\nat = \"50us\"\nuntil = \"900us\"",
        "kind = \"rank-fail\"\nrank = 5\nat = \"777us\"\nthen = \"without-replica\"\nafter = \"300ns\"",
    ];
    let leaves = "kind = \"leaf-spine\"\nspines = 2\nleaves = 4\nhosts_per_leaf = 4";
    let case = cases(&text(leaves, &[training], &faults, PACKETS)).remove(0);
    let outcome = |threads, longest| {
        let simulation = Simulation::new(case.clone()).expect("a sound case");
        let simulation = simulation.with_threads(threads).with_windows_up_to(longest);
        simulation.run(&Monitor::default()).expect("it can be run")
    };
    let one = outcome(1, Time::NEVER);
    assert_says(&one, "went on 300ns later on 12 of 16 ranks");
    for (threads, longest) in [(4, Time::NEVER), (1, Time::from_ns(100)), (3, Time::from_ns(70))] {
        let other = outcome(threads, longest);
        assert_eq!(fingerprint(&other.flows), fingerprint(&one.flows), "{threads} threads, {longest}");
        assert_eq!(other.iterations, one.iterations);
        assert_eq!(other.ranks, one.ranks);
    }
}

#[test]
fn a_fault_can_be_an_axis() {
    write_file("ranks-compute.goal", "num_ranks 2\nrank 0 {\nc: calc 10000\n}\nrank 1 {\nc: calc 10000\n}\n");
    let goal = "arrivals = { kind = \"goal\", file = \"ranks-compute.goal\", repeat = 5 }";
    let slow = "kind = \"rank-slow\"\nrank = [0, 1]\nfactor = 2.0\nat = [\"0us\", \"never\"]";
    let cases = cases(&text("kind = \"rack\"\nhosts = 2", &[goal], &[slow], PACKETS));
    let lasts: Vec<Time> = cases.into_iter().map(|case| last_end(&simulate(case))).collect();
    assert_eq!(lasts.iter().filter(|last| **last == Time::from_us(100)).count(), 2);
    assert_eq!(lasts.iter().filter(|last| **last == Time::from_us(50)).count(), 2);
}

/// What is said of a scenario.
fn refused(workloads: &[&str], fault: &str, fidelity: &str) -> String {
    let text = text("kind = \"rack\"\nhosts = 8", workloads, &[fault], fidelity);
    let scenario = Scenario::from_toml(&text, "test", Path::new(env!("CARGO_TARGET_TMPDIR")));
    match scenario.and_then(|scenario| packetloom::simulation::check(&scenario)) {
        Ok(()) => panic!("it is not refused: {fault}"),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn faults_that_make_no_sense_are_refused_with_what_to_write() {
    let ring = "arrivals = { kind = \"collective\", operation = \"all-reduce\", size = \"1MB\" }";
    let flows = "sizes = { kind = \"constant\", size = \"1KB\" }\narrivals = \"at-once\"";
    let training = |more: &str| {
        format!(
            "arrivals = {{ kind = \"training\", {more}, layers = 1, forward = \"1us\", activations = \"1KB\", gradients = \"1KB\" }}"
        )
    };
    let tuner = "arrivals = { kind = \"collective\", operation = \"all-reduce\", size = \"1MB\", \
                 library = { kind = \"nccl\", mode = \"tuner\", generation = \"hopper\" } }";
    let experts = training("data = 4, experts = 2");
    let alone = training("tensor = 2");
    let without = "kind = \"rank-fail\"\nrank = 0\nat = \"1us\"\nthen = \"without-replica\"\nafter = \"1us\"";
    let stop = "kind = \"rank-fail\"\nrank = 0\nat = \"1us\"";
    let slow = "kind = \"rank-slow\"\nrank = 0\nfactor = 2.0";
    let cases: &[(&[&str], &str, &str, &[&str])] = &[
        (
            &[ring],
            "kind = \"rank-slow\"\nrank = 0\nfactor = 1.0",
            PACKETS,
            &["factor", "write a number above 1"],
        ),
        (&[ring], slow, FLOWS, &["rank", "computes nothing", "rank-delay"]),
        (&[ring], "kind = \"rank-delay\"\nrank = 8\nby = \"1us\"", FLOWS, &["has 8 ranks"]),
        (&[ring], "kind = \"rank-delay\"\nrank = 0\nby = \"0us\"", FLOWS, &["write a time above 0"]),
        (
            &[ring],
            "kind = \"rank-delay\"\nrank = 0\nby = \"1us\"\nat = \"2us\"\nuntil = \"1us\"",
            FLOWS,
            &["later time"],
        ),
        (&[ring, ring], stop, FLOWS, &["2 [[workload]] are jobs", "write job = 0"]),
        (&[ring, flows], &format!("{stop}\njob = 1"), PACKETS, &["workload[1] is no job", "write job = 0"]),
        (&[flows], stop, PACKETS, &["no [[workload]] is a job"]),
        (&[ring], &format!("{stop}\nthen = \"restart\""), PACKETS, &["after", "is missing"]),
        (&[ring], &format!("{stop}\nthen = \"restart\"\nafter = \"0us\""), PACKETS, &["at least 1ns"]),
        (&[ring], without, PACKETS, &["only \"training\" says", "\"restart\""]),
        (&[&experts], without, FLOWS, &["experts that the others need"]),
        (&[&alone], without, FLOWS, &["no other copy of the model"]),
        (&[tuner], stop, PACKETS, &["sends nothing that could fail"]),
        (&[ring], &format!("{stop}\n[[fault]]\n{stop}"), PACKETS, &["a second failure is not modelled"]),
        (&[ring], stop, "\"steady\"", &["faults of ranks go by the clock"]),
    ];
    for (workloads, fault, fidelity, words) in cases {
        let said = refused(workloads, fault, fidelity);
        assert!(words.iter().all(|word| said.contains(word)), "{fault}: {said}");
    }
}

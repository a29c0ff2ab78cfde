//! Collective operations take as long as theory predicts.

use crate::common::{cases, run};
use packetloom::measure::fingerprint;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;

/// Pulls at the full rate, so that nothing but the network takes time.
const NDP: &str =
    "transport = { kind = \"ndp\", pull_rate = 1.0 }\nqueue = \"ndp\"\nrouting = \"permutation\"";

fn text(topology: &str, collective: &str, scheme: &str) -> String {
    format!(
        "[topology]\n{topology}\nlink = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\n[[workload]]\n\
         arrivals = {{ kind = \"collective\", {collective} }}\n\n[[scheme]]\nname = \"any\"\n{scheme}\n"
    )
}

fn collective(topology: &str, collective: &str, scheme: &str) -> Outcome {
    let outcome = run(&text(topology, collective, scheme));
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    outcome
}

const RACK_OF_8: &str = "kind = \"rack\"\nhosts = 8";

/// From one host of the rack to another: each packet of 9064 B takes 725.12 ns on a link, and a link has 1 us of
/// delay.
fn chunk_time(bytes: u64) -> Time {
    let (packets, last) = (bytes.div_ceil(9_000), bytes - (bytes.div_ceil(9_000) - 1) * 9_000 + 64);
    let full = Time(725_120);
    let last = Time(last * 80);
    // The last packet leaves after all others, and follows the one before it through the switch.
    if packets == 1 {
        last.times(2) + Time::from_us(2)
    } else {
        let behind = (full.times(packets - 1) + last + last).max(full.times(packets) + last);
        behind + Time::from_us(2)
    }
}

#[test]
fn a_ring_takes_as_long_as_its_chunks() {
    // 7.2 MB among 8 hosts: chunks of 100 packets.
    for (operation, steps) in [("all-reduce", 14), ("all-gather", 7), ("reduce-scatter", 7)] {
        let outcome = collective(RACK_OF_8, &format!("operation = \"{operation}\", size = \"7.2MB\""), NDP);
        let job = &outcome.jobs[0];
        let took = job.completion_time().expect("it is done");
        // No two flows share a link, so each step takes as long as a chunk alone.
        let expected = chunk_time(900_000).times(steps).as_secs_f64();
        let share = took.as_secs_f64() / expected;
        assert!((1.0..1.01).contains(&share), "{operation}: {took} is {share} of {expected}");
        // 2 (N-1) / N times S over the rate, headers included, and the latency of each step.
        let wire = 7.2e6 * 8.0 * 9_064.0 / 9_000.0 / 100e9 / 8.0 * steps as f64;
        let latency = steps as f64 * (2e-6 + 725.12e-9);
        assert!((took.as_secs_f64() / (wire + latency) - 1.0).abs() < 0.01, "{operation}: {took}");
        let bus = job.bus_gbps().expect("it is done");
        assert!((bus - 100.0 * 9_000.0 / 9_064.0 * wire / took.as_secs_f64()).abs() < 0.01, "{bus}");
    }
}

#[test]
fn halving_and_doubling_takes_fewer_steps() {
    for (operation, steps, bytes) in [("all-reduce", 6, 14), ("all-gather", 3, 7), ("reduce-scatter", 3, 7)] {
        let what = format!("operation = \"{operation}\", algorithm = \"halving-doubling\", size = \"7.2MB\"");
        let took = collective(RACK_OF_8, &what, NDP).jobs[0].completion_time().expect("it is done");
        let wire = 7.2e6 / 8.0 * 8.0 * 9_064.0 / 9_000.0 / 100e9 * f64::from(bytes);
        let expected = wire + f64::from(steps) * (2e-6 + 725.12e-9);
        let share = took.as_secs_f64() / expected;
        assert!((0.999..1.01).contains(&share), "{operation}: {took} is {share} of {expected}");
    }
    // With small vectors the latency counts, and with it the number of steps.
    let took = |algorithm: &str| {
        let what = format!("operation = \"all-reduce\", algorithm = \"{algorithm}\", size = \"8KB\"");
        collective(RACK_OF_8, &what, NDP).jobs[0].completion_time().expect("it is done")
    };
    assert!(took("ring") > took("halving-doubling").times(2));
}

#[test]
fn all_to_all_fills_every_link() {
    for algorithm in ["direct", "in-turn"] {
        let what = format!("operation = \"all-to-all\", algorithm = \"{algorithm}\", size = \"72MB\"");
        let outcome = collective(RACK_OF_8, &what, NDP);
        let took = outcome.jobs[0].completion_time().expect("it is done").as_secs_f64();
        let wire = 72e6 * 7.0 / 8.0 * 8.0 * 9_064.0 / 9_000.0 / 100e9;
        assert!((1.0..1.06).contains(&(took / wire)), "{algorithm}: {took} for {wire}");
        assert_eq!(outcome.flows.len(), 56);
    }
}

#[test]
fn repetitions_follow_one_another() {
    let what = "operation = \"all-reduce\", size = \"1MB\", ranks = 4, order = \"random\", repeat = 3";
    for scheme in
        [NDP, "transport = \"dctcp\"\nqueue = \"ecn\"", "transport = \"line-rate\"\nqueue = \"pfabric\""]
    {
        let outcome = collective("kind = \"fat-tree\"\nk = 4", what, scheme);
        let hosts: std::collections::BTreeSet<u32> = outcome.flows.iter().map(|row| row.flow.src).collect();
        assert_eq!((hosts.len(), outcome.jobs.len()), (4, 3), "{scheme}");
        assert!(hosts != (0..4).collect());
        for jobs in outcome.jobs.windows(2) {
            assert!(jobs[0].start < jobs[1].start && jobs[1].start <= jobs[0].end, "{scheme}");
            let (first, second) = (jobs[0].completion_time(), jobs[1].completion_time());
            assert!(first.is_some() && second.is_some());
        }
    }
}

#[test]
fn operations_do_not_depend_on_windows_and_threads() {
    for algorithm in ["ring", "halving-doubling"] {
        let what =
            format!("operation = \"all-reduce\", algorithm = \"{algorithm}\", size = \"1MB\", repeat = 2");
        let case = cases(&text("kind = \"fat-tree\"\nk = 4", &what, NDP)).remove(0);
        let run = |longest, threads| {
            let simulation = Simulation::new(case.clone()).expect("a sound case");
            let simulation = simulation.with_windows_up_to(longest).with_threads(threads);
            let outcome = simulation.run(&Monitor::default()).expect("a sound case");
            let ends: Vec<_> =
                outcome.jobs.iter().map(|job| job.completion_time().expect("it is done")).collect();
            assert_eq!(ends.len(), 2, "{algorithm}: one row for each repetition");
            (fingerprint(&outcome.flows), ends)
        };
        let full = run(Time::NEVER, 1);
        for (longest, threads) in [(Time(1 << 17), 1), (Time(1 << 15), 1), (Time::NEVER, 2)] {
            assert_eq!(run(longest, threads), full, "{algorithm}");
        }
    }
}

#[test]
fn an_operation_beside_background_traffic_ends_the_case() {
    let toml = text(
        "kind = \"fat-tree\"\nk = 4",
        "operation = \"all-reduce\", size = \"1MB\", ranks = 8",
        NDP,
    )
    .replace(
        "[[scheme]]",
        "[[workload]]\nsizes = { kind = \"constant\", size = \"1MB\" }\narrivals = \"closed\"\nbackground = true\n\n[[scheme]]",
    );
    let outcome = run(&toml);
    let took = outcome.jobs[0].completion_time().expect("it is done");
    let alone = collective(
        "kind = \"fat-tree\"\nk = 4",
        "operation = \"all-reduce\", size = \"1MB\", ranks = 8",
        NDP,
    );
    assert!(took > alone.jobs[0].completion_time().expect("it is done").times(3).since(took), "{took}");
    assert!(outcome.flows.iter().any(|row| row.flow.source == 1 && row.fct().is_none()));
}

#[test]
fn what_can_not_be_done_is_told() {
    let message = |what: &str| {
        let case = cases(&text(RACK_OF_8, what, NDP)).remove(0);
        let complaint = Simulation::new(case).expect_err("a mistake");
        format!("{}: {}", complaint.key, complaint.message)
    };
    let ring = "operation = \"all-reduce\"";
    assert_eq!(
        message("operation = \"all-gather\", algorithm = \"halving-doubling\", size = \"1MB\", ranks = 6"),
        "workload[0].arrivals.algorithm: halving and doubling needs a power of two of ranks, not 6"
    );
    assert_eq!(
        message(&format!("{ring}, size = \"1MB\", ranks = 9")),
        "workload[0].arrivals.ranks: 9 ranks among 8 hosts; write fewer"
    );
    assert_eq!(
        message(&format!("{ring}, size = \"7B\"")),
        "workload[0].arrivals.size: 8 hosts can't share 7 B; write more"
    );
}

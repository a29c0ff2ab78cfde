//! Jobs under `fidelity = "flows"`: what can be worked out by hand comes out to the picosecond.

use crate::common::{cases, run, simulate, write_file};
use packetloom::measure::fingerprint;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;

const NDP: &str =
    "transport = { kind = \"ndp\", pull_rate = 1.0 }\nqueue = \"ndp\"\nrouting = \"permutation\"";
const DCTCP: &str = "transport = { kind = \"dctcp\", mss = \"9000B\", header = \"64B\" }\nqueue = \"ecn\"";
const LINK: &str = "link = { rate = \"100Gbps\", delay = \"1us\" }";

fn text(topology: &str, workloads: &[&str], scheme: &str) -> String {
    let workloads: Vec<String> = workloads.iter().map(|one| format!("[[workload]]\n{one}\n")).collect();
    format!(
        "[topology]\n{topology}\n{LINK}\n{}[[scheme]]\nname = \"any\"\n{scheme}\n[run]\nfidelity = \"flows\"\n",
        workloads.concat()
    )
}

fn rack(hosts: u32) -> String {
    format!("kind = \"rack\"\nhosts = {hosts}")
}

/// A job that a rack of so many hosts carries out.
fn job(hosts: u32, arrivals: &str) -> Outcome {
    run(&text(&rack(hosts), &[&format!("arrivals = {{ {arrivals} }}")], NDP))
}

fn goal(name: &str, hosts: u32, schedule: &str, costs: &str) -> Outcome {
    write_file(name, schedule);
    job(hosts, &format!("kind = \"goal\", file = \"{name}\"{costs}"))
}

fn took(outcome: &Outcome) -> Time {
    outcome.iterations[0].took().expect("it is done")
}

/// What a message of full packets of 9064 B, and a last one of the rest, takes on a link of 100 Gb/s.
fn wire(bytes: u64) -> Time {
    Time((bytes + bytes.div_ceil(9_000) * 64) * 80)
}

/// What follows the last bit of a message of full packets: its last packet crosses the second link, and both have a
/// delay of 1 us.
const BEHIND: Time = Time(725_120 + 2_000_000);

#[test]
fn two_messages_share_the_senders_link() {
    let schedule = "num_ranks 3\nrank 0 {\na: send 450000b to 1 tag 0\nb: send 900000b to 2 tag 0\n}\n\
                    rank 1 {\nr: recv 450000b from 0 tag 0\n}\nrank 2 {\nr: recv 900000b from 0 tag 0\n}\n";
    let outcome = goal("flows-share.goal", 3, schedule, "");
    let fcts: Vec<Time> = outcome.flows.iter().map(|row| row.fct().expect("it is done")).collect();
    // Half of the link each until the first is over; the second has the rest for itself.
    assert_eq!(fcts, [wire(450_000).times(2) + BEHIND, wire(450_000) + wire(900_000) + BEHIND]);
    assert_eq!(took(&outcome), fcts[1]);
    assert!(outcome.is_estimated);
}

#[test]
fn a_chain_is_stored_and_forwarded_message_by_message() {
    let schedule = "num_ranks 3\nrank 0 {\ns: send 90000b to 1 tag 0\n}\nrank 1 {\nr: recv 90000b from 0 tag 0\n\
                    c: calc 700\nc requires r\ns: send 90000b to 2 tag 0\ns requires c\n}\n\
                    rank 2 {\nr: recv 90000b from 1 tag 0\n}\n";
    let outcome = goal("flows-chain.goal", 3, schedule, ", send_cost = \"300ns\", receive_cost = \"200ns\"");
    let message = Time::from_ns(300) + wire(90_000) + BEHIND + Time::from_ns(200);
    assert_eq!(took(&outcome), message.times(2) + Time::from_ns(700));
}

#[test]
fn rings_take_their_closed_form() {
    for hosts in [3, 8] {
        let part = 900_000;
        let all = part * u64::from(hosts);
        let steps = u64::from(hosts - 1);
        for (operation, steps) in [("all-reduce", 2 * steps), ("all-gather", steps)] {
            let what = format!("kind = \"collective\", operation = \"{operation}\", size = \"{all}B\"");
            let outcome = job(hosts, &what);
            let expected = (wire(part) + BEHIND).times(steps);
            assert_eq!(outcome.jobs[0].completion_time(), Some(expected), "{operation} among {hosts}");
            let bus = outcome.jobs[0].bus_gbps().expect("it is done");
            let share = part as f64 * 8.0 / (wire(part) + BEHIND).as_ns_f64();
            assert!((bus - share).abs() < 1e-6, "{operation} among {hosts}: {bus}, not {share}");
        }
        // All of a host's messages share its link, and that of each receiver.
        let what = format!(
            "kind = \"collective\", operation = \"reduce-scatter\", algorithm = \"direct\", size = \"{all}B\""
        );
        assert_eq!(job(hosts, &what).jobs[0].completion_time(), Some(wire(part).times(steps) + BEHIND));
    }
}

#[test]
fn a_sender_that_waits_for_its_acknowledgement_knows_a_way_back_later() {
    // In a chain the last but one has done its part when its message was acknowledged.
    let outcome = job(3, "kind = \"collective\", operation = \"broadcast\", size = \"900000B\"");
    let last = outcome.flows.iter().max_by_key(|row| row.delivered).expect("two flows");
    let back = last.closed - last.delivered;
    assert_eq!(back, Time(64 * 80 * 2) + Time::from_us(2));
    assert_eq!(outcome.jobs[0].completion_time(), Some((wire(900_000) + BEHIND).times(2) + back));
}

#[test]
fn hosts_take_their_time_for_each_message() {
    write_file(
        "flows-costs.goal",
        "num_ranks 3\nrank 0 {\na: send 9000b to 1 tag 0\nb: send 9000b to 2 tag 0\n}\n\
         rank 1 {\nr: recv 9000b from 0 tag 0\n}\nrank 2 {\nr: recv 9000b from 0 tag 0\n}\n",
    );
    let topology = format!("{}\nsend_per_message = \"5us\"\nreceive_per_message = \"3us\"", rack(3));
    let outcome =
        run(&text(&topology, &["arrivals = { kind = \"goal\", file = \"flows-costs.goal\" }"], NDP));
    let message = wire(9_000) + BEHIND;
    let costs = [8, 13].map(|us| Some(message + Time::from_us(us)));
    assert_eq!(outcome.flows.iter().map(|row| row.fct()).collect::<Vec<_>>(), costs);
}

#[test]
fn a_case_ends_with_its_jobs_while_background_goes_on() {
    write_file(
        "flows-lone.goal",
        "num_ranks 2\nrank 0 {\na: send 900000b to 1 tag 0\n}\nrank 1 {\nr: recv 900000b from 0 tag 0\n}\n",
    );
    let beside = "sizes = { kind = \"constant\", size = \"1GB\" }\narrivals = \"at-once\"\nflows = 1\n\
                  pattern = { kind = \"pair\", src = 0, dst = 2 }\nbackground = true";
    let outcome =
        run(&text(&rack(3), &["arrivals = { kind = \"goal\", file = \"flows-lone.goal\" }", beside], NDP));
    assert_eq!(took(&outcome), wire(900_000).times(2) + BEHIND);
    let background = outcome.flows.last().expect("two flows");
    assert_eq!((outcome.flows.len(), background.fct()), (2, None));
}

#[test]
fn two_jobs_slow_each_other_down_and_each_alone_does_not() {
    let ring = "arrivals = { kind = \"collective\", operation = \"all-reduce\", size = \"3600000B\" }";
    let toml = text(&rack(4), &[ring, ring], NDP) + "[measure]\nalone = true\n";
    let outcome = run(&toml);
    let (wire, behind) = (wire(900_000).times(6), BEHIND.times(6));
    for row in &outcome.iterations {
        assert_eq!(row.took(), Some(wire.times(2) + behind));
        assert_eq!(row.alone.map(|(_, took)| took), Some(wire + behind));
    }
}

const STEP: &str = "arrivals = { kind = \"training\", tensor = 2, pipeline = 2, data = 2, layers = 4, \
                    microbatches = 2, forward = \"20us\", activations = \"200KB\", gradients = \"1MB\" }";
const SPINES: &str = "kind = \"leaf-spine\"\nspines = 2\nleaves = 2\nhosts_per_leaf = 4";

/// How far such estimates are off where messages do share links is in docs/fidelity.md.
#[test]
fn where_no_messages_share_a_link_jobs_take_what_they_take_packet_by_packet() {
    for algorithm in ["ring", "halving-doubling"] {
        let what = format!(
            "arrivals = {{ kind = \"collective\", operation = \"all-reduce\", algorithm = \"{algorithm}\", size = \"2MB\" }}"
        );
        let toml = text(&rack(4), &[&what], NDP);
        let estimate = took(&run(&toml)).as_secs_f64();
        let packets = took(&run(&toml.replace("\"flows\"", "\"packets\""))).as_secs_f64();
        assert!((estimate / packets - 1.0).abs() < 0.01, "{algorithm}: {estimate}, not {packets}");
    }
}

#[test]
fn a_step_of_training_stays_what_it_was_on_any_number_of_threads() {
    for (scheme, pin) in [(NDP, "a213ab17e5a9aeb7"), (DCTCP, "c3198ec98a2128b4")] {
        let case = cases(&text(SPINES, &[STEP], scheme)).remove(0);
        let first = fingerprint(&simulate(case.clone()).flows);
        assert_eq!(format!("{first:016x}"), pin, "{scheme}");
        for threads in [2, 3] {
            let simulation = Simulation::new(case.clone()).expect("a case").with_threads(threads);
            let again = simulation.run(&Monitor::default()).expect("an outcome");
            assert_eq!(fingerprint(&again.flows), first, "{threads} threads");
        }
    }
}

/// Halving and doubling on a full fabric, where the packets of a message that is sprayed wait for others.
fn sprayed(rung: &str) -> Outcome {
    let toml = format!(
        "[topology]\nkind = \"leaf-spine\"\nspines = 4\nleaves = 4\nhosts_per_leaf = 4\n\
         link = {{ rate = \"100Gbps\", delay = \"0.5us\" }}\n[[workload]]\narrivals = {{ kind = \"collective\", \
         operation = \"all-reduce\", size = \"4MB\", algorithm = \"halving-doubling\" }}\n[[scheme]]\n\
         name = \"NSCC\"\ntransport = \"uec\"\nrouting = \"reps\"\nqueue = {{ kind = \"ndp\", capacity = \"75KB\", \
         ecn_min = \"15KB\", ecn_max = \"60KB\" }}\n[run]\nfidelity = {rung}\n"
    );
    run(&toml)
}

#[test]
fn pieces_run_by_packets_tell_what_a_transport_makes_of_a_full_fabric() {
    let [packets, plain, calibrated] =
        ["\"packets\"", "\"flows\"", "{ kind = \"flows\", calibrate = true }"].map(sprayed);
    let error = |estimate: &Outcome| took(estimate).as_ns_f64() / took(&packets).as_ns_f64() - 1.0;
    assert!(error(&plain) < -0.1, "{}", error(&plain));
    assert!(error(&calibrated).abs() < error(&plain).abs(), "{}", error(&calibrated));
    assert!(calibrated.warnings.iter().any(|line| line.starts_with("calibrated by")));
    // Without it nothing changes, and with it nothing depends on what was measured before.
    let spelt = sprayed("{ kind = \"flows\", calibrate = false }");
    assert_eq!(fingerprint(&spelt.flows), fingerprint(&plain.flows));
    let again = sprayed("{ kind = \"flows\", calibrate = true }");
    assert_eq!(fingerprint(&again.flows), fingerprint(&calibrated.flows));
}

#[test]
fn messages_that_nothing_holds_up_are_as_without_calibration() {
    let ring = "arrivals = { kind = \"collective\", operation = \"all-reduce\", size = \"7200000B\" }";
    let plain = text(&rack(8), &[ring], NDP);
    let calibrated = plain.replace("\"flows\"", "{ kind = \"flows\", calibrate = true }");
    let [plain, calibrated] = [plain, calibrated].map(|toml| took(&run(&toml)).as_ns_f64());
    assert!((calibrated / plain - 1.0).abs() < 0.01, "{calibrated}, not {plain}");
}

#[test]
fn wholes_have_no_messages_to_calibrate() {
    let ring = "arrivals = { kind = \"collective\", operation = \"all-reduce\", size = \"1MB\" }";
    let both = "{ kind = \"flows\", calibrate = true, collectives = \"whole\" }";
    let toml = text(&rack(4), &[ring], NDP).replace("\"flows\"", both);
    let scenario = packetloom::scenario::Scenario::from_toml(&toml, "test.toml", std::path::Path::new(""));
    let problems = scenario.expect_err("it is refused").to_string();
    assert!(problems.contains("has none; leave one of them out"), "{problems}");
}

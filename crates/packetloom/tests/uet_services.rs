//! Ultra Ethernet's delivery services on fabrics. What each does with a packet that is lost is in `schemes/services.rs`.

use crate::common::{cases, port, run};
use packetloom::measure::fingerprint;
use packetloom::scenario::Scenario;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;
use std::path::Path;

const FABRIC: &str = "kind = \"leaf-spine\"\nspines = 4\nleaves = 2\nhosts_per_leaf = 4\n\
    link = { rate = \"100Gbps\", delay = \"1us\" }";

/// 43 packets, about a bandwidth-delay product.
const QUEUE: &str =
    "queue = { kind = \"ndp\", capacity = \"178880B\", ecn_min = \"37440B\", ecn_max = \"145600B\" }";

fn text(topology: &str, workload: &str, keys: &str, routing: &str, rest: &str) -> String {
    format!(
        "[topology]\n{topology}\n\n[[workload]]\narrivals = \"at-once\"\n{workload}\n\n[[scheme]]\nname = \"it\"\n\
         transport = {{ kind = \"uec\", {keys} }}\n{QUEUE}\nrouting = {routing}\n\n{rest}\n"
    )
}

const PAIR: &str =
    "sizes = { kind = \"constant\", size = \"1MB\" }\npattern = { kind = \"pair\", src = 0, dst = 4 }";
const INCAST: &str = "sizes = { kind = \"constant\", size = \"1MB\" }\npattern = { kind = \"incast\", fan_in = 7, receiver = 0 }";
const PERMUTATION: &str = "sizes = { kind = \"constant\", size = \"1MB\" }\npattern = \"permutation\"";

const ONE: &str = "[run]\nflows = 1\n[measure]\nreordering = true";
const SEVEN: &str = "[run]\nflows = 7";
const SPRAYS: [&str; 8] = [
    "\"oblivious\"",
    "\"bitmap\"",
    "\"reps\"",
    "\"reps-legacy\"",
    "\"mixed\"",
    "\"plb\"",
    "\"permutation\"",
    "\"ecmp\"",
];

fn finished(outcome: &Outcome) -> usize {
    outcome.flows.iter().filter(|row| row.is_over()).count()
}

fn sum(outcome: &Outcome, what: fn(&packetloom::engine::Report) -> u32) -> u32 {
    outcome.flows.iter().map(|row| what(&row.report)).sum()
}

fn dropped_and_trimmed(outcome: &Outcome) -> u64 {
    outcome.ports.iter().map(|port| port.counters.drops + port.counters.trims).sum()
}

/// How many uplinks of the sender's leaf carried data.
fn uplinks(outcome: &Outcome) -> usize {
    let data = |spine: u32| port(outcome, "leaf0", &format!("spine{spine}")).counters.bytes > 10_000;
    (0..4).filter(|&spine| data(spine)).count()
}

#[test]
fn an_ordered_flow_keeps_to_one_path_whatever_the_host_would_spray_by() {
    for routing in SPRAYS {
        let rod = run(&text(FABRIC, PAIR, "service = \"rod\"", routing, ONE));
        assert_eq!((finished(&rod), uplinks(&rod)), (1, 1), "{routing}");
        assert_eq!(sum(&rod, |report| report.retransmissions), 0, "{routing}");
        let order = rod.reordering.as_ref().and_then(|flows| flows.values().next()).expect("it is measured");
        assert_eq!(order.packets, 0, "{routing}");
        let rud = run(&text(FABRIC, PAIR, "service = \"rud\"", routing, ONE));
        assert_eq!(uplinks(&rud) > 1, !["\"plb\"", "\"ecmp\""].contains(&routing), "{routing}");
        // One path carries what the host's link does: no service is slower.
        assert_eq!(rod.flows[0].fct(), rud.flows[0].fct(), "{routing}");
    }
}

#[test]
fn where_switches_spray_an_ordered_flow_goes_back_and_ends_all_the_same() {
    let rest = "[run]\nflows = 8\n[measure]\nreordering = true";
    let [rod, rud] = ["rod", "rud"].map(|service| {
        run(&text(FABRIC, PERMUTATION, &format!("service = \"{service}\""), "\"spray-random\"", rest))
    });
    assert_eq!([finished(&rod), finished(&rud)], [8, 8]);
    let again = [&rod, &rud].map(|outcome| sum(outcome, |report| report.retransmissions));
    assert!(again[0] > 100 && again[0] > 10 * again[1], "{again:?}");
}

#[test]
fn every_reliable_service_ends_an_incast_that_is_trimmed() {
    for keys in [
        "service = \"rod\"",
        "service = \"rod\", control = \"rccc\"",
        "service = \"rod\", control = \"both\"",
        "service = \"rudi\"",
        "service = \"rudi\", control = \"nscc\"",
    ] {
        for routing in ["\"reps\"", "\"spray-random\""] {
            let outcome = run(&text(FABRIC, INCAST, keys, routing, SEVEN));
            assert_eq!(finished(&outcome), 7, "{keys} {routing}: {:?}", outcome.warnings);
            assert!(dropped_and_trimmed(&outcome) > 0, "{keys} {routing}");
            // Seven times 1 MB with headers, at 100 Gb/s.
            let last = outcome.flows.iter().map(|row| row.delivered).max().expect("flows");
            assert!(last < Time::from_us(4 * 569), "{keys} {routing}: {last}");
        }
    }
}

#[test]
fn an_idempotent_flow_has_an_answer_for_each_packet() {
    let outcome = run(&text(FABRIC, PAIR, "service = \"rudi\"", "\"reps\"", ONE));
    let packets = u64::from(outcome.flows[0].report.packets_sent);
    assert_eq!((packets, port(&outcome, "host4", "leaf1").counters.packets), (245, 245));
    let rud = run(&text(FABRIC, PAIR, "service = \"rud\"", "\"reps\"", ONE));
    assert!(port(&rud, "host4", "leaf1").counters.packets < 70, "one for four packets");
}

#[test]
fn unreliable_flows_leave_at_line_rate_and_what_does_not_fit_is_lost() {
    let outcome = run(&text(FABRIC, INCAST, "service = \"uud\"", "\"oblivious\"", SEVEN));
    assert!(outcome.stalled.is_none(), "{:?}", outcome.stalled);
    assert_eq!(sum(&outcome, |report| report.packets_sent + report.retransmissions), 7 * 245);
    for row in &outcome.flows {
        // 245 packets at 100 Gb/s: 244 of 4096 B, one of 576 B, and 64 B each.
        assert_eq!(row.closed, Time(244 * 332_800 + 51_200), "flow {}", row.flow.id);
        assert_eq!(row.delivered, Time::NEVER, "seven senders' packets do not fit on one link");
    }
    let arrived: u64 = port(&outcome, "leaf0", "host0").counters.packets;
    assert!(dropped_and_trimmed(&outcome) > 245 && arrived > 245, "{arrived} packets or headers arrived");
    let warning = outcome.warnings.iter().find(|warning| warning.contains("7 of 7 flows were not finished"));
    assert!(warning.is_some_and(|warning| warning.contains("its sender is done")), "{:?}", outcome.warnings);
}

#[test]
fn a_closed_loop_of_unreliable_messages_goes_on_after_a_loss() {
    let workload = "sizes = { kind = \"constant\", size = \"100KB\" }\npattern = { kind = \"incast\", fan_in = 4, receiver = 0 }";
    let toml = text(FABRIC, workload, "service = \"uud\"", "\"oblivious\"", "[run]\nduration = \"1ms\"")
        .replace("\"at-once\"", "{ kind = \"closed\", concurrent = 2 }");
    let outcome = run(&toml);
    assert!(outcome.stalled.is_none());
    assert!(outcome.flows.iter().all(|row| row.closed != Time::NEVER), "every sender got through");
    // Four links for 1 ms, 8.2 us for a message.
    assert!((400..520).contains(&outcome.flows.len()), "{}", outcome.flows.len());
    assert!(finished(&outcome) < outcome.flows.len());
}

#[test]
fn endless_background_does_not_keep_a_case_from_its_end_when_a_flow_lost_a_packet() {
    let background = "[[workload]]\nsizes = { kind = \"constant\", size = \"10KB\" }\narrivals = \"poisson\"\nbackground = true";
    let toml = text(
        FABRIC,
        &format!("{INCAST}\nflows = 7\n\n{background}"),
        "service = \"uud\"",
        "\"oblivious\"",
        "[run]\nloads = [0.02]",
    );
    let outcome = run(&toml);
    assert!(outcome.stalled.is_none());
    let lost = outcome.flows.iter().filter(|row| row.measured && row.delivered == Time::NEVER).count();
    assert_eq!(lost, 7);
    assert!(outcome.simulated > Time::from_us(100_000), "{}", outcome.simulated);
}

#[test]
fn a_job_whose_message_was_lost_is_reported_as_waiting() {
    let workload = "arrivals = { kind = \"collective\", operation = \"all-to-all\", size = \"4MB\" }";
    let fault = "[[fault]]\nkind = \"corruption\"\nprobability = 0.01";
    let toml = text(FABRIC, workload, "service = \"uud\"", "\"oblivious\"", fault)
        .replace("arrivals = \"at-once\"\n", "");
    let outcome = run(&toml);
    let stalled = outcome.stalled.expect("ranks wait for what was lost");
    assert!(stalled.contains("nothing is left to happen"), "{stalled}");
}

const RAILS: &str = "kind = \"rail-optimised\"\nservers = 4\naccelerators = 4\nplanes = 2\n\
    link = { rate = \"100Gbps\", delay = \"1us\" }\nscale_up = { rate = \"800Gbps\", delay = \"0.2us\" }";

#[test]
fn on_a_nic_with_two_ports_an_ordered_flow_has_one_and_the_others_have_both() {
    let workload =
        "sizes = { kind = \"constant\", size = \"20MB\" }\npattern = { kind = \"pair\", src = 0, dst = 8 }";
    for (service, ports) in [("rud", 2.0), ("rod", 1.0), ("rudi", 2.0), ("uud", 2.0)] {
        for routing in ["\"reps\"", "\"permutation\"", "\"oblivious\""] {
            let keys = format!("service = \"{service}\"");
            let outcome = run(&text(RAILS, workload, &keys, routing, "[run]\nflows = 1"));
            let fct = outcome.flows[0].fct().unwrap_or_else(|| panic!("{service} {routing}"));
            // Payload at 100 Gb/s is 4096 of 4160 B.
            let share = 20e6 * 8.0 / fct.as_ns_f64() / (ports * 100.0 * 4096.0 / 4160.0);
            assert!((0.95..1.0).contains(&share), "{service} {routing}: {share} of {ports} ports");
        }
    }
}

#[test]
fn the_services_are_pinned_and_do_not_depend_on_windows_nor_threads() {
    let pinned = [
        ("service = \"rod\"", "41ed89e566f20495"),
        ("service = \"rod\", control = \"rccc\"", "9d26f90df10e0c73"),
        ("service = \"rudi\"", "2c34e5dbdb54a008"),
        ("service = \"rudi\", control = \"nscc\"", "e5d43c912755d372"),
        ("service = \"uud\"", "5569b7dcd1db7867"),
    ];
    let found = pinned.map(|(keys, _)| {
        let case = cases(&text(FABRIC, INCAST, keys, "\"reps\"", SEVEN)).remove(0);
        let of = |longest, threads| {
            let simulation = Simulation::new(case.clone()).expect("a sound case");
            let simulation = simulation.with_windows_up_to(longest).with_threads(threads);
            let simulation = simulation.with_audit((longest, threads) == (Time::NEVER, 1));
            let outcome = simulation.run(&Monitor::default()).expect("it runs");
            assert!(outcome.violation.is_none(), "{keys}: {:?}", outcome.violation);
            format!("{:016x}", fingerprint(&outcome.flows))
        };
        let full = of(Time::NEVER, 1);
        assert_eq!([&of(Time(1 << 17), 1), &of(Time::NEVER, 2)], [&full; 2], "{keys}");
        (keys, full)
    });
    assert_eq!(found, pinned.map(|(keys, hash)| (keys, hash.to_owned())));
}

fn complaint(keys: &str) -> String {
    let toml = text(FABRIC, PAIR, keys, "\"reps\"", ONE);
    Scenario::from_toml(&toml, "test", Path::new("")).expect_err("it must be refused").to_string()
}

#[test]
fn what_does_not_go_with_a_service_is_refused_with_what_to_write() {
    for (keys, key, expected) in [
        ("service = \"uud\", control = \"rccc\"", "control", "rccc goes by answers"),
        ("service = \"uud\", control = \"nscc\"", "control", "leave it out, or write service = \"rud\""),
        ("service = \"rudi\", control = \"rccc\"", "control", "leave it out, or write control = \"nscc\""),
        ("service = \"rudi\", control = \"both\"", "control", "keep nothing of a flow"),
        ("service = \"rod\", sleek = true", "sleek", "leave it out, or write service = \"rud\""),
        ("service = \"rudi\", sleek = true", "sleek", "service = \"rudi\""),
        ("service = \"uud\", sleek = true", "sleek", "service = \"uud\""),
        ("service = \"rudi\", oversubscription = 2", "oversubscription", "write control = \"rccc\""),
        ("service = \"rcd\"", "service", "rudi"),
    ] {
        let message = complaint(keys);
        assert!(message.contains(expected) && message.contains(key), "{keys}: {message}");
    }
}

#[test]
fn credit_for_all_ports_together_does_not_go_with_ordered_flows() {
    let keys = "service = \"rod\", control = \"rccc\"";
    let case = cases(&text(RAILS, PAIR, keys, "\"reps\"", ONE)).remove(0);
    let complaint = Simulation::new(case).map(|_| ()).expect_err("a complaint");
    assert_eq!(complaint.key, "scheme.transport");
    assert!(complaint.message.contains("control = \"nscc\""), "{}", complaint.message);
}

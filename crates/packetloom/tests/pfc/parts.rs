//! Priority flow control at ports of parts: the same as the queue with a name, and what only parts can do.

use super::{MSS_BYTES, STAR, TWO_TIERS, WIRE_BYTES, around_the_ring, incast, is_lossless, scenario};
use crate::common::{self, cases, fct, run};
use packetloom::measure::fingerprint;
use packetloom::scenario::Scenario;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::spec::Complaint;
use std::path::Path;

const STRICT: &str = r#""strict""#;
/// All classes but that of control packets take turns, a packet each.
const TURNS: &str = r#"{ kind = "dwrr", weights = [1, 1, 1, 1, 1, 1, 1], strict = 1, quantum = "1048B" }"#;

/// A scenario over ports of these parts; `buffer` and `pauses`: parameters of these, each with a comma before it.
fn over(topology: &str, workloads: &str, [scheduler, aqm, buffer, pauses]: [&str; 4]) -> String {
    let named = r#"kind = "shared-buffer""#;
    let parts = format!(
        r#"kind = "egress", scheduler = {scheduler}, aqm = {aqm}, buffer = {{ kind = "ingress"{buffer} }}, flow_control = {{ kind = "pfc"{pauses} }}"#
    );
    let toml = scenario(topology, workloads, "");
    assert!(toml.contains(named));
    toml.replace(named, &parts)
}

fn audited(toml: &str) -> Outcome {
    let simulation = Simulation::new(cases(toml).remove(0)).unwrap_or_else(|why| panic!("{why:?}"));
    let outcome = simulation.with_audit(true).run(&Monitor::default()).expect("it runs");
    assert_eq!(outcome.violation, None);
    outcome
}

/// All that a run tells of flows, packets, ports and pauses.
fn told(outcome: &Outcome) -> impl PartialEq + std::fmt::Debug + use<> {
    let ports = outcome.ports.iter().map(|port| format!("{:?} {:?}", port.counters, port.pauses));
    (fingerprint(&outcome.flows), outcome.tally, ports.collect::<Vec<_>>(), outcome.stalled.clone())
}

/// Where one class beside that of control packets waits, its order is the same: first in, first out.
#[test]
fn parts_of_the_queue_with_a_name_give_its_bits() {
    let two = incast(11, "300KB", 3);
    let slow = "[[fault]]\nkind = \"slow-receiver\"\nhost = \"host0\"\nrate = \"25Gbps\"\n";
    let slow = incast(4, "300KB", 3) + slow;
    let cases = [
        (TWO_TIERS, &two, r#", SIZE = "1MiB""#, ""),
        (TWO_TIERS, &two, r#", SIZE = "1MiB", mmu = "conweave-ns3""#, r#", pause_time = "20us""#),
        (TWO_TIERS, &two, r#", SIZE = "2MiB", pause_above = "30KB", resume_offset = "5KB""#, ""),
        (STAR, &slow, "", ""),
        (STAR, &two, r#", SIZE = "2MiB", headroom = "3KB", unsafe_headroom = true"#, ""),
        (STAR, &two, r#", SIZE = "2MiB""#, r#", watchdog = "10us", pause_frame = "43B""#),
    ];
    for (topology, workload, buffer, pauses) in cases {
        for transport in ["line-rate", "roce"] {
            let with = |toml: &str| {
                let toml = toml.replace("\"line-rate\"", &format!("{transport:?}"));
                run(&(toml.replace("rto = \"1s\"", "rto = \"500us\"") + "max_time = \"1ms\"\n"))
            };
            let [of_queue, of_buffer] = ["buffer", "size"].map(|name| buffer.replace("SIZE", name));
            let named = with(&scenario(topology, workload, &format!("{of_queue}{pauses}")));
            assert!(named.pauses().count() > 10, "too few pauses for a test: {buffer}{pauses}");
            for scheduler in [STRICT, TURNS] {
                let parts = with(&over(topology, workload, [scheduler, r#""none""#, &of_buffer, pauses]));
                assert_eq!(told(&parts), told(&named), "{scheduler}, {transport}: {buffer}{pauses}");
            }
        }
    }
}

/// Marked as packets leave, by what waits of their class then, at the same thresholds at every rate.
#[test]
fn so_do_marks_at_departures() {
    let named = r#", buffer = "1MiB", ecn_min = "10KB", ecn_max = "100KB", ecn_by_rate = false"#;
    let red =
        r#"{ kind = "red", min = "10KB", max = "100KB", max_probability = 0.2, judges = "departures" }"#;
    let workload = incast(11, "300KB", 3);
    let parts = over(TWO_TIERS, &workload, [STRICT, red, r#", size = "1MiB""#, ""]);
    let [named, parts] = [scenario(TWO_TIERS, &workload, named), parts]
        .map(|toml| run(&toml.replace("\"line-rate\"", "\"dcqcn\"")));
    assert!(named.ports.iter().map(|port| port.counters.marks).sum::<u64>() > 100);
    assert!(named.pauses().next().is_some());
    assert_eq!(told(&parts), told(&named));
}

/// So do marks at thresholds in proportion to each port's rate.
#[test]
fn so_do_marks_by_rate() {
    let slower = TWO_TIERS.replace("100Gbps", "40Gbps");
    let network = slower + "host_link = { rate = \"100Gbps\", delay = \"1us\" }\n";
    let named = r#", buffer = "1MiB", ecn_min = "10KB", ecn_max = "100KB", ecn_by_rate = BY"#;
    let red = r#"{ kind = "red", min = "10KB", max = "100KB", max_probability = 0.2, judges = "departures", by_rate = BY }"#;
    let workload = incast(11, "300KB", 3);
    let parts = over(&network, &workload, [STRICT, red, r#", size = "1MiB""#, ""]);
    let both =
        [scenario(&network, &workload, named), parts].map(|toml| toml.replace("\"line-rate\"", "\"dcqcn\""));
    let [by_rate, alike] =
        ["true", "false"].map(|by| both.each_ref().map(|toml| run(&toml.replace("BY", by))));
    assert_ne!(told(&by_rate[0]), told(&alike[0]));
    for [named, parts] in [by_rate, alike] {
        assert_eq!(told(&parts), told(&named));
    }
}

/// A cycle of paused ports is found in both, and the watchdog breaks both in the same way.
#[test]
fn cycles_of_paused_ports_are_found_and_broken_alike() {
    for pauses in ["", r#", watchdog = "200us""#] {
        let end = "max_time = \"3ms\"\n";
        let named = around_the_ring(&format!(r#", buffer = "1MiB"{pauses}"#));
        let parts = format!(
            r#"kind = "egress", scheduler = "strict", buffer = {{ kind = "ingress", size = "1MiB" }}, flow_control = {{ kind = "pfc"{pauses} }}"#
        );
        let start = named.find("kind = \"shared-buffer\"").expect("a queue");
        let length = named[start..].find(" }").expect("its end");
        let parts = named.replacen(&named[start..start + length], &parts, 1);
        let [named, parts] =
            [named, parts].map(|toml| run(&(toml.replace("rto = \"1s\"", "rto = \"2ms\"") + end)));
        assert_eq!(told(&parts), told(&named));
        let drops: u64 = parts.ports.iter().map(|port| port.counters.drops).sum();
        assert_eq!((parts.stalled.is_some(), drops > 0), (pauses.is_empty(), !pauses.is_empty()));
    }
}

/// Senders of two classes to one host, which share its link by weight: three to one while both send, then the rest. No
/// packet is lost, by either class, under DCQCN with marks by class or without control.
#[test]
fn lossless_classes_share_a_link_by_weight() {
    let dwrr = r#"{ kind = "dwrr", weights = [3, 1], strict = 1, quantum = "1048B" }"#;
    let flows: String = (1..=8).map(|src| format!("{src},0,500000,0\n")).collect();
    let [first, second] = ["1,0", "5,0"].map(|from| flows.find(from).expect("a sender"));
    common::write_file("heavy.csv", &format!("src,dst,size_bytes,start_ns\n{}", &flows[first..second]));
    common::write_file("light.csv", &format!("src,dst,size_bytes,start_ns\n{}", &flows[second..]));
    let source = |class: u8, file: &str| {
        format!("[[workload]]\nclass = {class}\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n")
    };
    let workloads = source(1, "heavy.csv") + &source(2, "light.csv");
    let pauses = r#", lossless = [1, 2]"#;
    let toml = over(STAR, &workloads, [dwrr, r#""none""#, r#", size = "4MiB""#, pauses]);
    let outcome = audited(&toml);
    is_lossless(&outcome);
    let last = |sources: std::ops::Range<u32>| {
        let rows = outcome.flows.iter().filter(|row| sources.contains(&row.flow.src));
        rows.map(fct).max().expect("flows").as_secs_f64()
    };
    // 2000 packets of the one class take four thirds of their time alone, those of the other are done with all.
    let alone = 2_000.0 * (WIRE_BYTES as f64) * 8.0 / 100e9;
    for (found, expected) in [(last(1..5), alone * 4.0 / 3.0), (last(5..9), alone * 2.0)] {
        assert!((found / (expected + 2.1e-6) - 1.0).abs() < 0.005, "{found} s, not {expected} s");
    }
    let red = r#"{ kind = "red", min = "40KB", max = "160KB", max_probability = 0.2 }"#;
    let toml = over(STAR, &workloads, [dwrr, red, r#", size = "2MiB""#, pauses]);
    for transport in ["dcqcn", "roce"] {
        for class in [1, 2] {
            let outcome = audited(
                &toml.replace("\"line-rate\"", &format!("{transport:?}, class = {class}, ack_class = 0")),
            );
            is_lossless(&outcome);
            // RoCE without control can't be marked.
            let marks: u64 = outcome.ports.iter().map(|port| port.counters.marks).sum();
            assert_eq!(marks > 0, transport == "dcqcn", "{marks} marks, {transport}");
        }
    }
}

/// Seven senders fill the link to host 0 through a link that is four times as fast; what they send is paused on it most
/// of the time, but not the flow of another class beside them, unless it waits in the same queue.
#[test]
fn a_paused_class_lets_others_go() {
    let topology = r#"
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 8
link = { rate = "400Gbps", delay = "1us" }
host_link = { rate = "100Gbps", delay = "1us" }
"#;
    let hot: String = (8..15).map(|src| format!("{src},0,1000000,0\n")).collect();
    common::write_file("hot-host.csv", &format!("src,dst,size_bytes,start_ns\n{hot}"));
    common::write_file("beside-it.csv", "src,dst,size_bytes,start_ns\n15,1,1000000,50000\n");
    let source = |class: u8, file: &str| {
        format!("[[workload]]\nclass = {class}\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n")
    };
    let workloads = source(3, "hot-host.csv") + &source(4, "beside-it.csv");
    let dwrr = r#"{ kind = "dwrr", weights = [1, 1, 1, 1, 1], quantum = "1048B" }"#;
    let alone = (1_000_000 / MSS_BYTES) as f64 * WIRE_BYTES as f64 * 8.0 / 100e9;
    let takes = |scheduler: &str| {
        let outcome = audited(&over(
            topology,
            &workloads,
            [scheduler, r#""none""#, r#", size = "1MiB""#, r#", lossless = [3, 4]"#],
        ));
        is_lossless(&outcome);
        let beside = outcome.flows.iter().find(|row| row.flow.src == 15).expect("the flow beside");
        fct(beside).as_secs_f64() / alone
    };
    // By turns it has more than it sends at. Class 3 is before it by strict priority: with what two switches hold at most,
    // at 400 Gb/s.
    let full = 2.0 * f64::from(1 << 20) * 8.0 / 400e9;
    for (scheduler, most) in [(dwrr, 1.15), (STRICT, 1.15 + full / alone)] {
        let apart = takes(scheduler);
        assert!(apart < most, "{scheduler}: {apart} times as long as alone");
    }
    let together = takes(r#""fifo""#);
    assert!(together > 2.0, "{together} times as long as alone");
}

fn complaints(parts: [&str; 4]) -> String {
    let toml = over(STAR, &incast(2, "1MB", 3), parts);
    match Scenario::from_toml(&toml, "test", Path::new("")) {
        Ok(_) => panic!("it is accepted: {parts:?}"),
        Err(problems) => problems.to_string(),
    }
}

fn complaint(parts: [&str; 4]) -> Complaint {
    let case = cases(&over(STAR, &incast(2, "1MB", 3), parts)).remove(0);
    Simulation::new(case).map(|_| ()).expect_err("it can't be simulated")
}

#[test]
fn parts_that_do_not_go_together_are_refused_with_what_to_write() {
    let none = r#""none""#;
    let eight = r#"{ kind = "strict", classes = 9 }"#;
    let two = r#"{ kind = "dwrr", weights = [1, 1] }"#;
    for (parts, key, advice) in [
        (
            [r#""fair-queueing""#, none, "", ""],
            "scheduler",
            "write scheduler = \"strict\", \"dwrr\", or \"fifo\"",
        ),
        ([r#""pfabric""#, none, "", ""], "scheduler", "write scheduler = \"strict\""),
        ([eight, none, "", ""], "scheduler", "write 8 at most"),
        ([two, none, "", ""], "flow_control.lossless", "give it more"),
        ([STRICT, r#""codel""#, "", ""], "aqm", "write aqm = \"threshold\""),
        ([STRICT, none, "", ", lossless = []"], "lossless", "write a class such as [3]"),
        ([STRICT, none, "", ", lossless = [9]"], "flow_control.lossless", "there is no class 9"),
        ([STRICT, none, ", pause_above = \"0B\"", ""], "buffer.pause_above", "write a size above zero"),
        ([STRICT, none, ", size = \"2000GiB\"", ""], "buffer.size", "write at most"),
        (
            [STRICT, none, "", ", pause_repeats = \"arrivals\""],
            "flow_control.pause_repeats",
            "write pause_time",
        ),
    ] {
        let said = complaints(parts);
        assert!(said.contains(key) && said.contains(advice), "{parts:?}: {said}");
    }
    let whole = over(STAR, &incast(2, "1MB", 3), [STRICT, none, "", ""]);
    for (without, key, advice) in [
        (r#", flow_control = { kind = "pfc" }"#, "buffer", "write flow_control = \"pfc\", too"),
        (r#", buffer = { kind = "ingress" }"#, "buffer", "write buffer = \"ingress\" or \"reverie\""),
    ] {
        assert!(whole.contains(without));
        let problems = Scenario::from_toml(&whole.replace(without, ""), "test", Path::new(""));
        let said = problems.err().map(|problems| problems.to_string()).unwrap_or_default();
        assert!(said.contains(key) && said.contains(advice), "{said}");
    }
    // What only a network shows.
    let short = complaint([STRICT, none, r#", headroom = "20KB""#, ""]);
    assert_eq!(short.key, "scheme.queue.buffer.headroom");
    assert_eq!(complaint([STRICT, none, r#", size = "500KB""#, ""]).key, "scheme.queue.buffer.size");
    let brief = complaint([STRICT, none, "", r#", pause_time = "1us""#]);
    assert_eq!(brief.key, "scheme.queue.flow_control.pause_time");
}

#[test]
fn a_host_heeds_pauses_where_its_switch_has_them() {
    let nic = "nic = \"drop-tail\"\n";
    let toml = over(STAR, &incast(2, "1MB", 3), [STRICT, r#""none""#, "", ""]);
    let toml = toml.replace("[measure]", &format!("{nic}[measure]"));
    let refused = Simulation::new(cases(&toml).remove(0)).map(|_| ()).expect_err("nothing would be paused");
    assert_eq!(refused.key, "scheme.nic");
    // A named queue and its parts understand each other.
    let named = toml.replace("\"drop-tail\"", "\"shared-buffer\"");
    is_lossless(&run(&named));
    // A switch knows no other lossless classes than its own.
    let other = toml.replace("\"drop-tail\"", "{ kind = \"shared-buffer\", lossless = [4] }");
    let refused =
        Simulation::new(cases(&other).remove(0)).map(|_| ()).expect_err("it would pause other classes");
    assert_eq!(refused.key, "scheme.nic.lossless");
}

/// A packet from a host of 10 Gb/s keeps a port of 40 Gb/s for as long as it takes to come, and a PAUSE waits for it.
#[test]
fn headroom_has_room_for_what_comes_while_a_slower_link_keeps_a_pause_waiting() {
    let outcome = run(r#"
[topology]
kind = "leaf-spine"
spines = 1
leaves = 3
hosts_per_leaf = 4
host_link = { rate = "10Gbps", delay = "0.1us" }
link = { rate = "40Gbps", delay = "0.2us" }
forwarding = "cut-through"

[[workload]]
sizes = { kind = "exponential", mean = "40KB" }
share = 0.7

[[workload]]
sizes = { kind = "uniform", minimum = "1B", maximum = "20KB" }
pattern = { kind = "incast", fan_in = 7 }
share = 0.3

[[scheme]]
name = "DCQCN"
transport = "dcqcn"
queue = { kind = "egress", scheduler = "strict", aqm = { kind = "threshold", mark_above = "15KB" }, buffer = { kind = "ingress", size = "150KB", alpha = 8, reserve = "0B" }, flow_control = "pfc" }

[run]
loads = [0.9]
flows = 600
"#);
    is_lossless(&outcome);
}

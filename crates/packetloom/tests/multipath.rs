//! MPTCP and PIAS: what several paths, and several priorities, are known to bring.

use crate::common::{self, fct, run};
use packetloom::measure::fingerprint;
use packetloom::simulation::Outcome;
use packetloom::units::Time;

/// Web search on a small fat-tree whose queues lose nothing.
fn without_loss(transport: &str) -> Outcome {
    run(&format!(
        r#"
[topology]
kind = "fat-tree"
k = 4

[[workload]]
sizes = "web-search"

[[scheme]]
name = "any"
transport = {transport}
queue = "drop-tail"

[run]
loads = [0.5]
flows = 200
"#
    ))
}

#[test]
fn one_subflow_is_tcp() {
    let tcp = without_loss(r#"{ kind = "tcp", min_rto = "100ms" }"#);
    let mptcp = without_loss(r#"{ kind = "mptcp", subflows = 1, min_rto = "100ms" }"#);
    assert_eq!(fingerprint(&tcp.flows), fingerprint(&mptcp.flows));
    let several = without_loss(r#"{ kind = "mptcp", subflows = 2, min_rto = "100ms" }"#);
    assert_ne!(fingerprint(&tcp.flows), fingerprint(&several.flows));
}

#[test]
fn the_last_acknowledgement_comes_whichever_subflow_ends_the_flow() {
    // A round trip and what an acknowledgement may wait, 500 us, are less than the least timeout, and nothing is lost.
    let outcome = run(r#"
[topology]
kind = "leaf-spine"
spines = 4
leaves = 2
hosts_per_leaf = 8

[[workload]]
sizes = { kind = "uniform", minimum = "10KB", maximum = "200KB" }

[[scheme]]
name = "delayed"
transport = { kind = "mptcp", delayed_ack = true, min_rto = "1ms" }
queue = { kind = "drop-tail", capacity = "10MB" }

[run]
loads = [0.02]
flows = 300
"#);
    let timeouts: u32 = outcome.flows.iter().map(|row| row.report.timeouts).sum();
    let drops: u64 = outcome.ports.iter().map(|port| port.counters.drops).sum();
    assert_eq!((timeouts, drops), (0, 0));
}

/// The goodput of one large flow from a host of 40 Gb/s over four spines of 10 Gb/s each.
fn over_four_spines(transport: &str) -> f64 {
    let outcome = run(&format!(
        r#"
[topology]
kind = "leaf-spine"
spines = 4
leaves = 2
hosts_per_leaf = 1
host_link = {{ rate = "40Gbps", delay = "0.4us" }}
link = {{ rate = "10Gbps", delay = "0.4us" }}

[[workload]]
sizes = {{ kind = "constant", size = "50MB" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 0, dst = 1 }}

[[scheme]]
name = "any"
transport = {transport}
queue = {{ kind = "drop-tail", capacity = "225KB" }}
nic = "drop-tail"
"#
    ));
    outcome.flows[0].goodput_gbps().expect("a flow that finished")
}

#[test]
fn subflows_fill_several_paths_and_tcp_one() {
    let tcp = over_four_spines(r#""tcp""#);
    assert!((9.0..9.8).contains(&tcp), "{tcp}");
    // Of 16 subflows some are on each of the four paths.
    let mptcp = over_four_spines(r#"{ kind = "mptcp", subflows = 16 }"#);
    assert!((33.0..39.0).contains(&mptcp), "{mptcp}");
}

/// Small flows beside large ones to the same host, once the large ones have sent so much that they count as large (2
/// ms each for 1.3 MB): the mean slowdown of the small.
fn small_beside_large(transport: &str, queue: &str) -> f64 {
    let outcome = run(&format!(
        r#"
[topology]
kind = "rack"
hosts = 4

[[workload]]
sizes = {{ kind = "constant", size = "20MB" }}
arrivals = "at-once"
pattern = {{ kind = "incast", fan_in = 2, receiver = 0 }}
flows = 2

[[workload]]
sizes = {{ kind = "constant", size = "20KB" }}
arrivals = {{ kind = "poisson", rate_per_second = 1_000 }}
pattern = {{ kind = "pair", src = 3, dst = 0 }}
flows = 25

[[scheme]]
name = "any"
transport = {transport}
queue = {queue}
"#
    ));
    assert!(outcome.flows.iter().all(|row| fct(row) >= row.best_fct));
    let from = Time::from_ns(3_000_000);
    let small = outcome.flows.iter().filter(|row| row.flow.source == 1 && row.flow.start > from);
    assert!(small.clone().count() > 15);
    common::mean(small.filter_map(|row| row.slowdown()))
}

#[test]
fn priorities_by_bytes_sent_let_small_flows_pass() {
    let rule = r#"{ kind = "ecn", capacity = "225KB", mark_above = "90KB" }"#;
    // The small flows' 14 packets go at once.
    let [dctcp, pias] = ["dctcp", "pias"].map(|kind| format!("{{ kind = \"{kind}\", initial_window = 14 }}"));
    let classes = format!(r#"{{ kind = "classes", strict = 8, queue = "drop-tail", port = {rule} }}"#);
    // Without priorities at the switch PIAS is DCTCP.
    let (fifo, strict) = (small_beside_large(&pias, rule), small_beside_large(&pias, &classes));
    assert_eq!(fifo, small_beside_large(&dctcp, rule));
    assert!(fifo > 2.0, "{fifo}");
    // With them its first packet waits at most for the ones in service at its host and at the switch, 1.2 us each,
    // and the link is its own from then on; alone it takes 18 us.
    assert!(strict < 1.0 + 2.4 / 18.0, "{strict}");
}

/// The goodput of a long flow over eight spines, on each of which one packet in 2500 is lost, independent of its
/// load.
fn over_lossy_spines(transport: &str) -> f64 {
    let outcome = run(&format!(
        r#"
[topology]
kind = "leaf-spine"
spines = 8
leaves = 2
hosts_per_leaf = 1
host_link = {{ rate = "100Gbps", delay = "10us" }}
link = {{ rate = "100Gbps", delay = "20us" }}

[[workload]]
sizes = {{ kind = "constant", size = "800MB" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 0, dst = 1 }}

[[fault]]
kind = "corruption"
probability = 0.0002
between = ["leaf", "spine"]

[[scheme]]
name = "any"
transport = {transport}
queue = "drop-tail"
"#
    ));
    outcome.flows[0].goodput_gbps().expect("a flow that finished")
}

#[test]
fn coupled_subflows_together_take_what_tcp_would() {
    let tcp = over_lossy_spines(r#""tcp""#);
    let mptcp = over_lossy_spines(r#"{ kind = "mptcp", subflows = 4 }"#);
    // RFC 6356 §2, goals 1 and 2: as much as on the best path, and no more; four that are not coupled would take
    // four times as much. A little more is due to the formula's maximum: the largest of four windows that fluctuate
    // between two and four thirds of their mean is about 1.25 times the mean, and the whole goes with its square
    // root.
    let share = mptcp / tcp;
    assert!((0.9..1.25).contains(&share), "{mptcp} of {tcp} Gb/s");
}

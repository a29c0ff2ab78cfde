//! What must hold of every run, whatever the scheme: checked on a grid of schemes, networks and loads.

mod common;

use common::{cases, fct, run, simulate, utilisation};
use packetloom::measure::{FlowRow, Format, best_fct};
use packetloom::scenario::Case;
use packetloom::simulation::{Outcome, PortRow};
use packetloom::topology::Topology;
use packetloom::units::Time;

/// Transport, queue, routing.
const SCHEMES: [(&str, &str, &str); 23] = [
    ("tcp", r#"{ kind = "drop-tail", capacity = "225KB" }"#, "ecmp"),
    ("tcp", r#"{ kind = "drop-tail", capacity = "5 packets" }"#, "ecmp"),
    ("cubic", r#"{ kind = "drop-tail", capacity = "100KB" }"#, "ecmp"),
    ("dctcp", r#"{ kind = "ecn", capacity = "225KB", mark_above = "22.5KB" }"#, "ecmp"),
    ("dctcp", r#"{ kind = "red", capacity = "100KB", min = "5KB", max = "60KB" }"#, "spray-random"),
    ("dctcp", r#"{ kind = "ecn", pool = "60KB", pool_alpha = 0.5 }"#, "ecmp"),
    ("min-tcp", r#"{ kind = "pfabric", capacity = "22.5KB" }"#, "spray-round-robin"),
    ("min-tcp", r#"{ kind = "pfabric", capacity = "3KB" }"#, "spray-random"),
    ("line-rate", r#"{ kind = "pfabric", capacity = "22.5KB" }"#, "spray-round-robin"),
    ("line-rate", r#"{ kind = "classes", weights = [1, 3] }"#, "ecmp"),
    ("fixed-window", r#""drop-tail""#, "spray-random"),
    ("ndp", r#""ndp""#, "spray-round-robin"),
    ("ndp", r#"{ kind = "ndp", capacity = "2 packets", header_capacity = "3KB" }"#, "spray-random"),
    ("d2tcp", r#"{ kind = "ecn", capacity = "225KB", mark_above = "22.5KB" }"#, "ecmp"),
    ("rcp", r#""drop-tail""#, "ecmp"),
    ("d3", r#"{ kind = "drop-tail", capacity = "30KB" }"#, "ecmp"),
    ("pdq", r#""drop-tail""#, r#"{ kind = "ecmp", symmetric = true }"#),
    (
        "pias",
        r#"{ kind = "classes", strict = 8, queue = "drop-tail", port = { kind = "ecn", capacity = "60KB" } }"#,
        "ecmp",
    ),
    ("mptcp", r#"{ kind = "drop-tail", capacity = "100KB" }"#, "ecmp"),
    ("mptcp", r#"{ kind = "drop-tail", capacity = "5 packets" }"#, "ecmp"),
    ("fastpass", r#"{ kind = "pfabric", capacity = "30KB" }"#, "spray-round-robin"),
    ("ideal", r#""drop-tail""#, "ecmp"),
    ("max-min", r#""drop-tail""#, "ecmp"),
];

const NETWORKS: [&str; 3] = [
    r#"
kind = "fat-tree"
k = 4
link = { rate = "10Gbps", delay = "0.4us" }
"#,
    // Two to one oversubscribed; rates that divide nothing.
    r#"
kind = "leaf-spine"
spines = 2
leaves = 3
hosts_per_leaf = 4
host_link = { rate = "9.953Gbps", delay = "0.1us" }
link = { rate = "9.953Gbps", delay = "0.2us" }
switch_delay = "0.3us"
framing = "20B"
"#,
    r#"
kind = "leaf-spine"
spines = 1
leaves = 3
hosts_per_leaf = 4
host_link = { rate = "10Gbps", delay = "0.1us" }
link = { rate = "40Gbps", delay = "0.2us" }
forwarding = "cut-through"
"#,
];

fn grid() -> Vec<Case> {
    let schemes: String = SCHEMES
        .iter()
        .enumerate()
        .map(|(number, (transport, queue, routing))| {
            let routing = if routing.starts_with('{') { routing.to_string() } else { format!("{routing:?}") };
            format!(
                "[[scheme]]\nname = \"{number}\"\ntransport = \"{transport}\"\nqueue = {queue}\n\
                 nic = \"drop-tail\"\nrouting = {routing}\n"
            )
        })
        .collect();
    let on = |network: &&str| {
        cases(&format!(
            r#"
[topology]
{network}
[[workload]]
sizes = {{ kind = "exponential", mean = "40KB" }}
share = 0.7

[[workload]]
sizes = {{ kind = "uniform", minimum = "1B", maximum = "20KB" }}
pattern = {{ kind = "incast", fan_in = 7 }}
class = 1
share = 0.3

{schemes}
[run]
loads = [0.3, 0.9]
flows = 600

[measure]
queues = true
"#
        ))
    };
    NETWORKS.iter().flat_map(on).collect()
}

#[test]
fn every_law_holds_on_the_grid() {
    let cases = grid();
    assert_eq!(cases.len(), SCHEMES.len() * NETWORKS.len() * 2);
    let (mut drops, mut marks) = (0, 0);
    for case in cases {
        let outcome = simulate(case.clone());
        let told = format!("{} at {:?} on {:?}", case.scheme.text("name"), case.load, case.topology);
        every_flow_finishes_and_none_beats_its_best(&case, &outcome, &told);
        if !outcome.ports.is_empty() {
            switches_lose_no_packet(&outcome, &told);
            hosts_send_what_they_say(&case, &outcome, &told);
            no_link_carries_more_than_its_rate(&outcome, &told);
            no_queue_exceeds_its_capacity(&case, &outcome, &told);
        }
        drops += outcome.ports.iter().map(|port| port.counters.drops).sum::<u64>();
        marks += outcome.ports.iter().map(|port| port.counters.marks).sum::<u64>();
    }
    // The grid would show little if nothing were dropped or marked on it.
    assert!(drops > 10_000 && marks > 1_000, "{drops} drops, {marks} marks");
}

/// A run that ends in the middle counts what has gone onto the links, not what still waits for them.
#[test]
fn no_link_carries_more_than_its_rate_in_a_run_that_is_cut_short() {
    for (transport, queue) in [("tcp", "drop-tail"), ("fixed-window", "drop-tail"), ("line-rate", "pfabric")]
    {
        let outcome = run(&format!(
            r#"
[topology]
kind = "fat-tree"
k = 4

[[workload]]
sizes = {{ kind = "constant", size = "10MB" }}
arrivals = {{ kind = "at-once", rounds = 4 }}

[[scheme]]
name = "cut"
transport = "{transport}"
queue = "{queue}"
nic = "drop-tail"

[run]
max_time = "1.2345ms"
"#
        ));
        assert_eq!(outcome.simulated, Time::from_ns(1_234_500));
        assert!(outcome.flows.iter().any(|row| row.fct().is_none()), "{transport}");
        // The last packet counts once it has started.
        let packet = Time::from_ns(1_200);
        for port in &outcome.ports {
            let busy = outcome.topology.links[port.link].rate.time_for(port.counters.bytes);
            assert!(busy < outcome.simulated + packet, "{transport}: {port:?}");
        }
        let busiest = outcome.ports.iter().map(|port| utilisation(&outcome, port)).fold(0.0, f64::max);
        assert!(busiest > 0.95, "{transport}: {busiest}");
    }
}

fn every_flow_finishes_and_none_beats_its_best(case: &Case, outcome: &Outcome, told: &str) {
    let is_sprayed =
        case.scheme.component("routing").kind != "ecmp" || case.scheme.component("transport").kind == "mptcp";
    assert_eq!(outcome.flows.len(), 600, "{told}");
    for row in &outcome.flows {
        let bound = if is_sprayed { best_when_sprayed(case, outcome, row) } else { row.best_fct };
        assert!(fct(row) >= bound, "{told}: {bound} for {row:?}");
        assert!(row.closed >= row.delivered && row.closed != Time::NEVER, "{told}: {row:?}");
    }
}

/// The best FCT is that of packets which follow each other on one path. Where they are sprayed a short last packet can
/// overtake the full ones on a path of its own, and these then are what takes longest.
fn best_when_sprayed(case: &Case, outcome: &Outcome, row: &FlowRow) -> Time {
    let transport = case.scheme.component("transport");
    let format = Format { mss_bytes: transport.bytes("mss"), header_bytes: transport.bytes("header") };
    let flow = &row.flow;
    match format.packets(flow.size_bytes) - 1 {
        0 => row.best_fct,
        full => best_fct(&outcome.topology, format, flow.src, flow.dst, full * format.mss_bytes),
    }
}

/// The ports of the links into and out of a node.
fn ports_of(outcome: &Outcome, node: u32, end: fn(&Topology, usize) -> u32) -> Vec<&PortRow> {
    outcome.ports.iter().filter(|port| end(&outcome.topology, port.link) == node).collect()
}

fn source(topology: &Topology, link: usize) -> u32 {
    topology.links[link].src
}

fn destination(topology: &Topology, link: usize) -> u32 {
    topology.links[link].dst
}

fn packets(ports: &[&PortRow]) -> u64 {
    ports.iter().map(|port| port.counters.packets).sum()
}

/// Whatever goes into a switch comes out of it or is dropped there.
fn switches_lose_no_packet(outcome: &Outcome, told: &str) {
    for switch in outcome.topology.hosts..outcome.topology.nodes.len() as u32 {
        let into = packets(&ports_of(outcome, switch, destination));
        let out_of = ports_of(outcome, switch, source);
        let dropped: u64 = out_of.iter().map(|port| port.counters.drops).sum();
        assert_eq!(into, packets(&out_of) + dropped, "{told}: {}", outcome.topology.node_name(switch));
    }
    let carried = packets(&outcome.ports.iter().collect::<Vec<_>>());
    assert_eq!(outcome.tally.packet_hops, carried, "{told}");
}

/// Hosts send each flow's packets, those that they say they sent again, and an acknowledgement per packet that comes.
fn hosts_send_what_they_say(case: &Case, outcome: &Outcome, told: &str) {
    let mss = case.scheme.component("transport").bytes("mss");
    for row in &outcome.flows {
        let first_time = row.report.packets_sent - row.report.retransmissions;
        assert_eq!(u64::from(first_time), row.flow.size_bytes.div_ceil(mss), "{told}: {row:?}");
    }
    let kind = case.scheme.component("transport").kind;
    let sends_requests = ["ndp", "rcp", "d3", "pdq", "fastpass"].contains(&kind.as_str());
    let is_lossless = outcome.ports.iter().all(|port| port.counters.drops == 0);
    for host in 0..outcome.topology.hosts {
        let sent = |is_it: fn(&packetloom::flow::Flow, u32) -> bool| {
            let flows = outcome.flows.iter().filter(|row| is_it(&row.flow, host));
            flows.map(|row| u64::from(row.report.packets_sent)).sum::<u64>()
        };
        let data_out = sent(|flow, host| flow.src == host);
        let data_in = sent(|flow, host| flow.dst == host);
        let out_of = packets(&ports_of(outcome, host, source));
        let into = packets(&ports_of(outcome, host, destination));
        if is_lossless && !sends_requests {
            assert_eq!(out_of, data_out + data_in, "{told}: out of host {host}");
            assert_eq!(into, data_in + data_out, "{told}: into host {host}");
        } else {
            assert!(out_of >= data_out, "{told}: out of host {host}");
        }
    }
}

fn no_link_carries_more_than_its_rate(outcome: &Outcome, told: &str) {
    for port in &outcome.ports {
        let framing = port.counters.packets * outcome.topology.framing_bytes;
        let busy = outcome.topology.links[port.link].rate.time_for(port.counters.bytes + framing);
        assert!(busy <= outcome.simulated, "{told}: {port:?}");
    }
}

fn no_queue_exceeds_its_capacity(case: &Case, outcome: &Outcome, told: &str) {
    let queue = case.scheme.component("queue");
    let headers = if queue.kind == "ndp" { queue.bytes("header_capacity") } else { 0 };
    let transport = case.scheme.component("transport");
    let full_packet = transport.bytes("mss") + transport.bytes("header");
    let capacity = match queue.entries.get("capacity") {
        Some(packetloom::spec::Value::Bytes(bytes)) => headers + *bytes,
        Some(packetloom::spec::Value::Packets(packets)) => headers + packets * full_packet,
        _ if queue.kind == "classes" && queue.optional_component("port").is_some() => {
            queue.component("port").bytes("capacity")
        }
        _ if queue.kind == "classes" => 2 * queue.component("queue").bytes("capacity"),
        _ => queue.optional_bytes("pool").unwrap_or(u64::MAX),
    };
    for port in &outcome.ports[outcome.topology.hosts as usize..] {
        let largest = port.queue.as_ref().expect("queues are watched").largest_bytes();
        assert!(largest <= capacity, "{told}: {largest} of {capacity} B");
        assert!(capacity < u64::MAX || port.counters.drops == 0, "{told}: a drop without need");
    }
    for nic in &outcome.ports[..outcome.topology.hosts as usize] {
        assert_eq!(nic.counters.drops, 0, "{told}: a drop without need");
    }
}

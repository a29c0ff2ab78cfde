//! What must hold of every run, whatever the scheme: checked on a grid of schemes, networks and loads.

use crate::common::{self, cases, fct, run, simulate, utilisation};
use packetloom::measure::FlowRow;
use packetloom::packet::Format;
use packetloom::packet::Kind;
use packetloom::queue::Specification;
use packetloom::scenario::Case;
use packetloom::simulation::{FLUID_COMPONENTS, Monitor, Outcome, PortRow, Simulation};
use packetloom::topology::Topology;
use packetloom::topology::best_fct;
use packetloom::units::Time;
use packetloom::{central, transport};
use std::collections::BTreeMap;

/// Transport, queue, routing.
pub const SCHEMES: [(&str, &str, &str); 74] = [
    ("tcp", r#"{ kind = "drop-tail", capacity = "225KB" }"#, "ecmp"),
    ("tcp", r#"{ kind = "drop-tail", capacity = "5 packets" }"#, "ecmp"),
    ("cubic", r#"{ kind = "drop-tail", capacity = "100KB" }"#, "ecmp"),
    ("vegas", r#"{ kind = "drop-tail", capacity = "100KB" }"#, "ecmp"),
    ("copa", r#"{ kind = "drop-tail", capacity = "30KB" }"#, "ecmp"),
    ("bbr", r#"{ kind = "drop-tail", capacity = "30KB" }"#, "ecmp"),
    ("bbr3", r#"{ kind = "drop-tail", capacity = "30KB" }"#, "spray-random"),
    ("prague", r#"{ kind = "ecn", capacity = "225KB", mark_above = "22.5KB" }"#, "ecmp"),
    ("dctcp", r#"{ kind = "ecn", capacity = "225KB", mark_above = "22.5KB" }"#, "ecmp"),
    ("dctcp", r#"{ kind = "red", capacity = "100KB", min = "5KB", max = "60KB" }"#, "spray-random"),
    ("dctcp", r#"{ kind = "ecn", pool = "60KB", pool_alpha = 0.5 }"#, "ecmp"),
    // Agents see departures, so packets wait in the ports' buffers.
    ("numfabric", r#"{ kind = "drop-tail", pool = "30KB" }"#, "ecmp"),
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
    ("flowtune", r#"{ kind = "drop-tail", capacity = "30KB" }"#, "ecmp"),
    ("tcp", r#""fair""#, "ecmp"),
    (
        "tcp",
        r#"{ kind = "egress", aqm = { kind = "codel", target = "10us", interval = "100us", ecn = false } }"#,
        "ecmp",
    ),
    (
        "dctcp",
        r#"{ kind = "egress", scheduler = { kind = "fair-queueing", queues = 8 }, aqm = { kind = "codel", target = "10us", interval = "100us" }, buffer = { kind = "private", capacity = "30KB" } }"#,
        "ecmp",
    ),
    (
        "dctcp",
        r#"{ kind = "egress", aqm = { kind = "pie", target = "10us", update = "20us", max_burst = "100us", alpha = 1000.0, beta = 10000.0 }, buffer = { kind = "private", capacity = "60KB" } }"#,
        "ecmp",
    ),
    (
        "pias",
        r#"{ kind = "egress", scheduler = { kind = "dwrr", weights = [4, 2, 1], strict = 1 }, aqm = { kind = "sojourn", mark_above = "15us" }, buffer = { kind = "private", capacity = "60KB" } }"#,
        "ecmp",
    ),
    (
        "prague",
        r#"{ kind = "egress", scheduler = "dual-queue", aqm = { kind = "dualpi2", target = "15us", update = "16us", alpha = 160.0, beta = 3200.0, mark_above = "8us" }, buffer = { kind = "private", capacity = "60KB" } }"#,
        "ecmp",
    ),
    (
        "dctcp",
        r#"{ kind = "egress", scheduler = { kind = "dual-queue", classic_percent = 6, l4s = "any-ect" }, aqm = { kind = "dualpi2", variant = "rfc9332", target = "15us", update = "15us", alpha = 150.0, beta = 3000.0, mark_above = "8us", mark_range = "4us" }, buffer = { kind = "pool", size = "100KB" } }"#,
        "ecmp",
    ),
    (
        "line-rate",
        r#"{ kind = "egress", scheduler = "pfabric", buffer = { kind = "pool", size = "60KB" } }"#,
        "ecmp",
    ),
    (
        "pias",
        r#"{ kind = "egress", scheduler = "strict", aqm = { kind = "threshold", mark_above = "15KB" }, buffer = { kind = "abm", size = "100KB", alphas = [1, 0.5], interval = "20us" } }"#,
        "spray-random",
    ),
    (
        "dcqcn",
        r#"{ kind = "egress", scheduler = "strict", aqm = { kind = "threshold", mark_above = "15KB" }, buffer = { kind = "reverie", size = "300KB", gamma = 0.9 }, flow_control = "pfc" }"#,
        "ecmp",
    ),
    ("numfabric", r#""weighted-fair""#, "ecmp"),
    ("tcp", r#"{ kind = "weighted-fair", capacity = "30KB" }"#, "ecmp"),
    ("python", r#"{ kind = "drop-tail", capacity = "30KB" }"#, "ecmp"),
    ("tcp", r#"{ kind = "python", file = "class.py", class = "QueueRule" }"#, "ecmp"),
    ("python-rate", r#"{ kind = "shared-buffer", ecn_min = "10KB", ecn_max = "40KB" }"#, "ecmp"),
    ("python-telemetry", r#"{ kind = "shared-buffer", ecn_min = "10KB", ecn_max = "40KB" }"#, "ecmp"),
    ("daq", r#"{ kind = "daq", short_capacity = "30KB", long_capacity = "30KB", rtt = "20us" }"#, "ecmp"),
    ("roce", r#"{ kind = "shared-buffer", ecn_min = "10KB", ecn_max = "40KB" }"#, "ecmp"),
    ("dcqcn", r#"{ kind = "shared-buffer", ecn_min = "10KB", ecn_max = "40KB" }"#, "ecmp"),
    ("roce", r#"{ kind = "cbfc", credits = "12KB", ecn_min = "10KB", ecn_max = "40KB" }"#, "ecmp"),
    ("tcp", r#"{ kind = "cbfc", credits = "4KB", lossless = [1, 2], capacity = "30KB" }"#, "spray-random"),
    (
        "dcqcn",
        r#"{ kind = "egress", scheduler = "strict", aqm = { kind = "red", min = "10KB", max = "40KB" }, flow_control = { kind = "cbfc", credits = "12KB" } }"#,
        "ecmp",
    ),
    ("bfc", r#"{ kind = "bfc", queues = 3 }"#, "ecmp"),
    ("bfc", r#"{ kind = "bfc", variant = "bfc-ns3", hop_rtt = "1us", pause_above = 0.1 }"#, "ecmp"),
    ("dcqcn", r#"{ kind = "floodgate", variant = "ideal", window = 0.1, voqs = 2 }"#, "ecmp"),
    (
        "hpcc",
        r#"{ kind = "floodgate", window = 0.1, credit_every = "3us", queue = { kind = "shared-buffer", ecn_min = "10KB", ecn_max = "40KB" } }"#,
        "ecmp",
    ),
    ("timely", r#"{ kind = "shared-buffer", ecn_min = "10KB", ecn_max = "40KB" }"#, "ecmp"),
    ("hpcc", r#"{ kind = "shared-buffer", ecn_min = "10KB", ecn_max = "40KB" }"#, "ecmp"),
    ("powertcp", r#"{ kind = "shared-buffer", ecn_min = "10KB", ecn_max = "40KB" }"#, "ecmp"),
    ("theta-powertcp", r#"{ kind = "shared-buffer", ecn_min = "10KB", ecn_max = "40KB" }"#, "ecmp"),
    ("swift", r#"{ kind = "shared-buffer", ecn_min = "10KB", ecn_max = "40KB" }"#, "ecmp"),
    ("rdma-dctcp", r#"{ kind = "shared-buffer", ecn_min = "10KB", ecn_max = "40KB" }"#, "ecmp"),
    (
        "homa",
        r#"{ kind = "classes", strict = 8, queue = "drop-tail", port = { kind = "drop-tail", capacity = "60KB" } }"#,
        "spray-random",
    ),
    (
        "phost",
        r#"{ kind = "classes", strict = 8, queue = "drop-tail", port = { kind = "drop-tail", capacity = "60KB" } }"#,
        "spray-random",
    ),
    (
        "dcpim",
        r#"{ kind = "classes", strict = 8, queue = "drop-tail", port = { kind = "drop-tail", capacity = "60KB" } }"#,
        "spray-round-robin",
    ),
    (
        "expresspass",
        r#"{ kind = "credit-limiter", capacity = "20 packets" }"#,
        r#"{ kind = "ecmp", symmetric = true }"#,
    ),
    (
        "sird",
        r#"{ kind = "classes", strict = 2, queue = "drop-tail", port = { kind = "ecn", capacity = "60KB", mark_above = "12KB" } }"#,
        "spray-random",
    ),
    ("eqds", r#""ndp""#, "oblivious"),
    ("uec", r#"{ kind = "ndp", ecn_min = "10KB", ecn_max = "40KB" }"#, "reps"),
    ("tcp", r#"{ kind = "drop-tail", capacity = "100KB" }"#, "letflow"),
    ("dctcp", r#"{ kind = "ecn", capacity = "225KB", mark_above = "22.5KB" }"#, "conga"),
    ("tcp", r#"{ kind = "drop-tail", capacity = "100KB" }"#, "conweave"),
    ("syn", r#""drop-tail""#, "controller"),
    ("asy", r#""drop-tail""#, "spray-random"),
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

/// SYN's controller knows leaves and spines, and needs spines that carry all that a leaf's servers send.
fn suits(transport: &str, network: &str) -> bool {
    transport != "syn" || network.contains("40Gbps")
}

/// A scheme without its table's head: transport, queue, NIC and routing.
pub fn scheme((transport, queue, routing): (&str, &str, &str)) -> String {
    let routing = if routing.starts_with('{') { routing.to_string() } else { format!("{routing:?}") };
    // Hosts and switches count the same credits; and hosts must know pauses.
    let is_alike = transport == "daq"
        || ["shared-buffer", "bfc", "floodgate", "flow_control"].iter().any(|one| queue.contains(one));
    let nic = if is_alike { queue } else { "\"drop-tail\"" };
    let keys = common::required_keys(transport);
    format!(
        "transport = {{ kind = \"{transport}\"{keys} }}\nqueue = {queue}\nnic = {nic}\nrouting = {routing}\n"
    )
}

/// The tables of all schemes that suit a network, called by their numbers.
fn schemes(network: &str) -> String {
    let suitable = SCHEMES.iter().enumerate().filter(|(_, (transport, _, _))| suits(transport, network));
    suitable.map(|(number, &of)| format!("[[scheme]]\nname = \"{number}\"\n{}", scheme(of))).collect()
}

fn grid() -> Vec<Case> {
    let on = |network: &&str| {
        let schemes = schemes(network);
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
fn every_transport_and_every_queue_is_on_the_grid() {
    let transports = [transport::COMPONENTS, FLUID_COMPONENTS, central::COMPONENTS].concat();
    for component in transports {
        let is_it = |scheme: &(&str, &str, &str)| scheme.0 == component.kind;
        assert!(SCHEMES.iter().any(is_it), "the transport {}", component.kind);
    }
    for component in packetloom::queue::COMPONENTS {
        let is_it = |case: &Case| case.scheme.component("queue").kind == component.kind;
        assert!(grid().iter().any(is_it), "the queue {}", component.kind);
    }
}

#[test]
fn every_law_holds_on_the_grid() {
    let cases = grid();
    // SYN is on one of the three networks.
    assert_eq!(cases.len(), (SCHEMES.len() * NETWORKS.len() - 2) * 2);
    let (mut drops, mut marks) = (0, 0);
    for case in cases {
        let outcome = simulate(case.clone());
        let context = format!("{} at {:?} on {:?}", case.scheme.text("name"), case.load, case.topology);
        every_flow_finishes_and_none_beats_its_best(&case, &outcome, &context);
        if !outcome.ports.is_empty() {
            no_queue_exceeds_its_capacity(&case, &outcome, &context);
        }
        // Such a run ends as the last packet leaves its server, with packets still under way.
        if !outcome.ports.is_empty() && !is_central(&case) {
            // A credit, a pause, or a notice of ConWeave's, ends at a switch, which no port there counts.
            let of = |section| case.scheme.component(section).kind;
            let queue = Specification::of(&case.scheme.component("queue"));
            let notifies =
                queue.credit_bytes().or(queue.pause_bytes()).is_some() || queue.backpressure.is_some();
            if !notifies && of("routing") != "conweave" {
                switches_lose_no_packet(&outcome, &context);
            }
            hosts_send_what_they_say(&case, &outcome, &context);
            no_link_carries_more_than_its_rate(&outcome, &context);
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

/// What a flow that the end of a run cuts short has sent by then is what its host's link has carried of it, and what
/// waits before that link. The audit, which counts what waits, holds every such run to it; here the two are compared
/// from outside.
#[test]
fn flows_that_a_run_cuts_short_tell_what_they_sent() {
    for network in [NETWORKS[0], NETWORKS[2]] {
        let text = format!(
            r#"
[topology]
{network}
[[workload]]
sizes = {{ kind = "constant", size = "10MB" }}
arrivals = {{ kind = "at-once", rounds = 2 }}
pattern = "permutation"

{}
[run]
max_time = "300us"

[measure]
capture = "host"
"#,
            schemes(network)
        );
        let is_fluid = |case: &Case| {
            let kind = case.scheme.component("transport").kind;
            FLUID_COMPONENTS.iter().any(|model| model.kind == kind)
        };
        for case in cases(&text).into_iter().filter(|case| !is_fluid(case)) {
            let context = format!("{:?}", case.scheme.component("transport"));
            let run = |threads| {
                let simulation = Simulation::new(case.clone()).expect("a sound case").with_audit(true);
                simulation.with_threads(threads).run(&Monitor::default()).expect("a sound case")
            };
            let outcome = run(1);
            assert!(outcome.violation.is_none(), "{context}: {:?}", outcome.violation);
            assert_eq!(run(2).flows, outcome.flows, "{context}");
            assert!(outcome.flows.iter().any(|row| row.fct().is_none()), "{context}");
            sent_is_on_the_link_or_waits(&outcome, &context);
        }
    }
}

fn sent_is_on_the_link_or_waits(outcome: &Outcome, context: &str) {
    let mut carried = BTreeMap::new();
    for packet in outcome.captures.iter().flat_map(|capture| &capture.packets) {
        *carried.entry(packet.flow).or_default() += u32::from(packet.kind == Kind::Data);
    }
    let (mut sent, mut on_links) = (0, 0);
    for row in &outcome.flows {
        let on_link: u32 = carried.get(&row.flow.id).copied().unwrap_or(0);
        assert!(row.report.packets_sent >= on_link, "{context}: {on_link} packets on the link, {row:?}");
        (sent, on_links) = (sent + row.report.packets_sent, on_links + on_link);
    }
    assert!(on_links > 0 && sent > 0, "{context}: {sent} packets sent, {on_links} on links");
}

fn is_central(case: &Case) -> bool {
    central::is_central(&case.scheme.component("transport").kind)
}

fn every_flow_finishes_and_none_beats_its_best(case: &Case, outcome: &Outcome, context: &str) {
    let is_sprayed =
        case.scheme.component("routing").kind != "ecmp" || case.scheme.component("transport").kind == "mptcp";
    assert_eq!(outcome.flows.len(), 600, "{context}");
    for row in &outcome.flows {
        let bound = if is_sprayed { best_when_sprayed(case, outcome, row) } else { row.best_fct };
        assert!(fct(row) >= bound, "{context}: {bound} for {row:?}");
        // A server that a controller plans for waits for no answer.
        assert!(row.closed >= row.delivered || is_central(case), "{context}: {row:?}");
        assert!(row.closed != Time::NEVER, "{context}: {row:?}");
    }
}

fn format(case: &Case) -> Format {
    let transport = case.scheme.component("transport");
    if is_central(case) {
        return central::FORMAT;
    }
    Format { mss_bytes: transport.bytes("mss"), header_bytes: transport.bytes("header") }
}

/// The best FCT is that of packets which follow each other on one path. Where they are sprayed a short last packet
/// can overtake the full ones on a path of its own, and these then are what takes longest.
fn best_when_sprayed(case: &Case, outcome: &Outcome, row: &FlowRow) -> Time {
    let format = format(case);
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
fn switches_lose_no_packet(outcome: &Outcome, context: &str) {
    for switch in outcome.topology.hosts..outcome.topology.nodes.len() as u32 {
        let into = packets(&ports_of(outcome, switch, destination));
        let out_of = ports_of(outcome, switch, source);
        let dropped: u64 = out_of.iter().map(|port| port.counters.drops).sum();
        assert_eq!(into, packets(&out_of) + dropped, "{context}: {}", outcome.topology.node_name(switch));
    }
    let carried = packets(&outcome.ports.iter().collect::<Vec<_>>());
    assert_eq!(outcome.tally.packet_hops, carried, "{context}");
}

/// Hosts send each flow's packets, the retransmissions that they report, and an acknowledgement per packet that
/// arrives.
fn hosts_send_what_they_say(case: &Case, outcome: &Outcome, context: &str) {
    let transport = case.scheme.component("transport");
    let (kind, mss) = (transport.kind.clone(), transport.bytes("mss"));
    for row in &outcome.flows {
        let first_time = row.report.packets_sent - row.report.retransmissions;
        let (first_time, full) = (u64::from(first_time), row.flow.size_bytes.div_ceil(mss));
        // Homa's unscheduled packets hold a little less than the others.
        assert!(first_time == full || kind == "homa" && first_time > full, "{context}: {row:?}");
    }
    let requesting = [
        "ndp",
        "numfabric",
        "rcp",
        "d3",
        "pdq",
        "daq",
        "fastpass",
        "flowtune",
        "dcqcn",
        "homa",
        "phost",
        "sird",
        "dcpim",
        "expresspass",
        "eqds",
        "uec",
    ];
    // Hosts get updates of credit, or pauses, too.
    let queue = Specification::of(&case.scheme.component("queue"));
    let hears = queue.credit_bytes().is_some() || queue.backpressure.is_some();
    let sends_requests = hears || requesting.contains(&kind.as_str());
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
            assert_eq!(out_of, data_out + data_in, "{context}: out of host {host}");
            assert_eq!(into, data_in + data_out, "{context}: into host {host}");
        } else {
            assert!(out_of >= data_out, "{context}: out of host {host}");
        }
    }
}

fn no_link_carries_more_than_its_rate(outcome: &Outcome, context: &str) {
    for port in &outcome.ports {
        let framing = port.counters.packets * outcome.topology.framing_bytes;
        let busy = outcome.topology.links[port.link].rate.time_for(port.counters.bytes + framing);
        assert!(busy <= outcome.simulated, "{context}: {port:?}");
    }
}

fn no_queue_exceeds_its_capacity(case: &Case, outcome: &Outcome, context: &str) {
    let queue = case.scheme.component("queue");
    let headers = if queue.kind == "ndp" { queue.bytes("header_capacity") } else { 0 };
    let full_packet = format(case).mss_bytes + format(case).header_bytes;
    let specification = Specification::of(&queue);
    let most = specification.most_bytes(full_packet);
    let pool = specification.pool.as_ref().map(|pool| pool.size_bytes);
    let capacity = match queue.entries.get("capacity") {
        // Of each class that needs no credit; the others have that of all links that lead to the switch.
        _ if queue.kind == "cbfc" => queue.bytes("capacity") * 7 + queue.bytes("credits") * 7 * 24,
        _ if queue.kind == "credit-limiter" => most.unwrap_or(u64::MAX),
        Some(packetloom::spec::Value::Bytes(bytes)) => headers + *bytes,
        Some(packetloom::spec::Value::Packets(packets)) => headers + packets * full_packet,
        _ if queue.kind == "classes" && queue.optional_component("port").is_some() => {
            queue.component("port").bytes("capacity")
        }
        _ if queue.kind == "classes" => 2 * queue.component("queue").bytes("capacity"),
        _ if queue.kind == "daq" => u64::MAX,
        _ if queue.kind == "bfc" => most.unwrap_or(u64::MAX),
        _ if queue.kind == "egress" => most.into_iter().chain(pool).min().unwrap_or(u64::MAX),
        _ => pool.unwrap_or(u64::MAX),
    };
    let drops_early = specification.traits.drops_early;
    for port in &outcome.ports[outcome.topology.hosts as usize..] {
        let largest = port.queue.as_ref().expect("queues are watched").largest_bytes();
        assert!(largest <= capacity, "{context}: {largest} of {capacity} B");
        assert!(
            drops_early || capacity < u64::MAX || port.counters.drops == 0,
            "{context}: a drop without need"
        );
    }
    for nic in &outcome.ports[..outcome.topology.hosts as usize] {
        assert!(drops_early || nic.counters.drops == 0, "{context}: a drop without need");
    }
}

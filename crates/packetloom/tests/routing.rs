//! Which paths packets take.

use crate::common::{fct, port, run};
use packetloom::simulation::Outcome;
use packetloom::units::Time;

const FAT_TREE: &str = "kind = \"fat-tree\"\nk = 8\n";

/// Flows of so many packets each, from host 0 to the farthest host.
fn flows(count: u32, packets: u32, routing: &str, seed: u32) -> Outcome {
    run(&format!(
        r#"
[topology]
{FAT_TREE}
[[workload]]
sizes = {{ kind = "constant", size = "{}B" }}
arrivals = {{ kind = "at-once", rounds = {count} }}
pattern = {{ kind = "pair", src = 0, dst = 127 }}

[[scheme]]
name = "paths"
transport = {{ kind = "fixed-window", initial_window = 1_000_000, min_rto = "1s" }}
queue = "drop-tail"
routing = {routing}

[run]
seeds = [{seed}]
"#,
        packets * 1460
    ))
}

/// What went up from host 0's edge switch to each of its aggregation switches, and from each of these to each core.
fn packets_up(outcome: &Outcome) -> (Vec<u64>, Vec<u64>) {
    let packets = |from: &str, to: &str| port(outcome, from, to).counters.packets;
    let to_aggregation = (0..4).map(|a| packets("edge0", &format!("aggregation{a}"))).collect();
    let pairs = (0..4).flat_map(|a| (0..4).map(move |c| (a, 4 * a + c)));
    let to_core = pairs.map(|(a, c)| packets(&format!("aggregation{a}"), &format!("core{c}"))).collect();
    (to_aggregation, to_core)
}

/// Counts of `total` independent draws among as many equal choices are within five standard deviations of even.
fn assert_even(counts: &[u64], total: u64, context: &str) {
    assert_eq!(counts.iter().sum::<u64>(), total, "{context}");
    let share = 1.0 / counts.len() as f64;
    let mean = total as f64 * share;
    let deviation = (mean * (1.0 - share)).sqrt();
    assert!(
        counts.iter().all(|&count| (count as f64 - mean).abs() < 5.0 * deviation),
        "{context}: {counts:?}"
    );
}

#[test]
fn ecmp_keeps_a_flow_on_one_path() {
    let mut paths = Vec::new();
    for seed in 1..=20 {
        let outcome = flows(1, 50, r#""ecmp""#, seed);
        let used: Vec<u64> =
            outcome.ports.iter().map(|port| port.counters.packets).filter(|&p| p > 0).collect();
        // Six links there, six back: all packets on each.
        assert_eq!(used, [50; 12], "seed {seed}");
        let path = packets_up(&outcome).1.iter().position(|&packets| packets > 0);
        paths.push(path);
    }
    // Twenty draws among sixteen paths: which one is it depends on the seed.
    paths.sort_unstable();
    paths.dedup();
    assert!(paths.len() > 5, "{paths:?}");
}

#[test]
fn symmetric_ecmp_brings_answers_back_by_the_path_of_the_data() {
    for seed in 1..=20 {
        let outcome = flows(1, 50, r#"{ kind = "ecmp", symmetric = true }"#, seed);
        let topology = &outcome.topology;
        let used: Vec<(u32, u32)> = outcome
            .ports
            .iter()
            .filter(|port| port.counters.packets > 0)
            .map(|port| {
                let link = topology.links[port.link];
                (link.src, link.dst)
            })
            .collect();
        assert_eq!(used.len(), 12);
        assert!(used.iter().all(|&(src, dst)| used.contains(&(dst, src))), "{used:?}");
    }
}

#[test]
fn ecmp_spreads_flows_over_all_paths() {
    let (to_aggregation, to_core) = packets_up(&flows(4_000, 1, r#""ecmp""#, 1));
    assert_even(&to_aggregation, 4_000, "edge");
    // A switch's choice must not follow from that of the switch before it.
    assert_even(&to_core, 4_000, "aggregation");
}

#[test]
fn flows_that_share_queue_pairs_share_their_paths() {
    let mut taken = [0; 4];
    for seed in 1..=20 {
        let (to_aggregation, to_core) =
            packets_up(&flows(500, 1, r#"{ kind = "ecmp", queue_pairs = 1 }"#, seed));
        for (aggregation, &packets) in to_aggregation.iter().enumerate().filter(|(_, packets)| **packets > 0)
        {
            assert_eq!(packets, 500, "seed {seed}: {to_aggregation:?}");
            taken[aggregation] += 1;
        }
        assert_eq!(to_core.iter().filter(|packets| **packets > 0).count(), 1, "seed {seed}: {to_core:?}");
    }
    assert!(taken.iter().all(|&seeds| seeds > 0), "another path by another seed: {taken:?}");
    let (_, to_core) = packets_up(&flows(500, 1, r#"{ kind = "ecmp", queue_pairs = 4 }"#, 1));
    let used = to_core.iter().filter(|packets| **packets > 0).count();
    assert!((2..=4).contains(&used), "{to_core:?}");
}

#[test]
fn flows_over_rdma_share_the_paths_of_queue_pairs_too() {
    let used = |routing: &str, connections: &str| {
        let outcome = run(&format!(
            r#"
[topology]
{FAT_TREE}
[[workload]]
sizes = {{ kind = "constant", size = "1KB" }}
arrivals = {{ kind = "at-once", rounds = 200 }}
pattern = {{ kind = "pair", src = 0, dst = 127 }}

[[scheme]]
name = "paths"
transport = {{ kind = "roce", connections = "{connections}" }}
queue = "drop-tail"
routing = {routing}
"#
        ));
        packets_up(&outcome).1.iter().filter(|packets| **packets > 0).count()
    };
    for connections in ["open", "fresh", "pool"] {
        assert_eq!(used(r#"{ kind = "ecmp", queue_pairs = 1 }"#, connections), 1, "{connections}");
        let four = used(r#"{ kind = "ecmp", queue_pairs = 4 }"#, connections);
        assert!((2..=4).contains(&four), "{connections}: {four}");
    }
    assert_eq!(used(r#""ecmp""#, "open"), 16);
}

#[test]
fn ecmp_keeps_packets_in_order_and_spraying_does_not() {
    let retransmissions = |routing: &str| {
        let outcome = run(&format!(
            r#"
[topology]
{FAT_TREE}
[[workload]]
sizes = {{ kind = "exponential", mean = "100KB" }}

[[scheme]]
name = "order"
transport = {{ kind = "tcp", duplicate_threshold = 1, min_rto = "1s" }}
queue = "drop-tail"
routing = "{routing}"

[run]
loads = [0.7]
flows = 1_000
"#
        ));
        outcome.flows.iter().map(|row| row.report.retransmissions).sum::<u32>()
    };
    // Nothing is lost: whatever is sent again came late, behind a later packet of its flow.
    assert_eq!(retransmissions("ecmp"), 0);
    assert!(retransmissions("spray-random") > 100);
}

#[test]
fn random_spraying_spreads_a_flows_packets_evenly() {
    let (to_aggregation, to_core) = packets_up(&flows(1, 8_000, r#""spray-random""#, 1));
    assert_even(&to_aggregation, 8_000, "edge");
    assert_even(&to_core, 8_000, "aggregation");
}

#[test]
fn round_robin_spraying_is_exact() {
    for per in ["destination", "source", "switch"] {
        let routing = format!(r#"{{ kind = "spray-round-robin", per = "{per}" }}"#);
        let (to_aggregation, to_core) = packets_up(&flows(1, 8_000, &routing, 1));
        assert_eq!(to_aggregation, [2_000; 4], "{per}");
        assert_eq!(to_core, [500; 16], "{per}");
        let (uneven, _) = packets_up(&flows(1, 8_002, &routing, 1));
        assert_eq!(uneven, [2_001, 2_001, 2_000, 2_000], "{per}");
    }
}

/// Hosts below one switch, in one pod; all.
fn every_host_reaches_every_host(topology: &str, below_a_switch: u32, in_a_pod: u32, hosts: u32) {
    let outcome = run(&format!(
        r#"
[topology]
{topology}
link = {{ rate = "10Gbps", delay = "0.4us" }}

[[workload]]
sizes = {{ kind = "constant", size = "1460B" }}
arrivals = {{ kind = "periodic", interval = "50us" }}
pattern = "all-to-all"

[[scheme]]
name = "one by one"
transport = "fixed-window"
queue = "drop-tail"
routing = "spray-random"

[run]
flows = {}
"#,
        hosts * (hosts - 1)
    ));
    let mut pairs: Vec<(u32, u32)> = outcome.flows.iter().map(|row| (row.flow.src, row.flow.dst)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!(pairs.len() as u32, hosts * (hosts - 1), "{topology}");
    let mut hops = 0;
    for row in &outcome.flows {
        let (src, dst) = (row.flow.src, row.flow.dst);
        let links = match () {
            () if src / below_a_switch == dst / below_a_switch => 2,
            () if src / in_a_pod == dst / in_a_pod => 4,
            () => 6,
        };
        assert_eq!(outcome.topology.path(src, dst).len(), links, "{topology}: {src} to {dst}");
        assert_eq!(fct(row), Time::from_ns(links as u64 * (1_200 + 400)), "{topology}: {src} to {dst}");
        hops += 2 * links as u64;
    }
    assert_eq!(outcome.tally.packet_hops, hops, "{topology}: there and back");
}

#[test]
fn every_host_reaches_every_host_by_the_shortest_paths() {
    every_host_reaches_every_host("kind = \"rack\"\nhosts = 7", 7, 7, 7);
    every_host_reaches_every_host(
        "kind = \"leaf-spine\"\nspines = 3\nleaves = 4\nhosts_per_leaf = 5",
        5,
        20,
        20,
    );
    every_host_reaches_every_host("kind = \"fat-tree\"\nk = 2", 1, 1, 2);
    every_host_reaches_every_host("kind = \"fat-tree\"\nk = 4", 2, 4, 16);
    every_host_reaches_every_host("kind = \"fat-tree\"\nk = 6", 3, 9, 54);
}

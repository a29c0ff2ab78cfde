//! Load balancing in switches through the whole simulator.

mod common;

use common::{cases, port, simulate};
use packetloom::measure::fingerprint;
use packetloom::simulation::{Monitor, Outcome, Simulation};

/// A leaf-spine of 4 leaves with 8 hosts each and 4 spines.
const LEAVES: &str = r#"
kind = "leaf-spine"
spines = 4
leaves = 4
hosts_per_leaf = 8
link = { rate = "10Gbps", delay = "1us" }
"#;

const FAT_TREE: &str = r#"
kind = "fat-tree"
k = 4
"#;

/// Traffic under a transport, with a routing.
fn scenario(topology: &str, (transport, queue): (&str, &str), routing: &str) -> String {
    format!(
        r#"
[topology]
{topology}
[[workload]]
sizes = {{ kind = "exponential", mean = "200KB" }}
arrivals = "poisson"
pattern = "random-pairs"

[[scheme]]
name = "balanced"
transport = {transport}
queue = {queue}
routing = {routing}

[run]
loads = 0.6
flows = 150
"#
    )
}

const DCTCP: (&str, &str) = (r#""dctcp""#, r#"{ kind = "ecn", capacity = "225KB", mark_above = "30KB" }"#);
const DCQCN: (&str, &str) = (
    r#"{ kind = "dcqcn", rto = "4ms" }"#,
    r#"{ kind = "shared-buffer", buffer = "2MiB", ecn_min = "40KB", ecn_max = "160KB", ecn_probability = 0.2 }"#,
);

fn outcome(topology: &str, scheme: (&str, &str), routing: &str, threads: u32) -> Outcome {
    let case = cases(&scenario(topology, scheme, routing)).remove(0);
    let simulation = Simulation::new(case).unwrap_or_else(|complaint| panic!("{complaint:?}"));
    let outcome = simulation.with_audit(true).with_threads(threads).run(&Monitor::default());
    let outcome = outcome.unwrap_or_else(|complaint| panic!("{complaint:?}"));
    assert_eq!(outcome.violation, None, "{routing} with {}", scheme.0);
    outcome
}

const ROUTINGS: [&str; 7] = [
    r#""letflow""#,
    r#""conga""#,
    r#""drill""#,
    r#"{ kind = "drill", samples = 4, memory = 2, memory_per = "destination" }"#,
    r#""conweave""#,
    r#""adaptive""#,
    r#"{ kind = "adaptive", per = "flowlet", update_interval = "2us" }"#,
];

#[test]
fn all_flows_end_and_the_laws_hold_whatever_the_threads() {
    for topology in [LEAVES, FAT_TREE] {
        for scheme in [DCTCP, DCQCN] {
            for routing in ROUTINGS {
                let one = outcome(topology, scheme, routing, 1);
                let open = one.flows.iter().filter(|row| row.fct().is_none()).count();
                assert_eq!((open, &one.stalled), (0, &None), "{routing} with {}", scheme.0);
                let two = outcome(topology, scheme, routing, 2);
                let told = format!("{routing} with {}", scheme.0);
                assert_eq!(fingerprint(&one.flows), fingerprint(&two.flows), "{told}");
            }
        }
    }
}

#[test]
fn letflow_with_an_endless_gap_is_ecmp() {
    for topology in [LEAVES, FAT_TREE] {
        for scheme in [DCTCP, DCQCN] {
            let flowlets = outcome(topology, scheme, r#"{ kind = "letflow", flowlet_gap = "1000s" }"#, 1);
            let ecmp = outcome(topology, scheme, r#""ecmp""#, 1);
            assert_eq!(fingerprint(&flowlets.flows), fingerprint(&ecmp.flows));
        }
    }
}

#[test]
fn one_path_is_one_path_whoever_balances() {
    let single = LEAVES.replace("spines = 4", "spines = 1");
    let ecmp = outcome(&single, DCTCP, r#""ecmp""#, 1);
    for routing in &ROUTINGS {
        let balanced = outcome(&single, DCTCP, routing, 1);
        // ConWeave's probes take their time on the links.
        if !routing.contains("conweave") {
            assert_eq!(fingerprint(&balanced.flows), fingerprint(&ecmp.flows), "{routing}");
        }
    }
}

/// What arrived out of order of all flows, and how often their packets changed their path.
fn order(outcome: &Outcome) -> (u32, u32) {
    let flows = outcome.reordering.as_ref().expect("it was measured");
    flows.values().fold((0, 0), |(late, changes), flow| (late + flow.packets, changes + flow.path_changes))
}

fn measured(transport: (&str, &str), routing: &str) -> Outcome {
    let text = scenario(LEAVES, transport, routing) + "\n[measure]\nreordering = true\n";
    let outcome = simulate(cases(&text).remove(0));
    assert!(outcome.flows.iter().all(|row| row.fct().is_some()), "{routing}");
    outcome
}

#[test]
fn what_is_measured_of_order_changes_nothing_and_tells_schemes_apart() {
    assert_eq!(order(&measured(DCTCP, r#""ecmp""#)), (0, 0));
    let sprayed = measured(DCTCP, r#""spray-random""#);
    let (late, changes) = order(&sprayed);
    assert!(late > 1_000 && changes > late, "{late} {changes}");
    let unmeasured = outcome(LEAVES, DCTCP, r#""spray-random""#, 1);
    assert_eq!(fingerprint(&sprayed.flows), fingerprint(&unmeasured.flows));
}

#[test]
fn conweave_moves_flows_and_keeps_their_order_and_moves_none_without_congestion() {
    // Nothing is released before the last packet by the old path has come.
    let unforced = r#"{ kind = "conweave", flush_extra = "10ms" }"#;
    let (late, changes) = order(&measured(DCQCN, unforced));
    assert!(late == 0 && changes > 0, "{late} {changes}");
    let hasty = r#"{ kind = "conweave", flush_extra = "1us", flush_default = "1us" }"#;
    let (late, _) = order(&measured(DCQCN, hasty));
    assert!(late > 0);
    let patient = r#"{ kind = "conweave", reply_extra = "1s", expiry = "10s" }"#;
    assert_eq!(order(&measured(DCQCN, patient)), (0, 0));
}

/// Bytes that a leaf sent to each spine.
fn uplinks(outcome: &Outcome) -> Vec<u64> {
    (0..4).map(|spine| port(outcome, "leaf0", &format!("spine{spine}")).counters.bytes).collect()
}

#[test]
fn drill_shares_uplinks_more_evenly_than_random_spraying_and_that_than_ecmp() {
    let spread = |routing| {
        let bytes = uplinks(&outcome(LEAVES, DCTCP, routing, 1));
        let mean = bytes.iter().sum::<u64>() as f64 / 4.0;
        bytes.iter().map(|&bytes| (bytes as f64 - mean).abs() / mean).fold(0.0, f64::max)
    };
    let (drill, random, ecmp) = (spread(r#""drill""#), spread(r#""spray-random""#), spread(r#""ecmp""#));
    assert!(random < ecmp && drill < 0.05, "{drill} {random} {ecmp}");
}

#[test]
fn a_link_that_is_known_to_be_dead_is_avoided() {
    for routing in ROUTINGS {
        let mut text = scenario(LEAVES, DCTCP, routing);
        text.push_str(
            r#"
[[fault]]
kind = "link-down"
between = ["leaf0", "spine2"]
at = "0s"
learn_after = "0s"
"#,
        );
        let outcome = simulate(cases(&text).remove(0));
        assert!(outcome.flows.iter().all(|row| row.fct().is_some()), "{routing}");
        assert_eq!(uplinks(&outcome)[2], 0, "{routing}");
    }
}

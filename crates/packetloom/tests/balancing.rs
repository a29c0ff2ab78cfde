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

const FIRST_FIT: &str =
    r#"{ kind = "hedera", interval = "400us", delay = "40us", placement = "global-first-fit" }"#;
const ANNEALING: &str = r#"{ kind = "hedera", interval = "400us", delay = "40us" }"#;

const ROUTINGS: [&str; 9] = [
    r#""letflow""#,
    r#""conga""#,
    r#""drill""#,
    r#"{ kind = "drill", samples = 4, memory = 2, memory_per = "destination" }"#,
    r#""conweave""#,
    r#""adaptive""#,
    r#"{ kind = "adaptive", per = "flowlet", update_interval = "2us" }"#,
    FIRST_FIT,
    ANNEALING,
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
                let context = format!("{routing} with {}", scheme.0);
                assert_eq!(fingerprint(&one.flows), fingerprint(&two.flows), "{context}");
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
fn hedera_brings_long_flows_apart_that_collide_under_ecmp() {
    let text = |routing| {
        let workload = r#"
sizes = { kind = "constant", size = "5MB" }
arrivals = "at-once"
pattern = "permutation"
"#;
        let (transport, queue) = DCTCP;
        format!(
            "[topology]\n{FAT_TREE}\n[[workload]]{workload}\n[[scheme]]\nname = \"x\"\ntransport = {transport}\n\
             queue = {queue}\nrouting = {routing}\n[run]\nflows = 16\n"
        )
    };
    let mean = |routing| {
        let outcome = simulate(cases(&text(routing)).remove(0));
        let times = outcome.flows.iter().map(|row| row.fct().expect("it ended").as_secs_f64());
        times.sum::<f64>() / 16.0
    };
    let (ecmp, fit, annealed) = (mean(r#""ecmp""#), mean(FIRST_FIT), mean(ANNEALING));
    // Alone a flow takes 4 ms.
    assert!(fit < ecmp / 1.15 && annealed < ecmp / 1.15, "{ecmp} {fit} {annealed}");
    // Who never asks is ECMP.
    let never = mean(r#"{ kind = "hedera", interval = "10s" }"#);
    assert_eq!(never, ecmp);
}

/// A fault from the start, of which switches know if they learn of it at all.
fn from_the_start(fault: &str) -> String {
    format!("\n[[fault]]\n{fault}\nbetween = [\"leaf1\", \"spine0\"]\nat = \"0s\"\n")
}

/// What leaf 0 sent by each of its uplinks under a routing and a fault, when all flows from it go to leaf 1.
fn shares(routing: &str, fault: &str) -> Vec<f64> {
    let (transport, queue) = DCTCP;
    let text = format!(
        "[topology]\n{LEAVES}\n[[workload]]\nsizes = {{ kind = \"constant\", size = \"3KB\" }}\narrivals = \"poisson\"\n\
         pattern = {{ kind = \"pair\", src = 0, dst = 8 }}\n[[scheme]]\nname = \"x\"\ntransport = {transport}\n\
         queue = {queue}\nrouting = {routing}\n[run]\nloads = 0.2\nflows = 4000\n{}",
        from_the_start(fault)
    );
    let bytes = uplinks(&simulate(cases(&text).remove(0)));
    let all: u64 = bytes.iter().sum();
    bytes.into_iter().map(|bytes| bytes as f64 / all as f64).collect()
}

fn assert_near(found: &[f64], expected: [f64; 4]) {
    // Of 4000 flows, each by itself: five standard deviations of a share of a third are 0.037.
    assert!(
        found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 0.037),
        "{found:?} {expected:?}"
    );
}

#[test]
fn weights_follow_the_capacity_of_the_paths_where_links_differ_from_the_start() {
    let slow = |learns| format!("kind = \"link-degraded\"\nrate = \"2.5Gbps\"\n{learns}");
    let (knows, dead) = (r#"learn_after = "0s""#, "kind = \"link-down\"\nlearn_after = \"0s\"");
    let quarter = 0.25 / 3.25;
    let rest = 1.0 / 3.25;
    assert_near(&shares(r#""wcmp""#, &slow(knows)), [quarter, rest, rest, rest]);
    assert_near(&shares(r#""wcmp""#, &slow("")), [0.25; 4]);
    assert_near(&shares(r#""ecmp""#, &slow(knows)), [0.25; 4]);
    let third = 1.0 / 3.0;
    assert_near(&shares(r#""wcmp""#, dead), [0.0, third, third, third]);
}

#[test]
fn weighted_ecmp_is_ecmp_where_all_links_are_alike() {
    for topology in [LEAVES, FAT_TREE] {
        let weighted = outcome(topology, DCTCP, r#""wcmp""#, 1);
        let ecmp = outcome(topology, DCTCP, r#""ecmp""#, 1);
        assert_eq!(fingerprint(&weighted.flows), fingerprint(&ecmp.flows));
    }
}

#[test]
fn conga_that_knows_of_a_slow_link_sends_less_into_it() {
    let bytes = |learns: &str| {
        let fault = format!("kind = \"link-degraded\"\nrate = \"2.5Gbps\"\n{learns}");
        let text = scenario(LEAVES, DCTCP, r#"{ kind = "conga", flowlet_gap = "20us" }"#);
        let fault = from_the_start(&fault).replace("leaf1", "leaf0");
        let uplinks = uplinks(&simulate(cases(&(text + &fault)).remove(0)));
        uplinks[0] as f64 / uplinks.iter().sum::<u64>() as f64
    };
    let (learned, unknown) = (bytes(r#"learn_after = "0s""#), bytes(""));
    assert!(learned < 0.8 * unknown, "{learned} {unknown}");
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

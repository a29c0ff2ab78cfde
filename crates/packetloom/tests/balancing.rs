//! Load balancing in switches through the whole simulator.

use crate::common::{cases, fct, mean, port, simulate, write_file};
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
    // What several threads do has to be what one did, and that was audited.
    let outcome = simulation.with_audit(threads == 1).with_threads(threads).run(&Monitor::default());
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

/// A scenario in which one host sends to one of another leaf, a flow every so often.
fn pair(transport: (&str, &str), routing: &str) -> String {
    let arrivals = "arrivals = { kind = \"periodic\", interval = \"1ms\" }";
    let text = scenario(LEAVES, transport, routing)
        .replace("\"random-pairs\"", "{ kind = \"pair\", src = 0, dst = 8 }");
    text.replace("arrivals = \"poisson\"", arrivals).replace("loads = 0.6\nflows = 150", "flows = 20")
}

#[test]
fn letflow_without_any_gap_is_random_spraying() {
    let of = |routing: &str| simulate(cases(&pair(DCTCP, routing)).remove(0));
    let flowlets = of(r#"{ kind = "letflow", flowlet_gap = "0s", first = "random" }"#);
    let sprayed = of(r#""spray-random""#);
    assert_eq!(fingerprint(&flowlets.flows), fingerprint(&sprayed.flows));
    assert_eq!(uplinks(&flowlets), uplinks(&sprayed));
    assert!(uplinks(&sprayed).iter().all(|&bytes| bytes > 0));
    let with_gaps = of(r#"{ kind = "letflow", flowlet_gap = "5us", first = "random" }"#);
    assert_ne!(uplinks(&with_gaps), uplinks(&sprayed));
}

#[test]
fn by_conweaves_key_the_first_flows_of_two_senders_take_one_way() {
    write_file("balancing-key.csv", "src,dst,size_bytes,start_ns\n0,8,200000,0\n1,8,200000,1000\n");
    let ways_taken = |kind: &str, key: &str| -> Vec<usize> {
        let (transport, queue) = DCQCN;
        let text = format!(
            "[topology]\n{LEAVES}\n[[workload]]\narrivals = {{ kind = \"list\", file = \"balancing-key.csv\" }}\n\
             [[scheme]]\nname = \"x\"\ntransport = {transport}\nqueue = {queue}\n\
             routing = {{ kind = \"{kind}\", flowlet_gap = \"1ms\", hash = \"hpcc-ns3\", ports = \"host\", {key} }}\n\
             [run]\nseeds = 8\n"
        );
        let data = |bytes: &&u64| **bytes > 100_000;
        cases(&text).into_iter().map(|case| uplinks(&simulate(case)).iter().filter(data).count()).collect()
    };
    let theirs = "flowlet_key = \"conweave-ns3\"";
    for (kind, first) in [("letflow", "first = \"random\""), ("conga", "stays = false")] {
        assert_eq!(ways_taken(kind, &format!("{theirs}, {first}")), [1; 8], "{kind}");
        assert!(ways_taken(kind, first).contains(&2), "{kind}");
    }
}

#[test]
fn conweaves_key_needs_its_ports() {
    let text = scenario(LEAVES, DCQCN, r#"{ kind = "letflow", flowlet_key = "conweave-ns3" }"#);
    assert!(problems(&text).contains("flows have ports only with hash = \"hpcc-ns3\""));
}

/// What is wrong with a scenario, or with its first case.
fn problems(text: &str) -> String {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    match packetloom::scenario::Scenario::from_toml(text, "test", directory) {
        Err(problems) => problems.to_string(),
        Ok(scenario) => {
            let case = scenario.cases().next().expect("a case");
            Simulation::new(case).map_or_else(|complaint| format!("{complaint:?}"), |_| String::new())
        }
    }
}

/// What comes of 4 flows of 10 MB from the hosts of one leaf to those of another under DCTCP, in several seeds.
fn long_flows(routing: &str) -> Vec<Outcome> {
    let (transport, queue) = DCTCP;
    write_file(
        "balancing-long.csv",
        "src,dst,size_bytes,start_ns\n0,8,10000000,0\n1,9,10000000,0\n2,10,10000000,0\n3,11,10000000,0\n",
    );
    let text = format!(
        "[topology]\n{LEAVES}\n[[workload]]\narrivals = {{ kind = \"list\", file = \"balancing-long.csv\" }}\n\
         [[scheme]]\nname = \"x\"\ntransport = {transport}\nqueue = {queue}\nrouting = {routing}\n\
         [run]\nseeds = 6\n[measure]\nreordering = true\n"
    );
    cases(&text).into_iter().map(simulate).collect()
}

#[test]
fn under_dctcp_plb_moves_flows_that_are_marked_and_keeps_the_order_of_the_others() {
    let last = |outcome: &Outcome| outcome.flows.iter().map(fct).max().expect("flows").as_secs_f64();
    let mean_last = |outcomes: &[Outcome]| mean(outcomes.iter().map(last));
    // DCTCP keeps few packets marked, where Swift or TCP would have most: PLB has to go by less than half of them.
    let ecmp = long_flows(r#""ecmp""#);
    let plb = long_flows(r#"{ kind = "plb", marked_above = 0.05 }"#);
    assert!(mean_last(&plb) < 0.8 * mean_last(&ecmp), "{} {}", mean_last(&plb), mean_last(&ecmp));
    let packets: u32 = plb.iter().flat_map(|outcome| &outcome.flows).map(|row| row.report.packets_sent).sum();
    let (late, changes) = plb.iter().map(order).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(changes > 0 && late < packets / 50, "{changes} changes, {late} of {packets} late");
    // Who is never congested for long enough never moves; answers keep their order with it.
    let patient = long_flows(r#"{ kind = "plb", rounds = 1000000 }"#);
    assert!(patient.iter().map(order).all(|found| found == (0, 0)));
}

#[test]
fn under_tcp_plb_leaves_a_dead_link_after_a_timeout() {
    const TCP: (&str, &str) =
        (r#"{ kind = "tcp", min_rto = "1ms" }"#, r#"{ kind = "drop-tail", capacity = "225KB" }"#);
    let open = |routing: &str| {
        let dead = from_the_start("kind = \"link-down\"\nlearn_after = \"10s\"");
        let text = scenario(LEAVES, TCP, routing).replace("flows = 150", "flows = 150\nmax_time = \"200ms\"");
        let outcome = simulate(cases(&(text + &dead)).remove(0));
        outcome.flows.iter().filter(|row| row.fct().is_none()).count()
    };
    assert_eq!(open(r#""plb""#), 0);
    assert!(open(r#""ecmp""#) > 0);
}

#[test]
fn entropies_that_need_the_fate_of_each_packet_are_refused_where_nobody_reports_it() {
    let found = problems(&scenario(LEAVES, DCTCP, r#""reps""#));
    assert!(found.contains("reps needs the fate of each packet, which dctcp does not report"), "{found}");
    let found = problems(&scenario(LEAVES, DCQCN, r#""plb""#));
    let expected = "plb needs the marks and timeouts of each flow, which dcqcn does not report";
    assert!(found.contains(expected), "{found}");
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

#[test]
fn conweave_counts_what_it_does() {
    let of = |outcome: &Outcome, name: &str| outcome.balancing[format!("conweave_{name}").as_str()];
    let counts = |routing: &str| {
        let outcome = measured(DCQCN, routing);
        let names =
            ["probes", "replies_in_time", "tails", "reroutes", "held_packets", "flushes", "forced_flushes"];
        (names.map(|name| of(&outcome, name)), outcome)
    };
    let ([probes, replies, tails, reroutes, held, flushes, forced], outcome) = counts(r#""conweave""#);
    // Whatever is probed again had its answer in time, or moved, or is new, or was silent.
    assert!(replies < probes && replies + tails <= probes, "{probes} {replies} {tails}");
    assert!(0 < reroutes && reroutes <= tails, "{reroutes} {tails}");
    assert!(forced < flushes && flushes <= tails && flushes <= held, "{forced} {flushes} {held}");
    let (queues, bytes) = (of(&outcome, "max_queues"), of(&outcome, "max_held_bytes"));
    assert!(1 <= queues && queues <= flushes && bytes >= 1_000 && bytes <= held * 1_500, "{queues} {bytes}");
    // Nothing is late if no flush is forced.
    let ([.., forced], _) = counts(r#"{ kind = "conweave", flush_extra = "10ms" }"#);
    assert_eq!(forced, 0);
    assert!(outcome.balancing.len() == 10 && measured(DCQCN, r#""letflow""#).balancing.is_empty());
}

#[test]
fn conweave_without_marks_or_late_answers_never_reroutes() {
    let outcome = simulate(cases(&pair(DCQCN, r#""conweave""#)).remove(0));
    let counted: Vec<(&str, u64)> = outcome
        .balancing
        .iter()
        .map(|(&name, &count)| (name, count))
        .filter(|(_, count)| *count > 0)
        .collect();
    let [("conweave_probes", probes), ("conweave_replies_in_time", replies)] = counted[..] else {
        panic!("{counted:?}")
    };
    // One in each round trip of 20 flows; the answer to each one's last comes when it has ended.
    assert!(probes > 200 && probes - replies <= 20, "{probes} {replies}");
}

#[test]
fn conweave_expects_the_answer_when_it_comes_over_empty_links() {
    // One packet at a time from pod to pod, each of them a probe, be it full or a flow's last. Nothing else is sent, so
    // no answer is late by more than rounding.
    let text = format!(
        r#"
[topology]
{FAT_TREE}
[[workload]]
sizes = {{ kind = "constant", size = "100KB" }}
arrivals = {{ kind = "periodic", interval = "5ms" }}
pattern = {{ kind = "pair", src = 0, dst = 15 }}

[[scheme]]
name = "one by one"
transport = {{ kind = "fixed-window", initial_window = 1 }}
queue = "drop-tail"
routing = {{ kind = "conweave", reply_extra = "1ns" }}

[run]
flows = 5
"#
    );
    let balancing = simulate(cases(&text).remove(0)).balancing;
    let packets = 5 * 100_000_u64.div_ceil(1_460);
    let of = |name: &str| balancing[format!("conweave_{name}").as_str()];
    assert_eq!([of("probes"), of("replies_in_time"), of("tails")], [packets, packets, 0]);
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
fn given_weights_are_those_of_links_or_tiers() {
    let weights = r#"{ kind = "wcmp", weights = [{ port = "leaf to spine0", weight = 3 }, { port = "leaf0 to spine3", weight = 0 }] }"#;
    let fifth = 1.0 / 5.0;
    assert_near(&shares(weights, "kind = \"link-degraded\"\nrate = \"5Gbps\""), [0.6, fifth, fifth, 0.0]);
    // The next hop whose link is known to be dead gets none, whatever its weight.
    assert_near(&shares(weights, "kind = \"link-down\"\nlearn_after = \"0s\""), [0.0, 0.5, 0.5, 0.0]);
    for (port, message) in [
        ("leaf0 to leaf1", "no link leads from leaf0 to leaf1"),
        ("spine0", "no switch has a choice of these"),
        ("rack0", "no node is called"),
    ] {
        let routing = format!("{{ kind = \"wcmp\", weights = [{{ port = \"{port}\", weight = 2 }}] }}");
        let found = problems(&scenario(LEAVES, DCTCP, &routing));
        assert!(found.contains("scheme.routing.weights[0].port") && found.contains(message), "{found}");
    }
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

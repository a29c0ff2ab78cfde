//! Dumbbell, Clos, rail-optimised and dragonfly networks: they carry what hosts send, by the links that they should,
//! and results do not depend on threads.

use crate::common::{cases, port, run};
use packetloom::measure::fingerprint;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;
use std::collections::BTreeMap;

const DUMBBELL: &str = "kind = \"dumbbell\"\nleft = 5\nright = 3\n";
const CLOS: &str = "kind = \"clos\"\npods = 2\nleaves = 2\nhosts_per_leaf = 4\noversubscription = 2\n";
const RAILS: &str = "kind = \"rail-optimised\"\nservers = 4\naccelerators = 4\n";
const SCALE_UP: &str = "kind = \"rail-optimised\"\nservers = 4\naccelerators = 4\nplanes = 2\n\
    scale_up = { rate = \"100Gbps\", delay = \"0.2us\" }\n";
const DRAGONFLY: &str = "kind = \"dragonfly\"\nhosts_per_router = 1\n";
const ALL: [&str; 5] = [DUMBBELL, CLOS, RAILS, SCALE_UP, DRAGONFLY];

const DCTCP: &str = "transport = \"dctcp\"\nqueue = { kind = \"ecn\", capacity = \"300KB\" }";
const FIFO: &str = "transport = { kind = \"fixed-window\", initial_window = 10 }\nqueue = \"drop-tail\"";

fn text(topology: &str, workload: &str, scheme: &str, run: &str) -> String {
    format!(
        "[topology]\n{topology}\n[[workload]]\n{workload}\n\n[[scheme]]\nname = \"any\"\n{scheme}\n\n[run]\n{run}\n"
    )
}

fn at_once(size: &str, pattern: &str) -> String {
    format!(
        "sizes = {{ kind = \"constant\", size = \"{size}\" }}\narrivals = \"at-once\"\npattern = {pattern}"
    )
}

fn between(src: u32, dst: u32) -> String {
    at_once("146KB", &format!("{{ kind = \"pair\", src = {src}, dst = {dst} }}"))
}

fn all_to_all(topology: &str, scheme: &str) -> String {
    text(topology, &at_once("30KB", "\"all-to-all\""), scheme, "max_time = \"5s\"")
}

fn assert_done(outcome: &Outcome, what: &str) {
    assert!(!outcome.flows.is_empty());
    assert!(outcome.flows.iter().all(|row| row.fct().is_some()), "{what}: {:?}", outcome.warnings);
}

#[test]
fn every_host_gets_through_to_every_other() {
    for topology in ALL {
        for scheme in [DCTCP, FIFO, "transport = \"ndp\"\nqueue = \"ndp\"\nrouting = \"permutation\""] {
            assert_done(&run(&all_to_all(topology, scheme)), topology);
        }
    }
}

#[test]
fn results_do_not_depend_on_windows_nor_threads() {
    for topology in ALL {
        for scheme in [DCTCP, "transport = \"ndp\"\nqueue = \"ndp\"\nrouting = \"spray-random\""] {
            let case = cases(&all_to_all(topology, scheme)).remove(0);
            let of = |longest, threads| {
                let simulation = Simulation::new(case.clone()).expect("a sound case");
                let simulation = simulation.with_windows_up_to(longest).with_threads(threads);
                fingerprint(&simulation.run(&Monitor::default()).expect("a sound case").flows)
            };
            let full = of(Time::NEVER, 1);
            let others = [(1 << 16, 1), (1 << 17, 2), (u64::MAX, 2), (u64::MAX, 3), (u64::MAX, 4)];
            assert_eq!(others.map(|(longest, threads)| of(Time(longest), threads)), [full; 5], "{topology}");
        }
    }
}

/// The flows of each source per second, from what a load comes to.
fn flows_per_second(topology: &str) -> f64 {
    let workload = "sizes = { kind = \"constant\", size = \"1460B\" }";
    let case = cases(&text(topology, workload, DCTCP, "loads = [0.5]\nflows = 10")).remove(0);
    let simulation = Simulation::new(case).expect("a sound case");
    simulation.facts()[0].flows_per_second.expect("a rate")
}

/// Half of what hosts' links to the network carry, in packets of 1500 B.
#[test]
fn load_is_a_part_of_what_nics_carry() {
    for (topology, hosts, gbps) in [
        (DUMBBELL, 8.0, 10.0),
        (CLOS, 16.0, 10.0),
        (RAILS, 16.0, 10.0),
        (SCALE_UP, 16.0, 20.0),
        (DRAGONFLY, 6.0, 10.0),
    ] {
        let expected = 0.5 * hosts * gbps * 1e9 / (1_500.0 * 8.0);
        let found = flows_per_second(topology);
        assert!((found / expected - 1.0).abs() < 1e-9, "{topology}: {found} {expected}");
    }
}

#[test]
fn a_dumbbells_sides_meet_at_the_bottleneck() {
    let topology = format!("{DUMBBELL}bottleneck = {{ rate = \"1Gbps\", delay = \"10us\" }}\n");
    let outcome = run(&text(&topology, &between(0, 5), FIFO, "flows = 1"));
    // A hundred packets one after the other on 1 Gb/s, with two links of 10 Gb/s and all delays.
    let expected = Time::from_ns(100 * 12_000 + 2 * 1_200 + 2 * 400 + 10_000);
    assert_eq!(outcome.flows[0].best_fct, expected);
    assert!(outcome.flows[0].fct() >= Some(expected));
    assert_eq!(port(&outcome, "switch0", "switch1").counters.packets, 100);
    assert_eq!(port(&outcome, "switch1", "switch0").counters.packets, 100);
}

/// What the ports of each tier sent.
fn packets_by_tier(outcome: &Outcome) -> BTreeMap<&'static str, u64> {
    let mut found = BTreeMap::new();
    for row in &outcome.ports {
        let src = outcome.topology.links[row.link].src;
        *found.entry(outcome.topology.tier_name(src)).or_default() += row.counters.packets;
    }
    found
}

#[test]
fn what_stays_in_a_server_takes_its_switch_and_nothing_else_does() {
    for (dst, inside, rails, spines) in [(3, 200, 0, 0), (4, 0, 200, 0), (5, 0, 400, 200), (8, 0, 400, 200)] {
        let outcome = run(&text(SCALE_UP, &between(0, dst), FIFO, "flows = 1"));
        let sent = packets_by_tier(&outcome);
        let found = ["scale-up", "rail", "spine"].map(|tier| sent[tier]);
        assert_eq!(found, [inside, rails, spines], "to {dst}");
    }
    // 101 packets' times at 100 Gb/s, and the switch's two links.
    let outcome = run(&text(SCALE_UP, &between(0, 3), FIFO, "flows = 1"));
    assert_eq!(outcome.flows[0].best_fct, Time::from_ns(101 * 120 + 2 * 200));
}

#[test]
fn rdma_starts_at_the_rate_of_the_link_that_a_flow_takes() {
    let roce = "transport = { kind = \"roce\", mss = \"1460B\", header = \"40B\" }\nqueue = { kind = \"shared-buffer\", buffer = \"8MB\" }";
    for (dst, gbps, links) in [(3, 100, 1), (4, 10, 2)] {
        let outcome = run(&text(SCALE_UP, &between(0, dst), roce, "flows = 1"));
        let row = &outcome.flows[0];
        // A flow takes one link. Its best time is by all that lead there, whose packets it could share out evenly.
        let sooner = Time::from_ns((100 - 100 / links) * 12_000 / gbps);
        assert_eq!(row.fct(), Some(row.best_fct + sooner), "to {dst}");
        assert!(row.best_fct < Time::from_ns(103 * 12_000 / gbps / links + 2_000));
    }
}

#[test]
fn flows_go_round_a_dead_plane() {
    let fault = "\n[[fault]]\nkind = \"link-down\"\nbetween = [\"host0\", \"rail0\"]\nat = \"0us\"\nlearn_after = \"0us\"\n";
    let text = text(SCALE_UP, &at_once("146KB", "\"all-to-all\""), DCTCP, "max_time = \"5s\"");
    let outcome = run(&format!("{text}{fault}"));
    assert_done(&outcome, "a plane is left");
    assert_eq!(port(&outcome, "host0", "rail0").counters.packets, 0);
    assert_eq!(port(&outcome, "rail0", "host0").counters.packets, 0);
}

/// The NIC is faster here, so a flow round its server's dead switch is, too.
#[test]
fn flows_go_round_a_dead_switch_in_their_server() {
    let slow = SCALE_UP.replace("100Gbps", "1Gbps");
    let fault =
        "\n[[fault]]\nkind = \"switch-down\"\nnode = \"scale-up0\"\nat = \"0us\"\nlearn_after = \"0us\"\n";
    let outcome = run(&format!("{}{fault}", text(&slow, &between(0, 3), DCTCP, "flows = 1")));
    assert_done(&outcome, "the NIC is left");
    assert!(outcome.flows[0].fct() < Some(outcome.flows[0].best_fct));
}

#[test]
fn collectives_run_on_rails() {
    let workload = "arrivals = { kind = \"collective\", operation = \"all-reduce\", size = \"1600KB\" }";
    let outcome = run(&text(SCALE_UP, workload, DCTCP, ""));
    assert!(outcome.jobs[0].completion_time().is_some());
}

#[test]
fn what_knows_of_one_link_or_of_nics_only_is_refused() {
    for (scheme, expected) in [
        (
            "transport = \"ideal\"",
            "topology.scale_up: ideal is a flow-level model, which knows of hosts' NICs only",
        ),
        ("transport = \"rcp\"\nqueue = \"drop-tail\"", "rcp knows of one link at each host"),
    ] {
        let case = cases(&text(SCALE_UP, &between(0, 3), scheme, "flows = 1")).remove(0);
        let complaint = Simulation::new(case).map(|_| ()).expect_err("refused");
        assert!(format!("{}: {}", complaint.key, complaint.message).contains(expected), "{complaint:?}");
    }
}

fn simulation(topology: &str) -> Simulation {
    let case = cases(&text(topology, &between(0, 3), FIFO, "flows = 1")).remove(0);
    Simulation::new(case).expect("a sound case")
}

fn facts(topology: &str) -> Vec<String> {
    simulation(topology).network_facts()
}

/// What `packetloom check` prints, each figure worked out by hand; links have 10 Gb/s and 0.4 us.
#[test]
fn a_network_says_what_it_comes_to() {
    // Two planes of four rails in two groups, two spines each; 40 B take 32 ns at 10 Gb/s and 3.2 at 100, 1500 B
    // 1200 and 120.
    let rails = [
        "16 hosts; switches by tier: 16 rail, 4 spine, 4 scale-up",
        "80 cables: 32 between host and rail at 10Gbps, 16 between host and scale-up at 100Gbps, 32 between rail and spine at 10Gbps",
        "bisection bandwidth 160Gbps each way, between the first half of the hosts and the others; oversubscription 1, at each rail 1",
    ];
    assert_eq!(facts(SCALE_UP), rails);
    let found = simulation(SCALE_UP).round_trips().expect("packets are answered");
    let of_packets = [(40, Time(812_800), Time(3_456_000)), (1500, Time(1_046_400), Time(8_128_000))];
    assert_eq!((found.of_packets, found.answer_bytes), (of_packets, 40));
    // Half of four leaves has two uplinks each.
    let clos = &facts(CLOS)[2];
    let expected = "bisection bandwidth 40Gbps each way, between the first half of the hosts and the others; oversubscription 2, at each leaf 2, at each aggregation 1";
    assert_eq!(clos, expected);
    // Of five hosts on the left and three on the right each sends 3/7 of 10 Gb/s to the other side.
    let dumbbell = format!("{DUMBBELL}bottleneck = {{ rate = \"5Gbps\", delay = \"10us\" }}\n");
    let expected = "load is that of the hosts' links: random pairs at load 1 offer the bottleneck 4.2857 times what it carries each way";
    assert_eq!(facts(&dumbbell)[3], expected);
    assert_eq!(facts("kind = \"rack\"\nhosts = 4\n")[0], "4 hosts; switches by tier: 1 switch");
}

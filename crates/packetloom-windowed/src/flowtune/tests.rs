//! The allocator without a network in between: rates by iterations.

use super::allocator::{Allocator, Settings, Update};
use super::network::Network;
use crate::fault::Faults;
use crate::flow::{FlowId, HostId};
use crate::random::{Purpose, Stream};
use crate::spec::{Value, Values};
use crate::topology::Topology;
use crate::units::{Rate, Time};
use packetloom_control::{Filling, MaxMin, Routes};
use std::collections::BTreeMap;

const INTERVAL: Time = Time::from_us(10);

fn values<const N: usize>(kind: &str, entries: [(&str, Value); N]) -> Values {
    let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
    Values { kind: kind.to_owned(), entries }
}

/// With links of 10 Gb/s.
fn topology(kind: &str, counts: &[(&str, u64)]) -> Topology {
    let link = [("rate", Value::Rate(Rate::from_gbps(10))), ("delay", Value::Time(Time::from_ns(400)))];
    let mut topology = values(
        kind,
        [
            ("link", Value::Component(values("link", link))),
            ("host_link", Value::Absent),
            ("core_link", Value::Absent),
            ("oversubscription", Value::Absent),
            ("switch_delay", Value::Time(Time::ZERO)),
            ("switch_delays", Value::Absent),
            ("host_delay", Value::Time(Time::ZERO)),
            ("processing_per_packet", Value::Component(values("none", []))),
            ("link_retry", Value::Component(values("none", []))),
            ("send_per_message", Value::Time(Time::ZERO)),
            ("receive_per_message", Value::Time(Time::ZERO)),
            ("framing", Value::Bytes(0)),
            ("whole_ns", Value::Flag(false)),
            ("forwarding", Value::Component(values("store-and-forward", []))),
        ],
    );
    let counts = counts.iter().map(|&(key, count)| (key.to_owned(), Value::Count(count)));
    topology.entries.extend(counts);
    Topology::build(&topology).expect("a topology")
}

fn network(topology: &Topology) -> Network {
    let text = |text: &str| Value::Text(text.to_owned());
    let hash =
        [("symmetric", Value::Flag(false)), ("hash", text("packetloom")), ("queue_pairs", Value::Absent)];
    let routing = values("ecmp", hash);
    Network::new(topology, &routing, &Faults::default(), 1)
}

fn settings() -> Settings {
    Settings {
        interval: INTERVAL,
        gamma: 0.4,
        filling: Filling::PerFlow,
        threshold: 0.01,
        weights: [1.0, 2.0].into(),
    }
}

/// An allocator, its clock, and what endpoints were told last.
struct Bench {
    allocator: Allocator,
    now: Time,
    told_kbps: BTreeMap<FlowId, u32>,
}

impl Bench {
    fn new(topology: &Topology, settings: &Settings) -> Bench {
        let allocator = Allocator::new(settings, &network(topology));
        Bench { allocator, now: Time::from_us(3), told_kbps: BTreeMap::new() }
    }

    fn start(&mut self, flow: FlowId, ends: (HostId, HostId), class: u8) {
        self.allocator.started(flow, ends, class, self.now);
    }

    fn end(&mut self, flow: FlowId) {
        self.allocator.ended(flow);
        self.told_kbps.remove(&flow);
    }

    /// The next iteration, if there is one; how many rates it sent.
    fn iterate(&mut self) -> Option<usize> {
        self.now = self.allocator.schedule(self.now)?;
        let mut updates = Vec::new();
        self.allocator.iterate(self.now, &mut updates);
        self.told_kbps.extend(updates.iter().map(|&Update { flow, kbps, .. }| (flow, kbps)));
        Some(updates.len())
    }

    /// Iterates until nothing is left to do; how often that was.
    fn settle(&mut self) -> usize {
        std::iter::from_fn(|| self.iterate()).count()
    }

    fn gbps(&self) -> Vec<f64> {
        self.told_kbps.values().map(|&kbps| f64::from(kbps) / 1e6).collect()
    }

    fn assert_gbps(&self, expected: &[f64], bound: f64) {
        let found = self.gbps();
        let is_near = |(found, expected): (&f64, &f64)| (found - expected).abs() <= bound;
        let all_near = found.iter().zip(expected).all(is_near);
        assert!(found.len() == expected.len() && all_near, "{found:?} instead of {expected:?}");
    }
}

/// How many iterations it takes until each flow's rate is this one within a hundredth, and stays so.
fn iterations_until(bench: &mut Bench, expected: f64) -> usize {
    let mut needed = 1;
    for iteration in 1..=40 {
        bench.iterate();
        let is_off = |rate: &f64| (rate - expected).abs() > 0.01 * expected;
        needed = if bench.gbps().iter().any(is_off) { iteration + 1 } else { needed };
    }
    needed
}

/// Flowtune's figure of convergence has a point every 100 us, which is ten iterations.
#[test]
fn flows_that_come_and_go_have_equal_parts_within_six_iterations() {
    let mut bench = Bench::new(&topology("rack", &[("hosts", 6)]), &settings());
    // 99 % of 10 Gb/s are given out. The second to come finds its own link at the price that links begin with, and
    // the shared one at none: the first flow was alone.
    let joining = (1..=5).map(|joined| {
        bench.start(joined, (joined, 0), 0);
        iterations_until(&mut bench, 9.9 / f64::from(joined))
    });
    assert_eq!(joining.collect::<Vec<_>>(), [1, 6, 1, 1, 1]);
    let leaving = (1..5).rev().map(|left| {
        bench.end(left + 1);
        iterations_until(&mut bench, 9.9 / f64::from(left))
    });
    assert_eq!(leaving.collect::<Vec<_>>(), [1, 1, 1, 1]);
    bench.end(1);
    assert_eq!(bench.settle(), 0);
}

#[test]
fn iterations_are_at_multiples_of_the_interval_until_prices_settle() {
    let mut bench = Bench::new(&topology("rack", &[("hosts", 4)]), &settings());
    bench.start(1, (1, 0), 0);
    bench.start(2, (2, 0), 0);
    assert_eq!(bench.allocator.schedule(Time::from_us(3)), Some(Time::from_us(10)));
    assert_eq!(bench.allocator.schedule(Time::from_us(4)), None);
    bench.allocator.iterate(Time::from_us(7), &mut Vec::new());
    let mut updates = Vec::new();
    bench.allocator.iterate(Time::from_us(10), &mut updates);
    assert_eq!(updates.iter().map(|update| (update.host, update.flow)).collect::<Vec<_>>(), [(1, 1), (2, 2)]);
    // One that starts at the very moment has to wait.
    bench.start(3, (3, 0), 0);
    assert_eq!(bench.allocator.schedule(Time::from_us(10)), Some(Time::from_us(20)));
    bench.allocator.iterate(Time::from_us(20), &mut updates);
    bench.now = Time::from_us(20);
    let times = bench.settle();
    assert!((20..200).contains(&times), "{times} iterations");
}

#[test]
fn a_change_below_the_threshold_is_not_told() {
    let mut bench = Bench::new(&topology("rack", &[("hosts", 4)]), &settings());
    (0..200).for_each(|flow| bench.start(flow, (1 + flow % 3, 0), 0));
    bench.settle();
    bench.assert_gbps(&[9.9 / 200.0; 200], 1e-3);
    // Another changes 200 rates by 0.5 %, and three of them by 1.5 %.
    let before = bench.told_kbps[&0];
    bench.start(200, (1, 0), 0);
    assert_eq!(bench.iterate(), Some(1));
    bench.settle();
    assert_eq!(bench.told_kbps[&0], before);
    (201..203).for_each(|flow| bench.start(flow, (1, 0), 0));
    assert_eq!(bench.iterate(), Some(202));
}

#[test]
fn weights_go_by_class() {
    let mut bench = Bench::new(&topology("rack", &[("hosts", 4)]), &settings());
    // The list has none for class 2.
    (1..4).for_each(|flow| bench.start(flow, (flow, 0), flow as u8 - 1));
    bench.settle();
    bench.assert_gbps(&[9.9 / 4.0, 9.9 / 2.0, 9.9 / 4.0], 0.05);
}

/// Flows 1 to 4 share host 0's link, flows 1 and 5 that of host 1. With prices p and q of the two links, flow 1 has
/// 1 / (p + q), flows 2 to 4 have 1 / p, flow 5 has 1 / q: of 9.9 Gb/s 1.98, 2.64 and 7.92.
#[test]
fn either_normalisation_ends_at_the_optimum_but_u_norm_gives_less_on_the_way() {
    let uniform = Settings { filling: Filling::Uniform, ..settings() };
    let [per_flow, uniform] = [settings(), uniform].map(|settings| {
        let mut bench = Bench::new(&topology("rack", &[("hosts", 6)]), &settings);
        (1..5).for_each(|flow| bench.start(flow, (flow, 0), 0));
        bench.settle();
        bench.start(5, (1, 5), 0);
        bench.iterate();
        let first: f64 = bench.gbps().iter().sum();
        bench.settle();
        bench.assert_gbps(&[1.98, 2.64, 2.64, 2.64, 7.92], 0.08);
        first
    });
    assert!(per_flow > uniform + 1.0, "{per_flow} and {uniform}");
}

/// Random flows on a fabric of three leaves with four hosts each, and two spines.
fn drawn(seed: u64, count: u32) -> (Topology, Vec<(HostId, HostId)>) {
    let topology = topology("leaf-spine", &[("leaves", 3), ("spines", 2), ("hosts_per_leaf", 4)]);
    let mut random = Stream::new(seed, Purpose::Pattern, 0);
    let ends = (0..count).map(|_| {
        let src = random.below(12);
        (src, (src + 1 + random.below(11)) % 12)
    });
    let ends = ends.collect();
    (topology, ends)
}

fn routes(topology: &Topology, ends: &[(HostId, HostId)]) -> Routes {
    let mut network = network(topology);
    let (mut first_link, mut links) = (vec![0], Vec::new());
    for (flow, &ends) in (0..).zip(ends) {
        network.links(flow, ends, Time::ZERO, &mut links);
        first_link.push(links.len() as u32);
    }
    Routes::new(first_link, links, topology.links.len() as u32)
}

/// Optimality (Karush, Kuhn and Tucker): links have prices only where they are full, and a rate is a weight over the
/// prices on its way. For logarithms the sum of (other − best) / best over all flows is at most 0 for any other
/// rates that fit, of which max-min fairness is one.
#[test]
fn rates_settle_at_proportional_fairness() {
    for seed in 0..20 {
        let (topology, ends) = drawn(seed, 40);
        let routes = routes(&topology, &ends);
        let mut bench = Bench::new(&topology, &Settings { threshold: 0.0, ..settings() });
        (0..).zip(&ends).for_each(|(flow, &ends)| bench.start(flow, ends, 0));
        let iterations = bench.settle();
        assert!(iterations < 5_000, "seed {seed}: {iterations} iterations");
        let best = bench.gbps();
        for link in 0..topology.links.len() {
            let used: f64 = routes.flows_on(link).iter().map(|&flow| best[flow as usize]).sum();
            assert!(used <= 10.0 + 1e-3, "seed {seed}: {used} on {link}");
        }
        let mut fair = vec![0.0; 40];
        let capacities = vec![10.0; topology.links.len()];
        let no_limits = [f64::INFINITY; 40];
        MaxMin::default().allocate(&routes, &capacities, &[1.0; 40], &no_limits, &mut fair);
        let gain: f64 = fair.iter().zip(&best).map(|(other, best)| (other - best) / best).sum();
        assert!(gain <= 1e-3, "seed {seed}: max-min is better by {gain}");
        let utility = |rates: &[f64]| rates.iter().map(|rate| libm::log(*rate)).sum::<f64>();
        assert!(utility(&best) >= utility(&fair) - 1e-3, "seed {seed}");
    }
}

/// Where each flow has one link to share with all its rivals, both kinds of fairness are the same.
#[test]
fn on_one_bottleneck_each_rates_settle_at_max_min_fairness() {
    let topology = topology("rack", &[("hosts", 9)]);
    // Three into host 0, two into host 1; 7 and 8 have links of their own.
    let ends = [(2, 0), (3, 0), (4, 0), (5, 1), (6, 1), (7, 8)];
    let mut fair = [0.0; 6];
    let routes = routes(&topology, &ends);
    let capacities = vec![9.9; topology.links.len()];
    MaxMin::default().allocate(&routes, &capacities, &[1.0; 6], &[f64::INFINITY; 6], &mut fair);
    let mut bench = Bench::new(&topology, &settings());
    (0..).zip(ends).for_each(|(flow, ends)| bench.start(flow, ends, 0));
    bench.iterate();
    bench.assert_gbps(&fair, 1e-3);
    bench.settle();
    bench.assert_gbps(&fair, 1e-3);
}

#[test]
fn ways_lead_from_source_to_destination_by_as_many_spines_as_there_are() {
    let (topology, ends) = drawn(1, 200);
    let routes = routes(&topology, &ends);
    let mut crossed = BTreeMap::new();
    for (flow, &(src, dst)) in ends.iter().enumerate() {
        let links: Vec<_> = routes.links_of(flow).iter().map(|&link| topology.links[link as usize]).collect();
        assert!(links.windows(2).all(|pair| pair[0].dst == pair[1].src));
        assert_eq!((links[0].src, links[links.len() - 1].dst), (src, dst));
        assert_eq!(links.len(), if src / 4 == dst / 4 { 2 } else { 4 });
        if links.len() == 4 {
            *crossed.entry(links[1].dst).or_insert(0) += 1;
        }
    }
    assert!(crossed.len() == 2 && crossed.values().all(|&flows| flows > 50), "{crossed:?}");
}

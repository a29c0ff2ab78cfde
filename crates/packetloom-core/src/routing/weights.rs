//! Weighted ECMP: which share of the flows each next hop is to get where links differ (WCMP, Zhou et al., EuroSys
//! 2014).
//!
//! A next hop's weight is the capacity of the paths by it to the destination's switch: the sum over these of each
//! path's slowest link. That is right where all switches send to all: what is lost behind one next hop is lost to
//! all who share it. It is known of the whole network, as of a controller that sets the tables of all switches.

use crate::fault::KnownRates;
use crate::flow::HostId;
use crate::topology::{Routes, Topology};
use crate::units::{Rate, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The next hops of a node to a switch: ports, each with the sum of the weights up to it.
type Shares = Box<[(u64, u32)]>;

/// What a node knows of weights.
#[derive(Clone, Debug)]
pub struct Weights {
    /// For each host, the switch that it is at.
    edges: Arc<[u32]>,
    /// From when on; by the switch that next hops lead to, where their weights differ.
    known: Vec<(Time, BTreeMap<u32, Shares>)>,
}

impl Weights {
    /// Those of all nodes.
    pub fn of(topology: &Topology, rates: &KnownRates) -> Vec<Weights> {
        let edge_of = |host: u32| topology.links[topology.nodes[host as usize].ports.start as usize].dst;
        let edges: Arc<[u32]> = (0..topology.hosts).map(edge_of).collect();
        let fresh = Weights { edges: Arc::clone(&edges), known: Vec::new() };
        let mut all = vec![fresh; topology.nodes.len()];
        let at_rest = (Time::ZERO, BTreeMap::new());
        for (from, rates) in std::iter::once(&at_rest).chain(rates) {
            let view = View::of(topology, rates);
            let mut of_nodes = vec![BTreeMap::new(); topology.nodes.len()];
            let hosts: BTreeMap<u32, HostId> = edges.iter().copied().zip(0..).collect();
            for (&edge, &host) in &hosts {
                view.share_out((edge, host), &mut of_nodes);
            }
            for (node, shares) in all.iter_mut().zip(of_nodes) {
                node.known.push((*from, shares));
            }
        }
        all
    }

    /// The port, among the node's own, for a flow with this hash; nothing where all ways are alike.
    pub(super) fn port(&self, dst: HostId, now: Time, hash: u64) -> Option<u32> {
        let (_, shares) = self.known.iter().rev().find(|(from, _)| *from <= now)?;
        let shares = shares.get(&self.edges[dst as usize])?;
        let &(total, _) = shares.last()?;
        let point = ((u128::from(hash) * u128::from(total)) >> 64) as u64;
        shares.iter().find(|(upto, _)| point < *upto).map(|&(_, port)| port)
    }
}

/// How many paths there are from a node, by the rate of their slowest link in bits per second.
type Paths = BTreeMap<u64, u64>;

/// A network as switches know it.
struct View<'a> {
    topology: &'a Topology,
    rates: &'a BTreeMap<usize, Rate>,
    routes: Option<Routes>,
}

impl View<'_> {
    fn of<'a>(topology: &'a Topology, rates: &'a BTreeMap<usize, Rate>) -> View<'a> {
        let dead: BTreeSet<usize> =
            rates.iter().filter(|(_, rate)| **rate == Rate(0)).map(|(&link, _)| link).collect();
        View { topology, rates, routes: topology.routes().map(|_| Routes::of(topology, &dead)) }
    }

    /// The ports, among a node's own, by which it sends to a host.
    fn ways(&self, node: u32, dst: HostId) -> Vec<u32> {
        let at = &self.topology.nodes[node as usize];
        match &self.routes {
            Some(routes) => routes.to(node, dst).to_vec(),
            None if dst.wrapping_sub(at.reach.first_host) < at.reach.hosts => {
                vec![at.reach.first_port_to(dst)]
            }
            None => (at.reach.down_ports..at.ports.len() as u32).collect(),
        }
    }

    /// Notes how the nodes share out what is for a switch, which a host is at, where not all ways are alike.
    fn share_out(&self, (edge, host): (u32, HostId), of_nodes: &mut [BTreeMap<u32, Shares>]) {
        // A host with several links may be reached past that switch.
        let mut found = BTreeMap::from([edge, host].map(|end| (end, Paths::from([(u64::MAX, 1)]))));
        for node in 0..self.topology.nodes.len() as u32 {
            let is_switch = node >= self.topology.hosts;
            // Hosts with several links choose, too, where there are tables.
            let chooses =
                is_switch || self.topology.nodes[node as usize].ports.len() > 1 && self.routes.is_some();
            if node == edge || !chooses || node == host {
                continue;
            }
            let ways = self.ways(node, host);
            let mut weigh = |&port: &u32| {
                let paths = self.paths_by(node, port, host, &mut found);
                paths.iter().map(|(rate, count)| rate * count).sum()
            };
            let weights: Vec<u64> = ways.iter().map(&mut weigh).collect();
            if weights.iter().all(|&weight| weight == weights[0]) {
                continue;
            }
            let mut upto = 0;
            let sums = ways.iter().zip(weights).filter(|&(_, weight)| weight > 0).map(|(&port, weight)| {
                upto += weight;
                (upto, port)
            });
            of_nodes[node as usize].insert(edge, sums.collect());
        }
    }

    /// The paths from a node to a host's switch by a port.
    fn paths_by(&self, node: u32, port: u32, host: HostId, found: &mut BTreeMap<u32, Paths>) -> Paths {
        let number = (self.topology.nodes[node as usize].ports.start + port) as usize;
        let link = &self.topology.links[number];
        let rate = self.rates.get(&number).unwrap_or(&link.rate).as_bps();
        self.find_paths(link.dst, host, found);
        let mut paths = Paths::new();
        for (&slowest, count) in &found[&link.dst] {
            *paths.entry(rate.min(slowest)).or_default() += count;
        }
        paths
    }

    /// Notes the paths from a node to a host's switch.
    fn find_paths(&self, node: u32, host: HostId, found: &mut BTreeMap<u32, Paths>) {
        if found.contains_key(&node) {
            return;
        }
        let mut all = Paths::new();
        for port in self.ways(node, host) {
            for (slowest, count) in self.paths_by(node, port, host, found) {
                *all.entry(slowest).or_default() += count;
            }
        }
        found.insert(node, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf_spine() -> Topology {
        Topology::of_counts("leaf-spine", &[("spines", 4), ("leaves", 3), ("hosts_per_leaf", 4)])
    }

    /// The link from one node to another.
    fn link(topology: &Topology, src: u32, dst: u32) -> usize {
        topology.links.iter().position(|link| (link.src, link.dst) == (src, dst)).expect("neighbours")
    }

    /// Of a thousand hashes, evenly apart, how many take each port.
    fn shares(weights: &Weights, dst: HostId, now: Time, ports: u32) -> Vec<usize> {
        let mut counts = vec![0; ports as usize];
        for nth in 0..1_000_u64 {
            let port = weights.port(dst, now, nth * (u64::MAX / 1_000)).expect("ways differ");
            counts[port as usize] += 1;
        }
        counts
    }

    fn assert_near(found: &[usize], expected: &[usize]) {
        assert_eq!(found.len(), expected.len());
        assert!(
            found.iter().zip(expected).all(|(one, other)| one.abs_diff(*other) <= 2),
            "{found:?} {expected:?}"
        );
    }

    #[test]
    fn where_all_links_are_alike_nothing_is_weighted() {
        for topology in [leaf_spine(), Topology::of_counts("fat-tree", &[("k", 4)])] {
            let all = Weights::of(&topology, &Vec::new());
            assert!(all.iter().all(|node| node.known.iter().all(|(_, shares)| shares.is_empty())));
        }
    }

    #[test]
    fn a_slow_link_far_away_gets_its_share_and_a_dead_one_none_from_when_they_are_known() {
        let topology = leaf_spine();
        // Hosts 0 to 11, leaves 12 to 14, spines 15 to 18. The link from spine 15 to the last leaf has half its
        // rate.
        let slow = link(&topology, 15, 14);
        let dead = link(&topology, 16, 14);
        let half = (slow, Rate::from_gbps(5));
        let rates = vec![
            (Time::ZERO, BTreeMap::from([half])),
            (Time::from_us(7), BTreeMap::from([half, (dead, Rate(0))])),
        ];
        let leaf = &Weights::of(&topology, &rates)[12];
        assert_eq!(leaf.port(5, Time::ZERO, 1), None, "to the second leaf all ways are alike");
        assert_near(&shares(leaf, 11, Time::ZERO, 8)[4..], &[143, 286, 286, 286]);
        assert_near(&shares(leaf, 11, Time::from_us(7), 8)[4..], &[200, 0, 400, 400]);
    }

    #[test]
    fn in_three_tiers_a_core_that_is_cut_off_weighs_on_the_way_up() {
        // Hosts 0 to 15, edges 16 to 23, aggregations 24 to 31, cores 32 to 35: the first two above each first
        // aggregation.
        let topology = Topology::of_counts("fat-tree", &[("k", 4)]);
        let up = topology.links[topology.nodes[26].ports.start as usize + 2].dst;
        let down = link(&topology, up, 26);
        let all = Weights::of(&topology, &vec![(Time::ZERO, BTreeMap::from([(down, Rate(0))]))]);
        // From the first pod to the second: the first aggregation has one way, the other two.
        assert_near(&shares(&all[16], 5, Time::ZERO, 4)[2..], &[333, 667]);
        let ports = shares(&all[24], 5, Time::ZERO, 4);
        assert_eq!(ports.iter().filter(|&&count| count == 1_000).count(), 1, "{ports:?}");
        assert_eq!(all[25].port(5, Time::ZERO, 1), None);
    }
}

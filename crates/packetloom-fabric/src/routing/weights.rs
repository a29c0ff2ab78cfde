//! Weighted ECMP: which share of the flows each next hop is to get where links differ (WCMP, Zhou et al., EuroSys
//! 2014).
//!
//! A next hop's weight is the capacity of the paths by it to the destination's switch: the sum over these of each
//! path's slowest link. That is right where all switches send to all: what is lost behind one next hop is lost to
//! all who share it. It is known of the whole network, as of a controller that sets the tables of all switches.
//!
//! A scenario may give the weights instead; then a next hop has that of its link, and none if it is known that no
//! way leads on from there.

use crate::flow::HostId;
use crate::narrow::exact;
use crate::spec::{Complaint, Component, Kind, Value, Values, anything, param};
use crate::topology::KnownRates;
use crate::topology::{Routes, Topology};
use crate::units::{Rate, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a scenario says of a weight.
pub const COMPONENT: Component = Component {
    section: "weight",
    kind: "weight",
    doc: "The share of flows that links get, relative to others that lead to the same host.",
    source: "WCMP, EuroSys 2014, §4",
    params: &[&[
        param! {
            required "port": Kind::Text,
            "The links, by their sending end: those of a switch or tier, or of one to another (\"leaf0 to spine1\", \"leaf to spine1\"). Of two that name a link, the later one holds.",
            "packetloom"
        },
        param! {
            required "weight": Kind::Count(0),
            "Its weight: a link of 3 gets three times as many flows as one of 1; 0: none as long as there are others.",
            "packetloom"
        },
    ]],
    check: anything,
};

/// More than any table has entries, so that sums fit.
const LARGEST: u64 = 1 << 32;

/// The weight of each link of a network, if the routing gives any: 1 where it names none.
///
/// # Errors
/// Where it names no link, or weights make no difference or leave no way.
pub fn given(routing: &Values, topology: &Topology) -> Result<Option<Vec<u64>>, Complaint> {
    let Some(entries) = routing.optional_list("weights") else { return Ok(None) };
    let choices = Choices::of(topology);
    let mut weights = vec![1; topology.links.len()];
    for (nth, entry) in entries.iter().enumerate() {
        let Value::Component(entry) = entry else { panic!("a weight is {entry:?}") };
        let key = |name: &str| format!("scheme.routing.weights[{nth}].{name}");
        let (port, weight) = (entry.text("port"), entry.count("weight"));
        if weight > LARGEST {
            return Err(Complaint::new(&key("weight"), format!("write {LARGEST} at most")));
        }
        let links = topology.links_called(&port, &key("port"))?;
        if !links.iter().any(|link| choices.among.contains(link)) {
            let message = format!(
                "{port}: no switch has a choice of these; write links that lead up, or leave this out"
            );
            return Err(Complaint::new(&key("port"), message));
        }
        links.into_iter().for_each(|link| weights[link] = weight);
    }
    for (node, links) in &choices.each {
        if links.iter().all(|&link| weights[link] == 0) {
            let message = format!(
                "leave {} no way to some hosts; write a weight above 0 for one of its links",
                topology.node_name(*node)
            );
            return Err(Complaint::new("scheme.routing.weights", message));
        }
    }
    Ok(Some(weights))
}

/// Where switches have a choice.
struct Choices {
    /// The node, and the links that lead to some hosts.
    each: BTreeSet<(u32, Vec<usize>)>,
    among: BTreeSet<usize>,
}

impl Choices {
    fn of(topology: &Topology) -> Choices {
        let whole = BTreeMap::new();
        let view = View::of(topology, &whole, None);
        let edges: BTreeMap<u32, HostId> = edges(topology).iter().copied().zip(0..).collect();
        let mut each = BTreeSet::new();
        for node in 0..exact::<u32>(topology.nodes.len()) {
            let first = topology.nodes[node as usize].ports.start;
            for &host in edges.values().filter(|_| view.chooses(node)) {
                let links: Vec<usize> =
                    view.ways(node, host).into_iter().map(|port| (first + port) as usize).collect();
                if node != host && links.len() > 1 {
                    each.insert((node, links));
                }
            }
        }
        let among = each.iter().flat_map(|(_, links)| links.iter().copied()).collect();
        Choices { each, among }
    }
}

/// For each host, the switch that it is at.
fn edges(topology: &Topology) -> Arc<[u32]> {
    let edge_of = |host: u32| topology.links[topology.nodes[host as usize].ports.start as usize].dst;
    (0..topology.hosts).map(edge_of).collect()
}

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
    /// Those of all nodes; `given`: of each link.
    pub fn of(topology: &Topology, rates: &KnownRates, given: Option<&[u64]>) -> Vec<Weights> {
        let edges = edges(topology);
        let fresh = Weights { edges: Arc::clone(&edges), known: Vec::new() };
        let mut all = vec![fresh; topology.nodes.len()];
        let at_rest = (Time::ZERO, BTreeMap::new());
        for (from, rates) in std::iter::once(&at_rest).chain(rates) {
            let view = View::of(topology, rates, given);
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
    /// The weight of each link, if they are not worked out.
    given: Option<&'a [u64]>,
    routes: Option<Routes>,
}

impl View<'_> {
    fn of<'a>(
        topology: &'a Topology,
        rates: &'a BTreeMap<usize, Rate>,
        given: Option<&'a [u64]>,
    ) -> View<'a> {
        let dead: BTreeSet<usize> =
            rates.iter().filter(|(_, rate)| **rate == Rate(0)).map(|(&link, _)| link).collect();
        View { topology, rates, given, routes: topology.routes().map(|_| Routes::of(topology, &dead)) }
    }

    /// Whether a node has a choice at all.
    fn chooses(&self, node: u32) -> bool {
        // Hosts with several links choose, too, where there are tables.
        let has_links = || self.topology.nodes[node as usize].ports.len() > 1;
        node >= self.topology.hosts || has_links() && self.routes.is_some()
    }

    /// The ports, among a node's own, by which it sends to a host.
    fn ways(&self, node: u32, dst: HostId) -> Vec<u32> {
        let at = &self.topology.nodes[node as usize];
        match &self.routes {
            Some(routes) => routes.to(node, dst).to_vec(),
            None if dst.wrapping_sub(at.reach.first_host) < at.reach.hosts => {
                vec![at.reach.first_port_to(dst)]
            }
            None => (at.reach.down_ports..exact::<u32>(at.ports.len())).collect(),
        }
    }

    /// Notes how the nodes share out what is for a switch, which a host is at, where not all ways are alike.
    fn share_out(&self, (edge, host): (u32, HostId), of_nodes: &mut [BTreeMap<u32, Shares>]) {
        // A host with several links may be reached past that switch.
        let mut found = BTreeMap::from([edge, host].map(|end| (end, Paths::from([(u64::MAX, 1)]))));
        for node in 0..exact::<u32>(self.topology.nodes.len()) {
            if node == edge || !self.chooses(node) || node == host {
                continue;
            }
            let ways = self.ways(node, host);
            let mut weigh = |&port: &u32| {
                let paths = self.paths_by(node, port, host, &mut found);
                let capacity = paths.iter().map(|(rate, count)| rate * count).sum();
                let link = (self.topology.nodes[node as usize].ports.start + port) as usize;
                match self.given {
                    Some(given) if capacity > 0 => given[link],
                    _ => capacity,
                }
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
            let all = Weights::of(&topology, &Vec::new(), None);
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
        let leaf = &Weights::of(&topology, &rates, None)[12];
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
        let all = Weights::of(&topology, &vec![(Time::ZERO, BTreeMap::from([(down, Rate(0))]))], None);
        // From the first pod to the second: the first aggregation has one way, the other two.
        assert_near(&shares(&all[16], 5, Time::ZERO, 4)[2..], &[333, 667]);
        let ports = shares(&all[24], 5, Time::ZERO, 4);
        assert_eq!(ports.iter().filter(|&&count| count == 1_000).count(), 1, "{ports:?}");
        assert_eq!(all[25].port(5, Time::ZERO, 1), None);
    }

    /// A routing that gives such weights.
    fn routing(weights: &[(&str, u64)]) -> Values {
        let entry = |&(port, weight): &(&str, u64)| {
            let entries = [("port", Value::Text(port.to_owned())), ("weight", Value::Count(weight))];
            let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
            Value::Component(Values { kind: "weight".to_owned(), entries })
        };
        let entries = [("weights".to_owned(), Value::List(weights.iter().map(entry).collect()))].into();
        Values { kind: "wcmp".to_owned(), entries }
    }

    #[test]
    fn given_weights_hold_where_a_way_leads_on() {
        let topology = leaf_spine();
        let given = given(&routing(&[("leaf to spine0", 3), ("leaf1 to spine0", 0)]), &topology);
        let given = given.expect("neighbours").expect("they are given");
        let dead = link(&topology, 16, 14);
        let rates = vec![(Time::from_us(7), BTreeMap::from([(dead, Rate(0))]))];
        let all = Weights::of(&topology, &rates, Some(&given));
        assert_near(&shares(&all[12], 11, Time::ZERO, 8)[4..], &[500, 167, 167, 167]);
        assert_near(&shares(&all[12], 11, Time::from_us(7), 8)[4..], &[600, 0, 200, 200]);
        assert_near(&shares(&all[12], 5, Time::from_us(7), 8)[4..], &[500, 167, 167, 167]);
        assert_near(&shares(&all[13], 0, Time::ZERO, 8)[4..], &[0, 333, 333, 333]);
    }

    #[test]
    fn weights_that_mean_nothing_are_refused() {
        for (weights, expected) in [
            (&[("leaf9 to spine0", 1)][..], "weights[0].port: no node is called \"leaf9\""),
            (&[("leaf0 to leaf1", 1)], "weights[0].port: no link leads from leaf0 to leaf1"),
            (&[("leaf", 1), ("spine0", 2)], "weights[1].port: spine0: no switch has a choice of these"),
            (&[("leaf", 1 << 33)], "weights[0].weight: write 4294967296 at most"),
            (&[("leaf2", 0)], "weights: leave leaf2 no way to some hosts"),
        ] {
            let found = given(&routing(weights), &leaf_spine());
            let Complaint { key, message } = found.expect_err("they mean nothing");
            assert!(format!("{key}: {message}").contains(expected), "{key}: {message}");
        }
    }
}

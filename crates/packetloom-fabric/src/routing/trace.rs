//! The links that flows cross, found without running them: each node is asked as it would be for a packet.

use super::{Detours, FlowPorts, Router, hosts_spread, weights};
use crate::flow::{FlowId, HostId};
use crate::narrow::exact;
use crate::packet::Packet;
use crate::spec::{Value, Values};
use crate::topology::KnownRates;
use crate::topology::Topology;
use crate::units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// The nodes of a network at rest that choose among links.
#[derive(Clone, Debug)]
pub struct Tracer<'a> {
    topology: &'a Topology,
    /// Of switches, and of hosts with several links.
    routers: Vec<Option<Router>>,
    /// Whether hosts choose packet by packet.
    hosts_spread: bool,
    /// When packets come.
    now: Time,
}

impl<'t> Tracer<'t> {
    /// Those of a network with a routing; `flow_ports`: the ports of each flow, where switches hash those.
    pub fn new<'a>(
        topology: &'a Topology,
        routing: &Values,
        flow_ports: Option<&FlowPorts>,
        seed: u64,
    ) -> Tracer<'a> {
        let weights = weights(routing, topology, &KnownRates::new());
        let router = |node: u32| {
            let chooses = topology.nodes[node as usize].ports.len() > 1;
            chooses.then(|| {
                let router = Router::new(topology, node, routing, None, seed);
                let router = flow_ports.map_or(router.clone(), |ports| router.with_ports(ports));
                match &weights {
                    Some(weights) => router.with_weights(weights[node as usize].clone()),
                    None => router,
                }
            })
        };
        let routers = (0..exact::<u32>(topology.nodes.len())).map(router).collect();
        Tracer { topology, routers, hosts_spread: hosts_spread(routing), now: Time::ZERO }
    }

    /// The same, where nodes learn at these times that links are dead.
    #[must_use]
    pub fn with_outages(mut self, known: &[(Time, BTreeSet<usize>)], seed: u64) -> Tracer<'t> {
        if known.is_empty() {
            return self;
        }
        let detours = Detours::of(self.topology, known);
        for ((node, router), detours) in (0..).zip(&mut self.routers).zip(detours) {
            *router = router.take().map(|router| router.with_detours(detours, node, seed));
        }
        self
    }

    /// What is asked from now on is of packets that come at this time.
    pub fn at(&mut self, now: Time) {
        self.now = now;
    }

    /// A packet of a flow that comes now.
    fn packet(&self, flow: FlowId, connection: u16, (src, dst): (HostId, HostId)) -> Packet<()> {
        Packet { flow, path: connection, src, dst, time: self.now, ..Packet::default() }
    }

    /// The links that the packets of a flow from `src` to `dst` cross, where all of them take one path. `connection`: its
    /// [number](ConnectionNumbers). With its hosts exchanged: those of its acknowledgements.
    pub fn path(&mut self, flow: FlowId, connection: u16, src: HostId, dst: HostId) -> Vec<u32> {
        let packet = self.packet(flow, connection, (src, dst));
        let mut path = Vec::with_capacity(6);
        let mut node = src;
        while node != dst {
            let port = self.routers[node as usize].as_mut().map_or(0, |router| router.port_for(&packet));
            let link = self.topology.nodes[node as usize].ports.start + port;
            path.push(link);
            node = self.topology.links[link as usize].dst;
        }
        path
    }

    /// The links of all paths from `src` to `dst`, each with the share of the packets that cross it where every
    /// switch spreads them evenly. A host keeps a flow to one of its links, unless it chooses packet by packet.
    pub fn spread(&mut self, flow: FlowId, connection: u16, src: HostId, dst: HostId) -> Vec<(u32, f64)> {
        let packet = self.packet(flow, connection, (src, dst));
        let mut shares: Vec<(u32, f64)> = Vec::with_capacity(8);
        // Step by step; paths may differ in length, and what has arrived goes no further.
        let mut reached = BTreeMap::from([(src, 1.0)]);
        while !reached.is_empty() {
            let mut next = BTreeMap::new();
            for (node, share) in reached {
                let first = self.topology.nodes[node as usize].ports.start;
                let mut send = |port: u32, share: f64| {
                    let link = first + port;
                    match shares.iter_mut().find(|(other, _)| *other == link) {
                        Some((_, sum)) => *sum += share,
                        None => shares.push((link, share)),
                    }
                    let node = self.topology.links[link as usize].dst;
                    if node != dst {
                        *next.entry(node).or_insert(0.0) += share;
                    }
                };
                match &mut self.routers[node as usize] {
                    None => send(0, share),
                    Some(router) if node < self.topology.hosts && !self.hosts_spread => {
                        send(router.port_for(&packet), share);
                    }
                    Some(router) => {
                        let ways = router.ways(dst, self.now);
                        let each = share / f64::from(ways.count());
                        (0..ways.count()).for_each(|nth| send(ways.port(nth), each));
                    }
                }
            }
            reached = next;
        }
        shares
    }
}

/// The numbers of flows' connections, given in the order in which the flows start: how many their sender has opened to
/// the same host before. Switches hash them with the flow, where each flow has a connection of its own.
#[derive(Clone, Debug, Default)]
pub struct ConnectionNumbers {
    opened: Option<BTreeMap<(HostId, HostId), u16>>,
}

impl ConnectionNumbers {
    /// Those of a transport that numbers connections or does not, under a routing.
    pub fn of(are_numbered: bool, routing: &Values) -> ConnectionNumbers {
        let are_shared = matches!(routing.entries.get("queue_pairs"), Some(Value::Count(_)));
        ConnectionNumbers { opened: (are_numbered && !are_shared).then(BTreeMap::new) }
    }

    /// The next flow's, which is this.
    pub fn next(&mut self, src: HostId, dst: HostId) -> u16 {
        let Some(opened) = &mut self.opened else { return 0 };
        let next = opened.entry((src, dst)).or_default();
        let number = *next;
        *next = next.wrapping_add(1);
        number
    }

    /// Whether there is more than one number.
    pub fn matter(&self) -> bool {
        self.opened.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn ecmp() -> Values {
        let entries = [
            ("symmetric", Value::Flag(false)),
            ("hash", Value::Text("packetloom".to_owned())),
            ("queue_pairs", Value::Absent),
        ];
        let entries = entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        Values { kind: "ecmp".to_owned(), entries }
    }

    #[test]
    fn flows_between_two_hosts_take_one_path_each_and_all_paths_together() {
        let tree = Topology::of_counts("fat-tree", &[("k", 4)]);
        let routing = ecmp();
        let mut tracer = Tracer::new(&tree, &routing, None, 1);
        let paths: BTreeSet<Vec<u32>> = (0..200).map(|flow| tracer.path(flow, 0, 0, 15)).collect();
        assert_eq!(paths.len(), 4);
        assert!(paths.iter().all(|path| path.len() == 6 && tree.links[path[5] as usize].dst == 15));
        assert_eq!(tracer.path(7, 0, 0, 1).len(), 2);
        assert_eq!(tracer.path(7, 0, 0, 15), tracer.path(7, 0, 0, 15));
    }

    #[test]
    fn paths_avoid_links_from_the_time_on_at_which_switches_know_that_they_are_dead() {
        let rails = [("servers", 4), ("accelerators", 2), ("servers_per_rail_switch", 2), ("spines", 2)];
        for network in
            [Topology::of_counts("fat-tree", &[("k", 4)]), Topology::of_counts("rail-optimised", &rails)]
        {
            let last = network.hosts - 1;
            let seen = |tracer: &mut Tracer<'_>| -> BTreeSet<u32> {
                (0..200).flat_map(|flow| tracer.path(flow, 0, 0, last)).collect()
            };
            let routing = ecmp();
            let whole = seen(&mut Tracer::new(&network, &routing, None, 1));
            // A switch's link that some flows cross and others do not.
            let crosses = |flow: FlowId, link: u32| {
                Tracer::new(&network, &routing, None, 1).path(flow, 0, 0, last).contains(&link)
            };
            let chosen = |link: &&u32| {
                network.links[**link as usize].src >= network.hosts
                    && (0..200).any(|flow| !crosses(flow, **link))
            };
            let dead = *whole.iter().find(chosen).expect("flows share out");
            let known = [(Time(5), BTreeSet::from([dead as usize]))];
            let mut tracer = Tracer::new(&network, &routing, None, 1).with_outages(&known, 1);
            assert_eq!(seen(&mut tracer), whole);
            tracer.at(Time(5));
            let around = seen(&mut tracer);
            assert!(!around.contains(&dead) && around.is_subset(&whole));
            assert!(tracer.spread(0, 0, 0, last).iter().all(|&(link, _)| link != dead));
        }
    }

    #[test]
    fn connections_are_numbered_by_pair_of_hosts_and_take_paths_of_their_own() {
        let tree = Topology::of_counts("fat-tree", &[("k", 4)]);
        let mut numbers = ConnectionNumbers::of(true, &ecmp());
        let given: Vec<u16> =
            [(0, 15), (0, 15), (0, 14), (15, 0), (0, 15)].map(|(a, b)| numbers.next(a, b)).into();
        assert_eq!(given, [0, 1, 0, 0, 2]);
        let mut tracer = Tracer::new(&tree, &ecmp(), None, 1);
        let paths: BTreeSet<Vec<u32>> = (0..200).map(|number| tracer.path(7, number, 0, 15)).collect();
        assert_eq!(paths.len(), 4);
        let mut shared = ecmp();
        shared.entries.insert("queue_pairs".to_owned(), Value::Count(4));
        assert!(!ConnectionNumbers::of(true, &shared).matter());
        assert!(!ConnectionNumbers::of(false, &ecmp()).matter());
    }

    #[test]
    fn packets_go_by_all_planes_where_hosts_choose_for_each() {
        let counts = [("servers", 2), ("accelerators", 2), ("servers_per_rail_switch", 2), ("planes", 2)];
        let rails = Topology::of_counts("rail-optimised", &counts);
        let entries = [("entropies".to_owned(), Value::Count(64))].into();
        let oblivious = Values { kind: "oblivious".to_owned(), entries };
        let shares = |routing: &Values| -> Vec<f64> {
            Tracer::new(&rails, routing, None, 1).spread(0, 0, 0, 2).iter().map(|&(_, share)| share).collect()
        };
        assert_eq!(shares(&oblivious), [0.5; 4]);
        assert_eq!(shares(&ecmp()), [1.0; 2]);
    }

    #[test]
    fn shares_are_even_and_meet_again_below() {
        let tree = Topology::of_counts("fat-tree", &[("k", 4)]);
        let routing = ecmp();
        let mut tracer = Tracer::new(&tree, &routing, None, 1);
        let shares = tracer.spread(0, 0, 0, 15);
        let each: Vec<f64> = shares.iter().map(|&(_, share)| share).collect();
        assert_eq!(each, [1.0, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 1.0]);
        assert_eq!(
            tracer.spread(0, 0, 0, 1),
            [(tree.path(0, 1)[0] as u32, 1.0), (tree.path(0, 1)[1] as u32, 1.0)]
        );
    }
}

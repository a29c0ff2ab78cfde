//! Shortest paths on a network of any shape: for each switch, the ports that lead towards each other switch with hosts.

use super::Topology;
use crate::flow::HostId;
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

/// Of equal paths, the one by which a packet of this size is there first counts as the best.
const USUAL_BYTES: u64 = 1_500;

/// All shortest paths, by hops. Ports are counted from 0 at each switch.
#[derive(Clone, Debug)]
pub struct Routes {
    hosts: u32,
    /// For each host, which of the edges (the switches with hosts) it is at, and by which port.
    places: Vec<(u32, u32)>,
    /// How many edges there are.
    edges: usize,
    /// The ports of each switch towards each edge, the best first; none where there is no way.
    ports: Vec<Box<[u32]>>,
}

impl Routes {
    /// The shortest paths of a network without some of its links. Every host must have one link, to a switch.
    pub fn of(topology: &Topology, dead: &BTreeSet<usize>) -> Routes {
        let switch_of = |host: u32| topology.links[topology.nodes[host as usize].ports.start as usize].dst;
        let with_hosts: BTreeSet<u32> = (0..topology.hosts).map(switch_of).collect();
        let edges: Vec<u32> = with_hosts.into_iter().collect();
        let place = |host: u32| {
            let switch = switch_of(host);
            let ports = topology.nodes[switch as usize].ports.clone();
            let port = ports.clone().find(|&port| topology.links[port as usize].dst == host);
            let port = port.expect("every link has one that leads back") - ports.start;
            (edges.partition_point(|&edge| edge < switch) as u32, port)
        };
        let mut ports = vec![Box::default(); (topology.nodes.len() - topology.hosts as usize) * edges.len()];
        for (number, &edge) in edges.iter().enumerate() {
            for (switch, towards) in towards(topology, dead, edge).into_iter().enumerate() {
                ports[switch * edges.len() + number] = towards;
            }
        }
        let places = (0..topology.hosts).map(place).collect();
        Routes { hosts: topology.hosts, places, edges: edges.len(), ports }
    }

    /// The ports by which the switch that is the node `node` sends to a host: none where there is no way.
    #[inline]
    pub fn to(&self, node: u32, dst: HostId) -> &[u32] {
        let (edge, port) = &self.places[dst as usize];
        let towards = &self.ports[(node - self.hosts) as usize * self.edges + *edge as usize];
        // At the edge itself there is the host's own port; that is how `towards` marks it.
        if let [AT_EDGE] = towards[..] { std::slice::from_ref(port) } else { towards }
    }

    /// Whether any switch has a choice.
    pub fn has_choice(&self) -> bool {
        self.ports.iter().any(|ports| ports.len() > 1)
    }
}

/// Instead of ports: the packet is at the switch of its destination.
const AT_EDGE: u32 = u32::MAX;

/// For each switch the ports on shortest paths to `edge`.
fn towards(topology: &Topology, dead: &BTreeSet<usize>, edge: u32) -> Vec<Box<[u32]>> {
    let hosts = topology.hosts;
    // Every link has one that leads back, so a search from the edge along links finds the distances to it.
    let mut hops = vec![u32::MAX; topology.nodes.len()];
    hops[edge as usize] = 0;
    let mut found = VecDeque::from([edge]);
    let mut order = Vec::new();
    while let Some(node) = found.pop_front() {
        order.push(node);
        for port in topology.nodes[node as usize].ports.clone() {
            let next = topology.links[port as usize].dst;
            let is_open =
                |&link: &u32| topology.links[link as usize].dst == node && !dead.contains(&(link as usize));
            let leads_back = || topology.nodes[next as usize].ports.clone().any(|link| is_open(&link));
            if next >= hosts && hops[next as usize] == u32::MAX && leads_back() {
                hops[next as usize] = hops[node as usize] + 1;
                found.push_back(next);
            }
        }
    }
    let mut latency = vec![Time::NEVER; topology.nodes.len()];
    latency[edge as usize] = Time::ZERO;
    let mut all = vec![Box::<[u32]>::default(); topology.nodes.len() - hosts as usize];
    all[(edge - hosts) as usize] = Box::new([AT_EDGE]);
    for node in order.into_iter().skip(1) {
        let ports = topology.nodes[node as usize].ports.clone();
        let leads = |port: &u32| {
            let next = topology.links[*port as usize].dst;
            next >= hosts
                && hops[next as usize] != u32::MAX
                && hops[next as usize] + 1 == hops[node as usize]
                && !dead.contains(&(*port as usize))
        };
        let takes = |port: u32| {
            let link = &topology.links[port as usize];
            link.latency + link.rate.time_for(USUAL_BYTES) + latency[link.dst as usize]
        };
        let mut open: Vec<u32> = ports.clone().filter(leads).collect();
        open.sort_by_key(|&port| (takes(port), Reverse(topology.links[port as usize].rate), port));
        latency[node as usize] = open.first().map_or(Time::NEVER, |&port| takes(port));
        all[(node - hosts) as usize] = open.into_iter().map(|port| port - ports.start).collect();
    }
    all
}

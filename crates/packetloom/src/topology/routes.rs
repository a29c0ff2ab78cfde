//! Shortest paths on a network of any shape: for each switch, the ports that lead towards each host, and how many paths
//! there are.
//!
//! Of hosts on one switch all but the last step is the same, so the search goes to their switch. The paths from one host
//! to another are numbered: those by a node's first port come first.

use super::Topology;
use crate::flow::HostId;
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

/// Of equal paths, the one by which a packet of this size is there first counts as the best.
const USUAL_BYTES: u64 = 1_500;

/// All shortest paths, by hops. Ports are counted from 0 at each node.
#[derive(Clone, Debug)]
pub struct Routes {
    hosts: u32,
    /// For each host, which of the edges (the switches with hosts) it is at, and by which port.
    places: Vec<(u32, u32)>,
    /// The switches with hosts.
    edges: Vec<u32>,
    /// Of each switch to each edge.
    ways: Vec<Ways>,
    /// For each switch and port, the node at the far end, and the port there that leads back.
    far_ends: Vec<Vec<(u32, u32)>>,
}

/// The ways from a switch to an edge.
#[derive(Clone, Debug, Default)]
struct Ways {
    /// The ports on shortest paths, the best first; none where there is no way.
    ports: Box<[u32]>,
    /// How many shortest paths there are: if more than this can hold, the most.
    paths: u32,
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
        let switches = topology.hosts..topology.nodes.len() as u32;
        let mut ways = vec![Ways::default(); switches.len() * edges.len()];
        for (number, &edge) in edges.iter().enumerate() {
            for (switch, towards) in towards(topology, dead, edge).into_iter().enumerate() {
                ways[switch * edges.len() + number] = towards;
            }
        }
        let places = (0..topology.hosts).map(place).collect();
        let far_ends = switches.map(|switch| far_ends(topology, switch)).collect();
        Routes { hosts: topology.hosts, places, edges, ways, far_ends }
    }

    /// The ports by which the switch that is the node `node` sends to a host: none where there is no way.
    #[inline]
    pub fn to(&self, node: u32, dst: HostId) -> &[u32] {
        let towards = &self.ways(node, dst).ports;
        // At the edge itself there is the host's own port; that is how `towards` marks it.
        if let [AT_EDGE] = towards[..] { std::slice::from_ref(&self.places[dst as usize].1) } else { towards }
    }

    /// How many shortest paths lead from one host to another.
    pub fn paths(&self, src: HostId, dst: HostId) -> u32 {
        self.ways(self.edge_of(src), dst).paths
    }

    /// The most that there are between any two hosts.
    pub fn most_paths(&self) -> u32 {
        let from_edges = self.edges.iter().flat_map(|edge| {
            let first = (edge - self.hosts) as usize * self.edges.len();
            &self.ways[first..first + self.edges.len()]
        });
        from_edges.map(|ways| ways.paths).max().unwrap_or(0)
    }

    /// The port by which a switch sends what takes a path; none if it is not on it.
    pub fn port_on(&self, node: u32, path: PathNumber) -> Option<u32> {
        self.steps(path).find(|&(at, _)| at == node).map(|(_, port)| port)
    }

    /// The port by which a switch sends what takes the path in the other direction.
    pub fn port_back_on(&self, node: u32, path: PathNumber) -> Option<u32> {
        let mut back = self.places[path.src as usize].1;
        for (at, port) in self.steps(path) {
            if at == node {
                return Some(back);
            }
            back = self.far_ends[(at - self.hosts) as usize][port as usize].1;
        }
        None
    }

    /// The switches of a path, each with the port that it sends by.
    fn steps(&self, PathNumber { src, dst, number }: PathNumber) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut left = number;
        let mut next = Some(self.edge_of(src));
        std::iter::from_fn(move || {
            let node = next.filter(|&node| node >= self.hosts)?;
            let leads_on = |port: u32| self.far_ends[(node - self.hosts) as usize][port as usize].0;
            let &port = self.to(node, dst).iter().find(|&&port| {
                let far = leads_on(port);
                let paths = if far == dst { 1 } else { self.ways(far, dst).paths };
                let is_it = left < paths;
                left -= if is_it { 0 } else { paths };
                is_it
            })?;
            next = Some(leads_on(port));
            Some((node, port))
        })
    }

    fn ways(&self, node: u32, dst: HostId) -> &Ways {
        let (edge, _) = self.places[dst as usize];
        &self.ways[(node - self.hosts) as usize * self.edges.len() + edge as usize]
    }

    fn edge_of(&self, host: HostId) -> u32 {
        self.edges[self.places[host as usize].0 as usize]
    }

    /// Whether any switch has a choice.
    pub fn has_choice(&self) -> bool {
        self.ways.iter().any(|ways| ways.ports.len() > 1)
    }
}

/// One of the shortest paths between two hosts.
#[derive(Clone, Copy, Debug)]
pub struct PathNumber {
    /// Where it begins.
    pub src: HostId,
    /// Where it ends.
    pub dst: HostId,
    /// Below [`Routes::paths`].
    pub number: u32,
}

/// Instead of ports: the packet is at the switch of its destination.
const AT_EDGE: u32 = u32::MAX;

/// For each switch the ports on shortest paths to `edge`.
fn towards(topology: &Topology, dead: &BTreeSet<usize>, edge: u32) -> Vec<Ways> {
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
    let mut all = vec![Ways::default(); topology.nodes.len() - hosts as usize];
    all[(edge - hosts) as usize] = Ways { ports: Box::new([AT_EDGE]), paths: 1 };
    for node in order.into_iter().skip(1) {
        let ports = topology.nodes[node as usize].ports.clone();
        let next = |port: u32| topology.links[port as usize].dst;
        let leads = |port: &u32| {
            let next = next(*port);
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
        let paths = open.iter().map(|&port| all[(next(port) - hosts) as usize].paths);
        let paths = paths.fold(0, u32::saturating_add);
        let ports = open.into_iter().map(|port| port - ports.start).collect();
        all[(node - hosts) as usize] = Ways { ports, paths };
    }
    all
}

/// The far end of each of a node's ports; parallel links pair up in order.
fn far_ends(topology: &Topology, node: u32) -> Vec<(u32, u32)> {
    let ports = topology.nodes[node as usize].ports.clone();
    let far_end = |port: u32| {
        let far = topology.links[port as usize].dst;
        let alike = (ports.start..port).filter(|&other| topology.links[other as usize].dst == far).count();
        let there = topology.nodes[far as usize].ports.clone();
        let mut back = there.clone().filter(|&link| topology.links[link as usize].dst == node);
        (far, back.nth(alike).expect("every link has one that leads back") - there.start)
    };
    ports.clone().map(far_end).collect()
}

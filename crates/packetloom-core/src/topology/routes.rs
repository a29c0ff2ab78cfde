//! Shortest paths on a network of any shape: for each node with a choice, the ports that lead towards each host, and
//! how many paths there are.
//!
//! Of hosts on one switch all but the last step is the same, so the search goes to their switch, which is their
//! edge. A host with several links, or one to another host, is an edge of its own. No path leads through a host. The
//! paths from one host to another are numbered: those by a node's first port come first.

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
    /// For each host, its edge's number, and the port there that leads to it, if it is not the edge itself.
    places: Vec<(u32, u32)>,
    /// The nodes that are edges.
    edges: Vec<u32>,
    /// For each node its number among those that forward: switches, and hosts that are edges.
    rows: Vec<u32>,
    /// Of each of those to each edge.
    ways: Vec<Ways>,
    /// For each of those and its ports, the node at the far end, and the port there that leads back.
    far_ends: Vec<Vec<(u32, u32)>>,
}

/// The ways from a node to an edge.
#[derive(Clone, Debug, Default)]
struct Ways {
    /// The ports on shortest paths, the best first; none where there is no way.
    ports: Box<[u32]>,
    /// How many shortest paths there are: if more than this can hold, the most.
    paths: u32,
}

/// Not among the nodes that forward.
const NO_ROW: u32 = u32::MAX;

impl Routes {
    /// The shortest paths of a network without some of its links.
    pub fn of(topology: &Topology, dead: &BTreeSet<usize>) -> Routes {
        let edge_of = |host: u32| match far_ends(topology, host)[..] {
            [(switch, _)] if switch >= topology.hosts => switch,
            _ => host,
        };
        let edges: BTreeSet<u32> = (0..topology.hosts).map(edge_of).collect();
        let edges: Vec<u32> = edges.into_iter().collect();
        let place = |host: u32| {
            let edge = edge_of(host);
            let port = if edge == host { 0 } else { far_ends(topology, host)[0].1 };
            (edges.partition_point(|&other| other < edge) as u32, port)
        };
        let mut rows = vec![NO_ROW; topology.nodes.len()];
        let switches = topology.hosts..topology.nodes.len() as u32;
        let hosts = edges.iter().copied().filter(|&edge| edge < topology.hosts);
        let forwarding: Vec<u32> = hosts.chain(switches).collect();
        for (row, &node) in (0..).zip(&forwarding) {
            rows[node as usize] = row;
        }
        let mut ways = vec![Ways::default(); forwarding.len() * edges.len()];
        for (number, &edge) in edges.iter().enumerate() {
            for (node, towards) in towards(topology, dead, edge, &rows) {
                ways[rows[node as usize] as usize * edges.len() + number] = towards;
            }
        }
        let places = (0..topology.hosts).map(place).collect();
        let far_ends = forwarding.iter().map(|&node| far_ends(topology, node)).collect();
        Routes { places, edges, rows, ways, far_ends }
    }

    /// The ports by which a node that forwards sends to a host: none where there is no way.
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
        self.between_edges().map(|ways| ways.paths).max().unwrap_or(0)
    }

    /// Whether every host can reach every other.
    pub fn reach_all(&self) -> bool {
        self.between_edges().all(|ways| !ways.ports.is_empty())
    }

    fn between_edges(&self) -> impl Iterator<Item = &Ways> {
        self.edges.iter().flat_map(|edge| {
            let first = self.rows[*edge as usize] as usize * self.edges.len();
            &self.ways[first..first + self.edges.len()]
        })
    }

    /// The port by which a node sends what takes a path; none if it is not on it.
    pub fn port_on(&self, node: u32, path: PathNumber) -> Option<u32> {
        self.steps(path).find(|&(at, _)| at == node).map(|(_, port)| port)
    }

    /// The port by which a node sends what takes the path in the other direction.
    pub fn port_back_on(&self, node: u32, path: PathNumber) -> Option<u32> {
        let mut back = self.places[path.src as usize].1;
        for (at, port) in self.steps(path) {
            if at == node {
                return Some(back);
            }
            back = self.far_end(at, port).1;
        }
        (node == path.dst).then_some(back)
    }

    /// The nodes of a path that forward, each with the port that it sends by.
    fn steps(&self, PathNumber { src, dst, number }: PathNumber) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut left = number;
        let mut next = Some(self.edge_of(src));
        std::iter::from_fn(move || {
            let node = next.filter(|&node| node != dst)?;
            let &port = self.to(node, dst).iter().find(|&&port| {
                let far = self.far_end(node, port).0;
                let paths = if far == dst { 1 } else { self.ways(far, dst).paths };
                let is_it = left < paths;
                left -= if is_it { 0 } else { paths };
                is_it
            })?;
            next = Some(self.far_end(node, port).0);
            Some((node, port))
        })
    }

    fn ways(&self, node: u32, dst: HostId) -> &Ways {
        let (edge, _) = self.places[dst as usize];
        &self.ways[self.rows[node as usize] as usize * self.edges.len() + edge as usize]
    }

    fn far_end(&self, node: u32, port: u32) -> (u32, u32) {
        self.far_ends[self.rows[node as usize] as usize][port as usize]
    }

    fn edge_of(&self, host: HostId) -> u32 {
        self.edges[self.places[host as usize].0 as usize]
    }

    /// Whether any node has a choice.
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

/// Instead of ports: the packet is at the edge of its destination.
const AT_EDGE: u32 = u32::MAX;

/// The ports of the nodes that forward on shortest paths to `edge`.
fn towards(topology: &Topology, dead: &BTreeSet<usize>, edge: u32, rows: &[u32]) -> Vec<(u32, Ways)> {
    let forwards = |node: u32| rows[node as usize] != NO_ROW;
    // Every link has one that leads back, so a search from the edge along links finds the distances to it.
    let mut hops = vec![u32::MAX; topology.nodes.len()];
    hops[edge as usize] = 0;
    let mut found = VecDeque::from([edge]);
    let mut order = Vec::new();
    while let Some(node) = found.pop_front() {
        order.push(node);
        // What leads through another host is no path.
        let ports = if node == edge || node >= topology.hosts {
            topology.nodes[node as usize].ports.clone()
        } else {
            0..0
        };
        for port in ports {
            let next = topology.links[port as usize].dst;
            let is_open =
                |&link: &u32| topology.links[link as usize].dst == node && !dead.contains(&(link as usize));
            let leads_back = || topology.nodes[next as usize].ports.clone().any(|link| is_open(&link));
            if forwards(next) && hops[next as usize] == u32::MAX && leads_back() {
                hops[next as usize] = hops[node as usize] + 1;
                found.push_back(next);
            }
        }
    }
    let mut latency = vec![Time::NEVER; topology.nodes.len()];
    latency[edge as usize] = Time::ZERO;
    let mut paths_from = vec![0_u32; topology.nodes.len()];
    paths_from[edge as usize] = 1;
    let mut all = vec![(edge, Ways { ports: Box::new([AT_EDGE]), paths: 1 })];
    for node in order.into_iter().skip(1) {
        let ports = topology.nodes[node as usize].ports.clone();
        let next = |port: u32| topology.links[port as usize].dst;
        let leads = |port: &u32| {
            let next = next(*port);
            (next == edge || next >= topology.hosts)
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
        let paths = open.iter().map(|&port| paths_from[next(port) as usize]).fold(0, u32::saturating_add);
        paths_from[node as usize] = paths;
        let ports = open.into_iter().map(|port| port - ports.start).collect();
        all.push((node, Ways { ports, paths }));
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

//! The table of shortest paths through switches that are connected to each other: for each of them, the ports towards
//! each edge.

use super::wiring::Wiring;
use crate::narrow::exact;
use crate::units::{Rate, Time};
use std::cmp::Reverse;
use std::collections::HashMap;

/// The ways of the nodes that forward in a part of the network to each of its edges.
#[derive(Clone, Debug)]
pub(super) struct Fabric {
    /// The nodes that are edges.
    pub(super) edges: Vec<u32>,
    /// The rows of those at which packets start: edges at which a host has its only way out.
    pub(super) starts: Vec<u32>,
    /// Row by row, edge by edge.
    ways: Vec<Ways>,
    /// The lists of ports, each once.
    lists: Vec<u32>,
    /// From each edge to each: links, and what a packet takes on the best path. Empty where nobody compares fabrics.
    lengths: Vec<(u32, Time)>,
}

/// The ways from a node to an edge.
#[derive(Clone, Copy, Debug, Default)]
struct Ways {
    /// The ports on shortest paths, the best first, as a part of the lists; none where there is no way. If there is
    /// but one port, it stands here itself.
    first: u32,
    count: u32,
    /// How many shortest paths there are: if more than this can hold, the most.
    paths: u32,
}

/// Instead of ports: the packet is at the edge of its destination.
pub(super) const AT_EDGE: u32 = u32::MAX;

/// What a length is where there is no way.
pub(super) const NO_WAY: u32 = u32::MAX;

impl Fabric {
    /// Of `nodes`, which forward; `row_of` has the place of each among them.
    pub(super) fn of(
        wiring: &Wiring<'_>,
        (nodes, row_of): (&[u32], &[(u32, u32)]),
        (edges, starts): (Vec<u32>, Vec<u32>),
        compares: bool,
    ) -> Fabric {
        let row = |node: u32| row_of[node as usize].1;
        let mut search = Search::of(wiring, nodes, row_of);
        let mut fabric = Fabric {
            ways: vec![Ways::default(); nodes.len() * edges.len()],
            lists: Vec::new(),
            lengths: vec![(NO_WAY, Time::NEVER); if compares { edges.len() * edges.len() } else { 0 }],
            starts: starts.into_iter().map(row).collect(),
            edges,
        };
        let mut known = HashMap::new();
        for number in 0..fabric.edges.len() {
            let edge = row(fabric.edges[number]);
            search.spread_from(edge);
            fabric.ways[edge as usize * fabric.edges.len() + number] =
                Ways { first: AT_EDGE, count: 1, paths: 1 };
            for place in 1..search.order.len() {
                let node = search.order[place];
                let (ports, paths) = search.open(node, edge);
                let ways = fabric.intern(&mut known, ports, paths);
                fabric.ways[node as usize * fabric.edges.len() + number] = ways;
            }
            if compares {
                for from in 0..fabric.edges.len() {
                    let node = row(fabric.edges[from]) as usize;
                    let length = (search.hops[node], search.latency[node]);
                    fabric.lengths[from * fabric.edges.len() + number] = length;
                }
            }
        }
        fabric
    }

    fn intern(&mut self, known: &mut HashMap<Box<[u32]>, u32>, ports: &[u32], paths: u32) -> Ways {
        let count = exact::<u32>(ports.len());
        if let [only] = *ports {
            return Ways { first: only, count, paths };
        }
        let first = match known.get(ports) {
            Some(&first) => first,
            None => {
                let first = exact::<u32>(self.lists.len());
                self.lists.extend_from_slice(ports);
                known.insert(ports.into(), first);
                first
            }
        };
        Ways { first, count, paths }
    }

    /// The ports from a row towards an edge, and how many paths there are.
    #[inline]
    pub(super) fn ways(&self, row: u32, edge: u32) -> (&[u32], u32) {
        let Ways { first, count, paths } = &self.ways[row as usize * self.edges.len() + edge as usize];
        let ports = match count {
            1 => std::slice::from_ref(first),
            _ => &self.lists[*first as usize..(first + count) as usize],
        };
        (ports, *paths)
    }

    /// The links, and what a packet takes on the best path, from one edge to another.
    pub(super) fn length(&self, from: u32, to: u32) -> (u32, Time) {
        self.lengths[from as usize * self.edges.len() + to as usize]
    }

    /// Whether any node has a choice.
    pub(super) fn has_choice(&self) -> bool {
        self.ways.iter().any(|ways| ways.count > 1)
    }
}

/// A node's port to another that forwards in the same fabric.
#[derive(Clone, Copy)]
struct Step {
    port: u32,
    row: u32,
    hops: u32,
    takes: Time,
    rate: Rate,
    /// Whether this direction is open, and the other one.
    is_open: bool,
    is_back_open: bool,
}

/// A search from one edge to all nodes after the other.
struct Search {
    steps: Vec<Vec<Step>>,
    is_switch: Vec<bool>,
    hops: Vec<u32>,
    latency: Vec<Time>,
    paths: Vec<u32>,
    /// The rows that were found, the nearest first.
    order: Vec<u32>,
    /// Those that may be so many hops away.
    levels: Vec<Vec<u32>>,
    open: Vec<(Time, Reverse<Rate>, u32)>,
    ports: Vec<u32>,
}

impl Search {
    fn of(wiring: &Wiring<'_>, nodes: &[u32], row_of: &[(u32, u32)]) -> Search {
        let is_here = |node: u32| nodes.get(row_of[node as usize].1 as usize) == Some(&node);
        let step = |node: u32, link: u32| Step {
            port: link - wiring.ports(node).start,
            row: row_of[wiring.far_node(link) as usize].1,
            hops: wiring.length(link),
            takes: wiring.takes(link),
            rate: wiring.rate(link),
            is_open: wiring.is_open(link),
            is_back_open: wiring.is_open(wiring.back(link)),
        };
        let steps_of = |&node: &u32| {
            let links = wiring.ports(node).filter(|&link| is_here(wiring.far_node(link)));
            links.map(|link| step(node, link)).collect()
        };
        Search {
            steps: nodes.iter().map(steps_of).collect(),
            is_switch: nodes.iter().map(|&node| wiring.is_switch(node)).collect(),
            hops: vec![NO_WAY; nodes.len()],
            latency: vec![Time::NEVER; nodes.len()],
            paths: vec![0; nodes.len()],
            order: Vec::new(),
            levels: Vec::new(),
            open: Vec::new(),
            ports: Vec::new(),
        }
    }

    /// Finds how far it is to an edge. Every link has one that leads back, so it is searched from there.
    fn spread_from(&mut self, edge: u32) {
        for &row in &self.order {
            self.hops[row as usize] = NO_WAY;
            self.latency[row as usize] = Time::NEVER;
        }
        self.order.clear();
        self.hops[edge as usize] = 0;
        self.latency[edge as usize] = Time::ZERO;
        self.paths[edge as usize] = 1;
        self.at_level(0).push(edge);
        let mut hops = 0;
        while hops < self.levels.len() {
            let found = std::mem::take(&mut self.levels[hops]);
            for &node in &found {
                // It may have turned out to be nearer.
                if self.hops[node as usize] == exact::<u32>(hops) {
                    self.order.push(node);
                    self.spread(node, edge);
                }
            }
            self.levels[hops] = found;
            self.levels[hops].clear();
            hops += 1;
        }
    }

    /// Notes how far the neighbours of a node are by it.
    fn spread(&mut self, node: u32, edge: u32) {
        // What leads through another host is no path.
        if node != edge && !self.is_switch[node as usize] {
            return;
        }
        for nth in 0..self.steps[node as usize].len() {
            let Step { row, hops, is_back_open, .. } = self.steps[node as usize][nth];
            let by_node = self.hops[node as usize] + hops;
            if is_back_open && by_node < self.hops[row as usize] {
                self.hops[row as usize] = by_node;
                self.at_level(by_node).push(row);
            }
        }
    }

    fn at_level(&mut self, hops: u32) -> &mut Vec<u32> {
        if self.levels.len() <= hops as usize {
            self.levels.resize(hops as usize + 1, Vec::new());
        }
        &mut self.levels[hops as usize]
    }

    /// The ports of a node on shortest paths to the edge, once those of all nearer ones are known, and how many paths
    /// there are; notes the node's own latency and paths.
    fn open(&mut self, node: u32, edge: u32) -> (&[u32], u32) {
        self.open.clear();
        let mut paths = 0_u32;
        for step in &self.steps[node as usize] {
            let far = step.row as usize;
            let leads_on = step.row == edge || self.is_switch[far];
            let is_nearer =
                self.hops[far] != NO_WAY && self.hops[far] + step.hops == self.hops[node as usize];
            if step.is_open && leads_on && is_nearer {
                self.open.push((step.takes + self.latency[far], Reverse(step.rate), step.port));
                paths = paths.saturating_add(self.paths[far]);
            }
        }
        self.open.sort_unstable();
        self.latency[node as usize] = self.open.first().map_or(Time::NEVER, |&(takes, ..)| takes);
        self.paths[node as usize] = paths;
        self.ports.clear();
        self.ports.extend(self.open.iter().map(|&(_, _, port)| port));
        (&self.ports, paths)
    }
}

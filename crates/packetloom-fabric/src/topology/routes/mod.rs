//! Shortest paths on a network of any shape: for each node with a choice, the ports that lead towards each host, and
//! how many paths there are.
//!
//! Of hosts on one switch all but the last step is the same, so the search goes to their switch, which is their
//! edge. No path leads through a host. So where every host with several links has each of them in a part of the
//! network of its own (planes, or the switch inside a server), each such part, a fabric, has a small table, and these
//! hosts compare fabrics. On any other network there is one table, and a host with several links, or one to another
//! host, is an edge of its own. The paths from one host to another are numbered: those by a node's first port come
//! first.

mod choices;
mod fabric;
mod wiring;

use super::Topology;
use crate::flow::HostId;
use crate::narrow::exact;
use choices::{Choices, Classes, Place, Way};
use fabric::{AT_EDGE, Fabric, NO_WAY};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::OnceLock;
use wiring::Wiring;

/// All shortest paths, by hops. Ports are counted from 0 at each node.
#[derive(Clone, Debug)]
pub struct Routes {
    fabrics: Vec<Fabric>,
    /// For each node its fabric and its row there; nothing for hosts that are no edges.
    rows: Vec<(u32, u32)>,
    /// Where each host is: a part of the places.
    of_hosts: Vec<Range<u32>>,
    places: Vec<Place>,
    /// Of each place what is read for every packet at every switch.
    spots: Vec<Spot>,
    /// Each node's first link.
    first_links: Vec<u32>,
    /// For each link, the node at its far end, and the port there that leads back.
    far_ends: Vec<(u32, u32)>,
    /// Of hosts in several fabrics, worked out when they are first asked for; empty where there are none.
    choices: Vec<OnceLock<Choices>>,
    /// What they are by; nothing where there are none.
    classes: Classes,
}

/// How a host is reached in a fabric.
#[derive(Clone, Copy, Debug)]
struct Spot {
    fabric: u32,
    /// The edge's number in the fabric; [`NOWHERE`] where the host is not reached.
    edge: u32,
    /// The port at the edge that leads to the host.
    down: u32,
}

/// Not among the nodes that forward.
const NOWHERE: u32 = u32::MAX;

impl Routes {
    /// The shortest paths of a network without some of its links.
    pub fn of(topology: &Topology, dead: &BTreeSet<usize>) -> Routes {
        let wiring = Wiring::of(topology, dead);
        let parts = parts(&wiring);
        let is_apart = |host: u32| {
            let far: Vec<u32> = wiring.ports(host).map(|link| wiring.far_node(link)).collect();
            let parts_of: BTreeSet<u32> = far.iter().map(|&node| parts[node as usize]).collect();
            far.iter().all(|&node| wiring.is_switch(node)) && parts_of.len() == far.len()
        };
        let are_apart = (0..topology.hosts).all(|host| wiring.is_single(host) || is_apart(host));
        Routes::with_parts(&wiring, &if are_apart { parts } else { vec![0; topology.nodes.len()] }, are_apart)
    }

    /// The same by one table, to compare with.
    #[cfg(test)]
    pub(super) fn in_one(topology: &Topology, dead: &BTreeSet<usize>) -> Routes {
        Routes::with_parts(&Wiring::of(topology, dead), &vec![0; topology.nodes.len()], false)
    }

    /// With the part of the network that each switch is in; otherwise than apart there is one.
    fn with_parts(wiring: &Wiring<'_>, parts: &[u32], are_apart: bool) -> Routes {
        let topology = wiring.topology;
        let is_edge = |host: u32| !are_apart && !wiring.is_single(host);
        let count = parts.iter().map(|&part| part + 1).max().unwrap_or(0) as usize;
        let mut members = vec![Members::default(); count];
        let mut rows = vec![(NOWHERE, NOWHERE); topology.nodes.len()];
        for node in 0..exact::<u32>(topology.nodes.len()) {
            if wiring.is_switch(node) || is_edge(node) {
                let part = parts[node as usize];
                let nodes = &mut members[part as usize].nodes;
                rows[node as usize] = (part, exact::<u32>(nodes.len()));
                nodes.push(node);
            }
        }
        for host in 0..topology.hosts {
            let is_only = is_edge(host) || wiring.is_single(host);
            let links = wiring.ports(host).take(if is_edge(host) { 1 } else { usize::MAX });
            for link in links {
                let edge = if is_edge(host) { host } else { wiring.far_node(link) };
                let (part, _) = rows[edge as usize];
                *members[part as usize].edges.entry(edge).or_default() |= is_only;
            }
        }
        let has_choices = (0..topology.hosts).any(|host| !is_edge(host) && !wiring.is_single(host));
        let fabrics: Vec<Fabric> = members
            .into_iter()
            .map(|Members { nodes, edges }| {
                let starts = edges.iter().filter(|(_, is_only)| **is_only).map(|(&edge, _)| edge).collect();
                let edges = edges.keys().copied().collect();
                Fabric::of(wiring, (&nodes, &rows), (edges, starts), has_choices)
            })
            .collect();
        let mut places = Vec::new();
        let mut of_hosts = Vec::new();
        for host in 0..topology.hosts {
            let first = exact::<u32>(places.len());
            let number = |edge: u32| {
                let (fabric, _) = rows[edge as usize];
                let edges = &fabrics[fabric as usize].edges;
                (fabric, exact::<u32>(edges.partition_point(|&other| other < edge)))
            };
            if is_edge(host) {
                let (fabric, edge) = number(host);
                places.push(Place::of_edge(fabric, edge));
            } else {
                let place = |link| Place::at(wiring, number(wiring.far_node(link)), host, link);
                places.extend(wiring.ports(host).map(place));
            }
            of_hosts.push(first..exact::<u32>(places.len()));
        }
        let choices = if has_choices { topology.hosts } else { 0 };
        let of_choices = of_hosts.iter().take(choices as usize);
        let at = |range: &Range<u32>| &places[range.start as usize..range.end as usize];
        let classes = Classes::of(of_choices.map(at), |fabric| fabrics[fabric as usize].edges.len() == 1);
        Routes {
            fabrics,
            rows,
            of_hosts,
            spots: places.iter().map(Spot::of).collect(),
            places,
            first_links: topology.nodes.iter().map(|node| node.ports.start).collect(),
            far_ends: wiring.far_ends.clone(),
            choices: (0..choices).map(|_| OnceLock::new()).collect(),
            classes,
        }
    }

    /// The ports by which a node that forwards sends to a host: none where there is no way.
    #[inline]
    pub fn to(&self, node: u32, dst: HostId) -> &[u32] {
        self.ways(node, dst).0
    }

    /// How many shortest paths lead from one host to another.
    pub fn paths(&self, src: HostId, dst: HostId) -> u32 {
        self.ways(self.start(src), dst).1
    }

    /// The most that there are between any two hosts.
    pub fn most_paths(&self) -> u32 {
        let from_edges = self.fabrics.iter().flat_map(|fabric| {
            let edges = 0..exact::<u32>(fabric.edges.len());
            fabric.starts.iter().flat_map(move |&row| edges.clone().map(move |edge| fabric.ways(row, edge).1))
        });
        let chosen = self.choosing().flat_map(|host| self.choices(host).all().map(|(_, paths)| paths));
        from_edges.chain(chosen).max().unwrap_or(0)
    }

    /// Whether every host can reach every other.
    pub fn reach_all(&self) -> bool {
        let hosts = || 0..exact::<u32>(self.of_hosts.len());
        let from_edge = |fabric: &Fabric, row: &u32, number: u32, dst: HostId| {
            self.place(dst, number)
                .is_some_and(|place| place.is_reached && !fabric.ways(*row, place.edge).0.is_empty())
        };
        let edges_do = (0..).zip(&self.fabrics).all(|(number, fabric)| {
            fabric.starts.iter().all(|row| hosts().all(|dst| from_edge(fabric, row, number, dst)))
        });
        edges_do && self.choosing().all(|src| hosts().all(|dst| dst == src || !self.to(src, dst).is_empty()))
    }

    /// The port by which a node sends what takes a path; none if it is not on it.
    pub fn port_on(&self, node: u32, path: PathNumber) -> Option<u32> {
        self.steps(path).find(|&(at, _)| at == node).map(|(_, port)| port)
    }

    /// The port by which a node sends what takes the path in the other direction.
    pub fn port_back_on(&self, node: u32, path: PathNumber) -> Option<u32> {
        let mut back = self.places_of(path.src)[0].down;
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
        let mut next = Some(self.start(src));
        std::iter::from_fn(move || {
            let node = next.filter(|&node| node != dst)?;
            let &port = self.to(node, dst).iter().find(|&&port| {
                let far = self.far_end(node, port).0;
                let paths = if far == dst { 1 } else { self.ways(far, dst).1 };
                let is_it = left < paths;
                left -= if is_it { 0 } else { paths };
                is_it
            })?;
            next = Some(self.far_end(node, port).0);
            Some((node, port))
        })
    }

    /// The ports from a node to a host, and how many paths there are.
    #[inline]
    fn ways(&self, node: u32, dst: HostId) -> (&[u32], u32) {
        let (fabric, row) = self.rows[node as usize];
        if fabric == NOWHERE {
            return self.choices(node).to(dst, self.classes.of_hosts[dst as usize]);
        }
        let Some(spot) = self.spot(dst, fabric) else { return (&[], 0) };
        let (ports, paths) = self.fabrics[fabric as usize].ways(row, spot.edge);
        // At the edge itself there is the host's own port; that is how the table marks it.
        if let [AT_EDGE] = ports { (std::slice::from_ref(&spot.down), 1) } else { (ports, paths) }
    }

    /// How a host is reached in a fabric, if it is.
    #[inline]
    fn spot(&self, host: HostId, fabric: u32) -> Option<&Spot> {
        let has_one_each = self.spots.len() == self.of_hosts.len();
        let spots = if has_one_each { host..host + 1 } else { self.of_hosts[host as usize].clone() };
        let mut spots = self.spots[spots.start as usize..spots.end as usize].iter();
        spots.find(|spot| spot.fabric == fabric && spot.edge != NOWHERE)
    }

    fn places_of(&self, host: HostId) -> &[Place] {
        let Range { start, end } = self.of_hosts[host as usize];
        &self.places[start as usize..end as usize]
    }

    /// Where a host is in a fabric, if it is there.
    fn place(&self, host: HostId, fabric: u32) -> Option<&Place> {
        self.places_of(host).iter().find(|place| place.fabric == fabric)
    }

    fn far_end(&self, node: u32, port: u32) -> (u32, u32) {
        self.far_ends[(self.first_links[node as usize] + port) as usize]
    }

    /// The first node of a host's paths that forwards: its switch, or the host itself where it has several links.
    fn start(&self, host: HostId) -> u32 {
        let is_itself = self.rows[host as usize].0 != NOWHERE || self.chooses(host);
        if is_itself { host } else { self.far_ends[self.first_links[host as usize] as usize].0 }
    }

    /// Whether any node has a choice.
    pub fn has_choice(&self) -> bool {
        self.fabrics.iter().any(Fabric::has_choice)
            || self.choosing().any(|host| self.choices(host).all().any(|(ports, _)| ports.len() > 1))
    }

    /// Whether a host compares fabrics.
    fn chooses(&self, host: HostId) -> bool {
        !self.choices.is_empty() && self.of_hosts[host as usize].len() > 1
    }

    fn choosing(&self) -> impl Iterator<Item = HostId> + '_ {
        (0..exact::<u32>(self.of_hosts.len())).filter(|&host| self.chooses(host))
    }

    fn choices(&self, host: HostId) -> &Choices {
        self.choices[host as usize].get_or_init(|| self.choose(host))
    }

    /// Compares the ways of a host to every other.
    fn choose(&self, src: HostId) -> Choices {
        let mut choices = Choices::new(self.classes.members.len());
        let mut ways = Vec::new();
        let fabrics = self.places_of(src).iter().filter_map(|place| self.classes.inside.get(&place.fabric));
        let inside: BTreeSet<HostId> = fabrics.flatten().copied().collect();
        for &dst in inside.iter().filter(|&&dst| dst != src) {
            self.find_ways(src, dst, &mut ways);
            choices.add_inside(dst, &mut ways);
        }
        for (class, members) in (0..).zip(&self.classes.members) {
            // Those outside are alike.
            if let Some(&dst) = members.iter().find(|&dst| *dst != src && !inside.contains(dst)) {
                self.find_ways(src, dst, &mut ways);
                choices.set_class(class, &mut ways);
            }
        }
        choices
    }

    /// All ways of a host to another, one by each fabric.
    fn find_ways(&self, src: HostId, dst: HostId, ways: &mut Vec<Way>) {
        ways.clear();
        for from in self.places_of(src).iter().filter(|place| place.is_left) {
            let Some(to) = self.place(dst, from.fabric).filter(|to| to.is_reached) else { continue };
            let fabric = &self.fabrics[from.fabric as usize];
            let length = fabric.length(from.edge, to.edge);
            if length.0 != NO_WAY {
                let row = self.rows[fabric.edges[from.edge as usize] as usize].1;
                ways.push(Way::between(from, to, length, fabric.ways(row, to.edge).1));
            }
        }
    }
}

impl Spot {
    fn of(place: &Place) -> Spot {
        let edge = if place.is_reached { place.edge } else { NOWHERE };
        Spot { fabric: place.fabric, edge, down: place.down }
    }
}

/// What a fabric is made of: the nodes that forward, and its edges, each with whether packets start there.
#[derive(Clone, Debug, Default)]
struct Members {
    nodes: Vec<u32>,
    edges: BTreeMap<u32, bool>,
}

/// For each switch, which of the parts it is in that links between switches join.
fn parts(wiring: &Wiring<'_>) -> Vec<u32> {
    let mut parts = vec![NOWHERE; wiring.topology.nodes.len()];
    let mut count = 0;
    for switch in wiring.topology.hosts..exact::<u32>(wiring.topology.nodes.len()) {
        if parts[switch as usize] != NOWHERE {
            continue;
        }
        parts[switch as usize] = count;
        let mut found = VecDeque::from([switch]);
        while let Some(node) = found.pop_front() {
            for next in wiring.ports(node).map(|link| wiring.far_node(link)) {
                if wiring.is_switch(next) && parts[next as usize] == NOWHERE {
                    parts[next as usize] = count;
                    found.push_back(next);
                }
            }
        }
        count += 1;
    }
    let hosts = wiring.topology.hosts as usize;
    parts[..hosts].fill(0);
    parts
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

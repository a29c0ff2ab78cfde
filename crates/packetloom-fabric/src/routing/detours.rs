//! Ways around links that switches know to be dead: which up ports still lead to a destination.
//!
//! Packets only go up and then down, so a switch above the destination has one way and no choice; below that, any up
//! port will do from whose far end the destination can be reached.

use crate::flow::HostId;
use crate::narrow::exact;
use crate::topology::shifted_earlier;
use crate::topology::{Routes, Topology};
use crate::units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The up ports, counted from 0, that lead to the hosts below an edge switch, where not all do.
type Ways = BTreeMap<u32, Box<[u32]>>;

/// What one switch knows, and from when.
#[derive(Clone, Debug)]
pub struct Detours {
    /// For each host, the edge switch above it.
    edges: Arc<[u32]>,
    known: Vec<(Time, Ways)>,
    /// Where addresses alone do not determine the way: the shortest paths that all switches know of.
    routes: Arc<[(Time, Arc<Routes>)]>,
}

impl Detours {
    /// What each node knows when it takes certain links for dead from certain times on.
    pub fn of(topology: &Topology, known_outages: &[(Time, BTreeSet<usize>)]) -> Vec<Detours> {
        let edge_of = |host: u32| topology.links[topology.nodes[host as usize].ports.start as usize].dst;
        let edges: Arc<[u32]> = (0..topology.hosts).map(edge_of).collect();
        let routes = routes_by_time(topology, known_outages);
        let is_table = !routes.is_empty();
        let fresh = Detours { edges, known: Vec::new(), routes };
        let mut detours = vec![fresh; topology.nodes.len()];
        if is_table {
            return detours;
        }
        for (at, dead) in known_outages {
            for (node, ways) in ways(topology, dead).into_iter().enumerate() {
                detours[node].known.push((*at, ways));
            }
        }
        detours
    }

    /// What is yet to be learned is learned sooner.
    pub(super) fn shift_earlier(&mut self, now: Time, by: Time) {
        self.known.iter_mut().for_each(|(at, _)| *at = shifted_earlier(*at, now, by));
    }

    /// The shortest paths from each time on.
    pub fn routes(&self) -> Arc<[(Time, Arc<Routes>)]> {
        Arc::clone(&self.routes)
    }

    /// The up ports that lead to a host at a time, where not all do.
    pub fn to(&self, host: HostId, now: Time) -> Option<&[u32]> {
        let (_, ways) = self.known.iter().rev().find(|(from, _)| *from <= now)?;
        ways.get(&self.edges[host as usize]).map(|ports| &ports[..])
    }
}

/// The whole network's shortest paths, then those that switches know of as they learn of dead links.
fn routes_by_time(
    topology: &Topology,
    known_outages: &[(Time, BTreeSet<usize>)],
) -> Arc<[(Time, Arc<Routes>)]> {
    let Some(whole) = topology.routes() else { return Arc::new([]) };
    let learned = known_outages.iter().map(|(at, dead)| (*at, Arc::new(Routes::of(topology, dead))));
    std::iter::once((Time::ZERO, Arc::clone(whole))).chain(learned).collect()
}

/// For each node the ways that differ from those of the whole network.
fn ways(topology: &Topology, dead: &BTreeSet<usize>) -> Vec<Ways> {
    let mut ways = vec![Ways::new(); topology.nodes.len()];
    if dead.is_empty() {
        return ways;
    }
    let edges = topology.hosts..exact::<u32>(topology.nodes.len());
    for edge in edges.filter(|&edge| topology.nodes[edge as usize].tier == 1) {
        let reaches = reaching(topology, dead, edge);
        for (node, up_ports) in climbing(topology, edge) {
            let leads = |port: &u32| {
                !dead.contains(&(*port as usize)) && reaches[topology.links[*port as usize].dst as usize]
            };
            let open: Box<[u32]> = up_ports.clone().filter(leads).map(|port| port - up_ports.start).collect();
            // Where nothing leads there any more, one way is as good as another.
            if !open.is_empty() && open.len() < up_ports.len() {
                ways[node as usize].insert(edge, open);
            }
        }
    }
    ways
}

/// Which nodes still reach the hosts below `edge`.
fn reaching(topology: &Topology, dead: &BTreeSet<usize>, edge: u32) -> Vec<bool> {
    let mut reaches = vec![false; topology.nodes.len()];
    let leads = |port: u32, reaches: &[bool]| {
        !dead.contains(&(port as usize)) && reaches[topology.links[port as usize].dst as usize]
    };
    let first_host = topology.nodes[edge as usize].reach.first_host;
    reaches[edge as usize] = true;
    // Switches are numbered from the edge inwards: a way down leads to smaller numbers, one up to greater ones.
    for node in edge + 1..exact::<u32>(topology.nodes.len()) {
        let at = &topology.nodes[node as usize];
        if first_host.wrapping_sub(at.reach.first_host) < at.reach.hosts && at.tier > 1 {
            reaches[node as usize] = leads(at.ports.start + at.reach.first_port_to(first_host), &reaches);
        }
    }
    for (node, up_ports) in climbing(topology, edge).rev() {
        reaches[node as usize] = up_ports.into_iter().any(|port| leads(port, &reaches));
    }
    reaches
}

/// The switches from which packets go up to reach the hosts below `edge`, in ascending order, with their up ports.
fn climbing(
    topology: &Topology,
    edge: u32,
) -> impl DoubleEndedIterator<Item = (u32, std::ops::Range<u32>)> + '_ {
    let first_host = topology.nodes[edge as usize].reach.first_host;
    (topology.hosts..exact::<u32>(topology.nodes.len())).filter_map(move |node| {
        let at = &topology.nodes[node as usize];
        let is_above = first_host.wrapping_sub(at.reach.first_host) < at.reach.hosts;
        (!is_above).then(|| (node, at.ports.start + at.reach.down_ports..at.ports.end))
    })
}

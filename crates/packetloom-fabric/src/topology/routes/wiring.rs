//! A network's links as searches for paths see them.

use crate::narrow::exact;
use crate::topology::{Link, Topology};
use crate::units::{Rate, Time};
use std::collections::BTreeSet;
use std::ops::Range;

/// Of equal paths, the one by which a packet of this size is there first counts as the best.
const USUAL_BYTES: u64 = 1_500;

/// All links, without those that are dead.
#[derive(Debug)]
pub(super) struct Wiring<'a> {
    pub(super) topology: &'a Topology,
    dead: &'a BTreeSet<usize>,
    /// For each link, the node at its far end, and the port there that leads back.
    pub(super) far_ends: Vec<(u32, u32)>,
}

impl Wiring<'_> {
    pub(super) fn of<'a>(topology: &'a Topology, dead: &'a BTreeSet<usize>) -> Wiring<'a> {
        Wiring { topology, dead, far_ends: far_ends(topology) }
    }

    /// A node's ports, as numbers of links.
    pub(super) fn ports(&self, node: u32) -> Range<u32> {
        self.topology.nodes[node as usize].ports.clone()
    }

    /// The node at a link's far end.
    pub(super) fn far_node(&self, link: u32) -> u32 {
        self.far_ends[link as usize].0
    }

    /// The link that leads back.
    pub(super) fn back(&self, link: u32) -> u32 {
        let (node, port) = self.far_ends[link as usize];
        self.ports(node).start + port
    }

    pub(super) fn is_open(&self, link: u32) -> bool {
        !self.dead.contains(&(link as usize))
    }

    pub(super) fn is_switch(&self, node: u32) -> bool {
        node >= self.topology.hosts
    }

    /// Whether a host has one link, to a switch.
    pub(super) fn is_single(&self, host: u32) -> bool {
        let ports = self.ports(host);
        ports.len() == 1 && self.is_switch(self.far_node(ports.start))
    }

    /// How many hops a link counts for.
    pub(super) fn length(&self, link: u32) -> u32 {
        self.topology.length(link)
    }

    pub(super) fn rate(&self, link: u32) -> Rate {
        self.topology.links[link as usize].rate
    }

    /// What a packet of the usual size takes on a link.
    pub(super) fn takes(&self, link: u32) -> Time {
        let Link { latency, rate, .. } = self.topology.links[link as usize];
        latency + rate.time_for(USUAL_BYTES)
    }
}

/// Parallel links pair up in order.
fn far_ends(topology: &Topology) -> Vec<(u32, u32)> {
    let links = &topology.links;
    let mut there: Vec<u32> = (0..exact::<u32>(links.len())).collect();
    let mut back = there.clone();
    there.sort_by_key(|&link| (links[link as usize].src, links[link as usize].dst));
    back.sort_by_key(|&link| (links[link as usize].dst, links[link as usize].src));
    let mut far_ends = vec![(0, 0); links.len()];
    for (&link, &back) in there.iter().zip(&back) {
        let (link, back_link) = (link as usize, &links[back as usize]);
        let leads_back = (back_link.src, back_link.dst) == (links[link].dst, links[link].src);
        assert!(leads_back, "every link has one that leads back");
        far_ends[link] = (back_link.src, back - topology.nodes[back_link.src as usize].ports.start);
    }
    far_ends
}

//! Shards without their transport. What is read of ports and switches between two windows is compiled once for each
//! packet format instead of once for each transport.

use super::PortRecords;
use super::agent::PortAgent;
use super::link_table::LinkTable;
use super::partition::FarEnd;
use super::port::{Port, PortCounters};
use super::switch::{Balance, Switch};
use crate::packet::{Ecn, Packet};
use crate::queue::{CLASSES, PauseRecord};
use crate::record::{Captured, QueueRecorder, Segment};
use crate::routing;
use crate::units::Time;
use std::collections::BTreeMap;
use std::ops::Range;

/// A shard's ports, switches and links.
pub(super) struct View<'a, H, A> {
    /// The hosts' NICs, then the switches' ports.
    pub(super) ports: Vec<&'a Port<H, A>>,
    /// The links that these send into, by their index in the topology.
    pub(super) links: &'a [u32],
    /// How many of the ports belong to hosts.
    pub(super) host_ports: usize,
    /// How many of the shard's nodes are hosts. They come before the switches.
    pub(super) hosts: u32,
    pub(super) switches: &'a [Switch],
    pub(super) link_table: &'a LinkTable<H>,
}

impl<'a, H, A> View<'a, H, A> {
    /// Each port with its link.
    pub(super) fn ports(&self) -> impl Iterator<Item = (&'a Port<H, A>, u32)> {
        self.ports.iter().copied().zip(self.links.iter().copied())
    }

    /// The links of a switch's ports, by their index in the topology.
    pub(super) fn links_out(&self, ports: Range<usize>) -> Range<usize> {
        let first = self.links[self.host_ports + ports.start] as usize;
        first..first + ports.len()
    }
}

/// What went through each port until `end`, in the order of the topology's links.
pub(super) fn counters<H: Copy + Default, A: PortAgent<H>>(
    views: &[View<'_, H, A>],
    far_ends: &[FarEnd],
    end: Time,
) -> Vec<PortCounters> {
    let on_links: Vec<_> = views.iter().map(|view| view.link_table.on_links()).collect();
    let mut all = vec![PortCounters::default(); far_ends.len()];
    for view in views {
        for (port, link) in view.ports() {
            let FarEnd { shard: far, node, link: number } = far_ends[link as usize];
            let on_link = on_links[far as usize].to((node, number)).iter();
            let on_link: Vec<_> = on_link.map(|&id| views[far as usize].link_table.packets.get(id)).collect();
            all[link as usize] = port.counters(end, &on_link, view.link_table);
        }
    }
    all
}

/// What is kept of each port until `end`, in the order of the topology's links. `queues` are the ports' queue
/// records.
pub(super) fn port_records<H: Copy + Default, A: PortAgent<H>>(
    views: &[View<'_, H, A>],
    queues: Vec<Vec<Option<QueueRecorder>>>,
    far_ends: &[FarEnd],
    end: Time,
) -> Vec<PortRecords> {
    let counters = counters(views, far_ends, end).into_iter();
    let mut rows: Vec<PortRecords> = counters.map(|counters| (counters, None, None)).collect();
    for (view, queues) in views.iter().zip(queues) {
        for ((port, link), queue) in view.ports().zip(queues) {
            let row = &mut rows[link as usize];
            (row.1, row.2) = (queue, port.sent(view.link_table).cloned());
        }
    }
    rows
}

/// What was captured until `end`, in the order of links. `segment` is [`super::Transport::segment`].
pub(super) fn captured<H: Copy + Default, A: PortAgent<H>>(
    views: &[View<'_, H, A>],
    end: Time,
    segment: fn(&Packet<H>) -> Segment,
) -> Vec<(usize, Vec<Captured>)> {
    let mut all = Vec::new();
    for view in views {
        for (port, link) in view.ports() {
            let packets = port.captured(end, view.link_table);
            let noted = |(at, packet): &(Time, Packet<H>)| note(*at, packet, segment(packet));
            all.extend(packets.map(|packets| (link as usize, packets.iter().map(noted).collect())));
        }
    }
    in_order_of_links(all)
}

/// Not generic, so that it is compiled once.
fn in_order_of_links(mut all: Vec<(usize, Vec<Captured>)>) -> Vec<(usize, Vec<Captured>)> {
    all.sort_by_key(|(link, _)| *link);
    all
}

/// A captured packet, for readers that do not know its transport.
fn note<H>(at: Time, packet: &Packet<H>, segment: Segment) -> Captured {
    Captured {
        at,
        flow: packet.flow,
        src: packet.src,
        dst: packet.dst,
        size_bytes: packet.size_bytes,
        kind: packet.kind,
        class: packet.class,
        ecn: match (packet.congestion_experienced, packet.ecn) {
            (true, _) => 3,
            (false, Ecn::Ect0) => 2,
            (false, Ecn::Ect1) => 1,
            (false, Ecn::NotCapable) => 0,
        },
        segment,
    }
}

/// The pauses of each port that can be paused, until `end`, in the order of the topology's links.
pub(super) fn pauses<H: Copy + Default, A: PortAgent<H>>(
    views: &[View<'_, H, A>],
    end: Time,
) -> Vec<(usize, [PauseRecord; CLASSES])> {
    let mut all = BTreeMap::new();
    for view in views {
        for (port, link) in view.ports() {
            if let Some(paused) = port.paused() {
                all.insert(link as usize, paused.records(end));
            }
        }
    }
    all.into_iter().collect()
}

/// What the balancers of all switches counted, by name.
pub(super) fn balancing<H, A>(views: &[View<'_, H, A>]) -> BTreeMap<&'static str, u64> {
    let switches = views.iter().flat_map(|view| view.switches);
    routing::together(switches.filter_map(Switch::balancing).flat_map(Balance::counts))
}

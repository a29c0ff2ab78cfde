//! Cycles of paused ports, each of which waits for the next, so that no packet ever moves again (Hu et al.,
//! "Deadlocks in datacenter networks", HotNets 2016).

use super::partition::FarEnd;
use super::view::View;
use super::{Port, PortAgent};
use crate::flow::FlowId;
use crate::narrow::narrow;
use crate::packets::Packets;
use crate::queue::{CLASSES, Holds, charged_class};
use std::collections::{BTreeMap, BTreeSet};

/// A port, by its link in the topology, and a class.
pub type PausedPort = (u32, u8);

/// Paused ports of which each waits for the next, and the last for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseCycle {
    /// The ports.
    pub ports: Vec<PausedPort>,
    /// The flows whose packets wait there.
    pub flows: BTreeSet<FlowId>,
}

/// What was found of all ports.
#[derive(Default)]
struct Found {
    paused: BTreeSet<PausedPort>,
    /// For each link into a switch (its shard, its index there, the link's number) and class: the ports where
    /// packets wait that came by it.
    waits_at: BTreeMap<(FarEnd, u8), BTreeSet<PausedPort>>,
    /// The flows that wait at each port.
    flows: BTreeMap<PausedPort, BTreeSet<FlowId>>,
}

impl Found {
    fn look_at<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        link: u32,
        port: &Port<H, A>,
        packets: &Packets<H>,
        into: impl Fn(u32) -> FarEnd,
    ) {
        self.note_paused(link, port);
        let Some(buffer) = port.buffer().filter(|_| port.paused().is_some()) else { return };
        for id in buffer.packets(packets) {
            let packet = packets.get(id);
            let Some(class) = charged_class(packet) else { continue };
            self.waits_at.entry((into(packets.ingress(id)), class)).or_default().insert((link, class));
            self.flows.entry((link, class)).or_default().insert(packet.flow);
        }
    }

    fn note_paused<H: Copy + Default, A: PortAgent<H>>(&mut self, link: u32, port: &Port<H, A>) {
        let Some(paused) = port.paused() else { return };
        let classes = (0..narrow::<u8>(CLASSES)).filter(|&class| paused.has(class));
        self.paused.extend(classes.map(|class| (link, class)));
    }

    /// The paused ports that will never be resumed: whatever they wait for waits at others of them.
    fn stuck(&self, far_ends: &[FarEnd]) -> BTreeSet<PausedPort> {
        let mut stuck = self.paused.clone();
        loop {
            let is_stuck = |&(link, class): &PausedPort| {
                let for_what = self.waits_at.get(&(far_ends[link as usize], class));
                for_what.is_some_and(|ports| ports.is_subset(&stuck))
            };
            let still: BTreeSet<PausedPort> = stuck.iter().copied().filter(is_stuck).collect();
            if still.len() == stuck.len() {
                return still;
            }
            stuck = still;
        }
    }

    fn cycle(&self, far_ends: &[FarEnd]) -> Option<PauseCycle> {
        let stuck = self.stuck(far_ends);
        let mut way = vec![*stuck.first()?];
        loop {
            let (link, class) = *way.last()?;
            let next = *self.waits_at.get(&(far_ends[link as usize], class))?.first()?;
            if let Some(first) = way.iter().position(|port| *port == next) {
                let ports = way.split_off(first);
                let flows = ports.iter().filter_map(|port| self.flows.get(port)).flatten().copied().collect();
                return Some(PauseCycle { ports, flows });
            }
            way.push(next);
        }
    }
}

/// See [`super::AnyEngine::pause_cycle`].
pub(super) fn find<H: Copy + Default, A: PortAgent<H>>(
    views: &[View<'_, H, A>],
    far_ends: &[FarEnd],
) -> Option<PauseCycle> {
    let mut found = Found::default();
    for (number, view) in (0..).zip(views) {
        for (nth, switch) in (view.hosts..).zip(view.switches) {
            for port in switch.ports().map(|port| view.host_ports + port) {
                let into = |link| FarEnd { shard: number, node: nth, link };
                found.look_at(view.links[port], view.ports[port], &view.link_table.packets, into);
            }
        }
        // A host's own packets came by no link; what it waits for is found by what it sends into.
        for (port, link) in view.ports().take(view.host_ports) {
            found.note_paused(link, port);
        }
    }
    found.cycle(far_ends)
}

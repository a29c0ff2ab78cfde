//! All links that a shard's ports send into: the only way from one node to another.

use super::arrival::{self, Arrival};
use super::calendar::Calendar;
use super::partition::FarEnd;
use crate::fault::LinkFault;
use crate::measure::SentRecorder;
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::units::Time;

/// The links' far ends in a shard, what is on the links, and the calendar that says when it arrives.
#[derive(Clone, Debug)]
pub struct Wires<H> {
    /// What is on the links.
    pub packets: Packets<H>,
    /// Who has something to do.
    pub calendar: Calendar,
    /// The node, hosts first, that each slot belongs to.
    pub(super) owners: Vec<u32>,
    /// Links that end elsewhere, are faulty or are watched. Ports know them by numbers that follow those of the slots, so that
    /// other links need not ask whether they are among them.
    special: Vec<Special<H>>,
    /// What goes to each shard, in the order in which it was sent.
    pub(super) outboxes: Vec<Vec<Crossing<H>>>,
    /// The earliest arrival among that.
    pub(super) earliest_crossing: Time,
    /// What was put onto audited links since it was last taken.
    pub(super) audited: Vec<Put<H>>,
}

/// A packet on its way to a slot of another shard.
pub(super) type Crossing<H> = (u32, Packet<H>);

#[derive(Clone, Debug)]
enum Special<H> {
    /// Its far end is in another shard.
    Crossing(FarEnd),
    /// Packets on it are kept, with when they start; they go on by the link of this number.
    Captured(u32, Vec<(Time, Packet<H>)>),
    /// It may lose packets or be slow; those that get through go on by the link of this number.
    Faulty(u32, Box<LinkFault>),
    /// What is put onto it is noted, and goes on by the link of this number.
    Watched(u32, Box<SentRecorder>),
    /// The laws are checked on what goes by the link of the first number; the network knows it by the second.
    Audited(u32, u32),
}

/// A packet that was put onto a link, as the laws are checked on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Put<H> {
    /// The link, in the topology.
    pub(super) link: u32,
    pub(super) start: Time,
    /// How much longer than usual it takes.
    pub(super) delay: Time,
    /// As it was put: its time is that of its arrival, if it takes as long as usual.
    pub(super) packet: Packet<H>,
}

impl<H: Copy + Default> Wires<H> {
    /// Links at rest, all as they should be, in one of so many shards.
    pub(super) fn new(owners: Vec<u32>, shards: usize, calendar: Calendar) -> Wires<H> {
        Wires {
            packets: Packets::default(),
            calendar,
            owners,
            special: Vec::new(),
            outboxes: vec![Vec::new(); shards],
            earliest_crossing: Time::NEVER,
            audited: Vec::new(),
        }
    }

    /// Puts a packet on the link that ports know by this number, at `start`; its `time` says when it arrives, if its
    /// `bytes` on the link take as long as `usual`. Returns how much longer they take.
    #[inline(always)]
    pub fn carry(&mut self, link: u32, start: Time, bytes: u64, usual: Time, id: PacketId) -> Time {
        match self.owners.get(link as usize) {
            Some(&node) => {
                let at = self.packets.get(id).time;
                self.calendar.deliver((node, link), at, id, &mut self.packets);
                Time::ZERO
            }
            None => self.carry_specially(link, start, bytes, usual, id),
        }
    }

    #[inline(never)]
    fn carry_specially(&mut self, link: u32, start: Time, bytes: u64, usual: Time, id: PacketId) -> Time {
        let packet = self.packets.get_mut(id);
        match &mut self.special[link as usize - self.owners.len()] {
            Special::Crossing(end) => {
                self.earliest_crossing = self.earliest_crossing.min(packet.time);
                self.outboxes[end.shard as usize].push((end.slot, self.packets.take(id)));
                Time::ZERO
            }
            Special::Captured(beyond, packets) => {
                packets.push((start, *packet));
                let beyond = *beyond;
                self.carry(beyond, start, bytes, usual, id)
            }
            Special::Faulty(beyond, fault) => {
                let delay = fault.slow_down((start, packet.time), bytes, usual);
                packet.time += delay;
                if fault.lets_through(start, packet.time, packet.size_bytes) {
                    let beyond = *beyond;
                    self.carry(beyond, start, bytes, usual, id);
                } else {
                    self.packets.take(id);
                }
                delay
            }
            Special::Watched(beyond, sent) => {
                let class = (packet.kind == Kind::Data).then_some(packet.class);
                sent.note(start, packet.size_bytes, class);
                let beyond = *beyond;
                self.carry(beyond, start, bytes, usual, id)
            }
            Special::Audited(beyond, link) => {
                let (beyond, link, packet) = (*beyond, *link, *packet);
                let delay = self.carry(beyond, start, bytes, usual, id);
                self.audited.push(Put { link, start, delay, packet });
                delay
            }
        }
    }

    /// Takes what other shards sent here.
    pub(super) fn take_in(&mut self, crossings: &mut Vec<Crossing<H>>) {
        for (slot, packet) in crossings.drain(..) {
            let node = self.owners[slot as usize];
            let id = self.packets.add(packet);
            self.calendar.deliver((node, slot), packet.time, id, &mut self.packets);
        }
    }

    /// The number by which a port of this shard is to know a link that ends in another.
    pub(super) fn add_crossing(&mut self, end: FarEnd) -> u32 {
        self.add_special(Special::Crossing(end))
    }

    /// Makes the link of this number a faulty one; returns the number by which its port is to know it.
    pub(super) fn add_fault(&mut self, link: u32, fault: LinkFault) -> u32 {
        self.add_special(Special::Faulty(link, Box::new(fault)))
    }

    /// Has what goes over the link of this number kept; returns the number by which its port is to know it.
    pub(super) fn add_capture(&mut self, link: u32) -> u32 {
        self.add_special(Special::Captured(link, Vec::new()))
    }

    /// Has what is put onto the link of this number noted; returns the number by which its port is to know it.
    pub(super) fn watch(&mut self, link: u32, sent: SentRecorder) -> u32 {
        self.add_special(Special::Watched(link, Box::new(sent)))
    }

    /// Has the laws checked on the link of this number, which the network knows by another; returns the number by which its
    /// port is to know it. Nothing may be added on top of this.
    pub(super) fn audit(&mut self, number: u32, link: u32) -> u32 {
        self.add_special(Special::Audited(number, link))
    }

    fn special(&self, link: u32) -> Option<&Special<H>> {
        self.special.get((link as usize).checked_sub(self.owners.len())?)
    }

    fn add_special(&mut self, special: Special<H>) -> u32 {
        self.special.push(special);
        (self.owners.len() + self.special.len() - 1) as u32
    }

    /// What is wrong with the link that a port knows by this number, if anything.
    pub(super) fn fault(&self, link: u32) -> Option<&LinkFault> {
        match self.special(link)? {
            Special::Faulty(_, fault) => Some(fault),
            Special::Watched(beyond, _) | Special::Captured(beyond, _) | Special::Audited(beyond, _) => {
                self.fault(*beyond)
            }
            Special::Crossing(_) => None,
        }
    }

    /// What went over the link that a port knows by this number, and when it started, if that was kept.
    pub(super) fn captured(&self, link: u32) -> Option<&[(Time, Packet<H>)]> {
        match self.special(link)? {
            Special::Captured(_, packets) => Some(packets),
            Special::Watched(beyond, _) | Special::Faulty(beyond, _) | Special::Audited(beyond, _) => {
                self.captured(*beyond)
            }
            Special::Crossing(_) => None,
        }
    }

    /// What was put onto the link that a port knows by this number, if it is watched.
    pub(super) fn sent(&self, link: u32) -> Option<&SentRecorder> {
        match self.special(link)? {
            Special::Watched(_, sent) => Some(sent),
            Special::Audited(beyond, _) => self.sent(*beyond),
            _ => None,
        }
    }

    /// Lists what arrives at a node in the window that starts at `start`, before `end`, the last first, by time, then link; the
    /// node's links end at `first_slot` and the slots after it.
    #[inline]
    pub(super) fn take_arrivals(
        &mut self,
        node: u32,
        first_slot: u32,
        (start, end): (Time, Time),
        arrivals: &mut Vec<Arrival>,
    ) {
        let list = self.calendar.take_arriving(node);
        arrivals.clear();
        let on_list = self.packets.list(list).filter(|(.., packet)| packet.time < end);
        arrivals.extend(
            on_list.map(|(id, slot, packet)| Arrival::new(start, packet.time, slot - first_slot, id)),
        );
        arrival::sort(arrivals);
    }

    /// For each slot, the packets on its link, the earliest first.
    pub(super) fn on_links(&self) -> Vec<Vec<&Packet<H>>> {
        let mut links = vec![Vec::new(); self.owners.len()];
        for (slot, packet) in self.packets.on_links() {
            links[slot as usize].push(packet);
        }
        for link in &mut links {
            link.sort_unstable_by_key(|packet| packet.time);
        }
        links
    }
}

//! All links that a shard's ports send into: the only way from one node to another.

use super::calendar::Calendar;
use super::partition::FarEnd;
use crate::fault::LinkFault;
use crate::link_message::LinkMessage;
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::packet_tag::{Stamp, Tag};
use crate::packets::{PacketId, Packets};
use crate::record::{Numbers, SentRecorder};
use crate::units::{Rate, Time};
use std::collections::BTreeMap;

/// Where a link leads, as its port has it: a node of the same shard, hosts first, and the link's number among those
/// into it; or the number of a special link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEnd {
    node: u32,
    link: u32,
}

impl LinkEnd {
    /// No node, but a special link.
    const SPECIAL: u32 = u32::MAX;

    /// The far end of a link within a shard.
    pub(super) fn at(node: u32, link: u32) -> LinkEnd {
        LinkEnd { node, link }
    }
}

/// The packets on a shard's links, and the calendar of their arrivals.
#[derive(Clone, Debug)]
pub struct LinkTable<H> {
    /// What is on the links, and what waits for them.
    pub packets: Packets<H>,
    /// Which nodes have something to do.
    pub calendar: Calendar,
    /// Links that end elsewhere, are faulty or are observed.
    special: Vec<Special<H>>,
    /// What goes to each shard, in the order in which it was sent.
    pub(super) outboxes: Vec<Outbox<H>>,
    /// The earliest arrival among that.
    pub(super) earliest_crossing: Time,
    /// What was put onto audited links since it was last taken.
    pub(super) audited: Vec<Put<H>>,
    /// Where it is measured in which order packets arrive: numbers for what the hosts here send.
    pub(super) numbers: Option<Box<Numbers>>,
    /// Whether the network counts whole nanoseconds.
    pub(super) whole_ns: bool,
}

/// What goes to another shard.
#[derive(Clone, Debug)]
pub(super) struct Outbox<H> {
    /// Each packet with its node there, and that one's link.
    packets: Vec<((u32, u32), Packet<H>)>,
    /// Their tags, where packets have any.
    tags: Vec<Tag>,
}

impl<H> Default for Outbox<H> {
    fn default() -> Outbox<H> {
        Outbox { packets: Vec::new(), tags: Vec::new() }
    }
}

#[derive(Clone, Debug)]
enum Special<H> {
    /// Its far end is in another shard.
    Crossing(FarEnd),
    /// Packets on it are kept, with when they start; they go on by the link to this end.
    Captured(LinkEnd, Vec<(Time, Packet<H>)>),
    /// It may lose packets or be slow; those that get through go on by the link to this end.
    Faulty(LinkEnd, Box<LinkFault>),
    /// What is put onto it is noted, and goes on by the link to this end.
    Watched(LinkEnd, Box<SentRecorder>),
    /// The audit sees what goes by the link to this end, which the network knows by this number.
    Audited(LinkEnd, u32),
}

/// A packet that was put onto a link, as the audit sees it.
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

impl<H: Copy + Default> LinkTable<H> {
    /// Links at rest, all as they should be, in one of so many shards.
    pub(super) fn new(shards: usize, calendar: Calendar) -> LinkTable<H> {
        LinkTable {
            packets: Packets::default(),
            calendar,
            special: Vec::new(),
            outboxes: (0..shards).map(|_| Outbox::default()).collect(),
            earliest_crossing: Time::NEVER,
            audited: Vec::new(),
            numbers: None,
            whole_ns: false,
        }
    }

    /// Gives a packet that a host sends a tag of its own, where packets have any.
    #[inline(always)]
    pub(super) fn tag(&mut self, id: PacketId) {
        if self.packets.is_tagged() {
            self.tag_anew(id);
        }
    }

    #[cold]
    #[inline(never)]
    fn tag_anew(&mut self, id: PacketId) {
        let Packet { kind, flow, .. } = *self.packets.get(id);
        let number = match &mut self.numbers {
            Some(numbers) if kind == Kind::Data => numbers.next(flow),
            _ => 0,
        };
        self.packets.set_tag(id, Tag { stamp: Stamp { number, way: 0 }, ..Tag::default() });
    }

    /// Has a node that a pause came to, over a link of this rate, reminded of its end, if it has one.
    pub(super) fn remind_of_end(&mut self, end: (u32, u32), now: Time, message: LinkMessage, rate: Rate) {
        if let (LinkMessage::Pause { class, .. }, Some(lasts)) = (message, message.pause_lasts(rate)) {
            self.remind(end, now + lasts, LinkMessage::PauseOver { class });
        }
    }

    /// Has a node reminded of something at a time, which is not in the window that is being processed: as a message
    /// that seems to come by one of its links.
    pub(super) fn remind(&mut self, (node, link): (u32, u32), at: Time, message: LinkMessage) {
        let id = self.packets.add(Packet { time: at, ..message.packet(0) });
        self.calendar.deliver((node, link), at, id);
    }

    /// Puts a packet on the link to this end, with when it starts and when it arrives, if its `bytes` on the link
    /// take as long as `usual`. Returns how much longer they take.
    #[inline(always)]
    pub fn carry(
        &mut self,
        end: LinkEnd,
        times: (Time, Time),
        bytes: u64,
        usual: Time,
        id: PacketId,
    ) -> Time {
        if end.node == LinkEnd::SPECIAL {
            return self.carry_specially(end.link, times, bytes, usual, id);
        }
        self.calendar.deliver((end.node, end.link), times.1, id);
        Time::ZERO
    }

    #[inline(never)]
    fn carry_specially(
        &mut self,
        link: u32,
        (start, at): (Time, Time),
        bytes: u64,
        usual: Time,
        id: PacketId,
    ) -> Time {
        let packet = self.packets.get_mut(id);
        match &mut self.special[link as usize] {
            Special::Crossing(end) => {
                self.earliest_crossing = self.earliest_crossing.min(at);
                let outbox = &mut self.outboxes[end.shard as usize];
                if self.packets.is_tagged() {
                    outbox.tags.push(self.packets.tag(id));
                }
                outbox.packets.push(((end.node, end.link), self.packets.take(id)));
                Time::ZERO
            }
            Special::Captured(beyond, packets) => {
                packets.push((start, *packet));
                let beyond = *beyond;
                self.carry(beyond, (start, at), bytes, usual, id)
            }
            Special::Faulty(beyond, fault) => {
                let (delay, gets_through) = fault.carry((start, at), (bytes, packet.size_bytes), usual);
                packet.time += delay;
                let late = packet.time;
                if gets_through {
                    let beyond = *beyond;
                    self.carry(beyond, (start, late), bytes, usual, id);
                } else {
                    self.packets.take(id);
                }
                delay
            }
            Special::Watched(beyond, sent) => {
                let class = (packet.kind == Kind::Data).then_some(packet.class);
                sent.note(start, packet.size_bytes, class);
                let beyond = *beyond;
                self.carry(beyond, (start, at), bytes, usual, id)
            }
            Special::Audited(beyond, link) => {
                let (beyond, link, packet) = (*beyond, *link, *packet);
                let delay = self.carry(beyond, (start, at), bytes, usual, id);
                self.audited.push(Put { link, start, delay, packet });
                delay
            }
        }
    }

    /// Takes what other shards sent here.
    pub(super) fn take_in(&mut self, crossings: &mut Outbox<H>) {
        let mut tags = crossings.tags.drain(..);
        for (end, packet) in crossings.packets.drain(..) {
            let id = self.packets.add(packet);
            if let Some(tag) = tags.next() {
                self.packets.set_tag(id, tag);
            }
            self.calendar.deliver(end, packet.time, id);
        }
    }

    /// The end of a link that leads to another shard, for its port.
    pub(super) fn add_crossing(&mut self, end: FarEnd) -> LinkEnd {
        self.add_special(Special::Crossing(end))
    }

    /// Makes the link to this end a faulty one; returns the end for its port.
    pub(super) fn add_fault(&mut self, end: LinkEnd, fault: LinkFault) -> LinkEnd {
        self.add_special(Special::Faulty(end, Box::new(fault)))
    }

    /// Has what goes over the link to this end kept; returns the end for its port.
    pub(super) fn add_capture(&mut self, end: LinkEnd) -> LinkEnd {
        self.add_special(Special::Captured(end, Vec::new()))
    }

    /// Has what is put onto the link to this end noted; returns the end for its port.
    pub(super) fn watch(&mut self, end: LinkEnd, sent: SentRecorder) -> LinkEnd {
        self.add_special(Special::Watched(end, Box::new(sent)))
    }

    /// Has the link to this end audited, which the network knows by a number; returns the end for its port. Nothing
    /// may be added on top of this.
    pub(super) fn audit(&mut self, end: LinkEnd, link: u32) -> LinkEnd {
        self.add_special(Special::Audited(end, link))
    }

    fn special(&self, end: LinkEnd) -> Option<&Special<H>> {
        (end.node == LinkEnd::SPECIAL).then(|| &self.special[end.link as usize])
    }

    fn add_special(&mut self, special: Special<H>) -> LinkEnd {
        self.special.push(special);
        LinkEnd { node: LinkEnd::SPECIAL, link: narrow::<u32>(self.special.len()) - 1 }
    }

    /// What is wrong with the link to this end, if anything.
    pub(super) fn fault(&self, end: LinkEnd) -> Option<&LinkFault> {
        match self.special(end)? {
            Special::Faulty(_, fault) => Some(fault),
            Special::Watched(beyond, _) | Special::Captured(beyond, _) | Special::Audited(beyond, _) => {
                self.fault(*beyond)
            }
            Special::Crossing(_) => None,
        }
    }

    /// What has yet to happen to links comes sooner.
    pub(super) fn shift_earlier(&mut self, now: Time, by: Time) {
        for special in &mut self.special {
            if let Special::Faulty(_, fault) = special {
                fault.shift_earlier(now, by);
            }
        }
    }

    /// What went over the link to this end, and when it started, if that was kept.
    pub(super) fn captured(&self, end: LinkEnd) -> Option<&[(Time, Packet<H>)]> {
        match self.special(end)? {
            Special::Captured(_, packets) => Some(packets),
            Special::Watched(beyond, _) | Special::Faulty(beyond, _) | Special::Audited(beyond, _) => {
                self.captured(*beyond)
            }
            Special::Crossing(_) => None,
        }
    }

    /// What was put onto the link to this end, if it is observed.
    pub(super) fn sent(&self, end: LinkEnd) -> Option<&SentRecorder> {
        match self.special(end)? {
            Special::Watched(_, sent) => Some(sent),
            Special::Audited(beyond, _) => self.sent(*beyond),
            _ => None,
        }
    }

    /// When the last packet arrives that is on a link.
    pub(super) fn last_arrival(&self) -> Option<Time> {
        let packets = self.calendar.on_links().map(|(_, id)| self.packets.get(id));
        packets.filter(|packet| !LinkMessage::is_reminder(packet)).map(|packet| packet.time).max()
    }

    /// The packets on each link with any.
    pub(super) fn on_links(&self) -> OnLinks {
        let mut found = Vec::new();
        for (end, id) in self.calendar.on_links() {
            let packet = self.packets.get(id);
            if !LinkMessage::is_reminder(packet) {
                found.push((end, packet.time, id));
            }
        }
        OnLinks::new(found)
    }
}

/// The packets on each link with any, the earliest first; by the node that the link leads to, and its number there.
pub(super) struct OnLinks(BTreeMap<(u32, u32), Vec<PacketId>>);

impl OnLinks {
    fn new(mut found: Vec<((u32, u32), Time, PacketId)>) -> OnLinks {
        found.sort_by_key(|&(end, time, _)| (end, time));
        let mut links: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (end, _, id) in found {
            links.entry(end).or_default().push(id);
        }
        OnLinks(links)
    }

    /// Those on one link.
    pub(super) fn to(&self, end: (u32, u32)) -> &[PacketId] {
        self.0.get(&end).map_or(&[][..], Vec::as_slice)
    }
}

//! A port of a switch with a shared buffer, or the NIC of a host beside it: classes of which paused ones wait.

use super::next_in_turn;
use super::thresholds::Thresholds;
use crate::link_message::LinkMessage;
use crate::narrow::narrow;
use crate::packet::Kind;
use crate::packets::{PacketId, Packets};
use crate::prefetch::prefetch_lines;
use crate::queue::admission::Marking;
use crate::queue::flow_control::{CLASSES, CONTROL, PausedClasses, class_in, departure};
use crate::queue::list::List;
use crate::queue::{Counts, Departure, Env, Holds, Joined, Occupancy, Opening, Site};
use crate::random::Stream;
use crate::units::Time;

/// The port's packets.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct SharedPort {
    /// What the far end of the link has paused.
    paused: PausedClasses,
    /// The classes that have packets, a bit for each.
    waiting: u8,
    /// The class that was served last, of those that take turns.
    served: u32,
    /// PAUSE and RESUME frames: they go before all else, and wait for nothing but the frame in service.
    frames: List,
    /// What waits altogether.
    queued: Occupancy,
    last: Option<Departure>,
    classes: [List; CLASSES],
    marking: Marking,
    has_planned_order: bool,
    ecn: Option<Thresholds>,
}

impl SharedPort {
    /// An empty port that marks nothing until it is placed.
    pub(super) fn build(has_planned_order: bool, ecn: Option<Thresholds>) -> SharedPort {
        SharedPort {
            paused: PausedClasses::default(),
            waiting: 0,
            served: 0,
            frames: List::default(),
            queued: Occupancy::default(),
            last: None,
            classes: Default::default(),
            marking: Marking::Never,
            has_planned_order,
            ecn,
        }
    }

    /// Marks from now on as another port does.
    pub(in crate::queue) fn mark_by(&mut self, other: &SharedPort) {
        (self.marking, self.ecn) = (other.marking, other.ecn);
    }

    /// The class to serve: the control class first, of the others the next in turn that has packets and is not
    /// paused.
    fn next(&self) -> Option<usize> {
        next_in_turn(self.waiting & !self.paused.bits(), self.served)
    }

    /// Takes a packet in.
    pub(in crate::queue) fn push_back<H: Copy + Default>(&mut self, id: PacketId, packets: &mut Packets<H>) {
        let packet = packets.get(id);
        self.queued.add(packet.size_bytes);
        if packet.kind == Kind::Link {
            return self.frames.push_back(id, packets);
        }
        let class = class_in(packet.class);
        self.waiting |= 1 << class;
        self.classes[class].push_back(id, packets);
    }

    /// The packet that goes next, if one may; `beside`: what waits of a class elsewhere, and counts for its marks.
    pub(in crate::queue) fn pop_next<H: Copy + Default>(
        &mut self,
        packets: &mut Packets<H>,
        (random, counts): (&mut Stream, &mut Counts),
        beside: impl Fn(usize) -> Occupancy,
    ) -> Option<PacketId> {
        self.last = None;
        if let Some(frame) = self.frames.pop_front(packets) {
            self.queued.remove(packets.get(frame).size_bytes);
            return Some(frame);
        }
        let class = self.next()?;
        let id = self.classes[class].pop_front(packets)?;
        self.queued.remove(packets.get(id).size_bytes);
        let left = self.classes[class].queued();
        self.waiting &= !(u8::from(left.packets == 0) << class);
        // Buffers are deep here: what came long ago is in no cache. (Where nothing is left this has no effect.)
        self.classes[class].prefetch_first(packets);
        if class != usize::from(CONTROL) {
            self.served = narrow::<u32>(class);
        }
        self.last = departure(id, packets);
        let packet = packets.get_mut(id);
        if self.last.is_some() && self.marking.marks(left + beside(class), random) && packet.is_ecn_capable()
        {
            packet.congestion_experienced = true;
            counts.marks += 1;
        }
        Some(id)
    }
}

/// So many cache lines of it are read and changed when a packet is queued or sent.
const BUSY_LINES: usize = 4;

impl Holds for SharedPort {
    #[inline(always)]
    fn prefetch_state(&self) {
        prefetch_lines(self, BUSY_LINES);
    }

    // It always fits: the switch's memory manager has admitted it, and a host has no limit.
    #[inline(always)]
    fn put<H: Copy + Default>(&mut self, id: PacketId, _: Option<Opening>, env: &mut Env<'_, H>) -> Joined {
        self.push_back(id, env.packets);
        Joined::Waits
    }

    #[inline(always)]
    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        self.pop_next(env.packets, (env.random, env.counts), |_| Occupancy::default())
    }

    #[inline]
    fn prefetch<H: Copy + Default>(&self, packets: &Packets<H>) {
        if let Some(class) = self.next() {
            self.classes[class].prefetch(packets);
        }
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> impl Iterator<Item = PacketId> + 'a {
        let classes = self.classes.iter().flat_map(|class| class.iter(packets));
        self.frames.iter(packets).chain(classes)
    }

    #[inline]
    fn queued(&self) -> Occupancy {
        self.queued
    }

    #[inline]
    fn unbooked(&self) -> Occupancy {
        if self.paused.bits() == 0 {
            return self.queued;
        }
        let may_go = |class: &usize| self.paused.bits() >> class & 1 == 0;
        let classes = (0..CLASSES).filter(may_go).map(|class| self.classes[class].queued());
        classes.fold(self.frames.queued(), |all, class| all + class)
    }

    #[inline]
    fn is_ready(&self) -> bool {
        self.waiting & !self.paused.bits() != 0 || !self.frames.is_empty()
    }

    fn classes(&self, mut visit: impl FnMut(usize, u64, Option<u64>)) {
        for (number, class) in self.classes.iter().enumerate() {
            visit(number, class.queued().bytes, None);
        }
    }

    fn holds_back(&self) -> bool {
        true
    }

    fn joins_first(&self) -> bool {
        true
    }

    fn place(&mut self, site: Site) {
        self.paused.place(&site);
        if let Some(ecn) = self.ecn.filter(|_| site.is_switch) {
            self.marking = ecn.at(&site);
        }
    }

    #[inline]
    fn paused(&self) -> Option<&PausedClasses> {
        Some(&self.paused)
    }

    // In a planned order whatever arrives comes before the end of a packet at the same instant.
    #[inline]
    fn lets_pass_unseen(&self, class: Option<u8>, was_just_taken: bool) -> bool {
        !(was_just_taken && self.has_planned_order) && class.is_none_or(|class| !self.paused.has(class))
    }

    #[inline]
    fn class_bytes(&self, class: u8) -> u64 {
        self.classes[class_in(class)].queued().bytes
    }

    fn give_up<H: Copy + Default>(&mut self, class: u8, env: &mut Env<'_, H>) -> Vec<PacketId> {
        self.paused.give_up(class);
        let class = class_in(class);
        self.waiting &= !(1 << class);
        let given_up: Vec<PacketId> =
            std::iter::from_fn(|| self.classes[class].pop_front(env.packets)).collect();
        given_up.iter().for_each(|&id| self.queued.remove(env.packets.get(id).size_bytes));
        given_up
    }

    fn receive_message(&mut self, now: Time, message: LinkMessage) {
        self.paused.receive(now, message);
    }

    #[inline]
    fn departure(&self) -> Option<Departure> {
        self.last
    }
}

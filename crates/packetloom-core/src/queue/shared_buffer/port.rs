//! A port of a switch with a shared buffer, or the NIC of a host beside it: classes of which paused ones wait.

use super::thresholds::Thresholds;
use super::{CLASSES, CONTROL, charged_class, class_in, next_in_turn};
use crate::link_message::{LinkMessage, PauseOrigin};
use crate::narrow::narrow;
use crate::packet::Kind;
use crate::packets::{PacketId, Packets};
use crate::queue::admission::Marking;
use crate::queue::list::List;
use crate::queue::{Counts, Departure, Env, Holds, Joined, Occupancy, Opening, Site};
use crate::random::Stream;
use crate::spec::Values;
use crate::units::{Rate, Time};

/// What was paused of a class at the end of a link that sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PauseRecord {
    /// How often it was paused; what only prolongs a pause does not count.
    pub pauses: u64,
    /// For how long.
    pub paused: Time,
    /// Since when it is, if it is, and where that began.
    since: Option<(Time, PauseOrigin)>,
    /// Each pause that is over, if pauses are recorded; else the last ones, for [`PauseRecord::cut`].
    pub each: Vec<Pause>,
}

/// So many are kept where pauses are not recorded: more than begin after the last flow ended.
const LAST: usize = 32;

/// A pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// From when on.
    pub from: Time,
    /// Until when.
    pub until: Time,
    /// Where it began.
    pub origin: PauseOrigin,
}

impl PauseRecord {
    fn begin(&mut self, now: Time, origin: PauseOrigin) {
        if self.since.is_none() {
            self.since = Some((now, origin));
            self.pauses += 1;
        }
    }

    fn end(&mut self, now: Time, logs: bool) {
        if let Some((from, origin)) = self.since.take() {
            self.paused += now.since(from);
            if !logs && self.each.len() == 2 * LAST {
                self.each.drain(..LAST);
            }
            self.each.push(Pause { from, until: now, origin });
        }
    }

    /// What was paused until `end`; what is paused then is taken to end there. Packets may move, and pause each
    /// other, after the last flow ended.
    fn cut(mut self, end: Time, logs: bool) -> PauseRecord {
        // Once paused, and not before, so that there is one to take off.
        self.end(end, logs);
        while let Some(last) = self.each.last_mut().filter(|last| last.until >= end) {
            self.paused = self.paused - last.until.since(end.max(last.from));
            last.until = end;
            if last.from < end {
                break;
            }
            self.pauses -= 1;
            self.each.pop();
        }
        if !logs {
            self.each = Vec::new();
        }
        self
    }
}

/// The port's packets.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct SharedPort {
    /// The classes that have packets, those that are paused, and those that the watchdog has given up until they
    /// are resumed: a bit for each.
    waiting: u8,
    paused: u8,
    given_up: u8,
    /// The class that was served last, of those that take turns.
    served: u32,
    /// PAUSE and RESUME frames: they go before all else, and wait for nothing but the frame in service.
    frames: List,
    last: Option<Departure>,
    classes: [List; CLASSES],
    marking: Marking,
    has_planned_order: bool,
    pauses: Box<Pauses>,
}

/// What is only looked at where something is paused.
#[derive(Clone, Debug)]
struct Pauses {
    /// Until when each class is paused.
    until: [Time; CLASSES],
    /// Where each class's pause began.
    origins: [PauseOrigin; CLASSES],
    records: [PauseRecord; CLASSES],
    is_logged: bool,
    rate: Rate,
    ecn: Option<Thresholds>,
}

impl SharedPort {
    /// An empty port that marks nothing until it is placed.
    pub fn build(values: &Values) -> SharedPort {
        SharedPort {
            waiting: 0,
            paused: 0,
            given_up: 0,
            served: 0,
            frames: List::default(),
            last: None,
            classes: Default::default(),
            marking: Marking::Never,
            has_planned_order: values.text("ties") == "ns-3",
            pauses: Box::new(Pauses {
                until: [Time::ZERO; CLASSES],
                origins: Default::default(),
                records: Default::default(),
                is_logged: false,
                rate: Rate(1),
                ecn: Thresholds::of(values),
            }),
        }
    }

    /// Whether what falls on one instant is handled in the order in which it was planned.
    pub fn has_planned_order(&self) -> bool {
        self.has_planned_order
    }

    /// What waits of a class.
    #[inline]
    pub fn class_bytes(&self, class: u8) -> u64 {
        self.classes[class_in(class)].queued().bytes
    }

    /// Whether a class is paused.
    #[inline]
    pub fn is_paused(&self, class: u8) -> bool {
        self.paused >> class_in(class) & 1 == 1
    }

    /// The classes that are paused, a bit for each.
    pub fn paused(&self) -> u8 {
        self.paused
    }

    /// Since when a class is paused, if it is.
    pub fn paused_since(&self, class: u8) -> Option<Time> {
        self.pauses.records[class_in(class)].since.map(|(since, _)| since)
    }

    /// Takes out all that waits of a class, and gives it up: nothing more is to be put in until it is resumed.
    pub fn empty<H: Copy + Default>(&mut self, class: u8, packets: &Packets<H>) -> Vec<PacketId> {
        let class = class_in(class);
        self.given_up |= 1 << class;
        self.waiting &= !(1 << class);
        std::iter::from_fn(|| self.classes[class].pop_front(packets)).collect()
    }

    /// Whether the watchdog has given a class up.
    #[inline]
    pub fn is_given_up(&self, class: u8) -> bool {
        self.given_up >> class_in(class) & 1 == 1
    }

    /// Where the pause of a class began, if it is paused.
    #[inline]
    pub fn origin(&self, class: u8) -> Option<PauseOrigin> {
        self.is_paused(class).then(|| self.pauses.origins[class_in(class)])
    }

    /// What was paused of each class until `end`; what is paused then is taken to end there.
    pub fn pauses(&self, end: Time) -> [PauseRecord; CLASSES] {
        self.pauses.records.clone().map(|record| record.cut(end, self.pauses.is_logged))
    }

    /// The class to serve: the control class first, of the others the next in turn that has packets and is not
    /// paused.
    fn next(&self) -> Option<usize> {
        next_in_turn(self.waiting & !self.paused, self.served)
    }

    fn pause(&mut self, now: Time, class: usize, until: Time, origin: PauseOrigin) {
        // What only prolongs a pause began where that did.
        if self.paused >> class & 1 == 0 {
            self.pauses.origins[class] = origin;
        }
        self.paused |= 1 << class;
        self.pauses.until[class] = until;
        self.pauses.records[class].begin(now, origin);
    }

    fn resume(&mut self, now: Time, class: usize) {
        self.paused &= !(1 << class);
        self.given_up &= !(1 << class);
        self.pauses.records[class].end(now, self.pauses.is_logged);
    }
}

/// A packet that leaves, as its switch has to know it, if it was charged to the link that it came by.
#[inline]
pub fn departure<H: Copy + Default>(id: PacketId, packets: &Packets<H>) -> Option<Departure> {
    let packet = packets.get(id);
    let class = charged_class(packet)?;
    Some(Departure { from: packets.ingress(id), class, bytes: packet.size_bytes })
}

impl SharedPort {
    /// Takes a packet in.
    fn push_back<H: Copy + Default>(&mut self, id: PacketId, packets: &mut Packets<H>) {
        let packet = packets.get(id);
        if packet.kind == Kind::Link {
            return self.frames.push_back(id, packets);
        }
        let class = class_in(packet.class);
        self.waiting |= 1 << class;
        self.classes[class].push_back(id, packets);
    }

    /// The packet that goes next, if one may.
    fn pop_next<H: Copy + Default>(
        &mut self,
        packets: &mut Packets<H>,
        (random, counts): (&mut Stream, &mut Counts),
    ) -> Option<PacketId> {
        self.last = None;
        if let Some(frame) = self.frames.pop_front(packets) {
            return Some(frame);
        }
        let class = self.next()?;
        let id = self.classes[class].pop_front(packets)?;
        let left = self.classes[class].queued();
        if left.packets == 0 {
            self.waiting &= !(1 << class);
        } else {
            // Buffers are deep here: what came long ago is in no cache.
            self.classes[class].prefetch_first(packets);
        }
        if class != usize::from(CONTROL) {
            self.served = narrow::<u32>(class);
        }
        self.last = departure(id, packets);
        let packet = packets.get_mut(id);
        if self.last.is_some() && self.marking.marks(left, random) && packet.is_ecn_capable() {
            packet.congestion_experienced = true;
            counts.marks += 1;
        }
        Some(id)
    }
}

impl Holds for SharedPort {
    // It always fits: the switch's memory manager has admitted it, and a host has no limit.
    #[inline(always)]
    fn put<H: Copy + Default>(&mut self, id: PacketId, _: Option<Opening>, env: &mut Env<'_, H>) -> Joined {
        self.push_back(id, env.packets);
        Joined::Waits
    }

    #[inline(always)]
    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        self.pop_next(env.packets, (env.random, env.counts))
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
        self.classes.iter().fold(self.frames.queued(), |all, class| all + class.queued())
    }

    #[inline]
    fn unbooked(&self) -> Occupancy {
        let may_go = |class: &usize| self.paused >> class & 1 == 0;
        let classes = (0..CLASSES).filter(may_go).map(|class| self.classes[class].queued());
        classes.fold(self.frames.queued(), |all, class| all + class)
    }

    #[inline]
    fn is_ready(&self) -> bool {
        self.waiting & !self.paused != 0 || !self.frames.is_empty()
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
        self.pauses.rate = site.rate;
        self.pauses.is_logged = site.logs_pauses;
        if let Some(ecn) = self.pauses.ecn.filter(|_| site.is_switch) {
            self.marking = ecn.at(&site);
        }
    }

    fn receive_message(&mut self, now: Time, message: LinkMessage) {
        match message {
            LinkMessage::Pause { class, quanta: 0, .. } => self.resume(now, class_in(class)),
            LinkMessage::Pause { class, origin, .. } => {
                let until = message.pause_lasts(self.pauses.rate).map_or(Time::NEVER, |lasts| now + lasts);
                self.pause(now, class_in(class), until, origin);
            }
            LinkMessage::PauseOver { class } if self.pauses.until[class_in(class)] <= now => {
                self.resume(now, class_in(class));
            }
            _ => {}
        }
    }

    #[inline]
    fn departure(&self) -> Option<Departure> {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_end_with_the_last_flow_and_those_that_begin_later_are_none() {
        let ns = Time::from_ns;
        for logs in [true, false] {
            let mut record = PauseRecord::default();
            for nth in 0..100 {
                record.begin(ns(100 * nth), PauseOrigin::default());
                record.end(ns(100 * nth + 60), logs);
            }
            record.begin(ns(10_000), PauseOrigin::default());
            // At this moment so many are over, or have begun, and that long is paused in all.
            for (end, pauses, paused) in [
                (20_000, 101, 16_000),
                (10_020, 101, 6_020),
                (10_000, 100, 6_000),
                (9_960, 100, 6_000),
                (9_930, 100, 5_970),
                (9_900, 99, 5_940),
                (9_870, 99, 5_940),
                (9_810, 99, 5_890),
            ] {
                let cut = record.clone().cut(ns(end), logs);
                assert_eq!((cut.pauses, cut.paused), (pauses, ns(paused)), "until {end} ns");
                assert_eq!(cut.each.len(), if logs { pauses as usize } else { 0 });
                assert!(cut.each.iter().all(|pause| pause.from < pause.until && pause.until <= ns(end)));
            }
        }
    }
}

//! A message at its receiver: what arrived, what was granted, and what is missing.

use super::config::Config;
use super::grants::Rank;
use crate::flow::{FlowId, HostId};
use crate::narrow::narrow;
use crate::reassembly::Reassembly;
use crate::seq_set::SeqSet;
use crate::units::Time;
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeSet;

/// A message.
#[derive(Clone, Debug)]
pub struct Receiver {
    pub(super) flow: FlowId,
    pub(super) src: HostId,
    pub(super) size_bytes: u64,
    pub(super) packets: u32,
    /// The first packet that was not granted.
    pub(super) granted: u32,
    /// How many of its packets have come, and how many bytes of it.
    pub(super) arrived: u32,
    pub(super) arrived_bytes: u64,
    /// What was granted, or needed no grant, and has not come: on the wire.
    pub(super) on_wire: u64,
    /// How many messages came before it.
    pub(super) number: u64,
    /// Its rank among those that need grants.
    pub(super) rank: Option<Rank>,
    /// For each level, the first packet behind those that were granted at it, or need no grant.
    levels: SmallVec<[u32; 8]>,
    /// A packet, and a time: it and those after it were granted later.
    marked: (u32, Time),
    /// In which pass over the messages it was last granted to.
    pub(super) pass: u64,
    /// The first packet behind those that had been granted when its timer last came.
    granted_before: u32,
    have: Reassembly,
    /// Where blind packets may be dropped before others: those that are lost, and to be granted again.
    lost: BTreeSet<u32>,
    /// Since when something should come and nothing has.
    silent_since: Time,
    /// How often what is missing was requested since anything new came.
    requests: u32,
}

impl Receiver {
    pub fn new(
        (flow, src): (FlowId, HostId),
        size_bytes: u64,
        number: u64,
        config: &Config,
        now: Time,
    ) -> Receiver {
        let blind = config.layout.blind(size_bytes);
        let mut levels: SmallVec<[u32; 8]> = smallvec![0; usize::from(config.levels)];
        levels[usize::from(config.level_without_grant(size_bytes, size_bytes))] = blind;
        Receiver {
            flow,
            src,
            size_bytes,
            packets: config.layout.packets(size_bytes),
            granted: blind,
            arrived: 0,
            arrived_bytes: 0,
            on_wire: config.layout.wire_bytes(blind, size_bytes),
            number,
            rank: None,
            levels,
            marked: (blind, now),
            pass: 0,
            granted_before: blind,
            have: Reassembly::default(),
            lost: BTreeSet::new(),
            silent_since: now,
            requests: 0,
        }
    }

    /// Takes in a packet; returns whether it is new.
    pub fn note(&mut self, seq: u32, config: &Config, now: Time) -> bool {
        self.silent_since = now;
        if seq < self.have.next() || self.have.above().contains(seq) {
            return false;
        }
        self.requests = 0;
        self.have.add(seq, seq + 1 == self.packets);
        let layout = &config.layout;
        self.arrived += 1;
        self.arrived_bytes += layout.before(seq + 1, self.size_bytes) - layout.before(seq, self.size_bytes);
        if !self.is_found(seq) {
            let wire_bytes = self.wire_bytes(seq, config);
            self.on_wire = self.on_wire.saturating_sub(wire_bytes);
        }
        true
    }

    /// What a packet takes of a link.
    #[inline]
    fn wire_bytes(&self, seq: u32, config: &Config) -> u64 {
        config.layout.packet_bytes(seq, self.size_bytes) + config.layout.framing_bytes
    }

    /// Blind packets that have not come are lost (Aeolus).
    pub fn lose_blind(&mut self, config: &Config) {
        let (next, blind) = (self.have.next(), config.layout.blind(self.size_bytes));
        for seq in next..blind {
            if !self.have.above().contains(seq) && self.lost.insert(seq) {
                self.on_wire = self.on_wire.saturating_sub(self.wire_bytes(seq, config));
            }
        }
    }

    /// Whether a packet that came was held for lost, and not granted again: it came late.
    fn is_found(&mut self, seq: u32) -> bool {
        self.lost.remove(&seq)
    }

    /// The first packet that is to be granted again.
    #[inline]
    pub fn first_lost(&self) -> Option<u32> {
        self.lost.first().copied()
    }

    /// Grants the first of those that are lost again, at this level.
    pub fn grant_lost(&mut self, level: u8, config: &Config, now: Time) -> Option<u32> {
        if self.awaits_nothing() {
            self.silent_since = now;
        }
        let seq = self.lost.pop_first()?;
        let last = &mut self.levels[usize::from(level)];
        *last = (*last).max(seq + 1);
        self.on_wire += self.wire_bytes(seq, config);
        Some(seq)
    }

    fn lost_packets(&self) -> u32 {
        narrow::<u32>(self.lost.len())
    }

    /// Whether all has come that needs no grant, or has one.
    #[inline]
    fn awaits_nothing(&self) -> bool {
        self.arrived + self.lost_packets() == self.granted
    }

    /// A packet came: a time after which it was granted, if one is known.
    #[inline]
    pub fn granted_after(&mut self, seq: u32, now: Time) -> Option<Time> {
        let (first, at) = self.marked;
        (seq >= first).then(|| {
            self.marked = (self.granted, now);
            at
        })
    }

    /// The sender is busy with others.
    pub fn bear(&mut self, now: Time) {
        self.silent_since = now;
    }

    #[inline]
    pub fn is_whole(&self) -> bool {
        self.arrived == self.packets
    }

    #[inline]
    pub fn is_granted(&self) -> bool {
        self.granted == self.packets && self.lost_packets() == 0
    }

    /// How much of it was not granted, or is to be again.
    #[inline]
    pub fn left_to_grant(&self, config: &Config) -> u64 {
        let lost_bytes = u64::from(self.lost_packets()) * config.layout.payload_bytes;
        let left = self.size_bytes - config.layout.before(self.granted, self.size_bytes);
        (left + lost_bytes).min(self.size_bytes)
    }

    /// Grants up to a packet, at this level; returns how many bytes more that is.
    pub fn grant(&mut self, to: u32, level: u8, config: &Config, now: Time) -> u64 {
        if self.awaits_nothing() {
            // Until now nothing should have come.
            self.silent_since = now;
        }
        self.levels[usize::from(level)] = to;
        let layout = &config.layout;
        let before = layout.before(self.granted, self.size_bytes);
        let wire = |packets| layout.wire_bytes(packets, self.size_bytes);
        self.on_wire += wire(to) - wire(self.granted);
        self.granted = to;
        layout.before(to, self.size_bytes) - before
    }

    /// What is on its way of it, without headers.
    pub fn incoming_bytes(&self, config: &Config) -> u64 {
        config.layout.before(self.granted, self.size_bytes).saturating_sub(self.arrived_bytes)
    }

    /// The latest level at which anything may come that was granted and has not: earlier grants may have been at later
    /// levels than the last one.
    fn latest_level(&self) -> u8 {
        let awaited = self.levels.iter().rposition(|&to| to > self.have.next());
        awaited.map_or(0, narrow)
    }

    /// Whether what should have come is late: nothing has come for too long, though the link was free for it of late, so it
    /// does not wait behind what goes before it. Otherwise when to look again. Where requests bring nothing new, each waits
    /// for twice as long as the one before.
    ///
    /// The link has to have been free in the last quarter of `resend_after`: only what left its sender since may wait before
    /// it, and that a sender does not send again (`Sender::may_be_late`).
    pub fn is_late(
        &mut self,
        was_free: impl Fn(u8, Time) -> bool,
        config: &Config,
        now: Time,
    ) -> Result<(), Time> {
        let patient_until = self.silent_since + config.after_requests(config.resend_after, self.requests);
        if patient_until > now {
            return Err(patient_until.min(now + config.resend_after));
        }
        if self.awaits_nothing() {
            return Err(now + config.resend_after);
        }
        let quarter = config.quarter_resend_after();
        if !was_free(self.latest_level(), Time(now.as_ps() - quarter.as_ps())) {
            return Err(now + quarter);
        }
        self.silent_since = now;
        self.requests += 1;
        Ok(())
    }

    /// A timer of ns-3's receivers comes: of the packets that had been granted when the last one did, but for the last of
    /// these, the runs that have not come (`HomaRecvScheduler::ExpireRtxTimeout`).
    pub fn long_granted(&mut self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let before = std::mem::replace(&mut self.granted_before, self.granted).saturating_sub(1);
        self.missing().map(move |(from, to)| (from, to.min(before))).filter(|(from, to)| from < to)
    }

    /// Each run of packets that should have come and have not, from which to which; not those that are to be granted again.
    pub fn missing(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (above, granted, lost) = (self.have.above(), self.granted, &self.lost);
        let mut next = self.have.next();
        std::iter::from_fn(move || {
            let from = after(next, above, lost);
            let of_lost = lost.range(from..).next().copied();
            let to = above.first_present(from).into_iter().chain(of_lost).chain([granted]).min()?;
            next = to;
            (from < granted).then_some((from, to))
        })
    }
}

/// The first packet from this one on that is in neither set.
fn after(seq: u32, above: &SeqSet, lost: &BTreeSet<u32>) -> u32 {
    let mut next = above.first_absent(seq);
    while lost.contains(&next) {
        next = above.first_absent(next + 1);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::super::config::testing::config;
    use super::*;

    const FREE: fn(u8, Time) -> bool = |_, _| true;
    const BUSY: fn(u8, Time) -> bool = |_, _| false;

    const fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    /// A message of twenty packets, the first of which came at 0. Packets are late after 1 ms.
    fn message(config: &Config) -> Receiver {
        let mut message = Receiver::new((1, 2), 28_000, 0, config, Time::ZERO);
        message.note(0, config, Time::ZERO);
        message
    }

    #[test]
    fn what_waits_behind_others_is_not_late() {
        let config = config(true);
        let mut message = message(&config);
        assert_eq!(message.is_late(FREE, &config, us(500)), Err(us(1_000)), "too early");
        // The link carries what goes before it, as long as that takes.
        assert_eq!(message.is_late(BUSY, &config, us(1_000)), Err(us(1_250)));
        assert_eq!(message.is_late(BUSY, &config, us(30_000)), Err(us(30_250)));
        assert_eq!(message.is_late(FREE, &config, us(30_250)), Ok(()));
    }

    #[test]
    fn the_link_has_to_have_been_free_of_late() {
        let config = config(true);
        let mut message = message(&config);
        let level = message.latest_level();
        let free_at = |at: Time| move |asked: u8, by: Time| asked == level && at > by;
        assert_eq!(message.is_late(free_at(us(750)), &config, us(1_000)), Err(us(1_250)));
        // What left its sender at 800 may wait since then, so that the link was free at 751 says nothing of it.
        assert_eq!(message.is_late(free_at(us(751)), &config, us(1_250)), Err(us(1_500)));
        assert_eq!(message.is_late(free_at(us(1_251)), &config, us(1_500)), Ok(()));
    }

    #[test]
    fn a_packet_is_granted_after_those_that_came_before() {
        let config = config(true);
        let mut message = message(&config);
        let blind = message.granted;
        assert_eq!(message.granted_after(blind - 1, us(1)), None);
        message.grant(blind + 7, 4, &config, us(1));
        assert_eq!(message.granted_after(blind, us(10)), Some(us(0)));
        // What is granted from now on is granted after 10.
        message.grant(blind + 9, 4, &config, us(11));
        assert_eq!(message.granted_after(blind + 6, us(12)), None);
        assert_eq!(message.granted_after(blind + 8, us(20)), Some(us(10)));
    }

    #[test]
    fn ns3_asks_for_what_it_had_granted_when_its_timer_came_before() {
        let config = config(true);
        let mut message = message(&config);
        let blind = message.granted;
        assert_eq!(message.long_granted().collect::<Vec<_>>(), [(1, blind - 1)]);
        (1..blind).filter(|&seq| seq != 3).for_each(|seq| {
            message.note(seq, &config, us(1));
        });
        message.grant(blind + 5, 4, &config, us(1));
        assert_eq!(message.long_granted().collect::<Vec<_>>(), [(3, 4)]);
        assert_eq!(message.long_granted().collect::<Vec<_>>(), [(3, 4), (blind, blind + 4)]);
    }

    #[test]
    fn each_request_that_brings_nothing_waits_for_twice_as_long() {
        let config = config(true);
        let mut message = message(&config);
        let mut requests = Vec::new();
        let mut now = Time::ZERO;
        while now < us(80_000) {
            now = match message.is_late(FREE, &config, now) {
                Err(later) => later,
                Ok(()) => {
                    requests.push(now.as_ps() / us(1_000).as_ps());
                    now + us(1_000)
                }
            };
        }
        assert_eq!(requests, [1, 3, 7, 15, 31, 47, 63, 79]);
        // What came already is no news; what is new begins it anew.
        message.note(0, &config, us(80_000));
        assert!(message.is_late(FREE, &config, us(90_000)).is_err());
        message.note(1, &config, us(91_000));
        assert_eq!(message.is_late(FREE, &config, us(92_000)), Ok(()));
    }

    #[test]
    fn what_is_missing_is_at_the_latest_level_of_its_grants() {
        let config = config(true);
        let mut message = message(&config);
        let blind = message.latest_level();
        message.grant(9, 6, &config, us(1));
        message.grant(12, 4, &config, us(2));
        assert_eq!(message.latest_level(), 6, "the last grant was at an earlier level");
        (1..9).for_each(|seq| {
            message.note(seq, &config, us(3));
        });
        assert_eq!(message.latest_level(), 4);
        message.grant(13, 5, &config, us(4));
        assert_eq!(message.latest_level(), 5);
        assert!(blind < 4);
    }

    #[test]
    fn what_was_just_granted_is_not_late() {
        let config = config(true);
        let mut message = message(&config);
        (1..7).for_each(|seq| {
            message.note(seq, &config, Time::ZERO);
        });
        assert!(message.is_late(FREE, &config, us(5_000)).is_err(), "nothing should come");
        message.grant(9, 4, &config, us(5_000));
        assert_eq!(message.is_late(FREE, &config, us(5_000)), Err(us(6_000)));
        assert_eq!(message.is_late(FREE, &config, us(6_000)), Ok(()));
        assert_eq!(message.missing().collect::<Vec<_>>(), [(7, 9)]);
    }

    #[test]
    fn what_is_lost_without_a_grant_is_granted_again_unless_it_comes_late() {
        let config = Config { aeolus: true, ..config(true) };
        let mut message = message(&config);
        message.note(3, &config, us(1));
        let left = message.left_to_grant(&config);
        message.lose_blind(&config);
        // Of seven that went without a grant, 0 and 3 came.
        assert_eq!((message.lost_packets(), message.first_lost()), (5, Some(1)));
        assert_eq!((message.on_wire, message.left_to_grant(&config)), (0, left + 5 * 1_456));
        assert_eq!(message.missing().count(), 0, "it is granted again, and not asked for");
        assert_eq!(message.is_late(FREE, &config, us(5_000)), Err(us(6_000)), "nothing should come");
        assert_eq!(message.grant_lost(5, &config, us(5_000)), Some(1));
        assert_eq!(message.on_wire, 1_538);
        assert_eq!(message.missing().collect::<Vec<_>>(), [(1, 2)]);
        // Another path was slower than the probe's.
        assert!(message.note(2, &config, us(5_001)));
        assert_eq!((message.first_lost(), message.on_wire), (Some(4), 1_538));
        let again: Vec<u32> = std::iter::from_fn(|| message.grant_lost(5, &config, us(5_002))).collect();
        assert_eq!((again, message.lost_packets()), (vec![4, 5, 6], 0));
        assert_eq!(message.missing().collect::<Vec<_>>(), [(1, 2), (4, 7)]);
    }
}

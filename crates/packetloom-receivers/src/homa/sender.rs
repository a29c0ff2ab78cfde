//! A message at its sender: what may be sent, what must be sent again, and which message goes next.

use super::config::{Config, SenderOrder};
use super::header::Header;
use crate::Sending;
use crate::engine::{FlowStatus, Report};
use crate::flow::{Flow, FlowId};
use crate::narrow::narrow;
use crate::packet::{Ecn, Kind, Packet};
use crate::seq_set::SeqSet;
use crate::units::Time;
use std::collections::{BTreeSet, VecDeque};

/// A message's rank among those that have a packet to send: by what is left of it, then by age.
pub type Turn = (u64, u64, FlowId);

/// The number in data, for queues that rank by it: no control packet's.
const DATA_RANK: u32 = 1;

/// The messages of a host that have a packet to send (Homa §3.2: SRPT).
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    turns: BTreeSet<Turn>,
    started: u64,
}

impl Outbox {
    /// A number for a message that starts.
    pub fn number(&mut self) -> u64 {
        self.started += 1;
        self.started
    }

    /// The message to send from.
    #[inline]
    pub fn first(&self) -> Option<FlowId> {
        self.turns.first().map(|&(.., flow)| flow)
    }

    /// Puts a message where it belongs.
    pub fn requeue(&mut self, sender: &mut Sender, config: &Config) {
        let turn = sender.has_packet().then(|| (sender.left(config), sender.number, sender.flow.id));
        if turn != sender.turn {
            if let Some(old) = sender.turn {
                self.turns.remove(&old);
            }
            self.turns.extend(turn);
            sender.turn = turn;
        }
    }

    /// Forgets a message.
    pub fn remove(&mut self, sender: &Sender) {
        if let Some(turn) = &sender.turn {
            self.turns.remove(turn);
        }
    }
}

/// Up to which packet a level holds, in order. Few senders have any, so it is kept apart.
#[derive(Clone, Debug, Default)]
struct OwnLevels(VecDeque<(u32, u8)>);

/// A message.
#[derive(Clone, Debug)]
pub struct Sender {
    flow: Flow,
    number: u64,
    packets: u32,
    blind: u32,
    /// The first packet that was never sent.
    next: u32,
    /// The first that may not be sent yet.
    granted: u32,
    /// The level of the last grant, once there was one.
    level: Option<u8>,
    /// Where packets keep the levels of their grants: the levels of granted packets that were not sent before the last
    /// grant came, each up to which packet. Seldom any.
    own_levels: Option<Box<OwnLevels>>,
    /// Packets that are to be sent again.
    again: SeqSet,
    /// Where blind packets may be dropped before others: those that were granted again, each at its level, in order.
    granted_again: VecDeque<(u32, u8)>,
    /// The first packet that was sent after the last pause in sending, and when; and when the last was.
    resumed: (u32, Time),
    sent_at: Time,
    turn: Option<Turn>,
    /// When something last happened to it.
    stirred_at: Time,
    /// How often its receiver was asked since an answer came.
    requests: u32,
    report: Report,
}

impl Sender {
    pub fn new(flow: Flow, number: u64, config: &Config, now: Time) -> Sender {
        let blind = config.layout.blind(flow.size_bytes);
        Sender {
            flow,
            number,
            packets: config.layout.packets(flow.size_bytes),
            blind,
            next: 0,
            granted: blind,
            level: None,
            own_levels: None,
            again: SeqSet::default(),
            granted_again: VecDeque::new(),
            resumed: (0, now),
            sent_at: now,
            turn: None,
            stirred_at: now,
            requests: 0,
            report: Report::default(),
        }
    }

    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    pub fn report(&self) -> Report {
        self.report
    }

    pub fn status(&self) -> FlowStatus {
        let waits_for = if self.has_packet() {
            "the NIC: others go first"
        } else {
            "a grant, or the final acknowledgement"
        };
        FlowStatus {
            flow: self.flow.id,
            arrived: self.granted - self.blind,
            packets: self.packets,
            waits_for,
        }
    }

    /// Receivers acknowledge no single packet, so all that were sent count as in flight.
    pub fn sending(&self) -> Sending {
        let arrived = self.granted - self.blind;
        Sending { in_flight: self.next, arrived, report: self.report, ..Sending::default() }
    }

    #[inline]
    fn has_packet(&self) -> bool {
        self.next < self.granted || !self.again.is_empty() || !self.granted_again.is_empty()
    }

    /// What is left to send, or of what was granted is held to be on its way.
    #[inline]
    fn left(&self, config: &Config) -> u64 {
        let gone = match config.order {
            SenderOrder::Left => self.next,
            SenderOrder::Granted => self.granted.saturating_sub(config.window_packets()),
        };
        self.flow.size_bytes - config.layout.before(gone, self.flow.size_bytes)
    }

    /// A grant came; grants may overtake each other.
    pub fn granted(&mut self, to: u32, level: u8, config: &Config, now: Time) {
        (self.stirred_at, self.requests) = (now, 0);
        if to > self.granted {
            if config.keeps_levels && self.level != Some(level) {
                self.keep_level(self.granted, self.level);
            }
            self.granted = to.min(self.packets);
            self.level = Some(level);
        } else if config.keeps_levels {
            self.keep_level(to, Some(level));
        }
    }

    /// Packets up to this one that are still to be sent for the first time keep their level.
    fn keep_level(&mut self, to: u32, level: Option<u8>) {
        if let Some(level) = level.filter(|_| to > self.next) {
            let OwnLevels(levels) = &mut **self.own_levels.get_or_insert_default();
            let place = levels.partition_point(|&(end, _)| end < to);
            levels.insert(place, (to, level));
        }
    }

    /// A packet that was lost without a grant is granted (Aeolus).
    pub fn granted_again(&mut self, seq: u32, level: u8, now: Time) {
        (self.stirred_at, self.requests) = (now, 0);
        if seq < self.next {
            self.granted_again.push_back((seq, level));
        }
    }

    /// What goes behind a packet, which is the last of the blind ones (Aeolus).
    pub fn probe_behind(&self, packet: &Packet<Header>, config: &Config) -> Option<Packet<Header>> {
        let Header::Data { seq, size_bytes } = packet.header else { return None };
        let is_last = config.aeolus && seq + 1 == self.blind && packet.is_unscheduled();
        is_last.then(|| {
            let probe = config.control(self.flow.id, self.flow.dst, Header::Probe { size_bytes });
            // Where queues rank, it must not overtake what it is behind: the first of these has the latest level.
            let class = config.level_without_grant(size_bytes, size_bytes);
            Packet { class, priority: DATA_RANK, ..probe }
        })
    }

    /// Packets are requested: those that were never sent may be, the others are to be sent again.
    pub fn resend(&mut self, from: u32, to: u32, config: &Config, now: Time) {
        (self.stirred_at, self.requests) = (now, 0);
        let to = to.min(self.packets);
        self.granted = self.granted.max(to);
        let to = to.min(self.may_be_late(config, now));
        if from < to {
            self.again.insert_range(from, to, |_| {});
        }
    }

    /// The first packet that cannot be late yet. After a pause, in which others went first, a request crosses the packets
    /// that it is about: those left less than half of `resend_after` ago, while the request says that none came in all of
    /// it, and that none waited before the receiver's link a quarter of it ago. ns-3's senders do not look.
    fn may_be_late(&self, config: &Config, now: Time) -> u32 {
        let (first, at) = self.resumed;
        if !config.is_ns3 && now.since(at) < config.half_resend_after() { first } else { self.next }
    }

    /// The status request, if one is due: the message has waited long for a grant or an acknowledgement. Otherwise
    /// when to check again.
    pub fn status_request(&mut self, config: &Config, now: Time) -> Result<Header, Time> {
        let patient_until = self.stirred_at + config.after_requests(config.patience(), self.requests);
        if self.has_packet() {
            return Err(now + config.patience());
        }
        if patient_until > now {
            return Err(patient_until.min(now + config.patience()));
        }
        if !config.acknowledges && self.next == self.packets {
            return Err(self.stirred_at + config.forget_after());
        }
        self.stirred_at = now;
        self.requests += 1;
        self.report.timeouts += 1;
        Ok(Header::Ask { size_bytes: self.flow.size_bytes })
    }

    /// Whether all was sent, receivers do not acknowledge, and the silence was so long that everything must have
    /// arrived.
    pub fn is_forgotten(&self, config: &Config, now: Time) -> bool {
        let is_sent = self.next == self.packets && !self.has_packet();
        !config.acknowledges && is_sent && now >= self.stirred_at + config.forget_after()
    }

    /// Its next packet, at the level that it has; what must be sent again goes first.
    pub fn take(&mut self, config: &Config, now: Time) -> Packet<Header> {
        self.stirred_at = now;
        let (seq, class, is_again) = self.choose(config, now);
        self.report.packets_sent += 1;
        self.report.retransmissions += u32::from(is_again);
        let is_called_for = is_again || seq >= self.blind;
        let size_bytes = self.flow.size_bytes;
        Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: DATA_RANK,
            size_bytes: narrow::<u16>(config.layout.packet_bytes(seq, size_bytes)),
            kind: Kind::Data,
            class,
            ecn: if config.aeolus && is_called_for { Ecn::Ect0 } else { Ecn::NotCapable },
            header: Header::Data { seq, size_bytes },
            ..Packet::default()
        }
    }

    /// Which packet goes next, at which level, and whether it went before.
    fn choose(&mut self, config: &Config, now: Time) -> (u32, u8, bool) {
        if let Some((seq, level)) = self.granted_again.pop_front() {
            return (seq, level, true);
        }
        if !self.again.is_empty() {
            let seq = self.again.take_first();
            return (seq, self.level_of(seq, self.level, config), true);
        }
        if now.since(self.sent_at) >= config.half_resend_after() {
            self.resumed = (self.next, now);
        }
        self.sent_at = now;
        let seq = self.next;
        self.next += 1;
        let granted = self.granted_level(seq);
        (seq, self.level_of(seq, granted, config), false)
    }

    /// The level that grants so far give a packet that goes for the first time: its own grant's where packets keep
    /// it and it has come, or else the latest one's.
    #[inline]
    fn granted_level(&mut self, seq: u32) -> Option<u8> {
        let Some(OwnLevels(levels)) = self.own_levels.as_deref_mut() else { return self.level };
        while levels.front().is_some_and(|&(end, _)| end <= seq) {
            levels.pop_front();
        }
        levels.front().map(|&(_, level)| level).or(self.level)
    }

    /// A packet's level, given that of its grant. In ns-3 the first grant's level holds for what is still to be sent
    /// without one, too.
    #[inline]
    fn level_of(&self, seq: u32, granted: Option<u8>, config: &Config) -> u8 {
        match granted {
            Some(level) if config.is_ns3 || seq >= self.blind => level,
            _ => {
                let size_bytes = self.flow.size_bytes;
                config.level_without_grant(size_bytes - config.layout.before(seq, size_bytes), size_bytes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::testing::config;
    use super::*;

    fn message(config: &Config) -> Sender {
        let flow = Flow {
            id: 0,
            src: 0,
            dst: 1,
            size_bytes: 100_000,
            start: Time::ZERO,
            deadline: Time::NEVER,
            class: 0,
            source: 0,
            chain: None,
        };
        Sender::new(flow, 1, config, Time::ZERO)
    }

    /// All that may be sent is sent at once; returns which packets those are.
    fn send_all(sender: &mut Sender, config: &Config, now: Time) -> Vec<u32> {
        let mut sent = Vec::new();
        while sender.has_packet() {
            if let Header::Data { seq, .. } = sender.take(config, now).header {
                sent.push(seq);
            }
        }
        sent
    }

    /// The levels of the seven blind packets, and of those that such grants then let go at once.
    fn levels(grants: &[(u32, u8)], keeps_levels: bool) -> Vec<u8> {
        let config = config(keeps_levels);
        let mut sender = message(&config);
        let mut levels = Vec::new();
        let mut send_all = |sender: &mut Sender| {
            while sender.has_packet() {
                levels.push(sender.take(&config, Time::ZERO).class);
            }
        };
        send_all(&mut sender);
        for &(to, level) in grants {
            sender.granted(to, level, &config, Time::ZERO);
        }
        send_all(&mut sender);
        levels
    }

    #[test]
    fn a_packet_goes_at_the_level_of_its_own_grant_or_of_the_latest() {
        let blind = [0; 7];
        let of = |granted: &[u8]| [&blind, granted].concat();
        let grants = [(8, 6), (9, 6), (10, 4), (11, 7)];
        assert_eq!(levels(&grants, true), of(&[6, 6, 4, 7]));
        assert_eq!(levels(&grants, false), of(&[7, 7, 7, 7]));
        // A grant that another overtook: before it comes its packet has that one's level, then its own.
        assert_eq!(levels(&[(8, 6), (10, 4)], true), of(&[6, 4, 4]));
        assert_eq!(levels(&[(8, 6), (10, 4), (9, 7)], true), of(&[6, 7, 4]));
        assert_eq!(levels(&[(8, 6), (10, 4), (9, 7)], false), of(&[4, 4, 4]));
    }

    #[test]
    fn what_left_as_a_request_came_is_not_sent_again() {
        let config = config(true);
        let us = Time::from_us;
        let mut sender = message(&config);
        assert_eq!(send_all(&mut sender, &config, us(0)), [0, 1, 2, 3, 4, 5, 6]);
        // Others went first for 3 ms; then its receiver asks for what has just left.
        sender.granted(9, 4, &config, us(10));
        assert_eq!(send_all(&mut sender, &config, us(3_000)), [7, 8]);
        sender.resend(6, 9, &config, us(3_002));
        assert_eq!(send_all(&mut sender, &config, us(3_003)), [6], "left long ago");
        // What a request allows goes for the first time, and that is no pause in sending.
        sender.resend(7, 10, &config, us(3_400));
        assert_eq!(send_all(&mut sender, &config, us(3_400)), [9]);
        // By then it should have come.
        sender.resend(7, 10, &config, us(3_500));
        assert_eq!(send_all(&mut sender, &config, us(3_500)), [7, 8, 9]);
    }

    #[test]
    fn the_senders_of_ns3_do_not_look_when_it_left() {
        let config = Config { is_ns3: true, ..config(false) };
        let mut sender = message(&config);
        send_all(&mut sender, &config, Time::ZERO);
        sender.resend(5, 7, &config, Time::from_us(2));
        assert_eq!(send_all(&mut sender, &config, Time::from_us(2)), [5, 6]);
    }

    #[test]
    fn a_probe_goes_behind_what_may_be_dropped_and_what_is_granted_again_may_not() {
        let config = Config { aeolus: true, ..config(true) };
        let mut sender = message(&config);
        for seq in 0..7 {
            let packet = sender.take(&config, Time::ZERO);
            assert!(packet.is_unscheduled());
            assert_eq!(sender.probe_behind(&packet, &config).is_some(), seq == 6);
        }
        assert!(!sender.has_packet());
        sender.granted(8, 6, &config, Time::ZERO);
        sender.granted_again(6, 5, Time::ZERO);
        let again = sender.take(&config, Time::ZERO);
        assert!(matches!(again.header, Header::Data { seq: 6, .. }) && again.class == 5);
        assert!(!again.is_unscheduled() && sender.probe_behind(&again, &config).is_none());
        assert!(!sender.take(&config, Time::ZERO).is_unscheduled());
        assert_eq!((sender.report.packets_sent, sender.report.retransmissions), (9, 1));
    }
}

//! A message at its sender: what is to be sent of it, and what must be sent again.

use super::config::Config;
use super::header::Header;
use crate::Sending;
use crate::engine::{FlowStatus, Report};
use crate::flow::{Flow, FlowId};
use crate::narrow::{exact, narrow};
use crate::packet::{Ecn, Kind, Packet};
use crate::seq_set::SeqSet;
use crate::units::Time;

/// A message's rank among those to a receiver: by what is to be sent of it, then by age.
pub type Turn = (u64, u64, FlowId);

/// A message.
#[derive(Clone, Debug)]
pub struct Outgoing {
    flow: Flow,
    number: u64,
    packets: u32,
    /// The first packet that was never sent.
    next: u32,
    /// Packets that are to be sent again.
    again: SeqSet,
    /// What is to be sent of it.
    unsent_bytes: u64,
    /// For how many packets it allotted itself credit.
    pub allotted: u32,
    /// Whether its receiver was told of it.
    pub is_announced: bool,
    /// Its rank among those with something to send.
    pub turn: Option<Turn>,
    /// The first packet that was sent after the last pause in sending, and when; and when the last was.
    resumed: (u32, Time),
    sent_at: Time,
    /// When something last happened to it.
    stirred_at: Time,
    /// How often its receiver was asked since anything was heard.
    requests: u32,
    report: Report,
}

impl Outgoing {
    pub fn new(flow: Flow, number: u64, config: &Config, now: Time) -> Outgoing {
        Outgoing {
            flow,
            number,
            packets: exact::<u32>(config.layout.packets(flow.size_bytes)),
            next: 0,
            again: SeqSet::default(),
            unsent_bytes: flow.size_bytes,
            allotted: 0,
            is_announced: false,
            turn: None,
            resumed: (0, now),
            sent_at: now,
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
        let waits_for =
            if self.unsent_bytes > 0 { "credit, or the NIC" } else { "the final acknowledgement" };
        let arrived = self.next - self.again.len();
        FlowStatus { flow: self.flow.id, arrived, packets: self.packets, waits_for }
    }

    /// Receivers acknowledge no single packet, so all that were sent count as in flight.
    pub fn sending(&self) -> Sending {
        Sending { in_flight: self.next, report: self.report, ..Sending::default() }
    }

    /// Its rank, if it has anything to send.
    pub fn turn_now(&self) -> Option<Turn> {
        (self.unsent_bytes > 0).then_some((self.unsent_bytes, self.number, self.flow.id))
    }

    /// The packet that it sends next; it has one.
    #[inline]
    fn upcoming(&self) -> u32 {
        self.again.first_present(0).unwrap_or(self.next)
    }

    /// The credit that it needs for its next packet.
    #[inline]
    pub fn needs(&self, config: &Config) -> u64 {
        config.layout.wire_bytes(self.upcoming(), self.flow.size_bytes)
    }

    /// Something was heard of it.
    pub fn hear(&mut self, now: Time) {
        (self.stirred_at, self.requests) = (now, 0);
    }

    /// Its receiver misses packets: those that were sent, and not too lately, are to be sent again. Returns the credit that
    /// was lost with them.
    pub fn resend(&mut self, from: u32, to: u32, config: &Config, now: Time) -> u64 {
        self.hear(now);
        let to = to.min(self.may_be_late(config, now));
        let (size_bytes, layout) = (self.flow.size_bytes, &config.layout);
        let (mut credit, mut unsent) = (0, 0);
        if from < to {
            self.again.insert_range(from, to, |seq| {
                credit += layout.wire_bytes(seq, size_bytes);
                unsent += layout.payload(seq, size_bytes);
            });
        }
        self.unsent_bytes += unsent;
        credit
    }

    /// The credit of packets that it was to send again, as it is over.
    pub fn credit_left(&self, config: &Config) -> u64 {
        let mut next = 0;
        let mut bytes = 0;
        while let Some(seq) = self.again.first_present(next) {
            bytes += config.layout.wire_bytes(seq, self.flow.size_bytes);
            next = seq + 1;
        }
        bytes
    }

    /// The first packet that cannot be late yet. After a pause, in which others went first, a request crosses the packets
    /// that it is about: those left less than half of `resend_after` ago, while the request says that none came in all of it.
    fn may_be_late(&self, config: &Config, now: Time) -> u32 {
        let (first, at) = self.resumed;
        if now.since(at) < config.half_resend_after() { first } else { self.next }
    }

    /// The question to its receiver, if one is due: nothing has happened for long. Otherwise when to look again.
    pub fn ask(&mut self, config: &Config, now: Time) -> Result<Header, Time> {
        let patient_until = self.stirred_at + config.after_requests(config.patience(), self.requests);
        if patient_until > now {
            return Err(patient_until.min(now + config.patience()));
        }
        self.stirred_at = now;
        self.requests += 1;
        self.report.timeouts += 1;
        Ok(Header::Ask { size_bytes: self.flow.size_bytes, allotted: self.allotted })
    }

    /// Its next packet; what must be sent again goes first.
    pub fn take(&mut self, marked: bool, config: &Config, now: Time) -> Packet<Header> {
        self.stirred_at = now;
        let seq = if self.again.is_empty() {
            if now.since(self.sent_at) >= config.half_resend_after() {
                self.resumed = (self.next, now);
            }
            self.sent_at = now;
            self.next += 1;
            self.next - 1
        } else {
            self.report.retransmissions += 1;
            self.again.take_first()
        };
        self.report.packets_sent += 1;
        let size_bytes = self.flow.size_bytes;
        let payload = config.layout.payload(seq, size_bytes);
        self.unsent_bytes -= payload;
        Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: 1,
            size_bytes: narrow::<u16>(config.layout.packet_bytes(payload)),
            kind: Kind::Data,
            class: config.class(seq, self.allotted),
            ecn: if config.ecn { Ecn::Ect0 } else { Ecn::NotCapable },
            header: Header::Data { seq, size_bytes, allotted: self.allotted, marked },
            ..Packet::default()
        }
    }
}

#[cfg(test)]
pub mod testing {
    use super::*;

    /// A message of so many bytes from host 0.
    pub fn message(id: FlowId, dst: u32, size_bytes: u64, config: &Config) -> Outgoing {
        let flow = Flow {
            id,
            src: 0,
            dst,
            size_bytes,
            start: Time::ZERO,
            deadline: Time::NEVER,
            class: 0,
            source: 0,
            chain: None,
        };
        Outgoing::new(flow, id.into(), config, Time::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::testing::config;
    use super::testing::message;
    use super::*;

    const fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    fn sent(message: &mut Outgoing, packets: usize, config: &Config, now: Time) -> Vec<u32> {
        let take = |_| match message.take(false, config, now).header {
            Header::Data { seq, .. } => seq,
            other => panic!("{other:?}"),
        };
        (0..packets).map(take).collect()
    }

    #[test]
    fn what_was_lost_is_sent_again_for_the_credit_that_was_lost_with_it() {
        let config = config();
        let mut message = message(1, 2, 10 * 1_458, &config);
        assert_eq!(sent(&mut message, 6, &config, us(0)), [0, 1, 2, 3, 4, 5]);
        // Packets 6 and 7 were never sent, so nothing of theirs is lost.
        assert_eq!(message.resend(4, 8, &config, us(2_000)), 2 * 1_538);
        assert_eq!(message.resend(5, 6, &config, us(2_001)), 0, "it waits already");
        assert_eq!(message.turn_now().map(|turn| turn.0), Some(6 * 1_458));
        assert_eq!(sent(&mut message, 6, &config, us(2_002)), [4, 5, 6, 7, 8, 9]);
        assert_eq!(message.turn_now(), None);
    }

    #[test]
    fn what_left_as_a_request_came_is_not_sent_again() {
        let config = config();
        let mut message = message(1, 2, 10 * 1_458, &config);
        sent(&mut message, 2, &config, us(0));
        // Others went first for 3 ms; then its receiver asks for what has just left.
        sent(&mut message, 2, &config, us(3_000));
        assert_eq!(message.resend(1, 10, &config, us(3_002)), 1_538);
        assert_eq!(sent(&mut message, 1, &config, us(3_003)), [1]);
        // By then it should have come.
        assert_eq!(message.resend(2, 10, &config, us(3_500)), 2 * 1_538);
    }
}

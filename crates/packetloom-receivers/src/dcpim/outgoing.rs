//! A flow at its sender.

use super::config::Config;
use super::header::Header;
use crate::Sending;
use crate::engine::{FlowStatus, Report};
use crate::flow::Flow;
use crate::packet::{Kind, Packet};
use crate::seq_set::SeqSet;
use crate::units::Time;

/// A flow.
#[derive(Clone, Debug)]
pub struct Outgoing {
    flow: Flow,
    packets: u32,
    /// How many packets have not come, as far as its receiver's tokens say.
    left: u32,
    sent: SeqSet,
    heard_at: Time,
    report: Report,
}

impl Outgoing {
    pub fn new(flow: Flow, config: &Config) -> Outgoing {
        let packets = config.format.data.count(flow.size_bytes);
        Outgoing {
            flow,
            packets,
            left: packets,
            sent: SeqSet::default(),
            heard_at: flow.start,
            report: Report::default(),
        }
    }

    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    pub fn packets(&self) -> u32 {
        self.packets
    }

    pub fn report(&self) -> Report {
        self.report
    }

    pub fn status(&self) -> FlowStatus {
        let arrived = self.packets - self.left;
        let waits_for = "channels and tokens, or the final acknowledgement";
        FlowStatus { flow: self.flow.id, arrived, packets: self.packets, waits_for }
    }

    /// Receivers acknowledge no single packet, so all that were sent count as in flight.
    pub fn sending(&self) -> Sending {
        let in_flight = self.report.packets_sent - self.report.retransmissions;
        let arrived = self.packets - self.left;
        Sending { in_flight, arrived, report: self.report, ..Sending::default() }
    }

    pub fn announcement(&self) -> Header {
        Header::Announce { packets: self.packets, start: self.flow.start }
    }

    /// Its receiver has sent something.
    pub fn hear(&mut self, now: Time) {
        self.heard_at = now;
    }

    /// A token says how many packets have not come.
    pub fn learn(&mut self, left: u32) {
        self.left = left.min(self.packets);
    }

    /// Whether to announce it again: nothing was heard for long. Otherwise when to check again.
    pub fn must_announce(&mut self, config: &Config, now: Time) -> Result<(), Time> {
        let patient_until = self.heard_at + config.retry;
        if patient_until > now {
            return Err(patient_until);
        }
        self.heard_at = now;
        self.report.timeouts += 1;
        Ok(())
    }

    /// The packet for a token.
    pub fn packet(&mut self, number: u32, seq: u32, level: u8, config: &Config) -> Packet<Header> {
        self.report.packets_sent += 1;
        self.report.retransmissions += u32::from(!self.sent.insert(seq));
        Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: u32::from(level),
            size_bytes: config.wire_bytes(seq, self.packets, self.flow.size_bytes),
            kind: Kind::Data,
            class: level,
            header: Header::Data { seq, packets: self.packets, token: number },
            ..Packet::default()
        }
    }
}

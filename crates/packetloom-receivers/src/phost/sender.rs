//! A flow at its sender: the tokens that it has, and which flow goes next.

use super::config::Config;
use super::header::Header;
use crate::Sending;
use crate::engine::{FlowStatus, Report};
use crate::flow::{Flow, FlowId};
use crate::packet::{Kind, Packet};
use crate::seq_set::SeqSet;
use crate::units::Time;
use std::collections::{BTreeSet, VecDeque};

/// A flow's rank among those with tokens: by how much of it has not arrived, as far as its sender knows, then by
/// age.
type Turn = (u32, u64, FlowId);

/// The flows of a host that have tokens.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    turns: BTreeSet<Turn>,
    started: u64,
}

impl Outbox {
    /// A number for a flow that starts.
    pub(super) fn number(&mut self) -> u64 {
        self.started += 1;
        self.started
    }

    /// The flow to send from.
    pub(super) fn first(&self) -> Option<FlowId> {
        self.turns.first().map(|&(.., flow)| flow)
    }

    /// Moves a flow to the position that it now has in the order.
    pub(super) fn requeue(&mut self, sender: &mut Sender) {
        let turn = (!sender.tokens.is_empty()).then_some((sender.left, sender.number, sender.flow.id));
        if turn != sender.turn {
            self.remove(sender);
            self.turns.extend(turn);
            sender.turn = turn;
        }
    }

    /// Forgets a flow.
    pub(super) fn remove(&mut self, sender: &Sender) {
        if let Some(turn) = &sender.turn {
            self.turns.remove(turn);
        }
    }
}

/// Leave to send a packet, until a time.
#[derive(Clone, Copy, Debug)]
struct Token {
    until: Time,
    number: u32,
    seq: u32,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Sender {
    flow: Flow,
    number: u64,
    packets: u32,
    left: u32,
    tokens: VecDeque<Token>,
    sent: SeqSet,
    turn: Option<Turn>,
    heard_at: Time,
    report: Report,
}

impl Sender {
    /// A flow with the tokens that are free.
    pub(super) fn new(flow: Flow, number: u64, config: &Config, packet_time: Time) -> Sender {
        let packets = config.format.data.count(flow.size_bytes);
        let free = config.free(packets);
        let until = flow.start + config.lasts(packet_time, free);
        Sender {
            flow,
            number,
            packets,
            left: packets,
            tokens: (0..free).map(|seq| Token { until, number: seq, seq }).collect(),
            sent: SeqSet::default(),
            turn: None,
            heard_at: flow.start,
            report: Report::default(),
        }
    }

    pub(super) fn flow(&self) -> &Flow {
        &self.flow
    }

    pub(super) fn report(&self) -> Report {
        self.report
    }

    pub(super) fn status(&self) -> FlowStatus {
        let waits_for = if self.tokens.is_empty() { "a token" } else { "the NIC: others go first" };
        FlowStatus { flow: self.flow.id, arrived: self.packets - self.left, packets: self.packets, waits_for }
    }

    /// Receivers acknowledge no single packet, so all that were sent count as in flight.
    pub(super) fn sending(&self) -> Sending {
        let in_flight = self.report.packets_sent - self.report.retransmissions;
        let arrived = self.packets - self.left;
        Sending { in_flight, arrived, report: self.report, ..Sending::default() }
    }

    /// The request to send.
    pub(super) fn request(&self) -> Header {
        Header::Request { packets: self.packets }
    }

    /// Whether to send another request: nothing arrived for long. Otherwise when to check again.
    pub(super) fn must_request(&mut self, config: &Config, now: Time) -> Result<(), Time> {
        let patient_until = self.heard_at + config.retry;
        if patient_until > now {
            return Err(patient_until);
        }
        self.heard_at = now;
        self.report.timeouts += 1;
        Ok(())
    }

    /// A token came.
    pub(super) fn receive(&mut self, number: u32, seq: u32, left: u32, now: Time, until: Time) {
        self.heard_at = now;
        self.left = left.min(self.packets);
        if seq < self.packets {
            self.tokens.push_back(Token { until, number, seq });
        }
    }

    /// The packet for the next token; `None`, if all have expired.
    pub(super) fn take(&mut self, config: &Config, now: Time) -> Option<Packet<Header>> {
        while self.tokens.front().is_some_and(|token| token.until < now) {
            self.tokens.pop_front();
        }
        let Token { number, seq, .. } = self.tokens.pop_front()?;
        self.report.packets_sent += 1;
        self.report.retransmissions += u32::from(!self.sent.insert(seq));
        Some(Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: config.priority(self.packets),
            size_bytes: config.format.wire_bytes(seq, self.packets, self.flow.size_bytes),
            kind: Kind::Data,
            class: self.flow.class,
            header: Header::Data { seq, packets: self.packets, token: number },
            ..Packet::default()
        })
    }
}

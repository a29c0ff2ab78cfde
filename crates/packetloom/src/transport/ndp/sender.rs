//! A flow at its sender.

use super::TIMEOUT;
use super::config::Config;
use super::header::Header;
use crate::engine::{Context, Report, Standing};
use crate::flow::Flow;
use crate::packet::{Kind, Packet};
use crate::transport::seq_set::SeqSet;
use crate::units::Time;
use std::collections::VecDeque;

/// A connection.
#[derive(Clone, Debug)]
pub struct Sender {
    flow: Flow,
    packets: u32,
    /// The first packet not acknowledged, and those acknowledged beyond it.
    una: u32,
    acked: SeqSet,
    /// The next packet never sent.
    next: u32,
    /// Packets that arrived trimmed: they go again, before new ones.
    trimmed: VecDeque<u32>,
    /// Packets of which nothing was heard since they were last sent, and when they left the host, the earliest first.
    in_flight: VecDeque<(u32, Time)>,
    /// All pulls so far, and those answered with a packet. Packets overtake each other, so a pull may come before the
    /// NACK that it is for: one that finds nothing to send is kept.
    pulls: u32,
    pulls_used: u32,
    /// When anything last left or was heard.
    active_at: Time,
    /// Timeouts without a word since.
    waits: u32,
    report: Report,
}

impl Sender {
    pub(super) fn new(flow: Flow, config: &Config) -> Sender {
        Sender {
            flow,
            packets: config.format.data.packets(flow.size_bytes) as u32,
            una: 0,
            acked: SeqSet::default(),
            next: 0,
            trimmed: VecDeque::new(),
            in_flight: VecDeque::new(),
            pulls: 0,
            pulls_used: 0,
            active_at: flow.start,
            waits: 0,
            report: Report::default(),
        }
    }

    pub(super) fn flow(&self) -> &Flow {
        &self.flow
    }

    pub(super) fn standing(&self) -> Standing {
        Standing {
            flow: self.flow.id,
            arrived: self.una + self.acked.len(),
            packets: self.packets,
            waits_for: "a pull, or its timeout",
        }
    }

    pub(super) fn report(&self) -> Report {
        self.report
    }

    /// Whether every packet is acknowledged.
    pub(super) fn is_done(&self) -> bool {
        self.una == self.packets
    }

    pub(super) fn send_first_window(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        for _ in 0..config.initial_window.min(self.packets) {
            self.send_next(config, context);
        }
        context.set_timer(self.deadline(config), self.flow.id, TIMEOUT);
    }

    /// Sends what was trimmed, or else something new; returns whether there was either.
    fn send_next(&mut self, config: &Config, context: &mut Context<'_, Header>) -> bool {
        while let Some(seq) = self.trimmed.pop_front() {
            if !self.is_acked(seq) {
                self.report.retransmissions += 1;
                self.send(seq, config, context);
                return true;
            }
        }
        let is_left = self.next < self.packets;
        if is_left {
            self.next += 1;
            self.send(self.next - 1, config, context);
        }
        is_left
    }

    fn send(&mut self, seq: u32, config: &Config, context: &mut Context<'_, Header>) {
        self.report.packets_sent += 1;
        let syn = seq < config.initial_window;
        context.send(Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            size_bytes: config.format.wire_bytes(seq, self.packets, self.flow.size_bytes),
            kind: Kind::Data,
            class: self.flow.class,
            header: Header::Data { seq, packets: self.packets, syn },
            ..Packet::default()
        });
        // The timeout is the network's: what waits at its own host is not late.
        let leaves_at = context.nic_drained_at();
        self.in_flight.push_back((seq, leaves_at));
        self.active_at = leaves_at;
    }

    /// The receiver's word.
    pub(super) fn heard(&mut self, header: Header, config: &Config, context: &mut Context<'_, Header>) {
        let (Header::Ack(word) | Header::Nack(word) | Header::Pull(word)) = header else { return };
        self.active_at = context.now;
        self.waits = 0;
        if word.next > self.una {
            self.una = word.next;
            self.acked.drop_below(word.next);
        }
        match header {
            Header::Ack(_) => self.acknowledged(word.seq),
            Header::Nack(_) => self.was_trimmed(word.seq),
            Header::Pull(_) | Header::Data { .. } => {}
        }
        self.pulls = self.pulls.max(word.pulls);
        while self.pulls_used < self.pulls && self.send_next(config, context) {
            self.pulls_used += 1;
        }
    }

    fn acknowledged(&mut self, seq: u32) {
        self.settle(seq);
        if seq >= self.una {
            self.acked.insert(seq);
        }
        if self.acked.contains(self.una) {
            self.una = self.acked.first_absent(self.una);
            self.acked.drop_below(self.una);
        }
    }

    fn was_trimmed(&mut self, seq: u32) {
        self.report.trims += 1;
        if self.settle(seq) && !self.is_acked(seq) {
            self.trimmed.push_back(seq);
        }
    }

    /// Something was heard of a packet in flight; returns whether it counted as that. Words come nearly in the order
    /// of sending, so the search is short.
    fn settle(&mut self, seq: u32) -> bool {
        let place = self.in_flight.iter().position(|(other, _)| *other == seq);
        place.and_then(|place| self.in_flight.remove(place)).is_some()
    }

    fn is_acked(&self, seq: u32) -> bool {
        seq < self.una || self.acked.contains(seq)
    }

    /// By when something must be heard: of the earliest packet in flight, or, if there is none, at all.
    fn deadline(&mut self, config: &Config) -> Time {
        while let Some(&(seq, _)) = self.in_flight.front()
            && self.is_acked(seq)
        {
            // Its acknowledgement was lost, but a later one covered it.
            self.in_flight.pop_front();
        }
        match self.in_flight.front() {
            Some(&(_, left_at)) => left_at + config.rto,
            None => self.active_at + config.patience(self.waits),
        }
    }

    /// The timer went off: sends again what is in flight for too long, or something, if it waited for a pull in vain.
    pub(super) fn timer(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        if self.in_flight.is_empty() && self.deadline(config) <= context.now {
            self.report.timeouts += 1;
            self.waits += 1;
            self.send_next(config, context);
        }
        while self.deadline(config) <= context.now
            && let Some((seq, _)) = self.in_flight.pop_front()
        {
            self.report.timeouts += 1;
            self.report.retransmissions += 1;
            self.send(seq, config, context);
        }
        context.set_timer(self.deadline(config), self.flow.id, TIMEOUT);
    }
}

//! A flow at its sender.

use super::TIMEOUT;
use super::config::Config;
use super::header::Header;
use crate::Sending;
use crate::engine::{Context, FlowStatus, Report};
use crate::flow::Flow;
use crate::narrow::narrow;
use crate::packet::{Ecn, Kind, Packet};
use crate::prefetch::prefetch;
use crate::routing::{Fate, Feedback};
use crate::seq_set::SeqSet;
use crate::units::Time;
use std::collections::VecDeque;

/// Of so many of the latest answers it counts how many were acknowledgements.
const REMEMBERED: u32 = 12;

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
struct Sent {
    seq: u32,
    path: u16,
    /// When it left the host.
    left_at: Time,
}

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
    /// Packets that arrived trimmed, came back, or are lost as the probe tells: they go again, before new ones.
    trimmed: VecDeque<u32>,
    /// Whether what is sent goes without a pull, and may be dropped before others.
    pushes: bool,
    /// Whether any came back.
    has_returned: bool,
    /// Whether each of the latest answers about a packet was an acknowledgement, the latest in the lowest bit.
    latest: u32,
    /// Answers about packets so far, each of which promises a pull; how many of them were NACKs.
    words: u32,
    nacks: u32,
    /// Packets not answered since they were last sent, the earliest first.
    in_flight: VecDeque<Sent>,
    /// All pulls so far, and those answered with a packet. Packets overtake each other, so a pull may come before
    /// the NACK that it is for: one that finds nothing to send is kept.
    pulls: u32,
    pulls_used: u32,
    /// When anything last left or arrived.
    active_at: Time,
    /// Timeouts of waiting for a pull since the last answer, of which a packet that comes back is none.
    waits: u32,
    report: Report,
}

impl Sender {
    pub(super) fn new(flow: Flow, config: &Config) -> Sender {
        Sender {
            flow,
            packets: config.format.data.count(flow.size_bytes),
            una: 0,
            acked: SeqSet::default(),
            next: 0,
            trimmed: VecDeque::new(),
            pushes: false,
            has_returned: false,
            latest: 0,
            words: 0,
            nacks: 0,
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

    pub(super) fn status(&self) -> FlowStatus {
        FlowStatus {
            flow: self.flow.id,
            arrived: self.una + self.acked.len(),
            packets: self.packets,
            waits_for: "a pull, or its timeout",
        }
    }

    pub(super) fn sending(&self) -> Sending {
        Sending {
            in_flight: narrow::<u32>(self.in_flight.len()),
            acknowledged: self.una,
            arrived: self.una + self.acked.len(),
            report: self.report,
            ..Sending::default()
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
        self.pushes = config.aeolus;
        for _ in 0..config.initial_window.min(self.packets) {
            self.send_next(config, context);
        }
        self.pushes = false;
        if config.aeolus {
            let probe = Header::Probe { sent: self.next, packets: self.packets };
            // Where queues rank, it must not overtake what it is behind.
            let packet = config.control_packet(self.flow.id, self.flow.dst, self.flow.class, probe);
            context.send(Packet { priority: Packet::<Header>::default().priority, ..packet });
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
        let path = context.send(Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            size_bytes: config.format.wire_bytes(seq, self.packets, self.flow.size_bytes),
            kind: Kind::Data,
            class: self.flow.class,
            ecn: if config.aeolus && !self.pushes { Ecn::Ect0 } else { Ecn::NotCapable },
            header: Header::Data { seq, packets: self.packets, syn },
            ..Packet::default()
        });
        // The timeout is the network's: what waits at its own host is not late.
        let left_at = context.nic_drained_at(self.flow.id, path, || self.flow.dst);
        self.in_flight.push_back(Sent { seq, path, left_at });
        self.active_at = left_at;
    }

    /// The receiver's answer.
    pub(super) fn answered(&mut self, header: Header, config: &Config, context: &mut Context<'_, Header>) {
        let (Header::Ack(reply) | Header::Nack(reply) | Header::Pull(reply) | Header::Probed(reply)) = header
        else {
            return;
        };
        self.active_at = context.now;
        self.waits = 0;
        if reply.next > self.una {
            self.una = reply.next;
            self.acked.drop_below(reply.next);
        }
        match header {
            Header::Ack(_) => self.acknowledged(reply.seq, context),
            Header::Nack(_) => self.was_trimmed(reply.seq, context),
            Header::Probed(_) => {
                // What was pulled in vain is void: what is lost goes at the pace of the pulls that it is owed.
                self.pulls_used = self.pulls_used.max(reply.seq);
                self.lost_before_probe(config.initial_window.min(self.packets), context);
            }
            Header::Pull(_) | Header::Data { .. } | Header::Probe { .. } => {}
        }
        self.pulls = self.pulls.max(reply.pulls);
        while self.pulls_used < self.pulls && self.send_next(config, context) {
            self.pulls_used += 1;
        }
        if self.has_returned && self.is_forgotten(config) {
            self.send_next(config, context);
        }
    }

    /// A packet came back: even its header fitted into no queue. Sent at once it would meet the same congestion, so
    /// in general it waits for a pull. It goes at once where no pull is due, or where others get through, which
    /// means that its path was bad (NDP §3.2.4).
    pub(super) fn came_back(&mut self, seq: u32, config: &Config, context: &mut Context<'_, Header>) {
        self.report.returns += 1;
        if !self.settle(seq, Fate::Lost, context) || self.is_acked(seq) {
            return;
        }
        self.has_returned = true;
        self.active_at = context.now;
        self.trimmed.push_front(seq);
        self.latest <<= 1;
        if self.is_forgotten(config) || self.others_get_through() {
            self.send_next(config, context);
        }
    }

    /// Whether the receiver has nothing to pull for: nothing is on its way, and every pull that was promised has
    /// come.
    fn is_forgotten(&self, config: &Config) -> bool {
        let beyond_first_window = self.packets.saturating_sub(config.initial_window);
        let promised = if config.pull_for_each { self.words } else { beyond_first_window + self.nacks };
        self.in_flight.is_empty() && promised <= self.pulls
    }

    /// Whether at least a quarter of the latest packets arrived whole: then the network as a whole is not full
    /// (csg-htsim).
    fn others_get_through(&self) -> bool {
        (self.latest & ((1 << REMEMBERED) - 1)).count_ones() * 4 >= REMEMBERED
    }

    fn acknowledged(&mut self, seq: u32, context: &mut Context<'_, Header>) {
        self.words += 1;
        self.latest = self.latest << 1 | 1;
        self.settle(seq, Fate::Whole, context);
        if seq >= self.una {
            self.acked.insert(seq);
        }
        if self.acked.contains(self.una) {
            self.una = self.acked.first_absent(self.una);
            self.acked.drop_below(self.una);
        }
    }

    /// The probe came: what went before it, and is not acknowledged, goes again, before new packets.
    fn lost_before_probe(&mut self, sent: u32, context: &mut Context<'_, Header>) {
        for seq in self.una..sent {
            if !self.is_acked(seq) && self.settle(seq, Fate::Lost, context) {
                self.trimmed.push_back(seq);
            }
        }
    }

    fn was_trimmed(&mut self, seq: u32, context: &mut Context<'_, Header>) {
        self.words += 1;
        self.nacks += 1;
        self.latest <<= 1;
        self.report.trims += 1;
        if self.settle(seq, Fate::Trimmed, context) && !self.is_acked(seq) {
            self.trimmed.push_back(seq);
        }
    }

    /// Prefetches what an answer about a packet in flight will read.
    #[inline]
    pub(super) fn prefetch(&self) {
        self.in_flight.front().inspect(|first| prefetch(*first));
    }

    /// An answer about a packet in flight; returns whether the packet counted as in flight. Answers come nearly in
    /// the order of sending, so the search is short.
    fn settle(&mut self, seq: u32, fate: Fate, context: &mut Context<'_, Header>) -> bool {
        let place = self.in_flight.iter().position(|sent| sent.seq == seq);
        let Some(sent) = place.and_then(|place| self.in_flight.remove(place)) else { return false };
        self.judge(sent, fate, context);
        true
    }

    fn judge(&self, sent: Sent, fate: Fate, context: &mut Context<'_, Header>) {
        let Flow { id: flow, dst, .. } = self.flow;
        context.judge_path(&Feedback { flow, dst, path: sent.path, sent_at: sent.left_at, fate });
    }

    fn is_acked(&self, seq: u32) -> bool {
        seq < self.una || self.acked.contains(seq)
    }

    /// When the sender times out: by the earliest packet in flight or, if there is none, by the last activity.
    fn deadline(&mut self, config: &Config) -> Time {
        while let Some(sent) = self.in_flight.front()
            && self.is_acked(sent.seq)
        {
            // Its acknowledgement was lost, but a later one covered it.
            self.in_flight.pop_front();
        }
        match self.in_flight.front() {
            Some(sent) => sent.left_at + config.rto,
            None => self.active_at + config.patience(self.waits),
        }
    }

    /// The timer went off: sends again what is in flight for too long, or something, if it waited for a pull in vain.
    /// csg-htsim has no timer while nothing is in flight (NdpSrc::update_rtx_time). Pulls get lost here, and what is
    /// sent without one is answered, which promises another. So the wait grows only while nothing is answered.
    pub(super) fn timer(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        if self.in_flight.is_empty() && self.deadline(config) <= context.now {
            self.report.timeouts += 1;
            self.waits += 1;
            self.send_next(config, context);
        }
        while self.deadline(config) <= context.now
            && let Some(sent) = self.in_flight.pop_front()
        {
            self.report.timeouts += 1;
            self.report.retransmissions += 1;
            self.judge(sent, Fate::Lost, context);
            self.send(sent.seq, config, context);
        }
        context.set_timer(self.deadline(config), self.flow.id, TIMEOUT);
    }
}

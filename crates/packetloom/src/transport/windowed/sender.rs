//! The sending side: what to send, when it is lost, when to stop.
//!
//! A packet from `una` to below `next` is in the pipe unless it was acknowledged or is held lost. Held lost are those
//! below `lost_below` that are not acknowledged; below `retransmit_next` they were sent again. Under RACK it is RACK that
//! holds packets lost, each by itself.

use super::config::{Config, WindowMeasure};
use super::header::Header;
use super::prr::Prr;
use super::rack::{Arrival, Found, Rack};
use super::repair::Repair;
use super::window::{Acked, Congestion, Window};
use super::{RETRANSMIT, purpose_of};
use crate::engine::{Context, Report, Standing};
use crate::flow::Flow;
use crate::packet::{Kind, Packet};
use crate::transport::rto::Rto;
use crate::transport::seq_set::SeqSet;
use crate::units::Time;

/// A flow, or one of its subflows, at its sender.
#[derive(Clone, Debug)]
pub struct Sender<C> {
    flow: Flow,
    subflow: u8,
    packets: u32,
    /// The first packet not acknowledged.
    una: u32,
    /// The next packet never sent.
    next: u32,
    sacked: SeqSet,
    lost_below: u32,
    retransmit_next: u32,
    pipe: u32,
    window: Window,
    congestion: C,
    /// In fast recovery until this packet is acknowledged.
    recovery: Option<u32>,
    rto: Rto,
    /// Without timestamps: the packet whose round trip is being timed, and since when.
    timed: Option<(u32, Time)>,
    /// When the retransmission timer expires; its alarm may be set for earlier.
    expires: Time,
    alarm: Time,
    timeouts_in_a_row: u32,
    repair: Option<Box<Repair>>,
    report: Report,
}

impl<C: Congestion> Sender<C> {
    /// The sender of so many packets.
    pub fn new(flow: Flow, packets: u32, subflow: u8, config: &Config) -> Sender<C> {
        Sender {
            flow,
            subflow,
            packets,
            una: 0,
            next: 0,
            sacked: SeqSet::default(),
            lost_below: 0,
            retransmit_next: 0,
            pipe: 0,
            window: Window::new(&config.limits),
            congestion: C::new(&config.values, &flow),
            recovery: None,
            rto: Rto::new(&config.rto),
            timed: None,
            expires: Time::NEVER,
            alarm: Time::NEVER,
            timeouts_in_a_row: 0,
            repair: Repair::new(config),
            report: Report::default(),
        }
    }

    pub(super) fn flow(&self) -> &Flow {
        &self.flow
    }

    /// What it did.
    pub fn report(&self) -> Report {
        self.report
    }

    pub(super) fn is_done(&self) -> bool {
        self.una == self.packets
    }

    /// How it stands.
    pub(super) fn standing(&self) -> Standing {
        Standing {
            flow: self.flow.id,
            arrived: self.una + self.sacked.len(),
            packets: self.packets,
            waits_for: "an acknowledgement, or its retransmission timeout",
        }
    }

    /// The congestion control.
    pub fn congestion(&mut self) -> &mut C {
        &mut self.congestion
    }

    /// The window.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// The smoothed round-trip time, if any was measured.
    pub fn smoothed_rtt(&self) -> Option<Time> {
        self.rto.smoothed()
    }

    /// The first packet not acknowledged.
    pub fn una(&self) -> u32 {
        self.una
    }

    /// The packets that were sent and not acknowledged.
    pub fn outstanding(&self) -> impl Iterator<Item = u32> {
        (self.una..self.next).filter(|&seq| !self.sacked.contains(seq))
    }

    /// Whether the window has room for a packet beyond all that there are.
    pub fn wants_more(&self, config: &Config) -> bool {
        self.next == self.packets && self.candidate() == self.next && self.has_room(self.allowance(), config)
    }

    /// There is a packet more to send.
    pub fn extend(&mut self) {
        self.packets += 1;
    }

    /// Sends what the window allows: what is held lost first, then new data.
    pub fn transmit(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        let window = self.allowance();
        while self.has_room(window, config) && self.send_next(config, context) {}
        if self.expires == Time::NEVER && self.una < self.next {
            self.restart_timer(config, context);
        }
    }

    /// Whole packets that may be in flight: the window, or what PRR lets it be on its way there.
    #[inline]
    fn allowance(&self) -> u32 {
        let prr = self.repair.as_ref().and_then(|repair| repair.prr.as_ref());
        prr.map_or_else(|| self.window.packets(), Prr::limit)
    }

    fn rack(&self) -> Option<&Rack> {
        self.repair.as_ref()?.rack.as_ref()
    }

    fn rack_mut(&mut self) -> Option<&mut Rack> {
        self.repair.as_mut()?.rack.as_mut()
    }

    /// Sends what is held lost, or else new data; returns whether there was any.
    fn send_next(&mut self, config: &Config, context: &mut Context<'_, Header>) -> bool {
        let Some(seq) = self.choose() else { return false };
        self.pipe += 1;
        self.send_data(seq, config, context);
        true
    }

    /// Whether the window has room for what [`Sender::choose`] would send.
    #[inline]
    fn has_room(&self, window: u32, config: &Config) -> bool {
        match config.limit {
            WindowMeasure::Pipe => self.pipe < window,
            WindowMeasure::Sequence => self.candidate() < self.una + window,
        }
    }

    /// The first packet that may be sent, or sent again.
    fn candidate(&self) -> u32 {
        if let Some(rack) = self.rack() {
            return rack.next_lost().unwrap_or(self.next);
        }
        let hole = self.sacked.first_absent(self.retransmit_next);
        if hole < self.lost_below { hole } else { self.next }
    }

    fn choose(&mut self) -> Option<u32> {
        if let Some(seq) = self.rack().and_then(Rack::next_lost) {
            self.report.retransmissions += 1;
            return Some(seq);
        }
        if self.retransmit_next < self.lost_below {
            let hole = self.sacked.first_absent(self.retransmit_next);
            self.retransmit_next = (hole + 1).min(self.lost_below);
            if hole < self.lost_below {
                self.report.retransmissions += 1;
                return Some(hole);
            }
        }
        (self.next < self.packets).then(|| {
            self.next += 1;
            self.next - 1
        })
    }

    fn send_data(&mut self, seq: u32, config: &Config, context: &mut Context<'_, Header>) {
        if let Some(repair) = &mut self.repair {
            repair.sent(seq, context.now);
        }
        let last = seq + 1 == self.packets;
        let is_new = seq + 1 == self.next;
        if is_new && self.timed.is_none() {
            self.timed = Some((seq, context.now));
        }
        let header = Header { sent_at: context.now, seq, last, subflow: self.subflow, ..Header::default() };
        let sent_bytes = u64::from(self.next) * config.format.data.mss_bytes;
        self.report.packets_sent += 1;
        let mut packet = Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: config.priority.number(&self.flow, self.remaining_bytes(config), context.now),
            size_bytes: config.format.wire_bytes(seq, self.packets, self.flow.size_bytes),
            kind: Kind::Data,
            class: self.flow.class,
            ecn_capable: C::ECN,
            path: self.subflow.into(),
            header,
            ..Packet::default()
        };
        self.congestion.label(sent_bytes, &mut packet);
        context.send(packet);
    }

    /// What the receiver lacks as far as is known: the flow's end less what was acknowledged, also selectively.
    fn remaining_bytes(&self, config: &Config) -> u64 {
        let acknowledged = u64::from(self.una + self.sacked.len()) * config.format.data.mss_bytes;
        self.flow.size_bytes.saturating_sub(acknowledged).max(1)
    }

    /// An acknowledgement came.
    pub fn acknowledged(&mut self, header: &Header, config: &Config, context: &mut Context<'_, Header>) {
        self.timeouts_in_a_row = 0;
        self.measure_round_trip(header, config, context.now);
        let advanced = header.ack > self.una;
        let arrival = Arrival { now: context.now, echo: config.timestamps.then_some(header.sent_at) };
        let packets = self.advance(header.ack, arrival) + self.note_blocks(header, arrival);
        let found = self.detect(config, context);
        let enters_recovery = self.is_congestion(found);
        if enters_recovery {
            self.enter_recovery(packets, config);
        }
        self.leave_recovery();
        if let Some(prr) = self.repair.as_mut().and_then(|repair| repair.prr.as_mut()) {
            prr.acknowledged(packets, self.pipe, advanced && found.lost == 0);
        }
        if self.recovery.is_none() {
            let acked = Acked {
                packets,
                advanced: advanced && !self.is_reducing(),
                echo: header.echo,
                una: self.una,
                next: self.next,
                now: context.now,
                rtt: self.rto.smoothed().unwrap_or(Time::ZERO),
            };
            let before = self.window.packets();
            self.congestion.acknowledged(acked, &mut self.window);
            if config.prr && self.window.packets() < before {
                self.reduce_for_marks(acked);
            }
        }
        if advanced {
            self.expires = Time::NEVER;
        }
        if enters_recovery && !config.prr {
            // RFC 6675 §5 (4.3): the first loss is repaired at once, whatever the window says.
            self.send_next(config, context);
        }
        self.transmit(config, context);
    }

    /// With timestamps every acknowledgement tells a round-trip time (RFC 7323 §4.1); without, one packet at a time is
    /// timed, and only if it was sent once (Karn's algorithm, RFC 6298 §3), so progress alone ends the doubling.
    fn measure_round_trip(&mut self, header: &Header, config: &Config, now: Time) {
        if config.timestamps {
            self.rto.measured(now.since(header.sent_at), &config.rto);
        } else if header.ack > self.una {
            self.rto.progressed();
            if let Some((_, sent_at)) = self.timed.take_if(|(seq, _)| header.ack > *seq) {
                self.rto.measured(now.since(sent_at), &config.rto);
            }
        }
    }

    /// Whether a packet that is not acknowledged counts as in the pipe.
    #[inline]
    fn in_pipe(&self, seq: u32) -> bool {
        seq < self.next && (seq >= self.lost_below || seq < self.retransmit_next)
    }

    /// Every packet before `ack` arrived; returns how many of them are news.
    fn advance(&mut self, ack: u32, arrival: Arrival) -> u32 {
        let mut news = 0;
        for seq in self.una..ack {
            if !self.sacked.contains(seq) {
                news += 1;
                let left_pipe = match self.rack_mut() {
                    None => self.in_pipe(seq),
                    Some(rack) => rack.delivered(seq, arrival),
                };
                self.pipe -= u32::from(left_pipe);
            }
        }
        if ack > self.una {
            self.una = ack;
            if let Some(rack) = self.rack_mut() {
                rack.acknowledged(ack);
            }
            self.lost_below = self.lost_below.max(ack);
            self.retransmit_next = self.retransmit_next.max(ack);
            self.sacked.drop_below(ack);
        }
        news
    }

    fn note_blocks(&mut self, header: &Header, arrival: Arrival) -> u32 {
        let (lost_below, retransmit_next) = (self.lost_below, self.retransmit_next);
        let mut rack = self.repair.as_mut().and_then(|repair| repair.rack.as_mut());
        let (mut news, mut left_pipe) = (0, 0);
        for block in header.blocks.iter().filter(|block| block.length > 0) {
            let from = (header.ack + u32::from(block.offset)).max(self.una);
            let to = header.ack + u32::from(block.offset) + u32::from(block.length);
            self.sacked.insert_range(from, to.max(from), |seq| {
                news += 1;
                left_pipe += u32::from(match &mut rack {
                    None => seq >= lost_below || seq < retransmit_next,
                    Some(rack) => rack.delivered(seq, arrival),
                });
            });
        }
        self.pipe -= left_pipe;
        news
    }

    /// Finds what is lost, and takes it from the pipe.
    fn detect(&mut self, config: &Config, context: &mut Context<'_, Header>) -> Found {
        let Some(threshold) = config.duplicate_threshold else { return Found::default() };
        let found = if self.rack().is_some() {
            self.detect_by_time(threshold, context)
        } else {
            Found { lost: self.detect_by_count(threshold), again: false }
        };
        self.pipe -= found.lost;
        found
    }

    /// RFC 6675's IsLost: a hole is lost once `threshold` packets beyond it have arrived. Returns how many are newly so.
    fn detect_by_count(&mut self, threshold: u32) -> u32 {
        let Some(proof) = self.sacked.nth_largest(threshold) else { return 0 };
        if proof <= self.lost_below {
            return 0;
        }
        let from = self.lost_below;
        self.lost_below = proof;
        proof - from - self.sacked.count_in(from, proof)
    }

    /// RFC 8985 §6.2, after its step 3.
    fn detect_by_time(&mut self, threshold: u32, context: &mut Context<'_, Header>) -> Found {
        self.leave_recovery();
        let window = self.reordering_window(threshold);
        let Some(rack) = self.repair.as_mut().and_then(|repair| repair.rack.as_mut()) else {
            return Found::default();
        };
        let before = rack.looks_again;
        let found = rack.detect(context.now, window, &self.sacked);
        if let Some(at) = rack.looks_again.filter(|&at| before != Some(at)) {
            context.set_timer(at, self.flow.id, purpose_of(RETRANSMIT, self.subflow));
        }
        found
    }

    /// How long RACK waits for what may come out of order.
    fn reordering_window(&self, threshold: u32) -> Time {
        self.rack().map_or(Time::ZERO, |rack| {
            let is_repairing = self.recovery.is_some() || rack.after_timeout.is_some();
            rack.reordering_window(is_repairing || self.sacked.len() >= threshold, self.rto.smoothed())
        })
    }

    /// Whether a loss begins a recovery, in which the window is reduced. After a timeout, which reduced it, only the loss
    /// of a retransmission does (RFC 5681 §4.3: it counts twice).
    fn is_congestion(&self, found: Found) -> bool {
        let is_after_timeout = || self.rack().is_some_and(|rack| rack.after_timeout.is_some());
        found.lost > 0 && self.recovery.is_none() && (found.again || !is_after_timeout())
    }

    /// A loss was found as so many packets turned out to have arrived.
    fn enter_recovery(&mut self, delivered: u32, config: &Config) {
        self.recovery = Some(self.next);
        self.congestion.lost(self.flight_size(), &mut self.window);
        let Some(repair) = &mut self.repair else { return };
        if config.prr {
            let outstanding = self.next - self.una - self.sacked.len();
            repair.prr = Some(Prr::new(outstanding + delivered, self.window.packets(), self.pipe));
            repair.reduces_until = self.next;
        }
        if let Some(rack) = &mut repair.rack {
            rack.after_timeout = None;
        }
    }

    /// The window shrank because of marks: the pipe follows as in loss recovery, until something is acknowledged that was
    /// sent after (RFC 3168 §6.1.2), as on Linux.
    fn reduce_for_marks(&mut self, acked: Acked) {
        let Some(repair) = &mut self.repair else { return };
        let mut prr = Prr::new(self.pipe + acked.packets, self.window.packets(), self.pipe);
        prr.acknowledged(acked.packets, self.pipe, acked.advanced);
        repair.prr = Some(prr);
        repair.reduces_until = acked.next + 1;
    }

    /// Whether the pipe is on its way to a smaller window.
    fn is_reducing(&self) -> bool {
        self.repair.as_ref().is_some_and(|repair| repair.prr.is_some())
    }

    /// Ends loss recovery when all that was sent before it is acknowledged.
    fn leave_recovery(&mut self) {
        if self.recovery.is_some_and(|point| self.una >= point) {
            self.recovery = None;
        }
        if self.repair.as_ref().is_some_and(|repair| self.una >= repair.reduces_until) {
            self.end_prr();
        }
    }

    fn end_prr(&mut self) {
        if let Some(repair) = &mut self.repair {
            repair.prr = None;
        }
    }

    /// What was sent and not cumulatively acknowledged (RFC 5681 §2: FlightSize). Where selective acknowledgements
    /// have moved the window on beyond a hole, no more than the window counts.
    fn flight_size(&self) -> u32 {
        (self.next - self.una).min(self.window.packets())
    }

    /// The alarm of the retransmission timer went off.
    pub fn timer(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        if self.rack().and_then(|rack| rack.looks_again).is_some_and(|at| at <= context.now) {
            self.look_again(config, context);
        }
        if context.now < self.alarm {
            return;
        }
        self.alarm = Time::NEVER;
        if self.expires > context.now {
            self.set_alarm(context);
            return;
        }
        self.report.timeouts += 1;
        self.timeouts_in_a_row += 1;
        let in_flight = self.flight_size();
        self.congestion.timed_out(in_flight, self.timeouts_in_a_row > 1, &mut self.window);
        self.hold_lost(config, context.now);
        self.recovery = None;
        self.timed = None;
        self.rto.expired(&config.rto);
        self.expires = Time::NEVER;
        if config.probe_after.is_some_and(|limit| self.timeouts_in_a_row >= limit) {
            self.send_probe(config, context);
            self.restart_timer(config, context);
        } else {
            self.transmit(config, context);
        }
    }

    /// After a timeout: all that was sent and not acknowledged is lost, under RACK only what was sent long enough ago. There
    /// is room for one packet in any case (RFC 6298 §5.4).
    fn hold_lost(&mut self, config: &Config, now: Time) {
        self.end_prr();
        let window = self.reordering_window(config.duplicate_threshold.unwrap_or(u32::MAX));
        if let Some(rack) = self.repair.as_mut().and_then(|repair| repair.rack.as_mut()) {
            self.pipe -= rack.timed_out(self.next, now, window, &self.sacked);
            self.window.make_room(self.pipe + 1);
        } else {
            self.lost_below = self.next;
            self.retransmit_next = self.una;
            self.pipe = 0;
        }
    }

    /// RACK's reordering timer went off: what has not come by now is lost.
    fn look_again(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        let found = self.detect(config, context);
        if self.is_congestion(found) {
            self.enter_recovery(0, config);
        }
        self.transmit(config, context);
    }

    /// A packet without payload that asks what arrived (pFabric's probe mode).
    fn send_probe(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        let remaining_bytes = self.remaining_bytes(config);
        context.send(Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: config.priority.number(&self.flow, remaining_bytes, context.now),
            size_bytes: config.format.ack_bytes,
            kind: Kind::Control,
            class: self.flow.class,
            path: self.subflow.into(),
            header: Header {
                sent_at: context.now,
                seq: self.una,
                subflow: self.subflow,
                ..Header::default()
            },
            ..Packet::default()
        });
    }

    fn restart_timer(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        self.expires = context.now + self.rto.current(&config.rto);
        if self.alarm > self.expires {
            self.set_alarm(context);
        }
    }

    fn set_alarm(&mut self, context: &mut Context<'_, Header>) {
        self.alarm = self.expires;
        if self.alarm != Time::NEVER {
            context.set_timer(self.alarm, self.flow.id, purpose_of(RETRANSMIT, self.subflow));
        }
    }
}

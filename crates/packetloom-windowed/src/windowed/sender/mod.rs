//! The sending side: what to send, and when to stop. What arrives, what is lost and what the timers do have files of
//! their own.
//!
//! A packet from `una` to below `next` is in the pipe unless it was acknowledged or is held lost. Held lost are
//! those below `lost_below` that are not acknowledged; below `retransmit_next` they were sent again. Under RACK it
//! is RACK that holds packets lost, each by itself.

mod acknowledgements;
mod connection;
mod recovery;
mod timer;

pub use connection::Idle;

use super::config::{Config, Setup, WindowMeasure};
use super::extras::{Extras, Flight};
use super::header::Header;
use super::prr::Prr;
use super::rack::Rack;
use super::view::Limit;
use super::window::{Congestion, Window};
use super::{RETRANSMIT, purpose_of};
use crate::Sending;
use crate::connections::Step;
use crate::engine::{Context, FlowStatus, Report};
use crate::flow::Flow;
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::rto::Rto;
use crate::seq_set::SeqSet;
use crate::spec::Values;
use crate::units::Time;

/// A flow, or one of its subflows, at its sender.
#[derive(Clone, Debug)]
pub struct Sender<C> {
    flow: Flow,
    subflow: u8,
    /// After a timeout: of what is held lost, what has arrived is sent again, too.
    resends_all: bool,
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
    /// When data was sent last, if that matters.
    last_sent: Time,
    extras: Option<Box<Extras>>,
    report: Report,
}

/// What is noted for a control that measures. Of one that does not there is nothing, which the compiler knows.
#[inline]
fn flight_of<C: Congestion>(extras: &mut Option<Box<Extras>>) -> Option<&mut Flight> {
    if C::MEASURES { extras.as_mut()?.flight.as_mut() } else { None }
}

impl<C: Congestion> Sender<C> {
    /// The sender of a whole flow.
    pub fn of(flow: Flow, setup: &Setup<C>) -> Sender<C> {
        Sender::new(flow, setup.format.data.count(flow.size_bytes), 0, setup)
    }

    /// Goes on with other values of what its congestion control lets be set.
    pub(super) fn set(&mut self, values: &Values) {
        self.congestion.set(values);
    }

    /// The sender of so many packets.
    pub fn new(flow: Flow, packets: u32, subflow: u8, setup: &Setup<C>) -> Sender<C> {
        Sender {
            flow,
            subflow,
            resends_all: false,
            packets,
            una: 0,
            next: 0,
            sacked: SeqSet::default(),
            lost_below: 0,
            retransmit_next: 0,
            pipe: 0,
            window: setup.window(),
            congestion: setup.control(&flow),
            recovery: None,
            rto: Rto::new(&setup.rto),
            timed: None,
            expires: Time::NEVER,
            alarm: Time::NEVER,
            timeouts_in_a_row: 0,
            last_sent: Time::ZERO,
            extras: Extras::new(setup),
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

    /// Its status.
    pub(super) fn status(&self) -> FlowStatus {
        FlowStatus {
            flow: self.flow.id,
            arrived: self.una + self.sacked.len(),
            packets: self.packets,
            waits_for: "an acknowledgement, or its retransmission timeout",
        }
    }

    /// What it may send, and what it has sent.
    pub fn sending(&self) -> Sending {
        Sending {
            window: Some(self.window.cwnd_packets()),
            rate: self.congestion.pacing_rate(),
            rtt: self.rto.smoothed(),
            congestion: None,
            in_flight: self.pipe,
            acknowledged: self.una,
            arrived: self.una + self.sacked.len(),
            report: self.report,
        }
    }

    /// The flow starts.
    #[inline]
    pub(super) fn begin(&mut self, context: &mut Context<'_, Header>) {
        if C::DRAWS {
            self.congestion.seed(context.random.bits());
        }
        if let Some(rtt) = self.rto.smoothed() {
            self.congestion.knows_round_trip(rtt);
        }
        self.congestion.started(&mut self.window);
        self.report_error(context);
    }

    /// Ends the run if the congestion control made an error.
    #[inline]
    pub(super) fn report_error(&mut self, context: &mut Context<'_, Header>) {
        if let Some(error) = self.congestion.take_error() {
            context.refuse(self.flow.id, error);
        }
    }

    /// The congestion control.
    pub fn congestion(&mut self) -> &mut C {
        &mut self.congestion
    }

    /// The congestion control, to be read.
    pub fn control(&self) -> &C {
        &self.congestion
    }

    /// The congestion control and the window, for what comes from elsewhere than the network.
    pub fn steer(&mut self) -> (&mut C, &mut Window) {
        (&mut self.congestion, &mut self.window)
    }

    /// Whether there is a packet to send that the window allows: if it was not sent, the pace holds it back.
    pub fn is_ready(&self, config: &Config) -> bool {
        self.candidate() < self.packets && self.has_room(self.allowance(), config)
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

    /// Whether the window allows a packet beyond all that there are.
    pub fn wants_more(&self, config: &Config) -> bool {
        self.next == self.packets && self.candidate() == self.next && self.has_room(self.allowance(), config)
    }

    /// There is a packet more to send.
    pub fn extend(&mut self) {
        self.packets += 1;
    }

    /// Leaves out so many full packets that were never sent, if there are more.
    pub(super) fn shorten(&mut self, packets: u32, mss_bytes: u64) -> bool {
        let is_enough = packets < self.packets - self.next;
        if is_enough {
            self.packets -= packets;
            self.flow.size_bytes -= u64::from(packets) * mss_bytes;
        }
        is_enough
    }

    /// Sends what the window allows: what is held lost first, then new data.
    pub fn transmit(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        if config.quiet_restart {
            self.restart_when_quiet(config, context.now);
        }
        let window = self.allowance();
        while self.has_room(window, config)
            && self.pace_allows(context.now)
            && self.send_next(config, context)
        {}
        if C::MEASURES {
            self.note_limit(window, config, context);
        }
        if self.expires == Time::NEVER && self.una < self.next {
            self.restart_timer(config, context);
        }
    }

    /// As ns-2's FullTcp: the least timeout and the doubling don't count, and the window may grow by it.
    fn restart_when_quiet(&mut self, config: &Config, now: Time) {
        let is_quiet = self.una == self.next && (1..self.packets).contains(&self.next);
        if is_quiet && now.since(self.last_sent) > self.rto.estimate(&config.rto) {
            self.window.restart(&config.window());
        }
    }

    /// Whole packets that may be in flight: the window, or what PRR lets it be on its way there.
    #[inline]
    fn allowance(&self) -> u32 {
        let prr = self.extras.as_ref().and_then(|extras| extras.prr.as_ref());
        prr.map_or_else(|| self.window.packets(), Prr::limit)
    }

    /// Whether the pace lets a packet go, if there is one.
    #[inline]
    fn pace_allows(&self, now: Time) -> bool {
        let flight = || self.extras.as_ref().and_then(|extras| extras.flight.as_ref());
        self.congestion.may_send(now) && (!C::PACES || flight().is_none_or(|flight| flight.pacer.allows(now)))
    }

    /// Notes why it stopped sending, and sees to it that it goes on when the pace lets it.
    fn note_limit(&mut self, window: u32, config: &Config, context: &mut Context<'_, Header>) {
        let limit = if !self.has_room(window, config) {
            Limit::Window
        } else if self.candidate() >= self.packets {
            Limit::Application
        } else {
            Limit::Pacing
        };
        let is_restrained = limit == Limit::Application || self.congestion.is_restrained();
        let in_flight_bytes = u64::from(self.pipe) * config.format.data.mss_bytes;
        let (flow, subflow) = (self.flow.id, self.subflow);
        let Some(flight) = flight_of::<C>(&mut self.extras) else { return };
        flight.deliveries.stopped(limit);
        if is_restrained {
            flight.deliveries.mark_app_limited(in_flight_bytes);
        }
        if limit == Limit::Pacing
            && let Some(at) = flight.pacer.wants_alarm()
        {
            context.set_timer(at, flow, purpose_of(RETRANSMIT, subflow));
        }
    }

    fn rack(&self) -> Option<&Rack> {
        self.extras.as_ref()?.rack.as_ref()
    }

    fn rack_mut(&mut self) -> Option<&mut Rack> {
        self.extras.as_mut()?.rack.as_mut()
    }

    /// Sends what is held lost, or else new data; returns whether there was any.
    fn send_next(&mut self, config: &Config, context: &mut Context<'_, Header>) -> bool {
        let Some(seq) = self.choose(context.now) else { return false };
        self.pipe += u32::from(!config.resends_all || !self.sacked.contains(seq));
        self.send_data(seq, Step::Nothing, config, context);
        true
    }

    /// Whether the window allows what [`Sender::choose`] would send.
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
        let hole = self.hole();
        if hole < self.lost_below { hole } else { self.next }
    }

    /// The first packet from `retransmit_next` on that is sent again if it is held lost.
    #[inline]
    fn hole(&self) -> u32 {
        let from = self.retransmit_next;
        if self.resends_all && from < self.lost_below { from } else { self.sacked.first_absent(from) }
    }

    /// What to send. The round trip of a packet is timed only if it was never sent before (Karn's algorithm, RFC 6298
    /// §3).
    fn choose(&mut self, now: Time) -> Option<u32> {
        if let Some(seq) = self.rack().and_then(Rack::next_lost) {
            self.report.retransmissions += 1;
            self.untime(seq);
            return Some(seq);
        }
        if self.retransmit_next < self.lost_below {
            let hole = self.hole();
            self.retransmit_next = (hole + 1).min(self.lost_below);
            if hole < self.lost_below {
                self.report.retransmissions += 1;
                self.untime(hole);
                return Some(hole);
            }
        }
        if self.next == self.packets {
            return None;
        }
        let seq = self.next;
        self.next += 1;
        self.timed = self.timed.or(Some((seq, now)));
        Some(seq)
    }

    /// A packet that was timed is sent again.
    fn untime(&mut self, seq: u32) {
        self.timed = self.timed.filter(|&(timed, _)| timed != seq);
    }

    #[inline]
    fn send_data(&mut self, seq: u32, step: Step, config: &Config, context: &mut Context<'_, Header>) {
        if let Some(extras) = &mut self.extras {
            extras.sent(seq, context.now);
        }
        if C::MEASURES {
            self.note_sent(seq, config, context.now);
        }
        let last = seq + 1 == self.packets;
        let header =
            Header { sent_at: context.now, seq, last, subflow: self.subflow, step, ..Header::default() };
        let sent_bytes = u64::from(self.next) * config.format.data.mss_bytes;
        self.report.packets_sent += 1;
        if config.quiet_restart {
            self.last_sent = context.now;
        }
        let mut packet = Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: config.priority.number(&self.flow, self.remaining_bytes(config), context.now),
            size_bytes: config.format.wire_bytes(seq, self.packets, self.flow.size_bytes),
            kind: Kind::Data,
            class: self.flow.class,
            ecn: config.ecn,
            path: self.subflow.into(),
            header,
            ..Packet::default()
        };
        self.congestion.label(sent_bytes, &mut packet);
        context.send(packet);
    }

    fn note_sent(&mut self, seq: u32, config: &Config, now: Time) {
        let wire_bytes = config.format.wire_bytes(seq, self.packets, self.flow.size_bytes);
        let bytes = u32::from(wire_bytes) - narrow::<u32>(config.format.data.header_bytes);
        let rate = self.congestion.pacing_rate();
        let in_flight = self.pipe;
        let Some(flight) = flight_of::<C>(&mut self.extras) else { return };
        flight.deliveries.sent(seq, bytes, in_flight, now);
        if let Some(rate) = rate {
            flight.pacer.sent(bytes, rate, now);
        }
    }

    /// What the receiver lacks as far as is known: the flow's end less what was acknowledged, also selectively.
    fn remaining_bytes(&self, config: &Config) -> u64 {
        let acknowledged = u64::from(self.una + self.sacked.len()) * config.format.data.mss_bytes;
        self.flow.size_bytes.saturating_sub(acknowledged).max(1)
    }
}

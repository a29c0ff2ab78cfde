//! A flow at its sender.

use super::Host;
use super::config::Config;
use super::credit::{Credit, Turn, Wish};
use super::flight::{AckedFrom, Flight, Sent};
use super::header::{Ack, Answers, Header, Nack};
use super::service::Service;
use super::sleek::{self, Sleek};
use super::window::{News, Window};
use crate::Sending;
use crate::engine::{FlowStatus, Report};
use crate::flow::Flow;
use crate::narrow::narrow;
use crate::packet::{Ecn, Kind, Packet};
use crate::routing::{Fate, Feedback};
use crate::units::{Rate, Time};

/// What goes by credit that was given comes before what goes without.
const PULLED: u32 = 1;
const SPECULATIVE: u32 = 2;

/// A sender with nothing outstanding that hears nothing asks for credit after the time of so many timeouts: for longer
/// than it waits for its turn among two hundred others. The time doubles so often at most until a pull comes.
const PATIENCE: u64 = 8;
const MOST_DOUBLINGS: u32 = 3;

/// Between two tries a sender stays silent for so many timeouts at most.
pub const LONGEST_SILENCE: u64 = PATIENCE << MOST_DOUBLINGS;

/// A connection.
#[derive(Clone, Debug)]
pub struct Sender {
    flow: Flow,
    packets: u32,
    last_bytes: i64,
    pub flight: Flight,
    /// Bytes with headers: never sent, to be sent again, on their way.
    new: i64,
    again: i64,
    pub in_flight: i64,
    /// What arrived, according to the receiver; modulo 2^32.
    pub received: u32,
    pub window: Option<Window>,
    credit: Option<Credit>,
    /// The credit target of the last request.
    target: u32,
    sleek: Option<Box<Sleek>>,
    /// Whether it waits for its turn at the host's link.
    pub is_queued: bool,
    /// By which of the host's links it goes.
    pub lane: u16,
    /// When it last requested credit, and whether that is still to be acknowledged.
    requested_at: Option<Time>,
    request_is_out: bool,
    /// It needed a request so soon after another that none went.
    owes_request: bool,
    /// How often it asked because it heard nothing, since the last pull.
    reminders: u32,
    /// When anything last left or arrived.
    active_at: Time,
    /// When the earliest timers go off that are set for timeouts, and for probes.
    alarm_at: Time,
    probe_alarm_at: Time,
    /// The path of an ordered flow that has begun.
    path: Option<u16>,
    pub report: Report,
}

/// What became of a flow's turn at a host with several links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A packet went.
    Sent,
    /// It has none that may go.
    Nothing,
    /// The next has to go by a link that is not free.
    Waits,
}

impl Sender {
    pub fn new(flow: Flow, lane: u16, rate: Rate, config: &Config) -> Sender {
        let packets = config.format.data.count(flow.size_bytes);
        Sender {
            flow,
            packets,
            last_bytes: config.format.wire_bytes(packets - 1, packets, flow.size_bytes).into(),
            flight: Flight::new(packets),
            new: narrow::<i64>(config.format.data.wire_bytes(flow.size_bytes)),
            again: 0,
            in_flight: 0,
            received: 0,
            window: config.window(rate),
            credit: config.credit(rate).map(Credit::new),
            target: 0,
            sleek: config.sleek.map(|settings| Box::new(Sleek::new(settings))),
            is_queued: false,
            lane,
            requested_at: None,
            request_is_out: false,
            owes_request: false,
            reminders: 0,
            active_at: flow.start,
            alarm_at: Time::NEVER,
            probe_alarm_at: Time::NEVER,
            path: None,
            report: Report::default(),
        }
    }

    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    pub fn report(&self) -> Report {
        self.report
    }

    pub fn sending(&self, config: &Config) -> Sending {
        let mtu = config.mtu();
        // Nobody says what arrived of an unreliable flow.
        let knows = u32::from(config.service != Service::Uud);
        Sending {
            window: self.window.as_ref().map(|window| window.cwnd() as f64 / mtu as f64),
            rate: None,
            rtt: self.window.as_ref().and_then(Window::rtt),
            congestion: None,
            in_flight: narrow::<u32>(narrow::<u64>(self.in_flight.max(0)).div_ceil(narrow::<u64>(mtu))),
            acknowledged: knows * self.flight.first(),
            arrived: knows * self.flight.arrived(),
            report: self.report,
        }
    }

    pub fn status(&self) -> FlowStatus {
        FlowStatus {
            flow: self.flow.id,
            arrived: self.flight.arrived(),
            packets: self.packets,
            waits_for: "credit, an acknowledgement, or its timeout",
        }
    }

    /// Whether every packet is acknowledged, or, of an unreliable flow, was sent.
    pub fn is_done(&self) -> bool {
        self.flight.first() == self.packets
    }

    #[inline]
    pub fn bytes(&self, seq: u32, config: &Config) -> i64 {
        if seq + 1 == self.packets { self.last_bytes } else { config.mtu() }
    }

    /// The next packet to send, and whether again: what was lost goes before what is new.
    #[inline]
    fn next(&mut self) -> Option<(u32, bool)> {
        if self.flight.has_lost() {
            return self.flight.next_again().map(|seq| (seq, true));
        }
        let next = self.flight.next();
        (next < self.packets).then_some((next, false))
    }

    fn fits_window(&self, bytes: i64) -> bool {
        let recovers =
            || self.sleek.as_ref().is_some_and(|sleek| sleek.is_recovering()) && self.flight.has_lost();
        self.window.as_ref().is_none_or(|window| self.in_flight + bytes <= window.cwnd() || recovers())
    }

    /// Whether it has something to send, and may.
    pub fn may_send(&mut self, config: &Config) -> bool {
        let lets = self.credit.is_none_or(|credit| credit.lets_send());
        lets && self.next().is_some_and(|(seq, _)| self.fits_window(self.bytes(seq, config)))
    }

    fn wish(&self, flows: usize) -> Wish {
        let cwnd = self.window.as_ref().map(Window::cwnd);
        Wish { new: self.new, again: self.again, cwnd, flows }
    }

    /// It is its turn at a host with several links, one of which is free.
    #[inline(never)]
    pub fn take_turn_by_free_link(&mut self, flows: usize, config: &Config, context: &mut Host<'_>) -> Taken {
        if !self.may_send(config) {
            return Taken::Nothing;
        }
        let mut path = None;
        if !self.credit.is_some_and(|credit| credit.gives_up()) {
            let Flow { id: flow, dst, class, .. } = self.flow;
            let packet = Packet { flow, dst, class, kind: Kind::Data, ..Packet::default() };
            path = match self.path {
                Some(path) => Some(path).filter(|&path| context.is_free_for(&Packet { path, ..packet })),
                None => context.free_path(&packet),
            };
            if path.is_none() {
                return Taken::Waits;
            }
        }
        let sends = self.take_turn((context.now, path), flows, config, context);
        if sends { Taken::Sent } else { Taken::Nothing }
    }

    /// It is its turn at the link, from `start` on, one of so many flows that wait; by a path, if one was asked for.
    /// Returns whether it sent.
    #[inline(never)]
    pub fn take_turn(
        &mut self,
        (start, free): (Time, Option<u16>),
        flows: usize,
        config: &Config,
        context: &mut Host<'_>,
    ) -> bool {
        if !self.may_send(config) {
            return false;
        }
        let Some((seq, again)) = self.next() else { return false };
        let bytes = self.bytes(seq, config);
        let was_speculating = self.credit.is_some_and(|credit| credit.is_speculating());
        if let Some(credit) = &mut self.credit
            && credit.spend(bytes) == Turn::GivesUp
        {
            return false;
        }
        self.in_flight += bytes;
        if again {
            self.flight.take_again();
            self.again -= bytes;
        } else {
            self.new -= bytes;
        }
        if let Some(credit) = &self.credit
            && !(again && config.keeps_target)
        {
            self.target = credit.target(&self.wish(flows));
        }
        let path = context.send_on(
            self.path.or(free),
            Packet {
                flow: self.flow.id,
                dst: self.flow.dst,
                priority: if was_speculating { SPECULATIVE } else { PULLED },
                size_bytes: narrow::<u16>(bytes),
                kind: Kind::Data,
                class: self.flow.class,
                ecn: Ecn::Ect0,
                header: Header::Data {
                    seq,
                    packets: self.packets,
                    target: self.target,
                    requests_ack: again || self.is_last_for_now(bytes),
                    again,
                },
                ..Packet::default()
            },
        );
        self.flight.send(seq, start, path);
        self.active_at = start;
        self.report.packets_sent += 1;
        self.report.retransmissions += u32::from(again);
        match config.service {
            Service::Rud | Service::Rudi => {}
            Service::Rod => self.path = Some(path),
            Service::Uud => self.let_go(seq, path, config, context),
        }
        true
    }

    /// Whether nothing may follow the packet just sent, so that it should be acknowledged at once.
    fn is_last_for_now(&self, bytes: i64) -> bool {
        self.new == 0
            || self.credit.is_some_and(|credit| credit.is_used_up())
            || self.window.as_ref().is_some_and(|window| self.in_flight + bytes >= window.cwnd())
    }

    /// An acknowledgement.
    pub fn acknowledged(&mut self, ack: &Ack, config: &Config, context: &mut Host<'_>) {
        let now = context.now;
        self.active_at = now;
        if ack.answers == Answers::Rts {
            self.request_is_out = false;
        }
        let news = i64::from(ack.received.wrapping_sub(self.received).cast_signed().max(0));
        self.received = self.received.wrapping_add(narrow::<u32>(news));
        self.in_flight -= news;
        let sent = self.flight.get(ack.seq).copied();
        let delay = self.measure(now, ack, sent);
        self.settle(ack, config);
        if matches!(ack.answers, Answers::Data | Answers::Again) {
            let fate = if ack.marked { Fate::Marked } else { Fate::Whole };
            self.judge(ack.path, sent.map(|sent| sent.at), fate, context);
        }
        if let Some(window) = &mut self.window {
            let in_flight = self.in_flight;
            window.acknowledged(&News { now, bytes: news, delay, marked: ack.marked, in_flight });
        }
        self.look_for_losses(now, ack, delay, config);
        if let Some(credit) = &mut self.credit {
            credit.stop_speculating();
        }
    }

    /// The queueing delay of the acknowledged packet, or the usual one if that is ambiguous: the packet must have
    /// been sent once, or twice if the answer is to a retransmission.
    fn measure(&mut self, now: Time, ack: &Ack, sent: Option<Sent>) -> Time {
        let Some(window) = &mut self.window else { return Time::ZERO };
        let rtt = match ack.answers {
            Answers::Data => sent.filter(|sent| sent.times == 1),
            Answers::Again => sent.filter(|sent| sent.times == 2),
            Answers::Rts | Answers::Probe | Answers::Gap => None,
        };
        if let Some(sent) = rtt.filter(|sent| sent.is_under_way) {
            return window.measured(now.since(sent.at), ack.marked, true);
        }
        match (ack.answers, &self.sleek) {
            (Answers::Probe, Some(sleek)) => match sleek.round_trip(now, ack.seq) {
                Some(rtt) => window.measured(rtt.max(window.nscc().base_rtt()), ack.marked, false),
                None => window.nscc().average_delay(),
            },
            _ => window.nscc().average_delay(),
        }
    }

    /// Takes in what arrived.
    fn settle(&mut self, ack: &Ack, config: &Config) {
        let (mtu, last, last_bytes) = (config.mtu(), self.packets - 1, self.last_bytes);
        let Sender { flight, again, in_flight, .. } = self;
        let mut note = |seq, was| {
            if was == AckedFrom::Waiting {
                // It left the count of what is in flight as it was held to be lost, and once more as it arrived.
                let bytes = if seq == last { last_bytes } else { mtu };
                *again -= bytes;
                *in_flight += bytes;
            }
        };
        flight.advance(ack.next, &mut note);
        flight.settle(ack.base, ack.bitmap, &mut note);
    }

    fn judge(&self, path: u16, sent_at: Option<Time>, fate: Fate, context: &mut Host<'_>) {
        let Flow { id: flow, dst, .. } = self.flow;
        context.judge_path(&Feedback { flow, dst, path, sent_at: sent_at.unwrap_or(Time::ZERO), fate });
    }

    /// SLEEK's part of an acknowledgement.
    fn look_for_losses(&mut self, now: Time, ack: &Ack, delay: Time, config: &Config) {
        let (Some(sleek), Some(window)) = (&mut self.sleek, &self.window) else { return };
        let (base_rtt, target) = (window.nscc().base_rtt(), window.nscc().target());
        let is_waiting = self.flight.first() < self.flight.next() || self.new > 0;
        sleek.acknowledged(now, is_waiting, self.new > 0, (base_rtt, target));
        let state = sleek::FlightState {
            first: self.flight.first(),
            next: self.flight.next(),
            out_of_order: ack.out_of_order,
            cwnd: window.cwnd(),
            largest: window.nscc().largest(),
            mss: narrow::<i64>(config.format.data.mss_bytes),
            has_lost: self.flight.has_lost(),
        };
        if ack.answers == Answers::Probe && delay < target {
            sleek.probe_met_no_queue(&state);
        }
        for seq in sleek.look(&state) {
            if self.flight.is_under_way(seq) {
                self.give_up(seq, config);
            }
        }
    }

    /// A packet on its way is to be sent again.
    pub fn give_up(&mut self, seq: u32, config: &Config) -> i64 {
        let bytes = self.bytes(seq, config);
        self.flight.mark_lost(seq);
        self.in_flight -= bytes;
        self.again += bytes;
        bytes
    }

    /// The header of a packet arrived without its payload.
    pub fn trimmed(&mut self, nack: &Nack, config: &Config, context: &mut Host<'_>) {
        let Nack { seq, path, last_hop, marked, .. } = *nack;
        let now = context.now;
        self.active_at = now;
        self.report.trims += 1;
        let sent = self.flight.get(seq).copied();
        let Some(sent) = sent.filter(|sent| sent.is_under_way) else { return };
        let bytes = self.bytes(seq, config);
        if let Some(window) = &mut self.window {
            if sent.times == 1 {
                window.learn_base(now.since(sent.at));
            }
            window.trimmed(now, bytes, last_hop && self.credit.is_some(), self.in_flight);
        }
        self.give_up(seq, config);
        if let Some(credit) = &mut self.credit {
            credit.stop_speculating();
        }
        // What is full before the receiver is full on any path.
        let fate = match (last_hop && config.spares_last_hop, marked) {
            (true, true) => Fate::Marked,
            (true, false) => Fate::Whole,
            (false, _) => Fate::Trimmed,
        };
        self.judge(path, Some(sent.at), fate, context);
    }

    /// The receiver has given so many quanta so far.
    pub fn pulled(&mut self, given: u32, now: Time) {
        self.active_at = now;
        self.reminders = 0;
        if let Some(credit) = &mut self.credit {
            credit.stop_speculating();
            credit.pulled(given);
        }
    }

    /// When the oldest times out of what is outstanding, packets and requests. If nothing is, it is when what is sent
    /// from now on could at the earliest.
    fn deadline(&mut self, config: &Config, now: Time) -> Time {
        let packet = self.flight.oldest().map(|(_, at)| at);
        let request = self.requested_at.filter(|_| self.request_is_out);
        let since = [packet, request].into_iter().flatten().min();
        since.unwrap_or(now) + config.rto
    }

    /// Has a timer set for the deadline, if none is: as it goes on, the deadline only moves away.
    pub fn set_alarm(&mut self, config: &Config, context: &mut Host<'_>) {
        if self.alarm_at == Time::NEVER {
            // Hosts that take long for a packet may come to this when it is over already.
            self.alarm_at = self.deadline(config, context.now).max(context.now);
            context.set_timer(self.alarm_at, self.flow.id, super::TIMEOUT);
        }
        let probes_at = self.sleek.as_ref().map_or(Time::NEVER, |sleek| sleek.probes_at);
        if probes_at < self.probe_alarm_at {
            self.probe_alarm_at = probes_at;
            context.set_timer(probes_at, self.flow.id, super::PROBE);
        }
    }

    /// The timer for timeouts went off; returns a request to be pulled from, where the sender can't help itself.
    pub fn timer(&mut self, config: &Config, context: &mut Host<'_>) -> Option<Header> {
        let now = context.now;
        if now < self.alarm_at {
            return None;
        }
        self.alarm_at = Time::NEVER;
        let mut needs_credit = false;
        while let Some((seq, at)) = self.flight.oldest()
            && at + config.rto <= now
        {
            needs_credit |= self.timed_out(seq, config, context);
        }
        // A receiver that keeps nothing of a flow has no credit, and nothing to say.
        if config.service == Service::Rudi {
            return None;
        }
        let owes_request = std::mem::take(&mut self.owes_request) | self.request_timed_out(config, now);
        needs_credit |= owes_request && self.is_stuck(config);
        needs_credit |= self.is_forgotten(config, now);
        if needs_credit { self.request_credit(config, now) } else { None }
    }

    /// Whether a request for credit has gone unanswered for too long.
    fn request_timed_out(&mut self, config: &Config, now: Time) -> bool {
        let is_late = self.request_is_out && self.requested_at.is_some_and(|at| at + config.rto <= now);
        if is_late {
            self.request_is_out = false;
            self.report.timeouts += 1;
        }
        is_late
    }

    /// Whether it has something to send, of which nothing would go if it were its turn.
    fn is_stuck(&mut self, config: &Config) -> bool {
        let gives_up = self.credit.is_some_and(|credit| credit.gives_up());
        self.next().is_some() && (gives_up || !self.may_send(config))
    }

    /// Whether to remind the receiver of the flow. Who only waits for its turn has nothing outstanding, and requests
    /// nothing (uec.cpp, `UecSrc::recalculateRTO`). But a sender can't tell this from a pull that was lost, after which
    /// htsim's waits for ever. So it asks after a long silence; that is no timeout.
    fn is_forgotten(&mut self, config: &Config, now: Time) -> bool {
        if self.is_queued || self.request_is_out || self.flight.oldest().is_some() {
            return false;
        }
        let timeouts = PATIENCE << self.reminders.min(MOST_DOUBLINGS);
        let is_silent = now.since(self.active_at) >= Time(config.rto.as_ps().saturating_mul(timeouts));
        self.reminders += u32::from(is_silent);
        is_silent
    }

    /// A packet timed out. Returns whether the sender needs credit to send it again.
    fn timed_out(&mut self, seq: u32, config: &Config, context: &mut Host<'_>) -> bool {
        self.report.timeouts += 1;
        if let Some(&Sent { path, at, .. }) = self.flight.get(seq) {
            self.judge(path, Some(at), Fate::Lost, context);
        }
        let had_lost = self.flight.has_lost();
        let bytes = self.give_up(seq, config);
        if let Some(window) = &mut self.window {
            window.lost(bytes);
        }
        if config.service == Service::Rod {
            self.go_back(seq, config);
        }
        if had_lost && let Some(credit) = &mut self.credit {
            credit.stop_speculating();
        }
        had_lost || self.is_stuck(config)
    }

    /// A request to be pulled from; later, if the last was not long ago.
    fn request_credit(&mut self, config: &Config, now: Time) -> Option<Header> {
        if self.requested_at.is_some_and(|at| now.since(at) < config.request_interval) {
            // What a window holds up goes as it opens.
            self.owes_request = self.credit.is_some();
            return None;
        }
        self.requested_at = Some(now);
        self.request_is_out = true;
        if let Some(credit) = &self.credit {
            self.target = self.target.max(credit.requested(&self.wish(1)));
        }
        Some(Header::Rts { packets: self.packets, target: self.target })
    }

    /// The timer for probes went off; returns one if it is due.
    pub fn probe(&mut self, context: &Host<'_>) -> Option<Header> {
        if context.now < self.probe_alarm_at {
            return None;
        }
        self.probe_alarm_at = Time::NEVER;
        let (Some(sleek), Some(window)) = (&mut self.sleek, &self.window) else { return None };
        if context.now < sleek.probes_at {
            return None;
        }
        let number = sleek.probe(context.now, window.nscc().base_rtt());
        Some(Header::Probe { number, packets: self.packets })
    }
}

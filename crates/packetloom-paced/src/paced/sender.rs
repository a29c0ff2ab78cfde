//! A flow at its sender.

use super::config::{Config, LOSS_PROOF};
use super::control::{Kbps, RateControl, SenderState, kbps, time_at};
use super::header::{Header, Role};
use crate::engine::{Context, FlowStatus, Report};
use crate::flow::Flow;
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::rto::Rto;
use crate::units::{Rate, Time};
use crate::{Sending, priority};
use std::collections::VecDeque;

type Host<'a, C> = Context<'a, Header<<C as RateControl>::Fields>, <C as RateControl>::Agent>;

/// The sending side.
#[derive(Clone, Debug)]
pub struct Sender<C> {
    flow: Flow,
    packets: u32,
    control: C,
    /// Every packet before this one arrived.
    una: u32,
    /// The next packet never sent.
    next: u32,
    /// Packets held lost: they go again, before new ones.
    lost: VecDeque<u32>,
    /// Packets not answered since they were last sent, the earliest first.
    in_flight: VecDeque<(u32, Time)>,
    rto: Rto,
    /// Whether the network answered the opening request.
    is_open: bool,
    given_up: bool,
    /// When a request was last sent in a packet of its own.
    asked_at: Time,
    /// When the last data packet was sent, and its size.
    sent_at: Time,
    sent_bytes: u16,
    /// The earliest timer that is set.
    alarm: Time,
    host_rate: Kbps,
    report: Report,
}

impl<C: RateControl> Sender<C> {
    pub(super) fn new(flow: Flow, config: &Config, context: &Host<'_, C>) -> Sender<C> {
        Sender {
            flow,
            packets: config.format.data.count(flow.size_bytes),
            control: C::new(&config.values, &flow),
            una: 0,
            next: 0,
            lost: VecDeque::new(),
            in_flight: VecDeque::new(),
            rto: Rto::new(&config.rto),
            is_open: false,
            given_up: false,
            asked_at: context.now,
            sent_at: Time::ZERO,
            sent_bytes: 0,
            alarm: Time::NEVER,
            host_rate: kbps(context.nic_rate()),
            report: Report::default(),
        }
    }

    pub(super) fn flow(&self) -> &Flow {
        &self.flow
    }

    pub(super) fn at_sender(&self) -> FlowStatus {
        let waits_for = match self.control.rate() {
            _ if !self.is_open => "the answer to its first request for a rate",
            0 => "a rate: its requests are not granted",
            _ => "an acknowledgement, or its timeout",
        };
        FlowStatus { flow: self.flow.id, arrived: self.una, packets: self.packets, waits_for }
    }

    pub(super) fn sending(&self) -> Sending {
        Sending {
            window: None,
            rate: Some(Rate(u64::from(self.control.rate()) * 1_000)),
            rtt: self.rto.smoothed(),
            congestion: None,
            in_flight: narrow::<u32>(self.in_flight.len()),
            acknowledged: self.una,
            arrived: self.una,
            report: self.report,
        }
    }

    pub(super) fn report(&self) -> Report {
        self.report
    }

    /// Whether every packet is acknowledged, or the flow was given up.
    pub(super) fn is_over(&self) -> bool {
        self.una == self.packets || self.given_up
    }

    /// Requests a rate.
    pub(super) fn open(&mut self, config: &Config, context: &mut Host<'_, C>) {
        self.send_request(Role::Open, config, context);
        self.set_alarm(config, context);
    }

    /// Announces that the flow is over.
    pub(super) fn close(&mut self, config: &Config, context: &mut Host<'_, C>) {
        self.send_request(Role::Close, config, context);
    }

    /// The receiver's answer, with the fields as the network left them.
    pub(super) fn answered(
        &mut self,
        header: &Header<C::Fields>,
        config: &Config,
        context: &mut Host<'_, C>,
    ) {
        self.is_open = true;
        self.rto.measured(context.now.since(header.sent_at), &config.rto);
        if header.role == Role::Data {
            self.settle(header.seq);
        }
        self.una = self.una.max(header.next);
        let state = self.state(config, context.now);
        self.control.feedback(&header.fields, &state);
        self.go_on(config, context);
    }

    pub(super) fn timer(&mut self, config: &Config, context: &mut Host<'_, C>) {
        if context.now < self.alarm {
            return;
        }
        self.alarm = Time::NEVER;
        self.go_on(config, context);
    }

    /// Does what is due.
    fn go_on(&mut self, config: &Config, context: &mut Host<'_, C>) {
        let state = self.state(config, context.now);
        if self.has_unsent() && self.control.is_hopeless(&state) {
            self.given_up = true;
            self.report.given_up = true;
        }
        if self.is_over() {
            return;
        }
        if self.expires(config) <= context.now {
            self.expire(config, context.now);
        }
        if self.send_due() <= context.now {
            self.send_next(config, context);
        }
        if self.probe_due(config) <= context.now {
            let role = if self.is_open { Role::Probe } else { Role::Open };
            self.send_request(role, config, context);
        }
        self.set_alarm(config, context);
    }

    /// A packet was answered; those sent well before it and not answered are lost.
    fn settle(&mut self, seq: u32) {
        let Some(place) = self.in_flight.iter().position(|(other, _)| *other == seq) else { return };
        self.in_flight.remove(place);
        if place >= LOSS_PROOF {
            for (lost, _) in self.in_flight.drain(..=place - LOSS_PROOF) {
                self.lost.push_back(lost);
            }
        }
    }

    /// The timeout has passed without an answer to the earliest packet in flight, or to a request.
    fn expire(&mut self, config: &Config, now: Time) {
        self.report.timeouts += 1;
        let patience = self.rto.current(&config.rto);
        while let Some(&(seq, sent_at)) = self.in_flight.front()
            && sent_at + patience <= now
        {
            self.in_flight.pop_front();
            self.lost.push_back(seq);
        }
        self.rto.expired(&config.rto);
    }

    fn has_unsent(&self) -> bool {
        self.next < self.packets || !self.lost.is_empty()
    }

    /// When the pace lets the next packet go.
    fn send_due(&self) -> Time {
        match self.control.rate() {
            rate if rate > 0 && self.is_open && self.has_unsent() => {
                self.sent_at + time_at(rate, self.sent_bytes.into())
            }
            _ => Time::NEVER,
        }
    }

    /// When to ask: nothing may be sent and nothing is in flight that could bring an answer.
    fn probe_due(&self, config: &Config) -> Time {
        if !self.is_open {
            self.asked_at + self.rto.current(&config.rto)
        } else if self.control.rate() == 0 && self.has_unsent() {
            self.asked_at.max(self.sent_at) + self.control.probe_after(self.rtt())
        } else {
            Time::NEVER
        }
    }

    /// When the earliest packet in flight counts as lost.
    fn expires(&self, config: &Config) -> Time {
        let patience = self.rto.current(&config.rto);
        self.in_flight.front().map_or(Time::NEVER, |&(_, sent_at)| sent_at + patience)
    }

    fn set_alarm(&mut self, config: &Config, context: &mut Host<'_, C>) {
        let next = self.send_due().min(self.probe_due(config)).min(self.expires(config));
        if next < self.alarm {
            self.alarm = next.max(context.now);
            context.set_timer(self.alarm, self.flow.id, 0);
        }
    }

    fn rtt(&self) -> Time {
        self.rto.smoothed().unwrap_or(Time::ZERO)
    }

    fn state(&self, config: &Config, now: Time) -> SenderState {
        let sent_bytes = u64::from(self.next) * config.format.data.mss_bytes;
        let lost_bytes = self.lost.len() as u64 * config.format.data.mss_bytes;
        let payload_bytes = self.flow.size_bytes.saturating_sub(sent_bytes) + lost_bytes;
        SenderState {
            now,
            rtt: self.rtt(),
            rto: self.rto.current(&config.rto),
            unsent_bytes: config.format.data.wire_bytes(payload_bytes),
            host_rate: self.host_rate,
        }
    }

    fn send_next(&mut self, config: &Config, context: &mut Host<'_, C>) {
        while let Some(seq) = self.lost.pop_front() {
            if seq >= self.una {
                self.report.retransmissions += 1;
                self.send(seq, config, context);
                return;
            }
        }
        if self.next < self.packets {
            self.next += 1;
            self.send(self.next - 1, config, context);
        }
    }

    fn send(&mut self, seq: u32, config: &Config, context: &mut Host<'_, C>) {
        self.in_flight.push_back((seq, context.now));
        self.report.packets_sent += 1;
        self.sent_at = context.now;
        self.sent_bytes = config.format.wire_bytes(seq, self.packets, self.flow.size_bytes);
        let fields = self.control.request(&self.state(config, context.now), false);
        let last = seq + 1 == self.packets;
        context.send(Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: 1,
            size_bytes: self.sent_bytes,
            kind: Kind::Data,
            class: self.flow.class,
            header: Header { sent_at: context.now, seq, next: 0, role: Role::Data, last, fields },
            ..Packet::default()
        });
    }

    fn send_request(&mut self, role: Role, config: &Config, context: &mut Host<'_, C>) {
        self.asked_at = context.now;
        let fields = self.control.request(&self.state(config, context.now), role == Role::Close);
        context.send(Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: priority::FIRST,
            size_bytes: config.format.ack_bytes,
            kind: Kind::Control,
            class: self.flow.class,
            header: Header { sent_at: context.now, role, fields, ..Header::default() },
            ..Packet::default()
        });
    }
}

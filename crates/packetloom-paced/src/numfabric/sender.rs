//! A flow at its sender: Swift's window, and the weight and the residual that xWI has it tell.

use super::Host;
use super::header::Header;
use super::pace::Pace;
use super::params::Config;
use super::utility::Utility;
use crate::engine::{FlowStatus, Report};
use crate::flow::Flow;
use crate::narrow::{narrow, nearest, saturated};
use crate::packet::{Kind, Packet};
use crate::rto::Rto;
use crate::units::{Rate, Time};
use crate::{Sending, priority};
use std::collections::VecDeque;

/// Later packets' answers that prove one lost (RFC 5681's three duplicates).
const LOSS_PROOF: u32 = 3;

/// The greatest weight, as a share of the host's link (ipv4-l3-protocol.cc: limit_tr). A flow whose path has no
/// price, or who has not heard of one yet, has it.
const GREATEST_WEIGHT: f64 = 1.5;

/// A byte takes so many femtoseconds at 1 Gb/s: the unit of inverse weights. Their 32 bits reach down to 2 Mb/s.
const BYTE_AT_1_GBPS_FS: f64 = 8e6;

/// A packet that was not answered since it was last sent.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    seq: u32,
    sent_at: Time,
    /// How many were answered that were sent later.
    passed: u32,
}

/// The sending side.
#[derive(Clone, Debug)]
pub struct Sender {
    flow: Flow,
    packets: u32,
    utility: Utility,
    pace: Pace,
    /// The greatest weight as a rate, in Gb/s.
    greatest_weight: f64,
    /// What the next packets carry.
    inverse_weight: u32,
    residual: f32,
    /// When it last asked for the price of its path, until it knows that.
    asked_at: Option<Time>,
    /// Every packet before this one arrived.
    una: u32,
    /// The next packet never sent.
    next: u32,
    /// Packets held lost: they go again, before new ones.
    lost: VecDeque<u32>,
    /// The earliest first.
    in_flight: VecDeque<InFlight>,
    rto: Rto,
    /// The earliest timer that is set.
    alarm: Time,
    report: Report,
}

impl Sender {
    pub fn new(flow: Flow, config: &Config, nic_rate: Rate) -> Sender {
        let greatest_weight = GREATEST_WEIGHT * nic_rate.as_bps() as f64 / 1e9;
        Sender {
            flow,
            packets: config.format.data.count(flow.size_bytes),
            utility: config.utilities.of_flow(&flow),
            pace: Pace::new(&config.rules, config.base_rtt(), nic_rate),
            greatest_weight,
            inverse_weight: inverse(greatest_weight),
            residual: f32::INFINITY,
            asked_at: None,
            una: 0,
            next: 0,
            lost: VecDeque::new(),
            in_flight: VecDeque::new(),
            rto: Rto::new(&config.rto),
            alarm: Time::NEVER,
            report: Report::default(),
        }
    }

    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    pub fn report(&self) -> Report {
        self.report
    }

    pub fn at_sender(&self) -> FlowStatus {
        let waits_for = match self.asked_at {
            Some(_) => "the answer to its opening packet, or its timeout",
            None => "an acknowledgement, or its timeout",
        };
        FlowStatus { flow: self.flow.id, arrived: self.una, packets: self.packets, waits_for }
    }

    pub fn sending(&self) -> Sending {
        Sending {
            window: Some(self.pace.window().into()),
            rate: None,
            rtt: self.rto.smoothed(),
            congestion: None,
            in_flight: narrow::<u32>(self.in_flight.len()),
            acknowledged: self.una,
            arrived: self.una,
            report: self.report,
        }
    }

    /// Whether every packet is acknowledged.
    pub fn is_over(&self) -> bool {
        self.una == self.packets
    }

    /// Begins: with the price of the path, or at once.
    pub fn open(&mut self, config: &Config, context: &mut Host<'_>) {
        if config.handshake {
            self.ask(config, context);
        }
        self.go_on(config, context);
    }

    fn ask(&mut self, config: &Config, context: &mut Host<'_>) {
        self.asked_at = Some(context.now);
        context.send(Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: priority::FIRST,
            size_bytes: config.format.ack_bytes,
            kind: Kind::Control,
            class: self.flow.class,
            header: Header { sent_at: context.now, opens: true, ..Header::default() },
            ..Packet::default()
        });
    }

    /// The receiver's answer.
    pub fn answered(&mut self, header: &Header, config: &Config, context: &mut Host<'_>) {
        let rtt = context.now.since(header.sent_at);
        self.rto.measured(rtt, &config.rto);
        if header.opens {
            // A second answer, to a packet that was not lost after all, is old.
            if self.asked_at.take().is_some() {
                self.weigh(f64::from(header.price), header.links);
                self.go_on(config, context);
            }
            return;
        }
        self.pace.measured(rtt);
        self.settle(header.seq);
        self.una = self.una.max(header.next);
        if header.gap_ps > 0.0 {
            let bytes = config.format.wire_bytes(header.seq, self.packets, self.flow.size_bytes);
            self.pace.arrived(bytes, f64::from(header.gap_ps), &config.rules);
        }
        self.weigh(f64::from(header.price), header.links);
        self.go_on(config, context);
    }

    pub fn timer(&mut self, config: &Config, context: &mut Host<'_>) {
        if context.now < self.alarm {
            return;
        }
        self.alarm = Time::NEVER;
        if self.expires(config) <= context.now {
            self.expire(config, context);
        }
        self.go_on(config, context);
    }

    /// xWI's weight, U'^-1 of the path's price, and what the price lacks of the marginal utility of today's rate, as
    /// each link's part (§4.2).
    fn weigh(&mut self, price: f64, links: u16) {
        self.inverse_weight = inverse(self.utility.rate_at(price).min(self.greatest_weight));
        if let Some(rate) = self.pace.gbps() {
            self.residual = nearest((self.utility.marginal(rate) - price) / f64::from(links.max(1)));
        }
    }

    /// Sends what the window lets go.
    pub fn go_on(&mut self, config: &Config, context: &mut Host<'_>) {
        while self.asked_at.is_none()
            && narrow::<u32>(self.in_flight.len()) < self.pace.window()
            && let Some(seq) = self.take_next()
        {
            self.send(seq, config, context);
        }
        let expires = self.expires(config);
        if !self.is_over() && expires < self.alarm {
            self.alarm = expires.max(context.now);
            context.set_timer(self.alarm, self.flow.id, 0);
        }
    }

    /// A packet was answered. What was sent before it and is not is nearer to being lost; of these the earliest is
    /// the nearest.
    fn settle(&mut self, seq: u32) {
        let Some(place) = self.in_flight.iter().position(|packet| packet.seq == seq) else { return };
        self.in_flight.remove(place);
        self.in_flight.range_mut(..place).for_each(|packet| packet.passed += 1);
        while let Some(&InFlight { seq, passed: LOSS_PROOF.., .. }) = self.in_flight.front() {
            self.in_flight.pop_front();
            self.lost.push_back(seq);
        }
    }

    /// When the earliest packet in flight counts as lost, or the one that asked.
    fn expires(&self, config: &Config) -> Time {
        let patience = self.rto.current(&config.rto);
        let earliest = self.asked_at.or_else(|| self.in_flight.front().map(|packet| packet.sent_at));
        earliest.map_or(Time::NEVER, |sent_at| sent_at + patience)
    }

    /// The timeout has passed without an answer to the earliest packet in flight, or to the one that asked.
    fn expire(&mut self, config: &Config, context: &mut Host<'_>) {
        self.report.timeouts += 1;
        let (now, patience) = (context.now, self.rto.current(&config.rto));
        if self.asked_at.is_some() {
            self.rto.expired(&config.rto);
            return self.ask(config, context);
        }
        while let Some(&InFlight { seq, sent_at, .. }) = self.in_flight.front()
            && sent_at + patience <= now
        {
            self.in_flight.pop_front();
            self.lost.push_back(seq);
        }
        self.rto.expired(&config.rto);
        self.pace.timed_out();
    }

    /// The packet to send next: one that was lost and is still missing, or the first new one.
    fn take_next(&mut self) -> Option<u32> {
        while let Some(seq) = self.lost.pop_front() {
            if seq >= self.una {
                self.report.retransmissions += 1;
                return Some(seq);
            }
        }
        (self.next < self.packets).then(|| {
            self.next += 1;
            self.next - 1
        })
    }

    fn send(&mut self, seq: u32, config: &Config, context: &mut Host<'_>) {
        self.in_flight.push_back(InFlight { seq, sent_at: context.now, passed: 0 });
        self.report.packets_sent += 1;
        context.send(Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: self.inverse_weight,
            size_bytes: config.format.wire_bytes(seq, self.packets, self.flow.size_bytes),
            kind: Kind::Data,
            class: self.flow.class,
            header: Header {
                sent_at: context.now,
                seq,
                residual: self.residual,
                last: seq + 1 == self.packets,
                ..Header::default()
            },
            ..Packet::default()
        });
    }
}

/// A weight, given as a rate in Gb/s, as what a byte takes at it.
fn inverse(weight: f64) -> u32 {
    // A cast keeps to the bounds of what it casts to.
    saturated::<u32>(BYTE_AT_1_GBPS_FS / weight + 0.5).max(1)
}

#[cfg(test)]
mod tests {
    use super::super::pace::Rules;
    use super::*;
    use crate::spec::{Value, Values};

    const RULES: Rules = Rules {
        average: Time::from_us(20),
        slack: Time::from_us(6),
        initial_window: 3,
        full_packet_bytes: 1_500.0,
    };

    fn sender() -> Sender {
        let entries = [
            ("mss", Value::Bytes(1_460)),
            ("header", Value::Bytes(40)),
            ("ack", Value::Bytes(40)),
            ("utility", Value::Text("alpha-fair".to_owned())),
            ("alpha", Value::Absent),
            ("weights", Value::Absent),
            ("dt", Value::Time(Time::from_us(6))),
            ("average", Value::Time(Time::from_us(20))),
            ("handshake", Value::Flag(true)),
            ("initial_window", Value::Count(3)),
            ("base_rtt", Value::Time(Time::from_us(16))),
            ("min_rto", Value::Time(Time::from_us(2_000))),
            ("max_rto", Value::Time(Time::from_us(4_000))),
        ];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
        let config = Config::of(&Values { kind: "numfabric".to_owned(), entries });
        let flow = Flow {
            id: 7,
            src: 0,
            dst: 1,
            size_bytes: 14_600,
            start: Time::ZERO,
            deadline: Time::NEVER,
            class: 0,
            source: 0,
            chain: None,
        };
        Sender::new(flow, &config, Rate::from_gbps(10))
    }

    #[test]
    fn inverse_weights_are_femtoseconds_a_byte_within_32_bits() {
        assert_eq!(inverse(15.0), 533_333);
        assert_eq!(inverse(1_200.0), 6_667);
        assert_eq!((inverse(0.0), inverse(1e-9), inverse(f64::INFINITY)), (u32::MAX, u32::MAX, 1));
    }

    #[test]
    fn a_price_sets_the_weight_and_the_rate_leaves_a_residual() {
        let mut sender = sender();
        assert_eq!((sender.inverse_weight, sender.residual), (533_333, f32::INFINITY));
        // Log utility: at 0.5 a flow wants 2 Gb/s, as a byte takes 4 ns. There is no rate yet.
        sender.weigh(0.5, 4);
        assert_eq!((sender.inverse_weight, sender.residual), (4_000_000, f32::INFINITY));
        // 1 Gb/s is worth 1: 0.5 more than it costs, over four links. At no price the weight has its bound.
        sender.pace.arrived(1_500, 12_000_000.0, &RULES);
        sender.weigh(0.5, 4);
        assert!((sender.residual - 0.125).abs() < 1e-6, "{}", sender.residual);
        sender.weigh(0.0, 4);
        assert_eq!(sender.inverse_weight, 533_333);
    }

    #[test]
    fn three_later_answers_prove_a_packet_lost_whether_they_come_in_order_or_not() {
        let mut sender = sender();
        let sent = |seq| InFlight { seq, sent_at: Time::ZERO, passed: 0 };
        sender.in_flight = (0..8).map(sent).collect();
        for (answered, lost) in [(1, vec![]), (2, vec![]), (4, vec![0]), (6, vec![0]), (5, vec![0, 3])] {
            sender.settle(answered);
            assert_eq!(sender.lost, lost, "after {answered}");
        }
        assert_eq!(sender.in_flight.iter().map(|packet| packet.seq).collect::<Vec<_>>(), [7]);
    }
}

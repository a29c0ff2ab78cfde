//! A flow at its sender.

use super::meter::Meter;
use super::{Config, Header, Role};
use crate::Sending;
use crate::engine::{Context, FlowStatus, Report};
use crate::flow::Flow;
use crate::narrow::saturated;
use crate::packet::{Kind, Packet};
use crate::priority::{self, Priority};
use crate::units::Time;

/// A flow past its deadline has one so far off that it is not urgent; the paper's Algorithm 1 has no queue for it.
const MISSED: u32 = (1 << 31) - 1;

/// The sending side.
#[derive(Clone, Debug)]
pub struct Sender {
    flow: Flow,
    packets: u32,
    next: u32,
    acknowledged: u32,
    /// flow_win, in packets; 0 until the handshake is over.
    window: u32,
    /// The window is next adapted by the answer to this packet or a later one: once per round trip.
    adapts_at: u32,
    report: Report,
}

impl Sender {
    pub(super) fn new(flow: Flow, config: &Config) -> Sender {
        Sender {
            flow,
            packets: config.format.data.count(flow.size_bytes),
            next: 0,
            acknowledged: 0,
            window: 0,
            adapts_at: 0,
            report: Report::default(),
        }
    }

    pub(super) fn flow(&self) -> &Flow {
        &self.flow
    }

    pub(super) fn status(&self) -> FlowStatus {
        let waits_for = match self.window {
            0 => "the answer to its SYN",
            _ => "credit for its packets, or an acknowledgement",
        };
        FlowStatus { flow: self.flow.id, arrived: self.acknowledged, packets: self.packets, waits_for }
    }

    pub(super) fn sending(&self) -> Sending {
        Sending {
            window: Some(self.window.into()),
            rate: None,
            rtt: None,
            congestion: None,
            in_flight: self.next - self.acknowledged,
            acknowledged: self.acknowledged,
            arrived: self.acknowledged,
            report: self.report,
        }
    }

    pub(super) fn report(&self) -> Report {
        self.report
    }

    /// Whether every packet is acknowledged.
    pub(super) fn is_done(&self) -> bool {
        self.acknowledged == self.packets
    }

    pub(super) fn open(&self, config: &Config, context: &mut Context<'_, Header, Meter>) {
        self.send_control(Role::Syn, config, context);
    }

    pub(super) fn close(&self, config: &Config, context: &mut Context<'_, Header, Meter>) {
        self.send_control(Role::Fin, config, context);
    }

    /// The receiver's answer.
    pub(super) fn answered(
        &mut self,
        header: &Header,
        config: &Config,
        context: &mut Context<'_, Header, Meter>,
    ) {
        if header.role == Role::Syn {
            self.window = quick_start(context.now.since(header.sent_at), config, context);
        } else {
            self.acknowledged += 1;
            self.adapt(header, config);
        }
        while self.next < self.packets && self.next - self.acknowledged < self.window {
            self.send_next(config, context);
        }
    }

    /// flow_win + 1 while the queue is short, else flow_win / 2^k, k = 2 where the load is high (DAQ §II-B).
    fn adapt(&mut self, header: &Header, config: &Config) {
        if header.seq < self.adapts_at {
            return;
        }
        self.adapts_at = self.next;
        self.window = if Time::from_ns(u64::from(header.queue_ns)) <= config.max_queue {
            self.window + 1
        } else {
            (self.window >> if header.overloaded { 2 } else { 1 }).max(1)
        };
    }

    fn send_next(&mut self, config: &Config, context: &mut Context<'_, Header, Meter>) {
        let seq = self.next;
        self.next += 1;
        self.report.packets_sent += 1;
        context.send(Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: self.urgency(context.now),
            size_bytes: config.format.wire_bytes(seq, self.packets, self.flow.size_bytes),
            kind: Kind::Data,
            class: self.flow.class,
            header: Header { sent_at: context.now, seq, last: seq + 1 == self.packets, ..Header::default() },
            ..Packet::default()
        });
    }

    /// D, the time left in microseconds. The paper lowers it by every round-trip time that is measured; that sums up
    /// to the time gone by.
    fn urgency(&self, now: Time) -> u32 {
        let is_missed = self.flow.deadline != Time::NEVER && now > self.flow.deadline;
        if is_missed { MISSED } else { Priority::Deadline.number(&self.flow, 1, now) }
    }

    fn send_control(&self, role: Role, config: &Config, context: &mut Context<'_, Header, Meter>) {
        context.send(Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: priority::FIRST,
            size_bytes: config.format.ack_bytes,
            kind: Kind::Control,
            class: self.flow.class,
            header: Header { sent_at: context.now, role, ..Header::default() },
            ..Packet::default()
        });
    }
}

/// The first window, from the handshake's round trip.
fn quick_start(rtt: Time, config: &Config, context: &Context<'_, Header, Meter>) -> u32 {
    let full_packet = context.nic_time_for(config.format.data.mss_bytes + config.format.data.header_bytes);
    let packets = config.initial_window * rtt.as_ps() as f64 / full_packet.as_ps() as f64;
    saturated::<u32>(packets).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet_format::PacketFormat;
    use packetloom_base::packet::Format;

    #[test]
    fn the_window_grows_by_a_packet_per_round_trip_and_shrinks_by_the_load() {
        let data = Format { mss_bytes: 1460, header_bytes: 40 };
        let format = PacketFormat { data, ack_bytes: 40 };
        let config = Config { format, max_queue: Time::from_us(300), initial_window: 0.25 };
        let flow = Flow {
            id: 0,
            src: 1,
            dst: 0,
            size_bytes: 146_000,
            start: Time::ZERO,
            deadline: Time::NEVER,
            class: 0,
            source: 0,
            chain: None,
        };
        let mut sender = Sender { window: 40, next: 40, ..Sender::new(flow, &config) };
        let answer = |seq, queue_us: u32, overloaded| Header {
            seq,
            queue_ns: queue_us * 1_000,
            overloaded,
            ..Header::default()
        };
        let mut window_after = |header, next| {
            sender.adapt(&header, &config);
            sender.next = next;
            sender.window
        };
        assert_eq!(window_after(answer(0, 300, false), 41), 41);
        assert_eq!(window_after(answer(1, 300, false), 42), 41, "once per round trip");
        assert_eq!(window_after(answer(40, 301, false), 60), 20);
        assert_eq!(window_after(answer(60, 301, true), 70), 5);
        assert_eq!(window_after(answer(70, 0, true), 71), 6, "a short queue lets it grow at any load");
        assert_eq!(window_after(answer(71, 301, true), 72), 1);
        assert_eq!(window_after(answer(72, 301, true), 73), 1, "a packet at least");
    }
}

//! LineRate: no rate control at all (pFabric §3, scheme iv).
//!
//! "Flows constantly send at the NIC line rate" until their last packet is acknowledged. The NIC serves its flows
//! by priority, one packet whenever it is free: what pFabric's own queue would let through if every flow pushed at
//! line rate into it. A packet that is not acknowledged within the timeout is sent again, before new data. After
//! several timeouts of silence only a probe is sent per timeout, until an answer arrives (pFabric §2.3: a limited
//! form of rate control against congestion collapse).

use super::finished::Finished;
use super::flow_table::FlowTable;
use super::packet_format::{self, PacketFormat};
use super::priority::{self, Priority};
use super::reassembly::Reassembly;
use super::seq_set::SeqSet;
use super::{Scheme, Sending};
use crate::engine::{Context, FlowStatus, Report, Timer, Transport};
use crate::flow::{Flow, FlowId};
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::spec::{Complaint, Component, Kind as Holds, Values, check_period, param};
use crate::units::Time;
use std::collections::{BTreeSet, VecDeque};

/// A timer's purpose: the NIC is free.
const NIC_FREE: u8 = 0;
/// A timer's purpose: a flow's oldest packet may have timed out, or a probe is due.
const TIMEOUT: u8 = 1;

/// The packet header.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    /// The packet's number in its flow; an acknowledgement repeats it.
    seq: u32,
    /// Every packet before this one arrived.
    ack: u32,
    /// The flow's last packet.
    last: bool,
}

/// The parameters.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    format: PacketFormat,
    rto: Time,
    /// Silence for so long ends sending; [`Time::NEVER`]: never.
    patience: Time,
    priority: Priority,
}

fn check(values: &Values) -> Result<(), Complaint> {
    packet_format::check(values)?;
    check_period("rto", values.time("rto"), "40us")
}

struct Sender {
    flow: Flow,
    packets: u32,
    /// The first packet not acknowledged, and those acknowledged beyond it.
    una: u32,
    acked: SeqSet,
    next: u32,
    /// Transmissions not yet acknowledged nor given up, oldest first.
    outstanding: VecDeque<(u32, Time)>,
    /// When the first packet was sent since the last answer.
    silent_since: Time,
    state: State,
    report: Report,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Has something to send.
    Ready,
    /// Everything is on its way.
    Waiting,
    /// Sends a probe per timeout, which requests an acknowledgement.
    Probing,
}

/// All line-rate flows at one host.
pub struct LineRate {
    config: Config,
    senders: FlowTable<Sender>,
    /// Flows with something to send: by priority, then in turn.
    ready: BTreeSet<(u32, u64, FlowId)>,
    turns: u64,
    nic_timer: Time,
    receivers: FlowTable<Reassembly>,
    finished: Finished,
}

impl Scheme for LineRate {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "line-rate",
        doc: "No rate control: flows send at the NIC's line rate, the highest priority first, until acknowledged.",
        source: "pFabric §3: LineRate",
        params: &[&[
            packet_format::MSS,
            packet_format::HEADER,
            packet_format::ACK,
            param! {
                "rto" = "40us": Holds::Time,
                "A packet not acknowledged for this long is sent again.",
                "pFabric §3: 40 us for 22.5 KB queues"
            },
            param! {
                "probe_after" = "5": Holds::Count(1),
                "After this many timeouts of silence a flow sends only a small probe per timeout until an answer comes; left out: never.",
                "pFabric's ns-2 code"
            },
            priority::PARAM,
        ]],
        check,
    };
    type Config = Config;

    fn configure(values: &Values) -> Config {
        let rto = values.time("rto");
        Config {
            format: PacketFormat::of(values),
            rto,
            patience: values
                .optional_count("probe_after")
                .map_or(Time::NEVER, |timeouts| rto.times(timeouts)),
            priority: Priority::of(values),
        }
    }

    fn new(config: &Config) -> LineRate {
        LineRate {
            config: *config,
            senders: FlowTable::default(),
            ready: BTreeSet::new(),
            turns: 0,
            nic_timer: Time::NEVER,
            receivers: FlowTable::default(),
            // A low-priority flow may be kept from sending for long, but none for a second.
            finished: Finished::new(Time::from_us(1_000_000)),
        }
    }

    fn number(packet: &Packet<Header>) -> Option<u32> {
        Some(packet.header.seq)
    }
}

impl Transport for LineRate {
    type Header = Header;
    type Agent = ();

    fn start(&mut self, flow: Flow, context: &mut Context<'_, Header>) {
        let sender = Sender {
            flow,
            packets: self.config.format.data.count(flow.size_bytes),
            una: 0,
            acked: SeqSet::default(),
            next: 0,
            outstanding: VecDeque::new(),
            silent_since: Time::NEVER,
            state: State::Waiting,
            report: Report::default(),
        };
        self.senders.insert(flow.id, sender);
        self.make_ready(flow.id);
        self.serve(context);
    }

    fn receive(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        match packet.kind {
            Kind::Ack => self.acknowledged(&packet, context),
            Kind::Data | Kind::Control => self.arrived(&packet, context),
            // This transport doesn't know trimming: to it the packet is lost.
            _ => {}
        }
    }

    fn timer(&mut self, timer: Timer, context: &mut Context<'_, Header>) {
        if timer.purpose == NIC_FREE {
            if context.now == self.nic_timer {
                self.nic_timer = Time::NEVER;
                self.serve(context);
            }
        } else {
            self.timed_out(timer.key, context);
        }
    }

    fn sending(&self, flow: FlowId, _: Time) -> Option<Sending> {
        self.senders.get(flow).map(Sender::sending)
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        self.senders.states().map(|sender| (sender.flow.id, sender.report)).collect()
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        self.senders.states().map(Sender::status).collect()
    }
}

impl LineRate {
    /// Sends a packet of the most urgent flow if the NIC is free, and comes back when it is. A host with several
    /// waits for the one by which that flow goes.
    fn serve(&mut self, context: &mut Context<'_, Header>) {
        while let Some(&(_, _, flow)) = self.ready.first() {
            let dst = || self.senders.get_mut(flow).map_or(0, |sender| sender.flow.dst);
            let free_at = context.nic_drained_at(flow, 0, dst);
            if free_at > context.now {
                if self.nic_timer == Time::NEVER || self.nic_timer > free_at {
                    self.nic_timer = free_at;
                    context.set_timer(free_at, 0, NIC_FREE);
                }
                return;
            }
            self.ready.pop_first();
            self.send_from(flow, context);
        }
    }

    /// Sends the flow's next packet, if it still has one, and puts the flow where it belongs.
    fn send_from(&mut self, flow: FlowId, context: &mut Context<'_, Header>) {
        let Some(sender) = self.senders.get_mut(flow) else { return };
        let silence = context.now.since(sender.silent_since);
        if sender.silent_since != Time::NEVER && silence >= self.config.patience {
            sender.state = State::Probing;
            sender.send_probe(&self.config, context);
            context.set_timer(context.now + self.config.rto, flow, TIMEOUT);
            return;
        }
        if let Some(seq) = sender.choose(context.now, self.config.rto) {
            sender.send(seq, &self.config, context);
        }
        sender.state = State::Waiting;
        if sender.has_packet(context.now, self.config.rto) {
            self.make_ready(flow);
        } else if let Some(&(_, sent_at)) = sender.outstanding.front() {
            context.set_timer(sent_at + self.config.rto, flow, TIMEOUT);
        }
    }

    fn make_ready(&mut self, flow: FlowId) {
        let Some(sender) = self.senders.get_mut(flow) else { return };
        sender.state = State::Ready;
        // Of deadlines only the order matters here, so they are compared as seen from time zero.
        let number =
            self.config.priority.number(&sender.flow, sender.remaining_bytes(&self.config), Time::ZERO);
        self.turns += 1;
        self.ready.insert((number, self.turns, flow));
    }

    fn timed_out(&mut self, flow: FlowId, context: &mut Context<'_, Header>) {
        let Some(sender) = self.senders.get_mut(flow) else { return };
        match sender.state {
            State::Ready => return,
            State::Probing => {
                sender.send_probe(&self.config, context);
                context.set_timer(context.now + self.config.rto, flow, TIMEOUT);
                return;
            }
            State::Waiting => {}
        }
        if sender.has_packet(context.now, self.config.rto) {
            self.make_ready(flow);
            self.serve(context);
        } else if let Some(&(_, sent_at)) = sender.outstanding.front() {
            context.set_timer(sent_at + self.config.rto, flow, TIMEOUT);
        }
    }

    fn acknowledged(&mut self, packet: &Packet<Header>, context: &mut Context<'_, Header>) {
        let Some(sender) = self.senders.get_mut(packet.flow) else { return };
        sender.silent_since = Time::NEVER;
        sender.note(packet.header);
        if sender.una == sender.packets {
            context.closed(&sender.flow, sender.report);
            self.senders.remove(packet.flow);
        } else if sender.state == State::Probing {
            self.make_ready(packet.flow);
            self.serve(context);
        }
    }

    /// Data or a probe arrived: the receiver acknowledges at once.
    fn arrived(&mut self, packet: &Packet<Header>, context: &mut Context<'_, Header>) {
        let flow = packet.flow;
        let ack = match self.finished.packets(flow) {
            Some(packets) => packets,
            None => self.reassemble(packet, context),
        };
        let header = Header { seq: packet.header.seq, ack, last: packet.kind == Kind::Control };
        context.send(self.config.format.ack(packet, header));
    }

    fn reassemble(&mut self, packet: &Packet<Header>, context: &mut Context<'_, Header>) -> u32 {
        if self.receivers.get_mut(packet.flow).is_none() {
            self.receivers.insert(packet.flow, Reassembly::default());
        }
        let Some(receiver) = self.receivers.get_mut(packet.flow) else { return 0 };
        if packet.kind == Kind::Data {
            receiver.add(packet.header.seq, packet.header.last);
        }
        let next = receiver.next();
        if receiver.whole().is_some() {
            self.receivers.remove(packet.flow);
            self.finished.add(context.now, packet.flow, next);
            context.delivered(packet.flow);
        }
        next
    }
}

impl Sender {
    fn status(&self) -> FlowStatus {
        let waits_for = match self.state {
            State::Ready => "the NIC: others go first",
            State::Waiting => "an acknowledgement, or its timeout",
            State::Probing => "any answer: it only probes",
        };
        let arrived = self.una + self.acked.len();
        FlowStatus { flow: self.flow.id, arrived, packets: self.packets, waits_for }
    }

    fn sending(&self) -> Sending {
        let is_out = |(seq, _): &&(u32, Time)| !self.is_acked(*seq);
        Sending {
            in_flight: narrow::<u32>(self.outstanding.iter().filter(is_out).count()),
            acknowledged: self.una,
            arrived: self.una + self.acked.len(),
            report: self.report,
            ..Sending::default()
        }
    }

    fn is_acked(&self, seq: u32) -> bool {
        seq < self.una || self.acked.contains(seq)
    }

    fn remaining_bytes(&self, config: &Config) -> u64 {
        let acknowledged = u64::from(self.una + self.acked.len()) * config.format.data.mss_bytes;
        self.flow.size_bytes.saturating_sub(acknowledged).max(1)
    }

    /// Forgets transmissions that were acknowledged.
    fn tidy(&mut self) {
        while let Some(&(seq, _)) = self.outstanding.front()
            && self.is_acked(seq)
        {
            self.outstanding.pop_front();
        }
    }

    fn has_packet(&mut self, now: Time, rto: Time) -> bool {
        self.tidy();
        self.next < self.packets || self.outstanding.front().is_some_and(|&(_, sent_at)| sent_at + rto <= now)
    }

    /// What to send: the oldest packet that timed out, else the next new one.
    fn choose(&mut self, now: Time, rto: Time) -> Option<u32> {
        self.tidy();
        if let Some(&(seq, sent_at)) = self.outstanding.front()
            && sent_at + rto <= now
        {
            self.outstanding.pop_front();
            self.report.retransmissions += 1;
            self.report.timeouts += 1;
            return Some(seq);
        }
        (self.next < self.packets).then(|| {
            self.next += 1;
            self.next - 1
        })
    }

    fn send(&mut self, seq: u32, config: &Config, context: &mut Context<'_, Header>) {
        self.outstanding.push_back((seq, context.now));
        self.silent_since = self.silent_since.min(context.now);
        self.report.packets_sent += 1;
        context.send(Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: config.priority.number(&self.flow, self.remaining_bytes(config), context.now),
            size_bytes: config.format.wire_bytes(seq, self.packets, self.flow.size_bytes),
            kind: Kind::Data,
            class: self.flow.class,
            header: Header { seq, ack: 0, last: seq + 1 == self.packets },
            ..Packet::default()
        });
    }

    fn send_probe(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        context.send(Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: config.priority.number(&self.flow, self.remaining_bytes(config), context.now),
            size_bytes: config.format.ack_bytes,
            kind: Kind::Control,
            class: self.flow.class,
            header: Header { seq: self.una, ack: 0, last: false },
            ..Packet::default()
        });
    }

    /// An acknowledgement names the packet that arrived, and up to where all did. One for a probe has only the
    /// latter.
    fn note(&mut self, header: Header) {
        if header.ack > self.una {
            self.una = header.ack;
            self.acked.drop_below(header.ack);
        }
        let is_for_data = !header.last;
        if is_for_data && header.seq >= self.una {
            self.acked.insert(header.seq);
        }
        // An acknowledgement may have been lost, but not the cumulative part of all of them.
        if self.acked.contains(self.una) {
            self.una = self.acked.first_absent(self.una);
            self.acked.drop_below(self.una);
        }
    }
}

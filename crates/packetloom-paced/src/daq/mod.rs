//! DAQ's hosts (Ding and Rojas-Cessa): flows open with a handshake, start fast, keep the queue on their path short,
//! and carry the time left in every packet. Losses need no repair: the queue `daq` has none.
//!
//! sender_win, the credit of the link to the first switch, is kept by the NIC's queue and counts for all of a
//! host's flows. A query for a flow brings more of it (`queue/loans.rs`), which is returned when the flow is over.
//! A deadline counts from when the flow is handed over, which is when its query has come: the handshake eats into
//! it.

mod meter;
mod sender;

use super::flow_table::FlowTable;
use super::packet_format::{self, PacketFormat};
use super::reassembly::Reassembly;
use super::{Scheme, Sending};
use crate::engine::{Context, FlowStatus, Report, Timer, Transport};
use crate::flow::{Flow, FlowId};
use crate::packet::{Kind, Packet};
use crate::spec::{Complaint, Component, Kind as Holds, Param, Values, check_period, param};
use crate::units::Time;
use meter::Meter;
use sender::Sender;

/// What a packet is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Opens the flow.
    Syn,
    /// Carries payload.
    #[default]
    Data,
    /// Ends the flow.
    Fin,
}

/// The header. An answer repeats it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    /// When the packet was sent: its time stamp.
    sent_at: Time,
    seq: u32,
    /// The longest that any port on the path would have let it wait, in nanoseconds.
    queue_ns: u32,
    role: Role,
    last: bool,
    /// A port on the path is loaded above the limit.
    overloaded: bool,
}

const _: () = assert!(size_of::<Packet<Header>>() <= 56, "what moves most should be small");

/// The parameters.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    format: PacketFormat,
    max_queue: Time,
    initial_window: f64,
}

const PARAMS: &[Param] = &[
    packet_format::MSS,
    packet_format::HEADER,
    packet_format::ACK,
    param! {
        "max_queue" = "5ms": Holds::Time,
        "Q: a flow's window grows while no queue on its path would take longer than this to drain. With one round trip here, the link would run empty when windows are quartered, and queues would be too short for their order to matter.",
        "packetloom: a quarter of DAQ §III's mean deadline (the paper gives none)"
    },
    param! {
        "high_load" = "0.8": Holds::Number(0.0, 1.0),
        "Where a port is offered more than this share of its link, windows are quartered instead of halved.",
        "DAQ §II-B: 80 %"
    },
    param! {
        "interval" = "300us": Holds::Time,
        "How long a port counts to know its load.", "packetloom: one round trip of DAQ §III"
    },
    param! {
        "initial_window" = "0.25": Holds::Number(0.0, 100.0),
        "Quick start: a flow's first window, in bandwidth-delay products of its path.",
        "DAQ §II-B: bandwidth × RTT(s-r) / 2, with the sender's round trip to its switch as half of the whole"
    },
];

fn check(values: &Values) -> Result<(), Complaint> {
    packet_format::check(values)?;
    check_period("interval", values.time("interval"), "300us")
}

/// All DAQ flows at one host.
pub struct Daq {
    config: Config,
    senders: FlowTable<Sender>,
    receivers: FlowTable<Reassembly>,
}

impl Scheme for Daq {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "daq",
        doc: "DAQ: a handshake, a fast start, windows that keep queues short, and the time left to the deadline in every packet; needs the queue \"daq\", whose credits make it lossless.",
        source: "DAQ, §II",
        params: &[PARAMS],
        check,
    };
    type Config = Config;

    fn configure(values: &Values) -> Config {
        Config {
            format: PacketFormat::of(values),
            max_queue: values.time("max_queue"),
            initial_window: values.number("initial_window"),
        }
    }

    fn new(config: &Config) -> Daq {
        Daq { config: *config, senders: FlowTable::default(), receivers: FlowTable::default() }
    }

    fn number(packet: &Packet<Header>) -> Option<u32> {
        Some(packet.header.seq)
    }
}

impl Transport for Daq {
    type Header = Header;
    type Agent = Meter;

    fn start(&mut self, flow: Flow, context: &mut Context<'_, Header, Meter>) {
        let sender = Sender::new(flow, &self.config);
        sender.open(&self.config, context);
        self.senders.insert(flow.id, sender);
    }

    fn receive(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header, Meter>) {
        if packet.kind == Kind::Ack {
            self.answered(&packet, context);
        } else if packet.header.role != Role::Fin {
            self.arrived(&packet, context);
        }
    }

    fn timer(&mut self, _: Timer, _: &mut Context<'_, Header, Meter>) {}

    fn sending(&self, flow: FlowId, _: Time) -> Option<Sending> {
        self.senders.get(flow).map(Sender::sending)
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        self.senders.states().map(|sender| (sender.flow().id, sender.report())).collect()
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        self.senders.states().map(Sender::status).collect()
    }
}

impl Daq {
    fn answered(&mut self, packet: &Packet<Header>, context: &mut Context<'_, Header, Meter>) {
        let Some(sender) = self.senders.get_mut(packet.flow) else { return };
        sender.answered(&packet.header, &self.config, context);
        if sender.is_done() {
            sender.close(&self.config, context);
            context.closed(sender.flow(), sender.report());
            self.senders.remove(packet.flow);
        }
    }

    /// A SYN or data: each is acknowledged.
    fn arrived(&mut self, packet: &Packet<Header>, context: &mut Context<'_, Header, Meter>) {
        let (flow, header) = (packet.flow, packet.header);
        if header.role == Role::Syn {
            self.receivers.insert(flow, Reassembly::default());
        } else if let Some(arrived) = self.receivers.get_mut(flow) {
            arrived.add(header.seq, header.last);
            if arrived.whole().is_some() {
                self.receivers.remove(flow);
                context.delivered(flow);
            }
        }
        context.send(self.config.format.ack(packet, header));
    }
}

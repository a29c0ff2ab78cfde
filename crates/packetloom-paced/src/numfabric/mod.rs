//! NUMFabric (Nagaraj, Bharadia, Mao, Chinchali, Alizadeh and Katti, SIGCOMM 2016): flows get the rates that
//! maximise the sum of their utilities.
//!
//! Two layers. Swift (§4.1; not Google's of 2020) gives each flow its weighted max-min share within a few round
//! trips: switches share links by the weights in packets (the queue `weighted-fair`), and senders keep windows of
//! what arrives of theirs (`pace.rs`). xWI (§4.2) finds the weights: links set prices (`link.rs`), and a flow's
//! weight is the rate that it would have at the sum of the prices on its path (`utility.rs`).
//!
//! The authors' ns-3 code (src/internet/model of the repository "numfabric": prio-queue.cc, ipv4-l3-protocol.cc,
//! tcp-newreno.cc) decides what the paper leaves open. Left out: the utilities of several subflows together
//! (resource pooling) and of bandwidth functions.
//!
//! Each packet is acknowledged. What three later packets' acknowledgements prove lost, or a timeout does, is sent
//! again.

mod header;
mod link;
mod pace;
mod params;
mod sender;
mod utility;

use super::finished::Finished;
use super::flow_table::FlowTable;
use super::reassembly::Reassembly;
use super::{Scheme, Sending};
use crate::engine::{Context, FlowStatus, Report, Timer, Transport};
use crate::flow::{Flow, FlowId};
use crate::packet::{Kind, Packet};
use crate::spec::{Component, Values};
use crate::units::Time;
use header::Header;
use link::Link;
use packetloom_fabric::topology::Topology;
use params::Config;
use sender::Sender;
use std::sync::Arc;

type Host<'a> = Context<'a, Header, Link>;

/// A flow at its receiver.
#[derive(Clone, Debug, Default)]
struct Receiver {
    arrived: Reassembly,
    /// When its last packet came.
    last_at: Option<Time>,
}

/// All NUMFabric flows at one host.
pub struct NumFabric {
    config: Arc<Config>,
    senders: FlowTable<Sender>,
    receivers: FlowTable<Receiver>,
    finished: Finished,
}

impl Scheme for NumFabric {
    const COMPONENT: Component = params::COMPONENT;
    type Config = Arc<Config>;
    const GOES_BY_WEIGHTS: bool = true;

    fn configure(values: &Values) -> Arc<Config> {
        Arc::new(Config::of(values))
    }

    fn on_network(config: Arc<Config>, topology: &Topology) -> Arc<Config> {
        Arc::new(config.on(topology))
    }

    fn weighted_classes(values: &Values) -> Option<u64> {
        values.optional_list("weights").map(|weights| weights.len() as u64)
    }

    fn new(config: &Arc<Config>) -> NumFabric {
        NumFabric {
            finished: Finished::new(config.rto.longest().times(8)),
            config: config.clone(),
            senders: FlowTable::default(),
            receivers: FlowTable::default(),
        }
    }

    fn number(packet: &Packet<Header>) -> Option<u32> {
        Some(packet.header.seq)
    }
}

impl Transport for NumFabric {
    type Header = Header;
    type Agent = Link;

    fn start(&mut self, flow: Flow, context: &mut Host<'_>) {
        let mut sender = Sender::new(flow, &self.config, context.nic_rate());
        sender.open(&self.config, context);
        self.senders.insert(flow.id, sender);
    }

    fn receive(&mut self, packet: Packet<Header>, context: &mut Host<'_>) {
        match packet.kind {
            Kind::Data => self.arrived(&packet, context),
            Kind::Control => {
                context.send(self.config.format.ack(&packet, packet.header));
            }
            Kind::Ack => {
                let Some(sender) = self.senders.get_mut(packet.flow) else { return };
                sender.answered(&packet.header, &self.config, context);
                if sender.is_over() {
                    context.closed(sender.flow(), sender.report());
                    self.senders.remove(packet.flow);
                }
            }
            // It doesn't know trimming: to it the packet is lost.
            _ => {}
        }
    }

    fn timer(&mut self, timer: Timer, context: &mut Host<'_>) {
        if let Some(sender) = self.senders.get_mut(timer.key) {
            sender.timer(&self.config, context);
        }
    }

    fn sending(&self, flow: FlowId, _: Time) -> Option<Sending> {
        self.senders.get(flow).map(Sender::sending)
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        self.senders.states().map(|sender| (sender.flow().id, sender.report())).collect()
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        self.senders.states().map(Sender::at_sender).collect()
    }
}

impl NumFabric {
    /// The answer repeats what the links wrote, and says how long ago the flow's last packet came.
    fn arrived(&mut self, packet: &Packet<Header>, context: &mut Host<'_>) {
        let (next, gap_ps) = match self.finished.packets(packet.flow) {
            Some(packets) => (packets, 0.0),
            None => self.note(packet, context),
        };
        let header = Header { next, gap_ps, ..packet.header };
        context.send(self.config.format.ack(packet, header));
    }

    /// Takes in what arrived of a flow that is not whole; returns the first packet that is missing, and the time
    /// since the one before this.
    fn note(&mut self, packet: &Packet<Header>, context: &mut Host<'_>) -> (u32, f32) {
        let (flow, now) = (packet.flow, context.now);
        if self.receivers.get_mut(flow).is_none() {
            self.receivers.insert(flow, Receiver::default());
        }
        let Some(receiver) = self.receivers.get_mut(flow) else { return (0, 0.0) };
        let gap_ps = receiver.last_at.map_or(0.0, |last| now.since(last).as_ps() as f32);
        receiver.last_at = Some(now);
        receiver.arrived.add(packet.header.seq, packet.header.last);
        let next = receiver.arrived.next();
        if receiver.arrived.whole().is_some() {
            self.receivers.remove(flow);
            self.finished.add(now, flow, next);
            context.delivered(flow);
        }
        (next, gap_ps)
    }
}

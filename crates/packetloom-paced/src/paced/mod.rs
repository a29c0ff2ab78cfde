//! The rate-based core that RCP, D3 and PDQ share. A flow opens with a request, sends packet by packet at the rate
//! that the network granted, repeats the request while it has no rate, and announces its end. What differs is a
//! [`RateControl`] and the agents at the ports, which grant rates.
//!
//! Each packet is acknowledged. What three later packets' acknowledgements prove lost, or a timeout does, is sent
//! again.

mod config;
mod control;
mod header;
mod sender;

pub use config::{CORE, check};
pub use control::{Kbps, RateControl, SenderState, kbps, time_at};
pub use header::{Header, Role};

use super::finished::Finished;
use super::flow_table::FlowTable;
use super::reassembly::Reassembly;
use super::{Scheme, Sending};
use crate::engine::{Context, FlowStatus, Report, Timer, Transport};
use crate::flow::{Flow, FlowId};
use crate::packet::{Kind, Packet};
use crate::spec::{Component, Values};
use crate::units::Time;
use config::Config;
use sender::Sender;
use std::sync::Arc;

/// All paced flows at one host, under the rate control `C`.
pub struct Paced<C: RateControl> {
    config: Arc<Config>,
    senders: FlowTable<Sender<C>>,
    receivers: FlowTable<Reassembly>,
    finished: Finished,
}

impl<C: RateControl> Scheme for Paced<C> {
    const COMPONENT: Component = C::COMPONENT;
    type Config = Arc<Config>;

    fn configure(values: &Values) -> Arc<Config> {
        Arc::new(Config::of(values))
    }

    fn new(config: &Arc<Config>) -> Paced<C> {
        Paced {
            finished: Finished::new(config.rto.longest().times(8)),
            config: config.clone(),
            senders: FlowTable::default(),
            receivers: FlowTable::default(),
        }
    }

    fn number(packet: &Packet<Self::Header>) -> Option<u32> {
        Some(packet.header.seq)
    }
}

impl<C: RateControl> Transport for Paced<C> {
    type Header = Header<C::Fields>;
    type Agent = C::Agent;

    fn start(&mut self, flow: Flow, context: &mut Context<'_, Self::Header, C::Agent>) {
        let mut sender = Sender::new(flow, &self.config, context);
        sender.open(&self.config, context);
        self.senders.insert(flow.id, sender);
    }

    fn receive(&mut self, packet: Packet<Self::Header>, context: &mut Context<'_, Self::Header, C::Agent>) {
        match packet.kind {
            Kind::Data | Kind::Control => self.arrived(&packet, context),
            Kind::Ack => {
                let Some(sender) = self.senders.get_mut(packet.flow) else { return };
                sender.answered(&packet.header, &self.config, context);
                self.end_if_over(packet.flow, context);
            }
            // These transports don't know trimming: to them the packet is lost.
            _ => {}
        }
    }

    fn timer(&mut self, timer: Timer, context: &mut Context<'_, Self::Header, C::Agent>) {
        let Some(sender) = self.senders.get_mut(timer.key) else { return };
        sender.timer(&self.config, context);
        self.end_if_over(timer.key, context);
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

impl<C: RateControl> Paced<C> {
    fn end_if_over(&mut self, flow: u32, context: &mut Context<'_, Header<C::Fields>, C::Agent>) {
        let Some(sender) = self.senders.get_mut(flow) else { return };
        if sender.is_over() {
            sender.close(&self.config, context);
            context.closed(sender.flow(), sender.report());
            self.senders.remove(flow);
        }
    }

    fn arrived(
        &mut self,
        packet: &Packet<Header<C::Fields>>,
        context: &mut Context<'_, Header<C::Fields>, C::Agent>,
    ) {
        let (flow, header) = (packet.flow, packet.header);
        if header.role == Role::Close {
            self.receivers.remove(flow);
            return;
        }
        let next = match self.finished.packets(flow) {
            Some(packets) => packets,
            None => self.note(packet, context),
        };
        let header = Header { next, ..header };
        context.send(self.config.format.ack(packet, header));
    }

    /// Takes in what arrived of a flow that is not whole; returns the first packet that is missing.
    fn note(
        &mut self,
        packet: &Packet<Header<C::Fields>>,
        context: &mut Context<'_, Header<C::Fields>, C::Agent>,
    ) -> u32 {
        let (flow, header) = (packet.flow, packet.header);
        if self.receivers.get_mut(flow).is_none() {
            self.receivers.insert(flow, Reassembly::default());
        }
        let Some(arrived) = self.receivers.get_mut(flow) else { return 0 };
        if header.role == Role::Data {
            arrived.add(header.seq, header.last);
        }
        let next = arrived.next();
        if arrived.whole().is_some() {
            self.receivers.remove(flow);
            self.finished.add(context.now, flow, next);
            context.delivered(flow);
        }
        next
    }
}

//! The window-based core that the schemes of this crate share, from TCP to classes in Python: sending within a window,
//! selective acknowledgements, loss recovery, timeouts. What differs is a [`Congestion`] control and defaults.
//! Flowtune has it for its flows, MPTCP its parts for each subflow.
//!
//! Sequence numbers count packets. The pipe is estimated by RFC 6675, so selectively acknowledged packets open the
//! window. What connections flows run on is [`crate::connections`]'s.

mod config;
mod connected;
mod deliveries;
mod extras;
mod header;
pub mod increase;
mod prr;
mod rack;
mod receiver;
mod sender;
#[cfg(test)]
pub mod testing;
mod view;
mod window;

pub use config::{Config, Defaults, Reacts, Setup, check, core, default_of};
pub use header::{Block, Header, ack_packet};
pub use receiver::Receiver;
pub use sender::{Idle, Sender};
pub use view::{Acked, Delivery, Limit, Lost, Sample};
pub use window::{Congestion, Window};

use super::connections::Step;
use super::finished::Finished;
use super::flow_table::FlowTable;
use super::{Scheme, Sending};
use crate::engine::{Context, FlowStatus, Report, Timer, Transport};
use crate::flow::{Flow, FlowId};
use crate::packet::{Kind, Packet};
use crate::record::Segment;
use crate::routing::Judged;
use crate::spec::{Component, Values};
use crate::units::Time;
use connected::Connected;
use receiver::Delay;
use std::marker::PhantomData;
use std::sync::Arc;

/// A timer's purpose: a sender's retransmission timer.
pub const RETRANSMIT: u8 = 0;
/// A timer's purpose: a receiver's delayed acknowledgement.
pub const DELAYED_ACK: u8 = 1;

/// The purpose of a timer of one of a flow's subflows.
pub fn purpose_of(purpose: u8, subflow: u8) -> u8 {
    subflow << 1 | purpose
}

/// What a timer is for, and which of a flow's subflows it is of.
pub fn purpose_and_subflow(timer: Timer) -> (u8, u8) {
    (timer.purpose & 1, timer.purpose >> 1)
}

/// All window-based flows at one host, under the congestion control `C`.
pub struct Windowed<C: Congestion> {
    config: Arc<Setup<C>>,
    senders: FlowTable<Sender<C>>,
    receivers: FlowTable<Receiver>,
    finished: Finished,
    /// `None` where connections are open.
    connected: Option<Box<Connected<C>>>,
    congestion: PhantomData<C>,
}

impl<C: Congestion> Scheme for Windowed<C> {
    const COMPONENT: Component = C::COMPONENT;
    type Config = Arc<Setup<C>>;
    const JUDGED: Judged = Judged::Flows;

    fn goes_by_marks(values: &Values) -> bool {
        C::ecn(values)
    }

    fn classes(values: &Values) -> Option<u64> {
        C::classes(values)
    }

    fn configure(values: &Values) -> Arc<Setup<C>> {
        Arc::new(Setup::of(values))
    }

    fn new(config: &Arc<Setup<C>>) -> Windowed<C> {
        Windowed {
            finished: config.finished(),
            connected: Connected::new(config),
            config: config.clone(),
            senders: FlowTable::default(),
            receivers: FlowTable::default(),
            congestion: PhantomData,
        }
    }

    fn number(packet: &Packet<Header>) -> Option<u32> {
        Some(packet.header.seq)
    }
}

impl<C: Congestion> Transport for Windowed<C> {
    type Header = Header;
    type Agent = ();
    const SHORTENS: bool = C::SHORTENS;
    const SETTABLE: &'static [&'static str] = C::SETTABLE;

    fn set(&mut self, values: &Values, _: Time) {
        self.config = Arc::new(self.config.with(values));
        self.senders.states_mut().for_each(|sender| sender.set(values));
    }

    fn start(&mut self, flow: Flow, context: &mut Context<'_, Header>) {
        if let Some(connected) = &mut self.connected {
            let sender = connected.start(flow, &self.config, context);
            self.go_on(sender, context);
            return;
        }
        let mut sender = Sender::of(flow, &self.config);
        sender.begin(context);
        sender.transmit(&self.config, context);
        self.senders.insert(flow.id, sender);
    }

    fn receive(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        match packet.kind {
            Kind::Ack => self.acknowledged(packet, context),
            Kind::Data => self.data(packet, context),
            Kind::Control => self.controlled(packet, context),
            // These transports don't know trimming: to them the packet is lost.
            _ => {}
        }
    }

    #[inline]
    fn expect(&self, packet: &Packet<Header>) {
        match packet.kind {
            Kind::Ack => self.senders.prefetch(packet.flow),
            _ => self.receivers.prefetch(packet.flow),
        }
    }

    fn segment(packet: &Packet<Header>) -> Segment {
        let header = &packet.header;
        match header.step {
            Step::Syn => return Segment::Syn,
            Step::SynAck => return Segment::SynAck { next: header.ack },
            Step::Confirm => return Segment::Ack { next: header.ack, blocks: Vec::new(), echo: false },
            Step::Nothing | Step::Ack if packet.kind != Kind::Ack => {
                return Segment::Data { seq: header.seq };
            }
            Step::Nothing | Step::Ack => {}
        }
        let blocks = header.blocks.iter().filter(|block| block.length > 0);
        let blocks = blocks.map(|block| (header.ack + u32::from(block.offset), block.length.into()));
        Segment::Ack { next: header.ack, blocks: blocks.collect(), echo: header.echo }
    }

    fn timer(&mut self, timer: Timer, context: &mut Context<'_, Header>) {
        let flow = timer.key;
        if timer.purpose == RETRANSMIT {
            if let Some(sender) = self.senders.get_mut(flow) {
                sender.timer(&self.config, context);
                sender.report_error(context);
            } else if let Some(connected) = &mut self.connected {
                connected.handshakes.opening_timer(flow, 0, &self.config, context);
            }
        } else if let Some(receiver) = self.receivers.get_mut(flow) {
            receiver.delay_over(&self.config, context);
        } else if let Some(connected) = &mut self.connected {
            connected.handshakes.half_open_timer(flow, 0, &self.config, context);
        }
    }

    fn sending(&self, flow: FlowId, _: Time) -> Option<Sending> {
        self.senders.get(flow).map(Sender::sending)
    }

    fn shorten(&mut self, flow: FlowId, packets: u32) -> bool {
        let mss_bytes = self.config.format.data.mss_bytes;
        self.senders.get_mut(flow).is_some_and(|sender| sender.shorten(packets, mss_bytes))
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        let open = self.senders.states().map(|sender| (sender.flow().id, sender.report()));
        open.chain(self.connected.iter().flat_map(|connected| connected.reports())).collect()
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        let waiting = self.connected.iter().flat_map(|connected| connected.statuses(&self.config));
        self.senders.states().map(Sender::status).chain(waiting).collect()
    }
}

impl<C: Congestion> Windowed<C> {
    /// A flow that this host sends, and the parameters.
    pub fn sender(&mut self, flow: FlowId) -> Option<(&mut Sender<C>, &Config)> {
        self.senders.get_mut(flow).map(|sender| (sender, &**self.config))
    }

    /// The congestion control of a flow that this host sends.
    pub fn control(&self, flow: FlowId) -> Option<&C> {
        self.senders.get(flow).map(Sender::control)
    }

    /// Whether this host has flows to send.
    pub fn is_sending(&self) -> bool {
        self.senders.states().next().is_some()
    }

    fn acknowledged(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        let Some(sender) = self.senders.get_mut(packet.flow) else {
            self.acknowledged_in_syn(packet, context);
            return;
        };
        sender.acknowledged(&packet.header, &self.config, context);
        sender.report_error(context);
        if sender.is_done() {
            context.closed(sender.flow(), sender.report());
            let ended = self.senders.remove(packet.flow);
            if let (Some(connected), Some(sender)) = (&mut self.connected, ended) {
                connected.ended(sender, packet.header.sent_at);
            }
        }
    }

    /// The answer to a SYN that carried data, or an acknowledgement for a flow that is over.
    #[cold]
    fn acknowledged_in_syn(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        let connected = self.connected.as_mut();
        let sender = connected.and_then(|connected| connected.acknowledged_in_syn(packet.flow, &self.config));
        if let Some(sender) = sender {
            self.senders.insert(packet.flow, sender);
            self.acknowledged(packet, context);
        }
    }

    /// A flow that has a connection now begins to send.
    fn go_on(&mut self, sender: Option<Sender<C>>, context: &mut Context<'_, Header>) {
        let Some(mut sender) = sender else { return };
        if sender.is_done() {
            context.closed(sender.flow(), sender.report());
            if let Some(connected) = &mut self.connected {
                connected.ended(sender, context.now);
            }
            return;
        }
        sender.transmit(&self.config, context);
        self.senders.insert(sender.flow().id, sender);
    }

    fn data(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        let flow = packet.flow;
        if let Some(receiver) = self.receivers.get_mut(flow) {
            receiver.data(&packet, &self.config, context);
            if let Some(packets) = receiver.whole() {
                self.receivers.remove(flow);
                self.finish(flow, packets, context);
            }
        } else if let Some(packets) = self.finished.packets(flow) {
            self.acknowledge_whole(&packet, packets, context);
        } else {
            if let Some(connected) = &mut self.connected {
                connected.handshakes.data_arrived(flow, 0);
            }
            let mut receiver = Receiver::new(&packet, C::bare_class(packet.class));
            receiver.data(&packet, &self.config, context);
            match receiver.whole() {
                Some(packets) => self.finish(flow, packets, context),
                None => self.receivers.insert(flow, receiver),
            }
        }
    }

    fn finish(&mut self, flow: FlowId, packets: u32, context: &mut Context<'_, Header>) {
        context.delivered(flow);
        self.finished.add(context.now, flow, packets);
    }

    /// A probe, or a packet of a handshake.
    fn controlled(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        match (packet.header.step, &mut self.connected) {
            (Step::Nothing, _) | (_, None) => self.probed(packet, context),
            (Step::Syn, Some(connected)) => {
                let receiver = self.receivers.get(packet.flow).map(Receiver::next);
                let arrived = receiver.or_else(|| self.finished.packets(packet.flow));
                let class = C::bare_class(packet.class);
                connected.handshakes.syn(&packet, arrived, class, &self.config, context);
            }
            (_, Some(connected)) => {
                let sender = connected.receive(&packet, &self.config, context);
                self.go_on(sender, context);
            }
        }
    }

    /// A probe requests an acknowledgement.
    fn probed(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        if let Some(packets) = self.finished.packets(packet.flow) {
            self.acknowledge_whole(&packet, packets, context);
            return;
        }
        if self.receivers.get_mut(packet.flow).is_none() {
            self.receivers.insert(packet.flow, Receiver::new(&packet, C::bare_class(packet.class)));
        }
        if let Some(receiver) = self.receivers.get_mut(packet.flow) {
            receiver.acknowledge(packet.header.seq, packet.header.sent_at, &self.config, context);
        }
    }

    fn acknowledge_whole(&self, packet: &Packet<Header>, packets: u32, context: &mut Context<'_, Header>) {
        // How many marks there were is forgotten with the flow: the sender's count stays as it is.
        let header = Header { ack: packets, sent_at: packet.header.sent_at, ..Header::default() };
        let (to, class) = ((packet.src, packet.path), C::bare_class(packet.class));
        context.answer(ack_packet(packet.flow, to, class, header, &self.config));
    }
}

/// Whether a receiver acknowledges at once.
impl From<&Config> for Delay {
    fn from(config: &Config) -> Delay {
        Delay { packets: config.ack_every, time: config.ack_delay }
    }
}

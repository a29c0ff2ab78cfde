//! Flowtune (Perry, Balakrishnan and Shah, NSDI 2017): endpoints tell an allocator when their flowlets start and end;
//! it works out rates for all of them, and tells each endpoint those of its own that have changed.
//!
//! The allocator is a host of the network, reached in band, as Fastpass's arbiter is. A flowlet is a time in which a
//! flow has something to send. Here a flow has all its bytes from its start, so it is one flowlet: it starts with the
//! flow, and ends when the last byte is acknowledged and the sender's buffer is empty.
//!
//! The paper's text was not at hand, so its numbers (§6) are from memory: an iteration every 10 us, γ = 0.4, a
//! threshold of 0.01, messages of 16, 4 and 6 bytes over TCP with timeouts of 20 to 30 us. What was open is said where
//! something was chosen.
//!
//! | Start at | for |
//! |---|---|
//! | [`Flowtune`] | an endpoint, and the allocator if this is its host |
//! | `allocator.rs`, `network.rs` | rates; the links of each flow |
//! | `pace.rs` | what a flow does with its rate, and before it has one |
//! | `message.rs`, `connection.rs` | what goes between them, and that it arrives |

mod allocator;
mod connection;
mod message;
mod network;
mod pace;
mod params;
#[cfg(test)]
mod tests;

use super::windowed::{Congestion, Header, RETRANSMIT, Windowed};
use super::{Scheme, Sending};
use crate::engine::{Context, FlowStatus, PathNeeds, Plan, Report, Timer, Transport};
use crate::flow::{Flow, FlowId, HostId};
use crate::packet::{Kind, Packet};
use crate::record;
use crate::routing::Judged;
use crate::spec::{Complaint, Component, Values};
use crate::topology::Topology;
use crate::units::Time;
use allocator::{Allocator, Update};
use connection::Connection;
use message::{Message, Segment};
use pace::Pace;
use params::Settings;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Timers' purposes, beside TCP's. At one instant rates are sent before the next iteration.
const PACE: u8 = 2;
const CONNECTION: u8 = 3;
const TELL: u8 = 4;
const ITERATE: u8 = 5;

/// Flowtune at one host: its flows, and the allocator if this is its host.
pub struct Flowtune {
    settings: Arc<Settings>,
    tcp: Windowed<Pace>,
    /// To the allocator; of the allocator, to every endpoint that it has heard of.
    connections: BTreeMap<HostId, Connection>,
    /// Made when it hears of the first flowlet, where it is.
    allocator: Option<Box<Allocator>>,
    /// Rates that are being worked out.
    updates: Vec<Update>,
    /// What has come over a connection.
    ready: Vec<Message>,
}

impl Scheme for Flowtune {
    const COMPONENT: Component = Pace::COMPONENT;
    type Config = Arc<Settings>;
    const ONE_LINK_A_HOST: bool = true;
    const PATHS: PathNeeds = PathNeeds::OnePerFlow;
    const JUDGED: Judged = Judged::Flows;
    const NEEDS_WHOLE: Option<&'static str> = Some("its allocator decides for all flows");

    fn configure(values: &Values) -> Arc<Settings> {
        Arc::new(Settings::of(values, Windowed::<Pace>::configure(values)))
    }

    fn on_plan(config: Arc<Settings>, plan: &Plan<'_>) -> Arc<Settings> {
        let network = Some(network::Network::of(plan));
        Arc::new(Settings { network, ..Settings::clone(&config) })
    }

    fn check_network(values: &Values, topology: &Topology) -> Result<(), Complaint> {
        let (allocator, hosts) = (values.count("allocator"), topology.hosts);
        if allocator < u64::from(hosts) {
            return Ok(());
        }
        let message =
            format!("there is no host {allocator}; write one of the {hosts}, from 0 to {}", hosts - 1);
        Err(Complaint::new("scheme.transport.allocator", message))
    }

    fn new(config: &Arc<Settings>) -> Flowtune {
        Flowtune {
            settings: Arc::clone(config),
            tcp: Windowed::new(&config.tcp),
            connections: BTreeMap::new(),
            allocator: None,
            updates: Vec::new(),
            ready: Vec::new(),
        }
    }

    fn number(packet: &Packet<Header>) -> Option<u32> {
        Windowed::<Pace>::number(packet)
    }
}

impl Transport for Flowtune {
    type Header = Header;
    type Agent = ();

    fn start(&mut self, flow: Flow, context: &mut Context<'_, Header>) {
        let start = Message::Start { flow: flow.id, dst: flow.dst, class: flow.class };
        self.tell(self.settings.allocator, flow.id, start, context);
        self.tcp.start(flow, context);
        if let Some((sender, _)) = self.tcp.sender(flow.id) {
            let network = self.settings.network.as_ref();
            let (framing_bytes, whole_ns) = network.map_or((0, false), network::Network::clock);
            sender.steer().0.describe(framing_bytes, whole_ns);
        }
    }

    fn receive(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        if let Some(segment) = message::read(&packet) {
            self.hear(&packet, segment, context);
        } else if packet.kind == Kind::Ack {
            self.acknowledged(packet, context);
        } else {
            self.tcp.receive(packet, context);
        }
    }

    #[inline]
    fn expect(&self, packet: &Packet<Header>) {
        self.tcp.expect(packet);
    }

    fn segment(packet: &Packet<Header>) -> record::Segment {
        match message::read(packet) {
            Some(_) => record::Segment::Datagram,
            None => Windowed::<Pace>::segment(packet),
        }
    }

    fn timer(&mut self, timer: Timer, context: &mut Context<'_, Header>) {
        match timer.purpose {
            PACE => self.pace_allows(timer.key, context),
            CONNECTION => {
                let is_busy = self.tcp.is_sending();
                if let Some(connection) = self.connections.get_mut(&timer.key) {
                    connection.timer(is_busy, &self.settings.terms, context);
                }
            }
            TELL => self.send_updates(context),
            ITERATE => self.iterate(context),
            _ => {
                self.tcp.timer(timer, context);
                if timer.purpose == RETRANSMIT {
                    self.keep_pace(timer.key, context);
                }
            }
        }
    }

    fn sending(&self, flow: FlowId, now: Time) -> Option<Sending> {
        let sending = self.tcp.sending(flow, now)?;
        Some(Sending { rate: self.tcp.control(flow).and_then(Pace::rate), ..sending })
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        self.tcp.reports()
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        self.tcp.statuses()
    }
}

/// An endpoint.
impl Flowtune {
    fn acknowledged(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        let flow = packet.flow;
        if self.tcp.sender(flow).is_none() {
            return;
        }
        self.tcp.receive(packet, context);
        if self.tcp.sender(flow).is_some() {
            self.keep_pace(flow, context);
        } else {
            self.tell(self.settings.allocator, flow, Message::End { flow }, context);
        }
    }

    /// A rate has come, perhaps for a flow that has ended meanwhile.
    fn set_rate(&mut self, flow: FlowId, kbps: u32, context: &mut Context<'_, Header>) {
        if let Some((sender, config)) = self.tcp.sender(flow) {
            let (pace, window) = sender.steer();
            pace.set_rate(kbps, window);
            sender.transmit(config, context);
            self.keep_pace(flow, context);
        }
    }

    /// The time has come that a timer was set for by [`Flowtune::keep_pace`].
    fn pace_allows(&mut self, flow: FlowId, context: &mut Context<'_, Header>) {
        let Some((sender, config)) = self.tcp.sender(flow) else { return };
        let (pace, _) = sender.steer();
        if context.now < pace.alarm {
            return;
        }
        pace.alarm = Time::NEVER;
        sender.transmit(config, context);
        self.keep_pace(flow, context);
    }

    /// Sets a timer for the next packet, if it is the pace that holds it back.
    fn keep_pace(&mut self, flow: FlowId, context: &mut Context<'_, Header>) {
        let Some((sender, config)) = self.tcp.sender(flow) else { return };
        let is_ready = sender.is_ready(config);
        let (pace, _) = sender.steer();
        if is_ready && pace.due() < pace.alarm {
            pace.alarm = pace.due().max(context.now);
            context.set_timer(pace.alarm, flow, PACE);
        }
    }
}

/// Messages.
impl Flowtune {
    /// Tells a host something that concerns a flow; at the same host it is known at once.
    fn tell(&mut self, host: HostId, flow: FlowId, message: Message, context: &mut Context<'_, Header>) {
        if host == context.host {
            self.act(host, message, context);
            return;
        }
        let terms = &self.settings.terms;
        let connection = self.connections.entry(host).or_insert_with(|| Connection::new(host, flow, terms));
        connection.send(message, terms, context);
    }

    /// A packet of a connection came.
    fn hear(&mut self, packet: &Packet<Header>, segment: Segment, context: &mut Context<'_, Header>) {
        let (peer, stamp, terms) = (packet.src, packet.header.sent_at, &self.settings.terms);
        let new = || Connection::new(peer, packet.flow, terms);
        let connection = self.connections.entry(peer).or_insert_with(new);
        let mut ready = std::mem::take(&mut self.ready);
        match segment {
            Segment::Ack(next) => connection.acknowledged(next, stamp, terms, context),
            Segment::Message(number, message) => {
                connection.arrived((number, message), stamp, &mut ready, terms, context);
            }
        }
        for (nth, message) in ready.iter().enumerate() {
            if !ready[nth + 1..].iter().any(|later| later.replaces(message)) {
                self.act(peer, *message, context);
            }
        }
        ready.clear();
        self.ready = ready;
    }

    /// Does what a host has told this one.
    fn act(&mut self, from: HostId, message: Message, context: &mut Context<'_, Header>) {
        match message {
            Message::Rate { flow, kbps } => self.set_rate(flow, kbps, context),
            Message::Start { flow, dst, class } => {
                self.allocator().started(flow, (from, dst), class, context.now);
                self.schedule(context);
            }
            Message::End { flow } => {
                self.allocator().ended(flow);
                self.schedule(context);
            }
        }
    }
}

/// The allocator's clock.
impl Flowtune {
    fn allocator(&mut self) -> &mut Allocator {
        let settings = &self.settings;
        self.allocator.get_or_insert_with(|| {
            let network = settings.network.as_ref().expect("a case has a network");
            Box::new(Allocator::new(&settings.allocation, network))
        })
    }

    fn schedule(&mut self, context: &mut Context<'_, Header>) {
        if let Some(at) = self.allocator().schedule(context.now) {
            context.set_timer(at, 0, ITERATE);
        }
    }

    fn iterate(&mut self, context: &mut Context<'_, Header>) {
        let mut updates = std::mem::take(&mut self.updates);
        self.allocator().iterate(context.now, &mut updates);
        self.schedule(context);
        self.updates = updates;
        if self.settings.computation == Time::ZERO {
            self.send_updates(context);
        } else if !self.updates.is_empty() {
            context.set_timer(context.now + self.settings.computation, 0, TELL);
        }
    }

    fn send_updates(&mut self, context: &mut Context<'_, Header>) {
        let mut updates = std::mem::take(&mut self.updates);
        for Update { host, flow, kbps } in updates.drain(..) {
            self.tell(host, flow, Message::Rate { flow, kbps }, context);
        }
        self.updates = updates;
    }
}

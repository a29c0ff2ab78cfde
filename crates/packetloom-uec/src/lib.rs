//! EQDS and Ultra Ethernet: transports whose packets take all paths, whose switches trim what does not fit, and
//! whose senders go by a window of their own (NSCC), by credit from their receivers (RCCC, EQDS), or by both.
//!
//! A packet is made when the host's link is free, so that it carries the newest state. The receiver acknowledges
//! many packets at once, by a number and a bitmap. The routing chooses each packet's path, and gets the fate of each
//! packet from here.
//!
//! | Start at | for |
//! |---|---|
//! | `sender.rs`, `flight.rs` | a flow at its sender; its packets in flight |
//! | `receiver.rs`, `sack.rs` | a flow at its receiver; what to acknowledge |
//! | `nscc.rs`, `window.rs` | the window |
//! | `credit.rs`, `pacer.rs`, `oversubscribed.rs` | credit at the sender, and the receiver's pulls |
//! | `sleek.rs` | loss detection without trimming |
//! | `service.rs`, `ordered.rs`, `idempotent.rs`, `unreliable.rs` | Ultra Ethernet's delivery services; what each does otherwise than RUD |
//! | `nic.rs` | the order of packets at a host's link |
//! | `links.rs`, `lanes.rs`, `several.rs` | hosts with several links: their networks, what flows by the same links share, which link a packet takes |

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod config;
mod credit;
mod flight;
mod header;
mod idempotent;
mod lanes;
mod links;
mod nic;
mod nscc;
mod ordered;
mod oversubscribed;
mod pacer;
mod params;
mod receiver;
mod sack;
mod sender;
mod service;
mod several;
mod sleek;
mod taking;
mod unreliable;
mod variants;
mod window;

use crate::engine::{Context, FlowStatus, Plan, Report, Timer, Transport};
use crate::flow::{Flow, FlowId, HostId};
use crate::packet::{Kind, Packet};
use crate::routing::Judged;
use crate::spec::{Complaint, Component, Values};
use crate::topology::Topology;
use crate::units::Time;
use config::Config;
use header::Header;
use lanes::{Lane, Lanes};
use links::Links;
use ordered::Gap;
use pacer::{FindPulls, Pacer};
use packetloom_base::narrow::{narrow, saturated};
use packetloom_base::{flow, narrow, packet, prefetch, spec, units};
use packetloom_engine::engine;
use packetloom_fabric::{routing, topology};
use packetloom_transport::finished::Finished;
use packetloom_transport::flow_table::FlowTable;
use packetloom_transport::{Scheme, Sending, packet_format, priority, reassembly, seq_set};
use receiver::{Pulls, Receiver};
use sack::Arrivals;
use sender::Sender;
use service::Service;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;
use taking::{answer_when_over, take_in};
pub use variants::{OfEqds, OfUec, Settings, Variant};

packetloom_transport::family! {
    Eqds,
    Uec,
}

/// EQDS.
pub type Eqds = Sprayed<OfEqds>;

/// Ultra Ethernet.
pub type Uec = Sprayed<OfUec>;

/// A timer's purpose: the host's link is free.
const SERVE: u8 = 0;
/// A timer's purpose: a flow may have waited too long for an answer.
const TIMEOUT: u8 = 1;
/// A timer's purpose: a flow may have a probe to send.
const PROBE: u8 = 2;
/// A timer's purpose: the host's next pull is due.
const PULL: u8 = 3;
/// A timer's purpose: a period of the control for oversubscribed networks is over.
const PERIOD: u8 = 4;

type Host<'a> = Context<'a, Header>;

/// These on a network.
#[derive(Clone, Debug)]
pub struct Setup {
    config: Arc<Config>,
    /// What hosts know of their links, where some have several.
    links: Option<Arc<Links>>,
}

/// All flows at one host.
pub struct Sprayed<V> {
    lanes: Lanes,
    senders: FlowTable<Sender>,
    receivers: FlowTable<Receiver>,
    /// With `idle_pulls = "htsim"`: flows that are over, but pulled from all the same.
    over: BTreeMap<FlowId, Receiver>,
    finished: Finished,
    variant: PhantomData<V>,
}

impl<V: Variant> Scheme for Sprayed<V> {
    const COMPONENT: Component = V::COMPONENT;
    type Config = Setup;
    const GOES_BY_TRIMS: bool = true;
    const JUDGED: Judged = Judged::Packets;
    const NEEDS_WHOLE: Option<&'static str> =
        Some("its packets take several paths, and its receivers give credit");

    fn goes_by_marks(values: &Values) -> bool {
        V::goes_by_marks(values)
    }

    // Entropies are chosen by marks, too.
    fn is_markable(_: &Values) -> bool {
        true
    }

    fn configure(values: &Values) -> Setup {
        let Settings(config) = V::read(values);
        Setup { config: Arc::new(config), links: None }
    }

    fn on_plan(setup: Setup, plan: &Plan<'_>) -> Setup {
        let config = Arc::unwrap_or_clone(setup.config).on(plan.topology);
        let spreads = routing::hosts_spread(plan.routing) && config.service != Service::Rod;
        let links = Links::of(plan.topology, config.sizes(), spreads).map(Arc::new);
        Setup { config: Arc::new(config), links }
    }

    fn check_network(values: &Values, topology: &Topology) -> Result<(), Complaint> {
        let Settings(config) = V::read(values);
        if config.credits.is_some() { links::check_pulls(topology) } else { Ok(()) }
    }

    fn check_routing(values: &Values, routing: &Values, topology: &Topology) -> Result<(), Complaint> {
        let Settings(config) = V::read(values);
        match (config.credits, config.service) {
            (None, _) => Ok(()),
            (Some(_), Service::Rod) => links::check_ordered(topology),
            (Some(_), _) => links::check_spread(routing, topology),
        }
    }

    fn is_answered(values: &Values) -> bool {
        let Settings(config) = V::read(values);
        config.service != Service::Uud
    }

    fn new(Setup { config, links }: &Setup) -> Sprayed<V> {
        Sprayed {
            lanes: Lanes::new(Arc::clone(config), links.clone()),
            senders: FlowTable::default(),
            receivers: FlowTable::default(),
            over: BTreeMap::new(),
            finished: Finished::new(Time(config.rto.as_ps().saturating_mul(sender::LONGEST_SILENCE + 8))),
            variant: PhantomData,
        }
    }

    fn number(packet: &Packet<Header>) -> Option<u32> {
        if let Header::Data { seq, .. } = packet.header { Some(seq) } else { None }
    }
}

impl<V: Variant> Transport for Sprayed<V> {
    type Header = Header;
    type Agent = ();

    fn start(&mut self, flow: Flow, context: &mut Host<'_>) {
        let number = self.lanes.to(context.host, flow.dst);
        let lane = self.lanes.get(number);
        let sender = Sender::new(flow, number, lane.rate_at(context), &lane.config);
        self.senders.insert(flow.id, sender);
        self.settle(flow.id, context);
        self.serve(context);
    }

    fn receive(&mut self, packet: Packet<Header>, context: &mut Host<'_>) {
        match packet.header {
            Header::Data { .. } | Header::Rts { .. } | Header::Probe { .. } => self.arrived(&packet, context),
            Header::Ack(_) | Header::Nack(_) | Header::Pull(_) => self.answered(&packet, context),
        }
        self.serve(context);
    }

    #[inline]
    fn expect(&self, packet: &Packet<Header>) {
        match packet.kind {
            Kind::Data | Kind::Trimmed => self.finished.expect(packet.flow, &self.receivers),
            _ => self.senders.prefetch(packet.flow),
        }
    }

    #[inline]
    fn expect_soon(&self, packet: &Packet<Header>) {
        if let Header::Ack(ack) = &packet.header {
            if let Some(sender) = self.senders.get(packet.flow) {
                sender.flight.prefetch(ack.seq);
            }
        } else if packet.kind == Kind::Data {
            self.finished.expect_soon(packet.flow, &self.receivers);
        }
    }

    fn timer(&mut self, timer: Timer, context: &mut Host<'_>) {
        match timer.purpose {
            SERVE => {
                let nic = &mut self.lanes.get_mut(narrow::<u16>(timer.key)).nic;
                if context.now != nic.serves_at {
                    return;
                }
                nic.serves_at = Time::NEVER;
            }
            TIMEOUT => self.rings(timer.key, context),
            PROBE => self.probes(timer.key, context),
            PULL => {
                self.lanes.get_mut(narrow::<u16>(timer.key)).pulls_at = Time::NEVER;
                self.pull(narrow::<u16>(timer.key), context);
            }
            _ => self.end_period(narrow::<u16>(timer.key), context),
        }
        self.serve(context);
    }

    fn resumed(&mut self, context: &mut Host<'_>) {
        self.unblock();
        self.serve(context);
    }

    fn sending(&self, flow: FlowId, _: Time) -> Option<Sending> {
        self.senders.get(flow).map(|sender| sender.sending(&self.lanes.get(sender.lane).config))
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        self.senders.states().map(|sender| (sender.flow().id, sender.report())).collect()
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        // Nobody knows how an unreliable flow fares. It never stands still, unless the host's link does.
        let service = self.lanes.get(0).config.service;
        self.senders.states().filter(|_| service != Service::Uud).map(Sender::status).collect()
    }
}

// The host's link.
impl<V: Variant> Sprayed<V> {
    /// Sends what waits if the link is free, and comes back when it is: control packets up to a flow's turn, then a
    /// packet of that flow.
    fn serve(&mut self, context: &mut Host<'_>) {
        if self.lanes.may_be_several() {
            return self.serve_several(context);
        }
        while self.lanes.get(0).nic.has_any() {
            let Some(free_at) = context.nic_free_at(0, 0, 0, || 0) else { return };
            if free_at > context.now {
                return self.serve_lane_at(0, free_at, context);
            }
            while let Some(packet) = self.lanes.get_mut(0).nic.take_control() {
                context.send(packet);
            }
            self.send_data(context);
        }
    }

    /// Has the next flow send that can.
    fn send_data(&mut self, context: &mut Host<'_>) {
        while let Some(flow) = self.lanes.get_mut(0).nic.take_flow() {
            let Some(sender) = self.senders.get_mut(flow) else { continue };
            sender.is_queued = false;
            let start = context.nic_drained_at(flow, 0, || 0).max(context.now);
            let Lane { config, nic, .. } = self.lanes.get(0);
            if sender.take_turn((start, None), nic.flows() + 1, config, context) {
                return self.settle(flow, context);
            }
        }
    }

    /// Queues a control packet about a flow.
    fn send_control(&mut self, (flow, lane): (FlowId, u16), dst: HostId, class: u8, header: Header) {
        let Lane { config, nic, .. } = self.lanes.get_mut(lane);
        nic.add_control(Packet {
            flow,
            dst,
            priority: priority::FIRST,
            size_bytes: config.format.ack_bytes,
            kind: if matches!(header, Header::Ack(_)) { Kind::Ack } else { Kind::Control },
            class,
            header,
            ..Packet::default()
        });
    }
}

// The sending side.
impl<V: Variant> Sprayed<V> {
    /// Has a flow of which something changed wait for its turn if it can send, and for its timers.
    fn settle(&mut self, flow: FlowId, context: &mut Host<'_>) {
        let Some(sender) = self.senders.get_mut(flow) else { return };
        let Lane { config, nic, .. } = self.lanes.get_mut(sender.lane);
        if !sender.is_queued && sender.may_send(config) {
            sender.is_queued = true;
            nic.add_flow(flow);
        }
        if config.service != Service::Uud {
            sender.set_alarm(config, context);
        }
    }

    /// An answer of the receiver.
    fn answered(&mut self, packet: &Packet<Header>, context: &mut Host<'_>) {
        let flow = packet.flow;
        let Some(sender) = self.senders.get_mut(flow) else { return };
        let config = &self.lanes.get(sender.lane).config;
        match &packet.header {
            Header::Ack(ack) => match config.service {
                Service::Rod => sender.acknowledged_in_order(ack, config, context),
                Service::Rudi => sender.acknowledged(&sender.completed(ack, config), config, context),
                _ => sender.acknowledged(ack, config, context),
            },
            Header::Nack(nack) => match config.service {
                Service::Rod => sender.trimmed_in_order(nack, config, context),
                _ => sender.trimmed(nack, config, context),
            },
            &Header::Pull(given) => sender.pulled(given, context.now),
            _ => {}
        }
        if sender.is_done() { self.close(flow, context) } else { self.settle(flow, context) }
    }

    /// A sender is done.
    fn close(&mut self, flow: FlowId, context: &mut Host<'_>) {
        if let Some(sender) = self.senders.get(flow) {
            context.closed(sender.flow(), sender.report());
            self.senders.remove(flow);
        }
    }

    /// A flow may have waited too long for an answer.
    fn rings(&mut self, flow: FlowId, context: &mut Host<'_>) {
        let Some(sender) = self.senders.get_mut(flow) else { return };
        if self.lanes.get(sender.lane).config.service == Service::Uud {
            return self.close(flow, context);
        }
        let request = sender.timer(&self.lanes.get(sender.lane).config, context);
        let (lane, Flow { dst, class, .. }) = (sender.lane, *sender.flow());
        if let Some(header) = request {
            self.send_control((flow, lane), dst, class, header);
        }
        self.settle(flow, context);
    }

    /// A flow may have a probe to send.
    fn probes(&mut self, flow: FlowId, context: &mut Host<'_>) {
        let Some(sender) = self.senders.get_mut(flow) else { return };
        let probe = sender.probe(context);
        let (lane, Flow { dst, class, .. }) = (sender.lane, *sender.flow());
        if let Some(header) = probe {
            self.send_control((flow, lane), dst, class, header);
        }
        self.settle(flow, context);
    }
}

// The receiving side.
impl<V: Variant> Sprayed<V> {
    /// A packet, its header, a request or a probe.
    fn arrived(&mut self, packet: &Packet<Header>, context: &mut Host<'_>) {
        let (flow, src, class) = (packet.flow, packet.src, packet.class);
        if self.receivers.get(flow).is_none() {
            let lane = self.lanes.to(context.host, src);
            if let Some(packets) = self.finished.packets(flow) {
                if let Some(header) = answer_when_over(packet, packets, self.lanes.get(lane).config.service) {
                    self.send_control((flow, lane), src, class, header);
                }
                return;
            }
            let (arrivals, pulls, gap) = (Arrivals::default(), Pulls::default(), Gap::default());
            self.receivers.insert(flow, Receiver { sender: src, class, lane, arrivals, pulls, gap });
        }
        let Some(receiver) = self.receivers.get_mut(flow) else { return };
        let number = receiver.lane;
        let lane = self.lanes.get_mut(number);
        begin_period(lane, number, context);
        let (answer, wants) = take_in(receiver, packet, &lane.config, &mut lane.oversubscribed);
        if lane.config.credits.is_some() && (wants.credit || wants.trimmed > 0) {
            if lane.pacer.is_none() {
                lane.pacer = lane.config.pacer(lane.rate_at(context)).map(Pacer::new);
            }
            if let Some(pacer) = &mut lane.pacer {
                pacer.request(flow, &mut receiver.pulls, wants);
            }
        }
        if receiver.arrivals.are_whole() {
            let packets = receiver.arrivals.packets();
            if lane.config.credits.is_some_and(|credits| credits.pacer.idle_again) {
                let over = Receiver { arrivals: Arrivals::default(), gap: Gap::default(), ..*receiver };
                self.over.insert(flow, over);
            }
            self.receivers.remove(flow);
            self.finished.add(context.now, flow, packets);
            context.delivered(flow);
        }
        if let Some(header) = answer {
            self.send_control((flow, number), src, class, header);
        }
        if self.lanes.get(number).pacer.is_some() {
            self.pull(number, context);
        }
    }

    /// Pulls from the flow whose turn it is, if a pull is due; otherwise sets a timer.
    fn pull(&mut self, number: u16, context: &mut Host<'_>) {
        let now = context.now;
        loop {
            let lane = self.lanes.get_mut(number);
            let Some(pacer) = lane.pacer.as_mut().filter(|pacer| pacer.has_any()) else { return };
            let due = pacer.free_at();
            if due > now {
                if due < lane.pulls_at {
                    lane.pulls_at = due;
                    context.set_timer(due, number.into(), PULL);
                }
                return;
            }
            let takes = lane.config.pull_takes(lane.rate.unwrap_or_else(|| context.nic_rate()));
            let mut pulls = Known { receivers: &mut self.receivers, over: &mut self.over };
            let Some((flow, given)) = pacer.pull((now, takes), &mut pulls) else { return };
            let Some(receiver) = self.receivers.get(flow).or_else(|| self.over.get(&flow)) else { return };
            let (sender, class) = (receiver.sender, receiver.class);
            self.send_control((flow, number), sender, class, Header::Pull(given));
        }
    }

    fn end_period(&mut self, number: u16, context: &mut Host<'_>) {
        let lane = self.lanes.get_mut(number);
        lane.is_in_period = false;
        if let (Some(control), Some(pacer)) = (&mut lane.oversubscribed, &mut lane.pacer) {
            pacer.limit(control.end_period());
        }
        if self.receivers.states().any(|receiver| receiver.lane == number) {
            begin_period(lane, number, context);
        }
    }
}

/// What is known of flows' credit, those that are over included.
struct Known<'a> {
    receivers: &'a mut FlowTable<Receiver>,
    over: &'a mut BTreeMap<FlowId, Receiver>,
}

impl FindPulls for Known<'_> {
    fn find(&mut self, flow: FlowId) -> Option<&mut Pulls> {
        match self.receivers.find(flow) {
            Some(pulls) => Some(pulls),
            None => self.over.get_mut(&flow).map(|receiver| &mut receiver.pulls),
        }
    }
}

/// In oversubscribed networks: begins to count, unless it does already.
#[inline]
fn begin_period(lane: &mut Lane, number: u16, context: &mut Host<'_>) {
    if lane.oversubscribed.is_some() && !std::mem::replace(&mut lane.is_in_period, true) {
        // One and a half round trips, drawn anew each time, so that receivers do not swing together.
        let period = (0.75 + context.random.unit() / 2.0) * 1.5 * lane.config.network_rtt.as_ps() as f64;
        context.set_timer(context.now + Time(saturated::<u64>(period).max(1)), number.into(), PERIOD);
    }
}

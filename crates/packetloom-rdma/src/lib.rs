//! RDMA over Ethernet (RoCE): queue pairs that a NIC serves in turn, each at a rate and within a window that a
//! `Control` sets.
//!
//! A packet is made when the NIC is free: there is no queue of data in it. ACKs go into the NIC's queue at once, and
//! so go first. What is lost is sent again from the first missing packet on (go-back-N), or by itself (IRN).
//!
//! | Start at | for |
//! |---|---|
//! | `control.rs` | the trait of a congestion control; `roce.rs` is the shortest, then `dctcp.rs` and `timely.rs` |
//! | `dcqcn/`, `hpcc/`, `swift.rs`, `bfc.rs` | the others; `python/`: those that users write |
//! | `rota.rs`, `plans.rs` | which queue pair sends next, and when |
//! | `pair.rs`, `repair.rs`, `arrivals.rs`, `cnps.rs` | a sender's state, its loss recovery, the receiver's state |
//! | `connections/` | queue pairs that are connected by a handshake, or kept for later flows |
//! | `params.rs`, `presets.rs`, `config.rs`, `network.rs` | parameters, those set together, and what follows from the network |

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod arrivals;
mod bfc;
mod cnps;
mod config;
mod connections;
mod control;
mod dcqcn;
mod dctcp;
mod header;
mod hpcc;
mod network;
mod pair;
mod params;
mod plans;
mod powertcp;
pub mod presets;
pub mod python;
mod repair;
mod roce;
mod rota;
mod swift;
mod timely;

pub use bfc::Bfc;
pub use connections::COMPONENTS as CONNECTION_COMPONENTS;
pub use dcqcn::Dcqcn;
pub use dctcp::RateDctcp;
pub use hpcc::Hpcc;
pub use powertcp::{PowerTcp, ThetaPowerTcp};
pub use roce::Roce;
pub use swift::Swift;
pub use timely::Timely;

use crate::engine::{Context, FlowStatus, Plan, Report, Timer, Transport};
use crate::flow::{Flow, FlowId, HostId};
use crate::packet::{Ecn, Kind, Packet};
use crate::spec::{Complaint, Component, Values};
use crate::topology::Topology;
use crate::units::Time;
use arrivals::{Arrival, Arrivals, Reply};
use cnps::Quiet;
use config::{Config, Notification, Recovery};
use connections::{Connected, InOrder, Place};
use control::{AckInfo, Control, Loss, Spacing};
use header::{Header, Step};
use network::Network;
use packetloom_base::{flow, narrow, packet, random, spec, units, user_class};
use packetloom_engine::engine;
use packetloom_fabric::topology;
use packetloom_transport::finished::Finished;
use packetloom_transport::flow_table::FlowTable;
use packetloom_transport::{
    FixedRate, Scheme, Sending, finished, packet_format, pool, priority, reassembly, seq_set,
};
use pair::Pair;
use plans::{NO_PLAN, Plans};
use rota::Rotas;
use std::collections::BTreeMap;
use std::sync::Arc;

packetloom_transport::family! {
    Roce,
    Dcqcn,
    Timely,
    Hpcc,
    PowerTcp,
    ThetaPowerTcp,
    Swift,
    RateDctcp,
    Bfc,
    python::PythonRate,
    python::PythonTelemetry,
}

/// A timer's purpose: the NIC is free, or the next packet's time has come.
const SERVE: u8 = 0;
/// A timer's purpose: a flow may have waited too long for an answer.
const TIMEOUT: u8 = 1;
/// A timer's purpose: a receiver has waited long enough for packets to acknowledge together.
const ACK_DELAY: u8 = 2;
/// A timer's purpose: a handshake's first packet may have waited too long for an answer.
const REQUEST: u8 = 3;
/// A timer's purpose: so may the answer.
const ANSWER: u8 = 4;

type Host<'a, C> = Context<'a, Header<<C as Control>::Fields>, <C as Control>::Agent>;
type Of<C> = Packet<Header<<C as Control>::Fields>>;

/// The settings of all hosts' queue pairs.
pub struct Setup<C: Control> {
    config: Config,
    settings: C::Settings,
}

/// A flow at its sender.
struct Sender<C> {
    pair: Pair,
    control: C,
    /// Which queue pair of its two hosts it is on.
    number: u16,
    /// What its packets have in the place of the source port that switches hash.
    port: u16,
}

/// A flow at its receiver.
struct Receiver<W> {
    arrivals: Arrivals,
    /// The last packet that came; the first, where every one is answered at once.
    last: Answered<W>,
}

/// A packet that is answered: its flow, the host that sent it, the port that switches hash, its number and its
/// fields.
#[derive(Clone, Copy)]
struct Answered<W> {
    flow: FlowId,
    src: HostId,
    port: u16,
    seq: u32,
    fields: W,
}

/// All queue pairs of one host, under the congestion control `C`.
pub struct Rdma<C: Control> {
    setup: Arc<Setup<C>>,
    senders: FlowTable<Sender<C>>,
    rotas: Rotas,
    /// When the earliest timer goes off that is set to serve.
    serves_at: Time,
    /// Where the order of a simulator is repeated.
    plans: Option<Box<Plans>>,
    receivers: FlowTable<Receiver<C::Fields>>,
    finished: Finished,
    /// How many queue pairs to each host flows have had.
    started: BTreeMap<HostId, u16>,
    /// `None` where queue pairs are open.
    connected: Option<Box<Connected<C>>>,
    /// Where all flows from one host to another share a queue pair, or a number of them.
    in_order: Option<Box<InOrder<C>>>,
    /// Where CNPs are not limited for each flow by itself.
    quiet: Option<Box<Quiet>>,
}

impl<C: Control> Scheme for Rdma<C> {
    const COMPONENT: Component = C::COMPONENT;
    type Config = Arc<Setup<C>>;

    fn goes_by_marks(values: &Values) -> bool {
        C::notification(values) != Notification::None
    }

    fn fixed_rates(values: &Values) -> Vec<FixedRate> {
        C::fixed_rates(values)
    }

    fn configure(values: &Values) -> Arc<Setup<C>> {
        let config = Config::of(values, C::notification(values));
        Arc::new(Setup { config, settings: C::settings(values) })
    }

    fn on_network(setup: Arc<Setup<C>>, topology: &Topology) -> Arc<Setup<C>> {
        let Ok(Setup { config, settings }) = Arc::try_unwrap(setup) else {
            unreachable!("it is not shared yet")
        };
        let network = Network::of(topology, config.format.data.mss_bytes);
        Arc::new(Setup { config: config.on(network), settings })
    }

    fn on_plan(setup: Arc<Setup<C>>, plan: &Plan<'_>) -> Arc<Setup<C>> {
        let Ok(Setup { config, settings }) = Arc::try_unwrap(Self::on_network(setup, plan.topology)) else {
            unreachable!("it is not shared yet")
        };
        Arc::new(Setup { config: config.under(plan.routing), settings })
    }

    fn is_answered(values: &Values) -> bool {
        values.text("recovery") != "none"
    }

    fn numbers_connections(values: &Values) -> bool {
        connections::are_one_a_flow(&values.component(connections::PARAM.name))
    }

    fn check_network(values: &Values, topology: &Topology) -> Result<(), Complaint> {
        let most = C::most_switches(values);
        if most == usize::MAX {
            return Ok(());
        }
        let switches = Network::of(topology, values.bytes("mss")).switches;
        if switches <= most {
            return Ok(());
        }
        let message = format!(
            "{}'s header holds {most} switches, and here some hosts are {switches} apart; write another transport, or a flatter network",
            values.kind,
        );
        Err(Complaint::new("scheme.transport", message))
    }

    fn new(setup: &Arc<Setup<C>>) -> Rdma<C> {
        Rdma {
            finished: setup.config.finished(),
            connected: Connected::new(&setup.config),
            in_order: setup.config.in_order.map(|pairs| Box::new(InOrder::new(pairs))),
            quiet: Quiet::new(&setup.config),
            setup: setup.clone(),
            senders: FlowTable::default(),
            rotas: Rotas::default(),
            serves_at: Time::NEVER,
            plans: setup.config.answers_take().map(|time| Box::new(Plans::new(time))),
            receivers: FlowTable::default(),
            started: BTreeMap::new(),
        }
    }

    fn number(packet: &Of<C>) -> Option<u32> {
        Some(packet.header.seq)
    }
}

impl<C: Control> Transport for Rdma<C> {
    type Header = Header<C::Fields>;
    type Agent = C::Agent;
    const SHORTENS: bool = C::SHORTENS;
    const SETTABLE: &'static [&'static str] = C::SETTABLE;

    fn start(&mut self, flow: Flow, context: &mut Host<'_, C>) {
        if self.connected.is_some() {
            self.start_on_pair(flow, context);
            return;
        }
        if self.in_order.is_some() {
            self.start_in_order(flow, context);
            return;
        }
        let place = self.create_pair(flow.dst);
        self.begin(flow, place, 0, context);
    }

    fn receive(&mut self, packet: Of<C>, context: &mut Host<'_, C>) {
        match packet.kind {
            Kind::Data => self.arrived(&packet, context),
            Kind::Ack => self.answered(&packet, context),
            Kind::Control if packet.header.step != Step::Nothing => self.greeted(&packet, context),
            Kind::Control => self.receive_cnp(&packet, context),
            // These transports don't know trimming: to them the packet is lost.
            _ => {}
        }
    }

    #[inline]
    fn expect(&self, packet: &Of<C>) {
        match packet.kind {
            Kind::Data => self.finished.expect(packet.flow, &self.receivers),
            _ => self.senders.prefetch(packet.flow),
        }
    }

    #[inline]
    fn expect_soon(&self, packet: &Of<C>) {
        if packet.kind == Kind::Data {
            self.finished.expect_soon(packet.flow, &self.receivers);
        }
    }

    fn timer(&mut self, timer: Timer, context: &mut Host<'_, C>) {
        match timer.purpose {
            SERVE if context.now == self.serves_at => {
                self.serves_at = Time::NEVER;
                if let Some(plans) = &mut self.plans {
                    plans.time_comes(context.now);
                }
                self.serve(context);
            }
            SERVE => {}
            TIMEOUT => self.rings(timer.key, context),
            ACK_DELAY => self.acknowledges(timer.key, context),
            _ => self.handshake_timer(timer, context),
        }
    }

    fn resumed(&mut self, context: &mut Host<'_, C>) {
        if let Some(plans) = &mut self.plans {
            plans.answer_comes(context.now);
        }
        self.serve(context);
    }

    fn paused(&mut self, flow: FlowId, is_paused: bool, context: &mut Host<'_, C>) {
        if !C::HEEDS_QUEUES {
            return;
        }
        // Of a flow that is over nobody cares any more.
        let Some(sender) = self.senders.get_mut(flow) else { return };
        sender.control.pause(is_paused);
        self.settle(flow, context);
        self.serve(context);
    }

    fn set(&mut self, values: &Values, now: Time) {
        // What has passed, has passed by the constants that held then.
        for sender in self.senders.states_mut() {
            sender.control.advance(&self.setup.settings, now);
        }
        let config = self.setup.config.clone();
        self.setup = Arc::new(Setup { config, settings: C::settings(values) });
    }

    fn sending(&self, flow: FlowId, now: Time) -> Option<Sending> {
        let settings = &self.setup.settings;
        let state = |Sender { pair, control, .. }: &Sender<C>| {
            pair.sending(control.rate_at(settings, now), control.rtt())
        };
        let other = || {
            let asking = || self.connected.as_ref()?.sending(flow);
            asking().or_else(|| self.in_order.as_ref()?.sending(flow))
        };
        self.senders.get(flow).map(state).or_else(other)
    }

    fn shorten(&mut self, flow: FlowId, packets: u32) -> bool {
        self.senders.get_mut(flow).is_some_and(|sender| sender.pair.shorten(packets))
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        let open = self.senders.states().map(|sender| (sender.pair.flow.id, sender.pair.report));
        let asking = self.connected.iter().flat_map(|connected| connected.reports());
        open.chain(asking).chain(self.in_order.iter().flat_map(|order| order.reports())).collect()
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        let config = &self.setup.config;
        if config.recovery == Recovery::None {
            // Nobody knows how a flow fares. It never stands still, unless the host's link does.
            return Vec::new();
        }
        let open = self.senders.states().map(|sender| match sender.control.is_paused() {
            true => FlowStatus { waits_for: "its switch, which has paused it", ..sender.pair.status(config) },
            false => sender.pair.status(config),
        });
        let asking = self.connected.iter().flat_map(|connected| connected.statuses(config));
        open.chain(asking).chain(self.in_order.iter().flat_map(|order| order.statuses(&self.setup))).collect()
    }
}

fn ack_info(pair: &Pair, now: Time) -> AckInfo {
    AckInfo { now, acked_bytes: pair.acked_bytes(), sent_bytes: pair.sent_bytes(), arrived: 0, marked: false }
}

// The sending side.
impl<C: Control> Rdma<C> {
    /// A new queue pair to a host.
    fn create_pair(&mut self, dst: HostId) -> Place {
        let started = self.started.entry(dst).or_default();
        let number = *started;
        *started = started.wrapping_add(1);
        Place { turn: self.rotas.create(), number }
    }

    /// A flow begins to send on a queue pair that has carried nothing; its handshake, if it had one, had so many
    /// timeouts.
    fn begin(&mut self, flow: Flow, place: Place, timeouts: u32, context: &mut Host<'_, C>) {
        let Setup { config, settings } = &*self.setup;
        let path = config.path(&flow);
        let mut pair = Pair::new(flow, path, place.turn, config, context.now);
        pair.report.timeouts = timeouts;
        let (number, port) = (place.number, config.port_of(place.number));
        let sender = Sender { pair, control: C::new(settings, &path), number, port };
        self.senders.insert(flow.id, sender);
        self.settle(flow.id, context);
        self.serve(context);
    }

    /// Puts a flow of which something changed where it belongs.
    fn settle(&mut self, flow: FlowId, context: &mut Host<'_, C>) {
        let Setup { config, settings } = &*self.setup;
        let Some(Sender { pair, control, port, .. }) = self.senders.get_mut(flow) else { return };
        control.advance(settings, context.now);
        if let Some(error) = control.take_error() {
            context.refuse(flow, error);
        }
        let window_bytes = config.window_bytes(&pair.path, control.rate());
        pair.window_bytes = window_bytes.min(control.window_bytes());
        let may_send_at = pair.may_send_at().filter(|_| !control.is_paused());
        let link = match config.has_several_links() {
            true => context.link_for(flow, *port, pair.flow.dst),
            false => 0,
        };
        self.rotas.place(&mut pair.turn, flow, link, may_send_at, context.now);
        if let Some(at) = pair.alarm(config) {
            context.set_timer(at, flow, TIMEOUT);
        }
    }

    /// Sends packets of those whose turn it is at links that are free, and comes back when another is, or when the next
    /// may go.
    fn serve(&mut self, context: &mut Host<'_, C>) {
        let mut at = Time::NEVER;
        let mut link = 0;
        while link < self.rotas.links() {
            match self.serve_link(link, context) {
                Some(free_at) => (at, link) = (at.min(free_at), link + 1),
                // What goes by another link now may be served there at once.
                None => (at, link) = (Time::NEVER, 0),
            }
        }
        if let Some(plans) = &mut self.plans {
            let paces = self.senders.states().filter_map(|sender| sender.pair.pace());
            plans.paced(context.now, paces.min().unwrap_or(Time::NEVER));
        }
        if at < self.serves_at {
            self.serves_at = at;
            context.set_timer(at, 0, SERVE);
        }
    }

    /// Sends a packet of whose turn it is at a link, if that is free. Returns when it is, or when the next may go; `None`
    /// if a flow goes by another link since something last happened to it, because a link has failed or is back.
    fn serve_link(&mut self, link: u32, context: &mut Host<'_, C>) -> Option<Time> {
        while let Some(flow) = self.rotas.at(link).next(context.now) {
            if self.setup.config.has_several_links() && self.link_of(flow, context) != Some(link) {
                self.settle(flow, context);
                return None;
            }
            match self.nic_free_at(flow, context) {
                Some(free_at) if free_at <= context.now => self.send_from(flow, context),
                free_at => return Some(free_at.unwrap_or(Time::NEVER)),
            }
        }
        Some(self.rotas.at(link).next_pace())
    }

    fn link_of(&mut self, flow: FlowId, context: &mut Host<'_, C>) -> Option<u32> {
        let sender = self.senders.get(flow)?;
        Some(context.link_for(flow, sender.port, sender.pair.flow.dst))
    }

    fn nic_free_at(&mut self, flow: FlowId, context: &mut Host<'_, C>) -> Option<Time> {
        let sender = self.senders.get(flow)?;
        context.nic_free_at(self.setup.config.class, flow, sender.port, || sender.pair.flow.dst)
    }

    /// Sends the flow's next packet.
    fn send_from(&mut self, flow: FlowId, context: &mut Host<'_, C>) {
        let Setup { config, settings } = &*self.setup;
        let Some(Sender { pair, control, number, port }) = self.senders.get_mut(flow) else { return };
        let now = context.now;
        control.advance(settings, now);
        let seq = pair.take_next(now);
        let size_bytes = config.format.wire_bytes(seq, pair.packets(), pair.flow.size_bytes);
        let header = Header {
            seq,
            last: seq + 1 == pair.packets(),
            requests_ack: pair.requests_ack(seq),
            pair: *number,
            fields: control.fields(now),
            ..Header::default()
        };
        let out = |rate| now + context.time_at(rate, size_bytes.into());
        let plan = self.plans.as_mut().map_or(NO_PLAN, |plans| plans.sends(now, out(pair.path.rate)));
        let priority = if C::HEEDS_QUEUES { flow } else { plan };
        context.send(Packet {
            flow,
            dst: pair.flow.dst,
            priority,
            size_bytes,
            path: *port,
            kind: Kind::Data,
            class: C::class(settings, pair.packets(), config.class),
            ecn: if config.notification == Notification::None { Ecn::NotCapable } else { Ecn::Ect0 },
            header,
            ..Packet::default()
        });
        control.sent(settings, now, size_bytes);
        let gap = match control.spacing(settings) {
            Spacing::Rate(rate) => context.time_at(rate, size_bytes.into()),
            Spacing::After(gap) => gap,
        };
        pair.sent(now, size_bytes, gap);
        if config.recovery == Recovery::None {
            pair.let_go();
            if pair.is_done() {
                let left_at = now + context.time_at(pair.path.rate, size_bytes.into());
                context.set_timer(left_at, flow, TIMEOUT);
            }
        }
        self.rotas.served(&pair.turn);
        let way = (pair.flow.dst, *number);
        self.settle(flow, context);
        if self.in_order.is_some() {
            self.hand_over(way, context);
        }
    }

    fn answered(&mut self, packet: &Of<C>, context: &mut Host<'_, C>) {
        let Setup { config, settings } = &*self.setup;
        let flow = packet.flow;
        let Some(Sender { pair, control, number, .. }) = self.senders.get_mut(flow) else {
            return self.answered_behind(packet, context);
        };
        let (header, now) = (&packet.header, context.now);
        let change = pair.acknowledged(header.next, header.nack.then_some(header.seq), config, now);
        let marked = header.marked;
        if pair.is_done() {
            self.rotas.take_out(&mut pair.turn, flow);
            context.closed(&pair.flow, pair.report);
            let last = AckInfo { arrived: change.arrived, marked, ..ack_info(pair, now) };
            let Some(sender) = self.senders.remove(flow) else { return };
            if self.connected.is_some() {
                self.leave(sender, &last, &header.fields, context);
            } else if self.in_order.is_some() {
                self.leave_in_order(sender, &last, &header.fields, context);
                self.serve(context);
            }
            return;
        }
        control.advance(settings, now);
        let before = control.spacing(settings);
        let ack = AckInfo { arrived: change.arrived, marked, ..ack_info(pair, now) };
        control.acknowledged(settings, &ack, &header.fields);
        if change.lost {
            control.lost(settings, now, Loss::Nack);
        }
        let after = control.spacing(settings);
        // A gap of its own ends with its reason: the window has come to a packet or more.
        let is_over = matches!((before, after), (Spacing::After(_), Spacing::Rate(_)));
        if (is_over || C::moves_pending(settings) && before != after)
            && let (Spacing::Rate(rate), Some(bytes)) = (after, pair.last_sent())
        {
            pair.move_pending(context.time_at(rate, bytes.into()));
        }
        if let Some(plans) = &mut self.plans {
            plans.answer_comes(now);
            plans.moved(now, pair.pace().unwrap_or(Time::NEVER));
        }
        let way = (packet.src, *number);
        self.settle(flow, context);
        if self.in_order.is_some() {
            self.hand_over(way, context);
        }
        self.serve(context);
    }

    fn receive_cnp(&mut self, packet: &Of<C>, context: &mut Host<'_, C>) {
        let Some(sender) = self.senders.get_mut(packet.flow) else {
            return self.notified_behind(packet, context);
        };
        let ack = AckInfo { arrived: 0, marked: true, ..ack_info(&sender.pair, context.now) };
        sender.control.advance(&self.setup.settings, context.now);
        sender.control.acknowledged(&self.setup.settings, &ack, &packet.header.fields);
        self.settle(packet.flow, context);
    }

    /// A flow may have waited too long for an answer.
    fn rings(&mut self, flow: FlowId, context: &mut Host<'_, C>) {
        let Setup { config, settings } = &*self.setup;
        if config.recovery == Recovery::None {
            return self.let_go(flow, context);
        }
        let Some(Sender { pair, control, .. }) = self.senders.get_mut(flow) else {
            return self.rings_behind(flow, context);
        };
        if pair.rings(config, context.now) {
            control.advance(settings, context.now);
            control.lost(settings, context.now, Loss::Timeout);
        }
        self.settle(flow, context);
        self.serve(context);
    }

    /// The last packet of an unreliable flow has left its link.
    fn let_go(&mut self, flow: FlowId, context: &mut Host<'_, C>) {
        let Some(Sender { pair, .. }) = self.senders.get_mut(flow) else { return };
        self.rotas.take_out(&mut pair.turn, flow);
        context.closed(&pair.flow, pair.report);
        self.senders.remove(flow);
    }
}

// The receiving side.
impl<C: Control> Rdma<C> {
    fn arrived(&mut self, packet: &Of<C>, context: &mut Host<'_, C>) {
        let (flow, header) = (packet.flow, &packet.header);
        let config = &self.setup.config;
        let answered =
            Answered { flow, src: packet.src, port: packet.path, seq: header.seq, fields: header.fields };
        // Most packets are of a flow that is under way, so this is asked first.
        if self.receivers.get(flow).is_none() {
            if let Some(packets) = self.finished.packets(flow) {
                let ignores = matches!(config.recovery, Recovery::GoBackN { ack_duplicates: false, .. });
                if !ignores {
                    let reply = Reply { next: packets, nack: false, marked: false };
                    send_reply::<C>(reply, answered, config, context);
                }
                return;
            }
            let mut arrivals = Arrivals::default();
            if let Some(connected) = &mut self.connected {
                arrivals.be_quiet_until(connected.begins(packet));
            }
            if let Some(order) = &self.in_order {
                arrivals.be_quiet_until(order.begins((packet.src, header.pair)));
            }
            let new = Receiver { arrivals, last: answered };
            self.receivers.insert(flow, new);
        }
        let Some(receiver) = self.receivers.get_mut(flow) else { return };
        if config.ack_every > 1 {
            receiver.last = answered;
        }
        let (seq, last, requests_ack, marked) =
            (header.seq, header.last, header.requests_ack, packet.congestion_experienced);
        if let Some(quiet) = &self.quiet {
            receiver.arrivals.be_quiet_until(quiet.until(packet.src));
        }
        if receiver.arrivals.sends_cnp(marked, config, context.now) {
            let cnp = Packet {
                kind: Kind::Control,
                class: config.ack_class,
                path: packet.path,
                ..config.format.ack(packet, Header::default())
            };
            context.send(cnp);
        }
        for reply in receiver.arrivals.take(Arrival { seq, last, requests_ack, marked }, config, context.now)
        {
            send_reply::<C>(reply, answered, config, context);
        }
        if let Some(quiet) = &mut self.quiet {
            quiet.be_until(packet.src, receiver.arrivals.quiet_until());
        }
        if let Some(packets) = receiver.arrivals.whole() {
            if let Some(connected) = &mut self.connected {
                connected.ends(packet, receiver.arrivals.quiet_until(), config);
            }
            if let Some(order) = &mut self.in_order {
                order.ends((packet.src, header.pair), receiver.arrivals.quiet_until());
            }
            self.receivers.remove(flow);
            self.finished.add(context.now, flow, packets);
            context.delivered(flow);
        } else if receiver.arrivals.needs_timer() {
            context.set_timer(context.now + config.ack_delay, flow, ACK_DELAY);
        }
    }

    /// A receiver has waited long enough for packets to acknowledge together.
    fn acknowledges(&mut self, flow: FlowId, context: &mut Host<'_, C>) {
        let config = &self.setup.config;
        let Some(receiver) = self.receivers.get_mut(flow) else { return };
        if let Some(reply) = receiver.arrivals.rings(config) {
            send_reply::<C>(reply, receiver.last, config, context);
        }
    }
}

/// Answers a packet.
fn send_reply<C: Control>(
    reply: Reply,
    answered: Answered<C::Fields>,
    config: &Config,
    context: &mut Host<'_, C>,
) {
    let Answered { flow, src, port, seq, mut fields } = answered;
    let answered: Of<C> = Packet { flow, src, class: config.ack_class, ..Packet::default() };
    if C::ECHOES_WAITS {
        let free_at = context.nic_free_at(config.ack_class, flow, port, || src);
        C::echo(&mut fields, free_at.map_or(Time::ZERO, |at| at.since(context.now)));
    }
    let Reply { next, nack, marked } = reply;
    let header = Header { seq, next, nack, marked, fields, ..Header::default() };
    context.send(Packet { path: port, ..config.format.ack(&answered, header) });
}

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
mod receiving;
mod repair;
mod roce;
mod rota;
mod sending;
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
use crate::packet::{Kind, Packet};
use crate::spec::{Complaint, Component, Values};
use crate::topology::Topology;
use crate::units::Time;
use arrivals::Arrivals;
use cnps::Quiet;
use config::{Config, Notification, Recovery};
use connections::{Connected, InOrder};
use control::Control;
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
use plans::Plans;
use rota::Rotas;
use sending::ack_info;
use std::collections::{BTreeMap, BTreeSet};
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
    /// The hosts to which nothing may be sent, where the switch says so.
    held: BTreeSet<HostId>,
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
            held: BTreeSet::new(),
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
    const HEEDS_DESTINATIONS: bool = true;
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

    fn paused_to(&mut self, dst: HostId, is_paused: bool, context: &mut Host<'_, C>) {
        if is_paused {
            self.held.insert(dst);
        } else {
            self.held.remove(&dst);
        }
        let flows: BTreeSet<FlowId> = self
            .senders
            .states()
            .filter(|sender| sender.pair.flow.dst == dst)
            .map(|sender| sender.pair.flow.id)
            .collect();
        flows.into_iter().for_each(|flow| self.settle(flow, context));
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
            let congestion = control.congestion_at(settings, now);
            Sending { congestion, ..pair.sending(control.rate_at(settings, now), control.rtt()) }
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
        let is_paused =
            |sender: &Sender<C>| sender.control.is_paused() || self.held.contains(&sender.pair.flow.dst);
        let open = self.senders.states().map(|sender| match is_paused(sender) {
            true => FlowStatus { waits_for: "its switch, which has paused it", ..sender.pair.status(config) },
            false => sender.pair.status(config),
        });
        let asking = self.connected.iter().flat_map(|connected| connected.statuses(config));
        open.chain(asking).chain(self.in_order.iter().flat_map(|order| order.statuses(&self.setup))).collect()
    }
}

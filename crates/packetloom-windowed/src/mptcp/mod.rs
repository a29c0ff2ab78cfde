//! Multipath TCP (RFC 8684) with coupled windows (RFC 6356): a flow's packets are dealt out to subflows, each of
//! which is a TCP sender on a path of its own.
//!
//! Subflows are distinguished by a number in place of ports, which per-flow ECMP hashes. All are open from the start,
//! unless `connections` has them opened. There is no receive window, so none of MPTCP's rules for a full one.

mod arrivals;
mod connected;
mod connection;
mod subflow;

use super::connections::{self, Step};
use super::finished::Finished;
use super::flow_table::FlowTable;
use super::windowed::{
    self, Congestion, Header, RETRANSMIT, Setup, Windowed, ack_packet, purpose_and_subflow,
};
use super::{Scheme, Sending};
use crate::engine::{Context, FlowStatus, Report, Timer, Transport};
use crate::flow::{Flow, FlowId};
use crate::narrow::exact;
use crate::packet::{Kind, Packet};
use crate::spec::{Complaint, Component, Kind as Holds, Param, Values, param};
use crate::units::Time;
use arrivals::Arrivals;
use connected::Connected;
use connection::Connection;
use std::sync::Arc;
use subflow::Subflow;

const PARAMS: &[Param] = &[param! {
    "subflows" = "8": Holds::Count(1),
    "How many subflows each flow has, 64 at most.", "Raiciu et al., SIGCOMM 2011, §4.2: 8 in a fat-tree"
}];

/// Numbers of subflows share a timer's purpose with what it is for.
const MOST_SUBFLOWS: u64 = 64;

fn check(values: &Values) -> Result<(), Complaint> {
    windowed::check(values)?;
    if values.count("subflows") > MOST_SUBFLOWS {
        return Err(Complaint::new("subflows", format!("write {MOST_SUBFLOWS} at most")));
    }
    if !values.flag("rto_estimation") {
        let message = "coupled windows need round-trip times, which this leaves unmeasured; write true";
        return Err(Complaint::new("rto_estimation", message));
    }
    if values.text("priority") == "remaining" {
        let message = "a subflow does not know what the others have still to carry; write \"none\", \"size\" or \"deadline\"";
        return Err(Complaint::new("priority", message));
    }
    let connections = values.component(connections::PARAM.name);
    if connections.kind != "open" && connections.flag("fast_open") {
        let message = "data goes with no SYN of MPTCP's here; leave it out";
        return Err(Complaint::new("connections.fast_open", message));
    }
    Ok(())
}

/// The parameters.
#[derive(Clone, Debug)]
pub struct Config {
    core: Arc<Setup<Subflow>>,
    subflows: u8,
}

/// All MPTCP flows at one host.
pub struct Mptcp {
    config: Config,
    connections: FlowTable<Connection>,
    arrivals: FlowTable<Arrivals>,
    finished: Finished,
    /// `None` where connections are open.
    connected: Option<Box<Connected>>,
}

impl Scheme for Mptcp {
    const COMPONENT: Component = Subflow::COMPONENT;
    type Config = Config;
    const NEEDS_WHOLE: Option<&'static str> = Some("its subflows take several paths");

    fn configure(values: &Values) -> Config {
        let core = Windowed::<Subflow>::configure(values);
        Config { core, subflows: exact::<u8>(values.count("subflows")) }
    }

    fn new(config: &Config) -> Mptcp {
        Mptcp {
            connections: FlowTable::default(),
            arrivals: FlowTable::default(),
            finished: config.core.finished(),
            connected: Connected::new(&config.core),
            config: config.clone(),
        }
    }

    /// In the flow, not in the subflow.
    fn number(packet: &Packet<Header>) -> Option<u32> {
        Some(packet.header.ack)
    }
}

impl Transport for Mptcp {
    type Header = Header;
    type Agent = ();

    fn start(&mut self, flow: Flow, context: &mut Context<'_, Header>) {
        let (subflows, core) = (self.config.subflows, &self.config.core);
        let mut connection = match &mut self.connected {
            None => Connection::new(flow, subflows, true, core),
            Some(connected) => connected.start(flow, subflows, core, context),
        };
        connection.deal(&self.config.core, context);
        self.connections.insert(flow.id, connection);
    }

    fn receive(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        match packet.kind {
            Kind::Ack => self.acknowledged(&packet, context),
            Kind::Data | Kind::Control => self.arrived(&packet, context),
            // To TCP a trimmed packet is lost.
            _ => {}
        }
    }

    fn timer(&mut self, timer: Timer, context: &mut Context<'_, Header>) {
        let (purpose, subflow) = purpose_and_subflow(timer);
        if purpose == RETRANSMIT {
            if let Some(connected) = &mut self.connected {
                connected.handshakes.opening_timer(timer.key, subflow, &self.config.core, context);
            }
            if let Some(connection) = self.connections.get_mut(timer.key) {
                connection.timer(subflow, &self.config.core, context);
            }
        } else {
            if let Some(connected) = &mut self.connected {
                connected.handshakes.half_open_timer(timer.key, subflow, &self.config.core, context);
            }
            if let Some(arrivals) = self.arrivals.get_mut(timer.key) {
                arrivals.delay_over(subflow, &self.config.core, context);
            }
        }
    }

    fn sending(&self, flow: FlowId, _: Time) -> Option<Sending> {
        self.connections.get(flow).map(Connection::sending)
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        self.connections.states().map(|connection| (connection.flow().id, connection.report())).collect()
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        self.connections.states().map(Connection::status).collect()
    }
}

impl Mptcp {
    fn acknowledged(&mut self, packet: &Packet<Header>, context: &mut Context<'_, Header>) {
        let Some(connection) = self.connections.get_mut(packet.flow) else { return };
        connection.acknowledged(&packet.header, &self.config.core, context);
        if connection.is_done() {
            context.closed(connection.flow(), connection.report());
            let ended = self.connections.remove(packet.flow);
            if let (Some(connected), Some(connection)) = (&mut self.connected, ended) {
                connected.ended(connection, packet.header.sent_at);
            }
        }
    }

    /// A packet of a handshake.
    fn shaken(&mut self, packet: &Packet<Header>, context: &mut Context<'_, Header>) {
        let Some(connected) = &mut self.connected else { return };
        let core = &self.config.core;
        if packet.header.step == Step::Syn {
            let whole = self.finished.packets(packet.flow);
            connected.handshakes.syn(packet, whole, packet.class, core, context);
            return;
        }
        let Some(opened) = connected.handshakes.receive(packet, packet.class, core, context) else { return };
        if let Some(connection) = self.connections.get_mut(packet.flow) {
            connected.opened(&opened, connection, core, context);
            connection.deal(core, context);
        }
    }

    /// Data, or a probe.
    fn arrived(&mut self, packet: &Packet<Header>, context: &mut Context<'_, Header>) {
        let flow = packet.flow;
        if packet.header.step != Step::Nothing {
            self.shaken(packet, context);
            return;
        }
        if let Some(connected) = &mut self.connected {
            connected.handshakes.data_arrived(flow, packet.header.subflow);
        }
        if let Some(packets) = self.finished.packets(flow) {
            self.acknowledge_whole(packet, packets, context);
            return;
        }
        if self.arrivals.get_mut(flow).is_none() {
            self.arrivals.insert(flow, Arrivals::default());
        }
        let Some(arrivals) = self.arrivals.get_mut(flow) else { return };
        if packet.kind == Kind::Control {
            arrivals.probed(packet, &self.config.core, context);
            return;
        }
        arrivals.data(packet, &self.config.core, context);
        if let Some(packets) = arrivals.whole() {
            self.arrivals.remove(flow);
            self.finished.add(context.now, flow, packets);
            context.delivered(flow);
        }
    }

    fn acknowledge_whole(&self, packet: &Packet<Header>, packets: u32, context: &mut Context<'_, Header>) {
        let Header { sent_at, subflow, .. } = packet.header;
        let header = Header { seq: packets, sent_at, subflow, ..Header::default() };
        let to = (packet.src, packet.path);
        context.answer(ack_packet(packet.flow, to, packet.class, header, &self.config.core));
    }
}

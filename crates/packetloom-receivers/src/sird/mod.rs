//! SIRD (Prasopoulos et al., NSDI 2025): a receiver gives credit for every byte on the wire, from a budget, at the pace
//! of its link, and to each sender within a window. Two loops set the window: one goes by marks of the network, the other
//! by a mark that a sender sets which holds more credit than it can spend. Small messages are sent without asking.
//!
//! | Start at | for |
//! |---|---|
//! | `credits.rs`, `window.rs` | what a receiver gives, and to whom |
//! | `uplink.rs` | what a sender spends it on |
//! | `incoming.rs`, `outgoing.rs` | a message at its two ends; what is lost of it |
//! | `clock.rs` | the polls of the authors' simulator |
//!
//! Their simulator loses nothing and acknowledges nothing, but answers each message. That answer is here the
//! acknowledgement, and lost packets are made up for: of data by a receiver's request, of credit by the next one, which
//! has the sum of all.

mod clock;
mod config;
mod credits;
mod header;
mod incoming;
mod layout;
mod outgoing;
mod uplink;
mod window;

use super::finished::Finished;
use super::flow_table::FlowTable;
use super::{Scheme, Sending};
use crate::engine::{Context, FlowStatus, Plan, Report, Timer, Transport};
use crate::flow::{Flow, FlowId};
use crate::packet::{Kind, Packet};
use crate::spec::{Complaint, Component, Values};
use crate::topology::Topology;
use crate::units::Time;
use clock::Clock;
use config::Config;
use credits::{Credits, Next};
use header::Header;
use incoming::Incoming;
use outgoing::Outgoing;
use uplink::Uplink;

/// A timer's purpose: the host acts.
const ACT: u8 = 0;
/// A timer's purpose: packets of a message may be late.
const LATE: u8 = 1;
/// A timer's purpose: to check whether a message's receiver must be asked.
const ASK: u8 = 2;

/// All messages from and to one host.
pub struct Sird {
    config: Config,
    clock: Clock,
    /// When the earliest timer goes off that is set to act.
    acts_at: Time,
    outgoing: FlowTable<Outgoing>,
    /// The messages that have begun since the host last acted.
    fresh: Vec<FlowId>,
    uplink: Uplink,
    incoming: FlowTable<Incoming>,
    credits: Credits,
    /// How many messages have begun to leave.
    begun: u64,
    finished: Finished,
}

impl Scheme for Sird {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "sird",
        doc: "SIRD: receivers give credit at the pace of their links, less to senders that have too much and over paths that mark; small messages are sent at once. The workload's classes go unused.",
        source: "SIRD (NSDI 2025); the authors' ns-2 (dalehuangzihan/SIRD-Simulator, r2p2-cc-hybrid.cc)",
        params: &[config::PARAMS],
        check: config::check,
    };
    type Config = Config;
    const NEEDS_WHOLE: Option<&'static str> =
        Some("its receivers share out their links among all who send to them");
    const LOST_AFTER: Option<&'static str> = Some("resend_after");

    fn configure(values: &Values) -> Config {
        Config::of(values)
    }

    fn on_plan(config: Config, plan: &Plan<'_>) -> Config {
        config.on(plan.transport, plan.topology)
    }

    fn check_network(values: &Values, topology: &Topology) -> Result<(), Complaint> {
        config::check_network(values, topology)
    }

    fn goes_by_marks(values: &Values) -> bool {
        config::goes_by_marks(values)
    }

    fn classes(values: &Values) -> Option<u64> {
        Some(values.count("priorities"))
    }

    fn new(config: &Config) -> Sird {
        Sird {
            config: config.clone(),
            clock: Clock::new(config.poll),
            acts_at: Time::NEVER,
            outgoing: FlowTable::default(),
            fresh: Vec::new(),
            uplink: Uplink::default(),
            incoming: FlowTable::default(),
            credits: Credits::default(),
            begun: 0,
            finished: Finished::new(config.longest_silence()),
        }
    }

    fn number(packet: &Packet<Header>) -> Option<u32> {
        if let Header::Data { seq, .. } = packet.header { Some(seq) } else { None }
    }
}

impl Transport for Sird {
    type Header = Header;
    type Agent = ();

    fn start(&mut self, flow: Flow, context: &mut Context<'_, Header>) {
        self.begun += 1;
        self.outgoing.insert(flow.id, Outgoing::new(flow, self.begun, &self.config, context.now));
        self.fresh.push(flow.id);
        context.set_timer(context.now + self.config.patience(), flow.id, ASK);
        self.stir(context);
    }

    fn receive(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        // This transport doesn't know trimming: to it the packet is lost.
        if matches!(packet.kind, Kind::Trimmed | Kind::Returned) {
            return;
        }
        let marked = matches!(packet.header, Header::Data { marked: true, .. });
        self.credits.sender(packet.src, &self.config).note(
            packet.congestion_experienced,
            marked,
            &self.config,
        );
        match packet.header {
            Header::Data { seq, size_bytes, allotted, .. } => {
                self.arrived(&packet, seq, (size_bytes, allotted), context);
            }
            Header::Request { size_bytes } => {
                self.known(&packet, (size_bytes, 0), context);
            }
            Header::Ask { size_bytes, allotted } => self.asked(&packet, (size_bytes, allotted), context),
            Header::Credit { total_bytes } => self.credited(&packet, total_bytes, context.now),
            Header::Resend { from, to, total_bytes } => {
                self.resend(&packet, (from, to), context.now);
                self.credited(&packet, total_bytes, context.now);
            }
            Header::Done => self.done(packet.flow, context),
        }
        self.stir(context);
    }

    #[inline]
    fn expect(&self, packet: &Packet<Header>) {
        match packet.kind {
            Kind::Data => self.incoming.prefetch(packet.flow),
            _ => self.outgoing.prefetch(packet.flow),
        }
    }

    fn timer(&mut self, timer: Timer, context: &mut Context<'_, Header>) {
        match timer.purpose {
            ACT if timer.at == self.acts_at => {
                self.acts_at = Time::NEVER;
                self.act(context);
            }
            ACT => {}
            LATE => self.look_for_losses(timer.key, context),
            _ => self.may_ask(timer.key, context),
        }
    }

    fn sending(&self, flow: FlowId, _: Time) -> Option<Sending> {
        self.outgoing.get(flow).map(Outgoing::sending)
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        self.outgoing.states().map(|message| (message.flow().id, message.report())).collect()
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        self.outgoing.states().map(Outgoing::status).collect()
    }
}

impl Sird {
    /// Something happened, so that the host may have to act: now, or at the next poll.
    fn stir(&mut self, context: &mut Context<'_, Header>) {
        match self.clock.next(context.now) {
            None => self.act(context),
            Some(at) => self.act_at(at, context),
        }
    }

    fn act_at(&mut self, at: Time, context: &mut Context<'_, Header>) {
        if at < self.acts_at {
            self.acts_at = at;
            context.set_timer(at, 0, ACT);
        }
    }

    /// What a poll does (R2p2CCHybrid::poll): credit goes out, then requests, then data.
    fn act(&mut self, context: &mut Context<'_, Header>) {
        let credit_at = self.give(context);
        self.admit(context);
        let data_at = self.serve(context);
        let next = credit_at.into_iter().chain(data_at).min();
        if let Some(at) = next {
            let at = self.clock.at(at);
            self.act_at(at, context);
        }
    }

    /// Gives credit; returns when to come back.
    fn give(&mut self, context: &mut Context<'_, Header>) -> Option<Time> {
        loop {
            let flow = match self.credits.next(&self.incoming, &self.config, context.now) {
                Next::Nothing => return None,
                Next::Later(at) => return Some(at),
                Next::Give(flow) => flow,
            };
            let message = self.incoming.get_mut(flow)?;
            let bytes = message.needs(&self.config) - self.config.layout.framing_bytes;
            let takes = context.nic_time_for(bytes);
            let total_bytes = self.credits.give(message, takes, &self.config, context.now);
            context.send(self.config.control(flow, message.src, Header::Credit { total_bytes }));
            if message.is_whole() && message.is_credited() {
                self.incoming.remove(flow);
            }
        }
    }

    /// Messages that have begun allot themselves credit, or ask for it.
    fn admit(&mut self, context: &mut Context<'_, Header>) {
        for place in 0..self.fresh.len() {
            let flow = self.fresh[place];
            let Some(message) = self.outgoing.get_mut(flow) else { continue };
            let Flow { dst, size_bytes, .. } = *message.flow();
            let packets = self.config.allotted(size_bytes, self.uplink.unspent_of(dst));
            message.allotted = packets;
            if packets > 0 {
                self.uplink.add(dst, self.config.layout.wire_bytes_of_first(packets, size_bytes));
            } else {
                message.is_announced = true;
                context.send(self.config.control(flow, dst, Header::Request { size_bytes }));
            }
            self.uplink.requeue(message);
            self.uplink.refresh(dst, &self.outgoing, &self.config);
        }
        self.fresh.clear();
    }

    /// Sends data while the link is free, with polls one packet; returns when to come back.
    fn serve(&mut self, context: &mut Context<'_, Header>) -> Option<Time> {
        let mut has_sent = false;
        loop {
            let any = self.uplink.any()?;
            let dst = self.outgoing.get(any)?.flow().dst;
            let free_at = context.nic_drained_at(any, 0, || dst);
            if free_at > context.now + self.config.slack {
                return Some(Time(free_at.as_ps() - self.config.slack.as_ps()));
            }
            if let Some(poll) = self.config.poll.filter(|_| has_sent) {
                return Some(context.now + poll);
            }
            self.send_next(context)?;
            has_sent = true;
        }
    }

    /// Sends a packet of the message whose turn it is.
    fn send_next(&mut self, context: &mut Context<'_, Header>) -> Option<()> {
        let flow = self.uplink.next(&self.config)?;
        let message = self.outgoing.get_mut(flow)?;
        let dst = message.flow().dst;
        let marked = self.uplink.spend(dst, message.needs(&self.config), &self.config);
        let packet = message.take(marked, &self.config, context.now);
        message.is_announced = true;
        self.uplink.requeue(message);
        self.uplink.refresh(dst, &self.outgoing, &self.config);
        context.send(packet);
        Some(())
    }
}

// The sending side.
impl Sird {
    /// A receiver's credit came, for this message or for another.
    fn credited(&mut self, packet: &Packet<Header>, total_bytes: u64, now: Time) {
        if let Some(message) = self.outgoing.get_mut(packet.flow) {
            message.hear(now);
        }
        self.uplink.learn(packet.src, total_bytes);
        self.uplink.refresh(packet.src, &self.outgoing, &self.config);
    }

    fn resend(&mut self, packet: &Packet<Header>, (from, to): (u32, u32), now: Time) {
        let Some(message) = self.outgoing.get_mut(packet.flow) else { return };
        let credit = message.resend(from, to, &self.config, now);
        self.uplink.add(packet.src, credit);
        self.uplink.requeue(message);
    }

    fn done(&mut self, flow: FlowId, context: &mut Context<'_, Header>) {
        if let Some(mut message) = self.outgoing.remove(flow) {
            self.uplink.remove(&mut message);
            self.uplink.give_up(message.flow().dst, message.credit_left(&self.config));
            self.uplink.refresh(message.flow().dst, &self.outgoing, &self.config);
            context.closed(message.flow(), message.report());
        }
    }

    fn may_ask(&mut self, flow: FlowId, context: &mut Context<'_, Header>) {
        let Some(message) = self.outgoing.get_mut(flow) else { return };
        let again_at = match message.ask(&self.config, context.now) {
            Err(later) => later,
            Ok(question) => {
                context.send(self.config.control(flow, message.flow().dst, question));
                context.now + self.config.patience()
            }
        };
        context.set_timer(again_at, flow, ASK);
    }
}

// The receiving side.
impl Sird {
    /// A packet of a message, which may be new; returns whether its receiver still has to do with it. If all of it is there,
    /// its sender is told so.
    fn known(
        &mut self,
        packet: &Packet<Header>,
        (size_bytes, allotted): (u64, u32),
        context: &mut Context<'_, Header>,
    ) -> bool {
        let flow = packet.flow;
        if self.finished.packets(flow).is_some() {
            context.send(self.config.control(flow, packet.src, Header::Done));
            return false;
        }
        if self.incoming.get(flow).is_none() {
            let (ends, parts) = ((flow, packet.src), (size_bytes, allotted));
            let turn = self.credits.turn();
            let mut message = Incoming::new(ends, parts, turn, &self.config, context.now);
            let bytes = self.config.layout.wire_bytes_of_first(message.credited, size_bytes);
            self.credits.deduct(packet.src, bytes, &self.config);
            self.credits.requeue(&mut message, &self.config);
            self.incoming.insert(flow, message);
            context.set_timer(context.now + self.config.resend_after, flow, LATE);
        }
        true
    }

    fn arrived(
        &mut self,
        packet: &Packet<Header>,
        seq: u32,
        parts: (u64, u32),
        context: &mut Context<'_, Header>,
    ) {
        if !self.known(packet, parts, context) {
            return;
        }
        let (flow, now) = (packet.flow, context.now);
        let Some(message) = self.incoming.get_mut(flow) else { return };
        if !message.note(seq, &self.config, now) {
            return;
        }
        let bytes = self.config.layout.wire_bytes(seq, message.size_bytes);
        self.credits.give_back(packet.src, bytes, &self.config);
        self.credits.requeue(message, &self.config);
        if message.is_whole() {
            self.finished.add(now, flow, message.packets);
            if message.is_credited() {
                self.incoming.remove(flow);
            }
            context.send(self.config.control(flow, packet.src, Header::Done));
            context.delivered(flow);
        }
    }

    /// A sender has heard nothing for long. If its message is known here, this host's timers see to it; if not, all that was
    /// sent of it is lost.
    fn asked(&mut self, packet: &Packet<Header>, parts: (u64, u32), context: &mut Context<'_, Header>) {
        let is_new = self.incoming.get(packet.flow).is_none();
        if self.known(packet, parts, context) && is_new && parts.1 > 0 {
            self.request(packet.flow, context);
        }
    }

    /// Asks a message's sender for what is missing of it.
    fn request(&mut self, flow: FlowId, context: &mut Context<'_, Header>) {
        let Some(message) = self.incoming.get(flow) else { return };
        let total_bytes = self.credits.sender(message.src, &self.config).total_bytes;
        for (from, to) in message.missing() {
            let header = Header::Resend { from, to, total_bytes };
            context.send(self.config.control(flow, message.src, header));
        }
    }

    fn look_for_losses(&mut self, flow: FlowId, context: &mut Context<'_, Header>) {
        let Some(message) = self.incoming.get_mut(flow) else { return };
        let again_at = match message.is_late(&self.config, context.now) {
            Err(later) => later,
            Ok(()) => {
                self.request(flow, context);
                context.now + self.config.resend_after
            }
        };
        context.set_timer(again_at, flow, LATE);
    }
}

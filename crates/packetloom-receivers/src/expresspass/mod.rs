//! ExpressPass (Cho, Jang and Han, SIGCOMM 2017): receivers send credits, a packet of data is sent for each, and ports let
//! through only as many credits as the link back carries data for. So data hardly wait and are not lost; credits are, and
//! the receiver of a flow sends them slower or faster by the share that is.
//!
//! | Start at | for |
//! |---|---|
//! | `feedback.rs` | how fast a flow's credits go |
//! | `outgoing.rs`, `incoming.rs` | a flow at its two ends |
//! | `libc_rand.rs` | what the authors' random numbers do |
//! | `unscheduled.rs` | what goes before the first credit, with Aeolus (SIGCOMM 2020) |
//! | `queue/credit_limiter.rs`, of the core | what ports do |
//!
//! It follows its authors' ns-2 (kaist-ina/ns2-xpass, xpass/xpass.cc). There a flow is over when no credit comes any more,
//! and a last packet that is lost is not missed. Here its receiver answers the stop once it has all, and the sender repeats
//! the stop until then. Their receiver's state ends 2 ms after a stop; nothing but its own count depends on that.

mod config;
mod feedback;
mod header;
mod incoming;
mod libc_rand;
mod outgoing;
mod unscheduled;

use super::finished::Finished;
use super::flow_table::FlowTable;
use super::{Scheme, Sending};
use crate::engine::{Context, FlowStatus, PathNeeds, Plan, Report, Timer, Transport};
use crate::flow::{Flow, FlowId};
use crate::packet::{Kind, Packet};
use crate::spec::{Component, Values};
use crate::units::Time;
use config::Config;
use feedback::Feedback;
use header::Header;
use incoming::{Came, Incoming};
use libc_rand::{Draws, Hashing};
use outgoing::Outgoing;

/// A timer's purpose: a flow's next credit goes.
const CREDIT: u8 = 0;
/// A timer's purpose: what is missing of a flow is named again.
const NACK: u8 = 1;
/// A timer's purpose: a sender has waited for long enough.
const REMIND: u8 = 2;
/// A timer's purpose: the next packet without a credit goes.
const BURST: u8 = 3;

/// All flows from and to one host.
pub struct ExpressPass {
    config: Config,
    outgoing: FlowTable<Outgoing>,
    incoming: FlowTable<Incoming>,
    finished: Finished,
    /// Where sizes and gaps of credits are drawn as in the authors' simulator.
    draws: Option<Draws>,
}

impl Scheme for ExpressPass {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "expresspass",
        doc: "ExpressPass: receivers send credits, and senders a packet for each. Ports drop credits for which the link back has no room, and receivers set their rates by the share that is lost. The workload's classes are not used.",
        source: "ExpressPass (SIGCOMM 2017); the authors' ns-2 (kaist-ina/ns2-xpass, xpass/xpass.cc)",
        params: &[config::PARAMS],
        check: config::check,
    };
    type Config = Config;
    const PATHS: PathNeeds = PathNeeds::BetterSymmetric;
    const ONE_LINK_A_HOST: bool = true;
    const GOES_BY_LOST_CREDITS: bool = true;
    const NEEDS_WHOLE: Option<&'static str> =
        Some("a flow's credits are dropped at links whose way back it takes");

    fn configure(values: &Values) -> Config {
        Config::of(values)
    }

    fn on_plan(config: Config, plan: &Plan<'_>) -> Config {
        config.on(plan.topology, plan.seed)
    }

    fn smallest_bytes(values: &Values) -> u64 {
        Config::of(values).smallest_bytes()
    }

    fn sends_unscheduled(values: &Values) -> bool {
        config::sends_unscheduled(values)
    }

    fn new(config: &Config) -> ExpressPass {
        ExpressPass {
            config: config.clone(),
            outgoing: FlowTable::default(),
            incoming: FlowTable::default(),
            // A sender repeats itself after 16 times this at most, or two round trips.
            finished: Finished::new(config.retry.times(32)),
            draws: config.hashing.as_ref().map(Hashing::draws),
        }
    }

    fn number(packet: &Packet<Header>) -> Option<u32> {
        match packet.header {
            Header::Data { seq, .. } | Header::Unscheduled { seq } => Some(seq),
            _ => None,
        }
    }
}

impl Transport for ExpressPass {
    type Header = Header;
    type Agent = ();

    fn start(&mut self, flow: Flow, context: &mut Context<'_, Header>) {
        let mut outgoing = Outgoing::new(flow, &self.config, context.now);
        let request = outgoing.request(&self.config, context.now);
        context.set_timer(outgoing.due, flow.id, REMIND);
        self.outgoing.insert(flow.id, outgoing);
        context.send(self.config.control(flow.id, flow.dst, request));
        self.send_early(flow.id, context);
    }

    fn receive(&mut self, packet: Packet<Header>, context: &mut Context<'_, Header>) {
        // This transport doesn't know trimming: to it the packet is lost.
        if matches!(packet.kind, Kind::Trimmed | Kind::Returned) {
            return;
        }
        match packet.header {
            Header::Data { seq, number, sent_at } => self.arrived(&packet, seq, (number, sent_at), context),
            Header::Credit { number, sent_at } => self.credited(packet.flow, (number, sent_at), context),
            Header::Unscheduled { seq } => self.arrived_early(&packet, seq, context),
            Header::Probe { sent } => self.probed(&packet, sent, context),
            Header::Came { .. } | Header::Probed { .. } => self.answered(&packet, context),
            Header::Request { size_bytes, packets_left } => {
                self.requested(&packet, size_bytes, packets_left, context);
            }
            Header::Stop { is_last } => self.stopped(&packet, is_last, context),
            Header::Nack { next } => self.go_back(packet.flow, next, context),
            Header::Done => {
                if let Some(flow) = self.outgoing.remove(packet.flow) {
                    context.closed(flow.flow(), flow.report());
                }
            }
        }
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
            CREDIT => {
                if self.incoming.get(timer.key).is_some_and(|flow| flow.credit_at == timer.at) {
                    self.send_credit(timer.key, context);
                }
            }
            NACK => {
                if self.incoming.get(timer.key).is_some_and(|flow| flow.nack_at == timer.at) {
                    self.name_missing(timer.key, context);
                }
            }
            BURST => self.send_early(timer.key, context),
            _ => self.remind(timer, context),
        }
    }

    fn sending(&self, flow: FlowId, _: Time) -> Option<Sending> {
        self.outgoing.get(flow).map(Outgoing::sending)
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        self.outgoing.states().map(|flow| (flow.flow().id, flow.report())).collect()
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        self.outgoing.states().map(Outgoing::status).collect()
    }
}

// The sending side.
impl ExpressPass {
    /// Sends a packet without a credit, if one may go, and comes back when it has left; the probe behind the last.
    fn send_early(&mut self, id: FlowId, context: &mut Context<'_, Header>) {
        let Some(flow) = self.outgoing.get_mut(id) else { return };
        let Some(data) = flow.send_early(&self.config) else { return };
        let takes = context.nic_time_for(data.size_bytes.into());
        context.send(data);
        if let Some(probe) = flow.end_early(false) {
            context.send(self.config.control(id, flow.flow().dst, probe));
        } else {
            context.set_timer(context.now + takes, id, BURST);
        }
    }

    /// Its receiver says what came of a flow's packets without credits.
    fn answered(&mut self, packet: &Packet<Header>, context: &mut Context<'_, Header>) {
        let Some(flow) = self.outgoing.get_mut(packet.flow) else { return };
        if flow.answered(packet.header, context.now) {
            let stop = flow.stop(&self.config, context.now);
            Self::tell(flow, stop, &self.config, context);
        }
    }

    fn credited(&mut self, id: FlowId, credit: (u32, Time), context: &mut Context<'_, Header>) {
        let Some(flow) = self.outgoing.get_mut(id) else { return };
        if let Some(probe) = flow.end_early(true) {
            context.send(self.config.control(id, flow.flow().dst, probe));
        }
        if flow.hear(&self.config, context.now) {
            context.set_timer(flow.due, id, REMIND);
        }
        if let Some(data) = flow.spend(credit.0, credit.1, &self.config) {
            context.send(data);
        }
        if flow.is_to_stop(&self.config, context.now) {
            let stop = flow.stop(&self.config, context.now);
            Self::tell(flow, stop, &self.config, context);
        }
    }

    /// Sends a word to a flow's receiver, and has the sender come back to it.
    fn tell(flow: &Outgoing, word: Header, config: &Config, context: &mut Context<'_, Header>) {
        let &Flow { id, dst, .. } = flow.flow();
        context.set_timer(flow.due, id, REMIND);
        context.send(config.control(id, dst, word));
    }

    fn go_back(&mut self, id: FlowId, next: u32, context: &mut Context<'_, Header>) {
        let Some(flow) = self.outgoing.get_mut(id) else { return };
        if let Some(request) = flow.go_back(next, &self.config, context.now) {
            Self::tell(flow, request, &self.config, context);
        }
    }

    fn remind(&mut self, timer: Timer, context: &mut Context<'_, Header>) {
        let Some(flow) = self.outgoing.get_mut(timer.key).filter(|flow| flow.due == timer.at) else { return };
        match flow.remind(&self.config, context.now) {
            Some(word) => Self::tell(flow, word, &self.config, context),
            None => context.set_timer(flow.due, timer.key, REMIND),
        }
    }
}

// The receiving side.
impl ExpressPass {
    fn requested(
        &mut self,
        packet: &Packet<Header>,
        size_bytes: u64,
        packets_left: u32,
        context: &mut Context<'_, Header>,
    ) {
        let (id, now) = (packet.flow, context.now);
        if self.finished.packets(id).is_some() {
            context.send(self.config.control(id, packet.src, Header::Done));
            return;
        }
        match self.incoming.get_mut(id) {
            Some(flow) if flow.has_credits() => return,
            Some(flow) => flow.feedback.restart(packets_left, &self.config, now),
            None => {
                let most = self.config.most_credits(context.nic_rate());
                let feedback = Feedback::new(most, packets_left, &self.config, now);
                let mut flow = Incoming::new(packet.src, size_bytes, feedback, &self.config);
                let seed_of = |hashing: &Hashing| hashing.seed_of(id, packet.src, packet.dst);
                flow.seed = self.config.hashing.as_ref().and_then(seed_of);
                self.incoming.insert(id, flow);
            }
        }
        self.was_given_a_way(id);
        self.send_credit(id, context);
    }

    fn send_credit(&mut self, id: FlowId, context: &mut Context<'_, Header>) {
        let Some(flow) = self.incoming.get_mut(id) else { return };
        let sent_at = context.now;
        let has_sizes = self.config.credit_spread_bytes > 0;
        let drawn = self.draws.as_mut().map(|draws| draws.draw(has_sizes));
        let (number, gap) = flow.feedback.next(&self.config, (drawn, context.random), sent_at);
        let header = Header::Credit { number, sent_at };
        let credit = self.config.credit((id, flow.src), header, (drawn, context.random));
        flow.credit_at = sent_at + gap.max(Time(1));
        context.set_timer(flow.credit_at, id, CREDIT);
        context.send(credit);
        // Before the next one goes.
        self.was_given_a_way(id);
    }

    fn arrived(
        &mut self,
        packet: &Packet<Header>,
        seq: u32,
        (number, sent_at): (u32, Time),
        context: &mut Context<'_, Header>,
    ) {
        let id = packet.flow;
        let Some(flow) = self.incoming.get_mut(id) else { return };
        flow.feedback.arrived(number, sent_at, context.now);
        self.was_given_a_way(id);
        self.take_in(id, seq, context);
    }

    /// A switch gave a packet of a flow a way.
    fn was_given_a_way(&mut self, id: FlowId) {
        if let Some(draws) = &mut self.draws
            && let Some(seed) = self.incoming.get(id).and_then(|flow| flow.seed)
        {
            draws.seed(seed);
        }
    }

    /// A packet without a credit came. Before its flow's request, it is as if it had not.
    fn arrived_early(&mut self, packet: &Packet<Header>, seq: u32, context: &mut Context<'_, Header>) {
        if self.incoming.get(packet.flow).is_some() {
            context.send(self.config.control(packet.flow, packet.src, Header::Came { seq }));
            self.take_in(packet.flow, seq, context);
        }
    }

    fn probed(&mut self, packet: &Packet<Header>, sent: u32, context: &mut Context<'_, Header>) {
        if self.incoming.get(packet.flow).is_some() {
            context.send(self.config.control(packet.flow, packet.src, Header::Probed { sent }));
        }
    }

    fn take_in(&mut self, id: FlowId, seq: u32, context: &mut Context<'_, Header>) {
        let Some(flow) = self.incoming.get_mut(id) else { return };
        match flow.note(seq) {
            Came::InVain => {}
            Came::Gap => self.name_missing(id, context),
            Came::InOrder if flow.is_whole() => {
                context.delivered(id);
                if !flow.has_credits() {
                    self.finish(id, context);
                }
            }
            Came::InOrder => {}
        }
    }

    /// Says from which packet on the flow is missing, and again if nothing comes of it.
    fn name_missing(&mut self, id: FlowId, context: &mut Context<'_, Header>) {
        let Some(flow) = self.incoming.get_mut(id) else { return };
        flow.nack_at = context.now + self.config.retry;
        context.set_timer(flow.nack_at, id, NACK);
        context.send(self.config.control(id, flow.src, Header::Nack { next: flow.next }));
    }

    fn stopped(&mut self, packet: &Packet<Header>, is_last: bool, context: &mut Context<'_, Header>) {
        let id = packet.flow;
        let Some(flow) = self.incoming.get_mut(id) else {
            if self.finished.packets(id).is_some() {
                context.send(self.config.control(id, packet.src, Header::Done));
            }
            return;
        };
        flow.credit_at = Time::NEVER;
        if flow.is_whole() {
            self.finish(id, context);
        } else if is_last && flow.nack_at == Time::NEVER {
            self.name_missing(id, context);
        }
    }

    /// The flow is whole, and its sender knows that it needs no more credits: it is told so.
    fn finish(&mut self, id: FlowId, context: &mut Context<'_, Header>) {
        if let Some(flow) = self.incoming.remove(id) {
            self.finished.add(context.now, id, flow.packets);
            context.send(self.config.control(id, flow.src, Header::Done));
        }
    }
}

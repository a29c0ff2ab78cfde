//! What a host does as a sender: it announces flows, grants channels to receivers, and sends a packet for each token.

use super::choice::{Channels, Offer};
use super::config::{Config, SHORT_LEVEL};
use super::granter::Granter;
use super::header::{Header, Round};
use super::outbox::{Outbox, Tokens};
use super::outgoing::Outgoing;
use super::{GRANT, RETRY, SERVE};
use crate::engine::{Context, Report};
use crate::flow::{Flow, FlowId, HostId};
use crate::flow_table::FlowTable;
use crate::packet::Packet;
use crate::units::Time;

/// The flows from a host.
pub struct Sender {
    pub flows: FlowTable<Outgoing>,
    outbox: Outbox,
    granter: Granter,
    /// When the timer goes off that is set to serve; never, if there is none.
    serves_at: Time,
}

/// A token, as it came.
pub struct Token {
    pub number: u32,
    pub seq: u32,
    pub left: u32,
    pub level: u8,
    pub until: Time,
}

impl Sender {
    pub fn new(config: &Config) -> Sender {
        Sender {
            flows: FlowTable::default(),
            outbox: Outbox::new(config.overtakes_by_both),
            granter: Granter::default(),
            serves_at: Time::NEVER,
        }
    }

    /// A flow begins. A short one has all its tokens, which do not expire (PimHost::start_flow).
    pub fn start(&mut self, flow: Flow, config: &Config, context: &mut Context<'_, Header>) {
        let outgoing = Outgoing::new(flow, config);
        let (left, start) = (outgoing.packets(), flow.start);
        context.send(config.control(flow.id, flow.dst, outgoing.announcement()));
        self.flows.insert(flow.id, outgoing);
        let count = config.own_tokens(left);
        if count > 0 {
            let (level, until) = (SHORT_LEVEL, Time::NEVER);
            self.outbox.push(Tokens { flow: flow.id, number: 0, seq: 0, count, level, until, left, start });
        }
        context.set_timer(context.now + config.retry, flow.id, RETRY);
        self.serve(config, context);
    }

    /// A request came, which is answered in the middle of its round; one that comes later is not.
    pub fn requested(
        &mut self,
        packet: &Packet<Header>,
        (round, channels, left): (Round, Channels, u32),
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        let Some(outgoing) = self.heard(packet.flow, context.now) else { return };
        let start = outgoing.flow().start;
        let at = config.rounds.middle_of(round);
        if at < context.now {
            return;
        }
        let offer = Offer { flow: packet.flow, peer: packet.src, left, start, channels };
        if self.granter.request(round, offer) {
            context.set_timer(at, 0, GRANT);
        }
    }

    /// The middle of a round.
    pub fn grant(&mut self, at: Time, config: &Config, context: &mut Context<'_, Header>) {
        let (round, mut free) = self.granter.free(config.channels);
        if config.rounds.middle_of(round) != at {
            return;
        }
        let by_size = round.nth < config.sorted_rounds;
        if by_size && config.ranks_unstably {
            self.granter.rank();
        }
        while let Some(Offer { flow, peer, left, channels, .. }) =
            self.granter.grant(by_size, &mut free, context.random)
        {
            context.send(config.control(flow, peer, Header::Grant { round, channels, left }));
        }
    }

    /// A receiver took channels.
    pub fn accepted(
        &mut self,
        packet: &Packet<Header>,
        round: Round,
        took: Channels,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        self.heard(packet.flow, context.now);
        let excess = self.granter.accept(round, took, config.channels, (&config.rounds, context.now));
        if excess.all > 0 {
            let header = Header::Release { round, channels: excess };
            context.send(config.control(packet.flow, packet.src, header));
        }
    }

    /// A token came.
    pub fn received(
        &mut self,
        flow: FlowId,
        Token { number, seq, left, level, until }: Token,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        let Some(outgoing) = self.heard(flow, context.now) else { return };
        outgoing.learn(left);
        let start = outgoing.flow().start;
        self.outbox.push(Tokens { flow, number, seq, count: 1, level, until, left, start });
        self.serve(config, context);
    }

    /// Sends a packet for the token that goes next if the NIC is free, and comes back when it is.
    fn serve(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        if self.serves_at != Time::NEVER {
            return;
        }
        while let Some(flow) = self.outbox.any() {
            let free_at = context.nic_drained_at(flow, 0, HostId::default);
            if free_at > context.now {
                self.serves_at = free_at;
                context.set_timer(free_at, 0, SERVE);
                return;
            }
            let Some(token) = self.outbox.take(context.now) else { return };
            let Some(outgoing) = self.flows.get_mut(token.flow) else { continue };
            let level = config.level(outgoing.packets(), token.level);
            let packet = outgoing.packet(token.number, token.seq, level, config);
            context.send(packet);
        }
    }

    /// A timer went off that was set to serve.
    pub fn serve_at(&mut self, at: Time, config: &Config, context: &mut Context<'_, Header>) {
        if at == self.serves_at {
            self.serves_at = Time::NEVER;
            self.serve(config, context);
        }
    }

    /// Its receiver has all of a flow. Tokens that it has left are of no use; the authors' sender goes on to use them.
    pub fn done(&mut self, flow: FlowId, context: &mut Context<'_, Header>) {
        if let Some(outgoing) = self.flows.remove(flow) {
            self.outbox.remove(flow);
            context.closed(outgoing.flow(), outgoing.report());
        }
    }

    pub fn may_announce(&mut self, flow: FlowId, config: &Config, context: &mut Context<'_, Header>) {
        let Some(outgoing) = self.flows.get_mut(flow) else { return };
        let again_at = match outgoing.must_announce(config, context.now) {
            Err(later) => later,
            Ok(()) => {
                context.send(config.control(flow, outgoing.flow().dst, outgoing.announcement()));
                context.now + config.retry
            }
        };
        context.set_timer(again_at, flow, RETRY);
    }

    pub fn reports(&self) -> Vec<(FlowId, Report)> {
        self.flows.states().map(|outgoing| (outgoing.flow().id, outgoing.report())).collect()
    }

    fn heard(&mut self, flow: FlowId, now: Time) -> Option<&mut Outgoing> {
        let outgoing = self.flows.get_mut(flow)?;
        outgoing.hear(now);
        Some(outgoing)
    }
}

//! What a host does as a receiver: it asks senders for channels, takes those that they grant, and sends tokens over
//! them.

use super::choice::{Channels, Offer, Offers};
use super::config::Config;
use super::header::{Header, Round};
use super::inbox::Inbox;
use super::incoming::Incoming;
use super::links::Matching;
use super::{FORMING, ROUND, RUNNING};
use crate::engine::Context;
use crate::finished::Finished;
use crate::flow::{FlowId, HostId};
use crate::packet::Packet;
use crate::units::Time;

/// The flows to a host.
pub struct Receiver {
    pub inbox: Inbox,
    /// The grants of the round.
    grants: Offers,
    /// The matching whose data phase runs, and the one that is made.
    running: Matching,
    forming: Matching,
    /// When the next round begins that this host takes part in.
    acts_at: Time,
    /// So many turns of its tokens are left to the packets of short flows.
    held: u32,
    finished: Finished,
}

// Flows, and what comes of them.
impl Receiver {
    pub fn new(config: &Config) -> Receiver {
        Receiver {
            inbox: Inbox::default(),
            grants: Offers::default(),
            running: Matching::default(),
            forming: Matching::default(),
            acts_at: Time::NEVER,
            held: 0,
            finished: Finished::new(config.retry.times(4)),
        }
    }

    /// A flow was announced.
    pub fn announced(
        &mut self,
        packet: &Packet<Header>,
        (packets, start): (u32, Time),
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        let is_new = self.inbox.flows.get(packet.flow).is_none();
        if self.begin(packet, (packets, start), config, context)
            && is_new
            && config.own_tokens(packets) == 0
            && self.inbox.best(packet.src, context.now) == Some(packet.flow)
        {
            self.wake(packet.src, config, context);
        }
    }

    /// A packet of a flow, which may be new; returns whether the flow still lacks packets.
    fn begin(
        &mut self,
        packet: &Packet<Header>,
        (packets, start): (u32, Time),
        config: &Config,
        context: &mut Context<'_, Header>,
    ) -> bool {
        if self.inbox.flows.get(packet.flow).is_some() {
            return true;
        }
        if self.finished.packets(packet.flow).is_some() {
            context.send(config.control(packet.flow, packet.src, Header::Done));
            return false;
        }
        let ends = (packet.flow, packet.src);
        self.inbox.add(Incoming::new(ends, (packets, start), config, context.now));
        let own = config.own_tokens(packets);
        if own > 0 {
            self.held = own;
        }
        if self.acts_at == Time::NEVER {
            self.act_at(config.rounds.next(context.now), context);
        }
        true
    }

    /// A packet of data came.
    pub fn arrived(
        &mut self,
        packet: &Packet<Header>,
        (seq, packets, token): (u32, u32, u32),
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        // Its announcement comes after it, or never.
        if !self.begin(packet, (packets, context.now), config, context) {
            return;
        }
        let Some(incoming) = self.inbox.flows.get_mut(packet.flow) else { return };
        incoming.note(seq, token);
        if incoming.left() == 0 {
            self.finished.add(context.now, packet.flow, incoming.packets);
            context.send(config.control(packet.flow, packet.src, Header::Done));
            self.inbox.remove(packet.flow);
            context.delivered(packet.flow);
        } else if incoming.ahead() <= config.window
            && self.running.links.iter().any(|link| link.sender == packet.src && link.is_at_rest())
            && self.inbox.best(packet.src, context.now) == Some(packet.flow)
        {
            self.wake(packet.src, config, context);
        }
    }
}

// The rounds of a matching.
impl Receiver {
    fn act_at(&mut self, at: Time, context: &mut Context<'_, Header>) {
        self.acts_at = at;
        context.set_timer(at, 0, ROUND);
    }

    /// A round begins, or a data phase.
    pub fn round(&mut self, at: Time, config: &Config, context: &mut Context<'_, Header>) {
        if at != self.acts_at {
            return;
        }
        self.acts_at = Time::NEVER;
        if let Some(epoch) = config.rounds.ending(at) {
            self.accept(epoch, config.rounds.last(epoch), config, context);
            self.run(epoch, at);
        }
        if let Some(round) = config.rounds.beginning(at) {
            if self.forming.epoch != round.epoch {
                self.forming.begin(round.epoch, &self.running);
            }
            if round.nth > 0 {
                self.accept(round.epoch, Round { nth: round.nth - 1, ..round }, config, context);
            }
            self.request(round, config, context);
        }
        self.grants.clear();
        // The authors' simulator has tokens 1 ps later than accepts and requests.
        self.due_now(config, context);
        if !(self.inbox.is_empty() && self.forming.links.is_empty() && self.running.links.is_empty()) {
            self.act_at(config.rounds.next(at + Time(1)), context);
        }
    }

    /// The data phase of a matching begins.
    fn run(&mut self, epoch: u32, now: Time) {
        std::mem::swap(&mut self.running, &mut self.forming);
        if self.running.epoch == epoch {
            self.running.run(now);
        } else {
            // This host took no part in it.
            self.running.begin(epoch, &Matching::default());
        }
        self.forming.begin(0, &Matching::default());
    }

    /// Asks each sender for the channels that its best flow needs beyond those from it (PimEpoch::send_all_req).
    fn request(&mut self, round: Round, config: &Config, context: &mut Context<'_, Header>) {
        let free = self.forming.free(config.channels);
        if free.all == 0 {
            return;
        }
        for place in 0..self.inbox.senders() {
            let sender = self.inbox.sender(place);
            let Some(flow) = self.inbox.best(sender, context.now) else { continue };
            let Some(incoming) = self.inbox.flows.get(flow) else { continue };
            let left = incoming.left();
            let held = u32::from(self.running.held(sender)) + u32::from(self.forming.held(sender));
            let lacks = left.div_ceil(config.channel_packets).saturating_sub(held);
            if lacks == 0 {
                continue;
            }
            let all = u8::try_from(lacks).unwrap_or(u8::MAX).min(free.all);
            let channels = Channels { all, prompt: all.min(free.prompt) };
            context.send(config.control(flow, sender, Header::Request { round, channels, left }));
        }
    }

    /// A grant came, which is answered at the end of its round; one that comes later is not.
    pub fn granted(
        &mut self,
        packet: &Packet<Header>,
        (round, channels, left): (Round, Channels, u32),
        config: &Config,
        now: Time,
    ) {
        if config.rounds.end_of(round) < now || !self.inbox.has(packet.src) {
            return;
        }
        let start = self.inbox.flows.get(packet.flow).map_or(now, |incoming| incoming.start);
        self.grants.push(Offer { flow: packet.flow, peer: packet.src, left, start, channels });
    }

    /// Takes channels that were granted in a round (PimEpoch::handle_all_grants).
    fn accept(&mut self, epoch: u32, round: Round, config: &Config, context: &mut Context<'_, Header>) {
        if self.forming.epoch != epoch {
            return;
        }
        let mut free = self.forming.free(config.channels);
        let by_size = round.nth < config.sorted_rounds;
        if by_size && config.ranks_unstably {
            self.grants.rank();
        }
        while let Some(Offer { flow, peer, left, channels, .. }) =
            self.grants.take(by_size, &mut free, context.random)
        {
            context.send(config.control(flow, peer, Header::Accept { round, channels }));
            self.forming.take(peer, left, channels, context.now);
        }
    }

    /// A sender does not have the channels that were taken. In the authors' simulator those of a phase that runs stay.
    pub fn released(&mut self, sender: HostId, round: Round, channels: Channels, config: &Config) {
        if round.epoch == self.forming.epoch {
            self.forming.give_back(sender, channels);
        } else if round.epoch == self.running.epoch && !config.releases_late {
            self.running.give_back(sender, channels);
        }
    }
}

// Tokens.
impl Receiver {
    /// Sends the tokens that are due at once, of the running phase first.
    fn due_now(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        for purpose in [RUNNING, FORMING] {
            for place in 0..self.matching(purpose).links.len() {
                if self.matching(purpose).links[place].due_at == context.now {
                    self.send_token(purpose, place, config, context);
                }
            }
        }
    }

    /// A token is due, or may be.
    pub fn due(
        &mut self,
        purpose: u8,
        sender: HostId,
        at: Time,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        let links = &self.matching(purpose).links;
        if let Some(place) = links.iter().position(|link| link.sender == sender && link.due_at == at) {
            self.send_token(purpose, place, config, context);
        }
    }

    /// Something came of a sender's best flow: if its channels are at rest, they need not be.
    fn wake(&mut self, sender: HostId, config: &Config, context: &mut Context<'_, Header>) {
        let resting = |link: &super::links::Link| link.sender == sender && link.is_at_rest();
        if let Some(place) = self.running.links.iter().position(resting) {
            self.send_token(RUNNING, place, config, context);
        }
    }

    fn matching(&mut self, purpose: u8) -> &mut Matching {
        if purpose == RUNNING { &mut self.running } else { &mut self.forming }
    }

    /// A turn of the channels from a sender: a token, unless a short flow's packets have the turn, or there is nothing
    /// to ask for (PIM_Vlink::send_token).
    fn send_token(&mut self, purpose: u8, place: usize, config: &Config, context: &mut Context<'_, Header>) {
        let now = context.now;
        let link = &mut self.matching(purpose).links[place];
        let (sender, channels, level) = (link.sender, link.in_use(), link.level);
        (link.due_at, link.waits) = (Time::NEVER, false);
        if channels == 0 {
            return;
        }
        let next = now + config.token_time(channels);
        if self.held > 0 {
            self.held -= 1;
            self.set_due((purpose, place), next, false, context);
            return;
        }
        let Some(flow) = self.inbox.best(sender, now) else { return };
        let Some(incoming) = self.inbox.flows.get_mut(flow) else { return };
        if let Err(later) = incoming.may_have_token(channels, config, now) {
            self.set_due((purpose, place), later, true, context);
            return;
        }
        let (number, seq) = incoming.token(config, now);
        let left = incoming.left();
        let until = config.rounds.phase_ends(now) + config.grace;
        let header = Header::Token { number, seq, left, level, until };
        context.send(config.control(flow, sender, header));
        self.set_due((purpose, place), next, false, context);
    }

    fn set_due(
        &mut self,
        (purpose, place): (u8, usize),
        at: Time,
        waits: bool,
        context: &mut Context<'_, Header>,
    ) {
        let link = &mut self.matching(purpose).links[place];
        (link.due_at, link.waits) = (at, waits);
        context.set_timer(at, link.sender, purpose);
    }

    /// Prefetches what is known of a flow, or whether it has ended.
    pub fn expect(&self, flow: FlowId) {
        self.finished.expect(flow, &self.inbox.flows);
    }
}

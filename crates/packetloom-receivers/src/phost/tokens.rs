//! The tokens of a host: one in each time of a full packet, to the flow with the least left that may have one
//! (pHost §3.3).

use super::TOKEN;
use super::config::Config;
use super::header::Header;
use super::receiver::{Receiver, TokenState};
use crate::engine::Context;
use crate::flow::FlowId;
use crate::flow_table::FlowTable;
use crate::units::Time;
use std::collections::BTreeSet;

/// Which flows get tokens, and when the next is due.
#[derive(Clone, Debug)]
pub struct Tokens {
    ready: BTreeSet<(u32, u64, FlowId)>,
    asleep: BTreeSet<(Time, FlowId)>,
    /// When the next token is due, or the first sleeper wakes.
    due_at: Time,
    /// Whether it is the latter, which a new flow need not wait for.
    only_wakes: bool,
    /// So many turns are left to the packets that go without tokens.
    held: u32,
}

impl Default for Tokens {
    fn default() -> Tokens {
        Tokens {
            ready: BTreeSet::new(),
            asleep: BTreeSet::new(),
            due_at: Time::NEVER,
            only_wakes: false,
            held: 0,
        }
    }
}

impl Tokens {
    /// Moves a flow to the position that it now has in the order.
    pub(super) fn requeue(&mut self, receiver: &mut Receiver, config: &Config, packet_time: Time) {
        let state = receiver.token_state(config, packet_time);
        if receiver.state == Some(state) {
            return;
        }
        self.remove(receiver);
        match state {
            TokenState::Ready(left, number) => self.ready.insert((left, number, receiver.flow)),
            TokenState::Asleep(until) => self.asleep.insert((until, receiver.flow)),
        };
        receiver.state = Some(state);
    }

    /// Forgets a flow.
    pub(super) fn remove(&mut self, receiver: &Receiver) {
        match receiver.state {
            Some(TokenState::Ready(left, number)) => self.ready.remove(&(left, number, receiver.flow)),
            Some(TokenState::Asleep(until)) => self.asleep.remove(&(until, receiver.flow)),
            None => false,
        };
    }

    /// A flow with so many free tokens has come.
    pub(super) fn begin(&mut self, free: u32, context: &mut Context<'_, Header>) {
        self.held = free;
        if self.due_at == Time::NEVER || self.only_wakes {
            self.set(context.now, false, context);
        }
    }

    fn set(&mut self, at: Time, only_wakes: bool, context: &mut Context<'_, Header>) {
        (self.due_at, self.only_wakes) = (at, only_wakes);
        context.set_timer(at, 0, TOKEN);
    }

    /// A timer went off: sends a token, if one is due.
    pub(super) fn due(
        &mut self,
        receivers: &mut FlowTable<Receiver>,
        config: &Config,
        packet_time: Time,
        context: &mut Context<'_, Header>,
    ) {
        let now = context.now;
        if now != self.due_at {
            return;
        }
        self.due_at = Time::NEVER;
        if self.held > 0 {
            self.held -= 1;
            return self.set(now + packet_time, false, context);
        }
        self.wake(receivers, config, now, packet_time);
        if let Some(&(.., flow)) = self.ready.first()
            && let Some(receiver) = receivers.get_mut(flow)
        {
            let token = receiver.token(config, now, packet_time);
            context.send(config.control(flow, receiver.src, receiver.class, token));
            self.requeue(receiver, config, packet_time);
            return self.set(now + packet_time, false, context);
        }
        if let Some(&(until, _)) = self.asleep.first() {
            self.set(until, true, context);
        }
    }

    fn wake(&mut self, receivers: &mut FlowTable<Receiver>, config: &Config, now: Time, packet_time: Time) {
        while let Some(&(until, flow)) = self.asleep.first()
            && until <= now
            && let Some(receiver) = receivers.get_mut(flow)
        {
            receiver.wake(config, now, packet_time);
            self.requeue(receiver, config, packet_time);
        }
    }
}

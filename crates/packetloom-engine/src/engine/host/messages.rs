//! A host that takes a time of its own for each message (`topology::MessageCosts`): a flow that it sends or receives.
//! It sends one at a time and receives one at a time, as NICs do whose rate of messages is limited.

use super::services::{Due, Service, Turned};
use super::step::Step;
use super::{Around, Starting};
use crate::engine::log::{Event, Log};
use crate::flow::{Flow, FlowId};
use crate::topology::MessageCosts;
use crate::units::Time;
use std::collections::VecDeque;

/// The messages that a host has at hand.
pub(in crate::engine) struct Messages {
    costs: MessageCosts,
    /// Until when it is occupied with sending, and with receiving.
    free: (Time, Time),
    /// With when the transport gets them.
    sending: VecDeque<(Time, Flow)>,
    /// Whole, with when the host has them.
    received: VecDeque<(Time, FlowId)>,
}

impl Messages {
    /// None at hand.
    pub(in crate::engine) fn new(costs: MessageCosts) -> Messages {
        Messages {
            costs,
            free: (Time::ZERO, Time::ZERO),
            sending: VecDeque::new(),
            received: VecDeque::new(),
        }
    }

    /// A flow starts; returns whether that takes the host time.
    pub(super) fn send(&mut self, now: Time, flow: Flow) -> bool {
        if self.costs.send == Time::ZERO {
            return false;
        }
        self.free.0 = now.max(self.free.0).saturating_add(self.costs.send);
        self.sending.push_back((self.free.0, flow));
        true
    }

    /// Keeps back, of the events from `logged` on, that flows are whole.
    pub(super) fn receive(&mut self, now: Time, logged: usize, log: &mut Log) {
        if self.costs.receive == Time::ZERO {
            return;
        }
        let mut at = logged;
        while at < log.events.len() {
            let Event::Delivered { flow, .. } = log.events[at] else {
                at += 1;
                continue;
            };
            log.events.remove(at);
            self.free.1 = now.max(self.free.1).saturating_add(self.costs.receive);
            self.received.push_back((self.free.1, flow));
        }
    }
}

impl Due for Messages {
    fn next_at(&self) -> Time {
        let sent = self.sending.front().map_or(Time::NEVER, |(at, _)| *at);
        self.received.front().map_or(Time::NEVER, |(at, _)| *at).min(sent)
    }
}

impl<H, A> Service<H, A> for Messages {
    /// The transport gets the next message to send; or the next one is received.
    fn turn(&mut self, now: Time, _: u32, _: &mut Starting, around: &mut Around<'_, H, A>) -> Turned {
        if let Some(&(_, flow)) = self.sending.front().filter(|(at, _)| *at <= now) {
            self.sending.pop_front();
            return Turned::Steps(Step::HandedOver(flow));
        }
        let Some((_, flow)) = self.received.pop_front() else { return Turned::Done };
        around.tally.events += 1;
        around.log.delivered(flow, now);
        Turned::Logged
    }
}

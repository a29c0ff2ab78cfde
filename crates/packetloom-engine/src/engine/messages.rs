//! A host that takes a time of its own for each message (`topology::MessageCosts`): a flow that it sends or receives.
//! It sends one at a time and receives one at a time, as NICs do whose rate of messages is limited.

use super::log::{Event, Log};
use crate::flow::{Flow, FlowId};
use crate::topology::MessageCosts;
use crate::units::Time;
use std::collections::VecDeque;

/// The messages that a host has at hand.
pub(super) struct Messages {
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
    pub(super) fn new(costs: MessageCosts) -> Messages {
        Messages {
            costs,
            free: (Time::ZERO, Time::ZERO),
            sending: VecDeque::new(),
            received: VecDeque::new(),
        }
    }

    /// When the host is done with the next.
    pub(super) fn next_at(&self) -> Time {
        let sent = self.sending.front().map_or(Time::NEVER, |(at, _)| *at);
        self.received.front().map_or(Time::NEVER, |(at, _)| *at).min(sent)
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

    /// The next flow that the transport gets, if the host is done with it.
    pub(super) fn handed_over(&mut self, now: Time) -> Option<Flow> {
        self.sending.front().filter(|(at, _)| *at <= now)?;
        self.sending.pop_front().map(|(_, flow)| flow)
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

    /// The next flow that the host has received, if it is done with it.
    pub(super) fn taken(&mut self, now: Time) -> Option<FlowId> {
        self.received.front().filter(|(at, _)| *at <= now)?;
        self.received.pop_front().map(|(_, flow)| flow)
    }
}

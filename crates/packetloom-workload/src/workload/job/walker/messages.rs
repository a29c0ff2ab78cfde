//! What a rank does with messages that arrive, and with acknowledgements.

use super::super::plan::{ANSWER, Exchange, Located, Part};
use super::super::progress::Progress;
use super::{Due, Walker, take_turn};
use crate::flow::{Flow, FlowId};
use crate::job::Work;
use crate::units::Time;
use std::cmp::Reverse;
use std::sync::Arc;

/// Messages that arrive, and acknowledgements.
impl Walker {
    /// A message has arrived, which the NIC hands on once it has rested since the one before.
    pub(super) fn received(&mut self, at: Located, flow: FlowId, now: Time, start: &mut Vec<Flow>) {
        let costs = &self.plan.settings.costs;
        if costs.gap.is_none() {
            return self.came(at, flow, now, start);
        }
        let bytes = match self.plan.exchange(at.exchange) {
            Exchange::Collective(operation) => operation.part(at.index).message.bytes,
            Exchange::Send { .. } => self.plan.send(at.exchange).map_or(0, |(_, bytes, _)| bytes),
        };
        let rested =
            if self.nic.1 == Time::ZERO { now } else { self.nic.1.saturating_add(costs.occupied(bytes)) };
        self.nic.1 = now.max(rested);
        self.due.push(Reverse((self.nic.1, Due::Came(flow))));
    }

    pub(super) fn came(&mut self, at: Located, flow: FlowId, now: Time, start: &mut Vec<Flow>) {
        let plan = Arc::clone(&self.plan);
        match plan.exchange(at.exchange) {
            Exchange::Collective(operation) => {
                let part = operation.part(at.index);
                let bytes = part.message.bytes;
                let when = take_turn(&mut self.free.1, now, plan.settings.costs.to_receive(bytes));
                let from = plan.rank_at(operation.group, part.from);
                let when = when.saturating_add(plan.hop_cost(operation, from, self.rank));
                let when = when.saturating_add(operation.trail(&part));
                if when > now {
                    self.due.push(Reverse((when, Due::Arrived(flow))));
                } else {
                    self.arrived(at, &part, flow, now, start);
                }
            }
            &Exchange::Send { place, .. } if at.index == ANSWER => {
                let place = self.numbered(at.exchange, place);
                // A smaller one of the channel ended when it was sent.
                if at.iteration == self.iteration
                    && let Some(open) = self.open.get_mut(&place)
                {
                    open.message = Some(flow);
                    self.end(place, now);
                }
            }
            &Exchange::Send { rank, place } => {
                let Work::Send { peer, tag, .. } =
                    plan.program.ranks[rank as usize].operations()[place as usize].work
                else {
                    return;
                };
                debug_assert_eq!(peer, self.rank);
                let nth = plan.nth_of_channel(at.exchange);
                let inbox = self.inboxes.entry(at.iteration).or_default();
                for (receive, flow) in inbox.come((rank, tag), nth, flow) {
                    self.matched(receive, flow, now);
                }
            }
        }
    }

    /// A message of a collective operation has arrived, after what its receiver takes for it.
    pub(super) fn arrived_late(&mut self, flow: FlowId, now: Time, start: &mut Vec<Flow>) {
        let plan = Arc::clone(&self.plan);
        if let Some(at) = plan.locate(flow)
            && let Exchange::Collective(operation) = plan.exchange(at.exchange)
        {
            self.arrived(at, &operation.part(at.index), flow, now, start);
        }
    }

    /// A message of a collective operation has arrived.
    fn arrived(&mut self, at: Located, part: &Part, flow: FlowId, now: Time, start: &mut Vec<Flow>) {
        let key = (at.iteration, at.exchange);
        let mut sending = std::mem::take(&mut self.sending);
        if let Some(progress) = self.progress(key) {
            if progress.operation().has_grant(part) {
                progress.hold(part.lane_there, part.message.stage_there, at.index);
            }
            let came = (part.message.bytes, flow);
            progress.arrive(part.lane_there, part.message.stage_there, came, &mut sending);
        }
        self.after_progress(key, Some(flow), sending, now, start);
    }

    /// Threads have moved what they had of a lane.
    pub(super) fn worked(&mut self, key: (u32, u32), lane: u32, now: Time, start: &mut Vec<Flow>) {
        let mut sending = std::mem::take(&mut self.sending);
        let Some(progress) = self.collectives.get_mut(&key) else { return };
        progress.worked(lane, &mut sending);
        let last = progress.last();
        self.after_progress(key, last, sending, now, start);
    }

    /// A message of its own was acknowledged, or its buffer granted anew.
    pub(super) fn acknowledged(&mut self, at: Located, is_granted: bool, now: Time, start: &mut Vec<Flow>) {
        let plan = Arc::clone(&self.plan);
        match plan.exchange(at.exchange) {
            Exchange::Collective(operation) => {
                let part = operation.part(at.index);
                if !is_granted && operation.has_grant(&part) {
                    // Where a buffer is granted, an acknowledgement tells nothing.
                    return;
                }
                let key = (at.iteration, at.exchange);
                // What is over does not wait for acknowledgements.
                let mut sending = std::mem::take(&mut self.sending);
                if let Some(progress) = self.collectives.get_mut(&key) {
                    progress.acknowledge(part.lane, &part.message, &mut sending);
                }
                let last = self.collectives.get(&key).and_then(Progress::last);
                self.after_progress(key, last, sending, now, start);
            }
            &Exchange::Send { place, .. } => {
                if plan.program.sends_block && at.iteration == self.iteration {
                    self.end(self.numbered(at.exchange, place), now);
                }
            }
        }
    }
}

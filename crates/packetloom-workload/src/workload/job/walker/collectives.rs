//! How a rank carries out collective operations.

use super::super::pattern::Message;
use super::super::plan::{Exchange, Located};
use super::super::progress::{Progress, Sending};
use super::{Due, End, NO_PLACE, Told, Walker, take_turn};
use crate::flow::{Flow, FlowId};
use crate::units::Time;
use std::cmp::Reverse;
use std::sync::Arc;

/// Collective operations.
impl Walker {
    /// What a library takes before a collective operation begins.
    pub(super) fn call_takes(&self, place: u32) -> Time {
        match self.plan.exchange(self.plan.exchange_of(self.rank, place)) {
            Exchange::Collective(operation) if !operation.is_modelled => {
                operation.call.as_ref().map_or(Time::ZERO, |call| call.costs.call)
            }
            _ => Time::ZERO,
        }
    }

    pub(super) fn begin_collective(&mut self, place: u32, now: Time, start: &mut Vec<Flow>) {
        let exchange = self.plan.exchange_of(self.rank, place);
        let key = (self.iteration, exchange);
        if let Exchange::Collective(operation) = self.plan.exchange(exchange)
            && operation.is_told()
        {
            return self.begun.push(Told { iteration: self.iteration, exchange, place });
        }
        let mut sending = std::mem::take(&mut self.sending);
        if let Some(progress) = self.progress(key) {
            progress.begin(place, &mut sending);
        }
        self.after_progress(key, None, sending, now, start);
    }

    /// The operations that end when they are told, which have begun since this was last asked.
    pub fn take_begun(&mut self) -> impl Iterator<Item = Told> + '_ {
        self.begun.drain(..)
    }

    /// An operation is over that ends when it is told.
    pub fn end_told(&mut self, told: Told, now: Time, start: &mut Vec<Flow>) {
        if self.end != End::Usual {
            return;
        }
        debug_assert_eq!(told.iteration, self.iteration);
        self.end(told.place, now);
        self.follow_up(now, start);
    }

    /// How far the rank is with a collective operation, which others may have begun before it.
    pub(super) fn progress(&mut self, key: (u32, u32)) -> Option<&mut Progress> {
        let plan = &self.plan;
        let Exchange::Collective(operation) = plan.exchange(key.1) else { return None };
        Some(self.collectives.entry(key).or_insert_with(|| {
            let place = plan.place_in(operation.group, self.rank);
            let mut progress = Progress::new(Arc::clone(operation), place);
            if plan.is_node(self.rank) {
                // It is always there; it sends nothing before something comes.
                progress.begin(NO_PLACE, &mut Vec::new());
            }
            progress
        }))
    }

    /// Sends what a collective operation has to send, and ends it if it is over.
    pub(super) fn after_progress(
        &mut self,
        key: (u32, u32),
        message: Option<FlowId>,
        mut sending: Vec<Sending>,
        now: Time,
        start: &mut Vec<Flow>,
    ) {
        let plan = Arc::clone(&self.plan);
        let Exchange::Collective(operation) = plan.exchange(key.1) else { return };
        let freed = self.collectives.get_mut(&key).map(Progress::take_freed).unwrap_or_default();
        for index in freed.into_iter().map(|message| operation.grant(message)) {
            let Message { to, bytes, .. } = operation.part(index).message;
            let at = Located { iteration: key.0, exchange: key.1, index };
            start.push(plan.flow(at, self.rank, plan.rank_at(operation.group, to), bytes, now));
        }
        let begun_with = self.collectives.get_mut(&key).map(Progress::take_begun).unwrap_or_default();
        for (lane, takes) in begun_with {
            self.due.push(Reverse((now.saturating_add(takes), Due::Worked(key.1, lane))));
        }
        // The place of a rank whose threads move data.
        let own = operation.threads.as_ref().map(|_| plan.place_in(operation.group, self.rank));
        for Sending { index, message, lane } in sending.drain(..) {
            let at = Located { iteration: key.0, exchange: key.1, index };
            let to = plan.rank_at(operation.group, message.to);
            let costs = &plan.settings.costs;
            let may = now.max(self.nic.0);
            let mut when = take_turn(&mut self.free.0, may, costs.to_send(message.bytes));
            if let Some(own) = own
                && let Some((threads, labour)) = operation.threads_of(lane, own)
                && !threads.are_neighbours(own, message.to)
            {
                // A neighbour's memory they write themselves; a NIC sends what is written.
                when = when.max(now.saturating_add(threads.take(labour, message.bytes)));
            }
            self.nic.0 = may.saturating_add(costs.occupied(message.bytes));
            start.push(plan.flow(at, self.rank, to, message.bytes, when));
        }
        self.sending = sending;
        if let Some(place) = self.collectives.get(&key).and_then(Progress::over_at) {
            self.collectives.remove(&key);
            if place == NO_PLACE {
                return;
            }
            if let Some(open) = self.open.get_mut(&place) {
                open.message = message;
            }
            self.end(place, now);
        }
    }
}

//! How the operations of a rank wait for their streams, have them, and end.

use super::super::plan::{Located, MESSAGE};
use super::super::span::Span;
use super::{Due, Open, Walker};
use crate::flow::Flow;
use crate::job::{Event, Work};
use crate::units::Time;
use std::cmp::Reverse;

/// Operations that wait for their streams, have them, and end.
impl Walker {
    /// An operation waits for its stream, if it has one.
    pub(super) fn queue(&mut self, place: u32, now: Time) {
        let Some(stream) = self.stream(place) else { return self.unqueued.push_back(place) };
        let turn = self.plan.program.ranks[self.rank as usize].turn(place);
        let before = turn.map_or((now, place), |turn| (Time::ZERO, turn));
        self.streams.entry(stream).or_default().waiting.push(Reverse((before, place, now)));
    }

    /// Begins something that waits for no stream, or for one that is free; returns whether there was any.
    pub(super) fn begin_next(&mut self, now: Time, start: &mut Vec<Flow>) -> bool {
        if let Some(place) = self.unqueued.pop_front() {
            if !self.waits_for_nic(place, now) {
                self.begin(place, now, start);
            }
            return true;
        }
        let mut free = self.streams.values_mut().filter(|one| !one.is_busy && !one.waiting.is_empty());
        let Some(stream) = free.next() else { return false };
        let Some(Reverse((_, place, since))) = stream.waiting.pop() else { return false };
        let stream = match self.waits_for_nic(place, now) {
            true => return true,
            false => self.stream(place).and_then(|number| self.streams.get_mut(&number)),
        };
        let Some(stream) = stream else { return false };
        stream.is_busy = true;
        let had_it = stream.last.replace(place);
        if let Some(open) = self.open.get_mut(&place)
            && since < now
        {
            open.after = had_it;
        }
        self.begin(place, now, start);
        true
    }

    /// Whether an operation is a message that the NIC may not send yet; then it comes again, and leaves its stream to
    /// others.
    fn waits_for_nic(&mut self, place: u32, now: Time) -> bool {
        let waits = self.nic.0 > now && matches!(self.work(place), Work::Send { .. });
        if waits {
            self.due.push(Reverse((self.nic.0, Due::Queued(place))));
        }
        waits
    }

    /// An operation has its stream.
    pub(super) fn begin(&mut self, place: u32, now: Time, start: &mut Vec<Flow>) {
        if let Some(open) = self.open.get_mut(&place) {
            open.begin = now;
        }
        let costs = self.plan.settings.costs;
        let holds = match self.work(place) {
            Work::Compute { duration } => {
                self.plan.settings.disturbances.computes_for(self.rank, now, duration)
            }
            Work::Send { bytes, .. } => {
                self.nic.0 = now.saturating_add(costs.occupied(bytes));
                costs.to_send(bytes)
            }
            // It began when it was posted.
            Work::Receive { .. } => {
                let message = self.open.get(&place).and_then(|open| self.plan.locate(open.message?));
                let bytes =
                    message.and_then(|at| self.plan.send(at.exchange)).map_or(0, |(_, bytes, _)| bytes);
                return self.hold(place, costs.to_receive(bytes), now, start);
            }
            Work::Collective { .. } => {
                self.events.push_back((place, Event::Begins));
                let takes = self.call_takes(place);
                if takes > Time::ZERO {
                    self.due.push(Reverse((now.saturating_add(takes), Due::Called(place))));
                    return;
                }
                return self.begin_collective(place, now, start);
            }
        };
        self.events.push_back((place, Event::Begins));
        self.hold(place, holds, now, start);
    }

    fn hold(&mut self, place: u32, holds: Time, now: Time, start: &mut Vec<Flow>) {
        if holds == Time::ZERO {
            self.held(place, now, start);
        } else {
            self.due.push(Reverse((now.saturating_add(holds), Due::Held(place))));
        }
    }

    /// An operation has held its stream for as long as it does by itself.
    pub(super) fn held(&mut self, place: u32, now: Time, start: &mut Vec<Flow>) {
        if let Work::Send { peer, bytes, tag } = self.work(place) {
            let exchange = self.number_send(place, (peer, tag));
            let at = Located { iteration: self.iteration, exchange, index: MESSAGE };
            start.push(self.plan.flow(at, self.rank, peer, bytes, now));
            if self.plan.program.sends_block || self.plan.settings.costs.is_answered(bytes) {
                return;
            }
        }
        self.end(place, now);
    }

    /// The exchange whose number a send gets: of those to one rank with one tag, the first that is sent gets the first.
    fn number_send(&mut self, place: u32, (peer, tag): (u32, u32)) -> u32 {
        let own = self.plan.exchange_of(self.rank, place);
        let Some(channel) = self.plan.channel(self.rank, peer, tag) else { return own };
        let nth = self.sent.entry((peer, tag)).or_default();
        let exchange = channel[*nth as usize];
        *nth += 1;
        if exchange != own {
            let at = Located { iteration: self.iteration, exchange, index: MESSAGE };
            let flow = self.plan.number(at);
            self.numbered.insert(exchange, place);
            if let Some(open) = self.open.get_mut(&place) {
                open.message = Some(flow);
            }
        }
        exchange
    }

    /// The send that has the number of an exchange.
    pub(super) fn numbered(&self, exchange: u32, place: u32) -> u32 {
        self.numbered.get(&exchange).copied().unwrap_or(place)
    }

    /// An operation ends, and frees its stream.
    pub(super) fn end(&mut self, place: u32, now: Time) {
        if let Some(open) = self.open.remove(&place) {
            let span = self.span(place, open, now);
            self.spans.push(span);
        }
        if let Some(stream) = self.stream(place).and_then(|number| self.streams.get_mut(&number))
            && stream.last == Some(place)
        {
            stream.is_busy = false;
        }
        self.events.push_back((place, Event::Ends));
    }

    pub(super) fn span(&self, place: u32, open: Open, end: Time) -> Span {
        let Open { ready, begin, after, message } = open;
        Span { iteration: self.iteration, place, ready, begin, end, after, message }
    }
}

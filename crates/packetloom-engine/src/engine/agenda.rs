//! A host's timers.

use crate::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A timer: when, of which flow, and what for. Timers due at once go off in the order of these fields, so that
/// the order never depends on when they were set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    /// When it goes off.
    pub at: Time,
    /// The flow (or whatever else the owner numbers).
    pub key: u32,
    /// What for.
    pub purpose: u8,
}

/// No timer.
const NONE: Timer = Timer { at: Time::NEVER, key: 0, purpose: 0 };

/// A host's timers. They are not cancelled: their owner looks, when one goes off, whether it still matters.
///
/// A timer that goes off before all others is kept apart. A paced sender sets one of these for each packet, and it
/// goes off before the next is set, so that the heap, which has a timeout for each flow, is not touched.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// None of the others goes off earlier; [`NONE`] if no timer did so when it was set.
    soonest: Timer,
    /// When the first of the others goes off, kept here so that the common question costs no look at them.
    others_at: Time,
    others: BinaryHeap<Reverse<Timer>>,
}

impl Default for Agenda {
    fn default() -> Agenda {
        Agenda { soonest: NONE, others_at: Time::NEVER, others: BinaryHeap::new() }
    }
}

impl Agenda {
    /// Adds a timer.
    #[inline]
    pub fn add(&mut self, timer: Timer) {
        let other =
            if timer.at < self.next_at() { std::mem::replace(&mut self.soonest, timer) } else { timer };
        if other.at != Time::NEVER {
            self.others_at = self.others_at.min(other.at);
            self.others.push(Reverse(other));
        }
    }

    /// When the next one goes off: [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next_at(&self) -> Time {
        self.soonest.at.min(self.others_at)
    }

    /// The next one.
    #[inline]
    pub fn pop(&mut self) -> Option<Timer> {
        let is_soonest = self.soonest.at < self.others_at
            || self.others.peek().is_some_and(|Reverse(first)| self.soonest < *first);
        if is_soonest {
            return Some(std::mem::replace(&mut self.soonest, NONE));
        }
        let Reverse(first) = self.others.pop()?;
        self.others_at = self.others.peek().map_or(Time::NEVER, |Reverse(next)| next.at);
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};
    use std::collections::BTreeSet;

    #[test]
    fn timers_go_off_in_order_however_they_are_set() {
        let mut stream = Stream::new(1, Purpose::Transport, 0);
        let (mut agenda, mut model) = (Agenda::default(), BTreeSet::new());
        let mut now = 0;
        for step in 0..20_000 {
            if stream.below(2) == 0 {
                // Few moments and few keys, so that many timers are due at once.
                let at = Time(now + u64::from(stream.below(6)));
                let timer = Timer { at, key: stream.below(4), purpose: (step % 200) as u8 };
                if model.insert(timer) {
                    agenda.add(timer);
                }
            } else {
                let next = model.pop_first();
                assert_eq!(agenda.pop(), next);
                now = next.map_or(now, |timer| timer.at.as_ps());
            }
            assert_eq!(agenda.next_at(), model.first().map_or(Time::NEVER, |timer| timer.at));
        }
    }
}

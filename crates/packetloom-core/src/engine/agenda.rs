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

/// A host's timers. They are not cancelled: their owner looks, when one goes off, whether it still matters.
#[derive(Clone, Debug)]
pub struct Agenda {
    timers: BinaryHeap<Reverse<Timer>>,
    /// When the next timer goes off, kept here so that the common question costs no look into the heap.
    next_at: Time,
}

impl Default for Agenda {
    fn default() -> Agenda {
        Agenda { timers: BinaryHeap::new(), next_at: Time::NEVER }
    }
}

impl Agenda {
    /// Adds a timer.
    #[inline]
    pub fn add(&mut self, timer: Timer) {
        self.next_at = self.next_at.min(timer.at);
        self.timers.push(Reverse(timer));
    }

    /// When the next one goes off: [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next_at(&self) -> Time {
        self.next_at
    }

    /// The next one.
    #[inline]
    pub fn pop(&mut self) -> Option<Timer> {
        let Reverse(timer) = self.timers.pop()?;
        self.next_at = self.timers.peek().map_or(Time::NEVER, |Reverse(next)| next.at);
        Some(timer)
    }
}

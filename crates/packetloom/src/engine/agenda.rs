//! What a host will do by itself: its timers.

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
#[derive(Clone, Debug, Default)]
pub struct Agenda(BinaryHeap<Reverse<Timer>>);

impl Agenda {
    /// Adds a timer.
    pub fn add(&mut self, timer: Timer) {
        self.0.push(Reverse(timer));
    }

    /// When the next one goes off.
    #[inline]
    pub fn next_at(&self) -> Option<Time> {
        self.0.peek().map(|Reverse(timer)| timer.at)
    }

    /// The next one.
    pub fn pop(&mut self) -> Option<Timer> {
        self.0.pop().map(|Reverse(timer)| timer)
    }
}

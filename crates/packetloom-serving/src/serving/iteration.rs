//! What an instance does at once: a batch of prompts, or a token for each of its answers.

use crate::units::Time;

/// A batch, or a token of all answers, under way. Where all-reduces are messages, computing is cut into as many equal
/// slices as there are of these, and one follows each slice: a reduce-scatter, then an all-gather. All ranks begin a slice
/// and each half of an all-reduce together.
#[derive(Clone, Debug)]
pub struct Iteration {
    /// What it computes.
    pub compute: Time,
    /// What its all-reduces have taken.
    pub network: Time,
    slices: u64,
    done: u64,
    /// What a rank sends to each other in either half of an all-reduce.
    pub message_bytes: u64,
    is_gathering: bool,
    missing: u32,
    exchanged_from: Time,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Each rank sends to each other.
    Exchange,
    /// This much is computed.
    Compute(Time),
    /// It is over.
    Over,
}

impl Iteration {
    /// One that begins now, with so many all-reduces.
    pub fn new(now: Time, compute: Time, all_reduces: u64, message_bytes: u64) -> Iteration {
        Iteration {
            compute,
            network: Time::ZERO,
            slices: all_reduces,
            done: 0,
            message_bytes,
            is_gathering: false,
            missing: 0,
            exchanged_from: now,
        }
    }

    /// What is computed first.
    pub fn first_slice(&self) -> Time {
        self.slice()
    }

    /// The next slice, so that all of them are what is computed to the last picosecond.
    fn slice(&self) -> Time {
        let slices = u128::from(self.slices.max(1));
        let until = |slice: u64| u128::from(self.compute.as_ps()) * u128::from(slice) / slices;
        let length = until(self.done + 1) - until(self.done);
        Time(u64::try_from(length).unwrap_or(u64::MAX))
    }

    /// A slice was computed.
    pub fn computed(&mut self, now: Time) -> Next {
        self.done += 1;
        if self.slices == 0 {
            return Next::Over;
        }
        self.exchanged_from = now;
        self.is_gathering = false;
        Next::Exchange
    }

    /// So many messages were sent, all of which must arrive.
    pub fn await_messages(&mut self, messages: u32) {
        self.missing = messages;
    }

    /// A message arrived: what comes next, if it was the last.
    pub fn received(&mut self, now: Time) -> Option<Next> {
        self.missing -= 1;
        if self.missing > 0 {
            return None;
        }
        if !std::mem::replace(&mut self.is_gathering, true) {
            return Some(Next::Exchange);
        }
        self.network += now.since(self.exchanged_from);
        Some(if self.done == self.slices { Next::Over } else { Next::Compute(self.slice()) })
    }
}

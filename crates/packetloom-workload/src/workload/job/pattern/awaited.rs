//! An operation of which nothing is sent: a model says when it is over.

use super::{Message, Pattern, Stage};

/// A rank waits for one word, which the model gives.
#[derive(Clone, Copy, Debug)]
pub struct Awaited;

impl Pattern for Awaited {
    fn slots(&self) -> u32 {
        1
    }

    fn stages(&self, _: u32) -> u32 {
        0
    }

    fn stage(&self, _: u32, _: u32) -> Stage {
        Stage { awaits: 1, ..Stage::default() }
    }

    fn message(&self, rank: u32, _: u32, _: u64) -> Message {
        Message::new(rank, 1, 0, 0)
    }
}

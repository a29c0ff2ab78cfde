//! The dissemination barrier (Hensgen, Finkel and Manber, 1988): after so many rounds as the number of ranks has
//! binary digits, every rank has heard of every other.

use super::{Message, Pattern, Stage};

/// In each round a rank sends a byte to the one at twice the distance.
#[derive(Clone, Copy, Debug)]
pub struct Dissemination {
    /// How many ranks.
    pub ranks: u32,
}

impl Dissemination {
    fn rounds(&self) -> u32 {
        (self.ranks - 1).ilog2() + 1
    }
}

impl Pattern for Dissemination {
    fn slots(&self) -> u32 {
        self.rounds()
    }

    fn stages(&self, _: u32) -> u32 {
        self.rounds()
    }

    fn stage(&self, _: u32, stage: u32) -> Stage {
        let slots = if stage < self.rounds() { stage..stage + 1 } else { 0..0 };
        Stage { awaits: u32::from(stage > 0), awaits_own: 0, slots }
    }

    fn message(&self, rank: u32, slot: u32, _: u64) -> Message {
        Message::new((rank + (1 << slot)) % self.ranks, 1, slot, slot + 1)
    }
}

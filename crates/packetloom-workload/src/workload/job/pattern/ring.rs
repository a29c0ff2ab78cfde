//! Round a ring (Thakur, Rabenseifner and Gropp, IJHPCA 2005, §4.1 and §4.4).

use super::{Alike, Message, Pattern, Phase, Shares, Stage};

/// A receiver has so many slots for a sender's messages, and gives one back when it has read it (NCCL's NCCL_STEPS,
/// `src/include/device.h`).
const SLOTS_OF_A_CONNECTION: u32 = 8;

/// At each step every rank sends a part to the next, the one that it received at the step before.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// How many ranks.
    pub ranks: u32,
    /// How many steps: a round for all-gather and reduce-scatter, two for all-reduce.
    pub steps: u32,
}

impl Pattern for Ring {
    fn slots(&self) -> u32 {
        self.steps
    }

    fn stages(&self, _: u32) -> u32 {
        self.steps
    }

    fn stage(&self, _: u32, stage: u32) -> Stage {
        let slots = if stage < self.steps { stage..stage + 1 } else { 0..0 };
        Stage { awaits: u32::from(stage > 0), awaits_own: 0, slots }
    }

    /// They go to one rank over one connection.
    fn most_under_way(&self) -> Option<u32> {
        Some(SLOTS_OF_A_CONNECTION)
    }

    fn alike(&self) -> Option<Alike> {
        Some(Alike { stages: 0..self.steps, every: 1 })
    }

    fn phases(&self) -> Option<Vec<Phase>> {
        Some(vec![Phase { stage: 0, times: self.steps, ring: self.ranks }])
    }

    fn messages(&self, ranks: u32) -> u64 {
        u64::from(ranks) * u64::from(self.steps)
    }

    fn message(&self, rank: u32, slot: u32, bytes: u64) -> Message {
        let part = (rank + self.ranks - slot % self.ranks) % self.ranks;
        let bytes = Shares { bytes, parts: self.ranks }.one(part);
        Message::new((rank + 1) % self.ranks, bytes, slot, slot + 1)
    }
}

//! Along a chain, from the first rank to the last or back: in pieces, a pipeline.

use super::{Message, Pattern, Stage};

/// Each rank passes on the whole.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// How many ranks.
    pub ranks: u32,
    /// Whether the first rank receives.
    pub towards_root: bool,
}

impl Chain {
    fn is_first(&self, rank: u32) -> bool {
        rank == if self.towards_root { self.ranks - 1 } else { 0 }
    }

    fn is_last(&self, rank: u32) -> bool {
        rank == if self.towards_root { 0 } else { self.ranks - 1 }
    }
}

impl Pattern for Chain {
    fn slots(&self) -> u32 {
        1
    }

    fn stages(&self, rank: u32) -> u32 {
        u32::from(!self.is_last(rank))
    }

    fn stage(&self, rank: u32, stage: u32) -> Stage {
        if self.is_last(rank) {
            return Stage { awaits: 1, ..Stage::default() };
        }
        match stage {
            0 => Stage { awaits: u32::from(!self.is_first(rank)), awaits_own: 0, slots: 0..1 },
            _ => Stage { awaits_own: 1, ..Stage::default() },
        }
    }

    fn message(&self, rank: u32, _: u32, bytes: u64) -> Message {
        let to = if self.towards_root { rank - 1 } else { rank + 1 };
        Message { stage_after: Some(1), ..Message::new(to, bytes.max(1), 0, 0) }
    }
}

//! Every rank to every other.

use super::{Message, Pattern, Phase, Shares, Stage};
use crate::narrow::exact;

/// All messages of a round at once: to the next neighbour first. An all-reduce is a reduce-scatter and then an
/// all-gather.
#[derive(Clone, Copy, Debug)]
pub struct Direct {
    /// How many ranks.
    pub ranks: u32,
    /// How many rounds.
    pub rounds: u32,
    /// Whether a rank sends its own part to all in the first, too.
    pub gathers: bool,
}

impl Pattern for Direct {
    fn slots(&self) -> u32 {
        self.rounds * (self.ranks - 1)
    }

    fn stages(&self, _: u32) -> u32 {
        self.rounds
    }

    fn stage(&self, _: u32, stage: u32) -> Stage {
        let others = self.ranks - 1;
        let slots = if stage < self.rounds { stage * others..(stage + 1) * others } else { 0..0 };
        Stage { awaits: if stage > 0 { others } else { 0 }, awaits_own: 0, slots }
    }

    fn phases(&self) -> Option<Vec<Phase>> {
        Some((0..self.rounds).map(Phase::once).collect())
    }

    fn messages(&self, ranks: u32) -> u64 {
        u64::from(ranks) * u64::from(self.slots())
    }

    fn message(&self, rank: u32, slot: u32, bytes: u64) -> Message {
        let (round, nth) = (slot / (self.ranks - 1), slot % (self.ranks - 1));
        let to = (rank + nth + 1) % self.ranks;
        // A reduction sends the receiver's part; a gathering, which is the last round of an all-reduce, one's own.
        let part = if round == 0 && !self.gathers { to } else { rank };
        Message::new(to, Shares { bytes, parts: self.ranks }.one(part), round, round + 1)
    }
}

/// One message after the other, each once the one before was acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct InTurn {
    /// How many ranks.
    pub ranks: u32,
}

impl Pattern for InTurn {
    fn slots(&self) -> u32 {
        self.ranks - 1
    }

    fn stages(&self, _: u32) -> u32 {
        self.ranks - 1
    }

    fn stage(&self, _: u32, stage: u32) -> Stage {
        if stage == self.ranks - 1 {
            return Stage { awaits: self.ranks - 1, ..Stage::default() };
        }
        Stage { awaits: 0, awaits_own: u32::from(stage > 0), slots: stage..stage + 1 }
    }

    fn message(&self, rank: u32, slot: u32, bytes: u64) -> Message {
        let to = (rank + slot + 1) % self.ranks;
        let bytes = Shares { bytes, parts: self.ranks }.one(to);
        let stage_after = (slot + 1 < self.ranks - 1).then_some(slot + 1);
        Message { stage_after, ..Message::new(to, bytes, slot, self.ranks - 1) }
    }
}

/// All-to-all with a size for each pair, as experts' tokens have it; pairs of 0 B send nothing.
#[derive(Clone, Debug)]
pub struct Pairs {
    ranks: u32,
    /// Of each rank in turn, the ranks that it sends to and the bytes, to the next neighbour first.
    sends: Vec<(u32, u64)>,
    /// Where each rank's end.
    ends: Vec<u32>,
    receives: Vec<u32>,
    most: u32,
}

impl Pairs {
    /// From the bytes for each pair, row by row; what a rank has for itself stays there.
    pub fn new(ranks: u32, matrix: &[u64]) -> Pairs {
        let mut pairs =
            Pairs { ranks, sends: Vec::new(), ends: Vec::new(), receives: vec![0; ranks as usize], most: 0 };
        for rank in 0..ranks {
            let before = pairs.sends.len();
            for to in (1..ranks).map(|distance| (rank + distance) % ranks) {
                let bytes = matrix[(rank * ranks + to) as usize];
                if bytes > 0 {
                    pairs.sends.push((to, bytes));
                    pairs.receives[to as usize] += 1;
                }
            }
            pairs.most = pairs.most.max(exact::<u32>(pairs.sends.len() - before));
            pairs.ends.push(exact::<u32>(pairs.sends.len()));
        }
        pairs
    }

    fn of(&self, rank: u32) -> &[(u32, u64)] {
        let first = if rank == 0 { 0 } else { self.ends[rank as usize - 1] };
        &self.sends[first as usize..self.ends[rank as usize] as usize]
    }
}

impl Pattern for Pairs {
    fn slots(&self) -> u32 {
        self.most
    }

    fn stages(&self, _: u32) -> u32 {
        1
    }

    fn stage(&self, rank: u32, stage: u32) -> Stage {
        debug_assert!(rank < self.ranks);
        let sends = exact::<u32>(self.of(rank).len());
        let receives = self.receives[rank as usize];
        match stage {
            0 => Stage { awaits: 0, awaits_own: 0, slots: 0..sends },
            // Who receives nothing is done when the others have theirs.
            _ => Stage { awaits: receives, awaits_own: if receives == 0 { sends } else { 0 }, slots: 0..0 },
        }
    }

    fn phases(&self) -> Option<Vec<Phase>> {
        Some(vec![Phase::once(0)])
    }

    fn message(&self, rank: u32, slot: u32, _: u64) -> Message {
        let (to, bytes) = self.of(rank)[slot as usize];
        let stage_after = (self.receives[rank as usize] == 0).then_some(1);
        Message { stage_after, ..Message::new(to, bytes, 0, 1) }
    }
}

//! Recursive halving and doubling (Thakur, Rabenseifner and Gropp, IJHPCA 2005, §4.2 and §4.4). Where the number of
//! ranks is no power of two, an all-reduce first folds: of the first ranks the even ones give their vectors to their
//! neighbours, sit out, and get the result.

use super::{Message, Pattern, Phase, Shares, Stage};
use crate::job::Collective;

/// Ranks at half the distance each time send each other the half that the other keeps; then, at twice the distance
/// each time, all that they have.
#[derive(Clone, Copy, Debug)]
pub struct Halving {
    /// The largest power of two of ranks.
    core: u32,
    /// How many ranks give their vectors away.
    folded: u32,
    halves: bool,
    doubles: bool,
}

/// What a rank is for.
#[derive(Clone, Copy)]
enum Role {
    /// It sits out.
    Even,
    /// It takes part under this number, and acts for its neighbour.
    Odd(u32),
    /// It takes part under this number.
    Alone(u32),
}

impl Halving {
    /// For so many ranks.
    ///
    /// # Errors
    /// Where the operation needs a power of two of them.
    pub fn new(operation: Collective, ranks: u32) -> Result<Halving, String> {
        let core = 1 << ranks.ilog2();
        if core != ranks && operation != Collective::AllReduce {
            return Err(format!("halving and doubling needs a power of two of ranks, not {ranks}"));
        }
        Ok(Halving {
            core,
            folded: ranks - core,
            halves: operation != Collective::AllGather,
            doubles: operation != Collective::ReduceScatter,
        })
    }

    fn role(&self, rank: u32) -> Role {
        match rank {
            rank if rank >= 2 * self.folded => Role::Alone(rank - self.folded),
            rank if rank % 2 == 1 => Role::Odd(rank / 2),
            _ => Role::Even,
        }
    }

    /// The rank that takes part under a number.
    fn rank_of(&self, number: u32) -> u32 {
        if number < self.folded { 2 * number + 1 } else { number + self.folded }
    }

    fn steps(&self) -> u32 {
        self.core.ilog2() * (u32::from(self.halves) + u32::from(self.doubles))
    }

    /// Slots before the first step's: one where ranks are folded.
    fn first_slot(&self) -> u32 {
        u32::from(self.folded > 0)
    }

    /// At which distance a step is, and whether it halves.
    fn distance(&self, step: u32) -> (u32, bool) {
        let levels = self.core.ilog2();
        if self.halves && step < levels {
            (self.core >> (step + 1), true)
        } else {
            (1 << (step - if self.halves { levels } else { 0 }), false)
        }
    }

    fn step(&self, number: u32, step: u32, bytes: u64) -> Message {
        let (distance, halves) = self.distance(step);
        let other = number ^ distance;
        let first = if halves { other } else { number } / distance * distance;
        let bytes = Shares { bytes, parts: self.core }.of(first..first + distance);
        Message::new(self.rank_of(other), bytes, step, step + 1)
    }
}

impl Pattern for Halving {
    fn slots(&self) -> u32 {
        self.steps() + 2 * self.first_slot()
    }

    fn stages(&self, rank: u32) -> u32 {
        match self.role(rank) {
            Role::Even => 1,
            Role::Odd(_) => self.steps() + 1,
            Role::Alone(_) => self.steps(),
        }
    }

    fn stage(&self, rank: u32, stage: u32) -> Stage {
        let is_over = stage == self.stages(rank);
        let (awaits, slots) = match self.role(rank) {
            Role::Even => (stage, if is_over { 0..0 } else { 0..1 }),
            Role::Odd(_) if is_over => (0, 0..0),
            // The last slot follows the steps', so that it is the next one here.
            Role::Odd(_) => (1, stage + 1..stage + 2),
            Role::Alone(_) if is_over => (1, 0..0),
            Role::Alone(_) => {
                (u32::from(stage > 0), stage + self.first_slot()..stage + self.first_slot() + 1)
            }
        };
        Stage { awaits, awaits_own: 0, slots }
    }

    fn phases(&self) -> Option<Vec<Phase>> {
        (self.folded == 0).then(|| (0..self.steps()).map(Phase::once).collect())
    }

    fn message(&self, rank: u32, slot: u32, bytes: u64) -> Message {
        let step = slot.wrapping_sub(self.first_slot());
        match self.role(rank) {
            Role::Even => Message::new(rank + 1, bytes.max(1), 0, 0),
            Role::Odd(_) if step == self.steps() => Message::new(rank - 1, bytes.max(1), step, 1),
            Role::Odd(number) | Role::Alone(number) => self.step(number, step, bytes),
        }
    }
}

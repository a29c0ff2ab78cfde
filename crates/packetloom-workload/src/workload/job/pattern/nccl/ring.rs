//! All-reduce, all-gather and reduce-scatter round rings.

use super::super::rail_ring::RailRing;
use super::super::{Message, Pattern, Stage};
use super::tours;
use crate::nccl::Pieces;

/// A ring, loop by loop: in each a rank sends a chunk, then takes one and passes it on, and at last takes one.
#[derive(Clone, Copy, Debug)]
struct Looped {
    tour: RailRing,
    ranks: u32,
    /// Messages of a slice in a loop.
    steps: u32,
    loops: u32,
    pieces: Pieces,
}

/// What a rank does at a stage.
struct Place {
    nth_loop: u32,
    step: u32,
    slice: u32,
}

/// Those of an operation whose channels have so many bytes at most.
///
/// # Errors
/// Where ranks do not fill servers.
pub fn rings(
    (ranks, server): (u32, u32),
    nics: u32,
    rounds: u32,
    (bytes, pieces): (u64, Pieces),
) -> Result<Vec<Box<dyn Pattern>>, String> {
    let steps = rounds * (ranks - 1);
    let loops = pieces.loops(bytes);
    let ring = |tour| -> Box<dyn Pattern> { Box::new(Looped { tour, ranks, steps, loops, pieces }) };
    Ok(tours((ranks, server), nics, steps)?.into_iter().map(ring).collect())
}

impl Looped {
    fn per_loop(&self) -> u32 {
        (self.steps + 1) * self.pieces.slices
    }

    fn at(&self, stage: u32) -> Place {
        let (nth_loop, within) = (stage / self.per_loop(), stage % self.per_loop());
        Place { nth_loop, step: within / self.pieces.slices, slice: within % self.pieces.slices }
    }

    /// The slot in which a stage sends, if it does.
    fn slot(&self, stage: u32) -> Option<u32> {
        let Place { nth_loop, step, slice } = self.at(stage);
        (step < self.steps).then(|| (nth_loop * self.steps + step) * self.pieces.slices + slice)
    }

    /// The stage that sends in a slot.
    fn stage_of(&self, slot: u32) -> u32 {
        let per_loop = self.steps * self.pieces.slices;
        slot / per_loop * self.per_loop() + slot % per_loop
    }
}

impl Pattern for Looped {
    fn slots(&self) -> u32 {
        self.loops.saturating_mul(self.steps).saturating_mul(self.pieces.slices)
    }

    /// After the last it takes the last slice.
    fn stages(&self, _: u32) -> u32 {
        self.loops * self.per_loop() - 1
    }

    fn stage(&self, _: u32, stage: u32) -> Stage {
        let awaits = u32::from(self.at(stage).step > 0);
        let slots = self.slot(stage).map_or(0..0, |slot| slot..slot + 1);
        Stage { awaits, awaits_own: 0, slots }
    }

    fn most_under_way(&self) -> Option<u32> {
        Some(self.pieces.depth)
    }

    fn room(&self, _: u32, stage: u32) -> Option<u32> {
        self.slot(stage)?.checked_sub(self.pieces.depth).map(|slot| self.stage_of(slot))
    }

    fn message(&self, rank: u32, slot: u32, bytes: u64) -> Message {
        let stage = self.stage_of(slot);
        let Place { nth_loop, step, slice } = self.at(stage);
        let position = self.tour.position(rank);
        let chunk = (position + self.ranks - step % self.ranks) % self.ranks;
        let data = self.pieces.chunk(bytes, nth_loop, chunk);
        let to = self.tour.rank((position + 1) % self.ranks);
        Message::new(to, self.pieces.slice(data, slice), stage, stage + self.pieces.slices)
    }
}

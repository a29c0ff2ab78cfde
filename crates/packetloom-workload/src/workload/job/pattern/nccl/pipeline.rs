//! Broadcast and reduce: along a ring that is open at the root, chunk by chunk.

use super::super::rail_ring::RailRing;
use super::super::{Message, Pattern, Stage};
use super::tours;
use crate::nccl::Pieces;

/// The whole goes from the first to the last.
#[derive(Clone, Copy, Debug)]
struct Open {
    tour: RailRing,
    ranks: u32,
    /// The position on the ring of whom it begins with.
    first: u32,
    chunks: u32,
    pieces: Pieces,
}

/// Those of an operation whose channels have so many bytes at most; the group's first rank is the root.
///
/// # Errors
/// Where ranks do not fill servers.
pub fn pipelines(
    (ranks, server): (u32, u32),
    nics: u32,
    towards_root: bool,
    (bytes, pieces): (u64, Pieces),
) -> Result<Vec<Box<dyn Pattern>>, String> {
    let chunks = pieces.loops(bytes);
    let open = |tour: RailRing| -> Box<dyn Pattern> {
        let root = tour.position(0);
        let first = if towards_root { (root + 1) % ranks } else { root };
        Box::new(Open { tour, ranks, first, chunks, pieces })
    };
    Ok(tours((ranks, server), nics, ranks - 1)?.into_iter().map(open).collect())
}

impl Open {
    fn nth(&self, rank: u32) -> u32 {
        (self.tour.position(rank) + self.ranks - self.first) % self.ranks
    }
}

impl Pattern for Open {
    fn slots(&self) -> u32 {
        self.chunks
    }

    fn stages(&self, rank: u32) -> u32 {
        let is_last = self.nth(rank) == self.ranks - 1;
        self.chunks - u32::from(is_last)
    }

    fn stage(&self, rank: u32, stage: u32) -> Stage {
        let nth = self.nth(rank);
        let (is_last, is_over) = (nth == self.ranks - 1, stage == self.chunks);
        let slots = if is_last || is_over { 0..0 } else { stage..stage + 1 };
        Stage { awaits: u32::from(nth > 0 && !is_over), awaits_own: 0, slots }
    }

    fn most_under_way(&self) -> Option<u32> {
        Some(self.pieces.depth)
    }

    fn message(&self, rank: u32, slot: u32, bytes: u64) -> Message {
        let to = self.tour.rank((self.tour.position(rank) + 1) % self.ranks);
        let data = self.pieces.chunk(bytes, slot, 0);
        Message::new(to, self.pieces.slice(data, 0), slot, slot)
    }
}

//! Algorithms of central controllers, usable without the simulator: which servers send in a slot, by which path, at
//! which rate.
//!
//! | Question | Synchronous: slots | Asynchronous: rates |
//! |---|---|---|
//! | which servers send | [`matching`]: of sources and destinations, per slot | [`Normaliser`], [`MaxMin`], [`Ned`] |
//! | by which path | [`colouring`]: a spine for each packet of a slot | ECMP |
//!
//! Everything keeps its memory: an object is made once for a network and called slot after slot without allocating.
//! Servers, leaves and links are numbered from 0. Complexities count E edges (pairs with something to send) and V
//! servers or leaves.

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod benchmark;
pub mod colouring;
pub mod matching;
mod max_min;
mod ned;
mod normalise;
mod routes;

pub use max_min::MaxMin;
pub use ned::{Filling, Ned};
pub use normalise::{Ceiling, Normaliser, Settling};
pub use routes::Routes;

use packetloom_base::{narrow, random};

/// An edge of a bipartite graph: a source and a destination, servers or leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The source.
    pub src: u32,
    /// The destination.
    pub dst: u32,
}

impl Pair {
    /// From `src` to `dst`.
    pub const fn new(src: u32, dst: u32) -> Pair {
        Pair { src, dst }
    }
}

#[cfg(test)]
mod testing {
    use super::Pair;
    use crate::random::{Purpose, Stream};

    pub fn stream(seed: u64) -> Stream {
        Stream::new(seed, Purpose::Pattern, 0)
    }

    /// So many random pairs, repetitions included.
    pub fn pairs(random: &mut Stream, servers: u32, count: usize) -> Vec<Pair> {
        (0..count).map(|_| Pair::new(random.below(servers), random.below(servers))).collect()
    }
}

//! Collective operations as patterns of messages.
//!
//! A [`Pattern`] is arithmetic: nothing is stored for messages that are not under way. Each rank goes through stages.
//! It sends a stage's messages once it has received all that this stage awaits, and its part is over when it has
//! received what the stage after the last awaits. A message has a slot, the same for all ranks, so that sender and
//! receiver know it by its number alone.

mod awaited;
mod barrier;
mod chain;
mod direct;
mod halving;
mod hierarchical;
pub mod nccl;
mod rail_ring;
mod reordered;
mod ring;
mod shares;
#[cfg(test)]
mod tests;
mod tree;

pub use awaited::Awaited;
pub use direct::Pairs;
pub use reordered::Reordered;
pub use shares::Shares;

use super::threads::Labour;
use crate::job::Collective;
use std::fmt::Debug;
use std::ops::Range;

/// Which messages a collective operation consists of. Ranks are numbered from 0 in their group.
pub trait Pattern: Debug + Send + Sync {
    /// How many slots there are; in each a rank sends one message at most.
    fn slots(&self) -> u32;

    /// How many stages a rank sends in.
    fn stages(&self, rank: u32) -> u32;

    /// A stage of a rank, or what it awaits after the last.
    fn stage(&self, rank: u32, stage: u32) -> Stage;

    /// So many stages of a rank may have messages under way at a time; nothing: any number.
    fn most_under_way(&self) -> Option<u32> {
        None
    }

    /// The stage whose messages must all be with their receivers before another of a rank may have any under way.
    fn room(&self, _: u32, stage: u32) -> Option<u32> {
        self.most_under_way().and_then(|most| stage.checked_sub(most))
    }

    /// Whether a receiver's buffer is free once a message has come, and not only when the stage that awaits it is passed.
    fn frees_on_arrival(&self) -> bool {
        false
    }

    /// Stages that repeat, if there are such; they are the same of all ranks.
    fn alike(&self) -> Option<Alike> {
        None
    }

    /// The stages in which all ranks are at the same time if they begin together, in their order; nothing where ranks
    /// do different things at a time.
    fn phases(&self) -> Option<Vec<Phase>> {
        None
    }

    /// What a rank's threads have to do of its messages, where they are slower than links.
    fn labour(&self) -> Labour {
        Labour::Together
    }

    /// The message that a rank sends in a slot, of an operation on so many bytes.
    fn message(&self, rank: u32, slot: u32, bytes: u64) -> Message;

    /// How many messages all ranks send.
    fn messages(&self, ranks: u32) -> u64 {
        let of = |rank| (0..self.stages(rank)).map(move |stage| self.stage(rank, stage).slots.len() as u64);
        (0..ranks).flat_map(of).sum()
    }
}

/// What a rank does in a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// How many messages must have arrived for it.
    pub awaits: u32,
    /// How many of its own messages must have been acknowledged for it.
    pub awaits_own: u32,
    /// The slots in which it then sends.
    pub slots: Range<u32>,
}

/// Stages of a rank that repeat: in each it sends one message, as large but for a byte as the one before, to the same
/// rank and in the next slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alike {
    /// Which.
    pub stages: Range<u32>,
    /// After how many of them times repeat.
    pub every: u32,
}

/// Stages of all ranks that follow each other and are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The first of them.
    pub stage: u32,
    /// How many: if several, each rank sends on what it received in the stage before, round a ring.
    pub times: u32,
    /// How many ranks that ring has.
    pub ring: u32,
}

impl Phase {
    /// A stage that no other is like.
    fn once(stage: u32) -> Phase {
        Phase { stage, times: 1, ring: 1 }
    }
}

/// A message of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// To which rank.
    pub to: u32,
    /// Its bytes, at least 1.
    pub bytes: u64,
    /// The stage in which it is sent.
    pub stage: u32,
    /// The receiver's stage that awaits it.
    pub stage_there: u32,
    /// The sender's stage that awaits its acknowledgement.
    pub stage_after: Option<u32>,
    /// Of which lane that is a stage: this in the lane's number is the other way round. 0: of the same; 1: of an even
    /// number's the next, of an odd one's that before.
    pub beside: u32,
}

impl Message {
    /// One whose acknowledgement no stage awaits.
    fn new(to: u32, bytes: u64, stage: u32, stage_there: u32) -> Message {
        Message { to, bytes, stage, stage_there, stage_after: None, beside: 0 }
    }
}

/// How a collective operation is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// From neighbour to neighbour.
    Ring,
    /// Recursive halving and doubling.
    HalvingDoubling,
    /// Up and down trees.
    Tree,
    /// Everything to everyone at once.
    Direct,
    /// The same, one after the other.
    InTurn,
    /// Inside servers, then between ranks of the same place in all servers.
    Hierarchical,
    /// Rings of which each leaves servers by another NIC.
    RailRing,
}

/// The name of each algorithm.
pub const ALGORITHMS: [(&str, Algorithm); 7] = [
    ("ring", Algorithm::Ring),
    ("halving-doubling", Algorithm::HalvingDoubling),
    ("tree", Algorithm::Tree),
    ("direct", Algorithm::Direct),
    ("in-turn", Algorithm::InTurn),
    ("hierarchical", Algorithm::Hierarchical),
    ("rail-ring", Algorithm::RailRing),
];

impl Algorithm {
    /// Its name in scenarios and results.
    pub fn name(self) -> &'static str {
        ALGORITHMS.iter().find(|(_, one)| *one == self).map_or("", |(name, _)| name)
    }

    /// Whether it goes by which ranks share a server.
    pub fn knows_servers(self) -> bool {
        matches!(self, Algorithm::Hierarchical | Algorithm::RailRing)
    }

    /// The one that is taken where none is written.
    pub fn usual(operation: Collective) -> Algorithm {
        match operation {
            Collective::AllToAll => Algorithm::Direct,
            Collective::Barrier => Algorithm::Tree,
            _ => Algorithm::Ring,
        }
    }

    /// Those that an operation has.
    pub fn of(operation: Collective) -> &'static [Algorithm] {
        use Algorithm::{Direct, HalvingDoubling, Hierarchical, InTurn, RailRing, Ring, Tree};
        match operation {
            Collective::AllReduce => &[Ring, HalvingDoubling, Tree, Direct, Hierarchical, RailRing],
            Collective::AllGather | Collective::ReduceScatter => {
                &[Ring, HalvingDoubling, Direct, Hierarchical, RailRing]
            }
            Collective::AllToAll => &[Direct, InTurn, Hierarchical],
            Collective::Broadcast | Collective::Reduce => &[Ring, Tree],
            Collective::Barrier => &[Tree],
        }
    }
}

/// The patterns of an operation among `ranks`, of which each `server` neighbours share a server. Where there are
/// several, each carries its part of the whole.
///
/// # Errors
/// What the algorithm needs and these ranks are not.
pub fn patterns(
    operation: Collective,
    algorithm: Algorithm,
    ranks: u32,
    server: Option<u32>,
) -> Result<Vec<Box<dyn Pattern>>, String> {
    if (algorithm, operation) == (Algorithm::Tree, Collective::AllReduce) && ranks > 1 {
        let tree = |is_second| -> Box<dyn Pattern> { Box::new(tree::BinaryTree { ranks, is_second }) };
        return Ok(vec![tree(false), tree(true)]);
    }
    if algorithm == Algorithm::RailRing && ranks > 1 {
        let rounds = if operation == Collective::AllReduce { 2 } else { 1 };
        let rings = rail_ring::RailRing::all(ring::Ring { ranks, steps: rounds * (ranks - 1) }, server)?;
        return Ok(rings.into_iter().map(|one| -> Box<dyn Pattern> { Box::new(one) }).collect());
    }
    one_pattern(operation, algorithm, ranks, server).map(|pattern| vec![pattern])
}

/// The complaint of an algorithm that goes by servers where there are none.
fn needs_servers(algorithm: &str) -> String {
    format!(
        "{algorithm} needs equally many ranks of a group in each server; write ranks or a placement for which that is so, or, where the topology has no servers, how many ranks that follow each other share one (server)"
    )
}

fn one_pattern(
    operation: Collective,
    algorithm: Algorithm,
    ranks: u32,
    server: Option<u32>,
) -> Result<Box<dyn Pattern>, String> {
    if ranks < 2 {
        return Ok(Box::new(ring::Ring { ranks, steps: 0 }));
    }
    let gathers = operation == Collective::AllGather;
    Ok(match (algorithm, operation) {
        (Algorithm::Ring, Collective::AllReduce) => Box::new(ring::Ring { ranks, steps: 2 * (ranks - 1) }),
        (Algorithm::Ring, Collective::Broadcast) => Box::new(chain::Chain { ranks, towards_root: false }),
        (Algorithm::Ring, Collective::Reduce) => Box::new(chain::Chain { ranks, towards_root: true }),
        (Algorithm::Ring | Algorithm::RailRing, _) => Box::new(ring::Ring { ranks, steps: ranks - 1 }),
        (Algorithm::HalvingDoubling, _) => Box::new(halving::Halving::new(operation, ranks)?),
        (Algorithm::Tree, Collective::Barrier) => Box::new(barrier::Dissemination { ranks }),
        (Algorithm::Tree, _) => {
            Box::new(tree::Binomial { ranks, towards_root: operation == Collective::Reduce })
        }
        (Algorithm::Direct, Collective::AllReduce) => Box::new(direct::Direct { ranks, rounds: 2, gathers }),
        (Algorithm::Direct, _) => Box::new(direct::Direct { ranks, rounds: 1, gathers }),
        (Algorithm::InTurn, _) => Box::new(direct::InTurn { ranks }),
        (Algorithm::Hierarchical, _) => Box::new(hierarchical::Hierarchical::new(operation, ranks, server)?),
    })
}

//! Jobs: what each rank of a parallel program does, as a graph of operations.
//!
//! A [`Program`] is at rest: the readers of `formats` and the generators of `workload::training` make one, and
//! `workload::job` walks it while packets move. An operation begins when all that it depends on has happened and its
//! stream is free.

mod check;
mod copies;
mod span;

pub use check::Problem;
pub use span::Span;

use crate::narrow::exact;
use crate::units::Time;
use std::sync::Arc;

/// The longest computation: some 53 days.
pub const LONGEST: Time = Time(1 << 62);
/// The most that a message or a vector may hold.
pub const MOST_BYTES: u64 = 1 << 40;

/// A program: a graph of operations for each rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// By number of the rank.
    pub ranks: Vec<Rank>,
    /// The ranks of each group, in the group's order. A group may be used by any number of collective operations.
    pub groups: Vec<Vec<u32>>,
    /// What [`Sizes::Matrix`] names: bytes from the group's i-th rank to its j-th at i·n + j.
    pub matrices: Vec<Vec<u64>>,
    /// The names of operations, for people.
    pub names: Vec<String>,
    /// Whether a send ends, and frees its stream, when its sender knows that the message has arrived, and not when it
    /// was handed to the transport.
    pub sends_block: bool,
}

/// The operations of one rank, each with what it depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    operations: Vec<Operation>,
    /// Thousands of ranks may have operations that depend on each other alike.
    graph: Arc<Graph>,
}

/// What operations of a rank depend on, and their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Graph {
    dependencies: Vec<Dependency>,
    /// Where each operation's dependencies end.
    ends: Vec<u32>,
    /// Of operations that wait for one stream, the one with the lowest number here goes first. Empty: the one that was
    /// ready first.
    turns: Vec<u32>,
}

/// An operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What is done.
    pub work: Work,
    /// The operations of one stream are executed one at a time, in the order in which they become ready, or in that of
    /// [`Rank::take_turns`]. Left out: it shares nothing.
    pub stream: Option<u16>,
    /// Its name, as an index into [`Program::names`].
    pub name: u32,
}

/// What an operation does, and how long it holds its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Holds its stream for a time.
    Compute {
        /// How long.
        duration: Time,
    },
    /// Holds its stream for the host's cost of a message; then the message is handed to the transport. Whether it
    /// ends there [`Program::sends_block`] says.
    Send {
        /// To which rank.
        peer: u32,
        /// How much; at least 1.
        bytes: u64,
        /// What the receiver tells messages apart by.
        tag: u32,
    },
    /// Waits for a message without its stream, and then holds that for the host's cost of a message. Messages are
    /// matched as in MPI: of those that fit, the first that arrived goes to the receive that was posted first.
    Receive {
        /// From which rank; `None`: from any.
        peer: Option<u32>,
        /// How much: at least as much as the message has.
        bytes: u64,
        /// Which tag; `None`: any.
        tag: Option<u32>,
    },
    /// A collective operation, which holds its stream until this rank's part is over. The k-th of a group at one
    /// rank, in the order of [`Rank::operations`], belongs with the k-th at each of its other ranks.
    Collective {
        /// Which.
        operation: Collective,
        /// Among whom, as an index into [`Program::groups`].
        group: u32,
        /// How much.
        sizes: Sizes,
    },
}

/// Collective operations (MPI 4.1 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Collective {
    /// Every rank gets the reduced vector.
    AllReduce,
    /// Every rank gets the parts of all.
    AllGather,
    /// Every rank gets its part of the reduced vector.
    ReduceScatter,
    /// Every rank has a part for every other.
    AllToAll,
    /// Every rank gets the vector of the group's first.
    Broadcast,
    /// The group's first rank gets the reduced vector.
    Reduce,
    /// No rank goes on before all have come.
    Barrier,
}

/// How large a collective operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Bytes of the whole: of the vector that each rank has before or after; for all-to-all of what each rank has
    /// for all, itself included; for a barrier 0.
    Whole(u64),
    /// All-to-all with a size for each pair, as an index into [`Program::matrices`].
    Matrix(u32),
}

/// What an operation depends on: another of its rank, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    /// The other operation.
    pub on: u32,
    /// What of it.
    pub event: Event,
}

/// What happens to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// It begins: it got its stream.
    Begins,
    /// It ends.
    Ends,
}

impl Rank {
    /// Adds an operation and returns its place. What it depends on may have been added or not.
    ///
    /// # Panics
    /// If there are more than 2³² operations or dependencies.
    pub fn add(&mut self, operation: Operation, dependencies: impl IntoIterator<Item = Dependency>) -> u32 {
        let place = u32::try_from(self.operations.len()).expect("fewer than 2^32 operations");
        self.operations.push(operation);
        let Graph { dependencies: all, ends, .. } = Arc::make_mut(&mut self.graph);
        all.extend(dependencies);
        ends.push(u32::try_from(all.len()).expect("fewer than 2^32 dependencies"));
        place
    }

    /// Gives back the memory that was reserved for more operations: a job has thousands of ranks.
    pub fn shrink_to_fit(&mut self) {
        self.operations.shrink_to_fit();
        if let Some(Graph { dependencies, ends, .. }) = Arc::get_mut(&mut self.graph) {
            dependencies.shrink_to_fit();
            ends.shrink_to_fit();
        }
    }

    /// Of operations that wait for one stream, the one with the lowest number goes first: a number for each, no two the
    /// same.
    pub fn take_turns(&mut self, turns: Vec<u32>) {
        debug_assert_eq!(turns.len(), self.operations.len());
        Arc::make_mut(&mut self.graph).turns = turns;
    }

    /// Keeps what depends on what only once, where it is as at another rank.
    pub fn share_graph(&mut self, other: &Rank) {
        if self.graph == other.graph {
            self.graph = Arc::clone(&other.graph);
        }
    }

    /// Whether it is known to be as at another rank.
    pub fn shares_graph(&self, other: &Rank) -> bool {
        Arc::ptr_eq(&self.graph, &other.graph)
    }

    /// The number of an operation among those that wait for one stream, where they have such.
    pub fn turn(&self, place: u32) -> Option<u32> {
        self.graph.turns.get(place as usize).copied()
    }

    /// All operations, by place.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// What an operation depends on.
    pub fn dependencies(&self, place: u32) -> &[Dependency] {
        let place = place as usize;
        let Graph { dependencies, ends, .. } = &*self.graph;
        let first = if place == 0 { 0 } else { ends[place - 1] };
        &dependencies[first as usize..ends[place] as usize]
    }
}

impl Dependency {
    /// On the end of an operation.
    pub fn on_end(on: u32) -> Dependency {
        Dependency { on, event: Event::Ends }
    }

    /// On the beginning of an operation.
    pub fn on_begin(on: u32) -> Dependency {
        Dependency { on, event: Event::Begins }
    }
}

impl Collective {
    /// Its name in scenarios and results.
    pub fn name(self) -> &'static str {
        match self {
            Collective::AllReduce => "all-reduce",
            Collective::AllGather => "all-gather",
            Collective::ReduceScatter => "reduce-scatter",
            Collective::AllToAll => "all-to-all",
            Collective::Broadcast => "broadcast",
            Collective::Reduce => "reduce",
            Collective::Barrier => "barrier",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Collective> {
        use Collective::{AllGather, AllReduce, AllToAll, Barrier, Broadcast, Reduce, ReduceScatter};
        let all = [AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, Reduce, Barrier];
        all.into_iter().find(|one| one.name() == name)
    }
}

impl Program {
    /// The place of a name, which is added if it is not there. Generators name few, so it is looked for.
    pub fn name(&mut self, name: &str) -> u32 {
        let found = self.names.iter().position(|known| known == name);
        let place = found.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        exact::<u32>(place)
    }

    /// How many operations all ranks have.
    pub fn operations(&self) -> usize {
        self.ranks.iter().map(|rank| rank.operations.len()).sum()
    }
}

//! NVLS and NVLSTree: a node in each server's switch reduces what its ranks send and multicasts results; heads have a
//! share of the data each, and trees of the heads of all servers join the servers.
//!
//! A channel's share of a head is four lanes beside each other, whose stages are chunks:
//!
//! | Lane | Ranks | Heads | The node |
//! |---|---|---|---|
//! | 0 | send their chunk to the node | the same | sends its head the sum of all |
//! | 1 | nothing | send the sum of the node's and their children's up the tree | nothing |
//! | 2 | await results | send results down the tree and to the node | sends them to all ranks |
//! | 3 | nothing | nothing | nothing |

use super::super::tree::BinaryTree;
use super::super::{Message, Pattern, Stage};
use crate::nccl::Pieces;

/// Lanes of a channel's share of a head.
pub const LANES: u32 = 4;
/// From the first lane to the others, and from that of sums to that of results.
const TO_SUMS: u32 = 1;
const TO_RESULTS: u32 = 2;
const FROM_SUMS_TO_RESULTS: u32 = 3;
/// A head has two children in the tree at most, and the node beside them.
const MOST_SENT_DOWN: u32 = 3;

/// What a lane is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Contributions,
    Sums,
    Results,
    Nothing,
}

/// Which operation it is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halves {
    /// Whether ranks have contributions.
    pub reduces: bool,
    /// Whether all get results.
    pub multicasts: bool,
}

/// Who takes part.
#[derive(Clone, Copy, Debug)]
pub struct Switched {
    /// How many ranks.
    pub ranks: u32,
    /// How many of them share a server.
    pub server: u32,
    /// How many heads a server has.
    pub heads: u32,
    /// How many channels there are.
    pub channels: u32,
    /// Which halves of an all-reduce are done.
    pub halves: Halves,
}

/// One lane.
#[derive(Clone, Copy, Debug)]
struct Lane {
    role: Role,
    all: Switched,
    among_servers: BinaryTree,
    /// The place in its server of the head.
    head: u32,
    chunks: u32,
    pieces: Pieces,
}

/// Who a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// A server's node.
    Node(u32),
    /// A server's head.
    Head(u32),
    /// Another rank.
    Rank(u32),
}

/// The lanes of all channels and heads, of at most so many bytes each. Places beyond the ranks are the servers' nodes.
pub fn switched(all: Switched, (bytes, pieces): (u64, Pieces)) -> Vec<Box<dyn Pattern>> {
    let Switched { ranks, server, heads, channels, .. } = all;
    let chunks = pieces.loops(bytes);
    let of_head = |channel: u32, nth: u32| {
        // Channels take the two trees in turn (src/transport/nvls.cc, src/graph/connect.cc: connectNvls).
        let among_servers = BinaryTree { ranks: ranks / server, is_second: channel % 2 == 1 };
        let head = nth * server / heads;
        [Role::Contributions, Role::Sums, Role::Results, Role::Nothing].map(|role| -> Box<dyn Pattern> {
            Box::new(Lane { role, all, among_servers, head, chunks, pieces })
        })
    };
    (0..channels).flat_map(|channel| (0..heads).flat_map(move |nth| of_head(channel, nth))).collect()
}

impl Lane {
    fn who(&self, place: u32) -> Who {
        let Switched { ranks, server, .. } = self.all;
        match place.checked_sub(ranks) {
            Some(of) => Who::Node(of),
            None if place % server == self.head => Who::Head(place / server),
            None => Who::Rank(place / server),
        }
    }

    fn node(&self, server: u32) -> u32 {
        self.all.ranks + server
    }

    fn head_of(&self, server: u32) -> u32 {
        server * self.all.server + self.head
    }

    /// The servers below another in the tree.
    fn below(&self, server: u32) -> ([u32; 2], u32) {
        let (_, below, count) = self.among_servers.neighbours(server);
        (below, count)
    }

    fn above(&self, server: u32) -> Option<u32> {
        self.among_servers.neighbours(server).0
    }

    /// How many a place sends in each stage.
    fn sends(&self, place: u32) -> u32 {
        let Halves { reduces, multicasts } = self.all.halves;
        match (self.role, self.who(place)) {
            (Role::Contributions, _) => u32::from(reduces),
            (Role::Sums, Who::Head(server)) => u32::from(reduces && self.above(server).is_some()),
            (Role::Results, Who::Head(server)) if multicasts => 1 + self.below(server).1,
            (Role::Results, Who::Node(_)) if multicasts => self.all.server,
            _ => 0,
        }
    }

    /// How many it awaits before it sends in a stage.
    fn awaits(&self, place: u32) -> u32 {
        let Halves { reduces, .. } = self.all.halves;
        match (self.role, self.who(place)) {
            (Role::Contributions, Who::Node(_)) => self.all.server,
            (Role::Sums, Who::Head(server)) => 1 + self.below(server).1,
            (Role::Results, Who::Head(server)) => match self.above(server) {
                Some(_) => 1,
                // The root has its node's sum and its children's here.
                None if reduces => 1 + self.below(server).1,
                None => 0,
            },
            (Role::Results, Who::Node(_)) => 1,
            _ => 0,
        }
    }

    /// What it awaits once it has sent all.
    fn awaits_at_last(&self, place: u32) -> u32 {
        let Halves { reduces, multicasts } = self.all.halves;
        match (self.role, self.who(place)) {
            (Role::Results, Who::Head(_) | Who::Rank(_)) if multicasts => self.chunks,
            // What it has reduced is its own.
            (Role::Results, Who::Head(_)) if reduces => self.chunks,
            _ => 0,
        }
    }

    fn each(&self) -> u32 {
        self.all.server.max(MOST_SENT_DOWN)
    }
}

impl Pattern for Lane {
    fn slots(&self) -> u32 {
        self.chunks.saturating_mul(self.each())
    }

    fn stages(&self, place: u32) -> u32 {
        if self.sends(place) > 0 { self.chunks } else { 0 }
    }

    fn stage(&self, place: u32, stage: u32) -> Stage {
        if stage >= self.stages(place) {
            return Stage { awaits: self.awaits_at_last(place), ..Stage::default() };
        }
        let first = stage * self.each();
        Stage { awaits: self.awaits(place), awaits_own: 0, slots: first..first + self.sends(place) }
    }

    fn most_under_way(&self) -> Option<u32> {
        Some(self.pieces.depth)
    }

    /// A head reads a chunk from the switch while it sends the one before on.
    fn room(&self, place: u32, stage: u32) -> Option<u32> {
        let is_read = self.role == Role::Contributions && !matches!(self.who(place), Who::Node(_));
        stage.checked_sub(if is_read { 2 } else { self.pieces.depth })
    }

    fn message(&self, place: u32, slot: u32, bytes: u64) -> Message {
        let (stage, nth) = (slot / self.each(), slot % self.each());
        let bytes = self.pieces.slice(self.pieces.chunk(bytes, stage, 0), 0);
        let to = |to: u32, then: u32, beside: u32| Message { beside, ..Message::new(to, bytes, stage, then) };
        match (self.role, self.who(place)) {
            (Role::Contributions, Who::Node(server)) => {
                let head = self.head_of(server);
                match self.above(server) {
                    Some(_) => to(head, stage, TO_SUMS),
                    None if self.all.halves.multicasts => to(head, stage, TO_RESULTS),
                    None => to(head, 0, TO_RESULTS),
                }
            }
            (Role::Contributions, _) => to(self.node(place / self.all.server), stage, 0),
            (Role::Sums, Who::Head(server)) => {
                let above = self.above(server).unwrap_or(server);
                let beside = if self.above(above).is_none() { FROM_SUMS_TO_RESULTS } else { 0 };
                to(self.head_of(above), stage, beside)
            }
            (Role::Results, Who::Head(server)) => match nth.checked_sub(1) {
                Some(child) => to(self.head_of(self.below(server).0[child as usize]), stage, 0),
                None => to(self.node(server), stage, 0),
            },
            (Role::Results, Who::Node(server)) => {
                let rank = server * self.all.server + nth;
                let then = if nth == self.head { self.chunks } else { 0 };
                to(rank, then, 0)
            }
            _ => to(place, stage, 0),
        }
    }
}

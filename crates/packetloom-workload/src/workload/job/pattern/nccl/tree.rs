//! All-reduce by a double binary tree among servers and chains inside them. A channel has one of the trees; reductions
//! go up it while results come down, in two lanes beside each other.

use super::super::tree::BinaryTree;
use super::super::{Message, Pattern, Stage};
use crate::nccl::Pieces;

/// A parent and children.
struct Node {
    parent: Option<u32>,
    children: [u32; 3],
    count: u32,
}

/// One direction of a channel.
#[derive(Clone, Copy, Debug)]
struct Direction {
    among_servers: BinaryTree,
    /// Ranks of each server.
    server: u32,
    /// The place in its server of the rank that other servers know.
    head: u32,
    goes_up: bool,
    chunks: u32,
    pieces: Pieces,
}

/// A rank has three children at most: two heads of servers and its neighbour in the chain.
const MOST_CHILDREN: u32 = 3;

/// Both directions of each tree and head, channel after channel: half of the channels have the first tree.
pub fn trees(
    (ranks, server): (u32, u32),
    nics: u32,
    channels: u32,
    (bytes, pieces): (u64, Pieces),
) -> Vec<Box<dyn Pattern>> {
    let used = nics.min(server);
    let chunks = pieces.loops(bytes);
    let of_channel = |channel: u32| {
        // Channels come twice, for the two trees (src/graph/connect.cc: connectTrees).
        let half = channels.div_ceil(2);
        let among_servers = BinaryTree { ranks: ranks / server, is_second: channel >= half };
        let head = channel % half % used * server / used;
        let one = move |goes_up| -> Box<dyn Pattern> {
            Box::new(Direction { among_servers, server, head, goes_up, chunks, pieces })
        };
        [one(true), one(false)]
    };
    (0..channels).flat_map(of_channel).collect()
}

impl Direction {
    fn rank(&self, server: u32, nth: u32) -> u32 {
        server * self.server + (self.head + nth) % self.server
    }

    fn node(&self, rank: u32) -> Node {
        let (server, place) = (rank / self.server, rank % self.server);
        let nth = (place + self.server - self.head) % self.server;
        let (mut children, mut count) = ([0; 3], 0);
        let mut add = |child| {
            children[count as usize] = child;
            count += 1;
        };
        if nth + 1 < self.server {
            add(self.rank(server, nth + 1));
        }
        if nth > 0 {
            return Node { parent: Some(self.rank(server, nth - 1)), children, count };
        }
        let (parent, below, heads) = self.among_servers.neighbours(server);
        below[..heads as usize].iter().for_each(|&below| add(self.rank(below, 0)));
        Node { parent: parent.map(|parent| self.rank(parent, 0)), children, count }
    }

    fn chunk(&self, bytes: u64, nth: u32) -> u64 {
        self.pieces.slice(self.pieces.chunk(bytes, nth, 0), 0)
    }
}

impl Pattern for Direction {
    fn slots(&self) -> u32 {
        self.chunks.saturating_mul(MOST_CHILDREN)
    }

    fn stages(&self, rank: u32) -> u32 {
        let Node { parent, count, .. } = self.node(rank);
        match (self.goes_up, parent, count) {
            (true, None, _) => 0,
            (false, Some(_), 0) => self.chunks - 1,
            _ => self.chunks,
        }
    }

    fn stage(&self, rank: u32, stage: u32) -> Stage {
        let Node { parent, count, .. } = self.node(rank);
        // What children have reduced comes to the root in the lane of results.
        let awaits = match (self.goes_up, parent) {
            (true, None) => 0,
            (true, Some(_)) | (false, None) => count,
            (false, Some(_)) => 1,
        };
        let slots = match (self.goes_up, parent) {
            (true, None) => 0..0,
            (true, Some(_)) => stage..stage + 1,
            (false, _) => stage * MOST_CHILDREN..stage * MOST_CHILDREN + count,
        };
        if stage == self.chunks {
            return Stage::default();
        }
        Stage { awaits, awaits_own: 0, slots }
    }

    fn most_under_way(&self) -> Option<u32> {
        Some(self.pieces.depth)
    }

    fn message(&self, rank: u32, slot: u32, bytes: u64) -> Message {
        let Node { parent, children, .. } = self.node(rank);
        if self.goes_up {
            let to = parent.unwrap_or(rank);
            let beside = u32::from(self.node(to).parent.is_none());
            return Message { beside, ..Message::new(to, self.chunk(bytes, slot), slot, slot) };
        }
        let (nth, child) = (slot / MOST_CHILDREN, slot % MOST_CHILDREN);
        Message::new(children[child as usize], self.chunk(bytes, nth), nth, nth)
    }
}

//! Trees.

use super::{Message, Pattern, Stage};
use crate::narrow::exact;

/// A binary tree, up which ranks send what they have reduced, and down which the result goes. Two of them, the
/// second so that ranks which forward in the first are leaves, use every rank's link in both directions (Sanders,
/// Speck and Träff, Parallel Computing 2009; NCCL's double binary trees).
#[derive(Clone, Copy, Debug)]
pub struct BinaryTree {
    /// How many ranks.
    pub ranks: u32,
    /// Whether it is the second one: mirrored for an even number of ranks, else shifted by one.
    pub is_second: bool,
}

impl BinaryTree {
    /// A rank's place in the tree, where the root is 0.
    fn place(&self, rank: u32) -> u32 {
        match (self.is_second, self.ranks % 2) {
            (false, _) => rank,
            (true, 0) => self.ranks - 1 - rank,
            (true, _) => (rank + self.ranks - 1) % self.ranks,
        }
    }

    fn rank_at(&self, place: u32) -> u32 {
        match (self.is_second, self.ranks % 2) {
            (false, _) => place,
            (true, 0) => self.ranks - 1 - place,
            (true, _) => (place + 1) % self.ranks,
        }
    }

    /// The place above another that is not the root: places with more zeros at the end of their binary digits are
    /// higher.
    fn above(&self, place: u32) -> u32 {
        let lowest = place & place.wrapping_neg();
        let up = (place ^ lowest) | (lowest << 1);
        if up < self.ranks { up } else { place ^ lowest }
    }

    /// The places below another.
    fn below(&self, place: u32) -> ([u32; 2], u32) {
        if place == 0 {
            let highest = 1 << (self.ranks - 1).ilog2();
            return ([highest, 0], 1);
        }
        let mut distance = (place & place.wrapping_neg()) >> 1;
        let (mut found, mut count) = ([0; 2], 0);
        if distance > 0 {
            found[0] = place - distance;
            count = 1;
        }
        while distance > 0 && place + distance >= self.ranks {
            distance >>= 1;
        }
        if distance > 0 {
            found[count as usize] = place + distance;
            count += 1;
        }
        (found, count)
    }
}

impl BinaryTree {
    /// The rank above another, if it is not the root, and those below it.
    pub fn neighbours(&self, rank: u32) -> (Option<u32>, [u32; 2], u32) {
        if self.ranks < 2 {
            return (None, [0; 2], 0);
        }
        let place = self.place(rank);
        let above = (place > 0).then(|| self.rank_at(self.above(place)));
        let (below, count) = self.below(place);
        (above, below.map(|place| self.rank_at(place % self.ranks)), count)
    }
}

impl Pattern for BinaryTree {
    fn slots(&self) -> u32 {
        3
    }

    fn stages(&self, rank: u32) -> u32 {
        let place = self.place(rank);
        if place == 0 || self.below(place).1 == 0 { 1 } else { 2 }
    }

    fn stage(&self, rank: u32, stage: u32) -> Stage {
        let place = self.place(rank);
        let (_, children) = self.below(place);
        let (awaits, slots) = match (stage, place) {
            (0, 0) => (children, 1..1 + children),
            (0, _) => (children, 0..1),
            (1, 0) | (2.., _) => (0, 0..0),
            (1, _) => (1, 1..1 + children),
        };
        Stage { awaits, awaits_own: 0, slots }
    }

    fn message(&self, rank: u32, slot: u32, bytes: u64) -> Message {
        let place = self.place(rank);
        if slot == 0 {
            return Message::new(self.rank_at(self.above(place)), bytes.max(1), 0, 0);
        }
        let child = self.below(place).0[slot as usize - 1];
        Message::new(self.rank_at(child), bytes.max(1), u32::from(place != 0), 1)
    }
}

/// A binomial tree: a rank sends the whole to one after the other, first to the one that has most to pass on, or
/// receives from them (Thakur et al. §4.3).
#[derive(Clone, Copy, Debug)]
pub struct Binomial {
    /// How many ranks.
    pub ranks: u32,
    /// Whether the root receives.
    pub towards_root: bool,
}

impl Binomial {
    /// At which distance a rank's first child is.
    fn reach(&self, rank: u32) -> u32 {
        if rank == 0 { self.ranks.next_power_of_two() } else { rank & rank.wrapping_neg() }
    }

    fn children(&self, rank: u32) -> impl Iterator<Item = u32> {
        let ranks = self.ranks;
        let distances = std::iter::successors(Some(self.reach(rank) >> 1), |distance| Some(distance >> 1));
        distances
            .take_while(|&distance| distance > 0)
            .map(move |distance| rank + distance)
            .filter(move |&child| child < ranks)
    }

    fn parent(&self, rank: u32) -> u32 {
        rank ^ self.reach(rank)
    }
}

impl Pattern for Binomial {
    fn slots(&self) -> u32 {
        if self.towards_root { 1 } else { self.ranks.next_power_of_two().ilog2() }
    }

    fn stages(&self, rank: u32) -> u32 {
        if self.towards_root { u32::from(rank != 0) } else { exact::<u32>(self.children(rank).count()) }
    }

    fn stage(&self, rank: u32, stage: u32) -> Stage {
        let children = exact::<u32>(self.children(rank).count());
        if self.towards_root {
            return match (stage, rank) {
                (0, 0) => Stage { awaits: children, ..Stage::default() },
                (0, _) => Stage { awaits: children, awaits_own: 0, slots: 0..1 },
                _ => Stage { awaits_own: 1, ..Stage::default() },
            };
        }
        let awaits = u32::from(stage == 0 && rank != 0);
        let slots = if stage < children { stage..stage + 1 } else { 0..0 };
        Stage { awaits, awaits_own: u32::from(stage > 0), slots }
    }

    fn message(&self, rank: u32, slot: u32, bytes: u64) -> Message {
        let to =
            if self.towards_root { Some(self.parent(rank)) } else { self.children(rank).nth(slot as usize) };
        let message = Message::new(to.unwrap_or(0), bytes.max(1), slot, 0);
        Message { stage_after: Some(slot + 1), ..message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NCCL's src/graph/trees.cc has the same tree of 14 in a comment.
    #[test]
    fn the_tree_of_fourteen_is_that_of_the_library() {
        let tree = BinaryTree { ranks: 14, is_second: false };
        let (above, below, count) = tree.neighbours(12);
        assert_eq!((above, &below[..count as usize]), (Some(8), &[10, 13][..]));
        assert_eq!(tree.neighbours(13), (Some(12), [0, 0], 0));
        assert_eq!(tree.neighbours(0).0, None);
        // In the second tree the others are leaves.
        let second = BinaryTree { ranks: 14, is_second: true };
        for rank in 0..14 {
            assert!(tree.neighbours(rank).2 == 0 || second.neighbours(rank).2 == 0, "{rank}");
        }
    }
}

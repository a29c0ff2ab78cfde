//! Greedy matchings of up to 64 slots at once: each server's free slots are the bits of a word.
//!
//! The slots that a source and a destination both have free are one AND, the first of them one count of zeros. So a
//! packet costs the same however many slots there are, and a pair that finds none has been refused all of them in
//! one look. Fastpass §3.2 pipelines its matching over a batch of slots for the same reason.

use crate::Pair;
use crate::narrow::narrow;

/// What a pair has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// From where to where.
    pub pair: Pair,
    /// How many packets.
    pub packets: u32,
}

/// A packet may be sent in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// From where to where.
    pub pair: Pair,
    /// The slot, counted from the batch's first.
    pub slot: u8,
}

/// The slots of a batch.
#[derive(Clone, Debug)]
pub struct Batch {
    sources: Vec<u64>,
    destinations: Vec<u64>,
    turn: Vec<u32>,
}

impl Batch {
    /// For so many servers.
    pub fn new(servers: u32) -> Batch {
        let free = vec![0; servers as usize];
        Batch { sources: free.clone(), destinations: free, turn: Vec::new() }
    }

    /// Grants `slots` slots (1 to 64). `demands` go in turn, in the given order, one packet at a time, until every
    /// pair with packets left has no slot free at both its ends: each slot's matching is maximal. Takes what it
    /// grants off `demands` and empties `grants` first. O(grants + E).
    ///
    /// # Panics
    /// If a demand names a server that there is not, or `slots` is not within 1 and 64.
    pub fn grant(&mut self, slots: u8, demands: &mut [Demand], grants: &mut Vec<Grant>) {
        assert!((1..=64).contains(&slots), "a batch has 1 to 64 slots");
        let all = u64::MAX >> (64 - slots);
        self.sources.fill(all);
        self.destinations.fill(all);
        grants.clear();
        self.turn.clear();
        self.turn.extend(0..narrow::<u32>(demands.len()));
        while !self.turn.is_empty() {
            let (sources, destinations) = (&mut self.sources, &mut self.destinations);
            self.turn.retain(|&place| {
                let demand = &mut demands[place as usize];
                let Pair { src, dst } = demand.pair;
                let (source, destination) = (&mut sources[src as usize], &mut destinations[dst as usize]);
                let free = *source & *destination;
                if free == 0 || demand.packets == 0 {
                    return false;
                }
                let first = free & free.wrapping_neg();
                *source ^= first;
                *destination ^= first;
                demand.packets -= 1;
                grants.push(Grant { pair: demand.pair, slot: narrow::<u8>(first.trailing_zeros()) });
                demand.packets > 0
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{pairs, stream};
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_slot_of_a_batch_is_a_maximal_matching() {
        for seed in 0..40 {
            let mut random = stream(seed);
            let slots = 1 + random.below(64) as u8;
            let mut demands: Vec<Demand> = pairs(&mut random, 30, 200)
                .into_iter()
                .map(|pair| Demand { pair, packets: random.below(8) })
                .collect();
            let asked: u32 = demands.iter().map(|demand| demand.packets).sum();
            let mut grants = Vec::new();
            Batch::new(30).grant(slots, &mut demands, &mut grants);
            let left: u32 = demands.iter().map(|demand| demand.packets).sum();
            assert_eq!(grants.len() as u32, asked - left, "packets granted and left");
            let sending: BTreeSet<(u8, u32)> = grants.iter().map(|one| (one.slot, one.pair.src)).collect();
            let receiving: BTreeSet<(u8, u32)> = grants.iter().map(|one| (one.slot, one.pair.dst)).collect();
            assert_eq!((sending.len(), receiving.len()), (grants.len(), grants.len()), "a server twice");
            for demand in demands.iter().filter(|demand| demand.packets > 0) {
                for slot in 0..slots {
                    let taken = sending.contains(&(slot, demand.pair.src))
                        || receiving.contains(&(slot, demand.pair.dst));
                    assert!(taken, "{demand:?} could send in slot {slot}");
                }
            }
        }
    }

    #[test]
    fn pairs_take_turns() {
        let demand = |dst| Demand { pair: Pair::new(0, dst), packets: 9 };
        let mut demands = [demand(1), demand(2)];
        let mut grants = Vec::new();
        Batch::new(3).grant(5, &mut demands, &mut grants);
        let to: Vec<u32> = grants.iter().map(|grant| grant.pair.dst).collect();
        assert_eq!(to, [1, 2, 1, 2, 1]);
    }
}

//! Greedy maximal matching: queues in order of their keys, each taken if its source and its destination are still
//! free.
//!
//! To sync or not to sync §III-A; Fastpass §3.1. A maximal matching has at least half as many pairs as the largest.

use crate::Pair;
use crate::narrow::narrow;

/// A queue with something to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// Its precedence: the smallest goes first.
    pub key: u64,
    /// From where to where; equal keys go in this order.
    pub pair: Pair,
}

/// Which servers are taken in a slot. A byte each: with bits, one server would wait for another's memory word.
#[derive(Clone, Debug)]
struct Slot {
    sending: Vec<bool>,
    receiving: Vec<bool>,
}

impl Slot {
    fn new(servers: u32) -> Slot {
        Slot { sending: vec![false; servers as usize], receiving: vec![false; servers as usize] }
    }

    fn open(&mut self) {
        self.sending.fill(false);
        self.receiving.fill(false);
    }

    /// Takes both ends if both are free; whether they were. No branch: what comes out is as good as random.
    #[inline]
    fn take(&mut self, pair: Pair) -> bool {
        let (sending, receiving) =
            (&mut self.sending[pair.src as usize], &mut self.receiving[pair.dst as usize]);
        let free = !(*sending | *receiving);
        *sending |= free;
        *receiving |= free;
        free
    }
}

/// The greedy matching of one slot: which candidates, by their place, are matched. O(E log E) for the sort.
///
/// # Panics
/// If a candidate names a server that there is not.
pub fn greedy(servers: u32, candidates: &[Candidate]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..narrow::<u32>(candidates.len())).collect();
    order.sort_unstable_by_key(|&place| (candidates[place as usize], place));
    let mut slot = Slot::new(servers);
    order.retain(|&place| slot.take(candidates[place as usize].pair));
    order
}

/// Greedy matchings slot after slot. Candidates wait in the order of their keys: a slot costs O(E + n log n) for n
/// new ones, and nothing is sorted twice.
#[derive(Clone, Debug)]
pub struct Scheduler {
    slot: Slot,
    waiting: Vec<Candidate>,
    fresh: Vec<Candidate>,
    merged: Vec<Candidate>,
}

impl Scheduler {
    /// A scheduler without demand.
    pub fn new(servers: u32) -> Scheduler {
        Scheduler { slot: Slot::new(servers), waiting: Vec::new(), fresh: Vec::new(), merged: Vec::new() }
    }

    /// A queue that was not waiting has something to send.
    #[inline]
    pub fn add(&mut self, candidate: Candidate) {
        self.fresh.push(candidate);
    }

    /// A waiting queue's key changes. O(E).
    pub fn change(&mut self, old: Candidate, key: u64) {
        self.remove(old);
        self.fresh.push(Candidate { key, ..old });
    }

    /// A waiting queue has nothing to send any more. O(E).
    ///
    /// # Panics
    /// If it does not wait.
    pub fn remove(&mut self, old: Candidate) {
        if let Ok(place) = self.waiting.binary_search(&old) {
            self.waiting.remove(place);
        } else {
            let place = self.fresh.iter().position(|fresh| *fresh == old).expect("a queue that waits");
            self.fresh.swap_remove(place);
        }
    }

    /// How many queues wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len() + self.fresh.len()
    }

    /// Matches a slot. The matched leave: those with more to send are added again. `matched` is emptied first.
    pub fn match_slot(&mut self, matched: &mut Vec<Candidate>) {
        self.merge();
        self.slot.open();
        matched.clear();
        matched.resize(self.slot.sending.len() + 1, Candidate::default());
        let (mut kept, mut taken) = (0, 0);
        for place in 0..self.waiting.len() {
            let candidate = self.waiting[place];
            let free = self.slot.take(candidate.pair);
            matched[taken] = candidate;
            self.waiting[kept] = candidate;
            taken += usize::from(free);
            kept += usize::from(!free);
        }
        matched.truncate(taken);
        self.waiting.truncate(kept);
    }

    /// Puts the new ones among those that wait. Where keys are times, most come after all of them.
    fn merge(&mut self) {
        self.fresh.sort_unstable();
        let Some(&first) = self.fresh.first() else { return };
        let from = self.waiting.partition_point(|candidate| *candidate < first);
        self.merged.clear();
        self.merged.extend(self.waiting.drain(from..));
        let mut later = self.merged.iter().copied().peekable();
        for fresh in self.fresh.drain(..) {
            while let Some(before) = later.next_if(|later| *later < fresh) {
                self.waiting.push(before);
            }
            self.waiting.push(fresh);
        }
        self.waiting.extend(later);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{pairs, stream};
    use super::*;
    use std::collections::BTreeSet;

    /// No server occurs twice, and every candidate that was left out finds its source or its destination taken by
    /// an earlier one.
    fn assert_greedy(matched: &[Candidate], all: &[Candidate]) {
        let senders: BTreeSet<u32> = matched.iter().map(|one| one.pair.src).collect();
        let receivers: BTreeSet<u32> = matched.iter().map(|one| one.pair.dst).collect();
        assert_eq!((senders.len(), receivers.len()), (matched.len(), matched.len()), "a server twice");
        for left_out in all.iter().filter(|one| !matched.contains(one)) {
            let blocks = |one: &&Candidate| {
                (one.pair.src == left_out.pair.src || one.pair.dst == left_out.pair.dst) && *one < left_out
            };
            assert!(matched.iter().find(blocks).is_some(), "{left_out:?} could be matched");
        }
    }

    fn random_candidates(seed: u64) -> Vec<Candidate> {
        let mut random = stream(seed);
        let count = random.below(400) as usize;
        let distinct: BTreeSet<Pair> = pairs(&mut random, 40, count).into_iter().collect();
        distinct.into_iter().map(|pair| Candidate { key: random.below(9).into(), pair }).collect()
    }

    #[test]
    fn a_matching_is_a_matching_and_maximal_in_the_order_of_keys() {
        for seed in 0..50 {
            let all = random_candidates(seed);
            let matched: Vec<Candidate> =
                greedy(40, &all).into_iter().map(|place| all[place as usize]).collect();
            assert_greedy(&matched, &all);
        }
    }

    #[test]
    fn a_scheduler_matches_every_slot_as_if_it_sorted_anew() {
        for seed in 0..20 {
            let mut random = stream(seed + 1_000);
            let mut scheduler = Scheduler::new(40);
            let mut model: BTreeSet<Candidate> = BTreeSet::new();
            let mut matched = Vec::new();
            for _ in 0..30 {
                for pair in pairs(&mut random, 40, 25) {
                    let candidate = Candidate { key: random.below(1_000).into(), pair };
                    match model.iter().find(|one| one.pair == pair).copied() {
                        None => scheduler.add(candidate),
                        Some(old) => {
                            model.remove(&old);
                            scheduler.change(old, candidate.key);
                        }
                    }
                    model.insert(candidate);
                }
                let all: Vec<Candidate> = model.iter().copied().collect();
                scheduler.match_slot(&mut matched);
                assert_greedy(&matched, &all);
                matched.iter().for_each(|one| assert!(model.remove(one)));
                assert_eq!(scheduler.waiting(), model.len());
            }
        }
    }

    #[test]
    fn what_has_nothing_more_to_send_is_not_matched() {
        let candidate = |key, src| Candidate { key, pair: Pair::new(src, 3) };
        let mut scheduler = Scheduler::new(4);
        let mut matched = Vec::new();
        scheduler.add(candidate(1, 0));
        scheduler.add(candidate(2, 1));
        scheduler.add(candidate(3, 2));
        scheduler.remove(candidate(1, 0));
        scheduler.match_slot(&mut matched);
        assert_eq!(matched, [candidate(2, 1)]);
        scheduler.remove(candidate(3, 2));
        scheduler.match_slot(&mut matched);
        assert_eq!((matched.len(), scheduler.waiting()), (0, 0));
    }
}

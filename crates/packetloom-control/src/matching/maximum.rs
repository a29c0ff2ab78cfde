//! Maximum matching: as many pairs as there can be. The reference for greedy ones.
//!
//! Hopcroft and Karp, "An n^5/2 algorithm for maximum matchings in bipartite graphs" (SIAM J. Computing, 1973).

use crate::Pair;
use crate::narrow::narrow;

const NONE: u32 = u32::MAX;

/// Hopcroft and Karp's algorithm, with its memory. O(E √V).
#[derive(Clone, Debug)]
pub struct HopcroftKarp {
    /// Each source's edges: `edges[first[s]..first[s + 1]]`, as places in the list of pairs.
    first: Vec<u32>,
    edges: Vec<u32>,
    /// The edge that a source or a destination is matched by.
    of_source: Vec<u32>,
    of_destination: Vec<u32>,
    /// A source's distance from the unmatched ones.
    layer: Vec<u32>,
    /// The next edge of each source to try in this phase.
    cursor: Vec<u32>,
    queue: Vec<u32>,
}

impl HopcroftKarp {
    /// For so many servers.
    pub fn new(servers: u32) -> HopcroftKarp {
        let none = vec![NONE; servers as usize];
        HopcroftKarp {
            first: vec![0; servers as usize + 1],
            edges: Vec::new(),
            of_source: none.clone(),
            of_destination: none.clone(),
            layer: none.clone(),
            cursor: none,
            queue: Vec::new(),
        }
    }

    /// The places in `pairs` of a largest matching, in order of source. `matched` is emptied first.
    ///
    /// # Panics
    /// If a pair names a server that there is not.
    pub fn match_all(&mut self, pairs: &[Pair], matched: &mut Vec<u32>) {
        self.load(pairs);
        while self.find_layers(pairs) {
            for source in 0..narrow::<u32>(self.of_source.len()) {
                if self.of_source[source as usize] == NONE {
                    self.augment(pairs, source);
                }
            }
        }
        matched.clear();
        matched.extend(self.of_source.iter().copied().filter(|edge| *edge != NONE));
    }

    fn load(&mut self, pairs: &[Pair]) {
        self.of_source.fill(NONE);
        self.of_destination.fill(NONE);
        self.first.fill(0);
        for pair in pairs {
            self.first[pair.src as usize + 1] += 1;
        }
        for source in 1..self.first.len() {
            self.first[source] += self.first[source - 1];
        }
        self.cursor.copy_from_slice(&self.first[..self.of_source.len()]);
        self.edges.resize(pairs.len(), 0);
        for (place, pair) in pairs.iter().enumerate() {
            let cursor = &mut self.cursor[pair.src as usize];
            self.edges[*cursor as usize] = narrow::<u32>(place);
            *cursor += 1;
        }
    }

    /// Breadth first from the unmatched sources; whether an unmatched destination was reached.
    fn find_layers(&mut self, pairs: &[Pair]) -> bool {
        self.queue.clear();
        for source in 0..self.of_source.len() {
            let unmatched = self.of_source[source] == NONE;
            self.layer[source] = if unmatched { 0 } else { NONE };
            if unmatched {
                self.queue.push(narrow::<u32>(source));
            }
        }
        let (mut next, mut reached) = (0, false);
        while let Some(&source) = self.queue.get(next) {
            next += 1;
            let source = source as usize;
            for &edge in &self.edges[self.first[source] as usize..self.first[source + 1] as usize] {
                let back = self.of_destination[pairs[edge as usize].dst as usize];
                if back == NONE {
                    reached = true;
                } else {
                    let owner = pairs[back as usize].src;
                    if self.layer[owner as usize] == NONE {
                        self.layer[owner as usize] = self.layer[source] + 1;
                        self.queue.push(owner);
                    }
                }
            }
        }
        self.cursor.copy_from_slice(&self.first[..self.of_source.len()]);
        reached
    }

    /// Depth first along the layers, from an unmatched source; the path is kept in `queue`.
    fn augment(&mut self, pairs: &[Pair], root: u32) {
        self.queue.clear();
        self.queue.push(root);
        while let Some(&source) = self.queue.last() {
            let cursor = &mut self.cursor[source as usize];
            if *cursor == self.first[source as usize + 1] {
                // A dead end: the edge that led here is dropped, and the next one is tried.
                self.queue.pop();
                if let Some(&parent) = self.queue.last() {
                    self.cursor[parent as usize] += 1;
                }
                continue;
            }
            let destination = pairs[self.edges[*cursor as usize] as usize].dst;
            let back = self.of_destination[destination as usize];
            if back == NONE {
                return self.flip(pairs);
            }
            let owner = pairs[back as usize].src;
            if self.layer[owner as usize] == self.layer[source as usize] + 1 {
                self.queue.push(owner);
            } else {
                *cursor += 1;
            }
        }
    }

    /// Matches every source of the path by the edge that its cursor is at.
    fn flip(&mut self, pairs: &[Pair]) {
        for &source in &self.queue {
            let cursor = &mut self.cursor[source as usize];
            let edge = self.edges[*cursor as usize];
            *cursor += 1;
            self.of_source[source as usize] = edge;
            self.of_destination[pairs[edge as usize].dst as usize] = edge;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{pairs, stream};
    use super::super::{Candidate, greedy};
    use super::*;
    use std::collections::BTreeSet;

    /// Kőnig: as many servers as the matching has pairs cover every edge, so no matching is larger.
    fn smallest_cover(pairs: &[Pair], matched: &[u32]) -> usize {
        let by_source = |source: u32| matched.iter().any(|&place| pairs[place as usize].src == source);
        let owner =
            |dst: u32| matched.iter().map(|&place| pairs[place as usize]).find(|pair| pair.dst == dst);
        let mut sources: BTreeSet<u32> =
            pairs.iter().map(|pair| pair.src).filter(|&s| !by_source(s)).collect();
        let mut destinations = BTreeSet::new();
        let mut grew = true;
        while grew {
            let reached: Vec<u32> =
                pairs.iter().filter(|pair| sources.contains(&pair.src)).map(|pair| pair.dst).collect();
            grew = false;
            for dst in reached {
                grew |= destinations.insert(dst);
                grew |= owner(dst).is_some_and(|pair| sources.insert(pair.src));
            }
        }
        let all: BTreeSet<u32> = pairs.iter().map(|pair| pair.src).collect();
        let covers = |pair: &Pair| !sources.contains(&pair.src) || destinations.contains(&pair.dst);
        assert!(pairs.iter().all(covers), "not a cover");
        all.difference(&sources).count() + destinations.len()
    }

    #[test]
    fn no_matching_is_larger_and_a_greedy_one_has_at_least_half() {
        let mut largest = HopcroftKarp::new(40);
        for seed in 0..60 {
            let mut random = stream(seed);
            let count = 1 + random.below(120) as usize;
            let pairs = pairs(&mut random, 40, count);
            let mut matched = Vec::new();
            largest.match_all(&pairs, &mut matched);
            let senders: BTreeSet<u32> = matched.iter().map(|&place| pairs[place as usize].src).collect();
            let receivers: BTreeSet<u32> = matched.iter().map(|&place| pairs[place as usize].dst).collect();
            assert_eq!((senders.len(), receivers.len()), (matched.len(), matched.len()), "a server twice");
            assert_eq!(matched.len(), smallest_cover(&pairs, &matched));
            let candidates: Vec<Candidate> = pairs.iter().map(|&pair| Candidate { key: 0, pair }).collect();
            assert!(2 * greedy(40, &candidates).len() >= matched.len());
        }
    }
}

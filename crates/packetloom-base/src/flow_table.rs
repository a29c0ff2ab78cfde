//! A host's flows by identity: found with one multiplication and, nearly always, one look.

use crate::flow::FlowId;
use crate::narrow::narrow;
use crate::prefetch::prefetch_whole;
use smallvec::{SmallVec, smallvec};

const EMPTY: u32 = u32::MAX;

/// So many buckets lie in the table itself, so that to find one of a host's only flows is not to wait for the
/// memory.
const NEAR_BUCKETS: usize = 4;

/// A map from flow to state, by open addressing with linear probing. Its order is never seen.
#[derive(Clone, Debug)]
pub struct FlowTable<S> {
    /// Flow and place of its state; a power of two, at most half full.
    buckets: SmallVec<[(FlowId, u32); NEAR_BUCKETS]>,
    states: Vec<Option<S>>,
    free: Vec<u32>,
}

impl<S> Default for FlowTable<S> {
    fn default() -> FlowTable<S> {
        FlowTable { buckets: smallvec![(0, EMPTY); NEAR_BUCKETS], states: Vec::new(), free: Vec::new() }
    }
}

impl<S> FlowTable<S> {
    /// How many flows there are.
    fn len(&self) -> usize {
        self.states.len() - self.free.len()
    }

    /// A flow's state.
    #[inline]
    pub fn get_mut(&mut self, flow: FlowId) -> Option<&mut S> {
        let (_, place) = self.buckets[self.find(flow)];
        if place == EMPTY { None } else { self.states[place as usize].as_mut() }
    }

    /// A flow's state, to be read.
    #[inline]
    pub fn get(&self, flow: FlowId) -> Option<&S> {
        let (_, place) = self.buckets[self.find(flow)];
        if place == EMPTY { None } else { self.states[place as usize].as_ref() }
    }

    /// Whether there is such a flow; its state is not read.
    #[inline]
    pub fn contains(&self, flow: FlowId) -> bool {
        self.buckets[self.find(flow)].1 != EMPTY
    }

    /// Prefetches a flow's state, which will be read soon.
    #[inline]
    pub fn prefetch(&self, flow: FlowId) {
        let (_, place) = self.buckets[self.find(flow)];
        if let Some(state) = self.states.get(place as usize) {
            prefetch_whole(state);
        }
    }

    /// Every state, in no order that means anything.
    pub fn states(&self) -> impl Iterator<Item = &S> {
        self.states.iter().flatten()
    }

    /// The same, to be changed.
    pub fn states_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.states.iter_mut().flatten()
    }

    /// Adds a flow, or replaces its state.
    pub fn insert(&mut self, flow: FlowId, state: S) {
        if (self.len() + 1) * 2 > self.buckets.len() {
            self.grow();
        }
        let bucket = self.find(flow);
        if self.buckets[bucket].1 != EMPTY {
            self.states[self.buckets[bucket].1 as usize] = Some(state);
            return;
        }
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.states.push(None);
                narrow::<u32>(self.states.len()) - 1
            }
        };
        self.states[place as usize] = Some(state);
        self.buckets[bucket] = (flow, place);
    }

    /// Takes a flow out.
    pub fn remove(&mut self, flow: FlowId) -> Option<S> {
        let mut gap = self.find(flow);
        let (_, place) = self.buckets[gap];
        if place == EMPTY {
            return None;
        }
        self.free.push(place);
        // Closes the gap: each following entry moves up unless it is in its own bucket.
        let mask = self.buckets.len() - 1;
        let mut next = (gap + 1) & mask;
        while self.buckets[next].1 != EMPTY {
            let home = self.home(self.buckets[next].0);
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(gap) & mask) {
                self.buckets[gap] = self.buckets[next];
                gap = next;
            }
            next = (next + 1) & mask;
        }
        self.buckets[gap] = (0, EMPTY);
        self.states[place as usize].take()
    }

    #[inline]
    fn home(&self, flow: FlowId) -> usize {
        let spread = flow.wrapping_mul(0x9e37_79b1);
        (spread >> (32 - self.buckets.len().ilog2())) as usize
    }

    /// The bucket that holds the flow, or the empty one where it would be inserted.
    #[inline]
    fn find(&self, flow: FlowId) -> usize {
        let mask = self.buckets.len() - 1;
        let mut bucket = self.home(flow) & mask;
        while self.buckets[bucket].1 != EMPTY && self.buckets[bucket].0 != flow {
            bucket = (bucket + 1) & mask;
        }
        bucket
    }

    fn grow(&mut self) {
        let larger = smallvec![(0, EMPTY); self.buckets.len() * 2];
        for (flow, place) in std::mem::replace(&mut self.buckets, larger) {
            if place != EMPTY {
                let bucket = self.find(flow);
                self.buckets[bucket] = (flow, place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};
    use std::collections::BTreeMap;

    #[test]
    fn behaves_as_a_map_under_any_order_of_calls() {
        let mut stream = Stream::new(1, Purpose::Transport, 0);
        let mut table = FlowTable::default();
        let mut model = BTreeMap::new();
        for step in 0..20_000_u32 {
            let flow = stream.below(300) * 7;
            if stream.below(2) == 0 {
                table.insert(flow, step);
                model.insert(flow, step);
            } else {
                assert_eq!(table.remove(flow), model.remove(&flow));
            }
            assert_eq!(table.len(), model.len());
            let probe = stream.below(300) * 7;
            assert_eq!(table.get_mut(probe).copied(), model.get(&probe).copied());
            assert_eq!(table.contains(probe), model.contains_key(&probe));
        }
    }
}

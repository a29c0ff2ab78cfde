//! Paull's rearrangement: an edge takes a colour that both its leaves have free; if there is none, it takes one that
//! its source has free, and the chain of edges in its way swaps two colours.
//!
//! Paull, "Reswitching of connection networks" (BSTJ, 1962); Hui, Switching and traffic theory (1990), §3.5.

use crate::Pair;
use crate::narrow::narrow;

const NONE: u32 = u32::MAX;

/// The colours in use at each leaf, for a number of colours. O(E (Δ/64 + V)); chains are rare until leaves are full.
#[derive(Clone, Debug)]
pub struct Paull {
    colours: u32,
    sources: Side,
    destinations: Side,
}

/// One side of the graph: a leaf's edges by colour, and its free colours as bits.
#[derive(Clone, Debug)]
struct Side {
    edges: Vec<u32>,
    free: Vec<u64>,
    words: usize,
}

impl Paull {
    /// For so many leaves and at most so many colours.
    pub fn new(leaves: u32, colours: u32) -> Paull {
        let mut paull = Paull { colours: 0, sources: Side::new(), destinations: Side::new() };
        paull.clear(leaves, colours);
        paull
    }

    /// Forgets every edge, and sets the number of leaves and colours anew.
    pub fn clear(&mut self, leaves: u32, colours: u32) {
        self.colours = colours;
        self.sources.clear(leaves, colours);
        self.destinations.clear(leaves, colours);
    }

    /// Gives each edge a colour, into `colours`.
    ///
    /// # Panics
    /// If a leaf has more edges than there are colours.
    pub fn colour(&mut self, edges: &[Pair], colours: &mut [u32]) {
        self.sources.reset(self.colours);
        self.destinations.reset(self.colours);
        for place in 0..narrow::<u32>(edges.len()) {
            self.insert(place, edges, colours);
        }
    }

    /// Gives one more edge a colour; others may change theirs.
    ///
    /// # Panics
    /// If one of its leaves has every colour in use.
    pub fn insert(&mut self, place: u32, edges: &[Pair], colours: &mut [u32]) {
        let Pair { src, dst } = edges[place as usize];
        let colour = match self.common_colour(src, dst) {
            Some(colour) => colour,
            None => self.rearrange(src, dst, edges, colours),
        };
        self.put(place, edges[place as usize], colour);
        colours[place as usize] = colour;
    }

    /// Notes an edge that has its colour.
    pub(super) fn put(&mut self, place: u32, edge: Pair, colour: u32) {
        self.sources.put(edge.src, colour, self.colours, place);
        self.destinations.put(edge.dst, colour, self.colours, place);
    }

    /// Takes an edge out; what it has of colours is free again.
    pub fn remove(&mut self, edge: Pair, colour: u32) {
        self.sources.take(edge.src, colour, self.colours);
        self.destinations.take(edge.dst, colour, self.colours);
    }

    #[inline]
    fn common_colour(&self, src: u32, dst: u32) -> Option<u32> {
        let (source, destination) = (self.sources.free_of(src), self.destinations.free_of(dst));
        let words = source.iter().zip(destination).map(|(one, other)| one & other);
        first_bit(words)
    }

    /// Frees at `dst` a colour that is free at `src`, and returns it: along the chain of edges from `dst` whose
    /// colours alternate between that one and one that is free at `dst`, the two are swapped. The chain can't reach
    /// `src`.
    fn rearrange(&mut self, src: u32, dst: u32, edges: &[Pair], colours: &mut [u32]) -> u32 {
        let full = "no leaf has more edges than there are colours";
        let wanted = first_bit(self.sources.free_of(src).iter().copied()).expect(full);
        let spare = first_bit(self.destinations.free_of(dst).iter().copied()).expect(full);
        self.destinations.toggle(dst, wanted, spare);
        let (mut leaf, mut at_source, mut from, mut to) = (dst, false, wanted, spare);
        loop {
            let side = if at_source { &mut self.sources } else { &mut self.destinations };
            let row = (leaf * self.colours) as usize;
            side.edges.swap(row + wanted as usize, row + spare as usize);
            let edge = side.edges[row + to as usize];
            if edge == NONE {
                // The chain ends here: it came by `from`, which was free.
                side.toggle(leaf, wanted, spare);
                return wanted;
            }
            colours[edge as usize] = to;
            let Pair { src, dst } = edges[edge as usize];
            (leaf, at_source) = if at_source { (dst, false) } else { (src, true) };
            (from, to) = (to, from);
        }
    }
}

impl Side {
    fn new() -> Side {
        Side { edges: Vec::new(), free: Vec::new(), words: 0 }
    }

    fn clear(&mut self, leaves: u32, colours: u32) {
        self.words = colours.div_ceil(64) as usize;
        self.edges.clear();
        self.edges.resize((leaves * colours) as usize, NONE);
        self.free.resize(leaves as usize * self.words, 0);
        self.reset(colours);
    }

    /// Every leaf has every colour free.
    fn reset(&mut self, colours: u32) {
        self.edges.fill(NONE);
        for leaf in self.free.chunks_exact_mut(self.words.max(1)) {
            leaf.fill(u64::MAX);
            if !colours.is_multiple_of(64) {
                leaf[self.words - 1] = (1 << (colours % 64)) - 1;
            }
        }
    }

    #[inline]
    fn free_of(&self, leaf: u32) -> &[u64] {
        &self.free[leaf as usize * self.words..][..self.words]
    }

    #[inline]
    fn put(&mut self, leaf: u32, colour: u32, colours: u32, edge: u32) {
        self.edges[(leaf * colours + colour) as usize] = edge;
        self.free[leaf as usize * self.words + (colour >> 6) as usize] &= !(1 << (colour & 63));
    }

    fn take(&mut self, leaf: u32, colour: u32, colours: u32) {
        self.edges[(leaf * colours + colour) as usize] = NONE;
        self.free[leaf as usize * self.words + (colour >> 6) as usize] |= 1 << (colour & 63);
    }

    /// What was free of two colours is used, and the other way round.
    fn toggle(&mut self, leaf: u32, one: u32, other: u32) {
        for colour in [one, other] {
            self.free[leaf as usize * self.words + (colour >> 6) as usize] ^= 1 << (colour & 63);
        }
    }
}

#[inline]
fn first_bit(words: impl Iterator<Item = u64>) -> Option<u32> {
    let mut words = words.enumerate();
    words.find(|(_, word)| *word != 0).map(|(place, word)| narrow::<u32>(place) * 64 + word.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{pairs, stream};
    use super::*;

    #[test]
    fn edges_come_and_go_and_the_colouring_stays_proper() {
        let (leaves, bound) = (6, 70);
        let mut random = stream(3);
        let mut paull = Paull::new(leaves, bound);
        let (mut edges, mut colours): (Vec<Pair>, Vec<u32>) = (Vec::new(), Vec::new());
        let mut present: Vec<u32> = Vec::new();
        for pair in pairs(&mut random, leaves, 6_000) {
            let degree = |of: fn(&Pair) -> u32| {
                present.iter().filter(|&&place| of(&edges[place as usize]) == of(&pair)).count() as u32
            };
            if degree(|edge| edge.src) < bound && degree(|edge| edge.dst) < bound {
                edges.push(pair);
                colours.push(0);
                let place = edges.len() as u32 - 1;
                present.push(place);
                paull.insert(place, &edges, &mut colours);
            } else {
                let gone = present.swap_remove(random.below(present.len() as u32) as usize) as usize;
                paull.remove(edges[gone], colours[gone]);
            }
            let mut ends: Vec<(u32, u32, bool)> = Vec::new();
            for &place in &present {
                let (edge, colour) = (edges[place as usize], colours[place as usize]);
                ends.extend([(edge.src, colour, true), (edge.dst, colour, false)]);
            }
            ends.sort_unstable();
            assert!(ends.windows(2).all(|two| two[0] != two[1]), "a leaf has a colour twice");
        }
        assert!(present.len() > 300, "leaves are full at times: {}", present.len());
    }
}

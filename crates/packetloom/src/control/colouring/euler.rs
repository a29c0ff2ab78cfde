//! Colouring by Euler splits: the edges of a graph fall into two halves in which every leaf has half its edges.
//!
//! Pair up the edges at each leaf. Every edge then has at most two neighbours, so that edges form paths and cycles; a
//! cycle of a bipartite graph is even. Going along them, edges go into one half and the other in turn. A graph whose
//! degree is a power of two falls apart into matchings, a colour each. Other degrees: colour one half, give as many of
//! its colours to the other half as make the degree there a power of two, and split that (Gabow and Kariv, "Algorithms
//! for edge coloring bipartite graphs and multigraphs", SIAM J. Computing, 1982). An odd degree has a colour too many
//! then: the edges of the rarest colour are put in by Paull's rearrangement.

use super::{Paull, largest_degree};
use crate::control::Pair;
use std::ops::Range;

const NONE: u32 = u32::MAX;

/// Euler splits, with their memory. O(E log Δ + V² log Δ).
#[derive(Clone, Debug)]
pub struct EulerSplit {
    leaves: u32,
    /// The edges in the order of the parts that they are in.
    order: Vec<u32>,
    /// The last edge without a neighbour at each source, then at each destination, by its place in the part in hand.
    single: Vec<u32>,
    /// For each place of the part in hand, its neighbours at its source and at its destination.
    neighbours: Vec<[u32; 2]>,
    /// Which half each place goes to.
    halves: Vec<u8>,
    /// Edges of the second half while the first closes up.
    aside: Vec<u32>,
    /// How many edges of the part have each colour.
    counts: Vec<u32>,
    paull: Paull,
}

impl EulerSplit {
    /// For so many leaves.
    pub fn new(leaves: u32) -> EulerSplit {
        EulerSplit {
            leaves,
            order: Vec::new(),
            single: vec![NONE; 2 * leaves as usize],
            neighbours: Vec::new(),
            halves: Vec::new(),
            aside: Vec::new(),
            counts: Vec::new(),
            paull: Paull::new(leaves, 1),
        }
    }

    /// Gives each edge a colour, into `colours`; returns how many it took: the largest degree.
    ///
    /// # Panics
    /// If an edge names a leaf that there is not, or `colours` is not as long as `edges`.
    pub fn colour(&mut self, edges: &[Pair], colours: &mut [u32]) -> u32 {
        assert_eq!(edges.len(), colours.len(), "a colour for each edge");
        let degree = largest_degree(self.leaves, edges);
        self.order.clear();
        self.order.extend(0..edges.len() as u32);
        self.neighbours.resize(edges.len(), [NONE; 2]);
        self.colour_part(edges, colours, 0..edges.len(), degree, 0);
        degree
    }

    /// Colours the edges at these places of `order`, no leaf of which has more than `degree`, from `base` upwards.
    fn colour_part(
        &mut self,
        edges: &[Pair],
        colours: &mut [u32],
        part: Range<usize>,
        degree: u32,
        base: u32,
    ) {
        if part.is_empty() {
            return;
        }
        if degree == 1 {
            self.order[part].iter().for_each(|&edge| colours[edge as usize] = base);
            return;
        }
        let half = degree.div_ceil(2);
        let middle = self.split(edges, part.clone());
        self.colour_part(edges, colours, part.start..middle, half, base);
        // Gabow and Kariv: with so many colours moved over, the second half's degree is a power of two.
        let second_degree = half.next_power_of_two();
        let kept = 2 * half - second_degree;
        let middle = self.keep_below(colours, part.start..middle, base + kept);
        self.colour_part(edges, colours, middle..part.end, second_degree, base + kept);
        if degree % 2 == 1 {
            self.drop_a_colour(edges, colours, part, degree, base);
        }
    }

    /// Puts one half of the part before the other; returns where the second begins.
    fn split(&mut self, edges: &[Pair], part: Range<usize>) -> usize {
        let places = &mut self.order[part.clone()];
        pair_up(self.leaves, edges, places, &mut self.single, &mut self.neighbours);
        walk(places.len(), &self.neighbours, &mut self.halves);
        let halves = self.halves.iter();
        part.start + partition(places, &mut self.aside, halves.map(|&half| half == 0))
    }

    /// Puts the edges of colours below `bound` before the others; returns where those begin.
    fn keep_below(&mut self, colours: &[u32], part: Range<usize>, bound: u32) -> usize {
        self.halves.clear();
        let places = &mut self.order[part.clone()];
        self.halves.extend(places.iter().map(|&edge| u8::from(colours[edge as usize] >= bound)));
        part.start + partition(places, &mut self.aside, self.halves.iter().map(|&half| half == 0))
    }

    /// Of `degree + 1` colours from `base` on, takes the rarest away and gives its edges one of the others.
    fn drop_a_colour(
        &mut self,
        edges: &[Pair],
        colours: &mut [u32],
        part: Range<usize>,
        degree: u32,
        base: u32,
    ) {
        let places = &self.order[part];
        self.counts.clear();
        self.counts.resize(degree as usize + 1, 0);
        for &edge in places {
            colours[edge as usize] -= base;
            self.counts[colours[edge as usize] as usize] += 1;
        }
        let by_count = (0..=degree).min_by_key(|&colour| self.counts[colour as usize]);
        let rarest = by_count.unwrap_or(degree);
        self.paull.clear(self.leaves, degree);
        self.aside.clear();
        for &edge in places {
            let colour = &mut colours[edge as usize];
            if *colour == rarest {
                self.aside.push(edge);
            } else {
                // The last colour takes the number of the one that goes.
                *colour = if *colour == degree { rarest } else { *colour };
                self.paull.put(edge, edges[edge as usize], *colour);
            }
        }
        for &edge in &self.aside {
            self.paull.insert(edge, edges, colours);
        }
        for &edge in places {
            colours[edge as usize] += base;
        }
    }
}

/// Gives the edges at each leaf neighbours, two by two.
fn pair_up(leaves: u32, edges: &[Pair], places: &[u32], single: &mut [u32], neighbours: &mut [[u32; 2]]) {
    single.fill(NONE);
    for (place, &edge) in places.iter().enumerate() {
        let Pair { src, dst } = edges[edge as usize];
        for (end, leaf) in [src, leaves + dst].into_iter().enumerate() {
            let other = std::mem::replace(&mut single[leaf as usize], place as u32);
            neighbours[place][end] = other;
            if other != NONE {
                neighbours[other as usize][end] = place as u32;
                single[leaf as usize] = NONE;
            }
        }
    }
}

/// Goes along every path and cycle of neighbours; its edges go into one half and the other in turn.
fn walk(places: usize, neighbours: &[[u32; 2]], halves: &mut Vec<u8>) {
    const UNSET: u8 = 2;
    halves.clear();
    halves.resize(places, UNSET);
    for start in 0..places {
        if halves[start] != UNSET {
            continue;
        }
        halves[start] = 0;
        // A path may have been entered in its middle: both ways.
        for way in 0..2 {
            let (mut end, mut half) = (way, 0);
            let mut next = neighbours[start][end];
            while next != NONE && halves[next as usize] == UNSET {
                half ^= 1;
                halves[next as usize] = half;
                end ^= 1;
                next = neighbours[next as usize][end];
            }
        }
    }
}

/// Puts the chosen first, each group in the order it had; returns how many were chosen.
fn partition(places: &mut [u32], aside: &mut Vec<u32>, chosen: impl Iterator<Item = bool>) -> usize {
    aside.clear();
    let mut kept = 0;
    for (place, chosen) in chosen.enumerate() {
        if chosen {
            places[kept] = places[place];
            kept += 1;
        } else {
            aside.push(places[place]);
        }
    }
    places[kept..].copy_from_slice(aside);
    kept
}

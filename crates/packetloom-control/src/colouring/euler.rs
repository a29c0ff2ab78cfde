//! Colouring by Euler splits: the edges of a graph fall into two halves in which every leaf has half its edges.
//!
//! Pair up the edges at each leaf. Every edge then has at most two neighbours, so that edges form paths and cycles;
//! a cycle of a bipartite graph is even. Going along them, edges go into one half and the other in turn (Gabow,
//! "Using Euler partitions to edge color bipartite multigraphs", Int. J. Computer and Information Sciences, 1976).
//!
//! A split costs 10 to 15 ns an edge. Paull's rearrangement is faster than one split as long as its tables fit a
//! cache, because it looks at 64 colours at once; so splits go on only until they do. Halves of an odd degree have a
//! colour too many between them: at the end the edges of the rarest colours are put in once more.

use super::{Paull, largest_degree};
use crate::Pair;
use crate::narrow::narrow;
use std::ops::Range;

/// Parts with so many leaves times colours, or less, are left to Paull's rearrangement, whose tables take 8 B for
/// each.
const SMALL: u32 = 1 << 18;

/// An edge with its place in the caller's list.
#[derive(Clone, Copy, Debug)]
struct Edge {
    src: u32,
    dst: u32,
    place: u32,
}

/// Euler splits, with their memory. O(E log Δ) beside the parts' own colouring; small graphs it leaves to [`Paull`].
#[derive(Clone, Debug)]
pub struct EulerSplit {
    leaves: u32,
    small: u32,
    /// The edges by source, in the order of the parts that they are in.
    edges: Vec<Edge>,
    aside: Vec<Edge>,
    /// For each edge of the part in hand its neighbours at its source and at its destination, and one place for
    /// none.
    neighbours: [Vec<u32>; 2],
    /// The last edge without a neighbour at each leaf.
    single: Vec<u32>,
    /// Which half each edge goes to.
    halves: Vec<u8>,
    /// A part as Paull's rearrangement takes it.
    pairs: Vec<Pair>,
    part_colours: Vec<u32>,
    paull: Paull,
}

impl EulerSplit {
    /// For so many leaves.
    pub fn new(leaves: u32) -> EulerSplit {
        EulerSplit {
            leaves,
            small: SMALL,
            edges: Vec::new(),
            aside: Vec::new(),
            neighbours: [Vec::new(), Vec::new()],
            single: Vec::new(),
            halves: Vec::new(),
            pairs: Vec::new(),
            part_colours: Vec::new(),
            paull: Paull::new(leaves, 1),
        }
    }

    /// Splits until a part has no more than so many leaves times colours; 0 until each part is a colour.
    pub fn with_parts_up_to(self, small: u32) -> EulerSplit {
        EulerSplit { small, ..self }
    }

    /// Gives each edge a colour, into `colours`; returns how many it took: the largest degree.
    ///
    /// # Panics
    /// If an edge names a leaf that there is not, or `colours` is not as long as `edges`.
    pub fn colour(&mut self, edges: &[Pair], colours: &mut [u32]) -> u32 {
        assert_eq!(edges.len(), colours.len(), "a colour for each edge");
        let degree = largest_degree(self.leaves, edges);
        let small_degree = (self.small / self.leaves.max(1)).max(1);
        if degree <= small_degree {
            self.paull.clear(self.leaves, degree);
            self.paull.colour(edges, colours);
            return degree;
        }
        self.sort_by_source(edges);
        let levels = degree.div_ceil(small_degree).next_power_of_two().ilog2();
        let part_degree = degree.div_ceil(1 << levels);
        self.paull.clear(self.leaves, part_degree);
        self.colour_part(colours, 0..edges.len(), levels, 0, part_degree);
        if part_degree << levels > degree {
            self.drop_colours(edges, colours, degree, part_degree << levels);
        }
        degree
    }

    fn sort_by_source(&mut self, edges: &[Pair]) {
        let mut next = vec![0_u32; self.leaves as usize + 1];
        edges.iter().for_each(|edge| next[edge.src as usize + 1] += 1);
        for leaf in 1..next.len() {
            next[leaf] += next[leaf - 1];
        }
        self.edges.resize(edges.len(), Edge { src: 0, dst: 0, place: 0 });
        for (place, &Pair { src, dst }) in (0..).zip(edges) {
            self.edges[next[src as usize] as usize] = Edge { src, dst, place };
            next[src as usize] += 1;
        }
        self.neighbours.iter_mut().for_each(|of| of.resize(edges.len() + 1, 0));
        self.halves.resize(edges.len() + 1, 0);
    }

    /// Splits a part `levels` times, and colours what comes out with `part_degree` colours each, from `base`
    /// upwards.
    fn colour_part(
        &mut self,
        colours: &mut [u32],
        part: Range<usize>,
        levels: u32,
        base: u32,
        part_degree: u32,
    ) {
        if levels > 0 {
            let middle = self.split(part.clone());
            let half_colours = part_degree << (levels - 1);
            self.colour_part(colours, part.start..middle, levels - 1, base, part_degree);
            self.colour_part(colours, middle..part.end, levels - 1, base + half_colours, part_degree);
            return;
        }
        let edges = &self.edges[part];
        self.pairs.clear();
        self.pairs.extend(edges.iter().map(|edge| Pair::new(edge.src, edge.dst)));
        self.part_colours.resize(edges.len(), 0);
        self.paull.colour(&self.pairs, &mut self.part_colours);
        for (edge, colour) in edges.iter().zip(&self.part_colours) {
            colours[edge.place as usize] = base + colour;
        }
    }

    /// Puts one half of the part before the other; returns where the second begins.
    fn split(&mut self, part: Range<usize>) -> usize {
        let edges = &mut self.edges[part.clone()];
        let [at_source, at_destination] = &mut self.neighbours;
        pair_up(self.leaves, edges.iter().map(|edge| edge.src), edges.len(), &mut self.single, at_source);
        pair_up(
            self.leaves,
            edges.iter().map(|edge| edge.dst),
            edges.len(),
            &mut self.single,
            at_destination,
        );
        walk(edges.len(), at_source, at_destination, &mut self.halves);
        part.start + partition(edges, &mut self.aside, &self.halves)
    }

    /// Of `used` colours keeps the `degree` with the most edges; the edges of the others get one of these.
    fn drop_colours(&mut self, edges: &[Pair], colours: &mut [u32], degree: u32, used: u32) {
        let mut counts = vec![0_u32; used as usize];
        colours.iter().for_each(|&colour| counts[colour as usize] += 1);
        let mut by_count: Vec<u32> = (0..used).collect();
        by_count.sort_by_key(|&colour| std::cmp::Reverse(counts[colour as usize]));
        let mut renamed = vec![0; used as usize];
        for (rank, colour) in (0..).zip(by_count) {
            renamed[colour as usize] = rank;
        }
        self.paull.clear(self.leaves, degree);
        self.part_colours.clear();
        for ((place, colour), &edge) in (0..).zip(colours.iter_mut()).zip(edges) {
            *colour = renamed[*colour as usize];
            if *colour < degree {
                self.paull.put(place, edge, *colour);
            } else {
                self.part_colours.push(place);
            }
        }
        for &place in &self.part_colours {
            self.paull.insert(place, edges, colours);
        }
    }
}

/// Makes the edges at each leaf neighbours, two by two; `count` means none. There is no branch: whether an edge is
/// a leaf's second one is unpredictable.
fn pair_up(
    leaves: u32,
    ends: impl Iterator<Item = u32>,
    count: usize,
    single: &mut Vec<u32>,
    neighbours: &mut [u32],
) {
    let none = narrow::<u32>(count);
    single.clear();
    single.resize(leaves as usize, none);
    for (edge, leaf) in (0..none).zip(ends) {
        let waiting = &mut single[leaf as usize];
        let other = *waiting;
        neighbours[edge as usize] = other;
        neighbours[other as usize] = edge;
        *waiting = if other == none { edge } else { none };
    }
}

/// Goes along every path and cycle of neighbours; its edges go into one half and the other in turn.
fn walk(count: usize, at_source: &[u32], at_destination: &[u32], halves: &mut [u8]) {
    const UNSET: u8 = 2;
    halves[..count].fill(UNSET);
    // Where a path ends there is no edge, which is never unset.
    halves[count] = 0;
    for start in 0..count {
        if halves[start] != UNSET {
            continue;
        }
        halves[start] = 0;
        // A path may have been entered in its middle: both ways. Two edges at a source differ, and so do two at a
        // destination.
        for (first, then) in [(at_source, at_destination), (at_destination, at_source)] {
            let mut edge = first[start] as usize;
            while halves[edge] == UNSET {
                halves[edge] = 1;
                edge = then[edge] as usize;
                if halves[edge] != UNSET {
                    break;
                }
                halves[edge] = 0;
                edge = first[edge] as usize;
            }
        }
    }
}

/// Puts the first half before the second, each in the order it had; returns how many the first has.
fn partition(edges: &mut [Edge], aside: &mut Vec<Edge>, halves: &[u8]) -> usize {
    aside.resize(edges.len(), Edge { src: 0, dst: 0, place: 0 });
    let (mut kept, mut moved) = (0, 0);
    for place in 0..edges.len() {
        let (edge, half) = (edges[place], usize::from(halves[place]));
        edges[kept] = edge;
        aside[moved] = edge;
        kept += 1 - half;
        moved += half;
    }
    edges[kept..].copy_from_slice(&aside[..moved]);
    kept
}

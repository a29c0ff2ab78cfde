//! Edge colouring of a slot's leaf-to-leaf multigraph: each colour is a path through the spines, and no leaf sends
//! or receives two packets by the same one.
//!
//! A bipartite multigraph of largest degree Δ needs Δ colours and no more (Kőnig). Two ways to find them: [`Paull`]
//! adds edge by edge and can keep what is there; [`EulerSplit`] halves the whole graph while it is too large for
//! Paull's tables to stay in a cache: from some 500 leaves of 500 servers on.

mod euler;
mod paull;

pub use euler::EulerSplit;
pub use paull::Paull;

use super::Pair;

/// The largest number of edges at a leaf, in or out.
pub fn largest_degree(leaves: u32, edges: &[Pair]) -> u32 {
    let mut degrees = vec![0_u32; 2 * leaves as usize];
    for edge in edges {
        degrees[edge.src as usize] += 1;
        degrees[(leaves + edge.dst) as usize] += 1;
    }
    degrees.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{pairs, stream};
    use super::*;
    use std::collections::BTreeSet;

    fn assert_proper(edges: &[Pair], colours: &[u32], bound: u32) {
        assert_eq!(edges.len(), colours.len());
        assert!(colours.iter().all(|&colour| colour < bound), "a colour beyond {bound}");
        let out: BTreeSet<(u32, u32)> =
            edges.iter().zip(colours).map(|(edge, &colour)| (edge.src, colour)).collect();
        let into: BTreeSet<(u32, u32)> =
            edges.iter().zip(colours).map(|(edge, &colour)| (edge.dst, colour)).collect();
        assert_eq!((out.len(), into.len()), (edges.len(), edges.len()), "a leaf has a colour twice");
    }

    #[test]
    fn colourings_are_proper_and_use_as_many_colours_as_the_largest_degree() {
        for seed in 0..300 {
            let mut random = stream(seed);
            let leaves = 1 + random.below(9);
            let count = random.below(200) as usize;
            let edges = pairs(&mut random, leaves, count);
            let degree = largest_degree(leaves, &edges);
            let mut colours = vec![0; edges.len()];
            Paull::new(leaves, degree.max(1)).colour(&edges, &mut colours);
            assert_proper(&edges, &colours, degree);
            for small in [0, 5 * leaves, u32::MAX] {
                let used = EulerSplit::new(leaves).with_parts_up_to(small).colour(&edges, &mut colours);
                assert_proper(&edges, &colours, degree);
                assert_eq!(used, degree);
            }
        }
    }

    #[test]
    fn full_regular_graphs_of_every_degree_are_coloured() {
        for degree in 1..70 {
            let rounds = (0..degree)
                .flat_map(|turn| (0..5).map(move |leaf| Pair::new(leaf, (leaf + turn * turn) % 5)));
            let edges: Vec<Pair> = rounds.collect();
            let mut colours = vec![0; edges.len()];
            Paull::new(5, degree).colour(&edges, &mut colours);
            assert_proper(&edges, &colours, degree);
            for small in [0, 35] {
                let used = EulerSplit::new(5).with_parts_up_to(small).colour(&edges, &mut colours);
                assert_eq!(used, degree);
                assert_proper(&edges, &colours, degree);
            }
        }
    }
}

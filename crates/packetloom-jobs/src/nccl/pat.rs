//! PAT's messages: all-gather and reduce-scatter by binomial trees, one for each rank's data, the farthest first
//! (src/include/collectives.h: PatAGAlgorithm, PatRSAlgorithm).
//!
//! A rank has the data of each other at a distance, counted round the ranks. They come over the lowest bit of that
//! distance, from the rank that has them at the distance without this bit; in a reduce-scatter they go the other way
//! round. The upper bits are dealt with bit by bit, all distances of one at a time; the lower ones in order of a tree,
//! so that at most a few steps of buffers are needed. What every rank sends is therefore the same list.

use crate::job::Collective;
use crate::narrow::exact;

/// The library takes this number of steps of a connection for what is on its way (`NCCL_STEPS`).
const DEPTH: u32 = 8;

/// Messages that follow each other and have the data of several ranks each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregated {
    /// How far away the receiver is: a power of two.
    pub distance: u32,
    /// The data of so many ranks.
    pub items: u32,
    /// To which group it belongs: data of the next group may be needed of this one first.
    pub group: u32,
}

/// What a rank sends of a chunk, in order, where a rank's data of the channel are so many bytes.
pub fn aggregated(operation: Collective, ranks: u32, chunk_bytes: u64, each_bytes: u64) -> Vec<Aggregated> {
    let half = ranks / 2;
    let mut delta = ranks.next_power_of_two();
    let mut together = 1;
    // As much as a step holds is sent together.
    while chunk_bytes / (each_bytes.max(1) * u64::from(together)) >= 2 && together < half {
        together *= 2;
        delta /= 2;
    }
    let of_message = together;
    let mut depth = DEPTH;
    while depth > 1 && together < half {
        depth /= 2;
        together *= 2;
        delta /= 2;
    }
    let mut all = Vec::new();
    for (group, distances) in (0..).zip(groups(operation, ranks, (together, delta))) {
        let messages = distances.chunks(of_message as usize);
        all.extend(messages.map(|some| Aggregated {
            distance: 1 << some[0].trailing_zeros(),
            items: exact::<u32>(some.len()),
            group,
        }));
    }
    all
}

/// The distances that are dealt with together, in order: of so many ranks at a time, so far from each other.
fn groups(operation: Collective, ranks: u32, (together, delta): (u32, u32)) -> Vec<Vec<u32>> {
    let mut groups = upper(together, delta);
    let lower = |low: u32| (0..together).map(|nth| nth * delta + low).collect::<Vec<u32>>();
    if operation == Collective::AllGather {
        groups.extend(tree(0, delta.ilog2()).into_iter().map(lower));
    } else {
        groups.reverse();
        groups = (1..delta).rev().map(lower).chain(groups).collect();
    }
    groups.iter_mut().for_each(|group| group.retain(|&distance| distance < ranks));
    groups.retain(|group| !group.is_empty());
    groups
}

/// The distances of the upper bits, from the highest on: those that have no bit below it, and any above.
fn upper(together: u32, delta: u32) -> Vec<Vec<u32>> {
    let scales = (0..together.ilog2()).rev().map(|bit| 1 << bit);
    scales
        .map(|scale| (0..together / (2 * scale)).map(|nth| (2 * nth + 1) * scale * delta).collect())
        .collect()
}

/// The distances of so many lower bits, each before those that come by way of it, larger bits first.
fn tree(above: u32, bits: u32) -> Vec<u32> {
    let child = |bit: u32| {
        let own = above | 1 << bit;
        std::iter::once(own).chain(tree(own, bit))
    };
    (0..bits).rev().flat_map(child).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn sent(operation: Collective, ranks: u32, each_bytes: u64) -> Vec<(u32, u32)> {
        let all = aggregated(operation, ranks, 512 << 10, each_bytes);
        all.into_iter().map(|one| (one.distance, one.items)).collect()
    }

    /// Worked out by hand from the library's steps.
    #[test]
    fn messages_are_those_worked_out_by_hand() {
        use Collective::{AllGather, ReduceScatter};
        // Few bytes: as Bruck's algorithm, log2 n messages, the farthest first; reduced, the farthest last.
        assert_eq!(sent(AllGather, 8, 64), [(4, 1), (2, 2), (1, 4)]);
        assert_eq!(sent(ReduceScatter, 8, 64), [(1, 4), (2, 2), (4, 1)]);
        assert_eq!(sent(AllGather, 2, 64), [(1, 1)]);
        // Six ranks: distance 4; of 2 and 6 the one there is; 1, 3 and 5.
        assert_eq!(sent(AllGather, 6, 64), [(4, 1), (2, 1), (1, 3)]);
        // A step holds the data of one rank: of 64, eight are together. Upper bits, then 4 6 7 5 2 3 1 of each eight.
        let large = sent(AllGather, 64, 4 << 20);
        let (upper, lower) = large.split_at(7);
        assert_eq!(upper, [(32, 1), (16, 1), (16, 1), (8, 1), (8, 1), (8, 1), (8, 1)]);
        let distances: Vec<u32> = lower.chunks(8).map(|group| group[0].0).collect();
        assert_eq!(distances, [4, 2, 1, 1, 2, 1, 1]);
        let reduced: Vec<u32> =
            sent(ReduceScatter, 64, 4 << 20)[..56].chunks(8).map(|group| group[0].0).collect();
        assert_eq!(reduced, [1, 2, 1, 4, 1, 2, 1]);
    }

    /// Whoever sends another's data has them: all-gathered from its parent, reduced from its children.
    #[test]
    fn every_distance_comes_once_and_after_what_it_needs() {
        for ranks in 2..70_u32 {
            for (together, delta) in (0..ranks.next_power_of_two().ilog2())
                .map(|bits| (1 << bits, ranks.next_power_of_two() >> bits))
            {
                for operation in [Collective::AllGather, Collective::ReduceScatter] {
                    let mut done = BTreeSet::new();
                    for group in groups(operation, ranks, (together, delta)) {
                        for &one in &group {
                            let below = (0..one.trailing_zeros()).map(|bit| one | 1 << bit);
                            let needs: Vec<u32> = match operation {
                                Collective::AllGather => vec![one & (one - 1)],
                                _ => below.filter(|&child| child < ranks).collect(),
                            };
                            assert!(
                                needs.iter().all(|need| *need == 0 || done.contains(need)),
                                "{ranks}: {one}"
                            );
                        }
                        done.extend(group);
                    }
                    assert!(done.into_iter().eq(1..ranks));
                }
            }
        }
    }
}

//! The order of flow records.

use super::flows::FlowRow;
use crate::flow::FlowId;
use crate::narrow::narrow;

/// Sorts rows, which are wide, by moving each but once: cycle by cycle of the permutation.
pub(super) fn sort_by_identity(rows: &mut [FlowRow]) {
    let mut order = in_order(rows);
    for first in 0..rows.len() {
        let (kept, mut place) = (rows[first], first);
        loop {
            let from = std::mem::replace(&mut order[place], narrow::<u32>(place)) as usize;
            if from == first {
                break;
            }
            rows[place] = rows[from];
            place = from;
        }
        rows[place] = kept;
    }
}

/// The places of rows in the order of their identities.
fn in_order(rows: &[FlowRow]) -> Vec<u32> {
    let identities = || rows.iter().map(|row| row.flow.id);
    let least = identities().min().unwrap_or(0);
    let span = identities().max().map_or(0, |most| (most - least) as usize + 1);
    // Nearly all numbers are used, as by most workloads: each is its own place.
    if span <= rows.len().saturating_mul(2) {
        let mut places = vec![u32::MAX; span];
        for (id, place) in identities().zip(0..) {
            places[(id - least) as usize] = place;
        }
        places.retain(|&place| place != u32::MAX);
        debug_assert_eq!(places.len(), rows.len(), "an identity is of two flows");
        return places;
    }
    let mut order: Vec<(FlowId, u32)> = identities().zip(0..).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, place)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Report;
    use crate::flow::Flow;
    use crate::random::{Purpose, Stream};
    use crate::units::Time;

    fn row(id: FlowId) -> FlowRow {
        let (start, deadline, class, source, chain) = (Time::ZERO, Time::NEVER, 0, 0, None);
        let flow = Flow { id, src: 0, dst: 1, size_bytes: 3, start, deadline, class, source, chain };
        FlowRow {
            flow,
            delivered: Time(u64::from(id)),
            closed: Time::NEVER,
            best_fct: Time(1),
            report: Report::default(),
            measured: true,
        }
    }

    #[test]
    fn rows_are_sorted_whatever_their_order() {
        let mut random = Stream::new(1, Purpose::Paths, 0);
        for count in [0, 1, 2, 3, 1_000] {
            for gap in [1, 2, 9] {
                let sorted: Vec<FlowRow> = (0..count).map(|id| row(5 + id * gap)).collect();
                let mut rotated = sorted.clone();
                rotated.rotate_left(count as usize / 3);
                let mut shuffled = sorted.clone();
                for place in (1..count).rev() {
                    shuffled.swap(place as usize, random.below(place + 1) as usize);
                }
                let reversed = sorted.iter().rev().copied().collect();
                for mut rows in [sorted.clone(), rotated, shuffled, reversed] {
                    sort_by_identity(&mut rows);
                    assert_eq!(rows, sorted);
                }
            }
        }
    }
}

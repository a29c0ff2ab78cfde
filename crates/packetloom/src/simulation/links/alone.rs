//! What a flow takes beyond its best FCT when it is alone: a handshake, a window that starts small, losses that it
//! causes itself. By its size, as runs of single flows have it on each kind of path.

use super::apart::Apart;
use super::crossings::Crossings;
use super::parallel;
use crate::engine::Tally;
use crate::spec::Complaint;
use std::time::Duration;

/// Up to so many packets every size is run; beyond, each one half as large again.
const EVERY_SIZE: u64 = 16;

/// For each kind of path.
pub(super) struct Alone {
    /// Sizes in packets, and what they take more, in ps.
    of_ways: Vec<Vec<(u64, f64)>>,
    pub(super) tally: Tally,
}

impl Alone {
    /// Runs them; returns also the processor time of other threads.
    ///
    /// # Errors
    /// What can't be simulated.
    pub(super) fn of(apart: &Apart<'_>, threads: u32) -> Result<(Alone, Duration), Complaint> {
        let crossings = apart.crossings;
        let mut largest = vec![0; crossings.ways.len()];
        for (&way, &packets) in crossings.way_of.iter().zip(&crossings.packets) {
            largest[way as usize] = packets.max(largest[way as usize]);
        }
        let of_way = |(way, &largest): (usize, &u64)| sizes(largest).into_iter().map(move |size| (way, size));
        let tasks: Vec<(usize, u64)> = largest.iter().enumerate().flat_map(of_way).collect();
        let work = |nth: usize| {
            let (way, packets) = tasks[nth];
            apart.alone(way, packets)
        };
        let (found, took) = parallel::all(threads, tasks.len(), &work);
        let mut alone = Alone { of_ways: vec![Vec::new(); largest.len()], tally: Tally::default() };
        for (&(way, packets), found) in tasks.iter().zip(found) {
            let (more_ps, tally) = found?;
            alone.of_ways[way].push((packets, more_ps));
            alone.tally = alone.tally + tally;
        }
        Ok((alone, took))
    }

    /// What a flow takes more, in ps.
    pub(super) fn excess_ps(&self, crossings: &Crossings, flow: usize) -> f64 {
        between(&self.of_ways[crossings.way_of[flow] as usize], crossings.packets[flow])
    }
}

fn sizes(largest: u64) -> Vec<u64> {
    let next = |&size: &u64| match size {
        size if size >= largest => None,
        size if size < EVERY_SIZE => Some(size + 1),
        size => Some((size + size / 2).min(largest)),
    };
    std::iter::successors(Some(1), next).collect()
}

/// Linear between the two nearest sizes.
fn between(points: &[(u64, f64)], packets: u64) -> f64 {
    let after = points.partition_point(|(size, _)| *size < packets);
    match (points.get(after.wrapping_sub(1)), points.get(after)) {
        (_, Some(&(size, more))) if size == packets => more,
        (Some(&(below, less)), Some(&(above, more))) => {
            less + (more - less) * (packets - below) as f64 / (above - below) as f64
        }
        (Some(&(_, last)), None) => last,
        (None, first) => first.map_or(0.0, |&(_, more)| more),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_reach_the_largest_and_values_lie_between() {
        assert_eq!(sizes(1), [1]);
        assert_eq!(sizes(40)[14..], [15, 16, 24, 36, 40]);
        let points = [(1, 0.0), (2, 10.0), (4, 30.0)];
        let found: Vec<f64> = (1..=5).map(|packets| between(&points, packets)).collect();
        assert_eq!(found, [0.0, 10.0, 20.0, 30.0, 30.0]);
    }
}

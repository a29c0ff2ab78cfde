//! Reverie (NSDI 2024): one pool for what is lossless and what is not, shared out not by what queues hold but by a
//! low-pass filter of it. So a burst may take what is free, and a queue that stays long may not.
//!
//! From the paper's abstract: one admission for both kinds of traffic, and the filter. From its authors' simulator
//! (inet-tub/ns3-datacenter 6ddb4a4, switch-mmu.cc): what is lossless is counted by the link that it came by, the rest by
//! the port that it leaves by, class by class; as a packet leaves, the filter moves by 1 - gamma towards what is left, and
//! never exceeds it; the threshold is alpha times what is free of the pool, divided by how many queues of the class are
//! congested; a lossless class beyond it goes into its headroom until that is empty, and is paused meanwhile.
//!
//! What differs from that code: its filters are whole bytes, rounded down, so that one with gamma = 0.999 stays up to
//! 1000 B short. There a queue counts as congested by its filter as its last packet came, here by its filter. There a
//! link that has sent nothing on may fill the pool beyond its size, here it goes into its headroom. Its alpha of
//! unscheduled packets has no counterpart, as with ABM.

use super::{CLASSES, Filter};
use crate::narrow::saturated;

/// Below this a filter does not keep its class paused (switch-mmu.cc: xon).
pub(super) const RESUME_BELOW_BYTES: f64 = 1_248.0;

/// What is one congested queue.
const ONE_Q20: u64 = 1 << 20;

/// What a class of a link, or of a port, has in the buffer.
#[derive(Clone, Copy, Debug, Default)]
struct Filtered {
    bytes: u64,
    /// Smoothed; never more than there is.
    smoothed_bytes: f64,
    /// How congested it is, of 2^20.
    congested_q20: u64,
}

/// All links into a switch, or all ports out of it, class by class.
#[derive(Clone, Debug)]
struct Side {
    queues: Vec<Filtered>,
    /// Of each class, over all.
    congested_q20: [u64; CLASSES],
}

/// Which side of a switch a packet is counted at, and which link or port of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    /// The link that it came by.
    In(usize),
    /// The port that it leaves by.
    Out(usize),
}

/// The filters of a switch.
#[derive(Clone, Debug)]
pub(super) struct Filters {
    gamma: f64,
    alpha: f64,
    saturation_bytes: f64,
    ingress: Side,
    egress: Side,
}

impl Filters {
    /// Those of a switch with so many links each way.
    pub(super) fn build(filter: &Filter, links: usize) -> Filters {
        let queues = vec![Filtered::default(); links * CLASSES];
        let side = Side { queues, congested_q20: [0; CLASSES] };
        Filters {
            gamma: filter.gamma,
            alpha: filter.alpha,
            saturation_bytes: filter.saturation_bytes as f64,
            ingress: side.clone(),
            egress: side,
        }
    }

    fn side(&self, at: At, class: usize) -> (&Side, usize) {
        match at {
            At::In(link) => (&self.ingress, link * CLASSES + class),
            At::Out(port) => (&self.egress, port * CLASSES + class),
        }
    }

    fn side_mut(&mut self, at: At, class: usize) -> (&mut Side, usize) {
        match at {
            At::In(link) => (&mut self.ingress, link * CLASSES + class),
            At::Out(port) => (&mut self.egress, port * CLASSES + class),
        }
    }

    /// What its filter says that a class has there.
    pub(super) fn smoothed(&self, at: At, class: usize) -> f64 {
        let (side, place) = self.side(at, class);
        side.queues[place].smoothed_bytes
    }

    /// Up to what its filter may say while so much of the pool is free.
    pub(super) fn threshold(&self, at: At, class: usize, free_bytes: u64) -> f64 {
        let (side, _) = self.side(at, class);
        let congested = side.congested_q20[class].max(ONE_Q20) as f64 / ONE_Q20 as f64;
        self.alpha * free_bytes as f64 / congested
    }

    /// A packet comes.
    pub(super) fn join(&mut self, at: At, class: usize, size: u64) {
        let (side, place) = self.side_mut(at, class);
        side.queues[place].bytes += size;
    }

    /// A packet leaves, and the filter moves.
    pub(super) fn leave(&mut self, at: At, class: usize, size: u64) {
        let (gamma, saturation_bytes) = (self.gamma, self.saturation_bytes);
        let (side, place) = self.side_mut(at, class);
        let queue = &mut side.queues[place];
        queue.bytes -= size;
        let left = queue.bytes as f64;
        queue.smoothed_bytes = (gamma * queue.smoothed_bytes + (1.0 - gamma) * left).min(left);
        let part = (queue.smoothed_bytes / saturation_bytes).min(1.0);
        let before_q20 = queue.congested_q20;
        queue.congested_q20 = saturated::<u64>(part * ONE_Q20 as f64);
        side.congested_q20[class] = side.congested_q20[class] + queue.congested_q20 - before_q20;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters(gamma: f64, alpha: f64) -> Filters {
        Filters::build(&Filter { gamma, alpha, saturation_bytes: 2_000 }, 3)
    }

    /// 0.5 * 0 + 0.5 * 3000, 0.5 * 1500 + 0.5 * 2000, then 0.5 * 1750 + 0.5 * 1000, of which only 1000 are there.
    #[test]
    fn a_filter_follows_what_leaves_and_never_exceeds_what_is_left() {
        for at in [At::In(1), At::Out(2)] {
            let mut filters = filters(0.5, 1.0);
            filters.join(at, 3, 4_000);
            assert_eq!(filters.smoothed(at, 3), 0.0, "what comes does not move it");
            let mut after = || {
                filters.leave(at, 3, 1_000);
                filters.smoothed(at, 3)
            };
            assert_eq!([after(), after(), after(), after()], [1_500.0, 1_750.0, 1_000.0, 0.0]);
        }
    }

    /// Two links have 1.5 congested queues together: one with 2000 B or more, one with 1000 B. Others are apart.
    #[test]
    fn a_threshold_is_divided_by_the_congested_queues_of_its_class_and_side() {
        let mut filters = filters(0.0, 0.5);
        for (link, bytes) in [(0, 9_000), (1, 1_000)] {
            filters.join(At::In(link), 3, bytes + 500);
            filters.leave(At::In(link), 3, 500);
        }
        assert_eq!(filters.threshold(At::In(2), 3, 30_000), 10_000.0);
        assert_eq!(filters.threshold(At::In(2), 2, 30_000), 15_000.0);
        assert_eq!(filters.threshold(At::Out(0), 3, 30_000), 15_000.0);
        filters.leave(At::In(0), 3, 9_000);
        assert_eq!(filters.threshold(At::In(2), 3, 30_000), 15_000.0, "less than one counts as one");
    }
}

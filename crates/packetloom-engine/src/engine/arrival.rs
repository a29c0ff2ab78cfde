//! What arrives at a node in a window, and in which order.

use crate::packets::PacketId;
use crate::units::Time;
use std::hint::select_unpredictable;

/// Arrivals are sorted by one number: time since the window began, above the link's number at the node.
const LINK_BITS: u32 = 20;

/// How long a window may be, so that a time within it fits: 17.6 s.
pub(super) const LONGEST_WINDOW: Time = Time(1 << (u64::BITS - LINK_BITS));

/// What links' numbers are combined with, so that which of two links goes first at equal times changes from moment
/// to moment. Otherwise a link would always win over those with higher numbers, and exact ties are the rule where
/// equal packets follow the clock of one bottleneck: its flows would get more (Floyd and Jacobson, "On traffic phase
/// effects in packet-switched gateways", 1992).
#[inline]
fn turn(at: Time) -> u64 {
    at.as_ps().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - LINK_BITS)
}

/// A packet that arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// What arrives first has the smallest.
    order: u64,
    /// The packet.
    pub id: PacketId,
    /// The node, among those of its shard.
    pub node: u32,
}

impl Arrival {
    /// A packet that arrives at a time, `into_window` after its window began, by one of the node's links.
    #[inline]
    pub(super) fn new(into_window: Time, at: Time, (node, link): (u32, u32), id: PacketId) -> Arrival {
        let order = into_window.as_ps() << LINK_BITS | (u64::from(link) ^ turn(at));
        Arrival { order, id, node }
    }

    /// When.
    #[inline]
    pub(super) fn at(&self, window_start: Time) -> Time {
        Time(window_start.as_ps() + (self.order >> LINK_BITS))
    }

    /// Whether another of the same window arrives at the same instant.
    #[inline]
    pub(super) fn is_with(&self, other: Arrival) -> bool {
        self.order >> LINK_BITS == other.order >> LINK_BITS
    }

    /// Whether it arrives before another one at its node.
    #[inline]
    pub(super) fn is_before(&self, other: Arrival) -> bool {
        self.order < other.order
    }

    /// The link that it comes by, among those of the node.
    #[inline]
    pub(super) fn link(&self, window_start: Time) -> u32 {
        ((self.order ^ turn(self.at(window_start))) & ((1 << LINK_BITS) - 1)) as u32
    }
}

/// Puts arrivals at several nodes in order of time; of one moment, those of a node together, as they are in order there.
pub(super) fn sort_by_time(arrivals: &mut [Arrival]) {
    arrivals.sort_unstable_by_key(|arrival| (arrival.order >> LINK_BITS, arrival.node, arrival.order));
}

/// Where more arrive at a node in a window, one that is out of order may have far to go.
const MANY: usize = 160;

/// Puts arrivals in order that nearly are.
#[inline]
pub(super) fn sort(arrivals: &mut [Arrival]) {
    if arrivals.len() > MANY {
        return arrivals.sort_unstable_by_key(|arrival| arrival.order);
    }
    // One step back is taken without a branch, as the processor can't foresee it; few arrivals have further to go.
    let Some(&(mut last)) = arrivals.first() else { return };
    let mut before = 0;
    for nth in 1..arrivals.len() {
        let arrival = arrivals[nth];
        let is_late = arrival.order < last.order;
        let earlier = select_unpredictable(is_late, arrival, last);
        last = select_unpredictable(is_late, last, arrival);
        arrivals[nth - 1] = earlier;
        if earlier.order < before {
            put_back(&mut arrivals[..nth]);
        }
        before = arrivals[nth - 1].order;
    }
    if let Some(end) = arrivals.last_mut() {
        *end = last;
    }
}

/// Puts the last arrival in order among those before it.
#[inline]
fn put_back(arrivals: &mut [Arrival]) {
    let Some(&arrival) = arrivals.last() else { return };
    let mut place = arrivals.len() - 1;
    while place > 0 && arrivals[place - 1].order > arrival.order {
        arrivals[place] = arrivals[place - 1];
        place -= 1;
    }
    arrivals[place] = arrival;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn arrivals_come_in_order_whatever_it_was() {
        let mut random = Stream::new(3, Purpose::Queue, 0);
        for round in 0..3_000 {
            // From nearly in order to none.
            let (count, spread) = (random.below(40), 1 + random.below(60));
            let arrival = |nth: u32, late: u32| Arrival { order: (nth + late).into(), ..Arrival::default() };
            let mut arrivals: Vec<Arrival> =
                (0..count).map(|nth| arrival(nth, random.below(spread))).collect();
            let mut expected = arrivals.clone();
            expected.sort_by_key(|arrival| arrival.order);
            sort(&mut arrivals);
            assert_eq!(arrivals, expected, "round {round}");
        }
    }
}

//! In which order a flow's packets arrive, and by how many ways: measured between hosts, whatever the transport.
//!
//! Senders' hosts number the data packets of each flow as they send them, so what is sent again has a number of its
//! own, and a packet that is lost makes none late.

use crate::flow::FlowId;
use crate::packet_tag::Stamp;
use std::collections::BTreeMap;

/// What came out of order of a flow, as RFC 4737 counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reordering {
    /// Packets that arrived after one that was sent later (§3.3).
    pub packets: u32,
    /// How many packets arrived since the first of those, at most (§4.2.1, the extent).
    pub most_packets: u32,
    /// The bytes of these: what a receiver has to hold to put the flow in order (§4.2.3, the byte offset).
    pub most_bytes: u64,
    /// How often a packet arrived by another way than the one before it.
    pub path_changes: u32,
}

/// Numbers for what flows send.
#[derive(Clone, Debug, Default)]
pub struct Numbers(BTreeMap<FlowId, u32>);

impl Numbers {
    /// The next of a flow.
    pub fn next(&mut self, flow: FlowId) -> u32 {
        let next = self.0.entry(flow).or_default();
        *next += 1;
        *next - 1
    }
}

/// The arrival of the first packet beyond a gap in the numbers.
#[derive(Clone, Copy, Debug)]
struct Beyond {
    number: u32,
    /// How many packets, and bytes, had arrived before it.
    packets: u32,
    bytes: u64,
}

#[derive(Clone, Debug, Default)]
struct Arrived {
    packets: u32,
    bytes: u64,
    /// The next number that is in order.
    expected: u32,
    /// Where numbers were left out at first, in ascending order.
    gaps: Vec<Beyond>,
    way: Option<u32>,
    so_far: Reordering,
}

/// What arrives at a host, flow by flow.
#[derive(Clone, Debug, Default)]
pub struct Arrivals(BTreeMap<FlowId, Arrived>);

impl Arrivals {
    /// A data packet arrives.
    pub fn note(&mut self, flow: FlowId, stamp: Stamp, size_bytes: u16) {
        self.0.entry(flow).or_default().note(stamp, size_bytes);
    }

    /// What came of each flow.
    pub fn flows(&self) -> impl Iterator<Item = (FlowId, Reordering)> + '_ {
        self.0.iter().map(|(&flow, arrived)| (flow, arrived.so_far))
    }
}

impl Arrived {
    fn note(&mut self, Stamp { number, way }: Stamp, size_bytes: u16) {
        if number > self.expected {
            self.gaps.push(Beyond { number, packets: self.packets, bytes: self.bytes });
        }
        if number >= self.expected {
            self.expected = number + 1;
        } else {
            // It was left out before the first of the packets beyond it.
            let beyond = self.gaps.partition_point(|beyond| beyond.number < number);
            if let Some(first) = self.gaps.get(beyond) {
                let so_far = &mut self.so_far;
                so_far.packets += 1;
                so_far.most_packets = so_far.most_packets.max(self.packets - first.packets);
                so_far.most_bytes = so_far.most_bytes.max(self.bytes - first.bytes);
            }
        }
        if self.way.replace(way).is_some_and(|before| before != way) {
            self.so_far.path_changes += 1;
        }
        self.packets += 1;
        self.bytes += u64::from(size_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reordering(numbers: &[u32]) -> (u32, u32, u64) {
        let mut arrivals = Arrivals::default();
        numbers.iter().for_each(|&number| arrivals.note(1, Stamp { number, way: 0 }, 1_000));
        let (_, found) = arrivals.flows().next().expect("one flow");
        (found.packets, found.most_packets, found.most_bytes)
    }

    #[test]
    fn what_is_late_is_counted_with_what_came_in_its_place() {
        assert_eq!(reordering(&[0, 1, 2, 3]), (0, 0, 0));
        // RFC 4737 §4.2.1's kind of example: 4 arrives after 5, 6 and 7.
        assert_eq!(reordering(&[0, 1, 2, 3, 5, 6, 7, 4, 8]), (1, 3, 3_000));
        assert_eq!(reordering(&[1, 0, 3, 2]), (2, 1, 1_000));
        assert_eq!(reordering(&[3, 0, 1, 2]), (3, 3, 3_000));
        // 2 and 6 are lost.
        assert_eq!(reordering(&[0, 1, 3, 4, 5, 7]), (0, 0, 0));
        assert_eq!(reordering(&[0, 3, 4, 9, 2, 8, 1]), (3, 5, 5_000));
    }

    #[test]
    fn ways_that_change_are_counted() {
        let mut arrivals = Arrivals::default();
        for (number, way) in [(0, 1), (1, 1), (2, 5), (3, 1), (4, 1)] {
            arrivals.note(1, Stamp { number, way }, 1_000);
        }
        assert_eq!(arrivals.flows().next().map(|(_, found)| found.path_changes), Some(2));
        let (mut one, mut other) = (Stamp::default(), Stamp::default());
        one.take(3);
        other.take(4);
        assert_ne!(one, other);
    }
}

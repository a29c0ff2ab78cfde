//! The priority level of an unscheduled packet: by how much of its message is left, or by the message's size.
//!
//! The levels carry equal bytes (SIGCOMM 2018 §3.4). What counts is the bytes of blind packets and of the ends of
//! messages, whose level is raised (`tail_boost`); on the first level grants and other control packets, too.

use super::layout::Layout;
use std::collections::BTreeMap;

/// How many bytes pass at each remaining size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights(BTreeMap<u64, f64>);

impl Weights {
    /// Those of messages of these sizes, each with its share of all messages.
    pub fn of(shares: &[(u64, f64)], layout: &Layout, tail_bytes: u64, acknowledged: bool) -> Weights {
        let mut weights = Weights::default();
        for &(size_bytes, share) in shares {
            weights.add((size_bytes, share), layout, tail_bytes, acknowledged);
        }
        weights
    }

    /// Adds so many messages of a size.
    pub fn add(
        &mut self,
        (size_bytes, times): (u64, f64),
        layout: &Layout,
        tail_bytes: u64,
        acknowledged: bool,
    ) {
        let (packets, blind) = (layout.packets(size_bytes), layout.blind(size_bytes));
        let all = layout.wire_bytes(packets, size_bytes);
        // A grant for each packet that is not blind, and perhaps an acknowledgement at the end.
        let words = u64::from(packets - blind) + u64::from(acknowledged);
        let word_bytes = layout.control_bytes + layout.framing_bytes;
        *self.0.entry(0).or_default() += times * (words * word_bytes) as f64;
        // No packet is smaller than its header, so the tail begins no earlier than this.
        let most = tail_bytes / (layout.header_bytes + layout.framing_bytes + 1) + 1;
        let full = tail_bytes / (layout.payload_bytes + layout.header_bytes + layout.framing_bytes);
        let in_tail = u32::try_from(most.min(full + 2)).unwrap_or(u32::MAX);
        let tail = packets.saturating_sub(in_tail).max(blind);
        for seq in (0..blind).chain(tail..packets) {
            let left_on_wire = all - layout.wire_bytes(seq, size_bytes);
            if seq < blind || left_on_wire < tail_bytes {
                let left = size_bytes - layout.before(seq, size_bytes);
                let bytes = layout.packet_bytes(seq, size_bytes) + layout.framing_bytes;
                *self.0.entry(left).or_default() += times * bytes as f64;
            }
        }
    }

    /// Halves all of them, so that what was long ago counts less.
    pub fn fade(&mut self) {
        self.0.values_mut().for_each(|weight| *weight /= 2.0);
    }

    /// The cutoffs that part them into so many levels of equal weight; one less than there are levels, or fewer
    /// still where there are not as many sizes.
    pub fn cut(&self, levels: u64) -> Vec<u64> {
        let total: f64 = self.0.values().sum();
        let mut cutoffs = Vec::new();
        let mut sum = 0.0;
        for (&left, weight) in &self.0 {
            sum += weight;
            let nth = cutoffs.len() as u64 + 1;
            // A size that fills several levels is the cutoff of one of them only.
            if nth < levels && sum * levels as f64 >= total * nth as f64 {
                cutoffs.push(left);
            }
        }
        cutoffs
    }
}

/// How many of so many levels are for blind packets: as large a part as blind bytes are of all (§3.4), one of each
/// kind at least.
pub fn blind_levels(shares: &[(u64, f64)], layout: &Layout, levels: u64) -> u64 {
    let sum = |packets: fn(&Layout, u64) -> u32| -> f64 {
        let bytes =
            |&(size, share): &(u64, f64)| share * layout.wire_bytes(packets(layout, size), size) as f64;
        shares.iter().map(bytes).sum()
    };
    let share = sum(Layout::blind) / sum(Layout::packets).max(1.0);
    ((share * levels as f64).round() as u64).clamp(1, levels - 1)
}

/// The level of a packet with so much left.
#[inline]
pub fn level(cutoffs: &[u64], left_bytes: u64) -> u8 {
    cutoffs.partition_point(|&cutoff| cutoff < left_bytes) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The simulator's.
    const LAYOUT: Layout = Layout {
        payload_bytes: 1_456,
        header_bytes: 44,
        blind_header_bytes: 14,
        blind_bytes: 9_328,
        framing_bytes: 38,
        control_bytes: 46,
    };

    #[test]
    fn one_size_of_one_packet_is_the_cutoff_of_one_level() {
        let weights = Weights::of(&[(1_442, 1.0)], &LAYOUT, 10_000, true);
        assert_eq!(weights.cut(7), [1_442]);
        assert_eq!([1, 1_442, 1_443].map(|left| level(&[1_442], left)), [0, 0, 1]);
    }

    #[test]
    fn levels_carry_equal_bytes() {
        // Evenly many messages of each size up to six packets.
        let shares: Vec<(u64, f64)> = (1..=8_652).map(|size| (size, 1.0 / 8_652.0)).collect();
        let cutoffs = Weights::of(&shares, &LAYOUT, 10_000, true).cut(4);
        let mut bytes = [0.0; 4];
        for &(size, share) in &shares {
            bytes[0] += share * 84.0;
            for seq in 0..LAYOUT.packets(size) {
                let left = size - LAYOUT.before(seq, size);
                bytes[usize::from(level(&cutoffs, left))] +=
                    share * (LAYOUT.packet_bytes(seq, size) + 38) as f64;
            }
        }
        let average = bytes.iter().sum::<f64>() / 4.0;
        assert!(bytes.iter().all(|of| (of / average - 1.0).abs() < 0.01), "{bytes:?}");
    }

    #[test]
    fn of_long_messages_only_the_first_window_and_the_end_count() {
        let weights = Weights::of(&[(1_000_000, 1.0)], &LAYOUT, 10_000, true);
        let sizes: Vec<u64> = weights.0.keys().copied().collect();
        // Control packets, seven packets at the end (one byte less than 10 000 on the wire), and seven blind ones.
        assert_eq!((sizes.len(), sizes[0], sizes[14]), (15, 0, 1_000_000));
        assert!(sizes[7] < 10_000 && sizes[8] == 1_000_000 - 6 * 1_442, "{sizes:?}");
        assert_eq!(blind_levels(&[(1_000_000, 1.0)], &LAYOUT, 8), 1);
        assert_eq!(blind_levels(&[(100, 1.0)], &LAYOUT, 8), 7);
    }
}

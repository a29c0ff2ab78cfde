//! The priority level of an unscheduled packet: by how much of its message is left, or by the message's size.
//!
//! The levels carry equal bytes (SIGCOMM 2018 §3.4). What counts is the bytes of blind packets and of the ends of
//! messages, whose level is raised (`tail_boost`); on the first level grants and other control packets, too.

use super::layout::Layout;
use crate::narrow::{exact, saturated};
use std::collections::BTreeMap;

/// What of a message counts, and by which size.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    pub layout: Layout,
    /// So much of its end, on the wire.
    pub tail_bytes: u64,
    /// Whether there is an acknowledgement.
    pub acknowledged: bool,
    /// Whether a packet counts by what is left of its message before it (HomaSimulation: remainSizeCbf), and not by
    /// the message's size (cbfLastCapBytes).
    pub by_packet: bool,
}

/// How many bytes pass at each size, of what is left or of the message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights(BTreeMap<u64, f64>);

impl Weights {
    /// Those of messages of these sizes, each with its share of all messages.
    pub fn of(shares: &[(u64, f64)], counted: &Counted) -> Weights {
        let mut weights = Weights::default();
        for &messages in shares {
            weights.add(messages, counted);
        }
        weights
    }

    /// Adds so many messages of a size.
    pub fn add(&mut self, (size_bytes, times): (u64, f64), counted: &Counted) {
        let &Counted { layout, tail_bytes, acknowledged, by_packet } = counted;
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
                let before = if by_packet { layout.before(seq, size_bytes) } else { 0 };
                let bytes = layout.packet_bytes(seq, size_bytes) + layout.framing_bytes;
                *self.0.entry(size_bytes - before).or_default() += times * bytes as f64;
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
        for (&size, weight) in &self.0 {
            sum += weight;
            let nth = cutoffs.len() as u64 + 1;
            // A size that fills several levels is the cutoff of one of them only.
            if nth < levels && sum * levels as f64 >= total * nth as f64 {
                cutoffs.push(size);
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
    saturated::<u64>((share * levels as f64).round()).clamp(1, levels - 1)
}

/// The level of a packet with so much left, or of a message of this size.
#[inline]
pub fn level(cutoffs: &[u64], bytes: u64) -> u8 {
    exact::<u8>(cutoffs.partition_point(|&cutoff| cutoff < bytes))
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
    const COUNTED: Counted =
        Counted { layout: LAYOUT, tail_bytes: 10_000, acknowledged: true, by_packet: true };

    #[test]
    fn one_size_of_one_packet_is_the_cutoff_of_one_level() {
        let weights = Weights::of(&[(1_442, 1.0)], &COUNTED);
        assert_eq!(weights.cut(7), [1_442]);
        assert_eq!([1, 1_442, 1_443].map(|left| level(&[1_442], left)), [0, 0, 1]);
    }

    #[test]
    fn levels_carry_equal_bytes() {
        // Evenly many messages of each size up to six packets.
        let shares: Vec<(u64, f64)> = (1..=8_652).map(|size| (size, 1.0 / 8_652.0)).collect();
        let cutoffs = Weights::of(&shares, &COUNTED).cut(4);
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
        let weights = Weights::of(&[(1_000_000, 1.0)], &COUNTED);
        let sizes: Vec<u64> = weights.0.keys().copied().collect();
        // Control packets, seven packets at the end (one byte less than 10 000 on the wire), and seven blind ones.
        assert_eq!((sizes.len(), sizes[0], sizes[14]), (15, 0, 1_000_000));
        assert!(sizes[7] < 10_000 && sizes[8] == 1_000_000 - 6 * 1_442, "{sizes:?}");
        assert_eq!(blind_levels(&[(1_000_000, 1.0)], &LAYOUT, 8), 1);
        assert_eq!(blind_levels(&[(100, 1.0)], &LAYOUT, 8), 7);
    }

    #[test]
    fn by_message_the_same_bytes_count_by_its_size() {
        let shares = [(1_000, 0.5), (20_000, 0.3), (1_000_000, 0.2)];
        let by_packet = Weights::of(&shares, &COUNTED);
        let by_message = Weights::of(&shares, &Counted { by_packet: false, ..COUNTED });
        assert_eq!(by_message.0.keys().copied().collect::<Vec<_>>(), [0, 1_000, 20_000, 1_000_000]);
        let [apart, together] = [by_packet, by_message].map(|weights| weights.0.into_values().sum::<f64>());
        assert!((apart / together - 1.0).abs() < 1e-12, "{apart} {together}");
        // A packet; and on the wire 10 000 bytes at the beginning and, of seven packets, 9902 at the end.
        let of_one = |size| Weights::of(&[(size, 1.0)], &Counted { by_packet: false, ..COUNTED }).0[&size];
        assert_eq!([of_one(1_000), of_one(1_000_000)], [1_096.0, 19_902.0]);
    }
}

//! What arrived of a flow, and when to acknowledge it: acknowledgements cover everything up to a gap, and 64
//! packets beyond it.

use super::header::{Ack, Header};
use crate::packet::Packet;
use crate::reassembly::Reassembly;

/// How many packets before the one answered a bitmap may begin: it has 64 bits.
const BEFORE: u32 = 63;

/// A data packet, as far as this cares.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its number.
    pub seq: u32,
    /// Whether it is the flow's last.
    pub last: bool,
    /// Its bytes with its header.
    pub size_bytes: u16,
    /// It was marked.
    pub marked: bool,
    /// Its sender wants an acknowledgement at once.
    pub requests_ack: bool,
}

impl Arrival {
    /// What a packet is, if it is data.
    #[inline]
    pub fn of(packet: &Packet<Header>) -> Option<Arrival> {
        let Header::Data { seq, packets, requests_ack, .. } = packet.header else { return None };
        let (size_bytes, marked) = (packet.size_bytes, packet.congestion_experienced);
        Some(Arrival { seq, last: seq + 1 == packets, size_bytes, marked, requests_ack })
    }
}

/// The packets of a flow that are there.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    packets: Reassembly,
    /// Bytes of all that came since the last acknowledgement.
    unacknowledged: u32,
    /// Bytes of all that came for the first time, modulo 2^32.
    received: u32,
    has_any: bool,
    /// The sender has requested an acknowledgement, and gets another once no gap is left.
    ack_requested: bool,
}

impl Arrivals {
    /// Takes in a packet; returns where the bitmap of its acknowledgement begins, if one is due: after so many
    /// bytes since the last one, and at once for a packet that is marked, requests it, is the first, or came
    /// before.
    pub fn take(&mut self, arrival: Arrival, ack_after: u32) -> Option<u32> {
        let Arrival { seq, last, size_bytes, marked, requests_ack } = arrival;
        self.unacknowledged += u32::from(size_bytes);
        if self.has(seq) {
            self.unacknowledged = 0;
            return Some(if marked { seq } else { self.base(seq) });
        }
        let is_first = !std::mem::replace(&mut self.has_any, true);
        self.received = self.received.wrapping_add(size_bytes.into());
        self.ack_requested |= requests_ack;
        let fills_gap = seq == self.packets.next();
        self.packets.add(seq, last);
        let ends_gaps = fills_gap && self.ack_requested && self.packets.above().is_empty();
        self.ack_requested &= !ends_gaps;
        if !(marked || requests_ack || is_first || ends_gaps || self.unacknowledged >= ack_after) {
            return None;
        }
        self.unacknowledged = 0;
        Some(if marked || requests_ack { seq } else { self.base(seq) })
    }

    /// Whether a packet is there.
    pub fn has(&self, seq: u32) -> bool {
        seq < self.packets.next() || self.packets.above().contains(seq)
    }

    /// Whether all are.
    pub fn are_whole(&self) -> bool {
        self.packets.whole().is_some()
    }

    /// How many the flow has, if all are there; otherwise how many are in order.
    pub fn packets(&self) -> u32 {
        self.packets.next()
    }

    /// Where a bitmap begins that is to end with this packet, but not before the first gap's end.
    pub fn base(&self, seq: u32) -> u32 {
        seq.saturating_sub(BEFORE).max(self.packets.next() + 1)
    }

    /// An acknowledgement with a bitmap from `base` on.
    pub fn ack(&self, base: u32, of: Ack) -> Ack {
        Ack {
            bitmap: self.packets.above().bits_from(base),
            base,
            next: self.packets.next(),
            received: self.received,
            out_of_order: self.packets.above().len(),
            ..of
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::Answers;
    use super::*;

    const BLANK: Ack = Ack {
        bitmap: 0,
        base: 0,
        next: 0,
        seq: 0,
        received: 0,
        out_of_order: 0,
        path: 0,
        marked: false,
        answers: Answers::Data,
    };

    fn data(seq: u32) -> Arrival {
        Arrival { seq, last: false, size_bytes: 4_160, marked: false, requests_ack: false }
    }

    fn acked(arrivals: &mut Arrivals, packets: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let is_acked = |seq: &u32| arrivals.take(data(*seq), 16_384).is_some();
        packets.into_iter().filter(is_acked).collect()
    }

    #[test]
    fn the_first_packet_and_then_one_in_four_is_acknowledged() {
        let mut arrivals = Arrivals::default();
        assert_eq!(acked(&mut arrivals, 0..13), [0, 4, 8, 12]);
        assert_eq!(arrivals.ack(13, BLANK).next, 13);
        assert_eq!(arrivals.ack(13, BLANK).received, 13 * 4_160);
    }

    #[test]
    fn marks_questions_and_duplicates_are_answered_at_once() {
        let mut arrivals = Arrivals::default();
        arrivals.take(data(0), 16_384);
        assert_eq!(arrivals.take(Arrival { marked: true, ..data(3) }, 16_384), Some(3));
        assert_eq!(arrivals.take(Arrival { requests_ack: true, ..data(5) }, 16_384), Some(5));
        assert_eq!(arrivals.take(data(5), 16_384), Some(2));
        assert_eq!(arrivals.take(data(4), 16_384), None);
        let ack = arrivals.ack(2, BLANK);
        assert_eq!((ack.next, ack.bitmap, ack.out_of_order), (1, 0b1110, 3));
        assert_eq!(ack.received, 4 * 4_160, "a duplicate counts once");
    }

    #[test]
    fn who_asked_hears_again_when_the_last_gap_is_filled() {
        let mut arrivals = Arrivals::default();
        arrivals.take(data(0), 16_384);
        arrivals.take(Arrival { requests_ack: true, last: true, ..data(3) }, 16_384);
        assert_eq!(acked(&mut arrivals, [2, 1]), [1]);
        assert!(arrivals.are_whole());
    }

    #[test]
    fn a_bitmap_ends_with_the_packet_answered_where_gaps_are_far_behind() {
        let mut arrivals = Arrivals::default();
        acked(&mut arrivals, 1..201);
        assert_eq!((arrivals.base(200), arrivals.base(20)), (137, 1));
        assert_eq!(arrivals.ack(137, BLANK).bitmap, u64::MAX);
        assert_eq!(arrivals.ack(190, BLANK).bitmap, (1 << 11) - 1);
    }
}

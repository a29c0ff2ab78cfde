//! How a message is cut into packets: blind ones, which are sent without a grant and have longer headers, and those
//! that are granted.

use crate::narrow::narrow;

/// The sizes of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Payload and header of a granted packet.
    pub payload_bytes: u64,
    pub header_bytes: u64,
    /// What a blind packet's header has beyond that; so much less payload it carries.
    pub blind_header_bytes: u64,
    /// How much of a message goes without a grant.
    pub blind_bytes: u64,
    /// What links add to every packet.
    pub framing_bytes: u64,
    /// A packet without payload.
    pub control_bytes: u64,
}

impl Layout {
    fn blind_payload(&self) -> u64 {
        self.payload_bytes - self.blind_header_bytes
    }

    /// How many packets a message has.
    pub fn packets(&self, size_bytes: u64) -> u32 {
        let granted_bytes = size_bytes.saturating_sub(self.blind_bytes);
        self.blind(size_bytes) + narrow::<u32>(granted_bytes.div_ceil(self.payload_bytes))
    }

    /// How many of them are blind.
    #[inline]
    pub fn blind(&self, size_bytes: u64) -> u32 {
        narrow::<u32>(size_bytes.min(self.blind_bytes).div_ceil(self.blind_payload()))
    }

    /// How many bytes of a message come before a packet; of the one after the last: all.
    #[inline]
    pub fn before(&self, seq: u32, size_bytes: u64) -> u64 {
        let blind = self.blind(size_bytes);
        let before = if seq < blind {
            u64::from(seq) * self.blind_payload()
        } else {
            size_bytes.min(self.blind_bytes) + u64::from(seq - blind) * self.payload_bytes
        };
        before.min(size_bytes)
    }

    /// The size of a packet, without framing.
    #[inline]
    pub fn packet_bytes(&self, seq: u32, size_bytes: u64) -> u64 {
        let blind_header = if seq < self.blind(size_bytes) { self.blind_header_bytes } else { 0 };
        let payload = self.before(seq + 1, size_bytes) - self.before(seq, size_bytes);
        payload + self.header_bytes + blind_header
    }

    /// What so many packets of a message, its first, take of a link.
    pub fn wire_bytes(&self, packets: u32, size_bytes: u64) -> u64 {
        let blind = packets.min(self.blind(size_bytes));
        self.before(packets, size_bytes)
            + u64::from(packets) * (self.header_bytes + self.framing_bytes)
            + u64::from(blind) * self.blind_header_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The simulator's.
    pub const SIMULATOR: Layout = Layout {
        payload_bytes: 1_456,
        header_bytes: 44,
        blind_header_bytes: 14,
        blind_bytes: 9_328,
        framing_bytes: 38,
        control_bytes: 46,
    };

    #[test]
    fn the_simulators_first_window_is_9328_bytes_which_are_10000_on_the_wire() {
        // Six packets of 1442 B and one of 676 B: 6 x 1538 + 772.
        assert_eq!([1, 1_442, 1_443, 9_328, 9_329].map(|size| SIMULATOR.blind(size)), [1, 1, 2, 7, 7]);
        assert_eq!(SIMULATOR.wire_bytes(7, 100_000), 10_000);
        assert_eq!((SIMULATOR.packet_bytes(0, 100_000), SIMULATOR.packet_bytes(6, 100_000)), (1_500, 734));
        assert_eq!((SIMULATOR.packet_bytes(7, 100_000), SIMULATOR.packet_bytes(7, 9_329)), (1_500, 45));
        assert_eq!((SIMULATOR.before(7, 100_000), SIMULATOR.before(8, 100_000)), (9_328, 10_784));
    }

    #[test]
    fn packets_add_up_to_the_message() {
        for size in [1, 1_442, 9_327, 9_328, 9_329, 10_784, 10_785, 1_000_000] {
            let packets = SIMULATOR.packets(size);
            let sum: u64 = (0..packets).map(|seq| SIMULATOR.packet_bytes(seq, size) + 38).sum();
            assert_eq!((SIMULATOR.before(packets, size), SIMULATOR.wire_bytes(packets, size)), (size, sum));
            assert!(SIMULATOR.before(packets - 1, size) < size, "{size}: no packet is empty");
        }
    }
}

//! How a message is cut into packets, and what these take of a link: credit counts every byte of that.

/// The sizes of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Payload of a full packet.
    pub payload_bytes: u64,
    /// Header of a data packet.
    pub header_bytes: u64,
    /// A packet without payload; none is smaller.
    pub least_bytes: u64,
    /// What links add to every packet.
    pub framing_bytes: u64,
}

impl Layout {
    /// How many packets a message has.
    pub fn packets(&self, size_bytes: u64) -> u64 {
        size_bytes.div_ceil(self.payload_bytes)
    }

    /// The payload of a packet of a message.
    #[inline]
    pub fn payload(&self, seq: u32, size_bytes: u64) -> u64 {
        let before = u64::from(seq) * self.payload_bytes;
        size_bytes.saturating_sub(before).min(self.payload_bytes)
    }

    /// The size of a packet with so much payload, without framing.
    #[inline]
    pub fn packet_bytes(&self, payload_bytes: u64) -> u64 {
        (payload_bytes + self.header_bytes).max(self.least_bytes)
    }

    /// What a packet of a message takes of a link.
    #[inline]
    pub fn wire_bytes(&self, seq: u32, size_bytes: u64) -> u64 {
        self.packet_bytes(self.payload(seq, size_bytes)) + self.framing_bytes
    }

    /// The same of a full packet.
    #[inline]
    pub fn full_bytes(&self) -> u64 {
        self.packet_bytes(self.payload_bytes) + self.framing_bytes
    }

    /// The same of the first packets of a message together.
    pub fn wire_bytes_of_first(&self, packets: u32, size_bytes: u64) -> u64 {
        let Some(last) = packets.checked_sub(1) else { return 0 };
        u64::from(last) * self.full_bytes() + self.wire_bytes(last, size_bytes)
    }

    /// The same of all of a message.
    pub fn message_bytes(&self, size_bytes: u64) -> u64 {
        let (full, rest) = (size_bytes / self.payload_bytes, size_bytes % self.payload_bytes);
        let last = if rest > 0 { self.packet_bytes(rest) + self.framing_bytes } else { 0 };
        full * self.full_bytes() + last
    }
}

#[cfg(test)]
pub mod testing {
    use super::Layout;

    /// The simulator's.
    pub const SIMULATOR: Layout =
        Layout { payload_bytes: 1_458, header_bytes: 42, least_bytes: 46, framing_bytes: 38 };
}

#[cfg(test)]
mod tests {
    use super::testing::SIMULATOR;

    #[test]
    fn packets_take_what_the_simulators_take() {
        // MAX_ETHERNET_FRAME_ON_WIRE, and MIN_ETHERNET_FRAME_ON_WIRE for payloads up to 4 B.
        assert_eq!(SIMULATOR.full_bytes(), 1_538);
        assert_eq!([1, 4, 5].map(|size| SIMULATOR.message_bytes(size)), [84, 84, 85]);
        assert_eq!(SIMULATOR.message_bytes(1_460), 1_538 + 84);
        // 68 full packets and one of 856 B.
        assert_eq!(SIMULATOR.message_bytes(100_000), 68 * 1_538 + 936);
        assert_eq!(SIMULATOR.wire_bytes_of_first(69, 100_000), SIMULATOR.message_bytes(100_000));
        assert_eq!(SIMULATOR.wire_bytes_of_first(2, 100_000), 2 * 1_538);
        assert_eq!((SIMULATOR.packets(1_458), SIMULATOR.packets(1_459)), (1, 2));
    }
}

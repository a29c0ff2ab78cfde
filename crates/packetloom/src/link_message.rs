//! What the two ends of a link say to each other, and how a packet carries it.

use crate::packet::{Kind, Packet};

/// A message from one end of a link to the other, below transports and routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkMessage {
    /// There is room for so many more bytes of a class; from a host: it returns so much of a loan.
    Credit {
        /// The class of the buffer.
        class: u8,
        /// How much.
        bytes: u32,
    },
}

impl LinkMessage {
    /// The packet that carries the message, of this size on the wire.
    pub fn packet<H: Default>(self, size_bytes: u16) -> Packet<H> {
        let LinkMessage::Credit { class, bytes } = self;
        Packet { class, priority: bytes, size_bytes, kind: Kind::Link, ..Packet::default() }
    }

    /// The message that a packet carries, if it is one between the ends of a link.
    pub fn of<H>(packet: &Packet<H>) -> Option<LinkMessage> {
        (packet.kind == Kind::Link)
            .then_some(LinkMessage::Credit { class: packet.class, bytes: packet.priority })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_carries_what_was_said() {
        let message = LinkMessage::Credit { class: 1, bytes: 1_500 };
        let packet: Packet<u64> = message.packet(40);
        assert_eq!((packet.size_bytes, LinkMessage::of(&packet)), (40, Some(message)));
        assert_eq!(LinkMessage::of(&Packet::<u64>::default()), None);
    }
}

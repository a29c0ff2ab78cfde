//! pHost's packet headers.

use crate::packet::Packet;

/// The header.
#[derive(Clone, Copy, Debug, Default)]
pub enum Header {
    /// A request to send: a flow has so many packets.
    Request {
        /// How many.
        packets: u32,
    },
    /// Data.
    Data {
        /// Its number in its flow.
        seq: u32,
        /// How many packets the flow has, as the request may come later, or never.
        packets: u32,
        /// The number of the token that it was sent for.
        token: u32,
    },
    /// Leave to send a packet.
    Token {
        /// The token's number in its flow; the free ones come first.
        number: u32,
        /// The packet.
        seq: u32,
        /// How many packets of the flow have not come.
        left: u32,
    },
    /// All packets are there.
    #[default]
    Done,
}

const _: () = assert!(size_of::<Packet<Header>>() <= 48, "what moves most should be small");

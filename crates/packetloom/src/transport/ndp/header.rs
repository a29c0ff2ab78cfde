//! What NDP's packets say.

use crate::packet::Packet;

/// What a packet is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Word {
    /// Data, or what is left of it.
    #[default]
    Data,
    /// This packet arrived.
    Ack,
    /// This packet's header arrived; send it again.
    Nack,
    /// Send.
    Pull,
}

/// The header.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    /// The data packet's number in its flow; its ACK or NACK repeats it.
    pub seq: u32,
    /// To the sender: every packet before this one arrived.
    pub ack: u32,
    /// To the sender: how many packets it may have sent beyond its first window. A count of all pulls so far, so a
    /// later pull makes up for a lost one (NDP §3.2).
    pub pull: u32,
    /// On data: how many packets the flow has; the last one is thereby marked (FIN).
    pub packets: u32,
    /// What it is for.
    pub word: Word,
    /// A packet of the first window: it may open the connection.
    pub syn: bool,
}

const _: () = assert!(size_of::<Packet<Header>>() <= 64, "a packet must fit a cache line");

//! NDP's packet headers.

use crate::packet::Packet;

/// The header.
#[derive(Clone, Copy, Debug)]
pub enum Header {
    /// Data, or what is left of it.
    Data {
        /// Its number in its flow.
        seq: u32,
        /// How many packets the flow has; the last one is thereby marked (FIN).
        packets: u32,
        /// A packet of the first window: it may open the connection.
        syn: bool,
    },
    /// Behind the first window, where nothing is trimmed (Aeolus).
    Probe {
        /// How many packets went before it.
        sent: u32,
        /// How many the flow has.
        packets: u32,
    },
    /// The probe arrived; `seq` is how many pulls had been sent by then.
    Probed(Reply),
    /// This packet arrived.
    Ack(Reply),
    /// This packet's header arrived; it must come again.
    Nack(Reply),
    /// Send; it is about no packet.
    Pull(Reply),
}

/// A receiver's answer.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// The packet that it is about.
    pub seq: u32,
    /// Every packet before this one arrived.
    pub next: u32,
    /// How many packets the sender may have sent beyond its first window. A count of all pulls so far, so a later
    /// pull makes up for a lost one (NDP §3.2); 0 where nothing is pulled.
    pub pulls: u32,
}

impl Default for Header {
    fn default() -> Header {
        Header::Data { seq: 0, packets: 0, syn: false }
    }
}

const _: () = assert!(size_of::<Packet<Header>>() <= 48, "what moves most should be small");

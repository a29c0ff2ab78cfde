//! NUMFabric's header (SIGCOMM 2016 §5). The virtual packet length is in [`Packet::priority`], as the inverse of the
//! weight: see the queue `weighted-fair`.

use crate::packet::Packet;
use crate::units::Time;

/// What packets carry. An answer repeats it.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// When the packet was sent that this is or answers.
    pub sent_at: Time,
    /// The packet's number in its flow.
    pub seq: u32,
    /// In an answer: every packet before this one arrived.
    pub next: u32,
    /// The sum of the prices of the links so far (pathPrice).
    pub price: f32,
    /// How far the sum of the prices is from the flow's marginal utility, as each link's part (normalizedResidual);
    /// infinite while the sender does not know.
    pub residual: f32,
    /// In an answer: the time between the packet that it answers and the flow's last one before it, at the receiver
    /// (interPacketTime); 0: there was none.
    pub gap_ps: f32,
    /// How many links (pathLen).
    pub links: u16,
    /// The flow's last packet.
    pub last: bool,
    /// Only asks for the price of the path, or answers such a packet.
    pub opens: bool,
}

const _: () = assert!(size_of::<Packet<Header>>() <= 64, "a packet must fit a cache line");

impl Default for Header {
    fn default() -> Header {
        Header {
            sent_at: Time::ZERO,
            seq: 0,
            next: 0,
            price: 0.0,
            residual: f32::INFINITY,
            gap_ps: 0.0,
            links: 0,
            last: false,
            opens: false,
        }
    }
}

//! ExpressPass's packet headers.

use crate::packet::Packet;
use crate::units::Time;

/// The header.
#[derive(Clone, Copy, Debug, Default)]
pub enum Header {
    /// A flow asks for credits.
    Request {
        /// Its size.
        size_bytes: u64,
        /// How many packets it has left to send.
        packets_left: u32,
    },
    /// Lets the flow send a packet.
    Credit {
        /// Its number among the flow's.
        number: u32,
        /// When it was sent.
        sent_at: Time,
    },
    /// Part of a flow.
    Data {
        /// The packet's number in its flow.
        seq: u32,
        /// Of the credit that it was sent for.
        number: u32,
        /// The same.
        sent_at: Time,
    },
    /// The same without a credit (Aeolus).
    Unscheduled {
        /// The packet's number in its flow.
        seq: u32,
    },
    /// Behind the last of these (Aeolus).
    Probe {
        /// How many there were: the flow's first ones.
        sent: u32,
    },
    /// A packet came that was sent without a credit.
    Came {
        /// Its number.
        seq: u32,
    },
    /// The probe came, so that whatever has not come before is lost.
    Probed {
        /// What it said.
        sent: u32,
    },
    /// The flow needs no more credits.
    Stop {
        /// Whether all of it was sent; if not, the credits under way do for the rest.
        is_last: bool,
    },
    /// The receiver misses packets: the flow goes on from there.
    Nack {
        /// The first of them.
        next: u32,
    },
    /// The receiver has all of the flow.
    #[default]
    Done,
}

const _: () = assert!(size_of::<Packet<Header>>() <= 64, "a packet is a cache line at most");

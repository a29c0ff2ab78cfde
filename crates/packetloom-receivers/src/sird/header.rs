//! SIRD's packet headers.

use crate::packet::Packet;

/// The header.
#[derive(Clone, Copy, Debug, Default)]
pub enum Header {
    /// Part of a message.
    Data {
        /// The packet's number in its message.
        seq: u32,
        /// For how many packets of the message its sender allotted itself credit.
        allotted: u32,
        /// The message's size.
        size_bytes: u64,
        /// The sender holds too much credit that it has not spent.
        marked: bool,
    },
    /// A message above the unscheduled limit asks for credit.
    Request {
        /// Its size.
        size_bytes: u64,
    },
    /// Credit for any message to the receiver.
    Credit {
        /// All that the receiver ever gave this sender, so that the next credit makes up for a lost one.
        total_bytes: u64,
    },
    /// The receiver misses these packets, as far as they were sent.
    Resend {
        /// From this packet.
        from: u32,
        /// Up to, not including, this one.
        to: u32,
        /// As in a credit.
        total_bytes: u64,
    },
    /// The sender of a message has heard nothing for long.
    Ask {
        /// As in data.
        allotted: u32,
        /// As in data.
        size_bytes: u64,
    },
    /// The receiver has all of the message.
    #[default]
    Done,
}

const _: () = assert!(size_of::<Packet<Header>>() <= 64, "a packet is a cache line at most");

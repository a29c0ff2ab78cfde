//! Homa's packet headers.

use crate::packet::Packet;

/// The header. Packets are counted from 0 in their message.
#[derive(Clone, Copy, Debug, Default)]
pub enum Header {
    /// Data.
    Data {
        /// Its number in its message.
        seq: u32,
        /// The message's size, by which a receiver knows what to grant.
        size_bytes: u64,
    },
    /// Every packet before this one may be sent, at this level.
    Grant {
        /// The first that may not.
        to: u32,
        /// The level.
        level: u8,
    },
    /// Behind the blind packets, where those may be dropped before others (Aeolus).
    Probe {
        /// The message's size, which says what went before it.
        size_bytes: u64,
    },
    /// This packet, which was lost without a grant, may be sent again, at this level (Aeolus).
    Again {
        /// Its number.
        seq: u32,
        /// The level.
        level: u8,
    },
    /// These packets have not come: send them again, or for the first time.
    Resend {
        /// The first of them.
        from: u32,
        /// The one after the last.
        to: u32,
    },
    /// The sender is alive and has others to send first.
    #[default]
    Busy,
    /// The sender has received nothing for long: how much of the message has arrived?
    Ask {
        /// The message's size, which says what was sent of it without a grant.
        size_bytes: u64,
    },
    /// All of the message is there.
    Done,
}

const _: () = assert!(size_of::<Packet<Header>>() <= 48, "what moves most should be small");

//! dcPIM's packet headers.

use super::choice::Channels;
use crate::packet::Packet;
use crate::units::Time;

/// The header.
#[derive(Clone, Copy, Debug, Default)]
pub enum Header {
    /// A flow has begun (the authors' RTS).
    Announce {
        /// How many packets it has.
        packets: u32,
        /// When it began; all hosts' clocks agree.
        start: Time,
    },
    /// A receiver asks a sender for channels.
    Request {
        /// The round that it belongs to.
        round: Round,
        /// What it asks for.
        channels: Channels,
        /// How many packets of the flow have not come.
        left: u32,
    },
    /// A sender offers channels to a receiver.
    Grant {
        /// The round that it belongs to.
        round: Round,
        /// What it offers.
        channels: Channels,
        /// As in the request.
        left: u32,
    },
    /// The receiver takes them.
    Accept {
        /// The round that it belongs to.
        round: Round,
        /// What it takes.
        channels: Channels,
    },
    /// The sender does not have as many (the authors' GrantsR).
    Release {
        /// The round of the accept.
        round: Round,
        /// What it takes back.
        channels: Channels,
    },
    /// Leave to send a packet.
    Token {
        /// The token's number in its flow; those that a short flow has from the start come first.
        number: u32,
        /// The packet.
        seq: u32,
        /// How many packets of the flow have not come.
        left: u32,
        /// Its level: the smallest goes first.
        level: u8,
        /// It is of use until then.
        until: Time,
    },
    /// Data.
    Data {
        /// Its number in its flow.
        seq: u32,
        /// How many packets the flow has, as its announcement may come later, or never.
        packets: u32,
        /// The number of the token that it was sent for.
        token: u32,
    },
    /// All packets are there.
    #[default]
    Done,
}

/// A round of a matching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Round {
    /// The epoch of the matching, from 1.
    pub epoch: u32,
    /// The round in it, from 0.
    pub nth: u8,
}

const _: () = assert!(size_of::<Packet<Header>>() <= 64, "a packet is a cache line at most");

//! The packet headers.

use crate::packet::Packet;

/// The header.
#[derive(Clone, Copy, Debug)]
pub enum Header {
    /// Data, or what is left of it.
    Data {
        /// Its number in its flow.
        seq: u32,
        /// How many packets the flow has.
        packets: u32,
        /// All the credit that the sender wants to have been given, in quanta.
        target: u32,
        /// The sender wants an acknowledgement at once.
        requests_ack: bool,
        /// It is sent again.
        again: bool,
    },
    /// What arrived.
    Ack(Ack),
    /// The packet's header arrived; it must come again.
    Nack(Nack),
    /// Credit: all that was given so far, in quanta, so that a later pull makes up for a lost one.
    Pull(u32),
    /// A request to be pulled from, for what a sender can't send.
    Rts {
        /// How many packets the flow has.
        packets: u32,
        /// As in data.
        target: u32,
    },
    /// A question what arrived.
    Probe {
        /// The answer repeats it.
        number: u32,
        /// How many packets the flow has.
        packets: u32,
    },
}

/// What is said of a trimmed packet.
#[derive(Clone, Copy, Debug)]
pub struct Nack {
    /// The packet.
    pub seq: u32,
    /// The entropy that it had.
    pub path: u16,
    /// It was trimmed before its last link.
    pub last_hop: bool,
    /// It was marked before that.
    pub marked: bool,
    /// It had been sent again.
    pub again: bool,
}

/// An acknowledgement's fields.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// The packets from `base` on that arrived, the first in the lowest bit.
    pub bitmap: u64,
    /// The first of the bitmap's.
    pub base: u32,
    /// Every packet before this one arrived.
    pub next: u32,
    /// The packet, or the probe, that it answers.
    pub seq: u32,
    /// All bytes that arrived so far, headers included, each packet once; modulo 2^32.
    pub received: u32,
    /// How many packets arrived beyond a gap.
    pub out_of_order: u32,
    /// The entropy that the packet had.
    pub path: u16,
    /// It was marked.
    pub marked: bool,
    /// What it answers.
    pub answers: Answers,
}

/// What an acknowledgement answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// Data sent for the first time.
    Data,
    /// Data sent again.
    Again,
    /// A request to be pulled from.
    Rts,
    /// A probe.
    Probe,
    /// Data that came beyond a gap and was discarded: the sender is to go back to `next`.
    Gap,
}

impl Default for Header {
    fn default() -> Header {
        Header::Pull(0)
    }
}

const _: () = assert!(size_of::<Packet<Header>>() <= 64, "a packet lies in a cache line");

//! Which entity draws: the numbers by which random streams of one purpose are kept apart.
//!
//! The source is in the top byte; below it, 0 is the source itself, and each other part has a bit of its own.

use crate::flow::HostId;

const CHAIN: u64 = 1 << 55;
const PERMUTATION: u64 = 1 << 54;
const JITTER: u64 = 1 << 53;
const SENDERS: u64 = 1 << 52;

const ANSWERS: u64 = 1 << 50;

/// Which hosts take part in which source, drawn once for all.
pub const MEMBERS: u64 = 1 << 51;

/// The traffic source itself.
pub const fn source(source: u8) -> u64 {
    (source as u64) << 56
}

/// Its permutation of hosts, which is drawn before any flow.
pub const fn permutation(of: u8) -> u64 {
    source(of) | PERMUTATION
}

/// The senders of its closed-loop incast, drawn before any flow.
pub const fn senders(of: u8) -> u64 {
    source(of) | SENDERS
}

/// The lengths of the answers to its requests.
pub const fn answers(of: u8) -> u64 {
    source(of) | ANSWERS
}

/// The jitter of its starts.
pub const fn jitter(of: u8) -> u64 {
    source(of) | JITTER
}

/// The `slot`-th chain of `host`, apart from the other hosts' and from how many there are.
pub const fn chain(of: u8, host: HostId, slot: u16) -> u64 {
    source(of) | CHAIN | ((slot as u64) << 32) | host as u64
}

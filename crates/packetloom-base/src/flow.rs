//! A flow: so many bytes from one host to another, from a start, perhaps by a deadline.

use crate::units::Time;

/// Which flow: unique in a simulation, the same whatever the machine or the number of threads.
pub type FlowId = u32;

/// Which host, counted from 0 in the topology's order.
pub type HostId = u32;

/// Senders number the packets of a flow, and count those that they send, in 32 bits. A flow has no more packets than
/// this, so that neither a window beyond its end nor a retransmission of all of it overflows.
pub const MOST_PACKETS: u64 = i32::MAX as u64;

/// A flow as a workload generates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// Its identity.
    pub id: FlowId,
    /// The sending host.
    pub src: HostId,
    /// The receiving host.
    pub dst: HostId,
    /// Application bytes to carry; at least one.
    pub size_bytes: u64,
    /// When the application hands it over.
    pub start: Time,
    /// When it should be complete, as a point in time; [`Time::NEVER`] for none.
    pub deadline: Time,
    /// The traffic class, for queues that know classes.
    pub class: u8,
    /// Which `[[workload]]` it comes from, counted from 0.
    pub source: u8,
    /// For a closed loop, the chain it belongs to: when this flow ends the chain's next one starts.
    pub chain: Option<u32>,
}

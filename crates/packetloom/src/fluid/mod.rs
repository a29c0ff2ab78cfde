//! Flow-level models of a fabric. In `srpt` and `max_min` only the hosts' links limit flows, and the fabric between
//! them never does; in `on_links` every link of a flow's path does.
//!
//! In the first two each host has a link out and a link in. A job is so much work to move from one host to another;
//! work is stated as the time that it takes alone, at the full rate of the slower of its two links, so that the models
//! know no bytes.

pub mod max_min;
pub mod on_links;
pub mod srpt;
#[cfg(test)]
mod tests;

use crate::flow::{FlowId, HostId};
use crate::units::Time;

/// A flow as these models see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Which flow.
    pub id: FlowId,
    /// The sending host.
    pub src: HostId,
    /// The receiving host.
    pub dst: HostId,
    /// How long it takes alone.
    pub work: Time,
    /// When it arrives.
    pub start: Time,
}

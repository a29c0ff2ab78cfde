//! What an engine is built from.

use super::FlowWatch;
use crate::fault::Faults;
use crate::queue::Specification;
use crate::record::QueueRecorder;
use crate::routing::FlowPorts;
use crate::spec::Values;
use crate::topology::Topology;
use crate::units::Time;
use std::collections::BTreeSet;

/// Everything an engine is built from.
pub struct Plan<'a> {
    /// The network.
    pub topology: &'a Topology,
    /// The queue of every switch port.
    pub queue: &'a Specification,
    /// The queue of every host's NIC.
    pub nic: &'a Specification,
    /// The transport, whose parameters its agents at the ports read.
    pub transport: &'a Values,
    /// How switches choose among equal next hops.
    pub routing: &'a Values,
    /// The ports of each flow, where switches hash those of another simulator's.
    pub flow_ports: Option<FlowPorts>,
    /// What breaks.
    pub faults: &'a Faults,
    /// The run's seed.
    pub seed: u64,
    /// The smallest packet that the transport sends.
    pub smallest_packet_bytes: u64,
    /// The largest packet that any host sends.
    pub largest_packet_bytes: u64,
    /// Whether it is kept when which class of which link was paused, where switches do that.
    pub logs_pauses: bool,
    /// Whether it is measured in which order packets arrive.
    pub measures_order: bool,
    /// How queues are observed, if they are.
    pub recorder: Option<QueueRecorder>,
    /// Which flows are sampled, if any are. Results must not depend on it.
    pub watched: Option<FlowWatch>,
    /// Links whose packets are captured.
    pub captured: &'a BTreeSet<usize>,
    /// How often what links carry is summed up, if it is.
    pub sent_interval: Option<Time>,
    /// Whether the data of an `Inspection` are gathered. Results must not depend on it.
    pub audited: bool,
    /// How long a window may be, beside what the network allows. Results must not depend on it.
    pub longest_window: Time,
    /// How many threads share out the nodes; at least 1. Results must not depend on it.
    pub threads: u32,
    /// Whether what these threads would do is done by one, which times it. Results must not depend on it.
    pub take_turns: bool,
}

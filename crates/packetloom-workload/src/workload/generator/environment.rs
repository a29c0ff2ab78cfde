//! Where a workload is: the network that it runs on, and what its sources share.

use super::super::job::{RankFault, Whole};
use crate::flow::HostId;
use crate::units::{Rate, Time};

/// What the empty network takes, from the first host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wire {
    /// For a byte to a host of the same server.
    pub inside: Time,
    /// For a byte to the nearest host of another.
    pub nearest: Time,
    /// For a MiB to a host of the same server, beside its first byte.
    pub mib_inside: Time,
}

/// What a workload has to know of the rest of the scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// How many hosts there are.
    pub hosts: u32,
    /// The numbers that hosts have in the file that the network comes from; empty where they are counted from 0.
    pub host_ids: Vec<u32>,
    /// How many hosts that follow each other share a server, if they do.
    pub server_hosts: Option<u32>,
    /// The nodes in servers' switches that reduce, server by server, if there are any; they are no hosts of traffic.
    pub nodes: Vec<HostId>,
    /// The rate at which every host is connected, if they are alike.
    pub host_rate: Option<Rate>,
    /// What messages take there by themselves.
    pub wire: Wire,
    /// Application bytes in a full packet.
    pub mss: u64,
    /// Header bytes of every packet.
    pub header: u64,
    /// Mean bytes offered per host and second, headers included, over the host link's rate.
    pub load: Option<f64>,
    /// The seed of every draw.
    pub seed: u64,
    /// How many flows the run has: open-loop sources without a number of their own share it, the first so many in
    /// order of start; each closed-loop source has it for itself, spread evenly over its chains.
    pub flow_limit: Option<u64>,
    /// Flows start before this.
    pub duration: Option<Time>,
    /// The collective operations of jobs of which no message is sent by itself.
    pub whole: Whole,
    /// What goes wrong with single ranks of jobs.
    pub rank_faults: Vec<RankFault>,
}

//! packetloom: a packet-level simulator of datacenter networks.

pub mod flow;
pub mod fluid;
pub mod random;
pub mod spec;
pub mod units;
pub mod workload;

//! packetloom: a packet-level simulator of datacenter networks.

pub mod flow;
pub mod random;
pub mod scenario;
pub mod spec;
pub mod units;

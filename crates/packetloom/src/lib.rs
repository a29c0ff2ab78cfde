//! packetloom: a packet-level simulator of datacenter networks.

pub mod audit;
pub mod central;
pub mod control;
pub mod engine;
pub mod fault;
pub mod files;
pub mod flow;
pub mod fluid;
pub mod formats;
pub mod link_message;
pub mod measure;
pub mod packet;
pub mod packets;
mod prefetch;
pub mod queue;
pub mod random;
pub mod routing;
pub mod scenario;
pub mod simulation;
pub mod spec;
pub mod stall;
pub mod topology;
pub mod transport;
pub mod units;
pub mod workload;

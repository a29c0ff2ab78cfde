//! packetloom's engine, and what it runs: a network, its queues, its traffic. Transports are in crates of their own,
//! which are compiled side by side; the crate `packetloom` puts all of them together and has the map.

pub mod engine;
pub mod fault;
pub mod files;
pub mod flow;
pub mod flow_table;
pub mod formats;
pub mod link_message;
pub mod measure;
pub mod packet;
pub mod packets;
pub mod prefetch;
pub mod queue;
pub mod random;
pub mod routing;
pub mod spec;
pub mod topology;
pub mod units;
pub mod workload;

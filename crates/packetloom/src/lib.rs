//! packetloom: a packet-level simulator of datacenter networks.
//!
//! A [`scenario`] is read into cases; a [`simulation`] runs a case and gives an outcome.
//!
//! # Where to start
//!
//! | To find out | look at |
//! |---|---|
//! | how a case is run, from its text to its rows | [`simulation::Simulation`] |
//! | how time goes on, and which node has its turn | [`engine`], [`engine::AnyEngine::run`] |
//! | where a packet goes: its port at a switch | [`routing::Router::port_for`] |
//! | what a port does with it | [`engine::Port::accept`] |
//! | where DCTCP's packets are marked | [`queue::Admission`], as `queue = "ecn"` |
//! | where NDP's packets are trimmed | [`queue::Trimming`] |
//! | how a window grows and shrinks | `packetloom-windowed/src/windowed/`, and a file for each scheme beside it |
//! | how to add a transport | [`transport::Scheme`], and `packetloom-windowed/src/tcp.rs` as the shortest example |
//! | how to add a queue | [`queue::Holds`] |
//! | what must hold in every run | [`audit`] |
//! | what a scheme does, as a table; what must hold of each | `tests/snapshots/`, `tests/schemes/laws.rs` |
//!
//! # The rooms
//!
//! Imports run one way, from the bottom of this table to its top. Rooms are in several crates, so that these are compiled side
//! by side: `packetloom-core` has the lower ones up to the engine, each family of transports is a crate, and this one puts all
//! together under the names that they had together.
//!
//! | Room | What it has |
//! |---|---|
//! | [`simulation`] | a case in, an outcome out; knows every other room |
//! | [`audit`], [`stall`] | the laws that hold in every run; how a run that goes nowhere is noticed |
//! | [`transport`], [`central`], [`fluid`] | schemes with packets, schemes that a controller plans, flow-level models |
//! | [`control`] | controllers' algorithms, usable alone |
//! | [`engine`], [`measure`] | windows, nodes, ports, links; what is recorded of them |
//! | [`routing`], [`fault`] | which way a packet goes; what breaks, and when |
//! | [`topology`], [`queue`], [`workload`] | the network, its queues, its traffic |
//! | [`packet`], [`packets`], [`link_message`] | a packet, where packets lie, what the ends of a link say to each other |
//! | [`scenario`], [`spec`], [`formats`] | reading and checking; how a component describes itself; other simulators' files |
//! | [`yardstick`] | a bare loop beside which benchmarks can be read; knows no other room |
//! | [`units`], [`random`], [`flow`] | integer time, random streams with owners, a flow |
//!
//! `docs/architecture.md` tells how the engine works and why.

pub mod audit;
pub mod central;
pub mod fluid;
pub mod scenario;
pub mod simulation;
pub mod stall;
pub mod transport;
pub mod yardstick;

pub use packetloom_control as control;
pub use packetloom_core::{
    engine, fault, files, flow, formats, link_message, measure, packet, packets, queue, random, routing,
    spec, topology, units, workload,
};

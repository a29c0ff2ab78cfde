//! packetloom: a packet-level simulator of datacenter networks.
//!
//! A [`scenario`] is read into cases; a [`simulation`] runs a case and gives an outcome.
//!
//! # Where to start
//!
//! | To find out | look at |
//! |---|---|
//! | how a case is run, from its text to its rows | [`simulation::Simulation`] |
//! | a packet's way: how time advances, and which node is next | [`engine`], [`engine::AnyEngine::run`] |
//! | a packet's way: its port at a switch | [`routing::Router::port_for`] |
//! | a packet's way: the port's queue and link | [`engine::Port::accept`] |
//! | where DCTCP's packets are marked | [`queue::Admission`], as `queue = "ecn"` |
//! | where NDP's packets are trimmed | [`queue::Trimming`] |
//! | how a window grows and shrinks | `packetloom-windowed/src/windowed/`, and a file for each scheme beside it |
//! | how to add a transport | [`transport::Scheme`], and `packetloom-windowed/src/tcp.rs` as the shortest example |
//! | how to add a queue | [`queue::Holds`] |
//! | the invariants of every run | [`audit`] |
//! | what each scheme does, as a table, and its invariants | `tests/snapshots/`, `tests/schemes/invariants.rs` |
//!
//! # The modules
//!
//! Imports run one way, from the bottom of this table to its top. The modules are in several crates, so that these
//! are compiled side by side: seven have the lower ones up to the engine, each family of transports is one, and this
//! crate re-exports all of them under one name.
//!
//! | Module | Contents |
//! |---|---|
//! | [`simulation`] | a case in, an outcome out; knows every other module |
//! | [`audit`], [`stall`] | the invariants of every run; how a run without progress is detected |
//! | [`transport`], [`central`], [`fluid`] | transports, schemes that a controller plans, flow-level models |
//! | [`control`] | controllers' algorithms, usable alone |
//! | [`measure`] | the rows of flows, made of a run's log |
//! | [`engine`], [`fault`], [`record`] | windows, nodes, ports, links; what breaks; what is recorded of ports |
//! | [`queue`] | queue disciplines, buffers, AQMs, schedulers, flow control |
//! | [`topology`], [`routing`], [`workload`] | the network, path selection, traffic |
//! | [`serving`] | requests to a language model, and who serves them |
//! | [`packet`], [`packets`], [`link_message`] | a packet, the slab of all packets, messages between a link's ends |
//! | [`scenario`], [`spec`], [`formats`] | reading and checking; component descriptions; other simulators' files |
//! | [`reference_loop`] | a bare loop as a reference for benchmarks; knows no other module |
//! | [`units`], [`random`], [`flow`] | integer time, one random stream per owner, a flow |
//!
//! `docs/architecture.md` explains how the engine works and why.

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod audit;
pub mod central;
pub mod fluid;
pub mod reference_loop;
pub mod scenario;
pub mod simulation;
pub mod stall;
pub mod transport;

pub use packetloom_base::{
    files, flow, flow_table, link_message, narrow, packet, packets, random, spec, units, user_class,
};
pub use packetloom_control as control;
pub use packetloom_engine::{engine, fault, measure, record};
pub use packetloom_fabric::{routing, topology};
pub use packetloom_jobs::{formats, job};
pub use packetloom_queue::queue;
pub use packetloom_serving::serving;
pub use packetloom_workload::workload;

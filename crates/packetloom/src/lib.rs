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
//! are compiled side by side: `packetloom-core` has the lower ones up to the engine, each family of transports is a
//! crate, and this crate re-exports all of them under one name.
//!
//! | Module | Contents |
//! |---|---|
//! | [`simulation`] | a case in, an outcome out; knows every other module |
//! | [`audit`], [`stall`] | the invariants of every run; how a run without progress is detected |
//! | [`transport`], [`central`], [`fluid`] | transports, schemes that a controller plans, flow-level models |
//! | [`control`] | controllers' algorithms, usable alone |
//! | [`engine`], [`measure`] | windows, nodes, ports, links; what is recorded of them |
//! | [`routing`], [`fault`] | path selection; what breaks, and when |
//! | [`topology`], [`queue`], [`workload`] | the network, its queues, its traffic |
//! | [`packet`], [`packets`], [`link_message`] | a packet, the slab of all packets, messages between a link's ends |
//! | [`scenario`], [`spec`], [`formats`] | reading and checking; component descriptions; other simulators' files |
//! | [`yardstick`] | a bare loop as a reference for benchmarks; knows no other module |
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
pub mod scenario;
pub mod simulation;
pub mod stall;
pub mod transport;
pub mod yardstick;

pub use packetloom_control as control;
pub use packetloom_core::{
    engine, fault, files, flow, flow_table, formats, job, link_message, measure, narrow, packet, packets,
    queue, random, record, routing, spec, topology, units, user_class, workload,
};

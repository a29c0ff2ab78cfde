//! The engine that runs a network and its traffic. Transports are in crates of their own.
//!
//! | Start at | for |
//! |---|---|
//! | [`engine`] | windows, hosts, switches, ports and links: [`engine::AnyEngine::run`], [`engine::Port::accept`] |
//! | [`engine::Transport`], [`engine::PortAgent`] | what a transport implements at hosts and at ports |
//! | [`fault`] | what breaks, and when |
//! | [`record`], [`measure`] | what is kept of queues, links and packets during a run; the rows of flows after it |

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod engine;
pub mod fault;
pub mod measure;
pub mod record;

use packetloom_base::{
    flow, flow_table, link_message, narrow, packet, packet_tag, packets, prefetch, random, spec, units,
    user_class,
};
use packetloom_fabric::{routing, topology};
use packetloom_queue::queue;
use packetloom_workload::workload;

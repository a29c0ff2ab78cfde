//! packetloom's engine and what it simulates: a network, its queues, its traffic. Transports are in crates of their
//! own, which are compiled in parallel. The crate `packetloom` re-exports all of them; its documentation is the main
//! map.
//!
//! | Start at | for |
//! |---|---|
//! | [`engine`] | windows, hosts, switches, ports and links: [`engine::AnyEngine::run`], [`engine::Port::accept`] |
//! | [`engine::Transport`], [`engine::PortAgent`] | what a transport implements at hosts and at ports |
//! | [`packet`], [`packets`], [`link_message`] | a packet, the slab of all packets, messages between a link's ends |
//! | [`queue`] | queue disciplines: [`queue::Admission`] marks (DCTCP), [`queue::Trimming`] trims (NDP) |
//! | [`routing`], [`fault`] | path selection and balancing; what breaks, and when |
//! | [`topology`], [`workload`] | nodes and links; flow sizes, arrivals, patterns |
//! | [`spec`] | a component's description, from which scenarios are read |
//! | [`measure`], [`formats`], [`files`] | what is recorded; other simulators' files; reading files safely |
//! | [`user_class`] | classes that users write in Python, compiled and called by address |
//! | [`units`], [`random`], [`flow`], [`flow_table`], [`prefetch`] | the basics |

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod engine;
pub mod fault;
pub mod files;
pub mod flow;
pub mod flow_table;
pub mod formats;
pub mod job;
pub mod link_message;
pub mod measure;
pub mod narrow;
pub mod nccl;
pub mod packet;
pub mod packet_tag;
pub mod packets;
pub mod prefetch;
pub mod queue;
pub mod random;
pub mod record;
pub mod routing;
pub mod spec;
pub mod topology;
pub mod units;
pub mod user_class;
pub mod workload;

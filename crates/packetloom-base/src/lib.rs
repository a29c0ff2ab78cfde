//! What every room of packetloom uses.
//!
//! | Start at | for |
//! |---|---|
//! | [`units`], [`narrow`] | integer time, rates, bytes; the only casts that may lose something |
//! | [`random`] | a random stream for each owner |
//! | [`flow`], [`packet`], [`packet_tag`] | a flow; a packet; what switches write beside one |
//! | [`packets`], [`flow_table`], [`prefetch`] | the slab of all packets, a table by flow |
//! | [`link_message`] | messages between a link's ends |
//! | [`spec`] | a component's description, from which scenarios are read |
//! | [`user_class`] | classes that users write in Python, compiled and called by address |
//! | [`files`] | reading files safely |

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod files;
pub mod flow;
pub mod flow_table;
pub mod link_message;
pub mod narrow;
pub mod packet;
pub mod packet_tag;
pub mod packets;
pub mod prefetch;
pub mod random;
pub mod spec;
pub mod units;
pub mod user_class;

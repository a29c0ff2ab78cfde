//! Queue disciplines, buffers, AQMs, schedulers and flow control: see [`queue`].

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod queue;

use packetloom_base::{
    flow, flow_table, link_message, narrow, packet, packets, prefetch, random, spec, units, user_class,
};
use packetloom_fabric::topology;

//! Networks, and the choice of paths in them.
//!
//! | Start at | for |
//! |---|---|
//! | [`topology`] | nodes and links |
//! | [`routing`] | path selection and balancing: [`routing::Router::port_for`] |

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod routing;
pub mod topology;

use packetloom_base::{
    flow, flow_table, narrow, packet, packet_tag, packets, prefetch, random, spec, units, user_class,
};
use packetloom_jobs::formats;

//! Transports without a window: hosts send at line rate, as receivers pull, or as an arbiter allocates.
//!
//! | Start at | for |
//! |---|---|
//! | `line_rate.rs` | pFabric's senders at line rate, the shortest here |
//! | `ndp/` | receivers that pull: `sender.rs`, `receiver.rs`, the pull queue `pacer.rs` |
//! | `homa/`, `phost/` | receivers that grant or send tokens to the shortest messages |
//! | `dcpim/` | receivers that are matched with senders in rounds, and clock tokens over channels |
//! | `expresspass/` | receivers that send credits, of which ports drop what the links have no room for |
//! | `sird/` | receivers that give credit from a budget, and senders that tell them when they have too much |
//! | `fastpass/` | an arbiter host that allocates timeslots |

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod dcpim;
mod expresspass;
mod fastpass;
mod homa;
mod line_rate;
mod ndp;
mod phost;
mod sird;

use packetloom_base::{flow, narrow, packet, prefetch, random, spec, units};
use packetloom_control as control;
use packetloom_engine::engine;
use packetloom_fabric::{routing, topology};
use packetloom_queue::queue;
use packetloom_transport::{
    Scheme, Sending, finished, flow_table, packet_format, priority, reassembly, seq_set,
};

packetloom_transport::family! {
    line_rate::LineRate,
    ndp::Ndp,
    dcpim::DcPim,
    fastpass::Fastpass,
    homa::Homa,
    phost::PHost,
    sird::Sird,
    expresspass::ExpressPass,
}

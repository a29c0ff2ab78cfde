//! Transports whose senders keep to a rate that switches grant, DAQ, whose switches grant credits, and NUMFabric,
//! whose links set prices.
//!
//! `paced/` is the core that RCP, D3 and PDQ share: requests, answers, pacing. Each scheme beside it has a
//! `RateControl` for senders and a `PortAgent` for ports. Start at `rcp.rs`, the shortest. `daq/` is DAQ's hosts;
//! its queue is in `packetloom-queue`.

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod d3;
mod daq;
mod numfabric;
mod paced;
mod pdq;
mod rcp;

use packetloom_base::{flow, narrow, packet, spec, units};
use packetloom_engine::engine;
use packetloom_transport::{Scheme, Sending, finished, flow_table, packet_format, priority, reassembly, rto};

packetloom_transport::family! {
    rcp::Rcp,
    d3::D3,
    pdq::Pdq,
    daq::Daq,
    numfabric::NumFabric,
}

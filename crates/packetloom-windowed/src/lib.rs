//! Transports with a congestion window.
//!
//! `windowed/` is the core that they share: sending within a window, selective acknowledgements, loss recovery,
//! timeouts; `connections/` is what flows run on. Each scheme is a file beside it, which implements `Congestion`. Start
//! at `tcp.rs`, the shortest; `dctcp.rs` with `marked_share.rs` reacts to marks; `vegas.rs` goes by round-trip times,
//! `copa.rs`, `bbr.rs`, `bbr3.rs` and `prague.rs` pace their packets, too; `mptcp/` runs several subflows;
//! `flowtune/` paces flows at rates from an allocator, which is a host; `python/` calls the compiled methods of a user's
//! class.

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod bbr;
mod bbr3;
mod bbr_aggregation;
mod bbr_params;
mod connections;
mod copa;
mod cubic;
mod d2tcp;
mod dctcp;
mod filter;
mod fixed_window;
mod flowtune;
mod marked_share;
mod min_tcp;
mod mptcp;
mod pias;
mod prague;
pub mod python;
mod tcp;
mod vegas;
mod windowed;

pub use connections::COMPONENTS as CONNECTION_COMPONENTS;

use packetloom_base::{flow, narrow, packet, random, spec, units, user_class};
use packetloom_engine::{engine, fault, record};
use packetloom_fabric::{routing, topology};
use packetloom_transport::{
    Scheme, Sending, finished, flow_table, packet_format, pool, priority, reassembly, rto, seq_set,
};

packetloom_transport::family! {
    tcp::Tcp,
    cubic::Cubic,
    vegas::Vegas,
    copa::Copa,
    bbr::Bbr,
    bbr3::Bbr3,
    prague::Prague,
    dctcp::Dctcp,
    d2tcp::D2tcp,
    min_tcp::MinTcp,
    fixed_window::FixedWindow,
    flowtune::Flowtune,
    mptcp::Mptcp,
    pias::Pias,
    python::Python,
}

//! Transports whose senders keep to a rate that switches grant, and DAQ, whose switches grant credits.

mod d3;
mod daq;
mod paced;
mod pdq;
mod rcp;

use packetloom_core::{engine, flow, packet, spec, units};
use packetloom_transport::{Scheme, Sending, finished, flow_table, packet_format, priority, reassembly, rto};

packetloom_transport::family! {
    rcp::Rcp,
    d3::D3,
    pdq::Pdq,
    daq::Daq,
}

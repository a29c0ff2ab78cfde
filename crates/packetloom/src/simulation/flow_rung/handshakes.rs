//! What flows wait for before their data, where they open connections.

use crate::flow::{Flow, HostId};
use crate::packet::Format;
use crate::spec::{Value, Values};
use crate::topology::Topology;
use crate::topology::best_fct;
use crate::transport::PacketFormat;
use crate::units::Time;
use std::collections::BTreeSet;

/// Which flows open connections.
pub(super) struct Handshakes {
    /// Of a handshake's packets; none where no flow opens a connection.
    format: Option<Format>,
    /// The pairs of hosts that have cookies (RFC 7413), where data goes with the SYN of those.
    cookies: Option<BTreeSet<(HostId, HostId)>>,
}

impl Handshakes {
    pub(super) fn of(transport: &Values) -> Handshakes {
        let fresh = match transport.entries.get("connections") {
            Some(Value::Component(connections)) if connections.kind == "fresh" => Some(connections),
            _ => None,
        };
        // RDMA's have a size of their own, and no data goes with them.
        let bytes = |fresh: &Values| match fresh.entries.get("message") {
            Some(Value::Bytes(bytes)) => *bytes,
            _ => PacketFormat::of(transport).ack_bytes.into(),
        };
        let is_fast = |fresh: &&Values| fresh.entries.get("fast_open") == Some(&Value::Flag(true));
        Handshakes {
            format: fresh.map(|fresh| Format { mss_bytes: bytes(fresh), header_bytes: 0 }),
            cookies: fresh.filter(is_fast).map(|_| BTreeSet::new()),
        }
    }

    /// What a flow waits for before its data.
    pub(super) fn before(&mut self, flow: &Flow, topology: &Topology) -> Time {
        let Some(format) = self.format else { return Time::ZERO };
        if self.cookies.as_mut().is_some_and(|cookies| !cookies.insert((flow.src, flow.dst))) {
            return Time::ZERO;
        }
        let way = |src, dst| best_fct(topology, format, src, dst, format.mss_bytes);
        way(flow.src, flow.dst) + way(flow.dst, flow.src)
    }
}

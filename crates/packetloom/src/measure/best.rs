//! The best possible completion time of a flow: alone on an empty network.

use crate::flow::HostId;
use crate::topology::{Forwarding, Topology};
use crate::units::{Rate, Time};

/// How a transport cuts a flow into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Payload bytes of a full packet.
    pub mss_bytes: u64,
    /// Header bytes of every packet.
    pub header_bytes: u64,
}

impl Format {
    /// How many packets a flow takes.
    pub fn packets(self, size_bytes: u64) -> u64 {
        size_bytes.div_ceil(self.mss_bytes).max(1)
    }

    /// The payload of the flow's last packet.
    pub fn last_payload(self, size_bytes: u64) -> u64 {
        size_bytes - (self.packets(size_bytes) - 1) * self.mss_bytes
    }

    /// The flow's bytes on the wire, headers included.
    pub fn wire_bytes(self, size_bytes: u64) -> u64 {
        size_bytes + self.packets(size_bytes) * self.header_bytes
    }
}

/// From the first byte leaving the sender to the last byte reaching the receiver, with the sender's link always busy.
///
/// All packets but the last are alike, so the next-to-last leaves each link at a time that is known at once; the
/// last follows it link by link.
pub fn best_fct(topology: &Topology, format: Format, src: HostId, dst: HostId, size_bytes: u64) -> Time {
    let full_before = format.packets(size_bytes) - 1;
    let full = format.mss_bytes + format.header_bytes;
    let last = format.last_payload(size_bytes) + format.header_bytes;
    let path = topology.path(src, dst);

    // When the previous full packet has left the link, and when the last packet may start on it.
    let mut full_arrives = Time::ZERO;
    let mut slowest = Time::ZERO;
    let mut last_arrives = Time::ZERO;
    for &link in &path {
        let link = &topology.links[link];
        let takes = |bytes| link.rate.time_for(bytes + topology.framing_bytes);
        let cut = Cut::at(topology, link.dst);
        let mut link_is_free = Time::ZERO;
        if full_before > 0 {
            // The first full packet comes unhindered; the others follow at the pace of the slowest link so far.
            slowest = slowest.max(takes(full));
            let previous_start = full_arrives + slowest.times(full_before - 1);
            link_is_free = previous_start + takes(full);
            full_arrives += cut.seen(link.rate, full, topology) + link.latency;
        }
        let start = last_arrives.max(link_is_free);
        last_arrives = start + cut.seen(link.rate, last, topology) + link.latency;
    }
    last_arrives
}

/// How much of a packet the node at a link's end waits for.
struct Cut(u64);

impl Cut {
    fn at(topology: &Topology, node: u32) -> Cut {
        match topology.forwarding {
            Forwarding::CutThrough { header_bytes, .. } if topology.nodes[node as usize].tier > 0 => {
                Cut(header_bytes.into())
            }
            _ => Cut(u64::MAX),
        }
    }

    fn seen(&self, rate: Rate, bytes: u64, topology: &Topology) -> Time {
        rate.time_for(bytes.min(self.0) + topology.framing_bytes)
    }
}

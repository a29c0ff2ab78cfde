//! The best possible completion time of a flow: alone on an empty network.

use super::{Forwarding, Link, Topology};
use crate::flow::HostId;
use crate::packet::Format;
use crate::units::Time;

/// From the first byte leaving the sender to the last byte reaching the receiver, with the sender's link always
/// busy.
///
/// All packets but the last are alike, so the next-to-last leaves each link at a time that is known at once; the
/// last follows it link by link.
pub fn best_fct(topology: &Topology, format: Format, src: HostId, dst: HostId, size_bytes: u64) -> Time {
    let full_before = format.packets(size_bytes) - 1;
    let full = format.mss_bytes + format.header_bytes;
    let last = format.last_payload(size_bytes) + format.header_bytes;

    // When the first full packet, and the last packet, may start on the link at the earliest.
    let mut first_ready = Time::ZERO;
    let mut last_ready = Time::ZERO;
    let mut slowest = Time::ZERO;
    for hop in hops(topology, src, dst) {
        let mut link_is_free = Time::ZERO;
        if full_before > 0 {
            // The first full packet comes unhindered; the others follow at the pace of the slowest link so far.
            slowest = slowest.max(hop.takes(full));
            link_is_free = first_ready + slowest.times(full_before - 1) + hop.takes(full);
            first_ready += hop.until_ready(full);
        }
        last_ready = last_ready.max(link_is_free) + hop.until_ready(last);
    }
    last_ready
}

/// The hops from one host to another.
pub fn hops(topology: &Topology, src: HostId, dst: HostId) -> Vec<Hop<'_>> {
    let path = topology.path(src, dst);
    let link = |nth: usize| path.get(nth).map(|&link| &topology.links[link]);
    (0..path.len()).filter_map(|nth| Some(Hop { topology, link: link(nth)?, next: link(nth + 1) })).collect()
}

/// A link of a path, and the one after it.
pub struct Hop<'a> {
    topology: &'a Topology,
    link: &'a Link,
    next: Option<&'a Link>,
}

impl Hop<'_> {
    /// The link itself.
    pub fn link(&self) -> &Link {
        self.link
    }

    /// How long a packet of so many bytes keeps the link.
    pub fn takes(&self, bytes: u64) -> Time {
        self.topology.byte_time(self.link.rate).of(bytes + self.topology.framing_bytes)
    }

    /// From a packet's start on this link to its earliest start on the next, or its arrival at the host.
    pub fn until_ready(&self, bytes: u64) -> Time {
        match (self.topology.forwarding, self.next) {
            (Forwarding::CutThrough { header_bytes, underrun }, Some(next)) => {
                let seen = bytes.min(header_bytes.into());
                // A faster link must not overtake what is still to come (`Port::cut_through_start`).
                let behind = self.topology.byte_time(self.link.rate).of(bytes - seen);
                let shortfall = behind.since(self.topology.byte_time(next.rate).of(bytes));
                let waits = if underrun { Time::ZERO } else { shortfall };
                self.takes(seen) + self.link.latency + waits
            }
            _ => self.takes(bytes) + self.link.latency,
        }
    }
}

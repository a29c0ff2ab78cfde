//! The best possible completion time of a flow: alone on an empty network.

use super::{Forwarding, Link, Topology};
use crate::flow::HostId;
use crate::packet::Format;
use crate::units::{Rate, Time};
use std::collections::BTreeSet;

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

/// The same with packets spread evenly over the source's links that lead to the destination by paths which share no
/// last link and are as fast as the best. That is how soon a host with several links can be done.
pub fn best_fct_over_links(
    topology: &Topology,
    format: Format,
    (src, dst): (HostId, HostId),
    size_bytes: u64,
) -> Time {
    let packets = format.packets(size_bytes);
    let links = links_alike(topology, src, dst);
    let most = packets.div_ceil(links);
    // The fullest link has the last packet, which may be short, if no other has as many.
    let last = if packets % links == 1 || links == 1 {
        size_bytes - (packets - 1) * format.mss_bytes
    } else {
        format.mss_bytes
    };
    best_fct(topology, format, src, dst, (most - 1) * format.mss_bytes + last)
}

/// How many of its links a host can use at once to reach another on paths like the best.
fn links_alike(topology: &Topology, src: HostId, dst: HostId) -> u64 {
    let first = topology.nodes[src as usize].ports.start;
    let Some(routes) = topology.routes().filter(|_| topology.nodes[src as usize].ports.len() > 1) else {
        return 1;
    };
    let kind = |path: &[usize]| -> Vec<(Rate, Time)> {
        path.iter().map(|&link| (topology.links[link].rate, topology.links[link].latency)).collect()
    };
    let best = kind(&topology.path(src, dst));
    let last = |way: &u32| {
        let link = (first + way) as usize;
        let path: Vec<usize> =
            std::iter::once(link).chain(topology.path(topology.links[link].dst, dst)).collect();
        path.last().copied().filter(|_| kind(&path) == best)
    };
    let lasts: BTreeSet<usize> = routes.to(src, dst).iter().filter_map(last).collect();
    lasts.len().max(1) as u64
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

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: Format = Format { mss_bytes: 1_460, header_bytes: 40 };

    fn planes(planes: u64) -> Topology {
        let counts =
            [("servers", 4), ("accelerators", 1), ("servers_per_rail_switch", 2), ("planes", planes)];
        Topology::of_counts("rail-optimised", &counts)
    }

    #[test]
    fn packets_go_over_all_links_at_once() {
        let topology = planes(4);
        let one = |bytes| best_fct(&topology, FORMAT, 0, 3, bytes);
        let all =
            |packets: u64, last| best_fct_over_links(&topology, FORMAT, (0, 3), (packets - 1) * 1_460 + last);
        // Each link has one packet at most, the last of which is the shortest.
        assert_eq!((all(1, 100), all(4, 100), all(4, 1_460)), (one(100), one(1_460), one(1_460)));
        // The first link has two, of which the second is the last of all; then others have two, too.
        assert_eq!((all(5, 100), all(6, 100), all(8, 1)), (one(1_560), one(2_920), one(2_920)));
        assert_eq!(all(400, 1_460), one(100 * 1_460));
    }

    #[test]
    fn a_host_with_one_link_has_one() {
        let topology = planes(1);
        for bytes in [1, 1_460, 1_461, 1_000_000] {
            let all = best_fct_over_links(&topology, FORMAT, (0, 3), bytes);
            assert_eq!(all, best_fct(&topology, FORMAT, 0, 3, bytes));
        }
    }
}

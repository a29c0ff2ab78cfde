//! What a DAQ switch lends to workers that a query asks for their flows.

use super::daq;
use crate::flow::HostId;
use crate::packet::Packet;
use crate::spec::Values;
use std::collections::BTreeMap;

/// A part of a switch's buffer for short flows, from which it lends to hosts that a query asks for a flow: sender_win =
/// buffer / N_w (DAQ §II-B), or what is free of it.
#[derive(Clone, Debug)]
pub struct Loans {
    all_bytes: u64,
    free_bytes: u64,
    /// The number of each host's link.
    links: BTreeMap<HostId, u32>,
    /// What each link has.
    lent_bytes: BTreeMap<u32, u64>,
}

impl Loans {
    /// A switch's with this queue, with these hosts and their links' numbers.
    pub fn build(queue: &Values, hosts: &[(HostId, u32)]) -> Option<Loans> {
        if queue.kind != daq::QUEUE.component.kind || hosts.is_empty() {
            return None;
        }
        let bytes = daq::lent_bytes(queue);
        Some(Loans {
            all_bytes: bytes,
            free_bytes: bytes,
            links: hosts.iter().copied().collect(),
            lent_bytes: hosts.iter().map(|&(_, link)| (link, 0)).collect(),
        })
    }

    /// A query to one of its hosts comes by, with N_w as its priority: it goes on with what the host is lent in its place.
    pub fn answer<H>(&mut self, query: &mut Packet<H>) {
        let Some(link) = self.links.get(&query.dst) else { return };
        let lent = self.lent_bytes.entry(*link).or_default();
        let share = self.all_bytes.checked_div(query.priority.into()).unwrap_or(0);
        let more = share.saturating_sub(*lent).min(self.free_bytes);
        *lent += more;
        self.free_bytes -= more;
        query.priority = more as u32;
    }

    /// What a host had comes back by its link; returns whether it was a host's.
    pub fn take_back(&mut self, link: u32, bytes: u64) -> bool {
        let Some(lent) = self.lent_bytes.get_mut(&link) else { return false };
        *lent -= bytes;
        self.free_bytes += bytes;
        true
    }
}

//! The buffer that a DAQ switch lends to workers for the flows that a query requests.

use super::daq::Settings;
use crate::narrow::narrow;
use crate::packet::Packet;
use std::collections::BTreeMap;

/// The part of a switch's buffer for short flows. The switch lends from it to the hosts that receive a query:
/// sender_win = buffer / N_w (DAQ §II-B), or what is free of it.
#[derive(Clone, Debug)]
pub struct Loans {
    all_bytes: u64,
    free_bytes: u64,
    /// Of each port that leads to a host, the number of the link that comes back from there.
    links: BTreeMap<u32, u32>,
    /// What each link has.
    lent_bytes: BTreeMap<u32, u64>,
}

impl Loans {
    /// Those of a switch, whose ports to hosts are these, each with the number of the link that comes back from there.
    pub fn build(settings: &Settings, hosts: &[(u32, u32)]) -> Option<Loans> {
        if hosts.is_empty() {
            return None;
        }
        let bytes = settings.lent_bytes();
        Some(Loans {
            all_bytes: bytes,
            free_bytes: bytes,
            links: hosts.iter().copied().collect(),
            lent_bytes: hosts.iter().map(|&(_, link)| (link, 0)).collect(),
        })
    }

    /// A query leaves by a port: if that leads to a host, it goes on with what the host is lent.
    pub fn answer<H>(&mut self, port: u32, query: &mut Packet<H>) {
        let Some(link) = self.links.get(&port) else { return };
        let lent = self.lent_bytes.entry(*link).or_default();
        let share = self.all_bytes.checked_div(query.workers().into()).unwrap_or(0);
        let more = share.saturating_sub(*lent).min(self.free_bytes);
        *lent += more;
        self.free_bytes -= more;
        query.set_loan(narrow::<u32>(more));
    }

    /// What a host had comes back by its link; returns whether it was a host's.
    pub fn take_back(&mut self, link: u32, bytes: u64) -> bool {
        let Some(lent) = self.lent_bytes.get_mut(&link) else { return false };
        *lent -= bytes;
        self.free_bytes += bytes;
        true
    }
}

//! What arrives at a shard's hosts in a window that a caller drives, in order of time: who has the next turn, and what is
//! prefetched before.

use super::agent::PortAgent;
use super::arrival::{self, Arrival};
use super::driven::Left;
use super::shard::{Shard, prepare};
use super::thread_pool::Window;
use crate::flow::HostId;
use crate::units::Time;

/// How many arrivals are prepared for at once: three times as many are on their way into the nearer caches.
const BATCH: usize = 16;

/// See the head of this file.
#[derive(Debug, Default)]
pub(super) struct Lane {
    arrivals: Vec<Arrival>,
    /// How many of these have had their turns.
    next: usize,
    /// How many of these were prepared for; all, where that does not pay.
    prepared: usize,
    /// Which of the shard's nodes with something due is the first switch.
    pub(super) first_switch: usize,
}

impl Lane {
    /// A window begins, in which this is due.
    pub(super) fn open<H: Copy + Default, A: PortAgent<H>>(&mut self, shard: &Shard<'_, H, A>) {
        let hosts = shard.hosts.len();
        self.arrivals.clear();
        self.next = 0;
        self.prepared = if shard.due.is_crowded() { 0 } else { usize::MAX };
        self.first_switch = shard.due.nodes.partition_point(|&(node, _)| (node as usize) < hosts);
    }

    /// These arrive in it, in order, at the next host.
    pub(super) fn add(&mut self, arrivals: &[Arrival]) {
        self.arrivals.extend_from_slice(arrivals);
    }

    /// All were added.
    pub(super) fn sort(&mut self) {
        arrival::sort_by_time(&mut self.arrivals);
    }

    /// The host at which the next of them arrives, and when.
    pub(super) fn first<H, A>(
        &mut self,
        hosts: &[Left],
        shard: &Shard<'_, H, A>,
        window: Window,
    ) -> Option<(Time, HostId)> {
        while let Some(arrival) = self.arrivals.get(self.next) {
            let host = shard.first_host + arrival.node;
            let (first, end) = hosts[host as usize].arrivals;
            if first < end && !arrival.is_before(shard.due.arrivals[first as usize]) {
                return Some((arrival.at(window.start), host));
            }
            self.next += 1;
        }
        None
    }

    /// When the next one arrives at another host, as far as that is known.
    pub(super) fn first_beside<H, A>(
        &self,
        host: HostId,
        shard: &Shard<'_, H, A>,
        window: Window,
    ) -> Option<Time> {
        let next = self.arrivals.get(self.next..)?;
        let other = next.iter().find(|arrival| shard.first_host + arrival.node != host);
        other.map(|arrival| arrival.at(window.start))
    }

    /// Prefetches what the next turns will read.
    pub(super) fn prepare<H: Copy + Default, A: PortAgent<H>>(&mut self, shard: &Shard<'_, H, A>) {
        let count = self.arrivals.len();
        while self.prepared <= self.next && self.prepared < count {
            let ends = [0, 1, 2, 3].map(|batches| (self.prepared + batches * BATCH).min(count));
            let batches = [0, 1, 2].map(|batch| &self.arrivals[ends[batch]..ends[batch + 1]]);
            prepare(batches, &shard.hosts, &*shard.transports, &shard.link_table.packets);
            self.prepared = ends[1];
        }
    }
}

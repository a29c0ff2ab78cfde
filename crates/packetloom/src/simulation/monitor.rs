//! How far a run is, and when it is done.

use crate::units::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How far a run is, and a way to end it, for another thread.
#[derive(Debug, Default)]
pub struct Monitor {
    cancelled: Arc<AtomicBool>,
    packet_hops: AtomicU64,
    /// In millionths.
    done: AtomicU64,
}

impl Monitor {
    /// Ends the run soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// The share done, from 0 to 1, and the packet-hops so far.
    pub fn progress(&self) -> (f64, u64) {
        (self.done.load(Ordering::Relaxed) as f64 / 1e6, self.packet_hops.load(Ordering::Relaxed))
    }

    /// Of a run that is a part of this one: it ends when this one does.
    pub(super) fn under(&self) -> Monitor {
        Monitor { cancelled: Arc::clone(&self.cancelled), ..Monitor::default() }
    }

    /// Whether the run is to go on.
    pub(super) fn is_wanted(&self) -> bool {
        !self.cancelled.load(Ordering::Relaxed)
    }

    /// Notes that a part of the run is done, a share of it all.
    pub(super) fn add(&self, packet_hops: u64, share: impl FnOnce() -> f64) {
        self.packet_hops.fetch_add(packet_hops, Ordering::Relaxed);
        self.done.fetch_add((share() * 1e6) as u64, Ordering::Relaxed);
    }

    /// Notes how far the run is; returns whether it should go on.
    pub(super) fn report(&self, packet_hops: u64, done: f64) -> bool {
        self.packet_hops.store(packet_hops, Ordering::Relaxed);
        self.done.store((done * 1e6) as u64, Ordering::Relaxed);
        !self.cancelled.load(Ordering::Relaxed)
    }
}

/// When a case is done: after so many flows or at a time, whichever it names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    pub(super) flows: Option<u64>,
    pub(super) end: Option<Time>,
}

impl Goal {
    /// How much is done, when so many flows are over at a time.
    pub(super) fn share_done(&self, finished: u64, now: Time) -> f64 {
        let by_flows = self.flows.map(|flows| finished as f64 / flows as f64);
        let by_time = self.end.map(|end| now.as_ps() as f64 / end.as_ps() as f64);
        by_flows.into_iter().chain(by_time).fold(0.0, f64::max).min(1.0)
    }
}

//! How far a run is, and when it is done.

use crate::narrow::saturated;
use crate::units::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How far a run is, and a way to end it, for another thread.
#[derive(Debug)]
pub struct Monitor {
    cancelled: Arc<AtomicBool>,
    packet_hops: AtomicU64,
    /// In millionths.
    done: AtomicU64,
    /// Simulated time in picoseconds.
    now: AtomicU64,
    /// The run ends after so many packet-hops.
    most_hops: u64,
    /// And at this moment.
    ends_at: Option<Instant>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The share done, from 0 to 1.
    pub share: f64,
    /// Packet-hops so far.
    pub packet_hops: u64,
    /// Simulated time; zero where the run does not go by it.
    pub now: Time,
}

impl Default for Monitor {
    fn default() -> Monitor {
        Monitor {
            cancelled: Arc::default(),
            packet_hops: AtomicU64::default(),
            done: AtomicU64::default(),
            now: AtomicU64::default(),
            most_hops: u64::MAX,
            ends_at: None,
        }
    }
}

impl Monitor {
    /// Ends the run soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Of a run that ends by itself after so many packet-hops, or so long.
    pub(super) fn until(most_hops: u64, longest: Duration) -> Monitor {
        Monitor { most_hops, ends_at: Some(Instant::now() + longest), ..Monitor::default() }
    }

    /// How far the run is.
    pub fn progress(&self) -> Progress {
        Progress {
            share: self.done.load(Ordering::Relaxed) as f64 / 1e6,
            packet_hops: self.packet_hops.load(Ordering::Relaxed),
            now: Time(self.now.load(Ordering::Relaxed)),
        }
    }

    /// Of a run that is a part of this one: it ends when this one does.
    pub(super) fn under(&self) -> Monitor {
        let Monitor { most_hops, ends_at, .. } = *self;
        Monitor { cancelled: Arc::clone(&self.cancelled), most_hops, ends_at, ..Monitor::default() }
    }

    /// Whether the run is to go on.
    pub(super) fn is_wanted(&self) -> bool {
        !self.cancelled.load(Ordering::Relaxed)
    }

    /// Ends the run if it is to end by itself by now.
    fn end_if_due(&self, packet_hops: u64) {
        if packet_hops >= self.most_hops || self.ends_at.is_some_and(|at| Instant::now() >= at) {
            self.cancel();
        }
    }

    /// Notes that a part of the run is done, a share of it all.
    pub(super) fn add(&self, packet_hops: u64, share: impl FnOnce() -> f64) {
        let before = self.packet_hops.fetch_add(packet_hops, Ordering::Relaxed);
        self.done.fetch_add(saturated::<u64>(share() * 1e6), Ordering::Relaxed);
        self.end_if_due(before + packet_hops);
    }

    /// Notes how far the run is; returns whether it should go on.
    pub(super) fn report(&self, packet_hops: u64, done: f64, now: Time) -> bool {
        self.packet_hops.store(packet_hops, Ordering::Relaxed);
        self.done.store(saturated::<u64>(done * 1e6), Ordering::Relaxed);
        self.now.store(now.as_ps(), Ordering::Relaxed);
        self.end_if_due(packet_hops);
        self.is_wanted()
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

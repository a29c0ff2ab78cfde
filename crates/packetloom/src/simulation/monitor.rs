//! How far a run is, and when it is done.

use crate::narrow::saturated;
use crate::units::Time;
use cpu_time::ProcessTime;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// So many times as long may a run take that has done next to nothing by its time.
const PATIENCE: u32 = 10;

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
    /// It may take longer while it has fewer than these.
    least_hops: u64,
    /// And after so much processor time since it began to carry packets, or first said how far it is: on a busy machine
    /// it comes as far as on an idle one.
    longest: Option<Duration>,
    began: Arc<OnceLock<ProcessTime>>,
    /// What its thread took to carry packets, in nanoseconds: without what comes before and after.
    carried_ns: AtomicU64,
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
            least_hops: 0,
            longest: None,
            began: Arc::default(),
            carried_ns: AtomicU64::default(),
        }
    }
}

impl Monitor {
    /// Ends the run soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Of a run that ends by itself after so many packet-hops; or so much processor time, or ten times that if there are
    /// fewer than the least by then.
    pub(super) fn until((least_hops, most_hops): (u64, u64), longest: Duration) -> Monitor {
        Monitor { least_hops, most_hops, longest: Some(longest), ..Monitor::default() }
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
        let (cancelled, began) = (Arc::clone(&self.cancelled), Arc::clone(&self.began));
        let Monitor { least_hops, most_hops, longest, .. } = *self;
        Monitor { cancelled, least_hops, most_hops, longest, began, ..Monitor::default() }
    }

    /// The network is built, and begins to carry packets.
    pub(super) fn begin(&self) {
        if self.longest.is_some() {
            self.began.get_or_init(ProcessTime::now);
        }
    }

    /// The run's thread took so long to carry packets.
    pub(super) fn note_carried(&self, took: Duration) {
        self.carried_ns.fetch_add(saturated::<u64>(took.as_nanos() as f64), Ordering::Relaxed);
    }

    /// How long that was, if the run has packets.
    pub(super) fn carried(&self) -> Option<Duration> {
        Some(self.carried_ns.load(Ordering::Relaxed)).filter(|&ns| ns > 0).map(Duration::from_nanos)
    }

    /// Whether the run is to go on.
    pub(super) fn is_wanted(&self) -> bool {
        !self.cancelled.load(Ordering::Relaxed)
    }

    /// Ends the run if it is to end by itself by now.
    fn end_if_due(&self, packet_hops: u64) {
        let patience = if packet_hops < self.least_hops { PATIENCE } else { 1 };
        let is_late = self
            .longest
            .is_some_and(|longest| self.began.get_or_init(ProcessTime::now).elapsed() >= longest * patience);
        if packet_hops >= self.most_hops || is_late {
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

//! First in, first out, without holding a packet.
//!
//! A FIFO port knows on arrival when a packet will leave, so the packet goes straight onto the link and only its
//! departure is remembered. So a packet-hop is one event: no second one when the packet leaves.

use super::ring::Ring;
use super::{Admission, Occupancy, Verdict};
use crate::random::Stream;
use crate::units::Time;

/// The packets that wait at a FIFO port, and the rule of admission.
#[derive(Clone, Debug)]
pub struct Fifo {
    admission: Admission,
    /// When each waiting packet starts on the link, and its size.
    waiting: Ring<(Time, u16)>,
    queued: Occupancy,
    /// Whether the queue's length is observed.
    tracked: bool,
}

impl Fifo {
    /// The rule by which it admits and marks.
    pub fn admission(&self) -> Admission {
        self.admission
    }

    /// Admits and marks from now on as another does.
    pub fn mark_by(&mut self, other: &Fifo) {
        self.admission = other.admission;
    }

    /// An empty queue. Without need (`observed` or a rule that looks) nothing is tracked.
    pub fn new(admission: Admission, observed: bool) -> Fifo {
        Fifo {
            admission,
            waiting: Ring::default(),
            queued: Occupancy::default(),
            tracked: observed || admission.looks(),
        }
    }

    /// Whether what is queued is tracked at all.
    #[inline]
    pub fn is_tracked(&self) -> bool {
        self.tracked
    }

    /// What waits, as of the last call of [`Fifo::depart_until`].
    #[inline]
    pub fn queued(&self) -> Occupancy {
        self.queued
    }

    /// Lets the packets go that started on the link by `now`, telling of each when it did and what then waited.
    #[inline]
    pub fn depart_until(&mut self, now: Time, mut departed: impl FnMut(Time, Occupancy)) {
        while let Some(&(start, size_bytes)) = self.waiting.front() {
            if start > now {
                break;
            }
            self.waiting.pop_front();
            self.queued.remove(size_bytes);
            departed(start, self.queued);
        }
    }

    /// What happens to an arrival.
    #[inline]
    pub fn judge(&self, size_bytes: u16, random: &mut Stream) -> Verdict {
        self.admission.judge(self.queued, size_bytes, random)
    }

    /// Counts a packet that waits until `start`.
    #[inline]
    pub fn wait(&mut self, start: Time, size_bytes: u16) {
        self.waiting.push_back((start, size_bytes));
        self.queued.add(size_bytes);
    }
}

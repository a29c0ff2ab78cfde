//! A queue's length over time: its time-weighted distribution and, on request, samples.

use crate::narrow::{narrow, saturated};
use crate::queue::Occupancy;
use crate::units::Time;
use std::collections::VecDeque;

/// Below this many bytes every length has a bucket of its own; above, each octave has half as many buckets,
/// so that a percentile is at most 1/64 too large.
const EXACT: u64 = 128;

/// Follows one queue. Lengths are in wire bytes; the packet in service does not count.
#[derive(Clone, Debug)]
pub struct QueueRecorder {
    /// Lengths that are not counted yet, and from when on: the run may turn out to have ended before them.
    recent: VecDeque<(Time, u64)>,
    /// For how long they are not.
    held_for: Time,
    since: Time,
    bytes: u64,
    byte_ps: u128,
    largest_bytes: u64,
    /// How long the queue had a length, by bucket.
    spans: Vec<Time>,
    interval: Option<Time>,
    samples: Vec<u64>,
    /// The classes inside, where they are followed.
    classes: Option<Vec<ClassRecord>>,
}

/// A class of a queue that knows classes.
#[derive(Clone, Debug)]
pub struct ClassRecord {
    /// What waits of it, in bytes.
    pub queue: QueueRecorder,
    /// Bytes sent into the buffer at the far end for which no credit has come back, where there are credits.
    pub credit: Option<QueueRecorder>,
}

impl QueueRecorder {
    /// An empty queue at time zero; with an interval, sampled at each multiple of it.
    pub fn new(interval: Option<Time>) -> QueueRecorder {
        QueueRecorder {
            recent: VecDeque::new(),
            held_for: Time::ZERO,
            since: Time::ZERO,
            bytes: 0,
            byte_ps: 0,
            largest_bytes: 0,
            spans: Vec::new(),
            interval,
            samples: Vec::new(),
            classes: None,
        }
    }

    /// One that can be closed at a time that is up to so much before what was noted last.
    #[must_use]
    pub fn held_for(mut self, span: Time) -> QueueRecorder {
        self.held_for = span;
        self
    }

    /// Follows the classes inside, too.
    #[must_use]
    pub fn by_class(mut self) -> QueueRecorder {
        self.classes = Some(Vec::new());
        self
    }

    /// Whether it does.
    pub fn follows_classes(&self) -> bool {
        self.classes.is_some()
    }

    /// What waits of a class from `at` on, and how much of the far end's buffer it uses, if that is known.
    pub fn note_class(&mut self, at: Time, class: usize, bytes: u64, credit: Option<u64>) {
        let (interval, span) = (self.interval, self.held_for);
        let Some(classes) = &mut self.classes else { return };
        while classes.len() <= class {
            let fresh = || QueueRecorder::new(interval).held_for(span);
            classes.push(ClassRecord { queue: fresh(), credit: credit.map(|_| fresh()) });
        }
        let record = &mut classes[class];
        record.queue.note_length(at, bytes);
        if let (Some(recorder), Some(credit)) = (&mut record.credit, credit) {
            recorder.note_length(at, credit);
        }
    }

    /// The classes.
    pub fn classes(&self) -> &[ClassRecord] {
        self.classes.as_deref().unwrap_or(&[])
    }

    /// The queue's length from `at` on.
    pub fn note(&mut self, at: Time, queued: Occupancy) {
        self.note_length(at, queued.bytes);
    }

    /// The same for a queue of something else than packets, counted in whatever it holds.
    pub fn note_length(&mut self, at: Time, length: u64) {
        self.recent.push_back((at, length));
        self.count_until(at.since(self.held_for));
    }

    /// Counts what was noted until `at`.
    fn count_until(&mut self, at: Time) {
        while let Some(&(from, length)) = self.recent.front()
            && from <= at
        {
            self.recent.pop_front();
            self.advance(from);
            self.bytes = length;
            self.largest_bytes = self.largest_bytes.max(length);
        }
    }

    /// The record as it is at the end of a run, of the queue and of the classes inside.
    #[must_use]
    pub fn closed(&self, end: Time) -> QueueRecorder {
        let mut closed = self.clone();
        closed.close(end);
        for record in closed.classes.iter_mut().flatten() {
            record.queue.close(end);
            record.credit.iter_mut().for_each(|credit| credit.close(end));
        }
        closed
    }

    fn close(&mut self, end: Time) {
        self.count_until(end);
        self.recent.clear();
        self.advance(end);
    }

    /// Until when it counts.
    pub fn until(&self) -> Time {
        self.since
    }

    fn advance(&mut self, at: Time) {
        let span = at.since(self.since);
        if span == Time::ZERO {
            return;
        }
        self.byte_ps += u128::from(self.bytes) * u128::from(span.as_ps());
        let bucket = bucket(self.bytes);
        if bucket >= self.spans.len() {
            self.spans.resize(bucket + 1, Time::ZERO);
        }
        self.spans[bucket] += span;
        if let Some(interval) = self.interval {
            while interval.times(self.samples.len() as u64) < at {
                self.samples.push(self.bytes);
            }
        }
        self.since = at;
    }

    /// The time-weighted mean so far, in bytes.
    pub fn mean_bytes(&self) -> f64 {
        match self.since.as_ps() {
            0 => 0.0,
            ps => self.byte_ps as f64 / ps as f64,
        }
    }

    /// The length that is not exceeded for this share of the time (a bucket's upper end), in bytes.
    pub fn percentile_bytes(&self, share: f64) -> u64 {
        let enough = saturated::<u64>(self.since.as_ps() as f64 * share);
        let mut total = 0;
        for (bucket, span) in self.spans.iter().enumerate() {
            total += span.as_ps();
            if total >= enough {
                return upper_end(bucket).min(self.largest_bytes);
            }
        }
        self.largest_bytes
    }

    /// The greatest length, in bytes.
    pub fn largest_bytes(&self) -> u64 {
        self.largest_bytes
    }

    /// The length in bytes at each multiple of the interval.
    pub fn samples(&self) -> impl Iterator<Item = (Time, u64)> {
        let interval = self.interval.unwrap_or(Time::ZERO);
        (0..).zip(&self.samples).map(move |(nth, &bytes)| (interval.times(nth), bytes))
    }
}

fn bucket(bytes: u64) -> usize {
    if bytes < EXACT {
        return narrow::<usize>(bytes);
    }
    let octave = bytes.ilog2() - EXACT.ilog2();
    let within = (bytes >> (octave + 1)) - EXACT / 2;
    narrow::<usize>(EXACT + u64::from(octave) * EXACT / 2 + within)
}

fn upper_end(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < EXACT {
        return bucket;
    }
    let octave = (bucket - EXACT) / (EXACT / 2);
    let within = (bucket - EXACT) % (EXACT / 2);
    ((EXACT / 2 + within + 1) << (octave + 1)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_lies_in_its_bucket() {
        for bytes in (0..2_000).chain([22_500, 225_000, 1 << 40]) {
            let bucket = bucket(bytes);
            assert!(upper_end(bucket) >= bytes, "{bytes}");
            assert!(bucket == 0 || upper_end(bucket - 1) < bytes, "{bytes}");
            assert!(upper_end(bucket) - bytes <= bytes / 64 + 1, "{bytes}");
        }
    }

    #[test]
    fn mean_and_percentile_are_weighted_by_time() {
        let mut recorder = QueueRecorder::new(Some(Time(100)));
        recorder.note(Time(300), Occupancy { bytes: 1_000, packets: 1 });
        recorder.note(Time(400), Occupancy::default());
        let recorder = recorder.closed(Time(1_000));
        assert_eq!(recorder.mean_bytes(), 100.0);
        assert_eq!(recorder.percentile_bytes(0.9), 0);
        assert_eq!(recorder.percentile_bytes(0.95), 1_000);
        let samples: Vec<u64> = recorder.samples().map(|(_, bytes)| bytes).collect();
        assert_eq!(samples, [0, 0, 0, 1_000, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn what_comes_after_the_end_is_not_counted() {
        let mut recorder = QueueRecorder::new(Some(Time(100))).held_for(Time(300)).by_class();
        for (at, bytes) in [(100, 1_000), (500, 3_000), (600, 5_000), (700, 0)] {
            recorder.note(Time(at), Occupancy { bytes, packets: 1 });
            recorder.note_class(Time(at), 0, bytes, None);
        }
        let early = recorder.closed(Time(500));
        let class = &early.classes()[0].queue;
        for one in [&early, class] {
            assert_eq!((one.until(), one.mean_bytes(), one.largest_bytes()), (Time(500), 800.0, 3_000));
            assert_eq!(one.samples().count(), 5);
        }
        // It goes on where the run does.
        assert_eq!(recorder.closed(Time(1_000)).mean_bytes(), 1_200.0);
    }
}

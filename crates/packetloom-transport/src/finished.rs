//! Flows that a receiver has whole: kept for a while, because the last acknowledgement can be lost and the sender
//! then retransmits (TCP's TIME-WAIT has the same reason).

use crate::flow::FlowId;
use crate::flow_table::FlowTable;
use crate::prefetch::{prefetch, prefetch_whole};
use crate::units::Time;

/// How long a packet may wait somewhere after its flow has ended: 125 MB before a link of 10 Gb/s. Its flow must not
/// begin anew.
const LONGEST_WAIT: Time = Time::from_us(100_000);

/// The flows that ended here not long ago, with their length in packets.
///
/// Apart from what holds it: a transport's own memory is fetched for each packet, and this is of use only when a
/// flow begins or ends. Then most of it has left the caches, so it is made to be read in few places.
#[derive(Clone, Debug)]
pub struct Finished(Box<Ended>);

#[derive(Clone, Debug)]
struct Ended {
    linger: Time,
    /// When the first of the recent ones ended.
    since: Time,
    recent: Lengths,
    /// Those that ended before.
    older: Lengths,
}

impl Finished {
    /// Remembers each flow for `silence`, longer than a sender may stay silent between two tries, if not for longer.
    pub fn new(silence: Time) -> Finished {
        let linger = silence.max(LONGEST_WAIT);
        let (recent, older) = (Lengths::default(), Lengths::default());
        Finished(Box::new(Ended { linger, since: Time::ZERO, recent, older }))
    }

    /// A flow ended.
    #[inline]
    pub fn add(&mut self, now: Time, flow: FlowId, packets: u32) {
        let Ended { linger, since, recent, older } = &mut *self.0;
        if now.since(*since) > *linger {
            // The last of the older ones ended before that.
            *older = std::mem::take(recent);
            *since = now;
        }
        recent.insert(flow, packets);
    }

    /// A packet of a flow will arrive soon: prefetches its receiver or, where there is none, what is read to see
    /// whether the flow has ended.
    #[inline]
    pub fn expect<R>(&self, flow: FlowId, receivers: &FlowTable<R>) {
        if receivers.contains(flow) {
            receivers.prefetch(flow);
        } else {
            prefetch_whole(&*self.0);
        }
    }

    /// It will arrive even sooner, and the above is in the cache: prefetches what that points to.
    #[inline]
    pub fn expect_soon<R>(&self, flow: FlowId, receivers: &FlowTable<R>) {
        if !receivers.contains(flow) {
            self.0.recent.prefetch(flow);
        }
    }

    /// How many packets the flow had, if it ended here.
    #[inline]
    pub fn packets(&self, flow: FlowId) -> Option<u32> {
        self.0.recent.get(flow).or_else(|| self.0.older.get(flow))
    }
}

/// Flows and their lengths, by open addressing with linear probing.
#[derive(Clone, Debug, Default)]
struct Lengths {
    /// A power of two of buckets, at most half full; or none.
    buckets: Vec<(FlowId, u32)>,
    flows: usize,
}

/// The length in a bucket without a flow.
const EMPTY: u32 = u32::MAX;

/// So many buckets are in a cache line.
const FIRST_BUCKETS: usize = 8;

impl Lengths {
    #[inline]
    fn get(&self, flow: FlowId) -> Option<u32> {
        if self.buckets.is_empty() {
            return None;
        }
        let (_, packets) = self.buckets[self.find(flow)];
        (packets != EMPTY).then_some(packets)
    }

    #[inline]
    fn prefetch(&self, flow: FlowId) {
        if let Some(bucket) = self.buckets.get(self.home(flow)) {
            prefetch(bucket);
        }
    }

    #[inline]
    fn insert(&mut self, flow: FlowId, packets: u32) {
        if (self.flows + 1) * 2 > self.buckets.len() {
            self.grow();
        }
        let bucket = self.find(flow);
        self.flows += usize::from(self.buckets[bucket].1 == EMPTY);
        self.buckets[bucket] = (flow, packets);
    }

    /// Where the search for a flow begins.
    #[inline]
    fn home(&self, flow: FlowId) -> usize {
        let spread = u64::from(flow.wrapping_mul(0x9e37_79b1));
        ((spread * self.buckets.len() as u64) >> 32) as usize
    }

    /// The bucket that holds the flow, or the empty one where it would be inserted.
    #[inline]
    fn find(&self, flow: FlowId) -> usize {
        let mask = self.buckets.len() - 1;
        let mut bucket = self.home(flow);
        while self.buckets[bucket].1 != EMPTY && self.buckets[bucket].0 != flow {
            bucket = (bucket + 1) & mask;
        }
        bucket
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![(0, EMPTY); (self.buckets.len() * 2).max(FIRST_BUCKETS)];
        for (flow, packets) in std::mem::replace(&mut self.buckets, larger) {
            if packets != EMPTY {
                let bucket = self.find(flow);
                self.buckets[bucket] = (flow, packets);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow ends each microsecond.
    fn ended(flows: u32, silence: Time) -> Finished {
        let mut finished = Finished::new(silence);
        for flow in 0..flows {
            finished.add(Time::from_us(flow.into()), flow * 1024, flow % 7);
        }
        finished
    }

    #[test]
    fn a_flow_is_known_with_its_length_and_no_other_is() {
        let finished = ended(5_000, Time::ZERO);
        for flow in 0..5_000 {
            assert_eq!(finished.packets(flow * 1024), Some(flow % 7));
            assert_eq!(finished.packets(flow * 1024 + 1), None);
        }
    }

    #[test]
    fn a_flow_is_remembered_for_as_long_as_its_packets_may_wait_and_not_for_ever() {
        for (silence, least) in [(Time::ZERO, 100_000), (Time::from_us(150_000), 150_000)] {
            let finished = ended(500_000, silence);
            let remembered = |ago: u32| finished.packets((499_999 - ago) * 1024).is_some();
            assert!((0..=least).all(remembered));
            assert!(!(2 * least + 2..500_000).any(remembered));
        }
    }

    #[test]
    fn a_flow_that_ends_again_has_its_last_length() {
        let mut finished = Finished::new(Time::ZERO);
        finished.add(Time::ZERO, 3, 1);
        finished.add(Time::from_us(200_000), 3, 2);
        finished.add(Time::from_us(200_000), 3, 4);
        assert_eq!(finished.packets(3), Some(4));
    }
}

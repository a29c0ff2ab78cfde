//! Flows that a receiver has whole: kept for a while, because the last acknowledgement can be lost and the sender
//! then retransmits (TCP's TIME-WAIT has the same reason).

use super::flow_table::FlowTable;
use crate::flow::FlowId;
use crate::units::Time;
use std::collections::VecDeque;

/// How long a packet may wait somewhere after its flow has ended: 125 MB before a link of 10 Gb/s. Its flow must not
/// begin anew.
const LONGEST_WAIT: Time = Time::from_us(100_000);

/// The flows that ended here not long ago, with their length in packets.
///
/// Apart from what holds it: a transport's own memory is fetched for each packet, and this is of use only when a
/// flow ends.
#[derive(Clone, Debug)]
pub struct Finished(Box<Ended>);

#[derive(Clone, Debug)]
struct Ended {
    linger: Time,
    packets: FlowTable<u32>,
    oldest: VecDeque<(Time, FlowId)>,
}

impl Finished {
    /// Remembers each flow for `silence`, longer than a sender may stay silent between two tries, if not for longer.
    pub fn new(silence: Time) -> Finished {
        let linger = silence.max(LONGEST_WAIT);
        Finished(Box::new(Ended { linger, packets: FlowTable::default(), oldest: VecDeque::new() }))
    }

    /// A flow ended.
    #[inline]
    pub fn add(&mut self, now: Time, flow: FlowId, packets: u32) {
        let Ended { linger, packets: lengths, oldest } = &mut *self.0;
        while let Some(&(ended, old)) = oldest.front()
            && now.since(ended) > *linger
        {
            oldest.pop_front();
            lengths.remove(old);
        }
        oldest.push_back((now, flow));
        lengths.insert(flow, packets);
    }

    /// How many packets the flow had, if it ended here.
    #[inline]
    pub fn packets(&mut self, flow: FlowId) -> Option<u32> {
        self.0.packets.get_mut(flow).copied()
    }
}

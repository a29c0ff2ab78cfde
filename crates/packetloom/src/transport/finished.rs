//! Flows that a receiver has whole: kept for a while, because the last acknowledgement can be lost and the sender
//! then asks again (TCP's TIME-WAIT has the same reason).

use super::flow_table::FlowTable;
use crate::flow::FlowId;
use crate::units::Time;
use std::collections::VecDeque;

/// How long a packet may wait somewhere after its flow has ended: 125 MB before a link of 10 Gb/s. Its flow must not
/// begin anew.
const LONGEST_WAIT: Time = Time::from_us(100_000);

/// The flows that ended here not long ago, with their length in packets.
#[derive(Clone, Debug)]
pub struct Finished {
    linger: Time,
    packets: FlowTable<u32>,
    oldest: VecDeque<(Time, FlowId)>,
}

impl Finished {
    /// Remembers each flow for `silence`, longer than a sender may stay silent between two tries, if not for longer.
    pub fn new(silence: Time) -> Finished {
        Finished { linger: silence.max(LONGEST_WAIT), packets: FlowTable::default(), oldest: VecDeque::new() }
    }

    /// A flow ended.
    pub fn add(&mut self, now: Time, flow: FlowId, packets: u32) {
        while let Some(&(ended, old)) = self.oldest.front()
            && now.since(ended) > self.linger
        {
            self.oldest.pop_front();
            self.packets.remove(old);
        }
        self.oldest.push_back((now, flow));
        self.packets.insert(flow, packets);
    }

    /// How many packets the flow had, if it ended here.
    pub fn packets(&mut self, flow: FlowId) -> Option<u32> {
        self.packets.get_mut(flow).copied()
    }
}

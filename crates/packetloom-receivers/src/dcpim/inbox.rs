//! The unfinished flows to a host, by sender.

use super::incoming::Incoming;
use crate::flow::{FlowId, HostId};
use crate::flow_table::FlowTable;
use crate::units::Time;
use smallvec::{SmallVec, smallvec};

/// The flows, and which there are of each sender, in order of the sender's number.
#[derive(Debug, Default)]
pub struct Inbox {
    pub flows: FlowTable<Incoming>,
    senders: Vec<(HostId, SmallVec<[FlowId; 2]>)>,
}

impl Inbox {
    pub fn add(&mut self, incoming: Incoming) {
        match self.place(incoming.src) {
            Ok(place) => self.senders[place].1.push(incoming.flow),
            Err(place) => self.senders.insert(place, (incoming.src, smallvec![incoming.flow])),
        }
        self.flows.insert(incoming.flow, incoming);
    }

    pub fn remove(&mut self, flow: FlowId) {
        let Some(incoming) = self.flows.remove(flow) else { return };
        let Ok(place) = self.place(incoming.src) else { return };
        let flows = &mut self.senders[place].1;
        flows.retain(|&mut other| other != flow);
        if flows.is_empty() {
            self.senders.remove(place);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.senders.is_empty()
    }

    /// How many senders there are.
    pub fn senders(&self) -> usize {
        self.senders.len()
    }

    /// One of them, by its place.
    pub fn sender(&self, place: usize) -> HostId {
        self.senders[place].0
    }

    /// Whether there is any flow of a sender.
    pub fn has(&self, sender: HostId) -> bool {
        self.place(sender).is_ok()
    }

    /// The flow of a sender that is asked for, or gets tokens: the one with the least left; of equals, the earliest
    /// (PimFlowComparatorAtReceiver, PimHost::get_top_unfinish_flow).
    #[inline]
    pub fn best(&self, sender: HostId, now: Time) -> Option<FlowId> {
        let flows = &self.senders[self.place(sender).ok()?].1;
        let open = flows.iter().filter_map(|&flow| self.flows.get(flow)).filter(|flow| flow.is_open(now));
        open.min_by_key(|flow| (flow.left(), flow.start, flow.flow)).map(|flow| flow.flow)
    }

    #[inline]
    fn place(&self, sender: HostId) -> Result<usize, usize> {
        self.senders.binary_search_by_key(&sender, |&(host, _)| host)
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::testing::config;
    use super::*;

    #[test]
    fn a_senders_best_flow_is_the_one_with_the_least_left_that_may_be_asked_for() {
        let config = config();
        let mut inbox = Inbox::default();
        // The last is short, and quiet for a while.
        for (flow, src, packets) in [(1, 7, 90), (2, 7, 40), (3, 5, 80), (4, 7, 3)] {
            inbox.add(Incoming::new((flow, src), (packets, Time::ZERO), &config, Time::ZERO));
        }
        assert_eq!((inbox.senders(), inbox.sender(0), inbox.sender(1)), (2, 5, 7));
        let late = Time::from_us(100);
        assert_eq!([Time::ZERO, late].map(|now| inbox.best(7, now)), [Some(2), Some(4)]);
        assert_eq!(inbox.best(6, late), None);
        [2, 3, 4].into_iter().for_each(|flow| inbox.remove(flow));
        assert_eq!((inbox.best(7, late), inbox.has(5), inbox.senders()), (Some(1), false, 1));
    }
}

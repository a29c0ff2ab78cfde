//! The flow queueing of FQ-CoDel (RFC 8290 §4): flows hashed to queues that share the link by deficit round robin, new
//! ones before old ones; a full buffer is emptied from the head of the longest queue.

use super::{AnyScheduler, Evicted, Read, Scheduler, Specification};
use crate::narrow::{exact, narrow};
use crate::packets::{PacketId, Packets};
use crate::queue::flow_control::Gates;
use crate::queue::list::List;
use crate::queue::{Env, Occupancy, Traits};
use crate::spec::{Complaint, Component, Kind, Registered, Values, param};
use std::collections::VecDeque;

const COMPONENT: Component = Component {
    section: "scheduler",
    kind: "fair-queueing",
    doc: "Flows, hashed to queues, share the link by bytes (deficit round robin), and those that begin to send go before others. A full buffer is emptied from the head of the longest queue. With aqm = \"codel\" this is FQ-CoDel.",
    source: "RFC 8290 §4",
    params: &[&[
        param! {
            "queues" = "1024": Kind::Count(1),
            "To how many queues flows are hashed; those that meet in one share its turn.",
            "RFC 8290 §5.2.4: 1024"
        },
        param! {
            "quantum" = "1514B": Kind::Bytes,
            "What a queue may send in a round.", "RFC 8290 §5.2.3: 1514 B"
        },
        param! {
            "drop_batch" = "64": Kind::Count(1),
            "If there is no room, up to this many packets of the longest queue are dropped, at most half of it.",
            "RFC 8290 §5.2.6; Linux: drop_batch 64"
        },
    ]],
    check,
};

/// The scheduler.
pub const SCHEDULER: Registered<Read> = Registered {
    component: COMPONENT,
    factory: |values| Specification {
        evicts: true,
        ..Specification::new(AnyScheduler::FairQueueing(FairQueueing::build(values)), Traits::FLOWS)
    },
};

fn check(values: &Values) -> Result<(), Complaint> {
    if values.count("queues") > 65_536 {
        return Err(Complaint::new("queues", "write 65536 at most"));
    }
    super::check_quantum(values)?;
    if values.count("drop_batch") > 65_536 {
        return Err(Complaint::new("drop_batch", "write 65536 at most"));
    }
    Ok(())
}

/// In which list a queue is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    None,
    New,
    Old,
}

#[derive(Clone, Debug, Default)]
struct FlowQueue {
    deficit_bytes: i64,
    place: Place,
    waiting: List,
}

/// The queues of a port.
#[derive(Clone, Debug)]
pub struct FairQueueing {
    quantum_bytes: i64,
    drop_batch: u32,
    /// For each value of the hash one more than the number of its queue; 0: nothing has come of it yet.
    numbers: Vec<u32>,
    queues: Vec<FlowQueue>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    queued: Occupancy,
}

impl FairQueueing {
    fn build(values: &Values) -> FairQueueing {
        FairQueueing {
            quantum_bytes: narrow::<i64>(values.bytes("quantum")),
            drop_batch: exact::<u32>(values.count("drop_batch")),
            numbers: vec![0; exact::<usize>(values.count("queues"))],
            queues: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            queued: Occupancy::default(),
        }
    }

    fn take<H: Copy + Default>(&mut self, queue: usize, packets: &Packets<H>) -> Option<PacketId> {
        let id = self.queues[queue].waiting.pop_front(packets)?;
        self.queued.remove(packets.get(id).size_bytes);
        Some(id)
    }

    /// The queue at the head of the new ones, or of the old.
    fn head(&mut self) -> Option<(usize, Place)> {
        let of = |list: &VecDeque<u32>| list.front().map(|&queue| queue as usize);
        of(&self.new).map(|queue| (queue, Place::New)).or_else(|| Some((of(&self.old)?, Place::Old)))
    }

    /// Takes the head out of its list, and puts it at the end of the old ones, if it stays.
    fn move_head(&mut self, from: Place, stays: bool) {
        let list = if from == Place::New { &mut self.new } else { &mut self.old };
        let Some(queue) = list.pop_front() else { return };
        if stays {
            self.old.push_back(queue);
        }
        self.queues[queue as usize].place = if stays { Place::Old } else { Place::None };
    }
}

/// A flow's hash (splitmix64's last steps).
fn hash(flow: u32) -> u64 {
    let mut bits = u64::from(flow).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

impl Scheduler for FairQueueing {
    fn queue_for<H: Copy + Default>(&mut self, id: PacketId, packets: &Packets<H>) -> usize {
        let of_hash = narrow::<usize>(hash(packets.get(id).flow) % self.numbers.len() as u64);
        if self.numbers[of_hash] == 0 {
            self.queues.push(FlowQueue::default());
            self.numbers[of_hash] = narrow::<u32>(self.queues.len());
        }
        self.numbers[of_hash] as usize - 1
    }

    fn queued_in(&self, queue: usize) -> Occupancy {
        self.queues[queue].waiting.queued()
    }

    fn queued(&self) -> Occupancy {
        self.queued
    }

    fn join<H: Copy + Default>(&mut self, id: PacketId, queue: usize, packets: &mut Packets<H>) {
        let of_flow = &mut self.queues[queue];
        of_flow.waiting.push_back(id, packets);
        self.queued.add(packets.get(id).size_bytes);
        if of_flow.place == Place::None {
            of_flow.place = Place::New;
            of_flow.deficit_bytes = self.quantum_bytes;
            self.new.push_back(narrow::<u32>(queue));
        }
    }

    fn next<H: Copy + Default>(&mut self, _: Gates, _: &Packets<H>) -> Option<usize> {
        loop {
            let (queue, place) = self.head()?;
            let of_flow = &mut self.queues[queue];
            if of_flow.deficit_bytes > 0 {
                return Some(queue);
            }
            of_flow.deficit_bytes += self.quantum_bytes;
            self.move_head(place, true);
        }
    }

    fn pop<H: Copy + Default>(&mut self, queue: usize, env: &mut Env<'_, H>) -> Option<PacketId> {
        self.take(queue, env.packets)
    }

    fn sent(&mut self, queue: usize, size_bytes: u16) {
        self.queues[queue].deficit_bytes -= i64::from(size_bytes);
    }

    // A new queue that is empty becomes an old one if there are others: else a flow that sends a packet at a time would
    // always be new (§4.2).
    fn emptied(&mut self, queue: usize) {
        let place = self.queues[queue].place;
        debug_assert_eq!(self.head(), Some((queue, place)), "it is the one that was to send");
        self.move_head(place, place == Place::New && !self.old.is_empty());
    }

    fn evict<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<Evicted> {
        let bytes = |queue: &usize| (self.queues[*queue].waiting.queued().bytes, std::cmp::Reverse(*queue));
        let queue = (0..self.queues.len()).max_by_key(bytes)?;
        let half = self.queues[queue].waiting.queued().bytes / 2;
        let (mut packets, mut dropped_bytes) = (0, 0);
        while packets < self.drop_batch && (packets == 0 || dropped_bytes < half) {
            let Some(id) = self.take(queue, env.packets) else { break };
            dropped_bytes += u64::from(env.packets.get(id).size_bytes);
            packets += 1;
            env.drop(id);
        }
        (packets > 0).then_some(Evicted { queue, packets })
    }

    fn is_settled(&self) -> bool {
        self.new.is_empty() && self.old.is_empty()
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> Box<dyn Iterator<Item = PacketId> + 'a> {
        Box::new(self.queues.iter().flat_map(|queue| queue.waiting.iter(packets)))
    }
}

//! Start-time fair queueing (STFQ; Goyal, Vin and Cheng, SIGCOMM 1996) by weights that packets carry, as
//! NUMFabric's switches do it (SIGCOMM 2016 §4.1).
//!
//! A packet's virtual length is its size over its weight. The field for it is [`Packet::priority`], which holds the
//! inverse of the weight: what a byte takes. So flows of transports that know no weights, whose packets all carry 1,
//! share the link by bytes; and of those that write a priority, that is the inverse of the weight.

use super::admission::Limit;
use super::list::List;
use super::specification::{Bound, Making, Room};
use super::{Buffer, Built, Counts, Env, Holds, Joined, Occupancy, Opening, Specification, Traits};
use crate::flow::FlowId;
use crate::flow_table::FlowTable;
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::spec::{Component, Kind as Holding, Registered, Values, anything, param};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

const COMPONENT: Component = Component {
    section: "queue",
    kind: "weighted-fair",
    doc: "Start-time fair queueing: flows share the link by the weights that their packets carry, or by bytes alike where these carry none (a transport's priority is the inverse of the weight). Control packets go first. When full, it drops the packet with the greatest virtual length (size over weight).",
    source: "Goyal, Vin and Cheng, SIGCOMM 1996; NUMFabric (SIGCOMM 2016) §4.1",
    params: &[&[param! {
        "capacity" = "1MB": Holding::Bytes,
        "How much may wait, without the packet in service.",
        "packetloom: room for 666 flows with a packet each (NUMFabric's ns-3 code never fills its 450 MB)"
    }]],
    check: anything,
};

/// The queue.
pub const QUEUE: Registered<Making> = Registered { component: COMPONENT, factory: Making::new(read) };

fn read(values: &Values) -> Specification {
    let capacity_bytes = values.bytes("capacity");
    let queue = Buffer::WeightedFair(Box::new(WeightedFair::holding(capacity_bytes)));
    Specification {
        bounds: vec![Bound::bytes(capacity_bytes)],
        rooms: vec![Room::new("capacity", Limit::Bytes(capacity_bytes), Vec::new())],
        weighs: true,
        traits: Traits::WEIGHTS,
        ..Specification::new(values, Built::Held(queue))
    }
}

/// A data packet that waits.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Its virtual start time.
    start: f64,
    /// Of equal starts the earlier arrival goes first.
    order: u64,
    virtual_length: f64,
    id: PacketId,
    size_bytes: u16,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// The first to go is the greatest, which a heap gives first.
    fn cmp(&self, other: &Entry) -> Ordering {
        other.start.total_cmp(&self.start).then(other.order.cmp(&self.order))
    }
}

/// A flow's place in virtual time.
#[derive(Clone, Copy, Debug)]
struct Tag {
    flow: FlowId,
    /// The virtual finish time of its last packet.
    finish: f64,
}

/// The virtual finish times of the flows that are ahead of the virtual time.
#[derive(Clone, Debug, Default)]
struct Tags {
    of: FlowTable<Tag>,
    count: usize,
    /// With so many, those that are no longer ahead are looked for.
    sweep_at: usize,
    behind: Vec<FlowId>,
}

/// Fewer tags are not worth a look.
const FEWEST_SWEPT: usize = 64;

impl Tags {
    /// The virtual start time of a flow's next packet, whose virtual length is this: where its last one ends, or the
    /// present.
    fn start(&mut self, flow: FlowId, virtual_length: f64, now: f64) -> f64 {
        if let Some(tag) = self.of.get_mut(flow) {
            let start = tag.finish.max(now);
            tag.finish = start + virtual_length;
            return start;
        }
        if self.count >= self.sweep_at.max(FEWEST_SWEPT) {
            self.sweep(now);
        }
        self.of.insert(flow, Tag { flow, finish: now + virtual_length });
        self.count += 1;
        now
    }

    /// Forgets the flows whose next packet would start in the present anyway.
    fn sweep(&mut self, now: f64) {
        self.behind.clear();
        self.behind.extend(self.of.states().filter(|tag| tag.finish <= now).map(|tag| tag.flow));
        for flow in self.behind.drain(..) {
            self.of.remove(flow);
            self.count -= 1;
        }
        self.sweep_at = 2 * self.count;
    }
}

/// A port's packets.
#[derive(Clone, Debug)]
pub struct WeightedFair {
    capacity_bytes: u64,
    control: List,
    data: BinaryHeap<Entry>,
    queued: Occupancy,
    /// The virtual time: the start of the last packet that was taken.
    now: f64,
    tags: Tags,
    arrivals: u64,
}

impl WeightedFair {
    /// An empty queue that may hold so many bytes.
    pub(super) fn holding(capacity_bytes: u64) -> WeightedFair {
        WeightedFair {
            capacity_bytes,
            control: List::default(),
            data: BinaryHeap::new(),
            queued: Occupancy::default(),
            now: 0.0,
            tags: Tags::default(),
            arrivals: 0,
        }
    }

    /// Takes a packet in, whatever waits.
    pub(super) fn push<H: Copy + Default>(&mut self, id: PacketId, packets: &mut Packets<H>) {
        let packet = packets.get(id);
        self.queued.add(packet.size_bytes);
        if packet.kind == Kind::Data {
            self.put_data(id, packet);
        } else {
            self.control.push_back(id, packets);
        }
    }

    /// Takes the packet out that is to be dropped: data, if there is any.
    pub(super) fn pop_worst<H: Copy + Default>(&mut self, packets: &Packets<H>) -> Option<PacketId> {
        let worst = match self.victim() {
            Some(victim) => {
                self.data.retain(|entry| entry.order != victim.order);
                victim.id
            }
            None => self.control.pop_front(packets)?,
        };
        self.queued.remove(packets.get(worst).size_bytes);
        Some(worst)
    }

    fn put_data(&mut self, id: PacketId, &Packet { flow, priority, size_bytes, .. }: &Packet<impl Copy>) {
        let virtual_length = f64::from(priority) * f64::from(size_bytes);
        let start = self.tags.start(flow, virtual_length, self.now);
        self.arrivals += 1;
        self.data.push(Entry { start, order: self.arrivals, virtual_length, id, size_bytes });
    }

    /// Which packet is dropped (prio-queue.cc of NUMFabric's ns-3 code): the one with the greatest virtual length,
    /// the last arrival before others, and of those the earliest.
    fn victim(&self) -> Option<Entry> {
        let rank = |entry: &Entry| (entry.order == self.arrivals, std::cmp::Reverse(entry.order));
        let beats = |one: &Entry, other: &Entry| {
            one.virtual_length.total_cmp(&other.virtual_length).then(rank(one).cmp(&rank(other)))
        };
        self.data.iter().copied().max_by(beats)
    }

    /// Drops data until all fits, or none is left.
    #[cold]
    #[inline(never)]
    fn make_room<H: Copy + Default>(&mut self, packets: &mut Packets<H>, counts: &mut Counts) {
        while self.queued.bytes > self.capacity_bytes
            && let Some(victim) = self.victim()
        {
            self.data.retain(|entry| entry.order != victim.order);
            self.queued.remove(victim.size_bytes);
            packets.take(victim.id);
            counts.drops += 1;
        }
    }
}

impl Holds for WeightedFair {
    #[inline]
    fn put<H: Copy + Default>(&mut self, id: PacketId, _: Option<Opening>, env: &mut Env<'_, H>) -> Joined {
        let Env { packets, counts, .. } = env;
        let packet = packets.get(id);
        let (kind, size_bytes) = (packet.kind, packet.size_bytes);
        self.queued.add(size_bytes);
        if kind == Kind::Data {
            self.put_data(id, packet);
        }
        let fits = self.queued.bytes <= self.capacity_bytes;
        if !fits {
            self.make_room(packets, counts);
        }
        if kind != Kind::Data {
            if self.queued.bytes > self.capacity_bytes {
                self.queued.remove(packets.take(id).size_bytes);
                counts.drops += 1;
            } else {
                self.control.push_back(id, packets);
            }
        }
        if fits { Joined::Waits } else { Joined::Dropped }
    }

    #[inline]
    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        let Env { packets, .. } = env;
        if let Some(id) = self.control.pop_front(packets) {
            self.queued.remove(packets.get(id).size_bytes);
            return Some(id);
        }
        let Entry { start, id, size_bytes, .. } = self.data.pop()?;
        self.now = start;
        self.queued.remove(size_bytes);
        Some(id)
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> impl Iterator<Item = PacketId> + 'a {
        self.control.iter(packets).chain(self.data.iter().map(|entry| entry.id))
    }

    fn queued(&self) -> Occupancy {
        self.queued
    }

    // So that packets that find the link free move the virtual time, too.
    fn holds_back(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::TestBuffer;
    use crate::random::{Purpose, Stream};
    use crate::spec::Value;

    fn queue(capacity_bytes: u64) -> TestBuffer<u32> {
        let entries = [("capacity".to_owned(), Value::Bytes(capacity_bytes))].into();
        TestBuffer::new(Buffer::build(&Values { kind: "weighted-fair".to_owned(), entries }))
    }

    fn stream() -> Stream {
        Stream::new(1, Purpose::Queue, 0)
    }

    /// The `number`-th packet that arrives.
    fn packet(flow: FlowId, priority: u32, size_bytes: u16, number: u32) -> Packet<u32> {
        Packet { flow, priority, size_bytes, header: number, ..Packet::default() }
    }

    /// The bytes that each of these flows gets of so many packets, if each always has two waiting. A flow is a weight
    /// (its inverse) and a packet size.
    fn shares<const N: usize>(flows: [(u32, u16); N], packets: u32) -> [u64; N] {
        let (mut queue, mut random) = (queue(1 << 40), stream());
        let mut sent = [0; N];
        for _ in 0..2 {
            for (flow, (inverse, size)) in (0..).zip(flows) {
                queue.put(packet(flow, inverse, size, 0), 0, &mut random);
            }
        }
        for _ in 0..packets {
            let taken = queue.take(&mut random).expect("two of each flow wait");
            sent[taken.flow as usize] += u64::from(taken.size_bytes);
            queue.put(taken, 0, &mut random);
        }
        sent
    }

    #[test]
    fn flows_share_by_weight_whatever_the_size_of_their_packets() {
        // Weights 1, 2, 5 and 0.25, times a constant.
        let flows = [(20_000, 1_500), (10_000, 300), (4_000, 9_000), (80_000, 1_000)];
        let sent = shares(flows, 200_000).map(|bytes| bytes as f64);
        let all: f64 = sent.iter().sum();
        for (bytes, weight) in sent.into_iter().zip([1.0, 2.0, 5.0, 0.25]) {
            let share = bytes / all * 8.25;
            assert!((share / weight - 1.0).abs() < 0.01, "{share} for {weight}");
        }
    }

    #[test]
    fn packets_without_weights_share_by_bytes() {
        let [small, large] = shares([(1, 250), (1, 1_500)], 70_000);
        assert!(small.abs_diff(large) <= 3_000, "{small} and {large}");
    }

    #[test]
    fn the_least_virtual_start_goes_first() {
        let (mut queue, mut random) = (queue(1 << 20), stream());
        // Virtual lengths 2000 of flow 7, 500 of flow 8: starts 0, 2000 and 4000 of one; 0, 500 and 1000 of the other.
        for number in 0..3 {
            queue.put(packet(7, 2, 1_000, number), 0, &mut random);
        }
        for number in 3..6 {
            queue.put(packet(8, 1, 500, number), 0, &mut random);
        }
        let mut next = |queue: &mut TestBuffer<u32>| queue.take(&mut random).map(|packet| packet.header);
        assert_eq!([0; 4].map(|_| next(&mut queue)), [Some(0), Some(3), Some(4), Some(5)]);
        // A flow that comes now starts now, at 1000: before flow 7's second packet.
        queue.put(packet(9, 5, 1_000, 6), 0, &mut stream());
        // Flow 8 has nothing waiting, but is ahead: its next starts at 1500.
        queue.put(packet(8, 1, 500, 7), 0, &mut stream());
        assert_eq!([0; 5].map(|_| next(&mut queue)), [Some(6), Some(7), Some(1), Some(2), None]);
    }

    #[test]
    fn control_goes_first_and_moves_no_virtual_time() {
        let (mut queue, mut random) = (queue(1 << 20), stream());
        let ack = Packet { kind: Kind::Ack, ..packet(7, 0, 40, 2) };
        for packet in [packet(7, 1, 1_000, 0), packet(7, 1, 1_000, 1), ack] {
            queue.put(packet, 0, &mut random);
        }
        assert_eq!(queue.queued(), Occupancy { bytes: 2_040, packets: 3 });
        let order: Vec<u32> = std::iter::from_fn(|| queue.take(&mut random)).map(|p| p.header).collect();
        assert_eq!(order, [2, 0, 1]);
        assert_eq!(queue.queued(), Occupancy::default());
    }

    #[test]
    fn a_full_queue_drops_the_greatest_virtual_length() {
        let (mut queue, mut random) = (queue(3_000), stream());
        let put = |queue: &mut TestBuffer<u32>, packet| queue.put(packet, 0, &mut stream()).drops;
        for number in 0..3 {
            assert_eq!(put(&mut queue, packet(number % 2, 10 - number % 2, 1_000, number)), 0);
        }
        // Lengths 10000, 9000, 10000 wait. One as long goes itself; a shorter one has the earliest of these go.
        assert_eq!(put(&mut queue, packet(2, 10, 1_000, 3)), 1);
        assert_eq!(put(&mut queue, packet(3, 2, 1_000, 4)), 1);
        let control = Packet { kind: Kind::Control, ..packet(4, 0, 1_500, 5) };
        assert_eq!(put(&mut queue, control), 2, "control has room made for it");
        assert_eq!(put(&mut queue, Packet { size_bytes: 1_600, ..control }), 2, "or goes, with all data");
        let left: Vec<u32> = std::iter::from_fn(|| queue.take(&mut random)).map(|p| p.header).collect();
        assert_eq!((left, queue.queued()), (vec![5], Occupancy::default()));
    }

    #[test]
    fn behaves_as_a_plain_list_under_any_load() {
        let mut draws = Stream::new(2, Purpose::Queue, 0);
        let (mut queue, mut random) = (queue(12_000), stream());
        // Start, length and the packet, in order of arrival; each flow's finish; the virtual time.
        let mut model: Vec<(f64, f64, Packet<u32>)> = Vec::new();
        let (mut finish, mut now) = ([0.0_f64; 200], 0.0_f64);
        for number in 0..50_000 {
            if draws.below(9) < 5 {
                let size = 40 + draws.below(1_461) as u16;
                let arrival = packet(draws.below(200), 1 + draws.below(50), size, number);
                let drops = queue.put(arrival, 0, &mut random).drops;
                let length = f64::from(arrival.priority) * f64::from(size);
                let start = finish[arrival.flow as usize].max(now);
                finish[arrival.flow as usize] = start + length;
                model.push((start, length, arrival));
                let before = model.len();
                while model.iter().map(|(_, _, packet)| u64::from(packet.size_bytes)).sum::<u64>() > 12_000 {
                    let longest = model.iter().map(|(_, length, _)| *length).fold(0.0, f64::max);
                    let is_longest = |(_, length, _): &(f64, f64, Packet<u32>)| *length == longest;
                    let is_last = model
                        .last()
                        .is_some_and(|(_, length, last)| last.header == number && *length == longest);
                    let found = if is_last { None } else { model.iter().position(is_longest) };
                    model.remove(found.unwrap_or(model.len() - 1));
                }
                assert_eq!(drops as usize, before - model.len());
            } else {
                let first = model.iter().map(|(start, ..)| *start).fold(f64::INFINITY, f64::min);
                let place = model.iter().position(|(start, ..)| *start == first);
                let expected = place.map(|place| model.remove(place));
                now = expected.map_or(now, |(start, ..)| start);
                let taken = queue.take(&mut random).map(|packet| packet.header);
                assert_eq!(taken, expected.map(|(_, _, packet)| packet.header));
            }
            let bytes = model.iter().map(|(_, _, packet)| u64::from(packet.size_bytes)).sum();
            assert_eq!(queue.queued(), Occupancy { bytes, packets: model.len() as u64 });
        }
    }
}

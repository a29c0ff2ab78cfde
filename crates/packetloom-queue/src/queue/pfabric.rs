//! pFabric's switch queue: priority scheduling and priority dropping (pFabric §2.2).
//!
//! At most a few dozen packets wait, so the smallest and the largest priority are found by a scan.

use super::admission::Limit;
use super::specification::{Bound, Making, Room};
use super::{Buffer, Built, Env, Holds, Joined, Occupancy, Opening, Specification, Traits};
use crate::flow::FlowId;
use crate::packet::Packet;
use crate::packets::{PacketId, Packets};
use crate::random::Stream;
use crate::spec::{Component, Kind, Param, Registered, Values, anything, param};
use std::hint::select_unpredictable;

/// Who goes first of equals.
pub(super) const TIES: Param = param! {
    "ties" = "random": Kind::Choice(&["random", "order"]),
    "Among equal priorities: any; or send the earliest and drop the latest arrival.",
    "pFabric §2.2: ties are broken at random; its ns-2 code goes by order"
};

const COMPONENT: Component = Component {
    section: "queue",
    kind: "pfabric",
    doc: "Sends the highest-priority flow's earliest packet; drops the lowest-priority packet when full.",
    source: "pFabric §2.2",
    params: &[&[
        param! {
            "capacity" = "22.5KB": Kind::Bytes,
            "How much may wait, without the packet in service.", "pFabric §3: 22.5 KB"
        },
        TIES,
        param! {
            "drops" = "lowest": Kind::Choice(&["lowest", "large-enough"]),
            "What is dropped for an arrival that does not fit. Either the packets with the lowest priorities, until the rest fits; or a single packet, that of the lowest priority among those large enough to make room alone.",
            "pFabric §2.2: the packet with the lowest priority is dropped; its ns-2 code (drop-tail.cc): \"large-enough\""
        },
    ]],
    check: anything,
};

/// The queue.
pub const QUEUE: Registered<Making> = Registered { component: COMPONENT, factory: Making::new(read) };

fn read(values: &Values) -> Specification {
    let capacity_bytes = values.bytes("capacity");
    let needs_one = values.meaning("drops", &[("large-enough", true), ("lowest", false)]);
    let queue = PFabric { needs_one, ..PFabric::read(values).holding(capacity_bytes) };
    Specification {
        bounds: vec![Bound::bytes(capacity_bytes)],
        rooms: vec![Room::new("capacity", Limit::Bytes(capacity_bytes), Vec::new())],
        is_sized_by_design: true,
        traits: Traits::SHORTEST_FIRST,
        ..Specification::new(values, Built::Held(Buffer::PFabric(queue)))
    }
}

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Entry {
    priority: u32,
    flow: FlowId,
    id: PacketId,
    size_bytes: u16,
}

/// A pFabric port's packets.
#[derive(Clone, Debug)]
pub struct PFabric {
    capacity_bytes: u64,
    random_ties: bool,
    /// Only what alone makes enough room is dropped.
    needs_one: bool,
    queued_bytes: u64,
    /// In order of arrival.
    waiting: Vec<Entry>,
}

impl PFabric {
    /// An empty queue of any size, which drops the lowest priorities.
    pub(super) fn read(values: &Values) -> PFabric {
        let random_ties = values.meaning("ties", &[("random", true), ("order", false)]);
        PFabric {
            capacity_bytes: u64::MAX,
            random_ties,
            needs_one: false,
            queued_bytes: 0,
            waiting: Vec::new(),
        }
    }

    /// The same that may hold so many bytes.
    pub(super) fn holding(self, capacity_bytes: u64) -> PFabric {
        PFabric { capacity_bytes, ..self }
    }

    /// Takes a packet in.
    #[inline]
    pub(super) fn push<H>(&mut self, id: PacketId, &Packet { priority, flow, size_bytes, .. }: &Packet<H>) {
        self.queued_bytes += u64::from(size_bytes);
        self.waiting.push(Entry { priority, flow, id, size_bytes });
    }

    /// The earliest packet of the flow that has the highest-priority packet: so a flow's packets keep their order.
    #[inline]
    pub(super) fn pop_best(&mut self, random: &mut Stream) -> Option<PacketId> {
        let earliest = match self.waiting.len() {
            0 => return None,
            1 => 0,
            _ => {
                let best = self.best(random);
                self.earliest_of(self.waiting[best].flow, best)
            }
        };
        Some(self.remove(earliest))
    }

    /// Where the earliest packet of a flow is, of which one is `known`.
    #[inline]
    fn earliest_of(&self, flow: FlowId, known: usize) -> usize {
        let before = self.waiting[..known].iter().enumerate().rev();
        before
            .fold(known, |earliest, (place, other)| select_unpredictable(other.flow == flow, place, earliest))
    }

    /// Takes the packet out that is to be dropped.
    pub(super) fn pop_worst(&mut self, random: &mut Stream) -> Option<PacketId> {
        if self.waiting.is_empty() {
            return None;
        }
        let worst = self.worst(random);
        Some(self.remove(worst))
    }

    /// Where the packet to send is: of equals the first, or any.
    fn best(&self, random: &mut Stream) -> usize {
        self.extreme(self.waiting.iter().enumerate(), (0, u32::MAX), |a, b| a < b, random)
    }

    /// Where the packet to drop is: of equals the last, or any. One that is large enough for the rest to fit is
    /// there: the arrival, which is the last.
    fn worst(&self, random: &mut Stream) -> usize {
        let excess = self.queued_bytes.saturating_sub(self.capacity_bytes);
        let least = if self.needs_one { excess } else { 0 };
        let all = self.waiting.iter().enumerate().rev();
        let large = all.filter(|(_, entry)| u64::from(entry.size_bytes) >= least);
        self.extreme(large, (self.waiting.len() - 1, 0), |a, b| a > b, random)
    }

    /// Where the packet is whose priority beats the others', and that of the one to begin with.
    #[inline]
    fn extreme<'a>(
        &self,
        entries: impl Iterator<Item = (usize, &'a Entry)> + Clone,
        (mut found, mut priority): (usize, u32),
        beats: impl Fn(u32, u32) -> bool,
        random: &mut Stream,
    ) -> usize {
        let mut equals = 0;
        // Without branches: which is best so far the processor can't foresee.
        for (place, entry) in entries.clone() {
            let is_better = beats(entry.priority, priority);
            let with_equal = equals + u32::from(entry.priority == priority);
            equals = select_unpredictable(is_better, 1, with_equal);
            found = select_unpredictable(is_better, place, found);
            priority = select_unpredictable(is_better, entry.priority, priority);
        }
        if equals == 1 || !self.random_ties {
            return found;
        }
        let mut equal = entries.filter(|(_, entry)| entry.priority == priority);
        equal.nth(random.below(equals) as usize).map_or(found, |(place, _)| place)
    }

    fn remove(&mut self, index: usize) -> PacketId {
        let removed = self.waiting.remove(index);
        self.queued_bytes -= u64::from(removed.size_bytes);
        removed.id
    }
}

impl Holds for PFabric {
    // While too much waits, drops the packet with the lowest priority, perhaps this one. Where only what is large
    // enough is dropped, one is.
    #[inline(always)]
    fn put<H: Copy + Default>(&mut self, id: PacketId, _: Option<Opening>, env: &mut Env<'_, H>) -> Joined {
        self.push(id, env.packets.get(id));
        if self.queued_bytes <= self.capacity_bytes {
            return Joined::Waits;
        }
        while self.queued_bytes > self.capacity_bytes {
            let worst = self.worst(env.random);
            env.drop(self.remove(worst));
        }
        Joined::Dropped
    }

    #[inline(always)]
    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        self.pop_best(env.random)
    }

    #[inline]
    fn prefetch<H: Copy + Default>(&self, packets: &Packets<H>) {
        self.waiting.first().inspect(|entry| packets.prefetch(entry.id));
    }

    fn packets<'a, H: Copy + Default>(&'a self, _: &'a Packets<H>) -> impl Iterator<Item = PacketId> + 'a {
        self.waiting.iter().map(|entry| entry.id)
    }

    fn queued(&self) -> Occupancy {
        Occupancy { bytes: self.queued_bytes, packets: self.waiting.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::TestBuffer;
    use crate::random::Purpose;
    use crate::spec::Value;

    fn queue(capacity: u64, ties: &str, drops: &str) -> TestBuffer<u32> {
        let text = |word: &str| Value::Text(word.to_owned());
        let entries = [("capacity", Value::Bytes(capacity)), ("ties", text(ties)), ("drops", text(drops))];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
        TestBuffer::new(Buffer::build(&Values { kind: "pfabric".to_owned(), entries }))
    }

    /// The `number`-th packet that arrives.
    fn packet(flow: FlowId, priority: u32, size_bytes: u16, number: u32) -> Packet<u32> {
        Packet { flow, priority, size_bytes, header: number, ..Packet::default() }
    }

    #[test]
    fn the_best_flows_earliest_packet_goes_first() {
        let mut stream = Stream::new(1, Purpose::Queue, 0);
        let mut queue = queue(10_000, "random", "lowest");
        // Flow 7's third packet has the highest priority of all, its first one the lowest.
        for (number, (flow, priority)) in
            [(7, 90), (8, 50), (7, 80), (9, 60), (7, 10)].into_iter().enumerate()
        {
            queue.put(packet(flow, priority, 1_000, number as u32), 0, &mut stream);
        }
        let order: Vec<u32> = std::iter::from_fn(|| queue.take(&mut stream)).map(|p| p.header).collect();
        // Once flow 7's best packet is all that it has left, it still is the best; then 8, then 9.
        assert_eq!(order, [0, 2, 4, 1, 3]);
    }

    #[test]
    fn behaves_as_a_plain_list_under_any_load() {
        for drops in ["lowest", "large-enough"] {
            behaves_as_a_plain_list(drops);
        }
    }

    fn behaves_as_a_plain_list(drops: &str) {
        let mut stream = Stream::new(2, Purpose::Queue, 0);
        let mut ties = Stream::new(3, Purpose::Queue, 0);
        let mut queue = queue(6_000, "order", drops);
        let mut model: Vec<Packet<u32>> = Vec::new();
        for number in 0..50_000 {
            if stream.below(5) < 3 {
                let size = 40 + stream.below(1_461) as u16;
                let arrival = packet(stream.below(4), stream.below(6), size, number);
                let dropped = queue.put(arrival, 0, &mut ties).drops;
                model.push(arrival);
                let before = model.len();
                let bytes =
                    |model: &[Packet<u32>]| model.iter().map(|p| u64::from(p.size_bytes)).sum::<u64>();
                while bytes(&model) > 6_000 {
                    let over = bytes(&model) - 6_000;
                    let may_go = |p: &Packet<u32>| drops == "lowest" || u64::from(p.size_bytes) >= over;
                    // The lowest priority, the latest among equals.
                    let all = (0..).zip(&model).filter(|(_, p)| may_go(p));
                    let (worst, _) = all.max_by_key(|(index, p)| (p.priority, *index)).unwrap();
                    model.remove(worst);
                }
                assert_eq!(dropped as usize, before - model.len());
                assert!(drops == "lowest" || dropped <= 1);
            } else {
                let best = model.iter().min_by_key(|packet| packet.priority).map(|packet| packet.flow);
                let earliest = best.and_then(|flow| model.iter().position(|packet| packet.flow == flow));
                let expected = earliest.map(|index| model.remove(index).header);
                assert_eq!(queue.take(&mut ties).map(|packet| packet.header), expected);
            }
            let bytes = model.iter().map(|packet| u64::from(packet.size_bytes)).sum();
            assert_eq!(queue.queued(), Occupancy { bytes, packets: model.len() as u64 });
        }
    }

    /// What is left of packets of these priorities and sizes, by number, in the order in which they go.
    fn left(drops: &str, packets: &[(u32, u16)]) -> Vec<u32> {
        let mut stream = Stream::new(1, Purpose::Queue, 0);
        let mut queue = queue(3_000, "order", drops);
        for (number, &(priority, size_bytes)) in (0..).zip(packets) {
            queue.put(packet(number, priority, size_bytes, number), 0, &mut stream);
        }
        std::iter::from_fn(|| queue.take(&mut stream)).map(|packet| packet.header).collect()
    }

    #[test]
    fn a_probe_that_makes_too_little_room_is_dropped_in_vain_or_stays() {
        // A packet, a probe of the lowest priority, and one packet more: what is missing is 42 B, and 41 B.
        assert_eq!(left("lowest", &[(50, 1_500), (100, 41), (10, 1_501)]), [2]);
        assert_eq!(left("large-enough", &[(50, 1_500), (100, 41), (10, 1_501)]), [2, 1]);
        for drops in ["lowest", "large-enough"] {
            assert_eq!(left(drops, &[(50, 1_500), (100, 41), (10, 1_500)]), [2, 0]);
            // Of a probe that finds no room any packet is large enough, and so is the probe.
            assert_eq!(left(drops, &[(5, 1_500), (9, 1_500), (7, 41)]), [0, 2]);
            assert_eq!(left(drops, &[(5, 1_500), (9, 1_500), (10, 41)]), [0, 1]);
        }
        // An arrival may be all that is large enough, however high its priority.
        assert_eq!(left("large-enough", &[(50, 1_000), (60, 1_000), (70, 1_000), (1, 1_001)]), [0, 1, 2]);
        assert_eq!(left("lowest", &[(50, 1_000), (60, 1_000), (70, 1_000), (1, 1_001)]), [3, 0]);
        // Alike in all, the latest is dropped.
        assert_eq!(left("large-enough", &[(0, 1_500), (0, 1_500), (0, 1_500)]), [0, 1]);
    }

    #[test]
    fn ties_are_broken_evenly() {
        let mut stream = Stream::new(4, Purpose::Queue, 0);
        let (mut sent, mut dropped) = ([0; 4], [0; 4]);
        for _ in 0..8_000 {
            let mut queue = queue(3_000, "random", "lowest");
            for number in 0..4 {
                queue.put(packet(number, 5, 1_000, number), 0, &mut stream);
            }
            let left: Vec<u32> = std::iter::from_fn(|| queue.take(&mut stream)).map(|p| p.header).collect();
            sent[left[0] as usize] += 1;
            let missing = (0..4).find(|number| !left.contains(number)).unwrap();
            dropped[missing as usize] += 1;
        }
        // 2000 each; five standard deviations are 194.
        for counts in [sent, dropped] {
            assert!(counts.iter().all(|&count: &i32| (count - 2_000).abs() < 194), "{counts:?}");
        }
    }
}

//! A port's queues: which one a packet joins, whether it is one too many, and whose turn it is.

use super::Rules;
use super::flows::{Flows, fixed_queue, flow_id};
use crate::link_message::LinkMessage;
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::queue::list::List;
use crate::queue::{Env, Holds, Joined, Occupancy, Opening, Site};
use crate::random::Stream;
use crate::units::Time;

/// Data carries in its priority, which no queue here goes by, the number of the queue that it left at the hop before; at a
/// host that is its flow. This bit says, at the switch where it waits, that it is one too many.
pub const COUNTED: u32 = 1 << 31;

/// A packet that is one too many: it keeps a queue paused until it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The link by which it came, as a number at the switch.
    pub link: u32,
    /// The queue at the far end of that.
    pub queue: u32,
}

/// A queue.
#[derive(Clone, Copy, Debug, Default)]
struct Physical {
    waiting: List,
    deficit_bytes: u32,
}

/// The packets of a port.
#[derive(Clone, Debug)]
pub struct Bfc {
    /// Which queues hold packets, and which are paused: a bit for each.
    occupied: u128,
    closed: u128,
    /// The queue that was served last, and whether it may go on.
    turn: u32,
    goes_on: bool,
    /// The queue that was given last.
    given: u32,
    is_switch: bool,
    /// PAUSE and RESUME frames; class 0.
    frames: List,
    first: List,
    queued: Occupancy,
    queues: Box<[Physical]>,
    flows: Flows,
    /// Above so many bytes a queue is too long that has the link to itself.
    threshold_bytes: u64,
    rules: Rules,
    /// Of what left last: its bytes, if it took some of the switch's buffer, and whether it was one too many.
    left: (u16, Option<Counted>),
}

impl Bfc {
    /// An empty port, which is to be placed.
    pub(super) fn build(rules: Rules) -> Bfc {
        Bfc {
            occupied: 0,
            closed: 0,
            turn: rules.queues - 1,
            goes_on: false,
            given: rules.queues - 1,
            is_switch: false,
            frames: List::default(),
            first: List::default(),
            queued: Occupancy::default(),
            queues: vec![Physical::default(); rules.queues as usize].into(),
            flows: Flows::new(Time::ZERO),
            threshold_bytes: 0,
            rules,
            left: (0, None),
        }
    }

    /// Whether a packet waits in one of the queues, and not with those that go first.
    #[inline]
    fn takes_turns<H>(&self, packet: &Packet<H>) -> bool {
        self.is_switch && packet.class != 0
    }

    /// The queues that hold packets and may send them.
    #[inline]
    fn open(&self) -> u128 {
        self.occupied & !self.closed
    }

    /// Of what [`Holds::take`] took last: how many bytes of the switch's buffer it took, and whether it was one too many.
    pub fn left(&self) -> (u16, Option<Counted>) {
        self.left
    }

    /// The queue for a flow that has none: an empty one that is not paused, if there is one.
    fn give_queue(&mut self, id: u32, random: &mut Stream) -> u32 {
        let queues = self.rules.queues;
        let free = !(self.occupied | self.closed) & (u128::MAX >> (128 - queues));
        match (free, self.rules.is_ns3) {
            (0, true) => fixed_queue(id, queues),
            (0, false) => random.below(queues),
            // The first from a random one on.
            (_, true) => next_of(free, (random.below(queues) + queues - 1) % queues),
            (_, false) => {
                self.given = next_of(free, self.given);
                self.given
            }
        }
    }

    /// The queue that a packet of a flow joins, and how many more of the flow wait there then.
    #[inline]
    fn join_flow(&mut self, flow: u32, waits: bool, now: Time, random: &mut Stream) -> (u32, u32) {
        let id = flow_id(flow, self.rules.flow_ids);
        let (entry, needs_queue) = self.flows.arrive(id, now);
        let others = entry.packets;
        entry.packets += u32::from(waits);
        if !needs_queue {
            return (entry.queue, others);
        }
        let queue = self.give_queue(id, random);
        self.flows.waiting(id).queue = queue;
        (queue, others)
    }

    /// Takes in a packet that waits in its flow's queue; it may be one too many.
    fn put_in_queue<H: Copy + Default>(&mut self, id: PacketId, env: &mut Env<'_, H>) {
        let &Packet { flow, kind, .. } = env.packets.get(id);
        let (queue, others_of_flow) = self.join_flow(flow, true, env.now, env.random);
        let waiting = &mut self.queues[queue as usize].waiting;
        waiting.push_back(id, env.packets);
        let Occupancy { bytes, packets } = waiting.queued();
        self.occupied |= 1 << queue;
        let active = u64::from(self.open().count_ones().max(1));
        let is_alone = if self.rules.is_ns3 { others_of_flow == 0 } else { packets == 1 };
        if kind == Kind::Data && !is_alone && bytes * active > self.threshold_bytes {
            env.packets.get_mut(id).priority |= COUNTED;
        }
    }

    /// The queue whose turn it is: deficit round robin, or a packet each.
    fn next_queue<H: Copy + Default>(&mut self, packets: &Packets<H>) -> Option<u32> {
        let open = self.open();
        if open == 0 {
            return None;
        }
        if self.rules.quantum_bytes == 0 {
            self.turn = next_of(open, self.turn);
            return Some(self.turn);
        }
        loop {
            if !(self.goes_on && open >> self.turn & 1 == 1) {
                self.turn = next_of(open, self.turn);
                let queue = &mut self.queues[self.turn as usize];
                queue.deficit_bytes = queue.deficit_bytes.saturating_add(self.rules.quantum_bytes);
            }
            let Physical { waiting, deficit_bytes } = &self.queues[self.turn as usize];
            let size_bytes = waiting.first().map_or(0, |id| packets.get(id).size_bytes);
            self.goes_on = u32::from(size_bytes) <= *deficit_bytes;
            if self.goes_on {
                return Some(self.turn);
            }
        }
    }

    /// Sends the next packet of a queue.
    fn take_from<H: Copy + Default>(&mut self, number: u32, env: &mut Env<'_, H>) -> Option<PacketId> {
        let queue = &mut self.queues[number as usize];
        let id = queue.waiting.pop_front(env.packets)?;
        let link = env.packets.ingress(id);
        let packet = env.packets.get_mut(id);
        queue.deficit_bytes = queue.deficit_bytes.saturating_sub(packet.size_bytes.into());
        if queue.waiting.is_empty() {
            // What it did not use is lost.
            (queue.deficit_bytes, self.goes_on) = (0, false);
            self.occupied &= !(1 << number);
        }
        let is_counted = packet.priority & COUNTED != 0;
        let counted = is_counted.then_some(Counted { link, queue: packet.priority & !COUNTED });
        self.left = (packet.size_bytes, counted);
        packet.priority = number;
        let entry = self.flows.waiting(flow_id(packet.flow, self.rules.flow_ids));
        entry.packets -= 1;
        entry.touched = env.now;
        Some(id)
    }

    /// What waits and may be sent.
    fn sendable(&self) -> Occupancy {
        let open = (0..self.rules.queues).filter(|queue| self.open() >> queue & 1 == 1);
        let waiting = open.map(|queue| self.queues[queue as usize].waiting.queued());
        waiting.fold(self.frames.queued() + self.first.queued(), |all, one| all + one)
    }
}

/// The first bit of a set after one, or the first of all; there is one.
#[inline]
fn next_of(set: u128, last: u32) -> u32 {
    let later = set & (u128::MAX << last << 1);
    if later != 0 { later.trailing_zeros() } else { set.trailing_zeros() }
}

impl Holds for Bfc {
    fn put<H: Copy + Default>(&mut self, id: PacketId, _: Option<Opening>, env: &mut Env<'_, H>) -> Joined {
        let packet = env.packets.get(id);
        self.queued.add(packet.size_bytes);
        if packet.kind == Kind::Link {
            self.frames.push_back(id, env.packets);
        } else if self.takes_turns(packet) {
            self.put_in_queue(id, env);
        } else {
            self.first.push_back(id, env.packets);
        }
        Joined::Waits
    }

    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        self.left = (0, None);
        let ahead = self.frames.pop_front(env.packets);
        let id = match ahead.or_else(|| self.first.pop_front(env.packets)) {
            Some(id) => {
                let packet = env.packets.get(id);
                let is_charged = packet.kind == Kind::Data;
                self.left.0 = if is_charged { packet.size_bytes } else { 0 };
                id
            }
            None => {
                let queue = self.next_queue(env.packets)?;
                self.take_from(queue, env)?
            }
        };
        self.queued.remove(env.packets.get(id).size_bytes);
        Some(id)
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> impl Iterator<Item = PacketId> + 'a {
        let queues = self.queues.iter().flat_map(|queue| queue.waiting.iter(packets));
        self.frames.iter(packets).chain(self.first.iter(packets)).chain(queues)
    }

    #[inline]
    fn queued(&self) -> Occupancy {
        self.queued
    }

    #[inline]
    fn unbooked(&self) -> Occupancy {
        if self.closed == 0 { self.queued } else { self.sendable() }
    }

    #[inline]
    fn is_ready(&self) -> bool {
        self.open() != 0 || !self.first.is_empty() || !self.frames.is_empty()
    }

    #[inline]
    fn prefetch<H: Copy + Default>(&self, packets: &Packets<H>) {
        self.first.prefetch(packets);
        if self.open() != 0 {
            self.queues[next_of(self.open(), self.turn) as usize].waiting.prefetch_first(packets);
        }
    }

    fn classes(&self, mut tell: impl FnMut(usize, u64, Option<u64>)) {
        let queues = self.queues.iter().enumerate();
        queues.for_each(|(number, queue)| tell(number, queue.waiting.queued().bytes, None));
    }

    fn holds_back(&self) -> bool {
        true
    }

    // What comes is counted before what leaves at that moment, as under PFC.
    fn joins_first(&self) -> bool {
        true
    }

    /// Nothing waits that may be sent. So a packet finds its queue empty, unless that is paused.
    #[inline]
    fn lets_pass(&self, class: Option<u8>, _: bool) -> bool {
        self.closed == 0 || class.is_none_or(|class| class == 0)
    }

    #[inline]
    fn sees_passing(&self) -> bool {
        self.is_switch
    }

    fn pass<H: Copy + Default>(&mut self, id: PacketId, env: &mut Env<'_, H>) {
        let packet = env.packets.get(id);
        if packet.kind != Kind::Link && self.takes_turns(packet) {
            let (queue, _) = self.join_flow(packet.flow, false, env.now, env.random);
            env.packets.get_mut(id).priority = queue;
        }
    }

    fn place(&mut self, site: Site) {
        let hop_rtt = self.rules.hop_rtt.unwrap_or(site.hop_rtt);
        let bit_ps = u128::from(site.rate.as_bps()) * u128::from(hop_rtt.as_ps());
        let hop_bytes = bit_ps / 8_000_000_000_000;
        let threshold = (hop_bytes * u128::from(self.rules.pause_above_q20)) >> 20;
        self.threshold_bytes = narrow::<u64>(threshold.min(1 << 60));
        self.flows = Flows::new(self.rules.keeps_queue.unwrap_or(hop_rtt.times(3)));
        self.is_switch = site.is_switch;
    }

    fn receive_message(&mut self, _: Time, message: LinkMessage) {
        let LinkMessage::Queue { queue, is_paused } = message else { return };
        // A host's flows are its transport's.
        if queue >= self.rules.queues || !self.is_switch {
            return;
        }
        if is_paused {
            self.closed |= 1 << queue;
            // Who waits for the far end saves nothing up.
            self.queues[queue as usize].deficit_bytes = 0;
        } else {
            self.closed &= !(1 << queue);
        }
    }
}

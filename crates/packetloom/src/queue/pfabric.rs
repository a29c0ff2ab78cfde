//! pFabric's switch queue: priority scheduling and priority dropping (pFabric §2.2).
//!
//! At most a few dozen packets wait, so the smallest and the largest priority are found by a scan over a row of
//! numbers, kept apart from the packets.

use super::{Effect, Occupancy};
use crate::flow::FlowId;
use crate::packet::Packet;
use crate::random::Stream;
use crate::spec::{Component, Fallback, Kind, Param, Values, anything};

/// The component.
pub const COMPONENT: Component = Component {
    section: "queue",
    kind: "pfabric",
    doc: "Sends the highest-priority flow's earliest packet; drops the lowest-priority packet when full.",
    source: "pFabric §2.2",
    params: &[
        Param {
            name: "capacity",
            kind: Kind::Bytes,
            default: Fallback::Value("22.5KB"),
            doc: "What may wait beside the packet in service.",
            source: "pFabric §3: 22.5 KB",
        },
        Param {
            name: "ties",
            kind: Kind::Choice(&["random", "order"]),
            default: Fallback::Value("random"),
            doc: "Among equal priorities: any; or send the earliest and drop the latest arrival.",
            source: "pFabric §2.2: ties are broken at random; its ns-2 code goes by order",
        },
    ],
    check: anything,
};

/// A pFabric port's packets.
#[derive(Clone, Debug)]
pub struct PFabric<H> {
    capacity_bytes: u64,
    random_ties: bool,
    queued_bytes: u64,
    /// One entry per waiting packet, in order of arrival.
    priorities: Vec<u32>,
    flows: Vec<FlowId>,
    places: Vec<u32>,
    /// Where the packets themselves are.
    packets: Vec<Packet<H>>,
    free: Vec<u32>,
}

impl<H: Copy> PFabric<H> {
    /// An empty queue.
    pub fn build(values: &Values) -> PFabric<H> {
        PFabric {
            capacity_bytes: values.bytes("capacity"),
            random_ties: values.text("ties") == "random",
            queued_bytes: 0,
            priorities: Vec::new(),
            flows: Vec::new(),
            places: Vec::new(),
            packets: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Takes a packet in; while too much waits, drops the packet with the lowest priority, perhaps this one.
    pub fn put(&mut self, packet: Packet<H>, random: &mut Stream) -> Effect {
        self.queued_bytes += u64::from(packet.size_bytes);
        self.priorities.push(packet.priority);
        self.flows.push(packet.flow);
        let place = match self.free.pop() {
            Some(place) => {
                self.packets[place as usize] = packet;
                place
            }
            None => {
                self.packets.push(packet);
                self.packets.len() as u32 - 1
            }
        };
        self.places.push(place);
        let mut effect = Effect::default();
        while self.queued_bytes > self.capacity_bytes {
            let worst = self.worst(random);
            self.remove(worst);
            effect.drops += 1;
        }
        effect
    }

    /// The earliest packet of the flow that has the highest-priority packet: so a flow's packets keep their order.
    pub fn take(&mut self, random: &mut Stream) -> Option<Packet<H>> {
        if self.priorities.is_empty() {
            return None;
        }
        let flow = self.flows[self.best(random)];
        let earliest = self.flows.iter().position(|&other| other == flow)?;
        Some(self.remove(earliest))
    }

    /// What waits.
    pub fn queued(&self) -> Occupancy {
        Occupancy { bytes: self.queued_bytes, packets: self.priorities.len() as u64 }
    }

    fn best(&self, random: &mut Stream) -> usize {
        let smallest = self.priorities.iter().copied().min().unwrap_or(0);
        let mut equals = self.priorities.iter().enumerate().filter(|(_, p)| **p == smallest);
        let nth = self.draw(smallest, random);
        equals.nth(nth).map_or(0, |(index, _)| index)
    }

    fn worst(&self, random: &mut Stream) -> usize {
        let largest = self.priorities.iter().copied().max().unwrap_or(0);
        let mut equals = self.priorities.iter().enumerate().rev().filter(|(_, p)| **p == largest);
        let nth = self.draw(largest, random);
        equals.nth(nth).map_or(0, |(index, _)| index)
    }

    /// Which one of those with this priority: the first, or one at random.
    fn draw(&self, priority: u32, random: &mut Stream) -> usize {
        if !self.random_ties {
            return 0;
        }
        let equals = self.priorities.iter().filter(|p| **p == priority).count() as u32;
        if equals > 1 { random.below(equals) as usize } else { 0 }
    }

    fn remove(&mut self, index: usize) -> Packet<H> {
        self.priorities.remove(index);
        self.flows.remove(index);
        let place = self.places.remove(index);
        self.free.push(place);
        let packet = self.packets[place as usize];
        self.queued_bytes -= u64::from(packet.size_bytes);
        packet
    }
}

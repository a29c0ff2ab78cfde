//! A host's own queue: control packets first, then the flows in turn, and nothing is lost.

use super::{Effect, Occupancy};
use crate::flow::FlowId;
use crate::packet::{Kind, Packet};
use crate::spec::{Component, anything};
use std::collections::VecDeque;

/// The component.
pub const COMPONENT: Component = Component {
    section: "queue",
    kind: "fair",
    doc: "For hosts: control packets go before data, and flows take turns, a packet each. Nothing is dropped.",
    source: "csg-htsim's host queue",
    params: &[],
    check: anything,
};

/// A host's packets.
#[derive(Clone, Debug)]
pub struct Fair<H> {
    control: VecDeque<Packet<H>>,
    /// The flows with data waiting, in the order of their turns, and the lane of each. They are few.
    turns: VecDeque<(FlowId, usize)>,
    lanes: Vec<VecDeque<Packet<H>>>,
    free: Vec<usize>,
    queued: Occupancy,
}

impl<H> Default for Fair<H> {
    fn default() -> Fair<H> {
        Fair {
            control: VecDeque::new(),
            turns: VecDeque::new(),
            lanes: Vec::new(),
            free: Vec::new(),
            queued: Occupancy::default(),
        }
    }
}

impl<H: Copy> Fair<H> {
    /// Takes a packet in.
    pub fn put(&mut self, packet: Packet<H>) -> Effect {
        self.queued.add(packet.size_bytes);
        if packet.kind == Kind::Data {
            let lane = self.lane_of(packet.flow);
            self.lanes[lane].push_back(packet);
        } else {
            self.control.push_back(packet);
        }
        Effect::default()
    }

    fn lane_of(&mut self, flow: FlowId) -> usize {
        if let Some(&(_, lane)) = self.turns.iter().find(|(other, _)| *other == flow) {
            return lane;
        }
        let lane = self.free.pop().unwrap_or_else(|| {
            self.lanes.push(VecDeque::new());
            self.lanes.len() - 1
        });
        self.turns.push_back((flow, lane));
        lane
    }

    /// The next packet.
    pub fn take(&mut self) -> Option<Packet<H>> {
        let packet = match self.control.pop_front() {
            Some(packet) => packet,
            None => self.take_data()?,
        };
        self.queued.remove(packet.size_bytes);
        Some(packet)
    }

    fn take_data(&mut self) -> Option<Packet<H>> {
        let (flow, lane) = self.turns.pop_front()?;
        let packet = self.lanes[lane].pop_front();
        if self.lanes[lane].is_empty() {
            self.free.push(lane);
        } else {
            self.turns.push_back((flow, lane));
        }
        packet
    }

    /// Every packet that waits.
    pub fn packets(&self) -> impl Iterator<Item = &Packet<H>> {
        self.lanes.iter().flatten().chain(&self.control)
    }

    /// What waits.
    pub fn queued(&self) -> Occupancy {
        self.queued
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_goes_first_and_flows_take_turns() {
        let mut queue = Fair::<()>::default();
        for (flow, kind) in [
            (7, Kind::Data),
            (7, Kind::Data),
            (7, Kind::Data),
            (2, Kind::Data),
            (9, Kind::Ack),
            (2, Kind::Data),
            (2, Kind::Control),
        ] {
            queue.put(Packet { flow, kind, size_bytes: 100, ..Packet::default() });
        }
        assert_eq!(queue.queued(), Occupancy { bytes: 700, packets: 7 });
        let flows: Vec<u32> = std::iter::from_fn(|| queue.take()).map(|packet| packet.flow).collect();
        assert_eq!(flows, [9, 2, 7, 2, 7, 2, 7]);
        assert_eq!(queue.queued(), Occupancy::default());
    }
}

//! A host's own queue: control packets first, then the flows in turn, and nothing is lost.

use super::ring::Ring;
use super::{Effect, Occupancy, Waiting};
use crate::flow::FlowId;
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::spec::{Component, anything};

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
#[derive(Clone, Debug, Default)]
pub struct Fair {
    control: Ring<Waiting>,
    /// The flows with data waiting, in the order of their turns, and the lane of each. They are few.
    turns: Ring<(FlowId, usize)>,
    lanes: Vec<Ring<Waiting>>,
    free: Vec<usize>,
    queued: Occupancy,
}

impl Fair {
    /// Takes a packet in.
    #[inline(always)]
    pub fn put<H: Copy + Default>(&mut self, id: PacketId, packets: &Packets<H>) -> Effect {
        let &Packet { size_bytes, kind, flow, .. } = packets.get(id);
        self.queued.add(size_bytes);
        let waiting = Waiting { id, size_bytes };
        if kind == Kind::Data {
            let lane = self.lane_of(flow);
            self.lanes[lane].push_back(waiting);
        } else {
            self.control.push_back(waiting);
        }
        Effect::default()
    }

    fn lane_of(&mut self, flow: FlowId) -> usize {
        if let Some(&(_, lane)) = self.turns.iter().find(|(other, _)| *other == flow) {
            return lane;
        }
        let lane = self.free.pop().unwrap_or_else(|| {
            self.lanes.push(Ring::default());
            self.lanes.len() - 1
        });
        self.turns.push_back((flow, lane));
        lane
    }

    /// The next packet.
    #[inline(always)]
    pub fn take(&mut self) -> Option<PacketId> {
        let Waiting { id, size_bytes } = match self.control.pop_front() {
            Some(control) => control,
            None => self.take_data()?,
        };
        self.queued.remove(size_bytes);
        Some(id)
    }

    fn take_data(&mut self) -> Option<Waiting> {
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
    pub fn packets(&self) -> impl Iterator<Item = PacketId> {
        self.lanes.iter().flat_map(Ring::iter).chain(self.control.iter()).map(|waiting| waiting.id)
    }

    /// What waits.
    pub fn queued(&self) -> Occupancy {
        self.queued
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Buffer;
    use crate::queue::testing::TestBuffer;
    use crate::random::{Purpose, Stream};

    #[test]
    fn control_goes_first_and_flows_take_turns() {
        let mut stream = Stream::new(1, Purpose::Queue, 0);
        let mut queue = TestBuffer::<()>::new(Buffer::Fair(Fair::default()));
        for (flow, kind) in [
            (7, Kind::Data),
            (7, Kind::Data),
            (7, Kind::Data),
            (2, Kind::Data),
            (9, Kind::Ack),
            (2, Kind::Data),
            (2, Kind::Control),
        ] {
            queue.put(Packet { flow, kind, size_bytes: 100, ..Packet::default() }, 0, &mut stream);
        }
        assert_eq!(queue.queued(), Occupancy { bytes: 700, packets: 7 });
        let flows: Vec<u32> =
            std::iter::from_fn(|| queue.take(&mut stream)).map(|packet| packet.flow).collect();
        assert_eq!(flows, [9, 2, 7, 2, 7, 2, 7]);
        assert_eq!(queue.queued(), Occupancy::default());
    }
}

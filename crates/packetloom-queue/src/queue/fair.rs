//! A host's own queue: control packets first, then the flows in turn, and nothing is lost.

use super::booked::{Booked, Opening};
use super::list::List;
use super::ring::Ring;
use super::specification::Making;
use super::{Buffer, Built, Env, Holds, Joined, Occupancy, Specification, Traits};
use crate::flow::FlowId;
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::spec::{Component, Registered, anything};

const COMPONENT: Component = Component {
    section: "queue",
    kind: "fair",
    doc: "For hosts: control packets go before data, and flows take turns, a packet each. Nothing is dropped.",
    source: "csg-htsim's host queue",
    params: &[],
    check: anything,
};

/// The queue.
pub const QUEUE: Registered<Making> = Registered {
    component: COMPONENT,
    factory: Making::new(|values| Specification {
        traits: Traits::FLOWS,
        ..Specification::new(values, Built::Held(Buffer::Fair(Fair::default())))
    }),
};

/// A host's packets.
#[derive(Clone, Debug, Default)]
pub struct Fair {
    /// Control packets.
    booked: Booked,
    /// Those that could not be booked.
    control: List,
    /// The flows with data waiting, the one whose turn it is first.
    flows: Ring<(FlowId, List)>,
    /// What waits but for what is booked.
    unbooked: Occupancy,
}

impl Fair {
    fn put_data<H: Copy + Default>(&mut self, id: PacketId, flow: FlowId, packets: &mut Packets<H>) {
        if let Some((_, waiting)) = self.flows.find_mut(|(other, _)| *other == flow) {
            return waiting.push_back(id, packets);
        }
        let mut waiting = List::default();
        waiting.push_back(id, packets);
        self.flows.push_back((flow, waiting));
    }

    fn take_data<H: Copy + Default>(&mut self, packets: &Packets<H>) -> Option<PacketId> {
        let (flow, mut waiting) = self.flows.pop_front()?;
        let id = waiting.pop_front(packets);
        if !waiting.is_empty() {
            self.flows.push_back((flow, waiting));
        }
        id
    }
}

impl Holds for Fair {
    #[inline(always)]
    fn put<H: Copy + Default>(
        &mut self,
        id: PacketId,
        opening: Option<Opening>,
        env: &mut Env<'_, H>,
    ) -> Joined {
        let Env { packets, now, .. } = env;
        let &Packet { size_bytes, kind, flow, .. } = packets.get(id);
        if kind != Kind::Data
            && let Some(opening) = opening
            && self.control.is_empty()
        {
            self.booked.depart_until(*now);
            if self.booked.add(size_bytes, opening) {
                return Joined::Booked;
            }
        }
        self.unbooked.add(size_bytes);
        if kind == Kind::Data {
            self.put_data(id, flow, packets);
        } else {
            self.control.push_back(id, packets);
        }
        Joined::Waits
    }

    #[inline(always)]
    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        let Env { packets, .. } = env;
        // What goes next goes after all that is booked.
        self.booked.depart();
        let id = match self.control.pop_front(packets) {
            Some(control) => control,
            None => self.take_data(packets)?,
        };
        self.unbooked.remove(packets.get(id).size_bytes);
        Some(id)
    }

    fn booked(&self) -> Booked {
        self.booked
    }

    #[inline]
    fn prefetch<H: Copy + Default>(&self, packets: &Packets<H>) {
        self.control.prefetch(packets);
        self.flows.front().inspect(|(_, waiting)| waiting.prefetch(packets));
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> impl Iterator<Item = PacketId> + 'a {
        let data = self.flows.iter().flat_map(|(_, waiting)| waiting.iter(packets));
        self.control.iter(packets).chain(data)
    }

    fn queued(&self) -> Occupancy {
        self.unbooked + self.booked.queued()
    }

    #[inline]
    fn unbooked(&self) -> Occupancy {
        self.unbooked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

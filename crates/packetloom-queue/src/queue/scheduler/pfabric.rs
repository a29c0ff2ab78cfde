//! pFabric's order (§2.2): the flow with the highest-priority packet, its earliest packet first; without room the packet
//! with the lowest priority is dropped.

use super::{AnyScheduler, Evicted, Read, Scheduler, Specification};
use crate::packets::{PacketId, Packets};
use crate::queue::pfabric::TIES;
use crate::queue::{Buffer, Env, Holds, Occupancy, PFabric, Traits};
use crate::spec::{Component, Registered, anything};

const COMPONENT: Component = Component {
    section: "scheduler",
    kind: "pfabric",
    doc: "The earliest packet of the flow that has the highest-priority packet; without room the packet with the lowest priority is dropped.",
    source: "pFabric §2.2",
    params: &[&[TIES]],
    check: anything,
};

/// The scheduler.
pub const SCHEDULER: Registered<Read> = Registered {
    component: COMPONENT,
    factory: |values| Specification {
        evicts: true,
        ..Specification::new(AnyScheduler::PFabric(PFabric::read(values)), Traits::SHORTEST_FIRST)
    },
};

impl Scheduler for PFabric {
    fn queued(&self) -> Occupancy {
        Holds::queued(self)
    }

    fn join<H: Copy + Default>(&mut self, id: PacketId, _: usize, packets: &mut Packets<H>) {
        self.push(id, packets.get(id));
    }

    fn pop<H: Copy + Default>(&mut self, _: usize, env: &mut Env<'_, H>) -> Option<PacketId> {
        self.pop_best(env.random)
    }

    fn evict<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<Evicted> {
        let worst = self.pop_worst(env.random)?;
        env.drop(worst);
        Some(Evicted { queue: 0, packets: 1 })
    }

    fn alone(&self, capacity_bytes: u64) -> Option<Buffer> {
        Some(Buffer::PFabric(self.clone().holding(capacity_bytes)))
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> Box<dyn Iterator<Item = PacketId> + 'a> {
        Box::new(Holds::packets(self, packets))
    }
}

//! Start-time fair queueing by the weights in packets.

use super::{AnyScheduler, Evicted, Read, Scheduler, Specification};
use crate::packets::{PacketId, Packets};
use crate::queue::{Buffer, Env, Holds, Occupancy, Traits, WeightedFair};
use crate::spec::{Component, Registered, anything};

const COMPONENT: Component = Component {
    section: "scheduler",
    kind: "weighted-fair",
    doc: "Start-time fair queueing: flows share the link by the weights that their packets carry, or by bytes alike. Control packets go first. Without room the packet with the greatest virtual length (size over weight) is dropped.",
    source: "Goyal, Vin and Cheng, SIGCOMM 1996; NUMFabric (SIGCOMM 2016) §4.1",
    params: &[],
    check: anything,
};

/// The scheduler.
pub const SCHEDULER: Registered<Read> = Registered {
    component: COMPONENT,
    factory: |_| Specification {
        weighs: true,
        evicts: true,
        ..Specification::new(
            AnyScheduler::WeightedFair(Box::new(WeightedFair::holding(u64::MAX))),
            Traits::WEIGHTS,
        )
    },
};

impl Scheduler for Box<WeightedFair> {
    fn queued(&self) -> Occupancy {
        Holds::queued(self.as_ref())
    }

    fn join<H: Copy + Default>(&mut self, id: PacketId, _: usize, packets: &mut Packets<H>) {
        self.push(id, packets);
    }

    fn pop<H: Copy + Default>(&mut self, _: usize, env: &mut Env<'_, H>) -> Option<PacketId> {
        Holds::take(self.as_mut(), env)
    }

    fn evict<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<Evicted> {
        let worst = self.pop_worst(env.packets)?;
        env.drop(worst);
        Some(Evicted { queue: 0, packets: 1 })
    }

    fn alone(&self, capacity_bytes: u64) -> Option<Buffer> {
        Some(Buffer::WeightedFair(Box::new(WeightedFair::holding(capacity_bytes))))
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> Box<dyn Iterator<Item = PacketId> + 'a> {
        Box::new(Holds::packets(self.as_ref(), packets))
    }
}

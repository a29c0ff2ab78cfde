//! First in, first out.

use super::{AnyScheduler, Read, Scheduler, Specification};
use crate::packets::{PacketId, Packets};
use crate::queue::list::List;
use crate::queue::{Env, Occupancy, Traits};
use crate::spec::{Component, Registered, anything};

const COMPONENT: Component = Component {
    section: "scheduler",
    kind: "fifo",
    doc: "First in, first out.",
    source: "packetloom",
    params: &[],
    check: anything,
};

/// The scheduler.
pub const SCHEDULER: Registered<Read> = Registered {
    component: COMPONENT,
    factory: |_| Specification {
        queues: Some(1),
        is_fifo: true,
        ..Specification::new(AnyScheduler::Fifo(Fifo::default()), Traits::FIFO)
    },
};

/// Packets in a row.
#[derive(Clone, Debug, Default)]
pub struct Fifo(List);

impl Scheduler for Fifo {
    fn queued(&self) -> Occupancy {
        self.0.queued()
    }

    fn first<H: Copy + Default>(&self, _: usize, _: &Packets<H>) -> Option<PacketId> {
        self.0.first()
    }

    fn join<H: Copy + Default>(&mut self, id: PacketId, _: usize, packets: &mut Packets<H>) {
        self.0.push_back(id, packets);
    }

    fn pop<H: Copy + Default>(&mut self, _: usize, env: &mut Env<'_, H>) -> Option<PacketId> {
        self.0.pop_front(env.packets)
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> Box<dyn Iterator<Item = PacketId> + 'a> {
        Box::new(self.0.iter(packets))
    }
}

//! Traffic classes that take turns, a packet each; the control class goes before them.

use crate::narrow::narrow;
use crate::packets::{PacketId, Packets};
use crate::queue::flow_control::{CLASSES, CONTROL, Gates, class_in};
use crate::queue::list::List;
use crate::queue::scheduler::Scheduler;
use crate::queue::shared_buffer::next_in_turn;
use crate::queue::{Env, Occupancy};

/// The classes of a port.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    /// The classes that have packets, a bit for each.
    waiting: u8,
    /// The class that was served last, of those that take turns.
    served: u32,
    queued: Occupancy,
    classes: [List; CLASSES],
}

impl Scheduler for Turns {
    #[inline]
    fn queue_for<H: Copy + Default>(&mut self, id: PacketId, packets: &Packets<H>) -> usize {
        class_in(packets.get(id).class)
    }

    #[inline]
    fn queued_in(&self, queue: usize) -> Occupancy {
        self.classes[queue].queued()
    }

    #[inline]
    fn queued(&self) -> Occupancy {
        self.queued
    }

    #[inline]
    fn first<H: Copy + Default>(&self, queue: usize, _: &Packets<H>) -> Option<PacketId> {
        self.classes[queue].first()
    }

    #[inline]
    fn join<H: Copy + Default>(&mut self, id: PacketId, queue: usize, packets: &mut Packets<H>) {
        self.queued.add(packets.get(id).size_bytes);
        self.waiting |= 1 << queue;
        self.classes[queue].push_back(id, packets);
    }

    #[inline]
    fn next<H: Copy + Default>(&mut self, gates: Gates, _: &Packets<H>) -> Option<usize> {
        next_in_turn(gates.open_of(self.waiting), self.served)
    }

    #[inline]
    fn pop<H: Copy + Default>(&mut self, queue: usize, env: &mut Env<'_, H>) -> Option<PacketId> {
        let id = self.classes[queue].pop_front(env.packets)?;
        self.queued.remove(env.packets.get(id).size_bytes);
        if self.classes[queue].is_empty() {
            self.waiting &= !(1 << queue);
        }
        Some(id)
    }

    #[inline]
    fn sent(&mut self, queue: usize, _: u16) {
        if queue != usize::from(CONTROL) {
            self.served = narrow::<u32>(queue);
        }
    }

    #[inline]
    fn may_send(&self, gates: Gates, _: usize) -> bool {
        gates.open_of(self.waiting) != 0
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> Box<dyn Iterator<Item = PacketId> + 'a> {
        Box::new(self.classes.iter().flat_map(|class| class.iter(packets)))
    }

    fn classes(&self, tell: &mut dyn FnMut(usize, u64)) {
        self.classes.iter().enumerate().for_each(|(number, class)| tell(number, class.queued().bytes));
    }
}

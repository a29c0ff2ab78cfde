//! What is on its way on one link: packets in order of arrival, in a ring.

use crate::packet::Packet;
use crate::units::Time;

/// The first allocation of a ring; small, because every slot of a ring passes through the cache in turn.
const FIRST_SLOTS: usize = 8;

/// A link's packets, waiting for it (FIFO ports) or on it.
#[derive(Clone, Debug, Default)]
pub struct Channel<H> {
    slots: Vec<Packet<H>>,
    head: usize,
    length: usize,
}

impl<H: Copy + Default> Channel<H> {
    /// Appends a packet; returns whether it is the only one.
    #[inline]
    pub fn push(&mut self, packet: &Packet<H>) -> bool {
        if self.length == self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        self.slots[(self.head + self.length) & mask] = *packet;
        self.length += 1;
        self.length == 1
    }

    /// When the `nth` packet arrives.
    #[inline]
    pub fn arrival(&self, nth: usize) -> Option<Time> {
        if nth < self.length {
            Some(self.slots[(self.head + nth) & (self.slots.len() - 1)].time)
        } else {
            None
        }
    }

    /// The next packet to arrive.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet<H>> {
        if self.length == 0 {
            return None;
        }
        let packet = self.slots[self.head];
        self.length -= 1;
        // An empty ring begins anew, so that a quiet link keeps to the same few places in the cache.
        self.head = if self.length == 0 { 0 } else { (self.head + 1) & (self.slots.len() - 1) };
        Some(packet)
    }

    /// Every packet, in order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = &Packet<H>> {
        (0..self.length).map(|nth| &self.slots[(self.head + nth) & (self.slots.len() - 1)])
    }

    /// How many packets there are.
    pub fn len(&self) -> usize {
        self.length
    }

    #[cold]
    fn grow(&mut self) {
        self.slots.rotate_left(self.head);
        self.head = 0;
        let slots = (self.slots.len() * 2).max(FIRST_SLOTS);
        self.slots.resize(slots, Packet::default());
    }
}

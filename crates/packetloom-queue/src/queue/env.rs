//! What a discipline has at hand when a packet comes, and when the link is free.

use super::Counts;
use crate::packets::{PacketId, Packets};
use crate::random::Stream;
use crate::units::Time;

/// A moment at a port, and what is there.
#[derive(Debug)]
pub struct Env<'a, H> {
    /// The time: when the packet arrives, or when the link is free for the next one.
    pub now: Time,
    /// The packets themselves.
    pub packets: &'a mut Packets<H>,
    /// The port's own random numbers.
    pub random: &'a mut Stream,
    /// What is counted of drops and marks.
    pub counts: &'a mut Counts,
    /// The size of the data packet in service; 0 if there is none, and when the link is free.
    pub serving_bytes: u16,
}

impl<H> Env<'_, H> {
    /// The same for one callee. Where several could be called, and one of them is not inlined, the others still have what
    /// is here in registers.
    #[inline(always)]
    pub fn lent(&mut self) -> Env<'_, H> {
        let Env { now, packets, random, counts, serving_bytes } = self;
        Env { now: *now, packets, random, counts, serving_bytes: *serving_bytes }
    }
}

impl<H: Copy + Default> Env<'_, H> {
    /// Drops a packet.
    #[inline]
    pub fn drop(&mut self, id: PacketId) {
        self.packets.take(id);
        self.counts.drops += 1;
    }
}

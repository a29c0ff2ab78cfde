//! A buffer as tests use it: packets go in and come out.

use super::{Buffer, Effect, Occupancy};
use crate::packet::Packet;
use crate::packets::Packets;
use crate::random::Stream;

/// A buffer and its packets.
pub struct TestBuffer<H> {
    buffer: Buffer,
    packets: Packets<H>,
}

impl<H: Copy + Default> TestBuffer<H> {
    pub fn new(buffer: Buffer) -> TestBuffer<H> {
        TestBuffer { buffer, packets: Packets::default() }
    }

    pub fn put(&mut self, packet: Packet<H>, serving_bytes: u16, random: &mut Stream) -> Effect {
        let id = self.packets.add(packet);
        self.buffer.put(id, &mut self.packets, serving_bytes, random)
    }

    pub fn take(&mut self, random: &mut Stream) -> Option<Packet<H>> {
        self.buffer.take(&self.packets, random).map(|id| self.packets.take(id))
    }

    pub fn take_returned(&mut self) -> Option<Packet<H>> {
        self.buffer.take_returned().map(|id| self.packets.take(id))
    }

    pub fn waiting(&self) -> Vec<Packet<H>> {
        self.buffer.packets(&self.packets).map(|id| *self.packets.get(id)).collect()
    }

    pub fn queued(&self) -> Occupancy {
        self.buffer.queued()
    }
}

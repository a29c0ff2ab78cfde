//! A buffer as tests use it: packets go in and come out.

use super::{Buffer, Counts, Holds, Joined, Occupancy, Opening};
use crate::packet::Packet;
use crate::packets::{PacketId, Packets};
use crate::random::Stream;
use std::collections::VecDeque;

/// A buffer and its packets.
pub struct TestBuffer<H> {
    buffer: Buffer,
    packets: Packets<H>,
    returned: Option<PacketId>,
}

impl<H: Copy + Default> TestBuffer<H> {
    pub fn new(buffer: Buffer) -> TestBuffer<H> {
        TestBuffer { buffer, packets: Packets::default(), returned: None }
    }

    pub fn put(&mut self, packet: Packet<H>, serving_bytes: u16, random: &mut Stream) -> Counts {
        let id = self.packets.add(packet);
        let mut counts = Counts::default();
        let joined = self.buffer.put(id, &mut self.packets, serving_bytes, None, (random, &mut counts));
        self.returned = (joined == Joined::Returned).then_some(id);
        counts
    }

    pub fn take(&mut self, random: &mut Stream) -> Option<Packet<H>> {
        let id = self.buffer.take(&mut self.packets, (random, &mut Counts::default()))?;
        Some(self.packets.take(id))
    }

    pub fn take_returned(&mut self) -> Option<Packet<H>> {
        self.returned.take().map(|id| self.packets.take(id))
    }

    pub fn waiting(&self) -> Vec<Packet<H>> {
        self.buffer.packets(&self.packets).map(|id| *self.packets.get(id)).collect()
    }

    pub fn queued(&self) -> Occupancy {
        self.buffer.queued()
    }
}

/// Drops all packets of the lowest priority as it would serve them.
#[derive(Clone, Debug, Default)]
pub struct Dropping {
    waiting: VecDeque<PacketId>,
    queued: Occupancy,
}

impl Holds for Dropping {
    fn put<H: Copy + Default>(
        &mut self,
        id: PacketId,
        packets: &mut Packets<H>,
        _: u16,
        _: Option<Opening>,
        _: (&mut Stream, &mut Counts),
    ) -> Joined {
        self.queued.add(packets.get(id).size_bytes);
        self.waiting.push_back(id);
        Joined::Waits
    }

    fn take<H: Copy + Default>(
        &mut self,
        packets: &mut Packets<H>,
        (_, counts): (&mut Stream, &mut Counts),
    ) -> Option<PacketId> {
        while let Some(id) = self.waiting.pop_front() {
            self.queued.remove(packets.get(id).size_bytes);
            if packets.get(id).priority != u32::MAX {
                return Some(id);
            }
            packets.take(id);
            counts.drops += 1;
        }
        None
    }

    fn packets<'a, H: Copy + Default>(&'a self, _: &'a Packets<H>) -> impl Iterator<Item = PacketId> + 'a {
        self.waiting.iter().copied()
    }

    fn queued(&self) -> Occupancy {
        self.queued
    }
}

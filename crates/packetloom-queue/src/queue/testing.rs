//! A buffer as tests use it: packets go in and come out.

use super::{Buffer, Counts, Env, Holds, Joined, Occupancy};
use crate::link_message::LinkMessage;
use crate::packet::Packet;
use crate::packets::{PacketId, Packets};
use crate::random::Stream;
use crate::units::Time;

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
        let env = &mut Env {
            now: packet.time,
            packets: &mut self.packets,
            random,
            counts: &mut counts,
            serving_bytes,
        };
        let joined = self.buffer.put(id, None, env);
        self.returned = (joined == Joined::Returned).then_some(id);
        counts
    }

    pub fn take(&mut self, random: &mut Stream) -> Option<Packet<H>> {
        self.take_at(Time::ZERO, random).0
    }

    /// The next packet when the link is free at a moment, and what was done with others.
    pub fn take_at(&mut self, now: Time, random: &mut Stream) -> (Option<Packet<H>>, Counts) {
        let mut counts = Counts::default();
        let packets = &mut self.packets;
        let taken =
            self.buffer.take(&mut Env { now, packets, random, counts: &mut counts, serving_bytes: 0 });
        (taken.map(|id| self.packets.take(id)), counts)
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

    pub fn is_ready(&self) -> bool {
        self.buffer.is_ready()
    }

    /// The far end of the link says something.
    pub fn receive(&mut self, message: LinkMessage) {
        self.receive_at(Time::ZERO, message);
    }

    pub fn receive_at(&mut self, now: Time, message: LinkMessage) {
        self.buffer.receive_message(now, message);
    }

    pub fn keeps_back(&self, class: u8) -> bool {
        self.buffer.keeps_back(class)
    }

    pub fn give_up(&mut self, class: u8, random: &mut Stream) -> Vec<Packet<H>> {
        let (now, packets, counts) = (Time::ZERO, &mut self.packets, &mut Counts::default());
        let ids = self.buffer.give_up(class, &mut Env { now, packets, random, counts, serving_bytes: 0 });
        ids.into_iter().map(|id| self.packets.take(id)).collect()
    }
}

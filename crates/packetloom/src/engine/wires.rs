//! All links: the only way from one node to another.

use super::calendar::Calendar;
use super::channel::Channel;
use crate::packet::Packet;
use crate::units::Time;

/// The links' far ends and the calendar that says where packets arrive.
///
/// Slots number the links' far ends and the nodes' agendas, grouped by node.
#[derive(Clone, Debug)]
pub struct Wires<H> {
    /// A channel per slot; those of agendas stay empty.
    pub channels: Vec<Channel<H>>,
    /// Who has something to do.
    pub calendar: Calendar,
}

impl<H: Copy + Default> Wires<H> {
    /// Puts a packet on the link that ends at `slot`; its `time` says when it arrives.
    #[inline]
    pub fn carry(&mut self, slot: u32, packet: Packet<H>) {
        if self.channels[slot as usize].push(packet) {
            self.calendar.schedule(slot, packet.time);
        }
    }

    /// Notes when the next packet arrives at `slot`, once those that are due were taken.
    #[inline]
    pub fn reschedule(&mut self, slot: u32) {
        if let Some(at) = self.channels[slot as usize].arrival(0) {
            self.calendar.schedule(slot, at);
        }
    }

    /// How many packets are on the links.
    pub fn in_flight(&self) -> u64 {
        self.channels.iter().map(|channel| channel.len() as u64).sum()
    }

    /// Notes that the node whose agenda is `slot` has something to do.
    pub fn wake(&mut self, slot: u32, at: Time) {
        self.calendar.schedule(slot, at);
    }
}

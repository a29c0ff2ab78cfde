//! All links: the only way from one node to another.

use super::calendar::Calendar;
use super::channel::Channel;
use crate::fault::LinkFault;
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
    /// Links that lose packets or are slow, with the slots where they end. Their ports know them by numbers that follow
    /// those of the channels, so that other links need not ask whether they are among them.
    faulty: Vec<(u32, LinkFault)>,
}

impl<H: Copy + Default> Wires<H> {
    /// Links at rest, all as they should be.
    pub fn new(slots: usize, calendar: Calendar) -> Wires<H> {
        Wires { channels: vec![Channel::default(); slots], calendar, faulty: Vec::new() }
    }

    /// Puts a packet on the link that ends at `slot`, at `start`; its `time` says when it arrives, if its `bytes` on the
    /// link take as long as `usual`. Returns how much longer they take.
    #[inline]
    pub fn carry(&mut self, slot: u32, start: Time, bytes: u64, usual: Time, packet: Packet<H>) -> Time {
        match self.channels.get_mut(slot as usize) {
            Some(channel) => {
                if channel.push(packet) {
                    self.calendar.schedule(slot, packet.time);
                }
                Time::ZERO
            }
            None => self.carry_faulty(slot, start, bytes, usual, packet),
        }
    }

    #[cold]
    fn carry_faulty(
        &mut self,
        number: u32,
        start: Time,
        bytes: u64,
        usual: Time,
        mut packet: Packet<H>,
    ) -> Time {
        let (slot, fault) = &mut self.faulty[number as usize - self.channels.len()];
        let first_waiting = self.channels[*slot as usize].arrival(0).unwrap_or(start);
        let delay = fault.slow_down((start, packet.time), bytes, usual, first_waiting);
        packet.time += delay;
        if fault.lets_through(start, packet.time, packet.size_bytes) {
            let slot = *slot;
            self.carry(slot, start, bytes, usual, packet);
        }
        delay
    }

    /// What is on the link that a port knows by this number, and what is wrong with it, if anything.
    pub fn link(&self, number: u32) -> (&Channel<H>, Option<&LinkFault>) {
        match self.channels.get(number as usize) {
            Some(channel) => (channel, None),
            None => {
                let (slot, fault) = &self.faulty[number as usize - self.channels.len()];
                (&self.channels[*slot as usize], Some(fault))
            }
        }
    }

    /// Makes the link that ends at `slot` a faulty one; returns the number by which its port is to know it.
    pub fn add_fault(&mut self, slot: u32, fault: LinkFault) -> u32 {
        self.faulty.push((slot, fault));
        (self.channels.len() + self.faulty.len() - 1) as u32
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

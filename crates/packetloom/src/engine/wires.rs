//! All links: the only way from one node to another.

use super::calendar::Calendar;
use super::channel::Channel;
use crate::fault::LinkFault;
use crate::measure::SentRecorder;
use crate::packet::{Kind, Packet};
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
    /// Links on which packets can be lost, or that are watched. Their ports know them by numbers that follow those of the
    /// channels, so that other links need not ask whether they are among them.
    special: Vec<Special>,
}

/// A link that is more than a channel.
#[derive(Clone, Debug)]
struct Special {
    /// Where it ends.
    slot: u32,
    fault: Option<LinkFault>,
    sent: Option<SentRecorder>,
}

impl<H: Copy + Default> Wires<H> {
    /// Links at rest, none of which loses packets or is watched.
    pub fn new(slots: usize, calendar: Calendar) -> Wires<H> {
        Wires { channels: vec![Channel::default(); slots], calendar, special: Vec::new() }
    }

    /// Puts a packet on the link that ends at `slot`, at `start`; its `time` says when it arrives.
    #[inline]
    pub fn carry(&mut self, slot: u32, start: Time, packet: Packet<H>) {
        match self.channels.get_mut(slot as usize) {
            Some(channel) => {
                if channel.push(packet) {
                    self.calendar.schedule(slot, packet.time);
                }
            }
            None => self.carry_special(slot, start, packet),
        }
    }

    #[cold]
    fn carry_special(&mut self, number: u32, start: Time, packet: Packet<H>) {
        let special = &mut self.special[number as usize - self.channels.len()];
        if let Some(sent) = &mut special.sent {
            sent.note(start, packet.size_bytes, (packet.kind == Kind::Data).then_some(packet.class));
        }
        let fault = special.fault.as_mut();
        if fault.is_none_or(|fault| fault.lets_through(start, packet.time, packet.size_bytes)) {
            let slot = special.slot;
            self.carry(slot, start, packet);
        }
    }

    /// What is on the link that a port knows by this number, and how it loses packets, if it does.
    pub fn link(&self, number: u32) -> (&Channel<H>, Option<&LinkFault>) {
        match self.channels.get(number as usize) {
            Some(channel) => (channel, None),
            None => {
                let special = &self.special[number as usize - self.channels.len()];
                (&self.channels[special.slot as usize], special.fault.as_ref())
            }
        }
    }

    /// What was put onto the link that a port knows by this number, if it is watched.
    pub fn sent(&self, number: u32) -> Option<&SentRecorder> {
        let special = (number as usize).checked_sub(self.channels.len())?;
        self.special[special].sent.as_ref()
    }

    /// Makes the link that ends at `slot` one that loses packets or is watched; returns the number by which its port is
    /// to know it.
    pub fn add_special(&mut self, slot: u32, fault: Option<LinkFault>, sent: Option<SentRecorder>) -> u32 {
        self.special.push(Special { slot, fault, sent });
        (self.channels.len() + self.special.len() - 1) as u32
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

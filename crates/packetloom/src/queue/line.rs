//! First in, first out, holding its packets: a FIFO inside another discipline.

use super::{Admission, Effect, Occupancy, Verdict};
use crate::packet::Packet;
use crate::random::Stream;
use std::collections::VecDeque;

/// Packets in a row.
#[derive(Clone, Debug)]
pub struct Line<H> {
    admission: Admission,
    packets: VecDeque<Packet<H>>,
    queued: Occupancy,
}

impl<H: Copy> Line<H> {
    /// An empty line.
    pub fn new(admission: Admission) -> Line<H> {
        Line { admission, packets: VecDeque::new(), queued: Occupancy::default() }
    }

    /// Takes a packet in, or drops it.
    pub fn put(&mut self, mut packet: Packet<H>, random: &mut Stream) -> Effect {
        let mut effect = Effect::default();
        match self.admission.judge(self.queued, packet.size_bytes, random) {
            Verdict::Drop => {
                effect.drops = 1;
                return effect;
            }
            Verdict::Mark if packet.ecn_capable => {
                packet.congestion_experienced = true;
                effect.marks = 1;
            }
            Verdict::Mark | Verdict::Accept => {}
        }
        self.queued.add(packet.size_bytes);
        self.packets.push_back(packet);
        effect
    }

    /// The first in the line.
    pub fn take(&mut self) -> Option<Packet<H>> {
        let packet = self.packets.pop_front()?;
        self.queued.remove(packet.size_bytes);
        Some(packet)
    }

    /// Every packet that waits.
    pub fn packets(&self) -> impl Iterator<Item = &Packet<H>> {
        self.packets.iter()
    }

    /// What waits.
    pub fn queued(&self) -> Occupancy {
        self.queued
    }
}

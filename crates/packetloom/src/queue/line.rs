//! First in, first out, holding its packets: a FIFO inside another discipline.

use super::ring::Ring;
use super::{Admission, Effect, Occupancy, Verdict, Waiting};
use crate::packets::{PacketId, Packets};
use crate::random::Stream;

/// Packets in a row.
#[derive(Clone, Debug)]
pub struct Line {
    admission: Admission,
    waiting: Ring<Waiting>,
    queued: Occupancy,
}

impl Line {
    /// An empty line.
    pub fn new(admission: Admission) -> Line {
        Line { admission, waiting: Ring::default(), queued: Occupancy::default() }
    }

    /// Takes a packet in, or drops it.
    pub fn put<H: Copy + Default>(
        &mut self,
        id: PacketId,
        packets: &mut Packets<H>,
        random: &mut Stream,
    ) -> Effect {
        let mut effect = Effect::default();
        let packet = packets.get_mut(id);
        let size_bytes = packet.size_bytes;
        match self.admission.judge(self.queued, size_bytes, random) {
            Verdict::Drop => {
                packets.take(id);
                effect.drops = 1;
                return effect;
            }
            Verdict::Mark if packet.ecn_capable => {
                packet.congestion_experienced = true;
                effect.marks = 1;
            }
            Verdict::Mark | Verdict::Accept => {}
        }
        self.queued.add(size_bytes);
        self.waiting.push_back(Waiting { id, size_bytes });
        effect
    }

    /// The first in the line.
    pub fn take(&mut self) -> Option<PacketId> {
        let Waiting { id, size_bytes } = self.waiting.pop_front()?;
        self.queued.remove(size_bytes);
        Some(id)
    }

    /// Every packet that waits.
    pub fn packets(&self) -> impl Iterator<Item = PacketId> {
        self.waiting.iter().map(|waiting| waiting.id)
    }

    /// What waits.
    pub fn queued(&self) -> Occupancy {
        self.queued
    }
}

//! First in, first out, holding its packets: a FIFO inside another discipline.

use super::list::List;
use super::{Admission, Counts, Joined, Occupancy, Verdict};
use crate::packets::{PacketId, Packets};
use crate::random::Stream;

/// Packets in a row.
#[derive(Clone, Debug)]
pub struct Line {
    admission: Admission,
    waiting: List,
}

impl Line {
    /// An empty line.
    pub fn new(admission: Admission) -> Line {
        Line { admission, waiting: List::default() }
    }

    /// Takes a packet in, or drops it.
    pub fn put<H: Copy + Default>(
        &mut self,
        id: PacketId,
        packets: &mut Packets<H>,
        random: &mut Stream,
        counts: &mut Counts,
    ) -> Joined {
        let packet = packets.get_mut(id);
        match self.admission.judge(self.waiting.queued(), packet.size_bytes, random) {
            Verdict::Drop => {
                packets.take(id);
                counts.drops += 1;
                return Joined::Dropped;
            }
            Verdict::Mark if packet.ecn_capable => {
                packet.congestion_experienced = true;
                counts.marks += 1;
            }
            Verdict::Mark | Verdict::Accept => {}
        }
        self.waiting.push_back(id, packets);
        Joined::Waits
    }

    /// The first in the line.
    pub fn take<H: Copy + Default>(&mut self, packets: &Packets<H>) -> Option<PacketId> {
        self.waiting.pop_front(packets)
    }

    /// Asks for the packets that go first.
    #[inline]
    pub fn prefetch<H: Copy + Default>(&self, packets: &Packets<H>) {
        self.waiting.prefetch(packets);
    }

    /// Every packet that waits.
    pub fn packets<H: Copy + Default>(&self, packets: &Packets<H>) -> impl Iterator<Item = PacketId> {
        self.waiting.iter(packets)
    }

    /// What waits.
    pub fn queued(&self) -> Occupancy {
        self.waiting.queued()
    }
}

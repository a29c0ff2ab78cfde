//! First in, first out, holding its packets: a FIFO inside another discipline.

use super::list::List;
use super::{Admission, Env, Holds, Joined, Occupancy, Opening, Verdict};
use crate::packets::{PacketId, Packets};

/// Packets in a row.
#[derive(Clone, Debug)]
pub struct HeldFifo {
    admission: Admission,
    waiting: List,
}

impl HeldFifo {
    /// Admits and marks by another rule from now on.
    pub(super) fn admit_by(&mut self, admission: Admission) {
        self.admission = admission;
    }

    /// An empty line.
    pub fn new(admission: Admission) -> HeldFifo {
        HeldFifo { admission, waiting: List::default() }
    }
}

impl Holds for HeldFifo {
    fn put<H: Copy + Default>(&mut self, id: PacketId, _: Option<Opening>, env: &mut Env<'_, H>) -> Joined {
        let Env { packets, random, counts, .. } = env;
        let packet = packets.get_mut(id);
        match self.admission.judge(self.waiting.queued(), packet.size_bytes, random) {
            Verdict::Drop => {
                packets.take(id);
                counts.drops += 1;
                return Joined::Dropped;
            }
            Verdict::Mark if packet.is_ecn_capable() => {
                packet.congestion_experienced = true;
                counts.marks += 1;
            }
            Verdict::Mark | Verdict::Accept => {}
        }
        self.waiting.push_back(id, packets);
        Joined::Waits
    }

    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        let Env { packets, .. } = env;
        self.waiting.pop_front(packets)
    }

    #[inline]
    fn prefetch<H: Copy + Default>(&self, packets: &Packets<H>) {
        self.waiting.prefetch(packets);
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> impl Iterator<Item = PacketId> + 'a {
        self.waiting.iter(packets)
    }

    #[inline]
    fn queued(&self) -> Occupancy {
        self.waiting.queued()
    }
}

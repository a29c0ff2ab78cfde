//! What arrived of a flow.

use super::seq_set::SeqSet;

/// The packets of a flow that are there: all before one, and some above.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    next: u32,
    above: SeqSet,
    packets: Option<u32>,
}

impl Reassembly {
    /// Every packet before this one arrived.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// What arrived beyond a gap.
    #[inline]
    pub fn above(&self) -> &SeqSet {
        &self.above
    }

    /// The number of packets, if all are there.
    #[inline]
    pub fn whole(&self) -> Option<u32> {
        self.packets.filter(|&packets| packets == self.next)
    }

    /// Forgets what arrived from a packet on: it is sent again.
    pub fn go_back(&mut self, to: u32) {
        self.next = self.next.min(to);
    }

    /// Packet `seq` arrived, perhaps the flow's last; returns whether it came in order with no gap open.
    #[inline]
    pub fn add(&mut self, seq: u32, last: bool) -> bool {
        if last {
            self.packets = Some(seq + 1);
        }
        if seq == self.next && self.above.is_empty() {
            self.next += 1;
            return true;
        }
        if seq == self.next {
            self.next = self.above.first_absent(seq + 1);
            self.above.drop_below(self.next);
        } else if seq > self.next {
            self.above.insert(seq);
        }
        false
    }
}

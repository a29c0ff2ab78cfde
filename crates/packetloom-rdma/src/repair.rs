//! Selective repeat at the sender, as IRN has it (Mittal et al., SIGCOMM 2018, §3.1).

use crate::seq_set::SeqSet;

/// What a sender knows beyond the cumulative acknowledgement.
#[derive(Clone, Debug, Default)]
pub struct Selective {
    /// Packets that arrived out of order.
    arrived: SeqSet,
    /// One past the last of them.
    end: u32,
    /// In loss recovery: it ends when all packets before this one are acknowledged.
    recovers_until: Option<u32>,
    /// Nothing before this one is known to be lost a second time in this recovery.
    scanned: u32,
    /// The first packet of a recovery goes out whatever is known.
    is_first: bool,
}

impl Selective {
    /// How many packets are known to have arrived beyond the cumulative acknowledgement.
    pub fn arrived(&self) -> u32 {
        self.arrived.len()
    }

    /// All packets before `una` are acknowledged; returns how many of those from `from` on were known to have
    /// arrived.
    pub fn acknowledged(&mut self, from: u32, una: u32) -> u32 {
        let known = self.arrived.count_in(from, una);
        self.arrived.drop_below(una);
        if self.recovers_until.is_some_and(|until| una >= until) {
            self.recovers_until = None;
        }
        if una > from {
            self.is_first = false;
        }
        known
    }

    /// Packet `seq` arrived out of order, says a NACK; returns whether that is new.
    pub fn nacked(&mut self, seq: u32, una: u32) -> bool {
        let is_new = seq >= una && self.arrived.insert(seq);
        if is_new {
            self.end = self.end.max(seq + 1);
        }
        is_new
    }

    /// Enters loss recovery, with all before `next` sent; returns whether it was not in it already.
    pub fn recover(&mut self, una: u32, next: u32) -> bool {
        if self.recovers_until.is_some() {
            return false;
        }
        self.start(una, next);
        true
    }

    /// A timeout: what was sent in this recovery is given up too.
    pub fn expired(&mut self, una: u32, next: u32) {
        self.start(una, next);
    }

    fn start(&mut self, una: u32, next: u32) {
        self.recovers_until = Some(next);
        self.scanned = una;
        self.is_first = true;
    }

    /// The packet to send again: first the one that is expected; then any before one that arrived.
    pub fn lost(&self, una: u32) -> Option<u32> {
        self.recovers_until?;
        if self.is_first {
            return Some(una);
        }
        let seq = self.arrived.first_absent(self.scanned.max(una));
        (seq < self.end).then_some(seq)
    }

    /// It was sent.
    pub fn sent_again(&mut self, seq: u32) {
        self.is_first = false;
        self.scanned = seq + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_holes_before_what_arrived_are_sent_again_the_first_one_in_any_case() {
        let mut sender = Selective::default();
        assert_eq!(sender.lost(3), None);
        // 10 were sent; 3 and 5 are missing, 4 and 6 arrived.
        assert!(sender.nacked(4, 3));
        assert!(sender.recover(3, 10));
        assert_eq!(sender.lost(3), Some(3));
        sender.sent_again(3);
        assert_eq!(sender.lost(3), None, "nothing beyond 4 arrived yet");
        assert!(sender.nacked(6, 3) && !sender.nacked(6, 3));
        assert!(!sender.recover(3, 10), "it is in recovery already");
        assert_eq!(sender.lost(3), Some(5));
        sender.sent_again(5);
        assert_eq!(sender.lost(3), None);
        assert_eq!(sender.acknowledged(3, 7), 2);
        assert_eq!(sender.arrived(), 0);
        // Recovery ends only with what was sent before it began.
        assert!(!sender.recover(7, 10));
        sender.acknowledged(7, 10);
        assert!(sender.recover(10, 12));
    }

    #[test]
    fn a_timeout_begins_anew_with_the_expected_packet() {
        let mut sender = Selective::default();
        sender.nacked(5, 3);
        sender.recover(3, 8);
        for expected in [3, 4] {
            assert_eq!(sender.lost(3), Some(expected));
            sender.sent_again(expected);
        }
        assert_eq!(sender.lost(3), None);
        sender.expired(3, 8);
        assert_eq!(sender.lost(3), Some(3));
    }
}

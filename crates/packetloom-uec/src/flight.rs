//! What a sender knows of the packets that it has sent and that are not all known to have arrived.

use crate::narrow::narrow;
use crate::prefetch::prefetch;
use crate::seq_set::SeqSet;
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Room for no more packets is made at once, as a window may stay smaller than its flow.
const LARGEST_AT_ONCE: u32 = 64;

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When it was sent last.
    pub at: Time,
    /// With which entropy.
    pub path: u16,
    /// How often.
    pub times: u8,
    /// Whether it is held to be on its way; otherwise it waits to be sent again, or has arrived.
    pub is_under_way: bool,
}

/// Packets from the first that is not acknowledged on.
#[derive(Clone, Debug, Default)]
pub struct Flight {
    /// Every packet before this one arrived.
    first: u32,
    sent: VecDeque<Sent>,
    /// Those that arrived beyond a gap.
    arrived: SeqSet,
    /// In the order of sending; what was settled or sent again since stays until it comes to the front.
    order: VecDeque<(u32, Time)>,
    /// To be sent again, the lowest number first; some of them may have arrived since.
    again: BinaryHeap<Reverse<u32>>,
    /// How many did not.
    waiting: u32,
}

/// Where a packet was when it turned out to have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckedFrom {
    /// On its way.
    UnderWay,
    /// About to be sent again.
    Waiting,
}

impl Flight {
    /// Of a flow of so many packets, before the first.
    pub fn new(packets: u32) -> Flight {
        let room = packets.min(LARGEST_AT_ONCE) as usize;
        Flight {
            sent: VecDeque::with_capacity(room),
            order: VecDeque::with_capacity(room),
            ..Flight::default()
        }
    }

    /// Every packet before this one arrived.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// The next that was never sent.
    pub fn next(&self) -> u32 {
        self.first + narrow::<u32>(self.sent.len())
    }

    /// A packet that was sent and is not acknowledged with all before it.
    #[inline]
    pub fn get(&self, seq: u32) -> Option<&Sent> {
        self.sent.get(seq.checked_sub(self.first)? as usize)
    }

    /// Prefetches what an acknowledgement of a packet will read.
    #[inline]
    pub fn prefetch(&self, seq: u32) {
        if let Some(sent) = self.get(seq) {
            prefetch(sent);
        }
        if let Some(oldest) = self.order.front() {
            prefetch(oldest);
        }
    }

    /// The first that is not known to have arrived once this one has, if that is news.
    pub fn first_after(&self, seq: u32) -> Option<u32> {
        if seq < self.first || self.arrived.contains(seq) {
            return None;
        }
        Some(if seq == self.first { self.arrived.first_absent(seq + 1) } else { self.first })
    }

    /// Whether a packet is on its way.
    pub fn is_under_way(&self, seq: u32) -> bool {
        self.get(seq).is_some_and(|sent| sent.is_under_way)
    }

    /// A packet is sent: the next, or one that was taken out to be sent again.
    pub fn send(&mut self, seq: u32, at: Time, path: u16) {
        // Two go for each that comes, so that no more are there than are on their way for long.
        for _ in 0..2 {
            if self.order.front().is_some_and(|&(seq, at)| !self.is_latest(seq, at)) {
                self.order.pop_front();
            }
        }
        self.order.push_back((seq, at));
        let new = Sent { at, path, times: 1, is_under_way: true };
        match self.sent.get_mut((seq - self.first) as usize) {
            Some(sent) => *sent = Sent { times: sent.times.saturating_add(1), ..new },
            None => self.sent.push_back(new),
        }
    }

    /// Every packet before `next` arrived; calls `note` with the former state of each that was not known to have
    /// arrived.
    pub fn advance(&mut self, next: u32, mut note: impl FnMut(u32, AckedFrom)) {
        while self.first < next
            && let Some(sent) = self.sent.pop_front()
        {
            if sent.is_under_way {
                note(self.first, AckedFrom::UnderWay);
            } else if !self.arrived.contains(self.first) {
                self.waiting -= 1;
                note(self.first, AckedFrom::Waiting);
            }
            self.first += 1;
        }
        self.arrived.drop_below(self.first);
    }

    /// The packets of a bitmap arrived; calls `note` with the former state of each that was not known to have
    /// arrived.
    pub fn settle(&mut self, base: u32, bitmap: u64, mut note: impl FnMut(u32, AckedFrom)) {
        let mut news = bitmap & !self.arrived.bits_from(base);
        while news != 0 {
            let seq = base + news.trailing_zeros();
            news &= news - 1;
            let Some(sent) = seq.checked_sub(self.first).and_then(|place| self.sent.get_mut(place as usize))
            else {
                continue;
            };
            let was = if sent.is_under_way { AckedFrom::UnderWay } else { AckedFrom::Waiting };
            sent.is_under_way = false;
            self.waiting -= u32::from(was == AckedFrom::Waiting);
            self.arrived.insert(seq);
            note(seq, was);
        }
    }

    /// A packet on its way is to be sent again.
    pub fn mark_lost(&mut self, seq: u32) {
        let Some(sent) = self.sent.get_mut((seq - self.first) as usize) else { return };
        sent.is_under_way = false;
        self.waiting += 1;
        self.again.push(Reverse(seq));
    }

    /// The next to be sent again.
    pub fn next_again(&mut self) -> Option<u32> {
        while let Some(&Reverse(seq)) = self.again.peek() {
            if seq >= self.first && !self.arrived.contains(seq) {
                return Some(seq);
            }
            self.again.pop();
        }
        None
    }

    /// Takes it out.
    pub fn take_again(&mut self) {
        self.again.pop();
        self.waiting -= 1;
    }

    /// Whether any is to be sent again.
    pub fn has_lost(&self) -> bool {
        self.waiting > 0
    }

    /// The packet that is on its way for longest, and when it was sent.
    pub fn oldest(&mut self) -> Option<(u32, Time)> {
        while let Some(&(seq, at)) = self.order.front() {
            if self.is_latest(seq, at) {
                return Some((seq, at));
            }
            self.order.pop_front();
        }
        None
    }

    /// Whether a packet that was sent then is still on its way.
    fn is_latest(&self, seq: u32, at: Time) -> bool {
        self.get(seq).is_some_and(|sent| sent.is_under_way && sent.at == at)
    }

    /// How many packets are known to have arrived.
    pub fn arrived(&self) -> u32 {
        self.first + self.arrived.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(packets: u32) -> Flight {
        let mut flight = Flight::default();
        (0..packets).for_each(|seq| flight.send(seq, Time(u64::from(seq)), 7));
        flight
    }

    #[test]
    fn each_packet_arrives_once_however_often_it_is_acknowledged() {
        let mut flight = flight(8);
        let mut seen = Vec::new();
        flight.settle(2, 0b101, |seq, was| seen.push((seq, was)));
        flight.settle(2, 0b111, |seq, was| seen.push((seq, was)));
        flight.advance(5, |seq, was| seen.push((seq, was)));
        flight.advance(5, |seq, was| seen.push((seq, was)));
        assert_eq!(seen.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [2, 4, 3, 0, 1]);
        assert_eq!((flight.first(), flight.next(), flight.arrived()), (5, 8, 5));
        assert_eq!(flight.oldest(), Some((5, Time(5))));
    }

    #[test]
    fn what_is_lost_goes_again_the_lowest_first_unless_it_arrives_meanwhile() {
        let mut flight = flight(8);
        [5, 1, 3, 6].into_iter().for_each(|seq| flight.mark_lost(seq));
        let mut seen = Vec::new();
        flight.settle(2, 0b10, |seq, was| seen.push((seq, was)));
        assert_eq!(seen, [(3, AckedFrom::Waiting)]);
        assert_eq!(flight.next_again(), Some(1));
        flight.take_again();
        flight.send(1, Time(100), 8);
        assert_eq!(flight.get(1).map(|sent| (sent.times, sent.path)), Some((2, 8)));
        assert_eq!(flight.next_again(), Some(5));
        flight.advance(6, |_, _| {});
        assert_eq!(flight.next_again(), Some(6));
        flight.take_again();
        assert!(!flight.has_lost() && flight.next_again().is_none());
    }

    #[test]
    fn what_arrives_one_by_one_ends_where_the_first_is_missing() {
        let mut flight = flight(8);
        flight.settle(1, 0b11, |_, _| {});
        assert_eq!([0, 1, 4].map(|seq| flight.first_after(seq)), [Some(3), None, Some(0)]);
        flight.advance(3, |_, _| {});
        assert_eq!([0, 3].map(|seq| flight.first_after(seq)), [None, Some(4)]);
    }

    #[test]
    fn the_oldest_is_by_when_it_was_sent_last() {
        let mut flight = flight(3);
        flight.mark_lost(0);
        assert_eq!(flight.oldest(), Some((1, Time(1))));
        flight.take_again();
        flight.send(0, Time(9), 0);
        flight.settle(1, 0b11, |_, _| {});
        assert_eq!(flight.oldest(), Some((0, Time(9))));
    }
}

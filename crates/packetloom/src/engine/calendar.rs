//! Who has something to do, window by window.
//!
//! Time is cut into windows no longer than the shortest way from one node to the next, so within a window nodes cannot
//! affect each other and may be processed one by one (DESIGN, engine rule 8). The calendar holds, for each of the
//! windows ahead, one bit per slot: a slot is a link's far end or a node's own agenda. Nothing is sorted here; a node
//! sorts what arrives at it in a window.

use crate::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many windows ahead have a page of bits. A power of two. What lies further waits in a heap.
const PAGES: u64 = 256;

/// Where windows begin and end.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    window_ps: u64,
    /// 2^64 / window_ps, so that a division is a multiplication and a correction.
    per_window_q64: u64,
}

impl Clock {
    fn new(window: Time) -> Clock {
        let window_ps = window.as_ps().max(1);
        Clock { window_ps, per_window_q64: u64::MAX / window_ps }
    }

    /// The window that a time falls into.
    #[inline]
    pub fn window_of(&self, time: Time) -> u64 {
        let below = ((u128::from(time.as_ps()) * u128::from(self.per_window_q64)) >> 64) as u64;
        below + u64::from(time.as_ps() - below * self.window_ps >= self.window_ps)
    }

    /// The first moment of a window.
    pub fn start_of(&self, window: u64) -> Time {
        Time(window.saturating_mul(self.window_ps))
    }
}

/// The calendar of a shard's slots.
#[derive(Clone, Debug)]
pub struct Calendar {
    clock: Clock,
    /// The window that is being processed; bits are only set for later ones.
    current: u64,
    words_per_page: usize,
    bits: Vec<u64>,
    /// For each page, whether it has any bit set.
    used: [bool; PAGES as usize],
    used_pages: u32,
    later: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Calendar {
    /// An empty calendar for so many slots, its windows as long as `shortest_way`.
    pub fn new(slots: usize, shortest_way: Time) -> Calendar {
        let words_per_page = slots.div_ceil(64);
        Calendar {
            clock: Clock::new(shortest_way),
            current: 0,
            words_per_page,
            bits: vec![0; words_per_page * PAGES as usize],
            used: [false; PAGES as usize],
            used_pages: 0,
            later: BinaryHeap::new(),
        }
    }

    /// Where its windows begin and end.
    #[inline]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Notes that a slot has something to do at a time, which is not in a past window.
    #[inline]
    pub fn schedule(&mut self, slot: u32, at: Time) {
        let window = self.clock.window_of(at);
        debug_assert!(window >= self.current, "time went backwards");
        if window < self.current + PAGES {
            self.set(slot, window);
        } else {
            self.later.push(Reverse((window, slot)));
        }
    }

    #[inline]
    fn set(&mut self, slot: u32, window: u64) {
        let page = (window % PAGES) as usize;
        if !self.used[page] {
            self.used[page] = true;
            self.used_pages += 1;
        }
        self.bits[page * self.words_per_page + slot as usize / 64] |= 1 << (slot % 64);
    }

    /// The next window in which any slot has something to do.
    pub fn next_window(&self) -> Option<u64> {
        let later = self.later.peek().map(|Reverse((window, _))| *window);
        if self.used_pages == 0 {
            return later;
        }
        let near = (self.current..).find(|window| self.used[(window % PAGES) as usize])?;
        Some(later.map_or(near, |later| near.min(later)))
    }

    /// Moves on to a window and takes out its slots, in ascending order.
    pub fn open(&mut self, window: u64, due: &mut Vec<u32>) {
        self.current = window;
        while let Some(&Reverse((later, slot))) = self.later.peek() {
            if later >= window + PAGES {
                break;
            }
            self.later.pop();
            self.set(slot, later);
        }
        due.clear();
        let page = (window % PAGES) as usize;
        if !std::mem::take(&mut self.used[page]) {
            return;
        }
        self.used_pages -= 1;
        let first = page * self.words_per_page;
        for (word, bits) in self.bits[first..first + self.words_per_page].iter_mut().enumerate() {
            let mut left = std::mem::take(bits);
            while left != 0 {
                due.push((word * 64) as u32 + left.trailing_zeros());
                left &= left - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_lies_in_its_window() {
        for window_ps in [1, 2, 3, 512, 1_000, 1_005_120, 1_005_121, 40_000_001] {
            let clock = Clock::new(Time(window_ps));
            for window in [0, 1, 2, 3, 1_000, 123_456_789, u64::MAX / window_ps / 4] {
                let start = window * window_ps;
                assert_eq!(clock.start_of(window + 1), Time(start + window_ps));
                for time in [start, start + window_ps / 2, start + window_ps - 1] {
                    assert_eq!(clock.window_of(Time(time)), window, "{time} of {window_ps}");
                }
            }
        }
    }

    #[test]
    fn windows_come_in_order_with_their_slots_ascending() {
        let mut calendar = Calendar::new(200, Time(1_000));
        let window_ps = 1_000;
        for (slot, window) in [(150, 3), (7, 3), (7, 3), (8, 1_000_000), (9, 300), (10, 3 + 256)] {
            calendar.schedule(slot, Time(window * window_ps + 5));
        }
        let mut seen = Vec::new();
        let mut due = Vec::new();
        while let Some(window) = calendar.next_window() {
            calendar.open(window, &mut due);
            seen.push((window, due.clone()));
        }
        let expected = vec![(3, vec![7, 150]), (259, vec![10]), (300, vec![9]), (1_000_000, vec![8])];
        assert_eq!(seen, expected);
    }
}

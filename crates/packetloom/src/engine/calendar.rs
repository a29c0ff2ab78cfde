//! Who has something to do, window by window.
//!
//! Time is cut into windows no longer than the shortest way from one node to the next, so within a window nodes cannot
//! affect each other and may be processed one by one (DESIGN, engine rule 8). The calendar holds, for each of the
//! windows ahead, one bit per node and a list of what arrives there. Nothing is sorted here; a node sorts what arrives
//! at it in a window.

use crate::packets::{PacketId, Packets};
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many windows ahead have a page. A power of two. What lies further waits in a heap.
const PAGES: u64 = 1024;

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

/// The calendar of a shard's nodes.
#[derive(Clone, Debug)]
pub struct Calendar {
    clock: Clock,
    /// The window that is being processed; nothing is added but to later ones.
    current: u64,
    nodes: usize,
    /// For each page and node, what arrives.
    arriving: Vec<PacketId>,
    words_per_page: usize,
    /// For each page and node, whether there is anything to do.
    busy_nodes: Vec<u64>,
    /// For each page, whether any node has anything to do.
    busy_pages: [u64; PAGES as usize / 64],
    /// What lies further ahead: window, node and what arrives, if it is not only a wake-up.
    later: BinaryHeap<Reverse<(u64, u32, PacketId)>>,
}

impl Calendar {
    /// An empty calendar for so many nodes, its windows as long as `shortest_way`.
    pub fn new(nodes: usize, shortest_way: Time) -> Calendar {
        let words_per_page = nodes.div_ceil(64);
        Calendar {
            clock: Clock::new(shortest_way),
            current: 0,
            nodes,
            arriving: vec![PacketId::NONE; nodes * PAGES as usize],
            words_per_page,
            busy_nodes: vec![0; words_per_page * PAGES as usize],
            busy_pages: [0; PAGES as usize / 64],
            later: BinaryHeap::new(),
        }
    }

    /// Where its windows begin and end.
    #[inline]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Notes that a node has something to do at a time, which is not in a past window.
    #[inline]
    pub fn wake(&mut self, node: u32, at: Time) {
        let window = self.clock.window_of(at);
        debug_assert!(window >= self.current, "time went backwards");
        if window < self.current + PAGES {
            self.mark(node, window);
        } else {
            self.later.push(Reverse((window, node, PacketId::NONE)));
        }
    }

    /// Puts a packet on the link that ends at the slot of a node, where it arrives at a time, not in a past window.
    #[inline(always)]
    pub fn deliver<H: Copy + Default>(
        &mut self,
        (node, slot): (u32, u32),
        at: Time,
        id: PacketId,
        packets: &mut Packets<H>,
    ) {
        let window = self.clock.window_of(at);
        debug_assert!(window >= self.current, "time went backwards");
        if window >= self.current + PAGES {
            return self.deliver_later((node, slot), window, id, packets);
        }
        let list = &mut self.arriving[page_of(window) * self.nodes + node as usize];
        let is_first = *list == PacketId::NONE;
        packets.put_on_link(id, slot, list);
        if is_first {
            self.mark(node, window);
        }
    }

    #[cold]
    #[inline(never)]
    fn deliver_later<H: Copy + Default>(
        &mut self,
        (node, slot): (u32, u32),
        window: u64,
        id: PacketId,
        packets: &mut Packets<H>,
    ) {
        let mut alone = PacketId::NONE;
        packets.put_on_link(id, slot, &mut alone);
        self.later.push(Reverse((window, node, id)));
    }

    #[inline]
    fn mark(&mut self, node: u32, window: u64) {
        let page = page_of(window);
        self.busy_pages[page / 64] |= 1 << (page % 64);
        self.busy_nodes[page * self.words_per_page + node as usize / 64] |= 1 << (node % 64);
    }

    /// The next window in which any node has something to do.
    pub fn next_window(&self) -> Option<u64> {
        let later = self.later.peek().map(|Reverse((window, ..))| *window);
        self.next_page().into_iter().chain(later).min()
    }

    /// The window of the next page with anything on it, from the current window's on.
    fn next_page(&self) -> Option<u64> {
        let page = page_of(self.current);
        let words = self.busy_pages.len();
        // The current window's word comes twice: first what is left of it, last what is before.
        let from_here = self.busy_pages[page / 64] & (u64::MAX << (page % 64));
        let rest = (1..=words).map(|n| (n, self.busy_pages[(page / 64 + n) % words]));
        let (nth, word) = std::iter::once((0, from_here)).chain(rest).find(|(_, word)| *word != 0)?;
        let ahead = nth as u64 * 64 + u64::from(word.trailing_zeros()) - page as u64 % 64;
        Some(self.current + ahead)
    }

    /// Moves on to a window and takes out its nodes, in ascending order.
    pub fn open<H: Copy + Default>(&mut self, window: u64, due: &mut Vec<u32>, packets: &mut Packets<H>) {
        self.current = window;
        self.take_up_later(packets);
        due.clear();
        let page = page_of(window);
        if self.busy_pages[page / 64] >> (page % 64) & 1 == 0 {
            return;
        }
        self.busy_pages[page / 64] &= !(1 << (page % 64));
        let first = page * self.words_per_page;
        for (word, bits) in self.busy_nodes[first..first + self.words_per_page].iter_mut().enumerate() {
            let mut left = std::mem::take(bits);
            while left != 0 {
                due.push((word * 64) as u32 + left.trailing_zeros());
                left &= left - 1;
            }
        }
    }

    /// Gives pages to what has come near enough.
    fn take_up_later<H: Copy + Default>(&mut self, packets: &mut Packets<H>) {
        while let Some(&Reverse((window, node, id))) = self.later.peek()
            && window < self.current + PAGES
        {
            self.later.pop();
            if id != PacketId::NONE {
                packets.put_before(id, &mut self.arriving[page_of(window) * self.nodes + node as usize]);
            }
            self.mark(node, window);
        }
    }

    /// Takes out the list of what arrives at a node in the current window.
    #[inline]
    pub fn take_arriving(&mut self, node: u32) -> PacketId {
        let list = &mut self.arriving[page_of(self.current) * self.nodes + node as usize];
        std::mem::replace(list, PacketId::NONE)
    }
}

#[inline]
fn page_of(window: u64) -> usize {
    (window % PAGES) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;

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
    fn windows_come_in_order_with_their_nodes_ascending() {
        let mut packets = Packets::<()>::default();
        let mut calendar = Calendar::new(200, Time(1_000));
        let window_ps = 1_000;
        let far = PAGES + 3;
        for (node, window) in [(150, 3), (7, 3), (7, 3), (8, 1_000_000), (9, far - 1), (10, far), (11, 70)] {
            calendar.wake(node, Time(window * window_ps + 5));
        }
        let mut seen = Vec::new();
        let mut due = Vec::new();
        while let Some(window) = calendar.next_window() {
            calendar.open(window, &mut due, &mut packets);
            seen.push((window, due.clone()));
        }
        let near = [(3, vec![7, 150]), (70, vec![11])];
        let expected = [(far - 1, vec![9]), (far, vec![10]), (1_000_000, vec![8])];
        assert_eq!(seen, [&near[..], &expected].concat());
    }

    #[test]
    fn packets_arrive_in_their_windows_however_far_ahead() {
        let mut packets = Packets::default();
        let mut calendar = Calendar::new(3, Time(1_000));
        let times = [5, 999, 1_000, 700_000, 5_000_000, 5_000_000];
        for (at, slot) in times.into_iter().zip(40..) {
            let id = packets.add(Packet { header: at, ..Packet::default() });
            calendar.deliver((2, slot), Time(at), id, &mut packets);
        }
        assert_eq!(packets.on_links().count(), times.len());
        let (mut due, mut seen) = (Vec::new(), Vec::new());
        while let Some(window) = calendar.next_window() {
            calendar.open(window, &mut due, &mut packets);
            assert_eq!(due, [2]);
            let list = calendar.take_arriving(2);
            let ids: Vec<_> =
                packets.list(list).map(|(id, slot, packet)| (slot, id, packet.header)).collect();
            for (slot, id, at) in ids {
                assert_eq!(window, at / 1_000);
                packets.take(id);
                seen.push(slot);
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, [40, 41, 42, 43, 44, 45]);
        assert_eq!(packets.on_links().count(), 0);
    }
}

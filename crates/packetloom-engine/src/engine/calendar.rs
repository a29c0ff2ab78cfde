//! The nodes that have something to do, window by window.
//!
//! Time is cut into windows no longer than the shortest latency between two nodes. Within a window nodes cannot
//! affect each other, and may be processed one by one in any order: what a node sends in a window arrives after it.
//! For each of the windows ahead, the calendar holds the network's arrivals in the order in which they were sent, and
//! one bit for each node that has a wake-up. A window's arrivals are sorted by node only when it is opened, in two
//! passes. So an arrival that lies far ahead costs one sequential write, whatever the size of the network. A node's
//! arrivals are then nearly in order of time, and cheap to sort.

use super::arrival::Arrival;
use super::clock::Clock;
use super::due::Due;
use crate::narrow::narrow;
use crate::packets::PacketId;
use crate::prefetch::prefetch;
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many windows ahead have a page. A power of two. What lies further waits in a heap.
const PAGES: usize = 512;

/// So many arrivals are in a cache line.
const AHEAD: usize = 4;

/// Into how many parts a page may be divided by time.
const PARTS: usize = 16;

/// How far apart in memory two parts of a page are: not as many as there are pages, or all parts of a page would
/// share one set of lines of the processor's nearest cache.
const STRIDE: usize = PAGES + 8;

/// Into how many parts, as a power of two, the next windows are divided after one with so many arrivals. With few,
/// most parts would be empty; with very many, what is written to so many places at once no longer stays in the
/// processor's nearer caches.
fn division(arrivals: u32) -> u32 {
    match arrivals {
        0..512 => 0,
        512..16_384 => PARTS.ilog2(),
        _ => 2,
    }
}

/// The calendar of a shard's nodes.
#[derive(Clone, Debug)]
pub struct Calendar {
    clock: Clock,
    /// The window that is being processed; nothing is added but to later ones.
    current: u64,
    /// For each part, then each page, what arrives, in the order in which it was sent. Pages that are not divided
    /// have but the first part, so that what is used of this lies close together.
    arriving: Box<[[Vec<Arrival>; STRIDE]; PARTS]>,
    /// For each page, which parts have any.
    busy_parts: [u16; PAGES],
    /// By how much a time into a window is shifted to get its part. It may change while a page fills: then what
    /// comes together for a node is a little less in order.
    part_shift: u32,
    /// Emptied parts, for those that get their first arrival.
    spare: Vec<Vec<Arrival>>,
    words_per_page: usize,
    /// For each page and node, whether it is to be woken.
    woken: Vec<u64>,
    /// For each page, whether there is anything on it.
    busy_pages: [u64; PAGES / 64],
    /// What lies further ahead, by window.
    later: BinaryHeap<Reverse<(u64, Later)>>,
    /// For each node, while a window is opened, how much arrives there, then where its next arrival goes.
    rows: Vec<Row>,
}

/// A node's arrivals in a window that is being opened.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// How many were counted; 0 between windows.
    count: u32,
    /// Where the next one goes.
    next: u32,
}

/// What lies beyond the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Later {
    Wake(u32),
    Arrive(Arrival),
}

impl Calendar {
    /// An empty calendar for so many nodes, its windows as long as `shortest_way`.
    pub fn new(nodes: usize, shortest_way: Time) -> Calendar {
        let words_per_page = nodes.div_ceil(64);
        let clock = Clock::new(shortest_way);
        Calendar {
            clock,
            current: 0,
            arriving: Box::new([const { [const { Vec::new() }; STRIDE] }; PARTS]),
            busy_parts: [0; PAGES],
            part_shift: clock.bits(),
            spare: Vec::new(),
            words_per_page,
            woken: vec![0; words_per_page * PAGES],
            busy_pages: [0; PAGES / 64],
            later: BinaryHeap::new(),
            rows: vec![Row::default(); nodes],
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
        if window < self.current + PAGES as u64 {
            self.wake_in(window, node);
        } else {
            self.later.push(Reverse((window, Later::Wake(node))));
        }
    }

    /// Has a packet arrive at a time, not in a past window, by one of a node's links.
    #[inline(always)]
    pub fn deliver(&mut self, end: (u32, u32), at: Time, id: PacketId) {
        let (window, into_window) = self.clock.split(at);
        debug_assert!(window >= self.current, "time went backwards");
        let others = &mut self.arriving[self.part_of(into_window)][page_of(window)];
        if window >= self.current + PAGES as u64 || others.len() == others.capacity() {
            return self.deliver_anew(end, at, id);
        }
        // The next line of each page has left the nearer caches since it was written the last time.
        if let Some(later) = others.spare_capacity_mut().get(AHEAD) {
            prefetch(later);
        }
        others.push(Arrival::new(into_window, at, end, id));
    }

    #[inline]
    fn part_of(&self, into_window: Time) -> usize {
        narrow::<usize>(into_window.as_ps() >> self.part_shift) % PARTS
    }

    /// Adds an arrival when its page is full, or when it lies beyond the pages.
    #[cold]
    #[inline(never)]
    fn deliver_anew(&mut self, end: (u32, u32), at: Time, id: PacketId) {
        let (window, into_window) = self.clock.split(at);
        let arrival = Arrival::new(into_window, at, end, id);
        if window >= self.current + PAGES as u64 {
            self.later.push(Reverse((window, Later::Arrive(arrival))));
        } else {
            self.arrive_in(window, arrival);
        }
    }

    fn arrive_in(&mut self, window: u64, arrival: Arrival) {
        self.mark(window);
        let (part, page) = (self.part_of(arrival.at(Time::ZERO)), page_of(window));
        self.busy_parts[page] |= 1 << part;
        let others = &mut self.arriving[part][page];
        if others.capacity() == 0 {
            *others = self.spare.pop().unwrap_or_default();
        }
        others.push(arrival);
    }

    #[inline]
    fn wake_in(&mut self, window: u64, node: u32) {
        self.mark(window);
        self.woken[page_of(window) * self.words_per_page + node as usize / 64] |= 1 << (node % 64);
    }

    #[inline]
    fn mark(&mut self, window: u64) {
        let page = page_of(window);
        self.busy_pages[page / 64] |= 1 << (page % 64);
    }

    /// The next window in which any node has something to do.
    #[inline]
    pub fn next_window(&self) -> Option<u64> {
        let later = self.later.peek().map(|Reverse((window, _))| *window);
        self.next_page().into_iter().chain(later).min()
    }

    /// The window of the next page with anything on it, from the current window's on.
    fn next_page(&self) -> Option<u64> {
        let page = page_of(self.current);
        let words = self.busy_pages.len();
        // The current window's word is read twice: first its remaining bits, at the end those before.
        let from_here = self.busy_pages[page / 64] & (u64::MAX << (page % 64));
        let rest = (1..=words).map(|n| (n, self.busy_pages[(page / 64 + n) % words]));
        let (nth, word) = std::iter::once((0, from_here)).chain(rest).find(|(_, word)| *word != 0)?;
        let ahead = nth as u64 * 64 + u64::from(word.trailing_zeros()) - page as u64 % 64;
        Some(self.current + ahead)
    }

    /// Moves on to a window and takes out what is due in it before `end`; what arrives later, where the window is
    /// cut short, stays.
    #[inline]
    pub fn open(&mut self, window: u64, end: Time, due: &mut Due) {
        self.current = window;
        self.take_up_later();
        due.clear();
        let page = page_of(window);
        if self.busy_pages[page / 64] >> (page % 64) & 1 == 0 {
            return;
        }
        self.busy_pages[page / 64] &= !(1 << (page % 64));
        let mut late = Vec::new();
        if end < self.clock.start_of(window + 1) {
            let start = self.clock.start_of(window);
            for part in self.arriving.iter_mut().map(|part| &mut part[page]) {
                late.extend(part.iter().filter(|arrival| arrival.at(start) >= end));
                part.retain(|arrival| arrival.at(start) < end);
            }
        }
        self.group(page, due);
        for arrival in late {
            self.arrive_in(window, arrival);
        }
    }

    /// Puts back what is to arrive in the window that is being processed, which is cut short before it does.
    pub(super) fn put_back(&mut self, arrival: Arrival) {
        self.arrive_in(self.current, arrival);
    }

    /// Puts a page's arrivals together node by node, and lists the nodes with those that are to be woken.
    fn group(&mut self, page: usize, due: &mut Due) {
        let words = &mut self.woken[page * self.words_per_page..][..self.words_per_page];
        let busy = std::mem::take(&mut self.busy_parts[page]);
        for part in ones(busy) {
            for &Arrival { node, .. } in &self.arriving[part][page] {
                self.rows[node as usize].count += 1;
                words[node as usize / 64] |= 1 << (node % 64);
            }
        }
        for (word, bits) in words.iter_mut().enumerate() {
            let mut left = std::mem::take(bits);
            while left != 0 {
                let node = narrow::<u32>(word * 64) + left.trailing_zeros();
                left &= left - 1;
                due.nodes.push((node, due.count));
                let row = &mut self.rows[node as usize];
                row.next = due.count;
                due.count += std::mem::take(&mut row.count);
            }
        }
        if due.arrivals.len() < due.count as usize {
            due.arrivals.resize(due.count as usize, Arrival::default());
        }
        for part in ones(busy) {
            let mut part = std::mem::take(&mut self.arriving[part][page]);
            for arrival in part.drain(..) {
                let row = &mut self.rows[arrival.node as usize];
                due.arrivals[row.next as usize] = arrival;
                row.next += 1;
            }
            self.spare.push(part);
        }
        due.complete(self.rows.len());
        self.part_shift = self.clock.bits().saturating_sub(division(due.count));
    }

    /// Gives pages to what has come near enough.
    fn take_up_later(&mut self) {
        while let Some(&Reverse((window, later))) = self.later.peek()
            && window < self.current + PAGES as u64
        {
            self.later.pop();
            match later {
                Later::Wake(node) => self.wake_in(window, node),
                Later::Arrive(arrival) => self.arrive_in(window, arrival),
            }
        }
    }

    /// What has not arrived yet: each packet, with the node and its link.
    pub fn on_links(&self) -> impl Iterator<Item = ((u32, u32), PacketId)> {
        let pages = (self.current..self.current + PAGES as u64).flat_map(|window| {
            let parts = self.arriving.iter().flat_map(move |part| &part[page_of(window)]);
            parts.map(move |arrival| (window, arrival))
        });
        let later = self.later.iter().filter_map(|Reverse((window, later))| match later {
            Later::Arrive(arrival) => Some((*window, arrival)),
            Later::Wake(_) => None,
        });
        pages
            .chain(later)
            .map(|(window, arrival)| ((arrival.node, arrival.link(self.clock.start_of(window))), arrival.id))
    }
}

#[inline]
fn page_of(window: u64) -> usize {
    narrow(window % PAGES as u64)
}

/// Which bits are set.
#[inline]
fn ones(mut bits: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = bits.trailing_zeros() as usize;
        bits &= bits.checked_sub(1)?;
        Some(lowest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::packets::Packets;

    fn nodes(due: &mut Due) -> Vec<u32> {
        (0..due.len()).map(|nth| due.node(nth).0).collect()
    }

    fn open(calendar: &mut Calendar, window: u64, due: &mut Due) {
        calendar.open(window, calendar.clock.start_of(window + 1), due);
    }

    #[test]
    fn windows_come_in_order_with_their_nodes_ascending() {
        let mut calendar = Calendar::new(200, Time(1_000));
        let window_ps = 1_000;
        let far = PAGES as u64 + 3;
        for (node, window) in [(150, 3), (7, 3), (7, 3), (8, 1_000_000), (9, far - 1), (10, far), (11, 70)] {
            calendar.wake(node, Time(window * window_ps + 5));
        }
        let mut seen = Vec::new();
        let mut due = Due::default();
        while let Some(window) = calendar.next_window() {
            open(&mut calendar, window, &mut due);
            seen.push((window, nodes(&mut due)));
        }
        let near = [(3, vec![7, 150]), (70, vec![11])];
        let expected = [(far - 1, vec![9]), (far, vec![10]), (1_000_000, vec![8])];
        assert_eq!(seen, [&near[..], &expected].concat());
    }

    #[test]
    fn packets_arrive_in_their_windows_at_their_nodes_however_far_ahead() {
        let mut packets = Packets::default();
        let mut calendar = Calendar::new(3, Time(1_000));
        let arrivals = [(5, 2), (999, 0), (998, 2), (1_000, 2), (700_000, 1), (5_000_000, 0), (5_000_000, 0)];
        for ((at, node), link) in arrivals.into_iter().zip(40..) {
            let id = packets.add(Packet { header: (at, node, link), ..Packet::default() });
            calendar.deliver((node, link), Time(at), id);
        }
        assert_eq!(calendar.on_links().count(), arrivals.len());
        for (end, id) in calendar.on_links() {
            let (_, node, link) = packets.get(id).header;
            assert_eq!(end, (node, link));
        }
        let (mut due, mut seen) = (Due::default(), Vec::new());
        while let Some(window) = calendar.next_window() {
            open(&mut calendar, window, &mut due);
            for nth in 0..due.len() {
                let (node, arrivals) = due.node(nth);
                for arrival in arrivals {
                    let (at, to, link) = packets.take(arrival.id).header;
                    assert_eq!((node, window), (to, at / 1_000));
                    assert_eq!(arrival.at(Time(window * 1_000)), Time(at));
                    assert_eq!(arrival.link(Time(window * 1_000)), link);
                    seen.push(link);
                }
            }
        }
        assert_eq!(seen, [41, 40, 42, 43, 44, 45, 46]);
        assert_eq!(calendar.on_links().count(), 0);
    }

    #[test]
    fn what_arrives_after_the_end_stays_on_its_link() {
        let mut packets = Packets::<()>::default();
        let mut calendar = Calendar::new(1, Time(1_000));
        let ids = [300, 600].map(|at| {
            let id = packets.add(Packet::default());
            calendar.deliver((0, 0), Time(at), id);
            id
        });
        let mut due = Due::default();
        calendar.open(0, Time(500), &mut due);
        assert_eq!(due.node(0).1.iter().map(|arrival| arrival.id).collect::<Vec<_>>(), [ids[0]]);
        assert_eq!(calendar.on_links().collect::<Vec<_>>(), [((0, 0), ids[1])]);
    }
}

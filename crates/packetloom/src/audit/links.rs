//! Invariants of a link and the port before it.

use super::{Verdict, ensure};
use crate::engine::{Held, Inspection, LinkState, Passage};
use crate::packet::Kind;
use crate::topology::{Forwarding, Link, Topology};
use crate::units::Time;
use std::collections::VecDeque;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
struct Book {
    free_at: Time,
    last_arrival: Time,
    packets: u64,
    bytes: u64,
    /// What has not arrived, and when it will.
    under_way: VecDeque<(Time, Held)>,
}

/// The books of all links.
#[derive(Debug)]
pub(super) struct Links {
    topology: Arc<Topology>,
    /// What may wait at a host's port, and at a switch's.
    bounds: [Option<u64>; 2],
    books: Vec<Book>,
}

impl Links {
    pub(super) fn new(topology: &Arc<Topology>, bounds: [Option<u64>; 2]) -> Links {
        let books = vec![Book::default(); topology.links.len()];
        Links { topology: Arc::clone(topology), bounds, books }
    }

    fn name(&self, link: usize) -> String {
        let Link { src, dst, .. } = self.topology.links[link];
        format!("the link from {} to {}", self.topology.node_name(src), self.topology.node_name(dst))
    }

    fn is_switch(&self, node: u32) -> bool {
        node >= self.topology.hosts
    }

    /// A packet is put onto a link; `since`: the last look.
    pub(super) fn put(&mut self, passage: &Passage, since: Time) -> Verdict {
        let number = passage.link as usize;
        let link = &self.topology.links[number];
        let size = u64::from(passage.packet.size_bytes);
        // As ports round it: where the rate does not divide, that may be the next picosecond.
        let byte_time = self.topology.byte_time(link.rate);
        let takes = |bytes| byte_time.of(bytes + self.topology.framing_bytes);
        let seen = match self.topology.forwarding {
            Forwarding::CutThrough { header_bytes, .. } if self.is_switch(link.dst) => {
                size.min(header_bytes.into())
            }
            _ => size,
        };
        let expected = passage.start + takes(seen) + link.latency + passage.delay;
        let Passage { start, arrival, packet, .. } = *passage;
        let named = || format!("{}: a packet of flow {} and {size} B", self.name(number), packet.flow);
        let book = &self.books[number];
        ensure(start >= since, "time never goes backwards", start, || {
            format!("{} started after all before {since} was done", named())
        })?;
        ensure(start >= book.free_at, "a link never carries more than its rate", start, || {
            format!("{} started while the link was taken until {}", named(), book.free_at)
        })?;
        ensure(arrival == expected, "a link takes its time", start, || {
            format!("{} arrives at {arrival} instead of {expected}", named())
        })?;
        ensure(arrival >= book.last_arrival, "a link keeps the order", start, || {
            format!("{} arrives at {arrival}, the one before it at {}", named(), book.last_arrival)
        })?;
        let free_at = start + takes(size) + passage.delay;
        let book = &mut self.books[number];
        *book = Book {
            free_at,
            last_arrival: arrival,
            packets: book.packets + 1,
            bytes: book.bytes + size,
            under_way: std::mem::take(&mut book.under_way),
        };
        if !passage.is_lost {
            book.under_way.push_back((arrival, packet));
        }
        Ok(())
    }

    /// Compares every link with its book; calls `arrived` for each packet that arrived since the last inspection.
    pub(super) fn compare(&mut self, seen: &Inspection, mut arrived: impl FnMut(&Link, &Held)) -> Verdict {
        for number in 0..self.books.len() {
            let (link, state) = (&self.topology.links[number], &seen.links[number]);
            let book = &mut self.books[number];
            while let Some((_, packet)) = book.under_way.front().filter(|(at, _)| *at < seen.now) {
                let is_astray = link.dst < self.topology.hosts && packet.dst != link.dst;
                let invariant = "packets reach the host that they are for";
                ensure(!is_astray || packet.kind == Kind::Link, invariant, seen.now, || {
                    let Held { flow, dst, .. } = packet;
                    format!("a packet of flow {flow} for host {dst} came to host {}", link.dst)
                })?;
                arrived(link, packet);
                book.under_way.pop_front();
            }
            self.carries_what_it_was_given(number, state, seen)?;
            self.holds_no_more_than_it_may(number, state, seen)?;
        }
        Ok(())
    }

    fn carries_what_it_was_given(&self, number: usize, state: &LinkState, seen: &Inspection) -> Verdict {
        let book = &self.books[number];
        let invariant = "what was put onto a link arrives at its time, is lost to a fault, or is on the link";
        ensure(book.under_way == state.on_link, invariant, seen.now, || {
            let differs = book.under_way.iter().zip(&state.on_link).position(|(a, b)| a != b);
            let first = differs.unwrap_or(book.under_way.len().min(state.on_link.len())) + 1;
            format!(
                "{}: {} packets should be on it, {} are; they differ from number {first} on",
                self.name(number),
                book.under_way.len(),
                state.on_link.len()
            )
        })?;
        ensure(!seen.is_idle || state.on_link.is_empty(), invariant, seen.now, || {
            format!("{}: nothing will take {} packets from it", self.name(number), state.on_link.len())
        })?;
        let counted = (state.counters.packets, state.counters.bytes);
        ensure(counted == (book.packets, book.bytes), "ports count what they send", seen.now, || {
            let (packets, bytes) = counted;
            format!(
                "{}: {} packets of {} B were put onto it, {packets} of {bytes} B counted",
                self.name(number),
                book.packets,
                book.bytes
            )
        })
    }

    fn holds_no_more_than_it_may(&self, number: usize, state: &LinkState, seen: &Inspection) -> Verdict {
        let bound = self.bounds[usize::from(self.is_switch(self.topology.links[number].src))];
        match bound {
            Some(most) => {
                let queued = state.most_queued_bytes;
                ensure(queued <= most, "a buffer never holds more than its size", seen.now, || {
                    format!("{}: {queued} B waited for it in {most} B", self.name(number))
                })?;
            }
            None => ensure(state.counters.drops == 0, "nothing is dropped without need", seen.now, || {
                format!("{}: {} drops where there is no bound", self.name(number), state.counters.drops)
            })?,
        }
        let invariant = "a link does not rest while packets wait for it";
        ensure(state.sends_at.is_none_or(|at| at >= seen.now && !seen.is_idle), invariant, seen.now, || {
            format!(
                "{}: {} packets wait; it was free at {}",
                self.name(number),
                state.queued.len(),
                state.sends_at.unwrap_or(Time::ZERO)
            )
        })?;
        // What is paused for ever is in a deadlock, which is no fault of the simulator.
        let may_rest = state.queued.is_empty() || state.paused != 0;
        ensure(!seen.is_idle || may_rest, invariant, seen.now, || {
            format!(
                "{}: nothing will ever send the {} packets that wait",
                self.name(number),
                state.queued.len()
            )
        })
    }
}

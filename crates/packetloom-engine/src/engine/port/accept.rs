//! How a port takes packets: onto the link at once, or into its buffer.

use super::{Discipline, Port, depart};
use crate::engine::agent::PortAgent;
use crate::engine::link_table::LinkTable;
use crate::engine::transmitter::Transmitter;
use crate::packets::{PacketId, Packets};
use crate::queue::{Buffer, Env, Holds, Joined, Opening, Pool, Verdict};
use crate::units::Time;

impl<H: Copy + Default, A: PortAgent<H>> Port<H, A> {
    /// Takes a packet at `now`; its `time` is the earliest at which it may start.
    #[inline(always)]
    pub fn accept(
        &mut self,
        now: Time,
        id: PacketId,
        link_table: &mut LinkTable<H>,
        pool: Option<&mut Pool>,
    ) {
        if A::ACTIVE {
            let moment = self.moment(now, link_table);
            self.agent.forward(moment, link_table.packets.get_mut(id));
        }
        if self.is_straight {
            return self.accept_straight(id, link_table);
        }
        let start = self.line.busy_until.max(link_table.packets.get(id).time);
        if self.is_direct & !self.waiting & (start <= now) {
            return self.send(start, id, link_table);
        }
        match &self.discipline {
            Discipline::Fifo(_) => self.accept_fifo(now, id, link_table, pool),
            Discipline::Buffered(_) => {
                if pool.is_none_or(|pool| self.finds_room(now, id, link_table, pool)) {
                    match self.is_direct {
                        true => self.accept_buffered(now, id, link_table),
                        false => self.accept_held_back(now, id, link_table),
                    }
                }
            }
        }
    }

    /// Whether whatever comes goes straight onto the link.
    #[inline]
    pub fn is_straight(&self) -> bool {
        self.is_straight
    }

    /// Takes a packet at a port that is straight, and has no agent.
    #[inline(always)]
    pub fn accept_straight(&mut self, id: PacketId, link_table: &mut LinkTable<H>) {
        debug_assert!(self.is_straight, "its queue decides");
        let start = self.line.busy_until.max(link_table.packets.get(id).time);
        self.transmit(start, id, link_table);
    }

    #[inline(never)]
    pub(super) fn accept_fifo(
        &mut self,
        now: Time,
        id: PacketId,
        link_table: &mut LinkTable<H>,
        pool: Option<&mut Pool>,
    ) {
        let Discipline::Fifo(fifo) = &mut self.discipline else { return };
        let packet = link_table.packets.get_mut(id);
        let start = self.line.busy_until.max(packet.time);
        let waits = start > now;
        depart(fifo, now, self.recorder.as_deref_mut());
        let before = fifo.queued();
        let verdict = match &pool {
            _ if !waits => Verdict::Accept,
            Some(pool) if !pool.admits(before, packet.size_bytes) => Verdict::Drop,
            _ => fifo.judge(packet.size_bytes, &mut self.random),
        };
        match verdict {
            Verdict::Drop => {
                self.counters.drops += 1;
                link_table.packets.take(id);
                return;
            }
            Verdict::Mark if packet.is_ecn_capable() => {
                packet.congestion_experienced = true;
                self.counters.marks += 1;
            }
            Verdict::Mark | Verdict::Accept => {}
        }
        if waits {
            fifo.wait(start, packet.size_bytes);
            if let Some(recorder) = self.recorder.as_deref_mut() {
                recorder.note(now, fifo.queued());
            }
        }
        self.transmit(start, id, link_table);
    }

    #[inline(never)]
    pub(super) fn accept_buffered(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>) {
        if self.waiting {
            self.serve_through(now, link_table);
        }
        let start = self.line.busy_until.max(link_table.packets.get(id).time).max(now);
        let is_next = !self.waiting && start <= now;
        if is_next || self.put(now, start, id, &mut link_table.packets) == Joined::Booked {
            return self.send(start, id, link_table);
        }
        self.note(now);
    }

    /// Whether the pool has room for a packet that has to wait; if not, it is dropped.
    #[cold]
    pub(super) fn finds_room(
        &mut self,
        now: Time,
        id: PacketId,
        link_table: &mut LinkTable<H>,
        pool: &Pool,
    ) -> bool {
        self.serve_through(now, link_table);
        let packet = link_table.packets.get(id);
        let is_next = !self.waiting && self.line.busy_until.max(packet.time) <= now;
        if is_next || self.is_admitted(id, link_table, pool) {
            return true;
        }
        if self.buffer().is_some_and(Buffer::evicts) {
            self.displace(now, id, link_table, pool);
            return false;
        }
        self.counters.drops += 1;
        link_table.packets.take(id);
        false
    }

    /// Whether the pool has room for a packet at this port, or in its queue there.
    pub(super) fn is_admitted(&mut self, id: PacketId, link_table: &LinkTable<H>, pool: &Pool) -> bool {
        let size_bytes = link_table.packets.get(id).size_bytes;
        if pool.thresholds.is_some()
            && let Discipline::Buffered(buffer) = &mut self.discipline
        {
            let (queue, queued) = buffer.queue_of(id, &link_table.packets);
            return pool.admits_to(queue, queued, size_bytes).unwrap_or(true);
        }
        pool.admits(self.queued(), size_bytes)
    }

    /// Has a packet join for which the pool has no room, and drops others, or itself, until it has.
    pub(super) fn displace(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>, pool: &Pool) {
        let (counted, size_bytes) = (self.queued(), link_table.packets.get(id).size_bytes);
        let Discipline::Buffered(buffer) = &mut self.discipline else { return };
        let (packets, random, counts) = (&mut link_table.packets, &mut self.random, &mut self.counters);
        let env = &mut Env { now, packets, random, counts, serving_bytes: 0 };
        buffer.put(id, None, env);
        while !pool.allows(counted, buffer.queued(), size_bytes) && buffer.evict(env) {}
        self.waiting = buffer.is_ready();
        self.note(now);
    }

    /// Puts a packet that cannot start now, but could at `start`, into the buffer.
    #[inline(always)]
    pub(super) fn put(&mut self, now: Time, start: Time, id: PacketId, packets: &mut Packets<H>) -> Joined {
        let opening = self.opening(start);
        let serving_bytes = if now < self.serving_until { self.serving_bytes } else { 0 };
        let Discipline::Buffered(buffer) = &mut self.discipline else { return Joined::Dropped };
        let (random, counts) = (&mut self.random, &mut self.counters);
        let joined = buffer.put(id, opening, &mut Env { now, packets, random, counts, serving_bytes });
        match joined {
            Joined::Booked => self.departures += 1,
            Joined::Waits => self.waiting = true,
            Joined::Dropped => self.waiting = buffer.is_ready(),
            Joined::Returned => self.returned = Some(id),
        }
        joined
    }

    /// For a packet that may start at `start`, if it may be booked.
    #[inline]
    pub(super) fn opening(&self, start: Time) -> Option<Opening> {
        let Transmitter { framing_bytes, .. } = self.line;
        let byte_time = self.line.byte_time();
        self.books.then_some(Opening { start, byte_time, framing_bytes })
    }

    /// Every packet joins the queue, even when the link is free: the far end may have no buffer for it.
    #[inline(never)]
    pub(super) fn accept_held_back(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>) {
        if self.is_timed() {
            return self.accept_timed(now, id, link_table);
        }
        let was_open = self.is_open(now, link_table.packets.get(id));
        self.catch_up(now, link_table);
        if was_open || self.is_open(now, link_table.packets.get(id)) {
            if self.buffer().is_some_and(Buffer::sees_passing) {
                self.show_passing(now, id, link_table);
            }
            return self.send(now, id, link_table);
        }
        let Discipline::Buffered(buffer) = &mut self.discipline else { return };
        let (packets, random, counts) = (&mut link_table.packets, &mut self.random, &mut self.counters);
        buffer.put(id, None, &mut Env { now, packets, random, counts, serving_bytes: 0 });
        self.waiting = buffer.is_ready();
        self.note(now);
    }

    /// Sends a packet at a port that is open to it, and whose queue does not look at it.
    #[inline(always)]
    pub(in crate::engine) fn send_at_once(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>) {
        debug_assert!(self.is_open_unseen(now, link_table.packets.get(id)), "something is before it");
        self.line.busy_until = now;
        self.send(now, id, link_table);
    }

    /// Sends a packet at a port that is open to it ([`Port::is_open`]), and shows it to the queue.
    #[inline]
    pub(in crate::engine) fn send_shown(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>) {
        self.line.busy_until = now;
        self.show_passing(now, id, link_table);
        self.send(now, id, link_table);
    }

    /// Shows a packet that goes past what waits to a queue that looks. Apart, so that other ports pay nothing for it.
    #[inline(never)]
    pub(super) fn show_passing(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>) {
        let Discipline::Buffered(buffer) = &mut self.discipline else { return };
        let (packets, random, counts) = (&mut link_table.packets, &mut self.random, &mut self.counters);
        buffer.pass(id, &mut Env { now, packets, random, counts, serving_bytes: 0 });
    }

    /// Counts and discards a packet that does not fit into its switch's buffer.
    pub(in crate::engine) fn refuse(&mut self, id: PacketId, link_table: &mut LinkTable<H>) {
        self.counters.drops += 1;
        link_table.packets.take(id);
    }
}

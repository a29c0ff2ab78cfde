//! How a port lets packets go once its link is free.

use super::{Discipline, Port, depart};
use crate::engine::agent::{Leaving, PortAgent};
use crate::engine::link_table::LinkTable;
use crate::packet::Packet;
use crate::packets::{PacketId, Packets};
use crate::queue::{Buffer, Departure, Env, Holds, Occupancy};
use crate::units::Time;
use std::hint::select_unpredictable;

impl<H: Copy + Default, A: PortAgent<H>> Port<H, A> {
    /// Sends what could start by now, or before now where what comes joins first.
    pub(super) fn serve_by(&mut self, now: Time, link_table: &mut LinkTable<H>) {
        if self.waiting {
            let joins_first = self.buffer().is_some_and(Buffer::joins_first);
            self.serve_through(
                if joins_first { Time(now.as_ps().saturating_sub(1)) } else { now },
                link_table,
            );
        }
    }

    /// The same. If that is all that may be sent, nothing that comes later starts before now.
    pub(super) fn catch_up(&mut self, now: Time, link_table: &mut LinkTable<H>) {
        self.serve_by(now, link_table);
        if !self.waiting {
            self.line.busy_until = self.line.busy_until.max(now);
        }
    }

    /// Sends the next packet from the buffer. If that was data that came over a link, returns it and when it was
    /// chosen; what cuts through to a faster link may start later than that.
    pub fn depart(&mut self, link_table: &mut LinkTable<H>) -> Option<(Time, Departure)> {
        let chosen = self.line.busy_until;
        self.serve_next(link_table)?;
        let Discipline::Buffered(buffer) = &self.discipline else { return None };
        buffer.departure().map(|departure| (chosen, departure))
    }

    /// Sends what waits in the buffer and can start before `end`.
    pub fn serve_until(&mut self, end: Time, link_table: &mut LinkTable<H>) {
        self.serve_through(Time(end.as_ps() - 1), link_table);
    }

    pub(super) fn serve_through(&mut self, last: Time, link_table: &mut LinkTable<H>) {
        while self.waiting & (self.line.busy_until <= last) {
            self.serve_next(link_table);
        }
    }

    /// Sends the next packet from the buffer; returns when it starts, if the queue has not dropped all that waited.
    #[inline]
    pub(in crate::engine) fn serve_next(&mut self, link_table: &mut LinkTable<H>) -> Option<Time> {
        let Discipline::Buffered(buffer) = &mut self.discipline else { return None };
        let now = self.line.busy_until;
        let (packets, random, counts) = (&mut link_table.packets, &mut self.random, &mut self.counters);
        let taken = buffer.take(&mut Env { now, packets, random, counts, serving_bytes: 0 });
        self.waiting = buffer.is_ready();
        let Some(id) = taken else {
            self.note_nothing(&link_table.packets);
            return None;
        };
        let start = self.line.busy_until.max(link_table.packets.get(id).time);
        self.note(start);
        self.send(start, id, link_table);
        self.departures += 1;
        Some(start)
    }

    /// The queue has dropped what waited instead of sending it, or it waits for its time.
    #[cold]
    pub(super) fn note_nothing(&mut self, packets: &Packets<H>) {
        if self.is_timed() {
            return self.await_time(packets);
        }
        debug_assert!(!self.waiting, "a queue that gives nothing has nothing that may be sent");
        self.note(self.line.busy_until);
    }

    /// Transmits a packet that a buffer may have to know to be in service.
    #[inline(always)]
    pub(super) fn send(&mut self, start: Time, id: PacketId, link_table: &mut LinkTable<H>) {
        let data_bytes = self.transmit(start, id, link_table);
        // Whether a packet is data is not foreseen by the processor.
        let is_data = data_bytes > 0;
        self.serving_bytes = select_unpredictable(is_data, data_bytes, self.serving_bytes);
        self.serving_until = select_unpredictable(is_data, self.line.busy_until, self.serving_until);
    }

    /// Puts a packet onto the link; returns its size if it is data, otherwise 0.
    #[inline(always)]
    pub(super) fn transmit(&mut self, start: Time, id: PacketId, link_table: &mut LinkTable<H>) -> u16 {
        if A::SEES_DEPARTURES {
            self.show(start, link_table.packets.get_mut(id));
        }
        self.line.transmit(start, id, link_table)
    }

    /// Shows the agent a packet that starts.
    pub(super) fn show(&mut self, at: Time, packet: &mut Packet<H>) {
        let left = self.buffer().map_or_else(Occupancy::default, |buffer| buffer.queued_before(packet.dst));
        let (_, sent_bytes) = self.line.sent();
        self.agent.depart(Leaving { at, left, sent_bytes }, packet);
    }

    /// How many bytes wait, once the packets have gone that have started: what they take of a pool.
    pub fn settle(&mut self, now: Time, link_table: &mut LinkTable<H>) -> u64 {
        if let Discipline::Fifo(fifo) = &mut self.discipline {
            depart(fifo, now, self.recorder.as_deref_mut());
            return fifo.queued().bytes;
        }
        self.serve_through(now, link_table);
        self.queued().bytes
    }
}

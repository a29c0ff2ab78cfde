//! Ports at which packets wait for their time although the link is free ([`Holds::is_timed`]), as ExpressPass's credits do.
//!
//! While only such packets wait, the link counts as taken until the first of them may go. Whatever else comes before that
//! goes at once, and the port is to be looked at again when that has left.

use super::{Discipline, Port};
use crate::engine::agent::PortAgent;
use crate::engine::link_table::LinkTable;
use crate::packets::{PacketId, Packets};
use crate::queue::{Buffer, Env, Holds};
use crate::units::Time;

impl<H: Copy + Default, A: PortAgent<H>> Port<H, A> {
    /// Whether packets may wait here for their time.
    #[inline]
    pub(in crate::engine) fn is_timed(&self) -> bool {
        self.buffer().is_some_and(Buffer::is_timed)
    }

    /// Takes a packet at such a port.
    pub(super) fn accept_timed(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>) {
        self.serve_through(now, link_table);
        let Discipline::Buffered(queue) = &mut self.discipline else { return };
        let packet = link_table.packets.get(id);
        let is_free = queue.is_idle() || (!self.waiting && self.line.busy_until <= now);
        let start = packet.time.max(now);
        let was_idle = queue.is_idle();
        if is_free && queue.lets_through(packet.kind, packet.size_bytes, start) {
            if was_idle {
                // What waits for its time is looked at again when this has left, which may be before that time.
                self.line.busy_until = now;
                self.listed = false;
            }
            return self.send(start, id, link_table);
        }
        let (packets, random, counts) = (&mut link_table.packets, &mut self.random, &mut self.counters);
        queue.put(id, None, &mut Env { now, packets, random, counts, serving_bytes: 0 });
        self.waiting = queue.queued().packets > 0;
        if self.waiting && is_free && !was_idle {
            self.line.busy_until = queue.await_time(&link_table.packets);
        }
        self.note(now);
    }

    /// The link is free, and what waits may not go yet.
    pub(super) fn await_time(&mut self, packets: &Packets<H>) {
        let Discipline::Buffered(queue) = &mut self.discipline else { return };
        if self.waiting {
            self.line.busy_until = queue.await_time(packets);
        }
    }
}

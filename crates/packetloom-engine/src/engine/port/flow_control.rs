//! What a port lets through, class by class, and what the far end of its link says of that.

use super::{Discipline, Port};
use crate::engine::agent::PortAgent;
use crate::engine::link_table::LinkTable;
use crate::link_message::LinkMessage;
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::queue::{Buffer, Env, Holds, PausedClasses};
use crate::units::Time;

impl<H: Copy + Default, A: PortAgent<H>> Port<H, A> {
    /// What the far end of the link has paused, if it can.
    pub(in crate::engine) fn paused(&self) -> Option<&PausedClasses> {
        self.buffer()?.paused()
    }

    /// What waits where packets of a class do, if it can be paused.
    #[inline]
    pub(in crate::engine) fn class_bytes(&self, class: u8) -> u64 {
        self.buffer().map_or(0, |buffer| buffer.class_bytes(class))
    }

    /// Whether a packet that comes now starts now: where it could be paused and is not, nothing that may be sent
    /// waits, and the link is free.
    #[inline]
    pub(in crate::engine) fn is_open(&self, now: Time, packet: &Packet<H>) -> bool {
        self.is_open_by(Buffer::lets_pass, now, packet)
    }

    /// The same, of a port whose queue does not look at what passes it.
    #[inline]
    pub(in crate::engine) fn is_open_unseen(&self, now: Time, packet: &Packet<H>) -> bool {
        self.is_open_by(Buffer::lets_pass_unseen, now, packet)
    }

    #[inline(always)]
    pub(super) fn is_open_by(
        &self,
        lets_pass: impl Fn(&Buffer, Option<u8>, bool) -> bool,
        now: Time,
        packet: &Packet<H>,
    ) -> bool {
        if self.waiting | (self.line.busy_until > now) | (packet.time > now) {
            return false;
        }
        let class = (packet.kind != Kind::Link).then_some(packet.class);
        self.buffer().is_some_and(|buffer| lets_pass(buffer, class, self.line.busy_until == now))
    }

    /// Takes out all that waits of a class, and gives it up until it is resumed. The caller calls [`Port::note_emptied`]
    /// once it is rid of that.
    pub(in crate::engine) fn give_up(
        &mut self,
        now: Time,
        class: u8,
        packets: &mut Packets<H>,
    ) -> Vec<PacketId> {
        let Discipline::Buffered(buffer) = &mut self.discipline else { return Vec::new() };
        let (random, counts) = (&mut self.random, &mut self.counters);
        buffer.give_up(class, &mut Env { now, packets, random, counts, serving_bytes: 0 })
    }

    /// What waited of a class is gone.
    pub(in crate::engine) fn note_emptied(&mut self, now: Time) {
        self.waiting = self.buffer().is_some_and(Buffer::is_ready);
        self.note(now);
    }

    /// Whether the far end of its link has paused a class, or has given no credit for what waits of it.
    pub(in crate::engine) fn has_paused(&self, class: u8) -> bool {
        self.buffer().is_some_and(|buffer| buffer.keeps_back(class))
    }

    /// Whether it keeps packets back until the far end gives credit for them.
    pub(in crate::engine) fn waits_for_credit(&self) -> bool {
        self.buffer().is_some_and(Buffer::waits_for_credit)
    }

    /// A message from the far end.
    pub fn receive_message(&mut self, now: Time, message: LinkMessage, link_table: &mut LinkTable<H>) {
        self.change(now, link_table, |buffer| buffer.receive_message(now, message));
    }

    /// The far end lends so much of its buffer.
    pub fn borrow(&mut self, now: Time, bytes: u32, link_table: &mut LinkTable<H>) {
        self.change(now, link_table, |buffer| buffer.borrow(bytes));
    }

    /// Gives back what was lent, as far as it is not in use.
    pub fn give_back(&mut self, now: Time, link_table: &mut LinkTable<H>) {
        self.catch_up(now, link_table);
        let Discipline::Buffered(buffer) = &mut self.discipline else { return };
        if let Some((message, size_bytes)) = buffer.give_back() {
            let id = link_table.packets.add(Packet { time: now, ..message.packet(size_bytes) });
            self.accept(now, id, link_table, None);
        }
    }

    /// Changes what the buffer may send.
    pub(super) fn change(
        &mut self,
        now: Time,
        link_table: &mut LinkTable<H>,
        change: impl FnOnce(&mut Buffer),
    ) {
        // Others' agents measure by when the link was last taken, which must not change.
        if self.is_direct {
            return;
        }
        self.catch_up(now, link_table);
        if let Discipline::Buffered(buffer) = &mut self.discipline {
            change(buffer);
            self.waiting = buffer.is_ready();
        }
        self.note(now);
    }
}

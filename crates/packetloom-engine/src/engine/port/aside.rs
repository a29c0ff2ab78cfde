//! What waits in a switch's VOQs for a port.

use super::{Discipline, Port};
use crate::engine::agent::PortAgent;
use crate::engine::link_table::LinkTable;
use crate::packets::PacketId;
use crate::queue::{Buffer, Gated, Holds, Left};
use crate::units::Time;

impl<H: Copy + Default, A: PortAgent<H>> Port<H, A> {
    fn gated(&mut self) -> &mut Gated {
        match &mut self.discipline {
            Discipline::Buffered(Buffer::Gated(gated)) => gated,
            _ => unreachable!("a switch with VOQs has such queues at all ports"),
        }
    }

    /// Has a packet wait in a VOQ.
    pub(in crate::engine) fn put_aside(
        &mut self,
        now: Time,
        voq: u32,
        id: PacketId,
        link_table: &mut LinkTable<H>,
    ) {
        self.gated().put_aside(voq, id, &mut link_table.packets);
        self.note(now);
    }

    /// Has the first packet of a VOQ join the queue.
    pub(in crate::engine) fn bring_back(&mut self, now: Time, voq: u32, link_table: &mut LinkTable<H>) {
        self.catch_up(now, link_table);
        self.gated().bring_back(voq, &mut link_table.packets);
        self.waiting = self.gated().is_ready();
        self.note(now);
    }

    /// What left last, if its switch has to know.
    pub(in crate::engine) fn left(&mut self) -> Option<Left> {
        self.gated().left()
    }
}

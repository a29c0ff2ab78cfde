//! Link control: the messages that a switch exchanges with the far ends of its links.

use super::Switch;
use super::backpressure::Backpressure;
use super::credits::Credits;
use super::pauses::Pauses;
use crate::engine::agent::PortAgent;
use crate::engine::link_table::LinkTable;
use crate::engine::port::Port;
use crate::link_message::LinkMessage;
use crate::packet::Packet;
use crate::packets::PacketId;
use crate::queue::{Departure, departure};
use crate::units::Time;

/// The kinds of link control.
pub(in crate::engine) enum LinkControl {
    /// Credits are returned when the buffer has space again.
    Credits(Credits),
    /// Links are paused while it has none.
    Pauses(Box<Pauses>),
    /// Queues at their far ends are paused, one by one.
    Backpressure(Box<Backpressure>),
}

impl LinkControl {
    /// A packet leaves by a port.
    pub(super) fn pass<H>(&mut self, port: u32, packet: &mut Packet<H>) {
        match self {
            LinkControl::Credits(credits) => credits.pass(port, packet),
            LinkControl::Pauses(_) | LinkControl::Backpressure(_) => {}
        }
    }
}

impl Switch {
    /// A message comes by a link.
    pub(super) fn receive_message<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        message: LinkMessage,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        match message {
            LinkMessage::Credit { bytes, .. } => {
                if let Some(LinkControl::Credits(credits)) = &mut self.control
                    && credits.take_back(link, bytes.into())
                {
                    return;
                }
                self.deliver_message(now, link, message, ports, link_table);
            }
            LinkMessage::Pause { class, .. } => {
                self.deliver_message(now, link, message, ports, link_table);
                let rate = ports[self.ways_back[link as usize] as usize].rate();
                link_table.remind_of_end((self.node, link), now, message, rate);
                self.watch(now, link, class, ports, link_table);
            }
            LinkMessage::PauseOver { .. } | LinkMessage::Queue { .. } => {
                self.deliver_message(now, link, message, ports, link_table);
            }
            LinkMessage::Window { dst, bytes } => {
                self.receive_window(now, link, (dst, bytes), ports, link_table);
            }
            LinkMessage::Resync { dst, sent, returned } => {
                self.answer_for_window(now, link, (dst, sent, returned), ports, link_table);
            }
            // That is for hosts.
            LinkMessage::Destination { .. } => {}
            LinkMessage::Watchdog { class } => self.look_after(now, link, class, ports, link_table),
            LinkMessage::PauseEnds { class } => self.prolong(now, link, class, ports, link_table),
        }
    }

    fn deliver_message<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        message: LinkMessage,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let back = self.ways_back[link as usize];
        ports[back as usize].receive_message(now, message, link_table);
        self.note_joined(back, &mut ports[back as usize]);
    }

    /// A packet joins a port. If it starts at once it has left, too.
    pub(super) fn join<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        out: u32,
        id: PacketId,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let port = &mut ports[out as usize];
        let packet = link_table.packets.get(id);
        let left = if port.is_open(now, packet) { departure(id, &link_table.packets) } else { None };
        let has_waited = port.is_waiting();
        port.accept(now, id, link_table, None);
        match left {
            Some(left) => self.discharge(now, (left, out), ports, link_table),
            // When its next packet can leave is known, and does not depend on what comes behind.
            None if has_waited && port.is_waiting() => {}
            None => self.note_joined(out, &mut ports[out as usize]),
        }
    }

    /// A port may have something to send, or more than before.
    pub(super) fn note_joined<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        number: u32,
        port: &mut Port<H, A>,
    ) {
        if port.list() {
            self.departures.remove(number);
        }
        if port.is_waiting() {
            self.departures.add(number, port.free_at());
        }
    }

    /// Has the packet leave that starts first, of a port.
    pub(super) fn depart_next<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) -> Option<(Time, u32, Departure)> {
        let number = self.departures.take()?;
        let port = &mut ports[number as usize];
        let departure = port.depart(link_table);
        port.list();
        if port.is_waiting() {
            self.departures.add(number, port.free_at());
        }
        departure.map(|(now, left)| (now, number, left))
    }

    /// Has the switch woken when the next packet leaves, in a window to come.
    pub(super) fn schedule_departure<H: Copy + Default>(&mut self, link_table: &mut LinkTable<H>) {
        let at = self.departures.next_at();
        if at != Time::NEVER && at != self.woken_for {
            link_table.calendar.wake(self.node, at);
        }
        self.woken_for = at;
    }

    /// Lets packets leave until `last`, and says so to the links that they came by.
    #[inline]
    pub(super) fn depart_until<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        last: Time,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        // Of PFC this is asked twice for every packet, so it is asked first.
        if let Some(LinkControl::Pauses(pauses)) = &self.control
            && pauses.windows.is_none()
        {
            if self.departures.next_at() <= last {
                self.depart_with_pauses(last, ports, link_table);
            }
        } else if self.control.is_some() {
            self.depart_with_messages(last, ports, link_table);
        }
    }

    /// The same where each departure may cause a credit or a resume of its own.
    #[inline(never)]
    fn depart_with_messages<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        last: Time,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        match self.control {
            Some(LinkControl::Credits(_)) => self.depart_with_credits(last, ports, link_table),
            Some(LinkControl::Backpressure(_)) => self.depart_backpressed(last, ports, link_table),
            Some(LinkControl::Pauses(_)) => self.depart_with_windows(last, ports, link_table),
            _ => {}
        }
    }
}

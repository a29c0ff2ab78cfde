//! Link control: the messages that a switch exchanges with the far ends of its links.

use super::Switch;
use super::credits::Credits;
use super::pauses::Pauses;
use crate::engine::agent::PortAgent;
use crate::engine::port::Port;
use crate::engine::wires::Wires;
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
}

/// A packet that leaves next.
#[derive(Clone, Copy)]
pub(super) struct Next {
    /// When.
    pub(super) at: Time,
    /// By which port.
    port: u32,
    /// The port's place among those that wait.
    place: usize,
    /// When at the earliest one leaves by another port.
    others_at: Time,
}

impl LinkControl {
    /// A packet leaves by a port.
    pub(super) fn pass<H>(&mut self, port: u32, packet: &mut Packet<H>) {
        match self {
            LinkControl::Credits(credits) => credits.pass(port, packet),
            LinkControl::Pauses(_) => {}
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
        wires: &mut Wires<H>,
    ) {
        match message {
            LinkMessage::Credit { bytes, .. } => {
                if let Some(LinkControl::Credits(credits)) = &mut self.control
                    && credits.take_back(link, bytes.into())
                {
                    return;
                }
                self.deliver_message(now, link, message, ports, wires);
            }
            LinkMessage::Pause { class, .. } => {
                self.deliver_message(now, link, message, ports, wires);
                let rate = ports[self.ways_back[link as usize] as usize].rate();
                wires.remind_of_end((self.node, link), now, message, rate);
                self.watch(now, link, class, ports, wires);
            }
            LinkMessage::PauseOver { .. } => self.deliver_message(now, link, message, ports, wires),
            LinkMessage::Watchdog { class } => self.look_after(now, link, class, ports, wires),
            LinkMessage::PauseEnds { class } => self.prolong(now, link, class, ports, wires),
        }
    }

    fn deliver_message<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        message: LinkMessage,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        let back = self.ways_back[link as usize];
        ports[back as usize].receive_message(now, 0, message, wires);
        self.note_joined(back, &mut ports[back as usize]);
    }

    /// A packet joins a port. If it starts at once it has left, too.
    pub(super) fn join<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        out: u32,
        id: PacketId,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        let port = &mut ports[out as usize];
        let packet = wires.packets.get(id);
        let left = if port.is_open(now, packet) { departure(id, &wires.packets) } else { None };
        let has_waited = port.is_waiting();
        port.accept(now, id, wires, None);
        match left {
            Some(left) => self.discharge(now, left, ports, wires),
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
        self.note_waiting(number, port);
        if port.is_waiting() {
            self.next_departure = self.next_departure.min(port.free_at());
            // So that it is looked at, and woken for, when the window ends.
            self.next_service = Time::ZERO;
        }
        self.note_departure_at(number, port);
    }

    /// Notes when the next packet of a port can leave, so that ports need not be looked at to find the first of
    /// them.
    fn note_departure_at<H: Copy + Default, A: PortAgent<H>>(&mut self, number: u32, port: &Port<H, A>) {
        if let Some((_, at)) = self.waiting.iter_mut().find(|(listed, _)| *listed == number) {
            *at = if port.is_waiting() { port.free_at() } else { Time::NEVER };
        }
    }

    /// The port whose next packet starts first, if one does by `last`: in order of time, then port.
    #[inline]
    pub(super) fn next_to_depart(&mut self, last: Time) -> Option<Next> {
        if self.next_departure > last {
            return None;
        }
        let mut next = Next { at: Time::NEVER, port: u32::MAX, place: 0, others_at: Time::NEVER };
        for (place, &(port, at)) in self.waiting.iter().enumerate() {
            if (at, port) < (next.at, next.port) {
                next = Next { at, port, place, others_at: next.at };
            } else {
                next.others_at = next.others_at.min(at);
            }
        }
        self.next_departure = next.at;
        (next.at <= last).then_some(next)
    }

    /// Has the next packet leave.
    pub(super) fn depart_next<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        next: Next,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) -> Option<(Time, Departure)> {
        let port = &mut ports[next.port as usize];
        let departure = port.depart(wires);
        let at = if port.is_waiting() { port.free_at() } else { Time::NEVER };
        self.waiting[next.place].1 = at;
        self.next_departure = next.others_at.min(at);
        departure
    }

    /// Lets packets leave until `last`, and says so to the links that they came by.
    #[inline]
    pub(super) fn depart_until<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        last: Time,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        match self.control {
            Some(LinkControl::Credits(_)) => self.depart_with_credits(last, ports, wires),
            Some(LinkControl::Pauses(_)) if self.next_departure <= last => {
                self.depart_with_pauses(last, ports, wires);
            }
            _ => {}
        }
    }
}

//! What a switch says to the far ends of its links, and hears from them.

use super::Switch;
use super::credits::Credits;
use super::pauses::Pauses;
use crate::engine::agent::PortAgent;
use crate::engine::port::Port;
use crate::engine::wires::Wires;
use crate::link_message::LinkMessage;
use crate::packet::Packet;
use crate::units::Time;

/// What there is to say.
pub(in crate::engine) enum LinkControl {
    /// There is room again.
    Credits(Credits),
    /// There is none.
    Pauses(Box<Pauses>),
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
    pub(super) fn hear<H: Copy + Default, A: PortAgent<H>>(
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
                self.port_hears(now, link, message, ports, wires);
            }
            LinkMessage::Pause { class, .. } => {
                self.port_hears(now, link, message, ports, wires);
                let rate = ports[self.ways_back[link as usize] as usize].rate();
                if let Some(lasts) = message.pause_lasts(rate) {
                    wires.remind((self.node, link), now + lasts, LinkMessage::PauseOver { class });
                }
                self.watch(now, link, class, ports, wires);
            }
            LinkMessage::PauseOver { .. } => self.port_hears(now, link, message, ports, wires),
            LinkMessage::Watchdog { class } => self.look_after(now, link, class, ports, wires),
            LinkMessage::PauseEnds { class } => self.prolong(now, link, class, ports, wires),
        }
    }

    fn port_hears<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        message: LinkMessage,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        let back = self.ways_back[link as usize];
        ports[back as usize].hear(now, 0, message, wires);
        self.note_joined(back, &mut ports[back as usize]);
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
        }
    }

    /// The port whose next packet starts first, if one does by `last`: in order of time, then port.
    pub(super) fn next_to_depart<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        last: Time,
        ports: &[Port<H, A>],
    ) -> Option<(Time, u32)> {
        if self.next_departure > last {
            return None;
        }
        let waiting = self.waiting.iter().map(|&(number, _)| (&ports[number as usize], number));
        let waiting = waiting.filter(|(port, _)| port.is_waiting());
        let next = waiting.map(|(port, number)| (port.free_at(), number)).min();
        self.next_departure = next.map_or(Time::NEVER, |(at, _)| at);
        next.filter(|&(at, _)| at <= last)
    }

    /// Lets packets leave until `last`, and says so to the links that they came by.
    pub(super) fn depart_until<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        last: Time,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        match self.control {
            Some(LinkControl::Credits(_)) => self.depart_with_credits(last, ports, wires),
            Some(LinkControl::Pauses(_)) => self.depart_with_pauses(last, ports, wires),
            None => {}
        }
    }
}

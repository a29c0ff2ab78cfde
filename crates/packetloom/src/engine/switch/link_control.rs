//! What a switch says to the far ends of its links, and hears from them.

use super::Switch;
use crate::engine::agent::PortAgent;
use crate::engine::port::Port;
use crate::engine::wires::Wires;
use crate::link_message::LinkMessage;
use crate::packet::{Kind, Packet};
use crate::queue::{Departure, Loans};
use crate::units::Time;

/// Credits: each packet that leaves is told to the link that it came by, which may then send as much again.
pub(in crate::engine) struct LinkControl {
    /// The size of a message on the wire.
    message_bytes: u16,
    /// What left at a moment and was not told yet.
    owed: Vec<Departure>,
    /// What the switch lends to hosts that are asked for flows.
    loans: Option<Loans>,
}

impl LinkControl {
    pub(in crate::engine) fn credits(message_bytes: u16, loans: Option<Loans>) -> LinkControl {
        LinkControl { message_bytes, owed: Vec::new(), loans }
    }

    /// A packet leaves by a port: queries to hosts take a loan along.
    pub(super) fn pass<H>(&mut self, port: u32, packet: &mut Packet<H>) {
        if let (Kind::Query, Some(loans)) = (packet.kind, &mut self.loans) {
            loans.answer(port, packet);
        }
    }
}

impl Switch {
    /// The far end of a link says that there is room, or gives back what it was lent.
    pub(super) fn hear<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        message: LinkMessage,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        let LinkMessage::Credit { bytes, .. } = message;
        let loans = self.control.as_mut().and_then(|control| control.loans.as_mut());
        if loans.is_some_and(|loans| loans.take_back(link, bytes.into())) {
            return;
        }
        let back = self.ways_back[link as usize];
        ports[back as usize].hear(now, 0, message, wires);
        self.note_waiting(back, &mut ports[back as usize]);
    }

    /// Lets packets leave in order of time, then port, and tells the links that they came from, each at that moment: the
    /// messages go out by ports, too.
    pub(super) fn depart_until<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        last: Time,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        let mut moment = Time::ZERO;
        loop {
            let next = self.waiting.iter().map(|&(port, _)| (&ports[port as usize], port));
            let next =
                next.filter(|(port, _)| port.is_waiting()).map(|(port, number)| (port.free_at(), number));
            let next = next.min().filter(|&(at, _)| at <= last);
            let is_owed = self.control.as_ref().is_some_and(|control| !control.owed.is_empty());
            if is_owed && next.is_none_or(|(at, _)| at > moment) {
                self.tell(moment, ports, wires);
                continue;
            }
            let Some((_, number)) = next else { return };
            if let Some((now, departure)) = ports[number as usize].depart(wires)
                && let Some(control) = &mut self.control
            {
                moment = now;
                control.owed.push(departure);
            }
        }
    }

    /// Tells the links that packets came from of all that left at a moment. Not one by one: a port that takes a message first
    /// sends what it could send by then, and of that nobody would be told.
    fn tell<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        let Some(control) = &mut self.control else { return };
        let message_bytes = control.message_bytes;
        for Departure { from, class, bytes } in std::mem::take(&mut control.owed) {
            let message = LinkMessage::Credit { class, bytes: bytes.into() };
            let id = wires.packets.add(Packet { time: now, ..message.packet(message_bytes) });
            let back = self.ways_back[from as usize];
            ports[back as usize].accept(now, id, wires, None);
            self.note_waiting(back, &mut ports[back as usize]);
        }
    }
}

//! Credits: the link that a packet came by is notified when it has left, and may then send as much again.

use super::{LinkControl, Switch};
use crate::engine::agent::PortAgent;
use crate::engine::port::Port;
use crate::engine::wires::Wires;
use crate::link_message::LinkMessage;
use crate::packet::{Kind, Packet};
use crate::queue::{Departure, Loans};
use crate::units::Time;

/// A switch's credits.
pub(in crate::engine) struct Credits {
    /// The size of a message on the wire.
    message_bytes: u16,
    /// Departures of a moment for which no credit was returned yet.
    owed: Vec<Departure>,
    /// What the switch lends to hosts that receive queries.
    loans: Option<Loans>,
}

impl Credits {
    pub(in crate::engine) fn new(message_bytes: u16, loans: Option<Loans>) -> Credits {
        Credits { message_bytes, owed: Vec::new(), loans }
    }

    /// A packet leaves by a port: queries to hosts take a loan along.
    pub(super) fn pass<H>(&mut self, port: u32, packet: &mut Packet<H>) {
        if let (Kind::Query, Some(loans)) = (packet.kind, &mut self.loans) {
            loans.answer(port, packet);
        }
    }

    /// A host gives back what it was lent, if the link is one of a host that was lent something.
    pub(super) fn take_back(&mut self, link: u32, bytes: u64) -> bool {
        self.loans.as_mut().is_some_and(|loans| loans.take_back(link, bytes))
    }
}

impl Switch {
    fn credits(&mut self) -> Option<&mut Credits> {
        match &mut self.control {
            Some(LinkControl::Credits(credits)) => Some(credits),
            _ => None,
        }
    }

    /// Lets packets leave in order of time, then port, and returns their credits to the links that they came by,
    /// each at that moment: the messages go out by ports, too.
    #[inline(never)]
    pub(super) fn depart_with_credits<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        last: Time,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        let mut moment = Time::ZERO;
        loop {
            let next = self.next_to_depart(last);
            let is_owed = self.credits().is_some_and(|credits| !credits.owed.is_empty());
            if is_owed && next.is_none_or(|next| next.at > moment) {
                self.return_credits(moment, ports, wires);
                continue;
            }
            let Some(next) = next else { return };
            if let Some((now, departure)) = self.depart_next(next, ports, wires)
                && let Some(credits) = self.credits()
            {
                moment = now;
                credits.owed.push(departure);
            }
        }
    }

    /// Returns the credits of everything that left at a moment. Not one by one: a port that takes a message first
    /// sends what it could send by then, and the credits for that would be missed.
    fn return_credits<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        let Some(credits) = self.credits() else { return };
        let message_bytes = credits.message_bytes;
        for Departure { from, class, bytes } in std::mem::take(&mut credits.owed) {
            let message = LinkMessage::Credit { class, bytes: bytes.into() };
            let id = wires.packets.add(Packet { time: now, ..message.packet(message_bytes) });
            let back = self.ways_back[from as usize];
            ports[back as usize].accept(now, id, wires, None);
            self.note_joined(back, &mut ports[back as usize]);
        }
    }
}

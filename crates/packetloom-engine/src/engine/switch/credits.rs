//! Credits: the link that a packet came by is notified when it has left, and may then send as much again.

use super::updates::Updates;
use super::{LinkControl, Switch};
use crate::engine::agent::PortAgent;
use crate::engine::link_table::LinkTable;
use crate::engine::port::Port;
use crate::link_message::LinkMessage;
use crate::packet::{Kind, Packet};
use crate::queue::{Departure, Loans};
use crate::units::Time;

/// A switch's credits.
pub(in crate::engine) struct Credits {
    /// The size of a message on the wire.
    message_bytes: u16,
    returns: Returns,
    /// What the switch lends to hosts that receive queries.
    loans: Option<Loans>,
}

/// When credits are returned.
pub(in crate::engine) enum Returns {
    /// At once, each packet's by itself: the departures of a moment for which none was returned yet.
    AtOnce(Vec<Departure>),
    /// Together, so that links have time between two updates.
    Spaced(Updates),
}

impl Credits {
    pub(in crate::engine) fn new(message_bytes: u16, returns: Returns, loans: Option<Loans>) -> Credits {
        Credits { message_bytes, returns, loans }
    }

    /// What is collected for each link, if anything is.
    pub(in crate::engine) fn owed(&self) -> Option<&Updates> {
        match &self.returns {
            Returns::AtOnce(_) => None,
            Returns::Spaced(updates) => Some(updates),
        }
    }

    fn note(&mut self, now: Time, departure: Departure) {
        match &mut self.returns {
            Returns::AtOnce(owed) => owed.push(departure),
            Returns::Spaced(updates) => updates.free(now, departure),
        }
    }

    /// When credits are to be returned next; `moment`: when the last packet left.
    fn next_at(&self, moment: Time) -> Option<Time> {
        match &self.returns {
            Returns::AtOnce(owed) => (!owed.is_empty()).then_some(moment),
            Returns::Spaced(updates) => updates.next_at(),
        }
    }

    /// Takes out the credits that are due: each with its link.
    fn take(&mut self, now: Time) -> Vec<(u32, LinkMessage)> {
        match &mut self.returns {
            Returns::AtOnce(owed) => {
                let credit = |Departure { from, class, bytes }| {
                    (from, LinkMessage::Credit { class, bytes: bytes.into() })
                };
                std::mem::take(owed).into_iter().map(credit).collect()
            }
            Returns::Spaced(updates) => {
                let due = std::iter::from_fn(|| updates.take(now));
                let of_classes = due.flat_map(|(from, freed)| {
                    let credit = move |(class, bytes)| (from, LinkMessage::Credit { class, bytes });
                    (0..).zip(freed).filter(|(_, bytes)| *bytes > 0).map(credit)
                });
                of_classes.collect()
            }
        }
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
        link_table: &mut LinkTable<H>,
    ) {
        let mut moment = Time::ZERO;
        loop {
            let next_at = self.departures.next_at();
            let due = self.credits().and_then(|credits| credits.next_at(moment));
            if let Some(at) = due.filter(|&at| at <= last && next_at > at) {
                self.return_credits(at, ports, link_table);
                continue;
            }
            if next_at > last {
                return;
            }
            if let Some((now, _, departure)) = self.depart_next(ports, link_table)
                && let Some(credits) = self.credits()
            {
                moment = now;
                credits.note(now, departure);
            }
        }
    }

    /// Returns the credits that are due at a moment, such as of everything that left at it. Not one by one: a port that takes a message first
    /// sends what it could send by then, and the credits for that would be missed.
    fn return_credits<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let Some(credits) = self.credits() else { return };
        let message_bytes = credits.message_bytes;
        for (from, message) in credits.take(now) {
            let id = link_table.packets.add(Packet { time: now, ..message.packet(message_bytes) });
            let back = self.ways_back[from as usize];
            ports[back as usize].accept(now, id, link_table, None);
            self.note_joined(back, &mut ports[back as usize]);
        }
    }

    /// Has the switch woken when its next update is due.
    pub(super) fn schedule_update<H: Copy + Default>(&mut self, link_table: &mut LinkTable<H>) {
        let node = self.node;
        if let Some(at) = self.credits().and_then(|credits| credits.owed()?.next_at()) {
            link_table.calendar.wake(node, at);
        }
    }
}

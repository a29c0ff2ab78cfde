//! Flow control at a port of parts: what the far end of its link allows, what has to be said to it, and what it has to be
//! notified of.

use super::cbfc::Credits;
use super::{CLASSES, Gates, PausedClasses, Specification, class_in, departure};
use crate::link_message::LinkMessage;
use crate::narrow::narrow;
use crate::packet::Packet;
use crate::packets::{PacketId, Packets};
use crate::queue::list::List;
use crate::queue::{Departure, Occupancy, Site};
use crate::units::Time;

/// By what it goes.
#[derive(Clone, Debug)]
enum Rule {
    /// The far end pauses classes.
    Pauses(PausedClasses),
    /// The far end gives credit.
    Credits(Credits),
}

/// The flow control of a port.
#[derive(Clone, Debug)]
pub struct FlowControl {
    rule: Rule,
    /// Messages to the far end: they go before all else, and wait for nothing but the frame in service.
    messages: List,
    /// What was sent last, if the link that it came by has to be notified.
    last: Option<Departure>,
    gates: Gates,
    /// How many queues the scheduler has; all further classes wait in the last one.
    queues: usize,
}

impl FlowControl {
    /// That of a port whose scheduler has so many queues, if it has any.
    pub fn build(specification: &Specification, queues: usize) -> Option<Box<FlowControl>> {
        let rule = match specification {
            Specification::None => return None,
            Specification::Pauses(_) => Rule::Pauses(PausedClasses::default()),
            Specification::Credit(credit) => Rule::Credits(Credits::of(credit)),
        };
        let (messages, last) = (List::default(), None);
        Some(Box::new(FlowControl { rule, messages, last, gates: Gates::OPEN, queues }))
    }

    /// How many queues the scheduler has.
    #[inline]
    pub fn queues(&self) -> usize {
        self.queues
    }

    /// Which queues of the scheduler may send.
    #[inline]
    pub fn gates(&self) -> Gates {
        self.gates
    }

    /// The messages that wait.
    #[inline]
    pub fn messages(&self) -> &List {
        &self.messages
    }

    /// The same, to be changed.
    #[inline]
    pub fn messages_mut(&mut self) -> &mut List {
        &mut self.messages
    }

    /// What was sent last, if the link that it came by has to be notified.
    #[inline]
    pub fn last(&self) -> Option<Departure> {
        self.last
    }

    /// Nothing is sent yet this time.
    #[inline]
    pub fn forget_last(&mut self) {
        self.last = None;
    }

    /// The queue of the scheduler where packets of a class wait.
    #[inline]
    pub fn queue_of(&self, class: u8) -> usize {
        class_in(class).min(self.queues - 1)
    }

    /// Whether what waits of a class may be sent.
    #[inline]
    pub fn lets_go(&self, class: u8) -> bool {
        self.gates.is_open(self.queue_of(class))
    }

    /// Whether a packet of a class need not wait where nothing does: whether there is credit depends on its size.
    #[inline]
    pub fn lets_pass(&self, class: Option<u8>) -> bool {
        matches!(self.rule, Rule::Pauses(_)) && class.is_none_or(|class| self.lets_go(class))
    }

    /// What the far end has paused, where it can.
    pub fn paused(&self) -> Option<&PausedClasses> {
        match &self.rule {
            Rule::Pauses(paused) => Some(paused),
            Rule::Credits(_) => None,
        }
    }

    /// What is used of the credit of each class, if credit is needed.
    pub fn credit_used(&self) -> Vec<u64> {
        self.credits().map_or_else(Vec::new, |credits| credits.ledger.all_used_bytes())
    }

    /// The same of one class.
    pub fn credit_used_of(&self, class: usize) -> Option<u64> {
        self.credits()?.ledger.used_bytes(class)
    }

    /// Whether it goes by credit.
    #[inline]
    pub fn gives_credit(&self) -> bool {
        self.credits().is_some()
    }

    /// What a packet takes at the far end of its link, if there it has room, so that nothing drops it here; else 0.
    #[inline]
    pub fn taken_by<H>(&self, packet: &Packet<H>) -> u64 {
        self.credits().map_or(0, |credits| credits.ledger.bytes_of(packet))
    }

    /// The same of the first packet of a queue.
    #[inline]
    pub fn first_takes(&self, queue: usize) -> u64 {
        self.credits().map_or(0, |credits| credits.first_takes(queue))
    }

    /// What waits that takes none of the port's buffer.
    #[inline]
    pub fn waits_by_credit(&self) -> Occupancy {
        self.credits().map_or_else(Occupancy::default, |credits| credits.charged())
    }

    #[inline]
    fn credits(&self) -> Option<&Credits> {
        match &self.rule {
            Rule::Pauses(_) => None,
            Rule::Credits(credits) => Some(credits),
        }
    }

    /// Sets the port's position in the network.
    pub fn place(&mut self, site: &Site) {
        match &mut self.rule {
            Rule::Pauses(paused) => paused.place(site),
            Rule::Credits(credits) => credits.ledger.place(site),
        }
    }

    /// A packet joins a queue, where it is the first if nothing waited; it takes so much.
    #[inline]
    pub fn join<H>(&mut self, queue: usize, (packet, taken_bytes): (&Packet<H>, u64), is_first: bool) {
        let Rule::Credits(credits) = &mut self.rule else { return };
        credits.join(packet.size_bytes, taken_bytes);
        if is_first {
            credits.note_first(queue, Some((packet, taken_bytes)));
            self.gates = self.gates.with(queue, credits.has_credit(queue));
        }
    }

    /// The first packet was taken out of a queue, which now has another one first, and is sent, or dropped.
    #[inline(always)]
    pub fn leave<H: Copy + Default>(
        &mut self,
        (queue, first): (usize, Option<PacketId>),
        (id, is_sent): (PacketId, bool),
        packets: &Packets<H>,
    ) {
        let credits = match &mut self.rule {
            Rule::Pauses(_) if is_sent => return self.last = departure(id, packets),
            Rule::Pauses(_) => return,
            Rule::Credits(credits) => credits,
        };
        let charged = credits.leave(queue, packets.get(id).size_bytes);
        if let (Some((class, bytes)), true) = (charged, is_sent) {
            credits.ledger.spend(class.into(), bytes);
            self.last = Some(Departure { from: packets.ingress(id), class, bytes: narrow::<u16>(bytes) });
        }
        let first = first.map(|id| packets.get(id));
        let first = first.map(|packet| (packet, credits.ledger.bytes_of(packet)));
        credits.note_first(queue, first);
        self.gates = self.gates.with(queue, credits.has_credit(queue));
    }

    /// Nothing more of a class is put in until it is resumed.
    pub fn give_up(&mut self, class: u8) {
        if let Rule::Pauses(paused) = &mut self.rule {
            paused.give_up(class);
        }
    }

    /// The far end says something, or a pause may be over.
    pub fn receive(&mut self, now: Time, message: LinkMessage) {
        let paused = match &mut self.rule {
            Rule::Pauses(paused) => paused,
            Rule::Credits(credits) => {
                // A class has its packets in one queue.
                if let Some(class) = credits.ledger.receive(message) {
                    let queue = class.min(self.queues - 1);
                    self.gates = self.gates.with(queue, credits.has_credit(queue));
                }
                return;
            }
        };
        paused.receive(now, message);
        let paused = paused.bits();
        let closed = (0..narrow::<u8>(CLASSES)).filter(|class| paused >> class & 1 == 1);
        self.gates = Gates::closing(closed.fold(0, |closed, class| closed | 1 << self.queue_of(class)));
    }
}

//! The connection between an endpoint and the allocator: messages arrive whatever is lost, and in order.
//!
//! Flowtune §6 has a TCP connection for each server. It is open from the start here. Of TCP it has what matters for
//! messages of a few bytes: cumulative acknowledgements, timeouts (RFC 6298) between 20 and 30 us, after which all is
//! sent again from the first message that is missing, and slow start. Each message has a packet of its own, and is
//! acknowledged at once. Nothing is sent again before a timeout, which comes after about a round trip here.

use super::message::{Message, Segment, packet};
use crate::engine::Context;
use crate::flow::{FlowId, HostId};
use crate::narrow::narrow;
use crate::packet_format::PacketFormat;
use crate::rto::{Rto, RtoRule};
use crate::units::Time;
use crate::windowed::Header;
use std::collections::{BTreeMap, VecDeque};

/// Messages that may be on their way at first (RFC 6928).
const INITIAL_WINDOW: usize = 10;

/// After so many timeouts in a row an end with nothing else to do waits for a new message, or a word from the other
/// end. Linux's tcp_retries2 gives a connection up then; this one forgets nothing.
const PATIENCE: u32 = 15;

/// What connections have in common.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The sizes of packets.
    pub format: PacketFormat,
    /// The timeouts.
    pub rto: RtoRule,
    /// The purpose of a connection's timers, whose key is the peer.
    pub purpose: u8,
}

/// One end.
#[derive(Clone, Debug)]
pub struct Connection {
    peer: HostId,
    /// The flow that its packets count as: the first that it was needed for.
    id: FlowId,
    /// Messages not acknowledged, of which the first has this number.
    outgoing: VecDeque<Message>,
    first: u32,
    /// How many of them were sent since the last timeout, and how many may be.
    sent: usize,
    window: usize,
    rto: Rto,
    timeouts_in_a_row: u32,
    /// When the timer expires; its alarm may be set for earlier.
    expires: Time,
    alarm: Time,
    /// The number of the message that is to come next, and those that came before their turn.
    next: u32,
    early: BTreeMap<u32, Message>,
}

impl Connection {
    /// To a peer.
    pub fn new(peer: HostId, id: FlowId, terms: &Terms) -> Connection {
        Connection {
            peer,
            id,
            outgoing: VecDeque::new(),
            first: 0,
            sent: 0,
            window: INITIAL_WINDOW,
            rto: Rto::new(&terms.rto),
            timeouts_in_a_row: 0,
            expires: Time::NEVER,
            alarm: Time::NEVER,
            next: 0,
            early: BTreeMap::new(),
        }
    }

    /// Sends a message, at once if the window allows.
    pub fn send(&mut self, message: Message, terms: &Terms, context: &mut Context<'_, Header>) {
        self.outgoing.push_back(message);
        self.transmit(terms, context);
    }

    /// Every message before `next` has come to the peer; the acknowledgement answers what was sent at `stamp`.
    pub fn acknowledged(&mut self, next: u32, stamp: Time, terms: &Terms, context: &mut Context<'_, Header>) {
        self.timeouts_in_a_row = 0;
        self.rto.measured(context.now.since(stamp), &terms.rto);
        let news = (next.wrapping_sub(self.first) as usize).min(self.outgoing.len());
        // What is older than the last acknowledgement seems to be far ahead of it.
        if news > 0 && next.wrapping_sub(self.first) < u32::MAX / 2 {
            self.outgoing.drain(..news);
            self.first = next;
            self.sent = self.sent.saturating_sub(news);
            self.window += news;
            self.expires = Time::NEVER;
        }
        self.transmit(terms, context);
    }

    /// A message came: acknowledges it, and puts it and those it kept waiting into `ready`.
    pub fn arrived(
        &mut self,
        (number, message): (u32, Message),
        stamp: Time,
        ready: &mut Vec<Message>,
        terms: &Terms,
        context: &mut Context<'_, Header>,
    ) {
        if number == self.next {
            ready.push(message);
            self.next = self.next.wrapping_add(1);
        } else if number.wrapping_sub(self.next) < u32::MAX / 2 {
            self.early.insert(number, message);
        }
        while let Some(message) = self.early.remove(&self.next) {
            ready.push(message);
            self.next = self.next.wrapping_add(1);
        }
        context.send(packet(Segment::Ack(self.next), (self.id, self.peer), stamp, &terms.format));
        // The peer can be reached: if this end rests, it goes on.
        if self.timeouts_in_a_row >= PATIENCE {
            self.timeouts_in_a_row = 0;
            self.transmit(terms, context);
        }
    }

    /// The alarm of its timer went off; `is_busy`: whoever has this end waits for what the peer will say.
    pub fn timer(&mut self, is_busy: bool, terms: &Terms, context: &mut Context<'_, Header>) {
        if context.now < self.alarm {
            return;
        }
        self.alarm = Time::NEVER;
        if self.expires > context.now {
            self.set_alarm(terms, context);
            return;
        }
        self.timeouts_in_a_row += 1;
        self.rto.expired(&terms.rto);
        (self.sent, self.window, self.expires) = (0, 1, Time::NEVER);
        if is_busy || self.timeouts_in_a_row < PATIENCE {
            self.transmit(terms, context);
        }
    }

    fn transmit(&mut self, terms: &Terms, context: &mut Context<'_, Header>) {
        while self.sent < self.outgoing.len().min(self.window) {
            let number = self.first.wrapping_add(narrow::<u32>(self.sent));
            let segment = Segment::Message(number, self.outgoing[self.sent]);
            context.send(packet(segment, (self.id, self.peer), context.now, &terms.format));
            self.sent += 1;
        }
        if self.sent > 0 && self.expires == Time::NEVER {
            self.expires = context.now + self.rto.current(&terms.rto);
            if self.alarm > self.expires {
                self.set_alarm(terms, context);
            }
        }
    }

    fn set_alarm(&mut self, terms: &Terms, context: &mut Context<'_, Header>) {
        self.alarm = self.expires;
        if self.alarm != Time::NEVER {
            context.set_timer(self.alarm, self.peer, terms.purpose);
        }
    }
}

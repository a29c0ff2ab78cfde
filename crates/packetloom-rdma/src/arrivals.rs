//! A queue pair at its receiver: what arrived, and what is answered.
//!
//! Nothing here knows packets, so it is compiled once for all transports.

use super::config::{Config, Notification, Recovery};
use crate::reassembly::Reassembly;
use crate::units::Time;
use smallvec::SmallVec;

/// What arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The packet's number.
    pub seq: u32,
    /// Whether it is the flow's last.
    pub last: bool,
    /// Whether its sender waits for an answer.
    pub requests_ack: bool,
    /// Whether it was marked.
    pub marked: bool,
}

/// An ACK or a NACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Every packet before this one is there.
    pub next: u32,
    /// A packet is missing.
    pub nack: bool,
    /// It echoes a mark, or is as good as one.
    pub marked: bool,
}

/// What is answered at once.
pub type Replies = SmallVec<[Reply; 2]>;

/// The receiving side.
#[derive(Clone, Debug)]
pub struct Arrivals {
    got: Reassembly,
    /// For which packet a NACK was sent, and until when that is enough.
    nacked: Option<(u32, Time)>,
    /// Packets that were not acknowledged yet, and whether they were marked.
    owed: u32,
    owed_marked: bool,
    /// The earliest next CNP.
    next_cnp_at: Time,
    /// Whether a timer is set for what is owed.
    has_timer: bool,
    /// Whether the flow can't be whole any more.
    is_broken: bool,
}

impl Default for Arrivals {
    fn default() -> Arrivals {
        Arrivals {
            got: Reassembly::default(),
            nacked: None,
            owed: 0,
            owed_marked: false,
            next_cnp_at: Time::ZERO,
            has_timer: false,
            is_broken: false,
        }
    }
}

impl Arrivals {
    /// The flow's packets, if all are there.
    pub fn whole(&self) -> Option<u32> {
        self.got.whole()
    }

    /// A packet arrived.
    pub fn take(&mut self, arrival: Arrival, config: &Config, now: Time) -> Replies {
        let mut replies = match config.recovery {
            Recovery::GoBackN { chunk, nack_interval, ack_duplicates, .. } => {
                self.take_in_order(arrival, config, (chunk, nack_interval, ack_duplicates), now)
            }
            Recovery::Selective { .. } => self.take_any(arrival, config),
            Recovery::None => self.take_unanswered(arrival),
        };
        if config.nack_is_cnp {
            for reply in replies.iter_mut().filter(|reply| reply.nack) {
                reply.marked = self.nack_notifies(config, now);
            }
        }
        replies
    }

    /// Whether a NACK brings a mark back as a CNP does. Where CNPs are spaced it goes in the place of one, so that
    /// both together are no closer than that (DCQCN §3.1: NP).
    fn nack_notifies(&mut self, config: &Config, now: Time) -> bool {
        match config.notification {
            Notification::Packets(_) => self.sends_cnp(true, config, now),
            Notification::InAcks | Notification::None => true,
        }
    }

    /// UC: a packet out of order ends the message, of which the receiver drops the rest.
    fn take_unanswered(&mut self, arrival: Arrival) -> Replies {
        if arrival.seq != self.got.next() {
            self.is_broken = true;
        } else if !self.is_broken {
            self.got.add(arrival.seq, arrival.last);
        }
        Replies::new()
    }

    fn take_in_order(
        &mut self,
        arrival: Arrival,
        config: &Config,
        (chunk, nack_interval, ack_duplicates): (u32, Time, bool),
        now: Time,
    ) -> Replies {
        let expected = self.got.next();
        if arrival.seq == expected {
            self.got.add(arrival.seq, arrival.last);
            return self.owe(arrival, config);
        }
        let mut replies = Replies::new();
        if arrival.seq > expected {
            let is_new = self.nacked.is_none_or(|(packet, until)| packet != expected || now >= until);
            if is_new {
                self.nacked = Some((expected, now + nack_interval));
                self.got.go_back(expected / chunk * chunk);
                replies.push(self.reply(true, arrival.marked, config));
            }
        } else if ack_duplicates {
            replies.push(self.reply(false, arrival.marked, config));
        }
        replies
    }

    /// IRN: a NACK for each packet out of order (§3.1).
    fn take_any(&mut self, arrival: Arrival, config: &Config) -> Replies {
        let expected = self.got.next();
        let was_whole_so_far = self.got.above().is_empty();
        self.got.add(arrival.seq, arrival.last);
        if arrival.seq == expected && was_whole_so_far {
            return self.owe(arrival, config);
        }
        let mut replies = Replies::new();
        replies.push(self.reply(arrival.seq > expected, arrival.marked, config));
        replies
    }

    /// A packet came in order: it is acknowledged now, or with others.
    fn owe(&mut self, arrival: Arrival, config: &Config) -> Replies {
        let mut replies = Replies::new();
        let tells = config.notification == Notification::InAcks;
        if tells && self.owed > 0 && arrival.marked != self.owed_marked {
            // RFC 8257 §3.2: those before are acknowledged as they came.
            replies.push(Reply { next: self.got.next() - 1, nack: false, marked: self.owed_marked });
            self.owed = 0;
        }
        self.owed += 1;
        self.owed_marked = arrival.marked;
        if self.owed >= config.ack_every || arrival.requests_ack || self.whole().is_some() {
            replies.push(self.reply(false, arrival.marked, config));
        }
        replies
    }

    fn reply(&mut self, nack: bool, marked: bool, config: &Config) -> Reply {
        self.owed = 0;
        let marked = marked && config.notification == Notification::InAcks;
        Reply { next: self.got.next(), nack, marked }
    }

    /// Whether a timer must be set for what is owed.
    pub fn needs_timer(&mut self) -> bool {
        self.owed > 0 && !std::mem::replace(&mut self.has_timer, true)
    }

    /// That timer went off.
    pub fn rings(&mut self, config: &Config) -> Option<Reply> {
        self.has_timer = false;
        (self.owed > 0).then(|| self.reply(false, self.owed_marked, config))
    }

    /// Until when no CNP is sent.
    pub fn quiet_until(&self) -> Time {
        self.next_cnp_at
    }

    /// No CNP is sent before this: an earlier flow of the queue pair has caused one.
    pub fn be_quiet_until(&mut self, at: Time) {
        self.next_cnp_at = at;
    }

    /// Whether a mark that came now causes a CNP.
    pub fn sends_cnp(&mut self, marked: bool, config: &Config, now: Time) -> bool {
        let Notification::Packets(interval) = config.notification else { return false };
        let sends = marked && now >= self.next_cnp_at;
        if sends {
            self.next_cnp_at = now + interval;
        }
        sends
    }
}

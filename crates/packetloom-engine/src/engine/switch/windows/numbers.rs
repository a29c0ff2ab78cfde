//! Numbered bytes (PSN, §4.3): of each link and destination how far bytes were sent, came, left and came back. Of lost
//! packets the bytes come back with those of a later one; if there is none, the switch before asks.
//!
//! All numbers are modulo 2^32.

use crate::units::Time;
use std::collections::BTreeMap;

/// What left by a port for a destination.
#[derive(Clone, Copy, Debug)]
struct Sent {
    sent: u32,
    returned: u32,
    /// When some came back last, or bytes began to be under way.
    heard_at: Time,
}

/// What came by a link for a destination.
#[derive(Clone, Copy, Debug, Default)]
struct Came {
    came: u32,
    left: u32,
}

/// The numbers of a switch.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    after: Time,
    /// By port and destination; by link and destination.
    sent: BTreeMap<(u32, u32), Sent>,
    came: BTreeMap<(u32, u32), Came>,
    /// When to look whether to ask.
    next_at: Time,
}

/// By how much a number is ahead of another, if it is.
fn ahead(one: u32, other: u32) -> Option<u32> {
    let by = one.wrapping_sub(other);
    (by != 0 && by < 1 << 31).then_some(by)
}

impl Numbers {
    pub(super) fn new(after: Time) -> Numbers {
        Numbers { after, sent: BTreeMap::new(), came: BTreeMap::new(), next_at: Time::NEVER }
    }

    /// When to look whether to ask.
    pub(super) fn next_at(&self) -> Time {
        self.next_at
    }

    /// Data comes by a link.
    pub(super) fn arrive(&mut self, link: u32, dst: u32, number: u32) {
        let seen = self.came.entry((link, dst)).or_default();
        if ahead(number, seen.came).is_some() {
            seen.came = number;
        }
    }

    /// Data that came by a link leaves, or is refused; returns how many bytes come back for it: those of lost packets
    /// before it, too.
    pub(super) fn leave(&mut self, link: u32, dst: u32, number: u32) -> u32 {
        let seen = self.came.entry((link, dst)).or_default();
        let bytes = ahead(number, seen.left).unwrap_or(0);
        seen.left = seen.left.wrapping_add(bytes);
        bytes
    }

    /// Up to where the bytes of a link have left.
    pub(super) fn left(&self, link: u32, dst: u32) -> u32 {
        self.came.get(&(link, dst)).map_or(0, |seen| seen.left)
    }

    /// Data leaves by a port.
    pub(super) fn send(&mut self, now: Time, port: u32, dst: u32, number: u32) {
        let sent = self.sent.entry((port, dst)).or_insert(Sent { sent: 0, returned: 0, heard_at: now });
        if sent.sent == sent.returned {
            sent.heard_at = now;
        }
        sent.sent = number;
        self.next_at = self.next_at.min(sent.heard_at + self.after);
    }

    /// Bytes come back up to a number; returns how many.
    pub(super) fn take_back(&mut self, now: Time, port: u32, dst: u32, number: u32) -> u32 {
        let Some(sent) = self.sent.get_mut(&(port, dst)) else { return 0 };
        sent.heard_at = now;
        let bytes = ahead(number, sent.returned).unwrap_or(0);
        sent.returned = sent.returned.wrapping_add(bytes);
        bytes
    }

    /// The ports and destinations of which to ask now, with what was sent and came back.
    pub(super) fn ask(&mut self, now: Time) -> Vec<(u32, u32, u32, u32)> {
        let mut asked = Vec::new();
        self.next_at = Time::NEVER;
        for (&(port, dst), sent) in self.sent.iter_mut().filter(|(_, sent)| sent.sent != sent.returned) {
            if sent.heard_at + self.after <= now {
                asked.push((port, dst, sent.sent, sent.returned));
                sent.heard_at = now;
            }
            self.next_at = self.next_at.min(sent.heard_at + self.after);
        }
        asked
    }

    /// The switch before asks: so much was sent. What has not come by now is lost; returns how many bytes come back for
    /// that.
    pub(super) fn answer(&mut self, link: u32, dst: u32, sent: u32) -> u32 {
        let seen = self.came.entry((link, dst)).or_default();
        if ahead(sent, seen.came).is_none() {
            return 0;
        }
        seen.came = sent;
        let bytes = ahead(sent, seen.left).unwrap_or(0);
        seen.left = seen.left.wrapping_add(bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_bytes_come_back_with_the_next_that_leave() {
        let mut here = Numbers::new(Time::from_us(100));
        here.arrive(0, 7, 1_000);
        assert_eq!(here.leave(0, 7, 1_000), 1_000);
        // The second packet is lost.
        here.arrive(0, 7, 3_000);
        assert_eq!(here.leave(0, 7, 3_000), 2_000);
        assert_eq!(here.left(0, 7), 3_000);
    }

    #[test]
    fn who_hears_nothing_asks_and_gets_back_what_was_lost_last() {
        let us = Time::from_us;
        let mut before = Numbers::new(us(100));
        before.send(us(5), 2, 7, 1_000);
        before.send(us(6), 2, 7, 2_000);
        assert_eq!(before.take_back(us(50), 2, 7, 1_000), 1_000);
        assert_eq!(before.next_at(), us(105));
        assert!(before.ask(us(105)).is_empty(), "it heard something at 50 us");
        assert_eq!(before.ask(before.next_at()), [(2, 7, 2_000, 1_000)]);
        let mut here = Numbers::new(us(100));
        here.arrive(0, 7, 1_000);
        here.leave(0, 7, 1_000);
        assert_eq!(here.answer(0, 7, 2_000), 1_000);
        assert_eq!(here.answer(0, 7, 2_000), 0, "once");
        assert_eq!(before.take_back(us(150), 2, 7, here.left(0, 7)), 1_000);
        assert!(before.ask(us(400)).is_empty());
        assert_eq!(before.next_at(), Time::NEVER);
    }

    #[test]
    fn numbers_go_round() {
        let mut here = Numbers::new(Time::from_us(100));
        for number in [1 << 30, 1 << 31, 3 << 30, 500] {
            here.arrive(0, 7, number);
            here.leave(0, 7, number);
        }
        assert_eq!(here.left(0, 7), 500);
        here.arrive(0, 7, 400);
        assert_eq!(here.leave(0, 7, 400), 0, "that was before");
    }
}

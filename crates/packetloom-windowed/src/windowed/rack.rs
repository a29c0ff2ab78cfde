//! RACK (RFC 8985): what was sent is lost once something that was sent later has arrived, and the time has passed in
//! which it might still have come. So a retransmission is found lost as anything else is.
//!
//! Left out is what answers DSACKs (§6.2 step 4), because these receivers send none, and tail loss probes (§7).

use crate::narrow::narrow;
use crate::seq_set::SeqSet;
use crate::units::Time;
use std::collections::{BTreeSet, VecDeque};
use std::mem::replace;

/// A packet's last transmission.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    /// Its place among the flow's transmissions, counted from 1. It orders those of one moment, too
    /// (RACK_sent_after).
    turn: u32,
    /// Whether it was not the first.
    again: bool,
}

/// An acknowledgement's timestamps.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When it came.
    pub now: Time,
    /// With timestamps: when the packet that it answers was sent.
    pub echo: Option<Time>,
}

/// What was newly found lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// So many packets.
    pub lost: u32,
    /// Whether one of them had been sent again.
    pub again: bool,
}

/// What a sender keeps of its transmissions.
#[derive(Clone, Debug, Default)]
pub struct Rack {
    /// The packets from `first` on, which are those that are not cumulatively acknowledged.
    sent: VecDeque<Sent>,
    first: u32,
    /// All transmissions in their order, from the turn `order_first` on, less those at its beginning that are over.
    order: VecDeque<u32>,
    order_first: u32,
    /// What is held lost and was not sent again.
    lost: BTreeSet<u32>,
    /// How many packets were sent again, have not arrived, and are not held lost.
    repairs: u32,
    /// The last transmission that arrived; 0 before any did (RACK.xmit_ts and RACK.end_seq).
    latest: u32,
    rtt: Time,
    /// Over the whole flow; zero before any is known.
    min_rtt: Time,
    /// What has arrived is below this (RACK.fack).
    fack: u32,
    reordering_seen: bool,
    /// After a timeout: until this packet is acknowledged.
    pub after_timeout: Option<u32>,
    /// When to look again for what is lost: RACK's reordering timer.
    pub looks_again: Option<Time>,
}

impl Rack {
    pub fn new() -> Rack {
        Rack { order_first: 1, ..Rack::default() }
    }

    /// A packet is sent: the next new one, or one again.
    pub fn sent(&mut self, seq: u32, now: Time) {
        let place = (seq - self.first) as usize;
        let again = place < self.sent.len();
        let sent = Sent { at: now, turn: self.order_first + narrow::<u32>(self.order.len()), again };
        self.order.push_back(seq);
        if again {
            let before = replace(&mut self.sent[place], sent);
            let is_first_repair = self.lost.remove(&seq) || !before.again;
            self.repairs += u32::from(is_first_repair);
        } else {
            self.sent.push_back(sent);
        }
    }

    /// The first packet that is held lost and was not sent again.
    pub fn next_lost(&self) -> Option<u32> {
        self.lost.first().copied()
    }

    /// A packet turns out to have arrived (§6.2, steps 1 to 3); returns whether it was in the pipe.
    pub fn delivered(&mut self, seq: u32, arrival: Arrival) -> bool {
        let Sent { at, turn, again } = self.sent[(seq - self.first) as usize];
        let rtt = arrival.now.since(at);
        if seq >= self.fack {
            self.fack = seq + 1;
        } else if !again {
            self.reordering_seen = true;
        }
        if !again && (self.min_rtt == Time::ZERO || rtt < self.min_rtt) {
            self.min_rtt = rtt;
        }
        // It may have been an earlier transmission that arrived.
        let is_doubtful = again && (arrival.echo.is_some_and(|echo| echo < at) || rtt < self.min_rtt);
        if !is_doubtful {
            self.rtt = rtt;
            self.latest = self.latest.max(turn);
        }
        let was_lost = self.lost.remove(&seq);
        self.repairs -= u32::from(again && !was_lost);
        !was_lost
    }

    /// Whether anything that was found lost has not arrived yet, sent again or not.
    pub fn has_losses(&self) -> bool {
        !self.lost.is_empty() || self.repairs > 0
    }

    /// Every packet before this one arrived.
    pub fn acknowledged(&mut self, una: u32) {
        self.sent.drain(..(una - self.first) as usize);
        self.first = una;
        if self.after_timeout.is_some_and(|point| una >= point) {
            self.after_timeout = None;
        }
    }

    /// How long a packet may come after one that was sent later (§6.2 step 4).
    pub fn reordering_window(&self, is_sure: bool, smoothed_rtt: Option<Time>) -> Time {
        if is_sure && !self.reordering_seen {
            return Time::ZERO;
        }
        let quarter = Time(self.min_rtt.as_ps() / 4);
        smoothed_rtt.map_or(quarter, |rtt| quarter.min(rtt))
    }

    /// Finds what is lost (§6.2 step 5), and notes each packet.
    pub fn detect(&mut self, now: Time, window: Time, sacked: &SeqSet, mut note: impl FnMut(u32)) -> Found {
        let mut found = Found::default();
        self.looks_again = None;
        while let Some(&seq) = self.order.front() {
            if let Some(sent) = self.awaited(self.order_first, sacked) {
                if sent.turn >= self.latest {
                    break;
                }
                if sent.at + self.rtt + window > now {
                    self.looks_again = self.last_to_settle(sacked).map(|at| at + self.rtt + window);
                    break;
                }
                found.lost += 1;
                found.again |= sent.again;
                self.repairs -= u32::from(sent.again);
                self.lost.insert(seq);
                note(seq);
            }
            self.order.pop_front();
            self.order_first += 1;
        }
        found
    }

    /// When the last was sent of what is awaited and was sent before what has arrived.
    fn last_to_settle(&self, sacked: &SeqSet) -> Option<Time> {
        (self.order_first..self.latest).rev().find_map(|turn| self.awaited(turn, sacked)).map(|sent| sent.at)
    }

    /// The transmission, if it was the last of its packet, and is neither acknowledged nor held lost.
    fn awaited(&self, turn: u32, sacked: &SeqSet) -> Option<Sent> {
        let seq = self.order[(turn - self.order_first) as usize];
        let sent = self.sent[seq.checked_sub(self.first)? as usize];
        (sent.turn == turn && !sacked.contains(seq) && !self.lost.contains(&seq)).then_some(sent)
    }

    /// The retransmission timer expired, with all before `next` sent: lost are the first packet and what was sent
    /// long enough ago (§6.3). Notes each that is newly so, and returns how many are.
    pub fn timed_out(
        &mut self,
        next: u32,
        now: Time,
        window: Time,
        sacked: &SeqSet,
        mut note: impl FnMut(u32),
    ) -> u32 {
        let before = self.lost.len();
        for (seq, sent) in (self.first..).zip(&self.sent) {
            if (seq == self.first || sent.at + self.rtt + window <= now)
                && !sacked.contains(seq)
                && self.lost.insert(seq)
            {
                self.repairs -= u32::from(sent.again);
                note(seq);
            }
        }
        self.after_timeout = Some(next);
        self.looks_again = None;
        narrow::<u32>(self.lost.len() - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT_US: u64 = 100;

    /// A sender of packets, and what its receiver acknowledged.
    struct Flow {
        rack: Rack,
        sacked: SeqSet,
    }

    impl Flow {
        /// Whose packets 0, 1, ... are sent a microsecond apart, from 1 us on.
        fn of(packets: u32) -> Flow {
            let mut flow = Flow { rack: Rack::new(), sacked: SeqSet::default() };
            (0..packets).for_each(|seq| flow.rack.sent(seq, Time::from_us(1 + u64::from(seq))));
            flow
        }

        /// A packet is acknowledged selectively, with the time at which it was sent.
        fn arrives(&mut self, seq: u32, sent_us: u64, now_us: u64) {
            self.sacked.insert(seq);
            let arrival = Arrival { now: Time::from_us(now_us), echo: Some(Time::from_us(sent_us)) };
            self.rack.delivered(seq, arrival);
        }

        fn detect(&mut self, now_us: u64, is_sure: bool) -> Found {
            let window = self.rack.reordering_window(is_sure, None);
            self.rack.detect(Time::from_us(now_us), window, &self.sacked, |_| ())
        }
    }

    #[test]
    fn a_hole_is_lost_a_quarter_of_a_round_trip_late_or_at_once_where_that_is_sure() {
        let mut flow = Flow::of(10);
        flow.arrives(2, 3, 3 + RTT_US);
        assert_eq!(flow.detect(3 + RTT_US, false), Found::default());
        // Packet 1 was sent at 2 us, and may come as late as the last did, and a quarter of a round trip later.
        assert_eq!(flow.rack.looks_again, Some(Time::from_us(2 + RTT_US + RTT_US / 4)));
        let mut sure = Flow { rack: flow.rack.clone(), sacked: flow.sacked.clone() };
        assert_eq!(sure.detect(3 + RTT_US, true), Found { lost: 2, again: false });
        assert_eq!((sure.rack.next_lost(), sure.rack.looks_again), (Some(0), None));

        assert_eq!(flow.detect(1 + RTT_US + RTT_US / 4, false), Found { lost: 1, again: false });
        assert_eq!(flow.rack.looks_again, Some(Time::from_us(2 + RTT_US + RTT_US / 4)));
        assert_eq!(flow.detect(2 + RTT_US + RTT_US / 4, false), Found { lost: 1, again: false });
        assert_eq!((flow.rack.next_lost(), flow.rack.looks_again), (Some(0), None));
        assert_eq!(flow.detect(1_000, true), Found::default(), "what was sent later is not lost for that");
    }

    #[test]
    fn a_retransmission_is_lost_once_something_sent_after_it_has_arrived() {
        let mut flow = Flow::of(5);
        (1..4).for_each(|seq| flow.arrives(seq, 1 + u64::from(seq), 1 + u64::from(seq) + RTT_US));
        assert_eq!(flow.detect(4 + RTT_US, true).lost, 1);
        flow.rack.sent(0, Time::from_us(4 + RTT_US));
        assert_eq!(flow.rack.next_lost(), None);
        flow.rack.sent(5, Time::from_us(4 + RTT_US));
        // Packet 4 was sent before the retransmission, packet 5 in the same moment, but after it.
        flow.arrives(4, 5, 5 + RTT_US);
        assert_eq!(flow.detect(5 + RTT_US, true), Found::default());
        flow.arrives(5, 4 + RTT_US, 4 + 2 * RTT_US);
        assert_eq!(flow.detect(4 + 2 * RTT_US, true), Found { lost: 1, again: true });
        assert_eq!(flow.rack.next_lost(), Some(0));
    }

    #[test]
    fn a_loss_counts_until_it_is_repaired() {
        let mut flow = Flow::of(5);
        assert!(!flow.rack.has_losses());
        (1..4).for_each(|seq| flow.arrives(seq, 1 + u64::from(seq), 1 + u64::from(seq) + RTT_US));
        flow.detect(4 + RTT_US, true);
        assert!(flow.rack.has_losses());
        // Sent again, lost again, sent again.
        flow.rack.sent(0, Time::from_us(4 + RTT_US));
        assert!(flow.rack.has_losses());
        flow.rack.sent(5, Time::from_us(4 + RTT_US));
        flow.arrives(5, 4 + RTT_US, 4 + 2 * RTT_US);
        assert!(flow.detect(4 + 2 * RTT_US, true).again && flow.rack.has_losses());
        flow.rack.sent(0, Time::from_us(4 + 2 * RTT_US));
        assert!(flow.rack.has_losses());
        flow.arrives(4, 5, 5 + 2 * RTT_US);
        flow.arrives(0, 4 + 2 * RTT_US, 4 + 3 * RTT_US);
        assert!(!flow.rack.has_losses());
    }

    #[test]
    fn an_answer_to_an_earlier_transmission_proves_nothing() {
        let mut flow = Flow::of(6);
        (1..4).for_each(|seq| flow.arrives(seq, 1 + u64::from(seq), 1 + u64::from(seq) + RTT_US));
        assert_eq!(flow.detect(4 + RTT_US, true).lost, 1);
        flow.rack.sent(0, Time::from_us(150));
        // The first transmission arrives after all. Had it been the second, packet 4 would be lost.
        flow.arrives(0, 1, 260);
        assert_eq!(flow.detect(260, true), Found::default());
        let mut second = Flow::of(6);
        (1..4).for_each(|seq| second.arrives(seq, 1 + u64::from(seq), 1 + u64::from(seq) + RTT_US));
        assert_eq!(second.detect(4 + RTT_US, true).lost, 1);
        second.rack.sent(0, Time::from_us(150));
        second.arrives(0, 150, 260);
        assert_eq!(second.detect(260, true), Found { lost: 2, again: false });
    }

    #[test]
    fn where_packets_were_seen_out_of_order_they_are_waited_for() {
        let mut flow = Flow::of(8);
        flow.arrives(1, 2, 2 + RTT_US);
        assert_eq!(flow.rack.reordering_window(true, None), Time::ZERO);
        flow.arrives(0, 1, 3 + RTT_US);
        assert_eq!(flow.rack.reordering_window(true, None), Time::from_us(RTT_US / 4));
        assert_eq!(flow.rack.reordering_window(true, Some(Time::from_us(20))), Time::from_us(20));
    }

    #[test]
    fn after_a_timeout_the_first_packet_and_the_old_are_lost() {
        let mut flow = Flow::of(10);
        flow.arrives(3, 4, 4 + RTT_US);
        flow.rack.sent(10, Time::from_us(900));
        // Packet 0 had been sent again a moment ago.
        flow.rack.sent(0, Time::from_us(940));
        let lost = flow.rack.timed_out(11, Time::from_us(950), Time::ZERO, &flow.sacked, |_| ());
        assert_eq!(lost, 9, "all but packets 3 and 10");
        let all: Vec<u32> = std::iter::from_fn(|| {
            let seq = flow.rack.next_lost()?;
            flow.rack.sent(seq, Time::from_us(950));
            Some(seq)
        })
        .collect();
        assert_eq!(all, [0, 1, 2, 4, 5, 6, 7, 8, 9]);
        assert_eq!(flow.rack.after_timeout, Some(11));
        flow.rack.acknowledged(10);
        assert_eq!(flow.rack.after_timeout, Some(11));
        flow.rack.acknowledged(11);
        assert_eq!(flow.rack.after_timeout, None);
    }
}

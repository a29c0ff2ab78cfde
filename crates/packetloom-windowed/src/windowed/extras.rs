//! What a sender keeps beside its window, if it keeps any of it: for RACK, for PRR, and for a control that measures.

use super::config::Config;
use super::deliveries::Deliveries;
use super::prr::Prr;
use super::rack::Rack;
use super::view::Lost;
use crate::units::{Rate, Time};
use std::collections::VecDeque;

/// Beside the sender, because most have none of it.
#[derive(Clone, Debug)]
pub struct Extras {
    pub rack: Option<Rack>,
    /// In loss recovery, and while a window is reduced because of marks.
    pub prr: Option<Prr>,
    /// It ends as all packets before this one are acknowledged.
    pub reduces_until: u32,
    /// Under a control that measures.
    pub flight: Option<Flight>,
}

/// What a sender notes of its packets for a control that measures.
#[derive(Clone, Debug)]
pub struct Flight {
    pub deliveries: Deliveries,
    /// Packets that were found lost and not reported yet.
    pub lost: VecDeque<u32>,
    pub pacer: Pacer,
    /// How many marked packets the receiver has told of.
    marks: u32,
}

/// When the next packet may leave, under a control that paces.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    due: Time,
    /// The timer that is set for that.
    alarm: Time,
}

impl Extras {
    pub fn new(config: &Config) -> Option<Box<Extras>> {
        let rack = config.rack.then(Rack::new);
        let flight = config.measures.then(Flight::new);
        let has_any = config.rack || config.prr || config.measures;
        has_any.then(|| Box::new(Extras { rack, prr: None, reduces_until: 0, flight }))
    }

    /// A packet is sent.
    pub fn sent(&mut self, seq: u32, now: Time) {
        if let Some(rack) = &mut self.rack {
            rack.sent(seq, now);
        }
        if let Some(prr) = &mut self.prr {
            prr.sent();
        }
    }
}

impl Flight {
    pub fn new() -> Flight {
        let pacer = Pacer { due: Time::ZERO, alarm: Time::NEVER };
        Flight { deliveries: Deliveries::default(), lost: VecDeque::new(), pacer, marks: 0 }
    }

    /// The receiver tells how many marked packets came; returns how many are news. Acknowledgements may overtake each
    /// other.
    pub fn newly_marked(&mut self, marks: u32) -> u32 {
        let news = marks.saturating_sub(self.marks);
        self.marks += news;
        news
    }

    /// The next of the packets that were found lost.
    pub fn next_lost(&mut self, now: Time) -> Option<Lost> {
        let seq = self.lost.pop_front()?;
        Some(self.deliveries.lost(seq, now))
    }
}

impl Pacer {
    /// Whether a packet may leave.
    #[inline]
    pub fn allows(&self, now: Time) -> bool {
        self.due <= now
    }

    /// A packet of so much payload left: the next may as long after it as that takes at the rate
    /// (draft-ietf-ccwg-bbr-02 §5.6.2). A rate that changes holds from the next packet on.
    pub fn sent(&mut self, bytes: u32, rate: Rate, now: Time) {
        let gap = Rate(rate.as_bps().max(1)).time_for(bytes.into());
        self.due = self.due.max(now).saturating_add(gap).min(Time::LATEST);
    }

    /// When a timer has to be set, if none is.
    pub fn wants_alarm(&mut self) -> Option<Time> {
        (self.due < self.alarm).then(|| {
            self.alarm = self.due;
            self.due
        })
    }

    /// Whether its timer has gone off; it has to be set again then.
    pub fn expired(&mut self, now: Time) -> bool {
        let has = self.alarm <= now;
        if has {
            self.alarm = Time::NEVER;
        }
        has
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_as_far_apart_as_the_payload_of_each_takes() {
        let mut pacer = Flight::new().pacer;
        let at = Time::from_ns;
        assert!(pacer.allows(Time::ZERO));
        // 1250 B at 1 Gb/s are 10 us.
        pacer.sent(1_250, Rate::from_gbps(1), at(500));
        assert!(!pacer.allows(at(10_499)) && pacer.allows(at(10_500)));
        assert_eq!(pacer.wants_alarm(), Some(at(10_500)));
        assert_eq!(pacer.wants_alarm(), None, "one timer is enough");
        assert!(!pacer.expired(at(10_499)) && pacer.expired(at(10_500)));
        // A pause gives no credit: the next gap counts from when the packet left.
        pacer.sent(1_250, Rate::from_gbps(10), at(50_000));
        assert!(!pacer.allows(at(50_999)) && pacer.allows(at(51_000)));
        // What may leave together, because nothing asked, waits for both.
        pacer.sent(1_250, Rate::from_gbps(10), at(50_500));
        assert!(pacer.allows(at(52_000)) && !pacer.allows(at(51_999)));
    }
}

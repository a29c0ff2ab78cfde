//! PLB: a flow keeps to one path, and draws another when that stays congested (Qureshi et al., SIGCOMM 2022).
//!
//! Linux's `tcp_plb.c` also moves an idle connection after fewer round trips. A flow here is one message: it has
//! data in flight until it ends.

use super::{ENTROPIES, Feedback, Fits, Select, Selector, Way, check, drawn};
use crate::flow::FlowId;
use crate::narrow::{exact, narrow};
use crate::random::Stream;
use crate::routing::{Fate, Judged};
use crate::spec::{Component, Kind, Registered, Values, param};
use crate::units::Time;

pub(super) const WAY: Registered<Way> = Registered {
    component: Component {
        section: "routing",
        kind: "plb",
        doc: "PLB: all packets of a flow have one entropy. A new one is drawn after several consecutive round trips in which most packets were marked or trimmed, or after a timeout; under a transport without ECN, such as tcp, only after a timeout.",
        source: "PLB, SIGCOMM 2022, §3",
        params: &[
            &[ENTROPIES],
            &[
                param! {
                    "marked_above" = "0.5": Kind::Number(0.0, 1.0),
                    "A round trip is congested if more than this share of the feedback in it was of marked or trimmed packets.",
                    "PLB §3: K, 50 %; Linux: tcp_plb_cong_thresh 128 of 256, from which on"
                },
                param! {
                    "rounds" = "3": Kind::Count(1),
                    "After this many congested round trips in a row another path is drawn.",
                    "PLB §3: M, where nothing is in flight, and N; Linux: tcp_plb_idle_rehash_rounds 3, tcp_plb_rehash_rounds 12"
                },
                param! {
                    "suspend" = "60s": Kind::Time,
                    "Congestion does not move the flow for this long after a timeout.",
                    "Linux: tcp_plb_suspend_rto_sec 60, and up to twice that at random"
                },
            ],
        ],
        check,
    },
    factory: Way {
        build: |values| Selector::Plb(Plb::of(values)),
        judged: |_| Judged::Flows,
        settable: &["marked_above", "rounds", "suspend"],
    },
};

/// A flow's path, and how its round trips went.
#[derive(Clone, Debug)]
pub struct Plb {
    entropy: u16,
    last: u16,
    /// Feedback in this round trip, and how much of it was bad.
    answers: u32,
    bad: u32,
    /// Congested round trips in a row.
    congested: u32,
    rounds: u32,
    marked_above: f64,
    /// This round trip is over with the first feedback about a packet sent later.
    round_began: Time,
    suspended_until: Time,
    suspend: Time,
}

impl Plb {
    fn of(values: &Values) -> Plb {
        Plb {
            entropy: 0,
            last: exact::<u16>(values.count("entropies") - 1),
            answers: 0,
            bad: 0,
            congested: 0,
            rounds: values.count_u32("rounds"),
            marked_above: values.number("marked_above"),
            round_began: Time::ZERO,
            suspended_until: Time::ZERO,
            suspend: values.time("suspend"),
        }
    }

    /// Another path than this one, where there are several.
    fn move_on(&mut self, random: &mut Stream) {
        self.congested = 0;
        if self.last > 0 {
            let others = u32::from(self.last);
            self.entropy = self.entropy.wrapping_add(1 + narrow::<u16>(random.below(others))) & self.last;
        }
    }

    fn end_round(&mut self, now: Time, random: &mut Stream) {
        let is_congested = f64::from(self.bad) > self.marked_above * f64::from(self.answers);
        self.congested = if is_congested { self.congested + 1 } else { 0 };
        (self.answers, self.bad, self.round_began) = (0, 0, now);
        if self.congested >= self.rounds && now >= self.suspended_until {
            self.move_on(random);
        }
    }
}

impl Select for Plb {
    fn start(&mut self, _: FlowId, random: &mut Stream) {
        self.entropy = drawn(self.last, random);
    }

    #[inline]
    fn next(&mut self, _: Time, _: &mut Stream) -> u16 {
        self.entropy
    }

    fn next_among(&mut self, _: Time, fits: &mut Fits<'_>, _: &mut Stream) -> Option<u16> {
        fits(self.entropy).then_some(self.entropy)
    }

    fn set(&mut self, values: &Values) {
        self.rounds = values.count_u32("rounds");
        self.marked_above = values.number("marked_above");
        self.suspend = values.time("suspend");
    }

    fn kept(&self) -> Option<u16> {
        Some(self.entropy)
    }

    fn update(&mut self, now: Time, feedback: &Feedback, random: &mut Stream) {
        if feedback.fate == Fate::Lost {
            // One timeout may lose many packets of a path that was left since.
            if feedback.path == self.entropy {
                self.suspended_until = now + self.suspend;
                self.move_on(random);
            }
            return;
        }
        self.answers += 1;
        self.bad += u32::from(feedback.fate != Fate::Whole);
        if feedback.sent_at >= self.round_began {
            self.end_round(now, random);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::selector;
    use super::*;
    use crate::spec::Value;

    const TRIP: u64 = 10;

    /// Round trips of ten packets, so many of which are marked; returns the entropy after each.
    fn round_trips(plb: &mut Selector, random: &mut Stream, from: u64, marked: &[u64]) -> Vec<u16> {
        let trip = |(trip, &marked): (u64, &u64)| {
            let (sent_at, now) = (Time(trip * TRIP), Time((trip + 1) * TRIP));
            let path = plb.next(now, random);
            for packet in 0..10 {
                let fate = if packet < marked { Fate::Marked } else { Fate::Whole };
                // The last one of each was sent as the round began.
                let sent_at = if packet == 9 { sent_at } else { Time(sent_at.as_ps().saturating_sub(1)) };
                plb.update(now, &Feedback { flow: 1, dst: 2, path, sent_at, fate }, random);
            }
            plb.next(now, random)
        };
        (from..).zip(marked).map(trip).collect()
    }

    #[test]
    fn three_congested_round_trips_in_a_row_move_a_flow() {
        let (mut plb, mut random) = selector("plb", &[]);
        let at_first = plb.next(Time::ZERO, &mut random);
        let after = round_trips(&mut plb, &mut random, 0, &[6, 6, 5, 10, 6, 6, 0]);
        assert_eq!(after[..5], [at_first; 5]);
        assert_ne!(after[5], at_first);
        assert_eq!(after[6], after[5]);
    }

    #[test]
    fn a_timeout_moves_it_at_once_and_then_congestion_does_not() {
        let own = [("suspend", Value::Time(Time(TRIP * 20)))];
        let (mut plb, mut random) = selector("plb", &own);
        let at_first = plb.next(Time::ZERO, &mut random);
        let lost = Feedback { flow: 1, dst: 2, path: at_first, sent_at: Time::ZERO, fate: Fate::Lost };
        (0..9).for_each(|_| plb.update(Time::ZERO, &lost, &mut random));
        let moved = plb.next(Time::ZERO, &mut random);
        assert_ne!(moved, at_first);
        assert_eq!(round_trips(&mut plb, &mut random, 0, &[10; 18]), [moved; 18]);
        assert_ne!(round_trips(&mut plb, &mut random, 18, &[10; 3])[2], moved);
    }
}

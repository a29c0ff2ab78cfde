//! REPS: recycled entropies, and what to do when packets vanish (Bonato et al., arXiv 2407.21625).
//!
//! A ring keeps the last entropies that came back without a mark; each is used once more, the oldest first, and
//! where none is left one is drawn. After a timeout the flow freezes: for a while it draws none, but goes through
//! those in the ring again and again, because each of them worked a moment ago, while a new one may be on the path
//! that swallows packets.

use super::{ENTROPIES, Feedback, Fits, Select, Selector, Way, check, draw_among, drawn};
use crate::narrow::{exact, narrow};
use crate::random::Stream;
use crate::routing::{Fate, Judged};
use crate::spec::{Complaint, Component, Kind, Registered, Values, param};
use crate::units::Time;
use smallvec::SmallVec;

/// So many entropies lie in the state itself: "less than 25 bytes per connection".
const NEAR: usize = 8;

pub(super) const WAY: Registered<Way> = Registered {
    component: Component {
        section: "routing",
        kind: "reps",
        doc: "REPS: the source uses each of the last entropies that came back without a mark once more, and draws others if none is left. After a timeout it keeps to those that are known to work (freezing).",
        source: "REPS, arXiv 2407.21625",
        params: &[
            &[ENTROPIES],
            &[
                param! {
                    "ring" = "8": Kind::Count(1),
                    "How many of the last entropies that came back are kept.", "REPS: 8"
                },
                param! {
                    "uses" = "1": Kind::Count(1),
                    "How often each of them is used: more than once where an ACK is for several packets.",
                    "REPS: 1; htsim_uec: compressed_acks_reuse"
                },
                param! {
                    "freeze" = "10ms": Kind::Time,
                    "For this long after a timeout only entropies in the ring are used, in turn; 0s: there is no freezing.",
                    "htsim_uec: 10 ms"
                },
                param! {
                    "explore" = "16": Kind::Count(0),
                    "After freezing the ring is emptied, and this many packets draw their entropies.",
                    "htsim_uec: 16"
                },
                param! {
                    "explore_first" = "0": Kind::Count(0),
                    "How many packets of a new flow draw their entropies at random, even if acknowledged ones could be reused.",
                    "htsim_uec: 0; REPS: the packets of a bandwidth-delay product"
                },
            ],
        ],
        check: check_ring,
    },
    factory: Way {
        build: |values| Selector::Reps(Reps::of(values)),
        judged: |_| Judged::Packets,
        settable: &[],
    },
};

fn check_ring(values: &Values) -> Result<(), Complaint> {
    check(values)?;
    match ["ring", "uses"].into_iter().find(|key| values.count(key) > 255) {
        Some(key) => Err(Complaint::new(key, "write 255 at most")),
        None => Ok(()),
    }
}

/// A flow's ring.
#[derive(Clone, Debug)]
pub struct Reps {
    ring: SmallVec<[u16; NEAR]>,
    last: u16,
    size: u8,
    uses: u8,
    /// Where the next entropy that comes back is written.
    head: u8,
    /// So many before it were not used up.
    fresh: u8,
    /// How often the oldest of them was used.
    used: u8,
    /// Whose turn it is while frozen.
    turn: u8,
    /// So many packets still draw.
    exploring: u32,
    explore: u32,
    frozen_until: Option<Time>,
    freeze: Time,
}

impl Reps {
    fn of(values: &Values) -> Reps {
        let packets = |key| values.count_u32(key);
        Reps {
            ring: SmallVec::new(),
            last: exact::<u16>(values.count("entropies") - 1),
            size: exact::<u8>(values.count("ring")),
            uses: exact::<u8>(values.count("uses")),
            head: 0,
            fresh: 0,
            used: 0,
            turn: 0,
            exploring: packets("explore_first"),
            explore: packets("explore"),
            frozen_until: None,
            freeze: values.time("freeze"),
        }
    }

    fn draw(&self, random: &mut Stream) -> u16 {
        drawn(self.last, random)
    }

    fn keep(&mut self, entropy: u16) {
        let head = usize::from(self.head);
        match self.ring.get_mut(head) {
            Some(place) => *place = entropy,
            None => self.ring.push(entropy),
        }
        self.head = if self.head + 1 == self.size { 0 } else { self.head + 1 };
        if self.fresh < self.size {
            self.fresh += 1;
        } else {
            // The oldest is gone.
            self.used = 0;
        }
    }

    /// The oldest that is not used up.
    fn take(&mut self) -> u16 {
        let (head, fresh, size) = (u32::from(self.head), u32::from(self.fresh), u32::from(self.size));
        let oldest = self.ring[((head + size - fresh) % size) as usize];
        self.used += 1;
        if self.used == self.uses {
            self.used = 0;
            self.fresh -= 1;
        }
        oldest
    }

    /// The oldest of these that fits. It changes its place with the oldest of all, whose uses begin anew.
    fn take_among(&mut self, fits: &mut Fits<'_>) -> Option<u16> {
        let (head, fresh, size) = (usize::from(self.head), usize::from(self.fresh), usize::from(self.size));
        let place = |age: usize| (head + size - fresh + age) % size;
        let age = (0..fresh).find(|&age| fits(self.ring[place(age)]))?;
        if age > 0 {
            self.used = 0;
            (0..age).rev().for_each(|older| self.ring.swap(place(older), place(older + 1)));
        }
        Some(self.take())
    }

    /// The next in the ring that fits, used up or not.
    fn take_in_turn_among(&mut self, fits: &mut Fits<'_>) -> Option<u16> {
        let turns = (0..self.ring.len()).map(|step| (usize::from(self.turn) + step) % self.ring.len());
        let place = turns.into_iter().find(|&place| fits(self.ring[place]))?;
        self.turn = narrow::<u8>(place + 1);
        Some(self.ring[place])
    }

    /// The next in the ring, used up or not.
    fn take_in_turn(&mut self) -> u16 {
        let place = usize::from(self.turn) % self.ring.len();
        self.turn = narrow::<u8>(place + 1);
        self.ring[place]
    }

    fn thaw(&mut self) {
        self.frozen_until = None;
        self.ring.clear();
        (self.head, self.fresh, self.used, self.turn) = (0, 0, 0, 0);
        self.exploring = self.explore;
    }
}

impl Select for Reps {
    fn next(&mut self, _: Time, random: &mut Stream) -> u16 {
        if self.exploring > 0 {
            self.exploring -= 1;
            self.draw(random)
        } else if self.frozen_until.is_some() && !self.ring.is_empty() {
            self.take_in_turn()
        } else if self.frozen_until.is_none() && self.fresh > 0 {
            self.take()
        } else {
            self.draw(random)
        }
    }

    /// A frozen flow waits for the links of those that are known to work: the others may all lead into one dead plane.
    fn next_among(&mut self, _: Time, fits: &mut Fits<'_>, random: &mut Stream) -> Option<u16> {
        if self.exploring > 0 {
            let drawn = draw_among(self.last, fits, random)?;
            self.exploring -= 1;
            return Some(drawn);
        }
        if self.frozen_until.is_some() && !self.ring.is_empty() {
            return self.take_in_turn_among(fits);
        }
        let fresh = if self.frozen_until.is_none() { self.take_among(fits) } else { None };
        fresh.or_else(|| draw_among(self.last, fits, random))
    }

    fn update(&mut self, now: Time, feedback: &Feedback, _: &mut Stream) {
        let freezes = feedback.fate == Fate::Lost && self.freeze > Time::ZERO;
        if freezes && self.frozen_until.is_none() && self.exploring == 0 {
            self.frozen_until = Some(now + self.freeze);
        }
        if self.frozen_until.is_some_and(|until| now > until) {
            self.thaw();
        }
        if feedback.fate == Fate::Whole {
            self.keep(feedback.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{feedback, selector};
    use super::*;
    use crate::spec::Value;

    const NOW: Time = Time::ZERO;

    /// A flow with so many entropies that one drawn is none of those that came back.
    fn reps(own: &[(&str, Value)]) -> (Selector, Stream) {
        selector("reps", &[&[("entropies", Value::Count(65_536))], own].concat())
    }

    fn update(reps: &mut Selector, random: &mut Stream, at: Time, paths: std::ops::Range<u16>, fate: Fate) {
        paths.for_each(|path| reps.update(at, &feedback(path, fate), random));
    }

    fn next(reps: &mut Selector, random: &mut Stream, packets: usize) -> Vec<u16> {
        (0..packets).map(|_| reps.next(NOW, random)).collect()
    }

    #[test]
    fn what_came_back_is_used_once_the_oldest_first_and_then_others_are_drawn() {
        let (mut reps, mut random) = reps(&[]);
        update(&mut reps, &mut random, NOW, 1..4, Fate::Whole);
        update(&mut reps, &mut random, NOW, 4..5, Fate::Marked);
        update(&mut reps, &mut random, NOW, 5..6, Fate::Trimmed);
        assert_eq!(next(&mut reps, &mut random, 3), [1, 2, 3]);
        assert!(next(&mut reps, &mut random, 20).iter().all(|&entropy| entropy > 10));
    }

    #[test]
    fn where_a_link_is_free_the_oldest_of_that_is_used_and_the_others_keep_their_turns() {
        let (mut reps, mut random) = reps(&[]);
        update(&mut reps, &mut random, NOW, 1..6, Fate::Whole);
        let mut odd =
            |reps: &mut Selector, is: u16| reps.next_among(NOW, &mut |path| path % 2 == is, &mut random);
        assert_eq!([odd(&mut reps, 0), odd(&mut reps, 0)], [Some(2), Some(4)]);
        let drawn = odd(&mut reps, 0).expect("one is drawn");
        assert!(drawn > 10 && drawn % 2 == 0);
        assert_eq!([odd(&mut reps, 1), odd(&mut reps, 1), odd(&mut reps, 1)], [Some(1), Some(3), Some(5)]);
        // What is frozen waits for the links of what is known to work.
        update(&mut reps, &mut random, NOW, 9..10, Fate::Lost);
        update(&mut reps, &mut random, NOW, 11..19, Fate::Whole);
        let mut among = |path: u16| reps.next_among(NOW, &mut |other| other == path, &mut random);
        assert_eq!([among(13), among(200), among(14), among(13)], [Some(13), None, Some(14), Some(13)]);
    }

    #[test]
    fn the_ring_keeps_the_last_eight() {
        let (mut reps, mut random) = reps(&[]);
        update(&mut reps, &mut random, NOW, 1..12, Fate::Whole);
        assert_eq!(next(&mut reps, &mut random, 8), [4, 5, 6, 7, 8, 9, 10, 11]);
        assert!(next(&mut reps, &mut random, 1)[0] > 20);
    }

    #[test]
    fn with_coalesced_answers_each_may_be_used_several_times() {
        let (mut reps, mut random) = reps(&[("uses", Value::Count(3)), ("ring", Value::Count(2))]);
        update(&mut reps, &mut random, NOW, 1..3, Fate::Whole);
        assert_eq!(next(&mut reps, &mut random, 4), [1, 1, 1, 2]);
        update(&mut reps, &mut random, NOW, 3..5, Fate::Whole);
        assert_eq!(next(&mut reps, &mut random, 6), [3, 3, 3, 4, 4, 4]);
    }

    #[test]
    fn a_timeout_freezes_to_what_is_known_to_work_and_then_it_explores() {
        let (mut reps, mut random) = reps(&[]);
        update(&mut reps, &mut random, NOW, 1..4, Fate::Whole);
        assert_eq!(next(&mut reps, &mut random, 3), [1, 2, 3]);
        update(&mut reps, &mut random, NOW, 9..10, Fate::Lost);
        assert_eq!(next(&mut reps, &mut random, 7), [1, 2, 3, 1, 2, 3, 1]);
        // What comes back joins the ring meanwhile; another timeout changes nothing.
        update(&mut reps, &mut random, Time::from_us(9_999), 4..5, Fate::Whole);
        update(&mut reps, &mut random, Time::from_us(10_000), 9..10, Fate::Lost);
        assert_eq!(next(&mut reps, &mut random, 4), [2, 3, 4, 1]);
        update(&mut reps, &mut random, Time::from_us(10_001), 5..6, Fate::Whole);
        assert!(next(&mut reps, &mut random, 16).iter().all(|&entropy| entropy > 10));
        assert_eq!(next(&mut reps, &mut random, 1), [5]);
    }

    #[test]
    fn without_freezing_a_timeout_changes_nothing() {
        let (mut reps, mut random) = reps(&[("freeze", Value::Time(Time::ZERO))]);
        update(&mut reps, &mut random, NOW, 1..2, Fate::Whole);
        update(&mut reps, &mut random, NOW, 9..10, Fate::Lost);
        assert_eq!(next(&mut reps, &mut random, 1), [1]);
        assert!(next(&mut reps, &mut random, 5).iter().all(|&entropy| entropy > 10));
    }
}

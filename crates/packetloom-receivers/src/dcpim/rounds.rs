//! When the rounds of matchings are, and the data phases that go with them. All hosts' clocks agree (PimHost::
//! start_new_epoch): a matching of some rounds, and meanwhile the data phase of the matching before.

use super::header::Round;
use crate::narrow::narrow;
use crate::units::Time;

/// The times of all epochs. A receiver acts as a round begins, a sender in the middle of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// How long a round takes.
    round: Time,
    /// How many a matching has.
    count: u8,
    /// From the start of a matching to the next one's, which is how long a data phase is: no less than the rounds take.
    epoch: Time,
}

impl Rounds {
    pub fn new(round: Time, count: u8, epoch: Time) -> Rounds {
        Rounds { round, count, epoch: epoch.max(round.times(count.into())) }
    }

    /// When a round begins. One after the last is the end of the matching, when its data phase begins.
    pub fn at(&self, Round { epoch, nth }: Round) -> Time {
        self.epoch.times(u64::from(epoch) - 1) + self.round.times(nth.into())
    }

    /// When senders answer the requests of a round.
    pub fn middle_of(&self, round: Round) -> Time {
        self.at(round) + Time(self.round.as_ps() / 2)
    }

    /// When receivers answer the grants of a round.
    pub fn end_of(&self, round: Round) -> Time {
        self.at(Round { nth: round.nth + 1, ..round })
    }

    /// The last round of a matching.
    pub fn last(&self, epoch: u32) -> Round {
        Round { epoch, nth: self.count - 1 }
    }

    /// The first time, from this one on, at which a round or a data phase begins.
    pub fn next(&self, time: Time) -> Time {
        let (begun, rounds) = self.place(time);
        let rounds = rounds.div_ceil(self.round.as_ps());
        if rounds > self.count.into() { begun + self.epoch } else { begun + self.round.times(rounds) }
    }

    /// The round that begins at this time.
    pub fn beginning(&self, time: Time) -> Option<Round> {
        let (begun, since) = self.place(time);
        let nth = since / self.round.as_ps();
        let begins = since % self.round.as_ps() == 0 && nth < self.count.into();
        begins.then(|| Round { epoch: self.number(begun), nth: narrow::<u8>(nth) })
    }

    /// The epoch whose matching ends at this time, so that its data phase begins.
    pub fn ending(&self, time: Time) -> Option<u32> {
        let matching = self.round.times(self.count.into());
        let begun = time.as_ps().checked_sub(matching.as_ps())?;
        (begun % self.epoch.as_ps() == 0).then(|| self.number(Time(begun)))
    }

    /// When the data phase of this time ends; before the first, when that begins.
    pub fn phase_ends(&self, time: Time) -> Time {
        let first = self.round.times(self.count.into());
        match time.as_ps().checked_sub(first.as_ps()) {
            None => first,
            Some(since) => first + self.epoch.times(since / self.epoch.as_ps() + 1),
        }
    }

    /// How long a data phase is.
    pub fn phase(&self) -> Time {
        self.epoch
    }

    /// When the matching of this time began, and for how many picoseconds it has gone on.
    fn place(&self, time: Time) -> (Time, u64) {
        let since = time.as_ps() % self.epoch.as_ps();
        (Time(time.as_ps() - since), since)
    }

    fn number(&self, begun: Time) -> u32 {
        narrow::<u32>(begun.as_ps() / self.epoch.as_ps() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ns(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    #[test]
    fn a_data_phase_begins_with_the_next_matching_if_it_is_as_long_as_one() {
        let rounds = Rounds::new(ns(10), 4, ns(40));
        assert_eq!([0, 1, 10, 31, 39].map(|at| rounds.next(ns(at))), [0, 10, 10, 40, 40].map(ns));
        assert_eq!(rounds.beginning(ns(30)), Some(Round { epoch: 1, nth: 3 }));
        assert_eq!(rounds.beginning(ns(40)), Some(Round { epoch: 2, nth: 0 }));
        assert_eq!(rounds.beginning(ns(41)), None);
        assert_eq!([0, 30, 40, 80].map(|at| rounds.ending(ns(at))), [None, None, Some(1), Some(2)]);
        let third = Round { epoch: 2, nth: 2 };
        assert_eq!([rounds.at(third), rounds.middle_of(third), rounds.end_of(third)], [60, 65, 70].map(ns));
        assert_eq!([0, 39, 40, 79, 80].map(|at| rounds.phase_ends(ns(at))), [40, 40, 80, 80, 120].map(ns));
    }

    #[test]
    fn a_longer_data_phase_leaves_a_pause_between_matchings() {
        let rounds = Rounds::new(ns(10), 4, ns(60));
        assert_eq!([40, 41, 59, 60].map(|at| rounds.next(ns(at))), [40, 60, 60, 60].map(ns));
        assert_eq!((rounds.beginning(ns(40)), rounds.ending(ns(40))), (None, Some(1)));
        assert_eq!(
            (rounds.beginning(ns(60)), rounds.ending(ns(60))),
            (Some(Round { epoch: 2, nth: 0 }), None)
        );
        assert_eq!([39, 40, 99, 100].map(|at| rounds.phase_ends(ns(at))), [40, 100, 100, 160].map(ns));
    }
}

//! REPS as it was first: every entropy that came back without a mark is used again, first come, first served.

use super::{ENTROPIES, Feedback, Fits, Select, Selector, Way, check, draw_among};
use crate::narrow::{exact, narrow};
use crate::random::Stream;
use crate::routing::{Fate, Judged};
use crate::spec::{Component, Registered, Values};
use crate::units::Time;
use std::collections::VecDeque;

pub(super) const WAY: Registered<Way> = Registered {
    component: Component {
        section: "routing",
        kind: "reps-legacy",
        doc: "The source uses each entropy that came back without a mark once more, in that order. Its first packets take entropies in turn; later, if none has come back, it draws one.",
        source: "REPS, arXiv 2407.21625; htsim_uec: reps_legacy",
        params: &[&[ENTROPIES]],
        check,
    },
    factory: Way {
        build: |values| Selector::RepsLegacy(Recycled::of(values)),
        judged: |_| Judged::Packets,
        settable: &[],
    },
};

/// The entropies that came back.
#[derive(Clone, Debug)]
pub struct Recycled {
    good: VecDeque<u16>,
    last: u16,
    /// Packets sent, up to the number of entropies.
    sent: u32,
}

impl Recycled {
    pub(super) fn of(values: &Values) -> Recycled {
        Recycled { good: VecDeque::new(), last: exact::<u16>(values.count("entropies") - 1), sent: 0 }
    }

    /// The oldest that came back.
    #[inline]
    pub(super) fn take(&mut self) -> Option<u16> {
        self.good.pop_front()
    }

    /// The oldest of them that fits.
    pub(super) fn take_among(&mut self, fits: &mut Fits<'_>) -> Option<u16> {
        let place = self.good.iter().position(|&entropy| fits(entropy))?;
        self.good.remove(place)
    }

    #[inline]
    pub(super) fn note(&mut self, feedback: &Feedback) {
        if feedback.fate == Fate::Whole {
            self.good.push_back(feedback.path);
        }
    }
}

impl Select for Recycled {
    fn next(&mut self, _: Time, random: &mut Stream) -> u16 {
        let entropies = u32::from(self.last) + 1;
        // htsim counts to the smaller of this and the first window.
        if self.sent < entropies {
            self.sent += 1;
            return narrow(self.sent & u32::from(self.last));
        }
        self.take().unwrap_or_else(|| narrow::<u16>(random.below(entropies)))
    }

    fn next_among(&mut self, _: Time, fits: &mut Fits<'_>, random: &mut Stream) -> Option<u16> {
        let in_turn = narrow::<u16>((self.sent + 1) & u32::from(self.last));
        if self.sent <= u32::from(self.last) && fits(in_turn) {
            self.sent += 1;
            return Some(in_turn);
        }
        self.take_among(fits).or_else(|| draw_among(self.last, fits, random))
    }

    fn update(&mut self, _: Time, feedback: &Feedback, _: &mut Stream) {
        self.note(feedback);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{feedback, selector};
    use super::*;
    use crate::spec::Value;

    #[test]
    fn the_first_packets_take_turns_then_what_came_back_is_used_once_each() {
        let (mut recycled, mut random) = selector("reps-legacy", &[("entropies", Value::Count(8))]);
        let first: Vec<u16> = (0..8).map(|_| recycled.next(Time::ZERO, &mut random)).collect();
        assert_eq!(first, [1, 2, 3, 4, 5, 6, 7, 0]);
        for (path, fate) in [
            (6, Fate::Whole),
            (2, Fate::Marked),
            (3, Fate::Trimmed),
            (7, Fate::Lost),
            (6, Fate::Whole),
            (1, Fate::Whole),
        ] {
            recycled.update(Time::ZERO, &feedback(path, fate), &mut random);
        }
        let next: Vec<u16> = (0..3).map(|_| recycled.next(Time::ZERO, &mut random)).collect();
        assert_eq!(next, [6, 6, 1]);
        let drawn: std::collections::BTreeSet<u16> =
            (0..200).map(|_| recycled.next(Time::ZERO, &mut random)).collect();
        assert_eq!(drawn.len(), 8);
    }
}

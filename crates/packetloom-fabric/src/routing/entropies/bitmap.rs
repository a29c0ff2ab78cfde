//! The bitmap of entropies to skip: those that were marked, trimmed or lost lately.

use super::oblivious::Walk;
use super::{ENTROPIES, Feedback, Fits, Select, Selector, Way, check};
use crate::flow::FlowId;
use crate::narrow::exact;
use crate::random::Stream;
use crate::routing::{Fate, Judged};
use crate::spec::{Complaint, Component, Kind, Param, Registered, Values, param};
use crate::units::Time;

/// What can be set of the penalties.
pub(super) const PENALTIES: &[Param] = &[
    param! {
        "penalty_mark" = "1": Kind::Count(0),
        "How often an entropy is skipped for a marked packet.", "htsim_uec: 1; htsim_eqds: 1"
    },
    param! {
        "penalty_trim" = "4": Kind::Count(0),
        "How often an entropy is skipped for a trimmed packet.", "htsim_uec: 4; htsim_eqds: 1"
    },
    param! {
        "penalty_max" = "15": Kind::Count(1),
        "The most that an entropy has to be skipped, which is also what a packet that timed out costs it.",
        "htsim_uec: 15; htsim_eqds: 1"
    },
    param! {
        "skip" = "first": Kind::Choice(&["first", "each"]),
        "Which of the entropies that are skipped for one packet have their penalties lowered by one.",
        "htsim_uec: the first; htsim_eqds: each"
    },
];

pub(super) const WAY: Registered<Way> = Registered {
    component: Component {
        section: "routing",
        kind: "bitmap",
        doc: "As oblivious, but an entropy is skipped for a while after a packet with it was marked, trimmed or lost.",
        source: "EQDS, NSDI 2022; Ultra Ethernet, as htsim_uec has it",
        params: &[&[ENTROPIES], PENALTIES],
        check: check_penalties,
    },
    factory: Way {
        build: |values| Selector::Bitmap(Bitmap::of(values)),
        judged: |_| Judged::Packets,
        settable: &[],
    },
};

pub(super) fn check_penalties(values: &Values) -> Result<(), Complaint> {
    check(values)?;
    if values.count("penalty_max") > 255 {
        return Err(Complaint::new("penalty_max", "write 255 at most"));
    }
    Ok(())
}

/// The walk, and how often each entropy is still to be skipped.
#[derive(Clone, Debug)]
pub struct Bitmap {
    walk: Walk,
    skips: Box<[u8]>,
    /// How many are to be skipped.
    penalised: u32,
    mark: u8,
    trim: u8,
    most: u8,
    lowers_each: bool,
}

impl Bitmap {
    pub(super) fn of(values: &Values) -> Bitmap {
        let walk = Walk::of(values);
        let most = exact::<u8>(values.count("penalty_max"));
        let penalty = |key| exact::<u8>(values.count(key).min(most.into()));
        Bitmap {
            walk,
            skips: vec![0; usize::from(walk.last()) + 1].into(),
            penalised: 0,
            mark: penalty("penalty_mark"),
            trim: penalty("penalty_trim"),
            most,
            lowers_each: values.meaning("skip", &[("first", false), ("each", true)]),
        }
    }

    fn lower(&mut self, entropy: u16) {
        let skips = &mut self.skips[usize::from(entropy)];
        *skips -= 1;
        self.penalised -= u32::from(*skips == 0);
    }
}

impl Select for Bitmap {
    fn start(&mut self, flow: FlowId, random: &mut Stream) {
        self.walk.start(flow, random);
    }

    fn next(&mut self, _: Time, random: &mut Stream) -> u16 {
        let first = self.walk.step(random);
        if self.skips[usize::from(first)] == 0 {
            return first;
        }
        let are_all = self.penalised as usize == self.skips.len();
        self.lower(first);
        if are_all {
            // There is none to prefer: htsim goes once around and takes what comes then.
            return self.walk.step(random);
        }
        loop {
            let entropy = self.walk.step(random);
            if self.skips[usize::from(entropy)] == 0 {
                return entropy;
            }
            if self.lowers_each {
                self.lower(entropy);
            }
        }
    }

    /// Where those that fit are all to be skipped and others are not, the flow waits for the others.
    fn next_among(&mut self, _: Time, fits: &mut Fits<'_>, random: &mut Stream) -> Option<u16> {
        let entropies = self.skips.len();
        let are_all = self.penalised as usize == entropies;
        // How far away it is comes first: a flow that waits does not move on.
        let (mut walk, mut draws) = (self.walk, random.clone());
        let is_it = |_: &usize| {
            let entropy = walk.step(&mut draws);
            fits(entropy) && (are_all || self.skips[usize::from(entropy)] == 0)
        };
        // From anywhere in a round, two rounds have each of them.
        let before = (0..2 * entropies).find(is_it)?;
        let mut has_lowered = false;
        for _ in 0..before {
            let entropy = self.walk.step(random);
            let is_skipped = self.skips[usize::from(entropy)] > 0 && fits(entropy);
            if is_skipped && (self.lowers_each || !has_lowered) {
                self.lower(entropy);
                has_lowered = true;
            }
        }
        let entropy = self.walk.step(random);
        if are_all {
            self.lower(entropy);
        }
        Some(entropy)
    }

    fn update(&mut self, _: Time, feedback: &Feedback, _: &mut Stream) {
        let penalty = match feedback.fate {
            Fate::Whole => 0,
            Fate::Marked => self.mark,
            Fate::Trimmed => self.trim,
            Fate::Lost => self.most,
        };
        if penalty == 0 {
            return;
        }
        let skips = &mut self.skips[usize::from(feedback.path & self.walk.last())];
        self.penalised += u32::from(*skips == 0);
        *skips = skips.saturating_add(penalty).min(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{feedback, selector};
    use super::*;
    use crate::spec::Value;

    /// In which of the rounds to come an entropy is used.
    fn rounds_with(selector: &mut Selector, random: &mut Stream, entropy: u16, packets: usize) -> Vec<bool> {
        (0..packets).map(|_| selector.next(Time::ZERO, random) == entropy).collect()
    }

    #[test]
    fn an_entropy_is_skipped_as_often_as_its_packets_fared_badly() {
        for (fate, skips) in [(Fate::Whole, 0), (Fate::Marked, 1), (Fate::Trimmed, 4), (Fate::Lost, 15)] {
            let (mut bitmap, mut random) = selector("bitmap", &[("entropies", Value::Count(8))]);
            bitmap.update(Time::ZERO, &feedback(5, fate), &mut random);
            let used = rounds_with(&mut bitmap, &mut random, 5, 8 * 40);
            let first = used.iter().position(|&used| used).expect("its penalties end");
            // Seven packets in each round that skips it, and up to eight before it in its own.
            assert!((skips * 7..skips * 7 + 8).contains(&first), "{fate:?}: {first}");
            assert!(used[first..].iter().filter(|&&used| used).count() >= (8 * 40 - first) / 8 - 1);
        }
    }

    #[test]
    fn a_flow_waits_for_a_link_whose_entropies_fare_well_and_wears_no_penalties_down() {
        for skip in ["first", "each"] {
            let own = [("entropies", Value::Count(8)), ("skip", Value::Text(skip.to_owned()))];
            let (mut bitmap, mut random) = selector("bitmap", &own);
            [0, 2, 4, 6]
                .iter()
                .for_each(|&path| bitmap.update(Time::ZERO, &feedback(path, Fate::Trimmed), &mut random));
            let mut next =
                |parity: u16| bitmap.next_among(Time::ZERO, &mut |path| path % 2 == parity, &mut random);
            assert!((0..100).all(|_| next(0).is_none()), "{skip}");
            // Those of the other link are used in turn, and penalties stay, as their link is not free.
            let odd: std::collections::BTreeSet<Option<u16>> = (0..100).map(|_| next(1)).collect();
            assert_eq!(odd, [1, 3, 5, 7].map(Some).into(), "{skip}");
            assert!(next(0).is_none(), "{skip}");
            // With all of them penalised, what is free is used.
            [1, 3, 5, 7]
                .iter()
                .for_each(|&path| bitmap.update(Time::ZERO, &feedback(path, Fate::Trimmed), &mut random));
            let even = bitmap.next_among(Time::ZERO, &mut |path| path % 2 == 0, &mut random);
            assert!(even.is_some_and(|path| path % 2 == 0), "{skip}");
        }
    }

    #[test]
    fn penalties_add_up_to_their_limit() {
        let (mut bitmap, mut random) = selector("bitmap", &[("entropies", Value::Count(2))]);
        (0..9).for_each(|_| bitmap.update(Time::ZERO, &feedback(1, Fate::Trimmed), &mut random));
        let used = rounds_with(&mut bitmap, &mut random, 1, 60);
        // Each packet lowers them by one at most, and every second one does at least.
        assert!((15..=31).contains(&used.iter().position(|&used| used).expect("they end")));
    }

    #[test]
    fn where_all_are_to_be_skipped_something_is_sent_all_the_same() {
        for skip in ["first", "each"] {
            let own = [("entropies", Value::Count(4)), ("skip", Value::Text(skip.to_owned()))];
            let (mut bitmap, mut random) = selector("bitmap", &own);
            (0..4).for_each(|path| bitmap.update(Time::ZERO, &feedback(path, Fate::Lost), &mut random));
            let used: std::collections::BTreeSet<u16> =
                (0..200).map(|_| bitmap.next(Time::ZERO, &mut random)).collect();
            assert_eq!(used.len(), 4);
        }
    }
}

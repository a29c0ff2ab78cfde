//! Oblivious spraying: all entropies in turn, in an order that is scrambled anew for each round.

use super::{ENTROPIES, Fits, Select, Selector, Way, check, drawn};
use crate::flow::FlowId;
use crate::narrow::exact;
use crate::random::Stream;
use crate::routing::Judged;
use crate::spec::{Component, Registered, Values};
use crate::units::Time;

pub(super) const WAY: Registered<Way> = Registered {
    component: Component {
        section: "routing",
        kind: "oblivious",
        doc: "The source sprays a flow's packets over entropies, which switches hash: each once in a round, in an order scrambled by an exclusive or with a number drawn for the round.",
        source: "Ultra Ethernet's oblivious load balancing, as htsim_uec has it",
        params: &[&[ENTROPIES]],
        check,
    },
    factory: Way {
        build: |values| Selector::Oblivious(Walk::of(values)),
        judged: |_| Judged::Nothing,
        settable: &[],
    },
};

/// The walk over all entropies.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    mask: u16,
    index: u16,
    scramble: u16,
}

impl Walk {
    pub(super) fn of(values: &Values) -> Walk {
        Walk { mask: exact::<u16>(values.count("entropies") - 1), index: 0, scramble: 0 }
    }

    /// The number of the last entropy; they are counted from 0.
    pub(super) fn last(&self) -> u16 {
        self.mask
    }

    /// One step.
    #[inline]
    pub(super) fn step(&mut self, random: &mut Stream) -> u16 {
        let entropy = self.index ^ self.scramble;
        self.index = self.index.wrapping_add(1) & self.mask;
        if self.index == 0 {
            self.scramble = drawn(self.mask, random);
        }
        entropy
    }

    /// Steps to the next that fits, through a whole round at most.
    fn step_among(&mut self, fits: &mut Fits<'_>, random: &mut Stream) -> Option<u16> {
        (0..=self.mask).find_map(|_| Some(self.step(random)).filter(|&entropy| fits(entropy)))
    }
}

impl Select for Walk {
    fn start(&mut self, _: FlowId, random: &mut Stream) {
        self.scramble = drawn(self.mask, random);
    }

    #[inline]
    fn next(&mut self, _: Time, random: &mut Stream) -> u16 {
        self.step(random)
    }

    fn next_among(&mut self, _: Time, fits: &mut Fits<'_>, random: &mut Stream) -> Option<u16> {
        self.step_among(fits, random)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::selector;
    use super::*;
    use crate::spec::Value;
    use std::collections::BTreeSet;

    #[test]
    fn each_round_uses_every_entropy_once_in_another_order() {
        for entropies in [1, 2, 16, 256] {
            let (mut walk, mut random) = selector("oblivious", &[("entropies", Value::Count(entropies))]);
            let rounds: BTreeSet<Vec<u16>> = (0..20)
                .map(|_| (0..entropies).map(|_| walk.next(Time::ZERO, &mut random)).collect())
                .collect();
            for round in &rounds {
                let all: BTreeSet<u16> = round.iter().copied().collect();
                assert_eq!(all, (0..entropies as u16).collect());
            }
            assert!(entropies < 16 || rounds.len() > 5, "{} orders", rounds.len());
        }
    }
}

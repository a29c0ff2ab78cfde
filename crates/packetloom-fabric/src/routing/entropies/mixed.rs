//! Mixed: entropies that came back without a mark are used again; where there is none, the bitmap chooses.

use super::bitmap::{Bitmap, PENALTIES, check_penalties};
use super::reps_legacy::Recycled;
use super::{ENTROPIES, Feedback, Fits, Select, Selector, Way};
use crate::flow::FlowId;
use crate::random::Stream;
use crate::routing::Judged;
use crate::spec::{Component, Registered, Values};
use crate::units::Time;

pub(super) const WAY: Registered<Way> = Registered {
    component: Component {
        section: "routing",
        kind: "mixed",
        doc: "The source uses each entropy that came back without a mark once more; if there is none, it takes one as bitmap does.",
        source: "htsim_uec's default",
        params: &[&[ENTROPIES], PENALTIES],
        check: check_penalties,
    },
    factory: Way {
        build: |values| Selector::Mixed(Mixed::of(values)),
        judged: |_| Judged::Packets,
        settable: &[],
    },
};

/// Both selectors; each receives all feedback.
#[derive(Clone, Debug)]
pub struct Mixed {
    recycled: Recycled,
    bitmap: Bitmap,
}

impl Mixed {
    fn of(values: &Values) -> Mixed {
        Mixed { recycled: Recycled::of(values), bitmap: Bitmap::of(values) }
    }
}

impl Select for Mixed {
    fn start(&mut self, flow: FlowId, random: &mut Stream) {
        self.bitmap.start(flow, random);
    }

    fn next(&mut self, now: Time, random: &mut Stream) -> u16 {
        self.recycled.take().unwrap_or_else(|| self.bitmap.next(now, random))
    }

    fn next_among(&mut self, now: Time, fits: &mut Fits<'_>, random: &mut Stream) -> Option<u16> {
        self.recycled.take_among(fits).or_else(|| self.bitmap.next_among(now, fits, random))
    }

    fn update(&mut self, now: Time, feedback: &Feedback, random: &mut Stream) {
        self.recycled.note(feedback);
        self.bitmap.update(now, feedback, random);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{feedback, selector};
    use super::*;
    use crate::routing::Fate;
    use crate::spec::Value;

    #[test]
    fn what_came_back_goes_first_and_then_the_bitmap_with_its_penalties() {
        let (mut mixed, mut random) = selector("mixed", &[("entropies", Value::Count(4))]);
        mixed.update(Time::ZERO, &feedback(3, Fate::Whole), &mut random);
        mixed.update(Time::ZERO, &feedback(2, Fate::Trimmed), &mut random);
        assert_eq!(mixed.next(Time::ZERO, &mut random), 3);
        let next: Vec<u16> = (0..9).map(|_| mixed.next(Time::ZERO, &mut random)).collect();
        assert!(!next.contains(&2), "{next:?}");
    }
}

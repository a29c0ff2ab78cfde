//! RED's marking by the instantaneous queue, between two thresholds.

use super::{AnyAqm, Aqm, Look, Making};
use crate::queue::Admission;
use crate::queue::Verdict;
use crate::queue::admission::{Marking, RED_PARAMS, between, check_thresholds};
use crate::spec::{Component, Made};

const COMPONENT: Component = Component {
    section: "aqm",
    kind: "red",
    doc: "Marks by what waits in its queue as a packet arrives: never below min, always above max, in between with a probability that rises linearly.",
    source: "Floyd and Jacobson, ToN 1993, on the instantaneous queue as DCQCN (SIGCOMM 2015, §3.1) has it",
    params: &[RED_PARAMS],
    check: check_thresholds,
};

/// The AQM.
pub const AQM: Made<Making> = Made {
    component: COMPONENT,
    how: Making {
        marks: |_| true,
        on_arrival: Some(|values, buffer| Admission::of(buffer, between(values))),
        ..Making::new(|values| AnyAqm::Arrivals(Arrivals(between(values))))
    },
};

/// Marks arrivals by what waits.
#[derive(Clone, Copy, Debug)]
pub struct Arrivals(pub(super) Marking);

impl Aqm for Arrivals {
    #[inline]
    fn arrive(&mut self, look: &mut Look<'_>) -> Verdict {
        if self.0.marks(look.queued, look.random) { Verdict::Mark } else { Verdict::Accept }
    }
}

//! DCTCP's marking: above a threshold.

use super::red::Arrivals;
use super::{AnyAqm, Making};
use crate::queue::Admission;
use crate::queue::admission::{Limit, MARK_ABOVE, Marking};
use crate::spec::{Component, Made, Values, anything};

const COMPONENT: Component = Component {
    section: "aqm",
    kind: "threshold",
    doc: "Marks an ECN-capable packet when more than a threshold waits in its queue as it arrives.",
    source: "DCTCP, SIGCOMM 2010, §3.1",
    params: &[&[MARK_ABOVE]],
    check: anything,
};

fn marking(values: &Values) -> Marking {
    Marking::Above(Limit::of(values.get("mark_above")))
}

/// The AQM.
pub const AQM: Made<Making> = Made {
    component: COMPONENT,
    how: Making {
        marks: |_| true,
        on_arrival: Some(|values, buffer| Admission::of(buffer, marking(values))),
        ..Making::new(|values| AnyAqm::Arrivals(Arrivals(marking(values))))
    },
};

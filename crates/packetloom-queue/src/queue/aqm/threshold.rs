//! DCTCP's marking: above a threshold.

use super::Making;
use super::red::{BY_RATE, JUDGES, Length};
use crate::queue::admission::{Limit, MARK_ABOVE, Marking};
use crate::spec::{Component, Registered, Values, anything};

const COMPONENT: Component = Component {
    section: "aqm",
    kind: "threshold",
    doc: "Marks an ECN-capable packet when more than a threshold waits in its queue.",
    source: "DCTCP, SIGCOMM 2010, §3.1",
    params: &[&[MARK_ABOVE, JUDGES, BY_RATE]],
    check: anything,
};

fn marking(values: &Values) -> Marking {
    Marking::Above(Limit::of(values.get("mark_above")))
}

/// The AQM.
pub const AQM: Registered<Making> = Registered {
    component: COMPONENT,
    factory: Making {
        marks: |_| true,
        on_arrival: |values, buffer| Length::on_arrival(values, buffer, marking(values)),
        ..Making::new(|values| Length::build(values, marking(values)))
    },
};

//! DCTCP's marking: above a threshold.

use super::red::{BY_RATE, JUDGES, Length};
use super::{Read, Specification};
use crate::queue::admission::{Limit, MARK_ABOVE, Marking};
use crate::queue::specification::Threshold;
use crate::spec::{Complaint, Component, Kind, Registered, Values, param};

const MARK_BETWEEN_SWITCHES: &str = "mark_between_switches";

const COMPONENT: Component = Component {
    section: "aqm",
    kind: "threshold",
    doc: "Marks an ECN-capable packet when more than a threshold waits in its queue.",
    source: "DCTCP, SIGCOMM 2010, §3.1",
    params: &[&[
        MARK_ABOVE,
        param! {
            MARK_BETWEEN_SWITCHES: Kind::Buffer,
            "The threshold at ports between switches, which often have another rate. Left out: mark_above.",
            "DCTCP, SIGCOMM 2010, §4: K = 20 packets at 1 Gb/s, 65 at 10 Gb/s"
        },
        JUDGES,
        BY_RATE,
    ]],
    check,
};

fn check(values: &Values) -> Result<(), Complaint> {
    if values.flag("by_rate") && values.has(MARK_BETWEEN_SWITCHES) {
        let message = "with by_rate, thresholds follow from rates; write one of the two";
        return Err(Complaint::new(MARK_BETWEEN_SWITCHES, message));
    }
    Ok(())
}

/// The AQM.
pub const AQM: Registered<Read> = Registered { component: COMPONENT, factory: read };

fn read(values: &Values) -> Specification {
    let [everywhere, between] =
        ["mark_above", MARK_BETWEEN_SWITCHES].map(|key| (key, Limit::of(values.get(key))));
    let thresholds = [everywhere, between].map(|(key, above)| Threshold::marking(key, above));
    let between = Some(between.1).filter(|limit| *limit != Limit::None).map(Marking::Above);
    Length::read(values, Marking::Above(everywhere.1), between, thresholds.into())
}

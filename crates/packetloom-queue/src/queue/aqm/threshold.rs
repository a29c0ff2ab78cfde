//! DCTCP's marking: above a threshold.

use super::Making;
use super::red::{BY_RATE, JUDGES, Length};
use crate::queue::admission::{Limit, MARK_ABOVE, Marking};
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

fn marking(values: &Values) -> Marking {
    Marking::Above(Limit::of(values.get("mark_above")))
}

/// The rule of ports between switches, if it is another.
fn between_switches(values: &Values) -> Option<Marking> {
    let value = values.entries.get(MARK_BETWEEN_SWITCHES).filter(|_| values.has(MARK_BETWEEN_SWITCHES))?;
    Some(Marking::Above(Limit::of(value)))
}

/// The AQM.
pub const AQM: Registered<Making> = Registered {
    component: COMPONENT,
    factory: Making {
        marks: |_| true,
        on_arrival: |values, buffer| {
            let everywhere = Length::on_arrival(values, buffer, marking(values));
            everywhere.filter(|_| between_switches(values).is_none())
        },
        ..Making::new(|values| Length::build_by_place(values, marking(values), between_switches(values)))
    },
};

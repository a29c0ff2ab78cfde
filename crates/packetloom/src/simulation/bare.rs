//! A case's network and scheme, for runs of a few flows that show what a transport does there.

use crate::scenario::Case;
use crate::spec::Value;
use crate::units::Time;

/// All such runs have this seed, so that cases with other seeds need no others.
pub(super) const SEED: u64 = 1;

/// A case without its traffic, its faults, and all that is recorded.
pub(super) fn without_traffic(case: &Case) -> Case {
    let mut case = case.clone();
    case.workloads.truncate(1);
    case.faults.clear();
    case.axes.clear();
    case.load = None;
    case.seed = SEED;
    for key in ["flows", "duration", "max_time"] {
        case.run.entries.insert(key.to_owned(), Value::Absent);
    }
    for key in ["warm_up", "cool_down"] {
        case.run.entries.insert(key.to_owned(), Value::Time(Time::ZERO));
    }
    for value in case.measure.entries.values_mut() {
        *value = if matches!(value, Value::Flag(_)) { Value::Flag(false) } else { Value::Absent };
    }
    case
}

//! Exceptions of methods that are called where nobody can report them, and what these choose that there is not: by
//! queues and by choices of paths. The shard whose window it is takes them when the window ends.

use super::{ControlError, SchemeError};
use crate::flow::FlowId;
use crate::units::Time;
use std::cell::Cell;

/// Whose packet it was, when, and what was wrong.
type Raised = (Time, FlowId, ControlError);

thread_local! {
    /// A window is worked through by one thread.
    static FIRST: Cell<Option<Raised>> = const { Cell::new(None) };
}

/// Keeps the first exception of a window; of several at one time, that of the first flow.
#[cold]
pub fn note((at, flow): (Time, FlowId), (class, method): (&'static str, &'static str), error: SchemeError) {
    let error = ControlError { class, method, error };
    if FIRST.get().is_none_or(|(at_before, before, _)| (at, flow) < (at_before, before)) {
        FIRST.set(Some((at, flow, error)));
    }
}

/// The first exception since this was last called on this thread.
#[inline]
pub fn take() -> Option<Raised> {
    FIRST.take()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_by_time_then_flow_is_kept() {
        for (at, flow) in [(5, 1), (3, 7), (3, 2), (4, 0)] {
            note((Time(at), flow), ("Rule", "arrives"), SchemeError::Exception);
        }
        let (at, flow, error) = take().expect("four were noted");
        assert_eq!((at, flow, error.class, error.method), (Time(3), 2, "Rule", "arrives"));
        assert!(take().is_none());
    }
}

//! Priority flow control (IEEE 802.1Qbb) at a port of parts: a queue of its scheduler waits while a class is paused whose
//! packets it holds.

use super::{Read, Specification};
use crate::queue::shared_buffer::{FRAMES, LOSSLESS, Pauses, check_lossless};
use crate::spec::{Complaint, Component, Param, Registered, Values};

const COMPONENT: Component = Component {
    section: "flow_control",
    kind: "pfc",
    doc: "Priority flow control: a switch pauses lossless classes of links that use too much of its buffer (buffer = \"ingress\"). A queue of the scheduler waits while it holds packets of a paused class; the other queues share the link. Class 0 is never paused, and what is not data takes no buffer in it.",
    source: "IEEE 802.1Qbb",
    params: &[
        &[Param {
            doc: "The classes that are paused instead of dropped; packets of the others that do not fit are dropped.",
            ..LOSSLESS
        }],
        FRAMES,
    ],
    check,
};

/// The flow control.
pub(super) const FLOW_CONTROL: Registered<Read> =
    Registered { component: COMPONENT, factory: |values| Specification::Pauses(Pauses::of(values)) };

fn check(values: &Values) -> Result<(), Complaint> {
    if values.list("lossless").is_empty() {
        let message = "is empty, so nothing is ever paused; write a class such as [3], or flow_control = \"none\" and \
                       another buffer";
        return Err(Complaint::new("lossless", message));
    }
    check_lossless(values, "class 0 is never paused")
}

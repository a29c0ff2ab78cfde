//! No AQM: what fits is sent.

use super::{AnyAqm, Aqm, Read, Specification};
use crate::queue::admission::Marking;
use crate::spec::{Component, Registered, anything};

const COMPONENT: Component = Component {
    section: "aqm",
    kind: "none",
    doc: "Nothing is marked, and only what finds no room is dropped.",
    source: "packetloom",
    params: &[],
    check: anything,
};

/// The AQM.
pub const AQM: Registered<Read> = Registered {
    component: COMPONENT,
    factory: |_| Specification {
        on_arrival: Some(Marking::Never),
        ..Specification::new(AnyAqm::Nothing(Nothing))
    },
};

/// Does nothing.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Aqm for Nothing {}

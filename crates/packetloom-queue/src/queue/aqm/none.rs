//! No AQM: what fits is sent.

use super::{AnyAqm, Aqm, Making};
use crate::queue::Admission;
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
pub const AQM: Registered<Making> = Registered {
    component: COMPONENT,
    factory: Making {
        on_arrival: |_, buffer| Some(Admission::of(buffer, Marking::Never)),
        ..Making::new(|_| AnyAqm::Nothing(Nothing))
    },
};

/// Does nothing.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Aqm for Nothing {}

//! What may wait at a port.

use super::{abm, lossless, reverie};
use crate::queue::Admission;
use crate::queue::admission::{ADMITS, CAPACITY, Marking, admits_until_full, check_admits};
use crate::queue::limit;
use crate::spec::{Component, Kind, Param, Values, param};

const PRIVATE: Component = Component {
    section: "buffer",
    kind: "private",
    doc: "A buffer of the port's own.",
    source: "packetloom",
    params: &[&[CAPACITY, ADMITS]],
    check: check_admits,
};

/// What all ports of a switch share.
pub(super) const SIZE: Param =
    param! { required "size": Kind::Bytes, "The buffer of a switch.", "packetloom" };

const POOL: Component = Component {
    section: "buffer",
    kind: "pool",
    doc: "A buffer that all ports of a switch share: a port's queue may grow to alpha times what is free of it (dynamic thresholds). Hosts' ports do not use it.",
    source: "Choudhury and Hahne, ToN 1998",
    params: &[&[
        SIZE,
        param! {
            "alpha" = "1": Kind::Number(0.001, 1024.0),
            "A port's queue may grow to this many times what is free.",
            "Choudhury and Hahne, ToN 1998: alpha = 1"
        },
        CAPACITY,
        ADMITS,
    ]],
    check: check_admits,
};

/// Every component of the section "buffer".
pub const COMPONENTS: &[Component] = &[PRIVATE, POOL, abm::COMPONENT, lossless::INGRESS, reverie::COMPONENT];

/// The size of the buffer that the ports of a switch share, and how much of what is free a port may take, where that is
/// not a matter of its queues.
pub fn pool(buffer: &Values) -> Option<(u64, f64)> {
    match goes_by_queues(buffer) {
        true => Some((buffer.bytes("size"), 1.0)),
        false => (buffer.kind == POOL.kind).then(|| (buffer.bytes("size"), buffer.number("alpha"))),
    }
}

/// Whether a buffer that the ports of a switch share is divided among their queues.
pub fn goes_by_queues(buffer: &Values) -> bool {
    buffer.kind == abm::COMPONENT.kind
}

/// What a port alone admits.
pub(super) fn admission(buffer: &Values) -> Admission {
    match lossless::is_charged(buffer) {
        true => Admission::UNLIMITED,
        false => Admission::of(buffer, Marking::Never),
    }
}

/// The most that may wait at a port, the pool aside.
pub(super) fn most_bytes(buffer: &Values, packet_bytes: u64) -> Option<u64> {
    if lossless::is_charged(buffer) {
        return Some(buffer.bytes("size"));
    }
    let beyond = if admits_until_full(buffer) { packet_bytes - 1 } else { 0 };
    Some(limit(buffer, "capacity", packet_bytes)?.saturating_add(beyond))
}

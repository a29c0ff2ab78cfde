//! A switch whose ports share one buffer, with priority flow control (IEEE 802.1Qbb, PFC): what a link brought in
//! is charged to it, class by class, and a lossless class of a link that has too much of the buffer is paused at
//! the far end.
//!
//! The ports' part is in `port.rs`: classes, of which paused ones (`flow_control/`) wait, and marks at dequeue. The
//! buffer's is in `memory.rs`: what is admitted, and when a class is paused and resumed; Reverie's filters in `filters.rs`;
//! where marks begin, in `thresholds.rs`.

mod filters;
mod limits;
mod memory;
mod params;
mod port;
mod settings;
mod thresholds;

pub use limits::{Headroom, check_host_limits, check_limits};
pub use memory::{Memory, Signals};
pub(in crate::queue) use params::{
    BUFFER, CARRIES, FRAMES, HEADROOM, LOSSLESS, MMU, SHARES, UNSAFE_HEADROOM,
};
pub use port::SharedPort;
pub use settings::{pfc, written_as};
pub use thresholds::interpolated;
pub(super) use thresholds::{MARKING_PARAMS, Thresholds, check_marking};

use super::flow_control::{CLASSES, CONTROL, class_in};
use super::{Buffer, Built, Queue, Traits, egress};
use crate::spec::{Complaint, Component, Kind, Registered, Value, Values, param};
use crate::units::Rate;

/// The arithmetic of thresholds overflows beyond this; no switch has as much.
pub const LARGEST_BUFFER: u64 = 1 << 40;

const COMPONENT: Component = Component {
    section: "queue",
    kind: "shared-buffer",
    doc: "A switch with one buffer for all ports, eight classes, and priority flow control: links that fill too much of the buffer are paused, so no packet of a lossless class is dropped. Class 0 has strict priority and is never paused; what is not data takes no buffer in it. The other classes take turns. At a host, it is the NIC, which can be paused.",
    source: "IEEE 802.1Qbb; HPCC's ns-3 simulator",
    params: &[
        &[MMU, BUFFER, LOSSLESS],
        SHARES,
        FRAMES,
        MARKING_PARAMS,
        &[param! {
            "ties" = "rotate": Kind::Choice(&["rotate", "ns-3"]),
            "Which of several packets that arrive at a switch at the same instant goes first. Each link's in turn; or, to replay ns-3, the order in which its events were scheduled. That is the longest packet, then the one that its host planned first (or by what had been planned first), then that of the link whose last packet came longest ago.",
            "packetloom; real switches serve their ports in turn"
        }],
    ],
    check,
};

/// The queue.
pub const QUEUE: Registered<Queue> = Registered {
    component: COMPONENT,
    factory: Queue {
        most_bytes: |values, _| Some(values.bytes("buffer")),
        is_sized_by_design: |values| lossless(values) != 0,
        marks: |values| values.optional_bytes("ecn_max").is_some(),
        classes: |_| Some(CLASSES as u64),
        traits: |_| Traits { shares_buffer: true, ..Traits::NONE },
        ..Queue::new(|values| Built::Held(Buffer::Shared(Box::new(SharedPort::build(values)))))
    },
};

fn check(values: &Values) -> Result<(), Complaint> {
    check_marking(values)?;
    check_settings(values)
}

/// What must hold of the buffer and its pauses.
pub(super) fn check_settings(values: &Values) -> Result<(), Complaint> {
    if values.bytes("buffer") > LARGEST_BUFFER {
        return Err(Complaint::new("buffer", format!("write at most {LARGEST_BUFFER}B")));
    }
    if !(1..=65_535).contains(&values.bytes("pause_frame")) {
        return Err(Complaint::new("pause_frame", "write a size from 1B to 65535B"));
    }
    let classes: Vec<u64> = numbers(values);
    if let Some(class) = classes.iter().find(|class| **class >= CLASSES as u64) {
        let message =
            format!("there is no class {class}; write classes from 1 to 7: class 0 is never paused");
        return Err(Complaint::new("lossless", message));
    }
    let meaningless = ["headroom", "pause_above", "pause_time", "watchdog"];
    let meaningless = meaningless.into_iter().find(|key| *values.get(key) != Value::Absent);
    if let Some(key) = meaningless.filter(|_| classes.is_empty()) {
        return Err(Complaint::new(key, "has no meaning where no class is lossless; leave it out"));
    }
    if limits_all(values) && values.text("mmu") == "hpcc-ns3" && *values.get("egress_alpha") == Value::Absent
    {
        let message = "\"hpcc-ns3\" limits nothing at egress; write egress_alpha, too, or leave this out";
        return Err(Complaint::new("egress_limits", message));
    }
    if limits_all(values) && classes.is_empty() {
        return Err(Complaint::new(
            "egress_limits",
            "no class is lossless, so all are limited; leave it out",
        ));
    }
    if pauses_run_out(values) && *values.get("pause_time") == Value::Absent {
        let message = "a pause that does not end is not repeated; write pause_time, too, or leave this out";
        return Err(Complaint::new("pause_repeats", message));
    }
    if values.optional_bytes("pause_above") == Some(0) {
        return Err(Complaint::new(
            "pause_above",
            "every link would be paused for ever; write a size above zero",
        ));
    }
    let by_alpha = ["alpha", "alpha_by_rate"].into_iter().find(|key| *values.get(key) != Value::Absent);
    if let Some(key) = by_alpha.filter(|_| values.optional_bytes("pause_above").is_some()) {
        return Err(Complaint::new(key, "pause_above says when links are paused; leave one of the two out"));
    }
    Ok(())
}

pub(super) fn numbers(values: &Values) -> Vec<u64> {
    let number = |value: &Value| match value {
        Value::Count(class) => *class,
        other => panic!("a class is {other:?}"),
    };
    values.list("lossless").iter().map(number).collect()
}

/// Which classes are lossless, a bit for each.
pub(super) fn lossless(values: &Values) -> u8 {
    numbers(values).into_iter().fold(0, |classes, class| classes | 1 << class)
}

/// Whether lossless classes are limited at egress, too.
fn limits_all(queue: &Values) -> bool {
    queue.text("egress_limits") == "all"
}

/// Whether pauses are repeated by arrivals only, and run out without; of [`pfc`].
pub fn pauses_run_out(queue: &Values) -> bool {
    queue.text("pause_repeats") == "arrivals"
}

/// Whether a queue that pauses keeps its lossless classes from every loss.
pub fn is_lossless(queue: &Values) -> bool {
    let loses = |pfc: &Values| {
        let gives_up = pfc.optional_time("watchdog").is_some();
        pfc.flag("unsafe_headroom") || limits_all(pfc) || pauses_run_out(pfc) || gives_up
    };
    pfc(queue).is_some_and(|pfc| !loses(&pfc))
}

/// The size of its pause frames, if a queue is charged to links.
pub fn pause_bytes(queue: &Values) -> Option<u64> {
    pfc(queue).map(|pfc| pfc.bytes("pause_frame"))
}

/// The classes that a queue pauses, a bit for each.
pub fn paused_classes(queue: &Values) -> u8 {
    pfc(queue).map_or(0, |pfc| lossless(&pfc))
}

/// Whether a queue has a class that it pauses.
pub fn pauses(queue: &Values) -> bool {
    paused_classes(queue) != 0
}

/// Whether pauses may hold each other forever: where some class is lossless and no watchdog breaks it.
pub fn may_deadlock(queue: &Values) -> bool {
    pfc(queue).is_some_and(|pfc| lossless(&pfc) != 0 && pfc.optional_time("watchdog").is_none())
}

/// The default of a switch in either simulator.
fn by_mmu<T>(values: &Values, hpcc: T, conweave: T) -> T {
    if values.text("mmu") == "conweave-ns3" { conweave } else { hpcc }
}

/// Whether the buffer is shared out by filters, as Reverie's is.
fn is_filtered(values: &Values) -> bool {
    values.text("mmu") == egress::REVERIE.kind
}

/// Of the classes that are ready, a bit for each, the one to serve: the control class, else the next after the one
/// that was served last.
#[inline]
pub(super) fn next_in_turn(ready: u8, served: u32) -> Option<usize> {
    if ready >> CONTROL & 1 == 1 {
        return Some(usize::from(CONTROL));
    }
    let after = u32::from(ready) & (u32::MAX << (served + 1));
    let next = if after != 0 { after } else { ready.into() };
    (next != 0).then(|| next.trailing_zeros() as usize)
}

/// By how much alpha is larger for a link of this rate: by what doubled rates double.
fn doublings(rate: Rate, host_rate: Rate) -> u32 {
    let mut rate = rate.as_bps();
    let mut times = 0;
    while rate > host_rate.as_bps() {
        rate /= 2;
        times += 1;
    }
    times
}

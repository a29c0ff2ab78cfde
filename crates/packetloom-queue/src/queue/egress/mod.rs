//! A port of parts: a buffer that admits, an AQM that judges what comes and what leaves, a scheduler between them, and
//! flow control that says which of the scheduler's queues may send.

mod abm;
mod buffer;
mod lossless;
#[cfg(test)]
mod lossless_tests;
mod pipeline;
mod reverie;
#[cfg(test)]
mod tests;

use super::admission::{never_drops_first, never_marks};
use super::flow_control::{CBFC, PFC, credit};
use super::{Buffer, Built, LARGEST_BUFFER, Queue, Traits, aqm, has_room, limit, scheduler};
use crate::spec::{Complaint, Component, Kind, Registered, Value, Values, param};
pub use abm::Abm;
pub use buffer::COMPONENTS as BUFFER_COMPONENTS;
pub(super) use buffer::pool;
pub(super) use lossless::is_charged;
pub use pipeline::Egress;
pub(super) use reverie::{COMPONENT as REVERIE, fixed};

const COMPONENT: Component = Component {
    section: "queue",
    kind: "egress",
    doc: "A port put together of parts. A packet that comes is admitted by the buffer and judged by the AQM, and joins a queue of the scheduler. When the line is free, flow control says which queues may send, the scheduler which of them does, and the AQM judges what leaves. The AQM has a state for each queue of the scheduler: the port, a class, or a flow.",
    source: "packetloom; RFC 7567 §1: buffer management and scheduling",
    params: &[&[
        param! {
            "scheduler" = "fifo": Kind::Component("scheduler"),
            "Which packet goes next.", "packetloom"
        },
        param! {
            "aqm" = "none": Kind::Component("aqm"),
            "Which packets are marked, or dropped although there is room.", "packetloom"
        },
        param! {
            "buffer" = "private": Kind::Component("buffer"),
            "Which packets are admitted, and how much may wait.", "packetloom"
        },
        param! {
            "flow_control" = "none": Kind::Component("flow_control"),
            "What the far end of the link allows to be sent.", "packetloom"
        },
    ]],
    check,
};

/// The queue.
pub const QUEUE: Registered<Queue> = Registered {
    component: COMPONENT,
    factory: Queue {
        most_bytes: |values, packet_bytes| match by_credit(values) {
            // Bounded by the credit of all links of a switch, which no single port knows.
            true => Some(LARGEST_BUFFER),
            false => buffer::most_bytes(&values.component("buffer"), packet_bytes),
        },
        is_sized_by_design: |values| {
            is_lossless(values) || scheduler::traits(&values.component("scheduler")).shortest_first
        },
        marks: |values| aqm::marks(&values.component("aqm")),
        drops_unscheduled: |values| values.component("aqm").kind == aqm::SELECTIVE,
        weighs: |values| scheduler::weighs(&values.component("scheduler")),
        classes: |values| scheduler::classes(&values.component("scheduler")),
        levels: |values| scheduler::levels(&values.component("scheduler")),
        traits,
        check: check_room,
        ..Queue::new(build)
    },
};

/// Whether classes can be paused.
fn pauses(values: &Values) -> bool {
    values.component("flow_control").kind == PFC.kind
}

/// Whether the far end gives credit.
fn by_credit(values: &Values) -> bool {
    values.component("flow_control").kind == CBFC.kind
}

/// Whether flow control keeps some classes from losing packets.
fn is_lossless(values: &Values) -> bool {
    pauses(values) || by_credit(values)
}

fn traits(values: &Values) -> Traits {
    let shares_buffer = pauses(values) || buffer::pool(&values.component("buffer")).is_some();
    let drops_early = aqm::drops(&values.component("aqm"));
    Traits { shares_buffer, drops_early, ..scheduler::traits(&values.component("scheduler")) }
}

/// Of the same parts as a queue with a name it is that queue: what is first in, first out, and judged on arrival alone,
/// need not be held; and the orders of pFabric and of fair queueing in a buffer of their own have queues of their own.
fn build(values: &Values) -> Built {
    if is_lossless(values) {
        return Built::Held(Buffer::Egress(Box::new(Egress::build(values))));
    }
    let [scheduler, aqm, buffer] = ["scheduler", "aqm", "buffer"].map(|key| values.component(key));
    let admission = aqm::admission(&aqm, &buffer);
    let capacity_bytes = match (buffer::pool(&buffer), buffer.get("capacity")) {
        (None, Value::Bytes(bytes)) => Some(*bytes),
        _ => None,
    };
    match (admission, capacity_bytes) {
        (Some(admission), _) if scheduler::is_fifo(&scheduler) && !buffer::goes_by_queues(&buffer) => {
            Built::Fifo(admission)
        }
        (_, Some(bytes)) if aqm.kind == aqm::NONE => match scheduler::alone(&scheduler, bytes) {
            Some(queue) => Built::Held(queue),
            None => Built::Held(Buffer::Egress(Box::new(Egress::build(values)))),
        },
        _ => Built::Held(Buffer::Egress(Box::new(Egress::build(values)))),
    }
}

fn check(values: &Values) -> Result<(), Complaint> {
    lossless::check(values)?;
    let (scheduler, buffer) = (values.component("scheduler"), values.component("buffer"));
    if scheduler::evicts(&scheduler) && buffer.text("admits") != "what-fits" {
        let message = format!(
            "with scheduler = {:?} any packet joins, and what is to go first is dropped; leave this out",
            scheduler.kind
        );
        return Err(Complaint::new("buffer.admits", message));
    }
    if buffer::goes_by_queues(&buffer) && scheduler::queues(&scheduler).is_none() {
        let message = format!(
            "{:?} divides the buffer among classes, and scheduler = {:?} has none; write scheduler = \"strict\", \"dwrr\", \"dual-queue\" or \"fifo\", or buffer = \"pool\"",
            buffer.kind, scheduler.kind
        );
        return Err(Complaint::new("buffer", message));
    }
    let aqm = values.component("aqm");
    if aqm::couples(&aqm) && !scheduler::is_dual(&scheduler) {
        let message = format!(
            "{:?} couples the two queues of scheduler = \"dual-queue\", and there is {:?}; write that scheduler, or another aqm",
            aqm.kind, scheduler.kind
        );
        return Err(Complaint::new("aqm", message));
    }
    Ok(())
}

fn check_room(values: &Values, packet_bytes: u64) -> Result<(), Complaint> {
    let (aqm, buffer) = (values.component("aqm"), values.component("buffer"));
    let within = |part: &str, complaint: Complaint| Complaint {
        key: format!("{part}.{}", complaint.key),
        ..complaint
    };
    for key in ["capacity", "size"].into_iter().filter(|key| buffer.entries.contains_key(*key)) {
        has_room(&buffer, key, packet_bytes).map_err(|complaint| within("buffer", complaint))?;
        let most = limit(&buffer, key, packet_bytes);
        never_marks(&aqm, most, &format!("buffer.{key}"), packet_bytes)
            .map_or(Ok(()), |complaint| Err(within("aqm", complaint)))?;
        if aqm.kind == aqm::SELECTIVE {
            never_drops_first(&aqm, "drop_above", most, packet_bytes)
                .map_err(|complaint| within("aqm", complaint))?;
        }
    }
    if by_credit(values) {
        credit::check_size(&values.component("flow_control"), packet_bytes)
            .map_err(|complaint| within("flow_control", complaint))?;
    }
    Ok(())
}

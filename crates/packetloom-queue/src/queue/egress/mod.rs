//! A port of parts: a buffer that admits, an AQM that judges what comes and what leaves, a scheduler between them, and
//! flow control that says which of the scheduler's queues may send.

mod abm;
mod buffer;
pub(super) mod by_credit;
mod lossless;
#[cfg(test)]
mod lossless_tests;
mod pipeline;
mod reverie;
#[cfg(test)]
mod tests;

use super::admission::{Limit, Marking};
use super::flow_control::Specification as FlowControl;
use super::scheduler::Scheduler;
use super::specification::{self, Bound, Making};
use super::{Buffer, Built, LARGEST_BUFFER, Pfc, Specification, Traits, aqm, flow_control, scheduler};
use crate::spec::{Complaint, Component, Kind, Registered, Values, param};
pub use abm::Abm;
pub(super) use abm::ByQueues;
pub use buffer::COMPONENTS as BUFFER_COMPONENTS;
use buffer::Room;
pub use pipeline::Egress;

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
pub const QUEUE: Registered<Making> =
    Registered { component: COMPONENT, factory: Making::new(|values| Parts::of(values).specify(values)) };

/// The parts of a port.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    scheduler: scheduler::Specification,
    aqm: aqm::Specification,
    buffer: Room,
    flow_control: flow_control::Specification,
}

impl Parts {
    /// Those that a scenario names.
    fn of(values: &Values) -> Parts {
        Parts {
            scheduler: scheduler::Specification::of(&values.component("scheduler")),
            aqm: aqm::Specification::of(&values.component("aqm")),
            buffer: Room::of(&values.component("buffer")),
            flow_control: flow_control::Specification::of(&values.component("flow_control")),
        }
    }

    /// Whether flow control keeps some classes from losing packets.
    fn is_lossless(&self) -> bool {
        !matches!(self.flow_control, FlowControl::None)
    }

    /// Its buffer that is charged to links, and its pauses, if it has both.
    fn pfc(&self) -> Option<Pfc> {
        match (self.buffer.shares, self.flow_control) {
            (Some(shares), FlowControl::Pauses(pauses)) => Some(Pfc::of_parts(shares, pauses)),
            _ => None,
        }
    }

    /// Of the same parts as a queue with a name it is that queue: what is first in, first out, and judged on arrival
    /// alone, need not be held; and the orders of pFabric and of fair queueing in a buffer of their own have queues of
    /// their own.
    fn build(&self) -> Built {
        let (is_alone, own) = (!self.is_lossless(), self.buffer.own);
        let same = match self.aqm.on_arrival {
            Some(marking) if is_alone && self.scheduler.is_fifo && self.buffer.by_queues().is_none() => {
                return Built::Fifo(own.marking(marking));
            }
            Some(Marking::Never) if is_alone && self.buffer.pool.is_none() => match own.capacity() {
                Limit::Bytes(bytes) => self.scheduler.empty.alone(bytes),
                _ => None,
            },
            _ => None,
        };
        Built::Held(same.unwrap_or_else(|| Buffer::Egress(Box::new(Egress::build(self)))))
    }

    fn specify(&self, values: &Values) -> Specification {
        let Parts { scheduler, aqm, buffer, flow_control } = self;
        let (pfc, credit) = match flow_control {
            FlowControl::Credit(credit) => (None, Some(*credit)),
            _ => (self.pfc(), None),
        };
        let thresholds: Vec<_> = aqm.thresholds.iter().map(|threshold| threshold.within("aqm")).collect();
        let rooms = buffer.rooms().into_iter();
        Specification {
            // What has credit is bounded by that of all links of a switch, which no single port knows.
            bounds: match credit {
                Some(_) => vec![Bound::bytes(LARGEST_BUFFER)],
                None => buffer.bound().into_iter().collect(),
            },
            rooms: rooms.map(|(key, most)| specification::Room::new(key, most, thresholds.clone())).collect(),
            is_sized_by_design: self.is_lossless() || scheduler.traits.shortest_first,
            marks: aqm.marks,
            drops_unscheduled: aqm.drops_unscheduled,
            weighs: scheduler.weighs,
            classes: scheduler.classes,
            levels: scheduler.levels,
            traits: Traits {
                shares_buffer: pfc.is_some() || buffer.pool.is_some(),
                drops_early: aqm.drops,
                ..scheduler.traits
            },
            pool: buffer.pool_of(scheduler),
            pfc,
            credit,
            ..Specification::new(values, self.build())
        }
    }
}

fn check(values: &Values) -> Result<(), Complaint> {
    let parts = Parts::of(values);
    let names = ["scheduler", "aqm", "buffer"].map(|key| values.component(key).kind);
    let [of_scheduler, of_aqm, of_buffer] = &names;
    lossless::check(&parts, [of_scheduler, of_aqm, of_buffer], values)?;
    if parts.scheduler.evicts && values.component("buffer").text("admits") != "what-fits" {
        let message = format!(
            "with scheduler = {of_scheduler:?} any packet joins, and what is to go first is dropped; leave this out"
        );
        return Err(Complaint::new("buffer.admits", message));
    }
    if parts.buffer.by_queues().is_some() && parts.scheduler.queues.is_none() {
        let message = format!(
            "{of_buffer:?} divides the buffer among classes, and scheduler = {of_scheduler:?} has none; write scheduler = \"strict\", \"dwrr\", \"dual-queue\" or \"fifo\", or buffer = \"pool\""
        );
        return Err(Complaint::new("buffer", message));
    }
    if parts.aqm.couples && !parts.scheduler.is_dual {
        let message = format!(
            "{of_aqm:?} couples the two queues of scheduler = \"dual-queue\", and there is {of_scheduler:?}; write that scheduler, or another aqm"
        );
        return Err(Complaint::new("aqm", message));
    }
    Ok(())
}

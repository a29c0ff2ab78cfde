//! Flow control at a port of parts: the buffer that goes with it, and which other parts do.

use super::Parts;
use super::buffer::{Read, Room};
use crate::queue::flow_control::{CLASSES, Specification as FlowControl};
use crate::queue::scheduler::Specification;
use crate::queue::shared_buffer::{BUFFER, MMU, SHARES, Shares};
use crate::spec::{Complaint, Component, Param, Registered, Value, Values, anything};

const COMPONENT: Component = Component {
    section: "buffer",
    kind: "ingress",
    doc: "A buffer that all ports of a switch share, charged by the link that a packet came by and its class. With flow_control = \"pfc\" a lossless class of a link that uses too much of it is paused at the far end; headroom holds what arrives until then. Hosts' ports do not use it.",
    source: "IEEE 802.1Qbb; HPCC's ns-3 simulator",
    params: &[&[MMU, Param { name: "size", ..BUFFER }], SHARES],
    check: anything,
};

/// The buffer of a switch with priority flow control.
pub(super) const INGRESS: Registered<Read> = Registered {
    component: COMPONENT,
    factory: |values| Room::charged(Shares::of(values, values.bytes("size"))),
};

/// Flow control needs a buffer that goes with it, and queues that one class can be kept back in; and nothing may drop what
/// it keeps. The parts are called so.
pub(super) fn check(parts: &Parts, names: [&str; 3], values: &Values) -> Result<(), Complaint> {
    let [of_scheduler, of_aqm, of_buffer] = names;
    let flow_control = values.component("flow_control");
    let is_charged = parts.buffer.shares.is_some();
    match (parts.flow_control, is_charged) {
        (FlowControl::Credit(_), _) => {
            check_buffer_of_links(parts, of_buffer)?;
            return check_classes(&parts.scheduler, of_scheduler, &flow_control);
        }
        (FlowControl::None, false) => return Ok(()),
        (FlowControl::Pauses(_), false) => {
            let message = format!(
                "\"pfc\" pauses links by what they have in a switch's buffer, and {of_buffer:?} does not count that; write \
                 buffer = \"ingress\" or \"reverie\", or leave flow_control out"
            );
            return Err(Complaint::new("buffer", message));
        }
        (FlowControl::None, true) => {
            let message = format!(
                "{of_buffer:?} is shared out by pausing links; write flow_control = \"pfc\", too, or buffer = \"pool\""
            );
            return Err(Complaint::new("buffer", message));
        }
        (FlowControl::Pauses(_), true) => {}
    }
    check_classes(&parts.scheduler, of_scheduler, &flow_control)?;
    if parts.aqm.drops {
        let message = format!(
            "{of_aqm:?} drops packets for which there is room, and \"pfc\" is there to lose none; write aqm = \"threshold\", \
             \"red\" or \"sojourn\", which mark, or leave flow_control out"
        );
        return Err(Complaint::new("aqm", message));
    }
    parts.pfc().map_or(Ok(()), |pfc| pfc.check())
}

/// Each link has buffer of its own for what has credit.
fn check_buffer_of_links(parts: &Parts, of_buffer: &str) -> Result<(), Complaint> {
    if parts.buffer.shares.is_none() && parts.buffer.pool.is_none() {
        return Ok(());
    }
    let message = format!(
        "with flow_control = \"cbfc\" each link has buffer of its own for its lossless classes, and {of_buffer:?} is shared; \
         write buffer = \"private\", for what needs no credit"
    );
    Err(Complaint::new("buffer", message))
}

/// A queue of the scheduler must have classes of its own, all of those that flow control names.
fn check_classes(
    scheduler: &Specification,
    of_scheduler: &str,
    flow_control: &Values,
) -> Result<(), Complaint> {
    let name = &flow_control.kind;
    let Some(classes) = scheduler.classes else {
        if scheduler.is_fifo {
            return Ok(());
        }
        let message = format!(
            "{name:?} holds traffic classes back, and {of_scheduler:?} mixes them in its queues; write scheduler = \
             \"strict\", \"dwrr\", or \"fifo\", which waits while any class must"
        );
        return Err(Complaint::new("scheduler", message));
    };
    if classes > CLASSES as u64 {
        let message = format!(
            "{classes} classes, and {name:?} has {CLASSES}, 0 to {}; write {CLASSES} at most",
            CLASSES - 1
        );
        return Err(Complaint::new("scheduler", message));
    }
    let lossless = flow_control.list("lossless");
    match lossless.iter().find(|class| class.as_count() >= classes) {
        Some(Value::Count(class)) => {
            let message = format!(
                "there is no class {class}: scheduler = {of_scheduler:?} has {classes}, 0 to {}; write one of these, or give \
                 it more",
                classes - 1
            );
            Err(Complaint::new("flow_control.lossless", message))
        }
        _ => Ok(()),
    }
}

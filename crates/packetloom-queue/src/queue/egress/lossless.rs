//! Flow control at a port of parts: the buffer that goes with it, and which other parts do.

use super::reverie;
use crate::queue::flow_control::{CBFC, CLASSES, PFC};
use crate::queue::shared_buffer::{BUFFER, MMU, SHARES, check_settings, pfc, written_as};
use crate::queue::{aqm, scheduler};
use crate::spec::{Complaint, Component, Param, Value, Values, anything};

/// The buffer of a switch with priority flow control.
pub(super) const INGRESS: Component = Component {
    section: "buffer",
    kind: "ingress",
    doc: "A buffer that all ports of a switch share, charged by the link that a packet came by and its class. With flow_control = \"pfc\" a lossless class of a link that uses too much of it is paused at the far end; headroom holds what arrives until then. Hosts' ports do not use it.",
    source: "IEEE 802.1Qbb; HPCC's ns-3 simulator",
    params: &[&[MMU, Param { name: "size", ..BUFFER }], SHARES],
    check: anything,
};

/// Whether a buffer counts by which link packets came, so that links can be paused.
pub(in crate::queue) fn is_charged(buffer: &Values) -> bool {
    [INGRESS.kind, reverie::COMPONENT.kind].contains(&buffer.kind.as_str())
}

/// Flow control needs a buffer that goes with it, and queues that one class can be kept back in; and nothing may drop what
/// it keeps.
pub(super) fn check(values: &Values) -> Result<(), Complaint> {
    let [scheduler, aqm, buffer, flow_control] =
        ["scheduler", "aqm", "buffer", "flow_control"].map(|key| values.component(key));
    if flow_control.kind == CBFC.kind {
        check_buffer_of_links(&buffer)?;
        return check_classes(&scheduler, &flow_control);
    }
    match (flow_control.kind == PFC.kind, is_charged(&buffer)) {
        (false, false) => return Ok(()),
        (true, false) => {
            let message = format!(
                "\"pfc\" pauses links by what they have in a switch's buffer, and {:?} does not count that; write buffer = \
                 \"ingress\" or \"reverie\", or leave flow_control out",
                buffer.kind
            );
            return Err(Complaint::new("buffer", message));
        }
        (false, true) => {
            let message = format!(
                "{:?} is shared out by pausing links; write flow_control = \"pfc\", too, or buffer = \"pool\"",
                buffer.kind
            );
            return Err(Complaint::new("buffer", message));
        }
        (true, true) => {}
    }
    check_classes(&scheduler, &flow_control)?;
    if aqm::drops(&aqm) {
        let message = format!(
            "{:?} drops packets for which there is room, and \"pfc\" is there to lose none; write aqm = \"threshold\", \
             \"red\" or \"sojourn\", which mark, or leave flow_control out",
            aqm.kind
        );
        return Err(Complaint::new("aqm", message));
    }
    let Some(settings) = pfc(values) else { return Ok(()) };
    check_settings(&settings)
        .map_err(|complaint| Complaint { key: written_as(values, &complaint.key), ..complaint })
}

/// Each link has buffer of its own for what has credit.
fn check_buffer_of_links(buffer: &Values) -> Result<(), Complaint> {
    if buffer.kind == "private" {
        return Ok(());
    }
    let message = format!(
        "with flow_control = \"cbfc\" each link has buffer of its own for its lossless classes, and {:?} is shared; write \
         buffer = \"private\", for what needs no credit",
        buffer.kind
    );
    Err(Complaint::new("buffer", message))
}

/// A queue of the scheduler must have classes of its own, all of those that flow control names.
fn check_classes(scheduler: &Values, flow_control: &Values) -> Result<(), Complaint> {
    let name = &flow_control.kind;
    let Some(classes) = scheduler::classes(scheduler) else {
        if scheduler::is_fifo(scheduler) {
            return Ok(());
        }
        let message = format!(
            "{name:?} holds traffic classes back, and {:?} mixes them in its queues; write scheduler = \"strict\", \
             \"dwrr\", or \"fifo\", which waits while any class must",
            scheduler.kind
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
                "there is no class {class}: scheduler = {:?} has {classes}, 0 to {}; write one of these, or give it more",
                scheduler.kind,
                classes - 1
            );
            Err(Complaint::new("flow_control.lossless", message))
        }
        _ => Ok(()),
    }
}

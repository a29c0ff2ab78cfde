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
pub(super) use settings::{Filter, Shares, Sharing};
pub use settings::{Pauses, Pfc};
pub(super) use thresholds::{MARKING_PARAMS, Thresholds, check_marking};

use super::flow_control::{CLASSES, CONTROL, class_in};
use super::specification::{Bound, Making};
use super::{Buffer, Built, Specification, Traits};
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
pub const QUEUE: Registered<Making> = Registered {
    component: COMPONENT,
    factory: Making { settable: &["ecn_min", "ecn_max", "ecn_probability"], ..Making::new(read) },
};

fn read(values: &Values) -> Specification {
    let thresholds = Thresholds::of(values);
    let ties_as_ns3 = values.text("ties") == "ns-3";
    let port = SharedPort::build(ties_as_ns3, thresholds);
    let mut pfc = Pfc::new(Shares::of(values, values.bytes("buffer")), Pauses::of(values));
    pfc.ties_as_ns3 = ties_as_ns3;
    Specification {
        bounds: vec![Bound::bytes(pfc.buffer_bytes())],
        is_sized_by_design: pfc.pauses.lossless != 0,
        marks: thresholds.is_some(),
        may_mark: true,
        thresholds,
        classes: Some(CLASSES as u64),
        traits: Traits { shares_buffer: true, ..Traits::NONE },
        pfc: Some(pfc),
        ..Specification::new(values, Built::Held(Buffer::Shared(Box::new(port))))
    }
}

fn check(values: &Values) -> Result<(), Complaint> {
    check_marking(values)?;
    check_lossless(values, "class 0 is never paused")?;
    Pfc::new(Shares::of(values, values.bytes("buffer")), Pauses::of(values)).check()
}

/// Refuses classes that there are not, and the control class, of which something is so.
pub(super) fn check_lossless(values: &Values, of_control: &str) -> Result<(), Complaint> {
    match values.list("lossless").iter().map(Value::as_count).find(|class| *class >= CLASSES as u64) {
        Some(class) => {
            let message = format!("there is no class {class}; write classes from 1 to 7: {of_control}");
            Err(Complaint::new("lossless", message))
        }
        None => Ok(()),
    }
}

/// Which classes are lossless, a bit for each.
pub(super) fn lossless(values: &Values) -> u8 {
    values.list("lossless").iter().fold(0, |classes, class| classes | 1 << class.as_count())
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

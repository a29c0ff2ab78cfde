//! Credit-based flow control (Ultra Ethernet specification 1.0, §5.2): a port sends a packet of a lossless class only
//! if the far end has room for it, and the far end says what has become free.
//!
//! Each link has buffer of its own at the switch that it leads to, for each lossless class (a virtual channel), counted
//! in credits. A packet takes as many as it needs when it is sent, and gives them back when it leaves that switch
//! (`engine/switch/credits.rs`). So nothing of these classes is ever lost, and no headroom has to be kept for what
//! comes in after a pause. Hosts take whatever comes.
//!
//! A port of parts: classes that take turns, marks as packets leave switches, a buffer for each class that needs no
//! credit, and credits.

mod of_switches;
mod turns;

pub use of_switches::OfSwitches;
pub use turns::Turns;

use super::Egress;
use crate::queue::flow_control::CLASSES;
use crate::queue::flow_control::credit::{self, Credit, UEC};
use crate::queue::shared_buffer::{MARKING_PARAMS, Thresholds, check_marking};
use crate::queue::specification::{Bound, Making, Specification};
use crate::queue::{Buffer, Built, LARGEST_BUFFER};
use crate::spec::{Complaint, Component, Kind, Registered, Values, param};

/// A port of these parts.
pub type ByCredit = Egress<Turns, OfSwitches>;

const COMPONENT: Component = Component {
    section: "queue",
    kind: "cbfc",
    doc: "Credit-based flow control: a port sends data of a lossless class only as far as the switch at the far end has given it credit, so no packet of these classes is lost. Class 0 has strict priority and needs no credit; the other classes take turns. At a host, it is the NIC, which waits for credit.",
    source: UEC,
    params: &[
        credit::PARAMS,
        &[param! {
            "capacity" = "1MB": Kind::Bytes,
            "How much may wait at a switch's port of each class that needs no credit; data beyond it are dropped.",
            "packetloom"
        }],
        MARKING_PARAMS,
    ],
    check,
};

/// The queue.
pub const QUEUE: Registered<Making> = Registered { component: COMPONENT, factory: Making::new(read) };

fn read(values: &Values) -> Specification {
    let (credit, thresholds) = (Credit::of(values), Thresholds::of(values));
    let aqm = OfSwitches::new(thresholds);
    let port = Egress::by_credit(Turns::default(), aqm, credit, values.bytes("capacity"));
    Specification {
        // Lossless classes are bounded by the credit of all links of a switch, which no single port knows.
        bounds: vec![Bound::bytes(LARGEST_BUFFER)],
        is_sized_by_design: true,
        marks: thresholds.is_some(),
        may_mark: true,
        thresholds,
        classes: Some(CLASSES as u64),
        credit: Some(credit),
        ..Specification::new(values, Built::Held(Buffer::ByCredit(Box::new(port))))
    }
}

fn check(values: &Values) -> Result<(), Complaint> {
    check_marking(values)?;
    credit::check(values)?;
    credit::check_bytes(values, "capacity")
}

//! Flow control: which classes the far end of a link lets go. The port before the link goes by it, whatever its queue
//! is; so do watchdogs and the detection of deadlocks.

mod cbfc;
pub(super) mod credit;
mod gates;
mod paused;
mod pfc;
mod port;

pub use gates::Gates;
pub use paused::{Pause, PauseRecord, PausedClasses};
pub(super) use port::FlowControl;

use super::Departure;
use super::shared_buffer::Pauses;
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::spec::{self, Component, Registered, Values, anything};
use credit::Credit;

const NONE: Registered<Read> = Registered {
    component: Component {
        section: "flow_control",
        kind: "none",
        doc: "No flow control: packets are sent as soon as the link is free.",
        source: "packetloom",
        params: &[],
        check: anything,
    },
    factory: |_| Specification::None,
};

const FLOW_CONTROLS: &[Registered<Read>] = &[NONE, pfc::FLOW_CONTROL, cbfc::FLOW_CONTROL];

/// Every component of the section "flow_control".
pub const COMPONENTS: &[Component] = &spec::components::<_, { FLOW_CONTROLS.len() }>(FLOW_CONTROLS);

/// How flow control is read.
type Read = fn(&Values) -> Specification;

/// The flow control of a port, as a scenario specifies it.
#[derive(Clone, Copy, Debug)]
pub enum Specification {
    /// None.
    None,
    /// Classes are paused.
    Pauses(Pauses),
    /// Lossless classes need credit.
    Credit(Credit),
}

impl Specification {
    /// From a component that was read.
    pub fn of(values: &Values) -> Specification {
        spec::factory(FLOW_CONTROLS, &values.kind)(values)
    }
}

/// How many traffic classes there are, as in IEEE 802.1Q.
pub const CLASSES: usize = 8;

/// The class that is never paused. What is not data is not charged there.
pub const CONTROL: u8 = 0;

/// The traffic class of a packet, where there are so many: unknown ones count as the last.
#[inline]
pub fn class_in(class: u8) -> usize {
    usize::from(class).min(CLASSES - 1)
}

/// Whether a packet is charged to its class: all data is, and whatever else does not go in the control class.
#[inline]
pub fn is_charged<H>(packet: &Packet<H>) -> bool {
    (packet.kind != Kind::Link) & ((packet.kind == Kind::Data) | (packet.class != CONTROL))
}

/// The class that a packet is charged to, if it is.
#[inline]
pub fn charged_class<H>(packet: &Packet<H>) -> Option<u8> {
    is_charged(packet).then(|| narrow::<u8>(class_in(packet.class)))
}

/// A packet that leaves, as its switch has to know it, if it was charged to the link that it came by.
#[inline]
pub fn departure<H: Copy + Default>(id: PacketId, packets: &Packets<H>) -> Option<Departure> {
    let packet = packets.get(id);
    let class = charged_class(packet)?;
    Some(Departure { from: packets.ingress(id), class, bytes: packet.size_bytes })
}

//! Credit-based flow control at a port of parts: a queue of its scheduler waits while its first packet has no credit.

use super::credit::{self, Credit, Ledger, UEC};
use super::{CLASSES, Gates, Read, Specification, charged_class};
use crate::narrow::narrow;
use crate::packet::Packet;
use crate::queue::Occupancy;
use crate::spec::{Component, Registered};

const COMPONENT: Component = Component {
    section: "flow_control",
    kind: "cbfc",
    doc: "Credit-based flow control: a queue of the scheduler sends data of a lossless class only as far as the switch at the far end has given it credit. No packet of these classes is lost: neither the buffer, which is for the others, nor the AQM drops it.",
    source: UEC,
    params: &[credit::PARAMS],
    check: credit::check,
};

/// The flow control.
pub(super) const FLOW_CONTROL: Registered<Read> =
    Registered { component: COMPONENT, factory: |values| Specification::Credit(Credit::of_parts(values)) };

/// What the first packet of a queue takes.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    class: usize,
    /// 0: it needs no credit, or there is none.
    bytes: u64,
}

/// What a port knows of credit.
#[derive(Clone, Debug)]
pub(super) struct Credits {
    pub(super) ledger: Ledger,
    heads: [Head; CLASSES],
    /// What waits that needs credit.
    charged: Occupancy,
}

impl Credits {
    pub(super) fn of(credit: &Credit) -> Credits {
        let charged = Occupancy::default();
        Credits { ledger: Ledger::of(credit), heads: [Head::default(); CLASSES], charged }
    }

    /// What waits that needs credit.
    pub(super) fn charged(&self) -> Occupancy {
        self.charged
    }

    /// Whether a packet needs credit.
    pub(super) fn charges<H>(&self, packet: &Packet<H>) -> bool {
        self.ledger.bytes_of(packet) > 0
    }

    /// A packet joins, and waits.
    pub(super) fn join<H>(&mut self, packet: &Packet<H>) {
        if self.charges(packet) {
            self.charged.add(packet.size_bytes);
        }
    }

    /// A packet is taken out; returns its class and what it took, if it needed credit.
    pub(super) fn leave<H>(&mut self, packet: &Packet<H>) -> Option<(u8, u64)> {
        let taken = self.ledger.bytes_of(packet);
        if taken == 0 {
            return None;
        }
        self.charged.remove(packet.size_bytes);
        Some((charged_class(packet)?, taken))
    }

    /// The first packet of a queue is another one, or there is none.
    pub(super) fn note_first<H>(&mut self, queue: usize, first: Option<&Packet<H>>) {
        let of = |packet: &Packet<H>| {
            let class = charged_class(packet).map_or(0, usize::from);
            Head { class, bytes: self.ledger.bytes_of(packet) }
        };
        self.heads[queue] = first.map_or_else(Head::default, of);
    }

    /// Which queues have credit for their first packets.
    pub(super) fn gates(&self) -> Gates {
        let is_short = |head: &Head| !self.ledger.has_credit(head.class, head.bytes);
        let closed = (0..).zip(&self.heads).filter(|(_, head)| is_short(head));
        Gates::closing(closed.fold(0, |closed, (queue, _)| closed | narrow::<u8>(1_u32 << queue)))
    }
}

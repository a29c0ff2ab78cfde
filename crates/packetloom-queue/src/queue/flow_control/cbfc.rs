//! Credit-based flow control at a port of parts: a queue of its scheduler waits while its first packet has no credit.

use super::credit::{self, Credit, Ledger, UEC};
use super::{CLASSES, Read, Specification, class_in};
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

/// The first packet of a queue.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    class: u8,
    /// What it takes of its class; 0: it needs no credit, or there is none.
    bytes: u32,
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

    /// A packet joins, and waits, which takes so much.
    #[inline]
    pub(super) fn join(&mut self, size_bytes: u16, taken_bytes: u64) {
        if taken_bytes > 0 {
            self.charged.add(size_bytes);
        }
    }

    /// The first packet of a queue is taken out; returns its class and what it took, if it needed credit.
    #[inline]
    pub(super) fn leave(&mut self, queue: usize, size_bytes: u16) -> Option<(u8, u64)> {
        let Head { class, bytes } = self.heads[queue];
        if bytes == 0 {
            return None;
        }
        self.charged.remove(size_bytes);
        Some((class, bytes.into()))
    }

    /// What the first packet of a queue takes; 0: it needs no credit.
    #[inline]
    pub(super) fn first_takes(&self, queue: usize) -> u64 {
        self.heads[queue].bytes.into()
    }

    /// The first packet of a queue is another one, which takes so much, or there is none.
    #[inline]
    pub(super) fn note_first<H>(&mut self, queue: usize, first: Option<(&Packet<H>, u64)>) {
        let of = |(packet, bytes): (&Packet<H>, u64)| Head {
            class: narrow::<u8>(class_in(packet.class)),
            bytes: narrow::<u32>(bytes),
        };
        self.heads[queue] = first.map_or_else(Head::default, of);
    }

    /// Whether a queue has credit for its first packet.
    #[inline]
    pub(super) fn has_credit(&self, queue: usize) -> bool {
        let Head { class, bytes } = self.heads[queue];
        self.ledger.has_credit(class.into(), bytes.into())
    }
}

//! Switch queue disciplines.
//!
//! A [`Fifo`] never holds packets: as its departures are known on arrival, it only counts what waits. The others
//! hold packets in a [`Buffer`] and choose when the link is free.

mod admission;
mod classes;
mod fifo;
mod line;
mod pfabric;

pub use admission::{Admission, Pool, Verdict};
pub use classes::Classes;
pub use fifo::Fifo;
pub use line::Line;
pub use pfabric::PFabric;

use crate::packet::Packet;
use crate::random::Stream;
use crate::spec::{Component, Values};

/// Every component of the section "queue".
pub const COMPONENTS: &[Component] =
    &[admission::DROP_TAIL, admission::ECN, admission::RED, pfabric::COMPONENT, classes::COMPONENT];

/// What waits in a queue. The packet in service is not in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Wire bytes.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
}

impl Occupancy {
    /// Counts a packet that joins.
    #[inline]
    pub fn add(&mut self, size_bytes: u16) {
        self.bytes += u64::from(size_bytes);
        self.packets += 1;
    }

    /// Counts a packet that leaves.
    #[inline]
    pub fn remove(&mut self, size_bytes: u16) {
        self.bytes -= u64::from(size_bytes);
        self.packets -= 1;
    }
}

/// What became of packets that were put into a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// How many were dropped: the arrival or others in its stead.
    pub drops: u32,
    /// How many were marked.
    pub marks: u32,
}

/// A discipline that holds its packets and chooses the next when the link is free.
#[derive(Clone, Debug)]
pub enum Buffer<H> {
    /// First in, first out.
    Line(Line<H>),
    /// pFabric's priority scheduling and dropping.
    PFabric(PFabric<H>),
    /// Weighted traffic classes, each with a buffer of its own.
    Classes(Box<Classes<H>>),
}

impl<H: Copy> Buffer<H> {
    /// The buffer that a scenario's queue asks for.
    pub fn build(values: &Values) -> Buffer<H> {
        match values.kind.as_str() {
            "pfabric" => Buffer::PFabric(PFabric::build(values)),
            "classes" => Buffer::Classes(Box::new(Classes::build(values))),
            _ => Buffer::Line(Line::new(Admission::build(values))),
        }
    }

    /// Takes a packet in, or drops it or others.
    #[inline]
    pub fn put(&mut self, packet: Packet<H>, random: &mut Stream) -> Effect {
        match self {
            Buffer::Line(line) => line.put(packet, random),
            Buffer::PFabric(queue) => queue.put(packet, random),
            Buffer::Classes(classes) => classes.put(packet, random),
        }
    }

    /// The packet to send next.
    #[inline]
    pub fn take(&mut self, random: &mut Stream) -> Option<Packet<H>> {
        match self {
            Buffer::Line(line) => line.take(),
            Buffer::PFabric(queue) => queue.take(random),
            Buffer::Classes(classes) => classes.take(random),
        }
    }

    /// What waits.
    #[inline]
    pub fn queued(&self) -> Occupancy {
        match self {
            Buffer::Line(line) => line.queued(),
            Buffer::PFabric(queue) => queue.queued(),
            Buffer::Classes(classes) => classes.queued(),
        }
    }
}

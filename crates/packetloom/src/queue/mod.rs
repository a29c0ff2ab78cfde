//! Switch queue disciplines.
//!
//! A [`Fifo`] never holds packets: as its departures are known on arrival, it only counts what waits. The others
//! hold packets in a [`Buffer`] and choose when the link is free.

mod admission;
mod booked;
mod classes;
mod daq;
mod fair;
mod fifo;
mod line;
mod list;
mod loans;
mod pfabric;
mod ring;
#[cfg(test)]
mod testing;
mod trimming;

pub use admission::{Admission, Pool, Verdict};
pub use booked::{Booked, Opening};
pub use classes::Classes;
pub use daq::{
    Daq, Departure, check_credits, class_of, credit_bytes, credit_packet, threshold, without_loans,
};
pub use fair::Fair;
pub use fifo::Fifo;
pub use line::Line;
pub use loans::Loans;
pub use pfabric::PFabric;
pub use trimming::Trimming;

use crate::packets::{PacketId, Packets};
use crate::random::Stream;
use crate::spec::{Component, Value, Values};

/// Every component of the section "queue".
pub const COMPONENTS: &[Component] = &[
    admission::DROP_TAIL,
    admission::ECN,
    admission::RED,
    pfabric::COMPONENT,
    classes::COMPONENT,
    trimming::COMPONENT,
    fair::COMPONENT,
    daq::COMPONENT,
];

/// The size to which a queue, or one inside it, trims packets.
pub fn trims_to_bytes(values: &Values) -> Option<u64> {
    match values.kind.as_str() {
        "ndp" => Some(values.bytes("trim_to")),
        "classes" => trims_to_bytes(&values.component("queue")),
        _ => None,
    }
}

/// Whether headers that do not fit into a queue, or one inside it, go back to their senders.
pub fn returns_to_sender(values: &Values) -> bool {
    match values.kind.as_str() {
        "ndp" => values.flag("return_to_sender"),
        "classes" => returns_to_sender(&values.component("queue")),
        _ => false,
    }
}

/// The queue of a host's port, where a scenario names none: the switches' own; but a host that trimmed what it sends
/// itself would lose its first window to no end, so where switches trim, a host has a queue that loses nothing.
pub fn default_nic(queue: &Values) -> Values {
    match trims_to_bytes(queue) {
        None => queue.clone(),
        Some(_) => Values { kind: fair::COMPONENT.kind.to_owned(), ..Values::default() },
    }
}

/// The most bytes that may wait at a port with this queue, if packets have up to `packet_bytes`, the pool of
/// its switch aside; `None`: there is no bound.
pub fn most_bytes(values: &Values, packet_bytes: u64) -> Option<u64> {
    let limit = |key| match values.get(key) {
        Value::Bytes(bytes) => Some(*bytes),
        Value::Packets(packets) => Some(packets * packet_bytes),
        _ => None,
    };
    match values.kind.as_str() {
        "drop-tail" | "ecn" | "red" => limit("capacity"),
        "pfabric" => limit("capacity"),
        "ndp" => Some(limit("capacity")? + limit("header_capacity")?),
        "classes" => {
            let classes = values.optional_count("strict");
            let classes = classes.unwrap_or_else(|| values.list("weights").len() as u64);
            let each = most_bytes(&values.component("queue"), packet_bytes).map(|bytes| classes * bytes);
            let all = values.optional_component("port").and_then(|port| most_bytes(&port, packet_bytes));
            each.into_iter().chain(all).min()
        }
        _ => None,
    }
}

/// The size of the pool that all ports of a switch share.
pub fn pool_bytes(values: &Values) -> Option<u64> {
    values.entries.contains_key("pool").then(|| values.optional_bytes("pool"))?
}

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

impl std::ops::Add for Occupancy {
    type Output = Occupancy;

    #[inline]
    fn add(self, other: Occupancy) -> Occupancy {
        Occupancy { bytes: self.bytes + other.bytes, packets: self.packets + other.packets }
    }
}

/// What queues did with packets beside sending them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets trimmed.
    pub trims: u64,
    /// Headers of packets that go back to their senders.
    pub returns: u64,
}

/// What became of the place of a packet that was put into a buffer: in its stead another may be there by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// It waits.
    Waits,
    /// It goes before all else, and is to be put onto the link at once.
    Booked,
    /// It is empty, or another's: the packet, or another, was dropped.
    Dropped,
    /// It holds a header that is to go back to its sender.
    Returned,
}

/// A discipline that holds its packets and chooses the next when the link is free.
///
/// Its tag is a byte of its own: one that hides in a field costs more to read than what it saves.
#[derive(Clone, Debug)]
#[repr(u8)]
pub enum Buffer {
    /// First in, first out.
    Line(Line),
    /// pFabric's priority scheduling and dropping.
    PFabric(PFabric),
    /// Weighted traffic classes, each with a buffer of its own.
    Classes(Box<Classes>),
    /// NDP's trimming.
    Trimming(Trimming),
    /// Control packets first, then flows in turn.
    Fair(Fair),
    /// DAQ's three queues behind credits.
    Daq(Box<Daq>),
}

impl Buffer {
    /// The buffer that a scenario's queue asks for.
    pub fn build(values: &Values) -> Buffer {
        match values.kind.as_str() {
            "pfabric" => Buffer::PFabric(PFabric::build(values)),
            "classes" => Buffer::Classes(Box::new(Classes::build(values))),
            "ndp" => Buffer::Trimming(Trimming::build(values)),
            "daq" => Buffer::Daq(Box::new(Daq::build(values))),
            "fair" => Buffer::Fair(Fair::default()),
            _ => Buffer::Line(Line::new(Admission::build(values))),
        }
    }

    /// Takes a packet in, or drops or trims it or others. The data packet in service, if there is one, has
    /// `serving_bytes`. With an opening the packet may be booked: then it is to be put onto the link at once. Where anybody
    /// else decides what goes when, or watches what waits, there is none.
    #[inline(always)]
    pub fn put<H: Copy + Default>(
        &mut self,
        id: PacketId,
        packets: &mut Packets<H>,
        serving_bytes: u16,
        opening: Option<Opening>,
        (random, counts): (&mut Stream, &mut Counts),
    ) -> Joined {
        match self {
            Buffer::Line(line) => line.put(id, packets, random, counts),
            Buffer::PFabric(queue) => queue.put(id, packets, random, counts),
            Buffer::Classes(classes) => classes.put(id, packets, serving_bytes, (random, counts)),
            Buffer::Trimming(queue) => queue.put(id, packets, serving_bytes, opening, (random, counts)),
            Buffer::Fair(queue) => queue.put(id, packets, opening),
            Buffer::Daq(queue) => queue.put(id, packets, counts),
        }
    }

    /// The packet to send next.
    #[inline(always)]
    pub fn take<H: Copy + Default>(&mut self, packets: &Packets<H>, random: &mut Stream) -> Option<PacketId> {
        match self {
            Buffer::Line(line) => line.take(packets),
            Buffer::PFabric(queue) => queue.take(random),
            Buffer::Classes(classes) => classes.take(packets, random),
            Buffer::Trimming(queue) => queue.take(packets),
            Buffer::Fair(queue) => queue.take(packets),
            Buffer::Daq(queue) => queue.take(),
        }
    }

    /// Asks for the packets that [`Buffer::take`] returns next if nothing else comes, where these are easy to tell.
    #[inline]
    pub fn prefetch<H: Copy + Default>(&self, packets: &Packets<H>) {
        match self {
            Buffer::Line(line) => line.prefetch(packets),
            Buffer::Trimming(queue) => queue.prefetch(packets),
            Buffer::Fair(queue) => queue.prefetch(packets),
            Buffer::PFabric(queue) => queue.prefetch(packets),
            Buffer::Classes(_) | Buffer::Daq(_) => {}
        }
    }

    /// The booked packets, as of the last that was put in or taken.
    pub fn booked(&self) -> Booked {
        match self {
            Buffer::Trimming(queue) => queue.booked(),
            Buffer::Fair(queue) => queue.booked(),
            _ => Booked::default(),
        }
    }

    /// Whether what waits may be sent: where credits are needed, there may be none; and what is booked was sent already.
    #[inline]
    pub fn is_ready(&self) -> bool {
        match self {
            Buffer::Daq(queue) => queue.is_ready(),
            Buffer::Trimming(queue) => !queue.is_empty(),
            _ => self.unbooked().packets > 0,
        }
    }

    /// Tells of each class, where there are classes: its number, what waits of it in bytes, and how much of the far
    /// end's buffer it uses, where that is counted.
    pub fn classes(&self, tell: impl FnMut(usize, u64, Option<u64>)) {
        match self {
            Buffer::Daq(queue) => queue.classes(tell),
            Buffer::Classes(classes) => classes.classes(tell),
            _ => {}
        }
    }

    /// Every packet that waits but what is booked, in any order: for whoever looks from outside.
    pub fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> Box<dyn Iterator<Item = PacketId> + 'a> {
        match self {
            Buffer::Line(line) => Box::new(line.packets(packets)),
            Buffer::PFabric(queue) => Box::new(queue.packets()),
            Buffer::Classes(classes) => Box::new(classes.packets(packets)),
            Buffer::Trimming(queue) => Box::new(queue.packets(packets)),
            Buffer::Fair(queue) => Box::new(queue.packets(packets)),
            Buffer::Daq(queue) => Box::new(queue.packets()),
        }
    }

    /// What waits but for what is booked.
    #[inline]
    pub fn unbooked(&self) -> Occupancy {
        match self {
            Buffer::Trimming(queue) => queue.unbooked(),
            Buffer::Fair(queue) => queue.unbooked(),
            _ => self.queued(),
        }
    }

    /// What waits.
    #[inline]
    pub fn queued(&self) -> Occupancy {
        match self {
            Buffer::Line(line) => line.queued(),
            Buffer::PFabric(queue) => queue.queued(),
            Buffer::Classes(classes) => classes.queued(),
            Buffer::Trimming(queue) => queue.queued(),
            Buffer::Fair(queue) => queue.queued(),
            Buffer::Daq(queue) => queue.queued(),
        }
    }
}

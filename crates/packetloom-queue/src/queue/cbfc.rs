//! Credit-based flow control (Ultra Ethernet specification 1.0, §5.2): a port sends a packet of a lossless class only
//! if the far end has room for it, and the far end says what has become free.
//!
//! Each link has buffer of its own at the switch that it leads to, for each lossless class (a virtual channel), counted
//! in credits. A packet takes as many as it needs when it is sent, and gives them back when it leaves that switch
//! (`engine/switch/credits.rs`). So nothing of these classes is ever lost, and no headroom has to be kept for what
//! comes in after a pause. Hosts take whatever comes.

use super::admission::Marking;
use super::flow_control::{CLASSES, CONTROL, charged_class, class_in};
use super::list::List;
use super::shared_buffer::{
    CARRIES, LARGEST_BUFFER, MARKING_PARAMS, Thresholds, check_marking, lossless, next_in_turn, numbers,
};
use super::{Buffer, Built, Departure, Env, Holds, Joined, Occupancy, Opening, Queue, Site};
use crate::link_message::LinkMessage;
use crate::narrow::narrow;
use crate::packet::{Kind as PacketKind, Packet};
use crate::packets::{PacketId, Packets};
use crate::spec::{Complaint, Component, Kind, Registered, Values, param};
use crate::topology::{Link, Topology};
use crate::units::Time;

const UEC: &str = "Ultra Ethernet specification 1.0, §5.2";

const COMPONENT: Component = Component {
    section: "queue",
    kind: "cbfc",
    doc: "Credit-based flow control: a port sends data of a lossless class only as far as the switch at the far end has given it credit, so no packet of these classes is lost. Class 0 has strict priority and needs no credit; the other classes take turns. At a host, it is the NIC, which waits for credit.",
    source: UEC,
    params: &[
        &[
            param! {
                "credits" = "128KB": Kind::Bytes,
                "The buffer that a switch has for each lossless class of each of its links, and gives credit for. If it is less than a link carries in its round trip, the link cannot be fully used.",
                "packetloom"
            },
            param! {
                "lossless" = "[3]": Kind::List(&Kind::Count(1)),
                "The classes that need credit.", "as \"shared-buffer\", to compare the two"; acts CARRIES
            },
            param! {
                "credit_size" = "128B": Kind::Bytes,
                "Bytes of a credit. A packet takes a whole number of credits.",
                "SAI: SENDER_CREDIT_SIZE, 128 B"
            },
            param! {
                "packet_overhead" = "0B": Kind::Bytes,
                "The buffer that a packet takes in addition to its bytes.",
                "SAI: SENDER_PACKET_OVERHEAD, 0; it may be negative there"
            },
            param! {
                "update" = "8B": Kind::Bytes,
                "Bytes on the wire of a CF_Update, which says how much of a class has become free.",
                "Ultra Ethernet: a control ordered set of 8 B"
            },
            param! {
                "update_spacing" = "6400B": Kind::Bytes,
                "The least distance between two updates of a class on a link, as the time of this many bytes; what becomes free meanwhile is in the next.",
                "SAI: CF_MIN_SPACING, 6400 B"
            },
            param! {
                "capacity" = "1MB": Kind::Bytes,
                "How much may wait at a switch's port of each class that needs no credit; data beyond it are dropped.",
                "packetloom"
            },
        ],
        MARKING_PARAMS,
    ],
    check,
};

/// The queue.
pub const QUEUE: Registered<Queue> = Registered {
    component: COMPONENT,
    factory: Queue {
        // Lossless classes are bounded by the credit of all links of a switch, which no single port knows.
        most_bytes: |_, _| Some(LARGEST_BUFFER),
        is_sized_by_design: |_| true,
        marks: |values| values.optional_bytes("ecn_max").is_some(),
        classes: |_| Some(CLASSES as u64),
        check: check_size,
        ..Queue::new(|values| Built::Held(Buffer::Cbfc(Box::new(Cbfc::build(values)))))
    },
};

fn check(values: &Values) -> Result<(), Complaint> {
    check_marking(values)?;
    for key in ["update", "credit_size"] {
        if !(1..=65_535).contains(&values.bytes(key)) {
            return Err(Complaint::new(key, "write a size from 1B to 65535B"));
        }
    }
    if values.bytes("packet_overhead") > 127 {
        return Err(Complaint::new("packet_overhead", "write 127B at most"));
    }
    if values.bytes("update_spacing") > 1 << 20 {
        return Err(Complaint::new("update_spacing", "write 1048576B at most"));
    }
    for key in ["credits", "capacity"] {
        if values.bytes(key) > LARGEST_BUFFER {
            return Err(Complaint::new(key, format!("write at most {LARGEST_BUFFER}B")));
        }
    }
    let classes = numbers(values);
    if let Some(class) = classes.iter().find(|class| **class >= CLASSES as u64) {
        let message =
            format!("there is no class {class}; write classes from 1 to 7: class 0 needs no credit");
        return Err(Complaint::new("lossless", message));
    }
    if classes.is_empty() {
        return Err(Complaint::new("lossless", "is empty; write a class such as [3], or another queue"));
    }
    Ok(())
}

/// A full packet must be worth no more credits than can be counted, and than there are.
fn check_size(values: &Values, packet_bytes: u64) -> Result<(), Complaint> {
    let charge = Charge::of(values);
    let takes = charge.credits(packet_bytes) * charge.credit_bytes;
    if takes > u64::from(u16::MAX) {
        let message = format!("a packet of {packet_bytes} B would take {takes} B; write less");
        return Err(Complaint::new("credit_size", message));
    }
    if takes > values.bytes("credits") {
        let message = format!(
            "is less than the {takes} B that a packet of {packet_bytes} B takes: nothing could ever be sent"
        );
        return Err(Complaint::new("credits", message));
    }
    Ok(())
}

/// The size of the updates that switches with this queue send.
pub(super) fn update_bytes(queue: &Values) -> Option<u64> {
    (queue.kind == COMPONENT.kind).then(|| queue.bytes("update"))
}

/// How far apart the updates of a class are on a link, in its bytes.
pub fn update_spacing(queue: &Values) -> Option<u64> {
    (queue.kind == COMPONENT.kind).then(|| queue.bytes("update_spacing"))
}

/// What packets take of the far end's buffer, if a queue is one of these.
pub fn charge(queue: &Values) -> Option<Charge> {
    (queue.kind == COMPONENT.kind).then(|| Charge::of(queue))
}

/// Hosts must take part.
pub(super) fn check_nic(queue: &Values, nic: &Values) -> Result<(), Complaint> {
    if [queue, nic].iter().all(|values| values.kind != COMPONENT.kind) || queue == nic {
        return Ok(());
    }
    let message = "hosts and switches count the same credits; leave nic out where the queue is \"cbfc\"";
    Err(Complaint::new("scheme.nic", message))
}

/// What keeps links from being full, in words: credit for less than they carry in a round trip of a full packet.
pub fn short_of_credit(queue: &Values, topology: &Topology, packet_bytes: u64) -> Option<String> {
    let spacing = update_spacing(queue)?;
    let needed = |(number, link): (usize, &Link)| {
        let back = &topology.links[topology.link_back(number)];
        let takes = |link: &Link, bytes| topology.byte_time(link.rate).of(bytes + topology.framing_bytes);
        let trip = link.latency
            + back.latency
            + takes(link, 2 * packet_bytes)
            + takes(back, spacing.max(packet_bytes));
        narrow::<u64>((u128::from(trip.as_ps()) * u128::from(link.rate.as_bps())).div_ceil(8_000_000_000_000))
    };
    let to_switches = topology.links.iter().enumerate().filter(|(_, link)| link.dst >= topology.hosts);
    let most = to_switches.map(needed).max()?;
    let credits = queue.bytes("credits");
    (credits < most).then(|| {
        format!(
            "a link may have to wait for credit although nothing waits at its far end: credits is {credits} B, and up \
             to {most} B are on their way, or their credit is"
        )
    })
}

/// What packets take of the far end's buffer.
#[derive(Clone, Copy, Debug)]
pub struct Charge {
    /// The classes that are charged, a bit for each.
    lossless: u8,
    credit_bytes: u64,
    overhead_bytes: u64,
}

impl Charge {
    /// From a queue that was read.
    fn of(values: &Values) -> Charge {
        Charge {
            lossless: lossless(values),
            credit_bytes: values.bytes("credit_size"),
            overhead_bytes: values.bytes("packet_overhead"),
        }
    }

    fn credits(&self, size_bytes: u64) -> u64 {
        (size_bytes + self.overhead_bytes).div_ceil(self.credit_bytes)
    }

    /// The bytes that a packet takes of its class, if it is charged at all; by the class that it would be charged to.
    #[inline]
    pub fn bytes(&self, class: Option<u8>, size_bytes: u16) -> Option<(u8, u64)> {
        let class = class.filter(|class| self.lossless >> class & 1 == 1)?;
        Some((class, self.credits(size_bytes.into()) * self.credit_bytes))
    }
}

/// A port's packets.
#[derive(Clone, Debug)]
pub struct Cbfc {
    charge: Charge,
    /// What the far end gives credit for, of each class; whether it does.
    limit_bytes: u64,
    needs_credit: bool,
    /// Of each class, what was sent for which no credit has come back.
    used_bytes: [u64; CLASSES],
    /// The classes that have packets, a bit for each.
    waiting: u8,
    /// The class that was served last, of those that take turns.
    served: u32,
    /// Updates go before all else.
    updates: List,
    classes: [List; CLASSES],
    capacity_bytes: u64,
    is_switch: bool,
    thresholds: Option<Thresholds>,
    marking: Marking,
    /// What the first packet of each class takes, if it is charged.
    first_bytes: [u64; CLASSES],
    last: Option<Departure>,
}

impl Cbfc {
    /// An empty port that marks nothing until it is placed.
    pub fn build(values: &Values) -> Cbfc {
        Cbfc {
            charge: Charge::of(values),
            limit_bytes: values.bytes("credits"),
            needs_credit: false,
            used_bytes: [0; CLASSES],
            waiting: 0,
            served: 0,
            updates: List::default(),
            classes: Default::default(),
            capacity_bytes: values.bytes("capacity"),
            is_switch: false,
            thresholds: Thresholds::of(values),
            marking: Marking::Never,
            first_bytes: [0; CLASSES],
            last: None,
        }
    }

    #[inline]
    fn has_credit(&self, class: usize) -> bool {
        !self.needs_credit || self.used_bytes[class] + self.first_bytes[class] <= self.limit_bytes
    }

    /// The classes that have packets and may send them, a bit for each.
    fn ready(&self) -> u8 {
        let has_credit = |class: &usize| self.has_credit(*class);
        (0..CLASSES).filter(has_credit).fold(0, |ready, class| ready | 1 << class) & self.waiting
    }

    /// The class to serve: the control class first, of the others the next in turn.
    fn next(&self) -> Option<usize> {
        next_in_turn(self.ready(), self.served)
    }

    /// Notes what the packet takes that is now the first of its class.
    fn note_first<H: Copy + Default>(&mut self, class: usize, packets: &Packets<H>) {
        let first = self.classes[class].iter(packets).next();
        self.first_bytes[class] = first.map_or(0, |id| self.bytes_of(packets.get(id)));
    }

    fn bytes_of<H>(&self, packet: &Packet<H>) -> u64 {
        self.charge.bytes(charged_class(packet), packet.size_bytes).map_or(0, |(_, bytes)| bytes)
    }
}

impl Holds for Cbfc {
    // What is charged fits: the link that brought it had credit for it, and a host's own packets have no limit.
    fn put<H: Copy + Default>(&mut self, id: PacketId, _: Option<Opening>, env: &mut Env<'_, H>) -> Joined {
        let Env { packets, counts, .. } = env;
        let packet = packets.get(id);
        if packet.kind == PacketKind::Link {
            self.updates.push_back(id, packets);
            return Joined::Waits;
        }
        let class = class_in(packet.class);
        let bytes = self.bytes_of(packet);
        let with_it = self.classes[class].queued().bytes + u64::from(packet.size_bytes);
        if packet.kind == PacketKind::Data && bytes == 0 && self.is_switch && with_it > self.capacity_bytes {
            packets.take(id);
            counts.drops += 1;
            return Joined::Dropped;
        }
        if self.waiting >> class & 1 == 0 {
            self.waiting |= 1 << class;
            self.first_bytes[class] = bytes;
        }
        self.classes[class].push_back(id, packets);
        Joined::Waits
    }

    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        let Env { packets, random, counts, .. } = env;
        self.last = None;
        if let Some(update) = self.updates.pop_front(packets) {
            return Some(update);
        }
        let class = self.next()?;
        let id = self.classes[class].pop_front(packets)?;
        let bytes = std::mem::take(&mut self.first_bytes[class]);
        if self.classes[class].is_empty() {
            self.waiting &= !(1 << class);
        } else {
            self.note_first(class, packets);
        }
        if class != usize::from(CONTROL) {
            self.served = narrow::<u32>(class);
        }
        if bytes > 0 {
            self.used_bytes[class] += if self.needs_credit { bytes } else { 0 };
            let from = packets.ingress(id);
            self.last = Some(Departure { from, class: narrow::<u8>(class), bytes: narrow::<u16>(bytes) });
        }
        let left = self.classes[class].queued();
        let packet = packets.get_mut(id);
        if charged_class(packet).is_some() && packet.is_ecn_capable() && self.marking.marks(left, random) {
            packet.congestion_experienced = true;
            counts.marks += 1;
        }
        Some(id)
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> impl Iterator<Item = PacketId> + 'a {
        self.updates.iter(packets).chain(self.classes.iter().flat_map(|class| class.iter(packets)))
    }

    fn queued(&self) -> Occupancy {
        self.classes.iter().fold(self.updates.queued(), |all, class| all + class.queued())
    }

    #[inline]
    fn is_ready(&self) -> bool {
        !self.updates.is_empty() || self.ready() != 0
    }

    fn classes(&self, mut visit: impl FnMut(usize, u64, Option<u64>)) {
        for (number, class) in self.classes.iter().enumerate() {
            visit(number, class.queued().bytes, self.needs_credit.then_some(self.used_bytes[number]));
        }
    }

    fn holds_back(&self) -> bool {
        true
    }

    /// The first packet of a class waits for credit.
    #[inline]
    fn waits_for_credit(&self) -> bool {
        true
    }

    fn keeps_back(&self, class: u8) -> bool {
        let class = class_in(class);
        self.waiting >> class & 1 == 1 && !self.has_credit(class)
    }

    fn place(&mut self, site: Site) {
        self.is_switch = site.is_switch;
        self.needs_credit = site.far_links.is_some();
        if let Some(thresholds) = self.thresholds.filter(|_| site.is_switch) {
            self.marking = thresholds.at(&site);
        }
    }

    fn receive_message(&mut self, _: Time, message: LinkMessage) {
        if let LinkMessage::Credit { class, bytes } = message {
            let used = &mut self.used_bytes[class_in(class)];
            debug_assert!(*used >= bytes.into(), "more credit came back than was used");
            *used -= u64::from(bytes);
        }
    }

    fn departure(&self) -> Option<Departure> {
        self.last
    }
}

//! Credit-based flow control (Ultra Ethernet specification 1.0, §5.2): a port sends a packet of a lossless class only
//! if the far end has room for it, and the far end says what has become free.
//!
//! Each link has buffer of its own at the switch that it leads to, for each lossless class (a virtual channel), counted
//! in credits. A packet takes as many as it needs when it is sent, and gives them back when it leaves that switch
//! (`engine/switch/credits.rs`). So nothing of these classes is ever lost, and no headroom has to be kept for what
//! comes in after a pause. Hosts take whatever comes.

use super::admission::Marking;
use super::flow_control::credit::{self, Credit, Ledger, UEC};
use super::flow_control::{CLASSES, CONTROL, charged_class, class_in};
use super::list::List;
use super::shared_buffer::{LARGEST_BUFFER, MARKING_PARAMS, Thresholds, check_marking, next_in_turn};
use super::specification::{Bound, Making};
use super::{Buffer, Built, Departure, Env, Holds, Joined, Occupancy, Opening, Site, Specification};
use crate::link_message::LinkMessage;
use crate::narrow::narrow;
use crate::packet::Kind as PacketKind;
use crate::packets::{PacketId, Packets};
use crate::spec::{Complaint, Component, Kind, Registered, Values, param};
use crate::units::Time;

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
    Specification {
        // Lossless classes are bounded by the credit of all links of a switch, which no single port knows.
        bounds: vec![Bound::bytes(LARGEST_BUFFER)],
        is_sized_by_design: true,
        marks: thresholds.is_some(),
        may_mark: true,
        thresholds,
        classes: Some(CLASSES as u64),
        credit: Some(credit),
        ..Specification::new(values, Built::Held(Buffer::Cbfc(Box::new(Cbfc::build(values, &credit)))))
    }
}

fn check(values: &Values) -> Result<(), Complaint> {
    check_marking(values)?;
    credit::check(values)?;
    credit::check_bytes(values, "capacity")
}

/// A port's packets.
#[derive(Clone, Debug)]
pub struct Cbfc {
    ledger: Ledger,
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
    fn build(values: &Values, credit: &Credit) -> Cbfc {
        Cbfc {
            ledger: Ledger::of(credit),
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
        self.ledger.has_credit(class, self.first_bytes[class])
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
        self.first_bytes[class] = first.map_or(0, |id| self.ledger.bytes_of(packets.get(id)));
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
        let bytes = self.ledger.bytes_of(packet);
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
            self.ledger.spend(class, bytes);
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
            visit(number, class.queued().bytes, self.ledger.used_bytes(number));
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
        self.ledger.place(&site);
        if let Some(thresholds) = self.thresholds.filter(|_| site.is_switch) {
            self.marking = thresholds.at(&site);
        }
    }

    fn receive_message(&mut self, _: Time, message: LinkMessage) {
        self.ledger.receive(message);
    }

    fn departure(&self) -> Option<Departure> {
        self.last
    }
}

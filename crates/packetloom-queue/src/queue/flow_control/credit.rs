//! Credit as Ultra Ethernet counts it (specification 1.0, §5.2): what a scenario can set, what packets take, and what a
//! port has used of what the far end of its link gives.

use super::{CLASSES, charged_class, class_in};
use crate::link_message::LinkMessage;
use crate::narrow::narrow;
use crate::packet::Packet;
use crate::queue::shared_buffer::{CARRIES, LARGEST_BUFFER, check_lossless, lossless};
use crate::queue::{Site, Specification};
use crate::spec::{Complaint, Kind, Param, Values, param};
use crate::topology::{Link, Topology};

pub(in crate::queue) const UEC: &str = "Ultra Ethernet specification 1.0, §5.2";

/// What switches have for their links, and how it is counted.
pub(in crate::queue) const PARAMS: &[Param] = &[
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
];

/// Refuses sizes that can't be counted, and classes that need no credit.
pub(in crate::queue) fn check(values: &Values) -> Result<(), Complaint> {
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
    check_bytes(values, "credits")?;
    check_lossless(values, "class 0 needs no credit")?;
    if values.list("lossless").is_empty() {
        return Err(Complaint::new(
            "lossless",
            "is empty; write a class such as [3], or no flow control by credits",
        ));
    }
    Ok(())
}

/// Refuses more bytes than any buffer has.
pub(in crate::queue) fn check_bytes(values: &Values, key: &str) -> Result<(), Complaint> {
    if values.bytes(key) > LARGEST_BUFFER {
        return Err(Complaint::new(key, format!("write at most {LARGEST_BUFFER}B")));
    }
    Ok(())
}

/// What a queue says of credit, or its flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// What packets take of it.
    pub charge: Charge,
    /// The buffer of each lossless class of a link.
    pub bytes: u64,
    /// The size of the updates that switches send.
    pub update_bytes: u64,
    /// How far apart the updates of a class are on a link, in its bytes.
    pub spacing_bytes: u64,
    /// Whether its flow control says so.
    is_of_parts: bool,
}

impl Credit {
    /// Of a queue's own values.
    pub(in crate::queue) fn of(values: &Values) -> Credit {
        Credit {
            charge: Charge {
                lossless: lossless(values),
                credit_bytes: values.bytes("credit_size"),
                overhead_bytes: values.bytes("packet_overhead"),
            },
            bytes: values.bytes("credits"),
            update_bytes: values.bytes("update"),
            spacing_bytes: values.bytes("update_spacing"),
            is_of_parts: false,
        }
    }

    /// Of its flow control's.
    pub(in crate::queue) fn of_parts(values: &Values) -> Credit {
        Credit { is_of_parts: true, ..Credit::of(values) }
    }

    fn complaint(&self, key: &str, message: String) -> Complaint {
        let part = if self.is_of_parts { "flow_control." } else { "" };
        Complaint::new(&format!("{part}{key}"), message)
    }

    /// A full packet must be worth no more credits than can be counted, and than there are.
    pub(in crate::queue) fn check_size(&self, packet_bytes: u64) -> Result<(), Complaint> {
        let takes = self.charge.credits(packet_bytes) * self.charge.credit_bytes;
        if takes > u64::from(u16::MAX) {
            let message = format!("a packet of {packet_bytes} B would take {takes} B; write less");
            return Err(self.complaint("credit_size", message));
        }
        if takes > self.bytes {
            let message = format!(
                "is less than the {takes} B that a packet of {packet_bytes} B takes: nothing could ever be sent"
            );
            return Err(self.complaint("credits", message));
        }
        Ok(())
    }

    /// What keeps links from being full, in words: credit for less than they carry in a round trip of a full packet.
    pub fn short_of_round_trip(&self, topology: &Topology, packet_bytes: u64) -> Option<String> {
        let needed = |(number, link): (usize, &Link)| {
            let back = &topology.links[topology.link_back(number)];
            let takes = |link: &Link, bytes| topology.byte_time(link.rate).of(bytes + topology.framing_bytes);
            let trip = link.latency
                + back.latency
                + takes(link, 2 * packet_bytes)
                + takes(back, self.spacing_bytes.max(packet_bytes));
            narrow::<u64>(
                (u128::from(trip.as_ps()) * u128::from(link.rate.as_bps())).div_ceil(8_000_000_000_000),
            )
        };
        let to_switches = topology.links.iter().enumerate().filter(|(_, link)| link.dst >= topology.hosts);
        let most = to_switches.map(needed).max()?;
        (self.bytes < most).then(|| {
            format!(
                "a link may have to wait for credit although nothing waits at its far end: credits is {} B, and up to \
                 {most} B are on their way, or their credit is",
                self.bytes
            )
        })
    }
}

/// Hosts must take part.
///
/// # Errors
/// Where that does not hold.
pub fn check_nic(queue: &Specification, nic: &Specification) -> Result<(), Complaint> {
    let counts = |one: &Specification| one.credit.map(|credit| Credit { is_of_parts: false, ..credit });
    if counts(queue) == counts(nic) {
        return Ok(());
    }
    let message = "hosts and switches count the same credits; leave nic out where switches have credit-based flow control";
    Err(Complaint::new("scheme.nic", message))
}

/// What packets take of the far end's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The classes that are charged, a bit for each.
    lossless: u8,
    credit_bytes: u64,
    overhead_bytes: u64,
}

impl Charge {
    #[inline]
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

/// What a port has used of the far end's buffer.
#[derive(Clone, Debug)]
pub(in crate::queue) struct Ledger {
    charge: Charge,
    /// What the far end gives credit for, of each class; whether it does.
    limit_bytes: u64,
    needs_credit: bool,
    /// Of each class, what was sent for which no credit has come back.
    used_bytes: [u64; CLASSES],
}

impl Ledger {
    /// Of a port that needs no credit until it is placed.
    pub(in crate::queue) fn of(credit: &Credit) -> Ledger {
        Ledger {
            charge: credit.charge,
            limit_bytes: credit.bytes,
            needs_credit: false,
            used_bytes: [0; CLASSES],
        }
    }

    /// A switch at the far end gives credit; hosts take whatever comes.
    pub(in crate::queue) fn place(&mut self, site: &Site) {
        self.needs_credit = site.far_links.is_some();
    }

    /// Whether a packet may be sent that takes so many bytes of its class.
    #[inline]
    pub(in crate::queue) fn has_credit(&self, class: usize, bytes: u64) -> bool {
        !self.needs_credit || self.used_bytes[class] + bytes <= self.limit_bytes
    }

    /// What a packet takes; 0: it needs no credit.
    #[inline]
    pub(in crate::queue) fn bytes_of<H>(&self, packet: &Packet<H>) -> u64 {
        self.charge.bytes(charged_class(packet), packet.size_bytes).map_or(0, |(_, bytes)| bytes)
    }

    /// A packet is sent.
    #[inline]
    pub(in crate::queue) fn spend(&mut self, class: usize, bytes: u64) {
        self.used_bytes[class] += if self.needs_credit { bytes } else { 0 };
    }

    /// The far end says what has become free, and of which class, which is returned.
    pub(in crate::queue) fn receive(&mut self, message: LinkMessage) -> Option<usize> {
        let LinkMessage::Credit { class, bytes } = message else { return None };
        let class = class_in(class);
        let used = &mut self.used_bytes[class];
        debug_assert!(*used >= bytes.into(), "more credit came back than was used");
        *used -= u64::from(bytes);
        Some(class)
    }

    /// What is used of a class, if credit is needed.
    pub(in crate::queue) fn used_bytes(&self, class: usize) -> Option<u64> {
        self.needs_credit.then_some(self.used_bytes[class])
    }

    /// The same of every class.
    pub(in crate::queue) fn all_used_bytes(&self) -> Vec<u64> {
        if self.needs_credit { self.used_bytes.to_vec() } else { Vec::new() }
    }
}

//! NDP's parameters.

use super::header::Header;
use crate::flow::{FlowId, HostId};
use crate::narrow::saturated;
use crate::packet::{Kind, Packet};
use crate::packet_format::{self, PacketFormat};
use crate::priority;
use crate::spec::{Complaint, Fallback, Kind as Holds, Param, Values, check_period, param};
use crate::units::Time;

/// A sender whose packets only come back doubles its timeout for pulls so often at most.
const MOST_DOUBLINGS: u32 = 10;

/// Which connection a receiver pulls from first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullOrder {
    /// Everyone in turn.
    Fair,
    /// By traffic class, the smallest number first.
    Class,
    /// The one with the least left to deliver.
    Shortest,
}

/// The parameters, read.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub(super) format: PacketFormat,
    pub(super) initial_window: u32,
    pub(super) pull_rate: f64,
    pub(super) pull_order: PullOrder,
    /// Whether pulls go out that the sender can't answer.
    pub(super) pull_for_each: bool,
    pub(super) pull_on_ack: bool,
    pub(super) rto: Time,
    pub(super) aeolus: bool,
}

/// All of them.
pub const PARAMS: &[Param] = &[
    Param { default: Fallback::Value("9000B"), source: "NDP §3: 9 KB jumbograms", ..packet_format::MSS },
    Param { default: Fallback::Value("64B"), source: "NDP §3: 64-byte headers", ..packet_format::HEADER },
    Param {
        default: Fallback::Value("64B"),
        doc: "Bytes of an ACK, NACK or PULL on the wire.",
        source: "NDP §3: 64-byte headers",
        ..packet_format::ACK
    },
    param! {
        "initial_window" = "30": Holds::Count(1),
        "Packets sent at line rate before any answer: a bandwidth-delay product with full queues.",
        "NDP §6: 30 packets"
    },
    param! {
        "pull_rate" = "0.99": Holds::Number(0.01, 1.0),
        "The share of the receiver's link that full packets, one per pull, would fill.", "csg-htsim: 0.99"
    },
    param! {
        "pull_order" = "fair": Holds::Choice(&["fair", "class", "shortest"]),
        "Whom a receiver pulls from first: its connections in turn; the smallest class number, strictly; or the one with the fewest packets left to arrive.",
        "NDP §3.2: a fair queue of pulls; priorities: NDP in a fat-tree §6, future work"
    },
    param! {
        "pull_for" = "each": Holds::Choice(&["each", "needed"]),
        "Pull once for each packet that arrives, whole or trimmed; or only until the sender has no packet left to send, so that the end of one flow takes no turns from others.",
        "NDP §3.2: each"
    },
    param! {
        "pull_on_ack" = "true": Holds::Flag,
        "Whether a pull that may go at once rides on the ACK or NACK instead of in a packet of its own.",
        "csg-htsim"
    },
    param! {
        "rto" = "1ms": Holds::Time,
        "A packet that is not answered for this long is sent again. A sender with nothing in flight that has received nothing for this long sends a packet without a pull (after twice as long, and so on, while what it sends comes back). So write more than a receiver takes to pull once from each of its flows: in an incast of 400 flows at 10Gbps that is 3ms.",
        "packetloom: well above what full queues on a path take; csg-htsim has no timer for pulls"
    },
    param! {
        "aeolus" = "false": Holds::Flag,
        "Aeolus, for switches that do not trim: queues drop packets of the first window before others (aqm = \"selective-drop\" of egress). A probe follows them, and for each that is missing when it comes a pull is owed.",
        "Aeolus (SIGCOMM 2020), its abstract and what is known of it; that the probe alone tells of losses, as packets take many paths, and that earlier pulls in vain are void then: packetloom"
    },
];

/// What must hold of them.
pub fn check(values: &Values) -> Result<(), Complaint> {
    packet_format::check(values)?;
    check_period("rto", values.time("rto"), "1ms")
}

/// Whether packets of the first window say that nothing has pulled them.
pub(super) fn sends_unscheduled(values: &Values) -> bool {
    values.flag("aeolus")
}

impl Config {
    pub(super) fn of(values: &Values) -> Config {
        Config {
            format: PacketFormat::of(values),
            initial_window: u32::try_from(values.count("initial_window")).unwrap_or(u32::MAX),
            pull_rate: values.number("pull_rate"),
            pull_order: values.meaning(
                "pull_order",
                &[("fair", PullOrder::Fair), ("class", PullOrder::Class), ("shortest", PullOrder::Shortest)],
            ),
            pull_for_each: values.meaning("pull_for", &[("needed", false), ("each", true)]),
            pull_on_ack: values.flag("pull_on_ack"),
            rto: values.time("rto"),
            aeolus: sends_unscheduled(values),
        }
    }

    /// How long a sender waits for a pull after so many timeouts without an answer.
    pub(super) fn patience(&self, waits: u32) -> Time {
        self.rto.times(1 << waits.min(MOST_DOUBLINGS))
    }

    /// No live sender is silent for longer.
    pub(super) fn longest_silence(&self) -> Time {
        self.patience(MOST_DOUBLINGS)
    }

    /// Between two pulls, so that what they fetch fills the wanted share of a link on which a full packet takes
    /// `full_packet`, in whole picoseconds as csg-htsim has it.
    pub(super) fn pull_interval(&self, full_packet: Time) -> Time {
        Time(saturated::<u64>(full_packet.as_ps() as f64 / self.pull_rate))
    }

    /// Bytes of a full packet on the wire.
    pub(super) fn full_packet_bytes(&self) -> u64 {
        self.format.data.mss_bytes + self.format.data.header_bytes
    }

    /// A control packet of the receiver.
    pub(super) fn control_packet(
        &self,
        flow: FlowId,
        dst: HostId,
        class: u8,
        header: Header,
    ) -> Packet<Header> {
        Packet {
            flow,
            dst,
            priority: priority::FIRST,
            size_bytes: self.format.ack_bytes,
            kind: if let Header::Ack(_) | Header::Probed(_) = header { Kind::Ack } else { Kind::Control },
            class,
            header,
            ..Packet::default()
        }
    }
}

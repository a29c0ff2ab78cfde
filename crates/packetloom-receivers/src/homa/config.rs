//! Homa's parameters, and the values of those who have built it.

use super::cutoffs::{self, Counted, Weights};
use super::header::Header;
use super::layout::Layout;
use crate::flow::{FlowId, HostId};
use crate::narrow::{exact, saturated};
use crate::packet::{Kind, Packet};
use crate::packet_format;
use crate::priority;
use crate::spec::{Complaint, Fallback, Kind as Holds, Param, Value, Values, param};
use crate::topology::Topology;
use crate::units::Time;

/// A request that brings nothing new is repeated after up to 2 to this power times as long.
const MOST_DOUBLINGS: u32 = 4;

/// More than any switch has.
const MOST_LEVELS: u64 = 64;

/// How a receiver grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grants {
    /// A packet at a time; one sender's no faster than its packets come (simulator).
    Packets,
    /// Up to a window beyond what arrived, in one grant (ns-3).
    Window,
    /// The same, with a window that all messages share out between them (Linux).
    Shared {
        /// What may be on its way to a host.
        most_bytes: u64,
        /// Of so many granted bytes, `fifo_bytes` go to the oldest message.
        fifo_every: u64,
        fifo_bytes: u64,
    },
}

/// Which of its messages a sender sends from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderOrder {
    /// The one with the least left to send.
    Left,
    /// The one with the least left when all but a window of what was granted has arrived.
    Granted,
}

/// The defaults in which one Homa differs from another.
#[derive(Clone, Copy, Debug)]
struct Variant {
    blind_bytes: u64,
    blind_header_bytes: u64,
    /// `None`: by the sizes of the workload.
    scheduled_levels: Option<u64>,
    /// `None`: by the sizes of the workload.
    cutoffs: Option<&'static [u64]>,
    /// `None`: as many as there are scheduled levels.
    overcommitment: Option<u64>,
    by_packet: bool,
    window_bytes: u64,
    tail_bytes: u64,
    from_top: bool,
    grants: Grants,
    order: SenderOrder,
    /// Whether a packet goes at the level of its own grant, and not of the latest one.
    keeps_levels: bool,
    /// Whether a grant's level holds for all that is still to be sent, and a pass of grants goes once over all
    /// messages.
    is_ns3: bool,
    resend_us: u64,
}

const SIMULATOR: Variant = Variant {
    blind_bytes: 9_328,
    blind_header_bytes: 14,
    scheduled_levels: None,
    cutoffs: None,
    overcommitment: None,
    by_packet: true,
    window_bytes: 10_000,
    tail_bytes: 10_000,
    from_top: false,
    grants: Grants::Packets,
    order: SenderOrder::Left,
    // HomaTransport.cc, prepareSchedPkt: a packet is made as its grant comes.
    keeps_levels: true,
    is_ns3: false,
    resend_us: 1_000,
};

const LINUX: Variant = Variant {
    blind_bytes: 40_000,
    blind_header_bytes: 0,
    scheduled_levels: Some(4),
    cutoffs: Some(&[200, 2_800, 15_000]),
    overcommitment: Some(8),
    by_packet: false,
    window_bytes: 0,
    tail_bytes: 0,
    grants: Grants::Shared { most_bytes: 400_000, fifo_every: 1_000_000, fifo_bytes: 50_000 },
    // homa_wire.h, homa_grant_hdr: "for all future" packets.
    keeps_levels: false,
    resend_us: 5_000,
    ..SIMULATOR
};

const NS3: Variant = Variant {
    blind_bytes: 10_220,
    blind_header_bytes: 0,
    scheduled_levels: Some(6),
    cutoffs: Some(&[17_520]),
    overcommitment: Some(6),
    by_packet: false,
    window_bytes: 10_220,
    tail_bytes: 0,
    from_top: true,
    grants: Grants::Window,
    order: SenderOrder::Granted,
    keeps_levels: false,
    is_ns3: true,
    resend_us: 1_000,
};

impl Variant {
    fn of(values: &Values) -> &'static Variant {
        values.meaning("variant", &[("simulator", &SIMULATOR), ("linux", &LINUX), ("homa-ns3", &NS3)])
    }
}

/// All parameters.
pub const PARAMS: &[Param] = &[
    param! {
        "variant" = "simulator": Holds::Choice(&["simulator", "linux", "homa-ns3"]),
        "Which implementation: the authors' simulator, which the papers use; Linux's module; or the ns-3 model. It sets the defaults of the keys whose texts name it. For the simulator, scheduled_levels and with them overcommitment follow a rule, because its authors set them by hand for each workload. Packets have the simulator's sizes with each variant: for homa-ns3 write mss = \"1460B\", header = \"42B\", ack = \"42B\"; for linux mss = \"1424B\", header = \"76B\", ack = \"53B\".",
        "PlatformLab/HomaSimulation; PlatformLab/HomaModule (homa_wire.h: 56 B of data headers, 33 B of a grant, and IPv4's 20 B); serhatarslan-hub/HomaL4Protocol-ns-3"
    },
    Param {
        default: Fallback::Value("1456B"),
        source: "HomaSimulation: 1500 B less IP, UDP and 16 B",
        ..packet_format::MSS
    },
    Param {
        default: Fallback::Value("44B"),
        source: "HomaSimulation: IP, UDP and 16 B",
        ..packet_format::HEADER
    },
    Param {
        default: Fallback::Value("46B"),
        doc: "Bytes of a grant, or any other packet without payload, on the wire.",
        source: "HomaSimulation: 44 B, padded to Ethernet's least payload",
        ..packet_format::ACK
    },
    param! {
        "blind_header": Holds::Bytes,
        "How much longer the header of a blind packet (one without a grant) is; it carries so much less. Left out: 14B (simulator), 0B (linux, homa-ns3).",
        "HomaSimulation: 30 B where others have 16"
    },
    param! {
        "blind": Holds::Bytes,
        "How much of a message is sent without a grant. Left out: 9328B (simulator), 40000B (linux), 10220B (homa-ns3).",
        "Homa (SIGCOMM 2018) §3.2: RTTbytes; HomaSimulation: 1442 + 7886; HomaModule: unsched_bytes; homa-ns3: RttPackets 7"
    },
    param! {
        "levels" = "8": Holds::Count(2),
        "How many priorities there are. A packet's class is its level, and 0 goes first.", "Homa §3.4: 8"
    },
    param! {
        "scheduled_levels": Holds::Count(1),
        "How many priorities, the last ones, are for granted packets. Left out: those that unscheduled_levels or cutoffs leave; without these, the share of priorities that granted bytes have in the workload (simulator), 4 (linux), 6 (homa-ns3). The authors of the simulator set them by hand: 1 for W1, 3 for W2, 4 for W3, 7 for W4 and W5.",
        "Homa §3.4; HomaSimulation: adaptiveSchedPrioLevels; HomaModule: max_sched_prio 3"
    },
    param! {
        "unscheduled_levels": Holds::Count(1),
        "How many priorities, the first ones, are for blind packets, where cutoffs are computed. Left out: all that are not for granted ones.",
        "Homa §3.4"
    },
    param! {
        "cutoffs": Holds::List(&Holds::Bytes),
        "A blind packet has the level of the first of these that is not below what is left of its message (or its size: levels_by); beyond all, the next one. Left out: such that levels carry equal bytes, by cutoffs_from (simulator), [200, 2800, 15000] (linux), [17520] (homa-ns3).",
        "Homa §3.4; HomaModule: unsched_cutoffs; homa-ns3: fewer than 13 packets"
    },
    param! {
        "cutoffs_from" = "workload": Holds::Choice(&["workload", "seen"]),
        "What cutoffs are computed from: the scenario's flow sizes, or what a host has sent and received so far.",
        "HomaSimulation: STATIC_CBF_GRADUATED; Homa §3.4: recent traffic"
    },
    param! {
        "levels_by": Holds::Choice(&["packet", "message"]),
        "What cutoffs are compared with, and computed from: what is left of the message before the packet, or all of it. Left out: packet (simulator), message (linux, homa-ns3).",
        "HomaSimulation: STATIC_CBF_GRADUATED, STATIC_CBF_UNIFORM; Homa §3.4: the message"
    },
    param! {
        "tail_boost": Holds::Bytes,
        "This many bytes at the end of a message, as on the wire, are granted with the level that they would have had without a grant, if that is better. Left out: 10000B (simulator), 0B (linux, homa-ns3).",
        "HomaSimulation: boostTailBytesPrio"
    },
    param! {
        "overcommitment": Holds::Count(1),
        "To how many senders a host grants at once. Left out: as many as there are scheduled levels (simulator), 8 (linux), 6 (homa-ns3).",
        "Homa §3.5; HomaModule: max_overcommit; homa-ns3: OvercommitLevel"
    },
    param! {
        "fill": Holds::Choice(&["bottom", "top"]),
        "If fewer senders than levels are granted: whether they have the last levels, so that a new one overtakes what is in flight, or the first. Left out: bottom (simulator, linux), top (homa-ns3).",
        "Homa §3.4"
    },
    param! {
        "window": Holds::Bytes,
        "How much of a message may be in flight: with headers and framing (simulator), in full packets' payload (homa-ns3). Left out: 10000B (simulator), 10220B (homa-ns3).",
        "HomaSimulation: maxOutstandingRecvBytes; homa-ns3: RttPackets 7"
    },
    param! {
        "max_incoming": Holds::Bytes,
        "With linux: how much may be in flight to a host; each message's window is this over one more than there are granted ones. Left out: 400000B.",
        "HomaModule: max_incoming, window_param 0"
    },
    param! {
        "fifo_share": Holds::Number(0.0, 0.5),
        "With linux: this share of what is granted goes to the oldest message. Left out: 0.05.",
        "HomaModule: grant_fifo_fraction 50"
    },
    param! {
        "fifo_grant": Holds::Bytes,
        "With linux: this much of it at once. Left out: 50000B.", "HomaModule: fifo_grant_increment"
    },
    param! {
        "acknowledge" = "true": Holds::Flag,
        "Whether a receiver acknowledges a whole message. If not, as in the simulator, its sender forgets a message ten times resend_after after its last packet, and a message of which no packet arrived is lost: only for buffers that drop nothing.",
        "packetloom; HomaSimulation: one way only; Homa §3.1: the response"
    },
    param! {
        "aeolus" = "false": Holds::Flag,
        "Aeolus, of the simulator's Homa: queues drop blind packets before others (aqm = \"selective-drop\" of egress). A probe goes behind them, and what is missing when it comes is granted again before the rest of its message.",
        "Aeolus (SIGCOMM 2020), its abstract and what is known of it. packetloom: blind packets keep their levels; the probe alone tells of losses, as packets take many paths; the receiver names what is granted again"
    },
    param! {
        "resend_after": Holds::Time,
        "A receiver that has received nothing of a message for this long requests what is missing, unless packets with a better priority kept its link busy in the last quarter of this time. A sender does not send again what left it, after a pause, in the last half of this time (homa-ns3: it does). So nothing is sent in vain where a packet's way and that of a request back take a quarter of this time at most; what is sent in vain is warned of. A sender that has received nothing for twice as long requests a status. After each request that brings nothing new the wait doubles, up to 16 times. The variant Receivers of homa-ns3 request this often, as they grant to a message, what had been granted at the last opportunity to request, whatever delays it. Left out: \"1ms\" (simulator, homa-ns3), \"5ms\" (linux).",
        "Homa §3.7: a few milliseconds; HomaModule: resend_ticks 5; HomaL4Protocol-ns-3: ExpireRtxTimeout; the simulator loses nothing; what is late, what left too lately to be, and the doubling: packetloom"
    },
];

/// The parameters, read.
#[derive(Clone, Debug)]
pub struct Config {
    pub layout: Layout,
    pub levels: u8,
    pub scheduled_levels: u8,
    pub unscheduled_levels: u8,
    pub cutoffs: Vec<u64>,
    pub learns: bool,
    pub by_packet: bool,
    pub tail_bytes: u64,
    pub overcommitment: usize,
    pub from_top: bool,
    pub window_bytes: u64,
    pub grants: Grants,
    pub order: SenderOrder,
    pub keeps_levels: bool,
    pub is_ns3: bool,
    pub acknowledges: bool,
    /// Whether blind packets may be dropped before others, and a probe goes behind them.
    pub aeolus: bool,
    pub resend_after: Time,
}

impl Config {
    pub fn of(values: &Values) -> Config {
        let variant = Variant::of(values);
        let levels = values.count("levels");
        let scheduled = scheduled_levels(values).unwrap_or(levels / 2);
        let grants = match variant.grants {
            Grants::Shared { most_bytes, fifo_bytes, .. } => {
                let fifo_bytes = values.optional_bytes("fifo_grant").unwrap_or(fifo_bytes);
                let share = values.optional_number("fifo_share").unwrap_or(0.05);
                Grants::Shared {
                    most_bytes: values.optional_bytes("max_incoming").unwrap_or(most_bytes),
                    fifo_every: if share > 0.0 {
                        saturated::<u64>(fifo_bytes as f64 / share)
                    } else {
                        u64::MAX
                    },
                    fifo_bytes,
                }
            }
            grants => grants,
        };
        Config {
            layout: layout(values, variant, 0),
            levels: exact::<u8>(levels),
            scheduled_levels: exact::<u8>(scheduled),
            unscheduled_levels: exact::<u8>(unscheduled_levels(values, scheduled)),
            cutoffs: given_cutoffs(values).unwrap_or_default(),
            learns: learns(values),
            by_packet: by_packet(values, variant),
            tail_bytes: tail_bytes(values, variant),
            overcommitment: exact::<usize>(
                values.optional_count("overcommitment").or(variant.overcommitment).unwrap_or(scheduled),
            ),
            from_top: values.optional_text("fill").map_or(variant.from_top, |fill| fill == "top"),
            window_bytes: values.optional_bytes("window").unwrap_or(variant.window_bytes),
            grants,
            order: variant.order,
            keeps_levels: variant.keeps_levels,
            is_ns3: variant.is_ns3,
            acknowledges: values.flag("acknowledge"),
            aeolus: sends_unscheduled(values),
            resend_after: values.optional_time("resend_after").unwrap_or(Time::from_us(variant.resend_us)),
        }
    }

    /// With what links add to packets.
    pub fn on(mut self, topology: &Topology) -> Config {
        self.layout.framing_bytes = topology.framing_bytes;
        self
    }

    /// What left its sender so lately may still wait in the network.
    #[inline]
    pub fn half_resend_after(&self) -> Time {
        Time((self.resend_after.as_ps() / 2).max(1))
    }

    /// Before a link that was free so lately waits only what left its sender since, in less than half of `resend_after`
    /// with the way there and that of a request back.
    pub fn quarter_resend_after(&self) -> Time {
        Time((self.resend_after.as_ps() / 4).max(1))
    }

    /// After so long a silence a sender requests a status.
    pub fn patience(&self) -> Time {
        self.resend_after.times(2)
    }

    /// The time after which to ask again, doubled for each time that nothing new came of it.
    #[inline]
    pub fn after_requests(&self, first: Time, requests: u32) -> Time {
        first.times(1 << requests.min(MOST_DOUBLINGS))
    }

    /// More than passes between two packets of a sender that waits for an answer.
    pub fn longest_silence(&self) -> Time {
        self.after_requests(self.patience(), MOST_DOUBLINGS).times(2)
    }

    /// The size of a packet that is full, without framing.
    pub fn full_packet_bytes(&self) -> u64 {
        self.layout.payload_bytes + self.layout.header_bytes
    }

    /// After so long a silence a sender forgets a message that it has sent, where receivers do not acknowledge.
    pub fn forget_after(&self) -> Time {
        self.patience().times(5)
    }

    /// What of messages counts where cutoffs are learned.
    pub fn counted(&self) -> Counted {
        Counted {
            layout: self.layout,
            tail_bytes: self.tail_bytes,
            acknowledged: self.acknowledges,
            by_packet: self.by_packet,
        }
    }

    /// The level of a packet that no grant gives one, with so much left before it of a message of this size.
    #[inline]
    pub fn level_without_grant(&self, left_bytes: u64, size_bytes: u64) -> u8 {
        cutoffs::level(&self.cutoffs, if self.by_packet { left_bytes } else { size_bytes })
    }

    /// How many full packets a window is.
    pub fn window_packets(&self) -> u32 {
        exact::<u32>((self.window_bytes / self.layout.payload_bytes).max(1))
    }

    /// A packet without payload, which goes before all data.
    pub fn control(&self, flow: FlowId, dst: HostId, header: Header) -> Packet<Header> {
        Packet {
            flow,
            dst,
            priority: priority::FIRST,
            size_bytes: exact::<u16>(self.layout.control_bytes),
            kind: if let Header::Done = header { Kind::Ack } else { Kind::Control },
            class: 0,
            header,
            ..Packet::default()
        }
    }
}

fn layout(values: &Values, variant: &Variant, framing_bytes: u64) -> Layout {
    Layout {
        payload_bytes: values.bytes("mss"),
        header_bytes: values.bytes("header"),
        blind_header_bytes: values.optional_bytes("blind_header").unwrap_or(variant.blind_header_bytes),
        blind_bytes: values.optional_bytes("blind").unwrap_or(variant.blind_bytes),
        framing_bytes,
        control_bytes: values.bytes("ack"),
    }
}

fn by_packet(values: &Values, variant: &Variant) -> bool {
    values.optional_text("levels_by").map_or(variant.by_packet, |by| by == "packet")
}

fn tail_bytes(values: &Values, variant: &Variant) -> u64 {
    values.optional_bytes("tail_boost").unwrap_or(variant.tail_bytes)
}

/// `None`: as the workload's sizes have it. Where a scenario says how many levels are for blind packets, the others
/// are for granted ones, so that no level is for both (HomaSimulation: prioResolverPrioLevels = prioLevels -
/// adaptiveSchedPrioLevels).
fn scheduled_levels(values: &Values) -> Option<u64> {
    let own = values.optional_count("scheduled_levels").or(Variant::of(values).scheduled_levels);
    own.or_else(|| Some(values.count("levels").saturating_sub(given_blind_levels(values)?)))
}

/// How many levels are for blind packets by the number of them, or of cutoffs, that is given.
fn given_blind_levels(values: &Values) -> Option<u64> {
    let by_cutoffs = || Some(given_cutoffs(values)?.len() as u64 + 1);
    values.optional_count("unscheduled_levels").or_else(by_cutoffs)
}

fn unscheduled_levels(values: &Values, scheduled: u64) -> u64 {
    let rest = values.count("levels").saturating_sub(scheduled);
    values.optional_count("unscheduled_levels").unwrap_or(rest)
}

fn learns(values: &Values) -> bool {
    values.text("cutoffs_from") == "seen" && given_cutoffs(values).is_none()
}

/// Those of the scenario, or of the variant.
fn given_cutoffs(values: &Values) -> Option<Vec<u64>> {
    let bytes = |value: &Value| match value {
        Value::Bytes(bytes) => *bytes,
        other => panic!("a cutoff is {other:?}"),
    };
    let written = values.optional_list("cutoffs").map(|list| list.iter().map(bytes).collect());
    written.or_else(|| Variant::of(values).cutoffs.map(<[u64]>::to_vec))
}

/// The parameters with what is worked out of a workload's sizes, each with its share of all messages.
pub fn on_sizes(values: &Values, topology: &Topology, shares: &[(u64, f64)]) -> Values {
    let mut values = values.clone();
    let variant = Variant::of(&values);
    let layout = layout(&values, variant, topology.framing_bytes);
    let levels = values.count("levels");
    let scheduled =
        scheduled_levels(&values).unwrap_or_else(|| levels - cutoffs::blind_levels(shares, &layout, levels));
    values.entries.insert("scheduled_levels".to_owned(), Value::Count(scheduled));
    if given_cutoffs(&values).is_none() && !learns(&values) {
        let counted = Counted {
            layout,
            tail_bytes: tail_bytes(&values, variant),
            acknowledged: values.flag("acknowledge"),
            by_packet: by_packet(&values, variant),
        };
        let cut = Weights::of(shares, &counted).cut(unscheduled_levels(&values, scheduled));
        let cut = cut.into_iter().map(Value::Bytes).collect();
        values.entries.insert("cutoffs".to_owned(), Value::List(cut));
    }
    values
}

/// Whether blind packets say that nothing has granted them.
pub(super) fn sends_unscheduled(values: &Values) -> bool {
    values.flag("aeolus")
}

/// Parameters that only some variants have.
const OF_SOME: &[(&str, &[&str])] = &[
    ("window", &["simulator", "homa-ns3"]),
    ("max_incoming", &["linux"]),
    ("fifo_share", &["linux"]),
    ("fifo_grant", &["linux"]),
];

/// What must hold of them.
pub fn check(values: &Values) -> Result<(), Complaint> {
    packet_format::check(values)?;
    let name = values.text("variant");
    let variant = Variant::of(values);
    let idle =
        |(key, of): &&(&str, &[&str])| values.get(key) != &Value::Absent && !of.contains(&name.as_str());
    if let Some((key, _)) = OF_SOME.iter().find(idle) {
        return Err(Complaint::new(key, format!("the variant {name:?} has none; leave it out")));
    }
    if sends_unscheduled(values) && name != "simulator" {
        let message = format!(
            "the variant {name:?} grants no single packet; leave it out, or write variant = \"simulator\""
        );
        return Err(Complaint::new("aeolus", message));
    }
    if sends_unscheduled(values) && !values.flag("acknowledge") {
        return Err(Complaint::new("aeolus", "packets are lost with it; leave acknowledge = false out"));
    }
    let layout = layout(values, variant, 0);
    if layout.blind_header_bytes >= layout.payload_bytes {
        return Err(Complaint::new("blind_header", "leaves no payload; write less"));
    }
    if layout.blind_bytes == 0 {
        let message = "a receiver learns of a message from its blind packets; write at least \"1B\"";
        return Err(Complaint::new("blind", message));
    }
    for (key, least) in [("window", 1), ("max_incoming", 1), ("fifo_grant", 1)] {
        if values.optional_bytes(key).is_some_and(|bytes| bytes < least) {
            return Err(Complaint::new(key, "nothing could ever be granted; write a size above zero"));
        }
    }
    if values.optional_time("resend_after").is_some_and(|time| time < Time::from_us(1)) {
        return Err(Complaint::new("resend_after", "write a time of at least 1us, such as \"1ms\""));
    }
    check_levels(values)
}

fn check_levels(values: &Values) -> Result<(), Complaint> {
    let levels = values.count("levels");
    if levels > MOST_LEVELS {
        return Err(Complaint::new("levels", format!("write {MOST_LEVELS} at most")));
    }
    // One at least; what is given for blind packets must leave it.
    let scheduled = scheduled_levels(values).unwrap_or(1).max(1);
    if scheduled >= levels {
        let message = format!("{scheduled} of {levels} levels leave none for blind packets; write less");
        return Err(Complaint::new("scheduled_levels", message));
    }
    let rest = levels - scheduled;
    if values.optional_count("unscheduled_levels").is_some_and(|own| own > rest) {
        return Err(Complaint::new(
            "unscheduled_levels",
            format!("there are {rest} besides the others; write less"),
        ));
    }
    let Some(cutoffs) = given_cutoffs(values) else { return Ok(()) };
    if !cutoffs.is_sorted_by(|lower, higher| lower < higher) {
        let message = "each must be above the one before it; write them in ascending order";
        return Err(Complaint::new("cutoffs", message));
    }
    if cutoffs.len() as u64 >= rest {
        let message = format!("part more than the {rest} levels that are for blind packets; write fewer");
        return Err(Complaint::new("cutoffs", message));
    }
    let is_written = |key| values.get(key) != &Value::Absent;
    if is_written("unscheduled_levels") {
        let message = "cutoffs are given, which set their number; leave one of the two out";
        return Err(Complaint::new("unscheduled_levels", message));
    }
    if values.text("cutoffs_from") == "seen" {
        return Err(Complaint::new(
            "cutoffs_from",
            "cutoffs are given; write [] no cutoffs, or leave this out",
        ));
    }
    Ok(())
}

#[cfg(test)]
pub mod testing {
    use super::*;

    /// The simulator's, with four levels for granted packets.
    pub fn config(keeps_levels: bool) -> Config {
        Config {
            layout: Layout {
                payload_bytes: 1_456,
                header_bytes: 44,
                blind_header_bytes: 14,
                blind_bytes: 9_328,
                framing_bytes: 38,
                control_bytes: 46,
            },
            levels: 8,
            scheduled_levels: 4,
            unscheduled_levels: 4,
            cutoffs: Vec::new(),
            learns: false,
            by_packet: true,
            tail_bytes: 0,
            overcommitment: 4,
            from_top: false,
            window_bytes: 10_000,
            grants: Grants::Packets,
            order: SenderOrder::Left,
            keeps_levels,
            is_ns3: false,
            acknowledges: true,
            aeolus: false,
            resend_after: Time::from_us(1_000),
        }
    }
}

//! What can be set, and what each variant has where it is left out.

use super::{Grants, SenderOrder};
use crate::packet_format;
use crate::spec::{Fallback, Kind as Holds, Param, Values, param};

/// The defaults in which one Homa differs from another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant {
    pub(super) blind_bytes: u64,
    pub(super) blind_header_bytes: u64,
    /// `None`: by the sizes of the workload.
    pub(super) scheduled_levels: Option<u64>,
    /// `None`: by the sizes of the workload.
    pub(super) cutoffs: Option<&'static [u64]>,
    /// `None`: as many as there are scheduled levels.
    pub(super) overcommitment: Option<u64>,
    pub(super) by_packet: bool,
    pub(super) window_bytes: u64,
    pub(super) tail_bytes: u64,
    pub(super) from_top: bool,
    pub(super) grants: Grants,
    pub(super) order: SenderOrder,
    /// Whether a packet goes at the level of its own grant, and not of the latest one.
    pub(super) keeps_levels: bool,
    /// Whether a grant's level holds for all that is still to be sent, and a pass of grants goes once over all
    /// messages.
    pub(super) is_ns3: bool,
    pub(super) resend_us: u64,
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
    pub(super) fn of(values: &Values) -> &'static Variant {
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
        "With linux: how many bytes the oldest message is granted at once from that share. Left out: 50000B.", "HomaModule: fifo_grant_increment"
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
        "A receiver that has received nothing of a message for this long requests what is missing, unless packets with a better priority kept its link busy in the last quarter of this time. A sender does not send again what left it, after a pause, in the last half of this time (homa-ns3: it does). So nothing is sent in vain where a packet's way and that of a request back take a quarter of this time at most; what is sent in vain is warned of. A sender that has received nothing for twice as long requests a status. After each request that brings nothing new the wait doubles, up to 16 times. With homa-ns3 a receiver checks a message this often, as it grants to it, and requests what it had granted at the check before, whatever delays that. Left out: \"1ms\" (simulator, homa-ns3), \"5ms\" (linux).",
        "Homa §3.7: a few milliseconds; HomaModule: resend_ticks 5; HomaL4Protocol-ns-3: ExpireRtxTimeout; the simulator loses nothing; what is late, what left too lately to be, and the doubling: packetloom"
    },
];

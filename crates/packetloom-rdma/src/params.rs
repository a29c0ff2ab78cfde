//! The parameters that all transports between queue pairs share.

use super::connections;
use super::presets;
use super::python;
use crate::packet_format;
use crate::spec::{Complaint, Kind, Needs, Param, Values, param};
use crate::units::Time;

/// What differs between the transports' defaults: each with its source.
#[derive(Clone, Copy)]
pub struct Defaults {
    /// `header`.
    pub header: (&'static str, &'static str),
    /// `ack`.
    pub ack: (&'static str, &'static str),
    /// `ack_class`.
    pub ack_class: (&'static str, &'static str),
    /// `window`.
    pub window: (&'static str, &'static str),
    /// `variable_window`.
    pub variable_window: (&'static str, &'static str),
    /// `recovery`.
    pub recovery: (&'static str, &'static str),
    /// What the data's traffic class is called: [`DATA_CLASS`] where `class` is a Python class.
    pub class: &'static str,
    /// The words of `preset`.
    pub presets: &'static [&'static str],
}

/// See [`Defaults::class`].
pub const DATA_CLASS: &str = "data_class";

/// What a transport calls its data's traffic class.
pub fn class_key(values: &Values) -> &'static str {
    if values.entries.contains_key(DATA_CLASS) { DATA_CLASS } else { "class" }
}

/// The defaults of HPCC's simulator.
pub const fn default_of() -> Defaults {
    Defaults {
        header: ("48B", "HPCC's simulator: 14 B Ethernet, 20 B IPv4, 8 B UDP, 6 B sequence and class"),
        ack: ("60B", "HPCC's simulator: Ethernet's smallest frame without its check sequence"),
        ack_class: ("3", "HPCC's simulator: ACK_HIGH_PRIO 0"),
        window: ("none", "DCQCN (SIGCOMM 2015) §3: the sender is limited by its rate alone"),
        variable_window: ("false", "HPCC's simulator: VAR_WIN"),
        recovery: ("go-back-n", "IRN (SIGCOMM 2018) §2.1: what RoCE NICs do"),
        class: "class",
        presets: presets::WORDS,
    }
}

const GO_BACK: &[Needs] = &[Needs::Is("recovery", &["go-back-n"])];
const IRN: &[Needs] = &[Needs::Is("recovery", &["irn"])];

/// The windows of HPCC's and PowerTCP's papers are never above what the link carries in base_rtt, and go by the rate.
fn has_own_window(values: &Values) -> bool {
    matches!(values.kind.as_str(), "hpcc" | "powertcp" | "theta-powertcp")
        && values.text("variant") == "paper"
        && values.text("window") != "fixed"
}

const BOUNDS: &[Needs] = &[Needs::That(
    |site| !has_own_window(site.own),
    "the transport's own window (variant = \"paper\") is never above that; \"fixed\" can be below",
)];

const SCALES: &[Needs] = &[
    Needs::Is("window", &["bdp", "fixed"]),
    Needs::That(
        |site| !has_own_window(site.own),
        "the transport's own window (variant = \"paper\") goes by the rate",
    ),
];

const GOES_BY_RTT: &[Needs] = &[Needs::That(
    |site| {
        let by_itself = !["roce", "dcqcn", "rdma-dctcp", "bfc"].contains(&site.own.kind.as_str());
        let cap = site.own.text("recovery") == "irn" && site.own.optional_count("bdp_cap").is_none();
        by_itself || cap || site.own.text("window") == "bdp"
    },
    "it needs window = \"bdp\", or recovery = \"irn\" without bdp_cap",
)];

/// Those that take a mark, or a NACK, for congestion.
const GOES_BY_MARKS: &[Needs] = &[Needs::That(
    |site| python::goes_by_marks(site.own) || matches!(site.own.kind.as_str(), "dcqcn" | "rdma-dctcp"),
    "the transport, or its class, does not go by marks",
)];

/// The parameters under these defaults.
pub const fn core(d: Defaults) -> [Param; 24] {
    [
        param! {
            (presets::KEY) = "none": Kind::Choice(d.presets),
            "Sets several parameters at once, of those that are not written beside it; some in proportion to the rate of the hosts' links.",
            "packetloom; of each value: see the preset"
        },
        param! {
            "mss" = "1000B": Kind::Bytes,
            "Payload bytes of a full packet.", "HPCC's simulator: PACKET_PAYLOAD_SIZE 1000"
        },
        param! { "header" = (d.header.0): Kind::Bytes, "Header bytes of a data packet.", d.header.1 },
        param! { "ack" = (d.ack.0): Kind::Bytes, "Bytes of an ACK, NACK or CNP on the wire.", d.ack.1 },
        param! {
            (d.class) = "3": Kind::Count(0),
            "The traffic class of data, which PFC may pause.", "HPCC's simulator: priority group 3"
        },
        param! {
            "ack_class" = (d.ack_class.0): Kind::Count(0),
            "The traffic class of ACKs, NACKs and CNPs. Where class 0 goes first and is never paused, 0 keeps them from waiting behind data.",
            d.ack_class.1
        },
        param! {
            "recovery" = (d.recovery.0): Kind::Choice(&["go-back-n", "irn", "none"]),
            "What happens to packets beyond a loss. \"go-back-n\": the receiver drops them, and the sender goes back to the first missing one. \"irn\": they are kept, and only what is missing is sent again, with IRN's timeouts and its cap on packets in flight. \"none\": the unreliable connection (UC, with roce and dcqcn). The receiver drops the rest of the flow; nothing is acknowledged or sent again.",
            d.recovery.1
        },
        param! {
            "nack_interval" = "500us": Kind::Time,
            "With go-back-n: a receiver sends at most one NACK in this time for the same missing packet.",
            "HPCC's simulator: NACK Generation Interval"; acts GO_BACK
        },
        param! {
            "ack_duplicates" = "true": Kind::Flag,
            "With go-back-n: acknowledge a packet that came before; otherwise ignore it, as HPCC's simulator does.",
            "InfiniBand specification: C9-110"; acts GO_BACK
        },
        param! {
            "chunk": Kind::Count(2),
            "With go-back-n: go back to the start of a chunk of this many packets, and acknowledge whole chunks only; left out: to the missing packet.",
            "HPCC's simulator: L2_BACK_TO_ZERO, L2_CHUNK_SIZE"; acts GO_BACK
        },
        param! {
            "rto": Kind::Time,
            "With go-back-n: if nothing is acknowledged for this long after the last packet sent or acknowledgement, go back; left out: never, so that a lost last packet is never repaired (ConWeave's simulator: 4 ms).",
            "HPCC's simulator: none"; acts GO_BACK
        },
        param! {
            "rto_low" = "100us": Kind::Time,
            "With irn: the timeout while fewer than rto_low_packets are in flight.",
            "IRN (SIGCOMM 2018) §4.1: RTO_low"; acts IRN
        },
        param! {
            "rto_high" = "320us": Kind::Time,
            "With irn: the timeout otherwise.", "IRN (SIGCOMM 2018) §4.1: RTO_high"; acts IRN
        },
        param! {
            "rto_low_packets" = "3": Kind::Count(0),
            "With irn: see rto_low.", "IRN (SIGCOMM 2018) §4.1: N = 3"; acts IRN
        },
        param! {
            "bdp_cap": Kind::Count(1),
            "With irn: this many packets may be in flight; left out: what the host's link carries in base_rtt.",
            "IRN (SIGCOMM 2018) §3.2: BDP-FC"; acts IRN
        },
        param! {
            "nack_is_cnp" = "false": Kind::Flag,
            "With transports that use marks: take a NACK as a sign of congestion, like a mark. Where marks come back in CNPs, a NACK counts as one only if the flow has had none for a cnp_interval.",
            "HPCC's simulator: no; ConWeave's, after ConnectX: yes"; acts GOES_BY_MARKS
        },
        param! {
            "ack_every" = "1": Kind::Count(1),
            "Acknowledge once in this many packets; the last of a flow, and one after which the sender's window is full, at once.",
            "HPCC's simulator acknowledges each, whatever its L2_ACK_INTERVAL"; acts &[Needs::Is("recovery", &["go-back-n", "irn"])]
        },
        param! {
            "ack_delay" = "10us": Kind::Time,
            "With ack_every above 1: the longest that an acknowledgement waits for packets to come.",
            "packetloom"; acts &[Needs::Above("ack_every", 1)]
        },
        param! {
            "window" = (d.window.0): Kind::Choice(&["none", "bdp", "fixed"]),
            "What bounds the bytes in flight beside the rate: nothing; what the host's link carries in base_rtt; or window_bytes. The packet that fills it may exceed it.",
            d.window.1; acts BOUNDS
        },
        param! {
            "window_bytes": Kind::Bytes,
            "With window = \"fixed\": how many bytes may be in flight.", "packetloom"
        },
        param! {
            "variable_window" = (d.variable_window.0): Kind::Flag,
            "Scale the window with the flow's rate over the link's.", d.variable_window.1; acts SCALES
        },
        param! {
            "base_rtt": Kind::Time,
            "The network's round-trip time without queues, as senders know it; left out: the longest of all pairs of hosts, with one full payload on each link of the way there.",
            "HPCC's simulator: GLOBAL_T 1"; acts GOES_BY_RTT
        },
        param! {
            "initial_rate": Kind::Rate,
            "A flow's rate at its start; left out: the link's.",
            "DCQCN (SIGCOMM 2015) §3.1, HPCC (SIGCOMM 2019) §3.2: line rate"
        },
        connections::PARAM,
    ]
}

/// What must hold of them.
pub fn check(values: &Values) -> Result<(), Complaint> {
    packet_format::check(values)?;
    for key in [class_key(values), "ack_class"] {
        if values.count(key) > 255 {
            return Err(Complaint::new(key, "traffic classes are numbered 0 to 255"));
        }
    }
    for key in ["rto", "rto_low", "rto_high", "base_rtt"] {
        if values.get(key) == &crate::spec::Value::Time(Time::ZERO) {
            return Err(Complaint::new(key, "write a time above zero, such as \"100us\""));
        }
    }
    if values.optional_time("rto").is_some() && !values.flag("ack_duplicates") {
        let message = "is needed where there is a timeout (rto): otherwise what was lost may be an acknowledgement that never comes again; write true";
        return Err(Complaint::new("ack_duplicates", message));
    }
    if values.flag("nack_is_cnp") && goes_by_no_marks(&values.kind) {
        let message = format!(
            "{} does not go by marks, so nothing would come of it; leave it out, or write transport = \"dcqcn\"",
            values.kind
        );
        return Err(Complaint::new("nack_is_cnp", message));
    }
    connections::check(values)?;
    check_window(values)?;
    if values.text("recovery") == "none" { check_unreliable(values) } else { Ok(()) }
}

fn goes_by_no_marks(kind: &str) -> bool {
    ["roce", "hpcc", "powertcp", "theta-powertcp", "timely", "swift", "bfc"].contains(&kind)
}

/// What must hold where nothing is acknowledged.
fn check_unreliable(values: &Values) -> Result<(), Complaint> {
    if !matches!(values.kind.as_str(), "roce" | "dcqcn") {
        let message = format!(
            "{} goes by acknowledgements, and with none nothing is acknowledged; write \"go-back-n\" or \"irn\", or transport = \"dcqcn\"",
            values.kind
        );
        return Err(Complaint::new("recovery", message));
    }
    for (key, is_set) in [
        ("window", values.text("window") != "none"),
        ("rto", values.optional_time("rto").is_some()),
        ("chunk", values.optional_count("chunk").is_some()),
        ("nack_is_cnp", values.flag("nack_is_cnp")),
        ("bdp_cap", values.optional_count("bdp_cap").is_some()),
    ] {
        if is_set {
            let message = "goes by acknowledgements, and with recovery = \"none\" there are none; leave it out, or write recovery = \"go-back-n\" or \"irn\"";
            return Err(Complaint::new(key, message));
        }
    }
    if values.component(connections::PARAM.name).kind != "open" {
        let message = "are not built for recovery = \"none\"; leave them out";
        return Err(Complaint::new("connections", message));
    }
    Ok(())
}

fn check_window(values: &Values) -> Result<(), Complaint> {
    let is_fixed = values.text("window") == "fixed";
    match values.optional_bytes("window_bytes") {
        None if is_fixed => Err(Complaint::new(
            "window_bytes",
            "is missing; write a size such as \"52KB\", or another window",
        )),
        Some(_) if !is_fixed => Err(Complaint::new(
            "window_bytes",
            "is used with window = \"fixed\" only; write that, or leave this out",
        )),
        Some(0) => {
            Err(Complaint::new("window_bytes", "nothing could be sent; write a size such as \"52KB\""))
        }
        Some(bytes) if bytes < values.optional_count("chunk").unwrap_or(0) * values.bytes("mss") => {
            Err(Complaint::new("window_bytes", "a chunk must fit the window; write more, or a smaller chunk"))
        }
        _ => Ok(()),
    }
}

//! What cables and switches have in common in every topology.

use super::{processing, retry};
use crate::narrow::exact;
use crate::spec::{self, Complaint, Component, Kind, Param, Registered, Value, Values, anything, param};
use crate::units::{Rate, Time};

/// A cable's two figures.
#[derive(Clone, Copy, Debug)]
pub struct Cable {
    /// Bits per second.
    pub rate: Rate,
    /// Propagation, one way.
    pub delay: Time,
}

impl Cable {
    pub(super) fn of(values: &Values) -> Cable {
        Cable { rate: values.rate("rate"), delay: values.time("delay") }
    }
}

/// The link under `key`, or the topology's general one.
pub(super) fn cable(values: &Values, key: &str) -> Cable {
    Cable::of(&values.optional_component(key).unwrap_or_else(|| values.component("link")))
}

/// A link: `link = { rate = "10Gbps", delay = "0.4us" }`.
pub const COMPONENT: Component = Component {
    section: "link",
    kind: "link",
    doc: "A full-duplex cable.",
    source: "packetloom",
    params: &[&[
        param! {
            "rate" = "10Gbps": Kind::Rate,
            "Bits per second in each direction.", "pFabric §3: all links are 10 Gb/s"
        },
        param! {
            "delay" = "0.4us": Kind::Time,
            "Propagation delay, one way.",
            "pFabric §3: six hops there and back of a 1500 B packet and its 40 B ACK then take 12.19 us"
        },
    ]],
    check: check_link,
};

/// Below this a packet's serialisation time would not fit the arithmetic.
pub const SLOWEST: Rate = Rate(10_000);
const FASTEST: Rate = Rate::from_gbps(100_000);
const LONGEST_DELAY: Time = Time(3_600_000_000_000_000);

fn check_link(values: &Values) -> Result<(), Complaint> {
    if !(SLOWEST..=FASTEST).contains(&values.rate("rate")) {
        return Err(Complaint::new("rate", format!("write a rate from {SLOWEST} to {FASTEST}")));
    }
    check_delay(values, "delay")
}

/// The same of figures from a file.
pub(super) fn check_figures(rate: Rate, delay: Time) -> Result<(), String> {
    if !(SLOWEST..=FASTEST).contains(&rate) {
        return Err(format!("the rate is {rate}; write one from {SLOWEST} to {FASTEST}"));
    }
    if delay > LONGEST_DELAY {
        return Err(format!("the delay is {delay}; write one of at most {LONGEST_DELAY}"));
    }
    Ok(())
}

pub(super) fn check_delay(values: &Values, key: &str) -> Result<(), Complaint> {
    if values.time(key) > LONGEST_DELAY {
        return Err(Complaint::new(key, format!("write a delay of at most {LONGEST_DELAY}")));
    }
    Ok(())
}

/// What the switches of each layer take to process a packet.
pub(super) fn switch_delays(values: &Values, layers: usize) -> Vec<Time> {
    match values.optional_list("switch_delays") {
        Some(delays) => delays.iter().map(Value::as_time).collect(),
        None => vec![values.time("switch_delay"); layers],
    }
}

/// What must hold of the parameters that every topology has; `layers` counts those of switches.
pub(super) fn check_common(values: &Values, layers: usize) -> Result<(), Complaint> {
    check_delay(values, "switch_delay")?;
    check_framing(values)?;
    let delays = switch_delays(values, layers);
    if delays.len() != layers {
        let message = format!("write one delay for each of the {layers} layers of switches");
        return Err(Complaint::new("switch_delays", message));
    }
    if delays.iter().any(|delay| *delay > LONGEST_DELAY) {
        return Err(Complaint::new("switch_delays", format!("write delays of at most {LONGEST_DELAY}")));
    }
    Ok(())
}

/// What must hold of [`FORWARDING_PARAMS`].
pub(super) fn check_framing(values: &Values) -> Result<(), Complaint> {
    check_delay(values, "host_delay")?;
    if values.bytes("framing") > 1_000 {
        return Err(Complaint::new("framing", "write at most 1000B; Ethernet's is 20B"));
    }
    Ok(())
}

/// How switches forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarding {
    /// A packet is forwarded once it is there whole.
    StoreAndForward,
    /// A packet is forwarded once this much of it is there.
    CutThrough {
        /// How much must be there.
        header_bytes: u16,
        /// Whether a faster link may send what has not arrived yet, as some simulators let it.
        underrun: bool,
    },
}

impl Forwarding {
    pub(super) fn of(values: &Values) -> Forwarding {
        spec::factory(FORWARDINGS, &values.kind)(values)
    }
}

type Build = fn(&Values) -> Forwarding;

/// How switches can forward.
pub(super) const FORWARDINGS: &[Registered<Build>] = &[
    Registered { component: STORE_AND_FORWARD, factory: |_| Forwarding::StoreAndForward },
    Registered {
        component: CUT_THROUGH,
        factory: |values| Forwarding::CutThrough {
            header_bytes: exact::<u16>(values.bytes("header")),
            underrun: values.flag("underrun"),
        },
    },
];

/// Store-and-forward switches.
const STORE_AND_FORWARD: Component = Component {
    section: "forwarding",
    kind: "store-and-forward",
    doc: "A switch forwards a packet once its last bit has arrived.",
    source: "packetloom",
    params: &[],
    check: anything,
};

/// Cut-through switches.
const CUT_THROUGH: Component = Component {
    section: "forwarding",
    kind: "cut-through",
    doc: "A switch forwards a packet once its header has arrived; the last hop delivers it whole.",
    source: "packetloom",
    params: &[&[
        param! {
            "header" = "40B": Kind::Bytes,
            "How much of a packet must have arrived before it is forwarded.", "YAPS"
        },
        param! {
            "underrun" = "false": Kind::Flag,
            "Let a faster outgoing link send bits that have not arrived yet, as YAPS does; no real switch can.",
            "packetloom"
        },
    ]],
    check: check_header,
};

fn check_header(values: &Values) -> Result<(), Complaint> {
    match values.bytes("header") {
        1..=65_535 => Ok(()),
        _ => Err(Complaint::new("header", "write a size from 1B to 65535B")),
    }
}

/// The links, where a topology has no file that says so.
pub(super) const LINK_PARAMS: &[Param] = &[
    param! {
        "link" = "link": Kind::Component("link"),
        "Every link that has no entry of its own.", "packetloom"
    },
    param! {
        "host_link": Kind::Component("link"),
        "The links between hosts and their switches, where they differ.", "packetloom"
    },
];

/// The parameters that every topology has beside its own, but for those that have switches' delays from a file.
pub(super) const COMMON_PARAMS: &[Param] = &[
    param! {
        "switch_delay" = "0us": Kind::Time,
        "The time that a switch takes to process a packet before it is queued at its outgoing port.",
        "packetloom"
    },
    param! {
        "switch_delays": Kind::List(&Kind::Time),
        "The switch_delay of each layer of switches, from the hosts inwards, where layers differ.",
        "packetloom"
    },
    HOST_DELAY,
    PROCESSING,
    SEND_PER_MESSAGE,
    RECEIVE_PER_MESSAGE,
    LINK_RETRY,
    FRAMING,
    WHOLE_NS,
    FORWARDING,
];

/// Those of the latter.
pub(super) const FORWARDING_PARAMS: &[Param] = &[
    HOST_DELAY,
    PROCESSING,
    SEND_PER_MESSAGE,
    RECEIVE_PER_MESSAGE,
    LINK_RETRY,
    FRAMING,
    WHOLE_NS,
    FORWARDING,
];

const HOST_DELAY: Param = param! {
    "host_delay" = "0us": Kind::Time,
    "The time that a host takes to process an arriving packet before its transport sees it.", "packetloom"
};

const PROCESSING: Param = param! {
    (processing::KEY) = "none": Kind::Component("processing"),
    "The time, in addition to host_delay, that a host takes to process an arriving packet before its transport sees it, drawn anew for each. Packets keep their order.",
    "packetloom"
};

const SEND_PER_MESSAGE: Param = param! {
    "send_per_message" = "0us": Kind::Time,
    "The time that a host takes for each flow that it sends, before its transport gets it, one flow at a time.",
    "packetloom"
};

const RECEIVE_PER_MESSAGE: Param = param! {
    "receive_per_message" = "0us": Kind::Time,
    "The time that a host takes for each flow that it received, after its last byte, one flow at a time. The flow is complete after that.",
    "packetloom"
};

const LINK_RETRY: Param = param! {
    (retry::KEY) = "none": Kind::Component("link-retry"),
    "Whether links send again what was damaged on them, by a fault \"corruption\" or the error rate of a link.",
    "packetloom"
};

const FRAMING: Param = param! {
    "framing" = "0B": Kind::Bytes,
    "Preamble and inter-frame gap: bytes that each packet occupies on a link in addition to its own (Ethernet: 20B).",
    "packetloom"
};

const WHOLE_NS: Param = param! {
    "whole_ns" = "false": Kind::Flag,
    "Round a packet's time on a link down to whole nanoseconds, as ns-3's clock does. A link of 100 Gb/s is then up to 1 % too fast, one of 400 Gb/s up to 5 %.",
    "HPCC's ns-3 simulator; packetloom: picoseconds"
};

const FORWARDING: Param = param! {
    "forwarding" = "store-and-forward": Kind::Component("forwarding"),
    "Whether switches wait for a whole packet.", "packetloom"
};

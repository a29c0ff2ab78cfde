//! The parameters of both transports.

use super::config::{Config, Credits, Most, Timeout, Windows};
use super::service::{self, Service};
use super::window::Rule;
use super::{nscc, oversubscribed, pacer, sleek};
use crate::narrow::exact;
use crate::packet_format::{self, PacketFormat};
use crate::spec::{Complaint, Fallback, Kind, Needs, Param, Values, check_period, param};
use crate::units::{Rate, Time};

const HTSIM: &str = "htsim_uec";

/// A parameter with a default.
const fn param(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    doc: &'static str,
    source: &'static str,
) -> Param {
    param! { name = default: kind, doc, source }
}

fn has(values: &Values, control: &str) -> bool {
    service::control(values).is_some_and(|chosen| chosen == "both" || chosen == control)
}

/// Whether marks move anything: the senders' window, or what receivers of an oversubscribed network pull.
pub fn goes_by_marks(values: &Values) -> bool {
    let by_window = has(values, "nscc") && values.text("window") != "constant";
    by_window || (has(values, "rccc") && values.has("oversubscription"))
}

const HAS_WINDOW: &[Needs] =
    &[Needs::That(|site| has(site.own, "nscc"), "it needs control = \"nscc\" or \"both\"")];
const HAS_CREDIT: &[Needs] =
    &[Needs::That(|site| has(site.own, "rccc"), "it needs control = \"rccc\" or \"both\"")];
const NSCC: &[Needs] = &[HAS_WINDOW[0], Needs::Is("window", &["nscc"])];
const IS_CONTROLLED: &[Needs] = &[Needs::That(
    |site| service::control(site.own).is_some(),
    "with this service nobody controls congestion; it needs control = \"nscc\"",
)];

/// EQDS has no window that goes by round trips, and timeouts of its own.
const KNOWS_RTT: &[Needs] =
    &[Needs::That(|site| site.own.kind != "eqds", "EQDS's hosts go by no round trip")];

/// What both have.
pub const COMMON: &[Param] = &[
    Param {
        default: Fallback::Value("4096B"),
        source: "Ultra Ethernet: 4 KiB packets",
        ..packet_format::MSS
    },
    Param { default: Fallback::Value("64B"), source: "htsim_uec, htsim_eqds: 64", ..packet_format::HEADER },
    Param {
        default: Fallback::Value("64B"),
        doc: "Bytes of an ACK, NACK, pull or request on the wire.",
        source: "htsim_uec, htsim_eqds: 64",
        ..packet_format::ACK
    },
    param(
        "ack_every",
        Kind::Bytes,
        "16384B",
        "This many bytes, headers included, are acknowledged together; the first packet, marked ones, duplicates and those that ask are acknowledged at once.",
        "Ultra Ethernet specification 1.0: ACK_Gen_Trigger, 16 KB whatever the rate; htsim_uec: from 16384 B on; htsim_eqds: from more than that on",
    ),
    param! {
        "rto": Kind::Time,
        "A packet that is not answered for this long is sent again. Left out: for uec 15 us and six bandwidth-delay products at the rate of a host's link (with sleek thirty); for eqds 150 us and six times 35 packets.",
        "htsim_uec, htsim_eqds: six queues at their default lengths"
    },
    param! {
        "base_rtt": Kind::Time,
        "The round trip without queues that hosts assume. Left out: the longest in the network, of a full packet and its answer. Where hosts have several links, it is that of the network into which a flow's links lead.",
        HTSIM; acts KNOWS_RTT
    },
];

/// Ultra Ethernet's own.
pub const UEC: &[Param] = &[
    service::PARAM,
    param! {
        "control": Kind::Choice(&["nscc", "rccc", "both"]),
        "Who controls congestion: senders by a window (nscc), receivers by credit (rccc), or both. Left out: nscc where service is rud or rod; nobody where it is rudi or uud, whose packets leave at line rate.",
        "Ultra Ethernet specification 1.0, §3.6.13 and §3.6.14; §3.5.7.3 and §3.5.7.4: not of RUDI and UUD"
    },
    param(
        "window",
        Kind::Choice(&["nscc", "dctcp", "constant"]),
        "nscc",
        "What changes the senders' window: delays and marks; marks alone, by a packet up per window and a third of what is marked down; or nothing.",
        "htsim_uec: -sender_cc_algo",
    ).acts(HAS_WINDOW),
    param(
        "max_window",
        Kind::Number(0.1, 100.0),
        "1.5",
        "The largest window, and the most credit, in bandwidth-delay products; a full packet at least.",
        HTSIM,
    ).acts(IS_CONTROLLED),
    param! {
        "initial_window": Kind::Count(1),
        "The first window in full packets; left out: the largest.", "htsim_uec: -cwnd"; acts HAS_WINDOW
    },
    param! {
        "target_delay": Kind::Time,
        "The delay in queues that NSCC aims at; left out: 0.75 of the base round trip, or with sleek, where queues are longer, all of it.",
        HTSIM; acts HAS_WINDOW
    },
    param(
        "control_per_data",
        Kind::Count(1),
        "10",
        "Control packets that a host sends for each data packet while both wait.",
        HTSIM,
    ),
    param(
        "reference_rate",
        Kind::Rate,
        "100Gbps",
        "NSCC scales its gains by the bandwidth-delay product over a reference's: the rate of the reference.",
        HTSIM,
    ).acts(NSCC),
    param("reference_rtt", Kind::Time, "12us", "The base round-trip time of that reference, by which NSCC scales its gains.", HTSIM).acts(NSCC),
    param(
        "alpha",
        Kind::Number(0.0, 100.0),
        "4",
        "Proportional increase: packets per round trip at zero delay.",
        HTSIM,
    ).acts(NSCC),
    param(
        "fair_increase",
        Kind::Number(0.0, 100.0),
        "5",
        "Fair increase: packets per round trip, while the delay is above its target and nothing is marked.",
        HTSIM,
    ).acts(NSCC),
    param(
        "eta",
        Kind::Number(0.0, 100.0),
        "0.15",
        "Packets by which a window grows each round trip in any case.",
        HTSIM,
    ).acts(NSCC),
    param(
        "fast_increase",
        Kind::Number(0.0, 10.0),
        "0.25",
        "Once a whole window was acknowledged without delay, the window grows by this share of what is acknowledged.",
        HTSIM,
    ).acts(NSCC),
    param("fast_below", Kind::Time, "1us", "For fast_increase: a delay below this counts as none.", HTSIM).acts(NSCC),
    param(
        "gamma",
        Kind::Number(0.0, 1.0),
        "0.8",
        "Multiplicative decrease, in proportion to the delay above its target.",
        HTSIM,
    ).acts(NSCC),
    param(
        "max_decrease",
        Kind::Number(0.0, 1.0),
        "0.5",
        "The most of a window that one decrease takes.",
        HTSIM,
    ).acts(NSCC),
    param(
        "delay_gain",
        Kind::Number(0.0001, 1.0),
        "0.0125",
        "The weight of a new delay in the smoothed one.",
        HTSIM,
    ).acts(NSCC),
    param(
        "adapt_gate",
        Kind::Count(0),
        "3",
        "Quick adaptation: once per round trip with a full queue, if packets were trimmed and less than the largest window divided by two to the power of this arrived, the window becomes what arrived.",
        HTSIM,
    ).acts(NSCC),
    param(
        "adapt_threshold",
        Kind::Number(0.0, 1000.0),
        "4",
        "Quick adaptation happens as well if the delay was above this many target delays.",
        HTSIM,
    ).acts(NSCC),
    param(
        "adjust_every",
        Kind::Count(1),
        "8",
        "A window is adjusted after this many full packets' bytes, if not after a round trip.",
        HTSIM,
    ).acts(NSCC),
    param(
        "pull_packets",
        Kind::Count(1),
        "4",
        "Full payloads of credit in a pull.",
        "Ultra Ethernet; htsim_uec: 4",
    ).acts(HAS_CREDIT),
    param(
        "pull_quantum",
        Kind::Bytes,
        "256B",
        "Credit is counted in this many bytes.",
        "Ultra Ethernet; htsim_uec: 256 B",
    ).acts(HAS_CREDIT),
    param(
        "pull_rate",
        Kind::Number(0.01, 1.0),
        "0.99",
        "The share of the receiver's link that the credit of pulls would fill.",
        HTSIM,
    ).acts(HAS_CREDIT),
    IDLE_PULLS.acts(HAS_CREDIT),
    param! {
        "oversubscription": Kind::Number(1.0, 1000.0),
        "With control = \"rccc\": how many times more the hosts' links carry than the fabric above them. Receivers then pull for less than their link while packets are marked, or trimmed before the last link. Left out: they do not.",
        HTSIM
    },
    param(
        "oversubscription_increase",
        Kind::Number(0.0, 1.0),
        "0.01",
        "How much a receiver raises its pull rate each period, as a share of its link; doubled while nothing is marked.",
        HTSIM,
    ).acts(&[Needs::Set("oversubscription")]),
    param(
        "oversubscription_decrease",
        Kind::Number(0.0, 1.0),
        "0.5",
        "How much a receiver lowers its pull rate each period: this times the excess of the share of marks over its target.",
        HTSIM,
    ).acts(&[Needs::Set("oversubscription")]),
    param(
        "oversubscription_target",
        Kind::Number(0.0, 1.0),
        "0.3",
        "The share of marks that is aimed at.",
        HTSIM,
    ).acts(&[Needs::Set("oversubscription")]),
    param(
        "oversubscription_gain",
        Kind::Number(0.0001, 1.0),
        "0.5",
        "The weight of a period's share of marks in the smoothed share.",
        HTSIM,
    ).acts(&[Needs::Set("oversubscription")]),
    param(
        "sleek",
        Kind::Flag,
        "false",
        "Loss recovery for networks that do not trim, in flows with a window: what is far behind, or missing after a probe that met no queue, is sent again.",
        "htsim_uec: -sleek",
    ),
    param(
        "sleek_windows",
        Kind::Number(0.0, 100.0),
        "1.5",
        "With sleek: a packet is lost when this many windows arrived beyond it.",
        HTSIM,
    ).acts(&[Needs::Is("sleek", &["true"])]),
    param("sleek_packets", Kind::Count(1), "5", "With sleek: a packet is lost only if at least this many packets arrived beyond it, too.", HTSIM).acts(&[Needs::Is("sleek", &["true"])]),
    param(
        "probe_first",
        Kind::Count(1),
        "3",
        "With sleek: a probe goes after this many base round trips without an answer while there is more to send; otherwise after one base round trip and the target delay.",
        HTSIM,
    ).acts(&[Needs::Is("sleek", &["true"])]),
    param("probe_again", Kind::Count(1), "5", "With sleek: another probe goes after this many more base round trips without an answer.", HTSIM).acts(&[Needs::Is("sleek", &["true"])]),
];

/// EQDS's own.
pub const EQDS: &[Param] = &[
    param(
        "window",
        Kind::Count(1),
        "50",
        "Full packets that a sender may send before the receiver answers, and the most credit it requests.",
        "htsim_eqds: -cwnd 50",
    ),
    param(
        "control_per_data",
        Kind::Count(1),
        "20",
        "Control packets that a host sends for each data packet while both wait.",
        "htsim_eqds",
    ),
    param("pull_quanta", Kind::Count(1), "8", "Quanta of credit in a pull.", "htsim_eqds: 8"),
    param("pull_quantum", Kind::Bytes, "512B", "Credit is counted in this many bytes.", "htsim_eqds: 512 B"),
    param(
        "pull_interval",
        Kind::Number(0.01, 100.0),
        "0.99",
        "The interval between two pulls, in units of the time that the credit of one takes on the receiver's link, with a header and framing.",
        "htsim_eqds: 0.99 of 4160 B with framing, whatever its -mtu",
    ),
    param(
        "framing",
        Kind::Bytes,
        "38B",
        "The framing of a packet that the pacing of pulls assumes.",
        "htsim_eqds: 38",
    ),
    IDLE_PULLS,
];

/// Slow pulls.
const IDLE_PULLS: Param = param(
    "idle_pulls",
    Kind::Choice(&["once", "htsim"]),
    "once",
    "How often a receiver with nothing else to do pulls from a flow that has what it wants. \"once\": in turn with others, up to a window, until its last packet comes. \"htsim\", to replay that: as often as it was satisfied, and after its end, too.",
    "EQDS, NSDI 2022: credit in advance; htsim's lists have a flow several times",
);

/// What must hold of both.
fn check(values: &Values) -> Result<(), Complaint> {
    packet_format::check(values)?;
    if values.optional_time("base_rtt") == Some(Time::ZERO) {
        return Err(Complaint::new("base_rtt", "write a time above zero, or leave it out"));
    }
    if let Some(rto) = values.optional_time("rto") {
        check_period("rto", rto, "100us")?;
    }
    if !(1..=65_535).contains(&values.bytes("pull_quantum")) {
        return Err(Complaint::new("pull_quantum", "write a size from 1B to 65535B"));
    }
    Ok(())
}

/// What must hold of EQDS's.
pub fn check_eqds(values: &Values) -> Result<(), Complaint> {
    check(values)?;
    let too_many = |key| values.count(key) > 1_000_000;
    match ["window", "control_per_data", "pull_quanta"].into_iter().find(|key| too_many(key)) {
        Some(key) => Err(Complaint::new(key, "write 1000000 at most")),
        None => Ok(()),
    }
}

/// What must hold of Ultra Ethernet's.
pub fn check_uec(values: &Values) -> Result<(), Complaint> {
    check(values)?;
    service::check(values)?;
    let control = service::control(values);
    let counts =
        ["control_per_data", "adjust_every", "pull_packets", "sleek_packets", "probe_first", "probe_again"];
    if let Some(key) = counts.into_iter().find(|key| values.count(key) > 1_000_000) {
        return Err(Complaint::new(key, "write 1000000 at most"));
    }
    if values.count("adapt_gate") > 62 {
        return Err(Complaint::new("adapt_gate", "write 62 at most"));
    }
    if values.optional_count("initial_window").is_some_and(|packets| packets > 1_000_000_000) {
        return Err(Complaint::new("initial_window", "write 1000000000 at most"));
    }
    for key in ["reference_rtt", "target_delay"] {
        if values.optional_time(key) == Some(Time::ZERO) {
            return Err(Complaint::new(key, "write a time above zero"));
        }
    }
    if control.as_deref() == Some("rccc") && values.flag("sleek") {
        return Err(Complaint::new(
            "sleek",
            "goes by the senders' window; leave it out, or write control = \"nscc\"",
        ));
    }
    if control.as_deref() != Some("rccc") && values.optional_number("oversubscription").is_some() {
        let message = "is of receivers that pull, where senders have no window, which sees to that; leave it out, or write control = \"rccc\"";
        return Err(Complaint::new("oversubscription", message));
    }
    Ok(())
}

fn timeout(values: &Values, otherwise: Timeout) -> Timeout {
    values.optional_time("rto").map_or(otherwise, Timeout::Fixed)
}

fn config(values: &Values) -> Config {
    Config {
        service: Service::Rud,
        format: PacketFormat::of(values),
        ack_after: exact::<u32>(values.bytes("ack_every").min(u32::MAX.into())),
        control_per_data: values.count_u32("control_per_data"),
        timeout: Timeout::Fixed(Time::NEVER),
        base_rtt: values.optional_time("base_rtt"),
        windows: None,
        credits: None,
        is_eqds: false,
        oversubscribed: None,
        sleek: None,
        keeps_target: false,
        spares_last_hop: true,
        link_framing: 0,
        network_rtt: Time::ZERO,
        rto: Time::NEVER,
        request_interval: Time::ZERO,
        rules: None,
    }
}

/// EQDS's, read.
pub fn eqds(values: &Values) -> Config {
    let common = config(values);
    let pacer = pacer::Settings {
        quanta: values.count_u32("pull_quanta"),
        most_slow: 0,
        ends_at_target: false,
        trimmed_first: true,
        by_quantum: false,
        least_quanta: 0,
        idle_again: idle_again(values),
    };
    Config {
        ack_after: common.ack_after.saturating_add(1),
        timeout: timeout(values, Timeout::Packets(Time::from_us(150), 6 * 35)),
        credits: Some(Credits {
            quantum: exact::<i64>(values.bytes("pull_quantum")),
            most: Most::Packets(exact::<i64>(values.count("window"))),
            pacer,
            share: values.number("pull_interval"),
            framing_bytes: values.bytes("framing"),
        }),
        is_eqds: true,
        keeps_target: true,
        spares_last_hop: false,
        ..common
    }
}

/// Ultra Ethernet's, read.
pub fn uec(values: &Values) -> Config {
    let common = config(values);
    let chosen = service::control(values);
    let has = |control: &str| chosen.as_ref().is_some_and(|chosen| chosen == "both" || chosen == control);
    Config {
        service: Service::of(values),
        // Queues that do not trim are five times as long.
        timeout: timeout(
            values,
            Timeout::Queues(Time::from_us(15), if values.flag("sleek") { 30 } else { 6 }),
        ),
        windows: has("nscc").then(|| windows(values)),
        credits: has("rccc").then(|| credits(values, common.format.data.mss_bytes)),
        oversubscribed: values.optional_number("oversubscription").map(|ratio| oversubscribed::Settings {
            least: (0.9 / ratio).max(0.01),
            increase: values.number("oversubscription_increase"),
            decrease: values.number("oversubscription_decrease"),
            target: values.number("oversubscription_target"),
            gain: values.number("oversubscription_gain"),
        }),
        sleek: values.flag("sleek").then(|| sleek::Settings {
            windows: values.number("sleek_windows"),
            packets: exact::<i64>(values.count("sleek_packets")),
            first_after: values.count("probe_first"),
            next_after: values.count("probe_again"),
        }),
        ..common
    }
}

fn windows(values: &Values) -> Windows {
    let Rate(reference) = values.rate("reference_rate");
    let reference_rtt = values.time("reference_rtt");
    Windows {
        rule: values
            .meaning("window", &[("nscc", Rule::Nscc), ("dctcp", Rule::Dctcp), ("constant", Rule::Constant)]),
        nscc: nscc::Settings {
            reference_bytes: reference as f64 / 8.0 * reference_rtt.as_secs_f64(),
            reference_rtt,
            alpha: values.number("alpha"),
            fair: values.number("fair_increase"),
            eta: values.number("eta"),
            fast: values.number("fast_increase"),
            fast_below: values.time("fast_below"),
            gamma: values.number("gamma"),
            least_factor: 1.0 - values.number("max_decrease"),
            gain: values.number("delay_gain"),
            gate: values.count_u32("adapt_gate"),
            threshold: values.number("adapt_threshold"),
            adjust_packets: values.count("adjust_every"),
        },
        largest: values.number("max_window"),
        initial: values.optional_count("initial_window").map(|packets| exact::<i64>(packets)),
        target: values.optional_time("target_delay"),
        target_trips: if values.flag("sleek") { 1.0 } else { 0.75 },
    }
}

fn idle_again(values: &Values) -> bool {
    values.meaning("idle_pulls", &[("once", false), ("htsim", true)])
}

fn credits(values: &Values, mss_bytes: u64) -> Credits {
    let quantum = values.bytes("pull_quantum");
    let quanta = values.count("pull_packets").saturating_mul(mss_bytes) / quantum;
    Credits {
        quantum: exact::<i64>(quantum),
        most: Most::Bdps(values.number("max_window")),
        pacer: pacer::Settings {
            quanta: quanta.clamp(1, 1 << 24) as u32,
            most_slow: 0,
            ends_at_target: true,
            trimmed_first: false,
            by_quantum: true,
            // 1024 B, whatever the quantum.
            least_quanta: exact::<u32>((1_024 / quantum).max(1)),
            idle_again: idle_again(values),
        },
        share: values.number("pull_rate"),
        framing_bytes: 0,
    }
}

//! The parameters of the windowed transports.

use super::window::{Congestion, Window, WindowLimits};
use crate::connections::{self, Rule};
use crate::finished::Finished;
use crate::flow::Flow;
use crate::packet::Ecn;
use crate::packet_format::{self, PacketFormat};
use crate::priority::{self, Priority};
use crate::rto::RtoRule;
use crate::spec::{ALWAYS, Complaint, Fallback, Kind, Needs, Param, Values, check_period, param};
use crate::units::Time;
use std::ops::Deref;

/// An option with three blocks (RFC 2018 §3).
const LONGEST_SACK: u64 = 26;

/// Everything the core needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    pub(super) format: PacketFormat,
    pub(super) limits: WindowLimits,
    pub(super) limit: WindowMeasure,
    pub(super) rto: RtoRule,
    /// Whether an acknowledgement sets the timer again by the timeout from before it, and ends the doubling (ns-2).
    pub(super) timer_first: bool,
    /// Whether a timeout sends again what is known to have arrived, too.
    pub(super) resends_all: bool,
    /// Whether every timeout makes ssthresh half of the window.
    pub(super) halves_window: bool,
    /// How many packets beyond a hole prove it lost; `None`: only a timeout does.
    pub(super) duplicate_threshold: Option<u32>,
    /// Whether what is lost is found by time (RACK).
    pub(super) rack: bool,
    /// Whether the pipe comes down to the window in proportion to what arrives (PRR).
    pub(super) prr: bool,
    /// Whether acknowledgements echo when the data was sent.
    pub(super) timestamps: bool,
    pub(super) ack_every: u32,
    pub(super) ack_delay: Time,
    /// After so many timeouts in a row a probe is sent instead of data.
    pub(super) probe_after: Option<u32>,
    pub(super) priority: Priority,
    /// How connections are opened and kept; `None` where they are open.
    pub(super) connections: Option<Rule>,
    /// Whether a sender that has nothing on its way for longer than its timeout starts with its initial window again.
    pub(super) quiet_restart: bool,
    /// Whether selective acknowledgements make acknowledgements longer.
    pub(super) sack_option: bool,
    /// Whether data packets may be marked.
    pub(super) ecn: Ecn,
    /// Whether acknowledgements tell how many marked packets came (accurate ECN).
    pub(super) counts_marks: bool,
    /// Whether senders note what a control that measures goes by.
    pub(super) measures: bool,
    max_rto: Time,
}

/// What a case has once for all flows under a congestion control.
#[derive(Clone, Debug)]
pub struct Setup<C> {
    config: Config,
    /// What each flow's control starts as.
    control: C,
}

impl<C> Deref for Setup<C> {
    type Target = Config;

    fn deref(&self) -> &Config {
        &self.config
    }
}

impl<C: Congestion> Setup<C> {
    /// What the parameters come to.
    pub fn of(values: &Values) -> Setup<C> {
        Setup { config: Config::of::<C>(values), control: C::new(values) }
    }

    /// The control of a flow that starts.
    pub(super) fn control(&self, flow: &Flow) -> C {
        let mut control = self.control.clone();
        control.serve(flow);
        control
    }

    /// The same with other values of what the control lets be set.
    pub(super) fn with(&self, values: &Values) -> Setup<C> {
        let mut setup = self.clone();
        setup.control.set(values);
        setup
    }
}

/// What the window bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowMeasure {
    /// The packets in flight (RFC 6675).
    Pipe,
    /// The distance from the cumulative acknowledgement, whatever beyond it has arrived (RFC 5681).
    Sequence,
}

impl WindowMeasure {
    fn of(values: &Values) -> WindowMeasure {
        if values.text("window_measure") == "sequence" {
            WindowMeasure::Sequence
        } else {
            WindowMeasure::Pipe
        }
    }
}

/// What differs between the defaults of the windowed transports.
#[derive(Clone, Copy)]
pub struct Defaults {
    /// `initial_window` and its source.
    pub initial_window: (&'static str, &'static str),
    /// `min_rto` and its source.
    pub min_rto: (&'static str, &'static str),
    /// `rto_estimation` and its source.
    pub rto_estimation: (&'static str, &'static str),
    /// `fast_retransmit` and its source.
    pub fast_retransmit: (&'static str, &'static str),
    /// `probe_after` and its source.
    pub probe_after: (Fallback, &'static str),
    /// `priority` and its source.
    pub priority: (&'static str, &'static str),
    /// What reduces the window.
    pub reacts: Reacts,
}

/// What a control reduces its window for, by which some of the core's parameters mean something to it or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reacts {
    /// Losses.
    Losses,
    /// Marks, too.
    Marks,
    /// A model of the path sets the window, which knows no slow-start threshold.
    Model,
    /// Nothing: the window stays as it is.
    Nothing,
}

/// TCP's defaults as its RFCs have them, but for datacenter timeouts.
pub const fn default_of() -> Defaults {
    Defaults {
        initial_window: ("10", "RFC 6928"),
        min_rto: ("200us", "pFabric §3: the best setting for 225 KB queues"),
        rto_estimation: ("true", "RFC 6298"),
        fast_retransmit: ("true", "RFC 5681 §3.2"),
        probe_after: (Fallback::Absent, "packetloom"),
        priority: ("none", "packetloom"),
        reacts: Reacts::Losses,
    }
}

const ESTIMATES: &[Needs] = &[Needs::Is("rto_estimation", &["true"])];

const VARIES: &[Needs] = &[Needs::That(
    |site| site.own.flag("rto_estimation") || site.own.flag("backoff"),
    "a timeout that is neither estimated nor doubled (rto_estimation, backoff) is always min_rto",
)];

const MEASURES: &[Needs] = &[Needs::That(
    |site| site.own.flag("rto_estimation") || site.own.text("loss_detection") == "rack",
    "round-trip times are measured with rto_estimation = true or loss_detection = \"rack\" only",
)];

const REPAIRS: &[Needs] = &[Needs::Is("fast_retransmit", &["true"])];

/// What has a slow-start threshold.
const fn threshold(reacts: Reacts) -> &'static [Needs] {
    match reacts {
        Reacts::Losses | Reacts::Marks => ALWAYS,
        Reacts::Model => &[MODELS],
        Reacts::Nothing => &[STAYS],
    }
}

/// What starts again with the initial window; a timeout that is not estimated is always longer than a flow is quiet.
const fn restarts(reacts: Reacts) -> &'static [Needs] {
    match reacts {
        Reacts::Losses | Reacts::Marks => ESTIMATES,
        Reacts::Model => &[MODELS],
        Reacts::Nothing => &[STAYS],
    }
}

/// What has a window reduced other than by timeouts, which reduce it to one packet whatever the rule.
const fn reduces(reacts: Reacts) -> &'static [Needs] {
    match reacts {
        Reacts::Marks => ALWAYS,
        Reacts::Losses => &[Needs::That(
            |site| site.own.flag("fast_retransmit"),
            "without marks and without fast_retransmit a window is reduced by timeouts only",
        )],
        Reacts::Model => &[MODELS],
        Reacts::Nothing => &[STAYS],
    }
}

const STAYS: Needs = Needs::That(|_| false, "a fixed window neither grows nor shrinks");
const MODELS: Needs = Needs::That(|_| false, "its window comes from a model of the path");

/// The core's parameters under these defaults.
pub const fn core(d: Defaults) -> [Param; 28] {
    [
        packet_format::MSS,
        packet_format::HEADER,
        packet_format::ACK,
        param! {
            "initial_window" = (d.initial_window.0): Kind::Count(1),
            "Packets a flow may send at once at its start.", d.initial_window.1
        },
        param! {
            "max_window": Kind::Count(1),
            "The window never grows beyond this many packets (a receive window); left out: no limit.",
            "packetloom"
        },
        param! {
            "min_rto" = (d.min_rto.0): Kind::Time,
            "The least retransmission timeout, and the one before any RTT is known.", d.min_rto.1
        },
        param! {
            "min_rto_bounds" = "timeout": Kind::Choice(&["timeout", "variation"]),
            "What min_rto bounds from below: the timeout; or, as on Linux, its variation term (four times the round-trip time's variation), so that a timeout is always that much longer than the round-trip time.",
            "RFC 6298 §2.4"; acts ESTIMATES
        },
        param! {
            "max_rto" = "1s": Kind::Time,
            "The greatest retransmission timeout.", "packetloom (RFC 6298: at least 60 s)"; acts VARIES
        },
        param! {
            "rto_estimation" = (d.rto_estimation.0): Kind::Flag,
            "Estimate the timeout from round-trip times; otherwise it is always min_rto.", d.rto_estimation.1
        },
        param! {
            "backoff" = (d.rto_estimation.0): Kind::Flag,
            "Double the timeout each time it expires again.", d.rto_estimation.1
        },
        param! {
            "timer_rule" = "rfc6298": Kind::Choice(&["rfc6298", "ns-2"]),
            "How an acknowledgement restarts the retransmission timer. \"rfc6298\": with a timeout that includes its own round-trip time. A doubled timeout ends once a round-trip time is measured. \"ns-2\": with the timeout as it was. A doubled timeout ends at any acknowledgement of new data, and after the fourth timeout in a row the next measurement makes a new estimate.",
            "RFC 6298 §5; ns-2: TcpAgent, FullTcp"
        },
        param! {
            "after_timeout" = "missing": Kind::Choice(&["missing", "all"]),
            "What is sent again after a timeout: what is not known to have arrived; or, with window_measure = \"sequence\", all from the first hole on, until the cumulative acknowledgement is beyond it.",
            "RFC 6675 §5.1; ns-2: FullTcp with SACK and without fast retransmit"
        },
        param! {
            "timeout_threshold" = "flight": Kind::Choice(&["flight", "window"]),
            "What ssthresh is set to half of after a timeout: of what was in flight, at the first of several timeouts in a row; or of the window, in whole packets, at each of them.",
            "RFC 5681 §3.1; ns-2: TcpAgent"; acts threshold(d.reacts)
        },
        param! {
            "fast_retransmit" = (d.fast_retransmit.0): Kind::Flag,
            "Retransmit what later packets' acknowledgements prove lost, before a timeout (off where packets are sprayed, as they arrive out of order).",
            d.fast_retransmit.1
        },
        param! {
            "duplicate_threshold" = "3": Kind::Count(1),
            "How many packets must have arrived beyond a hole to prove it lost.",
            "RFC 6675: DupThresh"; acts REPAIRS
        },
        param! {
            "loss_detection" = "rfc6675": Kind::Choice(&["rfc6675", "rack"]),
            "What proves a loss before a timeout: packets that arrived beyond a hole; or, with \"rack\", one that arrived and was sent later. The latter finds lost retransmissions, too. There are no tail loss probes, and no DSACKs to answer.",
            "RFC 6675: IsLost; RFC 8985: RACK"
        },
        param! {
            "reduction" = "at-once": Kind::Choice(&["at-once", "prr"]),
            "How a window is reduced at a loss or for marks. At once, a sender pauses, or sends its retransmissions in a burst. In proportion to what arrives (prr), packets leave one by one.",
            "RFC 6675 §5; RFC 9937: PRR"; acts reduces(d.reacts)
        },
        param! {
            "quiet_restart" = "false": Kind::Flag,
            "A flow that has nothing in flight, and has sent nothing for longer than its round-trip time plus four times its variation, restarts from the initial window, even if that is larger.",
            "ns-2: FullTcp with slow_start_restart_"; acts restarts(d.reacts)
        },
        param! {
            "sack_option" = "false": Kind::Flag,
            "An acknowledgement is longer by 2 bytes, and 8 for each block that it reports beyond a hole; otherwise it always has the size `ack`.",
            "RFC 2018 §3"
        },
        param! {
            "delayed_ack" = "false": Kind::Flag,
            "Acknowledge every second packet instead of each.", "RFC 1122 §4.2.3.2"
        },
        param! {
            "ack_delay" = "500us": Kind::Time,
            "With delayed_ack: the longest an acknowledgement waits.",
            "packetloom (RFC 5681: at most 500 ms)"; acts &[Needs::Is("delayed_ack", &["true"])]
        },
        Param {
            name: "probe_after",
            kind: Kind::Count(1),
            default: d.probe_after.0,
            doc: "After this many timeouts in a row without an answer, send only a small probe per timeout until one comes; left out: never.",
            source: d.probe_after.1,
            acts: ALWAYS,
        },
        priority::param(d.priority.0, d.priority.1),
        param! {
            "initial_ssthresh" = "1000000": Kind::Count(1),
            "The slow-start threshold at a flow's start, in packets.",
            "RFC 5681 §3.1: arbitrarily high"; acts threshold(d.reacts)
        },
        param! {
            "timestamps" = "true": Kind::Flag,
            "Measure a round-trip time with every acknowledgement; otherwise once per round trip, and never of a packet that was sent again.",
            "RFC 7323 §4.1; without: RFC 6298 §3, Karn's algorithm"; acts MEASURES
        },
        param! {
            "initial_rtt": Kind::Time,
            "The round-trip time that a flow's start knows from before, as on a connection that has been in use; left out: the first one measured sets the estimate.",
            "RFC 9040 §6: sharing RTT"; acts ESTIMATES
        },
        param! {
            "window_measure" = "pipe": Kind::Choice(&["pipe", "sequence"]),
            "What the window bounds. Packets in flight: selectively acknowledged ones open the window. Or how far beyond the cumulative acknowledgement may be sent: a hole then holds the flow back.",
            "RFC 6675: pipe; ns-2: sequence"
        },
        connections::PARAM,
    ]
}

/// What must hold of the core's parameters.
pub fn check(values: &Values) -> Result<(), Complaint> {
    packet_format::check(values)?;
    check_period("min_rto", values.time("min_rto"), "200us")?;
    if values.time("min_rto") > values.time("max_rto") {
        return Err(Complaint::new("min_rto", "min_rto must not be above max_rto"));
    }
    check_repair(values)?;
    check_timeouts(values)?;
    connections::check(values)
}

/// What makes no difference, or can't be, beside other parameters.
fn check_timeouts(values: &Values) -> Result<(), Complaint> {
    let is_fixed = !values.flag("rto_estimation") && !values.flag("backoff");
    if values.text("timer_rule") == "ns-2" && is_fixed {
        let message = "a timeout that is neither estimated nor doubled is always min_rto; leave it out";
        return Err(Complaint::new("timer_rule", message));
    }
    if values.text("after_timeout") == "all" && values.text("loss_detection") == "rack" {
        let message = "RACK knows what was sent long enough ago to be lost; leave one of them out";
        return Err(Complaint::new("after_timeout", message));
    }
    if values.text("after_timeout") == "all" && values.text("window_measure") == "pipe" {
        let message = "what has arrived counts nothing in the pipe, so all of it would go at once; write window_measure = \"sequence\", too";
        return Err(Complaint::new("after_timeout", message));
    }
    if values.flag("sack_option") && values.bytes("ack") > 65_535 - LONGEST_SACK {
        let message = "with sack_option an acknowledgement is up to 26 B longer; write a size up to 65509B";
        return Err(Complaint::new("ack", message));
    }
    Ok(())
}

/// RACK and PRR need what they work on.
fn check_repair(values: &Values) -> Result<(), Complaint> {
    if values.text("loss_detection") == "rack" && !values.flag("fast_retransmit") {
        let message = "RACK retransmits before a timeout, which fast_retransmit = false rules out; leave one of them out";
        return Err(Complaint::new("loss_detection", message));
    }
    if values.text("reduction") == "prr" && values.text("window_measure") == "sequence" {
        let message = "PRR regulates the pipe, which window_measure = \"sequence\" does not count; leave one of them out";
        return Err(Complaint::new("reduction", message));
    }
    Ok(())
}

impl Config {
    /// The sizes of packets.
    pub fn format(&self) -> &PacketFormat {
        &self.format
    }

    /// A memory of finished flows that is long enough for its senders.
    pub fn finished(&self) -> Finished {
        Finished::new(self.rto.longest().times(8))
    }

    /// How connections are opened and kept; `None` where they are open.
    pub fn connections(&self) -> Option<&Rule> {
        self.connections.as_ref()
    }

    /// Whether acknowledgements echo when the data was sent.
    pub fn has_timestamps(&self) -> bool {
        self.timestamps
    }

    /// The greatest retransmission timeout.
    pub fn longest_rto(&self) -> Time {
        self.max_rto
    }

    /// The window of a flow that starts.
    pub fn window(&self) -> Window {
        Window::new(&self.limits)
    }

    /// What the parameters come to under a congestion control.
    pub fn of<C: Congestion>(values: &Values) -> Config {
        let fast = values.flag("fast_retransmit");
        Config {
            format: PacketFormat::of(values),
            limits: WindowLimits::of(values),
            limit: WindowMeasure::of(values),
            rto: RtoRule::of(values),
            timer_first: values.meaning("timer_rule", &[("rfc6298", false), ("ns-2", true)]),
            resends_all: values.meaning("after_timeout", &[("missing", false), ("all", true)]),
            halves_window: values.meaning("timeout_threshold", &[("flight", false), ("window", true)]),
            duplicate_threshold: fast.then(|| values.count_u32("duplicate_threshold")),
            rack: values.meaning("loss_detection", &[("rfc6675", false), ("rack", true)]),
            prr: !C::MODELS && values.meaning("reduction", &[("at-once", false), ("prr", true)]),
            timestamps: values.flag("timestamps"),
            ack_every: if values.flag("delayed_ack") { 2 } else { 1 },
            ack_delay: values.time("ack_delay"),
            probe_after: values.optional_count_u32("probe_after"),
            priority: Priority::of(values),
            connections: Rule::of(values),
            quiet_restart: !C::MODELS && values.flag("quiet_restart"),
            sack_option: values.flag("sack_option"),
            ecn: match C::ecn(values) {
                true if C::L4S => Ecn::Ect1,
                true => Ecn::Ect0,
                false => Ecn::NotCapable,
            },
            counts_marks: C::L4S,
            measures: C::measures(values),
            max_rto: values.time("max_rto"),
        }
    }
}

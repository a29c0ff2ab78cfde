//! HPCC (Li et al., SIGCOMM 2019): switches report their queues and how much they have sent, and each
//! acknowledgement sets the sender's window, or rate, by the utilisation of the busiest link.
//!
//! Two variants: the paper's algorithm 1, which keeps a window; and its simulator's (rdma-hw.cc, CC_MODE 3), which
//! keeps a rate, or one for each link.

mod int;
mod pint;

use super::config::bdp_bytes;
use super::control::{AckInfo, Control, FlowPath};
use super::params::{Defaults, check, core, default_of};
use super::presets;
use crate::narrow::saturated;
use crate::spec::{Complaint, Component, Kind, Needs, Param, Value, Values, param};
use crate::units::{Rate, Time};
pub use int::{Hop, Hops, MOST_HOPS, Telemetry, Widths, widths};
use pint::Code;

/// HPCC.
pub type Hpcc = super::Rdma<HpccControl>;

const PARAMS: &[Param] = &[
    param! {
        "variant" = "paper": Kind::Choice(&["paper", "hpcc-ns3"]),
        "Which algorithm: the paper's, which sets a window and paces it over base_rtt; or its simulator's, which sets a rate, and a window from that (variable_window).",
        "HPCC (SIGCOMM 2019) §3, algorithm 1; HPCC's simulator: CC_MODE 3"
    },
    param! {
        "utilisation" = "0.95": Kind::Number(0.01, 1.0),
        "The target utilisation of each link (eta).", "HPCC (SIGCOMM 2019) §5.1: 95 %"
    },
    param! {
        "max_stage": Kind::Count(0),
        "After this many round trips of additive increase comes a multiplicative one. Left out: 5 (paper), 0 (hpcc-ns3).",
        "HPCC (SIGCOMM 2019) §5.1: maxStage 5, which its authors call a typo for 0 (hpcc-group.github.io); its run.py: MI_THRESH 0"
    },
    param! {
        "additive_bytes": Kind::Bytes,
        "With paper: what each step adds to the window (W_AI). Left out: 80B.",
        "HPCC (SIGCOMM 2019) §5.1: W_AI 80 B"
    },
    param! {
        "additive_increase": Kind::Rate,
        "With hpcc-ns3: what each step adds to the rate. Left out: 50Mbps.",
        "HPCC's simulator, config.txt: RATE_AI 50"
    },
    param! {
        "min_rate" = "1Gbps": Kind::Rate,
        "The least rate, or the least window over base_rtt.", "HPCC's run.py: MIN_RATE 1000"
    },
    param! {
        "fast_react" = "true": Kind::Flag,
        "React to every acknowledgement, relative to the reference of the last round trip; otherwise to one per round trip.",
        "HPCC (SIGCOMM 2019) §3.2"
    },
    param! {
        "sample_feedback" = "false": Kind::Flag,
        "With hpcc-ns3: within a round trip, ignore links without a queue.",
        "HPCC's simulator: SAMPLE_FEEDBACK"
    },
    param! {
        "multi_rate" = "false": Kind::Flag,
        "With hpcc-ns3: keep a utilisation and a rate for each link of the path, and send at the lowest.",
        "HPCC's simulator: MULTI_RATE (1 in its code, 0 in its config.txt and run.py)"
    },
    param! {
        "quantise" = "false": Kind::Flag,
        "Cut telemetry to its bits on the wire: 24 of nanoseconds, 20 of bytes sent in units of 128 B, 17 of the queue in units of 80 B, both times int_multiple.",
        "HPCC's simulator: int-header.h"
    },
    param! {
        "int_multiple" = "4": Kind::Count(1),
        "With quantise: the units' multiple.",
        "HPCC's run.py at 100 Gb/s: INT_MULTI 4"; acts &[Needs::Is("quantise", &["true"])]
    },
    param! {
        "pint" = "false": Kind::Flag,
        "With hpcc-ns3: packets carry the utilisation of their most loaded link instead of telemetry (HPCC-PINT). Switches average it over base_rtt, which must be given. Sizes are not those of telemetry then: write header = \"49B\" and ack = \"60B\", with a byte for the field (50B for two).",
        "PINT (SIGCOMM 2020) §4.3; HPCC's simulator: CC_MODE 10"
    },
    param! {
        "pint_base" = "1.05": Kind::Number(1.0001, 2.0),
        "With pint: what is carried is a power of this.",
        "HPCC's simulator, config.txt: PINT_LOG_BASE 1.05"; acts &[Needs::Is("pint", &["true"])]
    },
];

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    utilisation: f64,
    max_stage: u32,
    fast_react: bool,
    sample_feedback: bool,
    multi_rate: bool,
    min_rate: Rate,
    increase: Increase,
    widths: Option<Widths>,
    code: Option<Code>,
}

/// Whose algorithm, with what a step adds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Increase {
    /// The paper's, in bytes.
    Window(f64),
    /// The simulator's.
    Rate(Rate),
}

/// A flow's state.
#[derive(Clone, Debug)]
pub struct HpccControl {
    path: FlowPath,
    /// What a queue before a link of the host's rate is a share of: B T (the paper), whatever the window is; or the
    /// flow's window (its simulator).
    whole_bytes: u64,
    /// The telemetry of the last acknowledgement.
    last: Hops,
    /// U.
    in_use: f64,
    /// The round trip ends with the acknowledgement of more than this; 0 before the first.
    round_ends: u64,
    stage: u32,
    /// The window in bytes, and that of the last round trip (the paper's W, W_c).
    window: f64,
    window_ref: f64,
    /// The rate, and that of the last round trip (the simulator's R, R_c).
    rate: Rate,
    rate_ref: Rate,
    /// With multi_rate: U, R_c and the stage of each link.
    links: Option<Box<[PerLink; MOST_HOPS]>>,
}

/// What is kept of a link of its own (the simulator's hopState).
#[derive(Clone, Copy, Debug)]
struct PerLink {
    in_use: f64,
    rate_ref: Rate,
    stage: u32,
}

impl Control for HpccControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "hpcc",
        doc: "HPCC: switches write their queues and bytes sent into packets; senders keep the most loaded link just below full. Its packets have 42 B more than other RDMA packets, and its ACKs 28 B.",
        source: "HPCC (SIGCOMM 2019) §3",
        params: &[
            &core(Defaults {
                header: ("90B", "HPCC's simulator: 48 B and INT of 42 B"),
                ack: ("88B", "HPCC's simulator: 14 B Ethernet, 20 B IPv4, 12 B and INT of 42 B"),
                window: ("bdp", "HPCC (SIGCOMM 2019) §3.2: W_init = B T"),
                variable_window: ("true", "HPCC's simulator: VAR_WIN 1"),
                presets: presets::WORDS_OF_RUN_PY,
                ..default_of()
            }),
            PARAMS,
        ],
        check: check_hpcc,
    };
    const SHORTENS: bool = true;
    type Fields = Hops;
    type Agent = Telemetry;
    type Settings = Settings;

    fn most_switches(values: &Values) -> usize {
        // PINT has one field, however long the path is.
        if values.flag("pint") { usize::MAX } else { MOST_HOPS }
    }

    fn settings(values: &Values) -> Settings {
        let is_paper = is_paper(values);
        let rate = values.optional_rate("additive_increase").unwrap_or(Rate(50_000_000));
        let bytes = values.optional_bytes("additive_bytes").unwrap_or(80);
        let max_stage = values.optional_count("max_stage").unwrap_or(if is_paper { 5 } else { 0 });
        Settings {
            utilisation: values.number("utilisation"),
            max_stage: u32::try_from(max_stage).unwrap_or(u32::MAX),
            fast_react: values.flag("fast_react"),
            sample_feedback: values.flag("sample_feedback"),
            multi_rate: values.flag("multi_rate"),
            min_rate: values.rate("min_rate"),
            increase: if is_paper { Increase::Window(bytes as f64) } else { Increase::Rate(rate) },
            widths: widths(values),
            code: Code::of(values),
        }
    }

    fn moves_pending(_: &Settings) -> bool {
        true
    }

    fn new(settings: &Settings, path: &FlowPath) -> HpccControl {
        let window = match settings.increase {
            Increase::Window(_) => window_at(path, path.initial_rate),
            // Its window follows from the rate.
            Increase::Rate(_) => f64::MAX,
        };
        let whole_bytes = match settings.increase {
            Increase::Window(_) => bdp_bytes(path.rate, path.base_rtt),
            Increase::Rate(_) => path.window_bytes,
        };
        HpccControl {
            path: *path,
            whole_bytes,
            last: Hops::default(),
            // As if the link were just full, which it is from now on.
            in_use: 1.0,
            round_ends: 0,
            stage: 0,
            window,
            window_ref: window,
            rate: path.initial_rate,
            rate_ref: path.initial_rate,
            links: settings.multi_rate.then(|| {
                Box::new([PerLink { in_use: 1.0, rate_ref: path.initial_rate, stage: 0 }; MOST_HOPS])
            }),
        }
    }

    fn acknowledged(&mut self, settings: &Settings, ack: &AckInfo, hops: &Hops) {
        let is_round = ack.acked_bytes > self.round_ends;
        if !is_round && !settings.fast_react {
            return;
        }
        if self.round_ends == 0 {
            self.round_ends = ack.sent_bytes;
            self.last = *hops;
            return;
        }
        let skips_empty = settings.sample_feedback && !is_round;
        if let Some(code) = settings.code {
            // Switches have averaged it.
            self.in_use = code.decode(hops.power);
            self.react(settings, is_round);
        } else if self.links.is_some() {
            self.react_by_link(settings, hops, is_round);
        } else if let Some(newest) = self.fullest(settings, hops, skips_empty) {
            self.in_use = self.averaged(self.in_use, newest);
            self.react(settings, is_round);
        }
        self.keep(hops, skips_empty);
        if is_round {
            self.round_ends = self.round_ends.max(ack.sent_bytes);
        }
    }

    fn rate(&self) -> Rate {
        self.rate
    }

    fn window_bytes(&self) -> u64 {
        saturated::<u64>(self.window).max(1)
    }
}

impl HpccControl {
    /// How much of the fullest link was in use since the last acknowledgement (the paper's MeasureInflight), and
    /// for how long that was measured.
    fn fullest(&self, settings: &Settings, hops: &Hops, skips_empty: bool) -> Option<(f64, Time)> {
        let pairs = self.last.written().iter().zip(hops.written());
        let counts = |(_, hop): &(&Hop, &Hop)| !skips_empty || hop.queue_bytes > 0;
        let pairs = pairs.filter(counts);
        let of_hop = |(last, hop): (&Hop, &Hop)| self.in_use_of(settings, last, hop);
        pairs.filter_map(of_hop).reduce(|fullest, other| if other.0 > fullest.0 { other } else { fullest })
    }

    fn in_use_of(&self, settings: &Settings, last: &Hop, hop: &Hop) -> Option<(f64, Time)> {
        let (tau, sent_bytes) = hop.since(last, settings.widths)?;
        let capacity = hop.rate.as_bps() as f64;
        let seconds = tau.as_ps() as f64 / 1e12;
        let tx_rate = (sent_bytes * 8) as f64 / seconds;
        let queue_bytes = f64::from(hop.queue_bytes.min(last.queue_bytes));
        let waiting = queue_bytes * self.path.rate.as_bps() as f64 / capacity / self.whole_bytes as f64;
        Some((tx_rate / capacity + waiting, tau))
    }

    /// U with a new measurement: each counts for as long as it was measured, a base round trip at most.
    fn averaged(&self, before: f64, (in_use, tau): (f64, Time)) -> f64 {
        let base_rtt = self.path.base_rtt.as_ps() as f64;
        let tau = (tau.as_ps() as f64).min(base_rtt);
        (before * (base_rtt - tau) + in_use * tau) / base_rtt
    }

    /// The next measurements are from here on; those left out go on.
    fn keep(&mut self, hops: &Hops, skips_empty: bool) {
        if !skips_empty {
            self.last = *hops;
            return;
        }
        self.last.count = hops.count;
        for (kept, hop) in self.last.hops.iter_mut().zip(hops.written()) {
            if hop.queue_bytes > 0 || hop.link != kept.link {
                *kept = *hop;
            }
        }
    }

    /// A rate for each link, of which the lowest holds.
    fn react_by_link(&mut self, settings: &Settings, hops: &Hops, is_round: bool) {
        let Some(mut links) = self.links.take() else { return };
        let (mut lowest, mut is_new) = (self.path.rate, false);
        for ((link, hop), last) in links.iter_mut().zip(hops.written()).zip(self.last.hops) {
            let is_left_out = settings.sample_feedback && !is_round && hop.queue_bytes == 0;
            let newest = if is_left_out { None } else { self.in_use_of(settings, &last, hop) };
            let mut rate = link.rate_ref;
            if let Some(newest) = newest {
                is_new = true;
                link.in_use = self.averaged(link.in_use, newest);
                let (divisor, stage) = step(settings, link.in_use, link.stage);
                rate = self.rate_after(settings, link.rate_ref, divisor);
                if is_round {
                    (link.rate_ref, link.stage) = (rate, stage);
                }
            }
            lowest = lowest.min(rate);
        }
        if is_new {
            self.rate = lowest;
        }
        self.links = Some(links);
    }

    /// The simulator's step from a reference rate.
    fn rate_after(&self, settings: &Settings, reference: Rate, divisor: f64) -> Rate {
        let Increase::Rate(added) = settings.increase else { return reference };
        let reduced = saturated::<u64>(reference.as_bps() as f64 / divisor);
        Rate(reduced.saturating_add(added.as_bps())).max(settings.min_rate).min(self.path.rate)
    }

    /// The paper's ComputeWind, in bytes or in bits per second.
    fn react(&mut self, settings: &Settings, is_round: bool) {
        let (divisor, stage) = step(settings, self.in_use, self.stage);
        match settings.increase {
            Increase::Window(bytes) => {
                let least = window_at(&self.path, settings.min_rate.min(self.path.rate));
                let most = window_at(&self.path, self.path.rate);
                self.window = (self.window_ref / divisor + bytes).clamp(least, most);
                self.rate = self.pace();
            }
            Increase::Rate(_) => self.rate = self.rate_after(settings, self.rate_ref, divisor),
        }
        if is_round {
            (self.stage, self.window_ref, self.rate_ref) = (stage, self.window, self.rate);
        }
    }

    /// R = W / T.
    fn pace(&self) -> Rate {
        let bps = self.window * 8e12 / self.path.base_rtt.as_ps() as f64;
        Rate(saturated::<u64>(bps).max(1)).min(self.path.rate)
    }
}

/// What the reference is divided by, and the next stage.
fn step(settings: &Settings, in_use: f64, stage: u32) -> (f64, u32) {
    let excess = in_use / settings.utilisation;
    let is_multiplicative = excess >= 1.0 || stage >= settings.max_stage;
    if is_multiplicative { (excess, 0) } else { (1.0, stage + 1) }
}

/// What a rate carries in a base round trip.
fn window_at(path: &FlowPath, rate: Rate) -> f64 {
    rate.as_bps() as f64 * (path.base_rtt.as_ps() as f64 / 8e12)
}

fn is_paper(values: &Values) -> bool {
    values.meaning("variant", &[("paper", true), ("hpcc-ns3", false)])
}

fn check_hpcc(values: &Values) -> Result<(), Complaint> {
    check(values)?;
    let other = if is_paper(values) { "additive_increase" } else { "additive_bytes" };
    if values.get(other) != &Value::Absent {
        let message = format!("the variant {:?} has none; leave it out", values.text("variant"));
        return Err(Complaint::new(other, message));
    }
    for key in ["sample_feedback", "multi_rate", "pint"] {
        if is_paper(values) && values.flag(key) {
            let message = "the variant \"paper\" has none; leave it out, or write variant = \"hpcc-ns3\"";
            return Err(Complaint::new(key, message));
        }
    }
    check_pint(values)
}

fn check_pint(values: &Values) -> Result<(), Complaint> {
    if !values.flag("pint") {
        return Ok(());
    }
    for key in ["quantise", "sample_feedback", "multi_rate"] {
        if values.flag(key) {
            let message = "there is no telemetry by link with pint = true; leave one of them out";
            return Err(Complaint::new(key, message));
        }
    }
    if values.optional_time("base_rtt").is_none() {
        let message = "switches average over it with pint = true; write a time such as \"13us\"";
        return Err(Complaint::new("base_rtt", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests;

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
mod tests {
    use super::*;

    const PATH: FlowPath = FlowPath {
        rate: Rate::from_gbps(100),
        initial_rate: Rate::from_gbps(100),
        base_rtt: Time::from_ns(4_160),
        window_bytes: 52_000,
        mss_bytes: 1_000,
        hops: 2,
    };
    const PAPER: Settings = Settings {
        utilisation: 0.95,
        max_stage: 5,
        fast_react: true,
        sample_feedback: false,
        multi_rate: false,
        min_rate: Rate::from_gbps(1),
        increase: Increase::Window(80.0),
        widths: None,
        code: None,
    };
    const SIMULATOR: Settings =
        Settings { max_stage: 0, increase: Increase::Rate(Rate(50_000_000)), ..PAPER };

    /// What one switch of 100 Gb/s says.
    fn hops(at_ns: u64, sent_bytes: u64, queue_bytes: u32) -> Hops {
        let hop = Hop { link: 1, queue_bytes, at: Time::from_ns(at_ns), sent_bytes, rate: PATH.rate };
        let mut hops = Hops::default();
        hops.hops[0] = hop;
        hops.count = 1;
        hops
    }

    fn ack(acked_bytes: u64, sent_bytes: u64) -> AckInfo {
        AckInfo { now: Time::ZERO, acked_bytes, sent_bytes, arrived: 1, marked: false }
    }

    /// Algorithm 1 of the paper for one hop, in its own words.
    struct Oracle {
        w: f64,
        wc: f64,
        u: f64,
        inc_stage: u32,
        last_update_seq: u64,
        l: Option<(f64, f64, f64)>,
    }

    impl Oracle {
        fn ack(&mut self, (ts, tx_bytes, qlen): (f64, f64, f64), seq: u64, snd_nxt: u64) {
            let (t, b, eta, w_ai) = (4_160.0, 12.5, 0.95, 80.0);
            let Some((l_ts, l_tx, l_qlen)) = self.l.replace((ts, tx_bytes, qlen)) else {
                self.last_update_seq = snd_nxt;
                return;
            };
            let mut tau = ts - l_ts;
            let u = f64::min(qlen, l_qlen) / (b * t) + (tx_bytes - l_tx) / tau / b;
            tau = tau.min(t);
            self.u = (1.0 - tau / t) * self.u + tau / t * u;
            let update = seq > self.last_update_seq;
            if self.u >= eta || self.inc_stage >= 5 {
                self.w = self.wc / (self.u / eta) + w_ai;
                if update {
                    (self.inc_stage, self.wc) = (0, self.w);
                }
            } else {
                self.w = self.wc + w_ai;
                if update {
                    (self.inc_stage, self.wc) = (self.inc_stage + 1, self.w);
                }
            }
            if update {
                self.last_update_seq = snd_nxt;
            }
        }
    }

    #[test]
    fn each_acknowledgement_sets_the_window_of_algorithm_1() {
        use packetloom_base::random::{Purpose, Stream};
        let mut random = Stream::new(11, Purpose::Transport, 0);
        let mut control = HpccControl::new(&PAPER, &PATH);
        let mut oracle =
            Oracle { w: 52_000.0, wc: 52_000.0, u: 1.0, inc_stage: 0, last_update_seq: 0, l: None };
        let (mut at, mut sent, mut acked, mut bounded) = (0, 0, 0, 0);
        for _ in 0..3_000 {
            let gap = 90 + u64::from(random.below(300));
            at += gap;
            // Between 80 and 112 % of the link, and a queue now and then.
            sent += gap * u64::from(10 + random.below(5));
            let queue = u32::from(random.below(20) == 0) * random.below(5_000);
            acked += 1_000;
            let next = acked + 1_000 * u64::from(random.below(50));
            control.acknowledged(&PAPER, &ack(acked, next), &hops(at, sent, queue));
            oracle.ack((at as f64, sent as f64, f64::from(queue)), acked, next);
            // The paper does not say that a window stays below B T; here, as in its simulator, it does.
            if oracle.w > 52_000.0 || oracle.w < 520.0 {
                oracle.w = oracle.w.clamp(520.0, 52_000.0);
                oracle.wc = oracle.wc.clamp(520.0, 52_000.0);
                bounded += 1;
            }
            assert!((control.window - oracle.w).abs() < 1e-6 * oracle.w, "{} {}", control.window, oracle.w);
            assert_eq!(control.stage, oracle.inc_stage);
        }
        assert!(bounded < 1_000, "{bounded} windows at a bound show nothing");
    }

    #[test]
    fn two_flows_at_line_rate_are_cut_to_half_within_a_round_trip() {
        // The link is full, and a queue of one B T waits: U -> 2, so W -> W / 2.1.
        let mut control = HpccControl::new(&SIMULATOR, &PATH);
        control.acknowledged(&SIMULATOR, &ack(1_000, 52_000), &hops(0, 0, 52_000));
        let after = hops(4_160, 52_000, 52_000);
        control.acknowledged(&SIMULATOR, &ack(53_000, 104_000), &after);
        let expected = 100e9 / (2.0 / 0.95) + 50e6;
        assert!((control.rate().as_bps() as f64 - expected).abs() <= 1.0, "{}", control.rate());
        assert_eq!(control.rate_ref, control.rate);
    }

    #[test]
    fn the_papers_queue_is_a_share_of_b_t_and_the_simulators_of_the_window() {
        // The link is full, and 5200 B wait: a tenth of B T, and half of the window.
        let narrow = FlowPath { window_bytes: 10_400, ..PATH };
        for (settings, expected) in [(PAPER, 1.1), (SIMULATOR, 1.5)] {
            let mut control = HpccControl::new(&settings, &narrow);
            control.acknowledged(&settings, &ack(1_000, 52_000), &hops(0, 0, 5_200));
            control.acknowledged(&settings, &ack(53_000, 104_000), &hops(4_160, 52_000, 5_200));
            assert!((control.in_use - expected).abs() < 1e-9, "{} instead of {expected}", control.in_use);
        }
    }

    #[test]
    fn a_fast_reaction_starts_from_the_rate_of_the_last_round_trip() {
        let mut control = HpccControl::new(&SIMULATOR, &PATH);
        control.acknowledged(&SIMULATOR, &ack(1_000, 52_000), &hops(0, 0, 0));
        for step in 1..=40 {
            // Half of the link is in use; no full round trip is over.
            control.acknowledged(&SIMULATOR, &ack(1_000 + step, 52_000), &hops(step * 83, step * 519, 0));
            let u = control.in_use;
            let expected = (100e9 / (u / 0.95) + 50e6).min(100e9);
            assert!((control.rate().as_bps() as f64 - expected).abs() <= 1.0);
            assert_eq!(control.rate_ref, PATH.rate);
        }
        let settings = Settings { fast_react: false, ..SIMULATOR };
        let rate = control.rate();
        control.acknowledged(&settings, &ack(2_000, 52_000), &hops(9_000, 999_999, 0));
        assert_eq!(control.rate(), rate);
    }

    #[test]
    fn another_port_is_not_compared_with_the_last() {
        let mut control = HpccControl::new(&SIMULATOR, &PATH);
        control.acknowledged(&SIMULATOR, &ack(1_000, 52_000), &hops(0, 0, 0));
        let mut other = hops(100, 5, 0);
        other.hops[0].link = 9;
        control.acknowledged(&SIMULATOR, &ack(60_000, 90_000), &other);
        assert_eq!((control.in_use, control.rate()), (1.0, PATH.rate));
    }
    /// What two switches of 100 Gb/s say: bytes sent, and the queue.
    fn two(at_ns: u64, of_each: [(u64, u32); 2]) -> Hops {
        let mut both = Hops { count: 2, ..Hops::default() };
        for (nth, (sent_bytes, queue_bytes)) in of_each.into_iter().enumerate() {
            let link = nth as u32;
            both.hops[nth] = Hop { link, queue_bytes, at: Time::from_ns(at_ns), sent_bytes, rate: PATH.rate };
        }
        both
    }

    #[test]
    fn with_a_rate_for_each_link_one_link_alone_is_as_without() {
        use packetloom_base::random::{Purpose, Stream};
        let each = Settings { multi_rate: true, ..SIMULATOR };
        let mut random = Stream::new(12, Purpose::Transport, 0);
        let (mut one, mut many) = (HpccControl::new(&SIMULATOR, &PATH), HpccControl::new(&each, &PATH));
        let (mut at, mut sent) = (0, 0);
        for step in 0..2_000 {
            let gap = 90 + u64::from(random.below(300));
            (at, sent) = (at + gap, sent + gap * u64::from(10 + random.below(5)));
            let said = hops(at, sent, u32::from(random.below(20) == 0) * random.below(5_000));
            let acked = ack(1_000 * (step + 1), 1_000 * (step + 1 + u64::from(random.below(50))));
            one.acknowledged(&SIMULATOR, &acked, &said);
            many.acknowledged(&each, &acked, &said);
            assert_eq!(one.rate(), many.rate(), "step {step}");
        }
    }

    #[test]
    fn with_a_rate_for_each_link_the_lowest_holds_and_the_others_are_not_forgotten() {
        let each = Settings { multi_rate: true, ..SIMULATOR };
        let (mut one, mut many) = (HpccControl::new(&SIMULATOR, &PATH), HpccControl::new(&each, &PATH));
        // Both links are full; in the next round trip only the first is, with a window's queue, then only the
        // second.
        let said = [
            two(0, [(0, 0), (0, 0)]),
            two(4_160, [(52_000, 0), (52_000, 0)]),
            two(8_320, [(104_000, 0), (78_000, 0)]),
            two(12_480, [(130_000, 0), (130_000, 0)]),
        ];
        for (round, said) in (1..).zip(said) {
            let acked = ack(52_000 * round, 52_000 * (round + 1) - 1);
            one.acknowledged(&SIMULATOR, &acked, &said);
            many.acknowledged(&each, &acked, &said);
        }
        // U of the fullest is 1 in each round trip: three cuts. Each link alone was full in two, and half full in
        // one, in which its own rate rose as far as it may.
        let (eta, ai, line) = (0.95, 50e6, 100e9);
        let cut = |rate: f64| rate * eta + ai;
        let raised = |rate: f64| f64::min(rate * eta / 0.5 + ai, line);
        let first = raised(cut(cut(line)));
        let second = cut(raised(cut(line)));
        let near = |rate: Rate, expected: f64| (rate.as_bps() as f64 - expected).abs() < 10.0;
        assert!(near(one.rate(), cut(cut(cut(line)))), "{}", one.rate());
        assert!(near(many.rate(), f64::min(first, second)), "{}", many.rate());
        let links = many.links.expect("there are two");
        assert!(near(links[0].rate_ref, first) && near(links[1].rate_ref, second), "{links:?}");
    }

    #[test]
    fn links_without_a_queue_are_left_out_until_the_round_trip_ends() {
        let sampled = Settings { sample_feedback: true, ..SIMULATOR };
        let mut control = HpccControl::new(&sampled, &PATH);
        control.acknowledged(&sampled, &ack(1_000, 52_000), &two(0, [(0, 0), (0, 0)]));
        // Nothing waits anywhere: as if it had not come.
        control.acknowledged(&sampled, &ack(2_000, 53_000), &two(100, [(2_500, 0), (1_250, 0)]));
        assert_eq!((control.in_use, control.rate(), control.last.hops[1].sent_bytes), (1.0, PATH.rate, 0));
        // Something waits before the second link, of which 200 ns were measured: (5000 B / 200 ns) / B = 2.
        control.acknowledged(&sampled, &ack(3_000, 54_000), &two(200, [(9_000, 0), (5_000, 1)]));
        let weight = 200.0 / 4_160.0;
        assert!((control.in_use - (1.0 - weight + 2.0 * weight)).abs() < 1e-9, "{}", control.in_use);
        let kept = control.last.hops;
        assert_eq!((kept[0].sent_bytes, kept[1].sent_bytes), (0, 5_000));
        // As the round trip ends all links count, the first since it was last taken.
        control.acknowledged(&sampled, &ack(60_000, 99_000), &two(300, [(9_000, 0), (5_000, 0)]));
        assert_eq!(control.last.hops[0].sent_bytes, 9_000);
    }
}

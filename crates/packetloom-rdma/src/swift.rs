//! Swift (Kumar et al., SIGCOMM 2020): a window for the delay in the fabric and one for the delay at the receiving
//! host, each against a target; below one packet it becomes a pace.

use super::config::bdp_bytes;
use super::control::{AckInfo, Control, FlowPath, Loss, Spacing};
use super::header::Header;
use super::params::{Defaults, check, core, default_of};
use crate::narrow::saturated;
use crate::spec::{Complaint, Component, Kind, Param, Values, param};
use crate::units::{Rate, Time};

/// Swift.
pub type Swift = super::Rdma<SwiftControl>;

const fn number(
    name: &'static str,
    (low, high): (f64, f64),
    default: &'static str,
    doc: &'static str,
    source: &'static str,
) -> Param {
    param! { name = default: Kind::Number(low, high), doc, source }
}

const fn time(name: &'static str, doc: &'static str, source: &'static str) -> Param {
    param! { name: Kind::Time, doc, source }
}

const PARAMS: &[Param] = &[
    param! {
        "constants" = "paper": Kind::Choice(&["paper", "htsim"]),
        "Which constants are the defaults below: the paper's scale for a fabric, or htsim's guesses. With htsim windows are whole bytes, and flow scaling uses whole packets, as there.",
        "Swift (SIGCOMM 2020) §3, §4; htsim: swift.cpp"
    },
    number(
        "ai",
        (0.000_001, 1_000.0),
        "1",
        "Packets that a round trip below the target adds to a window.",
        "htsim: swift.cpp",
    ),
    number(
        "beta",
        (0.0, 1.0),
        "0.8",
        "How strongly delay above the target cuts a window.",
        "htsim: swift.cpp",
    ),
    number("max_mdf", (0.0, 1.0), "0.5", "The most that one cut takes.", "htsim: swift.cpp"),
    time(
        "base_target",
        "The target of the fabric delay, without hops and scaling. Left out: base_rtt (paper), 20us (htsim).",
        "packetloom: the paper gives no figure that fits every fabric; htsim: swift.cpp",
    ),
    time(
        "hop_target",
        "What each link of the path adds to the target (h). Left out: base_target / 6.55 (paper), 0 (htsim).",
        "htsim: swift.cpp, hdiv, which counts no hops, as Route::clone() loses their number",
    ),
    time(
        "fs_range",
        "How much flow scaling can add to the target. Left out: five times base_target.",
        "htsim: swift.cpp",
    ),
    number(
        "fs_min",
        (0.000_1, 10_000.0),
        "0.1",
        "The window in packets at which flow scaling adds all of fs_range.",
        "Swift (SIGCOMM 2020) §3.2",
    ),
    number(
        "fs_max",
        (0.001, 1_000_000.0),
        "100",
        "The window in packets from which flow scaling adds nothing.",
        "Swift (SIGCOMM 2020) §3.2",
    ),
    time(
        "endpoint_target",
        "The target of the delay at the receiving host: how long acknowledgements wait for its link. Left out: base_target.",
        "packetloom: Swift (SIGCOMM 2020) §3.3 has a constant and gives no figure",
    ),
    param! {
        "initial_window": Kind::Number(0.001, 1_000_000.0),
        "A flow's first window in packets. Left out: what the link carries in base_rtt (paper), 12 (htsim).",
        "packetloom: line rate, as other RDMA flows start; htsim: _default_cwnd 12"
    },
    number(
        "min_window",
        (0.000_001, 1.0),
        "0.001",
        "The least window in packets.",
        "Swift (SIGCOMM 2020) §3.5: 0.001",
    ),
    number(
        "max_window",
        (1.0, 1_000_000_000.0),
        "1000",
        "The greatest window in packets.",
        "htsim: swift.cpp, 1000 packets",
    ),
    param! {
        "reset_threshold" = "5": Kind::Count(1),
        "After this many timeouts in a row the window is the least (RETX_RESET_THRESHOLD).",
        "htsim: swift.cpp; Swift (SIGCOMM 2020), algorithm 1"
    },
];

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    is_paper: bool,
    ai: f64,
    beta: f64,
    max_mdf: f64,
    base_target: Option<Time>,
    hop_target: Option<Time>,
    fs_range: Option<Time>,
    fs_min: f64,
    fs_max: f64,
    endpoint_target: Option<Time>,
    initial_window: Option<f64>,
    min_window: f64,
    max_window: f64,
    reset_threshold: u32,
}

/// What packets say, and answers bring back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fields {
    /// When the packet started.
    sent_at: Time,
    /// How long the answer waited for the receiver's link, in picoseconds.
    waited: u32,
}

/// The targets, in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Targets {
    /// Without flow scaling.
    fabric: f64,
    scaling: Scaling,
    endpoint: f64,
}

/// Flow scaling (§3.2): max(0, min(alpha / sqrt(cwnd) + beta, range)).
#[derive(Clone, Copy, Debug)]
struct Scaling {
    alpha: f64,
    beta: f64,
    range: f64,
}

impl Scaling {
    fn new(range: f64, fs_min: f64, fs_max: f64) -> Scaling {
        let alpha = range / (1.0 / fs_min.sqrt() - 1.0 / fs_max.sqrt());
        Scaling { alpha, beta: -alpha / fs_max.sqrt(), range }
    }

    fn of(&self, window: f64) -> f64 {
        (self.alpha / window.sqrt() + self.beta).min(self.range).max(0.0)
    }
}

/// One of the two windows, in packets.
#[derive(Clone, Copy, Debug)]
struct Window {
    packets: f64,
    decreased_at: Time,
    /// Where it is counted in whole bytes: how many a packet has.
    bytes_of_packet: Option<f64>,
}

impl Window {
    /// Changes it within its bounds; it is cut once in a round trip at most.
    fn change(&mut self, s: &Settings, now: Time, rtt: Time, to: impl FnOnce(f64, bool) -> f64) {
        let before = self.packets;
        let may_decrease = now.since(self.decreased_at) >= rtt;
        let packets = to(before, may_decrease).clamp(s.min_window, s.max_window);
        self.packets = self.bytes_of_packet.map_or(packets, |bytes| whole_bytes(packets, bytes));
        if self.packets < before {
            self.decreased_at = now;
        }
    }
}

/// What is left of a window that an integer holds in bytes, one at least. What is a whole number but for the last bits
/// stays.
fn whole_bytes(packets: f64, bytes_of_packet: f64) -> f64 {
    const LAST_BITS: f64 = 1e-6;
    (packets * bytes_of_packet + LAST_BITS).floor().max(1.0) / bytes_of_packet
}

/// Algorithm 1, on an acknowledgement of so many packets.
fn answered(s: &Settings, window: f64, (delay, target): (f64, f64), acked: f64, may_decrease: bool) -> f64 {
    if delay < target {
        window + if window >= 1.0 { s.ai / window * acked } else { s.ai * acked }
    } else if may_decrease {
        window * (1.0 - s.beta * (delay - target) / delay).max(1.0 - s.max_mdf)
    } else {
        window
    }
}

/// A flow's state.
#[derive(Clone, Debug)]
pub struct SwiftControl {
    /// Of packets while the window is above one.
    rate: Rate,
    mss_bytes: u64,
    targets: Targets,
    fabric: Window,
    endpoint: Window,
    rtt: Time,
    /// Whether that was measured.
    is_answered: bool,
    timeouts: u32,
}

impl Control for SwiftControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "swift",
        doc: "Swift: windows follow the delay of the fabric and, separately, that of the receiving host, with targets that scale with hops and flows; windows below one packet are paced.",
        source: "Swift (SIGCOMM 2020) §3, algorithm 1",
        params: &[
            &core(Defaults {
                header: ("60B", "packetloom: RDMA's 48 B, a time stamp and the wait at the receiver"),
                recovery: ("irn", "Swift (SIGCOMM 2020) §3.6: selective acknowledgements"),
                ..default_of()
            }),
            PARAMS,
        ],
        check: check_swift,
    };
    const SHORTENS: bool = true;
    type Fields = Fields;
    type Agent = ();
    type Settings = Settings;
    const ECHOES_WAITS: bool = true;

    fn settings(values: &Values) -> Settings {
        Settings {
            is_paper: values.meaning("constants", &[("paper", true), ("htsim", false)]),
            ai: values.number("ai"),
            beta: values.number("beta"),
            max_mdf: values.number("max_mdf"),
            base_target: values.optional_time("base_target"),
            hop_target: values.optional_time("hop_target"),
            fs_range: values.optional_time("fs_range"),
            fs_min: values.number("fs_min"),
            fs_max: values.number("fs_max"),
            endpoint_target: values.optional_time("endpoint_target"),
            initial_window: values.optional_number("initial_window"),
            min_window: values.number("min_window"),
            max_window: values.number("max_window"),
            reset_threshold: u32::try_from(values.count("reset_threshold")).unwrap_or(u32::MAX),
        }
    }

    fn new(s: &Settings, path: &FlowPath) -> SwiftControl {
        let window = bdp_bytes(path.rate, path.base_rtt) as f64 / path.mss_bytes as f64;
        let packets = s.initial_window.unwrap_or(if s.is_paper { window } else { 12.0 });
        let window = Window {
            packets: packets.clamp(s.min_window, s.max_window),
            decreased_at: Time::ZERO,
            bytes_of_packet: (!s.is_paper).then_some(path.mss_bytes as f64),
        };
        SwiftControl {
            rate: path.initial_rate,
            mss_bytes: path.mss_bytes,
            targets: targets(s, path),
            fabric: window,
            endpoint: window,
            rtt: path.base_rtt,
            is_answered: false,
            timeouts: 0,
        }
    }

    fn fields(&self, now: Time) -> Fields {
        Fields { sent_at: now, waited: 0 }
    }

    fn echo(fields: &mut Fields, waits: Time) {
        fields.waited = u32::try_from(waits.as_ps()).unwrap_or(u32::MAX);
    }

    fn acknowledged(&mut self, s: &Settings, ack: &AckInfo, fields: &Fields) {
        (self.timeouts, self.is_answered) = (0, true);
        self.rtt = ack.now.since(fields.sent_at);
        let (at_endpoint, acked) = (f64::from(fields.waited), f64::from(ack.arrived));
        // htsim divides two integers: below a packet flow scaling is full.
        let packets = if s.is_paper { self.packets() } else { self.packets().floor() };
        let target = self.targets.fabric + self.targets.scaling.of(packets);
        let in_fabric = (self.rtt.as_ps() as f64 - at_endpoint, target);
        let at_endpoint = (at_endpoint, self.targets.endpoint);
        self.fabric.change(s, ack.now, self.rtt, |window, may| answered(s, window, in_fabric, acked, may));
        self.endpoint
            .change(s, ack.now, self.rtt, |window, may| answered(s, window, at_endpoint, acked, may));
    }

    fn lost(&mut self, s: &Settings, now: Time, loss: Loss) {
        self.timeouts += u32::from(loss == Loss::Timeout);
        let is_reset = loss == Loss::Timeout && self.timeouts >= s.reset_threshold;
        let cut = |window: f64, may_decrease: bool| {
            if is_reset {
                s.min_window
            } else if may_decrease {
                window * (1.0 - s.max_mdf)
            } else {
                window
            }
        };
        self.fabric.change(s, now, self.rtt, cut);
        self.endpoint.change(s, now, self.rtt, cut);
    }

    /// Only a window below one packet is paced.
    fn rate(&self) -> Rate {
        self.rate
    }

    fn rtt(&self) -> Option<Time> {
        self.is_answered.then_some(self.rtt)
    }

    /// Algorithm 1: pacing_delay is rtt / cwnd below one packet, and 0 from there on, which every acknowledgement
    /// decides anew. htsim's pacer keeps the time that was set until the window allows a packet, and is cancelled
    /// then (swift.cpp).
    fn spacing(&self, _: &Settings) -> Spacing {
        let packets = self.packets();
        if packets >= 1.0 {
            return Spacing::Rate(self.rate);
        }
        Spacing::After(Time(saturated::<u64>(self.rtt.as_ps() as f64 / packets)))
    }

    fn window_bytes(&self) -> u64 {
        saturated::<u64>(self.packets()).max(1).saturating_mul(self.mss_bytes)
    }
}

impl SwiftControl {
    /// The smaller of the two windows.
    fn packets(&self) -> f64 {
        self.fabric.packets.min(self.endpoint.packets)
    }
}

fn targets(s: &Settings, path: &FlowPath) -> Targets {
    let base = s.base_target.unwrap_or(if s.is_paper { path.base_rtt } else { Time::from_us(20) });
    let base = base.as_ps() as f64;
    let or = |time: Option<Time>, default: f64| time.map_or(default, |time| time.as_ps() as f64);
    Targets {
        fabric: base + f64::from(path.hops) * or(s.hop_target, if s.is_paper { base / 6.55 } else { 0.0 }),
        scaling: Scaling::new(or(s.fs_range, 5.0 * base), s.fs_min, s.fs_max),
        endpoint: or(s.endpoint_target, base),
    }
}

const _: () =
    assert!(size_of::<crate::packet::Packet<Header<Fields>>>() <= 64, "a packet must fit a cache line");

fn check_swift(values: &Values) -> Result<(), Complaint> {
    check(values)?;
    for key in ["base_target", "endpoint_target"] {
        if values.optional_time(key) == Some(Time::ZERO) {
            return Err(Complaint::new(key, "write a time above zero, such as \"25us\""));
        }
    }
    if values.number("fs_min") >= values.number("fs_max") {
        return Err(Complaint::new("fs_min", "must be below fs_max"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: FlowPath = FlowPath {
        rate: Rate::from_gbps(100),
        initial_rate: Rate::from_gbps(100),
        base_rtt: Time::from_us(8),
        window_bytes: 100_000,
        mss_bytes: 1_000,
        hops: 4,
    };
    const HTSIM: Settings = Settings {
        is_paper: false,
        ai: 1.0,
        beta: 0.8,
        max_mdf: 0.5,
        base_target: None,
        hop_target: None,
        fs_range: None,
        fs_min: 0.1,
        fs_max: 100.0,
        endpoint_target: None,
        initial_window: None,
        min_window: 0.001,
        max_window: 1_000.0,
        reset_threshold: 5,
    };

    #[test]
    fn targets_grow_with_hops_and_with_flows_below_a_packet_too() {
        let of_paper = Settings { is_paper: true, base_target: Some(Time::from_us(20)), ..HTSIM };
        let fabric = targets(&of_paper, &PATH).fabric / 1e6;
        assert!((fabric - (20.0 + 4.0 * 20.0 / 6.55)).abs() < 1e-9);
        // htsim's counts none.
        let targets = targets(&HTSIM, &PATH);
        assert!((targets.fabric / 1e6 - 20.0).abs() < 1e-9);
        let us = |window: f64| targets.scaling.of(window) / 1e6;
        // alpha = 100 us / (1/sqrt(0.1) - 1/sqrt(100)) = 32.66 us; beta = -alpha / 10.
        let alpha = 100.0 / (10.0_f64.sqrt() - 0.1);
        assert!((alpha - 32.66).abs() < 0.01);
        for (window, expected) in [
            (0.01, 100.0),
            (0.1, 100.0),
            (0.25, alpha * (2.0 - 0.1)),
            (1.0, alpha * 0.9),
            (16.0, alpha * 0.15),
            (100.0, 0.0),
            (400.0, 0.0),
        ] {
            assert!((us(window) - expected).abs() < 1e-9, "{window}: {}", us(window));
        }
    }

    #[test]
    fn the_papers_first_window_is_what_the_link_carries_in_base_rtt_whatever_may_be_in_flight() {
        let paper = Settings { is_paper: true, ..HTSIM };
        for window_bytes in [5_000, 100_000, 1_000_000] {
            let path = FlowPath { window_bytes, ..PATH };
            assert_eq!(SwiftControl::new(&paper, &path).packets(), 100.0);
        }
    }

    fn ack(now_us: u64) -> AckInfo {
        AckInfo { now: Time::from_us(now_us), acked_bytes: 0, sent_bytes: 0, arrived: 1, marked: false }
    }

    fn fields(sent_us: u64, waited_us: u32) -> Fields {
        Fields { sent_at: Time::from_us(sent_us), waited: waited_us * 1_000_000 }
    }

    #[test]
    fn delay_below_the_target_adds_a_packet_a_round_trip_and_above_it_cuts_once_in_one() {
        let mut control = SwiftControl::new(&HTSIM, &PATH);
        assert_eq!(control.packets(), 12.0);
        control.acknowledged(&HTSIM, &ack(100), &fields(90, 0));
        // A twelfth of 1000 B, in whole bytes.
        assert_eq!(control.fabric.packets, 12.083);
        // 120 us against the target for twelve packets.
        let target = 20.0 + 100.0 / (10.0_f64.sqrt() - 0.1) * (1.0 / 12.0_f64.sqrt() - 0.1);
        control.acknowledged(&HTSIM, &ack(300), &fields(180, 0));
        let cut = 12_083.0 * (1.0 - 0.8 * (120.0 - target) / 120.0).max(0.5);
        assert_eq!(control.fabric.packets, cut.floor() / 1_000.0);
        let cut = control.fabric.packets;
        control.acknowledged(&HTSIM, &ack(310), &fields(190, 0));
        assert_eq!(control.fabric.packets, cut, "a round trip must go by");
        control.acknowledged(&HTSIM, &ack(420), &fields(300, 0));
        assert!(control.fabric.packets < cut);
    }

    #[test]
    fn windows_of_whole_bytes_lose_what_is_less_than_one_and_nothing_else() {
        assert!((1..1_000_000).all(|bytes| {
            let packets = f64::from(bytes) / 4_000.0;
            whole_bytes(packets, 4_000.0) == packets
        }));
        assert_eq!(whole_bytes(10.099_9, 4_000.0), 40_399.0 / 4_000.0);
        // Those of the paper have fractions.
        let mut control = SwiftControl::new(&Settings { is_paper: true, ..HTSIM }, &PATH);
        let paper = Settings { is_paper: true, base_target: Some(Time::from_us(20)), ..HTSIM };
        control.fabric.packets = 12.0;
        control.acknowledged(&paper, &ack(100), &fields(99, 0));
        assert!((control.fabric.packets - (12.0 + 1.0 / 12.0)).abs() < 1e-12);
    }

    #[test]
    fn what_waits_at_the_receiver_cuts_the_other_window() {
        let mut control = SwiftControl::new(&HTSIM, &PATH);
        control.acknowledged(&HTSIM, &ack(100), &fields(50, 40));
        assert!(control.fabric.packets > 12.0, "10 us in the fabric");
        assert!((control.endpoint.packets - 12.0 * (1.0 - 0.8 * 20.0 / 40.0)).abs() < 1e-9);
        assert_eq!(control.packets(), control.endpoint.packets);
    }

    #[test]
    fn below_a_packet_it_sends_one_each_so_many_round_trips() {
        let settings = Settings { initial_window: Some(0.25), ..HTSIM };
        let mut control = SwiftControl::new(&settings, &PATH);
        control.rtt = Time::from_us(30);
        assert_eq!(control.spacing(&settings), Spacing::After(Time::from_us(120)));
        assert_eq!(control.window_bytes(), 1_000);
        control.acknowledged(&settings, &ack(100), &fields(90, 0));
        assert_eq!(control.packets(), 1.25, "below one packet, each acknowledgement adds a whole one");
        assert_eq!(control.spacing(&settings), Spacing::Rate(PATH.rate));
    }

    #[test]
    fn losses_cut_the_window_and_timeouts_in_a_row_reset_it() {
        let mut control = SwiftControl::new(&HTSIM, &PATH);
        control.lost(&HTSIM, Time::from_us(100), Loss::Nack);
        assert_eq!(control.packets(), 6.0);
        for nth in 1..=4 {
            control.lost(&HTSIM, Time::from_us(100 + 1_000 * nth), Loss::Timeout);
        }
        assert_eq!(control.packets(), 6.0 / 16.0);
        control.lost(&HTSIM, Time::from_us(5_200), Loss::Timeout);
        assert_eq!(control.packets(), 0.001);
        control.acknowledged(&HTSIM, &ack(6_000), &fields(5_990, 0));
        assert_eq!(control.timeouts, 0);
    }
}

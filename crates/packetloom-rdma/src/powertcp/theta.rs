//! theta-PowerTCP: the form of PowerTCP that measures power by round-trip times alone.

use super::super::control::{AckInfo, Control, FlowPath};
use super::super::params::{Defaults, check, core, default_of};
use super::super::presets;
use super::power::{Law, Powered, Settings, check_variant, fixed_rates, seconds};
use super::{ADDITIVE, FLOWS, MIN_RATE, VARIANT};
use crate::narrow::saturated;
use crate::spec::{Component, Kind, Param, Values, param};
use crate::units::{Rate, Time};
use packetloom_transport::FixedRate;

/// PowerTCP by delays.
pub type ThetaPowerTcp = super::super::Rdma<ThetaControl>;

const PARAMS: &[Param] = &[
    VARIANT,
    param! {
        "gamma": Kind::Number(0.01, 1.0),
        "The weight of the value that the power gives; the rest is that of the previous window or rate. Left out: 0.9 (paper), 0.7 (ns3-datacenter).",
        "PowerTCP (NSDI 2022); the authors' Linux module: gamma 921 of 1024; inet-tub/ns3-datacenter: 0.7"
    },
    FLOWS,
    ADDITIVE,
    MIN_RATE,
];

/// The simulator takes round-trip times for rising no slower than this: they fall by half of the time that passes.
const LEAST_CURRENT: f64 = 0.5;
/// And for in equilibrium at so many least round-trip times.
const MARGIN: f64 = 1.05;

/// A flow's state.
#[derive(Clone, Debug)]
pub struct ThetaControl {
    powered: Powered,
    /// The least round-trip time so far, or base_rtt.
    base_rtt: Time,
    /// The last one that was counted, and when.
    last: Option<(Time, Time)>,
    /// Whether the window is what the rate carries in the least round trip, which is below base_rtt in most pairs.
    scales: bool,
}

impl Control for ThetaControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "theta-powertcp",
        doc: "theta-PowerTCP: senders estimate the power from round-trip times and their gradient. Its packets carry a time stamp of 8 B.",
        source: "PowerTCP (NSDI 2022)",
        params: &[
            &core(Defaults {
                header: (
                    "56B",
                    "HPCC's simulator: 48 B and a time stamp of 8 B; in inet-tub/ns3-datacenter 90 B",
                ),
                window: ("bdp", "the authors' Linux module: what the host's link carries in base_rtt"),
                variable_window: ("true", "inet-tub/ns3-datacenter, examples/PowerTCP: VAR_WIN 1"),
                presets: presets::WORDS,
                ..default_of()
            }),
            PARAMS,
        ],
        check: |values| {
            check(values)?;
            check_variant(values, &["additive_increase"])
        },
    };
    const SHORTENS: bool = true;
    /// When the packet started.
    type Fields = Time;
    type Agent = ();
    type Settings = Settings;

    fn settings(values: &Values) -> Settings {
        Settings::of(values, if super::power::is_paper(values) { 0.9 } else { 0.7 }, 1.0)
    }

    fn fixed_rates(values: &Values) -> Vec<FixedRate> {
        fixed_rates(values)
    }

    fn moves_pending(_: &Settings) -> bool {
        true
    }

    fn new(settings: &Settings, path: &FlowPath) -> ThetaControl {
        ThetaControl {
            powered: Powered::new(settings, path),
            base_rtt: path.base_rtt,
            last: None,
            scales: settings.scales && matches!(settings.law, Law::Rate { .. }),
        }
    }

    fn fields(&self, now: Time) -> Time {
        now
    }

    fn acknowledged(&mut self, settings: &Settings, ack: &AckInfo, sent_at: &Time) {
        let rtt = ack.now.since(*sent_at);
        self.base_rtt = self.base_rtt.min(rtt);
        let is_round = self.powered.ends_round(ack);
        // The paper's form goes by one round-trip time in each round trip, its simulator's by all.
        if is_round || matches!(settings.law, Law::Rate { .. }) {
            let (power, over) = self.power(settings, rtt, ack.now);
            self.powered.measured(settings, power, over, self.base_rtt);
            self.last = Some((rtt, ack.now));
        }
        if is_round {
            self.powered.turn(ack);
        }
    }

    fn rate(&self) -> Rate {
        self.powered.rate
    }

    fn rtt(&self) -> Option<Time> {
        self.last.map(|(rtt, _)| rtt)
    }

    fn window_bytes(&self) -> u64 {
        if self.scales {
            return saturated::<u64>(self.rate().as_bps() as f64 * seconds(self.base_rtt) / 8.0).max(1);
        }
        self.powered.own_window()
    }
}

impl ThetaControl {
    /// The power over that in equilibrium, and for how long it was measured. Of a first round-trip time nobody knows
    /// whether it rises.
    fn power(&self, settings: &Settings, rtt: Time, now: Time) -> (f64, Time) {
        let (rises, over) = match self.last {
            None => (0.0, self.base_rtt),
            Some((before, at)) => {
                let over = now.since(at);
                let rise = seconds(rtt) - seconds(before);
                (if over == Time::ZERO { 0.0 } else { rise / seconds(over) }, over)
            }
        };
        let voltage = seconds(rtt) / seconds(self.base_rtt);
        match settings.law {
            Law::Window { .. } => ((rises + 1.0) * voltage, over),
            Law::Rate { .. } => ((rises + 1.0).max(LEAST_CURRENT) * voltage / MARGIN, over),
        }
    }
}

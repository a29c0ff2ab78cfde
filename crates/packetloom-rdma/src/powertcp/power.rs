//! What both forms of PowerTCP share: the smoothed power and the laws that it sets windows and rates by.

use super::super::control::{AckInfo, FlowPath};
use super::super::hpcc::Widths;
use crate::narrow::saturated;
use crate::spec::{Complaint, Value, Values};
use crate::units::{Rate, Time};
use packetloom_transport::FixedRate;

/// Below this share of the equilibrium a measurement counts as this much (the authors' Linux module: p_norm_cutoff).
const LEAST_POWER: f64 = 0.01;

/// What a step adds in the authors' simulator, whose hosts have 25 Gb/s (examples/PowerTCP: topology-256.txt).
const INCREASE: Rate = Rate(150_000_000);

/// Whose law, with what a step adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Law {
    /// The paper's: a window, from that of a round trip ago. The host's bandwidth-delay product is divided among so many
    /// flows to get what a step adds (beta).
    Window { flows: f64 },
    /// The authors' ns-3: a rate, from that of the last round trip.
    Rate { increase: f64, target: f64 },
}

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    pub(super) law: Law,
    pub(super) gamma: f64,
    pub(super) min_rate: Rate,
    pub(super) widths: Option<Widths>,
    /// Of the rate's law: whether the window is what the rate carries in a base round trip.
    pub(super) scales: bool,
}

impl Settings {
    /// Those of a scenario: `gamma` where it is left out, and the share of the link that a rate aims at.
    pub(super) fn of(values: &Values, gamma: f64, target: f64) -> Settings {
        let law = if is_paper(values) {
            Law::Window { flows: values.optional_count("flows").unwrap_or(10) as f64 }
        } else {
            let increase = values.optional_rate("additive_increase").unwrap_or(INCREASE);
            Law::Rate { increase: increase.as_bps() as f64, target }
        };
        Settings {
            law,
            gamma: values.optional_number("gamma").unwrap_or(gamma),
            min_rate: values.rate("min_rate"),
            widths: None,
            scales: values.flag("variable_window") && values.text("window") == "bdp",
        }
    }
}

pub(super) fn is_paper(values: &Values) -> bool {
    values.meaning("variant", &[("paper", true), ("ns3-datacenter", false)])
}

/// What the simulator adds at any rate, unless a scenario says otherwise.
pub(super) fn fixed_rates(values: &Values) -> Vec<FixedRate> {
    let is_fixed = !is_paper(values) && values.optional_rate("additive_increase").is_none();
    let increase = FixedRate { key: "additive_increase", value: INCREASE, line_rate: Rate::from_gbps(25) };
    if is_fixed { vec![increase] } else { Vec::new() }
}

/// Refuses what the other variant has.
pub(super) fn check_variant(values: &Values, of_ns3: &[&'static str]) -> Result<(), Complaint> {
    let others = if is_paper(values) { of_ns3 } else { &["flows"] };
    for &other in others {
        if values.get(other) != &Value::Absent {
            let message = format!("the variant {:?} has none; leave it out", values.text("variant"));
            return Err(Complaint::new(other, message));
        }
    }
    if values.optional_count("flows") == Some(0) {
        return Err(Complaint::new("flows", "write 1 or more"));
    }
    Ok(())
}

/// A flow's power and what follows from it.
#[derive(Clone, Debug)]
pub(super) struct Powered {
    pub(super) path: FlowPath,
    has_window: bool,
    /// The smoothed power over that in equilibrium; none before the first measurement under the paper's law.
    power: Option<f64>,
    /// The window in bits, and that of a round trip ago; or the rate in bits per second, and that of the last round trip.
    value: f64,
    reference: f64,
    pub(super) rate: Rate,
    /// The round trip ends with the acknowledgement of more than this.
    round_ends: u64,
}

impl Powered {
    pub(super) fn new(settings: &Settings, path: &FlowPath) -> Powered {
        let (power, value) = match settings.law {
            Law::Window { .. } => (None, path.initial_rate.as_bps() as f64 * seconds(path.base_rtt)),
            // Its simulator starts as HPCC's does, with u = 1.
            Law::Rate { .. } => (Some(1.0), path.initial_rate.as_bps() as f64),
        };
        let has_window = matches!(settings.law, Law::Window { .. });
        let rate = path.initial_rate;
        Powered { path: *path, has_window, power, value, reference: value, rate, round_ends: 0 }
    }

    /// Takes a measurement of the power, over that in equilibrium, which was measured for a time, on a path of a base
    /// round-trip time; then sets the window or the rate.
    pub(super) fn measured(&mut self, settings: &Settings, power: f64, over: Time, base_rtt: Time) {
        let power = power.max(LEAST_POWER);
        let (base, over) = (seconds(base_rtt), seconds(over.min(base_rtt)));
        let smoothed = self.power.map_or(power, |before| (before * (base - over) + power * over) / base);
        self.power = Some(smoothed);
        let line = self.path.rate.as_bps() as f64;
        let least = settings.min_rate.min(self.path.rate).as_bps() as f64;
        let gamma = settings.gamma;
        self.value = match settings.law {
            Law::Window { flows } => {
                let most = line * seconds(self.path.base_rtt);
                let stepped = self.reference / smoothed + most / flows;
                (gamma * stepped + (1.0 - gamma) * self.value)
                    .clamp(least * seconds(self.path.base_rtt), most)
            }
            Law::Rate { increase, target } => {
                let stepped = self.reference / (smoothed / target) + increase;
                (gamma * stepped + (1.0 - gamma) * self.reference).clamp(least, line)
            }
        };
        let bps = if self.has_window { self.value / seconds(self.path.base_rtt) } else { self.value };
        self.rate = Rate(saturated::<u64>(bps).max(1)).min(self.path.rate);
    }

    /// Whether an acknowledgement ends the round trip.
    pub(super) fn ends_round(&self, ack: &AckInfo) -> bool {
        ack.acked_bytes > self.round_ends
    }

    /// A round trip has ended: the next one goes by what is now.
    pub(super) fn turn(&mut self, ack: &AckInfo) {
        self.reference = self.value;
        self.round_ends = self.round_ends.max(ack.sent_bytes);
    }

    /// The window that the paper's law sets; its simulator's goes by the rate.
    pub(super) fn own_window(&self) -> u64 {
        if self.has_window { saturated::<u64>(self.value / 8.0).max(1) } else { u64::MAX }
    }
}

/// In seconds.
pub(super) fn seconds(time: Time) -> f64 {
    time.as_ps() as f64 / 1e12
}

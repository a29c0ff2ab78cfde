//! PowerTCP (Addanki et al., NSDI 2022): a window by power, which is a port's queue and bandwidth-delay product (voltage)
//! times what arrives at it (current). So a sender answers to a queue and to its growth at once.
//!
//! Two variants of each form. The paper's sets a window from that of a round trip ago, as does the authors' Linux module
//! (inet-tub/powertcp-linux, powertcp.c). Their ns-3 (inet-tub/ns3-datacenter 6ddb4a4, rdma-hw.cc: UpdateRatePower) sets a rate,
//! aims at 95 % of the link, adds 150 Mb/s at any rate, and takes the first acknowledgement for a measurement since the
//! simulation began.

mod power;
mod telemetry;
mod theta;

use super::control::{AckInfo, Control, FlowPath};
use super::hpcc::{Hop, Hops, MOST_HOPS, widths};
use super::params::{Defaults, check, core, default_of};
use super::presets;
use crate::spec::{Component, Kind, Needs, Param, Values, param};
use crate::units::{Rate, Time};
use packetloom_transport::FixedRate;
use power::{Law, Powered, Settings, check_variant, fixed_rates, seconds};
use telemetry::ArrivalTelemetry;
pub use theta::ThetaPowerTcp;

/// PowerTCP with telemetry.
pub type PowerTcp = super::Rdma<PowerControl>;

const VARIANT: Param = param! {
    "variant" = "paper": Kind::Choice(&["paper", "ns3-datacenter"]),
    "Which control law: the paper's, which sets a window from that of a round trip ago; or its authors' simulator's, which sets a rate from that of the last round trip.",
    "PowerTCP (NSDI 2022), algorithm 1; inet-tub/ns3-datacenter: UpdateRatePower"
};
const FLOWS: Param = param! {
    "flows": Kind::Count(0),
    "With paper: the number of flows by which the bandwidth-delay product of the host's link is divided to give what each step adds (beta). Left out: 10.",
    "PowerTCP (NSDI 2022); the authors' Linux module: update_beta, expected_flows 10"
};
const ADDITIVE: Param = param! {
    "additive_increase": Kind::Rate,
    "With ns3-datacenter: what each step adds to the rate. Left out: 150Mbps.",
    "inet-tub/ns3-datacenter: UpdateRatePower"
};
const MIN_RATE: Param = param! {
    "min_rate" = "100Mbps": Kind::Rate,
    "The least rate, or the least window over base_rtt.",
    "inet-tub/ns3-datacenter, examples/PowerTCP: MIN_RATE 100Mb/s"
};
const PARAMS: &[Param] = &[
    VARIANT,
    param! {
        "gamma": Kind::Number(0.01, 1.0),
        "The weight of the value that the power gives; the rest is that of the previous window or rate. Left out: 0.9.",
        "PowerTCP (NSDI 2022); the authors' Linux module: gamma 921 of 1024; inet-tub/ns3-datacenter: 0.9"
    },
    FLOWS,
    ADDITIVE,
    param! {
        "utilisation": Kind::Number(0.01, 1.0),
        "With ns3-datacenter: the target utilisation of each link (eta). Left out: 0.95.",
        "inet-tub/ns3-datacenter, examples/PowerTCP: U_TARGET 0.95"
    },
    MIN_RATE,
    param! {
        "quantise" = "false": Kind::Flag,
        "Cut telemetry to its bits on the wire: 24 of nanoseconds, 20 of bytes in units of 128 B, 17 of the queue in units of 80 B, both times int_multiple.",
        "inet-tub/ns3-datacenter: int-header.h"
    },
    param! {
        "int_multiple" = "1": Kind::Count(1),
        "With quantise: the units' multiple.",
        "inet-tub/ns3-datacenter, examples/PowerTCP: INT_MULTI 1"; acts &[Needs::Is("quantise", &["true"])]
    },
];

/// The simulator takes no less than this share of the link for what arrives.
const LEAST_CURRENT: f64 = 0.5;

/// A flow's state.
#[derive(Clone, Debug)]
pub struct PowerControl {
    powered: Powered,
    /// The telemetry of the last acknowledgement.
    last: Option<Hops>,
}

impl Control for PowerControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "powertcp",
        doc: "PowerTCP: switches write their queues and the bytes that arrived into packets. Power is queue plus bandwidth-delay product, times the rate of arrivals. Senders keep that of the most loaded link at that of a full link without a queue. Its packets have 42 B more than other RDMA packets, and its ACKs 28 B.",
        source: "PowerTCP (NSDI 2022)",
        params: &[
            &core(Defaults {
                header: ("90B", "inet-tub/ns3-datacenter: 48 B and INT of 42 B"),
                ack: ("88B", "HPCC's simulator: 14 B Ethernet, 20 B IPv4, 12 B and INT of 42 B"),
                window: ("bdp", "the authors' Linux module: what the host's link carries in base_rtt"),
                variable_window: ("true", "inet-tub/ns3-datacenter, examples/PowerTCP: VAR_WIN 1"),
                presets: presets::WORDS,
                ..default_of()
            }),
            PARAMS,
        ],
        check: |values| {
            check(values)?;
            check_variant(values, &["additive_increase", "utilisation"])
        },
    };
    const SHORTENS: bool = true;
    type Fields = Hops;
    type Agent = ArrivalTelemetry;
    type Settings = Settings;

    fn most_switches(_: &Values) -> usize {
        MOST_HOPS
    }

    fn settings(values: &Values) -> Settings {
        let target = values.optional_number("utilisation").unwrap_or(0.95);
        Settings { widths: widths(values), ..Settings::of(values, 0.9, target) }
    }

    fn fixed_rates(values: &Values) -> Vec<FixedRate> {
        fixed_rates(values)
    }

    fn moves_pending(_: &Settings) -> bool {
        true
    }

    fn new(settings: &Settings, path: &FlowPath) -> PowerControl {
        PowerControl { powered: Powered::new(settings, path), last: None }
    }

    fn acknowledged(&mut self, settings: &Settings, ack: &AckInfo, hops: &Hops) {
        if let Some((power, over)) = self.fullest(settings, hops) {
            self.powered.measured(settings, power, over, self.powered.path.base_rtt);
        }
        self.last = Some(*hops);
        if self.powered.ends_round(ack) {
            self.powered.turn(ack);
        }
    }

    fn rate(&self) -> Rate {
        self.powered.rate
    }

    fn window_bytes(&self) -> u64 {
        self.powered.own_window()
    }
}

impl PowerControl {
    /// The largest power on the path since the last acknowledgement, over that in equilibrium, and for how long it was
    /// measured.
    fn fullest(&self, settings: &Settings, hops: &Hops) -> Option<(f64, Time)> {
        // The simulator compares a flow's first telemetry with zeros.
        let zeros = || matches!(settings.law, Law::Rate { .. }).then(|| hops.of_no_time());
        let last = self.last.or_else(zeros)?;
        let pairs = hops.written().iter().zip(&last.hops);
        let powers = pairs.filter_map(|(hop, last)| self.power_of(settings, last, hop));
        powers.reduce(|fullest, other| if other.0 > fullest.0 { other } else { fullest })
    }

    fn power_of(&self, settings: &Settings, last: &Hop, hop: &Hop) -> Option<(f64, Time)> {
        let (over, arrived_bytes) = hop.since(last, settings.widths)?;
        let capacity = hop.rate.as_bps() as f64;
        let mut current = (arrived_bytes * 8) as f64 / seconds(over) / capacity;
        if matches!(settings.law, Law::Rate { .. }) {
            current = current.max(LEAST_CURRENT);
        }
        let product_bits = capacity * seconds(self.powered.path.base_rtt);
        let voltage = f64::from(hop.queue_bytes) * 8.0 / product_bits + 1.0;
        Some((current * voltage, over))
    }
}

#[cfg(test)]
mod tests;

//! NUMFabric's parameters.

use super::pace::Rules;
use super::utility::Utilities;
use crate::paced::{self, CORE};
use crate::packet_format::PacketFormat;
use crate::rto::RtoRule;
use crate::spec::{Complaint, Component, Kind, Param, Values, check_period, param};
use crate::units::Time;
use packetloom_fabric::topology::{Link, Topology};
use packetloom_transport::ways::{distinct_pairs, path};

/// How it describes itself.
pub const COMPONENT: Component = Component {
    section: "transport",
    kind: "numfabric",
    doc: "NUMFabric: flows get the rates that maximise the sum of their utilities. Switches share links by the weights in packets (queue \"weighted-fair\"), windows follow what comes through (Swift), and links' prices set the weights (xWI).",
    source: "Nagaraj et al., NUMFabric, SIGCOMM 2016; the authors' ns-3 code",
    params: &[CORE, PARAMS],
    check,
};

const PARAMS: &[Param] = &[
    param! {
        "utility" = "alpha-fair": Kind::Choice(&["alpha-fair", "fct"]),
        "The utility of a rate x: w^alpha x^(1-alpha) / (1-alpha), or w log x where alpha is 1 (alpha-fair); or x^(1-alpha) / (1-alpha) over the flow's size, for short flow completion times (fct).",
        "NUMFabric (SIGCOMM 2016) table 1"
    },
    param! {
        "alpha": Kind::Number(0.05, 8.0),
        "The utility's exponent. Left out: 1, proportional fairness (alpha-fair); 0.125 (fct).",
        "NUMFabric (SIGCOMM 2016) §6: 1; 0.125 to minimise FCTs"
    },
    param! {
        "weights": Kind::List(&Kind::Number(0.001, 1_000.0)),
        "With alpha-fair: w, one for each traffic class, in the order of the workloads' class numbers. Left out: 1.",
        "NUMFabric (SIGCOMM 2016) table 1: weighted alpha-fairness"
    },
    param! {
        "price_interval" = "30us": Kind::Time,
        "Links set their prices at the multiples of this.",
        "NUMFabric (SIGCOMM 2016) table 2: priceUpdateInterval 30 us"
    },
    param! {
        "guard" = "3us": Kind::Time,
        "For this long after it set its price, a link counts neither residuals nor what it sends.",
        "NUMFabric's ns-3 code, semi_dynamic_configs: guardtime 3 us"
    },
    param! {
        "eta" = "5": Kind::Number(0.0, 100.0),
        "How strongly a link that is not full lowers its price.", "NUMFabric (SIGCOMM 2016) table 2: eta 5"
    },
    param! {
        "beta" = "0.5": Kind::Number(0.0, 0.99),
        "The share of the last price in the next one.", "NUMFabric (SIGCOMM 2016) table 2: beta 0.5"
    },
    param! {
        "dt" = "6us": Kind::Time,
        "A window is the flow's rate times the round trip without queues and this: how long its packets wait at the bottleneck.",
        "NUMFabric (SIGCOMM 2016) table 2: dt 6 us"
    },
    param! {
        "average" = "20us": Kind::Time,
        "The time constant of the average of a flow's rate.",
        "NUMFabric (SIGCOMM 2016) table 2: ewmaTime 20 us"
    },
    param! {
        "handshake" = "true": Kind::Flag,
        "A flow asks for the price of its path before it sends, which takes a round trip. Otherwise its first packets have the greatest weight, and the rate that it measures is too high.",
        "NUMFabric's ns-3 code: TCP's handshake, whose packets learn the price, too"
    },
    param! {
        "initial_window" = "3": Kind::Count(1),
        "Packets that a flow begins with. It needs at least two to measure a rate.",
        "NUMFabric's ns-3 code, common_utils.cc: a quarter of 10 Gb/s times 16 us, in full packets"
    },
    param! {
        "base_rtt": Kind::Time,
        "The round trip without queues (d0); a flow that measures a shorter one uses that. Left out: the longest of the network, of a full packet and its acknowledgement.",
        "NUMFabric (SIGCOMM 2016) §4.1; its ns-3 code: 16 us or the least measured"
    },
];

fn check(values: &Values) -> Result<(), Complaint> {
    paced::check(values)?;
    for (key, example) in [("price_interval", "30us"), ("average", "20us")] {
        check_period(key, values.time(key), example)?;
    }
    if values.time("guard") >= values.time("price_interval") {
        return Err(Complaint::new("guard", "nothing would ever count; write less than price_interval"));
    }
    if values.text("utility") == "fct" && values.optional_list("weights").is_some() {
        let message =
            "flows' sizes are their weights under \"fct\"; leave it out, or write utility = \"alpha-fair\"";
        return Err(Complaint::new("weights", message));
    }
    Ok(())
}

/// The parameters, read.
#[derive(Clone, Debug)]
pub struct Config {
    pub format: PacketFormat,
    pub rto: RtoRule,
    pub utilities: Utilities,
    pub rules: Rules,
    pub handshake: bool,
    base_rtt: Option<Time>,
}

impl Config {
    pub fn of(values: &Values) -> Config {
        let format = PacketFormat::of(values);
        Config {
            format,
            rto: RtoRule::between(values.time("min_rto"), values.time("max_rto")),
            utilities: Utilities::of(values),
            rules: Rules {
                average: values.time("average"),
                slack: values.time("dt"),
                initial_window: u32::try_from(values.count("initial_window")).unwrap_or(u32::MAX),
                full_packet_bytes: (format.data.mss_bytes + format.data.header_bytes) as f64,
            },
            handshake: values.flag("handshake"),
            base_rtt: values.optional_time("base_rtt"),
        }
    }

    /// On a network, whose longest base round trip holds where the scenario has none.
    pub fn on(&self, topology: &Topology) -> Config {
        let data_bytes = self.format.data.mss_bytes + self.format.data.header_bytes;
        let takes = |links: Vec<&Link>, bytes: u64| {
            let on_wire = bytes + topology.framing_bytes;
            links
                .iter()
                .map(|link| (link.latency + topology.byte_time(link.rate).of(on_wire)).as_ps())
                .sum::<u64>()
        };
        let round_trip = |(src, dst)| {
            Time(
                takes(path(topology, src, dst), data_bytes)
                    + takes(path(topology, dst, src), self.format.ack_bytes.into()),
            )
        };
        let longest = || distinct_pairs(topology).into_iter().map(round_trip).max().unwrap_or(Time::ZERO);
        Config { base_rtt: Some(self.base_rtt.unwrap_or_else(longest)), ..self.clone() }
    }

    /// d0.
    pub fn base_rtt(&self) -> Time {
        self.base_rtt.unwrap_or(Time::ZERO)
    }
}

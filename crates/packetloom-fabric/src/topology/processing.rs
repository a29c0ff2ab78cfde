//! What a host takes to process a packet that has reached it, drawn anew for each.
//!
//! The least that it can take is a delay like any other, and part of the latency of the host's links. Only what is
//! beyond that is drawn.

use crate::narrow::saturated;
use crate::random::Stream;
use crate::spec::Fallback::{Absent, Required};
use crate::spec::{ALWAYS, Complaint, Component, Kind, Param, Values, anything};
use crate::units::Time;

/// Its key in a topology.
pub(super) const KEY: &str = "processing_per_packet";

const fn time(name: &'static str, default: crate::spec::Fallback, doc: &'static str) -> Param {
    Param { name, kind: Kind::Time, default, doc, source: "packetloom", acts: ALWAYS }
}

const SOURCE: &str = "Floyd and Jacobson, \"On traffic phase effects in packet-switched gateways\" (1992); \
                      ns-2's overhead_";

/// What a host takes for a message, beside all that its packets take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageCosts {
    /// To send it.
    pub send: Time,
    /// To receive it.
    pub receive: Time,
}

/// What a scenario can write as `processing_per_packet`.
pub const COMPONENTS: &[Component] = &[
    Component {
        section: "processing",
        kind: "none",
        doc: "Hosts take no time for a packet other than host_delay.",
        source: "packetloom",
        params: &[],
        check: anything,
    },
    Component {
        section: "processing",
        kind: "fixed",
        doc: "The same time for every packet, added to host_delay.",
        source: "packetloom",
        params: &[&[time("time", Required, "The time that each packet takes.")]],
        check: |values| check_longest(values, "time"),
    },
    Component {
        section: "processing",
        kind: "uniform",
        doc: "A time drawn uniformly between two. Up to the time of a full packet on the slowest link, it ends phase effects.",
        source: SOURCE,
        params: &[&[
            time("minimum", Required, "The shortest time, which is part of best_fct as host_delay is."),
            time("maximum", Required, "The longest time."),
        ]],
        check: check_uniform,
    },
    Component {
        section: "processing",
        kind: "exponential",
        doc: "An exponentially distributed time.",
        source: "packetloom",
        params: &[&[
            time("mean", Required, "The mean time, before the bound."),
            time("maximum", Absent, "The longest time: longer draws are cut to it."),
        ]],
        check: check_exponential,
    },
];

fn check_longest(values: &Values, key: &str) -> Result<(), Complaint> {
    super::link::check_delay(values, key)
}

fn check_uniform(values: &Values) -> Result<(), Complaint> {
    let (minimum, maximum) = (values.time("minimum"), values.time("maximum"));
    if minimum > maximum {
        let message = format!("{maximum} is below the minimum, {minimum}; swap them");
        return Err(Complaint::new("maximum", message));
    }
    check_longest(values, "maximum")
}

fn check_exponential(values: &Values) -> Result<(), Complaint> {
    if values.time("mean") == Time::ZERO {
        return Err(Complaint::new(
            "mean",
            "is zero; write a time above it, or processing_per_packet = \"none\"",
        ));
    }
    if values.optional_time("maximum") == Some(Time::ZERO) {
        let message = "a bound of zero leaves nothing; write more, or processing_per_packet = \"none\"";
        return Err(Complaint::new("maximum", message));
    }
    check_longest(values, "mean")
}

/// What a host takes for a packet beyond the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processing {
    law: Law,
    /// In steps of so many picoseconds.
    step_ps: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    /// Anything up to this, evenly.
    Uniform { most: Time },
    /// Exponentially distributed, up to a bound.
    Exponential { mean: Time, most: Time },
}

/// The least that a host takes for a packet, from a `processing` component that was read.
pub(super) fn least(values: &Values) -> Time {
    match values.kind.as_str() {
        "fixed" => values.time("time"),
        "uniform" => values.time("minimum"),
        _ => Time::ZERO,
    }
}

impl Processing {
    /// What is beyond the least, if anything is; `whole_ns`: in whole nanoseconds, rounded down.
    pub(super) fn build(values: &Values, whole_ns: bool) -> Option<Processing> {
        let law = match values.kind.as_str() {
            "uniform" => Law::Uniform { most: values.time("maximum") - values.time("minimum") },
            "exponential" => Law::Exponential {
                mean: values.time("mean"),
                most: values.optional_time("maximum").unwrap_or(Time::NEVER),
            },
            _ => return None,
        };
        let step_ps = if whole_ns { 1_000 } else { 1 };
        (law != Law::Uniform { most: Time::ZERO }).then_some(Processing { law, step_ps })
    }

    /// What one packet takes.
    pub fn draw(&self, stream: &mut Stream) -> Time {
        let Time(ps) = match self.law {
            Law::Uniform { most } => Time(saturated::<u64>((stream.unit() * most.as_ps() as f64).round())),
            Law::Exponential { mean, most } => {
                most.min(Time(saturated::<u64>((stream.exponential() * mean.as_ps() as f64).round())))
            }
        };
        Time(ps - ps % self.step_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;
    use crate::spec::Value;

    fn values(kind: &str, entries: &[(&str, Option<u64>)]) -> Values {
        let value = |ns: Option<u64>| ns.map_or(Value::Absent, |ns| Value::Time(Time::from_ns(ns)));
        let entries = entries.iter().map(|&(key, ns)| (key.to_owned(), value(ns))).collect();
        Values { kind: kind.to_owned(), entries }
    }

    fn draws(values: &Values, whole_ns: bool) -> Vec<Time> {
        let processing = Processing::build(values, whole_ns).expect("something is drawn");
        let mut stream = Stream::new(5, Purpose::Processing, 0);
        (0..100_000).map(|_| processing.draw(&mut stream)).collect()
    }

    fn mean_ns(draws: &[Time]) -> f64 {
        draws.iter().map(|draw| draw.as_ns_f64()).sum::<f64>() / draws.len() as f64
    }

    #[test]
    fn uniform_draws_are_what_is_beyond_the_least() {
        let values = values("uniform", &[("minimum", Some(200)), ("maximum", Some(1_200))]);
        assert_eq!(least(&values), Time::from_ns(200));
        let draws = draws(&values, false);
        assert!(draws.iter().all(|draw| *draw <= Time::from_us(1)));
        // 500 ns; five standard errors, 288.7 / sqrt(100000), are 4.6.
        assert!((mean_ns(&draws) - 500.0).abs() < 4.6, "{}", mean_ns(&draws));
    }

    #[test]
    fn exponential_draws_have_their_mean_and_their_bound() {
        let free = draws(&values("exponential", &[("mean", Some(500)), ("maximum", None)]), false);
        assert!((mean_ns(&free) - 500.0).abs() < 7.9, "{}", mean_ns(&free));
        let bound = draws(&values("exponential", &[("mean", Some(500)), ("maximum", Some(500))]), false);
        // E min(X, m) = mean · (1 − exp(−m / mean)).
        let expected = 500.0 * (1.0 - (-1_f64).exp());
        assert!((mean_ns(&bound) - expected).abs() < 3.0, "{}", mean_ns(&bound));
        assert_eq!(bound.iter().max(), Some(&Time::from_ns(500)));
    }

    #[test]
    fn nothing_is_drawn_where_all_packets_take_the_same() {
        let fixed = values("fixed", &[("time", Some(700))]);
        assert_eq!((least(&fixed), Processing::build(&fixed, false)), (Time::from_ns(700), None));
        let uniform = values("uniform", &[("minimum", Some(700)), ("maximum", Some(700))]);
        assert_eq!((least(&uniform), Processing::build(&uniform, false)), (Time::from_ns(700), None));
    }

    #[test]
    fn draws_are_whole_nanoseconds_where_the_network_counts_these() {
        let values = values("uniform", &[("minimum", Some(0)), ("maximum", Some(3))]);
        let draws = draws(&values, true);
        assert!(draws.iter().all(|draw| draw.as_ps() % 1_000 == 0));
        // 0, 1 and 2 ns; five standard errors, 0.816 / sqrt(100000), are 0.013.
        assert!((mean_ns(&draws) - 1.0).abs() < 0.013, "{}", mean_ns(&draws));
    }
}

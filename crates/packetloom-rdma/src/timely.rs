//! TIMELY (Mittal et al., SIGCOMM 2015): round-trip times, and whether they rise or fall, set the rate.

use super::control::{AckInfo, Control, FlowPath};
use super::header::Header;
use super::params::{Defaults, check, core, default_of};
use super::presets;
use crate::narrow::saturated;
use crate::spec::{Complaint, Component, Kind, Param, Values, param};
use crate::units::{Rate, Time};

/// TIMELY.
pub type Timely = super::Rdma<TimelyControl>;

const PARAMS: &[Param] = &[
    param! {
        "variant" = "per-ack": Kind::Choice(&["hpcc-ns3", "per-ack"]),
        "How often the rate is set: once per round trip, as in HPCC's simulator; or with every acknowledgement, in proportion to the time since the last, as eRPC does after the authors' code. It sets the defaults below.",
        "HPCC's simulator: CC_MODE 7; eRPC: timely.h"
    },
    param! {
        "ewma": Kind::Number(0.0, 1.0),
        "The weight of a new difference of round-trip times (alpha). Left out: 0.875 (hpcc-ns3), 0.02 (per-ack).",
        "HPCC's simulator: TimelyAlpha; eRPC: kTimelyEwmaAlpha"
    },
    param! {
        "beta" = "0.8": Kind::Number(0.0, 1.0),
        "How strongly the rate is cut.", "TIMELY (SIGCOMM 2015) §5: 0.8"
    },
    param! {
        "t_low" = "50us": Kind::Time,
        "Below this round-trip time the rate rises whatever the gradient.", "TIMELY (SIGCOMM 2015) §5: 50 us"
    },
    param! {
        "t_high": Kind::Time,
        "Above this round-trip time the rate falls whatever the gradient. Left out: 500us (hpcc-ns3), 1ms (per-ack).",
        "TIMELY (SIGCOMM 2015) §5: 500 us; eRPC: kTimelyTHigh"
    },
    param! {
        "min_rtt": Kind::Time,
        "The round-trip time by which differences of round-trip times are divided. Left out: 20us (hpcc-ns3), the network's base_rtt (per-ack).",
        "HPCC's simulator: TimelyMinRtt; packetloom (eRPC: 1 us on loopback)"
    },
    param! {
        "additive_increase": Kind::Rate,
        "What a step of increase adds (delta). Left out: 100Mbps (hpcc-ns3), 40Mbps (per-ack).",
        "HPCC's run.py at 100 Gb/s: RATE_AI; eRPC: kTimelyAddRate, 5 MB/s"
    },
    param! {
        "hyper_increase": Kind::Rate,
        "What a step of increase adds after five in a row. Left out: 500Mbps (hpcc-ns3), five times additive_increase (per-ack).",
        "HPCC's run.py at 100 Gb/s: RATE_HAI; TIMELY (SIGCOMM 2015) §4.3: N = 5"
    },
    param! {
        "min_rate": Kind::Rate,
        "The least rate. Left out: 1Gbps (hpcc-ns3), 40Mbps (per-ack).",
        "HPCC's run.py: MIN_RATE 1000; eRPC: kTimelyMinRate, 5 MB/s"
    },
];

/// After so many increases in a row the steps grow.
const HYPER_AFTER: u32 = 5;

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    per_ack: bool,
    ewma: f64,
    beta: f64,
    t_low: Time,
    t_high: Time,
    /// `None`: the network's base round-trip time.
    min_rtt: Option<Time>,
    additive: Rate,
    hyper: Rate,
    min_rate: Rate,
}

/// A flow's state.
#[derive(Clone, Debug)]
pub struct TimelyControl {
    line_rate: Rate,
    min_rtt: Time,
    rate: Rate,
    last_rtt: Time,
    /// The smoothed difference of round-trip times, in picoseconds.
    difference: f64,
    /// Increases, or falling round-trip times, in a row.
    in_a_row: u32,
    /// Of hpcc-ns3: the round trip ends with the acknowledgement of more than this; 0 before the first.
    round_ends: u64,
    /// Of per-ack: when the rate was last set.
    set_at: Time,
}

impl Control for TimelyControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "timely",
        doc: "TIMELY: senders measure round-trip times and set their rates by the gradient. Its packets carry a time stamp of 8 B.",
        source: "TIMELY (SIGCOMM 2015) §4",
        params: &[
            &core(Defaults {
                header: ("56B", "HPCC's simulator: 48 B and a time stamp of 8 B"),
                presets: presets::WORDS_OF_RUN_PY,
                ..default_of()
            }),
            PARAMS,
        ],
        check: check_timely,
    };
    const SHORTENS: bool = true;
    /// When the packet started.
    type Fields = Time;
    type Agent = ();
    type Settings = Settings;

    fn settings(values: &Values) -> Settings {
        let per_ack = values.meaning("variant", &[("per-ack", true), ("hpcc-ns3", false)]);
        let or = |once, each| if per_ack { each } else { once };
        let rate = |key, once, each| values.optional_rate(key).unwrap_or(Rate(or(once, each)));
        let additive = rate("additive_increase", 100_000_000, 40_000_000);
        Settings {
            per_ack,
            ewma: values.optional_number("ewma").unwrap_or(if per_ack { 0.02 } else { 0.875 }),
            beta: values.number("beta"),
            t_low: values.time("t_low"),
            t_high: values.optional_time("t_high").unwrap_or(Time::from_us(or(500, 1_000))),
            min_rtt: values.optional_time("min_rtt").or((!per_ack).then_some(Time::from_us(20))),
            additive,
            hyper: rate("hyper_increase", 500_000_000, additive.as_bps().saturating_mul(5)),
            min_rate: rate("min_rate", 1_000_000_000, 40_000_000),
        }
    }

    fn new(settings: &Settings, path: &FlowPath) -> TimelyControl {
        TimelyControl {
            line_rate: path.rate,
            min_rtt: settings.min_rtt.unwrap_or(path.base_rtt),
            rate: path.initial_rate,
            last_rtt: Time::ZERO,
            difference: 0.0,
            in_a_row: 0,
            round_ends: 0,
            set_at: Time::ZERO,
        }
    }

    fn fields(&self, now: Time) -> Time {
        now
    }

    fn acknowledged(&mut self, settings: &Settings, ack: &AckInfo, sent_at: &Time) {
        let rtt = ack.now.since(*sent_at);
        if settings.per_ack {
            self.every_ack(settings, rtt, ack.now);
        } else if ack.acked_bytes > self.round_ends {
            self.every_round(settings, rtt, ack.sent_bytes);
        }
    }

    fn rate(&self) -> Rate {
        self.rate
    }

    /// The hpcc-ns3 rules keep one of each round.
    fn rtt(&self) -> Option<Time> {
        (self.last_rtt != Time::ZERO).then_some(self.last_rtt)
    }
}

impl TimelyControl {
    /// HPCC's simulator: UpdateRateTimely.
    fn every_round(&mut self, s: &Settings, rtt: Time, sent_bytes: u64) {
        if self.round_ends != 0 {
            let gradient = self.gradient(s, rtt);
            let factor = if rtt < s.t_low {
                None
            } else if rtt > s.t_high {
                Some(1.0 - s.beta * (1.0 - s.t_high.as_ps() as f64 / rtt.as_ps() as f64))
            } else if gradient <= 0.0 {
                None
            } else {
                Some((1.0 - s.beta * gradient).max(0.0))
            };
            match factor {
                None => {
                    let step = if self.in_a_row < HYPER_AFTER { s.additive } else { s.hyper };
                    self.set(s, self.rate.as_bps() as f64 + step.as_bps() as f64);
                    self.in_a_row += 1;
                }
                Some(factor) => {
                    self.set(s, self.rate.as_bps() as f64 * factor);
                    self.in_a_row = 0;
                }
            }
        }
        if sent_bytes > self.round_ends {
            self.round_ends = sent_bytes;
            self.last_rtt = rtt;
        }
    }

    /// eRPC: update_rate. Changes are in proportion to the time since the last, and no cut takes more than half.
    fn every_ack(&mut self, s: &Settings, rtt: Time, now: Time) {
        if self.last_rtt == Time::ZERO {
            self.last_rtt = rtt;
        }
        self.in_a_row = if rtt < self.last_rtt { self.in_a_row.saturating_add(1) } else { 0 };
        let gradient = self.gradient(s, rtt);
        let passed = now.since(self.set_at).as_ps() as f64 / self.min_rtt.as_ps() as f64;
        let part = passed.min(1.0);
        let (rate, beta) = (self.rate.as_bps() as f64, s.beta * part);
        let additive = s.additive.as_bps() as f64;
        let new = if rtt < s.t_low {
            rate + additive * part
        } else if rtt > s.t_high {
            rate * (1.0 - beta * (1.0 - s.t_high.as_ps() as f64 / rtt.as_ps() as f64))
        } else if gradient <= 0.0 {
            let step = if self.in_a_row >= HYPER_AFTER { s.hyper.as_bps() as f64 } else { additive };
            rate + step * part
        } else {
            rate * (1.0 - beta * gradient)
        };
        (self.last_rtt, self.set_at) = (rtt, now);
        self.set(s, new.max(rate * 0.5));
    }

    /// How fast round-trip times rise, over the least one.
    fn gradient(&mut self, s: &Settings, rtt: Time) -> f64 {
        let difference = rtt.as_ps() as f64 - self.last_rtt.as_ps() as f64;
        self.difference = (1.0 - s.ewma) * self.difference + s.ewma * difference;
        self.difference / self.min_rtt.as_ps() as f64
    }

    fn set(&mut self, s: &Settings, bps: f64) {
        self.rate = Rate(saturated::<u64>(bps)).max(s.min_rate).min(self.line_rate);
    }
}

const _: () =
    assert!(size_of::<crate::packet::Packet<Header<Time>>>() <= 64, "a packet must fit a cache line");

fn check_timely(values: &Values) -> Result<(), Complaint> {
    check(values)?;
    if values.optional_time("min_rtt") == Some(Time::ZERO) {
        return Err(Complaint::new("min_rtt", "write a time above zero, such as \"20us\""));
    }
    if values.optional_time("t_high").is_some_and(|high| high < values.time("t_low")) {
        return Err(Complaint::new("t_high", "must not be below t_low"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: FlowPath = FlowPath {
        rate: Rate::from_gbps(100),
        initial_rate: Rate::from_gbps(50),
        base_rtt: Time::from_us(10),
        window_bytes: 125_000,
        mss_bytes: 1_000,
        hops: 2,
    };
    const ONCE: Settings = Settings {
        per_ack: false,
        ewma: 0.875,
        beta: 0.8,
        t_low: Time::from_us(50),
        t_high: Time::from_us(500),
        min_rtt: Some(Time::from_us(20)),
        additive: Rate(100_000_000),
        hyper: Rate(500_000_000),
        min_rate: Rate::from_gbps(1),
    };
    const EACH: Settings = Settings {
        per_ack: true,
        ewma: 0.02,
        t_high: Time::from_us(1_000),
        min_rtt: None,
        additive: Rate(40_000_000),
        hyper: Rate(200_000_000),
        min_rate: Rate(40_000_000),
        ..ONCE
    };

    fn rtts_to_rates(settings: &Settings, rtts_us: &[u64]) -> Vec<f64> {
        let mut control = TimelyControl::new(settings, &PATH);
        let mut now = Time::ZERO;
        let of_rtt = |(nth, &rtt): (u64, &u64)| {
            // Each answer comes a round trip after the one before, and ends one.
            now += Time::from_us(rtt);
            let sent_at = Time(now.as_ps() - Time::from_us(rtt).as_ps());
            let (acked_bytes, sent_bytes) = (nth * 10_000 + 1, (nth + 1) * 10_000);
            let ack = AckInfo { now, acked_bytes, sent_bytes, arrived: 1, marked: false };
            control.acknowledged(settings, &ack, &sent_at);
            control.rate().as_bps() as f64 / 1e9
        };
        (0..).zip(rtts_us).map(of_rtt).collect()
    }

    fn assert_close(found: &[f64], expected: &[f64]) {
        let is_close = found.len() == expected.len()
            && found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6);
        assert!(is_close, "{found:?} instead of {expected:?}");
    }

    #[test]
    fn once_a_round_trip_it_goes_by_thresholds_then_by_the_gradient() {
        // The first only measures. Below 50 us: up, by 0.1 five times, then by 0.5.
        assert_close(
            &rtts_to_rates(&ONCE, &[20, 20, 20, 20, 20, 20, 20]),
            &[50.0, 50.1, 50.2, 50.3, 50.4, 50.5, 51.0],
        );
        // Above 500 us: x (1 - 0.8 (1 - 500/1000)).
        assert_close(&rtts_to_rates(&ONCE, &[60, 1_000]), &[50.0, 30.0]);
        // Between: differences 10, -20 us; 0.875 x 10 = 8.75 over 20 us: 0.4375; then 0.125 x 8.75 - 17.5 < 0.
        assert_close(&rtts_to_rates(&ONCE, &[60, 70, 50]), &[50.0, 32.5, 32.6]);
        // A steep one takes all, but for the least rate.
        assert_close(&rtts_to_rates(&ONCE, &[60, 120]), &[50.0, 1.0]);
    }

    #[test]
    fn with_each_answer_it_goes_by_the_time_since_the_last() {
        // Answers are more than the 10 us apart that differences are measured by, so each counts in full.
        assert_close(&rtts_to_rates(&EACH, &[20, 20]), &[50.04, 50.08]);
        assert_close(&rtts_to_rates(&EACH, &[60, 2_000]), &[50.04, 50.04 * 0.6]);
        // 0.02 x 10 us over 10 us.
        assert_close(&rtts_to_rates(&EACH, &[60, 70]), &[50.04, 50.04 * (1.0 - 0.8 * 0.02)]);
        // No cut takes more than half.
        assert_close(&rtts_to_rates(&EACH, &[60, 999]), &[50.04, 25.02]);
        // Five falling in a row: five times the step.
        assert_close(
            &rtts_to_rates(&EACH, &[90, 80, 75, 70, 65, 60, 55]),
            &[50.04, 50.08, 50.12, 50.16, 50.2, 50.4, 50.6],
        );
    }

    #[test]
    fn half_of_the_time_counts_half() {
        let mut control = TimelyControl::new(&EACH, &PATH);
        let ack = |now| AckInfo { now, acked_bytes: 1, sent_bytes: 2, arrived: 1, marked: false };
        control.acknowledged(&EACH, &ack(Time::from_us(20)), &Time::ZERO);
        let before = control.rate().as_bps();
        control.acknowledged(&EACH, &ack(Time::from_us(25)), &Time::from_us(5));
        assert_eq!(control.rate().as_bps() - before, 20_000_000);
    }
}

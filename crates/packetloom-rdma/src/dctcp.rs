//! DCTCP by rates, as in HPCC's simulator (rdma-hw.cc, CC_MODE 8). It is not RFC 8257's, which is the transport
//! `dctcp`: flows start at line rate, and each round trip adds to a rate.

use super::config::Notification;
use super::control::{AckInfo, Control, FlowPath};
use super::params::{Defaults, check, core, default_of};
use crate::narrow::saturated;
use crate::spec::{Component, Kind, Param, Values, param};
use crate::units::{Rate, Time};

/// DCTCP by rates.
pub type RateDctcp = super::Rdma<RateDctcpControl>;

const PARAMS: &[Param] = &[
    param! {
        "gain" = "0.0625": Kind::Number(0.0, 1.0),
        "The weight (g) with which each round trip updates alpha.", "HPCC's run.py: EWMA_GAIN 0.0625"
    },
    param! {
        "additive_increase" = "615Mbps": Kind::Rate,
        "What a round trip without marks adds to the rate.",
        "HPCC's run.py: DCTCP_RATE_AI 615, a packet in 13 us"
    },
    param! { "min_rate" = "1Gbps": Kind::Rate, "The least rate.", "HPCC's run.py: MIN_RATE 1000" },
];

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    gain: f64,
    additive: Rate,
    min_rate: Rate,
}

/// A flow's state.
#[derive(Clone, Debug)]
pub struct RateDctcpControl {
    line_rate: Rate,
    mss_bytes: u64,
    rate: Rate,
    /// The share of packets that are marked, smoothed.
    alpha: f64,
    /// Answers with a mark in this round trip, and the packets that it has.
    marked: u64,
    packets: u64,
    /// The round trip ends with the acknowledgement of more than this; 0 before the first.
    round_ends: u64,
    /// Until more than this is acknowledged the rate is not changed again (CWR).
    reduced_until: Option<u64>,
}

impl Control for RateDctcpControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "rdma-dctcp",
        doc: "DCTCP by rates, as in HPCC's simulator: RDMA flows start at line rate, and marks cut it in proportion.",
        source: "HPCC's simulator: CC_MODE 8",
        params: &[
            &core(Defaults {
                window: ("bdp", "HPCC's run.py for dctcp: HAS_WIN 1"),
                variable_window: ("true", "HPCC's run.py for dctcp: VAR_WIN 1"),
                ..default_of()
            }),
            PARAMS,
        ],
        check,
    };
    const SHORTENS: bool = true;
    type Fields = ();
    type Agent = ();
    type Settings = Settings;

    fn settings(values: &Values) -> Settings {
        Settings {
            gain: values.number("gain"),
            additive: values.rate("additive_increase"),
            min_rate: values.rate("min_rate"),
        }
    }

    fn notification(_: &Values) -> Notification {
        Notification::InAcks
    }

    fn new(_: &Settings, path: &FlowPath) -> RateDctcpControl {
        RateDctcpControl {
            line_rate: path.rate,
            mss_bytes: path.mss_bytes,
            rate: path.initial_rate,
            alpha: 1.0,
            marked: 0,
            packets: 0,
            round_ends: 0,
            reduced_until: None,
        }
    }

    fn acknowledged(&mut self, settings: &Settings, ack: &AckInfo, (): &()) {
        self.marked += u64::from(ack.marked) * u64::from(ack.arrived.max(1));
        let is_round = ack.acked_bytes > self.round_ends;
        if is_round {
            self.end_round(settings, ack);
        }
        if self.reduced_until.is_some_and(|until| ack.acked_bytes > until) {
            self.reduced_until = None;
        }
        if ack.marked && self.reduced_until.is_none() {
            let cut = saturated::<u64>(self.rate.as_bps() as f64 * (1.0 - self.alpha / 2.0));
            self.rate = Rate(cut).max(settings.min_rate).min(self.line_rate);
            self.reduced_until = Some(ack.sent_bytes);
        }
        if is_round && self.reduced_until.is_none() {
            self.rate =
                Rate(self.rate.as_bps().saturating_add(settings.additive.as_bps())).min(self.line_rate);
        }
    }

    fn congestion_at(&self, _: &Settings, _: Time) -> Option<f64> {
        Some(self.alpha)
    }

    fn rate(&self) -> Rate {
        self.rate
    }
}

impl RateDctcpControl {
    /// The first round trip only sets what the next is measured by, and leaves its marks to it.
    fn end_round(&mut self, settings: &Settings, ack: &AckInfo) {
        if self.round_ends == 0 {
            self.packets = ack.sent_bytes / self.mss_bytes + 1;
        } else {
            let share = (self.marked as f64 / self.packets as f64).min(1.0);
            self.alpha = (1.0 - settings.gain) * self.alpha + settings.gain * share;
            self.marked = 0;
            self.packets = (ack.sent_bytes - ack.acked_bytes) / self.mss_bytes + 1;
        }
        self.round_ends = ack.sent_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Time;

    const PATH: FlowPath = FlowPath {
        rate: Rate::from_gbps(100),
        initial_rate: Rate::from_gbps(100),
        base_rtt: Time::from_us(4),
        window_bytes: 50_000,
        mss_bytes: 1_000,
        hops: 2,
    };
    const SETTINGS: Settings =
        Settings { gain: 1.0 / 16.0, additive: Rate(615_000_000), min_rate: Rate::from_gbps(1) };

    /// Acknowledges packet by packet, 50 in flight; returns rates in Gb/s.
    fn rates(marked: impl Fn(u64) -> bool, packets: u64) -> Vec<f64> {
        let mut control = RateDctcpControl::new(&SETTINGS, &PATH);
        let of_packet = |nth: u64| {
            let (acked_bytes, sent_bytes) = (nth * 1_000, (nth + 50) * 1_000);
            let ack = AckInfo { now: Time::ZERO, acked_bytes, sent_bytes, arrived: 1, marked: marked(nth) };
            control.acknowledged(&SETTINGS, &ack, &());
            control.rate().as_bps() as f64 / 1e9
        };
        (1..=packets).map(of_packet).collect()
    }

    #[test]
    fn a_mark_halves_a_new_flow_and_then_a_window_goes_by() {
        let rates = rates(|nth| nth == 10, 130);
        assert_eq!((rates[8], rates[9]), (100.0, 50.0));
        // Until more than packet 60 is acknowledged; the round trips end at 52, 103, ...
        assert_eq!(rates[101], 50.0);
        assert!((rates[102] - 50.615).abs() < 1e-9, "{}", rates[102]);
    }

    #[test]
    fn alpha_follows_the_share_of_marked_packets() {
        // The first round trip that counts has no marks and ends at packet 52; of each 51 after it a third is
        // marked.
        let mut control = RateDctcpControl::new(&SETTINGS, &PATH);
        let mut alpha = 15.0 / 16.0;
        for nth in 1..=51 * 8 {
            let ack = AckInfo {
                now: Time::ZERO,
                acked_bytes: nth * 1_000,
                sent_bytes: (nth + 50) * 1_000,
                arrived: 1,
                marked: nth > 51 && nth % 3 == 0,
            };
            control.acknowledged(&SETTINGS, &ack, &());
            if nth > 52 && (nth - 1) % 51 == 0 {
                alpha = alpha * 15.0 / 16.0 + 17.0 / 51.0 / 16.0;
                assert!((control.alpha - alpha).abs() < 1e-12, "{nth}: {} {alpha}", control.alpha);
            }
        }
    }
}

//! Swift at a sender (NUMFabric, SIGCOMM 2016 §4.1): the rate at which a flow's packets come through, and a window
//! that keeps that rate up with a short queue at the bottleneck.

use crate::narrow::saturated;
use crate::units::{Rate, Time};

/// What sets windows.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The time constant of the average.
    pub average: Time,
    /// dt: how long a flow's own packets are to wait at its bottleneck.
    pub slack: Time,
    /// Packets before any rate is known.
    pub initial_window: u32,
    pub full_packet_bytes: f64,
}

/// A flow's rate and window.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// In bytes per picosecond; 0 while there are no two packets to know it from.
    rate: f64,
    /// The most that can come through.
    line_rate: f64,
    /// d0: the round trip without queues; the shortest so far, if that is shorter.
    base_rtt: Time,
    window: u32,
}

impl Pace {
    /// At a flow's start.
    pub fn new(rules: &Rules, base_rtt: Time, nic_rate: Rate) -> Pace {
        let line_rate = nic_rate.as_bps() as f64 / 8e12;
        Pace { rate: 0.0, line_rate, base_rtt, window: rules.initial_window }
    }

    /// Packets that may be in flight.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// The estimated rate in Gb/s, once there is one.
    pub fn gbps(&self) -> Option<f64> {
        (self.rate > 0.0).then_some(self.rate * 8e3)
    }

    /// A packet's round trip was over.
    pub fn measured(&mut self, rtt: Time) {
        self.base_rtt = self.base_rtt.min(rtt);
    }

    /// A packet of so many bytes came so long after the one before it.
    pub fn arrived(&mut self, bytes: u16, gap_ps: f64, rules: &Rules) {
        // What was held up together after the last link says nothing beyond that link's rate.
        let sample = (f64::from(bytes) / gap_ps).min(self.line_rate);
        let weight = if self.rate > 0.0 { libm::exp(-gap_ps / rules.average.as_ps() as f64) } else { 0.0 };
        self.rate = weight * self.rate + (1.0 - weight) * sample;
        let window_bytes = self.rate * (self.base_rtt + rules.slack).as_ps() as f64;
        // Rounded up (tcp-newreno.cc): a flow always has a packet on its way.
        self.window = saturated::<u32>(libm::ceil(window_bytes / rules.full_packet_bytes)).max(1);
    }

    /// Nothing came back for too long: one packet finds out (RFC 5681; tcp-newreno.cc), and the next rate counts.
    pub fn timed_out(&mut self) {
        self.window = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules {
        average: Time::from_us(20),
        slack: Time::from_us(6),
        initial_window: 3,
        full_packet_bytes: 1_500.0,
    };

    fn pace() -> Pace {
        Pace::new(&RULES, Time::from_us(16), Rate::from_gbps(10))
    }

    #[test]
    fn the_first_pair_of_packets_sets_the_window() {
        let mut pace = pace();
        assert_eq!((pace.window(), pace.gbps()), (3, None));
        // 1500 B in 1.2 us: 10 Gb/s, of which 22 us are 27500 B.
        pace.arrived(1_500, 1_200_000.0, &RULES);
        assert_eq!(pace.window(), 19);
        // A round trip of 12 us: 18 us are 22500 B, 15 packets; what is rounding takes another.
        pace.measured(Time::from_us(12));
        pace.measured(Time::from_us(30));
        pace.arrived(1_500, 1_200_000.0, &RULES);
        assert!((15..=16).contains(&pace.window()), "{}", pace.window());
    }

    #[test]
    fn a_gap_counts_for_as_long_as_it_took() {
        let mut pace = pace();
        pace.arrived(1_500, 1_200_000.0, &RULES);
        // 20 us without one: 0.6 Gb/s, by 1 - 1/e of the average.
        pace.arrived(1_500, 20_000_000.0, &RULES);
        let expected = 10.0 / 1_f64.exp() + 0.6 * (1.0 - 1.0 / 1_f64.exp());
        assert!((pace.gbps().unwrap() - expected).abs() < 1e-9, "{:?}", pace.gbps());
    }

    #[test]
    fn it_is_never_above_the_line_nor_below_a_packet() {
        let mut pace = pace();
        pace.arrived(1_500, 1.0, &RULES);
        assert!((pace.gbps().unwrap() - 10.0).abs() < 1e-9);
        pace.timed_out();
        assert_eq!(pace.window(), 1);
        pace.arrived(1_500, 1e12, &RULES);
        assert_eq!(pace.window(), 1);
    }
}

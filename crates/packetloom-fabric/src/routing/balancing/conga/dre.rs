//! The discounting rate estimator: how much a link carried lately (CONGA §3.2).

use crate::narrow::{narrow, saturated};
use crate::units::{Rate, Time};

/// Beyond so many intervals nothing is left of what was counted.
const MOST_DECAYS: u64 = 400;

/// How all links estimate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    /// T_dre.
    pub(super) interval: Time,
    /// 1 - alpha: what is left after each interval.
    pub(super) keeps: f64,
    /// 2^Q.
    pub(super) levels: u32,
    pub(super) is_capped: bool,
}

/// A link's estimate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dre {
    rate: Rate,
    /// X, as of the last packet.
    bytes: f64,
    /// How many intervals had passed then.
    intervals: u64,
}

impl Dre {
    pub(super) fn new(rate: Rate) -> Dre {
        Dre { rate, bytes: 0.0, intervals: 0 }
    }

    /// Its link has another rate.
    pub(super) fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// X by now.
    fn decayed(&self, intervals: u64, estimate: &Estimate) -> f64 {
        let passed = intervals - self.intervals;
        if passed > MOST_DECAYS {
            return 0.0;
        }
        (0..passed).fold(self.bytes, |bytes, _| bytes * estimate.keeps)
    }

    /// A packet leaves.
    pub(super) fn add(&mut self, now: Time, size_bytes: u16, estimate: &Estimate) {
        let intervals = now.as_ps() / estimate.interval.as_ps();
        self.bytes = self.decayed(intervals, estimate) + f64::from(size_bytes);
        self.intervals = intervals;
    }

    /// The share of the link that is in use, quantised. A link that is full all the time has X = C tau, where tau is
    /// T_dre / alpha.
    pub(super) fn metric(&self, now: Time, estimate: &Estimate) -> u8 {
        let bytes = self.decayed(now.as_ps() / estimate.interval.as_ps(), estimate);
        let tau_s = estimate.interval.as_ps() as f64 * 1e-12 / (1.0 - estimate.keeps);
        let share = bytes * 8.0 / (self.rate.as_bps() as f64 * tau_s);
        let level = saturated::<u32>(share * f64::from(estimate.levels));
        let most = if estimate.is_capped { estimate.levels - 1 } else { u8::MAX.into() };
        narrow::<u8>(level.min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ESTIMATE: Estimate =
        Estimate { interval: Time::from_us(50), keeps: 0.8, levels: 8, is_capped: false };

    /// A link of 100 Gb/s that carries a packet of 1250 B every so many ns for 10 ms.
    fn metric(apart_ns: u64) -> u8 {
        let mut link = Dre::new(Rate::from_gbps(100));
        let packets = 10_000_000 / apart_ns;
        (0..packets).for_each(|nth| link.add(Time::from_ns(nth * apart_ns), 1_250, &ESTIMATE));
        // At the end of an interval, where X is greatest.
        link.metric(Time::from_ns(9_999_999), &ESTIMATE)
    }

    #[test]
    fn the_metric_is_the_share_of_the_link_in_use() {
        // 1250 B take 100 ns. Just before X decays it is as good as C tau times the share, from below.
        assert_eq!([metric(100), metric(200), metric(400)], [7, 3, 1]);
        assert_eq!([metric(99), metric(198), metric(396)], [8, 4, 2]);
    }

    #[test]
    fn what_a_link_carried_is_forgotten() {
        let mut link = Dre::new(Rate::from_gbps(1));
        link.add(Time::ZERO, 40_000, &ESTIMATE);
        let at = |intervals: u64| link.decayed(intervals, &ESTIMATE);
        assert_eq!((at(0), at(1), at(2)), (40_000.0, 40_000.0 * 0.8, 40_000.0 * 0.8 * 0.8));
        assert_eq!(at(1_000), 0.0);
    }
}

//! The retransmission timeout (RFC 6298), in integers.

use crate::spec::Values;
use crate::units::Time;

/// How timeouts are set.
#[derive(Clone, Copy, Debug)]
pub struct RtoRule {
    least: Time,
    /// Whether it is the least that is added to the round-trip time, instead of the least timeout.
    least_is_added: bool,
    greatest: Time,
    estimate: bool,
    backoff: bool,
    initial_rtt: Option<Time>,
}

impl RtoRule {
    /// As a scenario has it.
    pub fn of(values: &Values) -> RtoRule {
        RtoRule {
            least: values.time("min_rto"),
            least_is_added: values.meaning("min_rto_bounds", &[("timeout", false), ("variation", true)]),
            greatest: values.time("max_rto"),
            estimate: values.flag("rto_estimation"),
            backoff: values.flag("backoff"),
            initial_rtt: values.optional_time("initial_rtt"),
        }
    }

    /// Estimated and doubled, between two bounds.
    pub fn between(least: Time, greatest: Time) -> RtoRule {
        RtoRule { least, least_is_added: false, greatest, estimate: true, backoff: true, initial_rtt: None }
    }

    /// The longest a sender waits before it tries again.
    pub fn longest(&self) -> Time {
        if self.estimate || self.backoff { self.greatest } else { self.least }
    }
}

/// After so many doublings ns-2 holds the smoothed round-trip time to be wrong.
const DOUBTS_AFTER: u32 = 4;

/// A flow's estimate of its round-trip time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rto {
    /// SRTT and RTTVAR of RFC 6298; zero before the first measurement.
    smoothed: Time,
    variation: Time,
    doublings: u32,
}

impl Rto {
    /// The estimate at a flow's start.
    pub fn new(rule: &RtoRule) -> Rto {
        let mut rto = Rto::default();
        if let Some(rtt) = rule.initial_rtt {
            rto.measured(rtt, rule);
        }
        rto
    }

    /// The estimate after a handshake that measured this; `None` if its answer may be one to either of two SYNs. Then
    /// the timeout is `unmeasured` until a round trip is known (RFC 6298 §5.7).
    pub fn after_handshake(rtt: Option<Time>, unmeasured: Time, rule: &RtoRule) -> Rto {
        let mut rto = Rto::default();
        match rtt {
            Some(rtt) => rto.measured(rtt, rule),
            None if rule.estimate => rto.variation = Time(unmeasured.as_ps() / 4),
            None => {}
        }
        rto
    }

    /// A round trip took this long, and the doubling is over (RFC 6298 §5.7). Timestamps make every acknowledgement
    /// count (RFC 7323 §4.1).
    pub fn measured(&mut self, rtt: Time, rule: &RtoRule) {
        self.doublings = 0;
        if !rule.estimate {
            return;
        }
        if self.smoothed == Time::ZERO {
            self.smoothed = rtt;
            self.variation = Time(rtt.as_ps() / 2);
        } else {
            let error = self.smoothed.as_ps().abs_diff(rtt.as_ps());
            self.variation = Time((3 * self.variation.as_ps() + error) / 4);
            self.smoothed = Time((7 * self.smoothed.as_ps() + rtt.as_ps()) / 8);
        }
    }

    /// The smoothed round-trip time, if any was measured.
    pub fn smoothed(&self) -> Option<Time> {
        (self.smoothed != Time::ZERO).then_some(self.smoothed)
    }

    /// It expired (RFC 6298 §5.5).
    pub fn expired(&mut self, rule: &RtoRule) {
        if rule.backoff && self.current(rule) < rule.greatest {
            self.doublings += 1;
        }
    }

    /// After the fourth doubling SRTT moves into RTTVAR, and what is measured next sets both anew (RFC 6298 §5.7's
    /// note, as ns-2 and 4.4BSD do it).
    pub fn doubt_smoothed(&mut self) {
        if self.doublings >= DOUBTS_AFTER {
            self.variation += Time(self.smoothed.as_ps() / 4);
            self.smoothed = Time::ZERO;
        }
    }

    /// The timeout without its bounds and doubling; the least before anything is measured.
    pub fn estimate(&self, rule: &RtoRule) -> Time {
        let estimate = self.smoothed + self.variation.times(4);
        if estimate == Time::ZERO { rule.least } else { estimate }
    }

    /// The doubling is over, though nothing was measured.
    pub fn end_doubling(&mut self) {
        self.doublings = 0;
    }

    /// The timeout now.
    pub fn current(&self, rule: &RtoRule) -> Time {
        let variation = self.variation.times(4);
        let estimate = if rule.least_is_added {
            self.smoothed + variation.max(rule.least)
        } else {
            (self.smoothed + variation).max(rule.least)
        };
        let doubled = estimate.times(1 << self.doublings.min(30));
        doubled.min(rule.greatest.max(rule.least))
    }
}

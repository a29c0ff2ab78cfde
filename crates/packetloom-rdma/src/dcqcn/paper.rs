//! The machine of DCQCN's paper (§3.1, its figure 7 and algorithm 1).

use super::super::control::FlowPath;
use super::machine::{Constants, halfway, share, ticks};
use crate::units::{Rate, Time};

/// A flow's state: a reaction point. Before the first CNP nothing limits it, and nothing runs.
#[derive(Clone, Debug)]
pub struct Paper {
    line_rate: Rate,
    rate: Rate,
    target: Rate,
    alpha: f64,
    /// Steps of increase so far, by time and by bytes.
    by_time: u32,
    by_bytes: u32,
    sent_bytes: u64,
    /// When alpha falls next, and when the next step by time is due: [`Time::NEVER`] before the first CNP.
    alpha_at: Time,
    increase_at: Time,
}

impl Paper {
    /// At a flow's start.
    pub fn new(path: &FlowPath) -> Paper {
        Paper {
            line_rate: path.rate,
            rate: path.initial_rate,
            target: path.initial_rate,
            alpha: 1.0,
            by_time: 0,
            by_bytes: 0,
            sent_bytes: 0,
            alpha_at: Time::NEVER,
            increase_at: Time::NEVER,
        }
    }

    /// The estimate of congestion.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// A CNP came; time was let pass up to now.
    pub fn notified(&mut self, c: &Constants, now: Time) {
        self.target = self.rate;
        self.rate = share(self.rate, 1.0 - self.alpha / 2.0).max(c.min_rate).min(self.line_rate);
        self.alpha = (1.0 - c.gain) * self.alpha + c.gain;
        (self.by_time, self.by_bytes, self.sent_bytes) = (0, 0, 0);
        self.alpha_at = now.saturating_add(c.alpha_interval);
        self.increase_at = now.saturating_add(c.increase_interval);
    }

    /// Lets time pass. Alpha counts at the next CNP only, so it does not matter which timer goes first.
    pub fn advance(&mut self, c: &Constants, now: Time) {
        if self.alpha_at <= now {
            let passed = ticks(self.alpha_at, c.alpha_interval, now);
            self.alpha_at += c.alpha_interval.times(passed);
            for _ in 0..passed {
                self.alpha *= 1.0 - c.gain;
                if self.alpha == 0.0 {
                    break;
                }
            }
        }
        while self.increase_at <= now {
            self.increase(c);
            self.by_time = self.by_time.saturating_add(1);
            self.increase_at = self.increase_at.saturating_add(c.increase_interval);
        }
    }

    /// So many bytes were sent.
    pub fn sent(&mut self, c: &Constants, wire_bytes: u16) {
        if self.increase_at == Time::NEVER {
            return;
        }
        self.sent_bytes += u64::from(wire_bytes);
        while self.sent_bytes >= c.byte_counter {
            self.sent_bytes -= c.byte_counter;
            self.increase(c);
            self.by_bytes = self.by_bytes.saturating_add(1);
        }
    }

    /// The paper counts steps before this one: there are F of fast recovery, "five successive iterations".
    fn increase(&mut self, c: &Constants) {
        let (most, least) = (self.by_time.max(self.by_bytes), self.by_time.min(self.by_bytes));
        let step = if most < c.fast_recovery {
            0
        } else if least > c.fast_recovery {
            let nth = u64::from(least - c.fast_recovery) + 1;
            c.hyper_increase.as_bps().saturating_mul(nth)
        } else {
            c.additive_increase.as_bps()
        };
        self.target = Rate(self.target.as_bps().saturating_add(step)).min(self.line_rate);
        self.rate = halfway(self.rate, self.target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: FlowPath = FlowPath {
        rate: Rate::from_gbps(40),
        initial_rate: Rate::from_gbps(40),
        base_rtt: Time::from_us(4),
        window_bytes: 20_000,
        mss_bytes: 1_000,
        hops: 2,
    };

    #[test]
    fn one_cnp_halves_the_rate_and_each_step_takes_half_of_what_is_missing() {
        let c = Constants::PAPER;
        let mut machine = Paper::new(&PATH);
        machine.advance(&c, Time::from_us(1_000));
        let start = Time::from_us(1_000);
        machine.notified(&c, start);
        for k in 0..=5_u32 {
            machine.advance(&c, start + Time::from_us(55).times(k.into()));
            let missing = PATH.rate.as_bps() >> (k + 1);
            assert_eq!(machine.rate().as_bps(), PATH.rate.as_bps() - missing, "after {k} steps");
        }
    }

    #[test]
    fn alpha_falls_to_the_last_bit_as_repeated_multiplication_has_it() {
        let c = Constants::PAPER;
        let mut machine = Paper::new(&PATH);
        machine.notified(&c, Time::ZERO);
        for periods in [1_u32, 2, 500] {
            machine.advance(&c, Time::from_us(55 * u64::from(periods)));
            let expected = (0..periods).fold(1.0, |alpha, _| (1.0 - c.gain) * alpha);
            assert_eq!(machine.alpha.to_bits(), f64::to_bits(expected), "{periods} periods");
        }
    }

    #[test]
    fn time_and_bytes_together_lead_to_larger_and_larger_steps() {
        let c = Constants { byte_counter: 1_000, ..Constants::PAPER };
        let mut machine = Paper::new(&PATH);
        // Twice down, so that the rate is below the target.
        for _ in 0..8 {
            machine.notified(&c, Time::ZERO);
        }
        let target = machine.target.as_bps();
        let added = |machine: &Paper| machine.target.as_bps() - target;
        for _ in 0..6 {
            machine.sent(&c, 1_000);
        }
        // Five of fast recovery, one additive.
        assert_eq!(added(&machine), 40_000_000);
        machine.advance(&c, Time::from_us(55 * 6));
        // Six by time: all additive, since the bytes have gone beyond fast recovery.
        assert_eq!((machine.by_time, machine.by_bytes, added(&machine)), (6, 6, 7 * 40_000_000));
        machine.sent(&c, 1_000);
        // min = 6 = F + 1: i = 2.
        assert_eq!(added(&machine), 7 * 40_000_000 + 2 * 400_000_000);
        machine.sent(&c, 1_000);
        assert_eq!(added(&machine), 7 * 40_000_000 + 4 * 400_000_000, "time still stands at 6");
    }
}

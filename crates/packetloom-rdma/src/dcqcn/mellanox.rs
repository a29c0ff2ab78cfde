//! The machine of HPCC's simulator (rdma-hw.cc): timers for alpha, for cuts and for increase run from the first CNP
//! on.

use super::super::control::FlowPath;
use super::machine::{Constants, halfway, share, ticks};
use crate::units::{Rate, Time};

/// Cuts come so much after the updates of alpha of the same instant.
const AFTER_ALPHA: Time = Time::from_ns(1);

/// A flow's state.
#[derive(Clone, Debug)]
pub struct Mellanox {
    line_rate: Rate,
    rate: Rate,
    target: Rate,
    alpha: f64,
    /// Steps of increase since the last cut.
    stage: u32,
    /// Whether a CNP came since alpha was updated, and since the last check for a cut.
    alpha_cnp: bool,
    cut_cnp: bool,
    /// When the timers go off next: [`Time::NEVER`] where they do not run.
    alpha_at: Time,
    cut_at: Time,
    increase_at: Time,
}

impl Mellanox {
    /// At a flow's start.
    pub fn new(path: &FlowPath) -> Mellanox {
        Mellanox {
            line_rate: path.rate,
            rate: path.initial_rate,
            target: path.initial_rate,
            alpha: 1.0,
            stage: 0,
            alpha_cnp: false,
            cut_cnp: false,
            alpha_at: Time::NEVER,
            cut_at: Time::NEVER,
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
        self.update_alpha(c, now);
        self.alpha_cnp = true;
        self.cut_cnp = true;
        if self.cut_at == Time::NEVER {
            self.alpha = 1.0;
            self.alpha_cnp = false;
            self.alpha_at = now.saturating_add(c.alpha_interval);
            self.cut_at = now.saturating_add(c.decrease_interval).saturating_add(AFTER_ALPHA);
            self.rate = share(self.rate, c.rate_on_first_cnp);
            self.target = self.rate;
        }
    }

    /// Lets time pass. Of the timers that go off at once the one that was set first does: the longer one's.
    pub fn advance(&mut self, c: &Constants, now: Time) {
        if self.cut_at == Time::NEVER {
            return;
        }
        loop {
            let cut_at = if self.cut_cnp { self.cut_at } else { Time::NEVER };
            let increase_is_older = c.increase_interval > c.decrease_interval;
            let increases = self.increase_at < cut_at || self.increase_at == cut_at && increase_is_older;
            if self.increase_at.min(cut_at) > now {
                break;
            }
            if increases {
                self.increase(c);
                self.increase_at = self.increase_at.saturating_add(c.increase_interval);
            } else {
                self.cut(c);
            }
        }
        // Where no CNP came nothing is cut.
        if self.cut_at <= now {
            let passed = ticks(self.cut_at, c.decrease_interval, now);
            self.cut_at += c.decrease_interval.times(passed);
        }
    }

    fn cut(&mut self, c: &Constants) {
        let at = self.cut_at;
        self.update_alpha(c, at);
        if c.clamp_target_rate || self.stage > 0 {
            self.target = self.rate;
        }
        self.rate = share(self.rate, 1.0 - self.alpha / 2.0).max(c.min_rate).min(self.line_rate);
        self.stage = 0;
        self.cut_cnp = false;
        self.cut_at = at.saturating_add(c.decrease_interval);
        self.increase_at = at.saturating_add(c.increase_interval);
    }

    fn increase(&mut self, c: &Constants) {
        if self.stage >= c.fast_recovery {
            let step = if self.stage == c.fast_recovery { c.additive_increase } else { c.hyper_increase };
            self.target = Rate(self.target.as_bps().saturating_add(step.as_bps())).min(self.line_rate);
        }
        self.rate = halfway(self.rate, self.target);
        self.stage = self.stage.saturating_add(1);
    }

    /// alpha <- (1 - g) alpha, + g if a CNP came, at each of its moments up to now.
    fn update_alpha(&mut self, c: &Constants, now: Time) {
        if self.alpha_at > now {
            return;
        }
        let passed = ticks(self.alpha_at, c.alpha_interval, now);
        self.alpha_at += c.alpha_interval.times(passed);
        for _ in 0..passed {
            self.alpha *= 1.0 - c.gain;
            if std::mem::take(&mut self.alpha_cnp) {
                self.alpha += c.gain;
            } else if self.alpha == 0.0 {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: FlowPath = FlowPath {
        rate: Rate::from_gbps(100),
        initial_rate: Rate::from_gbps(100),
        base_rtt: Time::from_us(4),
        window_bytes: 52_000,
        mss_bytes: 1_000,
        hops: 2,
    };

    /// The machine with timers that go off one by one, as the simulator has them: a queue of events, of which those
    /// due at once go off in the order in which they were set.
    struct Ticking {
        c: Constants,
        rate: u64,
        target: u64,
        alpha: f64,
        stage: u32,
        flags: [bool; 2],
        events: Vec<(u64, u64, char)>,
        set: u64,
        is_first: bool,
    }

    impl Ticking {
        fn schedule(&mut self, at: u64, what: char) {
            self.set += 1;
            self.events.push((at, self.set, what));
        }

        fn run(&mut self, now: u64) {
            while let Some(&(at, set, what)) = self.events.iter().min().filter(|(at, ..)| *at <= now) {
                self.events.retain(|event| event.1 != set);
                let [k, d, t] = [self.c.alpha_interval, self.c.decrease_interval, self.c.increase_interval]
                    .map(Time::as_ps);
                match what {
                    'a' => {
                        let came = if self.flags[0] { self.c.gain } else { 0.0 };
                        self.alpha = (1.0 - self.c.gain) * self.alpha + came;
                        self.flags[0] = false;
                        self.schedule(at + k, 'a');
                    }
                    'd' => {
                        self.schedule(at + d, 'd');
                        if self.flags[1] {
                            if self.c.clamp_target_rate || self.stage > 0 {
                                self.target = self.rate;
                            }
                            let cut = (self.rate as f64 * (1.0 - self.alpha / 2.0)) as u64;
                            self.rate = cut.max(self.c.min_rate.as_bps());
                            (self.stage, self.flags[1]) = (0, false);
                            self.events.retain(|event| event.2 != 'i');
                            self.schedule(at + t, 'i');
                        }
                    }
                    _ => {
                        self.schedule(at + t, 'i');
                        if self.stage >= self.c.fast_recovery {
                            let is_first = self.stage == self.c.fast_recovery;
                            let add = if is_first { self.c.additive_increase } else { self.c.hyper_increase };
                            self.target = (self.target + add.as_bps()).min(PATH.rate.as_bps());
                        }
                        self.rate = self.rate / 2 + self.target / 2;
                        self.stage += 1;
                    }
                }
            }
        }

        fn cnp(&mut self, now: u64) {
            self.flags = [true, true];
            if self.is_first {
                self.is_first = false;
                (self.alpha, self.flags[0]) = (1.0, false);
                self.schedule(now + self.c.alpha_interval.as_ps(), 'a');
                self.schedule(now + self.c.decrease_interval.as_ps() + 1_000, 'd');
                self.target = self.rate;
            }
        }
    }

    #[test]
    fn whoever_looks_now_and_then_sees_what_ticking_timers_would_have_done() {
        use packetloom_base::random::{Purpose, Stream};
        let mut random = Stream::new(3, Purpose::Transport, 0);
        let variants = [
            Constants::MELLANOX,
            Constants { clamp_target_rate: true, fast_recovery: 5, ..Constants::MELLANOX },
            // dcqcn_paper of HPCC's run.py.
            Constants {
                alpha_interval: Time::from_us(50),
                decrease_interval: Time::from_us(50),
                increase_interval: Time::from_us(55),
                ..Constants::MELLANOX
            },
            Constants { increase_interval: Time::from_us(3), ..Constants::MELLANOX },
            Constants { increase_interval: Time::from_us(4), ..Constants::MELLANOX },
        ];
        for c in variants {
            let mut machine = Mellanox::new(&PATH);
            let line = PATH.rate.as_bps();
            let mut ticking = Ticking {
                c,
                rate: line,
                target: line,
                alpha: 1.0,
                stage: 0,
                flags: [false; 2],
                events: Vec::new(),
                set: 0,
                is_first: true,
            };
            let mut now = 0;
            for step in 0..4_000 {
                let gap_us = if random.below(40) == 0 { 2_000 } else { 20 };
                now += u64::from(random.below(gap_us * 1_000)) * 1_000;
                machine.advance(&c, Time(now));
                ticking.run(now);
                if random.below(3) == 0 {
                    machine.notified(&c, Time(now));
                    ticking.cnp(now);
                }
                assert_eq!(machine.rate().as_bps(), ticking.rate, "step {step}");
                assert_eq!(machine.target.as_bps(), ticking.target, "step {step}");
            }
            assert!(ticking.rate < line);
        }
    }

    #[test]
    fn one_cnp_halves_the_rate_once_and_each_step_takes_half_of_what_is_missing() {
        let c = Constants { fast_recovery: 5, gain: 0.0, ..Constants::MELLANOX };
        let mut machine = Mellanox::new(&PATH);
        let sent = Time::from_us(100);
        machine.notified(&c, sent);
        assert_eq!(machine.rate(), PATH.rate);
        let cut = sent + Time::from_us(4) + AFTER_ALPHA;
        machine.advance(&c, Time(cut.as_ps() - 1));
        assert_eq!(machine.rate(), PATH.rate);
        for k in 0..=5_u32 {
            machine.advance(&c, cut + Time::from_us(300).times(k.into()));
            let missing = PATH.rate.as_bps() >> (k + 1);
            assert_eq!(machine.rate().as_bps(), PATH.rate.as_bps() - missing, "after {k} steps");
        }
        // Then the target rises, but not beyond the line.
        machine.advance(&c, Time::from_us(1_000_000));
        assert!(PATH.rate.as_bps() - machine.rate().as_bps() < 4);
    }

    #[test]
    fn alpha_falls_to_the_last_bit_as_repeated_multiplication_has_it() {
        let c = Constants::MELLANOX;
        let mut machine = Mellanox::new(&PATH);
        machine.notified(&c, Time::ZERO);
        for periods in [1_u32, 7, 300, 2_000] {
            machine.update_alpha(&c, Time::from_us(periods.into()));
            let expected = (0..periods).fold(1.0, |alpha, _| (1.0 - c.gain) * alpha);
            assert_eq!(machine.alpha.to_bits(), f64::to_bits(expected), "{periods} periods");
        }
    }
}

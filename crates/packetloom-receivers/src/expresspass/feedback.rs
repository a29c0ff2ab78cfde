//! Credit feedback control: how fast a receiver sends a flow credits, by the share of them that is lost on the way (XPassAgent::
//! send_credit, credit_feedback_control). As in the authors' ns-2, rates are whole bytes a second, and all else is a double.

use super::config::Config;
use super::libc_rand::Drawn;
use crate::narrow::saturated;
use crate::random::Stream;
use crate::units::Time;

/// The most weight that the greatest rate gets, and what each round without congestion adds (XPassAgent).
const MOST_WEIGHT: f64 = 0.5;
const WEIGHT_STEP: f64 = 0.05;

/// Of a round-trip time, the share of the last one (XPassAgent::update_rtt).
const LAST_RTT: f64 = 0.2;

const PS_IN_SECOND: f64 = 1e12;

/// The credits of a flow.
#[derive(Clone, Debug)]
pub struct Feedback {
    /// In bytes a second, and the greatest.
    rate: u64,
    most: u64,
    /// How fast it goes to the greatest.
    weight: f64,
    /// Whether that may grow: not just after a loss.
    may_grow: bool,
    /// In picoseconds, once there was one.
    rtt_ps: Option<f64>,
    /// When it was last looked how many are lost.
    looked_at: Time,
    /// Since then: credits that brought data, and those that were missing before them.
    arrived: u32,
    missing: u32,
    /// The number of the next credit, and of the next one of which data should come.
    next: u32,
    expected: u32,
}

impl Feedback {
    /// Of a flow of which so many packets are to come, over a link that carries so many bytes of credits a second.
    pub fn new(most: u64, packets_left: u32, config: &Config, now: Time) -> Feedback {
        let mut feedback = Feedback {
            rate: 0,
            most,
            weight: 0.0,
            may_grow: false,
            rtt_ps: None,
            looked_at: now,
            arrived: 0,
            missing: 0,
            next: 1,
            expected: 1,
        };
        feedback.restart(packets_left, config, now);
        feedback
    }

    /// The flow asks again. What is known of the path remains.
    pub fn restart(&mut self, packets_left: u32, config: &Config, now: Time) {
        let share = f64::from(packets_left.min(config.ramp)) / f64::from(config.ramp);
        self.rate = whole_rate(config.first_rate * share * self.most as f64);
        self.weight = config.first_weight;
        self.looked_at = now;
    }

    /// The next credit's number, and how long after it the one after it goes. The rate may change before.
    pub fn next(
        &mut self,
        config: &Config,
        (drawn, random): (Option<Drawn>, &mut Stream),
        now: Time,
    ) -> (u32, Time) {
        self.look(config, now);
        let number = self.next;
        self.next += 1;
        let gap = config.credit_on_wire() / self.rate as f64;
        let mut unit = || drawn.map_or_else(|| random.unit(), |drawn| drawn.gap);
        let jitter = if config.jitter > 0.0 { (2.0 * unit() - 1.0) * config.jitter } else { 0.0 };
        (number, Time(saturated((gap * (1.0 + jitter) * PS_IN_SECOND).round())))
    }

    /// Data came for a credit. Their simulator ends if credits came in another order than they were sent; here those that
    /// do so late are no longer missing, but count as such.
    pub fn arrived(&mut self, number: u32, sent_at: Time, now: Time) {
        if number >= self.expected {
            self.missing += number - self.expected;
            self.arrived += 1;
            self.expected = number + 1;
        }
        let rtt_ps = now.since(sent_at).as_ps() as f64;
        self.rtt_ps = Some(self.rtt_ps.map_or(rtt_ps, |rtt| (1.0 - LAST_RTT) * rtt + LAST_RTT * rtt_ps));
    }

    /// Once a round-trip time, if any data came, the rate follows what was lost.
    fn look(&mut self, config: &Config, now: Time) {
        let Some(rtt_ps) = self.rtt_ps.filter(|&rtt| rtt > 0.0) else { return };
        let since_ps = now.since(self.looked_at).as_ps() as f64;
        if since_ps < rtt_ps || self.arrived == 0 {
            return;
        }
        let (arrived, missing) = (f64::from(self.arrived), f64::from(self.missing));
        let target = (1.0 - self.rate as f64 / self.most as f64) * config.target_loss;
        let one_a_round = whole_rate(config.credit_on_wire() / rtt_ps * PS_IN_SECOND);
        // As data came, less than all is missing: their rule for that case never applies.
        if missing / (arrived + missing) > target {
            let came = config.credit_on_wire() * arrived / since_ps * PS_IN_SECOND;
            self.rate = whole_rate(came * (1.0 + target)).min(self.rate);
            self.weight = (self.weight / 2.0).max(config.least_weight);
            self.may_grow = false;
        } else {
            if self.may_grow {
                self.weight = (self.weight + WEIGHT_STEP).min(MOST_WEIGHT);
            }
            self.may_grow = true;
            let towards = self.weight * self.most as f64 + (1.0 - self.weight) * self.rate as f64;
            self.rate = whole_rate(towards);
        }
        self.rate = self.rate.min(self.most).max(one_a_round);
        (self.arrived, self.missing, self.looked_at) = (0, 0, now);
    }
}

fn whole_rate(bytes_per_second: f64) -> u64 {
    saturated::<u64>(bytes_per_second).max(1)
}

#[cfg(test)]
mod tests {
    use super::super::config::testing::config;
    use super::*;
    use crate::random::Purpose;

    /// Of 10 Gb/s.
    const MOST: u64 = 64_734_895;

    const fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    fn steady() -> Config {
        Config { jitter: 0.0, ..config() }
    }

    #[test]
    fn small_flows_begin_slower() {
        let config = steady();
        let rate = |packets| Feedback::new(MOST, packets, &config, us(0)).rate;
        // A sixteenth, and of that a fortieth for each packet.
        assert_eq!([rate(1_000), rate(40), rate(20), rate(1)], [4_045_930, 4_045_930, 2_022_965, 101_148]);
    }

    #[test]
    fn credits_are_as_far_apart_as_the_rate_and_chance_say() {
        let mut random = Stream::new(1, Purpose::Transport, 0);
        let mut feedback = Feedback::new(MOST, 40, &steady(), us(0));
        // 84 B at 4,045,930 B/s.
        assert_eq!(feedback.next(&steady(), (None, &mut random), us(0)), (1, Time(20_761_605)));
        let config = config();
        let gaps: Vec<f64> = (0..10_000)
            .map(|_| feedback.next(&config, (None, &mut random), us(0)).1.as_ps() as f64 / 20_761_605.0)
            .collect();
        assert!(gaps.iter().all(|gap| (0.9..1.1).contains(gap)));
        let mean = gaps.iter().sum::<f64>() / 10_000.0;
        assert!((mean - 1.0).abs() < 0.003, "{mean}");
    }

    #[test]
    fn without_losses_the_rate_goes_to_the_greatest_faster_each_time_but_the_first() {
        let config = steady();
        let mut feedback = Feedback::new(MOST, 40, &config, us(0));
        feedback.arrived(1, us(0), us(30));
        feedback.look(&config, us(29));
        assert_eq!(feedback.rate, 4_045_930, "not a round trip yet");
        feedback.look(&config, us(30));
        // 1/16 of the greatest and 15/16 of the last; the weight grows from the next time on.
        assert_eq!((feedback.rate, feedback.weight), (7_838_990, 0.0625));
        feedback.look(&config, us(90));
        assert_eq!(feedback.rate, 7_838_990, "no data came");
        feedback.arrived(2, us(30), us(60));
        feedback.look(&config, us(90));
        assert_eq!((feedback.rate, feedback.weight), (14_239_779, 0.1125));
    }

    #[test]
    fn losses_above_the_target_bring_the_rate_down_to_what_came() {
        let config = steady();
        let mut feedback = Feedback::new(MOST, 40, &config, us(0));
        (feedback.rate, feedback.weight) = (MOST / 2, 0.4);
        // Ten of fifteen came: a third is lost, and a sixteenth would be on target.
        (1..=5).chain(11..=15).for_each(|number| feedback.arrived(number, us(0), us(30)));
        feedback.look(&config, us(30));
        // 840 B in 30 us, and a sixteenth more.
        assert_eq!((feedback.rate, feedback.weight, feedback.may_grow), (29_750_000, 0.2, false));
        // A loss below the target is none: 1 of 22, where 6.75 % would be.
        (17..=37).for_each(|number| feedback.arrived(number, us(30), us(60)));
        feedback.look(&config, us(60));
        assert_eq!((feedback.rate, feedback.weight, feedback.may_grow), (36_746_979, 0.2, true));
    }

    #[test]
    fn the_rate_never_falls_below_a_credit_a_round_trip() {
        let config = steady();
        let mut feedback = Feedback::new(MOST, 1, &config, us(0));
        feedback.arrived(50, us(0), us(30));
        feedback.look(&config, us(300));
        assert_eq!(feedback.rate, 2_800_000);
    }
}

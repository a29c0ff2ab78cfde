//! How long ago a host planned what it sends, for replays of simulators that handle what falls on an instant in the
//! order in which it was planned, as ns-3 does: of two packets that reach a switch at the same nanosecond that
//! decides.
//!
//! HPCC's NICs have one alarm. It is set when a packet is out and the next may not go yet; an answer that lets the
//! next one go sooner sets it anew; one that has it wait longer does not, so that it goes off in vain and is set
//! again.

use crate::units::Time;

/// Since when the next packet has been planned.
#[derive(Clone, Debug)]
pub struct Plans {
    /// How long an answer is on the last link to the host; nothing, where no order is repeated.
    answers_take: Option<Time>,
    /// When the last packet was begun, and when it is out.
    last: (Time, Time),
    /// When the next may go.
    pace: Time,
    /// When the alarm goes off, and when it was set.
    alarm: Option<(Time, Time)>,
    /// When what is done now was planned.
    planned: Time,
}

impl Plans {
    pub fn new(answers_take: Option<Time>) -> Plans {
        let last = (Time::ZERO, Time::ZERO);
        Plans { answers_take, last, pace: Time::NEVER, alarm: None, planned: Time::ZERO }
    }

    /// The next packet's time has come: with the end of the last, planned as that began, or by the alarm.
    pub fn time_comes(&mut self, now: Time) {
        let (begun, out) = self.last;
        self.catch_up(now);
        self.planned = if now == out { begun } else { self.alarm.map_or(out, |(_, set_at)| set_at) };
    }

    /// Something came, planned as it was put onto the link, unless a packet is out at this instant.
    pub fn answer_comes(&mut self, now: Time) {
        let (begun, out) = self.last;
        let on_link = self.answers_take.unwrap_or(Time::ZERO);
        self.planned = if now == out { begun } else { Time(now.as_ps().saturating_sub(on_link.as_ps())) };
    }

    /// From now on the next packet may go at `pace`.
    pub fn paced(&mut self, now: Time, pace: Time) {
        if self.answers_take.is_none() {
            return;
        }
        self.catch_up(now);
        if self.alarm.is_some_and(|(at, _)| pace < at) {
            self.alarm = Some((pace.max(now), now));
        }
        self.pace = pace;
    }

    /// What became of the alarm before `now`.
    fn catch_up(&mut self, now: Time) {
        let (_, out) = self.last;
        if now > out && self.alarm.is_none() && self.pace != Time::NEVER {
            self.alarm = Some((self.pace, out));
        }
        while let Some((at, _)) = self.alarm
            && at < now
        {
            self.alarm = (self.pace > at && self.pace != Time::NEVER).then_some((self.pace, at));
        }
    }

    /// A packet is sent that is out at `out`; returns what it carries in the place of a priority.
    pub fn sends(&mut self, now: Time, out: Time) -> u32 {
        self.last = (now, out);
        self.alarm = self.alarm.filter(|&(at, _)| at > now);
        if self.answers_take.is_none() {
            return NO_PLAN;
        }
        let ago_ns = now.since(self.planned).as_ps() / 1_000;
        u32::try_from(ago_ns).unwrap_or(u32::MAX)
    }
}

/// The priority of all packets where plans are not carried.
const NO_PLAN: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    /// A NIC that began a packet at 2000 ns, which is out at 2087, and may send the next at `pace`.
    fn after_a_packet(pace: u64) -> Plans {
        let mut plans = Plans::new(Some(ns(1_000)));
        assert_eq!(plans.sends(ns(2_000), ns(2_087)), 2_000);
        plans.paced(ns(2_000), ns(pace));
        plans
    }

    #[test]
    fn back_to_back_a_packet_is_planned_as_the_last_begins() {
        let mut plans = after_a_packet(2_087);
        plans.time_comes(ns(2_087));
        assert_eq!(plans.sends(ns(2_087), ns(2_174)), 87);
    }

    #[test]
    fn a_pace_is_looked_at_when_the_last_packet_is_out() {
        let mut plans = after_a_packet(2_200);
        // While it was not, an answer changed it.
        plans.paced(ns(2_050), ns(2_300));
        plans.time_comes(ns(2_300));
        assert_eq!(plans.sends(ns(2_300), ns(2_387)), 213);
    }

    #[test]
    fn an_answer_sets_the_alarm_anew_if_it_is_sooner_and_later_it_goes_off_in_vain() {
        let mut plans = after_a_packet(2_200);
        plans.paced(ns(2_100), ns(2_150));
        plans.time_comes(ns(2_150));
        assert_eq!(plans.sends(ns(2_150), ns(2_237)), 50);
        let mut plans = after_a_packet(2_200);
        plans.paced(ns(2_100), ns(2_250));
        plans.time_comes(ns(2_250));
        assert_eq!(plans.sends(ns(2_250), ns(2_337)), 50);
    }

    #[test]
    fn an_answer_that_lets_it_go_at_once_was_planned_as_it_was_sent() {
        let mut plans = after_a_packet(2_200);
        plans.answer_comes(ns(2_100));
        assert_eq!(plans.sends(ns(2_100), ns(2_187)), 1_000);
    }

    #[test]
    fn where_no_order_is_repeated_nothing_is_told() {
        assert_eq!(Plans::new(None).sends(ns(5), ns(6)), NO_PLAN);
    }
}

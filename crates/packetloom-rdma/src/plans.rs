//! How long ago a host planned what it sends, for replays of simulators that handle what falls on an instant in the
//! order in which it was planned, as ns-3 does: of two packets that reach a switch at the same nanosecond that
//! decides.
//!
//! HPCC's NICs have one alarm. It is set when a packet is out and the next may not go yet; an answer that lets the
//! next one go sooner sets it anew; one that has it wait longer does not, so that it goes off in vain and is set
//! again. It goes by the pace alone, so it also goes off where a window keeps the next packet back.

use crate::units::Time;

/// Since when an event has been planned, and since when the one that planned it had been: what was planned at one instant
/// happens in the order of what planned it.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    at: Time,
    by: Time,
}

/// Since when the next packet has been planned.
#[derive(Clone, Debug)]
pub struct Plans {
    /// How long an answer is on the last link to the host.
    answers_take: Time,
    /// When the last packet was begun, and when it is out.
    last: (Time, Time),
    /// The plan of its end, until that is past.
    end: Option<Plan>,
    /// When the next may go, by its pace alone.
    pace: Time,
    /// When the alarm goes off, and since when that was planned.
    alarm: Option<(Time, Plan)>,
    /// Of what is done now.
    plan: Plan,
}

impl Plans {
    pub fn new(answers_take: Time) -> Plans {
        let (last, plan) = ((Time::ZERO, Time::ZERO), Plan::default());
        Plans { answers_take, last, end: None, pace: Time::NEVER, alarm: None, plan }
    }

    /// The next packet's time has come: with the end of the last, planned as that began, or by the alarm.
    pub fn time_comes(&mut self, now: Time) {
        self.catch_up(now);
        self.plan = self
            .end
            .or(self.alarm.map(|(_, plan)| plan))
            .unwrap_or(Plan { at: self.last.1, by: self.last.0 });
    }

    /// Something came, planned as it was put onto the link, unless a packet is out at this instant. It went onto that link
    /// as it came by one that takes as long.
    pub fn answer_comes(&mut self, now: Time) {
        self.catch_up(now);
        let ago = |time: Time| Time(now.as_ps().saturating_sub(time.as_ps()));
        let answers = Plan { at: ago(self.answers_take), by: ago(self.answers_take.times(2)) };
        self.plan = self.end.filter(|_| self.last.1 == now).unwrap_or(answers);
    }

    /// An answer has a queue pair go at `pace`: the alarm goes off no later.
    pub fn moved(&mut self, now: Time, pace: Time) {
        if self.alarm.is_some_and(|(at, _)| pace < at) {
            self.alarm = Some((pace.max(now), Plan { at: now, by: self.plan.at }));
        }
    }

    /// What came or went has been seen to: the next packet may go at `pace`, whether a window lets it or not.
    pub fn paced(&mut self, now: Time, pace: Time) {
        self.pace = pace;
        let (_, out) = self.last;
        if now >= out {
            self.end = None;
            // One that goes off now, and was planned after what is done now, is still to come.
            if self.alarm.is_none_or(|(at, plan)| at <= now && plan.at <= self.plan.at) {
                self.alarm = None;
                self.set_alarm(Plan { at: now, by: self.plan.at });
            }
        }
    }

    /// What became of the alarm, and of the last packet, before `now`.
    fn catch_up(&mut self, now: Time) {
        let (begun, out) = self.last;
        if let Some((at, _)) = self.alarm
            && at < now
            && (begun..out).contains(&at)
        {
            // The NIC was busy.
            self.alarm = None;
        }
        if out < now
            && let Some(plan) = self.end.take()
            && self.alarm.is_none()
        {
            self.set_alarm(Plan { at: out, by: plan.at });
        }
        while let Some((at, plan)) = self.alarm
            && at < now
        {
            self.alarm = None;
            self.set_alarm(Plan { at, by: plan.at });
        }
    }

    /// The alarm is set, unless the next may have gone before.
    fn set_alarm(&mut self, plan: Plan) {
        if self.pace > plan.at && self.pace != Time::NEVER {
            self.alarm = Some((self.pace, plan));
        }
    }

    /// A packet is sent that is out at `out`; returns what it carries in the place of a priority: how long ago in
    /// nanoseconds it was planned, and how long before that what planned it was, in 16 bits each. The larger goes first.
    pub fn sends(&mut self, now: Time, out: Time) -> u32 {
        let Plan { at, by } = self.plan;
        self.last = (now, out);
        self.end = Some(Plan { at: now, by: at });
        self.alarm = self.alarm.filter(|&(at, _)| at > now);
        let ns = |from: Time, to: Time| u16::try_from(to.since(from).as_ps() / 1_000).unwrap_or(u16::MAX);
        u32::from(ns(at, now)) << u16::BITS | u32::from(ns(by, at))
    }
}

/// The priority of all packets where plans are not carried.
pub const NO_PLAN: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    /// What a packet carries that was planned so long ago, by what had been planned so long before.
    fn ago(planned: u32, by: u32) -> u32 {
        planned << 16 | by
    }

    /// A NIC that began a packet at 2000 ns, which is out at 2087, and may send the next at `pace`.
    fn after_a_packet(pace: u64) -> Plans {
        let mut plans = Plans::new(ns(1_000));
        assert_eq!(plans.sends(ns(2_000), ns(2_087)), ago(2_000, 0));
        plans.paced(ns(2_000), ns(pace));
        plans
    }

    #[test]
    fn back_to_back_a_packet_is_planned_as_the_last_begins() {
        let mut plans = after_a_packet(2_087);
        plans.time_comes(ns(2_087));
        assert_eq!(plans.sends(ns(2_087), ns(2_174)), ago(87, 2_000));
        plans.time_comes(ns(2_174));
        assert_eq!(plans.sends(ns(2_174), ns(2_261)), ago(87, 87));
    }

    #[test]
    fn a_pace_is_looked_at_when_the_last_packet_is_out() {
        let mut plans = after_a_packet(2_200);
        // While it was not, an answer changed it.
        plans.paced(ns(2_050), ns(2_300));
        plans.time_comes(ns(2_300));
        assert_eq!(plans.sends(ns(2_300), ns(2_387)), ago(213, 87));
    }

    /// An answer comes that has the next packet go at `pace`.
    fn answered(plans: &mut Plans, now: u64, pace: u64) {
        plans.answer_comes(ns(now));
        plans.moved(ns(now), ns(pace));
        plans.paced(ns(now), ns(pace));
    }

    #[test]
    fn an_answer_sets_the_alarm_anew_if_it_is_sooner_and_later_it_goes_off_in_vain() {
        let mut plans = after_a_packet(2_200);
        answered(&mut plans, 2_100, 2_150);
        plans.time_comes(ns(2_150));
        assert_eq!(plans.sends(ns(2_150), ns(2_237)), ago(50, 1_000));
        let mut plans = after_a_packet(2_200);
        answered(&mut plans, 2_100, 2_250);
        plans.time_comes(ns(2_250));
        assert_eq!(plans.sends(ns(2_250), ns(2_337)), ago(50, 113));
    }

    // HPCC's eight flows at 131.4 us: two windows let packets go that their paces had at 131,400 and 131,405 ns before.
    #[test]
    fn the_alarm_goes_off_in_vain_while_a_window_keeps_the_next_packet_back() {
        let mut plans = after_a_packet(2_200);
        plans.answer_comes(ns(2_210));
        plans.paced(ns(2_210), ns(2_200));
        answered(&mut plans, 2_230, 2_240);
        plans.time_comes(ns(2_240));
        assert_eq!(plans.sends(ns(2_240), ns(2_327)), ago(10, 1_000), "set by the answer");
        let mut plans = after_a_packet(2_200);
        answered(&mut plans, 2_100, 2_204);
        plans.time_comes(ns(2_204));
        assert_eq!(plans.sends(ns(2_204), ns(2_291)), ago(4, 113));
        // An answer at the same instant, which was planned before, leaves the alarm to go off.
        let mut plans = after_a_packet(2_200);
        answered(&mut plans, 2_200, 2_202);
        plans.time_comes(ns(2_202));
        assert_eq!(plans.sends(ns(2_202), ns(2_289)), ago(2, 113));
    }

    // An answer of HPCC's may have the next packet go at once; what the alarm was set for is past.
    #[test]
    fn a_packet_that_an_answer_lets_go_takes_the_alarm_with_it() {
        let mut plans = after_a_packet(2_200);
        plans.answer_comes(ns(2_100));
        plans.moved(ns(2_100), ns(2_050));
        assert_eq!(plans.sends(ns(2_100), ns(2_187)), ago(1_000, 1_000));
        plans.paced(ns(2_100), ns(2_250));
        plans.time_comes(ns(2_250));
        assert_eq!(plans.sends(ns(2_250), ns(2_337)), ago(63, 87));
    }

    #[test]
    fn an_answer_that_lets_it_go_at_once_was_planned_as_it_was_sent() {
        let mut plans = after_a_packet(2_200);
        plans.answer_comes(ns(2_100));
        assert_eq!(plans.sends(ns(2_100), ns(2_187)), ago(1_000, 1_000));
    }

    // DCTCP's two flows at 1.218 ms: both packets were planned at 2302 ns, one as an answer let one before it go, the other
    // by the alarm that was set as one before it was out. In ns-3 the answer's event is the older one.
    #[test]
    fn what_was_planned_at_one_instant_goes_in_the_order_of_what_planned_it() {
        let mut answered = Plans::new(ns(1_004));
        answered.answer_comes(ns(2_302));
        answered.sends(ns(2_302), ns(2_385));
        answered.time_comes(ns(2_385));
        let mut paced = Plans::new(ns(1_004));
        paced.answer_comes(ns(2_219));
        paced.sends(ns(2_219), ns(2_302));
        paced.paced(ns(2_219), ns(2_385));
        paced.time_comes(ns(2_385));
        let ends = (ns(2_385), ns(2_468));
        let (answered, paced) = (answered.sends(ends.0, ends.1), paced.sends(ends.0, ends.1));
        assert_eq!((answered, paced), (ago(83, 1_004), ago(83, 83)));
        assert!(answered > paced, "goes first");
    }

    #[test]
    fn what_was_planned_too_long_ago_to_say_was_planned_as_long_ago_as_can_be_said() {
        let mut plans = Plans::new(ns(1_000));
        assert_eq!(plans.sends(ns(90_000), ns(90_087)), ago(65_535, 0));
    }
}

//! A link that loses packets, or is slow.

use crate::random::{Purpose, Stream};
use crate::topology::shifted_earlier;
use crate::units::{ByteTime, Time};

/// How a packet was lost on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The link was down.
    Down,
    /// It was damaged.
    Corrupted,
}

/// A while for which a link is slow.
#[derive(Clone, Copy, Debug)]
pub struct Slow {
    /// From here on.
    pub from: Time,
    /// Until then.
    pub until: Time,
    /// How long a byte takes.
    pub byte_time: ByteTime,
}

impl Slow {
    /// What has yet to come comes sooner.
    pub fn shift_earlier(&mut self, now: Time, by: Time) {
        (self.from, self.until) = (shifted_earlier(self.from, now, by), shifted_earlier(self.until, now, by));
    }
}

/// How a link sends again what was damaged on it.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// How often at most.
    pub most: u32,
    /// How long after the last bit of the damaged packet was sent.
    pub after: Time,
}

/// What can happen to packets on a link, and what has.
#[derive(Clone, Debug)]
pub struct LinkFault {
    corruption: f64,
    /// From when until when it is down.
    down: Vec<(Time, Time)>,
    slow: Vec<Slow>,
    /// Slow, too, in order and one after the other; those before `paced` are over.
    pace: Vec<Slow>,
    paced: usize,
    retry: Option<Retry>,
    /// When each late packet arrives, and when it started.
    late: Vec<(Time, Time)>,
    /// When packets were sent again.
    replays: Vec<Time>,
    random: Stream,
    /// When each lost packet started on the link, its size, and why it was lost.
    losses: Vec<(Time, u16, Loss)>,
}

impl LinkFault {
    /// Nothing has happened yet on the link of this number.
    pub fn new(
        corruption: f64,
        down: Vec<(Time, Time)>,
        slow: Vec<Slow>,
        seed: u64,
        link: usize,
    ) -> LinkFault {
        let random = Stream::new(seed, Purpose::Faults, link as u64);
        LinkFault {
            corruption,
            down,
            slow,
            pace: Vec::new(),
            paced: 0,
            retry: None,
            late: Vec::new(),
            replays: Vec::new(),
            random,
            losses: Vec::new(),
        }
    }

    /// The same link, but one that sends again what was damaged on it.
    pub fn with_retry(self, retry: Option<Retry>) -> LinkFault {
        LinkFault { retry, ..self }
    }

    /// The same link, but slow at these times too, which are in order and do not overlap.
    pub fn with_pace(self, pace: Vec<Slow>) -> LinkFault {
        LinkFault { pace, ..self }
    }

    /// How much longer a transmission of so many bytes takes that starts at `start`, which is not before the last one
    /// did, and should take `usual`.
    fn delay(&mut self, start: Time, bytes: u64, usual: Time) -> Time {
        // There may be thousands of the latter, so they are gone through once.
        while self.pace.get(self.paced).is_some_and(|slow| slow.until <= start) {
            self.paced += 1;
        }
        let slow = self.slow.iter().chain(self.pace.get(self.paced));
        let slow = slow.filter(|slow| (slow.from..slow.until).contains(&start));
        slow.map(|slow| slow.byte_time.of(bytes).since(usual)).max().unwrap_or(Time::ZERO)
    }

    /// Puts a packet of so many bytes onto the link, which starts at `start` and would arrive at `arrival` if it took
    /// as long as `usual`. Returns how much longer it takes, and whether it gets through.
    pub fn carry(
        &mut self,
        (start, arrival): (Time, Time),
        (bytes, size_bytes): (u64, u16),
        usual: Time,
    ) -> (Time, bool) {
        let slow = self.delay(start, bytes, usual);
        let (delay, is_damaged) = match self.retry {
            Some(retry) if self.corruption > 0.0 => self.send_until_whole(start, usual + slow, retry, slow),
            _ => (slow, None),
        };
        if delay > Time::ZERO {
            self.late.push((arrival + delay, start));
        }
        (delay, self.lets_through(start, arrival + delay, size_bytes, is_damaged))
    }

    /// Sends a packet again until it is not damaged, or has been sent again as often as may be. Returns how much longer
    /// that takes, `slow` included, and whether it is damaged in the end.
    fn send_until_whole(
        &mut self,
        start: Time,
        takes: Time,
        retry: Retry,
        slow: Time,
    ) -> (Time, Option<bool>) {
        let mut delay = slow;
        for _ in 0..retry.most {
            if self.random.unit() >= self.corruption {
                return (delay, Some(false));
            }
            delay += takes + retry.after;
            self.replays.push(start + delay - slow);
        }
        (delay, Some(self.random.unit() < self.corruption))
    }

    /// What has yet to happen to the link comes sooner.
    pub fn shift_earlier(&mut self, now: Time, by: Time) {
        for (from, until) in &mut self.down {
            (*from, *until) = (shifted_earlier(*from, now, by), shifted_earlier(*until, now, by));
        }
        self.slow.iter_mut().chain(&mut self.pace).for_each(|slow| slow.shift_earlier(now, by));
    }

    /// When the late packet started that arrives then, if there is one.
    pub fn late_start(&self, arrival: Time) -> Option<Time> {
        let place = self.late.binary_search_by_key(&arrival, |&(arrival, _)| arrival).ok()?;
        Some(self.late[place].1)
    }

    /// Whether a packet gets through that is on the link from `start` to `arrival`; `is_damaged`, where that is known.
    fn lets_through(
        &mut self,
        start: Time,
        arrival: Time,
        size_bytes: u16,
        is_damaged: Option<bool>,
    ) -> bool {
        let is_down = self.down.iter().any(|&(from, until)| start < until && arrival > from);
        let loss = if is_down {
            Some(Loss::Down)
        } else {
            let mut draw = || self.corruption > 0.0 && self.random.unit() < self.corruption;
            is_damaged.unwrap_or_else(&mut draw).then_some(Loss::Corrupted)
        };
        self.losses.extend(loss.map(|loss| (start, size_bytes, loss)));
        loss.is_none()
    }

    /// When packets were sent again.
    pub fn replays(&self) -> &[Time] {
        &self.replays
    }

    /// When each packet that was lost started on the link, its size, and why it was lost.
    pub fn losses(&self) -> &[(Time, u16, Loss)] {
        &self.losses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    #[test]
    fn what_is_on_a_link_as_it_goes_down_is_lost() {
        let mut link = LinkFault::new(0.0, vec![(Time(100), Time(200))], Vec::new(), 1, 0);
        let spans = [(0, 100), (0, 101), (99, 300), (150, 160), (199, 210), (200, 210)];
        let through = spans.map(|(start, arrival)| link.lets_through(Time(start), Time(arrival), 40, None));
        assert_eq!(through, [true, false, false, false, false, true]);
        assert_eq!(link.losses().len(), 4);
        assert!(link.losses().iter().all(|&(_, size, loss)| (size, loss) == (40, Loss::Down)));
    }

    #[test]
    fn what_starts_while_a_link_is_slow_takes_longer() {
        let slow =
            Slow { from: Time(1_000), until: Time(9_000), byte_time: ByteTime::at(Rate::from_gbps(8)) };
        let mut link = LinkFault::new(0.0, Vec::new(), vec![slow], 1, 0);
        // A byte takes a nanosecond; two should take 500 ps.
        for (start, delay) in [(999, 0), (1_000, 1_500), (8_999, 1_500), (9_000, 0)] {
            assert_eq!(link.delay(Time(start), 2, Time(500)), Time(delay));
        }
    }

    #[test]
    fn paces_follow_each_other() {
        let pace = |from, until, gbps| Slow {
            from: Time(from),
            until: Time(until),
            byte_time: ByteTime::at(Rate::from_gbps(gbps)),
        };
        let paces = vec![pace(1_000, 2_000, 8), pace(2_000, 3_000, 4), pace(5_000, 6_000, 2)];
        let mut link = LinkFault::new(0.0, Vec::new(), Vec::new(), 1, 0).with_pace(paces);
        let delays =
            [(999, 0), (1_999, 500), (2_000, 1_500), (3_000, 0), (5_500, 3_500), (5_500, 3_500), (6_000, 0)];
        for (start, delay) in delays {
            assert_eq!(link.delay(Time(start), 1, Time(500)), Time(delay), "from {start} ps on");
        }
    }

    #[test]
    fn corruption_has_its_probability() {
        let mut link = LinkFault::new(0.01, Vec::new(), Vec::new(), 1, 0);
        let through = (0..100_000).filter(|_| link.lets_through(Time(0), Time(1), 40, None)).count();
        // Five standard deviations are 157.
        assert!((98_843..=99_157).contains(&through), "{through}");
    }
}

//! When a host acts: at once, or at the multiples of a poll since something first happened there.

use crate::units::Time;

/// The polls of a host.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// When something first happened.
    origin: Time,
    poll: Option<Time>,
}

impl Clock {
    pub fn new(poll: Option<Time>) -> Clock {
        Clock { origin: Time::NEVER, poll }
    }

    /// Something happens now: the next poll, or nothing if it is acted upon at once. What comes as a host polls is polled,
    /// but for what has it begin: in ns-2 events of one time happen in the order in which they were scheduled, and a packet
    /// is scheduled as it leaves for the link.
    #[inline]
    pub fn next(&mut self, now: Time) -> Option<Time> {
        let poll = self.poll?;
        if self.origin > now {
            self.origin = now;
            return Some(now + poll);
        }
        Some(self.at(now))
    }

    /// The first time, from this one on, at which the host may act.
    #[inline]
    pub fn at(&self, time: Time) -> Time {
        let Some(poll) = self.poll else { return time };
        let polls = time.since(self.origin).as_ps().div_ceil(poll.as_ps());
        self.origin + poll.times(polls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_count_from_the_first_thing_that_happened() {
        let ns = Time::from_ns;
        let mut clock = Clock::new(Some(ns(30)));
        assert_eq!(clock.next(ns(1_000)), Some(ns(1_030)));
        assert_eq!(
            [1_029, 1_030, 1_031].map(|at| clock.next(ns(at))),
            [1_030, 1_030, 1_060].map(|at| Some(ns(at)))
        );
        assert_eq!([1_030, 1_031].map(|at| clock.at(ns(at))), [1_030, 1_060].map(ns));
        let mut at_once = Clock::new(None);
        assert_eq!((at_once.next(ns(7)), at_once.at(ns(7))), (None, ns(7)));
    }
}

//! Where windows begin and end.

use crate::units::Time;

/// Time, cut into windows of one length.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    window_ps: u64,
    /// 2^64 / window_ps, so that a division is a multiplication and a correction.
    per_window_q64: u64,
}

impl Clock {
    pub(super) fn new(window: Time) -> Clock {
        let window_ps = window.as_ps().max(1);
        Clock { window_ps, per_window_q64: u64::MAX / window_ps }
    }

    /// The window that a time falls into.
    #[inline]
    pub fn window_of(&self, time: Time) -> u64 {
        self.split(time).0
    }

    /// The window that a time falls into, and how long it has then lasted.
    #[inline]
    pub(super) fn split(&self, time: Time) -> (u64, Time) {
        let below = ((u128::from(time.as_ps()) * u128::from(self.per_window_q64)) >> 64) as u64;
        let rest = time.as_ps() - below * self.window_ps;
        if rest < self.window_ps { (below, Time(rest)) } else { (below + 1, Time(rest - self.window_ps)) }
    }

    /// How many bits the length of a window has.
    pub(super) fn bits(&self) -> u32 {
        u64::BITS - (self.window_ps - 1).leading_zeros()
    }

    /// The first moment of a window.
    pub fn start_of(&self, window: u64) -> Time {
        Time(window.saturating_mul(self.window_ps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_lies_in_its_window() {
        for window_ps in [1, 2, 3, 512, 1_000, 1_005_120, 1_005_121, 40_000_001] {
            let clock = Clock::new(Time(window_ps));
            for window in [0, 1, 2, 3, 1_000, 123_456_789, u64::MAX / window_ps / 4] {
                let start = window * window_ps;
                assert_eq!(clock.start_of(window + 1), Time(start + window_ps));
                for time in [start, start + window_ps / 2, start + window_ps - 1] {
                    assert_eq!(clock.window_of(Time(time)), window, "{time} of {window_ps}");
                }
            }
        }
    }
}

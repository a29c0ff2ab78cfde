//! The levels of a flow's links, as far as they decide what it gets.

use super::Crossing;

/// The lowest levels of a flow's links.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lowest {
    pub(super) level: f64,
    /// The first link with that level, and which of the flow's it is.
    link: u32,
    pub(super) nth: u32,
    /// The lowest of the others.
    second: f64,
}

impl Lowest {
    pub(super) fn of(links: &[Crossing], levels: &[f64]) -> Lowest {
        let mut lowest = Lowest { level: f64::INFINITY, link: 0, nth: 0, second: f64::INFINITY };
        for (crossing, nth) in links.iter().zip(0..) {
            let level = levels[crossing.link as usize];
            if nth == 0 || level < lowest.level {
                lowest = Lowest { level, link: crossing.link, nth, second: lowest.level };
            } else {
                lowest.second = lowest.second.min(level);
            }
        }
        lowest
    }

    /// One of the links' level changes from `old`; the levels have the new one.
    #[inline]
    pub(super) fn change(
        &mut self,
        (link, nth): (u32, u32),
        old: f64,
        new: f64,
        (links, levels): (&[Crossing], &[f64]),
    ) {
        if link == self.link {
            if new < self.second {
                self.level = new;
                return;
            }
        } else if new < self.level {
            *self = Lowest { level: new, link, nth, second: self.level };
            return;
        } else if new > self.level && (new <= self.second || old > self.second) {
            self.second = self.second.min(new);
            return;
        }
        *self = Lowest::of(links, levels);
    }

    /// The lowest level of the links but one.
    #[inline]
    pub(super) fn without(&self, link: u32) -> f64 {
        if link == self.link { self.second } else { self.level }
    }
}

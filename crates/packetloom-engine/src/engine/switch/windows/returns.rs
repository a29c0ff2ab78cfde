//! What a switch gives back of the windows of the hop before, and when: of each link by the destination.

use crate::narrow::exact;
use crate::queue::WindowSettings;
use crate::units::Time;
use std::collections::BTreeMap;

/// What goes back to one link of the window for one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) link: u32,
    pub(super) dst: u32,
    pub(super) bytes: u32,
}

/// Of a link.
#[derive(Clone, Debug, Default)]
struct Owed {
    by_dst: BTreeMap<u32, u32>,
    bytes: u64,
    /// When its timer comes round next, once it runs.
    next_at: Option<Time>,
}

/// Of all links.
#[derive(Clone, Debug)]
pub(super) struct Returns {
    links: Vec<Owed>,
    every: Time,
    after_bytes: u64,
    /// Above how much in its VOQ a destination's waits; `u64::MAX`: never.
    delay_above_bytes: u64,
    /// When the first timer comes round of the links that are owed something.
    next_at: Time,
}

impl Returns {
    pub(super) fn new(links: usize, settings: &WindowSettings, delay_above_bytes: u64) -> Returns {
        Returns {
            links: vec![Owed::default(); links],
            every: settings.every,
            after_bytes: settings.after_bytes.unwrap_or(u64::MAX),
            delay_above_bytes,
            next_at: Time::NEVER,
        }
    }

    /// When something is due next.
    #[inline]
    pub(super) fn next_at(&self) -> Time {
        self.next_at
    }

    /// What is owed: link, destination and bytes.
    pub(super) fn owed(&self) -> impl Iterator<Item = Due> {
        (0..)
            .zip(&self.links)
            .flat_map(|(link, owed)| owed.by_dst.iter().map(move |(&dst, &bytes)| Due { link, dst, bytes }))
    }

    /// So much is owed to a link; `aside`: what waits in VOQs for a destination. Returns what is due at once.
    pub(super) fn owe(&mut self, now: Time, due: Due, aside: impl Fn(u32) -> u64) -> Vec<Due> {
        let is_at_once = self.every == Time::ZERO;
        if is_at_once && self.delay_above_bytes == u64::MAX {
            return vec![due];
        }
        let (every, link) = (self.every, &mut self.links[due.link as usize]);
        *link.by_dst.entry(due.dst).or_default() += due.bytes;
        link.bytes += u64::from(due.bytes);
        if is_at_once {
            // What was kept back before goes with it, to other links, too.
            let goes = aside(due.dst) <= self.delay_above_bytes;
            let links = 0..exact::<u32>(if goes { self.links.len() } else { 0 });
            return links.filter_map(|link| self.take(link, due.dst)).collect();
        }
        let next_at = link.next_at.unwrap_or(now + every);
        // One that comes round at this very moment has yet to do so.
        let missed = if next_at >= now { 0 } else { (now - next_at).as_ps() / every.as_ps() + 1 };
        let next_at = next_at + every.times(missed);
        link.next_at = Some(next_at);
        self.next_at = self.next_at.min(next_at);
        if link.bytes >= self.after_bytes {
            let goes = self.ready(due.link, &aside);
            let bytes: u64 =
                goes.iter().map(|dst| u64::from(self.links[due.link as usize].by_dst[dst])).sum();
            if bytes >= self.after_bytes {
                return self.give(now, due.link, goes);
            }
        }
        Vec::new()
    }

    /// The destinations whose windows a link is owed and gets.
    fn ready(&self, link: u32, aside: impl Fn(u32) -> u64) -> Vec<u32> {
        let owed = self.links[link as usize].by_dst.keys().copied();
        owed.filter(|dst| aside(*dst) <= self.delay_above_bytes).collect()
    }

    fn take(&mut self, link: u32, dst: u32) -> Option<Due> {
        let owed = &mut self.links[link as usize];
        let bytes = owed.by_dst.remove(&dst)?;
        owed.bytes -= u64::from(bytes);
        Some(Due { link, dst, bytes })
    }

    /// The timer of a link starts anew.
    fn give(&mut self, now: Time, link: u32, dsts: Vec<u32>) -> Vec<Due> {
        let given = dsts.into_iter().filter_map(|dst| self.take(link, dst)).collect();
        self.links[link as usize].next_at = Some(now + self.every);
        self.find_next();
        given
    }

    /// Finds the first timer that comes round of a link that is owed something.
    fn find_next(&mut self) {
        let waiting = self.links.iter().filter(|link| link.bytes > 0).filter_map(|link| link.next_at);
        self.next_at = waiting.min().unwrap_or(Time::NEVER);
    }

    /// What is due at a time to links whose timers come round.
    pub(super) fn due(&mut self, now: Time, aside: impl Fn(u32) -> u64) -> Vec<Due> {
        let mut due = Vec::new();
        for link in 0..exact::<u32>(self.links.len()) {
            let owed = &self.links[link as usize];
            if owed.bytes > 0 && owed.next_at.is_some_and(|at| at <= now) {
                let goes = self.ready(link, &aside);
                due.extend(self.give(now, link, goes));
            }
        }
        self.find_next();
        due
    }

    /// What a link is owed for a destination goes back now, whatever waits.
    pub(super) fn hand_over(&mut self, link: u32, dst: u32) -> u32 {
        self.take(link, dst).map_or(0, |due| due.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returns(every: Time, after_bytes: u64, delay_above_bytes: u64) -> Returns {
        Returns {
            links: vec![Owed::default(); 2],
            every,
            after_bytes,
            delay_above_bytes,
            next_at: Time::NEVER,
        }
    }

    const NONE: fn(u32) -> u64 = |_| 0;

    fn due(link: u32, dst: u32, bytes: u32) -> Due {
        Due { link, dst, bytes }
    }

    #[test]
    fn what_leaves_in_a_period_goes_back_together() {
        let us = Time::from_us;
        let mut returns = returns(us(10), u64::MAX, u64::MAX);
        assert!(returns.owe(us(3), due(0, 7, 1_000), NONE).is_empty());
        assert!(returns.owe(us(5), due(0, 7, 500), NONE).is_empty());
        assert!(returns.owe(us(6), due(0, 8, 100), NONE).is_empty());
        assert_eq!(returns.next_at(), us(13));
        assert_eq!(returns.due(us(13), NONE), [due(0, 7, 1_500), due(0, 8, 100)]);
        assert_eq!(returns.next_at(), Time::NEVER);
        // The timer has run on: it comes round at 23, 33 and 43 us.
        assert!(returns.owe(us(40), due(0, 7, 1), NONE).is_empty());
        assert_eq!(returns.next_at(), us(43));
        // What leaves as it comes round goes with it.
        assert!(returns.owe(us(43), due(1, 7, 2), NONE).is_empty());
        assert!(returns.owe(us(43), due(0, 7, 2), NONE).is_empty());
        assert_eq!(returns.due(us(43), NONE), [due(0, 7, 3)]);
        assert_eq!(returns.next_at(), us(53));
    }

    #[test]
    fn enough_of_it_goes_back_sooner_and_the_timer_starts_anew() {
        let us = Time::from_us;
        let mut returns = returns(us(10), 2_000, u64::MAX);
        assert!(returns.owe(us(3), due(1, 7, 1_000), NONE).is_empty());
        assert_eq!(returns.owe(us(5), due(1, 8, 1_000), NONE), [due(1, 7, 1_000), due(1, 8, 1_000)]);
        assert!(returns.owe(us(6), due(1, 7, 1), NONE).is_empty());
        assert_eq!(returns.next_at(), us(15));
    }

    #[test]
    fn none_goes_back_for_a_destination_with_much_in_its_voq() {
        let us = Time::from_us;
        let aside = |dst| if dst == 7 { 5_001 } else { 0 };
        let mut timed = returns(us(10), u64::MAX, 5_000);
        assert!(timed.owe(us(0), due(0, 7, 1_000), aside).is_empty());
        assert!(timed.owe(us(0), due(0, 8, 100), aside).is_empty());
        assert_eq!(timed.due(us(10), aside), [due(0, 8, 100)]);
        assert_eq!(timed.due(us(20), |_| 5_000), [due(0, 7, 1_000)]);
        let mut at_once = returns(Time::ZERO, u64::MAX, 5_000);
        assert!(at_once.owe(us(0), due(0, 7, 1_000), aside).is_empty());
        let both = [due(0, 7, 1_000), due(1, 7, 10)];
        assert_eq!(at_once.owe(us(0), due(1, 7, 10), NONE), both);
    }
}

//! The greatest and the least of what was seen lately, for controls that model their path.

use std::collections::VecDeque;

/// What was seen since some moment or round, as far as it can still be the best of it.
#[derive(Clone, Debug)]
pub struct Filter<V> {
    seen: VecDeque<(u64, V)>,
}

impl<V> Default for Filter<V> {
    fn default() -> Filter<V> {
        Filter { seen: VecDeque::new() }
    }
}

impl<V: Copy + PartialOrd> Filter<V> {
    /// Sees a value at `at`, and forgets what was seen before `since`. It keeps the greatest.
    pub fn note_greatest(&mut self, at: u64, value: V, since: u64) {
        while self.seen.back().is_some_and(|&(_, last)| last <= value) {
            self.seen.pop_back();
        }
        self.add(at, value, since);
    }

    /// The same, where it keeps the least.
    pub fn note_least(&mut self, at: u64, value: V, since: u64) {
        while self.seen.back().is_some_and(|&(_, last)| last >= value) {
            self.seen.pop_back();
        }
        self.add(at, value, since);
    }

    fn add(&mut self, at: u64, value: V, since: u64) {
        self.seen.push_back((at, value));
        while self.seen.front().is_some_and(|&(at, _)| at < since) {
            self.seen.pop_front();
        }
    }

    /// The best that it remembers.
    pub fn best(&self) -> Option<V> {
        self.seen.front().map(|&(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_forgets_what_is_too_old_and_what_is_surpassed() {
        let mut greatest = Filter::default();
        let mut least = Filter::default();
        let seen = [5, 3, 4, 1, 2, 9, 8];
        let found: Vec<(u64, u64)> = (0..)
            .zip(seen)
            .map(|(at, value)| {
                let since = (at + 1_u64).saturating_sub(3);
                greatest.note_greatest(at, value, since);
                least.note_least(at, value, since);
                (greatest.best().expect("one"), least.best().expect("one"))
            })
            .collect();
        assert_eq!(found, [(5, 5), (5, 3), (5, 3), (4, 1), (4, 1), (9, 1), (9, 2)]);
    }
}

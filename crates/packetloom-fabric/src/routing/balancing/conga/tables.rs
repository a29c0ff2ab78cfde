//! What switches of hosts know of each other's paths (CONGA §3.3).

use crate::units::Time;
use std::collections::BTreeMap;

/// By the switch at the other end and the path to it: how congested that path is, as was fed back.
#[derive(Clone, Debug)]
pub(super) struct ToLeaf {
    max_age: Time,
    metrics: BTreeMap<(u32, u16), (Time, u8)>,
}

impl ToLeaf {
    pub(super) fn new(max_age: Time) -> ToLeaf {
        ToLeaf { max_age, metrics: BTreeMap::new() }
    }

    pub(super) fn note(&mut self, now: Time, leaf: u32, path: u16, congestion: u8) {
        self.metrics.insert((leaf, path), (now, congestion));
    }

    /// How congested a path is; 0 where there was no feedback for long.
    pub(super) fn congestion(&self, now: Time, leaf: u32, path: u16) -> u8 {
        match self.metrics.get(&(leaf, path)) {
            Some(&(at, congestion)) if now.since(at) <= self.max_age => congestion,
            _ => 0,
        }
    }
}

/// How congested the path of what came from another switch was, until that is fed back.
#[derive(Clone, Copy, Debug)]
struct Measured {
    path: u16,
    congestion: u8,
    at: Time,
    /// Whether it changed since it was last fed back.
    is_news: bool,
}

/// The paths from another switch, and whose turn it is to be fed back.
#[derive(Clone, Debug, Default)]
struct Leaf {
    measured: Vec<Measured>,
    turn: usize,
}

/// By the switch that packets come from: how congested their paths were.
#[derive(Clone, Debug)]
pub(super) struct FromLeaf {
    max_age: Time,
    leaves: BTreeMap<u32, Leaf>,
}

impl FromLeaf {
    pub(super) fn new(max_age: Time) -> FromLeaf {
        FromLeaf { max_age, leaves: BTreeMap::new() }
    }

    pub(super) fn note(&mut self, now: Time, leaf: u32, path: u16, congestion: u8) {
        let measured = &mut self.leaves.entry(leaf).or_default().measured;
        match measured.iter_mut().find(|measured| measured.path == path) {
            Some(known) => {
                known.is_news |= known.congestion != congestion;
                (known.congestion, known.at) = (congestion, now);
            }
            None => measured.push(Measured { path, congestion, at: now, is_news: true }),
        }
    }

    /// The next path to send a switch feedback about: in turn, but those that changed go first.
    pub(super) fn next(&mut self, now: Time, leaf: u32) -> Option<(u16, u8)> {
        let max_age = self.max_age;
        let Leaf { measured, turn } = self.leaves.get_mut(&leaf)?;
        let count = measured.len();
        let is_fresh = |place: usize| now.since(measured[place].at) <= max_age;
        let in_turn = |turn: usize| (0..count).map(move |nth| (turn + nth) % count);
        let place = in_turn(*turn)
            .find(|&place| measured[place].is_news && is_fresh(place))
            .or_else(|| in_turn(*turn).find(|&place| is_fresh(place)))?;
        *turn = (place + 1) % count;
        measured[place].is_news = false;
        Some((measured[place].path, measured[place].congestion))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_go_first_then_each_in_turn() {
        let now = Time::from_us(1);
        let mut table = FromLeaf::new(Time::from_us(500));
        assert_eq!(table.next(now, 3), None);
        for path in 0..3 {
            table.note(now, 3, path, 1);
        }
        let chosen: Vec<_> = (0..4).map(|_| table.next(now, 3).expect("three paths").0).collect();
        assert_eq!(chosen, [0, 1, 2, 0]);
        table.note(now, 3, 0, 5);
        assert_eq!(table.next(now, 3), Some((0, 5)));
        assert_eq!(table.next(now, 3), Some((1, 1)));
        assert_eq!(table.next(Time::from_us(502), 3), None);
    }
}

//! What links that were not simulated do to flows, drawn from what those that were do to others.

use super::alike::Classes;
use super::apart::{Effect, Effects};
use super::crossings::Crossings;
use super::limits::Limits;
use crate::narrow::{narrow, saturated};
use crate::random::{Purpose, Stream};
use std::collections::BTreeMap;

/// Sizes of which an octave has so many are told apart.
const SIZES_PER_OCTAVE: f64 = 4.0;

/// Which flows of a link are asked about: what it does to either is measured in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Those that it delays: by how much, in ps.
    Small,
    /// Large ones that it holds back: how many times what was expected they take.
    Large,
}

/// A flow of a simulated link: its size in packets and how many share the link, both as powers of two, and what that does
/// to it.
#[derive(Clone, Copy, Debug)]
struct Known {
    size: f64,
    sharers: f64,
    effect: f64,
    /// Which of those come first that are equally near.
    lot: u64,
}

/// What is drawn from.
pub(super) struct Pools<'a> {
    /// A flow's effect is drawn from so many.
    neighbours: usize,
    classes: &'a Classes,
    /// The flows of each class's simulated links.
    known: BTreeMap<(u32, Kind), Vec<Known>>,
    /// The effects on those that are nearest to a size and a number of others.
    nearest: BTreeMap<(u32, Kind, i32, u8), Vec<f64>>,
}

impl<'a> Pools<'a> {
    pub(super) fn new(
        neighbours: usize,
        seed: u64,
        classes: &'a Classes,
        crossings: &Crossings,
        limits: &Limits,
        effects: &Effects,
    ) -> Pools<'a> {
        let mut known: BTreeMap<(u32, Kind), Vec<Known>> = BTreeMap::new();
        let mut stream = Stream::new(seed, Purpose::Estimates, u64::MAX);
        for (&link, effects) in effects {
            let class = classes.class(link);
            for (&flow, effect) in crossings.at(link).iter().zip(effects) {
                let (kind, effect) = match effect {
                    &Effect::Delay(more_ps) => (Kind::Small, more_ps),
                    &Effect::Stretch(times) => (Kind::Large, times),
                    Effect::Elsewhere => continue,
                };
                let size = libm::log2(crossings.packets[flow as usize] as f64);
                let sharers = sharers(limits.others(crossings, link, flow));
                let lot = stream.bits();
                known.entry((class, kind)).or_default().push(Known { size, sharers, effect, lot });
            }
        }
        Pools { neighbours, classes, known, nearest: BTreeMap::new() }
    }

    /// What a link does to a flow of a kind and of so many packets, beside so many others; nothing, if no simulated
    /// link has such flows.
    pub(super) fn draw(
        &mut self,
        (link, kind): (u32, Kind),
        (packets, others): (u64, u8),
        stream: &mut Stream,
    ) -> Option<f64> {
        let class = self.classes.class(link);
        let known = self.known.get(&(class, kind))?;
        let size = saturated::<i32>((libm::log2(packets as f64) * SIZES_PER_OCTAVE).round());
        let nearest = self
            .nearest
            .entry((class, kind, size, others))
            .or_insert_with(|| nearest(known, f64::from(size) / SIZES_PER_OCTAVE, others, self.neighbours));
        Some(nearest[stream.below(narrow::<u32>(nearest.len())) as usize])
    }
}

/// The effects on the flows that are nearest to a size (as a power of two) and a number of others: so many, or all that
/// nothing tells apart from it. A flow of half the size is as far as one that shares the link with twice as many. Which
/// of those that are equally far count is left to chance.
fn nearest(known: &[Known], size: f64, others: u8, count: usize) -> Vec<f64> {
    let sharers = sharers(others);
    let distance = |one: &Known| (one.size - size).abs() + (one.sharers - sharers).abs();
    let mut all: Vec<(f64, u64, f64)> =
        known.iter().map(|one| (distance(one), one.lot, one.effect)).collect();
    let alike = all.iter().filter(|(distance, ..)| *distance <= 0.5 / SIZES_PER_OCTAVE).count();
    let count = count.max(alike).min(all.len());
    all.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    all[..count].sort_unstable_by(|a, b| a.2.total_cmp(&b.2));
    all[..count].iter().map(|(.., effect)| *effect).collect()
}

/// How many share a link with so many others, as a power of two.
fn sharers(others: u8) -> f64 {
    libm::log2(f64::from(others) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(number: u32, packets: u64, others: u8) -> Known {
        let (size, sharers) = (libm::log2(packets as f64), sharers(others));
        Known { size, sharers, effect: f64::from(number), lot: number.into() }
    }

    #[test]
    fn effects_are_those_on_the_flows_nearest_in_size_and_company() {
        let all = [known(0, 1, 0), known(1, 2, 0), known(2, 16, 0), known(3, 16, 1), known(4, 64, 3)];
        assert_eq!(nearest(&all, 4.0, 0, 1), [2.0]);
        assert_eq!(nearest(&all, 4.0, 0, 2), [2.0, 3.0]);
        assert_eq!(nearest(&all, 6.0, 3, 1), [4.0]);
        assert_eq!(nearest(&all, 0.0, 0, 9), [0.0, 1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn all_that_are_alike_count_but_not_all_that_are_equally_far() {
        let mut all: Vec<Known> = (0..100).map(|flow| known(flow, 1, 0)).collect();
        all.extend([known(100, 8, 0), known(101, 8, 0)]);
        assert_eq!(nearest(&all, 0.0, 0, 10).len(), 100);
        let of_eight = nearest(&all, 3.0, 0, 10);
        assert_eq!(of_eight.len(), 10);
        assert_eq!(of_eight[8..], [100.0, 101.0]);
    }
}

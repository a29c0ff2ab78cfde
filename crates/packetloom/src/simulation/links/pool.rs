//! What links that were not simulated do to flows, drawn from what those that were do to others.

use super::super::fidelity::LinkRung;
use super::alike::{Class, Classes};
use super::apart::{Effect, Found};
use super::crossings::Crossings;
use super::limits::Limits;
use crate::random::Stream;
use std::collections::BTreeMap;

/// A pool has flows for so many neighbourhoods.
const NEIGHBOURHOODS: usize = 10;

/// Which flows of a link are asked about: what it does to either is measured in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Those that it delays: by how much per packet, in ps.
    Small,
    /// Large ones that it holds back: how many times what was expected they take.
    Large,
}

/// The flows of a kind of some simulated links: sizes in packets, and what the links do to them, by size.
#[derive(Clone, Debug)]
struct Pool {
    sizes: Vec<u64>,
    effects: Vec<f64>,
}

/// All pools that are needed.
pub(super) struct Pools<'a> {
    rung: LinkRung,
    classes: &'a Classes,
    crossings: &'a Crossings,
    found: &'a BTreeMap<u32, Found>,
    /// How many flows of each kind each simulated link has.
    counts: BTreeMap<(u32, Kind), usize>,
    /// Which pool each link draws from, once it was asked about.
    of_links: BTreeMap<(u32, Kind), usize>,
    /// Where each one is, by class and its simulated links, from one to before another.
    places: BTreeMap<(u32, usize, usize, Kind), usize>,
    pools: Vec<Pool>,
}

impl<'a> Pools<'a> {
    pub(super) fn new(
        rung: LinkRung,
        classes: &'a Classes,
        crossings: &'a Crossings,
        limits: &Limits,
        found: &'a BTreeMap<u32, Found>,
    ) -> Pools<'a> {
        let mut counts = BTreeMap::new();
        for &link in found.keys() {
            let large = crossings.at(link).iter().filter(|&&flow| limits.is_large(flow));
            let (large, held) = large.fold((0, 0), |(large, held), &flow| {
                (large + 1, held + usize::from(limits.held_by(flow) == link))
            });
            counts.insert((link, Kind::Large), held);
            counts.insert((link, Kind::Small), crossings.at(link).len() - large);
        }
        let (of_links, places) = (BTreeMap::new(), BTreeMap::new());
        Pools { rung, classes, crossings, found, counts, of_links, places, pools: Vec::new() }
    }

    /// What a link does to a flow of a kind and of so many packets; nothing, if no simulated link has such flows.
    pub(super) fn draw(&mut self, at: (u32, Kind), packets: u64, stream: &mut Stream) -> Option<f64> {
        let place = match self.of_links.get(&at) {
            Some(&place) => place,
            None => self.find(at),
        };
        self.pools[place].draw(packets, self.rung.neighbours, stream)
    }

    fn find(&mut self, (link, kind): (u32, Kind)) -> usize {
        let (number, load) = self.classes.class(link);
        let class = &self.classes.all[number as usize];
        let flows = |nth: usize| self.counts[&(class.simulated[nth].1, kind)];
        let (from, to) = nearest(class, load, NEIGHBOURHOODS.saturating_mul(self.rung.neighbours), flows);
        let place = *self.places.entry((number, from, to, kind)).or_insert_with(|| {
            let links = class.simulated[from..to].iter().map(|&(_, link)| link);
            self.pools.push(Pool::of(links, kind, self.crossings, self.found));
            self.pools.len() - 1
        });
        self.of_links.insert((link, kind), place);
        place
    }
}

/// The simulated links of a class, from one to before another, that are nearest to a load and have so many flows.
fn nearest(class: &Class, load: f64, enough: usize, flows: impl Fn(usize) -> usize) -> (usize, usize) {
    let loads = &class.simulated;
    let mut to = loads.partition_point(|(other, _)| *other < load);
    let (mut from, mut sum) = (to, 0);
    while sum < enough && to - from < loads.len() {
        let below = from.checked_sub(1).map(|nth| load - loads[nth].0);
        let above = loads.get(to).map(|(other, _)| other - load);
        if above.is_none_or(|above| below.is_some_and(|below| below <= above)) {
            from -= 1;
            sum += flows(from);
        } else {
            sum += flows(to);
            to += 1;
        }
    }
    (from, to)
}

impl Pool {
    fn of(
        links: impl Iterator<Item = u32>,
        kind: Kind,
        crossings: &Crossings,
        found: &BTreeMap<u32, Found>,
    ) -> Pool {
        let mut all: Vec<(u64, f64)> = links
            .flat_map(|link| crossings.at(link).iter().zip(&found[&link].effects))
            .filter_map(|(&flow, effect)| {
                let packets = crossings.packets[flow as usize];
                match (kind, effect) {
                    (Kind::Small, Effect::Delay(delay)) => Some((packets, delay / packets as f64)),
                    (Kind::Large, &Effect::Stretch(times)) => Some((packets, times)),
                    _ => None,
                }
            })
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let (sizes, effects) = all.into_iter().unzip();
        Pool { sizes, effects }
    }

    /// That of one of so many flows nearest in size, and of all of one size if of any.
    fn draw(&self, packets: u64, neighbours: usize, stream: &mut Stream) -> Option<f64> {
        let count = self.sizes.len();
        if count == 0 {
            return None;
        }
        let first = self.sizes.partition_point(|&size| size < packets);
        let after = self.sizes.partition_point(|&size| size <= packets);
        let lacking = neighbours.min(count).saturating_sub(after - first);
        // As many on either side; more on one where the other has no more.
        let below = first.min((lacking / 2).max(lacking.saturating_sub(count - after)));
        let (from, to) = (first - below, (after + lacking - below).min(count));
        let from = self.sizes.partition_point(|&size| size < self.sizes[from]);
        let to = self.sizes.partition_point(|&size| size <= self.sizes[to - 1]);
        Some(self.effects[from + stream.below((to - from) as u32) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;
    use std::collections::BTreeSet;

    #[test]
    fn delays_come_from_the_nearest_in_size() {
        let sizes = vec![1, 1, 2, 3, 3, 8, 9];
        let pool = Pool { effects: (0..sizes.len()).map(|nth| nth as f64).collect(), sizes };
        let mut stream = Stream::new(1, Purpose::Estimates, 0);
        let mut drawn = |packets, neighbours| -> Vec<u32> {
            let draws = (0..200).map(|_| pool.draw(packets, neighbours, &mut stream));
            draws
                .map(|drawn| drawn.expect("there are some") as u32)
                .collect::<BTreeSet<u32>>()
                .into_iter()
                .collect()
        };
        assert_eq!(drawn(2, 1), [2]);
        // Of one size all or none.
        assert_eq!(drawn(2, 3), [0, 1, 2, 3, 4]);
        assert_eq!(drawn(1, 1), [0, 1]);
        assert_eq!(drawn(9, 2), [5, 6]);
        assert_eq!(drawn(100, 2), [5, 6]);
        assert_eq!(drawn(5, 100), [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn links_draw_from_those_nearest_in_load() {
        let class = Class { simulated: vec![(1.0, 0), (2.0, 1), (4.0, 2), (8.0, 3)] };
        let of = |load, enough| nearest(&class, load, enough, |_| 10);
        assert_eq!(of(2.6, 1), (1, 2));
        assert_eq!(of(2.6, 20), (1, 3));
        assert_eq!(of(2.5, 20), (0, 2));
        assert_eq!(of(0.5, 20), (0, 2));
        assert_eq!(of(9.0, 11), (2, 4));
        assert_eq!(of(3.0, 1_000), (0, 4));
    }
}

//! Simulated Annealing (Hedera §4.4): each destination host is given a core switch, and the choice is varied at
//! random so that links are to carry as little as can be beyond their rates.
//!
//! A state has one core for each host instead of one path for each flow, which makes the search small. It is varied
//! by exchanging the cores of two hosts at one switch, or of two in one pod, or by drawing a new one for a host,
//! with equal chances. One of the hosts is always one that large flows go to: to vary others changes nothing.
//!
//! The three kinds of variation are written down from memory of the paper, whose text was not at hand.

use super::demands::NOTHING;
use super::network::Network;
use super::scheduler::Large;
use crate::flow::HostId;
use crate::narrow::narrow;
use crate::random::Stream;
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;

/// The search, and what it found last, from which the next starts.
pub(super) struct Annealing {
    /// How many variations are tried.
    pub(super) tries: u32,
    /// c over the first temperature: the larger, the fewer states that are worse are taken.
    pub(super) greed: f64,
    pub(super) random: Stream,
    /// The way to each host: which core.
    pub(super) ways: Vec<u32>,
}

/// A flow's ends, and its demand.
type Demanded = ((HostId, HostId), f64);

/// What links carry in a state.
struct Energy<'a> {
    network: &'a mut Network,
    /// By destination: which flows.
    flows_to: BTreeMap<HostId, Vec<Demanded>>,
    /// What each link is to carry beyond its rate; below 0: what is left.
    excess: Vec<f64>,
    /// How much links are to carry beyond their rates, together.
    total: f64,
    links: Vec<usize>,
}

impl Energy<'_> {
    /// Adds what goes to a host by a way, or takes it off (`sign` of -1).
    fn add(&mut self, dst: HostId, way: u32, sign: f64) {
        let Some(flows) = self.flows_to.get(&dst) else { return };
        for &(ends, demand) in flows {
            let Some(paths) = self.network.paths(ends.0, dst) else { continue };
            let path = self.network.path_by(way, &paths);
            self.network.links(ends, path, &mut self.links);
            for &link in &self.links {
                let before = self.excess[link];
                self.excess[link] += sign * demand;
                self.total += self.excess[link].max(0.0) - before.max(0.0);
            }
        }
    }
}

impl Annealing {
    /// A path for each flow, given the rates of all links; nothing where there is no choice.
    pub(super) fn place(
        &mut self,
        network: &mut Network,
        rates: &[f64],
        flows: &[(Large, f64)],
    ) -> Vec<Option<u16>> {
        let mut flows_to: BTreeMap<HostId, Vec<_>> = BTreeMap::new();
        for (flow, demand) in flows {
            flows_to.entry(flow.dst).or_default().push((flow.ends(), *demand));
        }
        let targets: Vec<HostId> = flows_to.keys().copied().collect();
        let excess = rates.iter().map(|rate| -rate).collect();
        let mut energy = Energy { network, flows_to, excess, total: 0.0, links: Vec::new() };
        targets.iter().for_each(|&host| energy.add(host, self.ways[host as usize], 1.0));
        self.search(&mut energy, &targets);
        let path = |(flow, _): &(Large, f64)| {
            let paths = network.paths(flow.src(), flow.dst)?;
            Some(network.path_by(self.ways[flow.dst as usize], &paths))
        };
        flows.iter().map(path).collect()
    }

    fn search(&mut self, energy: &mut Energy<'_>, targets: &[HostId]) {
        let (mut best, mut least) = (self.ways.clone(), energy.total);
        for left in (1..=self.tries).rev() {
            // No link is to carry more than it can.
            if targets.is_empty() || least <= NOTHING {
                break;
            }
            let before = energy.total;
            let changes = self.vary(energy.network, targets);
            changes.iter().for_each(|&(host, old, new)| self.set(energy, host, (old, new)));
            if energy.total < least - NOTHING {
                (best, least) = (self.ways.clone(), energy.total);
            }
            let worse_by = energy.total - before;
            let cooled = f64::from(self.tries) / f64::from(left);
            if worse_by > 0.0 && libm::exp(-self.greed * cooled * worse_by) <= self.random.unit() {
                changes.iter().for_each(|&(host, old, new)| self.set(energy, host, (new, old)));
            }
        }
        self.ways = best;
    }

    fn set(&mut self, energy: &mut Energy<'_>, host: HostId, (old, new): (u32, u32)) {
        energy.add(host, old, -1.0);
        energy.add(host, new, 1.0);
        self.ways[host as usize] = new;
    }

    /// Hosts whose ways change, each with the old one and the new one.
    fn vary(&mut self, network: &Network, targets: &[HostId]) -> SmallVec<[(HostId, u32, u32); 2]> {
        let host = targets[self.random.below(narrow::<u32>(targets.len())) as usize];
        let old = self.ways[host as usize];
        match self.random.below(3) {
            2 => smallvec![(host, old, self.random.below(network.ways()))],
            near => {
                let (first, count) = network.neighbours(host)[near as usize];
                let other = first + self.random.below(count);
                let others = self.ways[other as usize];
                smallvec![(host, old, others), (other, others, old)]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scheduler::testing::{flow, links_of, tree};
    use super::*;
    use crate::random::Purpose;
    use crate::units::Time;

    fn annealing(network: &Network) -> Annealing {
        let random = Stream::new(1, Purpose::Control, 0);
        Annealing { tries: 1_000, greed: 0.5, random, ways: vec![0; network.hosts() as usize] }
    }

    /// A permutation between pods of a fat-tree of 16 hosts, which can be carried without any link shared.
    fn permutation() -> Vec<(Large, f64)> {
        (0..16).map(|src| (flow(src, (src + 5) % 16, None), 1.0)).collect()
    }

    /// What links carry beyond their rates, together, after one more search.
    fn excess_after(annealing: &mut Annealing, network: &mut Network, rates: &[f64]) -> f64 {
        let flows = permutation();
        let paths = annealing.place(network, rates, &flows);
        let mut excess: Vec<f64> = rates.iter().map(|rate| -rate).collect();
        for ((flow, demand), path) in flows.iter().zip(paths) {
            let links = links_of(network, flow, path.expect("they go between pods"));
            links.into_iter().for_each(|link| excess[link] += demand);
        }
        excess.iter().map(|excess| excess.max(0.0)).sum()
    }

    #[test]
    fn the_search_leaves_little_excess_never_more_than_it_found_and_ends_where_there_is_none() {
        let mut network = tree();
        let rates = network.rates(Time::ZERO);
        let mut annealing = annealing(&network);
        // All on one core: 3 too many into and out of each pod's switch there, 1 on each link of the edge switches
        // to it.
        let mut last = 40.0;
        for round in 0..20 {
            let excess = excess_after(&mut annealing, &mut network, &rates);
            assert!(excess <= last && (round > 0 || excess <= 4.0), "{excess} after {last}");
            last = excess;
        }
        assert_eq!(last, 0.0);
        let state = annealing.random.clone().bits();
        excess_after(&mut annealing, &mut network, &rates);
        assert_eq!(annealing.random.bits(), state, "there is nothing to search for");
    }

    #[test]
    fn the_energy_is_what_links_carry_beyond_their_rates_whatever_the_order_of_changes() {
        let mut network = tree();
        let flows_to = BTreeMap::from([(4, vec![((0, 4), 1.0), ((1, 4), 0.5)]), (8, vec![((2, 8), 1.0)])]);
        let excess = network.rates(Time::ZERO).iter().map(|rate| -rate).collect();
        let mut energy = Energy { network: &mut network, flows_to, excess, total: 0.0, links: Vec::new() };
        energy.add(4, 0, 1.0);
        // Two flows from one switch share its uplink and all that follows: four links, half too much on each.
        assert!((energy.total - 2.0).abs() < 1e-9, "{}", energy.total);
        energy.add(8, 0, 1.0);
        let both = energy.total;
        // The third comes from another switch by the same core: it shares the link up to it.
        assert!((both - 3.0).abs() < 1e-9, "{both}");
        energy.add(8, 0, -1.0);
        energy.add(8, 3, 1.0);
        assert!((energy.total - 2.0).abs() < 1e-9, "{}", energy.total);
        energy.add(4, 0, -1.0);
        energy.add(8, 3, -1.0);
        assert!(energy.total.abs() < 1e-9);
    }
}

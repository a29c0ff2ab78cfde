//! Links that are always used evenly together, and so share out like one.
//!
//! Where every switch spreads packets evenly, two spines with the same neighbours get the same of all. So the links
//! between a switch and all of its alike spines are one link with the rate of all: the rates of flows are the same, and
//! a flow crosses a few links instead of hundreds.

use crate::narrow::exact;
use crate::topology::Topology;
use crate::units::{Rate, Time};
use std::collections::BTreeMap;

/// Which link of those that are shared out stands for each link of a network.
#[derive(Debug)]
pub(super) struct Alike {
    /// By link of the network.
    stands: Vec<u32>,
    /// Their rates together, in bits per second.
    rates: Vec<u64>,
}

/// A switch's links: where to, how fast, how long.
type Neighbours = Vec<(u32, Rate, Time)>;

impl Alike {
    /// Every link for itself.
    pub(super) fn none(topology: &Topology) -> Alike {
        let rates: Vec<u64> = topology.links.iter().map(|link| link.rate.as_bps()).collect();
        Alike { stands: (0..exact::<u32>(rates.len())).collect(), rates }
    }

    /// Where flows are spread evenly.
    pub(super) fn spread(topology: &Topology) -> Alike {
        let mut first: BTreeMap<Neighbours, u32> = BTreeMap::new();
        let twin = |node: u32| {
            if node < topology.hosts {
                return node;
            }
            let mut neighbours: Neighbours = topology.nodes[node as usize]
                .ports
                .clone()
                .map(|port| &topology.links[port as usize])
                .map(|link| (link.dst, link.rate, link.delay))
                .collect();
            neighbours.sort_unstable();
            *first.entry(neighbours).or_insert(node)
        };
        let twins: Vec<u32> = (0..exact::<u32>(topology.nodes.len())).map(twin).collect();
        let mut known: BTreeMap<(u32, u32, Rate), u32> = BTreeMap::new();
        let mut alike = Alike { stands: Vec::with_capacity(topology.links.len()), rates: Vec::new() };
        for link in &topology.links {
            let next = exact::<u32>(alike.rates.len());
            let [src, dst] = [link.src, link.dst].map(|node| twins[node as usize]);
            // A host may choose among links of its own.
            let is_of_host = link.src < topology.hosts || link.dst < topology.hosts;
            let stands = if is_of_host { next } else { *known.entry((src, dst, link.rate)).or_insert(next) };
            if stands == next {
                alike.rates.push(0);
            }
            alike.rates[stands as usize] += link.rate.as_bps();
            alike.stands.push(stands);
        }
        alike
    }

    /// The rates of what is shared out.
    pub(super) fn rates(&self) -> impl Iterator<Item = u64> + '_ {
        self.rates.iter().copied()
    }

    /// The link that stands for one of the network.
    pub(super) fn of(&self, link: u32) -> u32 {
        self.stands[link as usize]
    }

    /// The links that a flow crosses as they are shared out, in the order in which it comes to them, with its shares.
    pub(super) fn together(&self, links: &[(u32, f64)]) -> Vec<(u32, f64)> {
        let mut all: Vec<(u32, f64)> = Vec::with_capacity(6);
        for &(link, share) in links {
            let link = self.of(link);
            match all.iter_mut().find(|(other, _)| *other == link) {
                Some((_, sum)) => *sum += share,
                None => all.push((link, share)),
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use std::path::Path;

    #[test]
    fn links_of_a_switch_to_alike_spines_are_one_and_those_of_hosts_are_not() {
        let toml = "[topology]\nkind = \"leaf-spine\"\nspines = 4\nleaves = 2\nhosts_per_leaf = 3\n[[workload]]\n\
                    arrivals = { kind = \"collective\", operation = \"all-reduce\", size = \"1MB\" }\n[[scheme]]\n\
                    name = \"any\"\ntransport = \"tcp\"\nqueue = \"drop-tail\"\n";
        let scenario = Scenario::from_toml(toml, "test", Path::new(".")).expect("a scenario");
        let case = scenario.cases().next().expect("a case");
        let topology = Topology::build(&case.topology).expect("a network");
        let alike = Alike::spread(&topology);
        // A link each way for each of six hosts, and one each way for each of two leaves.
        assert_eq!(alike.rates().count(), 12 + 4);
        let up: Vec<u32> = (0..exact::<u32>(topology.links.len()))
            .filter(|&link| topology.links[link as usize].src == 6 && topology.links[link as usize].dst > 7)
            .collect();
        let stands = alike.of(up[0]);
        assert!(up.len() == 4 && up.iter().all(|&link| alike.of(link) == stands));
        let rates: Vec<u64> = alike.rates().collect();
        assert_eq!(rates[stands as usize], 4 * topology.links[up[0] as usize].rate.as_bps());
        let spread: Vec<(u32, f64)> = up.iter().map(|&link| (link, 0.25)).collect();
        assert_eq!(alike.together(&spread), [(stands, 1.0)]);
        assert_eq!(Alike::none(&topology).together(&spread), spread);
    }
}

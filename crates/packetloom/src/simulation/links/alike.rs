//! Which links are alike, and which of those are simulated.

use super::super::fidelity::LinkRung;
use super::crossings::Crossings;
use crate::topology::Topology;
use crate::units::{Rate, Time};
use std::collections::BTreeMap;

/// Links between the same tiers, of the same rate and latency, that flows cross.
#[derive(Clone, Debug)]
pub(super) struct Class {
    /// Those that are simulated, each with its load, from the least loaded up.
    pub(super) simulated: Vec<(f64, u32)>,
}

/// All classes.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    pub(super) all: Vec<Class>,
    /// Each link's class, and its load: how long its data keep it busy, in ps.
    of: Vec<(u32, f64)>,
}

/// A link, and what it is chosen by.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    link: u32,
    load: f64,
    /// The mean logarithm of its flows' sizes in packets.
    size: f64,
}

impl Classes {
    /// With as many simulated links of each class as the rung says.
    pub(super) fn of(topology: &Topology, crossings: &Crossings, rung: LinkRung) -> Classes {
        let mut alike: BTreeMap<(u8, u8, Rate, Time), Vec<Candidate>> = BTreeMap::new();
        for (link, nth) in topology.links.iter().zip(0..) {
            let tier = |node: u32| topology.nodes[node as usize].tier;
            let flows = crossings.at(nth);
            if !flows.is_empty() {
                let logs = flows.iter().map(|&flow| libm::log(crossings.packets[flow as usize] as f64));
                let size = logs.sum::<f64>() / flows.len() as f64;
                let load = crossings.data_time[nth as usize].as_ps() as f64;
                let class =
                    alike.entry((tier(link.src), tier(link.dst), link.rate, link.latency)).or_default();
                class.push(Candidate { link: nth, load, size });
            }
        }
        let mut of = vec![(u32::MAX, 0.0); topology.links.len()];
        let mut all = Vec::new();
        for mut class in alike.into_values() {
            for candidate in &class {
                of[candidate.link as usize] = (all.len() as u32, candidate.load);
            }
            class.sort_unstable_by(|a, b| a.load.total_cmp(&b.load).then(a.link.cmp(&b.link)));
            let flows: usize = class.iter().map(|one| crossings.at(one.link).len()).sum();
            let enough = rung.flows.saturating_mul(class.len()).div_ceil(flows);
            let groups = rung.representatives.max(enough).min(class.len());
            let group = |nth: usize| &class[nth * class.len() / groups..(nth + 1) * class.len() / groups];
            let simulated = (0..groups).map(|nth| typical(group(nth))).map(|one| (one.load, one.link));
            all.push(Class { simulated: simulated.collect() });
        }
        Classes { all, of }
    }

    /// A link's class, and its load.
    pub(super) fn class(&self, link: u32) -> (u32, f64) {
        self.of[link as usize]
    }

    /// All links that are simulated.
    pub(super) fn representatives(&self) -> Vec<u32> {
        self.all.iter().flat_map(|class| class.simulated.iter().map(|&(_, link)| link)).collect()
    }
}

/// Of links in order of load, the one of the middle third whose flows' sizes are most like those of all.
fn typical(group: &[Candidate]) -> Candidate {
    let size = group.iter().map(|one| one.size).sum::<f64>() / group.len() as f64;
    let third = group.len() / 3;
    let middle = &group[third..group.len() - third];
    let distance = |one: &Candidate| (one.size - size).abs();
    let nearest = middle.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)).then(a.link.cmp(&b.link)));
    *nearest.expect("a group has a middle")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typical_link_has_about_the_load_and_the_sizes_of_its_group() {
        let group: Vec<Candidate> = [(1.0, 3.0), (2.0, 9.0), (3.0, 1.0), (4.0, 4.0), (5.0, 3.0), (6.0, 4.0)]
            .into_iter()
            .zip(0..)
            .map(|((load, size), link)| Candidate { link, load, size })
            .collect();
        // All sizes together: 4. Of links 2 and 3 in the middle it is the latter.
        assert_eq!(typical(&group).link, 3);
        assert_eq!(typical(&group[..1]).link, 0);
    }
}

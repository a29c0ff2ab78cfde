//! Which links are alike, and which of those are simulated.

use super::super::fidelity::LinkRung;
use super::crossings::Crossings;
use crate::narrow::narrow;
use crate::topology::Topology;
use crate::units::{Rate, Time};
use std::collections::BTreeMap;

/// Links that are simulated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    /// A host's: the one that leads from it, and the one that leads to it. Of two hosts at one cable, the first's.
    Cable { out: u32, back: u32 },
    /// One between switches.
    Link(u32),
}

impl Section {
    /// The one that a link is part of.
    fn of(topology: &Topology, link: u32) -> Section {
        let back = narrow::<u32>(topology.link_back(link as usize));
        let is_hosts = |link: u32| topology.links[link as usize].src < topology.hosts;
        match (is_hosts(link), is_hosts(back)) {
            (true, true) => Section::Cable { out: link.min(back), back: link.max(back) },
            (true, false) => Section::Cable { out: link, back },
            (false, true) => Section::Cable { out: back, back: link },
            (false, false) => Section::Link(link),
        }
    }

    /// The link over which the first host of its star sends.
    pub(super) fn sent(self) -> Option<u32> {
        match self {
            Section::Cable { out, .. } => Some(out),
            Section::Link(_) => None,
        }
    }

    /// The link over which the first host of its star receives.
    pub(super) fn received(self) -> Option<u32> {
        match self {
            Section::Cable { back, .. } => Some(back),
            Section::Link(link) => Some(link),
        }
    }

    /// All of them.
    pub(super) fn links(self) -> impl Iterator<Item = u32> {
        self.sent().into_iter().chain(self.received())
    }
}

/// What links have in common that are alike: the tiers that they lead from and to, their rate and latency.
type Likeness = (u8, u8, Rate, Time);

/// What is simulated, and which links are like which.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    pub(super) simulated: Vec<Section>,
    /// Each link's class.
    of: Vec<u32>,
}

/// A section, and what it is chosen by.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    section: Section,
    /// How long data keep its links busy, in ps.
    load: f64,
    /// How many flows cross its links.
    flows: usize,
    /// The mean logarithm of their sizes in packets.
    size: f64,
}

impl Classes {
    /// With as many simulated links of each class as the rung says.
    pub(super) fn of(topology: &Topology, crossings: &Crossings, rung: LinkRung) -> Classes {
        let likeness = |link: u32| -> Likeness {
            let link = &topology.links[link as usize];
            let tier = |node: u32| topology.nodes[node as usize].tier;
            (tier(link.src), tier(link.dst), link.rate, link.latency)
        };
        let links = 0..narrow::<u32>(topology.links.len());
        let used = links.clone().filter(|&link| !crossings.at(link).is_empty());
        let mut sections: Vec<Section> = used.map(|link| Section::of(topology, link)).collect();
        sections.sort_unstable();
        sections.dedup();
        let mut alike: BTreeMap<Vec<Likeness>, Vec<Candidate>> = BTreeMap::new();
        for section in sections {
            let key = section.links().map(likeness).collect();
            alike.entry(key).or_default().push(Candidate::of(section, crossings));
        }
        let simulated = alike.into_values().flat_map(|class| chosen(class, rung)).collect();
        let mut numbers = BTreeMap::new();
        let of = links.map(|link| {
            let next = narrow::<u32>(numbers.len());
            *numbers.entry(likeness(link)).or_insert(next)
        });
        Classes { simulated, of: of.collect() }
    }

    /// A link's class.
    pub(super) fn class(&self, link: u32) -> u32 {
        self.of[link as usize]
    }
}

impl Candidate {
    fn of(section: Section, crossings: &Crossings) -> Candidate {
        let crossing = section.links().flat_map(|link| crossings.at(link));
        let (flows, logs) = crossing.fold((0, 0.0), |(flows, logs), &flow| {
            (flows + 1, logs + libm::log(crossings.packets[flow as usize] as f64))
        });
        let busy = section.links().map(|link| crossings.data_time[link as usize].as_ps() as f64);
        Candidate { section, load: busy.sum(), flows, size: logs / flows as f64 }
    }
}

/// Of sections that are alike those that are simulated, from the least loaded up: as many as have so many flows, on
/// each of their links, together.
fn chosen(mut class: Vec<Candidate>, rung: LinkRung) -> Vec<Section> {
    class.sort_unstable_by(|a, b| a.load.total_cmp(&b.load).then(a.section.cmp(&b.section)));
    let flows: usize = class.iter().map(|one| one.flows).sum();
    let links = class[0].section.links().count();
    let enough = rung.flows.saturating_mul(class.len() * links).div_ceil(flows);
    let groups = rung.representatives.max(enough).min(class.len());
    let group = |nth: usize| &class[nth * class.len() / groups..(nth + 1) * class.len() / groups];
    (0..groups).map(|nth| typical(group(nth)).section).collect()
}

/// Of sections in order of load, the one of the middle third whose flows' sizes are most like those of all.
fn typical(group: &[Candidate]) -> Candidate {
    let size = group.iter().map(|one| one.size).sum::<f64>() / group.len() as f64;
    let third = group.len() / 3;
    let middle = &group[third..group.len() - third];
    let distance = |one: &Candidate| (one.size - size).abs();
    let nearest =
        middle.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)).then(a.section.cmp(&b.section)));
    *nearest.expect("a group has a middle")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typical_section_has_about_the_load_and_the_sizes_of_its_group() {
        let group: Vec<Candidate> = [(1.0, 3.0), (2.0, 9.0), (3.0, 1.0), (4.0, 4.0), (5.0, 3.0), (6.0, 4.0)]
            .into_iter()
            .zip(0..)
            .map(|((load, size), link)| Candidate { section: Section::Link(link), load, flows: 1, size })
            .collect();
        // All sizes together: 4. Of links 2 and 3 in the middle it is the latter.
        assert_eq!(typical(&group).section, Section::Link(3));
        assert_eq!(typical(&group[..1]).section, Section::Link(0));
    }
}

//! Paths that the source chooses: all of them in random order, then all of them in a new one.
//!
//! Where addresses determine the way down, a path's number has an up port for each tier. On a network of any shape
//! it is the index among all shortest paths from that source to that destination, and each switch works out its own
//! position on the path from it.

use super::entropies::Fits;
use super::scoreboard::{Fate, Penalties, Scoreboard};
use crate::flow::HostId;
use crate::narrow::narrow;
use crate::prefetch::prefetch;
use crate::random::{Purpose, Stream};
use crate::spec::Values;
use crate::topology::{Routes, Topology};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bits that a packet has for its path.
const MOST_BITS: u32 = 16;

/// The part of a path's number that says which up port a switch takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Digit {
    shift: u32,
    bits: u32,
    ports: u32,
}

impl Digit {
    /// The up port, counted from 0.
    #[inline]
    pub fn of(self, path: u16) -> u32 {
        (u32::from(path) >> self.shift) & ((1 << self.bits) - 1)
    }

    /// How many up ports there are.
    pub(super) fn ports(self) -> u32 {
        self.ports
    }

    /// The part of a number that names an up port.
    pub(super) fn with(self, port: u32) -> u16 {
        narrow::<u16>(port << self.shift)
    }
}

/// How a path is written as a number.
#[derive(Clone, Debug)]
pub enum PathCode {
    /// An up port for each tier on the way up, by tier; hosts have none. The way down needs no choice.
    UpPorts(Vec<Digit>),
    /// The path's place among those from its source to its destination.
    Places(Arc<Routes>),
}

impl PathCode {
    /// The code for a network, if its paths fit into a packet.
    pub fn new(topology: &Topology) -> Option<PathCode> {
        if let Some(routes) = topology.routes() {
            return (routes.most_paths() <= 1 << MOST_BITS).then(|| PathCode::Places(Arc::clone(routes)));
        }
        let mut digits = vec![Digit::default(); topology.tier_names.len()];
        for node in topology.nodes.iter().filter(|node| node.tier > 0) {
            let digit = &mut digits[usize::from(node.tier)];
            digit.ports = digit.ports.max(narrow::<u32>(node.ports.len()) - node.reach.down_ports);
        }
        let mut shift = 0;
        for digit in &mut digits {
            digit.shift = shift;
            digit.bits = digit.ports.max(1).next_power_of_two().ilog2();
            shift += digit.bits;
        }
        (shift <= MOST_BITS).then_some(PathCode::UpPorts(digits))
    }
}

/// The paths that turn downwards at a tier, where the switches of each tier read a digit.
fn paths_up_to(tier: u8, digits: &[Digit]) -> Arc<[u16]> {
    let climbed = &digits[..usize::from(tier)];
    climbed
        .iter()
        .filter(|digit| digit.ports > 0)
        .fold(vec![0_u16], |paths, digit| {
            let longer = |path| (0..digit.ports).map(move |port| path | narrow::<u16>(port << digit.shift));
            paths.into_iter().flat_map(longer).collect()
        })
        .into()
}

/// The hosts within reach of a switch above the source, and the paths to them.
#[derive(Clone, Debug)]
pub(super) struct Level {
    first_host: HostId,
    hosts: u32,
    paths: Arc<[u16]>,
}

/// Which paths there are from a host.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    /// By the switch at which they turn downwards, from the nearest up.
    Levels(Vec<Level>),
    /// So many as these say.
    Places(Arc<Routes>, HostId),
}

impl Choice {
    /// Those of a host.
    pub(super) fn of(topology: &Topology, code: &PathCode, host: HostId) -> Choice {
        match code {
            PathCode::UpPorts(digits) => Choice::levels(topology, digits, host),
            PathCode::Places(routes) => Choice::Places(Arc::clone(routes), host),
        }
    }

    fn levels(topology: &Topology, digits: &[Digit], host: HostId) -> Choice {
        let mut levels = Vec::new();
        let mut up_port = Some(topology.nodes[host as usize].ports.start);
        while let Some(port) = up_port {
            let switch = &topology.nodes[topology.links[port as usize].dst as usize];
            let reach = switch.reach;
            let paths = paths_up_to(switch.tier, digits);
            levels.push(Level { first_host: reach.first_host, hosts: reach.hosts, paths });
            let first_up = switch.ports.start + reach.down_ports;
            up_port = (first_up < switch.ports.end).then_some(first_up);
        }
        Choice::Levels(levels)
    }

    /// The paths to a host, if there are several.
    pub(super) fn to(&self, dst: HostId) -> Option<Arc<[u16]>> {
        let paths: Arc<[u16]> = match self {
            Choice::Levels(levels) => {
                let reaches = |level: &&Level| dst.wrapping_sub(level.first_host) < level.hosts;
                Arc::clone(&levels.iter().find(reaches)?.paths)
            }
            Choice::Places(routes, src) => {
                (0..routes.paths(*src, dst)).map(|path| narrow::<u16>(path)).collect()
            }
        };
        (paths.len() > 1).then_some(paths)
    }
}

/// The paths to one destination in the order of this round.
#[derive(Clone, Debug)]
struct Round {
    order: Box<[u16]>,
    used: usize,
    /// So many of them take part; the others are left out for a while.
    active: usize,
    scoreboard: Option<Scoreboard>,
}

/// A host's choice of paths for what it sends.
#[derive(Clone, Debug)]
pub struct Paths {
    choice: Choice,
    /// By destination, and whether of data: answers to a host take no turns from data to it, as csg-htsim has separate
    /// orders for them. Nothing where there is one path only.
    rounds: BTreeMap<(HostId, bool), Option<Round>>,
    penalties: Option<Penalties>,
    random: Stream,
}

impl Paths {
    /// The choice of paths of `host`.
    pub fn new(topology: &Topology, code: &PathCode, routing: &Values, host: HostId, seed: u64) -> Paths {
        Paths {
            choice: Choice::of(topology, code, host),
            rounds: BTreeMap::new(),
            penalties: Penalties::of(routing),
            random: Stream::new(seed, Purpose::Paths, host.into()),
        }
    }

    /// The path for the next packet to `dst`, of data or not.
    #[inline]
    pub fn next(&mut self, dst: HostId, is_data: bool) -> u16 {
        let new = || self.choice.to(dst).map(|paths| Round::of(&paths, self.penalties));
        let round = self.rounds.entry((dst, is_data)).or_insert_with(new);
        round.as_mut().map_or(0, |round| round.next(&mut self.random))
    }

    /// The same among those that fit, if any is left of them in this round.
    pub fn next_among(&mut self, dst: HostId, is_data: bool, fits: &mut Fits<'_>) -> Option<u16> {
        let new = || self.choice.to(dst).map(|paths| Round::of(&paths, self.penalties));
        match self.rounds.entry((dst, is_data)).or_insert_with(new) {
            Some(round) => round.next_among(fits, &mut self.random),
            None => fits(0).then_some(0),
        }
    }

    /// Prefetches the paths of data to `dst`.
    #[inline]
    pub fn prefetch(&self, dst: HostId) {
        if let Some(Some(round)) = self.rounds.get(&(dst, true))
            && let Some(next) = round.order.get(round.used)
        {
            prefetch(next);
        }
    }

    /// Learns what became of a data packet to `dst` that took a path.
    #[inline]
    pub fn judge(&mut self, dst: HostId, path: u16, fate: Fate) {
        if self.penalties.is_some()
            && let Some(Some(Round { scoreboard: Some(scoreboard), .. })) = self.rounds.get_mut(&(dst, true))
        {
            scoreboard.note(path, fate);
        }
    }
}

impl Round {
    fn of(paths: &[u16], penalties: Option<Penalties>) -> Round {
        let scoreboard = penalties.map(|penalties| Scoreboard::new(paths, penalties));
        Round { order: paths.into(), used: 0, active: paths.len(), scoreboard }
    }

    /// Moves the paths that this round leaves out to the end.
    fn leave_out(&mut self, scoreboard: &mut Scoreboard) {
        scoreboard.start_round();
        self.active = self.order.len();
        let mut place = 0;
        while place < self.active {
            if scoreboard.leaves_out(self.order[place]) {
                self.active -= 1;
                self.order.swap(place, self.active);
            } else {
                place += 1;
            }
        }
    }

    /// Draws from the paths that were not used in this round (Fisher and Yates' shuffle, a step for each packet).
    fn next(&mut self, random: &mut Stream) -> u16 {
        self.begin();
        let left = self.active - self.used;
        let drawn = self.used + random.below(narrow::<u32>(left)) as usize;
        self.take(drawn, left)
    }

    /// The same among those that fit: the first of them from the one drawn.
    fn next_among(&mut self, fits: &mut Fits<'_>, random: &mut Stream) -> Option<u16> {
        self.begin();
        let left = self.active - self.used;
        let first = random.below(narrow::<u32>(left)) as usize;
        let places = (0..left).map(|step| self.used + (first + step) % left);
        let found = places.into_iter().find(|&place| fits(self.order[place]))?;
        Some(self.take(found, left))
    }

    #[inline(always)]
    fn begin(&mut self) {
        if self.used == 0
            && let Some(mut scoreboard) = self.scoreboard.take()
        {
            self.leave_out(&mut scoreboard);
            self.scoreboard = Some(scoreboard);
        }
    }

    /// Takes the path at a place; so many are left in this round.
    #[inline(always)]
    fn take(&mut self, place: usize, left: usize) -> u16 {
        self.order.swap(self.used, place);
        let path = self.order[self.used];
        self.used = if left == 1 { 0 } else { self.used + 1 };
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn rounds(topology: &Topology, dst: HostId, paths: usize) {
        let code = PathCode::new(topology).expect("few paths");
        let mut chosen = Paths::new(topology, &code, &Values::default(), 0, 1);
        let rounds: Vec<Vec<u16>> =
            (0..20).map(|_| (0..paths).map(|_| chosen.next(dst, true)).collect()).collect();
        for round in &rounds {
            assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), paths, "{round:?}");
        }
        let orders = rounds.iter().collect::<BTreeSet<_>>().len();
        assert!(paths < 4 || orders > 15, "{orders} orders");
    }

    #[test]
    fn each_round_uses_every_path_once_in_a_new_order() {
        let tree = Topology::of_counts("fat-tree", &[("k", 6)]);
        for (dst, paths) in [(1, 1), (3, 3), (9, 9), (53, 9)] {
            rounds(&tree, dst, paths);
        }
        let leaves =
            Topology::of_counts("leaf-spine", &[("spines", 5), ("leaves", 3), ("hosts_per_leaf", 2)]);
        rounds(&leaves, 1, 1);
        rounds(&leaves, 4, 5);
        rounds(&Topology::of_counts("rack", &[("hosts", 4)]), 2, 1);
    }

    #[test]
    fn answers_to_a_host_take_no_turns_from_data_to_it() {
        let tree = Topology::of_counts("fat-tree", &[("k", 4)]);
        let code = PathCode::new(&tree).expect("few paths");
        let mut chosen = Paths::new(&tree, &code, &Values::default(), 0, 1);
        for _ in 0..10 {
            let mut used = [BTreeSet::new(), BTreeSet::new()];
            for _ in 0..4 {
                used[0].insert(chosen.next(15, true));
                used[1].insert(chosen.next(15, false));
            }
            assert_eq!(used.map(|paths| paths.len()), [4, 4]);
        }
    }

    #[test]
    fn a_path_names_an_up_port_for_each_tier() {
        let tree = Topology::of_counts("fat-tree", &[("k", 6)]);
        let Some(PathCode::UpPorts(digits)) = PathCode::new(&tree) else { panic!("few paths, in tiers") };
        let pairs: BTreeSet<(u32, u32)> =
            paths_up_to(3, &digits).iter().map(|&path| (digits[1].of(path), digits[2].of(path))).collect();
        assert_eq!(pairs, (0..3).flat_map(|edge| (0..3).map(move |up| (edge, up))).collect());
    }
}

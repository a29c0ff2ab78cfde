//! The ways of a host with links into several fabrics: of those in which the destination is, too, it takes the
//! nearest.

use super::wiring::Wiring;
use crate::flow::HostId;
use crate::units::{Rate, Time};

/// Where a host is found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) fabric: u32,
    /// The edge's number in the fabric.
    pub(super) edge: u32,
    /// The port at the edge that leads to the host, if it is not the edge itself.
    pub(super) down: u32,
    /// The host's own port there.
    pub(super) up: u32,
    /// Whether the host is reached by the one, and reaches the edge by the other.
    pub(super) is_reached: bool,
    pub(super) is_left: bool,
    /// What a packet takes on either.
    down_takes: Time,
    up_takes: Time,
    up_rate: Rate,
}

impl Place {
    /// Of a host at a port of its edge: all but the last step is that of others there.
    pub(super) fn at(wiring: &Wiring<'_>, (fabric, edge): (u32, u32), host: HostId, link: u32) -> Place {
        let back = wiring.back(link);
        let is_single = wiring.is_single(host);
        Place {
            fabric,
            edge,
            down: wiring.far_ends[link as usize].1,
            up: link - wiring.ports(host).start,
            // A host with one link has no other way.
            is_reached: is_single || wiring.is_open(back),
            is_left: is_single || wiring.is_open(link),
            down_takes: wiring.takes(back),
            up_takes: wiring.takes(link),
            up_rate: wiring.rate(link),
        }
    }

    /// Of a host that is an edge itself.
    pub(super) fn of_edge(fabric: u32, edge: u32) -> Place {
        let none = (Time::ZERO, Rate(1));
        Place {
            fabric,
            edge,
            down: 0,
            up: 0,
            is_reached: true,
            is_left: true,
            down_takes: none.0,
            up_takes: none.0,
            up_rate: none.1,
        }
    }
}

/// A way into a fabric, as it compares to others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) hops: u32,
    takes: Time,
    rate: Rate,
    port: u32,
    paths: u32,
}

impl Way {
    /// By a place of the source's to one of the destination's in the same fabric.
    pub(super) fn between(from: &Place, to: &Place, (hops, takes): (u32, Time), paths: u32) -> Way {
        let takes = from.up_takes + takes + to.down_takes;
        Way { hops, takes, rate: from.up_rate, port: from.up, paths }
    }
}

/// The ways of one host to all others: the same for long runs of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Choices {
    /// The first destination of each run, and the number of its ways.
    runs: Vec<(HostId, u32)>,
    /// Ports, the best first, and how many paths there are by them.
    ways: Vec<(Box<[u32]>, u32)>,
}

impl Choices {
    /// Adds the next destination, given all ways to it.
    pub(super) fn add(&mut self, dst: HostId, ways: &mut Vec<Way>) {
        let least = ways.iter().map(|way| way.hops).min();
        ways.retain(|way| Some(way.hops) == least);
        ways.sort_unstable_by_key(|way| (way.takes, std::cmp::Reverse(way.rate), way.port));
        let paths = ways.iter().fold(0, |sum: u32, way| sum.saturating_add(way.paths));
        let ports = || ways.iter().map(|way| way.port);
        let is_it = |(known, count): &(Box<[u32]>, u32)| {
            *count == paths && known.len() == ways.len() && known.iter().copied().eq(ports())
        };
        let last = self.runs.last().map(|&(_, number)| number);
        if last.is_some_and(|last| is_it(&self.ways[last as usize])) {
            return;
        }
        let number = self.ways.iter().position(is_it).unwrap_or_else(|| {
            self.ways.push((ports().collect(), paths));
            self.ways.len() - 1
        });
        self.runs.push((dst, number as u32));
    }

    /// The ports to a host, and how many paths there are.
    pub(super) fn to(&self, dst: HostId) -> (&[u32], u32) {
        let run = self.runs.partition_point(|&(first, _)| first <= dst);
        let Some(&(_, number)) = run.checked_sub(1).and_then(|run| self.runs.get(run)) else {
            return (&[], 0);
        };
        let (ports, paths) = &self.ways[number as usize];
        (ports, *paths)
    }

    /// All that there are to some host.
    pub(super) fn all(&self) -> impl Iterator<Item = (&[u32], u32)> {
        self.ways.iter().map(|(ports, paths)| (&ports[..], *paths))
    }
}

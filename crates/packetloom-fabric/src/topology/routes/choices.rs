//! The ways of a host with links into several fabrics: of those in which the destination is, too, it takes the
//! nearest.

use super::wiring::Wiring;
use crate::flow::HostId;
use crate::narrow::exact;
use crate::units::{Rate, Time};
use std::collections::BTreeMap;

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

/// The ways of one host to all others.
#[derive(Clone, Debug)]
pub(super) struct Choices {
    /// For each class of hosts, the number of the ways to them.
    of_classes: Box<[u32]>,
    /// Of hosts with which this one shares a fabric of one switch: themselves, and the number.
    inside: Vec<(HostId, u32)>,
    /// Ports, the best first, and how many paths there are by them.
    ways: Vec<(Box<[u32]>, u32)>,
}

/// What is not used.
const NONE: u32 = u32::MAX;

impl Choices {
    pub(super) fn new(classes: usize) -> Choices {
        Choices { of_classes: vec![NONE; classes].into(), inside: Vec::new(), ways: Vec::new() }
    }

    /// Notes the ways to a class of hosts, given all that there are.
    pub(super) fn set_class(&mut self, class: u32, ways: &mut Vec<Way>) {
        self.of_classes[class as usize] = self.number(ways);
    }

    /// Notes those to one host, the next in order.
    pub(super) fn add_inside(&mut self, dst: HostId, ways: &mut Vec<Way>) {
        let number = self.number(ways);
        self.inside.push((dst, number));
    }

    /// The number of those of the ways that are shortest.
    fn number(&mut self, ways: &mut Vec<Way>) -> u32 {
        let least = ways.iter().map(|way| way.hops).min();
        ways.retain(|way| Some(way.hops) == least);
        ways.sort_unstable_by_key(|way| (way.takes, std::cmp::Reverse(way.rate), way.port));
        let paths = ways.iter().fold(0, |sum: u32, way| sum.saturating_add(way.paths));
        let ports: Box<[u32]> = ways.iter().map(|way| way.port).collect();
        let known = self.ways.iter().position(|known| *known == (ports.clone(), paths));
        exact::<u32>(known.unwrap_or_else(|| {
            self.ways.push((ports, paths));
            self.ways.len() - 1
        }))
    }

    /// The ports to a host of a class, and how many paths there are.
    #[inline]
    pub(super) fn to(&self, dst: HostId, class: u32) -> (&[u32], u32) {
        let inside = self.inside.binary_search_by_key(&dst, |&(host, _)| host);
        let number = inside.map_or(self.of_classes[class as usize], |place| self.inside[place].1);
        self.ways.get(number as usize).map_or((&[], 0), |(ports, paths)| (ports, *paths))
    }

    /// All that there are to some host.
    pub(super) fn all(&self) -> impl Iterator<Item = (&[u32], u32)> {
        self.ways.iter().map(|(ports, paths)| (&ports[..], *paths))
    }
}

/// Hosts that others reach alike, except by fabrics of one switch.
#[derive(Clone, Debug, Default)]
pub(super) struct Classes {
    /// Each host's class.
    pub(super) of_hosts: Vec<u32>,
    /// The hosts of each.
    pub(super) members: Vec<Vec<HostId>>,
    /// The hosts in each fabric of one switch.
    pub(super) inside: BTreeMap<u32, Vec<HostId>>,
}

impl Classes {
    /// Of hosts at these places; `is_one`: whether a fabric has one switch at which hosts are.
    pub(super) fn of<'a>(places: impl Iterator<Item = &'a [Place]>, is_one: impl Fn(u32) -> bool) -> Classes {
        let mut known: BTreeMap<Vec<(u32, u32, bool, Time)>, u32> = BTreeMap::new();
        let mut classes = Classes::default();
        for (host, places) in (0..).zip(places) {
            for place in places.iter().filter(|place| is_one(place.fabric)) {
                classes.inside.entry(place.fabric).or_default().push(host);
            }
            let apart = places.iter().filter(|place| !is_one(place.fabric));
            let key = apart.map(|at| (at.fabric, at.edge, at.is_reached, at.down_takes)).collect();
            let next = exact::<u32>(known.len());
            let class = *known.entry(key).or_insert(next);
            if class == next {
                classes.members.push(Vec::new());
            }
            classes.members[class as usize].push(host);
            classes.of_hosts.push(class);
        }
        classes
    }
}

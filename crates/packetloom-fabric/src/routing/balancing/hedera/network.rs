//! The network as the scheduler sees it: the links of each path, and what they carry.

use super::super::super::paths::{Choice, PathCode};
use crate::flow::HostId;
use crate::topology::KnownRates;
use crate::topology::{Link, PathNumber, Reach, Topology};
use crate::units::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The paths to the switch of a host from another; nothing where there is but one.
type PathsTo = Option<Arc<[u16]>>;

/// A network, its links' rates counted in those of a host's.
pub(super) struct Network {
    topology: Topology,
    code: PathCode,
    /// For each host, the switch that it is at.
    edges: Vec<u32>,
    /// What is known of links whose rates have changed.
    known: KnownRates,
    /// By the switches at both ends.
    paths: BTreeMap<(u32, u32), PathsTo>,
}

impl Network {
    pub(super) fn of(topology: &Topology, known: KnownRates) -> Network {
        let edge_of = |host: u32| topology.links[topology.nodes[host as usize].ports.start as usize].dst;
        Network {
            code: PathCode::new(topology).expect("a checked network has few enough paths"),
            edges: (0..topology.hosts).map(edge_of).collect(),
            topology: topology.clone(),
            known,
            paths: BTreeMap::new(),
        }
    }

    /// How many hosts there are.
    pub(super) fn hosts(&self) -> u32 {
        self.topology.hosts
    }

    /// The rate of a host's link, in that of the first.
    pub(super) fn host_rate(&self, host: HostId) -> f64 {
        self.share(self.topology.rate_of(host).as_bps())
    }

    /// What each link carries at a time, as far as is known; nothing, if it is known to be dead.
    pub(super) fn rates(&self, now: Time) -> Vec<f64> {
        let known = self.known.iter().rev().find(|(from, _)| *from <= now).map(|(_, rates)| rates);
        let rate = |(number, link): (usize, &Link)| {
            let rate = known.and_then(|rates| rates.get(&number)).unwrap_or(&link.rate);
            self.share(rate.as_bps())
        };
        self.topology.links.iter().enumerate().map(rate).collect()
    }

    fn share(&self, bps: u64) -> f64 {
        bps as f64 / self.topology.nic_rate().as_bps() as f64
    }

    /// The paths from one host to another, if there are several.
    pub(super) fn paths(&mut self, src: HostId, dst: HostId) -> PathsTo {
        let ends = (self.edges[src as usize], self.edges[dst as usize]);
        let find = || Choice::of(&self.topology, &self.code, src).to(dst);
        self.paths.entry(ends).or_insert_with(find).clone()
    }

    /// Puts the links between switches on a path into `links`.
    pub(super) fn links(&self, (src, dst): (HostId, HostId), path: u16, links: &mut Vec<usize>) {
        links.clear();
        let mut node = self.edges[src as usize];
        while node != self.edges[dst as usize] {
            let at = &self.topology.nodes[node as usize];
            let port = match &self.code {
                PathCode::UpPorts(digits) => match at.reach.first_port_to(dst) {
                    up if up == at.reach.down_ports => up + digits[usize::from(at.tier)].of(path),
                    down => down,
                },
                PathCode::Places(routes) => {
                    let number = PathNumber { src, dst, number: path.into() };
                    routes.port_on(node, number).expect("a path leads to its end")
                }
            };
            let link = (at.ports.start + port) as usize;
            links.push(link);
            node = self.topology.links[link].dst;
        }
    }

    /// What all destinations may be reached by: each host is given one of these.
    pub(super) fn ways(&self) -> u32 {
        match &self.code {
            PathCode::UpPorts(digits) => digits.iter().map(|digit| digit.ports().max(1)).product(),
            PathCode::Places(routes) => routes.most_paths(),
        }
    }

    /// The path between two hosts, of several, that one of the ways is. Where addresses tell the way down, it is a
    /// core switch: all that goes to a host by it comes to it on the same links.
    pub(super) fn path_by(&self, way: u32, paths: &[u16]) -> u16 {
        match &self.code {
            PathCode::UpPorts(digits) => {
                let mut rest = way;
                let mut path = 0;
                for digit in digits.iter().filter(|digit| digit.ports() > 0) {
                    path |= digit.with(rest % digit.ports());
                    rest /= digit.ports();
                }
                path
            }
            PathCode::Places(_) => paths[way as usize % paths.len()],
        }
    }

    /// The hosts at the switch of a host, and those in its pod: below the switches next to that one.
    pub(super) fn neighbours(&self, host: HostId) -> [(HostId, u32); 2] {
        let edge = &self.topology.nodes[self.edges[host as usize] as usize];
        let all = (0, self.topology.hosts);
        if self.topology.routes().is_some() {
            return [all, all];
        }
        let up = edge.ports.start + edge.reach.down_ports;
        let pod = (up < edge.ports.end)
            .then(|| self.topology.nodes[self.topology.links[up as usize].dst as usize].reach);
        let hosts_of = |reach: Reach| (reach.first_host, reach.hosts);
        [hosts_of(edge.reach), pod.map_or(all, hosts_of)]
    }
}

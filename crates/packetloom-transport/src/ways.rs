//! The ways between hosts, for what a scheme works out of a network before it runs.

use crate::flow::HostId;
use crate::topology::{Link, Topology};
use crate::units::{Rate, Time};
use std::collections::BTreeMap;

/// The links of a way between two hosts.
pub fn path(topology: &Topology, src: HostId, dst: HostId) -> Vec<&Link> {
    topology.path(src, dst).into_iter().map(|link| &topology.links[link]).collect()
}

/// What a packet of so many bytes on the wire takes by the slowest of the shortest ways between two hosts.
pub fn slowest(topology: &Topology, src: HostId, dst: HostId, bytes: u64) -> Time {
    let takes = |link: &Link| link.latency + link.rate.time_for(bytes);
    let Some(routes) = topology.routes() else {
        // Addresses determine the way, or all are alike.
        return Time(path(topology, src, dst).into_iter().map(|link| takes(link).as_ps()).sum());
    };
    let mut reached = BTreeMap::from([(src, Time::ZERO)]);
    while !reached.contains_key(&dst) {
        let mut next = BTreeMap::new();
        for (&node, &time) in &reached {
            let ports = &topology.nodes[node as usize].ports;
            let ways = if ports.len() == 1 { &[0] } else { routes.to(node, dst) };
            for way in ways {
                let link = &topology.links[(ports.start + way) as usize];
                let slowest = next.entry(link.dst).or_insert(Time::ZERO);
                *slowest = (*slowest).max(time + takes(link));
            }
        }
        reached = next;
    }
    reached[&dst]
}

/// Pairs of hosts among which the longest path is, and the shortest. Where addresses determine the way, all hosts see
/// the same network.
pub fn distinct_pairs(topology: &Topology) -> Vec<(HostId, HostId)> {
    if topology.routes().is_none() || topology.hosts_see_the_same {
        return (1..topology.hosts).map(|dst| (0, dst)).collect();
    }
    let mut alike: BTreeMap<_, Vec<HostId>> = BTreeMap::new();
    for host in 0..topology.hosts {
        alike.entry(way_in(topology, host)).or_default().push(host);
    }
    let firsts: Vec<HostId> = alike.values().map(|hosts| hosts[0]).collect();
    let apart = firsts.iter().flat_map(|&src| firsts.iter().map(move |&dst| (src, dst)));
    let together = alike.values().filter(|hosts| hosts.len() > 1).map(|hosts| (hosts[0], hosts[1]));
    apart.filter(|(src, dst)| src != dst).chain(together).collect()
}

/// What sets a host's ways to others: its switch, and its link there. A host with several links is like no other.
fn way_in(topology: &Topology, host: HostId) -> (u32, u32, Rate, Time, Time) {
    let ports = topology.nodes[host as usize].ports.clone();
    let link = &topology.links[ports.start as usize];
    let own = if ports.len() > 1 || link.dst < topology.hosts { host } else { u32::MAX };
    let back = &topology.nodes[link.dst as usize];
    let back = back.ports.clone().map(|port| &topology.links[port as usize]).find(|link| link.dst == host);
    (link.dst, own, link.rate, link.latency, back.map_or(Time::ZERO, |link| link.latency))
}

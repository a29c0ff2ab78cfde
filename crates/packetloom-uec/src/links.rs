//! The networks that hosts' links lead into, where hosts have several links.
//!
//! Parts of the network that no link between switches joins are networks of their own: the planes of a NIC together
//! are one, the switch inside a server is another. Windows, the delay that they aim at, credit and timeouts go by the
//! round trip and the rate of the network that a flow crosses.

use super::config::{Config, longest_rtt_of};
use crate::flow::HostId;
use crate::narrow::exact;
use crate::routing;
use crate::spec::{Complaint, Values};
use crate::topology::Topology;
use crate::units::{Rate, Time};
use packetloom_transport::ways::distinct_pairs;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// No part: the far end of a wire between two hosts.
const WIRE: u32 = u32::MAX;

/// What is known of all hosts' links.
#[derive(Clone, Debug)]
pub struct Links {
    topology: Topology,
    /// Of each node that is a switch, its part of the network.
    parts: Vec<u32>,
    networks: BTreeMap<Vec<u32>, Network>,
    /// Whether a flow's packets are spread over all links to its destination; otherwise they keep to one.
    spreads: bool,
}

/// A network that some of a host's links lead into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// The longest round trip without queues.
    pub rtt: Time,
    /// The most links between two hosts.
    pub hops: usize,
}

/// A host's ways to another.
#[derive(Clone, Copy, Debug)]
pub struct Ways {
    /// What they cross.
    pub network: Network,
    /// The rate that a flow can have.
    pub rate: Rate,
    /// The rate of one link; the least, where they differ.
    pub link_rate: Rate,
}

impl Links {
    /// Those of a network, if some host has several; `sizes`: bytes of a full packet and of its answer.
    pub fn of(topology: &Topology, sizes: [u64; 2], spreads: bool) -> Option<Links> {
        if !topology.has_hosts_with_several_links() {
            return None;
        }
        let parts = parts(topology);
        let mut links = Links { topology: topology.clone(), parts, networks: BTreeMap::new(), spreads };
        for pair @ (src, dst) in distinct_pairs(topology) {
            let key = links.key(src, links.ports(src, dst));
            let network = links.networks.entry(key).or_default();
            network.rtt = network.rtt.max(longest_rtt_of([pair], topology, sizes));
            network.hops = network.hops.max(topology.path(src, dst).len());
        }
        Some(links)
    }

    /// The host's own ports by which it reaches another, counted from 0.
    pub fn ports(&self, host: HostId, peer: HostId) -> &[u32] {
        ports(&self.topology, host, peer)
    }

    /// What names a network: where all hosts see the same, the ports that lead there; otherwise its parts.
    fn key(&self, host: HostId, ports: &[u32]) -> Vec<u32> {
        if self.topology.hosts_see_the_same {
            return ports.to_vec();
        }
        let first = self.topology.nodes[host as usize].ports.start;
        let part = |port: &u32| self.parts[self.topology.links[(first + port) as usize].dst as usize];
        ports.iter().map(part).collect::<BTreeSet<u32>>().into_iter().collect()
    }

    /// A host's ways to another.
    pub fn ways(&self, host: HostId, peer: HostId) -> Ways {
        let ports = self.ports(host, peer);
        let first = self.topology.nodes[host as usize].ports.start;
        let rates = || ports.iter().map(|port| self.topology.links[(first + port) as usize].rate);
        let all = Rate(rates().map(Rate::as_bps).sum());
        Ways {
            network: self.networks.get(&self.key(host, ports)).copied().unwrap_or_default(),
            rate: if self.spreads { all } else { rates().max().unwrap_or(all) },
            link_rate: rates().min().unwrap_or(all),
        }
    }
}

fn ports(topology: &Topology, host: HostId, peer: HostId) -> &[u32] {
    match topology.routes() {
        Some(routes) if topology.nodes[host as usize].ports.len() > 1 => routes.to(host, peer),
        _ => &[0],
    }
}

/// For each switch, which of the parts it is in that links between switches join.
fn parts(topology: &Topology) -> Vec<u32> {
    let mut parts = vec![WIRE; topology.nodes.len()];
    for switch in topology.hosts..exact::<u32>(topology.nodes.len()) {
        let mut found = VecDeque::new();
        if parts[switch as usize] == WIRE {
            parts[switch as usize] = switch;
            found.push_back(switch);
        }
        while let Some(node) = found.pop_front() {
            for link in topology.nodes[node as usize].ports.clone() {
                let next = topology.links[link as usize].dst;
                if next >= topology.hosts && parts[next as usize] == WIRE {
                    parts[next as usize] = switch;
                    found.push_back(next);
                }
            }
        }
    }
    parts
}

/// Receivers pull at the rate of the links that lead to a sender. Where some links lead to one and others of these to
/// another, nothing says how both share them.
pub fn check_pulls(topology: &Topology) -> Result<(), Complaint> {
    let hosts = if topology.hosts_see_the_same { 1 } else { topology.hosts };
    for host in (0..hosts).filter(|&host| topology.nodes[host as usize].ports.len() > 1) {
        let peers = (0..topology.hosts).filter(|&peer| peer != host);
        let sets: BTreeSet<&[u32]> = peers.map(|peer| ports(topology, host, peer)).collect();
        let mut taken = BTreeSet::new();
        if !sets.iter().copied().flatten().all(|port| taken.insert(port)) {
            let message = format!(
                "receivers pull at the rate of the links that lead to a sender, and those of {} lead to some hosts together and to others apart; write {{ kind = \"uec\", control = \"nscc\" }}, whose senders have windows",
                topology.node_name(host)
            );
            return Err(Complaint::new("scheme.transport", message));
        }
    }
    Ok(())
}

/// What receivers pull comes by all links together, so packets have to be spread over them.
pub fn check_spread(routing: &Values, topology: &Topology) -> Result<(), Complaint> {
    let has_several =
        |host: HostId| (0..topology.hosts).any(|peer| peer != host && ports(topology, host, peer).len() > 1);
    let hosts = if topology.hosts_see_the_same { 1 } else { topology.hosts };
    if routing::hosts_spread(routing) || !(0..hosts).any(has_several) {
        return Ok(());
    }
    let message = format!(
        "{} keeps a flow to one of its host's links, and receivers pull at the rate of all of a NIC's ports together; write one by which hosts spread packets, such as \"reps\"",
        routing.kind
    );
    Err(Complaint::new("scheme.routing", message))
}

/// Nor can ordered flows use all links, whose packets take one path.
pub fn check_ordered(topology: &Topology) -> Result<(), Complaint> {
    if !topology.has_hosts_with_several_links() {
        return Ok(());
    }
    let message = "service = \"rod\" keeps a flow to one of its host's links, and receivers pull at the rate of all of a NIC's ports together; write { kind = \"uec\", service = \"rod\", control = \"nscc\" }";
    Err(Complaint::new("scheme.transport", message))
}

impl Config {
    /// The same for flows on some of the networks that hosts' links lead into.
    pub fn on_ways(&self, ways: &Ways) -> Config {
        let rtt = self.base_rtt.unwrap_or(ways.network.rtt).max(Time(1));
        let config = self.clone().at(rtt, ways.link_rate);
        // Below one switch there is no fabric that could be oversubscribed.
        let oversubscribed = config.oversubscribed.filter(|_| ways.network.hops > 2);
        Config { oversubscribed, ..config }
    }
}

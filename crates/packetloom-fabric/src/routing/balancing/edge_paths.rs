//! The paths between the switches of hosts, for balancers that choose a whole path there.

use super::super::paths::{Choice, PathCode};
use super::{Home, Passing, Ways};
use crate::flow::HostId;
use crate::topology::{PathNumber, Topology};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a switch knows of paths.
pub(super) struct EdgePaths {
    node: u32,
    tier: u8,
    first_up_port: u32,
    /// For each host, the switch that it is at.
    edges: Arc<[u32]>,
    code: PathCode,
    /// The paths from the hosts here, if there are any.
    choice: Option<Choice>,
    /// By the switch that they lead to; nothing where there is but one.
    to_edges: BTreeMap<u32, Option<Arc<[u16]>>>,
}

/// Whether a network has what balancers that choose whole paths need: one switch for each host, and few enough
/// paths.
pub(in crate::routing) fn are_countable(topology: &Topology) -> bool {
    !topology.has_hosts_with_several_links() && PathCode::new(topology).is_some()
}

impl EdgePaths {
    /// What the switch of a balancer knows.
    pub(super) fn of(home: &Home<'_>) -> EdgePaths {
        let Home { topology, node, .. } = *home;
        let edge_of = |host: u32| topology.links[topology.nodes[host as usize].ports.start as usize].dst;
        let edges: Arc<[u32]> = (0..topology.hosts).map(edge_of).collect();
        let code = PathCode::new(topology).expect("a checked network has few enough paths");
        let own_host = (0..).zip(edges.iter()).find(|&(_, &edge)| edge == node).map(|(host, _)| host);
        EdgePaths {
            node,
            tier: topology.nodes[node as usize].tier,
            first_up_port: topology.nodes[node as usize].reach.down_ports,
            choice: own_host.map(|host| Choice::of(topology, &code, host)),
            edges,
            code,
            to_edges: BTreeMap::new(),
        }
    }

    /// The switch of a host.
    pub(super) fn edge_of(&self, host: HostId) -> u32 {
        self.edges[host as usize]
    }

    /// Whether a packet stays below its switch.
    pub(super) fn is_local(&self, packet: &Passing) -> bool {
        self.edge_of(packet.src) == self.edge_of(packet.dst)
    }

    /// Whether this is the switch of a host.
    pub(super) fn is_at(&self, host: HostId) -> bool {
        self.edge_of(host) == self.node
    }

    /// The paths to the switch of a host, if there are several.
    pub(super) fn to(&mut self, dst: HostId) -> Option<Arc<[u16]>> {
        let choice = self.choice.as_ref()?;
        self.to_edges.entry(self.edges[dst as usize]).or_insert_with(|| choice.to(dst)).clone()
    }

    /// The port by which a packet that takes a path leaves: that of ECMP, if the path leads by none that is open.
    pub(super) fn port(&self, packet: &Passing, path: Option<u16>, ways: Ways<'_>) -> u32 {
        if ways.is_only() {
            return ways.port(0);
        }
        let port = path.and_then(|path| self.port_on(packet, path));
        port.filter(|&port| ways.contain(port)).unwrap_or(packet.ecmp)
    }

    /// Whether the path begins at a port that leads to the destination.
    pub(super) fn is_open(&self, packet: &Passing, path: u16, ways: Ways<'_>) -> bool {
        self.port_on(packet, path).is_some_and(|port| ways.contain(port))
    }

    fn port_on(&self, packet: &Passing, path: u16) -> Option<u32> {
        match &self.code {
            PathCode::UpPorts(digits) => Some(self.first_up_port + digits[usize::from(self.tier)].of(path)),
            PathCode::Places(routes) => {
                let number = PathNumber { src: packet.src, dst: packet.dst, number: path.into() };
                routes.port_on(self.node, number)
            }
        }
    }
}

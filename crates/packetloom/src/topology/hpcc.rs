//! A network of any shape, from a file of the HPCC, ConWeave or SimAI simulators.

use super::link::{COMMON_PARAMS, check_common};
use super::{Builder, Reach, Topology, link};
use crate::formats::{FileError, hpcc_topology};
use crate::spec::{Complaint, Component, Fallback, Kind, Param, Values};
use std::collections::BTreeSet;

const TIERS: &[&str] = &["host", "switch"];

/// The component.
pub const COMPONENT: Component = Component {
    section: "topology",
    kind: "hpcc",
    doc: "The network of a topology.txt of the HPCC, ConWeave or SimAI simulators: any graph of hosts, each on one switch, and switches. Packets take shortest paths by hops.",
    source: "HPCC's ns-3 simulator",
    params: &[
        &[Param {
            name: "file",
            kind: Kind::Text,
            default: Fallback::Required,
            doc: "The file: the numbers of nodes, switches and links; the switches' ids; and a link a line: `src dst 100Gbps 1000ns error_rate`.",
            source: "packetloom",
        }],
        COMMON_PARAMS,
    ],
    check: |values| check_common(values, TIERS.len() - 1),
};

pub(super) fn build(values: &Values) -> Result<Topology, Complaint> {
    let file = values.text("file");
    crate::formats::read(&file, |text| {
        let network = hpcc_topology::read(text)?;
        lay_out(&network, values)
    })
}

fn lay_out(network: &hpcc_topology::Network, values: &Values) -> Result<Topology, FileError> {
    let hosts = (0..network.nodes).filter(|id| !network.switches.contains(id));
    let ids: Vec<u32> = hosts.chain(network.switches.iter().copied()).collect();
    let host_count = ids.len() as u32 - network.switches.len() as u32;
    check(network, host_count)?;
    let mut numbers = vec![0; ids.len()];
    for (number, &id) in (0..).zip(&ids) {
        numbers[id as usize] = number;
    }
    let mut builder = Builder::new(values, TIERS);
    for number in 0..network.nodes {
        builder.node(u8::from(number >= host_count), Reach::default());
    }
    let mut error_rates = Vec::new();
    for cable in &network.cables {
        let (one, other) = (numbers[cable.ends.0 as usize], numbers[cable.ends.1 as usize]);
        let figures = link::Cable { rate: cable.rate, delay: cable.delay };
        builder.link(one, other, figures);
        builder.link(other, one, figures);
        error_rates.extend([(one, other, cable.error_rate), (other, one, cable.error_rate)]);
    }
    let mut topology = builder.finish(values);
    topology.ids = ids;
    // Links were sorted by their source, parallel ones in the order of the file: so are these.
    error_rates.sort_by_key(|&(src, _, _)| src);
    topology.error_rates = error_rates.into_iter().map(|(_, _, rate)| rate).collect();
    topology.find_routes();
    for host in 1..host_count {
        let switch = topology.links[topology.nodes[0].ports.start as usize].dst;
        if topology.routes().is_some_and(|routes| routes.to(switch, host).is_empty()) {
            let message =
                format!("no way leads from host {} to host {}", topology.ids[0], topology.ids[host as usize]);
            return Err(FileError::new(1, message));
        }
    }
    Ok(topology)
}

/// Hosts have one link each, to a switch; rates and delays are ones that can be simulated.
fn check(network: &hpcc_topology::Network, hosts: u32) -> Result<(), FileError> {
    if hosts < 2 {
        return Err(FileError::new(1, format!("{hosts} of the nodes are hosts; there must be two at least")));
    }
    let is_host = |id: &u32| !network.switches.contains(id);
    let mut linked = BTreeSet::new();
    for cable in &network.cables {
        let error = |message: String| Err(FileError::new(cable.line, message));
        let ends = [cable.ends.0, cable.ends.1];
        if ends.iter().all(is_host) {
            return error(format!("{} and {} are both hosts; link each to a switch", ends[0], ends[1]));
        }
        if let Some(host) = ends.into_iter().filter(is_host).find(|host| !linked.insert(*host)) {
            return error(format!("host {host} has a second link; here a host has one"));
        }
        if let Err(message) = link::check_figures(cable.rate, cable.delay) {
            return error(message);
        }
    }
    match (0..network.nodes).filter(is_host).find(|host| !linked.contains(host)) {
        Some(host) => Err(FileError::new(1, format!("host {host} has no link"))),
        None => Ok(()),
    }
}

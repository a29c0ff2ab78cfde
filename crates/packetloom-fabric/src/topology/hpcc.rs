//! A network of any shape, from a file of the HPCC, ConWeave or SimAI simulators.

use super::link::{COMMON_PARAMS, check_common};
use super::{Builder, Reach, Topology, link};
use crate::formats::{FileError, hpcc_topology};
use crate::narrow::exact;
use crate::spec::{Complaint, Component, Kind, Values, param};
use std::collections::BTreeSet;

const TIERS: &[&str] = &["host", "switch"];

/// The component.
pub const COMPONENT: Component = Component {
    section: "topology",
    kind: "hpcc",
    doc: "The network of a topology.txt of the HPCC, ConWeave or SimAI simulators: any graph of hosts and switches. Packets take shortest paths by hops, through switches only; of a host's several links a flow takes one.",
    source: "HPCC's ns-3 simulator",
    params: &[
        &[param! {
            required "file": Kind::Text,
            "The file: the numbers of nodes, switches and links; the switches' ids; and a link a line: `src dst 100Gbps 1000ns error_rate`.",
            "packetloom"
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
    let host_count = network.nodes - exact::<u32>(network.switches.len());
    // First, so that a number of nodes beyond all bounds is found before anything is made of so many.
    check(network, host_count)?;
    let hosts = (0..network.nodes).filter(|id| !network.switches.contains(id));
    let ids: Vec<u32> = hosts.chain(network.switches.iter().copied()).collect();
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
    check_ways(&topology)?;
    Ok(topology)
}

/// Every host has a link; rates and delays are ones that can be simulated.
fn check(network: &hpcc_topology::Network, hosts: u32) -> Result<(), FileError> {
    if hosts < 2 {
        return Err(FileError::new(1, format!("{hosts} of the nodes are hosts; there must be two at least")));
    }
    for cable in &network.cables {
        if let Err(message) = link::check_figures(cable.rate, cable.delay) {
            return Err(FileError::new(cable.line, message));
        }
    }
    let linked: BTreeSet<u32> =
        network.cables.iter().flat_map(|cable| [cable.ends.0, cable.ends.1]).collect();
    let mut hosts = (0..network.nodes).filter(|id| !network.switches.contains(id));
    match hosts.find(|host| !linked.contains(host)) {
        Some(host) => Err(FileError::new(1, format!("host {host} has no link"))),
        None => Ok(()),
    }
}

/// Every host reaches every other.
fn check_ways(topology: &Topology) -> Result<(), FileError> {
    let Some(routes) = topology.routes().filter(|routes| !routes.reach_all()) else { return Ok(()) };
    let pairs = (0..topology.hosts).flat_map(|src| (0..topology.hosts).map(move |dst| (src, dst)));
    let mut apart = pairs.filter(|&(src, dst)| routes.paths(src, dst) == 0);
    match apart.next() {
        Some((src, dst)) => {
            let [src, dst] = [src, dst].map(|host| topology.ids[host as usize]);
            let message = format!("no way leads from host {src} to host {dst}; hosts pass nothing on");
            Err(FileError::new(1, message))
        }
        None => Ok(()),
    }
}

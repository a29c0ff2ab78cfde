//! A Clos network of three tiers: pods of leaves and aggregation switches, and a core in planes above them.
//!
//! Every leaf is connected to every aggregation switch of its pod. The j-th aggregation switch of each pod is
//! connected to all core switches of the j-th plane, by one link to each.

use super::link::{COMMON_PARAMS, LINK_PARAMS, cable, check_common};
use super::oversubscription::{self, uplinks};
use super::{Builder, Reach, Topology};
use crate::narrow::exact;
use crate::spec::{Complaint, Component, Kind, Values, param};

const TIERS: &[&str] = &["host", "leaf", "aggregation", "core"];

/// Refuses by arithmetic what memory could not hold.
const MOST_LINKS: u64 = 4_000_000;
/// Ports are worked out of addresses by a multiplication that is exact below 2^20.
const MOST_HOSTS: u64 = 1_000_000;

/// The component.
pub const COMPONENT: Component = Component {
    section: "topology",
    kind: "clos",
    doc: "Three tiers: pods of leaves, each connected to every aggregation switch of its pod, and a core above. Each aggregation switch of a pod is in a plane of its own, with one link to every core switch of the plane. How many switches there are follows from the oversubscription.",
    source: "Clos, 1953; in pods and planes as Andreyev, Introducing data center fabric, Facebook 2014",
    params: &[
        &[
            param! { "pods" = "4": Kind::Count(2), "How many pods there are.", "packetloom" },
            param! { "leaves" = "4": Kind::Count(1), "Leaf switches in each pod.", "packetloom" },
            param! { "hosts_per_leaf" = "8": Kind::Count(1), "Hosts below each leaf.", "packetloom" },
            param! {
                "oversubscription" = "1": oversubscription::KIND,
                "The rate of a leaf's hosts over that of its uplinks, of which it has one to each aggregation switch of its pod; so it gives their number.",
                "packetloom"
            },
            param! {
                "pod_oversubscription" = "1": oversubscription::KIND,
                "The rate of an aggregation switch's links to leaves over that of its links to the core; so it gives the number of core switches in each plane.",
                "packetloom"
            },
            param! {
                "core_link": Kind::Component("link"),
                "The links between aggregation and core, where they differ.", "packetloom"
            },
        ],
        LINK_PARAMS,
        COMMON_PARAMS,
    ],
    check,
};

/// The network in numbers.
struct Shape {
    pods: u32,
    leaves: u32,
    hosts_per_leaf: u32,
    /// Aggregation switches of each pod: the planes.
    planes: u32,
    cores_per_plane: u32,
}

impl Shape {
    fn of(values: &Values) -> Result<Shape, Complaint> {
        let [pods, leaves, below] = ["pods", "leaves", "hosts_per_leaf"].map(|key| values.count(key));
        let hosts = pods.checked_mul(leaves).and_then(|leaves| leaves.checked_mul(below));
        if hosts.is_none_or(|hosts| hosts > MOST_HOSTS) {
            let message = format!("more than {MOST_HOSTS} hosts; write a smaller network");
            return Err(Complaint::new("pods", message));
        }
        let [host, pod, core] = ["host_link", "link", "core_link"].map(|key| cable(values, key).rate);
        let planes = uplinks(values, "oversubscription", "aggregation switches a pod", (below, host), pod)?;
        let cores = uplinks(values, "pod_oversubscription", "core switches a plane", (leaves, pod), core)?;
        let links = planes.checked_mul(leaves + cores).and_then(|links| links.checked_mul(pods));
        if links.is_none_or(|links| links > MOST_LINKS) {
            let message = format!("more than {MOST_LINKS} links; write a smaller network");
            return Err(Complaint::new("pods", message));
        }
        let [pods, leaves, hosts_per_leaf, planes, cores_per_plane] =
            [pods, leaves, below, planes, cores].map(|count| exact::<u32>(count));
        Ok(Shape { pods, leaves, hosts_per_leaf, planes, cores_per_plane })
    }
}

fn check(values: &Values) -> Result<(), Complaint> {
    Shape::of(values)?;
    check_common(values, TIERS.len() - 1)
}

pub(super) fn build(values: &Values) -> Result<Topology, Complaint> {
    check(values)?;
    let Shape { pods, leaves, hosts_per_leaf: below, planes, cores_per_plane } = Shape::of(values)?;
    let pod_hosts = leaves * below;
    let hosts = pods * pod_hosts;
    let (leaf, aggregation) = (hosts, hosts + pods * leaves);
    let core = aggregation + pods * planes;
    let mut builder = Builder::new(values, TIERS);

    for _ in 0..hosts {
        builder.node(0, Reach::default());
    }
    for l in 0..pods * leaves {
        builder.node(1, Reach { first_host: l * below, hosts: below, hosts_per_port: 1, down_ports: below });
    }
    for a in 0..pods * planes {
        let first_host = a / planes * pod_hosts;
        builder.node(2, Reach { first_host, hosts: pod_hosts, hosts_per_port: below, down_ports: leaves });
    }
    for _ in 0..planes * cores_per_plane {
        builder.node(3, Reach { first_host: 0, hosts, hosts_per_port: pod_hosts, down_ports: pods });
    }

    // Tier by tier from the hosts up, so that ports that lead down come first.
    let [host_link, pod_link, core_link] = ["host_link", "link", "core_link"].map(|key| cable(values, key));
    for host in 0..hosts {
        builder.join(host, leaf + host / below, host_link);
    }
    for l in 0..pods * leaves {
        for plane in 0..planes {
            builder.join(leaf + l, aggregation + l / leaves * planes + plane, pod_link);
        }
    }
    for a in 0..pods * planes {
        for c in 0..cores_per_plane {
            builder.join(aggregation + a, core + a % planes * cores_per_plane + c, core_link);
        }
    }
    Ok(builder.finish(values))
}

#[cfg(test)]
mod tests {
    use crate::spec::Value;
    use crate::topology::{Routes, Topology};
    use std::collections::BTreeSet;

    fn small() -> Topology {
        let counts = [("pods", 3), ("leaves", 2), ("hosts_per_leaf", 4)];
        let counts = counts.map(|(key, count)| (key, Value::Count(count)));
        let ratio = [("oversubscription", Value::Number(2.0))];
        Topology::of_values("clos", &[&counts[..], &ratio[..]].concat()).expect("4 hosts over 2 uplinks")
    }

    #[test]
    fn switches_follow_from_the_oversubscription() {
        let topology = small();
        // Two planes, of two core switches each.
        assert_eq!((topology.hosts, topology.nodes.len()), (24, 24 + 6 + 6 + 4));
        assert_eq!(topology.cables("host", "leaf"), 24);
        assert_eq!(topology.cables("leaf", "aggregation"), 6 * 2);
        assert_eq!(topology.cables("aggregation", "core"), 6 * 2);
    }

    #[test]
    fn addresses_lead_along_all_shortest_paths() {
        let topology = small();
        let routes = Routes::of(&topology, &BTreeSet::new());
        for (dst, links, paths) in [(3, 2, 1), (4, 4, 2), (8, 6, 4), (23, 6, 4)] {
            assert_eq!((topology.path(0, dst).len(), routes.paths(0, dst)), (links, paths), "to {dst}");
        }
        for switch in topology.hosts..topology.nodes.len() as u32 {
            let node = &topology.nodes[switch as usize];
            for dst in 0..topology.hosts {
                let first = node.reach.first_port_to(dst);
                let ports: BTreeSet<u32> = match first < node.reach.down_ports {
                    true => [first].into(),
                    false => (first..node.ports.len() as u32).collect(),
                };
                let open: BTreeSet<u32> = routes.to(switch, dst).iter().copied().collect();
                assert_eq!(open, ports, "{} to {dst}", topology.node_name(switch));
            }
        }
    }

    #[test]
    fn an_oversubscription_that_takes_half_a_switch_is_refused() {
        let counts = [("pods", 2), ("leaves", 2), ("hosts_per_leaf", 32)];
        let mut values: Vec<_> = counts.map(|(key, count)| (key, Value::Count(count))).into();
        values.push(("oversubscription", Value::Number(3.0)));
        let complaint = Topology::of_values("clos", &values).expect_err("10.667 uplinks");
        assert_eq!(complaint.key, "oversubscription");
        let expected = "3 takes 10.667 aggregation switches a pod; write 3.2 for 10, or 2.9091 for 11";
        assert_eq!(complaint.message, expected);
        values.pop();
        values.push(("oversubscription", Value::Number(2.9091)));
        assert_eq!(Topology::of_values("clos", &values).expect("11").cables("leaf", "aggregation"), 44);
    }
}

//! The k-ary fat-tree (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008).
//!
//! k pods, each of k/2 edge and k/2 aggregation switches; (k/2)² core switches; k³/4 hosts.

use super::link::{COMMON_PARAMS, LINK_PARAMS, cable, check_common};
use super::{Builder, Reach, Topology};
use crate::narrow::exact;
use crate::spec::{Complaint, Component, Kind, Values, param};

const TIERS: &[&str] = &["host", "edge", "aggregation", "core"];

/// Larger than any fabric that is built, and small enough to refuse by arithmetic what memory could not hold.
const LARGEST_K: u64 = 64;

/// The component.
pub const COMPONENT: Component = Component {
    section: "topology",
    kind: "fat-tree",
    doc: "A k-ary fat-tree: three layers of k-port switches, k³/4 hosts, full bisection.",
    source: "Al-Fares et al., SIGCOMM 2008, §3",
    params: &[
        &[
            param! {
                "k" = "6": Kind::Count(2),
                "Ports per switch; even.", "pFabric §3: 6-port switches, 54 hosts"
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

fn check(values: &Values) -> Result<(), Complaint> {
    let k = values.count("k");
    if k % 2 == 1 {
        return Err(Complaint::new(
            "k",
            format!("{k} is odd; a fat-tree needs an even k, such as {}", k + 1),
        ));
    }
    if k > LARGEST_K {
        return Err(Complaint::new("k", format!("{k} is too large; write at most {LARGEST_K}")));
    }
    check_common(values, TIERS.len() - 1)
}

pub(super) fn build(values: &Values) -> Result<Topology, Complaint> {
    check(values)?;
    let k = exact::<u32>(values.count("k"));
    let half = k / 2;
    let hosts = k * half * half;
    let (edges, cores) = (k * half, half * half);
    let (edge, aggregation, core) = (hosts, hosts + edges, hosts + 2 * edges);
    let mut builder = Builder::new(values, TIERS);

    for _ in 0..hosts {
        builder.node(0, Reach::default());
    }
    for e in 0..edges {
        builder.node(1, Reach { first_host: e * half, hosts: half, hosts_per_port: 1, down_ports: half });
    }
    for a in 0..edges {
        let pod_hosts = half * half;
        let first_host = a / half * pod_hosts;
        builder.node(2, Reach { first_host, hosts: pod_hosts, hosts_per_port: half, down_ports: half });
    }
    for _ in 0..cores {
        builder.node(3, Reach { first_host: 0, hosts, hosts_per_port: half * half, down_ports: k });
    }

    let host_link = cable(values, "host_link");
    let pod_link = cable(values, "link");
    let core_link = cable(values, "core_link");
    for host in 0..hosts {
        builder.link(host, edge + host / half, host_link);
        builder.link(edge + host / half, host, host_link);
    }
    for e in 0..edges {
        for i in 0..half {
            builder.link(edge + e, aggregation + e / half * half + i, pod_link);
        }
    }
    for a in 0..edges {
        for i in 0..half {
            builder.link(aggregation + a, edge + a / half * half + i, pod_link);
        }
        for i in 0..half {
            builder.link(aggregation + a, core + a % half * half + i, core_link);
        }
    }
    for c in 0..cores {
        for pod in 0..k {
            builder.link(core + c, aggregation + pod * half + c / half, core_link);
        }
    }
    Ok(builder.finish(values))
}

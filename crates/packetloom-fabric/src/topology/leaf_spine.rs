//! Leaf-spine: every leaf switch is connected to every spine switch.

use super::link::{COMMON_PARAMS, LINK_PARAMS, cable, check_common};
use super::{Builder, Reach, Topology};
use crate::narrow::exact;
use crate::spec::{Complaint, Component, Kind, Values, param};

const TIERS: &[&str] = &["host", "leaf", "spine"];

/// Refuses by arithmetic what memory could not hold.
const MOST_LINKS: u64 = 4_000_000;

/// The component.
pub const COMPONENT: Component = Component {
    section: "topology",
    kind: "leaf-spine",
    doc: "Two layers: leaves with hosts below, each connected to every spine. Oversubscription follows from the rates.",
    source: "SYN and ASY §II: 3 spines, 4 leaves, 30 servers a leaf",
    params: &[
        &[
            param! { "spines" = "4": Kind::Count(1), "Spine switches.", "YAPS" },
            param! { "leaves" = "9": Kind::Count(1), "Leaf switches.", "YAPS" },
            param! { "hosts_per_leaf" = "16": Kind::Count(1), "Hosts below each leaf.", "YAPS" },
        ],
        LINK_PARAMS,
        COMMON_PARAMS,
    ],
    check,
};

fn check(values: &Values) -> Result<(), Complaint> {
    let (spines, leaves) = (values.count("spines"), values.count("leaves"));
    let links =
        spines.checked_add(values.count("hosts_per_leaf")).and_then(|ports| ports.checked_mul(leaves));
    if links.is_none_or(|links| links > MOST_LINKS) {
        return Err(Complaint::new(
            "leaves",
            format!("more than {MOST_LINKS} links; write a smaller fabric"),
        ));
    }
    if leaves * values.count("hosts_per_leaf") < 2 {
        return Err(Complaint::new("hosts_per_leaf", "one host has no other to send to; write at least 2"));
    }
    check_common(values, TIERS.len() - 1)
}

pub(super) fn build(values: &Values) -> Result<Topology, Complaint> {
    check(values)?;
    let count = |key| exact::<u32>(values.count(key));
    let (spines, leaves, below) = (count("spines"), count("leaves"), count("hosts_per_leaf"));
    let hosts = leaves * below;
    let (leaf, spine) = (hosts, hosts + leaves);
    let mut builder = Builder::new(values, TIERS);

    for _ in 0..hosts {
        builder.node(0, Reach::default());
    }
    for l in 0..leaves {
        builder.node(1, Reach { first_host: l * below, hosts: below, hosts_per_port: 1, down_ports: below });
    }
    for _ in 0..spines {
        builder.node(2, Reach { first_host: 0, hosts, hosts_per_port: below, down_ports: leaves });
    }

    let (host_link, fabric_link) = (cable(values, "host_link"), cable(values, "link"));
    for host in 0..hosts {
        builder.link(host, leaf + host / below, host_link);
        builder.link(leaf + host / below, host, host_link);
    }
    for l in 0..leaves {
        for s in 0..spines {
            builder.link(leaf + l, spine + s, fabric_link);
            builder.link(spine + s, leaf + l, fabric_link);
        }
    }
    Ok(builder.finish(values))
}

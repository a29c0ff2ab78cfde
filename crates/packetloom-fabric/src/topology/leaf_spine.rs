//! Leaf-spine: every leaf switch is connected to every spine switch.

use super::link::{COMMON_PARAMS, LINK_PARAMS, cable, check_common};
use super::oversubscription::{self, said_twice, uplinks};
use super::{Builder, Reach, Topology};
use crate::narrow::exact;
use crate::spec::{Complaint, Component, Kind, Values, param};

const TIERS: &[&str] = &["host", "leaf", "spine"];

/// Refuses by arithmetic what memory could not hold.
const MOST_LINKS: u64 = 4_000_000;

/// Spines of a fabric that says nothing of them.
const USUAL_SPINES: u64 = 4;

/// The component.
pub const COMPONENT: Component = Component {
    section: "topology",
    kind: "leaf-spine",
    doc: "Two layers: leaves with hosts below, each connected to every spine. Oversubscription follows from the rates, or gives the number of spines.",
    source: "SYN and ASY §II: 3 spines, 4 leaves, 30 servers a leaf",
    params: &[
        &[
            param! {
                "spines": Kind::Count(1),
                "Spine switches. Left out: 4, or what oversubscription says.", "YAPS: 4"
            },
            param! {
                "oversubscription": oversubscription::KIND,
                "Instead of spines: the rate of a leaf's hosts over that of its uplinks, of which it has one to each spine. Left out: as spines say.",
                "packetloom"
            },
            param! { "leaves" = "9": Kind::Count(1), "How many leaf switches there are.", "YAPS" },
            param! { "hosts_per_leaf" = "16": Kind::Count(1), "Hosts below each leaf.", "YAPS" },
        ],
        LINK_PARAMS,
        COMMON_PARAMS,
    ],
    check,
};

fn spines(values: &Values) -> Result<u64, Complaint> {
    let written = values.optional_count("spines");
    if values.optional_number("oversubscription").is_none() {
        return Ok(written.unwrap_or(USUAL_SPINES));
    }
    let [host, up] = ["host_link", "link"].map(|key| cable(values, key).rate);
    let spines = uplinks(values, "oversubscription", "spines", (values.count("hosts_per_leaf"), host), up);
    if written.is_some() { Err(said_twice(values, spines)) } else { spines }
}

fn check(values: &Values) -> Result<(), Complaint> {
    let (spines, leaves) = (spines(values)?, values.count("leaves"));
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
    let (spines, leaves, below) = (exact::<u32>(spines(values)?), count("leaves"), count("hosts_per_leaf"));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Value;

    /// Hosts of a leaf have 4 times 10 Gb/s.
    #[test]
    fn oversubscription_gives_the_number_of_spines() {
        let counts = [("leaves", 2), ("hosts_per_leaf", 4)].map(|(key, count)| (key, Value::Count(count)));
        let of = |ratio: f64| {
            let ratio = [("oversubscription", Value::Number(ratio))];
            Topology::of_values("leaf-spine", &[&counts[..], &ratio[..]].concat())
        };
        let spines =
            |ratio: f64| of(ratio).expect("a fabric").nodes.iter().filter(|node| node.tier == 2).count();
        assert_eq!([1.0, 2.0, 4.0].map(spines), [4, 2, 1]);
        let left_out = Topology::of_values("leaf-spine", &counts).expect("a fabric");
        assert_eq!(left_out.nodes.iter().filter(|node| node.tier == 2).count(), 4);
        let both = [("spines", Value::Count(2)), ("oversubscription", Value::Number(2.0))];
        let refused = Topology::of_values("leaf-spine", &[&counts[..], &both[..]].concat());
        let both = refused.expect_err("both");
        assert_eq!(
            (both.key.as_str(), both.message.as_str()),
            (
                "spines",
                "oversubscription says how many there are, too: 2 comes to spines = 2; leave one of them out"
            )
        );
        let complaint = of(3.0).expect_err("1.33 spines");
        assert_eq!(
            (complaint.key.as_str(), complaint.message.as_str()),
            ("oversubscription", "3 takes 1.333 spines; write 4 for 1, or 2 for 2")
        );
    }
}

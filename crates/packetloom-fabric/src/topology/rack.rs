//! A rack: hosts on one switch.

use super::link::{COMMON_PARAMS, LINK_PARAMS, cable, check_common};
use super::{Builder, Reach, Topology};
use crate::narrow::exact;
use crate::spec::{Complaint, Component, Kind, Values, param};

const TIERS: &[&str] = &["host", "switch"];

const MOST_HOSTS: u64 = 1_000_000;

/// The component.
pub const COMPONENT: Component = Component {
    section: "topology",
    kind: "rack",
    doc: "Hosts on one switch.",
    source: "DAQ §4: workers, a top-of-rack switch, an aggregator",
    params: &[
        &[param! {
            "hosts" = "41": Kind::Count(2),
            "Hosts on the switch.", "DAQ §4: up to 40 workers and their aggregator"
        }],
        LINK_PARAMS,
        COMMON_PARAMS,
    ],
    check,
};

fn check(values: &Values) -> Result<(), Complaint> {
    match values.count("hosts") {
        0..=MOST_HOSTS => check_common(values, TIERS.len() - 1),
        hosts => Err(Complaint::new("hosts", format!("{hosts} is too many; write at most {MOST_HOSTS}"))),
    }
}

pub(super) fn build(values: &Values) -> Result<Topology, Complaint> {
    check(values)?;
    let hosts = exact::<u32>(values.count("hosts"));
    let mut builder = Builder::new(values, TIERS);
    for _ in 0..hosts {
        builder.node(0, Reach::default());
    }
    builder.node(1, Reach { first_host: 0, hosts, hosts_per_port: 1, down_ports: hosts });
    let host_link = cable(values, "host_link");
    for host in 0..hosts {
        builder.link(host, hosts, host_link);
        builder.link(hosts, host, host_link);
    }
    Ok(builder.finish(values))
}

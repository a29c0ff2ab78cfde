//! Topologies for tests of this crate and of those above it, made without the scenario reader.

use super::Topology;
use crate::spec::{Complaint, Value, Values};
use crate::units::{Rate, Time};

impl Topology {
    /// The topology `kind` with these counts, whose links are of 10 Gb/s and 0.4 us.
    pub fn of_counts(kind: &str, counts: &[(&str, u64)]) -> Topology {
        let counts: Vec<_> = counts.iter().map(|&(key, count)| (key, Value::Count(count))).collect();
        Topology::of_values(kind, &counts).expect("a topology")
    }

    /// The same with any values; what else may be left out is.
    pub(crate) fn of_values(kind: &str, values: &[(&str, Value)]) -> Result<Topology, Complaint> {
        let optional = [
            "host_link",
            "core_link",
            "global_link",
            "bottleneck",
            "scale_up",
            "switch_delays",
            "routers",
            "global_links",
            "groups",
            "servers_per_rail_switch",
            "oversubscription",
            "spines",
        ];
        let common = [
            ("link", link(Rate::from_gbps(10), Time::from_ns(400))),
            ("switch_delay", Value::Time(Time::ZERO)),
            ("host_delay", Value::Time(Time::ZERO)),
            ("processing_per_packet", component("none", [])),
            ("link_retry", component("none", [])),
            ("send_per_message", Value::Time(Time::ZERO)),
            ("receive_per_message", Value::Time(Time::ZERO)),
            ("framing", Value::Bytes(0)),
            ("whole_ns", Value::Flag(false)),
            ("forwarding", component("store-and-forward", [])),
            ("pod_oversubscription", Value::Number(1.0)),
            ("planes", Value::Count(1)),
            ("arrangement", Value::Text("palm-tree".to_owned())),
        ];
        let absent = optional.into_iter().map(|key| (key, Value::Absent));
        let of_clos = (kind == "clos").then_some(("oversubscription", Value::Number(1.0)));
        let entries = absent.chain(common).chain(of_clos).chain(values.iter().cloned());
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).collect();
        Topology::build(&Values { kind: kind.to_owned(), entries })
    }

    #[cfg(test)]
    /// How many cables join each two tiers.
    pub(crate) fn cables(&self, one: &str, other: &str) -> usize {
        let links = 0..self.links.len() as u32;
        let ends = links.map(|link| self.links[link as usize]).filter(|link| link.src < link.dst);
        let tiers = ends.map(|link| (self.tier_name(link.src), self.tier_name(link.dst)));
        tiers.filter(|&tiers| tiers == (one, other)).count()
    }
}

/// A link of a rate and a delay.
pub(crate) fn link(rate: Rate, delay: Time) -> Value {
    component("link", [("rate", Value::Rate(rate)), ("delay", Value::Time(delay))])
}

fn component<const N: usize>(kind: &str, entries: [(&str, Value); N]) -> Value {
    let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
    Value::Component(Values { kind: kind.to_owned(), entries })
}

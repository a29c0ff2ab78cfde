//! Topologies for tests, made without the scenario reader.

use super::Topology;
use crate::spec::{Value, Values};
use crate::units::{Rate, Time};

impl Topology {
    /// The topology `kind` with these counts, whose links are of 10 Gb/s and 0.4 us.
    pub(crate) fn of_counts(kind: &str, counts: &[(&str, u64)]) -> Topology {
        let link = [("rate", Value::Rate(Rate::from_gbps(10))), ("delay", Value::Time(Time::from_ns(400)))];
        let common = [
            ("link", component("link", link)),
            ("host_link", Value::Absent),
            ("core_link", Value::Absent),
            ("switch_delay", Value::Time(Time::ZERO)),
            ("switch_delays", Value::Absent),
            ("host_delay", Value::Time(Time::ZERO)),
            ("processing_per_packet", component("none", [])),
            ("framing", Value::Bytes(0)),
            ("whole_ns", Value::Flag(false)),
            ("forwarding", component("store-and-forward", [])),
        ];
        let counts = counts.iter().map(|&(key, count)| (key, Value::Count(count)));
        let entries = common.into_iter().chain(counts).map(|(key, value)| (key.to_owned(), value)).collect();
        Topology::build(&Values { kind: kind.to_owned(), entries }).expect("a topology")
    }
}

fn component<const N: usize>(kind: &str, entries: [(&str, Value); N]) -> Value {
    let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
    Value::Component(Values { kind: kind.to_owned(), entries })
}

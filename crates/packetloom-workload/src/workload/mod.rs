//! The traffic that the network has to carry: flow sizes, arrivals, patterns, deadlines, and flows read from files.
//!
//! A [`Workload`] is built from the scenario's `[[workload]]` sections. Flows that start by the clock come as one
//! stream in order of their start, made one by one. Closed loops come as [`Chain`]s, one per host and slot, each of
//! which makes its next flow when its last has ended.

pub mod arrivals;
mod build;
pub mod cdf;
mod chain;
mod collective;
pub mod deadlines;
pub mod dependencies;
mod entity;
mod experts;
mod facts;
mod generator;
pub mod job;
pub mod jobs;
mod kv_cache;
pub mod library;
pub mod list;
mod members;
pub mod pattern;
mod perftest;
mod query;
mod replay;
mod requests;
pub mod sizes;
mod source;
mod spread;
#[cfg(test)]
mod testing;
mod traces;
mod training;

pub use chain::Chain;
pub use dependencies::{Dependencies, Done, Triggers};
pub use facts::SourceFacts;
pub use generator::{Environment, Workload};
pub use query::{Query, QuerySpec, Start};
pub use spread::Spread;

use crate::serving;
use crate::spec::Fallback::{Absent, Value as Default};
use crate::spec::{ALWAYS, Complaint, Component, Kind, Param, Values};
use arrivals::follow_load;

const PARTS: [&[Component]; 9] = [
    &[WORKLOAD],
    sizes::COMPONENTS,
    arrivals::COMPONENTS,
    jobs::COMPONENTS,
    requests::COMPONENTS,
    serving::COMPONENTS,
    job::library::COMPONENTS,
    pattern::COMPONENTS,
    deadlines::COMPONENTS,
];

/// Every component that describes traffic.
pub const COMPONENTS: &[Component] = &concatenate::<{ total_length() }>();

const fn total_length() -> usize {
    let (mut part, mut length) = (0, 0);
    while part < PARTS.len() {
        length += PARTS[part].len();
        part += 1;
    }
    length
}

const fn concatenate<const LENGTH: usize>() -> [Component; LENGTH] {
    let mut all = [WORKLOAD; LENGTH];
    let (mut part, mut filled) = (0, 0);
    while part < PARTS.len() {
        let mut index = 0;
        while index < PARTS[part].len() {
            all[filled] = PARTS[part][index];
            index += 1;
            filled += 1;
        }
        part += 1;
    }
    all
}

/// A `[[workload]]` section: one traffic source.
const WORKLOAD: Component = Component {
    section: "workload",
    kind: "workload",
    doc: "A source of traffic; a scenario may have several.",
    source: "packetloom",
    params: &[&[
        Param {
            name: "sizes",
            kind: Kind::Component("sizes"),
            default: Absent,
            doc: "How large flows are. Needed unless the flows are read from a list.",
            source: "packetloom",
            acts: ALWAYS,
        },
        Param {
            name: "arrivals",
            kind: Kind::Component("arrivals"),
            default: Default("poisson"),
            doc: "When they start.",
            source: "pFabric §3",
            acts: ALWAYS,
        },
        Param {
            name: "pattern",
            kind: Kind::Component("pattern"),
            default: Default("random-pairs"),
            doc: "From where to where they go.",
            source: "pFabric §3",
            acts: ALWAYS,
        },
        Param {
            name: "deadlines",
            kind: Kind::Component("deadlines"),
            default: Default("none"),
            doc: "By when they should be complete.",
            source: "packetloom",
            acts: ALWAYS,
        },
        Param {
            name: "class",
            kind: Kind::Count(0),
            default: Default("0"),
            doc: "Their traffic class, for queues that know classes; 255 at most.",
            source: "packetloom",
            acts: ALWAYS,
        },
        Param {
            name: "share",
            kind: Kind::Number(0.0, 1.0),
            default: Default("1"),
            doc: "The part of the run's load that this source offers; those of all sources add up to 1 at most.",
            source: "packetloom",
            acts: ALWAYS,
        },
        Param {
            name: "hosts",
            kind: Kind::Number(0.0, 1.0),
            default: Absent,
            doc: "The share of the hosts that take part in this source and in no other, rounded down; they are drawn \
                  for each seed. Left out: all hosts that belong to no other source alone; if the pattern names a \
                  host, all hosts.",
            source: "NDP in a fat-tree §4: percentLongFlowNodes",
            acts: ALWAYS,
        },
        Param {
            name: "background",
            kind: Kind::Flag,
            default: Default("false"),
            doc: "The case does not wait for these flows: it ends when those of all other sources are over. They \
                  count neither in the run's number of flows nor in statistics.",
            source: "NDP in a fat-tree §4: long flows run until all short flows finish",
            acts: ALWAYS,
        },
        Param {
            name: "start",
            kind: Kind::Time,
            default: Default("0us"),
            doc: "When the source begins; what it reads from a list starts this much later.",
            source: "packetloom",
            acts: ALWAYS,
        },
        Param {
            name: "flows",
            kind: Kind::Count(1),
            default: Absent,
            doc: "How many flows this source starts at most. Left out: the run's number, which open-loop sources \
                  share and each closed-loop source has for itself.",
            source: "packetloom",
            acts: ALWAYS,
        },
    ]],
    check: check_workload,
};

fn check_workload(values: &Values) -> Result<(), Complaint> {
    let arrivals = values.component("arrivals");
    let sizes = values.optional_component("sizes");
    if arrivals::have_all(&arrivals.kind) {
        let what = match arrivals.kind.as_str() {
            serving::KIND => "requests' model",
            kind if jobs::is_job(kind) => "job",
            _ => "flow list",
        };
        if sizes.is_some() {
            return Err(Complaint::new("sizes", format!("the {what} has the sizes; leave this out")));
        }
        if values.component("pattern").kind != "random-pairs" {
            return Err(Complaint::new("pattern", format!("the {what} has the hosts; leave this out")));
        }
    } else if sizes.is_none() {
        return Err(Complaint::new(
            "sizes",
            "how large are the flows? Write, for example, sizes = \"web-search\"",
        ));
    }
    let share = values.number("share");
    if share == 0.0 {
        return Err(Complaint::new("share", "0 offers nothing; leave the whole source out instead"));
    }
    if share != 1.0 && !follow_load(&arrivals) {
        let message =
            format!("these {} arrivals do not follow the run's load; leave the share out", arrivals.kind);
        return Err(Complaint::new("share", message));
    }
    if values.optional_number("hosts").is_some() && members::names_hosts(values) {
        let message = "the hosts of this source are named one by one; leave the share of hosts out";
        return Err(Complaint::new("hosts", message));
    }
    if values.count("class") > u64::from(u8::MAX) {
        return Err(Complaint::new("class", "traffic classes are numbered 0 to 255"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;

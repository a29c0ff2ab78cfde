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
pub use generator::{Environment, Wire, Workload};
pub use query::{Query, QuerySpec, Start};
pub use spread::Spread;

use crate::serving;
use crate::spec::{Complaint, Component, Kind, Values, param};
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
        param! {
            "sizes": Kind::Component("sizes"),
            "How large flows are. Needed unless the flows are read from a list.", "packetloom"
        },
        param! { "arrivals" = "poisson": Kind::Component("arrivals"), "When flows start.", "pFabric §3" },
        param! {
            "pattern" = "random-pairs": Kind::Component("pattern"),
            "From which host to which flows go.", "pFabric §3"
        },
        param! {
            "deadlines" = "none": Kind::Component("deadlines"),
            "By when flows should be complete.", "packetloom"
        },
        param! {
            "class" = "0": Kind::Count(0),
            "The flows' traffic class, for queues that know classes; 255 at most.", "packetloom"
        },
        param! {
            "share" = "1": Kind::Number(0.0, 1.0),
            "The part of the run's load that this source offers; those of all sources add up to 1 at most.",
            "packetloom"
        },
        param! {
            "hosts": Kind::Number(0.0, 1.0),
            "The share of the hosts that take part in this source and in no other, rounded down; they are drawn \
                  for each seed. Left out: all hosts that belong to no other source alone; if the pattern names a \
                  host, all hosts.",
            "NDP in a fat-tree §4: percentLongFlowNodes"
        },
        param! {
            "background" = "false": Kind::Flag,
            "The case does not wait for these flows: it ends when those of all other sources are over. They \
                  count neither in the run's number of flows nor in statistics.",
            "NDP in a fat-tree §4: long flows run until all short flows finish"
        },
        param! {
            "start" = "0us": Kind::Time,
            "When the source begins; what it reads from a list starts this much later.", "packetloom"
        },
        param! {
            "flows": Kind::Count(1),
            "How many flows this source starts at most. Left out: the run's number, which open-loop sources \
                  share and each closed-loop source has for itself.",
            "packetloom"
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

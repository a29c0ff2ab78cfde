//! How closely a case is simulated: packet by packet, or by an estimate that takes less.
//!
//! Each rung takes the scenario's own components, and refuses what it can't mean anything for. What it only gets less
//! right is a warning.

use super::is_fluid;
use crate::central;
use crate::queue;
use crate::routing;
use crate::scenario::Case;
use crate::spec::{Complaint, Component, Fallback, Kind, Param, Value, Values, anything};
use crate::topology::Topology;
use crate::transport;
use crate::workload::Workload;

/// A scenario's choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fidelity {
    Packets,
    Links(LinkRung),
    Flows,
}

/// How links are simulated apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinkRung {
    /// So many at least of those that are alike.
    pub(super) representatives: usize,
    /// As many as have so many flows together.
    pub(super) flows: usize,
    /// A flow's delay is drawn from so many of the flows nearest to it in size.
    pub(super) neighbours: usize,
}

/// The rungs.
pub const FIDELITY_COMPONENTS: &[Component] = &[
    Component {
        section: "fidelity",
        kind: "packets",
        doc: "Every packet on every link.",
        source: "packetloom",
        params: &[],
        check: anything,
    },
    Component {
        section: "fidelity",
        kind: "links",
        doc: "An estimate: links are simulated packet by packet, each apart with the flows that cross it, and a flow's delays there are added up along its path. Of links that are alike only some are simulated.",
        source: "Parsimon (Zhao et al., NSDI 2023): decomposition, delays per packet by flow size, clustering; the choice of representatives is packetloom's",
        params: &[&[
            Param {
                name: "representatives",
                kind: Kind::Count(1),
                default: Fallback::Value("4"),
                doc: "Of links that are alike (the same tiers, rates and delays) so many at least are simulated, spread from the least to the most loaded; more than there are: all.",
                source: "packetloom; Parsimon §3.3 clusters by distances between loads, sizes and gaps",
            },
            Param {
                name: "flows",
                kind: Kind::Count(1),
                default: Fallback::Value("2000"),
                doc: "And as many as have so many flows together.",
                source: "packetloom",
            },
            Param {
                name: "neighbours",
                kind: Kind::Count(1),
                default: Fallback::Value("100"),
                doc: "At a link that was not simulated a flow's delay is drawn from those of so many flows that are nearest to it in size, per packet; of the links nearest in load that have ten times as many flows.",
                source: "Parsimon §3.4: at least 100 to a bucket of sizes",
            },
        ]],
        check: anything,
    },
    Component {
        section: "fidelity",
        kind: "flows",
        doc: "An estimate without packets: flows share all links of their paths max-min fairly from their first moment on; what a packet takes to cross the network, and a handshake, are added.",
        source: "Bertsekas and Gallager, Data Networks, §6.5.2",
        params: &[],
        check: anything,
    },
];

impl Fidelity {
    /// A case's.
    pub(super) fn of(run: &Values) -> Fidelity {
        let Some(Value::Component(values)) = run.entries.get("fidelity") else { return Fidelity::Packets };
        let count = |key| usize::try_from(values.count(key)).unwrap_or(usize::MAX);
        match values.kind.as_str() {
            "links" => Fidelity::Links(LinkRung {
                representatives: count("representatives"),
                neighbours: count("neighbours"),
                flows: count("flows"),
            }),
            "flows" => Fidelity::Flows,
            _ => Fidelity::Packets,
        }
    }

    /// Its name in a scenario.
    pub(super) fn name(self) -> &'static str {
        match self {
            Fidelity::Packets => "packets",
            Fidelity::Links(_) => "links",
            Fidelity::Flows => "flows",
        }
    }

    /// What results of it have to say.
    pub(super) fn note(self) -> Option<&'static str> {
        match self {
            Fidelity::Packets => None,
            Fidelity::Links(_) => Some(
                "these are estimates: links were simulated apart (fidelity = \"links\"); `packetloom fidelity` measures the error",
            ),
            Fidelity::Flows => Some(
                "these are estimates: flows share links without packets (fidelity = \"flows\"); `packetloom fidelity` measures the error",
            ),
        }
    }
}

/// Refuses what a rung can't mean anything for.
///
/// # Errors
/// What that is, by its key in the scenario.
pub(super) fn check_rung(case: &Case, workload: &Workload, topology: &Topology) -> Result<(), Complaint> {
    let rung = Fidelity::of(&case.run);
    if rung == Fidelity::Packets {
        return Ok(());
    }
    check_scheme(case, rung)?;
    check_network(case, rung, topology)?;
    check_measure(case, rung)?;
    check_traffic(workload, rung.name())
}

/// The kind of a component in another.
fn kind_of<'a>(values: &'a Values, key: &str) -> Option<&'a str> {
    match values.entries.get(key) {
        Some(Value::Component(inner)) => Some(&inner.kind),
        _ => None,
    }
}

fn refused(rung: Fidelity, why: &str) -> Complaint {
    let message =
        format!("{:?} does not hold here: {why}; write \"packets\", or another scenario", rung.name());
    Complaint::new("run.fidelity", message)
}

fn check_scheme(case: &Case, rung: Fidelity) -> Result<(), Complaint> {
    let transport = case.scheme.component("transport");
    let kind = &transport.kind;
    if is_fluid(kind) {
        return Err(refused(rung, &format!("{kind} has no packets in the first place")));
    }
    if central::is_central(kind) {
        return Err(refused(rung, &format!("{kind}'s controller plans every packet of all flows")));
    }
    if !matches!(rung, Fidelity::Links(_)) {
        return Ok(());
    }
    if let Some(why) = transport::needs(kind).whole {
        return Err(refused(rung, &format!("{kind} can't be cut into links, as {why}")));
    }
    if kind_of(&transport, "connections") == Some("pool") {
        return Err(refused(rung, "the connections of a pool remember what they met on all links of a path"));
    }
    for queue in ["queue", "nic"].iter().filter_map(|key| case.scheme.optional_component(key)) {
        let why = if queue::credit_bytes(&queue).is_some() {
            "a link's credits depend on the next link's buffer"
        } else if queue::pauses(&queue) {
            "a paused link pauses those before it, so that trees of links stand still together"
        } else if queue::trims_to_bytes(&queue).is_some() {
            "what comes of trimmed packets depends on the links behind"
        } else {
            continue;
        };
        return Err(refused(rung, why));
    }
    Ok(())
}

fn check_network(case: &Case, rung: Fidelity, topology: &Topology) -> Result<(), Complaint> {
    if !case.faults.is_empty() {
        return Err(refused(rung, "faults change paths and rates while flows are under way"));
    }
    if topology.error_rates.iter().any(|rate| *rate > 0.0) {
        return Err(refused(rung, "some links of this network lose packets"));
    }
    if topology.processing.is_some() {
        return Err(refused(rung, "hosts take a time for each packet (processing_per_packet)"));
    }
    let routing = case.scheme.component("routing");
    if matches!(rung, Fidelity::Links(_)) && !routing::path_per_flow(&routing, topology).0 {
        let why = format!("{} spreads the packets of a flow over several paths", routing.kind);
        return Err(refused(rung, &why));
    }
    if matches!(rung, Fidelity::Flows) && case.scheme.component("transport").kind == "mptcp" {
        return Err(refused(rung, "each subflow of a flow takes a path of its own"));
    }
    Ok(())
}

fn check_measure(case: &Case, rung: Fidelity) -> Result<(), Complaint> {
    let measure = &case.measure;
    let flags = ["queues", "pauses", "reordering"].into_iter().filter(|key| measure.flag(key));
    let series = measure.optional_time("series_interval").map(|_| "series_interval");
    let capture = measure.optional_list("capture").map(|_| "capture");
    match flags.chain(series).chain(capture).next() {
        Some(key) => {
            let message = format!(
                "fidelity = {:?} estimates flows, and has no such thing; leave this out, or write \"packets\"",
                rung.name()
            );
            Err(Complaint::new(&format!("measure.{key}"), message))
        }
        None => Ok(()),
    }
}

/// What starts only as others end has no time of its own before the run.
pub(super) fn check_traffic(workload: &Workload, model: &str) -> Result<(), Complaint> {
    let refused = |why: &str| Err(Complaint::new("workload", format!("{why} under {model:?}; leave it out")));
    if workload.has_chains() {
        return refused("a closed loop can't drive flows");
    }
    if workload.has_dependencies() {
        return refused("flows that wait for others, as those of collectives, can't be started");
    }
    if workload.background().contains(&true) {
        return refused("every flow runs to its end, and background has none");
    }
    if workload.query_specs().next().is_some() {
        return refused("there are no queries");
    }
    Ok(())
}

/// What a rung gets less right than others, as keys and messages.
pub fn doubts(run: &Values, scheme: &Values, workloads: &[&Values]) -> Vec<(String, String)> {
    let rung = Fidelity::of(run);
    let mut doubts = Vec::new();
    let name = scheme.text("name");
    let mut doubt = |why: &str| doubts.push(("run.fidelity".to_owned(), format!("{:?}: {why}", rung.name())));
    if rung == Fidelity::Packets || is_fluid(&scheme.component("transport").kind) {
        return doubts;
    }
    if let Some(queue) = scheme.optional_component("queue") {
        match queue.kind.as_str() {
            "pfabric" => doubt(&format!(
                "the order of {name}'s flows by what is left of them holds on all links at once, and is lost between links"
            )),
            "classes" | "weighted-fair" | "python" if rung == Fidelity::Flows => {
                doubt(&format!("all flows of {name} share alike, whatever its queue {:?} does", queue.kind));
            }
            "shared-buffer" => doubt(&format!("ports of a switch do not share a buffer as {name}'s do")),
            _ => {}
        }
    }
    let routing = scheme.component("routing").kind;
    if rung == Fidelity::Flows && !matches!(routing.as_str(), "ecmp" | "wcmp") {
        doubt(&format!("{routing} is taken to spread each flow of {name} evenly over all paths"));
    }
    let has_deadlines =
        |workload: &&Values| kind_of(workload, "deadlines").is_some_and(|kind| kind != "none");
    if workloads.iter().any(has_deadlines) {
        doubt(
            "deadlines are compared with estimates; what is missed by little or met by little is not known",
        );
    }
    doubts
}

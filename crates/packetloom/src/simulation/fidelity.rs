//! How closely a case is simulated: packet by packet, or by an estimate that takes less.
//!
//! Each rung takes the scenario's own components, and refuses what it can't mean anything for. What it only gets less
//! right is a warning.

use super::checks::check_traffic;
use super::is_fluid;
use super::steady::goes_by_stages;
use crate::central;
use crate::fault::{self, Faults};
use crate::queue::Specification;
use crate::routing;
use crate::scenario::Case;
use crate::spec::{Complaint, Component, Kind, Value, Values, anything, param};
use crate::topology::{MessageCosts, Topology};
use crate::transport;
use crate::workload::Workload;
use crate::workload::job::Whole;

/// A scenario's choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fidelity {
    Packets,
    Steady(SteadyRung),
    Links(LinkRung),
    Flows,
}

/// When time is skipped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SteadyRung {
    /// How much rates and queues may change and yet stand still.
    pub(super) tolerance: f64,
    /// So many round trips are watched at least.
    pub(super) round_trips: u64,
    /// At most so many times what was watched is skipped.
    pub(super) stretch: u64,
}

/// How links are simulated apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinkRung {
    /// So many at least of those that are alike.
    pub(super) representatives: usize,
    /// As many as have so many flows together.
    pub(super) flows: usize,
    /// A flow's delay is drawn from so many of the flows nearest to it in size and company.
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
        kind: "steady",
        doc: "Every packet, but time is skipped in which nothing changes: while all flows keep their rates and queues their lengths, and while the stages of a collective operation take as long as those before.",
        source: "packetloom",
        params: &[&[
            param! {
                "tolerance" = "0.02": Kind::Number(0.0, 0.5),
                "How much may change in a steady state. Between the two halves of an observation: the rate of a flow (the mean rate of flows that nothing distinguishes) and the amount in flight. In a collective operation: the time of a rank's stages from their mean. All flows, or ranks, together may change by a tenth of it.",
                "packetloom"
            },
            param! {
                "round_trips" = "64": Kind::Count(1),
                "The shortest observation, in round trips of the empty network. A skip leaves each flow as many round trips before its end.",
                "packetloom"
            },
            param! {
                "stretch" = "100": Kind::Count(1),
                "The longest skip, as a multiple of the observation.", "packetloom"
            },
        ]],
        check: anything,
    },
    Component {
        section: "fidelity",
        kind: "links",
        doc: "An estimate: each link is simulated packet by packet on its own, with the flows that cross it, and a flow's delays are added up along its path. Of similar links only some are simulated.",
        source: "Parsimon (Zhao et al., NSDI 2023): decomposition, delays per packet by flow size, clustering; the choice of representatives is packetloom's",
        params: &[&[
            param! {
                "representatives" = "2": Kind::Count(1),
                "How many of similar links (with the same tiers, rates and delays) are simulated at least, spread from the least to the most loaded; if there are fewer: all.",
                "packetloom; Parsimon §3.3 clusters by distances between loads, sizes and gaps"
            },
            param! {
                "flows" = "2000": Kind::Count(1),
                "More of the similar links are simulated until those chosen carry about this many flows in total.",
                "packetloom"
            },
            param! {
                "neighbours" = "15": Kind::Count(1),
                "At a link that was not simulated a flow's delay is drawn from this many flows at similar links: those nearest in size and in the number of flows that share the link. Twice the size is as far as twice the number. Flows that are equally near all count.",
                "packetloom; Parsimon §3.4 draws from buckets of at least 100 sizes"
            },
        ]],
        check: anything,
    },
    Component {
        section: "fidelity",
        kind: "flows",
        doc: "An estimate without packets: flows, and messages of jobs, share all links of their paths max-min fairly from their first moment on, whatever the transport. The time of a packet across the network, and of a handshake, is added.",
        source: "Bertsekas and Gallager, Data Networks, §6.5.2",
        params: &[&[
            param! {
                "collectives" = "messages": Kind::Choice(&["messages", "whole"]),
                "How collective operations of jobs are simulated: message by message, or as wholes. A whole's messages share one pace in each stage, and have no rows. That needs ranks in one stage at a time, and one path for all messages between two hosts: rings, halving and doubling, all-to-all, hierarchical ones, not trees. It takes much less time, and is less accurate where ranks begin apart or a link holds some of them back.",
                "packetloom"
            },
            param! {
                "calibrate" = "false": Kind::Flag,
                "Whether short packet runs measure first what the transport makes of full links: shifts, permutations and incasts on a part of the network. They give how many times as long messages take as in this estimate. Each message then draws such a factor, by its size, by how full the fabric is, and by how many share its bottleneck.",
                "packetloom"
            },
        ]],
        check: check_flows,
    },
];

/// Wholes have no messages that could draw.
fn check_flows(values: &Values) -> Result<(), Complaint> {
    if calibrates(values) && values.text("collectives") == "whole" {
        let message = "holds for messages, and collectives = \"whole\" has none; leave one of them out";
        return Err(Complaint::new("calibrate", message));
    }
    Ok(())
}

/// Whether pieces are to be run by packets first.
pub(super) fn calibrates(rung: &Values) -> bool {
    rung.entries.get("calibrate") == Some(&Value::Flag(true))
}

/// Which collective operations a case carries out as wholes: under `flows`, those whose messages take the same way each
/// time.
pub(super) fn wholes(case: &Case, topology: &Topology) -> Whole {
    let is_asked = match case.run.entries.get("fidelity") {
        Some(Value::Component(rung)) => rung.kind == "flows" && rung.text("collectives") == "whole",
        _ => false,
    };
    let transport = case.scheme.component("transport");
    if !is_asked || kind_of(&transport, "connections") == Some("fresh") {
        return Whole::None;
    }
    let routing = case.scheme.component("routing");
    let has_one_queue_pair = matches!(routing.entries.get("queue_pairs"), Some(Value::Count(1)));
    let hosts_choose = (0..topology.hosts).any(|host| topology.nic_ports(host).len() > 1);
    let is_by_message = (hosts_choose && !routing::hosts_spread(&routing))
        || (routing::path_per_flow(&routing, topology).0 && routing::has_choice(topology));
    match topology.server_hosts {
        _ if has_one_queue_pair || !is_by_message => Whole::All,
        Some(server) if topology.has_scale_up() => Whole::Inside(server),
        _ => Whole::None,
    }
}

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
            "steady" => Fidelity::Steady(SteadyRung {
                tolerance: values.number("tolerance"),
                round_trips: values.count("round_trips"),
                stretch: values.count("stretch"),
            }),
            _ => Fidelity::Packets,
        }
    }

    /// Its name in a scenario.
    pub(super) fn name(self) -> &'static str {
        match self {
            Fidelity::Packets => "packets",
            Fidelity::Steady(_) => "steady",
            Fidelity::Links(_) => "links",
            Fidelity::Flows => "flows",
        }
    }

    /// What results of it have to say.
    pub(super) fn note(self) -> Option<&'static str> {
        match self {
            Fidelity::Packets => None,
            Fidelity::Steady(_) => Some(
                "these are estimates: time in which nothing changes is skipped (fidelity = \"steady\"); `packetloom fidelity` measures the error",
            ),
            Fidelity::Links(_) => Some(
                "these are estimates: links were simulated apart (fidelity = \"links\"); `packetloom fidelity` measures the error",
            ),
            Fidelity::Flows => Some(
                "these are estimates: flows, and messages of jobs, share links max-min fairly, whatever the transport, without packets (fidelity = \"flows\"); `packetloom fidelity` measures the error",
            ),
        }
    }
}

/// Refuses what a rung can't mean anything for.
///
/// # Errors
/// What that is, by its key in the scenario.
pub(super) fn check_rung(
    case: &Case,
    workload: &Workload,
    (topology, faults): (&Topology, &Faults),
) -> Result<(), Complaint> {
    let rung = Fidelity::of(&case.run);
    if rung == Fidelity::Packets {
        return Ok(());
    }
    check_scheme(case, workload, rung)?;
    check_network(case, rung, (topology, faults))?;
    check_hosts(rung, topology, (case, workload))?;
    check_measure(case, rung)?;
    match rung {
        Fidelity::Steady(_) => check_waiting(workload),
        Fidelity::Flows => check_triggers(workload),
        _ => check_traffic(workload, rung.name(), false),
    }
}

/// Under `flows`, jobs are what can wait for other flows.
fn check_triggers(workload: &Workload) -> Result<(), Complaint> {
    let why = if workload.has_chains() {
        "a closed loop can't drive flows"
    } else if workload.has_triggers() {
        "flows of a list that wait for others can't be started"
    } else if workload.query_specs().next().is_some() {
        "there are no queries"
    } else {
        return Ok(());
    };
    Err(Complaint::new("workload", format!("{why} under \"flows\"; leave it out")))
}

/// Under `steady`, what starts by the end of other flows has to be known to the engine alone.
fn check_waiting(workload: &Workload) -> Result<(), Complaint> {
    let refused =
        |why: &str| Err(Complaint::new("workload", format!("{why} under \"steady\"; leave it out")));
    if workload.has_chains() {
        return refused("a closed loop ends by the clock, which can't be skipped");
    }
    if workload.has_triggers() {
        return refused(
            "flows of a list that wait for others start by the clock, too, which can't be skipped",
        );
    }
    if workload.query_specs().next().is_some() {
        return refused("queries go by the clock, which can't be skipped");
    }
    if workload.jobs().iter().any(|job| job.plan.is_modelled()) {
        return refused("a job that a library's cost model times has no packets");
    }
    Ok(())
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

fn check_scheme(case: &Case, workload: &Workload, rung: Fidelity) -> Result<(), Complaint> {
    let transport = case.scheme.component("transport");
    let kind = &transport.kind;
    if is_fluid(kind) {
        return Err(refused(rung, &format!("{kind} has no packets in the first place")));
    }
    if central::is_central(kind) {
        return Err(refused(rung, &format!("{kind}'s controller plans every packet of all flows")));
    }
    if kind_of(&transport, "connections") == Some("in-order") {
        return Err(refused(rung, "the messages of a queue pair wait for each other"));
    }
    let is_steady = matches!(rung, Fidelity::Steady(_));
    if is_steady && !transport::needs(kind).shortens && !goes_by_stages(case, workload) {
        let jobs = if workload.jobs().is_empty() {
            ""
        } else {
            ", and a job is skipped stage by stage only while there are no other flows"
        };
        let why = format!(
            "{kind} does not declare that flows can be shortened, as it goes by their size or was not examined{jobs}"
        );
        return Err(refused(rung, &why));
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
        let queue = Specification::of(&queue);
        let why = if queue.credit_bytes().is_some() || queue.windows.is_some() {
            "a link's credits depend on the next link's buffer"
        } else if queue.pauses() || queue.backpressure.is_some() {
            "a paused link pauses those before it, so that trees of links stand still together"
        } else if queue.trims_to_bytes.is_some() {
            "what comes of trimmed packets depends on the links behind"
        } else {
            continue;
        };
        return Err(refused(rung, why));
    }
    Ok(())
}

/// Without packets or time on the network as a whole, its faults are what does not change.
fn check_faults(rung: Fidelity, topology: &Topology, faults: &Faults) -> Result<(), Complaint> {
    let why = "faults change paths and rates while flows are under way";
    if rung != Fidelity::Flows {
        return Err(refused(rung, why));
    }
    if !faults.stand() {
        let only =
            "links and switches can be down from at = \"0us\" on, with learn_after = \"0us\" and no until";
        return Err(refused(rung, &format!("{why}; {only}")));
    }
    match faults.islands(topology).first() {
        Some(host) => Err(refused(rung, &format!("host {host} is cut off"))),
        None => Ok(()),
    }
}

fn check_network(
    case: &Case,
    rung: Fidelity,
    (topology, faults): (&Topology, &Faults),
) -> Result<(), Complaint> {
    let is_steady = matches!(rung, Fidelity::Steady(_));
    let of_ranks = || case.faults.iter().filter(|fault| fault::is_of_rank(fault));
    if is_steady && of_ranks().any(fault::happens) {
        return Err(refused(rung, "faults of ranks go by the clock, which is skipped"));
    }
    let has_faults = case.faults.iter().any(|fault| fault::happens(fault) && !fault::is_of_rank(fault));
    if has_faults && !is_steady {
        check_faults(rung, topology, faults)?;
    }
    let routing = case.scheme.component("routing");
    if routing::goes_by_rates(&routing) && !faults.known_rates().is_empty() {
        return Err(refused(rung, &format!("{} learns by the clock what faults do to rates", routing.kind)));
    }
    if is_steady {
        return Ok(());
    }
    if topology.error_rates.iter().any(|rate| *rate > 0.0) {
        return Err(refused(rung, "some links of this network lose packets"));
    }
    if matches!(rung, Fidelity::Links(_)) && !routing::path_per_flow(&routing, topology).0 {
        let why = format!("{} spreads the packets of a flow over several paths", routing.kind);
        return Err(refused(rung, &why));
    }
    if matches!(rung, Fidelity::Flows) && case.scheme.component("transport").kind == "mptcp" {
        return Err(refused(rung, "each subflow of a flow takes a path of its own"));
    }
    Ok(())
}

/// Hosts may take a time for messages where it repeats with them.
fn check_hosts(
    rung: Fidelity,
    topology: &Topology,
    (case, workload): (&Case, &Workload),
) -> Result<(), Complaint> {
    let is_steady = matches!(rung, Fidelity::Steady(_));
    let may_cost = || rung == Fidelity::Flows || (is_steady && goes_by_stages(case, workload));
    if topology.message_costs != MessageCosts::default() && !may_cost() {
        let why = "hosts take a time for each message (send_per_message, receive_per_message)";
        return Err(refused(rung, why));
    }
    if topology.processing.is_some() && !is_steady {
        return Err(refused(rung, "hosts take a time for each packet (processing_per_packet)"));
    }
    Ok(())
}

fn check_measure(case: &Case, rung: Fidelity) -> Result<(), Complaint> {
    let measure = &case.measure;
    let flags = ["queues", "pauses", "reordering"].into_iter().filter(|key| measure.flag(key));
    let series = measure.optional_time("series_interval").map(|_| "series_interval");
    let capture = measure.optional_list("capture").map(|_| "capture");
    let flows = measure.optional_list("flows").map(|_| "flows");
    match flags.chain(series).chain(capture).chain(flows).next() {
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

/// What a rung gets less right than others, as keys and messages.
pub fn doubts(run: &Values, scheme: &Values, workloads: &[&Values]) -> Vec<(String, String)> {
    let rung = Fidelity::of(run);
    let mut doubts = Vec::new();
    let name = scheme.text("name");
    let mut doubt = |why: &str| doubts.push(("run.fidelity".to_owned(), format!("{:?}: {why}", rung.name())));
    if matches!(rung, Fidelity::Packets | Fidelity::Steady(_))
        || is_fluid(&scheme.component("transport").kind)
    {
        return doubts;
    }
    if let Some(queue) = scheme.optional_component("queue") {
        let traits = Specification::of(&queue).traits;
        if traits.shortest_first {
            doubt(&format!(
                "the order of {name}'s flows by what is left of them holds on all links at once, and is lost between links"
            ));
        }
        if traits.shares_unevenly && rung == Fidelity::Flows {
            doubt(&format!("all flows of {name} share alike, whatever its queue {:?} does", queue.kind));
        }
        if traits.shares_buffer {
            doubt(&format!("ports of a switch do not share a buffer as {name}'s do"));
        }
    }
    let routing = scheme.component("routing").kind;
    // These do so, or keep a flow to a path.
    let is_known = ["ecmp", "wcmp", "permutation", "oblivious", "spray-random", "spray-round-robin"];
    if rung == Fidelity::Flows && !is_known.contains(&routing.as_str()) {
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

//! What the user should know of a run.

use crate::engine::FlowStatus;
use crate::fault::Faults;
use crate::flow::FlowId;
use crate::measure::{FlowRow, FlowWatch};
use crate::queue;
use crate::simulation::outcome::PortRow;
use crate::spec::Values;
use crate::topology::Topology;
use crate::units::Time;

/// A threshold beyond every deadline makes every flow urgent: then DAQ's two queues are one.
pub(super) fn useless_threshold(queue: &Values, flows: &[FlowRow]) -> Option<String> {
    let threshold = queue::threshold(queue)?;
    let spans = flows.iter().filter_map(|row| row.deadline().map(|deadline| deadline.since(row.flow.start)));
    let longest = spans.max().filter(|&longest| longest <= threshold)?;
    Some(format!(
        "every flow is urgent: the threshold, {threshold}, is beyond the longest deadline, {longest}"
    ))
}

/// Packets were sent again where none was lost; `lost_after` is the parameter that took them for lost.
pub(super) fn sent_again_in_vain(
    lost_after: Option<&str>,
    flows: &[FlowRow],
    ports: &[PortRow],
) -> Option<String> {
    let key = lost_after?;
    let again: u64 = flows.iter().map(|row| u64::from(row.report.retransmissions)).sum();
    let is_lost = |row: &PortRow| {
        row.counters.drops + row.counters.trims + row.counters.corrupted + row.counters.lost > 0
    };
    (again > 0 && !ports.iter().any(is_lost)).then(|| {
        format!(
            "{again} packets were sent again, and none was lost: they waited for longer than scheme.transport.{key}; raise it"
        )
    })
}

/// Flows that never started: those that waited for others, and those whose time had not come when the case ended.
pub(super) fn never_started(waiting: u64, by_clock: u64) -> Vec<String> {
    let reasons = [(waiting, "what they wait for did not come"), (by_clock, "the case ended before")];
    let of_any = reasons.into_iter().filter(|(flows, _)| *flows > 0);
    of_any.map(|(flows, reason)| format!("{flows} flows never started, as {reason}")).collect()
}

/// Flows that were to be sampled, of which there was none.
pub(super) fn unsampled(watched: &FlowWatch, flows: &[FlowRow]) -> Option<String> {
    let has = |flow: &&FlowId| flows.binary_search_by_key(*flow, |row| row.flow.id).is_err();
    let missing: Vec<String> = watched.flows().iter().filter(has).map(ToString::to_string).collect();
    (!missing.is_empty()).then(|| {
        let started = flows.len();
        format!(
            "measure.flows: {} never started, so there are no samples of it; {started} flows did",
            missing.join(", ")
        )
    })
}

/// So many of the flows that could not be finished are named.
const MOST_NAMED: usize = 2;

/// Which flows were not finished, and why, where that is known.
pub(super) fn unfinished(
    (started, finished): (u64, u64),
    flows: &[FlowRow],
    statuses: &[FlowStatus],
    faults: &Faults,
    topology: &Topology,
) -> String {
    let is_open = |row: &&FlowRow| row.measured && !row.is_over();
    let name = |row: &FlowRow| {
        let [src, dst] = [row.flow.src, row.flow.dst];
        let is_cut_off = faults.cut_off(topology, src, dst);
        let place = statuses.binary_search_by_key(&row.flow.id, |one| one.flow);
        let why = match place.map(|place| &statuses[place]) {
            _ if is_cut_off => ", cut off for good".to_owned(),
            Ok(FlowStatus { arrived, packets, waits_for, .. }) => {
                format!(", {arrived} of {packets} packets arrived, waits for {waits_for}")
            }
            Err(_) if row.closed != Time::NEVER => {
                ", its sender is done, and what was lost does not come again".to_owned()
            }
            Err(_) => String::new(),
        };
        format!("{} ({} to {}{why})", row.flow.id, topology.node_name(src), topology.node_name(dst))
    };
    let named: Vec<String> = flows.iter().filter(is_open).take(MOST_NAMED).map(name).collect();
    let more = if started - finished > MOST_NAMED as u64 { ", ..." } else { "" };
    let left = started - finished;
    format!("{left} of {started} flows were not finished when the run ended: {}{more}", named.join(", "))
}

//! What the user should know of a run.

use crate::engine::FlowStatus;
use crate::engine::FlowWatch;
use crate::fault::Faults;
use crate::flow::FlowId;
use crate::measure::FlowRow;
use crate::queue::Specification;
use crate::simulation::outcome::PortRow;
use crate::spec::Values;
use crate::topology::Topology;
use crate::units::Time;

/// A threshold beyond every deadline makes every flow urgent: then DAQ's two queues are one.
pub(super) fn useless_threshold(queue: &Specification, flows: &[FlowRow]) -> Option<String> {
    let threshold = queue.daq.as_ref()?.threshold;
    let spans = flows.iter().filter_map(|row| row.deadline().map(|deadline| deadline.since(row.flow.start)));
    let longest = spans.max().filter(|&longest| longest <= threshold)?;
    Some(format!(
        "every flow is urgent: the threshold, {threshold}, is beyond the longest deadline, {}",
        longest.said()
    ))
}

/// Switches in servers could reduce, and no operation went by them.
pub(super) fn idle_reducers(topology: &Topology, flows: &[FlowRow]) -> Option<String> {
    let is_by_one = |row: &FlowRow| row.flow.src.max(row.flow.dst) >= topology.working_hosts();
    (topology.reducers > 0 && !flows.iter().any(is_by_one)).then(|| {
        "topology.reduction changes nothing: no operation went by the switches that reduce; library = \"nccl\" with nvls does".to_owned()
    })
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

/// Whether the warm-up and the cool-down leave no flow to measure.
pub(super) fn unmeasured(run: &Values, flows: &[FlowRow], last_start: Time) -> Option<String> {
    let [from, until] = ["warm_up", "cool_down"].map(|key| match run.entries.get(key) {
        Some(crate::spec::Value::Time(time)) => *time,
        _ => Time::ZERO,
    });
    let leave_none = !flows.is_empty() && flows.iter().all(|row| !row.measured);
    (leave_none && from + until > Time::ZERO).then(|| {
        let key = if from > Time::ZERO { "warm_up" } else { "cool_down" };
        format!(
            "run.{key}: no flow is measured: the last one started after {}, and {from} of warm_up and {until} \
             of cool_down leave nothing; write less, or more flows",
            last_start.said()
        )
    })
}

/// Whether a scheduler that is asked now and then was never asked.
pub(super) fn never_asked(scheme: &Values, simulated: Time) -> Option<String> {
    let routing = scheme.optional_component("routing").filter(|routing| routing.kind == "hedera")?;
    let interval = routing.time("interval");
    (simulated < interval).then(|| {
        format!(
            "scheme.routing.interval: the run took {}, and {} first asks which flows are large after {interval}, \
             so all went by ECMP; write less",
            simulated.said(),
            routing.kind
        )
    })
}

/// So many of the flows that could not be finished are named.
const MOST_NAMED: usize = 2;

/// Which flows were not whole when the run ended, and why, where that is known; and of which their senders had not
/// learned it. Tables count flows as this does: one is finished when its receiver has it, whatever its sender knows.
pub(super) fn unfinished(
    flows: &[FlowRow],
    statuses: &[FlowStatus],
    faults: &Faults,
    topology: &Topology,
) -> impl Iterator<Item = String> {
    let awaited = || flows.iter().filter(|row| row.measured);
    let open: Vec<&FlowRow> = awaited().filter(|row| !row.is_over()).collect();
    let (missing, whole): (Vec<&FlowRow>, _) = open.into_iter().partition(|row| row.fct().is_none());
    let name = |row: &FlowRow, why: String| {
        let [src, dst] = [row.flow.src, row.flow.dst];
        format!("{} ({} to {}{why})", row.flow.id, topology.node_name(src), topology.node_name(dst))
    };
    let why = |row: &FlowRow| {
        let is_cut_off = faults.cut_off(topology, row.flow.src, row.flow.dst);
        let place = statuses.binary_search_by_key(&row.flow.id, |one| one.flow);
        match place.map(|place| &statuses[place]) {
            _ if is_cut_off => ", cut off for good".to_owned(),
            Ok(FlowStatus { arrived, packets, waits_for, .. }) => {
                format!(", {arrived} of {packets} packets arrived, waits for {waits_for}")
            }
            Err(_) if row.closed != Time::NEVER => {
                ", its sender is done, and what was lost does not come again".to_owned()
            }
            Err(_) => String::new(),
        }
    };
    let of_missing = (!missing.is_empty()).then(|| {
        let named = listed(&missing, |row| name(row, why(row)));
        let (left, all) = (missing.len(), awaited().count());
        format!("{left} of {all} flows were not finished when the run ended: {named}")
    });
    let of_whole = (!whole.is_empty()).then(|| {
        let named = listed(&whole, |row| name(row, String::new()));
        format!(
            "the senders of {} finished flows did not know so yet when the run ended: {named}",
            whole.len()
        )
    });
    of_missing.into_iter().chain(of_whole)
}

/// The first of these, by name.
fn listed(rows: &[&FlowRow], name: impl Fn(&FlowRow) -> String) -> String {
    let named: Vec<String> = rows.iter().take(MOST_NAMED).map(|row| name(row)).collect();
    let more = if rows.len() > MOST_NAMED { ", ..." } else { "" };
    named.join(", ") + more
}

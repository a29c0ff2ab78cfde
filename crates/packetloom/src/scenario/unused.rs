//! Settings that change nothing in a scenario: allowed, since a grid may span what does and what does not need them, but
//! worth a warning.

use super::assemble::section_tables;
use super::grid::Scenario;
use super::variant::Variant;
use crate::queue::Specification;
use crate::simulation;
use crate::spec::Values;
use crate::units::Time;
use crate::workload::arrivals::follow_load;
use crate::workload::jobs;

/// What changes nothing: each key, and why.
pub(super) fn unused(scenario: &Scenario) -> Vec<(String, String)> {
    let mut unused = of_loads(scenario);
    unused.extend(of_precision(scenario));
    unused.extend(of_measure(scenario));
    unused.extend(of_schemes(scenario));
    unused.extend(of_faults(scenario));
    unused
}

fn values(variants: &[Variant<Values>]) -> impl Iterator<Item = &Values> {
    variants.iter().map(|variant| &variant.value)
}

fn arrivals(scenario: &Scenario) -> impl Iterator<Item = Values> {
    scenario.workloads.iter().flat_map(|source| values(source)).map(|source| source.component("arrivals"))
}

fn of_loads(scenario: &Scenario) -> Vec<(String, String)> {
    let is_set = scenario.loads.iter().any(Option::is_some);
    if !is_set || arrivals(scenario).any(|one| follow_load(&one)) {
        return Vec::new();
    }
    vec![("run.loads".to_owned(), "changes nothing: no source follows the load; leave it out".to_owned())]
}

fn of_precision(scenario: &Scenario) -> Vec<(String, String)> {
    let precision = scenario.tree.get("run").and_then(|run| run.get("precision"));
    let is_written = precision.is_some_and(|precision| precision.get("max_extensions").is_some());
    let extends = scenario.precision.as_ref().is_some_and(|precision| precision.max_extensions > 0);
    if !is_written || !extends || scenario.cases().any(|case| case.longer(2).is_some()) {
        return Vec::new();
    }
    let reason = "changes nothing: no flows start by the clock for as long as they are let, or a fault comes or goes at a \
                  time; leave it out";
    vec![("run.precision.max_extensions".to_owned(), reason.to_owned())]
}

fn of_measure(scenario: &Scenario) -> Vec<(String, String)> {
    let schemes = || scenario.schemes.iter().flat_map(|scheme| values(scheme));
    let has_job = arrivals(scenario).any(|one| jobs::is_job(&one.kind));
    let has_packets = schemes().any(|scheme| !simulation::is_fluid(&scheme.component("transport").kind));
    let queues = schemes().flat_map(|scheme| ["queue", "nic"].map(|key| scheme.optional_component(key)));
    let is_set = |key: &str| values(&scenario.measure).any(|measure| measure.flag(key));
    let mut queues = queues.flatten();
    let pauses = is_set("pauses") && queues.any(|queue| Specification::of(&queue).pauses());
    let needs = [
        ("operations", has_job, "no source is a job"),
        ("critical_path", has_job, "no source is a job"),
        ("queues", has_packets, "no scheme has packets"),
        ("reordering", has_packets, "no scheme has packets"),
        ("pauses", pauses, "no scheme has a queue that pauses, such as \"shared-buffer\""),
    ];
    let unmet = needs.into_iter().filter(|(key, is_met, _)| is_set(key) && !is_met);
    unmet
        .map(|(key, _, why)| (format!("measure.{key}"), format!("records nothing: {why}; leave it out")))
        .collect()
}

/// Flow-level models have neither packets nor queues.
fn of_schemes(scenario: &Scenario) -> Vec<(String, String)> {
    let mut unused = Vec::new();
    for (index, (variants, table)) in
        scenario.schemes.iter().zip(section_tables(&scenario.tree, "scheme")).enumerate()
    {
        let kinds: Vec<String> = values(variants).map(|scheme| scheme.component("transport").kind).collect();
        if kinds.iter().all(|kind| simulation::is_fluid(kind)) {
            let written = ["queue", "nic", "routing"].into_iter().filter(|key| table.get(key).is_some());
            let message = format!("changes nothing: {} has no packets; leave it out", kinds[0]);
            unused.extend(written.map(|key| (format!("scheme[{index}].{key}"), message.clone())));
        }
    }
    unused
}

fn of_faults(scenario: &Scenario) -> Vec<(String, String)> {
    let ends: Option<Vec<Time>> = values(&scenario.run).map(|run| run.optional_time("max_time")).collect();
    let end = ends.and_then(|ends| ends.into_iter().max());
    let mut unused = Vec::new();
    for (index, variants) in scenario.faults.iter().enumerate() {
        let starts: Option<Vec<Time>> = values(variants)
            .map(|fault| fault.entries.contains_key("at").then(|| fault.time("at")))
            .collect();
        let first = starts.and_then(|starts| starts.into_iter().min());
        if first == Some(Time::NEVER) {
            let message = "changes nothing: there is never such a fault; leave it out, or write at = [\"1ms\", \"never\"]";
            unused.push((format!("fault[{index}].at"), message.to_owned()));
        } else if let Some((at, end)) = first.zip(end).filter(|(at, end)| at >= end) {
            let message = format!("changes nothing: {at} is not before the run's end at {end}");
            unused.push((format!("fault[{index}].at"), message));
        }
    }
    unused
}

//! What must hold between the sections of a scenario, and what is allowed but odd.

use super::assemble::section_tables;
use super::grid::Scenario;
use super::idle::idle;
use super::problem::{self, Problem, is_blank};
use super::read::{MOST_CASES, Reader};
use super::registry::Registry;
use super::unused::unused;
use super::variant::Variant;
use crate::queue::Specification;
use crate::simulation;
use crate::spec::{Value, Values};
use crate::transport;
use crate::workload::arrivals;
use std::collections::BTreeSet;

/// Whether arrivals of a kind end by themselves.
fn are_finite(kind: &str) -> bool {
    kind == "at-once" || arrivals::have_all(kind)
}

/// Notes what does not fit together.
pub(super) fn check(reader: &mut Reader<'_>, scenario: &Scenario) {
    check_names(reader, scenario);
    check_end(reader, scenario);
    check_size(reader, scenario);
}

fn check_names(reader: &mut Reader<'_>, scenario: &Scenario) {
    let mut taken = BTreeSet::new();
    for (index, (variants, table)) in
        scenario.schemes.iter().zip(section_tables(&scenario.tree, "scheme")).enumerate()
    {
        let names: BTreeSet<String> =
            variants.iter().map(|variant| as_seen(&variant.value.text("name"))).collect();
        if let Some(name) = taken.intersection(&names).next() {
            let message = format!("{name:?} is another scheme's name; write one of its own");
            reader.report(table.line_of("name"), &format!("scheme[{index}].name"), message);
        }
        taken.extend(names);
    }
}

/// A name without letters that show nothing and blanks around it: two that differ in these look alike in a table.
fn as_seen(name: &str) -> String {
    let seen: String = name.chars().filter(|&letter| !is_blank(letter)).collect();
    seen.trim().to_owned()
}

/// Some sources would start flows forever.
fn check_end(reader: &mut Reader<'_>, scenario: &Scenario) {
    let is_set = |values: &Values, key| values.entries.get(key).is_some_and(|value| *value != Value::Absent);
    let is_endless = |workload: &Values| {
        let arrivals = workload.component("arrivals").kind;
        let is_background = workload.entries.get("background") == Some(&Value::Flag(true));
        !are_finite(&arrivals) && !is_set(workload, "flows") && !is_background
    };
    let has_no_end = |run: &Values| !is_set(run, "flows") && !is_set(run, "duration");
    let any = |variants: &[Variant<Values>], holds: &dyn Fn(&Values) -> bool| {
        variants.iter().any(|variant| holds(&variant.value))
    };
    if any(&scenario.run, &has_no_end) && scenario.workloads.iter().any(|source| any(source, &is_endless)) {
        let message =
            "says neither how many flows start nor until when; write flows = 10000, or duration = \"100ms\"";
        reader.report(scenario.tree.line_of("run"), "run", message);
    }
}

fn check_size(reader: &mut Reader<'_>, scenario: &Scenario) {
    if scenario.case_count() > MOST_CASES {
        let message = format!("this spans {} cases; write at most {MOST_CASES}", scenario.case_count());
        reader.report(None, "", message);
    }
}

/// What is allowed but probably not meant.
pub(super) fn warnings(scenario: &Scenario, registry: &Registry) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut warn = |key: &str, message: String| {
        let problem = Problem { line: scenario.tree.line_of(key), key: key.to_owned(), message };
        warnings.push(problem::line_of_text(&scenario.source, &problem));
    };
    for load in scenario.loads.iter().flatten() {
        if *load > 1.0 {
            warn("run.loads", format!("load {load} is above 1: the run will not settle"));
        } else if *load == 0.0 {
            warn("run.loads", "a load of 0 starts no flow".to_owned());
        }
    }
    for run in scenario.run.iter().map(|variant| &variant.value) {
        if let (Some(stop), Some(duration)) = (run.optional_time("max_time"), run.optional_time("duration"))
            && stop <= duration
        {
            let message = if stop < duration {
                format!("{stop} ends the run before the duration of {duration} does")
            } else {
                format!(
                    "{stop} ends the run with its duration, and flows that are under way then do not finish"
                )
            };
            warn("run.max_time", message);
        }
    }
    let workloads: Vec<&Values> = scenario.workloads.iter().flatten().map(|variant| &variant.value).collect();
    let schemes = || scenario.schemes.iter().flatten().map(|variant| &variant.value);
    let runs = scenario.run.iter().map(|variant| &variant.value);
    let doubts =
        runs.flat_map(|run| schemes().flat_map(|scheme| simulation::doubts(run, scheme, &workloads)));
    for (key, message) in doubts.collect::<BTreeSet<_>>() {
        warn(&key, message);
    }
    for (key, message) in unused(scenario).into_iter().chain(idle(scenario, registry)) {
        warn(&key, message);
    }
    for (index, variants) in scenario.schemes.iter().enumerate() {
        let odd = variants.iter().flat_map(|variant| odd_queues(&variant.value));
        for (key, message) in odd.collect::<BTreeSet<_>>() {
            warn(&format!("scheme[{index}].{key}"), message);
        }
    }
    warnings
}

/// What a scheme's queues do not do that its transport, or they themselves, go by.
fn odd_queues(scheme: &Values) -> Vec<(String, String)> {
    let transport = scheme.component("transport");
    let Some([queue, nic]) = Specification::of_scheme(scheme) else { return Vec::new() };
    let name = queue.kind();
    let (kind, needs) = (&transport.kind, transport::needs(&transport.kind));
    let mut odd = Vec::new();
    let mut note = |key: &str, message: String| odd.push((key.to_owned(), message));
    if transport::goes_by_marks(&transport) && !(queue.marks || nic.marks) {
        let such_as = if queue.may_mark { "write its ecn_min and ecn_max" } else { "\"ecn\" does" };
        let message = format!("{kind} goes by marks, and {name:?} sets none; {such_as}");
        note("queue", message);
    }
    if queue.marks && !queue.traits.drops_early && !transport::is_markable(&transport) {
        let instead = if queue.pauses() { "dcqcn" } else { "dctcp" };
        let message = format!(
            "{kind} sends packets that can't be marked, so {name:?} marks none: nothing that it says of marks acts; \
             {instead} goes by marks"
        );
        note("queue", message);
    }
    if transport::sends_unscheduled(&transport) && !queue.drops_unscheduled {
        let such_as = if needs.lost_credits {
            "drop_unscheduled_above of \"credit-limiter\" does"
        } else {
            "aqm = \"selective-drop\" of \"egress\" does"
        };
        let message = format!(
            "{kind} with Aeolus sends data that is to be dropped before the rest, and {name:?} drops none of it first; {such_as}"
        );
        note("queue", message);
    }
    if needs.trims
        && !transport::sends_unscheduled(&transport)
        && queue.trims_to_bytes.or(nic.trims_to_bytes).is_none()
    {
        let message = format!("{kind} goes by trimmed packets, and {name:?} trims none; \"ndp\" does");
        note("queue", message);
    }
    if needs.weights && !queue.weighs {
        let message = format!("{kind} goes by weights, and {name:?} knows none; \"weighted-fair\" does");
        note("queue", message);
    }
    if needs.lost_credits {
        if queue.limits_credits.is_none() || nic.limits_credits.is_none() {
            let message = format!(
                "{kind} goes by credits that ports drop, and {name:?} lets all through; \"credit-limiter\" does not"
            );
            note("queue", message);
        }
        let [ack, mss, header] = ["ack", "mss", "header"].map(|key| transport.bytes(key));
        if let Some(message) = queue.limits_credits.and_then(|made_for| made_for.differ(ack, mss + header)) {
            note("queue", message);
        }
    }
    if let Some(classes) = transport::classes(&transport)
        && queue.classes.unwrap_or(1) < classes
    {
        let has = queue.classes.unwrap_or(1);
        let more = format!("{{ kind = \"classes\", strict = {classes} }} has all");
        note("queue", format!("{kind} sorts packets into {classes} classes, and {name:?} has {has}; {more}"));
    }
    for key in ["queue", "nic"] {
        let queue = scheme.optional_component(key).map(|queue| Specification::of(&queue));
        if let Some((inner, message)) = queue.and_then(|queue| queue.never_reached) {
            note(&format!("{key}.{inner}"), message);
        }
    }
    odd
}

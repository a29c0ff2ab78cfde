//! Any scenario that is accepted runs: no invariant is violated, and running it again, or on two threads, gives the
//! same.
//!
//! A bounded number is drawn in every test run, always the same ones. `PACKETLOOM_PROPERTIES=5000` draws so many
//! others. A failing scenario is shrunk, reported, and kept beside this file to be tried first from then on; but for those
//! with jobs, which are drawn for each transport apart.

mod draw;
mod jobs;

use crate::common;
use packetloom::engine::Tally;
use packetloom::measure::fingerprint;
use packetloom::scenario::{Scenario, registry};
use packetloom::simulation::{FlowSample, Monitor, Simulation};
use packetloom::spec::{Component, Kind};
use packetloom::transport;
use proptest::prelude::*;
use proptest::test_runner::{
    Config, FailurePersistence, FileFailurePersistence, TestCaseError, TestError, TestRng, TestRunner,
};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Drawn in every test run.
const DRAWN: u32 = 100;

/// A drawn scenario takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

fn drawn() -> Option<u32> {
    std::env::var("PACKETLOOM_PROPERTIES")
        .ok()
        .map(|count| count.parse().expect("PACKETLOOM_PROPERTIES is a number"))
}

/// Draws so many scenarios, after those that are kept if these are `tried_first`.
fn runner(cases: u32, tried_first: bool) -> TestRunner {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/properties/found.txt");
    let kept: Box<dyn FailurePersistence> = Box::new(FileFailurePersistence::Direct(kept));
    let config = Config {
        cases,
        max_global_rejects: 1_000_000,
        max_shrink_time: 60_000,
        failure_persistence: tried_first.then_some(kept),
        ..Config::default()
    };
    match drawn() {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(
            config,
            TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
        ),
    }
}

/// The simulation of a scenario's first case, or why it makes no sense.
fn simulation_of(scenario: &Json) -> std::result::Result<Simulation, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let scenario = Scenario::from_json(&scenario.to_string(), "drawn", directory);
    let scenario = scenario.map_err(|problems| problems.to_string())?;
    let case = scenario.cases().next().ok_or("no case")?;
    Simulation::new(case).map_err(|complaint| format!("{}: {}", complaint.key, complaint.message))
}

fn write_files() {
    common::set_empty_class();
    for (name, text) in draw::FILES {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(path, text).expect("a directory to write to");
    }
}

/// All that counts of a run.
type Result = (u64, Tally, Vec<[u64; 4]>, Vec<String>, Vec<FlowSample>, String);

fn run(scenario: &Json, threads: u32) -> std::result::Result<Option<Result>, TestCaseError> {
    let Ok(simulation) = simulation_of(scenario) else { return Ok(None) };
    let Ok(outcome) =
        within_patience(scenario, |monitor| simulation.with_threads(threads).with_audit(true).run(monitor))
    else {
        return Ok(None);
    };
    // A case that takes so long proves nothing about the invariants, and would be shrunk for hours.
    if outcome.cancelled {
        return Ok(None);
    }
    if let Some(violation) = &outcome.violation {
        return Err(TestCaseError::fail(violation.to_string()));
    }
    let ports = outcome.ports.iter().map(|port| {
        let counters = port.counters;
        [counters.packets, counters.bytes, counters.drops, counters.marks]
    });
    let samples = outcome.flow_series().collect();
    let jobs =
        (&outcome.jobs, &outcome.iterations, &outcome.ranks, &outcome.operations, &outcome.critical_path);
    let jobs = format!("{jobs:?}");
    let warnings = outcome.warnings.clone();
    Ok(Some((fingerprint(&outcome.flows), outcome.tally, ports.collect(), warnings, samples, jobs)))
}

/// The same scenario where no flow is sampled.
fn without_samples(scenario: &Json) -> Json {
    let mut scenario = scenario.clone();
    if let Some(measure) = scenario["measure"].as_object_mut() {
        measure.retain(|key, _| !key.starts_with("flows"));
    }
    scenario
}

/// Ends the test with the scenario if a run neither ends nor can be ended.
fn within_patience<R>(scenario: &Json, work: impl FnOnce(&Monitor) -> R) -> R {
    let monitor = Arc::new(Monitor::default());
    let (done, waits) = mpsc::channel::<()>();
    let (watched, description) = (Arc::clone(&monitor), scenario.to_string());
    let guard = std::thread::spawn(move || {
        if waits.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            watched.cancel();
            if waits.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("hangs: {description}");
                std::process::abort();
            }
        }
    });
    let result = work(&monitor);
    drop(done);
    guard.join().expect("the guard only waits");
    result
}

#[test]
fn whatever_is_accepted_obeys_the_laws_and_gives_the_same_again() {
    obey_the_laws(&draw::scenario(), DRAWN, true);
}

#[test]
fn so_does_ultra_ethernet_on_hosts_with_several_links() {
    obey_the_laws(&draw::on_several_links(), DRAWN / 4, true);
}

#[test]
fn so_do_ports_of_parts_with_flow_control() {
    obey_the_laws(&draw::with_flow_control(), DRAWN / 10, true);
}

#[test]
fn so_does_backpressure() {
    obey_the_laws(&draw::with_backpressure(), DRAWN / 10, true);
}

#[test]
fn so_do_windows_for_destinations() {
    obey_the_laws(&draw::with_windows(), DRAWN / 10, true);
}

/// Of each transport that can carry jobs.
const JOBS_DRAWN: u32 = 2;

#[test]
fn so_do_jobs_under_every_transport_that_can_carry_them() {
    write_files();
    let carriers = jobs::carriers(|scenario| simulation_of(scenario).is_ok());
    let all = transport::COMPONENTS.iter().map(|one| one.kind);
    let others: Vec<&str> = all.filter(|kind| carriers.iter().all(|one| one.kind() != *kind)).collect();
    assert!(others.is_empty(), "no queue was found over which {others:?} carry a job");
    for carrier in &carriers {
        obey_the_laws(&jobs::scenario(carrier), JOBS_DRAWN, false);
    }
}

/// So many of these are drawn in every test run.
fn obey_the_laws(scenarios: &BoxedStrategy<Json>, count: u32, kept_first: bool) {
    write_files();
    let ran = AtomicU32::new(0);
    let tried = runner(drawn().unwrap_or(count), kept_first).run(scenarios, |scenario| {
        let Some(first) = run(&scenario, 1)? else {
            return Err(TestCaseError::reject("makes no sense"));
        };
        for threads in [1, 2] {
            let again = run(&scenario, threads)?;
            if again.is_some() {
                prop_assert_eq!(Some(&first), again.as_ref(), "on {} threads", threads);
            }
        }
        let unsampled = run(&without_samples(&scenario), 1)?;
        if let Some((flows, tally, ports, ..)) = unsampled {
            prop_assert_eq!(
                (first.0, first.1, &first.2),
                (flows, tally, &ports),
                "whether flows are sampled"
            );
        }
        ran.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    if let Err(TestError::Fail(why, scenario)) = &tried {
        panic!("{why}\n{scenario:#}");
    }
    tried.expect("enough scenarios make sense");
    assert!(ran.into_inner() >= count.min(drawn().unwrap_or(count)));
}

/// The components that a drawn scenario names, each under its section; `json` is one of a section, or some.
fn named(section: &str, json: &Json, names: &mut BTreeSet<String>) {
    match json {
        Json::Object(entries) => {
            let kind = entries.get("kind").and_then(Json::as_str).unwrap_or(section);
            names.insert(format!("{section}: {kind}"));
            let component =
                registry::components().into_iter().find(|one| (one.section, one.kind) == (section, kind));
            for param in component.into_iter().flat_map(Component::params) {
                if let (Some(value), Kind::Component(inner) | Kind::List(&Kind::Component(inner))) =
                    (entries.get(param.name), param.kind)
                {
                    named(inner, value, names);
                }
            }
        }
        Json::Array(values) => values.iter().for_each(|value| named(section, value, names)),
        _ => {}
    }
}

/// After so many draws parts of a scheme that need each other, and have not met, are put together.
const FREE_DRAWS: usize = 300;

/// Has a scenario's scheme consist of some of these components, each time others.
fn put_into_scheme(scenario: &mut Json, draw: usize, missing: &BTreeMap<String, String>) {
    for (section, turn) in [("transport", draw), ("routing", draw / 7)] {
        let kinds = missing.keys().filter_map(|name| name.strip_prefix(section)?.strip_prefix(": "));
        let kinds: Vec<&str> = kinds.collect();
        if let Some(kind) = kinds.get(turn % (kinds.len() + 1)) {
            scenario["scheme"][0][section] = serde_json::json!({ "kind": kind });
        }
    }
    // Parts of a port that have not been drawn yet, as they were drawn, or as they are.
    for part in ["scheduler", "aqm", "buffer", "flow_control"].iter().filter(|_| draw.is_multiple_of(5)) {
        let is_missing = |name: &&String| name.strip_prefix(part).is_some_and(|rest| rest.starts_with(": "));
        if scenario["scheme"][0]["queue"]["kind"] != "egress"
            && let Some(kind) = missing.keys().find(is_missing).and_then(|name| name.split(": ").nth(1))
        {
            let mut drawn = serde_json::json!({ "kind": kind });
            let mut queue = serde_json::json!({ "kind": "egress" });
            match kind {
                "dwrr" => drawn["weights"] = serde_json::json!([1, 2]),
                "dualpi2" => queue["scheduler"] = "dual-queue".into(),
                "ingress" | "reverie" | "pfc" => {
                    queue["scheduler"] = "strict".into();
                    if kind == "reverie" {
                        drawn["size"] = "300KB".into();
                    }
                    queue["buffer"] = "ingress".into();
                    queue["flow_control"] = "pfc".into();
                }
                "cbfc" => queue["scheduler"] = "strict".into(),
                "pool" | "abm" => drawn["size"] = "100KB".into(),
                _ => {}
            }
            queue[*part] = drawn;
            scenario["scheme"][0]["queue"] = queue;
        }
    }
}

/// Leaves the scheme, on its topology, to decide whether a scenario makes sense.
fn make_traffic_plain(scenario: &mut Json) {
    scenario["workload"] = serde_json::json!([{ "sizes": { "kind": "constant", "size": "10KB" } }]);
    scenario.as_object_mut().expect("a scenario").retain(|key, _| key != "fault" && key != "measure");
}

/// Jobs and flow lists that have not been drawn yet, which bring their own sizes and hosts, come alone, with a scheme
/// that asks for nothing.
fn make_room_for_jobs(scenario: &mut Json, missing: &BTreeMap<String, String>) {
    let kind = scenario["workload"][0]["arrivals"]["kind"].as_str().unwrap_or_default();
    if missing.get(&format!("arrivals: {kind}")).is_some_and(|why| brings_its_own(why)) {
        scenario["scheme"] = serde_json::json!([{ "name": "any", "transport": "tcp", "queue": "drop-tail" }]);
        let mut job = scenario["workload"][0].take();
        job.as_object_mut().expect("a workload").retain(|key, _| key != "sizes" && key != "pattern");
        scenario["workload"] = serde_json::json!([job]);
    }
}

fn brings_its_own(why: &str) -> bool {
    why.contains("the job has the") || why.contains("the flow list has the")
}

/// A fault that has not been drawn yet comes alone, with traffic and a scheme that go with all of them.
fn make_room_for_faults(scenario: &mut Json, missing: &BTreeMap<String, String>) {
    let is_missing = |fault: &&Json| {
        let kind = fault["kind"].as_str().unwrap_or_default();
        missing.contains_key(&format!("fault: {kind}"))
    };
    let Some(fault) = scenario["fault"].as_array().and_then(|faults| faults.iter().find(is_missing).cloned())
    else {
        return;
    };
    let is_of_rank = fault.get("rank").is_some();
    scenario["fault"] = serde_json::json!([fault]);
    scenario["workload"] = serde_json::json!([{ "sizes": { "kind": "constant", "size": "10KB" } }]);
    if is_of_rank {
        scenario["fault"][0]["rank"] = 1.into();
        scenario["fault"][0]["job"] = 0.into();
        scenario["workload"] = serde_json::json!([{ "arrivals": {
            "kind": "training", "data": 2, "layers": 1, "forward": "1us", "activations": "1KB", "gradients": "1KB",
        } }]);
    }
    scenario["scheme"] = serde_json::json!([
        { "name": "any", "transport": "roce", "queue": { "kind": "shared-buffer", "pause_time": "100us" } }
    ]);
}

/// Lengths that have not been drawn yet are those of a controller's packets, which needs a network without faults.
fn make_room_for_lengths(scenario: &mut Json, draw: usize, missing: &BTreeMap<String, String>) {
    let kinds: Vec<&str> = missing.keys().filter_map(|name| name.strip_prefix("lengths: ")).collect();
    if let Some(kind) = kinds.get(draw % (8 * kinds.len().max(1))) {
        scenario["scheme"] = serde_json::json!([{
            "name": "any", "transport": { "kind": "asy", "lengths": { "kind": kind } }, "queue": "drop-tail",
            "routing": "spray-random",
        }]);
        scenario.as_object_mut().expect("a scenario").remove("fault");
    }
}

/// Requests come alone, at a rate, to a network without faults and with a host for each rank.
fn make_room_for_requests(scenario: &mut Json, draw: usize, missing: &BTreeMap<String, String>) {
    let kinds: Vec<&str> = missing.keys().filter_map(|name| name.strip_prefix("tokens: ")).collect();
    let Some(kind) = kinds.get(draw % (8 * kinds.len().max(1))) else { return };
    let mut length = serde_json::json!({ "kind": kind });
    let keys: &[(&str, Json)] = &match *kind {
        "fixed" => vec![("tokens", 10.into())],
        "lognormal" => vec![("median", 10.into()), ("sigma", 0.5.into()), ("most", 100.into())],
        _ => vec![("points", serde_json::json!([[1, 0.5], [20, 1.0]]))],
    };
    keys.iter().for_each(|(key, value)| length[*key] = value.clone());
    let pool = |more: Json| {
        let mut pool = serde_json::json!({ "instances": 1, "base": "10us" });
        more.as_object().into_iter().flatten().for_each(|(key, value)| pool[key] = value.clone());
        pool
    };
    *scenario = serde_json::json!({
        "topology": { "kind": "rack", "hosts": 4 },
        "workload": [{ "arrivals": {
            "kind": "serving", "requests": 5, "rate_per_second": 1000, "prompt": length,
            "answer": { "kind": "fixed", "tokens": 3 },
            "model": { "layers": 2, "kv_heads": 1, "head_size": 16 },
            "prefill": pool(serde_json::json!({ "per_token": "1us" })),
            "decode": pool(serde_json::json!({ "memory": "1GB" })),
        } }],
        "scheme": [{ "name": "any", "transport": "tcp", "queue": "drop-tail" }],
        "run": { "max_time": "1s" },
    });
}

#[test]
fn every_component_is_drawn_in_a_scenario_that_makes_sense() {
    write_files();
    // Of each component that was not drawn yet in a scenario that makes sense: why the last one with it made none.
    let mut missing: BTreeMap<String, String> = registry::components()
        .iter()
        .filter(|component| component.kind != component.section)
        .map(|component| (format!("{}: {}", component.section, component.kind), "never drawn".to_owned()))
        .collect();
    let mut runner = TestRunner::deterministic();
    let strategy = draw::scenario();
    for draw in 0..100_000 {
        let mut scenario = strategy.new_tree(&mut runner).expect("a scenario").current();
        if draw >= FREE_DRAWS {
            if draw % 2 == 0 {
                make_traffic_plain(&mut scenario);
            }
            put_into_scheme(&mut scenario, draw, &missing);
            make_room_for_jobs(&mut scenario, &missing);
            make_room_for_faults(&mut scenario, &missing);
            make_room_for_lengths(&mut scenario, draw, &missing);
            make_room_for_requests(&mut scenario, draw, &missing);
        }
        let mut names = BTreeSet::new();
        named("scenario", &scenario, &mut names);
        if !names.iter().any(|name| missing.contains_key(name)) {
            continue;
        }
        match simulation_of(&scenario) {
            Ok(_) => missing.retain(|name, _| !names.contains(name)),
            Err(why) => missing
                .iter_mut()
                .filter(|(name, _)| names.contains(*name))
                .for_each(|(_, last)| last.clone_from(&why)),
        }
        if missing.is_empty() {
            return;
        }
    }
    panic!("never in a scenario that makes sense: {missing:#?}");
}

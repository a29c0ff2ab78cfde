//! The benchmarks: scenarios that stand in `benches/`.

use crate::ScenarioError;
use cpu_time::ThreadTime;
use packetloom::scenario::Scenario;
use packetloom::simulation::{Monitor, Simulation};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::Path;
use std::time::Instant;

/// Name, scenario, threads.
const BENCHES: &[(&str, &str, u32)] = &[
    ("fifo-permutation-k8", include_str!("../../../benches/fifo-permutation-k8.toml"), 1),
    ("fifo-permutation-k16", include_str!("../../../benches/fifo-permutation-k16.toml"), 1),
    ("fifo-permutation-k16-two-threads", include_str!("../../../benches/fifo-permutation-k16.toml"), 2),
    ("fifo-permutation-k32", include_str!("../../../benches/fifo-permutation-k32.toml"), 1),
    ("dctcp-websearch-k8", include_str!("../../../benches/dctcp-websearch-k8.toml"), 1),
    ("pfabric-websearch-k6", include_str!("../../../benches/pfabric-websearch-k6.toml"), 1),
    ("ndp-permutation-k8", include_str!("../../../benches/ndp-permutation-k8.toml"), 1),
    ("ndp-permutation-k16", include_str!("../../../benches/ndp-permutation-k16.toml"), 1),
];

/// The benchmarks' names.
#[pyfunction]
pub fn bench_names() -> Vec<&'static str> {
    BENCHES.iter().map(|(name, _, _)| *name).collect()
}

/// How many threads a benchmark runs on.
#[pyfunction]
pub fn bench_threads(name: &str) -> PyResult<u32> {
    find(name).map(|(_, threads)| threads)
}

fn find(name: &str) -> PyResult<(&'static str, u32)> {
    let found = BENCHES.iter().find(|(known, _, _)| *known == name);
    let found = found.map(|&(_, text, threads)| (text, threads));
    found.ok_or_else(|| ScenarioError::new_err(format!("no benchmark is called {name}")))
}

/// Runs a benchmark, network and traffic built outside the time that counts.
#[pyfunction]
pub fn bench<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let (text, threads) = find(name)?;
    let scenario = Scenario::from_toml(text, name, Path::new(""))
        .map_err(|problems| ScenarioError::new_err(problems.to_string()))?;
    let case = scenario.cases().next();
    let case = case.ok_or_else(|| ScenarioError::new_err(format!("{name} has no case")))?;
    let simulation =
        Simulation::new(case).map_err(|complaint| crate::scenario::complaint_error(&complaint))?;
    let (tally, cpu, wall) = py
        .detach(|| {
            let (wall, cpu) = (Instant::now(), ThreadTime::now());
            let outcome = simulation.with_threads(threads).run(&Monitor::default())?;
            Ok((outcome.tally, cpu.elapsed() + outcome.helpers_took, wall.elapsed()))
        })
        .map_err(|complaint| crate::scenario::complaint_error(&complaint))?;
    let figure = PyDict::new(py);
    figure.set_item("name", name)?;
    figure.set_item("packet_hops", tally.packet_hops)?;
    figure.set_item("events", tally.events)?;
    figure.set_item("cpu_s", cpu.as_secs_f64())?;
    figure.set_item("wall_s", wall.as_secs_f64())?;
    figure.set_item("threads", threads)?;
    Ok(figure)
}

//! Python bindings of packetloom: thin functions that delegate, without decisions of their own.
//!
//! `scenario.rs` reads and checks, `simulation.rs` runs a case, `network.rs` is a case that its caller drives, `outcome.rs`
//! returns a run's columns; `fingerprint.rs`
//! hashes flow records read back from files; `control.rs` binds the controllers' algorithms; `bench.rs` and
//! `control_bench.rs` measure; `student.rs` is Student's t; `user_scheme.rs` loads the classes that users write in Python
//! (congestion controls, rate controls, queues' rules, choices of paths), `scheme_bench.rs` drives a congestion control
//! event by event; `arrays.rs` is numpy's arrays, made and read.

#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod arrays;
mod bench;
mod control;
mod control_bench;
mod fingerprint;
mod network;
mod outcome;
mod scenario;
mod scheme_bench;
mod simulation;
mod student;
mod user_scheme;

use pyo3::prelude::*;
use std::collections::BTreeMap;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pyo3::import_exception!(packetloom.errors, ArgumentError);
pyo3::import_exception!(packetloom.errors, PacketloomError);
pyo3::import_exception!(packetloom.errors, ScenarioError);

/// JSON: every component with its parameters, defaults, explanations and sources.
#[pyfunction]
fn registry() -> String {
    packetloom::scenario::explain::everything(&packetloom::scenario::Registry::default()).to_string()
}

/// JSON: the components of this name.
#[pyfunction]
fn explain(name: &str) -> PyResult<String> {
    let found = packetloom::scenario::explain::explain(name, &packetloom::scenario::Registry::default());
    found.map(|components| components.to_string()).map_err(ScenarioError::new_err)
}

/// JSON: a class of a Python file, as a transport.
#[pyfunction]
fn explain_class(file: &str, class: &str) -> PyResult<String> {
    let registry = packetloom::scenario::Registry::default();
    let found = packetloom::scenario::explain::explain_class(file, class, &registry);
    found.map(|component| component.to_string()).map_err(ScenarioError::new_err)
}

/// The names of the flow-size distributions that packetloom carries.
#[pyfunction]
fn distributions() -> Vec<&'static str> {
    packetloom::workload::library::names().collect()
}

/// The JSON Schema of the scenario format.
#[pyfunction]
fn schema() -> String {
    let schema = packetloom::scenario::schema::schema(&packetloom::scenario::Registry::default());
    format!("{schema:#}")
}

/// What each column of the results holds, with its unit.
#[pyfunction]
fn column_meanings() -> BTreeMap<&'static str, &'static str> {
    packetloom::measure::MEANINGS.iter().copied().collect()
}

/// The hash of a file's content, as cases have it.
#[pyfunction]
fn file_hash(content: &[u8]) -> String {
    packetloom::scenario::hash_of(content)
}

/// The size and the destination port of each flow of a `flow.txt` of HPCC's simulator, in order; none of one without
/// ports.
#[pyfunction]
fn listed_ports(text: &str) -> Vec<(u64, u16)> {
    let flows = packetloom::formats::hpcc_flows::read(text).unwrap_or_default();
    flows.iter().filter_map(|flow| Some((flow.size_bytes, flow.port?))).collect()
}

/// The version.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Whether a profile of earlier runs guided the compiler.
#[pyfunction]
fn profile_guided() -> bool {
    env!("PACKETLOOM_PROFILE_GUIDED") == "true"
}

/// The simulator, as Python sees it.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("SLOWEST_FIT", packetloom::simulation::SLOWEST_FIT)?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<scenario::Case>()?;
    module.add_class::<simulation::Simulation>()?;
    module.add_class::<simulation::Trial>()?;
    module.add_class::<simulation::Cost>()?;
    module.add_class::<outcome::Outcome>()?;
    module.add_class::<network::Network>()?;
    module.add_function(wrap_pyfunction!(scenario::unequal, module)?)?;
    module.add_function(wrap_pyfunction!(registry, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(explain_class, module)?)?;
    module.add_function(wrap_pyfunction!(distributions, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(column_meanings, module)?)?;
    module.add_function(wrap_pyfunction!(fingerprint::fingerprint_of, module)?)?;
    module.add_function(wrap_pyfunction!(file_hash, module)?)?;
    module.add_function(wrap_pyfunction!(listed_ports, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(profile_guided, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_in_turn, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_meeting, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_names, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_threads, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_runs, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_reference_loop, module)?)?;
    module.add_function(wrap_pyfunction!(control_bench::control_bench, module)?)?;
    module.add_function(wrap_pyfunction!(student::student_two_sided_p, module)?)?;
    module.add_function(wrap_pyfunction!(student::student_two_sided_t, module)?)?;
    user_scheme::set_scheme_loader();
    module.add_function(wrap_pyfunction!(user_scheme::scheme_symbols, module)?)?;
    module.add_function(wrap_pyfunction!(user_scheme::scheme_layouts, module)?)?;
    module.add_class::<scheme_bench::SchemeBench>()?;
    control::add_to(module)
}

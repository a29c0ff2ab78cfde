//! The benchmarks: the scenarios in `benches/`.

use crate::ScenarioError;
use cpu_time::ThreadTime;
use packetloom::engine::{Meeting, meeting};
use packetloom::reference_loop;
use packetloom::scenario::{Case, Scenario};
use packetloom::simulation::{Monitor, Outcome, Simulation};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::Path;
use std::time::{Duration, Instant};

/// A benchmark.
struct Bench {
    name: &'static str,
    scenario: &'static str,
    threads: u32,
    /// How often it is run, so that it takes more than one CPU-second on a machine of 2024.
    runs: u32,
}

macro_rules! bench {
    ($name:literal, $file:literal, threads: $threads:literal, runs: $runs:literal) => {
        Bench {
            name: $name,
            scenario: include_str!(concat!("../../../benches/", $file, ".toml")),
            threads: $threads,
            runs: $runs,
        }
    };
}

const BENCHES: &[Bench] = &[
    bench!("fifo-permutation-k8", "fifo-permutation-k8", threads: 1, runs: 8),
    bench!("fifo-permutation-k16", "fifo-permutation-k16", threads: 1, runs: 3),
    bench!("fifo-permutation-k16-two-threads", "fifo-permutation-k16", threads: 2, runs: 3),
    bench!("fifo-permutation-k32", "fifo-permutation-k32", threads: 1, runs: 1),
    bench!("dctcp-websearch-k8", "dctcp-websearch-k8", threads: 1, runs: 1),
    bench!("pfabric-websearch-k6", "pfabric-websearch-k6", threads: 1, runs: 1),
    bench!("dcqcn-websearch-k8", "dcqcn-websearch-k8", threads: 1, runs: 1),
    bench!("bfc-websearch-k8", "bfc-websearch-k8", threads: 1, runs: 1),
    bench!("hpcc-websearch-k8", "hpcc-websearch-k8", threads: 1, runs: 1),
    bench!("powertcp-websearch-k8", "powertcp-websearch-k8", threads: 1, runs: 1),
    bench!("homa-websearch-k8", "homa-websearch-k8", threads: 1, runs: 1),
    bench!("sird-websearch-k8", "sird-websearch-k8", threads: 1, runs: 1),
    bench!("dcpim-websearch-k8", "dcpim-websearch-k8", threads: 1, runs: 1),
    bench!("expresspass-websearch-k8", "expresspass-websearch-k8", threads: 1, runs: 1),
    bench!("ndp-permutation-k8", "ndp-permutation-k8", threads: 1, runs: 6),
    bench!("ndp-permutation-k16", "ndp-permutation-k16", threads: 1, runs: 6),
    bench!("nscc-reps-permutation-k8", "nscc-reps-permutation-k8", threads: 1, runs: 24),
    bench!("eqds-permutation-k8", "eqds-permutation-k8", threads: 1, runs: 24),
    bench!("all-reduce-1024", "all-reduce-1024", threads: 1, runs: 1),
];

/// The benchmarks' names.
#[pyfunction]
pub fn bench_names() -> Vec<&'static str> {
    BENCHES.iter().map(|bench| bench.name).collect()
}

/// How many threads a benchmark runs on.
#[pyfunction]
pub fn bench_threads(name: &str) -> PyResult<u32> {
    find(name).map(|bench| bench.threads)
}

/// How often a benchmark is run to be timed.
#[pyfunction]
pub fn bench_runs(name: &str) -> PyResult<u32> {
    find(name).map(|bench| bench.runs)
}

fn find(name: &str) -> PyResult<&'static Bench> {
    let found = BENCHES.iter().find(|bench| bench.name == name);
    found.ok_or_else(|| ScenarioError::new_err(format!("no benchmark is called {name}")))
}

impl Bench {
    fn case(&self) -> PyResult<Case> {
        let scenario = Scenario::from_toml(self.scenario, self.name, Path::new(""))
            .map_err(|problems| ScenarioError::new_err(problems.to_string()))?;
        let case = scenario.cases().next();
        case.ok_or_else(|| ScenarioError::new_err(format!("{} has no case", self.name)))
    }

    fn simulation(&self) -> PyResult<Simulation> {
        Simulation::new(self.case()?).map_err(|complaint| crate::scenario::complaint_error(&complaint))
    }
}

/// Runs the reference loop, for this much processor time, on the smallest fat-tree that has a benchmark's hosts.
#[pyfunction]
pub fn bench_reference_loop<'py>(py: Python<'py>, name: &str, cpu_s: f64) -> PyResult<Bound<'py, PyDict>> {
    let hosts = u64::from(find(name)?.simulation()?.hosts());
    let ports = (2_u32..).step_by(2).find(|&k| u64::from(k).pow(3) / 4 >= hosts).expect("hosts are finite");
    let (packet_hops, cpu) = py.detach(|| reference_loop::measure(ports, Duration::from_secs_f64(cpu_s)));
    let figure = PyDict::new(py);
    figure.set_item("packet_hops", packet_hops)?;
    figure.set_item("cpu_s", cpu.as_secs_f64())?;
    Ok(figure)
}

/// Runs a benchmark once, network and traffic built outside the time that counts; on its own number of threads, if none is
/// given.
#[pyfunction]
#[pyo3(signature = (name, threads=None))]
pub fn bench<'py>(py: Python<'py>, name: &str, threads: Option<u32>) -> PyResult<Bound<'py, PyDict>> {
    let bench = find(name)?;
    let threads = threads.unwrap_or(bench.threads);
    let simulation = bench.simulation()?.with_threads(threads);
    let (outcome, cpu_s, wall) = timed(py, simulation)?;
    let figure = PyDict::new(py);
    figure.set_item("name", name)?;
    figure.set_item("packet_hops", outcome.tally.packet_hops)?;
    figure.set_item("events", outcome.tally.events)?;
    figure.set_item("cpu_s", cpu_s)?;
    figure.set_item("wall_s", wall.as_secs_f64())?;
    figure.set_item("threads", threads)?;
    Ok(figure)
}

/// Runs a benchmark once on one thread that does in turn what so many would do at once: the processor time, how many windows
/// there were, what all shards took in them, and of each window the one that took longest.
#[pyfunction]
pub fn bench_in_turn<'py>(py: Python<'py>, name: &str, threads: u32) -> PyResult<Bound<'py, PyDict>> {
    let simulation = find(name)?.simulation()?.with_threads_in_turn(threads);
    let (outcome, cpu_s, _) = timed(py, simulation)?;
    let costs = outcome.window_costs;
    let figure = PyDict::new(py);
    figure.set_item("cpu_s", (cpu_s - costs.reading.as_secs_f64()).max(0.0))?;
    figure.set_item("windows", costs.windows)?;
    figure.set_item("all_s", costs.all().as_secs_f64())?;
    figure.set_item("longest_s", costs.longest.as_secs_f64())?;
    figure.set_item("busiest_s", costs.busiest().as_secs_f64())?;
    Ok(figure)
}

/// What a thread takes to meet another after a window, and for each thread more, in seconds.
#[pyfunction]
pub fn bench_meeting(py: Python<'_>) -> (f64, f64) {
    let Meeting { with_one, for_each_more } = py.detach(meeting);
    (with_one.as_secs_f64(), for_each_more.as_secs_f64())
}

fn timed(py: Python<'_>, simulation: Simulation) -> PyResult<(Outcome, f64, Duration)> {
    py.detach(|| {
        let (wall, cpu) = (Instant::now(), ThreadTime::now());
        let outcome = simulation.run(&Monitor::default())?;
        let cpu_s = (cpu.elapsed() + outcome.helpers_took).as_secs_f64();
        Ok((outcome, cpu_s, wall.elapsed()))
    })
    .map_err(|complaint| crate::scenario::complaint_error(&complaint))
}

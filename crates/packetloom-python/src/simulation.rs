//! A case as it runs.

use crate::outcome::Outcome;
use crate::scenario::{Case, Size, complaint_error};
use cpu_time::ThreadTime;
use packetloom::simulation::{Demand, Monitor, Simulation as Core};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::Mutex;
use std::time::Instant;

/// One run of a case; other threads may watch and end it.
#[pyclass(frozen, module = "packetloom._core")]
pub struct Simulation {
    core: Mutex<Option<Core>>,
    monitor: Monitor,
}

#[pymethods]
impl Simulation {
    #[new]
    fn new(case: &Case) -> PyResult<Simulation> {
        let core = Core::new(case.core.clone()).map_err(|complaint| complaint_error(&complaint))?;
        Ok(Simulation { core: Mutex::new(Some(core)), monitor: Monitor::default() })
    }

    /// Simulates on up to so many threads, without holding the interpreter's lock; returns early when cancelled, or
    /// when an audit finds an invariant violated.
    #[pyo3(signature = (threads, audit = false))]
    fn run(&self, py: Python<'_>, threads: u32, audit: bool) -> PyResult<Outcome> {
        let core = self.core.lock().ok().and_then(|mut core| core.take());
        let core = core.ok_or_else(|| PyRuntimeError::new_err("a simulation runs once; make another"))?;
        py.detach(|| {
            let (wall, cpu) = (Instant::now(), ThreadTime::now());
            let core = core.with_up_to_threads(threads).with_audit(audit);
            let outcome = core.run(&self.monitor).map_err(|complaint| complaint_error(&complaint))?;
            let cpu = cpu.elapsed() + outcome.helpers_took;
            Ok(Outcome::new(outcome, cpu.as_secs_f64(), wall.elapsed().as_secs_f64()))
        })
    }

    fn progress(&self) -> (f64, u64, f64) {
        let progress = self.monitor.progress();
        (progress.share, progress.packet_hops, progress.now.as_ns_f64())
    }

    fn cancel(&self) {
        self.monitor.cancel();
    }
}

/// What cases of a scheme will cost, by the beginning of one.
#[pyclass(frozen, module = "packetloom._core")]
pub struct Trial {
    core: packetloom::simulation::Trial,
    demand: Option<Demand>,
}

#[pymethods]
impl Trial {
    /// Runs the beginning of a case.
    #[new]
    fn new(py: Python<'_>, case: &Case) -> PyResult<Trial> {
        py.detach(|| {
            let demand = case.size()?.demand;
            let core = Core::new(case.core.clone()).and_then(|built| built.trial(demand));
            Ok(Trial { core: core.map_err(|complaint| complaint_error(&complaint))?, demand })
        })
    }

    /// What a case of this scheme costs, as far as that can be known.
    fn cost_of(&self, py: Python<'_>, case: &Case) -> PyResult<Option<Cost>> {
        py.detach(|| {
            let Size { demand, ports, operations, least_end_s, .. } = case.size()?;
            let cost = self.core.cost_of(self.demand, demand, least_end_s);
            Ok(cost.map(|cost| Cost {
                flows: demand.map_or(cost.flows, |demand| demand.flows),
                packet_hops: cost.packet_hops,
                cpu_s: cost.cpu_s,
                simulated_s: cost.simulated_s,
                operations,
                ports,
            }))
        })
    }
}

/// What a case will cost.
#[pyclass(frozen, get_all, module = "packetloom._core")]
pub struct Cost {
    flows: f64,
    packet_hops: f64,
    cpu_s: f64,
    simulated_s: f64,
    operations: u64,
    ports: usize,
}

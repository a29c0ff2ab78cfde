//! A case as it runs.

use crate::outcome::Outcome;
use crate::scenario::{Case, complaint_error};
use cpu_time::ThreadTime;
use packetloom::simulation::{Monitor, Simulation as Core};
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

    fn progress(&self) -> (f64, u64) {
        self.monitor.progress()
    }

    fn cancel(&self) {
        self.monitor.cancel();
    }
}

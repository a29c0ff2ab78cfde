//! A case as it runs.

use crate::outcome::Outcome;
use crate::scenario::{Case, Size, complaint_error};
use cpu_time::ThreadTime;
use packetloom::simulation::{Demand, Monitor, Simulation as Core};
use pyo3::exceptions::{PyRuntimeError, PyTimeoutError};
use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often a trial looks whether a person pressed Ctrl-C.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);
/// A trial's stack: what the program's own thread has, in which cases are built otherwise.
const STACK_BYTES: usize = 8 << 20;

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
    /// Runs the beginning of a case. After so many seconds it raises `TimeoutError`, as a method of a user's class may
    /// never return; its thread lasts as long as the process then.
    #[new]
    #[pyo3(signature = (case, patience_s = None))]
    fn new(py: Python<'_>, case: &Case, patience_s: Option<f64>) -> PyResult<Trial> {
        let demand = case.size()?.demand;
        let core = case.core.clone();
        let (tell, told) = channel();
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            // Nobody listens any more if this took too long.
            _ = tell.send(Core::new(core).and_then(|built| built.trial(demand)));
        })?;
        let began = Instant::now();
        py.detach(move || {
            loop {
                match told.recv_timeout(SIGNALS_EVERY) {
                    Ok(core) => {
                        let core = core.map_err(|complaint| complaint_error(&complaint))?;
                        return Ok(Trial { core, demand });
                    }
                    Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
                    Err(RecvTimeoutError::Disconnected) => match thread.join() {
                        Err(panic) => resume_unwind(panic),
                        Ok(()) => unreachable!("it sends before it ends"),
                    },
                }
                if patience_s.is_some_and(|most_s| began.elapsed().as_secs_f64() > most_s) {
                    return Err(PyTimeoutError::new_err("a method has not returned"));
                }
            }
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

//! The benchmark of the control algorithms.

use cpu_time::ThreadTime;
use packetloom::control::benchmark;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Measures every control algorithm for so many servers.
#[pyfunction]
pub fn control_bench(py: Python<'_>, servers: u32) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let figures = py.detach(|| {
        let clock = ThreadTime::now();
        benchmark::run(servers, &|| clock.elapsed().as_secs_f64())
    });
    let rows = figures.into_iter().map(|figure| {
        let row = PyDict::new(py);
        row.set_item("algorithm", figure.algorithm)?;
        row.set_item("item", figure.item)?;
        row.set_item("servers", figure.servers)?;
        row.set_item("items", figure.items)?;
        row.set_item("cpu_s", figure.cpu_s)?;
        row.set_item("waiting_pairs", figure.waiting)?;
        Ok(row)
    });
    rows.collect()
}

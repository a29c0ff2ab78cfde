//! A user's congestion control on the test bench: `packetloom.testing` drives it.

use crate::scenario::Case;
use crate::{ArgumentError, PacketloomError};
use packetloom::scenario::quantity;
use packetloom::transport::python::{Bench, BenchError};
use packetloom::units::Time;
use pyo3::prelude::*;

/// A flow under the transport of a case, which is of kind "python".
#[pyclass(module = "packetloom._core")]
pub struct SchemeBench(Bench);

#[pymethods]
impl SchemeBench {
    #[new]
    fn new(case: &Case, rtt: &str) -> PyResult<SchemeBench> {
        let transport = case.core.scheme.component("transport");
        Ok(SchemeBench(Bench::new(&transport, time(rtt)?)))
    }

    /// Raises what `start` did to the window, or an event before.
    fn check(&self) -> PyResult<()> {
        self.0.whole().map_err(error)
    }

    fn acknowledged(&mut self, packets: u32, marked: bool) -> PyResult<()> {
        self.0.acknowledged(packets, marked).map_err(error)
    }

    #[pyo3(signature = (in_flight = None))]
    fn lost(&mut self, in_flight: Option<u32>) -> PyResult<()> {
        self.0.lost(in_flight).map_err(error)
    }

    #[pyo3(signature = (in_flight = None))]
    fn timed_out(&mut self, in_flight: Option<u32>) -> PyResult<()> {
        self.0.timed_out(in_flight).map_err(error)
    }

    fn set_rtt(&mut self, rtt: &str) -> PyResult<()> {
        self.0.set_rtt(time(rtt)?);
        Ok(())
    }

    #[getter]
    fn pacing_rate_bps(&self) -> f64 {
        self.0.pacing_rate_bps()
    }

    #[getter]
    fn cwnd(&self) -> f64 {
        self.0.cwnd()
    }

    #[getter]
    fn ssthresh(&self) -> f64 {
        self.0.ssthresh()
    }

    #[getter]
    fn una(&self) -> u32 {
        self.0.una()
    }

    #[getter]
    fn next(&self) -> u32 {
        self.0.next()
    }

    #[getter]
    fn now_ps(&self) -> u64 {
        self.0.now().as_ps()
    }

    #[getter]
    fn ecn(&self) -> bool {
        self.0.ecn()
    }

    /// What the class's parameters and then its fields hold, bit by bit.
    #[getter]
    fn state(&self) -> Vec<u64> {
        self.0.state().to_vec()
    }
}

fn time(text: &str) -> PyResult<Time> {
    quantity::time(text).map_err(|message| ArgumentError::new_err(format!("rtt: {message}")))
}

fn error(error: BenchError) -> PyErr {
    let message = error.to_string();
    match error {
        BenchError::Control { .. } => PacketloomError::new_err(message),
        BenchError::NotSent { .. } => ArgumentError::new_err(message),
    }
}

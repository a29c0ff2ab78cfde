//! Student's t distribution, by the regularised incomplete beta function (Abramowitz and Stegun, 26.7.1).
//!
//! SciPy has it, too, but loading `scipy.special` takes as long as loading everything else that a short command needs.

use pyo3::prelude::*;
use statrs::function::beta::{beta_reg, inv_beta_reg};

/// The probability that |t| is at least this large, for so many degrees of freedom.
#[pyfunction]
pub fn student_two_sided_p(freedom: f64, t: f64) -> f64 {
    beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// The t that |t| exceeds with this probability.
#[pyfunction]
pub fn student_two_sided_t(freedom: f64, p: f64) -> f64 {
    let x = inv_beta_reg(freedom / 2.0, 0.5, p);
    (freedom * (1.0 - x) / x).sqrt()
}

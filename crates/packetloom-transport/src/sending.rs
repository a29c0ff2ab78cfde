//! The state of a flow at its sender, for observers: tables of what happened, and tests of invariants.

use crate::engine::Report;
use crate::units::Rate;

/// What a sender may send, and what it has sent. Nothing reads it in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sending {
    /// How many packets may be in flight, of a scheme that has a window; of one with subflows, on all of them
    /// together.
    pub window: Option<f64>,
    /// How fast packets may leave, of a scheme that has a rate.
    pub rate: Option<Rate>,
    /// How many packets it holds to be in flight.
    pub in_flight: u32,
    /// Every packet before this one is known to have arrived.
    pub acknowledged: u32,
    /// What it has done so far.
    pub report: Report,
}

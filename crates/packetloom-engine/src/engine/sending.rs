//! The state of a flow at its sender, for observers: samples over time, tables of what happened, tests of invariants.

use super::log::Report;
use crate::units::{Rate, Time};

/// What a sender may send, what it has sent, and what it knows. Nothing reads it in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sending {
    /// How many packets may be in flight, of a scheme that has a window; of one with subflows, on all of them
    /// together.
    pub window: Option<f64>,
    /// How fast packets may leave, of a scheme that has a rate.
    pub rate: Option<Rate>,
    /// The round-trip time, of a scheme that measures it, once it has: smoothed, or the last.
    pub rtt: Option<Time>,
    /// How congested it holds its path to be, from 0 to 1, of a scheme with a rate that keeps an
    /// estimate, as DCQCN's alpha.
    pub congestion: Option<f64>,
    /// How many packets it holds to be in flight.
    pub in_flight: u32,
    /// Every packet before this one is known to have arrived.
    pub acknowledged: u32,
    /// How many packets are known to have arrived, in any order.
    pub arrived: u32,
    /// What it has done so far.
    pub report: Report,
}

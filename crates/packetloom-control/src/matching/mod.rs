//! Matchings of sources and destinations: in a slot each server sends to at most one and receives from at most one.

mod batch;
mod greedy;
mod maximum;
mod policy;

pub use batch::{Batch, Demand, Grant};
pub use greedy::{Candidate, Scheduler, greedy};
pub use maximum::HopcroftKarp;
pub use policy::{Head, Policy};

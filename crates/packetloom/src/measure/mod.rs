//! Measures: what is kept of a simulation.

mod best;
mod flows;
mod queues;

pub use best::{Format, best_fct};
pub use flows::{Collector, FlowRow, fingerprint};
pub use queues::QueueRecorder;

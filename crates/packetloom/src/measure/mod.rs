//! Measures: what is kept of a simulation.

mod best;
mod columns;
mod flows;
mod queues;
mod sent;

pub use best::{Format, best_fct};
pub use columns::MEANINGS;
pub use flows::{Collector, FlowRow, fingerprint};
pub use queues::{ClassRecord, QueueRecorder};
pub use sent::SentRecorder;

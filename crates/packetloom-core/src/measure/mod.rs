//! Measures: what is kept of a simulation.

mod best;
mod capture;
mod columns;
mod flow_samples;
mod flows;
mod queues;
mod reordering;
mod sent;

pub use best::{Format, Hop, best_fct, hops};
pub use capture::{Capture, Captured, Segment, pcapng};
pub use columns::MEANINGS;
pub use flow_samples::{FlowSamples, FlowWatch};
pub use flows::{Collector, FlowRow, fingerprint};
pub use queues::{ClassRecord, QueueRecorder};
pub use reordering::{Arrivals, Numbers, Reordering, Stamp};
pub use sent::SentRecorder;

//! Recorders: what a run keeps of queues, links and packets while it goes on.

mod capture;
mod queues;
mod reordering;
mod sent;

pub use capture::{Capture, Captured, Segment, pcapng};
pub use queues::{ClassRecord, QueueRecorder};
pub use reordering::{Arrivals, Numbers, Reordering};
pub use sent::SentRecorder;

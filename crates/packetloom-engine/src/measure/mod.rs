//! Measures: the rows of flows, made of the log of a run, and what they are compared with.

mod columns;
mod flows;
mod known;
mod order;

pub use columns::MEANINGS;
pub use flows::{Collector, FlowRow, fingerprint};

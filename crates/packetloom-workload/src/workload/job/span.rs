//! What operations took.

use crate::flow::FlowId;
use crate::units::Time;

/// An operation that was carried out once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// In which repetition.
    pub iteration: u32,
    /// Its place among the rank's operations.
    pub place: u32,
    /// When all had happened that it depends on.
    pub ready: Time,
    /// When it got its stream, too.
    pub begin: Time,
    /// When it ended; [`Time::NEVER`] if it did not.
    pub end: Time,
    /// The operation of its rank that let it begin at last: the last that it depended on, or the one that had its
    /// stream.
    pub after: Option<u32>,
    /// The message that let it end, if one did.
    pub message: Option<FlowId>,
}

//! When an operation was executed.

use crate::units::Time;

/// An operation as a run executed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Which rank.
    pub rank: u32,
    /// The operation's place at the rank.
    pub operation: u32,
    /// Its name, as an index into [`super::Program::names`].
    pub name: u32,
    /// When it began.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// The stream that it held.
    pub stream: Option<u16>,
}

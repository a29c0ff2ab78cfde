//! Operations that were carried out as wholes, without a flow for each message.

use super::Bound;
use crate::units::Time;

/// What is known of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WholeFacts {
    /// What it takes alone on the empty network.
    pub alone: Time,
    /// Its bytes.
    pub bytes: u64,
    /// The link that bounds it.
    pub bound: Option<Bound>,
}

/// What is known of the operation of a source with this exchange; nothing if its messages were sent one by one.
pub(in crate::simulation) type Facts<'a> = &'a dyn Fn(u8, u32) -> Option<WholeFacts>;

impl Bound {
    /// The share of the link's rate that what it carried is in a span of time.
    pub(super) fn used_in(&self, span: Time) -> f64 {
        self.takes.as_ps() as f64 / span.as_ps().max(1) as f64
    }
}

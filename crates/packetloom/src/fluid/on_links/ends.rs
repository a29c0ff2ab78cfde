//! When flows may end, in order of time, then of number.

use crate::flow::FlowId;
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The times at which flows are to be looked at. Time, flow and slot are one number, which is compared in one step.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends(BinaryHeap<Reverse<u128>>);

impl Ends {
    /// A flow in a slot is to be looked at then.
    pub(super) fn add(&mut self, at: Time, id: FlowId, slot: u32) {
        self.0.push(Reverse(u128::from(at.as_ps()) << 64 | u128::from(id) << 32 | u128::from(slot)));
    }

    /// The first.
    pub(super) fn first(&self) -> Option<(Time, FlowId, u32)> {
        let Reverse(first) = self.0.peek()?;
        Some((
            Time((first >> 64) as u64),
            (first >> 32 & 0xffff_ffff) as FlowId,
            (first & 0xffff_ffff) as u32,
        ))
    }

    /// Takes the first out.
    pub(super) fn pop(&mut self) {
        self.0.pop();
    }
}

//! Packets and ports for the balancers' tests.

use super::{Look, Passing};
use crate::flow::FlowId;
use crate::packet::Kind;
use crate::packets::PacketId;
use crate::units::Time;

/// A full data packet of a flow at time 0.
pub(super) fn passing(flow: FlowId) -> Passing {
    Passing {
        id: PacketId::default(),
        now: Time::ZERO,
        flow,
        subflow: 0,
        src: 0,
        dst: 9,
        size_bytes: 1_000,
        kind: Kind::Data,
        class: 0,
        is_marked: false,
        ecmp: 0,
    }
}

/// Ports at which so many bytes wait.
pub(super) struct Queues<'a>(pub(super) &'a [u64]);

impl Look for Queues<'_> {
    fn queued_bytes(&mut self, port: u32) -> u64 {
        self.0[port as usize]
    }

    fn is_paused(&mut self, _: u32) -> bool {
        false
    }
}

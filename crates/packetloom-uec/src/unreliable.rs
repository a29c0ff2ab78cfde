//! UUD: unreliable, unordered delivery (Ultra Ethernet specification 1.0, §3.5.7.4).
//!
//! Nothing is answered, and nothing is sent again. Packets leave at line rate, as congestion control does not govern
//! them. A sender is done when its last packet has left its link. A flow of which a packet was dropped or trimmed
//! stays unfinished.

use super::config::Config;
use super::header::Header;
use super::receiver::{Receiver, Wants};
use super::sender::Sender;
use super::{Host, TIMEOUT};
use crate::flow::Flow;
use crate::packet::Packet;

/// What a packet changes at its receiver, which neither answers nor pulls.
pub fn take_in(receiver: &mut Receiver, packet: &Packet<Header>, config: &Config) -> (Option<Header>, Wants) {
    receiver.note(packet, config);
    (None, Wants::default())
}

// The sending side.
impl Sender {
    /// A packet is on its way, of which nothing will be heard. After the last one a timer goes off as it has left.
    pub fn let_go(&mut self, seq: u32, path: u16, config: &Config, context: &mut Host<'_>) {
        self.in_flight -= self.bytes(seq, config);
        self.flight.advance(seq + 1, |_, _| {});
        if self.is_done() {
            let &Flow { id, dst, .. } = self.flow();
            let left_at = context.nic_drained_at(id, path, || dst).max(context.now);
            context.set_timer(left_at, id, TIMEOUT);
        }
    }
}

//! RUDI: reliable, unordered delivery of idempotent operations, which may be done twice (Ultra Ethernet specification
//! 1.0, §3.5.7.3).
//!
//! The receiver keeps nothing of a flow. It delivers each packet that comes, a duplicate too, and answers each by
//! itself: a response for a packet, a NACK for a trimmed one. All that is known of the flow lies with its sender. What
//! the receiver records here is the simulator's: when every packet has come once.
//!
//! Congestion control does not govern it, so its packets leave at line rate; with `control = "nscc"` it has RUD's window,
//! in place of the care that the specification asks of applications. A response is as large as an acknowledgement.

use super::config::Config;
use super::header::{Ack, Header};
use super::receiver::{Receiver, Wants};
use super::sender::Sender;
use super::taking::{blank, nack};
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};

/// The answer to a packet, whatever came before.
pub fn answer(packet: &Packet<Header>) -> Option<Header> {
    let Header::Data { seq, again, .. } = packet.header else { return None };
    match packet.kind {
        Kind::Data => Some(Header::Ack(Ack { base: seq, bitmap: 1, ..blank(packet) })),
        _ => Some(nack(packet, (seq, again))),
    }
}

/// What a packet changes at its receiver: the answer to it; nothing is pulled.
pub fn take_in(receiver: &mut Receiver, packet: &Packet<Header>, config: &Config) -> (Option<Header>, Wants) {
    receiver.note(packet, config);
    (answer(packet), Wants::default())
}

// The sending side.
impl Sender {
    /// A response says of one packet that it arrived: what an acknowledgement of RUD's would have said.
    pub fn completed(&self, response: &Ack, config: &Config) -> Ack {
        let (news, next) = match self.flight.first_after(response.seq) {
            Some(next) => (narrow::<u32>(self.bytes(response.seq, config)), next),
            None => (0, self.flight.first()),
        };
        Ack { next, received: self.received.wrapping_add(news), ..*response }
    }
}

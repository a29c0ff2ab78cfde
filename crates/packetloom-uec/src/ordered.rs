//! ROD: reliable, ordered delivery, by going back to what is missing (Ultra Ethernet specification 1.0, §3.5.7.2 and
//! §3.5.21.1).
//!
//! The packets of a flow take one path. Its receiver takes in only the packet that it expects. It discards what comes
//! beyond a gap, and answers with a NACK that names the packet expected; the sender sends that one and all after it
//! again. A trimmed packet is answered as ever, with the same consequence.
//!
//! What is assumed: one NACK for each gap, as RoCE's receivers send, and another when a packet sent again comes
//! beyond it, so that what is expected was lost again; the NACK acknowledges what came before the gap; the window takes
//! a gap as it takes a packet that timed out, and each trimmed packet as RUD's does; acknowledgements cover several
//! packets, as those of RUD do; a flow keeps its path after a timeout, too.

use super::Host;
use super::config::Config;
use super::header::{Ack, Answers, Header, Nack};
use super::oversubscribed::Oversubscribed;
use super::receiver::{Receiver, Wants};
use super::sender::Sender;
use super::taking::{blank, take_in_any};
use crate::packet::{Kind, Packet};

/// The gap that a receiver has reported.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gap {
    /// The packet that it expects or will expect, and the last one that came after that.
    reported: Option<(u32, u32)>,
}

impl Gap {
    /// A packet came beyond the one expected, the sender having sent it before or not; returns whether that is news.
    fn is_news(&mut self, expected: u32, seq: u32, again: bool) -> bool {
        match &mut self.reported {
            Some((packet, last)) if *packet == expected && (seq > *last || !again) => {
                *last = seq.max(*last);
                false
            }
            reported => {
                *reported = Some((expected, seq));
                true
            }
        }
    }

    /// A trimmed packet was reported: the sender goes back to it.
    fn trimmed(&mut self, expected: u32, seq: u32) {
        if self.reported.is_none_or(|(packet, _)| packet < expected || packet >= seq) {
            self.reported = Some((seq, seq));
        }
    }
}

/// What a packet changes at the receiver of an ordered flow: the answer to it, and what its flow is to be pulled for.
pub fn take_in(
    receiver: &mut Receiver,
    packet: &Packet<Header>,
    config: &Config,
    oversubscribed: &mut Option<Box<Oversubscribed>>,
) -> (Option<Header>, Wants) {
    let expected = receiver.arrivals.packets();
    match packet.header {
        Header::Data { seq, target, again, .. } if packet.kind == Kind::Data && seq > expected => {
            if let Some(control) = oversubscribed {
                control.arrived(packet.congestion_experienced);
            }
            receiver.pulls.wants(target);
            let is_news = receiver.gap.is_news(expected, seq, again);
            (is_news.then(|| gap(receiver, packet)), Wants { credit: is_news, trimmed: 0 })
        }
        Header::Data { seq, .. } if packet.kind != Kind::Data && seq >= expected => {
            receiver.gap.trimmed(expected, seq);
            take_in_any(receiver, packet, config, oversubscribed)
        }
        _ => take_in_any(receiver, packet, config, oversubscribed),
    }
}

/// The NACK of a packet that came beyond a gap.
fn gap(receiver: &Receiver, packet: &Packet<Header>) -> Header {
    let of = Ack { answers: Answers::Gap, ..blank(packet) };
    Header::Ack(receiver.arrivals.ack(receiver.arrivals.packets() + 1, of))
}

// The sending side.
impl Sender {
    /// An acknowledgement, or the NACK of what came beyond a gap.
    pub fn acknowledged_in_order(&mut self, ack: &Ack, config: &Config, context: &mut Host<'_>) {
        self.acknowledged(ack, config, context);
        if ack.answers == Answers::Gap && self.flight.is_under_way(ack.next) {
            let bytes = self.bytes(ack.next, config);
            if let Some(window) = &mut self.window {
                window.lost(bytes);
            }
            self.go_back(ack.next, config);
        }
    }

    /// The header of a packet arrived without its payload.
    pub fn trimmed_in_order(&mut self, nack: &Nack, config: &Config, context: &mut Host<'_>) {
        let sent = self.flight.get(nack.seq).filter(|sent| sent.is_under_way);
        // By the flag for what was sent again, which NACKs have, it is this sending or one before.
        if sent.is_some_and(|sent| (sent.times > 1) == nack.again) {
            self.trimmed(nack, config, context);
            return self.go_back(nack.seq, config);
        }
        // The sender has gone back already. That the queue was full is news all the same.
        self.report.trims += 1;
        let bytes = self.bytes(nack.seq, config);
        let spares = nack.last_hop && config.credits.is_some();
        if let Some(window) = &mut self.window {
            window.trimmed(context.now, bytes, spares, self.in_flight);
        }
    }

    /// All packets on their way from this one on are to be sent again.
    pub fn go_back(&mut self, to: u32, config: &Config) {
        for seq in to..self.flight.next() {
            if self.flight.is_under_way(seq) {
                self.give_up(seq, config);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_reported_once_and_again_when_what_was_sent_again_skips_it() {
        let mut gap = Gap::default();
        assert!(gap.is_news(3, 4, false));
        assert!(!gap.is_news(3, 6, false) && !gap.is_news(3, 5, false), "the same, even out of order");
        assert!(gap.is_news(3, 4, true), "3 was sent again before 4, and is missing");
        assert!(!gap.is_news(3, 5, true) && !gap.is_news(3, 6, true));
        assert!(gap.is_news(3, 4, true));
        assert!(gap.is_news(9, 10, false), "another");
    }

    #[test]
    fn what_follows_a_trimmed_packet_is_no_other_gap() {
        let mut gap = Gap::default();
        // Its header overtakes 3 and 4.
        gap.trimmed(3, 5);
        gap.trimmed(3, 8);
        assert!(!gap.is_news(5, 6, false) && !gap.is_news(5, 9, false));
        assert!(gap.is_news(5, 6, true), "sent again, and 5 was lost");
        let mut gap = Gap::default();
        gap.trimmed(3, 5);
        assert!(gap.is_news(4, 6, false), "4 is missing before it");
    }
}

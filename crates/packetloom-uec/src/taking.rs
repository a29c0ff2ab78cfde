//! What a packet changes at its receiver.

use crate::config::Config;
use crate::header::{Ack, Answers, Header, Nack};
use crate::oversubscribed::Oversubscribed;
use crate::packet::{Kind, Packet};
use crate::receiver::{Receiver, Wants};
use crate::sack::Arrival;
use crate::service::Service;
use crate::{idempotent, ordered, unreliable};

/// The answer to a packet of a flow that is whole, and had so many.
pub(super) fn answer_when_over(packet: &Packet<Header>, packets: u32, service: Service) -> Option<Header> {
    match service {
        Service::Rud | Service::Rod => {
            Some(Header::Ack(Ack { next: packets, base: packets + 1, ..blank(packet) }))
        }
        Service::Rudi => idempotent::answer(packet),
        Service::Uud => None,
    }
}

/// What a packet changes at its receiver: the answer to it, and what its flow is to be pulled for.
pub(super) fn take_in(
    receiver: &mut Receiver,
    packet: &Packet<Header>,
    config: &Config,
    oversubscribed: &mut Option<Box<Oversubscribed>>,
) -> (Option<Header>, Wants) {
    match config.service {
        Service::Rud => take_in_any(receiver, packet, config, oversubscribed),
        Service::Rod => ordered::take_in(receiver, packet, config, oversubscribed),
        Service::Rudi => idempotent::take_in(receiver, packet, config),
        Service::Uud => unreliable::take_in(receiver, packet, config),
    }
}

/// The same where packets are taken in in any order.
#[inline]
pub(super) fn take_in_any(
    receiver: &mut Receiver,
    packet: &Packet<Header>,
    config: &Config,
    oversubscribed: &mut Option<Box<Oversubscribed>>,
) -> (Option<Header>, Wants) {
    let nothing = Wants::default();
    let Receiver { arrivals, pulls, .. } = receiver;
    match packet.header {
        Header::Data { seq, packets, target, requests_ack, .. } if packet.kind == Kind::Data => {
            let marked = packet.congestion_experienced;
            if let Some(control) = oversubscribed {
                control.arrived(marked);
            }
            let size_bytes = packet.size_bytes;
            let arrival = Arrival { seq, last: seq + 1 == packets, size_bytes, marked, requests_ack };
            let base = arrivals.take(arrival, config.ack_after);
            let answer = base.map(|base| Header::Ack(arrivals.ack(base, blank(packet))));
            (answer, Wants { credit: pulls.wants(target), ..nothing })
        }
        Header::Data { seq, target, again, .. } => {
            let last_hop = packet.was_trimmed_last();
            if let Some(control) = oversubscribed {
                control.trimmed(last_hop);
            }
            if arrivals.has(seq) {
                let ack = arrivals.ack(arrivals.base(seq), Ack { marked: false, ..blank(packet) });
                return (Some(Header::Ack(ack)), nothing);
            }
            pulls.wants(target);
            let trimmed = if config.is_eqds { config.packet_quanta() } else { 0 };
            (Some(nack(packet, (seq, again))), Wants { credit: true, trimmed })
        }
        Header::Rts { target, .. } => {
            pulls.wants(target);
            let trimmed = if config.is_eqds { config.packet_quanta() } else { 0 };
            let ack = arrivals.ack(arrivals.base(0), blank(packet));
            (Some(Header::Ack(ack)), Wants { credit: true, trimmed })
        }
        _ => {
            let ack = arrivals.ack(arrivals.base(0), blank(packet));
            (Some(Header::Ack(ack)), nothing)
        }
    }
}

/// The answer to a trimmed packet.
pub(super) fn nack(packet: &Packet<Header>, (seq, again): (u32, bool)) -> Header {
    let (path, marked) = (packet.path, packet.congestion_experienced);
    Header::Nack(Nack { seq, path, last_hop: packet.was_trimmed_last(), marked, again })
}

/// An answer to a packet, but for what arrived.
pub(super) fn blank(packet: &Packet<Header>) -> Ack {
    let (seq, answers) = match packet.header {
        Header::Data { seq, again, .. } => (seq, if again { Answers::Again } else { Answers::Data }),
        Header::Probe { number, .. } => (number, Answers::Probe),
        _ => (0, Answers::Rts),
    };
    Ack {
        bitmap: 0,
        base: 0,
        next: 0,
        seq,
        received: 0,
        out_of_order: 0,
        path: packet.path,
        marked: packet.congestion_experienced,
        answers,
    }
}

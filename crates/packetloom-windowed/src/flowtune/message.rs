//! What endpoints and the allocator tell each other, each in a packet of its own.

use crate::flow::{FlowId, HostId};
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::packet_format::PacketFormat;
use crate::units::Time;
use crate::windowed::{Block, Header};

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// To the allocator: a flowlet to `dst` has begun.
    Start {
        /// Its flow.
        flow: FlowId,
        /// Where it goes.
        dst: HostId,
        /// The class, by which it has a weight.
        class: u8,
    },
    /// To the allocator: it is over.
    End {
        /// Its flow.
        flow: FlowId,
    },
    /// To an endpoint: a flowlet's rate from now on.
    Rate {
        /// Its flow.
        flow: FlowId,
        /// In kb/s.
        kbps: u32,
    },
}

impl Message {
    /// Whether it makes an earlier message void that comes at the same moment: both are rates of one flow.
    pub fn replaces(&self, earlier: &Message) -> bool {
        match (self, earlier) {
            (Message::Rate { flow, .. }, Message::Rate { flow: of, .. }) => flow == of,
            _ => false,
        }
    }

    /// What it takes beside the packet's header: Flowtune §6 has 16 bytes for a start, 4 for an end, 6 for a rate.
    fn payload_bytes(self) -> u64 {
        match self {
            Message::Start { .. } => 16,
            Message::End { .. } => 4,
            Message::Rate { .. } => 6,
        }
    }
}

/// What a packet of the connection between an endpoint and the allocator is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The message of this number.
    Message(u32, Message),
    /// Every message before this one has come.
    Ack(u32),
}

/// How the packet's header is read, in the place of a subflow's number: of data and probes it is 0.
const START: u8 = 1;
const END: u8 = 2;
const RATE: u8 = 3;
const ACK: u8 = 4;

/// The header of a segment. Messages go where TCP has selective acknowledgements.
fn header(segment: Segment, stamp: Time) -> Header {
    let (tag, seq, words) = match segment {
        Segment::Message(number, message) => match message {
            Message::Start { flow, dst, class } => (START, number, [flow, dst, class.into()]),
            Message::End { flow } => (END, number, [flow, 0, 0]),
            Message::Rate { flow, kbps } => (RATE, number, [flow, kbps, 0]),
        },
        Segment::Ack(next) => (ACK, next, [0; 3]),
    };
    let block = |word: u32| Block { offset: (word >> 16) as u16, length: (word & 0xffff) as u16 };
    Header { sent_at: stamp, seq, blocks: words.map(block), subflow: tag, ..Header::default() }
}

/// What the packet is, if it is one of these.
pub fn read(packet: &Packet<Header>) -> Option<Segment> {
    if packet.kind != Kind::Control {
        return None;
    }
    let Header { seq, blocks, subflow: tag, .. } = packet.header;
    let [flow, operand, class] =
        blocks.map(|Block { offset, length }| u32::from(offset) << 16 | u32::from(length));
    match tag {
        START => {
            Some(Segment::Message(seq, Message::Start { flow, dst: operand, class: narrow::<u8>(class) }))
        }
        END => Some(Segment::Message(seq, Message::End { flow })),
        RATE => Some(Segment::Message(seq, Message::Rate { flow, kbps: operand })),
        ACK => Some(Segment::Ack(seq)),
        _ => None,
    }
}

/// The packet of a segment to `peer`, of class 0. Switches hash `id`, so that all of a connection takes one path.
pub fn packet(
    segment: Segment,
    (id, peer): (FlowId, HostId),
    stamp: Time,
    format: &PacketFormat,
) -> Packet<Header> {
    let size_bytes = match segment {
        Segment::Message(_, message) => narrow::<u16>(format.data.header_bytes + message.payload_bytes()),
        Segment::Ack(_) => format.ack_bytes,
    };
    Packet {
        flow: id,
        dst: peer,
        priority: crate::priority::FIRST,
        size_bytes,
        kind: Kind::Control,
        header: header(segment, stamp),
        ..Packet::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Format;

    const FORMAT: PacketFormat =
        PacketFormat { data: Format { mss_bytes: 1_460, header_bytes: 40 }, ack_bytes: 40 };

    #[test]
    fn messages_arrive_as_they_were_sent_in_the_published_sizes() {
        let flow = 0xdead_beef;
        let sizes = [
            (Segment::Message(7, Message::Start { flow, dst: 70_000, class: 3 }), 56),
            (Segment::Message(u32::MAX, Message::End { flow }), 44),
            (Segment::Message(0, Message::Rate { flow, kbps: 4_000_000_001 }), 46),
            (Segment::Ack(12), 40),
        ];
        for (segment, bytes) in sizes {
            let packet = packet(segment, (5, 9), Time::from_us(3), &FORMAT);
            assert_eq!((read(&packet), packet.size_bytes), (Some(segment), bytes));
            assert_eq!((packet.flow, packet.dst, packet.header.sent_at), (5, 9, Time::from_us(3)));
        }
    }

    #[test]
    fn data_acknowledgements_and_probes_are_none() {
        for kind in [Kind::Data, Kind::Ack, Kind::Control, Kind::Trimmed] {
            assert_eq!(read(&Packet { kind, ..Packet::default() }), None, "{kind:?}");
        }
    }
}

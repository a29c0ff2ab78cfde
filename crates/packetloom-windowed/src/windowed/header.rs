//! The packet header of the windowed transports.

use super::config::Config;
use crate::connections::Step;
use crate::flow::{FlowId, HostId};
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::priority;
use crate::units::Time;

/// How many SACK blocks fit beside timestamps (RFC 2018 §3).
pub const BLOCKS: usize = 3;

/// A run of packets that arrived beyond the cumulative acknowledgement, relative to it. Empty where the length is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Packets between the cumulative acknowledgement and the run.
    pub offset: u16,
    /// Packets in the run.
    pub length: u16,
}

/// The header.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    /// Timestamp (RFC 7323): when the data was sent, echoed by its acknowledgement.
    pub sent_at: Time,
    /// In data, the packet's number in its flow, or subflow. In an acknowledgement of a subflow: every packet of the
    /// flow before this one arrived, on whatever subflow (RFC 8684 §3.3.2's Data ACK). In one with accurate ECN: how
    /// many marked packets came (r.cep of draft-ietf-tcpm-accurate-ecn §3.2.1).
    pub seq: u32,
    /// In an acknowledgement: every packet of the flow, or subflow, before this one arrived. In data of a subflow:
    /// the packet's number in the flow (RFC 8684 §3.3.1's Data Sequence Number).
    pub ack: u32,
    /// Selective acknowledgements (RFC 2018), the most recent first.
    pub blocks: [Block; BLOCKS],
    /// The flow's last packet (TCP's FIN).
    pub last: bool,
    /// The data that this acknowledges was marked (RFC 8257's ECE).
    pub echo: bool,
    /// Which of the flow's subflows, counted from 0.
    pub subflow: u8,
    /// Its part in opening a connection.
    pub step: Step,
}

const _: () = assert!(size_of::<Packet<Header>>() <= 64, "a packet must fit a cache line");

impl Config {
    /// How long the option is that reports what arrived beyond a hole (RFC 2018 §3).
    #[inline]
    fn sack_bytes(&self, header: &Header) -> u16 {
        if !self.sack_option {
            return 0;
        }
        let blocks = narrow::<u16>(header.blocks.iter().filter(|block| block.length > 0).count());
        if blocks > 0 { 2 + 8 * blocks } else { 0 }
    }
}

/// An acknowledgement for the sender `to`, whose data came by the path `path`.
pub fn ack_packet(
    flow: FlowId,
    (to, path): (HostId, u16),
    class: u8,
    header: Header,
    config: &Config,
) -> Packet<Header> {
    Packet {
        flow,
        dst: to,
        priority: priority::FIRST,
        size_bytes: config.format.ack_bytes + config.sack_bytes(&header),
        kind: Kind::Ack,
        class,
        path,
        header,
        ..Packet::default()
    }
}

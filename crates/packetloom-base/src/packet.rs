//! The packet: what every layer reads, and a header of the transport's own.

use crate::flow::{FlowId, HostId};
use crate::units::Time;

/// What a packet is, as far as queues and counters care.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Carries payload.
    #[default]
    Data,
    /// Reports to the sender what arrived.
    Ack,
    /// Any other control packet between transports: a probe, a pull, a request.
    Control,
    /// Lets its receiver send a data packet back. Other queues than ExpressPass's (`queue::CreditLimiter`) take it
    /// for a control packet.
    Credit,
    /// Carried payload, until a queue cut it off; the header goes on.
    Trimmed,
    /// Carried payload; its header did not fit either and goes back to its sender.
    Returned,
    /// From host to host, below transports: a query for a flow, or its acknowledgement.
    Query,
    /// From one end of a link to the other: a [`crate::link_message::LinkMessage`].
    Link,
    /// From the switch of one host to that of another, about a path (see `routing::Balancer`).
    Notice,
}

impl Kind {
    /// Whether transports know such packets. The others are between hosts, the ends of a link, or switches.
    #[inline]
    pub fn is_transports(self) -> bool {
        !matches!(self, Kind::Query | Kind::Link | Kind::Notice)
    }
}

/// The ECN field of a packet's IP header, as its sender sets it. That a queue marked the packet is a flag of its own
/// ([`Packet::congestion_experienced`]), so that a marked packet still tells which of the two it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not-ECT: the sender does not understand marks.
    #[default]
    NotCapable,
    /// ECT(0): a queue may mark it (RFC 3168).
    Ect0,
    /// ECT(1): the same, of a sender that answers marks as L4S asks (RFC 9331 §4.1).
    Ect1,
}

/// A packet on its way. With most transports' headers it takes one cache line, with the telemetry of HPCC and PowerTCP
/// up to four.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet<H> {
    /// On a link: when it reaches the node at the far end. In a node: the earliest its transmission may start.
    pub time: Time,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// The host that sent it.
    pub src: HostId,
    /// The host it is for.
    pub dst: HostId,
    /// For queues that schedule by priority: the smallest number goes first; for those that share by weight, the
    /// inverse of its weight. Queries and link messages, which no queue schedules, carry a number of their own here:
    /// see [`Packet::workers`] and [`crate::link_message`].
    pub priority: u32,
    /// Size on the wire, headers included, preamble and inter-frame gap not.
    pub size_bytes: u16,
    /// The path that its source chose for it, where the routing has sources choose; otherwise which of its flow's
    /// subflows it is of, in the place of the port numbers that per-flow ECMP hashes.
    pub path: u16,
    /// Data, ACK, control, credit, or what is left of trimmed data.
    pub kind: Kind,
    /// The traffic class.
    pub class: u8,
    /// Whether the sender understands marks, and which. Of a trimmed packet, which no queue marks: see
    /// [`Packet::was_trimmed_last`].
    pub ecn: Ecn,
    /// A queue marked it (RFC 3168's CE).
    pub congestion_experienced: bool,
    /// The transport's own header.
    pub header: H,
}

impl<H> Packet<H> {
    /// Whether a queue may mark it.
    #[inline]
    pub fn is_ecn_capable(&self) -> bool {
        self.ecn != Ecn::NotCapable
    }

    /// Where senders mark what no receiver has called for (Aeolus): whether it is that. Real switches know it by the ECN
    /// field, as RED drops what it can't mark.
    #[inline]
    pub fn is_unscheduled(&self) -> bool {
        self.kind == Kind::Data && !self.is_ecn_capable()
    }

    /// Of a trimmed packet: whether it lost its payload before its last link, to a host (UEC's
    /// DSCP_TRIMMED_LASTHOP).
    pub fn was_trimmed_last(&self) -> bool {
        self.is_ecn_capable()
    }

    /// Notes it.
    pub fn set_trimmed_last(&mut self, last: bool) {
        self.ecn = if last { Ecn::Ect0 } else { Ecn::NotCapable };
    }

    /// Of a query on its way to the switch of the queried host: how many hosts are queried at once (DAQ's N_w).
    pub fn workers(&self) -> u32 {
        self.priority
    }

    /// Of a query beyond that switch: the bytes of its buffer that it lends to the host.
    pub fn loan_bytes(&self) -> u32 {
        self.priority
    }

    /// Has a query carry a loan in the place of the number of workers.
    pub fn set_loan(&mut self, bytes: u32) {
        self.priority = bytes;
    }
}

/// How a transport cuts a flow into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Payload bytes of a full packet.
    pub mss_bytes: u64,
    /// Header bytes of every packet.
    pub header_bytes: u64,
}

impl Format {
    /// How many packets a flow takes.
    #[inline]
    pub fn packets(self, size_bytes: u64) -> u64 {
        size_bytes.div_ceil(self.mss_bytes).max(1)
    }

    /// The same as senders count them; a case with flows of more packets ([`MOST_PACKETS`](crate::flow::MOST_PACKETS))
    /// is refused before it runs.
    #[inline]
    pub fn count(self, size_bytes: u64) -> u32 {
        u32::try_from(self.packets(size_bytes)).expect("no flow has so many packets")
    }

    /// The payload of the flow's last packet.
    #[inline]
    pub fn last_payload(self, size_bytes: u64) -> u64 {
        size_bytes - (self.packets(size_bytes) - 1) * self.mss_bytes
    }

    /// The flow's bytes on the wire, headers included.
    pub fn wire_bytes(self, size_bytes: u64) -> u64 {
        size_bytes + self.packets(size_bytes) * self.header_bytes
    }
}

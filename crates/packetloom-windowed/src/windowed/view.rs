//! What a congestion control sees of the network: acknowledgements, and packets that are lost.

use crate::units::{Rate, Time};

/// What an acknowledgement reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    /// Packets that it newly acknowledges, cumulatively or selectively.
    pub packets: u32,
    /// Whether the cumulative acknowledgement moved, and the window is not just being reduced.
    pub advanced: bool,
    /// Whether it echoes a mark.
    pub echo: bool,
    /// The first packet not acknowledged.
    pub una: u32,
    /// The next packet never sent.
    pub next: u32,
    /// When it came.
    pub now: Time,
    /// The smoothed round-trip time; zero where none is estimated.
    pub rtt: Time,
    /// What else it says, to a control that [measures](super::Congestion::MEASURES); empty for others.
    pub sample: Sample,
}

/// What a sender that measures learns from an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// The round-trip time that it measures; `None` if it measures none.
    pub rtt: Option<Time>,
    /// The least round-trip time of the flow so far.
    pub min_rtt: Option<Time>,
    /// Packets in flight before it came, and with what it says.
    pub in_flight_before: u32,
    /// The same after it.
    pub in_flight: u32,
    /// Payload bytes delivered so far (C.delivered).
    pub delivered_bytes: u64,
    /// Payload bytes held lost so far (C.lost), and those of them that were not at the acknowledgement before.
    pub lost_bytes: u64,
    /// The latter.
    pub newly_lost_bytes: u64,
    /// Packets newly acknowledged that were marked, where the receiver counts them (accurate ECN).
    pub marked: u32,
    /// What kept the sender from sending more when it sent last.
    pub limit: Limit,
    /// How fast packets are delivered; `None` if it acknowledges nothing new.
    pub delivery: Option<Delivery>,
}

/// What keeps a sender from sending more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// It has nothing to send.
    #[default]
    Application,
    /// The window is full.
    Window,
    /// The pacing rate.
    Pacing,
}

/// A rate sample (draft-cheng-iccrg-delivery-rate-estimation-02 §3.1.2), from the packet sent last of those newly
/// acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Payload bits per second; `None` if the interval is shorter than a round trip can be.
    pub rate: Option<Rate>,
    /// Payload bytes delivered in the interval (RS.delivered).
    pub bytes: u64,
    /// The longer of the times in which they were sent and acknowledged (RS.interval).
    pub interval: Time,
    /// What was delivered when the packet was sent (RS.prior_delivered).
    pub prior_delivered_bytes: u64,
    /// Whether the sender had nothing else to send when it sent the packet.
    pub is_app_limited: bool,
    /// Packets in flight when it was sent, itself included (RS.tx_in_flight).
    pub sent_in_flight: u32,
    /// Payload bytes held lost since (RS.lost).
    pub lost_bytes: u64,
}

/// A packet that is held lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its number in the flow.
    pub seq: u32,
    /// When it was found.
    pub now: Time,
    /// Its payload.
    pub bytes: u32,
    /// Payload bytes held lost from when it was sent, itself included.
    pub lost_bytes: u64,
    /// Packets in flight when it was sent, itself included.
    pub sent_in_flight: u32,
    /// Payload bytes delivered so far.
    pub delivered_bytes: u64,
    /// Whether the sender had nothing else to send when it sent the packet.
    pub is_app_limited: bool,
}

//! What switches write beside a packet, for other switches on its way to read.

use crate::random::mix;
use crate::units::Time;

/// A packet's tag. It lies beside the packet and takes nothing of it on the wire: in switches it would be part of an
/// overlay's header (CONGA §3.1: VXLAN), and simulators that schemes are compared with give it no bytes, either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// The path that the switch of the sender chose.
    pub path: Option<u16>,
    /// How congested the worst link was so far (CONGA's CE).
    pub congestion: u8,
    /// Of the way back: a path and how congested it was (CONGA's FB_LBTag and FB_Metric).
    pub feedback: Option<(u16, u8)>,
    /// What the packet says to the switch of the receiver, or that one's answer (ConWeave).
    pub signal: Signal,
    /// Whether it was sent by the path that its flow changed to (ConWeave's phase).
    pub is_rerouted: bool,
    /// The flow's epoch (ConWeave).
    pub epoch: u32,
    /// When the switch of the sender sent it (ConWeave's TX_TSTAMP).
    pub sent_at: Time,
    /// When that switch sent the last packet by the old path (ConWeave's TAIL_TX_TSTAMP); zero if there is none.
    pub tail_at: Time,
    /// For the measurement of reordering.
    pub stamp: Stamp,
}

/// What switches say to each other with a packet (ConWeave §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signal {
    /// Nothing.
    #[default]
    Nothing,
    /// It requests a reply, which shows how long the path takes: RTT_REQUEST.
    Probe,
    /// It is the last by its old path: TAIL.
    Tail,
    /// The answer to a probe: RTT_REPLY.
    ProbeReply,
    /// The last packet by the old path has come: CLEAR.
    Clear,
    /// A path is congested: NOTIFY.
    Notify,
}

/// A number and a way, which a data packet carries from host to host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The how-manieth of its flow it is.
    pub number: u32,
    /// A hash of the links that it took.
    pub way: u32,
}

impl Stamp {
    /// It leaves a switch by a link.
    pub fn take(&mut self, link: u32) {
        self.way = (mix(u64::from(self.way) << 32 | u64::from(link)) & 0xffff_ffff) as u32;
    }
}

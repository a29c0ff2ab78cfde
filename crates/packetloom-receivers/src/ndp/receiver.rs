//! A flow at its receiver: what arrived, and the pulls owed for it.

use super::config::{Config, PullOrder};
use super::header::Header;
use super::pacer::PullKey;
use crate::flow::{FlowId, HostId};
use crate::packet::Packet;
use crate::reassembly::Reassembly;

/// A connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    flow: FlowId,
    sender: HostId,
    class: u8,
    packets: u32,
    arrived: Reassembly,
    /// All pulls so far.
    pulls: u32,
    /// Packets whose header alone arrived, or of which the probe told.
    trimmed: u32,
    /// Pulls to come, for packets that arrived, whole or trimmed.
    pub(super) owed: u32,
    /// Its position in the pull queue, if it is there.
    pub(super) pull_key: Option<PullKey>,
}

impl Receiver {
    /// The connection of so many packets that this one opens.
    pub(super) fn new(packet: &Packet<Header>, packets: u32) -> Receiver {
        Receiver {
            flow: packet.flow,
            sender: packet.src,
            class: packet.class,
            packets,
            arrived: Reassembly::default(),
            pulls: 0,
            trimmed: 0,
            owed: 0,
            pull_key: None,
        }
    }

    /// Takes in a packet or, of one that was trimmed, its header; returns whether the packet is there now.
    pub(super) fn note(&mut self, seq: u32, trimmed: bool) -> bool {
        if !trimmed {
            self.arrived.add(seq, seq + 1 == self.packets);
            return true;
        }
        let came_before = seq < self.arrived.next() || self.arrived.above().contains(seq);
        self.trimmed += u32::from(!came_before);
        came_before
    }

    /// Of so many packets, the first, some do not come: how many. Each is to be pulled again.
    pub(super) fn note_missing(&mut self, sent: u32) -> u32 {
        let next = self.arrived.next().min(sent);
        let missing = sent - next - self.arrived.above().count_in(next, sent);
        self.trimmed += missing;
        missing
    }

    /// Every packet before this one arrived.
    pub(super) fn next(&self) -> u32 {
        self.arrived.next()
    }

    pub(super) fn is_whole(&self) -> bool {
        self.arrived.whole().is_some()
    }

    pub(super) fn flow(&self) -> FlowId {
        self.flow
    }

    pub(super) fn sender(&self) -> HostId {
        self.sender
    }

    pub(super) fn class(&self) -> u8 {
        self.class
    }

    /// Whether what arrived calls for a pull. The sender can answer one for each packet beyond its first window, and
    /// for each that must come again.
    pub(super) fn wants_pull(&self, config: &Config) -> bool {
        let answerable = self.packets.saturating_sub(config.initial_window) + self.trimmed;
        config.pull_for_each || self.pulls + self.owed < answerable
    }

    /// All pulls so far.
    pub(super) fn pulls(&self) -> u32 {
        self.pulls
    }

    /// One pull more; returns all so far.
    pub(super) fn count_pull(&mut self) -> u32 {
        self.pulls += 1;
        self.pulls
    }

    /// Small numbers are pulled first.
    pub(super) fn urgency(&self, config: &Config) -> u32 {
        match config.pull_order {
            PullOrder::Fair => 0,
            PullOrder::Class => u32::from(self.class),
            PullOrder::Shortest => self.packets - self.arrived.next() - self.arrived.above().len(),
        }
    }
}

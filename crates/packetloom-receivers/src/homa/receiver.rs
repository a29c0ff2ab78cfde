//! A message at its receiver: what arrived, what was granted, and what is missing.

use super::config::Config;
use super::grants::Rank;
use crate::flow::{FlowId, HostId};
use crate::reassembly::Reassembly;
use crate::units::Time;

/// A message.
#[derive(Clone, Debug)]
pub struct Receiver {
    pub(super) flow: FlowId,
    pub(super) src: HostId,
    pub(super) size_bytes: u64,
    pub(super) packets: u32,
    /// The first packet that was not granted.
    pub(super) granted: u32,
    /// How many of its packets have come, and how many bytes of it.
    pub(super) arrived: u32,
    pub(super) arrived_bytes: u64,
    /// What was granted, or needed no grant, and has not come: on the wire.
    pub(super) on_wire: u64,
    /// How many messages came before it.
    pub(super) number: u64,
    /// Its rank among those that need grants.
    pub(super) rank: Option<Rank>,
    have: Reassembly,
    heard_at: Time,
}

impl Receiver {
    pub fn new(
        (flow, src): (FlowId, HostId),
        size_bytes: u64,
        number: u64,
        config: &Config,
        now: Time,
    ) -> Receiver {
        let blind = config.layout.blind(size_bytes);
        Receiver {
            flow,
            src,
            size_bytes,
            packets: config.layout.packets(size_bytes),
            granted: blind,
            arrived: 0,
            arrived_bytes: 0,
            on_wire: config.layout.wire_bytes(blind, size_bytes),
            number,
            rank: None,
            have: Reassembly::default(),
            heard_at: now,
        }
    }

    /// Takes in a packet; returns whether it is new.
    pub fn note(&mut self, seq: u32, config: &Config, now: Time) -> bool {
        self.heard_at = now;
        if seq < self.have.next() || self.have.above().contains(seq) {
            return false;
        }
        self.have.add(seq, seq + 1 == self.packets);
        let layout = &config.layout;
        self.arrived += 1;
        self.arrived_bytes += layout.before(seq + 1, self.size_bytes) - layout.before(seq, self.size_bytes);
        let wire_bytes = layout.packet_bytes(seq, self.size_bytes) + layout.framing_bytes;
        self.on_wire = self.on_wire.saturating_sub(wire_bytes);
        true
    }

    /// The sender is busy with others.
    pub fn bear(&mut self, now: Time) {
        self.heard_at = now;
    }

    #[inline]
    pub fn is_whole(&self) -> bool {
        self.arrived == self.packets
    }

    #[inline]
    pub fn is_granted(&self) -> bool {
        self.granted == self.packets
    }

    /// How much of it was not granted.
    #[inline]
    pub fn left_to_grant(&self, config: &Config) -> u64 {
        self.size_bytes - config.layout.before(self.granted, self.size_bytes)
    }

    /// Grants up to a packet; returns how many bytes more that is.
    pub fn grant(&mut self, to: u32, config: &Config) -> u64 {
        let layout = &config.layout;
        let before = layout.before(self.granted, self.size_bytes);
        let wire = |packets| layout.wire_bytes(packets, self.size_bytes);
        self.on_wire += wire(to) - wire(self.granted);
        self.granted = to;
        layout.before(to, self.size_bytes) - before
    }

    /// What is on its way of it, without headers.
    pub fn incoming_bytes(&self, config: &Config) -> u64 {
        config.layout.before(self.granted, self.size_bytes).saturating_sub(self.arrived_bytes)
    }

    /// Whether what should have come is late: nothing has come for too long. Otherwise when to look again.
    pub fn is_late(&mut self, config: &Config, now: Time) -> Result<(), Time> {
        let patient_until = self.heard_at + config.resend_after;
        if patient_until > now {
            return Err(patient_until);
        }
        if self.arrived == self.granted {
            return Err(now + config.resend_after);
        }
        self.heard_at = now;
        Ok(())
    }

    /// Each run of packets that should have come and have not, from which to which.
    pub fn missing(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (above, granted) = (self.have.above(), self.granted);
        let mut next = self.have.next();
        std::iter::from_fn(move || {
            let (from, to) = (next, above.first_present(next).unwrap_or(granted).min(granted));
            next = above.first_absent(to);
            (from < granted).then_some((from, to))
        })
    }
}

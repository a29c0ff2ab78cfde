//! A flow at its receiver.

use super::config::Config;
use super::header::Header;
use super::ordered::Gap;
use super::sack::{Arrival, Arrivals};
use crate::flow::HostId;
use crate::packet::{Kind, Packet};

/// A connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The host that sends.
    pub sender: HostId,
    /// The traffic class of its packets.
    pub class: u8,
    /// By which of this host's links its sender is reached.
    pub lane: u16,
    /// What arrived.
    pub arrivals: Arrivals,
    /// The credit that it was given.
    pub pulls: Pulls,
    /// What is missing of an ordered flow.
    pub gap: Gap,
}

impl Receiver {
    /// Notes a packet that came, if it is whole, where no answer follows from what came before.
    pub fn note(&mut self, packet: &Packet<Header>, config: &Config) {
        if packet.kind == Kind::Data
            && let Some(arrival) = Arrival::of(packet)
        {
            self.arrivals.take(arrival, config.ack_after);
        }
    }
}

/// What a flow is to be pulled for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wants {
    /// Credit, or an update of how much of it there is.
    pub credit: bool,
    /// Quanta to send again what was trimmed.
    pub trimmed: u32,
}

/// A flow's credit, as its receiver counts it, in quanta.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pulls {
    /// All that was given so far.
    pub given: u32,
    /// All that the sender wants.
    pub target: u32,
    /// What is missing for packets that were trimmed.
    pub trimmed: u32,
    /// Whether it is on the list of those that want credit.
    pub is_active: bool,
    /// Whether it is on the list of those that have what they want.
    pub is_idle: bool,
}

impl Pulls {
    /// The sender wants so much in all; returns whether that is news.
    pub fn wants(&mut self, target: u32) -> bool {
        let is_news = target > self.target;
        self.target = self.target.max(target);
        is_news
    }

    /// Whether packets were trimmed for which nothing was given yet.
    pub fn has_trimmed(&self) -> bool {
        self.trimmed > 0
    }

    /// What the sender still wants.
    pub fn missing(&self) -> u32 {
        self.target.saturating_sub(self.given)
    }

    /// What it was given beyond that.
    pub fn on_trust(&self) -> u32 {
        self.given.saturating_sub(self.target)
    }

    /// Gives so many quanta, or, if it `ends` there, up to the target; returns how many.
    pub fn give(&mut self, quanta: u32, ends: bool) -> u32 {
        self.trimmed = self.trimmed.saturating_sub(quanta);
        let given = if ends { quanta.min(self.missing()) } else { quanta };
        self.given = self.given.saturating_add(given);
        given
    }
}

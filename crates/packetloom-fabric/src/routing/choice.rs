//! A host's choice of paths for what it sends, and the feedback about them.

use super::entropies::{Entropies, Fits};
use super::paths::{PathCode, Paths};
use super::{Chooser, Fate, chooser};
use crate::flow::{Flow, FlowId, HostId};
use crate::packet::{Kind, Packet};
use crate::spec::Values;
use crate::topology::Topology;
use crate::units::Time;

/// What became of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// Its flow.
    pub flow: FlowId,
    /// The host that it was for.
    pub dst: HostId,
    /// The path that was chosen for it.
    pub path: u16,
    /// When it was sent.
    pub sent_at: Time,
    /// How it fared.
    pub fate: Fate,
}

/// Of what a routing has to be told how it fares on its path; and what a transport reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judged {
    /// Nothing.
    #[default]
    Nothing,
    /// Flows, which keep to a path: whether it marks their packets, and whether they timed out
    /// (`engine::Context::judge_flow`).
    Flows,
    /// Each packet, too, with the path that it took (`engine::Context::judge_path`).
    Packets,
}

/// A host's choice of paths, where hosts choose.
#[derive(Clone, Debug)]
pub enum PathChoice {
    /// Among all paths to a destination.
    Paths(Paths),
    /// Among numbers that switches hash.
    Entropies(Entropies),
}

impl PathChoice {
    /// That of `host`, if hosts choose; `code`: how paths are written.
    pub fn build(
        topology: &Topology,
        code: Option<&PathCode>,
        routing: &Values,
        host: HostId,
        seed: u64,
    ) -> Option<PathChoice> {
        match chooser(routing) {
            Chooser::Host => Some(PathChoice::Paths(Paths::new(topology, code?, routing, host, seed))),
            Chooser::HostByEntropy => Some(PathChoice::Entropies(Entropies::new(routing, host, seed))),
            Chooser::SwitchByFlow | Chooser::SwitchByPacket | Chooser::Balancer | Chooser::Controller => None,
        }
    }

    /// The path for a packet that is sent now.
    #[inline]
    pub fn next<H>(&mut self, packet: &Packet<H>, now: Time) -> u16 {
        match self {
            PathChoice::Paths(paths) => paths.next(packet.dst, packet.kind == Kind::Data),
            PathChoice::Entropies(entropies) => entropies.next(packet, now),
        }
    }

    /// The same among those that fit: at a host with several links, those by a link that is free. None if the packet
    /// rather waits for another link.
    pub fn next_among<H>(&mut self, packet: &Packet<H>, now: Time, fits: &mut Fits<'_>) -> Option<u16> {
        match self {
            PathChoice::Paths(paths) => paths.next_among(packet.dst, packet.kind == Kind::Data, fits),
            PathChoice::Entropies(entropies) => entropies.next_among(packet, now, fits),
        }
    }

    /// Prefetches what is known of the paths of a flow to `dst`.
    #[inline]
    pub fn prefetch(&self, flow: FlowId, dst: HostId) {
        match self {
            PathChoice::Paths(paths) => paths.prefetch(dst),
            PathChoice::Entropies(entropies) => entropies.prefetch(flow),
        }
    }

    /// Learns what became of a packet.
    #[inline]
    pub fn judge(&mut self, now: Time, feedback: &Feedback) {
        match self {
            PathChoice::Paths(paths) => paths.judge(feedback.dst, feedback.path, feedback.fate),
            PathChoice::Entropies(entropies) => entropies.update(now, feedback),
        }
    }

    /// Learns how a flow fares on its path, if flows keep to one.
    pub fn judge_flow(&mut self, now: Time, flow: &Flow, sent_at: Time, fate: Fate) {
        if let PathChoice::Entropies(entropies) = self
            && let Some(path) = entropies.kept(flow.id)
        {
            entropies.update(now, &Feedback { flow: flow.id, dst: flow.dst, path, sent_at, fate });
        }
    }

    /// Whether a flow's packets keep to a path until it fares badly there.
    #[inline]
    pub fn keeps_flows(&self) -> bool {
        matches!(self, PathChoice::Entropies(entropies) if entropies.keeps_flows())
    }

    /// Goes on with other values of the parameters that may be set (see [`super::settable`]).
    pub fn set(&mut self, values: &Values) {
        if let PathChoice::Entropies(entropies) = self {
            entropies.set(values);
        }
    }

    /// A flow of this host has ended.
    pub fn forget(&mut self, flow: FlowId) {
        if let PathChoice::Entropies(entropies) = self {
            entropies.forget(flow);
        }
    }
}

//! Load balancing by switches that see their own queues, or learn of paths from other switches.
//!
//! A [`Balancer`] decides for every packet that comes by its switch, in order of time. Balancers differ in:
//!
//! - **when they decide**: each packet, each flowlet ([`Flowlets`]), or when something happens;
//! - **what they see**: the queues of its own switch ([`Look`]), or what others wrote beside the packet ([`Tag`]);
//! - **what they choose**: a port, or, at the switch of the sender, a whole path ([`EdgePaths`]), which the others
//!   follow;
//! - **what they send**: notices to other switches ([`Actions`]).

mod adaptive;
mod conga;
mod conweave;
mod drill;
mod edge_paths;
mod flowlets;
mod hedera;
mod letflow;
#[cfg(test)]
mod testing;

pub(super) use adaptive::ROUTING as ADAPTIVE;
pub(super) use conga::ROUTING as CONGA;
pub(super) use conweave::ROUTING as CONWEAVE;
pub(super) use drill::ROUTING as DRILL;
pub(super) use hedera::ROUTING as HEDERA;
pub(super) use hedera::Scheduler;
pub(super) use letflow::ROUTING as LETFLOW;

use crate::flow::{FlowId, HostId};
use crate::narrow::narrow;
use crate::packet::Kind;
use crate::packet_tag::{Signal, Tag};
use crate::packets::PacketId;
use crate::random::Stream;
use crate::spec::Values;
use crate::topology::{KnownRates, Topology};
use crate::units::{Rate, Time};
use edge_paths::EdgePaths;
pub(super) use edge_paths::are_countable;
use flowlets::Flowlets;
use std::collections::{BTreeMap, VecDeque};

/// What a balancer sees of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Passing {
    /// Where it lies.
    pub id: PacketId,
    /// The moment at which it came.
    pub now: Time,
    /// Its flow.
    pub flow: FlowId,
    /// Which subflow.
    pub subflow: u16,
    /// Who sent it.
    pub src: HostId,
    /// Who is to get it.
    pub dst: HostId,
    /// Its size on the wire.
    pub size_bytes: u16,
    /// What it is.
    pub kind: Kind,
    /// The traffic class.
    pub class: u8,
    /// Whether a queue marked it.
    pub is_marked: bool,
    /// The port by which per-flow ECMP would send it.
    pub ecmp: u32,
}

/// The ports of a switch that lead to a packet's destination.
#[derive(Clone, Copy, Debug)]
pub enum Ways<'a> {
    /// So many, from this one on.
    Range(u32, u32),
    /// These, counted from this one.
    Of(u32, &'a [u32]),
}

impl Ways<'_> {
    /// How many there are.
    pub fn count(self) -> u32 {
        match self {
            Ways::Range(_, count) => count,
            Ways::Of(_, ports) => narrow::<u32>(ports.len()),
        }
    }

    /// One of them.
    pub fn port(self, nth: u32) -> u32 {
        match self {
            Ways::Range(first, _) => first + nth,
            Ways::Of(first, ports) => first + ports[nth as usize],
        }
    }

    /// Whether a port is among them.
    pub fn contain(self, port: u32) -> bool {
        match self {
            Ways::Range(first, count) => port.wrapping_sub(first) < count,
            Ways::Of(first, ports) => ports.contains(&port.wrapping_sub(first)),
        }
    }

    /// Whether there is no choice.
    pub fn is_only(self) -> bool {
        self.count() == 1
    }

    /// All of them.
    pub fn ports(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.count()).map(|nth| self.port(nth))
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// It leaves by this port.
    By(u32),
    /// The balancer keeps it, and releases it later.
    Held,
    /// It was a notice to this switch.
    Taken,
}

/// A switch's ports, as a balancer sees them at the moment of a packet.
pub trait Look {
    /// What waits at a port, the packet in service not counted.
    fn queued_bytes(&mut self, port: u32) -> u64;

    /// Whether data is kept from leaving by a port (PFC).
    fn is_paused(&mut self, port: u32) -> bool;
}

/// A notice from one switch to another: that of a host.
#[derive(Clone, Copy, Debug)]
pub struct Notice {
    /// The flow that it is about.
    pub flow: FlowId,
    /// Which subflow.
    pub subflow: u16,
    /// The host at the other end of the flow.
    pub src: HostId,
    /// The host whose switch it is for.
    pub dst: HostId,
    /// What it says.
    pub tag: Tag,
    /// Its size on the wire.
    pub size_bytes: u16,
}

/// What a balancer wants done, beside passing a packet on.
#[derive(Debug, Default)]
pub struct Actions {
    /// Notices to send.
    pub notices: Vec<Notice>,
    /// Packets that it held and releases, in order, each with its port.
    pub released: Vec<(PacketId, u32)>,
}

/// A scheme by which a switch balances load.
pub trait Balancer: Send {
    /// Says what becomes of a packet that came, or was made at this switch; `ways` are the ports that lead to its
    /// destination.
    fn pass(
        &mut self,
        packet: &Passing,
        tag: &mut Tag,
        ways: Ways<'_>,
        look: &mut dyn Look,
        actions: &mut Actions,
    ) -> Pass;

    /// A packet that was to be held did not fit into the switch's buffer: it is gone.
    fn forget(&mut self, _packet: &Passing) {}

    /// When it has something to do though no packet comes.
    fn next_at(&self) -> Time {
        Time::NEVER
    }

    /// That time has come.
    fn wake(&mut self, _now: Time, _actions: &mut Actions) {}

    /// Goes on with other values of the parameters that may be set (see [`super::settable`]).
    fn set(&mut self, _values: &Values) {}

    /// The packets that it holds.
    fn held(&self) -> Vec<PacketId> {
        Vec::new()
    }

    /// What it counted, by the names of the result tables (`crate::measure::MEANINGS`).
    fn counts(&self) -> Vec<(&'static str, Count)> {
        Vec::new()
    }
}

/// What one switch's balancer counted of something, and what of it counts for the whole network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Those of all switches together.
    Sum(u64),
    /// That of the switch with the most.
    Most(u64),
}

/// What the balancers of all switches counted, by name.
pub fn together(counts: impl Iterator<Item = (&'static str, Count)>) -> BTreeMap<&'static str, u64> {
    let mut all = BTreeMap::new();
    for (name, count) in counts {
        let found: &mut u64 = all.entry(name).or_default();
        *found = match count {
            Count::Sum(count) => *found + count,
            Count::Most(count) => count.max(*found),
        };
    }
    all
}

/// The switch that a balancer is built for.
pub struct Home<'a> {
    /// The network.
    pub topology: &'a Topology,
    /// The switch, in it.
    pub node: u32,
    /// Random numbers of its own.
    pub random: Stream,
    /// What switches know of links whose rates have changed.
    pub known_rates: &'a KnownRates,
    /// What all switches share, if there is something.
    pub(super) common: &'a super::Common,
    /// The ports of flows in another simulator's run, if this one replays it.
    pub(super) flow_ports: Option<&'a super::FlowPorts>,
}

impl Home<'_> {
    /// The rate of each of its ports.
    pub fn rates(&self) -> Vec<Rate> {
        let ports = self.topology.nodes[self.node as usize].ports.clone();
        ports.map(|link| self.topology.links[link as usize].rate).collect()
    }

    /// When it learns of other rates: those of the ports that are slow then, first come first.
    pub fn changes(&self) -> VecDeque<(Time, Vec<Rate>)> {
        let ports = self.topology.nodes[self.node as usize].ports.clone();
        let known = |rates: &BTreeMap<usize, Rate>| {
            let rate = |(link, rate): (u32, Rate)| match rates.get(&(link as usize)) {
                Some(&slow) if slow > Rate(0) => slow,
                _ => rate,
            };
            ports.clone().zip(self.rates()).map(rate).collect()
        };
        self.known_rates.iter().map(|(at, rates)| (*at, known(rates))).collect()
    }
}

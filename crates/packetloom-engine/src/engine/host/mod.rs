//! A host: a transport at a NIC, with services beside it ([`services`]). The transport lies beside those of its shard's
//! other hosts ([`Transports`]).

mod equipment;
mod intake;
mod messages;
mod processing;
mod queries;
mod sampler;
mod services;
mod step;

pub(super) use intake::Intake;
pub(super) use messages::Messages;
pub(super) use processing::Processing;

use super::Tally;
use super::agenda::Agenda;
use super::agent::PortAgent;
use super::arrival::Arrival;
use super::link_table::LinkTable;
use super::log::Log;
use super::nic::Nic;
use super::transports::Transports;
use crate::flow::{Flow, HostId};
use crate::packet::Packet;
use crate::packets::Packets;
use crate::prefetch::prefetch_whole;
use crate::random::Stream;
use crate::record::{Arrivals, QueueRecorder};
use crate::routing::PathChoice;
use crate::units::Time;
use crate::workload::Chain;
use services::Services;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A host with all that belongs to it: first what it takes to receive and to send a packet, see [`Host::prefetch`].
#[repr(C)]
pub(super) struct Host<H, A> {
    pub(super) nic: Nic<H, A>,
    turns: Turns,
    /// Where sources choose their packets' paths.
    paths: Option<PathChoice>,
    chains: BTreeMap<u32, Chain>,
    services: Services,
    random: Stream,
    /// The record of the pull queue, if it is observed.
    pulls: Option<Box<QueueRecorder>>,
    /// In which order packets arrive, if that is measured.
    arrivals: Option<Box<Arrivals>>,
    /// Of each incoming link, which of its own leads back, where the two ends talk to each other.
    ways_back: Vec<u32>,
}

/// What a host looks at in each of its turns.
struct Turns {
    id: HostId,
    /// Itself, among the nodes of its shard.
    node: u32,
    agenda: Agenda,
    starting: Starting,
    ended_chains: Vec<u32>,
    /// Whether it has services that are notified when flows end here.
    listens: bool,
    /// Whether it is slow at times or takes time for each packet.
    takes_late: bool,
    /// When a service next has something to do, samples aside.
    wakes_at: Time,
    /// The same, or a sample is due before: the host is not woken for that, but takes it when it wakes.
    acts_at: Time,
    /// The earliest wake-up that the calendar has for it.
    wake_at: Time,
}

/// Flows to start, by start and identity; and flows to this host, to be queried for.
#[derive(Default)]
struct Starting(BinaryHeap<Reverse<(Time, Flow)>>);

impl Starting {
    fn add(&mut self, flow: Flow) {
        self.add_at(flow.start, flow);
    }

    fn add_at(&mut self, at: Time, flow: Flow) {
        self.0.push(Reverse((at, flow)));
    }

    #[inline]
    fn next_at(&self) -> Time {
        self.0.peek().map_or(Time::NEVER, |Reverse((start, _))| *start)
    }

    fn pop(&mut self) -> Option<Flow> {
        self.0.pop().map(|Reverse((_, flow))| flow)
    }
}

/// What a host's turn reads and changes beside the host: its shard's.
pub(super) struct Around<'a, H, A> {
    pub(super) link_table: &'a mut LinkTable<H>,
    pub(super) transports: &'a mut dyn Transports<H, A>,
    pub(super) log: &'a mut Log,
    pub(super) tally: &'a mut Tally,
}

impl<H: Copy + Default, A: PortAgent<H>> Host<H, A> {
    /// Prefetches what it takes to receive a packet, except the transport.
    #[inline]
    pub(super) fn prefetch(&self, is_simple: bool) {
        if is_simple {
            self.nic.prefetch_straight();
        } else {
            self.nic.prefetch();
            prefetch_whole(&self.paths);
        }
        prefetch_whole(&self.turns);
    }

    /// Whether what it sends neither waits at the NIC nor has a path chosen.
    #[inline]
    pub(super) fn is_simple(&self) -> bool {
        self.nic.is_straight() && self.paths.is_none()
    }

    /// Packets will arrive soon: prefetches what the NIC's queue keeps apart.
    #[inline]
    pub(super) fn expect(&self) {
        self.nic.prefetch_queue();
    }

    /// A packet will arrive even sooner: prefetches what waits at the NIC, and the paths of an answer.
    #[inline]
    pub(super) fn expect_soon(&self, packet: &Packet<H>, packets: &Packets<H>) {
        self.nic.prefetch_packets(packets);
        if let Some(paths) = &self.paths {
            paths.prefetch(packet.flow, packet.src);
        }
    }

    /// Does all that happens here from `start` to before `end`; `arrivals` are in order.
    pub(super) fn run_window(
        &mut self,
        (start, end): (Time, Time),
        arrivals: &[Arrival],
        mut around: Around<'_, H, A>,
    ) {
        let mut arrivals = arrivals.iter().peekable();
        while let Some(next) = self.next(end, arrivals.peek().map(|arrival| (arrival.at(start), arrival.id)))
        {
            self.happen((start, next), &mut arrivals, &mut around);
        }
        self.end_window(end, around.link_table);
    }

    /// Does what happens here up to `until` and then, of a window that began at `start`, but nothing after the first
    /// moment at which a flow ends here; `arrivals` are in order. Returns how many of these arrived, and that moment.
    pub(super) fn advance(
        &mut self,
        (start, until): (Time, Time),
        arrivals: &[Arrival],
        mut around: Around<'_, H, A>,
    ) -> (usize, Option<Time>) {
        let mut left = arrivals.iter().peekable();
        let (mut until, mut ended) = (until, None);
        loop {
            let arrival = left.peek().map(|arrival| (arrival.at(start), arrival.id));
            let arrival = arrival.filter(|(at, _)| *at <= until);
            let Some(next) = self.next(until + Time(1), arrival) else { break };
            let (now, logged) = (next.0, around.log.events.len());
            self.happen((start, next), &mut left, &mut around);
            if ended.is_none() && around.log.events[logged..].iter().any(|event| event.done().is_some()) {
                (until, ended) = (now, Some(now));
            }
        }
        (arrivals.len() - left.len(), ended)
    }

    /// When its next timer goes off, its next flow starts, or a service wakes it.
    pub(super) fn due(&self) -> Option<Time> {
        let next = self.acts_by_itself_at();
        (next != Time::NEVER).then_some(next)
    }

    /// When something next happens here of which the host is not told by a packet.
    #[inline]
    pub(super) fn acts_by_itself_at(&self) -> Time {
        self.turns.agenda.next_at().min(self.turns.starting.next_at()).min(self.turns.wakes_at)
    }

    /// Adds a flow that starts in the window about to be processed, or later.
    pub(super) fn add_flow(&mut self, flow: Flow, link_table: &mut LinkTable<H>) {
        self.turns.starting.add(flow);
        link_table.calendar.wake(self.turns.node, flow.start);
    }

    /// Adds a flow that starts in the window that is being processed, and not before what has happened here.
    pub(super) fn add_flow_at_once(&mut self, flow: Flow) {
        self.turns.starting.add(flow);
    }

    /// All happened here that does before `end`, where the window ends.
    #[inline]
    pub(super) fn end_window(&mut self, end: Time, link_table: &mut LinkTable<H>) {
        self.nic.serve_until(end, link_table);
        self.schedule_wake(end, link_table);
    }

    pub(super) fn schedule_wake(&mut self, end: Time, link_table: &mut LinkTable<H>) {
        if self.turns.wake_at < end {
            self.turns.wake_at = Time::NEVER;
        }
        let next = self.acts_by_itself_at().min(self.nic.waits_until().unwrap_or(Time::NEVER));
        if next < self.turns.wake_at {
            self.turns.wake_at = next;
            link_table.calendar.wake(self.turns.node, next);
        }
    }
}

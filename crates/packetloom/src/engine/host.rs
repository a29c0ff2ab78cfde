//! A host: one NIC port, one transport, its timers and its flows to start.

use super::Tally;
use super::agenda::Agenda;
use super::arrival::Arrival;
use super::endpoint::{Context, Standing, Transport};
use super::log::{Event, Log};
use super::port::Port;
use super::queries::Queries;
use super::wires::Wires;
use crate::flow::{Flow, FlowId, HostId};
use crate::measure::QueueRecorder;
use crate::packet::{Kind, Packet};
use crate::packets::PacketId;
use crate::random::{Purpose, Stream};
use crate::routing::Paths;
use crate::units::Time;
use crate::workload::{Chain, Done, Query, Triggers};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A host with all that belongs to it.
pub(super) struct Host<T: Transport> {
    id: HostId,
    transport: T,
    pub(super) nic: Port<T::Header, T::Agent>,
    /// Where sources choose their packets' paths.
    paths: Option<Paths>,
    /// Itself, among the nodes of its shard.
    node: u32,
    agenda: Agenda,
    /// Flows to start, by start and identity; and flows to this host, to be asked for.
    starting: BinaryHeap<Reverse<(Time, Flow)>>,
    chains: BTreeMap<u32, Chain>,
    ended_chains: Vec<u32>,
    /// What starts flows here when others have ended here.
    triggers: Option<Box<Triggers>>,
    queries: Option<Box<Queries>>,
    /// Whether there are any of these, which hear of flows that end here.
    listens: bool,
    /// The earliest wake-up that the calendar has for it.
    wake_at: Time,
    random: Stream,
}

enum Next {
    Arrival(PacketId),
    Timer,
    Start,
}

impl<T: Transport> Host<T> {
    pub(super) fn new(
        id: HostId,
        transport: T,
        nic: Port<T::Header, T::Agent>,
        paths: Option<Paths>,
        node: u32,
        seed: u64,
    ) -> Host<T> {
        Host {
            id,
            transport,
            nic,
            paths,
            node,
            agenda: Agenda::default(),
            starting: BinaryHeap::new(),
            chains: BTreeMap::new(),
            ended_chains: Vec::new(),
            triggers: None,
            queries: None,
            listens: false,
            wake_at: Time::NEVER,
            random: Stream::new(seed, Purpose::Transport, u64::from(id)),
        }
    }

    /// The record of the transport's queue of pulls until `end`, if it has one that was watched.
    pub(super) fn pulls(&mut self, end: Time) -> Option<QueueRecorder> {
        let recorder = self.transport.pulls()?;
        recorder.close(end);
        Some(recorder.clone())
    }

    /// How its unfinished flows stand.
    pub(super) fn standings(&self) -> Vec<Standing> {
        let queries = self.queries.iter().flat_map(|queries| queries.standings());
        self.transport.standings().into_iter().chain(queries).collect()
    }

    /// A packet of a flow will arrive soon.
    #[inline]
    pub(super) fn expect(&self, flow: FlowId) {
        self.transport.expect(flow);
    }

    /// When its next timer goes off, or its next flow starts.
    pub(super) fn due(&self) -> Option<Time> {
        self.agenda.next_at().into_iter().chain(self.next_start()).min()
    }

    #[inline]
    fn next_start(&self) -> Option<Time> {
        self.starting.peek().map(|Reverse((start, _))| *start)
    }

    /// Adds a flow that starts in the window about to be processed, or later.
    pub(super) fn add_flow(&mut self, flow: Flow, wires: &mut Wires<T::Header>) {
        self.starting.push(Reverse((flow.start, flow)));
        wires.calendar.wake(self.node, flow.start);
    }

    /// Gives the host a closed loop to keep going.
    pub(super) fn add_chain(&mut self, mut chain: Chain, wires: &mut Wires<T::Header>) {
        if let Some(flow) = chain.next(chain.start()) {
            self.add_flow(flow, wires);
        }
        self.chains.insert(chain.number, chain);
    }

    /// Gives the host triggers for flows that wait for others.
    pub(super) fn add_triggers(&mut self, triggers: Triggers) {
        self.triggers = Some(Box::new(triggers));
        self.listens = true;
    }

    /// Gives the host a query that it sends in the window about to be processed or later, or that will come.
    pub(super) fn add_query(&mut self, query: Query, wires: &mut Wires<T::Header>) {
        self.queries.get_or_insert_default().add(self.id, query);
        self.listens = true;
        if query.flow.dst == self.id {
            self.starting.push(Reverse((query.at, query.flow)));
            wires.calendar.wake(self.node, query.at);
        }
    }

    /// Does all that happens here from `start` to before `end`; `arrivals` are in order.
    pub(super) fn run_window(
        &mut self,
        (start, end): (Time, Time),
        wires: &mut Wires<T::Header>,
        arrivals: &[Arrival],
        log: &mut Log,
        tally: &mut Tally,
    ) {
        let mut arrivals = arrivals.iter().map(|arrival| (arrival.at(start), arrival.id)).peekable();
        while let Some((now, next)) = self.next(end, arrivals.peek()) {
            if let Next::Arrival(_) = next {
                arrivals.next();
            }
            self.step(now, next, wires, log, tally);
        }
        if self.nic.is_waiting() {
            self.nic.serve_until(end, wires);
        }
        self.schedule_wake(end, wires);
    }

    /// What happens next before `end`. At equal times what arrives comes before timers, timers before new flows.
    #[inline]
    fn next(&self, end: Time, arrival: Option<&(Time, PacketId)>) -> Option<(Time, Next)> {
        let timer = self.agenda.next_at().unwrap_or(Time::NEVER);
        let start = self.next_start().unwrap_or(Time::NEVER);
        let by_itself = timer.min(start);
        if let Some(&(at, id)) = arrival
            && at <= by_itself
        {
            Some((at, Next::Arrival(id)))
        } else if by_itself >= end {
            None
        } else if timer == by_itself {
            Some((timer, Next::Timer))
        } else {
            Some((start, Next::Start))
        }
    }

    #[inline]
    fn step(
        &mut self,
        now: Time,
        next: Next,
        wires: &mut Wires<T::Header>,
        log: &mut Log,
        tally: &mut Tally,
    ) {
        tally.events += 1;
        let packet = match next {
            Next::Arrival(id) => Some(wires.packets.take(id)),
            _ => None,
        };
        if packet.is_some() {
            tally.packet_hops += 1;
        }
        if let Some(packet) = packet.filter(|packet| !packet.kind.is_transports()) {
            self.take_word(now, packet, wires);
            return;
        }
        let told = log.events.len();
        let mut context = Context {
            now,
            host: self.id,
            random: &mut self.random,
            nic: &mut self.nic,
            paths: self.paths.as_mut(),
            wires,
            agenda: &mut self.agenda,
            log,
            ended_chains: &mut self.ended_chains,
        };
        if let Some(mut packet) = packet {
            context.nic.answer(now, &mut packet);
            self.transport.receive(packet, &mut context);
        } else if let Next::Timer = next {
            if let Some(timer) = context.agenda.pop() {
                self.transport.timer(timer, &mut context);
            }
        } else if let Some(Reverse((_, flow))) = self.starting.pop() {
            if flow.src == self.id {
                context.log.started(flow);
                self.transport.start(flow, &mut context);
            } else {
                self.ask(now, flow, wires);
            }
        }
        if !self.ended_chains.is_empty() {
            self.continue_chains(now);
        }
        if self.listens {
            self.hear_ends(now, &log.events[told..], wires);
        }
    }

    fn hear_ends(&mut self, now: Time, events: &[Event], wires: &mut Wires<T::Header>) {
        for (flow, done) in events.iter().filter_map(Event::done) {
            if let Some(triggers) = &mut self.triggers {
                triggers.hear(flow, done, now, |flow| self.starting.push(Reverse((now, flow))));
            }
            if done == Done::Sent && self.queries.as_mut().is_some_and(|queries| queries.is_last(flow)) {
                self.nic.give_back(now, wires);
            }
        }
    }

    /// Room in the far end's buffer, or of a query.
    fn take_word(&mut self, now: Time, packet: Packet<T::Header>, wires: &mut Wires<T::Header>) {
        if packet.kind == Kind::Credit {
            self.nic.credit(now, packet.class, packet.priority.into(), wires);
        } else if let Some((word, answer)) = self.queries.get_or_insert_default().hear(packet, now) {
            self.nic.borrow(now, packet.priority.into(), wires);
            self.starting.extend(answer.map(|flow| Reverse((flow.start, flow))));
            self.send(now, word, wires);
        }
    }

    /// Sends a query for a flow, unless it was heard.
    fn ask(&mut self, now: Time, flow: Flow, wires: &mut Wires<T::Header>) {
        let due = self.queries.as_ref().and_then(|queries| queries.due(flow.id, now));
        if let Some((packet, again_at)) = due {
            self.send(now, packet, wires);
            self.starting.push(Reverse((again_at, flow)));
        }
    }

    fn send(&mut self, now: Time, mut packet: Packet<T::Header>, wires: &mut Wires<T::Header>) {
        packet.time = now;
        packet.src = self.id;
        if let Some(paths) = &mut self.paths {
            packet.path = paths.next(packet.dst);
        }
        let id = wires.packets.add(packet);
        self.nic.accept(now, id, wires, None);
    }

    fn continue_chains(&mut self, now: Time) {
        for id in std::mem::take(&mut self.ended_chains) {
            if let Some(flow) = self.chains.get_mut(&id).and_then(|chain| chain.next(now)) {
                self.starting.push(Reverse((flow.start, flow)));
            }
        }
    }

    fn schedule_wake(&mut self, end: Time, wires: &mut Wires<T::Header>) {
        if self.wake_at < end {
            self.wake_at = Time::NEVER;
        }
        let nic = if self.nic.is_waiting() { self.nic.free_at() } else { Time::NEVER };
        let next = self.due().unwrap_or(Time::NEVER).min(nic);
        if next < self.wake_at {
            self.wake_at = next;
            wires.calendar.wake(self.node, next);
        }
    }
}

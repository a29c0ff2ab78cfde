//! A host: one NIC port, its timers and its flows to start. Its transport lies beside those of its shard's other hosts
//! ([`Transports`]).

use super::Tally;
use super::agenda::Agenda;
use super::agent::PortAgent;
use super::arrival::Arrival;
use super::endpoint::{Context, FlowStatus};
use super::flow_samples::{FlowSamples, FlowWatch};
use super::intake::{Arrived, Intake};
use super::link_table::LinkTable;
use super::log::{Event, Log};
use super::messages::Messages;
use super::port::Port;
use super::processing::Processing;
use super::queries::Queries;
use super::sampler::Sampler;
use super::transports::Transports;
use crate::flow::{Flow, FlowId, HostId};
use crate::link_message::LinkMessage;
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::prefetch::prefetch_whole;
use crate::queue::Signals;
use crate::random::{Purpose, Stream};
use crate::record::{Arrivals, QueueRecorder, Reordering};
use crate::routing::PathChoice;
use crate::units::Time;
use crate::workload::job::{Ranks, Walker};
use crate::workload::{Chain, Done, Query, Triggers};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::iter::Peekable;

/// A host with all that belongs to it: first what it takes to receive and to send a packet, see [`Host::prefetch`].
#[repr(C)]
pub(super) struct Host<H, A> {
    pub(super) nic: Port<H, A>,
    turns: Turns,
    /// Where sources choose their packets' paths.
    paths: Option<PathChoice>,
    chains: BTreeMap<u32, Chain>,
    /// What starts flows here when others have ended here.
    triggers: Option<Box<Triggers>>,
    /// Ranks of jobs.
    ranks: Option<Box<Ranks>>,
    queries: Option<Box<Queries>>,
    random: Stream,
    /// The record of the pull queue, if it is observed.
    pulls: Option<Box<QueueRecorder>>,
    /// In which order packets arrive, if that is measured.
    arrivals: Option<Box<Arrivals>>,
    /// Of each incoming link, which of its own leads back, where the two ends talk to each other.
    ways_back: Vec<u32>,
    /// What arrives and waits, if the host is slow at times.
    intake: Option<Box<Intake>>,
    /// What it is processing, if that takes a time of its own for each packet.
    processing: Option<Box<Processing>>,
    /// The messages that it is sending or receiving, if those take a time of its own.
    messages: Option<Box<Messages>>,
    /// Samples of the flows that start here, if some are chosen.
    sampler: Option<Box<Sampler>>,
}

/// What a host looks at in each of its turns.
struct Turns {
    id: HostId,
    /// Itself, among the nodes of its shard.
    node: u32,
    agenda: Agenda,
    /// Flows to start, by start and identity; and flows to this host, to be queried for.
    starting: BinaryHeap<Reverse<(Time, Flow)>>,
    ended_chains: Vec<u32>,
    /// Whether it has triggers, ranks, queries or a sampler, which are notified when flows end here.
    listens: bool,
    /// Whether it is slow at times or takes time for each packet.
    takes_late: bool,
    /// When it next takes a packet that it has not taken at once, or a rank has something to do.
    wakes_at: Time,
    /// The same, or a sample is due before: the host is not woken for that, but takes it when it wakes.
    acts_at: Time,
    /// The earliest wake-up that the calendar has for it.
    wake_at: Time,
}

enum Next {
    Arrival(PacketId),
    /// A sample is due; or a rank has something to do; or something waits in the NIC of a slow host, or is processed,
    /// and its time has come.
    Own,
    /// That was this packet.
    Taken(PacketId),
    /// A pause of the NIC has ended.
    Resumed,
    /// The switch says of a flow's queue whether it is paused.
    Paused(FlowId, bool),
    Timer,
    Start,
    /// The host was done with sending a message; now the transport gets it.
    HandedOver(Flow),
}

impl<H: Copy + Default, A: PortAgent<H>> Host<H, A> {
    pub(super) fn new(
        id: HostId,
        (nic, ways_back): (Port<H, A>, Vec<u32>),
        paths: Option<PathChoice>,
        node: u32,
        seed: u64,
    ) -> Host<H, A> {
        let turns = Turns {
            id,
            node,
            agenda: Agenda::default(),
            starting: BinaryHeap::new(),
            ended_chains: Vec::new(),
            listens: false,
            takes_late: false,
            wakes_at: Time::NEVER,
            acts_at: Time::NEVER,
            wake_at: Time::NEVER,
        };
        Host {
            nic,
            turns,
            paths,
            chains: BTreeMap::new(),
            triggers: None,
            ranks: None,
            queries: None,
            random: Stream::new(seed, Purpose::Transport, u64::from(id)),
            pulls: None,
            arrivals: None,
            ways_back,
            intake: None,
            processing: None,
            messages: None,
            sampler: None,
        }
    }

    /// Has it take what arrives as slowly as this.
    pub(super) fn slow_down(&mut self, intake: Intake) {
        self.intake = Some(Box::new(intake));
        self.turns.takes_late = true;
    }

    /// Has it take a time of its own for each packet.
    pub(super) fn process(&mut self, processing: Processing) {
        self.processing = Some(Box::new(processing));
        self.turns.takes_late = true;
    }

    /// Has it take a time of its own for each message.
    pub(super) fn charge_messages(&mut self, messages: Messages) {
        self.messages = Some(Box::new(messages));
        self.turns.listens = true;
    }

    /// What arrives and waits, if the host is slow at times.
    pub(super) fn intake(&self) -> Option<&Intake> {
        self.intake.as_deref()
    }

    /// Has the transport's queue of pulls recorded.
    pub(super) fn watch_pulls(&mut self, recorder: QueueRecorder) {
        self.pulls = Some(Box::new(recorder));
    }

    /// The record of that queue until `end`.
    pub(super) fn pulls(&self, end: Time) -> Option<QueueRecorder> {
        self.pulls.as_deref().map(|recorder| recorder.closed(end))
    }

    /// Has it measured in which order packets arrive.
    pub(super) fn measure_order(&mut self) {
        self.arrivals = Some(Box::default());
    }

    /// Has those of these flows sampled that start here.
    pub(super) fn sample(&mut self, watch: &FlowWatch) {
        self.sampler = Some(Box::new(Sampler::new(watch.clone())));
        self.turns.listens = true;
    }

    /// Their samples until `end`, if there are any.
    pub(super) fn flow_samples(&mut self, end: Time, transports: &dyn Transports<H, A>) -> Vec<FlowSamples> {
        let host = self.turns.node;
        let state = |flow, now| transports.sending(host, flow, now);
        self.sampler.as_mut().map_or(Vec::new(), |sampler| sampler.close(end, state))
    }

    /// In which order the packets of each flow arrived, if that was measured.
    pub(super) fn reordering(&self) -> impl Iterator<Item = (FlowId, Reordering)> {
        self.arrivals.iter().flat_map(|arrivals| arrivals.flows())
    }

    /// The status of its unfinished queries.
    pub(super) fn statuses(&self) -> impl Iterator<Item = FlowStatus> {
        self.queries.iter().flat_map(|queries| queries.statuses())
    }

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

    /// Packets will arrive soon: prefetches the NIC's classes where these can be paused.
    #[inline]
    pub(super) fn expect(&self) {
        self.nic.prefetch_shared();
    }

    /// A packet will arrive even sooner: prefetches what waits at the NIC, and the paths of an answer.
    #[inline]
    pub(super) fn expect_soon(&self, packet: &Packet<H>, packets: &Packets<H>) {
        self.nic.prefetch_packets(packets);
        if let Some(paths) = &self.paths {
            paths.prefetch(packet.flow, packet.src);
        }
    }

    /// When its next timer goes off, or its next flow starts.
    pub(super) fn due(&self) -> Option<Time> {
        let next = self.next_by_itself();
        (next != Time::NEVER).then_some(next)
    }

    #[inline]
    fn next_start(&self) -> Time {
        self.turns.starting.peek().map_or(Time::NEVER, |Reverse((start, _))| *start)
    }

    #[inline]
    fn next_by_itself(&self) -> Time {
        self.turns.agenda.next_at().min(self.next_start()).min(self.turns.wakes_at)
    }

    /// Adds a flow that starts in the window about to be processed, or later.
    pub(super) fn add_flow(&mut self, flow: Flow, link_table: &mut LinkTable<H>) {
        self.turns.starting.push(Reverse((flow.start, flow)));
        link_table.calendar.wake(self.turns.node, flow.start);
    }

    /// Gives the host a closed loop to keep going.
    pub(super) fn add_chain(&mut self, mut chain: Chain, link_table: &mut LinkTable<H>) {
        if let Some(flow) = chain.next(chain.start()) {
            self.add_flow(flow, link_table);
        }
        self.chains.insert(chain.number, chain);
    }

    /// Gives the host triggers for flows that wait for others.
    pub(super) fn add_triggers(&mut self, triggers: Triggers) {
        self.triggers = Some(Box::new(triggers));
        self.turns.listens = true;
    }

    /// Gives the host a rank of a job.
    pub(super) fn add_rank(&mut self, rank: Walker, link_table: &mut LinkTable<H>) {
        link_table.calendar.wake(self.turns.node, rank.next_at());
        self.ranks.get_or_insert_default().add(rank);
        self.turns.listens = true;
        self.note_next_act();
    }

    /// The ranks of jobs here.
    pub(super) fn ranks(&self) -> &[Walker] {
        self.ranks.as_ref().map_or(&[], |ranks| ranks.walkers())
    }

    /// The same, to be changed.
    pub(super) fn ranks_mut(&mut self) -> &mut [Walker] {
        self.ranks.as_mut().map_or(&mut [], |ranks| ranks.walkers_mut())
    }

    /// What it has yet to learn of faults it learns sooner, and what makes it slow comes sooner.
    pub(super) fn bring_faults_forward(&mut self, now: Time, by: Time) {
        self.intake.iter_mut().for_each(|intake| intake.shift_earlier(now, by));
        self.nic.bring_faults_forward(now, by);
    }

    /// Gives the host a query that it sends in the window about to be processed or later, or that will come.
    pub(super) fn add_query(&mut self, query: Query, link_table: &mut LinkTable<H>) {
        self.queries.get_or_insert_default().add(self.turns.id, query);
        self.turns.listens = true;
        if query.flow.dst == self.turns.id {
            self.turns.starting.push(Reverse((query.at, query.flow)));
            link_table.calendar.wake(self.turns.node, query.at);
        }
    }

    /// Does all that happens here from `start` to before `end`; `arrivals` are in order.
    pub(super) fn run_window(
        &mut self,
        (start, end): (Time, Time),
        link_table: &mut LinkTable<H>,
        arrivals: &[Arrival],
        transports: &mut dyn Transports<H, A>,
        log: &mut Log,
        tally: &mut Tally,
    ) {
        let mut arrivals = arrivals.iter().peekable();
        while let Some(next) = self.next(end, arrivals.peek().map(|arrival| (arrival.at(start), arrival.id)))
        {
            self.happen((start, next), &mut arrivals, link_table, transports, log, tally);
        }
        self.end_window(end, link_table);
    }

    /// Does what happens here up to `until` and then, of a window that began at `start`, but nothing after the first
    /// moment at which a flow ends here; `arrivals` are in order. Returns how many of these arrived, and that moment.
    pub(super) fn advance(
        &mut self,
        (start, until): (Time, Time),
        link_table: &mut LinkTable<H>,
        arrivals: &[Arrival],
        transports: &mut dyn Transports<H, A>,
        log: &mut Log,
        tally: &mut Tally,
    ) -> (usize, Option<Time>) {
        let mut left = arrivals.iter().peekable();
        let (mut until, mut ended) = (until, None);
        loop {
            let arrival = left.peek().map(|arrival| (arrival.at(start), arrival.id));
            let arrival = arrival.filter(|(at, _)| *at <= until);
            let Some(next) = self.next(until + Time(1), arrival) else { break };
            let (now, logged) = (next.0, log.events.len());
            self.happen((start, next), &mut left, link_table, transports, log, tally);
            if ended.is_none() && log.events[logged..].iter().any(|event| event.done().is_some()) {
                (until, ended) = (now, Some(now));
            }
        }
        (arrivals.len() - left.len(), ended)
    }

    /// When something next happens here of which the host is not told by a packet.
    pub(super) fn acts_by_itself_at(&self) -> Time {
        self.next_by_itself()
    }

    /// Adds a flow that starts in the window that is being processed, and not before what has happened here.
    pub(super) fn add_flow_at_once(&mut self, flow: Flow) {
        self.turns.starting.push(Reverse((flow.start, flow)));
    }

    /// All happened here that does before `end`, where the window ends.
    #[inline]
    pub(super) fn end_window(&mut self, end: Time, link_table: &mut LinkTable<H>) {
        if self.nic.is_waiting() {
            self.nic.serve_until(end, link_table);
        }
        self.schedule_wake(end, link_table);
    }

    /// Does what happens next; `arrivals`: what comes, in order.
    #[inline(always)]
    fn happen(
        &mut self,
        (start, (now, next)): (Time, (Time, Next)),
        arrivals: &mut Peekable<std::slice::Iter<'_, Arrival>>,
        link_table: &mut LinkTable<H>,
        transports: &mut dyn Transports<H, A>,
        log: &mut Log,
        tally: &mut Tally,
    ) {
        if let Next::Arrival(id) = next
            && let Some(arrival) = arrivals.next()
        {
            if !link_table.packets.get(id).kind.is_transports() {
                tally.events += 1;
                tally.packet_hops += u64::from(!LinkMessage::is_reminder(link_table.packets.get(id)));
                if let Some(LinkMessage::Queue { queue, is_paused }) =
                    LinkMessage::of(link_table.packets.get(id))
                {
                    link_table.packets.take(id);
                    let next = Next::Paused(queue, is_paused);
                    return self.step(now, next, link_table, transports, log, tally);
                }
                if self.meet(now, id, || arrival.link(start), link_table) {
                    self.step(now, Next::Resumed, link_table, transports, log, tally);
                }
                return;
            }
            if self.turns.takes_late && !self.lets_in(now, id, arrival.link(start), link_table) {
                tally.events += 1;
                tally.packet_hops += 1;
                return;
            }
        }
        match next {
            Next::Own if self.takes_samples(now, transports) => {}
            Next::Own if self.wakes_ranks(now, log) => tally.events += 1,
            Next::Own => self.take(now, link_table, transports, log, tally),
            next => self.step(now, next, link_table, transports, log, tally),
        }
    }

    /// What happens next before `end`. At equal times what arrives comes before what waited in the NIC, that before
    /// timers, timers before new flows.
    #[inline]
    fn next(&self, end: Time, arrival: Option<(Time, PacketId)>) -> Option<(Time, Next)> {
        let by_itself = self.turns.agenda.next_at().min(self.next_start()).min(self.turns.acts_at);
        if let Some((at, id)) = arrival
            && at <= by_itself
        {
            Some((at, Next::Arrival(id)))
        } else if by_itself >= end {
            None
        } else if self.turns.acts_at == by_itself {
            Some((by_itself, Next::Own))
        } else if self.turns.agenda.next_at() == by_itself {
            Some((by_itself, Next::Timer))
        } else {
            Some((by_itself, Next::Start))
        }
    }

    #[inline]
    fn step(
        &mut self,
        now: Time,
        next: Next,
        link_table: &mut LinkTable<H>,
        transports: &mut dyn Transports<H, A>,
        log: &mut Log,
        tally: &mut Tally,
    ) {
        tally.events += 1;
        tally.packet_hops += u64::from(matches!(next, Next::Arrival(_)));
        let logged = log.events.len();
        let mut context = Context {
            now,
            host: self.turns.id,
            random: &mut self.random,
            nic: &mut self.nic,
            paths: self.paths.as_mut(),
            link_table,
            agenda: &mut self.turns.agenda,
            log,
            ended_chains: &mut self.turns.ended_chains,
            pulls: self.pulls.as_deref_mut(),
        };
        match next {
            Next::Arrival(id) | Next::Taken(id) => {
                if let Some(arrivals) = &mut self.arrivals {
                    note_arrival(arrivals, id, &context.link_table.packets);
                }
                let mut packet = context.link_table.packets.take(id);
                context.nic.answer(&mut packet);
                transports.receive(self.turns.node, packet, &mut context);
            }
            Next::Resumed => transports.resumed(self.turns.node, &mut context),
            Next::Paused(flow, is_paused) => {
                transports.paused(self.turns.node, flow, is_paused, &mut context);
            }
            Next::Own => {}
            Next::Timer => {
                let Some(timer) = context.agenda.pop() else { return };
                transports.timer(self.turns.node, timer, &mut context);
            }
            Next::Start => {
                let Some(Reverse((_, flow))) = self.turns.starting.pop() else { return };
                if flow.src == self.turns.id {
                    if self.messages.as_mut().is_some_and(|messages| messages.send(now, flow)) {
                        return self.note_next_act();
                    }
                    context.log.started(flow);
                    transports.start(self.turns.node, flow, &mut context);
                } else {
                    self.send_query(now, flow, link_table);
                }
            }
            Next::HandedOver(flow) => {
                context.log.started(flow);
                transports.start(self.turns.node, flow, &mut context);
            }
        }
        if !self.turns.ended_chains.is_empty() {
            self.continue_chains(now);
        }
        if self.turns.listens && log.events.len() > logged {
            if let Some(messages) = &mut self.messages {
                messages.receive(now, logged, log);
                self.note_next_act();
            }
            self.notify_ends(now, logged, log, link_table);
        }
    }

    /// Whether the host takes a packet at once. If not it waits in the NIC, is dropped, or is processed.
    #[inline(never)]
    fn lets_in(&mut self, now: Time, id: PacketId, link: u32, link_table: &mut LinkTable<H>) -> bool {
        let Some(intake) = &mut self.intake else { return self.processes_at_once(now, id, link) };
        match intake.arrive(now, link, id, &mut link_table.packets) {
            Arrived::Passes => return self.processes_at_once(now, id, link),
            Arrived::Waits(signals) => self.pause_link(now, link, signals, link_table),
            Arrived::Dropped => self.nic.refuse(id, link_table),
        }
        false
    }

    /// Something arrives that is not for the transport. Link messages are the NIC's; queries are for the host, which
    /// processes them as it does the transport's packets. Returns what [`Host::take_in`] does.
    #[inline(never)]
    fn meet(
        &mut self,
        now: Time,
        id: PacketId,
        link: impl FnOnce() -> u32,
        link_table: &mut LinkTable<H>,
    ) -> bool {
        let link = link();
        let is_nics = LinkMessage::of(link_table.packets.get(id)).is_some();
        (is_nics || self.processes_at_once(now, id, link)) && self.take_in(now, id, link, link_table)
    }

    /// Begins to process a packet; whether it takes no time.
    fn processes_at_once(&mut self, now: Time, id: PacketId, link: u32) -> bool {
        let Some(processing) = &mut self.processing else { return true };
        let is_done = processing.begin(now, id, link);
        self.note_next_act();
        is_done
    }

    fn note_next_act(&mut self) {
        let intake = self.intake.as_ref().map_or(Time::NEVER, |intake| intake.next_at());
        let processing = self.processing.as_ref().map_or(Time::NEVER, |processing| processing.next_at());
        let ranks = self.ranks.as_ref().map_or(Time::NEVER, |ranks| ranks.next_at());
        let messages = self.messages.as_ref().map_or(Time::NEVER, |messages| messages.next_at());
        self.turns.wakes_at = intake.min(processing).min(ranks).min(messages);
        let sample = self.sampler.as_ref().map_or(Time::NEVER, |sampler| sampler.next_at());
        self.turns.acts_at = self.turns.wakes_at.min(sample);
    }

    /// Takes the samples that are due; whether there are any.
    #[inline(never)]
    fn takes_samples(&mut self, now: Time, transports: &dyn Transports<H, A>) -> bool {
        let Some(sampler) = self.sampler.as_mut().filter(|sampler| sampler.next_at() <= now) else {
            return false;
        };
        sampler.take(now, |flow, now| transports.sending(self.turns.node, flow, now));
        self.note_next_act();
        true
    }

    /// Wakes the ranks that have something to do; whether there are any.
    #[inline(never)]
    fn wakes_ranks(&mut self, now: Time, log: &mut Log) -> bool {
        let Some(ranks) = self.ranks.as_mut().filter(|ranks| ranks.next_at() <= now) else { return false };
        ranks.wake(now, |flow| self.turns.starting.push(Reverse((flow.start, flow))));
        ranks.take_ended().for_each(|source| log.rank_ended(source, now));
        self.note_next_act();
        true
    }

    /// Goes on with a message with which the host is done; whether there is one.
    #[inline(never)]
    fn is_done_with_message(
        &mut self,
        now: Time,
        link_table: &mut LinkTable<H>,
        transports: &mut dyn Transports<H, A>,
        log: &mut Log,
        tally: &mut Tally,
    ) -> bool {
        let Some(messages) = &mut self.messages else { return false };
        if let Some(flow) = messages.handed_over(now) {
            self.note_next_act();
            self.step(now, Next::HandedOver(flow), link_table, transports, log, tally);
        } else if let Some(flow) = messages.taken(now) {
            self.note_next_act();
            tally.events += 1;
            log.events.push(Event::Delivered { flow, at: now });
            self.notify_ends(now, log.events.len() - 1, log, link_table);
        } else {
            return false;
        }
        true
    }

    /// Takes what has been processed, or what has waited in the NIC until now.
    #[inline(never)]
    fn take(
        &mut self,
        now: Time,
        link_table: &mut LinkTable<H>,
        transports: &mut dyn Transports<H, A>,
        log: &mut Log,
        tally: &mut Tally,
    ) {
        if self.is_done_with_message(now, link_table, transports, log, tally) {
            return;
        }
        let Some((id, link)) = self.processing.as_mut().and_then(|processing| processing.finish(now)) else {
            return self.take_from_nic(now, link_table, transports, log, tally);
        };
        self.note_next_act();
        if link_table.packets.get(id).kind.is_transports() {
            self.step(now, Next::Taken(id), link_table, transports, log, tally);
        } else {
            tally.events += 1;
            self.take_in(now, id, link, link_table);
        }
    }

    /// A slow host takes what has waited in its NIC until now, or pauses once more.
    #[inline(never)]
    fn take_from_nic(
        &mut self,
        now: Time,
        link_table: &mut LinkTable<H>,
        transports: &mut dyn Transports<H, A>,
        log: &mut Log,
        tally: &mut Tally,
    ) {
        let Some(intake) = &mut self.intake else { return };
        if let Some((link, signals)) = intake.prolong(now) {
            tally.events += 1;
            return self.pause_link(now, link, signals, link_table);
        }
        let taken = intake.take(now, &link_table.packets);
        let (link, signals) = taken.map_or((0, Signals::default()), |(_, link, signals)| (link, signals));
        self.pause_link(now, link, signals, link_table);
        if let Some((id, link, _)) = taken
            && self.processes_at_once(now, id, link)
        {
            self.step(now, Next::Taken(id), link_table, transports, log, tally);
        }
    }

    /// Says to a link which of its classes are paused and resumed, and notes when the NIC has to be looked at again.
    fn pause_link(&mut self, now: Time, link: u32, signals: Signals, link_table: &mut LinkTable<H>) {
        let Some(intake) = &mut self.intake else { return };
        let by = self.ways_back.get(link as usize).copied().unwrap_or(0);
        let nic = &mut self.nic;
        intake.frames(now, link, signals, |frame| {
            let id = link_table.packets.add(frame);
            nic.send_signal(now, by, id, link_table);
        });
        self.note_next_act();
    }

    /// Notifies those who wait for it of flows that have ended, and the sampler of all that happened to flows: what
    /// is in the log from `logged` on.
    fn notify_ends(&mut self, now: Time, logged: usize, log: &mut Log, link_table: &mut LinkTable<H>) {
        for at in logged..log.events.len() {
            if let Some(sampler) = &mut self.sampler {
                sampler.notify(&log.events[at], now);
                self.note_next_act();
            }
            let Some((flow, done)) = log.events[at].done() else { continue };
            if let Some(ranks) = &mut self.ranks {
                ranks.notify(flow, done, now, |flow| self.turns.starting.push(Reverse((flow.start, flow))));
                ranks.take_ended().for_each(|source| log.rank_ended(source, now));
                self.note_next_act();
            }
            if let Some(triggers) = &mut self.triggers {
                triggers.notify(flow, done, now, |flow| self.turns.starting.push(Reverse((now, flow))));
            }
            if done == Done::Sent && self.queries.as_mut().is_some_and(|queries| queries.is_last(flow)) {
                self.nic.give_back(now, link_table);
            }
        }
    }

    /// Takes what arrives for the host itself and not for its transport: a link message or a query. Returns whether
    /// the NIC may now send what a pause held back.
    fn take_in(&mut self, now: Time, id: PacketId, link: u32, link_table: &mut LinkTable<H>) -> bool {
        let packet = link_table.packets.take(id);
        let by = self.ways_back.get(link as usize).copied().unwrap_or(0);
        if let Some(message) = LinkMessage::of(&packet) {
            self.nic.receive_message(now, by, message, link_table);
            let rate = self.nic.all()[by as usize].rate();
            link_table.remind_of_end((self.turns.node, link), now, message, rate);
            return !matches!(message, LinkMessage::Credit { .. }) || self.nic.holds_back_by_credit();
        } else if let Some((reply, answer)) = self.queries.get_or_insert_default().receive(packet, now) {
            self.nic.borrow(now, by, packet.loan_bytes(), link_table);
            self.turns.starting.extend(answer.map(|flow| Reverse((flow.start, flow))));
            self.send(now, reply, link_table);
        }
        false
    }

    /// Sends a query for a flow, unless an earlier one was acknowledged.
    fn send_query(&mut self, now: Time, flow: Flow, link_table: &mut LinkTable<H>) {
        let due = self.queries.as_ref().and_then(|queries| queries.due(flow.id, now));
        if let Some((packet, again_at)) = due {
            self.send(now, packet, link_table);
            self.turns.starting.push(Reverse((again_at, flow)));
        }
    }

    fn send(&mut self, now: Time, mut packet: Packet<H>, link_table: &mut LinkTable<H>) {
        packet.time = now;
        packet.src = self.turns.id;
        if let Some(paths) = &mut self.paths {
            packet.path = paths.next(&packet, now);
        }
        let id = link_table.packets.add(packet);
        link_table.tag(id);
        self.nic.accept(now, id, link_table, None);
    }

    fn continue_chains(&mut self, now: Time) {
        for id in std::mem::take(&mut self.turns.ended_chains) {
            if let Some(flow) = self.chains.get_mut(&id).and_then(|chain| chain.next(now)) {
                self.turns.starting.push(Reverse((flow.start, flow)));
            }
        }
    }

    fn schedule_wake(&mut self, end: Time, link_table: &mut LinkTable<H>) {
        if self.turns.wake_at < end {
            self.turns.wake_at = Time::NEVER;
        }
        let nic = if self.nic.is_waiting() { self.nic.free_at() } else { Time::NEVER };
        let next = self.next_by_itself().min(nic);
        if next < self.turns.wake_at {
            self.turns.wake_at = next;
            link_table.calendar.wake(self.turns.node, next);
        }
    }
}

fn note_arrival<H: Copy + Default>(arrivals: &mut Arrivals, id: PacketId, packets: &Packets<H>) {
    let Packet { kind, flow, size_bytes, .. } = *packets.get(id);
    if kind == Kind::Data {
        arrivals.note(flow, packets.tag(id).stamp, size_bytes);
    }
}

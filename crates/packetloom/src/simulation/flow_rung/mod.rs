//! Cases without packets, whatever their transport: `fidelity = "flows"`.
//!
//! Flows share all links of their paths (`fluid::on_links`) from their first moment on: a transport that finds its
//! rate at once, fills links and treats all flows alike. To a flow's time there is added what the last packet takes
//! to cross the network behind it, as in its best FCT, and the round trip of a handshake, where it opens a connection.
//!
//! The messages of jobs are flows, too. The ranks of jobs are those that packets have (`workload::job`); they are told
//! when a message has arrived, and when its last acknowledgement would have come back. Of collective operations that are
//! carried out as wholes there are no messages (`wholes`).

mod alike;
mod handshakes;
mod hosts;
pub(super) mod measured;
mod pace;
mod pieces;
mod plans;
mod shapes;
mod ways;
mod wholes;

use super::critical::Paths;
use super::jobs::{self, RankSpans};
use super::monitor::Goal;
use super::packets::modelled;
use super::warnings::never_started;
use super::{Monitor, Outcome, Setting, Simulation};
use crate::engine::{Event, Log, Report, Tally};
use crate::flow::{Flow, FlowId, HostId};
use crate::flow_table::FlowTable;
use crate::fluid::on_links::Sharing;
use crate::measure::Collector;
use crate::packet::Format;
use crate::stall;
use crate::topology::{MessageCosts, Topology};
use crate::units::Time;
use crate::workload::{Done, Workload};
use hosts::{Hosts, Turn};
use pace::{Own, Pace};
use plans::Plans;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use ways::{Trip, Ways};
use wholes::{Moved, Wholes};

/// Runs a case at the level of flows.
pub(super) fn run_flows(simulation: Simulation, monitor: &Monitor) -> Outcome {
    let Simulation { setting, mut workload, .. } = simulation;
    let mut rung = Rung::new(&setting, &mut workload, monitor);
    rung.run();
    let stalled = rung.stalled();
    let Rung { collector, hosts, wholes, now, is_wanted, .. } = rung;
    let tally = Tally { packet_hops: 0, events: collector.started() + collector.finished() };
    let max_time = setting.max_time();
    let keeps_operations = setting.case.measure.flag("operations");
    let paths = jobs::keeps_paths(&setting.case.measure).then(|| Paths::of(&setting));
    let mut outcome = setting.outcome(collector, &[], tally);
    let spans = spans(hosts, &workload, max_time);
    let facts = |source, exchange| wholes.facts(source, exchange);
    outcome.add_jobs(workload.jobs(), &spans, paths.as_ref(), &facts, keeps_operations);
    // The last operation may be no message.
    let last = outcome.iterations.iter().map(|row| row.end).filter(|end| *end != Time::NEVER).max();
    let simulated = if stalled.is_some() { now } else { outcome.simulated };
    outcome.simulated = simulated.max(last.unwrap_or(Time::ZERO));
    let by_clock = if is_wanted { workload.count_by_clock() } else { 0 };
    outcome.never_started = workload.waiting() + by_clock;
    outcome.warnings.extend(never_started(workload.waiting(), by_clock));
    outcome.warnings.extend(stalled.clone());
    outcome.stalled = stalled;
    outcome.cancelled = !is_wanted;
    outcome
}

/// What the ranks of all jobs did, in order of source and rank.
fn spans(hosts: Hosts, workload: &Workload, max_time: Time) -> Vec<RankSpans> {
    let walked = hosts
        .into_walkers()
        .map(|walker| (walker.plan().settings.number, walker.rank(), walker.into_spans()));
    let mut spans: Vec<RankSpans> = walked.collect();
    spans.sort_unstable_by_key(|&(source, rank, _)| (source, rank));
    spans.extend(modelled(workload.jobs(), max_time));
    spans
}

/// A flow's bytes on the wire, headers and framing included.
pub(super) fn wire_bytes(format: Format, topology: &Topology, flow: &Flow) -> u64 {
    format.wire_bytes(flow.size_bytes) + format.packets(flow.size_bytes) * topology.framing_bytes
}

/// What happens at a time that is known; what happens together, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A message is whole at its receiver's NIC.
    Arrived(FlowId),
    /// And its receiver has taken it in.
    TakenIn(FlowId),
    /// Its sender knows that it has arrived.
    Known(FlowId),
    /// A host's ranks have something to do.
    Wake(HostId),
    /// A host has sent a message off.
    SentOff(Flow),
    /// A host begins with a message.
    Start(Flow),
    /// A lane of an operation that is carried out as a whole has moved its bits up to one of its ends.
    Moved(u32),
    /// What it moved up to that end is over.
    Over(u32, u32),
    /// All that starts now has started: which links hold a lane back?
    Look(u32),
    /// And what pace has a message?
    Pace(FlowId),
}

/// A flow whose bits are under way.
#[derive(Clone, Debug)]
struct UnderWay {
    started: Time,
    trip: Trip,
    /// Where messages have paces of their own.
    own: Option<Box<Own>>,
    /// Whether anything waits for its end.
    is_awaited: bool,
}

/// A case at work.
struct Rung<'a> {
    topology: &'a Topology,
    workload: &'a mut Workload,
    monitor: &'a Monitor,
    goal: Goal,
    max_time: Time,
    collector: Collector,
    log: Log,
    ways: Ways<'a>,
    hosts: Hosts,
    wholes: Wholes,
    sharing: Sharing,
    pace: Pace,
    under_way: FlowTable<UnderWay>,
    agenda: BinaryHeap<Reverse<(Time, Due)>>,
    /// The sources that are jobs.
    is_job: Vec<bool>,
    now: Time,
    is_wanted: bool,
}

impl<'a> Rung<'a> {
    fn new(setting: &'a Setting, workload: &'a mut Workload, monitor: &'a Monitor) -> Rung<'a> {
        let topology = &setting.topology;
        let background = workload.background().to_vec();
        let is_job = |source| workload.jobs().iter().any(|job| usize::from(job.source) == source);
        let is_job = (0..background.len()).map(is_job).collect();
        let goal = setting.goal(workload);
        let mut hosts = Hosts::of(topology, workload);
        let wake = |(at, host)| Reverse((at, Due::Wake(host)));
        let ways = Ways::of(setting);
        Rung {
            sharing: Sharing::new(ways.rates()),
            pace: Pace::of(setting.measured.clone(), setting.case.seed, topology, |link| ways.stands(link)),
            wholes: Wholes::new(Plans::of_jobs(workload.jobs())),
            topology,
            goal,
            workload,
            monitor,
            max_time: setting.max_time(),
            collector: Collector::new(setting.format, background),
            log: Log::default(),
            ways,
            agenda: hosts.first_wakes().into_iter().map(wake).collect(),
            hosts,
            under_way: FlowTable::default(),
            is_job,
            now: Time::ZERO,
            is_wanted: true,
        }
    }

    fn run(&mut self) {
        while self.is_wanted && !self.is_over() {
            let due = self.next_due();
            match self.sharing.next_end().filter(|end| *end <= due) {
                Some(end) if end <= self.max_time => self.share_until(end),
                None if due < Time::NEVER && due <= self.max_time => self.act(due),
                _ => return,
            }
        }
    }

    /// Whether nothing is left that the case waits for, while other flows go on.
    fn is_over(&self) -> bool {
        let Rung { workload, collector, .. } = self;
        workload.background().contains(&true)
            && collector.finished() == collector.started()
            && !workload.has_foreground_left()
    }

    fn next_due(&self) -> Time {
        let due = self.agenda.peek().map(|Reverse((at, _))| *at);
        due.into_iter().chain(self.workload.peek_start()).min().unwrap_or(Time::NEVER)
    }

    /// The bits of some flows have been moved.
    fn share_until(&mut self, end: Time) {
        self.now = end;
        let Rung { sharing, under_way, collector, agenda, wholes, max_time, pace, .. } = self;
        sharing.run_until_held(end, |flow, at, held_by| {
            if let Some(lane) = wholes.lane(flow) {
                agenda.push(Reverse((at, Due::Moved(lane))));
                return;
            }
            let Some(UnderWay { started, trip, own, is_awaited }) = under_way.remove(flow) else { return };
            let Trip { latency, least, back } = trip;
            let mut arrived = at.saturating_add(latency).max(started + least);
            if let Some(own) = own {
                let more = pace.end(flow, &own, (at.since(started), held_by), arrived.since(started));
                arrived = arrived.saturating_add(more);
            }
            if is_awaited {
                agenda.push(Reverse((arrived, Due::Arrived(flow))));
                let known = back.map_or(at, |back| arrived.saturating_add(back));
                agenda.push(Reverse((known, Due::Known(flow))));
            } else if arrived <= *max_time {
                collector.finish(flow, arrived);
            }
        });
        let share = self.goal.share_done(self.collector.finished(), end);
        self.is_wanted = self.monitor.report(0, share, end);
    }

    /// All that is due at a time.
    fn act(&mut self, now: Time) {
        self.now = now;
        while let Some(&Reverse((at, due))) = self.agenda.peek()
            && at == now
        {
            self.agenda.pop();
            match due {
                Due::Arrived(flow) => self.arrive(flow),
                Due::TakenIn(flow) => self.take_in(flow),
                Due::Known(flow) => self.close(flow),
                Due::Wake(host) => {
                    let turn = self.hosts.wake(host, now);
                    self.follow_up(host, turn);
                }
                Due::SentOff(flow) => self.send_off(flow),
                Due::Start(flow) => self.start(flow),
                Due::Moved(lane) => self.moved(lane),
                Due::Over(lane, nth) => self.over(lane, nth),
                Due::Look(lane) => self.wholes.look(lane, &mut self.sharing),
                Due::Pace(flow) => self.set_paces(flow),
            }
        }
        while self.workload.peek_start() == Some(now) {
            let Some(flow) = self.workload.next_flow() else { return };
            self.start(flow);
        }
    }

    fn start(&mut self, flow: Flow) {
        // As with packets, nothing begins when the run ends.
        if self.now == self.max_time {
            return;
        }
        let at = self.hosts.sent_off(flow.src, self.now);
        if at > self.now {
            self.agenda.push(Reverse((at, Due::SentOff(flow))));
        } else {
            self.send_off(flow);
        }
    }

    /// A host is done with sending a message; now its bits go.
    fn send_off(&mut self, flow: Flow) {
        self.collector.start(flow, self.topology);
        self.workload.notify_start(&flow);
        let MessageCosts { send, receive } = self.topology.message_costs;
        let best = self.collector.best_fct(flow.id).since(send + receive);
        let trip = self.ways.trip(&flow, best);
        let is_awaited = self.is_job[usize::from(flow.source)] || receive > Time::ZERO;
        let mut transfer = self.ways.transfer(&flow);
        let own = self.pace.begin(&flow, &mut transfer, (self.topology, &mut self.sharing));
        if own.is_some() {
            self.agenda.push(Reverse((self.now, Due::Pace(transfer.id))));
        }
        self.under_way.insert(flow.id, UnderWay { started: self.now, trip, own, is_awaited });
        self.sharing.arrive(self.now, &transfer);
    }

    /// Sets the paces of all messages that have just started, by what links carry when none of them has one.
    fn set_paces(&mut self, first: FlowId) {
        let mut flows = vec![first];
        while let Some(&Reverse((at, Due::Pace(flow)))) = self.agenda.peek()
            && at == self.now
        {
            self.agenda.pop();
            flows.push(flow);
        }
        for &flow in &flows {
            if let Some(own) = self.under_way.get_mut(flow).and_then(|one| one.own.as_mut()) {
                self.pace.look(own, &mut self.sharing);
            }
        }
        for flow in flows {
            if let Some(own) = self.under_way.get_mut(flow).and_then(|one| one.own.as_mut()) {
                self.pace.set(flow, own, &mut self.sharing);
            }
        }
    }

    fn arrive(&mut self, flow: FlowId) {
        let Some((_, dst)) = self.collector.pair(flow) else { return };
        let at = self.hosts.taken_in(dst, self.now);
        if at > self.now {
            self.agenda.push(Reverse((at, Due::TakenIn(flow))));
        } else {
            self.take_in(flow);
        }
    }

    fn take_in(&mut self, flow: FlowId) {
        let Some((_, dst)) = self.collector.pair(flow) else { return };
        self.note(Event::Delivered { flow, at: self.now });
        let turn = self.hosts.notify(dst, flow, Done::Received, self.now);
        self.follow_up(dst, turn);
    }

    fn close(&mut self, flow: FlowId) {
        let Some((src, _)) = self.collector.pair(flow) else { return };
        self.note(Event::Closed { flow, at: self.now, report: Report::default() });
        let turn = self.hosts.notify(src, flow, Done::Sent, self.now);
        self.follow_up(src, turn);
    }

    /// A lane of an operation has moved its bits up to one of its ends.
    fn moved(&mut self, lane: u32) {
        if let Some(Moved { over, nth }) = self.wholes.moved(lane, self.now, &mut self.sharing) {
            self.agenda.push(Reverse((over, Due::Over(lane, nth))));
        }
    }

    /// What it moved up to that end is over.
    fn over(&mut self, lane: u32, nth: u32) {
        let (endings, continues) = self.wholes.over((lane, nth), self.now, &mut self.sharing);
        if continues {
            self.look_at(lane);
        }
        for (host, rank, told) in endings {
            let turn = self.hosts.end_told(host, rank, told, self.now);
            self.follow_up(host, turn);
        }
    }

    fn look_at(&mut self, lane: u32) {
        if self.wholes.wants_look(lane) {
            self.agenda.push(Reverse((self.now, Due::Look(lane))));
        }
    }

    fn note(&mut self, event: Event) {
        self.log.events.push(event);
        self.collector.read(&mut self.log, self.topology);
    }

    /// Has that begin which follows from what a host's ranks did.
    fn follow_up(&mut self, host: HostId, turn: Turn) {
        let starts = turn.start.into_iter().map(|flow| (flow.start.max(self.now), Due::Start(flow)));
        let wakes = turn.wake.map(|at| (at.max(self.now), Due::Wake(host)));
        self.agenda.extend(starts.chain(wakes).map(Reverse));
        turn.ended.into_iter().for_each(|source| self.workload.notify_rank_ended(source));
        for (source, rank, told) in turn.begun {
            let Some(key) = self.wholes.begin((source, rank), told, self.now) else { continue };
            let lanes = self.wholes.start(key, self.now, &mut self.ways, &mut self.sharing);
            lanes.into_iter().for_each(|lane| self.look_at(lane));
        }
    }

    /// Why the case could not go on, if ranks wait and nothing is left to happen.
    fn stalled(&self) -> Option<String> {
        let is_idle = self.agenda.is_empty() && self.workload.peek_start().is_none();
        let waits = self.is_wanted && is_idle && self.workload.ranks_left() > 0;
        waits.then(|| {
            let message = stall::message("nothing is left to happen", self.now, &[], |_| None);
            let walked = self
                .hosts
                .walkers()
                .map(|walker| (walker.plan().settings.number, walker.rank(), walker.spans().collect()));
            message + &jobs::waiting(self.workload.jobs(), &walked.collect::<Vec<RankSpans>>())
        })
    }
}

//! Cases packet by packet.

use super::checks::{asymmetry, specified};
use super::critical::Paths;
use super::fidelity::Fidelity;
use super::jobs::{self, RankSpans};
use super::steady::{Stand, Steady};
use super::warnings::{idle_reducers, never_started, sent_again_in_vain, unsampled, useless_threshold};
use super::{Monitor, Outcome, PortRow, Setting, Simulation, queues};
use crate::audit::{Audit, Terms, Violation};
use crate::engine::{AfterWindow, AnyEngine, Engine, FlowStatus, Plan, PortRecords, Transport};
use crate::fault;
use crate::flow::{FlowId, HostId};
use crate::measure::Collector;
use crate::queue::Specification;
use crate::record::QueueRecorder;
use crate::routing;
use crate::scenario::Case;
use crate::spec::{Complaint, Values};
use crate::stall::{self, CycleWatch, StallWatch};
use crate::transport;
use crate::units::Time;
use crate::user_class::ControlError;
use crate::workload::Workload;
use crate::workload::job::{Job, carry_out};
use cpu_time::ThreadTime;

/// A run says how far it is once in so many packet-hops: after each window that costs as much as some packets, of which
/// a small network has no more in one.
const HOPS_BETWEEN_REPORTS: u64 = 1 << 12;

impl Simulation {
    /// Runs the case with hosts whose transport is another one than the scenario's, such as that one with somebody
    /// looking on. The scenario's parameters hold for all else: packets' sizes, and the agents at ports.
    pub fn run_on<T: Transport, M: Fn() -> T>(
        self,
        monitor: &Monitor,
        transport: impl FnOnce(&Plan<'_>) -> M,
    ) -> Outcome {
        self.run_built(monitor, |plan| Box::new(Engine::new(plan, transport(plan))))
    }

    /// Runs the case on the engine that `build` makes of the plan.
    pub(super) fn run_built<'e>(
        self,
        monitor: &Monitor,
        build: impl FnOnce(&Plan<'_>) -> Box<dyn AnyEngine + 'e>,
    ) -> Outcome {
        let Simulation { setting, workload, .. } = self;
        let smallest = transport::smallest_bytes(&setting.case.scheme.component("transport"));
        setting.run_packets(workload, smallest, monitor, build)
    }
}

/// The parts of a scheme, with what follows of a workload.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) queue: Specification,
    pub(super) nic: Specification,
    pub(super) transport: Values,
    pub(super) routing: Values,
}

impl Parts {
    /// Those of a case with packets.
    pub(super) fn of(case: &Case, workload: &Workload) -> Parts {
        let [queue, nic] = queues(case, workload).expect("a scheme with packets has a queue");
        let [transport, routing] = ["transport", "routing"].map(|key| case.scheme.component(key));
        Parts { queue, nic, transport, routing }
    }
}

/// A run that is over, but for its outcome.
pub(super) struct Ran<'r> {
    pub(super) engine: &'r mut dyn AnyEngine,
    pub(super) workload: &'r mut Workload,
    pub(super) collector: Collector,
    pub(super) steady: Option<Steady>,
    pub(super) end: End,
    pub(super) parts: &'r Parts,
}

/// How a run ended.
pub(super) struct End {
    /// It was not cancelled.
    pub(super) is_wanted: bool,
    /// Why it could not go on, if it could not.
    pub(super) stalled: Option<String>,
    /// The invariant that was violated, if one was.
    pub(super) violation: Option<Violation>,
    /// What a congestion control of the user's did wrong, if it did.
    pub(super) refused: Option<Complaint>,
    /// What had gone through each port when all flows were over.
    pub(super) finish: Option<Finish>,
}

/// What had gone through each port, and how queues had been, at the moment when all flows were over. The engine goes on
/// until its last timer, and what is under way goes on with it.
#[derive(Debug)]
pub(super) struct Finish {
    /// How many flows had started: were there more later, this was not the end.
    started: u64,
    /// When, by the engine's clock.
    at: Time,
    ports: Vec<PortRecords>,
    pulls: Vec<(HostId, QueueRecorder)>,
}

impl Finish {
    /// When so many flows had started and all of them were over; known in the window after that moment and in its own.
    pub(super) fn at(at: Time, started: u64, engine: &mut dyn AnyEngine) -> Finish {
        Finish { started, at, ports: engine.ports(at), pulls: engine.pulls(at) }
    }
}

impl Setting {
    /// How queues are observed, if they are.
    pub(super) fn recorder(&self) -> Option<QueueRecorder> {
        let interval = self.case.measure.optional_time("series_interval");
        let recorder = QueueRecorder::new(interval);
        let recorder = if self.case.measure.flag("by_class") { recorder.by_class() } else { recorder };
        (self.case.measure.flag("queues") || interval.is_some()).then_some(recorder)
    }

    /// Runs a transport packet by packet, on the engine that `build` makes of the plan.
    pub(super) fn run_packets<'e>(
        self,
        mut workload: Workload,
        smallest_packet_bytes: u64,
        monitor: &Monitor,
        build: impl FnOnce(&Plan<'_>) -> Box<dyn AnyEngine + 'e>,
    ) -> Outcome {
        let parts = Parts::of(&self.case, &workload);
        let plan = self.plan(&parts, &workload, smallest_packet_bytes);
        let mut engine = build(&plan);
        let mut collector = Collector::new(self.format, workload.background().to_vec());
        collector.expect(workload.known_flows().unwrap_or(0));
        let audit = self.is_audited.then(|| Audit::new(self.terms(&plan)));
        let mut steady = Steady::of(&self, &workload);
        monitor.begin();
        let clock = ThreadTime::now();
        let end = self.drive(engine.as_mut(), &mut workload, &mut collector, &mut steady, audit, monitor);
        monitor.note_carried(clock.elapsed());
        self.conclude(Ran {
            engine: engine.as_mut(),
            workload: &mut workload,
            collector,
            steady,
            end,
            parts: &parts,
        })
    }

    /// What an engine is built from.
    pub(super) fn plan<'a>(
        &'a self,
        parts: &'a Parts,
        workload: &Workload,
        smallest_packet_bytes: u64,
    ) -> Plan<'a> {
        let Parts { queue, nic, transport, routing } = parts;
        let trimmed = [queue, nic].into_iter().filter_map(|queue| queue.trims_to_bytes);
        let queries = workload.query_specs().map(|query| query.size_bytes.into());
        let smallest = trimmed.chain(queue.credit_bytes()).chain(queue.pause_bytes()).chain(queries);
        let smallest = smallest.chain(queue.backpressure.map(|settings| settings.frame_bytes));
        let smallest = smallest.chain(queue.windows.map(|settings| settings.message_bytes));
        let smallest = smallest.chain(routing::notice_bytes(routing));
        // Samples are taken between windows, so under "steady" these are the same whatever is asked for.
        let is_steady = matches!(Fidelity::of(&self.case.run), Fidelity::Steady(_));
        let longest = if is_steady { Time::NEVER } else { self.longest_window };
        let longest = longest.min(routing::longest_window(routing));
        Plan {
            topology: &self.topology,
            queue,
            nic,
            transport,
            routing,
            flow_ports: self.flow_ports.clone(),
            faults: &self.faults,
            seed: self.case.seed,
            largest_packet_bytes: transport::largest_bytes(transport, self.format),
            logs_pauses: self.case.measure.flag("pauses"),
            measures_order: self.case.measure.flag("reordering"),
            smallest_packet_bytes: smallest.fold(smallest_packet_bytes, u64::min),
            recorder: self.recorder(),
            watched: self.watched.clone(),
            captured: &self.captured,
            sent_interval: self.case.measure.optional_time("series_interval"),
            audited: self.is_audited,
            longest_window: longest.min(workload.trigger_delay()),
            threads: if is_steady { 1 } else { self.threads },
            take_turns: self.take_turns,
        }
    }

    /// The outcome of a run that is over.
    pub(super) fn conclude(self, ran: Ran<'_>) -> Outcome {
        let Ran { engine, workload, mut collector, steady, end, parts } = ran;
        let End { is_wanted, stalled, violation, refused, finish } = end;
        let measures_order = self.case.measure.flag("reordering");
        for report in engine.reports() {
            let (flow, report) = steady.as_ref().map_or(report, |steady| steady.restored_report(report));
            collector.note(flow, report);
        }
        let statuses = engine.statuses().into_iter();
        let restored = |one| if let Some(steady) = &steady { steady.restored_status(one) } else { one };
        let statuses: Vec<FlowStatus> = statuses.map(restored).collect();
        let tally = engine.tally();
        let end = steady.as_ref().map_or(engine.now(), |steady| steady.jumps().restored(engine.now()));
        let is_watched = self.recorder().is_some();
        let watched = self.watched.clone();
        let has_open_flows = collector.started() > collector.finished();
        let max_time = self.max_time();
        let keeps_operations = self.case.measure.flag("operations");
        let paths = jobs::keeps_paths(&self.case.measure).then(|| Paths::of(&self));
        let lost_after = transport::find(&parts.transport.kind).and_then(|one| one.lost_after);
        let mut outcome = self.outcome(collector, &statuses, tally);
        outcome.violation = violation;
        outcome.refused = refused;
        let mut spans = engine.spans();
        if let Some(steady) = &steady {
            spans.iter_mut().flat_map(|(.., spans)| spans).for_each(|span| steady.restore_span(span));
        }
        spans.extend(modelled(workload.jobs(), max_time));
        outcome.add_jobs(workload.jobs(), &spans, paths.as_ref(), &|_, _| None, keeps_operations);
        let by_clock = if is_wanted { workload.count_by_clock() } else { 0 };
        let waiting = workload.waiting();
        outcome.never_started = waiting + by_clock;
        outcome.warnings.extend(never_started(waiting, by_clock));
        // The last operation may be no message.
        let last = outcome.iterations.iter().map(|row| row.end).filter(|end| *end != Time::NEVER).max();
        // What a model times goes on without the engine.
        let has_models = workload.jobs().iter().any(|job| job.plan.is_modelled());
        let end = if has_models { end.max(last.unwrap_or(Time::ZERO)) } else { end };
        outcome.simulated = outcome.simulated.max(last.unwrap_or(Time::ZERO)).min(end);
        outcome.cancelled = !is_wanted;
        outcome.helpers_took = engine.helpers_took();
        outcome.window_costs = engine.window_costs();
        outcome.warnings.extend(stalled.clone());
        outcome.stalled = stalled;
        outcome.warnings.extend(asymmetry(&parts.transport.kind, &parts.routing, &outcome.topology));
        outcome.warnings.extend(useless_threshold(&parts.queue, &outcome.flows));
        outcome.warnings.extend(idle_reducers(&outcome.topology, &outcome.flows));
        // The engine goes on until the last timer; queues are observed until the last flow ended.
        let until = steady.as_ref().map_or(outcome.simulated, |one| one.jumps().by_engine(outcome.simulated));
        let ports = engine.ports(until);
        let (by_end, pulls) = match finish.filter(|finish| finish.at == until) {
            Some(Finish { ports, pulls, .. }) => (ports, pulls),
            None => (ports.clone(), engine.pulls(until)),
        };
        let row = |(link, ((counters, _, sent), (by_end, queue, _))): (usize, (PortRecords, PortRecords))| {
            let with_skipped =
                |counters| steady.as_ref().map_or(counters, |one| one.jumps().with_skipped(link, counters));
            let [counters, by_end] = [counters, by_end].map(with_skipped);
            let carried = (by_end.packets, by_end.bytes);
            PortRow { link, counters, carried, pauses: None, queue: queue.filter(|_| is_watched), sent }
        };
        outcome.ports = ports.into_iter().zip(by_end).enumerate().map(row).collect();
        outcome.warnings.extend(sent_again_in_vain(lost_after, &outcome.flows, &outcome.ports));
        for (link, records) in engine.pauses(until) {
            outcome.ports[link].pauses = Some(Box::new(records));
        }
        outcome.pulls = pulls;
        // Senders that are not done keep their state until the run ends, whether anything happens or not.
        let continues = has_open_flows && is_wanted && outcome.stalled.is_none();
        let end_of_samples = if continues { max_time } else { outcome.simulated };
        outcome.flow_samples = engine.flow_samples(end_of_samples);
        outcome.warnings.extend(watched.and_then(|watched| unsampled(&watched, &outcome.flows)));
        outcome.reordering = measures_order.then(|| engine.reordering());
        outcome.balancing = engine.balancing();
        let captures = engine.captured(until);
        outcome.captures =
            captures.into_iter().map(|(link, packets)| outcome.capture(link, packets)).collect();
        outcome
    }

    /// The facts that the invariants depend on.
    pub(super) fn terms<'a>(&'a self, plan: &Plan<'a>) -> Terms<'a> {
        Terms {
            topology: &self.topology,
            queue: plan.queue,
            nic: plan.nic,
            format: self.format,
            largest_packet_bytes: plan.largest_packet_bytes,
            one_path: routing::path_per_flow(plan.routing, &self.topology).0,
            has_faults: !self.case.faults.iter().all(fault::loses_nothing)
                || !self.topology.error_rates.is_empty(),
            has_slow_hosts: self.faults.slow_hosts().next().is_some(),
        }
    }

    /// Has the engine run until the case is done, or nothing more will come of it.
    fn drive(
        &self,
        engine: &mut dyn AnyEngine,
        workload: &mut Workload,
        collector: &mut Collector,
        steady: &mut Option<Steady>,
        mut audit: Option<Audit>,
        monitor: &Monitor,
    ) -> End {
        let (goal, mut max_time) = (self.goal(workload), self.max_time().min(Time::LATEST));
        let has_background = workload.background().contains(&true);
        let mut cycles = CycleWatch::new(
            specified(&self.case, "queue").and_then(|queue| queue.pfc).is_some_and(|pfc| pfc.may_deadlock()),
        );
        let mut watch = StallWatch::new(self.faults.last_change());
        let mut is_wanted = true;
        let mut violation = None;
        let mut reports_at = 0;
        let mut finish: Option<Finish> = None;
        let stalled = loop {
            let (mut is_stalled, mut is_over, mut is_due) = (false, false, false);
            let (mut looks_for_cycles, mut looks_at_rates, mut is_finished) = (false, false, false);
            engine.run(workload, max_time, &mut |AfterWindow { log, tally, now, left, statuses }| {
                if !log.events.is_empty() {
                    audit.iter_mut().for_each(|audit| audit.record(&log.events));
                    match steady {
                        Some(steady) => steady.read(log, collector, self),
                        None => collector.read(log, &self.topology),
                    }
                }
                let (started, finished) = (collector.started(), collector.finished());
                let dated = steady.as_ref().map_or(now, |steady| steady.jumps().restored(now));
                if tally.packet_hops >= reports_at {
                    reports_at = tally.packet_hops + HOPS_BETWEEN_REPORTS;
                    monitor.report(tally.packet_hops, goal.share_done(finished, dated), dated);
                }
                is_wanted = monitor.is_wanted();
                looks_at_rates = steady.as_mut().is_some_and(|one| one.is_due(now, (started, finished)));
                is_over = has_background && finished == started && !left.has_foreground_left();
                let is_open = is_wanted && !is_over && now < max_time;
                if watch.is_suspicious(now, tally.events, started, finished) && is_open {
                    let statuses = statuses();
                    let is_unfinished = is_unfinished(collector, &statuses);
                    let is_awaited = |flow| awaits(collector, flow);
                    is_stalled = watch.is_stalled(tally.events, statuses, is_awaited) && is_unfinished;
                    let is_lost = watch.is_lost(now, collector.has_open());
                    is_over = has_background && !left.has_foreground_left() && is_lost;
                }
                is_due = audit.as_ref().is_some_and(|audit| audit.is_due(tally.packet_hops));
                looks_for_cycles = cycles.is_due(now);
                is_finished = finished == started
                    && !left.has_foreground_left()
                    && finish.as_ref().is_none_or(|finish| finish.started != started);
                is_wanted
                    && !is_over
                    && !is_finished
                    && collector.refused().is_none()
                    && !is_stalled
                    && !is_due
                    && !looks_for_cycles
                    && !looks_at_rates
            });
            if collector.refused().is_some() {
                break None;
            }
            let now = engine.now();
            if is_finished {
                let ended = collector.ended();
                let at = steady.as_ref().map_or(ended, |steady| steady.jumps().by_engine(ended));
                finish = Some(Finish::at(at, collector.started(), engine));
            }
            let awaits_news = is_stalled && watch.awaits_news(engine.arrives_by());
            is_stalled &= !awaits_news;
            let is_at_rest = is_stalled || is_over || !is_wanted || now >= max_time;
            if let Some(steady) = steady.as_mut().filter(|_| looks_at_rates && !is_at_rest) {
                let audit = audit.as_mut();
                let next_change = steady.next_change();
                let setting = self;
                steady.look(&mut Stand {
                    setting,
                    engine,
                    workload,
                    collector,
                    audit,
                    max_time,
                    next_change,
                });
                max_time = steady.jumps().by_engine(self.max_time()).min(Time::LATEST);
                watch.hope_until(steady.jumps().by_engine(self.faults.last_change()));
                if !is_due && !looks_for_cycles {
                    continue;
                }
            }
            if let Some(audit) = &mut audit {
                let mut seen = engine.inspect(audit.follows_order());
                // A window that the end cuts short leaves later events undone, and no node to be woken for them.
                seen.is_idle &= now < max_time;
                violation = audit.look(&seen, engine.tally().packet_hops).err();
            }
            if let Some(cycle) = cycles.look(now, engine).filter(|_| violation.is_none()) {
                break Some(stall::deadlock(&cycle, now, |link| self.topology.link_name(link)));
            }
            if violation.is_none()
                && (is_due || looks_for_cycles || is_finished || awaits_news)
                && !is_at_rest
            {
                continue;
            }
            if violation.is_some() || !is_wanted || now >= max_time {
                break None;
            }
            let mut statuses = engine.statuses();
            let ranks_wait = workload.ranks_left() > 0;
            let why = if is_stalled {
                "packets move, but no flow comes nearer to its end"
            } else if (is_unfinished(collector, &statuses) || ranks_wait) && engine.is_idle(workload) {
                "nothing is left to happen"
            } else {
                break None;
            };
            statuses.retain(|one| awaits(collector, one.flow));
            let message = stall::message(why, now, &statuses, |flow| collector.pair(flow));
            break Some(if ranks_wait {
                message + &jobs::waiting(workload.jobs(), &engine.spans())
            } else {
                message
            });
        };
        let refused = collector.refused().map(|(at, flow, error)| {
            let pair = collector.pair(flow).unwrap_or_default();
            refusal(at, flow, pair, error)
        });
        let audit = audit.filter(|_| refused.is_none());
        let violation =
            violation.or_else(|| audit.and_then(|audit| audit.finish(engine.reports().into_iter()).err()));
        End { is_wanted, stalled, violation, refused, finish }
    }
}

/// What ranks did in jobs of which nothing is sent.
pub(super) fn modelled(jobs: &[Job], until: Time) -> Vec<RankSpans> {
    let modelled = jobs.iter().filter(|job| job.plan.is_modelled());
    let spans = |job: &Job| {
        let source = job.source;
        carry_out(&job.plan, until).into_iter().map(move |(rank, spans)| (source, rank, spans))
    };
    modelled.flat_map(spans).collect()
}

/// What a user's class did wrong.
pub(super) fn refusal(
    at: Time,
    flow: FlowId,
    (src, dst): (HostId, HostId),
    error: ControlError,
) -> Complaint {
    Complaint::new(error.key(), format!("{error} (flow {flow}, host{src} to host{dst}, at {at})"))
}

/// Whether the case waits for flows. For one that its sender is done with, and that is not whole, nothing more comes.
pub(super) fn is_unfinished(collector: &Collector, statuses: &[FlowStatus]) -> bool {
    collector.has_open() || statuses.iter().any(|one| !collector.knows(one.flow))
}

/// Whether a flow is to end, or its query is still on its way: till it has come nothing is known of the flow.
pub(super) fn awaits(collector: &Collector, flow: FlowId) -> bool {
    collector.awaits(flow) || !collector.knows(flow)
}

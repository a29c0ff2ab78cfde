//! A case whose flows a caller has start while it runs, and who is told as they end.

mod changes;
mod checks;

use super::packets::{End, Finish, Parts, Ran, awaits, is_unfinished, refusal};
use super::{Outcome, Setting, Simulation};
use crate::audit::{Audit, Violation, check_rows};
use crate::engine::{AnyEngine, Event, Log, PortCounters, Sending, Step, Tally};
use crate::flow::{Flow, FlowId, HostId, MOST_PACKETS};
use crate::measure::Collector;
use crate::scenario::Case;
use crate::spec::{Complaint, Values};
use crate::stall::{self, CycleWatch, StallWatch};
use crate::transport;
use crate::units::Time;
use crate::workload::{Done, Workload};
use checks::check;
pub(super) use checks::check_scheme;
use std::collections::BTreeMap;
use std::fmt;

/// Rows are updated for so many events at once.
const MANY: usize = 512;

/// How far a driven case came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// At this time flows have ended: those that were added to the list.
    Ended(Time),
    /// All happened up to the time that was given and at it, and no flow has ended.
    Reached,
    /// Nothing is left to happen. If that leaves flows whose senders wait for something: which, and for what.
    Idle(Option<String>),
    /// Flows do not come nearer to their ends: which, and what they wait for.
    Stalled(String),
}

/// Why a run is worth nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An invariant is violated, which is a fault of packetloom.
    Violated(String),
    /// A user's class did wrong.
    Refused(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Violated(message) | Failure::Refused(message)) = self;
        f.write_str(message)
    }
}

/// A case on its way. It goes on only as far as it is told to, and how far that is each time changes nothing.
pub struct Driven {
    setting: Setting,
    parts: Parts,
    engine: Box<dyn AnyEngine>,
    workload: Workload,
    collector: Collector,
    audit: Option<Audit>,
    stall: StallWatch,
    cycles: CycleWatch,
    log: Log,
    /// How many of its events the caller knows of. Rows are updated later, for many events at once, as each waits for
    /// memory.
    noted: usize,
    /// How many flows were added that the case waits for.
    added: u64,
    /// No host has done anything after this, and none will do anything before it.
    now: Time,
    max_time: Time,
    /// See [`Driven::classes`].
    classes: Option<u64>,
    stalled: Option<String>,
    violation: Option<Violation>,
    /// The values of transports at hosts, and of queues at switches, that were set.
    set_at: BTreeMap<HostId, Values>,
    marks_at: BTreeMap<u32, Values>,
    /// Those of routings, at the hosts or the switches that go by them.
    routes_at: BTreeMap<u32, Values>,
}

/// What is set, and where: each parameter by its name and what is written for it, without quotes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change<'a> {
    /// The hosts whose transports change, or whose choice of paths.
    pub hosts: &'a [HostId],
    /// The transport's parameters.
    pub transport: &'a [(&'a str, &'a str)],
    /// The switches whose queues or balancers change, as nodes of the topology.
    pub switches: &'a [u32],
    /// The queue's parameters.
    pub queue: &'a [(&'a str, &'a str)],
    /// The routing's parameters.
    pub routing: &'a [(&'a str, &'a str)],
}

/// A port of a switch, as it can be seen between two windows.
#[derive(Clone, Copy, Debug)]
pub struct SwitchPort {
    /// Its link, in the order of the topology's.
    pub link: u32,
    /// Its switch, among the topology's nodes.
    pub switch: u32,
    /// What waits, the packet in service not counted; 0 where that is not known.
    pub queued_bytes: u64,
    /// What went through it so far.
    pub counters: PortCounters,
}

impl Driven {
    /// Builds the network of a case that has no traffic, for so many threads; results do not depend on these.
    ///
    /// # Errors
    /// What of the case can't be simulated, by its key in the scenario.
    pub fn new(case: Case, is_audited: bool, threads: u32) -> Result<Driven, Complaint> {
        check(&case)?;
        let nothing = |_: &Case, _: &_| Ok(Workload::of_flows(Vec::new()));
        let Simulation { setting, workload, .. } = Simulation::with(case, nothing)?;
        // No tier of nodes is shared out to more threads than there are hosts.
        let threads = threads.clamp(1, setting.topology.hosts);
        Driven::of(Setting { is_audited, threads, ..setting }, workload)
    }

    /// Builds a network whose flows a caller adds, whatever the workload has start by itself.
    pub(super) fn of(setting: Setting, workload: Workload) -> Result<Driven, Complaint> {
        let is_audited = setting.is_audited;
        let parts = Parts::of(&setting.case, &workload);
        let kind = &parts.transport.kind;
        let unknown = || Complaint::new("scheme.transport", format!("no transport is called {kind}"));
        let entry = transport::find(kind).ok_or_else(unknown)?;
        let plan = setting.plan(&parts, &workload, transport::smallest_bytes(&parts.transport));
        let engine = entry.engine(&plan);
        let audit = is_audited.then(|| Audit::new(setting.terms(&plan)));
        Ok(Driven {
            engine,
            collector: Collector::new(setting.format, workload.background().to_vec()),
            audit,
            stall: StallWatch::new(setting.faults.last_change()),
            cycles: CycleWatch::new(parts.queue.pfc.is_some_and(|pfc| pfc.may_deadlock())),
            log: Log::default(),
            noted: 0,
            added: 0,
            now: Time::ZERO,
            max_time: setting.max_time().min(Time::LATEST),
            classes: classes(&parts),
            stalled: None,
            violation: None,
            set_at: BTreeMap::new(),
            marks_at: BTreeMap::new(),
            routes_at: BTreeMap::new(),
            setting,
            parts,
            workload,
        })
    }

    /// What is simulated.
    pub fn case(&self) -> &Case {
        &self.setting.case
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> u32 {
        self.setting.topology.hosts
    }

    /// The most bytes that a flow may have.
    pub fn most_bytes(&self) -> u64 {
        MOST_PACKETS.saturating_mul(self.setting.format.mss_bytes)
    }

    /// How many traffic classes flows may have, if the scheme goes by them.
    pub fn classes(&self) -> Option<u64> {
        self.classes
    }

    /// Nothing happens before this any more.
    pub fn now(&self) -> Time {
        self.now
    }

    /// When the case ends, whatever happens.
    pub fn max_time(&self) -> Time {
        self.max_time
    }

    /// What was done so far.
    pub(super) fn packet_hops(&self) -> u64 {
        self.engine.tally().packet_hops
    }

    /// The application bytes of a full packet.
    pub fn mss_bytes(&self) -> u64 {
        self.setting.format.mss_bytes
    }

    /// Has a flow start, at the present time or later; its identity is one that no other flow has.
    pub fn add(&mut self, flow: Flow) {
        debug_assert!(flow.start >= self.now, "a start in the past");
        self.added += u64::from(!self.workload.background()[usize::from(flow.source)]);
        self.engine.add_flow(flow);
    }

    /// When the workload's next flow starts that goes by the clock.
    pub(super) fn next_by_clock(&self) -> Time {
        self.workload.peek_start().unwrap_or(Time::NEVER)
    }

    /// Adds those that start up to a time.
    pub(super) fn add_by_clock(&mut self, until: Time) {
        while self.next_by_clock() <= until
            && let Some(flow) = self.workload.next_flow()
        {
            self.add(flow);
        }
    }

    /// Whether flows are awaited that went by the clock, or will.
    ///
    /// # Errors
    /// Why the run is worth nothing.
    pub(super) fn awaits_clock(&mut self) -> Result<bool, Failure> {
        self.read()?;
        Ok(self.is_clock_awaited())
    }

    fn is_clock_awaited(&self) -> bool {
        self.workload.has_foreground_left() || self.collector.finished() < self.added
    }

    /// Goes on until flows end, or up to `until`; notes which have ended, and at which of their hosts.
    ///
    /// # Errors
    /// Why the run is worth nothing.
    pub fn advance(&mut self, until: Time, ended: &mut Vec<(FlowId, Done)>) -> Result<Moment, Failure> {
        loop {
            let step = self.engine.step(until, self.max_time, &mut self.log);
            self.note(ended)?;
            match step {
                Step::Ended(at) => {
                    self.now = at;
                    return Ok(Moment::Ended(at));
                }
                Step::Reached => {
                    self.now = self.now.max(until);
                    return Ok(Moment::Reached);
                }
                Step::WindowOver(tally) => {
                    self.now = self.now.max(self.engine.now());
                    self.read()?;
                    if let Some(message) = self.after_window(tally)? {
                        self.stalled = Some(message.clone());
                        return Ok(Moment::Stalled(message));
                    }
                }
                Step::Idle => {
                    self.read()?;
                    self.stalled =
                        self.collector.has_open().then(|| self.message("nothing is left to happen"));
                    return Ok(Moment::Idle(self.stalled.clone()));
                }
            }
        }
    }
}

impl Driven {
    /// What the ports of switches were like as the last window ended, and when that was.
    pub fn switch_ports(&mut self) -> (Time, Vec<SwitchPort>) {
        let now = self.engine.now();
        let (waiting, counters) = (self.engine.waiting(), self.engine.counters(now));
        let topology = &self.setting.topology;
        let ports = topology.links.iter().zip(0..).zip(waiting.into_iter().zip(counters));
        let of_switches = ports.filter(|((link, _), _)| link.src >= topology.hosts);
        let all = of_switches.map(|((link, nth), (queued_bytes, counters))| SwitchPort {
            link: nth,
            switch: link.src,
            queued_bytes,
            counters,
        });
        (now, all.collect())
    }

    /// The number of the first switch among the network's nodes, and the one after the last.
    pub fn switches(&self) -> (u32, u32) {
        let topology = &self.setting.topology;
        (topology.hosts, u32::try_from(topology.nodes.len()).unwrap_or(u32::MAX))
    }

    /// The name of a link: from where to where; `None` if there is no such link.
    pub fn link_name(&self, link: u32) -> Option<String> {
        (link < self.links()).then(|| self.setting.topology.link_name(link))
    }

    /// How many links there are, each direction of a cable by itself.
    pub fn links(&self) -> u32 {
        u32::try_from(self.setting.topology.links.len()).unwrap_or(u32::MAX)
    }

    /// The state of a flow at its sender at the present time; `None` before it starts, and when its sender is done.
    pub fn sending(&mut self, flow: FlowId) -> Option<Sending> {
        self.read().ok()?;
        let src = self.collector.open(flow)?.src;
        self.engine.sending(src, flow, self.now)
    }

    /// Ends the run: if all flows are over, when nothing is left to happen; if not, at once.
    ///
    /// # Errors
    /// Why the run is worth nothing.
    pub fn finish(self) -> Result<Outcome, Failure> {
        let mut outcome = self.conclude();
        match (outcome.refused.take(), &outcome.violation) {
            (_, Some(violation)) => Err(Failure::Violated(violation.to_string())),
            (Some(refused), None) => Err(Failure::Refused(refused.message)),
            (None, None) => Ok(outcome),
        }
    }

    /// The same, whether it is worth something or not.
    pub(super) fn conclude(mut self) -> Outcome {
        // Why it failed, if it did, is known below.
        let _: Result<(), Failure> = self.read();
        let is_over = self.collector.finished() == self.added;
        let is_broken = self.violation.is_some() || self.collector.refused().is_some();
        let finish = match (is_broken, is_over) {
            (true, _) => Ok(None),
            // Background flows would go on.
            (false, true) if !self.workload.background().contains(&true) => self.run_out(),
            (false, _) => self.cut(),
        };
        let refused = self.collector.refused().map(|(at, flow, error)| {
            let pair = self.collector.pair(flow).unwrap_or_default();
            refusal(at, flow, pair, error)
        });
        let is_sound = self.violation.is_none() && refused.is_none();
        if let Some(audit) = self.audit.as_mut().filter(|_| is_sound) {
            let mut seen = self.engine.inspect(audit.follows_order());
            // A window that was cut short leaves later events undone, and no node to be woken for them.
            let is_run_out = is_over && !self.workload.background().contains(&true);
            seen.is_idle &= is_run_out && self.engine.now() < self.max_time;
            self.violation = audit.look(&seen, self.engine.tally().packet_hops).err();
        }
        if let Some(audit) = self.audit.take().filter(|_| self.violation.is_none() && refused.is_none()) {
            self.violation = audit.finish(self.engine.reports().into_iter()).err();
        }
        let Driven { setting, parts, mut engine, mut workload, collector, stalled, violation, added, .. } =
            self;
        let (promises, is_audited) = (setting.promises(), setting.is_audited);
        let never_started = added - collector.started();
        let is_wanted = is_over || stalled.is_some();
        let end = End { is_wanted, stalled, violation, refused, finish: finish.unwrap_or(None) };
        let ran = Ran {
            engine: engine.as_mut(),
            workload: &mut workload,
            collector,
            steady: None,
            end,
            parts: &parts,
        };
        let mut outcome = setting.conclude(ran);
        // Its caller ended it, and knows.
        outcome.cancelled = false;
        outcome.never_started += never_started;
        if never_started > 0 {
            outcome.warnings.push(format!("{never_started} flows never started, as the run ended before"));
        }
        if is_audited && outcome.violation.is_none() && outcome.refused.is_none() {
            let checked = check_rows(&outcome.flows, &outcome.topology, outcome.format, promises);
            outcome.violation = checked.err();
        }
        outcome
    }

    /// Goes on until nothing is left to happen; what went through ports until the last flow's end, if that has not
    /// passed for long.
    fn run_out(&mut self) -> Result<Option<Finish>, Failure> {
        let ended = self.collector.ended();
        let mut is_known = self.engine.now() <= ended && self.added > 0;
        let mut finish = None;
        loop {
            match self.engine.step(Time::NEVER, self.max_time, &mut self.log) {
                Step::Idle | Step::Reached => return Ok(finish),
                Step::Ended(_) => {}
                Step::WindowOver(tally) => {
                    if std::mem::take(&mut is_known) {
                        let started = self.collector.started();
                        finish = Some(Finish::at(ended, started, self.engine.as_mut()));
                    }
                    self.after_window(tally)?;
                    // What is left of a window that this cuts short must not be processed again.
                    if self.engine.now() >= self.max_time {
                        self.read()?;
                        return Ok(finish);
                    }
                }
            }
            self.read()?;
        }
    }

    /// Ends the run at once.
    fn cut(&mut self) -> Result<Option<Finish>, Failure> {
        let end = (self.now + Time(1)).min(self.max_time);
        // There windows end by themselves.
        if end == self.max_time {
            while self.engine.now() < end
                && !matches!(self.engine.step(end, end, &mut self.log), Step::Reached | Step::Idle)
            {
            }
        } else {
            self.engine.cut(end, &mut self.log);
        }
        self.read()?;
        Ok(None)
    }

    /// Notes which flows have ended since the last time, and at which of their hosts.
    fn note(&mut self, ended: &mut Vec<(FlowId, Done)>) -> Result<(), Failure> {
        let news = &self.log.events[self.noted..];
        ended.extend(news.iter().filter_map(|event| event.done()));
        let is_refused = news.iter().any(|event| matches!(event, Event::Refused { .. }));
        self.noted = self.log.events.len();
        if is_refused || self.noted >= MANY { self.read() } else { Ok(()) }
    }

    /// Reads what happened.
    fn read(&mut self) -> Result<(), Failure> {
        if self.log.events.is_empty() {
            return Ok(());
        }
        self.noted = 0;
        if let Some(audit) = &mut self.audit {
            audit.record(&self.log.events);
        }
        self.collector.read(&mut self.log, &self.setting.topology);
        let Some((at, flow, error)) = self.collector.refused() else { return Ok(()) };
        let pair = self.collector.pair(flow).unwrap_or_default();
        Err(Failure::Refused(refusal(at, flow, pair, error).message))
    }

    /// Looks at what is known only between two windows; why the case comes no nearer to its end, if so.
    fn after_window(&mut self, tally: Tally) -> Result<Option<String>, Failure> {
        let now = self.engine.now();
        if let Some(audit) = self.audit.as_mut().filter(|audit| audit.is_due(tally.packet_hops)) {
            let mut seen = self.engine.inspect(audit.follows_order());
            seen.is_idle &= now < self.max_time;
            if let Err(violation) = audit.look(&seen, self.engine.tally().packet_hops) {
                let message = violation.to_string();
                self.violation = Some(violation);
                return Err(Failure::Violated(message));
            }
        }
        if self.cycles.is_due(now)
            && let Some(cycle) = self.cycles.look(now, self.engine.as_ref())
        {
            let topology = &self.setting.topology;
            return Ok(Some(stall::deadlock(&cycle, now, |link| topology.link_name(link))));
        }
        let (started, finished) = (self.collector.started(), self.collector.finished());
        if !self.stall.is_suspicious(now, tally.events, started, finished) {
            return Ok(None);
        }
        let (statuses, collector) = (self.engine.statuses(), &self.collector);
        let is_unfinished = is_unfinished(collector, &statuses);
        let is_stalled = self.stall.is_stalled(tally.events, statuses, |flow| awaits(collector, flow));
        let is_stalled = is_stalled && is_unfinished && !self.stall.awaits_news(self.engine.arrives_by());
        Ok(is_stalled.then(|| self.message("packets move, but no flow comes nearer to its end")))
    }

    /// Which flows wait, and for what.
    fn message(&self, why: &str) -> String {
        let mut statuses = self.engine.statuses();
        statuses.retain(|one| awaits(&self.collector, one.flow));
        stall::message(why, self.engine.now(), &statuses, |flow| self.collector.pair(flow))
    }
}

/// How many traffic classes flows may have, if the scheme goes by them.
fn classes(Parts { queue, nic, transport, .. }: &Parts) -> Option<u64> {
    let own = transport::classes(transport).is_none();
    let queues = [queue, nic].into_iter().filter(|_| own).filter_map(|queue| queue.classes);
    queues.chain(transport::weighted_classes(transport)).min()
}

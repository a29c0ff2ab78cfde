//! The traffic of one simulation: flows in order of start, and chains of closed loops.

mod environment;
mod planned;

use super::build;
use super::chain::{Chain, Numbering};
use super::dependencies::{Dependencies, Done, Plan, Triggers};
use super::facts::SourceFacts;
use super::job;
use super::job::{Job, Walker};
use super::members;
use super::query::{QuerySpec, Start};
use super::source::{ListSource, OpenSource};
use super::spread;
use crate::flow::{Flow, FlowId, HostId};
use crate::narrow::exact;
use crate::serving;
use crate::spec::{Complaint, Values};
use crate::units::Time;
pub use environment::{Environment, Wire};
use planned::{AllPlanned, beside};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// More than any memory can hold, and fewer than a [`FlowId`] can number.
const MOST_FLOWS: u64 = 1_000_000_000;

/// From here on chains number their flows where the number of the others is not known beforehand.
const HIGH_BASE: FlowId = 1 << 31;

/// The traffic of one simulation.
#[derive(Debug)]
pub struct Workload {
    open: Vec<OpenLoop>,
    /// How many more flows the sources without a number of their own may start, where that is limited.
    shared_left: Option<u64>,
    /// Whether sources end at a time: then there may be fewer.
    ends_at_a_time: bool,
    next_id: FlowId,
    /// Flows that go by the clock are numbered below this.
    end_id: FlowId,
    chains: Vec<Chain>,
    facts: Vec<SourceFacts>,
    /// For each source, whether the case does not wait for its flows.
    background: Vec<bool>,
    /// Flows that wait for others; they are numbered from 0.
    dependencies: Dependencies,
    /// How many of those there are.
    planned: FlowId,
    /// For each source, whether its flows are requested by queries.
    is_queried: Vec<bool>,
    /// For each source, whether its flows wait for others by triggers.
    is_triggered: Vec<bool>,
    /// How many of the flows that the case waits for are still to start, of those that wait for others or for a
    /// query.
    waiting: u64,
    /// The shortest time that a trigger takes to start a flow at another host.
    trigger_delay: Time,
    /// Flows that a trigger has started, and which their hosts do not know of yet.
    triggered: BTreeMap<(Time, FlowId), Flow>,
    jobs: Vec<Job>,
    /// Requests, if the flows are theirs: they start as their scheduler has it.
    serving: Option<Arc<serving::Plan>>,
    /// How many ranks of jobs that the case waits for have not ended.
    ranks_left: u64,
    ranks_taken: bool,
    /// For each source, whether it is a job of which a rank fails, so that nobody knows how many messages it sends.
    may_fail: Vec<bool>,
    /// Of jobs that go on when a rank has failed: the source, and how many ranks have not ended of those until then.
    until_failure: BTreeMap<u8, u64>,
    /// How much time was skipped: all that goes by the clock comes so much sooner.
    skipped: Time,
}

/// A source that goes by the clock.
#[derive(Debug)]
pub(super) struct OpenLoop {
    pub(super) source: OpenSource,
    /// Whether its flows count towards the run's number.
    pub(super) shares_limit: bool,
    /// Whether the case does not wait for its flows.
    pub(super) is_background: bool,
    /// How many flows of it are still to start at most, where that is known.
    pub(super) left: Option<u64>,
}

impl OpenLoop {
    /// Whether flows of it are still to start that the case waits for.
    fn is_awaited(&self) -> bool {
        !self.is_background && self.source.peek_start().is_some()
    }
}

/// Flows of which some wait for others.
pub(super) struct Planned {
    pub(super) plan: Plan,
    pub(super) is_background: bool,
}

/// A job before its messages are numbered.
pub(super) struct PlannedJob {
    pub(super) plan: job::Plan,
    /// What goes on when a rank has failed, if anything does.
    pub(super) rest: Option<job::Plan>,
    pub(super) is_background: bool,
}

/// What a `[[workload]]` section comes to.
pub(super) enum Built {
    Open(OpenLoop, SourceFacts),
    Closed(Vec<Chain>, SourceFacts),
    Planned(Planned, SourceFacts),
    Job(Box<PlannedJob>, SourceFacts),
    Serving(Box<serving::Plan>, SourceFacts),
}

impl Workload {
    /// The traffic that `specs`, the scenario's `workload` components, describe.
    ///
    /// # Errors
    /// A complaint whose key begins with `workload[i]`, the source at fault counted from 0, or is the key of the
    /// scenario's part at fault.
    pub fn build(specs: &[Values], env: &Environment) -> Result<Workload, Complaint> {
        build::check_together(specs, env)?;
        let (mut open, mut chains, mut facts): (Vec<OpenLoop>, Vec<Chain>, _) =
            (Vec::new(), Vec::new(), Vec::new());
        let mut is_queried = vec![false; specs.len()];
        let mut is_triggered = is_queried.clone();
        let mut requests = Vec::new();
        let mut sharing = Vec::new();
        let mut planned = AllPlanned { trigger_delay: Time::NEVER, ..AllPlanned::default() };
        for (index, (spec, members)) in specs.iter().zip(members::choose(specs, env)?).enumerate() {
            let among = members.describe(env.hosts);
            let built = build::source(spec, env, exact::<u8>(index), members)
                .map_err(|complaint| build::inside(&format!("workload[{index}]"), complaint))?;
            let mut fact = match built {
                Built::Open(source, fact) => {
                    is_queried[index] = source.source.query().is_some();
                    sharing.extend(source.shares_limit.then_some((index, source.left)));
                    open.push(source);
                    fact
                }
                Built::Closed(more, fact) => {
                    chains.extend(more);
                    fact
                }
                Built::Planned(more, fact) => {
                    planned.add(&more);
                    is_triggered[index] = true;
                    fact
                }
                Built::Serving(plan, fact) => {
                    is_triggered[index] = true;
                    requests.push((index, *plan));
                    fact
                }
                Built::Job(more, fact) => {
                    let number = usize::from(u8::MAX) - planned.until_failure.len();
                    if more.rest.is_some() && number < specs.len() {
                        let message = "more than 256 sources, those counted twice that go on after a failure; write fewer";
                        return Err(Complaint::new("workload", message));
                    }
                    planned.add_job(*more, exact::<u8>(index), exact::<u8>(number));
                    fact
                }
            };
            fact.pattern.extend(among.map(|among| format!(" {among}")));
            facts.push(fact);
        }
        check_count(&facts, env)?;
        // The run's flows are those of all of them together: nobody knows how many are whose.
        for (index, own) in sharing.iter().filter(|_| sharing.len() > 1) {
            facts[*index].flows = *own;
        }
        let have_all_starts = is_queried.iter().all(|is_queried| !is_queried) && chains.is_empty();
        let serving = beside(requests, &open, have_all_starts && planned.is_empty(), specs.len())?;
        let base = first_chain_id(&open, env.flow_limit).saturating_add(planned.flows).min(HIGH_BASE);
        let numbering = Numbering { base, chains: exact::<u32>(chains.len()) };
        for (number, chain) in (0..).zip(&mut chains) {
            chain.set_number(number, numbering);
        }
        let serving = serving.map(|mut plan| {
            plan.like.id = if open.is_empty() { 0 } else { base };
            Arc::new(plan)
        });
        let has_high = !chains.is_empty() || serving.is_some();
        let end_id = if has_high { base } else { FlowId::MAX };
        let background = specs.iter().map(|spec| spec.flag("background")).collect();
        let AllPlanned { dependencies, flows: next_id, waiting, trigger_delay, jobs, ranks, until_failure } =
            planned;
        let mut may_fail = vec![false; specs.len()];
        let failing = jobs.iter().filter(|job| job.plan.settings.disturbances.failure().is_some());
        failing.for_each(|job| may_fail[usize::from(job.of_source())] = true);
        let triggered = BTreeMap::new();
        Ok(Workload {
            open,
            shared_left: env.flow_limit,
            ends_at_a_time: env.duration.is_some(),
            next_id,
            end_id,
            chains,
            facts,
            background,
            dependencies,
            planned: next_id,
            is_queried,
            is_triggered,
            waiting,
            trigger_delay,
            triggered,
            jobs,
            serving,
            ranks_left: ranks,
            ranks_taken: false,
            may_fail,
            until_failure,
            skipped: Time::ZERO,
        })
    }

    /// These flows, in order of start, as one source. They are numbered from 0.
    ///
    /// # Panics
    /// If they are not in order of start.
    pub fn of_flows(mut flows: Vec<Flow>) -> Workload {
        assert!(flows.is_sorted_by_key(|flow| flow.start), "flows must be given in order of start");
        flows.iter_mut().for_each(|flow| flow.source = 0);
        let left = Some(flows.len() as u64);
        let source = OpenSource::Listed(ListSource::of(flows));
        Workload {
            open: vec![OpenLoop { source, shares_limit: false, is_background: false, left }],
            shared_left: Some(0),
            ends_at_a_time: false,
            next_id: 0,
            end_id: FlowId::MAX,
            chains: Vec::new(),
            facts: Vec::new(),
            background: vec![false],
            dependencies: Dependencies::default(),
            planned: 0,
            is_queried: vec![false],
            is_triggered: vec![false],
            waiting: 0,
            trigger_delay: Time::NEVER,
            triggered: BTreeMap::new(),
            jobs: Vec::new(),
            serving: None,
            ranks_left: 0,
            ranks_taken: false,
            may_fail: vec![false],
            until_failure: BTreeMap::new(),
            skipped: Time::ZERO,
        }
    }

    /// The destination ports of the flows of lists that have them, in order, by the number of their source.
    pub fn listed_ports(&self) -> BTreeMap<u8, VecDeque<u16>> {
        let listed = |open: &OpenLoop| Some((open.source.number()?, open.source.ports().to_vec().into()));
        self.open
            .iter()
            .filter_map(listed)
            .filter(|(_, ports): &(_, VecDeque<_>)| !ports.is_empty())
            .collect()
    }

    /// For each source, whether the case does not wait for its flows.
    pub fn background(&self) -> &[bool] {
        &self.background
    }

    /// Whether flows are still to start that the case waits for; those of closed loops it does not know.
    pub fn has_foreground_left(&self) -> bool {
        let may_start =
            |open: &&OpenLoop| !open.is_background && (!open.shares_limit || self.shared_left != Some(0));
        self.waiting > 0
            || self.ranks_left > 0
            || self.open.iter().filter(may_start).any(|open| open.source.peek_start().is_some())
    }

    /// The flows that wait for none and each host's triggers, which belong to the hosts from now on.
    pub fn take_dependencies(&mut self) -> (Vec<Flow>, BTreeMap<HostId, Triggers>) {
        (std::mem::take(&mut self.dependencies.free), std::mem::take(&mut self.dependencies.local))
    }

    /// Whether there are closed loops whose chains nobody has taken yet.
    pub fn has_chains(&self) -> bool {
        !self.chains.is_empty()
    }

    /// Whether flows of a list wait for others.
    pub fn has_triggers(&self) -> bool {
        let Dependencies { free, local, remote } = &self.dependencies;
        !free.is_empty() || !local.is_empty() || !remote.is_empty()
    }

    /// Whether any flow waits for others, or did.
    pub fn has_dependencies(&self) -> bool {
        self.waiting > 0 || self.ranks_left > 0 || !self.dependencies.remote.is_empty()
    }

    /// The ranks of all jobs with their hosts, to which they belong from now on.
    pub fn take_ranks(&mut self) -> Vec<(HostId, Walker)> {
        let is_new = !std::mem::replace(&mut self.ranks_taken, true);
        let jobs = self.jobs.iter().filter(|job| is_new && !job.plan.is_modelled());
        let of = |job: &Job| {
            let plan = Arc::clone(&job.plan);
            (0..)
                .zip(&job.plan.settings.hosts)
                .map(move |(rank, &host)| (host, Walker::new(&plan, rank)))
                .collect::<Vec<_>>()
        };
        jobs.flat_map(of).collect()
    }

    /// All that a rank of a source's job does has ended.
    pub fn notify_rank_ended(&mut self, source: u8) {
        let is_awaited = !self.background[usize::from(source)];
        self.ranks_left -= u64::from(is_awaited);
        let Some(left) = self.until_failure.get_mut(&source).filter(|left| **left > 0) else { return };
        *left -= 1;
        if *left > 0 || !is_awaited {
            return;
        }
        // Where none has failed, nothing goes on.
        let rests = self.jobs.iter().filter(|job| job.of_source() == source && job.source != source);
        let in_vain = rests.filter(|job| {
            job.plan.settings.disturbances.failure().is_some_and(|failure| failure.roll.finished().is_none())
        });
        self.ranks_left -= in_vain.map(|job| job.plan.settings.hosts.len() as u64).sum::<u64>();
    }

    /// A flow has started.
    pub fn notify_start(&mut self, flow: &Flow) {
        let source = usize::from(flow.source);
        let waited = flow.id < self.planned || self.is_queried[source];
        self.waiting -= u64::from(waited && !self.background[source] && !self.may_fail[source]);
    }

    /// A flow has ended at one of its hosts, for which flows elsewhere may wait.
    pub fn notify_end(&mut self, flow: FlowId, done: Done, now: Time) {
        let triggered = &mut self.triggered;
        self.dependencies.remote.notify(flow, done, now, |flow| {
            triggered.insert((flow.start, flow.id), flow);
        });
    }

    /// How many flows are still to start that wait for others.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// How many flows that the case waits for are still to start by the clock, at most; `None` where that is not known.
    pub fn left_by_clock(&self) -> Option<u64> {
        left_by_clock(self.open.iter().filter(|open| open.is_awaited()), self.shared_left)
    }

    /// How many those are. Where sources end at a time they are drawn, so that none are left.
    pub fn count_by_clock(&mut self) -> u64 {
        if !self.ends_at_a_time {
            return self.left_by_clock().unwrap_or(0);
        }
        let mut count = 0;
        for open in self.open.iter_mut().filter(|open| open.is_awaited()) {
            let most = if open.shares_limit { self.shared_left } else { open.left };
            let drawn = std::iter::from_fn(|| open.source.next_start())
                .zip(0..most.unwrap_or(u64::MAX))
                .count() as u64;
            self.shared_left =
                self.shared_left.map(|left| if open.shares_limit { left - drawn } else { left });
            count += drawn;
        }
        count
    }

    /// The shortest time that a trigger takes to start a flow at another host, where there are such triggers.
    pub fn trigger_delay(&self) -> Time {
        self.trigger_delay
    }

    /// How many ranks of jobs have not ended, of those that the case waits for.
    pub fn ranks_left(&self) -> u64 {
        self.ranks_left
    }

    /// The jobs.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// The requests, if the flows are theirs.
    pub fn serving(&self) -> Option<&Arc<serving::Plan>> {
        self.serving.as_ref()
    }

    /// When the next flow starts that goes by the clock.
    #[inline]
    pub fn peek_start(&self) -> Option<Time> {
        let triggered = self.triggered.first_key_value().map(|(&(start, _), _)| start);
        let by_clock = self.next_source().map(|(start, _)| start.since(self.skipped));
        by_clock.into_iter().chain(triggered).min()
    }

    /// The query settings of each source that has queries.
    pub fn query_specs(&self) -> impl Iterator<Item = QuerySpec> {
        self.open.iter().filter_map(|open| open.source.query())
    }

    /// The next flow that starts by the clock, queried or not.
    pub fn next_flow(&mut self) -> Option<Flow> {
        self.next_start().map(|start| *start.flow())
    }

    /// What starts next by the clock, in order of start, then of source, then of being drawn.
    ///
    /// # Panics
    /// If there are more flows than a [`FlowId`] can number.
    pub fn next_start(&mut self) -> Option<Start> {
        let next = self.next_source();
        if let Some(entry) = self.triggered.first_entry()
            && next.is_none_or(|(start, _)| entry.key().0 <= start.since(self.skipped))
        {
            return Some(Start::Flow(entry.remove()));
        }
        let (_, index) = next?;
        let open = &mut self.open[index];
        let start = open.source.next_start()?;
        self.waiting += u64::from(matches!(start, Start::Query(_)) && !open.is_background);
        open.left = open.left.map(|left| left.saturating_sub(1));
        if open.shares_limit {
            self.shared_left = self.shared_left.map(|left| left - 1);
        }
        let id = self.next_id;
        assert!(id < self.end_id, "more flows than can be numbered");
        self.next_id += 1;
        Some(start.numbered(id).shifted_earlier(self.skipped))
    }

    /// Has all that goes by the clock come so much sooner than it would, as that time is skipped.
    pub fn skip(&mut self, time: Time) {
        self.skipped += time;
    }

    /// So many messages of a source's job are left out.
    pub fn note_skipped(&mut self, source: u8, messages: u64) {
        if !self.background[usize::from(source)] {
            self.waiting -= messages;
        }
    }

    /// How many flows, or messages of jobs, the case waits for, where each source that it waits for has a number of its
    /// own.
    pub fn known_flows(&self) -> Option<u64> {
        let awaited = self.facts.iter().zip(&self.background).filter(|(_, is_background)| !*is_background);
        awaited.map(|(facts, _)| facts.flows).sum()
    }

    /// What the sources come to whose flows wait for others by triggers.
    pub fn triggered_sources(&self) -> impl Iterator<Item = &SourceFacts> {
        self.facts
            .iter()
            .zip(&self.is_triggered)
            .filter(|(_, is_triggered)| **is_triggered)
            .map(|(facts, _)| facts)
    }

    /// The closed loops' chains, in order of their number; each belongs to its sending host from now on.
    pub fn take_chains(&mut self) -> Vec<Chain> {
        std::mem::take(&mut self.chains)
    }

    /// What each source comes to.
    pub fn describe(&self) -> &[SourceFacts] {
        &self.facts
    }

    /// Sizes of flows, and the share of all flows that each has: by how often sources have flows start, or alike if
    /// one does not go by a rate.
    pub fn size_shares(&self) -> Vec<(u64, f64)> {
        let rates: Option<Vec<f64>> = self.facts.iter().map(|facts| facts.flows_per_second).collect();
        let rates = rates.unwrap_or_else(|| vec![1.0; self.facts.len()]);
        let all: f64 = rates.iter().sum();
        spread::together(
            self.facts.iter().map(|facts| &facts.spread).zip(rates.iter().map(|rate| rate / all)),
        )
    }

    fn next_source(&self) -> Option<(Time, usize)> {
        let may_start = |open: &OpenLoop| !open.shares_limit || self.shared_left != Some(0);
        let sources = self.open.iter().enumerate().filter(|(_, open)| may_start(open));
        sources.filter_map(|(index, open)| Some((open.source.peek_start()?, index))).min()
    }
}

/// As far as it can be known, memory must hold a record of every flow, some 100 bytes each.
fn check_count(facts: &[SourceFacts], env: &Environment) -> Result<(), Complaint> {
    let lasts = env.duration.map(Time::as_secs_f64);
    let drawn = |fact: &SourceFacts| fact.flows_per_second.zip(lasts).map(|(rate, lasts)| rate * lasts);
    let of_source = |fact: &SourceFacts| fact.flows.map(|flows| flows as f64).or_else(|| drawn(fact));
    let flows: f64 = facts.iter().filter_map(of_source).sum();
    let flows = env.flow_limit.map_or(flows, |limit| flows.min(limit as f64));
    if flows <= MOST_FLOWS as f64 {
        return Ok(());
    }
    let message = format!("{flows:.0} flows, and memory for a record of each; write less than {MOST_FLOWS}");
    let key = if env.flow_limit.is_some() { "run.flows" } else { "run" };
    Err(Complaint::new(key, message))
}

/// How many flows of these sources are still to start at most, where that is known; `shared_left`: of those without a
/// number of their own.
fn left_by_clock<'a>(
    open: impl Iterator<Item = &'a OpenLoop> + Clone,
    shared_left: Option<u64>,
) -> Option<u64> {
    let total = |shares_limit: bool| {
        let sources = open.clone().filter(|source| source.shares_limit == shares_limit);
        sources.map(|source| source.left).try_fold(0_u64, |sum, left| sum.checked_add(left?))
    };
    let shared = total(true).into_iter().chain(shared_left).min()?;
    total(false)?.checked_add(shared)
}

/// Above every flow that goes by the clock: how many there are at most, or else a number that they stay below.
fn first_chain_id(open: &[OpenLoop], flow_limit: Option<u64>) -> FlowId {
    let all = left_by_clock(open.iter(), flow_limit).and_then(|all| FlowId::try_from(all).ok());
    all.map_or(HIGH_BASE, |all| all.min(HIGH_BASE))
}

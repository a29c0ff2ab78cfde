//! What came of jobs: their repetitions, and the collective operations in them.

use super::Outcome;
use super::bursts::bursts;
use super::critical::{self, Bound, Carried, Facts, Paths};
use super::rank_faults::{counted, told};
use super::stragglers::{RankRow, ranks};
use super::timelines::timelines;
use crate::job::{Collective, Work};
use crate::measure::FlowRow;
use crate::narrow::exact;
use crate::spec::Values;
use crate::topology::Topology;
use crate::units::Time;
use crate::workload::job::{Exchange, Job, Operation, Plan, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the ranks of a source's job did: source, rank, and its operations.
pub type RankSpans = (u8, u32, Vec<Span>);

impl Outcome {
    /// Adds what came of jobs; `paths`: how flows found their paths, if it is to be known what jobs waited for;
    /// `wholes`: what operations take alone that were carried out as wholes.
    pub(super) fn add_jobs(
        &mut self,
        jobs: &[Job],
        spans: &[RankSpans],
        paths: Option<&Paths>,
        wholes: Facts<'_>,
        keeps_operations: bool,
    ) {
        let counted = counted(jobs, spans);
        let spans = &counted[..];
        self.jobs = collectives(jobs, spans, &self.topology);
        self.ranks = ranks(jobs, spans);
        self.iterations = iterations(jobs, spans, &self.ranks, &self.topology);
        self.warnings.extend(told(jobs));
        self.warnings.extend(bursts(jobs, &self.jobs, &self.flows));
        if let Some(paths) = paths {
            self.add_paths(jobs, spans, paths, wholes, keeps_operations);
        }
        self.join_parts(jobs);
    }

    /// Adds what they waited for.
    fn add_paths(
        &mut self,
        jobs: &[Job],
        spans: &[RankSpans],
        paths: &Paths,
        wholes: Facts<'_>,
        keeps_operations: bool,
    ) {
        let carried = Carried::of(&self.topology, paths, &self.flows);
        carried.bound(jobs, &mut self.jobs);
        for row in &mut self.jobs {
            row.bound = row.bound.or_else(|| wholes(row.source, row.exchange)?.bound);
        }
        self.critical_path = critical::paths(jobs, spans, &self.iterations, (&self.flows, &carried), wholes);
        if !keeps_operations {
            return;
        }
        self.operations = operations(jobs, spans, &self.flows);
        self.timelines = timelines(jobs, spans);
    }
}

/// Whether it is to be known what jobs waited for.
pub(super) fn keeps_paths(measure: &Values) -> bool {
    measure.flag("operations") || measure.flag("critical_path")
}

/// So many of the ranks that wait are named.
const MOST_NAMED: usize = 2;

/// What the ranks that have not ended wait for, for people.
pub fn waiting(jobs: &[Job], spans: &[RankSpans]) -> String {
    let plan = |source: u8| jobs.iter().find(|job| job.source == source).map(|job| &job.plan);
    let open = spans.iter().flat_map(|(source, rank, spans)| {
        let open = spans.iter().filter(|span| span.end == Time::NEVER);
        open.filter_map(move |span| Some((*rank, span.place, plan(*source)?)))
    });
    let name = |(rank, place, plan): (u32, u32, &Arc<Plan>)| {
        let operation = &plan.program.ranks[rank as usize].operations()[place as usize];
        let name = &plan.program.names[operation.name as usize];
        match operation.work {
            Work::Receive { peer: Some(peer), .. } => format!("rank {rank} at {name} for rank {peer}"),
            _ => format!("rank {rank} at {name}"),
        }
    };
    let mut named: Vec<String> = open.take(MOST_NAMED + 1).map(name).collect();
    if named.len() > MOST_NAMED {
        named[MOST_NAMED] = "...".to_owned();
    }
    format!("; ranks wait: {}", named.join(", "))
}

/// A collective operation that was carried out once.
#[derive(Clone, Debug)]
pub struct JobRow {
    /// The traffic source.
    pub source: u8,
    /// In which repetition of the job, counted from 0.
    pub repetition: u32,
    /// Its name in the program.
    pub name: String,
    /// What it is.
    pub operation: Arc<Operation>,
    /// When the first rank began; [`Time::NEVER`] if none did.
    pub start: Time,
    /// When the last rank began.
    pub last_start: Time,
    /// The rank that began last.
    pub last_rank: u32,
    /// When the last rank's part was over; [`Time::NEVER`] if not all were.
    pub end: Time,
    /// Its number among the exchanges of the program.
    pub exchange: u32,
    /// Whether its ranks reach each other by the switch inside their server.
    pub inside: bool,
    /// The link that bounds it, if that was measured.
    pub bound: Option<Bound>,
}

impl JobRow {
    /// How long it took, if it was done.
    pub fn completion_time(&self) -> Option<Time> {
        (self.end != Time::NEVER).then(|| self.end - self.start)
    }

    /// Its bytes over its time in Gb/s, if it was done.
    pub fn algorithm_gbps(&self) -> Option<f64> {
        self.completion_time().map(|took| self.operation.bytes as f64 * 8.0 / took.as_ns_f64())
    }

    /// The network that it goes by: one that leaves a server goes by the fabric, whatever else it goes by.
    pub fn network(&self) -> &'static str {
        if self.inside { "scale-up" } else { "fabric" }
    }

    /// What of that each rank's link carried in Gb/s.
    pub fn bus_gbps(&self) -> Option<f64> {
        self.algorithm_gbps().map(|gbps| gbps * self.operation.bus_factor())
    }
}

/// A repetition of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IterationRow {
    /// The traffic source.
    pub source: u8,
    /// Which, counted from 0.
    pub iteration: u32,
    /// How many ranks there are.
    pub ranks: u32,
    /// When the first rank began.
    pub start: Time,
    /// When the last operation ended; [`Time::NEVER`] if not all did.
    pub end: Time,
    /// The rank whose last operation that was.
    pub last_rank: u32,
    /// The same repetition of the job by itself: when its first rank began, and how long it took, if it was measured and
    /// done.
    pub alone: Option<(Time, Time)>,
    /// For how long the busiest rank computed; two computations at once count once.
    pub compute: Time,
    /// What the busiest NIC takes at the full rate of all its ports for what it sends, or for what it receives, without
    /// headers.
    pub communication: Time,
}

impl IterationRow {
    /// How long it took, if it was done.
    pub fn took(&self) -> Option<Time> {
        (self.end != Time::NEVER).then(|| self.end - self.start)
    }

    /// What no repetition can be below, however it computes while it sends: the busiest rank computes, and the busiest NIC
    /// carries its messages. (draft-calabria-bmwg-ai-fabric-training-bench adds both up, and takes 8·S·f/B for each
    /// operation. A job that overlaps them is below that, and so is an operation that goes by several NICs of a server.)
    pub fn roofline(&self) -> Time {
        self.compute.max(self.communication)
    }

    /// Its time over the roofline, if that is any.
    pub fn ratio(&self) -> Option<f64> {
        over(self.took()?, self.roofline())
    }

    /// Its time over that of the same repetition of the job by itself.
    pub fn interference(&self) -> Option<f64> {
        let (_, alone) = self.alone?;
        over(self.took()?, alone)
    }

    /// The part of the communication that took no time of its own, since ranks computed meanwhile: 1 − (JCT − C) /
    /// communication. Nothing if there was none.
    pub fn overlap(&self) -> Option<f64> {
        let beyond = self.took()?.as_ps() as f64 - self.compute.as_ps() as f64;
        let communication = self.communication.as_ps() as f64;
        (communication > 0.0).then(|| 1.0 - beyond / communication)
    }
}

/// How often a time has another in it; nothing if that is none.
fn over(time: Time, other: Time) -> Option<f64> {
    (other > Time::ZERO).then(|| time.as_ps() as f64 / other.as_ps() as f64)
}

/// An operation of a rank that was carried out once.
#[derive(Clone, Debug)]
pub struct OperationRow {
    /// The traffic source.
    pub source: u8,
    /// The rank.
    pub rank: u32,
    /// Its name in the program.
    pub name: String,
    /// What was done: "compute", "send", "receive", or the collective operation's name.
    pub kind: &'static str,
    /// The operations of one stream are executed one at a time.
    pub stream: Option<u16>,
    /// When.
    pub span: Span,
    /// The rank whose message let it end, if one did.
    pub message_from: Option<u32>,
}

/// What every rank of every job did, in order of source and rank, and of the end.
pub fn operations(jobs: &[Job], spans: &[RankSpans], flows: &[FlowRow]) -> Vec<OperationRow> {
    let plan = |source: u8| jobs.iter().find(|job| job.source == source).map(|job| &job.plan);
    let rows = |(source, rank, spans): &RankSpans| {
        let Some(plan) = plan(*source) else { return Vec::new() };
        spans.iter().map(|span| operation(plan, *source, *rank, *span, flows)).collect::<Vec<_>>()
    };
    spans.iter().flat_map(rows).collect()
}

fn operation(plan: &Plan, source: u8, rank: u32, span: Span, flows: &[FlowRow]) -> OperationRow {
    let operation = &plan.program.ranks[rank as usize].operations()[span.place as usize];
    let sender = |id| {
        let place = flows.binary_search_by_key(&id, |row| row.flow.id).ok()?;
        let host = flows[place].flow.src;
        plan.settings.hosts.iter().position(|&other| other == host).map(|rank| exact::<u32>(rank))
    };
    OperationRow {
        source,
        rank,
        name: plan.program.names[operation.name as usize].clone(),
        kind: match operation.work {
            Work::Compute { .. } => "compute",
            Work::Send { .. } => "send",
            Work::Receive { .. } => "receive",
            Work::Collective { operation, .. } => operation.name(),
        },
        stream: operation.stream,
        span,
        // A send may keep its own message's number.
        message_from: span.message.and_then(sender).filter(|&from| from != rank),
    }
}

/// The collective operations of all jobs, in order of source, repetition and number.
pub fn collectives(jobs: &[Job], spans: &[RankSpans], topology: &Topology) -> Vec<JobRow> {
    jobs.iter().flat_map(|job| of_job(job, spans, topology)).collect()
}

/// What is known of a collective operation from some of its ranks.
struct Seen {
    start: Time,
    last: (Time, u32),
    end: Time,
    ranks: u32,
    name: u32,
    group: u32,
}

fn of_job(job: &Job, spans: &[RankSpans], topology: &Topology) -> Vec<JobRow> {
    let plan = &job.plan;
    let mut seen: BTreeMap<(u32, u32), Seen> = BTreeMap::new();
    for (_, rank, spans) in spans.iter().filter(|(source, ..)| *source == job.source) {
        let operations = plan.program.ranks[*rank as usize].operations();
        for span in spans {
            let operation = &operations[span.place as usize];
            let Work::Collective { group, .. } = operation.work else { continue };
            let key = (span.iteration, plan.exchange_of(*rank, span.place));
            let one = seen.entry(key).or_insert(Seen {
                start: Time::NEVER,
                last: (Time::ZERO, 0),
                end: Time::ZERO,
                ranks: 0,
                name: operation.name,
                group,
            });
            one.start = one.start.min(span.begin);
            one.last = one.last.max((span.begin, *rank));
            one.end = one.end.max(span.end);
            one.ranks += 1;
        }
    }
    let row = |((repetition, exchange), seen): ((u32, u32), Seen)| {
        let Exchange::Collective(operation) = plan.exchange(exchange) else { return None };
        let is_whole = seen.ranks == operation.ranks;
        Some(JobRow {
            source: job.source,
            repetition,
            name: plan.program.names[seen.name as usize].clone(),
            operation: Arc::clone(operation),
            start: seen.start,
            last_start: seen.last.0,
            last_rank: seen.last.1,
            end: if is_whole { seen.end } else { Time::NEVER },
            exchange,
            inside: stay_inside(plan, &plan.program.groups[seen.group as usize], topology),
            bound: None,
        })
    };
    seen.into_iter().filter_map(row).collect()
}

/// The repetitions of all jobs; `ranks` are what each rank did in them.
pub fn iterations(
    jobs: &[Job],
    spans: &[RankSpans],
    ranks: &[RankRow],
    topology: &Topology,
) -> Vec<IterationRow> {
    let of_job = |job: &Job| {
        let ranks = ranks.iter().filter(|row| row.source == job.source);
        let mut rows = iterations_of(job, spans, topology);
        for rank in ranks {
            let row = rows.get_mut(&rank.iteration).expect("it has what its ranks did");
            row.compute = row.compute.max(rank.computed);
        }
        rows.into_values()
    };
    jobs.iter().flat_map(of_job).collect()
}

/// The repetitions of a job, but for what its ranks computed.
fn iterations_of(job: &Job, spans: &[RankSpans], topology: &Topology) -> BTreeMap<u32, IterationRow> {
    let program = &job.plan.program;
    let (communication, ranks) = (communication(&job.plan, topology), job.plan.ranks());
    let mut rows: BTreeMap<u32, (IterationRow, usize)> = BTreeMap::new();
    for (_, rank, spans) in spans.iter().filter(|(source, ..)| *source == job.source) {
        for span in spans {
            let new = IterationRow {
                source: job.source,
                iteration: span.iteration,
                ranks,
                start: Time::NEVER,
                end: Time::ZERO,
                last_rank: 0,
                alone: None,
                compute: Time::ZERO,
                communication,
            };
            let (row, count) = rows.entry(span.iteration).or_insert((new, 0));
            row.start = row.start.min(span.ready);
            if span.end > row.end {
                (row.end, row.last_rank) = (span.end, *rank);
            }
            *count += 1;
        }
    }
    let all = program.operations();
    let finished = |(iteration, (row, count)): (u32, (IterationRow, usize))| {
        let end = if count == all { row.end } else { Time::NEVER };
        (iteration, IterationRow { end, ..row })
    };
    rows.into_iter().map(finished).collect()
}

/// What the busiest NIC takes for what it sends in a repetition, or for what it receives.
fn communication(plan: &Plan, topology: &Topology) -> Time {
    let mut nics = Nics { plan, topology, bytes: vec![[0; 2]; plan.program.ranks.len()] };
    // Layers and micro-batches repeat the same operations. Those of a matrix may be of as many bytes and yet differ.
    let mut times: BTreeMap<(u32, &'static str, u64, u32), (&Operation, u64)> = BTreeMap::new();
    for exchange in plan.exchanges() {
        match exchange {
            Exchange::Send { rank, place } => nics.send(*rank, *place),
            Exchange::Collective(operation) if operation.kind != Collective::AllToAll => {
                let key = (operation.group, operation.kind.name(), operation.bytes, operation.lanes);
                times.entry(key).or_insert((operation, 0)).1 += 1;
            }
            Exchange::Collective(operation) => nics.collective(operation, 1),
        }
    }
    for (operation, times) in times.into_values() {
        nics.collective(operation, times);
    }
    nics.longest()
}

/// The bytes that each rank's NIC sends and receives.
struct Nics<'a> {
    plan: &'a Plan,
    topology: &'a Topology,
    bytes: Vec<[u64; 2]>,
}

impl Nics<'_> {
    fn add(&mut self, from: u32, to: u32, bytes: u64) {
        if !stay_inside(self.plan, &[from, to], self.topology) {
            self.bytes[from as usize][0] += bytes;
            self.bytes[to as usize][1] += bytes;
        }
    }

    fn send(&mut self, rank: u32, place: u32) {
        let work = self.plan.program.ranks[rank as usize].operations()[place as usize].work;
        if let Work::Send { peer, bytes, .. } = work {
            self.add(rank, peer, bytes);
        }
    }

    /// An operation that takes place so often.
    fn collective(&mut self, operation: &Operation, times: u64) {
        let rank = |place| self.plan.rank_at(operation.group, place);
        if stay_inside(self.plan, &self.plan.program.groups[operation.group as usize], self.topology) {
            return;
        }
        for place in 0..operation.ranks {
            let from = rank(place);
            for lane in 0..operation.lanes {
                for (stage, alike) in stages(operation, lane, place) {
                    for slot in operation.pattern(lane).stage(place, stage).slots {
                        let message = operation.message(lane, place, slot);
                        let to = self.plan.rank_at(operation.group, message.to);
                        self.add(from, to, message.bytes * u64::from(alike) * times);
                    }
                }
            }
        }
    }

    fn longest(&self) -> Time {
        let takes = |(rank, bytes): (usize, &[u64; 2])| {
            let rate = self.topology.rate_of(self.plan.settings.hosts[rank]);
            let bits = 8 * u128::from(bytes[0].max(bytes[1]));
            Time(exact(bits * 1_000_000_000_000 / u128::from(rate.as_bps())))
        };
        self.bytes.iter().enumerate().map(takes).max().unwrap_or(Time::ZERO)
    }
}

/// The stages of a rank, each with how many that follow it are like it. Of an operation as a whole it may have more than
/// could be counted one by one; there a message may be a byte larger or smaller than that of the stage before.
fn stages(operation: &Operation, lane: u32, place: u32) -> Vec<(u32, u32)> {
    let pattern = operation.pattern(lane);
    match pattern.phases().filter(|_| operation.is_whole) {
        Some(phases) => phases.into_iter().map(|phase| (phase.stage, phase.times)).collect(),
        None => (0..pattern.stages(place)).map(|stage| (stage, 1)).collect(),
    }
}

/// Whether these ranks reach each other by the switch inside their server. Where there is none, those of a server have
/// their NICs' links for each other, too.
fn stay_inside(plan: &Plan, ranks: &[u32], topology: &Topology) -> bool {
    let host = |rank: u32| plan.settings.hosts[rank as usize];
    let is_inside = |one: u32, other: u32| topology.ports_between(one, other) != topology.nic_ports(one);
    ranks.windows(2).all(|pair| is_inside(host(pair[0]), host(pair[1])))
}

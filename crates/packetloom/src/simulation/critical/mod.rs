//! What a repetition of a job waited for, from its end back to its beginning.
//!
//! The critical path is one chain of computing, messages and hosts' costs, each part of which began when the one
//! before it ended. So its parts add up to the time of the repetition: whoever shortens none of them shortens nothing.

mod links;
mod messages;
mod walk;
mod whole;

pub(super) use links::Paths;
pub use links::{Bound, Carried};
pub use whole::WholeFacts;

use super::jobs::{IterationRow, RankSpans};
use crate::flow::FlowId;
use crate::measure::FlowRow;
use crate::units::Time;
use crate::workload::job::{Job, Plan, Span};
use messages::Messages;
use std::cell::OnceCell;
use walk::Walk;
pub(super) use whole::Facts;

/// What a part of a critical path was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// The rank computed.
    Compute,
    /// A message was under way to the rank, from its start to its last byte.
    Message,
    /// The same until its sender had the last acknowledgement, for which it waited.
    Acknowledgement,
    /// The rank's host sent or received messages, which costs it time.
    Host,
    /// The rank had not ended the repetition before.
    Earlier,
}

impl Spent {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Spent::Compute => "compute",
            Spent::Message => "message",
            Spent::Acknowledgement => "acknowledgement",
            Spent::Host => "host",
            Spent::Earlier => "earlier repetition",
        }
    }
}

/// A part of a critical path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathRow {
    /// The traffic source.
    pub source: u8,
    /// In which repetition.
    pub iteration: u32,
    /// Its place on the path, counted from 0 at the beginning.
    pub step: u32,
    /// What the time was spent on.
    pub spent: Spent,
    /// The rank: of a message the one that waited for it.
    pub rank: u32,
    /// The operation's place among those of the rank.
    pub place: u32,
    /// Its name in the program.
    pub name: String,
    /// From when.
    pub start: Time,
    /// Until when.
    pub end: Time,
    /// The message, if it is one.
    pub message: Option<MessageOnPath>,
}

/// A message on a critical path, or all messages of an operation that was carried out as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageOnPath {
    /// Its flow; of an operation as a whole none.
    pub flow: Option<FlowId>,
    /// The rank that sent it; of an operation as a whole the one that began it last.
    pub from: u32,
    /// How much it was.
    pub bytes: u64,
    /// What it takes alone on an empty network.
    pub alone: Time,
    /// The busiest link that it crossed, while it was under way: the link, and the share of its rate. Of an operation as
    /// a whole the link that bounds it, and what it took of that itself.
    pub busiest: Option<(u32, f64)>,
}

/// A part as the walk finds it.
#[derive(Clone, Copy, Debug)]
struct Part {
    spent: Spent,
    rank: u32,
    place: u32,
    start: Time,
    end: Time,
    /// What was under way.
    message: Option<UnderWay>,
}

/// What was under way to a rank.
#[derive(Clone, Copy, Debug)]
enum UnderWay {
    /// A message: its sender, and its row.
    Message(u32, u32),
    /// An operation that was carried out as a whole: the rank that began it last, and its exchange.
    Whole(u32, u32),
}

/// The operations of a job's ranks, to be looked up.
struct Spans<'a> {
    plan: &'a Plan,
    /// Of each rank.
    ranks: Vec<&'a [Span]>,
    /// The same in order of repetition and place, of those that a path came to: of many ranks it comes to few.
    sorted: Vec<OnceCell<Vec<Span>>>,
}

impl Spans<'_> {
    fn of<'a>(job: &'a Job, spans: &'a [RankSpans]) -> Spans<'a> {
        let mut ranks: Vec<&[Span]> = vec![&[]; job.plan.program.ranks.len()];
        for (_, rank, spans) in spans.iter().filter(|(source, ..)| *source == job.source) {
            ranks[*rank as usize] = spans;
        }
        let sorted = vec![OnceCell::new(); ranks.len()];
        Spans { plan: &job.plan, ranks, sorted }
    }

    fn of_rank(&self, rank: u32) -> &[Span] {
        self.sorted[rank as usize].get_or_init(|| {
            let mut spans = self.ranks[rank as usize].to_vec();
            spans.sort_unstable_by_key(|span| (span.iteration, span.place));
            spans
        })
    }

    fn get(&self, rank: u32, iteration: u32, place: u32) -> Option<&Span> {
        let spans = self.of_rank(rank);
        let found = spans.binary_search_by_key(&(iteration, place), |span| (span.iteration, span.place));
        found.ok().map(|at| &spans[at])
    }

    /// The operation of a rank that ended at `end`; the first of several.
    fn ending(&self, rank: u32, iteration: u32, end: Time) -> Option<u32> {
        let mut spans = self.of_rank(rank).iter();
        spans.find(|span| span.iteration == iteration && span.end == end).map(|span| span.place)
    }
}

/// The critical path of every repetition that was done, in order of source and repetition. What links carried says
/// which of them each message waited at.
pub fn paths(
    jobs: &[Job],
    spans: &[RankSpans],
    iterations: &[IterationRow],
    (flows, carried): (&[FlowRow], &Carried<'_>),
    wholes: Facts<'_>,
) -> Vec<PathRow> {
    let of_job = |job: &Job| {
        let all = Spans::of(job, spans);
        let own = iterations.iter().filter(|row| row.source == job.source && row.end != Time::NEVER);
        own.flat_map(|row| of_iteration(&all, row, (flows, carried), wholes)).collect::<Vec<_>>()
    };
    jobs.iter().flat_map(of_job).collect()
}

fn of_iteration(
    spans: &Spans<'_>,
    row: &IterationRow,
    (flows, carried): (&[FlowRow], &Carried<'_>),
    wholes: Facts<'_>,
) -> Vec<PathRow> {
    let plan = spans.plan;
    let messages = Messages::of(plan, row.iteration, flows);
    let parts = Walk::new(spans, &messages, row).parts();
    let name = |part: &Part| {
        let operation = &plan.program.ranks[part.rank as usize].operations()[part.place as usize];
        plan.program.names[operation.name as usize].clone()
    };
    let message = |part: &Part| match part.message? {
        UnderWay::Message(from, at) => {
            let FlowRow { flow, best_fct, .. } = &flows[at as usize];
            let busiest = carried.busiest(at, (part.start, part.end));
            Some(MessageOnPath {
                flow: Some(flow.id),
                from,
                bytes: flow.size_bytes,
                alone: *best_fct,
                busiest,
            })
        }
        UnderWay::Whole(from, exchange) => {
            let WholeFacts { alone, bytes, bound } = wholes(row.source, exchange)?;
            let busiest = bound.map(|bound| (bound.link, bound.used_in(part.end.since(part.start))));
            Some(MessageOnPath { flow: None, from, bytes, alone, busiest })
        }
    };
    let path_row = |(step, part): (u32, &Part)| PathRow {
        source: row.source,
        iteration: row.iteration,
        step,
        spent: part.spent,
        rank: part.rank,
        place: part.place,
        name: name(part),
        start: part.start,
        end: part.end,
        message: message(part),
    };
    (0..).zip(parts.iter().rev()).map(path_row).collect()
}

//! Which ranks the others waited for.

use super::jobs::RankSpans;
use crate::job::Work;
use crate::units::Time;
use crate::workload::job::{Job, Plan, Span};
use std::collections::BTreeMap;

/// What a rank did in a repetition of its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankRow {
    /// The traffic source.
    pub source: u8,
    /// In which repetition.
    pub iteration: u32,
    /// The rank.
    pub rank: u32,
    /// When its first operation was ready.
    pub start: Time,
    /// When its last one ended; [`Time::NEVER`] if not all did.
    pub end: Time,
    /// For how long it computed; two computations at once count once.
    pub computed: Time,
    /// In how many collective operations it was the last to begin.
    pub last_in: u32,
    /// How much later than the last but one it was, in all of these together.
    pub delayed: Time,
}

/// Every rank of every repetition, in order of source, repetition and rank.
pub fn ranks(jobs: &[Job], spans: &[RankSpans]) -> Vec<RankRow> {
    jobs.iter().flat_map(|job| of_job(job, spans)).collect()
}

fn of_job(job: &Job, spans: &[RankSpans]) -> Vec<RankRow> {
    let mut rows = BTreeMap::new();
    // Of each collective operation, the last rank that began, when, and when the one before it did.
    let mut begun: BTreeMap<(u32, u32), (u32, Time, Option<Time>)> = BTreeMap::new();
    for (_, rank, spans) in spans.iter().filter(|(source, ..)| *source == job.source) {
        let mut sorted: Vec<&Span> = spans.iter().collect();
        sorted.sort_unstable_by_key(|span| (span.iteration, span.begin));
        for of_iteration in sorted.chunk_by(|one, other| one.iteration == other.iteration) {
            let row = of_rank(job, *rank, of_iteration);
            rows.insert((row.iteration, row.rank), row);
        }
        for span in sorted.into_iter().filter(|span| is_collective(&job.plan, *rank, span.place)) {
            let key = (span.iteration, job.plan.exchange_of(*rank, span.place));
            let last = begun.entry(key).or_insert((*rank, span.begin, None));
            match (*rank == last.0, span.begin > last.1) {
                (true, _) => {}
                (false, true) => *last = (*rank, span.begin, Some(last.1)),
                (false, false) => last.2 = last.2.max(Some(span.begin)),
            }
        }
    }
    for ((iteration, _), (rank, at, before)) in begun {
        if let (Some(row), Some(before)) = (rows.get_mut(&(iteration, rank)), before)
            && before < at
        {
            row.last_in += 1;
            row.delayed += at - before;
        }
    }
    rows.into_values().collect()
}

fn is_collective(plan: &Plan, rank: u32, place: u32) -> bool {
    matches!(work(plan, rank, place), Work::Collective { .. })
}

fn work(plan: &Plan, rank: u32, place: u32) -> Work {
    plan.program.ranks[rank as usize].operations()[place as usize].work
}

/// `spans`: those of one repetition, in order of their beginning.
fn of_rank(job: &Job, rank: u32, spans: &[&Span]) -> RankRow {
    let all = job.plan.program.ranks[rank as usize].operations().len();
    let is_whole = spans.len() == all && spans.iter().all(|span| span.end != Time::NEVER);
    let computing =
        spans.iter().filter(|span| matches!(work(&job.plan, rank, span.place), Work::Compute { .. }));
    let mut computed = Time::ZERO;
    let mut until = Time::ZERO;
    for span in computing.filter(|span| span.end != Time::NEVER) {
        computed += span.end.since(span.begin.max(until));
        until = until.max(span.end);
    }
    RankRow {
        source: job.source,
        iteration: spans[0].iteration,
        rank,
        start: spans.iter().map(|span| span.ready).min().unwrap_or(Time::ZERO),
        end: if is_whole {
            spans.iter().map(|span| span.end).max().unwrap_or(Time::NEVER)
        } else {
            Time::NEVER
        },
        computed,
        last_in: 0,
        delayed: Time::ZERO,
    }
}

//! What jobs did, as files for other tools.

use super::jobs::RankSpans;
use crate::formats::{chakra, chrome_trace};
use crate::job;
use crate::units::Time;
use crate::workload::job::{Job, Plan, Span};
use std::collections::BTreeSet;

/// A repetition of a job as other tools read it.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The traffic source.
    pub source: u8,
    /// Which repetition, counted from 0.
    pub iteration: u32,
    /// For Perfetto and Chrome, as JSON.
    pub chrome: Vec<u8>,
    /// A Chakra trace of each rank; none where Chakra has no words for what the job does.
    pub chakra: Vec<Vec<u8>>,
    /// Who is in the process groups that these name, as a file for them; empty if they name none.
    pub groups: String,
}

/// The timelines of all jobs, in order of source and repetition.
pub fn timelines(jobs: &[Job], spans: &[RankSpans]) -> Vec<Timeline> {
    let of_job = |job: &Job| {
        let ranks: Vec<&RankSpans> = spans.iter().filter(|(source, ..)| *source == job.source).collect();
        let all = ranks.iter().flat_map(|(.., spans)| spans.iter().map(|span| span.iteration));
        let iterations: BTreeSet<u32> = all.collect();
        let timeline = |iteration| of_iteration(job, iteration, &ranks);
        iterations.into_iter().map(timeline).collect::<Vec<_>>()
    };
    jobs.iter().flat_map(of_job).collect()
}

fn of_iteration(job: &Job, iteration: u32, ranks: &[&RankSpans]) -> Timeline {
    let plan = &job.plan;
    let ended = |span: &&Span| span.iteration == iteration && span.end != Time::NEVER;
    let of_rank = |(_, rank, spans): &&RankSpans| {
        let rank = *rank;
        spans.iter().filter(ended).map(|span| converted(plan, rank, span)).collect::<Vec<_>>()
    };
    let spans: Vec<job::Span> = ranks.iter().flat_map(of_rank).collect();
    let mut chrome = Vec::new();
    chrome_trace::write(&plan.program, &spans, &mut chrome).expect("memory can be written to");
    let written = chakra::write(&plan.program, &spans).ok();
    let (chakra, groups) = written.map(|written| (written.files, written.groups)).unwrap_or_default();
    Timeline { source: job.source, iteration, chrome, chakra, groups: groups.unwrap_or_default() }
}

fn converted(plan: &Plan, rank: u32, span: &Span) -> job::Span {
    let operation = &plan.program.ranks[rank as usize].operations()[span.place as usize];
    job::Span {
        rank,
        operation: span.place,
        name: operation.name,
        start: span.begin,
        end: span.end,
        stream: operation.stream,
    }
}

//! What came of ranks that were late or slow, or failed.

use super::Outcome;
use super::jobs::RankSpans;
use crate::fault;
use crate::scenario::Case;
use crate::spec::{Complaint, Values};
use crate::workload::job::{Failure, Job, RankFault, Then};
use crate::workload::jobs::is_job;
use std::borrow::Cow;

/// The faults of a case's ranks, each with its job.
///
/// # Errors
/// A fault of no job.
pub(super) fn rank_faults(case: &Case) -> Result<Vec<RankFault>, Complaint> {
    let disturbs = |(_, fault): &(usize, &Values)| fault::is_of_rank(fault) && fault::happens(fault);
    let is_of_job = |(_, source): &(usize, &Values)| is_job(&source.component("arrivals").kind);
    let jobs: Vec<usize> =
        case.workloads.iter().enumerate().filter(is_of_job).map(|(place, _)| place).collect();
    RankFault::all(case.faults.iter().enumerate().filter(disturbs), &jobs)
}

/// The failure of a job that goes on, and how many repetitions were finished by then.
fn failed(job: &Job) -> Option<(&Failure, u32)> {
    let failure = job.plan.settings.disturbances.failure()?;
    Some((failure, failure.roll.finished()?))
}

/// What ranks did that counts: not what they did of a step that is done again.
pub(super) fn counted<'a>(jobs: &[Job], spans: &'a [RankSpans]) -> Cow<'a, [RankSpans]> {
    let is_done_again = |job: &&Job| job.source != job.of_source() && failed(job).is_some();
    if !jobs.iter().any(|job| is_done_again(&job)) {
        return Cow::Borrowed(spans);
    }
    let mut counted = spans.to_vec();
    for job in jobs.iter().filter(is_done_again) {
        let begun = spans.iter().any(|(number, _, spans)| *number == job.source && !spans.is_empty());
        let Some((_, finished)) = failed(job).filter(|_| begun) else { continue };
        let until_failure = counted.iter_mut().filter(|(number, ..)| *number == job.of_source());
        until_failure.for_each(|(.., spans)| spans.retain(|span| span.iteration < finished));
    }
    Cow::Owned(counted)
}

/// What happened, in words.
pub(super) fn told(jobs: &[Job]) -> Vec<String> {
    let mut told = Vec::new();
    for job in jobs.iter().filter(|job| job.source == job.of_source()) {
        if let Some((failure, finished)) = failed(job) {
            told.push(told_of(job, failure, finished));
        }
        let in_vain = job.plan.settings.disturbances.in_vain();
        told.extend(in_vain.into_iter().map(|fault| {
            format!(
                "fault[{fault}] changed nothing: its job did nothing in its time that it could change; write another time"
            )
        }));
    }
    told
}

fn told_of(job: &Job, failure: &Failure, finished: u32) -> String {
    let Failure { rank, at, then, lost, .. } = failure;
    let (source, all) = (job.source, job.plan.settings.repeat);
    let rest = match then {
        Then::Stop => "its job stopped".to_owned(),
        Then::Restart(after) => format!("its job began again {after} later"),
        Then::WithoutReplica(after) => {
            let ranks = job.plan.program.ranks.len();
            format!("its job went on {after} later on {} of {ranks} ranks", ranks - lost.len())
        }
    };
    format!(
        "rank {rank} of workload[{source}] failed at {at}: {rest}; {finished} of {all} steps were finished"
    )
}

impl Outcome {
    /// What goes on of a job after a failure is the job's.
    pub(super) fn join_parts(&mut self, jobs: &[Job]) {
        for job in jobs.iter().filter(|job| job.source != job.of_source()) {
            let own = |source: &mut u8| {
                if *source == job.source {
                    *source = job.of_source();
                }
            };
            self.jobs.iter_mut().for_each(|row| own(&mut row.source));
            self.ranks.iter_mut().for_each(|row| own(&mut row.source));
            self.iterations.iter_mut().for_each(|row| own(&mut row.source));
            self.critical_path.iter_mut().for_each(|row| own(&mut row.source));
            self.operations.iter_mut().for_each(|row| own(&mut row.source));
            self.timelines.iter_mut().for_each(|row| own(&mut row.source));
            self.operations.sort_by_key(|row| (row.source, row.rank));
        }
    }
}

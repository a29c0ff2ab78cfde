//! Rings in which messages of several steps go side by side, because a rank was late.
//!
//! While others waited for it, a late rank has received what they sent in steps before. When it begins, it has all of these
//! steps to pass on, and its messages share its link: the first arrives as late as the last. So does the next rank pass
//! them on, and one link of the ring is used at a time. A connection that sends in order would have the first arrive, and
//! the next rank go on with it, while the second is under way.

use super::jobs::JobRow;
use crate::job::Collective;
use crate::measure::FlowRow;
use crate::units::Time;
use crate::workload::job::{Algorithm, Exchange, Job, Operation};
use std::collections::BTreeMap;

/// A ring is held up where more of a hundred of its messages begin beside the one before them.
const HELD_UP_PERCENT: u32 = 33;
/// Of more of a hundred rings it is told.
const TOLD_PERCENT: u32 = 5;

/// That rings were held up so, if enough of them were.
pub(super) fn bursts(jobs: &[Job], rows: &[JobRow], flows: &[FlowRow]) -> Option<String> {
    let waited =
        rows.iter().map(|row| ((row.source, row.repetition, row.exchange), row.last_start.since(row.start)));
    let waited: BTreeMap<_, _> = waited.collect();
    if waited.values().all(|&waited| waited == Time::ZERO || waited == Time::NEVER) {
        return None;
    }
    let mut found = Found { waited, ..Found::default() };
    jobs.iter().for_each(|job| found.look(job, flows));
    found.end();
    let Found { held_up, all, .. } = found;
    (held_up * 100 > all * TOLD_PERCENT).then(|| {
        format!(
            "in {held_up} of {all} ring operations a rank was late, and messages of several steps went side by side: the ring \
             waited for all of them, and chance decides how often. Libraries send in order: write chunks = 8 beside its \
             kind, or, for RDMA, connections = \"in-order\""
        )
    })
}

/// Rings, and the one that is looked at.
#[derive(Default)]
struct Found {
    /// How long the first rank of an operation waited until the last began, by source, repetition and exchange.
    waited: BTreeMap<(u8, u32, u32), Time>,
    held_up: u32,
    all: u32,
    /// When the last message of each sender began and was there.
    senders: Vec<(Time, Time)>,
    messages: u32,
    side_by_side: u32,
    /// Whether its last rank was late.
    was_late: bool,
}

impl Found {
    fn look(&mut self, job: &Job, flows: &[FlowRow]) {
        let mut here = None;
        for row in flows.iter().filter(|row| row.flow.source == job.source) {
            let Some(at) = job.plan.locate(row.flow.id) else { continue };
            let Exchange::Collective(operation) = job.plan.exchange(at.exchange) else { continue };
            if !goes_round(operation) || operation.granted(at.index).is_some() {
                continue;
            }
            if here != Some((at.iteration, at.exchange)) {
                here = Some((at.iteration, at.exchange));
                self.begin(operation);
                let waited = self.waited.get(&(job.source, at.iteration, at.exchange));
                // Before a slower link messages go side by side as well, and nothing is lost.
                self.was_late = waited.is_some_and(|&waited| waited != Time::NEVER && waited > row.best_fct);
            }
            let part = operation.part(at.index);
            self.note((part.lane * operation.ranks + part.from) as usize, row);
        }
    }

    fn begin(&mut self, operation: &Operation) {
        self.end();
        self.all += 1;
        let senders = operation.lanes as usize * operation.ranks as usize;
        self.senders.clear();
        self.senders.resize(senders, (Time::ZERO, Time::ZERO));
    }

    fn end(&mut self) {
        self.held_up += u32::from(self.was_late && self.side_by_side * 100 > self.messages * HELD_UP_PERCENT);
        (self.messages, self.side_by_side) = (0, 0);
    }

    /// A message that begins in the first half of the one before it shares its link.
    fn note(&mut self, sender: usize, row: &FlowRow) {
        let Some((began, came)) = self.senders.get_mut(sender) else { return };
        let start = row.flow.start;
        self.messages += 1;
        self.side_by_side +=
            u32::from(*came != Time::NEVER && start.as_ps() < began.as_ps().midpoint(came.as_ps()));
        (*began, *came) = (start, row.delivered);
    }
}

/// Of two ranks each waits for the other's only message; pieces of which few are under way follow one another.
fn goes_round(operation: &Operation) -> bool {
    let is_passed_on =
        matches!(operation.kind, Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter);
    is_passed_on && operation.algorithm == Algorithm::Ring && operation.ranks > 2 && operation.gate.is_none()
}

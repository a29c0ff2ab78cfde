//! What is planned before a run: requests, jobs, and messages that wait for others.

use super::super::dependencies::Dependencies;
use super::super::job::{self, Job};
use super::{OpenLoop, Planned, PlannedJob};
use crate::flow::FlowId;
use crate::narrow::exact;
use crate::serving;
use crate::spec::Complaint;
use crate::units::Time;
use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;

/// The requests, if there are any; the flows of other sources start by the clock.
pub(super) fn beside(
    requests: Vec<(usize, serving::Plan)>,
    open: &[OpenLoop],
    have_all_starts: bool,
    sources: usize,
) -> Result<Option<serving::Plan>, Complaint> {
    let complain =
        |index: usize, message: &str| Err(Complaint::new(&format!("workload[{index}].arrivals"), message));
    match &requests[..] {
        [_, (index, _), ..] => {
            complain(*index, "a scenario has one source of requests; leave the others out")
        }
        [(index, _)] if !have_all_starts || open.len() + 1 < sources => complain(
            *index,
            "beside requests are only flows that start by the clock, without queries; leave the other sources out",
        ),
        _ => Ok(requests.into_iter().next().map(|(_, plan)| plan)),
    }
}

/// What all sources of flows that wait for others come to.
#[derive(Default)]
pub(super) struct AllPlanned {
    pub(super) dependencies: Dependencies,
    pub(super) flows: FlowId,
    pub(super) waiting: u64,
    pub(super) trigger_delay: Time,
    pub(super) jobs: Vec<Job>,
    /// Those of jobs that the case waits for.
    pub(super) ranks: u64,
    /// See [`Workload`](super::Workload)'s.
    pub(super) until_failure: BTreeMap<u8, u64>,
}

impl AllPlanned {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.flows == 0 && self.jobs.is_empty()
    }

    pub(super) fn add(&mut self, planned: &Planned) {
        let base = self.flows;
        self.dependencies.add(&planned.plan, base);
        self.flows += exact::<FlowId>(planned.plan.flows.len());
        if !planned.is_background {
            self.waiting += planned.plan.flows.len() as u64;
        }
        if planned.plan.has_remote() {
            self.trigger_delay = self.trigger_delay.min(planned.plan.delay);
        }
    }

    /// `number`: that of what goes on after a failure, if anything does.
    pub(super) fn add_job(&mut self, job: PlannedJob, source: u8, number: u8) {
        let PlannedJob { plan, rest, is_background } = job;
        let failure = plan.settings.disturbances.failure();
        if let Some(after) = failure.and_then(|failure| failure.then.after()) {
            self.until_failure.insert(source, plan.settings.hosts.len() as u64);
            self.trigger_delay = self.trigger_delay.min(after);
        }
        if !is_background && failure.is_none() {
            self.waiting += plan.messages();
        }
        for (plan, number) in iter::once((plan, source)).chain(rest.map(|rest| (rest, number))) {
            self.add_part(plan, number, is_background);
        }
    }

    fn add_part(&mut self, mut plan: job::Plan, number: u8, is_background: bool) {
        plan.number_from(self.flows);
        plan.settings.number = number;
        self.flows = self.flows.saturating_add(plan.numbers());
        if !is_background && !plan.is_modelled() {
            self.ranks += plan.settings.hosts.len() as u64;
        }
        self.jobs.push(Job { source: number, plan: Arc::new(plan) });
    }
}

//! Requests to a model that is served: what is sent is decided while the network runs, as messages arrive and batches
//! end (`packetloom-serving`).

use super::driven::{self, Driven, Failure, Moment};
use super::{Monitor, Outcome, Setting, Simulation};
use crate::scenario::Case;
use crate::serving::{Cluster, Course, Plan, without_network};
use crate::spec::Complaint;
use crate::units::Time;
use crate::workload::Done;
use std::sync::Arc;

/// So much is simulated at once before it is looked whether the run is still wanted.
const LONGEST_STEP: Time = Time::from_us(1_000);

/// A request, and how it fared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestRow {
    /// The traffic source.
    pub source: u8,
    /// Which, in order of arrival, counted from 0.
    pub request: u32,
    /// Tokens of its prompt and of its answer.
    pub tokens: (u64, u64),
    /// The bytes of its keys and values.
    pub cache_bytes: u64,
    /// How it fared.
    pub course: Course,
    /// How it fares among the same requests on a network that takes no time.
    pub free: Course,
    /// Whether it counts in statistics.
    pub measured: bool,
}

impl RequestRow {
    /// The mean time between two tokens, if it is over and there are two.
    pub fn mean_gap_ns(&self, course: &Course) -> Option<f64> {
        let gaps = self.tokens.1.checked_sub(1).filter(|gaps| *gaps > 0)?;
        course.took()?;
        Some(course.end.since(course.first_token).as_ns_f64() / gaps as f64)
    }

    /// The longest, likewise.
    pub fn longest_gap(&self, course: &Course) -> Option<Time> {
        course.took().filter(|_| self.tokens.1 > 1).map(|_| course.longest_gap)
    }
}

/// What of a case can't serve requests.
pub(super) fn check(case: &Case) -> Result<(), Complaint> {
    driven::check_scheme(case)?;
    // They are for other sources, if there are any.
    if case.workloads.len() > 1 {
        return Ok(());
    }
    for key in ["flows", "duration"] {
        if case.run.has(key) {
            let message =
                "flows follow from requests, and how many these are is arrivals.requests; leave it out";
            return Err(Complaint::new(&format!("run.{key}"), message));
        }
    }
    if case.load.is_some() {
        let message = "requests come at a rate of their own, arrivals.rate_per_second; leave it out";
        return Err(Complaint::new("run.loads", message));
    }
    Ok(())
}

/// Serves all requests, or as many as there is time for.
pub(super) fn run_serving(
    simulation: Simulation,
    plan: &Arc<Plan>,
    monitor: &Monitor,
) -> Result<Outcome, Complaint> {
    let Simulation { setting, workload, .. } = simulation;
    let run = setting.case.run.clone();
    // A driven run has one shard.
    let mut driven = Driven::of(Setting { threads: 1, ..setting }, workload)?;
    let (max_time, mut cluster) = (driven.max_time(), Cluster::new(plan));
    // What is wrong is in the outcome.
    let _: Result<(), Failure> = drive(&mut driven, &mut cluster, monitor);
    let (over, all) = (cluster.over(), cluster.all());
    let mut outcome = driven.conclude();
    outcome.cancelled = !monitor.is_wanted();
    if over < all && !outcome.cancelled {
        outcome.warnings.push(format!("{} of {all} requests had not ended when the case did", all - over));
    }
    let last = plan.requests.last().map_or(Time::ZERO, |request| request.arrival);
    let measured = run.time("warm_up")..=last.since(run.time("cool_down"));
    let courses = cluster.into_courses().into_iter().zip(without_network(plan));
    let rows = courses.zip(&plan.requests).zip(0..).map(|(((course, free), request), nth)| RequestRow {
        source: plan.like.source,
        request: nth,
        tokens: (request.prompt, request.answer),
        cache_bytes: plan.cache_bytes(request),
        course,
        free,
        measured: measured.contains(&request.arrival),
    });
    outcome.requests = rows.collect();
    let ended = outcome.requests.iter().map(|row| row.course.end).filter(|end| *end != Time::NEVER).max();
    outcome.simulated = outcome.simulated.max(ended.unwrap_or(Time::ZERO)).min(max_time);
    Ok(outcome)
}

/// Has time go on until all requests are over, or nothing more comes of them.
fn drive(driven: &mut Driven, cluster: &mut Cluster<'_>, monitor: &Monitor) -> Result<(), Failure> {
    let last = Time(driven.max_time().as_ps().saturating_sub(1));
    let (mut ended, mut received, mut sent) = (Vec::new(), Vec::new(), Vec::new());
    let has_others = driven.next_by_clock() != Time::NEVER;
    while cluster.over() < cluster.all() || has_others && driven.awaits_clock()? {
        let done = f64::from(cluster.over()) / f64::from(cluster.all());
        if !monitor.report(driven.packet_hops(), done, driven.now()) {
            return Ok(());
        }
        let due = cluster.due().unwrap_or(Time::NEVER).min(driven.next_by_clock());
        let limit = due.min(last).min(driven.now().saturating_add(LONGEST_STEP));
        driven.add_by_clock(limit);
        let now = match driven.advance(limit, &mut ended)? {
            Moment::Ended(at) => at,
            Moment::Stalled(_) => return Ok(()),
            Moment::Reached if due <= limit => due,
            Moment::Reached if limit < last => continue,
            // Nothing is under way: on to what comes next.
            Moment::Idle(_) if due <= last => due,
            Moment::Reached | Moment::Idle(_) => return Ok(()),
        };
        driven.add_by_clock(now);
        let arrived = ended.drain(..).filter(|(_, done)| *done == Done::Received).map(|(flow, _)| flow);
        received.clear();
        received.extend(arrived.filter(|&flow| cluster.sent(flow)));
        received.sort_unstable();
        cluster.step(now, &received, &mut sent);
        sent.drain(..).for_each(|flow| driven.add(flow));
    }
    Ok(())
}

//! Jobs at work: ranks at their hosts, each of which walks its graph of operations while flows start and end.
//!
//! Nothing is stored for messages that are not under way, so memory does not grow with their number; and nothing is
//! shared between ranks but the [`Plan`], which does not change.

mod counts;
mod disturbance;
mod inbox;
pub mod library;
pub mod pattern;
mod plan;
mod progress;
mod round;
pub mod settings;
mod span;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_nccl;
mod threads;
mod walker;
mod whole;

pub use disturbance::{Disturbances, Failure, RankFault, Then, disturb};
pub use library::modelled::carry_out;
pub use pattern::{Algorithm, Phase};
pub use plan::{ANSWER, Costs, Exchange, Life, Located, MESSAGE, Operation, Part, Plan, Settings};
pub use round::{Round, RoundKey, Rounds, rounds};
pub use span::Span;
pub use walker::{Told, Walker};
pub use whole::Whole;

use crate::flow::{Flow, FlowId};
use crate::units::Time;
use crate::workload::Done;
use smallvec::SmallVec;
use std::sync::Arc;

/// A source of traffic that is a job.
#[derive(Clone, Debug)]
pub struct Job {
    /// The source; of a job that goes on after a rank has failed, a number that no source has.
    pub source: u8,
    /// What it is.
    pub plan: Arc<Plan>,
}

impl Job {
    /// The source, whichever part of it this is.
    pub fn of_source(&self) -> u8 {
        self.plan.settings.like.source
    }
}

/// The ranks of all jobs at a host.
#[derive(Debug, Default)]
pub struct Ranks {
    /// Most hosts have one.
    walkers: SmallVec<[Walker; 1]>,
    starting: Vec<Flow>,
    /// The sources of jobs that have ended here and were not yet reported.
    ended: Vec<u8>,
}

impl Ranks {
    /// Adds a rank.
    pub fn add(&mut self, walker: Walker) {
        self.walkers.push(walker);
    }

    /// When one of them next has something to do by itself.
    pub fn next_at(&self) -> Time {
        self.walkers.iter().map(Walker::next_at).min().unwrap_or(Time::NEVER)
    }

    /// Does what is due at `now`, and calls `start` for each message.
    pub fn wake(&mut self, now: Time, start: impl FnMut(Flow)) {
        self.each(start, |walker, starting| {
            if walker.next_at() <= now {
                walker.wake(now, starting);
            }
        });
    }

    /// A flow has ended here; calls `start` for each message that follows.
    pub fn notify(&mut self, flow: FlowId, done: Done, now: Time, start: impl FnMut(Flow)) {
        self.each(start, |walker, starting| walker.notify(flow, done, now, starting));
    }

    fn each(&mut self, mut start: impl FnMut(Flow), mut act: impl FnMut(&mut Walker, &mut Vec<Flow>)) {
        let Ranks { walkers, starting, ended } = self;
        for walker in walkers {
            let was_done = walker.is_done();
            act(walker, starting);
            if walker.is_done() && !was_done && !walker.was_in_vain() {
                ended.push(walker.plan().settings.like.source);
            }
            starting.drain(..).for_each(&mut start);
        }
    }

    /// What ranks have begun here, and end when they are told, since this was last asked.
    pub fn take_begun(&mut self, mut found: impl FnMut(u8, u32, Told)) {
        for walker in &mut self.walkers {
            let (source, rank) = (walker.plan().settings.number, walker.rank());
            walker.take_begun().for_each(|told| found(source, rank, told));
        }
    }

    /// An operation of a rank ends, as it is told; calls `start` for each message that follows.
    pub fn end_told(&mut self, (source, rank): (u8, u32), told: Told, now: Time, start: impl FnMut(Flow)) {
        self.each(start, |walker, starting| {
            if (walker.plan().settings.number, walker.rank()) == (source, rank) {
                walker.end_told(told, now, starting);
            }
        });
    }

    /// The sources of jobs that have ended here since this was last asked.
    pub fn take_ended(&mut self) -> impl Iterator<Item = u8> + '_ {
        self.ended.drain(..)
    }

    /// The ranks themselves.
    pub fn into_walkers(self) -> impl Iterator<Item = Walker> {
        self.walkers.into_iter()
    }

    /// The ranks, to be changed.
    pub fn walkers_mut(&mut self) -> &mut [Walker] {
        &mut self.walkers
    }

    /// The ranks.
    pub fn walkers(&self) -> &[Walker] {
        &self.walkers
    }
}

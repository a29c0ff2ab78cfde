//! `fidelity = "steady"`: packets, but time is skipped in which nothing changes.
//!
//! # What a skip is
//!
//! Where rates and queues stand still, the network after a time T is the network of now: the same packets in the
//! same queues, the same windows and timers. Only the clock is T further, and each flow has so many packets less to
//! send. So nothing in the network is moved. The engine keeps its clock, and
//!
//! - everything outside comes sooner by T: flows that start by the clock (`Workload::skip`), faults
//!   (`AnyEngine::bring_faults_forward`), and the end of the run;
//! - each flow gets shorter by the packets that it would have sent in T (`Transport::shorten`): of those that were
//!   never sent, so that no sender, receiver, queue or packet knows of it;
//! - what the engine reports from then on is dated T later, and what was left out is added to the counters.
//!
//! The alternative, to move every state by T (packets in flight, calendars, timers, sequence numbers, the clocks of
//! ports), comes to the same network, and needs a rule for each state of each queue and transport. This way a queue,
//! a router and a balancer say nothing: their times are the engine's, which goes on without a gap. A transport says
//! whether its flows can be shortened ([`SHORTENS`](crate::engine::Transport::SHORTENS)). They can't where it goes by
//! how much is left (pFabric, Homa), or where packets carry the flow's length (Ultra Ethernet). Such a transport's name
//! is in the refusal (`fidelity.rs`).
//!
//! The whole network has one clock: all flows must stand still, and the next arrival, end or change by a fault anywhere
//! bounds T. Where only some flows are disturbed at a time, a clock for each set of flows that share links would skip
//! more.
//!
//! # Two kinds
//!
//! - `flows.rs`: flows that last, and long messages of jobs, whose ranks do sooner what they do by themselves. What
//!   "still" means is in `calm.rs`. Every end is simulated packet by packet: a skip leaves each flow what it sends in
//!   as many round trips as were watched at least.
//! - `stages.rs`: a collective operation whose stages are alike, such as a ring. Messages are too short for the first
//!   kind. What is remembered is a stage: if all ranks have taken two stages after each other equally long, the next
//!   ones take as long again. The operation gets shorter by n stages, and the messages of those are copies of the
//!   last one that each rank has begun. That one is simulated to its end; its nth copy is as much later as n stages
//!   take. No transport has to say anything for that. Operations of several groups of ranks are skipped together, if a
//!   stage takes all of them equally long. Where one stage in n passes a NIC (rail rings), rounds of n stages
//!   are compared and copied instead.
//!
//! A memory for each message, by its path, size and what it shares links with, was the other way. It would hold for
//! any order of messages. But what a message shares links with is known only at its end, as messages that begin later
//! count too; under spraying it is everything; and acknowledgements alone, 1 % of the other direction, make a ring
//! one group. A stage that repeats is all of that at once, and where none does, it is packets.
//!
//! # What is not exact
//!
//! - Rates go on as the mean over what was watched. A change that is too slow to show in it is not seen. Against that
//!   there are three bounds: what changed within the tolerance is taken to go on; flows that can be told apart have to
//!   hold their rates again and again before much is skipped; and a skip is no longer than `stretch` times what was
//!   watched.
//! - Flows that nothing tells apart (`peers.rs`) go on at the mean of their rates, though each is ahead at times.
//! - Random choices that differ from stage to stage (the path of a message under ECMP) are those of the stages that
//!   were watched. The lead that ranks have over each other stays as it is while stages are skipped.
//! - What goes by the time itself goes by the engine's clock: which of two links is first at equal times.

mod calm;
mod flows;
mod jumps;
mod peers;
mod stages;

pub(super) use jumps::Jumps;

use super::Setting;
use super::fidelity::{Fidelity, SteadyRung};
use crate::audit::Audit;
use crate::engine::{AnyEngine, FlowStatus, Log, PortCounters, Report};
use crate::flow::FlowId;
use crate::measure::Collector;
use crate::scenario::Case;
use crate::transport;
use crate::units::Time;
use crate::workload::Workload;
use crate::workload::job::Span;
use flows::Flows;
use stages::Stages;

/// A case in which time may be skipped.
pub(super) struct Steady {
    jumps: Jumps,
    kind: Kind,
    /// When faults change something, in order, and how many of these times are over.
    changes: Vec<Time>,
    changed: usize,
}

enum Kind {
    Flows(Flows),
    Stages(Stages),
}

/// What a skip is decided on, between two windows, and what it changes.
pub(super) struct Stand<'a> {
    pub(super) setting: &'a Setting,
    pub(super) engine: &'a mut dyn AnyEngine,
    pub(super) workload: &'a mut Workload,
    pub(super) collector: &'a mut Collector,
    pub(super) audit: Option<&'a mut Audit>,
    /// When the run ends, and when a fault next changes something, by the engine's clock.
    pub(super) max_time: Time,
    pub(super) next_change: Time,
}

impl Stand<'_> {
    /// How much time there is until something comes from outside.
    fn until_next(&self, now: Time) -> Time {
        let start = self.workload.peek_start().unwrap_or(Time::NEVER);
        start.min(self.max_time).min(self.next_change).since(now)
    }

    /// All that is to come from outside comes so much sooner.
    fn bring_forward(&mut self, by: Time) {
        self.workload.skip(by);
        if self.next_change != Time::NEVER {
            self.engine.bring_faults_forward(by);
        }
    }

    /// What went through every port.
    fn counters(&mut self) -> Vec<PortCounters> {
        self.engine.counters(self.engine.now())
    }
}

impl Steady {
    /// Of a case, if it may.
    pub(super) fn of(setting: &Setting, workload: &Workload) -> Option<Steady> {
        let Fidelity::Steady(rung) = Fidelity::of(&setting.case.run) else { return None };
        let kind = if goes_by_stages(&setting.case, workload) {
            Kind::Stages(Stages::new(rung, workload.jobs()))
        } else {
            Kind::Flows(Flows::new(rung, setting))
        };
        let changes = setting.faults.changes().into_iter().collect();
        Some(Steady { jumps: Jumps::default(), kind, changes, changed: 0 })
    }

    /// When a fault next changes something, by the engine's clock.
    pub(super) fn next_change(&self) -> Time {
        self.jumps.by_engine(self.changes.get(self.changed).copied().unwrap_or(Time::NEVER))
    }

    /// What was skipped so far.
    pub(super) fn jumps(&self) -> &Jumps {
        &self.jumps
    }

    /// Reads the log into the collector, as if nothing had been left out.
    pub(super) fn read(&mut self, log: &mut Log, collector: &mut Collector, setting: &Setting) {
        match &mut self.kind {
            Kind::Flows(flows) => {
                flows.restore(log, &self.jumps);
                collector.read(log, &setting.topology);
            }
            Kind::Stages(stages) => stages.read(log, &self.jumps, collector, &setting.topology),
        }
    }

    /// Whether it is time to look; `seen`: flows started and ended.
    #[inline]
    pub(super) fn is_due(&mut self, now: Time, seen: (u64, u64)) -> bool {
        while self.next_change() <= now {
            self.changed += 1;
            match &mut self.kind {
                Kind::Flows(flows) => flows.start_anew(now),
                Kind::Stages(stages) => stages.start_anew(),
            }
        }
        match &mut self.kind {
            Kind::Flows(flows) => flows.is_due(now, seen),
            Kind::Stages(stages) => stages.is_due(now),
        }
    }

    /// Looks, and skips what can be skipped.
    pub(super) fn look(&mut self, stand: &mut Stand<'_>) {
        match &mut self.kind {
            Kind::Flows(flows) => flows.look(stand, &mut self.jumps),
            Kind::Stages(stages) => stages.look(stand, &mut self.jumps),
        }
    }

    /// What the sender of an unfinished flow did, with what was left out.
    pub(super) fn restored_report(&self, (flow, report): (FlowId, Report)) -> (FlowId, Report) {
        match &self.kind {
            Kind::Flows(flows) => (flow, flows.restored_report(flow, report)),
            Kind::Stages(stages) => (stages.original(flow), report),
        }
    }

    /// The status of an unfinished flow, with what was left out.
    pub(super) fn restored_status(&self, status: FlowStatus) -> FlowStatus {
        match &self.kind {
            Kind::Flows(flows) => flows.restored_status(status),
            Kind::Stages(stages) => FlowStatus { flow: stages.original(status.flow), ..status },
        }
    }

    /// Dates an operation of a rank, and names its message, as if nothing had been left out.
    pub(super) fn restore_span(&self, span: &mut Span) {
        for at in [&mut span.ready, &mut span.begin, &mut span.end] {
            *at = self.jumps.restored(*at);
        }
        if let Kind::Stages(stages) = &self.kind {
            span.message = span.message.map(|flow| stages.original(flow));
        }
    }
}

/// Whether what is skipped is stages of collective operations: of jobs with the network to themselves, whose stages
/// repeat or whose messages can't be shortened.
pub(super) fn goes_by_stages(case: &Case, workload: &Workload) -> bool {
    let jobs = workload.jobs();
    let are_alone = !jobs.is_empty() && jobs.len() == workload.background().len();
    let shortens = transport::needs(&case.scheme.component("transport").kind).shortens;
    are_alone && (!shortens || jobs.iter().any(|job| job.plan.repeats()))
}

impl SteadyRung {
    /// How far what all do together may be from what they did before.
    fn together(self) -> f64 {
        self.tolerance / 10.0
    }
}

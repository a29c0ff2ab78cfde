//! A closed loop's chain of flows: the next one starts when the last one has ended.

use super::deadlines::Deadlines;
use super::entity;
use super::members::Members;
use super::pattern::Pattern;
use super::sizes::Sizes;
use super::source::Label;
use crate::flow::{Flow, FlowId, HostId};
use crate::random::{Purpose, Stream};
use crate::units::Time;
use std::sync::Arc;

/// How the chains of a simulation number their flows independently: the j-th flow of chain c of C is `base + j·C +
/// c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    /// Above every flow that is not a chain's.
    pub base: FlowId,
    /// How many chains there are.
    pub chains: u32,
}

/// What all chains of a source share and none changes.
#[derive(Debug)]
pub struct ChainPlan {
    /// What their flows have in common.
    pub label: Label,
    /// The hosts that take part.
    pub members: Members,
    /// Where flows go.
    pub pattern: Pattern,
    /// How large.
    pub sizes: Sizes,
    /// By when.
    pub deadlines: Deadlines,
    /// When the first flows start.
    pub start: Time,
    /// From a flow's end to the next one's start.
    pub think_time: Time,
    /// Flows start before this.
    pub end: Time,
}

/// One chain, owned by its sending host; nothing that changes in it is shared.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Its number among all chains of the simulation: [`Flow::chain`].
    pub number: u32,
    /// The sending host.
    pub src: HostId,
    /// Which of the source's hosts that is.
    member: u32,
    plan: Arc<ChainPlan>,
    numbering: Numbering,
    flows_made: u64,
    most_flows: u64,
    pattern: Stream,
    sizes: Stream,
    deadlines: Stream,
}

impl Chain {
    /// The `slot`-th chain of a source's `member` under `seed`, to be numbered.
    pub(super) fn new(plan: &Arc<ChainPlan>, member: u32, slot: u16, most_flows: u64, seed: u64) -> Chain {
        let src = plan.members.host(member);
        let entity = entity::chain(plan.label.source, src, slot);
        Chain {
            number: 0,
            src,
            member,
            plan: Arc::clone(plan),
            numbering: Numbering { base: 0, chains: 0 },
            flows_made: 0,
            most_flows,
            pattern: Stream::new(seed, Purpose::Pattern, entity),
            sizes: Stream::new(seed, Purpose::Sizes, entity),
            deadlines: Stream::new(seed, Purpose::Deadlines, entity),
        }
    }

    pub(super) fn set_number(&mut self, number: u32, numbering: Numbering) {
        (self.number, self.numbering) = (number, numbering);
    }

    /// When to take the chain's first flow.
    pub fn start(&self) -> Time {
        self.plan.start
    }

    /// How many flows it has, where that does not depend on how long they take.
    pub fn flows(&self) -> Option<u64> {
        (self.most_flows != u64::MAX && self.plan.end == Time::NEVER).then_some(self.most_flows)
    }

    /// The next flow, taken at the chain's [`start`](Chain::start) and then whenever its last flow has ended; it
    /// starts a think time after `now` (the first one at once). `None` when the chain is done.
    ///
    /// # Panics
    /// If the simulation's flows are more than a [`FlowId`] can number.
    pub fn next(&mut self, now: Time) -> Option<Flow> {
        let plan = &self.plan;
        let think_time = if self.flows_made == 0 { Time::ZERO } else { plan.think_time };
        let start = now.saturating_add(think_time);
        if self.flows_made >= self.most_flows || start >= plan.end {
            return None;
        }
        let offset = self.flows_made * u64::from(self.numbering.chains) + u64::from(self.number);
        let id = FlowId::try_from(u64::from(self.numbering.base) + offset).expect("more than 2^32 flows");
        let hosts = plan.members.count();
        let dst = plan.pattern.closed_loop_receiver(self.member, self.flows_made, hosts, &mut self.pattern);
        let flow = Flow {
            id,
            src: self.src,
            dst: plan.members.host(dst),
            size_bytes: plan.sizes.sample(&mut self.sizes),
            start,
            deadline: plan.deadlines.draw(start, &mut self.deadlines),
            class: plan.label.class,
            source: plan.label.source,
            chain: Some(self.number),
        };
        self.flows_made += 1;
        Some(flow)
    }
}

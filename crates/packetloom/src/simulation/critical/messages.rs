//! The messages of one repetition of a job, by the ranks that waited for them.

use crate::flow::FlowId;
use crate::measure::FlowRow;
use crate::narrow::exact;
use crate::units::Time;
use crate::workload::job::{Exchange, Plan};

/// A message of a collective operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfCollective {
    /// When it was received, or acknowledged.
    pub(super) at: Time,
    /// Its row among the flows.
    pub(super) row: u32,
    pub(super) exchange: u32,
    pub(super) lane: u32,
    /// The stage in which it was sent.
    pub(super) stage: u32,
    /// The stage that waited for it.
    pub(super) awaited_by: Option<u32>,
}

/// Those of a repetition.
pub(super) struct Messages<'a> {
    pub(super) flows: &'a [FlowRow],
    /// Of each rank those that it received, in order of time.
    received: Vec<Vec<OfCollective>>,
    /// Of each rank its own, in order of their acknowledgement.
    acknowledged: Vec<Vec<OfCollective>>,
}

impl Messages<'_> {
    pub(super) fn of<'a>(plan: &Plan, iteration: u32, flows: &'a [FlowRow]) -> Messages<'a> {
        let ranks = plan.program.ranks.len();
        let mut messages =
            Messages { flows, received: vec![Vec::new(); ranks], acknowledged: vec![Vec::new(); ranks] };
        for (row, flow) in (0..).zip(flows) {
            let Some(at) = plan.locate(flow.flow.id).filter(|at| at.iteration == iteration) else { continue };
            let Exchange::Collective(operation) = plan.exchange(at.exchange) else { continue };
            if let Some(message) = operation.granted(at.index) {
                // To the sender it is what an acknowledgement is elsewhere.
                let part = operation.part(message);
                let granted = OfCollective {
                    at: flow.delivered,
                    row,
                    exchange: at.exchange,
                    lane: part.lane,
                    stage: part.message.stage,
                    awaited_by: part.message.stage_after,
                };
                let from = plan.rank_at(operation.group, part.from);
                messages.acknowledged[from as usize].push(granted);
                continue;
            }
            let part = operation.part(at.index);
            let one = OfCollective {
                at: flow.delivered,
                row,
                exchange: at.exchange,
                lane: part.lane,
                stage: part.message.stage,
                awaited_by: Some(part.message.stage_there),
            };
            let to = plan.rank_at(operation.group, part.message.to);
            messages.received[to as usize].push(OfCollective { lane: part.lane_there, ..one });
            let from = plan.rank_at(operation.group, part.from);
            if !operation.has_grant(&part) {
                let own = OfCollective { at: flow.closed, awaited_by: part.message.stage_after, ..one };
                messages.acknowledged[from as usize].push(own);
            }
        }
        for of_rank in messages.received.iter_mut().chain(&mut messages.acknowledged) {
            of_rank.sort_unstable_by_key(|one| (one.at, one.row));
        }
        messages
    }

    /// The last message by `by` that a rank received and that is one of these.
    pub(super) fn last_received(
        &self,
        rank: u32,
        by: Time,
        is_one: impl Fn(&OfCollective) -> bool,
    ) -> Option<OfCollective> {
        last(&self.received[rank as usize], by, is_one)
    }

    /// The last of its own messages that a rank knew by `by` to have come, and that is one of these.
    pub(super) fn last_acknowledged(
        &self,
        rank: u32,
        by: Time,
        is_one: impl Fn(&OfCollective) -> bool,
    ) -> Option<OfCollective> {
        last(&self.acknowledged[rank as usize], by, is_one)
    }

    /// The row of a flow.
    pub(super) fn row_of(&self, flow: FlowId) -> Option<u32> {
        let found = self.flows.binary_search_by_key(&flow, |row| row.flow.id);
        found.ok().map(|at| exact::<u32>(at))
    }

    /// When a message started.
    pub(super) fn start(&self, row: u32) -> Time {
        self.flows[row as usize].flow.start
    }
}

fn last(all: &[OfCollective], by: Time, is_one: impl Fn(&OfCollective) -> bool) -> Option<OfCollective> {
    let until = all.partition_point(|one| one.at <= by);
    all[..until].iter().rev().find(|one| is_one(one)).copied()
}

//! Queries: packets by which a host asks others for flows.
//!
//! DAQ §II-B: the aggregator sends a query to the workers, whose header carries how many they are. A worker's flow
//! starts when its query has arrived, and jitter later; its deadline counts from then on.

use crate::flow::Flow;
use crate::units::Time;

/// How a source's flows are requested by queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuerySpec {
    /// N_w: to how many hosts each query goes.
    pub workers: u16,
    /// Size on the wire of the query, and of its acknowledgement.
    pub size_bytes: u16,
    /// A query that is not acknowledged is sent again after this.
    pub timeout: Time,
}

/// A query to one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// When it is sent.
    pub at: Time,
    /// Its settings.
    pub spec: QuerySpec,
    /// The requested flow, with the receiver of the query as its source, as it would be if the query took no time.
    pub flow: Flow,
}

impl Query {
    /// The flow, when the query arrives at `now`.
    pub fn answer(&self, now: Time) -> Flow {
        let flow = self.flow;
        let start = now.saturating_add(flow.start.since(self.at));
        let deadline = match flow.deadline {
            Time::NEVER => Time::NEVER,
            deadline => start.saturating_add(deadline.since(flow.start)),
        };
        Flow { start, deadline, ..flow }
    }
}

/// What starts by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// A flow.
    Flow(Flow),
    /// A query, which then starts one.
    Query(Query),
}

impl Start {
    /// When.
    pub fn at(&self) -> Time {
        match self {
            Start::Flow(flow) => flow.start,
            Start::Query(query) => query.at,
        }
    }

    /// The flow.
    pub fn flow(&self) -> &Flow {
        match self {
            Start::Flow(flow) => flow,
            Start::Query(query) => &query.flow,
        }
    }

    /// The same, so much sooner.
    pub(super) fn shifted_earlier(mut self, time: Time) -> Start {
        let earlier = |at: Time| if at == Time::NEVER { at } else { at.since(time) };
        let (Start::Flow(flow) | Start::Query(Query { flow, .. })) = &mut self;
        (flow.start, flow.deadline) = (earlier(flow.start), earlier(flow.deadline));
        if let Start::Query(query) = &mut self {
            query.at = earlier(query.at);
        }
        self
    }

    pub(super) fn numbered(mut self, id: u32) -> Start {
        match &mut self {
            Start::Flow(flow) => flow.id = id,
            Start::Query(query) => query.flow.id = id,
        }
        self
    }
}

//! What a host knows of queries: those that it sends, and those that it answers.

use crate::engine::endpoint::FlowStatus;
use crate::flow::{Flow, FlowId, HostId};
use crate::packet::{Kind, Packet};
use crate::units::Time;
use crate::workload::Query;
use std::collections::{BTreeMap, BTreeSet};

/// The queries of a host.
#[derive(Debug, Default)]
pub(super) struct Queries {
    /// Queries to send, or sent and not known to have arrived.
    pending: BTreeMap<FlowId, Query>,
    /// To come.
    expected: BTreeMap<FlowId, Query>,
    /// Flows that answer a query and are not over.
    answering: BTreeSet<FlowId>,
}

impl Queries {
    /// Takes in a query that `host` sends, or else expects.
    pub(super) fn add(&mut self, host: HostId, query: Query) {
        let known = if query.flow.dst == host { &mut self.pending } else { &mut self.expected };
        known.insert(query.flow.id, query);
    }

    /// The query for a flow, which is due, and when it is due again; `None` if it is known to have arrived.
    pub(super) fn due<H: Default>(&self, flow: FlowId, now: Time) -> Option<(Packet<H>, Time)> {
        let Query { spec, flow, .. } = *self.pending.get(&flow)?;
        let packet = Packet {
            flow: flow.id,
            dst: flow.src,
            priority: spec.workers.into(),
            size_bytes: spec.size_bytes,
            kind: Kind::Query,
            class: flow.class,
            ..Packet::default()
        };
        Some((packet, now + spec.timeout))
    }

    /// A query came, or the acknowledgement of one: they look alike, and the host that sent the query can tell them
    /// apart. Returns the acknowledgement to send back, and the flow that was queried unless it has been answered
    /// before.
    pub(super) fn receive<H>(&mut self, packet: Packet<H>, now: Time) -> Option<(Packet<H>, Option<Flow>)> {
        if self.pending.remove(&packet.flow).is_some() {
            return None;
        }
        let answer = self.expected.remove(&packet.flow).map(|query| query.answer(now));
        self.answering.extend(answer.map(|flow| flow.id));
        Some((Packet { dst: packet.src, priority: 0, ..packet }, answer))
    }

    /// A flow is over at its sender; returns whether it was the last answer of this host for now.
    pub(super) fn is_last(&mut self, flow: FlowId) -> bool {
        self.answering.remove(&flow) && self.answering.is_empty()
    }

    /// The flows whose query is not known to have arrived.
    pub(super) fn statuses(&self) -> impl Iterator<Item = FlowStatus> {
        let status = |&flow| FlowStatus { flow, arrived: 0, packets: 0, waits_for: "its query" };
        self.pending.keys().map(status)
    }
}

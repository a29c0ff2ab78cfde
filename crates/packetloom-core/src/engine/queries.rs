//! What a host knows of queries: those that it sends, and those that it answers.

use super::endpoint::FlowStatus;
use crate::flow::{Flow, FlowId, HostId};
use crate::packet::{Kind, Packet};
use crate::units::Time;
use crate::workload::Query;
use std::collections::{BTreeMap, BTreeSet};

/// The queries of a host.
#[derive(Debug, Default)]
pub(super) struct Queries {
    /// Sent, or to be sent, and not known to be heard.
    asking: BTreeMap<FlowId, Query>,
    /// To come.
    expected: BTreeMap<FlowId, Query>,
    /// Flows that answer a query and are not over.
    answering: BTreeSet<FlowId>,
}

impl Queries {
    /// Takes in a query that `host` sends, or else expects.
    pub(super) fn add(&mut self, host: HostId, query: Query) {
        let known = if query.flow.dst == host { &mut self.asking } else { &mut self.expected };
        known.insert(query.flow.id, query);
    }

    /// The query for a flow, which is due, and when it is due again; nothing if it was heard.
    pub(super) fn due<H: Default>(&self, flow: FlowId, now: Time) -> Option<(Packet<H>, Time)> {
        let Query { asking, flow, .. } = *self.asking.get(&flow)?;
        let packet = Packet {
            flow: flow.id,
            dst: flow.src,
            priority: asking.workers.into(),
            size_bytes: asking.size_bytes,
            kind: Kind::Query,
            class: flow.class,
            ..Packet::default()
        };
        Some((packet, now + asking.timeout))
    }

    /// A query came, or the word that one was heard: they look alike, and whoever asked knows. Returns the word that is to
    /// go back, and the flow that was asked for unless it was asked for before.
    pub(super) fn receive<H>(&mut self, packet: Packet<H>, now: Time) -> Option<(Packet<H>, Option<Flow>)> {
        if self.asking.remove(&packet.flow).is_some() {
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

    /// The flows that were asked for by a query that nobody is known to have heard.
    pub(super) fn statuses(&self) -> impl Iterator<Item = FlowStatus> {
        let status =
            |&flow| FlowStatus { flow, arrived: 0, packets: 0, waits_for: "the query that asks for it" };
        self.asking.keys().map(status)
    }
}

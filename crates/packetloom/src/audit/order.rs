//! Where all packets of a flow take one path of queues that keep a flow's order, its data arrives in the order sent.

use super::{Terms, Verdict, ensure};
use crate::engine::Passage;
use crate::flow::{FlowId, HostId};
use crate::packet::Kind;
use crate::topology::Topology;
use std::collections::{BTreeMap, VecDeque};

/// A flow, its sender, and which of its paths.
type Stream = (FlowId, HostId, u16);

/// The data that each flow has on its way, in order.
#[derive(Debug)]
pub(super) struct Order {
    is_promised: bool,
    sent: BTreeMap<Stream, VecDeque<u64>>,
}

impl Order {
    pub(super) fn new(terms: Terms<'_>) -> Order {
        let keep = [terms.queue, terms.nic].into_iter().all(|queue| queue.traits.keeps_order);
        Order { is_promised: keep && terms.one_path && !terms.has_faults, sent: BTreeMap::new() }
    }

    pub(super) fn is_promised(&self) -> bool {
        self.is_promised
    }

    fn stream(passage: &Passage) -> Stream {
        (passage.packet.flow, passage.packet.src, passage.packet.path)
    }

    pub(super) fn leave(&mut self, passage: &Passage, topology: &Topology) {
        let is_source = topology.links[passage.link as usize].src == passage.packet.src;
        if let (true, true, Kind::Data, Some(identity)) =
            (self.is_promised, is_source, passage.packet.kind, passage.identity)
        {
            self.sent.entry(Order::stream(passage)).or_default().push_back(identity);
        }
    }

    pub(super) fn arrive(&mut self, passage: &Passage, topology: &Topology) -> Verdict {
        let is_last_link = topology.links[passage.link as usize].dst == passage.packet.dst;
        let (true, true, Kind::Data, Some(identity)) =
            (self.is_promised, is_last_link, passage.packet.kind, passage.identity)
        else {
            return Ok(());
        };
        let stream = Order::stream(passage);
        let sent = self.sent.entry(stream).or_default();
        // Those before it were dropped.
        let place = sent.iter().position(|&other| other == identity);
        sent.drain(..place.map_or(0, |place| place + 1));
        if sent.is_empty() {
            self.sent.remove(&stream);
        }
        ensure(place.is_some(), "order is kept on one path", passage.start, || {
            format!("flow {}: a data packet reaches the last link after one that was sent later", stream.0)
        })
    }
}

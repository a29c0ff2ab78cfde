//! Invariants of a switch: what goes into it comes out of it, waits in it, or was dropped there; flow by flow.

use super::{Verdict, ensure};
use crate::engine::{Held, Inspection, Passage};
use crate::flow::FlowId;
use crate::narrow::exact;
use crate::packet::Kind;
use crate::topology::{Link, Topology};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Packets by what is left of them, that went in and did not come out.
#[derive(Clone, Copy, Debug, Default)]
struct Inside {
    data: i64,
    /// Trimmed, on their way forth or back.
    cut: i64,
}

impl Inside {
    fn add(&mut self, kind: Kind, packets: i64) {
        match kind {
            Kind::Data => self.data += packets,
            Kind::Trimmed | Kind::Returned => self.cut += packets,
            Kind::Ack | Kind::Control | Kind::Credit | Kind::Query | Kind::Link | Kind::Notice => {}
        }
    }
}

/// The books of notices, which switches make and take, are kept as if they were of one flow.
const NOTICES: FlowId = FlowId::MAX;

fn flow_of(packet: &Held) -> FlowId {
    if packet.kind == Kind::Notice { NOTICES } else { packet.flow }
}

/// The books of all nodes; those of hosts stay empty.
#[derive(Debug)]
pub(super) struct Nodes {
    topology: Arc<Topology>,
    /// Packets of each flow that went into a node and did not come out, by node and flow.
    balances: BTreeMap<(u32, FlowId), i64>,
    inside: Vec<Inside>,
    /// Drops of flows of which nothing is left at the node.
    settled: Vec<u64>,
    /// How many more notices each node had made than taken.
    notices: Vec<i64>,
}

impl Nodes {
    pub(super) fn new(topology: &Arc<Topology>) -> Nodes {
        let nodes = topology.nodes.len();
        Nodes {
            topology: Arc::clone(topology),
            balances: BTreeMap::new(),
            inside: vec![Inside::default(); nodes],
            settled: vec![0; nodes],
            notices: vec![0; nodes],
        }
    }

    fn note(&mut self, node: u32, packet: &Held, packets: i64) {
        // Notifications of credit begin and end in switches.
        if node >= self.topology.hosts && packet.kind != Kind::Link {
            *self.balances.entry((node, flow_of(packet))).or_default() += packets;
            self.inside[node as usize].add(packet.kind, packets);
        }
    }

    pub(super) fn enter(&mut self, link: &Link, packet: &Held) {
        self.note(link.dst, packet, 1);
    }

    pub(super) fn leave(&mut self, passage: &Passage) {
        self.note(self.topology.links[passage.link as usize].src, &passage.packet, -1);
    }

    pub(super) fn compare(&mut self, seen: &Inspection) -> Verdict {
        let hosts = self.topology.hosts;
        let mut held: BTreeMap<(u32, FlowId), i64> = BTreeMap::new();
        let mut inside = self.inside.clone();
        let (mut drops, mut trims) = (vec![0; inside.len()], vec![0; inside.len()]);
        for (link, state) in self.topology.links.iter().zip(&seen.links).filter(|(link, _)| link.src >= hosts)
        {
            let node = link.src as usize;
            drops[node] += state.counters.drops;
            trims[node] += exact::<i64>(state.counters.trims);
            for packet in state.queued.iter().filter(|packet| packet.kind != Kind::Link) {
                *held.entry((link.src, flow_of(packet))).or_default() += 1;
                inside[node].add(packet.kind, -1);
            }
        }
        for switch in &seen.balanced {
            let node = switch.node as usize;
            let made = switch.notices - std::mem::replace(&mut self.notices[node], switch.notices);
            *self.balances.entry((switch.node, NOTICES)).or_default() += made;
            for packet in &switch.held {
                *held.entry((switch.node, flow_of(packet))).or_default() += 1;
                inside[node].add(packet.kind, -1);
            }
        }
        let missing = self.missing(&held, seen)?;
        for node in hosts as usize..self.topology.nodes.len() {
            let named = |what: String| format!("{}: {what}", self.topology.node_name(exact::<u32>(node)));
            let (counted, missing) = (drops[node], self.settled[node] + missing[node]);
            ensure(counted == missing, "packets are conserved", seen.now, || {
                named(format!(
                    "{missing} packets went in and neither came out nor wait, {counted} were dropped"
                ))
            })?;
            let (Inside { data, cut }, trims) = (inside[node], trims[node]);
            ensure(data >= trims && -cut <= trims, "trimmed payloads are conserved", seen.now, || {
                named(format!(
                    "of {data} data packets that did not come out, {trims} were trimmed, and {} more headers came out than went in",
                    -cut
                ))
            })?;
        }
        Ok(())
    }

    /// How many packets went into each node of flows of which something waits, and are not there.
    fn missing(
        &mut self,
        held: &BTreeMap<(u32, FlowId), i64>,
        seen: &Inspection,
    ) -> Result<Vec<u64>, super::Violation> {
        let mut missing = vec![0; self.inside.len()];
        for &key in held.keys() {
            self.balances.entry(key).or_default();
        }
        let mut balances = std::mem::take(&mut self.balances);
        for (key, balance) in &balances {
            let (node, flow) = *key;
            let waits = held.get(key).copied().unwrap_or(0);
            ensure(*balance >= waits, "packets are conserved", seen.now, || {
                let name = self.topology.node_name(node);
                format!(
                    "{name}: {waits} packets of flow {flow} wait, and {} more than went in came out",
                    waits - balance
                )
            })?;
            let gone = exact::<u64>(balance - waits);
            let book = if waits == 0 { &mut self.settled } else { &mut missing };
            book[node as usize] += gone;
        }
        balances.retain(|key, _| held.contains_key(key));
        self.balances = balances;
        Ok(missing)
    }
}

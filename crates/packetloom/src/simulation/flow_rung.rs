//! Cases without packets, whatever their transport: `fidelity = "flows"`.
//!
//! Flows share all links of their paths (`fluid::on_links`) from their first moment on: a transport that finds its
//! rate at once, fills links and treats all flows alike. To a flow's time there is added what the last packet takes
//! to cross the network behind it, as in its best FCT, and the round trip of a handshake, where it opens a connection.

use super::{Monitor, Outcome, Simulation, takes_one_path};
use crate::engine::Tally;
use crate::flow::{Flow, FlowId, HostId};
use crate::fluid::on_links::{Sharing, Transfer};
use crate::measure::{Collector, Format, best_fct};
use crate::routing::Tracer;
use crate::spec::{Value, Values};
use crate::topology::Topology;
use crate::transport::PacketFormat;
use crate::units::{Rate, Time};
use std::collections::BTreeSet;

/// Flows whose rates are worked out, and those that are over.
struct Ends<'a> {
    collector: Collector,
    /// What is added to each flow's time, by number.
    latencies: Vec<Time>,
    /// The earliest end of each, where its packets take one path.
    earliest: Vec<Time>,
    max_time: Time,
    /// How many are to end.
    goal: u64,
    monitor: &'a Monitor,
    is_wanted: bool,
}

impl Ends<'_> {
    fn over(&mut self, flow: FlowId, at: Time) {
        let index = flow as usize;
        let end = at.saturating_add(self.latencies[index]).max(self.earliest[index]);
        if end <= self.max_time {
            self.collector.finish(flow, end);
        }
        let done = self.collector.finished() as f64 / self.goal.max(1) as f64;
        self.is_wanted = self.monitor.report(0, done.min(1.0), at);
    }
}

/// Runs a case at the level of flows.
pub(super) fn run_flows(simulation: Simulation, monitor: &Monitor) -> Outcome {
    let Simulation { setting, mut workload, .. } = simulation;
    let (case, topology) = (&setting.case, &setting.topology);
    let one_path = takes_one_path(&case.scheme, topology);
    let routing = case.scheme.component("routing");
    let mut tracer = Tracer::new(topology, &routing, setting.flow_ports.as_ref(), case.seed);
    let mut handshakes = Handshakes::of(&case.scheme.component("transport"));
    let mut sharing = Sharing::new(topology.links.iter().map(|link| link.rate.as_bps()));
    let mut ends = Ends {
        collector: Collector::new(setting.format, workload.background().to_vec()),
        latencies: Vec::new(),
        earliest: Vec::new(),
        max_time: setting.max_time(),
        goal: case.run.optional_count("flows").unwrap_or(u64::MAX),
        monitor,
        is_wanted: true,
    };
    while let Some(flow) = workload.next_flow().filter(|flow| ends.is_wanted && flow.start < ends.max_time) {
        sharing.run_until(flow.start, |flow, at| ends.over(flow, at));
        ends.collector.start(flow, topology);
        let best = ends.collector.best_fct(flow.id);
        let handshake = handshakes.before(&flow, topology);
        let wire_bytes = wire_bytes(setting.format, topology, &flow);
        let alone = slowest(topology, &flow).time_for(wire_bytes);
        ends.latencies.push(best.since(alone) + handshake);
        ends.earliest.push(if one_path { flow.start + best + handshake } else { flow.start });
        let links = if one_path {
            tracer.path(flow.id, flow.src, flow.dst).into_iter().map(|link| (link, 1.0)).collect()
        } else {
            tracer.spread(flow.id, flow.src, flow.dst)
        };
        sharing.arrive(flow.start, &Transfer { id: flow.id, bits: wire_bytes as f64 * 8.0, links });
    }
    sharing.run_until(ends.max_time, |flow, at| ends.over(flow, at));
    let Ends { collector, is_wanted, .. } = ends;
    let tally = Tally { packet_hops: 0, events: collector.started() + collector.finished() };
    let mut outcome = setting.outcome(collector, &[], tally);
    outcome.cancelled = !is_wanted;
    outcome
}

/// A flow's bytes on the wire, headers and framing included.
pub(super) fn wire_bytes(format: Format, topology: &Topology, flow: &Flow) -> u64 {
    format.wire_bytes(flow.size_bytes) + format.packets(flow.size_bytes) * topology.framing_bytes
}

/// The rate of the slowest link of the path that the best FCT is of.
fn slowest(topology: &Topology, flow: &Flow) -> Rate {
    let rates = topology.path(flow.src, flow.dst).into_iter().map(|link| topology.links[link].rate);
    rates.min().unwrap_or(topology.rate_of(flow.src))
}

/// Which flows open connections.
struct Handshakes {
    /// Of a handshake's packets; none where no flow opens a connection.
    format: Option<Format>,
    /// The pairs of hosts that have cookies (RFC 7413), where data goes with the SYN of those.
    cookies: Option<BTreeSet<(HostId, HostId)>>,
}

impl Handshakes {
    fn of(transport: &Values) -> Handshakes {
        let fresh = match transport.entries.get("connections") {
            Some(Value::Component(connections)) if connections.kind == "fresh" => Some(connections),
            _ => None,
        };
        // RDMA's have a size of their own, and no data goes with them.
        let bytes = |fresh: &Values| match fresh.entries.get("message") {
            Some(Value::Bytes(bytes)) => *bytes,
            _ => PacketFormat::of(transport).ack_bytes.into(),
        };
        let is_fast = |fresh: &&Values| fresh.entries.get("fast_open") == Some(&Value::Flag(true));
        Handshakes {
            format: fresh.map(|fresh| Format { mss_bytes: bytes(fresh), header_bytes: 0 }),
            cookies: fresh.filter(is_fast).map(|_| BTreeSet::new()),
        }
    }

    /// What a flow waits for before its data.
    fn before(&mut self, flow: &Flow, topology: &Topology) -> Time {
        let Some(format) = self.format else { return Time::ZERO };
        if self.cookies.as_mut().is_some_and(|cookies| !cookies.insert((flow.src, flow.dst))) {
            return Time::ZERO;
        }
        let way = |src, dst| best_fct(topology, format, src, dst, format.mss_bytes);
        way(flow.src, flow.dst) + way(flow.dst, flow.src)
    }
}

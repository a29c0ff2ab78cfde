//! The invariants of every simulation, whatever the scheme. They are checked from outside, between windows, on what
//! the engine reports of every packet (`engine/inspection.rs`). Debug builds check them always, release builds on
//! request.
//!
//! A violated invariant is a fault of the program, never of a scenario. The run ends with the invariant, where it
//! was violated, and the figures.

mod credits;
mod links;
mod nodes;
mod order;
mod pauses;
mod rows;
#[cfg(test)]
mod tests;
mod windows;

pub use rows::check_rows;

use crate::engine::{Event, Inspection, Report};
use crate::flow::{Flow, FlowId, HostId};
use crate::packet::Format;
use crate::packet::Kind;
use crate::queue::Specification;
use crate::topology::Topology;
use crate::units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The invariant.
    pub invariant: &'static str,
    /// Where, and the figures.
    pub what: String,
    /// By when: it was found in the look at this time.
    pub at: Time,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { invariant, what, at } = self;
        write!(f, "an invariant is violated, which is a fault of packetloom: {invariant}: {what}, at {at}")
    }
}

type Verdict = Result<(), Violation>;

/// The facts about a case that its invariants depend on.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// The network.
    pub topology: &'a Topology,
    /// The queue of every switch port.
    pub queue: &'a Specification,
    /// The queue of every host.
    pub nic: &'a Specification,
    /// How flows are cut into packets.
    pub format: Format,
    /// The largest packet of any kind.
    pub largest_packet_bytes: u64,
    /// Whether all packets of a flow, or subflow, take one path as long as nothing breaks.
    pub one_path: bool,
    /// Whether something breaks.
    pub has_faults: bool,
    /// Whether hosts are slow at times: what their NICs have no room for is dropped there.
    pub has_slow_hosts: bool,
}

/// What was sent and received of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct FlowBook {
    /// The flow, once it has started.
    flow: Option<Flow>,
    /// How many data packets its sender reported to have sent: once it was done, or at the end of the run.
    said: Option<u32>,
    packets_sent: u64,
    payload_received: u64,
}

/// Keeps the books of a simulation and compares them with its reports.
#[derive(Debug)]
pub struct Audit {
    topology: Arc<Topology>,
    format: Format,
    now: Time,
    links: links::Links,
    nodes: nodes::Nodes,
    order: order::Order,
    credits: credits::Credits,
    pauses: pauses::Pauses,
    windows: windows::Windows,
    flows: BTreeMap<FlowId, FlowBook>,
    /// Flows reported whole since the last inspection, and when.
    delivered: Vec<(FlowId, Time)>,
    /// Hosts whose own queues have dropped or trimmed packets.
    lossy_hosts: BTreeSet<HostId>,
    /// How many data packets of each flow waited at its host, as of the last look.
    waiting: BTreeMap<FlowId, u64>,
    /// When to look next.
    look_at_hops: u64,
}

/// From one look to the next so many packet-hops pass, and so many per link and per packet that was under way: a
/// look costs about as much as they do.
const HOPS_PER_LOOK: u64 = 4_000;
const HOPS_PER_LOOK_AND_LINK: u64 = 8;
const HOPS_PER_LOOK_AND_PACKET: u64 = 2;

impl Audit {
    /// Empty books.
    pub fn new(terms: Terms<'_>) -> Audit {
        let bound = |queue: &Specification| {
            let drops_early = queue.traits.drops_early.then_some(u64::MAX);
            queue.most_bytes(terms.largest_packet_bytes).or(drops_early)
        };
        let [nic, port] = [terms.nic, terms.queue].map(bound);
        // A shared buffer has invariants of its own (`pauses.rs`), or takes what is not data whatever its size; what waits
        // at a host waits in the host.
        let is_shared = terms.queue.pfc.is_some() || terms.queue.backpressure.is_some();
        let nic_drops = terms.has_slow_hosts.then_some(u64::MAX);
        let (nic, port) = if is_shared { (nic_drops, Some(u64::MAX)) } else { (nic, port) };
        // Hosts share no pool.
        let port = port.into_iter().chain(terms.queue.pool.as_ref().map(|pool| pool.size_bytes)).min();
        let topology = Arc::new(terms.topology.clone());
        Audit {
            format: terms.format,
            now: Time::ZERO,
            links: links::Links::new(&topology, [nic, port]),
            nodes: nodes::Nodes::new(&topology),
            order: order::Order::new(terms),
            credits: credits::Credits::new(terms),
            pauses: pauses::Pauses::new(terms),
            windows: windows::Windows::new(terms),
            flows: BTreeMap::new(),
            delivered: Vec::new(),
            lossy_hosts: BTreeSet::new(),
            waiting: BTreeMap::new(),
            look_at_hops: 0,
            topology,
        }
    }

    /// Whether it is time to look.
    pub fn is_due(&self, packet_hops: u64) -> bool {
        packet_hops >= self.look_at_hops
    }

    /// Whether packets need identities, so that their order can be checked.
    pub fn follows_order(&self) -> bool {
        self.order.is_promised()
    }

    /// Records what happened to flows at hosts.
    pub fn record(&mut self, events: &[Event]) {
        for event in events {
            match *event {
                Event::Started(flow) => {
                    self.flows.entry(flow.id).or_default().flow = Some(flow);
                }
                Event::Delivered { flow, at } => self.delivered.push((flow, at)),
                Event::Closed { flow, report, .. } => {
                    self.flows.entry(flow).or_default().said = Some(report.packets_sent);
                }
                Event::RankEnded { .. } | Event::Refused { .. } => {}
            }
        }
    }

    /// So many bytes of a flow were left out.
    pub fn shorten(&mut self, flow: FlowId, bytes: u64) {
        if let Some(flow) = self.flows.get_mut(&flow).and_then(|book| book.flow.as_mut()) {
            flow.size_bytes -= bytes;
        }
    }

    /// Compares the books with what is seen after so many packet-hops.
    ///
    /// # Errors
    /// The first invariant that is found violated.
    pub fn look(&mut self, seen: &Inspection, packet_hops: u64) -> Verdict {
        let links = self.topology.links.len() as u64;
        let packets =
            seen.links.iter().map(|link| link.queued.len() + link.on_link.len()).sum::<usize>() as u64;
        let hops = (HOPS_PER_LOOK_AND_LINK * links).max(HOPS_PER_LOOK_AND_PACKET * packets);
        self.look_at_hops = packet_hops + HOPS_PER_LOOK.max(hops);
        let invariant = "time never goes backwards";
        ensure(seen.now >= self.now, invariant, seen.now, || format!("it was {}", self.now))?;
        for passage in &seen.passages {
            self.links.put(passage, self.now)?;
            self.nodes.leave(passage);
            self.order.leave(passage, &self.topology);
            let link = &self.topology.links[passage.link as usize];
            if link.src == passage.packet.src && passage.packet.kind == Kind::Data {
                self.flows.entry(passage.packet.flow).or_default().packets_sent += 1;
            }
        }
        for passage in &seen.passages {
            self.order.arrive(passage, &self.topology)?;
        }
        let (nodes, flows, format) = (&mut self.nodes, &mut self.flows, self.format);
        self.links.compare(seen, |link, packet| {
            nodes.enter(link, packet);
            if link.dst == packet.dst && packet.kind == Kind::Data {
                let payload = u64::from(packet.size_bytes).saturating_sub(format.header_bytes);
                flows.entry(packet.flow).or_default().payload_received += payload;
            }
        })?;
        self.nodes.compare(seen)?;
        self.credits.compare(seen)?;
        self.windows.compare(seen)?;
        self.pauses.compare(seen, |node| self.topology.node_name(node))?;
        self.nothing_is_late(seen)?;
        self.delivered_flows_are_whole()?;
        self.look_at_hosts(seen);
        self.now = seen.now;
        Ok(())
    }

    /// Which hosts have lost packets before these left, and what waits there.
    fn look_at_hosts(&mut self, seen: &Inspection) {
        let nics = self.topology.links.iter().zip(&seen.links);
        let nics = nics.filter(|(link, _)| link.src < self.topology.hosts);
        self.waiting.clear();
        for (link, port) in nics {
            if port.counters.drops + port.counters.trims > 0 {
                self.lossy_hosts.insert(link.src);
            }
            for packet in port.queued.iter().filter(|packet| packet.kind == Kind::Data) {
                *self.waiting.entry(packet.flow).or_default() += 1;
            }
        }
    }

    /// Timers go off and flows start at their time.
    fn nothing_is_late(&self, seen: &Inspection) -> Verdict {
        for &(host, due) in &seen.due {
            ensure(due >= seen.now && !seen.is_idle, "no timer is lost", seen.now, || {
                let name = self.topology.node_name(host);
                format!("{name} has a timer, or a flow to start, at {due} that nothing will wake it for")
            })?;
        }
        Ok(())
    }

    fn delivered_flows_are_whole(&mut self) -> Verdict {
        for (flow, at) in self.delivered.drain(..) {
            let book = self.flows.get(&flow).copied().unwrap_or_default();
            let (came, size) = (book.payload_received, book.flow.map(|flow| flow.size_bytes));
            let told = size.map_or("nobody knows of how many".to_owned(), |size| format!("it has {size} B"));
            let invariant = "a flow is whole only when all its bytes have come";
            ensure(size.is_some_and(|size| came >= size), invariant, at, || {
                format!("flow {flow}: {came} B came; {told}")
            })?;
        }
        Ok(())
    }

    /// Compares what senders report with what they put onto their links and what waits there; `unfinished`: the
    /// reports of flows whose senders are not done.
    ///
    /// # Errors
    /// A sender that miscounted.
    pub fn finish(mut self, unfinished: impl Iterator<Item = (FlowId, Report)>) -> Verdict {
        for (flow, report) in unfinished {
            self.flows.entry(flow).or_default().said = Some(report.packets_sent);
        }
        for (id, book) in &self.flows {
            let FlowBook { flow: Some(flow), packets_sent, .. } = book else { continue };
            let waiting = self.waiting.get(id).copied().unwrap_or(0);
            let (said, sent) = (u64::from(book.said.unwrap_or(0)), packets_sent + waiting);
            let is_lossy = self.lossy_hosts.contains(&flow.src);
            ensure(
                if is_lossy { sent <= said } else { sent == said },
                "senders count what they send",
                self.now,
                || {
                    let at_host = format!("{packets_sent} went onto its link, {waiting} wait before it");
                    format!("flow {id}: its sender counted {said} data packets; {at_host}")
                },
            )?;
        }
        Ok(())
    }
}

fn ensure(holds: bool, invariant: &'static str, at: Time, what: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(Violation { invariant, what: what(), at }) }
}

//! The engine: clock, windows, and the nodes' turns.
//!
//! Nodes share nothing, and nothing gets from one to another sooner than the shortest link lets it. So time is
//! processed in windows no longer than that (see `calendar.rs`); in each, every node with something to do gets one turn,
//! in which it merges what arrives over its links, in order of time and then link, with its own timers. No global
//! order of events exists, and none is needed: what a node sees does not depend on when other nodes have their turns,
//! nor on how long a window is.

mod agenda;
mod agent;
mod calendar;
mod channel;
mod endpoint;
mod host;
mod log;
mod port;
mod switch;
mod wires;

pub use agenda::Timer;
pub use agent::{Moment, PathNeeds, Place, PortAgent};
pub use endpoint::{Context, Transport};
pub use log::{Event, Log, Report};
use port::Discipline;
pub use port::{Port, PortCounters};

use crate::fault::Faults;
use crate::flow::HostId;
use crate::measure::QueueRecorder;
use crate::queue::{self, Pool};
use crate::random::{Purpose, Stream};
use crate::routing::{self, Detours, Paths, Router};
use crate::spec::Values;
use crate::topology::{Forwarding, Topology};
use crate::units::{ByteTime, Time};
use crate::workload::Workload;
use calendar::Calendar;
use host::Host;
use switch::{CutThrough, Switch};
use wires::Wires;

/// What was done, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets that reached the far end of a link, of any kind.
    pub packet_hops: u64,
    /// Arrivals, departures from buffers, timers and flow starts.
    pub events: u64,
}

/// Everything an engine is built from.
pub struct Plan<'a> {
    /// The network.
    pub topology: &'a Topology,
    /// The queue of every switch port.
    pub queue: &'a Values,
    /// The queue of every host's NIC.
    pub nic: &'a Values,
    /// The transport, whose parameters its agents at the ports read.
    pub transport: &'a Values,
    /// How switches choose among equal next hops.
    pub routing: &'a Values,
    /// What breaks.
    pub faults: &'a Faults,
    /// The run's seed.
    pub seed: u64,
    /// The smallest packet that the transport sends.
    pub smallest_packet_bytes: u64,
    /// How queues are watched, if they are.
    pub recorder: Option<QueueRecorder>,
    /// How long a window may be, beside what the network allows. Results must not depend on it.
    pub longest_window: Time,
}

/// A simulation of one transport on one network.
pub struct Engine<T: Transport> {
    hosts: Vec<Host<T>>,
    switches: Vec<Switch>,
    /// The switches' ports; the hosts have their own.
    ports: Vec<Port<T::Header, T::Agent>>,
    wires: Wires<T::Header>,
    /// The node that each slot belongs to.
    owners: Vec<u32>,
    /// What hosts told since it was last read.
    pub log: Log,
    tally: Tally,
    now: Time,
}

impl<T: Transport> Engine<T> {
    /// A network at rest, with a transport for each host.
    pub fn new(plan: &Plan<'_>, transport: impl Fn() -> T) -> Engine<T> {
        let topology = plan.topology;
        let slots = Slots::of(topology);
        let slot_count = slots.owners.len();
        let window = shortest_way(topology, plan.smallest_packet_bytes).min(plan.longest_window);
        let mut wires = Wires::new(slot_count, Calendar::new(slot_count, window));
        let mut numbers = slots.of_link.clone();
        for (link, fault) in plan.faults.links(plan.seed) {
            numbers[link] = wires.add_fault(numbers[link], fault);
        }
        let observed = plan.recorder.is_some();
        let nic = Discipline::build(plan.nic, observed);
        let switch_queue = Discipline::build(plan.queue, observed);
        let port = |link: usize, discipline: &Discipline<T::Header>| {
            let random = Stream::new(plan.seed, Purpose::Queue, link as u64);
            let place = Place { link: link as u32, rate: topology.links[link].rate };
            let agent = T::Agent::build(plan.transport, place);
            let number = numbers[link];
            let link = &topology.links[link];
            Port::new(topology, link, number, discipline.clone(), plan.recorder.clone(), random, agent)
        };
        let host_count = topology.hosts;
        let code = routing::path_code(plan.routing, topology);
        let hosts = (0..host_count)
            .map(|id| {
                let nic = port(topology.nodes[id as usize].ports.start as usize, &nic);
                let code = code.as_ref().filter(|_| routing::hosts_choose(plan.routing));
                let paths = code.map(|code| Paths::new(topology, code, plan.routing, id, plan.seed));
                let mut transport = transport();
                if let Some(recorder) = &plan.recorder {
                    transport.watch_pulls(recorder);
                }
                Host::new(id, transport, nic, paths, slots.first[id as usize], plan.seed)
            })
            .collect();
        let beliefs = plan.faults.beliefs();
        let detours = (!beliefs.is_empty()).then(|| Detours::of(topology, &beliefs));
        let switches = (host_count..topology.nodes.len() as u32)
            .map(|id| {
                let node = &topology.nodes[id as usize];
                let range = slots.first[id as usize]..slots.first[id as usize + 1];
                let mut router = Router::new(topology, id, plan.routing, code.as_ref(), plan.seed);
                if let Some(detours) = &detours {
                    let random = Stream::new(plan.seed, Purpose::Detours, id.into());
                    router = router.with_detours(detours[id as usize].clone(), random);
                }
                let pool = Pool::build(plan.queue);
                let cut = cut_through(topology, id);
                let credit_bytes = queue::credit_bytes(plan.queue).map(|bytes| bytes as u16);
                let returns = queue::returns_to_sender(plan.queue);
                let looks_back = T::Agent::ACTIVE || credit_bytes.is_some();
                let back = if looks_back { ways_back(topology, id) } else { Vec::new() };
                Switch::new(router, node.ports.clone(), range, back, pool, credit_bytes, returns, cut)
            })
            .collect();
        let ports =
            (host_count as usize..topology.links.len()).map(|link| port(link, &switch_queue)).collect();
        Engine {
            hosts,
            switches,
            ports,
            wires,
            owners: slots.owners,
            log: Log::default(),
            tally: Tally::default(),
            now: Time::ZERO,
        }
    }

    /// Runs the workload to its end, or to `max_time`. After every window `after_window` gets the log to read and
    /// empty, the tally, the time, and what is left of the workload; it returns whether to go on.
    pub fn run(
        &mut self,
        workload: &mut Workload,
        max_time: Time,
        mut after_window: impl FnMut(&mut Log, &Tally, Time, &Workload) -> bool,
    ) {
        for chain in workload.take_chains() {
            self.hosts[chain.src as usize].add_chain(chain, &mut self.wires);
        }
        let (flows, triggers) = workload.take_dependencies();
        for flow in flows {
            self.hosts[flow.src as usize].add_flow(flow, &mut self.wires);
        }
        for (host, triggers) in triggers {
            self.hosts[host as usize].add_triggers(triggers);
        }
        let mut due = Vec::new();
        let mut arrivals = Vec::new();
        while let Some(window) = self.next_window(workload) {
            let end = self.wires.calendar.end_of(window).min(max_time);
            let start = Time(self.wires.calendar.end_of(window).as_ps() - self.window_span());
            if start >= max_time {
                break;
            }
            self.start_flows(workload, end);
            self.wires.calendar.open(window, &mut due);
            self.run_window(start, end, &due, &mut arrivals);
            self.now = end;
            if workload.has_dependencies() {
                self.log.tell(workload);
            }
            // What is left of a window that max_time cuts short must not be asked for again.
            if !after_window(&mut self.log, &self.tally, end, workload) || end == max_time {
                break;
            }
        }
    }

    /// The time up to which everything happened.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What was done.
    pub fn tally(&self) -> Tally {
        let nics = self.hosts.iter().map(|host| host.nic.departures());
        let departures: u64 = nics.chain(self.ports.iter().map(Port::departures)).sum();
        Tally { events: self.tally.events + departures, ..self.tally }
    }

    /// How many packets are on links (for FIFO ports: or wait for them).
    pub fn in_flight(&self) -> u64 {
        self.wires.in_flight()
    }

    /// What went through every port until `end`, and its queue's record, in the order of the topology's links.
    pub fn ports(&mut self, end: Time) -> impl Iterator<Item = (PortCounters, Option<QueueRecorder>)> {
        let wires = &self.wires;
        let ports = self.hosts.iter_mut().map(|host| &mut host.nic).chain(&mut self.ports);
        ports.map(move |port| (port.counters(end, wires), port.recorder(end).cloned()))
    }

    /// The record of every host's queue of pulls until `end`, where there is one.
    pub fn pulls(&mut self, end: Time) -> impl Iterator<Item = (HostId, QueueRecorder)> {
        let hosts = (0..).zip(&mut self.hosts);
        hosts.filter_map(move |(id, host)| Some((id, host.pulls(end)?)))
    }

    fn window_span(&self) -> u64 {
        self.wires.calendar.end_of(0).as_ps()
    }

    fn next_window(&self, workload: &Workload) -> Option<u64> {
        let flow = workload.peek_start().map(|start| self.wires.calendar.window_of(start));
        let work = self.wires.calendar.next_window();
        flow.into_iter().chain(work).min()
    }

    fn start_flows(&mut self, workload: &mut Workload, end: Time) {
        while workload.peek_start().is_some_and(|start| start < end) {
            let Some(flow) = workload.next_flow() else { break };
            self.hosts[flow.src as usize].add_flow(flow, &mut self.wires);
        }
    }

    /// Gives each node with something due its turn. A node's slots follow each other, its agenda's last.
    fn run_window(&mut self, start: Time, end: Time, due: &[u32], arrivals: &mut Vec<u64>) {
        let host_count = self.hosts.len() as u32;
        let owners = &self.owners;
        for slots in due.chunk_by(|&a, &b| owners[a as usize] == owners[b as usize]) {
            let node = owners[slots[0] as usize];
            if node < host_count {
                let host = &mut self.hosts[node as usize];
                host.run_until(end, &mut self.wires, &mut self.log, &mut self.tally);
            } else {
                let switch = &mut self.switches[(node - host_count) as usize];
                let (ports, wires) = (&mut self.ports, &mut self.wires);
                switch.run_window(start, end, slots, ports, host_count, wires, arrivals, &mut self.tally);
            }
        }
    }
}

/// Numbers for the links' far ends and the nodes' agendas, grouped by node.
struct Slots {
    /// Each node's first slot, and one more entry for the end.
    first: Vec<u32>,
    of_link: Vec<u32>,
    owners: Vec<u32>,
}

impl Slots {
    fn of(topology: &Topology) -> Slots {
        let nodes = topology.nodes.len();
        let mut links_into = vec![0_u32; nodes];
        for link in &topology.links {
            links_into[link.dst as usize] += 1;
        }
        let mut first = vec![0];
        let mut owners = Vec::new();
        for (node, links) in links_into.iter().enumerate() {
            owners.extend(std::iter::repeat_n(node as u32, *links as usize + 1));
            first.push(owners.len() as u32);
        }
        let mut next = first.clone();
        let of_link = topology.links.iter().map(|link| {
            let slot = &mut next[link.dst as usize];
            *slot += 1;
            *slot - 1
        });
        let of_link = of_link.collect();
        Slots { first, of_link, owners }
    }
}

/// The least time from a node's decision to send to another node's notice of it.
fn shortest_way(topology: &Topology, smallest_packet_bytes: u64) -> Time {
    let seen = match topology.forwarding {
        Forwarding::CutThrough { header_bytes, .. } => smallest_packet_bytes.min(header_bytes.into()),
        Forwarding::StoreAndForward => smallest_packet_bytes,
    };
    let way = |link: &crate::topology::Link| {
        link.latency + Time(link.rate.time_for(seen + topology.framing_bytes).as_ps().saturating_sub(1))
    };
    topology.links.iter().map(way).min().unwrap_or(Time(1))
}

/// For each link into a node, in order, the port that leads back; parallel links pair up in order.
fn ways_back(topology: &Topology, node: u32) -> Vec<u32> {
    let ports = topology.nodes[node as usize].ports.clone();
    let mut taken = vec![false; ports.len()];
    let links_in = topology.links.iter().filter(|link| link.dst == node);
    links_in
        .map(|link| {
            let is_way = |&port: &u32| {
                topology.links[port as usize].dst == link.src && !taken[(port - ports.start) as usize]
            };
            let port = ports.clone().find(is_way).expect("every link has one that leads back");
            taken[(port - ports.start) as usize] = true;
            port
        })
        .collect()
}

fn cut_through(topology: &Topology, node: u32) -> Option<CutThrough> {
    let Forwarding::CutThrough { header_bytes, underrun: false } = topology.forwarding else { return None };
    // A node's slots have the order in which its links stand among all links.
    let links_in = topology.links.iter().filter(|link| link.dst == node);
    Some(CutThrough { header_bytes, byte_times: links_in.map(|link| ByteTime::at(link.rate)).collect() })
}

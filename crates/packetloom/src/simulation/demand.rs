//! What a case has the network carry, as far as its traffic tells before it runs: what `check` and `run` predict a
//! case's cost from.

use super::Simulation;
use crate::flow::HostId;
use crate::job::Work;
use crate::narrow::exact;
use crate::topology::Topology;
use crate::transport::PacketFormat;
use crate::units::Time;
use crate::workload::job::{Exchange, Job, Operation, Plan};
use crate::workload::{Chain, Workload};
use std::collections::BTreeMap;

/// So many flows that start by the clock are looked at; those that follow are taken to be like them.
const MOST_FLOWS: f64 = 50_000.0;
/// And so many of each chain of a closed loop.
const MOST_FLOWS_OF_A_CHAIN: usize = 200;
/// So many messages of a collective operation are looked at, spread over its ranks and stages.
const MOST_MESSAGES: u32 = 1 << 12;
/// So many ranks of it.
const MOST_RANKS: u32 = 256;
/// The paths between so many hosts tell how long paths are, where flows are not known one by one.
const MOST_HOSTS: u32 = 64;
/// Multiplied by a count, it spreads numbers evenly over any range (Knuth, TAOCP 3, §6.4): unlike a fixed step, it does
/// not favour the ranks or hosts at the edge of servers.
const SPREAD: u64 = 2_654_435_761;

/// Flows, and what they put onto links if every packet is sent once, by the shortest path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Demand {
    /// Flows, or messages of jobs.
    pub flows: f64,
    /// Data packets times links.
    pub packet_hops: f64,
    /// Bytes on all links: data with headers, and an acknowledgement for each packet.
    pub wire_bytes: f64,
}

impl Demand {
    fn add(&mut self, more: Demand, times: f64) {
        self.flows += more.flows * times;
        self.packet_hops += more.packet_hops * times;
        self.wire_bytes += more.wire_bytes * times;
    }

    /// The same of so many flows that are like these.
    fn grown_to(self, flows: f64) -> Demand {
        let mut all = Demand::default();
        if self.flows > 0.0 {
            all.add(self, flows / self.flows);
        }
        all
    }
}

/// What flows of each size and pair come to.
struct Carrier<'a> {
    topology: &'a Topology,
    format: PacketFormat,
    links: BTreeMap<(HostId, HostId), f64>,
}

impl Carrier<'_> {
    fn of(&mut self, (src, dst): (HostId, HostId), bytes: u64) -> Demand {
        let topology = self.topology;
        let links = *self.links.entry((src, dst)).or_insert_with(|| topology.path(src, dst).len() as f64);
        self.over(links, bytes as f64, self.format.data.packets(bytes) as f64)
    }

    fn over(&self, links: f64, bytes: f64, packets: f64) -> Demand {
        let overhead = self.format.data.header_bytes as f64 + f64::from(self.format.ack_bytes);
        Demand { flows: 1.0, packet_hops: packets * links, wire_bytes: (bytes + packets * overhead) * links }
    }

    /// The flows of a closed loop.
    fn of_chain(&mut self, mut chain: Chain) -> Option<Demand> {
        let flows = chain.flows()?;
        let mut seen = Demand::default();
        for flow in std::iter::from_fn(|| chain.next(Time::ZERO)).take(MOST_FLOWS_OF_A_CHAIN) {
            seen.add(self.of((flow.src, flow.dst), flow.size_bytes), 1.0);
        }
        Some(seen.grown_to(flows as f64))
    }

    /// The flows that start by the clock, before a time.
    fn of_flows(&mut self, workload: &mut Workload, until: Time) -> Option<Demand> {
        let most = workload.left_by_clock();
        let mut seen = Demand::default();
        while let Some(flow) = workload.next_flow().filter(|flow| flow.start < until) {
            seen.add(self.of((flow.src, flow.dst), flow.size_bytes), 1.0);
            if seen.flows >= MOST_FLOWS {
                let by_time = (until != Time::NEVER && flow.start > Time::ZERO)
                    .then(|| seen.flows * until.as_ps() as f64 / flow.start.as_ps() as f64);
                let flows = by_time.into_iter().chain(most.map(|most| most as f64)).reduce(f64::min)?;
                return Some(seen.grown_to(flows));
            }
        }
        Some(seen)
    }

    /// Mean links between two hosts.
    fn mean_links(&self) -> f64 {
        let hosts = self.topology.hosts;
        let pairs =
            some(hosts, MOST_HOSTS).flat_map(|src| some(hosts, MOST_HOSTS).map(move |dst| (src, dst)));
        let lengths =
            pairs.filter(|(src, dst)| src != dst).map(|(src, dst)| self.topology.path(src, dst).len());
        let (sum, count) = lengths.fold((0, 0), |(sum, count), links| (sum + links, count + 1));
        sum as f64 / f64::from(count.max(1))
    }

    fn of_job(&mut self, job: &Job) -> Demand {
        let plan = &job.plan;
        let mut all = Demand::default();
        // Layers and micro-batches repeat the same operations.
        let mut known: BTreeMap<(u32, &'static str, u64, u64), Demand> = BTreeMap::new();
        for exchange in plan.exchanges() {
            let one = match exchange {
                &Exchange::Send { rank, place } => self.of_send(plan, rank, place),
                Exchange::Collective(operation) => {
                    let messages = operation.messages();
                    let key = (operation.group, operation.kind.name(), operation.bytes, messages);
                    *known.entry(key).or_insert_with(|| self.of_operation(plan, operation))
                }
            };
            all.add(one, f64::from(plan.settings.repeat));
        }
        all
    }

    fn of_send(&mut self, plan: &Plan, rank: u32, place: u32) -> Demand {
        let work = plan.program.ranks[rank as usize].operations()[place as usize].work;
        let Work::Send { peer, bytes, .. } = work else { return Demand::default() };
        self.of((plan.settings.hosts[rank as usize], plan.settings.hosts[peer as usize]), bytes)
    }

    fn of_operation(&mut self, plan: &Plan, operation: &Operation) -> Demand {
        let host = |place| plan.settings.hosts[plan.rank_at(operation.group, place) as usize];
        let each = (MOST_MESSAGES / operation.ranks.clamp(1, MOST_RANKS) / operation.lanes.max(1)).max(1);
        let mut seen = Demand::default();
        for from in some(operation.ranks, MOST_RANKS) {
            for lane in 0..operation.lanes {
                let pattern = operation.pattern(lane);
                let stages = some(pattern.stages(from), each);
                for slot in stages.flat_map(|stage| pattern.stage(from, stage).slots) {
                    let message = operation.message(lane, from, slot);
                    seen.add(self.of((host(from), host(message.to)), message.bytes), 1.0);
                }
            }
        }
        seen.grown_to((operation.messages() - operation.grants()) as f64)
    }
}

/// The numbers below a bound; if they are more than `most`, so many of them, spread evenly.
fn some(below: u32, most: u32) -> impl Iterator<Item = u32> {
    let number =
        move |nth| if below <= most { nth } else { exact::<u32>(u64::from(nth) * SPREAD % u64::from(below)) };
    (0..below.min(most)).map(number)
}

impl Simulation {
    /// What the case has the network carry; nothing where that depends on how long flows take: where sources go on
    /// until a time, or until those of others are done.
    pub fn demand(mut self) -> Option<Demand> {
        // How much background flows send depends on how long the others take.
        if self.workload.background().contains(&true) {
            return None;
        }
        // What all-reduces send depends on which requests are served together.
        if self.workload.serving().is_some_and(|plan| plan.exchanges()) {
            return None;
        }
        let transport = self.transport();
        let has_answers = !crate::central::is_central(&transport.kind);
        let ack_bytes = if has_answers { PacketFormat::of(&transport).ack_bytes } else { 0 };
        let format = PacketFormat { data: self.setting.format, ack_bytes };
        let mut carrier = Carrier { topology: &self.setting.topology, format, links: BTreeMap::new() };
        let mut all = Demand::default();
        for job in self.workload.jobs() {
            all.add(carrier.of_job(job), 1.0);
        }
        for source in self.workload.triggered_sources() {
            let flows = source.flows.unwrap_or(0) as f64;
            let packets = (source.mean_bytes / format.data.mss_bytes as f64).ceil();
            all.add(carrier.over(carrier.mean_links(), source.mean_bytes, packets), flows);
        }
        let chains = self.workload.take_chains();
        for chain in chains {
            all.add(carrier.of_chain(chain)?, 1.0);
        }
        let until = self.setting.max_time().min(self.environment.duration.unwrap_or(Time::NEVER));
        all.add(carrier.of_flows(&mut self.workload, until)?, 1.0);
        Some(all)
    }
}

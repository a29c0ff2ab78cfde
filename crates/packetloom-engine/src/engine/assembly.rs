//! Putting an engine together from its plan.

use super::Plan;
use super::agent::{PortAgent, PortInfo};
use super::arrival;
use super::calendar::Calendar;
use super::due::Due;
use super::endpoint::Transport;
use super::host::{Host, Intake, Messages, Processing};
use super::link_table::{LinkEnd, LinkTable};
use super::nic::{Nic, Several};
use super::partition::Partition;
use super::port::{Discipline, Port};
use super::shard::Shard;
use super::switch::{
    Backpressure, Balance, Credits, CutThrough, Equipment, LinkControl, LinkFacts, PauseSettings, Pauses,
    PortFacts, Returns, Switch, Ties, Updates, Windows,
};
use crate::fault::{LinkFault, SlowHost};
use crate::narrow::exact;
use crate::queue::{Headroom, Loans, Memory, Pool, Site, Specification, WindowSettings};
use crate::random::{Purpose, Stream};
use crate::record::{QueueRecorder, SentRecorder};
use crate::routing::{self, Detours, PathChoice, PathCode, Router, Weights};
use crate::topology::KnownRates;
use crate::topology::{Forwarding, Link, MessageCosts, Topology};
use crate::units::Time;
use std::collections::BTreeMap;
use std::ops::Range;

/// A plan, and what all nodes' building has in common.
pub(super) struct Assembly<'a> {
    plan: &'a Plan<'a>,
    partition: &'a Partition,
    nic: Discipline,
    switch_queue: Discipline,
    /// Whether packets wait in them until they start.
    held: bool,
    /// Where sources choose paths, how they write them.
    code: Option<PathCode>,
    detours: Option<Vec<Detours>>,
    faults: BTreeMap<usize, LinkFault>,
    /// What switches know of links whose rates have changed, and what their balancers share.
    known_rates: KnownRates,
    common: routing::Common,
    weights: Option<Vec<Weights>>,
}

/// A host's NIC, and what else does not depend on its transport.
struct HostNic<H, A> {
    id: u32,
    node: u32,
    nic: Nic<H, A>,
    ways_back: Vec<u32>,
    paths: Option<PathChoice>,
}

/// All of a shard but its transports: compiled once for each packet format, not for each transport.
struct Nodes<H, A> {
    nics: Vec<HostNic<H, A>>,
    switches: Vec<Switch>,
    /// The switches' ports, switch by switch.
    ports: Vec<Port<H, A>>,
    /// The links that the NICs and then the switches' ports send into.
    links: Vec<u32>,
    link_table: LinkTable<H>,
}

impl<'a> Assembly<'a> {
    /// `held`: packets wait in buffers until they start, as somebody sees them leave.
    pub(super) fn new(plan: &'a Plan<'a>, partition: &'a Partition, held: bool) -> Assembly<'a> {
        let (known_outages, known_rates) = (plan.faults.known_outages(), plan.faults.known_rates());
        Assembly {
            plan,
            partition,
            nic: Discipline::build(plan.nic, is_observed(plan, false), held),
            switch_queue: Discipline::build(plan.queue, is_observed(plan, true), held),
            held,
            code: routing::path_code(plan.routing, plan.topology),
            common: routing::common(plan.routing, plan.topology, &known_rates, plan.seed),
            weights: routing::weights(plan.routing, plan.topology, &known_rates),
            known_rates,
            detours: (!known_outages.is_empty()).then(|| Detours::of(plan.topology, &known_outages)),
            faults: plan.faults.links(plan.seed),
        }
    }

    /// A shard at rest, with a transport for each of its hosts.
    pub(super) fn shard<'t, T: Transport + 't>(
        &self,
        shard: usize,
        transport: &impl Fn() -> T,
    ) -> Shard<'t, T::Header, T::Agent> {
        let Nodes { nics, switches, ports, links, link_table } = self.nodes(shard);
        let transports: Vec<T> = nics.iter().map(|_| transport()).collect();
        Shard {
            first_host: self.partition.nodes[shard].first().copied().unwrap_or(0),
            hosts: nics.into_iter().map(|nic| self.host(nic, T::HAS_PULLS)).collect(),
            transports: Box::new(transports),
            switches,
            ports,
            links,
            link_table,
            tally: Default::default(),
            due: Due::default(),
            routed: Vec::new(),
        }
    }

    fn host<H: Copy + Default, A: PortAgent<H>>(&self, nic: HostNic<H, A>, has_pulls: bool) -> Host<H, A> {
        let HostNic { id, node, nic, ways_back, paths } = nic;
        let mut host = Host::new(id, (nic, ways_back), paths, node, self.plan.seed);
        if has_pulls && let Some(recorder) = self.recorder() {
            host.watch_pulls(recorder);
        }
        if self.plan.measures_order {
            host.measure_order();
        }
        if let Some(watch) = &self.plan.watched {
            host.sample(watch);
        }
        if let Some(slow) = self.plan.faults.slow_host(id) {
            host.slow_down(self.intake(id, slow));
        }
        if let Some(takes) = self.plan.topology.processing {
            host.process(Processing::new(takes, self.plan.seed, id));
        }
        if self.plan.topology.message_costs != MessageCosts::default() {
            host.charge_messages(Messages::new(self.plan.topology.message_costs));
        }
        host
    }

    /// All of a shard but its transports.
    fn nodes<H: Copy + Default, A: PortAgent<H>>(&self, shard: usize) -> Nodes<H, A> {
        let (topology, nodes) = (self.plan.topology, &self.partition.nodes[shard]);
        let mut link_table = self.link_table(nodes.len());
        let host_count = nodes.partition_point(|&node| node < topology.hosts);
        let (hosts, switches) = nodes.split_at(host_count);
        let nics = hosts.iter().zip(0..).map(|(&id, node)| self.host_nic((id, node), shard, &mut link_table));
        let nics = nics.collect();
        let mut ports = Vec::new();
        let build = |(&id, node): (&u32, u32)| {
            let first_port = ports.len();
            let links = topology.nodes[id as usize].ports.clone();
            ports.extend(links.map(|link| self.port(link, &self.switch_queue, shard, &mut link_table)));
            self.switch(id, first_port..ports.len(), node, A::ACTIVE)
        };
        let switches = switches.iter().zip(exact::<u32>(host_count)..).map(build).collect();
        let links = nodes.iter().flat_map(|&node| topology.nodes[node as usize].ports.clone()).collect();
        Nodes { nics, switches, ports, links, link_table }
    }

    /// How long windows are.
    fn window(&self) -> Time {
        let window = shortest_way(self.plan.topology, self.plan.smallest_packet_bytes);
        window.min(self.plan.longest_window).min(arrival::LONGEST_WINDOW)
    }

    /// What follows a queue, if queues are followed. That the last flow ended is known when its window is over.
    fn recorder(&self) -> Option<QueueRecorder> {
        self.plan.recorder.clone().map(|recorder| recorder.held_for(self.window()))
    }

    fn link_table<H: Copy + Default>(&self, nodes: usize) -> LinkTable<H> {
        let plan = self.plan;
        let mut link_table = LinkTable::new(self.partition.nodes.len(), Calendar::new(nodes, self.window()));
        link_table.whole_ns = plan.topology.whole_ns;
        if routing::is_balanced(plan.routing) || plan.measures_order {
            link_table.packets.keep_tags();
        }
        link_table.numbers = plan.measures_order.then(Box::default);
        link_table
    }

    fn host_nic<H: Copy + Default, A: PortAgent<H>>(
        &self,
        (id, node): (u32, u32),
        shard: usize,
        link_table: &mut LinkTable<H>,
    ) -> HostNic<H, A> {
        let plan = self.plan;
        let nic = self.nic(id, shard, link_table);
        let links_in = &self.partition.links_in[id as usize];
        let has_messages = plan.nic.credit_bytes().or(plan.nic.pause_bytes()).is_some();
        let ways_back = if has_messages { ways_back(plan.topology, id, links_in) } else { Vec::new() };
        let paths = PathChoice::build(plan.topology, self.code.as_ref(), plan.routing, id, plan.seed);
        HostNic { id, node, nic, ways_back, paths }
    }

    fn port<H: Copy + Default, A: PortAgent<H>>(
        &self,
        link: u32,
        discipline: &Discipline,
        shard: usize,
        link_table: &mut LinkTable<H>,
    ) -> Port<H, A> {
        let plan = self.plan;
        let far_end = self.partition.far_ends[link as usize];
        let mut end = match far_end.shard as usize == shard {
            true => LinkEnd::at(far_end.node, far_end.link),
            false => link_table.add_crossing(far_end),
        };
        if let Some(fault) = self.faults.get(&(link as usize)) {
            end = link_table.add_fault(end, fault.clone());
        }
        if plan.captured.contains(&(link as usize)) {
            end = link_table.add_capture(end);
        }
        if let Some(interval) = plan.sent_interval {
            end = link_table.watch(end, SentRecorder::new(interval));
        }
        if plan.audited {
            end = link_table.audit(end, link);
        }
        // An unlimited, unobserved queue records nothing in it.
        let watched_for_audit = || plan.audited.then(|| QueueRecorder::new(None));
        let recorder = self.recorder().or_else(watched_for_audit);
        let random = Stream::new(plan.seed, Purpose::Queue, link.into());
        let Link { src, rate, .. } = plan.topology.links[link as usize];
        let port = PortInfo { link, rate, is_switch: src >= plan.topology.hosts, seed: plan.seed };
        let agent = A::build(plan.transport, port);
        let link = &plan.topology.links[link as usize];
        let discipline = match plan.faults.queue_part(port.link as usize) {
            Some(part) => self.part_of_queue(port.is_switch, part),
            None => discipline.clone(),
        };
        let site = site(plan.topology, link, plan.largest_packet_bytes, plan.logs_pauses);
        let discipline = discipline.place(site);
        Port::new(plan.topology, link, end, discipline, recorder, random, agent).book(link_table)
    }

    /// A part of a switch's queue, or of a NIC's.
    fn part_of_queue(&self, is_switch: bool, part: f64) -> Discipline {
        let queue = if is_switch { self.plan.queue } else { self.plan.nic };
        Discipline::build(&queue.part_of_sizes(part), is_observed(self.plan, is_switch), self.held)
    }

    /// The buffer of a host's NIC that takes packets slowly, which pauses as the NIC's queue says.
    fn intake(&self, id: u32, slow: &SlowHost) -> Intake {
        let (pfc, topology) = (self.plan.nic.pfc.expect("a slow host's NIC pauses"), self.plan.topology);
        let pfc = slow.buffer(pfc);
        let links_in = self.partition.links_in[id as usize].iter();
        let links: Vec<_> =
            links_in.map(|&link| (link as usize, topology.link_back(link as usize))).collect();
        let of_link = |&(link, back): &(usize, usize)| {
            let (link, back) = (&topology.links[link], &topology.links[back]);
            (link.rate, Headroom::new(link, back, topology, &pfc, self.plan.largest_packet_bytes).of(&pfc))
        };
        let limits: Vec<_> = links.iter().map(of_link).collect();
        let memory = Memory::build(&pfc, &limits, topology.nic_rate());
        let settings = PauseSettings::of(&pfc.pauses);
        let backs = limits.iter().zip(&links).map(|((rate, _), (_, back))| (*rate, exact::<u32>(*back)));
        Intake::new(memory, settings, slow.when.clone(), backs.collect())
    }

    fn nic<H: Copy + Default, A: PortAgent<H>>(
        &self,
        id: u32,
        shard: usize,
        link_table: &mut LinkTable<H>,
    ) -> Nic<H, A> {
        let topology = self.plan.topology;
        let links = topology.nodes[id as usize].ports.clone();
        if links.len() == 1 {
            return Nic::One(self.port(links.start, &self.nic, shard, link_table));
        }
        let ports = links.map(|link| self.port(link, &self.nic, shard, link_table)).collect();
        let several = Several::new(ports, self.router(id), topology.rate_of(id), topology.framing_bytes);
        Nic::Several(Box::new(several))
    }

    fn router(&self, id: u32) -> Router {
        let plan = self.plan;
        let router = Router::new(plan.topology, id, plan.routing, self.code.as_ref(), plan.seed);
        let router = match &plan.flow_ports {
            Some(ports) => router.with_ports(ports),
            None => router,
        };
        let router = match &self.weights {
            Some(weights) => router.with_weights(weights[id as usize].clone()),
            None => router,
        };
        let Some(detours) = &self.detours else { return router };
        router.with_detours(detours[id as usize].clone(), id, plan.seed)
    }

    /// The shared buffer of a switch, if that is its queue; `back`: its ports that lead back, link by link.
    fn pauses(&self, id: u32, back: &[u32]) -> Option<Pauses> {
        let (pfc, topology) = (self.plan.queue.pfc.as_ref()?, self.plan.topology);
        let settings = PauseSettings::of(&pfc.pauses);
        let links_in = &self.partition.links_in[id as usize];
        let first_link_out = topology.nodes[id as usize].ports.start;
        let link = |(&link, &back): (&u32, &u32)| {
            let link = &topology.links[link as usize];
            let back = &topology.links[(first_link_out + back) as usize];
            let packet_bytes = self.plan.largest_packet_bytes;
            (link.rate, Headroom::new(link, back, topology, pfc, packet_bytes).of(pfc))
        };
        let links: Vec<_> = links_in.iter().zip(back).map(link).collect();
        let ties = match pfc.ties_as_ns3 {
            true => Ties::as_in_ns3(links_in.len()),
            false => Ties::Rotate { turn: 0 },
        };
        let memory = Memory::build(pfc, &links, topology.nic_rate());
        Some(Pauses::new(memory, settings, ties, (id, first_link_out)))
    }

    /// The windows of a switch.
    fn windows(&self, id: u32, settings: &WindowSettings) -> Windows {
        let topology = self.plan.topology;
        let tier = |node: u32| topology.nodes[node as usize].tier;
        let link = |number: usize| &topology.links[number];
        let is_topmost = topology.nodes.iter().all(|node| node.tier <= tier(id));
        let of_port = |number: u32| {
            let Link { dst, latency, rate, .. } = *link(number as usize);
            let is_upwards = tier(dst) >= tier(id);
            let has_window = tier(dst) > 0 && (is_upwards || is_topmost || settings.has_windows_downwards);
            let window_bytes = || settings.window_bytes(latency, rate, self.plan.largest_packet_bytes);
            PortFacts { window_bytes: has_window.then(window_bytes), is_upwards }
        };
        let of_link = |number: &u32| {
            let Link { src, latency, rate, .. } = *link(*number as usize);
            let is_from_switch = tier(src) > 0;
            let above = settings.pause_above_bytes(latency, rate);
            LinkFacts { is_from_switch, pause_above_bytes: above.filter(|_| !is_from_switch) }
        };
        let out = topology.nodes[id as usize].ports.clone();
        let delays = out.clone().map(|number| {
            let Link { latency, rate, .. } = *link(number as usize);
            settings.delay_above_bytes(latency, rate)
        });
        let facts =
            (out.map(of_port).collect(), self.partition.links_in[id as usize].iter().map(of_link).collect());
        Windows::new(facts, settings, (topology.hosts, delays.max().unwrap_or(u64::MAX)))
    }

    /// `has_agents`: the transport has an agent at each of its ports.
    fn switch(&self, id: u32, ports: Range<usize>, node: u32, has_agents: bool) -> Switch {
        let (plan, topology) = (self.plan, self.plan.topology);
        let numbers_in = &self.partition.links_in[id as usize];
        let links_in = || numbers_in.iter().map(|&link| &topology.links[link as usize]);
        let queue = plan.queue;
        let credit_bytes = queue.credit_bytes().map(|bytes| exact::<u16>(bytes));
        let pauses = queue.pfc.is_some() || queue.backpressure.is_some();
        let looks_back = has_agents || credit_bytes.is_some() || pauses;
        let back = if looks_back { ways_back(topology, id, numbers_in) } else { Vec::new() };
        let to_hosts = || {
            let hosts = back.iter().zip(0..).zip(links_in()).filter(|(_, link)| link.src < topology.hosts);
            hosts.map(|((&port, number), _)| (port, number)).collect::<Vec<_>>()
        };
        let credits = credit_bytes.map(|bytes| {
            let returns = self.returns(&back, topology.nodes[id as usize].ports.start);
            let loans = queue.daq.as_ref().and_then(|settings| Loans::build(settings, &to_hosts()));
            LinkControl::Credits(Credits::new(bytes, returns, loans))
        });
        let pauses = || {
            let pauses = self.pauses(id, &back)?;
            let pauses = match &queue.windows {
                Some(settings) => pauses.with_windows(self.windows(id, settings)),
                None => pauses,
            };
            Some(LinkControl::Pauses(Box::new(pauses)))
        };
        let control = credits.or_else(pauses).or_else(|| {
            let backpressure = Backpressure::of(queue.backpressure.as_ref()?, numbers_in.len());
            Some(LinkControl::Backpressure(Box::new(backpressure)))
        });
        let links_out = topology.nodes[id as usize].ports.clone();
        let rates = links_out.map(|link| topology.links[link as usize].rate);
        Switch::new(Equipment {
            router: self.router(id),
            ports,
            node,
            ways_back: back,
            has_agents,
            pool: queue.pool.as_ref().map(|pool| Pool::build(pool, rates)),
            control,
            balance: self.balance(id),
            returns: queue.returns_to_sender,
            traces_from: plan.measures_order.then_some(topology.nodes[id as usize].ports.start),
            cut_through: cut_through(topology, links_in()),
            ties: queue.ties_as_ns3.then(|| Ties::as_in_ns3(numbers_in.len())),
        })
    }

    /// When a switch returns credits to its links, whose ways back are these; `first`: the link of its first port.
    fn returns(&self, back: &[u32], first: u32) -> Returns {
        let topology = self.plan.topology;
        let Some(credit) = self.plan.queue.credit else { return Returns::AtOnce(Vec::new()) };
        let spacing = |port: &u32| {
            topology.byte_time(topology.links[(first + port) as usize].rate).of(credit.spacing_bytes)
        };
        Returns::Spaced(Updates::new(back.iter().map(spacing)))
    }

    /// What balances at a switch, if something does.
    fn balance(&self, id: u32) -> Option<Balance> {
        let Plan { topology, routing, flow_ports, seed, .. } = self.plan;
        let known = (&self.known_rates, &self.common, flow_ports.as_ref());
        let balancer = routing::balancer((topology, id), routing, known, *seed)?;
        Some(Balance::new(balancer, id))
    }
}

/// Whether somebody looks at the lengths of switches' queues, or of NICs'.
fn is_observed(plan: &Plan<'_>, is_switch: bool) -> bool {
    plan.recorder.is_some() || (is_switch && routing::is_balanced(plan.routing))
}

/// This queue at each port of the switches, or of one of them, by its link.
pub fn at_switches(
    topology: &Topology,
    queue: &Specification,
    switch: Option<u32>,
) -> Vec<(u32, Discipline)> {
    let links = topology.links.iter().zip(0..);
    let chosen = links.filter(|(link, _)| {
        topology.nodes[link.src as usize].tier > 0 && switch.is_none_or(|switch| switch == link.src)
    });
    chosen
        .map(|(link, nth)| {
            (nth, Discipline::build(queue, false, false).place(site(topology, link, 0, false)))
        })
        .collect()
}

/// Where the queue before a link is.
fn site(topology: &Topology, link: &Link, largest_packet_bytes: u64, logs_pauses: bool) -> Site {
    let packet_takes = topology.byte_time(link.rate).of(largest_packet_bytes + topology.framing_bytes);
    let far = &topology.nodes[link.dst as usize];
    Site {
        is_switch: topology.nodes[link.src as usize].tier > 0,
        rate: link.rate,
        host_rate: topology.nic_rate(),
        framing_bytes: topology.framing_bytes,
        hop_rtt: link.latency.times(2) + packet_takes,
        logs_pauses,
        far_links: (far.tier > 0).then_some(far.ports.len() as u64),
    }
}

/// The least time from a node's decision to send to another node's notice of it.
fn shortest_way(topology: &Topology, smallest_packet_bytes: u64) -> Time {
    let seen = match topology.forwarding {
        Forwarding::CutThrough { header_bytes, .. } => smallest_packet_bytes.min(header_bytes.into()),
        Forwarding::StoreAndForward => smallest_packet_bytes,
    };
    let way = |link: &Link| {
        let takes = topology.byte_time(link.rate).of(seen + topology.framing_bytes);
        link.latency + Time(takes.as_ps().saturating_sub(1))
    };
    topology.links.iter().map(way).min().unwrap_or(Time(1)).max(Time(1))
}

/// For each of the links into a node, the node's port that leads back.
fn ways_back(topology: &Topology, node: u32, links_in: &[u32]) -> Vec<u32> {
    let first = topology.nodes[node as usize].ports.start;
    links_in.iter().map(|&link| exact::<u32>(topology.link_back(link as usize)) - first).collect()
}

fn cut_through<'a>(topology: &'a Topology, links_in: impl Iterator<Item = &'a Link>) -> Option<CutThrough> {
    let Forwarding::CutThrough { header_bytes, underrun: false } = topology.forwarding else { return None };
    Some(CutThrough {
        header_bytes,
        byte_times: links_in.map(|link| topology.byte_time(link.rate)).collect(),
    })
}

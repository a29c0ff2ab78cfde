//! How a switch chooses the port of each packet: a [`Router`] goes by a [`Policy`], which a routing builds.

use super::noted_ports::{NotedPorts, PortRange};
use super::ns3::Ns3Hash;
use super::paths::Digit;
use super::queue_pairs::QueuePairs;
use super::{Detours, FlowPorts, NodeInfo, PathCode, ROUTINGS, Ways, Weights};
use crate::flow::{FlowId, HostId};
use crate::narrow::narrow;
use crate::packet::Packet;
use crate::random::{Purpose, Stream, mix};
use crate::spec::{self, Values};
use crate::topology::{PathNumber, Reach, Routes, Topology, shifted_earlier};
use crate::units::Time;
use std::hint::select_unpredictable;
use std::sync::Arc;

/// A switch's way to decide the port for a packet.
#[derive(Clone, Debug)]
pub struct Router {
    first_host: HostId,
    hosts: u32,
    /// 2^40 / hosts per port, rounded up: a division by multiplication, exact below 2^20 hosts.
    ports_per_host_q40: u64,
    first_up_port: u32,
    up_ports: u32,
    policy: Policy,
}

/// What ECMP hashes by where it is not by our own hash of each flow. One variant of a policy, so that the choice among
/// policies, once for each packet, is no longer for it.
#[derive(Clone, Debug)]
pub(super) enum OtherHash {
    /// That of HPCC's simulator.
    Ns3(Ns3Hash),
    /// That of the queue pair that a flow is sent over.
    QueuePairs(QueuePairs),
}

impl OtherHash {
    fn choose<H>(&self, ports: u32, packet: &Packet<H>) -> u32 {
        match self {
            OtherHash::Ns3(hash) => hash.choose(ports, packet),
            OtherHash::QueuePairs(pairs) => pairs.choose(ports, packet),
        }
    }

    fn set_flow_ports(&mut self, ports: &FlowPorts) {
        if let OtherHash::Ns3(hash) = self {
            hash.ports.of_flows = Some(Arc::clone(ports));
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Policy {
    Ecmp {
        salt: u64,
    },
    /// The same hash at all switches of a tier, and in both directions.
    SymmetricEcmp {
        salt: u64,
    },
    /// Of a host with several links: these take the entropies in turn.
    ByEntropy,
    /// Another hash than ours of each flow.
    OtherHash(Box<OtherHash>),
    /// That of ECMP, by weights where ways differ.
    Weighted(Box<Weighted>),
    Random(Stream),
    RoundRobin {
        turns: Vec<u32>,
        per: Per,
    },
    /// The source chose an up port.
    Source(Digit),
    /// The source chose a whole path of a network of any shape; where that is known to be broken, one way is as
    /// good as another.
    SourceRoute(Stream),
    /// Any of these, but around links that are known to be dead.
    Learning(Box<Learning>),
    /// Any of these among the ports on shortest paths of a network of any shape.
    Table(Box<Table>),
}

#[derive(Clone, Debug)]
pub(super) struct Table {
    policy: Policy,
    node: u32,
    /// The shortest paths that the switch knows of, from when on.
    known: Arc<[(Time, Arc<Routes>)]>,
    /// Nothing where these change.
    noted: NotedPorts,
}

#[derive(Clone, Debug)]
pub(super) struct Weighted {
    salt: u64,
    weights: Weights,
    /// The node's ports that lead up come after so many.
    down_ports: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Learning {
    policy: Policy,
    detours: Detours,
    random: Stream,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Per {
    Switch,
    Source,
    Destination,
}

impl Router {
    /// The router of the node that is the `id`-th of a network: a switch, or a host with several links, where a
    /// flow (or subflow) keeps to one. Where sources choose the paths, `code` says how they write them.
    pub fn new(topology: &Topology, id: u32, routing: &Values, code: Option<&PathCode>, seed: u64) -> Router {
        let node = &topology.nodes[id as usize];
        let reach = match topology.routes() {
            Some(_) => Reach { hosts_per_port: 1, ..Reach::default() },
            None => node.reach,
        };
        let up_ports = narrow::<u32>(node.ports.len()) - reach.down_ports;
        let policy = match code {
            Some(PathCode::UpPorts(digits)) => Policy::Source(digits[usize::from(node.tier)]),
            Some(PathCode::Places(_)) => {
                Policy::SourceRoute(Stream::new(seed, Purpose::Detours, u64::from(id)))
            }
            None => {
                let stream = Stream::new(seed, Purpose::Paths, u64::from(id));
                let (tier, hosts, has_tables) = (node.tier, topology.hosts, topology.routes().is_some());
                let ids = &topology.ids[..];
                let id = ids.get(id as usize).copied().unwrap_or(id);
                let node = NodeInfo { tier, hosts, up_ports, has_tables, seed, stream, id, ids };
                (spec::factory(ROUTINGS, &routing.kind).policy)(routing, &node)
            }
        };
        let policy = match topology.routes() {
            Some(routes) => {
                let known = Arc::new([(Time::ZERO, Arc::clone(routes))]);
                let noted = NotedPorts::of(topology.nodes.len(), topology.hosts);
                Policy::Table(Box::new(Table { policy, node: id, known, noted }))
            }
            None => policy,
        };
        Router {
            first_host: reach.first_host,
            hosts: reach.hosts,
            ports_per_host_q40: (1_u64 << 40) / u64::from(reach.hosts_per_port) + 1,
            first_up_port: reach.down_ports,
            up_ports,
            policy,
        }
    }

    /// The router of the `id`-th node, but around links that it learns are dead.
    pub fn with_detours(mut self, detours: Detours, id: u32, seed: u64) -> Router {
        if let Policy::Table(table) = &mut self.policy {
            table.known = detours.routes();
            table.noted = NotedPorts::default();
        } else {
            let random = Stream::new(seed, Purpose::Detours, id.into());
            self.policy = Policy::Learning(Box::new(Learning { policy: self.policy, detours, random }));
        }
        self
    }

    /// What is yet to be learned of dead links is learned sooner. What is known of rates stays as it is: a router by
    /// rates must not be asked.
    pub fn shift_earlier(&mut self, now: Time, by: Time) {
        match &mut self.policy {
            Policy::Learning(learning) => learning.detours.shift_earlier(now, by),
            Policy::Table(table) => {
                let known = table
                    .known
                    .iter()
                    .map(|(at, routes)| (shifted_earlier(*at, now, by), Arc::clone(routes)));
                table.known = known.collect();
            }
            _ => {}
        }
    }

    /// The same router, by weights.
    pub fn with_weights(mut self, weights: Weights) -> Router {
        let down_ports = self.first_up_port;
        let policy = match &mut self.policy {
            Policy::Table(table) => &mut table.policy,
            policy => policy,
        };
        if let Policy::Ecmp { salt } = *policy {
            *policy = Policy::Weighted(Box::new(Weighted { salt, weights, down_ports }));
        }
        self
    }

    /// The same router, where flows have these ports, if it hashes them.
    pub fn with_ports(mut self, ports: &FlowPorts) -> Router {
        self.policy.set_ports(ports);
        self
    }

    /// The port, among the switch's own, for a packet.
    // Every hop of every packet does this.
    #[inline(always)]
    pub fn port_for<H>(&mut self, packet: &Packet<H>) -> u32 {
        let down = self.down_port(packet);
        if let Policy::Source(digit) = self.policy {
            // The processor can't foresee which way a packet goes; to have both ports ready takes less than its
            // wrong guesses.
            return down.or(self.first_up_port + digit.of(packet.path));
        }
        if down.leads { down.port } else { self.first_up_port + self.policy.choose(self.up_ports, packet) }
    }

    /// The same by ECMP's hash without a branch, too. With shared buffers and PFC DCQCN and HPCC have 1.04 times the rate
    /// by this; where switches only forward, FIFO and DCTCP have 0.98 times.
    #[inline(always)]
    pub fn port_without_branch<H>(&mut self, packet: &Packet<H>) -> u32 {
        match self.policy {
            Policy::Ecmp { salt } => {
                let up = self.first_up_port + by_hash(salt, self.up_ports, packet);
                self.down_port(packet).or(up)
            }
            _ => self.port_for(packet),
        }
    }

    #[inline(always)]
    fn down_port<H>(&self, packet: &Packet<H>) -> DownPort {
        let offset = packet.dst.wrapping_sub(self.first_host);
        let port = (u64::from(offset).wrapping_mul(self.ports_per_host_q40) >> 40) as u32;
        DownPort { leads: offset < self.hosts, port }
    }
}

/// The port that leads down to a host.
struct DownPort {
    leads: bool,
    /// Without meaning where it does not lead there.
    port: u32,
}

impl DownPort {
    /// The port, or another one where it does not lead to the host: without a branch.
    #[inline(always)]
    fn or(&self, up: u32) -> u32 {
        select_unpredictable(self.leads, self.port, up)
    }
}

impl Router {
    /// Whether the ports that lead to a host are the same at all times.
    pub fn is_fixed(&self) -> bool {
        match &self.policy {
            Policy::Table(table) => table.known.len() == 1,
            Policy::Learning(_) => false,
            _ => true,
        }
    }

    /// The ports that lead to a host at a time, as far as the switch knows.
    pub fn ways(&self, dst: HostId, now: Time) -> Ways<'_> {
        if let Policy::Table(table) = &self.policy {
            return match table.noted.to(dst) {
                Some(PortRange { first, count }) => Ways::Range(first, count),
                None => Ways::Of(0, Table::open(&table.known, table.node, dst, now).1),
            };
        }
        let offset = dst.wrapping_sub(self.first_host);
        if offset < self.hosts {
            let down = (u64::from(offset).wrapping_mul(self.ports_per_host_q40) >> 40) as u32;
            return Ways::Range(down, 1);
        }
        match &self.policy {
            Policy::Learning(learning) => match learning.detours.to(dst, now) {
                Some(open) => Ways::Of(self.first_up_port, open),
                None => Ways::Range(self.first_up_port, self.up_ports),
            },
            _ => Ways::Range(self.first_up_port, self.up_ports),
        }
    }
}

impl Policy {
    fn set_ports(&mut self, ports: &FlowPorts) {
        match self {
            Policy::OtherHash(hash) => hash.set_flow_ports(ports),
            Policy::Learning(learning) => learning.policy.set_ports(ports),
            Policy::Table(table) => table.policy.set_ports(ports),
            _ => {}
        }
    }

    pub(super) fn round_robin(routing: &Values, node: &NodeInfo<'_>) -> Policy {
        let each = [
            ("switch", (Per::Switch, 1)),
            ("source", (Per::Source, node.hosts)),
            ("destination", (Per::Destination, node.hosts)),
        ];
        let (per, counters) = routing.meaning("per", &each);
        let mut turns = vec![0; counters as usize];
        if routing.meaning("begins", &[("first", false), ("random", true)]) {
            let mut random = node.stream.clone();
            turns.fill_with(|| random.below(node.up_ports));
        }
        Policy::RoundRobin { turns, per }
    }

    #[inline]
    fn choose<H>(&mut self, ports: u32, packet: &Packet<H>) -> u32 {
        match self {
            Policy::Random(stream) | Policy::SourceRoute(stream) => stream.below(ports),
            Policy::Source(digit) => digit.of(packet.path),
            Policy::Learning(learning) => learning.choose(ports, packet),
            Policy::OtherHash(hash) => hash.choose(ports, packet),
            Policy::Table(table) => table.choose(packet),
            Policy::Ecmp { salt } => by_hash(*salt, ports, packet),
            Policy::Weighted(weighted) => weighted.choose(ports, packet),
            Policy::ByEntropy => u32::from(packet.path) % ports,
            Policy::SymmetricEcmp { salt } => one_of(ports, *salt, packet.flow),
            Policy::RoundRobin { turns, per } => {
                let counter = match per {
                    Per::Switch => 0,
                    Per::Source => packet.src,
                    Per::Destination => packet.dst,
                };
                let turn = &mut turns[counter as usize];
                let choice = *turn;
                *turn = if choice + 1 == ports { 0 } else { choice + 1 };
                choice
            }
        }
    }

    /// Which of so many ports that lead to a packet's destination.
    #[inline]
    fn nth<H>(&mut self, count: u32, packet: &Packet<H>) -> u32 {
        let nth = match self {
            Policy::Weighted(weighted) => Policy::Ecmp { salt: weighted.salt }.choose(count, packet),
            policy => policy.choose(count, packet),
        };
        // A round-robin counter may exceed the number of ports that lead to this destination.
        if nth < count { nth } else { nth % count }
    }

    /// Whether [`Table::chosen`] may say more than which of the ports in turn.
    fn may_choose_whole_paths(&self) -> bool {
        matches!(self, Policy::Weighted(_) | Policy::SourceRoute(_) | Policy::SymmetricEcmp { .. })
    }
}

impl Table {
    /// The shortest paths that the switch knows of at a time, and its ports on those to a host.
    #[inline]
    fn open(known: &[(Time, Arc<Routes>)], node: u32, dst: HostId, now: Time) -> (&Routes, &[u32]) {
        let (_, whole) = &known[0];
        let (_, routes) = known.iter().rev().find(|(from, _)| *from <= now).unwrap_or(&known[0]);
        let open = routes.to(node, dst);
        // Where no way is left, the first of those that there were is as good as any.
        (routes, if open.is_empty() { whole.to(node, dst) } else { open })
    }

    // Kept apart, so that the plain policies remain small enough to be inlined where packets are forwarded.
    #[inline(never)]
    fn choose<H>(&mut self, packet: &Packet<H>) -> u32 {
        let Table { policy, node, known, noted } = self;
        if let Some(PortRange { first, count }) = noted.to(packet.dst) {
            return if count == 1 { first } else { first + policy.nth(count, packet) };
        }
        let (routes, open) = Table::open(known, *node, packet.dst, packet.time);
        if open.len() == 1 || !policy.may_choose_whole_paths() {
            noted.note(packet.dst, open);
        }
        if let &[port] = open {
            return port;
        }
        let chosen = Table::chosen(policy, *node, packet, (&known[0].1, routes));
        if let Some(port) = chosen.filter(|port| open.contains(port)) {
            return port;
        }
        open[policy.nth(narrow::<u32>(open.len()), packet) as usize]
    }

    /// The port on the path that was chosen for the packet, or for its flow, as a whole, if one was and the switch
    /// is on it.
    fn chosen<H>(
        policy: &Policy,
        node: u32,
        packet: &Packet<H>,
        (whole, routes): (&Routes, &Routes),
    ) -> Option<u32> {
        let (src, dst) = (packet.src, packet.dst);
        match *policy {
            Policy::Weighted(ref weighted) => weighted.port(packet),
            Policy::SourceRoute(_) => {
                whole.port_on(node, PathNumber { src, dst, number: packet.path.into() })
            }
            Policy::SymmetricEcmp { salt } => {
                // One path for both directions: counted from the host with the lower number.
                let (src, dst) = (packet.src.min(packet.dst), packet.src.max(packet.dst));
                let number = one_of(routes.paths(src, dst), salt, packet.flow);
                let path = PathNumber { src, dst, number };
                if src == packet.src { routes.port_on(node, path) } else { routes.port_back_on(node, path) }
            }
            _ => None,
        }
    }
}

impl Weighted {
    /// The port by weights, among all of the node's, where they differ.
    fn port<H>(&self, packet: &Packet<H>) -> Option<u32> {
        self.weights.port(packet.dst, packet.time, flow_hash(self.salt, packet))
    }

    #[cold]
    #[inline(never)]
    fn choose<H>(&self, ports: u32, packet: &Packet<H>) -> u32 {
        match self.port(packet) {
            Some(port) => port - self.down_ports,
            None => Policy::Ecmp { salt: self.salt }.choose(ports, packet),
        }
    }
}

/// What per-flow ECMP goes by. A subflow is to a switch a flow of its own; there are fewer than 2^24 hosts.
#[inline]
pub(super) fn flow_hash<H>(salt: u64, packet: &Packet<H>) -> u64 {
    let ends = u64::from(packet.flow) << 32 | u64::from(packet.src);
    mix(salt ^ ends ^ u64::from(packet.path) << 24)
}

/// Which of so many ports per-flow ECMP takes.
#[inline]
fn by_hash<H>(salt: u64, ports: u32, packet: &Packet<H>) -> u32 {
    (((flow_hash(salt, packet) >> 32) * u64::from(ports)) >> 32) as u32
}

/// Which of so many a flow's packets take in both directions.
pub(super) fn one_of(choices: u32, salt: u64, flow: FlowId) -> u32 {
    let hash = mix(salt ^ u64::from(flow));
    (((hash >> 32) * u64::from(choices)) >> 32) as u32
}

impl Learning {
    // Kept apart, so that the plain policies remain small enough to be inlined where packets are forwarded.
    #[cold]
    #[inline(never)]
    fn choose<H>(&mut self, ports: u32, packet: &Packet<H>) -> u32 {
        let Some(open) = self.detours.to(packet.dst, packet.time) else {
            return self.policy.choose(ports, packet);
        };
        match &self.policy {
            Policy::RoundRobin { .. } => loop {
                let port = self.policy.choose(ports, packet);
                if open.contains(&port) {
                    return port;
                }
            },
            Policy::Source(digit) if open.contains(&digit.of(packet.path)) => digit.of(packet.path),
            Policy::Source(_) => open[self.random.below(narrow::<u32>(open.len())) as usize],
            Policy::Weighted(weighted) => {
                let port = weighted.port(packet).map(|port| port - weighted.down_ports);
                let others = || {
                    open[Policy::Ecmp { salt: weighted.salt }.choose(narrow::<u32>(open.len()), packet)
                        as usize]
                };
                port.filter(|port| open.contains(port)).unwrap_or_else(others)
            }
            _ => open[self.policy.choose(narrow::<u32>(open.len()), packet) as usize],
        }
    }
}

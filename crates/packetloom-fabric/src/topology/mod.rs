//! Topologies: nodes and links, nothing that moves.
//!
//! Hosts are the nodes `0..hosts`, in the order of their addresses; switches follow. A switch knows which contiguous
//! range of hosts lies below it, and how many of them behind each of its down ports; every other host is reached
//! through any of its up ports. So a route is computed from the address alone, with no tables. Networks of another
//! shape, such as those from files, have tables of their shortest paths ([`Routes`]).

mod best;
mod bisection;
mod clos;
mod dragonfly;
mod dumbbell;
mod fat_tree;
mod hpcc;
mod htsim;
mod known_rates;
mod leaf_spine;
mod link;
mod oversubscription;
mod processing;
mod rack;
mod rails;
mod retry;
mod routes;
mod star;
#[doc(hidden)]
pub mod testing;

pub use best::{Hop, best_fct, best_fct_over_links, hops};
pub use known_rates::{KnownRates, shifted_earlier};
pub use link::{Forwarding, SLOWEST};
pub use processing::{MessageCosts, Processing};
pub use retry::LinkRetry;
pub use routes::{PathNumber, Routes};
pub use star::Arm;

use crate::flow::HostId;
use crate::narrow::exact;
use crate::spec::{self, Complaint, Component, Registered, Values};
use crate::units::{ByteTime, Rate, Time};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

type Build = fn(&Values) -> Result<Topology, Complaint>;

const TOPOLOGIES: &[Registered<Build>] = &[
    Registered { component: fat_tree::COMPONENT, factory: fat_tree::build },
    Registered { component: leaf_spine::COMPONENT, factory: leaf_spine::build },
    Registered { component: rack::COMPONENT, factory: rack::build },
    Registered { component: dumbbell::COMPONENT, factory: dumbbell::build },
    Registered { component: clos::COMPONENT, factory: clos::build },
    Registered { component: rails::COMPONENT, factory: rails::build },
    Registered { component: dragonfly::COMPONENT, factory: dragonfly::build },
    Registered { component: hpcc::COMPONENT, factory: hpcc::build },
    Registered { component: htsim::COMPONENT, factory: htsim::build },
];

/// The most entries of tables of shortest paths, of 12 bytes each: some 250 MB.
const MOST_WAYS: u64 = 20_000_000;

/// Every component of the section "topology".
pub const COMPONENTS: &[Component] = &spec::components::<_, { TOPOLOGIES.len() }>(TOPOLOGIES);

/// What topologies are made of: the component of the section "link".
pub const LINK_COMPONENTS: &[Component] = &[link::COMPONENT];

/// Every component of the section "forwarding".
pub const FORWARDING_COMPONENTS: &[Component] =
    &spec::components::<_, { link::FORWARDINGS.len() }>(link::FORWARDINGS);

/// What hosts can take for a packet: the components of the section "processing".
pub const PROCESSING_COMPONENTS: &[Component] = processing::COMPONENTS;
/// Whether links send again what was damaged on them: the components of the section "link-retry".
pub const RETRY_COMPONENTS: &[Component] = retry::COMPONENTS;

/// A directed link, which is also the port at its near end.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The node that sends into it.
    pub src: u32,
    /// The node at its far end.
    pub dst: u32,
    /// Its rate.
    pub rate: Rate,
    /// From the last bit out to the far node's decision: propagation, and that node's own processing.
    pub latency: Time,
    /// The former alone.
    pub delay: Time,
}

/// Where a switch sends what it gets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reach {
    /// The first host below.
    pub first_host: HostId,
    /// How many hosts are below.
    pub hosts: u32,
    /// How many of them behind each down port.
    pub hosts_per_port: u32,
    /// The ports that lead down come first among the node's ports; those that lead up follow.
    pub down_ports: u32,
}

/// A host or a switch.
#[derive(Clone, Debug)]
pub struct Node {
    /// 0 for hosts, 1 for the switches next to them, and so on.
    pub tier: u8,
    /// Its ports, as indices into [`Topology::links`].
    pub ports: Range<u32>,
    /// Where a switch sends what it gets; not used for a host.
    pub reach: Reach,
}

/// A network at rest.
#[derive(Clone, Debug)]
pub struct Topology {
    /// How many hosts there are.
    pub hosts: u32,
    /// Hosts first, then switches from the edge inwards.
    pub nodes: Vec<Node>,
    /// Every directed link, grouped by the node that sends into it.
    pub links: Vec<Link>,
    /// How switches forward.
    pub forwarding: Forwarding,
    /// Preamble, inter-frame gap and the like: bytes that every packet takes on a link beside its own.
    pub framing_bytes: u64,
    /// What a packet takes on a link is rounded down to whole nanoseconds.
    pub whole_ns: bool,
    /// What a host takes for each packet beyond the least, which is part of its links' latency.
    pub processing: Option<Processing>,
    /// What a host takes for each message.
    pub message_costs: MessageCosts,
    /// The names of the tiers, from the hosts up.
    pub tier_names: &'static [&'static str],
    /// The numbers that nodes have in the file that the network comes from; empty where it comes from none.
    pub ids: Vec<u32>,
    /// The share of packets that each link loses, where a file says so; else empty.
    pub error_rates: Vec<f64>,
    /// How links send again what was damaged on them, if they do.
    pub link_retry: Option<LinkRetry>,
    /// What the user should know of it.
    pub notes: Vec<String>,
    /// How many of each host's ports, its last, lead to a switch inside its server, which is no part of the network
    /// that joins servers.
    pub scale_up_ports: u32,
    /// How many of the hosts, the last ones, are nodes in the switches of servers that reduce and multicast: one for each
    /// server. They take part in no traffic but that of operations that use them.
    pub reducers: u32,
    /// How many hosts that follow each other are in one server, if servers have several.
    pub server_hosts: Option<u32>,
    /// Whether every host sees the same network, although there are tables of shortest paths.
    pub hosts_see_the_same: bool,
    /// How many hops each link counts for in shortest paths; empty where all count for one.
    lengths: Vec<u8>,
    /// Shortest paths, where addresses alone do not determine the way.
    routes: Option<Arc<Routes>>,
}

impl Topology {
    /// Builds the topology that a scenario specifies.
    pub fn build(values: &Values) -> Result<Topology, Complaint> {
        let topology = spec::factory(TOPOLOGIES, &values.kind)(values)?;
        let slowest = topology.links.iter().map(|link| link.rate).min();
        match slowest.filter(|rate| topology.whole_ns && *rate < ByteTime::SLOWEST_IN_WHOLE_NS) {
            Some(rate) => {
                let least = ByteTime::SLOWEST_IN_WHOLE_NS;
                let message = format!("a link has {rate}; write false, or give every link {least} at least");
                Err(Complaint::new("whole_ns", message))
            }
            None => Ok(topology),
        }
    }

    /// The link that leads back from a link's far end; parallel links pair up in order.
    ///
    /// # Panics
    /// If there is none: every link of a network has one.
    pub fn link_back(&self, link: usize) -> usize {
        let Link { src, dst, .. } = self.links[link];
        let parallel = |from: u32, to: u32| {
            let Range { start, end } = self.nodes[from as usize].ports;
            (start as usize..end as usize).filter(move |&other| self.links[other].dst == to)
        };
        let nth = parallel(src, dst).take_while(|&other| other < link).count();
        parallel(dst, src).nth(nth).expect("every link has one that leads back")
    }

    /// What a byte takes on a link of this rate.
    pub fn byte_time(&self, rate: Rate) -> ByteTime {
        if self.whole_ns { ByteTime::in_whole_ns(rate) } else { ByteTime::at(rate) }
    }

    /// The links a packet crosses from one host to another (by the first of the equal paths).
    pub fn path(&self, src: HostId, dst: HostId) -> Vec<usize> {
        let mut node = src;
        let mut path = Vec::with_capacity(6);
        while node != dst {
            let at = &self.nodes[node as usize];
            let way = match &self.routes {
                _ if at.ports.len() == 1 => 0,
                Some(routes) => routes.to(node, dst)[0],
                None => at.reach.first_port_to(dst),
            };
            let port = at.ports.start + way;
            path.push(port as usize);
            node = self.links[port as usize].dst;
        }
        path
    }

    /// Shortest paths, where addresses alone do not determine the way.
    pub fn routes(&self) -> Option<&Arc<Routes>> {
        self.routes.as_ref()
    }

    /// The same network with paths of the fewest links, where its own are not: a dragonfly's have one global link at
    /// most, and go over two, which may be fewer links in all, round a dead link or by choice.
    pub fn by_fewest_links(&self) -> Option<Topology> {
        (!self.lengths.is_empty()).then(|| {
            let mut topology = Topology { lengths: Vec::new(), ..self.clone() };
            topology.find_routes();
            topology
        })
    }

    /// Has packets follow the shortest paths instead of addresses.
    fn find_routes(&mut self) {
        self.routes = Some(Arc::new(Routes::of(self, &BTreeSet::new())));
    }

    /// How many hosts there are beside nodes that reduce.
    pub fn working_hosts(&self) -> u32 {
        self.hosts - self.reducers
    }

    /// Whether all hosts are connected at the same rate.
    pub fn hosts_are_alike(&self) -> bool {
        (0..self.hosts).all(|host| self.rate_of(host) == self.host_rate())
    }

    /// Whether there are switches inside servers.
    pub fn has_scale_up(&self) -> bool {
        self.scale_up_ports > 0
    }

    /// How many hops a link counts for in shortest paths.
    fn length(&self, link: u32) -> u32 {
        self.lengths.get(link as usize).map_or(1, |&length| length.into())
    }

    /// Whether some host has more than one link.
    pub fn has_hosts_with_several_links(&self) -> bool {
        self.nodes[..self.hosts as usize].iter().any(|host| host.ports.len() > 1)
    }

    /// The node, or all nodes of the tier, of this name, which a scenario gives under `key`.
    ///
    /// # Errors
    /// Where there is none.
    pub fn nodes_called(&self, name: &str, key: &str) -> Result<Vec<u32>, Complaint> {
        let nodes = 0..exact::<u32>(self.nodes.len());
        let named: Vec<u32> =
            nodes.filter(|&node| self.tier_name(node) == name || self.node_name(node) == name).collect();
        if named.is_empty() {
            let tiers = self.tier_names.join(", ");
            let example = self.node_name(self.hosts);
            let message = format!(
                "no node is called {name:?}; write a tier ({tiers}) or one node, such as {example:?}"
            );
            return Err(Complaint::new(key, message));
        }
        Ok(named)
    }

    /// The links that `port` names: all of a node or tier (\"host0\"), or those to another (\"host0 to edge0\").
    ///
    /// # Errors
    /// Where there are none.
    pub fn links_called(&self, port: &str, key: &str) -> Result<Vec<usize>, Complaint> {
        let (from, to) = port.split_once(" to ").map_or((port, None), |(from, to)| (from, Some(to)));
        let from = self.nodes_called(from, key)?;
        let to = to.map(|to| self.nodes_called(to, key)).transpose()?;
        let is_meant =
            |link: &Link| from.contains(&link.src) && to.as_ref().is_none_or(|to| to.contains(&link.dst));
        let links: Vec<usize> = (0..self.links.len()).filter(|&link| is_meant(&self.links[link])).collect();
        if links.is_empty() {
            return Err(Complaint::new(key, format!("no link leads from {port}; write neighbours")));
        }
        Ok(links)
    }

    /// The rate at which hosts are connected.
    pub fn host_rate(&self) -> Rate {
        self.rate_of(0)
    }

    /// The rate of a link of the first host.
    pub fn nic_rate(&self) -> Rate {
        self.links[self.nodes[0].ports.start as usize].rate
    }

    /// The rate of all links of a host together, but for that to the switch inside its server.
    pub fn rate_of(&self, host: HostId) -> Rate {
        self.together(self.nic_ports(host))
    }

    /// The rate of all links together by which a host reaches another.
    pub fn rate_between(&self, src: HostId, dst: HostId) -> Rate {
        self.together(self.ports_between(src, dst))
    }

    fn together(&self, links: Range<u32>) -> Rate {
        Rate(links.map(|link| self.links[link as usize].rate.as_bps()).sum())
    }

    /// A host's links to the network that joins servers.
    pub fn nic_ports(&self, host: HostId) -> Range<u32> {
        let Range { start, end } = self.nodes[host as usize].ports;
        start..end - self.scale_up_ports
    }

    /// A host's links of the kind by which it reaches another: to the switch inside their server, where both are on
    /// one, or to the network.
    pub fn ports_between(&self, src: HostId, dst: HostId) -> Range<u32> {
        let all = |host: HostId| self.nodes[host as usize].ports.clone();
        let inside = |host: HostId| self.links[all(host).end as usize - 1].dst;
        if self.scale_up_ports > 0 && inside(src) == inside(dst) {
            self.nic_ports(src).end..all(src).end
        } else {
            self.nic_ports(src)
        }
    }

    /// The name of a node's tier.
    pub fn tier_name(&self, node: u32) -> &'static str {
        self.tier_names[usize::from(self.nodes[node as usize].tier)]
    }

    /// A name for a link: the nodes at its ends.
    pub fn link_name(&self, link: u32) -> String {
        let Link { src, dst, .. } = self.links[link as usize];
        format!("{} to {}", self.node_name(src), self.node_name(dst))
    }

    /// A name for a node: its tier and its number there, or in the file that the network comes from.
    pub fn node_name(&self, node: u32) -> String {
        if let Some(id) = self.ids.get(node as usize) {
            return format!("{}{id}", self.tier_name(node));
        }
        let tier = self.nodes[node as usize].tier;
        let first = self.nodes.partition_point(|other| other.tier < tier);
        format!("{}{}", self.tier_name(node), node as usize - first)
    }
}

impl Reach {
    /// The number of the down port that leads to `dst`, or of the first up port.
    pub fn first_port_to(&self, dst: HostId) -> u32 {
        let offset = dst.wrapping_sub(self.first_host);
        if offset < self.hosts { offset / self.hosts_per_port } else { self.down_ports }
    }
}

/// Collects nodes and links while a topology is laid out.
struct Builder {
    nodes: Vec<(u8, Reach)>,
    links: Vec<Link>,
    /// What a node of each tier takes to process a packet at least.
    processing: Vec<Time>,
    tier_names: &'static [&'static str],
}

impl Builder {
    fn new(values: &Values, tier_names: &'static [&'static str]) -> Builder {
        let switches = link::switch_delays(values, tier_names.len() - 1);
        Builder::with_delays(values, switches.into_iter(), tier_names)
    }

    /// With what the switches of each tier take to process a packet.
    fn with_delays(
        values: &Values,
        switches: impl Iterator<Item = Time>,
        tier_names: &'static [&'static str],
    ) -> Builder {
        let hosts = values.time("host_delay") + processing::least(&values.component(processing::KEY));
        let processing = std::iter::once(hosts).chain(switches).collect();
        Builder { nodes: Vec::new(), links: Vec::new(), processing, tier_names }
    }

    fn node(&mut self, tier: u8, reach: Reach) {
        self.nodes.push((tier, reach));
    }

    /// Adds the port of `src` that leads to `dst`. A node's down ports must be added before its up ports.
    fn link(&mut self, src: u32, dst: u32, cable: link::Cable) {
        let processing = self.processing[usize::from(self.nodes[dst as usize].0)];
        self.links.push(Link {
            src,
            dst,
            rate: cable.rate,
            latency: cable.delay + processing,
            delay: cable.delay,
        });
    }

    /// Adds a cable: a port of each node to the other.
    fn join(&mut self, one: u32, other: u32, cable: link::Cable) {
        self.link(one, other, cable);
        self.link(other, one, cable);
    }

    fn finish(mut self, values: &Values) -> Topology {
        self.links.sort_by_key(|link| link.src);
        let ports_of = |node: u32| {
            let first = self.links.partition_point(|link| link.src < node);
            let end = self.links.partition_point(|link| link.src <= node);
            exact::<u32>(first)..exact::<u32>(end)
        };
        let nodes = self
            .nodes
            .iter()
            .zip(0..)
            .map(|(&(tier, reach), node)| Node { tier, ports: ports_of(node), reach })
            .collect();
        Topology {
            hosts: exact::<u32>(self.nodes.iter().filter(|(tier, _)| *tier == 0).count()),
            nodes,
            links: self.links,
            forwarding: Forwarding::of(&values.component("forwarding")),
            framing_bytes: values.bytes("framing"),
            whole_ns: values.flag("whole_ns"),
            processing: Processing::build(&values.component(processing::KEY), values.flag("whole_ns")),
            message_costs: MessageCosts {
                send: values.time("send_per_message"),
                receive: values.time("receive_per_message"),
            },
            tier_names: self.tier_names,
            ids: Vec::new(),
            error_rates: Vec::new(),
            link_retry: LinkRetry::build(&values.component(retry::KEY)),
            notes: Vec::new(),
            scale_up_ports: 0,
            reducers: 0,
            server_hosts: None,
            hosts_see_the_same: false,
            lengths: Vec::new(),
            routes: None,
        }
    }
}

//! Path selection: which of the equal next hops a packet takes.

mod balancing;
mod choice;
mod detours;
mod entropies;
mod ns3;
mod paths;
mod queue_pairs;
mod scoreboard;
mod trace;
mod weights;

use balancing::Scheduler;
pub use balancing::{Actions, Balancer, Count, Look, Notice, Pass, Passing, Ways, together};
pub use choice::{Feedback, Judged, PathChoice};
pub use detours::Detours;
pub use entropies::{LAYOUTS, PYTHON, symbols};
pub use ns3::FlowPorts;
pub use paths::PathCode;
pub use scoreboard::Fate;
pub use trace::{ConnectionNumbers, Tracer};
pub use weights::Weights;

use crate::flow::{FlowId, HostId};
use crate::narrow::narrow;
use crate::packet::Packet;
use crate::random::{Purpose, Stream, mix};
use crate::spec::{self, ALWAYS, Complaint, Component, Fallback, Kind, Made, Param, Values, anything};
use crate::topology::{KnownRates, Node, PathNumber, Reach, Routes, Topology, shifted_earlier};
use crate::units::Time;
use balancing::Home;
use ns3::Ns3Hash;
use paths::Digit;
use queue_pairs::QueuePairs;
use std::hint::select_unpredictable;
use std::sync::Arc;

/// Makes the balancer of a switch.
type MakeBalancer = fn(&Values, Home<'_>) -> Box<dyn Balancer>;

/// What the balancers of a network's switches share: a central scheduler.
pub type Common = Option<Arc<Scheduler>>;

/// Makes that, for a network of which switches know these rates.
type MakeCommon = fn(&Values, &Topology, &KnownRates, u64) -> Common;

/// A routing, as the registry keeps it beside its component.
#[derive(Clone, Copy, Debug)]
struct Routing {
    /// What chooses the path of a packet.
    chooser: Chooser,
    /// How nodes choose where the packet does not determine the port.
    policy: fn(&Values, &NodeInfo<'_>) -> Policy,
    /// What chooses at switches instead, where that is more than a rule for each packet by itself.
    balancer: Option<MakeBalancer>,
    /// Whether that chooses whole paths at the switches of senders.
    chooses_paths: bool,
    /// What all switches' balancers share, if they share something.
    common: Option<MakeCommon>,
    /// Whether next hops have weights.
    is_weighted: bool,
}

impl Routing {
    /// One without a balancer.
    const fn by_switches(chooser: Chooser, policy: fn(&Values, &NodeInfo<'_>) -> Policy) -> Routing {
        Routing { chooser, policy, balancer: None, chooses_paths: false, common: None, is_weighted: false }
    }
}

/// What chooses the path of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chooser {
    /// Each switch, for a flow as a whole.
    SwitchByFlow,
    /// Each switch, for each packet.
    SwitchByPacket,
    /// A balancer, when it sees fit.
    Balancer,
    /// The host that sends it.
    Host,
    /// Each switch, by a number that the host chose for the packet.
    HostByEntropy,
    /// A controller.
    Controller,
}

/// The node that a policy is built for.
#[derive(Debug)]
struct NodeInfo<'a> {
    tier: u8,
    hosts: u32,
    /// Its ports that do not lead down.
    up_ports: u32,
    has_tables: bool,
    seed: u64,
    /// The node's random numbers.
    stream: Stream,
    /// The number that the node has in the network's file, or here.
    id: u32,
    /// Those of all nodes in a file, if there is one.
    ids: &'a [u32],
}

impl NodeInfo<'_> {
    fn is_switch(&self) -> bool {
        self.tier > 0
    }
}

const ROUTINGS: &[Made<Routing>] = &[
    Made {
        component: Component {
            section: "routing",
            kind: "ecmp",
            doc: "Per-flow ECMP: a hash of the flow and the switch picks one next hop for all of a flow's packets.",
            source: "RFC 2992",
            params: &[
                &[Param {
                    name: "symmetric",
                    kind: Kind::Flag,
                    default: Fallback::Value("false"),
                    doc: "All switches choose alike, so that a flow's answers take the path of its data, backwards.",
                    source: "packetloom; PDQ §3 needs it",
                    acts: ALWAYS,
                }],
                queue_pairs::PARAMS,
                ns3::PARAMS,
            ],
            check: check_ecmp,
        },
        how: Routing::by_switches(Chooser::SwitchByFlow, ecmp),
    },
    Made {
        component: Component {
            section: "routing",
            kind: "wcmp",
            doc: "Weighted ECMP: a hash picks one next hop for all of a flow's packets, in proportion to the capacity of the paths through it, as far as switches know of slow or dead links; if all are equal, as ecmp does. Or in proportion to weights that are given.",
            source: "WCMP, EuroSys 2014",
            params: &[&[Param::optional(
                "weights",
                Kind::List(&Kind::Component("weight")),
                "The weights of links, 1 where none is named; left out: by the capacity of the paths.",
                "packetloom; WCMP §4: of tables that a controller sets",
            )]],
            check: anything,
        },
        how: Routing {
            is_weighted: true,
            ..Routing::by_switches(Chooser::SwitchByFlow, |_, place| by_flow(place))
        },
    },
    Made {
        component: Component {
            section: "routing",
            kind: "spray-random",
            doc: "Each packet takes a next hop drawn at random.",
            source: "NDP in a fat-tree §3: per-packet ECMP",
            params: &[],
            check: anything,
        },
        how: Routing::by_switches(Chooser::SwitchByPacket, |_, node| {
            if node.is_switch() { Policy::Random(node.stream.clone()) } else { by_flow(node) }
        }),
    },
    Made {
        component: Component {
            section: "routing",
            kind: "spray-round-robin",
            doc: "Packets take the next hops in turn.",
            source: "pFabric §3: each switch blindly sprays packets among all shortest-path next hops in round-robin fashion",
            params: &[&[
                Param {
                    name: "per",
                    kind: Kind::Choice(&["destination", "source", "switch"]),
                    default: Fallback::Value("destination"),
                    doc: "Whose turn is counted: one counter per destination host, per source host, or one for all.",
                    source: "pFabric's own ns-2 code: per destination",
                    acts: ALWAYS,
                },
                Param {
                    name: "begins",
                    kind: Kind::Choice(&["first", "random"]),
                    default: Fallback::Value("first"),
                    doc: "Where each counter begins: at the first next hop, or at any.",
                    source: "packetloom; the simulators of YAPS's family: at random (Queue::spray_counter)",
                    acts: ALWAYS,
                },
            ]],
            check: anything,
        },
        how: Routing::by_switches(Chooser::SwitchByPacket, |values, node| {
            if node.is_switch() { Policy::round_robin(values, node) } else { by_flow(node) }
        }),
    },
    Made {
        component: Component {
            section: "routing",
            kind: "permutation",
            doc: "The source sends its packets to a destination over all paths in random order, and draws a new order once each was used.",
            source: "NDP, SIGCOMM 2017, §3.1.1",
            params: &[scoreboard::PARAMS],
            check: anything,
        },
        how: Routing::by_switches(Chooser::Host, |_, node| by_flow(node)),
    },
    Made {
        component: Component {
            section: "routing",
            kind: "controller",
            doc: "A central controller chooses the path of each packet, as that of the transport syn does.",
            source: "SYN and ASY §II-A",
            params: &[],
            check: anything,
        },
        how: Routing::by_switches(Chooser::Controller, |_, node| by_flow(node)),
    },
    by_entropy(0),
    by_entropy(1),
    by_entropy(2),
    by_entropy(3),
    by_entropy(4),
    by_entropy(5),
    by_entropy(6),
    balancing::LETFLOW,
    balancing::CONGA,
    balancing::DRILL,
    balancing::CONWEAVE,
    balancing::ADAPTIVE,
    balancing::HEDERA,
];

/// One by which hosts choose entropies, which switches hash with the flow. A host's links share them out evenly (as
/// MRC, Open Compute Project 2026, is described to do over planes), so that a flow's choice of entropies is one of links,
/// too. In htsim_uec the NIC takes a port in turn, whatever the entropy, and nothing is learnt of ports.
const fn by_entropy(number: usize) -> Made<Routing> {
    Made {
        component: entropies::COMPONENTS[number],
        how: Routing::by_switches(Chooser::HostByEntropy, |_, node| {
            if node.is_switch() { by_flow(node) } else { Policy::ByEntropy }
        }),
    }
}

/// What a weight is.
pub const WEIGHT_COMPONENTS: &[Component] = &[weights::COMPONENT];

/// Every component of the section "routing".
pub const COMPONENTS: &[Component] = &spec::components::<_, { ROUTINGS.len() }>(ROUTINGS);

fn check_ecmp(values: &Values) -> Result<(), Complaint> {
    let is_ours = values.text("hash") == "packetloom";
    if values.flag("symmetric") && !is_ours {
        return Err(Complaint::new(
            "symmetric",
            "has no meaning with another simulator's hash; leave one of them out",
        ));
    }
    queue_pairs::check(values, values.flag("symmetric") || !is_ours)?;
    if is_ours && values.text("next_hops") != "ascending" {
        let message = "has no meaning without hash = \"hpcc-ns3\"; leave it out";
        return Err(Complaint::new("next_hops", message));
    }
    if is_ours && values.text("ports") != "pair" {
        return Err(Complaint::new("ports", "has no meaning without hash = \"hpcc-ns3\"; leave it out"));
    }
    if values.count("destination_port") > 65_535 {
        return Err(Complaint::new("destination_port", "write a port up to 65535"));
    }
    Ok(())
}

fn ecmp(values: &Values, node: &NodeInfo<'_>) -> Policy {
    match QueuePairs::of(values, &mut node.stream.clone()) {
        Some(pairs) => Policy::OtherHash(Box::new(OtherHash::QueuePairs(pairs))),
        None if values.flag("symmetric") => symmetric(node),
        None => plain_ecmp(values, node),
    }
}

/// What a balancer leaves to per-flow ECMP.
fn plain_ecmp(values: &Values, node: &NodeInfo<'_>) -> Policy {
    match Ns3Hash::of(values, node.id, node.ids) {
        Some(hash) => Policy::OtherHash(Box::new(OtherHash::Ns3(hash))),
        None => by_flow(node),
    }
}

fn by_flow(node: &NodeInfo<'_>) -> Policy {
    Policy::Ecmp { salt: node.stream.clone().bits() }
}

fn symmetric(node: &NodeInfo<'_>) -> Policy {
    // Nodes' own streams are numbered from 0; the tiers' are beyond. Without tiers all switches agree.
    let tier = if node.has_tables { 1 } else { u64::from(node.tier) };
    Policy::SymmetricEcmp { salt: Stream::new(node.seed, Purpose::Paths, tier << 32).bits() }
}

fn chooser(routing: &Values) -> Chooser {
    spec::how(ROUTINGS, &routing.kind).chooser
}

/// Where sources choose the paths: how they are written in a packet.
pub fn path_code(routing: &Values, topology: &Topology) -> Option<PathCode> {
    match chooser(routing) {
        Chooser::Host | Chooser::Controller => PathCode::new(topology),
        Chooser::SwitchByFlow | Chooser::SwitchByPacket | Chooser::Balancer | Chooser::HostByEntropy => None,
    }
}

/// What the transport has to report, where hosts choose by what becomes of what they send.
pub fn judged(routing: &Values) -> Judged {
    match chooser(routing) {
        Chooser::HostByEntropy => entropies::judged(routing),
        _ => Judged::Nothing,
    }
}

/// Whether each host draws the paths of what it sends.
pub fn hosts_choose(routing: &Values) -> bool {
    chooser(routing) == Chooser::Host
}

/// Whether hosts choose packet by packet, so that a flow uses all of its host's links.
pub fn hosts_spread(routing: &Values) -> bool {
    match chooser(routing) {
        Chooser::Host => true,
        Chooser::HostByEntropy => !entropies::keeps_flows(routing),
        _ => false,
    }
}

/// Whether a controller chooses them.
pub fn controller_chooses(routing: &Values) -> bool {
    chooser(routing) == Chooser::Controller
}

/// What must hold of a routing on a network.
///
/// # Errors
/// Where there are more paths than it can number, or weights of no links.
pub fn check(routing: &Values, topology: &Topology) -> Result<(), Complaint> {
    if spec::how(ROUTINGS, &routing.kind).is_weighted {
        weights::given(routing, topology)?;
    }
    if hosts_choose(routing) && PathCode::new(topology).is_none() {
        let message = "this network has too many paths to number; write another, such as \"spray-random\"";
        return Err(Complaint::new("scheme.routing", message));
    }
    if spec::how(ROUTINGS, &routing.kind).chooses_paths && !balancing::are_countable(topology) {
        let message = format!(
            "{} chooses whole paths between the switches of two hosts, and here some hosts have several links, or there are too many paths to number; write another, such as \"letflow\"",
            routing.kind
        );
        return Err(Complaint::new("scheme.routing", message));
    }
    Ok(())
}

/// Whether flows' ports are numbered host by host, in the order in which they start.
pub fn numbers_ports(routing: &Values) -> bool {
    routing.entries.contains_key("ports") && routing.text("ports") == "host"
}

/// The first destination port of flows, if the routing hashes ports.
pub fn first_destination_port(routing: &Values) -> Option<u16> {
    let hashes = routing.entries.contains_key("hash") && routing.text("hash") == "hpcc-ns3";
    hashes.then(|| crate::narrow::exact(routing.count("destination_port")))
}

/// What balances at a switch, if something does that sees more than a packet; `flow_ports`: those of the plan.
pub fn balancer(
    (topology, node): (&Topology, u32),
    routing: &Values,
    (rates, common, flow_ports): (&KnownRates, &Common, Option<&FlowPorts>),
    seed: u64,
) -> Option<Box<dyn Balancer>> {
    let random = Stream::new(seed, Purpose::Paths, u64::from(node));
    let home = Home { topology, node, random, known_rates: rates, common, flow_ports };
    spec::how(ROUTINGS, &routing.kind).balancer.map(|build| build(routing, home))
}

/// What the balancers of all switches share, given what switches know of links' rates.
pub fn common(routing: &Values, topology: &Topology, rates: &KnownRates, seed: u64) -> Common {
    spec::how(ROUTINGS, &routing.kind).common.and_then(|build| build(routing, topology, rates, seed))
}

/// The weights of all nodes' next hops, if they have any, given the same.
pub fn weights(routing: &Values, topology: &Topology, rates: &KnownRates) -> Option<Vec<Weights>> {
    spec::how(ROUTINGS, &routing.kind).is_weighted.then(|| {
        let given = weights::given(routing, topology).expect("the weights of a checked routing");
        Weights::of(topology, rates, given.as_deref())
    })
}

/// Whether switches choose by the rates of links, and learn what faults do to those.
pub fn goes_by_rates(routing: &Values) -> bool {
    matches!(routing.kind.as_str(), "wcmp" | "conga" | "hedera")
}

/// Whether paths are chosen without regard to what happens beyond the next hop.
pub fn is_blind(routing: &Values) -> bool {
    let kind = routing.kind.as_str();
    matches!(kind, "ecmp" | "spray-random" | "spray-round-robin" | "permutation" | "oblivious" | "drill")
}

/// How long a window may be at most, so that what one switch tells a scheduler in one is known in the next.
pub fn longest_window(routing: &Values) -> Time {
    let has_scheduler = spec::how(ROUTINGS, &routing.kind).common.is_some();
    if has_scheduler { routing.time("delay") } else { Time::NEVER }
}

/// The size of what switches send each other about paths, if they do.
pub fn notice_bytes(routing: &Values) -> Option<u64> {
    routing.entries.contains_key("notice").then(|| routing.bytes("notice"))
}

/// Whether something does.
pub fn is_balanced(routing: &Values) -> bool {
    spec::how(ROUTINGS, &routing.kind).balancer.is_some()
}

/// Whether switches of a network have a choice among ports.
pub fn has_choice(topology: &Topology) -> bool {
    let has_choice =
        |node: &Node| node.tier > 0 && narrow::<u32>(node.ports.len()) > node.reach.down_ports + 1;
    match topology.routes() {
        Some(routes) => routes.has_choice(),
        None => topology.nodes.iter().any(has_choice),
    }
}

/// Whether a flow's packets all take one path on a network, and whether its answers come back by it.
pub fn path_per_flow(routing: &Values, topology: &Topology) -> (bool, bool) {
    let is_only = !has_choice(topology);
    let is_by_flow = chooser(routing) == Chooser::SwitchByFlow;
    let has_symmetry = || routing.entries.contains_key("symmetric") && routing.flag("symmetric");
    (is_only || is_by_flow, is_only || (is_by_flow && has_symmetry()))
}

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
enum OtherHash {
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
enum Policy {
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
struct Table {
    policy: Policy,
    node: u32,
    /// The shortest paths that the switch knows of, from when on.
    known: Arc<[(Time, Arc<Routes>)]>,
}

#[derive(Clone, Debug)]
struct Weighted {
    salt: u64,
    weights: Weights,
    /// The node's ports that lead up come after so many.
    down_ports: u32,
}

#[derive(Clone, Debug)]
struct Learning {
    policy: Policy,
    detours: Detours,
    random: Stream,
}

#[derive(Clone, Copy, Debug)]
enum Per {
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
                (spec::how(ROUTINGS, &routing.kind).policy)(routing, &node)
            }
        };
        let policy = match topology.routes() {
            Some(routes) => {
                let known = Arc::new([(Time::ZERO, Arc::clone(routes))]);
                Policy::Table(Box::new(Table { policy, node: id, known }))
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

    /// The same router, but around links that it learns are dead.
    pub fn with_detours(mut self, detours: Detours, random: Stream) -> Router {
        if let Policy::Table(table) = &mut self.policy {
            table.known = detours.routes();
        } else {
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
        let offset = packet.dst.wrapping_sub(self.first_host);
        let leads_down = offset < self.hosts;
        // Without meaning where it does not lead down.
        let down = (u64::from(offset).wrapping_mul(self.ports_per_host_q40) >> 40) as u32;
        if let Policy::Source(digit) = self.policy {
            // The processor can't foresee which way a packet goes; to have both ports ready takes less than its
            // wrong guesses.
            return select_unpredictable(leads_down, down, self.first_up_port + digit.of(packet.path));
        }
        if leads_down { down } else { self.first_up_port + self.policy.choose(self.up_ports, packet) }
    }
}

impl Router {
    /// The ports that lead to a host at a time, as far as the switch knows.
    pub fn ways(&self, dst: HostId, now: Time) -> Ways<'_> {
        if let Policy::Table(table) = &self.policy {
            return Ways::Of(0, Table::open(&table.known, table.node, dst, now).1);
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

    fn round_robin(routing: &Values, node: &NodeInfo<'_>) -> Policy {
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
            Policy::Ecmp { salt } => (((flow_hash(*salt, packet) >> 32) * u64::from(ports)) >> 32) as u32,
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
        let Table { policy, node, known } = self;
        let (routes, open) = Table::open(known, *node, packet.dst, packet.time);
        if let [only] = open {
            return *only;
        }
        let chosen = Table::chosen(policy, *node, packet, (&known[0].1, routes));
        if let Some(port) = chosen.filter(|port| open.contains(port)) {
            return port;
        }
        let count = narrow::<u32>(open.len());
        let nth = match policy {
            Policy::Weighted(weighted) => Policy::Ecmp { salt: weighted.salt }.choose(count, packet),
            policy => policy.choose(count, packet),
        };
        // A round-robin counter may exceed the number of ports that lead to this destination.
        let nth = if nth < count { nth } else { nth % count };
        open[nth as usize]
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
fn flow_hash<H>(salt: u64, packet: &Packet<H>) -> u64 {
    let ends = u64::from(packet.flow) << 32 | u64::from(packet.src);
    mix(salt ^ ends ^ u64::from(packet.path) << 24)
}

/// Which of so many a flow's packets take in both directions.
fn one_of(choices: u32, salt: u64, flow: FlowId) -> u32 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "nothing here is called nobodys")]
    fn a_routing_that_nobody_follows_does_not_become_another() {
        let topology = Topology::of_counts("rack", &[("hosts", 2)]);
        let routing = Values { kind: "nobodys".to_owned(), ..Values::default() };
        Router::new(&topology, 2, &routing, None, 1);
    }
}

//! Path selection: which of the equal next hops a packet takes.

mod balancing;
mod choice;
mod detours;
mod entropies;
mod noted_ports;
mod ns3;
mod paths;
mod queue_pairs;
mod router;
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
pub use router::Router;
use router::{OtherHash, Policy};
pub use scoreboard::Fate;
pub use trace::{ConnectionNumbers, Tracer};
pub use weights::Weights;

use crate::narrow::narrow;
use crate::random::{Purpose, Stream};
use crate::spec::{self, Complaint, Component, Kind, Registered, Values, anything, param};
use crate::topology::{KnownRates, Node, Topology};
use crate::units::Time;
use balancing::Home;
use ns3::Ns3Hash;
use queue_pairs::QueuePairs;
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
    /// The parameters of its balancer that may be set while it runs.
    settable: &'static [&'static str],
}

impl Routing {
    /// One without a balancer.
    const fn by_switches(chooser: Chooser, policy: fn(&Values, &NodeInfo<'_>) -> Policy) -> Routing {
        Routing {
            chooser,
            policy,
            balancer: None,
            chooses_paths: false,
            common: None,
            is_weighted: false,
            settable: &[],
        }
    }

    /// The same with parameters that may be set while it runs.
    const fn with_settable(self, settable: &'static [&'static str]) -> Routing {
        Routing { settable, ..self }
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

const ROUTINGS: &[Registered<Routing>] = &[
    Registered {
        component: Component {
            section: "routing",
            kind: "ecmp",
            doc: "Per-flow ECMP: a hash of the flow and the switch picks one next hop for all of a flow's packets.",
            source: "RFC 2992",
            params: &[
                &[param! {
                    "symmetric" = "false": Kind::Flag,
                    "All switches choose alike, so that a flow's answers take the path of its data, backwards.",
                    "packetloom; PDQ §3 needs it"
                }],
                queue_pairs::PARAMS,
                ns3::PARAMS,
            ],
            check: check_ecmp,
        },
        factory: Routing::by_switches(Chooser::SwitchByFlow, ecmp),
    },
    Registered {
        component: Component {
            section: "routing",
            kind: "wcmp",
            doc: "Weighted ECMP: a hash picks one next hop for all of a flow's packets, in proportion to the capacity of the paths through it, as far as switches know of slow or dead links. If all are equal, it is ecmp. Weights can also be given.",
            source: "WCMP, EuroSys 2014",
            params: &[&[param! {
                "weights": Kind::List(&Kind::Component("weight")),
                "The weights of links, 1 where none is named; left out: by the capacity of the paths.",
                "packetloom; WCMP §4: of tables that a controller sets"
            }]],
            check: anything,
        },
        factory: Routing {
            is_weighted: true,
            ..Routing::by_switches(Chooser::SwitchByFlow, |_, place| by_flow(place))
        },
    },
    Registered {
        component: Component {
            section: "routing",
            kind: "spray-random",
            doc: "Each packet takes a next hop drawn at random.",
            source: "NDP in a fat-tree §3: per-packet ECMP",
            params: &[],
            check: anything,
        },
        factory: Routing::by_switches(Chooser::SwitchByPacket, |_, node| {
            if node.is_switch() { Policy::Random(node.stream.clone()) } else { by_flow(node) }
        }),
    },
    Registered {
        component: Component {
            section: "routing",
            kind: "spray-round-robin",
            doc: "Packets take the next hops in turn.",
            source: "pFabric §3: each switch blindly sprays packets among all shortest-path next hops in round-robin fashion",
            params: &[&[
                param! {
                    "per" = "destination": Kind::Choice(&["destination", "source", "switch"]),
                    "Whose turn is counted: one counter per destination host, per source host, or one for all.",
                    "pFabric's own ns-2 code: per destination"
                },
                param! {
                    "begins" = "first": Kind::Choice(&["first", "random"]),
                    "Where each counter begins: at the first next hop, or at any.",
                    "packetloom; the simulators of YAPS's family: at random (Queue::spray_counter)"
                },
            ]],
            check: anything,
        },
        factory: Routing::by_switches(Chooser::SwitchByPacket, |values, node| {
            if node.is_switch() { Policy::round_robin(values, node) } else { by_flow(node) }
        }),
    },
    Registered {
        component: Component {
            section: "routing",
            kind: "permutation",
            doc: "The source sends its data to a destination over all paths in random order, and draws a new order once each was used. So it does, separately, with its answers and other control packets.",
            source: "NDP, SIGCOMM 2017, §3.1.1",
            params: &[scoreboard::PARAMS],
            check: anything,
        },
        factory: Routing::by_switches(Chooser::Host, |_, node| by_flow(node)),
    },
    Registered {
        component: Component {
            section: "routing",
            kind: "controller",
            doc: "A central controller chooses the path of each packet, as that of the transport syn does.",
            source: "SYN and ASY §II-A",
            params: &[],
            check: anything,
        },
        factory: Routing::by_switches(Chooser::Controller, |_, node| by_flow(node)),
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
const fn by_entropy(number: usize) -> Registered<Routing> {
    Registered {
        component: entropies::COMPONENTS[number],
        factory: Routing::by_switches(Chooser::HostByEntropy, |_, node| {
            if node.is_switch() { by_flow(node) } else { Policy::ByEntropy }
        })
        .with_settable(entropies::SETTABLE[number]),
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
    spec::factory(ROUTINGS, &routing.kind).chooser
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
    if spec::factory(ROUTINGS, &routing.kind).is_weighted {
        weights::given(routing, topology)?;
    }
    if hosts_choose(routing) && PathCode::new(topology).is_none() {
        let message = "this network has too many paths to number; write another, such as \"spray-random\"";
        return Err(Complaint::new("scheme.routing", message));
    }
    if spec::factory(ROUTINGS, &routing.kind).chooses_paths && !balancing::are_countable(topology) {
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

/// The parameters of a routing that may be set while it runs: at switches ([`Balancer::set`]), or, where hosts choose
/// entropies, at hosts ([`PathChoice::set`]).
pub fn settable(kind: &str) -> &'static [&'static str] {
    spec::factory(ROUTINGS, kind).settable
}

/// Whether hosts go by these, and not switches.
pub fn are_set_at_hosts(kind: &str) -> bool {
    spec::factory(ROUTINGS, kind).chooser == Chooser::HostByEntropy
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
    spec::factory(ROUTINGS, &routing.kind).balancer.map(|build| build(routing, home))
}

/// What the balancers of all switches share, given what switches know of links' rates.
pub fn common(routing: &Values, topology: &Topology, rates: &KnownRates, seed: u64) -> Common {
    spec::factory(ROUTINGS, &routing.kind).common.and_then(|build| build(routing, topology, rates, seed))
}

/// The weights of all nodes' next hops, if they have any, given the same.
pub fn weights(routing: &Values, topology: &Topology, rates: &KnownRates) -> Option<Vec<Weights>> {
    spec::factory(ROUTINGS, &routing.kind).is_weighted.then(|| {
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
    let has_scheduler = spec::factory(ROUTINGS, &routing.kind).common.is_some();
    if has_scheduler { routing.time("delay") } else { Time::NEVER }
}

/// The size of what switches send each other about paths, if they do.
pub fn notice_bytes(routing: &Values) -> Option<u64> {
    routing.entries.contains_key("notice").then(|| routing.bytes("notice"))
}

/// Whether something does.
pub fn is_balanced(routing: &Values) -> bool {
    spec::factory(ROUTINGS, &routing.kind).balancer.is_some()
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

//! Path selection: which of the equal next hops a packet takes.

use crate::flow::{FlowId, HostId};
use crate::random::{Purpose, Stream, mix};
use crate::spec::{Component, Fallback, Kind, Param, Values, anything};
use crate::topology::Node;

/// Every component of the section "routing".
pub const COMPONENTS: &[Component] = &[
    Component {
        section: "routing",
        kind: "ecmp",
        doc: "Per-flow ECMP: a hash of the flow and the switch picks one next hop for all of a flow's packets.",
        source: "RFC 2992",
        params: &[],
        check: anything,
    },
    Component {
        section: "routing",
        kind: "spray-random",
        doc: "Each packet takes a next hop drawn at random.",
        source: "NDP in a fat-tree §3: per-packet ECMP",
        params: &[],
        check: anything,
    },
    Component {
        section: "routing",
        kind: "spray-round-robin",
        doc: "Packets take the next hops in turn.",
        source: "pFabric §3: each switch blindly sprays packets among all shortest-path next hops in round-robin fashion",
        params: &[Param {
            name: "per",
            kind: Kind::Choice(&["destination", "source", "switch"]),
            default: Fallback::Value("destination"),
            doc: "Whose turn is counted: one counter per destination host, per source host, or one for all.",
            source: "pFabric's own ns-2 code: per destination",
        }],
        check: anything,
    },
];

/// A switch's way to decide the port for a packet.
#[derive(Clone, Debug)]
pub struct Router {
    first_host: HostId,
    hosts: u32,
    /// 2^40 / hosts per port, rounded up: a division by multiplication, exact below 2^20 hosts.
    ports_per_host_q40: u64,
    first_port: u32,
    first_up_port: u32,
    up_ports: u32,
    policy: Policy,
}

#[derive(Clone, Debug)]
enum Policy {
    Ecmp { salt: u64 },
    Random(Stream),
    RoundRobin { turns: Vec<u32>, per: Per },
}

#[derive(Clone, Copy, Debug)]
enum Per {
    Switch,
    Source,
    Destination,
}

impl Router {
    /// The router of the switch `node`, the `id`-th of a network with so many `hosts`.
    pub fn new(node: &Node, id: u32, hosts: u32, routing: &Values, seed: u64) -> Router {
        let mut stream = Stream::new(seed, Purpose::Paths, u64::from(id));
        let policy = match routing.kind.as_str() {
            "spray-random" => Policy::Random(stream),
            "spray-round-robin" => Policy::round_robin(&routing.text("per"), hosts),
            _ => Policy::Ecmp { salt: stream.bits() },
        };
        let reach = node.reach;
        Router {
            first_host: reach.first_host,
            hosts: reach.hosts,
            ports_per_host_q40: (1_u64 << 40) / u64::from(reach.hosts_per_port) + 1,
            first_port: node.ports.start,
            first_up_port: node.ports.start + reach.down_ports,
            up_ports: node.ports.len() as u32 - reach.down_ports,
            policy,
        }
    }

    /// The port, among all of the network's, for a packet of `flow` from `src` to `dst`.
    #[inline]
    pub fn port_for(&mut self, flow: FlowId, src: HostId, dst: HostId) -> u32 {
        let offset = dst.wrapping_sub(self.first_host);
        if offset < self.hosts {
            self.first_port + ((u64::from(offset) * self.ports_per_host_q40) >> 40) as u32
        } else {
            self.first_up_port + self.policy.choose(self.up_ports, flow, src, dst)
        }
    }
}

impl Policy {
    fn round_robin(per: &str, hosts: u32) -> Policy {
        let (per, counters) = match per {
            "switch" => (Per::Switch, 1),
            "source" => (Per::Source, hosts),
            _ => (Per::Destination, hosts),
        };
        Policy::RoundRobin { turns: vec![0; counters as usize], per }
    }

    #[inline]
    fn choose(&mut self, ports: u32, flow: FlowId, src: HostId, dst: HostId) -> u32 {
        match self {
            Policy::Random(stream) => stream.below(ports),
            Policy::Ecmp { salt } => {
                let hash = mix(*salt ^ (u64::from(flow) << 32 | u64::from(src)));
                (((hash >> 32) * u64::from(ports)) >> 32) as u32
            }
            Policy::RoundRobin { turns, per } => {
                let counter = match per {
                    Per::Switch => 0,
                    Per::Source => src,
                    Per::Destination => dst,
                };
                let turn = &mut turns[counter as usize];
                let choice = *turn;
                *turn = if choice + 1 == ports { 0 } else { choice + 1 };
                choice
            }
        }
    }
}

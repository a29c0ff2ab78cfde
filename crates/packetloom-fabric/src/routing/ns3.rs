//! The hash by which the switches of HPCC's and ConWeave's ns-3 simulators share flows out, for replays:
//! MurmurHash3 over the addresses and ports of a packet, seeded by the switch's number (`switch-node.cc`,
//! EcmpHash).

use crate::flow::{FlowId, HostId};
use crate::narrow::exact;
use crate::packet::{Kind, Packet};
use crate::spec::{Kind as Written, Needs, Param, Values, param};
use std::sync::Arc;

/// Some balancers place every packet themselves.
const HASHES: &[Needs] = &[Needs::That(
    |site| {
        let is = |key: &str, word: &str| site.own.has(key) && site.own.text(key) == word;
        !site.own.has("balances") || is("balances", "data") || is("flowlet_key", "conweave-ns3")
    },
    "every packet's path is chosen, and none is hashed; it needs balances = \"data\"",
)];

const OF_NS3: &[Needs] = &[Needs::Is("hash", &["hpcc-ns3"]), HASHES[0]];

pub(super) const PARAMS: &[Param] = &[
    param! {
        "hash" = "packetloom": Written::Choice(&["packetloom", "hpcc-ns3"]),
        "The hash: packetloom's, of flow and switch; or, to replay HPCC's or ConWeave's ns-3 simulator, theirs, of addresses and ports. Source ports distinguish the flows of a pair of hosts if the transport numbers them, as those over RDMA do.",
        "HPCC's ns-3 simulator, switch-node.cc"; acts HASHES
    },
    param! {
        "next_hops" = "ascending": Written::Choice(&["ascending", "descending"]),
        "With hash = \"hpcc-ns3\": the order of the equal next hops by their links. In the simulator it is the order of pointers, which depends on the build.",
        "HPCC's ns-3 simulator, third.cc"; acts OF_NS3
    },
    param! {
        "ports" = "pair": Written::Choice(&["pair", "host"]),
        "With hash = \"hpcc-ns3\": what source ports count, from 10000 on. \"pair\": the flows of a pair of hosts, all to one destination port. \"host\": the flows from a host, in the order in which they start; destination ports count those to a host.",
        "HPCC's ns-3 simulator: pair; ConWeave's: host"; acts OF_NS3
    },
    param! {
        "destination_port" = "100": Written::Count(0),
        "With hash = \"hpcc-ns3\": the destination port of all flows, or with ports = \"host\" of the first to each host. A flow of a flow.txt that has destination ports has its own.",
        "HPCC's traffic_gen.py: 100"; acts OF_NS3
    },
];

/// The first source port of a pair of hosts.
const FIRST_PORT: u16 = 10_000;

/// The source port of each flow, counted from the first, unless its transport numbers it; and the destination port.
pub type FlowPorts = Arc<[(Option<u16>, u16)]>;

/// The ports that flows have in those simulators.
#[derive(Clone, Debug)]
pub(super) struct Ports {
    pub(super) first_destination: u16,
    /// Where not all flows have the first destination port, or some are not numbered by their transport.
    pub(super) of_flows: Option<FlowPorts>,
}

impl Ports {
    /// Those that the routing specifies.
    pub(super) fn of(routing: &Values, of_flows: Option<FlowPorts>) -> Ports {
        Ports { first_destination: exact::<u16>(routing.count("destination_port")), of_flows }
    }

    /// A packet's source and destination ports; `nth` is the flow's number as its transport counts. Answers carry
    /// the ports of what they answer, exchanged.
    pub(super) fn of_packet(&self, flow: FlowId, nth: u16, kind: Kind) -> (u16, u16) {
        let of_flow = self.of_flows.as_ref().and_then(|ports| ports.get(flow as usize));
        let (own_nth, nth_to) = of_flow.copied().unwrap_or((None, 0));
        let own = FIRST_PORT.wrapping_add(own_nth.unwrap_or(nth));
        let other = self.first_destination.wrapping_add(nth_to);
        match kind {
            Kind::Data => (own, other),
            _ => (other, own),
        }
    }
}

/// A switch's hash.
#[derive(Clone, Debug)]
pub(super) struct Ns3Hash {
    seed: u32,
    /// The numbers of the hosts in the network's file; empty: their own.
    ids: Arc<[u32]>,
    is_descending: bool,
    pub(super) ports: Ports,
}

impl Ns3Hash {
    /// The hash, if the routing specifies it; `seed`: the switch's number.
    pub(super) fn of(routing: &Values, seed: u32, ids: &[u32]) -> Option<Ns3Hash> {
        (routing.text("hash") == "hpcc-ns3").then(|| Ns3Hash {
            seed,
            ids: ids.into(),
            is_descending: routing.text("next_hops") == "descending",
            ports: Ports::of(routing, None),
        })
    }

    /// 11.x.y.1, as the simulators number their hosts.
    fn address(&self, host: HostId) -> u32 {
        let id = self.ids.get(host as usize).copied().unwrap_or(host);
        0x0b00_0001 + ((id / 256) << 16) + ((id % 256) << 8)
    }

    /// Which of so many ports a packet takes.
    pub(super) fn choose<H>(&self, ports: u32, packet: &Packet<H>) -> u32 {
        let (source, destination) = self.ports.of_packet(packet.flow, packet.path, packet.kind);
        let words = [
            self.address(packet.src),
            self.address(packet.dst),
            u32::from(source) | u32::from(destination) << 16,
        ];
        let choice = murmur3(words, self.seed) % ports;
        if self.is_descending { ports - 1 - choice } else { choice }
    }
}

/// MurmurHash3, x86, 32 bits (Appleby), of three words.
fn murmur3(words: [u32; 3], seed: u32) -> u32 {
    let mut hash = seed;
    for word in words {
        let word = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        hash = (hash ^ word).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    hash ^= 12;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_take_the_spines_that_they_took_in_hpccs_simulator() {
        // Of the reference's web search at 30 %: source, destination, nth flow of the pair, spine of the data, and
        // of the answers; next hops were [37, 36].
        let ids: Vec<u32> = (0..38).collect();
        let hash = |leaf| Ns3Hash {
            seed: leaf,
            ids: ids.as_slice().into(),
            is_descending: true,
            ports: Ports { first_destination: 100, of_flows: None },
        };
        for (src, dst, data, answers) in
            [(13, 29, 37, 36), (20, 26, 37, 37), (9, 6, 36, 36), (26, 18, 37, 37), (19, 27, 37, 37)]
        {
            let there = Packet::<()> { src, dst, ..Packet::default() };
            let back = Packet::<()> { src: dst, dst: src, kind: Kind::Ack, ..Packet::default() };
            let spine = |host: HostId, packet| 36 + hash(32 + host / 8).choose(2, packet);
            assert_eq!((spine(src, &there), spine(dst, &back)), (data, answers), "{src} to {dst}");
        }
    }
}

//! What a network comes to: what `packetloom check` prints of it.

use crate::flow::HostId;
use crate::narrow::exact;
use crate::topology::Topology;
use crate::topology::hops;
use crate::transport::PacketFormat;
use crate::units::{Rate, Time};
use packetloom_transport::ways::distinct_pairs;
use std::collections::BTreeMap;

/// Between more pairs of hosts round-trip times are not compared.
const MOST_PAIRS: usize = 1_000_000;

/// Lines about a network.
pub(super) fn network_facts(topology: &Topology) -> Vec<String> {
    let mut lines = vec![nodes(topology), cables(topology)];
    lines.extend(topology.bisection().map(|bisection| capacity(topology, bisection)));
    lines.extend(bottleneck(topology));
    lines
}

fn nodes(topology: &Topology) -> String {
    let counts = (1..topology.tier_names.len()).map(|tier| {
        let count = topology.nodes.iter().filter(|node| usize::from(node.tier) == tier).count();
        format!("{count} {}", topology.tier_names[tier])
    });
    let counts: Vec<String> = counts.collect();
    let nodes = match topology.reducers {
        0 => String::new(),
        nodes => format!(" and {nodes} nodes that reduce"),
    };
    format!("{} hosts{nodes}; switches by tier: {}", topology.working_hosts(), counts.join(", "))
}

/// Cables by the tiers that they join and their rates.
fn cables(topology: &Topology) -> String {
    let mut kinds: BTreeMap<(u8, u8, Rate), u64> = BTreeMap::new();
    for link in topology.links.iter().filter(|link| link.src < link.dst) {
        let [one, other] = [link.src, link.dst].map(|node| topology.nodes[node as usize].tier);
        *kinds.entry((one, other, link.rate)).or_default() += 1;
    }
    let count: u64 = kinds.values().sum();
    let name = |tier: u8| topology.tier_names[usize::from(tier)];
    let kinds = kinds.iter().map(|(&(one, other, rate), count)| {
        format!("{count} between {} and {} at {rate}", name(one), name(other))
    });
    format!("{count} cables: {}", kinds.collect::<Vec<_>>().join(", "))
}

fn capacity(topology: &Topology, bisection: Rate) -> String {
    let half: u64 = (0..topology.working_hosts() / 2).map(|host| topology.rate_of(host).as_bps()).sum();
    let whole = if bisection == Rate(0) { f64::INFINITY } else { half as f64 / bisection.as_bps() as f64 };
    let mut line = format!(
        "bisection bandwidth {bisection} each way, between the first half of the hosts and the others; oversubscription {}",
        ratio(whole)
    );
    let tiers =
        (1..exact::<u8>(topology.tier_names.len())).filter_map(|tier| Some((tier, of_tier(topology, tier)?)));
    for (tier, found) in tiers {
        line += &format!(", at each {} {}", topology.tier_names[usize::from(tier)], ratio(found));
    }
    line
}

/// The rate of a tier's links downwards over that of its links upwards, if it has any.
fn of_tier(topology: &Topology, tier: u8) -> Option<f64> {
    let (mut down, mut up) = (0, 0);
    for link in &topology.links {
        let [from, to] = [link.src, link.dst].map(|node| topology.nodes[node as usize].tier);
        if from == tier {
            down += if to < tier { link.rate.as_bps() } else { 0 };
            up += if to > tier { link.rate.as_bps() } else { 0 };
        }
    }
    (up > 0).then(|| down as f64 / up as f64)
}

fn ratio(ratio: f64) -> String {
    format!("{}", (ratio * 1e4).round() / 1e4)
}

/// Of a dumbbell: what a load comes to on the link in its middle.
fn bottleneck(topology: &Topology) -> Option<String> {
    let [left, right] = [topology.hosts, topology.hosts + 1];
    // Only there do two switches, of no file, face each other.
    let is_dumbbell =
        exact::<u32>(topology.nodes.len()) == right + 1 && topology.tier_names == ["host", "switch"];
    let middle = topology
        .links
        .iter()
        .find(|link| is_dumbbell && topology.ids.is_empty() && (link.src, link.dst) == (left, right))?;
    let at_left = topology.nodes[left as usize].ports.len() as f64 - 1.0;
    let others = f64::from(topology.hosts) - 1.0;
    let host_bps = topology.host_rate().as_bps() as f64;
    // Of the flows of a host on the left so many go to the right, and of all that is sent as much goes back.
    let offered = host_bps * at_left * (others + 1.0 - at_left) / others / middle.rate.as_bps() as f64;
    Some(format!(
        "load is that of the hosts' links: random pairs at load 1 offer the bottleneck {} times what it carries each way",
        ratio(offered)
    ))
}

/// The times of packets to their answers on an empty network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrips {
    /// Of a header alone and of a full packet: bytes, the shortest and the longest time.
    pub of_packets: [(u64, Time, Time); 2],
    /// Bytes of an answer.
    pub answer_bytes: u16,
}

/// Those of packets of a format.
pub(super) fn round_trips(topology: &Topology, format: PacketFormat) -> Option<RoundTrips> {
    let (header, full) = (format.data.header_bytes.max(1), format.data.mss_bytes + format.data.header_bytes);
    let of_packets = base_rtts(topology, [header, full], format.ack_bytes)?;
    Some(RoundTrips { of_packets, answer_bytes: format.ack_bytes })
}

/// For packets of these sizes the shortest and the longest time to their answer without queues; not of networks with too
/// many pairs of hosts.
pub(super) fn base_rtts<const N: usize>(
    topology: &Topology,
    sizes: [u64; N],
    answer_bytes: u16,
) -> Option<[(u64, Time, Time); N]> {
    let pairs = distinct_pairs(topology);
    let way = |src: HostId, dst: HostId, bytes: u64| -> u64 {
        hops(topology, src, dst).iter().map(|hop| hop.until_ready(bytes).as_ps()).sum()
    };
    let of_size = |bytes: u64| {
        let times =
            pairs.iter().map(|&(src, dst)| Time(way(src, dst, bytes) + way(dst, src, answer_bytes.into())));
        times.fold((bytes, Time::NEVER, Time::ZERO), |(bytes, least, most), time| {
            (bytes, least.min(time), most.max(time))
        })
    };
    (pairs.len() <= MOST_PAIRS).then(|| sizes.map(of_size))
}

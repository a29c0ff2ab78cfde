//! The cost model that chooses: time = latency + bytes / bandwidth, and the least time wins (src/graph/tuning.cc:
//! ncclTopoTuneModel and ncclTopoGetAlgoTime; src/enqueue.cc: topoGetAlgoInfo).

use super::constants::{
    Hop, LL_MOST, LL_OF_AMD, LL_OF_OTHERS, PCIE_GBYTES, TREE_SHARE, base_us, hop_us as hop_of, per_channel,
};
use super::graph::{Graph, Graphs};
use super::{ALGORITHMS, Algorithm, Cpu, Generation, Inside, Machine, PROTOCOLS, Protocol};
use crate::job::Collective;

/// What an algorithm and a protocol would take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// How.
    pub algorithm: Algorithm,
    /// And with which flags.
    pub protocol: Protocol,
    /// What does not depend on the size, in µs.
    pub latency_us: f64,
    /// Bytes of the whole over the rest of the time, in GB/s.
    pub gbytes: f64,
    /// Both together, in µs.
    pub time_us: f64,
}

/// What a user forces: NCCL_ALGO and NCCL_PROTO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// This algorithm and no other.
    pub algorithm: Option<Algorithm>,
    /// This protocol and no other.
    pub protocol: Option<Protocol>,
}

/// What the library would do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The least of all estimates.
    pub best: Estimate,
    /// The least of those with another algorithm, if there are any.
    pub next: Option<Estimate>,
    /// How many channels carry the data.
    pub channels: u32,
}

/// How many steps one after the other an operation takes round a ring.
fn steps(operation: Collective, ranks: u32) -> f64 {
    let ranks = f64::from(ranks);
    match operation {
        Collective::AllReduce => 2.0 * (ranks - 1.0),
        Collective::AllGather | Collective::ReduceScatter => ranks - 1.0,
        _ => ranks,
    }
}

/// Whether an operation is done so at all.
fn is_done_so(operation: Collective, algorithm: Algorithm, protocol: Protocol, machine: &Machine) -> bool {
    let by_operation = match operation {
        Collective::AllReduce => algorithm != Algorithm::Pat,
        Collective::AllGather | Collective::ReduceScatter => {
            matches!(algorithm, Algorithm::Ring | Algorithm::Pat | Algorithm::Nvls)
        }
        Collective::Broadcast | Collective::Reduce => algorithm == Algorithm::Ring,
        Collective::AllToAll | Collective::Barrier => false,
    };
    let by_machine = match algorithm {
        Algorithm::Nvls => machine.has_nvls && machine.servers == 1,
        Algorithm::NvlsTree => machine.has_nvls && machine.servers > 1,
        Algorithm::Pat => machine.has_pat && machine.servers == machine.ranks,
        Algorithm::Tree | Algorithm::Ring => true,
    };
    let is_simple_only = matches!(algorithm, Algorithm::Nvls | Algorithm::NvlsTree | Algorithm::Pat);
    let by_protocol = match protocol {
        Protocol::Simple => true,
        Protocol::Ll => !is_simple_only,
        // By default over NVLink alone.
        Protocol::Ll128 => !is_simple_only && (machine.inside == Inside::NvLink || machine.local() == 1),
    };
    by_operation && by_machine && by_protocol
}

/// Which hops a ring or tree has inside a server.
fn inside(machine: &Machine) -> Hop {
    match machine.inside {
        Inside::NvLink => Hop::NvLink,
        Inside::Pcie => Hop::Pcie,
    }
}

/// The latency of a hop inside a server, and of one between servers, in µs.
pub fn hop_us(machine: &Machine, algorithm: Algorithm, protocol: Protocol) -> (f64, f64) {
    // With one accelerator in each server latencies are not hidden: the tree's is taken.
    let by = if machine.local() == 1 { Algorithm::Tree } else { algorithm };
    (hop_of(inside(machine), algorithm, protocol), hop_of(Hop::Network, by, protocol))
}

/// The same of a step of an operation: in a ring among servers no step takes less than posting to the network, and of
/// PAT's steps several are under way at a time.
pub fn ring_hop_us(machine: &Machine, algorithm: Algorithm, protocol: Protocol) -> (f64, f64) {
    let (intra, inter) = hop_us(machine, algorithm, protocol);
    let least = if algorithm == Algorithm::Ring { overhead_us(machine, protocol) } else { 0.0 };
    (intra.max(least), if algorithm == Algorithm::Pat { inter / PAT_HOPS } else { inter })
}

/// What a call takes before its first message, in µs: the base latency, and PAT's for each rank.
pub fn call_us(machine: &Machine, algorithm: Algorithm, protocol: Protocol) -> f64 {
    let of_ranks = if algorithm == Algorithm::Pat { f64::from(machine.ranks) * PAT_RANK_US } else { 0.0 };
    base_us(algorithm, protocol) + of_ranks
}

/// PAT takes a hop's latency divided by this for each doubling, and this in µs for each rank.
const PAT_HOPS: f64 = 3.5;
const PAT_RANK_US: f64 = 2.8;

/// What posting to the network takes in µs, for each step of a ring among servers (tuning.cc: getNetOverhead).
fn overhead_us(machine: &Machine, protocol: Protocol) -> f64 {
    if machine.servers == 1 {
        return 0.0;
    }
    let one = if machine.cpu == Cpu::Amd { 2.0 } else { 1.0 };
    if protocol == Protocol::Simple { 3.0 * one } else { one }
}

/// What does not depend on the size, in µs.
fn latency_us(operation: Collective, algorithm: Algorithm, protocol: Protocol, machine: &Machine) -> f64 {
    let (intra, inter) = hop_us(machine, algorithm, protocol);
    let base = base_us(algorithm, protocol);
    let servers = f64::from(machine.servers);
    let levels = f64::from(machine.servers.ilog2());
    match algorithm {
        Algorithm::Ring if matches!(operation, Collective::Broadcast | Collective::Reduce) => {
            let hop = if machine.servers == 1 { inside(machine) } else { Hop::Network };
            base + hop_of(hop, algorithm, protocol)
        }
        Algorithm::Ring => {
            let rounds = if operation == Collective::AllReduce { 2.0 } else { 1.0 };
            let between = rounds * (servers - 1.0);
            let intra = intra.max(overhead_us(machine, protocol));
            base + (steps(operation, machine.ranks) - between) * intra + between * inter
        }
        Algorithm::Tree => base + 2.0 * (f64::from(machine.local() - 1) * intra + levels * inter),
        Algorithm::Nvls => intra + if machine.servers > 1 { inter } else { 0.0 },
        Algorithm::NvlsTree => base + intra + 2.0 * levels * inter,
        Algorithm::Pat => call_us(machine, algorithm, protocol) + levels * (inter / PAT_HOPS),
    }
}

/// What the channels carry together, as bytes of the whole over time, in GB/s.
fn gbytes(
    operation: Collective,
    algorithm: Algorithm,
    protocol: Protocol,
    (machine, graphs): (&Machine, &Graphs),
) -> f64 {
    let is_nvls = matches!(algorithm, Algorithm::Nvls | Algorithm::NvlsTree);
    let Some(graph) = (if is_nvls { graphs.nvls } else { Some(graphs.ring) }) else { return 0.0 };
    let channels = f64::from(graph.channels);
    let by_servers = machine.servers.min(3) as usize - 1;
    let caps = per_channel(machine.generation);
    let bus = if is_nvls {
        channels * nvls_gbytes(operation, algorithm, graph, (machine, caps.nvls_tree[by_servers]))
    } else {
        channels * if machine.servers <= 2 { graph.intra } else { graph.inter }
    };
    let ll_most = LL_MOST[ll_row(machine)][by_servers];
    let bus = match (algorithm, protocol) {
        (Algorithm::Ring, Protocol::Ll) => (bus * 0.5).min(ll_most),
        (Algorithm::Ring, Protocol::Ll128) => (bus * 0.92).min(channels * caps.ring_ll128[by_servers]),
        (Algorithm::Tree, _) => {
            let bus = (bus * 0.92).min(channels * caps.tree[by_servers]);
            let bus = match protocol {
                Protocol::Ll => (bus / 3.8).min(ll_most),
                Protocol::Ll128 => {
                    let share = if machine.servers == 1 { 7.0 / 9.0 } else { 120.0 / 128.0 };
                    (bus * share).min(channels * caps.tree_ll128[by_servers])
                }
                Protocol::Simple => bus,
            };
            if graphs.has_plain_tree { bus * 0.85 } else { bus }
        }
        (Algorithm::Pat, _) => bus * 0.75,
        _ => bus,
    };
    let is_shared = matches!(operation, Collective::AllGather | Collective::ReduceScatter);
    match algorithm {
        Algorithm::Tree => bus * 0.5,
        // Of these two the library does not convert it.
        Algorithm::Pat | Algorithm::Nvls if is_shared => bus,
        _ => bus * f64::from(machine.ranks) / steps(operation, machine.ranks),
    }
}

/// Of one channel.
fn nvls_gbytes(
    operation: Collective,
    algorithm: Algorithm,
    graph: Graph,
    (machine, most): (&Machine, f64),
) -> f64 {
    let heads = f64::from(graph.channels);
    let efficiency = per_channel(machine.generation).nvls_efficiency;
    let local = f64::from(machine.local());
    let intra = graph.intra * efficiency * (heads - 1.0) / heads;
    let intra = intra * if operation == Collective::AllReduce { 2.0 } else { (local - 1.0) / local };
    let is_tree = algorithm == Algorithm::NvlsTree;
    let inter = graph.inter * if is_tree && machine.servers <= 2 { 2.0 } else { 1.0 };
    intra.min(inter).min(if is_tree { most } else { f64::INFINITY })
}

fn ll_row(machine: &Machine) -> usize {
    match (machine.servers, machine.generation, machine.cpu) {
        (1, Generation::Volta, _) => 0,
        (1, Generation::Ampere, _) => 1,
        (1, Generation::Hopper, _) => 2,
        (1, Generation::Blackwell, _) => 3,
        (_, _, Cpu::Amd) => LL_OF_AMD,
        _ => LL_OF_OTHERS,
    }
}

/// What the threads of a channel move at most for a lane of an operation, in GB/s on the wire, as far as the library's
/// tables bound a channel: `perChMaxTreeBws` of one server for Simple, whose threads do for a ring, one after the
/// other, what those of a tree do up and down beside each other; `perChMaxRingLL128Bws` and `perChMaxTreeLL128Bws`;
/// `llMaxBws` of one server, of all channels together. What binds several servers beside is network and CPU.
/// Without an algorithm it is pairs, of whose threads one half sends and the other receives.
pub fn threads_gbytes(machine: &Machine, algorithm: Option<Algorithm>, protocol: Protocol) -> Option<f64> {
    let caps = per_channel(machine.generation);
    let is_tree = algorithm == Some(Algorithm::Tree);
    let is_halved = match algorithm {
        // A switch moves it.
        Some(Algorithm::Nvls | Algorithm::NvlsTree) => return None,
        Some(Algorithm::Ring | Algorithm::Pat) => false,
        Some(Algorithm::Tree) | None => true,
    };
    let channel = match protocol {
        Protocol::Simple => caps.tree[0],
        Protocol::Ll128 => (if is_tree { caps.tree_ll128 } else { caps.ring_ll128 })[0] * 16.0 / 15.0,
        Protocol::Ll => {
            let alone = Machine { servers: 1, ..*machine };
            2.0 * LL_MOST[ll_row(&alone)][0] / f64::from(Graphs::of(machine).channels)
        }
    };
    Some(if is_halved { channel / 2.0 } else { channel })
}

/// What trees reach of their bandwidth for so many bytes.
fn tree_share(protocol: Protocol, bytes: u64) -> f64 {
    let Some(power) = (bytes >> 6).checked_ilog2().filter(|&power| power < 23) else { return 1.0 };
    let row = match protocol {
        Protocol::Ll => 0,
        Protocol::Ll128 => 1,
        Protocol::Simple => 2,
    };
    TREE_SHARE[row][power as usize]
}

/// What an operation would take by one algorithm and protocol; nothing where it is not done so.
fn estimate(
    operation: Collective,
    bytes: u64,
    (algorithm, protocol): (Algorithm, Protocol),
    (machine, graphs): (&Machine, &Graphs),
) -> Option<Estimate> {
    if !is_done_so(operation, algorithm, protocol, machine) {
        return None;
    }
    let mut gbytes = gbytes(operation, algorithm, protocol, (machine, graphs));
    let is_reduced = operation == Collective::AllReduce;
    let is_corrected_nvls = algorithm == Algorithm::NvlsTree
        && machine.generation == Generation::Blackwell
        && machine.cpu != Cpu::Arm;
    if is_reduced && (algorithm == Algorithm::Tree || is_corrected_nvls) {
        gbytes *= tree_share(protocol, bytes);
    }
    let mut latency_us = latency_us(operation, algorithm, protocol, machine);
    let each = bytes / u64::from(graphs.channels * machine.ranks);
    let is_simple_ring = (algorithm, protocol) == (Algorithm::Ring, Protocol::Simple);
    if is_reduced && is_simple_ring && machine.servers > 1 && each >= 64 {
        // "Plateau effect of ring".
        latency_us *= if machine.generation < Generation::Ampere { 1.9 } else { 1.4 };
    }
    let time_us = latency_us + bytes as f64 / (1_000.0 * gbytes);
    (gbytes > 0.0).then_some(Estimate { algorithm, protocol, latency_us, gbytes, time_us })
}

/// What an operation would take, in every way in which it is done, in the library's order.
pub fn estimates(operation: Collective, bytes: u64, machine: &Machine, graphs: &Graphs) -> Vec<Estimate> {
    let pairs = ALGORITHMS
        .iter()
        .flat_map(|&(_, algorithm)| PROTOCOLS.iter().map(move |&(_, protocol)| (algorithm, protocol)));
    pairs.filter_map(|pair| estimate(operation, bytes, pair, (machine, graphs))).collect()
}

/// What the library would do; nothing if an operation can't be done as wished.
pub fn choose(
    operation: Collective,
    bytes: u64,
    wishes: Wishes,
    machine: &Machine,
    graphs: &Graphs,
) -> Option<Choice> {
    let mut all = estimates(operation, bytes, machine, graphs);
    all.retain(|one| {
        wishes.algorithm.is_none_or(|algorithm| algorithm == one.algorithm)
            && wishes.protocol.is_none_or(|protocol| protocol == one.protocol)
    });
    let least =
        |all: &[Estimate]| all.iter().copied().min_by(|one, other| one.time_us.total_cmp(&other.time_us));
    let best = least(&all)?;
    all.retain(|one| one.algorithm != best.algorithm);
    let channels = used(bytes, &best, machine, graphs);
    Some(Choice { best, next: least(&all), channels })
}

/// How many channels carry so many bytes: fewer where each thread would have little (enqueue.cc: topoGetAlgoInfo;
/// thresholds of src/include/comm.h).
fn used(bytes: u64, chosen: &Estimate, machine: &Machine, graphs: &Graphs) -> u32 {
    if matches!(chosen.algorithm, Algorithm::Nvls | Algorithm::NvlsTree) {
        return graphs.nvls_channels;
    }
    let is_ring = chosen.algorithm == Algorithm::Ring;
    let is_narrow = graphs.ring.intra * f64::from(graphs.ring.channels) <= PCIE_GBYTES;
    let threads = match chosen.protocol {
        Protocol::Ll128 => 640,
        Protocol::Simple if is_ring && is_narrow => 256,
        _ => 512,
    };
    let threshold = match chosen.protocol {
        Protocol::Simple => 64,
        Protocol::Ll if is_ring => 8 * u64::from(machine.ranks),
        Protocol::Ll | Protocol::Ll128 => 8,
    };
    let mut channels = graphs.channels;
    while channels >= 2 && bytes < u64::from(channels) * threads * threshold {
        channels -= 1;
    }
    channels
}

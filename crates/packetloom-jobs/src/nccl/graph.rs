//! Channels: how many, and how much each carries.
//!
//! The library searches for paths through a server's PCIe and NVLink tree. Here a server is regular (every accelerator
//! has the same NVLinks, NICs are spread evenly), and for such servers the search comes to arithmetic.

use super::Switching;
use super::constants::{PCIE_GBYTES, nvlink_gbytes, speeds};
use super::{Generation, Inside, Machine};
use crate::narrow::saturated;

/// Most channels of a ring search: half of MAXCHANNELS (src/include/device.h).
const MOST_FOUND: u32 = 32;
/// Narrower channels than this share of those that were found are not tried (src/graph/search.cc: ncclTopoCompute).
const NARROWEST: f64 = 0.49;
/// MAXCHANNELS.
const MOST_USED: u32 = 64;
/// `NCCL_MAX_NVLS_ARITY` (src/include/device.h).
const MOST_NVLS: u32 = 32;

/// Channels that were found for an algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Graph {
    /// How many.
    pub channels: u32,
    /// What each carries inside servers, in GB/s.
    pub intra: f64,
    /// And between servers.
    pub inter: f64,
}

/// The channels of all algorithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Graphs {
    /// Of rings and trees.
    pub ring: Graph,
    /// Of NVLS, where switches reduce.
    pub nvls: Option<Graph>,
    /// How many channels are used for rings and trees.
    pub channels: u32,
    /// How many for NVLS.
    pub nvls_channels: u32,
    /// Whether the tree's root in a server is parent and child of other servers by one accelerator, which costs 15 %.
    pub has_plain_tree: bool,
}

impl Graphs {
    /// What the search comes to.
    pub fn of(machine: &Machine) -> Graphs {
        let ring = duplicated(ring(machine), machine);
        let nvls = machine.has_nvls.then(|| nvls(machine)).filter(|graph| graph.channels > 1);
        // Two trees (src/graph/connect.cc: ncclTopoPostset).
        let mut channels = (2 * ring.channels).min(MOST_USED);
        let is_newer = machine.generation >= Generation::Hopper;
        if is_newer && machine.servers > 1 && ring.intra > 45.0 && channels < 16 {
            channels *= 2;
        }
        let channels = channels.min(machine.max_channels).max(machine.min_channels);
        let nvls_channels = Switching::of(machine).channels;
        // From Hopper on the search ends with the simple pattern (a log of 24 H100, NVIDIA/nccl issue 1453, has its
        // 15 %), and with one accelerator in a server there is no other.
        let has_plain_tree = is_newer || machine.local() == 1;
        Graphs { ring, nvls, channels, nvls_channels, has_plain_tree }
    }
}

/// What an accelerator can send to its neighbours, in GB/s.
fn inside_gbytes(machine: &Machine) -> f64 {
    match machine.inside {
        Inside::NvLink => nvlink_gbytes(machine.generation, machine.nvlinks),
        Inside::Pcie => PCIE_GBYTES,
    }
}

/// Rings, before they are split.
fn ring(machine: &Machine) -> Graph {
    let inside = inside_gbytes(machine);
    let speeds = speeds(machine.generation);
    if machine.servers > 1 {
        // A ring for each NIC. An accelerator passes on all of them but those that leave the server there.
        let (nics, local) = (f64::from(machine.nics), f64::from(machine.local()));
        let passed = nics * (local - 1.0) / local;
        let fits = |speed: &&f64| **speed <= machine.nic_gbytes && **speed * passed <= inside;
        let speed = speeds.network.iter().find(fits).or(speeds.network.last()).copied().unwrap_or(0.0);
        return Graph { channels: machine.nics.min(MOST_FOUND), intra: speed, inter: speed };
    }
    // The most of all; of equal ones the widest, which is tried first. Channels of less than half as much as were found
    // are not tried.
    let mut best = Graph { channels: 1, intra: 0.1, inter: 0.1 };
    for &speed in speeds.inside {
        if best.intra > 0.1 && speed / best.intra <= NARROWEST {
            break;
        }
        let channels = saturated::<u32>((inside / speed).floor()).min(MOST_FOUND);
        if f64::from(channels) * speed > f64::from(best.channels) * best.intra {
            best = Graph { channels, intra: speed, inter: speed };
        }
    }
    best
}

/// Wide channels are two (search.cc: ncclTopoDupChannels).
fn duplicated(graph: Graph, machine: &Machine) -> Graph {
    let is_newer = machine.generation >= Generation::Hopper;
    if graph.intra < 25.0 || (is_newer && graph.intra < 50.0 && graph.channels > 4) {
        return graph;
    }
    let channels = (2 * graph.channels).min(MOST_FOUND);
    let times = f64::from(channels.div_ceil(graph.channels));
    Graph { channels, intra: graph.intra / times, inter: graph.inter / times }
}

/// A head for each accelerator of a lone server, for each NIC of several.
fn nvls(machine: &Machine) -> Graph {
    let heads = if machine.servers > 1 { machine.nics.min(machine.local()) } else { machine.local() };
    let channels = heads.min(MOST_NVLS);
    let all = speeds(machine.generation);
    // Every accelerator takes part in every head's reductions.
    let fits = |speed: &&f64| **speed * f64::from(machine.local()) <= inside_gbytes(machine);
    let widest = |list: &'static [f64]| list.iter().find(fits).or(list.last()).copied().unwrap_or(0.0);
    if machine.servers == 1 {
        // The search goes on to widen what leaves a head, which nothing bounds here, up to twice what reaches it.
        let intra = widest(all.inside);
        let wider = all.inside.iter().rev().filter(|speed| **speed > intra);
        let inter = wider.fold(intra, |inter, &speed| if inter < 2.0 * intra { speed } else { inter });
        return Graph { channels, intra, inter };
    }
    let by_nic = all.network.iter().find(|speed| **speed <= machine.nic_gbytes).or(all.network.last());
    let inter = by_nic.copied().unwrap_or(0.0);
    Graph { channels, intra: widest(all.network), inter }
}

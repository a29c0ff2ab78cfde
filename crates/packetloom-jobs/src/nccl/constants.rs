//! The tables of the cost model, as `src/graph/tuning.cc` and its neighbours have them.

use super::{Algorithm, Generation, Protocol};

/// By protocol: LL, LL128, Simple.
type ByProtocol = [f64; 3];
/// For one server, two, and more.
type ByServers = [f64; 3];

/// What the latencies of a hop differ by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Inside a server, by NVLink.
    NvLink,
    /// Inside a server, by PCIe.
    Pcie,
    /// Between servers.
    Network,
}

/// The latency of a call before its first hop, in µs (tuning.cc: `baseLatencies`).
pub fn base_us(algorithm: Algorithm, protocol: Protocol) -> f64 {
    let by_protocol: ByProtocol = match algorithm {
        Algorithm::Tree => [6.8, 14.0, 8.4],
        Algorithm::Ring => [6.6, 14.0, 8.4],
        Algorithm::Nvls | Algorithm::NvlsTree => [0.0; 3],
        Algorithm::Pat => [8.0; 3],
    };
    of(by_protocol, protocol)
}

/// The latency of a hop in µs (tuning.cc: `hwLatencies`).
pub fn hop_us(hop: Hop, algorithm: Algorithm, protocol: Protocol) -> f64 {
    let by_protocol: ByProtocol = match (hop, algorithm) {
        (Hop::NvLink, Algorithm::Tree) => [0.6, 1.25, 4.0],
        (Hop::NvLink, Algorithm::Ring) => [0.6, 1.9, 3.4],
        (Hop::NvLink, Algorithm::Nvls | Algorithm::NvlsTree) => [0.0, 0.0, 25.0],
        (Hop::Pcie, Algorithm::Tree) => [1.0, 1.9, 4.0],
        (Hop::Pcie, Algorithm::Ring) => [1.0, 2.5, 5.7],
        (Hop::Pcie, Algorithm::Nvls | Algorithm::NvlsTree) => [0.0; 3],
        (Hop::NvLink | Hop::Pcie, Algorithm::Pat) => [0.0, 0.0, 4.0],
        (Hop::Network, Algorithm::Tree) => [5.0, 8.5, 14.0],
        (Hop::Network, Algorithm::Ring) => [2.7, 4.0, 14.0],
        (Hop::Network, Algorithm::Nvls) => [0.0, 0.0, 18.0],
        (Hop::Network, Algorithm::NvlsTree) => [0.0, 0.0, 20.9],
        (Hop::Network, Algorithm::Pat) => [0.0, 0.0, 14.0],
    };
    of(by_protocol, protocol)
}

fn of(by_protocol: ByProtocol, protocol: Protocol) -> f64 {
    match protocol {
        Protocol::Ll => by_protocol[0],
        Protocol::Ll128 => by_protocol[1],
        Protocol::Simple => by_protocol[2],
    }
}

/// The most that LL carries, in GB/s (tuning.cc: `llMaxBws`): by accelerator in one server, else by CPU.
pub const LL_MOST: [ByServers; 4] = [
    // Volta; Intel at two servers, and at more.
    [39.0, 39.0, 20.4],
    // Ampere; AMD at two servers, and at more.
    [87.7, 22.5, 19.0],
    [141.0, 45.0, 35.0],
    [282.0, 90.0, 70.0],
];
/// The row of [`LL_MOST`] of several servers with CPUs that are not AMD's.
pub const LL_OF_OTHERS: usize = 0;
/// The row of several servers with AMD's CPUs.
pub const LL_OF_AMD: usize = 1;

/// The most that a channel carries under each algorithm and protocol, in GB/s.
#[derive(Clone, Copy, Debug)]
pub struct PerChannel {
    /// tuning.cc: `perChMaxRingLL128Bws`.
    pub ring_ll128: ByServers,
    /// `perChMaxTreeLL128Bws`.
    pub tree_ll128: ByServers,
    /// `perChMaxTreeBws`.
    pub tree: ByServers,
    /// `perChMaxNVLSTreeBws`.
    pub nvls_tree: ByServers,
    /// `nvlsEfficiency`.
    pub nvls_efficiency: f64,
}

/// For each generation.
pub fn per_channel(generation: Generation) -> PerChannel {
    match generation {
        Generation::Volta => PerChannel {
            ring_ll128: [20.0; 3],
            tree_ll128: [20.0; 3],
            tree: [26.5, 18.5, 10.0],
            nvls_tree: [26.5, 18.5, 10.0],
            nvls_efficiency: 0.0,
        },
        Generation::Ampere => PerChannel {
            ring_ll128: [20.0; 3],
            tree_ll128: [20.0; 3],
            tree: [24.0, 23.6, 17.8],
            nvls_tree: [24.0, 23.6, 17.8],
            nvls_efficiency: 0.0,
        },
        Generation::Hopper => PerChannel {
            ring_ll128: [36.7; 3],
            tree_ll128: [36.7, 36.7, 29.0],
            tree: [38.7, 41.4, 36.0],
            nvls_tree: [0.0, 57.7, 45.5],
            nvls_efficiency: 0.85,
        },
        Generation::Blackwell => PerChannel {
            ring_ll128: [40.0; 3],
            tree_ll128: [55.6, 31.67, 20.0],
            tree: [70.0, 42.8, 24.0],
            nvls_tree: [0.0, 96.0, 80.0],
            nvls_efficiency: 0.74,
        },
    }
}

/// What trees reach of their bandwidth at 64 B, and at each power of two up to 256 MiB (tuning.cc:
/// `treeCorrectionFactor`). The last of each is not used.
pub const TREE_SHARE: [[f64; 24]; 3] = [
    [
        1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
        1.0, 1.0, 1.0, 1.0,
    ],
    [
        1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9,
        0.9, 1.0, 1.0, 1.0,
    ],
    [
        0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7,
        0.8, 0.9, 0.9, 0.9,
    ],
];

/// The bandwidths in GB/s that the search tries for a channel (src/graph/search.cc: `speedArray...`).
#[derive(Clone, Copy, Debug)]
pub struct Speeds {
    /// Inside one server.
    pub inside: &'static [f64],
    /// Among servers.
    pub network: &'static [f64],
}

/// For each generation.
pub fn speeds(generation: Generation) -> Speeds {
    match generation {
        Generation::Volta | Generation::Ampere => Speeds {
            inside: &[40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0],
            network: &[
                48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.4, 1.2,
                0.24, 0.12,
            ],
        },
        Generation::Hopper => Speeds {
            inside: &[60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0],
            network: &[
                48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24,
                0.12,
            ],
        },
        Generation::Blackwell => Speeds {
            inside: &[90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0],
            network: &[
                96.0, 86.0, 80.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0,
                2.4, 1.2, 0.24, 0.12,
            ],
        },
    }
}

/// What so many NVLinks of an accelerator carry together, in GB/s, by the library's rate of one (src/graph/topo.h:
/// `SM70_NVLINK_BW` and its kin); nothing: all of its links (6 of V100, 12 of A100, 18 of H100 and B200).
pub fn nvlink_gbytes(generation: Generation, links: Option<u32>) -> f64 {
    let (all, one) = match generation {
        Generation::Volta => (6, 20.0),
        Generation::Ampere => (12, 20.0),
        Generation::Hopper => (18, 20.6),
        Generation::Blackwell => (18, 40.1),
    };
    f64::from(links.unwrap_or(all)) * one
}

/// PCIe of generation 3 with 16 lanes, in GB/s (topo.h: `PCI_BW`).
pub const PCIE_GBYTES: f64 = 12.0;

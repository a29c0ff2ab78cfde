//! NCCL's decisions: from a collective call to algorithm, protocol, channels and messages.
//!
//! Everything here is arithmetic on a [`Machine`] and a size; nothing is simulated. Facts are those of NVIDIA/nccl
//! 2.30.7 (commit 5067397c), told at each table and rule with the file that has them. Of the library's parts these are
//! not here: collectives in the network (CollNet, SHARP), tuner plug-ins (clouds ship them), user-registered buffers,
//! several communicators that share channels, and machines whose servers differ.

mod constants;
mod cost;
mod graph;
mod pat;
mod peers;
mod pieces;
mod switching;
#[cfg(test)]
mod tests;

pub use cost::{Choice, Estimate, Wishes, call_us, choose, estimates, hop_us, ring_hop_us, threads_gbytes};
pub use graph::{Graph, Graphs};
pub use pat::{Aggregated, aggregated};
pub use peers::{Parts, TOGETHER, channels_per_peer, group, in_order};
pub use pieces::{GRANT_BYTES, Pieces, STEPS};
pub use switching::Switching;

/// A generation of accelerators, by what the library's constants distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// Compute capability 7.
    Volta,
    /// Compute capability 8.
    Ampere,
    /// Compute capability 9.
    Hopper,
    /// Compute capability 10.
    Blackwell,
}

/// Who made the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpu {
    /// Intel, x86.
    Intel,
    /// AMD, x86.
    Amd,
    /// Arm: Grace.
    Arm,
}

/// What joins the accelerators of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// NVLink, by switches or directly.
    NvLink,
    /// PCIe.
    Pcie,
}

/// How an operation is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// A double binary tree among servers, chains inside.
    Tree,
    /// Rings, one for each channel.
    Ring,
    /// Switches inside the server reduce and multicast.
    Nvls,
    /// The same inside servers, a tree among them.
    NvlsTree,
    /// Parallel aggregated trees: as Bruck's algorithm, the farthest first.
    Pat,
}

/// How data and flags go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// Four bytes of data and four of flag at a time.
    Ll,
    /// 120 bytes of data in 128.
    Ll128,
    /// Data as it is, and a counter.
    Simple,
}

/// All algorithms, in the order in which the library compares them.
pub const ALGORITHMS: [(&str, Algorithm); 5] = [
    ("tree", Algorithm::Tree),
    ("ring", Algorithm::Ring),
    ("nvls", Algorithm::Nvls),
    ("nvls-tree", Algorithm::NvlsTree),
    ("pat", Algorithm::Pat),
];

/// All protocols, in the same order.
pub const PROTOCOLS: [(&str, Protocol); 3] =
    [("ll", Protocol::Ll), ("ll128", Protocol::Ll128), ("simple", Protocol::Simple)];

impl Algorithm {
    /// Its name in scenarios and results.
    pub fn name(self) -> &'static str {
        ALGORITHMS.iter().find(|(_, one)| *one == self).map_or("", |(name, _)| name)
    }
}

impl Protocol {
    /// Its name in scenarios and results.
    pub fn name(self) -> &'static str {
        PROTOCOLS.iter().find(|(_, one)| *one == self).map_or("", |(name, _)| name)
    }
}

/// What the library knows of the ranks of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// The accelerators.
    pub generation: Generation,
    /// The CPUs.
    pub cpu: Cpu,
    /// What joins the accelerators of a server.
    pub inside: Inside,
    /// How many NVLinks an accelerator has to the others; nothing: all of its generation.
    pub nvlinks: Option<u32>,
    /// How many ranks there are.
    pub ranks: u32,
    /// On how many servers, equally many on each.
    pub servers: u32,
    /// How many NICs of each server are used.
    pub nics: u32,
    /// The rate of a NIC in GB/s.
    pub nic_gbytes: f64,
    /// Whether switches inside servers reduce: NCCL_NVLS_ENABLE.
    pub has_nvls: bool,
    /// Whether PAT may be taken: NCCL_PAT_ENABLE.
    pub has_pat: bool,
    /// NCCL_MIN_NCHANNELS.
    pub min_channels: u32,
    /// NCCL_MAX_NCHANNELS.
    pub max_channels: u32,
}

impl Machine {
    /// How many ranks a server has.
    pub fn local(&self) -> u32 {
        self.ranks / self.servers
    }
}

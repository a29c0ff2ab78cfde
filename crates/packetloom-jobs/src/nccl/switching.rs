//! How much switches that reduce are given at a time, and by how many channels (src/transport/nvls.cc: ncclNvlsTuning,
//! ncclNvlsTreeSm100Tuning).

use super::{Cpu, Generation, Machine};

const KIB: u64 = 1 << 10;
/// `NCCL_NVLS_CHUNKSIZE`.
const CHUNK: u64 = 128 * KIB;
/// NICs of 400 and of 800 Gb/s, in GB/s, as the library tells them apart.
const FAST_NIC: f64 = 48.0;
const FASTER_NIC: f64 = 96.0;

/// Channels and chunks of NVLS and NVLSTree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switching {
    /// How many channels.
    pub channels: u32,
    /// A chunk of one server's, at most.
    pub chunk_bytes: u64,
    /// And of a tree's among servers.
    pub tree_chunk_bytes: u64,
}

impl Switching {
    /// What the library takes for a machine.
    pub fn of(machine: &Machine) -> Switching {
        match machine.generation {
            Generation::Blackwell if machine.servers > 1 => blackwell(machine),
            generation => Switching {
                channels: if generation == Generation::Blackwell { 24 } else { 16 },
                chunk_bytes: CHUNK,
                tree_chunk_bytes: if machine.servers >= 4 { CHUNK / 2 } else { CHUNK },
            },
        }
    }
}

/// Of several Blackwell servers. Accelerators have their NICs below the same PCIe switches (PATH_PXB), but not with
/// Grace, where they are beyond the CPU.
fn blackwell(machine: &Machine) -> Switching {
    let (local, nic) = (machine.local(), machine.nic_gbytes);
    let is_near = machine.cpu != Cpu::Arm;
    let (channels, chunk, tree) = if machine.servers == 2 && nic >= FAST_NIC {
        match local {
            ..=4 => (32, 256, 256),
            16.. => (32, 128, 64),
            5..=8 if is_near && nic < FASTER_NIC => (32, 128, 64),
            _ => (32, 128, 128),
        }
    } else if nic >= FASTER_NIC {
        match local {
            ..=8 => (24, 256, 256),
            9..=31 => (32, 128, 128),
            _ => (32, 128, 64),
        }
    } else if nic >= FAST_NIC {
        (24, 128, if is_near { 64 } else { 128 })
    } else {
        // As of other generations.
        (32, 128, if machine.servers >= 4 { 64 } else { 128 })
    };
    Switching { channels, chunk_bytes: chunk * KIB, tree_chunk_bytes: tree * KIB }
}

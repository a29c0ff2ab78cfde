//! How an operation on a channel is cut into messages: loops of chunks of slices (src/enqueue.cc: calcCollChunking).

use super::{Algorithm, Protocol, Switching};
use crate::job::Collective;
use crate::narrow::exact;

/// A connection has a buffer of so many steps (`NCCL_STEPS`, src/include/device.h).
pub const STEPS: u32 = 8;

/// What a receiver writes to its sender when it can take another step (`ncclIbSendFifo`, 64 B with padding,
/// src/transport/net_ib/).
pub const GRANT_BYTES: u64 = 64;

/// A step of Simple's buffer: an eighth of 4 MiB (`DEFAULT_BUFFSIZE`, src/init.cc).
const SIMPLE_STEP: u64 = 512 << 10;
/// Of LL's: an eighth of 8 lines × 512 threads × 8 steps × 16 B; half of it is data.
const LL_STEP: u64 = 64 << 10;
/// Of LL128's: an eighth of 120 elements × 640 threads × 8 steps × 8 B; 15 of 16 of it is data.
const LL128_STEP: u64 = 614_400;
/// PAT's chunks are halved down to this.
const LEAST_OF_PAT: u64 = 64 << 10;
/// What chunks are multiples of (src/include/collectives.h: ncclProtoGrainSize; LL128's is a warp's lines of data).
const GRAIN: u64 = 512;

/// How the data of one channel is cut up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// Data that passes one connection at a time as a whole.
    pub chunk_bytes: u64,
    /// In how many messages a chunk goes.
    pub slices: u32,
    /// The least data of a message, but for the last of a chunk.
    pub least_slice_bytes: u64,
    /// Chunks that a loop has of the data: one for each rank of a ring, else one.
    pub chunks_per_loop: u32,
    /// How many messages of a connection may be under way.
    pub depth: u32,
    /// Bytes on the wire for so many of data, as a fraction.
    pub wire: (u64, u64),
}

impl Pieces {
    /// Of an operation on so many bytes by so many channels, among ranks on servers.
    pub fn of(
        operation: Collective,
        (algorithm, protocol): (Algorithm, Protocol),
        (bytes, channels): (u64, u32),
        (ranks, servers): (u32, u32),
    ) -> Pieces {
        let is_ring = algorithm == Algorithm::Ring;
        let is_piped = matches!(operation, Collective::Broadcast | Collective::Reduce);
        // src/include/collectives.h: ALLREDUCE_CHUNKSTEPS and its kin, half of the buffer and a quarter of it.
        let (chunk_steps, slice_steps) = match (protocol, is_ring && !is_piped) {
            (Protocol::Simple, true) => (STEPS / 2, STEPS / 4),
            _ => (1, 1),
        };
        let (step, wire) = match protocol {
            Protocol::Simple => (SIMPLE_STEP, (1, 1)),
            Protocol::Ll => (LL_STEP / 2, (2, 1)),
            Protocol::Ll128 => (LL128_STEP / 16 * 15, (16, 15)),
        };
        let mut chunk = step * u64::from(chunk_steps);
        if algorithm == Algorithm::Tree && protocol == Protocol::Ll128 {
            chunk = shallow(chunk, bytes / u64::from(channels), (ranks, servers));
        }
        if algorithm == Algorithm::Pat {
            let together = if operation == Collective::AllGather { 32 } else { 16 };
            while chunk * u64::from(channels) * together > bytes && chunk > LEAST_OF_PAT {
                chunk /= 2;
            }
        }
        Pieces {
            chunk_bytes: chunk / GRAIN * GRAIN,
            slices: chunk_steps / slice_steps,
            // src/device/prims_simple.h: a slice is a 32nd of its steps at least.
            least_slice_bytes: if protocol == Protocol::Simple {
                step * u64::from(slice_steps) / 32
            } else {
                1
            },
            chunks_per_loop: if is_ring && !is_piped { ranks } else { 1 },
            depth: STEPS / slice_steps,
            wire,
        }
    }

    /// Of an operation on so many bytes by switches that reduce: in one server, or by trees among servers, with so many
    /// heads in each (src/enqueue.cc: calcCollChunking).
    pub fn switched(is_tree: bool, bytes: u64, (channels, heads): (u32, u32), most: Switching) -> Pieces {
        let together = u64::from(channels) * u64::from(heads);
        let Switching { chunk_bytes, tree_chunk_bytes, .. } = most;
        let mut chunk = if is_tree { chunk_bytes.min(tree_chunk_bytes) } else { chunk_bytes };
        let rules: &[(u64, u64)] = match is_tree {
            true => &[(32, 256 << 10), (16, 128 << 10), (4, 64 << 10), (1, 32 << 10)],
            false => &[(64, 64 << 10), (8, 32 << 10), (2, 16 << 10)],
        };
        for &(times, smaller) in rules {
            if bytes < times * together * chunk && chunk > smaller {
                chunk = smaller;
            }
        }
        Pieces {
            chunk_bytes: chunk,
            slices: 1,
            least_slice_bytes: 1,
            // A loop has a chunk of each head, whose lanes are apart.
            chunks_per_loop: 1,
            depth: STEPS,
            wire: (1, 1),
        }
    }

    /// How many loops so many bytes of a channel take.
    pub fn loops(&self, bytes: u64) -> u32 {
        exact::<u32>(bytes.div_ceil(self.chunk_bytes * u64::from(self.chunks_per_loop)).max(1))
    }

    /// The data of a chunk of a loop.
    pub fn chunk(&self, bytes: u64, nth_loop: u32, chunk: u32) -> u64 {
        let of_loop = self.chunk_bytes * u64::from(self.chunks_per_loop);
        let left = bytes.saturating_sub(u64::from(nth_loop) * of_loop).min(of_loop);
        // The last loop's chunks are as large as need be, in units of 16 B.
        let each =
            if left == of_loop { self.chunk_bytes } else { left.div_ceil(self.chunks_per_loop.into()) };
        let each = each.next_multiple_of(16);
        left.saturating_sub(u64::from(chunk) * each).min(each)
    }

    /// The bytes on the wire of a slice of a chunk with so much data; a step is posted if it is empty, too.
    pub fn slice(&self, chunk_bytes: u64, nth: u32) -> u64 {
        let each = chunk_bytes.div_ceil(self.slices.into()).next_multiple_of(16).max(self.least_slice_bytes);
        let data = chunk_bytes.saturating_sub(u64::from(nth) * each).min(each);
        (data * self.wire.0).div_ceil(self.wire.1).max(1)
    }
}

/// Smaller chunks for deep trees (calcCollChunking, LL128 of trees).
fn shallow(chunk: u64, each: u64, (ranks, servers): (u32, u32)) -> u64 {
    let local = f64::from(ranks) / f64::from(servers);
    let depth = 1.0 + f64::from(servers.ilog2()) + 0.1 * local;
    let mut chunk = chunk;
    for (times, least) in [(64.0, 131_072), (16.0, 32_768)] {
        while ((each / chunk) as f64) < depth * times / local && chunk > least {
            chunk /= 2;
        }
    }
    chunk
}

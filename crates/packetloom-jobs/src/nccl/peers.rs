//! Sends and receives: in which order of peers, over how many channels, in which pieces.

use super::Inside;
use crate::narrow::exact;

/// `NCCL_MAX_DEV_WORK_P2P_PER_BATCH` (src/include/device.h): so many pairs of a channel are under way together, and so
/// many ranks of a server are a group.
pub const TOGETHER: u32 = 8;
/// `NCCL_P2P_PER_CHANNEL_NET_BW` (src/graph/paths.cc), in GB/s.
const GBYTES_PER_CHANNEL: u32 = 14;
/// The chunk among servers (`NCCL_P2P_NET_CHUNKSIZE`, src/init.cc).
const NETWORK_CHUNK: u64 = 128 << 10;
/// The chunk of a lone server with NVLink, and with PCIe (`NCCL_P2P_NVL_CHUNKSIZE`, `NCCL_P2P_PCI_CHUNKSIZE`).
const NVLINK_CHUNK: u64 = 512 << 10;
const PCIE_CHUNK: u64 = 128 << 10;
/// `NCCL_P2P_LL_THRESHOLD` (src/enqueue.cc).
const LL_UP_TO: u64 = 16 << 10;
/// A step of LL's buffer (src/init.cc: 512 threads, 8 lines of 16 B).
const LL_STEP: u64 = 64 << 10;

/// How far ahead each next peer is of a rank, which sends to that one while it receives from the one as far behind, as
/// (servers or groups of them, ranks inside); the rank itself comes first (src/init.cc: ncclP2pSchedule). `group`: how
/// many ranks a group has. Groups are taken at triangular distances modulo a power of two, of which those that are
/// none of `groups` are left out.
pub fn in_order(groups: u32, group: u32) -> impl Iterator<Item = (u32, u32)> {
    let all = groups.next_power_of_two();
    let next = move |&(round, delta): &(u32, u32)| {
        let round = round + 1;
        (round < all).then(|| (round, (delta + round) & (all - 1)))
    };
    let deltas = std::iter::successors(Some((0, 0)), next);
    deltas
        .map(|(_, delta)| delta)
        .filter(move |&delta| delta < groups)
        .flat_map(move |delta| (0..group).map(move |local| (delta, local)))
}

/// How many ranks of a server are a group.
pub fn group(local: u32) -> u32 {
    gcd(TOGETHER, local)
}

fn gcd(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { gcd(other, one % other) }
}

/// How many channels of `channels` a pair may use (paths.cc: ncclTopoComputeP2pChannelsPerPeer and its kin): a channel
/// for each 14 GB/s of the NIC, fewer where peers are many.
pub fn channels_per_peer(channels: u32, ranks: u32, nic_gbytes: u32) -> u32 {
    let wanted = nic_gbytes.div_ceil(GBYTES_PER_CHANNEL).max(1).next_power_of_two();
    let batches = ranks.div_ceil(TOGETHER);
    let mut each = wanted;
    while each * batches > channels.next_power_of_two() && each > 1 {
        each /= 2;
    }
    each
}

/// How the bytes for a peer are cut up (src/enqueue.cc: addP2pToPlan).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Over how many channels.
    pub channels: u32,
    /// Data of a message.
    pub chunk_bytes: u64,
    /// Whether flags go with the data, which doubles the bytes.
    pub is_ll: bool,
}

impl Parts {
    /// For so many bytes among so many ranks, of which a pair may use `each` of `channels`; `inside`: what joins the
    /// server, where there is one alone.
    pub fn of(bytes: u64, ranks: u32, (each, channels): (u32, u32), inside: Option<Inside>) -> Parts {
        let step = match inside {
            None => NETWORK_CHUNK,
            Some(Inside::NvLink) => NVLINK_CHUNK,
            Some(Inside::Pcie) => PCIE_CHUNK,
        };
        let (least, most) = if inside.is_none() { (step / 2, step) } else { (step / 8, 32 * step) };
        // At first no more than leave channels for all peers; more where parts would be large.
        let mut first = each;
        while first.saturating_mul(ranks) > channels && first > 1 {
            first /= 2;
        }
        let mut channels = u64::from(first).min(bytes.div_ceil(least)).max(1);
        let mut part = bytes.div_ceil(channels).max(least);
        while part > most && channels <= u64::from(each / 2) {
            channels *= 2;
            part = bytes.div_ceil(channels);
        }
        let is_ll = bytes <= channels * LL_UP_TO;
        let step = if is_ll { LL_STEP } else { step };
        let chunk = if inside.is_some() {
            step
        } else if !is_ll && bytes < step {
            step / 4
        } else if bytes < 8 * step {
            step / 2
        } else {
            step
        };
        let chunk_bytes = if is_ll { chunk / 2 } else { chunk };
        Parts { channels: exact::<u32>(channels), chunk_bytes, is_ll }
    }
}

//! Flows that share connections, and so paths.

use super::router::one_of;
use crate::narrow::narrow;
use crate::packet::Packet;
use crate::random::{Stream, mix};
use crate::spec::{Complaint, Kind, Param, Values, param};

/// How many there are.
pub const PARAMS: &[Param] = &[param! {
    "queue_pairs": Kind::Count(1),
    "Over how many queue pairs, or connections, a host sends all its flows to another host. Each keeps its path; a hash of the flow chooses one. Left out: each flow has a connection, and so a path, of its own.",
    "NCCL's NCCL_IB_QPS_PER_CONNECTION, which is 1 there"
}];

/// More than any NIC has.
const MOST: u64 = 1 << 16;

/// What must hold of it.
///
/// # Errors
/// What does not, by its key.
pub fn check(values: &Values, has_other_hash: bool) -> Result<(), Complaint> {
    let Some(count) = values.optional_count("queue_pairs") else { return Ok(()) };
    if has_other_hash {
        let message =
            "has no meaning with symmetric, or with another simulator's hash; leave one of them out";
        return Err(Complaint::new("queue_pairs", message));
    }
    if count > MOST {
        return Err(Complaint::new("queue_pairs", format!("write {MOST} at most")));
    }
    Ok(())
}

/// The queue pairs from one host to another, as a switch hashes them.
#[derive(Clone, Copy, Debug)]
pub struct QueuePairs {
    salt: u64,
    count: u32,
}

impl QueuePairs {
    /// Those of a routing, if it has any; a switch draws its own hash.
    pub fn of(values: &Values, draws: &mut Stream) -> Option<QueuePairs> {
        let count = values.optional_count("queue_pairs")?;
        Some(QueuePairs { salt: draws.bits(), count: narrow::<u32>(count) })
    }

    /// The port for a packet, of so many. A subflow is a connection of its own.
    #[cold]
    #[inline(never)]
    pub fn choose<H>(self, ports: u32, packet: &Packet<H>) -> u32 {
        let ends = u64::from(packet.src) << 32 | u64::from(packet.dst);
        // All switches agree on which queue pair it is.
        let queue_pair = u64::from(one_of(self.count, 0, packet.flow));
        let hash = mix(mix(self.salt ^ ends) ^ queue_pair ^ u64::from(packet.path) << 32);
        (((hash >> 32) * u64::from(ports)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;
    use std::collections::BTreeSet;

    /// The ports of 1,000 flows to each of so many hosts.
    fn ports(count: u32, hosts: u32) -> Vec<BTreeSet<u32>> {
        let salt = Stream::new(1, Purpose::Paths, 7).bits();
        let pairs = QueuePairs { salt, count };
        let packet = |flow, dst| Packet { flow, src: 3, dst, ..Packet::<()>::default() };
        (0..hosts).map(|dst| (0..1_000).map(|flow| pairs.choose(8, &packet(flow, dst))).collect()).collect()
    }

    #[test]
    fn flows_of_a_pair_take_no_more_paths_than_it_has_queue_pairs() {
        let one = ports(1, 64);
        assert!(one.iter().all(|ports| ports.len() == 1));
        let taken: BTreeSet<u32> = one.into_iter().flatten().collect();
        assert_eq!(taken.len(), 8, "pairs take all ports");
        let four = ports(4, 64);
        assert!(four.iter().all(|ports| ports.len() <= 4));
        assert!(four.iter().any(|ports| ports.len() == 4));
        assert!(ports(1_000, 64).iter().all(|ports| ports.len() == 8));
    }
}

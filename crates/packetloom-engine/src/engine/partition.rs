//! Which nodes a thread processes: its shard.

use crate::narrow::exact;
use crate::topology::{Link, Topology};

/// A link's far end: the shard there, the node's place in it, and the link's number among those into the node, in
/// the order of all links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FarEnd {
    pub(super) shard: u32,
    pub(super) node: u32,
    pub(super) link: u32,
}

/// A network's nodes shared out to shards.
pub(super) struct Partition {
    /// Each shard's nodes, in ascending order.
    pub(super) nodes: Vec<Vec<u32>>,
    /// Each node's shard, and its place among that shard's nodes.
    pub(super) places: Vec<(u32, u32)>,
    /// Each link's far end.
    pub(super) far_ends: Vec<FarEnd>,
    /// The links into each node, by the numbers that far ends give them.
    pub(super) links_in: Vec<Vec<u32>>,
}

impl Partition {
    /// Every shard gets a run of neighbours of each tier, so that in fat-trees pods stay whole where they can.
    pub(super) fn new(topology: &Topology, shards: u32) -> Partition {
        let mut nodes = vec![Vec::new(); shards as usize];
        let mut places = Vec::with_capacity(topology.nodes.len());
        for tier in topology.nodes.chunk_by(|a, b| a.tier == b.tier) {
            for index in 0..tier.len() {
                let shard = index * shards as usize / tier.len();
                let own: &mut Vec<u32> = &mut nodes[shard];
                own.push(exact::<u32>(places.len()));
                places.push((exact::<u32>(shard), exact::<u32>(own.len()) - 1));
            }
        }
        let mut links_in = vec![Vec::new(); topology.nodes.len()];
        let far_end = |(link, number): (&Link, u32)| {
            let (shard, node) = places[link.dst as usize];
            let links_in = &mut links_in[link.dst as usize];
            links_in.push(number);
            FarEnd { shard, node, link: exact::<u32>(links_in.len()) - 1 }
        };
        let far_ends = topology.links.iter().zip(0..).map(far_end).collect();
        Partition { nodes, places, far_ends, links_in }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_and_link_has_one_place() {
        let topology = Topology::of_counts("fat-tree", &[("k", 4)]);
        for shards in [1, 2, 3, 4] {
            let partition = Partition::new(&topology, shards);
            let nodes: Vec<usize> = partition.nodes.iter().map(Vec::len).collect();
            assert_eq!(nodes.iter().sum::<usize>(), 16 + 8 + 8 + 4, "{nodes:?}");
            assert!(nodes.iter().max() <= nodes.iter().min().map(|least| least + 4).as_ref(), "{nodes:?}");
            for (node, &(shard, place)) in partition.places.iter().enumerate() {
                assert_eq!(partition.nodes[shard as usize][place as usize], node as u32);
            }
            for ((number, link), end) in (0..).zip(&topology.links).zip(&partition.far_ends) {
                let (shard, place) = partition.places[link.dst as usize];
                assert_eq!((shard, place), (end.shard, end.node));
                assert_eq!(partition.links_in[link.dst as usize][end.link as usize], number);
            }
            let mut ends: Vec<_> =
                partition.far_ends.iter().map(|end| (end.shard, end.node, end.link)).collect();
            ends.sort_unstable();
            ends.dedup();
            assert_eq!(ends.len(), topology.links.len());
        }
    }
}

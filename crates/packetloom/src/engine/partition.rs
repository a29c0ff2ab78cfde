//! Which nodes a thread processes: its shard.

use crate::topology::Topology;

/// A link's far end: the shard of the node there, and the slot by which that shard knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FarEnd {
    pub(super) shard: u32,
    pub(super) slot: u32,
}

/// A network's nodes shared out to shards.
///
/// Slots number, in each shard for itself, the links' far ends and the nodes' agendas: node by node, a node's links in
/// the order of all links, its agenda last.
pub(super) struct Partition {
    /// Each shard's nodes, in ascending order.
    pub(super) nodes: Vec<Vec<u32>>,
    /// Each node's shard, and its place among that shard's nodes.
    pub(super) places: Vec<(u32, u32)>,
    /// The first slot of each node of each shard, and one more entry for the end.
    pub(super) first_slots: Vec<Vec<u32>>,
    /// Each link's far end.
    pub(super) far_ends: Vec<FarEnd>,
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
                own.push(places.len() as u32);
                places.push((shard as u32, own.len() as u32 - 1));
            }
        }
        let mut links_into = vec![0_u32; topology.nodes.len()];
        for link in &topology.links {
            links_into[link.dst as usize] += 1;
        }
        let slots_of = |own: &Vec<u32>| {
            let ends = own.iter().scan(0, |end, &node| {
                *end += links_into[node as usize] + 1;
                Some(*end)
            });
            std::iter::once(0).chain(ends).collect()
        };
        let first_slots: Vec<Vec<u32>> = nodes.iter().map(slots_of).collect();
        let mut free = first_slots.clone();
        let far_end = |link: &crate::topology::Link| {
            let (shard, place) = places[link.dst as usize];
            let next = &mut free[shard as usize][place as usize];
            *next += 1;
            FarEnd { shard, slot: *next - 1 }
        };
        let far_ends = topology.links.iter().map(far_end).collect();
        Partition { nodes, places, first_slots, far_ends }
    }

    /// The node, by its place in the shard, that each slot of a shard belongs to.
    pub(super) fn owners(&self, shard: usize) -> Vec<u32> {
        let spans = self.first_slots[shard].windows(2).map(|span| (span[1] - span[0]) as usize);
        (0..).zip(spans).flat_map(|(node, slots)| std::iter::repeat_n(node, slots)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_and_link_has_one_place() {
        let topology = Topology::of_text("{ kind = \"fat-tree\", k = 4 }");
        for shards in [1, 2, 3, 4] {
            let partition = Partition::new(&topology, shards);
            let nodes: Vec<usize> = partition.nodes.iter().map(Vec::len).collect();
            assert_eq!(nodes.iter().sum::<usize>(), 16 + 8 + 8 + 4, "{nodes:?}");
            assert!(nodes.iter().max() <= nodes.iter().min().map(|least| least + 4).as_ref(), "{nodes:?}");
            for (node, &(shard, place)) in partition.places.iter().enumerate() {
                assert_eq!(partition.nodes[shard as usize][place as usize], node as u32);
            }
            for (link, end) in topology.links.iter().zip(&partition.far_ends) {
                let (shard, place) = partition.places[link.dst as usize];
                assert_eq!((shard, place), (end.shard, partition.owners(shard as usize)[end.slot as usize]));
            }
            let mut ends: Vec<_> = partition.far_ends.iter().map(|end| (end.shard, end.slot)).collect();
            ends.sort_unstable();
            ends.dedup();
            assert_eq!(ends.len(), topology.links.len());
        }
    }
}

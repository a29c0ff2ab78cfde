//! What one half of the hosts can send to the other at once.

use super::Topology;
use crate::narrow::exact;
use crate::units::Rate;

/// With more links this is not worked out.
const MOST_LINKS: usize = 2_000_000;

impl Topology {
    /// The bisection bandwidth: what the hosts of the lower numbers can send to as many, or one more, of the higher
    /// numbers, each way, over whatever paths. It is the greatest flow, so the least cut between these two halves,
    /// and no other halves are tried. Nothing where there are too many links.
    pub fn bisection(&self) -> Option<Rate> {
        (self.links.len() <= MOST_LINKS).then(|| Rate(Flow::of(self, self.working_hosts() / 2).greatest()))
    }
}

/// A flow from some hosts to all others, which grows (Dinic, 1970).
struct Flow {
    /// Each arc's end, and what it can still carry; that of the other direction is its neighbour.
    arcs: Vec<(u32, u64)>,
    /// Each node's arcs, node by node: a node's begin at its place in `first`.
    of_nodes: Vec<u32>,
    first: Vec<u32>,
    /// How far each node is from the source.
    levels: Vec<u32>,
    /// The arcs of each node that were tried at these levels.
    tried: Vec<u32>,
    source: u32,
    sink: u32,
}

const FAR: u32 = u32::MAX;

impl Flow {
    fn of(topology: &Topology, half: u32) -> Flow {
        let (source, sink) = (exact::<u32>(topology.nodes.len()), exact::<u32>(topology.nodes.len()) + 1);
        let links = topology.links.iter().map(|link| (link.src, link.dst, link.rate.as_bps()));
        let ends = (0..topology.working_hosts()).map(|host| match host < half {
            true => (source, host, u64::MAX / 4),
            false => (host, sink, u64::MAX / 4),
        });
        let mut arcs = Vec::new();
        let mut starts = Vec::new();
        for (src, dst, bps) in links.chain(ends) {
            arcs.extend([(dst, bps), (src, 0)]);
            starts.extend([src, dst]);
        }
        let mut of_nodes: Vec<u32> = (0..exact::<u32>(arcs.len())).collect();
        of_nodes.sort_by_key(|&arc| starts[arc as usize]);
        let begins = |node| exact::<u32>(of_nodes.partition_point(|&arc| starts[arc as usize] < node));
        let first: Vec<u32> = (0..=sink + 1).map(begins).collect();
        let nodes = sink as usize + 1;
        Flow { arcs, first, of_nodes, levels: vec![FAR; nodes], tried: vec![0; nodes], source, sink }
    }

    fn greatest(mut self) -> u64 {
        let mut sum = 0;
        while self.find_levels() {
            loop {
                match self.push_along_a_path() {
                    0 => break,
                    bps => sum += bps,
                }
            }
        }
        sum
    }

    /// Finds how far nodes are by arcs that can carry more; whether the sink is reached.
    fn find_levels(&mut self) -> bool {
        self.levels.fill(FAR);
        self.tried.fill(0);
        self.levels[self.source as usize] = 0;
        let mut found = vec![self.source];
        let mut place = 0;
        while let Some(&node) = found.get(place) {
            place += 1;
            for nth in self.first[node as usize]..self.first[node as usize + 1] {
                let (to, left) = self.arcs[self.of_nodes[nth as usize] as usize];
                if left > 0 && self.levels[to as usize] == FAR {
                    self.levels[to as usize] = self.levels[node as usize] + 1;
                    found.push(to);
                }
            }
        }
        self.levels[self.sink as usize] != FAR
    }

    /// Follows arcs to nodes that are further away until the sink is reached, and fills that path; what it took.
    fn push_along_a_path(&mut self) -> u64 {
        let mut path: Vec<u32> = Vec::new();
        let mut node = self.source;
        while node != self.sink {
            let nth = self.first[node as usize] + self.tried[node as usize];
            if nth == self.first[node as usize + 1] {
                // A dead end: no path leads through here.
                let Some(arc) = path.pop() else { return 0 };
                node = self.arcs[arc as usize ^ 1].0;
                self.tried[node as usize] += 1;
                continue;
            }
            let arc = self.of_nodes[nth as usize];
            let (to, left) = self.arcs[arc as usize];
            if left > 0 && self.levels[to as usize] == self.levels[node as usize] + 1 {
                path.push(arc);
                node = to;
            } else {
                self.tried[node as usize] += 1;
            }
        }
        let bps = path.iter().map(|&arc| self.arcs[arc as usize].1).min().unwrap_or(0);
        for arc in path {
            self.arcs[arc as usize].1 -= bps;
            self.arcs[arc as usize ^ 1].1 += bps;
        }
        bps
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::Value;
    use crate::topology::Topology;
    use crate::topology::testing::link;
    use crate::units::{Rate, Time};

    fn gbps(kind: &str, counts: &[(&'static str, u64)], more: &[(&'static str, Value)]) -> u64 {
        let counts: Vec<_> = counts.iter().map(|&(key, count)| (key, Value::Count(count))).collect();
        let topology = Topology::of_values(kind, &[&counts[..], more].concat()).expect("a topology");
        topology.bisection().expect("few links").as_bps() / 1_000_000_000
    }

    fn of_gbps(gbps: u64) -> Value {
        link(Rate::from_gbps(gbps), Time::from_us(1))
    }

    /// All links have 10 Gb/s unless they are given.
    #[test]
    fn it_is_that_worked_out_by_hand() {
        // Half of the hosts' links.
        assert_eq!(gbps("rack", &[("hosts", 8)], &[]), 40);
        assert_eq!(gbps("fat-tree", &[("k", 4)], &[]), 80);
        // Two leaves with two uplinks each.
        let leaves = [("spines", 2), ("leaves", 4), ("hosts_per_leaf", 8)];
        assert_eq!(gbps("leaf-spine", &leaves, &[]), 2 * 2 * 10);
        assert_eq!(gbps("dumbbell", &[("left", 4), ("right", 4)], &[("bottleneck", of_gbps(25))]), 25);
        // Half of the hosts is four on the left, beside the fifth.
        assert_eq!(gbps("dumbbell", &[("left", 5), ("right", 3)], &[("bottleneck", of_gbps(25))]), 35);
    }

    #[test]
    fn what_is_oversubscribed_bounds_it() {
        let counts = [("pods", 4), ("leaves", 2), ("hosts_per_leaf", 8)];
        let ratio = |leaf, pod| {
            let keys = [("oversubscription", leaf), ("pod_oversubscription", pod)];
            keys.map(|(key, ratio)| (key, Value::Number(ratio)))
        };
        // Two pods of 16 hosts; then four leaves with half the uplinks; then a quarter of that to the core.
        assert_eq!(gbps("clos", &counts, &ratio(1.0, 1.0)), 320);
        assert_eq!(gbps("clos", &counts, &ratio(2.0, 1.0)), 160);
        assert_eq!(gbps("clos", &counts, &ratio(2.0, 2.0)), 80);
    }

    #[test]
    fn rails_meet_at_their_spines_and_servers_count_where_they_are_cut() {
        let counts = [("servers", 4), ("accelerators", 2), ("servers_per_rail_switch", 2)];
        // Two rail switches with two uplinks each.
        assert_eq!(gbps("rail-optimised", &counts, &[]), 40);
        let scale_up = [("scale_up", of_gbps(100))];
        assert_eq!(gbps("rail-optimised", &counts, &scale_up), 40);
        let one_spine = [("spines", Value::Count(1))];
        assert_eq!(gbps("rail-optimised", &counts, &one_spine), 20);
        // All servers on each rail's switch: hosts' own links.
        let one_group = [("servers", 4), ("accelerators", 2), ("servers_per_rail_switch", 4)];
        assert_eq!(gbps("rail-optimised", &one_group, &one_spine), 40);
        // A server and a half of two: three hosts' links, and the link of the half's accelerator inside.
        let three = [("servers", 3), ("accelerators", 2), ("servers_per_rail_switch", 3)];
        assert_eq!(gbps("rail-optimised", &three, &scale_up), 30 + 100);
    }

    #[test]
    fn groups_of_a_dragonfly_meet_at_their_global_links() {
        let counts = [("hosts_per_router", 2), ("groups", 2)];
        // All eight global links; the eight hosts of a group have as much.
        assert_eq!(gbps("dragonfly", &counts, &[]), 80);
        assert_eq!(gbps("dragonfly", &counts, &[("global_link", of_gbps(5))]), 40);
        // Of four groups two and two: those beside each other have three links, the others two.
        let four = [("hosts_per_router", 2), ("groups", 4)];
        assert_eq!(gbps("dragonfly", &four, &[("global_link", of_gbps(5))]), (3 + 3 + 2 + 2) * 5);
    }
}

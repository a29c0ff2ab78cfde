//! Whether packets that no queue drops can wait for each other in a circle.
//!
//! A packet that holds room behind a link waits for room behind the next link of its path. Where such waits form a cycle
//! among links, all of its buffers may be full at once, and nothing moves any more; where they form none, something
//! always does (Dally and Seitz, IEEE Transactions on Computers 36(5), 1987).

use crate::flow::HostId;
use crate::queue::Specification;
use crate::spec::Complaint;
use crate::topology::{Routes, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// Networks of more pairs of switches than this are not looked at: with dozens of ports that takes seconds.
const MOST_PAIRS: usize = 100_000;

/// Whether this queue keeps packets from loss in a network whose shortest paths wait for each other in a circle.
pub(super) fn wait_in_circles(queue: &Specification, topology: &Topology) -> Option<Complaint> {
    let is_broken_up = queue.pfc.as_ref().is_some_and(|pfc| !pfc.may_deadlock());
    if is_broken_up || !(queue.pauses() || queue.credit.is_some()) {
        return None;
    }
    form_circles(topology)?.then(|| {
        let remedy = if queue.pfc.is_some() { "write a watchdog, " } else { "write " };
        let message = format!(
            "no packet is dropped, and paths of this network form circles of links, so packets may wait for each other without end (a deadlock, which ends the case); such networks change the virtual channel on the way, which is not modelled: {remedy}a queue that drops or trims, or another network"
        );
        Complaint::new("scheme.queue", message)
    })
}

/// Whether paths form circles of links; `None`: the network is too large to tell.
pub(super) fn form_circles(topology: &Topology) -> Option<bool> {
    // Where addresses alone tell the way, packets go up and then down.
    let Some(routes) = topology.routes() else { return Some(false) };
    let edges = edges(topology);
    let switches = topology.nodes.len() - topology.hosts as usize;
    if edges.len() * switches > MOST_PAIRS {
        return None;
    }
    let mut waits: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (&edge, &dst) in &edges {
        add_waits(&mut waits, (edge, dst), edges.keys(), (topology, routes));
    }
    Some(has_circle(waits))
}

/// The switches that hosts are at, each with one of its hosts.
fn edges(topology: &Topology) -> BTreeMap<u32, HostId> {
    (0..topology.hosts)
        .flat_map(|host| topology.nodes[host as usize].ports.clone().map(move |link| (link, host)))
        .map(|(link, host)| (topology.links[link as usize].dst, host))
        .filter(|&(edge, _)| edge >= topology.hosts)
        .collect()
}

/// Adds which link's packets to a host at an edge wait for which, from all other edges.
fn add_waits<'a>(
    waits: &mut BTreeMap<u32, BTreeSet<u32>>,
    (edge, dst): (u32, HostId),
    from: impl Iterator<Item = &'a u32>,
    (topology, routes): (&Topology, &Routes),
) {
    let links = |node: u32| {
        let first = topology.nodes[node as usize].ports.start;
        routes.to(node, dst).iter().map(move |port| first + port)
    };
    let mut ahead: Vec<u32> = from.copied().filter(|&node| node != edge).collect();
    let mut seen: BTreeSet<u32> = ahead.iter().copied().collect();
    while let Some(node) = ahead.pop() {
        for link in links(node) {
            let next = topology.links[link as usize].dst;
            if next == edge || next < topology.hosts {
                continue;
            }
            waits.entry(link).or_default().extend(links(next));
            if seen.insert(next) {
                ahead.push(next);
            }
        }
    }
}

/// Whether some link waits for itself: whether, once those that wait for none are taken away again and again, any is left.
fn has_circle(mut left: BTreeMap<u32, BTreeSet<u32>>) -> bool {
    loop {
        let before = left.len();
        let still: BTreeSet<u32> = left.keys().copied().collect();
        left.retain(|_, ahead| ahead.iter().any(|link| still.contains(link)));
        if left.len() == before {
            return before > 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use std::path::Path;

    fn doubt(topology: &str, queue: &str) -> Option<String> {
        let toml = format!(
            "[topology]\n{topology}\n[[workload]]\nsizes = {{ kind = \"constant\", size = \"1MB\" }}\narrivals = \"at-once\"\n\
             [[scheme]]\nname = \"any\"\ntransport = \"roce\"\nqueue = {queue}\n"
        );
        let scenario = Scenario::from_toml(&toml, "test", Path::new("")).unwrap();
        let case = scenario.cases().next().unwrap();
        let network = Topology::build(&case.topology).unwrap();
        let queue = Specification::of(&case.scheme.optional_component("queue").unwrap());
        wait_in_circles(&queue, &network).map(|complaint| complaint.message)
    }

    #[test]
    fn lossless_queues_of_a_dragonfly_may_deadlock() {
        let three = "kind = \"dragonfly\"\nrouters = 4\nglobal_links = 1\ngroups = 3";
        assert!(doubt(three, "\"shared-buffer\"").unwrap().contains("write a watchdog, a queue that drops"));
        assert!(doubt(three, "\"cbfc\"").unwrap().contains("not modelled: write a queue that drops"));
        assert_eq!(doubt(three, "{ kind = \"shared-buffer\", watchdog = \"10ms\" }"), None);
        assert_eq!(doubt(three, "\"ecn\""), None, "what drops packets does not wait for room");
        let trees =
            ["kind = \"leaf-spine\"", "kind = \"fat-tree\"\nk = 4", "kind = \"dumbbell\"", "kind = \"clos\""];
        for topology in [&trees[..], &["kind = \"rail-optimised\"\nservers = 4\naccelerators = 2"]].concat() {
            assert_eq!(doubt(topology, "\"shared-buffer\""), None, "{topology}");
        }
    }

    #[test]
    fn a_circle_is_what_is_left_when_ends_are_taken_away() {
        let of = |pairs: &[(u32, u32)]| {
            let mut waits: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
            for &(link, next) in pairs {
                waits.entry(link).or_default().insert(next);
            }
            has_circle(waits)
        };
        assert!(!of(&[]) && !of(&[(1, 2), (2, 3), (1, 3)]));
        assert!(of(&[(1, 2), (2, 3), (3, 2)]) && of(&[(0, 1), (1, 2), (2, 3), (3, 1), (3, 9)]));
    }
}

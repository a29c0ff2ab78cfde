//! The dragonfly (Kim, Dally, Scott, Abts, ISCA 2008): groups of routers, all of a group connected to each other, and
//! global links between groups.
//!
//! Packets take minimal paths, with one global link at most (§4.1 there): within the group to a router with a link to
//! the other group, over that, and within it to the destination's router. Two global links in a row are sometimes
//! fewer hops, so a global link counts for three.

use super::link::{COMMON_PARAMS, LINK_PARAMS, cable, check_common};
use super::{Builder, MOST_WAYS, Reach, Topology};
use crate::narrow::exact;
use crate::spec::{Complaint, Component, Kind, Values, param};

const TIERS: &[&str] = &["host", "router"];

/// With this the longest minimal path, of two local links and a global one, is shorter than two global ones.
const GLOBAL_LENGTH: u8 = 3;

const MOST_HOSTS: u64 = 1_000_000;

/// The component.
pub const COMPONENT: Component = Component {
    section: "topology",
    kind: "dragonfly",
    doc: "Groups of routers, all of a group connected to each other, with global links between the groups. Packets take minimal paths, with one global link at most; there is no Valiant and no adaptive (UGAL) routing.",
    source: "Kim et al., ISCA 2008",
    params: &[
        &[
            param! {
                "hosts_per_router" = "2": Kind::Count(1),
                "Hosts at each router (p).", "Kim et al. §3.1, figure 5: p = h = 2, a = 4"
            },
            param! {
                "routers": Kind::Count(1),
                "Routers in each group (a). Left out: twice hosts_per_router.",
                "Kim et al. §3.1: a = 2p = 2h balances the load"
            },
            param! {
                "global_links": Kind::Count(1),
                "Links of each router to other groups (h). Left out: as many as hosts_per_router.",
                "Kim et al. §3.1: a = 2p = 2h balances the load"
            },
            param! {
                "groups": Kind::Count(2),
                "How many groups there are (g). Left out: as many as global links reach, a h + 1. With fewer, a group has equally many links to each other group; those that are left lead to the groups nearest in number on both sides. If their number and that of groups are odd, a port of each group stays free.",
                "Kim et al. §3.1"
            },
            param! {
                "arrangement" = "palm-tree": Kind::Choice(&["palm-tree", "consecutive"]),
                "Which port leads to which group. palm-tree: the k-th global port of group i to group i - k - 1, round the groups. consecutive: the k-th to the k-th of the other groups.",
                "Camarero, Vallejo, Beivide, ACM TACO 11(4), 2014"
            },
            param! {
                "global_link": Kind::Component("link"),
                "The links between groups, where they differ.", "packetloom"
            },
        ],
        LINK_PARAMS,
        COMMON_PARAMS,
    ],
    check,
};

/// The network in numbers, as the paper calls them.
#[derive(Clone, Copy, Debug)]
struct Shape {
    p: u64,
    a: u64,
    h: u64,
    g: u64,
}

impl Shape {
    fn of(values: &Values) -> Result<Shape, Complaint> {
        let p = values.count("hosts_per_router");
        let a = values.optional_count("routers").unwrap_or(p.saturating_mul(2));
        let h = values.optional_count("global_links").unwrap_or(p);
        let largest = || {
            let keys = ["hosts_per_router", "routers", "global_links", "groups"];
            let written = keys.into_iter().filter(|key| values.has(key));
            written.max_by_key(|key| values.count(key)).expect("hosts_per_router has a default")
        };
        if [p, a, h].iter().any(|&count| count > MOST_HOSTS) {
            let message =
                format!("more than {MOST_HOSTS} are more than there is room for; write a smaller network");
            return Err(Complaint::new(largest(), message));
        }
        let g = values.optional_count("groups").unwrap_or(a * h + 1);
        if g > a * h + 1 {
            let message =
                format!("{a} routers with {h} global links each reach {} groups at most", a * h + 1);
            return Err(Complaint::new("groups", message));
        }
        let routers = a * g;
        if routers.saturating_mul(p) > MOST_HOSTS || routers.saturating_mul(routers) > MOST_WAYS {
            let message = format!(
                "{routers} routers with {p} hosts each are more than there is room for; write a smaller network"
            );
            return Err(Complaint::new(largest(), message));
        }
        Ok(Shape { p, a, h, g })
    }

    /// The groups that the global ports of a group lead to, in rounds: each group once in each round.
    fn rounds(self, group: u64, is_palm_tree: bool) -> Vec<Vec<u64>> {
        let others = self.g - 1;
        let left = self.a * self.h % others;
        let mut offsets: Vec<u64> = (1..=left / 2).flat_map(|near| [near, self.g - near]).collect();
        if left % 2 == 1 && self.g.is_multiple_of(2) {
            offsets.push(self.g / 2);
        }
        let rounds = std::iter::repeat_n((1..=others).collect(), exact::<usize>(self.a * self.h / others));
        let rounds = rounds.chain(std::iter::once(offsets));
        let targets = |mut offsets: Vec<u64>| {
            offsets.sort_unstable();
            let mut targets: Vec<u64> =
                offsets.iter().map(|offset| (group + self.g - offset) % self.g).collect();
            if !is_palm_tree {
                targets.sort_unstable();
            }
            targets
        };
        rounds.map(targets).collect()
    }

    /// The global links: groups and the ports there, once for each two.
    fn global_links(self, is_palm_tree: bool) -> Vec<[(u64, u64); 2]> {
        let all: Vec<Vec<Vec<u64>>> = (0..self.g).map(|group| self.rounds(group, is_palm_tree)).collect();
        let mut links = Vec::new();
        for group in 0..self.g {
            let mut first = 0;
            for (number, round) in all[exact::<usize>(group)].iter().enumerate() {
                for (place, &other) in round.iter().enumerate().filter(|(_, other)| **other > group) {
                    let back = all[exact::<usize>(other)][number].iter().position(|&far| far == group);
                    let back = back.expect("what one group leads to leads back to it") as u64;
                    links.push([(group, first + place as u64), (other, first + back)]);
                }
                first += round.len() as u64;
            }
        }
        // A router's ports are in their order.
        links.sort_unstable();
        links
    }
}

fn check(values: &Values) -> Result<(), Complaint> {
    Shape::of(values)?;
    check_common(values, TIERS.len() - 1)
}

pub(super) fn build(values: &Values) -> Result<Topology, Complaint> {
    check(values)?;
    let shape = Shape::of(values)?;
    let [p, a, h, g] = [shape.p, shape.a, shape.h, shape.g].map(|count| exact::<u32>(count));
    let hosts = p * a * g;
    let mut builder = Builder::new(values, TIERS);
    for _ in 0..hosts {
        builder.node(0, Reach::default());
    }
    for _ in 0..a * g {
        builder.node(1, Reach::default());
    }
    let [host_link, local_link, global_link] =
        ["host_link", "link", "global_link"].map(|key| cable(values, key));
    for host in 0..hosts {
        builder.join(host, hosts + host / p, host_link);
    }
    for first in (0..g).map(|group| hosts + group * a) {
        for one in 0..a {
            for other in one + 1..a {
                builder.join(first + one, first + other, local_link);
            }
        }
    }
    let router = |(group, port): (u64, u64)| hosts + exact::<u32>(group) * a + exact::<u32>(port) / h;
    for [one, other] in shape.global_links(values.text("arrangement") == "palm-tree") {
        builder.join(router(one), router(other), global_link);
    }
    let mut topology = builder.finish(values);
    let is_global =
        |src: u32, dst: u32| src >= hosts && dst >= hosts && (src - hosts) / a != (dst - hosts) / a;
    let length = |src, dst| if is_global(src, dst) { GLOBAL_LENGTH } else { 1 };
    topology.lengths = topology.links.iter().map(|link| length(link.src, link.dst)).collect();
    topology.find_routes();
    Ok(topology)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Value;
    use std::collections::BTreeMap;

    fn dragonfly(counts: &[(&'static str, u64)], arrangement: &str) -> Topology {
        let counts = counts.iter().map(|&(key, count)| (key, Value::Count(count)));
        let arrangement = ("arrangement", Value::Text(arrangement.to_owned()));
        let values: Vec<_> = counts.chain([arrangement]).collect();
        Topology::of_values("dragonfly", &values).expect("a dragonfly")
    }

    /// How many cables there are between each two groups of `a` routers.
    fn between(topology: &Topology, a: u32) -> BTreeMap<(u32, u32), usize> {
        let mut found = BTreeMap::new();
        let routers = topology.links.iter().filter(|link| link.src >= topology.hosts && link.dst > link.src);
        for link in routers {
            let [one, other] = [link.src, link.dst].map(|router| (router - topology.hosts) / a);
            *found.entry((one, other)).or_default() += 1;
        }
        found
    }

    #[test]
    fn the_papers_example_has_72_hosts_and_a_link_between_each_two_groups() {
        for arrangement in ["palm-tree", "consecutive"] {
            let topology = dragonfly(&[("hosts_per_router", 2)], arrangement);
            assert_eq!((topology.hosts, topology.nodes.len()), (72, 72 + 36));
            // Of hosts, within the nine groups, and between them.
            assert_eq!(topology.links.len(), 2 * (72 + 9 * 6 + 36));
            let between = between(&topology, 4);
            for (one, other) in (0..9).flat_map(|one| (one..9).map(move |other| (one, other))) {
                assert_eq!(between[&(one, other)], if one == other { 6 } else { 1 });
            }
            assert!(topology.nodes[72..].iter().all(|router| router.ports.len() == 2 + 3 + 2));
        }
    }

    #[test]
    fn arrangements_name_the_ends_of_global_links() {
        let has = |topology: &Topology, one: u32, other: u32| {
            topology.links.iter().any(|link| (link.src, link.dst) == (72 + one, 72 + other))
        };
        // The first port of group 0 leads to group 8, to its last; or to group 1, to its first.
        let palm_tree = dragonfly(&[("hosts_per_router", 2)], "palm-tree");
        assert!(has(&palm_tree, 0, 8 * 4 + 3) && has(&palm_tree, 3, 4));
        let consecutive = dragonfly(&[("hosts_per_router", 2)], "consecutive");
        assert!(has(&consecutive, 0, 4) && has(&consecutive, 3, 8 * 4));
    }

    #[test]
    fn paths_are_minimal_with_one_global_link_at_most() {
        let topology = dragonfly(&[("hosts_per_router", 2)], "palm-tree");
        let routes = topology.routes().expect("tables");
        assert!(routes.reach_all() && !routes.has_choice());
        assert_eq!(routes.most_paths(), 1);
        let group = |router: u32| (router - 72) / 4;
        let mut lengths = BTreeMap::new();
        for dst in 1..72 {
            let path = topology.path(0, dst);
            let is_global = |link: &&usize| {
                let link = &topology.links[**link];
                link.src >= 72 && link.dst >= 72 && group(link.src) != group(link.dst)
            };
            assert_eq!(path.iter().filter(is_global).count(), usize::from(dst >= 8), "to {dst}");
            *lengths.entry(path.len()).or_default() += 1;
        }
        // The other host of the router; the six others of the group and four hosts at the far ends of its global
        // links; those beside these far ends and at the far ends of the group's other global links; the others.
        let expected = [(2, 1), (3, 6 + 4), (4, 2 * 6 + 6 * 2), (5, 6 * 6)];
        assert_eq!(lengths, BTreeMap::from(expected));
    }

    #[test]
    fn two_global_links_may_be_fewer_links_than_a_minimal_path() {
        let counts = [("hosts_per_router", 1), ("routers", 2), ("global_links", 2), ("groups", 4)];
        let topology = dragonfly(&counts, "consecutive");
        let by_fewest = topology.by_fewest_links().expect("a global link counts for more here");
        // Round a dead link of group 0: over a third group, instead of within both.
        assert_eq!(topology.path(3, 1).len(), 5);
        assert_eq!(by_fewest.path(3, 1).len(), 4);
        let every_pair =
            || (0..8).flat_map(|src| (0..8).filter(move |dst| *dst != src).map(move |dst| (src, dst)));
        assert!(
            every_pair().all(|(src, dst)| by_fewest.path(src, dst).len() <= topology.path(src, dst).len())
        );
    }

    #[test]
    fn fewer_groups_share_the_links_evenly() {
        // Eight global ports a group: so many links to groups at each distance in number.
        let expected: [(u64, &[usize]); 7] = [
            (2, &[8]),
            (3, &[4]),
            (4, &[3, 2]),
            (5, &[2, 2]),
            (6, &[2, 1, 2]),
            (7, &[2, 1, 1]),
            (8, &[1, 1, 1, 2]),
        ];
        for (groups, links) in expected {
            for arrangement in ["palm-tree", "consecutive"] {
                let topology = dragonfly(&[("hosts_per_router", 2), ("groups", groups)], arrangement);
                assert!(topology.routes().expect("tables").reach_all());
                for ((one, other), count) in between(&topology, 4).into_iter().filter(|((a, b), _)| a != b) {
                    let apart = (other - one).min(groups as u32 - other + one);
                    assert_eq!(count, links[apart as usize - 1], "{groups} groups, {apart} apart");
                }
                let ports = topology.nodes[topology.hosts as usize..].iter().map(|node| node.ports.len());
                assert!(ports.max() <= Some(2 + 3 + 2));
            }
        }
        // Three ports and three groups: one port of each stays free.
        let odd = [("hosts_per_router", 1), ("routers", 3), ("global_links", 1), ("groups", 3)];
        let odd = dragonfly(&odd, "palm-tree");
        assert_eq!(between(&odd, 3).values().sum::<usize>(), 3 * 3 + 3);
    }

    #[test]
    fn groups_that_no_link_reaches_are_refused() {
        let counts = [("hosts_per_router", Value::Count(2)), ("groups", Value::Count(10))];
        let complaint = Topology::of_values("dragonfly", &counts).expect_err("nine at most");
        assert_eq!(
            complaint,
            Complaint::new("groups", "4 routers with 2 global links each reach 9 groups at most")
        );
    }
}

//! Rail-optimised networks: servers of several accelerators, of which the i-th of every server is on the i-th rail.
//!
//! Each accelerator is a host. A group of servers has a switch for each rail; spines connect the rails of all groups.
//! With planes, an accelerator's NIC has a port on each, and each has rails and spines of its own. In a server there
//! may be a switch, too, that only its own accelerators use: no host passes anything on. In that switch there may be a
//! node that reduces and multicasts. It is a host after all others, with a link to the switch; a cable to the first spine,
//! which nothing takes, makes it one like any other.

use super::link::{COMMON_PARAMS, Cable, LINK_PARAMS, cable, check_common, switch_delays};
use super::oversubscription::{self, said_twice, uplinks};
use super::{Builder, MOST_WAYS, Reach, Topology};
use crate::narrow::exact;
use crate::spec::{Complaint, Component, Kind, Needs, Values, param};
use crate::units::{Rate, Time};

const TIERS: &[&str] = &["host", "rail", "spine", "scale-up"];

const MOST_LINKS: u64 = 4_000_000;

/// The component.
pub const COMPONENT: Component = Component {
    section: "topology",
    kind: "rail-optimised",
    doc: "Servers of accelerators, each a host: the i-th of every server is on the i-th rail. A group of servers has a switch for each rail, and every spine is connected to all of these. Hosts are numbered server by server.",
    source: "NVIDIA DGX SuperPOD reference architecture; Wang et al., Rail-only, HotI 2024, §2",
    params: &[
        &[
            param! { "servers" = "8": Kind::Count(1), "How many servers there are.", "packetloom" },
            param! {
                "accelerators" = "4": Kind::Count(1),
                "Accelerators in each server, each a host with a NIC of its own. This is also the number of rails.",
                "packetloom"
            },
            param! {
                "servers_per_rail_switch": Kind::Count(1),
                "Servers in a group, whose accelerators of one rail are on one switch. Left out: half of the servers, or all where they are odd.",
                "packetloom"
            },
            param! {
                "oversubscription": oversubscription::KIND,
                "The rate of a rail switch's hosts over that of its uplinks, of which it has one to each spine of its plane; so it gives the number of spines. Left out: 1, or what spines say.",
                "packetloom"
            },
            param! {
                "spines": Kind::Count(1),
                "Spine switches of each plane, instead of oversubscription.", "packetloom"
            },
            param! {
                "planes" = "1": Kind::Count(1),
                "Parallel networks, each with rails and spines of its own. A NIC has a port on each; host_link is one of them.",
                "packetloom"
            },
            param! {
                "scale_up": Kind::Component("link"),
                "A switch in each server, and each accelerator's link to it. Only traffic within the server takes it.",
                "packetloom; NVLink and NVSwitch are such"
            },
        ],
        &[param! {
            "reduction": Kind::Rate,
            "Switches in servers reduce and multicast (NVLS): the rate at which one takes data, and gives results. It is a host in each server's switch, numbered after all accelerators. Left out: they do not.",
            "packetloom; NVSwitch from the third generation on (NVLink SHARP)"; acts &[Needs::Set("scale_up")]
        }],
        LINK_PARAMS,
        COMMON_PARAMS,
    ],
    check,
};

/// The network in numbers.
struct Shape {
    servers: u32,
    accelerators: u32,
    /// Servers on each rail switch.
    together: u32,
    planes: u32,
    /// Spines of each plane.
    spines: u32,
}

impl Shape {
    fn of(values: &Values) -> Result<Shape, Complaint> {
        let [servers, accelerators, planes] =
            ["servers", "accelerators", "planes"].map(|key| values.count(key));
        let together = values.optional_count("servers_per_rail_switch");
        let together = together.unwrap_or(if servers.is_multiple_of(2) { servers / 2 } else { servers });
        if !servers.is_multiple_of(together) {
            let message = format!(
                "{servers} servers are no whole number of groups of {together}; write a divisor of {servers}"
            );
            return Err(Complaint::new("servers_per_rail_switch", message));
        }
        let links =
            servers.checked_mul(accelerators).and_then(|hosts| hosts.checked_mul(planes.saturating_add(1)));
        if links.is_none_or(|links| links > MOST_LINKS) {
            let message = format!("more than {MOST_LINKS} links; write fewer servers");
            return Err(Complaint::new("servers", message));
        }
        if servers * accelerators < 2 {
            return Err(Complaint::new("servers", "one host has no other to send to; write at least 2"));
        }
        let spines = spines(values, together)?;
        let rails = servers / together * accelerators;
        let links = rails.checked_mul(spines).and_then(|links| links.checked_mul(planes));
        let ways = rails.saturating_mul(rails + spines).saturating_mul(planes);
        if links.is_none_or(|links| links > MOST_LINKS) || ways > MOST_WAYS {
            let message = format!(
                "{rails} rail switches and {spines} spines a plane are more than there is room for; write more servers for each"
            );
            return Err(Complaint::new("servers_per_rail_switch", message));
        }
        let [servers, accelerators, together, planes, spines] =
            [servers, accelerators, together, planes, spines].map(|count| exact::<u32>(count));
        Ok(Shape { servers, accelerators, together, planes, spines })
    }
}

/// How many spines each plane has.
fn spines(values: &Values, together: u64) -> Result<u64, Complaint> {
    let mut values = values.clone();
    let (written, ratio) = (values.optional_count("spines"), values.optional_number("oversubscription"));
    if let (Some(spines), None) = (written, ratio) {
        return Ok(spines);
    }
    let ratio = ratio.unwrap_or(1.0);
    values.entries.insert("oversubscription".to_owned(), crate::spec::Value::Number(ratio));
    let [host, up] = ["host_link", "link"].map(|key| cable(&values, key).rate);
    let spines = uplinks(&values, "oversubscription", "spines", (together, host), up);
    if written.is_some() { Err(said_twice(&values, spines)) } else { spines }
}

fn check(values: &Values) -> Result<(), Complaint> {
    Shape::of(values)?;
    if reduction(values).is_some() && !values.has("scale_up") {
        let message = "it is a switch inside servers that reduces; write scale_up, too, or leave this out";
        return Err(Complaint::new("reduction", message));
    }
    // The switch in a server is part of its scale-up link.
    check_common(values, TIERS.len() - 2)
}

/// The rate of a switch in a server that reduces, if there is one.
fn reduction(values: &Values) -> Option<Rate> {
    if values.has("reduction") { values.optional_rate("reduction") } else { None }
}

pub(super) fn build(values: &Values) -> Result<Topology, Complaint> {
    check(values)?;
    let shape = Shape::of(values)?;
    let Shape { servers, accelerators, together, planes, spines } = shape;
    let accelerators_of_all = servers * accelerators;
    let reduction = reduction(values);
    let reducers = if reduction.is_some() { servers } else { 0 };
    let hosts = accelerators_of_all + reducers;
    let rails = servers / together * planes * accelerators;
    let scale_up = values.optional_component("scale_up").map(|link| Cable::of(&link));
    let delays = switch_delays(values, 2).into_iter().chain([Time::ZERO]);
    let names = &TIERS[..if scale_up.is_some() { 4 } else { 3 }];
    let mut builder = Builder::with_delays(values, delays, names);
    let inside = if scale_up.is_some() { servers } else { 0 };
    for (tier, count) in [(0, hosts), (1, rails), (2, planes * spines), (3, inside)] {
        for _ in 0..count {
            builder.node(tier, Reach::default());
        }
    }

    let (host_link, spine_link) = (cable(values, "host_link"), cable(values, "link"));
    let (rail, spine) = (hosts, hosts + rails);
    for host in 0..hosts {
        let node_of = host.checked_sub(accelerators_of_all);
        let (server, accelerator) = (node_of.unwrap_or(host / accelerators), host % accelerators);
        for plane in 0..planes {
            // Group by group, so that threads get whole groups.
            let switch = (server / together * planes + plane) * accelerators + accelerator;
            // A node's cable is a way round that is longer than by its switch.
            let next = if node_of.is_some() { spine + plane * spines } else { rail + switch };
            builder.join(host, next, host_link);
        }
        if let Some(scale_up) = scale_up {
            let own = reduction.filter(|_| node_of.is_some());
            let scale_up = Cable { rate: own.unwrap_or(scale_up.rate), ..scale_up };
            builder.join(host, spine + planes * spines + server, scale_up);
        }
    }
    for switch in 0..rails {
        let plane = switch / accelerators % planes;
        for nth in 0..spines {
            builder.join(rail + switch, spine + plane * spines + nth, spine_link);
        }
    }
    let mut topology = builder.finish(values);
    topology.scale_up_ports = u32::from(scale_up.is_some());
    topology.reducers = reducers;
    topology.server_hosts = Some(accelerators).filter(|&accelerators| accelerators > 1);
    topology.hosts_see_the_same = true;
    topology.find_routes();
    Ok(topology)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Value;
    use crate::topology::testing::link;
    use crate::topology::{PathNumber, Routes};
    use std::collections::BTreeSet;

    /// Four servers of two accelerators in two groups, two planes of two spines, and 100 Gb/s inside servers.
    fn small() -> Topology {
        let counts = [("servers", 4), ("accelerators", 2), ("servers_per_rail_switch", 2), ("planes", 2)];
        let counts = counts.map(|(key, count)| (key, Value::Count(count)));
        let scale_up = [("scale_up", link(Rate::from_gbps(100), Time::from_ns(100)))];
        Topology::of_values("rail-optimised", &[&counts[..], &scale_up[..]].concat()).expect("rails")
    }

    #[test]
    fn a_node_that_reduces_is_a_host_in_its_servers_switch() {
        let counts = [("servers", 4), ("accelerators", 2), ("servers_per_rail_switch", 2)];
        let counts = counts.map(|(key, count)| (key, Value::Count(count)));
        let inside = [
            ("scale_up", link(Rate::from_gbps(100), Time::from_ns(100))),
            ("reduction", Value::Rate(Rate::from_gbps(200))),
        ];
        let topology = Topology::of_values("rail-optimised", &[&counts[..], &inside[..]].concat());
        let topology = topology.expect("rails");
        assert_eq!((topology.hosts, topology.working_hosts()), (12, 8));
        assert!(topology.hosts_are_alike());
        for server in 0..4 {
            let node = 8 + server;
            for host in [2 * server, 2 * server + 1] {
                for (src, dst) in [(host, node), (node, host)] {
                    let inside = |&link: &usize| topology.link_name(link as u32).contains("scale-up");
                    let path = topology.path(src, dst);
                    assert!(path.len() == 2 && path.iter().all(inside), "{src} to {dst}");
                    assert_eq!(topology.routes().expect("tables").paths(src, dst), 1);
                }
                assert_eq!(topology.rate_between(host, node), Rate::from_gbps(100));
                assert_eq!(topology.rate_between(node, host), Rate::from_gbps(200));
            }
        }
        // Accelerators have the paths that they have without.
        let routes = topology.routes().expect("tables");
        for (dst, links, paths) in [(1, 2, 1), (2, 2, 1), (4, 4, 2), (3, 4, 2)] {
            assert_eq!((topology.path(0, dst).len(), routes.paths(0, dst)), (links, paths), "to {dst}");
        }
        let alone = Topology::of_values("rail-optimised", &[&counts[..], &inside[1..]].concat());
        assert_eq!(alone.expect_err("refused").key, "reduction");
    }

    #[test]
    fn every_plane_has_rails_and_spines_of_its_own() {
        let topology = small();
        let count = |tier| topology.nodes.iter().filter(|node| node.tier == tier).count();
        assert_eq!([0, 1, 2, 3].map(count), [8, 2 * 2 * 2, 2 * 2, 4]);
        assert_eq!(topology.cables("host", "rail"), 8 * 2);
        assert_eq!(topology.cables("rail", "spine"), 8 * 2);
        assert_eq!(topology.cables("host", "scale-up"), 8);
        assert_eq!(topology.rate_of(5), Rate::from_gbps(20), "of the NIC alone");
        assert_eq!(topology.rate_between(0, 2), Rate::from_gbps(20));
        assert_eq!(topology.rate_between(0, 1), Rate::from_gbps(100));
        assert!(topology.hosts_are_alike());
    }

    #[test]
    fn paths_are_those_worked_out_by_hand() {
        let topology = small();
        let routes = topology.routes().expect("tables");
        assert!(routes.reach_all() && routes.has_choice());
        // In the server; on one rail in the group, and out of it; on another rail.
        for (dst, links, paths) in [(1, 2, 1), (2, 2, 2), (4, 4, 4), (6, 4, 4), (3, 4, 4), (7, 4, 4)] {
            assert_eq!((topology.path(0, dst).len(), routes.paths(0, dst)), (links, paths), "to {dst}");
        }
        assert_eq!(routes.most_paths(), 4);
    }

    #[test]
    fn nothing_but_a_servers_own_takes_its_scale_up_switch() {
        let topology = small();
        let routes = topology.routes().expect("tables");
        for (src, dst) in (0..8).flat_map(|src| (0..8).map(move |dst| (src, dst))) {
            for number in 0..if src == dst { 0 } else { routes.paths(src, dst) } {
                let path = PathNumber { src, dst, number };
                let inside = (20..24).filter(|&switch| routes.port_on(switch, path).is_some());
                let expected: Vec<u32> = if src / 2 == dst / 2 { vec![20 + src / 2] } else { Vec::new() };
                assert_eq!(inside.collect::<Vec<_>>(), expected, "{src} to {dst}");
            }
        }
    }

    #[test]
    fn fabrics_compared_are_one_table() {
        let topology = small();
        let same = |dead: &BTreeSet<usize>| {
            let (several, one) = (Routes::of(&topology, dead), Routes::in_one(&topology, dead));
            for (node, dst) in
                (0..topology.nodes.len() as u32).flat_map(|node| (0..8).map(move |dst| (node, dst)))
            {
                assert!(
                    node == dst || several.to(node, dst) == one.to(node, dst),
                    "{node} to {dst}, {dead:?}"
                );
                if node < 8 && node != dst {
                    let paths = several.paths(node, dst);
                    assert_eq!(paths, one.paths(node, dst));
                    for path in (0..paths).map(|number| PathNumber { src: node, dst, number }) {
                        for at in 0..topology.nodes.len() as u32 {
                            assert_eq!(several.port_on(at, path), one.port_on(at, path));
                            let back = |routes: &Routes| routes.port_back_on(at, path);
                            assert!(at == node || back(&several) == back(&one));
                        }
                    }
                }
            }
            assert_eq!(several.reach_all(), one.reach_all());
        };
        same(&BTreeSet::new());
        for link in 0..topology.links.len() {
            same(&[link].into());
            same(&[link, topology.link_back(link), (link * 7) % topology.links.len()].into());
        }
    }

    #[test]
    fn what_makes_no_whole_groups_or_says_spines_twice_is_refused() {
        let refused = |more: &[(&'static str, Value)]| {
            let servers = [("servers", Value::Count(6)), ("accelerators", Value::Count(2))];
            let complaint = Topology::of_values("rail-optimised", &[&servers[..], more].concat());
            let Complaint { key, message } = complaint.expect_err("refused");
            format!("{key}: {message}")
        };
        assert_eq!(
            refused(&[("servers_per_rail_switch", Value::Count(4))]),
            "servers_per_rail_switch: 6 servers are no whole number of groups of 4; write a divisor of 6"
        );
        let both = [("spines", Value::Count(1)), ("oversubscription", Value::Number(1.0))];
        assert_eq!(
            refused(&both),
            "spines: oversubscription says how many there are, too: 1 comes to spines = 3; leave one of them out"
        );
        assert_eq!(
            refused(&[("oversubscription", Value::Number(2.0))]),
            "oversubscription: 2 takes 1.500 spines; write 3 for 1, or 1.5 for 2"
        );
    }

    /// A table with a row and a column for each host would take gigabytes.
    #[test]
    fn thousands_of_accelerators_take_little() {
        let counts = [("servers", 1024), ("accelerators", 8), ("servers_per_rail_switch", 64), ("planes", 4)];
        let counts = counts.map(|(key, count)| (key, Value::Count(count)));
        let scale_up = [("scale_up", link(Rate::from_gbps(100), Time::from_ns(100)))];
        let topology = Topology::of_values("rail-optimised", &[&counts[..], &scale_up[..]].concat());
        let topology = topology.expect("rails");
        let links = |src| topology.path(src, 0).len();
        let found = (1..topology.hosts).map(links).fold([0; 5], |mut counts, links| {
            counts[links] += 1;
            counts
        });
        // Seven in the server and 63 on the rail switch; all others by a spine.
        assert_eq!(found, [0, 0, 7 + 63, 0, 8_192 - 1 - 70]);
        let routes = topology.routes().expect("tables");
        assert_eq!(routes.most_paths(), 4 * 64);
        assert_eq!(routes.paths(0, 8_191), 4 * 64);
    }
}

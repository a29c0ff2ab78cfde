//! Networks that stand for a part of a larger one: a path, or hosts around one switch.

use super::{Link, MessageCosts, Node, Reach, Topology};
use crate::narrow::exact;
use crate::units::{Rate, Time};

const TIERS: &[&str] = &["host", "switch"];

/// A host's two links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arm {
    /// The rate and the latency of the one that leads from it.
    pub out: (Rate, Time),
    /// Those of the one that leads to it.
    pub back: (Rate, Time),
}

impl Topology {
    /// Two hosts and the links from one to the other, each with its rate and its latency, and as many back, in the
    /// order in which they are crossed; switches between them forward as this network's do.
    ///
    /// # Panics
    /// If there is no link, or there are not as many back.
    pub fn chain(&self, there: &[(Rate, Time)], back: &[(Rate, Time)]) -> Topology {
        let hops = exact::<u32>(there.len());
        assert!(hops > 0 && back.len() == there.len(), "a path has links, and as many lead back");
        // The nodes in the order of the path: a host, the switches, a host.
        let node = |place: u32| {
            if place == 0 {
                0
            } else if place == hops {
                1
            } else {
                1 + place
            }
        };
        let onward = |place: u32| (node(place), node(place + 1), there[place as usize]);
        let backward = |place: u32| (node(place), node(place - 1), back[(hops - place) as usize]);
        // A switch has first its port to the left, where host 0 is.
        let of_switch = |place: u32| [backward(place), onward(place)];
        let links = [onward(0), backward(hops)].into_iter().chain((1..hops).flat_map(of_switch));
        let host = |host: u32| Node { tier: 0, ports: host..host + 1, reach: Reach::default() };
        let reach = Reach { first_host: 0, hosts: 1, hosts_per_port: 1, down_ports: 1 };
        let switch = |place: u32| Node { tier: 1, ports: 2 * place..2 * place + 2, reach };
        let nodes = [host(0), host(1)].into_iter().chain((1..hops).map(switch)).collect();
        self.part(2, nodes, links.map(link).collect())
    }

    /// Hosts around one switch, which forwards as this network's switches do. Link `h` leads from host `h`, and link
    /// `arms.len() + h` to it.
    pub fn star(&self, arms: &[Arm]) -> Topology {
        let hosts = exact::<u32>(arms.len());
        let host = |host: u32| Node { tier: 0, ports: host..host + 1, reach: Reach::default() };
        let reach = Reach { first_host: 0, hosts, hosts_per_port: 1, down_ports: hosts };
        let switch = Node { tier: 1, ports: hosts..2 * hosts, reach };
        let out = arms.iter().zip(0..).map(|(arm, host)| (host, hosts, arm.out));
        let back = arms.iter().zip(0..).map(|(arm, host)| (hosts, host, arm.back));
        let nodes = (0..hosts).map(host).chain([switch]).collect();
        self.part(hosts, nodes, out.chain(back).map(link).collect())
    }

    /// These nodes and links, with what this network's packets and switches have in common.
    fn part(&self, hosts: u32, nodes: Vec<Node>, links: Vec<Link>) -> Topology {
        Topology {
            hosts,
            nodes,
            links,
            forwarding: self.forwarding,
            framing_bytes: self.framing_bytes,
            whole_ns: self.whole_ns,
            processing: None,
            message_costs: MessageCosts::default(),
            tier_names: TIERS,
            ids: Vec::new(),
            error_rates: Vec::new(),
            link_retry: None,
            notes: Vec::new(),
            scale_up_ports: 0,
            reducers: 0,
            server_hosts: None,
            hosts_see_the_same: false,
            lengths: Vec::new(),
            routes: None,
        }
    }
}

fn link((src, dst, (rate, latency)): (u32, u32, (Rate, Time))) -> Link {
    Link { src, dst, rate, latency, delay: latency }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Format;
    use crate::topology::best_fct;

    #[test]
    fn packets_go_by_the_links_of_their_two_hosts() {
        let rack = Topology::of_counts("rack", &[("hosts", 2)]);
        let fast = (Rate::from_gbps(100), Time::from_ns(100));
        let slow = (Rate::from_gbps(10), Time::from_ns(700));
        let star = rack.star(&[Arm { out: fast, back: fast }, Arm { out: fast, back: slow }]);
        assert_eq!(star.path(0, 1), [0, 3]);
        assert_eq!(star.path(1, 0), [1, 2]);
        assert_eq!((star.link_back(0), star.link_back(3)), (2, 1));
        assert_eq!(star.link_name(3), "switch0 to host1");
        // 1,500 bytes: 120 ns and 1,200 ns on the links, 100 ns and 700 ns of latency.
        let format = Format { mss_bytes: 1_460, header_bytes: 40 };
        assert_eq!(best_fct(&star, format, 0, 1, 1_460), Time::from_ns(2_120));
    }

    #[test]
    fn a_chain_is_crossed_link_by_link_in_both_directions() {
        let rack = Topology::of_counts("rack", &[("hosts", 2)]);
        let hop = |gbps, ns| (Rate::from_gbps(gbps), Time::from_ns(ns));
        let chain = rack.chain(&[hop(1, 1), hop(2, 2), hop(3, 3)], &[hop(4, 4), hop(5, 5), hop(6, 6)]);
        let rates = |path: Vec<usize>| -> Vec<u64> {
            path.into_iter().map(|link| chain.links[link].rate.as_bps() / 1_000_000_000).collect()
        };
        assert_eq!(rates(chain.path(0, 1)), [1, 2, 3]);
        assert_eq!(rates(chain.path(1, 0)), [4, 5, 6]);
        let pair = rack.chain(&[hop(1, 1)], &[hop(4, 4)]);
        assert_eq!((pair.path(0, 1), pair.path(1, 0)), (vec![0], vec![1]));
    }
}

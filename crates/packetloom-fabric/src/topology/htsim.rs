//! A fat-tree of two or three tiers, from one of htsim's `.topo` files.

use super::link::{Cable, FORWARDING_PARAMS, check_framing};
use super::{Builder, Reach, Topology};
use crate::formats::htsim_topology::{self, FatTree};
use crate::spec::{Complaint, Component, Kind, Values, param};

const TIERS: &[&str] = &["host", "tor", "agg", "core"];

/// The component.
pub const COMPONENT: Component = Component {
    section: "topology",
    kind: "htsim",
    doc: "The fat-tree of a .topo file of htsim, of two or three tiers. Queue sizes in it are ignored: the scheme's queue has its own.",
    source: "csg-htsim",
    params: &[&[param! { required "file": Kind::Text, "The file.", "packetloom" }], FORWARDING_PARAMS],
    check: check_framing,
};

pub(super) fn build(values: &Values) -> Result<Topology, Complaint> {
    let tree = crate::formats::read(&values.text("file"), htsim_topology::read)?;
    Ok(lay_out(&tree, values))
}

fn lay_out(tree: &FatTree, values: &Values) -> Topology {
    let mut builder = Builder::with_delays(
        values,
        tree.tiers.iter().map(|tier| tier.switch_delay),
        &TIERS[..=tree.tiers.len()],
    );
    let shape = Shape::of(tree);
    for _ in 0..tree.hosts {
        builder.node(0, Reach::default());
    }
    for (tier, &switches) in (1..).zip(&shape.switches) {
        for switch in 0..switches {
            builder.node(tier, shape.reach(usize::from(tier) - 1, switch));
        }
    }
    shape.link(&mut builder);
    let mut topology = builder.finish(values);
    if tree.tiers.iter().any(|tier| tier.bundle > 1) {
        // Of parallel links downwards there is a choice, which addresses alone do not make.
        topology.find_routes();
    }
    if tree.has_queue_sizes {
        topology
            .notes
            .push("the .topo file's sizes of queues are not used: the scheme's queue holds".to_owned());
    }
    topology
}

/// A fat-tree in numbers.
struct Shape<'a> {
    tree: &'a FatTree,
    /// Switches of each tier, in all pods.
    switches: Vec<u32>,
    /// The same in one pod; for the top tier in all.
    per_pod: Vec<u32>,
}

impl Shape<'_> {
    fn of(tree: &FatTree) -> Shape<'_> {
        let per_pod = tree.switches();
        let top = per_pod.len() - 1;
        let pods = |tier| if tier == top { 1 } else { tree.pods() };
        let switches = per_pod.iter().enumerate().map(|(tier, count)| count * pods(tier)).collect();
        Shape { tree, switches, per_pod }
    }

    fn reach(&self, tier: usize, switch: u32) -> Reach {
        let down_ports = self.tree.tiers[tier].radix_down;
        let (first_host, hosts) = match tier {
            0 => (switch * down_ports, down_ports),
            _ if tier + 1 == self.switches.len() => (0, self.tree.hosts),
            _ => (switch / self.per_pod[tier] * self.tree.pod_hosts, self.tree.pod_hosts),
        };
        Reach { first_host, hosts, hosts_per_port: (hosts / down_ports).max(1), down_ports }
    }

    /// The number of a tier's first switch among all nodes.
    fn first(&self, tier: usize) -> u32 {
        self.tree.hosts + self.switches[..tier].iter().sum::<u32>()
    }

    fn cable(&self, tier: usize) -> Cable {
        let tier = &self.tree.tiers[tier];
        Cable { rate: tier.rate, delay: tier.delay }
    }

    /// The switches below one, each listed once per link, in order.
    fn below(&self, tier: usize, switch: u32) -> impl Iterator<Item = u32> + '_ {
        let bundle = self.tree.tiers[tier].bundle;
        let joined = self.tree.tiers[tier].radix_down / bundle;
        let is_core = tier == 2;
        let uplinks = self.tree.tiers[tier - 1].radix_up / bundle;
        let pod = if is_core { 0 } else { switch / self.per_pod[tier] };
        let one = move |place: u32| match is_core {
            // One switch in each pod, by the core's place among their uplinks.
            true => place * self.per_pod[tier - 1] + switch / uplinks,
            false => pod * self.per_pod[tier - 1] + place,
        };
        (0..joined).flat_map(move |place| (0..bundle).map(move |_| one(place)))
    }

    /// The switches above one, each listed once per link, in order.
    fn above(&self, tier: usize, switch: u32) -> impl Iterator<Item = u32> + '_ {
        let bundle = self.tree.tiers[tier + 1].bundle;
        let uplinks = self.tree.tiers[tier].radix_up / bundle;
        let (pod, place) = (switch / self.per_pod[tier], switch % self.per_pod[tier]);
        let is_below_core = tier == 1;
        let is_two_tiers = self.switches.len() == 2;
        let first = match (is_below_core, is_two_tiers) {
            (true, _) => place * uplinks,
            (false, true) => 0,
            (false, false) => pod * self.per_pod[tier + 1],
        };
        (first..first + uplinks).flat_map(move |above| (0..bundle).map(move |_| above))
    }

    fn link(&self, builder: &mut Builder) {
        for host in 0..self.tree.hosts {
            let switch = self.first(0) + host / self.tree.tiers[0].radix_down;
            builder.link(host, switch, self.cable(0));
            builder.link(switch, host, self.cable(0));
        }
        for tier in 0..self.switches.len() {
            for switch in 0..self.switches[tier] {
                let number = self.first(tier) + switch;
                if tier > 0 {
                    for below in self.below(tier, switch) {
                        builder.link(number, self.first(tier - 1) + below, self.cable(tier));
                    }
                }
                if tier + 1 < self.switches.len() {
                    for above in self.above(tier, switch) {
                        builder.link(number, self.first(tier + 1) + above, self.cable(tier + 1));
                    }
                }
            }
        }
    }
}

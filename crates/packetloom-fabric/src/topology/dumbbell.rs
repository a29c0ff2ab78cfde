//! A dumbbell: two switches, hosts on either, and one link between them.

use super::link::{COMMON_PARAMS, LINK_PARAMS, cable, check_common};
use super::{Builder, Reach, Topology};
use crate::narrow::exact;
use crate::spec::{Complaint, Component, Kind, Values, param};

const TIERS: &[&str] = &["host", "switch"];

const MOST_HOSTS: u64 = 1_000_000;

/// The component.
pub const COMPONENT: Component = Component {
    section: "topology",
    kind: "dumbbell",
    doc: "Two switches with hosts on either, joined by one link. The hosts on the left are numbered first.",
    source: "packetloom",
    params: &[
        &[
            param! { "left" = "4": Kind::Count(1), "Hosts on the left switch, switch0.", "packetloom" },
            param! { "right" = "4": Kind::Count(1), "Hosts on the right switch, switch1.", "packetloom" },
            param! {
                "bottleneck": Kind::Component("link"),
                "The link between the switches, where it differs.", "packetloom"
            },
        ],
        LINK_PARAMS,
        COMMON_PARAMS,
    ],
    check,
};

fn check(values: &Values) -> Result<(), Complaint> {
    for key in ["left", "right"] {
        if values.count(key) > MOST_HOSTS / 2 {
            let message = format!("{} is too many; write at most {}", values.count(key), MOST_HOSTS / 2);
            return Err(Complaint::new(key, message));
        }
    }
    check_common(values, TIERS.len() - 1)
}

pub(super) fn build(values: &Values) -> Result<Topology, Complaint> {
    check(values)?;
    let (left, right) = (exact::<u32>(values.count("left")), exact::<u32>(values.count("right")));
    let hosts = left + right;
    let mut builder = Builder::new(values, TIERS);
    for _ in 0..hosts {
        builder.node(0, Reach::default());
    }
    builder.node(1, Reach::default());
    builder.node(1, Reach::default());
    let host_link = cable(values, "host_link");
    for host in 0..hosts {
        builder.join(host, hosts + u32::from(host >= left), host_link);
    }
    builder.join(hosts, hosts + 1, cable(values, "bottleneck"));
    let mut topology = builder.finish(values);
    // Neither switch is above the other, as addresses would have it.
    topology.find_routes();
    Ok(topology)
}

#[cfg(test)]
mod tests {
    use crate::topology::Topology;

    #[test]
    fn all_that_changes_sides_takes_the_one_link() {
        let topology = Topology::of_counts("dumbbell", &[("left", 3), ("right", 2)]);
        assert_eq!((topology.hosts, topology.nodes.len(), topology.links.len()), (5, 7, 12));
        let routes = topology.routes().expect("neither switch is above the other");
        assert!(routes.reach_all() && !routes.has_choice());
        let names = |src, dst| -> Vec<String> {
            topology.path(src, dst).into_iter().map(|link| topology.link_name(link as u32)).collect()
        };
        assert_eq!(names(0, 2), ["host0 to switch0", "switch0 to host2"]);
        assert_eq!(names(0, 4), ["host0 to switch0", "switch0 to switch1", "switch1 to host4"]);
        assert_eq!(names(3, 1), ["host3 to switch1", "switch1 to switch0", "switch0 to host1"]);
    }
}

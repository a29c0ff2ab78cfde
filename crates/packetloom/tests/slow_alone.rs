//! Flows that have the network for themselves: constants of another line rate are found before a run.

use crate::common::{cases, write_file};
use packetloom::simulation::{Simulation, path_across, slow_alone};

const LEAF_SPINE: &str = "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n\
    link = { rate = \"100Gbps\", delay = \"1us\" }";

fn scenario(topology: &str, scheme: &str) -> String {
    format!(
        "[topology]\n{topology}\n\n[[workload]]\nsizes = \"web-search\"\n\n[[scheme]]\nname = \"any\"\n{scheme}\n\n\
         [run]\nloads = [0.3]\nflows = 100\n"
    )
}

fn found(topology: &str, scheme: &str) -> Option<String> {
    let case = cases(&scenario(topology, scheme)).remove(0);
    let message = slow_alone(&case).map(|complaint| complaint.message);
    let doubts = Simulation::new(case).expect("a sound case").doubts();
    assert_eq!(doubts.iter().any(|doubt| message.as_ref() == Some(&doubt.message)), message.is_some());
    message
}

#[test]
fn windows_for_another_line_rate_are_found_and_those_for_this_one_are_not() {
    let homa = |keys: &str| {
        format!("transport = {{ kind = \"homa\"{keys} }}\nqueue = {{ kind = \"classes\", strict = 8 }}")
    };
    let message = found(LEAF_SPINE, &homa("")).expect("10 KB of 107 KB in flight");
    assert!(message.contains("takes 10.1 times") && message.contains("a path holds 106"), "{message}");
    assert_eq!(found(LEAF_SPINE, &homa(", blind = \"107KB\", window = \"107KB\"")), None);
}

#[test]
fn what_fills_its_links_by_itself_is_not_slow() {
    for scheme in [
        "transport = \"dctcp\"\nqueue = { kind = \"ecn\", capacity = \"2MB\", mark_above = \"300KB\" }",
        "transport = \"dcqcn\"\nqueue = \"shared-buffer\"",
        "transport = \"uec\"\nqueue = { kind = \"ndp\", capacity = \"360KB\", ecn_min = \"75KB\", ecn_max = \"290KB\" }",
    ] {
        assert_eq!(found(LEAF_SPINE, scheme), None, "{scheme}");
    }
}

#[test]
fn a_path_with_a_slow_link_is_no_constants_fault() {
    // Of two ways between the switches of hosts 4 and 5 and of hosts 6 and 7, one has a quarter of the rate.
    write_file(
        "one-slow-way.txt",
        "8 4 8\n0 1 2 3\n0 2 10Gbps 1us 0\n0 3 10Gbps 1us 0\n1 2 2.5Gbps 1us 0\n1 3 10Gbps 1us 0\n4 0 10Gbps 1us 0\n\
         5 0 10Gbps 1us 0\n6 1 10Gbps 1us 0\n7 1 10Gbps 1us 0\n",
    );
    let topology = "kind = \"hpcc\"\nfile = \"one-slow-way.txt\"";
    for routing in ["ecmp", "letflow"] {
        let scheme = format!("transport = \"dcqcn\"\nqueue = \"shared-buffer\"\nrouting = \"{routing}\"");
        assert_eq!(found(topology, &scheme), None, "{routing}");
    }
}

#[test]
fn what_a_path_holds_is_its_rate_times_its_round_trip() {
    let scheme =
        "transport = \"dctcp\"\nqueue = { kind = \"ecn\", capacity = \"2MB\", mark_above = \"300KB\" }";
    let path = path_across(&cases(&scenario(LEAF_SPINE, scheme)).remove(0)).expect("it has packets");
    // Four links of 1 us each way, 120 ns for each of 1500 B, 3.2 ns for each of 40 B.
    assert_eq!((path.rtt.as_ps(), path.packet_bytes), (8_000_000 + 4 * 120_000 + 4 * 3_200, 1_500));
    assert_eq!(path.holds_bytes, 106_160);
    let fluid = cases(&scenario(LEAF_SPINE, "transport = \"max-min\"")).remove(0);
    assert!(path_across(&fluid).is_none() && slow_alone(&fluid).is_none());
}

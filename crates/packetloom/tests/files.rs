//! Other simulators' files, through the scenario: what networks and flows come of them.

use crate::common::{self, cases, fct, run, write_file};
use packetloom::measure::fingerprint;
use packetloom::scenario::Scenario;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::spec::Complaint;
use packetloom::units::Time;
use std::path::Path;

/// A fat-tree as HPCC's files have it: hosts 0 to 15 and 20 switches, every link alike.
fn fat_tree_of_4() -> String {
    let mut links: Vec<String> = Vec::new();
    let mut link = |a: u32, b: u32| links.push(format!("{a} {b} 10Gbps 400ns 0"));
    for host in 0..16 {
        link(host, 16 + host / 2);
    }
    for pod in 0..4 {
        for (edge, aggregation) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            link(16 + 2 * pod + edge, 24 + 2 * pod + aggregation);
        }
        for (aggregation, core) in [(0, 0), (0, 1), (1, 2), (1, 3)] {
            link(24 + 2 * pod + aggregation, 32 + core);
        }
    }
    let switches: Vec<String> = (16..36).map(|id| id.to_string()).collect();
    format!("36 20 {}\n{}\n{}\n", links.len(), switches.join(" "), links.join("\n"))
}

fn scenario(topology: &str, workload: &str, scheme: &str, run: &str) -> String {
    format!(
        "[topology]\n{topology}\n\n[[workload]]\n{workload}\n\n[[scheme]]\nname = \"any\"\n{scheme}\n\n[run]\n{run}\n"
    )
}

const POISSON: &str = "sizes = { kind = \"exponential\", mean = \"60KB\" }";

#[test]
fn a_fat_tree_from_a_file_is_the_fat_tree() {
    write_file("fat-tree-4.txt", &fat_tree_of_4());
    let from_file = "kind = \"hpcc\"\nfile = \"fat-tree-4.txt\"";
    let built_in = "kind = \"fat-tree\"\nk = 4";
    // With ECMP, switches hash with the same numbers in both: their nodes and ports are in the same order.
    for (transport, queue, routing) in [
        ("dctcp", "\"ecn\"", "ecmp"),
        ("tcp", "{ kind = \"drop-tail\", capacity = \"100KB\" }", "ecmp"),
        ("line-rate", "\"pfabric\"", "spray-random"),
        ("ndp", "\"ndp\"", "spray-random"),
        ("ndp", "\"ndp\"", "permutation"),
    ] {
        let scheme = format!("transport = \"{transport}\"\nqueue = {queue}\nrouting = \"{routing}\"");
        let of = |topology| run(&scenario(topology, POISSON, &scheme, "loads = [0.6]\nflows = 400"));
        let (file, own) = (of(from_file), of(built_in));
        let best = |outcome: &Outcome| outcome.flows.iter().map(|row| row.best_fct).collect::<Vec<_>>();
        assert_eq!(best(&file), best(&own), "{transport}");
        assert_eq!(fingerprint(&file.flows), fingerprint(&own.flows), "{transport}");
        assert_eq!(file.topology.node_name(20), "switch20");
    }
}

/// A ring of five switches with a host each, the switches numbered first; one link is faster.
const RING: &str = "10 5 11\n0 1 2 3 4\n\
    5 0 10Gbps 1us 0\n6 1 10Gbps 1us 0\n7 2 10Gbps 1us 0\n8 3 10Gbps 1us 0\n9 4 10Gbps 1us 0\n\
    0 1 10Gbps 1us 0\n1 2 10Gbps 1us 0\n2 3 10Gbps 1us 0\n3 4 10Gbps 1us 0\n4 0 10Gbps 1us 0\n0 2 10Gbps 1us 0\n";

#[test]
fn any_graph_will_do_and_nodes_keep_their_numbers() {
    write_file("ring.txt", RING);
    write_file(
        "ring-flow.txt",
        "3\n5 7 3 100 14600 0.000000000\n6 8 3 100 1460 0.001\n9 5 2 100 1460 0.002000001\n",
    );
    let outcome = run(&scenario(
        "kind = \"hpcc\"\nfile = \"ring.txt\"",
        "arrivals = { kind = \"hpcc\", file = \"ring-flow.txt\" }",
        "transport = { kind = \"tcp\", initial_window = 10 }\nqueue = \"drop-tail\"",
        "",
    ));
    let flows: Vec<_> =
        outcome.flows.iter().map(|row| (row.flow.src, row.flow.dst, row.flow.class)).collect();
    assert_eq!(flows, [(0, 2, 3), (1, 3, 3), (4, 0, 2)]);
    // 5-0-2-7: three links for ten packets of 1.2 us each; the others cross one and two switches more than their
    // own.
    let times: Vec<Time> = outcome.flows.iter().map(fct).collect();
    assert_eq!(times, [12 * 1_200 + 3_000, 4 * 2_200, 3 * 2_200].map(Time::from_ns));
    assert_eq!(outcome.flows[2].flow.start, Time(2_000_001_000));
    assert!(outcome.flows.iter().all(|row| row.fct() == Some(row.best_fct)));
}

#[test]
fn switches_of_any_graph_learn_of_dead_links() {
    write_file("ring-faults.txt", RING);
    let fault = "[[fault]]\nkind = \"link-down\"\nbetween = [\"switch0\", \"switch2\"]\nat = \"100us\"\nlearn_after = \"50us\"";
    for routing in ["ecmp", "spray-random", "spray-round-robin"] {
        let workload = format!(
            "sizes = {{ kind = \"constant\", size = \"300KB\" }}\narrivals = \"at-once\"\npattern = \"all-to-all\"\n\n{fault}"
        );
        let scheme = format!(
            "transport = {{ kind = \"tcp\", fast_retransmit = false }}\nqueue = \"drop-tail\"\nrouting = \"{routing}\""
        );
        let outcome = run(&scenario(
            "kind = \"hpcc\"\nfile = \"ring-faults.txt\"",
            &workload,
            &scheme,
            "max_time = \"1s\"",
        ));
        assert!(outcome.flows.iter().all(|row| row.fct().is_some()), "{routing}: {:?}", outcome.warnings);
        let port = common::port(&outcome, "switch0", "switch2");
        assert!(port.counters.lost > 0 && port.counters.packets > port.counters.lost, "{routing}: {port:?}");
    }
}

#[test]
fn credits_and_links_that_lose_packets_do_not_go_together() {
    write_file("lossy-credits.txt", "3 1 2\n2\n0 2 10Gbps 400ns 0.001\n1 2 10Gbps 400ns 0\n");
    let topology = "kind = \"hpcc\"\nfile = \"lossy-credits.txt\"";
    let scheme = "transport = \"swift\"\nqueue = \"daq\"";
    let case = cases(&scenario(topology, POISSON, scheme, "loads = [0.5]\nflows = 1")).remove(0);
    let Err(Complaint { message, .. }) = Simulation::new(case) else { panic!("a credit may be lost") };
    assert!(
        message.starts_with("a lost credit or RESUME never comes back") && message.contains("; write "),
        "{message}"
    );
}

#[test]
fn a_files_error_rate_is_corruption() {
    write_file("lossy.txt", "3 1 2\n2\n0 2 10Gbps 1us 0.01\n1 2 10Gbps 1us 0\n");
    let workload = "sizes = { kind = \"constant\", size = \"14.6MB\" }\narrivals = \"at-once\"\npattern = { kind = \"pair\", src = 0, dst = 1 }";
    let scheme = "transport = \"tcp\"\nqueue = \"drop-tail\"";
    let outcome = run(&scenario("kind = \"hpcc\"\nfile = \"lossy.txt\"", workload, scheme, ""));
    let port = common::port(&outcome, "host0", "switch2").counters;
    assert!((50..150).contains(&(port.corrupted * 10_000 / port.packets)), "{port:?}");
    assert_eq!(common::port(&outcome, "switch2", "host1").counters.corrupted, 0);
}

/// htsim's fat-tree of 16 hosts, in bundles of so many links.
fn topo(bundle: u32) -> String {
    let tier = |number: u32, up: &str, down: u32, gbps: u32, bundle: u32| {
        format!(
            "Tier {number}\nDownlink_speed_Gbps {gbps}\nRadix_Down {down}\n{up}Downlink_Latency_ns 400\nBundle {bundle}\n"
        )
    };
    let up = format!("Radix_Up {}\n", 2 * bundle);
    let oversubscribed = format!("{up}Oversubscribed 1\n");
    format!(
        "Nodes 16\nTiers 3\nPodsize 4\n{}{}{}",
        tier(0, &oversubscribed, 2, 10 * bundle, 1),
        tier(1, &up, 2 * bundle, 10, bundle),
        tier(2, "", 4 * bundle, 10, bundle)
    )
}

#[test]
fn htsims_fat_tree_is_the_fat_tree() {
    write_file("one.topo", &topo(1));
    write_file("bundles.topo", &topo(2));
    let ndp = "transport = \"ndp\"\nqueue = \"ndp\"\nrouting = \"permutation\"";
    let of = |topology: &str, scheme: &str| {
        run(&scenario(topology, POISSON, scheme, "loads = [0.6]\nflows = 400"))
    };
    let own = of("kind = \"fat-tree\"\nk = 4", ndp);
    let file = of("kind = \"htsim\"\nfile = \"one.topo\"", ndp);
    assert_eq!(fingerprint(&file.flows), fingerprint(&own.flows));
    assert_eq!(
        (file.topology.node_name(16), file.topology.node_name(35)),
        ("tor0".to_owned(), "core3".to_owned())
    );
    let bundles =
        of("kind = \"htsim\"\nfile = \"bundles.topo\"", &ndp.replace("permutation", "spray-random"));
    assert!(bundles.flows.iter().all(|row| row.fct().is_some()));
    // Two links of each bundle carry about the same.
    let links = bundles.ports.iter().filter(|port| {
        let link = bundles.topology.links[port.link];
        bundles.topology.node_name(link.src) == "tor0" && bundles.topology.node_name(link.dst) == "agg1"
    });
    let packets: Vec<u64> = links.map(|port| port.counters.packets).collect();
    assert!(
        packets.len() == 2 && packets[0] > 50 && packets[0].abs_diff(packets[1]) < packets[0] / 2,
        "{packets:?}"
    );
}

fn connections(name: &str, text: &str) -> Outcome {
    write_file(name, text);
    run(&scenario(
        "kind = \"fat-tree\"\nk = 4\nlink = { rate = \"100Gbps\", delay = \"1us\" }",
        &format!("arrivals = {{ kind = \"htsim\", start_unit = \"ps\", file = \"{name}\" }}"),
        "transport = \"ndp\"\nqueue = \"ndp\"\nrouting = \"permutation\"",
        "",
    ))
}

const TRIGGERS: &str = "Nodes 16\nConnections 8\nTriggers 4\nFailures 0\n\
         0->13 id 1 start 0 size 90000 send_done_trigger 1\n\
         0->14 id 2 trigger 1 size 90000 recv_done_trigger 2\n\
         1->15 id 3 start 5000000 size 9000 recv_done_trigger 2\n\
         14->3 id 4 trigger 2 size 9000 recv_done_trigger 3\n\
         14->4 id 5 trigger 2 size 9000 recv_done_trigger 3\n\
         5->6 id 6 trigger 3 size 9000 send_done_trigger 4\n\
         5->7 id 7 trigger 3 size 9000\n\
         8->9 id 8 trigger 4 size 9000\n\
         trigger id 1 oneshot\ntrigger id 2 barrier count 2\ntrigger id 3 multishot\ntrigger id 4 oneshot\n";

#[test]
fn triggers_start_connections_when_others_end() {
    let outcome = connections("triggers.cm", TRIGGERS);
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    let row = |id: usize| &outcome.flows[id - 1];
    let start = |id| row(id).flow.start;
    let delay = Time::from_ns(100);
    assert_eq!(start(3), Time::from_us(5));
    assert_eq!(start(2), row(1).closed, "at one host: at once");
    // The second of two activations.
    let both = row(2).delivered.max(row(3).delivered);
    assert_eq!((start(4), start(5)), (both + delay, both + delay));
    // One for each of two activations.
    let mut ends = [row(4).delivered, row(5).delivered];
    ends.sort();
    assert_eq!([start(6), start(7)], ends.map(|end| end + delay));
    assert_eq!(start(8), row(6).closed + delay);
}

#[test]
fn a_word_to_another_host_takes_as_long_as_the_scenario_says() {
    write_file("delay.cm", TRIGGERS);
    let toml = |delay: &str| {
        scenario(
            "kind = \"fat-tree\"\nk = 4",
            &format!("arrivals = {{ kind = \"htsim\", start_unit = \"ps\", file = \"delay.cm\"{delay} }}"),
            "transport = \"ndp\"\nqueue = \"ndp\"",
            "",
        )
    };
    for (delay, takes) in [("", 100), (", trigger_delay = \"1ns\"", 1), (", trigger_delay = \"3us\"", 3_000)]
    {
        let outcome = run(&toml(delay));
        let [row1, row2, row3, row4] = [0, 1, 2, 3].map(|place| &outcome.flows[place]);
        assert_eq!(row2.flow.start, row1.closed, "at one host: at once");
        assert_eq!(row4.flow.start, row2.delivered.max(row3.delivered) + Time::from_ns(takes));
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let too_short = Scenario::from_toml(&toml(", trigger_delay = \"0us\""), "test", folder);
    let problems = too_short.expect_err("hosts share nothing").to_string();
    assert!(problems.contains("trigger_delay") && problems.contains("write at least 1ns"), "{problems}");
}

#[test]
fn triggers_do_not_depend_on_windows_and_threads() {
    write_file("windows.cm", TRIGGERS);
    let scheme = "transport = \"ndp\"\nqueue = \"ndp\"\nrouting = \"permutation\"";
    let workload = "arrivals = { kind = \"htsim\", start_unit = \"ps\", file = \"windows.cm\" }";
    let case = cases(&scenario("kind = \"fat-tree\"\nk = 4", workload, scheme, "")).remove(0);
    let run = |longest, threads| {
        let simulation = Simulation::new(case.clone()).expect("a sound case");
        let simulation = simulation.with_windows_up_to(longest).with_threads(threads);
        fingerprint(&simulation.run(&Monitor::default()).expect("a sound case").flows)
    };
    let full = run(Time::NEVER, 1);
    for (longest, threads) in [(Time(1 << 15), 1), (Time::NEVER, 2)] {
        assert_eq!(run(longest, threads), full);
    }
}

#[test]
fn what_waits_in_vain_is_told() {
    let outcome = connections(
        "in-vain.cm",
        "Nodes 16\nConnections 2\nTriggers 1\n0->13 id 1 start 0 size 90000\n1->13 id 2 trigger 1 size 9\ntrigger id 1 oneshot\n",
    );
    assert_eq!(outcome.warnings, ["1 flows never started, as what they wait for did not come"]);
}

#[test]
fn a_mistake_in_a_file_is_told_with_file_and_line() {
    write_file("short.txt", "3 1 2\n2\n0 2 10Gbps 1us 0\n");
    write_file("alone.txt", "4 1 2\n3\n0 3 10Gbps 1us 0\n1 3 10Gbps 1us 0\n");
    write_file("through-host.txt", "4 1 3\n3\n0 3 10Gbps 1us 0\n1 3 10Gbps 1us 0\n1 2 10Gbps 1us 0\n");
    write_file("apart.txt", "4 2 2\n2 3\n0 2 10Gbps 1us 0\n1 3 10Gbps 1us 0\n");
    write_file("unequal.txt", "3 1 2\n2\n0 2 10Gbps 1us 0\n1 2 25Gbps 1us 0\n");
    write_file("good.txt", "3 1 2\n2\n0 2 10Gbps 1us 0\n1 2 10Gbps 1us 0\n");
    write_file("switch-flow.txt", "1\n0 2 3 100 1000 0\n");
    write_file("huge-flow.txt", "1\n0 1 3 100 9223372036854775808 0\n");
    write_file("self-flow.txt", "1\n1 1 3 100 10 0\n");
    write_file("empty-flow.txt", "1\n1 0 3 100 0 0\n");
    write_file("far.cm", "Nodes 16\nConnections 1\n0->13 id 1 start 0 size 90000\n");
    let message = |topology: &str, workload: &str| {
        let scheme = "transport = \"tcp\"\nqueue = \"drop-tail\"";
        let topology = format!("kind = \"hpcc\"\nfile = \"{topology}\"");
        let case = cases(&scenario(&topology, workload, scheme, "flows = 10\nloads = [0.5]")).remove(0);
        let complaint = Simulation::new(case).expect_err("a mistake");
        let file = complaint.message.rsplit('/').next().unwrap_or_default().to_owned();
        format!("{}: {file}", complaint.key)
    };
    let list = |file: &str| format!("arrivals = {{ kind = \"hpcc\", file = \"{file}\" }}");
    for (topology, expected) in [
        ("short.txt", "topology.file: short.txt:1: 1 links where the first line says 2"),
        ("alone.txt", "topology.file: alone.txt:1: host 2 has no link"),
        (
            "through-host.txt",
            "topology.file: through-host.txt:1: no way leads from host 0 to host 2; hosts pass nothing on",
        ),
        (
            "apart.txt",
            "topology.file: apart.txt:1: no way leads from host 0 to host 1; hosts pass nothing on",
        ),
    ] {
        assert_eq!(message(topology, POISSON), expected);
    }
    assert!(message("unequal.txt", POISSON).starts_with("topology.file: the hosts' links differ in rate"));
    for (workload, expected) in [
        (
            list("switch-flow.txt"),
            "workload[0].arrivals.file: switch-flow.txt:2: no host is numbered 2 in this topology",
        ),
        (
            list("huge-flow.txt"),
            "workload[0].arrivals.file: huge-flow.txt:2: `size_bytes` is 9223372036854775808; write at most 1099511627776",
        ),
        (
            list("self-flow.txt"),
            "workload[0].arrivals.file: self-flow.txt:2: host 1 would send to itself; write another `dst`",
        ),
        (
            list("empty-flow.txt"),
            "workload[0].arrivals.file: empty-flow.txt:2: `size_bytes` is 0; a flow has at least one byte",
        ),
        (
            "arrivals = { kind = \"htsim\", start_unit = \"ps\", file = \"far.cm\" }".to_owned(),
            "workload[0].arrivals.file: far.cm:3: no host is numbered 13 in this topology",
        ),
    ] {
        assert_eq!(message("good.txt", &workload), expected);
    }
    let missing = scenario(
        "kind = \"hpcc\"\nfile = \"nowhere.txt\"",
        POISSON,
        "transport = \"tcp\"\nqueue = \"drop-tail\"",
        "flows = 1",
    );
    let problems = Scenario::from_toml(&missing, "test", Path::new("")).expect_err("no such file");
    assert!(problems.to_string().contains("nowhere.txt"), "{problems}");
}

/// The corpus of `make fuzz`, with what it once found: every reader accepts it or reports what is wrong with it.
#[test]
fn the_kept_corpora_are_read_or_refused() {
    use packetloom::formats::{
        chakra, goal, hpcc_flows, hpcc_topology, htsim_connections, htsim_topology, simai,
    };
    use packetloom::workload::{cdf::Cdf, list::FlowList};
    let imported = |name: &str, bytes: &[u8]| {
        let source = chakra::Source { name: name.to_owned(), content: bytes.to_vec() };
        let groups = chakra::Groups::new();
        chakra::import(1, std::iter::once(Ok(source)), &groups, &chakra::Options::default()).is_ok()
    };
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut read = 0;
    for reader in std::fs::read_dir(corpora).expect("corpora") {
        let reader = reader.expect("a folder").path();
        if reader.ends_with("library") {
            continue; // calls, and no files: crates/packetloom-c/tests/corpus.rs
        }
        for file in std::fs::read_dir(&reader).expect("a corpus") {
            let bytes = std::fs::read(file.expect("a file").path()).expect("a file");
            let name = reader.file_name().and_then(|name| name.to_str()).expect("a name");
            let text = match std::str::from_utf8(&bytes) {
                Ok(text) => text,
                Err(_) if ["chakra", "goal_binary"].contains(&name) => "",
                Err(_) => continue,
            };
            read += match name {
                "chakra" => u32::from(imported("0.et", &bytes) || imported("0.json", &bytes)),
                "goal" | "goal_binary" => u32::from(goal::read(&bytes, &goal::Options::default()).is_ok()),
                "simai" => {
                    let accepts = |ranks_per_package| {
                        let options = simai::Options { ranks_per_package, ..simai::Options::default() };
                        simai::read(text, &options).is_ok()
                    };
                    u32::from(accepts(None) || accepts(Some(2)))
                }
                "cdf" => u32::from(Cdf::read(text).is_ok()),
                "flows" => u32::from(FlowList::read(text, 16).is_ok()),
                "hpcc_flows" => u32::from(hpcc_flows::read(text).is_ok()),
                "hpcc_topology" => u32::from(hpcc_topology::read(text).is_ok()),
                "htsim_connections" => u32::from(
                    htsim_connections::read(text, Some(packetloom::units::Time::from_us(1))).is_ok(),
                ),
                "htsim_topology" => u32::from(htsim_topology::read(text).is_ok()),
                "requests" => u32::from(packetloom::serving::trace::read(text).is_ok()),
                "scenario" => {
                    let read = [Scenario::from_toml, Scenario::from_json];
                    read.iter().filter(|read| read(text, "kept", Path::new(".")).is_ok()).count() as u32
                }
                other => panic!("a corpus for {other}, which nothing reads"),
            };
        }
    }
    assert!(read > 10, "only {read} kept files make sense");
}

//! Hosts with several links, and hosts that are linked to each other.

use crate::common::{self, cases, fct, port, run, write_file};
use packetloom::measure::fingerprint;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::transport;
use packetloom::units::{Rate, Time};

/// Hosts 2 to 5, each on both switches, 0 and 1.
const RAILS: &str = "6 2 8\n0 1\n2 0 10Gbps 1us 0\n2 1 10Gbps 1us 0\n3 0 10Gbps 1us 0\n3 1 10Gbps 1us 0\n\
    4 0 10Gbps 1us 0\n4 1 10Gbps 1us 0\n5 0 10Gbps 1us 0\n5 1 10Gbps 1us 0\n";

/// Hosts 3 to 7 and switches 0 to 2: one host with links to two switches of unequal rates and two to the same, two
/// hosts linked to each other and to a switch each, and one with a single link.
const MIXED: &str = "8 3 12\n0 1 2\n3 0 25Gbps 1us 0\n3 1 10Gbps 2us 0\n3 1 10Gbps 1us 0\n4 0 10Gbps 1us 0\n5 1 10Gbps 1us 0\n\
    4 5 10Gbps 500ns 0\n6 2 10Gbps 1us 0\n7 2 10Gbps 1us 0\n7 0 40Gbps 1us 0\n0 1 40Gbps 1us 0\n1 2 40Gbps 1us 0\n0 2 40Gbps 1us 0\n";

fn text(file: &str, workload: &str, scheme: &str, run: &str) -> String {
    format!(
        "[topology]\nkind = \"hpcc\"\nfile = \"{file}\"\n\n[[workload]]\n{workload}\n\n[[scheme]]\nname = \"any\"\n{scheme}\n\n\
         [run]\n{run}\n"
    )
}

fn at_once(size: &str, pattern: &str) -> String {
    format!(
        "sizes = {{ kind = \"constant\", size = \"{size}\" }}\narrivals = \"at-once\"\npattern = {pattern}"
    )
}

const TCP: &str = "transport = { kind = \"tcp\", initial_window = 100 }\nqueue = \"drop-tail\"";

/// As many flows as the run sets from one host to another, 10 us apart.
fn flows(size: &str, src: u32, dst: u32) -> String {
    let pattern = format!("{{ kind = \"pair\", src = {src}, dst = {dst} }}");
    at_once(size, &pattern).replace("\"at-once\"", "{ kind = \"periodic\", interval = \"10us\" }")
}

fn packets(outcome: &Outcome, from: &str, to: &str) -> u64 {
    port(outcome, from, to).counters.packets
}

#[test]
fn two_hosts_may_be_linked_to_each_other() {
    write_file("wire.txt", "2 0 1\n\n0 1 10Gbps 3us 0\n");
    let pair = flows("14600B", 0, 1);
    let outcome = run(&text("wire.txt", &pair, TCP, "flows = 1"));
    assert_eq!(fct(&outcome.flows[0]), Time::from_ns(10 * 1_200 + 3_000));
    assert_eq!(outcome.flows[0].fct(), Some(outcome.flows[0].best_fct));
}

#[test]
fn a_flow_keeps_to_one_link_and_flows_are_spread_over_all() {
    write_file("rails.txt", RAILS);
    for routing in ["ecmp", "spray-random", "spray-round-robin"] {
        let scheme = format!("{TCP}\nrouting = \"{routing}\"");
        let alone = run(&text("rails.txt", &flows("14600B", 0, 3), &scheme, "flows = 1"));
        let sent = ["switch0", "switch1"].map(|switch| packets(&alone, "host2", switch));
        assert!(sent.contains(&0) && sent.contains(&10), "{routing}: {sent:?}");
        // By one link; over both, five packets each, it could be done sooner.
        let flow = &alone.flows[0];
        assert_eq!(flow.fct().map(|fct| fct - flow.best_fct), Some(Time::from_ns(5 * 1_200)), "{routing}");
        let many = run(&text("rails.txt", &flows("14600B", 0, 3), &scheme, "flows = 400"));
        let sent = ["switch0", "switch1"].map(|switch| packets(&many, "host2", switch) / 10);
        // 400 fair coins: 200 ± 10.
        assert_eq!(sent[0] + sent[1], 400);
        assert!((150..250).contains(&sent[0]), "{routing}: {sent:?}");
    }
}

/// What a faster link sends in between changes nobody's turn at another: three flows by the NIC share it packet by packet,
/// whether or not a neighbour gets data by a link of its own. In HPCC's simulator each NIC goes round by itself.
#[test]
fn queue_pairs_take_turns_at_each_link() {
    let links = "1 0 10Gbps 1us 0\n1 2 100Gbps 1us 0\n2 0 10Gbps 1us 0\n3 0 10Gbps 1us 0\n4 0 10Gbps 1us 0\n5 0 10Gbps 1us 0\n";
    write_file("neighbour.txt", &format!("6 1 6\n0\n{links}"));
    let scheme = "transport = \"roce\"\nqueue = { kind = \"shared-buffer\", buffer = \"4MB\" }";
    let to = |size: &str, dst: u32| flows(size, 0, dst) + "\nflows = 1";
    let ends = |sources: &[String]| {
        let workload = sources.join("\n\n[[workload]]\n");
        let outcome = run(&text("neighbour.txt", &workload, scheme, ""));
        let of = |dst: u32| fct(outcome.flows.iter().find(|row| row.flow.dst == dst).expect("its flow"));
        [2, 3, 4].map(of)
    };
    let alone = ends(&[to("100KB", 2), to("100KB", 3), to("100KB", 4)]);
    let beside = ends(&[to("100KB", 2), to("10MB", 1), to("100KB", 3), to("100KB", 4)]);
    assert_eq!(beside, alone);
    let packet = Time::from_ns(900);
    assert!(alone[2].since(alone[0]) < packet.times(3), "{alone:?}");
}

#[test]
fn a_link_has_its_own_queue_and_rate() {
    write_file(
        "several-links-unlike.txt",
        "4 2 4\n0 1\n2 0 10Gbps 1us 0\n2 1 40Gbps 1us 0\n3 0 10Gbps 1us 0\n3 1 40Gbps 1us 0\n",
    );
    let outcome = run(&text("several-links-unlike.txt", &flows("1460KB", 0, 1), TCP, "flows = 40"));
    let slow = packets(&outcome, "host2", "switch0");
    assert!((10_000..30_000).contains(&slow), "{slow}");
    // Each link sends its flows as fast as it can, whatever the other has to do.
    let busy = Time::from_ns(1_200).times(slow).max(Time::from_ns(300).times(40_000 - slow));
    let last = outcome.flows.iter().map(|row| row.delivered).max().expect("flows");
    assert!((busy..busy + Time::from_us(50)).contains(&last), "{last}, {busy}");
}

#[test]
fn subflows_and_chosen_paths_use_all_links() {
    write_file("both.txt", RAILS);
    let pair = flows("14600KB", 0, 3);
    let gbps = |scheme: &str| {
        let outcome = run(&text("both.txt", &pair, scheme, "flows = 1"));
        14_600e3 * 8.0 / fct(&outcome.flows[0]).as_ns_f64()
    };
    let alone = gbps(TCP);
    let mptcp = gbps(
        "transport = { kind = \"mptcp\", subflows = 8 }\nqueue = { kind = \"drop-tail\", capacity = \"200KB\" }",
    );
    let ndp = gbps("transport = \"ndp\"\nqueue = \"ndp\"\nrouting = \"permutation\"");
    assert!(alone < 10.0 && mptcp > 13.0 && ndp > 17.0, "{alone} {mptcp} {ndp}");
}

#[test]
fn load_is_a_part_of_what_all_links_carry() {
    write_file("load.txt", RAILS);
    let case = cases(&text(
        "load.txt",
        "sizes = { kind = \"constant\", size = \"1460B\" }",
        TCP,
        "loads = [0.5]\nflows = 10",
    ))
    .remove(0);
    let simulation = Simulation::new(case).expect("a sound case");
    let facts = &simulation.facts()[0];
    // 4 hosts with 2 × 10 Gb/s, half of it, in packets of 1500 B.
    assert_eq!(facts.flows_per_second.map(f64::round), Some((0.5 * 80e9 / 12_000.0_f64).round()));
}

#[test]
fn where_hosts_differ_a_rate_is_no_load() {
    write_file("no-load.txt", MIXED);
    let workload = "sizes = { kind = \"constant\", size = \"1460B\" }\n\
        arrivals = { kind = \"poisson\", rate_per_second = 1000 }";
    let case = cases(&text("no-load.txt", workload, TCP, "flows = 10")).remove(0);
    let simulation = Simulation::new(case).expect("a sound case");
    let message = simulation.facts()[0].to_string();
    assert!(message.contains("1000.0 flows/s") && !message.contains("load"), "{message}");
}

#[test]
fn flows_go_round_a_dead_link() {
    write_file("dead.txt", RAILS);
    let fault = "[[fault]]\nkind = \"link-down\"\nbetween = [\"host2\", \"switch0\"]\nat = \"100us\"\nlearn_after = \"100us\"";
    for scheme in [
        "transport = \"tcp\"\nqueue = { kind = \"drop-tail\", capacity = \"200KB\" }",
        "transport = \"ndp\"\nqueue = \"ndp\"\nrouting = \"permutation\"",
    ] {
        let workload = format!("{}\n\n{fault}", at_once("1460KB", "\"all-to-all\""));
        let outcome = run(&text("dead.txt", &workload, scheme, "max_time = \"1s\""));
        assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
        let dead = port(&outcome, "host2", "switch0");
        assert!(dead.counters.lost > 0 && packets(&outcome, "host2", "switch1") > 2_000 / 9, "{dead:?}");
    }
}

#[test]
fn a_host_between_two_halves_does_not_join_them() {
    write_file(
        "halves.txt",
        "5 2 5\n0 1\n2 0 10Gbps 1us 0\n3 0 10Gbps 1us 0\n3 1 10Gbps 1us 0\n4 1 10Gbps 1us 0\n0 1 10Gbps 1us 0\n",
    );
    let fault = "[[fault]]\nkind = \"link-down\"\nbetween = [\"switch0\", \"switch1\"]\nat = \"1us\"\nlearn_after = \"1us\"";
    let workload = format!("{}\n\n{fault}", at_once("146KB", "\"all-to-all\""));
    let scheme = "transport = \"tcp\"\nqueue = \"drop-tail\"";
    let outcome = run(&text("halves.txt", &workload, scheme, "max_time = \"100ms\""));
    let unfinished: Vec<_> = outcome.flows.iter().filter(|row| row.fct().is_none()).collect();
    let ends: Vec<_> = unfinished.iter().map(|row| (row.flow.src, row.flow.dst)).collect();
    assert!(ends.len() == 2 && ends.contains(&(0, 2)) && ends.contains(&(2, 0)), "{ends:?}");
    let message = outcome.warnings.join("\n");
    assert!(message.contains("(host2 to host4, cut off for good)"), "{message}");
}

/// What a case comes to, or why it can't be.
fn outcome(toml: &str) -> Result<Outcome, String> {
    let simulation = Simulation::new(cases(toml).remove(0));
    let simulation = simulation.map_err(|complaint| format!("{}: {}", complaint.key, complaint.message))?;
    Ok(simulation.run(&Monitor::default()).expect("a sound case"))
}

#[test]
fn every_transport_gets_through_or_says_why_not() {
    write_file("mixed.txt", MIXED);
    for component in transport::COMPONENTS {
        let name = component.kind;
        let queue = match name {
            "ndp" | "uec" => "\"ndp\"",
            "daq" => "{ kind = \"daq\", rtt = \"100us\" }",
            "bfc" => "\"bfc\"",
            "line-rate" | "min-tcp" => "\"pfabric\"",
            "pias" => "{ kind = \"classes\", strict = 8, queue = \"drop-tail\" }",
            _ => "{ kind = \"ecn\", capacity = \"500KB\" }",
        };
        let mut refused = 0;
        for (routing, nic) in [
            ("\"ecmp\"", "\"drop-tail\""),
            ("{ kind = \"ecmp\", symmetric = true }", "\"fair\""),
            ("\"spray-random\"", "\"fair\""),
            ("\"permutation\"", "{ kind = \"pfabric\", capacity = \"10MB\" }"),
        ] {
            // Go-back-N without a timeout would wait forever where the last packets come out of order.
            let is_rdma =
                ["roce", "dcqcn", "timely", "hpcc", "powertcp", "theta-powertcp", "rdma-dctcp", "bfc"]
                    .contains(&name);
            let keys = if is_rdma { ", recovery = \"irn\"" } else { common::required_keys(name) };
            let transport = format!("{{ kind = \"{name}\"{keys} }}");
            let scheme =
                format!("transport = {transport}\nqueue = {queue}\nrouting = {routing}\nnic = {nic}");
            let scheme = if ["daq", "bfc"].contains(&name) {
                scheme.replace(&format!("\nnic = {nic}"), "")
            } else {
                scheme
            };
            match outcome(&text(
                "mixed.txt",
                &at_once("50KB", "\"all-to-all\""),
                &scheme,
                "max_time = \"10s\"",
            )) {
                Ok(outcome) => {
                    let finished = outcome.flows.iter().filter(|row| row.fct().is_some()).count();
                    assert_eq!(finished, 20, "{name}, {routing}: {:?}", outcome.warnings);
                }
                Err(message) => {
                    refused += 1;
                    assert!(message.contains("; write "), "{name}: {message}");
                }
            }
        }
        // EQDS would pull by links that others share; dcPIM's channels and ExpressPass's credits are of one link.
        let knows_one_link =
            ["rcp", "d3", "pdq", "daq", "numfabric", "fastpass", "flowtune", "eqds", "dcpim", "expresspass"]
                .contains(&name);
        // HPCC's telemetry is of one path.
        let expected = if ["hpcc", "powertcp", "python-telemetry"].contains(&name) { 2 } else { 0 };
        assert_eq!(refused, if knows_one_link { 4 } else { expected }, "{name}");
    }
    let rcp = "transport = \"rcp\"\nqueue = \"drop-tail\"";
    assert_eq!(
        outcome(&text("mixed.txt", &at_once("50KB", "\"all-to-all\""), rcp, "")).map(|_| ()),
        Err("scheme.transport: rcp knows of one link at each host, and here some have several; write another, such as \
             \"dctcp\""
            .to_owned())
    );
}

/// Each of a host's links has credits of its own, and a switch's message reaches the port that leads back to it.
#[test]
fn credits_come_back_by_each_of_a_hosts_links() {
    write_file("mixed.txt", MIXED);
    let scheme =
        "transport = \"dctcp\"\nqueue = { kind = \"daq\", rtt = \"100us\" }\nrouting = \"spray-random\"";
    for query in ["", ", query = \"64B\""] {
        let pattern = format!("{{ kind = \"incast\", fan_in = 4, receiver = 1{query} }}");
        let outcome = run(&text("mixed.txt", &at_once("200KB", &pattern), scheme, "max_time = \"10s\""));
        assert!(outcome.flows.iter().all(|row| row.fct().is_some()), "{:?}", outcome.warnings);
        assert!(outcome.ports.iter().all(|row| row.counters.drops == 0));
    }
}

#[test]
fn ways_between_hosts_that_are_linked_are_direct() {
    write_file("direct.txt", MIXED);
    let outcome = run(&text("direct.txt", &flows("14600B", 1, 2), TCP, "flows = 3"));
    assert_eq!((packets(&outcome, "host4", "host5"), packets(&outcome, "host4", "switch0")), (30, 0));
    // What has to go on goes through switches: hosts pass nothing on.
    let outcome = run(&text("direct.txt", &flows("14600B", 1, 3), TCP, "flows = 3"));
    assert_eq!((packets(&outcome, "host4", "host5"), packets(&outcome, "host4", "switch0")), (0, 30));
    assert_eq!(outcome.topology.rate_of(0), Rate::from_gbps(45));
}

/// Two servers of four GPUs, as SimAI's files have them: each GPU on its server's NVSwitch (8 and 9) and on the
/// switch of its rail (10 to 13), rails joined by switch 14.
#[test]
fn simais_gpus_have_a_link_inside_their_server_and_one_outside() {
    let gpus = (0..8).map(|gpu| {
        format!("{gpu} {} 2400Gbps 500ns 0\n{gpu} {} 400Gbps 500ns 0\n", 8 + gpu / 4, 10 + gpu % 4)
    });
    let rails = (10..14).map(|rail| format!("{rail} 14 400Gbps 500ns 0\n"));
    let links: String = gpus.chain(rails).collect();
    write_file("simai.txt", &format!("15 4 2 5 20 H100\n8 9 10 11 12 13 14\n{links}"));
    let outcome = run(&text("simai.txt", &at_once("1MB", "\"all-to-all\""), TCP, "loads = [0.5]"));
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    // 700 packets to each of three neighbours inside, to one on its rail and to three beyond.
    let sent =
        ["switch8", "switch10"].map(|switch| port(&outcome, "host0", switch).counters.bytes / 1_000_000);
    assert_eq!(sent, [3, 4]);
    let allreduce = "arrivals = { kind = \"collective\", operation = \"all-reduce\", size = \"8MB\" }";
    let outcome = run(&text(
        "simai.txt",
        allreduce,
        "transport = \"ndp\"\nqueue = \"ndp\"\nrouting = \"permutation\"",
        "",
    ));
    assert!(outcome.jobs[0].completion_time().is_some());
}

#[test]
fn results_do_not_depend_on_windows_nor_threads() {
    write_file("windows.txt", MIXED);
    for scheme in [
        "transport = \"dctcp\"\nqueue = { kind = \"ecn\", capacity = \"200KB\" }\nnic = \"fair\"",
        "transport = \"mptcp\"\nqueue = { kind = \"drop-tail\", capacity = \"100KB\" }\nnic = \"fair\"\nrouting = \"spray-random\"",
        "transport = \"ndp\"\nqueue = \"ndp\"\nrouting = \"permutation\"",
        "transport = \"line-rate\"\nqueue = \"pfabric\"",
    ] {
        let case = cases(&text("windows.txt", &at_once("200KB", "\"all-to-all\""), scheme, "")).remove(0);
        let of = |longest, threads| {
            let simulation = Simulation::new(case.clone()).expect("a sound case");
            let simulation = simulation.with_windows_up_to(longest).with_threads(threads);
            fingerprint(&simulation.run(&Monitor::default()).expect("a sound case").flows)
        };
        let full = of(Time::NEVER, 1);
        let others = [(1 << 15, 1), (1 << 16, 2), (u64::MAX, 2), (u64::MAX, 4)];
        assert_eq!(others.map(|(longest, threads)| of(Time(longest), threads)), [full; 4], "{scheme}");
    }
}

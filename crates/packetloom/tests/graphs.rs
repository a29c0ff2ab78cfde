//! Networks of any shape, from files: every transport, queue and routing works on them, or is refused with the
//! reason and what to write.

use crate::common::{self, cases, port, run, write_file};
use packetloom::measure::fingerprint;
use packetloom::scenario::Case;
use packetloom::simulation::{FLUID_COMPONENTS, Monitor, Outcome, Simulation};
use packetloom::topology::Topology;
use packetloom::units::Time;
use packetloom::{queue, routing, transport};
use std::collections::BTreeSet;

/// Switches 0 to 6 with cycles, two of them without hosts, and unequal links, three of them between one pair; hosts
/// 7 to 13 at the edge, on a core switch and behind a switch that is behind another.
const GRAPH: &str = "14 7 20\n0 1 2 3 4 5 6\n\
    7 3 10Gbps 1us 0\n8 3 {fast} 1us 0\n9 4 10Gbps 2us 0\n10 4 10Gbps 500ns 0\n11 0 {fast} 1us 0\n12 2 10Gbps 1us 0\n\
    13 6 {slow} 3us 0\n\
    0 3 40Gbps 1us 0\n0 3 40Gbps 1us 0\n3 0 10Gbps 3us 0\n1 3 40Gbps 1us 0\n4 0 40Gbps 1us 0\n1 4 25Gbps 1us 0\n\
    0 1 100Gbps 1us 0\n1 2 100Gbps 1us 0\n2 0 100Gbps 4us 0\n2 5 10Gbps 1us 0\n5 6 10Gbps 1us 0\n0 5 40Gbps 1us 0\n\
    6 2 10Gbps 2us 0\n";

/// The graph with hosts' links of these rates where not all are alike.
fn graph(name: &str, fast: &str, slow: &str) {
    write_file(name, &GRAPH.replace("{fast}", fast).replace("{slow}", slow));
}

/// Every host sends to every other at once.
const ALL_TO_ALL: &str =
    "sizes = { kind = \"constant\", size = \"50KB\" }\narrivals = \"at-once\"\npattern = \"all-to-all\"";

fn scenario(file: &str, workload: &str, scheme: &str, run: &str) -> String {
    format!(
        "[topology]\nkind = \"hpcc\"\nfile = \"{file}\"\n\n[[workload]]\n{workload}\n\n[[scheme]]\nname = \"any\"\n{scheme}\n\n\
         [run]\n{run}\n"
    )
}

/// A scheme of a transport with a queue that it can live with.
fn scheme(transport: &str, routing: &str) -> String {
    let queue = match transport {
        "ndp" | "eqds" | "uec" => "\"ndp\"",
        "daq" => "{ kind = \"daq\", rtt = \"100us\" }",
        "bfc" => "\"bfc\"",
        "line-rate" | "min-tcp" => "\"pfabric\"",
        "pias" => "{ kind = \"classes\", strict = 8, queue = \"drop-tail\" }",
        _ => "{ kind = \"ecn\", capacity = \"500KB\" }",
    };
    // Go-back-N without a timeout would wait forever where the last packets come out of order.
    let is_rdma = ["roce", "dcqcn", "timely", "hpcc", "powertcp", "theta-powertcp", "rdma-dctcp", "bfc"]
        .contains(&transport);
    let keys = if is_rdma { ", recovery = \"irn\"" } else { common::required_keys(transport) };
    format!("transport = {{ kind = \"{transport}\"{keys} }}\nqueue = {queue}\nrouting = {routing}")
}

const SYMMETRIC: &str = "{ kind = \"ecmp\", symmetric = true }";

const ROUTINGS: [&str; 19] = [
    "\"ecmp\"",
    "\"wcmp\"",
    SYMMETRIC,
    "\"spray-random\"",
    "\"spray-round-robin\"",
    "\"permutation\"",
    "\"oblivious\"",
    "{ kind = \"bitmap\", entropies = 16 }",
    "\"reps\"",
    "\"reps-legacy\"",
    "\"mixed\"",
    "\"plb\"",
    "{ kind = \"python\", file = \"class.py\", class = \"PathChoice\" }",
    "\"letflow\"",
    "\"conga\"",
    "\"drill\"",
    "\"conweave\"",
    "\"adaptive\"",
    "{ kind = \"hedera\", interval = \"100us\", delay = \"10us\" }",
];

/// What a case comes to, or why it can't be.
fn outcome(toml: &str) -> Result<Outcome, String> {
    let simulation = Simulation::new(cases(toml).remove(0));
    let simulation = simulation.map_err(|complaint| format!("{}: {}", complaint.key, complaint.message))?;
    simulation
        .run(&Monitor::default())
        .map_err(|complaint| format!("{}: {}", complaint.key, complaint.message))
}

#[test]
fn every_transport_runs_on_any_graph_by_every_routing() {
    graph("alike.txt", "10Gbps", "10Gbps");
    graph("unlike.txt", "25Gbps", "1Gbps");
    let fluid = FLUID_COMPONENTS.iter();
    let names: Vec<&str> =
        transport::COMPONENTS.iter().chain(fluid).map(|component| component.kind).collect();
    for name in names {
        let mut runs = 0;
        for routing in ROUTINGS {
            for file in ["alike.txt", "unlike.txt"] {
                let toml = scenario(file, ALL_TO_ALL, &scheme(name, routing), "max_time = \"10s\"");
                match outcome(&toml) {
                    Ok(outcome) => {
                        runs += 1;
                        let finished = outcome.flows.iter().filter(|row| row.fct().is_some()).count();
                        assert_eq!(finished, 42, "{name}, {routing}, {file}: {:?}", outcome.warnings);
                    }
                    // What a transport needs of paths it needs everywhere.
                    Err(message) => {
                        let known = ["scheme.routing: ", "scheme.transport: the hosts' links differ in rate"];
                        assert!(
                            known.iter().any(|part| message.starts_with(part)),
                            "{name}, {routing}: {message}"
                        );
                        assert!(message.contains("; write "), "{message}");
                    }
                }
            }
        }
        let expected = match name {
            // Their switches or their allocator remember flows, and answers must come by them.
            "pdq" => 2,
            "d3" | "hpcc" | "powertcp" | "python-telemetry" | "numfabric" | "flowtune" | "expresspass" => 6,
            "fastpass" | "dcpim" => 14,
            // They report the fate of their packets, so that their paths can be chosen by it.
            "ndp" | "eqds" | "uec" => 38,
            // They report marks and timeouts, so that plb works.
            "tcp" | "dctcp" | "d2tcp" | "cubic" | "vegas" | "copa" | "bbr" | "bbr3" | "prague"
            | "min-tcp" | "fixed-window" | "pias" | "python" => 30,
            _ => 28,
        };
        assert_eq!(runs, expected, "{name}");
    }
}

#[test]
fn every_queue_works_on_any_graph() {
    graph("queues.txt", "25Gbps", "1Gbps");
    for kind in queue::COMPONENTS.iter().filter(|component| component.section == "queue") {
        let (transport, queue) = match kind.kind {
            "ndp" => ("ndp", "\"ndp\"".to_owned()),
            "daq" => ("daq", "{ kind = \"daq\", rtt = \"100us\" }".to_owned()),
            "red" => (
                "dctcp",
                "{ kind = \"red\", min = \"10KB\", max = \"50KB\", max_probability = 0.5 }".to_owned(),
            ),
            "classes" => ("pias", "{ kind = \"classes\", strict = 8, queue = \"drop-tail\" }".to_owned()),
            "egress" => (
                "dctcp",
                "{ kind = \"egress\", scheduler = \"fair-queueing\", aqm = { kind = \"codel\", target = \"10us\", interval = \"100us\" } }"
                    .to_owned(),
            ),
            "pfabric" => ("line-rate", "\"pfabric\"".to_owned()),
            "bfc" => ("bfc", "\"bfc\"".to_owned()),
            "weighted-fair" => ("numfabric", "\"weighted-fair\"".to_owned()),
            "python" => {
                common::prepare_class();
                ("tcp", "{ kind = \"python\", file = \"class.py\", class = \"QueueRule\" }".to_owned())
            }
            kind => ("dctcp", format!("{{ kind = {kind:?} }}")),
        };
        let scheme = format!("transport = \"{transport}\"\nqueue = {queue}");
        let outcome = run(&scenario("queues.txt", ALL_TO_ALL, &scheme, "max_time = \"10s\""));
        assert!(outcome.warnings.is_empty(), "{}: {:?}", kind.kind, outcome.warnings);
    }
}

#[test]
fn what_needs_more_than_a_graph_says_so() {
    graph("needs.txt", "10Gbps", "10Gbps");
    graph("unlike-needs.txt", "25Gbps", "1Gbps");
    let of = |file, scheme: &str, run| {
        outcome(&scenario(file, ALL_TO_ALL, scheme, run)).map(|_| ()).expect_err("a complaint")
    };
    let syn = "transport = \"syn\"\nqueue = \"drop-tail\"\nrouting = \"controller\"";
    assert_eq!(
        of("needs.txt", syn, ""),
        "topology.kind: syn's controller knows leaves and spines (SYN and ASY §II-A); write \"leaf-spine\", or another \
         transport, such as \"asy\""
    );
    let asy = "transport = \"asy\"\nqueue = \"drop-tail\"";
    outcome(&scenario("needs.txt", ALL_TO_ALL, asy, "")).expect("rates for servers that are alike");
    assert!(of("unlike-needs.txt", asy, "").ends_with(
        "plans for servers that are alike (SYN and ASY §II); write another transport, such as \"dctcp\""
    ));
    assert!(of("unlike-needs.txt", &scheme("tcp", "\"ecmp\""), "loads = [0.5]").contains("leave loads out"));
}

#[test]
fn sources_send_over_every_shortest_path_alike() {
    graph("paths.txt", "10Gbps", "10Gbps");
    let pair = "sizes = { kind = \"constant\", size = \"9MB\" }\narrivals = \"at-once\"\npattern = { kind = \"pair\", src = 0, dst = 2 }";
    let outcome = run(&scenario("paths.txt", pair, &scheme("ndp", "\"permutation\""), ""));
    // From switch 3 to 4: three links to 0 and one to 1, then one link each. 1000 packets in rounds of four.
    let packets = |from: &str, to: &str| port(&outcome, from, to).counters.packets;
    assert_eq!((packets("switch0", "switch4"), packets("switch1", "switch4")), (750, 250));
    let links = outcome.ports.iter().filter(|row| {
        let link = outcome.topology.links[row.link];
        let name = |node| outcome.topology.node_name(node);
        (name(link.src), name(link.dst)) == ("switch3".to_owned(), "switch0".to_owned())
    });
    assert_eq!(links.map(|row| row.counters.packets).collect::<Vec<_>>(), [250; 3]);
}

/// The links, each by the two ports of its cable, that a case's packets of one direction crossed.
fn crossed(outcome: &Outcome) -> BTreeSet<usize> {
    outcome.ports.iter().filter(|row| row.counters.packets > 0).map(|row| row.link).collect()
}

/// The link of the same cable in the other direction.
fn back(topology: &Topology, link: usize) -> usize {
    let ends = |link: usize| (topology.links[link].src, topology.links[link].dst);
    let (src, dst) = ends(link);
    let nth = (0..link).filter(|&other| ends(other) == (src, dst)).count();
    (0..topology.links.len()).filter(|&other| ends(other) == (dst, src)).nth(nth).expect("a cable has two")
}

#[test]
fn answers_come_back_by_the_path_of_the_data() {
    graph("symmetric.txt", "10Gbps", "10Gbps");
    let mut paths = BTreeSet::new();
    for seed in 1..40 {
        for (src, dst) in [(0, 2), (2, 0), (1, 3)] {
            let pair = format!(
                "sizes = {{ kind = \"constant\", size = \"50KB\" }}\narrivals = \"at-once\"\npattern = {{ kind = \"pair\", src = {src}, dst = {dst} }}"
            );
            let scheme = scheme("tcp", "{ kind = \"ecmp\", symmetric = true }");
            let outcome = run(&scenario("symmetric.txt", &pair, &scheme, &format!("seeds = [{seed}]")));
            let crossed = crossed(&outcome);
            let returned: BTreeSet<usize> =
                crossed.iter().map(|&link| back(&outcome.topology, link)).collect();
            assert_eq!(crossed, returned, "seed {seed}, {src} to {dst}");
            paths.insert(crossed);
        }
    }
    assert_eq!(paths.len(), 8, "four cables to the core, twice");
}

#[test]
fn paths_that_break_are_gone_round() {
    graph("broken.txt", "10Gbps", "10Gbps");
    let fault = "\n\n[[fault]]\nkind = \"link-down\"\nbetween = [\"switch1\", \"switch4\"]\nat = \"50us\"\nlearn_after = \"100us\"";
    for (name, routing) in [("ndp", "\"permutation\""), ("tcp", SYMMETRIC), ("pdq", SYMMETRIC)] {
        let toml = scenario(
            "broken.txt",
            &format!("{ALL_TO_ALL}{fault}"),
            &scheme(name, routing),
            "max_time = \"10s\"",
        );
        let outcome = run(&toml);
        assert!(outcome.warnings.is_empty(), "{name}: {:?}", outcome.warnings);
        assert!(port(&outcome, "switch1", "switch4").counters.lost > 0, "{name}");
    }
}

#[test]
fn results_on_a_graph_do_not_depend_on_windows_nor_threads() {
    graph("threads.txt", "25Gbps", "1Gbps");
    for (name, routing) in [("ndp", "\"permutation\""), ("tcp", SYMMETRIC)] {
        let case = cases(&scenario("threads.txt", ALL_TO_ALL, &scheme(name, routing), "")).remove(0);
        let of = |case: &Case, longest, threads| {
            let simulation = Simulation::new(case.clone()).expect("a sound case");
            let simulation = simulation.with_windows_up_to(longest).with_threads(threads);
            fingerprint(&simulation.run(&Monitor::default()).expect("a sound case").flows)
        };
        let full = of(&case, Time::NEVER, 1);
        assert_eq!(
            [of(&case, Time(1 << 15), 1), of(&case, Time::NEVER, 2), of(&case, Time::NEVER, 4)],
            [full; 3]
        );
    }
}

#[test]
fn every_routing_is_among_those_tried() {
    for component in routing::COMPONENTS.iter().filter(|component| component.kind != "controller") {
        assert!(ROUTINGS.iter().any(|routing| routing.contains(component.kind)), "{}", component.kind);
    }
}

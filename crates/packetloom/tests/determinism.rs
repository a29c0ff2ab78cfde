//! The same scenario and seed give the same results to the bit: in windows of any length, on any number of threads,
//! and beside other traffic sources. The fingerprints pinned here change only when what is simulated changes.

use crate::common::{cases, run, simulate, write_file};
use packetloom::engine::Tally;
use packetloom::measure::fingerprint;
use packetloom::scenario::Case;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;

const WEB_SEARCH: &str = r#"
[[workload]]
sizes = "web-search"
"#;

const SMALL_FLOWS: &str = r#"
[[workload]]
sizes = { kind = "exponential", mean = "20KB" }
"#;

const DROP_TAIL: &str = r#"{ kind = "drop-tail", capacity = "225KB" }"#;
const DROP_TAIL_ENDLESS: &str = r#""drop-tail""#;
const ECN: &str = r#"{ kind = "ecn", capacity = "225KB", mark_above = "22.5KB" }"#;
const NDP: &str = r#""ndp""#;
const NDP_MARKING: &str = r#"{ kind = "ndp", capacity = "60KB", ecn_min = "12KB", ecn_max = "48KB" }"#;
const SYMMETRIC: &str = r#"{ kind = "ecmp", symmetric = true }"#;
const LIMITED: &str = r#""credit-limiter""#;
const STRICT: &str = r#"{ kind = "classes", strict = 8, queue = "drop-tail", port = { kind = "ecn", capacity = "225KB", mark_above = "22.5KB" } }"#;
const DAQ: &str = r#"{ kind = "daq", short_capacity = "30KB", long_capacity = "30KB", rtt = "20us" }"#;
const WEIGHTED: &str = r#"{ kind = "weighted-fair", capacity = "60KB" }"#;
const PFABRIC: &str = r#"{ kind = "pfabric", capacity = "22.5KB" }"#;
const PFABRIC_AS_NS2: &str =
    r#"{ kind = "pfabric", capacity = "22499B", ties = "order", drops = "large-enough" }"#;
const CBFC: &str =
    r#"{ kind = "cbfc", credits = "16KB", ecn_min = "5KB", ecn_max = "200KB", ecn_probability = 0.01 }"#;
const LOSSLESS: &str = r#"{ kind = "shared-buffer", buffer = "1MB", ecn_min = "5KB", ecn_max = "200KB", ecn_probability = 0.01 }"#;

/// A fat-tree of 16 hosts at a load of 0.6.
fn scenario(workload: &str, transport: &str, queue: &str, routing: &str, flows: u32) -> String {
    let routing = if routing.starts_with('{') { routing.to_owned() } else { format!("{routing:?}") };
    format!(
        r#"
[topology]
kind = "fat-tree"
k = 4
link = {{ rate = "10Gbps", delay = "0.4us" }}
{workload}
[[scheme]]
name = "{transport}"
transport = "{transport}"
queue = {queue}
routing = {routing}

[run]
loads = [0.6]
flows = {flows}
"#
    )
}

fn hash(outcome: &Outcome) -> String {
    format!("{:016x}", fingerprint(&outcome.flows))
}

/// That of a run without an audit: `invariants.rs` and the properties have theirs, and it takes half of the time here.
fn fingerprint_of(toml: &str) -> String {
    let mut cases = cases(toml);
    assert_eq!(cases.len(), 1, "{toml}");
    let simulation = Simulation::new(cases.remove(0)).expect("a sound case").with_audit(false);
    hash(&simulation.run(&Monitor::default()).expect("a sound case"))
}

/// Everything that counts of a run: flow records, packet-hops and events, and what went through every port.
fn everything(outcome: &Outcome) -> (String, Tally, Vec<[u64; 4]>) {
    let port = |port: &packetloom::simulation::PortRow| {
        let counters = port.counters;
        [counters.packets, counters.bytes, counters.drops, counters.marks]
    };
    (hash(outcome), outcome.tally, outcome.ports.iter().map(port).collect())
}

/// Only the plain way is audited, which must change nothing either.
fn in_windows_up_to(case: &Case, longest: Time, threads: u32) -> Outcome {
    let simulation = Simulation::new(case.clone()).expect("a sound case");
    let simulation = simulation.with_windows_up_to(longest).with_threads(threads);
    let simulation = simulation.with_audit((longest, threads) == (Time::NEVER, 1));
    simulation.run(&Monitor::default()).expect("a sound case")
}

/// Runs a case in shorter windows, and some cases on two threads.
fn assert_same_whatever_the_windows_and_threads(toml: &str, what: &str, on_threads: bool) {
    let case = cases(toml).remove(0);
    // The shortest way is a 40 B packet's over a link: 432 ns.
    let full = everything(&in_windows_up_to(&case, Time::NEVER, 1));
    let others = if on_threads { &[(Time(1 << 15), 1), (Time::NEVER, 2)][..] } else { &[(Time(1 << 16), 1)] };
    for &(longest, threads) in others {
        let other = everything(&in_windows_up_to(&case, longest, threads));
        assert!(full == other, "{what}: windows of {longest}, {threads} threads");
    }
}

/// One thread does in turn what several would do at once, and says what it took.
#[test]
fn shards_that_take_turns_give_the_same_bits_and_are_timed() {
    let toml = scenario(SMALL_FLOWS, "dctcp", ECN, "ecmp", 150);
    let case = cases(&toml).remove(0);
    let alone = everything(&in_windows_up_to(&case, Time::NEVER, 1));
    for threads in [2, 5] {
        let simulation = Simulation::new(case.clone()).expect("a sound case").with_threads_in_turn(threads);
        let outcome = simulation.run(&Monitor::default()).expect("a sound case");
        assert!(everything(&outcome) == alone, "{threads} threads");
        let costs = outcome.window_costs;
        assert!(costs.windows > 10 && costs.of_shards.len() == threads as usize);
        assert!(costs.busiest() <= costs.longest && costs.longest <= costs.all());
        assert!(costs.all() <= costs.longest * threads);
    }
}

#[test]
fn fingerprints_are_pinned_for_every_scheme() {
    let pinned = [
        ("tcp", DROP_TAIL, "ecmp", "8778a2e4d853f32e"),
        ("cubic", DROP_TAIL, "ecmp", "d7a2ed8df3291ec0"),
        ("vegas", DROP_TAIL, "ecmp", "9dca1f17001738f0"),
        ("copa", DROP_TAIL, "ecmp", "736a06f850a133e4"),
        ("bbr", DROP_TAIL, "ecmp", "249c99e1693e3adf"),
        ("bbr3", DROP_TAIL, "ecmp", "7afe0c2b2e64ea61"),
        ("prague", ECN, "ecmp", "00d51a51ecffa5d5"),
        ("dctcp", ECN, "ecmp", "d5e4c7dae03b3a6d"),
        ("d2tcp", ECN, "ecmp", "642930244db329e6"),
        ("rcp", DROP_TAIL, "ecmp", "6c7cc3d0f2ba8d92"),
        ("d3", DROP_TAIL, "ecmp", "9b9a20f5c32c45b5"),
        ("pdq", DROP_TAIL, SYMMETRIC, "2aeeb0b1e438dc17"),
        ("daq", DAQ, "ecmp", "370fd079c047448a"),
        ("numfabric", WEIGHTED, "ecmp", "7cd12acbb76884c5"),
        ("min-tcp", PFABRIC, "spray-round-robin", "c72a6c7b3a4ee47a"),
        ("min-tcp", PFABRIC_AS_NS2, "spray-round-robin", "050da659efdd99c3"),
        ("line-rate", PFABRIC, "spray-random", "efea7569f11b2141"),
        ("fixed-window", DROP_TAIL, "spray-random", "883cc2659ca025ff"),
        ("ndp", NDP, "spray-round-robin", "7982a5f8f0ac7605"),
        ("eqds", NDP, "bitmap", "c5aa97ecdf282165"),
        ("uec", NDP_MARKING, "reps", "3cc84d12de7c2036"),
        ("mptcp", DROP_TAIL, "ecmp", "0aa380022cd35866"),
        ("pias", STRICT, "ecmp", "5554f6e0db4599d8"),
        ("fastpass", PFABRIC, "spray-round-robin", "b902e5b5fd80c0b3"),
        ("flowtune", DROP_TAIL, "ecmp", "ac2d0ddae913e6ba"),
        ("homa", STRICT, "spray-random", "b79aa6fb85b462df"),
        ("phost", PFABRIC, "spray-round-robin", "001c4ef34bdb459b"),
        ("dcpim", STRICT, "spray-round-robin", "d2771649154b2fe4"),
        ("expresspass", LIMITED, r#"{ kind = "ecmp", symmetric = true }"#, "173de2128221c7b0"),
        ("sird", STRICT, "spray-random", "c281bdb2380a7317"),
        ("ideal", DROP_TAIL, "ecmp", "dea4337e79d8db94"),
        ("max-min", DROP_TAIL, "ecmp", "6585624790485f58"),
    ];
    // Without deadlines D2TCP is DCTCP.
    let with_deadlines = |transport, workload: &str| match transport {
        "d2tcp" => {
            format!("{workload}deadlines = {{ kind = \"exponential\", mean = \"2ms\", floor = \"100us\" }}\n")
        }
        _ => workload.to_owned(),
    };
    let found = pinned.map(|(transport, queue, routing, _)| {
        let [small, large] = [SMALL_FLOWS, WEB_SEARCH].map(|workload| with_deadlines(transport, workload));
        let few = cases(&scenario(&small, transport, queue, routing, 60)).remove(0);
        let [one, two, four] = [1, 2, 4].map(|threads| hash(&in_windows_up_to(&few, Time::NEVER, threads)));
        assert_eq!([&one, &one], [&two, &four], "{transport} on 1, 2 and 4 threads");
        (transport, fingerprint_of(&scenario(&large, transport, queue, routing, 300)))
    });
    let of = |transport| &found.iter().find(|(other, _)| *other == transport).expect("it is pinned").1;
    assert_ne!(of("d2tcp"), of("dctcp"));
    assert_eq!(found, pinned.map(|(transport, _, _, hash)| (transport, hash.to_owned())));
}

#[test]
fn ports_of_parts_are_pinned_and_do_not_depend_on_windows_nor_threads() {
    let codel =
        r#"{ kind = "egress", aqm = { kind = "codel", target = "10us", interval = "100us", ecn = false } }"#;
    let fq_codel = r#"{ kind = "egress", scheduler = { kind = "fair-queueing", queues = 16 }, aqm = { kind = "codel", target = "10us", interval = "100us" }, buffer = { kind = "private", capacity = "40KB" } }"#;
    let pie = r#"{ kind = "egress", aqm = { kind = "pie", target = "10us", update = "20us", max_burst = "100us", alpha = 1000.0, beta = 10000.0 } }"#;
    let dwrr = r#"{ kind = "egress", scheduler = { kind = "dwrr", weights = [4, 2, 1], strict = 1 }, aqm = { kind = "sojourn", mark_above = "15us" } }"#;
    let abm = r#"{ kind = "egress", scheduler = "strict", aqm = { kind = "threshold", mark_above = "30KB" }, buffer = { kind = "abm", size = "80KB", alphas = [1, 0.5], interval = "20us" } }"#;
    let pfc = r#"{ kind = "egress", scheduler = { kind = "dwrr", weights = [1, 2, 4], strict = 1 }, aqm = { kind = "red", min = "5KB", max = "200KB" }, buffer = { kind = "ingress", size = "600KB" }, flow_control = { kind = "pfc", pause_time = "50us" } }"#;
    let cbfc = r#"{ kind = "egress", scheduler = { kind = "dwrr", weights = [1, 2, 4], strict = 1 }, aqm = { kind = "red", min = "5KB", max = "60KB" }, flow_control = { kind = "cbfc", credits = "16KB" } }"#;
    let reverie = r#"{ kind = "egress", scheduler = { kind = "dwrr", weights = [1, 2, 4], strict = 1 }, aqm = { kind = "red", min = "5KB", max = "200KB" }, buffer = { kind = "reverie", size = "100KB", alpha = 0.1, gamma = 0.9 }, flow_control = { kind = "pfc", pause_time = "50us" } }"#;
    let strict = r#"{ kind = "egress", scheduler = "strict", aqm = { kind = "red", min = "5KB", max = "30KB", max_probability = 0.5 } }"#;
    let pfabric = r#"{ kind = "egress", scheduler = "pfabric", buffer = { kind = "pool", size = "40KB" } }"#;
    let fair = r#"{ kind = "egress", scheduler = "weighted-fair", aqm = { kind = "threshold", mark_above = "15KB" } }"#;
    let dualpi2 = r#"{ kind = "egress", scheduler = "dual-queue", aqm = { kind = "dualpi2", target = "15us", update = "16us", alpha = 160.0, beta = 3200.0, mark_above = "8us" } }"#;
    let rfc9332 = r#"{ kind = "egress", scheduler = { kind = "dual-queue", l4s = "any-ect" }, aqm = { kind = "dualpi2", variant = "rfc9332", target = "15us", update = "15us", alpha = 150.0, beta = 3000.0, mark_above = "8us", mark_range = "4us" } }"#;
    let pinned = [
        ("tcp", codel, "5bb059d33ff94bde"),
        ("dctcp", fq_codel, "0c8bf7d4445e63a2"),
        ("dctcp", pie, "0101a51635ab91a7"),
        ("prague", dualpi2, "c9ee5c5e0d25f01e"),
        ("tcp", dualpi2, "e0a177a6ad5c3117"),
        ("dctcp", rfc9332, "a38bb4bbd368b74c"),
        ("pias", dwrr, "025f8198d198136f"),
        ("pias", strict, "279fda537f42e1b1"),
        ("pias", abm, "3703ffa34bf8960a"),
        ("dcqcn", pfc, "ac69839b38ff4a49"),
        ("dcqcn", cbfc, "b944ff0a5aafc17b"),
        ("dcqcn", reverie, "7dd443af3f59baec"),
        ("line-rate", pfabric, "a1f7965a1899a56c"),
        ("dctcp", fair, "4b2b896778b29b77"),
    ];
    let found = pinned.map(|(transport, queue, _)| {
        let toml = scenario(SMALL_FLOWS, transport, queue, "ecmp", 150);
        assert_same_whatever_the_windows_and_threads(&toml, queue, true);
        fingerprint_of(&toml)
    });
    assert_eq!(found, pinned.map(|(_, _, hash)| hash.to_owned()));
}

#[test]
fn parts_of_a_named_queue_give_its_bits() {
    let ecn = r#"{ kind = "egress", aqm = { kind = "threshold", mark_above = "22.5KB" }, buffer = { kind = "private", capacity = "225KB" } }"#;
    let pfabric =
        r#"{ kind = "egress", scheduler = "pfabric", buffer = { kind = "private", capacity = "22.5KB" } }"#;
    let weighted = r#"{ kind = "egress", scheduler = "weighted-fair", buffer = { kind = "private", capacity = "60KB" } }"#;
    let [pool, parts] = [
        r#"{ kind = "red", pool = "60KB", pool_alpha = 0.5, min = "5KB", max = "20KB" }"#,
        r#"{ kind = "egress", aqm = { kind = "red", min = "5KB", max = "20KB" }, buffer = { kind = "pool", size = "60KB", alpha = 0.5 } }"#,
    ];
    let cbfc =
        r#"{ kind = "egress", scheduler = "strict", flow_control = { kind = "cbfc", credits = "16KB" } }"#;
    let cbfc_red = r#"{ kind = "egress", scheduler = "strict", aqm = { kind = "red", min = "5KB", max = "200KB", max_probability = 0.01, judges = "departures", by_rate = true }, flow_control = { kind = "cbfc", credits = "16KB" } }"#;
    for (transport, named, parts) in [
        ("roce", r#"{ kind = "cbfc", credits = "16KB" }"#, cbfc),
        ("dcqcn", CBFC, cbfc_red),
        ("dctcp", ECN, ecn),
        ("dctcp", pool, parts),
        ("line-rate", PFABRIC, pfabric),
        ("numfabric", WEIGHTED, weighted),
    ] {
        let [named, parts] =
            [named, parts].map(|queue| fingerprint_of(&scenario(SMALL_FLOWS, transport, queue, "ecmp", 150)));
        assert_eq!(named, parts, "{transport}");
    }
}

#[test]
fn rdma_is_pinned_too_and_does_not_depend_on_windows_nor_threads() {
    let pinned = [
        ("roce", "", LOSSLESS, "ecmp", "60191be478d52737"),
        ("roce", r#", recovery = "irn""#, DROP_TAIL, "spray-random", "a5d82354897848a8"),
        ("roce", r#", recovery = "none""#, LOSSLESS, "ecmp", "100cb35649d1023f"),
        ("dcqcn", r#", recovery = "none""#, LOSSLESS, "ecmp", "676998e9fe2aca0e"),
        ("dcqcn", "", LOSSLESS, "ecmp", "d65a98c892d80a4a"),
        ("dcqcn", "", CBFC, "ecmp", "e00efb5d3f83ea90"),
        ("dcqcn", r#", variant = "mellanox""#, LOSSLESS, "ecmp", "32cca05c37569ec8"),
        ("bfc", "", r#"{ kind = "bfc", queues = 4 }"#, "ecmp", "73088c5ebed96042"),
        (
            "bfc",
            r#", preset = "bfc-ns3""#,
            r#"{ kind = "bfc", variant = "bfc-ns3" }"#,
            "ecmp",
            "8e14010e9aa1ac04",
        ),
        ("timely", "", LOSSLESS, "ecmp", "0d010d40930b3f4d"),
        ("timely", r#", variant = "hpcc-ns3""#, LOSSLESS, "ecmp", "b0a5c5ce00192407"),
        ("hpcc", "", LOSSLESS, "ecmp", "6112b8074591f65a"),
        ("hpcc", r#", variant = "hpcc-ns3", quantise = true"#, LOSSLESS, "ecmp", "620fb966f4fb483c"),
        ("hpcc", r#", variant = "hpcc-ns3", multi_rate = true"#, LOSSLESS, "ecmp", "0ddc8eb39d0a64c7"),
        ("hpcc", r#", variant = "hpcc-ns3", sample_feedback = true"#, LOSSLESS, "ecmp", "aad4b8e34f4dcfac"),
        (
            "hpcc",
            r#", variant = "hpcc-ns3", pint = true, base_rtt = "13us""#,
            LOSSLESS,
            "ecmp",
            "686c83776274eb63",
        ),
        ("powertcp", "", LOSSLESS, "ecmp", "135ecbe0319f4af0"),
        (
            "powertcp",
            r#", variant = "ns3-datacenter", quantise = true"#,
            LOSSLESS,
            "ecmp",
            "e2df490f4d4ea60b",
        ),
        ("theta-powertcp", "", LOSSLESS, "ecmp", "f1d7ec622bb7f89b"),
        ("theta-powertcp", r#", variant = "ns3-datacenter""#, LOSSLESS, "ecmp", "3074275b4d8993e4"),
        ("swift", "", DROP_TAIL, "spray-random", "c0ad0c7bdd9051f9"),
        ("rdma-dctcp", "", LOSSLESS, "ecmp", "48521a2902a83f48"),
    ];
    let found = pinned.map(|(transport, keys, queue, routing, _)| {
        let toml = |workload: &str, flows: u32| {
            let plain = format!("transport = \"{transport}\"");
            let with_keys = format!("transport = {{ kind = \"{transport}\"{keys} }}");
            scenario(workload, transport, queue, routing, flows).replace(&plain, &with_keys)
        };
        let what = format!("{transport}{keys}");
        assert_same_whatever_the_windows_and_threads(&toml(SMALL_FLOWS, 60), &what, true);
        (transport, keys, fingerprint_of(&toml(WEB_SEARCH, 60)))
    });
    assert_eq!(found, pinned.map(|(transport, keys, _, _, hash)| (transport, keys, hash.to_owned())));
}

/// Handshakes and pools keep state of their own at hosts.
#[test]
fn connections_are_pinned_and_do_not_depend_on_windows_nor_threads() {
    let pinned = [
        ("tcp", r#"connections = { kind = "fresh", syn_rto = "1ms" }"#, "ecmp", "887fd2b01b932db5"),
        ("tcp", r#"connections = { kind = "fresh", fast_open = true }"#, "spray-random", "9de77a8bcd0c09df"),
        ("dctcp", r#"connections = { kind = "pool", warm = 1 }"#, "ecmp", "0a1246e4e84d7a73"),
        ("mptcp", r#"connections = { kind = "pool", take = "latest" }"#, "ecmp", "0f1752326d6f941f"),
    ];
    let found = pinned.map(|(transport, keys, routing, _)| {
        let toml = |workload: &str, flows: u32| {
            let plain = format!("transport = \"{transport}\"");
            let with_keys = format!("transport = {{ kind = \"{transport}\", {keys} }}");
            scenario(workload, transport, DROP_TAIL, routing, flows).replace(&plain, &with_keys)
        };
        assert_same_whatever_the_windows_and_threads(&toml(SMALL_FLOWS, 300), keys, true);
        (transport, keys, routing, fingerprint_of(&toml(WEB_SEARCH, 300)))
    });
    assert_eq!(
        found,
        pinned.map(|(transport, keys, routing, hash)| (transport, keys, routing, hash.to_owned()))
    );
}

/// So do those of queue pairs.
#[test]
fn queue_pairs_are_pinned_and_do_not_depend_on_windows_nor_threads() {
    let fresh = r#"connections = { kind = "fresh", req_timeout = "1ms", rep_timeout = "1ms" }"#;
    let lossy =
        r#"recovery = "irn", connections = { kind = "fresh", req_timeout = "1ms", rep_timeout = "1ms" }"#;
    let pool = r#"connections = { kind = "pool", warm = 1 }"#;
    let latest = r#"connections = { kind = "pool", take = "latest" }"#;
    let pinned = [
        ("dcqcn", fresh, LOSSLESS, "f9ab2583a3fee2ff"),
        ("roce", lossy, DROP_TAIL, "ca77ececd77d2ba2"),
        ("dcqcn", pool, LOSSLESS, "64aa776f8267a102"),
        ("timely", latest, LOSSLESS, "01710a8c95b09932"),
        ("hpcc", pool, LOSSLESS, "c9264627c266f337"),
        ("powertcp", pool, LOSSLESS, "f474af5c13848cc1"),
        ("theta-powertcp", latest, LOSSLESS, "96b7eea59a0c069a"),
        ("swift", latest, DROP_TAIL, "00a03b13ae436a3c"),
        ("rdma-dctcp", pool, LOSSLESS, "6653b629ec25bad5"),
    ];
    let found = pinned.map(|(transport, keys, queue, _)| {
        let toml = |workload: &str, flows: u32| {
            let plain = format!("transport = \"{transport}\"");
            let with_keys = format!("transport = {{ kind = \"{transport}\", {keys} }}");
            scenario(workload, transport, queue, "ecmp", flows).replace(&plain, &with_keys)
        };
        assert_same_whatever_the_windows_and_threads(&toml(SMALL_FLOWS, 300), keys, true);
        (transport, keys, fingerprint_of(&toml(WEB_SEARCH, 300)))
    });
    assert_eq!(found, pinned.map(|(transport, keys, _, hash)| (transport, keys, hash.to_owned())));
}

/// RACK has a timer of its own, which goes off where packets come out of order.
#[test]
fn loss_recovery_by_time_is_pinned_and_does_not_depend_on_windows_nor_threads() {
    let pinned = [
        ("tcp", r#"loss_detection = "rack""#, "ecmp", "bf4c4d22c1f9f318"),
        ("tcp", r#"loss_detection = "rack", reduction = "prr""#, "spray-random", "3f0b6cc3e1e3e1d9"),
        ("cubic", r#"reduction = "prr", min_rto_bounds = "variation""#, "ecmp", "b90277c4459c338b"),
        ("mptcp", r#"loss_detection = "rack", reduction = "prr""#, "ecmp", "16a060c2aa547719"),
        ("dctcp", r#"reduction = "prr""#, "ecmp", "7444fae935c269d0"),
    ];
    let found = pinned.map(|(transport, keys, routing, _)| {
        let queue = if transport == "dctcp" { ECN } else { DROP_TAIL };
        let toml = |workload: &str, flows: u32| {
            let plain = format!("transport = \"{transport}\"");
            let with_keys = format!("transport = {{ kind = \"{transport}\", {keys} }}");
            scenario(workload, transport, queue, routing, flows).replace(&plain, &with_keys)
        };
        assert_same_whatever_the_windows_and_threads(&toml(SMALL_FLOWS, 60), transport, true);
        (transport, keys, fingerprint_of(&toml(WEB_SEARCH, 300)))
    });
    assert_eq!(found, pinned.map(|(transport, keys, _, hash)| (transport, keys, hash.to_owned())));
}

#[test]
fn central_control_is_pinned_too_and_does_not_depend_on_windows_nor_threads() {
    let pinned = [("syn", "controller", "1799e376952ac74b"), ("asy", "ecmp", "371886074d85a3ee")];
    for (transport, routing, pinned) in pinned {
        let fat_tree = "kind = \"fat-tree\"\nk = 4";
        let leaf_spine = "kind = \"leaf-spine\"\nspines = 4\nleaves = 4\nhosts_per_leaf = 4";
        let toml = |workload: &str, flows: u32| {
            scenario(workload, transport, DROP_TAIL_ENDLESS, routing, flows).replace(fat_tree, leaf_spine)
        };
        assert_same_whatever_the_windows_and_threads(&toml(SMALL_FLOWS, 100), transport, true);
        assert_eq!(fingerprint_of(&toml(WEB_SEARCH, 300)), pinned, "{transport}");
    }
}

/// What hosts take for each packet is drawn where the packet is.
#[test]
fn processing_of_packets_is_pinned_and_does_not_depend_on_windows_nor_threads() {
    let pinned = [
        ("tcp", DROP_TAIL, r#""uniform", minimum = "200ns", maximum = "1us""#, "f75da966a3642fea"),
        ("min-tcp", PFABRIC, r#""exponential", mean = "500ns", maximum = "5us""#, "c4f61e0de33f7df1"),
        ("ndp", NDP, r#""exponential", mean = "1us""#, "420cf153315f9729"),
        ("dcqcn", LOSSLESS, r#""uniform", minimum = "0us", maximum = "2us""#, "b47bb8dc5eacde36"),
    ];
    let found = pinned.map(|(transport, queue, processing, _)| {
        let toml = |workload: &str, flows: u32| {
            let more = format!("k = 4\nprocessing_per_packet = {{ kind = {processing} }}");
            scenario(workload, transport, queue, "ecmp", flows).replace("k = 4", &more)
        };
        assert_same_whatever_the_windows_and_threads(&toml(SMALL_FLOWS, 60), transport, true);
        (transport, fingerprint_of(&toml(WEB_SEARCH, 100)))
    });
    assert_eq!(found, pinned.map(|(transport, _, _, hash)| (transport, hash.to_owned())));
}

/// Flows that wait for others: collective operations, and htsim's triggers.
#[test]
fn flows_that_wait_for_others_are_pinned_and_do_not_depend_on_threads() {
    write_file(
        "pinned.cm",
        "Nodes 16\nConnections 9\nTriggers 4\n\
         0->13 id 1 start 0 size 90000 send_done_trigger 1\n0->14 id 2 trigger 1 size 90000 recv_done_trigger 2\n\
         1->15 id 3 start 5000000 size 70001 recv_done_trigger 2\n14->3 id 4 trigger 2 size 50000 recv_done_trigger 3\n\
         14->4 id 5 trigger 2 size 50000 recv_done_trigger 3\n5->6 id 6 trigger 3 size 9000 send_done_trigger 4\n\
         5->7 id 7 trigger 3 size 9000\n8->9 id 8 trigger 4 size 9000\n10->3 id 9 start 30000000 size 400000\n\
         trigger id 1 oneshot\ntrigger id 2 barrier count 2\ntrigger id 3 multishot\ntrigger id 4 oneshot\n",
    );
    let collective = |operation: &str, algorithm: &str| {
        format!(
            "arrivals = {{ kind = \"collective\", operation = \"{operation}\", algorithm = \"{algorithm}\", size = \"1000003B\" }}"
        )
    };
    let pinned = [
        (collective("all-reduce", "ring"), "9620b27e256b409d"),
        (collective("all-reduce", "halving-doubling"), "458658bc9c54c137"),
        (collective("all-gather", "ring"), "0a35811717dc209c"),
        (collective("all-gather", "halving-doubling"), "8743ca5675171b1b"),
        (collective("reduce-scatter", "ring"), "0a35811717dc209c"),
        (collective("reduce-scatter", "halving-doubling"), "f5c526b31d29e5d8"),
        (collective("all-to-all", "direct"), "c8ffa17761c1ae29"),
        (collective("all-to-all", "in-turn"), "c3e89de43f5c17e8"),
        (
            "arrivals = { kind = \"htsim\", start_unit = \"ps\", file = \"pinned.cm\" }".to_owned(),
            "cb98e2253884147e",
        ),
    ];
    let found = pinned.clone().map(|(arrivals, _)| {
        let workload = format!("\n[[workload]]\n{arrivals}\n");
        let case = cases(&scenario(&workload, "dctcp", ECN, "ecmp", 1_000)).remove(0);
        let [one, two, four] = [1, 2, 4].map(|threads| hash(&in_windows_up_to(&case, Time::NEVER, threads)));
        assert_eq!([&one, &one], [&two, &four], "{arrivals} on 1, 2 and 4 threads");
        (arrivals, one)
    });
    assert_eq!(found, pinned.map(|(arrivals, hash)| (arrivals, hash.to_owned())));
}

#[test]
fn another_seed_gives_other_results() {
    let toml = scenario(WEB_SEARCH, "dctcp", ECN, "ecmp", 100).replace("[run]", "[run]\nseeds = [1, 2]");
    let outcomes: Vec<Outcome> = cases(&toml).into_iter().map(simulate).collect();
    assert_ne!(hash(&outcomes[0]), hash(&outcomes[1]));
}

#[test]
fn results_do_not_depend_on_windows_nor_threads() {
    let queues = [
        DROP_TAIL,
        r#"{ kind = "drop-tail", capacity = "5 packets" }"#,
        r#"{ kind = "drop-tail", pool = "60KB" }"#,
        ECN,
        r#"{ kind = "red", capacity = "60KB", min = "3KB", max = "60KB", max_probability = 0.5 }"#,
        PFABRIC,
        STRICT,
        NDP,
        r#""fair""#,
        r#"{ kind = "classes", weights = [2, 1], queue = { kind = "pfabric", capacity = "10KB" } }"#,
    ];
    // Exponential sizes and exact ties: incast starts many flows at once.
    let workload = r#"
[[workload]]
sizes = { kind = "exponential", mean = "20KB" }
share = 0.5

[[workload]]
sizes = { kind = "constant", size = "5KB" }
pattern = { kind = "incast", fan_in = 9 }
share = 0.5
class = 1
"#;
    for (number, queue) in queues.into_iter().enumerate() {
        let transports =
            ["tcp", "dctcp", "min-tcp", "line-rate", "fixed-window", "ndp", "mptcp", "pias", "fastpass"];
        for (which, transport) in transports.into_iter().enumerate() {
            let routing = ["ecmp", "spray-random", "spray-round-robin"][number % 3];
            let toml = scenario(workload, transport, queue, routing, 80);
            assert_same_whatever_the_windows_and_threads(
                &toml,
                &format!("{transport}, {queue}, {routing}"),
                (number + which) % 5 == 0,
            );
        }
    }
    // Its allocator knows the paths of flows, not of packets.
    for (number, queue) in queues.into_iter().enumerate() {
        let toml = scenario(workload, "flowtune", queue, "ecmp", 80);
        assert_same_whatever_the_windows_and_threads(&toml, &format!("flowtune, {queue}"), number % 5 == 0);
    }
}

#[test]
fn balancing_is_pinned_and_does_not_depend_on_windows_nor_threads() {
    let pinned = [
        ("tcp", DROP_TAIL, r#"{ kind = "letflow", flowlet_gap = "20us" }"#, "e37b7827758e745b"),
        ("tcp", DROP_TAIL, r#"{ kind = "conga", flowlet_gap = "20us" }"#, "4ea8edacf9ad1dc4"),
        ("tcp", PFABRIC, r#"{ kind = "drill" }"#, "fb570cccf3426038"),
        ("tcp", DROP_TAIL, r#"{ kind = "adaptive", per = "flowlet" }"#, "25cb452718a7fe0a"),
        ("dcqcn", LOSSLESS, r#"{ kind = "conweave" }"#, "6ae87752f36044a3"),
        (
            "dcqcn",
            LOSSLESS,
            r#"{ kind = "conga", candidates = 4, stays = false, balances = "data" }"#,
            "b69a62997a296a0a",
        ),
        ("swift", DROP_TAIL, r#"{ kind = "adaptive", update_interval = "2us" }"#, "b8d86f9ecbec7487"),
        ("tcp", DROP_TAIL, r#"{ kind = "hedera", interval = "100us", delay = "10us" }"#, "229f481877c284e9"),
        (
            "dctcp",
            ECN,
            r#"{ kind = "hedera", interval = "100us", delay = "10us", placement = "global-first-fit" }"#,
            "949d367a99b1fd08",
        ),
        ("dctcp", ECN, r#"{ kind = "plb", rounds = 2 }"#, "f1e5cd78ed913841"),
        ("tcp", DROP_TAIL, r#"{ kind = "plb" }"#, "5f4000efd7e0ff48"),
        (
            "dctcp",
            ECN,
            r#"{ kind = "wcmp", weights = [{ port = "edge", weight = 3 }, { port = "edge1 to aggregation1", weight = 0 }] }"#,
            "e8f3ed7fe5c14708",
        ),
        (
            "dcqcn",
            LOSSLESS,
            r#"{ kind = "letflow", flowlet_gap = "5us", flowlet_key = "conweave-ns3", hash = "hpcc-ns3", ports = "host" }"#,
            "c3f095f4aa5c2e87",
        ),
    ];
    let found = pinned.map(|(transport, queue, routing, _)| {
        let toml = scenario(SMALL_FLOWS, transport, queue, routing, 80);
        assert_same_whatever_the_windows_and_threads(&toml, &format!("{transport}, {routing}"), true);
        (routing, fingerprint_of(&scenario(WEB_SEARCH, transport, queue, routing, 200)))
    });
    assert_eq!(found, pinned.map(|(_, _, routing, hash)| (routing, hash.to_owned())));
}

#[test]
fn what_agents_and_credits_do_does_not_depend_on_windows_nor_threads() {
    let workload = r#"
[[workload]]
sizes = { kind = "exponential", mean = "40KB" }
pattern = { kind = "incast", fan_in = 5 }
deadlines = { kind = "exponential", mean = "1ms", floor = "100us" }
"#;
    for (transport, queues) in [
        ("rcp", [DROP_TAIL, PFABRIC]),
        ("d3", [DROP_TAIL, PFABRIC]),
        ("pdq", [DROP_TAIL, PFABRIC]),
        ("daq", [DAQ, r#""daq""#]),
        ("numfabric", [WEIGHTED, DROP_TAIL]),
        ("roce", [LOSSLESS, r#"{ kind = "shared-buffer", buffer = "600KB" }"#]),
        ("roce", [CBFC, r#"{ kind = "cbfc", credits = "4KB", lossless = [3, 5], packet_overhead = "64B" }"#]),
        ("dcqcn", [LOSSLESS, ECN]),
        (
            "dcqcn",
            [
                r#"{ kind = "floodgate", variant = "ideal", window = 0.2, voqs = 1 }"#,
                r#"{ kind = "floodgate", window = 0.1, credit_every = "2us", delay_above = 0.1 }"#,
            ],
        ),
        ("bfc", [r#"{ kind = "bfc", queues = 2 }"#, r#"{ kind = "bfc", pause_every = "1us" }"#]),
        ("timely", [LOSSLESS, DROP_TAIL]),
        ("hpcc", [LOSSLESS, PFABRIC]),
        ("powertcp", [LOSSLESS, PFABRIC]),
        ("theta-powertcp", [LOSSLESS, DROP_TAIL]),
        ("swift", [LOSSLESS, DROP_TAIL]),
        ("rdma-dctcp", [LOSSLESS, ECN]),
    ] {
        for queue in queues {
            let toml = scenario(workload, transport, queue, SYMMETRIC, 150);
            assert_same_whatever_the_windows_and_threads(
                &toml,
                &format!("{transport}, {queue}"),
                queue != PFABRIC,
            );
        }
    }
}

#[test]
fn what_faults_closed_loops_and_limits_do_does_not_depend_on_windows_nor_threads() {
    let workload = r#"
[[workload]]
sizes = "web-search"
arrivals = "closed"

[[fault]]
kind = "corruption"
probability = 0.001

[[fault]]
kind = "link-down"
between = ["edge0", "aggregation0"]
at = "300us"
until = "1ms"
"#;
    for transport in ["tcp", "ndp"] {
        let queue = if transport == "ndp" { NDP } else { DROP_TAIL };
        let toml = scenario(workload, transport, queue, "spray-random", 300)
            .replace("loads = [0.6]", "max_time = \"3ms\"");
        assert_same_whatever_the_windows_and_threads(&toml, transport, true);
        let retried = toml.replace("\nk = 4", "\nk = 4\nlink_retry = { kind = \"llr\", replays = 2 }");
        assert_ne!(retried, toml);
        assert_same_whatever_the_windows_and_threads(&retried, &format!("{transport}, links retry"), true);
    }
}

#[test]
fn shorter_windows_are_in_force() {
    // A run is looked at after every window: it can be stopped that much earlier.
    let toml = scenario(WEB_SEARCH, "tcp", DROP_TAIL, "ecmp", 100);
    let case = cases(&toml).remove(0);
    let stopped_at = |longest| {
        let monitor = Monitor::default();
        monitor.cancel();
        let simulation = Simulation::new(case.clone()).expect("a sound case").with_windows_up_to(longest);
        simulation.run(&monitor).expect("a sound case").simulated
    };
    let windows = [Time::NEVER, Time(1 << 15), Time(1 << 10)].map(stopped_at);
    assert!(windows[0] > windows[1] && windows[1] > windows[2], "{windows:?}");
}

#[test]
fn another_source_does_not_change_the_first_ones_flows() {
    let half = "\n[[workload]]\nsizes = \"web-search\"\nshare = 0.5\nflows = 200\n";
    let other =
        "\n[[workload]]\nsizes = \"data-mining\"\nshare = 0.5\nflows = 100\npattern = \"permutation\"\n";
    let flows = |workload: &str| {
        let outcome = run(&scenario(workload, "ideal", DROP_TAIL, "ecmp", 1_000));
        let of_first = outcome.flows.into_iter().map(|row| row.flow).filter(|flow| flow.source == 0);
        of_first.map(|flow| (flow.start, flow.src, flow.dst, flow.size_bytes)).collect::<Vec<_>>()
    };
    let alone = flows(half);
    assert_eq!(alone.len(), 200);
    assert_eq!(alone, flows(&format!("{half}{other}")));
}

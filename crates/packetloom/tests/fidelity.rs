//! The rungs below packets: what they get exactly right, what they refuse, and that they give the same again.

use crate::common::{cases, run, simulate};
use packetloom::measure::fingerprint;
use packetloom::scenario::Scenario;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;
use std::path::Path;

const RACK: &str = "kind = \"rack\"\nhosts = 4";
const LEAF_SPINE: &str = r#"
kind = "leaf-spine"
spines = 2
leaves = 3
hosts_per_leaf = 4
link = { rate = "20Gbps" }
host_link = { rate = "10Gbps" }
"#;
const DCTCP: &str = r#"
transport = { kind = "dctcp", min_rto = "1ms" }
queue = { kind = "ecn", capacity = "225KB", mark_above = "30KB" }
"#;
const TCP: &str = r#"
transport = { kind = "tcp", min_rto = "1ms", initial_window = 2 }
queue = { kind = "drop-tail", capacity = "225KB" }
"#;
const WEB_SEARCH: &str = r#"sizes = "web-search""#;

fn scenario(topology: &str, workload: &str, scheme: &str, run: &str) -> String {
    format!(
        "[topology]\n{topology}\n[[workload]]\n{workload}\n[[scheme]]\nname = \"one\"\n{scheme}\n[run]\nflows = 150\n{run}\n"
    )
}

/// One flow from host 0 to another.
fn lone(dst: u32, size: &str) -> String {
    format!(
        "sizes = {{ kind = \"constant\", size = \"{size}\" }}\narrivals = \"at-once\"\npattern = {{ kind = \"pair\", src = 0, dst = {dst} }}"
    )
}

fn fcts(outcome: &Outcome) -> Vec<Time> {
    outcome.flows.iter().map(|row| row.fct().expect("every flow ends")).collect()
}

fn slowdowns(outcome: &Outcome) -> f64 {
    outcome.flows.iter().filter_map(|row| row.slowdown()).sum::<f64>() / outcome.flows.len() as f64
}

/// Switches hash a flow with the number of its queue pair: which of two meet at a spine depends on how many came before.
#[test]
fn flows_of_rdma_meet_on_the_links_on_which_they_meet_packet_by_packet() {
    let source = |src: u32| {
        format!(
            "[[workload]]\nsizes = {{ kind = \"constant\", size = \"1MB\" }}\nflows = 12\n\
             arrivals = {{ kind = \"periodic\", interval = \"10ms\" }}\n\
             pattern = {{ kind = \"pair\", src = {src}, dst = {} }}\n",
            src + 4
        )
    };
    let toml = format!(
        "[topology]\nkind = \"leaf-spine\"\nspines = 2\nleaves = 2\nhosts_per_leaf = 4\n\
         link = {{ rate = \"10Gbps\" }}\n{}{}[[scheme]]\nname = \"one\"\ntransport = \"roce\"\n\
         queue = \"shared-buffer\"\nrouting = \"ecmp\"\n[run]\nfidelity = \"flows\"\n",
        source(0),
        source(1)
    );
    let estimates = fcts(&run(&toml));
    let packets = fcts(&run(&toml.replace("\"flows\"\n", "\"packets\"\n")));
    let alone = *packets.iter().min().expect("flows");
    let meet = packets.iter().filter(|fct| fct.as_secs_f64() > 1.5 * alone.as_secs_f64()).count();
    assert!((4..=20).contains(&meet), "{meet} of 24 meet another");
    for (estimate, fct) in estimates.iter().zip(&packets) {
        let ratio = estimate.as_secs_f64() / fct.as_secs_f64();
        assert!((0.9..1.1).contains(&ratio), "{estimates:?}, and by packets {packets:?}");
    }
}

#[test]
fn a_lone_flow_takes_what_it_takes_packet_by_packet() {
    for (topology, dst, size) in [
        (RACK, 3, "1B"),
        (RACK, 3, "20KB"),
        (LEAF_SPINE, 9, "1460B"),
        (LEAF_SPINE, 9, "500KB"),
        (LEAF_SPINE, 1, "70KB"),
    ] {
        // A window of two packets at first: far from the best FCT for all but the smallest.
        let of =
            |rung: &str| run(&scenario(topology, &lone(dst, size), TCP, &format!("fidelity = {rung:?}")));
        let (packets, links, flows) = (of("packets"), of("links"), of("flows"));
        let (exact, estimate) = (fcts(&packets)[0], fcts(&links)[0]);
        // The last packet may be shorter than those of the runs that links are calibrated with.
        let allowed = if size == "1B" { Time::from_ns(200) } else { Time::from_ns(5_000) };
        assert!(
            exact.as_ps().abs_diff(estimate.as_ps()) <= allowed.as_ps(),
            "{size}: {exact}, not {estimate}"
        );
        assert_eq!(fcts(&flows)[0], flows.flows[0].best_fct);
        assert!(links.is_estimated && flows.is_estimated && !packets.is_estimated);
    }
}

#[test]
fn flows_share_a_link_as_worked_out_by_hand() {
    // Two flows of 100 full packets, together 300 kB on the wire, into one host: the link is shared until both end,
    // after 200 packets of 1.2 us, and the last packet takes its way as in the best FCT.
    let workload = "sizes = { kind = \"constant\", size = \"146000B\" }\narrivals = \"at-once\"\npattern = { kind = \"incast\", fan_in = 2, receiver = 3 }";
    let outcome = run(&scenario(RACK, workload, DCTCP, "fidelity = \"flows\""));
    let best = outcome.flows[0].best_fct;
    assert_eq!(best, Time::from_ns(100 * 1_200 + 1_200 + 800));
    assert_eq!(fcts(&outcome), [best + Time::from_ns(120_000); 2]);
}

#[test]
fn flows_wait_for_the_handshake_of_a_fresh_connection() {
    let scheme = DCTCP.replace("min_rto", "connections = \"fresh\", min_rto");
    let outcome = run(&scenario(RACK, &lone(1, "146000B"), &scheme, "fidelity = \"flows\""));
    // There and back two packets of 40 B take 32 ns on each of two links, and 400 ns in each.
    assert_eq!(fcts(&outcome)[0], outcome.flows[0].best_fct + Time::from_ns(2 * (2 * 32 + 2 * 400)));
}

#[test]
fn flows_wait_for_the_handshake_of_a_fresh_queue_pair() {
    let scheme = "transport = { kind = \"dcqcn\", connections = \"fresh\" }\nqueue = \"shared-buffer\"";
    let outcome = run(&scenario(RACK, &lone(1, "146000B"), scheme, "fidelity = \"flows\""));
    // There and back two messages of 322 B take 257.6 ns on each of two links, and 400 ns in each.
    assert_eq!(fcts(&outcome)[0], outcome.flows[0].best_fct + Time(2 * (2 * 257_600 + 2 * 400_000)));
}

#[test]
fn where_one_link_makes_all_the_difference_links_are_packets() {
    // All flows from one host to another: the first link is simulated with all that can happen, and nothing waits at
    // the second.
    let workload = format!(
        "{WEB_SEARCH}\npattern = {{ kind = \"pair\", src = 0, dst = 1 }}\narrivals = {{ kind = \"poisson\", rate_per_second = 400 }}"
    );
    let of = |rung: &str| run(&scenario(RACK, &workload, DCTCP, &format!("fidelity = {rung:?}")));
    let (packets, links) = (of("packets"), of("links"));
    let (exact, estimate) = (slowdowns(&packets), slowdowns(&links));
    assert!(exact > 2.0, "flows meet: {exact}");
    assert!((estimate / exact - 1.0).abs() < 0.02, "{estimate}, not {exact}");
    let near = packets.flows.iter().zip(&links.flows).filter(|(a, b)| {
        let (a, b) = (a.slowdown().expect("it ends"), b.slowdown().expect("it ends"));
        (a / b - 1.0).abs() < 0.01
    });
    let near = near.count();
    assert!(near > 130, "{near} of 150 flows are within 1 %");
}

#[test]
fn incast_is_the_last_links_own() {
    let workload = "sizes = { kind = \"constant\", size = \"300KB\" }\npattern = { kind = \"incast\", fan_in = 3, receiver = 3 }\narrivals = { kind = \"poisson\", rate_per_second = 500 }";
    let of = |rung: &str| slowdowns(&run(&scenario(RACK, workload, DCTCP, &format!("fidelity = {rung:?}"))));
    let (exact, estimate) = (of("packets"), of("links"));
    assert!((estimate / exact - 1.0).abs() < 0.1, "{estimate}, not {exact}");
}

#[test]
fn small_flows_wait_only_where_large_ones_queue() {
    // Hosts 0 and 1 send to host 3, whose link is the bottleneck of both: host 0's own link is half idle, and packets
    // from there to host 2 hardly wait. Simulated apart, its large flow would fill it.
    let workload = pair(0, 2, "1460B", "{ kind = \"poisson\", rate_per_second = 20000 }")
        + &pair(0, 3, "5MB", "\"at-once\"")
        + &pair(1, 3, "5MB", "\"at-once\"");
    let (exact, estimate) = small_flows(&workload, 2);
    assert!((estimate / exact - 1.0).abs() < 0.25, "{estimate}, not {exact}");
}

/// Flows of some size between a pair of hosts.
fn pair(src: u32, dst: u32, size: &str, arrivals: &str) -> String {
    format!(
        "[[workload]]\nsizes = {{ kind = \"constant\", size = \"{size}\" }}\npattern = {{ kind = \"pair\", src = {src}, dst = {dst} }}\narrivals = {arrivals}\n"
    )
}

/// The mean slowdown of small flows from one host to another, packet by packet and by links, once all that is large has
/// been under way for a while.
fn small_flows(workload: &str, dst: u32) -> (f64, f64) {
    let of = |rung: &str| {
        let workload = workload.replacen("[[workload]]\n", "", 1);
        let outcome = run(&scenario(RACK, &workload, DCTCP, &format!("fidelity = {rung:?}")));
        let small = outcome.flows.iter().filter(|row| {
            row.flow.dst == dst && row.flow.size_bytes == 1460 && row.flow.start > Time::from_us(500)
        });
        let waits: Vec<f64> = small.map(|row| row.slowdown().expect("it ends")).collect();
        assert!(waits.len() > 100);
        waits.iter().sum::<f64>() / waits.len() as f64
    };
    (of("packets"), of("links"))
}

#[test]
fn acknowledgements_wait_for_data_at_a_hosts_own_cable() {
    // Host 0's flow to host 1 fills its link. Those from hosts 1 and 2 to it come in bursts, which its acknowledgements
    // wait for, so that the queue before its link runs empty.
    let bursts = "{ kind = \"poisson\", rate_per_second = 1000 }";
    let workload = pair(0, 3, "1460B", "{ kind = \"poisson\", rate_per_second = 20000 }")
        + &pair(0, 1, "9MB", "\"at-once\"")
        + &pair(1, 0, "300KB", bursts)
        + &pair(2, 0, "300KB", bursts);
    let (exact, estimate) = small_flows(&workload, 3);
    assert!((estimate / exact - 1.0).abs() < 0.1, "{estimate}, not {exact}");
}

#[test]
fn threads_and_windows_make_no_difference() {
    for scheme in [DCTCP, TCP] {
        for rung in ["\"flows\"", "{ kind = \"links\", representatives = 2, flows = 1, neighbours = 10 }"] {
            let toml = scenario(LEAF_SPINE, WEB_SEARCH, scheme, &format!("loads = [0.4]\nfidelity = {rung}"));
            let case = cases(&toml).remove(0);
            let first = simulate(case.clone());
            for threads in [1, 3] {
                let simulation = Simulation::new(case.clone()).expect("a case").with_threads(threads);
                let simulation = simulation.with_windows_up_to(Time::from_ns(150));
                let again = simulation.run(&Monitor::default()).expect("an outcome");
                assert_eq!(
                    fingerprint(&again.flows),
                    fingerprint(&first.flows),
                    "{rung} on {threads} threads"
                );
                assert_eq!(again.tally.packet_hops, first.tally.packet_hops);
            }
        }
    }
}

#[test]
fn estimates_stay_what_they_were() {
    let of = |rung: &str| {
        let toml = scenario(LEAF_SPINE, WEB_SEARCH, DCTCP, &format!("loads = [0.4]\nfidelity = {rung}"));
        format!("{:016x}", fingerprint(&run(&toml).flows))
    };
    assert_eq!(of("{ kind = \"links\", representatives = 2, flows = 1 }"), "92d96e1b3fff071c");
    assert_eq!(of("\"flows\""), "dd2fed725746f93d");
}

#[test]
fn estimates_are_near_packets_where_flows_rarely_meet() {
    let of = |rung: &str| {
        slowdowns(&run(&scenario(
            LEAF_SPINE,
            WEB_SEARCH,
            DCTCP,
            &format!("loads = [0.05]\nfidelity = {rung:?}"),
        )))
    };
    let (packets, links, flows) = (of("packets"), of("links"), of("flows"));
    assert!((links / packets - 1.0).abs() < 0.15, "{links}, not {packets}");
    assert!((flows / packets - 1.0).abs() < 0.3, "{flows}, not {packets}");
}

#[test]
fn a_case_of_packets_is_called_what_it_was() {
    let case =
        |more: &str| cases(&scenario(RACK, WEB_SEARCH, DCTCP, &format!("loads = [0.4]\n{more}"))).remove(0);
    let plain = case("");
    assert_eq!(case("fidelity = \"packets\"").identity(), plain.identity());
    assert_ne!(case("fidelity = \"links\"").identity(), plain.identity());
    assert_ne!(case("fidelity = \"flows\"").identity(), case("fidelity = \"links\"").identity());
}

/// What `check` says of a scenario: the message of its refusal, or its warnings.
fn said(toml: &str) -> String {
    let scenario = Scenario::from_toml(toml, "test", Path::new(env!("CARGO_TARGET_TMPDIR")));
    let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}\n{toml}"));
    match packetloom::simulation::check(&scenario) {
        Err(problems) => problems.to_string(),
        Ok(()) => scenario.warnings.join("\n"),
    }
}

#[test]
fn what_a_rung_can_mean_nothing_for_is_refused_with_the_reason() {
    let scheme = |transport: &str, queue: &str, more: &str| {
        format!("transport = {transport}\nqueue = {queue}\n{more}")
    };
    let (tail, ecn) = ("\"drop-tail\"", "{ kind = \"ecn\", capacity = \"225KB\", mark_above = \"30KB\" }");
    let lossless = "\"shared-buffer\"";
    let (links, flows) = ("links", "flows");
    let closed = format!("{WEB_SEARCH}\narrivals = \"closed\"");
    let collective = "arrivals = { kind = \"collective\", operation = \"all-reduce\", size = \"1MB\" }";
    let dctcp = || scheme("\"dctcp\"", ecn, "");
    for (rung, workload, scheme, why) in [
        (links, WEB_SEARCH, scheme("\"ndp\"", "\"ndp\"", ""), "receivers share out their links"),
        (
            links,
            WEB_SEARCH,
            scheme("\"homa\"", "{ kind = \"classes\", strict = 8 }", ""),
            "receivers share out",
        ),
        (
            links,
            WEB_SEARCH,
            scheme("\"pdq\"", tail, "routing = { kind = \"ecmp\", symmetric = true }"),
            "its switches decide",
        ),
        (
            links,
            WEB_SEARCH,
            scheme("\"dctcp\"", ecn, "routing = \"spray-random\""),
            "spreads the packets of a flow",
        ),
        (
            links,
            WEB_SEARCH,
            scheme("\"dctcp\"", ecn, "routing = \"letflow\""),
            "spreads the packets of a flow",
        ),
        (links, WEB_SEARCH, scheme("\"dcqcn\"", lossless, ""), "trees of links stand still together"),
        (
            links,
            WEB_SEARCH,
            scheme("{ kind = \"dctcp\", connections = \"pool\" }", ecn, ""),
            "connections of a pool",
        ),
        (
            links,
            WEB_SEARCH,
            scheme("{ kind = \"timely\", connections = \"pool\" }", tail, ""),
            "connections of a pool",
        ),
        (
            flows,
            WEB_SEARCH,
            scheme("{ kind = \"timely\", connections = \"in-order\" }", tail, ""),
            "messages of a queue pair wait",
        ),
        (links, WEB_SEARCH, scheme("\"mptcp\"", tail, ""), "its subflows take several paths"),
        (flows, WEB_SEARCH, scheme("\"mptcp\"", tail, ""), "a path of its own"),
        (flows, WEB_SEARCH, "transport = \"ideal\"".to_owned(), "no packets in the first place"),
        (links, &closed, dctcp(), "a closed loop can't drive flows"),
        (flows, &closed, dctcp(), "a closed loop can't drive flows"),
        (links, collective, dctcp(), "as those of collectives, can't be started"),
    ] {
        let message =
            said(&scenario(LEAF_SPINE, workload, &scheme, &format!("loads = [0.4]\nfidelity = {rung:?}")));
        assert!(message.contains(why) && message.contains(&format!("{rung:?}")), "{why}: {message}");
    }
    let more = |more: &str| {
        said(&scenario(
            LEAF_SPINE,
            WEB_SEARCH,
            DCTCP,
            &format!("loads = [0.4]\nfidelity = \"links\"\n{more}"),
        ))
    };
    assert!(
        more("[measure]\nqueues = true").contains("measure.queues: fidelity = \"links\" estimates flows")
    );
    let fault = "[[fault]]\nkind = \"corruption\"\nprobability = 0.1";
    assert!(more(fault).contains("faults change paths and rates"), "{}", more(fault));
}

#[test]
fn what_a_rung_gets_less_right_is_a_warning() {
    let of = |rung: &str, workload: &str, scheme: &str| {
        said(&scenario(LEAF_SPINE, workload, scheme, &format!("loads = [0.4]\nfidelity = {rung:?}")))
    };
    let pfabric = "transport = \"min-tcp\"\nqueue = { kind = \"pfabric\", capacity = \"22.5KB\" }";
    assert!(of("links", WEB_SEARCH, pfabric).contains("holds on all links at once"));
    let balanced = |routing: &str| of("flows", WEB_SEARCH, &format!("{DCTCP}\nrouting = {routing:?}"));
    assert!(
        balanced("letflow").contains("letflow is taken to spread each flow of one evenly over all paths")
    );
    assert!(!balanced("spray-random").contains("evenly"), "it does so");
    let deadlines = format!("{WEB_SEARCH}\ndeadlines = {{ kind = \"exponential\", mean = \"20ms\" }}");
    assert!(of("links", &deadlines, DCTCP).contains("deadlines are compared with estimates"));
    assert_eq!(of("packets", &deadlines, pfabric), "");
}

//! `fidelity = "steady"`: what is skipped, what comes of it, and what it refuses. Debug builds audit every run.

mod faults;

use crate::common::{self, cases, run, simulate};
use packetloom::measure::fingerprint;
use packetloom::scenario::Scenario;
use packetloom::scenario::registry;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::transport;
use packetloom::units::Time;
use std::path::Path;

const DUMBBELL: &str = "kind = \"dumbbell\"\nleft = 4\nright = 2";
const DCTCP: &str = r#"
transport = { kind = "dctcp", min_rto = "1ms" }
queue = { kind = "ecn", capacity = "500KB", mark_above = "97.5KB" }
"#;

fn scenario(topology: &str, workload: &str, scheme: &str, run: &str) -> String {
    format!(
        "[topology]\n{topology}\n[[workload]]\n{workload}\n[[scheme]]\nname = \"one\"\n{scheme}\n[run]\n{run}\n"
    )
}

/// So many flows of a size into host 4, at once.
fn incast(flows: u32, size: &str) -> String {
    format!(
        "sizes = {{ kind = \"constant\", size = \"{size}\" }}\narrivals = \"at-once\"\nflows = {flows}\n\
         pattern = {{ kind = \"incast\", fan_in = {flows}, receiver = 4 }}"
    )
}

/// Packet by packet, and with time skipped.
fn both(topology: &str, workload: &str, scheme: &str, more: &str) -> [Outcome; 2] {
    ["packets", "steady"]
        .map(|rung| run(&scenario(topology, workload, scheme, &format!("{more}\nfidelity = {rung:?}"))))
}

/// How much more of the one there is than of the other, less 1.
fn error(estimate: f64, truth: f64) -> f64 {
    (estimate / truth - 1.0).abs()
}

fn last_end(outcome: &Outcome) -> f64 {
    let ends = outcome.flows.iter().map(|row| row.flow.start + row.fct().expect("every flow ends"));
    ends.max().expect("there are flows").as_secs_f64()
}

#[test]
fn a_lone_flow_ends_when_it_does_packet_by_packet() {
    // To the picosecond: with nothing else on its path a flow's packets follow each other at the pace of the link.
    for size in ["100MB", "100000001B"] {
        let [packets, steady] = both(DUMBBELL, &incast(1, size), DCTCP, "");
        let [exact, estimate] = [&packets, &steady].map(|outcome| outcome.flows[0]);
        assert_eq!((exact.delivered, exact.closed), (estimate.delivered, estimate.closed));
        assert_eq!(exact.report, estimate.report);
        assert!(steady.tally.packet_hops * 3 < packets.tally.packet_hops, "{:?}", steady.tally);
        assert!(steady.is_estimated && !packets.is_estimated);
        let [exact, estimate] = [&packets, &steady].map(|outcome| &outcome.ports);
        for (exact, estimate) in exact.iter().zip(estimate).filter(|(port, _)| port.counters.packets > 0) {
            let (exact, estimate) = (exact.counters.bytes as f64, estimate.counters.bytes as f64);
            assert!(error(estimate, exact) < 0.001, "{estimate} B, not {exact}");
        }
    }
}

#[test]
fn flows_that_share_a_link_share_what_is_skipped() {
    // All from the left: nothing tells them apart.
    let topology = DUMBBELL.replace("right = 2", "right = 1");
    for flows in [2, 4] {
        let [packets, steady] = both(&topology, &incast(flows, "200MB"), DCTCP, "");
        assert!(steady.tally.packet_hops * 8 < packets.tally.packet_hops, "{:?}", steady.tally);
        assert!(error(last_end(&steady), last_end(&packets)) < 0.001);
        for (exact, estimate) in packets.flows.iter().zip(&steady.flows) {
            let [exact, estimate] = [exact, estimate].map(|row| row.fct().expect("it ends").as_secs_f64());
            // Four take turns in being ahead for tens of milliseconds.
            assert!(error(estimate, exact) < 0.1, "{estimate} s, not {exact}");
        }
    }
}

#[test]
fn a_flow_that_slowly_takes_over_is_followed() {
    // One flow comes from the left, one from the right: over 2,000 round trips the one with the longer round trip
    // gets from a half to four fifths of the link.
    let [packets, steady] = both(DUMBBELL, &incast(2, "200MB"), DCTCP, "");
    assert_ne!(packets.flows[0].flow.src / 4, packets.flows[1].flow.src / 4);
    let [exact, estimate] = [&packets, &steady].map(|outcome| outcome.flows[0].fct().expect("it ends"));
    let [exact, estimate] = [exact, estimate].map(Time::as_secs_f64);
    assert!(exact < 0.23 && error(estimate, exact) < 0.1, "{estimate} s, not {exact}");
    assert!(error(last_end(&steady), last_end(&packets)) < 0.001);
}

#[test]
fn every_transport_whose_flows_can_be_shortened_takes_as_long() {
    let kinds = registry::components().into_iter().filter(|component| component.section == "transport");
    let mut checked = 0;
    for kind in kinds.map(|component| component.kind).filter(|kind| transport::needs(kind).shortens) {
        let queue = match kind {
            "dctcp" | "rate-dctcp" => "{ kind = \"ecn\", capacity = \"500KB\", mark_above = \"97.5KB\" }",
            "dcqcn" => {
                "{ kind = \"shared-buffer\", buffer = \"9MB\", ecn_min = \"40KB\", ecn_max = \"400KB\" }"
            }
            "bfc" => "\"bfc\"",
            _ => "\"shared-buffer\"",
        };
        let queue = if matches!(kind, "tcp" | "cubic" | "fixed-window") { "\"drop-tail\"" } else { queue };
        let scheme = format!("transport = {kind:?}\nqueue = {queue}");
        let [packets, steady] = both(DUMBBELL, &incast(2, "60MB"), &scheme, "");
        let off = error(last_end(&steady), last_end(&packets));
        let saved = packets.tally.packet_hops as f64 / steady.tally.packet_hops as f64;
        println!("{kind}: {off:.5} off, {saved:.1} times fewer packet-hops");
        assert!(off < 0.01, "{kind}: {off}");
        checked += 1;
    }
    assert!(checked > 5, "{checked} transports");
}

#[test]
#[ignore = "takes 40 CPU-seconds; `make validate` runs it"]
fn mice_beside_elephants_wait_as_long() {
    let mice = "sizes = { kind = \"constant\", size = \"20KB\" }\narrivals = { kind = \"poisson\", rate_per_second = 40 }\nflows = 150";
    let elephants = incast(2, "100GB") + "\nbackground = true";
    let workload = format!("{mice}\n[[workload]]\n{elephants}");
    let [packets, steady] = both(DUMBBELL, &workload, DCTCP, "");
    assert!(steady.tally.packet_hops * 2 < packets.tally.packet_hops, "{:?}", steady.tally);
    let [exact, estimate] = [&packets, &steady].map(|outcome| {
        let mut slowdowns: Vec<f64> =
            outcome.flows.iter().filter(|row| row.measured).filter_map(|row| row.slowdown()).collect();
        slowdowns.sort_unstable_by(f64::total_cmp);
        assert_eq!(slowdowns.len(), 150);
        (slowdowns.iter().sum::<f64>() / 150.0, slowdowns[147])
    });
    assert!(error(estimate.0, exact.0) < 0.05, "the mean is {}, not {}", estimate.0, exact.0);
    assert!(error(estimate.1, exact.1) < 0.05, "the p99 is {}, not {}", estimate.1, exact.1);
}

const RAILS: &str = r#"
kind = "rail-optimised"
servers = 8
accelerators = 2
servers_per_rail_switch = 4
link = { rate = "100Gbps", delay = "0.5us" }
"#;
const DCQCN: &str = r#"
transport = { kind = "dcqcn", mss = "4096B", ack_class = 0 }
queue = { kind = "shared-buffer", buffer = "64MB", ecn_min = "400KB", ecn_max = "1600KB" }
"#;
const NSCC: &str = r#"
transport = "uec"
queue = { kind = "ndp", capacity = "300KB", ecn_min = "60KB", ecn_max = "240KB" }
routing = "reps"
"#;

fn ring(operation: &str, more: &str) -> String {
    format!(
        "arrivals = {{ kind = \"collective\", operation = {operation:?}, size = \"32000001B\", order = \"by-rail\"{more} }}"
    )
}

/// A job packet by packet, and with stages left out: all rows are there, and times differ by little.
fn holds_with_stages_left_out(
    topology: &str,
    workload: &str,
    scheme: &str,
    (least_saved, most_off): (u64, f64),
) {
    let [packets, steady] = ["packets", "steady"].map(|rung| {
        let run = format!("fidelity = {rung:?}\n[measure]\noperations = true");
        common::run(&scenario(topology, workload, scheme, &run))
    });
    let what = format!("{workload} under {scheme}");
    let (all, simulated) = (packets.tally.packet_hops, steady.tally.packet_hops);
    assert!(simulated * least_saved < all, "{what}: {simulated} of {all}");
    assert_eq!(packets.flows.len(), steady.flows.len(), "{what}");
    for (exact, estimate) in packets.flows.iter().zip(&steady.flows) {
        let of = |row: &packetloom::measure::FlowRow| {
            (row.flow.id, row.flow.src, row.flow.dst, row.flow.size_bytes, row.report.packets_sent)
        };
        assert_eq!(of(exact), of(estimate), "{what}");
        let [start, other] = [exact, estimate].map(|row| row.flow.start.as_secs_f64());
        assert!((start - other).abs() < 0.01 * last_end(&packets), "{what}: {other} s, not {start}");
    }
    assert_eq!(packets.jobs.len(), steady.jobs.len());
    assert_eq!(packets.operations.len(), steady.operations.len());
    let ends = |outcome: &Outcome| outcome.critical_path.last().map(|row| row.end);
    assert_eq!(ends(&steady), steady.iterations.last().map(|row| row.end), "{what}");
    for (exact, estimate) in packets.jobs.iter().zip(&steady.jobs) {
        let [exact, estimate] =
            [exact, estimate].map(|row| row.completion_time().expect("it is done").as_secs_f64());
        assert!(error(estimate, exact) < most_off, "{what}: {estimate} s, not {exact}");
    }
    let [exact, estimate] = [&packets, &steady].map(|outcome| outcome.ports[0].counters.bytes as f64);
    assert!(error(estimate, exact) < 0.05, "{what}: {estimate} B, not {exact}");
}

#[test]
fn rings_take_as_long_with_stages_left_out() {
    for scheme in [DCQCN, NSCC] {
        for (operation, more, least_saved) in [
            ("all-reduce", "", 2),
            // Of its 15 stages there is little to leave out.
            ("all-gather", "", 1),
            ("all-reduce", ", channels = 2", 2),
            ("all-reduce", ", repeat = 3", 2),
        ] {
            holds_with_stages_left_out(RAILS, &ring(operation, more), scheme, (least_saved, 0.005));
        }
    }
}

#[test]
fn rings_of_several_nics_and_along_rails_do_too() {
    let topology = format!("{RAILS}scale_up = {{ rate = \"400Gbps\", delay = \"0.2us\" }}");
    for scheme in [DCQCN, NSCC] {
        for algorithm in ["rail-ring", "hierarchical"] {
            let more = format!(", algorithm = {algorithm:?}");
            let workload = ring("all-reduce", &more).replace(", order = \"by-rail\"", "");
            holds_with_stages_left_out(&topology, &workload, scheme, (1, 0.01));
        }
    }
}

#[test]
fn so_do_rings_whose_hosts_take_time_for_messages() {
    let topology = format!("{RAILS}send_per_message = \"3us\"\nreceive_per_message = \"2us\"");
    holds_with_stages_left_out(&topology, &ring("all-reduce", ""), NSCC, (2, 0.005));
    // Of each rank and message, by the job's own costs.
    let own = ring("all-reduce", ", send_cost = \"3us\", receive_cost = \"2us\"");
    holds_with_stages_left_out(RAILS, &own, NSCC, (2, 0.005));
}

/// Groups of ranks that carry out operations of their own side by side: stages are skipped in all of them at once.
#[test]
fn groups_side_by_side_take_as_long_with_stages_left_out() {
    let topology = "kind = \"rail-optimised\"\nservers = 2\naccelerators = 8\nservers_per_rail_switch = 2\n\
                    link = { rate = \"100Gbps\", delay = \"0.5us\" }\nscale_up = { rate = \"400Gbps\", delay = \"0.2us\" }";
    let training = "arrivals = { kind = \"training\", tensor = 8, data = 2, layers = 2, forward = \"20us\", \
                    activations = \"8MB\", gradients = \"1MB\" }";
    for scheme in [DCQCN, NSCC] {
        holds_with_stages_left_out(topology, training, scheme, (2, 0.005));
    }
    // Two jobs on one switch.
    let rack = "kind = \"rack\"\nhosts = 16\nlink = { rate = \"100Gbps\", delay = \"1us\" }";
    let job = |first: u32| {
        let hosts: Vec<u32> = (first..first + 8).collect();
        format!(
            "arrivals = {{ kind = \"collective\", operation = \"all-reduce\", size = \"8MB\", ranks = 8, placement = {hosts:?} }}"
        )
    };
    let jobs = format!("{}\n[[workload]]\n{}", job(0), job(8));
    holds_with_stages_left_out(rack, &jobs, NSCC, (1, 0.005));
    // Of different sizes, so that a round of the one takes longer than one of the other: nothing is skipped until that is over.
    let [packets, steady] = both(rack, &jobs.replacen("8MB", "16MB", 1), NSCC, "");
    let [exact, estimate] = [&packets, &steady].map(jobs_ended);
    assert!(error(estimate, exact) < 0.005, "{estimate} s, not {exact}");
}

/// A job of one collective operation.
fn collective(algorithm: &str, size: &str, more: &str) -> String {
    format!(
        "arrivals = {{ kind = \"collective\", operation = \"all-reduce\", algorithm = {algorithm:?}, size = {size:?}{more} }}"
    )
}

/// When all repetitions of jobs were over.
fn jobs_ended(outcome: &Outcome) -> f64 {
    let ends = outcome.jobs.iter().map(|row| row.completion_time().expect("it is done").as_secs_f64());
    ends.fold(0.0, f64::max)
}

#[test]
fn jobs_whose_messages_are_short_and_whose_stages_differ_are_packets() {
    for scheme in [DCQCN, NSCC] {
        let [packets, steady] = both(RAILS, &collective("halving-doubling", "4MB", ""), scheme, "");
        assert_eq!(fingerprint(&packets.flows), fingerprint(&steady.flows));
        assert_eq!(packets.tally, steady.tally);
    }
}

const HPCC: &str = r#"
transport = { kind = "hpcc", mss = "4096B" }
queue = { kind = "shared-buffer", buffer = "64MB" }
routing = "ecmp"
"#;

const RDMA_DCTCP: &str = r#"
transport = { kind = "rdma-dctcp", mss = "4096B" }
queue = { kind = "shared-buffer", buffer = "64MB", ecn_min = "400KB", ecn_max = "400KB" }
routing = "ecmp"
"#;

#[test]
fn long_messages_of_jobs_take_as_long_with_time_left_out() {
    let topology = "kind = \"rack\"\nhosts = 8\nlink = { rate = \"100Gbps\", delay = \"1us\" }";
    let halving = collective("halving-doubling", "200MB", ", repeat = 2");
    // Ranks compute for longer than messages take, and at other times than they end.
    let training = "arrivals = { kind = \"training\", pipeline = 2, data = 4, layers = 2, forward = \"3ms\", \
                    activations = \"20MB\", gradients = \"100MB\", all_reduce = \"halving-doubling\" }";
    let beside =
        format!("{}\n[[workload]]\n{}", incast(1, "150MB").replace("receiver = 4", "receiver = 3"), halving);
    for (name, workload, scheme) in [
        ("halving", halving.as_str(), HPCC),
        ("training", training, HPCC),
        ("halving", halving.as_str(), DCTCP),
        ("beside", &beside, RDMA_DCTCP),
    ] {
        let [packets, steady] = both(topology, workload, scheme, "");
        let (all, simulated) = (packets.tally.packet_hops, steady.tally.packet_hops);
        assert!(5 * simulated < 4 * all, "{name}: {simulated} of {all}");
        assert_eq!(packets.flows.len(), steady.flows.len(), "{name}");
        let [exact, estimate] = [&packets, &steady].map(jobs_ended);
        assert!(error(estimate, exact) < 0.005, "{name}: {estimate} s, not {exact}");
    }
}

/// Of flows that share a link one ends, and the others recover slowly; acknowledgements of a flow wait for data of others.
/// With flows that recover taken to stand still, DCQCN's took up to three times as long.
#[test]
fn what_recovers_slowly_is_followed() {
    let topology = "kind = \"rack\"\nhosts = 8\nlink = { rate = \"100Gbps\", delay = \"1us\" }";
    let pair = |(nth, size): (usize, &str)| {
        format!(
            "[[workload]]\nsizes = {{ kind = \"constant\", size = {size:?} }}\narrivals = \"at-once\"\nflows = 1\n\
             pattern = {{ kind = \"pair\", src = {nth}, dst = 7 }}\n"
        )
    };
    let flows: String = ["50MB", "100MB", "200MB"].into_iter().enumerate().map(pair).collect();
    let workload = flows.strip_prefix("[[workload]]\n").expect("it begins with one");
    let dcqcn = DCQCN.replace(", ack_class = 0", "");
    for scheme in [&dcqcn, RDMA_DCTCP, HPCC, DCTCP] {
        let [packets, steady] = both(topology, workload, scheme, "");
        let off = error(last_end(&steady), last_end(&packets));
        assert!(off < 0.01, "{scheme}: {off}");
    }
}

#[test]
fn where_little_stands_still_it_is_packets() {
    let topology = "kind = \"rack\"\nhosts = 8";
    let [packets, steady] = both(topology, "sizes = \"web-search\"", DCTCP, "loads = [0.6]\nflows = 300");
    assert_eq!(fingerprint(&packets.flows), fingerprint(&steady.flows));
}

#[test]
fn a_run_that_is_stopped_reports_what_was_skipped() {
    let topology = DUMBBELL.replace("right = 2", "right = 1");
    let [packets, steady] = both(&topology, &incast(2, "10GB"), DCTCP, "max_time = \"200ms\"");
    for outcome in [&packets, &steady] {
        assert!(outcome.flows.iter().all(|row| row.fct().is_none()));
        assert_eq!(outcome.simulated, Time::from_us(200_000));
    }
    let sent = |outcome: &Outcome| outcome.flows.iter().map(|row| row.report.packets_sent).sum::<u32>();
    assert!(error(f64::from(sent(&steady)), f64::from(sent(&packets))) < 0.001);
    assert!(steady.tally.packet_hops * 5 < packets.tally.packet_hops);
}

#[test]
fn the_same_comes_of_it_whatever_the_threads_and_windows() {
    let two = scenario(DUMBBELL, &incast(2, "50MB"), DCTCP, "fidelity = \"steady\"");
    let job = scenario(RAILS, &ring("all-reduce", ""), NSCC, "fidelity = \"steady\"");
    for toml in [two, job] {
        let case = cases(&toml).swap_remove(0);
        let usual = fingerprint(&simulate(case.clone()).flows);
        for (threads, longest) in [(1, Time::from_ns(150)), (3, Time::NEVER)] {
            let simulation = Simulation::new(case.clone()).expect("a case").with_threads(threads);
            let outcome =
                simulation.with_windows_up_to(longest).run(&Monitor::default()).expect("a sound case");
            assert_eq!(fingerprint(&outcome.flows), usual, "{threads} threads");
        }
    }
}

/// What is said against a scenario.
fn said(toml: &str) -> String {
    let scenario = Scenario::from_toml(toml, "test", Path::new(env!("CARGO_TARGET_TMPDIR")));
    let case = scenario.expect("it can be read").cases().next().expect("a case");
    Simulation::new(case)
        .map_or_else(|complaint| format!("{}: {}", complaint.key, complaint.message), |_| String::new())
}

#[test]
fn what_can_not_be_skipped_is_refused_by_name() {
    let of = |workload: &str, scheme: &str, more: &str| {
        said(&scenario(DUMBBELL, workload, scheme, &format!("flows = 100\nfidelity = \"steady\"\n{more}")))
    };
    let flows = incast(2, "1MB");
    let pfabric = "transport = \"min-tcp\"\nqueue = { kind = \"pfabric\", capacity = \"36KB\" }";
    let closed = "sizes = { kind = \"constant\", size = \"1MB\" }\narrivals = { kind = \"closed\" }";
    let beside = ring("all-reduce", "").replace("by-rail", "by-number") + "\n[[workload]]\n" + &flows;
    for (message, why) in [
        (
            of(&flows, pfabric, ""),
            "run.fidelity: \"steady\" does not hold here: min-tcp does not declare that flows can be shortened",
        ),
        (of(&flows, NSCC, ""), "uec does not declare that flows can be shortened"),
        (of(&flows, "transport = \"ideal\"", ""), "no packets in the first place"),
        (of(closed, DCTCP, ""), "workload: a closed loop ends by the clock"),
        (of(&beside, NSCC, ""), "only while there are no other flows"),
        (of(&flows, DCTCP, "[measure]\nqueues = true"), "measure.queues: fidelity = \"steady\""),
    ] {
        assert!(message.contains(why), "{why}: {message}");
    }
    assert_eq!(of(&flows, DCTCP, ""), "");
}

//! RDMA transports through the whole simulator, against figures worked out by hand and against HPCC's simulator on
//! ns-3.

use crate::common::{cases, fct, mean, port, run, simulate, write_file};
use packetloom::measure::FlowRow;
use packetloom::scenario::Scenario;
use packetloom::simulation::{Outcome, Simulation};
use packetloom::units::Time;
use std::path::Path;

/// 17 hosts of 100 Gb/s at one switch, 1 us away, on a clock of whole nanoseconds as ns-3 has it.
const STAR: &str =
    r#"{ kind = "rack", hosts = 17, link = { rate = "100Gbps", delay = "1us" }, whole_ns = true }"#;

/// 4 leaves with 8 hosts each, 2 spines.
const LEAF_SPINE: &str = r#"{ kind = "leaf-spine", spines = 2, leaves = 4, hosts_per_leaf = 8, host_link = { rate = "100Gbps", delay = "1us" }, link = { rate = "400Gbps", delay = "1us" }, whole_ns = true }"#;

const HPCC: &str = r#"{ kind = "hpcc", variant = "hpcc-ns3", quantise = true }"#;
const HPCC_MI5: &str = r#"{ kind = "hpcc", variant = "hpcc-ns3", quantise = true, max_stage = 5 }"#;
const TIMELY: &str = r#"{ kind = "timely", variant = "hpcc-ns3" }"#;
const DCQCN: &str = r#"{ kind = "dcqcn", variant = "mellanox" }"#;

/// Flows of src, dst, bytes, start in ns.
fn scenario(topology: &str, transport: &str, queue: &str, file: &str, flows: &[[u64; 4]]) -> String {
    let mut list = "src,dst,size_bytes,start_ns\n".to_owned();
    for [src, dst, size, start] in flows {
        list += &format!("{src},{dst},{size},{start}\n");
    }
    write_file(file, &list);
    format!(
        "topology = {topology}\n[[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
         [[scheme]]\nname = \"RDMA\"\ntransport = {transport}\nqueue = {queue}\n"
    )
}

const LOSSLESS: &str = r#"{ kind = "shared-buffer", ties = "ns-3", pause_frame = "43B", ecn_min = "400KB", ecn_max = "1600KB" }"#;

/// From a flow's start to the acknowledgement of its last byte at the sender, which is what HPCC's simulator writes.
fn fct_ns(row: &FlowRow) -> u64 {
    row.closed.since(row.flow.start).as_ps() / 1_000
}

const SIZES: [u64; 6] = [1, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

fn lone(topology: &str, src: u64, transport: &str, file: &str) -> Vec<u64> {
    let flows: Vec<_> = (0..).zip(SIZES).map(|(nth, size)| [src, 0, size, nth * 10_000_000]).collect();
    let outcome = run(&scenario(topology, transport, LOSSLESS, file, &flows));
    outcome.flows.iter().map(fct_ns).collect()
}

#[test]
fn a_flow_alone_takes_to_the_nanosecond_what_it_takes_in_hpccs_simulator() {
    for (name, transport, star, leaf_spine) in [
        (
            "roce",
            "\"roce\"",
            [4_014, 4_174, 4_921, 12_391, 87_091, 834_091],
            [8_016, 8_216, 8_963, 16_433, 91_133, 838_133],
        ),
        (
            "dcqcn",
            DCQCN,
            [4_014, 4_174, 4_921, 12_391, 87_091, 834_091],
            [8_016, 8_216, 8_963, 16_433, 91_133, 838_133],
        ),
        (
            "timely",
            TIMELY,
            [4_016, 4_176, 4_932, 12_492, 88_092, 844_092],
            [8_020, 8_220, 8_976, 16_536, 92_136, 848_136],
        ),
        (
            "dctcp",
            "\"rdma-dctcp\"",
            [4_014, 4_174, 4_921, 12_391, 87_091, 834_091],
            [8_016, 8_216, 8_963, 16_433, 91_133, 838_133],
        ),
        (
            "hpcc",
            HPCC,
            [4_028, 4_188, 4_971, 13_038, 95_690, 921_022],
            [8_032, 8_232, 9_015, 16_861, 99_694, 925_281],
        ),
        (
            "hpcc, MI_THRESH 5",
            HPCC_MI5,
            [4_028, 4_188, 4_971, 13_038, 96_064, 924_405],
            [8_032, 8_232, 9_015, 16_861, 100_315, 927_211],
        ),
    ] {
        let file = format!("lone-{}.csv", &name[..4]);
        assert_eq!(lone(STAR, 1, transport, &file), star, "{name}, one switch");
        assert_eq!(lone(LEAF_SPINE, 31, transport, &file), leaf_spine, "{name}, leaves and spines");
    }
}

/// Queue pairs in turn, and nothing but PFC: the order in which packets that tie go decides only which flow ends
/// first.
#[test]
fn flows_without_control_take_what_they_take_in_hpccs_simulator() {
    let incast: Vec<_> = (1..=8).map(|src| [src, 0, 2_000_000, 0]).collect();
    let outcome = run(&scenario(STAR, "\"roce\"", LOSSLESS, "incast8.csv", &incast));
    let mut found: Vec<u64> = outcome.flows.iter().map(fct_ns).collect();
    found.sort_unstable();
    let expected: Vec<u64> = (0..8).map(|nth| 1_331_510 + 83 * nth).collect();
    assert_eq!(found, expected);
    // Theirs: 6644091 and 3324076; the second depends on how pauses share the link out.
    let converge = [[1, 0, 60_000_000, 0], [2, 0, 20_000_000, 999_999]];
    let outcome = run(&scenario(STAR, "\"roce\"", LOSSLESS, "converge.csv", &converge));
    assert_eq!(fct_ns(&outcome.flows[0]), 6_644_091);
    assert!(fct_ns(&outcome.flows[1]).abs_diff(3_324_076) < 1_000, "{}", fct_ns(&outcome.flows[1]));
}

/// Which flow gets ahead is chance where marks are drawn or rates depend on the last bit; how long an incast takes
/// is not.
#[test]
fn incasts_take_what_they_take_in_hpccs_simulator() {
    let stepwise = r#"{ kind = "shared-buffer", ties = "ns-3", pause_frame = "43B", ecn_min = "300KB", ecn_max = "300KB", ecn_probability = 1.0 }"#;
    // Mean and last flow completion time in us.
    for (transport, queue, senders, mean, last) in [
        (HPCC, LOSSLESS, 2, 1_383.5, 1_475.8),
        (HPCC, LOSSLESS, 8, 1_400.4, 1_484.3),
        ("\"rdma-dctcp\"", stepwise, 8, 1_331.5, 1_332.1),
    ] {
        let flows: Vec<_> = (1..=senders).map(|src| [src, 0, 16_000_000 / senders, 0]).collect();
        let outcome = run(&scenario(STAR, transport, queue, "incasts.csv", &flows));
        let fcts: Vec<f64> = outcome.flows.iter().map(|row| fct_ns(row) as f64 / 1e3).collect();
        let found = (fcts.iter().sum::<f64>() / fcts.len() as f64, fcts.iter().copied().fold(0.0, f64::max));
        let apart = (found.0 / mean - 1.0).abs().max((found.1 / last - 1.0).abs());
        if transport == "\"rdma-dctcp\"" {
            let mut found: Vec<u64> = outcome.flows.iter().map(fct_ns).collect();
            found.sort_unstable();
            let last: [u64; 4] = [1_331_842, 1_331_925, 1_332_008, 1_332_091];
            assert_eq!(found, [&[1_330_763, 1_330_846, 1_330_929, 1_331_427], &last[..]].concat());
        }
        assert!(apart < 0.02, "{transport}, {senders}: {found:?} instead of {mean} and {last}");
    }
}

/// Their one run has a mean of 1938.7 us and ends at 1996.4: it must be one that could be ours.
#[test]
fn an_incast_under_dcqcn_is_within_the_chance_of_its_marks_as_long_as_in_hpccs_simulator() {
    let flows: Vec<_> = (1..=8).map(|src| [src, 0, 2_000_000, 0]).collect();
    let toml = scenario(STAR, DCQCN, LOSSLESS, "drawn.csv", &flows)
        + "[run]\nseeds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n";
    let of_case = |case| -> (f64, f64) {
        let fcts: Vec<f64> = simulate(case).flows.iter().map(|row| fct_ns(row) as f64 / 1e3).collect();
        (mean(fcts.iter().copied()), fcts.iter().copied().fold(0.0, f64::max))
    };
    let (means, lasts): (Vec<f64>, Vec<f64>) = cases(&toml).into_iter().map(of_case).unzip();
    for (found, theirs) in [(means, 1_938.7), (lasts, 1_996.4)] {
        let centre = mean(found.iter().copied());
        let deviation = mean(found.iter().map(|one| (one - centre) * (one - centre))).sqrt();
        assert!(deviation > 0.0 && (theirs - centre).abs() < 3.0 * deviation, "{theirs} among {found:?}");
        assert!((theirs / centre - 1.0).abs() < 0.05, "{theirs} and {centre}");
    }
}

/// A round trip of a full packet and its acknowledgement on STAR.
const ROUND_TRIP_NS: u64 = 2 * (83 + 1_000) + 2 * (4 + 1_000);

fn fcts(transport: &str, file: &str, flows: &[[u64; 4]]) -> Vec<u64> {
    run(&scenario(STAR, transport, LOSSLESS, file, flows)).flows.iter().map(fct_ns).collect()
}

#[test]
fn a_packet_may_exceed_the_window_and_then_acknowledgements_let_the_others_go() {
    // Three packets, as 2000 B in flight are below 2500; each acknowledgement releases one.
    let transport = r#"{ kind = "roce", window = "fixed", window_bytes = "2500B" }"#;
    let last_starts = ROUND_TRIP_NS + 2 * 83;
    assert_eq!(fcts(transport, "window.csv", &[[1, 0, 6_000, 0]]), [last_starts + ROUND_TRIP_NS]);
    // The network's own window: 52000 B in 4160 ns, which the round trip exceeds by 14 ns.
    let transport = r#"{ kind = "roce", window = "bdp" }"#;
    assert_eq!(fcts(transport, "window.csv", &[[1, 0, 52_000, 0]]), [51 * 83 + ROUND_TRIP_NS]);
    // In proportion to the rate: 5200 B.
    let transport = r#"{ kind = "roce", window = "bdp", variable_window = true, initial_rate = "10Gbps" }"#;
    let gap = 1_048 * 8 / 10;
    assert_eq!(fcts(transport, "window.csv", &[[1, 0, 6_000, 0]]), [5 * gap + ROUND_TRIP_NS]);
}

#[test]
fn packets_leave_at_the_pace_of_the_rate_to_the_nanosecond() {
    // 1048 B have 8384 ns at 1 Gb/s, of which ns-3 makes 8383: it cuts off a double.
    for (rate, gap) in [("10Gbps", 838), ("37Gbps", 226), ("1Gbps", 8_383)] {
        let transport = format!("{{ kind = \"roce\", initial_rate = {rate:?} }}");
        assert_eq!(
            fcts(&transport, "rdma-pace.csv", &[[1, 0, 100_000, 0]]),
            [99 * gap + ROUND_TRIP_NS],
            "{rate}"
        );
    }
}

#[test]
fn queue_pairs_take_turns_packet_by_packet() {
    let flows = [[1, 0, 50_000, 0], [1, 2, 50_000, 0], [1, 3, 20_000, 0]];
    // Twenty rounds of three; then two go on.
    let third = (19 * 3 + 2) * 83;
    let [first, second] = [0, 1].map(|nth| (60 + 29 * 2 + nth) * 83);
    let expected = [first, second, third].map(|starts| starts + ROUND_TRIP_NS);
    assert_eq!(fcts("\"roce\"", "turns.csv", &flows), expected);
    // One that is paced keeps its pace beside one that takes all the rest.
    let paced = r#"{ kind = "roce", initial_rate = "25Gbps" }"#;
    let found = fcts(paced, "turns.csv", &[[1, 0, 100_000, 0], [1, 2, 100_000, 0]]);
    let gap = 1_048 * 8 / 25;
    assert_eq!(found, [99 * gap + ROUND_TRIP_NS, 99 * gap + 83 + ROUND_TRIP_NS]);
}

fn packets(outcome: &Outcome, from: &str, to: &str) -> u64 {
    port(outcome, from, to).counters.packets
}

#[test]
fn acknowledgements_of_several_packets_are_sent_with_the_last_or_after_a_while() {
    let sent = |keys: &str, size| {
        let transport = format!("{{ kind = \"roce\", ack_every = 4{keys} }}");
        let outcome = run(&scenario(STAR, &transport, LOSSLESS, "coalesced.csv", &[[1, 0, size, 0]]));
        (packets(&outcome, "host0", "switch0"), fct_ns(&outcome.flows[0]))
    };
    // 4, 8, 10.
    assert_eq!(sent("", 10_000), (3, 9 * 83 + ROUND_TRIP_NS));
    // A window of two packets requests an acknowledgement for each second one.
    assert_eq!(sent(r#", window = "fixed", window_bytes = "2KB""#, 6_000).0, 3);
    // At 1 Gb/s the fourth comes too late: after 10 us those that are there are acknowledged.
    assert_eq!(sent(r#", initial_rate = "1Gbps""#, 8_000).0, 4);
}

#[test]
fn cnps_are_packets_of_their_own_at_most_one_in_50_us_of_each_flow() {
    let marking = r#"{ kind = "shared-buffer", ecn_min = "1B", ecn_max = "1B", ecn_probability = 1.0 }"#;
    let flows = [[1, 0, 2_000_000, 0], [2, 0, 2_000_000, 0]];
    let cnps = |keys: &str| {
        let transport = format!("{{ kind = \"dcqcn\"{keys} }}");
        let outcome = run(&scenario(STAR, &transport, marking, "cnps.csv", &flows));
        let lasts_us = outcome.flows.iter().map(fct_ns).max().expect("two flows") / 1_000;
        (packets(&outcome, "host0", "switch0") - 4_000, lasts_us)
    };
    let (found, lasts_us) = cnps("");
    assert!(found >= 4 && found <= 2 * (lasts_us / 50 + 1), "{found} in {lasts_us} us");
    let (found, lasts_us) = cnps(r#", cnp_interval = "500us""#);
    assert!(found >= 2 && found <= 2 * (lasts_us / 500 + 1), "{found} in {lasts_us} us");
    assert_eq!(cnps(r#", cnp = "ack""#).0, 0);
}

/// Flows that are never slower than the link fill a queue all the time: each interval has a CNP, for each flow, for each
/// host that they come from, or for the port.
#[test]
fn cnps_are_spaced_by_flow_by_destination_or_at_the_port() {
    let marking = r#"{ kind = "shared-buffer", ecn_min = "1B", ecn_max = "1B", ecn_probability = 1.0 }"#;
    // Two flows from each of two hosts.
    let flows = [1, 1, 2, 2].map(|src| [src, 0, 2_000_000, 0]);
    for (per, senders) in [("flow", 4), ("destination", 2), ("port", 1)] {
        let transport = format!(
            "{{ kind = \"dcqcn\", cnp_per = {per:?}, cnp_interval = \"20us\", min_rate = \"100Gbps\" }}"
        );
        let outcome = run(&scenario(STAR, &transport, marking, "cnp-scopes.csv", &flows));
        let found = packets(&outcome, "host0", "switch0") - 8_000;
        // 8 MB take 640 us, and with headers and round trips 666.
        let lasts_us = outcome.flows.iter().map(fct_ns).max().expect("four flows") / 1_000;
        let intervals = lasts_us / 20;
        assert!((33..=34).contains(&intervals), "{lasts_us} us");
        assert!(found.abs_diff(senders * intervals) <= senders, "{per}: {found} in {intervals} intervals");
    }
}

#[test]
fn what_is_lost_is_sent_again_alone_or_with_all_that_follows() {
    let short = r#"{ kind = "drop-tail", capacity = "60KB" }"#;
    let flows: Vec<_> = (1..=8).map(|src| [src, 0, 300_000, 0]).collect();
    let totals = |keys: &str| {
        let transport = format!("{{ kind = \"roce\"{keys} }}");
        let outcome = run(&scenario(STAR, &transport, short, "lost.csv", &flows));
        assert!(outcome.flows.iter().all(|row| row.closed != Time::NEVER), "{keys}");
        let again: u32 = outcome.flows.iter().map(|row| row.report.retransmissions).sum();
        let drops: u64 = outcome.ports.iter().map(|port| port.counters.drops).sum();
        (u64::from(again), drops)
    };
    // Every packet that was dropped goes again; go-back-N sends others with it, IRN hardly any.
    let (again, drops) = totals(r#", rto = "400us""#);
    assert!(drops > 500 && again > drops * 5 / 4, "{again} for {drops}");
    let (again, drops) = totals(r#", recovery = "irn", bdp_cap = 200"#);
    assert!(drops > 500 && (drops..drops * 11 / 10).contains(&again), "{again} for {drops}");
    // Within a BDP each, eight senders fill 60 KB still.
    let (again, drops) = totals(r#", recovery = "irn""#);
    assert!(drops > 0 && again >= drops, "{again} for {drops}");
}

#[test]
fn nacks_cut_the_rate_of_dcqcns_paper_no_more_often_than_cnps() {
    let short = r#"{ kind = "drop-tail", capacity = "60KB" }"#;
    let flows: Vec<_> = (1..=8).map(|src| [src, 0, 300_000, 0]).collect();
    let mean_us = |interval: &str| {
        let transport = format!(
            "{{ kind = \"dcqcn\", recovery = \"irn\", nack_is_cnp = true, cnp_interval = {interval:?} }}"
        );
        let outcome = run(&scenario(STAR, &transport, short, "nack-cuts.csv", &flows));
        mean(outcome.flows.iter().map(|row| fct_ns(row) as f64 / 1e3))
    };
    // IRN's receivers send a NACK for each packet out of order: each for itself, a few take a flow to the least rate.
    let (spaced, each) = (mean_us("50us"), mean_us("1ns"));
    assert!(1.5 * spaced < each, "{spaced} us, and {each} us where each counts");
}

#[test]
fn a_timeout_is_not_counted_again_before_its_packet_went() {
    let fault = "[[fault]]\nkind = \"link-down\"\nbetween = [\"host0\", \"switch0\"]\nat = \"200us\"\nuntil = \"4ms\"\n";
    let queue = r#"{ kind = "drop-tail", capacity = "1MB" }"#;
    let toml = scenario(STAR, "\"swift\"", queue, "cut-off.csv", &[[1, 0, 20_000_000, 0]]) + fault;
    let outcome = run(&toml);
    assert!(outcome.flows[0].fct().is_some());
    let report = outcome.flows[0].report;
    assert!(report.timeouts > 0 && report.timeouts <= report.retransmissions, "{report:?}");
}

/// Data of 1060 B take 84 ns, their round trip 4176 ns.
#[test]
fn what_may_be_in_flight_by_default_fills_the_link() {
    // The round trip is 3.23 packets of 4096 B long: four have to be in flight.
    let short = r#"{ kind = "rack", hosts = 2, link = { rate = "100Gbps", delay = "100ns" } }"#;
    for transport in
        [r#"{ kind = "swift", mss = "4096B" }"#, r#"{ kind = "roce", recovery = "irn", mss = "4096B" }"#]
    {
        let toml = scenario(short, transport, "\"drop-tail\"", "fills.csv", &[[1, 0, 40_960_000, 0]]);
        let took = fct(&run(&toml).flows[0]);
        // 10 000 packets of 4156 B at most.
        assert!(took < Time::from_ns(10_000 * 333 + 5_000), "{transport}: {took}");
    }
}

#[test]
fn swifts_gap_below_one_packet_ends_as_the_window_comes_to_one() {
    // The first acknowledgement adds a whole packet; then a packet more in each round trip.
    let found = fcts(r#"{ kind = "swift", initial_window = 0.001 }"#, "gaps.csv", &[[1, 0, 10_000, 0]]);
    assert!(found[0] < 10 * 4_176, "{} ns", found[0]);
    // Below a packet what is set stays: 4160 ns / 0.5 after the first.
    let still = r#"{ kind = "swift", initial_window = 0.5, ai = 0.001 }"#;
    assert_eq!(fcts(still, "gaps.csv", &[[1, 0, 2_000, 0]]), [2 * 4_160 + 4_176]);
}

#[test]
fn a_lost_tail_waits_for_ever_without_a_timeout_and_says_so() {
    let short = r#"{ kind = "drop-tail", capacity = "3KB" }"#;
    let flows = [[1, 0, 10_000, 0], [2, 0, 10_000, 0], [3, 0, 10_000, 0]];
    let outcome = run(&scenario(STAR, "\"roce\"", short, "tail.csv", &flows));
    assert!(outcome.flows.iter().any(|row| row.closed == Time::NEVER));
    assert!(!outcome.warnings.is_empty());
}

#[test]
fn nothing_goes_on_happening_for_a_flow_that_is_idle_or_over() {
    for transport in
        [DCQCN, "\"dcqcn\"", "\"timely\"", "\"swift\"", "\"rdma-dctcp\"", "\"hpcc\"", "\"powertcp\""]
    {
        let marking = r#"{ kind = "shared-buffer", ecn_min = "1B", ecn_max = "1B", ecn_probability = 1.0 }"#;
        let events = |last_start: u64| {
            let flows = [[1, 0, 200_000, 0], [2, 0, 200_000, 0], [3, 0, 1_000, last_start]];
            let outcome = run(&scenario(STAR, transport, marking, "idle.csv", &flows));
            assert!(outcome.flows.iter().all(|row| row.closed != Time::NEVER));
            outcome.tally.events
        };
        assert_eq!(events(50_000_000), events(5_000_000_000), "{transport}");
    }
}

#[test]
fn two_dcqcn_flows_share_a_link_alike_though_one_came_later() {
    let star = STAR.replace("100Gbps", "10Gbps");
    let queue = r#"{ kind = "shared-buffer", ecn_min = "5KB", ecn_max = "200KB", ecn_probability = 0.01 }"#;
    let flows = [[1, 0, 50_000_000, 0], [2, 0, 50_000_000, 1_000_000]];
    let outcome = run(&scenario(&star, "\"dcqcn\"", queue, "alike.csv", &flows));
    let [first, second] = [0, 1].map(|nth| fct(&outcome.flows[nth]).as_ns_f64());
    // Alike, each takes twice what it takes alone; the first has had a millisecond for itself.
    assert!((first / second - 1.0).abs() < 0.05, "{first} {second}");
    assert!(outcome.ports.iter().all(|port| port.counters.drops == 0));
}

#[test]
fn a_hpcc_flow_keeps_a_link_at_95_percent_and_its_queue_empty() {
    let toml = scenario(STAR, "\"hpcc\"", LOSSLESS, "alone-hpcc.csv", &[[1, 0, 20_000_000, 0]]);
    let outcome = run(&(toml + "[measure]\nqueues = true\n"));
    let used = 20_000.0 * 1_090.0 * 8.0 / fct(&outcome.flows[0]).as_ns_f64();
    // Of the wire's bytes, which take 87 ns and not 87.2.
    assert!((used / (100.0 * 87.2 / 87.0) - 0.95).abs() < 0.01, "{used} Gb/s");
    let queue = port(&outcome, "switch0", "host0").queue.as_ref().expect("it is watched");
    assert!(queue.largest_bytes() <= 1_090, "{}", queue.largest_bytes());
}

/// The bytes that a port put onto its link in some of the samples' intervals.
fn sent_bytes(outcome: &Outcome, from: &str, to: &str, samples: std::ops::Range<usize>) -> f64 {
    let sent = port(outcome, from, to).sent.as_ref().expect("it is sampled");
    samples.map(|nth| sent.bytes(nth)).sum::<u64>() as f64
}

/// What waits for host 0 at each sample.
fn queue_bytes(outcome: &Outcome) -> Vec<u64> {
    let queue = port(outcome, "switch0", "host0").queue.as_ref().expect("it is sampled");
    queue.samples().map(|(_, bytes)| bytes).collect()
}

fn sampled(interval: &str, until: &str) -> String {
    format!("[measure]\nseries_interval = {interval:?}\n[run]\nmax_time = {until:?}\n")
}

/// DCQCN's paper, §3.1: marks stop and start with the queue at the threshold, and the news of it are as late as the
/// way is long.
#[test]
fn at_a_threshold_dcqcns_queue_swings_around_it_and_the_farther_the_longer_the_way() {
    let queue = r#"{ kind = "shared-buffer", ecn_min = "200KB", ecn_max = "200KB", ecn_probability = 1.0 }"#;
    let flows = [[1, 0, 1_000_000_000, 0], [2, 0, 1_000_000_000, 1_000_000]];
    let swings = ["1us", "25us", "100us"].map(|delay| {
        let star = STAR.replace("100Gbps", "10Gbps").replace("\"1us\"", &format!("{delay:?}"));
        let toml = scenario(&star, "\"dcqcn\"", queue, "swings.csv", &flows) + &sampled("10us", "40ms");
        let outcome = run(&toml);
        let [first, second] =
            ["host1", "host2"].map(|host| sent_bytes(&outcome, host, "switch0", 2_000..3_990));
        assert!((first / second - 1.0).abs() < 0.05, "{delay}: {first} {second}");
        let settled = queue_bytes(&outcome).split_off(2_000);
        let (least, most) = (settled.iter().min().copied(), settled.iter().max().copied());
        let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
        assert!(least < 200_000 && 200_000 < most, "{delay}: {least} to {most}");
        most - least
    });
    assert!(swings[0] < 20_000 && 10 * swings[0] < swings[1], "{swings:?}");
    assert!(swings[1] * 5 < swings[2] * 4, "{swings:?}");
}

/// HPCC's paper, §3.2: U is 2 as both windows are out, so that each is cut to W / 2.1, and the queue of one window
/// is gone.
#[test]
fn two_hpcc_flows_from_line_rate_have_half_of_95_percent_each_within_round_trips() {
    let flows = [[1, 0, 2_000_000, 0], [2, 0, 2_000_000, 0]];
    let toml = scenario(STAR, "\"hpcc\"", LOSSLESS, "two-hpcc.csv", &flows) + &sampled("1us", "200us");
    let outcome = run(&toml);
    let queue = queue_bytes(&outcome);
    let most = queue.iter().max().copied().unwrap_or(0);
    assert!((40 * 1_090..=52 * 1_090).contains(&most), "{most}: a window is 52 packets");
    // Five round trips on, it is empty but for what meets by chance.
    let later = &queue[21..];
    assert!(later.iter().all(|&bytes| bytes <= 2 * 1_090), "{later:?}");
    // Five more, and additive increase has brought them from what they were cut to up to eta.
    let rates = ["host1", "host2"].map(|host| sent_bytes(&outcome, host, "switch0", 42..189) * 8.0 / 147e3);
    for rate in rates {
        assert!((rate / 47.5 - 1.0).abs() < 0.05, "{rates:?}");
    }
    assert!((rates[0] + rates[1] - 95.0).abs() < 1.0, "{rates:?}");
}

/// Where one link is the fullest all the time, its rate is the one that holds.
#[test]
fn a_rate_for_each_link_changes_nothing_where_the_same_link_is_always_the_fullest() {
    let each = HPCC.replace("quantise", "multi_rate = true, quantise");
    let flows = [[1, 0, 1_000_000, 0], [2, 0, 1_000_000, 0], [9, 0, 1_000_000, 0]];
    for topology in [STAR, LEAF_SPINE] {
        let [one, many] = [HPCC, &each].map(|transport| {
            let toml = scenario(topology, transport, LOSSLESS, "each-link.csv", &flows);
            run(&toml).flows.iter().map(fct_ns).collect::<Vec<_>>()
        });
        assert_eq!(one, many);
    }
}

/// What switches average instead of senders is as much, and told in a byte.
#[test]
fn hpcc_keeps_a_link_at_95_percent_by_pint_too() {
    let transport = r#"{ kind = "hpcc", variant = "hpcc-ns3", pint = true, base_rtt = "4160ns", header = "49B", ack = "60B" }"#;
    let flows = [[1, 0, 10_000_000, 0], [2, 0, 10_000_000, 0]];
    let toml = scenario(STAR, transport, LOSSLESS, "pint.csv", &flows) + &sampled("1us", "1ms");
    let outcome = run(&toml);
    let used = sent_bytes(&outcome, "switch0", "host0", 200..990) * 8.0 / 790e3;
    assert!((used - 95.0).abs() < 2.0, "{used} Gb/s");
    let queue = queue_bytes(&outcome);
    assert!(
        queue.iter().max() < Some(&60_000) && queue[50..].iter().all(|&bytes| bytes < 12_000),
        "{queue:?}"
    );
}

/// Of two windows each round trip takes 2 W_AI / S of their difference, which are S together: S = (eta + 2 W_AI /
/// BT) BT. That halves it in ln 2 / 2 S / W_AI round trips.
#[test]
fn the_difference_of_two_hpcc_flows_halves_at_the_pace_of_additive_increase() {
    let transport = r#"{ kind = "hpcc", additive_bytes = "520B", initial_rate = "10Gbps" }"#;
    let flows = [[1, 0, 100_000_000, 0], [2, 0, 100_000_000, 500_000]];
    let toml = scenario(STAR, transport, LOSSLESS, "halves.csv", &flows) + &sampled("1us", "1ms");
    let outcome = run(&toml);
    let round_trips = f64::ln(2.0) / 2.0 * (0.95 * 52_000.0 / 520.0 + 2.0);
    let half_life_us = round_trips * ROUND_TRIP_NS as f64 / 1e3;
    let apart = |from: usize| {
        let of = |host| sent_bytes(&outcome, host, "switch0", from..from + 140);
        of("host1") - of("host2")
    };
    // From one 140 us to the next, twice.
    for from in [520, 660] {
        let halvings = f64::log2(apart(from) / apart(from + 140));
        let found_us = 140.0 / halvings;
        assert!((found_us / half_life_us - 1.0).abs() < 0.1, "{found_us} us instead of {half_life_us} us");
    }
}

fn complaint(transport: &str) -> String {
    let toml = scenario(STAR, transport, LOSSLESS, "wrong.csv", &[[1, 0, 1_000, 0]]);
    let read = Scenario::from_toml(&toml, "test", Path::new(env!("CARGO_TARGET_TMPDIR")));
    read.expect_err("it must be refused").to_string()
}

#[test]
fn what_does_not_go_together_is_refused_with_what_to_write() {
    for (transport, expected) in [
        (r#"{ kind = "roce", window = "fixed" }"#, "window_bytes"),
        (r#"{ kind = "roce", window_bytes = "5KB" }"#, "window = \"fixed\" only"),
        (r#"{ kind = "roce", rto = "1ms", ack_duplicates = false }"#, "write true"),
        (r#"{ kind = "dcqcn", variant = "mellanox", byte_counter = "1MB" }"#, "leave it out"),
        (r#"{ kind = "dcqcn", decrease_interval = "4us" }"#, "leave it out"),
        (r#"{ kind = "hpcc", additive_increase = "50Mbps" }"#, "leave it out"),
        (r#"{ kind = "hpcc", multi_rate = true }"#, "write variant = \"hpcc-ns3\""),
        (r#"{ kind = "hpcc", sample_feedback = true }"#, "write variant = \"hpcc-ns3\""),
        (r#"{ kind = "hpcc", variant = "hpcc-ns3", pint = true }"#, "base_rtt: switches average over it"),
        (r#"{ kind = "hpcc", variant = "hpcc-ns3", pint = true, quantise = true }"#, "leave one of them out"),
        (r#"{ kind = "roce", nack_is_cnp = true }"#, "does not go by marks"),
        (r#"{ kind = "hpcc", nack_is_cnp = true }"#, "does not go by marks"),
        (r#"{ kind = "timely", nack_is_cnp = true }"#, "does not go by marks"),
        (r#"{ kind = "powertcp", nack_is_cnp = true }"#, "does not go by marks"),
        (r#"{ kind = "powertcp", utilisation = 0.9 }"#, "has none; leave it out"),
        (r#"{ kind = "powertcp", variant = "ns3-datacenter", flows = 4 }"#, "has none; leave it out"),
        (r#"{ kind = "theta-powertcp", flows = 0 }"#, "write 1 or more"),
        (r#"{ kind = "swift", nack_is_cnp = true }"#, "does not go by marks"),
        (r#"{ kind = "dcqcn", recovery = "none", nack_is_cnp = true }"#, "goes by acknowledgements"),
        (r#"{ kind = "swift", fs_min = 200 }"#, "below fs_max"),
        (r#"{ kind = "timely", t_high = "1us" }"#, "below t_low"),
    ] {
        let message = complaint(transport);
        assert!(message.contains(expected), "{transport}: {message}");
    }
}

#[test]
fn hpcc_refuses_a_network_deeper_than_its_header() {
    // A chain of six switches, and a host at each end.
    let mut file = "8 6 7\n2 3 4 5 6 7\n0 2 10Gbps 1000ns 0\n1 7 10Gbps 1000ns 0\n".to_owned();
    for switch in 2..7 {
        file += &format!("{switch} {} 10Gbps 1000ns 0\n", switch + 1);
    }
    write_file("chain.txt", &file);
    let chain = r#"{ kind = "hpcc", file = "chain.txt" }"#;
    let toml = scenario(chain, "\"hpcc\"", LOSSLESS, "chain.csv", &[[1, 0, 1_000, 0]]);
    let refused = Simulation::new(cases(&toml).remove(0)).expect_err("six switches");
    assert!(refused.message.contains("holds 5 switches"), "{}", refused.message);
    // PINT has one field, whatever the path.
    let pint = r#"{ kind = "hpcc", variant = "hpcc-ns3", pint = true, base_rtt = "20us", header = "49B", ack = "60B" }"#;
    let toml = scenario(chain, pint, LOSSLESS, "chain.csv", &[[1, 0, 1_000, 0]]);
    assert!(run(&toml).flows[0].fct().is_some());
    let toml = scenario(chain, "\"timely\"", LOSSLESS, "chain.csv", &[[1, 0, 1_000, 0]]);
    assert!(run(&toml).flows[0].fct().is_some());
}

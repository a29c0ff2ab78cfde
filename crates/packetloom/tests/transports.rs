//! What each transport is known to do, seen from outside: completion times, reports, and what the hosts' ports sent.

use crate::common::{fct, port, run, write_file};
use packetloom::scenario::Scenario;
use packetloom::simulation::Outcome;
use packetloom::units::Time;
use std::path::Path;

/// A rack with links of 10 Gb/s and 25 us: a full packet (1.2 us per link) and its ACK (32 ns) take a round trip of
/// 4 × 25 + 2 × 1.2 + 2 × 0.032 us.
const ROUND_TRIP: Time = Time::from_ns(102_464);

/// The completion time of a flow of so many packets that is alone in that rack.
fn alone(transport: &str, packets: u64) -> Time {
    let outcome = run(&format!(
        r#"
[topology]
kind = "rack"
hosts = 2
link = {{ rate = "10Gbps", delay = "25us" }}

[[workload]]
sizes = {{ kind = "constant", size = "{}B" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 0, dst = 1 }}

[[scheme]]
name = "alone"
transport = {transport}
queue = "drop-tail"
"#,
        packets * 1460
    ));
    fct(&outcome.flows[0])
}

#[test]
fn slow_start_doubles_the_window_every_round_trip() {
    // With a window of one at first, round r begins with packet 2^r; with ten, with packet 10 × 2^r − 9.
    for (initial_window, rounds) in [(1_u64, 6_u64), (10, 3)] {
        let tcp = format!(r#"{{ kind = "tcp", initial_window = {initial_window}, min_rto = "10ms" }}"#);
        for round in 0..=rounds {
            let packets = initial_window * ((1 << round) - 1) + 1;
            assert_eq!(alone(&tcp, packets), alone(&tcp, 1) + ROUND_TRIP.times(round), "{packets} packets");
        }
    }
}

#[test]
fn congestion_avoidance_adds_a_packet_every_round_trip() {
    let tcp = r#"{ kind = "tcp", initial_window = 8, initial_ssthresh = 8, min_rto = "10ms" }"#;
    // RFC 5681 §3.1, equation 3, in packets: each acknowledgement adds 1/cwnd.
    let (mut window, mut acknowledged, mut sent) = (8.0_f64, 0, 8);
    for round in 1..=20 {
        let begins_with = sent + 1;
        while acknowledged + 1 < begins_with {
            acknowledged += 1;
            window += 1.0 / window;
            sent = sent.max(acknowledged + window as u64);
        }
        assert_eq!(alone(tcp, begins_with), alone(tcp, 1) + ROUND_TRIP.times(round), "round {round}");
        let growth = (window - 8.0) / round as f64;
        assert!((0.85..=1.0).contains(&growth), "round {round}: {growth} packets each");
    }
}

#[test]
fn a_fixed_window_is_sent_every_round_trip() {
    let transport = r#"{ kind = "fixed-window", initial_window = 7 }"#;
    for round in 0..5 {
        assert_eq!(alone(transport, 7 * round + 1), alone(transport, 1) + ROUND_TRIP.times(round));
    }
}

/// One flow of so many packets, the first 20 of which leave at 40 Gb/s, for a link of 10 Gb/s with a buffer for so
/// many.
fn burst(transport: &str, packets: u32, room: u32) -> Outcome {
    run(&format!(
        r#"
[topology]
kind = "leaf-spine"
spines = 1
leaves = 2
hosts_per_leaf = 1
host_link = {{ rate = "40Gbps", delay = "5us" }}
link = {{ rate = "10Gbps", delay = "5us" }}

[[workload]]
sizes = {{ kind = "constant", size = "{}B" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 0, dst = 1 }}

[[scheme]]
name = "burst"
transport = {transport}
queue = {{ kind = "drop-tail", capacity = "{room} packets" }}
nic = "drop-tail"
"#,
        packets * 1460
    ))
}

fn tcp_burst(fast_retransmit: bool, room: u32) -> Outcome {
    burst(
        &format!(
            r#"{{ kind = "tcp", initial_window = 20, initial_ssthresh = 20, min_rto = "5ms", fast_retransmit = {fast_retransmit} }}"#
        ),
        30,
        room,
    )
}

fn drops(outcome: &Outcome) -> u64 {
    outcome.ports.iter().map(|port| port.counters.drops).sum()
}

#[test]
fn fast_retransmit_repairs_a_loss_without_a_timeout() {
    // As the twentieth packet comes five have gone to the link, so fifteen would wait.
    let whole = tcp_burst(true, 15);
    assert_eq!((drops(&whole), whole.flows[0].report.retransmissions), (0, 0));

    let fast = tcp_burst(true, 14);
    assert_eq!(drops(&fast), 1);
    let report = fast.flows[0].report;
    assert_eq!((report.packets_sent, report.retransmissions, report.timeouts), (31, 1, 0));
    // The loss is known, and repaired at once, when the third packet after it is acknowledged; without it the flow
    // would end with the tenth packet after it, seven packets' times later, but with no round trip in between: eight
    // links of 5 us, two of them fast and two slow each way.
    let round_trip = 8 * 5_000 + 2 * (300 + 1_200) + 2 * (8 + 32);
    let late = fct(&fast.flows[0]) - fct(&whole.flows[0]);
    assert_eq!(late, Time::from_ns(round_trip - 7 * 1_200));

    let slow = tcp_burst(false, 14);
    assert_eq!(drops(&slow), 1);
    let report = slow.flows[0].report;
    assert_eq!((report.packets_sent, report.retransmissions, report.timeouts), (31, 1, 1));
    assert!(fct(&slow.flows[0]) > Time::from_us(5_000));
}

#[test]
fn selective_acknowledgements_repair_several_losses_without_sending_anything_twice() {
    for room in [4, 8, 11] {
        for fast_retransmit in [true, false] {
            let outcome = tcp_burst(fast_retransmit, room);
            let report = outcome.flows[0].report;
            assert!(drops(&outcome) > 2);
            assert_eq!(u64::from(report.retransmissions), drops(&outcome), "room for {room}: {report:?}");
            assert_eq!(report.timeouts, u32::from(!fast_retransmit), "room for {room}");
        }
    }
}

/// A burst of TCP's with keys beside the window.
fn burst_with(keys: &str, packets: u32, room: u32) -> Outcome {
    let window = "initial_window = 20, initial_ssthresh = 20";
    burst(&format!(r#"{{ kind = "tcp", {window}, min_rto = "5ms", {keys} }}"#), packets, room)
}

#[test]
fn what_has_arrived_is_sent_again_only_after_a_timeout() {
    // The twentieth of the burst is lost; the ten after it arrive.
    let [missing, all] = ["missing", "all"]
        .map(|what| burst_with(&format!(r#"window_measure = "sequence", after_timeout = {what:?}"#), 30, 14));
    let report = all.flows[0].report;
    assert_eq!((drops(&all), report.retransmissions, report.timeouts), (1, 1, 0));
    assert_eq!(fct(&all.flows[0]), fct(&missing.flows[0]));
}

#[test]
fn rack_finds_a_loss_as_soon_as_something_sent_a_round_trip_later_has_arrived() {
    // The twentieth of the burst is lost. What comes next was sent when the first was acknowledged.
    let rack = burst_with(r#"loss_detection = "rack""#, 30, 14);
    let duplicates = tcp_burst(true, 14);
    assert_eq!(rack.flows[0].report, duplicates.flows[0].report);
    assert_eq!(fct(&rack.flows[0]) + Time::from_ns(2 * 1_200), fct(&duplicates.flows[0]));
}

#[test]
fn rack_waits_a_quarter_of_a_round_trip_for_what_was_sent_together() {
    // A burst of 21, of which the twentieth is lost: too late for three duplicates.
    let end_of_a_burst = |detection: &str| {
        let keys = format!("initial_window = 21, loss_detection = {detection:?}");
        burst(&format!(r#"{{ kind = "tcp", min_rto = "5ms", {keys} }}"#), 21, 14)
    };
    let duplicates = end_of_a_burst("rfc6675");
    assert_eq!((drops(&duplicates), duplicates.flows[0].report.timeouts), (1, 1));
    let rack = end_of_a_burst("rack");
    let report = rack.flows[0].report;
    assert_eq!((drops(&rack), report.retransmissions, report.timeouts), (1, 1, 0));
    // The first round trip is the shortest; the last packet is the twentieth on the slow link. A quarter of a round
    // trip later the lost one leaves.
    let one_way_ns = 4 * 5_000 + 2 * (300 + 1_200);
    let shortest_ns = one_way_ns + 4 * 5_000 + 2 * (8 + 32);
    let left_ns = shortest_ns + 19 * 1_200 + shortest_ns / 4;
    assert_eq!(fct(&rack.flows[0]), Time::from_ns(left_ns + one_way_ns));
}

/// A burst of 40 packets for a queue of four, most of which are lost.
fn lossy_burst(keys: &str) -> Outcome {
    let window = "initial_window = 40, initial_ssthresh = 40";
    burst(&format!(r#"{{ kind = "tcp", {window}, min_rto = "5ms", {keys} }}"#), 120, 4)
}

#[test]
fn rack_finds_that_a_retransmission_was_lost() {
    // What is sent again comes together to the queue, and some of it is lost again.
    let [duplicates, rack] =
        ["rfc6675", "rack"].map(|detection| lossy_burst(&format!("loss_detection = {detection:?}")));
    assert_eq!(duplicates.flows[0].report.timeouts, 1);
    let report = rack.flows[0].report;
    assert_eq!((u64::from(report.retransmissions), report.timeouts), (drops(&rack), 0));
    assert!(fct(&rack.flows[0]) < Time::from_us(300) && fct(&duplicates.flows[0]) > Time::from_us(5_000));
}

#[test]
fn with_prr_what_is_sent_again_does_not_come_together() {
    // While they come, for 11.7 us, ten go to the link; four wait.
    let lost_at_first = 40 - 10 - 4;
    assert!(drops(&lossy_burst("")) > lost_at_first);
    for detection in ["rfc6675", "rack"] {
        let prr = lossy_burst(&format!(r#"loss_detection = {detection:?}, reduction = "prr""#));
        let report = prr.flows[0].report;
        assert_eq!((u64::from(report.retransmissions), report.timeouts), (lost_at_first, 0), "{detection}");
        assert_eq!(drops(&prr), lost_at_first, "{detection}");
    }
}

/// The longest time in us for which a DCTCP sender sends nothing: its window of 100 packets is halved at the first
/// mark and lasts for the rest of the flow.
fn longest_pause_us(reduction: &str) -> u32 {
    let toml = format!(
        r#"
[topology]
kind = "leaf-spine"
spines = 1
leaves = 2
hosts_per_leaf = 1
host_link = {{ rate = "40Gbps", delay = "5us" }}
link = {{ rate = "10Gbps", delay = "5us" }}

[[workload]]
sizes = {{ kind = "constant", size = "438kB" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 0, dst = 1 }}

[[scheme]]
name = "marked"
transport = {{ kind = "dctcp", initial_window = 100, initial_ssthresh = 100, reduction = {reduction:?} }}
queue = {{ kind = "ecn", mark_above = "80 packets" }}

[measure]
series_interval = "1us"
"#
    );
    let outcome = run(&toml);
    let host = port(&outcome, "host0", "leaf0").link as u32;
    let sent = outcome.samples().filter(|sample| sample.0 == host).map(|sample| sample.3 > 0);
    let sent: Vec<bool> = sent.collect();
    let last = sent.iter().rposition(|&sends| sends).expect("it sent something");
    // After the first window has left, before the first acknowledgement, it waits in any case.
    let after = sent[..last].iter().enumerate().filter(|(at, _)| *at > 45);
    let pauses = after.scan(0, |pause, (_, &sends)| {
        *pause = if sends { 0 } else { *pause + 1 };
        Some(*pause)
    });
    pauses.max().expect("it sent for longer than a round trip")
}

#[test]
fn with_prr_a_window_shrinks_for_marks_without_a_pause() {
    // Fifty packets come to the receiver in the meantime, one in 1.2 us.
    assert!((50..=70).contains(&longest_pause_us("at-once")), "{}", longest_pause_us("at-once"));
    assert!(longest_pause_us("prr") <= 3, "{}", longest_pause_us("prr"));
}

#[test]
fn a_least_variation_is_added_to_the_round_trip_time() {
    // All but the last packet come; that one is lost, alone, and timed from the last acknowledgement before it.
    let [timeout, variation] = ["timeout", "variation"]
        .map(|bounds| fct(&burst_with(&format!("min_rto_bounds = {bounds:?}"), 20, 14).flows[0]));
    let longer = variation - timeout;
    // A smoothed round-trip time of a burst's, from 43 to 60 us.
    assert!((Time::from_us(43)..Time::from_us(60)).contains(&longer), "{longer}");
}

#[test]
fn delayed_acknowledgements_are_half_as_many() {
    for (delayed, packets, expected) in [(false, 50, 50), (true, 50, 25), (true, 49, 25)] {
        let outcome = run(&format!(
            r#"
[topology]
kind = "rack"
hosts = 2

[[workload]]
sizes = {{ kind = "constant", size = "{}B" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 0, dst = 1 }}

[[scheme]]
name = "delayed"
transport = {{ kind = "tcp", delayed_ack = {delayed} }}
queue = "drop-tail"
"#,
            packets * 1460
        ));
        assert_eq!(port(&outcome, "host1", "switch0").counters.packets, expected);
    }
}

/// Two flows to host 0: one with a deadline, of 5080 packets, which keep the link busy for 6.1 ms; and one of 40
/// without, which the queue lets through when the other is done.
fn starved(transport: &str) -> Outcome {
    run(&format!(
        r#"
[topology]
kind = "rack"
hosts = 3
link = {{ rate = "10Gbps", delay = "1us" }}

[[workload]]
sizes = {{ kind = "constant", size = "7416800B" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 1, dst = 0 }}
deadlines = {{ kind = "fixed", after = "1s" }}

[[workload]]
sizes = {{ kind = "constant", size = "58400B" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 2, dst = 0 }}
start = "20us"

[[scheme]]
name = "starved"
transport = {{ priority = "deadline", {transport} }}
queue = {{ kind = "pfabric", capacity = "1MB" }}
nic = "drop-tail"
"#
    ))
}

/// What the starved flow's host sent beside data.
fn probes(outcome: &Outcome) -> u64 {
    let sent = port(outcome, "host2", "switch0").counters.packets;
    sent - u64::from(outcome.flows[1].report.packets_sent)
}

const TWENTY_PACKETS: &str =
    r#"initial_window = 20, max_window = 20, min_rto = "200us", rto_estimation = false"#;

#[test]
fn timeouts_are_doubled_up_to_the_greatest() {
    // 6.1 ms hold 30 timeouts of 200 us; 200 + 400 + 800 + 1600 us; or 200 us and fourteen of 400 us.
    for (more, timeouts) in
        [("backoff = false", 30), ("backoff = true", 4), (r#"backoff = true, max_rto = "400us""#, 15)]
    {
        let outcome = starved(&format!(r#"kind = "tcp", {TWENTY_PACKETS}, {more}"#));
        let [first, second] = [0, 1].map(|flow| outcome.flows[flow].report);
        assert_eq!((first.timeouts, second.timeouts), (0, timeouts), "{more}");
        assert_eq!(second.packets_sent, 40 + second.retransmissions, "{more}");
        assert_eq!(probes(&outcome), 0, "{more}");
        // Each timeout sends one packet again.
        assert!(second.retransmissions >= timeouts, "{more}");
    }
}

#[test]
fn min_tcp_probes_from_the_fifth_timeout_in_a_row_on() {
    let with = starved(&format!(r#"kind = "min-tcp", {TWENTY_PACKETS}"#));
    let report = with.flows[1].report;
    assert_eq!((report.timeouts, probes(&with)), (30, 26));

    let without = starved(&format!(r#"kind = "min-tcp", {TWENTY_PACKETS}, probe_after = 1000"#));
    assert_eq!((without.flows[1].report.timeouts, probes(&without)), (30, 0));
    assert!(without.flows[1].report.packets_sent >= report.packets_sent + 26);
}

#[test]
fn line_rate_probes_after_five_timeouts_of_silence() {
    let outcome = starved(r#"kind = "line-rate", rto = "200us""#);
    // Silent from its start on, it sends at line rate for 1 ms, which sends each of its 40 packets five times; then
    // a probe each 200 us of the 5.1 ms that are left.
    let probes = probes(&outcome);
    assert!((24..=27).contains(&probes), "{probes}");
    let sent = outcome.flows[1].report.packets_sent;
    assert!((200..=240).contains(&sent), "{sent}");
}

#[test]
fn dctcp_answers_marks_and_only_in_proportion() {
    let mean_queue = |more: &str| {
        let outcome = run(&format!(
            r#"
[topology]
kind = "leaf-spine"
spines = 1
leaves = 2
hosts_per_leaf = 1
host_link = {{ rate = "40Gbps", delay = "2us" }}
link = {{ rate = "10Gbps", delay = "2us" }}

[[workload]]
sizes = {{ kind = "constant", size = "20MB" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 0, dst = 1 }}

[[scheme]]
name = "marked"
transport = {{ kind = "dctcp", initial_ssthresh = 10, {more} }}
queue = {{ kind = "ecn", mark_above = "30KB" }}

[measure]
queues = true
"#
        ));
        let queue = port(&outcome, "leaf0", "spine0").queue.as_ref().expect("queues are watched");
        (queue.mean_bytes(), queue.percentile_bytes(0.02))
    };
    let (dctcp, dctcp_low) = mean_queue("g = 0.0625");
    assert!((25_000.0..33_000.0).contains(&dctcp), "{dctcp}");
    // With an estimate that stays at 1 every mark halves the window, as in TCP with ECN: the queue runs empty.
    let (halved, halved_low) = mean_queue("g = 0.000001");
    assert!(halved < 0.8 * dctcp && halved_low < dctcp_low / 2, "{halved}, {halved_low} for {dctcp_low}");
}

#[test]
fn every_flow_finishes_with_buffers_of_one_packet() {
    for transport in ["tcp", "dctcp", "min-tcp", "line-rate", r#"fixed-window", min_rto = "1ms"#] {
        for (queue, routing) in [
            (r#"{ kind = "drop-tail", capacity = "1 packets" }"#, "ecmp"),
            (r#"{ kind = "ecn", capacity = "1 packets", mark_above = "0 packets" }"#, "spray-random"),
            (r#"{ kind = "pfabric", capacity = "1.5KB" }"#, "spray-round-robin"),
        ] {
            // The hosts' own ports too: without an entry they have the switches' queue.
            let outcome = run(&format!(
                r#"
[topology]
kind = "fat-tree"
k = 4

[[workload]]
sizes = {{ kind = "exponential", mean = "30KB" }}
arrivals = {{ kind = "at-once", rounds = 3 }}
pattern = {{ kind = "incast", fan_in = 15 }}

[[scheme]]
name = "lossy"
transport = {{ kind = "{transport}" }}
queue = {queue}
nic = {queue}
routing = "{routing}"
"#
            ));
            assert_eq!(outcome.flows.len(), 45);
            assert_eq!(outcome.warnings, Vec::<String>::new(), "{transport}, {queue}");
            assert!(outcome.flows.iter().all(|row| row.fct().is_some()), "{transport}, {queue}");
            assert!(drops(&outcome) > 300, "{transport}, {queue}: {} drops", drops(&outcome));
        }
    }
}

/// Senders much too quick to try again have packets on their way when their flows are long over. Tests run audited:
/// no flow may begin anew with them.
#[test]
fn what_arrives_after_its_flow_was_over_starts_nothing() {
    let dumbbell = "6 2 5\n4 5\n0 4 10Gbps 1000ns 0\n1 4 10Gbps 1000ns 0\n2 5 10Gbps 1000ns 0\n\
                    3 5 10Gbps 1000ns 0\n4 5 40Gbps 1000ns 0\n";
    write_file("hasty-topology.txt", dumbbell);
    let outcome = run(r#"
[topology]
kind = "hpcc"
file = "hasty-topology.txt"

[[workload]]
sizes = { kind = "pareto", shape = 5.070926340203979, minimum = "1B" }

[[scheme]]
name = "hasty"
transport = { kind = "fixed-window", min_rto = "100ns" }
queue = "pfabric"

[run]
loads = [0.3]
flows = 22
max_time = "300us"
seeds = [630]
"#);
    assert!(outcome.flows.iter().any(|row| row.report.retransmissions > 40));
}

#[test]
fn parameters_that_make_no_sense_together_are_refused() {
    let complaints = [
        (r#"kind = "cubic", rto_estimation = false"#, "rto_estimation: cubic looks a round trip ahead"),
        (
            r#"kind = "tcp", loss_detection = "rack", fast_retransmit = false"#,
            "loss_detection: RACK retransmits before a timeout, which fast_retransmit = false rules out",
        ),
        (
            r#"kind = "dctcp", reduction = "prr", window_measure = "sequence""#,
            "reduction: PRR regulates the pipe, which window_measure = \"sequence\" does not count",
        ),
        (
            r#"kind = "tcp", after_timeout = "all""#,
            "after_timeout: what has arrived counts nothing in the pipe, so all of it would go at once; write window_measure = \"sequence\", too",
        ),
    ];
    for (transport, complaint) in complaints {
        let scenario = format!(
            r#"
[topology]
kind = "rack"
hosts = 2

[[workload]]
sizes = {{ kind = "constant", size = "1KB" }}

[[scheme]]
name = "senseless"
transport = {{ {transport} }}
queue = "drop-tail"
"#
        );
        let problems =
            Scenario::from_toml(&scenario, "test", Path::new(".")).expect_err(transport).to_string();
        assert!(problems.contains(&format!("scheme[0].transport.{complaint}")), "{problems}");
    }
}

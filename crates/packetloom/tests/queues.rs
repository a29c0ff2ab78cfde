//! Queue disciplines as they work in a network. What they do with one packet at a time is tested beside them.

use crate::common::{fct, port, run};
use packetloom::measure::FlowRow;
use packetloom::simulation::Outcome;
use packetloom::units::Time;

/// Forty packets that leave at 40 Gb/s for a link of 10 Gb/s. As packet j comes (from 0), packets 0, 4, 8, ... have
/// gone to the link: j − ⌊j/4⌋ − 1 wait before it.
fn burst(transport: &str, queue: &str) -> Outcome {
    run(&format!(
        r#"
[topology]
kind = "leaf-spine"
spines = 1
leaves = 2
hosts_per_leaf = 1
host_link = {{ rate = "40Gbps", delay = "50us" }}
link = {{ rate = "10Gbps", delay = "50us" }}

[[workload]]
sizes = {{ kind = "constant", size = "58400B" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 0, dst = 1 }}

[[scheme]]
name = "burst"
transport = {{ kind = "{transport}", initial_window = 40, min_rto = "10ms" }}
queue = {queue}
nic = "drop-tail"
"#
    ))
}

fn marks_of_a_burst(transport: &str, queue: &str) -> u64 {
    let outcome = burst(transport, queue);
    assert_eq!(outcome.flows[0].report.packets_sent, 40);
    port(&outcome, "leaf0", "spine0").counters.marks
}

#[test]
fn what_fits_joins_or_anything_until_the_queue_is_full() {
    // Ten packets wait at most; what is lost is sent again.
    let drops = |capacity: &str, admits: &str| {
        let queue = format!(r#"{{ kind = "drop-tail", capacity = "{capacity}", admits = "{admits}" }}"#);
        let outcome = burst("fixed-window", &queue);
        port(&outcome, "leaf0", "spine0").counters.drops
    };
    let ten = drops("15000B", "what-fits");
    assert!((15..30).contains(&ten), "{ten}");
    assert_eq!(drops("13501B", "until-full"), ten);
    assert_eq!(drops("15000B", "until-full"), ten);
    assert!(drops("13501B", "what-fits") > ten);
    assert!(drops("15001B", "until-full") < ten);
}

#[test]
fn ecn_marks_what_finds_more_than_the_threshold() {
    // Eleven or more wait from packet 15 on, twelve or more from packet 17 on.
    for (threshold, marks) in [("15000B", 25), ("16499B", 25), ("16500B", 23), ("10 packets", 25)] {
        let queue = format!(r#"{{ kind = "ecn", mark_above = "{threshold}" }}"#);
        assert_eq!(marks_of_a_burst("dctcp", &queue), marks, "{threshold}");
        assert_eq!(marks_of_a_burst("tcp", &queue), 0, "TCP does not understand marks");
    }
}

#[test]
fn red_marks_nothing_below_and_everything_above_its_thresholds() {
    let red = |min: u32, max: u32, probability: f64| {
        let queue = format!(
            r#"{{ kind = "red", min = "{min}B", max = "{max}B", max_probability = {probability:.1} }}"#
        );
        marks_of_a_burst("dctcp", &queue)
    };
    // From packet 15 on 16500 B or more wait; at most 43500 B do.
    assert_eq!(red(16_498, 16_499, 0.0), 25);
    assert_eq!(red(0, 100_000, 0.0), 0);
    assert_eq!(red(100_000, 200_000, 1.0), 0);
    let between = red(0, 45_000, 1.0);
    assert!((10..30).contains(&between), "{between}");
}

/// Two senders each to hosts 0 and 1, or to host 0 alone, with much more than the buffer holds.
fn largest_queues(receivers: u32, queue: &str) -> Vec<f64> {
    let source = |sender: u32| {
        let receiver = sender % receivers;
        format!(
            r#"
[[workload]]
sizes = {{ kind = "constant", size = "1MB" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = {}, dst = {receiver} }}
"#,
            sender + receivers
        )
    };
    let sources: String = (0..2 * receivers).map(source).collect();
    let outcome = run(&format!(
        r#"
[topology]
kind = "rack"
hosts = 6
{sources}
[[scheme]]
name = "pool"
transport = {{ kind = "fixed-window", initial_window = 1_000 }}
queue = {queue}
nic = "drop-tail"

# Until then every sender sends its window for the first time, so every queue is at its threshold.
[run]
max_time = "700us"

[measure]
queues = true
"#
    ));
    let largest = |host| {
        let port = port(&outcome, "switch0", &format!("host{host}"));
        port.queue.as_ref().expect("queues are watched").largest_bytes() as f64
    };
    (0..receivers).map(largest).collect()
}

#[test]
fn a_pool_is_shared_by_dynamic_thresholds() {
    // Choudhury and Hahne (1998): each of S congested queues may hold alpha / (1 + alpha S) of the pool.
    for (receivers, alpha) in [(1, 1.0), (2, 1.0), (2, 0.5), (2, 2.0)] {
        let share = 300_000.0 * alpha / (1.0 + alpha * f64::from(receivers));
        let queue = format!(r#"{{ kind = "drop-tail", pool = "300KB", pool_alpha = {alpha} }}"#);
        for largest in largest_queues(receivers, &queue) {
            assert!((largest - share).abs() <= 3_000.0, "{receivers} ports, {alpha}: {largest} of {share}");
        }
    }
}

#[test]
fn under_abm_all_ports_together_take_what_one_may() {
    for (receivers, alpha) in [(1, 1.0), (2, 1.0), (2, 0.5), (2, 2.0)] {
        let share = 300_000.0 * alpha / (1.0 + alpha) / f64::from(receivers);
        let queue = format!(
            r#"{{ kind = "egress", buffer = {{ kind = "abm", size = "300KB", alphas = [{alpha:.1}] }} }}"#
        );
        for largest in largest_queues(receivers, &queue) {
            assert!((largest - share).abs() <= 3_000.0, "{receivers} ports, {alpha}: {largest} of {share}");
        }
    }
}

fn sent_by(outcome: &Outcome, host: u32) -> f64 {
    port(outcome, &format!("host{host}"), "switch0").counters.bytes as f64
}

#[test]
fn classes_share_a_link_by_their_weights() {
    for weights in [[1, 1], [3, 1], [1, 10]] {
        let source = |class: u32| {
            format!(
                r#"
[[workload]]
sizes = {{ kind = "constant", size = "1GB" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = {}, dst = 0 }}
class = {class}
"#,
                class + 1
            )
        };
        let outcome = run(&format!(
            r#"
[topology]
kind = "rack"
hosts = 3
{}{}
[[scheme]]
name = "classes"
transport = {{ kind = "fixed-window", initial_window = 50, min_rto = "1s" }}
queue = {{ kind = "classes", weights = {weights:?}, queue = "drop-tail" }}
nic = "drop-tail"

[run]
max_time = "100ms"
"#,
            source(0),
            source(1)
        ));
        let expected = f64::from(weights[0]) / f64::from(weights[1]);
        let measured = sent_by(&outcome, 1) / sent_by(&outcome, 2);
        assert!((measured / expected - 1.0).abs() < 0.05, "{weights:?}: {measured}");
    }
}

/// How late a flow of ten packets is that meets a long one at a port.
fn late(queue: &str) -> Time {
    let outcome = run(&format!(
        r#"
[topology]
kind = "rack"
hosts = 3

[[workload]]
sizes = {{ kind = "constant", size = "1MB" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 1, dst = 0 }}

[[workload]]
sizes = {{ kind = "constant", size = "14600B" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 2, dst = 0 }}
start = "100.7us"

[[scheme]]
name = "priority"
transport = "line-rate"
queue = {queue}
nic = "drop-tail"
"#
    ));
    let short = &outcome.flows[1];
    assert_eq!(short.flow.size_bytes, 14_600);
    fct(short) - short.best_fct
}

#[test]
fn pfabric_lets_a_short_flow_pass() {
    // It waits for the packet in service and no other.
    let late_in_pfabric = late(r#"{ kind = "pfabric", capacity = "22.5KB" }"#);
    assert!(late_in_pfabric <= Time::from_ns(1_200), "{late_in_pfabric}");
    // First in, first out, every packet of the short flow waits for one of the long flow's.
    let late_in_line = late(r#""drop-tail""#);
    assert!(late_in_line >= Time::from_ns(9 * 1_200), "{late_in_line}");
}

/// Small flows that time out where the flows to one host bring 1.7 times what its link carries.
fn small_flows_that_time_out(drops: &str) -> usize {
    let outcome = run(&format!(
        r#"
[topology]
kind = "rack"
hosts = 12

[[workload]]
sizes = "web-search"
pattern = {{ kind = "incast", receiver = 0, fan_in = 1 }}

[[scheme]]
name = "pFabric"
transport = {{ kind = "min-tcp", initial_window = 12, max_window = 14, min_rto = "40us" }}
queue = {{ kind = "pfabric", capacity = "22499B", ties = "order", drops = "{drops}" }}

[run]
loads = [1.7]
flows = 400
"#
    ));
    let is_it = |row: &&FlowRow| row.flow.size_bytes <= 100_000 && row.report.timeouts > 0;
    outcome.flows.iter().filter(is_it).count()
}

/// Flows that starve probe. Where a probe can't be dropped for a data packet, as it makes too little room, probes take
/// that of small flows' packets, whatever their priority.
#[test]
fn probes_that_stay_in_a_pfabric_queue_make_small_flows_time_out() {
    let [lowest, large_enough] = ["lowest", "large-enough"].map(small_flows_that_time_out);
    assert!(large_enough > 2 * lowest && large_enough > 5, "{lowest} and {large_enough}");
}

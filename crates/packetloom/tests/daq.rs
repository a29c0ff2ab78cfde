//! DAQ: nothing is lost, on any topology; near deadlines go first; and each class has its share.

mod common;

use common::{cases, fct, mean, port, run, utilisation};
use packetloom::simulation::{ClassSample, Outcome, Simulation};
use packetloom::units::Time;

const RACK: &str = r#"
kind = "rack"
hosts = 41
link = { rate = "1Gbps", delay = "75us" }
"#;

fn daq(topology: &str, workloads: &str, queue: &str, run: &str) -> String {
    format!(
        r#"
[topology]
{topology}
{workloads}
[[scheme]]
name = "DAQ"
transport = "daq"
queue = {{ kind = "daq"{queue} }}

[measure]
queues = true

[run]
{run}
"#
    )
}

/// No switch port dropped anything or held more than so much.
fn is_lossless(outcome: &Outcome, capacity_bytes: u64) {
    for port in &outcome.ports[outcome.topology.hosts as usize..] {
        let queue = port.queue.as_ref().expect("watched");
        assert_eq!(port.counters.drops, 0, "{port:?}");
        assert!(queue.largest_bytes() <= capacity_bytes, "{} B", queue.largest_bytes());
    }
    assert!(outcome.flows.iter().all(|row| row.fct().is_some() && row.report.retransmissions == 0));
}

#[test]
fn an_incast_loses_nothing_even_where_a_worker_has_room_for_one_packet() {
    // 40 workers × 100 KB; each may have 1500 B at the switch. Control packets are not counted against buffers.
    let workload = r#"
[[workload]]
sizes = { kind = "constant", size = "100KB" }
arrivals = "at-once"
pattern = { kind = "incast", fan_in = 40, receiver = 0 }
deadlines = { kind = "fixed", after = "20ms" }
"#;
    let queue = r#", short_capacity = "60KB", long_capacity = "60KB""#;
    let outcome = run(&daq(RACK, workload, queue, ""));
    is_lossless(&outcome, 60_000 + 41 * 40);
    let used = port(&outcome, "switch0", "host0").queue.as_ref().expect("watched").largest_bytes();
    assert!(used > 55_000, "{used} B");
    // The link stays busy: 40 × 69 packets at 1 Gb/s and a few round trips.
    let last = outcome.flows.iter().map(fct).max().expect("flows");
    assert!(last < Time::from_us(36_000), "{last}");
}

#[test]
fn a_fat_tree_under_load_loses_nothing() {
    let workload = r#"
[[workload]]
sizes = "web-search"
share = 0.6

[[workload]]
sizes = { kind = "uniform", minimum = "2KB", maximum = "58KB" }
pattern = { kind = "incast", fan_in = 12 }
deadlines = { kind = "exponential", mean = "2ms" }
share = 0.4
"#;
    let queue = r#", short_capacity = "30KB", long_capacity = "30KB", rtt = "20us""#;
    for topology in [
        "kind = \"fat-tree\"\nk = 4\n",
        "kind = \"leaf-spine\"\nspines = 2\nleaves = 4\nhosts_per_leaf = 6\nlink = { rate = \"10Gbps\", delay = \"0.3us\" }\n",
    ] {
        let outcome = run(&daq(topology, workload, queue, "loads = [0.8]\nflows = 600\n"));
        is_lossless(&outcome, 60_000 + 100 * 40);
        let largest =
            outcome.ports.iter().filter_map(|port| port.queue.as_ref()).map(|queue| queue.largest_bytes());
        assert!(largest.max() > Some(30_000), "the buffers were hardly used");
    }
}

#[test]
fn five_long_flows_fill_the_link() {
    let workload = r#"
[[workload]]
sizes = { kind = "constant", size = "20MB" }
arrivals = "at-once"
pattern = { kind = "incast", fan_in = 5, receiver = 0 }
"#;
    let outcome = run(&daq(RACK, workload, "", ""));
    is_lossless(&outcome, 4_000_000);
    let used = utilisation(&outcome, port(&outcome, "switch0", "host0"));
    assert!(used > 0.97, "{used}");
}

#[test]
fn neither_class_falls_below_its_weight() {
    // Both classes could fill the link; each host sends one of them.
    let flows = |name: &str, deadlines: &str| {
        format!(
            "[[workload]]\nsizes = {{ kind = \"constant\", size = \"50MB\" }}\narrivals = \"at-once\"\n\
             pattern = {{ kind = \"pair\", src = {name}, dst = 0 }}\n{deadlines}"
        )
    };
    let workload = flows("1", "deadlines = { kind = \"fixed\", after = \"10s\" }\n") + &flows("2", "");
    for (weight_ratio, short_share) in [(0.25, 0.2), (1.0, 0.5), (4.0, 0.8)] {
        // Long windows, so that both wait at the switch all the time.
        let queue = format!(", weight_ratio = {weight_ratio}");
        let toml = daq(RACK, &workload, &queue, "max_time = \"200ms\"\n").replace(
            "transport = \"daq\"",
            "transport = { kind = \"daq\", max_queue = \"1s\", initial_window = 20 }",
        );
        let outcome = run(&toml);
        let sent = |host: &str| port(&outcome, host, "switch0").counters.bytes as f64;
        let share = sent("host1") / (sent("host1") + sent("host2"));
        assert!((share - short_share).abs() < 0.03, "{weight_ratio}: {share}");
    }
}

#[test]
fn credits_are_conserved_and_neither_class_uses_more_than_its_window() {
    let workload = r#"
[[workload]]
sizes = { kind = "constant", size = "200KB" }
arrivals = "at-once"
pattern = { kind = "incast", fan_in = 20, receiver = 0 }
deadlines = { kind = "fixed", after = "20ms" }

[[workload]]
sizes = { kind = "constant", size = "400KB" }
arrivals = "at-once"
pattern = { kind = "incast", fan_in = 20, receiver = 0 }
class = 1
"#;
    let measure = "queues = true\nseries_interval = \"100us\"\nby_class = true";
    let toml = daq(RACK, workload, r#", short_capacity = "120KB", long_capacity = "240KB""#, "")
        .replace("queues = true", measure);
    let outcome = run(&toml);
    is_lossless(&outcome, 360_000 + 41 * 40);
    let samples: Vec<ClassSample> = outcome.class_samples().collect();
    let last = samples.iter().map(|sample| sample.time_ns).fold(0.0, f64::max);
    let windows = [120_000 / 40, 240_000 / 40];
    let host_ports = 0..outcome.topology.hosts;
    let mut most_used = [0; 2];
    for sample in samples.iter().filter(|sample| host_ports.contains(&sample.port)) {
        let class = usize::from(sample.class);
        let used = sample.credit_bytes.expect("the far end is a switch");
        assert!(used <= windows[class], "{sample:?}");
        most_used[class] = most_used[class].max(used);
    }
    assert_eq!(most_used, windows.map(|window| window / 1_500 * 1_500));
    // Everything that was taken came back: nothing is under way after the last acknowledgement.
    let at_end = samples.iter().filter(|sample| sample.time_ns == last && host_ports.contains(&sample.port));
    let used: u64 = at_end.filter_map(|sample| sample.credit_bytes).sum();
    assert!(used <= 2 * 1_500, "{used} B");
    // What each class sent is what its flows brought: payload and headers.
    let to_aggregator = port(&outcome, "switch0", "host0").link as u32;
    for (class, bytes) in [(0_u8, 20 * (200_000 + 137 * 40)), (1, 20 * (400_000 + 274 * 40))] {
        let of_class = samples.iter().filter(|sample| (sample.port, sample.class) == (to_aggregator, class));
        assert_eq!(of_class.map(|sample| sample.data_bytes).sum::<u64>(), bytes);
    }
}

#[test]
fn near_deadlines_go_first() {
    let workload = r#"
[[workload]]
sizes = { kind = "constant", size = "60KB" }
arrivals = "at-once"
pattern = { kind = "incast", fan_in = 20, receiver = 0 }
deadlines = { kind = "fixed", after = "100ms" }

[[workload]]
sizes = { kind = "constant", size = "60KB" }
arrivals = "at-once"
pattern = { kind = "incast", fan_in = 10, receiver = 0 }
deadlines = { kind = "fixed", after = "9ms" }
"#;
    let late = |ratio: u32| {
        let outcome = run(&daq(RACK, workload, &format!(", ratio = {ratio}"), ""));
        let of = |source: u8| {
            let rows = outcome.flows.iter().filter(move |row| row.flow.source == source);
            mean(rows.map(|row| fct(row).as_ns_f64() / 1e6))
        };
        (of(0), of(1), outcome.flows.iter().filter(|row| !row.met_deadline()).count())
    };
    let every_flow_is_urgent = run(&daq(RACK, workload, ", ratio = 400", ""));
    assert!(every_flow_is_urgent.warnings[0].contains("every flow is urgent"));
    let (far, near, missed) = late(30);
    assert!(missed == 0 && near < 0.6 * far, "{near} and {far} ms, {missed} missed");
    // With one queue they share.
    let (far, near, missed) = late(0);
    assert!(missed >= 5 && near > 0.8 * far, "{near} and {far} ms, {missed} missed");
}

#[test]
fn a_weight_of_zero_is_an_error() {
    let workload = "[[workload]]\nsizes = \"web-search\"\n";
    let toml = daq(RACK, workload, ", weight_ratio = 0", "loads = [0.1]\nflows = 5\n");
    let problem = packetloom::scenario::Scenario::from_toml(&toml, "test", std::path::Path::new(""));
    let text = problem.err().expect("no weight at all").to_string();
    assert!(text.contains("weight_ratio") && text.contains("0.0001"), "{text}");
}

#[test]
fn what_would_hang_or_lose_is_an_error() {
    let workload = "[[workload]]\nsizes = \"web-search\"\n";
    let complaint = |queue: &str, change: (&str, &str)| {
        let toml = daq(RACK, workload, queue, "loads = [0.1]\nflows = 5\n").replace(change.0, change.1);
        Simulation::new(cases(&toml).remove(0)).err().map(|complaint| complaint.key)
    };
    let nothing = ("", "");
    assert_eq!(complaint("", nothing), None);
    let too_small = complaint(r#", short_capacity = "59KB""#, nothing);
    assert_eq!(too_small.as_deref(), Some("scheme.queue.short_capacity"));
    assert_eq!(complaint(r#", short_capacity = "60KB""#, nothing), None);
    let other_nic = complaint("", ("transport = \"daq\"", "transport = \"daq\"\nnic = \"drop-tail\""));
    assert_eq!(other_nic.as_deref(), Some("scheme.nic"));
    let other_queue = complaint("", ("{ kind = \"daq\" }", "\"drop-tail\""));
    assert_eq!(other_queue.as_deref(), Some("scheme.queue"));
}

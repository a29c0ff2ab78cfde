//! DAQ: nothing is lost, on any topology; near deadlines go first; and each class has its share.

use crate::common::{cases, fct, mean, port, run, utilisation};
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

/// A packet that comes cut-through by a slow link leaves by a fast one no sooner than all of it can; tests run
/// audited.
#[test]
fn credits_come_back_from_switches_that_cut_through_to_faster_links() {
    let topology = r#"
kind = "leaf-spine"
spines = 1
leaves = 2
hosts_per_leaf = 2
host_link = { rate = "10Gbps", delay = "1us" }
link = { rate = "40Gbps", delay = "1us" }
forwarding = "cut-through"
"#;
    let workload = r#"
[[workload]]
sizes = { kind = "constant", size = "3MB" }
arrivals = "at-once"
pattern = "permutation"
"#;
    for seed in 1..=4 {
        let outcome = run(&daq(topology, workload, "", &format!("flows = 4\nseeds = [{seed}]\n")));
        is_lossless(&outcome, 4_000_000);
    }
}

/// The link that a packet came by is kept beside the packet, so credits come back whatever chose its path.
#[test]
fn sources_may_choose_paths_behind_credits() {
    let topology = "kind = \"fat-tree\"\nk = 4\n";
    let workload = r#"
[[workload]]
sizes = { kind = "constant", size = "300KB" }
arrivals = "at-once"
pattern = "permutation"
"#;
    for routing in ["permutation", "spray-random"] {
        let toml = daq(topology, workload, "", "flows = 16\n");
        let toml =
            toml.replace("transport = \"daq\"", &format!("routing = \"{routing}\"\ntransport = \"daq\""));
        let outcome = run(&toml);
        is_lossless(&outcome, 4_000_000);
        // Every flow uses all of its paths; with a path for each flow some ports would stay idle.
        assert!(outcome.ports.iter().all(|row| row.counters.bytes > 0), "{routing}");
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
    let read = packetloom::scenario::Scenario::from_toml(&toml, "test", std::path::Path::new(""));
    let text = read.map_or_else(|problems| problems.to_string(), |_| String::new());
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

/// 20 workers of 40 answer queries that come every 2 ms, of which some overlap.
fn asked(transport: &str, queue: &str, rest: &str) -> String {
    format!(
        r#"
[topology]
{RACK}
[[workload]]
sizes = {{ kind = "constant", size = "60KB" }}
arrivals = {{ kind = "periodic", interval = "2ms" }}
pattern = {{ kind = "incast", fan_in = 20, receiver = 0, query = "64B", jitter = "100us" }}
deadlines = {{ kind = "fixed", after = "30ms" }}

[[scheme]]
name = "scheme"
transport = {transport}
queue = {queue}

[measure]
queues = true
series_interval = "50us"
by_class = true

[run]
flows = 200
{rest}
"#
    )
}

#[test]
fn a_query_lets_a_worker_use_the_buffer_over_their_number() {
    let queue = r#"{ kind = "daq", short_capacity = "240KB" }"#;
    let outcome = run(&asked(r#""daq""#, queue, "").replace("flows = 200", "flows = 20"));
    is_lossless(&outcome, 240_000 + 41 * 40);
    let used = |host| {
        let of_host = outcome.class_samples().filter(move |sample| (sample.port, sample.class) == (host, 0));
        of_host.filter_map(|sample| sample.credit_bytes).max().unwrap_or(0)
    };
    // Half of the buffer over the 40 links that can send to the aggregator, and half over the 20 workers: 3 KB and 6
    // KB.
    let workers: Vec<u32> = outcome.flows.iter().map(|row| row.flow.src).collect();
    assert_eq!(workers.iter().map(|&host| used(host)).max(), Some(9_000));
    assert!((1..41).filter(|host| !workers.contains(host)).all(|host| used(host) == 0));
}

#[test]
fn queries_that_overlap_lend_no_more_than_there_is_and_get_it_back() {
    for capacity_kb in [120, 240, 2_000] {
        let queue = format!(r#"{{ kind = "daq", short_capacity = "{capacity_kb}KB" }}"#);
        let outcome = run(&asked(r#""daq""#, &queue, ""));
        is_lossless(&outcome, capacity_kb * 1_000 + 41 * 40);
        let last_start = outcome.flows.iter().map(|row| row.flow.start).max().expect("flows");
        let before = outcome.flows.iter().filter(|row| row.delivered > last_start).count();
        assert!(before > 20, "queries must overlap: {before}");
        // After the last answer hosts hold no more than at first: their windows do not differ from unused ones.
        let at_end = outcome.class_samples().filter(|sample| sample.port < outcome.topology.hosts);
        let last = at_end.map(|sample| sample.time_ns).fold(0.0, f64::max);
        let used: u64 = outcome
            .class_samples()
            .filter(|sample| sample.port < outcome.topology.hosts && sample.time_ns == last)
            .filter_map(|sample| sample.credit_bytes)
            .sum();
        assert!(used <= 2 * 1_500, "{used} B");
    }
}

#[test]
fn an_answer_starts_when_its_query_has_come_and_has_its_whole_deadline() {
    for (transport, queue) in [
        (r#""daq""#, r#""daq""#),
        (r#""tcp""#, r#""drop-tail""#),
        (r#""d3""#, r#""drop-tail""#),
        (r#""pdq""#, r#""drop-tail""#),
        (r#""ndp""#, r#""ndp""#),
        (r#"{ kind = "min-tcp", priority = "deadline" }"#, r#"{ kind = "pfabric", capacity = "75KB" }"#),
    ] {
        let outcome = run(&asked(transport, queue, "").replace("flows = 200", "flows = 20"));
        assert_eq!(outcome.flows.len(), 20, "{transport}");
        // 64 B at 1 Gb/s and 75 us, twice; the last query waits for 19 others at the aggregator.
        let (query, way) = (Time::from_ns(512), Time::from_us(75) + Time::from_ns(512));
        for row in &outcome.flows {
            let arrives = row.flow.start.since(way.times(2));
            assert!(
                row.flow.start > way.times(2) && arrives <= Time::from_us(100) + query.times(19),
                "{row:?}"
            );
            assert_eq!(row.flow.deadline - row.flow.start, Time::from_us(30_000));
        }
    }
}

#[test]
fn a_query_that_is_lost_is_sent_again_and_one_that_can_not_come_ends_the_run() {
    let down = |host: u32, until: &str| {
        format!(
            "[[fault]]\nkind = \"link-down\"\nbetween = [\"host{host}\", \"switch0\"]\nat = \"0us\"\n{until}"
        )
    };
    let scenario = |fault: &str| {
        let all = asked(r#""tcp""#, r#""drop-tail""#, "").replace("flows = 200", "flows = 40");
        all.replace("fan_in = 20", "fan_in = 40") + fault
    };
    let outcome = run(&scenario(&down(7, "until = \"15ms\"\n")));
    assert_eq!((outcome.flows.len(), outcome.stalled.as_deref()), (40, None));
    let late = outcome.flows.iter().find(|row| row.flow.src == 7).expect("it answers");
    assert!((20_000..20_500).contains(&(late.flow.start.as_ps() / 1_000_000)), "the third query: {late:?}");
    let never = scenario(&down(7, "")).replace("query = ", "query_timeout = \"100us\", query = ");
    let why = run(&never).stalled.expect("one worker is never asked");
    assert!(why.contains("waits for its query"), "{why}");
}

#[test]
fn routers_that_measure_are_not_misled_by_queries() {
    // Rounds 100 ms apart: what a query adds after a long silence must not look like a queue that stood all the
    // while.
    let d3 = r#"{ kind = "d3", rtt = "300us", beta = 0.03 }"#;
    for transport in [r#""rcp""#, r#""pdq""#, d3] {
        let toml = asked(transport, r#""drop-tail""#, "");
        let toml =
            toml.replace("interval = \"2ms\"", "interval = \"100ms\"").replace("flows = 200", "flows = 60");
        let mean_fct = |toml: &str| mean(run(toml).flows.iter().map(|row| fct(row).as_ns_f64()));
        let (asked, by_themselves) = (mean_fct(&toml), mean_fct(&toml.replace("query = \"64B\", ", "")));
        assert!((asked / by_themselves - 1.0).abs() < 0.05, "{transport}: {asked} and {by_themselves} ns");
    }
}

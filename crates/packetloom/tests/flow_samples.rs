//! `measure.flows`: samples of flows at their senders, against values worked out by hand; and that they depend on
//! nothing but the case, which does not depend on them.

use crate::common::{cases, required_keys, run, write_file};
use packetloom::engine::FlowSamples;
use packetloom::measure::fingerprint;
use packetloom::scenario::{Case, Scenario};
use packetloom::simulation::{FlowSample, Monitor, Outcome, Simulation};
use packetloom::units::{Rate, Time};
use std::path::Path;

/// Flows of src, dst, bytes, start in ns.
fn scenario(topology: &str, scheme: &str, file: &str, flows: &[[u64; 4]], measure: &str) -> String {
    let mut list = "src,dst,size_bytes,start_ns\n".to_owned();
    for [src, dst, size, start] in flows {
        list += &format!("{src},{dst},{size},{start}\n");
    }
    write_file(file, &list);
    format!(
        "topology = {topology}\n[[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
         [[scheme]]\nname = \"one\"\n{scheme}\n[measure]\n{measure}\n"
    )
}

fn samples_of(outcome: &Outcome, flow: u32) -> Vec<FlowSample> {
    outcome.flow_series().filter(|sample| sample.flow == flow).collect()
}

/// Three links of 10 Gb/s and 10 us lie between the hosts. A full packet takes 1.2 us on each, an ACK 32 ns; so a
/// round trip takes 3 × 11.2 us + 3 × 10.032 us = 63.696 us, and the window doubles in each.
const DUMBBELL: &str = r#"{ kind = "dumbbell", left = 1, right = 1, host_link = { rate = "10Gbps", delay = "10us" }, bottleneck = { rate = "10Gbps", delay = "10us" } }"#;

#[test]
fn slow_start_doubles_the_window_in_each_round_trip() {
    let scheme = "transport = { kind = \"tcp\", initial_window = 2, mss = \"1460B\" }\nqueue = \"drop-tail\"";
    let measure = "flows = [0]\nflows_interval = \"63us\"";
    let outcome = run(&scenario(DUMBBELL, scheme, "slow-start.csv", &[[0, 1, 1_000_000, 0]], measure));
    let samples = samples_of(&outcome, 0);
    let packets = |bytes: f64| bytes / 1_460.0;
    // The ACKs of the k-th round come from k × 63.696 us on, so all of those before the k-th have at k × 63 us.
    for (nth, sample) in samples.iter().take(7).enumerate() {
        assert_eq!(sample.at, Time::from_us(63).times(nth as u64));
        let window = if nth == 0 { 2 } else { 1 << nth };
        assert_eq!(sample.window_bytes.map(packets), Some(f64::from(window)), "at {}", sample.at);
        let arrived = window - 2;
        assert_eq!(packets(sample.arrived_bytes as f64), f64::from(arrived), "at {}", sample.at);
        assert_eq!(packets(sample.in_flight_bytes as f64), f64::from(window), "at {}", sample.at);
        assert_eq!(sample.report.packets_sent, (arrived + window) as u32);
        assert_eq!((sample.rate, sample.report.retransmissions), (None, 0));
    }
    // The second packet waits 1.2 us for the first: 7/8 × 63.696 us + 1/8 × 64.896 us.
    let rtts: Vec<Option<Time>> = samples.iter().map(|sample| sample.rtt).collect();
    assert_eq!(rtts[..3], [None, None, Some(Time::from_ns(63_846))]);
    // It ends with the last acknowledgement, and so do its samples.
    let closed = outcome.flows[0].closed;
    assert_eq!(samples.len() as u64, closed.as_ps() / Time::from_us(63).as_ps() + 1);
}

const STAR: &str = r#"{ kind = "rack", hosts = 4, link = { rate = "40Gbps", delay = "1us" } }"#;

/// A burst of another flow has packets marked, whose CNPs come at most every 50 us: there is one. It cuts the rate to
/// half, as alpha is 1. From then on a step every 55 us takes half of what is missing (DCQCN §3.1): also while nothing
/// happens at the sender.
#[test]
fn dcqcn_falls_to_half_at_a_cnp_and_takes_half_of_what_is_missing_every_55_us() {
    let scheme = "transport = \"dcqcn\"\nqueue = { kind = \"shared-buffer\", ecn_min = \"10KB\", ecn_max = \"10KB\", \
                  ecn_probability = 1.0 }";
    let flows = [[1, 0, 3_000_000, 0], [2, 0, 30_000, 20_000]];
    let outcome = run(&scenario(STAR, scheme, "one-cnp.csv", &flows, "flows = [0]"));
    let rates: Vec<Rate> = samples_of(&outcome, 0).iter().filter_map(|sample| sample.rate).collect();
    let stretches: Vec<(u64, usize)> =
        rates.chunk_by(|a, b| a == b).map(|same| (same[0].as_bps(), same.len())).collect();
    let line = Rate::from_gbps(40).as_bps();
    assert_eq!(stretches[0].0, line);
    let steps = [line / 2, line / 4 * 3, line / 8 * 7, line / 16 * 15, line / 32 * 31].map(|rate| (rate, 55));
    assert_eq!(stretches[1..6], steps);
}

#[test]
fn flows_without_number_or_end_are_bounded() {
    let scheme = "transport = \"tcp\"\nqueue = \"drop-tail\"";
    let flows = [[0, 1, 12_000_000, 0], [2, 3, 1_000, 500]];
    let outcome = run(&scenario(STAR, scheme, "bounded.csv", &flows, "flows = [1, 0, 7]"));
    let long = samples_of(&outcome, 0);
    let lasts_us = outcome.flows[0].closed.as_ps() / 1_000_000;
    assert!((2_000..4_000).contains(&lasts_us), "{lasts_us}");
    // Once a microsecond there would be more than there is room for.
    assert_eq!(long.len() as u64, lasts_us / 2 + 1);
    assert!(long.windows(2).all(|pair| pair[1].at.since(pair[0].at) == Time::from_us(2)));
    // 1 kB goes over two links, and its ACK: from 0.5 us to 4.93 us.
    assert_eq!(
        samples_of(&outcome, 1).iter().map(|one| one.at.as_ps() / 1_000_000).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    assert!(samples_of(&outcome, 7).is_empty());
    let said = "measure.flows: 7 never started, so there are no samples of it; 2 flows did";
    assert!(outcome.warnings.iter().any(|warning| warning == said), "{:?}", outcome.warnings);
}

const SCHEMES: &[(&str, &str, &str)] = &[
    ("tcp", DROP_TAIL, "ecmp"),
    ("dctcp", r#"{ kind = "ecn", capacity = "225KB", mark_above = "22.5KB" }"#, "ecmp"),
    ("mptcp", DROP_TAIL, "ecmp"),
    ("flowtune", DROP_TAIL, "ecmp"),
    ("rcp", DROP_TAIL, "ecmp"),
    ("numfabric", r#"{ kind = "weighted-fair", capacity = "60KB" }"#, "ecmp"),
    ("daq", r#"{ kind = "daq", short_capacity = "30KB", long_capacity = "30KB", rtt = "20us" }"#, "ecmp"),
    ("line-rate", r#"{ kind = "pfabric", capacity = "22.5KB" }"#, "spray-random"),
    ("ndp", r#""ndp""#, "spray-round-robin"),
    ("homa", r#"{ kind = "classes", strict = 8, queue = "drop-tail" }"#, "spray-random"),
    ("phost", r#"{ kind = "pfabric", capacity = "22.5KB" }"#, "spray-round-robin"),
    ("expresspass", r#""credit-limiter""#, "ecmp"),
    ("sird", r#"{ kind = "classes", strict = 2, queue = "drop-tail" }"#, "spray-random"),
    ("dcpim", r#"{ kind = "classes", strict = 8, queue = "drop-tail" }"#, "spray-round-robin"),
    ("fastpass", r#"{ kind = "pfabric", capacity = "22.5KB" }"#, "spray-round-robin"),
    ("eqds", r#""ndp""#, "bitmap"),
    ("uec", r#"{ kind = "ndp", capacity = "60KB", ecn_min = "12KB", ecn_max = "48KB" }"#, "reps"),
    ("dcqcn", LOSSLESS, "ecmp"),
    ("bfc", r#""bfc""#, "ecmp"),
    ("timely", LOSSLESS, "ecmp"),
    ("hpcc", LOSSLESS, "ecmp"),
    ("powertcp", LOSSLESS, "ecmp"),
    ("theta-powertcp", LOSSLESS, "ecmp"),
    ("swift", DROP_TAIL, "ecmp"),
    ("python-rate", LOSSLESS, "ecmp"),
];
const DROP_TAIL: &str = r#"{ kind = "drop-tail", capacity = "45KB" }"#;
const LOSSLESS: &str = r#"{ kind = "shared-buffer", buffer = "1MB", ecn_min = "5KB", ecn_max = "200KB", ecn_probability = 0.1 }"#;

/// A fat-tree of 16 hosts at a load of 0.8.
fn loaded(transport: &str, queue: &str, routing: &str, measure: &str) -> String {
    let keys = required_keys(transport);
    format!(
        r#"
[topology]
kind = "fat-tree"
k = 4
link = {{ rate = "10Gbps", delay = "0.4us" }}

[[workload]]
sizes = {{ kind = "exponential", mean = "40KB" }}

[[scheme]]
name = "one"
transport = {{ kind = "{transport}"{keys} }}
queue = {queue}
routing = "{routing}"

[run]
loads = [0.8]
flows = 24

[measure]
{measure}
"#
    )
}

fn in_windows_up_to(case: &Case, longest: Time, threads: u32) -> Outcome {
    let simulation = Simulation::new(case.clone()).expect("a sound case");
    let simulation = simulation.with_windows_up_to(longest).with_threads(threads);
    simulation.run(&Monitor::default()).expect("a sound case")
}

/// What hosts know of a flow changes with nothing but the case; and the case does not change with who looks.
#[test]
fn samples_depend_neither_on_windows_nor_on_threads_and_change_nothing() {
    let flows: Vec<String> = (0..16).map(|flow: u32| flow.to_string()).collect();
    let measure = format!("flows = [{}]\nflows_interval = \"700ns\"", flows.join(", "));
    for (transport, queue, routing) in SCHEMES {
        let case = cases(&loaded(transport, queue, routing, &measure)).remove(0);
        let plain = run(&loaded(transport, queue, routing, ""));
        let full = in_windows_up_to(&case, Time::NEVER, 1);
        let of = |outcome: &Outcome| (fingerprint(&outcome.flows), outcome.tally, outcome.simulated);
        assert_eq!(of(&full), of(&plain), "{transport}: whether flows are sampled");
        let samples: Vec<FlowSample> = full.flow_series().collect();
        assert!(samples.len() > 500, "{transport}: {} samples", samples.len());
        // A sender of SIRD's is told of a whole message alone, one of ExpressPass's of a whole flow.
        let knows = samples.iter().any(|sample| sample.arrived_bytes > 0);
        assert_eq!(
            knows,
            !["sird", "expresspass"].contains(transport),
            "{transport}: whether a sender knows what has arrived"
        );
        for (longest, threads) in [(Time(1 << 15), 1), (Time::NEVER, 2), (Time(1 << 16), 4)] {
            let other: Vec<FlowSample> = in_windows_up_to(&case, longest, threads).flow_series().collect();
            assert!(samples == other, "{transport}: windows of {longest}, {threads} threads");
        }
    }
}

/// What a sender knows, by scheme: a window, a rate, a round-trip time.
#[test]
fn schemes_have_what_they_go_by() {
    let found: Vec<(&str, String)> = SCHEMES
        .iter()
        .map(|&(transport, queue, routing)| {
            let outcome = run(&loaded(transport, queue, routing, "flows = [0, 1, 2, 3, 4, 5]"));
            let has = |what: fn(&FlowSample) -> bool, letter: &str| match outcome
                .flow_series()
                .any(|one| what(&one))
            {
                true => letter.to_owned(),
                false => String::new(),
            };
            let window = has(|one| one.window_bytes.is_some(), "w");
            (transport, window + &has(|one| one.rate.is_some(), "r") + &has(|one| one.rtt.is_some(), "t"))
        })
        .collect();
    let expected = [
        ("tcp", "wt"),
        ("dctcp", "wt"),
        ("mptcp", "w"),
        ("flowtune", "wrt"),
        ("rcp", "rt"),
        ("numfabric", "wt"),
        ("daq", "w"),
        ("line-rate", ""),
        ("ndp", ""),
        ("homa", ""),
        ("phost", ""),
        ("expresspass", ""),
        ("sird", ""),
        ("dcpim", ""),
        ("fastpass", ""),
        ("eqds", ""),
        ("uec", "wt"),
        ("dcqcn", "r"),
        ("bfc", "r"),
        ("timely", "rt"),
        ("hpcc", "wr"),
        ("powertcp", "wr"),
        ("theta-powertcp", "wrt"),
        ("swift", "wrt"),
        ("python-rate", "wr"),
    ];
    assert_eq!(found, expected.map(|(transport, letters)| (transport, letters.to_owned())));
}

/// A sender that never gets an answer is sampled until the run ends, though nothing wakes it for that.
#[test]
fn a_flow_that_stands_still_is_sampled_to_the_end_and_keeps_no_run_going() {
    let fault = "[[fault]]\nkind = \"link-down\"\nbetween = [\"host1\", \"switch0\"]\nat = \"100us\"\nuntil = \"900ms\"\n";
    let scheme = "transport = { kind = \"tcp\", min_rto = \"10ms\" }\nqueue = \"drop-tail\"";
    let toml = scenario(STAR, scheme, "still.csv", &[[1, 0, 50_000_000, 0]], "flows = [0]");
    let outcome = run(&(toml + fault + "[run]\nmax_time = \"50ms\"\n"));
    let samples = samples_of(&outcome, 0);
    assert!(
        samples.len() >= FlowSamples::MOST / 2 && samples.len() <= FlowSamples::MOST,
        "{}",
        samples.len()
    );
    let [first, last] = [samples[0], samples[samples.len() - 1]];
    let step = samples[1].at.since(first.at);
    assert_eq!((first.at, step), (Time::ZERO, Time::from_us(32)));
    assert!(Time::from_us(50_000).since(last.at) < step);
    assert!(last.report.timeouts > 0 && last.window_bytes < samples[2].window_bytes);
}

fn said(measure: &str, scheme: &str) -> String {
    let toml = scenario(STAR, scheme, "said.csv", &[[1, 0, 1_000, 0]], measure);
    match Scenario::from_toml(&toml, "test", Path::new(env!("CARGO_TARGET_TMPDIR"))) {
        Err(problems) => problems.to_string(),
        Ok(scenario) => packetloom::simulation::check(&scenario).expect_err("it must be refused").to_string(),
    }
}

#[test]
fn what_can_not_be_sampled_is_refused_with_what_to_write() {
    let tcp = "transport = \"tcp\"\nqueue = \"drop-tail\"";
    let many: Vec<String> = (0..17).map(|flow| flow.to_string()).collect();
    let many = format!("flows = [{}]", many.join(", "));
    for (measure, scheme, expected) in [
        ("flows = [1, 2, 1]", tcp, "measure.flows: names flow 1 twice; write each once"),
        (many.as_str(), tcp, "measure.flows: 17 flows are too many to be sampled; write 16 at most"),
        ("flows = [5000000000]", tcp, "measure.flows: a flow's number is 4294967295 at most"),
        ("flows_interval = \"1us\"", tcp, "measure.flows_interval: no flow is sampled; write which, too"),
        (
            "flows = [0]\nflows_interval = \"0s\"",
            tcp,
            "measure.flows_interval: an interval of zero never ends",
        ),
        (
            "flows = [0]",
            "transport = \"ideal\"",
            "measure.flows: \"ideal\" has no senders that could be sampled",
        ),
        (
            "flows = [0]\n[run]\nfidelity = \"flows\"",
            tcp,
            "measure.flows: fidelity = \"flows\" estimates flows, and has no such thing",
        ),
    ] {
        let text = said(measure, scheme);
        assert!(text.contains(expected), "{measure}: {text}");
    }
}

//! Hosts that take a time of its own for each packet.

use crate::common::{cases, fct, mean, port, run, write_file};
use packetloom::measure::fingerprint;
use packetloom::scenario::Scenario;
use packetloom::simulation::{Outcome, Simulation};
use packetloom::units::Time;
use std::path::Path;

/// `more` is a key of the topology.
fn rack(more: &str, workload: &str, transport: &str, queue: &str) -> String {
    format!(
        r#"
[topology]
kind = "rack"
hosts = 8
{more}

[[workload]]
{workload}

[[scheme]]
name = "any"
transport = {transport}
queue = {queue}

[run]
flows = 400
loads = [0.6]

[measure]
reordering = true
"#
    )
}

fn processing(kind: &str) -> String {
    format!("processing_per_packet = {{ kind = {kind} }}")
}

const SIZES: &str = r#"sizes = { kind = "exponential", mean = "20KB" }"#;
const ONE_PACKET: &str = r#"sizes = { kind = "constant", size = "1460B" }
arrivals = { kind = "periodic", interval = "1ms" }"#;
const DROP_TAIL: &str = r#"{ kind = "drop-tail", capacity = "225KB" }"#;

#[test]
fn what_is_the_same_for_all_packets_is_a_delay_of_the_host() {
    let [fixed, uniform, delay] = [
        &processing(r#""fixed", time = "0.7us""#),
        &processing(r#""uniform", minimum = "700ns", maximum = "0.7us""#),
        "host_delay = \"0.7us\"",
    ]
    .map(|more| fingerprint(&run(&rack(more, SIZES, r#""dctcp""#, DROP_TAIL)).flows));
    assert_eq!([fixed, uniform], [delay; 2]);
}

#[test]
fn a_packet_takes_what_was_drawn_beyond_the_best_time() {
    let more = processing(r#""uniform", minimum = "300ns", maximum = "1300ns""#);
    let outcome = run(&rack(&more, ONE_PACKET, r#""tcp""#, DROP_TAIL));
    // Two links of 400 ns and 1200 ns, and the least that the receiver takes.
    let best = Time::from_ns(2 * 1_600 + 300);
    assert!(outcome.flows.iter().all(|row| row.best_fct == best));
    let over: Vec<f64> = outcome.flows.iter().map(|row| (fct(row) - best).as_ns_f64()).collect();
    assert!(over.iter().all(|over| (0.0..=1_000.0).contains(over)), "{over:?}");
    // 500 ns; five standard errors, 288.7 / sqrt(400), are 72.
    assert!((mean(over.iter().copied()) - 500.0).abs() < 72.0);
    // The sender's host takes its time for the acknowledgement, too: 40 B take 32 ns a link.
    let back = Time::from_ns(2 * 432 + 300);
    let over =
        outcome.flows.iter().map(|row| (row.sender_fct().expect("it is over") - fct(row) - back).as_ns_f64());
    assert!((mean(over) - 500.0).abs() < 72.0);
}

/// Times that are longer than packets are apart change nothing in their order, and hosts keep up with their links.
#[test]
fn packets_keep_their_order_and_the_host_its_pace() {
    let workload = r#"sizes = { kind = "constant", size = "2MB" }
pattern = { kind = "pair", src = 0, dst = 1 }
arrivals = { kind = "at-once", flows_per_host = 1 }"#;
    let workload = workload.replace(", flows_per_host = 1", "");
    let more = processing(r#""exponential", mean = "10us""#);
    let transport = r#"{ kind = "line-rate", rto = "1s" }"#;
    let toml = rack(&more, &workload, transport, r#"{ kind = "pfabric", capacity = "3MB" }"#);
    let outcome = run(&toml.replace("flows = 400", "flows = 1").replace("loads = [0.6]\n", ""));
    let row = &outcome.flows[0];
    assert_eq!(row.report.retransmissions, 0);
    // The last packet is late by its own time, or by what is left of an earlier one's.
    assert!(fct(row).since(row.best_fct) < Time::from_us(100), "{}", fct(row));
    let reordering = outcome.reordering.expect("it was measured");
    assert!(reordering.values().all(|flow| flow.packets == 0), "{reordering:?}");
}

#[test]
fn requests_take_their_time_as_other_packets_do() {
    let workload = r#"sizes = { kind = "constant", size = "1460B" }
arrivals = { kind = "periodic", interval = "1ms" }
pattern = { kind = "incast", receiver = 0, fan_in = 1, query = "64B" }"#;
    let starts = |more: &str| -> Vec<Time> {
        run(&rack(more, workload, r#""tcp""#, DROP_TAIL)).flows.iter().map(|row| row.flow.start).collect()
    };
    let (plain, late) = (starts(""), starts(&processing(r#""uniform", minimum = "0ns", maximum = "1us""#)));
    let over = late.iter().zip(&plain).map(|(late, plain)| (*late - *plain).as_ns_f64());
    assert!((mean(over) - 500.0).abs() < 72.0);
}

#[test]
fn a_slow_receiver_takes_its_time_for_each_packet_beside() {
    let workload = r#"sizes = { kind = "constant", size = "500KB" }
class = 3
pattern = { kind = "incast", receiver = 0, fan_in = 3 }
arrivals = { kind = "periodic", interval = "1s" }"#;
    let fault = "[[fault]]\nkind = \"slow-receiver\"\nhost = \"host0\"\nrate = \"4Gbps\"\n\n[[scheme]]";
    let queue = r#"{ kind = "shared-buffer", buffer = "4MiB" }"#;
    let last = |more: &str| {
        let toml = rack(more, workload, r#""roce""#, queue).replace("[[scheme]]", fault);
        let outcome = run(&toml.replace("flows = 400", "flows = 3").replace("loads = [0.6]\n", ""));
        assert!(outcome.flows.iter().all(|row| row.report.retransmissions == 0));
        outcome.flows.iter().map(fct).max().expect("there are flows")
    };
    let (plain, late) = (last(""), last(&processing(r#""uniform", minimum = "0ns", maximum = "1us""#)));
    // The host takes packets one after the other, as slowly as before; each is processed after that.
    assert!(late >= plain && late - plain <= Time::from_us(1), "{plain}, {late}");
}

/// Two long flows whose round-trip times are 80 us and about 200 us (without what waits, at most 480 us), through
/// one drop-tail port of 1 Gb/s; the longer one is changed by up to 4.8 us. Returns how many times the first flow has
/// what the second has, for each change.
fn shares(processing: &str) -> Vec<f64> {
    let share = |change: u64| {
        let delay = 80_000 + change;
        write_file(
            "phases.txt",
            &format!("4 1 3\n3\n0 3 10Gbps 20000ns 0\n1 3 10Gbps {delay}ns 0\n3 2 1Gbps 20000ns 0\n"),
        );
        write_file("phases.csv", "src,dst,size_bytes,start_ns\n0,2,1000000000,0\n1,2,1000000000,0\n");
        let outcome = run(&format!(
            r#"
[topology]
kind = "hpcc"
file = "phases.txt"
{processing}

[[workload]]
arrivals = {{ kind = "list", file = "phases.csv" }}

[[scheme]]
name = "TCP"
transport = "tcp"
queue = {{ kind = "drop-tail", capacity = "60KB" }}

[run]
max_time = "1s"
"#
        ));
        let sent = |host: &str| port(&outcome, host, "switch3").counters.bytes as f64;
        sent("host0") / sent("host1")
    };
    (0..8).map(|step| share(step * 300)).collect()
}

#[test]
fn phase_effects_are_there_without_it_and_gone_with_it() {
    let spread = |shares: &[f64]| {
        let most = shares.iter().copied().fold(0.0, f64::max);
        most / shares.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let plain = shares("");
    // A packet takes 12 us on the link that they share.
    let noisy = shares(&processing(r#""uniform", minimum = "0us", maximum = "12us""#));
    assert!(spread(&plain) > 3.0, "{plain:.2?}");
    assert!(spread(&noisy) < 1.5, "{noisy:.2?}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |kind: &str, transport: &str| {
        let toml = rack(&processing(kind), SIZES, transport, DROP_TAIL);
        match Scenario::from_toml(&toml, "rack.toml", Path::new(".")) {
            Err(problems) => problems.to_string(),
            Ok(scenario) => {
                let case = scenario.cases().next().expect("a case");
                let complaint = Simulation::new(case).expect_err("it can't be simulated");
                format!("{}: {}", complaint.key, complaint.message)
            }
        }
    };
    for (kind, transport, why) in [
        (r#""uniform", minimum = "2us", maximum = "1us""#, r#""tcp""#, "1us is below the minimum, 2us"),
        (r#""uniform", minimum = "-1us", maximum = "1us""#, r#""tcp""#, "minimum"),
        (r#""uniform", maximum = "1us""#, r#""tcp""#, "minimum"),
        (r#""exponential", mean = "0us""#, r#""tcp""#, "write a time above it"),
        (r#""exponential", mean = "1us", maximum = "0us""#, r#""tcp""#, "a bound of zero leaves nothing"),
        (r#""fixed", time = "2000000s""#, r#""tcp""#, "write a delay of at most"),
        (
            r#""exponential", mean = "1us""#,
            r#""ideal""#,
            "topology.processing_per_packet: a flow-level model has no packets to process",
        ),
    ] {
        let problem = refused(kind, transport);
        assert!(problem.contains(why), "{kind}: {problem}");
    }
    // A delay of hosts is known to flow-level models, too.
    assert_eq!(
        cases(&rack(&processing(r#""fixed", time = "1us""#), SIZES, r#""ideal""#, DROP_TAIL)).len(),
        1
    );
}

/// Whatever the scheme; the audit looks on.
#[test]
fn every_kind_of_transport_goes_on() {
    let all = [
        (r#""mptcp""#, DROP_TAIL),
        (r#""ndp""#, r#""ndp""#),
        (r#""homa""#, r#"{ kind = "classes", strict = 8, queue = "drop-tail" }"#),
        (r#""phost""#, r#"{ kind = "pfabric" }"#),
        (r#""daq""#, r#"{ kind = "daq", short_capacity = "30KB", long_capacity = "30KB", rtt = "20us" }"#),
        (r#""fastpass""#, DROP_TAIL),
        (r#""hpcc""#, r#"{ kind = "shared-buffer" }"#),
        (r#""uec""#, r#"{ kind = "ndp", capacity = "60KB", ecn_min = "12KB", ecn_max = "48KB" }"#),
        (r#""pdq""#, DROP_TAIL),
    ];
    let more = processing(r#""exponential", mean = "2us", maximum = "20us""#);
    for (transport, queue) in all {
        let outcome: Outcome =
            run(&rack(&more, SIZES, transport, queue).replace("[measure]\nreordering = true", ""));
        assert_eq!(outcome.flows.len(), 400, "{transport}");
        assert!(outcome.flows.iter().all(|row| fct(row) >= row.best_fct), "{transport}");
    }
}

//! What ns-2's TCP does about timeouts beside the RFCs' rules, each parameter by itself. Losses come from links that are
//! down for a while.

use crate::common::{fct, port, run, write_file};
use packetloom::scenario::Scenario;
use packetloom::simulation::Outcome;
use packetloom::units::Time;
use std::path::Path;

const PACKET: u64 = 1460;

/// As in transports.rs: a full packet and its acknowledgement over links of 10 Gb/s and 25 us.
const ROUND_TRIP: Time = Time::from_ns(102_464);

/// Flows from host 0 to host 1 of so many packets, each with its start in us.
fn flows(name: &str, keys: &str, flows: &[(u64, u64)], faults: &str) -> Outcome {
    let rows: String = flows
        .iter()
        .map(|(packets, start)| format!("0,1,{},{}\n", packets * PACKET, start * 1_000))
        .collect();
    write_file(name, &format!("src,dst,size_bytes,start_ns\n{rows}"));
    run(&format!(
        r#"
[topology]
kind = "rack"
hosts = 2
link = {{ rate = "10Gbps", delay = "25us" }}

[[workload]]
arrivals = {{ kind = "list", file = "{name}" }}

[[scheme]]
name = "alone"
transport = {{ kind = "tcp", fast_retransmit = false, {keys} }}
queue = "drop-tail"
{faults}
"#
    ))
}

/// The link of a host is down for a while, given in us.
fn down(host: &str, from: u64, until: u64) -> String {
    format!(
        "[[fault]]\nkind = \"link-down\"\nbetween = [\"{host}\", \"switch0\"]\nat = \"{from}us\"\nuntil = \"{until}us\"\n\
         learn_after = \"1s\"\n"
    )
}

fn alone(name: &str, keys: &str, packets: u64) -> Time {
    fct(&flows(name, &format!(r#"min_rto = "10ms", {keys}"#), &[(packets, 0)], "").flows[0])
}

#[test]
fn a_doubled_timeout_ends_when_its_rule_says() {
    // Nothing comes through for a millisecond: timeouts after 200, 400 and 800 us. Of the first flow nothing is then
    // sent that was not sent before, so nothing may be timed (RFC 6298 §3), and its timeout stays 1600 us.
    for (rule, second) in [
        ("timestamps = false", 1),
        (r#"timestamps = false, timer_rule = "ns-2""#, 3),
        ("timestamps = true", 3),
    ] {
        let keys = format!(
            r#"initial_window = 2, min_rto = "200us", rto_estimation = false, {rule}, connections = {{ kind = "pool", warm = 1 }}"#
        );
        let faults = down("host1", 0, 1_000) + &down("host1", 10_000, 11_000);
        let outcome = flows("doubled.csv", &keys, &[(2, 0), (2, 10_000)], &faults);
        let timeouts: Vec<u32> = outcome.flows.iter().map(|flow| flow.report.timeouts).collect();
        assert_eq!(timeouts, [3, second], "{rule}");
    }
}

/// Twenty packets leave at once. The link to the receiver is down until a third of them have gone.
fn first_part_lost(keys: &str) -> Outcome {
    let keys = format!(r#"initial_window = 20, min_rto = "200us", window_measure = "sequence", {keys}"#);
    flows("first-part.csv", &keys, &[(20, 0)], &down("host1", 25, 35))
}

#[test]
fn all_is_sent_again_until_the_acknowledgements_have_passed_it() {
    let missing = first_part_lost("");
    let all = first_part_lost(r#"after_timeout = "all""#);
    let [some, more] = [&missing, &all].map(|outcome| outcome.flows[0].report);
    assert_eq!((some.timeouts, more.timeouts), (1, 1));
    assert!(some.retransmissions < 15, "{some:?}");
    // Each packet up to the last hole, and what the window held beyond it as that was sent.
    assert!((some.retransmissions + 1..=20).contains(&more.retransmissions), "{some:?}, {more:?}");
    assert_eq!(more.packets_sent, 20 + more.retransmissions);
    // What is sent in vain goes after the holes.
    assert_eq!(fct(&all.flows[0]), fct(&missing.flows[0]));
}

#[test]
fn selective_acknowledgements_take_room_where_they_are_counted() {
    let bytes = |keys: &str| {
        let outcome = first_part_lost(keys);
        let sent = &port(&outcome, "host1", "switch0").counters;
        (sent.packets, sent.bytes)
    };
    let (packets, plain) = bytes("");
    assert_eq!(plain, 40 * packets);
    // All report the one run beyond the holes but the last, which acknowledges everything.
    assert_eq!(bytes("sack_option = true"), (packets, plain + 10 * (packets - 1)));
}

#[test]
fn every_timeout_halves_the_window_or_the_first_what_was_in_flight() {
    // Sixteen packets are lost; so is the one that the first timeout sends, not that of the second, after 600 us. Half
    // of sixteen is eight, and half of one no less than two.
    for (rule, threshold) in [("flight", 8), ("window", 2)] {
        let keys = format!(r#"initial_window = 16, min_rto = "200us", timeout_threshold = "{rule}""#);
        let outcome = flows("threshold.csv", &keys, &[(60, 0)], &down("host1", 0, 500));
        assert_eq!(outcome.flows[0].report.timeouts, 2, "{rule}");
        let anew = alone("anew.csv", &format!("initial_window = 1, initial_ssthresh = {threshold}"), 60);
        assert_eq!(fct(&outcome.flows[0]), Time::from_us(600) + anew, "{rule}");
    }
}

#[test]
fn a_window_that_counts_grows_by_a_packet_each_round_trip() {
    let keys = r#"initial_window = 8, initial_ssthresh = 8, increase = "each-window""#;
    let first = alone("first.csv", keys, 1);
    let mut before = 0;
    for round in 0..12 {
        // 8, 9, 10 packets and so on.
        assert_eq!(alone("counted.csv", keys, before + 1), first + ROUND_TRIP.times(round), "round {round}");
        before += 8 + round;
        assert!(alone("counted.csv", keys, before) < first + ROUND_TRIP.times(round + 1), "round {round}");
    }
}

#[test]
fn a_flow_with_nothing_on_its_way_starts_with_the_initial_window_again() {
    // The acknowledgements of the first twelve packets are lost. That of the one that is sent again is of all twelve,
    // one round trip after it was sent, which is longer than the timeout that a round trip of 10 us would make.
    let keys = r#"initial_window = 12, min_rto = "200us", timestamps = false, initial_rtt = "10us""#;
    for (rule, window) in [("true", 12), ("false", 2)] {
        let keys = format!("{keys}, quiet_restart = {rule}");
        let outcome = flows("quiet.csv", &keys, &[(40, 0)], &down("host0", 75, 110));
        let report = outcome.flows[0].report;
        assert_eq!((report.timeouts, report.retransmissions), (1, 1), "{rule}");
        let rest = alone("ns2-rest.csv", &format!("initial_window = {window}, initial_ssthresh = 6"), 28);
        assert_eq!(fct(&outcome.flows[0]), Time::from_us(200) + ROUND_TRIP + rest, "{rule}");
    }
}

#[test]
fn rules_that_can_not_hold_are_refused() {
    let complaints = [
        (
            r#"kind = "min-tcp", timer_rule = "ns-2""#,
            "timer_rule: a timeout that is neither estimated nor doubled is always min_rto",
        ),
        (
            r#"kind = "tcp", after_timeout = "all", loss_detection = "rack""#,
            "after_timeout: RACK knows what was sent long enough ago to be lost",
        ),
        (r#"kind = "tcp", sack_option = true, ack = "65520B""#, "ack: with sack_option"),
        (r#"kind = "cubic", increase = "each-window""#, "increase: "),
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

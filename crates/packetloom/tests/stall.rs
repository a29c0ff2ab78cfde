//! Runs that make no progress end with the reason, and runs that are only slow go on.

use crate::common::{cases, run};
use packetloom::measure::fingerprint;
use packetloom::simulation::{Monitor, Simulation};
use packetloom::units::Time;

fn scenario(bytes: &str, faults: &str, transport: &str, rest: &str) -> String {
    format!(
        r#"
[topology]
kind = "rack"
hosts = 4

[[workload]]
sizes = {{ kind = "constant", size = "{bytes}" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 1, dst = 0 }}
{faults}
[[scheme]]
name = "scheme"
transport = {transport}
queue = {{ kind = "drop-tail", capacity = "100KB" }}
{rest}
"#
    )
}

const DEAD: &str = r#"
[[fault]]
kind = "link-down"
between = ["host0", "switch0"]
at = "100us"
"#;

#[test]
fn a_link_that_stays_dead_ends_the_run_with_the_reason() {
    for (transport, waits_for) in [
        (r#"{ kind = "tcp", max_rto = "1ms" }"#, "its retransmission timeout"),
        (r#""line-rate""#, "it only probes"),
        (r#"{ kind = "rcp", max_rto = "4ms" }"#, "its timeout"),
        (r#"{ kind = "numfabric", max_rto = "4ms" }"#, "its timeout"),
    ] {
        let outcome = run(&scenario("1MB", DEAD, transport, ""));
        let why = outcome.stalled.expect(transport);
        assert!(
            why.starts_with("no progress: packets move, but no flow comes nearer to its end at "),
            "{why}"
        );
        assert!(
            why.contains("flow 0 (host 1 to host 0): ")
                && why.contains(" of 685 packets arrived; waits for "),
            "{why}"
        );
        assert!(why.contains(waits_for), "{why}");
        assert_eq!(outcome.flows[0].delivered, Time::NEVER);
        assert!(outcome.warnings.contains(&why));
    }
}

#[test]
fn threads_are_asked_how_long_flows_stand_and_go_on() {
    let long_flows = scenario("20MB", "", r#""tcp""#, "").replace("hosts = 4", "hosts = 32");
    let long_flows = long_flows.replace(r#"{ kind = "pair", src = 1, dst = 0 }"#, r#""permutation""#);
    let on_threads = |threads| {
        let simulation = Simulation::new(cases(&long_flows).remove(0)).expect("a sound case");
        let outcome = simulation.with_threads(threads).run(&Monitor::default()).expect("a sound case");
        (outcome.stalled, outcome.tally, fingerprint(&outcome.flows))
    };
    let (stalled, tally, hash) = on_threads(1);
    assert!(stalled.is_none() && tally.events > 1_500_000, "too short for anybody to be asked: {tally:?}");
    assert_eq!(on_threads(2), (stalled, tally, hash));
}

#[test]
fn a_sender_that_no_packet_leaves_is_told_of_too() {
    let own_link = DEAD.replace("host0", "host1");
    let outcome = run(&scenario("1MB", &own_link, r#"{ kind = "line-rate", rto = "40us" }"#, ""));
    let why = outcome.stalled.expect("it can't go on");
    assert!(why.contains("flow 0 (host 1 to host 0): "), "{why}");
}

#[test]
fn a_time_to_stop_that_comes_first_is_no_stall() {
    let outcome = run(&scenario("1MB", DEAD, r#""tcp""#, "[run]\nmax_time = \"20ms\"\n"));
    assert_eq!((outcome.stalled, outcome.warnings.len()), (None, 1));
    assert!(outcome.warnings[0].ends_with(": 0 (host1 to host0, cut off for good)"));
    let lifted_later = DEAD.to_owned() + "until = \"3s\"\n";
    let outcome = run(&scenario("1MB", &lifted_later, r#""tcp""#, "[run]\nmax_time = \"20ms\"\n"));
    let warning = &outcome.warnings[0];
    assert!(
        warning.starts_with("1 of 1 flows were not finished when the run ended: 0 (host1 to host0, "),
        "{warning}"
    );
    assert!(
        warning.ends_with(
            " of 685 packets arrived, waits for an acknowledgement, or its retransmission timeout)"
        ),
        "{warning}"
    );
}

/// The window that the end cuts short holds the one timer that would have gone on.
#[test]
fn a_time_to_stop_just_before_a_timer_is_no_stall() {
    let dead_from_the_start = DEAD.replace("100us", "0us");
    for max_time in ["199.999us", "200us"] {
        let rest = format!("[run]\nmax_time = \"{max_time}\"\n");
        let outcome = run(&scenario("1KB", &dead_from_the_start, r#""tcp""#, &rest));
        assert_eq!((outcome.stalled, outcome.flows.len()), (None, 1), "{max_time}");
    }
}

#[test]
fn flows_whose_time_had_not_come_are_counted() {
    let cut_short =
        scenario("1MB", "", r#""tcp""#, "[run]\nflows = 100\nmax_time = \"2ms\"\nloads = [0.5]\n")
            .replace("arrivals = \"at-once\"\n", "")
            .replace("{ kind = \"pair\", src = 1, dst = 0 }", "\"all-to-all\"");
    let outcome = run(&cut_short);
    assert!(outcome.never_started > 0 && !outcome.flows.is_empty());
    assert_eq!(outcome.never_started + outcome.flows.len() as u64, 100);
    let said = format!("{} flows never started, as the case ended before", outcome.never_started);
    assert!(outcome.warnings.contains(&said), "{:?}", outcome.warnings);
    let whole = run(&cut_short.replace("max_time = \"2ms\"\n", ""));
    assert_eq!((whole.never_started, whole.flows.len()), (0, 100));
    // A duration says when the last arrives, not how many there are.
    let lasting = cut_short.replace("flows = 100\n", "duration = \"4ms\"\n");
    let [half, all] = [run(&lasting), run(&lasting.replace("max_time = \"2ms\"\n", ""))];
    assert!(half.never_started > 0 && !half.flows.is_empty());
    assert_eq!(half.never_started + half.flows.len() as u64, all.flows.len() as u64);
    let both = run(&lasting.replace("max_time", "flows = 100000\nmax_time"));
    assert_eq!(both.never_started, half.never_started);
}

#[test]
fn a_fault_that_will_be_lifted_is_waited_for() {
    let until = DEAD.to_owned() + "until = \"3s\"\n";
    let outcome = run(&scenario("1MB", &until, r#"{ kind = "line-rate", rto = "40us" }"#, ""));
    assert_eq!(outcome.stalled, None);
    assert!(outcome.flows[0].delivered > Time::from_us(3_000_000));
}

#[test]
fn a_long_flow_is_no_stall() {
    // Some three million packet-hops between its start and its end.
    let outcome = run(&scenario("1GB", "", r#""tcp""#, ""));
    assert!(outcome.tally.packet_hops > 2_500_000 && outcome.stalled.is_none());
    assert!(outcome.flows[0].delivered != Time::NEVER);
}

/// All of a window goes into a host's FIFO, and the acknowledgements of what comes from the other side behind it: no
/// sender hears anything for as long as that takes, and some millions of packets move.
#[test]
fn acknowledgements_that_wait_behind_a_huge_window_are_waited_for() {
    let both_ways = r#"
[[workload]]
sizes = { kind = "constant", size = "1022MB" }
arrivals = "at-once"
pattern = { kind = "pair", src = 0, dst = 1 }
"#;
    let transport =
        r#"{ kind = "fixed-window", initial_window = 700000, min_rto = "100s", max_rto = "100s" }"#;
    let toml = scenario("1022MB", both_ways, transport, "[run]\nflows = 2\n");
    let toml = toml.replace(r#"{ kind = "drop-tail", capacity = "100KB" }"#, r#""drop-tail""#);
    let outcome = run(&toml);
    assert_eq!(outcome.stalled, None);
    assert!(outcome.flows.len() == 2 && outcome.flows.iter().all(|row| row.is_over()), "{:?}", outcome.flows);
    assert!(outcome.tally.events > 2_500_000, "too short for anybody to be asked twice: {:?}", outcome.tally);
}

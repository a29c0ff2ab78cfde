//! What connections cost their flows: handshakes, and what is lost of them; and what flows leave to those after them.

use crate::common::{fct, run, write_file};
use packetloom::simulation::Outcome;
use packetloom::units::Time;

/// A rack with links of 10 Gb/s and 25 us, as in transports.rs: a round trip of packets of 40 B takes this long.
const SMALL_ROUND_TRIP: Time = Time::from_ns(4 * 25_000 + 4 * 32);
/// The handshake's last packet goes before the data.
const LAST_ACK: Time = Time::from_ns(32);
const PACKET: u64 = 1460;

/// Flows from host 0 to host 1 of so many packets, each with its start in us.
fn flows(name: &str, transport: &str, flows: &[(u64, u64)], more: &str) -> Outcome {
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
transport = {transport}
queue = "drop-tail"
{more}
"#
    ))
}

fn tcp(connections: &str) -> String {
    format!(r#"{{ kind = "tcp", initial_window = 2, min_rto = "10ms", connections = {connections} }}"#)
}

fn alone(name: &str, transport: &str, packets: u64) -> Time {
    fct(&flows(name, transport, &[(packets, 0)], "").flows[0])
}

#[test]
fn a_fresh_connection_costs_a_round_trip_of_small_packets() {
    for packets in [1, 2, 7, 40] {
        let open = alone("open.csv", &tcp(r#""open""#), packets);
        let fresh = alone("fresh.csv", &tcp(r#""fresh""#), packets);
        assert_eq!(fresh, open + SMALL_ROUND_TRIP + LAST_ACK, "{packets} packets");
    }
}

/// The link of a host is down for a while, given in us.
fn down(host: &str, from: u64, until: u64) -> String {
    format!(
        "[[fault]]\nkind = \"link-down\"\nbetween = [\"{host}\", \"switch0\"]\nat = \"{from}us\"\nuntil = \"{until}us\"\n\
         learn_after = \"1s\"\n"
    )
}

#[test]
fn a_lost_syn_is_sent_again_after_a_timeout_that_doubles() {
    let transport = tcp(r#"{ kind = "fresh", syn_rto = "400us" }"#);
    let outcome = flows("lost-syn.csv", &transport, &[(2, 0)], &down("host1", 0, 1_000));
    // Sent at 0, 400 and 1200 us. The window is then one packet (RFC 5681 §3.1), so that the second packet waits for
    // the first one's acknowledgement.
    let one_by_one =
        alone("one.csv", &tcp(r#""open""#).replace("initial_window = 2", "initial_window = 1"), 2);
    assert_eq!(fct(&outcome.flows[0]), Time::from_us(1_200) + SMALL_ROUND_TRIP + LAST_ACK + one_by_one);
    assert_eq!(outcome.flows[0].report.timeouts, 2);
}

#[test]
fn a_lost_syn_ack_is_sent_again_too() {
    let transport = tcp(r#"{ kind = "fresh", syn_rto = "400us" }"#);
    // The SYN-ACK leaves host 1 at 50.064 us and reaches the switch 25 us later, from where the link is down. It is
    // sent again at 450.064 us, as is the SYN at 400 us.
    let outcome = flows("lost-syn-ack.csv", &transport, &[(1, 0)], &down("host0", 60, 90));
    let open = alone("open-one.csv", &tcp(r#""open""#), 1);
    let reached = Time::from_ns(450_064) + Time::from_ns(50_064);
    // Two SYN-ACKs come, a packet's time apart; either end has one timeout.
    let late = fct(&outcome.flows[0]).since(reached + LAST_ACK + open);
    assert!(late <= Time::from_ns(64), "{late}");
    assert_eq!(outcome.flows[0].report.timeouts, 1);
}

#[test]
fn fast_open_carries_the_first_packet_once_there_is_a_cookie() {
    let transport = tcp(r#"{ kind = "fresh", fast_open = true }"#);
    for packets in [1, 2, 5] {
        let outcome = flows("fast-open.csv", &transport, &[(packets, 0), (packets, 10_000)], "");
        let open = alone("fast-open-open.csv", &tcp(r#""open""#), packets);
        assert_eq!(fct(&outcome.flows[0]), open + SMALL_ROUND_TRIP + LAST_ACK, "no cookie yet");
        // One packet with the SYN; its acknowledgement opens a window of three.
        let one_first = alone("one-first.csv", &tcp(r#""open""#), 1);
        let expected = if packets == 1 {
            open
        } else {
            let rest = alone(
                "rest.csv",
                &tcp(r#""open""#).replace("initial_window = 2", "initial_window = 3"),
                packets - 1,
            );
            // A full packet and its acknowledgement.
            rest + Time::from_ns(4 * 25_000 + 2 * 1_200 + 2 * 32)
        };
        assert_eq!(fct(&outcome.flows[1]), expected, "{packets} packets, {one_first}");
    }
}

#[test]
fn data_that_was_lost_with_the_syn_is_sent_again() {
    let transport = tcp(r#"{ kind = "fresh", fast_open = true, syn_rto = "400us" }"#);
    let lost = down("host1", 9_990, 10_100);
    let outcome = flows("fast-open-lost.csv", &transport, &[(1, 0), (3, 10_000)], &lost);
    let report = outcome.flows[1].report;
    assert_eq!((report.packets_sent, report.retransmissions, report.timeouts), (4, 1, 1));
    assert!(fct(&outcome.flows[1]) > Time::from_us(400) + SMALL_ROUND_TRIP);
    // The answer to the SYN is lost, not the data: its repetition says so, and nothing is sent again.
    let lost = down("host0", 10_060, 10_090);
    let outcome = flows("fast-open-answer.csv", &transport, &[(1, 0), (3, 10_000)], &lost);
    let report = outcome.flows[1].report;
    assert_eq!((report.packets_sent, report.retransmissions, report.timeouts), (3, 0, 1));
}

/// The second of two flows, of so many packets, after one of 31.
fn second(pool: &str, packets: u64, start_us: u64) -> Time {
    let transport = tcp(&format!(r#"{{ kind = "pool", {pool} }}"#));
    fct(&flows("second.csv", &transport, &[(31, 0), (packets, start_us)], "").flows[1])
}

#[test]
fn a_flow_goes_on_with_the_window_that_another_left() {
    // 31 packets from a window of 2 leave one of 33; 30 packets go at once.
    let at_once =
        alone("at-once.csv", &tcp(r#""open""#).replace("initial_window = 2", "initial_window = 30"), 30);
    let from_two = alone("from-two.csv", &tcp(r#""open""#), 30);
    assert_eq!(second(r#"idle_restart = "never""#, 30, 500_000), at_once);
    assert_eq!(second(r#"idle_restart = "rfc5681""#, 30, 2_000), at_once, "within a timeout");
    assert_eq!(second(r#"idle_restart = "rfc5681""#, 30, 500_000), from_two);
    assert_eq!(second(r#"idle_restart = "initial-window""#, 30, 500_000), from_two);
    assert_eq!(second(r#"idle_restart = "each-flow""#, 30, 2_000), from_two);
    // The flow before ended after some 0.6 ms; two timeouts of 10 ms later 33 packets are 8.
    let from_eight =
        alone("eight.csv", &tcp(r#""open""#).replace("initial_window = 2", "initial_window = 8"), 30);
    assert_eq!(second("", 30, 25_000), from_eight);
}

#[test]
fn where_no_connection_is_idle_another_is_opened() {
    let transport = tcp(r#"{ kind = "pool", warm = 1 }"#);
    let outcome = flows("two.csv", &transport, &[(1, 0), (1, 10), (1, 1_000), (1, 1_010)], "");
    let open = alone("two-open.csv", &tcp(r#""open""#), 1);
    let times: Vec<Time> = outcome.flows.iter().map(fct).collect();
    assert_eq!(times, [open, open + SMALL_ROUND_TRIP + LAST_ACK, open, open]);
}

#[test]
fn subflows_join_once_the_first_is_open() {
    let mptcp = |connections: &str| {
        format!(
            r#"{{ kind = "mptcp", subflows = 2, initial_window = 2, min_rto = "10ms", connections = {connections} }}"#
        )
    };
    let open = alone("mptcp-open.csv", &mptcp(r#""open""#), 1);
    let fresh = alone("mptcp-fresh.csv", &mptcp(r#""fresh""#), 1);
    // The join's SYN leaves before the data does.
    assert_eq!(fresh, open + SMALL_ROUND_TRIP + LAST_ACK.times(2));
    // The second subflow has its window two round trips after the first: 2 packets, 4, and 6 and 2.
    let (few, more) = (12, 13);
    let last_of_third = alone("mptcp-few.csv", &mptcp(r#""fresh""#), few);
    let first_of_fourth = alone("mptcp-more.csv", &mptcp(r#""fresh""#), more);
    assert!(last_of_third < open + SMALL_ROUND_TRIP.times(3) + Time::from_us(30), "{last_of_third}");
    assert!(first_of_fourth > last_of_third, "{first_of_fourth}");
}

#[test]
fn the_syns_of_pias_go_before_data_whatever_class_the_workload_writes() {
    let times = |class: u8| -> Vec<Time> {
        let outcome = run(&format!(
            r#"
[topology]
kind = "rack"
hosts = 4

[[workload]]
sizes = {{ kind = "constant", size = "400KB" }}
arrivals = {{ kind = "periodic", interval = "200us" }}
pattern = {{ kind = "incast", fan_in = 3, receiver = 0 }}
class = {class}

[[scheme]]
name = "classes"
transport = {{ kind = "pias", connections = "fresh", thresholds = ["20KB", "50KB", "100KB"] }}
queue = {{ kind = "classes", strict = 8, queue = "drop-tail", port = {{ kind = "ecn", capacity = "1MB", mark_above = "90KB" }} }}

[run]
flows = 30
"#
        ));
        outcome.flows.iter().map(fct).collect()
    };
    assert_eq!(times(7), times(0));
}

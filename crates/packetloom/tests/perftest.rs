//! Measurements of links as perftest makes them have the rates and latencies that their closed forms have.

use crate::common::{cases, run};
use packetloom::simulation::{Outcome, Simulation};
use packetloom::units::Time;

const MESSAGE: u64 = 1_000;
/// A packet of 1000 B behind a header of 48 B, and an acknowledgement of 60 B, on a link of 100 Gb/s.
const PACKET: Time = Time(1_048 * 80);
const ACK: Time = Time(60 * 80);
const LINK: Time = Time::from_us(1);

fn text(topology: &str, arrivals: &str, pairs: u32) -> String {
    format!(
        "[topology]\nkind = \"rack\"\nhosts = 4\nlink = {{ rate = \"100Gbps\", delay = \"1us\" }}\n{topology}\n\n\
         [[workload]]\narrivals = {{ kind = \"perftest\", size = \"{MESSAGE}B\", {arrivals} }}\n\n\
         [[scheme]]\nname = \"any\"\nqueue = \"drop-tail\"\n\
         transport = {{ kind = \"roce\", mss = \"1000B\", header = \"48B\", connections = {{ kind = \"in-order\", queue_pairs = {pairs} }} }}\n"
    )
}

fn perftest(topology: &str, arrivals: &str, pairs: u32) -> Outcome {
    let outcome = run(&text(topology, arrivals, pairs));
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    outcome
}

fn took(outcome: &Outcome) -> Time {
    outcome.iterations[0].took().expect("it is done")
}

/// Through the switch, which waits for the whole packet.
fn way(packet: Time) -> Time {
    (packet + LINK).times(2)
}

fn round_trip() -> Time {
    way(PACKET) + way(ACK)
}

#[test]
fn the_rate_is_the_least_of_the_line_the_messages_under_way_and_the_host() {
    let of = |outstanding: u64, more: &str| {
        took(&perftest("", &format!("messages = 1200, outstanding = {outstanding}{more}"), 1))
    };
    // Few are under way: so many in each round trip.
    for outstanding in [1, 3, 40] {
        let rounds = round_trip().times(1_200 / outstanding);
        assert_eq!(of(outstanding, ""), rounds + PACKET.times(outstanding - 1));
    }
    // From 50 on, which a round trip of 4175 ns has packets of 84 ns, the line is full.
    for outstanding in [50, 128, 2_000] {
        assert_eq!(of(outstanding, ""), PACKET.times(1_199) + round_trip());
    }
    // A thread posts ten messages in a microsecond.
    assert_eq!(of(128, ", send_cost = \"100ns\""), Time::from_ns(100).times(1_200) + round_trip());
    // Or the NIC sends as many, with the same latency of 100 ns for each.
    let outcome = perftest("send_per_message = \"100ns\"", "messages = 1200", 1);
    assert_eq!(took(&outcome), Time::from_ns(100).times(1_200) + round_trip());
    // What hosts take for every packet goes by while others are under way.
    let far = took(&perftest("host_delay = \"2us\"", "messages = 1200", 1));
    assert_eq!(far, PACKET.times(1_199) + round_trip() + Time::from_us(4));
}

#[test]
fn both_directions_are_as_fast_as_one_but_for_acknowledgements() {
    let both = perftest("", "messages = 1000, bidirectional = true", 1);
    assert_eq!(both.flows.len(), 2_000);
    let one = took(&perftest("", "messages = 1000", 1)).as_secs_f64();
    let share = took(&both).as_secs_f64() / one;
    // Each message is acknowledged by 60 B on the other direction's link.
    assert!((1.0..1.0 + 60.0 / 1_048.0).contains(&share), "{share}");
}

#[test]
fn half_a_round_trip_is_the_sum_of_its_parts() {
    let outcome = perftest(
        "host_delay = \"300ns\"",
        "test = \"latency\", messages = 10, send_cost = \"250ns\", receive_cost = \"150ns\"",
        1,
    );
    let half = way(PACKET) + Time::from_ns(300 + 250 + 150);
    let pings: Vec<Time> =
        outcome.flows.iter().filter(|row| row.flow.src == 0).map(|row| row.flow.start).collect();
    assert_eq!(pings.len(), 10);
    assert!(pings.windows(2).all(|pair| pair[1] - pair[0] == half.times(2)), "{pings:?}");
    assert_eq!(outcome.jobs.len(), 0, "no collective operation");
}

#[test]
fn queue_pairs_share_the_messages_and_pairs_of_ranks_the_fabric() {
    let window = |pairs: u32| {
        let arrivals = "messages = 1000";
        let text =
            text("", arrivals, pairs).replace("mss =", "window = \"fixed\", window_bytes = \"10KB\", mss =");
        took(&run(&text))
    };
    // The window of each is nine packets: two have twice as many under way, and eight more than the line takes.
    let (one, two) = (window(1).as_secs_f64(), window(2).as_secs_f64());
    assert!((1.95..2.05).contains(&(one / two)), "{one} {two}");
    assert_eq!(window(8), PACKET.times(999) + round_trip());
    let outcome = perftest("", "messages = 100, pairs = 2, placement = [2, 0, 3, 1]", 1);
    let ends = |src: u32| outcome.flows.iter().filter(move |row| row.flow.src == src);
    assert!(ends(2).all(|row| row.flow.dst == 3) && ends(0).all(|row| row.flow.dst == 1));
    assert_eq!(took(&outcome), PACKET.times(99) + round_trip());
}

#[test]
fn what_can_not_be_is_told() {
    let told = |arrivals: &str| {
        let case = cases(&text("", arrivals, 1)).remove(0);
        let complaint = Simulation::new(case).expect_err("a mistake");
        format!("{}: {}", complaint.key, complaint.message)
    };
    assert_eq!(told("pairs = 3"), "workload[0].arrivals.pairs: 6 ranks among 4 hosts; write fewer");
    let outcome = run(&text("", "test = \"latency\", outstanding = 4, messages = 2", 1));
    assert!(outcome.flows.len() == 4);
}

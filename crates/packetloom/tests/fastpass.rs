//! Fastpass: when a flow's packets go, which flow goes first, and that lost packets are sent again.

use crate::common::{fct, port, run};
use packetloom::simulation::Outcome;
use packetloom::units::Time;

/// Four hosts, of which number 2 is the arbiter unless `transport` sets another.
fn rack(transport: &str, workload: &str, flows: u32) -> Outcome {
    run(&format!(
        r#"
[topology]
kind = "rack"
hosts = 4
link = {{ rate = "10Gbps", delay = "0.4us" }}
{workload}
[[scheme]]
name = "Fastpass"
transport = {{ kind = "fastpass", {transport} }}
queue = {{ kind = "pfabric", capacity = "100KB" }}

[run]
flows = {flows}
"#
    ))
}

fn flow(src: u32, dst: u32, packets: u32, start: &str) -> String {
    let bytes = packets * 1460;
    format!(
        "[[workload]]\nsizes = {{ kind = \"constant\", size = \"{bytes}B\" }}\n\
         arrivals = {{ kind = \"at-once\" }}\nstart = \"{start}\"\nflows = 1\n\
         pattern = {{ kind = \"pair\", src = {src}, dst = {dst} }}\n"
    )
}

#[test]
fn a_flow_asks_and_sends_a_packet_in_each_of_its_slots() {
    // A request of 40 B takes 2 × (32 + 400) ns to the arbiter, an allocation as long back. Slots are 1275 ns,
    // batches of eight are given out at multiples of 10.2 us. A full packet takes 2 × (1200 + 400) ns.
    let three = flow(0, 1, 3, "0us");
    let arrival = rack(r#"arbiter = 2, lead = "0us""#, &three, 1);
    assert_eq!(fct(&arrival.flows[0]), Time::from_ns(10_200 + 864 + 2 * 1_275 + 3_200));
    let clock = rack("arbiter = 2", &three, 1);
    assert_eq!(fct(&clock.flows[0]), Time::from_ns(10_200 + 10_200 + 2 * 1_275 + 3_200));
    let soon = rack(r#"arbiter = 2, lead = "1us""#, &three, 1);
    assert_eq!(fct(&soon.flows[0]), Time::from_ns(10_200 + 1_000 + 2 * 1_275 + 3_200));
    // Ten packets are more than a batch.
    let ten = rack(r#"arbiter = 2, lead = "0us", spare = 0"#, &flow(0, 1, 10, "0us"), 1);
    assert_eq!(fct(&ten.flows[0]), Time::from_ns(2 * 9_600 + 864 + 1_200 + 3_200));
    // The arbiter receives two control packets of the flow: its request, and its end.
    let to_arbiter = port(&clock, "switch0", "host2").counters;
    assert_eq!((to_arbiter.packets, to_arbiter.bytes), (2, 80));
}

#[test]
fn no_two_packets_meet_where_slots_are_on_one_clock() {
    let workload = "[[workload]]\nsizes = { kind = \"exponential\", mean = \"60KB\" }\n";
    for order in ["least-recent", "srjf", "ocf", "mmf"] {
        let outcome = run(&format!(
            r#"
[topology]
kind = "rack"
hosts = 12
{workload}
[[scheme]]
name = "Fastpass"
transport = {{ kind = "fastpass", order = "{order}" }}
queue = {{ kind = "pfabric", capacity = "100KB" }}

[run]
loads = [0.7]
flows = 1_000

[measure]
queues = true
"#
        ));
        assert!(outcome.warnings.is_empty(), "{order}: {:?}", outcome.warnings);
        assert!(outcome.flows.iter().all(|row| row.report.retransmissions == 0), "{order}");
        for port in outcome.ports.iter().filter(|port| port.link > 12) {
            let largest = port.queue.as_ref().expect("watched").largest_bytes();
            // At host 0, beside the arbiter: control packets of 40 B wait behind a data packet or it behind them,
            // never a second one.
            assert!(largest < 3_000, "{order}: {largest} B at port {}", port.link);
        }
    }
}

#[test]
fn the_order_says_who_goes_first() {
    // Both want host 1: a long flow that sent its request first, a short one while it is served.
    let both = flow(0, 1, 400, "0us") + &flow(3, 1, 8, "40us");
    let short = |order: &str| {
        let outcome = rack(&format!(r#"arbiter = 2, order = "{order}""#), &both, 2);
        fct(&outcome.flows[1])
    };
    // Requested at 40.9 us, decided at 51 us: eight slots of the next batch, or every other one of two.
    let at_once = Time::from_ns(51_000 + 10_200 + 7 * 1_275 + 3_200 - 40_000);
    assert_eq!(short("srjf"), at_once);
    assert_eq!(short("least-recent"), at_once + Time::from_ns(7 * 1_275));
    // First come, first served: the long flow needs 400 slots, 510 us.
    assert!(short("ocf") > Time::from_us(500), "{}", short("ocf"));
}

#[test]
fn packets_under_way_are_lost_after_a_batch_unless_the_scenario_says_later() {
    let timeouts = |gbps: u32, keys: &str| {
        let outcome = run(&format!(
            "topology = {{ kind = \"rack\", hosts = 4, link = {{ rate = \"{gbps}Gbps\", delay = \"0.4us\" }} }}\n\
             {}[[scheme]]\nname = \"Fastpass\"\ntransport = {{ kind = \"fastpass\", arbiter = 2{keys} }}\n\
             queue = {{ kind = \"pfabric\", capacity = \"100KB\" }}\n[run]\nflows = 1\n",
            flow(0, 1, 3, "0us")
        ));
        outcome.flows[0].report.timeouts
    };
    // At 100 Gb/s a batch takes 1.02 us, a packet and its acknowledgement 2 x (0.12 + 0.4) + 2 x 0.4032 us; at 10
    // Gb/s 10.2 us and 4.1 us.
    assert_eq!([timeouts(10, ""), timeouts(100, ""), timeouts(100, ", lost_after = \"2us\"")], [0, 1, 0]);
}

#[test]
fn what_is_lost_is_sent_again_whatever_it_was() {
    let workload = "[[workload]]\nsizes = { kind = \"constant\", size = \"30KB\" }\narrivals = \"at-once\"\n\
                    [[fault]]\nkind = \"corruption\"\nprobability = 0.02\n";
    let outcome = rack("", workload, 200);
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    assert!(outcome.flows.iter().any(|row| row.report.retransmissions > 0));
    assert!(outcome.flows.iter().all(|row| row.report.timeouts <= row.report.retransmissions));
}

//! Link layer retry: what is damaged on a link comes later, and in order.

use crate::common::{cases, fct, run, simulate, write_file};
use packetloom::simulation::{Outcome, Simulation};
use packetloom::units::Time;

/// A byte takes 800 ps on these links, and the way along one 400 ns.
const BYTE_PS: u64 = 800;
const DELAY_PS: u64 = 400_000;
const TURNAROUND_PS: u64 = 50_000;

fn rack(retry: &str, probability: &str, bytes: u64, seed: u64) -> String {
    let file = format!("retry-{bytes}.csv");
    write_file(&file, &format!("src,dst,size_bytes,start_ns\n0,1,{bytes},0\n"));
    format!(
        r#"
[topology]
kind = "rack"
hosts = 2
host_delay = "3us"
link = {{ rate = "10Gbps", delay = "0.4us" }}
link_retry = {retry}

[[workload]]
arrivals = {{ kind = "list", file = "{file}" }}

[[fault]]
kind = "corruption"
probability = {probability}

[[scheme]]
name = "line rate"
transport = {{ kind = "fixed-window", initial_window = 110, min_rto = "1s" }}
queue = "drop-tail"

[run]
seeds = [{seed}]
max_time = "10s"
"#
    )
}

const LLR: &str = r#"{ kind = "llr", replays = 255, turnaround = "50ns" }"#;

fn replays(outcome: &Outcome) -> Vec<u64> {
    outcome.ports.iter().map(|port| port.counters.replays).collect()
}

#[test]
fn a_packet_that_is_damaged_takes_a_round_trip_of_its_link_more_each_time() {
    let whole = fct(&run(&rack(LLR, "0.0", 1_000, 1)).flows[0]);
    let mut seen = 0;
    for seed in 1..=20 {
        let outcome = run(&rack(LLR, "0.5", 1_000, seed));
        // The data goes over the first host's link, then the switch's to the second.
        let links = &outcome.topology.links;
        let on_way =
            |port: &packetloom::simulation::PortRow| links[port.link].src == 0 || links[port.link].dst == 1;
        let again: u64 =
            outcome.ports.iter().filter(|port| on_way(port)).map(|port| port.counters.replays).sum();
        let each = 1_040 * BYTE_PS + 2 * DELAY_PS + 8 * BYTE_PS + TURNAROUND_PS;
        assert_eq!(
            fct(&outcome.flows[0]),
            whole + Time(again * each),
            "seed {seed}: {:?}",
            replays(&outcome)
        );
        assert!(outcome.ports.iter().all(|port| port.counters.corrupted == 0));
        seen += again;
    }
    // Two links, each with as many replays as packets in the mean: 40, with a standard deviation of 9.
    assert!((10..=80).contains(&seen), "{seen}");
}

#[test]
fn what_follows_a_damaged_packet_follows_it_still() {
    for seed in 1..=10 {
        let outcome = run(&rack(LLR, "0.2", 150_000, seed));
        let row = &outcome.flows[0];
        // The window sends nothing again: nothing is lost, and nothing overtakes.
        assert_eq!((row.report.retransmissions, row.report.timeouts), (0, 0), "seed {seed}");
        assert!(replays(&outcome).iter().sum::<u64>() > 10);
    }
}

#[test]
fn after_so_many_replays_a_packet_is_lost() {
    let once = r#"{ kind = "llr", replays = 1 }"#;
    let outcome = run(&rack(once, "0.5", 150_000, 1));
    let counters = outcome.ports.iter().map(|port| port.counters);
    let (sent, again, lost) = counters.fold((0, 0, 0), |(sent, again, lost), counters| {
        (sent + counters.packets, again + counters.replays, lost + counters.corrupted)
    });
    // One half is sent again, and one quarter lost: within five standard deviations.
    let near = |count: u64, share: f64| {
        let expected = sent as f64 * share;
        (count as f64 - expected).abs() < 5.0 * (expected * (1.0 - share)).sqrt()
    };
    assert!(sent > 200 && near(again, 0.5) && near(lost, 0.25), "{sent} sent, {again} again, {lost} lost");
    assert!(outcome.flows[0].fct().is_some());
}

#[test]
fn without_damage_a_retry_means_nothing_and_is_refused() {
    let text =
        rack(LLR, "0.1", 1_000, 1).replace("[[fault]]\nkind = \"corruption\"\nprobability = 0.1\n", "");
    let mut cases = cases(&text);
    let Err(complaint) = Simulation::new(cases.remove(0)) else { panic!("it was accepted") };
    assert_eq!(complaint.key, "topology.link_retry");
    assert!(complaint.message.contains("corruption"), "{}", complaint.message);
}

#[test]
fn every_scheme_of_a_lossy_network_loses_nothing_with_it() {
    let text = r#"
[topology]
kind = "fat-tree"
k = 4
link_retry = { kind = "llr", replays = 8 }

[[workload]]
sizes = { kind = "exponential", mean = "60KB" }

[[fault]]
kind = "corruption"
probability = 0.01

[[scheme]]
name = "DCTCP"
transport = "dctcp"
queue = { kind = "ecn", capacity = "225KB" }

[[scheme]]
name = "NDP"
transport = "ndp"
queue = "ndp"
routing = "permutation"

[[scheme]]
name = "DCQCN"
transport = "dcqcn"
queue = { kind = "shared-buffer", pause_time = "100us" }

[run]
loads = [0.5]
flows = 200
"#;
    for case in cases(text) {
        let name = case.scheme.component("transport").kind;
        let outcome = simulate(case);
        assert!(outcome.flows.iter().all(|row| row.fct().is_some()), "{name}");
        let sent: u64 = outcome.ports.iter().map(|port| port.counters.packets).sum();
        let again: u64 = replays(&outcome).iter().sum();
        let expected = sent as f64 * 0.01 / 0.99;
        assert!((again as f64 - expected).abs() < 5.0 * expected.sqrt(), "{name}: {again} of {sent}");
        assert!(outcome.ports.iter().all(|port| port.counters.corrupted == 0), "{name}");
    }
}

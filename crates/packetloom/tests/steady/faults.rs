//! Faults come when they do packet by packet, though time is skipped before, between and after them.

use super::{DCQCN, DCTCP, NSCC, RAILS, error, incast, last_end, ring, run, said, scenario};
use packetloom::simulation::Outcome;

/// Packet by packet, and with time skipped.
fn both(topology: &str, workload: &str, scheme: &str, faults: &[&str]) -> [Outcome; 2] {
    let faults: String = faults.iter().map(|fault| format!("[[fault]]\n{fault}\n")).collect();
    ["packets", "steady"].map(|rung| {
        let more = format!("fidelity = {rung:?}\n{faults}");
        run(&scenario(topology, workload, scheme, &more))
    })
}

/// All flows end as they do packet by packet, within a share of their times, for so many times fewer packet-hops.
fn assert_alike([packets, steady]: &[Outcome; 2], within: f64, fewer: f64) {
    let (all, simulated) = (packets.tally.packet_hops, steady.tally.packet_hops);
    assert!(simulated as f64 * fewer < all as f64, "{simulated} of {all}");
    for (exact, estimate) in packets.flows.iter().zip(&steady.flows) {
        let [exact, estimate] = [exact, estimate].map(|row| row.fct().expect("it ends").as_secs_f64());
        assert!(error(estimate, exact) < within, "{estimate} s, not {exact}");
    }
}

#[test]
fn a_link_is_slow_from_when_it_is_until_when_it_is() {
    let topology = super::DUMBBELL.replace("right = 2", "right = 1");
    // 200 MB take 165 ms; 40 ms at 4 Gb/s are 24 ms more.
    let slow = "kind = \"link-degraded\"\nbetween = [\"switch0\", \"switch1\"]\nrate = \"4Gbps\"\nat = \"50ms\"\nuntil = \"90ms\"";
    let outcomes = both(&topology, &incast(1, "200MB"), DCTCP, &[slow]);
    let took = last_end(&outcomes[0]);
    assert!((0.188..0.191).contains(&took), "{took} s");
    assert_alike(&outcomes, 1e-3, 3.0);
}

const FABRIC: &str = r#"
kind = "leaf-spine"
spines = 2
leaves = 3
hosts_per_leaf = 2
host_link = { rate = "10Gbps", delay = "1us" }
link = { rate = "20Gbps", delay = "1us" }
"#;

#[test]
fn switches_learn_of_what_is_dead_when_they_do() {
    // Whichever spine they go by, it is dead for a while.
    let down = |spine: u32, at: u32, until: u32| {
        format!(
            "kind = \"switch-down\"\nnode = \"spine{spine}\"\nat = \"{at}ms\"\nuntil = \"{until}ms\"\nlearn_after = \"3ms\""
        )
    };
    let faults = [down(0, 40, 80), down(1, 100, 150)];
    let faults: Vec<&str> = faults.iter().map(String::as_str).collect();
    let outcomes = both(FABRIC, &incast(2, "100MB"), DCTCP, &faults);
    for outcome in &outcomes {
        assert!(outcome.flows.iter().any(|row| row.report.timeouts > 0), "a flow is held up");
    }
    assert_alike(&outcomes, 0.02, 1.2);
}

#[test]
fn a_slow_receiver_is_slow_from_when_it_is_until_when_it_is() {
    let slow =
        "kind = \"slow-receiver\"\nhost = \"host4\"\nrate = \"2Gbps\"\nat = \"20ms\"\nuntil = \"40ms\"";
    let roce = "transport = \"roce\"\nqueue = { kind = \"shared-buffer\", pause_time = \"50us\" }";
    let topology = super::DUMBBELL.replace("right = 2", "right = 1");
    assert_alike(&both(&topology, &incast(1, "100MB"), roce, &[slow]), 1e-3, 1.2);
}

/// A fault that all ranks feel alike. (One that a single rank feels puts the ring out of step for long: packets, too,
/// take a third longer or shorter if it comes a tenth of a millisecond later.)
#[test]
fn stages_are_left_out_before_and_after_a_fault() {
    let slow = "kind = \"link-degraded\"\nbetween = [\"host\", \"rail\"]\nrate = \"80Gbps\"\nat = \"2ms\"\nuntil = \"12ms\"";
    let dcqcn = DCQCN.replace("64MB\"", "64MB\", pause_time = \"20us\"");
    for scheme in [&dcqcn, NSCC] {
        let [packets, steady] = both(RAILS, &ring("all-reduce", ", repeat = 3"), scheme, &[slow]);
        let [_, whole] = both(RAILS, &ring("all-reduce", ", repeat = 3"), scheme, &[]);
        let last = |outcome: &Outcome| outcome.iterations.last().map(|row| row.end.as_secs_f64());
        let [packets_end, steady_end, whole_end] =
            [&packets, &steady, &whole].map(|outcome| last(outcome).expect("there are three"));
        assert!(steady_end > whole_end + 1e-3, "the fault is felt: {steady_end} s, {whole_end} without");
        assert!(error(steady_end, packets_end) < 0.002, "{steady_end} s, not {packets_end}");
        let (all, simulated) = (packets.tally.packet_hops, steady.tally.packet_hops);
        assert!(simulated * 5 < all * 4, "{simulated} of {all}");
    }
}

#[test]
fn routing_by_rates_is_refused() {
    let slow = "kind = \"link-degraded\"\nbetween = [\"leaf0\", \"spine0\"]\nrate = \"5Gbps\"";
    let of = |routing: &str, fault: &str| {
        let scheme = format!("{DCTCP}\nrouting = {routing:?}");
        let more = format!("fidelity = \"steady\"\n[[fault]]\n{fault}");
        said(&scenario(FABRIC, &incast(2, "1MB"), &scheme, &more))
    };
    let learned = format!("{slow}\nlearn_after = \"1ms\"");
    assert!(of("conga", &learned).contains("conga learns by the clock"), "{}", of("conga", &learned));
    assert!(of("wcmp", &learned).contains("wcmp learns by the clock"));
    assert_eq!((of("conga", slow), of("ecmp", &learned)), (String::new(), String::new()));
}

//! SYN and ASY: what is granted is sent, no link carries two packets in a slot, and what is offered is carried.

use crate::common::{self, fct, run};
use packetloom::simulation::Outcome;
use packetloom::units::Time;

/// The paper's network at a quarter of its size: 4 leaves of 6 servers, 3 spines.
fn scenario(transport: &str, workload: &str, run: &str) -> String {
    let routing = if transport.contains("syn") { "controller" } else { "ecmp" };
    format!(
        r#"
[topology]
kind = "leaf-spine"
spines = 3
leaves = 4
hosts_per_leaf = 6
link = {{ rate = "2Gbps", delay = "0.5us" }}
host_link = {{ rate = "1Gbps", delay = "0.5us" }}
{workload}
[[scheme]]
name = "central"
transport = {transport}
queue = {{ kind = "drop-tail", capacity = "100MB" }}
routing = "{routing}"

[run]
{run}
[measure]
queues = true
"#
    )
}

const UNIFORM: &str = r#"
[[workload]]
sizes = { kind = "exponential", mean = "46kB" }
"#;

fn uniform(transport: &str, load: f64, flows: u32) -> Outcome {
    run(&scenario(transport, UNIFORM, &format!("loads = [{load}]\nflows = {flows}")))
}

/// One flow of so many bytes from server 0 to server 23, three hops further than its own leaf.
fn one_flow(transport: &str, bytes: u32) -> Outcome {
    let workload = format!(
        "[[workload]]\nsizes = {{ kind = \"constant\", size = \"{bytes}B\" }}\n\
         arrivals = {{ kind = \"at-once\" }}\nstart = \"30us\"\npattern = {{ kind = \"pair\", src = 0, dst = 23 }}\n"
    );
    run(&scenario(transport, &workload, "flows = 1"))
}

const SYN: &str = r#"{ kind = "syn" }"#;
const ASY: &str = r#"{ kind = "asy" }"#;

fn mean_slowdown(outcome: &Outcome) -> f64 {
    common::mean(outcome.flows.iter().map(|row| row.slowdown().expect("all flows finish")))
}

#[test]
fn a_flow_alone_waits_for_the_next_slot_and_no_more() {
    // Slots of 12 us: from 30 us the next begins at 36 us.
    let syn = one_flow(SYN, 6_000);
    assert_eq!(fct(&syn.flows[0]), syn.flows[0].best_fct + Time::from_us(6));
    let asy = one_flow(ASY, 6_000);
    assert_eq!(fct(&asy.flows[0]), asy.flows[0].best_fct);
    // Four packets at 1 Gb/s, then the last at 2, 2 and 1 Gb/s, and four times 0.5 us: 48 + 6 + 6 + 12 + 2.
    assert_eq!(asy.flows[0].best_fct, Time::from_us(74));
}

#[test]
fn the_controllers_latency_delays_the_first_packet() {
    let syn = one_flow(r#"{ kind = "syn", latency = "18us" }"#, 3_000);
    // Known at 48 us, the start of a slot.
    assert_eq!(fct(&syn.flows[0]), syn.flows[0].best_fct + Time::from_us(18));
    let asy = one_flow(r#"{ kind = "asy", latency = "18us" }"#, 3_000);
    assert_eq!(fct(&asy.flows[0]), asy.flows[0].best_fct + Time::from_us(18));
}

#[test]
fn slots_keep_the_spines_empty() {
    for order in ["ocf", "srjf", "mmf", "least-recent"] {
        // Whole packets only: a short one comes early, while the last slot's are still there.
        let whole = UNIFORM.replace("exponential", "constant").replace("mean = \"46kB\"", "size = \"45kB\"");
        let transport = format!("{{ kind = \"syn\", order = \"{order}\" }}");
        let outcome = run(&scenario(&transport, &whole, "loads = [0.7]\nflows = 2000"));
        assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
        let topology = &outcome.topology;
        let is_of_a_spine = |node: u32| topology.tier_name(node) == "spine";
        for port in &outcome.ports {
            let link = topology.links[port.link];
            if is_of_a_spine(link.src) || is_of_a_spine(link.dst) {
                // A link of twice a server's rate takes two packets a slot. They come to a leaf together, so that
                // one waits; to a spine half a slot apart at most, so that two may meet the last slot's second.
                let most = if is_of_a_spine(link.src) { 3_000 } else { 1_500 };
                let largest = port.queue.as_ref().expect("watched").largest_bytes();
                assert!(largest <= most, "{order}: {largest} B at port {}", port.link);
            }
        }
    }
}

#[test]
fn both_carry_what_is_offered_and_alike() {
    for load in [0.3, 0.6] {
        let (syn, asy) =
            (mean_slowdown(&uniform(SYN, load, 4_000)), mean_slowdown(&uniform(ASY, load, 4_000)));
        assert!((0.6..1.4).contains(&(asy / syn)), "load {load}: SYN {syn}, ASY {asy}");
    }
}

#[test]
fn alternating_lengths_halve_what_slots_carry() {
    let workload = r#"
[[workload]]
sizes = { kind = "constant", size = "1540000B" }
arrivals = { kind = "at-once" }
pattern = { kind = "pair", src = 0, dst = 23 }
"#;
    let goodput = |transport: &str| {
        let outcome = run(&scenario(transport, workload, "flows = 1"));
        outcome.flows[0].goodput_gbps().expect("it finishes")
    };
    // 770 of 1500 B.
    let syn = goodput(r#"{ kind = "syn", lengths = "alternating" }"#);
    assert!((syn - 0.513).abs() < 0.002, "{syn}");
    // A slot takes a full packet or a run of short ones: 0.6 + 0.4 × 0.6 slots a packet of 916 B on average.
    let packed = goodput(r#"{ kind = "syn", lengths = "bimodal", pack = true }"#);
    assert!((packed - 916.0 / 1500.0 / 0.84).abs() < 0.02, "{packed}");
    let asy = run(&scenario(r#"{ kind = "asy", lengths = "alternating" }"#, workload, "flows = 1"));
    assert_eq!(asy.flows[0].slowdown(), Some(1.0));
}

#[test]
fn a_lone_flow_is_as_fast_as_can_be_through_switches_that_cut_through() {
    for bytes in [231, 1_017, 46_000] {
        let workload = format!(
            "[[workload]]\nsizes = {{ kind = \"constant\", size = \"{bytes}B\" }}\n\
             arrivals = {{ kind = \"at-once\" }}\npattern = {{ kind = \"pair\", src = 0, dst = 23 }}\n"
        );
        let toml = scenario(ASY, &workload, "flows = 1");
        let fct_and_slowdown = |toml: &str| {
            let flow = &run(toml).flows[0];
            (fct(flow), flow.slowdown())
        };
        let (stored, slowdown) = fct_and_slowdown(&toml);
        assert_eq!(slowdown, Some(1.0), "{bytes} B");
        let toml = toml.replace("spines = 3", "spines = 3\nforwarding = \"cut-through\"");
        let (cut_through, slowdown) = fct_and_slowdown(&toml);
        assert_eq!(slowdown, Some(1.0), "{bytes} B, cut-through");
        assert!(cut_through < stored, "{bytes} B: {cut_through} and {stored}");
    }
}

#[test]
fn lost_messages_and_a_failed_controller_only_delay() {
    for (transport, trouble) in [
        ("syn", "loss = 0.2"),
        ("asy", "loss = 0.2"),
        ("syn", "fails_at = \"1ms\", back_at = \"3ms\""),
        ("asy", "fails_at = \"1ms\", back_at = \"3ms\""),
        ("syn", "latency = \"100us\""),
        ("asy", "latency = \"100us\""),
        ("syn", "clock_error = \"20us\""),
        ("asy", "period = \"50us\""),
    ] {
        let outcome = uniform(&format!("{{ kind = \"{transport}\", {trouble} }}"), 0.4, 600);
        let sound = mean_slowdown(&uniform(&format!("{{ kind = \"{transport}\" }}"), 0.4, 600));
        let troubled = mean_slowdown(&outcome);
        assert!(outcome.warnings.is_empty(), "{transport}, {trouble}: {:?}", outcome.warnings);
        assert!(troubled > sound, "{transport}, {trouble}: {troubled} against {sound}");
    }
}

/// A bound that falls with the queue, or since its last arrival, starves the last bytes of each queue.
#[test]
fn every_estimator_carries_the_load_but_where_it_bounds_the_last_bytes_of_a_queue() {
    for (estimator, up_to_offered, is_carried) in [
        ("active", false, true),
        ("active", true, true),
        ("backlog", false, true),
        ("backlog", true, false),
        ("arrivals", false, true),
        ("arrivals", true, false),
    ] {
        let transport =
            format!("{{ kind = \"asy\", estimator = \"{estimator}\", up_to_offered = {up_to_offered} }}");
        let outcome = uniform(&transport, 0.5, 1_000);
        assert!(outcome.warnings.is_empty(), "{transport}: {:?}", outcome.warnings);
        assert_eq!(outcome.flows.iter().filter(|row| row.fct().is_some()).count(), 1_000, "{transport}");
        let last_start = outcome.flows.iter().map(|row| row.flow.start).max().expect("a flow");
        let drained = outcome.simulated.since(last_start).as_secs_f64() / last_start.as_secs_f64();
        // 2 ms after flows have started for 30; where it starves them, 25 times as long as they started, and more.
        let is_as_known = if is_carried { drained < 0.1 } else { drained > 10.0 };
        assert!(is_as_known, "{transport}: {drained}");
    }
}

#[test]
fn control_traffic_is_counted() {
    let of = |transport: &str| one_flow(transport, 6_000).control.expect("central control").traffic;
    let syn = of(SYN);
    // A report, a grant for each of four packets.
    assert_eq!((syn.reports, syn.report_bytes, syn.grants, syn.grant_bytes), (1, 8, 4, 32));
    let asy = of(ASY);
    // It waits, it is empty; rate 1.
    assert_eq!((asy.reports, asy.grants), (2, 1));
}

/// Nothing is sent twice, so a flow whose payload a queue cut off is never whole.
#[test]
fn a_trimmed_packet_is_as_lost_as_a_dropped_one() {
    let toml = scenario(ASY, UNIFORM, "loads = [0.9]\nflows = 300");
    let drop_tail = r#"{ kind = "drop-tail", capacity = "100MB" }"#;
    let outcome = run(&toml.replace(drop_tail, r#"{ kind = "ndp", capacity = "1packets" }"#));
    let trims: u64 = outcome.ports.iter().map(|port| port.counters.trims).sum();
    let unfinished = outcome.flows.iter().filter(|row| row.delivered == Time::NEVER).count() as u64;
    assert!((1..=trims).contains(&unfinished), "{unfinished} flows unfinished, {trims} packets trimmed");
}

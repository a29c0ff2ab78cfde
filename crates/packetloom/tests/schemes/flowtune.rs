//! Rates that Flowtune's senders have over time, on networks.

use crate::common::{cases, port, write_file};
use crate::watched::{Step, watch};
use packetloom::simulation::Outcome;
use packetloom::units::Time;
use std::collections::BTreeSet;

/// src, dst, size in bytes and start in us of each flow.
type Flows<'a> = &'a [(u32, u32, u64, u64)];

fn observe(topology: &str, rest: &str, file: &str, flows: Flows<'_>) -> (Outcome, Vec<Step>) {
    let rows = flows.iter().map(|(src, dst, size, start)| format!("{src},{dst},{size},{start}000\n"));
    write_file(file, &format!("src,dst,size_bytes,start_ns\n{}", rows.collect::<String>()));
    let toml = format!(
        "topology = {topology}\n[[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n{rest}"
    );
    watch(&cases(&toml).remove(0)).expect("a scheme with packets")
}

/// The rates of the flows that have begun and are not over, in Gb/s; 0 where none has come.
fn rates_at(steps: &[Step], at: Time) -> Vec<f64> {
    let flows: BTreeSet<u32> = steps.iter().map(|step| step.flow).collect();
    let rate = |flow: u32| {
        let last = steps.iter().rfind(|step| step.flow == flow && step.at <= at)?;
        Some(last.after?.rate.map_or(0.0, |rate| rate.as_bps() as f64 / 1e9))
    };
    flows.into_iter().filter_map(rate).collect()
}

/// How long after a moment all rates come within a part of an equal share of 9.9 Gb/s to stay there, in us.
fn settles_after(steps: &[Step], from_us: u64, until_us: u64, part: f64) -> u64 {
    let is_off = |at: u64| {
        let rates = rates_at(steps, Time::from_us(at));
        let share = 9.9 / rates.len() as f64;
        rates.iter().any(|rate| (rate - share).abs() > part * share)
    };
    (from_us..until_us).rev().find(|&at| is_off(at)).map_or(0, |at| at + 1 - from_us)
}

/// Flowtune's figure of convergence (§6): in a rack five senders come to one receiver, 10 ms apart, then leave again.
/// Its points are 100 us apart, and each change is over by the next one. Here it is 1 ms from change to change.
#[test]
fn five_senders_that_come_and_go_have_equal_rates_within_100_us_of_each_change() {
    // Each is to end a millisecond after the one that came after it, the last to come first: sizes are what fair
    // shares of 9.9 Gb/s carry.
    let ms_bytes = |shares: &[f64]| {
        let carried: f64 = shares.iter().map(|share| 9.9e9 / 8e3 / share).sum();
        (carried * 1_460.0 / 1_500.0) as u64
    };
    let flows = [
        (1, 0, ms_bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 4.0, 3.0, 2.0, 1.0]), 0),
        (2, 0, ms_bytes(&[2.0, 3.0, 4.0, 5.0, 4.0, 3.0, 2.0]), 1_000),
        (3, 0, ms_bytes(&[3.0, 4.0, 5.0, 4.0, 3.0]), 2_000),
        (4, 0, ms_bytes(&[4.0, 5.0, 4.0]), 3_000),
        (5, 0, ms_bytes(&[5.0]), 4_000),
    ];
    // The paper's delays: 1.5 us a link and 2 us a host.
    let topology =
        r#"{ kind = "rack", hosts = 7, link = { rate = "10Gbps", delay = "1.5us" }, host_delay = "2us" }"#;
    let scheme = "[[scheme]]\nname = \"Flowtune\"\ntransport = { kind = \"flowtune\", allocator = 6 }\n\
                  queue = { kind = \"drop-tail\", capacity = \"225KB\" }\n";
    let (outcome, steps) = observe(topology, scheme, "flowtune-five.csv", &flows);
    assert!(outcome.flows.iter().all(|row| row.report.retransmissions == 0));
    let mut ends: Vec<u64> = outcome.flows.iter().map(|row| row.closed.as_ps().div_ceil(1_000_000)).collect();
    ends.sort_unstable();
    assert!(ends.is_sorted_by(|one, other| one + 900 < *other), "{ends:?}");
    let starts = flows.iter().map(|flow| flow.3);
    let changes: Vec<u64> = starts.chain(ends[..4].iter().copied()).collect();
    let needed: Vec<u64> = changes.iter().map(|&at| settles_after(&steps, at, at + 900, 0.1)).collect();
    assert!(needed.iter().all(|&us| us <= 100), "{needed:?} us after {changes:?}");
}

const FABRIC: &str = r#"{ kind = "leaf-spine", spines = 2, leaves = 2, hosts_per_leaf = 5, link = { rate = "10Gbps", delay = "0.4us" } }"#;

/// Four flows from one leaf to the other, each from and to hosts of its own. What limits them is the spine that they
/// share with others, as ECMP has it.
const ACROSS: Flows<'_> =
    &[(0, 5, 5_000_000, 0), (1, 6, 5_000_000, 0), (2, 7, 5_000_000, 0), (3, 8, 5_000_000, 0)];

fn scheme(routing: &str, rest: &str) -> String {
    format!(
        "[[scheme]]\nname = \"Flowtune\"\ntransport = {{ kind = \"flowtune\", allocator = 4 }}\n\
         queue = {{ kind = \"drop-tail\", capacity = \"225KB\" }}\nrouting = {routing}\n{rest}"
    )
}

#[test]
fn the_allocator_knows_which_spine_each_flow_takes() {
    let mut seen = BTreeSet::new();
    let routings = [
        r#""ecmp""#,
        r#"{ kind = "ecmp", symmetric = true }"#,
        r#"{ kind = "ecmp", hash = "hpcc-ns3" }"#,
        r#"{ kind = "wcmp", weights = [{ port = "leaf0 to spine0", weight = 3 }] }"#,
    ];
    for routing in routings {
        for seed in 1..=4 {
            let rest = scheme(routing, &format!("[run]\nseeds = [{seed}]\n"));
            let (outcome, steps) = observe(FABRIC, &rest, "flowtune-spines.csv", ACROSS);
            // 3425 packets are 5 MB; beside them only some control packets take the way.
            let carried = [0, 1].map(|spine| {
                let packets = port(&outcome, "leaf0", &format!("spine{spine}")).counters.packets;
                (packets as f64 / 3_425.0).round() as u32
            });
            assert_eq!(carried.iter().sum::<u32>(), 4, "{routing}, {seed}");
            let mut expected: Vec<f64> =
                carried.iter().flat_map(|&flows| vec![9.9 / f64::from(flows); flows as usize]).collect();
            let mut found = rates_at(&steps, Time::from_us(400));
            expected.sort_by(f64::total_cmp);
            found.sort_by(f64::total_cmp);
            let near = found.iter().zip(&expected).all(|(found, share)| (found - share).abs() < 0.02 * share);
            assert!(near && found.len() == 4, "{routing}, {seed}: {found:?} instead of {expected:?}");
            seen.insert(carried[0]);
        }
    }
    assert!(seen.len() > 2, "{seen:?} of four flows by the first spine");
}

#[test]
fn the_allocator_learns_of_dead_and_slow_links_when_switches_do() {
    let dead = "[[fault]]\nkind = \"link-down\"\nbetween = [\"leaf0\", \"spine0\"]\nat = \"500us\"\nlearn_after = \"100us\"\n";
    let (_, steps) = observe(FABRIC, &scheme("\"ecmp\"", dead), "flowtune-dead.csv", ACROSS);
    let all_by_one = |rates: &[f64]| rates.len() == 4 && rates.iter().all(|rate| (rate - 2.475).abs() < 0.05);
    assert!(!all_by_one(&rates_at(&steps, Time::from_us(595))));
    assert!(all_by_one(&rates_at(&steps, Time::from_us(700))), "{:?}", rates_at(&steps, Time::from_us(700)));

    let slow = "[[fault]]\nkind = \"link-degraded\"\nbetween = [\"host0\", \"leaf0\"]\nrate = \"1Gbps\"\nat = \"500us\"\nlearn_after = \"0us\"\n";
    let (_, steps) = observe(FABRIC, &scheme("\"ecmp\"", slow), "flowtune-slow.csv", ACROSS);
    let rates = rates_at(&steps, Time::from_us(900));
    assert!((rates[0] - 0.99).abs() < 0.02, "{rates:?}");
}

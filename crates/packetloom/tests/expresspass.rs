//! ExpressPass: lone flows, its ramp, two flows that share a link, incasts without losses, and whatever is lost all the same.

use crate::common::{cases, fct, port, run, write_file};
use packetloom::scenario::Scenario;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;
use std::path::Path;

/// Hosts at 100 Gb/s, 1.25 us away; between switches 400 Gb/s, 0.5 us.
const LEAF_SPINE: &str = r#"{ kind = "leaf-spine", leaves = 4, hosts_per_leaf = 8, spines = 2, host_link = { rate = "100Gbps", delay = "1250ns" }, link = { rate = "400Gbps", delay = "500ns" }, framing = "38B" }"#;
const RACK: &str =
    r#"{ kind = "rack", hosts = 32, link = { rate = "100Gbps", delay = "1250ns" }, framing = "38B" }"#;
/// Slower, as its authors have it.
const RACK_10: &str =
    r#"{ kind = "rack", hosts = 4, link = { rate = "10Gbps", delay = "4us" }, framing = "38B" }"#;
const SYMMETRIC: &str = r#"{ kind = "ecmp", symmetric = true }"#;

/// A scenario of flows of [src, dst, bytes, start in ns].
fn scenario(name: &str, topology: &str, keys: &str, list: &[[u64; 4]], more: &str) -> String {
    let file = format!("expresspass-{name}.csv");
    let rows = list.iter().map(|[src, dst, size, start]| format!("{src},{dst},{size},{start}\n"));
    write_file(&file, &format!("src,dst,size_bytes,start_ns\n{}", rows.collect::<String>()));
    format!(
        "topology = {topology}\n\
         [[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
         [[scheme]]\nname = \"it\"\ntransport = {{ kind = \"expresspass\", variant = \"nwsim\"{keys} }}\n\
         queue = \"credit-limiter\"\nrouting = {SYMMETRIC}\n\
         {more}[run]\nmax_time = \"2s\"\n[measure]\nqueues = true\n"
    )
}

fn flows(name: &str, topology: &str, keys: &str, list: &[[u64; 4]]) -> Outcome {
    run(&scenario(name, topology, keys, list, ""))
}

fn fcts_ps(outcome: &Outcome) -> Vec<u64> {
    outcome.flows.iter().map(|row| fct(row).as_ps()).collect()
}

/// What was lost of data.
fn sent_again(outcome: &Outcome) -> u32 {
    outcome.flows.iter().map(|row| row.report.retransmissions).sum()
}

#[test]
fn a_flow_of_one_packet_takes_three_flights() {
    let took =
        fcts_ps(&flows("one", RACK, ", credit_spread = \"0B\"", &[[0, 1, 1, 1_000], [0, 1, 1_460, 50_000]]));
    // A request, a credit and the packet: on both links 1.25 us, and 6.72 ns for 84 B or 123.04 ns for 1538.
    assert_eq!(took, [3 * 2_500_000 + 6 * 6_720, 3 * 2_500_000 + 4 * 6_720 + 2 * 123_040]);
}

#[test]
fn a_second_packet_waits_for_the_second_credit_of_a_slow_ramp() {
    let took = fcts_ps(&flows("two", RACK, ", credit_spread = \"0B\"", &[[0, 1, 1_461, 1_000]]))[0];
    // 84 B of credit at 1/16 of 2/40 of 647,348,951 B/s, give or take a tenth.
    let gap = took as f64 - (3 * 2_500_000 + 6 * 6_720) as f64;
    assert!((0.9..=1.1).contains(&(gap / 41_523_200.0)), "{gap} ps");
}

#[test]
fn a_lone_long_flow_gets_the_link_but_for_its_credits_share() {
    let outcome = flows("long", RACK_10, "", &[[0, 1, 10_000_000, 1_000], [2, 3, 30_000_000, 1_000]]);
    let took = fcts_ps(&outcome);
    let gbps = 20_000_000.0 * 8_000.0 / (took[1] - took[0]) as f64;
    // 10 Gb/s x 1538/1622 on the wire, of which 1460/1538 are payload.
    assert!((8.95..8.9995).contains(&gbps), "{gbps} Gb/s");
    assert_eq!(sent_again(&outcome), 0);
}

#[test]
fn two_flows_share_a_link() {
    let outcome = flows("share", RACK_10, "", &[[0, 2, 10_000_000, 1_000], [1, 2, 10_000_000, 1_000_000]]);
    let took = fcts_ps(&outcome);
    let last = outcome.flows.iter().map(|row| row.delivered.as_ps()).max().unwrap();
    // Both need 17.8 ms at 8.999 Gb/s; the first would take 8.9 ms alone, and the newcomer halves its rate.
    assert!((17_700_000_000..18_900_000_000).contains(&last), "{last}");
    assert!(took.iter().all(|fct| (13_500_000_000..18_000_000_000).contains(fct)), "{took:?}");
    assert_eq!(sent_again(&outcome), 0);
}

#[test]
fn an_incast_loses_credits_and_no_data() {
    let list: Vec<[u64; 4]> = (1..=31).map(|src| [src, 0, 500_000, 1_000]).collect();
    let outcome = flows("incast", LEAF_SPINE, "", &list);
    assert_eq!(sent_again(&outcome), 0);
    // Credits of host 0 are dropped at its own NIC.
    let nic = port(&outcome, "host0", "leaf0");
    assert!(nic.counters.drops > 1_000, "{:?}", nic.counters);
    let to_host = port(&outcome, "leaf0", "host0");
    let queue = to_host.queue.as_ref().expect("watched").largest_bytes();
    assert!((2 * 1_500..100 * 1_500).contains(&queue), "{queue}");
    assert_eq!(to_host.counters.drops, 0);
    let last = outcome.flows.iter().map(|row| row.delivered.as_ps()).max().unwrap();
    let least = 31 * 500_000 * 8 * 1_622 / 1_460 * 10;
    assert!((least..least * 12 / 10).contains(&last), "{last} ps, at least {least}");
}

/// Where ways back differ, credits pass other ports than the data that they call for.
#[test]
fn data_wait_and_a_warning_says_so_where_the_way_back_is_another() {
    let list: Vec<[u64; 4]> = (0..32).map(|src| [src, (src + 8) % 32, 2_000_000, 1_000]).collect();
    let slow = LEAF_SPINE.replace("400Gbps", "200Gbps");
    let queue = |routing: &str, name: &str| {
        let outcome = run(&scenario(name, &slow, "", &list, "").replace(SYMMETRIC, routing));
        let switches = outcome.topology.hosts;
        let between = outcome.ports.iter().filter(|row| {
            let link = &outcome.topology.links[row.link];
            link.src >= switches && link.dst >= switches
        });
        let most = between.map(|row| row.queue.as_ref().expect("watched").largest_bytes()).max().unwrap();
        (most, outcome.warnings.iter().any(|warning| warning.contains("the two take different paths")))
    };
    let (same, other) = (queue(SYMMETRIC, "symmetric"), queue("\"ecmp\"", "asymmetric"));
    assert!(!same.1 && other.1);
    assert!(other.0 > 2 * same.0, "{} B with other ways back, {} B with the same", other.0, same.0);
}

#[test]
fn early_stops_save_credits() {
    let list: Vec<[u64; 4]> = (0..50).map(|nth| [0, 1, 200_000, 1_000 + nth * 200_000]).collect();
    let credits = |keys: &str, name: &str| {
        let outcome = flows(name, RACK, keys, &list);
        let (credits, data) = (
            port(&outcome, "host1", "switch0").counters.packets,
            port(&outcome, "host0", "switch0").counters.packets,
        );
        (credits, data)
    };
    let ((with, data), (without, _)) = (credits("", "early"), credits(", early_stop = false", "late"));
    assert!(with < without && data > 50 * 137, "{with} packets back with early stops, {without} without");
}

#[test]
fn whatever_is_lost_every_flow_ends() {
    let list: Vec<[u64; 4]> = (0..40).map(|nth| [1 + nth % 8, 0, 1 + nth * nth * 300, nth * 2_000]).collect();
    for probability in ["0.01", "0.2"] {
        let fault = format!("[[fault]]\nkind = \"corruption\"\nprobability = {probability}\n");
        let outcome = run(&scenario(&format!("lost-{probability}"), RACK, "", &list, &fault));
        let lost: u64 = outcome.ports.iter().map(|port| port.counters.corrupted).sum();
        assert!(lost > 30 && sent_again(&outcome) > 0, "{lost}");
        for row in &outcome.flows {
            assert!(row.closed < Time::from_us(200_000), "{probability}: {row:?}");
        }
    }
}

/// A port that waits for tokens is looked at again whenever something comes: the ends of windows change nothing.
#[test]
fn results_do_not_depend_on_windows() {
    let list: Vec<[u64; 4]> =
        (0..60).map(|nth| [nth * 5 % 32, (nth * 11 + 3) % 32, 1 + nth * nth * 100, nth * 700]).collect();
    let case = cases(&scenario("windows", LEAF_SPINE, "", &list, "")).remove(0);
    let of = |longest| {
        let simulation = Simulation::new(case.clone()).expect("a sound case").with_windows_up_to(longest);
        let outcome = simulation.run(&Monitor::default()).expect("a sound case");
        (fcts_ps(&outcome), outcome.tally.packet_hops)
    };
    assert_eq!(of(Time::NEVER), of(Time(1 << 15)));
}

#[test]
fn what_cannot_work_is_refused() {
    for (keys, routing, message) in [
        ("credit_spread = \"46B\"", SYMMETRIC, "must be less than ack"),
        ("retry = \"1ns\"", SYMMETRIC, "write a time of at least 1us"),
        ("ramp = 2000000", SYMMETRIC, "write 1048576 at most"),
        ("alpha = 0.5", "\"spray-random\"", "needs all of a flow's packets to take one path"),
    ] {
        let toml = format!(
            "topology = {LEAF_SPINE}\n[[workload]]\nsizes = \"web-search\"\n[[scheme]]\nname = \"it\"\n\
             transport = {{ kind = \"expresspass\", {keys} }}\nqueue = \"credit-limiter\"\nrouting = {routing}\n\
             [run]\nloads = [0.5]\nflows = 10\n"
        );
        let refused = match Scenario::from_toml(&toml, "test", Path::new("")) {
            Err(problems) => problems.to_string(),
            Ok(_) => Simulation::new(cases(&toml).remove(0)).expect_err("it is refused").message,
        };
        assert!(refused.contains(message), "{refused}");
    }
}

//! SIRD: lone messages, an incast within the budget, a sender that several receivers share, and lost packets.

use crate::common::{cases, fct, port, run, write_file};
use packetloom::scenario::Scenario;
use packetloom::simulation::{Outcome, Simulation};
use packetloom::units::Time;
use std::path::Path;

/// Hosts at 100 Gb/s, 1.25 us away; between switches 400 Gb/s, 0.5 us.
const LEAF_SPINE: &str = r#"{ kind = "leaf-spine", leaves = 4, hosts_per_leaf = 8, spines = 2, host_link = { rate = "100Gbps", delay = "1250ns" }, link = { rate = "400Gbps", delay = "500ns" }, framing = "38B" }"#;
const RACK: &str =
    r#"{ kind = "rack", hosts = 10, link = { rate = "100Gbps", delay = "1250ns" }, framing = "38B" }"#;
const CLASSES: &str = r#"{ kind = "classes", strict = 2, queue = "drop-tail" }"#;
/// As its authors set it, and no marks: they need none here.
const SIRD: &str = r#"kind = "sird", bdp = "100000B", ecn = false"#;

/// A full packet on a link of 100 Gb/s.
const FULL_PS: u64 = 123_040;

/// Messages of [src, dst, bytes, start in ns].
fn messages(name: &str, topology: &str, keys: &str, list: &[[u64; 4]], more: &str) -> Outcome {
    let file = format!("sird-{name}.csv");
    let rows = list.iter().map(|[src, dst, size, start]| format!("{src},{dst},{size},{start}\n"));
    write_file(&file, &format!("src,dst,size_bytes,start_ns\n{}", rows.collect::<String>()));
    run(&format!(
        "topology = {topology}\n\
         [[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
         [[scheme]]\nname = \"it\"\ntransport = {{ {SIRD}{keys} }}\nqueue = {CLASSES}\nrouting = \"spray-random\"\n\
         {more}[run]\nmax_time = \"2s\"\n[measure]\nqueues = true\n"
    ))
}

fn fcts_ps(outcome: &Outcome) -> Vec<u64> {
    outcome.flows.iter().map(|row| fct(row).as_ps()).collect()
}

#[test]
fn a_lone_message_goes_at_once_or_a_round_trip_later_and_has_no_gaps() {
    let list = [[0, 1, 1, 0], [0, 1, 14_580, 50_000], [0, 1, 145_800, 100_000], [0, 1, 1_458_000, 200_000]];
    let took = fcts_ps(&messages("lone", RACK, "", &list, ""));
    // On both links: a packet without payload takes 6.72 ns and 1.25 us.
    let (small, way) = (6_720, 2_500_000);
    assert_eq!(took[0], 2 * small + way);
    assert_eq!(took[1], 11 * FULL_PS + way);
    let asks = 2 * (2 * small + way);
    assert_eq!(took[2], asks + 101 * FULL_PS + way);
    // A hundred packets are more than a BDP: credit for the rest goes out as data comes, without a gap.
    assert_eq!(took[3], asks + 1_001 * FULL_PS + way);
}

#[test]
fn lone_messages_take_what_they_take_in_the_authors_simulator() {
    // Bytes, start and time in ns, of dalehuangzihan/SIRD-Simulator.
    const RUNS: [[u64; 3]; 16] = [
        [1, 1_000, 2_543],
        [100, 201_000, 2_539],
        [1_000, 401_012, 2_681],
        [1_458, 601_132, 2_764],
        [1_460, 801_306, 2_757],
        [1_461, 1_001_481, 2_772],
        [2_920, 1_201_656, 2_880],
        [10_000, 1_402_006, 3_492],
        [50_000, 1_603_206, 6_851],
        [99_999, 1_809_206, 16_119],
        [100_001, 2_021_205, 16_130],
        [150_000, 2_233_205, 20_327],
        [200_000, 2_451_205, 24_561],
        [500_000, 2_675_205, 49_883],
        [1_000_000, 2_935_205, 92_059],
        [10_000_000, 3_255_205, 851_576],
    ];
    let list = RUNS.map(|[bytes, start, _]| [0, 1, bytes, start]);
    let took = fcts_ps(&messages("nwsim", LEAF_SPINE, ", variant = \"nwsim\"", &list, ""));
    for ([bytes, _, theirs], ours) in RUNS.into_iter().zip(took) {
        assert!(ours.abs_diff(theirs * 1_000) < 1_000, "{bytes} B: {ours} ps, theirs {theirs} ns");
    }
}

#[test]
fn an_incast_of_messages_that_ask_keeps_the_link_busy_and_the_queue_short() {
    let list: Vec<[u64; 4]> = (1..=9).map(|src| [src, 0, 583_200, 0]).collect();
    let outcome = messages("incast", RACK, "", &list, "");
    let last = fcts_ps(&outcome).into_iter().max().unwrap();
    // 400 packets from each: all of them, the first a second time, and the round trip of a request.
    let least = (9 * 400 + 1) * FULL_PS + 2 * 2_513_440 + 2_500_000;
    assert!((least..least + 20 * FULL_PS).contains(&last), "{last} ps, at least {least}");
    let queue = port(&outcome, "switch0", "host0").queue.as_ref().expect("watched").largest_bytes();
    assert!(queue <= 30 * 1_500, "{queue}");
}

#[test]
fn what_is_sent_at_once_waits_at_the_receivers_link() {
    // Eight times 20 kB: 14 packets each, less what the link carries meanwhile.
    let list: Vec<[u64; 4]> = (1..=8).map(|src| [src, 0, 20_000, 0]).collect();
    let outcome = messages("unasked", RACK, "", &list, "");
    let queue = port(&outcome, "switch0", "host0").queue.as_ref().expect("watched").largest_bytes();
    assert!((130_000..150_000).contains(&queue), "{queue}");
}

/// Hosts 0 and 4 send to hosts 1, 2, 5 and 6; host 3 sends to host 1, more than they do, so that it gets what is left of
/// credit. How long it takes, in ms.
fn left_over(name: &str, keys: &str) -> f64 {
    let mut list: Vec<[u64; 4]> =
        [0, 4].iter().flat_map(|&src| [1, 2, 5, 6].map(|dst| [src, dst, 4_000_000, 0])).collect();
    list.push([3, 1, 12_000_000, 0]);
    let outcome = messages(name, RACK, keys, &list, "");
    fct(&outcome.flows[8]).as_ps() as f64 / 1e9
}

#[test]
fn a_sender_with_too_much_credit_gets_less_so_that_others_get_what_it_cannot_use() {
    let (with_marks, without) = (left_over("marked", ""), left_over("unmarked", ", sender_mark = 1000.0"));
    // The others leave half of host 1's link for 1.3 ms, of which it needs one by itself.
    assert!(with_marks < 1.9, "{with_marks} ms");
    assert!(without > 1.15 * with_marks, "{without} ms without marks, {with_marks} with");
}

#[test]
fn whatever_is_lost_every_message_ends() {
    let list: Vec<[u64; 4]> = (0..40).map(|nth| [1 + nth % 8, 0, 1 + nth * nth * 300, nth * 2_000]).collect();
    for probability in ["0.01", "0.2"] {
        let fault = format!("[[fault]]\nkind = \"corruption\"\nprobability = {probability}\n");
        for variant in ["paper", "nwsim"] {
            let keys = format!(", variant = {variant:?}, resend_after = \"100us\"");
            let outcome = messages(&format!("lost-{variant}-{probability}"), RACK, &keys, &list, &fault);
            assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
            let lost: u64 = outcome.ports.iter().map(|port| port.counters.corrupted).sum();
            assert!(lost > 30, "{lost}");
            for row in &outcome.flows {
                assert!(row.closed < Time::from_us(60_000), "{variant} {probability}: {row:?}");
            }
        }
    }
}

#[test]
fn what_can_never_be_given_is_refused() {
    for (keys, message) in [
        ("bdp = \"3KB\"", "two full packets take 3076 B; write more"),
        ("bdp = \"4KB\", budget = 0.5", "comes to 2000 B"),
        ("priorities = 3", "write 1 or 2"),
        ("resend_after = \"1ns\"", "write a time of at least 1us"),
    ] {
        let toml = format!(
            "topology = {RACK}\n[[workload]]\nsizes = \"web-search\"\n[[scheme]]\nname = \"it\"\n\
             transport = {{ kind = \"sird\", {keys} }}\nqueue = {CLASSES}\n[run]\nloads = [0.5]\nflows = 10\n"
        );
        let refused = match Scenario::from_toml(&toml, "test", Path::new("")) {
            Err(problems) => problems.to_string(),
            Ok(_) => Simulation::new(cases(&toml).remove(0)).expect_err("it is refused").message,
        };
        assert!(refused.contains(message), "{refused}");
    }
}

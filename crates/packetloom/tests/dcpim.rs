//! dcPIM: lone flows, flows that share a receiver or a sender, and lost packets.

use crate::common::{cases, port, run, write_file};
use packetloom::scenario::Scenario;
use packetloom::simulation::{Outcome, Simulation};
use packetloom::units::Time;
use std::collections::BTreeSet;
use std::path::Path;

/// Hosts at 100 Gb/s, between switches 400 Gb/s, 200 ns everywhere: the authors' links, in 4 racks of 8.
const LEAF_SPINE: &str = r#"{ kind = "leaf-spine", leaves = 4, hosts_per_leaf = 8, spines = 2, host_link = { rate = "100Gbps", delay = "200ns" }, link = { rate = "400Gbps", delay = "200ns" } }"#;
const RACK: &str = r#"{ kind = "rack", hosts = 10, link = { rate = "100Gbps", delay = "200ns" } }"#;
const CLASSES: &str = r#"{ kind = "classes", strict = 8, queue = "drop-tail" }"#;

/// On the authors' links a round takes 1.3 round trips of a control packet, 1616 ns, and a matching four of them.
const ROUND_PS: u64 = 2_100_800;
const EPOCH_PS: u64 = 4 * ROUND_PS;

/// Flows of [src, dst, bytes, start in ns].
fn flows(name: &str, topology: &str, keys: &str, list: &[[u64; 4]], more: &str) -> Outcome {
    let file = format!("dcpim-{name}.csv");
    let rows = list.iter().map(|[src, dst, size, start]| format!("{src},{dst},{size},{start}\n"));
    write_file(&file, &format!("src,dst,size_bytes,start_ns\n{}", rows.collect::<String>()));
    run(&format!(
        "topology = {topology}\n\
         [[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
         [[scheme]]\nname = \"it\"\ntransport = {{ kind = \"dcpim\"{keys} }}\nqueue = {CLASSES}\nrouting = \"spray-round-robin\"\n\
         [run]\nmax_time = \"2s\"\n[measure]\nqueues = true\n{more}"
    ))
}

/// Until their senders know.
fn closed_ps(outcome: &Outcome) -> Vec<u64> {
    outcome.flows.iter().map(|row| (row.closed - row.flow.start).as_ps()).collect()
}

#[test]
fn a_short_flow_takes_what_its_packets_take() {
    let list = [[0, 1, 1_460, 0], [0, 1, 14_600, 50_000], [0, 8, 1_460, 100_000], [0, 8, 27_740, 150_000]];
    let took = closed_ps(&flows("short", LEAF_SPINE, "", &list, ""));
    // The announcement; n packets of 120 ns, and the last one's way: 120 ns and two links, the acknowledgement's.
    let in_rack = |packets: u64| 3_200 + packets * 120_000 + 120_000 + 400_000 + 406_400;
    assert_eq!([took[0], took[1]], [in_rack(1), in_rack(10)]);
    assert_eq!(took[0], 1_049_600);
    // Over two links more, of 400 Gb/s. 19 packets are a bandwidth-delay product.
    let across = |packets: u64| in_rack(packets) + 60_000 + 400_000 + 1_600 + 400_000;
    assert_eq!([took[2], took[3]], [across(1), across(19)]);
}

#[test]
fn a_lone_long_flow_waits_for_a_round_and_has_no_gap_between_data_phases() {
    let list = [[0, 8, 2_920_000, 0]];
    let took = closed_ps(&flows("long", LEAF_SPINE, "", &list, ""));
    // Asked for as the second round begins, taken at once as the third does, after an accept of 3.2 ns. A token's way
    // and a packet's are 808 and 1300 ns.
    let first = 2 * ROUND_PS + 3_200 + 808_000;
    let least = first + 2_000 * 120_000 + 1_300_000 - 120_000 + 808_000;
    // Each data phase of 70.03 packet times has 71 tokens, so they queue at the sender, and one in a phase expires; the
    // last are asked for again.
    assert!((least..least + 3 * EPOCH_PS).contains(&took[0]), "{} ps, at least {least}", took[0]);
}

#[test]
fn lone_flows_take_what_they_take_in_the_authors_simulator() {
    // Bytes, start and time in ns, of Terabit-Ethernet/dcPIM.
    const RUNS: [[u64; 3]; 16] = [
        [1, 1_000, 1_050],
        [100, 201_000, 1_050],
        [1_000, 401_012, 1_050],
        [1_458, 601_132, 1_050],
        [1_460, 801_306, 1_050],
        [1_461, 1_001_481, 1_170],
        [2_920, 1_201_656, 1_170],
        [10_000, 1_402_006, 1_770],
        [50_000, 1_603_206, 11_839],
        [99_999, 1_809_206, 13_400],
        [100_001, 2_021_205, 13_589],
        [150_000, 2_233_205, 17_843],
        [200_000, 2_451_205, 20_315],
        [500_000, 2_675_205, 45_824],
        [1_000_000, 2_935_205, 93_981],
        [10_000_000, 3_255_205, 834_283],
    ];
    let list = RUNS.map(|[bytes, start, _]| [0, 1, bytes, start]);
    let took = closed_ps(&flows("lone", LEAF_SPINE, ", variant = \"yapsdc\"", &list, ""));
    for ([bytes, _, theirs], ours) in RUNS.into_iter().zip(took) {
        assert!(ours.abs_diff(theirs * 1_000) < 1_000, "{bytes} B: {ours} ps, theirs {theirs} ns");
    }
}

/// Whose data came to host 0 between two times.
fn senders(outcome: &Outcome, from: Time, to: Time) -> BTreeSet<u32> {
    let packets = outcome.captures[0].packets.iter();
    let data = packets.filter(|packet| packet.size_bytes > 40 && (from..to).contains(&packet.at));
    data.map(|packet| packet.src).collect()
}

#[test]
fn as_many_senders_as_channels_send_to_a_host_at_once_and_keep_its_link_busy() {
    let list: Vec<[u64; 4]> = (1..=9).map(|nth| [3 * nth, 0, 1_460_000, 0]).collect();
    let outcome = flows("incast", LEAF_SPINE, "", &list, "capture = [\"leaf0 to host0\"]\n");
    let last = closed_ps(&outcome).into_iter().max().unwrap();
    let least = 9 * 1_000 * 120_000;
    // The data phase in which a flow ends may not be full.
    assert!((least..least + 9 * EPOCH_PS).contains(&last), "{last} ps, at least {least}");
    let queue = port(&outcome, "leaf0", "host0").queue.as_ref().expect("watched").largest_bytes();
    // Twice a bandwidth-delay product.
    assert!(queue <= 2 * 19 * 1_500, "{queue}");
    for phase in 1..least / EPOCH_PS {
        // By then all data of the phase before has come.
        let begin = Time(phase * EPOCH_PS) + Time::from_us(3);
        let senders = senders(&outcome, begin, Time((phase + 1) * EPOCH_PS));
        assert!((1..=4).contains(&senders.len()), "phase {phase}: {senders:?}");
    }
}

#[test]
fn of_two_flows_to_a_host_or_from_one_that_with_less_left_goes_first() {
    for (name, list) in [
        ("two-in", [[8, 0, 1_460_000, 0], [16, 0, 2_920_000, 0]]),
        ("two-out", [[0, 8, 1_460_000, 0], [0, 16, 2_920_000, 0]]),
    ] {
        let took = closed_ps(&flows(name, LEAF_SPINE, "", &list, ""));
        // It has all channels. Of its tokens one in a phase expires; these are asked for again at its end.
        for (ours, packets) in took.into_iter().zip([1_000, 3_000]) {
            let least = packets * 120_000;
            assert!((least..least + 3 * EPOCH_PS).contains(&ours), "{name}: {ours} ps, at least {least}");
        }
    }
}

#[test]
fn whatever_is_lost_every_flow_ends() {
    let list: Vec<[u64; 4]> = (0..40).map(|nth| [1 + nth % 8, 0, 1 + nth * nth * 300, nth * 2_000]).collect();
    for probability in ["0.01", "0.2"] {
        let fault = format!("[[fault]]\nkind = \"corruption\"\nprobability = {probability}\n");
        for variant in ["paper", "yapsdc"] {
            let keys = format!(", variant = {variant:?}, retry = \"100us\"");
            let outcome = flows(&format!("lost-{variant}-{probability}"), RACK, &keys, &list, &fault);
            assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
            let lost: u64 = outcome.ports.iter().map(|port| port.counters.corrupted).sum();
            assert!(lost > 30, "{lost}");
            for row in &outcome.flows {
                assert!(row.closed < Time::from_us(20_000), "{variant} {probability}: {row:?}");
            }
        }
    }
}

#[test]
fn what_has_no_meaning_is_refused() {
    write_file("dcpim-unequal.txt", "3 1 2\n2\n0 2 10Gbps 1us 0\n1 2 25Gbps 1us 0\n");
    write_file("dcpim-one.csv", "src,dst,size_bytes,start_ns\n0,1,1000,0\n");
    let unequal = r#"{ kind = "hpcc", file = "dcpim-unequal.txt" }"#;
    let links = "2 0 10Gbps 1us 0\n2 1 10Gbps 1us 0\n3 0 10Gbps 1us 0\n3 1 10Gbps 1us 0\n";
    write_file("dcpim-several.txt", &format!("4 2 4\n0 1\n{links}"));
    let several = r#"{ kind = "hpcc", file = "dcpim-several.txt" }"#;
    for (topology, keys, message) in [
        (RACK, "channels = 65", "write a number from 1 to 64"),
        (RACK, "rounds = 0", "rounds"),
        (RACK, "alpha = 0.5", "alpha"),
        (RACK, "retry = \"1ns\"", "write a time of at least 1us"),
        (unequal, "channels = 4", "dcpim's channels are as fast at all hosts"),
        (several, "channels = 4", "dcpim knows of one link at each host"),
    ] {
        let toml = format!(
            "topology = {topology}\n[[workload]]\narrivals = {{ kind = \"list\", file = \"dcpim-one.csv\" }}\n\
             [[scheme]]\nname = \"it\"\ntransport = {{ kind = \"dcpim\", {keys} }}\nqueue = {CLASSES}\n"
        );
        let refused = match Scenario::from_toml(&toml, "test", Path::new(env!("CARGO_TARGET_TMPDIR"))) {
            Err(problems) => problems.to_string(),
            Ok(_) => Simulation::new(cases(&toml).remove(0)).expect_err("it is refused").message,
        };
        assert!(refused.contains(message), "{refused}");
    }
}

//! Homa and pHost: lone messages without gaps, which message goes first, what overcommitment is for, and that lost
//! packets are sent again.

use crate::common::{fct, mean, port, run, write_file};
use packetloom::random::{Purpose, Stream};
use packetloom::scenario::Scenario;
use packetloom::simulation::Outcome;
use packetloom::units::Time;
use std::path::Path;

/// As in HomaL4Protocol-ns-3: its packets, its clock, eight strict priorities before a ring of one packet.
const NS3: &str = r#"variant = "homa-ns3", mss = "1460B", header = "42B", ack = "42B""#;
const NS3_QUEUE: &str = r#"{ kind = "classes", strict = 8, queue = "drop-tail", ring = 1, ties = "ns-3" }"#;
const LEVELS: &str = r#"{ kind = "classes", strict = 8, queue = "drop-tail" }"#;
/// 144 hosts: links of 10 and 40 Gb/s, 250 ns each.
const LEAF_SPINE: &str = r#"{ kind = "leaf-spine", leaves = 9, hosts_per_leaf = 16, spines = 4, host_link = { rate = "10Gbps", delay = "250ns" }, link = { rate = "40Gbps", delay = "250ns" }, whole_ns = true }"#;
const RACK: &str =
    r#"{ kind = "rack", hosts = 20, link = { rate = "10Gbps", delay = "250ns" }, whole_ns = true }"#;

/// Messages of [src, dst, bytes, start in ns].
fn messages(name: &str, topology: &str, transport: &str, queue: &str, list: &[[u64; 4]]) -> Outcome {
    let file = format!("homa-{name}.csv");
    let rows = list.iter().map(|[src, dst, size, start]| format!("{src},{dst},{size},{start}\n"));
    write_file(&file, &format!("src,dst,size_bytes,start_ns\n{}", rows.collect::<String>()));
    run(&format!(
        "topology = {topology}\n\
         [[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
         [[scheme]]\nname = \"it\"\ntransport = {{ {transport} }}\nqueue = {queue}\nnic = \"drop-tail\"\n\
         routing = \"spray-random\"\n[run]\nmax_time = \"2s\"\n[measure]\nqueues = true\n"
    ))
}

fn homa(keys: &str) -> String {
    format!("kind = \"homa\", {keys}")
}

fn fcts_ns(outcome: &Outcome) -> Vec<u64> {
    outcome.flows.iter().map(|row| fct(row).as_ps() / 1_000).collect()
}

#[test]
fn lone_messages_take_what_they_take_on_ns3() {
    // HomaL4Protocol-ns-3: bytes, and the time within a rack and between two.
    const TIMES: [(u64, u64, u64); 15] = [
        (1, 568, 1_084),
        (100, 726, 1_282),
        (1_460, 2_902, 4_002),
        (5_000, 5_833, 6_933),
        (10_000, 9_932, 11_032),
        (10_220, 10_108, 11_208),
        (10_221, 10_142, 11_242),
        (11_680, 11_309, 12_409),
        (14_600, 13_711, 14_811),
        (20_000, 18_163, 19_263),
        (50_000, 42_856, 43_956),
        (100_000, 83_978, 85_078),
        (500_000, 413_020, 414_120),
        (1_000_000, 824_306, 825_406),
        (5_000_000, 4_114_726, 4_115_826),
    ];
    let list: Vec<[u64; 4]> = (0..)
        .zip(TIMES)
        .flat_map(|(nth, (bytes, ..))| {
            [[0, 1, bytes, nth * 20_000_000], [0, 16, bytes, nth * 20_000_000 + 10_000_000]]
        })
        .collect();
    let outcome = messages("lone", LEAF_SPINE, &homa(NS3), NS3_QUEUE, &list);
    let expected: Vec<u64> = TIMES.iter().flat_map(|&(_, near, far)| [near, far]).collect();
    assert_eq!(fcts_ns(&outcome), expected);
}

#[test]
fn a_lone_message_of_any_variant_has_no_gaps() {
    // 1 MB on the wire at 10 Gb/s, and once more the first packet: whatever grants take, the link is never idle.
    for (variant, extra) in [("simulator", ""), ("linux", ""), ("homa-ns3", "")] {
        let keys = format!(
            "variant = {variant:?}, mss = \"1460B\", header = \"40B\", ack = \"40B\", blind_header = \"0B\"{extra}"
        );
        let name = format!("gaps-{variant}");
        let outcome = messages(&name, RACK, &homa(&keys), LEVELS, &[[0, 1, 1_460_000, 0]]);
        let took = fcts_ns(&outcome)[0];
        // A packet is 1200 ns, the last link 1450 ns. What is blind may end with a shorter packet.
        let least = 1_000 * 1_200 + 1_700;
        assert!((least..least + 40).contains(&took), "{variant}: {took}");
    }
}

#[test]
fn two_senders_share_a_receiver_as_on_ns3() {
    // Each pair by itself, 20 ms apart; the shorter one is delayed by little, and what both take together is never
    // more.
    let list = [
        [1, 0, 20_000, 0],
        [2, 0, 100_000, 0],
        [1, 0, 100_000, 20_000_000],
        [2, 0, 1_000_000, 20_000_000],
        [1, 0, 1_000_000, 40_000_000],
        [2, 0, 100_000, 40_200_000],
        [1, 0, 1_000_000, 60_000_000],
        [2, 0, 5_000, 60_200_000],
        // One sender, two receivers: the shorter goes first.
        [0, 1, 100_000, 80_000_000],
        [0, 2, 1_000_000, 80_000_000],
    ];
    let six = messages("two", LEAF_SPINE, &homa(NS3), NS3_QUEUE, &list);
    let expected = [22_967, 100_440, 88_782, 906_583, 906_583, 89_349, 828_438, 7_601, 83_978, 906_583];
    assert_eq!(fcts_ns(&six), expected);
    let one = messages("two-oc1", LEAF_SPINE, &homa(&format!("{NS3}, overcommitment = 1")), NS3_QUEUE, &list);
    let expected = [26_570, 100_440, 92_385, 906_583, 906_583, 92_952, 828_438, 7_601, 83_978, 906_583];
    assert_eq!(fcts_ns(&one), expected);
}

#[test]
fn incasts_keep_the_link_busy_and_the_queue_short() {
    let eight = |bytes: u64, start: u64| (1..=8).map(move |src| [src, 0, bytes, start]);
    let list: Vec<[u64; 4]> = eight(100_000, 0).chain(eight(5_000, 20_000_000)).collect();
    let outcome = messages("incast", LEAF_SPINE, &homa(NS3), NS3_QUEUE, &list);
    let took = fcts_ns(&outcome);
    // The last ends when eight times the packets have crossed the last link, as on ns-3.
    assert_eq!([took[..8].iter().max(), took[8..].iter().max()], [Some(&659_917), Some(&34_757)]);
    let queue = port(&outcome, "leaf0", "host0").queue.as_ref().expect("watched").largest_bytes();
    // There 79 500 B, without the two bytes of PPP of each of 53 packets.
    assert!((77_000..=82_000).contains(&queue), "{queue}");
}

#[test]
fn on_one_link_the_shortest_goes_first() {
    // All come while the first is on its way. Each that is shorter than what is left of another waits for a packet
    // or two.
    let list = [[0, 1, 200_000, 0], [0, 2, 100_000, 20_000], [0, 3, 50_000, 30_000], [0, 4, 1_000, 35_000]];
    let keys = r#"mss = "1460B", header = "40B", ack = "40B", blind_header = "0B", blind = "10220B", scheduled_levels = 4, cutoffs = ["2KB"]"#;
    let outcome = messages("srpt", RACK, &homa(keys), LEVELS, &list);
    // Preemptive SRPT on a link, by packets of 1200 ns (and less for the last), and the way from there: 1450 + 250
    // ns.
    let wire = |bytes: u64| (bytes + bytes.div_ceil(1_460) * 40) * 8 / 10;
    let way = |bytes: u64| (bytes.min(1_460) + 40) * 8 / 10 + 500;
    let ends = [
        wire(351_000) + 40 * 8 / 10,
        wire(151_000) + 20_000 + 40 * 8 / 10,
        wire(51_000) + 30_000,
        wire(1_000) + 35_000,
    ];
    for (row, (end, &[.., bytes, start])) in outcome.flows.iter().zip(ends.into_iter().zip(&list)) {
        let (took, ideal) = (fct(row).as_ps() / 1_000, end - start + way(bytes));
        // Half a packet on average, one at most, for each that it has to wait for.
        assert!(took <= ideal + 2 * 1_200 && took + 1_300 >= ideal, "{bytes} B: {took}, ideal {ideal}");
    }
}

/// Preemptive SRPT on one link, in whatever unit: when each job ends, given its start and length.
fn srpt(jobs: &[(u64, u64)]) -> Vec<u64> {
    let mut left: Vec<u64> = jobs.iter().map(|&(_, length)| length).collect();
    let mut ends = vec![0; jobs.len()];
    let mut now = 0;
    loop {
        let open = |nth: &usize| left[*nth] > 0;
        let next_start =
            (0..jobs.len()).filter(open).map(|nth| jobs[nth].0).filter(|&start| start > now).min();
        let ready = (0..jobs.len()).filter(open).filter(|&nth| jobs[nth].0 <= now);
        match (ready.min_by_key(|&nth| (left[nth], nth)), next_start) {
            (Some(nth), _) => {
                let until = (now + left[nth]).min(next_start.unwrap_or(u64::MAX));
                left[nth] -= until - now;
                now = until;
                ends[nth] = now;
            }
            (None, Some(start)) => now = start,
            (None, None) => return ends,
        }
    }
}

#[test]
fn on_one_link_homa_comes_within_half_a_packet_of_srpt() {
    assert_eq!(srpt(&[(0, 10), (3, 2), (4, 1), (20, 1)]), [13, 5, 6, 21]);
    // Messages from one host at a load of 0.8, of one packet to fifty.
    let mut random = Stream::new(5, Purpose::Sizes, 0);
    let mut start_ns = 0;
    let list: Vec<[u64; 4]> = (0..600)
        .map(|nth| {
            let packets = if random.below(10) == 0 { 50 } else { 1 + u64::from(random.below(5)) };
            start_ns += u64::from(random.below(2 * 11_500));
            [0, 1 + nth % 19, packets * 1_460, start_ns]
        })
        .collect();
    let keys = r#"mss = "1460B", header = "40B", ack = "40B", blind_header = "0B", blind = "10220B", scheduled_levels = 4, cutoffs = ["2KB"]"#;
    let outcome = messages("half", RACK, &homa(keys), LEVELS, &list);
    let jobs: Vec<(u64, u64)> =
        list.iter().map(|&[.., bytes, start]| (start, bytes / 1_460 * 1_200)).collect();
    // From the link to the host: two delays of 250 ns and a packet on the second link.
    let late = outcome.flows.iter().zip(srpt(&jobs)).map(|(row, end)| {
        let took = fct(row).as_ps() as f64 / 1e3;
        took - (end as f64 - row.flow.start.as_ns_f64() + 1_700.0)
    });
    let late: Vec<f64> = late.collect();
    let waits = jobs.iter().zip(srpt(&jobs)).filter(|((start, length), end)| end - start > *length).count();
    assert!(waits > 100, "{waits} of 600 messages have to wait");
    let average = mean(late.iter().copied());
    assert!(average.abs() < 600.0, "{average}");
}

/// A message of 20 packets, seven of them blind, while its sender's link is down for a while.
fn interrupted(keys: &str, from_ns: u64, until_ns: u64) -> Outcome {
    write_file("homa-interrupted.csv", "src,dst,size_bytes,start_ns\n0,1,29200,0\n");
    run(&format!(
        "topology = {RACK}\n[[workload]]\narrivals = {{ kind = \"list\", file = \"homa-interrupted.csv\" }}\n\
         [[scheme]]\nname = \"it\"\ntransport = {{ {} }}\nqueue = {LEVELS}\nnic = \"drop-tail\"\n\
         [[fault]]\nkind = \"link-down\"\nbetween = [\"host0\", \"switch0\"]\nat = \"{from_ns}ns\"\n\
         until = \"{until_ns}ns\"\n[run]\nmax_time = \"100ms\"\n",
        homa(keys)
    ))
}

#[test]
fn whatever_is_lost_is_asked_for_again() {
    for variant in ["simulator", "linux", "homa-ns3"] {
        let keys = format!(
            "variant = {variant:?}, mss = \"1460B\", header = \"40B\", ack = \"40B\", blind = \"10220B\""
        );
        let whole = interrupted(&keys, 90_000_000, 90_000_001);
        let took = fct(&whole.flows[0]).as_ps() / 1_000;
        // Every packet of the message, and everything that answers it, is lost in one of these runs, alone or with
        // the one after it: a blind packet, one that was granted, a grant, the last one, the acknowledgement.
        let (mut of_sender, mut of_receiver) = (0, 0);
        for from in (0..took + 3_000).step_by(600) {
            let outcome = interrupted(&keys, from, from + 900);
            let row = &outcome.flows[0];
            assert!(
                row.fct().is_some() && outcome.warnings.is_empty(),
                "{variant} {from}: {:?}",
                outcome.warnings
            );
            assert!(fct(row) < Time::from_us(40_000), "{variant} {from}: {}", fct(row));
            of_sender += port(&outcome, "host0", "switch0").counters.lost;
            of_receiver += port(&outcome, "switch0", "host0").counters.lost;
        }
        assert!(of_sender >= 20 && of_receiver >= 2, "{variant}: {of_sender} {of_receiver}");
        // Everything, from whenever on, for several times the time after which the receiver asks.
        for from in (0..took).step_by(2_500) {
            let outcome = interrupted(&keys, from, from + 30_000_000);
            assert!(fct(&outcome.flows[0]) < Time::from_us(80_000), "{variant} {from}");
        }
    }
}

const LOADED: &str = r#"
topology = { kind = "leaf-spine", leaves = 3, hosts_per_leaf = 8, spines = 2, host_link = { rate = "10Gbps", delay = "250ns" }, link = { rate = "40Gbps", delay = "250ns" } }
"#;

/// A workload at a load, of which this is measured.
fn measured(sizes: &str, transport: &str, queue: &str, (flows, load): (u32, f64), measure: &str) -> Outcome {
    run(&format!(
        "{LOADED}[[workload]]\nsizes = {sizes:?}\n[[scheme]]\nname = \"it\"\ntransport = {{ {transport} }}\nqueue = {queue}\n\
         routing = \"spray-random\"\n[run]\nloads = [{load}]\nflows = {flows}\nmax_time = \"1s\"\n[measure]\n{measure}\n"
    ))
}

fn loaded(sizes: &str, transport: &str, queue: &str, flows: u32, load: f64) -> Outcome {
    let measure = r#"capture = ["leaf0 to host0", "leaf1 to host9", "leaf2 to host18"]"#;
    measured(sizes, transport, queue, (flows, load), measure)
}

#[test]
fn every_level_carries_bytes_and_the_blind_ones_alike() {
    let outcome = loaded("homa_W3_google_allrpc", &homa("scheduled_levels = 4"), LEVELS, 40_000, 0.6);
    let mut bytes = [0.0; 8];
    for capture in &outcome.captures {
        for packet in &capture.packets {
            bytes[usize::from(packet.class)] += f64::from(packet.size_bytes);
        }
    }
    assert!(bytes.iter().all(|&bytes| bytes > 0.0), "{bytes:?}");
    let average = mean(bytes[..4].iter().copied());
    // A host sees a sample of the workload.
    assert!(bytes[..4].iter().all(|of| (of / average - 1.0).abs() < 0.35), "{bytes:?}");
}

/// The level of each packet to a host of a rack.
fn levels_to(host: u32, name: &str, keys: &str, list: &[[u64; 4]]) -> Vec<u8> {
    let file = format!("homa-levels-{name}.csv");
    let rows = list.iter().map(|[src, dst, size, start]| format!("{src},{dst},{size},{start}\n"));
    write_file(&file, &format!("src,dst,size_bytes,start_ns\n{}", rows.collect::<String>()));
    let outcome = run(&format!(
        "topology = {RACK}\n[[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
         [[scheme]]\nname = \"it\"\ntransport = {{ {} }}\nqueue = {LEVELS}\nnic = \"drop-tail\"\n\
         [measure]\ncapture = [\"switch0 to host{host}\"]\n",
        homa(keys)
    ));
    outcome.captures[0].packets.iter().map(|packet| packet.class).collect()
}

#[test]
fn no_level_is_for_blind_packets_and_granted_ones() {
    // Eight messages of seven blind packets each, and four levels for these. Other keys leave the number of the
    // other levels out; by the sizes it would be seven.
    let list: Vec<[u64; 4]> = (1..=8).map(|src| [src, 0, 100_000, 0]).collect();
    for (name, keys) in [
        ("cutoffs", r#"cutoffs = ["2KB", "4KB", "8KB"], tail_boost = "0B""#),
        ("number", r#"unscheduled_levels = 4, tail_boost = "0B""#),
        ("learned", r#"unscheduled_levels = 4, cutoffs_from = "seen", tail_boost = "0B""#),
    ] {
        let levels = levels_to(0, name, keys, &list);
        let of = |wanted: u8| levels.iter().filter(|&&level| level == wanted).count();
        assert_eq!((0..4).map(of).sum::<usize>(), 8 * 7, "{name}");
        assert!((4..8).all(|level| of(level) > 0), "{name}: {levels:?}");
    }
}

#[test]
fn levels_that_overlap_are_refused() {
    for (keys, message) in [
        ("unscheduled_levels = 8", "there are 7 besides the others; write less"),
        (
            r#"levels = 3, cutoffs = ["1KB", "2KB"]"#,
            "part more than the 2 levels that are for blind packets; write fewer",
        ),
        (
            r#"unscheduled_levels = 2, cutoffs = ["1KB"]"#,
            "cutoffs are given, which set their number; leave one of the two out",
        ),
    ] {
        let toml = format!(
            "topology = {RACK}\n[[workload]]\nsizes = \"web-search\"\n[[scheme]]\nname = \"it\"\n\
             transport = {{ {} }}\nqueue = {LEVELS}\n[run]\nloads = [0.5]\nflows = 10\n",
            homa(keys)
        );
        let problems = Scenario::from_toml(&toml, "test", Path::new("")).expect_err("levels overlap");
        assert!(problems.to_string().contains(message), "{problems}");
    }
}

#[test]
fn the_end_of_a_message_has_the_level_of_its_size_or_of_what_is_left() {
    // Seven blind packets, and 63 that are granted, the last of 400 B. The last seven have less than 10 000 bytes on
    // the wire left.
    let keys = r#"scheduled_levels = 4, cutoffs = ["2KB", "4KB", "8KB"]"#;
    let of = |by: &str, keys: &str| {
        levels_to(1, by, &format!("levels_by = \"{by}\", {keys}"), &[[0, 1, 100_000, 0]])
    };
    let before = [[3; 7].as_slice(), &[7; 56]].concat();
    assert_eq!(of("message", keys), [before.as_slice(), &[3; 7]].concat());
    assert_eq!(of("packet", keys), [before.as_slice(), &[3, 2, 2, 2, 1, 0, 0]].concat());
}

/// What hosts sent at each level in all, control packets at the first.
fn level_bytes(outcome: &Outcome) -> [f64; 8] {
    let mut bytes = [0.0; 8];
    let hosts = outcome.topology.hosts;
    for row in outcome.ports.iter().filter(|row| outcome.topology.links[row.link].src < hosts) {
        let sent = row.sent.as_ref().expect("it was recorded");
        let of_level = |level: usize| (0..100).map(|nth| sent.data_bytes(level, nth)).sum::<u64>() as f64;
        let data: f64 = (0..8).map(of_level).sum();
        (0..8).for_each(|level| bytes[level] += of_level(level));
        bytes[0] += row.counters.bytes as f64 - data;
    }
    bytes
}

#[test]
fn blind_levels_carry_equal_bytes_at_a_load_of_four_fifths() {
    let shares = |sizes: &str, scheduled: usize, flows: u32| -> Vec<f64> {
        let keys = homa(&format!("scheduled_levels = {scheduled}"));
        let measure = "series_interval = \"10ms\"\nby_class = true";
        let outcome = measured(sizes, &keys, LEVELS, (flows, 0.8), measure);
        let bytes = &level_bytes(&outcome)[..8 - scheduled];
        let average = mean(bytes.iter().copied());
        bytes.iter().map(|of| of / average).collect()
    };
    let equal = |shares: &[f64]| shares.iter().all(|share| (share - 1.0).abs() < 0.1);
    for (sizes, scheduled, flows) in
        [("homa_W3_google_allrpc", 4, 30_000), ("homa_W4_fb_hadoop_all", 6, 8_000)]
    {
        let found = shares(sizes, scheduled, flows);
        assert!(equal(&found), "{sizes} {scheduled}: {found:?}");
    }
    // W4's grants alone, which are sent at the first level, have more bytes than a fourth of what is blind: the
    // second level has what these leave of its half, and the others their share.
    let found = shares("homa_W4_fb_hadoop_all", 4, 8_000);
    assert!(found[0] > 1.2 && equal(&[(found[0] + found[1]) / 2.0, found[2], found[3]]), "{found:?}");
}

#[test]
fn more_senders_at_once_serve_long_messages_sooner() {
    // A sender that is busy elsewhere does not answer; with two granted the other one does (§3.5).
    let took = |levels: u32| {
        let keys = format!("scheduled_levels = {levels}, cutoffs = []");
        let outcome = loaded("homa_W4_fb_hadoop_all", &homa(&keys), LEVELS, 3_000, 0.85);
        mean(
            outcome
                .flows
                .iter()
                .filter(|row| row.flow.size_bytes > 100_000)
                .map(|row| fct(row).as_ps() as f64 / row.best_fct.as_ps() as f64),
        )
    };
    let [one, two, four] = [1, 2, 4].map(took);
    assert!(one > 1.02 * two && two > four, "{one} {two} {four}");
}

#[test]
fn what_small_buffers_drop_is_asked_for_again() {
    let tiny = r#"{ kind = "classes", strict = 8, queue = "drop-tail", port = { kind = "drop-tail", capacity = "9packets" } }"#;
    for variant in ["simulator", "linux", "homa-ns3"] {
        let list: Vec<[u64; 4]> =
            (1..=8).flat_map(|src| [[src, 0, 5_000, 0], [src, 0, 100_000, 20_000_000]]).collect();
        let keys = homa(&format!("variant = {variant:?}"));
        let outcome = messages(&format!("tiny-{variant}"), RACK, &keys, tiny, &list);
        assert!(outcome.warnings.is_empty(), "{variant}: {:?}", outcome.warnings);
        let again: u32 = outcome.flows.iter().map(|row| row.report.retransmissions).sum();
        assert!(again > 0, "{variant}");
        assert!(outcome.flows.iter().all(|row| fct(row) < Time::from_us(60_000)), "{variant}");
    }
    let list: Vec<[u64; 4]> = (1..=8).map(|src| [src, 0, 11_680, 0]).collect();
    let small = r#"{ kind = "pfabric", capacity = "13.5KB" }"#;
    let outcome = messages("tiny-phost", RACK, "kind = \"phost\"", small, &list);
    assert!(outcome.flows.iter().any(|row| row.report.retransmissions > 0));
    assert!(outcome.flows.iter().all(|row| fct(row) < Time::from_us(10_000)));
}

#[test]
fn a_message_that_waits_for_a_shorter_one_is_not_lost() {
    // 40 ms each on the link, forty times as long as a receiver waits for what is lost: all the while the second has a
    // window at the switch, behind the first.
    const MB_50: u64 = 50_000_000;
    let list = [[1, 0, MB_50, 0], [2, 0, MB_50, 0]];
    // In ns-3 the two take turns at being ahead, and the first level is whose turn it is, so a few packets stay at the
    // second behind those of the other. Its receivers ask for these, as they do after a millisecond whatever waits.
    // Linux' window is a third of 400 KB, in 92 packets of 1,500 B; and the oldest message is granted 50 KB beyond its
    // own, 35 packets (without fifo_share the largest queue is 270 KB).
    for (variant, most_queued, most_again) in
        [("simulator", 2 * 10_000, 0), ("linux", (2 * 92 + 35) * 1_500, 0), ("homa-ns3", 2 * 7 * 1_504, 7)]
    {
        let keys = homa(&format!("variant = {variant:?}, resend_after = \"1ms\""));
        let outcome = messages(&format!("waits-{variant}"), RACK, &keys, LEVELS, &list);
        let again: u32 = outcome.flows.iter().map(|row| row.report.retransmissions).sum();
        assert!(again <= most_again, "{variant}: {again}");
        assert_eq!(outcome.warnings.len(), usize::from(again > 0), "{variant}: {:?}", outcome.warnings);
        let queue = port(&outcome, "switch0", "host0").queue.as_ref().expect("watched").largest_bytes();
        assert!(queue <= most_queued, "{variant}: {queue}");
        // Hardly a packet goes twice, so the link is done when both have crossed it once.
        let last = outcome.flows.iter().map(fct).max().expect("two");
        assert!(last < Time::from_us(84_500), "{variant}: {last}");
    }
}

#[test]
fn what_waits_at_its_sender_and_then_before_its_receiver_is_not_lost() {
    // The first message waits behind the second at their sender until 4.2 ms, and its receiver requests it at 1.1 and 3.1
    // ms in vain. Then its packets wait behind the third's until 9 ms; as the fourth has these queue, none gets between
    // them. When the receiver looks again, at 7.1 ms, its link was free since 3.1, but not since they left their sender.
    let list = [
        [1, 0, 20_000_000, 0],
        [1, 2, 5_000_000, 100_000],
        [3, 0, 6_000_000, 4_050_000],
        [4, 0, 5_000, 4_100_000],
    ];
    let outcome = messages("waits-twice", RACK, &homa("scheduled_levels = 7"), LEVELS, &list);
    let again: Vec<u32> = outcome.flows.iter().map(|row| row.report.retransmissions).collect();
    assert_eq!(again, [0; 4]);
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
}

#[test]
fn of_a_host_that_is_always_busy_long_messages_lose_nothing_and_short_ones_recover() {
    // Host 0's link is full for 20 ms: a long message, and a packet of another host every 25 us. Of a second long
    // message everything waits. A third's blind packets are lost, as its sender's link is down when it starts.
    let shorts = (0..800).map(|nth| [3 + nth % 8, 0, 1_000, nth * 25_000]);
    let list: Vec<[u64; 4]> = [[1, 0, 12_000_000, 0], [2, 0, 13_000_000, 0]]
        .into_iter()
        .chain(shorts)
        .chain([[12, 0, 5_000, 19_990_000]])
        .collect();
    let file = "homa-busy.csv";
    let rows = list.iter().map(|[src, dst, size, start]| format!("{src},{dst},{size},{start}\n"));
    write_file(file, &format!("src,dst,size_bytes,start_ns\n{}", rows.collect::<String>()));
    let outcome = run(&format!(
        "topology = {RACK}\n[[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
         [[scheme]]\nname = \"it\"\ntransport = {{ kind = \"homa\", cutoffs = [\"2KB\"] }}\nqueue = {LEVELS}\nnic = \"drop-tail\"\n\
         [[fault]]\nkind = \"link-down\"\nbetween = [\"host12\", \"switch0\"]\nat = \"19980us\"\nuntil = \"20010us\"\n\
         [run]\nmax_time = \"1s\"\n"
    ));
    let again = |bytes: u64| -> u32 {
        let those = outcome.flows.iter().filter(|row| row.flow.size_bytes == bytes);
        those.map(|row| row.report.retransmissions).sum()
    };
    assert_eq!([12_000_000, 13_000_000, 1_000, 5_000].map(again), [0, 0, 0, 4]);
    let lost = outcome.flows.iter().find(|row| row.flow.size_bytes == 5_000).expect("it started");
    // Its sender asks after 2 ms.
    assert!(fct(lost) < Time::from_us(2_100), "{}", fct(lost));
}

#[test]
fn what_is_sent_again_though_nothing_was_lost_is_warned_of() {
    // Both links to host 0's switch carry a quarter of what hosts' do, so packets wait before it, not before the host.
    let topology = r#"{ kind = "leaf-spine", leaves = 2, hosts_per_leaf = 4, spines = 1, host_link = { rate = "10Gbps", delay = "250ns" }, link = { rate = "1Gbps", delay = "250ns" } }"#;
    let list: Vec<[u64; 4]> = (4..8).map(|src| [src, src - 4, 1_000_000, 0]).collect();
    let outcome = messages("vain", topology, &homa(r#"resend_after = "20us""#), LEVELS, &list);
    let warning = "none was lost: they waited for longer than scheme.transport.resend_after; raise it";
    assert!(outcome.warnings.iter().any(|one| one.ends_with(warning)), "{:?}", outcome.warnings);
    let patient = messages("patient", topology, &homa(r#"resend_after = "10ms""#), LEVELS, &list);
    assert!(patient.warnings.is_empty(), "{:?}", patient.warnings);
}

#[test]
fn a_host_that_learns_ends_with_the_cutoffs_of_the_workload() {
    let slowdowns = |keys: &str| {
        let outcome = loaded("homa_W3_google_allrpc", &homa(keys), LEVELS, 40_000, 0.6);
        let small = outcome.flows.iter().filter(|row| row.flow.id > 20_000 && row.flow.size_bytes < 1_000);
        mean(small.map(|row| fct(row).as_ps() as f64 / row.best_fct.as_ps() as f64))
    };
    let [computed, learned, none] = [
        "scheduled_levels = 4",
        r#"scheduled_levels = 4, cutoffs_from = "seen""#,
        "scheduled_levels = 4, cutoffs = []",
    ]
    .map(slowdowns);
    assert!((learned / computed - 1.0).abs() < 0.03, "{computed} {learned}");
    assert!(none > 1.05 * computed, "{computed} {none}");
}

#[test]
fn phost_sends_short_flows_at_once_and_long_ones_by_tokens() {
    let list = [[0, 1, 8 * 1_460, 0], [0, 2, 9 * 1_460, 20_000_000]];
    let outcome = messages("phost", RACK, "kind = \"phost\"", LEVELS, &list);
    // The request of 40 B goes first, 32 ns. Eight packets of 1200 ns, the last link, two delays of 250 ns.
    let short = 32 + 8 * 1_200 + 1_200 + 500;
    // A request and a token, each over two links, then nine packets, a token for each; the first is made as the
    // request comes.
    let word = 2 * 32 + 500;
    let long = 2 * word + 9 * 1_200 + 1_200 + 500;
    assert_eq!(fcts_ns(&outcome), [short, long]);
}

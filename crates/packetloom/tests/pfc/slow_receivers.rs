//! Hosts that take less than their links bring, and pause their switches, through the whole simulator.

use super::{STAR, drops, pauses};
use crate::common::{cases, fct, port, run, write_file};
use packetloom::measure::fingerprint;
use packetloom::queue::PauseRecord;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::spec::Complaint;
use packetloom::units::Time;

/// Each leaf's hosts and uplinks have the same rate: nothing but a slow host is ever in the way.
const TWO_LEAVES: &str = r#"
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 4
link = { rate = "400Gbps", delay = "1us" }
host_link = { rate = "100Gbps", delay = "1us" }
"#;

/// Flows over a network of which some hosts are slow.
fn scenario(topology: &str, flows: &str, queue: &str, faults: &[&str]) -> String {
    let faults: String =
        faults.iter().map(|fault| format!("[[fault]]\nkind = \"slow-receiver\"\n{fault}\n")).collect();
    super::scenario(topology, &(flows.to_owned() + &faults), queue)
}

fn incast(fan_in: u64) -> String {
    super::incast(fan_in, "1MB", 3)
}

fn listed(name: &str, flows: &[[u64; 4]]) -> String {
    let rows: String =
        flows.iter().map(|[src, dst, size, start]| format!("{src},{dst},{size},{start}\n")).collect();
    write_file(name, &format!("src,dst,size_bytes,start_ns\n{rows}"));
    format!("[[workload]]\nclass = 3\narrivals = {{ kind = \"list\", file = \"{name}\" }}\n")
}

fn paused<'a>(outcome: &'a Outcome, from: &str, to: &str) -> &'a PauseRecord {
    &pauses(outcome, from, to)[3]
}

/// From the arrival of the first packet on the host takes one after the other.
#[test]
fn senders_to_a_slow_host_are_done_when_it_has_taken_everything() {
    for (fan_in, rate, takes) in [(1, "25Gbps", 335_360), (4, "25Gbps", 335_360), (16, "10Gbps", 838_400)] {
        for mmu in ["hpcc-ns3", "conweave-ns3"] {
            let fault = format!("host = \"host0\"\nrate = {rate:?}");
            let outcome = run(&scenario(STAR, &incast(fan_in), &format!(", mmu = {mmu:?}"), &[&fault]));
            let first = Time::from_us(2) + Time(83_840).times(2);
            let last = outcome.flows.iter().map(fct).max();
            assert_eq!(
                last,
                Some(first + Time(takes).times(fan_in * 1_000)),
                "{fan_in} senders, {rate}, {mmu}"
            );
            assert_eq!(drops(&outcome), 0);
            assert!(outcome.flows.iter().all(|row| row.report.retransmissions == 0));
            assert!(paused(&outcome, "switch0", "host0").pauses > 10);
        }
    }
}

#[test]
fn what_a_slow_host_pauses_travels_from_switch_to_switch_and_back_to_the_senders() {
    // Hosts 4 and 5 send to the slow host 0; host 6 to host 1, by the same links between switches.
    let flows =
        listed("slow-spreads.csv", &[[4, 0, 4_000_000, 0], [5, 0, 4_000_000, 0], [6, 1, 1_000_000, 50_000]]);
    let queue = r#", buffer = "2MiB""#;
    let fault = "host = \"host0\"\nrate = \"10Gbps\"";
    let whole = run(&scenario(TWO_LEAVES, &flows, queue, &[]));
    let outcome = run(&scenario(TWO_LEAVES, &flows, queue, &[fault]));
    assert_eq!(drops(&outcome), 0);
    // Who is innocent waits behind what the slow host does not take.
    assert!(fct(&outcome.flows[2]).as_ps() > 3 * fct(&whole.flows[2]).as_ps());
    let slow = port(&outcome, "host0", "leaf0").link as u32;
    let mut reach = 0;
    for (_, class, pause) in outcome.pauses() {
        assert_eq!((class, pause.origin.link), (3, slow), "all pauses began at the slow host");
        assert!(pause.from < pause.until && pause.until <= outcome.simulated, "{pause:?}");
        reach = reach.max(pause.origin.passed_on);
    }
    // By the leaf, the spine and the other leaf.
    assert_eq!(reach, 3);
    assert!(paused(&outcome, "host4", "leaf1").pauses > 0);
}

#[test]
fn the_switches_are_paused_no_longer_than_their_hosts_are_slow() {
    let flows = incast(4);
    let fault = "host = \"host0\"\nrate = \"1Gbps\"\nat = \"50us\"\nuntil = \"250us\"";
    let outcome = run(&scenario(STAR, &flows, "", &[fault]));
    let paused = paused(&outcome, "switch0", "host0");
    assert!(paused.pauses > 0);
    for pause in &paused.each {
        // A frame takes a microsecond and 5.12 ns to the switch, and the packet at hand is taken at the rate at
        // which it began.
        assert!(pause.from > Time::from_us(51) && pause.until < Time::from_us(251) + Time(8_384_000));
    }
    // It lost the 200 us but for what it took, its NIC's buffer and the packet at hand.
    let whole = run(&scenario(STAR, &flows, "", &[]));
    let last = |outcome: &Outcome| outcome.flows.iter().map(fct).max().expect("four flows").as_ns_f64();
    let lost = last(&outcome) - last(&whole);
    assert!((185_000.0..210_000.0).contains(&lost), "{lost} ns");
}

#[test]
fn pauses_of_hosts_expire_and_are_repeated_and_are_the_same_on_any_number_of_threads() {
    let flows = listed("slow-threads.csv", &[[4, 0, 400_000, 0], [5, 0, 400_000, 0], [6, 1, 400_000, 5_000]]);
    for time in ["", r#", pause_time = "5us""#] {
        let fault = "host = \"host0\"\nrate = \"3Gbps\"";
        let toml = scenario(TWO_LEAVES, &flows, &format!(r#", buffer = "2MiB"{time}"#), &[fault]);
        let runs = [1, 2, 4].map(|threads| {
            let simulation = Simulation::new(cases(&toml).remove(0)).expect("it can be simulated");
            simulation.with_threads(threads).with_audit(true).run(&Monitor::default()).expect("it runs")
        });
        assert_eq!(drops(&runs[0]), 0);
        let pauses = runs.each_ref().map(|outcome| outcome.pauses().collect::<Vec<_>>());
        assert!(!pauses[0].is_empty());
        for (outcome, seen) in runs.iter().zip(&pauses) {
            assert_eq!(outcome.violation, None);
            assert_eq!((fingerprint(&outcome.flows), seen), (fingerprint(&runs[0].flows), &pauses[0]));
        }
    }
}

#[test]
fn the_watchdog_frees_the_others_from_a_host_that_takes_nearly_nothing() {
    let flows =
        listed("slow-watchdog.csv", &[[4, 0, 2_000_000, 0], [5, 0, 2_000_000, 0], [6, 1, 1_000_000, 50_000]]);
    // The host comes round after 20 ms; by then its NIC has paused the switch for 20 ms, as it takes a packet in
    // 8.4 ms.
    let fault = "host = \"host0\"\nrate = \"1Mbps\"\nuntil = \"20ms\"";
    let queue = r#", buffer = "2MiB""#;
    let held = run(&scenario(TWO_LEAVES, &flows, queue, &[fault]));
    let guarded = run(&scenario(TWO_LEAVES, &flows, &format!(r#"{queue}, watchdog = "200us""#), &[fault])
        .replace("1s", "2ms"));
    let [held_for, guarded_for] = [&held, &guarded].map(|outcome| fct(&outcome.flows[2]));
    assert!(held_for > Time::from_us(15_000), "{held_for}");
    assert!(guarded_for < Time::from_us(3_000), "{guarded_for}");
    assert_eq!(drops(&held), 0);
    assert!(port(&guarded, "leaf0", "host0").counters.drops > 0);
    // What was dropped is sent again, once the host takes it.
    assert!(guarded.flows.iter().all(|row| row.fct().is_some()));
}

#[test]
fn a_class_that_is_not_paused_is_dropped_by_a_slow_host_and_counted() {
    let flows = incast(2).replace("class = 3", "class = 1");
    let outcome =
        run(&(scenario(STAR, &flows, "", &["host = \"host0\"\nrate = \"10Gbps\""]) + "max_time = \"1ms\"\n"));
    assert!(port(&outcome, "host0", "switch0").counters.drops > 100);
    assert!(outcome.pauses().next().is_none());
}

/// Each of its links counts what came over it.
#[test]
fn a_slow_host_with_several_links_counts_what_it_drops() {
    let links: String =
        (2..6).map(|host| format!("{host} 0 10Gbps 1us 0\n{host} 1 10Gbps 1us 0\n")).collect();
    write_file("slow-rails.txt", &format!("6 2 8\n0 1\n{links}"));
    let flows = listed("to-the-last.csv", &[0, 0, 1, 1, 2, 2].map(|src| [src, 3, 1_000_000, 0]));
    let slow = "host = \"host5\"\nrate = \"1Gbps\"";
    let rails = "kind = \"hpcc\"\nfile = \"slow-rails.txt\"";
    let flows = flows.replace("class = 3", "class = 1");
    let outcome = run(&(scenario(rails, &flows, "", &[slow]) + "max_time = \"1ms\"\n"));
    for switch in ["switch0", "switch1"] {
        let dropped = port(&outcome, "host5", switch).counters.drops;
        let came = port(&outcome, switch, "host5").counters.packets;
        assert!(dropped > 100 && dropped < came, "{switch}: {dropped} of {came}");
    }
}

fn refused(topology: &str, queue: &str, faults: &[&str]) -> Complaint {
    let case = cases(&scenario(topology, &incast(2), queue, faults)).remove(0);
    Simulation::new(case).map(|_| ()).expect_err("it can't be simulated")
}

#[test]
fn slow_receivers_that_make_no_sense_are_refused_with_what_to_write() {
    let slow = "host = \"host0\"\nrate = \"10Gbps\"";
    for (queue, fault, key, words) in [
        (
            ", lossless = []",
            slow,
            "fault[0].kind",
            "nothing is ever paused; write queue = { kind = \"shared-buffer\" }",
        ),
        ("", "host = \"switch0\"\nrate = \"10Gbps\"", "fault[0].host", "is no host; write one"),
        ("", "host = \"host99\"\nrate = \"10Gbps\"", "fault[0].host", "no node is called \"host99\""),
        ("", "host = \"host0\"\nrate = \"100Gbps\"", "fault[0].rate", "write a lower rate"),
        ("", "host = \"host0\"\nrate = \"10Gbps\"\nbuffer = \"20KB\"", "fault[0].buffer", "write more"),
    ] {
        let complaint = refused(STAR, queue, &[fault]);
        assert_eq!(complaint.key, key, "{}", complaint.message);
        assert!(complaint.message.contains(words), "{}", complaint.message);
    }
    let two = refused(STAR, "", &[slow, "host = \"host\"\nrate = \"10Gbps\"\nbuffer = \"1MB\""]);
    assert_eq!(two.key, "fault[1].buffer");
    assert!(two.message.contains("write the same"), "{}", two.message);
    // Nothing pauses where queues drop.
    let toml = scenario(STAR, &incast(2), "", &[slow])
        .replace("\"shared-buffer\"", "\"drop-tail\", capacity = \"100KB\"");
    let complaint = Simulation::new(cases(&toml).remove(0)).map(|_| ()).expect_err("nothing pauses");
    assert_eq!(complaint.key, "fault[0].kind");
    assert!(complaint.message.contains("\"shared-buffer\""), "{}", complaint.message);
}

#[test]
fn hosts_that_are_never_slow_enough_change_nothing() {
    let flows = incast(4);
    let late = "host = \"host\"\nrate = \"1Gbps\"\nat = \"1s\"";
    let [with, without] =
        [&[late][..], &[]].map(|faults| run(&scenario(STAR, &flows, r#", buffer = "2MiB""#, faults)));
    assert_eq!(fingerprint(&with.flows), fingerprint(&without.flows));
    assert_eq!(with.tally, without.tally);
}

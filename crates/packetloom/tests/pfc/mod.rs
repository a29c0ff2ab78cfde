//! Priority flow control through the whole simulator: what is lossless loses nothing, and what pauses do to others.

mod lazy;
mod limits;
mod parts;
mod slow_receivers;

use crate::common::{self, cases, fct, port, run};
use packetloom::measure::fingerprint;
use packetloom::packet::Kind;
use packetloom::queue::PauseRecord;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;

const MSS_BYTES: u64 = 1_000;
const WIRE_BYTES: u64 = 1_048;

/// Senders at line rate that wait for nothing, over a switch with this buffer.
fn scenario(topology: &str, workloads: &str, queue: &str) -> String {
    format!(
        r#"
[topology]
{topology}
{workloads}
[[scheme]]
name = "PFC"
transport = {{ kind = "line-rate", mss = "1000B", header = "48B", ack = "60B", rto = "1s" }}
queue = {{ kind = "shared-buffer"{queue} }}

[measure]
queues = true
pauses = true

[run]
"#
    )
}

const STAR: &str = r#"
kind = "rack"
hosts = 17
link = { rate = "100Gbps", delay = "1us" }
"#;

fn incast(fan_in: u64, size: &str, class: u64) -> String {
    format!(
        r#"
[[workload]]
sizes = {{ kind = "constant", size = "{size}" }}
arrivals = "at-once"
class = {class}
pattern = {{ kind = "incast", fan_in = {fan_in}, receiver = 0 }}
"#
    )
}

/// All pauses of a port, over its classes.
fn pauses<'a>(outcome: &'a Outcome, from: &str, to: &str) -> &'a [PauseRecord] {
    port(outcome, from, to).pauses.as_deref().expect("it can be paused")
}

fn drops(outcome: &Outcome) -> u64 {
    outcome.ports.iter().map(|port| port.counters.drops).sum()
}

fn is_lossless(outcome: &Outcome) {
    for port in &outcome.ports {
        assert_eq!(port.counters.drops, 0, "{port:?}");
    }
    assert!(outcome.flows.iter().all(|row| row.fct().is_some() && row.report.retransmissions == 0));
}

/// Headroom is for the largest packet, which may be an acknowledgement: of a sender to many, theirs meet at its port.
#[test]
fn acknowledgements_larger_than_data_are_not_lost() {
    let flows: String = (1..17).map(|dst| format!("0,{dst},200000,0\n")).collect();
    common::write_file("one-to-many.csv", &format!("src,dst,size_bytes,start_ns\n{flows}"));
    let list = "[[workload]]\nclass = 3\narrivals = { kind = \"list\", file = \"one-to-many.csv\" }\n";
    let near = STAR.replace("1us", "0.1us");
    let toml = scenario(&near, list, r#", buffer = "800KB""#).replace("ack = \"60B\"", "ack = \"9KB\"");
    let outcome = run(&toml);
    is_lossless(&outcome);
    assert!(outcome.pauses().count() > 16, "too few pauses for a test");
}

#[test]
fn an_incast_is_paused_loses_nothing_and_is_as_fast_as_the_link() {
    for (fan_in, mmu) in [(2, "hpcc-ns3"), (8, "hpcc-ns3"), (16, "hpcc-ns3"), (8, "conweave-ns3")] {
        let queue = format!(r#", buffer = "2MiB", mmu = "{mmu}""#);
        let outcome = run(&scenario(STAR, &incast(fan_in, "1MB", 3), &queue));
        is_lossless(&outcome);
        // The hot link is busy from the first packet on: two links for that, then one packet after the other.
        let packet = Time(83_840);
        let packets = fan_in * 1_000_000 / MSS_BYTES;
        let expected = Time::from_us(2) + packet + packet.times(packets);
        let last = outcome.flows.iter().map(fct).max();
        assert_eq!(last, Some(expected), "{fan_in} senders, {mmu}");
        let paused: u64 =
            (1..17).map(|host| pauses(&outcome, &format!("host{host}"), "switch0")[3].pauses).sum();
        assert!(paused > fan_in, "{paused} pauses");
        assert_eq!(pauses(&outcome, "host0", "switch0")[3].pauses, 0, "nothing comes from there");
    }
}

#[test]
fn every_pause_has_its_end_and_began_at_the_hot_port() {
    let outcome = run(&scenario(STAR, &incast(8, "1MB", 3), r#", buffer = "2MiB""#));
    let hot = port(&outcome, "switch0", "host0").link as u32;
    let mut seen = 0;
    for (_, class, pause) in outcome.pauses() {
        assert_eq!((class, pause.origin.link, pause.origin.passed_on), (3, hot, 0));
        assert!(pause.from < pause.until && pause.until < outcome.simulated);
        seen += 1;
    }
    let counted: u64 = outcome
        .ports
        .iter()
        .flat_map(|port| port.pauses.iter().flat_map(|classes| classes.iter()))
        .map(|r| r.pauses)
        .sum();
    assert_eq!(seen, counted);
    assert!(seen > 8);
}

/// A sender's packets follow each other but for its pauses, which wait for the packet in service; for each PAUSE
/// there was a RESUME on the wire.
#[test]
fn what_senders_wait_is_what_they_are_paused_to_the_picosecond() {
    let packet = Time(83_840);
    for fan_in in [2, 8] {
        let toml = scenario(STAR, &incast(fan_in, "1MB", 3), r#", buffer = "2MiB""#)
            .replace("pauses = true", "pauses = true\ncapture = [\"host to switch0\", \"switch0 to host\"]");
        let outcome = run(&toml);
        let captured = |from: &str, to: &str| {
            let name = format!("{from} to {to}");
            let capture = outcome.captures.iter().find(|capture| capture.name == name);
            &capture.unwrap_or_else(|| panic!("{name} is not captured")).packets
        };
        let (mut senders, mut waited) = (0, Time::ZERO);
        for host in (1..17).map(|host| format!("host{host}")) {
            let starts = captured(&host, "switch0");
            if starts.is_empty() {
                continue;
            }
            let paused = &pauses(&outcome, &host, "switch0")[3].each;
            let (mut next, mut idle) = (Time::ZERO, Time::ZERO);
            for started in starts {
                if let Some(pause) = paused.iter().find(|pause| pause.from <= next && next < pause.until) {
                    idle += pause.until - next;
                    next = pause.until;
                }
                assert_eq!(started.at, next, "{host}");
                next += packet;
            }
            assert_eq!(next, packet.times(1_000_000 / MSS_BYTES) + idle);
            let frames = captured("switch0", &host).iter().filter(|one| one.kind == Kind::Link).count();
            assert_eq!(frames, 2 * paused.len(), "{host}");
            (senders, waited) = (senders + 1, waited + idle);
        }
        assert_eq!(senders, fan_in);
        assert!(waited > Time::from_us(100), "{waited}");
    }
}

/// Host 0 sends to host 1 at 100 Gb/s, by a link of this rate into switch 3 and one of 25 Gb/s out of it. Each port
/// has 4096 B and 120 KB of the buffer for itself. PAUSE comes with the packet by which the share of the rest that
/// the link may have is full: x = (B' - x) / 8, so a ninth; for a link four times as fast as the hosts' x = (B' - x)
/// / 2.
#[test]
fn a_link_alone_is_paused_with_the_packet_that_fills_its_share() {
    const BUFFER: u64 = 2_015_000;
    for (gbps, share, frame) in [(100, 9, Time(5_120)), (400, 3, Time(1_280))] {
        let name = format!("narrow-{gbps}.txt");
        let links = [(0, 2, 100), (2, 3, gbps), (3, 4, 25), (4, 1, 100)]
            .map(|(one, other, gbps)| format!("{one} {other} {gbps}Gbps 1000ns 0\n"));
        common::write_file(&name, &format!("5 3 4\n2 3 4\n{}", links.concat()));
        common::write_file("narrow.csv", "src,dst,size_bytes,start_ns\n0,1,4000000,0\n");
        let workload = "[[workload]]\nclass = 3\narrivals = { kind = \"list\", file = \"narrow.csv\" }\n";
        let queue = format!(", buffer = \"{BUFFER}B\", headroom = \"120KB\"");
        let outcome = run(&scenario(&format!("kind = \"hpcc\"\nfile = \"{name}\""), workload, &queue));
        // As packet k comes, every fourth before it has gone on, the first at once.
        let (size, room) = (WIRE_BYTES, (BUFFER - 2 * (4_096 + 120_000)) / share);
        let fills = (1..).find(|k: &u64| (k - k.div_ceil(4)) * size >= room + 4_096).expect("one does");
        assert!(matches!(fills % 4, 0 | 3), "one goes as the one before comes: choose another size");
        let hop = |gbps: u64| Time(size * 8_000 / gbps + 1_000_000);
        let comes = hop(100) + hop(gbps) + Time(83_840).times(fills - 1);
        let first = pauses(&outcome, "switch2", "switch3")[3].each.first().expect("it is paused");
        assert_eq!(first.from, comes + frame + Time::from_us(1), "{gbps} Gb/s");
        assert_eq!(first.origin.passed_on, 0);
        is_lossless(&outcome);
    }
}

#[test]
fn pauses_that_expire_and_are_repeated_lose_nothing_either() {
    for time in ["5us", "20us"] {
        let queue = format!(r#", buffer = "2MiB", pause_time = "{time}""#);
        let outcome = run(&scenario(STAR, &incast(8, "1MB", 3), &queue));
        is_lossless(&outcome);
        assert!((1..17).any(|host| pauses(&outcome, &format!("host{host}"), "switch0")[3].pauses > 0));
    }
}

const TWO_TIERS: &str = r#"
kind = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 4
link = { rate = "100Gbps", delay = "1us" }
"#;

#[test]
fn pauses_travel_and_are_the_same_on_any_number_of_threads() {
    let toml = scenario(TWO_TIERS, &incast(11, "1MB", 3), r#", buffer = "1MiB""#);
    let outcomes: Vec<Outcome> = [1, 2, 4]
        .into_iter()
        .map(|threads| {
            let simulation = Simulation::new(cases(&toml).remove(0)).expect("it can be simulated");
            simulation.with_threads(threads).run(&Monitor::default()).expect("it runs")
        })
        .collect();
    is_lossless(&outcomes[0]);
    let travelled = outcomes[0].pauses().map(|(_, _, pause)| pause.origin.passed_on).max();
    assert!(travelled >= Some(1), "{travelled:?}");
    let all: Vec<Vec<_>> = outcomes.iter().map(|outcome| outcome.pauses().collect()).collect();
    assert!(!all[0].is_empty());
    for (outcome, pauses) in outcomes.iter().zip(&all) {
        assert_eq!(fingerprint(&outcome.flows), fingerprint(&outcomes[0].flows));
        assert_eq!(pauses, &all[0]);
    }
}

#[test]
fn equal_senders_share_a_port_and_its_drops() {
    // Without PFC and without congestion control: 10^4 packets of each sender arrive at the same instants.
    for fan_in in [2, 3] {
        let queue = r#", lossless = [], buffer = "1MiB""#;
        let toml = scenario(STAR, &incast(fan_in, "10MB", 1), queue);
        let toml = toml.replace("pauses = true", r#"capture = ["switch0 to host0"]"#);
        let outcome = run(&(toml + "max_time = \"5ms\"\n"));
        assert!(port(&outcome, "switch0", "host0").counters.drops > 5_000);
        let mut through = std::collections::BTreeMap::new();
        for packet in &outcome.captures[0].packets {
            *through.entry(packet.src).or_insert(0_i64) += 1;
        }
        let (least, most) = (through.values().min().copied(), through.values().max().copied());
        let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
        assert!(most - least <= most / 100, "{through:?}");
    }
}

#[test]
fn wrong_input_is_refused_with_what_it_takes() {
    let complaint = |queue: &str| {
        let case = cases(&scenario(STAR, &incast(2, "1MB", 3), queue)).remove(0);
        Simulation::new(case).map(|_| ()).expect_err("it can't be simulated")
    };
    let short = complaint(r#", headroom = "20KB""#);
    assert_eq!(short.key, "scheme.queue.headroom");
    // 2 us at 100 Gb/s, three packets and a frame of 64 B.
    let needed = 25_000 + 3 * WIRE_BYTES + 64;
    assert!(short.message.contains(&format!("write {needed}B or more")), "{}", short.message);
    let small = complaint(r#", buffer = "500KB""#);
    assert_eq!(small.key, "scheme.queue.buffer");
    assert_eq!(complaint(r#", pause_time = "1us""#).key, "scheme.queue.pause_time");
    // A class that no queue has, of a transport that has its own.
    for key in ["class", "ack_class"] {
        let toml = scenario(STAR, &incast(2, "1MB", 3), "")
            .replace("\"line-rate\", mss", &format!("\"roce\", {key} = 8, mss"));
        let unserved = Simulation::new(cases(&toml).remove(0)).map(|_| ()).expect_err("nothing serves it");
        assert_eq!(unserved.key, format!("scheme.transport.{key}"));
        assert!(unserved.message.contains("8 classes, 0 to 7"), "{}", unserved.message);
    }
    let allowed = scenario(
        STAR,
        &incast(8, "1MB", 3),
        r#", buffer = "2MiB", headroom = "3KB", unsafe_headroom = true"#,
    );
    assert!(drops(&run(&(allowed + "max_time = \"2ms\"\n"))) > 0);
}

/// A ring of five switches, each with a host that sends to the next but one: every link between switches is offered
/// twice its capacity, and each paused link waits for the next.
const RING: &str = "10 5 10\n5 6 7 8 9\n0 5 100Gbps 1000ns 0\n1 6 100Gbps 1000ns 0\n2 7 100Gbps 1000ns 0\n\
3 8 100Gbps 1000ns 0\n4 9 100Gbps 1000ns 0\n5 6 100Gbps 1000ns 0\n6 7 100Gbps 1000ns 0\n7 8 100Gbps 1000ns 0\n\
8 9 100Gbps 1000ns 0\n9 5 100Gbps 1000ns 0\n";

fn around_the_ring(queue: &str) -> String {
    common::write_file("pfc-ring.txt", RING);
    let flows: String = (0..5).map(|host| format!("{host},{},4000000,0\n", (host + 2) % 5)).collect();
    common::write_file("around.csv", &format!("src,dst,size_bytes,start_ns\n{flows}"));
    let workload = r#"
[[workload]]
class = 3
arrivals = { kind = "list", file = "around.csv" }
"#;
    scenario("kind = \"hpcc\"\nfile = \"pfc-ring.txt\"", workload, queue)
}

#[test]
fn a_cycle_of_paused_ports_is_found_and_named_with_its_flows() {
    for pause_time in ["", r#", pause_time = "50us""#] {
        let toml = around_the_ring(&format!(r#", buffer = "1MiB"{pause_time}"#)) + "max_time = \"100ms\"\n";
        let outcome = run(&toml);
        let stalled = outcome.stalled.as_deref().expect("it stands still");
        assert!(stalled.contains("a cycle of paused ports"), "{stalled}");
        for switch in 5..10 {
            assert!(stalled.contains(&format!("switch{switch} to switch")), "{stalled}");
        }
        assert!(stalled.contains("flows 0, 1, 2, 3, 4"), "{stalled}");
        assert_eq!(drops(&outcome), 0);
    }
}

#[test]
fn the_watchdog_breaks_a_cycle_by_dropping() {
    let toml = around_the_ring(r#", buffer = "1MiB", watchdog = "200us""#);
    let outcome = run(&toml.replace(r#"rto = "1s""#, r#"rto = "2ms""#));
    assert_eq!(outcome.stalled, None);
    assert!(outcome.flows.iter().all(|row| row.fct().is_some()));
    assert!(drops(&outcome) > 0);
}

//! Floodgate: of the data for a host no more than a window goes on before the next switches have sent it on.

use crate::common::{cases, fct, run, simulate, write_file};
use packetloom::simulation::{Outcome, Simulation};

/// With a header of 48 B, at 100 Gb/s.
const PACKET: u64 = 1_048;
const PACKET_PS: u64 = 83_840;
const DELAY_PS: u64 = 500_000;
/// What gives window back, of 64 B.
const CREDIT_PS: u64 = 5_120;

/// Flows of [source, destination, packets, start in ns].
fn flows(name: &str, topology: &str, queue: &str, more: &str, list: &[[u64; 4]]) -> Outcome {
    let file = format!("floodgate-{name}.csv");
    let rows =
        list.iter().map(|[src, dst, packets, start]| format!("{src},{dst},{},{start}\n", packets * 1_000));
    write_file(&file, &format!("src,dst,size_bytes,start_ns\n{}", rows.collect::<String>()));
    run(&format!(
        "topology = {topology}\n\
         [[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
         [[scheme]]\nname = \"it\"\ntransport = {{ kind = \"roce\"{more} }}\nqueue = {queue}\n\
         [measure]\nqueues = true\n"
    ))
}

fn took(outcome: &Outcome) -> Vec<u64> {
    outcome.flows.iter().map(|row| fct(row).as_ps()).collect()
}

fn drops(outcome: &Outcome) -> u64 {
    outcome.ports.iter().map(|port| port.counters.drops).sum()
}

/// The most that waited at a port from one node to another.
fn largest(outcome: &Outcome, from: &str, to: &str) -> u64 {
    let name = format!("{from} to {to}");
    let topology = &outcome.topology;
    let port = outcome.ports.iter().find(|port| topology.link_name(port.link as u32) == name);
    port.and_then(|port| port.queue.as_ref()).unwrap_or_else(|| panic!("no {name}")).largest_bytes()
}

/// Two switches and two hosts, all at 100 Gb/s.
const LINE: &str = r#"{ kind = "dumbbell", left = 1, right = 1, link = { rate = "100Gbps", delay = "0.5us" }, bottleneck = { rate = "100Gbps", delay = "0.5us" } }"#;

/// From when a packet leaves the first switch until it has arrived.
const REST_PS: u64 = 2 * PACKET_PS + 2 * DELAY_PS;

#[test]
fn packet_by_packet_a_window_goes_round_as_it_does_by_hand() {
    // A BDP is 12 500 B, and a window a quarter of it, 3125 B: two packets. Packet k comes to the switch at D + kP. The
    // first two go on. Each leaves the next switch P + D later, and is given back D + 5.12 ns after that.
    let queue = r#"{ kind = "floodgate", variant = "ideal", window = 0.25, pause_hosts_above = 1000 }"#;
    let round = 2 * DELAY_PS + PACKET_PS + CREDIT_PS;
    for packets in [1, 2, 3, 4, 5, 20] {
        // Nothing but what gives window back takes the way back.
        let silent = r#", recovery = "none""#;
        let outcome = flows(&format!("round-{packets}"), LINE, queue, silent, &[[0, 1, packets, 0]]);
        let of_round = (packets - 1) % 2;
        let leaves = DELAY_PS + (1 + of_round) * PACKET_PS + (packets - 1) / 2 * round;
        assert_eq!(took(&outcome), [leaves + REST_PS], "{packets} packets");
    }
}

#[test]
fn together_window_goes_back_when_the_timer_comes_round() {
    // 125 B and what goes in 1 us, 12 625 B, are twelve packets. The timer of the second switch counts from when the first
    // of them leaves, 2D + 2P. By then + 1 us all twelve have left. Of the next twelve the first leaves 2D + P + 5.12 ns
    // after that, and eleven before the timer comes round for the third time.
    let queue = r#"{ kind = "floodgate", window = 0.01, credit_every = "1us" }"#;
    let timer = 2 * DELAY_PS + 2 * PACKET_PS;
    let took_of =
        |packets: u64| took(&flows(&format!("timer-{packets}"), LINE, queue, "", &[[0, 1, packets, 0]]))[0];
    assert_eq!(took_of(12), DELAY_PS + 12 * PACKET_PS + REST_PS);
    let thirteenth = timer + 1_000_000 + CREDIT_PS + DELAY_PS;
    assert_eq!(took_of(13), thirteenth + REST_PS);
    assert_eq!(took_of(24), thirteenth + 11 * PACKET_PS + REST_PS);
    assert_eq!(took_of(25), thirteenth + 2_000_000 + REST_PS);
    // Given back with the tenth packet, nothing is ever waited for.
    let sooner = r#"{ kind = "floodgate", window = 1.5, credit_every = "1us", credit_after = "10240B" }"#;
    let outcome = flows("sooner", LINE, sooner, "", &[[0, 1, 1_000, 0]]);
    assert_eq!(took(&outcome), [DELAY_PS + 1_000 * PACKET_PS + REST_PS]);
}

/// Two leaves of eight hosts, and two spines.
const LEAVES: &str = r#"{ kind = "leaf-spine", leaves = 2, hosts_per_leaf = 8, spines = 2, host_link = { rate = "100Gbps", delay = "0.6us" }, link = { rate = "400Gbps", delay = "0.6us" } }"#;

const VARIANTS: [&str; 3] = ["paper", "ideal", "floodgate-ns3"];

fn floodgate(variant: &str, more: &str) -> String {
    format!(r#"{{ kind = "floodgate", variant = "{variant}"{more} }}"#)
}

#[test]
fn a_lone_flow_is_not_slowed() {
    let list = [[0, 8, 5_000, 0]];
    let alone = took(&flows("without", LEAVES, r#""shared-buffer""#, "", &list));
    for variant in VARIANTS {
        let outcome = flows(&format!("lone-{variant}"), LEAVES, &floodgate(variant, ""), "", &list);
        assert_eq!(took(&outcome), alone, "{variant}");
    }
}

/// Hosts 0 to 7 send to host 8, behind the spines.
fn incast(packets: u64) -> Vec<[u64; 4]> {
    (0..8).map(|src| [src, 8, packets, 0]).collect()
}

#[test]
fn an_incast_waits_where_it_enters_and_is_as_fast_as_its_link() {
    let list = incast(400);
    let without = flows("incast-without", LEAVES, r#""shared-buffer""#, "", &list);
    let down = |outcome: &Outcome| largest(outcome, "leaf1", "host8");
    let up = |outcome: &Outcome| {
        (0..2).map(|spine| largest(outcome, "leaf0", &format!("spine{spine}"))).sum::<u64>()
    };
    for variant in VARIANTS {
        let outcome = flows(&format!("incast-{variant}"), LEAVES, &floodgate(variant, ""), "", &list);
        assert_eq!(drops(&outcome), 0, "{variant}");
        let last = took(&outcome).into_iter().max().expect("a flow");
        let by_link = 8 * 400 * PACKET_PS;
        assert!(last < by_link + by_link / 100 + 10_000_000, "{variant}: {last} ps");
        // Of what waited at the last switch no more can than two spines have windows for: BDP 60 KB, in 10 us 500 KB.
        let window = if variant == "ideal" {
            90_000
        } else if variant == "paper" {
            560_000
        } else {
            590_000
        };
        assert!(down(&outcome) <= 2 * window, "{variant}: {} B", down(&outcome));
        assert!(
            2 * down(&outcome) < down(&without),
            "{variant}: {} B of {} B",
            down(&outcome),
            down(&without)
        );
        // Those of the ideal design wait in hosts.
        let waits_there = variant == "ideal" || up(&outcome) > up(&without) + 100_000;
        assert!(waits_there, "{variant}: it waits before the spines");
    }
}

#[test]
fn hosts_that_are_paused_keep_the_rest() {
    let list = incast(400);
    let up = |more: &str, name: &str| {
        let outcome = flows(name, LEAVES, &floodgate("ideal", more), "", &list);
        assert_eq!(drops(&outcome), 0);
        let last = took(&outcome).into_iter().max().expect("a flow");
        assert!(last < 8 * 402 * PACKET_PS + 10_000_000, "{last} ps");
        (0..2).map(|spine| largest(&outcome, "leaf0", &format!("spine{spine}"))).sum::<u64>()
    };
    // A BDP of a host's link is 15 KB. A host sends for 2D + 5.12 ns and a packet or two more.
    let paused = up("", "paused");
    assert!(paused < 2 * (15_000 + 8 * (15_000 + 3 * PACKET)), "{paused} B");
    let free = up(", pause_hosts_above = 1000000", "not-paused");
    assert!(free > 5 * paused, "{free} B, and {paused} B with pauses");
}

#[test]
fn who_sends_elsewhere_is_not_in_the_way() {
    // Host 7 has sent its part of the incast in 34 us, and then sends to host 9, through the same links up.
    let mut list = incast(400);
    list.push([7, 9, 200, 40_000]);
    let alone = took(&flows("victim-alone", LEAVES, r#""shared-buffer""#, "", &[[7, 9, 200, 0]]))[0];
    let of = |queue: &str, name: &str| took(&flows(name, LEAVES, queue, "", &list))[8];
    for variant in ["paper", "floodgate-ns3"] {
        let with = of(&floodgate(variant, ""), &format!("victim-{variant}"));
        // What comes back in 10 us, 125 KB, leaves the VOQ at once, and takes the link 2.5 us.
        assert!(with < alone + 2_600_000, "{variant}: {with} ps, alone {alone} ps");
    }
}

#[test]
fn in_one_voq_destinations_hold_each_other_up() {
    // Six hosts send to host 8, and two to host 9: in one VOQ a quarter is for host 9, which gets a third of its link then.
    let list: Vec<[u64; 4]> =
        (0..8).map(|src| if src < 6 { [src, 8, 1_500, 0] } else { [src, 9, 1_000, 1_000] }).collect();
    let last = |voqs: u32| {
        let queue =
            floodgate("ideal", &format!(", window = 0.5, voqs = {voqs}, pause_hosts_above = 1000000"));
        let took = took(&flows(&format!("voqs-{voqs}"), LEAVES, &queue, "", &list));
        took[6..].iter().copied().max().expect("a flow")
    };
    let (many, one) = (last(100), last(1));
    assert!(many < 2_000 * PACKET_PS * 11 / 10 + 5_000_000, "{many} ps");
    assert!(one > 2 * many, "{one} ps in one VOQ, {many} ps in two");
}

#[test]
fn numbered_windows_outlast_losses() {
    let list = incast(300);
    let fault = "[[fault]]\nkind = \"corruption\"\nprobability = 0.02\nbetween = [\"leaf\", \"spine\"]\n";
    let with = |queue: &str, name: &str| {
        let file = format!("floodgate-{name}.csv");
        let rows = list
            .iter()
            .map(|[src, dst, packets, start]| format!("{src},{dst},{},{start}\n", packets * 1_000));
        write_file(&file, &format!("src,dst,size_bytes,start_ns\n{}", rows.collect::<String>()));
        run(&format!(
            "topology = {LEAVES}\n\
             [[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
             [[scheme]]\nname = \"it\"\ntransport = {{ kind = \"dcqcn\", recovery = \"irn\" }}\n\
             queue = {queue}\n{fault}"
        ))
    };
    let lossy = r#"queue = { kind = "shared-buffer", lossless = [] }"#;
    for variant in ["paper", "floodgate-ns3"] {
        let queue = floodgate(variant, &format!(r#", resync_after = "100us", {lossy}"#));
        let outcome = with(&queue, &format!("lossy-{variant}"));
        assert!(outcome.flows.iter().all(|row| row.fct().is_some()), "{variant}: all arrive");
    }
}

/// All to all on a tree with switches in the middle.
const TREE: &str = r#"
[topology]
kind = "fat-tree"
k = 4
link = { rate = "100Gbps", delay = "1us" }

[[workload]]
sizes = { kind = "constant", size = "50KB" }
arrivals = { kind = "at-once" }
pattern = { kind = "all-to-all" }

[[scheme]]
name = "Floodgate"
transport = "TRANSPORT"
queue = { kind = "floodgate", variant = "VARIANT", voqs = VOQS }

[run]
seeds = 1
"#;

#[test]
fn on_trees_windows_never_hold_each_other_forever() {
    // With few VOQs, downwards and upwards apart, destinations share them (§4.2).
    for variant in VARIANTS {
        for voqs in ["1", "3", "100"] {
            let text = TREE.replace("VOQS", voqs).replace("VARIANT", variant).replace("TRANSPORT", "dcqcn");
            for case in cases(&text) {
                let outcome = simulate(case);
                assert!(outcome.flows.iter().all(|row| row.fct().is_some()), "{variant}, {voqs} VOQs");
                assert_eq!(drops(&outcome), 0);
            }
        }
    }
}

fn refused(transport: &str, queue: &str, more: &str) -> (String, String) {
    refused_on(LEAVES, transport, queue, more)
}

fn refused_on(topology: &str, transport: &str, queue: &str, more: &str) -> (String, String) {
    let mut cases = cases(&format!(
        "topology = {topology}\n[[workload]]\nsizes = {{ kind = \"constant\", size = \"1KB\" }}\n\
         arrivals = {{ kind = \"at-once\" }}\npattern = {{ kind = \"pair\", src = 0, dst = 1 }}\n\
         [[scheme]]\nname = \"it\"\ntransport = {transport}\nqueue = {queue}\n{more}\n"
    ));
    let Err(complaint) = Simulation::new(cases.remove(0)) else { panic!("it was accepted") };
    (complaint.key, complaint.message)
}

#[test]
fn what_would_stall_or_does_not_go_together_is_refused() {
    let (key, message) = refused("\"tcp\"", &floodgate("ideal", ""), "");
    assert!(key == "scheme.queue.pause_hosts_above" && message.contains("variant"), "{key}: {message}");
    let (key, message) = refused("\"roce\"", r#""shared-buffer""#, "nic = \"floodgate\"");
    assert!(key == "scheme.nic" && message.contains("leave nic out"), "{key}: {message}");
    let fault = "[[fault]]\nkind = \"corruption\"\nprobability = 0.1";
    let lossy = r#", queue = { kind = "shared-buffer", lossless = [] }"#;
    let (key, message) = refused("\"roce\"", &floodgate("paper", lossy), fault);
    assert!(key == "scheme.queue.resync_after" && message.contains("write a time"), "{key}: {message}");
    let numbered = format!(r#"{lossy}, resync_after = "1ms""#);
    let (key, message) = refused("\"roce\"", &floodgate("ideal", &numbered), fault);
    assert!(key == "scheme.queue.pause_hosts_above" && message.contains("stall"), "{key}: {message}");
    let dead = "[[fault]]\nkind = \"link-down\"\nbetween = [\"leaf0\", \"spine0\"]\nat = \"1us\"\nlearn_after = \"1us\"";
    let (key, message) = refused("\"roce\"", &floodgate("paper", &numbered), dead);
    assert!(key == "fault" && message.contains("mended"), "{key}: {message}");
    // Where a packet's way leads down and up again, VOQs that are shared can wait for each other.
    let dragonfly = r#"{ kind = "dragonfly" }"#;
    let (key, message) = refused_on(dragonfly, "\"roce\"", &floodgate("paper", ", voqs = 71"), "");
    assert!(key == "scheme.queue.voqs" && message.ends_with("write 72"), "{key}: {message}");
}

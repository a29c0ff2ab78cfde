//! Backpressure flow control: flows are paused hop by hop, each by itself.

use crate::common::{cases, fct, run, simulate, write_file};
use packetloom::simulation::{Outcome, Simulation};

/// With a header of 48 B, at 100 Gb/s.
const PACKET: u64 = 1_048;
const PACKET_PS: u64 = 83_840;
const DELAY_PS: u64 = 500_000;

const RACK: &str = r#"{ kind = "rack", hosts = 8, link = { rate = "100Gbps", delay = "0.5us" } }"#;
const BFC: &str = r#"queue = "bfc""#;

/// Flows of [source, destination, packets, start in ns].
fn flows(name: &str, topology: &str, keys: &str, queue: &str, list: &[[u64; 4]]) -> Outcome {
    let file = format!("bfc-{name}.csv");
    let rows =
        list.iter().map(|[src, dst, packets, start]| format!("{src},{dst},{},{start}\n", packets * 1_000));
    write_file(&file, &format!("src,dst,size_bytes,start_ns\n{}", rows.collect::<String>()));
    run(&format!(
        "topology = {topology}\n\
         [[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
         [[scheme]]\nname = \"BFC\"\ntransport = {{ kind = \"bfc\"{keys} }}\n{queue}\n\
         [measure]\nqueues = true\n"
    ))
}

fn took(outcome: &Outcome) -> Vec<u64> {
    outcome.flows.iter().map(|row| fct(row).as_ps()).collect()
}

fn drops(outcome: &Outcome) -> u64 {
    outcome.ports.iter().map(|port| port.counters.drops).sum()
}

/// The most that waited at the last link to a host.
fn largest_at(outcome: &Outcome, host: u32) -> u64 {
    let port = outcome.ports.iter().find(|port| outcome.topology.links[port.link].dst == host);
    port.and_then(|port| port.queue.as_ref()).expect("queues are watched").largest_bytes()
}

#[test]
fn a_lone_flow_has_the_whole_link() {
    let outcome = flows("lone", RACK, "", BFC, &[[0, 1, 2_000, 0]]);
    assert_eq!(took(&outcome), [2_001 * PACKET_PS + 2 * DELAY_PS]);
}

/// Hosts at 100 Gb/s before a bottleneck of 50 Gb/s.
const BOTTLENECK: &str = r#"{ kind = "dumbbell", left = 1, right = 1, link = { rate = "100Gbps", delay = "0.5us" }, bottleneck = { rate = "50Gbps", delay = "0.5us" } }"#;

#[test]
fn pause_and_resume_come_when_they_do_by_hand() {
    // A queue is too long above 1 us of the bottleneck, 6250 B: with six packets. Packet k comes at D + kP, where
    // ceil(k / 2) wait then, so the 11th is the first too many. Its PAUSE of 64 B, 5.12 ns, is at the host at
    // 2D + 11P + 5.12 ns = 1927.36 ns, just before the 24th packet would start, at 23P = 1928.32 ns.
    let queue = r#"queue = { kind = "bfc", hop_rtt = "1us", pause_above = 1 }"#;
    let at_the_end =
        |packets: u64, name: &str| took(&flows(name, BOTTLENECK, "", queue, &[[0, 1, packets, 0]]))[0];
    // From when a packet starts at the bottleneck until it has arrived.
    let rest = 3 * PACKET_PS + 2 * DELAY_PS;
    let start_of_23rd = DELAY_PS + 45 * PACKET_PS;
    assert_eq!(at_the_end(23, "hand-23"), start_of_23rd + rest);
    // That is when the last of those leaves that were too many. The host hears of it D + 5.12 ns later, and the
    // bottleneck, idle by then, has the next packet P + D after that.
    let start_of_24th = start_of_23rd + (DELAY_PS + 5_120) + (PACKET_PS + DELAY_PS);
    assert_eq!(at_the_end(24, "hand-24"), start_of_24th + rest);
    // And so on: of the time from one such packet to the next, 46P, the link rests for less than a fifth.
    assert_eq!(at_the_end(46, "hand-46"), start_of_24th + 44 * PACKET_PS + rest);
    assert_eq!(
        at_the_end(47, "hand-47"),
        start_of_24th + 44 * PACKET_PS + (start_of_24th - start_of_23rd) + rest
    );
}

#[test]
fn by_the_microsecond_a_pause_comes_later_and_a_resume_does_not() {
    // The 11th packet comes at 1.42224 us, so the PAUSE of 64 B goes at 2 us and is there at 2.50512 us, before the
    // 31st packet, which would start at 2.5152 us: 30 have gone.
    let queue = r#"queue = { kind = "bfc", hop_rtt = "1us", pause_above = 1, pause_every = "1us" }"#;
    let start_of_30th = DELAY_PS + 59 * PACKET_PS;
    let start_of_31st = start_of_30th + (DELAY_PS + 5_120) + (PACKET_PS + DELAY_PS);
    let outcome = flows("by-us", BOTTLENECK, "", queue, &[[0, 1, 31, 0]]);
    assert_eq!(took(&outcome), [start_of_31st + 3 * PACKET_PS + 2 * DELAY_PS]);
}

/// When the last packet came, over what the link takes for all. If all flows are paused at once the link rests: the last
/// packet that was too many is the last of its queue, so nothing waits until the senders have heard that it has left.
/// As by hand above, that is less than a fifth of the time.
fn over_a_full_link(outcome: &Outcome, packets: u64) -> f64 {
    let last = took(outcome).into_iter().max().expect("a flow");
    (last - PACKET_PS - 2 * DELAY_PS) as f64 / (packets * PACKET_PS) as f64
}

#[test]
fn two_flows_to_a_host_share_its_link() {
    let outcome = flows("two", RACK, "", BFC, &[[0, 2, 1_000, 0], [1, 2, 1_000, 0]]);
    let took = took(&outcome);
    let over = over_a_full_link(&outcome, 2_000);
    assert!((1.0..1.25).contains(&over), "{over}");
    assert!(took[0].abs_diff(took[1]) < 30 * PACKET_PS, "{took:?}");
}

#[test]
fn an_incast_loses_nothing_and_takes_two_hop_bdps_a_flow_at_most() {
    let list: Vec<[u64; 4]> = (1..8).map(|src| [src, 0, 1_000, 0]).collect();
    let outcome = flows("incast", RACK, "", BFC, &list);
    assert_eq!(drops(&outcome), 0);
    let over = over_a_full_link(&outcome, 7_000);
    assert!((1.0..1.05).contains(&over), "{over}");
    // A hop's round trip is 1 us and a full packet.
    let hop_bdp = (2 * DELAY_PS + PACKET_PS) / 80;
    let largest = largest_at(&outcome, 0);
    assert!(largest <= 7 * 2 * hop_bdp, "{largest} B of {} B", 14 * hop_bdp);
    assert!(largest >= 7 * PACKET, "there is a queue at all");
}

#[test]
fn a_flow_beside_a_paused_one_goes_on() {
    // Three hosts send to host 7, and one of them to host 6, too.
    let list = [[0, 7, 2_000, 0], [1, 7, 2_000, 0], [2, 7, 2_000, 0], [0, 6, 1_000, 0]];
    let outcome = flows("victim", RACK, "", BFC, &list);
    // Of host 0's link, the first flow gets a third at most in the long run.
    let alone = 1_001 * PACKET_PS + 2 * DELAY_PS;
    let victim = took(&outcome)[3];
    assert!(victim < alone * 8 / 5, "{victim} ps, alone {alone} ps");
}

/// Two leaves of four hosts, and one spine.
const LEAVES: &str = r#"{ kind = "leaf-spine", leaves = 2, hosts_per_leaf = 4, spines = 1, host_link = { rate = "100Gbps", delay = "0.5us" }, link = { rate = "400Gbps", delay = "0.5us" } }"#;

#[test]
fn flows_that_share_a_queue_hold_each_other_up() {
    // From three hosts to host 4, behind the spine; and from the fourth to host 5.
    let list = [[0, 4, 1_000, 0], [1, 4, 1_000, 0], [2, 4, 1_000, 0], [3, 5, 500, 20_000]];
    let of = |queues: u32| {
        let queue = format!("queue = {{ kind = \"bfc\", queues = {queues} }}");
        took(&flows(&format!("collision-{queues}"), LEAVES, "", &queue, &list))[3]
    };
    let alone = took(&flows("no-collision", LEAVES, "", BFC, &[[3, 5, 500, 0]]))[0];
    let (many, one) = (of(32), of(1));
    assert!(many < alone * 11 / 10, "{many} ps, alone {alone} ps");
    assert!(one > 2 * many, "{one} ps with one queue, {many} ps with 32");
}

#[test]
fn a_lone_packet_goes_first() {
    let mut list: Vec<[u64; 4]> = (1..7).map(|src| [src, 0, 500, 0]).collect();
    list.push([7, 0, 1, 50_000]);
    let of = |keys, name| took(&flows(name, RACK, keys, BFC, &list))[6];
    let alone = 2 * PACKET_PS + 2 * DELAY_PS;
    let first = of("", "first");
    assert!(first <= alone + PACKET_PS, "{first} ps: it waits for the packet in service, if for any");
    let among = of(r#", preset = "bfc-ns3""#, "among");
    assert!(among > first, "{among} ps in a queue of its own, {first} ps before all");
}

#[test]
fn in_the_authors_simulators_way_nothing_is_lost_either() {
    let list: Vec<[u64; 4]> = (1..8).map(|src| [src, 0, 1_000, 0]).collect();
    let queue = r#"queue = { kind = "bfc", variant = "bfc-ns3" }"#;
    let outcome = flows("incast-ns3", RACK, r#", preset = "bfc-ns3""#, queue, &list);
    assert_eq!(drops(&outcome), 0);
    let over = over_a_full_link(&outcome, 7_000);
    assert!((1.0..1.05).contains(&over), "{over}");
}

#[test]
fn a_full_buffer_drops() {
    let list: Vec<[u64; 4]> = (1..8).map(|src| [src, 0, 100, 0]).collect();
    let queue = r#"queue = { kind = "bfc", buffer = "20KB" }"#;
    let outcome = flows("full", RACK, r#", rto = "1ms""#, queue, &list);
    assert!(drops(&outcome) > 0);
    assert!(largest_at(&outcome, 0) <= 20_000);
    assert!(outcome.flows.iter().all(|row| row.fct().is_some()), "go-back-N repairs it");
}

/// A permutation with an incast in it, on a tree with as many paths as links.
const TREE: &str = r#"
[topology]
kind = "fat-tree"
k = 4
link = { rate = "100Gbps", delay = "1us" }

[[workload]]
sizes = { kind = "constant", size = "200KB" }
arrivals = { kind = "at-once" }
pattern = { kind = "all-to-all" }

[[scheme]]
name = "BFC"
transport = "bfc"
queue = { kind = "bfc", queues = QUEUES }

[run]
seeds = 2
"#;

#[test]
fn on_trees_pauses_never_hold_each_other_forever() {
    // With a single queue every flow is in everybody's way.
    for queues in ["1", "2", "32"] {
        for case in cases(&TREE.replace("QUEUES", queues)) {
            let outcome = simulate(case);
            assert!(outcome.flows.iter().all(|row| row.fct().is_some()), "{queues} queues");
            assert_eq!(drops(&outcome), 0);
        }
    }
}

fn refused(transport: &str, queue: &str, more: &str) -> (String, String) {
    let mut cases = cases(&format!(
        "topology = {RACK}\n[[workload]]\nsizes = {{ kind = \"constant\", size = \"1KB\" }}\n\
         arrivals = {{ kind = \"at-once\" }}\npattern = {{ kind = \"pair\", src = 0, dst = 1 }}\n\
         [[scheme]]\nname = \"it\"\ntransport = {transport}\nqueue = {queue}\n{more}\n"
    ));
    let Err(complaint) = Simulation::new(cases.remove(0)) else { panic!("it was accepted") };
    (complaint.key, complaint.message)
}

#[test]
fn only_hosts_and_switches_that_both_know_it_go_together() {
    let (key, message) = refused("\"bfc\"", "\"drop-tail\"", "");
    assert!(key == "scheme.queue" && message.contains("queue = \"bfc\""), "{key}: {message}");
    let (key, message) = refused("\"roce\"", "\"bfc\"", "");
    assert!(key == "scheme.queue" && message.contains("transport = \"bfc\""), "{key}: {message}");
    let (key, message) = refused("\"bfc\"", "\"bfc\"", "nic = \"drop-tail\"");
    assert!(key == "scheme.nic" && message.contains("leave nic out"), "{key}: {message}");
    let fault = "[[fault]]\nkind = \"corruption\"\nprobability = 0.1";
    let (key, message) = refused("\"bfc\"", "\"bfc\"", fault);
    assert!(key == "fault" && message.contains("RESUME"), "{key}: {message}");
}

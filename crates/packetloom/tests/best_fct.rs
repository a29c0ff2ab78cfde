//! The best flow completion time, to the picosecond: as computed by hand, and as a flow attains it that is alone.
//!
//! The sums below are in nanoseconds. At 10 Gb/s a full packet (1460 B and 40 B of headers) takes 1200, at 40 Gb/s
//! 300.

use crate::common::{fct, run};
use packetloom::random::{Purpose, Stream};
use packetloom::units::Time;

/// 10 Gb/s everywhere; 400 of propagation, 200 in each switch, 1000 in a host.
const FAT_TREE: &str = r#"
kind = "fat-tree"
k = 4
link = { rate = "10Gbps", delay = "0.4us" }
switch_delay = "0.2us"
host_delay = "1us"
"#;

/// Links of `host` and `fabric` rate without delay but for 100 of propagation on each.
fn leaf_spine(host: &str, fabric: &str, more: &str) -> String {
    format!(
        r#"
kind = "leaf-spine"
spines = 2
leaves = 2
hosts_per_leaf = 2
host_link = {{ rate = "{host}", delay = "0.1us" }}
link = {{ rate = "{fabric}", delay = "0.1us" }}
{more}
"#
    )
}

const CUT_THROUGH: &str = r#"forwarding = "cut-through""#;
const UNDERRUN: &str = r#"forwarding = { kind = "cut-through", underrun = true }"#;
const FRAMING: &str = r#"framing = "20B""#;

const LINE_RATE: &str = r#"{ kind = "line-rate", rto = "1s" }"#;
const LARGE_WINDOW: &str = r#"{ kind = "fixed-window", initial_window = 1_000_000, min_rto = "1s" }"#;

const PFABRIC: &str = r#"{ kind = "pfabric", capacity = "1MB" }"#;
const DROP_TAIL: &str = r#""drop-tail""#;

/// (FCT, best FCT) of a flow that is alone.
fn lone(topology: &str, transport: &str, queue: &str, src: u32, dst: u32, size: u64) -> (Time, Time) {
    let outcome = run(&format!(
        r#"
[topology]
{topology}

[[workload]]
sizes = {{ kind = "constant", size = "{size}B" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = {src}, dst = {dst} }}

[[scheme]]
name = "lone"
transport = {transport}
queue = {queue}
"#
    ));
    assert_eq!(outcome.flows.len(), 1);
    (fct(&outcome.flows[0]), outcome.flows[0].best_fct)
}

/// Both the record and a lone flow must come to `expected_ns`.
fn expect(topology: &str, src: u32, dst: u32, size: u64, expected_ns: u64) {
    let expected = (Time::from_ns(expected_ns), Time::from_ns(expected_ns));
    for (transport, queue) in [(LINE_RATE, PFABRIC), (LINE_RATE, DROP_TAIL), (LARGE_WINDOW, DROP_TAIL)] {
        let found = lone(topology, transport, queue, src, dst, size);
        assert_eq!(found, expected, "{size} B from {src} to {dst}, {transport}, {queue}:{topology}");
    }
}

#[test]
fn fat_tree_below_one_switch() {
    let delays = 400 + 200 + 400 + 1000;
    expect(FAT_TREE, 0, 1, 1460, 2 * 1200 + delays);
    // A lone short packet: 832 per link.
    expect(FAT_TREE, 0, 1, 1000, 2 * 832 + delays);
    expect(FAT_TREE, 0, 1, 10, 2 * 40 + delays);
    // Ten full packets: nine more leave the last link, each 1200 after the one before.
    expect(FAT_TREE, 0, 1, 14_600, 2 * 1200 + 9 * 1200 + delays);
}

#[test]
fn fat_tree_within_a_pod() {
    let delays = 4 * 400 + 3 * 200 + 1000;
    expect(FAT_TREE, 0, 2, 1460, 4 * 1200 + delays);
    expect(FAT_TREE, 2, 0, 14_600, 4 * 1200 + 9 * 1200 + delays);
    // The short last packet follows a full one over three links, and takes 832 on the last.
    expect(FAT_TREE, 0, 3, 2 * 1460 + 1000, 2 * 1200 + 3 * 1200 + 832 + delays);
}

#[test]
fn fat_tree_between_pods() {
    let delays = 6 * 400 + 5 * 200 + 1000;
    expect(FAT_TREE, 0, 4, 1460, 6 * 1200 + delays);
    expect(FAT_TREE, 0, 15, 1000, 6 * 832 + delays);
    expect(FAT_TREE, 15, 0, 146_000, 6 * 1200 + 99 * 1200 + delays);
    expect(FAT_TREE, 5, 9, 2 * 1460 + 1000, 2 * 1200 + 5 * 1200 + 832 + delays);
}

#[test]
fn leaf_spine_from_slow_to_fast_and_back() {
    let topology = leaf_spine("10Gbps", "40Gbps", "");
    let delays = 4 * 100;
    expect(&topology, 0, 1, 1460, 2 * 1200 + 200);
    expect(&topology, 0, 2, 1460, 1200 + 300 + 300 + 1200 + delays);
    expect(&topology, 0, 2, 5 * 1460, 5 * 1200 + 300 + 300 + 1200 + delays);
    // The last packet (540 B: 432 or 108) leaves its host at 2400 + 432, and the second link at once: + 108. There
    // the full packet before it still takes the third link until 2400 + 600, and the last one until 2400 + 1800.
    expect(&topology, 0, 2, 2 * 1460 + 500, 2400 + 1800 + 432 + delays);
}

#[test]
fn leaf_spine_from_fast_to_slow_and_back() {
    let topology = leaf_spine("40Gbps", "10Gbps", "");
    let delays = 4 * 100;
    expect(&topology, 0, 2, 1460, 300 + 1200 + 1200 + 300 + delays);
    expect(&topology, 0, 2, 5 * 1460, 300 + 5 * 1200 + 1200 + 300 + delays);
    // The second full packet starts on the slow links at 1500 and 2700; the last one (432 or 108) follows at 2700
    // and 3900, and finds the last link free.
    expect(&topology, 0, 2, 2 * 1460 + 500, 3900 + 432 + 108 + delays);
}

#[test]
fn rack_and_framing() {
    let topology = "kind = \"rack\"\nhosts = 3\nlink = { rate = \"10Gbps\", delay = \"0.1us\" }\n";
    expect(topology, 0, 2, 1460, 2 * 1200 + 200);
    expect(topology, 2, 1, 3 * 1460, 2 * 1200 + 2 * 1200 + 200);
    // 20 B of framing with each packet on each link: 16 each.
    let framed = format!("{topology}{FRAMING}\n");
    expect(&framed, 0, 2, 1460, 2 * 1216 + 200);
    expect(&framed, 0, 2, 1000, 2 * 848 + 200);
    expect(&framed, 0, 2, 2 * 1460 + 1000, 2 * 1216 + 1216 + 848 + 200);
}

#[test]
fn cut_through_at_one_rate() {
    // A switch forwards after 40 B: 32. The last link delivers the whole packet.
    let topology = format!("{FAT_TREE}{CUT_THROUGH}\n");
    let delays = 6 * 400 + 5 * 200 + 1000;
    expect(&topology, 0, 4, 1460, 5 * 32 + 1200 + delays);
    expect(&topology, 0, 4, 14_600, 5 * 32 + 10 * 1200 + delays);
    expect(&topology, 0, 4, 2 * 1460 + 1000, 5 * 32 + 2 * 1200 + 832 + delays);
    expect(&topology, 0, 1, 1000, 32 + 832 + 400 + 200 + 400 + 1000);
    // With framing the first 60 B are awaited: 48. (At one rate there is nothing to run short of.)
    let framed = format!("{topology}{FRAMING}\n");
    expect(&framed, 0, 4, 14_600, 5 * 48 + 10 * 1216 + delays);
    let underrun = format!("{FAT_TREE}{UNDERRUN}\n");
    expect(&underrun, 0, 4, 14_600, 5 * 32 + 10 * 1200 + delays);
}

#[test]
fn cut_through_from_slow_to_fast() {
    let delays = 4 * 100;
    // The header is there after 32, the rest 1168 later; at 40 Gb/s a packet takes 300. So the faster link starts
    // 868 after the header came, and both end together. The links after it forward after 8.
    let topology = leaf_spine("10Gbps", "40Gbps", CUT_THROUGH);
    expect(&topology, 0, 2, 1460, 32 + 868 + 8 + 8 + 1200 + delays);
    expect(&topology, 0, 2, 5 * 1460, 32 + 868 + 8 + 8 + 5 * 1200 + delays);
    // The short last packet waits for the last link, which the full one before it leaves at 916 + 1200.
    expect(&topology, 0, 2, 1460 + 500, 916 + 1200 + 432 + delays);
    // Alone (540 B: 400 behind the header, 108 on the faster link): 292.
    expect(&topology, 0, 2, 500, 32 + 292 + 8 + 8 + 432 + delays);

    let underrun = leaf_spine("10Gbps", "40Gbps", UNDERRUN);
    expect(&underrun, 0, 2, 1460, 32 + 8 + 8 + 1200 + delays);
    expect(&underrun, 0, 2, 5 * 1460, 32 + 8 + 8 + 5 * 1200 + delays);
    expect(&underrun, 0, 2, 1460 + 500, 48 + 1200 + 432 + delays);
}

#[test]
fn cut_through_from_fast_to_slow() {
    let delays = 4 * 100;
    // Only the last link is faster than the one before it: 868 again, then the whole packet.
    let topology = leaf_spine("40Gbps", "10Gbps", CUT_THROUGH);
    expect(&topology, 0, 2, 1460, 8 + 32 + 32 + 868 + 300 + delays);
    expect(&topology, 0, 2, 5 * 1460, 8 + 32 + 32 + 4 * 1200 + 868 + 300 + delays);
    // The full packet starts on the last link at 72 + 868. The short one starts on the slow links 1200 after it, and
    // on the last link 292 after its header came.
    expect(&topology, 0, 2, 1460 + 500, 8 + 1200 + 32 + 32 + 292 + 108 + delays);

    let underrun = leaf_spine("40Gbps", "10Gbps", UNDERRUN);
    expect(&underrun, 0, 2, 1460, 8 + 32 + 32 + 300 + delays);
    expect(&underrun, 0, 2, 5 * 1460, 8 + 32 + 32 + 4 * 1200 + 300 + delays);
}

/// Rates that do not divide a picosecond, delays, framing, forwarding, sizes: any of them together.
#[test]
fn a_lone_flow_attains_it_whatever_the_network() {
    let mut stream = Stream::new(1, Purpose::Sizes, 0);
    for _ in 0..300 {
        let topology = any_topology(&mut stream);
        let (src, dst) = [(0, 1), (0, 2), (3, 0)][stream.below(3) as usize];
        let size = [1 + stream.below(3000), 1460 * (1 + stream.below(8)), 1 + stream.below(60_000)];
        let size = u64::from(size[stream.below(3) as usize]);
        let (transport, queue) = [(LINE_RATE, PFABRIC), (LARGE_WINDOW, DROP_TAIL)][stream.below(2) as usize];
        let (fct, best) = lone(&topology, transport, queue, src, dst, size);
        assert_eq!(fct, best, "{size} B from {src} to {dst}, {transport}:{topology}");
    }
}

fn any_topology(stream: &mut Stream) -> String {
    let mut pick = |choices: &[&str]| choices[stream.below(choices.len() as u32) as usize].to_owned();
    let rates = ["1Gbps", "3Gbps", "7Gbps", "9.953Gbps", "10Gbps", "25Gbps", "40Gbps", "133.7Gbps"];
    let delays = ["0us", "0.123us", "2us"];
    let (host, fabric) = (pick(&rates), pick(&rates));
    let more = [
        format!("switch_delay = \"{}\"", pick(&delays)),
        format!("host_delay = \"{}\"", pick(&delays)),
        pick(&["", FRAMING]),
        pick(&["", CUT_THROUGH, UNDERRUN, "forwarding = { kind = \"cut-through\", header = \"700B\" }"]),
    ];
    leaf_spine(&host, &fabric, &more.join("\n"))
}

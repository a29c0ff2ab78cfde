//! Credit-based flow control: nothing is lost, a link waits for room at its far end, and one class does not hold up
//! another. Every run is audited, credits included.

use crate::common::{cases, fct, port, run, simulate, utilisation, write_file};
use packetloom::scenario::Scenario;
use packetloom::simulation::{Outcome, Simulation};
use packetloom::units::Time;
use std::path::Path;

/// A byte takes 80 ps at 100 Gb/s.
const BYTE_PS: u64 = 80;
const DELAY_PS: u64 = 500_000;
/// With a header of 48 B.
const PACKET: u64 = 1_048;

/// Lists of flows to hosts on one switch: source, destination, packets.
fn rack(name: &str, queue: &str, flows: &[(u32, u32, u64)], more: &str) -> Outcome {
    let rows: String =
        flows.iter().map(|(src, dst, packets)| format!("{src},{dst},{},0\n", packets * 1_000)).collect();
    write_file(name, &format!("src,dst,size_bytes,start_ns\n{rows}"));
    run(&format!(
        r#"
[topology]
kind = "rack"
hosts = 8
link = {{ rate = "100Gbps", delay = "0.5us" }}

[[workload]]
arrivals = {{ kind = "list", file = "{name}" }}

[[scheme]]
name = "RoCE"
transport = {{ kind = "roce", mss = "1000B", header = "48B", ack_class = 0 }}
queue = {queue}
{more}
"#
    ))
}

fn cbfc(more: &str) -> String {
    format!(r#"{{ kind = "cbfc", {more} }}"#)
}

fn drops(outcome: &Outcome) -> u64 {
    outcome.ports.iter().map(|port| port.counters.drops).sum()
}

#[test]
fn with_credit_for_a_round_trip_a_link_is_full() {
    let flows = [(0, 1, 2_000)];
    let free = fct(&rack("cbfc-free.csv", r#""drop-tail""#, &flows, "").flows[0]);
    let outcome = rack("cbfc-enough.csv", &cbfc(r#"credits = "64KB""#), &flows, "");
    assert_eq!(fct(&outcome.flows[0]), free);
}

#[test]
fn with_less_a_window_of_credit_goes_in_a_round_trip() {
    // Room for four packets, each of nine credits of 128 B; an update for each of them.
    let queue = cbfc(r#"credits = "4608B", update_spacing = "0B""#);
    let flows = [(0, 1, 400)];
    let outcome = rack("cbfc-window.csv", &queue, &flows, "");
    // A packet's credit is back when it has come to the switch and left it at once, and its update came back.
    let trip = PACKET * BYTE_PS + 2 * DELAY_PS + 8 * BYTE_PS;
    let last = 3 * PACKET * BYTE_PS + 2 * (PACKET * BYTE_PS + DELAY_PS);
    assert_eq!(fct(&outcome.flows[0]), Time(99 * trip + last));
}

#[test]
fn updates_keep_their_distance() {
    // An update a microsecond and a quarter: 15,625 B at 100 Gb/s.
    let queue = cbfc(r#"credits = "1MB", update_spacing = "15625B""#);
    let outcome = rack("cbfc-spacing.csv", &queue, &[(0, 1, 1_000)], "");
    // What goes to the sender is its acknowledgements and the updates.
    let to_sender = port(&outcome, "switch0", "host0").counters.packets;
    let updates = to_sender - port(&outcome, "host1", "switch0").counters.packets;
    let from_first_to_last = 999 * PACKET * BYTE_PS;
    assert_eq!(updates, 1 + from_first_to_last.div_ceil(1_250_000), "the first goes at once");
}

#[test]
fn an_incast_loses_nothing_and_fills_its_link() {
    let flows = [(1, 0, 1_000), (2, 0, 1_000), (3, 0, 1_000)];
    let outcome = rack("cbfc-incast.csv", &cbfc(r#"credits = "64KB""#), &flows, "");
    assert_eq!(drops(&outcome), 0);
    let busy = utilisation(&outcome, port(&outcome, "switch0", "host0"));
    assert!(busy > 0.98, "{busy}");
    // Each link has credit of its own: nobody waits for another's packets, and all share the link evenly.
    let last = outcome.flows.iter().map(fct).max().expect("three flows");
    let first = outcome.flows.iter().map(fct).min().expect("three flows");
    assert!(first.as_ps() as f64 > 0.97 * last.as_ps() as f64, "{first} and {last}");
}

#[test]
fn what_waits_for_one_destination_holds_up_what_goes_to_another_by_the_same_link() {
    // Five hosts send to host 0, each a fifth of its link; one of them also to host 7. That waits in the same class.
    let flows = [(1, 7, 200), (1, 0, 1_000), (2, 0, 1_000), (3, 0, 1_000), (4, 0, 1_000), (5, 0, 1_000)];
    let held_up = rack("cbfc-innocent.csv", &cbfc(r#"credits = "32KB""#), &flows, "");
    let ample = rack("cbfc-ample.csv", &cbfc(r#"credits = "16MB""#), &flows, "");
    let innocent = |outcome: &Outcome| fct(&outcome.flows[0]).as_ps() as f64;
    assert!(innocent(&held_up) > 2.0 * innocent(&ample), "{} {}", innocent(&held_up), innocent(&ample));
}

#[test]
fn a_fabric_loses_nothing_under_any_load() {
    let text = r#"
[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts_per_leaf = 8
link = { rate = "100Gbps", delay = "1us" }

[[workload]]
sizes = { kind = "exponential", mean = "200KB" }
pattern = "random-pairs"
class = 3

[[scheme]]
name = "DCQCN"
transport = "dcqcn"
queue = { kind = "cbfc", credits = "100KB", ecn_min = "100KB", ecn_max = "400KB" }

[[scheme]]
name = "line rate"
transport = "roce"
queue = { kind = "cbfc", credits = "20KB", credit_size = "256B", packet_overhead = "64B" }

[[scheme]]
name = "Ultra Ethernet"
transport = { kind = "uec", rto = "10ms" }
queue = { kind = "cbfc", lossless = [3], credits = "100KB" }
routing = "reps"

[run]
loads = [0.8]
flows = 300
"#;
    for case in cases(text) {
        let name = case.scheme.component("transport").kind;
        let outcome = simulate(case);
        assert!(outcome.flows.iter().all(|row| row.fct().is_some()), "{name}");
        let again: u32 = outcome.flows.iter().map(|row| row.report.retransmissions).sum();
        assert_eq!((again, drops(&outcome)), (0, 0), "{name}");
    }
}

/// Parts of a port with credits; `aqm`: what judges its packets.
fn parts(scheduler: &str, aqm: &str, credits: &str) -> String {
    format!(
        r#"{{ kind = "egress", scheduler = {scheduler}, aqm = {aqm}, buffer = {{ kind = "private", capacity = "60KB" }}, flow_control = {{ kind = "cbfc", credits = "{credits}" }} }}"#
    )
}

#[test]
fn an_aqm_drops_what_needs_no_credit_and_nothing_else() {
    let codel = r#"{ kind = "codel", target = "5us", interval = "20us", ecn = false }"#;
    let flows = [(1, 0, 1_000), (2, 0, 1_000), (3, 0, 1_000)];
    for scheduler in [r#""strict""#, r#""fifo""#, r#"{ kind = "dwrr", weights = [1, 1, 1, 1] }"#] {
        let queue = parts(scheduler, codel, "64KB");
        let lossless = rack("cbfc-codel.csv", &queue, &flows, "");
        assert!(lossless.flows.iter().all(|row| row.fct().is_some()));
        assert_eq!(drops(&lossless), 0, "{scheduler}");
        let busy = utilisation(&lossless, port(&lossless, "switch0", "host0"));
        assert!(busy > 0.98, "{scheduler}: {busy}");
        let lossy =
            rack("cbfc-codel-lossy.csv", &queue.replace("cbfc\"", "cbfc\", lossless = [2]"), &flows, "");
        assert!(drops(&lossy) > 0, "{scheduler}");
    }
}

#[test]
fn the_buffer_of_a_port_is_for_what_needs_no_credit() {
    // What waits by credit does not count: 64 KB from each of three links, and 60 KB of buffer.
    let flows = [(1, 0, 1_000), (2, 0, 1_000), (3, 0, 1_000)];
    let outcome = rack("cbfc-parts-incast.csv", &parts(r#""strict""#, r#""none""#, "64KB"), &flows, "");
    assert_eq!(drops(&outcome), 0);
    let named = rack("cbfc-named-incast.csv", &cbfc(r#"credits = "64KB""#), &flows, "");
    let all = |outcome: &Outcome| outcome.flows.iter().map(fct).collect::<Vec<_>>();
    assert_eq!(all(&outcome), all(&named));
}

#[test]
fn what_could_never_be_sent_is_refused() {
    let text = |queue: &str, more: &str| {
        format!(
            "[topology]\nkind = \"rack\"\nhosts = 2\n[[workload]]\nsizes = {{ kind = \"constant\", size = \"1MB\" }}\n\
             [[scheme]]\nname = \"a\"\ntransport = \"roce\"\nqueue = {queue}\n{more}\n[run]\nloads = [0.5]\nflows = 1\n"
        )
    };
    let refused = |queue: &str, more: &str| {
        let case = cases(&text(queue, more)).remove(0);
        let Err(complaint) = Simulation::new(case) else { panic!("{queue} {more} was accepted") };
        (complaint.key, complaint.message)
    };
    let (key, message) = refused(&cbfc(r#"credits = "500B""#), "");
    assert!(
        key.ends_with("queue.credits") && message.contains("nothing could ever be sent"),
        "{key}: {message}"
    );
    let (key, message) = refused(&cbfc(r#"credits = "50KB""#), "nic = \"drop-tail\"");
    assert!(key == "scheme.nic" && message.contains("leave nic out"), "{key}: {message}");
    let (key, message) = refused(&parts(r#""strict""#, r#""none""#, "500B"), "");
    assert!(
        key.ends_with("queue.flow_control.credits") && message.contains("could ever be sent"),
        "{key}: {message}"
    );
    let (key, message) = refused(&parts(r#""strict""#, r#""none""#, "50KB"), "nic = \"drop-tail\"");
    assert!(key == "scheme.nic" && message.contains("leave nic out"), "{key}: {message}");
    let unread = |queue: &str| {
        let problems = Scenario::from_toml(&text(queue, ""), "test", Path::new(""));
        problems.err().map(|problems| problems.to_string()).unwrap_or_default()
    };
    let message = unread(&parts(r#""weighted-fair""#, r#""none""#, "50KB"));
    assert!(message.contains("holds traffic classes back"), "{message}");
    let message =
        unread(&parts(r#""strict""#, r#""none""#, "50KB").replace("private\", capacity", "pool\", size"));
    assert!(message.contains("buffer of its own"), "{message}");
    let fault = "[[fault]]\nkind = \"corruption\"\nprobability = 0.1";
    let (key, message) = refused(&cbfc(r#"credits = "50KB""#), fault);
    assert!(key == "fault" && message.contains("cbfc"), "{key}: {message}");
}

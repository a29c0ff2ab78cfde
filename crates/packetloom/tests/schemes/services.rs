//! Ultra Ethernet's delivery services, with a packet lost or trimmed on purpose: what follows takes exactly so long.
//!
//! Ten packets of 4160 B on the wire at 10 Gb/s, 3.328 us each, over two links of 1 us: the first is there after
//! 8.656 us, and an answer of 64 B is back 2.1024 us later. So without a loss the last is there at 38.608 us.

use crate::common::{cases, port, write_file};
use crate::watched::{Fate, Witness, run};
use packetloom::measure::FlowRow;
use packetloom::simulation::Outcome;
use packetloom::units::Time;

/// A window of the whole flow.
const WINDOW: &str = r#"control = "nscc", window = "constant", max_window = 10"#;

fn outcome(transport: &str, to_receivers: &[Fate], to_senders: &[Fate]) -> Outcome {
    write_file("services.csv", "src,dst,size_bytes,start_ns\n1,0,40960,0\n");
    let toml = format!(
        "topology = {{ kind = \"rack\", hosts = 2, link = {{ rate = \"10Gbps\", delay = \"1us\" }} }}\n\
         [[workload]]\narrivals = {{ kind = \"list\", file = \"services.csv\" }}\n\
         [[scheme]]\nname = \"it\"\ntransport = {{ kind = \"uec\", rto = \"100us\", {transport} }}\n\
         queue = {{ kind = \"ndp\", capacity = \"100KB\" }}\n"
    );
    let witness = Witness {
        to_receivers: to_receivers.iter().copied().collect(),
        to_senders: to_senders.iter().copied().collect(),
        ..Witness::default()
    };
    let (outcome, _) = run(&cases(&toml).remove(0), witness).expect("a scheme with packets");
    assert!(outcome.violation.is_none() && outcome.stalled.is_none(), "{:?}", outcome.warnings);
    outcome
}

/// The fifth packet fares so, and the others arrive.
fn fifth(fate: Fate) -> [Fate; 5] {
    [Fate::Arrives, Fate::Arrives, Fate::Arrives, Fate::Arrives, fate]
}

fn ps(us: f64) -> Time {
    Time((us * 1e6).round() as u64)
}

/// Packets sent, sent again, timeouts, trims.
fn counts(row: &FlowRow) -> [u32; 4] {
    let report = row.report;
    [report.packets_sent, report.retransmissions, report.timeouts, report.trims]
}

fn answers(outcome: &Outcome) -> u64 {
    port(outcome, "host0", "switch0").counters.packets
}

#[test]
fn without_a_loss_all_services_take_as_long() {
    for service in ["rud", "rod", "rudi"] {
        let keys = format!("service = \"{service}\", {WINDOW}");
        let row = outcome(&keys, &[], &[]).flows[0];
        assert_eq!((row.delivered, row.closed), (ps(38.608), ps(40.7104)), "{service}");
        assert_eq!(counts(&row), [10, 0, 0, 0], "{service}");
    }
    let unreliable = outcome("service = \"uud\"", &[], &[]);
    let row = unreliable.flows[0];
    // It is done when its last packet has left its link.
    assert_eq!((row.delivered, row.closed, counts(&row)), (ps(38.608), ps(33.28), [10, 0, 0, 0]));
    assert_eq!(answers(&unreliable), 0);
    assert!(unreliable.warnings.is_empty(), "{:?}", unreliable.warnings);
}

#[test]
fn an_ordered_flow_goes_back_to_a_packet_that_was_lost() {
    let outcome = outcome(&format!("service = \"rod\", {WINDOW}"), &fifth(Fate::Lost), &[]);
    let row = outcome.flows[0];
    // The packet after it is there at 25.296 us, its NACK at the sender at 27.3984 us, when the ninth packet is on the
    // link until 29.952 us. So five packets have gone in vain, and nothing is waited for.
    assert_eq!(row.delivered, ps(38.608 + 5.0 * 3.328));
    assert_eq!(counts(&row), [15, 5, 0, 0]);
}

#[test]
fn an_ordered_flow_goes_back_to_a_packet_that_was_trimmed() {
    let outcome = outcome(&format!("service = \"rod\", {WINDOW}"), &fifth(Fate::Trimmed), &[]);
    let row = outcome.flows[0];
    // Its own NACK is there at 24.0704 us, when the eighth packet is on the link.
    assert_eq!(row.delivered, ps(38.608 + 4.0 * 3.328));
    assert_eq!(counts(&row), [14, 4, 0, 1]);
}

#[test]
fn an_ordered_flow_goes_back_twice_if_the_packet_is_lost_twice() {
    // The fifth; four after it; the fifth again, which left at 29.952 us.
    let fates = [&fifth(Fate::Lost)[..], &[Fate::Arrives; 4], &[Fate::Lost]].concat();
    let outcome = outcome(&format!("service = \"rod\", {WINDOW}"), &fates, &[]);
    let row = outcome.flows[0];
    // The one sent after it is there at 29.952 + 3.328 + 8.656 = 41.936 us, and its NACK at 44.0384 us, when the fifth
    // packet since is on the link until 46.592 us.
    assert_eq!(row.delivered, ps(46.592 + 5.0 * 3.328 + 8.656));
    assert_eq!(counts(&row), [20, 10, 0, 0]);
}

#[test]
fn the_last_packet_of_an_ordered_flow_comes_again_after_a_timeout() {
    let fates = [&[Fate::Arrives; 9][..], &[Fate::Lost]].concat();
    let outcome = outcome(&format!("service = \"rod\", {WINDOW}"), &fates, &[]);
    let row = outcome.flows[0];
    // It left at 29.952 us.
    assert_eq!(row.delivered, ps(29.952 + 100.0 + 8.656));
    assert_eq!(counts(&row), [11, 1, 1, 0]);
}

#[test]
fn an_idempotent_flow_repeats_the_one_packet_and_each_is_answered() {
    for keys in ["service = \"rudi\"".to_owned(), format!("service = \"rudi\", {WINDOW}")] {
        let lost = outcome(&keys, &fifth(Fate::Lost), &[]);
        let row = lost.flows[0];
        // It left at 13.312 us.
        assert_eq!(row.delivered, ps(13.312 + 100.0 + 8.656), "{keys}");
        assert_eq!((counts(&row), answers(&lost)), ([11, 1, 1, 0], 10), "{keys}");
        let trimmed = outcome(&keys, &fifth(Fate::Trimmed), &[]);
        let row = trimmed.flows[0];
        // It goes again at once, and the last three after it.
        assert_eq!(row.delivered, ps(38.608 + 3.328), "{keys}");
        assert_eq!((counts(&row), answers(&trimmed)), ([11, 1, 0, 1], 11), "{keys}");
    }
}

#[test]
fn an_idempotent_packet_is_delivered_twice_when_its_answer_is_lost() {
    let outcome = outcome("service = \"rudi\"", &[], &[Fate::Lost]);
    let row = outcome.flows[0];
    // The receiver has it all as ever. The first packet goes again, and is answered again, by a host that knows nothing
    // of it.
    assert_eq!((row.delivered, row.closed), (ps(38.608), ps(100.0 + 8.656 + 2.1024)));
    assert_eq!((counts(&row), answers(&outcome)), ([11, 1, 1, 0], 11));
}

#[test]
fn an_unreliable_flow_that_lost_a_packet_stays_unfinished_and_says_so() {
    for fate in [Fate::Lost, Fate::Trimmed] {
        let outcome = outcome("service = \"uud\"", &fifth(fate), &[]);
        let row = outcome.flows[0];
        assert_eq!((row.delivered, row.closed), (Time::NEVER, ps(33.28)), "{fate:?}");
        assert_eq!((counts(&row), answers(&outcome)), ([10, 0, 0, 0], 0), "{fate:?}");
        let [warning] = &outcome.warnings[..] else { panic!("{:?}", outcome.warnings) };
        assert!(warning.contains("its sender is done, and what was lost does not come again"), "{warning}");
    }
}

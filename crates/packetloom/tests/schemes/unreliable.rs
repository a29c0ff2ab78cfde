//! RDMA's unreliable connection (`recovery = "none"`): what a packet that is lost or late does, and that marks slow
//! DCQCN down without any acknowledgement.
//!
//! Ten packets of 4160 B on the wire at 10 Gb/s, 3.328 us each, over two links of 1 us: the first is there after
//! 8.656 us, so without a loss the last is there at 38.608 us.

use crate::common::{cases, port, write_file};
use crate::watched::{Fate, Witness, run};
use packetloom::scenario::Scenario;
use packetloom::simulation::Outcome;
use packetloom::units::Time;
use std::path::Path;

const ROOMY: &str = r#"{ kind = "drop-tail", capacity = "100KB" }"#;

fn outcome(kind: &str, queue: &str, flows: &str, to_receivers: &[Fate]) -> Outcome {
    let file = format!("unreliable-{kind}-{}.csv", flows.len());
    write_file(&file, &format!("src,dst,size_bytes,start_ns\n{flows}"));
    let toml = format!(
        "topology = {{ kind = \"rack\", hosts = 3, link = {{ rate = \"10Gbps\", delay = \"1us\" }} }}\n\
         [[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
         [[scheme]]\nname = \"it\"\nqueue = {queue}\n\
         transport = {{ kind = \"{kind}\", mss = \"4096B\", header = \"64B\", recovery = \"none\" }}\n"
    );
    let witness = Witness { to_receivers: to_receivers.iter().copied().collect(), ..Witness::default() };
    let (outcome, _) = run(&cases(&toml).remove(0), witness).expect("a scheme with packets");
    assert!(outcome.violation.is_none() && outcome.stalled.is_none(), "{:?}", outcome.warnings);
    outcome
}

const ONE: &str = "1,0,40960,0\n";

/// The fifth packet fares so, and the others arrive.
fn fifth(fate: Fate) -> [Fate; 5] {
    [Fate::Arrives, Fate::Arrives, Fate::Arrives, Fate::Arrives, fate]
}

fn ps(us: f64) -> Time {
    Time((us * 1e6).round() as u64)
}

fn answers(outcome: &Outcome) -> u64 {
    port(outcome, "host0", "switch0").counters.packets
}

#[test]
fn a_flow_is_over_at_its_sender_when_its_last_packet_has_left_and_nothing_is_answered() {
    for kind in ["roce", "dcqcn"] {
        let outcome = outcome(kind, ROOMY, ONE, &[]);
        let row = outcome.flows[0];
        assert_eq!((row.delivered, row.closed), (ps(38.608), ps(33.28)), "{kind}");
        let report = row.report;
        assert_eq!((report.packets_sent, report.retransmissions, report.timeouts), (10, 0, 0), "{kind}");
        assert_eq!(answers(&outcome), 0, "{kind}");
        assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    }
}

#[test]
fn a_packet_that_is_lost_or_late_costs_its_flow_and_no_other() {
    for fate in [Fate::Lost, Fate::Late(Time::from_us(10))] {
        let outcome = outcome("roce", ROOMY, "1,0,40960,0\n1,0,40960,100000\n", &fifth(fate));
        let [lost, whole] = &outcome.flows[..] else { panic!("{:?}", outcome.flows) };
        assert_eq!((lost.delivered, lost.closed), (Time::NEVER, ps(33.28)), "{fate:?}");
        assert_eq!((whole.delivered, whole.closed), (ps(138.608), ps(133.28)), "{fate:?}");
        assert_eq!((lost.report.packets_sent, answers(&outcome)), (10, 0), "{fate:?}");
        let [warning] = &outcome.warnings[..] else { panic!("{:?}", outcome.warnings) };
        assert!(warning.contains("its sender is done, and what was lost does not come again"), "{warning}");
    }
}

#[test]
fn marks_slow_dcqcn_down_by_packets_of_their_own() {
    // Two flows of 2 MB to one host, before whose link 1 MB may wait.
    let flows = "1,0,2048000,0\n2,0,2048000,0\n";
    let queue = r#"{ kind = "ecn", capacity = "1MB", mark_above = "40KB" }"#;
    let [free, controlled] = ["roce", "dcqcn"].map(|kind| outcome(kind, queue, flows, &[]));
    let ends = |outcome: &Outcome| outcome.flows.iter().map(|row| (row.closed, row.is_over())).max();
    // Without control both send for 1.664 ms at the rate of the link, half of what comes does not fit, and neither
    // flow arrives whole. With it they share the other link, so that it takes them nearly twice as long at least.
    assert_eq!(ends(&free), Some((ps(1664.0), false)));
    assert!(controlled.flows.iter().all(|row| row.is_over()), "{:?}", controlled.flows);
    assert!(ends(&controlled) > Some((ps(3000.0), true)), "{:?}", ends(&controlled));
    let drops = |outcome: &Outcome| port(outcome, "switch0", "host0").counters.drops;
    assert!(drops(&free) > 100 && drops(&controlled) == 0, "{} and {}", drops(&free), drops(&controlled));
    // A notification for each flow in 50 us at most, and nothing else.
    assert_eq!(answers(&free), 0);
    assert!((4..=2 * 80).contains(&answers(&controlled)), "{}", answers(&controlled));
}

#[test]
fn what_goes_by_acknowledgements_is_refused_with_what_to_write() {
    for (transport, key, expected) in [
        (r#""hpcc", recovery = "none""#, "recovery", "hpcc goes by acknowledgements"),
        (r#""swift", recovery = "none""#, "recovery", "transport = \"dcqcn\""),
        (r#""roce", recovery = "none", window = "bdp""#, "window", "leave it out"),
        (r#""roce", recovery = "none", rto = "1ms""#, "rto", "recovery = \"go-back-n\" or \"irn\""),
        (r#""dcqcn", recovery = "none", chunk = 4"#, "chunk", "leave it out"),
        (r#""dcqcn", recovery = "none", bdp_cap = 4"#, "bdp_cap", "leave it out"),
        (r#""roce", recovery = "none", connections = "fresh""#, "connections", "leave them out"),
        (r#""roce", recovery = "nothing""#, "recovery", "none"),
    ] {
        let toml = format!(
            "topology = {{ kind = \"rack\", hosts = 3 }}\n[[workload]]\narrivals = \"at-once\"\n\
             sizes = {{ kind = \"constant\", size = \"1MB\" }}\npattern = \"permutation\"\n\
             [[scheme]]\nname = \"it\"\ntransport = {{ kind = {transport} }}\nqueue = \"drop-tail\"\n\
             [run]\nflows = 1\n"
        );
        let complaint =
            Scenario::from_toml(&toml, "test", Path::new("")).expect_err("it is refused").to_string();
        assert!(complaint.contains(expected) && complaint.contains(key), "{transport}: {complaint}");
    }
}

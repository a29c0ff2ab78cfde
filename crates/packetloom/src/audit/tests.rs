//! Each invariant is violated once, to see that the audit reports it.

use super::*;
use crate::engine::{Held, LinkState, Passage, PortCounters, Report};
use crate::flow::Flow;
use crate::scenario::Scenario;
use crate::spec::{Value, Values};
use std::collections::BTreeMap;
use std::path::Path;

/// Two hosts and a switch; the links are host0's, host1's, and the switch's to each.
const UP: usize = 0;
const DOWN: usize = 3;

fn rack() -> Topology {
    let text = "topology = { kind = \"rack\", hosts = 2, link = { rate = \"10Gbps\", delay = \"1us\" } }\n\
        [[workload]]\nsizes = \"web-search\"\n\
        [[scheme]]\nname = \"one\"\ntransport = \"tcp\"\nqueue = \"drop-tail\"\n[run]\nloads = [0.5]\nflows = 1\n";
    let scenario = Scenario::from_toml(text, "one", Path::new("")).expect("a scenario");
    Topology::build(&scenario.cases().next().expect("a case").topology).expect("a rack")
}

fn drop_tail(capacity: Value) -> Specification {
    let admits = Value::Text("what-fits".to_owned());
    let entries = [("capacity", capacity), ("admits", admits), ("pool", Value::Absent)];
    let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
    Specification::of(&Values { kind: "drop-tail".to_owned(), entries })
}

const PACKET: Held = Held {
    flow: 5,
    src: 0,
    dst: 1,
    size_bytes: 1_500,
    path: 0,
    ingress: 0,
    kind: Kind::Data,
    credit: None,
    window: None,
    credit_class: 1,
    charged_class: None,
};

/// The `nth` packet on a link, put there at `start`.
fn passage(link: usize, start: Time, nth: u64) -> Passage {
    // A packet takes 1.2 us.
    let arrival = start + Time::from_ns(1_200) + rack().links[link].latency;
    let link = link as u32;
    let delay = Time::ZERO;
    Passage { link, start, delay, arrival, is_lost: false, identity: Some(nth), packet: PACKET }
}

fn counted(packets: u64) -> LinkState {
    let counters = PortCounters { packets, bytes: packets * 1_500, ..PortCounters::default() };
    LinkState { counters, ..LinkState::default() }
}

/// What is seen after two packets crossed the network, one behind the other.
fn sound() -> Inspection {
    let first = passage(UP, Time::ZERO, 1);
    let second = passage(UP, Time::from_ns(1_200), 2);
    let passages = vec![first, second, passage(DOWN, first.arrival, 1), passage(DOWN, second.arrival, 2)];
    let links = [2, 0, 0, 2].map(counted).to_vec();
    Inspection {
        now: Time::from_us(100),
        is_idle: true,
        passages,
        links,
        due: Vec::new(),
        shared_buffers: Vec::new(),
        balanced: Vec::new(),
        owed_credit: BTreeMap::new(),
        windows: BTreeMap::new(),
    }
}

/// The invariant that is violated, if one is, when a flow of two packets was sent, `change`d, and then inspected.
fn violated_by(change: impl FnOnce(&mut Inspection)) -> Option<&'static str> {
    let (topology, queue) = (rack(), drop_tail(Value::Bytes(3_000)));
    let mut seen = sound();
    change(&mut seen);
    let verdict = audit_of(&topology, &queue).look(&seen, 4);
    verdict.err().map(|violation| {
        assert!(violation.to_string().contains(violation.invariant));
        violation.invariant
    })
}

fn audit_of(topology: &Topology, queue: &Specification) -> Audit {
    let format = Format { mss_bytes: 1_460, header_bytes: 40 };
    let (one_path, has_faults, has_slow_hosts, largest_packet_bytes) = (true, false, false, 1_500);
    let nic = queue;
    Audit::new(Terms {
        topology,
        queue,
        nic,
        format,
        largest_packet_bytes,
        one_path,
        has_faults,
        has_slow_hosts,
    })
}

#[test]
fn a_sound_run_violates_no_invariant() {
    assert_eq!(violated_by(|_| ()), None);
}

#[test]
fn every_law_of_links_and_switches_is_seen_to_be_broken() {
    type Change = fn(&mut Inspection);
    let changes: [(&str, Change); 14] = [
        ("a link never carries more than its rate", |seen| seen.passages[1].start = Time::from_ns(1_199)),
        ("a link takes its time", |seen| seen.passages[1].arrival = Time::from_ns(1_201)),
        ("packets are conserved", |seen| {
            seen.passages.truncate(3);
            seen.links[DOWN] = counted(1);
        }),
        ("packets are conserved", |seen| {
            seen.passages.push(Passage { identity: None, ..passage(DOWN, Time::from_us(50), 3) });
            seen.links[DOWN] = counted(3);
        }),
        ("packets are conserved", |seen| {
            seen.is_idle = false;
            seen.links[DOWN].queued.push(PACKET);
        }),
        ("trimmed payloads are conserved", |seen| {
            seen.passages[3].packet = Held { kind: Kind::Trimmed, size_bytes: 1_500, ..PACKET };
        }),
        ("ports count what they send", |seen| seen.links[UP].counters.bytes += 1),
        ("a buffer never holds more than its size", |seen| seen.links[UP].most_queued_bytes = 3_001),
        ("what was put onto a link arrives at its time, is lost to a fault, or is on the link", |seen| {
            seen.links[UP].on_link.push((Time::from_us(200), PACKET));
        }),
        ("what was put onto a link arrives at its time, is lost to a fault, or is on the link", |seen| {
            seen.now = Time::from_ns(2_000);
        }),
        ("a link does not rest while packets wait for it", |seen| {
            seen.links[UP].sends_at = Some(Time::from_us(99));
        }),
        ("packets reach the host that they are for", |seen| seen.passages[2].packet.dst = 0),
        ("order is kept on one path", |seen| {
            seen.passages[2].identity = Some(2);
            seen.passages[3].identity = Some(1);
        }),
        ("no timer is lost", |seen| seen.due.push((1, Time::from_us(200)))),
    ];
    for (invariant, change) in changes {
        assert_eq!(violated_by(change), Some(invariant));
    }
}

#[test]
fn drops_must_be_counted_and_may_only_be_for_want_of_room() {
    let one_dropped = |seen: &mut Inspection| {
        seen.passages.truncate(3);
        seen.links[DOWN] = counted(1);
        seen.links[DOWN].counters.drops = 1;
    };
    assert_eq!(violated_by(one_dropped), None);
    let (topology, endless) = (rack(), drop_tail(Value::Absent));
    let mut seen = sound();
    one_dropped(&mut seen);
    let violation = audit_of(&topology, &endless).look(&seen, 4).expect_err("a drop without need");
    assert_eq!(violation.invariant, "nothing is dropped without need");
}

#[test]
fn what_a_fault_takes_is_no_breach() {
    let lost = |seen: &mut Inspection| {
        seen.passages[1].is_lost = true;
        seen.passages.truncate(3);
        seen.links[DOWN] = counted(1);
    };
    assert_eq!(violated_by(lost), None);
}

fn flow(size_bytes: u64) -> Flow {
    let (start, deadline) = (Time::ZERO, Time::NEVER);
    Flow { id: 5, src: 0, dst: 1, size_bytes, start, deadline, class: 0, source: 0, chain: None }
}

/// The invariant that a flow of so many bytes violates whose sender reports that it sent so many packets.
fn violated_by_flow(size_bytes: u64, packets_sent: u32) -> Option<&'static str> {
    let (topology, queue) = (rack(), drop_tail(Value::Bytes(3_000)));
    let mut audit = audit_of(&topology, &queue);
    let (id, at) = (5, Time::from_us(50));
    let report = Report { packets_sent, ..Report::default() };
    audit.record(&[
        Event::Started(flow(size_bytes)),
        Event::Delivered { flow: id, at },
        Event::Closed { flow: id, at, report },
    ]);
    audit
        .look(&sound(), 4)
        .and_then(|()| audit.finish(std::iter::empty()))
        .err()
        .map(|violation| violation.invariant)
}

#[test]
fn flows_are_whole_and_senders_count_right() {
    assert_eq!(violated_by_flow(2_920, 2), None);
    assert_eq!(violated_by_flow(2_921, 2), Some("a flow is whole only when all its bytes have come"));
    assert_eq!(violated_by_flow(2_920, 3), Some("senders count what they send"));
}

#[test]
fn what_is_reported_of_an_unfinished_flow_was_sent() {
    let violated_by = |packets_sent| {
        let (topology, queue) = (rack(), drop_tail(Value::Bytes(3_000)));
        let mut audit = audit_of(&topology, &queue);
        audit.record(&[Event::Started(flow(9_000))]);
        audit.look(&sound(), 4).expect("a sound look");
        let report = Report { packets_sent, ..Report::default() };
        audit.finish([(5, report)].into_iter()).err().map(|violation| violation.invariant)
    };
    assert_eq!(violated_by(2), None);
    assert_eq!([0, 1, 3].map(violated_by), [Some("senders count what they send"); 3]);
}

#[test]
fn no_row_may_be_faster_than_its_best() {
    let topology = rack();
    let format = Format { mss_bytes: 1_460, header_bytes: 40 };
    let best_fct = crate::topology::best_fct(&topology, format, 0, 1, 2_920);
    let row = |fct: Time| crate::measure::FlowRow {
        flow: flow(2_920),
        delivered: fct,
        closed: fct,
        best_fct,
        report: Report::default(),
        measured: true,
    };
    let invariant = |row, one_path| {
        check_rows(&[row], &topology, format, (one_path, true, false))
            .err()
            .map(|violation| violation.invariant)
    };
    assert_eq!(invariant(row(best_fct), true), None);
    assert_eq!(invariant(row(best_fct - Time(1)), true), Some("no flow is faster than its best FCT"));
    // Its last packet may come sooner by another path, but not the whole before its first packet.
    assert_eq!(invariant(row(Time(1)), false), Some("no flow is faster than its best FCT"));
    let too_soon = crate::measure::FlowRow { closed: best_fct - Time(1), ..row(best_fct) };
    assert_eq!(invariant(too_soon, true), Some("a sender can't know before the receiver"));
}

//! Classes at a port, without an engine.

use super::*;
use crate::packet::{Ecn, Packet};
use crate::queue::Counts;
use crate::queue::testing::TestBuffer;
use crate::random::{Purpose, Stream};
use crate::units::Rate;

fn build(entries: impl IntoIterator<Item = (&'static str, Value)>) -> TestBuffer<()> {
    let rate = Rate::from_gbps(10);
    build_at(
        entries,
        Site {
            is_switch: true,
            rate,
            host_rate: rate,
            framing_bytes: 0,
            hop_rtt: crate::units::Time::ZERO,
            logs_pauses: false,
            far_links: None,
        },
    )
}

fn build_at(entries: impl IntoIterator<Item = (&'static str, Value)>, site: Site) -> TestBuffer<()> {
    let admits = Value::Text("what-fits".to_owned());
    let inner = [("capacity", Value::Absent), ("admits", admits), ("pool", Value::Absent)];
    let inner = inner.map(|(key, value)| (key.to_owned(), value)).into();
    let inner = Values { kind: "drop-tail".to_owned(), entries: inner };
    let absent = ["weights", "strict", "port"].map(|key| (key, Value::Absent));
    let given = [
        ("queue", Value::Component(inner)),
        ("ring", Value::Count(0)),
        ("ties", Value::Text("any".to_owned())),
        ("port_marks", Value::Text(EVERYWHERE.to_owned())),
    ];
    let entries = absent.into_iter().chain(given).chain(entries);
    let entries = entries.map(|(key, value)| (key.to_owned(), value)).collect();
    let mut buffer = Buffer::build(&Values { kind: "classes".to_owned(), entries });
    Holds::place(&mut buffer, site);
    TestBuffer::new(buffer)
}

fn classes(weights: [u64; 3]) -> TestBuffer<()> {
    build([("weights", Value::List(weights.map(Value::Count).to_vec()))])
}

#[test]
fn the_lowest_strict_class_always_goes_first() {
    let mut stream = Stream::new(1, Purpose::Queue, 0);
    let mut classes = build([("strict", Value::Count(3))]);
    for class in [2, 0, 9, 1, 0] {
        classes.put(packet(class, 1_000), 0, &mut stream);
    }
    let mut order: Vec<u8> = (0..3).filter_map(|_| classes.take(&mut stream)).map(|p| p.class).collect();
    classes.put(packet(1, 1_000), 0, &mut stream);
    order.extend(std::iter::from_fn(|| classes.take(&mut stream)).map(|p| p.class));
    assert_eq!(order, [0, 0, 1, 1, 2, 9]);
    assert_eq!(classes.queued(), Occupancy::default());
}

#[test]
fn what_is_in_the_ring_leaves_first_whatever_its_class() {
    let mut stream = Stream::new(1, Purpose::Queue, 0);
    let mut classes = build([("strict", Value::Count(3)), ("ring", Value::Count(1))]);
    for class in [2, 1, 0] {
        classes.put(packet(class, 1_000), 0, &mut stream);
    }
    // As the first leaves the ring, the most urgent takes its place; what comes then no longer passes it.
    let mut order: Vec<u8> = classes.take(&mut stream).map(|p| p.class).into_iter().collect();
    classes.put(packet(0, 500), 0, &mut stream);
    assert_eq!(classes.queued(), Occupancy { bytes: 2_500, packets: 3 });
    order.extend(std::iter::from_fn(|| classes.take(&mut stream)).map(|p| p.class));
    assert_eq!(order, [2, 0, 0, 1]);
    assert_eq!(classes.queued(), Occupancy::default());
}

#[test]
fn a_rule_of_the_port_counts_all_classes() {
    let mut stream = Stream::new(1, Purpose::Queue, 0);
    let rule = [
        ("capacity", Value::Bytes(4_000)),
        ("admits", Value::Text("what-fits".to_owned())),
        ("pool", Value::Absent),
        ("mark_above", Value::Bytes(1_000)),
    ];
    let entries = rule.map(|(key, value)| (key.to_owned(), value)).into();
    let port = Value::Component(Values { kind: "ecn".to_owned(), entries });
    let mut classes = build([("strict", Value::Count(2)), ("port", port)]);
    let mut put = |class, ecn_capable| {
        let ecn = if ecn_capable { Ecn::Ect0 } else { Ecn::NotCapable };
        let packet = Packet { ecn, ..packet(class, 1_000) };
        let Counts { drops, marks, .. } = classes.put(packet, 0, &mut stream);
        (drops, marks)
    };
    assert_eq!([put(0, true), put(1, true), put(1, true), put(0, false)], [(0, 0), (0, 0), (0, 1), (0, 0)]);
    assert_eq!(put(0, true), (1, 0));
    let marked: Vec<bool> =
        std::iter::from_fn(|| classes.take(&mut stream)).map(|p| p.congestion_experienced).collect();
    assert_eq!(marked, [false, false, false, true]);
}

#[test]
fn a_rule_of_the_port_may_mark_between_switches_alone() {
    let rule = [
        ("capacity", Value::Absent),
        ("admits", Value::Text("what-fits".to_owned())),
        ("pool", Value::Absent),
        ("mark_above", Value::Bytes(0)),
    ];
    let rule = rule.map(|(key, value)| (key.to_owned(), value));
    let marks = |port_marks: &str, is_switch, far_links| {
        let port = Value::Component(Values { kind: "ecn".to_owned(), entries: rule.clone().into() });
        let own =
            [("strict", Value::Count(2)), ("port", port), ("port_marks", Value::Text(port_marks.to_owned()))];
        let rate = Rate::from_gbps(100);
        let mut classes = build_at(
            own,
            Site {
                is_switch,
                rate,
                host_rate: rate,
                framing_bytes: 0,
                hop_rtt: crate::units::Time::ZERO,
                logs_pauses: false,
                far_links,
            },
        );
        let mut stream = Stream::new(1, Purpose::Queue, 0);
        let mut put = || classes.put(Packet { ecn: Ecn::Ect0, ..packet(0, 1_000) }, 0, &mut stream).marks;
        [put(), put()] == [0, 1]
    };
    // Of a host, from a switch to a host, and from one to another.
    for (is_switch, far_links, between) in
        [(false, Some(4), false), (true, None, false), (true, Some(4), true)]
    {
        assert!(marks(EVERYWHERE, is_switch, far_links));
        assert_eq!(marks(BETWEEN_SWITCHES, is_switch, far_links), between);
    }
}

fn packet(class: u8, size_bytes: u16) -> Packet<()> {
    Packet { class, size_bytes, ..Packet::default() }
}

#[test]
fn bytes_are_shared_by_weight_whatever_the_packets_sizes() {
    let mut stream = Stream::new(1, Purpose::Queue, 0);
    let mut classes = classes([5, 2, 1]);
    let sizes = [1_500, 300, 9_000];
    for (class, size) in sizes.into_iter().enumerate() {
        for _ in 0..4 {
            classes.put(packet(class as u8, size), 0, &mut stream);
        }
    }
    let mut bytes = [0_u64; 3];
    for _ in 0..100_000 {
        let sent = classes.take(&mut stream).unwrap();
        bytes[usize::from(sent.class)] += u64::from(sent.size_bytes);
        classes.put(sent, 0, &mut stream);
    }
    let total: u64 = bytes.iter().sum();
    for (bytes, weight) in bytes.into_iter().zip([5.0, 2.0, 1.0]) {
        let share = bytes as f64 / total as f64 * 8.0 / weight;
        assert!((share - 1.0).abs() < 0.01, "weight {weight}: {share}");
    }
}

#[test]
fn a_class_alone_has_the_link_and_unknown_ones_are_the_last() {
    let mut stream = Stream::new(1, Purpose::Queue, 0);
    let mut classes = classes([1, 100, 1]);
    for _ in 0..50 {
        classes.put(packet(9, 1_500), 0, &mut stream);
    }
    assert_eq!(classes.queued(), Occupancy { bytes: 75_000, packets: 50 });
    let sent = std::iter::from_fn(|| classes.take(&mut stream)).count();
    assert_eq!((sent, classes.queued()), (50, Occupancy::default()));
    // A class that was away has saved nothing up: it gets its share and no more.
    for _ in 0..300 {
        classes.put(packet(0, 1_000), 0, &mut stream);
        classes.put(packet(2, 1_000), 0, &mut stream);
    }
    let first: Vec<u8> = (0..100).filter_map(|_| classes.take(&mut stream)).map(|p| p.class).collect();
    let of_last = first.iter().filter(|&&class| class == 2).count();
    assert!((48..=52).contains(&of_last), "{of_last}");
}

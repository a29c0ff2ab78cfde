//! Ports of parts beside the queues that have names, and parts that have none.

use super::*;
use crate::packet::{Kind as PacketKind, Packet};
use crate::queue::testing::TestBuffer;
use crate::queue::{Counts, Occupancy};
use crate::random::{Purpose, Stream};
use crate::units::Time;

fn component(kind: &str, entries: &[(&str, Value)]) -> Values {
    let entries = entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    Values { kind: kind.to_owned(), entries }
}

fn private(capacity: Value) -> Values {
    component("private", &[("capacity", capacity), ("admits", Value::Text("what-fits".to_owned()))])
}

fn egress(scheduler: Values, aqm: Values, buffer: Values) -> Values {
    let parts = [("scheduler", scheduler), ("aqm", aqm), ("buffer", buffer)];
    component("egress", &parts.map(|(key, part)| (key, Value::Component(part))))
}

fn none() -> Values {
    component("none", &[])
}

fn codel() -> Values {
    let us = |us| Value::Time(Time::from_us(us));
    component(
        "codel",
        &[
            ("target", us(50)),
            ("interval", us(1_000)),
            ("ecn", Value::Flag(false)),
            ("ce_threshold", Value::Absent),
        ],
    )
}

fn fair_queueing(drop_batch: u64) -> Values {
    let entries = [
        ("queues", Value::Count(1_024)),
        ("quantum", Value::Bytes(1_514)),
        ("drop_batch", Value::Count(drop_batch)),
    ];
    component("fair-queueing", &entries)
}

fn dwrr(weights: &[u64], strict: u64) -> Values {
    let weights = Value::List(weights.iter().map(|&weight| Value::Count(weight)).collect());
    component(
        "dwrr",
        &[("weights", weights), ("strict", Value::Count(strict)), ("quantum", Value::Bytes(1_514))],
    )
}

fn buffer(values: &Values) -> TestBuffer<u32> {
    TestBuffer::new(Buffer::build(values))
}

fn stream() -> Stream {
    Stream::new(1, Purpose::Queue, 0)
}

fn packet(flow: u32, class: u8, size_bytes: u16) -> Packet<u32> {
    Packet { flow, class, size_bytes, kind: PacketKind::Data, ..Packet::default() }
}

#[test]
fn parts_of_a_named_queue_make_that_queue() {
    let fifo = || component("fifo", &[]);
    let room = || private(Value::Bytes(30_000));
    let ties = component("pfabric", &[("ties", Value::Text("random".to_owned()))]);
    let threshold = component("threshold", &[("mark_above", Value::Bytes(20_000))]);
    let built = |scheduler, aqm, room| format!("{:?}", Built::of(&egress(scheduler, aqm, room)));
    assert!(built(fifo(), none(), room()).starts_with("Fifo(Admission"));
    let marking = built(fifo(), threshold, room());
    assert!(marking.contains("Bytes(30000)") && marking.contains("Above(Bytes(20000))"), "{marking}");
    assert!(built(ties, none(), room()).starts_with("Held(PFabric"));
    assert!(built(component("weighted-fair", &[]), none(), room()).starts_with("Held(WeightedFair"));
    assert!(built(fifo(), codel(), room()).starts_with("Held(Egress"));
}

/// A flow that sends more than its share is kept apart from one that sends less, which goes first.
#[test]
fn flows_share_and_a_new_one_goes_first() {
    let mut random = stream();
    let mut queue = buffer(&egress(fair_queueing(64), none(), private(Value::Absent)));
    (0..6).for_each(|_| _ = queue.put(packet(1, 0, 1_500), 0, &mut random));
    let mut next = |queue: &mut TestBuffer<u32>| queue.take(&mut random).map(|packet| packet.flow);
    // A queue begins with a quantum of 1514 B, so that two packets go before it is an old one.
    assert_eq!([next(&mut queue), next(&mut queue), next(&mut queue)], [Some(1); 3]);
    (0..2).for_each(|_| _ = queue.put(packet(2, 0, 1_500), 0, &mut stream()));
    let order: Vec<u32> = std::iter::from_fn(|| next(&mut queue)).collect();
    assert_eq!(order[..2], [2, 2], "{order:?}");
    assert_eq!((order.len(), queue.queued()), (5, Occupancy::default()));
}

/// RFC 8290 §4.1.3 with Linux's batch: half of the longest queue goes, from its head.
#[test]
fn a_full_buffer_is_emptied_from_the_head_of_the_longest_queue() {
    let mut random = stream();
    let mut queue = buffer(&egress(fair_queueing(64), none(), private(Value::Bytes(15_000))));
    for number in 0..8 {
        queue.put(Packet { header: number, ..packet(1, 0, 1_500) }, 0, &mut random);
    }
    queue.put(packet(2, 0, 1_500), 0, &mut random);
    queue.put(packet(3, 0, 1_500), 0, &mut random);
    let counts = queue.put(packet(3, 0, 1_500), 0, &mut random);
    assert_eq!(counts, Counts { drops: 4, ..Counts::default() });
    let left: Vec<(u32, u32)> =
        std::iter::from_fn(|| queue.take(&mut random)).map(|p| (p.flow, p.header)).collect();
    let of_first: Vec<u32> = left.iter().filter(|(flow, _)| *flow == 1).map(|&(_, number)| number).collect();
    assert_eq!((left.len(), of_first), (7, vec![4, 5, 6, 7]));
}

/// By bytes, whatever the sizes of packets; the strict class before all.
#[test]
fn classes_share_by_weight_below_strict_ones() {
    let mut random = stream();
    let mut queue = buffer(&egress(dwrr(&[1, 3], 1), none(), private(Value::Absent)));
    let mut sent = [0_u64; 3];
    let sizes = [(1, 300), (2, 1_500)];
    for (class, size) in sizes {
        (0..10).for_each(|_| _ = queue.put(packet(class.into(), class, size), 0, &mut random));
    }
    for _ in 0..20_000 {
        let taken = queue.take(&mut random).expect("both always wait");
        sent[usize::from(taken.class)] += u64::from(taken.size_bytes);
        queue.put(taken, 0, &mut random);
    }
    let share = sent[2] as f64 / sent[1] as f64;
    assert!((share - 3.0).abs() < 0.01, "{sent:?}");
    queue.put(packet(0, 0, 64), 0, &mut random);
    assert_eq!(queue.take(&mut random).map(|first| first.class), Some(0));
}

/// A class that waits for long is dropped from, its neighbour is not; and what was dropped is counted nowhere as waiting.
#[test]
fn each_class_has_an_aqm_of_its_own() {
    let mut random = stream();
    for whole in [
        egress(dwrr(&[1, 1], 0), codel(), private(Value::Absent)),
        // The same inside classes of their own queues.
        component(
            "classes",
            &[
                ("weights", Value::List(vec![Value::Count(1); 2])),
                ("strict", Value::Absent),
                ("port", Value::Absent),
                ("ring", Value::Count(0)),
                ("ties", Value::Text("any".to_owned())),
                ("queue", Value::Component(egress(component("fifo", &[]), codel(), private(Value::Absent)))),
            ],
        ),
    ] {
        let mut queue = buffer(&whole);
        let (mut drops, mut now, mut sent) = (0, Time::ZERO, [0; 2]);
        for _ in 0..40 {
            queue.put(Packet { time: now, ..packet(0, 0, 1_500) }, 0, &mut random);
        }
        // Class 0 always has some 40 packets, class 1 one that has just come.
        for _ in 0..4_000 {
            now += Time::from_us(6);
            for (class, wanted) in [(0, 40), (1, 1)] {
                let waits = queue.waiting().iter().filter(|packet| packet.class == class).count();
                for _ in waits..wanted {
                    queue.put(Packet { time: now, ..packet(class.into(), class, 1_500) }, 0, &mut random);
                }
            }
            let (taken, counts) = queue.take_at(now, &mut random);
            drops += counts.drops;
            sent[usize::from(taken.expect("some always wait").class)] += 1;
            assert_eq!(queue.queued().packets, queue.waiting().len() as u64);
        }
        assert!(drops > 20, "{drops}");
        assert!((f64::from(sent[0]) / f64::from(sent[1]) - 1.0).abs() < 0.02, "{sent:?}");
    }
}

/// An AQM that drops all that waits leaves an empty queue.
#[test]
fn what_is_dropped_as_it_is_served_is_gone() {
    let mut random = stream();
    let mut queue = buffer(&egress(component("fifo", &[]), codel(), private(Value::Absent)));
    let mut waits = 0;
    for ms in 0..200 {
        let now = Time::from_us(1_000 * ms);
        (0..3).for_each(|_| _ = queue.put(Packet { time: now, ..packet(0, 0, 1_500) }, 0, &mut random));
        let (taken, counts) = queue.take_at(now, &mut random);
        waits = waits + 3 - counts.drops - u64::from(taken.is_some());
        assert_eq!(queue.queued(), Occupancy { bytes: 1_500 * waits, packets: waits });
    }
    let (dropped, sent) = std::iter::from_fn(|| {
        let (taken, counts) = queue.take_at(Time::from_us(1_000_000), &mut random);
        (queue.queued().packets > 0 || taken.is_some()).then_some((counts.drops, u64::from(taken.is_some())))
    })
    .fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    assert_eq!((dropped + sent, queue.queued()), (waits, Occupancy::default()));
}

//! Ports of parts beside the queues that have names, and parts that have none.

use super::*;
use crate::packet::{Ecn, Kind as PacketKind, Packet};
use crate::queue::testing::TestBuffer;
use crate::queue::{Counts, Holds, Occupancy, Site};
use crate::random::{Purpose, Stream};
use crate::spec::Value;
use crate::units::{Rate, Time};

fn component(kind: &str, entries: &[(&str, Value)]) -> Values {
    let entries = entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    Values { kind: kind.to_owned(), entries }
}

fn private(capacity: Value) -> Values {
    component("private", &[("capacity", capacity), ("admits", Value::Text("what-fits".to_owned()))])
}

fn egress(scheduler: Values, aqm: Values, buffer: Values) -> Values {
    let parts = [("scheduler", scheduler), ("aqm", aqm), ("buffer", buffer), ("flow_control", none())];
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
            ("variant", Value::Text("rfc8289".to_owned())),
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

fn dual_queue(classic_percent: u64) -> Values {
    component(
        "dual-queue",
        &[
            ("classic_percent", Value::Count(classic_percent)),
            ("l4s", Value::Text("ect1".to_owned())),
            ("quantum", Value::Bytes(1_514)),
        ],
    )
}

fn dualpi2() -> Values {
    let absent = ["update", "alpha", "beta", "mark_above", "mark_range", "mark_above_packets"];
    let words = [("variant", "linux"), ("judges", "departures"), ("overload", "drop")];
    let words = words.map(|(key, word)| (key, Value::Text(word.to_owned())));
    let others = [("target", Value::Time(Time::from_us(15_000))), ("coupling", Value::Number(2.0))];
    let entries: Vec<_> =
        absent.map(|key| (key, Value::Absent)).into_iter().chain(words).chain(others).collect();
    component("dualpi2", &entries)
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
    let threshold = |judges: &str, by_rate: bool| {
        let (judges, by_rate) = (Value::Text(judges.to_owned()), Value::Flag(by_rate));
        let between = ("mark_between_switches", Value::Absent);
        let entries =
            [("mark_above", Value::Bytes(20_000)), between, ("judges", judges), ("by_rate", by_rate)];
        component("threshold", &entries)
    };
    let built =
        |scheduler, aqm, room| format!("{:?}", Specification::of(&egress(scheduler, aqm, room)).build());
    assert!(built(fifo(), none(), room()).starts_with("Fifo(Admission"));
    let marking = built(fifo(), threshold("arrivals", false), room());
    assert!(marking.contains("Bytes(30000)") && marking.contains("Above(Bytes(20000))"), "{marking}");
    assert!(built(ties, none(), room()).starts_with("Held(PFabric"));
    assert!(built(component("weighted-fair", &[]), none(), room()).starts_with("Held(WeightedFair"));
    assert!(built(fifo(), codel(), room()).starts_with("Held(Egress"));
    assert!(built(fifo(), threshold("departures", false), room()).starts_with("Held(Egress"));
    assert!(built(fifo(), threshold("arrivals", true), room()).starts_with("Held(Egress"));
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
                ("port_marks", Value::Text("everywhere".to_owned())),
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

/// Linux's credit: nine bytes of L4S for each classic byte while both wait; the classic queue alone has it all. After a
/// quiet time L4S goes first, by (90 - 10) / 10 = 8 packets of 1514 B more than its share.
#[test]
fn l4s_packets_wait_apart_and_share_by_weight() {
    let mut random = stream();
    let mut queue = buffer(&egress(dual_queue(10), none(), private(Value::Absent)));
    let l4s = || Packet { ecn: Ecn::Ect1, ..packet(1, 0, 1_500) };
    let marked = || Packet { ecn: Ecn::Ect0, congestion_experienced: true, ..packet(1, 0, 1_500) };
    let classic = |ecn| Packet { ecn, ..packet(2, 0, 1_500) };
    for _ in 0..2 {
        for nth in 0..400 {
            queue.put(if nth % 2 == 0 { l4s() } else { marked() }, 0, &mut random);
            queue.put(classic(if nth % 2 == 0 { Ecn::Ect0 } else { Ecn::NotCapable }), 0, &mut random);
        }
        let mut sent = |many| {
            let flows: Vec<u32> =
                (0..many).filter_map(|_| queue.take(&mut random)).map(|sent| sent.flow).collect();
            let classic: Vec<usize> = (0..flows.len()).filter(|&nth| flows[nth] == 2).collect();
            (flows.len(), classic)
        };
        // The credit of -121120 rises by 15000 with each L4S packet, and falls by 135000 with a classic one.
        let (_, classic) = sent(409);
        assert_eq!(classic[..3], [9, 19, 29]);
        assert!((classic.len() as f64 / 409.0 - 0.1).abs() < 0.005, "{}", classic.len());
        // The rest, of which L4S packets are the fewer; and a packet is asked for where none is left.
        let (many, classic) = sent(1_000);
        assert_eq!((many, classic.len()), (800 - 409, 400 - 40));
        assert_eq!(queue.queued(), Occupancy::default());
    }
}

/// One controller judges both queues, by the longer delay.
#[test]
fn dualpi2_couples_the_two_queues() {
    let mut random = stream();
    let mut queue = buffer(&egress(dual_queue(10), dualpi2(), private(Value::Absent)));
    let ms = |ms: u64| Time::from_us(1_000 * ms);
    // Classic packets always wait for 40 ms; of L4S packets one has just come.
    let (mut marks, mut drops) = (0, 0);
    for step in 0..4_000 {
        let now = ms(step);
        queue.put(Packet { time: now, ecn: Ecn::NotCapable, ..packet(2, 0, 1_500) }, 0, &mut random);
        queue.put(Packet { time: now, ecn: Ecn::Ect1, ..packet(1, 0, 1_500) }, 0, &mut random);
        let (taken, counts) = queue.take_at(now, &mut random);
        (marks, drops) = (marks + counts.marks, drops + counts.drops);
        assert_eq!(queue.queued().packets, queue.waiting().len() as u64);
        if step < 40 {
            continue;
        }
        assert!(taken.is_some());
    }
    assert!(marks > 500 && drops > 100, "{marks} marks, {drops} drops");
}

/// By what a packet leaves behind, not by what it found.
#[test]
fn departures_are_marked_by_what_is_left() {
    let mut random = stream();
    for (judges, marked) in
        [("arrivals", [false, false, false, true]), ("departures", [true, false, false, false])]
    {
        let judges_at = ("judges", Value::Text(judges.to_owned()));
        let between = ("mark_between_switches", Value::Absent);
        let entries =
            [("mark_above", Value::Bytes(4_000)), between, judges_at, ("by_rate", Value::Flag(false))];
        let threshold = component("threshold", &entries);
        let mut queue = buffer(&egress(dwrr(&[1, 1], 0), threshold, private(Value::Absent)));
        (0..4).for_each(|_| _ = queue.put(Packet { ecn: Ecn::Ect0, ..packet(0, 0, 1_500) }, 0, &mut random));
        let found: Vec<bool> = std::iter::from_fn(|| queue.take(&mut random))
            .map(|packet| packet.congestion_experienced)
            .collect();
        assert_eq!(found, marked, "{judges}");
    }
}

/// A testbed's: 20 packets at ports to hosts, 65 between switches.
#[test]
fn ports_between_switches_may_have_a_threshold_of_their_own() {
    let packets = [("mark_above", Value::Packets(20)), ("mark_between_switches", Value::Packets(65))];
    let others = [("judges", Value::Text("arrivals".to_owned())), ("by_rate", Value::Flag(false))];
    let threshold = component("threshold", &[packets, others].concat());
    let first_marked = |is_switch, far_links| {
        let room = private(Value::Absent);
        let mut queue = Buffer::build(&egress(component("fifo", &[]), threshold.clone(), room));
        let rate = Rate::from_gbps(10);
        queue.place(Site {
            is_switch,
            rate,
            host_rate: rate,
            framing_bytes: 0,
            logs_pauses: false,
            far_links,
            hop_rtt: Time::ZERO,
        });
        let mut queue = TestBuffer::<u32>::new(queue);
        let mut random = stream();
        let mut put = || queue.put(Packet { ecn: Ecn::Ect0, ..packet(0, 0, 1_500) }, 0, &mut random).marks;
        (0..100).position(|_| put() == 1)
    };
    // Of a host, from a switch to a host, and from one to another.
    assert_eq!(first_marked(false, Some(4)), Some(21));
    assert_eq!(first_marked(true, None), Some(21));
    assert_eq!(first_marked(true, Some(4)), Some(66));
}

#[test]
fn what_couples_two_queues_needs_two() {
    let of = |scheduler| check(&egress(scheduler, dualpi2(), private(Value::Absent)));
    assert_eq!(of(dual_queue(10)), Ok(()));
    for scheduler in [component("fifo", &[]), dwrr(&[1, 1], 0)] {
        let complaint = of(scheduler).expect_err("it has no two queues");
        assert!(complaint.key == "aqm" && complaint.message.contains("dual-queue"), "{complaint:?}");
    }
}

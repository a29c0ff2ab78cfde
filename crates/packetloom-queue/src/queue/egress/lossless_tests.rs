//! A port of parts whose far end pauses classes.

use super::*;
use crate::link_message::{LinkMessage, PauseOrigin};
use crate::packet::{Kind as PacketKind, Packet};
use crate::queue::Pauses;
use crate::queue::testing::TestBuffer;
use crate::random::{Purpose, Stream};
use crate::spec::Value;
use crate::units::Time;

fn values(kind: &str, entries: &[(&str, Value)]) -> Values {
    let entries = entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    Values { kind: kind.to_owned(), entries }
}

fn strict() -> Values {
    values("strict", &[("classes", Value::Count(8))])
}

fn fifo() -> Values {
    values("fifo", &[])
}

fn dwrr(weights: &[u64], strict: u64) -> Values {
    let weights = Value::List(weights.iter().map(|&weight| Value::Count(weight)).collect());
    values(
        "dwrr",
        &[("weights", weights), ("strict", Value::Count(strict)), ("quantum", Value::Bytes(1_500))],
    )
}

fn port(scheduler: Values) -> TestBuffer<u32> {
    let pauses = Pauses { lossless: 1 << 3, frame_bytes: 64, lasts: None, run_out: false, watchdog: None };
    let parts = Parts {
        scheduler: scheduler::Specification::of(&scheduler),
        aqm: aqm::Specification::of(&values("none", &[])),
        buffer: Room::ANY,
        flow_control: FlowControl::Pauses(pauses),
    };
    let Built::Held(buffer) = parts.build() else { panic!("it is held") };
    TestBuffer::new(buffer)
}

fn stream() -> Stream {
    Stream::new(1, Purpose::Queue, 0)
}

fn packet(class: u8, header: u32) -> Packet<u32> {
    Packet { class, header, size_bytes: 1_500, kind: PacketKind::Data, ..Packet::default() }
}

fn pause(class: u8) -> LinkMessage {
    LinkMessage::Pause { class, quanta: LinkMessage::UNTIL_RESUMED, origin: PauseOrigin::default() }
}

fn resume(class: u8) -> LinkMessage {
    LinkMessage::Pause { class, quanta: 0, origin: PauseOrigin::default() }
}

/// The classes of all that may be sent, in order.
fn sent(port: &mut TestBuffer<u32>) -> Vec<u8> {
    let mut random = stream();
    std::iter::from_fn(|| port.is_ready().then(|| port.take(&mut random)).flatten())
        .map(|packet| packet.class)
        .collect()
}

#[test]
fn a_paused_class_waits_until_it_is_resumed_and_the_others_go() {
    for scheduler in [strict(), dwrr(&[1, 1, 1, 1], 0), dwrr(&[2, 5], 2)] {
        let mut port = port(scheduler);
        port.receive(pause(2));
        for class in [3, 2, 1, 2, 3] {
            port.put(packet(class, 0), 0, &mut stream());
        }
        assert!(port.keeps_back(2) && !port.keeps_back(1) && !port.keeps_back(3));
        let mut others = sent(&mut port);
        others.sort_unstable();
        assert_eq!(others, [1, 3, 3]);
        assert_eq!((port.queued().packets, port.is_ready()), (2, false));
        port.receive(resume(2));
        assert_eq!(sent(&mut port), [2, 2]);
    }
}

/// A queue that holds several classes waits for each of them, as a port without classes does.
#[test]
fn a_queue_waits_while_one_of_its_classes_is_paused() {
    let mut port = port(fifo());
    for class in [0, 3, 0] {
        port.put(packet(class, 0), 0, &mut stream());
    }
    port.receive(pause(3));
    port.receive(pause(5));
    port.receive(resume(3));
    assert!((0..8).all(|class| port.keeps_back(class)) && sent(&mut port).is_empty());
    port.receive(resume(5));
    assert_eq!(sent(&mut port), [0, 3, 0]);
}

/// PAUSE and RESUME go before all else, though all else is paused.
#[test]
fn frames_go_first() {
    let mut port = port(strict());
    port.put(packet(0, 0), 0, &mut stream());
    port.put(packet(3, 0), 0, &mut stream());
    (0..8).for_each(|class| port.receive(pause(class)));
    assert!(!port.is_ready());
    port.put(pause(6).packet(64), 0, &mut stream());
    assert_eq!((port.queued().packets, port.queued().bytes), (3, 3_064));
    assert!(port.is_ready());
    assert_eq!(port.take(&mut stream()).map(|first| first.kind), Some(PacketKind::Link));
    assert!(!port.is_ready());
}

/// Those that may send share by their weights meanwhile, and what was paused has saved nothing up.
#[test]
fn the_others_share_by_weight_and_nothing_is_saved_up() {
    let mut port = port(dwrr(&[1, 2, 4], 0));
    let mut random = stream();
    let refill = |port: &mut TestBuffer<u32>, class: u8| _ = port.put(packet(class, 0), 0, &mut stream());
    (0..60).for_each(|nth| refill(&mut port, nth % 3));
    let mut shares = |port: &mut TestBuffer<u32>, rounds: usize| {
        let mut sent = [0_usize; 3];
        for _ in 0..rounds {
            let taken = port.take(&mut random).expect("some may always be sent");
            sent[usize::from(taken.class)] += 1;
            refill(port, taken.class);
        }
        sent
    };
    // In the middle of its turn, too.
    for rounds in [7_000, 7_003] {
        let before = shares(&mut port, rounds);
        assert!(before[0].abs_diff(1_000) <= 1 && before[2].abs_diff(4_000) <= 4, "{before:?}");
        port.receive(pause(2));
        let meanwhile = shares(&mut port, 3_000);
        assert!(meanwhile[0].abs_diff(1_000) <= 1 && meanwhile[2] == 0, "{meanwhile:?}");
        port.receive(resume(2));
        assert!(shares(&mut port, 7)[2] <= 4);
    }
}

/// The watchdog takes out what is of its class, in a queue of several, too, and the rest keeps its order.
#[test]
fn what_is_given_up_is_of_its_class() {
    let mut port = port(fifo());
    for (header, class) in (0..).zip([3, 4, 3, 4, 0]) {
        port.put(packet(class, header), 0, &mut stream());
    }
    port.receive(pause(3));
    let given_up: Vec<u32> = port.give_up(3, &mut stream()).iter().map(|one| one.header).collect();
    assert_eq!(given_up, [0, 2]);
    port.receive(resume(3));
    let left: Vec<u32> = std::iter::from_fn(|| port.take(&mut stream())).map(|one| one.header).collect();
    assert_eq!(left, [1, 3, 4]);
}

/// A pause that ends by itself: 100 quanta of 512 bit times, of which the port is told once that is over.
#[test]
fn a_pause_ends_once_its_time_is_over() {
    let mut port = port(strict());
    port.put(packet(3, 0), 0, &mut stream());
    let origin = PauseOrigin::default();
    port.receive(LinkMessage::Pause { class: 3, quanta: 100, origin });
    assert!(!port.is_ready());
    // Unplaced, its link has a bit a second.
    port.receive_at(Time::from_ns(1), LinkMessage::PauseOver { class: 3 });
    assert!(!port.is_ready());
    port.receive_at(Time::NEVER, LinkMessage::PauseOver { class: 3 });
    assert!(port.is_ready());
}

use super::*;
use crate::link_message::LinkMessage;
use crate::packet::{Kind as PacketKind, Packet};
use crate::queue::testing::TestBuffer;
use crate::queue::{Holds, Site};
use crate::random::{Purpose, Stream};
use crate::spec::Value;
use crate::units::Rate;

const RATE: Rate = Rate::from_gbps(100);

/// A port of a switch at 100 Gb/s, whose hop has a round trip of 1 us: 12 500 B.
struct Port {
    buffer: TestBuffer<()>,
    random: Stream,
    now: Time,
}

impl Port {
    fn new(entries: &[(&str, Value)]) -> Port {
        let text = |text: &str| Value::Text(text.to_owned());
        let defaults = [
            ("variant", text("paper")),
            ("queues", Value::Absent),
            ("flow_ids", Value::Count(7_200)),
            ("hop_rtt", Value::Time(Time::from_us(1))),
            ("pause_above", Value::Number(1.5)),
            ("keeps_queue", Value::Absent),
            ("quantum", Value::Bytes(1_000)),
            ("pause_frame", Value::Absent),
            ("pause_every", Value::Absent),
            ("buffer", Value::Absent),
        ];
        let all = defaults.iter().chain(entries).map(|(key, value)| ((*key).to_owned(), value.clone()));
        let values = Values { kind: "bfc".to_owned(), entries: all.collect() };
        let mut buffer = Buffer::build(&values);
        buffer.place(Site {
            is_switch: true,
            rate: RATE,
            host_rate: RATE,
            framing_bytes: 0,
            hop_rtt: Time::from_us(7),
            logs_pauses: false,
            far_links: None,
        });
        Port { buffer: TestBuffer::new(buffer), random: Stream::new(1, Purpose::Queue, 0), now: Time::ZERO }
    }

    fn put(&mut self, flow: u32, size_bytes: u16) {
        self.put_class(flow, size_bytes, 3);
    }

    fn put_class(&mut self, flow: u32, size_bytes: u16, class: u8) {
        let packet =
            Packet { time: self.now, flow, size_bytes, class, priority: 1_000 + flow, ..Packet::default() };
        self.buffer.put(packet, 0, &mut self.random);
    }

    fn take(&mut self) -> Option<Packet<()>> {
        self.buffer.take_at(self.now, &mut self.random).0
    }

    /// The flows of all that waits, in the order in which they leave.
    fn drain(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.take()).map(|packet| packet.flow).collect()
    }

    /// The queues that packets leave, by flow.
    fn queues(&mut self) -> Vec<(u32, u32)> {
        std::iter::from_fn(|| self.take()).map(|packet| (packet.flow, packet.priority)).collect()
    }

    /// Of which of the waiting packets, in order of flow, it was noted that they are one too many.
    fn counted(&self) -> Vec<u32> {
        let waiting = self.buffer.waiting();
        let mut flows: Vec<u32> = waiting
            .iter()
            .filter(|packet| packet.priority & COUNTED != 0)
            .map(|packet| packet.flow)
            .collect();
        flows.sort_unstable();
        flows
    }

    fn pause(&mut self, queue: u32, is_paused: bool) {
        self.buffer.receive(LinkMessage::Queue { queue, is_paused });
    }
}

fn ns3() -> (&'static str, Value) {
    ("variant", Value::Text("bfc-ns3".to_owned()))
}

#[test]
fn each_active_flow_has_the_next_empty_queue() {
    let mut port = Port::new(&[("queues", Value::Count(4)), ("keeps_queue", Value::Time(Time::ZERO))]);
    for flow in [10, 11, 12] {
        port.put(flow, 1_000);
    }
    assert_eq!(port.queues(), [(10, 0), (11, 1), (12, 2)]);
    // The flows are over, all queues are empty; the next in turn is 3, then it begins again.
    port.now = Time(1);
    for flow in [12, 11] {
        port.put(flow, 1_000);
    }
    let mut queues = port.queues();
    queues.sort_unstable();
    assert_eq!(queues, [(11, 0), (12, 3)]);
}

#[test]
fn a_flow_keeps_its_queue_for_a_while_and_a_paused_queue_is_given_to_nobody() {
    let mut port = Port::new(&[("queues", Value::Count(3))]);
    port.put(10, 1_000);
    assert_eq!(port.queues(), [(10, 0)]);
    // Three hop round trips of 1 us, not of the 7 us that the port would take for one.
    port.now = Time::from_us(3);
    port.put(10, 1_000);
    assert_eq!(port.queues(), [(10, 0)]);
    port.pause(1, true);
    port.now = Time::from_us(7);
    port.put(10, 1_000);
    assert_eq!(port.queues(), [(10, 2)], "after 0, which was given last, comes 1, which is paused");
}

#[test]
fn flows_without_an_empty_queue_share_one() {
    let mut port = Port::new(&[("queues", Value::Count(2))]);
    for flow in 0..6 {
        port.put(flow, 1_000);
    }
    let queues = port.queues();
    assert_eq!(queues.len(), 6);
    assert!(queues.iter().all(|(_, queue)| *queue < 2));
    assert_eq!([queues[0].0, queues[1].0], [0, 1], "those that came first have the queues");
}

#[test]
fn queues_take_turns_by_bytes() {
    let mut port = Port::new(&[]);
    for _ in 0..4 {
        port.put(1, 500);
    }
    for _ in 0..2 {
        port.put(2, 1_000);
    }
    // A quantum is 1000 B.
    assert_eq!(port.drain(), [1, 1, 2, 1, 1, 2]);
}

#[test]
fn in_the_authors_simulator_queues_take_turns_by_packets() {
    let mut port = Port::new(&[ns3()]);
    for _ in 0..3 {
        port.put(1, 500);
    }
    for _ in 0..2 {
        port.put(2, 1_000);
    }
    let flows = port.drain();
    assert!(flows == [1, 2, 1, 2, 1] || flows == [2, 1, 2, 1, 1], "{flows:?}");
}

#[test]
fn class_0_goes_first_and_is_never_one_too_many() {
    let mut port = Port::new(&[("pause_above", Value::Number(0.01))]);
    for _ in 0..3 {
        port.put(1, 1_000);
        port.put_class(2, 1_000, 0);
    }
    assert_eq!(port.counted(), [1, 1], "and not the first of the flow");
    assert_eq!(port.drain(), [2, 2, 2, 1, 1, 1]);
}

#[test]
fn a_queue_is_too_long_above_its_share_of_one_and_a_half_hop_round_trips() {
    // 1.5 us at 100 Gb/s are 18 750 B.
    let mut port = Port::new(&[]);
    (0..18).for_each(|_| port.put(1, 1_000));
    assert_eq!(port.counted(), [0; 0], "18 000 B wait");
    port.put(1, 750);
    assert_eq!(port.counted(), [0; 0], "18 750 B are not above");
    port.put(1, 64);
    assert_eq!(port.counted(), [1]);
    // With two active queues half as much is.
    (0..9).for_each(|_| port.put(2, 1_000));
    assert_eq!(port.counted(), [1]);
    port.put(2, 1_000);
    assert_eq!(port.counted(), [1, 2]);
    // A paused queue is not active.
    port.pause(0, true);
    port.put(2, 1_000);
    assert_eq!(port.counted(), [1, 2], "11 000 B of 18 750 B");
}

#[test]
fn packets_carry_the_queue_that_they_left() {
    let mut port = Port::new(&[("pause_above", Value::Number(0.01))]);
    port.put(5, 1_000);
    port.put(5, 1_000);
    assert_eq!(port.counted(), [5]);
    for _ in 0..2 {
        assert_eq!(
            port.take().map(|packet| packet.priority),
            Some(0),
            "neither flow nor mark are left of it"
        );
    }
}

#[test]
fn a_paused_queue_waits_and_the_others_go_on() {
    let mut port = Port::new(&[]);
    for flow in [1, 2, 1, 2] {
        port.put(flow, 1_000);
    }
    port.pause(0, true);
    assert_eq!(port.drain(), [2, 2]);
    assert!(!port.buffer.is_ready() && port.buffer.queued().packets == 2);
    port.put(1, 1_000);
    assert!(!port.buffer.is_ready(), "it joins the others of its flow");
    port.pause(0, false);
    assert!(port.buffer.is_ready());
    assert_eq!(port.drain(), [1, 1, 1]);
}

#[test]
fn in_the_authors_simulator_the_only_packet_of_a_flow_is_never_one_too_many() {
    let entries = [("queues", Value::Count(1)), ("pause_above", Value::Number(0.01))];
    let counted = |more: &[(&'static str, Value)]| {
        let mut port = Port::new(&[&entries[..], more].concat());
        [1, 2, 2].into_iter().for_each(|flow| port.put(flow, 1_000));
        port.counted()
    };
    assert_eq!(counted(&[ns3()]), [2]);
    assert_eq!(counted(&[]), [2, 2]);
}

#[test]
fn what_is_not_data_is_never_one_too_many() {
    let mut port = Port::new(&[("pause_above", Value::Number(0.01))]);
    for _ in 0..3 {
        let ack = Packet { flow: 1, size_bytes: 64, class: 3, kind: PacketKind::Ack, ..Packet::default() };
        port.buffer.put(ack, 0, &mut port.random);
    }
    assert_eq!(port.counted(), [0; 0]);
    assert_eq!(port.drain(), [1, 1, 1]);
}

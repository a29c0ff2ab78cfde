//! ConWeave (SIGCOMM 2023): the switch of the sender probes a flow's path each round trip and moves the flow away
//! if no answer comes in time; the switch of the receiver keeps what overtakes until the last packet by the old
//! path has come.

mod receiver;
mod sender;

use super::super::{Chooser, Routing, ns3, plain_ecmp};
use super::{Actions, Balancer, Count, EdgePaths, Home, Look, Notice, Pass, Passing, Signal, Tag, Ways};
use crate::flow::HostId;
use crate::narrow::exact;
use crate::packet::Kind as PacketKind;
use crate::packets::PacketId;
use crate::spec::{Complaint, Component, Kind, Registered, Values, param};
use crate::topology::Topology;
use crate::units::{ByteTime, Time};
use receiver::Receiver;
use sender::Sender;
use std::collections::BTreeMap;

/// The routing.
pub const ROUTING: Registered<Routing> = Registered {
    component: Component {
        section: "routing",
        kind: "conweave",
        doc: "ConWeave: the switch of the sender probes the path of each flow of data every round trip, and moves the flow to another if no answer comes in time. The switch of the receiver puts packets back into order. Other packets take per-flow ECMP.",
        source: "ConWeave, SIGCOMM 2023, §3; its ns-3 simulator, conweave-routing.cc",
        params: &[
            &[
                param! {
                    "base_rtt": Kind::Time,
                    "A probe's round trip between the switches of two hosts on an empty network. Left out: computed from the links of the path, there for the size of the packet that is the probe, and back for that of the answer.",
                    "packetloom; ConWeave's ns-3 simulator: 1 us for each link there and back, its delay alone"
                },
                param! {
                    "reply_extra" = "4us": Kind::Time,
                    "If a probe's answer is this much later than after base_rtt, the flow moves.",
                    "ConWeave's ns-3 simulator: 4 us (theta_reply)"
                },
                param! {
                    "path_pause" = "16us": Kind::Time,
                    "No flow moves to a path for this long after a packet was marked on it.",
                    "ConWeave's ns-3 simulator: 16 us in its leaf-spine"
                },
                param! {
                    "flush_extra" = "16us": Kind::Time,
                    "Held packets are released this much later than the last packet by the old path is expected.",
                    "ConWeave's ns-3 simulator: 16 us in its leaf-spine, 64 us in its fat-tree"
                },
                param! {
                    "flush_default" = "200us": Kind::Time,
                    "For how long packets are kept at first where nothing is known of the old path.",
                    "ConWeave's ns-3 simulator: 200 us in its leaf-spine, 600 us in its fat-tree"
                },
                param! {
                    "expiry" = "300us": Kind::Time,
                    "A flow that is silent for longer may move at once (theta_inactive).",
                    "ConWeave's ns-3 simulator: 300 us in its leaf-spine, 1 ms in its fat-tree"
                },
                param! {
                    "notice" = "64B": Kind::Bytes,
                    "The size of an answer, or of a notice that a path is congested.",
                    "ConWeave's ns-3 simulator: 64 B"
                },
            ],
            ns3::PARAMS,
        ],
        check,
    },
    factory: Routing {
        balancer: Some(|values, home| Box::new(ConWeave::of(values, home))),
        chooses_paths: true,
        settable: &["reply_extra", "path_pause", "flush_extra", "flush_default", "expiry"],
        ..Routing::by_switches(Chooser::Balancer, plain_ecmp)
    },
};

fn check(values: &Values) -> Result<(), Complaint> {
    if !(1..=65_535).contains(&values.bytes("notice")) {
        return Err(Complaint::new("notice", "write a size from 1B to 65535B"));
    }
    for key in ["flush_extra", "flush_default"] {
        if values.time(key) == Time::ZERO {
            return Err(Complaint::new(key, "write a time, such as \"16us\""));
        }
    }
    Ok(())
}

/// What both ends go by.
#[derive(Clone, Copy, Debug)]
struct Settings {
    reply_extra: Time,
    path_pause: Time,
    flush_extra: Time,
    flush_default: Time,
    expiry: Time,
}

impl Settings {
    fn of(values: &Values) -> Settings {
        Settings {
            reply_extra: values.time("reply_extra"),
            path_pause: values.time("path_pause"),
            flush_extra: values.time("flush_extra"),
            flush_default: values.time("flush_default"),
            expiry: values.time("expiry"),
        }
    }

    /// The receiver's switch forgets a flow that is silent for longer.
    fn forgets_after(&self) -> Time {
        // ConWeave's simulator: 2 ms.
        self.expiry.max(Time::from_us(2_000))
    }
}

/// What a probe takes between the switches of two hosts, and its answer back, on an empty network.
#[derive(Clone, Debug)]
struct RoundTrip {
    /// Whatever the size of the probe.
    fixed: Time,
    /// What each link takes for a byte of the probe.
    links: Vec<ByteTime>,
}

impl RoundTrip {
    /// The delays of the links, and what they take to send the two: at 10 Gb/s the four links between two pods take
    /// longer for a full packet than `reply_extra`.
    fn between(topology: &Topology, (src, dst): (HostId, HostId), notice_bytes: u16) -> RoundTrip {
        let path = topology.path(src, dst);
        let between = path.get(1..path.len().saturating_sub(1)).unwrap_or(&[]);
        let links = || between.iter().map(|&link| &topology.links[link]);
        let byte_times = || links().map(|link| topology.byte_time(link.rate));
        let answer = |byte: ByteTime| byte.of(notice_bytes.into());
        let delays = links().map(|link| link.latency.times(2));
        RoundTrip {
            fixed: delays.chain(byte_times().map(answer)).fold(Time::ZERO, |sum, one| sum + one),
            links: byte_times().collect(),
        }
    }

    /// For a probe of so many bytes.
    fn of(&self, probe_bytes: u16) -> Time {
        self.links.iter().fold(self.fixed, |sum, byte| sum + byte.of(probe_bytes.into()))
    }
}

/// A switch's part.
struct ConWeave {
    paths: EdgePaths,
    sender: Sender,
    receiver: Receiver,
    /// Of the switch of each host here: how long a probe takes there and back.
    round_trips: BTreeMap<u32, RoundTrip>,
    notice_bytes: u16,
    /// How many packets were marked when they came.
    marked: u64,
}

impl ConWeave {
    fn of(values: &Values, home: Home<'_>) -> ConWeave {
        let settings = Settings::of(values);
        let paths = EdgePaths::of(&home);
        let notice_bytes = exact::<u16>(values.bytes("notice"));
        let given = values.optional_time("base_rtt");
        let round_trips = round_trips(&paths, home.topology, given, notice_bytes);
        ConWeave {
            paths,
            sender: Sender::new(settings, home.random),
            receiver: Receiver::new(settings),
            round_trips,
            notice_bytes,
            marked: 0,
        }
    }

    /// A packet comes to the switch of its receiver.
    fn arrive(&mut self, packet: &Passing, tag: &Tag, port: u32, actions: &mut Actions) -> Pass {
        let notice = |signal| Notice {
            flow: packet.flow,
            subflow: packet.subflow,
            src: packet.dst,
            dst: packet.src,
            tag: Tag { signal, ..*tag },
            size_bytes: self.notice_bytes,
        };
        match tag.signal {
            Signal::Probe => actions.notices.push(notice(Signal::ProbeReply)),
            Signal::Tail => actions.notices.push(notice(Signal::Clear)),
            _ => {}
        }
        if packet.is_marked {
            self.marked += 1;
            actions.notices.push(notice(Signal::Notify));
        }
        self.receiver.take(packet, tag, port, actions)
    }
}

/// For a switch with hosts, how long a probe takes to each other such switch and back.
fn round_trips(
    paths: &EdgePaths,
    topology: &Topology,
    given: Option<Time>,
    notice_bytes: u16,
) -> BTreeMap<u32, RoundTrip> {
    let Some(own) = (0..topology.hosts).find(|&host| paths.is_at(host)) else { return BTreeMap::new() };
    let mut round_trips = BTreeMap::new();
    for host in 0..topology.hosts {
        let takes = || match given {
            Some(fixed) => RoundTrip { fixed, links: Vec::new() },
            None => RoundTrip::between(topology, (own, host), notice_bytes),
        };
        round_trips.entry(paths.edge_of(host)).or_insert_with(takes);
    }
    round_trips
}

impl Balancer for ConWeave {
    fn pass(
        &mut self,
        packet: &Passing,
        tag: &mut Tag,
        ways: Ways<'_>,
        _: &mut dyn Look,
        actions: &mut Actions,
    ) -> Pass {
        if packet.kind == PacketKind::Notice && self.paths.is_at(packet.dst) {
            self.sender.receive_notice(packet, tag, self.paths.edge_of(packet.src));
            return Pass::Taken;
        }
        if packet.kind != PacketKind::Data || self.paths.is_local(packet) {
            return Pass::By(packet.ecmp);
        }
        if self.paths.is_at(packet.dst) {
            return self.arrive(packet, tag, ways.port(0), actions);
        }
        if self.paths.is_at(packet.src) {
            let round_trip = &self.round_trips[&self.paths.edge_of(packet.dst)];
            *tag = self.sender.send(packet, &mut self.paths, ways, round_trip);
        }
        Pass::By(self.paths.port(packet, tag.path, ways))
    }

    fn forget(&mut self, packet: &Passing) {
        self.receiver.drop_last(packet);
    }

    /// What is armed stays armed, as is what paths are paused for.
    fn set(&mut self, values: &Values) {
        let settings = Settings::of(values);
        self.sender.go_by(settings);
        self.receiver.go_by(settings);
    }

    fn next_at(&self) -> Time {
        self.receiver.next_at()
    }

    fn wake(&mut self, now: Time, actions: &mut Actions) {
        self.receiver.wake(now, actions);
    }

    fn held(&self) -> Vec<PacketId> {
        self.receiver.held()
    }

    fn counts(&self) -> Vec<(&'static str, Count)> {
        let notifies = ("conweave_notifies", Count::Sum(self.marked));
        self.sender.counts().into_iter().chain([notifies]).chain(self.receiver.counts()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Queues, passing};
    use super::*;
    use crate::random::{Purpose, Stream};
    use crate::spec::Value;

    /// The switches of hosts 0 to 3 and 4 to 7, numbers 8 and 9, below four spines.
    fn ends() -> [ConWeave; 2] {
        let topology =
            Topology::of_counts("leaf-spine", &[("spines", 4), ("leaves", 2), ("hosts_per_leaf", 4)]);
        let times = [
            ("base_rtt", 4),
            ("reply_extra", 4),
            ("path_pause", 16),
            ("flush_extra", 16),
            ("flush_default", 200),
            ("expiry", 300),
        ];
        let entries = times.map(|(key, us)| (key.to_owned(), Value::Time(Time::from_us(us))));
        let notice = ("notice".to_owned(), Value::Bytes(64));
        let entries = entries.into_iter().chain([notice]).collect();
        let values = Values { kind: "conweave".to_owned(), entries };
        [8, 9].map(|node| {
            let random = Stream::new(1, Purpose::Paths, node.into());
            ConWeave::of(
                &values,
                Home {
                    topology: &topology,
                    node,
                    random,
                    known_rates: &Vec::new(),
                    common: &None,
                    flow_ports: None,
                },
            )
        })
    }

    /// A packet of the second flow of its pair.
    fn data(now_us: u64) -> Passing {
        Passing { now: Time::from_us(now_us), subflow: 1, src: 0, dst: 5, ecmp: 4, ..passing(1) }
    }

    fn sent(near: &mut ConWeave, now_us: u64) -> Tag {
        let mut tag = Tag::default();
        let ways = Ways::Range(4, 4);
        let pass = near.pass(&data(now_us), &mut tag, ways, &mut Queues(&[]), &mut Actions::default());
        assert!(matches!(pass, Pass::By(4..8)), "{pass:?}");
        tag
    }

    fn comes(far: &mut ConWeave, packet: &Passing, mut tag: Tag) -> (Pass, Actions) {
        let mut actions = Actions::default();
        let pass = far.pass(packet, &mut tag, Ways::Range(1, 1), &mut Queues(&[]), &mut actions);
        (pass, actions)
    }

    fn receives(near: &mut ConWeave, now_us: u64, notice: Notice) {
        let Notice { flow, subflow, src, dst, mut tag, .. } = notice;
        let kind = PacketKind::Notice;
        let packet = Passing { now: Time::from_us(now_us), flow, subflow, src, dst, kind, ..passing(1) };
        let ways = Ways::Range(0, 1);
        let pass = near.pass(&packet, &mut tag, ways, &mut Queues(&[]), &mut Actions::default());
        assert_eq!(pass, Pass::Taken);
    }

    /// What both ends counted, by the part of the name after the scheme's, where it is not 0.
    fn counts(near: &ConWeave, far: &ConWeave) -> Vec<(&'static str, u64)> {
        let all = super::super::together(near.counts().into_iter().chain(far.counts()));
        let named = |(name, count): (&'static str, u64)| (name.trim_start_matches("conweave_"), count);
        all.into_iter().map(named).filter(|(_, count)| *count > 0).collect()
    }

    #[test]
    fn an_answer_in_time_begins_a_new_epoch() {
        let [mut near, mut far] = ends();
        let first = sent(&mut near, 0);
        assert_eq!((first.signal, first.epoch), (Signal::Probe, 1));
        assert_eq!(sent(&mut near, 1).signal, Signal::Nothing);
        let (pass, actions) = comes(&mut far, &data(2), first);
        assert_eq!((pass, actions.notices.len()), (Pass::By(1), 1));
        receives(&mut near, 4, actions.notices[0]);
        let next = sent(&mut near, 5);
        assert_eq!((next.signal, next.epoch, next.path), (Signal::Probe, 2, first.path));
        assert_eq!(counts(&near, &far), [("probes", 2), ("replies_in_time", 1)]);
    }

    #[test]
    fn a_late_answer_moves_the_flow_and_what_overtakes_waits_for_the_tail() {
        let [mut near, mut far] = ends();
        let first = sent(&mut near, 0);
        let tail = sent(&mut near, 9);
        assert_eq!((tail.signal, tail.path, tail.is_rerouted), (Signal::Tail, first.path, false));
        let (by_new, after) = (sent(&mut near, 10), sent(&mut near, 11));
        assert!(by_new.is_rerouted && by_new.signal == Signal::Nothing && after.tail_at == Time::from_us(9));
        assert_eq!(comes(&mut far, &data(12), first).0, Pass::By(1));
        assert_eq!(comes(&mut far, &data(13), by_new).0, Pass::Held);
        assert_eq!(comes(&mut far, &data(14), after).0, Pass::Held);
        // The first came at 12, and the tail was sent 9 us after it: that would come at 21, and 16 more.
        assert_eq!(far.next_at(), Time::from_us(37));
        let (pass, actions) = comes(&mut far, &data(20), tail);
        assert_eq!((pass, actions.released.len()), (Pass::By(1), 2));
        assert_eq!(actions.notices[0].tag.signal, Signal::Clear);
        assert_eq!(comes(&mut far, &data(21), sent(&mut near, 12)).0, Pass::By(1));
        receives(&mut near, 22, actions.notices[0]);
        assert_eq!(sent(&mut near, 23).signal, Signal::Probe);
        let expected = [
            ("flushes", 1),
            ("held_packets", 2),
            ("max_held_bytes", 2_000),
            ("max_queues", 1),
            ("probes", 2),
            ("reroutes", 1),
            ("tails", 1),
        ];
        assert_eq!(counts(&near, &far), expected);
    }

    #[test]
    fn what_waits_is_released_when_the_tail_does_not_come() {
        let [mut near, mut far] = ends();
        comes(&mut far, &data(2), sent(&mut near, 0));
        sent(&mut near, 9);
        assert_eq!(comes(&mut far, &data(12), sent(&mut near, 10)).0, Pass::Held);
        let mut actions = Actions::default();
        far.wake(far.next_at(), &mut actions);
        assert_eq!((actions.released.len(), far.held().len()), (1, 0));
        let counted = counts(&near, &far);
        assert!(counted.contains(&("flushes", 1)) && counted.contains(&("forced_flushes", 1)), "{counted:?}");
    }

    #[test]
    fn the_largest_reorder_queues_are_those_that_were_there_at_once() {
        let [mut near, mut far] = ends();
        let of = |flow: u32, now_us: u64| Passing { flow, ..data(now_us) };
        let mut send = |flow: u32, now_us: u64| {
            let (mut tag, mut actions) = (Tag::default(), Actions::default());
            near.pass(&of(flow, now_us), &mut tag, Ways::Range(4, 4), &mut Queues(&[]), &mut actions);
            tag
        };
        let firsts = [1, 2].map(|flow| send(flow, 0));
        let tails = [1, 2].map(|flow| send(flow, 9));
        let others = [1, 2].map(|flow| send(flow, 10));
        for (flow, first) in [1, 2].into_iter().zip(firsts) {
            assert_eq!(comes(&mut far, &of(flow, 12), first).0, Pass::By(1));
        }
        for (flow, other) in [1, 2].into_iter().zip(others) {
            assert_eq!(comes(&mut far, &of(flow, 13), other).0, Pass::Held);
        }
        // What does not fit into the buffer waits no more, and counts no more.
        assert_eq!(comes(&mut far, &of(2, 14), others[1]).0, Pass::Held);
        far.forget(&of(2, 14));
        for (flow, tail) in [1, 2].into_iter().zip(tails) {
            assert_eq!(comes(&mut far, &of(flow, 15), tail).1.released.len(), 1);
        }
        let counted = counts(&near, &far);
        let expected = [("flushes", 2), ("held_packets", 2), ("max_held_bytes", 3_000), ("max_queues", 2)];
        assert!(expected.iter().all(|one| counted.contains(one)), "{counted:?}");
    }

    #[test]
    fn a_silent_flow_begins_on_a_path_without_marks() {
        let [mut near, mut far] = ends();
        let again = |nth: u64| {
            let tag = sent(&mut near, 1_000 * nth);
            let marked = Passing { is_marked: true, ..data(1_000 * nth + 2) };
            let (_, actions) = comes(&mut far, &marked, tag);
            let notify = actions.notices.into_iter().find(|notice| notice.tag.signal == Signal::Notify);
            receives(&mut near, 1_000 * nth + 400, notify.expect("a marked packet"));
            sent(&mut near, 1_000 * nth + 410).path == tag.path
        };
        // It stays only where both draws are its path: one time in 16. 400 times that is 25, and five deviations 24.
        let stayed = (0..400).map(again).filter(|&stays| stays).count();
        assert!((1..49).contains(&stayed), "{stayed}");
    }
}

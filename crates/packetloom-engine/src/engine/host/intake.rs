//! A host that takes packets more slowly than its link brings them (`fault::SlowHost`): they wait in its NIC's
//! buffer, which is shared out as a switch's is, so that what waits too long pauses the link.

use super::services::{Due, Service, Turned};
use super::{Around, Starting};
use crate::engine::switch::PauseSettings;
use crate::fault::Slow;
use crate::link_message::{LinkMessage, PauseOrigin};
use crate::narrow::narrow;
use crate::packet::Packet;
use crate::packets::{PacketId, Packets};
use crate::queue::{CLASSES, Memory, Signals, departure};
use crate::units::{Rate, Time};
use std::collections::VecDeque;

/// The NIC's buffer, and when its packets are taken.
pub(in crate::engine) struct Intake {
    memory: Memory,
    settings: PauseSettings,
    /// When the host is slow, and how long a byte takes it then.
    slow: Vec<Slow>,
    /// What waits, in the order in which it came.
    waiting: VecDeque<PacketId>,
    waiting_bytes: [u64; CLASSES],
    /// When the first of these is taken.
    takes_at: Time,
    /// Pauses that end soon, which are said again while the class has too much: when, of which link and class. Of each
    /// class of a link there is the last one.
    ends: Vec<(Time, u32, u8)>,
    /// Of each link into the host: its rate, and the link back, in the topology.
    links: Vec<(Rate, u32)>,
}

/// What becomes of a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrived {
    /// The host takes it at once.
    Passes,
    /// It waits; this goes to the link.
    Waits(Signals),
    /// There is no room for it.
    Dropped,
}

impl Intake {
    /// An empty buffer.
    pub(in crate::engine) fn new(
        memory: Memory,
        settings: PauseSettings,
        slow: Vec<Slow>,
        links: Vec<(Rate, u32)>,
    ) -> Intake {
        Intake {
            memory,
            settings,
            slow,
            waiting: VecDeque::new(),
            waiting_bytes: [0; CLASSES],
            takes_at: Time::NEVER,
            ends: Vec::new(),
            links,
        }
    }

    /// When the host is slow yet comes sooner.
    pub(super) fn shift_earlier(&mut self, now: Time, by: Time) {
        self.slow.iter_mut().for_each(|slow| slow.shift_earlier(now, by));
    }

    pub(in crate::engine) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// What waits, in the order in which it came.
    pub(in crate::engine) fn waiting(&self) -> impl Iterator<Item = PacketId> {
        self.waiting.iter().copied()
    }

    /// How long the host takes for a packet that it begins with now.
    fn takes(&self, now: Time, size_bytes: u16) -> Time {
        let slow = self.slow.iter().filter(|slow| (slow.from..slow.until).contains(&now));
        slow.map(|slow| slow.byte_time.of(size_bytes.into())).max().unwrap_or(Time::ZERO)
    }

    /// A packet came by a link. What is not charged to a buffer passes what waits, as acknowledgements in the
    /// control class do.
    pub(super) fn arrive<H: Copy + Default>(
        &mut self,
        now: Time,
        link: u32,
        id: PacketId,
        packets: &mut Packets<H>,
    ) -> Arrived {
        packets.set_ingress(id, link);
        let Some(arriving) = departure(id, packets) else { return Arrived::Passes };
        let takes = self.takes(now, arriving.bytes);
        if self.waiting.is_empty() && takes == Time::ZERO {
            return Arrived::Passes;
        }
        let of_class = &mut self.waiting_bytes[usize::from(arriving.class)];
        let (has_room, signals) = self.memory.arrive((link, 0), arriving.class, arriving.bytes, *of_class);
        if !has_room {
            return Arrived::Dropped;
        }
        *of_class += u64::from(arriving.bytes);
        if self.waiting.is_empty() {
            self.takes_at = now + takes;
        }
        self.waiting.push_back(id);
        Arrived::Waits(signals)
    }

    /// The host takes the packet that waited longest, if its time has come. Returns it with the link that it came
    /// by, and what to send to it.
    pub(super) fn take<H: Copy + Default>(
        &mut self,
        now: Time,
        packets: &Packets<H>,
    ) -> Option<(PacketId, u32, Signals)> {
        if self.takes_at > now {
            return None;
        }
        let id = self.waiting.pop_front()?;
        let left = departure(id, packets)?;
        self.waiting_bytes[usize::from(left.class)] -= u64::from(left.bytes);
        let next = self.waiting.front().map(|next| packets.get(*next).size_bytes);
        self.takes_at = next.map_or(Time::NEVER, |size_bytes| now + self.takes(now, size_bytes));
        Some((id, left.from, self.memory.leave((left.from, 0), left.class, left.bytes)))
    }

    /// The next of the pauses that would end soon and must not, with its link.
    pub(super) fn prolong(&mut self, now: Time) -> Option<(u32, Signals)> {
        while let Some(place) = self.ends.iter().position(|(at, ..)| *at <= now) {
            let (_, link, class) = self.ends.remove(place);
            if self.memory.paused(link) >> class & 1 == 1 {
                return Some((link, Signals { pause: 1 << class, resume: 0 }));
            }
        }
        None
    }

    /// The frames that say so to a link. A host passes no pause on: what it asks for began with it.
    pub(super) fn frames<H: Copy + Default>(
        &mut self,
        now: Time,
        link: u32,
        signals: Signals,
        mut say: impl FnMut(Packet<H>),
    ) {
        let (rate, back) = self.links[link as usize];
        for class in
            (0..narrow::<u8>(CLASSES)).filter(|class| (signals.pause | signals.resume) >> class & 1 == 1)
        {
            let quanta = if signals.pause >> class & 1 == 1 { self.settings.quanta(rate) } else { 0 };
            let message =
                LinkMessage::Pause { class, quanta, origin: PauseOrigin { link: back, passed_on: 0 } };
            say(Packet { time: now, ..message.packet(self.settings.frame_bytes) });
            if let Some(in_time) = self.settings.say_again_after(message, rate) {
                self.ends.retain(|&(_, of_link, of_class)| (of_link, of_class) != (link, class));
                self.ends.push((now + in_time, link, class));
            }
        }
    }
}

impl Due for Intake {
    fn next_at(&self) -> Time {
        self.ends.iter().map(|(at, ..)| *at).fold(self.takes_at, Time::min)
    }
}

impl<H: Copy + Default, A> Service<H, A> for Intake {
    /// Pauses once more, or takes what has waited until now.
    fn turn(&mut self, now: Time, _: u32, _: &mut Starting, around: &mut Around<'_, H, A>) -> Turned {
        if let Some((link, signals)) = self.prolong(now) {
            around.tally.events += 1;
            return Turned::Pauses(link, signals, None);
        }
        match self.take(now, &around.link_table.packets) {
            Some((id, link, signals)) => Turned::Pauses(link, signals, Some(id)),
            None => Turned::Done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Kind;
    use crate::queue::Specification;
    use crate::spec::{Value, Values};
    use crate::units::ByteTime;

    const LINK: Rate = Rate::from_gbps(100);
    const SHARED: u64 = 90_000;
    const RESERVE: u64 = 4_096;
    const HEADROOM: u64 = 40_000;

    /// A host that takes 8 Gb/s, a byte in a nanosecond, from 1 us to 100 us.
    fn intake(pause_time: Value) -> Intake {
        let absent = [
            "reserve",
            "alpha",
            "alpha_by_rate",
            "pause_above",
            "egress_alpha",
            "resume_offset",
            "headroom",
            "watchdog",
            "ecn_min",
            "ecn_max",
        ];
        let entries = absent.map(|key| (key, Value::Absent)).into_iter().chain([
            ("mmu", Value::Text("hpcc-ns3".to_owned())),
            ("buffer", Value::Bytes(SHARED + RESERVE + HEADROOM)),
            ("lossless", Value::List(vec![Value::Count(3)])),
            ("pause_frame", Value::Bytes(64)),
            ("pause_time", pause_time),
            ("pause_repeats", Value::Text("in-time".to_owned())),
            ("egress_limits", Value::Text("lossy".to_owned())),
            ("unsafe_headroom", Value::Flag(false)),
            ("ties", Value::Text("rotate".to_owned())),
        ]);
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).collect();
        let nic = Specification::of(&Values { kind: "shared-buffer".to_owned(), entries });
        let pfc = nic.pfc.expect("it pauses");
        let settings = PauseSettings::of(&pfc.pauses);
        let memory = Memory::build(&pfc, &[(LINK, HEADROOM)], LINK);
        let byte_time = ByteTime::at(Rate::from_gbps(8));
        let slow = Slow { from: Time::from_us(1), until: Time::from_us(100), byte_time };
        Intake::new(memory, settings, vec![slow], vec![(LINK, 7)])
    }

    fn packet(packets: &mut Packets<u64>, class: u8, kind: Kind) -> PacketId {
        packets.add(Packet { size_bytes: 1_000, class, kind, ..Packet::default() })
    }

    fn data(packets: &mut Packets<u64>) -> PacketId {
        packet(packets, 3, Kind::Data)
    }

    #[test]
    fn packets_are_taken_one_after_the_other_while_the_host_is_slow_and_at_once_before_and_after() {
        let (mut intake, mut packets) = (intake(Value::Absent), Packets::default());
        let id = data(&mut packets);
        assert_eq!(intake.arrive(Time::from_ns(999), 0, id, &mut packets), Arrived::Passes);
        let ids = [(); 3].map(|()| data(&mut packets));
        for (id, at) in ids.into_iter().zip([97_500, 97_600, 99_000]) {
            let arrived = intake.arrive(Time::from_ns(at), 0, id, &mut packets);
            assert_eq!(arrived, Arrived::Waits(Signals::default()));
        }
        // An acknowledgement in the control class does not wait behind them.
        let ack = packet(&mut packets, 0, Kind::Ack);
        assert_eq!(intake.arrive(Time::from_ns(99_100), 0, ack, &mut packets), Arrived::Passes);
        let mut taken = Vec::new();
        while intake.next_at() != Time::NEVER {
            let now = intake.next_at();
            let (id, link, _) = intake.take(now, &packets).expect("its time has come");
            assert_eq!(link, 0);
            taken.push((id, now));
        }
        // Each begins with the end of the one before, the last before the host is as fast as ever.
        let at = [98_500, 99_500, 100_500].map(Time::from_ns);
        assert_eq!(taken, [(ids[0], at[0]), (ids[1], at[1]), (ids[2], at[2])]);
        let late = data(&mut packets);
        assert_eq!(intake.arrive(Time::from_us(101), 0, late, &mut packets), Arrived::Passes);
    }

    #[test]
    fn what_waits_when_the_host_is_fast_again_is_taken_at_once() {
        let (mut intake, mut packets) = (intake(Value::Absent), Packets::default());
        for at in [99_900, 99_910, 99_920] {
            let id = data(&mut packets);
            intake.arrive(Time::from_ns(at), 0, id, &mut packets);
        }
        let takes = [(); 3].map(|()| {
            let now = intake.next_at();
            intake.take(now, &packets).map(|_| now)
        });
        assert_eq!(takes, [Some(Time::from_ns(100_900)); 3]);
    }

    /// Fills the NIC until it pauses; returns how many packets that took.
    fn fill(intake: &mut Intake, packets: &mut Packets<u64>) -> u64 {
        (1..1_000)
            .find(|_| {
                let id = data(packets);
                let Arrived::Waits(signals) = intake.arrive(Time::from_us(2), 0, id, packets) else {
                    panic!("there is room")
                };
                signals.pause == 1 << 3
            })
            .expect("it pauses")
    }

    #[test]
    fn the_link_is_paused_at_a_ninth_of_what_is_shared_and_resumed_once_it_has_less() {
        let (mut intake, mut packets) = (intake(Value::Absent), Packets::default());
        // x = (90000 - x) / 8 with x what there is beyond the reserve: 10000, so 15 packets.
        assert_eq!(fill(&mut intake, &mut packets), (SHARED / 9 + RESERVE).div_ceil(1_000));
        let mut said = Vec::new();
        intake.frames(Time::from_us(2), 0, Signals { pause: 1 << 3, resume: 0 }, |frame: Packet<u64>| {
            said.push((frame.size_bytes, LinkMessage::of(&frame)));
        });
        let origin = PauseOrigin { link: 7, passed_on: 0 };
        let pause = LinkMessage::Pause { class: 3, quanta: LinkMessage::UNTIL_RESUMED, origin };
        assert_eq!(said, [(64, Some(pause))]);
        let resumed = (1..15).find(|_| {
            let now = intake.next_at();
            intake.take(now, &packets).is_some_and(|(_, _, signals)| signals.resume == 1 << 3)
        });
        // 3072 B below what pauses it then: of 11 packets 6904 B are beyond the reserve, and an eighth of the rest
        // is 10387 B.
        assert_eq!(resumed, Some(4));
    }

    #[test]
    fn a_pause_that_ends_is_said_again_while_the_nic_has_too_much() {
        let (mut intake, mut packets) = (intake(Value::Time(Time::from_us(10))), Packets::default());
        fill(&mut intake, &mut packets);
        let signals = Signals { pause: 1 << 3, resume: 0 };
        intake.frames(Time::from_us(2), 0, signals, |_: Packet<u64>| ());
        // 10 us are 1954 quanta, 10.00448 us; the longest frame takes 0.73888 us.
        assert_eq!(intake.ends, [(Time(2_000_000 + 10_004_480 - 738_880), 0, 3)]);
        let at = intake.ends[0].0;
        assert_eq!(intake.prolong(Time(at.as_ps() - 1)), None);
        assert_eq!(intake.prolong(at), Some((0, signals)));
        assert_eq!(intake.prolong(at), None);
        // Of two pauses of a class only the later is said again.
        for us in [12, 15] {
            intake.frames(Time::from_us(us), 0, signals, |_: Packet<u64>| ());
        }
        assert_eq!(intake.ends, [(Time(15_000_000 + 10_004_480 - 738_880), 0, 3)]);
    }

    #[test]
    fn what_finds_no_room_is_dropped() {
        let (mut intake, mut packets) = (intake(Value::Absent), Packets::default());
        let arrived = (0..1_000).map(|_| {
            let id = packet(&mut packets, 1, Kind::Data);
            intake.arrive(Time::from_us(2), 0, id, &mut packets)
        });
        // A class that is not paused has its share and nothing else.
        assert_eq!(arrived.filter(|arrived| *arrived != Arrived::Dropped).count(), 14);
        assert_eq!(intake.memory().lossless_drops(), 0);
    }
}

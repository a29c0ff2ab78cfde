//! ExpressPass's port (Cho, Jang and Han, SIGCOMM 2017, §3.1): credits pass at the rate at which the data that they call for
//! fits the link back, and what comes beyond that is dropped here, instead of data on the way back.
//!
//! Two lines, first in, first out. A credit that finds too many before it is dropped. When the link is free, the first
//! credit goes before all data if the token bucket holds its size; otherwise data goes; if there is none, the link waits
//! until the bucket does (`engine/port/timed.rs`).
//!
//! With Aeolus (SIGCOMM 2020), data that no credit called for is dropped once more than a threshold of data waits, at switches.
//!
//! Tokens are here an instant: that at which the bucket would have been empty, had it filled at its rate since. The
//! authors' ns-2 (kaist-ina/ns2-xpass, queue/xpass-drop-tail.cc) counts whole bytes, which is the same within a byte's time.

use super::admission::{CAPACITY, Limit};
use super::list::List;
use super::specification::{Bound, Making, Room, Threshold};
use super::{Buffer, Built, Env, Holds, Joined, Occupancy, Opening, Site, Specification, Traits};
use crate::narrow::narrow;
use crate::packet::Kind as PacketKind;
use crate::packets::{PacketId, Packets};
use crate::spec::{Complaint, Component, Fallback, Kind, Param, Registered, Values, param};
use crate::units::{Rate, Time};

const COMPONENT: Component = Component {
    section: "queue",
    kind: "credit-limiter",
    doc: "ExpressPass's port: credits have a line of their own, and pass at the rate at which the data for them fits the link back; one that comes while too many wait is dropped. A credit goes before all data once the token bucket holds its size, and until then the link is free for data. Hosts need it as well as switches.",
    source: "ExpressPass (SIGCOMM 2017) §3.1; the authors' ns-2 (kaist-ina/ns2-xpass, queue/xpass-drop-tail.cc)",
    params: &[&[
        param! {
            "credit" = "46B": Kind::Bytes,
            "The mean size of a credit, without what links add to it; the transport's ack.",
            "the authors' ns-2: 84 B with preamble and gap, which are 38 B"
        },
        param! {
            "data" = "1500B": Kind::Bytes,
            "The size of the packet that a credit calls for, without what links add to it. Credits get credit / (credit + data) of the link, both with what it adds: 5.18 %.",
            "the authors' ns-2: 1538 B with preamble and gap"
        },
        param! {
            "credits" = "8": Kind::Count(1),
            "How many credits of the mean size may wait.",
            "the authors' ns-2: creditBuffer, 84 B x 8 (large-scale-fattree.tcl); its class has 10"
        },
        param! {
            "bucket" = "2": Kind::Count(1),
            "How many credits of the mean size may pass at once after a pause: the depth of the token bucket.",
            "the authors' ns-2: maxCreditBurst, 84 B x 2 (large-scale-fattree.tcl); its class has 10"
        },
        Param {
            default: Fallback::Value("250 packets"),
            doc: "How much data may wait, without the packet in service, in bytes or packets; all but credits counts as data.",
            source: "the authors' ns-2: 250 packets a switch's port, 1000 a host's (large-scale-fattree.tcl); its class has 100",
            ..CAPACITY
        },
        param! {
            "drop_unscheduled_above": Kind::Buffer,
            "Aeolus: at switches, data that goes without a credit is dropped when more data than this waits before it. Left out: none is dropped before the rest.",
            "Aeolus (SIGCOMM 2020), from memory: 6 KB, 4 packets, at 10 Gb/s, as RED drops what is not ECN-capable; hosts drop nothing: packetloom"
        },
    ]],
    check,
};

/// The queue.
pub const QUEUE: Registered<Making> = Registered { component: COMPONENT, factory: Making::new(read) };

fn read(values: &Values) -> Specification {
    let limiter = CreditLimiter::read(values);
    let (capacity, unscheduled) = (limiter.capacity, limiter.unscheduled);
    // What credits can take of the line, without what links add: none is larger than two of the mean size.
    let credits = Bound::bytes(2 * limiter.most_credits * limiter.sizes.credit_bytes);
    let threshold = Threshold::dropping("drop_unscheduled_above", unscheduled);
    Specification {
        bounds: Bound::of(capacity).map(|data| data.and(credits)).into_iter().collect(),
        rooms: vec![Room::new("capacity", capacity, vec![threshold])],
        // How many credits wait decides which are lost.
        is_sized_by_design: true,
        limits_credits: Some(limiter.sizes),
        drops_unscheduled: unscheduled != Limit::None,
        // Of credits, for which there would be room among data.
        traits: Traits { drops_early: true, ..Traits::NONE },
        ..Specification::new(values, Built::Held(Buffer::CreditLimiter(Box::new(limiter))))
    }
}

fn check(values: &Values) -> Result<(), Complaint> {
    for key in ["credit", "data"] {
        if !(1..=65_535).contains(&values.bytes(key)) {
            return Err(Complaint::new(key, "write a size from 1B to 65535B"));
        }
    }
    for key in ["credits", "bucket"] {
        if values.count(key) > MOST_CREDITS {
            return Err(Complaint::new(key, format!("write {MOST_CREDITS} at most")));
        }
    }
    Ok(())
}

/// More than any port has room for.
const MOST_CREDITS: u64 = 1 << 16;

/// The packets that it is made for, without what links add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    credit_bytes: u64,
    data_bytes: u64,
}

impl Sizes {
    /// What is said where the transport's are others.
    pub fn differ(&self, credit_bytes: u64, data_bytes: u64) -> Option<String> {
        let Sizes { credit_bytes: credit, data_bytes: data } = self;
        ((*credit, *data) != (credit_bytes, data_bytes)).then(|| {
            format!(
                "credits are let through for packets of {data} B, a credit having {credit} B, and the transport's have {data_bytes} B and {credit_bytes} B; write credit = \"{credit_bytes}B\", data = \"{data_bytes}B\""
            )
        })
    }
}

/// The rate of credits, in bytes a second, for which the data fits a link; both sizes are those on the wire.
pub fn credit_rate(rate: Rate, credit_bytes: u64, data_bytes: u64) -> u64 {
    let bits = u128::from(rate.as_bps()) * u128::from(credit_bytes);
    narrow::<u64>(bits / (8 * u128::from(credit_bytes + data_bytes))).max(1)
}

/// A port's packets.
#[derive(Clone, Debug)]
pub struct CreditLimiter {
    credits: List,
    data: List,
    sizes: Sizes,
    most_credits: u64,
    bucket: u64,
    capacity: Limit,
    /// More data than this may wait only of what credits called for.
    unscheduled: Limit,
    framing_bytes: u64,
    /// In bytes a second.
    rate: u64,
    /// When the bucket would have been empty, had it filled ever since.
    empty_at: Time,
    /// Whether credits wait for their time, no data waits, and the link is free.
    is_idle: bool,
}

impl CreditLimiter {
    /// An empty port, to be placed.
    fn read(values: &Values) -> CreditLimiter {
        CreditLimiter {
            credits: List::default(),
            data: List::default(),
            sizes: Sizes { credit_bytes: values.bytes("credit"), data_bytes: values.bytes("data") },
            most_credits: values.count("credits"),
            bucket: values.count("bucket"),
            capacity: Limit::of(values.get("capacity")),
            unscheduled: Limit::of(values.get("drop_unscheduled_above")),
            framing_bytes: 0,
            rate: u64::MAX,
            empty_at: Time::ZERO,
            is_idle: false,
        }
    }

    /// A credit of the mean size on the wire.
    fn mean_bytes(&self) -> u64 {
        self.sizes.credit_bytes + self.framing_bytes
    }

    /// How long the bucket takes to fill by so much.
    #[inline]
    fn fills_in(&self, bytes: u64) -> Time {
        // A second has 10^12 ps, and a full bucket fewer than 2^33 bytes.
        let ps = u128::from(bytes) * 1_000_000_000_000 / u128::from(self.rate);
        Time(narrow::<u64>(ps.min(u128::from(Time::LATEST.as_ps()))))
    }

    /// When the bucket holds enough for a credit. One that is larger than the bucket waits until that is full.
    #[inline]
    fn holds_at(&self, size_bytes: u16) -> Time {
        let size = u64::from(size_bytes) + self.framing_bytes;
        self.empty_at + self.fills_in(size.min(self.bucket * self.mean_bytes()))
    }

    /// Takes a credit's tokens out of the bucket.
    #[inline]
    fn spend(&mut self, size_bytes: u16, now: Time) {
        let full = Time(now.as_ps().saturating_sub(self.fills_in(self.bucket * self.mean_bytes()).as_ps()));
        let size = u64::from(size_bytes) + self.framing_bytes;
        self.empty_at = self.empty_at.max(full) + self.fills_in(size);
    }

    #[inline]
    fn first_holds_at<H: Copy + Default>(&self, packets: &Packets<H>) -> Option<Time> {
        self.credits.first().map(|id| self.holds_at(packets.get(id).size_bytes))
    }

    /// Whether one more credit is too many.
    #[inline]
    fn is_full_for(&self, size_bytes: u16) -> bool {
        let Occupancy { bytes, packets } = self.credits.queued();
        let bytes = bytes + u64::from(size_bytes);
        let on_wire = bytes + (packets + 1) * self.framing_bytes;
        on_wire > self.most_credits * self.mean_bytes()
            || bytes > 2 * self.most_credits * self.sizes.credit_bytes
    }
}

impl Holds for CreditLimiter {
    fn put<H: Copy + Default>(&mut self, id: PacketId, _: Option<Opening>, env: &mut Env<'_, H>) -> Joined {
        let packet = env.packets.get(id);
        let (size_bytes, is_credit) = (packet.size_bytes, packet.kind == PacketKind::Credit);
        let waits = self.data.queued();
        let mut data = waits;
        data.add(size_bytes);
        let is_too_much = if is_credit {
            self.is_full_for(size_bytes)
        } else {
            self.capacity.exceeded_by(data)
                || (self.unscheduled.exceeded_by(waits) && packet.is_unscheduled())
        };
        if is_too_much {
            env.drop(id);
            return Joined::Dropped;
        }
        let line = if is_credit { &mut self.credits } else { &mut self.data };
        line.push_back(id, env.packets);
        Joined::Waits
    }

    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        self.is_idle = false;
        if self.first_holds_at(env.packets).is_some_and(|at| at <= env.now) {
            let id = self.credits.pop_front(env.packets)?;
            self.spend(env.packets.get(id).size_bytes, env.now);
            return Some(id);
        }
        self.data.pop_front(env.packets)
    }

    #[inline]
    fn prefetch<H: Copy + Default>(&self, packets: &Packets<H>) {
        self.credits.prefetch(packets);
        self.data.prefetch(packets);
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> impl Iterator<Item = PacketId> + 'a {
        self.credits.iter(packets).chain(self.data.iter(packets))
    }

    fn queued(&self) -> Occupancy {
        self.credits.queued() + self.data.queued()
    }

    // So that no credit that finds the link free passes without tokens.
    fn holds_back(&self) -> bool {
        true
    }

    fn is_timed(&self) -> bool {
        true
    }

    fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Data goes at once, and a credit for which there are tokens, which are spent then.
    fn lets_through(&mut self, kind: PacketKind, size_bytes: u16, now: Time) -> bool {
        if kind == PacketKind::Credit {
            if self.is_idle || self.holds_at(size_bytes) > now {
                return false;
            }
            self.spend(size_bytes, now);
        }
        self.is_idle = false;
        true
    }

    fn await_time<H: Copy + Default>(&mut self, packets: &Packets<H>) -> Time {
        self.is_idle = true;
        self.first_holds_at(packets).unwrap_or(Time::NEVER)
    }

    fn place(&mut self, site: Site) {
        if !site.is_switch {
            self.unscheduled = Limit::None;
        }
        self.framing_bytes = site.framing_bytes;
        self.rate = credit_rate(site.rate, self.mean_bytes(), self.sizes.data_bytes + self.framing_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Ecn, Packet};
    use crate::queue::testing::TestBuffer;
    use crate::random::{Purpose, Stream};
    use crate::spec::Value;

    /// At 10 Gb/s, with 38 B of framing, as the authors set it.
    fn limiter(credits: u64, bucket: u64) -> TestBuffer<u32> {
        limiter_at(true, (credits, bucket), Value::Absent)
    }

    fn limiter_at(is_switch: bool, (credits, bucket): (u64, u64), unscheduled: Value) -> TestBuffer<u32> {
        let (count, bytes) = (Value::Count, Value::Bytes);
        let entries = [
            ("credit", bytes(46)),
            ("data", bytes(1_500)),
            ("credits", count(credits)),
            ("bucket", count(bucket)),
            ("capacity", Value::Packets(3)),
            ("drop_unscheduled_above", unscheduled),
        ];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
        let mut buffer = Buffer::build(&Values { kind: "credit-limiter".to_owned(), entries });
        buffer.place(Site {
            is_switch,
            rate: Rate::from_gbps(10),
            host_rate: Rate::from_gbps(10),
            framing_bytes: 38,
            hop_rtt: Time::ZERO,
            logs_pauses: false,
            far_links: None,
        });
        TestBuffer::new(buffer)
    }

    fn stream() -> Stream {
        Stream::new(1, Purpose::Queue, 0)
    }

    fn credit(number: u32) -> Packet<u32> {
        Packet { kind: PacketKind::Credit, size_bytes: 46, header: number, ..Packet::default() }
    }

    fn data(number: u32) -> Packet<u32> {
        Packet { size_bytes: 1_500, header: number, ..Packet::default() }
    }

    /// What goes at a time.
    fn at(queue: &mut TestBuffer<u32>, ns: u64) -> Option<u32> {
        queue.take_at(Time::from_ns(ns), &mut stream()).0.map(|packet| packet.header)
    }

    #[test]
    fn credits_get_the_share_of_the_link_that_the_authors_give_them() {
        assert_eq!(credit_rate(Rate::from_gbps(10), 84, 1_538), 64_734_895);
        assert_eq!(credit_rate(Rate::from_gbps(100), 84, 1_538), 647_348_951);
    }

    #[test]
    fn a_ninth_credit_is_dropped_and_data_has_a_limit_of_its_own() {
        let mut queue = limiter(8, 2);
        let drops = |queue: &mut TestBuffer<u32>, packet| queue.put(packet, 0, &mut stream()).drops;
        let of_credits: Vec<u64> = (0..10).map(|number| drops(&mut queue, credit(number))).collect();
        assert_eq!(of_credits, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        let of_data: Vec<u64> = (0..4).map(|number| drops(&mut queue, data(number))).collect();
        assert_eq!(of_data, [0, 0, 0, 1]);
    }

    #[test]
    fn data_without_a_credit_finds_less_room_at_switches() {
        let without = |number| Packet { ecn: Ecn::NotCapable, ..data(number) };
        let with = |number| Packet { ecn: Ecn::Ect0, ..data(number) };
        let drops = |is_switch, packets: [Packet<u32>; 4]| {
            let mut queue = limiter_at(is_switch, (8, 2), Value::Bytes(1_500));
            packets.map(|packet| queue.put(packet, 0, &mut stream()).drops)
        };
        // One that waits is no more than the threshold, two are; three are all that fit.
        assert_eq!(drops(true, [without(0), without(1), without(2), with(3)]), [0, 0, 1, 0]);
        assert_eq!(drops(true, [with(0), with(1), with(2), with(3)]), [0, 0, 0, 1]);
        assert_eq!(drops(false, [without(0), without(1), without(2), with(3)]), [0, 0, 0, 1]);
        // What carries no data is never held for it.
        let control = Packet { kind: PacketKind::Control, size_bytes: 46, ..Packet::default() };
        assert_eq!(drops(true, [with(0), with(1), control, without(3)]), [0, 0, 0, 1]);
    }

    #[test]
    fn a_credit_goes_first_once_the_bucket_holds_it_and_data_meanwhile() {
        let mut queue = limiter(8, 2);
        (0..4).for_each(|number| assert_eq!(queue.put(credit(number), 0, &mut stream()).drops, 0));
        (10..12).for_each(|number| assert_eq!(queue.put(data(number), 0, &mut stream()).drops, 0));
        // A credit's tokens take 84 B / 64,734,895 B/s = 1297.6 ns; the bucket begins empty.
        assert_eq!(at(&mut queue, 1_297), Some(10));
        assert_eq!(at(&mut queue, 1_298), Some(0));
        assert_eq!(at(&mut queue, 1_298), Some(11));
        assert_eq!(at(&mut queue, 2_595), None, "the second credit is a nanosecond early");
        assert!(queue.is_ready(), "it waits");
        assert_eq!(at(&mut queue, 2_596), Some(1));
        // After a pause there are tokens for two, not more.
        assert_eq!(
            [at(&mut queue, 9_000), at(&mut queue, 9_000), at(&mut queue, 9_000)],
            [Some(2), Some(3), None]
        );
        queue.put(credit(4), 0, &mut stream());
        assert_eq!([at(&mut queue, 10_297), at(&mut queue, 10_298)], [None, Some(4)]);
    }

    #[test]
    fn a_credit_that_is_larger_than_the_bucket_waits_for_all_of_it() {
        let mut queue = limiter(8, 1);
        (0..2).for_each(|number| {
            queue.put(Packet { size_bytes: 54, ..credit(number) }, 0, &mut stream());
        });
        assert_eq!([at(&mut queue, 1_297), at(&mut queue, 1_298)], [None, Some(0)]);
        // It has taken 92 B, so that the next may go 8 B + 84 B later.
        assert_eq!([at(&mut queue, 2_719), at(&mut queue, 2_720)], [None, Some(1)]);
    }
}

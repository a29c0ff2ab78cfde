//! NDP's switch queue: what does not fit loses its payload, and its header goes on (NDP, SIGCOMM 2017, §3.1).

use super::admission::{Limit, Marking};
use super::booked::{Booked, Opening};
use super::list::List;
use super::shared_buffer::Thresholds;
use super::specification::{Bound, Making, Room};
use super::{Buffer, Built, Counts, Env, Holds, Joined, Occupancy, Site, Specification};
use crate::narrow::exact;
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::random::Stream;
use crate::spec::{Complaint, Component, Kind as Written, Needs, Registered, Values, param};
use std::sync::Arc;

const COMPONENT: Component = Component {
    section: "queue",
    kind: "ndp",
    doc: "A short queue for data and one for headers: data that does not fit is trimmed to its header, which joins the acknowledgements, pulls and other control packets.",
    source: "NDP, SIGCOMM 2017, §3.1",
    params: &[&[
        param! {
            "capacity" = "8packets": Written::Buffer,
            "How much data may wait, without the packet in service.", "NDP in a fat-tree §4: 8 packets"
        },
        param! {
            "count_service" = "false": Written::Flag,
            "Whether a data packet in service counts towards the capacity too.",
            "packetloom; csg-htsim counts it"
        },
        param! {
            "header_capacity" = "144KB": Written::Buffer,
            "How many bytes of headers and control packets may wait; more are dropped.",
            "csg-htsim: twice the 72 KB of its data queue"
        },
        param! {
            "trim" = "coin": Written::Choice(&["coin", "arrival"]),
            "What is trimmed when the data queue is full: by a fair coin the arriving packet or the last in the queue; or always the arriving one.",
            "NDP §3.1: with 50 % probability the newly arrived or the packet at the tail"
        },
        param! {
            "trimming" = "true": Written::Flag,
            "Whether what does not fit is trimmed; otherwise it is dropped as a whole, and `trim` sets which packet that is.",
            "NDP §3.1; htsim_uec: -disable_trim"
        },
        param! {
            "ecn_min": Written::Bytes,
            "Up to this queue length nothing is marked. A data packet is marked as it leaves, by the queue with itself included; one that waited alone never is, and headers are not. Left out, with ecn_max: no marks.",
            "UEC, htsim_uec: 20 % of the bandwidth-delay product"
        },
        param! {
            "ecn_max": Written::Bytes,
            "Above this all data is marked; in between with a probability that rises from 0 to 1.",
            "UEC, htsim_uec: 80 % of the bandwidth-delay product"
        },
        param! {
            "ecn_by_rate" = "false": Written::Flag,
            "Whether the thresholds, which are for ports of the hosts' rate, are in proportion to the rate at other ports, or the same.",
            "htsim_uec: the same at every rate; in proportion: HPCC's run.py"; acts &[Needs::Set("ecn_min")]
        },
        param! {
            "ecn_last_hop" = "true": Written::Flag,
            "With ecn_min: whether queues before hosts mark too; receivers that grant credit do not need these marks.",
            "htsim_uec: off on the switches' down links to hosts where receivers hand out credit"
        },
        param! {
            "trim_to" = "64B": Written::Bytes,
            "The size of a trimmed packet.",
            "NDP §3.1: 64-byte headers"; acts &[Needs::Is("trimming", &["true"])]
        },
        param! {
            "return_to_sender" = "false": Written::Flag,
            "Whether a data packet's header that does not fit at a switch goes back to its sender instead of being dropped. One that does not fit on its way back is dropped.",
            "NDP §3.2.4: return-to-sender; optional here"
        },
        param! {
            "service" = "weighted": Written::Choice(&["weighted", "strict"]),
            "While both queues hold packets: this many headers by `weight`, then one data packet; or headers only.",
            "NDP §3.1: weighted round robin; csg-htsim: strict"
        },
        param! {
            "weight" = "10": Written::Count(1),
            "With service = \"weighted\": how many headers are sent for each data packet while both wait.",
            "NDP §3.1: a 10:1 ratio of headers to packets"; acts &[Needs::Is("service", &["weighted"])]
        },
    ]],
    check,
};

/// The queue.
pub const QUEUE: Registered<Making> = Registered { component: COMPONENT, factory: Making::new(read) };

fn read(values: &Values) -> Specification {
    let rules = Rules::of(values);
    let bounds = Bound::of(rules.capacity).zip(Bound::of(rules.header_capacity));
    Specification {
        bounds: bounds.into_iter().map(|(data, headers)| data.and(headers)).collect(),
        rooms: vec![Room::new("capacity", rules.capacity, Vec::new())],
        is_sized_by_design: rules.trims,
        marks: rules.marking != Marking::Never,
        may_mark: true,
        thresholds: Thresholds::of(values),
        trims_to_bytes: rules.trims.then(|| rules.trim_to_bytes.into()),
        is_for_switches: true,
        returns_to_sender: rules.return_to_sender,
        ..Specification::new(values, Built::Held(Buffer::Trimming(Trimming::under(rules))))
    }
}

fn check(values: &Values) -> Result<(), Complaint> {
    if !(1..=65_535).contains(&values.bytes("trim_to")) {
        return Err(Complaint::new("trim_to", "write a size from 1B to 65535B"));
    }
    if !values.flag("trimming") && values.flag("return_to_sender") {
        let message = "without trimming no header is left to go back; leave one of them out";
        return Err(Complaint::new("return_to_sender", message));
    }
    match ["ecn_min", "ecn_max"].map(|key| values.optional_bytes(key)) {
        [Some(min), Some(max)] if min > max => Err(Complaint::new("ecn_min", "write at most ecn_max")),
        [Some(_), None] => Err(Complaint::new("ecn_max", "is missing; ecn_min has no meaning without it")),
        [None, Some(_)] => Err(Complaint::new("ecn_min", "is missing; ecn_max has no meaning without it")),
        [None, None] if !values.flag("ecn_last_hop") => {
            Err(Complaint::new("ecn_last_hop", "has no meaning without ecn_min and ecn_max; leave it out"))
        }
        _ => Ok(()),
    }
}

/// More headers than will ever be sent.
const NO_END: u64 = u64::MAX;

/// What the queues of all ports have in common.
#[derive(Clone, Debug)]
struct Rules {
    capacity: Limit,
    count_service: bool,
    header_capacity: Limit,
    by_coin: bool,
    trims: bool,
    trim_to_bytes: u16,
    return_to_sender: bool,
    /// Headers sent while data waits before a data packet is.
    headers_per_data: u64,
    marking: Marking,
    /// Where marking depends on a port's rate.
    thresholds: Option<Thresholds>,
    marks_last_hop: bool,
}

impl Rules {
    fn of(values: &Values) -> Rules {
        Rules {
            capacity: Limit::of(values.get("capacity")),
            count_service: values.flag("count_service"),
            header_capacity: Limit::of(values.get("header_capacity")),
            by_coin: values.meaning("trim", &[("coin", true), ("arrival", false)]),
            trims: values.flag("trimming"),
            trim_to_bytes: exact::<u16>(values.bytes("trim_to")),
            return_to_sender: values.flag("return_to_sender"),
            headers_per_data: values
                .meaning("service", &[("weighted", values.count("weight")), ("strict", NO_END)]),
            marking: match (values.optional_bytes("ecn_min"), values.optional_bytes("ecn_max")) {
                (Some(min), Some(max)) => Marking::between(min, max, 1.0),
                _ => Marking::Never,
            },
            thresholds: Thresholds::of(values).filter(|_| values.flag("ecn_by_rate")),
            marks_last_hop: values.flag("ecn_last_hop"),
        }
    }
}

/// The two queues of a port.
#[derive(Clone, Debug)]
pub struct Trimming {
    /// Apart from what changes, so that a port takes less of the cache.
    rules: Arc<Rules>,
    /// Headers sent while data waited, since the last data packet.
    headers_in_a_row: u32,
    /// Whether it marks what leaves, and whether its link leads to a host.
    marks: bool,
    is_last_hop: bool,
    data: List,
    /// Headers that go before any data packet, whatever comes.
    booked: Booked,
    /// The others.
    headers: List,
}

impl Trimming {
    fn under(rules: Rules) -> Trimming {
        Trimming {
            marks: rules.marking != Marking::Never,
            is_last_hop: false,
            rules: Arc::new(rules),
            headers_in_a_row: 0,
            data: List::default(),
            booked: Booked::default(),
            headers: List::default(),
        }
    }

    fn fits(&self, before: Occupancy, size_bytes: u16) -> bool {
        let mut with_it = before;
        with_it.add(size_bytes);
        !self.rules.capacity.exceeded_by(with_it)
    }

    /// Puts the packet to be trimmed into the arriving one's slot: the arriving packet itself, or the last in the
    /// queue, if the arriving one then fits.
    fn choose<H: Copy + Default>(
        &mut self,
        arriving: PacketId,
        mut before: Occupancy,
        packets: &mut Packets<H>,
        random: &mut Stream,
    ) {
        if !self.rules.by_coin || random.below(2) == 0 {
            return;
        }
        let Some(last) = self.data.last() else { return };
        before.remove(packets.get(last).size_bytes);
        if self.fits(before, packets.get(arriving).size_bytes) {
            self.data.exchange_last(arriving, packets);
        }
    }

    fn trim<H: Copy + Default>(&self, id: PacketId, packets: &mut Packets<H>) {
        let packet = packets.get_mut(id);
        packet.kind = Kind::Trimmed;
        packet.size_bytes = packet.size_bytes.min(self.rules.trim_to_bytes);
        packet.set_trimmed_last(self.is_last_hop);
    }

    #[inline(always)]
    fn put_header<H: Copy + Default>(
        &mut self,
        id: PacketId,
        packets: &mut Packets<H>,
        opening: Option<Opening>,
        counts: &mut Counts,
    ) -> Joined {
        let packet = packets.get_mut(id);
        let mut with_it = self.headers.queued() + self.booked.queued();
        with_it.add(packet.size_bytes);
        if !self.rules.header_capacity.exceeded_by(with_it) {
            if let Some(opening) = opening
                && self.is_next_header_first()
                && self.booked.add(packet.size_bytes, opening)
            {
                return Joined::Booked;
            }
            self.headers.push_back(id, packets);
            return Joined::Waits;
        }
        if packet.kind != Kind::Trimmed || !self.rules.return_to_sender {
            packets.take(id);
            counts.drops += 1;
            return Joined::Dropped;
        }
        *packet = Packet { kind: Kind::Returned, src: packet.dst, dst: packet.src, ..*packet };
        counts.returns += 1;
        Joined::Returned
    }

    /// Whether the next header goes before any data packet, even if data waits from now on.
    #[inline]
    fn is_next_header_first(&self) -> bool {
        let in_a_row = u64::from(self.headers_in_a_row) + self.booked.queued().packets;
        self.headers.is_empty() && in_a_row < self.rules.headers_per_data
    }

    /// Marks a data packet that leaves where so much waited, itself included.
    ///
    /// htsim decides at the end of a packet's transmission, by what waits then. That is what waits as the next
    /// packet starts, so there are as many marks here, at the same times, each a packet later.
    #[inline(never)]
    fn mark<H>(
        &self,
        waited: Occupancy,
        packet: &mut Packet<H>,
        (random, counts): (&mut Stream, &mut Counts),
    ) {
        if packet.is_ecn_capable() && self.rules.marking.marks(waited, random) {
            packet.congestion_experienced = true;
            counts.marks += 1;
        }
    }

    /// So many booked headers started since anything was put in or taken.
    #[inline]
    fn count_in_a_row(&mut self, started: u32) {
        let counted = if self.data.is_empty() { 0 } else { started };
        self.headers_in_a_row = self.headers_in_a_row.saturating_add(counted);
    }
}

impl Holds for Trimming {
    // Trims it or the last data packet where data does not fit, drops headers that do not fit.
    #[inline(always)]
    fn put<H: Copy + Default>(
        &mut self,
        id: PacketId,
        opening: Option<Opening>,
        env: &mut Env<'_, H>,
    ) -> Joined {
        let Env { packets, random, counts, serving_bytes, .. } = env;
        if opening.is_some() {
            let started = self.booked.depart_until(env.now);
            self.count_in_a_row(started);
        }
        let &Packet { kind, size_bytes, .. } = packets.get(id);
        if kind != Kind::Data {
            return self.put_header(id, packets, opening, counts);
        }
        let mut before = self.data.queued();
        if self.rules.count_service && *serving_bytes > 0 {
            before.add(*serving_bytes);
        }
        if self.fits(before, size_bytes) {
            self.data.push_back(id, packets);
            return Joined::Waits;
        }
        self.choose(id, before, packets, random);
        if !self.rules.trims {
            packets.take(id);
            counts.drops += 1;
            return Joined::Dropped;
        }
        self.trim(id, packets);
        counts.trims += 1;
        self.put_header(id, packets, opening, counts)
    }

    #[inline(always)]
    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        // What goes next goes after all that is booked.
        let started = self.booked.depart();
        self.count_in_a_row(started);
        let data_waits = !self.data.is_empty();
        let is_datas_turn = data_waits && u64::from(self.headers_in_a_row) == self.rules.headers_per_data;
        if !is_datas_turn && let Some(header) = self.headers.pop_front(env.packets) {
            self.headers_in_a_row = self.headers_in_a_row.saturating_add(data_waits.into());
            return Some(header);
        }
        let waited = self.data.queued();
        let data = self.data.pop_front(env.packets)?;
        self.headers_in_a_row = 0;
        if self.marks {
            self.mark(waited, env.packets.get_mut(data), (env.random, env.counts));
        }
        Some(data)
    }

    fn booked(&self) -> Booked {
        self.booked
    }

    fn place(&mut self, site: Site) {
        self.is_last_hop = site.is_switch && site.far_links.is_none();
        self.marks &= !self.is_last_hop || self.rules.marks_last_hop;
        if let Some(thresholds) = self.rules.thresholds.filter(|_| site.rate != site.host_rate) {
            Arc::make_mut(&mut self.rules).marking = thresholds.at(&site);
        }
    }

    #[inline]
    fn prefetch<H: Copy + Default>(&self, packets: &Packets<H>) {
        self.headers.prefetch(packets);
        self.data.prefetch(packets);
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> impl Iterator<Item = PacketId> + 'a {
        self.data.iter(packets).chain(self.headers.iter(packets))
    }

    #[inline]
    fn is_ready(&self) -> bool {
        !self.data.is_empty() || !self.headers.is_empty()
    }

    #[inline]
    fn queued(&self) -> Occupancy {
        self.unbooked() + self.booked.queued()
    }

    #[inline]
    fn unbooked(&self) -> Occupancy {
        self.data.queued() + self.headers.queued()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::queue::testing::TestBuffer;
    use crate::random::Purpose;
    use crate::spec::Value;

    fn rules(capacity: u64, headers: u64, by_coin: bool, headers_per_data: u64) -> Rules {
        Rules {
            capacity: Limit::Packets(capacity),
            count_service: false,
            header_capacity: Limit::Packets(headers),
            by_coin,
            trims: true,
            trim_to_bytes: 64,
            return_to_sender: false,
            headers_per_data,
            marking: Marking::Never,
            thresholds: None,
            marks_last_hop: true,
        }
    }

    fn queue(capacity: u64, headers: u64, by_coin: bool, headers_per_data: u64) -> TestBuffer<()> {
        under(rules(capacity, headers, by_coin, headers_per_data))
    }

    fn under(rules: Rules) -> TestBuffer<()> {
        TestBuffer::new(Buffer::Trimming(Trimming::under(rules)))
    }

    fn packet(flow: u32, kind: Kind) -> Packet<()> {
        let size_bytes = if kind == Kind::Data { 9_064 } else { 64 };
        Packet { flow, kind, size_bytes, ..Packet::default() }
    }

    fn stream() -> Stream {
        Stream::new(1, Purpose::Queue, 0)
    }

    #[test]
    fn data_beyond_the_capacity_is_trimmed_on_arrival_and_overtakes() {
        let mut queue = queue(2, 8, false, NO_END);
        let mut random = stream();
        for flow in 0..3 {
            let counts = queue.put(packet(flow, Kind::Data), 9_064, &mut random);
            assert_eq!(counts, Counts { trims: u64::from(flow == 2), ..Counts::default() });
        }
        assert_eq!(queue.queued(), Occupancy { bytes: 2 * 9_064 + 64, packets: 3 });
        let order: Vec<_> =
            std::iter::from_fn(|| queue.take(&mut random)).map(|p| (p.flow, p.kind, p.size_bytes)).collect();
        assert_eq!(order, [(2, Kind::Trimmed, 64), (0, Kind::Data, 9_064), (1, Kind::Data, 9_064)]);
        assert_eq!(queue.queued(), Occupancy::default());
    }

    #[test]
    fn what_is_in_service_takes_room_if_it_counts_and_is_data() {
        for (counts, serving_bytes, trims) in [(false, 9_064, 0), (true, 9_064, 1), (true, 0, 0)] {
            let mut queue = under(Rules { count_service: counts, ..rules(1, 8, false, NO_END) });
            assert_eq!(queue.put(packet(0, Kind::Data), serving_bytes, &mut stream()).trims, trims);
        }
    }

    #[test]
    fn a_coin_trims_the_arrival_or_the_tail_and_each_half_of_the_time() {
        let mut random = stream();
        let mut tails = 0;
        for _ in 0..10_000 {
            let mut queue = queue(2, 8, true, NO_END);
            for flow in 0..3 {
                queue.put(packet(flow, Kind::Data), 0, &mut random);
            }
            let flows: Vec<u32> = std::iter::from_fn(|| queue.take(&mut random)).map(|p| p.flow).collect();
            match flows[..] {
                [1, 0, 2] => tails += 1,
                ref other => assert_eq!(other, [2, 0, 1]),
            }
        }
        assert!((4_800..5_200).contains(&tails), "{tails} of 10000");
    }

    #[test]
    fn a_tail_that_would_not_make_room_is_spared() {
        let mut queue = under(Rules { capacity: Limit::Bytes(9_500), ..rules(1, 8, true, NO_END) });
        let mut random = stream();
        queue.put(packet(0, Kind::Data), 0, &mut random);
        queue.put(Packet { size_bytes: 400, ..packet(1, Kind::Data) }, 0, &mut random);
        for flow in 2..50 {
            queue.put(packet(flow, Kind::Data), 0, &mut random);
        }
        let data = queue.waiting().into_iter().filter(|packet| packet.kind == Kind::Data);
        assert_eq!(data.map(|packet| packet.flow).collect::<Vec<_>>(), [0, 1]);
    }

    fn to_host(is_host: bool) -> Site {
        let rate = crate::units::Rate::from_gbps(100);
        let far_links = (!is_host).then_some(4);
        Site {
            is_switch: true,
            rate,
            host_rate: rate,
            framing_bytes: 0,
            hop_rtt: crate::units::Time::ZERO,
            logs_pauses: false,
            far_links,
        }
    }

    /// How many of so many data packets, all there from the start, are marked as they leave.
    fn marked(rules: Rules, packets: u32, is_host: bool) -> Vec<bool> {
        let mut queue = Trimming::under(rules);
        queue.place(to_host(is_host));
        let mut queue = TestBuffer::<()>::new(Buffer::Trimming(queue));
        let mut random = stream();
        for flow in 0..packets {
            queue.put(Packet { ecn: Ecn::Ect0, ..packet(flow, Kind::Data) }, 0, &mut random);
        }
        std::iter::from_fn(|| queue.take(&mut random)).map(|packet| packet.congestion_experienced).collect()
    }

    #[test]
    fn marks_are_made_on_leaving_by_what_waited() {
        let sharp =
            |bytes| Rules { marking: Marking::between(bytes, bytes, 1.0), ..rules(100, 8, false, NO_END) };
        // Five wait, then four and so on: above three packets' bytes, two are marked.
        assert_eq!(marked(sharp(3 * 9_064), 5, false), [true, true, false, false, false]);
        assert_eq!(marked(sharp(9_063), 1, false), [true]);
        assert_eq!(marked(Rules { marks_last_hop: false, ..sharp(0) }, 5, true), [false; 5]);
        assert_eq!(marked(Rules { marks_last_hop: false, ..sharp(0) }, 5, false), [true; 5]);
    }

    #[test]
    fn thresholds_by_rate_are_four_times_as_high_at_a_link_four_times_as_fast() {
        let marked_first = |by_rate: bool, rate: u64| {
            let entries = [
                ("ecn_min", Value::Bytes(20_000)),
                ("ecn_max", Value::Bytes(20_000)),
                ("ecn_by_rate", Value::Flag(by_rate)),
            ];
            let entries = entries.map(|(name, value)| (name.to_owned(), value)).into();
            let thresholds = Thresholds::of(&Values { kind: "ndp".to_owned(), entries });
            let site = Site { rate: crate::units::Rate::from_gbps(rate), ..to_host(false) };
            let mut queue = Trimming::under(Rules {
                marking: Marking::between(20_000, 20_000, 1.0),
                thresholds: thresholds.filter(|_| by_rate),
                ..rules(100, 8, false, NO_END)
            });
            queue.place(site);
            let mut queue = TestBuffer::<()>::new(Buffer::Trimming(queue));
            let mut random = stream();
            for flow in 0..20 {
                queue.put(Packet { ecn: Ecn::Ect0, ..packet(flow, Kind::Data) }, 0, &mut random);
            }
            let left = std::iter::from_fn(|| queue.take(&mut random));
            left.take_while(|packet| packet.congestion_experienced).count()
        };
        // 20 wait, 9064 B each: 20 KB are two of them, 80 KB are eight.
        let marked =
            [(false, 100), (false, 400), (true, 100), (true, 400)].map(|(by, at)| marked_first(by, at));
        assert_eq!(marked, [18, 18, 18, 12]);
    }

    #[test]
    fn between_the_thresholds_marks_rise_from_none_to_all() {
        let marking = Marking::between(0, 1_000 * 9_064, 1.0);
        let marked = marked(Rules { marking, ..rules(1_000, 8, false, NO_END) }, 1_000, false);
        // The sum of q / 1000 over q = 1..1000 is 500.5; five standard deviations are 65.
        let count = marked.iter().filter(|&&marked| marked).count();
        assert!((435..566).contains(&count), "{count}");
        let [first, last] = [&marked[..100], &marked[900..]].map(|part| part.iter().filter(|&&m| m).count());
        assert!(first > 85 && last < 15, "{first}, {last}");
    }

    #[test]
    fn without_trimming_what_does_not_fit_is_dropped() {
        let mut queue = under(Rules { trims: false, ..rules(2, 8, true, NO_END) });
        let mut random = stream();
        let drops: u64 =
            (0..20).map(|flow| queue.put(packet(flow, Kind::Data), 9_064, &mut random).drops).sum();
        let left: Vec<_> = std::iter::from_fn(|| queue.take(&mut random)).map(|p| (p.flow, p.kind)).collect();
        assert_eq!((drops, left.len(), left[0]), (18, 2, (0, Kind::Data)));
    }

    #[test]
    fn a_header_says_whether_it_was_trimmed_on_the_last_hop() {
        for is_host in [false, true] {
            let mut queue = Trimming::under(rules(0, 8, false, NO_END));
            queue.place(to_host(is_host));
            let mut queue = TestBuffer::<()>::new(Buffer::Trimming(queue));
            let mut random = stream();
            queue.put(Packet { ecn: Ecn::Ect0, ..packet(1, Kind::Data) }, 9_064, &mut random);
            assert_eq!(queue.take(&mut random).map(|header| header.was_trimmed_last()), Some(is_host));
        }
    }

    #[test]
    fn headers_beyond_their_capacity_are_dropped() {
        let mut queue = queue(0, 2, true, NO_END);
        let mut random = stream();
        let all = [Kind::Data, Kind::Ack, Kind::Data, Kind::Control]
            .map(|kind| queue.put(packet(0, kind), 0, &mut random));
        assert_eq!(all.map(|counts| (counts.trims, counts.drops)), [(1, 0), (0, 0), (1, 1), (0, 1)]);
    }

    #[test]
    fn a_data_packets_header_beyond_the_capacity_turns_round_once() {
        let mut queue = under(Rules { return_to_sender: true, ..rules(0, 1, true, NO_END) });
        let mut random = stream();
        let sent = Packet { src: 3, dst: 5, ..packet(7, Kind::Data) };
        assert_eq!(queue.put(sent, 0, &mut random), Counts { trims: 1, ..Counts::default() });
        assert_eq!(queue.put(sent, 0, &mut random), Counts { trims: 1, returns: 1, ..Counts::default() });
        let back = queue.take_returned().expect("a header on its way back");
        assert_eq!((back.kind, back.src, back.dst, back.size_bytes), (Kind::Returned, 5, 3, 64));
        assert!(queue.take_returned().is_none());
        for dropped in [back, packet(7, Kind::Ack)] {
            assert_eq!(queue.put(dropped, 0, &mut random), Counts { drops: 1, ..Counts::default() });
        }
    }

    #[test]
    fn weighted_service_sends_so_many_headers_for_each_data_packet() {
        let mut queue = queue(8, 100, false, 10);
        let mut random = stream();
        for flow in 0..40 {
            queue.put(packet(flow, Kind::Ack), 0, &mut random);
        }
        for flow in 0..3 {
            queue.put(packet(flow, Kind::Data), 0, &mut random);
        }
        let kinds: Vec<Kind> = std::iter::from_fn(|| queue.take(&mut random)).map(|p| p.kind).collect();
        let places: Vec<usize> = (0..43).filter(|&place| kinds[place] == Kind::Data).collect();
        assert_eq!(places, [10, 21, 32]);
    }
}

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
mod tests;

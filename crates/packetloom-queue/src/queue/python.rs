//! A queue's rule that a user writes as a Python class ([`crate::user_class`]): which packets it takes, marks, trims and
//! drops as they come and as they leave, and from which of its lanes the next one comes. A lane is first in, first out. The one place of queues with
//! `unsafe` code: what the class's methods are given, and what they call back.
#![allow(unsafe_code)]

use super::list::List;
use super::specification::{Bound, Making};
use super::{Buffer, Built, Counts, Env, Holds, Joined, Occupancy, Opening, Site, Specification, Traits};
use crate::flow::FlowId;
use crate::narrow::{exact, narrow};
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::random::Stream;
use crate::spec::{Component, Registered, Values, anything};
use crate::units::Time;
use crate::user_class::{Code, Hook, Method, PLACE, Role, SchemeError, named, raised, signed};

const BASE: &str = "QueueRule";

const COMPONENT: Component = Component {
    section: "queue",
    kind: "python",
    doc: "A queue's rule of your own: a Python class, compiled when the scenario is read, that accepts, marks, trims or drops what arrives and what leaves, and says which of its lanes sends next. Beside these it has the parameters that the class declares.",
    source: "docs/your-own-scheme.md",
    params: &[PLACE],
    check: anything,
};

/// What a class is.
pub static ROLE: Role = Role { base: BASE, component: COMPONENT };

/// The queue.
pub const QUEUE: Registered<Making> = Registered { component: COMPONENT, factory: Making::new(read) };

fn read(values: &Values) -> Specification {
    let code = named(&ROLE, values).ok();
    let port = code.map(|code| Built::Held(Buffer::Python(Box::new(Ruled::of(code, values)))));
    // What may be dropped: nobody knows when. What never is has no bound.
    let drops = code.is_none_or(|code| code.constant("drops") != 0);
    let unbounded = || {
        format!(
            "{} drops nothing, so any amount may wait at a port; call queue.drop()",
            code.map_or("it", |code| code.name)
        )
    };
    let trim_to_bytes = code.and_then(|code| u64::try_from(code.constant("trim_to_bytes")).ok());
    Specification {
        bounds: drops.then_some(Bound::ANY).into_iter().collect(),
        is_sized_by_design: drops,
        never_reached: (!drops).then(|| ("class", unbounded())),
        marks: code.is_some_and(|code| code.constant("marks") != 0),
        trims_to_bytes: trim_to_bytes.filter(|&to| to > 0),
        traits: Traits { ranks: true, drops_early: drops, ..Traits::CLASSES },
        ..Specification::new(values, port)
    }
}

packetloom_base::records! {
    /// A packet that arrives, as a method sees it.
    struct ArrivalView {
        size_bytes: i64,
        flow: i64,
        src: i64,
        dst: i64,
        is_data: i64,
        traffic_class: i64,
        priority: i64,
        markable: i64,
        marked: i64,
        now_ps: i64,
    }
}

packetloom_base::records! {
    /// A packet that is to leave, as a method sees it.
    struct DepartureView {
        size_bytes: i64,
        flow: i64,
        src: i64,
        dst: i64,
        is_data: i64,
        traffic_class: i64,
        priority: i64,
        markable: i64,
        marked: i64,
        lane: i64,
        waited_ps: i64,
        now_ps: i64,
    }
}

/// What waits in a lane.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    bytes: i64,
    packets: i64,
}

packetloom_base::records! {
    /// What a method can look at and do.
    struct QueueTools {
        bytes: i64,
        packets: i64,
        rate_bps: i64,
        lanes: i64,
        now_ps: i64,
        result: i64,
        marks: i64,
        drops: i64,
        trims: i64,
        of_lanes: *const Lane,
        stream: *mut Stream,
        evictions: *mut Vec<i64>,
    }
}

packetloom_base::hooks! {
    &[BASE] =>
    Arrives = "arrives"(ArrivalView, QueueTools);
    Chooses = "next"((), QueueTools);
    Leaves = "leaves"(DepartureView, QueueTools);
}

/// What methods can call, by the names under which compiled code refers to it.
pub fn symbols() -> [(&'static str, usize); 7] {
    [
        ("packetloom_queue_mark", mark as *const () as usize),
        ("packetloom_queue_drop", drop_it as *const () as usize),
        ("packetloom_queue_drop_first", drop_first as *const () as usize),
        ("packetloom_queue_trim", trim as *const () as usize),
        ("packetloom_queue_lane_bytes", lane_bytes as *const () as usize),
        ("packetloom_queue_lane_packets", lane_packets as *const () as usize),
        ("packetloom_queue_random", random_below as *const () as usize),
    ]
}

macro_rules! exported {
    ($($(#[$doc:meta])* fn $name:ident($tools:ident $(, $argument:ident: $type:ty)*) -> $result:ty $body:block)*) => {$(
        $(#[$doc])*
        unsafe extern "C" fn $name($tools: *mut QueueTools $(, $argument: $type)*) -> $result {
            // SAFETY: compiled code passes on the pointer that it was called with.
            let $tools = unsafe { &mut *$tools };
            $body
        }
    )*};
}

exported! {
    fn mark(tools) -> i64 {
        tools.marks = 1;
        0
    }
    fn drop_it(tools) -> i64 {
        tools.drops = 1;
        0
    }
    fn drop_first(tools, lane: i64) -> i64 {
        // SAFETY: the list outlives the call.
        unsafe { (*tools.evictions).push(lane) };
        0
    }
    fn trim(tools) -> i64 {
        tools.trims = 1;
        0
    }
    fn lane_bytes(tools, number: i64) -> i64 {
        of_lane(tools, number).bytes
    }
    fn lane_packets(tools, number: i64) -> i64 {
        of_lane(tools, number).packets
    }
    fn random_below(tools, count: i64) -> i64 {
        let count = narrow::<u32>(count.clamp(1, u32::MAX.into()));
        // SAFETY: the stream outlives the call.
        unsafe { (*tools.stream).below(count) }.into()
    }
}

fn of_lane(tools: &QueueTools, number: i64) -> Lane {
    if !(0..tools.lanes).contains(&number) {
        return Lane::default();
    }
    // SAFETY: there are so many lanes, and they outlive the call.
    unsafe { *tools.of_lanes.add(narrow::<usize>(number)) }
}

/// A port's packets, its state, and what works on that.
#[derive(Clone, Debug)]
pub struct Ruled {
    class: &'static str,
    arrives: Option<Method<Arrives>>,
    next: Option<Method<Chooses>>,
    leaves: Option<Method<Leaves>>,
    /// The lanes whose first packets are to be dropped.
    evictions: Vec<i64>,
    /// The class's parameters, then its fields.
    state: Box<[u64]>,
    lanes: Vec<List>,
    waits: Vec<Lane>,
    queued: Occupancy,
    trim_to_bytes: u16,
    rate_bps: i64,
    leads_to_host: bool,
}

impl Ruled {
    fn of(code: &Code, values: &Values) -> Ruled {
        let lanes = exact::<usize>(code.constant("lanes").clamp(1, 255));
        Ruled {
            class: code.name,
            arrives: code.method(),
            next: code.method(),
            leaves: code.method(),
            evictions: Vec::new(),
            state: code.state(values),
            lanes: vec![List::default(); lanes],
            waits: vec![Lane::default(); lanes],
            queued: Occupancy::default(),
            trim_to_bytes: exact::<u16>(code.constant("trim_to_bytes").clamp(0, u16::MAX.into())),
            rate_bps: 0,
            leads_to_host: false,
        }
    }

    fn tools(&mut self, now: Time, random: &mut Stream) -> QueueTools {
        QueueTools {
            bytes: signed(self.queued.bytes),
            packets: signed(self.queued.packets),
            rate_bps: self.rate_bps,
            lanes: narrow::<i64>(self.lanes.len()),
            now_ps: signed(now.as_ps()),
            result: 0,
            marks: 0,
            drops: 0,
            trims: 0,
            of_lanes: self.waits.as_ptr(),
            stream: random,
            evictions: &mut self.evictions,
        }
    }

    /// What is to be done with a packet that arrives: the tools as the method left them.
    fn judge<H: Copy + Default>(&mut self, id: PacketId, env: &mut Env<'_, H>) -> QueueTools {
        let mut tools = self.tools(env.now, env.random);
        if let Some(arrives) = self.arrives {
            let view = ArrivalView::of(env.packets.get(id));
            let done = arrives.call(&mut self.state, &view, &mut tools);
            let done = done.map_err(SchemeError::from).and_then(|()| self.lane(tools.result).map(|_| ()));
            let evicted = self.evict_first(env);
            self.settle(done.and(evicted), (env.packets.get(id), Arrives::NAME));
        }
        tools
    }

    /// The same of a packet that is to leave a lane.
    fn judge_leaving<H: Copy + Default>(
        &mut self,
        leaves: Method<Leaves>,
        (lane, id): (usize, PacketId),
        env: &mut Env<'_, H>,
    ) -> QueueTools {
        let mut tools = self.tools(env.now, env.random);
        let view = DepartureView::of(env.packets.get(id), lane, env.now);
        let done = leaves.call(&mut self.state, &view, &mut tools).map_err(SchemeError::from);
        let evicted = self.evict_first(env);
        self.settle(done.and(evicted), (env.packets.get(id), Leaves::NAME));
        tools
    }

    /// The next packet: of the lane that the class says, or of the first after it that has any, round the end.
    fn choose<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<(usize, PacketId)> {
        let mut tools = self.tools(env.now, env.random);
        let done = self.next.map_or(Ok(()), |next| next.call(&mut self.state, &(), &mut tools));
        let first = done.map_err(SchemeError::from).and_then(|()| self.lane(tools.result));
        let done = first.map(|_| ()).and(self.evict_first(env));
        let first = first.unwrap_or_default();
        let others = (first..self.lanes.len()).chain(0..first);
        let lane = others.into_iter().find(|&lane| !self.lanes[lane].is_empty())?;
        let id = self.take_first(lane, env.packets)?;
        self.settle(done, (env.packets.get(id), Chooses::NAME));
        Some((lane, id))
    }

    /// Takes the first packet of a lane out.
    fn take_first<H: Copy + Default>(&mut self, lane: usize, packets: &Packets<H>) -> Option<PacketId> {
        let id = self.lanes[lane].pop_front(packets)?;
        let size_bytes = packets.get(id).size_bytes;
        self.queued.remove(size_bytes);
        self.waits[lane].bytes -= i64::from(size_bytes);
        self.waits[lane].packets -= 1;
        Some(id)
    }

    /// Drops the first packets of the lanes that a method named.
    fn evict_first<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Result<(), SchemeError> {
        let mut named = std::mem::take(&mut self.evictions);
        let done = named.iter().try_for_each(|&number| {
            let count = narrow::<i64>(self.lanes.len());
            let lane = self.lane(number).map_err(|_| SchemeError::NoLane { number, count })?;
            if let Some(id) = self.take_first(lane, env.packets) {
                env.drop(id);
            }
            Ok(())
        });
        named.clear();
        self.evictions = named;
        done
    }

    /// Notes what a method did wrong, if it did.
    fn settle<H>(&self, done: Result<(), SchemeError>, (packet, method): (&Packet<H>, &'static str)) {
        done.unwrap_or_else(|error| raised::note(subject(packet), (self.class, method), error));
    }

    /// Trims or marks a packet as a method said.
    fn change<H>(&self, tools: &QueueTools, packet: &mut Packet<H>, counts: &mut Counts) {
        if tools.trims != 0 && packet.kind == Kind::Data {
            self.trim(packet);
            counts.trims += 1;
        } else if tools.marks != 0 && packet.kind != Kind::Trimmed && packet.is_ecn_capable() {
            packet.congestion_experienced = true;
            counts.marks += 1;
        }
    }

    /// The lane of a number, if there is one.
    fn lane(&self, number: i64) -> Result<usize, SchemeError> {
        let count = narrow::<i64>(self.lanes.len());
        let outside = SchemeError::Outside { what: "lane", number, count };
        if (0..count).contains(&number) { Ok(narrow::<usize>(number)) } else { Err(outside) }
    }

    fn trim<H>(&self, packet: &mut Packet<H>) {
        packet.kind = Kind::Trimmed;
        packet.size_bytes = packet.size_bytes.min(self.trim_to_bytes);
        packet.set_trimmed_last(self.leads_to_host);
    }
}

/// When a packet came, and whose it is.
fn subject<H>(packet: &Packet<H>) -> (Time, FlowId) {
    (packet.time, packet.flow)
}

impl ArrivalView {
    fn of<H>(packet: &Packet<H>) -> ArrivalView {
        ArrivalView {
            size_bytes: packet.size_bytes.into(),
            flow: packet.flow.into(),
            src: packet.src.into(),
            dst: packet.dst.into(),
            is_data: (packet.kind == Kind::Data).into(),
            traffic_class: packet.class.into(),
            priority: packet.priority.into(),
            markable: (packet.kind != Kind::Trimmed && packet.is_ecn_capable()).into(),
            marked: packet.congestion_experienced.into(),
            now_ps: signed(packet.time.as_ps()),
        }
    }
}

impl DepartureView {
    fn of<H>(packet: &Packet<H>, lane: usize, now: Time) -> DepartureView {
        let ArrivalView {
            size_bytes,
            flow,
            src,
            dst,
            is_data,
            traffic_class,
            priority,
            markable,
            marked,
            ..
        } = ArrivalView::of(packet);
        DepartureView {
            size_bytes,
            flow,
            src,
            dst,
            is_data,
            traffic_class,
            priority,
            markable,
            marked,
            lane: narrow::<i64>(lane),
            waited_ps: signed(now.since(packet.time).as_ps()),
            now_ps: signed(now.as_ps()),
        }
    }
}

impl Holds for Ruled {
    fn put<H: Copy + Default>(&mut self, id: PacketId, _: Option<Opening>, env: &mut Env<'_, H>) -> Joined {
        let tools = self.judge(id, env);
        if tools.drops != 0 {
            env.drop(id);
            return Joined::Dropped;
        }
        let lane = self.lane(tools.result).unwrap_or_default();
        let packet = env.packets.get_mut(id);
        self.change(&tools, packet, env.counts);
        let size_bytes = packet.size_bytes;
        self.queued.add(size_bytes);
        self.waits[lane].bytes += i64::from(size_bytes);
        self.waits[lane].packets += 1;
        self.lanes[lane].push_back(id, env.packets);
        Joined::Waits
    }

    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        loop {
            let (lane, id) = self.choose(env)?;
            let Some(leaves) = self.leaves else { return Some(id) };
            let tools = self.judge_leaving(leaves, (lane, id), env);
            if tools.drops == 0 {
                self.change(&tools, env.packets.get_mut(id), env.counts);
                return Some(id);
            }
            env.drop(id);
        }
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> impl Iterator<Item = PacketId> + 'a {
        self.lanes.iter().flat_map(|lane| lane.iter(packets))
    }

    fn queued(&self) -> Occupancy {
        self.queued
    }

    fn classes(&self, mut visit: impl FnMut(usize, u64, Option<u64>)) {
        for (number, lane) in self.lanes.iter().enumerate() {
            visit(number, lane.queued().bytes, None);
        }
    }

    // So that the rule sees every packet, those that find the link free, too.
    fn holds_back(&self) -> bool {
        true
    }

    fn place(&mut self, site: Site) {
        self.rate_bps = signed(site.rate.as_bps());
        self.leads_to_host = site.is_switch && site.far_links.is_none();
    }
}

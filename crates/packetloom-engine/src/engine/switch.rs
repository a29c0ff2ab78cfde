//! A switch: what arrives is routed to a port.

mod backpressure;
mod balance;
mod credits;
mod departures;
mod lazy;
mod link_control;
mod measures;
mod pauses;
mod ties;
mod updates;
mod watchdog;

use super::Tally;
use super::agent::PortAgent;
use super::arrival::Arrival;
use super::link_table::LinkTable;
use super::port::Port;
use crate::link_message::LinkMessage;
use crate::packet::Kind;
use crate::packets::{PacketId, Packets};
use crate::queue::Pool;
use crate::routing::Router;
use crate::spec::Values;
use crate::units::{ByteTime, Time};
pub(super) use backpressure::Backpressure;
pub(super) use balance::Balance;
pub(super) use credits::{Credits, Returns};
use departures::Departures;
use lazy::Arriving;
pub(super) use link_control::LinkControl;
pub(super) use pauses::{PauseSettings, Pauses};
use smallvec::SmallVec;
use std::ops::Range;
use ties::Tied;
pub(super) use ties::Ties;
pub(super) use updates::Updates;

/// A switch with all that belongs to it but its ports.
pub(super) struct Switch {
    router: Router,
    /// Its ports, among those of its shard.
    ports: Range<usize>,
    /// Itself, among the nodes of its shard.
    node: u32,
    /// Each incoming link's way back: the switch's port to the node that it comes from.
    ways_back: Vec<u32>,
    /// Ports whose buffers hold packets, and until when at least their links are taken; where it says nothing.
    waiting: Vec<(u32, Time)>,
    /// The earliest of these times.
    next_service: Time,
    /// Where it says something: ports whose buffers hold packets that may be sent.
    departures: Departures,
    /// When it was last woken for the first of these.
    woken_for: Time,
    pool: Option<Pool>,
    /// What it says to the far ends of its links, where it does.
    control: Option<LinkControl>,
    /// Who chooses ports, if not the router alone.
    balance: Option<Balance>,
    /// Whether headers that do not fit at a port go back to their senders.
    returns: bool,
    /// For cut-through without underrun: how much is seen first, and each incoming link's time per byte.
    cut_through: Option<CutThrough>,
    /// Where the ways of packets are noted, the link of its first port, in the topology.
    traces_from: Option<u32>,
    /// Who goes first at one instant, where that is not a matter of the link alone.
    ties: Option<Ties>,
    /// Whether it pauses links, and beyond that only forwards.
    only_pauses: bool,
    /// Whether it serves its ports lazily while its buffer stays quiet.
    may_be_lazy: bool,
    /// Whether it only forwards: it has no pool, no link control, no balancer and no order of its own for packets
    /// of one instant, records no paths, returns no headers, and does not cut through.
    is_plain: bool,
}

/// Packets in the order in which a switch forwards them, each with the port that it leaves by.
pub(super) type Routed = Vec<(PacketId, u32)>;

/// From how many arrivals on it pays to look up the ports first.
const MANY: usize = 2;

/// How many arrivals ahead packets are prefetched at switches that follow what waits.
const AHEAD: usize = 6;

/// What a cut-through switch must know not to send what has not arrived.
pub(super) struct CutThrough {
    pub(super) header_bytes: u16,
    pub(super) byte_times: Vec<ByteTime>,
}

impl Switch {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn new(
        router: Router,
        ports: Range<usize>,
        node: u32,
        ways_back: Vec<u32>,
        pool: Option<Pool>,
        control: Option<LinkControl>,
        balance: Option<Balance>,
        returns: bool,
        traces_from: Option<u32>,
        cut_through: Option<CutThrough>,
        ties: Option<Ties>,
    ) -> Switch {
        let has_no_feedback = pool.is_none() && control.is_none() && balance.is_none();
        let stores_and_forwards = !returns && traces_from.is_none() && cut_through.is_none();
        let is_plain = has_no_feedback && stores_and_forwards && ties.is_none();
        let pauses = matches!(control, Some(LinkControl::Pauses(_)));
        let only_pauses = pauses && pool.is_none() && balance.is_none() && stores_and_forwards;
        Switch {
            only_pauses,
            may_be_lazy: only_pauses && lazy::allows(control.as_ref()),
            is_plain,
            router,
            ports,
            node,
            ways_back,
            waiting: Vec::new(),
            next_service: Time::NEVER,
            departures: Departures::default(),
            woken_for: Time::NEVER,
            pool,
            control,
            balance,
            returns,
            traces_from,
            cut_through,
            ties,
        }
    }

    /// What it has yet to learn of faults it learns sooner.
    pub(super) fn bring_faults_forward(&mut self, now: Time, by: Time) {
        self.router.shift_earlier(now, by);
    }

    /// The credit that it owes to its links, if it collects that.
    pub(super) fn owed_credit(&self) -> Option<&Updates> {
        match &self.control {
            Some(LinkControl::Credits(credits)) => credits.owed(),
            _ => None,
        }
    }

    pub(super) fn balancing(&self) -> Option<&Balance> {
        self.balance.as_ref()
    }

    /// Its balancer goes by other values.
    pub(super) fn balance_by(&mut self, values: &Values) {
        if let Some(balance) = &mut self.balance {
            balance.go_by(values);
        }
    }

    pub(super) fn ports(&self) -> Range<usize> {
        self.ports.clone()
    }

    /// Those of its ports that may have packets to send before `end`.
    fn due<'a, H, A>(&self, end: Time, ports: &'a [Port<H, A>]) -> impl Iterator<Item = &'a Port<H, A>> {
        let due = self.waiting.iter().filter(move |(_, taken_until)| *taken_until < end);
        due.map(|&(port, _)| port).chain(self.departures.before(end)).map(|port| &ports[port as usize])
    }

    /// Prefetches these.
    pub(super) fn expect_ports<H: Copy + Default, A: PortAgent<H>>(&self, end: Time, ports: &[Port<H, A>]) {
        self.due(end, ports).for_each(Port::prefetch);
    }

    /// Prefetches the packets that they send first, unless later ones overtake them.
    pub(super) fn expect_packets<H: Copy + Default, A: PortAgent<H>>(
        &self,
        end: Time,
        ports: &[Port<H, A>],
        packets: &Packets<H>,
    ) {
        self.due(end, ports).for_each(|port| port.prefetch_packets(packets));
    }

    /// Does all that happens here, and at the switch's `ports`, from `start` to before `end`; `arrivals` are in
    /// order.
    pub(super) fn run_window<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        (start, end): (Time, Time),
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
        (arrivals, routed): (&[Arrival], &mut Routed),
        tally: &mut Tally,
    ) {
        let mut reminders = 0;
        if self.is_plain && !A::ACTIVE {
            self.forward_plainly(arrivals, routed, ports, link_table);
        } else if self.control.is_some() || self.balance.is_some() {
            let arriving = self.route_all(arrivals, routed, &link_table.packets, ports);
            reminders = arriving.reminders;
            if self.may_be_lazy && self.stays_quiet(arriving) {
                self.run_lazily((start, end), (arrivals, routed), ports, link_table);
            } else {
                self.run_in_order((start, end), (arrivals, routed), ports, link_table);
            }
        } else if self.ties.is_some() {
            self.forward_in_turn(start, arrivals, ports, link_table);
        } else {
            for arrival in arrivals {
                self.forward(arrival.at(start), arrival.link(start), arrival.id, ports, link_table);
            }
        }
        tally.packet_hops += arrivals.len() as u64 - reminders;
        tally.events += arrivals.len() as u64;
        if self.next_service < end {
            // What is due in this window is measured before the packets leave that start later.
            self.measure(Time(end.as_ps() - 1), ports, link_table);
            self.serve(end, ports, link_table);
        }
    }

    /// Forwards packets, and lets others leave, in order of time, as those who count both have to, and balancers,
    /// who look at queues. Where departures come first at an instant they are done with before the arrivals of that
    /// instant.
    #[inline(never)]
    fn run_in_order<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        (start, end): (Time, Time),
        (arrivals, mut routed): (&[Arrival], &[(PacketId, u32)]),
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let joins_first = matches!(self.control, Some(LinkControl::Pauses(_) | LinkControl::Backpressure(_)));
        for together in arrivals.chunk_by(|one, other| one.at(start) == other.at(start)) {
            let (outs, rest) = routed.split_at(together.len());
            routed = rest;
            let now = together[0].at(start);
            let last = if joins_first { Time(now.as_ps().saturating_sub(1)) } else { now };
            self.wake_balancer_until(Time(now.as_ps().saturating_sub(1)), ports, link_table);
            self.depart_until(last, ports, link_table);
            let turns;
            let alone: &[usize] = &[0];
            let in_turn = if self.decides_turns(together.len()) {
                turns = self.turns(together, start, &mut link_table.packets);
                turns.as_slice()
            } else {
                alone
            };
            for &nth in in_turn {
                if !joins_first {
                    self.depart_until(now, ports, link_table);
                }
                let (id, out) = outs[nth];
                let link = together[nth].link(start);
                match LinkMessage::of(link_table.packets.get(id)) {
                    Some(message) => {
                        link_table.packets.take(id);
                        self.receive_message(now, link, message, ports, link_table);
                    }
                    None if self.balance.is_some() => {
                        self.balance(now, link, id, ports, link_table);
                    }
                    None => self.forward_to(now, (link, out), id, ports, link_table),
                }
            }
        }
        self.wake_balancer_until(Time(end.as_ps() - 1), ports, link_table);
        self.depart_until(Time(end.as_ps() - 1), ports, link_table);
        self.schedule_balancer(link_table);
        if !matches!(self.control, None | Some(LinkControl::Pauses(_))) {
            self.schedule_update(link_table);
            self.schedule_pauses(link_table);
        }
        self.schedule_departure(link_table);
    }

    /// Forwards packets, those of one instant in an order of their own.
    fn forward_in_turn<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        start: Time,
        arrivals: &[Arrival],
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        for together in arrivals.chunk_by(|one, other| one.at(start) == other.at(start)) {
            for nth in self.own_turns(together, start, &link_table.packets) {
                let arrival = together[nth];
                self.forward(arrival.at(start), arrival.link(start), arrival.id, ports, link_table);
            }
        }
    }

    /// The order in which arrivals of the same instant are taken where no shared buffer has one.
    fn own_turns<H: Copy + Default>(
        &mut self,
        together: &[Arrival],
        window_start: Time,
        packets: &Packets<H>,
    ) -> SmallVec<[usize; 8]> {
        let Some(ties) = &mut self.ties else { return (0..together.len()).collect() };
        let of = |arrival: &Arrival| {
            let size_bytes = packets.get(arrival.id).size_bytes;
            Tied { link: arrival.link(window_start), size_bytes, planned_ago: 0 }
        };
        ties.order(together.iter().map(of))
    }

    /// Finds and prefetches the ports of all arrivals; returns what they are. Messages are not routed. A balancer decides
    /// later, when it can see the queues.
    fn route_all<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        arrivals: &[Arrival],
        routed: &mut Routed,
        packets: &Packets<H>,
        ports: &[Port<H, A>],
    ) -> Arriving {
        let mut arriving = Arriving::default();
        routed.clear();
        for (nth, &Arrival { id, .. }) in arrivals.iter().enumerate() {
            if let Some(later) = arrivals.get(nth + AHEAD) {
                packets.prefetch(later.id);
            }
            let packet = packets.get(id);
            arriving.count(packet);
            let is_routed_now = packet.kind != Kind::Link && self.balance.is_none();
            let out = if is_routed_now { self.router.port_for(packet) } else { 0 };
            ports[out as usize].prefetch();
            routed.push((id, out));
        }
        if arrivals.len() >= MANY {
            routed.iter().for_each(|&(_, out)| ports[out as usize].prefetch_queue());
        }
        arriving
    }

    /// Forwards packets where switches do nothing else. Where many arrive, the ports for all of them are found
    /// before the first is sent, so that the ports can be prefetched in time.
    #[inline]
    fn forward_plainly<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        arrivals: &[Arrival],
        routed: &mut Routed,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        if arrivals.len() < MANY {
            for &Arrival { id, .. } in arrivals {
                let out = self.router.port_for(link_table.packets.get(id));
                self.pass_on(id, out, ports, link_table);
            }
            return;
        }
        // What holds of one port holds of all.
        if ports[0].is_straight() {
            self.route(arrivals, routed, &link_table.packets, |out| ports[out as usize].prefetch_straight());
            for &(id, out) in &*routed {
                ports[out as usize].accept_straight(id, link_table);
            }
            return;
        }
        self.route(arrivals, routed, &link_table.packets, |out| ports[out as usize].prefetch());
        for &(id, out) in &*routed {
            self.pass_on(id, out, ports, link_table);
        }
    }

    /// Finds and prefetches the ports for packets.
    #[inline(always)]
    fn route<H: Copy + Default>(
        &mut self,
        arrivals: &[Arrival],
        routed: &mut Routed,
        packets: &Packets<H>,
        ask: impl Fn(u32),
    ) {
        routed.clear();
        routed.extend(arrivals.iter().map(|&Arrival { id, .. }| {
            let out = self.router.port_for(packets.get(id));
            ask(out);
            (id, out)
        }));
    }

    /// Has a packet leave by a port.
    #[inline(always)]
    fn pass_on<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        id: PacketId,
        out: u32,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let port = &mut ports[out as usize];
        port.accept(link_table.packets.get(id).time, id, link_table, None);
        self.note_waiting(out, port);
    }

    fn forward<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        id: PacketId,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let out = self.router.port_for(link_table.packets.get(id));
        self.forward_to(now, (link, out), id, ports, link_table);
    }

    fn forward_to<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        way: (u32, u32),
        id: PacketId,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        if self.only_pauses && !A::ACTIVE && self.pass_at_once(now, way, id, ports, link_table) {
            return;
        }
        if self.take_in(now, way, id, ports, link_table) {
            self.send_on(now, way, id, ports, link_table);
        }
    }

    /// Processes a packet where it comes in. Returns whether it fits.
    fn take_in<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        (link, out): (u32, u32),
        id: PacketId,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) -> bool {
        if self.control.is_some() {
            link_table.packets.set_ingress(id, link);
        }
        if let Some(first) = self.traces_from {
            let mut tag = link_table.packets.tag(id);
            tag.stamp.take(first + out);
            link_table.packets.set_tag(id, tag);
        }
        let packet = link_table.packets.get_mut(id);
        if let Some(control) = &mut self.control {
            control.pass(out, packet);
        }
        if A::ACTIVE {
            let back = self.ways_back[link as usize];
            ports[back as usize].answer(packet);
        }
        self.measure(now, ports, link_table);
        if let Some(pool) = &mut self.pool {
            pool.used_bytes = ports.iter_mut().map(|port| port.settle(now, link_table)).sum();
        }
        self.control.is_none() || self.charge(now, (link, out), id, ports, link_table)
    }

    /// Has a packet leave that was taken in.
    fn send_on<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        (link, out): (u32, u32),
        id: PacketId,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let packet = link_table.packets.get_mut(id);
        let port = &mut ports[out as usize];
        if let Some(cut) = &self.cut_through {
            let from = cut.byte_times[link as usize];
            packet.time = port.cut_through_start(from, cut.header_bytes, packet.size_bytes, now);
        }
        match &self.control {
            None => {}
            Some(LinkControl::Backpressure(_)) => {
                return self.join_backpressed(now, out, id, ports, link_table);
            }
            Some(_) => return self.join(now, out, id, ports, link_table),
        }
        self.note_port(now, out, ports, link_table);
        ports[out as usize].accept(now, id, link_table, self.pool.as_mut());
        self.note_waiting(out, &mut ports[out as usize]);
        if self.returns
            && let Some(returned) = ports[out as usize].take_returned()
        {
            let packet = link_table.packets.get_mut(returned);
            packet.time = now;
            let back = self.router.port_for(packet);
            ports[back as usize].accept(now, returned, link_table, None);
            self.note_waiting(back, &mut ports[back as usize]);
        }
    }

    #[inline]
    fn note_waiting<H: Copy + Default, A: PortAgent<H>>(&mut self, number: u32, port: &mut Port<H, A>) {
        if port.enlist() {
            if port.is_timed() {
                self.waiting.retain(|&(other, _)| other != number);
            }
            self.waiting.push((number, Time::ZERO));
            self.next_service = Time::ZERO;
        }
    }

    /// Lets buffered ports send what starts before `end`, and has the switch woken for the rest.
    fn serve<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        end: Time,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let mut next_service = Time::NEVER;
        self.waiting.retain_mut(|(port, taken_until)| {
            if *taken_until < end {
                let port = &mut ports[*port as usize];
                port.serve_until(end, link_table);
                if !port.is_waiting() {
                    port.delist();
                    return false;
                }
                *taken_until = port.free_at();
            }
            next_service = next_service.min(*taken_until);
            true
        });
        self.next_service = next_service;
        if next_service != Time::NEVER {
            link_table.calendar.wake(self.node, next_service);
        }
    }
}

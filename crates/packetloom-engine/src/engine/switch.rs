//! A switch: what arrives is routed to a port.

mod backpressure;
mod balance;
mod credits;
mod departures;
mod lazy;
mod link_control;
mod measures;
mod pauses;
mod plain;
mod ties;
mod timed;
mod turns;
mod updates;
mod watchdog;
mod windows;

use super::Tally;
use super::agent::PortAgent;
use super::arrival::Arrival;
use super::link_table::LinkTable;
use super::port::Port;
use crate::packets::{PacketId, Packets};
use crate::queue::Pool;
use crate::routing::Router;
use crate::spec::Values;
use crate::units::{ByteTime, Time};
pub(super) use backpressure::Backpressure;
pub(super) use balance::Balance;
pub(super) use credits::{Credits, Returns};
use departures::Departures;
pub(super) use link_control::LinkControl;
pub(super) use pauses::{PauseSettings, Pauses};
use std::ops::Range;
pub(super) use ties::Ties;
pub(super) use updates::Updates;
pub(super) use windows::{LinkFacts, PortFacts, Windows};
pub use windows::{WindowState, WindowUse};

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
    order: Order,
}

/// In which order a switch forwards what arrives in a window: chosen when it is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// As it comes. The switch only forwards: it has no pool, no link control, no balancer, no agents and no order of
    /// its own for packets of one instant, records no paths, returns no headers, and does not cut through.
    Plain,
    /// One by one.
    Each,
    /// One by one, those of one instant in an order of the switch's own.
    Turns,
    /// One by one, and with them what leaves, all in order of time; `may_be_lazy`: except while its buffer stays quiet.
    Timed {
        /// See there.
        may_be_lazy: bool,
    },
}

/// What a switch is built from.
pub(super) struct Equipment {
    pub(super) router: Router,
    /// Its ports, among those of its shard.
    pub(super) ports: Range<usize>,
    /// Itself, among the nodes of its shard.
    pub(super) node: u32,
    /// Each incoming link's way back: the switch's port to the node that it comes from.
    pub(super) ways_back: Vec<u32>,
    /// Whether the transport has an agent at each of its ports.
    pub(super) has_agents: bool,
    pub(super) pool: Option<Pool>,
    pub(super) control: Option<LinkControl>,
    pub(super) balance: Option<Balance>,
    /// Whether headers that do not fit at a port go back to their senders.
    pub(super) returns: bool,
    /// Where the ways of packets are noted, the link of its first port, in the topology.
    pub(super) traces_from: Option<u32>,
    /// For cut-through without underrun.
    pub(super) cut_through: Option<CutThrough>,
    /// Who goes first at one instant, where that is not a matter of the link alone.
    pub(super) ties: Option<Ties>,
}

/// Packets in the order in which a switch forwards them, each with the port that it leaves by.
pub(super) type Routed = Vec<(PacketId, u32)>;

/// From how many arrivals on it pays to look up the ports first.
const MANY: usize = 2;

/// What a cut-through switch must know not to send what has not arrived.
pub(super) struct CutThrough {
    pub(super) header_bytes: u16,
    pub(super) byte_times: Vec<ByteTime>,
}

impl Switch {
    pub(super) fn new(equipment: Equipment) -> Switch {
        let Equipment { router, ports, node, ways_back, has_agents, .. } = equipment;
        let Equipment { pool, control, balance, returns, traces_from, cut_through, ties, .. } = equipment;
        let stores_and_forwards = !returns && traces_from.is_none() && cut_through.is_none();
        let only_forwards = pool.is_none() && balance.is_none() && stores_and_forwards;
        let only_pauses = only_forwards
            && matches!(&control, Some(LinkControl::Pauses(pauses)) if pauses.windows.is_none());
        let order = if control.is_some() || balance.is_some() {
            Order::Timed { may_be_lazy: only_pauses && lazy::allows(control.as_ref()) }
        } else if ties.is_some() {
            Order::Turns
        } else if only_forwards && !has_agents {
            Order::Plain
        } else {
            Order::Each
        };
        Switch {
            only_pauses,
            order,
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
        match self.order {
            Order::Plain => self.forward_plainly(arrivals, routed, ports, link_table),
            Order::Timed { may_be_lazy } => {
                let arriving = self.route_all(arrivals, routed, &link_table.packets, ports);
                reminders = arriving.reminders;
                if may_be_lazy && self.stays_quiet(arriving) {
                    self.run_lazily((start, end), (arrivals, routed), ports, link_table);
                } else {
                    self.run_in_order((start, end), (arrivals, routed), ports, link_table);
                }
            }
            Order::Turns => self.forward_in_turn(start, arrivals, ports, link_table),
            Order::Each => {
                for arrival in arrivals {
                    self.forward(arrival.at(start), arrival.link(start), arrival.id, ports, link_table);
                }
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
            Some(LinkControl::Pauses(pauses)) if pauses.windows.is_some() => {
                return self.join_within_window(now, (link, out), id, ports, link_table);
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

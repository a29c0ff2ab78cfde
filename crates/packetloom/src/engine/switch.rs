//! A switch: what arrives is routed to a port.

use super::Tally;
use super::agent::PortAgent;
use super::arrival::Arrival;
use super::port::Port;
use super::wires::Wires;
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::queue::{Departure, Loans, Pool, credit_packet};
use crate::routing::Router;
use crate::units::{ByteTime, Time};
use std::ops::Range;

/// A switch with all that belongs to it but its ports.
pub(super) struct Switch {
    router: Router,
    /// Its ports, among those of its shard.
    ports: Range<usize>,
    /// Itself, among the nodes of its shard.
    node: u32,
    /// Each incoming link's way back: the switch's port to the node that it comes from.
    ways_back: Vec<u32>,
    /// Ports whose buffers hold packets, and until when at least their links are taken.
    waiting: Vec<(u32, Time)>,
    /// The earliest of these times.
    next_service: Time,
    pool: Option<Pool>,
    /// The size of a notification, where departures are told to the link that the packet came from.
    credit_bytes: Option<u16>,
    /// What left at a moment of which nobody has been told yet.
    owed: Vec<Departure>,
    /// What it lends to hosts that are asked for flows.
    loans: Option<Loans>,
    /// Whether headers that find no room at a port go back to their senders.
    returns: bool,
    /// For cut-through without underrun: how much is seen first, and each incoming link's time per byte.
    cut_through: Option<CutThrough>,
    /// Whether it has no pool, sends no credits, returns no headers and does not cut through: it only forwards.
    is_plain: bool,
}

/// Packets in the order in which a switch forwards them, each with the port that it leaves by.
pub(super) type Routed = Vec<(PacketId, u32)>;

/// From how many arrivals on it pays to ask for the ports first.
const MANY: usize = 2;

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
        (credit_bytes, loans): (Option<u16>, Option<Loans>),
        returns: bool,
        cut_through: Option<CutThrough>,
    ) -> Switch {
        let is_plain = pool.is_none() && credit_bytes.is_none() && !returns && cut_through.is_none();
        Switch {
            is_plain,
            router,
            ports,
            node,
            ways_back,
            waiting: Vec::new(),
            next_service: Time::NEVER,
            pool,
            credit_bytes,
            owed: Vec::new(),
            loans,
            returns,
            cut_through,
        }
    }

    pub(super) fn ports(&self) -> Range<usize> {
        self.ports.clone()
    }

    /// Those of its ports that may have packets to send before `end`.
    fn due<'a, H, A>(&self, end: Time, ports: &'a [Port<H, A>]) -> impl Iterator<Item = &'a Port<H, A>> {
        let due = self.waiting.iter().filter(move |(_, taken_until)| *taken_until < end);
        due.map(|&(port, _)| &ports[port as usize])
    }

    /// Asks for these.
    pub(super) fn expect_ports<H: Copy + Default, A: PortAgent<H>>(&self, end: Time, ports: &[Port<H, A>]) {
        self.due(end, ports).for_each(Port::prefetch);
    }

    /// Asks for the packets that they send first, unless others come that go before them.
    pub(super) fn expect_packets<H: Copy + Default, A: PortAgent<H>>(
        &self,
        end: Time,
        ports: &[Port<H, A>],
        packets: &Packets<H>,
    ) {
        self.due(end, ports).for_each(|port| port.prefetch_packets(packets));
    }

    /// Does all that happens here, and at the switch's `ports`, from `start` to before `end`; `arrivals` are in order.
    pub(super) fn run_window<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        (start, end): (Time, Time),
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
        (arrivals, routed): (&[Arrival], &mut Routed),
        tally: &mut Tally,
    ) {
        if self.is_plain && !A::ACTIVE {
            self.forward_plainly(arrivals, routed, ports, wires);
        } else {
            for arrival in arrivals {
                let now = arrival.at(start);
                if self.credit_bytes.is_some() {
                    self.depart_until(now, ports, wires);
                }
                self.forward(now, arrival.link(start), arrival.id, ports, wires);
            }
            if self.credit_bytes.is_some() {
                self.depart_until(Time(end.as_ps() - 1), ports, wires);
            }
        }
        tally.packet_hops += arrivals.len() as u64;
        tally.events += arrivals.len() as u64;
        if self.next_service < end {
            self.serve(end, ports, wires);
        }
    }

    /// Forwards packets where switches do nothing but that. Where many arrive, the ports for all of them are found before the
    /// first is sent, so that the ports' memory is asked for in good time.
    #[inline]
    fn forward_plainly<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        arrivals: &[Arrival],
        routed: &mut Routed,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        if arrivals.len() < MANY {
            for &Arrival { id, .. } in arrivals {
                let out = self.router.port_for(wires.packets.get(id));
                self.pass_on(id, out, ports, wires);
            }
            return;
        }
        // What holds of one port holds of all.
        if ports[0].is_straight() {
            self.route(arrivals, routed, &wires.packets, |out| ports[out as usize].prefetch_straight());
            for &(id, out) in &*routed {
                ports[out as usize].accept_straight(id, wires);
            }
            return;
        }
        self.route(arrivals, routed, &wires.packets, |out| ports[out as usize].prefetch());
        for &(id, out) in &*routed {
            self.pass_on(id, out, ports, wires);
        }
    }

    /// Finds the ports for packets, and asks for them.
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
        wires: &mut Wires<H>,
    ) {
        let port = &mut ports[out as usize];
        port.accept(wires.packets.get(id).time, id, wires, None);
        self.note_waiting(out, port);
    }

    fn forward<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        id: PacketId,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        let packet = wires.packets.get_mut(id);
        if self.credit_bytes.is_some() {
            if packet.kind == Kind::Credit {
                let packet = wires.packets.take(id);
                self.take_credit(now, link, &packet, ports, wires);
                return;
            }
            if let (Kind::Query, Some(loans)) = (packet.kind, &mut self.loans) {
                loans.answer(packet);
            }
            // No source chooses paths here (see `queue::check_credits`), so the field is free to say where it came from.
            packet.path = link as u16;
        }
        let out = self.router.port_for(packet);
        if A::ACTIVE {
            let back = self.ways_back[link as usize];
            ports[back as usize].answer(now, packet);
        }
        if let Some(pool) = &mut self.pool {
            for port in &mut *ports {
                port.settle(now, pool);
            }
        }
        let port = &mut ports[out as usize];
        if let Some(cut) = &self.cut_through {
            let from = cut.byte_times[link as usize];
            packet.time = port.cut_through_start(from, cut.header_bytes, packet.size_bytes, now);
        }
        port.accept(now, id, wires, self.pool.as_mut());
        self.note_waiting(out, &mut ports[out as usize]);
        if self.returns
            && let Some(returned) = ports[out as usize].take_returned()
        {
            let packet = wires.packets.get_mut(returned);
            packet.time = now;
            let back = self.router.port_for(packet);
            ports[back as usize].accept(now, returned, wires, None);
            self.note_waiting(back, &mut ports[back as usize]);
        }
    }

    /// What a host was lent comes back, or the far end of a link tells of room there.
    fn take_credit<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        packet: &Packet<H>,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        let bytes = packet.priority.into();
        if self.loans.as_mut().is_some_and(|loans| loans.take_back(link, bytes)) {
            return;
        }
        let back = self.ways_back[link as usize];
        ports[back as usize].credit(now, packet.class, bytes, wires);
        self.note_waiting(back, &mut ports[back as usize]);
    }

    /// Lets packets leave in order of time, then port, and tells the links that they came from, each at that moment: the
    /// notifications go out by ports, too.
    fn depart_until<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        last: Time,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        let mut moment = Time::ZERO;
        loop {
            let next = self.waiting.iter().map(|&(port, _)| (&ports[port as usize], port));
            let next =
                next.filter(|(port, _)| port.is_waiting()).map(|(port, number)| (port.free_at(), number));
            let next = next.min().filter(|&(at, _)| at <= last);
            if !self.owed.is_empty() && next.is_none_or(|(at, _)| at > moment) {
                self.tell(moment, ports, wires);
                continue;
            }
            let Some((_, number)) = next else { return };
            if let Some((now, departure)) = ports[number as usize].depart(wires) {
                moment = now;
                self.owed.push(departure);
            }
        }
    }

    /// Tells the links that packets came from of all that left at a moment. Not one by one: a port that takes a
    /// notification first sends what it could send by then, and of that nobody would be told.
    fn tell<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        let Some(credit_bytes) = self.credit_bytes else { return };
        for Departure { from, class, bytes } in std::mem::take(&mut self.owed) {
            let packet = Packet { time: now, ..credit_packet(class, bytes.into(), credit_bytes) };
            let back = self.ways_back[usize::from(from)];
            let id = wires.packets.add(packet);
            ports[back as usize].accept(now, id, wires, None);
            self.note_waiting(back, &mut ports[back as usize]);
        }
    }

    #[inline]
    fn note_waiting<H: Copy + Default, A: PortAgent<H>>(&mut self, number: u32, port: &mut Port<H, A>) {
        if port.enlist() {
            self.waiting.push((number, Time::ZERO));
            self.next_service = Time::ZERO;
        }
    }

    /// Lets buffered ports send what starts before `end`, and has the switch woken for the rest.
    fn serve<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        end: Time,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        let mut next_service = Time::NEVER;
        self.waiting.retain_mut(|(port, taken_until)| {
            if *taken_until < end {
                let port = &mut ports[*port as usize];
                port.serve_until(end, wires);
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
            wires.calendar.wake(self.node, next_service);
        }
    }
}

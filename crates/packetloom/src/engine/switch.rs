//! A switch: what arrives is routed to a port.

use super::Tally;
use super::agent::PortAgent;
use super::port::Port;
use super::wires::Wires;
use crate::packet::{Kind, Packet};
use crate::queue::{Departure, Loans, Pool, credit_packet};
use crate::routing::Router;
use crate::units::{ByteTime, Time};
use std::ops::Range;

/// Arrivals are sorted as one number: time since the window began, above the link's number at the switch.
const LINK_BITS: u32 = 20;

/// What links' numbers are combined with, so that which of two links goes first at equal times changes from moment to
/// moment. Otherwise a link would always win over those with higher numbers, and exact ties are the rule where equal
/// packets follow the clock of one bottleneck: its flows would get more (Floyd and Jacobson, "On traffic phase effects
/// in packet-switched gateways", 1992).
#[inline]
fn turn(at: Time) -> u64 {
    at.as_ps().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - LINK_BITS)
}

/// A switch with all that belongs to it but its ports.
pub(super) struct Switch {
    router: Router,
    /// Its ports, among those of its shard.
    ports: Range<usize>,
    /// Its links' far ends, and its agenda's slot after them.
    slots: Range<u32>,
    /// Each incoming link's way back: the switch's port to the node that it comes from.
    ways_back: Vec<u32>,
    /// Ports whose buffers hold packets, and until when at least their links are taken.
    waiting: Vec<(u32, Time)>,
    pool: Option<Pool>,
    /// The size of a notification, where departures are told to the link that the packet came from.
    credit_bytes: Option<u16>,
    /// What it lends to hosts that are asked for flows.
    loans: Option<Loans>,
    /// Whether headers that find no room at a port go back to their senders.
    returns: bool,
    /// For cut-through without underrun: how much is seen first, and each incoming link's time per byte.
    cut_through: Option<CutThrough>,
}

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
        slots: Range<u32>,
        ways_back: Vec<u32>,
        pool: Option<Pool>,
        (credit_bytes, loans): (Option<u16>, Option<Loans>),
        returns: bool,
        cut_through: Option<CutThrough>,
    ) -> Switch {
        Switch {
            router,
            ports,
            slots,
            ways_back,
            waiting: Vec::new(),
            pool,
            credit_bytes,
            loans,
            returns,
            cut_through,
        }
    }

    pub(super) fn ports(&self) -> Range<usize> {
        self.ports.clone()
    }

    /// Does all that happens here, and at the switch's `ports`, from `start` to before `end`; packets are due at the
    /// slots `due`.
    pub(super) fn run_window<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        (start, end): (Time, Time),
        due: &[u32],
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
        arrivals: &mut Vec<u64>,
        tally: &mut Tally,
    ) {
        self.gather(start, end, due, wires, arrivals);
        for &arrival in arrivals.iter() {
            let now = Time(start.as_ps() + (arrival >> LINK_BITS));
            let link = ((arrival & ((1 << LINK_BITS) - 1)) ^ turn(now)) as u32;
            if self.credit_bytes.is_some() {
                self.depart_until(now, ports, wires);
            }
            self.forward(now, link, ports, wires);
        }
        if self.credit_bytes.is_some() {
            self.depart_until(Time(end.as_ps() - 1), ports, wires);
        }
        tally.packet_hops += arrivals.len() as u64;
        tally.events += arrivals.len() as u64;
        for &slot in due {
            wires.reschedule(slot);
        }
        if !self.waiting.is_empty() {
            self.serve(end, ports, wires);
        }
    }

    /// Lists what arrives before `end`, in order of time, then link.
    #[inline]
    fn gather<H: Copy + Default>(
        &self,
        start: Time,
        end: Time,
        due: &[u32],
        wires: &Wires<H>,
        arrivals: &mut Vec<u64>,
    ) {
        arrivals.clear();
        for &slot in due {
            let channel = &wires.channels[slot as usize];
            let link = u64::from(slot - self.slots.start);
            let mut nth = 0;
            while let Some(at) = channel.arrival(nth)
                && at < end
            {
                arrivals.push((at.as_ps() - start.as_ps()) << LINK_BITS | (link ^ turn(at)));
                nth += 1;
            }
        }
        if due.len() > 1 {
            arrivals.sort_unstable();
        }
    }

    #[inline]
    fn forward<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        let Some(mut packet) = wires.channels[(self.slots.start + link) as usize].pop() else { return };
        if self.credit_bytes.is_some() {
            if packet.kind == Kind::Credit {
                self.take_credit(now, link, &packet, ports, wires);
                return;
            }
            if let (Kind::Query, Some(loans)) = (packet.kind, &mut self.loans) {
                loans.answer(&mut packet);
            }
            // No source chooses paths here (see `queue::check_credits`), so the field is free to say where it came from.
            packet.path = link as u16;
        }
        let out = self.router.port_for(&packet);
        if A::ACTIVE {
            let back = self.ways_back[link as usize];
            ports[back as usize].answer(now, &mut packet);
        }
        if let Some(pool) = &mut self.pool {
            for port in &mut *ports {
                port.settle(now, pool);
            }
        }
        let port = &mut ports[out as usize];
        packet.time = match &self.cut_through {
            Some(cut) => port.cut_through_start(
                cut.byte_times[link as usize],
                cut.header_bytes,
                packet.size_bytes,
                now,
            ),
            None => now,
        };
        port.accept(now, &mut packet, wires, self.pool.as_mut());
        if port.enlist() {
            self.waiting.push((out, Time::ZERO));
        }
        if self.returns
            && let Some(returned) = port.take_returned()
        {
            let back = self.router.port_for(&returned);
            ports[back as usize].accept(now, &mut Packet { time: now, ..returned }, wires, None);
            self.note_waiting(back, ports);
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
        self.note_waiting(back, ports);
    }

    /// Lets packets leave in order of time, then port, and tells the links that they came from, each at that moment: the
    /// notifications go out by ports, too.
    fn depart_until<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        last: Time,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        let Some(credit_bytes) = self.credit_bytes else { return };
        loop {
            let next = self.waiting.iter().map(|&(port, _)| (&ports[port as usize], port));
            let next =
                next.filter(|(port, _)| port.is_waiting()).map(|(port, number)| (port.free_at(), number));
            let Some((_, number)) = next.min().filter(|&(at, _)| at <= last) else { return };
            let left = ports[number as usize].depart(wires);
            let Some((now, Departure { from, class, bytes })) = left else { continue };
            let mut packet = Packet { time: now, ..credit_packet(class, bytes.into(), credit_bytes) };
            let back = self.ways_back[usize::from(from)];
            ports[back as usize].accept(now, &mut packet, wires, None);
            self.note_waiting(back, ports);
        }
    }

    fn note_waiting<H: Copy + Default, A: PortAgent<H>>(&mut self, port: u32, ports: &mut [Port<H, A>]) {
        if ports[port as usize].enlist() {
            self.waiting.push((port, Time::ZERO));
        }
    }

    /// Lets buffered ports send what starts before `end`, and has the switch woken for the rest.
    fn serve<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        end: Time,
        ports: &mut [Port<H, A>],
        wires: &mut Wires<H>,
    ) {
        let agenda_slot = self.slots.end - 1;
        self.waiting.retain_mut(|(port, taken_until)| {
            if *taken_until >= end {
                return true;
            }
            let port = &mut ports[*port as usize];
            port.serve_until(end, wires);
            if port.is_waiting() {
                *taken_until = port.free_at();
                wires.wake(agenda_slot, *taken_until);
            } else {
                port.delist();
            }
            port.is_waiting()
        });
    }
}

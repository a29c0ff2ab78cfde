//! Arrivals and departures in order of time, as those who count both have to, and balancers, who look at queues.

use super::lazy::Arriving;
use super::{LinkControl, MANY, Routed, Switch};
use crate::engine::agent::PortAgent;
use crate::engine::arrival::Arrival;
use crate::engine::link_table::LinkTable;
use crate::engine::port::Port;
use crate::link_message::LinkMessage;
use crate::packet::Kind;
use crate::packets::{PacketId, Packets};
use crate::units::Time;

/// How many arrivals ahead packets are prefetched.
const AHEAD: usize = 6;

impl Switch {
    /// Forwards packets, and lets others leave, in order of time, as those who count both have to, and balancers,
    /// who look at queues. Where departures come first at an instant they are done with before the arrivals of that
    /// instant.
    #[inline(never)]
    pub(super) fn run_in_order<H: Copy + Default, A: PortAgent<H>>(
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
        self.schedule_windows(link_table);
        self.schedule_departure(link_table);
    }

    /// Finds and prefetches the ports of all arrivals; returns what they are. Messages are not routed. A balancer decides
    /// later, when it can see the queues.
    pub(super) fn route_all<H: Copy + Default, A: PortAgent<H>>(
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
            let out = if is_routed_now { self.router.port_without_branch(packet) } else { 0 };
            ports[out as usize].prefetch();
            routed.push((id, out));
        }
        if arrivals.len() >= MANY {
            routed.iter().for_each(|&(_, out)| ports[out as usize].prefetch_queue());
        }
        arriving
    }
}

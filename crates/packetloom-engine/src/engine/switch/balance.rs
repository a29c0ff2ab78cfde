//! A switch whose balancer sees every packet, and the switch's queues (see [`crate::routing::Balancer`]).

use super::Switch;
use crate::engine::agent::PortAgent;
use crate::engine::link_table::LinkTable;
use crate::engine::port::Port;
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::packet_tag::Tag;
use crate::packets::PacketId;
use crate::routing::{Actions, Balancer, Count, Look, Notice, Pass, Passing};
use crate::spec::Values;
use crate::units::Time;

/// A balancer, and what it wants done.
pub(in crate::engine) struct Balance {
    balancer: Box<dyn Balancer>,
    /// The switch, in the topology.
    node: u32,
    actions: Actions,
    /// How many more notices were made here than ended here.
    notices: i64,
}

impl Balance {
    /// The balancer of a switch, which the topology knows by this number.
    pub(in crate::engine) fn new(balancer: Box<dyn Balancer>, node: u32) -> Balance {
        Balance { balancer, node, actions: Actions::default(), notices: 0 }
    }

    /// Has the balancer go by other values.
    pub(in crate::engine) fn go_by(&mut self, values: &Values) {
        self.balancer.set(values);
    }

    /// The switch, in the topology.
    pub(in crate::engine) fn node(&self) -> u32 {
        self.node
    }

    /// How many more notices were made here than ended here.
    pub(in crate::engine) fn notices(&self) -> i64 {
        self.notices
    }

    /// What the balancer counted.
    pub(in crate::engine) fn counts(&self) -> Vec<(&'static str, Count)> {
        self.balancer.counts()
    }

    /// The packets that are neither at a port nor on a link.
    pub(in crate::engine) fn held(&self) -> Vec<PacketId> {
        self.balancer.held()
    }
}

/// The switch's ports at a moment.
struct Queues<'a, H, A> {
    now: Time,
    /// Whether packets leave in order of time, as the switch has to know of each departure.
    in_order: bool,
    ports: &'a mut [Port<H, A>],
    link_table: &'a mut LinkTable<H>,
}

impl<H: Copy + Default, A: PortAgent<H>> Look for Queues<'_, H, A> {
    fn queued_bytes(&mut self, port: u32) -> u64 {
        let port = &mut self.ports[port as usize];
        // Otherwise what it sees would depend on when the port was served last, and so on the window.
        if self.in_order {
            port.queued_bytes_at(self.now, self.link_table)
        } else {
            port.settle(self.now, self.link_table)
        }
    }

    fn is_paused(&mut self, port: u32) -> bool {
        self.ports[port as usize].paused().is_some_and(|paused| paused.bits() != 0)
    }
}

impl Switch {
    /// Does with a packet that came by a link what the balancer says.
    pub(super) fn balance<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        id: PacketId,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let passing = self.passing(now, id, link_table);
        self.measure(now, ports, link_table);
        match self.decide(&passing, ports, link_table) {
            Some(Pass::By(out)) => self.forward_to(now, (link, out), id, ports, link_table),
            // What is held takes its place in the buffer, and goes down to its host by the only way.
            Some(Pass::Held) => {
                link_table.packets.set_ingress(id, link);
                if !self.take_in(now, (link, passing.ecmp), id, ports, link_table)
                    && let Some(balance) = &mut self.balance
                {
                    balance.balancer.forget(&passing);
                }
            }
            Some(Pass::Taken) => {
                link_table.packets.take(id);
            }
            None => {}
        }
        self.act(now, ports, link_table);
    }

    fn passing<H: Copy + Default>(&mut self, now: Time, id: PacketId, link_table: &LinkTable<H>) -> Passing {
        let packet = link_table.packets.get(id);
        let ecmp = self.router.port_for(packet);
        Passing {
            id,
            now,
            flow: packet.flow,
            subflow: packet.path,
            src: packet.src,
            dst: packet.dst,
            size_bytes: packet.size_bytes,
            kind: packet.kind,
            class: packet.class,
            is_marked: packet.congestion_experienced,
            ecmp,
        }
    }

    /// What the balancer says of a packet.
    fn decide<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        passing: &Passing,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) -> Option<Pass> {
        let in_order = self.control.is_some();
        let balance = self.balance.as_mut()?;
        let (id, now) = (passing.id, passing.now);
        let ways = self.router.ways(passing.dst, now);
        let mut tag = link_table.packets.tag(id);
        let stamp = tag.stamp;
        let mut look = Queues { now, in_order, ports, link_table };
        let pass = balance.balancer.pass(passing, &mut tag, ways, &mut look, &mut balance.actions);
        link_table.packets.set_tag(id, Tag { stamp, ..tag });
        balance.notices -= i64::from(pass == Pass::Taken);
        Some(pass)
    }

    /// Does what the balancer wants done.
    pub(super) fn act<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let Some(balance) = &mut self.balance else { return };
        let mut actions = std::mem::take(&mut balance.actions);
        for (id, out) in actions.released.drain(..) {
            link_table.packets.get_mut(id).time = now;
            let link = link_table.packets.ingress(id);
            self.depart_before_joining(now, ports, link_table);
            self.send_on(now, (link, out), id, ports, link_table);
        }
        let made = narrow::<i64>(actions.notices.len());
        for notice in actions.notices.drain(..) {
            self.depart_before_joining(now, ports, link_table);
            self.send_notice(now, notice, ports, link_table);
        }
        if let Some(balance) = &mut self.balance {
            balance.notices += made;
            balance.actions = actions;
        }
    }

    /// Lets packets leave that precede what joins now, so that their links are notified.
    fn depart_before_joining<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        if self.pauses().is_none() {
            self.depart_until(now, ports, link_table);
        }
    }

    fn send_notice<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        notice: Notice,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let Notice { flow, subflow: path, src, dst, tag, size_bytes } = notice;
        let kind = Kind::Notice;
        let packet = Packet { time: now, flow, path, src, dst, size_bytes, kind, ..Packet::default() };
        let out = self.router.port_for(&packet);
        let id = link_table.packets.add(packet);
        link_table.packets.set_tag(id, tag);
        if self.control.is_some() {
            return self.join(now, out, id, ports, link_table);
        }
        self.note_port(now, out, ports, link_table);
        ports[out as usize].accept(now, id, link_table, self.pool.as_mut());
        self.note_waiting(out, &mut ports[out as usize]);
    }

    /// Has the balancer do what is due by `last`, each thing at its time.
    pub(super) fn wake_balancer_until<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        last: Time,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        while let Some(balance) = self.balance.as_mut().filter(|balance| balance.balancer.next_at() <= last) {
            let now = balance.balancer.next_at();
            balance.balancer.wake(now, &mut balance.actions);
            self.measure(now, ports, link_table);
            self.depart_until(Time(now.as_ps().saturating_sub(1)), ports, link_table);
            self.act(now, ports, link_table);
        }
    }

    /// Has the switch woken when its balancer has something to do.
    pub(super) fn schedule_balancer<H: Copy + Default>(&self, link_table: &mut LinkTable<H>) {
        let next = self.balance.as_ref().map_or(Time::NEVER, |balance| balance.balancer.next_at());
        if next != Time::NEVER {
            link_table.calendar.wake(self.node, next);
        }
    }
}

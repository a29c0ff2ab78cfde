//! Windows in which a shared buffer stays quiet: no link is paused in them or resumed, whatever leaves when. What packets
//! take of the buffer then adds up to the same in any order, so each port is served when a packet joins it and at the
//! window's end, instead of all ports in order of time.

use super::departures::Departures;
use super::{LinkControl, Switch};
use crate::engine::agent::PortAgent;
use crate::engine::arrival::Arrival;
use crate::engine::link_table::LinkTable;
use crate::engine::port::Port;
use crate::link_message::LinkMessage;
use crate::packet::{Kind, Packet};
use crate::packets::PacketId;
use crate::queue::{Memory, charged_class, class_in, is_charged};
use crate::units::Time;

/// What arrives at a switch in a window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arriving {
    /// Messages that are only reminders.
    pub(super) reminders: u64,
    /// Bytes that are charged to the links that they come by.
    charged_bytes: u64,
    /// Their classes, a bit for each.
    classes: u8,
    /// Whether anything is a message.
    has_messages: bool,
}

impl Arriving {
    /// Counts a packet.
    #[inline(always)]
    pub(super) fn count<H>(&mut self, packet: &Packet<H>) {
        if packet.kind == Kind::Link {
            self.has_messages = true;
            self.reminders += u64::from(LinkMessage::is_reminder(packet));
        } else {
            // Without a branch: which of the packets are charged the processor can't foresee.
            let is_charged = is_charged(packet);
            self.charged_bytes += u64::from(packet.size_bytes) * u64::from(is_charged);
            self.classes |= u8::from(is_charged) << class_in(packet.class);
        }
    }
}

/// Whether a switch may serve its ports lazily at times. With a watchdog what a port refuses depends on the time.
pub(super) fn allows(control: Option<&LinkControl>) -> bool {
    match control {
        Some(LinkControl::Pauses(pauses)) => {
            pauses.memory.may_be_quiet() && pauses.patience() == Time::NEVER && pauses.windows.is_none()
        }
        _ => false,
    }
}

impl Switch {
    /// Whether no link is paused or resumed in a window in which this arrives.
    #[inline]
    pub(super) fn stays_quiet(&self, arriving: Arriving) -> bool {
        let Arriving { charged_bytes, classes, has_messages, .. } = arriving;
        let stays = |memory: &Memory| memory.stays_quiet(charged_bytes, classes);
        !has_messages && self.pauses().is_some_and(|pauses| stays(&pauses.memory))
    }

    /// Forwards packets in a window in which the buffer stays quiet.
    pub(super) fn run_lazily<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        (start, end): (Time, Time),
        (arrivals, routed): (&[Arrival], &[(PacketId, u32)]),
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let Some(LinkControl::Pauses(pauses)) = &mut self.control else { return };
        let (departures, ways_back) = (&mut self.departures, self.ways_back.as_slice());
        let orders_all = pauses.orders_all();
        let mut first = 0;
        while first < arrivals.len() {
            let arrival = arrivals[first];
            let is_alone = arrivals.get(first + 1).is_none_or(|next| !next.is_with(arrival));
            if is_alone && !orders_all {
                let mut lazy = Lazy { memory: &mut pauses.memory, departures, ways_back };
                lazy.forward((start, arrival), routed[first], ports, link_table);
                first += 1;
                continue;
            }
            let together = arrivals[first..].iter().take_while(|next| next.is_with(arrival)).count();
            let (arrivals, routed) = (&arrivals[first..first + together], &routed[first..first + together]);
            let in_turn = pauses.turns(arrivals, start, &mut link_table.packets);
            let mut lazy = Lazy { memory: &mut pauses.memory, departures, ways_back };
            for nth in in_turn {
                lazy.forward((start, arrivals[nth]), routed[nth], ports, link_table);
            }
            first += together;
        }
        Lazy { memory: &mut pauses.memory, departures, ways_back }.serve_all(end, ports, link_table);
        self.schedule_departure(link_table);
    }
}

/// What of a switch lets packets pass while its buffer stays quiet.
struct Lazy<'a> {
    memory: &'a mut Memory,
    departures: &'a mut Departures,
    ways_back: &'a [u32],
}

impl Lazy<'_> {
    /// Forwards a packet, once its port has sent what could leave before.
    #[inline(always)]
    fn forward<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        (start, arrival): (Time, Arrival),
        (id, out): (PacketId, u32),
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let now = arrival.at(start);
        if A::ACTIVE {
            let back = self.ways_back[arrival.link(start) as usize];
            ports[back as usize].answer(link_table.packets.get_mut(id));
        }
        let port = &mut ports[out as usize];
        if port.is_waiting() & (port.free_at() < now) {
            self.serve(Time(now.as_ps() - 1), port, link_table);
        }
        if !A::ACTIVE && port.is_open_unseen(now, link_table.packets.get(id)) {
            return port.send_at_once(now, id, link_table);
        }
        self.join(now, (arrival.link(start), out), id, port, link_table);
    }

    /// A packet joins its port, unless it starts at once.
    fn join<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        (link, out): (u32, u32),
        id: PacketId,
        port: &mut Port<H, A>,
        link_table: &mut LinkTable<H>,
    ) {
        let packet = link_table.packets.get(id);
        if !port.is_open(now, packet)
            && let Some(class) = charged_class(packet)
        {
            self.memory.arrive_quietly(link, class, packet.size_bytes);
            link_table.packets.set_ingress(id, link);
        }
        port.accept(now, id, link_table, None);
        if port.enlist() {
            self.departures.add(out, port.free_at());
        }
    }

    /// Lets packets leave a port until `last`.
    #[inline]
    fn serve<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        last: Time,
        port: &mut Port<H, A>,
        link_table: &mut LinkTable<H>,
    ) {
        while port.is_waiting() & (port.free_at() <= last) {
            if let Some((_, left)) = port.depart(link_table) {
                self.memory.leave_quietly(left.from, left.class, left.bytes);
            }
        }
    }

    /// Lets packets leave all ports before `end`.
    fn serve_all<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        end: Time,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        while self.departures.next_at() < end {
            let Some(number) = self.departures.take() else { break };
            let port = &mut ports[number as usize];
            self.serve(Time(end.as_ps() - 1), port, link_table);
            port.list();
            if port.is_waiting() {
                self.departures.add(number, port.free_at());
            }
        }
    }
}

//! Priority flow control (IEEE 802.1Qbb): what a packet takes of the shared buffer is charged to the link that it
//! came by until it leaves, and a link whose class has too much is paused.

use super::ties::{Tied, Ties};
use super::{LinkControl, Switch, Windows, watchdog};
use crate::engine::agent::PortAgent;
use crate::engine::arrival::Arrival;
use crate::engine::link_table::LinkTable;
use crate::engine::port::Port;
use crate::link_message::{LinkMessage, PauseOrigin};
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::queue::{self, Departure, Memory, Signals, charged_class};
use crate::units::{Rate, Time};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// A switch's shared buffer, and what it says of it.
pub(in crate::engine) struct Pauses {
    pub(in crate::engine) memory: Memory,
    settings: PauseSettings,
    /// The switch, and the link of its first port, in the topology.
    node: u32,
    first_link_out: u32,
    ties: Ties,
    /// By link and class: when its pause is to be said again. Nothing is noted of pauses that end with a RESUME.
    renewals: BTreeMap<(u32, u8), Time>,
    /// Windows for destinations, if it has them.
    pub(super) windows: Option<Box<Windows>>,
}

/// What a queue says of pauses.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct PauseSettings {
    /// The size of a PAUSE or RESUME.
    pub(in crate::engine) frame_bytes: u16,
    /// How long a PAUSE holds; [`Time::NEVER`]: until a RESUME.
    lasts: Time,
    /// Whether a PAUSE that ends is said again in time; else with each packet that comes meanwhile.
    in_time: bool,
    /// For how long a class may be kept from being sent; [`Time::NEVER`]: for any time.
    patience: Time,
}

impl PauseSettings {
    /// As a scenario specifies them.
    pub(in crate::engine) fn of(pauses: &queue::Pauses) -> PauseSettings {
        PauseSettings {
            frame_bytes: narrow::<u16>(pauses.frame_bytes),
            lasts: pauses.lasts.unwrap_or(Time::NEVER),
            in_time: !pauses.run_out,
            patience: pauses.watchdog.unwrap_or(Time::NEVER),
        }
    }

    /// The quanta that a PAUSE asks for on a link of this rate.
    pub(in crate::engine) fn quanta(&self, rate: Rate) -> u32 {
        if self.lasts == Time::NEVER {
            LinkMessage::UNTIL_RESUMED
        } else {
            LinkMessage::quanta(self.lasts, rate)
        }
    }

    /// After how long a message to a link of this rate is to be said again, if whatever comes meanwhile.
    pub(in crate::engine) fn say_again_after(&self, message: LinkMessage, rate: Rate) -> Option<Time> {
        message.say_again_after(rate).filter(|_| self.in_time)
    }
}

impl Pauses {
    pub(in crate::engine) fn new(
        memory: Memory,
        settings: PauseSettings,
        ties: Ties,
        (node, first_link_out): (u32, u32),
    ) -> Pauses {
        Pauses { memory, settings, node, first_link_out, ties, renewals: BTreeMap::new(), windows: None }
    }

    pub(in crate::engine) fn with_windows(self, windows: Windows) -> Pauses {
        Pauses { windows: Some(Box::new(windows)), ..self }
    }

    /// For how long a class may be kept from being sent.
    pub(super) fn patience(&self) -> Time {
        self.settings.patience
    }

    /// Where a pause of a class begins: at the port where most of it waits, which need not be the one that the
    /// packet leaves by that is one too many; if that port is paused itself, where that began.
    fn origin<H: Copy + Default, A: PortAgent<H>>(
        &self,
        class: u8,
        out: u32,
        ports: &[Port<H, A>],
    ) -> PauseOrigin {
        let waits = |port: u32| ports[port as usize].class_bytes(class);
        let others = 0..narrow::<u32>(ports.len());
        let fullest = others.fold(out, |most, port| if waits(port) > waits(most) { port } else { most });
        let here = PauseOrigin { link: self.first_link_out + fullest, passed_on: 0 };
        let passed_on = |origin: PauseOrigin| PauseOrigin { passed_on: origin.passed_on + 1, ..origin };
        ports[fullest as usize].paused().and_then(|paused| paused.origin(class)).map_or(here, passed_on)
    }

    /// See [`Ties::orders_all`].
    pub(super) fn orders_all(&self) -> bool {
        self.ties.orders_all()
    }

    /// The order in which arrivals of the same instant are taken: link by link.
    pub(super) fn turns<H: Copy + Default>(
        &mut self,
        together: &[Arrival],
        window_start: Time,
        packets: &mut Packets<H>,
    ) -> SmallVec<[usize; 8]> {
        let carries_plans = self.orders_all();
        let of = |arrival: &Arrival| {
            let packet = packets.get_mut(arrival.id);
            let has_plan = carries_plans && packet.kind == Kind::Data;
            // Switches further on know nothing of the host's plan.
            let planned_ago = if has_plan { std::mem::take(&mut packet.priority) } else { 0 };
            Tied { link: arrival.link(window_start), size_bytes: packet.size_bytes, planned_ago }
        };
        self.ties.order(together.iter().map(of))
    }

    /// The switch, in the topology.
    pub(in crate::engine) fn node(&self) -> u32 {
        self.node
    }
}

impl Switch {
    pub(in crate::engine) fn pauses(&self) -> Option<&Pauses> {
        match &self.control {
            Some(LinkControl::Pauses(pauses)) => Some(pauses),
            _ => None,
        }
    }

    pub(super) fn pauses_mut(&mut self) -> Option<&mut Pauses> {
        match &mut self.control {
            Some(LinkControl::Pauses(pauses)) => Some(pauses),
            _ => None,
        }
    }

    /// Whether the order of so many arrivals of one instant has to be worked out: one alone has none, unless what it
    /// says counts later.
    pub(super) fn decides_turns(&self, arrivals: usize) -> bool {
        let ties = self.pauses().map(|pauses| &pauses.ties).or(self.ties.as_ref());
        arrivals > 1 || ties.is_some_and(Ties::orders_all)
    }

    /// The order in which arrivals of the same instant are taken. With a shared buffer they are taken link by link.
    pub(super) fn turns<H: Copy + Default>(
        &mut self,
        together: &[Arrival],
        window_start: Time,
        packets: &mut Packets<H>,
    ) -> SmallVec<[usize; 8]> {
        match self.pauses_mut() {
            Some(pauses) => pauses.turns(together, window_start, packets),
            None => self.own_turns(together, window_start, packets),
        }
    }

    /// Puts a packet straight onto its link if that is free and the buffer is not concerned. Returns whether it did.
    #[inline]
    pub(super) fn pass_at_once<H: Copy + Default, A: PortAgent<H>>(
        &self,
        now: Time,
        (link, out): (u32, u32),
        id: PacketId,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) -> bool {
        let (Some(pauses), port) = (self.pauses(), &mut ports[out as usize]) else { return false };
        let packet = link_table.packets.get(id);
        let passes = |class| pauses.memory.passes(link, class, packet.size_bytes);
        let goes = port.is_open_unseen(now, packet) && charged_class(packet).is_none_or(passes);
        if goes {
            port.send_at_once(now, id, link_table);
        }
        goes
    }

    /// Charges a packet that is to leave by port `out` to the link that it came by. Returns whether it fits.
    pub(super) fn charge<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        (link, out): (u32, u32),
        id: PacketId,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) -> bool {
        let Some(pauses) = self.pauses_mut() else { return true };
        let packet = link_table.packets.get(id);
        let (Some(class), size_bytes) = (charged_class(packet), packet.size_bytes) else { return true };
        if watchdog::drops(&ports[out as usize], packet) {
            ports[out as usize].refuse(id, link_table);
            return false;
        }
        let waiting = ports[out as usize].class_bytes(class);
        let (has_room, signals) = pauses.memory.arrive((link, out), class, size_bytes, waiting);
        if signals != Signals::default() {
            let origin = pauses.origin(class, out, ports);
            self.signal(now, link, signals, origin, ports, link_table);
        }
        if !has_room {
            self.refused_within_window(now, link, id, ports, link_table);
            ports[out as usize].refuse(id, link_table);
        }
        has_room
    }

    /// Lets packets leave in order of time, then port, and discharges the links that they came by.
    #[inline(never)]
    pub(super) fn depart_with_pauses<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        last: Time,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        while self.departures.next_at() <= last {
            let Some((now, out, left)) = self.depart_next(ports, link_table) else { continue };
            self.discharge(now, (left, out), ports, link_table);
        }
    }

    /// What a packet took of the buffer is free again, which left by a port.
    pub(super) fn discharge<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        (left, out): (Departure, u32),
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let Some(pauses) = self.pauses_mut() else { return };
        let signals = pauses.memory.leave((left.from, out), left.class, left.bytes);
        if signals != Signals::default() {
            self.signal(now, left.from, signals, PauseOrigin::default(), ports, link_table);
        }
    }

    /// Says to a link which of its classes are paused and resumed.
    pub(super) fn signal<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        signals: Signals,
        origin: PauseOrigin,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let back = self.ways_back[link as usize];
        let node = self.node;
        let Some(pauses) = self.pauses_mut() else { return };
        let rate = ports[back as usize].rate();
        for class in
            (0..narrow::<u8>(u8::BITS)).filter(|class| (signals.pause | signals.resume) >> class & 1 == 1)
        {
            let quanta = if signals.pause >> class & 1 == 1 { pauses.settings.quanta(rate) } else { 0 };
            let message = LinkMessage::Pause { class, quanta, origin };
            let frame = Packet { time: now, ..message.packet(pauses.settings.frame_bytes) };
            ports[back as usize].accept(now, link_table.packets.add(frame), link_table, None);
            if let Some(in_time) = pauses.settings.say_again_after(message, rate) {
                // The reminder of the pause before, if there is one, comes sooner, and is none any more.
                pauses.renewals.insert((link, class), now + in_time);
                link_table.remind((node, link), now + in_time, LinkMessage::PauseEnds { class });
            }
        }
        self.note_joined(back, &mut ports[back as usize]);
    }

    /// A pause ends soon: it is repeated while the class is above its threshold.
    pub(super) fn prolong<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        class: u8,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let back = self.ways_back[link as usize];
        let Some(pauses) = self.pauses_mut() else { return };
        // The reminder of a pause that another one has followed says nothing.
        if pauses.renewals.get(&(link, class)) != Some(&now) {
            return;
        }
        pauses.renewals.remove(&(link, class));
        if pauses.memory.paused(link) >> class & 1 == 0 {
            return;
        }
        let (signals, origin) = (Signals { pause: 1 << class, resume: 0 }, pauses.origin(class, back, ports));
        self.signal(now, link, signals, origin, ports, link_table);
    }
}

//! Windows for destinations (Floodgate, CoNEXT 2021): of the data for a host a switch sends no more than a window before
//! the next hops have sent it on. What is beyond waits in a VOQ; it is charged to its link, and counts as queued at its
//! port. Rules and their sources: `queue/floodgate/`.
//!
//! The switch is one with a shared buffer ([`super::Pauses`]), which has all that in its memory.

mod destinations;
mod numbers;
mod returns;

use super::Switch;
use crate::engine::agent::PortAgent;
use crate::engine::link_table::LinkTable;
use crate::engine::port::Port;
use crate::link_message::LinkMessage;
use crate::narrow::exact;
use crate::packet::{Kind, Packet};
use crate::packets::PacketId;
use crate::queue::{Departure, Left, WindowSettings};
use crate::units::Time;
use destinations::Destinations;
use numbers::Numbers;
use returns::{Due, Returns};

/// What a switch must know of a port.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct PortFacts {
    /// The window for destinations behind it; `None`: there is none.
    pub(in crate::engine) window_bytes: Option<u64>,
    /// Whether it leads upwards, or to the same level.
    pub(in crate::engine) is_upwards: bool,
}

/// What it must know of a link that leads to it.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct LinkFacts {
    /// Whether it comes from a switch, which has windows.
    pub(in crate::engine) is_from_switch: bool,
    /// Above how much in a VOQ its host is paused, if it comes from one that is.
    pub(in crate::engine) pause_above_bytes: Option<u64>,
}

/// A switch's windows.
pub(in crate::engine) struct Windows {
    ports: Vec<PortFacts>,
    links: Vec<LinkFacts>,
    to: Destinations,
    returns: Returns,
    numbers: Option<Numbers>,
    message_bytes: u16,
}

/// What the audit compares of a switch's windows.
#[derive(Clone, Debug, Default)]
pub struct WindowState {
    /// Of destinations: what is missing of the window, and what waits in VOQs.
    pub destinations: Vec<WindowUse>,
    /// By link and destination, what it has yet to give back.
    pub owed: Vec<(u32, u32, u64)>,
    /// Before which of its ports there are windows.
    pub has_window: Vec<bool>,
    /// Whether bytes are numbered, so that what comes back is no sum.
    pub is_numbered: bool,
}

/// A window, as the audit sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowUse {
    /// The destination.
    pub dst: u32,
    /// What is missing of the window.
    pub missing_bytes: u64,
    /// What waits in VOQs.
    pub aside_bytes: u64,
}

impl Windows {
    pub(in crate::engine) fn new(
        (ports, links): (Vec<PortFacts>, Vec<LinkFacts>),
        settings: &WindowSettings,
        (hosts, delay_above_bytes): (u32, u64),
    ) -> Windows {
        Windows {
            to: Destinations::new(hosts, settings.voqs),
            returns: Returns::new(links.len(), settings, delay_above_bytes),
            numbers: settings.resync_after.map(Numbers::new),
            message_bytes: exact::<u16>(settings.message_bytes),
            ports,
            links,
        }
    }

    pub(in crate::engine) fn state(&self) -> WindowState {
        let owed = self.returns.owed().map(|due| (due.link, due.dst, u64::from(due.bytes)));
        WindowState {
            destinations: self.to.all().collect(),
            owed: owed.collect(),
            has_window: self.ports.iter().map(|port| port.window_bytes.is_some()).collect(),
            is_numbered: self.numbers.is_some(),
        }
    }

    /// When it has something to say next that nothing causes.
    fn next_at(&self) -> Time {
        self.returns.next_at().min(self.numbers.as_ref().map_or(Time::NEVER, Numbers::next_at))
    }

    /// Data that came by a link is gone; returns what goes back now.
    fn gone(&mut self, now: Time, (link, dst): (u32, u32), bytes: u16, number: u32) -> Vec<Due> {
        if !self.links[link as usize].is_from_switch {
            return Vec::new();
        }
        let bytes = match &mut self.numbers {
            Some(numbers) => numbers.leave(link, dst, number),
            None => bytes.into(),
        };
        if bytes == 0 {
            return Vec::new();
        }
        let to = &self.to;
        self.returns.owe(now, Due { link, dst, bytes }, |dst| to.aside_bytes(dst))
    }

    /// What a link is told that gets window back.
    fn message(&self, due: Due) -> LinkMessage {
        let Due { link, dst, bytes } = due;
        let bytes = self.numbers.as_ref().map_or(bytes, |numbers| numbers.left(link, dst));
        LinkMessage::Window { dst, bytes }
    }
}

impl Switch {
    pub(in crate::engine) fn windows(&self) -> Option<&Windows> {
        self.pauses()?.windows.as_deref()
    }

    fn windows_mut(&mut self) -> &mut Windows {
        let windows = self.pauses_mut().and_then(|pauses| pauses.windows.as_deref_mut());
        windows.expect("it was asked for before")
    }

    /// A packet that has its place in the buffer joins its port, or waits in a VOQ.
    #[inline(never)]
    pub(super) fn join_within_window<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        (link, out): (u32, u32),
        id: PacketId,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let &Packet { kind, dst, size_bytes, priority, .. } = link_table.packets.get(id);
        if kind != Kind::Data {
            return self.join_gated(now, out, id, ports, link_table);
        }
        let windows = self.windows_mut();
        let LinkFacts { is_from_switch, pause_above_bytes } = windows.links[link as usize];
        if let Some(numbers) = windows.numbers.as_mut().filter(|_| is_from_switch) {
            numbers.arrive(link, dst, priority);
        }
        let PortFacts { window_bytes, is_upwards } = windows.ports[out as usize];
        let Some(whole_bytes) = window_bytes else {
            return self.join_gated(now, out, id, ports, link_table);
        };
        let Some(voq) = windows.to.admit((dst, out, size_bytes), whole_bytes, is_upwards) else {
            return self.join_gated(now, out, id, ports, link_table);
        };
        let aside_bytes = windows.to.aside_bytes(dst);
        ports[out as usize].put_aside(now, voq, id, link_table);
        if pause_above_bytes.is_some_and(|above| aside_bytes > above) {
            self.pause_host(now, link, dst, ports, link_table);
        }
    }

    /// A host is to send nothing more to a destination.
    fn pause_host<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        dst: u32,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let Some(host) = self.windows_mut().to.get_mut(dst) else { return };
        if !host.told.contains(&link) {
            host.told.push(link);
            self.tell(now, link, LinkMessage::Destination { dst, is_paused: true }, ports, link_table);
        }
    }

    /// The same hosts may send again whose thresholds what waits is not above any more.
    fn resume_hosts<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        dst: u32,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let windows = self.windows_mut();
        let aside_bytes = windows.to.aside_bytes(dst);
        let Some(host) = windows.to.get_mut(dst).filter(|host| !host.told.is_empty()) else { return };
        let stays = |link: &u32| {
            windows.links[*link as usize].pause_above_bytes.is_some_and(|above| aside_bytes > above)
        };
        let (stay, go): (Vec<u32>, Vec<u32>) = host.told.drain(..).partition(stays);
        host.told = stay;
        for link in go {
            self.tell(now, link, LinkMessage::Destination { dst, is_paused: false }, ports, link_table);
        }
    }

    /// A packet joins its port. If it starts at once it has left, too.
    fn join_gated<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        out: u32,
        id: PacketId,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let port = &mut ports[out as usize];
        if port.is_open(now, link_table.packets.get(id)) {
            port.send_shown(now, id, link_table);
            return self.left(now, out, ports, link_table);
        }
        let has_waited = port.is_waiting();
        port.accept(now, id, link_table, None);
        // When its next packet can leave is known, and does not depend on what comes behind.
        if !(has_waited && port.is_waiting()) {
            self.note_joined(out, &mut ports[out as usize]);
        }
    }

    /// What left a port last leaves the buffer, and takes nothing of a window any more.
    fn left<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        out: u32,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let Some(left) = ports[out as usize].left() else { return };
        let Left { link, dst, class, bytes, is_data, numbers: (number, own) } = left;
        if let Some(class) = class {
            let departure = Departure { from: link, class, bytes };
            self.discharge(now, (departure, out), ports, link_table);
        }
        if !is_data {
            return;
        }
        let windows = self.windows_mut();
        let has_window = windows.ports[out as usize].window_bytes.is_some();
        if let Some(numbers) = windows.numbers.as_mut().filter(|_| has_window) {
            numbers.send(now, out, dst, own);
        }
        let due = windows.gone(now, (link, dst), bytes, number);
        self.give_back(now, due, ports, link_table);
    }

    /// Data that came by a link does not fit into the buffer.
    #[inline(never)]
    pub(super) fn refused_within_window<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        id: PacketId,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let &Packet { kind, dst, size_bytes, priority, .. } = link_table.packets.get(id);
        if kind == Kind::Data && self.windows().is_some() {
            let windows = self.windows_mut();
            let is_from_switch = windows.links[link as usize].is_from_switch;
            if let Some(numbers) = windows.numbers.as_mut().filter(|_| is_from_switch) {
                numbers.arrive(link, dst, priority);
            }
            let due = windows.gone(now, (link, dst), size_bytes, priority);
            self.give_back(now, due, ports, link_table);
        }
    }

    /// Gives window back to links.
    fn give_back<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        due: Vec<Due>,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        for due in due {
            let message = self.windows_mut().message(due);
            self.tell(now, due.link, message, ports, link_table);
        }
    }

    /// Says something to the far end of a link.
    fn tell<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        message: LinkMessage,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        self.say_by(now, self.ways_back[link as usize], message, ports, link_table);
    }

    fn say_by<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        port: u32,
        message: LinkMessage,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let message_bytes = self.windows_mut().message_bytes;
        let id = link_table.packets.add(Packet { time: now, ..message.packet(message_bytes) });
        ports[port as usize].accept(now, id, link_table, None);
        self.note_joined(port, &mut ports[port as usize]);
    }

    /// Of the window for a destination some comes back by a link.
    #[inline(never)]
    pub(super) fn receive_window<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        (dst, bytes): (u32, u32),
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let back = self.ways_back[link as usize];
        let windows = self.windows_mut();
        let bytes = match &mut windows.numbers {
            Some(numbers) => numbers.take_back(now, back, dst, bytes),
            None => bytes,
        };
        windows.to.restore(dst, bytes.into());
        let Some(voq) = windows.to.voq(dst) else { return };
        while let Some(waiting) = self.windows_mut().to.release(voq) {
            let port = &mut ports[waiting.port as usize];
            port.bring_back(now, voq, link_table);
            self.note_joined(waiting.port, &mut ports[waiting.port as usize]);
            self.resume_hosts(now, waiting.dst, ports, link_table);
        }
    }

    /// The switch before asks for window for a destination.
    #[inline(never)]
    pub(super) fn answer_for_window<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        link: u32,
        (dst, sent, returned): (u32, u32, u32),
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let windows = self.windows_mut();
        let Some(numbers) = &mut windows.numbers else { return };
        let lost = numbers.answer(link, dst, sent);
        let is_known = numbers.left(link, dst) == returned;
        let owed = windows.returns.hand_over(link, dst);
        if !is_known || lost + owed > 0 {
            self.give_back(now, vec![Due { link, dst, bytes: lost + owed }], ports, link_table);
        }
    }

    /// Lets packets leave in order of time, then port, and says what that causes, and what is due.
    #[inline(never)]
    pub(super) fn depart_with_windows<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        last: Time,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        loop {
            let (next_at, says_at) = (self.departures.next_at(), self.windows_mut().next_at());
            if next_at.min(says_at) > last {
                return;
            }
            if says_at <= next_at {
                self.say_what_is_due(says_at, ports, link_table);
                continue;
            }
            let Some(number) = self.departures.take() else { return };
            let port = &mut ports[number as usize];
            port.serve_next(link_table);
            self.note_joined(number, port);
            self.left(next_at, number, ports, link_table);
        }
    }

    fn say_what_is_due<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let windows = self.windows_mut();
        let to = &windows.to;
        let due = windows.returns.due(now, |dst| to.aside_bytes(dst));
        let asked = match &mut windows.numbers {
            Some(numbers) if numbers.next_at() <= now => numbers.ask(now),
            _ => Vec::new(),
        };
        self.give_back(now, due, ports, link_table);
        for (port, dst, sent, returned) in asked {
            self.say_by(now, port, LinkMessage::Resync { dst, sent, returned }, ports, link_table);
        }
    }

    /// Has the switch woken when it next has something to say.
    pub(super) fn schedule_windows<H: Copy + Default>(&mut self, link_table: &mut LinkTable<H>) {
        let at = self.windows().map_or(Time::NEVER, Windows::next_at);
        if at != Time::NEVER {
            link_table.calendar.wake(self.node, at);
        }
    }
}

//! Backpressure flow control (BFC, NSDI 2022): while packets wait at a switch that are one too many in their queues, the
//! queues at the hop before are paused that they came from, each by itself.
//!
//! Of each link the packets are counted that are one too many, by the queue at its far end. The first pauses that queue,
//! and it is resumed when the last of them leaves. Which packets these are, a port's queue says (`queue/bfc/`).

use super::{LinkControl, Switch};
use crate::engine::agent::PortAgent;
use crate::engine::link_table::LinkTable;
use crate::engine::port::Port;
use crate::link_message::LinkMessage;
use crate::narrow::exact;
use crate::packet::Packet;
use crate::packets::PacketId;
use crate::queue::{BackpressureSettings, Bfc, Buffer, COUNTED, Counted, is_charged};
use crate::units::Time;

/// What keeps a queue at the far end of a link paused.
#[derive(Clone, Copy, Debug)]
struct Held {
    queue: u32,
    /// How many packets are one too many.
    packets: u32,
    /// Whether its far end was told to pause it.
    is_said: bool,
}

/// A switch's counts, and what it says of them.
pub(in crate::engine) struct Backpressure {
    /// Of each link, the queues of which packets are one too many: few at a time, in any order.
    links: Vec<Vec<Held>>,
    frame_bytes: u16,
    /// At multiples of what time queues are paused; zero: at any.
    every: Time,
    /// When they are next, if there are any that have not been told.
    says_at: Time,
    /// What data takes of the buffer, and how large it is.
    used_bytes: u64,
    buffer_bytes: u64,
}

impl Backpressure {
    /// That of a switch with so many links into it.
    pub(in crate::engine) fn of(settings: &BackpressureSettings, links: usize) -> Backpressure {
        Backpressure {
            links: vec![Vec::new(); links],
            frame_bytes: exact::<u16>(settings.frame_bytes),
            every: settings.pause_every,
            says_at: Time::NEVER,
            used_bytes: 0,
            buffer_bytes: settings.buffer_bytes.unwrap_or(u64::MAX),
        }
    }

    /// Whether data of this size fits into the buffer, where it then is.
    fn takes(&mut self, size_bytes: u16) -> bool {
        let fits = self.used_bytes + u64::from(size_bytes) <= self.buffer_bytes;
        self.used_bytes += if fits { size_bytes.into() } else { 0 };
        fits
    }

    /// A packet is one too many; returns whether its queue is to be paused at once.
    fn count(&mut self, now: Time, counted: Counted) -> bool {
        let held = &mut self.links[counted.link as usize];
        if let Some(held) = held.iter_mut().find(|held| held.queue == counted.queue) {
            held.packets += 1;
            return false;
        }
        let is_said = self.every == Time::ZERO;
        held.push(Held { queue: counted.queue, packets: 1, is_said });
        if !is_said {
            let after = now.as_ps() / self.every.as_ps() + 1;
            self.says_at = self.says_at.min(self.every.times(after));
        }
        is_said
    }

    /// Such a packet leaves; returns whether its queue is to be resumed.
    fn release(&mut self, counted: Counted) -> bool {
        let held = &mut self.links[counted.link as usize];
        let place = held.iter().position(|held| held.queue == counted.queue);
        let place = place.expect("it was counted when it came");
        held[place].packets -= 1;
        held[place].packets == 0 && held.swap_remove(place).is_said
    }

    /// The queues that are to be paused now.
    fn unsaid(&mut self) -> Vec<Counted> {
        self.says_at = Time::NEVER;
        let mut unsaid = Vec::new();
        for (held, link) in self.links.iter_mut().zip(0..) {
            for held in held.iter_mut().filter(|held| !held.is_said) {
                held.is_said = true;
                unsaid.push(Counted { link, queue: held.queue });
            }
        }
        unsaid
    }
}

/// The queue of a port of such a switch.
fn queue_of<H: Copy + Default, A: PortAgent<H>>(port: &Port<H, A>) -> &Bfc {
    match port.buffer() {
        Some(Buffer::Bfc(bfc)) => bfc,
        _ => unreachable!("a switch with backpressure has it at all ports"),
    }
}

impl Switch {
    fn backpressure(&mut self) -> &mut Backpressure {
        match &mut self.control {
            Some(LinkControl::Backpressure(backpressure)) => backpressure,
            _ => unreachable!("it was asked for before"),
        }
    }

    /// A packet joins a port. If it starts at once it has left, too; if not, it may be one too many.
    pub(super) fn join_backpressed<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        out: u32,
        id: PacketId,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let port = &mut ports[out as usize];
        let packet = link_table.packets.get(id);
        if port.is_open(now, packet) {
            return port.send_shown(now, id, link_table);
        }
        let is_charged = is_charged(packet);
        if is_charged && !self.backpressure().takes(packet.size_bytes) {
            return port.refuse(id, link_table);
        }
        let came_from = Counted { link: link_table.packets.ingress(id), queue: packet.priority };
        let has_waited = port.is_waiting();
        port.accept(now, id, link_table, None);
        // When its next packet can leave is known, and does not depend on what comes behind.
        if !(has_waited && port.is_waiting()) {
            self.note_joined(out, &mut ports[out as usize]);
        }
        let is_counted = is_charged && link_table.packets.get(id).priority & COUNTED != 0;
        if is_counted && self.backpressure().count(now, came_from) {
            self.say(now, came_from, true, ports, link_table);
        }
    }

    /// Lets packets leave in order of time, then port, and resumes the queues that they kept paused.
    pub(super) fn depart_backpressed<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        last: Time,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        loop {
            let (next_at, says_at) = (self.departures.next_at(), self.backpressure().says_at);
            if next_at.min(says_at) > last {
                return;
            }
            if says_at <= next_at {
                for queue in self.backpressure().unsaid() {
                    self.say(says_at, queue, true, ports, link_table);
                }
                continue;
            }
            let Some(number) = self.departures.take() else { return };
            let port = &mut ports[number as usize];
            port.serve_next(link_table);
            let (bytes, counted) = queue_of(port).left();
            self.note_joined(number, port);
            let backpressure = self.backpressure();
            backpressure.used_bytes -= u64::from(bytes);
            if let Some(counted) = counted
                && backpressure.release(counted)
            {
                self.say(next_at, counted, false, ports, link_table);
            }
        }
    }

    /// Says to the far end of a link that a queue there is paused, or may go on.
    fn say<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        Counted { link, queue }: Counted,
        is_paused: bool,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let frame_bytes = self.backpressure().frame_bytes;
        let message = LinkMessage::Queue { queue, is_paused };
        let id = link_table.packets.add(Packet { time: now, ..message.packet(frame_bytes) });
        let back = self.ways_back[link as usize];
        ports[back as usize].accept(now, id, link_table, None);
        self.note_joined(back, &mut ports[back as usize]);
    }

    /// Has the switch woken when it next pauses queues, where that is not at once.
    pub(super) fn schedule_pauses<H: Copy + Default>(&mut self, link_table: &mut LinkTable<H>) {
        if let Some(LinkControl::Backpressure(backpressure)) = &self.control
            && backpressure.says_at != Time::NEVER
        {
            link_table.calendar.wake(self.node, backpressure.says_at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switch(every: Time) -> Backpressure {
        Backpressure {
            links: vec![Vec::new(); 2],
            frame_bytes: 64,
            every,
            says_at: Time::NEVER,
            used_bytes: 0,
            buffer_bytes: 3_000,
        }
    }

    #[test]
    fn a_queue_is_paused_by_the_first_packet_too_many_and_resumed_by_the_last() {
        let mut switch = switch(Time::ZERO);
        let [of_one, of_other] = [0, 1].map(|link| Counted { link, queue: 7 });
        assert!(switch.count(Time::ZERO, of_one));
        assert!(!switch.count(Time::ZERO, of_one));
        // The same number at another link is another queue.
        assert!(switch.count(Time::ZERO, of_other));
        assert_eq!(
            [switch.release(of_one), switch.release(of_other), switch.release(of_one)],
            [false, true, true]
        );
    }

    #[test]
    fn what_is_said_by_the_microsecond_is_left_out_if_it_is_over_by_then() {
        let us = Time::from_us;
        let mut switch = switch(us(1));
        let [short, long] = [3, 4].map(|queue| Counted { link: 1, queue });
        assert!(!switch.count(us(5), short) && !switch.count(us(5), long));
        // At the microsecond itself that one has been said.
        assert_eq!(switch.says_at, us(6));
        assert!(!switch.release(short), "nobody was told");
        assert_eq!(switch.unsaid(), [long]);
        assert_eq!(switch.says_at, Time::NEVER);
        assert!(switch.release(long));
    }

    #[test]
    fn the_buffer_takes_what_fits() {
        let mut switch = switch(Time::ZERO);
        assert_eq!([1_500, 1_400, 101, 100].map(|bytes| switch.takes(bytes)), [true, true, false, true]);
    }
}

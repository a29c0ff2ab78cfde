//! A port: a queue discipline before a link.

use super::agent::{Moment, PortAgent};
use super::nics::Nics;
use super::wires::{LinkEnd, Wires};
use crate::fault::{LinkFault, Loss};
use crate::measure::{QueueRecorder, SentRecorder};
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::prefetch::prefetch_lines;
use crate::queue::{
    Buffer, Built, Counts, Departure, Fifo, Holds, Joined, Occupancy, Opening, Pool, Verdict,
};
use crate::random::Stream;
use crate::spec::Values;
use crate::topology::{Forwarding, Link, Topology};
use crate::units::{ByteTime, Rate, Time};
use std::marker::PhantomData;

/// How a port orders what waits.
#[derive(Clone, Debug)]
#[repr(u8)]
pub enum Discipline {
    /// Departures are known on arrival; packets go straight onto the link.
    Fifo(Fifo),
    /// Packets wait in a buffer that chooses.
    Buffered(Buffer),
    /// The port stands for those of a host with several links.
    Several,
}

impl Discipline {
    /// The discipline of a scenario's queue, with nothing waiting; `observed`: whether anybody watches what does.
    pub fn build(queue: &Values, observed: bool) -> Discipline {
        match Built::of(queue) {
            Built::Fifo(admission) => {
                Discipline::Fifo(Fifo::new(admission, observed || Pool::build(queue).is_some()))
            }
            Built::Held(buffer) => Discipline::Buffered(buffer),
        }
    }
}

/// What went through a port.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortCounters {
    /// Packets put onto the link.
    pub packets: u64,
    /// Their bytes, without framing.
    pub bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets trimmed.
    pub trims: u64,
    /// Headers of packets that go back to their senders.
    pub returns: u64,
    /// Packets damaged on the link.
    pub corrupted: u64,
    /// Packets lost because the link was down.
    pub lost: u64,
}

/// So many cache lines of a port are read and changed when a packet is queued or sent; one, if packets go straight onto the link.
const BUSY_LINES: usize = 3;

/// One end of a link, with its queue.
///
/// What is needed of it to put a packet onto the link comes first, in one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Port<H, A = ()> {
    /// Until when the link is taken by what is on it or, for a FIFO, waits for it.
    busy_until: Time,
    byte_time: ByteTime,
    latency: Time,
    /// Packets put onto the link, and their bytes.
    sent: (u64, u64),
    /// Where the link leads.
    end: LinkEnd,
    framing_bytes: u32,
    /// The far node decides once this much of a packet is there.
    cut_bytes: u16,
    /// The size of the last data packet that left a buffer, which is in service until `serving_until`.
    serving_bytes: u16,
    /// Whether it is a FIFO that nobody watches: all that comes goes straight onto the link.
    is_straight: bool,
    /// Whether what comes when nothing waits and the link is free goes straight onto it.
    is_direct: bool,
    /// Whether packets wait in the buffer.
    waiting: bool,
    /// Whether the node has this port on its list of those that wait.
    listed: bool,
    /// Whether there is a recorder.
    is_watched: bool,
    /// Packets that went out of the buffer: an event each.
    departures: u64,
    serving_until: Time,
    discipline: Discipline,
    recorder: Option<Box<QueueRecorder>>,
    rate: Rate,
    counters: Counts,
    /// A header that found no room and is to go back to its sender, until the switch takes it.
    returned: Option<PacketId>,
    /// The port's own, so that what it draws does not depend on when its node serves other ports.
    random: Stream,
    agent: A,
    nics: Option<Box<Nics<H, A>>>,
    header: PhantomData<H>,
}

impl<H: Copy + Default, A: PortAgent<H>> Port<H, A> {
    /// The port at the near end of `link`, which leads to `end`.
    pub fn new(
        topology: &Topology,
        link: &Link,
        end: LinkEnd,
        mut discipline: Discipline,
        recorder: Option<QueueRecorder>,
        random: Stream,
        agent: A,
    ) -> Port<H, A> {
        let far_is_switch = topology.nodes[link.dst as usize].tier > 0;
        if let Discipline::Buffered(Buffer::Daq(queue)) = &mut discipline {
            let far_links = topology.nodes[link.dst as usize].ports.len() as u64;
            queue.place(topology.nodes[link.src as usize].tier > 0, far_is_switch.then_some(far_links));
        }
        let cut_bytes = match topology.forwarding {
            Forwarding::CutThrough { header_bytes, .. } if far_is_switch => header_bytes,
            _ => u16::MAX,
        };
        Port {
            busy_until: Time::ZERO,
            byte_time: ByteTime::at(link.rate),
            latency: link.latency,
            sent: (0, 0),
            end,
            framing_bytes: topology.framing_bytes as u32,
            cut_bytes,
            serving_bytes: 0,
            is_straight: matches!(&discipline, Discipline::Fifo(fifo) if !fifo.is_tracked()),
            is_direct: !matches!(&discipline, Discipline::Buffered(Buffer::Daq(_)) | Discipline::Several),
            waiting: false,
            listed: false,
            is_watched: recorder.is_some(),
            departures: 0,
            serving_until: Time::ZERO,
            discipline,
            rate: link.rate,
            counters: Counts::default(),
            returned: None,
            recorder: recorder.map(Box::new),
            random,
            agent,
            nics: None,
            header: PhantomData,
        }
    }

    /// Has this port of [`Discipline::Several`] stand for others, which have this rate together.
    pub(super) fn over(self, nics: Nics<H, A>, rate: Rate) -> Port<H, A> {
        Port { nics: Some(Box::new(nics)), rate, byte_time: ByteTime::at(rate), ..self }
    }

    /// The ports that this one stands for, or itself.
    pub(super) fn all(&self) -> &[Port<H, A>] {
        self.nics.as_ref().map_or(std::slice::from_ref(self), |nics| nics.ports())
    }

    /// The same, to be changed.
    pub(super) fn all_mut(&mut self) -> &mut [Port<H, A>] {
        if self.nics.is_none() {
            return std::slice::from_mut(self);
        }
        self.nics.as_mut().map_or(&mut [], |nics| nics.ports_mut())
    }

    /// The link's rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// When the packet in service is out (for a FIFO: everything that waits).
    #[inline]
    pub fn free_at(&self) -> Time {
        self.busy_until
    }

    /// When everything that waits will be out, if nothing else comes.
    pub fn drained_at(&self) -> Time {
        match &self.discipline {
            Discipline::Fifo(_) => self.busy_until,
            Discipline::Several => self.all().iter().map(Port::drained_at).max().unwrap_or(Time::ZERO),
            Discipline::Buffered(buffer) => {
                let queued = buffer.unbooked();
                self.busy_until
                    + self.serialisation(queued.bytes + queued.packets * u64::from(self.framing_bytes))
            }
        }
    }

    /// The same where a packet would go, if this stands for several ports.
    pub fn drained_at_for(&mut self, packet: impl FnOnce() -> Packet<H>) -> Time {
        match &mut self.nics {
            Some(nics) => nics.drained_at_for(&packet()),
            None => self.drained_at(),
        }
    }

    /// Whether this port was not yet on its node's list of ports with packets waiting; it is from now on.
    #[inline]
    pub fn enlist(&mut self) -> bool {
        self.waiting && !std::mem::replace(&mut self.listed, true)
    }

    /// Takes the port off that list.
    pub fn delist(&mut self) {
        self.listed = false;
    }

    /// Whether packets wait in a buffer, so that [`Port::serve_until`] has work to do.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// What started on the link before `end`; `on_link` are the packets on it. A FIFO
    /// port hands packets over as they come, so those that would have started later are still there to be subtracted.
    pub(super) fn counters(&self, end: Time, on_link: &[&Packet<H>], wires: &Wires<H>) -> PortCounters {
        let mut counters = self.counted();
        let mut not_yet = |size_bytes: u16| {
            counters.packets -= 1;
            counters.bytes -= u64::from(size_bytes);
        };
        let fault = wires.fault(self.end);
        for &&Packet { time: arrives, size_bytes, .. } in on_link {
            let seen = self.until_seen(size_bytes, self.time_for(size_bytes.into()));
            let in_time = || arrives.since(self.latency).since(seen);
            let started = fault.and_then(|fault| fault.late_start(arrives)).unwrap_or_else(in_time);
            if started >= end {
                not_yet(size_bytes);
            }
        }
        let (mut corrupted, mut lost) = (0, 0);
        for &(started, size_bytes, loss) in fault.map_or(&[][..], LinkFault::losses) {
            match loss {
                _ if started >= end => not_yet(size_bytes),
                Loss::Corrupted => corrupted += 1,
                Loss::Down => lost += 1,
            }
        }
        PortCounters { corrupted, lost, ..counters }
    }

    /// Everything that was counted, whether it has started or not.
    pub(super) fn counted(&self) -> PortCounters {
        let ((packets, bytes), Counts { drops, marks, trims, returns }) = (self.sent, self.counters);
        PortCounters { packets, bytes, drops, marks, trims, returns, corrupted: 0, lost: 0 }
    }

    /// What waits in a buffer that chooses; nothing of a FIFO, whose packets are on the link.
    pub(super) fn buffer(&self) -> Option<&Buffer> {
        match &self.discipline {
            Discipline::Fifo(_) | Discipline::Several => None,
            Discipline::Buffered(buffer) => Some(buffer),
        }
    }

    /// The most that has waited so far, if that was recorded.
    pub(super) fn most_queued_bytes(&self) -> u64 {
        self.recorder.as_ref().map_or(0, |recorder| recorder.largest_bytes())
    }

    /// Where its link leads.
    pub(super) fn end(&self) -> LinkEnd {
        self.end
    }

    /// The packets that started on the link before `end`, if it was captured.
    pub(super) fn captured<'a>(&self, end: Time, wires: &'a Wires<H>) -> Option<&'a [(Time, Packet<H>)]> {
        let packets = wires.captured(self.end)?;
        Some(&packets[..packets.partition_point(|(start, _)| *start < end)])
    }

    /// What its link carried over time, if that was asked for.
    pub fn sent<'a>(&self, wires: &'a Wires<H>) -> Option<&'a SentRecorder> {
        wires.sent(self.end)
    }

    /// How many packets went out of the buffer before `end`.
    pub fn departures(&self, end: Time) -> u64 {
        self.departures - self.buffer().map_or(0, |buffer| buffer.booked().from(end))
    }

    /// The queue's record, if one was asked for, closed at `end`.
    pub fn recorder(&mut self, end: Time) -> Option<&QueueRecorder> {
        if let Discipline::Fifo(fifo) = &mut self.discipline
            && let Some(recorder) = self.recorder.as_deref_mut()
        {
            fifo.depart_until(end, |at, queued| recorder.note(at, queued));
        }
        let recorder = self.recorder.as_deref_mut()?;
        recorder.close(end);
        Some(recorder)
    }

    /// How long a packet of so many bytes takes on the link, framing included.
    #[inline]
    pub fn time_for(&self, bytes: u64) -> Time {
        self.serialisation(bytes + u64::from(self.framing_bytes))
    }

    /// How long it takes to put so much on the link.
    #[inline]
    fn serialisation(&self, bytes: u64) -> Time {
        self.byte_time.of(bytes)
    }

    /// The later bits of a packet that arrives here cut-through over a link of `from`'s rate must not be overtaken:
    /// the earliest that this port may start on it, after its header arrived at `now`.
    pub fn cut_through_start(&self, from: ByteTime, header: u16, size: u16, now: Time) -> Time {
        let behind = from.of(u64::from(size.saturating_sub(header)));
        let takes = self.serialisation(u64::from(size));
        now + behind.since(takes)
    }

    /// Takes a packet at `now`; its `time` says the earliest it may start.
    #[inline(always)]
    pub fn accept(&mut self, now: Time, id: PacketId, wires: &mut Wires<H>, pool: Option<&mut Pool>) {
        if A::ACTIVE {
            let moment = self.moment(now);
            self.agent.forward(moment, wires.packets.get_mut(id));
        }
        if self.is_straight {
            return self.accept_straight(id, wires);
        }
        let start = self.busy_until.max(wires.packets.get(id).time);
        if self.is_direct && !self.waiting && start <= now {
            return self.send(start, id, wires);
        }
        match &self.discipline {
            Discipline::Fifo(_) => self.accept_fifo(now, id, wires, pool),
            Discipline::Buffered(Buffer::Daq(_)) => self.accept_behind_credits(now, id, wires),
            Discipline::Buffered(_) => self.accept_buffered(now, id, wires),
            Discipline::Several => self.hand_on(now, id, wires),
        }
    }

    /// Asks for what it takes to queue a packet, and to send one that waited.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        prefetch_lines(self, BUSY_LINES);
    }

    /// Asks for what it takes to send a packet at a port that is straight.
    #[inline(always)]
    pub(super) fn prefetch_straight(&self) {
        prefetch_lines(self, 1);
    }

    /// Asks for the packets that it sends first, unless others come that go before them.
    #[inline]
    pub(super) fn prefetch_packets(&self, packets: &Packets<H>) {
        if let Discipline::Buffered(buffer) = &self.discipline {
            buffer.prefetch(packets);
        }
    }

    /// Has the port take the packet by which it goes.
    #[inline(never)]
    fn hand_on(&mut self, now: Time, id: PacketId, wires: &mut Wires<H>) {
        let Some(nics) = &mut self.nics else { return };
        nics.accept(now, id, wires);
        self.follow();
    }

    /// Waits if any of the ports does that this one stands for, until the first of these is free.
    fn follow(&mut self) {
        let free_at = self.nics.as_ref().and_then(|nics| nics.free_at());
        self.waiting = free_at.is_some();
        self.busy_until = free_at.unwrap_or(Time::ZERO);
    }

    /// Shows the agent a packet that came from the far end of this port's link.
    #[inline]
    pub fn answer(&mut self, now: Time, packet: &mut Packet<H>) {
        if A::ACTIVE {
            let moment = self.moment(now);
            self.agent.backward(moment, packet);
        }
    }

    fn moment(&self, now: Time) -> Moment {
        Moment { now, drained_at: self.drained_at() }
    }

    /// Whether whatever comes goes straight onto the link.
    #[inline]
    pub fn is_straight(&self) -> bool {
        self.is_straight
    }

    /// Takes a packet at a port that is straight, and has no agent.
    #[inline(always)]
    pub fn accept_straight(&mut self, id: PacketId, wires: &mut Wires<H>) {
        debug_assert!(self.is_straight, "its queue decides");
        let start = self.busy_until.max(wires.packets.get(id).time);
        self.transmit(start, id, wires);
    }

    #[inline(never)]
    fn accept_fifo(&mut self, now: Time, id: PacketId, wires: &mut Wires<H>, pool: Option<&mut Pool>) {
        let Discipline::Fifo(fifo) = &mut self.discipline else { return };
        let packet = wires.packets.get_mut(id);
        let start = self.busy_until.max(packet.time);
        let waits = start > now;
        depart(fifo, now, self.recorder.as_deref_mut());
        let before = fifo.queued();
        let verdict = match &pool {
            _ if !waits => Verdict::Accept,
            Some(pool) if !pool.admits(before, packet.size_bytes) => Verdict::Drop,
            _ => fifo.judge(packet.size_bytes, &mut self.random),
        };
        match verdict {
            Verdict::Drop => {
                self.counters.drops += 1;
                wires.packets.take(id);
                return;
            }
            Verdict::Mark if packet.ecn_capable => {
                packet.congestion_experienced = true;
                self.counters.marks += 1;
            }
            Verdict::Mark | Verdict::Accept => {}
        }
        if waits {
            fifo.wait(start, packet.size_bytes);
            if let Some(recorder) = self.recorder.as_deref_mut() {
                recorder.note(now, fifo.queued());
            }
            if let Some(pool) = pool {
                pool.change(before, fifo.queued());
            }
        }
        self.transmit(start, id, wires);
    }

    #[inline(never)]
    fn accept_buffered(&mut self, now: Time, id: PacketId, wires: &mut Wires<H>) {
        if self.waiting {
            self.serve_through(now, wires);
        }
        let start = self.busy_until.max(wires.packets.get(id).time).max(now);
        let is_next = !self.waiting && start <= now;
        if is_next || self.put(now, start, id, &mut wires.packets) == Joined::Booked {
            return self.send(start, id, wires);
        }
        self.note(now);
    }

    /// Puts a packet that cannot start now, but could at `start`, into the buffer.
    #[inline(always)]
    fn put(&mut self, now: Time, start: Time, id: PacketId, packets: &mut Packets<H>) -> Joined {
        let opening = self.opening(now, start);
        let serving_bytes = if now < self.serving_until { self.serving_bytes } else { 0 };
        let Discipline::Buffered(buffer) = &mut self.discipline else { return Joined::Dropped };
        let noted = (&mut self.random, &mut self.counters);
        let joined = buffer.put(id, packets, serving_bytes, opening, noted);
        match joined {
            Joined::Booked => self.departures += 1,
            Joined::Waits => self.waiting = true,
            Joined::Dropped => self.waiting = buffer.is_ready(),
            Joined::Returned => self.returned = Some(id),
        }
        joined
    }

    /// For a packet that joins now and may start at `start`; only where nobody but the buffer has to know what waits.
    #[inline]
    fn opening(&self, now: Time, start: Time) -> Option<Opening> {
        let &Port { byte_time, framing_bytes, is_watched, .. } = self;
        (!is_watched && !A::ACTIVE).then_some(Opening { now, start, byte_time, framing_bytes })
    }

    /// Has the queue's record, if there is one, know what waits.
    #[inline(always)]
    fn note(&mut self, at: Time) {
        if self.is_watched {
            self.record(at);
        }
    }

    #[inline(never)]
    fn record(&mut self, at: Time) {
        let Some(recorder) = self.recorder.as_deref_mut() else { return };
        let Discipline::Buffered(buffer) = &self.discipline else { return };
        recorder.note(at, buffer.queued());
        if recorder.follows_classes() {
            buffer.classes(|class, bytes, credit| recorder.note_class(at, class, bytes, credit));
        }
    }

    /// Whatever comes joins the queue, even when the link is free: there may be no credit for it.
    #[inline(never)]
    fn accept_behind_credits(&mut self, now: Time, id: PacketId, wires: &mut Wires<H>) {
        self.catch_up(now, wires);
        let Discipline::Buffered(buffer) = &mut self.discipline else { return };
        buffer.put(id, &mut wires.packets, 0, None, (&mut self.random, &mut self.counters));
        self.waiting = buffer.is_ready();
        self.note(now);
    }

    /// A header that found no room and is to go back to its sender, after each packet that the port accepts.
    pub fn take_returned(&mut self) -> Option<PacketId> {
        self.returned.take()
    }

    /// The far end has told that there is room for so much more.
    pub fn credit(&mut self, now: Time, class: u8, bytes: u64, wires: &mut Wires<H>) {
        self.catch_up(now, wires);
        if let Discipline::Buffered(Buffer::Daq(queue)) = &mut self.discipline {
            queue.credit(class, bytes);
            self.waiting = queue.is_ready();
        }
        self.note(now);
    }

    /// A query brought more credit for the far end's buffer, if it keeps one.
    pub fn borrow(&mut self, now: Time, bytes: u64, wires: &mut Wires<H>) {
        if let Discipline::Buffered(Buffer::Daq(queue)) = &mut self.discipline {
            let class = queue.borrow(bytes);
            self.credit(now, class, bytes, wires);
        }
    }

    /// Gives back what a query brought, as far as it is not in use.
    pub fn give_back(&mut self, now: Time, wires: &mut Wires<H>) {
        self.catch_up(now, wires);
        let Discipline::Buffered(Buffer::Daq(queue)) = &mut self.discipline else { return };
        if let Some(credit) = queue.give_back() {
            let id = wires.packets.add(Packet { time: now, ..credit });
            self.accept(now, id, wires, None);
        }
    }

    /// Sends what could start by now. If that is all that may be sent, nothing that comes later starts before now.
    fn catch_up(&mut self, now: Time, wires: &mut Wires<H>) {
        if self.waiting {
            self.serve_through(now, wires);
        }
        if !self.waiting {
            self.busy_until = self.busy_until.max(now);
        }
    }

    /// Sends the next packet from the buffer. If that was data that came over a link, returns it and when it was chosen;
    /// what cuts through to a faster link may start later than that.
    pub fn depart(&mut self, wires: &mut Wires<H>) -> Option<(Time, Departure)> {
        let chosen = self.busy_until;
        self.serve_next(wires)?;
        match &self.discipline {
            Discipline::Buffered(Buffer::Daq(queue)) => {
                queue.departure().map(|departure| (chosen, departure))
            }
            _ => None,
        }
    }

    /// The size of the notifications that this port's switch sends of departures, if it does.
    pub fn credit_bytes(&self) -> Option<u16> {
        match &self.discipline {
            Discipline::Buffered(Buffer::Daq(queue)) => Some(queue.credit_bytes()),
            _ => None,
        }
    }

    /// Sends what waits in the buffer and can start before `end`.
    pub fn serve_until(&mut self, end: Time, wires: &mut Wires<H>) {
        self.serve_through(Time(end.as_ps() - 1), wires);
    }

    fn serve_through(&mut self, last: Time, wires: &mut Wires<H>) {
        while self.waiting && self.busy_until <= last && self.serve_next(wires).is_some() {}
    }

    /// Sends the next packet from the buffer; returns when it starts.
    #[inline]
    pub(super) fn serve_next(&mut self, wires: &mut Wires<H>) -> Option<Time> {
        let Discipline::Buffered(buffer) = &mut self.discipline else {
            let start = self.nics.as_mut()?.serve_next(wires);
            self.follow();
            return start;
        };
        let id = buffer.take(&wires.packets, &mut self.random)?;
        self.waiting = buffer.is_ready();
        let start = self.busy_until.max(wires.packets.get(id).time);
        self.note(start);
        self.send(start, id, wires);
        self.departures += 1;
        Some(start)
    }

    /// Transmits a packet that a buffer may have to know to be in service.
    #[inline(always)]
    fn send(&mut self, start: Time, id: PacketId, wires: &mut Wires<H>) {
        let data_bytes = self.transmit(start, id, wires);
        if data_bytes > 0 {
            (self.serving_bytes, self.serving_until) = (data_bytes, self.busy_until);
        }
    }

    /// From a packet's start until as much of it is out as the far node waits for; all of it `takes` so long.
    #[inline]
    fn until_seen(&self, size_bytes: u16, takes: Time) -> Time {
        if size_bytes <= self.cut_bytes { takes } else { self.time_for(self.cut_bytes.into()) }
    }

    /// Puts a packet onto the link; returns its size if it is data, otherwise 0.
    #[inline(always)]
    fn transmit(&mut self, start: Time, id: PacketId, wires: &mut Wires<H>) -> u16 {
        debug_assert!(start >= self.busy_until, "two packets at once on a link");
        let packet = wires.packets.get_mut(id);
        let bytes = u64::from(packet.size_bytes) + u64::from(self.framing_bytes);
        let takes = self.serialisation(bytes);
        let arrival = start + self.until_seen(packet.size_bytes, takes) + self.latency;
        packet.time = arrival;
        self.sent.0 += 1;
        self.sent.1 += u64::from(packet.size_bytes);
        let data_bytes = if packet.kind == Kind::Data { packet.size_bytes } else { 0 };
        let late = wires.carry(self.end, (start, arrival), bytes, takes, id);
        self.busy_until = start + takes + late;
        data_bytes
    }

    /// Lets the packets go that have started, so that a pool knows what is free.
    pub fn settle(&mut self, now: Time, pool: &mut Pool) {
        if let Discipline::Fifo(fifo) = &mut self.discipline {
            let before = fifo.queued();
            depart(fifo, now, self.recorder.as_deref_mut());
            pool.change(before, fifo.queued());
        }
    }
}

#[inline]
fn depart(fifo: &mut Fifo, now: Time, recorder: Option<&mut QueueRecorder>) {
    match recorder {
        Some(recorder) => fifo.depart_until(now, |at, queued| recorder.note(at, queued)),
        None => fifo.depart_until(now, |_: Time, _: Occupancy| {}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{Fair, PFabric, Trimming};
    use std::mem::offset_of;

    #[test]
    fn a_port_takes_five_cache_lines() {
        assert_eq!(size_of::<Port<u64>>(), 5 * 64);
    }

    #[test]
    fn what_changes_with_each_packet_lies_in_the_first_three() {
        assert_eq!(offset_of!(Port<u64>, departures), 64);
        let tags = 2 * size_of::<u64>();
        for queue in [size_of::<Trimming>(), size_of::<PFabric>(), size_of::<Fair>()] {
            assert!(offset_of!(Port<u64>, discipline) + tags + queue <= BUSY_LINES * 64);
        }
    }
}

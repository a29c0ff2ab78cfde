//! A port: a queue discipline before a link.

mod timed;

use super::agent::{Leaving, Moment, PortAgent};
use super::link_table::{LinkEnd, LinkTable};
use super::nics::Nics;
use super::transmitter::Transmitter;
use crate::flow::HostId;
use crate::link_message::LinkMessage;
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::prefetch::prefetch_lines;
use crate::queue::{
    self, Buffer, Built, Counts, Departure, Env, Fifo, HeldFifo, Holds, Joined, Occupancy, Opening,
    PausedClasses, Pool, Site, Verdict,
};
use crate::random::Stream;
use crate::record::{QueueRecorder, SentRecorder};
use crate::spec::Values;
use crate::topology::{Link, Topology};
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
    /// The port represents those of a host with several links.
    Several,
}

impl Discipline {
    /// The discipline of a scenario's queue, empty; `observed`: whether its length is recorded; `held`: whether
    /// packets must wait here until they start, so that departures can be seen.
    pub fn build(queue: &Values, observed: bool, held: bool) -> Discipline {
        match Built::of(queue) {
            Built::Fifo(admission) if held => {
                Discipline::Buffered(Buffer::HeldFifo(HeldFifo::new(admission)))
            }
            Built::Fifo(admission) => {
                Discipline::Fifo(Fifo::new(admission, observed || queue::pool_bytes(queue).is_some()))
            }
            Built::Held(buffer) => Discipline::Buffered(buffer),
        }
    }

    /// Sets the queue's position in the network.
    pub fn place(mut self, site: Site) -> Discipline {
        if let Discipline::Buffered(buffer) = &mut self {
            buffer.place(site);
        }
        self
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
    /// How often the link sent a damaged packet again.
    pub replays: u64,
}

impl PortCounters {
    /// Of packets sent, their bytes, and what the queue counted.
    pub(super) fn of((packets, bytes): (u64, u64), counts: Counts) -> PortCounters {
        let Counts { drops, marks, trims, returns } = counts;
        PortCounters { packets, bytes, drops, marks, trims, returns, ..PortCounters::default() }
    }
}

/// So many cache lines of a port are read and changed when a packet is queued or sent; one, if packets go straight
/// onto the link.
const BUSY_LINES: usize = 3;

/// So many cache lines of the classes of a port that can be paused.
const BUSY_SHARED_LINES: usize = 4;

/// One end of a link, with its queue.
///
/// What is needed of it to put a packet onto the link comes first, in one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Port<H, A = ()> {
    line: Transmitter,
    /// The size of the last data packet that left a buffer, which is in service until `serving_until`.
    serving_bytes: u16,
    /// Whether it is an unobserved FIFO: every packet goes straight onto the link.
    is_straight: bool,
    /// Whether what comes when nothing waits and the link is free goes straight onto it.
    is_direct: bool,
    /// Whether packets wait in the buffer.
    waiting: bool,
    /// Whether the node has this port on its list of those that wait.
    listed: bool,
    /// Whether there is a recorder.
    is_watched: bool,
    /// Whether packets may be booked, see [`Port::book`].
    books: bool,
    /// Packets that went out of the buffer: an event each.
    departures: u64,
    serving_until: Time,
    discipline: Discipline,
    recorder: Option<Box<QueueRecorder>>,
    rate: Rate,
    counters: Counts,
    /// A header that did not fit and has to go back to its sender, until the switch takes it.
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
        discipline: Discipline,
        recorder: Option<QueueRecorder>,
        random: Stream,
        agent: A,
    ) -> Port<H, A> {
        Port {
            line: Transmitter::new(topology, link, end),
            serving_bytes: 0,
            is_straight: matches!(&discipline, Discipline::Fifo(fifo) if !fifo.is_tracked()),
            is_direct: match &discipline {
                Discipline::Fifo(_) => true,
                Discipline::Buffered(buffer) => !buffer.holds_back(),
                Discipline::Several => false,
            },
            waiting: false,
            listed: false,
            is_watched: recorder.is_some(),
            books: false,
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

    /// Has packets booked that precede all others, where nobody can tell. Nobody sees them wait, as an agent or a
    /// recorder would. And each takes exactly as long as its size says, so that [`Port::drained_at`] is the same
    /// whether packets were booked or wait: what befalls a packet on a faulty link is not known until it starts.
    pub(super) fn book(self, link_table: &LinkTable<H>) -> Port<H, A> {
        let is_seen = self.is_watched || A::ACTIVE || A::SEES_DEPARTURES;
        let is_even = self.line.byte_time().adds_up() && link_table.fault(self.line.end).is_none();
        Port { books: is_even && !is_seen, ..self }
    }

    /// Makes this port of [`Discipline::Several`] represent others, which have this rate together.
    pub(super) fn over(self, nics: Nics<H, A>, rate: Rate) -> Port<H, A> {
        Port { nics: Some(Box::new(nics)), rate, line: self.line.at(ByteTime::at(rate)), ..self }
    }

    /// The ports that this one represents, or itself.
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
        self.line.busy_until
    }

    /// When everything that waits will be out, if nothing else comes, as far as it is known once all has started that
    /// could by now ([`Port::serve_until`]): of what has started, what it takes; of what a buffer holds, what it takes
    /// by its size on a link without faults. (A FIFO's packets have all been put onto the link.)
    pub fn drained_at(&self) -> Time {
        match &self.discipline {
            Discipline::Fifo(_) => self.line.busy_until,
            Discipline::Several => self.all().iter().map(Port::drained_at).max().unwrap_or(Time::ZERO),
            Discipline::Buffered(buffer) => {
                let queued = buffer.unbooked();
                let framing_bytes = queued.packets * u64::from(self.line.framing_bytes);
                self.line.busy_until + self.line.byte_time().of_many(queued.bytes + framing_bytes)
            }
        }
    }

    /// What waits at a moment, the packet in service not counted; only where that is known (see
    /// [`Fifo::is_tracked`]).
    pub(super) fn queued_bytes_at(&mut self, now: Time, link_table: &mut LinkTable<H>) -> u64 {
        if let Discipline::Fifo(fifo) = &mut self.discipline {
            depart(fifo, now, self.recorder.as_deref_mut());
            return fifo.queued().bytes;
        }
        // The caller that lets packets leave in order has done so.
        if (self.is_direct || self.is_timed()) && self.waiting {
            self.serve_through(now, link_table);
        }
        self.buffer().map_or(0, |buffer| buffer.queued().bytes)
    }

    /// What is yet to be learned of faults is learned sooner, if this port represents several.
    pub(super) fn bring_faults_forward(&mut self, now: Time, by: Time) {
        if let Some(nics) = &mut self.nics {
            nics.bring_faults_forward(now, by);
        }
    }

    /// When the queue that a packet would join is drained, if this port represents several.
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

    /// Notes that the port is on that list if it is waiting, and not otherwise; returns whether it was.
    #[inline]
    pub fn list(&mut self) -> bool {
        std::mem::replace(&mut self.listed, self.waiting)
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

    /// What started on the link before `end`; `on_link` are the packets on it.
    pub(super) fn counters(
        &self,
        end: Time,
        on_link: &[&Packet<H>],
        link_table: &LinkTable<H>,
    ) -> PortCounters {
        self.line.counters(self.counters, end, on_link, link_table)
    }

    /// Everything that was counted, whether it has started or not.
    pub(super) fn counted(&self) -> PortCounters {
        PortCounters::of(self.line.sent(), self.counters)
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
        self.line.end
    }

    /// The packets that started on the link before `end`, if it was captured.
    pub(super) fn captured<'a>(
        &self,
        end: Time,
        link_table: &'a LinkTable<H>,
    ) -> Option<&'a [(Time, Packet<H>)]> {
        let packets = link_table.captured(self.line.end)?;
        Some(&packets[..packets.partition_point(|(start, _)| *start < end)])
    }

    /// What its link carried over time, if that is recorded.
    pub fn sent<'a>(&self, link_table: &'a LinkTable<H>) -> Option<&'a SentRecorder> {
        link_table.sent(self.line.end)
    }

    /// How many packets went out of the buffer before `end`.
    pub fn departures(&self, end: Time) -> u64 {
        self.departures - self.buffer().map_or(0, |buffer| buffer.booked().from(end))
    }

    /// The queue's record until `end`, if there is one.
    pub fn recorder(&mut self, end: Time) -> Option<QueueRecorder> {
        if let Discipline::Fifo(fifo) = &mut self.discipline
            && let Some(recorder) = self.recorder.as_deref_mut()
        {
            fifo.depart_until(end, |at, queued| recorder.note(at, queued));
        }
        self.recorder.as_deref().map(|recorder| recorder.closed(end))
    }

    /// How long a packet of so many bytes takes on the link, framing included.
    #[inline]
    pub fn time_for(&self, bytes: u64) -> Time {
        self.line.time_for(bytes)
    }

    /// The earliest that a packet may start that arrives cut-through: the later bits of it must not be overtaken.
    pub fn cut_through_start(&self, from: ByteTime, header: u16, size: u16, now: Time) -> Time {
        self.line.cut_through_start(from, header, size, now)
    }

    /// Takes a packet at `now`; its `time` is the earliest at which it may start.
    #[inline(always)]
    pub fn accept(
        &mut self,
        now: Time,
        id: PacketId,
        link_table: &mut LinkTable<H>,
        pool: Option<&mut Pool>,
    ) {
        if A::ACTIVE {
            let moment = self.moment(now, link_table);
            self.agent.forward(moment, link_table.packets.get_mut(id));
        }
        if self.is_straight {
            return self.accept_straight(id, link_table);
        }
        let start = self.line.busy_until.max(link_table.packets.get(id).time);
        if self.is_direct && !self.waiting && start <= now {
            return self.send(start, id, link_table);
        }
        match &self.discipline {
            Discipline::Fifo(_) => self.accept_fifo(now, id, link_table, pool),
            Discipline::Buffered(_) => {
                if pool.is_none_or(|pool| self.finds_room(now, id, link_table, pool)) {
                    match self.is_direct {
                        true => self.accept_buffered(now, id, link_table),
                        false => self.accept_held_back(now, id, link_table),
                    }
                }
            }
            Discipline::Several => self.hand_on(now, id, link_table),
        }
    }

    /// Prefetches what it takes to queue a packet, and to send one that waited.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        prefetch_lines(self, BUSY_LINES);
    }

    /// Prefetches the classes of a port that can be paused; to find them the port itself is read.
    #[inline(always)]
    pub(super) fn prefetch_shared(&self) {
        if let Discipline::Buffered(Buffer::Shared(port)) = &self.discipline {
            prefetch_lines(port.as_ref(), BUSY_SHARED_LINES);
        }
    }

    /// Prefetches what it takes to send a packet at a straight port.
    #[inline(always)]
    pub(super) fn prefetch_straight(&self) {
        prefetch_lines(self, 1);
    }

    /// Prefetches the packets that are sent first, unless later ones overtake them.
    #[inline]
    pub(super) fn prefetch_packets(&self, packets: &Packets<H>) {
        if let Discipline::Buffered(buffer) = &self.discipline {
            buffer.prefetch(packets);
        }
    }

    /// Has the port take the packet by which it goes.
    #[inline(never)]
    fn hand_on(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>) {
        let Some(nics) = &mut self.nics else { return };
        nics.accept(now, id, link_table);
        self.follow();
    }

    /// Waits if any of the ports that this one represents does, until the first of them is free.
    fn follow(&mut self) {
        let free_at = self.nics.as_ref().and_then(|nics| nics.free_at());
        self.waiting = free_at.is_some();
        self.line.busy_until = free_at.unwrap_or(Time::ZERO);
    }

    /// Shows the agent a packet that came from the far end of this port's link.
    #[inline]
    pub fn answer(&mut self, packet: &mut Packet<H>) {
        if A::ACTIVE {
            self.agent.backward(packet);
        }
    }

    /// What has started by now the agent sees first, and is told of what is left.
    fn moment(&mut self, now: Time, link_table: &mut LinkTable<H>) -> Moment {
        if A::SEES_DEPARTURES {
            self.catch_up(now, link_table);
        } else {
            self.serve_by(now, link_table);
        }
        Moment { now, drained_at: self.drained_at() }
    }

    /// Whether whatever comes goes straight onto the link.
    #[inline]
    pub fn is_straight(&self) -> bool {
        self.is_straight
    }

    /// Takes a packet at a port that is straight, and has no agent.
    #[inline(always)]
    pub fn accept_straight(&mut self, id: PacketId, link_table: &mut LinkTable<H>) {
        debug_assert!(self.is_straight, "its queue decides");
        let start = self.line.busy_until.max(link_table.packets.get(id).time);
        self.transmit(start, id, link_table);
    }

    #[inline(never)]
    fn accept_fifo(
        &mut self,
        now: Time,
        id: PacketId,
        link_table: &mut LinkTable<H>,
        pool: Option<&mut Pool>,
    ) {
        let Discipline::Fifo(fifo) = &mut self.discipline else { return };
        let packet = link_table.packets.get_mut(id);
        let start = self.line.busy_until.max(packet.time);
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
                link_table.packets.take(id);
                return;
            }
            Verdict::Mark if packet.is_ecn_capable() => {
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
        }
        self.transmit(start, id, link_table);
    }

    #[inline(never)]
    fn accept_buffered(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>) {
        if self.waiting {
            self.serve_through(now, link_table);
        }
        let start = self.line.busy_until.max(link_table.packets.get(id).time).max(now);
        let is_next = !self.waiting && start <= now;
        if is_next || self.put(now, start, id, &mut link_table.packets) == Joined::Booked {
            return self.send(start, id, link_table);
        }
        self.note(now);
    }

    /// Whether the pool has room for a packet that has to wait; if not, it is dropped.
    #[cold]
    fn finds_room(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>, pool: &Pool) -> bool {
        self.serve_through(now, link_table);
        let packet = link_table.packets.get(id);
        let is_next = !self.waiting && self.line.busy_until.max(packet.time) <= now;
        if is_next || self.is_admitted(id, link_table, pool) {
            return true;
        }
        if self.buffer().is_some_and(Buffer::evicts) {
            self.displace(now, id, link_table, pool);
            return false;
        }
        self.counters.drops += 1;
        link_table.packets.take(id);
        false
    }

    /// Whether the pool has room for a packet at this port, or in its queue there.
    fn is_admitted(&mut self, id: PacketId, link_table: &LinkTable<H>, pool: &Pool) -> bool {
        let size_bytes = link_table.packets.get(id).size_bytes;
        if pool.thresholds.is_some()
            && let Discipline::Buffered(buffer) = &mut self.discipline
        {
            let (queue, queued) = buffer.queue_of(id, &link_table.packets);
            return pool.admits_to(queue, queued, size_bytes).unwrap_or(true);
        }
        pool.admits(self.queued(), size_bytes)
    }

    /// Tells what waits in each queue, and what it has sent, where the switch's buffer has thresholds for queues.
    pub(super) fn queues(&self, tell: &mut dyn FnMut(usize, u64, u64)) {
        if let Some(buffer) = self.buffer() {
            buffer.queues(tell);
        }
    }

    /// Has a packet join for which the pool has no room, and drops others, or itself, until it has.
    fn displace(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>, pool: &Pool) {
        let (counted, size_bytes) = (self.queued(), link_table.packets.get(id).size_bytes);
        let Discipline::Buffered(buffer) = &mut self.discipline else { return };
        let (packets, random, counts) = (&mut link_table.packets, &mut self.random, &mut self.counters);
        let env = &mut Env { now, packets, random, counts, serving_bytes: 0 };
        buffer.put(id, None, env);
        while !pool.allows(counted, buffer.queued(), size_bytes) && buffer.evict(env) {}
        self.waiting = buffer.is_ready();
        self.note(now);
    }

    /// What waits in the buffer.
    fn queued(&self) -> Occupancy {
        self.buffer().map_or_else(Occupancy::default, Buffer::queued)
    }

    /// Puts a packet that cannot start now, but could at `start`, into the buffer.
    #[inline(always)]
    fn put(&mut self, now: Time, start: Time, id: PacketId, packets: &mut Packets<H>) -> Joined {
        let opening = self.opening(start);
        let serving_bytes = if now < self.serving_until { self.serving_bytes } else { 0 };
        let Discipline::Buffered(buffer) = &mut self.discipline else { return Joined::Dropped };
        let (random, counts) = (&mut self.random, &mut self.counters);
        let joined = buffer.put(id, opening, &mut Env { now, packets, random, counts, serving_bytes });
        match joined {
            Joined::Booked => self.departures += 1,
            Joined::Waits => self.waiting = true,
            Joined::Dropped => self.waiting = buffer.is_ready(),
            Joined::Returned => self.returned = Some(id),
        }
        joined
    }

    /// For a packet that may start at `start`, if it may be booked.
    #[inline]
    fn opening(&self, start: Time) -> Option<Opening> {
        let Transmitter { framing_bytes, .. } = self.line;
        let byte_time = self.line.byte_time();
        self.books.then_some(Opening { start, byte_time, framing_bytes })
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

    /// Every packet joins the queue, even when the link is free: the far end may have no buffer for it.
    #[inline(never)]
    fn accept_held_back(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>) {
        if self.is_timed() {
            return self.accept_timed(now, id, link_table);
        }
        let was_open = self.is_open(now, link_table.packets.get(id));
        self.catch_up(now, link_table);
        if was_open || self.is_open(now, link_table.packets.get(id)) {
            if self.buffer().is_some_and(Buffer::sees_passing) {
                self.show_passing(now, id, link_table);
            }
            return self.send(now, id, link_table);
        }
        let Discipline::Buffered(buffer) = &mut self.discipline else { return };
        let (packets, random, counts) = (&mut link_table.packets, &mut self.random, &mut self.counters);
        buffer.put(id, None, &mut Env { now, packets, random, counts, serving_bytes: 0 });
        self.waiting = buffer.is_ready();
        self.note(now);
    }

    /// Sends a packet at a port that is open to it, and whose queue does not look at it.
    #[inline]
    pub(super) fn send_at_once(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>) {
        debug_assert!(self.is_open_unseen(now, link_table.packets.get(id)), "something is before it");
        self.line.busy_until = now;
        self.send(now, id, link_table);
    }

    /// Shows a packet that goes past what waits to a queue that looks. Apart, so that other ports pay nothing for it.
    #[inline(never)]
    fn show_passing(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>) {
        let Discipline::Buffered(buffer) = &mut self.discipline else { return };
        let (packets, random, counts) = (&mut link_table.packets, &mut self.random, &mut self.counters);
        buffer.pass(id, &mut Env { now, packets, random, counts, serving_bytes: 0 });
    }

    /// Counts and discards a packet that does not fit into its switch's buffer.
    pub(super) fn refuse(&mut self, id: PacketId, link_table: &mut LinkTable<H>) {
        self.counters.drops += 1;
        link_table.packets.take(id);
    }

    /// What the far end of the link has paused, if it can.
    pub(super) fn paused(&self) -> Option<&PausedClasses> {
        self.buffer()?.paused()
    }

    /// What waits where packets of a class do, if it can be paused.
    #[inline]
    pub(super) fn class_bytes(&self, class: u8) -> u64 {
        self.buffer().map_or(0, |buffer| buffer.class_bytes(class))
    }

    /// Whether a packet that comes now starts now: where it could be paused and is not, nothing that may be sent
    /// waits, and the link is free.
    #[inline]
    pub(super) fn is_open(&self, now: Time, packet: &Packet<H>) -> bool {
        self.is_open_by(Buffer::lets_pass, now, packet)
    }

    /// The same, of a port whose queue does not look at what passes it.
    #[inline]
    pub(super) fn is_open_unseen(&self, now: Time, packet: &Packet<H>) -> bool {
        self.is_open_by(Buffer::lets_pass_unseen, now, packet)
    }

    #[inline(always)]
    fn is_open_by(
        &self,
        lets_pass: impl Fn(&Buffer, Option<u8>, bool) -> bool,
        now: Time,
        packet: &Packet<H>,
    ) -> bool {
        if self.waiting || self.line.busy_until > now || packet.time > now {
            return false;
        }
        let class = (packet.kind != Kind::Link).then_some(packet.class);
        self.buffer().is_some_and(|buffer| lets_pass(buffer, class, self.line.busy_until == now))
    }

    /// Takes out all that waits of a class, and gives it up until it is resumed. The caller calls [`Port::note_emptied`]
    /// once it is rid of that.
    pub(super) fn give_up(&mut self, now: Time, class: u8, packets: &mut Packets<H>) -> Vec<PacketId> {
        let Discipline::Buffered(buffer) = &mut self.discipline else { return Vec::new() };
        let (random, counts) = (&mut self.random, &mut self.counters);
        buffer.give_up(class, &mut Env { now, packets, random, counts, serving_bytes: 0 })
    }

    /// What waited of a class is gone.
    pub(super) fn note_emptied(&mut self, now: Time) {
        self.waiting = self.buffer().is_some_and(Buffer::is_ready);
        self.note(now);
    }

    /// Which of the ports that this one represents a packet takes, by its place among them.
    pub(super) fn link_for(&mut self, packet: impl FnOnce() -> Packet<H>) -> u32 {
        self.nics.as_mut().map_or(0, |nics| nics.link_for(&packet()))
    }

    /// Whether a class of a packet that goes by this port is paused; of several ports, by the one that it would go
    /// by.
    pub(super) fn is_paused(&mut self, class: u8, packet: impl FnOnce() -> Packet<H>) -> bool {
        let port = match &mut self.nics {
            Some(nics) => nics.port_for(&packet()),
            None => self,
        };
        port.has_paused(class)
    }

    /// Whether the far end of its link has paused a class, or has given no credit for what waits of it.
    pub(super) fn has_paused(&self, class: u8) -> bool {
        self.buffer().is_some_and(|buffer| buffer.keeps_back(class))
    }

    /// Whether a credit that comes can be for what a transport holds back ([`Port::has_paused`]).
    pub(super) fn holds_back_by_credit(&self) -> bool {
        let port = self.nics.as_ref().map_or(self, |nics| &nics.ports()[0]);
        matches!(port.buffer(), Some(Buffer::Cbfc(_)))
    }

    /// Of the ports by which packets of a class to a host may go: whether one is free at `now`, and when the first of
    /// the others will be.
    pub(super) fn free_to(&self, now: Time, dst: HostId, class: u8) -> (bool, Time) {
        let with = |(is_free, next): (bool, Time), port: &Port<H, A>| match port.drained_at() {
            at if at <= now => (true, next),
            at => (is_free, next.min(at)),
        };
        let none = (false, Time::NEVER);
        match &self.nics {
            Some(nics) => nics.open_to(now, dst, class).fold(none, with),
            None if self.has_paused(class) => none,
            None => with(none, self),
        }
    }

    /// Whether the port by which a packet would go may send it and has sent all before it.
    pub(super) fn is_free_for(&mut self, packet: &Packet<H>) -> bool {
        let port = match &mut self.nics {
            Some(nics) => nics.port_for(packet),
            None => self,
        };
        port.drained_at() <= packet.time && !port.has_paused(packet.class)
    }

    /// A header that did not fit and has to go back to its sender, to be taken after each packet that the port
    /// accepts.
    pub fn take_returned(&mut self) -> Option<PacketId> {
        self.returned.take()
    }

    /// Sends a message to the far end; `by`: by which of a host's links.
    pub(super) fn send_signal(
        &mut self,
        now: Time,
        by: u32,
        message: PacketId,
        link_table: &mut LinkTable<H>,
    ) {
        if let Some(nics) = &mut self.nics {
            nics.ports_mut()[by as usize].accept(now, message, link_table, None);
            return self.follow();
        }
        self.accept(now, message, link_table, None);
    }

    /// A message from the far end; `by`: the link of the host that it came by.
    pub fn receive_message(
        &mut self,
        now: Time,
        by: u32,
        message: LinkMessage,
        link_table: &mut LinkTable<H>,
    ) {
        self.change(now, by, link_table, |buffer| buffer.receive_message(now, message));
    }

    /// The far end lends so much of its buffer; `by`: by which of a host's links.
    pub fn borrow(&mut self, now: Time, by: u32, bytes: u32, link_table: &mut LinkTable<H>) {
        self.change(now, by, link_table, |buffer| buffer.borrow(bytes));
    }

    /// Gives back what was lent, as far as it is not in use.
    pub fn give_back(&mut self, now: Time, link_table: &mut LinkTable<H>) {
        if let Some(nics) = &mut self.nics {
            nics.ports_mut().iter_mut().for_each(|port| port.give_back(now, link_table));
            return self.follow();
        }
        self.catch_up(now, link_table);
        let Discipline::Buffered(buffer) = &mut self.discipline else { return };
        if let Some((message, size_bytes)) = buffer.give_back() {
            let id = link_table.packets.add(Packet { time: now, ..message.packet(size_bytes) });
            self.accept(now, id, link_table, None);
        }
    }

    /// Changes what the buffer may send.
    fn change(
        &mut self,
        now: Time,
        by: u32,
        link_table: &mut LinkTable<H>,
        change: impl FnOnce(&mut Buffer),
    ) {
        if let Some(nics) = &mut self.nics {
            nics.ports_mut()[by as usize].change(now, 0, link_table, change);
            return self.follow();
        }
        // Others' agents measure by when the link was last taken, which must not change.
        if self.is_direct {
            return;
        }
        self.catch_up(now, link_table);
        if let Discipline::Buffered(buffer) = &mut self.discipline {
            change(buffer);
            self.waiting = buffer.is_ready();
        }
        self.note(now);
    }

    /// Sends what could start by now, or before now where what comes joins first.
    fn serve_by(&mut self, now: Time, link_table: &mut LinkTable<H>) {
        if self.waiting {
            let joins_first = self.buffer().is_some_and(Buffer::joins_first);
            self.serve_through(
                if joins_first { Time(now.as_ps().saturating_sub(1)) } else { now },
                link_table,
            );
        }
    }

    /// The same. If that is all that may be sent, nothing that comes later starts before now.
    fn catch_up(&mut self, now: Time, link_table: &mut LinkTable<H>) {
        self.serve_by(now, link_table);
        if !self.waiting {
            self.line.busy_until = self.line.busy_until.max(now);
        }
    }

    /// Sends the next packet from the buffer. If that was data that came over a link, returns it and when it was
    /// chosen; what cuts through to a faster link may start later than that.
    pub fn depart(&mut self, link_table: &mut LinkTable<H>) -> Option<(Time, Departure)> {
        let chosen = self.line.busy_until;
        self.serve_next(link_table)?;
        let Discipline::Buffered(buffer) = &self.discipline else { return None };
        buffer.departure().map(|departure| (chosen, departure))
    }

    /// Sends what waits in the buffer and can start before `end`.
    pub fn serve_until(&mut self, end: Time, link_table: &mut LinkTable<H>) {
        self.serve_through(Time(end.as_ps() - 1), link_table);
    }

    fn serve_through(&mut self, last: Time, link_table: &mut LinkTable<H>) {
        while self.waiting && self.line.busy_until <= last {
            self.serve_next(link_table);
        }
    }

    /// Sends the next packet from the buffer; returns when it starts, if the queue has not dropped all that waited.
    #[inline]
    pub(super) fn serve_next(&mut self, link_table: &mut LinkTable<H>) -> Option<Time> {
        let Discipline::Buffered(buffer) = &mut self.discipline else {
            let start = self.nics.as_mut()?.serve_next(link_table);
            self.follow();
            return start;
        };
        let now = self.line.busy_until;
        let (packets, random, counts) = (&mut link_table.packets, &mut self.random, &mut self.counters);
        let taken = buffer.take(&mut Env { now, packets, random, counts, serving_bytes: 0 });
        self.waiting = buffer.is_ready();
        let Some(id) = taken else {
            self.note_nothing(&link_table.packets);
            return None;
        };
        let start = self.line.busy_until.max(link_table.packets.get(id).time);
        self.note(start);
        self.send(start, id, link_table);
        self.departures += 1;
        Some(start)
    }

    /// The queue has dropped what waited instead of sending it, or it waits for its time.
    #[cold]
    fn note_nothing(&mut self, packets: &Packets<H>) {
        if self.is_timed() {
            return self.await_time(packets);
        }
        debug_assert!(!self.waiting, "a queue that gives nothing has nothing that may be sent");
        self.note(self.line.busy_until);
    }

    /// Transmits a packet that a buffer may have to know to be in service.
    #[inline(always)]
    fn send(&mut self, start: Time, id: PacketId, link_table: &mut LinkTable<H>) {
        let data_bytes = self.transmit(start, id, link_table);
        if data_bytes > 0 {
            (self.serving_bytes, self.serving_until) = (data_bytes, self.line.busy_until);
        }
    }

    /// Puts a packet onto the link; returns its size if it is data, otherwise 0.
    #[inline(always)]
    fn transmit(&mut self, start: Time, id: PacketId, link_table: &mut LinkTable<H>) -> u16 {
        if A::SEES_DEPARTURES {
            self.show(start, link_table.packets.get_mut(id));
        }
        self.line.transmit(start, id, link_table)
    }

    /// Shows the agent a packet that starts.
    fn show(&mut self, at: Time, packet: &mut Packet<H>) {
        let left = self.queued();
        let (_, sent_bytes) = self.line.sent();
        self.agent.depart(Leaving { at, left, sent_bytes }, packet);
    }

    /// How many bytes wait, once the packets have gone that have started: what they take of a pool.
    pub fn settle(&mut self, now: Time, link_table: &mut LinkTable<H>) -> u64 {
        if let Discipline::Fifo(fifo) = &mut self.discipline {
            depart(fifo, now, self.recorder.as_deref_mut());
            return fifo.queued().bytes;
        }
        self.serve_through(now, link_table);
        self.queued().bytes
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
    use crate::engine::agent::PortInfo;
    use crate::engine::calendar::Calendar;
    use crate::engine::link_table::LinkEnd;
    use crate::queue::{Fair, PFabric, Trimming};
    use crate::random::Purpose;
    use crate::spec::Value;
    use std::mem::offset_of;

    /// Notes each departure.
    #[derive(Debug, Default)]
    struct Telemetry(Vec<(Time, u64, u64)>);

    impl PortAgent<u64> for Telemetry {
        const SEES_DEPARTURES: bool = true;

        fn build(_: &Values, _: PortInfo) -> Telemetry {
            Telemetry::default()
        }

        fn forward(&mut self, _: Moment, _: &mut Packet<u64>) {}

        fn depart(&mut self, leaving: Leaving, packet: &mut Packet<u64>) {
            packet.header = leaving.left.bytes;
            self.0.push((leaving.at, leaving.left.bytes, leaving.sent_bytes));
        }
    }

    #[test]
    fn an_agent_sees_packets_as_they_start() {
        let topology = Topology::of_counts("rack", &[("hosts", 2)]);
        let admits = Value::Text("what-fits".to_owned());
        let entries = [("capacity", Value::Absent), ("admits", admits), ("pool", Value::Absent)];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
        let queue = Values { kind: "drop-tail".to_owned(), entries };
        let mut link_table: LinkTable<u64> = LinkTable::new(1, Calendar::new(3, Time::from_ns(1_000)));
        let mut port = Port::new(
            &topology,
            &topology.links[0],
            LinkEnd::at(2, 0),
            Discipline::build(&queue, false, Telemetry::SEES_DEPARTURES),
            None,
            Stream::new(1, Purpose::Queue, 0),
            Telemetry::default(),
        );
        let packet = Packet { dst: 1, size_bytes: 1_500, ..Packet::default() };
        let ids = [(); 3].map(|()| {
            let id = link_table.packets.add(packet);
            port.accept(Time::ZERO, id, &mut link_table, None);
            id
        });
        port.serve_until(Time::from_ns(10_000), &mut link_table);
        let takes = port.time_for(1_500);
        // The first starts at once, with nothing behind it; by the time of the second, one waits.
        let seen = [(Time::ZERO, 0, 0), (takes, 1_500, 1_500), (takes + takes, 0, 3_000)];
        assert_eq!(port.agent.0, seen);
        assert_eq!(ids.map(|id| link_table.packets.get(id).header), [0, 1_500, 0]);
    }

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

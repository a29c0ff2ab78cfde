//! A port: a queue discipline before a link.

mod accept;
mod aside;
mod flow_control;
mod service;
mod timed;

use super::agent::{Moment, PortAgent};
use super::link_table::{LinkEnd, LinkTable};
use super::transmitter::Transmitter;
use crate::packet::Packet;
use crate::packets::{PacketId, Packets};
use crate::prefetch::prefetch_lines;
use crate::queue::{Buffer, Built, Counts, Fifo, Holds, Occupancy, Site, Specification};
use crate::random::Stream;
use crate::record::{QueueRecorder, SentRecorder};
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
}

impl Discipline {
    /// The discipline of a scenario's queue, empty; `observed`: whether its length is recorded; `held`: whether
    /// packets must wait here until they start, so that departures can be seen.
    pub fn build(queue: &Specification, observed: bool, held: bool) -> Discipline {
        match queue.build() {
            Built::Fifo(admission) if held => Discipline::Buffered(Buffer::held(admission)),
            Built::Fifo(admission) => {
                Discipline::Fifo(Fifo::new(admission, observed || queue.pool.is_some()))
            }
            Built::Held(buffer) => Discipline::Buffered(buffer),
        }
    }

    /// Marks from now on as another queue of the same kind does; what waits stays as it is.
    fn mark_by(&mut self, other: &Discipline) {
        match (self, other) {
            (Discipline::Fifo(fifo), Discipline::Fifo(other)) => fifo.mark_by(other),
            (Discipline::Buffered(buffer), Discipline::Fifo(other)) => buffer.admit_by(other.admission()),
            (Discipline::Buffered(buffer), Discipline::Buffered(other)) => buffer.mark_by(other),
            (Discipline::Fifo(_), Discipline::Buffered(_)) => {}
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
pub(super) const BUSY_LINES: usize = 3;

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

    /// See [`Discipline::mark_by`].
    pub(super) fn mark_by(&mut self, other: &Discipline) {
        self.discipline.mark_by(other);
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
            Discipline::Fifo(_) => None,
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

    /// Prefetches what it takes to queue a packet, and to send one that waited.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        prefetch_lines(self, BUSY_LINES);
    }

    /// Prefetches what the queue keeps apart from the port; to find it the port itself is read.
    #[inline(always)]
    pub(super) fn prefetch_queue(&self) {
        if let Discipline::Buffered(buffer) = &self.discipline {
            buffer.prefetch_state();
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

    /// Tells what waits in each queue, and what it has sent, where the switch's buffer has thresholds for queues.
    pub(super) fn queues(&self, tell: &mut dyn FnMut(usize, u64, u64)) {
        if let Some(buffer) = self.buffer() {
            buffer.queues(tell);
        }
    }

    /// What waits in the buffer.
    fn queued(&self) -> Occupancy {
        self.buffer().map_or_else(Occupancy::default, Buffer::queued)
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

    /// A header that did not fit and has to go back to its sender, to be taken after each packet that the port
    /// accepts.
    pub fn take_returned(&mut self) -> Option<PacketId> {
        self.returned.take()
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
    use crate::engine::agent::{Leaving, PortInfo};
    use crate::engine::calendar::Calendar;
    use crate::engine::link_table::LinkEnd;
    use crate::queue::{Fair, PFabric, Trimming};
    use crate::random::Purpose;
    use crate::spec::{Value, Values};
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
        let queue = Specification::of(&Values { kind: "drop-tail".to_owned(), entries });
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

//! The way of a packet through a port of parts.

use super::buffer;
use crate::link_message::LinkMessage;
use crate::packet::Kind;
use crate::packets::{PacketId, Packets};
use crate::queue::aqm::{self, AnyAqm, Aqm, Look, Waiting};
use crate::queue::flow_control::{Gates, PausedClasses, Pfc, class_in, departure};
use crate::queue::scheduler::{self, AnyScheduler, Scheduler};
use crate::queue::{Admission, Departure, Env, Holds, Joined, Occupancy, Opening, Site, Verdict};
use crate::spec::Values;
use crate::units::Time;

/// A port's packets, and what decides about them.
#[derive(Clone, Debug)]
pub struct Egress {
    scheduler: AnyScheduler,
    /// The AQM of a queue to which nothing has come, and those of the scheduler's queues; one alone if it couples them.
    fresh: AnyAqm,
    aqms: Vec<AnyAqm>,
    couples: bool,
    room: Admission,
    /// Whether others are dropped in favour of what comes.
    evicts: bool,
    /// What each queue has sent, where the buffer has thresholds for queues.
    sent_bytes: Vec<u64>,
    /// What the far end of the link has paused, where it can.
    pfc: Option<Box<Pfc>>,
}

/// What waits, as an AQM may ask.
struct Port<'a, H> {
    scheduler: &'a AnyScheduler,
    packets: &'a Packets<H>,
}

impl<H: Copy + Default> Waiting for Port<'_, H> {
    fn queued(&self) -> Occupancy {
        self.scheduler.queued()
    }

    fn first_came(&self, queue: usize) -> Option<Time> {
        self.scheduler.first(queue, self.packets).map(|id| self.packets.get(id).time)
    }
}

impl Egress {
    /// An empty port.
    pub fn build(values: &Values) -> Egress {
        let queues = scheduler::queues(&values.component("scheduler"));
        Egress {
            scheduler: AnyScheduler::build(&values.component("scheduler")),
            fresh: AnyAqm::build(&values.component("aqm")),
            aqms: Vec::new(),
            couples: aqm::couples(&values.component("aqm")),
            evicts: scheduler::evicts(&values.component("scheduler")),
            sent_bytes: match queues {
                Some(queues) if buffer::goes_by_queues(&values.component("buffer")) => vec![0; queues],
                _ => Vec::new(),
            },
            room: buffer::admission(&values.component("buffer")),
            pfc: queues.and_then(|queues| Pfc::build(&values.component("flow_control"), queues)),
        }
    }

    /// What waits in queues that may send, and the frames that pause links.
    fn sendable(&self, pfc: &Pfc) -> Occupancy {
        let open = (0..pfc.queues()).filter(|queue| pfc.gates().is_open(*queue));
        open.fold(pfc.frames.queued(), |all, queue| all + self.scheduler.queued_in(queue))
    }

    /// The place of the AQM of a queue, which is there.
    fn place_of(&mut self, queue: usize) -> usize {
        let place = if self.couples { 0 } else { queue };
        if place >= self.aqms.len() {
            self.aqms.resize_with(place + 1, || self.fresh.clone());
        }
        place
    }

    /// The AQM of a queue.
    fn aqm(&mut self, queue: usize) -> &mut AnyAqm {
        let place = self.place_of(queue);
        &mut self.aqms[place]
    }

    /// What the AQM of a queue says of a packet that comes, or leaves after it has waited.
    fn judge<H: Copy + Default>(
        &mut self,
        id: PacketId,
        queue: usize,
        (sojourn, leaves): (Time, bool),
        env: &mut Env<'_, H>,
    ) -> Verdict {
        let place = self.place_of(queue);
        let packet = env.packets.get(id);
        let (size_bytes, unscheduled) = (packet.size_bytes, packet.is_unscheduled());
        let markable = packet.is_ecn_capable() && packet.kind != Kind::Trimmed;
        let (now, queued) = (env.now, self.scheduler.queued_in(queue));
        let port = &Port { scheduler: &self.scheduler, packets: env.packets };
        let random = &mut *env.random;
        let look = &mut Look { now, queue, queued, size_bytes, markable, unscheduled, sojourn, random, port };
        let aqm = &mut self.aqms[place];
        let verdict = if leaves { aqm.leave(look) } else { aqm.arrive(look) };
        if verdict == Verdict::Mark && markable {
            env.counts.marks += 1;
            env.packets.get_mut(id).congestion_experienced = true;
        }
        verdict
    }

    /// Drops what is to go first while more waits than may, of which a packet that came last takes part.
    fn make_room<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> bool {
        let mut dropped = false;
        while self.room.is_exceeded_by(self.scheduler.queued()) && self.evict(env) {
            dropped = true;
        }
        dropped
    }
}

impl Holds for Egress {
    fn put<H: Copy + Default>(&mut self, id: PacketId, _: Option<Opening>, env: &mut Env<'_, H>) -> Joined {
        if let Some(pfc) = &mut self.pfc
            && env.packets.get(id).kind == Kind::Link
        {
            pfc.frames.push_back(id, env.packets);
            return Joined::Waits;
        }
        let size_bytes = env.packets.get(id).size_bytes;
        if !self.evicts && self.room.judge(self.scheduler.queued(), size_bytes, env.random) == Verdict::Drop {
            env.drop(id);
            return Joined::Dropped;
        }
        let queue = self.scheduler.queue_for(id, env.packets);
        if self.judge(id, queue, (Time::ZERO, false), env) == Verdict::Drop {
            env.drop(id);
            return Joined::Dropped;
        }
        self.scheduler.join(id, queue, env.packets);
        if self.evicts && self.make_room(env) { Joined::Dropped } else { Joined::Waits }
    }

    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        let mut gates = Gates::OPEN;
        if let Some(pfc) = &mut self.pfc {
            pfc.last = None;
            if let Some(frame) = pfc.frames.pop_front(env.packets) {
                return Some(frame);
            }
            gates = pfc.gates();
        }
        loop {
            let queue = self.scheduler.next(gates, env.packets)?;
            while let Some(id) = self.scheduler.pop(queue, env) {
                let packet = env.packets.get(id);
                let (sojourn, size_bytes) = (env.now.since(packet.time), packet.size_bytes);
                if self.judge(id, queue, (sojourn, true), env) != Verdict::Drop {
                    self.scheduler.sent(queue, size_bytes);
                    if let Some(sent_bytes) = self.sent_bytes.get_mut(queue) {
                        *sent_bytes += u64::from(size_bytes);
                    }
                    if let Some(pfc) = &mut self.pfc {
                        pfc.last = departure(id, env.packets);
                    }
                    return Some(id);
                }
                env.drop(id);
            }
            self.aqm(queue).emptied();
            self.scheduler.emptied(queue);
        }
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> impl Iterator<Item = PacketId> + 'a {
        let frames = self.pfc.iter().flat_map(|pfc| pfc.frames.iter(packets));
        frames.chain(self.scheduler.packets(packets))
    }

    fn queued(&self) -> Occupancy {
        let waiting = self.scheduler.queued();
        self.pfc.as_ref().map_or(waiting, |pfc| waiting + pfc.frames.queued())
    }

    fn unbooked(&self) -> Occupancy {
        self.pfc.as_ref().map_or_else(|| self.scheduler.queued(), |pfc| self.sendable(pfc))
    }

    fn is_ready(&self) -> bool {
        match &self.pfc {
            Some(pfc) => self.sendable(pfc).packets > 0,
            None => self.scheduler.queued().packets > 0 || !self.scheduler.is_settled(),
        }
    }

    fn evict<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> bool {
        let Some(evicted) = self.scheduler.evict(env) else { return false };
        self.aqm(evicted.queue).overflowed(evicted.packets);
        true
    }

    fn evicts(&self) -> bool {
        self.evicts
    }

    fn classes(&self, mut visit: impl FnMut(usize, u64, Option<u64>)) {
        self.scheduler.classes(&mut |number, bytes| visit(number, bytes, None));
    }

    fn queues(&self, tell: &mut dyn FnMut(usize, u64, u64)) {
        for (queue, sent_bytes) in self.sent_bytes.iter().enumerate() {
            tell(queue, self.scheduler.queued_in(queue).bytes, *sent_bytes);
        }
    }

    fn queue_of<H: Copy + Default>(&mut self, id: PacketId, packets: &Packets<H>) -> (usize, Occupancy) {
        let queue = self.scheduler.queue_for(id, packets);
        (queue, self.scheduler.queued_in(queue))
    }

    fn place(&mut self, site: Site) {
        self.fresh.place(&site);
        if let Some(pfc) = &mut self.pfc {
            pfc.paused.place(&site);
        }
    }

    fn joins_first(&self) -> bool {
        self.pfc.is_some()
    }

    fn paused(&self) -> Option<&PausedClasses> {
        self.pfc.as_ref().map(|pfc| &pfc.paused)
    }

    fn keeps_back(&self, class: u8) -> bool {
        self.pfc.as_ref().is_some_and(|pfc| !pfc.lets_go(class))
    }

    fn lets_pass(&self, class: Option<u8>, _: bool) -> bool {
        self.pfc.as_ref().is_some_and(|pfc| class.is_none_or(|class| pfc.lets_go(class)))
    }

    // Its AQM and its scheduler do.
    #[inline]
    fn sees_passing(&self) -> bool {
        true
    }

    fn pass<H: Copy + Default>(&mut self, id: PacketId, env: &mut Env<'_, H>) {
        self.put(id, None, env);
        let taken = self.take(env);
        debug_assert_eq!(taken, Some(id), "nothing else that waits may be sent");
    }

    fn class_bytes(&self, class: u8) -> u64 {
        self.pfc.as_ref().map_or(0, |pfc| self.scheduler.queued_in(pfc.queue_of(class)).bytes)
    }

    fn give_up<H: Copy + Default>(&mut self, class: u8, env: &mut Env<'_, H>) -> Vec<PacketId> {
        let Some(pfc) = &mut self.pfc else { return Vec::new() };
        pfc.paused.give_up(class);
        let queue = pfc.queue_of(class);
        let all: Vec<PacketId> = std::iter::from_fn(|| self.scheduler.pop(queue, env)).collect();
        let is_of_class = |id: &PacketId| class_in(env.packets.get(*id).class) == class_in(class);
        let (of_class, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_of_class);
        others.into_iter().for_each(|id| self.scheduler.join(id, queue, env.packets));
        of_class
    }

    fn receive_message(&mut self, now: Time, message: LinkMessage) {
        if let Some(pfc) = &mut self.pfc {
            pfc.receive(now, message);
        }
    }

    fn departure(&self) -> Option<Departure> {
        self.pfc.as_ref().and_then(|pfc| pfc.last)
    }

    // So that the AQM and the scheduler see those packets, too, that find the line free.
    fn holds_back(&self) -> bool {
        true
    }
}

//! The way of a packet through a port of parts.

use super::Parts;
use super::by_credit::OfSwitches;
use crate::link_message::LinkMessage;
use crate::packet::Kind;
use crate::packets::{PacketId, Packets};
use crate::queue::aqm::{AnyAqm, Aqm, Look, Waiting};
use crate::queue::flow_control::credit::Credit;
use crate::queue::flow_control::{CLASSES, FlowControl, Gates, PausedClasses, Specification, class_in};
use crate::queue::scheduler::{AnyScheduler, Scheduler};
use crate::queue::{Admission, Departure, Env, Holds, Joined, Occupancy, Opening, Site, Verdict};
use crate::units::Time;

/// A port's packets, and what decides about them: parts that a scenario names, or those of a queue with a name.
#[derive(Clone, Debug)]
pub struct Egress<S = AnyScheduler, A = AnyAqm> {
    scheduler: S,
    /// The AQM of a queue to which nothing has come, and those of the scheduler's queues; one alone if it couples them.
    fresh: A,
    aqms: Vec<A>,
    couples: bool,
    room: Admission,
    /// What waits of a class at a switch's port that needs no credit, where classes have a buffer each, for data alone.
    class_bytes: Option<u64>,
    /// Whether others are dropped in favour of what comes.
    evicts: bool,
    /// What each queue has sent, where the buffer has thresholds for queues.
    sent_bytes: Vec<u64>,
    /// What the far end of the link allows, where it has a say.
    flow_control: Option<Box<FlowControl>>,
}

/// What waits, as an AQM may ask.
struct Port<'a, S, H> {
    scheduler: &'a S,
    packets: &'a Packets<H>,
}

impl<S: Scheduler, H: Copy + Default> Waiting for Port<'_, S, H> {
    fn queued(&self) -> Occupancy {
        self.scheduler.queued()
    }

    fn first_came(&self, queue: usize) -> Option<Time> {
        self.scheduler.first(queue, self.packets).map(|id| self.packets.get(id).time)
    }
}

impl Egress {
    /// An empty port.
    pub(super) fn build(parts: &Parts) -> Egress {
        let Parts { scheduler, aqm, buffer, flow_control } = parts;
        let queues = scheduler.queues;
        Egress {
            couples: aqm.couples,
            evicts: scheduler.evicts,
            sent_bytes: match (queues, buffer.by_queues()) {
                (Some(queues), Some(_)) => vec![0; queues],
                _ => Vec::new(),
            },
            room: buffer.own,
            flow_control: queues.and_then(|queues| FlowControl::build(flow_control, queues)),
            ..Egress::of(scheduler.empty.clone(), aqm.fresh.clone())
        }
    }
}

impl<S: Scheduler> Egress<S, OfSwitches> {
    /// An empty port of classes that need credit; those that need none have so much buffer each.
    pub(super) fn by_credit(scheduler: S, aqm: OfSwitches, credit: Credit, class_bytes: u64) -> Self {
        Egress {
            class_bytes: Some(class_bytes),
            flow_control: FlowControl::build(&Specification::Credit(credit), CLASSES),
            ..Egress::of(scheduler, aqm)
        }
    }
}

impl<S: Scheduler, A: Aqm + Clone> Egress<S, A> {
    /// An empty port that admits all.
    fn of(scheduler: S, fresh: A) -> Self {
        Egress {
            scheduler,
            fresh,
            aqms: Vec::new(),
            couples: false,
            room: Admission::UNLIMITED,
            class_bytes: None,
            evicts: false,
            sent_bytes: Vec::new(),
            flow_control: None,
        }
    }

    /// What waits in queues that may send, and the messages to the far end.
    fn sendable(&self, flow_control: &FlowControl) -> Occupancy {
        let open = (0..flow_control.queues()).filter(|queue| flow_control.gates().is_open(*queue));
        open.fold(flow_control.messages().queued(), |all, queue| all + self.scheduler.queued_in(queue))
    }

    /// Which queues may send.
    #[inline]
    fn gates(&self) -> Gates {
        self.flow_control.as_ref().map_or(Gates::OPEN, |flow_control| flow_control.gates())
    }

    /// What takes of the port's buffer.
    fn charged_here(&self) -> Occupancy {
        let waiting = self.scheduler.queued();
        self.flow_control.as_ref().map_or(waiting, |flow_control| waiting - flow_control.waits_by_credit())
    }

    /// A packet that was taken out of a queue is sent, or dropped.
    fn note_left<H: Copy + Default>(&mut self, queue: usize, left: (PacketId, bool), packets: &Packets<H>) {
        if let Some(flow_control) = &mut self.flow_control {
            flow_control.leave((queue, self.scheduler.first(queue, packets)), left, packets);
        }
    }

    /// The place of the AQM of a queue, which is there.
    #[inline]
    fn place_of(&mut self, queue: usize) -> usize {
        let place = if self.couples { 0 } else { queue };
        if place >= self.aqms.len() {
            self.add_aqms(place + 1);
        }
        place
    }

    #[cold]
    fn add_aqms(&mut self, count: usize) {
        self.aqms.resize_with(count, || self.fresh.clone());
    }

    /// The AQM of a queue.
    fn aqm(&mut self, queue: usize) -> &mut A {
        let place = self.place_of(queue);
        &mut self.aqms[place]
    }

    /// What the AQM of a queue says of a packet that comes, or leaves after it has waited.
    #[inline]
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

impl<S: Scheduler, A: Aqm + Clone> Holds for Egress<S, A> {
    fn put<H: Copy + Default>(&mut self, id: PacketId, _: Option<Opening>, env: &mut Env<'_, H>) -> Joined {
        if let Some(flow_control) = &mut self.flow_control
            && env.packets.get(id).kind == Kind::Link
        {
            flow_control.messages_mut().push_back(id, env.packets);
            return Joined::Waits;
        }
        let packet = env.packets.get(id);
        let (size_bytes, is_data) = (packet.size_bytes, packet.kind == Kind::Data);
        // What the far end of its link had room for is not dropped.
        let taken_bytes = self.flow_control.as_ref().map_or(0, |control| control.taken_by(packet));
        let is_kept = taken_bytes > 0;
        let is_judged = !self.evicts && !is_kept;
        if is_judged
            && self.room.looks()
            && self.room.judge(self.charged_here(), size_bytes, env.random) == Verdict::Drop
        {
            env.drop(id);
            return Joined::Dropped;
        }
        let queue = self.scheduler.queue_for(id, env.packets);
        if let Some(most) = self.class_bytes.filter(|_| is_judged && is_data)
            && self.scheduler.queued_in(queue).bytes + u64::from(size_bytes) > most
        {
            env.drop(id);
            return Joined::Dropped;
        }
        if A::JUDGES_ARRIVALS && self.judge(id, queue, (Time::ZERO, false), env) == Verdict::Drop && !is_kept
        {
            env.drop(id);
            return Joined::Dropped;
        }
        if let Some(flow_control) = &mut self.flow_control {
            let is_first = self.scheduler.queued_in(queue).packets == 0;
            flow_control.join(queue, (env.packets.get(id), taken_bytes), is_first);
        }
        self.scheduler.join(id, queue, env.packets);
        if self.evicts && self.make_room(env) { Joined::Dropped } else { Joined::Waits }
    }

    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        if let Some(flow_control) = &mut self.flow_control {
            flow_control.forget_last();
            if let Some(message) = flow_control.messages_mut().pop_front(env.packets) {
                return Some(message);
            }
        }
        'queues: loop {
            let queue = self.scheduler.next(self.gates(), env.packets)?;
            while let Some(id) = self.scheduler.pop(queue, env) {
                let packet = env.packets.get(id);
                let (sojourn, size_bytes) = (env.now.since(packet.time), packet.size_bytes);
                let is_kept =
                    self.flow_control.as_ref().is_some_and(|control| control.first_takes(queue) > 0);
                let goes = self.judge(id, queue, (sojourn, true), env) != Verdict::Drop || is_kept;
                self.note_left(queue, (id, goes), env.packets);
                if goes {
                    self.scheduler.sent(queue, size_bytes);
                    if let Some(sent_bytes) = self.sent_bytes.get_mut(queue) {
                        *sent_bytes += u64::from(size_bytes);
                    }
                    return Some(id);
                }
                env.drop(id);
                if !self.gates().is_open(queue) {
                    continue 'queues;
                }
            }
            self.aqm(queue).emptied();
            self.scheduler.emptied(queue);
        }
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> impl Iterator<Item = PacketId> + 'a {
        let messages = self.flow_control.iter().flat_map(|control| control.messages().iter(packets));
        messages.chain(self.scheduler.packets(packets))
    }

    fn queued(&self) -> Occupancy {
        let waiting = self.scheduler.queued();
        self.flow_control.as_ref().map_or(waiting, |control| waiting + control.messages().queued())
    }

    fn unbooked(&self) -> Occupancy {
        match &self.flow_control {
            Some(flow_control) if !flow_control.gives_credit() => self.sendable(flow_control),
            _ => self.queued(),
        }
    }

    fn is_ready(&self) -> bool {
        match &self.flow_control {
            Some(flow_control) => {
                let (gates, queues) = (flow_control.gates(), flow_control.queues());
                !flow_control.messages().is_empty() || self.scheduler.may_send(gates, queues)
            }
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
        let used = |class| self.flow_control.as_ref()?.credit_used_of(class);
        self.scheduler.classes(&mut |number, bytes| visit(number, bytes, used(number)));
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
        self.class_bytes = self.class_bytes.filter(|_| site.is_switch);
        self.fresh.place(&site);
        if let Some(flow_control) = &mut self.flow_control {
            flow_control.place(&site);
        }
    }

    fn joins_first(&self) -> bool {
        self.paused().is_some()
    }

    fn paused(&self) -> Option<&PausedClasses> {
        self.flow_control.as_ref()?.paused()
    }

    fn keeps_back(&self, class: u8) -> bool {
        self.flow_control.as_ref().is_some_and(|control| !control.lets_go(class))
    }

    fn lets_pass(&self, class: Option<u8>, _: bool) -> bool {
        self.flow_control.as_ref().is_some_and(|control| control.lets_pass(class))
    }

    fn waits_for_credit(&self) -> bool {
        self.flow_control.as_ref().is_some_and(|control| control.gives_credit())
    }

    fn credit_used(&self) -> Vec<u64> {
        self.flow_control.as_ref().map_or_else(Vec::new, |control| control.credit_used())
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
        let control = self.flow_control.as_ref();
        control.map_or(0, |control| self.scheduler.queued_in(control.queue_of(class)).bytes)
    }

    fn give_up<H: Copy + Default>(&mut self, class: u8, env: &mut Env<'_, H>) -> Vec<PacketId> {
        let Some(flow_control) = &mut self.flow_control else { return Vec::new() };
        flow_control.give_up(class);
        let queue = flow_control.queue_of(class);
        let all: Vec<PacketId> = std::iter::from_fn(|| self.scheduler.pop(queue, env)).collect();
        let is_of_class = |id: &PacketId| class_in(env.packets.get(*id).class) == class_in(class);
        let (of_class, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_of_class);
        others.into_iter().for_each(|id| self.scheduler.join(id, queue, env.packets));
        of_class
    }

    fn receive_message(&mut self, now: Time, message: LinkMessage) {
        if let Some(flow_control) = &mut self.flow_control {
            flow_control.receive(now, message);
        }
    }

    fn departure(&self) -> Option<Departure> {
        self.flow_control.as_ref().and_then(|control| control.last())
    }

    // So that the AQM and the scheduler see those packets, too, that find the line free.
    fn holds_back(&self) -> bool {
        true
    }
}

//! A host's turn, event by event: what happens next, and what the host does then.

use super::intake::Arrived;
use super::services::Turned;
use super::{Around, Host};
use crate::engine::agent::PortAgent;
use crate::engine::arrival::Arrival;
use crate::engine::endpoint::Context;
use crate::engine::link_table::LinkTable;
use crate::flow::{Flow, FlowId, HostId};
use crate::link_message::LinkMessage;
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::queue::Signals;
use crate::record::Arrivals;
use crate::units::Time;
use std::iter::Peekable;

/// What happens next at a host.
pub(super) enum Next {
    /// The transport has a turn.
    Step(Step),
    /// A service has one.
    Service,
}

/// Why the transport has a turn.
pub(super) enum Step {
    Arrival(PacketId),
    /// A packet that came before is with the transport now.
    Taken(PacketId),
    /// A pause of the NIC has ended.
    Resumed,
    /// The switch says of a flow's queue whether it is paused.
    Paused(FlowId, bool),
    /// The same of all flows to a host.
    PausedTo(HostId, bool),
    Timer,
    Start,
    /// The host was done with sending a message; now the transport gets it.
    HandedOver(Flow),
}

impl<H: Copy + Default, A: PortAgent<H>> Host<H, A> {
    /// What happens next before `end`. At equal times what arrives comes before services, these before timers, timers
    /// before new flows.
    #[inline]
    pub(super) fn next(&self, end: Time, arrival: Option<(Time, PacketId)>) -> Option<(Time, Next)> {
        let timer = self.turns.agenda.next_at();
        let by_itself = timer.min(self.turns.starting.next_at()).min(self.turns.acts_at);
        if let Some((at, id)) = arrival
            && at <= by_itself
        {
            Some((at, Next::Step(Step::Arrival(id))))
        } else if by_itself >= end {
            None
        } else if self.turns.acts_at == by_itself {
            Some((by_itself, Next::Service))
        } else if timer == by_itself {
            Some((by_itself, Next::Step(Step::Timer)))
        } else {
            Some((by_itself, Next::Step(Step::Start)))
        }
    }

    /// Does what happens next; `arrivals`: what comes, in order.
    #[inline(always)]
    pub(super) fn happen(
        &mut self,
        (start, (now, next)): (Time, (Time, Next)),
        arrivals: &mut Peekable<std::slice::Iter<'_, Arrival>>,
        around: &mut Around<'_, H, A>,
    ) {
        if let Next::Step(Step::Arrival(id)) = next
            && let Some(arrival) = arrivals.next()
        {
            if !around.link_table.packets.get(id).kind.is_transports() {
                return self.meet(now, id, || arrival.link(start), around);
            }
            if self.turns.takes_late && !self.lets_in(now, id, arrival.link(start), around.link_table) {
                around.tally.events += 1;
                around.tally.packet_hops += 1;
                return;
            }
        }
        match next {
            Next::Service => self.serve(now, around),
            Next::Step(step) => self.step(now, step, around),
        }
    }

    #[inline]
    fn step(&mut self, now: Time, step: Step, around: &mut Around<'_, H, A>) {
        let Around { link_table, transports, log, tally } = around;
        tally.events += 1;
        tally.packet_hops += u64::from(matches!(step, Step::Arrival(_)));
        let (logged, node) = (log.events.len(), self.turns.node);
        let mut context = Context {
            now,
            host: self.turns.id,
            random: &mut self.random,
            nic: &mut self.nic,
            paths: self.paths.as_mut(),
            link_table,
            agenda: &mut self.turns.agenda,
            log,
            ended_chains: &mut self.turns.ended_chains,
            pulls: self.pulls.as_deref_mut(),
        };
        match step {
            Step::Arrival(id) | Step::Taken(id) => {
                if let Some(arrivals) = &mut self.arrivals {
                    note_arrival(arrivals, id, &context.link_table.packets);
                }
                let mut packet = context.link_table.packets.take(id);
                context.nic.answer(&mut packet);
                transports.receive(node, packet, &mut context);
            }
            Step::Resumed => transports.resumed(node, &mut context),
            Step::Paused(flow, is_paused) => transports.paused(node, flow, is_paused, &mut context),
            Step::PausedTo(dst, is_paused) => transports.paused_to(node, dst, is_paused, &mut context),
            Step::Timer => {
                let Some(timer) = context.agenda.pop() else { return };
                transports.timer(node, timer, &mut context);
            }
            Step::Start => {
                let Some(flow) = self.turns.starting.pop() else { return };
                if flow.src != self.turns.id {
                    self.send_query(now, flow, link_table);
                } else if self.services.messages.as_mut().is_some_and(|messages| messages.send(now, flow)) {
                    return self.note_next_act();
                } else {
                    context.log.started(flow);
                    transports.start(node, flow, &mut context);
                }
            }
            Step::HandedOver(flow) => {
                context.log.started(flow);
                transports.start(node, flow, &mut context);
            }
        }
        if !self.turns.ended_chains.is_empty() {
            self.continue_chains(now);
        }
        if log.events.len() > logged && self.turns.listens {
            if let Some(messages) = &mut self.services.messages {
                messages.receive(now, logged, log);
            }
            self.notify(now, logged, around);
        }
    }

    /// A service has its turn, and the host does what follows from it.
    #[inline(never)]
    fn serve(&mut self, now: Time, around: &mut Around<'_, H, A>) {
        let logged = around.log.events.len();
        let turned = self.services.turn(now, self.turns.node, &mut self.turns.starting, around);
        self.note_next_act();
        match turned {
            Turned::Done => {}
            Turned::Steps(step) => self.step(now, step, around),
            Turned::Logged => self.notify(now, logged, around),
            Turned::Met(id, link) => {
                self.take_in(now, id, link, around.link_table);
            }
            Turned::Pauses(link, signals, taken) => {
                self.pause_link(now, link, signals, around.link_table);
                if let Some(id) = taken
                    && self.processes_at_once(now, id, link)
                {
                    self.step(now, Step::Taken(id), around);
                }
            }
        }
    }

    /// Makes known here what happened to flows: what is in the log from `logged` on.
    fn notify(&mut self, now: Time, logged: usize, around: &mut Around<'_, H, A>) {
        if self.services.notify(now, logged, around.log, &mut self.turns.starting) {
            self.nic.give_back(now, around.link_table);
        }
        self.note_next_act();
    }

    pub(super) fn note_next_act(&mut self) {
        (self.turns.wakes_at, self.turns.acts_at) = self.services.next_at();
    }

    /// Whether the host takes a packet at once. If not it waits in the NIC, is dropped, or is processed.
    #[inline(never)]
    fn lets_in(&mut self, now: Time, id: PacketId, link: u32, link_table: &mut LinkTable<H>) -> bool {
        let Some(intake) = &mut self.services.intake else { return self.processes_at_once(now, id, link) };
        match intake.arrive(now, link, id, &mut link_table.packets) {
            Arrived::Passes => return self.processes_at_once(now, id, link),
            Arrived::Waits(signals) => self.pause_link(now, link, signals, link_table),
            Arrived::Dropped => self.nic.refuse(self.way_back(link), id, link_table),
        }
        false
    }

    /// Begins to process a packet; whether it takes no time.
    fn processes_at_once(&mut self, now: Time, id: PacketId, link: u32) -> bool {
        let Some(processing) = &mut self.services.processing else { return true };
        let is_done = processing.begin(now, id, link);
        self.note_next_act();
        is_done
    }

    /// Something arrives that is not for the transport. Link messages are the NIC's; queries are for the host, which
    /// processes them as it does the transport's packets.
    #[inline(never)]
    fn meet(&mut self, now: Time, id: PacketId, link: impl FnOnce() -> u32, around: &mut Around<'_, H, A>) {
        let packet = around.link_table.packets.get(id);
        let message = LinkMessage::of(packet);
        around.tally.events += 1;
        around.tally.packet_hops += u64::from(!LinkMessage::is_reminder(packet));
        let of_transport = match message {
            Some(LinkMessage::Queue { queue, is_paused }) => Some(Step::Paused(queue, is_paused)),
            Some(LinkMessage::Destination { dst, is_paused }) => Some(Step::PausedTo(dst, is_paused)),
            _ => None,
        };
        if let Some(step) = of_transport {
            around.link_table.packets.take(id);
            return self.step(now, step, around);
        }
        let link = link();
        let is_at_once = message.is_some() || self.processes_at_once(now, id, link);
        if is_at_once && self.take_in(now, id, link, around.link_table) {
            self.step(now, Step::Resumed, around);
        }
    }

    /// Takes what arrives for the host itself and not for its transport: a link message or a query. Returns whether
    /// the NIC may now send what a pause held back.
    fn take_in(&mut self, now: Time, id: PacketId, link: u32, link_table: &mut LinkTable<H>) -> bool {
        let packet = link_table.packets.take(id);
        let by = self.way_back(link);
        if let Some(message) = LinkMessage::of(&packet) {
            self.nic.receive_message(now, by, message, link_table);
            let rate = self.nic.ports()[by as usize].rate();
            link_table.remind_of_end((self.turns.node, link), now, message, rate);
            return !matches!(message, LinkMessage::Credit { .. }) || self.nic.holds_back_by_credit();
        }
        let queries = self.services.queries.get_or_insert_default();
        if let Some((reply, answer)) = queries.receive(packet, now) {
            self.nic.borrow(now, by, packet.loan_bytes(), link_table);
            answer.into_iter().for_each(|flow| self.turns.starting.add(flow));
            self.send(now, reply, link_table);
        }
        false
    }

    /// Which of its links leads back along one into it.
    fn way_back(&self, link: u32) -> u32 {
        self.ways_back.get(link as usize).copied().unwrap_or(0)
    }

    /// Says to a link which of its classes are paused and resumed, and notes when the NIC has to be looked at again.
    fn pause_link(&mut self, now: Time, link: u32, signals: Signals, link_table: &mut LinkTable<H>) {
        let by = self.way_back(link);
        let Some(intake) = &mut self.services.intake else { return };
        let nic = &mut self.nic;
        intake.frames(now, link, signals, |frame| {
            let id = link_table.packets.add(frame);
            nic.send_signal(now, by, id, link_table);
        });
        self.note_next_act();
    }

    /// Sends a query for a flow, unless an earlier one was acknowledged.
    fn send_query(&mut self, now: Time, flow: Flow, link_table: &mut LinkTable<H>) {
        let due = self.services.queries.as_ref().and_then(|queries| queries.due(flow.id, now));
        if let Some((packet, again_at)) = due {
            self.send(now, packet, link_table);
            self.turns.starting.add_at(again_at, flow);
        }
    }

    fn send(&mut self, now: Time, mut packet: Packet<H>, link_table: &mut LinkTable<H>) {
        packet.time = now;
        packet.src = self.turns.id;
        if let Some(paths) = &mut self.paths {
            packet.path = paths.next(&packet, now);
        }
        let id = link_table.packets.add(packet);
        link_table.tag(id);
        self.nic.accept(now, id, link_table);
    }

    fn continue_chains(&mut self, now: Time) {
        for id in std::mem::take(&mut self.turns.ended_chains) {
            if let Some(flow) = self.chains.get_mut(&id).and_then(|chain| chain.next(now)) {
                self.turns.starting.add(flow);
            }
        }
    }
}

fn note_arrival<H: Copy + Default>(arrivals: &mut Arrivals, id: PacketId, packets: &Packets<H>) {
    let Packet { kind, flow, size_bytes, .. } = *packets.get(id);
    if kind == Kind::Data {
        arrivals.note(flow, packets.tag(id).stamp, size_bytes);
    }
}

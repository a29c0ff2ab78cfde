//! The sending side of queue pairs.

use super::{Host, Of, Rdma, SERVE, Sender, Setup, TIMEOUT};
use crate::config::{Notification, Recovery};
use crate::connections::Place;
use crate::control::{AckInfo, Control, Loss, Spacing};
use crate::flow::{Flow, FlowId, HostId};
use crate::header::Header;
use crate::packet::{Ecn, Kind, Packet};
use crate::pair::Pair;
use crate::plans::NO_PLAN;
use crate::units::Time;

pub(super) fn ack_info(pair: &Pair, now: Time) -> AckInfo {
    AckInfo { now, acked_bytes: pair.acked_bytes(), sent_bytes: pair.sent_bytes(), arrived: 0, marked: false }
}

impl<C: Control> Rdma<C> {
    /// A new queue pair to a host.
    pub(super) fn create_pair(&mut self, dst: HostId) -> Place {
        let started = self.started.entry(dst).or_default();
        let number = *started;
        *started = started.wrapping_add(1);
        Place { turn: self.rotas.create(), number }
    }

    /// A flow begins to send on a queue pair that has carried nothing; its handshake, if it had one, had so many
    /// timeouts.
    pub(super) fn begin(&mut self, flow: Flow, place: Place, timeouts: u32, context: &mut Host<'_, C>) {
        let Setup { config, settings } = &*self.setup;
        let path = config.path(&flow);
        let mut pair = Pair::new(flow, path, place.turn, config, context.now);
        pair.report.timeouts = timeouts;
        let (number, port) = (place.number, config.port_of(place.number));
        let sender = Sender { pair, control: C::new(settings, &path), number, port };
        self.senders.insert(flow.id, sender);
        self.settle(flow.id, context);
        self.serve(context);
    }

    /// Puts a flow of which something changed where it belongs.
    pub(super) fn settle(&mut self, flow: FlowId, context: &mut Host<'_, C>) {
        let Setup { config, settings } = &*self.setup;
        let Some(Sender { pair, control, port, .. }) = self.senders.get_mut(flow) else { return };
        control.advance(settings, context.now);
        if let Some(error) = control.take_error() {
            context.refuse(flow, error);
        }
        let window_bytes = config.window_bytes(&pair.path, control.rate());
        pair.window_bytes = window_bytes.min(control.window_bytes());
        let is_held = !self.held.is_empty() && self.held.contains(&pair.flow.dst);
        let may_send_at = pair.may_send_at().filter(|_| !(control.is_paused() || is_held));
        let link = match config.has_several_links() {
            true => context.link_for(flow, *port, pair.flow.dst),
            false => 0,
        };
        self.rotas.place(&mut pair.turn, flow, link, may_send_at, context.now);
        if let Some(at) = pair.alarm(config) {
            context.set_timer(at, flow, TIMEOUT);
        }
    }

    /// Sends packets of those whose turn it is at links that are free, and comes back when another is, or when the next
    /// may go.
    pub(super) fn serve(&mut self, context: &mut Host<'_, C>) {
        let mut at = Time::NEVER;
        let mut link = 0;
        while link < self.rotas.links() {
            match self.serve_link(link, context) {
                Some(free_at) => (at, link) = (at.min(free_at), link + 1),
                // What goes by another link now may be served there at once.
                None => (at, link) = (Time::NEVER, 0),
            }
        }
        if let Some(plans) = &mut self.plans {
            let paces = self.senders.states().filter_map(|sender| sender.pair.pace());
            plans.paced(context.now, paces.min().unwrap_or(Time::NEVER));
        }
        if at < self.serves_at {
            self.serves_at = at;
            context.set_timer(at, 0, SERVE);
        }
    }

    /// Sends a packet of whose turn it is at a link, if that is free. Returns when it is, or when the next may go; `None`
    /// if a flow goes by another link since something last happened to it, because a link has failed or is back.
    fn serve_link(&mut self, link: u32, context: &mut Host<'_, C>) -> Option<Time> {
        while let Some(flow) = self.rotas.at(link).next(context.now) {
            if self.setup.config.has_several_links() && self.link_of(flow, context) != Some(link) {
                self.settle(flow, context);
                return None;
            }
            match self.nic_free_at(flow, context) {
                Some(free_at) if free_at <= context.now => self.send_from(flow, context),
                free_at => return Some(free_at.unwrap_or(Time::NEVER)),
            }
        }
        Some(self.rotas.at(link).next_pace())
    }

    fn link_of(&mut self, flow: FlowId, context: &mut Host<'_, C>) -> Option<u32> {
        let sender = self.senders.get(flow)?;
        Some(context.link_for(flow, sender.port, sender.pair.flow.dst))
    }

    pub(super) fn nic_free_at(&mut self, flow: FlowId, context: &mut Host<'_, C>) -> Option<Time> {
        let sender = self.senders.get(flow)?;
        context.nic_free_at(self.setup.config.class, flow, sender.port, || sender.pair.flow.dst)
    }

    /// Sends the flow's next packet.
    fn send_from(&mut self, flow: FlowId, context: &mut Host<'_, C>) {
        let Setup { config, settings } = &*self.setup;
        let Some(Sender { pair, control, number, port }) = self.senders.get_mut(flow) else { return };
        let now = context.now;
        control.advance(settings, now);
        let seq = pair.take_next(now);
        let size_bytes = config.format.wire_bytes(seq, pair.packets(), pair.flow.size_bytes);
        let header = Header {
            seq,
            last: seq + 1 == pair.packets(),
            requests_ack: pair.requests_ack(seq),
            pair: *number,
            fields: control.fields(now),
            ..Header::default()
        };
        let out = |rate| now + context.time_at(rate, size_bytes.into());
        let plan = self.plans.as_mut().map_or(NO_PLAN, |plans| plans.sends(now, out(pair.path.rate)));
        let priority = if C::HEEDS_QUEUES { flow } else { plan };
        context.send(Packet {
            flow,
            dst: pair.flow.dst,
            priority,
            size_bytes,
            path: *port,
            kind: Kind::Data,
            class: C::class(settings, pair.packets(), config.class),
            ecn: if config.notification == Notification::None { Ecn::NotCapable } else { Ecn::Ect0 },
            header,
            ..Packet::default()
        });
        control.sent(settings, now, size_bytes);
        let gap = match control.spacing(settings) {
            Spacing::Rate(rate) => context.time_at(rate, size_bytes.into()),
            Spacing::After(gap) => gap,
        };
        pair.sent(now, size_bytes, gap);
        if config.recovery == Recovery::None {
            pair.let_go();
            if pair.is_done() {
                let left_at = now + context.time_at(pair.path.rate, size_bytes.into());
                context.set_timer(left_at, flow, TIMEOUT);
            }
        }
        self.rotas.served(&pair.turn);
        let way = (pair.flow.dst, *number);
        self.settle(flow, context);
        if self.in_order.is_some() {
            self.hand_over(way, context);
        }
    }

    pub(super) fn answered(&mut self, packet: &Of<C>, context: &mut Host<'_, C>) {
        let Setup { config, settings } = &*self.setup;
        let flow = packet.flow;
        let Some(Sender { pair, control, number, .. }) = self.senders.get_mut(flow) else {
            return self.answered_behind(packet, context);
        };
        let (header, now) = (&packet.header, context.now);
        let change = pair.acknowledged(header.next, header.nack.then_some(header.seq), config, now);
        let marked = header.marked;
        if pair.is_done() {
            self.rotas.take_out(&mut pair.turn, flow);
            context.closed(&pair.flow, pair.report);
            let last = AckInfo { arrived: change.arrived, marked, ..ack_info(pair, now) };
            let Some(sender) = self.senders.remove(flow) else { return };
            if self.connected.is_some() {
                self.leave(sender, &last, &header.fields, context);
            } else if self.in_order.is_some() {
                self.leave_in_order(sender, &last, &header.fields, context);
                self.serve(context);
            }
            return;
        }
        control.advance(settings, now);
        let before = control.spacing(settings);
        let ack = AckInfo { arrived: change.arrived, marked, ..ack_info(pair, now) };
        control.acknowledged(settings, &ack, &header.fields);
        if change.lost {
            control.lost(settings, now, Loss::Nack);
        }
        let after = control.spacing(settings);
        // A gap of its own ends with its reason: the window has come to a packet or more.
        let is_over = matches!((before, after), (Spacing::After(_), Spacing::Rate(_)));
        if (is_over || C::moves_pending(settings) && before != after)
            && let (Spacing::Rate(rate), Some(bytes)) = (after, pair.last_sent())
        {
            pair.move_pending(context.time_at(rate, bytes.into()));
        }
        if let Some(plans) = &mut self.plans {
            plans.answer_comes(now);
            plans.moved(now, pair.pace().unwrap_or(Time::NEVER));
        }
        let way = (packet.src, *number);
        self.settle(flow, context);
        if self.in_order.is_some() {
            self.hand_over(way, context);
        }
        self.serve(context);
    }

    pub(super) fn receive_cnp(&mut self, packet: &Of<C>, context: &mut Host<'_, C>) {
        let Some(sender) = self.senders.get_mut(packet.flow) else {
            return self.notified_behind(packet, context);
        };
        let ack = AckInfo { arrived: 0, marked: true, ..ack_info(&sender.pair, context.now) };
        sender.control.advance(&self.setup.settings, context.now);
        sender.control.acknowledged(&self.setup.settings, &ack, &packet.header.fields);
        self.settle(packet.flow, context);
    }

    /// A flow may have waited too long for an answer.
    pub(super) fn rings(&mut self, flow: FlowId, context: &mut Host<'_, C>) {
        let Setup { config, settings } = &*self.setup;
        if config.recovery == Recovery::None {
            return self.let_go(flow, context);
        }
        let Some(Sender { pair, control, .. }) = self.senders.get_mut(flow) else {
            return self.rings_behind(flow, context);
        };
        if pair.rings(config, context.now) {
            control.advance(settings, context.now);
            control.lost(settings, context.now, Loss::Timeout);
        }
        self.settle(flow, context);
        self.serve(context);
    }

    /// The last packet of an unreliable flow has left its link.
    fn let_go(&mut self, flow: FlowId, context: &mut Host<'_, C>) {
        let Some(Sender { pair, .. }) = self.senders.get_mut(flow) else { return };
        self.rotas.take_out(&mut pair.turn, flow);
        context.closed(&pair.flow, pair.report);
        self.senders.remove(flow);
    }
}

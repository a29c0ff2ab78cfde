//! The receiving side of queue pairs.

use super::{ACK_DELAY, Answered, Host, Of, Rdma, Receiver};
use crate::arrivals::{Arrival, Arrivals, Reply};
use crate::config::{Config, Recovery};
use crate::control::Control;
use crate::flow::FlowId;
use crate::header::Header;
use crate::packet::{Kind, Packet};
use crate::units::Time;

impl<C: Control> Rdma<C> {
    pub(super) fn arrived(&mut self, packet: &Of<C>, context: &mut Host<'_, C>) {
        let (flow, header) = (packet.flow, &packet.header);
        let config = &self.setup.config;
        let answered =
            Answered { flow, src: packet.src, port: packet.path, seq: header.seq, fields: header.fields };
        // Most packets are of a flow that is under way, so this is asked first.
        if self.receivers.get(flow).is_none() {
            if let Some(packets) = self.finished.packets(flow) {
                let ignores = matches!(config.recovery, Recovery::GoBackN { ack_duplicates: false, .. });
                if !ignores {
                    let reply = Reply { next: packets, nack: false, marked: false };
                    send_reply::<C>(reply, answered, config, context);
                }
                return;
            }
            let mut arrivals = Arrivals::default();
            if let Some(connected) = &mut self.connected {
                arrivals.be_quiet_until(connected.begins(packet));
            }
            if let Some(order) = &self.in_order {
                arrivals.be_quiet_until(order.begins((packet.src, header.pair)));
            }
            let new = Receiver { arrivals, last: answered };
            self.receivers.insert(flow, new);
        }
        let Some(receiver) = self.receivers.get_mut(flow) else { return };
        if config.ack_every > 1 {
            receiver.last = answered;
        }
        let (seq, last, requests_ack, marked) =
            (header.seq, header.last, header.requests_ack, packet.congestion_experienced);
        if let Some(quiet) = &self.quiet {
            receiver.arrivals.be_quiet_until(quiet.until(packet.src));
        }
        if receiver.arrivals.sends_cnp(marked, config, context.now) {
            let cnp = Packet {
                kind: Kind::Control,
                class: config.ack_class,
                path: packet.path,
                ..config.format.ack(packet, Header::default())
            };
            context.send(cnp);
        }
        for reply in receiver.arrivals.take(Arrival { seq, last, requests_ack, marked }, config, context.now)
        {
            send_reply::<C>(reply, answered, config, context);
        }
        if let Some(quiet) = &mut self.quiet {
            quiet.be_until(packet.src, receiver.arrivals.quiet_until());
        }
        if let Some(packets) = receiver.arrivals.whole() {
            if let Some(connected) = &mut self.connected {
                connected.ends(packet, receiver.arrivals.quiet_until(), config);
            }
            if let Some(order) = &mut self.in_order {
                order.ends((packet.src, header.pair), receiver.arrivals.quiet_until());
            }
            self.receivers.remove(flow);
            self.finished.add(context.now, flow, packets);
            context.delivered(flow);
        } else if receiver.arrivals.needs_timer() {
            context.set_timer(context.now + config.ack_delay, flow, ACK_DELAY);
        }
    }

    /// A receiver has waited long enough for packets to acknowledge together.
    pub(super) fn acknowledges(&mut self, flow: FlowId, context: &mut Host<'_, C>) {
        let config = &self.setup.config;
        let Some(receiver) = self.receivers.get_mut(flow) else { return };
        if let Some(reply) = receiver.arrivals.rings(config) {
            send_reply::<C>(reply, receiver.last, config, context);
        }
    }
}

/// Answers a packet.
fn send_reply<C: Control>(
    reply: Reply,
    answered: Answered<C::Fields>,
    config: &Config,
    context: &mut Host<'_, C>,
) {
    let Answered { flow, src, port, seq, mut fields } = answered;
    let answered: Of<C> = Packet { flow, src, class: config.ack_class, ..Packet::default() };
    if C::ECHOES_WAITS {
        let free_at = context.nic_free_at(config.ack_class, flow, port, || src);
        C::echo(&mut fields, free_at.map_or(Time::ZERO, |at| at.since(context.now)));
    }
    let Reply { next, nack, marked } = reply;
    let header = Header { seq, next, nack, marked, fields, ..Header::default() };
    context.send(Packet { path: port, ..config.format.ack(&answered, header) });
}

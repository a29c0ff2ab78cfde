//! A host's flows: they request slots, send one packet in each, and request more for what was not acknowledged.

use super::{Config, Header, IDLE, Purpose};
use crate::Sending;
use crate::engine::{Context, Report};
use crate::flow::{Flow, FlowId};
use crate::flow_table::FlowTable;
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::priority;
use crate::reassembly::Reassembly;
use crate::units::Time;
use std::collections::VecDeque;

/// So many numbers rest before one is used again, so that a late allocation finds no other flow.
const RESTING: usize = 64;

/// A flow at its sender.
#[derive(Clone, Debug)]
struct Sender {
    flow: Flow,
    /// What the arbiter knows it by.
    number: u16,
    packets: u32,
    /// Packets for which it has requested slots and which are not yet sent.
    unsent: u32,
    /// The packet to send next, unless it is acknowledged.
    next: u32,
    /// Every packet below was sent before.
    sent_up_to: u32,
    acknowledged: Reassembly,
    /// When it sends the next request, if nothing changes that.
    asks_at: Time,
    report: Report,
}

/// The flows of a host.
#[derive(Debug, Default)]
pub struct Senders {
    flows: FlowTable<Sender>,
    /// The flow of each number.
    numbers: Vec<FlowId>,
    free: VecDeque<u16>,
    /// Flows that wait for a number.
    waiting: VecDeque<Flow>,
}

impl Senders {
    /// A flow starts, as soon as there is a number for it.
    pub fn start(&mut self, flow: Flow, config: &Config, context: &mut Context<'_, Header>) {
        let number = if self.free.len() < RESTING && self.numbers.len() < usize::from(IDLE) {
            self.numbers.push(flow.id);
            narrow::<u16>(self.numbers.len()) - 1
        } else if let Some(number) = self.free.pop_front() {
            number
        } else {
            self.waiting.push_back(flow);
            return;
        };
        self.numbers[usize::from(number)] = flow.id;
        let packets = config.format.data.count(flow.size_bytes);
        let mut sender = Sender {
            flow,
            number,
            packets,
            unsent: packets,
            next: 0,
            sent_up_to: 0,
            acknowledged: Reassembly::default(),
            asks_at: Time::NEVER,
            report: Report::default(),
        };
        sender.request(config, context);
        self.flows.insert(flow.id, sender);
    }

    /// What was done so far for each flow that is not over. For those that wait for a number that is nothing.
    pub fn reports(&self) -> impl Iterator<Item = (FlowId, Report)> {
        self.flows.states().map(|sender| (sender.flow.id, sender.report))
    }

    /// What a flow has sent, if it is under way.
    pub fn sending(&self, flow: FlowId) -> Option<Sending> {
        self.flows.get(flow).map(Sender::sending)
    }

    /// An allocation came: each slot gets a timer.
    pub fn allocated(
        &mut self,
        batch: u32,
        slots: &[u16],
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        let batch_time = config.batch_time(context);
        let agreed = batch_time.times(batch.into()) + config.lead.unwrap_or(batch_time);
        let begins = agreed.max(context.now);
        for (place, &number) in (0..).zip(slots) {
            if number == IDLE {
                continue;
            }
            let at = begins + config.slot(context).times(place);
            context.set_timer(at, number.into(), Purpose::Slot as u8);
            if !slots[..narrow::<usize>(place)].contains(&number)
                && let Some(sender) = self.flows.get_mut(self.numbers[usize::from(number)])
                && sender.unsent > 0
            {
                sender.wait_until(at + config.retry, context);
            }
        }
    }

    /// A slot of a flow: one packet goes. A flow with more slots than packets leaves it empty.
    pub fn slot(&mut self, number: u16, config: &Config, context: &mut Context<'_, Header>) {
        let Some(sender) = self.flows.get_mut(self.numbers[usize::from(number)]) else { return };
        if sender.unsent == 0 {
            return;
        }
        sender.unsent -= 1;
        sender.send(config, context);
        if sender.unsent == 0 {
            // What is not acknowledged by then is lost.
            sender.wait_until(context.now + config.lost_after(context), context);
        }
    }

    /// A timer of [`Purpose::Ask`].
    pub fn request_again(&mut self, flow: FlowId, config: &Config, context: &mut Context<'_, Header>) {
        if let Some(sender) = self.flows.get_mut(flow)
            && sender.asks_at == context.now
        {
            sender.report.timeouts += u32::from(sender.unsent == 0);
            sender.unsent = sender.packets - sender.acknowledged.next() - sender.acknowledged.above().len();
            sender.request(config, context);
        }
    }

    /// A packet arrived.
    pub fn acknowledged(
        &mut self,
        flow: FlowId,
        seq: u32,
        config: &Config,
        context: &mut Context<'_, Header>,
    ) {
        let Some(sender) = self.flows.get_mut(flow) else { return };
        sender.acknowledged.add(seq, seq + 1 == sender.packets);
        if sender.acknowledged.whole().is_none() {
            return;
        }
        sender.send_request(0, config, context);
        context.closed(&sender.flow, sender.report);
        self.free.push_back(sender.number);
        self.flows.remove(flow);
        if let Some(flow) = self.waiting.pop_front() {
            self.start(flow, config, context);
        }
    }
}

impl Sender {
    fn sending(&self) -> Sending {
        let arrived = self.acknowledged.next() + self.acknowledged.above().len();
        Sending {
            in_flight: (self.packets - arrived).saturating_sub(self.unsent),
            acknowledged: self.acknowledged.next(),
            arrived,
            report: self.report,
            ..Sending::default()
        }
    }

    fn request(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        self.send_request(self.unsent, config, context);
        self.wait_until(context.now + config.retry, context);
    }

    fn wait_until(&mut self, asks_at: Time, context: &mut Context<'_, Header>) {
        self.asks_at = asks_at;
        context.set_timer(asks_at, self.flow.id, Purpose::Ask as u8);
    }

    fn send_request(&self, slots: u32, config: &Config, context: &mut Context<'_, Header>) {
        context.send(Packet {
            flow: self.flow.id,
            dst: config.arbiter,
            priority: priority::FIRST,
            size_bytes: config.format.ack_bytes,
            kind: Kind::Control,
            class: self.flow.class,
            header: Header::Request { number: self.number, dst: self.flow.dst, slots },
            ..Packet::default()
        });
    }

    fn send(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        let seq = self.next_unacknowledged();
        self.next = seq + 1;
        self.report.packets_sent += 1;
        self.report.retransmissions += u32::from(seq < self.sent_up_to);
        self.sent_up_to = self.sent_up_to.max(seq + 1);
        context.send(Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: 1,
            size_bytes: config.format.wire_bytes(seq, self.packets, self.flow.size_bytes),
            kind: Kind::Data,
            class: self.flow.class,
            header: Header::Data { seq, last: seq + 1 == self.packets },
            ..Packet::default()
        });
    }

    /// The first packet from the next on that is not acknowledged; after the last the first of all.
    fn next_unacknowledged(&self) -> u32 {
        let first = self.acknowledged.next();
        let seq = self.acknowledged.above().first_absent(self.next.max(first));
        if seq < self.packets { seq } else { first }
    }
}

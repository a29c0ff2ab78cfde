//! Flows whose connection is not just open: it is opened for them, or taken from a pool. All of it is apart from what
//! is done for each packet; where connections are open, none of it is there.

use super::config::{Config, Setup};
use super::header::Header;
use super::sender::{Idle, Sender};
use super::window::Congestion;
use crate::connections::{Handshakes, Opened, Rule};
use crate::engine::{Context, FlowStatus, Report};
use crate::flow::{Flow, FlowId, HostId};
use crate::packet::Packet;
use crate::pool::{Pool, Taken};
use crate::units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// The connections of a host.
pub struct Connected<C> {
    rule: Rule,
    pub handshakes: Handshakes,
    pool: Option<Pool<Idle<C>>>,
    /// The hosts from which it has a cookie (RFC 7413 §4.1).
    cookies: BTreeSet<HostId>,
    /// Flows whose first packet went with the SYN.
    in_syn: BTreeMap<FlowId, Sender<C>>,
}

impl<C: Congestion> Connected<C> {
    /// None where connections are open.
    pub fn new(config: &Config) -> Option<Box<Connected<C>>> {
        let rule = config.connections()?.clone();
        Some(Box::new(Connected {
            handshakes: Handshakes::new(rule.syn_rto),
            pool: rule.kept.map(|kept| Pool::new(kept.pool)),
            cookies: BTreeSet::new(),
            in_syn: BTreeMap::new(),
            rule,
        }))
    }

    /// A flow starts. Returns its sender if it has a connection to send on.
    pub fn start(
        &mut self,
        flow: Flow,
        setup: &Setup<C>,
        context: &mut Context<'_, Header>,
    ) -> Option<Sender<C>> {
        if let (Some(pool), Some(kept)) = (&mut self.pool, self.rule.kept) {
            match pool.take(flow.dst) {
                Taken::Used(idle) => {
                    let mut sender = Sender::of(flow, setup);
                    sender.resume(idle, kept.restart, (&flow, context.now), setup);
                    sender.report_error(context);
                    return Some(sender);
                }
                Taken::Untouched => return Some(begun(flow, setup, context)),
                Taken::Nothing => {}
            }
        }
        self.open(flow, setup, context);
        None
    }

    fn open(&mut self, flow: Flow, setup: &Setup<C>, context: &mut Context<'_, Header>) {
        let class = C::bare_class(flow.class);
        if !self.rule.fast_open || !self.cookies.contains(&flow.dst) {
            self.handshakes.open(flow, (0, class), setup, context);
            return;
        }
        let mut sender = begun(flow, setup, context);
        sender.send_in_syn(setup, context);
        self.handshakes.await_answer(flow, (0, class), context);
        self.in_syn.insert(flow.id, sender);
    }

    /// The sender of a flow that has been waiting, now that its connection is open; `answer` is the header of the
    /// SYN-ACK, which may acknowledge what went with a SYN.
    pub fn opened(
        &mut self,
        opened: &Opened,
        answer: &Header,
        setup: &Setup<C>,
        context: &mut Context<'_, Header>,
    ) -> Sender<C> {
        let flow = opened.flow;
        self.cookies.insert(flow.dst);
        let in_syn = self.in_syn.remove(&flow.id);
        let was_in_syn = in_syn.is_some();
        let mut sender = in_syn.unwrap_or_else(|| begun(flow, setup, context));
        sender.opened(opened, self.rule.syn_rto, setup);
        if answer.ack > 0 {
            sender.acknowledged(answer, setup, context);
        } else if was_in_syn {
            // The answer to a SYN without data acknowledges none: what went with the first is lost.
            sender.hold_lost(setup, context.now);
        }
        sender
    }

    /// The sender of a flow whose first packet went with the SYN, of which an acknowledgement came.
    pub fn acknowledged_in_syn(&mut self, flow: FlowId, config: &Config) -> Option<Sender<C>> {
        let mut sender = self.in_syn.remove(&flow)?;
        if let Some(opened) = self.handshakes.forget(flow, 0) {
            sender.opened(&opened, self.rule.syn_rto, config);
        }
        Some(sender)
    }

    /// A flow is over; its connection is idle if such are kept.
    pub fn ended(&mut self, sender: Sender<C>, last_sent: Time) {
        if let Some(pool) = &mut self.pool {
            pool.keep(sender.flow().dst, sender.into_idle(last_sent));
        }
    }

    /// What was done for the flows that have no connection yet.
    pub fn reports(&self) -> impl Iterator<Item = (FlowId, Report)> {
        self.handshakes.waiting().map(|opened| {
            let sent = self.in_syn.get(&opened.flow.id).map(Sender::report).unwrap_or_default();
            (opened.flow.id, Report { timeouts: sent.timeouts + opened.timeouts, ..sent })
        })
    }

    /// Their status.
    pub fn statuses(&self, config: &Config) -> impl Iterator<Item = FlowStatus> {
        self.handshakes.waiting().map(|opened| FlowStatus {
            flow: opened.flow.id,
            arrived: 0,
            packets: config.format().data.count(opened.flow.size_bytes),
            waits_for: "the answer to a SYN, or its timeout",
        })
    }

    /// A packet of a handshake other than a SYN came. Returns the flow that can be sent now.
    pub fn receive(
        &mut self,
        packet: &Packet<Header>,
        setup: &Setup<C>,
        context: &mut Context<'_, Header>,
    ) -> Option<Sender<C>> {
        let class = C::bare_class(packet.class);
        let opened = self.handshakes.receive(packet, class, setup, context)?;
        Some(self.opened(&opened, &packet.header, setup, context))
    }
}

/// A sender on a connection that has carried nothing.
fn begun<C: Congestion>(flow: Flow, setup: &Setup<C>, context: &mut Context<'_, Header>) -> Sender<C> {
    let mut sender = Sender::of(flow, setup);
    sender.begin(context);
    sender
}

//! Flows whose queue pair is not just open, at both ends. All of it is apart from what is done for each packet; where
//! queue pairs are open, none of it is there.

use super::Rule;
use super::handshake::{Asking, Handshakes};
use crate::config::{Config, Notification};
use crate::control::{AckInfo, Control};
use crate::engine::{FlowStatus, Report, Timer};
use crate::flow::{Flow, FlowId, HostId};
use crate::header::{Header, Step};
use crate::packet::{Kind, Packet};
use crate::pair::{Left, Pair};
use crate::pool::{Pool, Taken};
use crate::priority;
use crate::units::Time;
use crate::{ANSWER, Host, Of, REQUEST, Rdma, Sender, Sending};
use std::collections::BTreeMap;

/// What an idle queue pair keeps for its next flow.
#[derive(Clone, Debug)]
struct Idle<C> {
    left: Left,
    control: C,
    number: u16,
}

/// The queue pairs of a host that are being connected, or idle.
pub struct Connected<C> {
    rule: Rule,
    handshakes: Handshakes,
    pool: Option<Pool<Idle<C>>>,
    /// As a receiver: until when idle queue pairs send no CNP, by who sends to them and by which of its own.
    quiet_until: BTreeMap<(HostId, u16), Time>,
}

impl<C: Control> Connected<C> {
    /// None where queue pairs are open.
    pub fn new(config: &Config) -> Option<Box<Connected<C>>> {
        let rule = config.connections.clone()?;
        Some(Box::new(Connected {
            handshakes: Handshakes::new(&rule),
            pool: rule.kept.map(Pool::new),
            quiet_until: BTreeMap::new(),
            rule,
        }))
    }

    /// The state of a flow that waits for its queue pair: it has no rate yet.
    pub fn sending(&self, flow: FlowId) -> Option<Sending> {
        let Asking { timeouts, .. } = *self.handshakes.of(flow)?;
        Some(Sending { report: Report { timeouts, ..Report::default() }, ..Sending::default() })
    }

    /// What was done for the flows whose queue pair is not connected yet.
    pub fn reports(&self) -> impl Iterator<Item = (FlowId, Report)> {
        let report = |timeouts| Report { timeouts, ..Report::default() };
        self.handshakes.waiting().map(move |asking| (asking.flow.id, report(asking.timeouts)))
    }

    /// Their status.
    pub fn statuses(&self, config: &Config) -> impl Iterator<Item = FlowStatus> {
        self.handshakes.waiting().map(|asking| FlowStatus {
            flow: asking.flow.id,
            arrived: 0,
            packets: config.format.data.count(asking.flow.size_bytes),
            waits_for: "the answer to a REQ, or its timeout",
        })
    }

    /// The first data of a flow came, which shows that the queue pair is connected. Returns when it sends its first
    /// CNP at the earliest.
    pub fn begins(&mut self, data: &Of<C>) -> Time {
        self.handshakes.established(data.flow);
        self.quiet_until.remove(&(data.src, data.header.pair)).unwrap_or(Time::ZERO)
    }

    /// The last data of a flow came.
    pub fn ends(&mut self, data: &Of<C>, quiet_until: Time, config: &Config) {
        if self.pool.is_some() && matches!(config.notification, Notification::Packets(_)) {
            self.quiet_until.insert((data.src, data.header.pair), quiet_until);
        }
    }

    fn message(&self, step: Step, flow: FlowId, (dst, port): (HostId, u16), config: &Config) -> Of<C> {
        Packet {
            flow,
            dst,
            priority: priority::FIRST,
            size_bytes: self.rule.message_bytes,
            path: port,
            kind: Kind::Control,
            class: config.class,
            header: Header { step, ..Header::default() },
            ..Packet::default()
        }
    }
}

impl<C: Control> Rdma<C> {
    /// A flow starts where queue pairs are connected by a handshake, or kept.
    #[cold]
    pub(crate) fn start_on_pair(&mut self, flow: Flow, context: &mut Host<'_, C>) {
        let pool = self.connected.as_mut().and_then(|connected| connected.pool.as_mut());
        match pool.map_or(Taken::Nothing, |pool| pool.take(flow.dst)) {
            Taken::Used(idle) => self.go_on(flow, idle, context),
            Taken::Untouched => {
                let place = self.create_pair(flow.dst);
                self.begin(flow, place, 0, context);
            }
            Taken::Nothing => self.ask(flow, context),
        }
    }

    /// Asks for the flow's queue pair to be connected.
    fn ask(&mut self, flow: Flow, context: &mut Host<'_, C>) {
        let place = self.create_pair(flow.dst);
        let Some(connected) = &mut self.connected else { return };
        let asking = connected.handshakes.ask(flow, place, context.now);
        context.set_timer(asking.expires, flow.id, REQUEST);
        let config = &self.setup.config;
        let to = (flow.dst, config.port_of(place.number));
        context.send(connected.message(Step::Request, flow.id, to, config));
    }

    /// The flow goes on where another left its queue pair.
    fn go_on(&mut self, flow: Flow, idle: Idle<C>, context: &mut Host<'_, C>) {
        let config = &self.setup.config;
        let mut pair = Pair::new(flow, config.path(&flow), idle.left.turn(), config, context.now);
        pair.resume(&idle.left);
        let number = idle.number;
        self.senders
            .insert(flow.id, Sender { pair, control: idle.control, number, port: config.port_of(number) });
        self.settle(flow.id, context);
        self.serve(context);
    }

    /// A flow is over with this answer, which its congestion control has not seen; its queue pair is idle if such are
    /// kept.
    #[cold]
    pub(crate) fn leave(
        &mut self,
        sender: Sender<C>,
        ack: &AckInfo,
        fields: &C::Fields,
        context: &mut Host<'_, C>,
    ) {
        let pool = self.connected.as_mut().and_then(|connected| connected.pool.as_mut());
        let Some(pool) = pool else { return };
        let Sender { mut pair, mut control, number, .. } = sender;
        let settings = &self.setup.settings;
        control.advance(settings, context.now);
        let before = control.rate();
        control.acknowledged(settings, ack, fields);
        if C::moves_pending(settings)
            && before != control.rate()
            && let Some(bytes) = pair.last_sent()
        {
            pair.move_pending(context.time_at(control.rate(), bytes.into()));
        }
        if let Some(error) = control.take_error() {
            context.refuse(pair.flow.id, error);
        }
        pool.keep(pair.flow.dst, Idle { left: pair.leave(), control, number });
    }

    /// A packet of a handshake came.
    #[cold]
    pub(crate) fn greeted(&mut self, packet: &Of<C>, context: &mut Host<'_, C>) {
        let Some(connected) = &mut self.connected else { return };
        let config = &self.setup.config;
        let (flow, back) = (packet.flow, (packet.src, packet.path));
        match packet.header.step {
            Step::Request => {
                // One that comes after data is late: its answer came before the data was sent.
                let is_late = self.receivers.get_mut(flow).is_some() || self.finished.packets(flow).is_some();
                if is_late {
                    return;
                }
                let asked = connected.handshakes.asked(flow, packet.src, packet.path, context.now);
                if let Some(answering) = asked {
                    context.set_timer(answering.expires, flow, ANSWER);
                    context.send(connected.message(Step::Reply, flow, back, config));
                }
            }
            Step::Reply => {
                context.send(connected.message(Step::Ready, flow, back, config));
                if let Some(opened) = connected.handshakes.answered(flow) {
                    self.begin(opened.flow, opened.place, opened.timeouts, context);
                }
            }
            Step::Ready => connected.handshakes.established(flow),
            Step::Nothing => {}
        }
    }

    /// A timer of a handshake went off.
    #[cold]
    pub(crate) fn handshake_timer(&mut self, timer: Timer, context: &mut Host<'_, C>) {
        let Some(connected) = &mut self.connected else { return };
        let (config, handshakes) = (&self.setup.config, &mut connected.handshakes);
        let (step, to, expires) = if timer.purpose == REQUEST {
            let Some(asking) = handshakes.asking_timer(timer.key, context.now) else { return };
            (Step::Request, (asking.flow.dst, config.port_of(asking.place.number)), asking.expires)
        } else {
            let Some(answering) = handshakes.answering_timer(timer.key, context.now) else { return };
            (Step::Reply, (answering.to, answering.port), answering.expires)
        };
        context.set_timer(expires, timer.key, timer.purpose);
        context.send(connected.message(step, timer.key, to, config));
    }
}

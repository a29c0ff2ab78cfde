//! One queue pair between each two hosts, or several to which flows are dealt in turn. Its send queue holds the messages
//! of its flows: they follow each other on the wire, in the order in which they began (InfiniBand specification vol. 1,
//! §9.2.3 and §10.8.3.3).
//!
//! A message begins when the last packet of the one before has begun, without waiting for its acknowledgement. The window,
//! the pace and the state of the congestion control are the queue pair's. When a packet of an earlier message is lost,
//! the queue pair goes back to that message; with go-back-N, to all of what follows it, too. Receivers keep messages
//! apart, so what has come of a later message is not lost with it.

use crate::control::{AckInfo, Control, Loss, Spacing};
use crate::engine::{FlowStatus, Report};
use crate::flow::{Flow, FlowId, HostId};
use crate::header::Header;
use crate::packet::Packet;
use crate::pair::{Left, Pair};
use crate::units::Time;
use crate::{Host, Of, Rdma, Sender, Sending, Setup, TIMEOUT, ack_info};
use std::collections::{BTreeMap, VecDeque};

/// A message that may not send.
enum Waiting {
    /// It has not begun.
    New(Flow),
    /// It had begun when an earlier one had to send again.
    Again(Pair),
}

/// What the queue pair keeps while it sends nothing new.
struct Idle<C> {
    left: Left,
    control: C,
    number: u16,
}

/// A queue pair to a host.
struct Queue<C> {
    /// The message that sends, which [`Rdma::senders`] has.
    head: Option<FlowId>,
    /// Those before it, all of whose packets were sent and not all acknowledged.
    behind: VecDeque<Pair>,
    waiting: VecDeque<Waiting>,
    /// There is none before the first message, nor while there is a head.
    idle: Option<Idle<C>>,
}

/// A queue pair: the other host, and which of those to it.
pub type Way = (HostId, u16);

/// The queue pairs of a host.
pub struct InOrder<C> {
    queues: BTreeMap<Way, Queue<C>>,
    /// The queue pairs of the flows that are not [`Rdma::senders`]'s.
    others: BTreeMap<FlowId, Way>,
    /// As a receiver: until when queue pairs send no CNP, by who sends to them.
    quiet_until: BTreeMap<Way, Time>,
    /// How many there are to each host.
    count: u16,
    /// To each host, which of them has the next flow.
    next: BTreeMap<HostId, u16>,
}

impl Waiting {
    fn flow(&self) -> &Flow {
        match self {
            Waiting::New(flow) => flow,
            Waiting::Again(pair) => &pair.flow,
        }
    }
}

impl<C> InOrder<C> {
    /// So many queue pairs to each host.
    pub fn new(count: u16) -> InOrder<C> {
        InOrder {
            queues: BTreeMap::new(),
            others: BTreeMap::new(),
            quiet_until: BTreeMap::new(),
            count,
            next: BTreeMap::new(),
        }
    }

    /// The queue pair of a host's next flow.
    fn deal(&mut self, dst: HostId) -> Way {
        let next = self.next.entry(dst).or_default();
        let number = *next;
        *next = (number + 1) % self.count;
        (dst, number)
    }

    /// As a receiver: until when a queue pair's next message is not answered by a CNP.
    pub fn begins(&self, from: Way) -> Time {
        self.quiet_until.get(&from).copied().unwrap_or(Time::ZERO)
    }

    /// A queue pair's message ended.
    pub fn ends(&mut self, from: Way, quiet_until: Time) {
        let known = self.quiet_until.entry(from).or_default();
        *known = quiet_until.max(*known);
    }

    fn behind(&self) -> impl Iterator<Item = &Pair> {
        self.queues.values().flat_map(|queue| {
            let again = queue.waiting.iter().filter_map(|one| match one {
                Waiting::Again(pair) => Some(pair),
                Waiting::New(_) => None,
            });
            queue.behind.iter().chain(again)
        })
    }

    fn new_ones(&self) -> impl Iterator<Item = &Flow> {
        let waiting = self.queues.values().flat_map(|queue| &queue.waiting);
        waiting.filter_map(|one| match one {
            Waiting::New(flow) => Some(flow),
            Waiting::Again(_) => None,
        })
    }

    /// What was done for flows that wait, or have sent all.
    pub fn reports(&self) -> impl Iterator<Item = (FlowId, Report)> {
        let begun = self.behind().map(|pair| (pair.flow.id, pair.report));
        begun.chain(self.new_ones().map(|flow| (flow.id, Report::default())))
    }
}

impl<C: Control> InOrder<C> {
    /// The state of such a flow.
    pub fn sending(&self, flow: FlowId) -> Option<Sending> {
        let queue = self.queues.get(self.others.get(&flow)?)?;
        let idle = queue.idle.as_ref().map(|idle| idle.control.rate());
        let pair = self.behind().find(|pair| pair.flow.id == flow);
        Some(pair.map_or_else(Sending::default, |pair| pair.sending(idle.unwrap_or(pair.path.rate), None)))
    }

    /// Their status.
    pub fn statuses(&self, setup: &Setup<C>) -> impl Iterator<Item = FlowStatus> {
        let config = &setup.config;
        let new = self.new_ones().map(|flow| FlowStatus {
            flow: flow.id,
            arrived: 0,
            packets: config.format.data.count(flow.size_bytes),
            waits_for: "the messages before it on its queue pair",
        });
        self.behind().map(|pair| pair.status(config)).chain(new)
    }
}

impl<C: Control> Rdma<C> {
    /// A flow starts: it waits for those before it, and begins at once if there are none.
    #[cold]
    pub(crate) fn start_in_order(&mut self, flow: Flow, context: &mut Host<'_, C>) {
        let Some(order) = &mut self.in_order else { return };
        let new = || Queue { head: None, behind: VecDeque::new(), waiting: VecDeque::new(), idle: None };
        let way = order.deal(flow.dst);
        let queue = order.queues.entry(way).or_insert_with(new);
        queue.waiting.push_back(Waiting::New(flow));
        order.others.insert(flow.id, way);
        self.hand_over(way, context);
        self.serve(context);
    }

    /// Lets the next message of a queue pair send, if there is one and the one before has sent everything.
    #[cold]
    pub(crate) fn hand_over(&mut self, way: Way, context: &mut Host<'_, C>) {
        while let Some(next) = self.takes_next(way, context.now) {
            self.settle(next, context);
        }
    }

    fn takes_next(&mut self, way: Way, now: Time) -> Option<FlowId> {
        let queue = self.in_order.as_mut()?.queues.get_mut(&way)?;
        let has_sent = |flow| self.senders.get(flow).is_none_or(|sender| sender.pair.has_sent_all());
        if queue.waiting.is_empty() || !queue.head.is_none_or(has_sent) {
            return None;
        }
        let idle = self.put_behind(way);
        let Idle { left, control, number } = idle.unwrap_or_else(|| {
            let place = self.create_pair(way.0);
            let path = self.setup.config.path(&self.first_waiting(way));
            Idle {
                left: Left::nothing(place.turn, now),
                control: C::new(&self.setup.settings, &path),
                number: place.number,
            }
        });
        let order = self.in_order.as_mut()?;
        let queue = order.queues.get_mut(&way)?;
        let mut pair = match queue.waiting.pop_front()? {
            Waiting::New(flow) => {
                let config = &self.setup.config;
                let mut pair = Pair::new(flow, config.path(&flow), left.turn(), config, now);
                pair.resume(&left);
                pair
            }
            Waiting::Again(mut pair) => {
                pair.go_on(&left);
                pair
            }
        };
        pair.set_ahead(queue.behind.iter());
        let flow = pair.flow.id;
        queue.head = Some(flow);
        order.others.remove(&flow);
        let port = self.setup.config.port_of(number);
        self.senders.insert(flow, Sender { pair, control, number, port });
        Some(flow)
    }

    fn first_waiting(&self, way: Way) -> Flow {
        let queue = self.in_order.as_ref().and_then(|order| order.queues.get(&way));
        *queue.and_then(|queue| queue.waiting.front()).expect("it was asked whether one waits").flow()
    }

    /// The message that sends is put behind, and leaves the queue pair as it is; or it was left before.
    fn put_behind(&mut self, way: Way) -> Option<Idle<C>> {
        let order = self.in_order.as_mut()?;
        let queue = order.queues.get_mut(&way)?;
        let Some(head) = queue.head.take() else { return queue.idle.take() };
        let Sender { mut pair, control, number, .. } = self.senders.remove(head)?;
        self.rotas.take_out(&mut pair.turn, head);
        let left = pair.leave();
        queue.behind.push_back(pair);
        order.others.insert(head, way);
        Some(Idle { left, control, number })
    }

    /// The message that sends is over; the queue pair stays as it leaves it.
    #[cold]
    pub(crate) fn leave_in_order(
        &mut self,
        sender: Sender<C>,
        ack: &AckInfo,
        fields: &C::Fields,
        context: &mut Host<'_, C>,
    ) {
        let Sender { mut pair, mut control, number, .. } = sender;
        learn(&mut pair, &mut control, &self.setup, (ack, fields), context);
        if let Some(error) = control.take_error() {
            context.refuse(pair.flow.id, error);
        }
        let way = (pair.flow.dst, number);
        if let Some(queue) = self.in_order.as_mut().and_then(|order| order.queues.get_mut(&way)) {
            queue.head = None;
            queue.idle = Some(Idle { left: pair.leave(), control, number });
        }
        self.hand_over(way, context);
    }

    /// An answer came for a message that is not the one that sends.
    #[cold]
    pub(crate) fn answered_behind(&mut self, packet: &Of<C>, context: &mut Host<'_, C>) {
        let Setup { config, settings } = &*self.setup;
        let (flow, now) = (packet.flow, context.now);
        let Some(order) = &mut self.in_order else { return };
        let Some(&way) = order.others.get(&flow) else { return };
        let Some(queue) = order.queues.get_mut(&way) else { return };
        let Some((pair, is_behind)) = queue.find(flow) else { return };
        let Header { next, nack, seq, marked, .. } = packet.header;
        let change = pair.acknowledged(next, nack.then_some(seq), config, now);
        let mut ack = AckInfo { arrived: change.arrived, marked, ..ack_info(pair, now) };
        // Of what has arrived since, more may be known to be lost.
        let must_send = is_behind && !pair.has_sent_all();
        let alarm = pair.alarm(config);
        let over = pair.is_done().then_some((pair.flow, pair.report));
        if let Some((flow, report)) = over {
            queue.behind.retain(|pair| pair.flow.id != flow.id);
            queue.waiting.retain(|one| one.flow().id != flow.id);
            order.others.remove(&flow.id);
            context.closed(&flow, report);
        } else if let Some(at) = alarm {
            context.set_timer(at, flow, TIMEOUT);
        }
        let fields = &packet.header.fields;
        if let Some(Sender { pair, control, .. }) = queue.head.and_then(|head| self.senders.get_mut(head)) {
            pair.set_ahead(queue.behind.iter());
            ack.sent_bytes = pair.sent_bytes();
            learn(pair, control, &self.setup, (&ack, fields), context);
        } else if let Some(Idle { control, .. }) = &mut queue.idle {
            control.advance(settings, now);
            control.acknowledged(settings, &ack, fields);
        }
        if must_send {
            self.goes_back(way, flow, change.lost.then_some(Loss::Nack), context);
        }
        if let Some(head) = self.head(way) {
            self.settle(head, context);
        }
        self.hand_over(way, context);
        self.serve(context);
    }

    /// A CNP came for such a message.
    #[cold]
    pub(crate) fn notified_behind(&mut self, packet: &Of<C>, context: &mut Host<'_, C>) {
        let way = self.in_order.as_ref().and_then(|order| order.others.get(&packet.flow).copied());
        if let Some(head) = way.and_then(|way| self.head(way)) {
            self.receive_cnp(&Packet { flow: head, ..*packet }, context);
        }
    }

    fn head(&self, way: Way) -> Option<FlowId> {
        self.in_order.as_ref()?.queues.get(&way)?.head
    }

    /// A timer of such a message went off.
    #[cold]
    pub(crate) fn rings_behind(&mut self, flow: FlowId, context: &mut Host<'_, C>) {
        let Some(order) = &mut self.in_order else { return };
        let Some(&way) = order.others.get(&flow) else { return };
        let Some((pair, is_behind)) = order.queues.get_mut(&way).and_then(|queue| queue.find(flow)) else {
            return;
        };
        let is_timeout = pair.rings(&self.setup.config, context.now);
        if let Some(at) = pair.alarm(&self.setup.config) {
            context.set_timer(at, flow, TIMEOUT);
        }
        if is_timeout && is_behind {
            self.goes_back(way, flow, Some(Loss::Timeout), context);
        }
        self.hand_over(way, context);
        self.serve(context);
    }

    /// A message that had sent everything has to send again: it goes before those that came after it.
    fn goes_back(&mut self, way: Way, flow: FlowId, loss: Option<Loss>, context: &mut Host<'_, C>) {
        let Some(mut idle) = self.put_behind(way) else { return };
        let settings = &self.setup.settings;
        idle.control.advance(settings, context.now);
        if let Some(loss) = loss {
            idle.control.lost(settings, context.now, loss);
        }
        let Some(order) = &mut self.in_order else { return };
        let Some(queue) = order.queues.get_mut(&way) else { return };
        let from = queue.behind.iter().position(|pair| pair.flow.id == flow).unwrap_or(queue.behind.len());
        for mut pair in queue.behind.drain(from..).rev() {
            pair.go_back();
            queue.waiting.push_front(Waiting::Again(pair));
        }
        queue.idle = Some(idle);
        self.hand_over(way, context);
    }
}

/// The queue pair's congestion control learns of an answer, and with it the next packet of the message that sends.
fn learn<C: Control>(
    pair: &mut Pair,
    control: &mut C,
    setup: &Setup<C>,
    (ack, fields): (&AckInfo, &C::Fields),
    context: &mut Host<'_, C>,
) {
    let settings = &setup.settings;
    control.advance(settings, ack.now);
    let before = control.spacing(settings);
    control.acknowledged(settings, ack, fields);
    let after = control.spacing(settings);
    let is_over = matches!((before, after), (Spacing::After(_), Spacing::Rate(_)));
    if (is_over || C::moves_pending(settings) && before != after)
        && let (Spacing::Rate(rate), Some(bytes)) = (after, pair.last_sent())
    {
        pair.move_pending(context.time_at(rate, bytes.into()));
    }
}

impl<C> Queue<C> {
    /// A message that has begun and does not send, and whether nothing holds it back.
    fn find(&mut self, flow: FlowId) -> Option<(&mut Pair, bool)> {
        let is_it = |pair: &&mut Pair| pair.flow.id == flow;
        if let Some(pair) = self.behind.iter_mut().find(is_it) {
            return Some((pair, true));
        }
        let again = self.waiting.iter_mut().filter_map(|one| match one {
            Waiting::Again(pair) => Some(pair),
            Waiting::New(_) => None,
        });
        again.into_iter().find(is_it).map(|pair| (pair, false))
    }
}

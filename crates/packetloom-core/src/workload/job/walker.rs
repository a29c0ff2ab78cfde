//! A rank at work: it belongs to its host, and nothing that changes in it is shared.

use super::inbox::Inbox;
use super::plan::{Exchange, Located, Plan};
use super::progress::{Progress, Sending};
use super::round::Round;
use super::span::Span;
use crate::flow::{Flow, FlowId};
use crate::job::{Event, Work};
use crate::units::Time;
use crate::workload::Done;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

/// A rank, and how far it is.
#[derive(Clone, Debug)]
pub struct Walker {
    plan: Arc<Plan>,
    rank: u32,
    iteration: u32,
    /// For each operation, how much of what it depends on is yet to happen.
    left: Vec<u32>,
    /// Operations of this repetition that have not ended.
    unended: u32,
    streams: BTreeMap<u16, Stream>,
    /// Operations that need no stream and are yet to begin.
    unqueued: VecDeque<u32>,
    open: BTreeMap<u32, Open>,
    collectives: BTreeMap<(u32, u32), Progress>,
    inboxes: BTreeMap<u32, Inbox<FlowId>>,
    due: BinaryHeap<Reverse<(Time, Due)>>,
    /// What has happened and is yet to be followed up, so that long chains of operations need no stack.
    events: VecDeque<(u32, Event)>,
    sending: Vec<Sending>,
    /// When the host can turn to the next message, out and in.
    free: (Time, Time),
    spans: Vec<Span>,
}

/// Operations that share a stream.
#[derive(Clone, Debug, Default)]
struct Stream {
    is_busy: bool,
    /// The operation that had it last.
    last: Option<u32>,
    /// By when they were ready, then by place.
    waiting: BinaryHeap<Reverse<(Time, u32)>>,
}

/// An operation that is ready and has not ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    ready: Time,
    begin: Time,
    after: Option<u32>,
    message: Option<FlowId>,
}

/// What happens at a time that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// The first repetition begins.
    Begin,
    /// An operation of this repetition has held its stream for as long as it does.
    Held(u32),
    /// A message of a collective operation was processed.
    Arrived(FlowId),
}

impl Walker {
    /// A rank before its first operation.
    pub fn new(plan: &Arc<Plan>, rank: u32) -> Walker {
        let start = plan.settings.like.start;
        Walker {
            plan: Arc::clone(plan),
            rank,
            iteration: 0,
            left: Vec::new(),
            unended: 0,
            streams: BTreeMap::new(),
            unqueued: VecDeque::new(),
            open: BTreeMap::new(),
            collectives: BTreeMap::new(),
            inboxes: BTreeMap::new(),
            due: BinaryHeap::from([Reverse((start, Due::Begin))]),
            events: VecDeque::new(),
            sending: Vec::new(),
            free: (Time::ZERO, Time::ZERO),
            spans: Vec::new(),
        }
    }

    /// The rank's number.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The program that it executes.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Whether all repetitions are over.
    pub fn is_done(&self) -> bool {
        self.iteration == self.plan.settings.repeat
    }

    /// What was carried out, in order of its end, and then what is not over.
    pub fn spans(&self) -> impl Iterator<Item = Span> + '_ {
        let open = self.open.iter().map(|(&place, open)| self.span(place, *open, Time::NEVER));
        self.spans.iter().copied().chain(open)
    }

    /// The collective operation that it is in, if its stages are alike and nothing else goes on here.
    pub fn round(&self) -> Option<Round> {
        let (&(iteration, exchange), progress) = self.collectives.first_key_value()?;
        let is_alone = self.open.len() == 1 && self.collectives.len() == 1 && self.due.is_empty();
        let source = self.plan.settings.like.source;
        let left = progress.stages_left().filter(|_| is_alone)?;
        Some(Round { source, iteration, exchange, left })
    }

    /// Leaves out so many stages of that operation: no more than are left.
    pub fn skip_stages(&mut self, stages: u32) {
        self.collectives.values_mut().for_each(|progress| progress.skip(stages));
    }

    /// When it next has something to do by itself.
    pub fn next_at(&self) -> Time {
        self.due.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// Does what is due at `now`; the messages that follow go to `start`.
    pub fn wake(&mut self, now: Time, start: &mut Vec<Flow>) {
        while let Some(&Reverse((at, due))) = self.due.peek()
            && at <= now
        {
            self.due.pop();
            match due {
                Due::Begin => self.begin_iteration(now),
                Due::Held(place) => self.held(place, now, start),
                Due::Arrived(flow) => {
                    if let Some(at) = self.plan.locate(flow) {
                        self.arrived(at, flow, now, start);
                    }
                }
            }
            self.follow_up(now, start);
        }
    }

    /// A flow has ended here that may be one of the program's messages.
    pub fn notify(&mut self, flow: FlowId, done: Done, now: Time, start: &mut Vec<Flow>) {
        let Some(at) = self.plan.locate(flow) else { return };
        match done {
            Done::Received => self.received(at, flow, now, start),
            Done::Sent => self.acknowledged(at, now, start),
        }
        self.follow_up(now, start);
    }

    fn begin_iteration(&mut self, now: Time) {
        let plan = Arc::clone(&self.plan);
        let rank = &plan.program.ranks[self.rank as usize];
        let count = rank.operations().len() as u32;
        self.left = (0..count).map(|place| rank.dependencies(place).len() as u32).collect();
        self.unended = count;
        if count == 0 {
            return self.end_iteration(now);
        }
        for place in 0..count {
            if self.left[place as usize] == 0 {
                self.ready(place, None, now);
            }
        }
    }

    fn end_iteration(&mut self, now: Time) {
        self.inboxes.remove(&self.iteration);
        self.iteration += 1;
        if !self.is_done() {
            self.due.push(Reverse((now, Due::Begin)));
        }
    }

    /// Follows up what has happened until nothing more does at this moment.
    fn follow_up(&mut self, now: Time, start: &mut Vec<Flow>) {
        loop {
            self.begin_waiting(now, start);
            let Some((place, event)) = self.events.pop_front() else { break };
            let plan = Arc::clone(&self.plan);
            for &(awaited, dependent) in plan.dependents(self.rank, place) {
                if awaited == event {
                    self.left[dependent as usize] -= 1;
                    if self.left[dependent as usize] == 0 {
                        self.ready(dependent, Some(place), now);
                    }
                }
            }
            if event == Event::Ends {
                self.unended -= 1;
                if self.unended == 0 {
                    self.end_iteration(now);
                }
            }
        }
    }

    fn work(&self, place: u32) -> Work {
        self.plan.program.ranks[self.rank as usize].operations()[place as usize].work
    }

    fn stream(&self, place: u32) -> Option<u16> {
        self.plan.program.ranks[self.rank as usize].operations()[place as usize].stream
    }

    /// All has happened that an operation depends on.
    fn ready(&mut self, place: u32, after: Option<u32>, now: Time) {
        self.open.insert(place, Open { ready: now, begin: now, after, message: None });
        if let Work::Receive { peer, tag, .. } = self.work(place) {
            self.events.push_back((place, Event::Begins));
            let message = self.inboxes.entry(self.iteration).or_default().post(place, (peer, tag));
            if let Some(flow) = message {
                self.matched(place, flow, now);
            }
        } else {
            self.queue(place, now);
        }
    }

    /// A receive has its message.
    fn matched(&mut self, place: u32, flow: FlowId, now: Time) {
        if let Some(open) = self.open.get_mut(&place) {
            open.message = Some(flow);
        }
        if self.plan.settings.costs.receive == Time::ZERO {
            self.end(place, now);
        } else {
            self.queue(place, now);
        }
    }

    /// An operation waits for its stream, if it has one.
    fn queue(&mut self, place: u32, now: Time) {
        match self.stream(place) {
            Some(stream) => self.streams.entry(stream).or_default().waiting.push(Reverse((now, place))),
            None => self.unqueued.push_back(place),
        }
    }

    /// Begins what waits for no stream, or for one that is free.
    fn begin_waiting(&mut self, now: Time, start: &mut Vec<Flow>) {
        loop {
            while let Some(place) = self.unqueued.pop_front() {
                self.begin(place, now, start);
            }
            let free = self.streams.iter().find(|(_, one)| !one.is_busy && !one.waiting.is_empty());
            let Some(number) = free.map(|(&number, _)| number) else { return };
            let Some(stream) = self.streams.get_mut(&number) else { return };
            let Some(Reverse((ready, place))) = stream.waiting.pop() else { return };
            stream.is_busy = true;
            let had_it = stream.last.replace(place);
            if let Some(open) = self.open.get_mut(&place)
                && ready < now
            {
                open.after = had_it;
            }
            self.begin(place, now, start);
        }
    }

    /// An operation has its stream.
    fn begin(&mut self, place: u32, now: Time, start: &mut Vec<Flow>) {
        if let Some(open) = self.open.get_mut(&place) {
            open.begin = now;
        }
        let costs = self.plan.settings.costs;
        let holds = match self.work(place) {
            Work::Compute { duration } => duration,
            Work::Send { .. } => costs.send,
            // It began when it was posted.
            Work::Receive { .. } => return self.hold(place, costs.receive, now, start),
            Work::Collective { .. } => {
                self.events.push_back((place, Event::Begins));
                return self.begin_collective(place, now, start);
            }
        };
        self.events.push_back((place, Event::Begins));
        self.hold(place, holds, now, start);
    }

    fn hold(&mut self, place: u32, holds: Time, now: Time, start: &mut Vec<Flow>) {
        if holds == Time::ZERO {
            self.held(place, now, start);
        } else {
            self.due.push(Reverse((now.saturating_add(holds), Due::Held(place))));
        }
    }

    /// An operation has held its stream for as long as it does by itself.
    fn held(&mut self, place: u32, now: Time, start: &mut Vec<Flow>) {
        if let Work::Send { peer, bytes, .. } = self.work(place) {
            let exchange = self.plan.exchange_of(self.rank, place);
            let at = Located { iteration: self.iteration, exchange, index: 0 };
            start.push(self.plan.flow(at, self.rank, peer, bytes, now));
            if self.plan.settings.sends_block {
                return;
            }
        }
        self.end(place, now);
    }

    /// An operation ends, and frees its stream.
    fn end(&mut self, place: u32, now: Time) {
        if let Some(open) = self.open.remove(&place) {
            let span = self.span(place, open, now);
            self.spans.push(span);
        }
        if let Some(stream) = self.stream(place).and_then(|number| self.streams.get_mut(&number))
            && stream.last == Some(place)
        {
            stream.is_busy = false;
        }
        self.events.push_back((place, Event::Ends));
    }

    fn span(&self, place: u32, open: Open, end: Time) -> Span {
        let Open { ready, begin, after, message } = open;
        Span { iteration: self.iteration, place, ready, begin, end, after, message }
    }

    fn begin_collective(&mut self, place: u32, now: Time, start: &mut Vec<Flow>) {
        let exchange = self.plan.exchange_of(self.rank, place);
        let key = (self.iteration, exchange);
        let mut sending = std::mem::take(&mut self.sending);
        if let Some(progress) = self.progress(key) {
            progress.begin(place, &mut sending);
        }
        self.after_progress(key, None, sending, now, start);
    }

    /// How far the rank is with a collective operation, which others may have begun before it.
    fn progress(&mut self, key: (u32, u32)) -> Option<&mut Progress> {
        let plan = &self.plan;
        let Exchange::Collective(operation) = plan.exchange(key.1) else { return None };
        let place = plan.place_in(operation.group, self.rank);
        Some(self.collectives.entry(key).or_insert_with(|| Progress::new(Arc::clone(operation), place)))
    }

    /// Sends what a collective operation has to send, and ends it if it is over.
    fn after_progress(
        &mut self,
        key: (u32, u32),
        message: Option<FlowId>,
        mut sending: Vec<Sending>,
        now: Time,
        start: &mut Vec<Flow>,
    ) {
        let plan = Arc::clone(&self.plan);
        let Exchange::Collective(operation) = plan.exchange(key.1) else { return };
        for Sending { index, message } in sending.drain(..) {
            let at = Located { iteration: key.0, exchange: key.1, index };
            let to = plan.rank_at(operation.group, message.to);
            let when = take_turn(&mut self.free.0, now, plan.settings.costs.send);
            start.push(plan.flow(at, self.rank, to, message.bytes, when));
        }
        self.sending = sending;
        if let Some(place) = self.collectives.get(&key).and_then(Progress::over_at) {
            self.collectives.remove(&key);
            if let Some(open) = self.open.get_mut(&place) {
                open.message = message;
            }
            self.end(place, now);
        }
    }

    fn received(&mut self, at: Located, flow: FlowId, now: Time, start: &mut Vec<Flow>) {
        let plan = Arc::clone(&self.plan);
        match plan.exchange(at.exchange) {
            Exchange::Collective(_) => {
                let when = take_turn(&mut self.free.1, now, plan.settings.costs.receive);
                if when > now {
                    self.due.push(Reverse((when, Due::Arrived(flow))));
                } else {
                    self.arrived(at, flow, now, start);
                }
            }
            &Exchange::Send { rank, place } => {
                let Work::Send { peer, tag, .. } =
                    plan.program.ranks[rank as usize].operations()[place as usize].work
                else {
                    return;
                };
                debug_assert_eq!(peer, self.rank);
                let found = self.inboxes.entry(at.iteration).or_default().come((rank, tag), flow);
                if let Some((receive, flow)) = found {
                    self.matched(receive, flow, now);
                }
            }
        }
    }

    /// A message of a collective operation has arrived.
    fn arrived(&mut self, at: Located, flow: FlowId, now: Time, start: &mut Vec<Flow>) {
        let key = (at.iteration, at.exchange);
        let mut sending = std::mem::take(&mut self.sending);
        if let Some(progress) = self.progress(key) {
            let part = progress.operation().part(at.index);
            progress.arrive(part.lane, part.message.stage_there, &mut sending);
        }
        self.after_progress(key, Some(flow), sending, now, start);
    }

    fn acknowledged(&mut self, at: Located, now: Time, start: &mut Vec<Flow>) {
        let plan = Arc::clone(&self.plan);
        match plan.exchange(at.exchange) {
            Exchange::Collective(_) => {
                let key = (at.iteration, at.exchange);
                // What is over does not wait for acknowledgements.
                let mut sending = std::mem::take(&mut self.sending);
                if let Some(progress) = self.collectives.get_mut(&key) {
                    let part = progress.operation().part(at.index);
                    progress.acknowledge(part.lane, &part.message, &mut sending);
                }
                self.after_progress(key, None, sending, now, start);
            }
            &Exchange::Send { place, .. } => {
                if plan.settings.sends_block && at.iteration == self.iteration {
                    self.end(place, now);
                }
            }
        }
    }
}

/// The host processes a message after those before it; returns when it is done.
fn take_turn(free: &mut Time, now: Time, cost: Time) -> Time {
    if cost == Time::ZERO {
        return now;
    }
    *free = now.max(*free).saturating_add(cost);
    *free
}

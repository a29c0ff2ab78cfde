//! A rank at work: it belongs to its host, and nothing that changes in it is shared.

use super::inbox::Inbox;
use super::pattern::Message;
use super::plan::{ANSWER, Exchange, Life, Located, MESSAGE, Plan};
use super::progress::{Progress, Sending};
use super::round::Round;
use super::span::Span;
use crate::flow::{Flow, FlowId};
use crate::job::{Event, Work};
use crate::narrow::exact;
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
    /// When its NIC may send the next message, and when it had the last one, where messages have gaps.
    nic: (Time, Time),
    /// How many messages of this repetition were sent to a rank with a tag, where there are several.
    sent: BTreeMap<(u32, u32), u32>,
    /// The send of each of these that has the number of another.
    numbered: BTreeMap<u32, u32>,
    /// Words to senders that their message was taken.
    answers: Vec<Flow>,
    spans: Vec<Span>,
    /// Operations that end when they are told, which have begun since this was last asked.
    begun: Vec<Told>,
    end: End,
}

/// How a rank comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// With its last repetition.
    Usual,
    /// It came, with a rank that failed.
    Failed,
    /// It never began, since no rank failed after which it would have gone on.
    InVain,
}

/// A collective operation of a rank that ends when it is told, since nothing is sent for it here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// In which repetition.
    pub iteration: u32,
    /// Which exchange it is.
    pub exchange: u32,
    /// Its place among the operations of the rank.
    pub place: u32,
}

/// Operations that share a stream.
#[derive(Clone, Debug, Default)]
struct Stream {
    is_busy: bool,
    /// The operation that had it last.
    last: Option<u32>,
    /// What goes before what, the place, and since when it waits.
    waiting: BinaryHeap<Reverse<(Before, u32, Time)>>,
}

/// Goes by the turn where the rank has such, else by when the operation was ready, then by its place.
type Before = (Time, u32);

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
    /// The NIC may send the next message: an operation of this repetition that is one waits for its stream again.
    Queued(u32),
    /// An operation of this repetition has held its stream for as long as it does.
    Held(u32),
    /// The NIC has had a message for as long as the gap lasts.
    Came(FlowId),
    /// A message of a collective operation was processed.
    Arrived(FlowId),
    /// In an exchange of this repetition, threads have moved what they had of a lane.
    Worked(u32, u32),
    /// A call of a library has taken what it does before a collective operation begins.
    Called(u32),
    /// A rank of the job fails.
    Fails,
    /// The job goes on after that.
    GoesOn,
}

/// The place of an operation at a node in a switch, which has none.
const NO_PLACE: u32 = u32::MAX;

impl Walker {
    /// A rank before its first operation.
    pub fn new(plan: &Arc<Plan>, rank: u32) -> Walker {
        let mut due = BinaryHeap::new();
        let start = plan.settings.like.start;
        match plan.settings.life {
            Life::AfterFailure => due.push(Reverse((start, Due::GoesOn))),
            Life::Whole | Life::UntilFailure => {
                let late = plan.settings.disturbances.late_by(rank, start);
                due.push(Reverse((start.saturating_add(late), Due::Begin)));
            }
        }
        if let Some(failure) = plan.settings.disturbances.failure()
            && plan.settings.life == Life::UntilFailure
        {
            due.push(Reverse((failure.at, Due::Fails)));
        }
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
            due,
            events: VecDeque::new(),
            sending: Vec::new(),
            free: (Time::ZERO, Time::ZERO),
            nic: (Time::ZERO, Time::ZERO),
            sent: BTreeMap::new(),
            numbered: BTreeMap::new(),
            answers: Vec::new(),
            spans: Vec::new(),
            begun: Vec::new(),
            end: End::Usual,
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

    /// Whether all repetitions are over, or will not come.
    pub fn is_done(&self) -> bool {
        self.iteration == self.plan.settings.repeat || self.end != End::Usual
    }

    /// Whether it was there in case a rank failed, and none did.
    pub fn was_in_vain(&self) -> bool {
        self.end == End::InVain
    }

    /// What was carried out, in order of its end, and then what is not over.
    pub fn spans(&self) -> impl Iterator<Item = Span> + '_ {
        let open = self.open.iter().map(|(&place, open)| self.span(place, *open, Time::NEVER));
        self.spans.iter().copied().chain(open)
    }

    /// The same of a rank of which nothing more is asked.
    pub fn into_spans(mut self) -> Vec<Span> {
        let mut spans = std::mem::take(&mut self.spans);
        spans.extend(self.open.iter().map(|(&place, open)| self.span(place, *open, Time::NEVER)));
        spans
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
                Due::Queued(place) => self.queue(place, now),
                Due::Held(place) => self.held(place, now, start),
                Due::Called(place) => self.begin_collective(place, now, start),
                Due::Worked(exchange, lane) => self.worked((self.iteration, exchange), lane, now, start),
                Due::Fails => return self.fail(),
                Due::GoesOn => self.go_on(now),
                Due::Came(flow) => {
                    if let Some(at) = self.plan.locate(flow) {
                        self.came(at, flow, now, start);
                    }
                }
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
        let Some(at) = self.plan.locate(flow).filter(|_| self.end == End::Usual) else { return };
        match (self.granted(at), done) {
            // The grant of its own message's buffer.
            (Some(message), Done::Received) => self.acknowledged(message, true, now, start),
            (Some(_), Done::Sent) => {}
            (None, Done::Received) => self.received(at, flow, now, start),
            (None, Done::Sent) => self.acknowledged(at, false, now, start),
        }
        self.follow_up(now, start);
    }

    /// The message of which a number grants the buffer, if it is a grant's.
    fn granted(&self, at: Located) -> Option<Located> {
        let Exchange::Collective(operation) = self.plan.exchange(at.exchange) else { return None };
        operation.granted(at.index).map(|index| Located { index, ..at })
    }

    fn begin_iteration(&mut self, now: Time) {
        let plan = Arc::clone(&self.plan);
        let rank = &plan.program.ranks[self.rank as usize];
        let count = exact::<u32>(rank.operations().len());
        self.left = (0..count).map(|place| exact::<u32>(rank.dependencies(place).len())).collect();
        self.unended = count;
        self.sent.clear();
        self.numbered.clear();
        if count == 0 {
            return self.end_iteration(now);
        }
        if self.spans.is_empty() {
            // Most jobs are carried out once; a vector that doubles would reserve up to twice as much.
            self.spans.reserve_exact(count as usize);
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
        if self.is_done() {
            // What fails now fails without it.
            self.due.retain(|Reverse((_, due))| *due != Due::Fails);
        } else {
            self.begin_late(now);
        }
    }

    /// Begins a repetition, unless it is late.
    fn begin_late(&mut self, now: Time) {
        let late = self.plan.settings.disturbances.late_by(self.rank, now);
        self.due.push(Reverse((now.saturating_add(late), Due::Begin)));
    }

    /// A rank of the job fails: nothing more is begun. What it has under way is still delivered.
    fn fail(&mut self) {
        self.plan.settings.disturbances.fail_in(self.iteration);
        self.end = End::Failed;
        self.due.clear();
        self.events.clear();
        self.begun.clear();
        self.collectives.clear();
        self.inboxes.clear();
    }

    /// The job goes on after a rank has failed, if it had not ended by then.
    fn go_on(&mut self, now: Time) {
        match self.plan.settings.disturbances.failure().and_then(|failure| failure.roll.finished()) {
            Some(finished) => {
                self.iteration = finished;
                self.begin_late(now);
            }
            None => self.end = End::InVain,
        }
    }

    /// Follows up what has happened until nothing more does at this moment.
    fn follow_up(&mut self, now: Time, start: &mut Vec<Flow>) {
        let takes_turns = self.plan.program.ranks[self.rank as usize].turn(0).is_some();
        loop {
            // Where turns decide, all that is ready by now is compared before anything begins.
            while (self.events.is_empty() || !takes_turns) && self.begin_next(now, start) {}
            start.append(&mut self.answers);
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
        let bytes = self.answer(flow, now);
        if self.plan.settings.costs.to_receive(bytes) == Time::ZERO {
            self.end(place, now);
        } else {
            self.queue(place, now);
        }
    }

    /// Tells the sender of a message that was taken so, if it waits for that; returns how large the message is.
    fn answer(&mut self, flow: FlowId, now: Time) -> u64 {
        let plan = &self.plan;
        let Some(at) = plan.locate(flow) else { return 0 };
        let Some((from, bytes, is_answered)) = plan.send(at.exchange) else { return 0 };
        if is_answered {
            self.answers.push(plan.flow(Located { index: ANSWER, ..at }, self.rank, from, 1, now));
        }
        bytes
    }

    /// An operation waits for its stream, if it has one.
    fn queue(&mut self, place: u32, now: Time) {
        let Some(stream) = self.stream(place) else { return self.unqueued.push_back(place) };
        let turn = self.plan.program.ranks[self.rank as usize].turn(place);
        let before = turn.map_or((now, place), |turn| (Time::ZERO, turn));
        self.streams.entry(stream).or_default().waiting.push(Reverse((before, place, now)));
    }

    /// Begins something that waits for no stream, or for one that is free; returns whether there was any.
    fn begin_next(&mut self, now: Time, start: &mut Vec<Flow>) -> bool {
        if let Some(place) = self.unqueued.pop_front() {
            if !self.waits_for_nic(place, now) {
                self.begin(place, now, start);
            }
            return true;
        }
        let mut free = self.streams.values_mut().filter(|one| !one.is_busy && !one.waiting.is_empty());
        let Some(stream) = free.next() else { return false };
        let Some(Reverse((_, place, since))) = stream.waiting.pop() else { return false };
        let stream = match self.waits_for_nic(place, now) {
            true => return true,
            false => self.stream(place).and_then(|number| self.streams.get_mut(&number)),
        };
        let Some(stream) = stream else { return false };
        stream.is_busy = true;
        let had_it = stream.last.replace(place);
        if let Some(open) = self.open.get_mut(&place)
            && since < now
        {
            open.after = had_it;
        }
        self.begin(place, now, start);
        true
    }

    /// Whether an operation is a message that the NIC may not send yet; then it comes again, and leaves its stream to
    /// others.
    fn waits_for_nic(&mut self, place: u32, now: Time) -> bool {
        let waits = self.nic.0 > now && matches!(self.work(place), Work::Send { .. });
        if waits {
            self.due.push(Reverse((self.nic.0, Due::Queued(place))));
        }
        waits
    }

    /// An operation has its stream.
    fn begin(&mut self, place: u32, now: Time, start: &mut Vec<Flow>) {
        if let Some(open) = self.open.get_mut(&place) {
            open.begin = now;
        }
        let costs = self.plan.settings.costs;
        let holds = match self.work(place) {
            Work::Compute { duration } => {
                self.plan.settings.disturbances.computes_for(self.rank, now, duration)
            }
            Work::Send { bytes, .. } => {
                self.nic.0 = now.saturating_add(costs.occupied(bytes));
                costs.to_send(bytes)
            }
            // It began when it was posted.
            Work::Receive { .. } => {
                let message = self.open.get(&place).and_then(|open| self.plan.locate(open.message?));
                let bytes =
                    message.and_then(|at| self.plan.send(at.exchange)).map_or(0, |(_, bytes, _)| bytes);
                return self.hold(place, costs.to_receive(bytes), now, start);
            }
            Work::Collective { .. } => {
                self.events.push_back((place, Event::Begins));
                let takes = self.call_takes(place);
                if takes > Time::ZERO {
                    self.due.push(Reverse((now.saturating_add(takes), Due::Called(place))));
                    return;
                }
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
        if let Work::Send { peer, bytes, tag } = self.work(place) {
            let exchange = self.number_send(place, (peer, tag));
            let at = Located { iteration: self.iteration, exchange, index: MESSAGE };
            start.push(self.plan.flow(at, self.rank, peer, bytes, now));
            if self.plan.program.sends_block || self.plan.settings.costs.is_answered(bytes) {
                return;
            }
        }
        self.end(place, now);
    }

    /// The exchange whose number a send gets: of those to one rank with one tag, the first that is sent gets the first.
    fn number_send(&mut self, place: u32, (peer, tag): (u32, u32)) -> u32 {
        let own = self.plan.exchange_of(self.rank, place);
        let Some(channel) = self.plan.channel(self.rank, peer, tag) else { return own };
        let nth = self.sent.entry((peer, tag)).or_default();
        let exchange = channel[*nth as usize];
        *nth += 1;
        if exchange != own {
            let at = Located { iteration: self.iteration, exchange, index: MESSAGE };
            let flow = self.plan.number(at);
            self.numbered.insert(exchange, place);
            if let Some(open) = self.open.get_mut(&place) {
                open.message = Some(flow);
            }
        }
        exchange
    }

    /// The send that has the number of an exchange.
    fn numbered(&self, exchange: u32, place: u32) -> u32 {
        self.numbered.get(&exchange).copied().unwrap_or(place)
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

    /// What a library takes before a collective operation begins.
    fn call_takes(&self, place: u32) -> Time {
        match self.plan.exchange(self.plan.exchange_of(self.rank, place)) {
            Exchange::Collective(operation) if !operation.is_modelled => {
                operation.call.as_ref().map_or(Time::ZERO, |call| call.costs.call)
            }
            _ => Time::ZERO,
        }
    }

    fn begin_collective(&mut self, place: u32, now: Time, start: &mut Vec<Flow>) {
        let exchange = self.plan.exchange_of(self.rank, place);
        let key = (self.iteration, exchange);
        if let Exchange::Collective(operation) = self.plan.exchange(exchange)
            && operation.is_told()
        {
            return self.begun.push(Told { iteration: self.iteration, exchange, place });
        }
        let mut sending = std::mem::take(&mut self.sending);
        if let Some(progress) = self.progress(key) {
            progress.begin(place, &mut sending);
        }
        self.after_progress(key, None, sending, now, start);
    }

    /// The operations that end when they are told, which have begun since this was last asked.
    pub fn take_begun(&mut self) -> impl Iterator<Item = Told> + '_ {
        self.begun.drain(..)
    }

    /// An operation is over that ends when it is told.
    pub fn end_told(&mut self, told: Told, now: Time, start: &mut Vec<Flow>) {
        if self.end != End::Usual {
            return;
        }
        debug_assert_eq!(told.iteration, self.iteration);
        self.end(told.place, now);
        self.follow_up(now, start);
    }

    /// How far the rank is with a collective operation, which others may have begun before it.
    fn progress(&mut self, key: (u32, u32)) -> Option<&mut Progress> {
        let plan = &self.plan;
        let Exchange::Collective(operation) = plan.exchange(key.1) else { return None };
        let place = plan.place_in(operation.group, self.rank);
        Some(self.collectives.entry(key).or_insert_with(|| {
            let mut progress = Progress::new(Arc::clone(operation), place);
            if plan.is_node(self.rank) {
                // It is always there; it sends nothing before something comes.
                progress.begin(NO_PLACE, &mut Vec::new());
            }
            progress
        }))
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
        let freed = self.collectives.get_mut(&key).map(Progress::take_freed).unwrap_or_default();
        for index in freed.into_iter().filter_map(|message| operation.grant(message)) {
            let Message { to, bytes, .. } = operation.part(index).message;
            let at = Located { iteration: key.0, exchange: key.1, index };
            start.push(plan.flow(at, self.rank, plan.rank_at(operation.group, to), bytes, now));
        }
        let begun_with = self.collectives.get_mut(&key).map(Progress::take_begun).unwrap_or_default();
        for (lane, takes) in begun_with {
            self.due.push(Reverse((now.saturating_add(takes), Due::Worked(key.1, lane))));
        }
        let own = plan.place_in(operation.group, self.rank);
        for Sending { index, message, lane } in sending.drain(..) {
            let at = Located { iteration: key.0, exchange: key.1, index };
            let to = plan.rank_at(operation.group, message.to);
            let costs = &plan.settings.costs;
            let may = now.max(self.nic.0);
            let mut when = take_turn(&mut self.free.0, may, costs.to_send(message.bytes));
            if let Some((threads, labour)) = operation.threads_of(lane, own)
                && !threads.are_neighbours(own, message.to)
            {
                // A neighbour's memory they write themselves; a NIC sends what is written.
                when = when.max(now.saturating_add(threads.take(labour, message.bytes)));
            }
            self.nic.0 = may.saturating_add(costs.occupied(message.bytes));
            start.push(plan.flow(at, self.rank, to, message.bytes, when));
        }
        self.sending = sending;
        if let Some(place) = self.collectives.get(&key).and_then(Progress::over_at) {
            self.collectives.remove(&key);
            if place == NO_PLACE {
                return;
            }
            if let Some(open) = self.open.get_mut(&place) {
                open.message = message;
            }
            self.end(place, now);
        }
    }

    /// A message has arrived, which the NIC hands on once it has rested since the one before.
    fn received(&mut self, at: Located, flow: FlowId, now: Time, start: &mut Vec<Flow>) {
        let costs = &self.plan.settings.costs;
        if costs.gap.is_none() {
            return self.came(at, flow, now, start);
        }
        let bytes = match self.plan.exchange(at.exchange) {
            Exchange::Collective(operation) => operation.part(at.index).message.bytes,
            Exchange::Send { .. } => self.plan.send(at.exchange).map_or(0, |(_, bytes, _)| bytes),
        };
        let rested =
            if self.nic.1 == Time::ZERO { now } else { self.nic.1.saturating_add(costs.occupied(bytes)) };
        self.nic.1 = now.max(rested);
        self.due.push(Reverse((self.nic.1, Due::Came(flow))));
    }

    fn came(&mut self, at: Located, flow: FlowId, now: Time, start: &mut Vec<Flow>) {
        let plan = Arc::clone(&self.plan);
        match plan.exchange(at.exchange) {
            Exchange::Collective(operation) => {
                let part = operation.part(at.index);
                let bytes = part.message.bytes;
                let when = take_turn(&mut self.free.1, now, plan.settings.costs.to_receive(bytes));
                let from = plan.rank_at(operation.group, part.from);
                let when = when.saturating_add(plan.hop_cost(operation, from, self.rank));
                let when = when.saturating_add(operation.trail(&part));
                if when > now {
                    self.due.push(Reverse((when, Due::Arrived(flow))));
                } else {
                    self.arrived(at, flow, now, start);
                }
            }
            &Exchange::Send { place, .. } if at.index == ANSWER => {
                let place = self.numbered(at.exchange, place);
                // A smaller one of the channel ended when it was sent.
                if at.iteration == self.iteration
                    && let Some(open) = self.open.get_mut(&place)
                {
                    open.message = Some(flow);
                    self.end(place, now);
                }
            }
            &Exchange::Send { rank, place } => {
                let Work::Send { peer, tag, .. } =
                    plan.program.ranks[rank as usize].operations()[place as usize].work
                else {
                    return;
                };
                debug_assert_eq!(peer, self.rank);
                let nth = plan.nth_of_channel(at.exchange);
                let inbox = self.inboxes.entry(at.iteration).or_default();
                for (receive, flow) in inbox.come((rank, tag), nth, flow) {
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
            if progress.operation().grant(at.index).is_some() {
                progress.hold(part.lane_there, part.message.stage_there, at.index);
            }
            let came = (part.message.bytes, flow);
            progress.arrive(part.lane_there, part.message.stage_there, came, &mut sending);
        }
        self.after_progress(key, Some(flow), sending, now, start);
    }

    /// Threads have moved what they had of a lane.
    fn worked(&mut self, key: (u32, u32), lane: u32, now: Time, start: &mut Vec<Flow>) {
        let mut sending = std::mem::take(&mut self.sending);
        let Some(progress) = self.collectives.get_mut(&key) else { return };
        progress.worked(lane, &mut sending);
        let last = progress.last();
        self.after_progress(key, last, sending, now, start);
    }

    /// A message of its own was acknowledged, or its buffer granted anew.
    fn acknowledged(&mut self, at: Located, is_granted: bool, now: Time, start: &mut Vec<Flow>) {
        let plan = Arc::clone(&self.plan);
        match plan.exchange(at.exchange) {
            // Where a buffer is granted, an acknowledgement tells nothing.
            Exchange::Collective(operation) if !is_granted && operation.grant(at.index).is_some() => {}
            Exchange::Collective(_) => {
                let key = (at.iteration, at.exchange);
                // What is over does not wait for acknowledgements.
                let mut sending = std::mem::take(&mut self.sending);
                if let Some(progress) = self.collectives.get_mut(&key) {
                    let part = progress.operation().part(at.index);
                    progress.acknowledge(part.lane, &part.message, &mut sending);
                }
                let last = self.collectives.get(&key).and_then(Progress::last);
                self.after_progress(key, last, sending, now, start);
            }
            &Exchange::Send { place, .. } => {
                if plan.program.sends_block && at.iteration == self.iteration {
                    self.end(self.numbered(at.exchange, place), now);
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

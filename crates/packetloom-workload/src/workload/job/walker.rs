//! A rank at work: it belongs to its host, and nothing that changes in it is shared.

mod collectives;
mod messages;
mod operations;

use super::inbox::Inbox;
use super::plan::{ANSWER, Exchange, Life, Located, Plan};
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

    /// The collective operation that it is in, if its stages are alike and nothing else goes on here: what waits for its
    /// stream does nothing meanwhile.
    pub fn round(&self) -> Option<Round> {
        let (&(iteration, exchange), progress) = self.collectives.first_key_value()?;
        // What is due of its messages goes on by the engine's clock, as packets do.
        let is_of_messages = |Reverse((_, due)): &Reverse<(Time, Due)>| {
            matches!(due, Due::Came(_) | Due::Arrived(_) | Due::Worked(..))
        };
        let waiting =
            self.streams.values().map(|stream| stream.waiting.len()).sum::<usize>() + self.unqueued.len();
        let is_alone = self.open.len() == waiting + 1
            && self.collectives.len() == 1
            && self.due.iter().all(is_of_messages);
        let source = self.plan.settings.like.source;
        let left = progress.stages_left().filter(|_| is_alone)?;
        Some(Round { key: (source, iteration, exchange), left })
    }

    /// Leaves out so many stages of that operation: no more than are left.
    pub fn skip_stages(&mut self, stages: u32) {
        self.collectives.values_mut().for_each(|progress| progress.skip(stages));
    }

    /// All that it has yet to do by itself comes so much sooner; nothing does within that time.
    pub fn bring_forward(&mut self, now: Time, by: Time) {
        let due = std::mem::take(&mut self.due);
        self.due = due.into_iter().map(|Reverse((at, due))| Reverse((at.since(by).max(now), due))).collect();
        for at in [&mut self.free.0, &mut self.free.1, &mut self.nic.0, &mut self.nic.1] {
            if *at > now {
                *at = at.since(by).max(now);
            }
        }
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
                Due::Arrived(flow) => self.arrived_late(flow, now, start),
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
}

/// The host processes a message after those before it; returns when it is done.
fn take_turn(free: &mut Time, now: Time, cost: Time) -> Time {
    if cost == Time::ZERO {
        return now;
    }
    *free = now.max(*free).saturating_add(cost);
    *free
}

//! The scheduler and the two pools.

use super::iteration::{Iteration, Next};
use super::plan::{Plan, Pool};
use crate::flow::{Flow, FlowId, HostId};
use crate::narrow::exact;
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// How a request fares; a time that has not come is [`Time::NEVER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    /// When it came.
    pub arrival: Time,
    /// The instance that processes its prompt.
    pub prefill: Option<u32>,
    /// The instance that generates its answer.
    pub decode: Option<u32>,
    /// When the batch of its prompt began and ended.
    pub prefilled: (Time, Time),
    /// When its keys and values left and were all there.
    pub moved: (Time, Time),
    /// When its first token came.
    pub first_token: Time,
    /// When its last token came.
    pub end: Time,
    /// The longest time between two tokens.
    pub longest_gap: Time,
    /// What was computed in the batches that it was in.
    pub compute: Time,
    /// What it waited for messages: those of its keys and values, and all-reduces of the batches that it was in.
    pub network: Time,
    tokens: u64,
    last_token: Time,
    missing: u32,
}

impl Course {
    fn new(arrival: Time) -> Course {
        Course {
            arrival,
            prefill: None,
            decode: None,
            prefilled: (Time::NEVER, Time::NEVER),
            moved: (Time::NEVER, Time::NEVER),
            first_token: Time::NEVER,
            end: Time::NEVER,
            longest_gap: Time::ZERO,
            compute: Time::ZERO,
            network: Time::ZERO,
            tokens: 0,
            last_token: Time::NEVER,
            missing: 0,
        }
    }

    /// Notes a token of so many.
    fn token(&mut self, now: Time, of: u64) {
        self.tokens += 1;
        if self.tokens == 1 {
            self.first_token = now;
        } else {
            self.longest_gap = self.longest_gap.max(now.since(self.last_token));
        }
        self.last_token = now;
        if self.tokens == of {
            self.end = now;
        }
    }

    /// From its arrival to its first token, if that came.
    pub fn ttft(&self) -> Option<Time> {
        (self.first_token != Time::NEVER).then(|| self.first_token.since(self.arrival))
    }

    /// From its arrival to its last token, if that came.
    pub fn took(&self) -> Option<Time> {
        (self.end != Time::NEVER).then(|| self.end.since(self.arrival))
    }

    /// What it waited neither for computing nor for messages, if it is over: for a batch before its own, and for room.
    pub fn queued(&self) -> Option<Time> {
        self.took().map(|took| took.since(self.compute + self.network))
    }
}

/// Which instance; those of the prefill pool come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Prefill(u32),
    Decode(u32),
}

/// An instance of the model.
#[derive(Clone, Debug, Default)]
struct Instance {
    /// Requests that wait for it, in order.
    queue: VecDeque<u32>,
    /// Those that it works on.
    batch: Vec<u32>,
    iteration: Option<Iteration>,
    /// Tokens of prompts that are not processed; or those for which room is taken.
    load: u64,
}

/// What a message is of.
#[derive(Clone, Copy, Debug)]
enum Message {
    Cache(u32),
    AllReduce(Place),
}

/// The scheduler and the pools, on their way through time.
#[derive(Clone, Debug)]
pub struct Cluster<'p> {
    plan: &'p Plan,
    courses: Vec<Course>,
    /// The next request to come.
    next: u32,
    over: u32,
    prefill: Vec<Instance>,
    decode: Vec<Instance>,
    /// Requests that wait for room at a decode instance, in order.
    waiting: VecDeque<u32>,
    /// When instances have computed what they compute.
    alarms: BinaryHeap<Reverse<(Time, Place)>>,
    messages: BTreeMap<FlowId, Message>,
    next_message: FlowId,
}

impl<'p> Cluster<'p> {
    /// Before the first request.
    pub fn new(plan: &'p Plan) -> Cluster<'p> {
        let instances = |pool: &Pool| vec![Instance::default(); pool.instances() as usize];
        Cluster {
            plan,
            courses: plan.requests.iter().map(|request| Course::new(request.arrival)).collect(),
            next: 0,
            over: 0,
            prefill: instances(&plan.prefill),
            decode: instances(&plan.decode),
            waiting: VecDeque::new(),
            alarms: BinaryHeap::new(),
            messages: BTreeMap::new(),
            next_message: plan.like.id,
        }
    }

    /// When it next has something to do, if no message arrives before.
    pub fn due(&self) -> Option<Time> {
        let alarm = self.alarms.peek().map(|Reverse((at, _))| *at);
        let arrival = self.plan.requests.get(self.next as usize).map(|request| request.arrival);
        alarm.into_iter().chain(arrival).min()
    }

    /// How many requests are over.
    pub fn over(&self) -> u32 {
        self.over
    }

    /// Whether a flow is a message of these requests.
    pub fn sent(&self, flow: FlowId) -> bool {
        flow >= self.plan.like.id
    }

    /// How many there are.
    pub fn all(&self) -> u32 {
        exact::<u32>(self.courses.len())
    }

    /// How each request fares.
    pub fn into_courses(self) -> Vec<Course> {
        self.courses
    }

    /// Does all that is due by now, with these messages that arrived now; adds what is sent to `sent`. At one moment
    /// messages come first, then ends of batches, then requests; last, idle instances begin.
    pub fn step(&mut self, now: Time, received: &[FlowId], sent: &mut Vec<Flow>) {
        for flow in received {
            self.receive(now, *flow, sent);
        }
        while let Some(&Reverse((at, place))) = self.alarms.peek().filter(|Reverse((at, _))| *at <= now) {
            debug_assert!(at == now, "an alarm was missed");
            self.alarms.pop();
            let next = self.iteration(place).computed(now);
            self.go_on(now, place, next, sent);
        }
        while let Some(request) = self.plan.requests.get(self.next as usize).filter(|one| one.arrival <= now)
        {
            let chosen = least_loaded(&self.prefill);
            let instance = &mut self.prefill[chosen as usize];
            instance.queue.push_back(self.next);
            instance.load += request.prompt;
            self.courses[self.next as usize].prefill = Some(chosen);
            self.next += 1;
        }
        self.admit(now, sent);
        (0..exact::<u32>(self.prefill.len())).for_each(|instance| self.begin_prefill(now, instance));
        (0..exact::<u32>(self.decode.len())).for_each(|instance| self.begin_decode(now, instance));
    }

    fn instance(&mut self, place: Place) -> &mut Instance {
        match place {
            Place::Prefill(nth) => &mut self.prefill[nth as usize],
            Place::Decode(nth) => &mut self.decode[nth as usize],
        }
    }

    fn iteration(&mut self, place: Place) -> &mut Iteration {
        self.instance(place).iteration.as_mut().expect("only who works has alarms and messages")
    }

    fn hosts(&self, place: Place) -> &'p [HostId] {
        match place {
            Place::Prefill(nth) => self.plan.prefill.hosts_of(nth),
            Place::Decode(nth) => self.plan.decode.hosts_of(nth),
        }
    }

    fn send(
        &mut self,
        now: Time,
        (src, dst): (HostId, HostId),
        bytes: u64,
        what: Message,
        sent: &mut Vec<Flow>,
    ) {
        let id = self.next_message;
        self.next_message = id.checked_add(1).expect("more messages than can be numbered");
        self.messages.insert(id, what);
        sent.push(Flow { id, src, dst, size_bytes: bytes, start: now, ..self.plan.like });
    }

    fn receive(&mut self, now: Time, flow: FlowId, sent: &mut Vec<Flow>) {
        match self.messages.remove(&flow).expect("a message of ours") {
            Message::AllReduce(place) => {
                if let Some(next) = self.iteration(place).received(now) {
                    self.go_on(now, place, next, sent);
                }
            }
            Message::Cache(request) => {
                let course = &mut self.courses[request as usize];
                course.missing -= 1;
                if course.missing == 0 {
                    course.moved.1 = now;
                    course.network += now.since(course.moved.0);
                    let chosen = course.decode.expect("it was admitted");
                    self.decode[chosen as usize].queue.push_back(request);
                }
            }
        }
    }

    /// An instance goes on with its batch.
    fn go_on(&mut self, now: Time, place: Place, next: Next, sent: &mut Vec<Flow>) {
        match next {
            Next::Compute(time) => self.alarms.push(Reverse((now.saturating_add(time), place))),
            Next::Exchange => {
                let (hosts, bytes) = (self.hosts(place), self.iteration(place).message_bytes);
                for &src in hosts {
                    for &dst in hosts.iter().filter(|&&dst| dst != src) {
                        self.send(now, (src, dst), bytes, Message::AllReduce(place), sent);
                    }
                }
                let ranks = exact::<u32>(hosts.len());
                self.iteration(place).await_messages(ranks * (ranks - 1));
            }
            Next::Over => match place {
                Place::Prefill(nth) => self.end_prefill(now, nth),
                Place::Decode(nth) => self.end_decode(now, nth),
            },
        }
    }

    /// Requests whose prompts are processed get room, in order: the first waits until it fits.
    fn admit(&mut self, now: Time, sent: &mut Vec<Flow>) {
        while let Some(&number) = self.waiting.front() {
            let request = self.plan.requests[number as usize];
            let needed = request.prompt + request.answer;
            let chosen = least_loaded(&self.decode);
            let instance = &mut self.decode[chosen as usize];
            if instance.load + needed > self.plan.capacity {
                return;
            }
            instance.load += needed;
            self.waiting.pop_front();
            let course = &mut self.courses[number as usize];
            (course.decode, course.moved.0) = (Some(chosen), now);
            let from = self.plan.prefill.hosts_of(course.prefill.expect("it was processed"));
            let to = self.plan.decode.hosts_of(chosen);
            for (sender, receiver, bytes) in self.plan.stripes(self.plan.cache_bytes(&request)) {
                self.courses[number as usize].missing += 1;
                let pair = (from[sender as usize], to[receiver as usize]);
                self.send(now, pair, bytes, Message::Cache(number), sent);
            }
        }
    }

    fn begin_prefill(&mut self, now: Time, nth: u32) {
        let instance = &mut self.prefill[nth as usize];
        if instance.iteration.is_some() || instance.queue.is_empty() {
            return;
        }
        let prompt = |number: u32| self.plan.requests[number as usize].prompt;
        let mut tokens = 0;
        while let Some(&number) = instance.queue.front() {
            if tokens > 0 && tokens + prompt(number) > self.plan.prefill.batch {
                break;
            }
            tokens += prompt(number);
            instance.queue.pop_front();
            instance.batch.push(number);
            self.courses[number as usize].prefilled.0 = now;
        }
        let compute = self.plan.prefill_times.of(instance.batch.iter().map(|&number| prompt(number)));
        self.begin(now, Place::Prefill(nth), compute, tokens);
    }

    fn begin_decode(&mut self, now: Time, nth: u32) {
        let instance = &mut self.decode[nth as usize];
        if instance.iteration.is_some() {
            return;
        }
        while (instance.batch.len() as u64) < self.plan.decode.batch
            && let Some(number) = instance.queue.pop_front()
        {
            instance.batch.push(number);
        }
        if instance.batch.is_empty() {
            return;
        }
        let cached = |number: &u32| {
            self.plan.requests[*number as usize].prompt + self.courses[*number as usize].tokens
        };
        let (answers, cached) = (instance.batch.len() as u64, instance.batch.iter().map(cached).sum());
        let compute = self.plan.decode_times.of(answers, cached);
        self.begin(now, Place::Decode(nth), compute, answers);
    }

    /// Begins with a batch of so many tokens.
    fn begin(&mut self, now: Time, place: Place, compute: Time, tokens: u64) {
        let ranks = self.hosts(place).len() as u64;
        let all_reduces = if ranks > 1 { self.plan.all_reduces } else { 0 };
        let bytes = tokens.saturating_mul(self.plan.hidden_bytes).div_ceil(ranks);
        let iteration = Iteration::new(now, compute, all_reduces, bytes);
        self.alarms.push(Reverse((now.saturating_add(iteration.first_slice()), place)));
        self.instance(place).iteration = Some(iteration);
    }

    fn end_prefill(&mut self, now: Time, nth: u32) {
        let instance = &mut self.prefill[nth as usize];
        let iteration = instance.iteration.take().expect("it was at work");
        for number in instance.batch.drain(..) {
            let request = &self.plan.requests[number as usize];
            let course = &mut self.courses[number as usize];
            instance.load -= request.prompt;
            course.prefilled.1 = now;
            course.compute += iteration.compute;
            course.network += iteration.network;
            if self.plan.prefill_answers {
                course.token(now, request.answer);
            }
            if self.plan.moves(request) {
                self.waiting.push_back(number);
            } else {
                self.over += 1;
            }
        }
    }

    fn end_decode(&mut self, now: Time, nth: u32) {
        let instance = &mut self.decode[nth as usize];
        let iteration = instance.iteration.take().expect("it was at work");
        let (courses, plan, over) = (&mut self.courses, self.plan, &mut self.over);
        let load = &mut instance.load;
        instance.batch.retain(|&number| {
            let request = &plan.requests[number as usize];
            let course = &mut courses[number as usize];
            course.compute += iteration.compute;
            course.network += iteration.network;
            course.token(now, request.answer);
            let is_over = course.end != Time::NEVER;
            if is_over {
                *load -= request.prompt + request.answer;
                *over += 1;
            }
            !is_over
        });
    }
}

/// Of equal ones the first.
fn least_loaded(instances: &[Instance]) -> u32 {
    let least = instances.iter().zip(0..).min_by_key(|(instance, nth)| (instance.load, *nth));
    least.map_or(0, |(_, nth)| nth)
}

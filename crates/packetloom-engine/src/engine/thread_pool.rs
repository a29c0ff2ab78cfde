//! Threads that take a network's shards through time together, window by window.
//!
//! The thread that runs the engine leads. It chooses the next window, takes the first shard through it, and waits
//! for the others. What shards send each other in a window arrives after it, so it is handed over between two
//! windows. A shard's work depends only on what it was handed, so results are the same for any number of threads.
//!
//! Shards may take turns on one thread instead, each timed: what so many threads would gain follows from that on any machine.

use super::Tally;
use super::agent::PortAgent;
use super::endpoint::{self, FlowStatus};
use super::link_table::Outbox;
use super::log::Log;
use super::shard::Shard;
use super::worker::{Job, Worker, hire};
use crate::flow::Flow;
use crate::units::Time;
use crate::workload::Query;
use cpu_time::ThreadTime;
use std::any::Any;
use std::thread::Scope;
use std::time::Duration;

/// A window to be processed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) number: u64,
    pub(super) start: Time,
    pub(super) end: Time,
}

/// Packets by the other shard.
type Crossings<H> = Vec<Outbox<H>>;

/// What a shard receives before a window and returns after it. The same message is used for every window, so that
/// none allocates.
#[derive(Debug)]
pub(super) struct ShardMessage<H> {
    /// To the shard: flows that start.
    pub(super) flows: Vec<Flow>,
    /// To the shard: queries that one of its hosts sends, or expects.
    pub(super) queries: Vec<Query>,
    /// To the shard: packets by the shard that sent them. Back: packets by the shard that they go to.
    pub(super) crossings: Crossings<H>,
    /// Back: what happened to its hosts' flows.
    pub(super) log: Log,
    /// Back: all that was done there so far.
    pub(super) tally: Tally,
    /// Back: the next window in which it has something to do, or what it sent.
    pub(super) next_window: Option<u64>,
}

impl<H> ShardMessage<H> {
    fn new(shards: usize, next_window: Option<u64>) -> ShardMessage<H> {
        let crossings = (0..shards).map(|_| Outbox::default()).collect();
        let (flows, queries) = (Vec::new(), Vec::new());
        let (log, tally) = (Log::default(), Tally::default());
        ShardMessage { flows, queries, crossings, log, tally, next_window }
    }
}

/// What windows cost of shards that took turns on one thread.
#[derive(Clone, Debug, Default)]
pub struct WindowCosts {
    /// How many windows there were.
    pub windows: u64,
    /// Each shard's processor time in all of them.
    pub of_shards: Vec<Duration>,
    /// The sum, over windows, of that of the shard that took longest: what all would take together.
    pub longest: Duration,
    /// What reading the clock took, which is in none of these.
    pub reading: Duration,
    /// What one reading takes, once it was measured.
    reading_takes: Option<Duration>,
}

impl WindowCosts {
    /// All shards' processor time.
    pub fn all(&self) -> Duration {
        self.of_shards.iter().sum()
    }

    /// That of the shard that took longest in all: no more than `longest`, and as much if it is the same in each window.
    pub fn busiest(&self) -> Duration {
        self.of_shards.iter().copied().max().unwrap_or_default()
    }

    /// Times a window, in which each of these has a turn.
    fn time(&mut self, turns: impl Iterator<Item = impl FnOnce()>) {
        let takes = *self.reading_takes.get_or_insert_with(reading_takes);
        let (mut longest, clock) = (Duration::ZERO, ThreadTime::now());
        let mut before = Duration::ZERO;
        self.reading += takes;
        for (nth, turn) in turns.enumerate() {
            turn();
            let now = clock.elapsed();
            let took = (now - before).saturating_sub(takes);
            before = now;
            if self.of_shards.len() == nth {
                self.of_shards.push(Duration::ZERO);
            }
            self.of_shards[nth] += took;
            self.reading += takes;
            longest = longest.max(took);
        }
        self.windows += 1;
        self.longest += longest;
    }
}

/// How long it takes to read the clock of a thread's processor time: with many shards as long as a shard's window.
fn reading_takes() -> Duration {
    const TIMES: u32 = 10_000;
    let clock = ThreadTime::now();
    (1..TIMES).for_each(|_| {
        std::hint::black_box(clock.elapsed());
    });
    clock.elapsed() / TIMES
}

/// Who takes the other shards through windows.
enum Others<'scope, 't, H, A> {
    /// A thread each.
    Workers(Vec<Worker<'scope>>),
    /// The leader, after its own.
    Leader(&'scope mut [Shard<'t, H, A>], &'scope mut WindowCosts),
}

/// The leader's shard and the other threads.
pub(super) struct ThreadPool<'scope, 't, H, A> {
    own: &'scope mut Shard<'t, H, A>,
    others: Others<'scope, 't, H, A>,
    /// One for each shard, while it has no window.
    #[expect(clippy::vec_box, reason = "boxes go to workers and come back without an allocation")]
    shard_messages: Vec<Box<ShardMessage<H>>>,
}

/// A thread pool, whatever its packets: what leads it is compiled once.
pub(super) trait AnyThreadPool {
    /// The next window in which any shard has something to do.
    fn next_window(&self) -> Option<u64>;

    /// Hands a flow to its shard, which gets it with its next window.
    fn add_flow(&mut self, shard: u32, flow: Flow);

    /// Hands a query to the shard of the worker and to that of the host that asks.
    fn add_query(&mut self, worker: u32, asks: u32, query: Query);

    /// Takes every shard through a window; returns what was done so far.
    fn process(&mut self, window: Window) -> Tally;

    /// The status of every unfinished flow, in order of identity.
    fn statuses(&self) -> Vec<FlowStatus>;

    /// What happened at all hosts since the log was last emptied, in the order of nodes.
    fn log(&mut self) -> &mut Log;
}

impl<H: Copy + Default + Send + 'static, A: PortAgent<H>> Job for Shard<'_, H, A> {
    fn process(&mut self, window: Window, shard_message: &mut dyn Any) {
        self.process(window, shard_message.downcast_mut().expect("a shard's own message"));
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        self.statuses()
    }
}

impl<'scope, 't, H: Copy + Default + Send + 'static, A: PortAgent<H>> ThreadPool<'scope, 't, H, A> {
    /// Starts a thread for each shard but the first; none, where they take turns, which are timed.
    pub(super) fn new(
        scope: &'scope Scope<'scope, '_>,
        shards: &'scope mut [Shard<'t, H, A>],
        takes_turns: Option<&'scope mut WindowCosts>,
    ) -> ThreadPool<'scope, 't, H, A> {
        let count = shards.len();
        let shard_message = |shard: &Shard<'_, H, A>| Box::new(ShardMessage::new(count, shard.next_window()));
        let shard_messages = shards.iter().map(shard_message).collect();
        let (own, others) = shards.split_first_mut().expect("at least one shard");
        let others = match takes_turns {
            Some(costs) => Others::Leader(others, costs),
            None => Others::Workers(others.iter_mut().map(|shard| hire(scope, shard)).collect()),
        };
        ThreadPool { own, others, shard_messages }
    }

    /// Puts what each shard sent where its receiver will find it.
    fn hand_over(&mut self) {
        for from in 0..self.shard_messages.len() {
            let (senders, receivers) = self.shard_messages.split_at_mut(from + 1);
            for (to, receiver) in (from + 1..).zip(receivers) {
                std::mem::swap(&mut senders[from].crossings[to], &mut receiver.crossings[from]);
            }
        }
    }

    /// Lets the workers go; returns what was sent across shards in the last window, by the shards that it goes to, and
    /// the processor time that the workers took.
    pub(super) fn end(self) -> (Vec<Crossings<H>>, Duration) {
        let took = match self.others {
            Others::Workers(workers) => workers.into_iter().map(Worker::end).sum(),
            Others::Leader(..) => Duration::ZERO,
        };
        let crossings = self.shard_messages.into_iter().map(|shard_message| shard_message.crossings);
        (crossings.collect(), took)
    }
}

impl<H: Copy + Default + Send + 'static, A: PortAgent<H>> AnyThreadPool for ThreadPool<'_, '_, H, A> {
    fn next_window(&self) -> Option<u64> {
        self.shard_messages.iter().filter_map(|shard_message| shard_message.next_window).min()
    }

    fn add_flow(&mut self, shard: u32, flow: Flow) {
        self.shard_messages[shard as usize].flows.push(flow);
    }

    fn add_query(&mut self, worker: u32, asks: u32, query: Query) {
        self.shard_messages[worker as usize].queries.push(query);
        if asks != worker {
            self.shard_messages[asks as usize].queries.push(query);
        }
    }

    fn process(&mut self, window: Window) -> Tally {
        match &mut self.others {
            Others::Workers(workers) => {
                for (worker, shard_message) in workers.iter().zip(self.shard_messages.drain(1..)) {
                    worker.begin(window, shard_message);
                }
                self.own.process(window, &mut self.shard_messages[0]);
                for worker in workers {
                    self.shard_messages.push(worker.finish().downcast().expect("the message that went"));
                }
            }
            Others::Leader(others, costs) => {
                let shards = std::iter::once(&mut *self.own).chain(others.iter_mut());
                let turns = shards.zip(&mut self.shard_messages);
                costs.time(turns.map(|(shard, message)| move || shard.process(window, message)));
            }
        }
        self.hand_over();
        let tallies = self.shard_messages.iter().map(|shard_message| shard_message.tally);
        tallies.fold(Tally::default(), |sum, one| sum + one)
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        let of_others = match &self.others {
            Others::Workers(workers) => super::worker::statuses(workers),
            Others::Leader(others, _) => others.iter().flat_map(Shard::statuses).collect(),
        };
        endpoint::in_order([self.own.statuses(), of_others].concat())
    }

    fn log(&mut self) -> &mut Log {
        let (first, others) = self.shard_messages.split_at_mut(1);
        for shard_message in others {
            first[0].log.events.append(&mut shard_message.log.events);
        }
        &mut first[0].log
    }
}

//! Threads that take a network's shards through time together, window by window.
//!
//! The thread that runs the engine leads: it says which window is next, takes the first shard through it, and waits for the
//! others. What shards send each other in a window arrives after it, so it is handed over between two windows. What a
//! shard does depends on nothing but what it was handed, so results are the same for any number of threads.

use super::Tally;
use super::endpoint::{Standing, Transport};
use super::log::Log;
use super::shard::Shard;
use super::wires::Outbox;
use crate::flow::Flow;
use crate::units::Time;
use crate::workload::Query;
use cpu_time::ThreadTime;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

/// How often a thread looks for what it waits for before it sleeps. A look takes some thirty nanoseconds, so that is as long as it
/// takes to be woken. It must sleep at some time, rather than let others run between its looks: whom the system wakes it puts
/// onto a processor that is idle, while two threads that never sleep can stay on one for hundreds of windows, as new ones begin.
const LOOKS: u32 = 2_000;

/// A window to be processed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) window: u64,
    pub(super) start: Time,
    pub(super) end: Time,
}

/// Packets by the other shard.
type Crossings<H> = Vec<Outbox<H>>;

/// What goes to a shard before a turn, and comes back from it after. The same basket goes to and fro, so that no turn
/// allocates.
#[derive(Debug)]
pub(super) struct Basket<H> {
    /// To the shard: flows that start.
    pub(super) flows: Vec<Flow>,
    /// To the shard: queries that one of its hosts sends, or expects.
    pub(super) queries: Vec<Query>,
    /// To the shard: packets by the shard that sent them. Back: packets by the shard that they go to.
    pub(super) crossings: Crossings<H>,
    /// Back: what its hosts told.
    pub(super) log: Log,
    /// Back: all that was done there so far.
    pub(super) tally: Tally,
    /// Back: the next window in which it has something to do, or what it sent.
    pub(super) next_window: Option<u64>,
}

impl<H> Basket<H> {
    fn new(shards: usize, next_window: Option<u64>) -> Basket<H> {
        let crossings = (0..shards).map(|_| Outbox::default()).collect();
        let (flows, queries) = (Vec::new(), Vec::new());
        let (log, tally) = (Log::default(), Tally::default());
        Basket { flows, queries, crossings, log, tally, next_window }
    }
}

/// What a worker is told to do.
enum Order<H> {
    /// To take its shard through a window.
    Turn(Turn, Basket<H>),
    /// To tell how its hosts' flows stand.
    Standings,
}

/// A thread with a shard of its own.
struct Worker<'scope, H> {
    orders: Sender<Order<H>>,
    done: Receiver<Basket<H>>,
    standings: Receiver<Vec<Standing>>,
    /// Ends when there are no more orders, with the processor time that it took.
    thread: ScopedJoinHandle<'scope, Duration>,
}

impl<H> Worker<'_, H> {
    fn order(&self, order: Order<H>) {
        assert!(self.orders.send(order).is_ok(), "a worker lives until its orders end");
    }
}

/// The leader's shard and the other threads.
pub(super) struct Crew<'scope, T: Transport> {
    own: &'scope mut Shard<T>,
    workers: Vec<Worker<'scope, T::Header>>,
    /// One for each shard, while it has no turn.
    baskets: Vec<Basket<T::Header>>,
}

impl<'scope, T: Transport + 'scope> Crew<'scope, T> {
    /// Starts a thread for each shard but the first.
    pub(super) fn new(scope: &'scope Scope<'scope, '_>, shards: &'scope mut [Shard<T>]) -> Crew<'scope, T> {
        let count = shards.len();
        let baskets = shards.iter().map(|shard| Basket::new(count, shard.next_window())).collect();
        let (own, others) = shards.split_first_mut().expect("at least one shard");
        let workers = others.iter_mut().map(|shard| hire(scope, shard)).collect();
        Crew { own, workers, baskets }
    }

    /// The next window in which any shard has something to do.
    pub(super) fn next_window(&self) -> Option<u64> {
        self.baskets.iter().filter_map(|basket| basket.next_window).min()
    }

    /// Hands a flow to its shard, which gets it with its next turn.
    pub(super) fn add_flow(&mut self, shard: u32, flow: Flow) {
        self.baskets[shard as usize].flows.push(flow);
    }

    /// Hands a query to the shard of the worker and to that of the host that asks.
    pub(super) fn add_query(&mut self, worker: u32, asks: u32, query: Query) {
        self.baskets[worker as usize].queries.push(query);
        if asks != worker {
            self.baskets[asks as usize].queries.push(query);
        }
    }

    /// Takes every shard through a window; returns what was done so far.
    pub(super) fn take_turn(&mut self, turn: Turn) -> Tally {
        let (first, others) = self.baskets.split_at_mut(1);
        for (worker, basket) in self.workers.iter().zip(&mut *others) {
            let basket = std::mem::replace(basket, Basket::new(0, None));
            worker.order(Order::Turn(turn, basket));
        }
        self.own.take_turn(turn, &mut first[0]);
        for (worker, basket) in self.workers.iter().zip(others) {
            *basket = receive(&worker.done).expect("a worker that did not panic answers");
        }
        self.hand_over();
        let tallies = self.baskets.iter().map(|basket| basket.tally);
        tallies.fold(Tally::default(), |sum, one| sum + one)
    }

    /// Puts what each shard sent where its receiver will find it.
    fn hand_over(&mut self) {
        for from in 0..self.baskets.len() {
            let (senders, receivers) = self.baskets.split_at_mut(from + 1);
            for (to, receiver) in (from + 1..).zip(receivers) {
                std::mem::swap(&mut senders[from].crossings[to], &mut receiver.crossings[from]);
            }
        }
    }

    /// How every unfinished flow stands, in order of identity.
    pub(super) fn standings(&self) -> Vec<Standing> {
        self.workers.iter().for_each(|worker| worker.order(Order::Standings));
        let mut standings = self.own.standings();
        for worker in &self.workers {
            standings.extend(receive(&worker.standings).expect("a worker that did not panic answers"));
        }
        standings.sort_unstable();
        standings
    }

    /// What all hosts told since it was last emptied, in the order of nodes.
    pub(super) fn log(&mut self) -> &mut Log {
        let (first, others) = self.baskets.split_at_mut(1);
        for basket in others {
            first[0].log.events.append(&mut basket.log.events);
        }
        &mut first[0].log
    }

    /// Lets the workers go; returns what was sent across shards in the last window, by the shards that it goes to, and
    /// the processor time that the workers took.
    pub(super) fn end(self) -> (Vec<Crossings<T::Header>>, Duration) {
        let took = self.workers.into_iter().map(|worker| {
            drop(worker.orders);
            worker.thread.join().expect("a worker that did not panic ends")
        });
        let took = took.sum();
        (self.baskets.into_iter().map(|basket| basket.crossings).collect(), took)
    }
}

fn hire<'scope, T: Transport>(
    scope: &'scope Scope<'scope, '_>,
    shard: &'scope mut Shard<T>,
) -> Worker<'scope, T::Header> {
    let (orders, next) = channel();
    let (report, done) = channel();
    let (tell, standings) = channel();
    let thread = scope.spawn(move || {
        let clock = ThreadTime::now();
        while let Some(order) = receive(&next) {
            let is_heard = match order {
                Order::Turn(turn, mut basket) => {
                    shard.take_turn(turn, &mut basket);
                    report.send(basket).is_ok()
                }
                Order::Standings => tell.send(shard.standings()).is_ok(),
            };
            if !is_heard {
                break;
            }
        }
        clock.elapsed()
    });
    Worker { orders, done, standings, thread }
}

/// Waits for a message, at first wide awake; `None` when there will be none.
fn receive<M>(from: &Receiver<M>) -> Option<M> {
    for _ in 0..LOOKS {
        if let Ok(message) = from.try_recv() {
            return Some(message);
        }
        std::hint::spin_loop();
    }
    from.recv().ok()
}

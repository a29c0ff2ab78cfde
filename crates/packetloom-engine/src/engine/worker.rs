//! The threads of a pool, and how it exchanges messages with them. Messages do not have the transport's type, so
//! channels and threads are compiled once and not for each transport.

use super::endpoint::FlowStatus;
use super::thread_pool::Window;
use crate::units::Time;
use cpu_time::ThreadTime;
use std::any::Any;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// How often a waiting thread polls before it sleeps. A poll takes some thirty nanoseconds, so polling lasts about
/// as long as a wake-up. A thread has to sleep rather than yield: the system wakes it on an idle processor, whereas
/// two threads that never sleep can share one processor for hundreds of windows. Tests run side by side, on more
/// threads than there are processors, and without optimisation a poll takes several times as long: they sleep at once.
const LOOKS: u32 = if cfg!(debug_assertions) { 10 } else { 2_000 };

/// What a thread works on.
pub(super) trait Job: Send {
    /// Processes a window with the message's contents, and puts the results into the message.
    fn process(&mut self, window: Window, shard_message: &mut dyn Any);

    /// The status of its unfinished flows, in no order.
    fn statuses(&self) -> Vec<FlowStatus>;
}

/// A message that a worker gets and returns, so that no window allocates.
type ShardMessage = Box<dyn Any + Send>;

/// What a worker has to do.
enum Order {
    /// To take its shard through a window.
    Window(Window, ShardMessage),
    /// To report the status of its hosts' flows.
    Statuses,
}

/// A thread with a job of its own.
pub(super) struct Worker<'scope> {
    orders: Sender<Order>,
    done: Receiver<ShardMessage>,
    statuses: Receiver<Vec<FlowStatus>>,
    /// Ends when there are no more orders, with the processor time that it took.
    thread: ScopedJoinHandle<'scope, Duration>,
}

impl Worker<'_> {
    pub(super) fn begin(&self, window: Window, shard_message: ShardMessage) {
        self.order(Order::Window(window, shard_message));
    }

    /// Waits for the message of the window that was begun.
    pub(super) fn finish(&self) -> ShardMessage {
        receive(&self.done).expect("a worker that did not panic answers")
    }

    fn order(&self, order: Order) {
        assert!(self.orders.send(order).is_ok(), "a worker lives until its orders end");
    }

    /// Ends it; returns the processor time that it took.
    pub(super) fn end(self) -> Duration {
        drop(self.orders);
        self.thread.join().expect("a worker that did not panic ends")
    }
}

/// The status of the workers' unfinished flows, in no order.
pub(super) fn statuses(workers: &[Worker<'_>]) -> Vec<FlowStatus> {
    workers.iter().for_each(|worker| worker.order(Order::Statuses));
    let answers = workers.iter().map(|worker| receive(&worker.statuses));
    answers.flat_map(|answer| answer.expect("a worker that did not panic answers")).collect()
}

/// Starts a thread for a job.
pub(super) fn hire<'scope>(scope: &'scope Scope<'scope, '_>, job: &'scope mut dyn Job) -> Worker<'scope> {
    let (orders, next) = channel();
    let (report, done) = channel();
    let (answer, statuses) = channel();
    let thread = scope.spawn(move || {
        let clock = ThreadTime::now();
        while let Some(order) = receive(&next) {
            let is_received = match order {
                Order::Window(window, mut shard_message) => {
                    job.process(window, &mut *shard_message);
                    report.send(shard_message).is_ok()
                }
                Order::Statuses => answer.send(job.statuses()).is_ok(),
            };
            if !is_received {
                break;
            }
        }
        clock.elapsed()
    });
    Worker { orders, done, statuses, thread }
}

/// What it takes the leader to meet other threads after a window.
#[derive(Clone, Copy, Debug)]
pub struct Meeting {
    /// With one other thread: from its order to its answer, if it does nothing.
    pub with_one: Duration,
    /// For each thread more: to write an order and to read an answer that is there.
    pub for_each_more: Duration,
}

/// Measures meetings, in the mean.
pub fn meeting() -> Meeting {
    /// Does nothing.
    struct Idle;

    impl Job for Idle {
        fn process(&mut self, _: Window, _: &mut dyn Any) {}

        fn statuses(&self) -> Vec<FlowStatus> {
            Vec::new()
        }
    }

    const TIMES: u32 = 20_000;
    let window = Window { number: 0, start: Time::ZERO, end: Time::ZERO };
    let mut idle = Idle;
    let with_one = std::thread::scope(|scope| {
        let worker = hire(scope, &mut idle);
        let mut message: ShardMessage = Box::new(());
        let clock = Instant::now();
        for _ in 0..TIMES {
            worker.begin(window, message);
            message = worker.finish();
        }
        let took = clock.elapsed();
        worker.end();
        took / TIMES
    });
    let (orders, next) = channel();
    let clock = Instant::now();
    for _ in 0..TIMES {
        // One channel stands for both ways.
        for _ in 0..2 {
            assert!(orders.send(Order::Window(window, Box::new(()))).is_ok(), "it is read below");
            receive(&next);
        }
    }
    Meeting { with_one, for_each_more: clock.elapsed() / TIMES }
}

/// Waits for a message, at first by polling; `None` when there will be none.
fn receive<M>(from: &Receiver<M>) -> Option<M> {
    for _ in 0..LOOKS {
        if let Ok(message) = from.try_recv() {
            return Some(message);
        }
        std::hint::spin_loop();
    }
    from.recv().ok()
}

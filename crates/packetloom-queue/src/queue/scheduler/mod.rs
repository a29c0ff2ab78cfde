//! Which packet a port sends next.
//!
//! A scheduler holds packets in queues of its own: one, one for each class, or one for each flow. An AQM has a state
//! for each of them.

mod dual_queue;
mod dwrr;
mod fair_queueing;
mod fifo;
mod pfabric;
mod strict;
mod weighted_fair;

pub use dual_queue::{CLASSIC, L4S};

use super::flow_control::Gates;
use super::{Buffer, Env, Occupancy, Traits};
use crate::narrow::exact;
use crate::packets::{PacketId, Packets};
use crate::spec::{self, Complaint, Component, Registered, Values};

/// What was dropped to make room.
#[derive(Clone, Copy, Debug)]
pub struct Evicted {
    /// Of which queue.
    pub queue: usize,
    /// How many packets.
    pub packets: u32,
}

/// Holds packets in queues, and chooses among them; in a single queue unless it says otherwise.
pub trait Scheduler {
    /// The queue that a packet is to join; with it there may be one more than before.
    fn queue_for<H: Copy + Default>(&mut self, _id: PacketId, _packets: &Packets<H>) -> usize {
        0
    }

    /// How much waits in a queue, as far as its AQM goes by that.
    fn queued_in(&self, _queue: usize) -> Occupancy {
        self.queued()
    }

    /// The packet that a queue sends next, which an AQM or flow control may ask where queues are numbered ([`queues`]).
    fn first<H: Copy + Default>(&self, _queue: usize, _packets: &Packets<H>) -> Option<PacketId> {
        None
    }

    /// What waits in all.
    fn queued(&self) -> Occupancy;

    /// Takes a packet into its queue.
    fn join<H: Copy + Default>(&mut self, id: PacketId, queue: usize, packets: &mut Packets<H>);

    /// The queue to send from, of those that may, if anything waits there. It is the same until its packet was sent, or
    /// it had none, or others may send. Some are closed only where queues are classes, or there is one.
    fn next<H: Copy + Default>(&mut self, gates: Gates, _packets: &Packets<H>) -> Option<usize> {
        (self.queued().packets > 0 && gates.is_open(0)).then_some(0)
    }

    /// Takes the packet out that a queue sends next, if it has one.
    fn pop<H: Copy + Default>(&mut self, queue: usize, env: &mut Env<'_, H>) -> Option<PacketId>;

    /// A packet of the queue is sent.
    fn sent(&mut self, _queue: usize, _size_bytes: u16) {}

    /// The queue was to send, and had no packet (left).
    fn emptied(&mut self, _queue: usize) {}

    /// Drops what is to go first where there is no room, be it what came last. Where it is always that
    /// (`Making::evicts`), the packet does not join.
    fn evict<H: Copy + Default>(&mut self, _env: &mut Env<'_, H>) -> Option<Evicted> {
        None
    }

    /// Whether it need not be asked for a packet where none waits, to learn that its queues are empty.
    fn is_settled(&self) -> bool {
        true
    }

    /// All packets, in any order.
    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> Box<dyn Iterator<Item = PacketId> + 'a>;

    /// Reports the bytes of each class, where queues are classes.
    fn classes(&self, _tell: &mut dyn FnMut(usize, u64)) {}
}

/// How a scheduler is made of a scenario's values, and what others must know of it.
#[derive(Clone, Copy, Debug)]
pub struct Making {
    /// Builds it, empty.
    build: fn(&Values) -> AnyScheduler,
    /// What holds of the order in which it sends.
    traits: Traits,
    /// How many traffic classes it distinguishes, if it does.
    classes: fn(&Values) -> Option<u64>,
    /// Whether it goes by the weights in packets.
    weighs: bool,
    /// How many levels of strict priority it has.
    levels: fn(&Values) -> u64,
    /// Whether departures are known on arrival.
    is_fifo: bool,
    /// Whether it drops others in favour of what comes.
    evicts: bool,
    /// Whether it has the two queues of RFC 9332, which an AQM may couple.
    is_dual: bool,
    /// Without an AQM and in a buffer of so many bytes, the queue that is the same and faster, if there is one.
    alone: fn(&Values, u64) -> Option<Buffer>,
}

impl Making {
    /// A scheduler that drops none for others.
    const fn new(build: fn(&Values) -> AnyScheduler, traits: Traits) -> Making {
        Making {
            build,
            traits,
            classes: |_| None,
            weighs: false,
            levels: |_| 1,
            is_fifo: false,
            evicts: false,
            is_dual: false,
            alone: |_, _| None,
        }
    }

    fn of(values: &Values) -> Making {
        spec::factory(SCHEDULERS, &values.kind)
    }
}

/// The schedulers. A line has the scheduler, and the components that a scenario can name which are made of it.
macro_rules! schedulers {
    ($($name:ident($type:ty) = [$($made:path),*],)*) => {
        const SCHEDULERS: &[Registered<Making>] = &[$($($made,)*)*];

        /// Any scheduler.
        #[derive(Clone, Debug)]
        #[allow(missing_docs)]
        pub enum AnyScheduler {
            $($name($type)),*
        }

        impl Scheduler for AnyScheduler {
            fn queue_for<H: Copy + Default>(&mut self, id: PacketId, packets: &Packets<H>) -> usize {
                match self {
                    $(AnyScheduler::$name(scheduler) => scheduler.queue_for(id, packets)),*
                }
            }

            fn queued_in(&self, queue: usize) -> Occupancy {
                match self {
                    $(AnyScheduler::$name(scheduler) => scheduler.queued_in(queue)),*
                }
            }

            fn first<H: Copy + Default>(&self, queue: usize, packets: &Packets<H>) -> Option<PacketId> {
                match self {
                    $(AnyScheduler::$name(scheduler) => scheduler.first(queue, packets)),*
                }
            }

            fn queued(&self) -> Occupancy {
                match self {
                    $(AnyScheduler::$name(scheduler) => scheduler.queued()),*
                }
            }

            fn join<H: Copy + Default>(&mut self, id: PacketId, queue: usize, packets: &mut Packets<H>) {
                match self {
                    $(AnyScheduler::$name(scheduler) => scheduler.join(id, queue, packets)),*
                }
            }

            fn next<H: Copy + Default>(&mut self, gates: Gates, packets: &Packets<H>) -> Option<usize> {
                match self {
                    $(AnyScheduler::$name(scheduler) => scheduler.next(gates, packets)),*
                }
            }

            fn pop<H: Copy + Default>(&mut self, queue: usize, env: &mut Env<'_, H>) -> Option<PacketId> {
                match self {
                    $(AnyScheduler::$name(scheduler) => scheduler.pop(queue, env)),*
                }
            }

            fn sent(&mut self, queue: usize, size_bytes: u16) {
                match self {
                    $(AnyScheduler::$name(scheduler) => scheduler.sent(queue, size_bytes)),*
                }
            }

            fn emptied(&mut self, queue: usize) {
                match self {
                    $(AnyScheduler::$name(scheduler) => scheduler.emptied(queue)),*
                }
            }

            fn evict<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<Evicted> {
                match self {
                    $(AnyScheduler::$name(scheduler) => scheduler.evict(env)),*
                }
            }

            fn is_settled(&self) -> bool {
                match self {
                    $(AnyScheduler::$name(scheduler) => scheduler.is_settled()),*
                }
            }

            fn packets<'a, H: Copy + Default>(
                &'a self,
                packets: &'a Packets<H>,
            ) -> Box<dyn Iterator<Item = PacketId> + 'a> {
                match self {
                    $(AnyScheduler::$name(scheduler) => scheduler.packets(packets)),*
                }
            }

            fn classes(&self, tell: &mut dyn FnMut(usize, u64)) {
                match self {
                    $(AnyScheduler::$name(scheduler) => scheduler.classes(tell)),*
                }
            }
        }
    };
}

schedulers! {
    Fifo(fifo::Fifo) = [fifo::SCHEDULER],
    Strict(strict::Strict) = [strict::SCHEDULER],
    Dwrr(dwrr::Dwrr) = [dwrr::SCHEDULER],
    DualQueue(dual_queue::DualQueue) = [dual_queue::SCHEDULER],
    FairQueueing(fair_queueing::FairQueueing) = [fair_queueing::SCHEDULER],
    PFabric(crate::queue::PFabric) = [pfabric::SCHEDULER],
    WeightedFair(Box<crate::queue::WeightedFair>) = [weighted_fair::SCHEDULER],
}

/// Every component of the section "scheduler".
pub const COMPONENTS: &[Component] = &spec::components::<_, { SCHEDULERS.len() }>(SCHEDULERS);

impl AnyScheduler {
    /// The scheduler that a scenario's values specify, empty.
    pub fn build(values: &Values) -> AnyScheduler {
        (Making::of(values).build)(values)
    }
}

/// What holds of the order in which a scheduler sends.
pub fn traits(values: &Values) -> Traits {
    Making::of(values).traits
}

/// How many traffic classes a scheduler distinguishes, if it does.
pub fn classes(values: &Values) -> Option<u64> {
    (Making::of(values).classes)(values)
}

/// How many queues a scheduler has; `None`: a queue for each flow, or a heap.
pub fn queues(values: &Values) -> Option<usize> {
    let making = Making::of(values);
    match (making.classes)(values) {
        Some(classes) => Some(exact::<usize>(classes)),
        None if making.is_dual => Some(2),
        None => making.is_fifo.then_some(1),
    }
}

/// Whether a scheduler goes by the weights in packets.
pub fn weighs(values: &Values) -> bool {
    Making::of(values).weighs
}

/// Whether departures are known on arrival.
pub fn is_fifo(values: &Values) -> bool {
    Making::of(values).is_fifo
}

/// How many levels of strict priority a scheduler has.
pub fn levels(values: &Values) -> u64 {
    (Making::of(values).levels)(values)
}

/// Whether a scheduler drops others in favour of what comes.
pub fn evicts(values: &Values) -> bool {
    Making::of(values).evicts
}

/// Refuses a `quantum` below the smallest packet, or above 1 GB.
fn check_quantum(values: &Values) -> Result<(), Complaint> {
    if !(64..=1 << 30).contains(&values.bytes("quantum")) {
        return Err(Complaint::new("quantum", "write a size from 64B to 1GB"));
    }
    Ok(())
}

/// Whether a scheduler has the two queues of RFC 9332.
pub fn is_dual(values: &Values) -> bool {
    Making::of(values).is_dual
}

/// The queue that is the same as a scheduler without an AQM in a buffer of so many bytes, if there is one.
pub fn alone(values: &Values, capacity_bytes: u64) -> Option<Buffer> {
    (Making::of(values).alone)(values, capacity_bytes)
}

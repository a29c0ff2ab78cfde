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

    /// The packet that a queue sends next, which an AQM or flow control may ask where queues are numbered
    /// ([`Specification::queues`]).
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
    /// ([`Specification::evicts`]), the packet does not join.
    fn evict<H: Copy + Default>(&mut self, _env: &mut Env<'_, H>) -> Option<Evicted> {
        None
    }

    /// Whether it need not be asked for a packet where none waits, to learn that its queues are empty.
    fn is_settled(&self) -> bool {
        true
    }

    /// Whether any of so many queues has packets and may send.
    fn may_send(&self, gates: Gates, queues: usize) -> bool {
        (0..queues).any(|queue| gates.is_open(queue) && self.queued_in(queue).packets > 0)
    }

    /// All packets, in any order.
    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> Box<dyn Iterator<Item = PacketId> + 'a>;

    /// Without an AQM and in a buffer of so many bytes, the queue that is the same and faster, if there is one.
    fn alone(&self, _capacity_bytes: u64) -> Option<Buffer> {
        None
    }

    /// Reports the bytes of each class, where queues are classes.
    fn classes(&self, _tell: &mut dyn FnMut(usize, u64)) {}
}

/// A scheduler as a scenario specifies it: one without packets, and what others must know of it.
#[derive(Clone, Debug)]
pub struct Specification {
    /// The scheduler, empty.
    pub empty: AnyScheduler,
    /// What holds of the order in which it sends.
    pub traits: Traits,
    /// How many traffic classes it distinguishes, if it does.
    pub classes: Option<u64>,
    /// How many queues it has; `None`: a queue for each flow, or a heap.
    pub queues: Option<usize>,
    /// Whether it goes by the weights in packets.
    pub weighs: bool,
    /// How many levels of strict priority it has.
    pub levels: u64,
    /// Whether departures are known on arrival.
    pub is_fifo: bool,
    /// Whether it drops others in favour of what comes.
    pub evicts: bool,
    /// Whether it has the two queues of RFC 9332, which an AQM may couple.
    pub is_dual: bool,
}

impl Specification {
    /// From a component that was read.
    pub fn of(values: &Values) -> Specification {
        spec::factory(SCHEDULERS, &values.kind)(values)
    }

    /// Of a scheduler that drops none for others.
    fn new(empty: AnyScheduler, traits: Traits) -> Specification {
        Specification {
            empty,
            traits,
            classes: None,
            queues: None,
            weighs: false,
            levels: 1,
            is_fifo: false,
            evicts: false,
            is_dual: false,
        }
    }

    /// The same with so many classes, each of which has a queue.
    fn with_classes(self, classes: u64) -> Specification {
        Specification { classes: Some(classes), queues: Some(exact::<usize>(classes)), ..self }
    }
}

/// How a scheduler is read.
type Read = fn(&Values) -> Specification;

/// The schedulers. A line has the scheduler, and the components that a scenario can name which are made of it.
macro_rules! schedulers {
    ($($name:ident($type:ty) = [$($made:path),*],)*) => {
        const SCHEDULERS: &[Registered<Read>] = &[$($($made,)*)*];

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

            fn may_send(&self, gates: Gates, queues: usize) -> bool {
                match self {
                    $(AnyScheduler::$name(scheduler) => scheduler.may_send(gates, queues)),*
                }
            }

            fn alone(&self, capacity_bytes: u64) -> Option<Buffer> {
                match self {
                    $(AnyScheduler::$name(scheduler) => scheduler.alone(capacity_bytes)),*
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

/// Refuses a `quantum` below the smallest packet, or above 1 GB.
fn check_quantum(values: &Values) -> Result<(), Complaint> {
    if !(64..=1 << 30).contains(&values.bytes("quantum")) {
        return Err(Complaint::new("quantum", "write a size from 64B to 1GB"));
    }
    Ok(())
}

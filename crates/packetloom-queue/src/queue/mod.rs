//! Switch queue disciplines.
//!
//! A [`Fifo`] never holds packets: as its departures are known on arrival, it only counts what waits. The others
//! hold packets in a [`Buffer`] and choose when the link is free.

mod admission;
mod aqm;
mod bfc;
mod booked;
mod cbfc;
mod classes;
mod credit_limiter;
mod daq;
mod egress;
mod env;
mod fair;
mod fifo;
mod flow_control;
mod held_fifo;
mod holds;
mod list;
mod loans;
mod pfabric;
mod python;
mod ring;
mod scheduler;
mod shared_buffer;
#[cfg(test)]
pub(crate) mod testing;
mod traits;
mod trimming;
mod weighted_fair;

pub use admission::{Admission, Pool, Verdict, never_reached};
pub use aqm::COMPONENTS as AQM_COMPONENTS;
pub use bfc::{
    Bfc, COUNTED, Counted, buffer_bytes as bfc_buffer_bytes, frame_bytes as bfc_frame_bytes, is_bfc,
    pause_every as bfc_pause_every,
};
pub use booked::{Booked, Opening};
pub use cbfc::{Cbfc, Charge, charge, short_of_credit, update_spacing};
pub use classes::Classes;
pub use credit_limiter::{CreditLimiter, credit_rate, packets_that_differ};
pub use daq::{Daq, class_of, threshold, without_loans};
pub use egress::{Abm, BUFFER_COMPONENTS, Egress};
pub use env::Env;
pub use fair::Fair;
pub use fifo::Fifo;
pub use flow_control::{
    CLASSES, COMPONENTS as FLOW_CONTROL_COMPONENTS, CONTROL, Pause, PauseRecord, PausedClasses,
    charged_class, departure,
};
pub use held_fifo::HeldFifo;
pub use holds::Holds;
pub use loans::Loans;
pub use pfabric::PFabric;
pub use python::{LAYOUTS, ROLE as PYTHON, symbols};
pub use scheduler::COMPONENTS as SCHEDULER_COMPONENTS;
pub use shared_buffer::{
    Headroom, LARGEST_BUFFER, Memory, SharedPort, Signals, check_host_limits, check_limits, interpolated,
    is_lossless, may_deadlock, pause_bytes, paused_classes, pauses, pauses_run_out, pfc, written_as,
};
pub use traits::Traits;
pub use trimming::Trimming;
pub use weighted_fair::WeightedFair;

use crate::link_message::LinkMessage;
use crate::packets::{PacketId, Packets};
use crate::spec::{self, Complaint, Component, Registered, Value, Values};
use crate::topology::Topology;
use crate::units::{Rate, Time};
use python::Ruled;

/// What the registry keeps of a queue beside its component: how it is built, and what others must know of it before
/// a packet comes. Each function takes the queue's values.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Builds it, empty.
    build: fn(&Values) -> Built,
    /// The most bytes that may wait, if packets have up to so many, the pool of its switch aside; `None`: any.
    most_bytes: fn(&Values, u64) -> Option<u64>,
    /// Whether how much it holds is part of what it does (which packets it drops, trims or pauses), so that another size
    /// would make another queue.
    is_sized_by_design: fn(&Values) -> bool,
    /// Whether it marks packets.
    marks: fn(&Values) -> bool,
    /// Whether it goes by the weights in packets.
    weighs: fn(&Values) -> bool,
    /// Whether it drops credits that call for more data than the link back carries.
    limits_credits: bool,
    /// Whether it drops data that no receiver has called for before all else.
    drops_unscheduled: fn(&Values) -> bool,
    /// The size to which it trims packets.
    trims_to_bytes: fn(&Values) -> Option<u64>,
    /// Whether headers that do not fit go back to their senders.
    returns_to_sender: fn(&Values) -> bool,
    /// How many traffic classes it distinguishes, if it does.
    classes: fn(&Values) -> Option<u64>,
    /// How many levels of strict priority it has.
    levels: fn(&Values) -> u64,
    /// What holds of it whatever comes.
    traits: fn(&Values) -> Traits,
    /// Whether of packets that reach its switch at one instant the one goes first that does in ns-3.
    ties_as_ns3: fn(&Values) -> bool,
    /// What must hold of it where full packets have so many bytes.
    check: fn(&Values, u64) -> Result<(), Complaint>,
}

impl Queue {
    /// A queue that holds any number of packets and changes none.
    const fn new(build: fn(&Values) -> Built) -> Queue {
        Queue {
            build,
            most_bytes: |_, _| None,
            is_sized_by_design: |_| false,
            marks: |_| false,
            weighs: |_| false,
            limits_credits: false,
            drops_unscheduled: |_| false,
            trims_to_bytes: |_| None,
            returns_to_sender: |_| false,
            classes: |_| None,
            levels: |_| 1,
            traits: |_| Traits::NONE,
            ties_as_ns3: |_| false,
            check: |_, _| Ok(()),
        }
    }

    fn of(values: &Values) -> Queue {
        spec::factory(QUEUES, &values.kind)
    }
}

/// What is built of a scenario's queue.
#[derive(Debug)]
pub enum Built {
    /// First in, first out: only admission has to be decided.
    Fifo(Admission),
    /// One that holds its packets.
    Held(Buffer),
}

impl Built {
    /// From a `queue` component that was read.
    pub fn of(values: &Values) -> Built {
        (Queue::of(values).build)(values)
    }
}

/// The rule of a queue that is first in, first out.
fn rule(values: &Values) -> Admission {
    match Built::of(values) {
        Built::Fifo(admission) => admission,
        Built::Held(_) => panic!("{:?} is more than a rule", values.kind),
    }
}

/// Whether a queue, or one inside it, marks packets.
pub fn marks(values: &Values) -> bool {
    (Queue::of(values).marks)(values)
}

/// What holds of a queue whatever comes.
pub fn traits(values: &Values) -> Traits {
    (Queue::of(values).traits)(values)
}

/// How many levels of strict priority a queue has.
pub fn levels(values: &Values) -> u64 {
    (Queue::of(values).levels)(values)
}

/// Whether a queue, or one inside it, goes by the weights in packets.
pub fn weighs(values: &Values) -> bool {
    (Queue::of(values).weighs)(values)
}

/// Whether a queue drops credits that call for more data than the link back carries.
pub fn limits_credits(values: &Values) -> bool {
    Queue::of(values).limits_credits
}

/// Whether a queue, or one inside it, drops data that no receiver has called for before all else.
pub fn drops_unscheduled(values: &Values) -> bool {
    (Queue::of(values).drops_unscheduled)(values)
}

/// The size to which a queue, or one inside it, trims packets.
pub fn trims_to_bytes(values: &Values) -> Option<u64> {
    (Queue::of(values).trims_to_bytes)(values)
}

/// Whether headers that do not fit into a queue, or one inside it, go back to their senders.
pub fn returns_to_sender(values: &Values) -> bool {
    (Queue::of(values).returns_to_sender)(values)
}

/// Whether of packets that reach a switch with this queue at one instant the one goes first that does in ns-3.
pub fn ties_as_ns3(values: &Values) -> bool {
    (Queue::of(values).ties_as_ns3)(values)
}

/// The size of the messages by which switches with a queue give credit, if they do.
pub fn credit_bytes(queue: &Values) -> Option<u64> {
    daq::credit_bytes(queue).or_else(|| cbfc::update_bytes(queue))
}

/// Hosts must take part in credits, and every link must have credit for a full packet, or it could never send one.
///
/// # Errors
/// Where that does not hold.
pub fn check_credits(
    queue: &Values,
    nic: &Values,
    topology: &Topology,
    full_packet_bytes: u64,
) -> Result<(), Complaint> {
    daq::check_credits(queue, nic, topology, full_packet_bytes)?;
    cbfc::check_nic(queue, nic)
}

/// How many traffic classes a queue distinguishes, if it does.
pub fn classes(values: &Values) -> Option<u64> {
    (Queue::of(values).classes)(values)
}

/// What must hold of a queue where full packets have so many bytes.
///
/// # Errors
/// Where one does not fit, or none could ever be marked.
pub fn check(values: &Values, packet_bytes: u64) -> Result<(), Complaint> {
    (Queue::of(values).check)(values, packet_bytes)
}

/// Whether a full packet fits into what a parameter allows.
fn has_room(values: &Values, key: &str, packet_bytes: u64) -> Result<(), Complaint> {
    if limit(values, key, packet_bytes).is_none_or(|bytes| bytes >= packet_bytes) {
        return Ok(());
    }
    let message =
        format!("has no room for a full packet, which has {packet_bytes} B; write {packet_bytes}B or more");
    Err(Complaint::new(key, message))
}

/// The queue of a host's port, where a scenario names none: the switches' own; but a host that trimmed what it sends
/// itself would lose its first window to no end, so where switches trim, a host has a queue that loses nothing.
pub fn default_nic(queue: &Values) -> Values {
    if trims_to_bytes(queue).is_none() && queue.kind != trimming::QUEUE.component.kind {
        return queue.clone();
    }
    Values { kind: fair::QUEUE.component.kind.to_owned(), ..Values::default() }
}

/// The most bytes that may wait at a port with this queue, if packets have up to `packet_bytes`, the pool of
/// its switch aside; `None`: there is no bound.
pub fn most_bytes(values: &Values, packet_bytes: u64) -> Option<u64> {
    (Queue::of(values).most_bytes)(values, packet_bytes)
}

/// Whether how much a queue holds is part of what it does.
pub fn is_sized_by_design(values: &Values) -> bool {
    (Queue::of(values).is_sized_by_design)(values)
}

/// The bytes that all ports of a switch share, where they share all that they have.
pub fn switch_bytes(values: &Values) -> Option<u64> {
    let by_pfc = || pfc(values).map(|pfc| pfc.bytes("buffer"));
    let by_queues = || if bfc::is_bfc(values) { bfc::buffer_bytes(values) } else { None };
    pool_bytes(values).or_else(by_pfc).or_else(by_queues)
}

/// What a parameter allows in bytes, if packets have `packet_bytes`; `None`: any number.
fn limit(values: &Values, key: &str, packet_bytes: u64) -> Option<u64> {
    match values.get(key) {
        Value::Bytes(bytes) => Some(*bytes),
        Value::Packets(packets) => Some(packets.saturating_mul(packet_bytes)),
        Value::Absent => None,
        other => panic!("{}.{key} is {other:?}", values.kind),
    }
}

/// The size of the pool that all ports of a switch share.
pub fn pool_bytes(values: &Values) -> Option<u64> {
    pool(values).map(|(bytes, _)| bytes)
}

/// The thresholds of a pool that goes by queues, for ports of these rates.
fn thresholds(values: &Values, rates: impl Iterator<Item = Rate>) -> Option<Abm> {
    let (buffer, scheduler) = (values.part("buffer")?, values.part("scheduler")?);
    Abm::build(&buffer, scheduler::queues(&scheduler)?, rates.collect())
}

/// The same, and how much of what is free a port may take.
fn pool(values: &Values) -> Option<(u64, f64)> {
    match values.entries.get("buffer") {
        Some(Value::Component(buffer)) => egress::pool(buffer),
        _ if values.entries.contains_key("pool") => {
            Some((values.optional_bytes("pool")?, values.number("pool_alpha")))
        }
        _ => None,
    }
}

/// What waits in a queue. The packet in service is not in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Wire bytes.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
}

impl Occupancy {
    /// Counts a packet that joins.
    #[inline]
    pub fn add(&mut self, size_bytes: u16) {
        self.bytes += u64::from(size_bytes);
        self.packets += 1;
    }

    /// Counts a packet that leaves.
    #[inline]
    pub fn remove(&mut self, size_bytes: u16) {
        self.bytes -= u64::from(size_bytes);
        self.packets -= 1;
    }
}

impl std::ops::Add for Occupancy {
    type Output = Occupancy;

    #[inline]
    fn add(self, other: Occupancy) -> Occupancy {
        Occupancy { bytes: self.bytes + other.bytes, packets: self.packets + other.packets }
    }
}

/// What queues did with packets beside sending them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets trimmed.
    pub trims: u64,
    /// Headers of packets that go back to their senders.
    pub returns: u64,
}

/// Where a queue is.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Whether it is a switch's; else a host's.
    pub is_switch: bool,
    /// The rate of its link.
    pub rate: Rate,
    /// That of the hosts' links.
    pub host_rate: Rate,
    /// What the link adds to every packet.
    pub framing_bytes: u64,
    /// The round trip of a hop: twice its link's latency, and the time of a full packet.
    pub hop_rtt: Time,
    /// Whether each of its pauses is noted, if it has any.
    pub logs_pauses: bool,
    /// How many links lead to the far end of its link, if that is a switch.
    pub far_links: Option<u64>,
}

impl Site {
    /// Whether its link joins two switches.
    pub fn is_between_switches(&self) -> bool {
        self.is_switch && self.far_links.is_some()
    }
}

/// What left a queue whose switch notifies the links that packets came by.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// The link into the switch, as a number at the switch.
    pub from: u32,
    /// The class whose buffer has space again.
    pub class: u8,
    /// How much.
    pub bytes: u16,
}

/// What became of the place of a packet that was put into a buffer: in its stead another may be there by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// It waits.
    Waits,
    /// It goes before all else, and is to be put onto the link at once.
    Booked,
    /// It is empty, or another's: the packet, or another, was dropped.
    Dropped,
    /// It holds a header that is to go back to its sender.
    Returned,
}

/// The queues. A line has a discipline that holds packets, and the kinds that a scenario can name which are built of
/// it.
macro_rules! queues {
    ($($name:ident($type:ty) = [$($queue:path),*],)*) => {
        const QUEUES: &[Registered<Queue>] = &[$($($queue,)*)*];

        /// A discipline that holds its packets and chooses the next when the link is free; see [`Holds`].
        ///
        /// Its tag is a byte of its own: one that hides in a field costs more to read than what it saves.
        #[derive(Clone, Debug)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Buffer {
            $($name($type)),*
        }

        impl Holds for Buffer {
            #[inline(always)]
            fn put<H: Copy + Default>(&mut self, id: PacketId, opening: Option<Opening>, env: &mut Env<'_, H>) -> Joined {
                match self {
                    $(Buffer::$name(queue) => queue.put(id, opening, &mut env.lent())),*
                }
            }

            #[inline(always)]
            fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
                match self {
                    $(Buffer::$name(queue) => queue.take(&mut env.lent())),*
                }
            }

            fn packets<'a, H: Copy + Default>(
                &'a self,
                packets: &'a Packets<H>,
            ) -> impl Iterator<Item = PacketId> + 'a {
                let all: Box<dyn Iterator<Item = PacketId> + 'a> = match self {
                    $(Buffer::$name(queue) => Box::new(queue.packets(packets))),*
                };
                all
            }

            #[inline]
            fn queued(&self) -> Occupancy {
                match self {
                    $(Buffer::$name(queue) => queue.queued()),*
                }
            }

            #[inline]
            fn unbooked(&self) -> Occupancy {
                match self {
                    $(Buffer::$name(queue) => queue.unbooked()),*
                }
            }

            #[inline]
            fn booked(&self) -> Booked {
                match self {
                    $(Buffer::$name(queue) => queue.booked()),*
                }
            }

            #[inline]
            fn is_ready(&self) -> bool {
                match self {
                    $(Buffer::$name(queue) => queue.is_ready()),*
                }
            }

            #[inline]
            fn prefetch<H: Copy + Default>(&self, packets: &Packets<H>) {
                match self {
                    $(Buffer::$name(queue) => queue.prefetch(packets)),*
                }
            }

            fn classes(&self, visit: impl FnMut(usize, u64, Option<u64>)) {
                match self {
                    $(Buffer::$name(queue) => queue.classes(visit)),*
                }
            }

            fn queues(&self, tell: &mut dyn FnMut(usize, u64, u64)) {
                match self {
                    $(Buffer::$name(queue) => queue.queues(tell)),*
                }
            }

            fn queue_of<H: Copy + Default>(&mut self, id: PacketId, packets: &Packets<H>) -> (usize, Occupancy) {
                match self {
                    $(Buffer::$name(queue) => queue.queue_of(id, packets)),*
                }
            }

            fn holds_back(&self) -> bool {
                match self {
                    $(Buffer::$name(queue) => queue.holds_back()),*
                }
            }

            fn place(&mut self, site: Site) {
                match self {
                    $(Buffer::$name(queue) => queue.place(site)),*
                }
            }

            fn evict<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> bool {
                match self {
                    $(Buffer::$name(queue) => queue.evict(env)),*
                }
            }

            fn evicts(&self) -> bool {
                match self {
                    $(Buffer::$name(queue) => queue.evicts()),*
                }
            }

            #[inline]
            fn paused(&self) -> Option<&PausedClasses> {
                match self {
                    $(Buffer::$name(queue) => queue.paused()),*
                }
            }

            #[inline]
            fn keeps_back(&self, class: u8) -> bool {
                match self {
                    $(Buffer::$name(queue) => queue.keeps_back(class)),*
                }
            }

            #[inline]
            fn lets_pass(&self, class: Option<u8>, was_just_taken: bool) -> bool {
                match self {
                    $(Buffer::$name(queue) => queue.lets_pass(class, was_just_taken)),*
                }
            }

            #[inline]
            fn lets_pass_unseen(&self, class: Option<u8>, was_just_taken: bool) -> bool {
                match self {
                    $(Buffer::$name(queue) => queue.lets_pass_unseen(class, was_just_taken)),*
                }
            }

            #[inline]
            fn sees_passing(&self) -> bool {
                match self {
                    $(Buffer::$name(queue) => queue.sees_passing()),*
                }
            }

            #[inline]
            fn pass<H: Copy + Default>(&mut self, id: PacketId, env: &mut Env<'_, H>) {
                match self {
                    $(Buffer::$name(queue) => queue.pass(id, &mut env.lent())),*
                }
            }

            #[inline]
            fn class_bytes(&self, class: u8) -> u64 {
                match self {
                    $(Buffer::$name(queue) => queue.class_bytes(class)),*
                }
            }

            fn give_up<H: Copy + Default>(&mut self, class: u8, env: &mut Env<'_, H>) -> Vec<PacketId> {
                match self {
                    $(Buffer::$name(queue) => queue.give_up(class, env)),*
                }
            }

            fn joins_first(&self) -> bool {
                match self {
                    $(Buffer::$name(queue) => queue.joins_first()),*
                }
            }

            fn receive_message(&mut self, now: Time, message: LinkMessage) {
                match self {
                    $(Buffer::$name(queue) => queue.receive_message(now, message)),*
                }
            }

            fn borrow(&mut self, bytes: u32) {
                match self {
                    $(Buffer::$name(queue) => queue.borrow(bytes)),*
                }
            }

            fn give_back(&mut self) -> Option<(LinkMessage, u16)> {
                match self {
                    $(Buffer::$name(queue) => queue.give_back()),*
                }
            }

            #[inline]
            fn departure(&self) -> Option<Departure> {
                match self {
                    $(Buffer::$name(queue) => queue.departure()),*
                }
            }
        }
    };
}

queues! {
    HeldFifo(HeldFifo) = [admission::DROP_TAIL, admission::ECN, admission::RED],
    PFabric(PFabric) = [pfabric::QUEUE],
    Classes(Box<Classes>) = [classes::QUEUE],
    Trimming(Trimming) = [trimming::QUEUE],
    Fair(Fair) = [fair::QUEUE],
    Daq(Box<Daq>) = [daq::QUEUE],
    Cbfc(Box<Cbfc>) = [cbfc::QUEUE],
    Shared(Box<SharedPort>) = [shared_buffer::QUEUE],
    Python(Box<Ruled>) = [python::QUEUE],
    WeightedFair(Box<WeightedFair>) = [weighted_fair::QUEUE],
    Egress(Box<Egress>) = [egress::QUEUE],
    CreditLimiter(Box<CreditLimiter>) = [credit_limiter::QUEUE],
    Bfc(Box<Bfc>) = [bfc::QUEUE],
}

/// The parameters of a kind of queue that may be set while a case runs: those of its marking.
pub fn settable(kind: &str) -> &'static [&'static str] {
    let of = |made: &Registered<Queue>| made.component.kind == kind;
    match kind {
        _ if of(&admission::ECN) => &["mark_above"],
        _ if of(&admission::RED) => &["min", "max", "max_probability"],
        _ if of(&shared_buffer::QUEUE) => &["ecn_min", "ecn_max", "ecn_probability"],
        _ => &[],
    }
}

/// Every component of the section "queue".
pub const COMPONENTS: &[Component] = &spec::components::<_, { QUEUES.len() }>(QUEUES);

impl Buffer {
    /// Marks from now on as another queue of the same kind does, of those whose marking may be set (see [`settable`]).
    pub fn mark_by(&mut self, other: &Buffer) {
        if let (Buffer::Shared(port), Buffer::Shared(other)) = (self, other) {
            port.mark_by(other);
        }
    }

    /// Admits and marks by another rule from now on, of one that goes by such a rule.
    pub fn admit_by(&mut self, admission: Admission) {
        if let Buffer::HeldFifo(fifo) = self {
            fifo.admit_by(admission);
        }
    }

    /// The buffer that a scenario's queue specifies.
    pub fn build(values: &Values) -> Buffer {
        match Built::of(values) {
            Built::Fifo(admission) => Buffer::HeldFifo(HeldFifo::new(admission)),
            Built::Held(buffer) => buffer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "nothing here is called nobodys")]
    fn a_queue_that_nobody_builds_does_not_become_another() {
        Built::of(&Values { kind: "nobodys".to_owned(), ..Values::default() });
    }
}

//! What the registry knows of each kind of queue, by a scenario's values: how it is built, and what others must know of
//! it before a packet comes.

use super::admission::Admission;
use super::buffer::{Buffer, QUEUES};
use super::egress::{self, Abm};
use super::shared_buffer::pfc;
use super::traits::Traits;
use super::{bfc, cbfc, daq, fair, scheduler, trimming};
use crate::spec::{self, Complaint, Value, Values};
use crate::topology::Topology;
use crate::units::Rate;

/// What the registry keeps of a queue beside its component: how it is built, and what others must know of it before
/// a packet comes. Each function takes the queue's values.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Builds it, empty.
    pub(super) build: fn(&Values) -> Built,
    /// The most bytes that may wait, if packets have up to so many, the pool of its switch aside; `None`: any.
    pub(super) most_bytes: fn(&Values, u64) -> Option<u64>,
    /// Whether how much it holds is part of what it does (which packets it drops, trims or pauses), so that another size
    /// would make another queue.
    pub(super) is_sized_by_design: fn(&Values) -> bool,
    /// Whether it marks packets.
    pub(super) marks: fn(&Values) -> bool,
    /// Whether it goes by the weights in packets.
    pub(super) weighs: fn(&Values) -> bool,
    /// Whether it drops credits that call for more data than the link back carries.
    pub(super) limits_credits: bool,
    /// Whether it drops data that no receiver has called for before all else.
    pub(super) drops_unscheduled: fn(&Values) -> bool,
    /// The size to which it trims packets.
    pub(super) trims_to_bytes: fn(&Values) -> Option<u64>,
    /// Whether headers that do not fit go back to their senders.
    pub(super) returns_to_sender: fn(&Values) -> bool,
    /// How many traffic classes it distinguishes, if it does.
    pub(super) classes: fn(&Values) -> Option<u64>,
    /// How many levels of strict priority it has.
    pub(super) levels: fn(&Values) -> u64,
    /// What holds of it whatever comes.
    pub(super) traits: fn(&Values) -> Traits,
    /// Whether of packets that reach its switch at one instant the one goes first that does in ns-3.
    pub(super) ties_as_ns3: fn(&Values) -> bool,
    /// What must hold of it where full packets have so many bytes.
    pub(super) check: fn(&Values, u64) -> Result<(), Complaint>,
}

impl Queue {
    /// A queue that holds any number of packets and changes none.
    pub(super) const fn new(build: fn(&Values) -> Built) -> Queue {
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

    pub(super) fn of(values: &Values) -> Queue {
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
pub(super) fn rule(values: &Values) -> Admission {
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
pub(super) fn has_room(values: &Values, key: &str, packet_bytes: u64) -> Result<(), Complaint> {
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
pub(super) fn limit(values: &Values, key: &str, packet_bytes: u64) -> Option<u64> {
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
pub(super) fn thresholds(values: &Values, rates: impl Iterator<Item = Rate>) -> Option<Abm> {
    let (buffer, scheduler) = (values.part("buffer")?, values.part("scheduler")?);
    Abm::build(&buffer, scheduler::queues(&scheduler)?, rates.collect())
}

/// The same, and how much of what is free a port may take.
pub(super) fn pool(values: &Values) -> Option<(u64, f64)> {
    match values.entries.get("buffer") {
        Some(Value::Component(buffer)) => egress::pool(buffer),
        _ if values.entries.contains_key("pool") => {
            Some((values.optional_bytes("pool")?, values.number("pool_alpha")))
        }
        _ => None,
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

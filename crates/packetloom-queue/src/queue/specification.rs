//! A queue as a scenario specifies it, read once from its values. Whoever builds ports, checks a scenario or doubts it
//! asks here, and reads no value by its name.

use super::admission::{Admission, Limit};
use super::bfc;
use super::buffer::{Buffer, QUEUES};
use super::credit_limiter::Sizes;
use super::flow_control::credit::Credit;
use super::shared_buffer::{Pfc, Thresholds};
use super::traits::Traits;
use super::{PoolSettings, daq, fair, floodgate};
use crate::spec::{self, Complaint, Values};

/// How a kind of queue is read.
#[derive(Clone, Copy, Debug)]
pub struct Making {
    pub(super) read: fn(&Values) -> Specification,
    /// The parameters of its marking that may be set while a case runs.
    pub(super) settable: &'static [&'static str],
}

impl Making {
    /// Of a queue of which nothing may be set.
    pub(super) const fn new(read: fn(&Values) -> Specification) -> Making {
        Making { read, settable: &[] }
    }
}

/// An empty port.
#[derive(Clone, Debug)]
pub enum Built {
    /// First in, first out: only admission has to be decided.
    Fifo(Admission),
    /// One that holds its packets.
    Held(Buffer),
}

/// A queue that was read: an empty port of it, and what others must know of it before a packet comes.
#[derive(Clone, Debug)]
pub struct Specification {
    /// As it was written.
    pub(super) values: Values,
    /// `None`: of a class in Python that could not be loaded.
    pub(super) port: Option<Built>,
    /// What may wait at a port is the least of these, the pool of its switch aside; none: any amount.
    pub(super) bounds: Vec<Bound>,
    /// Where packets must fit in.
    pub(super) rooms: Vec<Room>,
    /// Whether how much it holds is part of what it does (which packets it drops, trims or pauses), so that another size
    /// would make another queue.
    pub is_sized_by_design: bool,
    /// Whether it marks packets.
    pub marks: bool,
    /// Whether it does once `ecn_min` and `ecn_max` are written.
    pub may_mark: bool,
    /// From where on it marks, by the rate of a port.
    pub(super) thresholds: Option<Thresholds>,
    /// The parameter that its capacity never lets act, if there is one, and what that means.
    pub never_reached: Option<(&'static str, String)>,
    /// Whether it goes by the weights in packets.
    pub weighs: bool,
    /// The packets that it is made for, if it drops credits that call for more data than the link back carries.
    pub limits_credits: Option<Sizes>,
    /// Whether it drops data that no receiver has called for before all else.
    pub drops_unscheduled: bool,
    /// The size to which it trims packets.
    pub trims_to_bytes: Option<u64>,
    /// Whether it is for switches alone: a host needs one that loses nothing.
    pub(super) is_for_switches: bool,
    /// Whether headers that do not fit go back to their senders.
    pub returns_to_sender: bool,
    /// How many traffic classes it distinguishes, if it does.
    pub classes: Option<u64>,
    /// How many levels of strict priority it has.
    pub levels: u64,
    /// What holds of it whatever comes.
    pub traits: Traits,
    /// Whether of packets that reach its switch at one instant the one goes first that does in ns-3.
    pub ties_as_ns3: bool,
    /// The pool that all ports of a switch share, if they do.
    pub pool: Option<PoolSettings>,
    /// What it says of a buffer that is charged to links, and of pauses, if it has such a buffer.
    pub pfc: Option<Pfc>,
    /// What it says of credit for lossless classes, if it needs that.
    pub credit: Option<Credit>,
    /// What it is set to, if it is DAQ's.
    pub daq: Option<daq::Settings>,
    /// What it is set to, if it has flows paused at the hop before.
    pub backpressure: Option<bfc::Settings>,
    /// What it is set to, if its switch has a window for each destination.
    pub windows: Option<floodgate::Settings>,
}

impl Specification {
    /// From a `queue` component that was read.
    pub fn of(values: &Values) -> Specification {
        (spec::factory(QUEUES, &values.kind).read)(values)
    }

    /// Of the queues of a scheme, that of its switches and that of its hosts, if it has any.
    pub fn of_scheme(scheme: &Values) -> Option<[Specification; 2]> {
        let queue = Specification::of(&scheme.optional_component("queue")?);
        let nic = scheme.optional_component("nic");
        let nic = nic.map_or_else(|| queue.default_nic(), |nic| Specification::of(&nic));
        Some([queue, nic])
    }

    /// Of a queue that holds any number of packets and changes none, with this port.
    pub(super) fn new(values: &Values, port: impl Into<Option<Built>>) -> Specification {
        Specification {
            values: values.clone(),
            port: port.into(),
            bounds: Vec::new(),
            rooms: Vec::new(),
            is_sized_by_design: false,
            marks: false,
            may_mark: false,
            thresholds: None,
            never_reached: None,
            weighs: false,
            limits_credits: None,
            drops_unscheduled: false,
            trims_to_bytes: None,
            is_for_switches: false,
            returns_to_sender: false,
            classes: None,
            levels: 1,
            traits: Traits::NONE,
            ties_as_ns3: false,
            pool: None,
            pfc: None,
            credit: None,
            daq: None,
            backpressure: None,
            windows: None,
        }
    }

    /// What it is called.
    pub fn kind(&self) -> &str {
        &self.values.kind
    }

    /// As it was written.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Its port, empty.
    pub fn build(&self) -> Built {
        self.port.clone().expect("it was loaded with the scenario")
    }

    /// The same, holding its packets.
    pub fn buffer(&self) -> Buffer {
        self.known_buffer().expect("it was loaded with the scenario")
    }

    /// The same, if it could be loaded.
    pub(super) fn known_buffer(&self) -> Option<Buffer> {
        self.port.clone().map(|port| match port {
            Built::Fifo(admission) => Buffer::held(admission),
            Built::Held(buffer) => buffer,
        })
    }

    /// The rule of one that is no more than a rule.
    pub(super) fn rule(&self) -> Admission {
        match self.build() {
            Built::Fifo(admission) => admission,
            Built::Held(_) => panic!("{:?} is more than a rule", self.kind()),
        }
    }

    /// A part of it: of all its sizes.
    #[must_use]
    pub fn part_of_sizes(&self, part: f64) -> Specification {
        Specification::of(&self.values.part_of_sizes(part))
    }

    /// The queue if nothing has to be set aside for the answers to queries.
    #[must_use]
    pub fn without_loans(self) -> Specification {
        if self.daq.is_some() { Specification::of(&daq::without_loans(&self.values)) } else { self }
    }

    /// The queue of a host's port, where a scenario names none: the switches' own; but a host that trimmed what it sends
    /// itself would lose its first window to no end, so where switches trim, a host has a queue that loses nothing.
    fn default_nic(&self) -> Specification {
        if self.trims_to_bytes.is_none() && !self.is_for_switches {
            return self.clone();
        }
        let kind = fair::QUEUE.component.kind.to_owned();
        Specification::of(&Values { kind, ..Values::default() })
    }

    /// The most bytes that may wait at a port with this queue, if packets have up to `packet_bytes`, the pool of
    /// its switch aside; `None`: there is no bound. [`u64::MAX`]: a class in Python decides.
    pub fn most_bytes(&self, packet_bytes: u64) -> Option<u64> {
        self.bounds.iter().map(|bound| bound.bytes_with(packet_bytes)).min()
    }

    /// The bytes that all ports of a switch share, where they share all that they have.
    pub fn switch_bytes(&self) -> Option<u64> {
        let by_pfc = || self.pfc.as_ref().map(Pfc::buffer_bytes);
        let by_queues = || self.backpressure.as_ref().and_then(|settings| settings.buffer_bytes);
        self.pool.as_ref().map(|pool| pool.size_bytes).or_else(by_pfc).or_else(by_queues)
    }

    /// Whether a scenario writes how much it holds as its `capacity`.
    pub fn has_capacity(&self) -> bool {
        self.rooms.iter().any(|room| room.key == "capacity")
    }

    /// The size of the messages by which switches with this queue give credit, if they do.
    pub fn credit_bytes(&self) -> Option<u64> {
        let of_daq = self.daq.as_ref().map(|settings| settings.credit_bytes);
        of_daq.or_else(|| self.credit.as_ref().map(|credit| credit.update_bytes))
    }

    /// The size of its pause frames, if links are charged for what they have in a buffer.
    pub fn pause_bytes(&self) -> Option<u64> {
        self.pfc.as_ref().map(|pfc| pfc.pauses.frame_bytes)
    }

    /// The classes that it pauses, a bit for each.
    pub fn paused_classes(&self) -> u8 {
        self.pfc.as_ref().map_or(0, |pfc| pfc.pauses.lossless)
    }

    /// Whether it has a class that it pauses.
    pub fn pauses(&self) -> bool {
        self.paused_classes() != 0
    }

    /// What must hold of it where full packets have so many bytes.
    ///
    /// # Errors
    /// Where one does not fit, or none could ever be marked.
    pub fn check(&self, packet_bytes: u64) -> Result<(), Complaint> {
        self.rooms.iter().try_for_each(|room| room.check(packet_bytes))?;
        self.credit.as_ref().map_or(Ok(()), |credit| credit.check_size(packet_bytes))
    }
}

/// So many bytes, and so many packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bound {
    bytes: u64,
    packets: u64,
}

impl Bound {
    /// One that nobody knows but what drops packets.
    pub(super) const ANY: Bound = Bound::bytes(u64::MAX);

    pub(super) const fn bytes(bytes: u64) -> Bound {
        Bound { bytes, packets: 0 }
    }

    /// What a limit allows, if it does not allow all.
    pub(super) fn of(limit: Limit) -> Option<Bound> {
        match limit {
            Limit::None => None,
            Limit::Bytes(bytes) => Some(Bound { bytes, packets: 0 }),
            Limit::Packets(packets) => Some(Bound { bytes: 0, packets }),
        }
    }

    pub(super) fn times(self, times: u64) -> Bound {
        let Bound { bytes, packets } = self;
        Bound { bytes: bytes.saturating_mul(times), packets: packets.saturating_mul(times) }
    }

    pub(super) fn and(self, other: Bound) -> Bound {
        Bound {
            bytes: self.bytes.saturating_add(other.bytes),
            packets: self.packets.saturating_add(other.packets),
        }
    }

    pub(super) fn and_packets(self, packets: u64) -> Bound {
        self.and(Bound { bytes: 0, packets })
    }

    fn bytes_with(self, packet_bytes: u64) -> u64 {
        self.bytes.saturating_add(self.packets.saturating_mul(packet_bytes))
    }
}

/// A place where packets wait, by the parameter that says how much may; and from what on something is done there.
#[derive(Clone, Debug)]
pub(super) struct Room {
    pub(super) key: String,
    most: Limit,
    thresholds: Vec<Threshold>,
}

/// From what on something is done with packets.
#[derive(Clone, Debug)]
pub(super) struct Threshold {
    pub(super) key: String,
    pub(super) above: Limit,
    /// Whether packets are marked then; else, some are dropped before the rest.
    pub(super) marks: bool,
}

impl Threshold {
    pub(super) fn marking(key: &str, above: Limit) -> Threshold {
        Threshold { key: key.to_owned(), above, marks: true }
    }

    pub(super) fn dropping(key: &str, above: Limit) -> Threshold {
        Threshold { key: key.to_owned(), above, marks: false }
    }

    /// The same of a part of the queue.
    pub(super) fn within(&self, part: &str) -> Threshold {
        Threshold { key: format!("{part}.{}", self.key), ..self.clone() }
    }

    /// It must be below the most that its room has.
    fn check(&self, room: &Room, packet_bytes: u64) -> Result<(), Complaint> {
        let both = self.above.bytes(packet_bytes).zip(room.most.bytes(packet_bytes));
        let Some((from, most)) = both.filter(|(from, most)| from >= most) else { return Ok(()) };
        let key = &room.key;
        let message = if self.marks {
            format!(
                "nothing is ever marked: that takes more than {from} B that wait, and {key} allows {most} B; write less \
                 than {most}B, or a larger {key}"
            )
        } else {
            format!(
                "nothing is ever dropped before the rest: that takes more than {from} B that wait, and there is room for \
                 {most} B; write less than {most}B, or more room"
            )
        };
        Err(Complaint::new(&self.key, message))
    }
}

impl Room {
    pub(super) fn new(key: &str, most: Limit, thresholds: Vec<Threshold>) -> Room {
        Room { key: key.to_owned(), most, thresholds }
    }

    /// The same of a part of the queue.
    pub(super) fn within(&self, part: &str) -> Room {
        let thresholds = self.thresholds.iter().map(|threshold| threshold.within(part)).collect();
        Room { key: format!("{part}.{}", self.key), thresholds, ..*self }
    }

    /// A full packet must fit, and thresholds be below what may wait.
    fn check(&self, packet_bytes: u64) -> Result<(), Complaint> {
        if self.most.bytes(packet_bytes).is_some_and(|bytes| bytes < packet_bytes) {
            let message = format!(
                "has no room for a full packet, which has {packet_bytes} B; write {packet_bytes}B or more"
            );
            return Err(Complaint::new(&self.key, message));
        }
        self.thresholds.iter().try_for_each(|threshold| threshold.check(self, packet_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "nothing here is called nobodys")]
    fn a_queue_that_nobody_builds_does_not_become_another() {
        Specification::of(&Values { kind: "nobodys".to_owned(), ..Values::default() });
    }
}

//! Which packets join a FIFO queue, and which are marked: drop-tail, ECN threshold, RED-style marking, shared
//! buffers.

use super::egress::{Abm, ByQueues};
use super::specification::{Bound, Making, Room, Threshold};
use super::{Built, Occupancy, Specification, Traits};
use crate::narrow::{narrow, saturated};
use crate::random::Stream;
use crate::spec::{Complaint, Component, Kind, Needs, Param, Registered, Value, Values, param};
use crate::units::Rate;

pub(super) const CAPACITY: Param = param! {
    "capacity": Kind::Buffer,
    "How much may wait, without the packet in service, in bytes or packets; left out: no limit.", "packetloom"
};
pub(super) const ADMITS: Param = param! {
    "admits" = WHAT_FITS: Kind::Choice(&[WHAT_FITS, UNTIL_FULL]),
    "Which packets join the queue. \"what-fits\": those that fit into the rest of the capacity. \"until-full\", with a capacity in bytes: any packet while less than the capacity waits, so that the last one may exceed it.",
    "packetloom; \"until-full\": ns-2's RED (red.cc)"
};
const POOL: Param = param! {
    "pool": Kind::Bytes,
    "A buffer that all ports of a switch share, instead of each having its own.",
    "Choudhury and Hahne, ToN 1998"
};
const POOL_ALPHA: Param = param! {
    "pool_alpha" = "1": Kind::Number(0.001, 1024.0),
    "With a pool: a port's queue may grow to this many times what is free in the pool (dynamic threshold).",
    "Choudhury and Hahne, ToN 1998: alpha = 1"; acts &[Needs::Set("pool")]
};

pub(super) const MARK_ABOVE: Param = param! {
    "mark_above" = "22.5KB": Kind::Buffer,
    "The marking threshold K: an arrival is marked when more than this waits before it.",
    "pFabric §3: 22.5 KB"
};
/// RED's thresholds.
pub(super) const RED_PARAMS: &[Param] = &[
    param! { "min" = "5KB": Kind::Bytes, "Below this nothing is marked.", "DCQCN §5: Kmin = 5 KB" },
    param! { "max" = "200KB": Kind::Bytes, "Above this everything is marked.", "DCQCN §5: Kmax = 200 KB" },
    param! {
        "max_probability" = "0.01": Kind::Number(0.0, 1.0),
        "The probability of a mark as the queue reaches max.", "DCQCN §5: Pmax = 1 %"
    },
];

const WHAT_FITS: &str = "what-fits";
const UNTIL_FULL: &str = "until-full";

/// Whether a packet joins while less than the capacity waits.
pub(super) fn admits_until_full(values: &Values) -> bool {
    values.meaning("admits", &[(WHAT_FITS, false), (UNTIL_FULL, true)])
}

/// A queue that is first in, first out, and marks from these thresholds on.
fn fifo(values: &Values, marking: Marking, thresholds: &[Threshold]) -> Specification {
    let admission = Admission::of(values, marking);
    let pool = values.optional_bytes("pool");
    let pool = pool.map(|size_bytes| PoolSettings::dynamic(size_bytes, values.number("pool_alpha")));
    let shared = pool.as_ref().map_or(Limit::None, |pool| Limit::Bytes(pool.size_bytes));
    let rooms = [("capacity", admission.capacity), ("pool", shared)];
    Specification {
        bounds: admission.bound().into_iter().collect(),
        rooms: rooms.map(|(key, most)| Room::new(key, most, thresholds.to_vec())).into(),
        traits: Traits::FIFO,
        pool,
        ..Specification::new(values, Built::Fifo(admission))
    }
}

pub(super) fn check_admits(values: &Values) -> Result<(), Complaint> {
    if admits_until_full(values) && !matches!(values.get("capacity"), Value::Bytes(_)) {
        let message = "\"until-full\" is another rule only where the capacity is in bytes; write such a capacity, or leave this out";
        return Err(Complaint::new("admits", message));
    }
    Ok(())
}

/// Plain FIFO.
pub const DROP_TAIL: Registered<Making> = Registered {
    component: Component {
        section: "queue",
        kind: "drop-tail",
        doc: "First in, first out; what does not fit is dropped.",
        source: "packetloom",
        params: &[&[CAPACITY, ADMITS, POOL, POOL_ALPHA]],
        check: check_admits,
    },
    factory: Making::new(|values| fifo(values, Marking::Never, &[])),
};

/// FIFO with DCTCP's marking.
pub const ECN: Registered<Making> = Registered {
    component: Component {
        section: "queue",
        kind: "ecn",
        doc: "Drop-tail that marks an ECN-capable packet when more than a threshold waits as it arrives.",
        source: "DCTCP, SIGCOMM 2010, §3.1",
        params: &[&[CAPACITY, ADMITS, POOL, POOL_ALPHA, MARK_ABOVE]],
        check: check_admits,
    },
    factory: Making {
        settable: &["mark_above"],
        ..Making::new(|values| {
            let above = Limit::of(values.get("mark_above"));
            let threshold = Threshold::marking("mark_above", above);
            Specification { marks: true, ..fifo(values, Marking::Above(above), &[threshold]) }
        })
    },
};

/// FIFO with probabilistic marking between two thresholds.
pub const RED: Registered<Making> = Registered {
    component: Component {
        section: "queue",
        kind: "red",
        doc: "Drop-tail that marks by the instantaneous queue: never below min, always above max, in between with a probability that rises linearly.",
        source: "Floyd and Jacobson, ToN 1993, on the instantaneous queue as DCQCN (SIGCOMM 2015, §3.1) has it",
        params: &[&[CAPACITY, ADMITS, POOL, POOL_ALPHA], RED_PARAMS],
        check: |values| {
            check_thresholds(values)?;
            check_admits(values)
        },
    },
    factory: Making { settable: &["min", "max", "max_probability"], ..Making::new(red) },
};

fn red(values: &Values) -> Specification {
    let (marking, max) = (between(values), values.bytes("max"));
    let capacity = Limit::of(values.get("capacity"));
    let never_reached = match capacity {
        Limit::Bytes(capacity) if max > capacity => Some((
            "max",
            format!(
                "{max} B are never reached, as the capacity is {capacity} B: not everything is ever marked"
            ),
        )),
        _ => None,
    };
    let has_room = capacity.bytes(1).is_none_or(|capacity| capacity > max);
    Specification {
        marks: values.number("max_probability") > 0.0 || has_room,
        never_reached,
        ..fifo(values, marking, &[Threshold::marking("min", Limit::Bytes(values.bytes("min")))])
    }
}

pub(super) fn between(values: &Values) -> Marking {
    Marking::between(values.bytes("min"), values.bytes("max"), values.number("max_probability"))
}

/// RED's thresholds must leave room between them.
pub(super) fn check_thresholds(values: &Values) -> Result<(), Complaint> {
    let is_room = values.bytes("min") < values.bytes("max");
    if is_room { Ok(()) } else { Err(Complaint::new("min", "min must be below max")) }
}

/// What a queue may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limit {
    None,
    Bytes(u64),
    Packets(u64),
}

impl Limit {
    pub(super) fn of(value: &Value) -> Limit {
        match value {
            Value::Bytes(bytes) => Limit::Bytes(*bytes),
            Value::Packets(packets) => Limit::Packets(*packets),
            Value::Absent => Limit::None,
            other => panic!("a buffer is {other:?}"),
        }
    }

    /// In bytes, if packets have so many; `None`: any number.
    pub(super) fn bytes(self, packet_bytes: u64) -> Option<u64> {
        match self {
            Limit::None => None,
            Limit::Bytes(bytes) => Some(bytes),
            Limit::Packets(packets) => Some(packets.saturating_mul(packet_bytes)),
        }
    }

    #[inline]
    pub(super) fn exceeded_by(self, queued: Occupancy) -> bool {
        match self {
            Limit::None => false,
            Limit::Bytes(most) => queued.bytes > most,
            Limit::Packets(most) => queued.packets > most,
        }
    }
}

/// When a packet is marked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Marking {
    Never,
    Above(Limit),
    /// The probability is out of 2^32 at `max`.
    Between {
        min: u64,
        max: u64,
        probability_q32: u64,
    },
}

impl Marking {
    /// Never up to `min`, always above `max`, in between with a probability that rises linearly to this.
    pub(super) fn between(min: u64, max: u64, probability: f64) -> Marking {
        Marking::Between { min, max, probability_q32: saturated::<u64>(probability * 4_294_967_296.0) }
    }

    /// The same at a port of another rate: thresholds in bytes or packets are in proportion.
    pub(super) fn at(self, rate: Rate, usual: Rate) -> Marking {
        let there = |amount: u64| in_proportion(amount, rate, usual);
        match self {
            Marking::Never | Marking::Above(Limit::None) => self,
            Marking::Above(Limit::Bytes(bytes)) => Marking::Above(Limit::Bytes(there(bytes))),
            Marking::Above(Limit::Packets(packets)) => Marking::Above(Limit::Packets(there(packets))),
            Marking::Between { min, max, probability_q32 } => {
                Marking::Between { min: there(min), max: there(max), probability_q32 }
            }
        }
    }

    /// Whether a packet is marked where so much waits.
    #[inline]
    pub(super) fn marks(self, queued: Occupancy, random: &mut Stream) -> bool {
        match self {
            Marking::Never => false,
            Marking::Above(threshold) => threshold.exceeded_by(queued),
            Marking::Between { min, max, probability_q32 } => {
                let above = queued.bytes.saturating_sub(min);
                if queued.bytes > max {
                    true
                } else {
                    above > 0 && (random.bits() >> 32) * (max - min) < above * probability_q32
                }
            }
        }
    }
}

/// What a threshold for ports of the usual rate is at one of another.
pub(super) fn in_proportion(amount: u64, rate: Rate, usual: Rate) -> u64 {
    narrow::<u64>(u128::from(amount) * u128::from(rate.as_bps()) / u128::from(usual.as_bps()))
}

/// What happens to an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does not fit.
    Drop,
    /// It joins.
    Accept,
    /// It joins and, if it can be, is marked.
    Mark,
}

/// What a scenario says of a buffer that all ports of a switch share.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolSettings {
    /// Its size.
    pub size_bytes: u64,
    /// How many times what is free of it a port may take.
    alpha: f64,
    /// The thresholds of queues, if it has any.
    by_queues: Option<ByQueues>,
}

impl PoolSettings {
    /// Under dynamic thresholds.
    pub(super) fn dynamic(size_bytes: u64, alpha: f64) -> PoolSettings {
        PoolSettings { size_bytes, alpha, by_queues: None }
    }

    /// With thresholds for queues.
    pub(super) fn by_queues(size_bytes: u64, by_queues: ByQueues) -> PoolSettings {
        PoolSettings { size_bytes, alpha: 1.0, by_queues: Some(by_queues) }
    }
}

/// A switch's shared buffer under dynamic thresholds (Choudhury and Hahne): a port may hold at most alpha times what is
/// free. Or the buffer has thresholds for each queue of a port (ABM).
#[derive(Clone, Debug)]
pub struct Pool {
    size_bytes: u64,
    alpha_q10: u64,
    /// What waits at all ports of the switch.
    pub used_bytes: u64,
    /// The thresholds of queues, if it has any.
    pub thresholds: Option<Box<Abm>>,
    /// The port that the next packet is to leave by, where there are such thresholds.
    pub port: u32,
}

impl Pool {
    /// The pool of a switch with ports of these rates.
    pub fn build(settings: &PoolSettings, rates: impl Iterator<Item = Rate>) -> Pool {
        let by_queues = settings.by_queues.as_ref();
        Pool {
            size_bytes: settings.size_bytes,
            alpha_q10: saturated::<u64>(settings.alpha * 1024.0),
            used_bytes: 0,
            thresholds: by_queues.map(|by_queues| Box::new(Abm::build(by_queues, rates.collect()))),
            port: 0,
        }
    }

    /// Whether a port with so much queued may take a packet in.
    pub fn admits(&self, queued: Occupancy, size_bytes: u16) -> bool {
        self.has_room(self.used_bytes, queued, size_bytes)
    }

    /// The same where so much of the pool is used.
    fn has_room(&self, used_bytes: u64, queued: Occupancy, size_bytes: u16) -> bool {
        let free = self.size_bytes - used_bytes;
        let size = u64::from(size_bytes);
        size <= free && (queued.bytes + size) << 10 <= free.saturating_mul(self.alpha_q10)
    }

    /// Whether a queue of the port with so much queued may take a packet in, where queues have thresholds.
    pub fn admits_to(&self, queue: usize, queued: Occupancy, size_bytes: u16) -> Option<bool> {
        let thresholds = self.thresholds.as_ref()?;
        let (free, size) = (self.size_bytes - self.used_bytes, u64::from(size_bytes));
        let most = thresholds.threshold(self.port, queue, free);
        Some(size <= free && (queued.bytes + size) as f64 <= most)
    }

    /// The same where the packet has joined meanwhile and others of its port may have gone; so much waited there when
    /// [`Pool::used_bytes`] was counted.
    pub fn allows(&self, counted: Occupancy, queued: Occupancy, size_bytes: u16) -> bool {
        let before = Occupancy { bytes: queued.bytes.saturating_sub(size_bytes.into()), packets: 0 };
        let used_bytes = self.used_bytes - counted.bytes + before.bytes;
        used_bytes <= self.size_bytes && self.has_room(used_bytes, before, size_bytes)
    }
}

/// The rule by which a FIFO queue admits and marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admission {
    capacity: Limit,
    /// Whether the capacity is compared with what waits before an arrival, not with the arrival beside it.
    until_full: bool,
    marking: Marking,
}

impl Admission {
    /// Every packet joins, none is marked.
    pub const UNLIMITED: Admission =
        Admission { capacity: Limit::None, until_full: false, marking: Marking::Never };

    /// What does not fit into a queue's `capacity` is dropped; what joins is marked so.
    pub(super) fn of(values: &Values, marking: Marking) -> Admission {
        Admission {
            capacity: Limit::of(values.get("capacity")),
            until_full: admits_until_full(values),
            marking,
        }
    }

    /// The same, and what joins is marked so.
    pub(super) fn marking(self, marking: Marking) -> Admission {
        Admission { marking, ..self }
    }

    /// The same, and nothing is marked.
    pub(super) fn without_marks(self) -> Admission {
        self.marking(Marking::Never)
    }

    /// What may wait, if not all may. A packet that joins while there is room may exceed it by all but a byte.
    pub(super) fn bound(self) -> Option<Bound> {
        match (self.capacity, self.until_full) {
            (Limit::Bytes(bytes), true) => Some(Bound::bytes(bytes.saturating_sub(1)).and_packets(1)),
            (capacity, _) => Bound::of(capacity),
        }
    }

    /// What it allows.
    pub(super) fn capacity(self) -> Limit {
        self.capacity
    }

    /// Whether more waits than may.
    pub(super) fn is_exceeded_by(&self, queued: Occupancy) -> bool {
        self.capacity.exceeded_by(queued)
    }

    /// Whether the rule looks at what is queued at all.
    pub fn looks(&self) -> bool {
        !matches!((self.capacity, self.marking), (Limit::None, Marking::Never))
    }

    /// What happens to an arrival when so much waits before it.
    #[inline]
    pub fn judge(&self, queued: Occupancy, size_bytes: u16, random: &mut Stream) -> Verdict {
        let mut counted = queued;
        counted.add(if self.until_full { 1 } else { size_bytes });
        if self.capacity.exceeded_by(counted) {
            Verdict::Drop
        } else if self.marking.marks(queued, random) {
            Verdict::Mark
        } else {
            Verdict::Accept
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn red(min: u64, max: u64, max_probability: f64) -> Admission {
        let entries = [
            ("capacity", Value::Absent),
            ("admits", Value::Text(WHAT_FITS.to_owned())),
            ("pool", Value::Absent),
            ("min", Value::Bytes(min)),
            ("max", Value::Bytes(max)),
            ("max_probability", Value::Number(max_probability)),
        ];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
        Specification::of(&Values { kind: "red".to_owned(), entries }).rule()
    }

    #[test]
    fn red_marks_in_proportion_to_the_queue() {
        let mut stream = Stream::new(1, Purpose::Queue, 0);
        let rule = red(10_000, 50_000, 0.2);
        let mut share = |bytes| {
            let queued = Occupancy { bytes, packets: bytes / 1_000 };
            let marks = |_: &u32| rule.judge(queued, 1_500, &mut stream) == Verdict::Mark;
            f64::from((0..100_000).filter(marks).count() as u32) / 1e5
        };
        assert_eq!((share(0), share(10_000)), (0.0, 0.0));
        assert_eq!(share(50_001), 1.0);
        for (bytes, expected) in [(20_000, 0.05), (30_000, 0.1), (50_000, 0.2)] {
            // Five standard deviations of 100 000 draws.
            let allowance = 5.0 * (expected * (1.0 - expected) / 1e5_f64).sqrt();
            let share = share(bytes);
            assert!((share - expected).abs() < allowance, "{bytes} B: {share}");
        }
    }

    #[test]
    fn a_limit_in_packets_counts_packets_and_one_in_bytes_bytes() {
        let mut stream = Stream::new(1, Purpose::Queue, 0);
        let queued = Occupancy { bytes: 4_500, packets: 3 };
        for (limit, size, expected) in [
            (Value::Packets(4), 9_000, Verdict::Accept),
            (Value::Packets(3), 40, Verdict::Drop),
            (Value::Bytes(6_000), 1_500, Verdict::Accept),
            (Value::Bytes(5_999), 1_500, Verdict::Drop),
            (Value::Absent, 9_000, Verdict::Accept),
        ] {
            let rule = drop_tail(limit.clone(), WHAT_FITS);
            assert_eq!(rule.judge(queued, size, &mut stream), expected, "{limit:?}, {size} B");
        }
    }

    fn drop_tail(capacity: Value, admits: &str) -> Admission {
        let admits = Value::Text(admits.to_owned());
        let entries = [("capacity", capacity), ("admits", admits), ("pool", Value::Absent)];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
        Specification::of(&Values { kind: "drop-tail".to_owned(), entries }).rule()
    }

    #[test]
    fn until_it_is_full_a_queue_takes_any_packet() {
        let mut stream = Stream::new(1, Purpose::Queue, 0);
        for (admits, bytes, size, expected) in [
            (UNTIL_FULL, 5_999, 9_000, Verdict::Accept),
            (UNTIL_FULL, 6_000, 40, Verdict::Drop),
            (WHAT_FITS, 5_999, 9_000, Verdict::Drop),
            (WHAT_FITS, 5_960, 40, Verdict::Accept),
        ] {
            let rule = drop_tail(Value::Bytes(6_000), admits);
            let queued = Occupancy { bytes, packets: 4 };
            assert_eq!(
                rule.judge(queued, size, &mut stream),
                expected,
                "{admits}, {size} B behind {bytes} B"
            );
        }
    }
}

//! Which packets join a FIFO queue, and which are marked: drop-tail, ECN threshold, RED-style marking, shared
//! buffers.

use super::{Abm, Built, Occupancy, Queue, Traits, has_room, limit};
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

/// A queue that is first in, first out.
const fn fifo(component: Component, queue: Queue) -> Registered<Queue> {
    let most_bytes = |values: &Values, packet| {
        let beyond = if admits_until_full(values) { packet - 1 } else { 0 };
        Some(limit(values, "capacity", packet)?.saturating_add(beyond))
    };
    Registered {
        component,
        factory: Queue { most_bytes, traits: |_| Traits::FIFO, check: check_room, ..queue },
    }
}

pub(super) fn check_admits(values: &Values) -> Result<(), Complaint> {
    if admits_until_full(values) && !matches!(values.get("capacity"), Value::Bytes(_)) {
        let message = "\"until-full\" is another rule only where the capacity is in bytes; write such a capacity, or leave this out";
        return Err(Complaint::new("admits", message));
    }
    Ok(())
}

fn check_room(values: &Values, packet_bytes: u64) -> Result<(), Complaint> {
    has_room(values, "capacity", packet_bytes)?;
    has_room(values, "pool", packet_bytes)?;
    let refused = |room| never_marks(values, limit(values, room, packet_bytes), room, packet_bytes);
    ["capacity", "pool"].into_iter().find_map(refused).map_or(Ok(()), Err)
}

/// What is wrong where the threshold from which on a rule marks is beyond the most that some room allows.
pub(super) fn never_marks(
    rule: &Values,
    most: Option<u64>,
    room: &str,
    packet_bytes: u64,
) -> Option<Complaint> {
    let marks_by_queue =
        |key: &&str| matches!(rule.entries.get(*key), Some(Value::Bytes(_) | Value::Packets(_)));
    let never = |key: &str| {
        let from = limit(rule, key, packet_bytes)?;
        let most = most.filter(|most| from >= *most)?;
        let message = format!(
            "nothing is ever marked: that takes more than {from} B that wait, and {room} allows {most} B; write less \
             than {most}B, or a larger {room}"
        );
        Some(Complaint::new(key, message))
    };
    ["mark_above", "min", "mark_between_switches"].into_iter().filter(marks_by_queue).find_map(never)
}

/// That a threshold above which some packets are dropped before others is below the most that there is room for.
pub(super) fn never_drops_first(
    rule: &Values,
    key: &str,
    most: Option<u64>,
    packet_bytes: u64,
) -> Result<(), Complaint> {
    let from = limit(rule, key, packet_bytes);
    let Some((from, most)) = from.zip(most).filter(|(from, most)| from >= most) else { return Ok(()) };
    let message = format!(
        "nothing is ever dropped before the rest: that takes more than {from} B that wait, and there is room for {most} B; \
         write less than {most}B, or more room"
    );
    Err(Complaint::new(key, message))
}

/// The parameter of RED that its queue is too short for, if one is, and what that means.
pub fn never_reached(values: &Values) -> Option<(&'static str, String)> {
    let (Value::Bytes(max), Value::Bytes(capacity)) = (values.entries.get("max")?, values.get("capacity"))
    else {
        return None;
    };
    let message =
        format!("{max} B are never reached, as the capacity is {capacity} B: not everything is ever marked");
    (max > capacity).then_some(("max", message))
}

/// Plain FIFO.
pub const DROP_TAIL: Registered<Queue> = fifo(
    Component {
        section: "queue",
        kind: "drop-tail",
        doc: "First in, first out; what does not fit is dropped.",
        source: "packetloom",
        params: &[&[CAPACITY, ADMITS, POOL, POOL_ALPHA]],
        check: check_admits,
    },
    Queue::new(|values| Built::Fifo(Admission::of(values, Marking::Never))),
);

/// FIFO with DCTCP's marking.
pub const ECN: Registered<Queue> = fifo(
    Component {
        section: "queue",
        kind: "ecn",
        doc: "Drop-tail that marks an ECN-capable packet when more than a threshold waits as it arrives.",
        source: "DCTCP, SIGCOMM 2010, §3.1",
        params: &[&[CAPACITY, ADMITS, POOL, POOL_ALPHA, MARK_ABOVE]],
        check: check_admits,
    },
    Queue {
        marks: |_| true,
        ..Queue::new(|values| {
            let above = Marking::Above(Limit::of(values.get("mark_above")));
            Built::Fifo(Admission::of(values, above))
        })
    },
);

/// FIFO with probabilistic marking between two thresholds.
pub const RED: Registered<Queue> = fifo(
    Component {
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
    Queue {
        marks: |values| {
            values.number("max_probability") > 0.0
                || limit(values, "capacity", 1).is_none_or(|capacity| capacity > values.bytes("max"))
        },
        ..Queue::new(|values| Built::Fifo(Admission::of(values, between(values))))
    },
);

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
    /// The pool that a queue's values specify, of ports of these rates.
    pub fn build(values: &Values, rates: impl Iterator<Item = Rate>) -> Option<Pool> {
        let (size_bytes, alpha) = super::pool(values)?;
        let thresholds = super::thresholds(values, rates).map(Box::new);
        Some(Pool {
            size_bytes,
            alpha_q10: saturated::<u64>(alpha * 1024.0),
            used_bytes: 0,
            thresholds,
            port: 0,
        })
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
#[derive(Clone, Copy, Debug)]
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

    /// The same, and nothing is marked.
    pub(super) fn without_marks(self) -> Admission {
        Admission { marking: Marking::Never, ..self }
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
            ("min", Value::Bytes(min)),
            ("max", Value::Bytes(max)),
            ("max_probability", Value::Number(max_probability)),
        ];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
        crate::queue::rule(&Values { kind: "red".to_owned(), entries })
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
        let entries = [("capacity".to_owned(), capacity), ("admits".to_owned(), admits)].into();
        crate::queue::rule(&Values { kind: "drop-tail".to_owned(), entries })
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

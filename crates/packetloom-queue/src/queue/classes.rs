//! Traffic classes with a discipline of its own in each: weighted (pFabric §2.5), or by strict priority.
//!
//! Surplus round robin (Adiseshu, Parulkar and Varghese, SIGCOMM 1996) shares the link by bytes: a class sends while
//! its balance is above zero, so which packet it sends is chosen only when the link is free.

use super::specification::{Making, Room};
use super::{
    Admission, Buffer, Built, Env, Holds, Joined, Occupancy, Opening, Site, Specification, Traits, Verdict,
};
use crate::narrow::{exact, narrow};
use crate::packets::{PacketId, Packets};
use crate::spec::{Complaint, Component, Kind, Needs, Registered, Value, Values, param};
use std::collections::VecDeque;

/// Added to a class's balance per turn and unit of weight: about one full packet, so that a turn is worth taking.
const QUANTUM_BYTES: i64 = 1_500;

/// As good as any more: a turn of so many packets does not end.
const MOST_WEIGHT: u64 = 1 << 48;

const EVERYWHERE: &str = "everywhere";
const BETWEEN_SWITCHES: &str = "between-switches";

const COMPONENT: Component = Component {
    section: "queue",
    kind: "classes",
    doc: "Traffic classes share the link by weight (surplus round robin), or the lowest always goes first; inside each, a queue of its own.",
    source: "pFabric §2.5",
    params: &[&[
        param! {
            "weights": Kind::List(&Kind::Count(1)),
            "One weight per class, in the order of the workloads' class numbers.", "packetloom"
        },
        param! {
            "strict": Kind::Count(1),
            "Instead of weights: this many classes, of which the one with the lowest number always goes first.",
            "IEEE 802.1Q §8.6.8.1: strict priority"
        },
        param! {
            "queue" = "pfabric": Kind::Component("queue"),
            "The discipline inside each class.",
            "pFabric §2.5: pFabric operates within individual traffic classes"
        },
        param! {
            "port": Kind::Component("queue"),
            "What the port as a whole may hold and when it marks, all classes counted: a \"drop-tail\", \"ecn\" or \"red\" without a pool; left out: each class has its own rule only.",
            "PIAS, NSDI 2015, §4.2: per-port ECN"
        },
        param! {
            "port_marks" = EVERYWHERE: Kind::Choice(&[EVERYWHERE, BETWEEN_SWITCHES]),
            "Where the rule of port marks: everywhere, or at ports from switch to switch alone.",
            "packetloom; \"between-switches\": SIRD (NSDI 2025), the authors' ns-2: r2p2_ecn_at_core"; acts &[Needs::Set("port")]
        },
        param! {
            "ties" = "any": Kind::Choice(&["any", "ns-3"]),
            "Which of several packets that reach a switch at the same instant goes first. That of a different link each time; or, to replay ns-3, the longest, and then that of the link whose last packet came longest ago.",
            "ns-3: events of the same time happen in the order in which they were scheduled"
        },
        param! {
            "ring" = "0": Kind::Count(0),
            "The ring of a network device below the classes: this many packets are taken from the classes ahead of the one in service, and wait there first in, first out. At most 64.",
            "ns-3: a device's own queue; Linux: a driver's transmit ring"
        },
    ]],
    check,
};

/// The queue.
pub const QUEUE: Registered<Making> = Registered { component: COMPONENT, factory: Making::new(read) };

fn read(values: &Values) -> Specification {
    let inner = Specification::of(&values.component("queue"));
    let port = values.optional_component("port").map(|port| Specification::of(&port));
    let strict = values.optional_count("strict");
    let weights: Vec<u64> = match strict {
        // Strict classes have none.
        Some(classes) => vec![0; exact::<usize>(classes)],
        None => values.list("weights").iter().map(Value::as_count).collect(),
    };
    let count = weights.len() as u64;
    let classes = |queue: Buffer| Classes {
        port: port.as_ref().map_or(Admission::UNLIMITED, Specification::rule),
        marks_between_switches: values.text("port_marks") == BETWEEN_SWITCHES,
        most_in_ring: exact::<usize>(values.count("ring")),
        ..Classes::new(&weights, strict.is_some(), &queue)
    };
    let built = inner.known_buffer().map(|queue| Built::Held(Buffer::Classes(Box::new(classes(queue)))));
    let of_port = || port.iter().flat_map(|port| port.bounds.iter().copied());
    let bounds = inner.bounds.iter().map(|bound| bound.times(count)).chain(of_port());
    let rooms_in = |part, queue: &Specification| queue.rooms.iter().map(|room| room.within(part)).collect();
    let rooms: Vec<Room> = rooms_in("queue", &inner);
    let of_port: Vec<Room> = port.as_ref().map_or_else(Vec::new, |port| rooms_in("port", port));
    Specification {
        bounds: bounds.map(|bound| bound.and_packets(values.count("ring"))).collect(),
        rooms: rooms.into_iter().chain(of_port).collect(),
        is_sized_by_design: port.as_ref().unwrap_or(&inner).is_sized_by_design,
        marks: inner.marks || port.as_ref().is_some_and(|port| port.marks),
        weighs: inner.weighs,
        drops_unscheduled: inner.drops_unscheduled,
        trims_to_bytes: inner.trims_to_bytes,
        returns_to_sender: inner.returns_to_sender,
        classes: Some(count),
        levels: strict.unwrap_or(1),
        traits: Traits { drops_early: inner.traits.drops_early, ..Traits::CLASSES },
        ties_as_ns3: values.text("ties") == "ns-3",
        ..Specification::new(values, built)
    }
}

/// More than that is no ring but another queue.
const MOST_IN_RING: u64 = 64;

/// More classes than a packet's field can number.
pub(super) const MOST_CLASSES: u64 = u64::BITS as u64 * WORDS as u64;

fn check(values: &Values) -> Result<(), Complaint> {
    let weights = values.optional_list("weights").map(|weights| weights.len() as u64);
    let (key, classes) = match (weights, values.optional_count("strict")) {
        (Some(classes), None) => ("weights", classes),
        (None, Some(classes)) => ("strict", classes),
        (None, None) => {
            let message = "is missing; write a weight per class, or strict = 8 for classes by priority";
            return Err(Complaint::new("weights", message));
        }
        (Some(_), Some(_)) => {
            let message = "classes are served by weights or strictly; leave one of the two out";
            return Err(Complaint::new("strict", message));
        }
    };
    if !(1..=MOST_CLASSES).contains(&classes) {
        return Err(Complaint::new(key, format!("{classes} classes; there may be 1 to {MOST_CLASSES}")));
    }
    if values.count("ring") > MOST_IN_RING {
        return Err(Complaint::new("ring", format!("write {MOST_IN_RING} at most")));
    }
    if values.component("queue").kind == "classes" {
        return Err(Complaint::new("queue", "classes can't be nested; write another queue"));
    }
    if values.optional_component("port").is_some_and(|port| !is_rule(&port)) {
        let message =
            "is a rule for all classes together; write \"drop-tail\", \"ecn\" or \"red\", without a pool";
        return Err(Complaint::new("port", message));
    }
    Ok(())
}

/// Whether a queue says only what is admitted and marked.
fn is_rule(queue: &Values) -> bool {
    queue.entries.contains_key("pool") && queue.optional_bytes("pool").is_none()
}

#[derive(Clone, Debug)]
struct Class {
    quantum_bytes: i64,
    balance_bytes: i64,
    /// What waits in its buffer, kept here so that the other classes' buffers are not looked at.
    queued: Occupancy,
    buffer: Buffer,
}

/// A word has a bit for each of so many classes; there are so many words.
const WORD: usize = u64::BITS as usize;
const WORDS: usize = 4;

/// The classes of a port.
#[derive(Clone, Debug)]
pub struct Classes {
    classes: Vec<Class>,
    /// The classes in which anything waits, a bit for each.
    waiting: [u64; WORDS],
    is_strict: bool,
    /// The rule for all classes together, and whether it marks between switches alone.
    port: Admission,
    marks_between_switches: bool,
    turn: usize,
    /// Whether the class whose turn it is has had its quantum.
    served: bool,
    queued: Occupancy,
    /// What was taken ahead, and how much may be.
    ring: VecDeque<PacketId>,
    most_in_ring: usize,
}

impl Classes {
    /// Empty classes of these weights, each with a queue such as this one.
    fn new(weights: &[u64], is_strict: bool, queue: &Buffer) -> Classes {
        let class = |weight: &u64| Class {
            quantum_bytes: narrow::<i64>((*weight).min(MOST_WEIGHT)) * QUANTUM_BYTES,
            balance_bytes: 0,
            queued: Occupancy::default(),
            buffer: queue.clone(),
        };
        Classes {
            classes: weights.iter().map(class).collect(),
            waiting: [0; WORDS],
            is_strict,
            port: Admission::UNLIMITED,
            marks_between_switches: false,
            turn: 0,
            served: false,
            queued: Occupancy::default(),
            ring: VecDeque::new(),
            most_in_ring: 0,
        }
    }

    /// What waits in classes.
    fn in_classes(&self) -> u64 {
        self.queued.packets - self.ring.len() as u64
    }

    /// The next packet of the classes.
    fn choose<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        if self.in_classes() == 0 {
            None
        } else if self.is_strict {
            self.take_first(env)
        } else {
            self.take_in_turn(env)
        }
    }

    fn take_first<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        while let Some(word) = self.waiting.iter().position(|&word| word != 0) {
            let first = word * WORD + self.waiting[word].trailing_zeros() as usize;
            if let Some(id) = self.take_from(first, env) {
                return Some(id);
            }
        }
        None
    }

    /// Counts what waits in a class that has changed, of which all was counted before.
    #[inline]
    fn recount(&mut self, number: usize) {
        let class = &mut self.classes[number];
        let now = class.buffer.queued();
        let before = std::mem::replace(&mut class.queued, now);
        self.queued.bytes = self.queued.bytes + now.bytes - before.bytes;
        self.queued.packets = self.queued.packets + now.packets - before.packets;
        self.note_waiting(number);
    }

    #[inline]
    fn note_waiting(&mut self, number: usize) {
        let bit = 1 << (number % WORD);
        let word = &mut self.waiting[number / WORD];
        *word = if self.classes[number].queued.packets > 0 { *word | bit } else { *word & !bit };
    }

    /// The next packet of a class, which may drop others before, or all. It counts as waiting until it is sent.
    fn take_from<H: Copy + Default>(&mut self, class: usize, env: &mut Env<'_, H>) -> Option<PacketId> {
        let Class { buffer, queued, .. } = &mut self.classes[class];
        if let Buffer::HeldFifo(fifo) = buffer {
            let id = fifo.take(env)?;
            queued.remove(env.packets.get(id).size_bytes);
            self.note_waiting(class);
            return Some(id);
        }
        let taken = buffer.take(env);
        self.recount(class);
        if let Some(id) = taken {
            self.queued.add(env.packets.get(id).size_bytes);
        }
        taken
    }

    fn take_in_turn<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        while self.in_classes() > 0 {
            let class = &mut self.classes[self.turn];
            if class.queued.packets == 0 {
                class.balance_bytes = class.balance_bytes.min(0);
            } else {
                if !self.served {
                    class.balance_bytes += class.quantum_bytes;
                    self.served = true;
                }
                if class.balance_bytes > 0 {
                    let Some(id) = self.take_from(self.turn, env) else { continue };
                    self.classes[self.turn].balance_bytes -= i64::from(env.packets.get(id).size_bytes);
                    return Some(id);
                }
            }
            self.turn = (self.turn + 1) % self.classes.len();
            self.served = false;
        }
        None
    }
}

impl Holds for Classes {
    fn place(&mut self, site: Site) {
        if self.marks_between_switches && !site.is_between_switches() {
            self.port = self.port.without_marks();
        }
    }

    // A class number beyond the last counts as the last.
    fn put<H: Copy + Default>(&mut self, id: PacketId, _: Option<Opening>, env: &mut Env<'_, H>) -> Joined {
        let packet = env.packets.get_mut(id);
        if self.ring.len() < self.most_in_ring {
            self.queued.add(packet.size_bytes);
            self.ring.push_back(id);
            return Joined::Waits;
        }
        let verdict = self.port.judge(self.queued, packet.size_bytes, env.random);
        if verdict == Verdict::Drop {
            env.drop(id);
            return Joined::Dropped;
        }
        let marks = verdict == Verdict::Mark && packet.is_ecn_capable();
        packet.congestion_experienced |= marks;
        let last = self.classes.len() - 1;
        let class = usize::from(packet.class).min(last);
        // The classes decide what goes when, so nothing is booked.
        let size_bytes = packet.size_bytes;
        let Class { buffer, queued, .. } = &mut self.classes[class];
        let joined = buffer.put(id, None, env);
        env.counts.marks += u64::from(marks);
        if joined == Joined::Waits && matches!(buffer, Buffer::HeldFifo(_)) {
            queued.add(size_bytes);
            self.queued.add(size_bytes);
            self.note_waiting(class);
        } else {
            self.recount(class);
        }
        joined
    }

    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        let chosen = self.choose(env);
        let id = match self.ring.pop_front() {
            Some(first) => {
                self.ring.extend(chosen);
                first
            }
            None => chosen?,
        };
        self.queued.remove(env.packets.get(id).size_bytes);
        Some(id)
    }

    fn classes(&self, mut visit: impl FnMut(usize, u64, Option<u64>)) {
        for (number, class) in self.classes.iter().enumerate() {
            visit(number, class.queued.bytes, None);
        }
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> impl Iterator<Item = PacketId> + 'a {
        let in_classes = self.classes.iter().flat_map(|class| class.buffer.packets(packets));
        self.ring.iter().copied().chain(in_classes)
    }

    fn queued(&self) -> Occupancy {
        self.queued
    }
}

#[cfg(test)]
mod tests;

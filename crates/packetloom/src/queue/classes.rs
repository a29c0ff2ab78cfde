//! Weighted traffic classes with a discipline of its own in each (pFabric §2.5).
//!
//! Surplus round robin (Adiseshu, Parulkar and Varghese, SIGCOMM 1996) shares the link by bytes: a class sends while
//! its balance is above zero, so which packet it sends is chosen only when the link is free.

use super::{Buffer, Effect, Occupancy};
use crate::packet::Packet;
use crate::random::Stream;
use crate::spec::{Complaint, Component, Fallback, Kind, Param, Value, Values};

/// Added to a class's balance per turn and unit of weight: about one full packet, so that a turn is worth taking.
const QUANTUM_BYTES: i64 = 1_500;

/// The component.
pub const COMPONENT: Component = Component {
    section: "queue",
    kind: "classes",
    doc: "Traffic classes share the link by weight (surplus round robin); inside each, a queue of its own.",
    source: "pFabric §2.5",
    params: &[&[
        Param {
            name: "weights",
            kind: Kind::List(&Kind::Count(1)),
            default: Fallback::Required,
            doc: "One weight per class, in the order of the workloads' class numbers.",
            source: "packetloom",
        },
        Param {
            name: "queue",
            kind: Kind::Component("queue"),
            default: Fallback::Value("pfabric"),
            doc: "The discipline inside each class.",
            source: "pFabric §2.5: pFabric operates within individual traffic classes",
        },
    ]],
    check,
};

fn check(values: &Values) -> Result<(), Complaint> {
    let classes = values.list("weights").len();
    if !(1..=256).contains(&classes) {
        return Err(Complaint::new("weights", "write one weight per class, for 1 to 256 classes"));
    }
    if values.component("queue").kind == "classes" {
        return Err(Complaint::new("queue", "classes can't stand inside classes; write another queue"));
    }
    Ok(())
}

#[derive(Clone, Debug)]
struct Class<H> {
    quantum_bytes: i64,
    balance_bytes: i64,
    buffer: Buffer<H>,
}

/// The classes of a port.
#[derive(Clone, Debug)]
pub struct Classes<H> {
    classes: Vec<Class<H>>,
    turn: usize,
    /// Whether the class whose turn it is has had its quantum.
    served: bool,
    queued: Occupancy,
}

impl<H: Copy> Classes<H> {
    /// Empty classes.
    pub fn build(values: &Values) -> Classes<H> {
        let inner = values.component("queue");
        let class = |weight: &Value| {
            let &Value::Count(weight) = weight else { panic!("a weight is {weight:?}") };
            Class {
                quantum_bytes: weight as i64 * QUANTUM_BYTES,
                balance_bytes: 0,
                buffer: Buffer::build(&inner),
            }
        };
        Classes {
            classes: values.list("weights").iter().map(class).collect(),
            turn: 0,
            served: false,
            queued: Occupancy::default(),
        }
    }

    /// Takes a packet into its class; a class number beyond the last counts as the last.
    pub fn put(&mut self, packet: Packet<H>, serving_bytes: u16, random: &mut Stream) -> Effect {
        let last = self.classes.len() - 1;
        let class = &mut self.classes[usize::from(packet.class).min(last)];
        let before = class.buffer.queued();
        let effect = class.buffer.put(packet, serving_bytes, random);
        let after = class.buffer.queued();
        self.queued.bytes = self.queued.bytes + after.bytes - before.bytes;
        self.queued.packets = self.queued.packets + after.packets - before.packets;
        effect
    }

    /// The next packet of the class whose turn it is.
    pub fn take(&mut self, random: &mut Stream) -> Option<Packet<H>> {
        if self.queued.packets == 0 {
            return None;
        }
        loop {
            let class = &mut self.classes[self.turn];
            if class.buffer.queued().packets == 0 {
                class.balance_bytes = class.balance_bytes.min(0);
            } else {
                if !self.served {
                    class.balance_bytes += class.quantum_bytes;
                    self.served = true;
                }
                if class.balance_bytes > 0 {
                    let packet = class.buffer.take(random)?;
                    class.balance_bytes -= i64::from(packet.size_bytes);
                    self.queued.remove(packet.size_bytes);
                    return Some(packet);
                }
            }
            self.turn = (self.turn + 1) % self.classes.len();
            self.served = false;
        }
    }

    /// What waits.
    pub fn queued(&self) -> Occupancy {
        self.queued
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn classes(weights: [u64; 3]) -> Classes<()> {
        let inner =
            Values { kind: "drop-tail".to_owned(), entries: [("capacity".to_owned(), Value::Absent)].into() };
        let weights = weights.map(Value::Count).to_vec();
        let entries = [("weights", Value::List(weights)), ("queue", Value::Component(inner))];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
        Classes::build(&Values { kind: "classes".to_owned(), entries })
    }

    fn packet(class: u8, size_bytes: u16) -> Packet<()> {
        Packet { class, size_bytes, ..Packet::default() }
    }

    #[test]
    fn bytes_are_shared_by_weight_whatever_the_packets_sizes() {
        let mut stream = Stream::new(1, Purpose::Queue, 0);
        let mut classes = classes([5, 2, 1]);
        let sizes = [1_500, 300, 9_000];
        for (class, size) in sizes.into_iter().enumerate() {
            for _ in 0..4 {
                classes.put(packet(class as u8, size), 0, &mut stream);
            }
        }
        let mut bytes = [0_u64; 3];
        for _ in 0..100_000 {
            let sent = classes.take(&mut stream).unwrap();
            bytes[usize::from(sent.class)] += u64::from(sent.size_bytes);
            classes.put(sent, 0, &mut stream);
        }
        let total: u64 = bytes.iter().sum();
        for (bytes, weight) in bytes.into_iter().zip([5.0, 2.0, 1.0]) {
            let share = bytes as f64 / total as f64 * 8.0 / weight;
            assert!((share - 1.0).abs() < 0.01, "weight {weight}: {share}");
        }
    }

    #[test]
    fn a_class_alone_has_the_link_and_unknown_ones_are_the_last() {
        let mut stream = Stream::new(1, Purpose::Queue, 0);
        let mut classes = classes([1, 100, 1]);
        for _ in 0..50 {
            classes.put(packet(9, 1_500), 0, &mut stream);
        }
        assert_eq!(classes.queued(), Occupancy { bytes: 75_000, packets: 50 });
        let sent = std::iter::from_fn(|| classes.take(&mut stream)).count();
        assert_eq!((sent, classes.queued()), (50, Occupancy::default()));
        // A class that was away has saved nothing up: it gets its share and no more.
        for _ in 0..300 {
            classes.put(packet(0, 1_000), 0, &mut stream);
            classes.put(packet(2, 1_000), 0, &mut stream);
        }
        let first: Vec<u8> = (0..100).filter_map(|_| classes.take(&mut stream)).map(|p| p.class).collect();
        let of_last = first.iter().filter(|&&class| class == 2).count();
        assert!((48..=52).contains(&of_last), "{of_last}");
    }
}

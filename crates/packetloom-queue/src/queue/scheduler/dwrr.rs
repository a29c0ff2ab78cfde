//! Deficit weighted round robin (Shreedhar and Varghese, SIGCOMM 1995), below some classes of strict priority or none.

use super::{AnyScheduler, Read, Scheduler, Specification};
use crate::narrow::{exact, narrow};
use crate::packets::{PacketId, Packets};
use crate::queue::classes::MOST_CLASSES;
use crate::queue::flow_control::Gates;
use crate::queue::list::List;
use crate::queue::{Env, Occupancy, Traits};
use crate::spec::{Complaint, Component, Kind, Registered, Values, param};

const COMPONENT: Component = Component {
    section: "scheduler",
    kind: "dwrr",
    doc: "Traffic classes that share the link by weight, in bytes: deficit weighted round robin. Some classes may go before all of them by strict priority. First in, first out inside each.",
    source: "Shreedhar and Varghese, SIGCOMM 1995; Linux: ets",
    params: &[&[
        param! {
            required "weights": Kind::List(&Kind::Count(1)),
            "A weight for each class that shares, after those of strict priority.", "packetloom"
        },
        param! {
            "strict" = "0": Kind::Count(0),
            "How many classes, those with the lowest numbers, have strict priority over those that share, the lowest first.",
            "Linux: strict of ets"
        },
        param! {
            "quantum" = "1514B": Kind::Bytes,
            "What a class with weight 1 may send in a round. As much as a full packet or more, or rounds pass without one.",
            "Linux: the MTU with its header"
        },
    ]],
    check,
};

/// The scheduler.
pub const SCHEDULER: Registered<Read> = Registered { component: COMPONENT, factory: read };

fn read(values: &Values) -> Specification {
    let scheduler = AnyScheduler::Dwrr(Dwrr::build(values));
    let levels = values.count("strict") + 1;
    Specification { levels, ..Specification::new(scheduler, Traits::CLASSES).with_classes(count(values)) }
}

fn count(values: &Values) -> u64 {
    values.count("strict") + values.list("weights").len() as u64
}

fn check(values: &Values) -> Result<(), Complaint> {
    if values.list("weights").is_empty() {
        return Err(Complaint::new(
            "weights",
            "is empty; write a weight for each class, or scheduler = \"strict\"",
        ));
    }
    if count(values) > MOST_CLASSES {
        return Err(Complaint::new("weights", format!("write {MOST_CLASSES} classes at most")));
    }
    super::check_quantum(values)
}

#[derive(Clone, Debug, Default)]
struct Class {
    quantum_bytes: i64,
    deficit_bytes: i64,
    waiting: List,
}

/// The classes of a port.
#[derive(Clone, Debug)]
pub struct Dwrr {
    classes: Vec<Class>,
    strict: usize,
    turn: usize,
    /// Whether the class whose turn it is has had its quantum.
    is_served: bool,
}

impl Dwrr {
    fn build(values: &Values) -> Dwrr {
        let strict = exact::<usize>(values.count("strict"));
        let quantum = values.bytes("quantum");
        let shares = values.list("weights").into_iter();
        let of = |weight: u64| Class {
            quantum_bytes: narrow::<i64>(weight.saturating_mul(quantum).min(1 << 60)),
            ..Class::default()
        };
        let classes = (0..strict).map(|_| of(0)).chain(shares.map(|weight| of(weight.as_count()))).collect();
        Dwrr { classes, strict, turn: strict, is_served: false }
    }

    fn go_on(&mut self) {
        self.turn = if self.turn + 1 < self.classes.len() { self.turn + 1 } else { self.strict };
        self.is_served = false;
    }
}

impl Scheduler for Dwrr {
    fn queue_for<H: Copy + Default>(&mut self, id: PacketId, packets: &Packets<H>) -> usize {
        usize::from(packets.get(id).class).min(self.classes.len() - 1)
    }

    fn queued_in(&self, queue: usize) -> Occupancy {
        self.classes[queue].waiting.queued()
    }

    fn queued(&self) -> Occupancy {
        self.classes.iter().fold(Occupancy::default(), |all, class| all + class.waiting.queued())
    }

    fn first<H: Copy + Default>(&self, queue: usize, _: &Packets<H>) -> Option<PacketId> {
        self.classes[queue].waiting.first()
    }

    fn join<H: Copy + Default>(&mut self, id: PacketId, queue: usize, packets: &mut Packets<H>) {
        self.classes[queue].waiting.push_back(id, packets);
    }

    fn next<H: Copy + Default>(&mut self, gates: Gates, packets: &Packets<H>) -> Option<usize> {
        let may_send = |queue: &usize| !self.classes[*queue].waiting.is_empty() && gates.is_open(*queue);
        let first = (0..self.classes.len()).find(may_send)?;
        if first < self.strict {
            return Some(first);
        }
        loop {
            let is_open = gates.is_open(self.turn);
            let class = &mut self.classes[self.turn];
            match class.waiting.iter(packets).next().filter(|_| is_open) {
                // What it did not use is lost; and who waits for the far end saves nothing up.
                None => class.deficit_bytes = 0,
                Some(first) => {
                    if !self.is_served {
                        class.deficit_bytes += class.quantum_bytes;
                        self.is_served = true;
                    }
                    if i64::from(packets.get(first).size_bytes) <= class.deficit_bytes {
                        return Some(self.turn);
                    }
                }
            }
            self.go_on();
        }
    }

    fn pop<H: Copy + Default>(&mut self, queue: usize, env: &mut Env<'_, H>) -> Option<PacketId> {
        self.classes[queue].waiting.pop_front(env.packets)
    }

    fn sent(&mut self, queue: usize, size_bytes: u16) {
        if queue >= self.strict {
            self.classes[queue].deficit_bytes -= i64::from(size_bytes);
        }
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> Box<dyn Iterator<Item = PacketId> + 'a> {
        Box::new(self.classes.iter().flat_map(|class| class.waiting.iter(packets)))
    }

    fn classes(&self, tell: &mut dyn FnMut(usize, u64)) {
        self.classes
            .iter()
            .enumerate()
            .for_each(|(number, class)| tell(number, class.waiting.queued().bytes));
    }
}

//! Traffic classes by strict priority.

use super::{AnyScheduler, Read, Scheduler, Specification};
use crate::narrow::exact;
use crate::packets::{PacketId, Packets};
use crate::queue::classes::MOST_CLASSES;
use crate::queue::flow_control::Gates;
use crate::queue::list::List;
use crate::queue::{Env, Occupancy, Traits};
use crate::spec::{Complaint, Component, Kind, Registered, Values, param};

const COMPONENT: Component = Component {
    section: "scheduler",
    kind: "strict",
    doc: "Traffic classes, of which the one with the lowest number always goes first; first in, first out inside each.",
    source: "IEEE 802.1Q §8.6.8.1: strict priority",
    params: &[&[param! {
        "classes" = "8": Kind::Count(1),
        "How many classes there are. A class number beyond the last counts as the last.", "IEEE 802.1Q: 8"
    }]],
    check,
};

/// The scheduler.
pub const SCHEDULER: Registered<Read> = Registered { component: COMPONENT, factory: read };

fn read(values: &Values) -> Specification {
    let classes = values.count("classes");
    let scheduler = AnyScheduler::Strict(Strict::of(classes));
    Specification { levels: classes, ..Specification::new(scheduler, Traits::CLASSES).with_classes(classes) }
}

fn check(values: &Values) -> Result<(), Complaint> {
    let classes = values.count("classes");
    if classes > MOST_CLASSES {
        return Err(Complaint::new("classes", format!("write {MOST_CLASSES} at most")));
    }
    Ok(())
}

/// The classes of a port.
#[derive(Clone, Debug)]
pub struct Strict(Vec<List>);

impl Strict {
    fn of(classes: u64) -> Strict {
        Strict(vec![List::default(); exact::<usize>(classes)])
    }
}

impl Scheduler for Strict {
    fn queue_for<H: Copy + Default>(&mut self, id: PacketId, packets: &Packets<H>) -> usize {
        usize::from(packets.get(id).class).min(self.0.len() - 1)
    }

    fn queued_in(&self, queue: usize) -> Occupancy {
        self.0[queue].queued()
    }

    fn queued(&self) -> Occupancy {
        self.0.iter().fold(Occupancy::default(), |all, class| all + class.queued())
    }

    fn first<H: Copy + Default>(&self, queue: usize, _: &Packets<H>) -> Option<PacketId> {
        self.0[queue].first()
    }

    fn join<H: Copy + Default>(&mut self, id: PacketId, queue: usize, packets: &mut Packets<H>) {
        self.0[queue].push_back(id, packets);
    }

    fn next<H: Copy + Default>(&mut self, gates: Gates, _: &Packets<H>) -> Option<usize> {
        let mut classes = self.0.iter().enumerate();
        classes.find(|(queue, class)| !class.is_empty() && gates.is_open(*queue)).map(|(queue, _)| queue)
    }

    fn pop<H: Copy + Default>(&mut self, queue: usize, env: &mut Env<'_, H>) -> Option<PacketId> {
        self.0[queue].pop_front(env.packets)
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> Box<dyn Iterator<Item = PacketId> + 'a> {
        Box::new(self.0.iter().flat_map(|class| class.iter(packets)))
    }

    fn classes(&self, tell: &mut dyn FnMut(usize, u64)) {
        self.0.iter().enumerate().for_each(|(number, class)| tell(number, class.queued().bytes));
    }
}

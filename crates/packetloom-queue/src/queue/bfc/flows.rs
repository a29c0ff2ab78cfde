//! The flows that are active at a port: a table by flow id, as large as the flows are many.
//!
//! A switch has an entry for each id. One that holds no packets and is older than a flow keeps its queue says nothing, so
//! it is not kept here.

use crate::narrow::{exact, narrow};
use crate::units::Time;

/// An entry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The flow id; [`NOBODY`]: none.
    id: u32,
    /// The packets that wait.
    pub packets: u32,
    /// The queue.
    pub queue: u32,
    /// When a packet last came or left.
    pub touched: Time,
}

const NOBODY: u32 = u32::MAX;
const EMPTY: Entry = Entry { id: NOBODY, packets: 0, queue: 0, touched: Time::ZERO };
const FEWEST: usize = 16;

/// The entries, by a hash of their ids; a power of two of places, at most half of which are taken.
#[derive(Clone, Debug)]
pub struct Flows {
    entries: Vec<Entry>,
    taken: usize,
    /// How long a flow keeps its queue.
    keeps: Time,
}

impl Flows {
    /// No flows, each of which will keep its queue for so long.
    pub fn new(keeps: Time) -> Flows {
        Flows { entries: Vec::new(), taken: 0, keeps }
    }

    /// Whether a flow has lost its queue.
    #[inline]
    fn is_over(&self, entry: &Entry, now: Time) -> bool {
        entry.packets == 0 && entry.touched.saturating_add(self.keeps) < now
    }

    /// Where an id is, or may be put.
    #[inline]
    fn place(&self, id: u32) -> usize {
        let mask = self.entries.len() - 1;
        // The ids are hashes themselves.
        let mut place = id as usize & mask;
        while self.entries[place].id != id && self.entries[place].id != NOBODY {
            place = (place + 1) & mask;
        }
        place
    }

    /// The entry of a flow that has packets waiting.
    #[inline]
    pub fn waiting(&mut self, id: u32) -> &mut Entry {
        let place = self.place(id);
        &mut self.entries[place]
    }

    /// The entry of a flow of which a packet comes, and whether it has to be given a queue.
    #[inline]
    pub fn arrive(&mut self, id: u32, now: Time) -> (&mut Entry, bool) {
        if self.entries.len() <= 2 * self.taken {
            self.make_room(now);
        }
        let place = self.place(id);
        let is_new = self.entries[place].id == NOBODY;
        let needs_queue = is_new || self.is_over(&self.entries[place], now);
        let entry = &mut self.entries[place];
        if is_new {
            self.taken += 1;
            *entry = Entry { id, ..EMPTY };
        }
        entry.touched = now;
        (entry, needs_queue)
    }

    /// Leaves out what is over, and keeps four places for each of the others.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, now: Time) {
        let kept = |entry: &Entry| entry.id != NOBODY && !self.is_over(entry, now);
        let kept: Vec<Entry> = self.entries.iter().copied().filter(kept).collect();
        self.taken = kept.len();
        self.entries = vec![EMPTY; (4 * kept.len()).next_power_of_two().max(FEWEST)];
        for entry in kept {
            let place = self.place(entry.id);
            self.entries[place] = entry;
        }
    }
}

/// The flow id of a flow, of so many.
#[inline]
pub fn flow_id(flow: u32, ids: u64) -> u32 {
    exact::<u32>(crate::random::mix(u64::from(flow) + 1) % ids)
}

/// The queue of so many that a flow id hashes to.
pub fn fixed_queue(id: u32, queues: u32) -> u32 {
    narrow::<u32>(crate::random::mix(u64::from(id)) % u64::from(queues))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};
    use std::collections::BTreeMap;

    #[test]
    fn flows_keep_their_queues_as_in_a_table_of_all_ids() {
        let mut random = Stream::new(3, Purpose::Queue, 0);
        let keeps = Time(100);
        let mut flows = Flows::new(keeps);
        // Of each id: the packets, the queue, the time.
        let mut model: BTreeMap<u32, (u32, u32, Time)> = BTreeMap::new();
        let mut now = Time::ZERO;
        for step in 0..50_000 {
            now += Time(random.below(4).into());
            let id = random.below(500);
            let waits = model.get(&id).is_some_and(|(packets, ..)| *packets > 0);
            if waits && random.below(2) == 0 {
                let entry = flows.waiting(id);
                entry.packets -= 1;
                entry.touched = now;
                let (packets, queue, touched) = model.get_mut(&id).expect("it waits");
                assert_eq!((entry.packets + 1, entry.queue), (*packets, *queue));
                (*packets, *touched) = (*packets - 1, now);
                continue;
            }
            let (entry, needs_queue) = flows.arrive(id, now);
            let known =
                model.get(&id).filter(|(packets, _, touched)| *packets > 0 || now.since(*touched) <= keeps);
            assert_eq!(needs_queue, known.is_none(), "step {step}");
            if needs_queue {
                entry.queue = step;
            }
            entry.packets += u32::from(step % 3 > 0);
            let (packets, queue) = known.map_or((0, step), |&(packets, queue, _)| (packets, queue));
            model.insert(id, (packets + u32::from(step % 3 > 0), queue, now));
            assert_eq!((entry.packets, entry.queue), (model[&id].0, model[&id].1));
        }
        assert!(flows.entries.len() <= 2048, "what is over is left out");
    }
}

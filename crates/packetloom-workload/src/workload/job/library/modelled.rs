//! Jobs of which nothing is sent: each collective operation takes what a model says, from the moment when its last rank
//! has begun. Ranks of all hosts are walked together, since nothing passes between them that takes time.

use crate::narrow::exact;
use crate::units::Time;
use crate::workload::job::plan::{Exchange, Plan};
use crate::workload::job::span::Span;
use crate::workload::job::walker::{Told, Walker};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// What happens next: an operation ends (its repetition and exchange), or a rank has something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Over(u32, u32),
    Rank(u32),
}

/// A job under way.
struct Stage {
    plan: Arc<Plan>,
    walkers: Vec<Walker>,
    next: BinaryHeap<Reverse<(Time, Next)>>,
    /// The ranks that have begun an operation which is not over, and which one of theirs it is.
    begun: BTreeMap<(u32, u32), Vec<(u32, Told)>>,
}

/// Carries a job out until a point in time; what its ranks did, by rank.
pub fn carry_out(plan: &Arc<Plan>, until: Time) -> Vec<(u32, Vec<Span>)> {
    let ranks = 0..exact::<u32>(plan.program.ranks.len());
    let walkers: Vec<Walker> = ranks.clone().map(|rank| Walker::new(plan, rank)).collect();
    let next = ranks.zip(&walkers).map(|(rank, walker)| Reverse((walker.next_at(), Next::Rank(rank))));
    let next = next.collect();
    let mut stage = Stage { plan: Arc::clone(plan), walkers, next, begun: BTreeMap::new() };
    while let Some(Reverse((at, next))) = stage.next.pop()
        && at <= until
    {
        match next {
            Next::Over(iteration, exchange) => stage.over((iteration, exchange), at),
            Next::Rank(rank) => stage.wake(rank, at),
        }
    }
    stage.walkers.iter().map(|walker| (walker.rank(), walker.spans().collect())).collect()
}

impl Stage {
    fn wake(&mut self, rank: u32, now: Time) {
        let walker = &mut self.walkers[rank as usize];
        if walker.next_at() > now {
            return;
        }
        walker.wake(now, &mut Vec::new());
        self.after(rank, now);
    }

    /// An operation is over at all of its ranks.
    fn over(&mut self, key: (u32, u32), now: Time) {
        for (rank, told) in self.begun.remove(&key).unwrap_or_default() {
            self.walkers[rank as usize].end_told(told, now, &mut Vec::new());
            self.after(rank, now);
        }
    }

    /// Notes what a rank has begun, and when it next has something to do.
    fn after(&mut self, rank: u32, now: Time) {
        let walker = &mut self.walkers[rank as usize];
        let at = walker.next_at();
        let begun: Vec<Told> = walker.take_begun().collect();
        if at != Time::NEVER {
            self.next.push(Reverse((at, Next::Rank(rank))));
        }
        for told in begun {
            let key = (told.iteration, told.exchange);
            let Exchange::Collective(operation) = self.plan.exchange(key.1) else { continue };
            let ranks = self.begun.entry(key).or_default();
            ranks.push((rank, told));
            if ranks.len() == operation.ranks as usize {
                let takes = operation.call.as_ref().and_then(|call| call.takes()).unwrap_or(Time::ZERO);
                self.next.push(Reverse((now.saturating_add(takes), Next::Over(key.0, key.1))));
            }
        }
    }
}

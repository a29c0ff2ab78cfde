//! What of a rank depends on which operation.

use crate::job::{Event, Rank};
use crate::narrow::exact;
use std::sync::Arc;

/// What is done when, by what depends on it.
#[derive(Clone, Debug, Default)]
pub(super) struct Dependents {
    pub(super) ends: Vec<u32>,
    pub(super) all: Vec<(Event, u32)>,
}

impl Dependents {
    /// Those of each rank; ranks next to each other may be alike.
    pub(super) fn of_all(ranks: &[Rank]) -> Vec<Arc<Dependents>> {
        let mut all: Vec<Arc<Dependents>> = Vec::with_capacity(ranks.len());
        for (number, rank) in ranks.iter().enumerate() {
            let same = number.checked_sub(1).filter(|&before| rank.shares_graph(&ranks[before]));
            all.push(same.map_or_else(|| Arc::new(Dependents::of(rank)), |before| Arc::clone(&all[before])));
        }
        all
    }

    fn of(rank: &crate::job::Rank) -> Dependents {
        let count = exact::<u32>(rank.operations().len());
        let mut all: Vec<(u32, Event, u32)> = (0..count)
            .flat_map(|place| rank.dependencies(place).iter().map(move |one| (one.on, one.event, place)))
            .collect();
        all.sort_unstable();
        let ends =
            (0..count).map(|place| exact::<u32>(all.partition_point(|&(on, ..)| on <= place))).collect();
        Dependents { ends, all: all.into_iter().map(|(_, event, place)| (event, place)).collect() }
    }
}

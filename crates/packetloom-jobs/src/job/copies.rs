//! More copies of a program that was recorded: the same work with other data.
//!
//! A copy's ranks do what those of the trace did, and send to ranks of their own copy. Only the groups of data parallel
//! ranks span all copies. A trace does not say what its groups are for, so their user does: which groups are alike
//! follows from their shape, that is from the distances between their ranks.

use super::{Operation, Program, Rank, Sizes, Work};
use crate::narrow::exact;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most operations that all copies may have, as of what is read: each takes some 60 bytes.
const MOST_OPERATIONS: usize = 1 << 26;

/// The groups of a program, by what copies make of them.
struct Copied {
    groups: Vec<Vec<u32>>,
    /// By group of the program and copy.
    places: Vec<Vec<u32>>,
    /// How many span all copies.
    spanning: usize,
}

impl Program {
    /// How many copies of this program there may be.
    pub fn most_copies(&self) -> u64 {
        let by_ranks = u64::from(u32::MAX) / self.ranks.len().max(1) as u64;
        by_ranks.min((MOST_OPERATIONS / self.operations().max(1)) as u64)
    }

    /// One group of each shape, the lowest first, with how many there are of it.
    pub fn shapes(&self) -> Vec<(u32, usize)> {
        let mut found: BTreeMap<Vec<u32>, (u32, BTreeSet<Vec<u32>>)> = BTreeMap::new();
        for (place, group) in (0..).zip(&self.groups) {
            let members: BTreeSet<u32> = group.iter().copied().collect();
            let (_, alike) = found.entry(shape(&members)).or_insert_with(|| (place, BTreeSet::new()));
            alike.insert(members.into_iter().collect());
        }
        let mut shapes: Vec<(u32, usize)> =
            found.into_values().map(|(place, alike)| (place, alike.len())).collect();
        shapes.sort_unstable();
        shapes
    }

    /// Several copies of this program, [`Program::most_copies`] at most, as one, and how many groups span them. Those are
    /// the ones shaped as a group of `across`, and those that consist of such; the ranks of a copy follow those of the
    /// one before. A collective operation has the size that it had.
    ///
    /// # Errors
    /// Why the copies can't be joined so.
    pub fn copies(&self, copies: u32, across: &BTreeSet<u32>) -> Result<(Program, usize), String> {
        let ranks = self.ranks.len();
        let copied = self.copied_groups(copies, across)?;
        let mut program = Program {
            groups: copied.groups,
            ranks: Vec::with_capacity(ranks * copies as usize),
            ..self.empty()
        };
        for copy in 0..copies {
            for rank in &self.ranks {
                let moved = |operation: &Operation| self.moved(*operation, copy, &copied.places);
                let operations = rank.operations.iter().map(moved).collect::<Result<_, _>>()?;
                program.ranks.push(Rank { operations, graph: Arc::clone(&rank.graph) });
            }
        }
        Ok((program, copied.spanning))
    }

    /// What all copies have in common.
    fn empty(&self) -> Program {
        Program {
            ranks: Vec::new(),
            groups: Vec::new(),
            matrices: self.matrices.clone(),
            names: self.names.clone(),
            sends_block: self.sends_block,
        }
    }

    /// An operation as a copy has it.
    fn moved(&self, operation: Operation, copy: u32, places: &[Vec<u32>]) -> Result<Operation, String> {
        let first = copy * exact::<u32>(self.ranks.len());
        let work = match operation.work {
            Work::Send { peer, bytes, tag } => Work::Send { peer: first + peer, bytes, tag },
            Work::Receive { peer, bytes, tag } => {
                Work::Receive { peer: peer.map(|peer| first + peer), bytes, tag }
            }
            Work::Collective { operation, group, sizes } => {
                let places = &places[group as usize];
                if places[0] == places[places.len() - 1] && matches!(sizes, Sizes::Matrix(_)) {
                    return Err(format!("an {} there has a size for each pair of ranks", operation.name()));
                }
                Work::Collective { operation, group: places[copy as usize], sizes }
            }
            work @ Work::Compute { .. } => work,
        };
        Ok(Operation { work, ..operation })
    }

    fn copied_groups(&self, copies: u32, across: &BTreeSet<u32>) -> Result<Copied, String> {
        let sorted = |group: &Vec<u32>| group.iter().copied().collect::<BTreeSet<u32>>();
        let members: Vec<BTreeSet<u32>> = self.groups.iter().map(sorted).collect();
        let shapes: BTreeSet<Vec<u32>> = across.iter().map(|&one| shape(&members[one as usize])).collect();
        let dimensions =
            shapes.iter().map(|shape| self.dimension(shape, &members)).collect::<Result<Vec<_>, _>>()?;
        let ranks = exact::<u32>(self.ranks.len());
        let mut copied = Copied { groups: Vec::new(), places: Vec::new(), spanning: 0 };
        for (group, members) in self.groups.iter().zip(&members) {
            let moved = |copy: u32| group.iter().map(move |&rank| rank + copy * ranks);
            let first = exact::<u32>(copied.groups.len());
            let whole = |dimension: &BTreeMap<u32, &BTreeSet<u32>>| {
                members.iter().all(|rank| dimension[rank].is_subset(members))
            };
            if dimensions.iter().any(whole) {
                copied.groups.push((0..copies).flat_map(moved).collect());
                copied.places.push(vec![first; copies as usize]);
                copied.spanning += 1;
            } else {
                copied.groups.extend((0..copies).map(|copy| moved(copy).collect::<Vec<u32>>()));
                copied.places.push((first..first + copies).collect());
            }
        }
        Ok(copied)
    }

    /// Of each rank its group of a shape.
    fn dimension<'a>(
        &self,
        of: &[u32],
        members: &'a [BTreeSet<u32>],
    ) -> Result<BTreeMap<u32, &'a BTreeSet<u32>>, String> {
        let mut dimension: BTreeMap<u32, &BTreeSet<u32>> = BTreeMap::new();
        for group in members.iter().filter(|group| shape(group) == of) {
            for &rank in group {
                if let Some(other) = dimension.insert(rank, group).filter(|other| *other != group) {
                    return Err(format!(
                        "rank {rank} is in two groups of that shape, {other:?} and {group:?}"
                    ));
                }
            }
        }
        match (0..exact::<u32>(self.ranks.len())).find(|rank| !dimension.contains_key(rank)) {
            Some(rank) => {
                Err(format!("rank {rank} is in no group of that shape, so nothing joins its copies"))
            }
            None => Ok(dimension),
        }
    }
}

/// How far the ranks of a group are from its first.
fn shape(members: &BTreeSet<u32>) -> Vec<u32> {
    let first = members.first().copied().unwrap_or_default();
    members.iter().map(|rank| rank - first).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Collective, Dependency};
    use super::*;

    /// Two tensor parallel ranks of each of two copies of a model, which ranks 2 and 3 send on to 0 and 1.
    fn grid() -> Program {
        let mut program = Program {
            groups: vec![vec![0, 1], vec![2, 3], vec![0, 2], vec![1, 3], vec![0, 1, 2, 3]],
            ..Program::default()
        };
        for rank in 0..4 {
            let collective = |group: u32, bytes: u64| Work::Collective {
                operation: Collective::AllReduce,
                group,
                sizes: Sizes::Whole(bytes),
            };
            let message = match rank {
                0 | 1 => Work::Receive { peer: Some(rank + 2), bytes: 9, tag: Some(1) },
                _ => Work::Send { peer: rank - 2, bytes: 9, tag: 1 },
            };
            let mut own = Rank::default();
            for (place, work) in (0..).zip([
                message,
                collective(rank / 2, 100),
                collective(2 + rank % 2, 200),
                collective(4, 4),
            ]) {
                let before = (place > 0).then(|| Dependency::on_end(place - 1));
                own.add(Operation { work, stream: Some(0), name: 0 }, before);
            }
            program.ranks.push(own);
        }
        program.name("one");
        program
    }

    #[test]
    fn copies_are_joined_by_the_groups_of_one_shape_and_by_those_that_consist_of_them() {
        let program = grid();
        let (copies, spanning) = program.copies(3, &BTreeSet::from([2])).expect("a grid");
        copies.check().expect("it can be executed");
        assert_eq!((copies.ranks.len(), copies.operations(), spanning), (12, 48, 3));
        let of = |rank: usize| {
            let groups = copies.ranks[rank].operations().iter().filter_map(|one| match one.work {
                Work::Collective { group, .. } => Some(copies.groups[group as usize].clone()),
                _ => None,
            });
            groups.collect::<Vec<_>>()
        };
        assert_eq!(of(9), [vec![8, 9], vec![1, 3, 5, 7, 9, 11], (0..12).collect::<Vec<u32>>()]);
        assert_eq!(copies.ranks[10].operations()[0].work, Work::Send { peer: 8, bytes: 9, tag: 1 });
        assert!(copies.ranks[10].shares_graph(&program.ranks[2]));
        let (one, _) = program.copies(1, &BTreeSet::from([2])).expect("a grid");
        assert_eq!(one, program);
    }

    #[test]
    fn copies_that_nothing_joins_are_refused() {
        let mut program = grid();
        let by_all = program.copies(2, &BTreeSet::from([4])).expect("all are one group");
        assert_eq!(by_all.1, 1);
        program.groups[3] = vec![1, 2];
        let refused = |program: &Program| program.copies(2, &BTreeSet::from([2]));
        assert_eq!(
            refused(&program),
            Err("rank 1 is in no group of that shape, so nothing joins its copies".into())
        );
        program.groups[3] = vec![0, 2];
        program.groups[4] = vec![2, 4];
        assert_eq!(refused(&program), Err("rank 2 is in two groups of that shape, {0, 2} and {2, 4}".into()));
        assert_eq!(grid().most_copies(), 1 << 22);
        assert_eq!(grid().shapes(), [(0, 2), (2, 2), (4, 1)]);
    }
}

//! All-gather and reduce-scatter by PAT: every rank sends the same list of messages for each chunk, each of which
//! carries the data of several ranks, and goes on to the next group of them when it has received those of this one.

use super::super::{Message, Pattern, Stage};
use crate::job::Collective;
use crate::narrow::exact;
use crate::nccl::{Aggregated, Pieces, aggregated};

/// The messages of a channel.
#[derive(Clone, Debug)]
struct Pat {
    ranks: u32,
    gathers: bool,
    chunks: u32,
    chunk_bytes: u64,
    /// Most messages of a connection under way.
    depth: u32,
    /// What is sent of a chunk.
    list: Vec<Aggregated>,
    /// For each of these, the one of the next group whose sender must have received it.
    then: Vec<u32>,
    /// For each, how many must have come.
    awaits: Vec<u32>,
    /// For each, which one it is of those to the same rank; and these, by the bit of the distance.
    nth: Vec<u32>,
    by_bit: Vec<Vec<u32>>,
}

/// That of an operation whose channels have so many bytes at most.
pub fn pat(operation: Collective, ranks: u32, (bytes, pieces): (u64, Pieces)) -> Box<dyn Pattern> {
    let each = bytes.div_ceil(ranks.into());
    let list = aggregated(operation, ranks, pieces.chunk_bytes, each);
    let count = exact::<u32>(list.len());
    let of_group =
        |group: u32| (0..).zip(&list).filter(move |(_, one)| one.group == group).map(|(nth, _)| nth);
    let then = |(nth, one): (u32, &Aggregated)| {
        let place = nth - of_group(one.group).next().unwrap_or(nth);
        let next: Vec<u32> = of_group(one.group + 1).collect();
        next.get(place as usize).or(next.last()).copied().unwrap_or(count)
    };
    let then: Vec<u32> = (0..).zip(&list).map(then).collect();
    let awaits =
        (0..=count).map(|nth| exact::<u32>(then.iter().filter(|&&one| one == nth).count())).collect();
    let mut by_bit = vec![Vec::new(); u32::BITS as usize];
    let mut place = |(nth, one): (u32, &Aggregated)| {
        let same: &mut Vec<u32> = &mut by_bit[one.distance.ilog2() as usize];
        same.push(nth);
        exact::<u32>(same.len()) - 1
    };
    let nth = (0..).zip(&list).map(&mut place).collect();
    Box::new(Pat {
        ranks,
        gathers: operation == Collective::AllGather,
        chunks: exact::<u32>(each.div_ceil(pieces.chunk_bytes).max(1)),
        chunk_bytes: pieces.chunk_bytes,
        depth: pieces.depth,
        list,
        then,
        awaits,
        nth,
        by_bit,
    })
}

impl Pat {
    fn count(&self) -> u32 {
        exact::<u32>(self.list.len())
    }
}

impl Pattern for Pat {
    fn slots(&self) -> u32 {
        self.chunks.saturating_mul(self.count())
    }

    fn stages(&self, _: u32) -> u32 {
        self.slots()
    }

    fn stage(&self, _: u32, stage: u32) -> Stage {
        let (chunk, nth) = (stage / self.count(), stage % self.count());
        // The last group of a chunk has come when the next chunk begins.
        let of_last = if nth == 0 && chunk > 0 { self.awaits[self.list.len()] } else { 0 };
        let slots = if stage < self.slots() { stage..stage + 1 } else { 0..0 };
        let own = if stage < self.slots() { self.awaits[nth as usize] } else { 0 };
        Stage { awaits: own + of_last, awaits_own: 0, slots }
    }

    fn most_under_way(&self) -> Option<u32> {
        Some(self.depth)
    }

    fn room(&self, _: u32, stage: u32) -> Option<u32> {
        let (chunk, nth) = (stage / self.count(), (stage % self.count()) as usize);
        let same = &self.by_bit[self.list[nth].distance.ilog2() as usize];
        let each = exact::<u32>(same.len());
        let before = (chunk * each + self.nth[nth]).checked_sub(self.depth)?;
        Some(before / each * self.count() + same[(before % each) as usize])
    }

    fn message(&self, rank: u32, slot: u32, bytes: u64) -> Message {
        let (chunk, nth) = (slot / self.count(), (slot % self.count()) as usize);
        let Aggregated { distance, items, .. } = self.list[nth];
        let distance = distance % self.ranks;
        let ahead = if self.gathers { self.ranks - distance } else { distance };
        let to = (rank + ahead) % self.ranks;
        let each = bytes.div_ceil(self.ranks.into());
        let data = each.saturating_sub(u64::from(chunk) * self.chunk_bytes).min(self.chunk_bytes);
        Message::new(to, (data * u64::from(items)).max(1), slot, chunk * self.count() + self.then[nth])
    }
}

//! Collective operations whose stages are alike.

use std::collections::BTreeMap;

/// Which collective operation: the job's source, in which repetition, and which exchange it is.
pub type RoundKey = (u8, u32, u32);

/// How far a rank is with a collective operation, of which one stage is like the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// The operation.
    pub key: RoundKey,
    /// In how many stages any of its lanes has yet to send, at least.
    pub left: u32,
}

/// The operations that all ranks are in, each in one, and how many stages each has left where that is least.
pub type Rounds = BTreeMap<RoundKey, u32>;

/// Those of ranks; nothing if any of them is in none, or in several.
pub fn rounds(ranks: impl Iterator<Item = Option<Round>>) -> Option<Rounds> {
    let mut all = Rounds::new();
    for round in ranks {
        let Round { key, left } = round?;
        let least = all.entry(key).or_insert(left);
        *least = left.min(*least);
    }
    (!all.is_empty()).then_some(all)
}

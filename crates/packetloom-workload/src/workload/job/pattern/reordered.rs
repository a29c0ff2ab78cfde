//! A pattern whose ranks have another order than their group: one that goes server by server, where the group's ranks
//! do not.

use super::{Alike, Labour, Message, Pattern, Phase, Stage};

/// What the pattern calls the i-th rank is the group's `members[i]`-th.
#[derive(Debug)]
pub struct Reordered {
    pattern: Box<dyn Pattern>,
    members: Vec<u32>,
    /// The other way round.
    positions: Vec<u32>,
}

impl Reordered {
    /// For a group whose members the pattern takes in this order.
    pub fn new(pattern: Box<dyn Pattern>, members: &[u32]) -> Reordered {
        let mut positions = vec![0; members.len()];
        for (position, &member) in (0..).zip(members) {
            positions[member as usize] = position;
        }
        Reordered { pattern, members: members.to_vec(), positions }
    }

    /// Beyond the group's members are places of others, which stay where they are.
    fn position(&self, rank: u32) -> u32 {
        self.positions.get(rank as usize).copied().unwrap_or(rank)
    }
}

impl Pattern for Reordered {
    fn slots(&self) -> u32 {
        self.pattern.slots()
    }

    fn stages(&self, rank: u32) -> u32 {
        self.pattern.stages(self.position(rank))
    }

    fn stage(&self, rank: u32, stage: u32) -> Stage {
        self.pattern.stage(self.position(rank), stage)
    }

    fn most_under_way(&self) -> Option<u32> {
        self.pattern.most_under_way()
    }

    fn room(&self, rank: u32, stage: u32) -> Option<u32> {
        self.pattern.room(self.position(rank), stage)
    }

    fn frees_on_arrival(&self) -> bool {
        self.pattern.frees_on_arrival()
    }

    fn alike(&self) -> Option<Alike> {
        self.pattern.alike()
    }

    fn phases(&self) -> Option<Vec<Phase>> {
        self.pattern.phases()
    }

    fn messages(&self, ranks: u32) -> u64 {
        self.pattern.messages(ranks)
    }

    fn labour(&self) -> Labour {
        self.pattern.labour()
    }

    fn message(&self, rank: u32, slot: u32, bytes: u64) -> Message {
        let message = self.pattern.message(self.position(rank), slot, bytes);
        Message { to: self.members.get(message.to as usize).copied().unwrap_or(message.to), ..message }
    }
}

//! Rings through servers of several ranks that use all of their NICs, as NCCL's channels do: each ring leaves a server
//! by another NIC.

use super::ring::Ring;
use super::{Alike, Message, Pattern, Phase, Stage, needs_servers};

/// One of as many rings as a server has ranks. It enters a server at one rank, passes its others by the switch inside,
/// and leaves it by the rank before the one where it entered, for the rank of the same place in the next server. So
/// rings stay on rails, and no two of them share a NIC. From the last server to the first they change the rail, unless
/// the servers are a multiple of the ranks of each.
#[derive(Clone, Copy, Debug)]
pub struct RailRing {
    ring: Ring,
    /// Ranks of each server.
    server: u32,
    /// Where it enters the first server.
    entry: u32,
}

impl RailRing {
    /// All of them, for ranks of which each `server` neighbours share a server.
    ///
    /// # Errors
    /// Where these do not fill servers.
    pub fn all(ring: Ring, server: Option<u32>) -> Result<Vec<RailRing>, String> {
        let server = server.ok_or_else(|| needs_servers("rail-ring"))?;
        if !ring.ranks.is_multiple_of(server) {
            let ranks = ring.ranks;
            return Err(format!(
                "rail-ring needs whole servers: {ranks} ranks are not a multiple of {server}"
            ));
        }
        Ok((0..server).map(|entry| RailRing { ring, server, entry }).collect())
    }

    /// The rank of a server at which the ring enters it.
    fn entry(&self, nth: u32) -> u32 {
        (self.entry + self.server - nth % self.server) % self.server
    }

    /// Where a rank is on the ring.
    pub fn position(&self, rank: u32) -> u32 {
        let (nth, place) = (rank / self.server, rank % self.server);
        nth * self.server + (place + self.server - self.entry(nth)) % self.server
    }

    /// The rank at a position.
    pub fn rank(&self, position: u32) -> u32 {
        let (nth, step) = (position / self.server, position % self.server);
        nth * self.server + (self.entry(nth) + step) % self.server
    }
}

impl Pattern for RailRing {
    fn slots(&self) -> u32 {
        self.ring.slots()
    }

    fn stages(&self, rank: u32) -> u32 {
        self.ring.stages(self.position(rank))
    }

    fn stage(&self, rank: u32, stage: u32) -> Stage {
        self.ring.stage(self.position(rank), stage)
    }

    fn most_under_way(&self) -> Option<u32> {
        self.ring.most_under_way()
    }

    /// One of as many stages as a server has ranks passes a NIC, and the others wait for it.
    fn alike(&self) -> Option<Alike> {
        self.ring.alike().map(|alike| Alike { every: self.server, ..alike })
    }

    fn phases(&self) -> Option<Vec<Phase>> {
        self.ring.phases()
    }

    fn messages(&self, ranks: u32) -> u64 {
        self.ring.messages(ranks)
    }

    fn message(&self, rank: u32, slot: u32, bytes: u64) -> Message {
        let message = self.ring.message(self.position(rank), slot, bytes);
        Message { to: self.rank(message.to), ..message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn rings_visit_all_ranks_stay_on_rails_and_share_no_nic() {
        for (servers, server) in [(4, 4), (8, 4), (3, 4), (5, 2), (2, 1), (1, 8)] {
            let ranks = servers * server;
            let rings = RailRing::all(Ring { ranks, steps: 1 }, Some(server)).expect("whole servers");
            let mut used = BTreeSet::new();
            for ring in &rings {
                let mut at = 0;
                let mut seen = BTreeSet::new();
                for _ in 0..ranks {
                    assert!(seen.insert(at));
                    let to = ring.message(at, 0, 1_000).to;
                    if to / server != at / server {
                        let is_last = at / server == servers - 1 && !servers.is_multiple_of(server);
                        assert!(to % server == at % server || is_last, "{at} to {to}");
                        assert!(used.insert(("out", at)) && used.insert(("in", to)));
                    }
                    at = to;
                }
                assert_eq!(at, 0);
            }
        }
        assert!(RailRing::all(Ring { ranks: 6, steps: 1 }, Some(4)).is_err());
        assert!(RailRing::all(Ring { ranks: 6, steps: 1 }, None).is_err());
    }
}

//! In two levels: among the ranks of a server, which a switch of their own joins, and among the ranks of the same
//! place in every server, which share a rail (Cho et al., BlueConnect, MLSys 2019; NCCL's PXN for all-to-all).

use super::{Alike, Message, Pattern, Phase, Shares, Stage, needs_servers};
use crate::job::Collective;

/// First inside servers, then along rails, then inside servers, as the operation needs it.
#[derive(Clone, Copy, Debug)]
pub struct Hierarchical {
    servers: u32,
    /// Ranks of each.
    server: u32,
    operation: Collective,
}

impl Hierarchical {
    /// For ranks of which each `server` neighbours share a server.
    ///
    /// # Errors
    /// Where these do not fill servers.
    pub fn new(operation: Collective, ranks: u32, server: Option<u32>) -> Result<Hierarchical, String> {
        let server = server.ok_or_else(|| needs_servers("hierarchical"))?;
        if !ranks.is_multiple_of(server) {
            return Err(format!(
                "hierarchical needs whole servers: {ranks} ranks are not a multiple of {server}"
            ));
        }
        Ok(Hierarchical { servers: ranks / server, server, operation })
    }

    /// Messages inside the server before the rails.
    fn before(&self) -> u32 {
        if self.operation == Collective::AllGather { 0 } else { self.server - 1 }
    }

    /// Messages inside the server after the rails.
    fn after(&self) -> u32 {
        let does = matches!(self.operation, Collective::AllReduce | Collective::AllGather);
        if does { self.server - 1 } else { 0 }
    }

    /// Stages along the rail: steps of its ring, or one of an all-to-all.
    fn steps(&self) -> u32 {
        match self.operation {
            Collective::AllReduce => 2 * (self.servers - 1),
            Collective::AllToAll => u32::from(self.servers > 1),
            _ => self.servers - 1,
        }
    }

    /// Messages of each of those.
    fn width(&self) -> u32 {
        if self.operation == Collective::AllToAll { self.servers - 1 } else { 1 }
    }

    fn rail_slots(&self) -> u32 {
        self.steps() * self.width()
    }

    /// Along the ring of a rail: the part of this rank's place in its server, in as many pieces as servers.
    fn along_rail(&self, rank: u32, step: u32, nth: u32, bytes: u64) -> (u32, u64) {
        let (server, place) = (rank / self.server, rank % self.server);
        if self.operation == Collective::AllToAll {
            // What all ranks of this server have for that place of the other.
            let to = (server + nth + 1) % self.servers;
            return (to * self.server + place, Shares { bytes, parts: self.servers }.one(to));
        }
        let own = Shares { bytes, parts: self.server }.one(place);
        let pieces = Shares { bytes: own, parts: self.servers };
        let piece = (server + self.servers - step % self.servers) % self.servers;
        ((server + 1) % self.servers * self.server + place, pieces.one(piece))
    }

    fn inside(&self, rank: u32, nth: u32) -> u32 {
        let (server, place) = (rank / self.server, rank % self.server);
        server * self.server + (place + nth + 1) % self.server
    }
}

impl Pattern for Hierarchical {
    fn slots(&self) -> u32 {
        self.before() + self.rail_slots() + self.after()
    }

    fn stages(&self, _: u32) -> u32 {
        2 + self.steps()
    }

    fn stage(&self, _: u32, stage: u32) -> Stage {
        let (before, steps, width) = (self.before(), self.steps(), self.width());
        let rails = before + self.rail_slots();
        // What the stage before had each rank receive.
        let awaits = match stage {
            0 => 0,
            1 => before,
            stage if stage <= steps + 1 => width,
            _ => self.after(),
        };
        let slots = match stage {
            0 => 0..before,
            stage if stage <= steps => before + (stage - 1) * width..before + stage * width,
            stage if stage == steps + 1 => rails..rails + self.after(),
            _ => 0..0,
        };
        Stage { awaits, awaits_own: 0, slots }
    }

    fn alike(&self) -> Option<Alike> {
        (self.width() == 1).then(|| Alike { stages: 1..1 + self.steps(), every: 1 })
    }

    fn phases(&self) -> Option<Vec<Phase>> {
        let rails = Phase { stage: 1, times: self.steps(), ring: self.servers };
        let last = Phase::once(1 + self.steps());
        let all = [(Phase::once(0), self.before()), (rails, self.rail_slots()), (last, self.after())];
        Some(all.into_iter().filter(|(_, slots)| *slots > 0).map(|(phase, _)| phase).collect())
    }

    fn messages(&self, ranks: u32) -> u64 {
        u64::from(ranks) * u64::from(self.slots())
    }

    fn message(&self, rank: u32, slot: u32, bytes: u64) -> Message {
        let (before, width) = (self.before(), self.width());
        let rails = before + self.rail_slots();
        let shares = Shares { bytes, parts: self.server };
        if slot < before {
            let to = self.inside(rank, slot);
            Message::new(to, shares.one(to % self.server), 0, 1)
        } else if slot < rails {
            let (step, nth) = ((slot - before) / width, (slot - before) % width);
            let (to, bytes) = self.along_rail(rank, step, nth, bytes);
            Message::new(to, bytes, 1 + step, 2 + step)
        } else {
            let last = 1 + self.steps();
            Message::new(self.inside(rank, slot - rails), shares.one(rank % self.server), last, last + 1)
        }
    }
}

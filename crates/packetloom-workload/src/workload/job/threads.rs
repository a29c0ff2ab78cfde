//! What an accelerator's threads do for a channel: they copy and reduce, one piece of a lane after the other.

use crate::units::{Rate, Time};

const MIB: u128 = 1 << 20;

/// What of a lane's messages a rank's threads have to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labour {
    /// Nothing: a proxy or a switch passes them on.
    None,
    /// A stage is one piece of data, to whomever it goes.
    Together,
    /// Messages are others' data, so many of them at a time, each sent and received by its share of the threads.
    Beside(u32),
}

/// The threads of an operation's lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threads {
    /// Bytes on the wire over time, of a lane.
    pub rate: Rate,
    /// Whether they go on only when a neighbour has what they wrote into its memory: Simple's fence.
    pub are_fenced: bool,
    /// What a MiB of each channel takes to a neighbour when all of them send at once, beside its first byte.
    pub mib_inside: Time,
    /// The server of each place.
    pub servers: Vec<u32>,
}

impl Threads {
    /// What they take for a message of so many bytes.
    pub fn take(&self, labour: Labour, bytes: u64) -> Time {
        match labour {
            Labour::None => Time::ZERO,
            Labour::Together => self.rate.time_for(bytes),
            Labour::Beside(others) => self.rate.time_for(bytes.saturating_mul(others.into())),
        }
    }

    /// How much later than its bytes can be there a neighbour has a message: it is sent as fast as threads write it.
    pub fn trail(&self, labour: Labour, bytes: u64) -> Time {
        let wire = u128::from(self.mib_inside.as_ps()) * u128::from(bytes) / MIB;
        self.take(labour, bytes).since(Time(u64::try_from(wire).unwrap_or(u64::MAX)))
    }

    /// Whether two places share a server.
    pub fn are_neighbours(&self, one: u32, other: u32) -> bool {
        self.servers[one as usize] == self.servers[other as usize]
    }
}

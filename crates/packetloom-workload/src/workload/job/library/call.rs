//! An operation as a library carries it out.

use crate::job::Collective;
use crate::narrow::saturated;
use crate::nccl::{Algorithm, Estimate, Machine, Parts};
use crate::units::Time;
use std::fmt::Write;

/// What a library chose for an operation, for whom, and what that costs hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// What it chose, in a word.
    pub algorithm: &'static str,
    /// And the protocol.
    pub protocol: &'static str,
    /// How many channels carry the data.
    pub channels: u32,
    /// What the cost model says of that, if it knows the operation.
    pub best: Option<Estimate>,
    /// The least of its other algorithms.
    pub next: Option<Estimate>,
    /// Of pairs, how their bytes are cut up.
    pub parts: Option<Parts>,
    /// What it knew of the ranks.
    pub machine: Machine,
    /// What hosts take.
    pub costs: HopCosts,
}

/// What a rank's accelerator, proxy and NIC take, beside what the network takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopCosts {
    /// Before it begins with a call.
    pub call: Time,
    /// From when a message of another server has come until it is used.
    pub network: Time,
    /// The same of a neighbour's message.
    pub inside: Time,
}

/// Microseconds as a time.
pub fn of_us(us: f64) -> Time {
    Time(saturated::<u64>((us * 1e6).round()))
}

impl Call {
    /// Whether switches in servers reduce, or multicast.
    pub fn is_switched(&self) -> bool {
        self.best.is_some_and(|best| matches!(best.algorithm, Algorithm::Nvls | Algorithm::NvlsTree))
    }

    /// What the cost model says that it takes, if it knows the operation.
    pub fn takes(&self) -> Option<Time> {
        self.best.map(|best| of_us(best.time_us))
    }

    /// What was chosen, what it is estimated to take, and what would come next.
    pub fn told(&self, operation: Collective, bytes: u64) -> String {
        let mut told = format!(
            "NCCL's {} of {bytes} B among {} ranks on {} server{}: {} with {}, {} channel{}",
            operation.name(),
            self.machine.ranks,
            self.machine.servers,
            plural(self.machine.servers),
            self.algorithm,
            self.protocol,
            self.channels,
            plural(self.channels),
        );
        // Writing to a string does not fail.
        if let Some(parts) = self.parts {
            let _ = write!(
                told,
                "; a pair has {} of them, in messages of {} B of data; the cost model has no such operation",
                parts.channels, parts.chunk_bytes
            );
        }
        if let Some(best) = &self.best {
            let _ = write!(
                told,
                ": {:.1} us (latency {:.1} us, then {:.1} GB/s)",
                best.time_us, best.latency_us, best.gbytes
            );
        }
        if let Some(next) = &self.next {
            let (algorithm, protocol) = (next.algorithm.name(), next.protocol.name());
            let _ = write!(told, "; {algorithm} with {protocol} would take {:.1} us", next.time_us);
        }
        told
    }
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

//! An operation as a library carries it out.

use crate::job::Collective;
use crate::narrow::saturated;
use crate::nccl::{Choice, Estimate, Machine};
use crate::units::Time;
use std::fmt::Write;

/// What a library chose for an operation, and for whom.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// What it chose.
    pub choice: Choice,
    /// What it knew of the ranks.
    pub machine: Machine,
}

impl Call {
    /// What the cost model says that it takes.
    pub fn takes(&self) -> Time {
        Time(saturated::<u64>((self.choice.best.time_us * 1e6).round()))
    }

    /// What was chosen, what it is estimated to take, and what would come next.
    pub fn told(&self, operation: Collective, bytes: u64) -> String {
        let Choice { best, next, channels } = &self.choice;
        let how = |one: &Estimate| format!("{} with {}", one.algorithm.name(), one.protocol.name());
        let mut told = format!(
            "NCCL's {} of {bytes} B among {} ranks on {} server{}: {}, {channels} channel{}: {:.1} us (latency {:.1} us, then {:.1} GB/s)",
            operation.name(),
            self.machine.ranks,
            self.machine.servers,
            plural(self.machine.servers),
            how(best),
            plural(*channels),
            best.time_us,
            best.latency_us,
            best.gbytes,
        );
        if let Some(next) = next {
            // Writing to a string does not fail.
            let _ = write!(told, "; {} would take {:.1} us", how(next), next.time_us);
        }
        told
    }
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

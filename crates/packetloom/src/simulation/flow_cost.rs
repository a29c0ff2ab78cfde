//! What jobs without packets cost, foreseen from how many operations and messages they have: a trial of a step of
//! training on thousands of ranks is no share of it worth naming.

use super::Simulation;
use super::fidelity::Fidelity;

/// What an operation of a rank took, of steps of training whose collective operations are wholes, on 512 ranks: 0.43 s
/// (`examples/gpt-16k.toml` with `data = 4` on 64 servers; a busy two-core AMD EPYC virtual machine, 28 November 2026).
const OPERATION_S: f64 = 0.66e-6;
/// On more ranks it takes longer, with this power of their number: less of what ranks keep is in a cache. Measured beside
/// it: 2.03 s on 2,048 ranks, 4.69 s on 4,096, and 41 s for the whole command on 16,384.
const POWER: f64 = 0.25;
const MEASURED_RANKS: f64 = 512.0;
/// On fewer it takes no less than on so many.
const LEAST_RANKS: f64 = 128.0;
/// What spans and rows take of memory for an operation, beside the graph, which is there when this is asked: the command
/// took 4.0 GB on 16,384 ranks, and 2.3 GB to check.
const OPERATION_BYTES: f64 = 80.0;

impl Simulation {
    /// Processor seconds and bytes of memory that the case takes, if it is one of jobs alone that are estimated without
    /// packets, with operations as wholes.
    pub fn flow_cost(&self) -> Option<(f64, f64)> {
        let jobs = self.workload.jobs();
        let is_whole = jobs.iter().all(|job| job.plan.has_wholes());
        let is_alone = !jobs.is_empty() && jobs.len() == self.workload.background().len();
        if Fidelity::of(&self.setting.case.run) != Fidelity::Flows || !is_whole || !is_alone {
            return None;
        }
        let operations = self.operations() as f64;
        let ranks: usize = jobs.iter().map(|job| job.plan.program.ranks.len()).sum();
        let crowding = ((ranks as f64).max(LEAST_RANKS) / MEASURED_RANKS).powf(POWER);
        Some((operations * OPERATION_S * crowding, operations * OPERATION_BYTES))
    }
}

//! Each job that a case waits for by itself: how much longer does it take beside the other sources?

use super::{IterationRow, Monitor, Outcome, Setting, Simulation};
use crate::scenario::Case;
use crate::spec::{Complaint, Value};
use crate::units::Time;
use crate::workload::job::Job;

/// When sources begin that are not to begin: no job takes so long, and nothing overflows that is added to it.
const NEVER_YET: Time = Time::from_us(1_000_000_000_000);

/// That there is a job, and something beside it.
pub(super) fn check(case: &Case, jobs: &[Job]) -> Result<(), Complaint> {
    if !case.measure.flag("alone") {
        return Ok(());
    }
    let complain = |message: &str| Err(Complaint::new("measure.alone", message));
    match (jobs.iter().filter(|job| is_awaited(case, job) && is_source(job)).count(), case.workloads.len()) {
        (0, _) => complain("the case waits for no job; leave this out"),
        (_, 1) => complain("the job is alone anyway; leave this out, or write a second [[workload]]"),
        _ => Ok(()),
    }
}

/// Whether a job is not in the background.
fn is_awaited(case: &Case, job: &Job) -> bool {
    !case.workloads[usize::from(job.of_source())].flag("background")
}

/// Whether it is the source itself, not what goes on of it after a failure.
fn is_source(job: &Job) -> bool {
    job.source == job.of_source()
}

/// Runs of the jobs of a case, each by itself.
#[derive(Debug)]
pub(super) struct Alone {
    /// By source.
    runs: Vec<(u8, Simulation)>,
}

impl Alone {
    /// The runs that a case asks for.
    pub(super) fn of(setting: &Setting, jobs: &[Job]) -> Result<Alone, Complaint> {
        let is_wanted = setting.case.measure.flag("alone");
        let wanted = jobs.iter().filter(|job| is_wanted && is_awaited(&setting.case, job) && is_source(job));
        let run = |job: &Job| {
            let mut simulation = Simulation::new(by_itself(&setting.case, usize::from(job.source)))?;
            simulation.setting.longest_window = setting.longest_window;
            simulation.setting.threads = setting.threads;
            simulation.setting.is_audited = setting.is_audited;
            Ok((job.source, simulation))
        };
        Ok(Alone { runs: wanted.map(run).collect::<Result<_, Complaint>>()? })
    }

    /// Runs them, and adds what came of them to the case's repetitions.
    pub(super) fn add_to(self, outcome: &mut Outcome, monitor: &Monitor) -> Result<(), Complaint> {
        for (source, simulation) in self.runs {
            if outcome.cancelled || outcome.violation.is_some() {
                return Ok(());
            }
            let alone = simulation.run(&monitor.under())?;
            outcome.cancelled = alone.cancelled;
            outcome.helpers_took += alone.helpers_took;
            outcome.violation = alone.violation;
            let same = |row: &IterationRow| {
                let found = alone.iterations.iter().find(|one| one.iteration == row.iteration);
                found.and_then(|one| Some((one.start, one.took()?)))
            };
            let own = outcome.iterations.iter_mut().filter(|row| row.source == source);
            own.for_each(|row| row.alone = same(row));
        }
        Ok(())
    }
}

/// The case in which no source but this one begins, and nothing is recorded.
fn by_itself(case: &Case, source: usize) -> Case {
    let mut case = case.clone();
    for (place, workload) in case.workloads.iter_mut().enumerate() {
        let is_other = place != source;
        workload.entries.insert("background".to_owned(), Value::Flag(is_other));
        if is_other {
            workload.entries.insert("start".to_owned(), Value::Time(NEVER_YET));
        }
    }
    for value in case.measure.entries.values_mut() {
        *value = if matches!(value, Value::Flag(_)) { Value::Flag(false) } else { Value::Absent };
    }
    case
}

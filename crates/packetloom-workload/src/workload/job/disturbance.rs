//! What goes wrong with single ranks of a job: one begins its steps late, computes slowly, or fails.
//!
//! All of it is known before a run begins. What ranks do not know of each other is which step all of them had finished
//! when one failed: each writes its own on the [`Roll`] at that moment. Those who go on read it a time later that no
//! window of the engine is longer than, so that all have written by then.

use super::plan::{Life, Plan, Settings};
use crate::job::{Program, Rank, Work};
use crate::narrow::{exact, saturated};
use crate::spec::{Complaint, Values};
use crate::units::Time;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A fault of a rank, as the scenario has it.
#[derive(Clone, Debug, PartialEq)]
pub struct RankFault {
    /// Its number among the scenario's faults.
    pub number: usize,
    /// The source that is the rank's job.
    pub source: u8,
    /// What it is.
    pub values: Values,
}

impl RankFault {
    /// These faults, by their numbers, each with the job that it is of; `jobs`: the sources that are jobs.
    ///
    /// # Errors
    /// A fault of no job, by its key in the scenario.
    pub fn all<'a>(
        faults: impl Iterator<Item = (usize, &'a Values)>,
        jobs: &[usize],
    ) -> Result<Vec<RankFault>, Complaint> {
        let of_job = |(number, values): (usize, &Values)| {
            let complain = |message: String| Err(Complaint::new(&format!("fault[{number}].job"), message));
            let source = match (values.optional_count("job"), jobs) {
                (_, []) => {
                    return complain(
                        "no [[workload]] is a job, whose ranks it could be of; leave it out".to_owned(),
                    );
                }
                (None, [only]) => *only,
                (None, several) => {
                    return complain(format!(
                        "{} [[workload]] are jobs; write job = {}, or another",
                        several.len(),
                        several[0]
                    ));
                }
                (Some(job), _) => match jobs.iter().find(|&&place| place as u64 == job) {
                    Some(&place) => place,
                    None => return complain(format!("workload[{job}] is no job; write job = {}", jobs[0])),
                },
            };
            Ok(RankFault { number, source: exact::<u8>(source), values: values.clone() })
        };
        faults.map(of_job).collect()
    }

    fn complain<T>(&self, key: &str, message: String) -> Result<T, Complaint> {
        Err(Complaint::new(&format!("fault[{}].{key}", self.number), message))
    }
}

/// What a rank is in a spell.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Is {
    /// It begins its steps so much later.
    Late(Time),
    /// It takes so many times as long to compute.
    Slow(f64),
}

/// A time in which a rank is not as it should be.
#[derive(Debug)]
struct Spell {
    fault: usize,
    rank: u32,
    is: Is,
    from: Time,
    until: Time,
    /// Whether it changed anything.
    acted: AtomicBool,
}

impl Spell {
    fn holds(&self, at: Time) -> bool {
        (self.from..self.until).contains(&at)
    }
}

/// What follows when a rank has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Nothing more.
    Stop,
    /// The job begins again so much later, with the first step that not all had finished.
    Restart(Time),
    /// So does the part of it that does without the replica of the model which the rank belonged to.
    WithoutReplica(Time),
}

impl Then {
    /// How much later the job goes on, if it does.
    pub fn after(self) -> Option<Time> {
        match self {
            Then::Stop => None,
            Then::Restart(after) | Then::WithoutReplica(after) => Some(after),
        }
    }
}

/// What all ranks had finished when one failed.
#[derive(Debug)]
pub struct Roll(AtomicU32);

impl Roll {
    /// A rank was in this repetition when one failed.
    fn was_in(&self, iteration: u32) {
        self.0.fetch_min(iteration, Ordering::Relaxed);
    }

    /// How many repetitions all had finished, if the job had not ended.
    pub fn finished(&self) -> Option<u32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|finished| *finished < u32::MAX)
    }
}

/// A rank that fails, and the whole job with it.
#[derive(Debug)]
pub struct Failure {
    /// The number of the fault.
    pub fault: usize,
    /// Which rank.
    pub rank: u32,
    /// When.
    pub at: Time,
    /// And then.
    pub then: Then,
    /// The ranks that the job does without from then on.
    pub lost: BTreeSet<u32>,
    /// What was finished by then.
    pub roll: Roll,
}

/// All that goes wrong with ranks of a job.
#[derive(Debug, Default)]
pub struct Disturbances {
    spells: Vec<Spell>,
    failure: Option<Failure>,
}

impl Disturbances {
    /// What faults come to in a job; `replica`: which ranks belong to the replica of a rank, or why there is none.
    ///
    /// # Errors
    /// What can't happen to this job, by its key in the scenario.
    pub fn of(
        faults: &[RankFault],
        plan: &Plan,
        replica: impl Fn(u32) -> Result<BTreeSet<u32>, &'static str>,
    ) -> Result<Disturbances, Complaint> {
        let mut all = Disturbances::default();
        for fault in faults {
            let RankFault { number, values, .. } = fault;
            let ranks = plan.program.ranks.len();
            let rank = match usize::try_from(values.count("rank")) {
                Ok(rank) if rank < ranks => exact::<u32>(rank),
                _ => return fault.complain("rank", format!("its job has {ranks} ranks; write one below")),
            };
            if values.kind == "rank-fail" {
                if plan.is_modelled() {
                    let message = "NCCL's cost model (mode = \"tuner\") sends nothing that could fail; write mode = \"packets\"";
                    return fault.complain("kind", message.to_owned());
                }
                if all.failure.is_some() {
                    let message = "a rank of this job fails already, and a second failure is not modelled; leave one out";
                    return fault.complain("kind", message.to_owned());
                }
                all.failure = Some(failure(fault, rank, &replica)?);
                continue;
            }
            let is = if values.kind == "rank-slow" {
                if !computes(&plan.program.ranks[rank as usize]) {
                    let message = "this rank computes nothing in its job, so it can't be slow; write \"rank-delay\", or leave it out";
                    return fault.complain("rank", message.to_owned());
                }
                Is::Slow(values.number("factor"))
            } else {
                Is::Late(values.time("by"))
            };
            let until = values.optional_time("until").unwrap_or(Time::NEVER);
            let (from, acted) = (values.time("at"), AtomicBool::new(false));
            all.spells.push(Spell { fault: *number, rank, is, from, until, acted });
        }
        Ok(all)
    }

    /// How much later than at `at` a rank begins a step.
    pub fn late_by(&self, rank: u32, at: Time) -> Time {
        let mut late = Time::ZERO;
        for spell in self.spells.iter().filter(|spell| spell.rank == rank && spell.holds(at)) {
            if let Is::Late(by) = spell.is {
                spell.acted.store(true, Ordering::Relaxed);
                late = late.saturating_add(by);
            }
        }
        late
    }

    /// How long a rank computes from `begin` on for what takes it so long when it is not slow. Where times overlap the
    /// slowest holds.
    pub fn computes_for(&self, rank: u32, begin: Time, usual: Time) -> Time {
        let slow = || self.spells.iter().filter(move |one| one.rank == rank && matches!(one.is, Is::Slow(_)));
        if usual == Time::ZERO || slow().next().is_none() {
            return usual;
        }
        let (mut now, mut left) = (begin, usual.as_ps() as f64);
        loop {
            let holding = || slow().filter(|one| one.holds(now));
            let factor = holding().fold(1.0, |most, one| match one.is {
                Is::Slow(factor) => factor.max(most),
                Is::Late(_) => most,
            });
            holding().for_each(|one| one.acted.store(true, Ordering::Relaxed));
            let changes =
                slow().flat_map(|one| [one.from, one.until]).filter(|at| *at > now && *at < Time::NEVER);
            let takes = left * factor;
            match changes.min() {
                Some(change) if takes > change.since(now).as_ps() as f64 => {
                    left -= change.since(now).as_ps() as f64 / factor;
                    now = change;
                }
                _ => return now.since(begin).saturating_add(Time(saturated::<u64>(takes.round()))),
            }
        }
    }

    /// The rank that fails, if one does.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Notes that a rank was in this repetition when one failed.
    pub(super) fn fail_in(&self, iteration: u32) {
        self.failure.iter().for_each(|failure| failure.roll.was_in(iteration));
    }

    /// The numbers of the faults that changed nothing so far.
    pub fn in_vain(&self) -> Vec<usize> {
        let spells = self.spells.iter().filter(|one| !one.acted.load(Ordering::Relaxed)).map(|one| one.fault);
        let failures = self.failure.iter().filter(|one| one.roll.finished().is_none()).map(|one| one.fault);
        spells.chain(failures).collect()
    }
}

fn failure(
    fault: &RankFault,
    rank: u32,
    replica: impl Fn(u32) -> Result<BTreeSet<u32>, &'static str>,
) -> Result<Failure, Complaint> {
    let after = fault.values.optional_time("after").unwrap_or(Time::ZERO);
    let then = match fault.values.text("then").as_str() {
        "restart" => Then::Restart(after),
        "without-replica" => Then::WithoutReplica(after),
        _ => Then::Stop,
    };
    let lost = match then {
        Then::WithoutReplica(_) => match replica(rank) {
            Ok(lost) => lost,
            Err(why) => return fault.complain("then", format!("{why}; write \"restart\" or \"stop\"")),
        },
        _ => BTreeSet::new(),
    };
    let roll = Roll(AtomicU32::new(u32::MAX));
    Ok(Failure { fault: fault.number, rank, at: fault.values.time("at"), then, lost, roll })
}

fn computes(rank: &Rank) -> bool {
    rank.operations()
        .iter()
        .any(|one| matches!(one.work, Work::Compute { duration } if duration > Time::ZERO))
}

/// Has faults happen to a job; returns the job as it goes on once a rank has failed, if it does.
///
/// # Errors
/// What can't be carried out without the ranks that are lost.
pub fn disturb(plan: &mut Plan, disturbances: Disturbances) -> Result<Option<Plan>, String> {
    let disturbances = Arc::new(disturbances);
    plan.settings.disturbances = Arc::clone(&disturbances);
    let Some(failure) = disturbances.failure() else { return Ok(None) };
    plan.settings.life = Life::UntilFailure;
    let Some(after) = failure.then.after() else { return Ok(None) };
    let mut settings = Settings { life: Life::AfterFailure, ..plan.settings.clone() };
    settings.like.start = failure.at.saturating_add(after);
    Plan::new(without(&plan.program, &failure.lost), settings).map(Some)
}

/// A program without some of its ranks, which do nothing and are in no group; the others keep their numbers.
fn without(program: &Program, lost: &BTreeSet<u32>) -> Program {
    let mut left = program.clone();
    lost.iter().for_each(|&rank| left.ranks[rank as usize] = Rank::default());
    left.groups.iter_mut().for_each(|group| group.retain(|rank| !lost.contains(rank)));
    left
}

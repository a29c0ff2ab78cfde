//! Sources of traffic that are jobs: collective operations, training, inference, measurements of links, and traces.

use super::job::library::library_of;
use super::job::settings::{self, Site};
use super::job::{Costs, Plan};
use super::{collective, experts, kv_cache, perftest, traces, training};
use crate::flow::Flow;
use crate::job::{Program, Rank};
use crate::narrow::exact;
use crate::random::Stream;
use crate::spec::{Complaint, Component, Values};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Every kind of `arrivals` that is a job.
pub const COMPONENTS: &[Component] = &[
    collective::COMPONENT,
    training::COMPONENT,
    experts::COMPONENT,
    kv_cache::COMPONENT,
    perftest::COMPONENT,
    traces::GOAL,
    traces::CHAKRA,
    traces::SIMAI,
];

/// Whether arrivals of a kind are a job.
pub fn is_job(kind: &str) -> bool {
    COMPONENTS.iter().any(|component| component.kind == kind)
}

/// The plan of a job, and what it is in words.
///
/// # Errors
/// What can't be executed, by its key.
pub fn plan(
    values: &Values,
    site: &Site<'_>,
    like: Flow,
    draws: &mut Stream,
) -> Result<(Plan, String), Complaint> {
    let (program, what) = program(values, exact::<u32>(site.hosts.len()), draws)?;
    let mut settings = settings::settings(values, exact::<u32>(program.ranks.len()), site, like, draws)?;
    if values.kind == "collective" {
        settings.algorithms.extend([collective::algorithm(values)]);
    }
    if values.kind == "goal" {
        settings.costs.eager = values.optional_bytes("eager");
    }
    if values.kind == "perftest" {
        // What its ranks take for messages is in its program.
        settings.costs = Costs { gap: settings.costs.gap, ..Costs::default() };
    }
    let key = match values.kind.as_str() {
        _ if settings.library.is_some() => "library",
        "collective" => "algorithm",
        _ => "repeat",
    };
    let program = match settings.nodes_from {
        Some(first) => {
            let mut program = program;
            let nodes = settings.hosts.len() - first as usize;
            let ranks = &mut Arc::make_mut(&mut program).ranks;
            ranks.extend(std::iter::repeat_with(Rank::default).take(nodes));
            program
        }
        None => program,
    };
    let plan = Plan::new(program, settings).map_err(|message| Complaint::new(key, message))?;
    Ok((plan, what))
}

/// The ranks that hold the same copy of a model as a rank does.
///
/// # Errors
/// Why a job has no such copies.
pub fn replica(values: &Values, rank: u32) -> Result<BTreeSet<u32>, &'static str> {
    match values.kind.as_str() {
        "training" => training::replica(values, rank),
        _ => Err("only \"training\" says which ranks hold a copy of the model"),
    }
}

/// The program of training that was made last, with what it is in words. Cases of a grid differ in other things, and one
/// of thousands of ranks takes seconds and a gigabyte. More than one is not kept.
static LAST: Mutex<Option<(Values, Arc<Program>, String)>> = Mutex::new(None);

fn training_program(values: &Values) -> (Arc<Program>, String) {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, program, what)) = &*last
        && known == values
    {
        return (Arc::clone(program), what.clone());
    }
    // Two are not there at once.
    *last = None;
    let (program, what) = training::program(values);
    let program = Arc::new(program);
    *last = Some((values.clone(), Arc::clone(&program), what.clone()));
    (program, what)
}

fn program(values: &Values, hosts: u32, draws: &mut Stream) -> Result<(Arc<Program>, String), Complaint> {
    let (program, what) = match values.kind.as_str() {
        "collective" => {
            let ranks = among(values, hosts)?;
            let (operation, algorithm) = collective::algorithm(values);
            let by =
                library_of(values).map_or(algorithm.name().to_owned(), |library| library.kind.to_uppercase());
            let what = format!("{} among {ranks} hosts, {by}", operation.name());
            Ok((collective::program(values, ranks)?, what))
        }
        "moe" => experts::program(values, among(values, hosts)?, draws),
        "training" => {
            let degrees = ["tensor", "data", "pipeline"].map(|key| values.count(key));
            let ranks = degrees.into_iter().fold(1, u64::saturating_mul);
            if ranks > u64::from(hosts) {
                let message =
                    format!("tensor × data × pipeline are {ranks} ranks among {hosts} hosts; write fewer");
                let largest = ["tensor", "pipeline", "data"].into_iter().max_by_key(|key| values.count(key));
                return Err(Complaint::new(largest.unwrap_or("data"), message));
            }
            return Ok(training_program(values));
        }
        "kv-cache" => {
            let ranks = values.count("prefill").saturating_add(values.count("decode"));
            settings::check_ranks("decode", ranks, u64::from(hosts))?;
            Ok(kv_cache::program(values))
        }
        "perftest" => {
            settings::check_ranks("pairs", perftest::ranks(values), u64::from(hosts))?;
            Ok(perftest::program(values))
        }
        _ => traces::program(values),
    }?;
    Ok((Arc::new(program), what))
}

/// How many ranks there are: as many as written, or as hosts.
fn among(values: &Values, hosts: u32) -> Result<u32, Complaint> {
    let ranks = values.optional_count("ranks").unwrap_or(u64::from(hosts));
    settings::check_ranks("ranks", ranks, u64::from(hosts))?;
    Ok(exact::<u32>(ranks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Value;
    use crate::units::Time;

    fn training(layers: u64) -> Values {
        let mut entries = std::collections::BTreeMap::new();
        for (key, count) in [("tensor", 2), ("data", 2), ("pipeline", 1), ("experts", 1), ("microbatches", 1)]
        {
            entries.insert(key.to_owned(), Value::Count(count));
        }
        entries.insert("layers".to_owned(), Value::Count(layers));
        for key in ["forward", "backward", "update"] {
            entries.insert(key.to_owned(), Value::Time(Time::from_us(1)));
        }
        for key in ["activations", "gradients"] {
            entries.insert(key.to_owned(), Value::Bytes(1_000));
        }
        for (key, flag) in [("overlap", true), ("sharded", false)] {
            entries.insert(key.to_owned(), Value::Flag(flag));
        }
        Values { kind: "training".to_owned(), entries }
    }

    #[test]
    fn cases_that_train_alike_share_a_program() {
        let (one, what) = training_program(&training(2));
        let (same, same_what) = training_program(&training(2));
        assert!(Arc::ptr_eq(&one, &same) && what == same_what);
        let (other, _) = training_program(&training(3));
        assert!(other.operations() > one.operations());
        let (again, _) = training_program(&training(2));
        assert_eq!(one, again);
    }
}

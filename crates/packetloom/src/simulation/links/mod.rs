//! `fidelity = "links"`: each link simulated apart with the flows that cross it, by the scenario's own transport and
//! queues, and the delays put together along each flow's path (the idea of Parsimon, Zhao et al., NSDI 2023).
//!
//! 1. `crossings`: which links each flow crosses, and in which ways paths differ.
//! 2. `alone`: what a flow takes beyond its best FCT on an empty network, by its size: a window that starts small.
//! 3. `alike`: of links that are alike some are simulated, from the least to the most loaded.
//! 4. `apart`: such a link, with its flows, on a small network that keeps their round-trip times and rates. What a
//!    flow takes there beyond what it takes alone is the link's delay.
//! 5. `pool`: at a link that was not simulated, a flow has the delay per packet of a flow of about its size at a link
//!    that is alike and about as loaded, drawn at random.
//!
//! A flow's FCT is then its best FCT, what it takes more when it is alone, and its delays at all its links. So delays
//! at the links of a path are taken to add up and to be independent of each other: a flow that one link slows down
//! comes to the next one as if nothing had happened.

mod alike;
mod alone;
mod apart;
mod crossings;
mod parallel;
mod pool;

use super::fidelity::LinkRung;
use super::{Monitor, Outcome, Simulation};
use crate::engine::Tally;
use crate::flow::Flow;
use crate::measure::Collector;
use crate::random::{Purpose, Stream};
use crate::spec::Complaint;
use crate::units::Time;
use alike::Classes;
use alone::Alone;
use apart::{Apart, Found};
use crossings::Crossings;
use pool::Pools;
use std::collections::BTreeMap;

/// Runs a case link by link.
///
/// # Errors
/// What of it can't be simulated.
pub(super) fn run_links(
    simulation: Simulation,
    rung: LinkRung,
    monitor: &Monitor,
) -> Result<Outcome, Complaint> {
    let Simulation { setting, mut workload, environment } = simulation;
    let background = workload.background().to_vec();
    let max_time = setting.max_time();
    let flows = std::iter::from_fn(|| workload.next_flow()).take_while(|flow| flow.start < max_time);
    let crossings = Crossings::of(&setting, flows.collect());
    let classes = Classes::of(&setting.topology, &crossings, rung);
    let apart = Apart::new(&setting, &crossings, &environment, monitor);
    let (alone, alone_took) = Alone::of(&apart, setting.threads)?;
    let simulated = classes.representatives();
    let all: usize = simulated.iter().map(|&link| crossings.at(link).len()).sum();
    let work = |nth: usize| {
        let found = apart.delays(simulated[nth], &alone);
        monitor.add(found.as_ref().map_or(0, |found| found.tally.packet_hops), || {
            crossings.at(simulated[nth]).len() as f64 / all as f64
        });
        found
    };
    let (found, took) = parallel::all(setting.threads, simulated.len(), &work);
    let found = found.into_iter().collect::<Result<Vec<Found>, Complaint>>()?;
    let found: BTreeMap<u32, Found> = simulated.iter().copied().zip(found).collect();
    let is_wanted = monitor.is_wanted();
    let mut collector = Collector::new(setting.format, background);
    let mut estimates = Estimates::of(rung, &classes, &crossings, &found, setting.case.seed);
    for (index, flow) in crossings.flows.iter().enumerate().filter(|_| is_wanted) {
        collector.start(*flow, &setting.topology);
        let best = collector.best_fct(flow.id);
        let more_ps = alone.excess_ps(&crossings, index) + estimates.delay_ps(index, flow);
        let fct_ps = (best.as_ps() as f64 + more_ps).max(best.as_ps() as f64);
        let end = if fct_ps.is_finite() {
            flow.start.saturating_add(Time(fct_ps.round() as u64))
        } else {
            Time::NEVER
        };
        if end <= max_time && end != Time::NEVER {
            collector.finish(flow.id, end);
        }
    }
    let tally = found.values().map(|found| found.tally).fold(alone.tally, |sum: Tally, one| sum + one);
    let counts = (found.len(), crossings.used());
    let problems: Vec<String> = found.values().filter_map(|found| found.problem.clone()).collect();
    let mut outcome = setting.outcome(collector, &[], tally);
    outcome.cancelled = !is_wanted;
    outcome.helpers_took = alone_took + took;
    outcome.warnings.push(format!("of {} links that flows cross, {} were simulated", counts.1, counts.0));
    outcome.warnings.extend(problems.into_iter().next());
    Ok(outcome)
}

/// Puts delays together.
struct Estimates<'a> {
    pools: Pools<'a>,
    crossings: &'a Crossings,
    found: &'a BTreeMap<u32, Found>,
    /// How far the flows of each simulated link have been read; flows come in the order in which links have them.
    read: BTreeMap<u32, usize>,
    seed: u64,
}

impl<'a> Estimates<'a> {
    fn of(
        rung: LinkRung,
        classes: &'a Classes,
        crossings: &'a Crossings,
        found: &'a BTreeMap<u32, Found>,
        seed: u64,
    ) -> Estimates<'a> {
        let pools = Pools::new(rung, classes, crossings, found);
        Estimates { pools, crossings, found, read: BTreeMap::new(), seed }
    }

    /// A flow's delays at all its links: its own where the link was simulated, else drawn. Every flow is asked about
    /// once, in order.
    fn delay_ps(&mut self, index: usize, flow: &Flow) -> f64 {
        let Estimates { pools, crossings, found, read, seed } = self;
        let packets = crossings.packets[index];
        let delay = |&link: &u32| match found.get(&link) {
            Some(own) => {
                let place = read.entry(link).or_default();
                *place += 1;
                own.delays_ps[*place - 1]
            }
            None => {
                let key = u64::from(flow.id) << 32 | u64::from(link);
                let mut stream = Stream::new(*seed, Purpose::Estimates, key);
                pools.draw(link, packets, &mut stream) * packets as f64
            }
        };
        crossings.path(index).iter().map(delay).sum()
    }
}

//! `fidelity = "links"`: each link simulated apart with the flows that cross it, by the scenario's own transport and
//! queues, and the delays put together along each flow's path (the idea of Parsimon, Zhao et al., NSDI 2023).
//!
//! 1. `crossings`: which links each flow crosses, and in which ways paths differ.
//! 2. `alone`: what a flow takes beyond its best FCT on an empty network, by its size: a window that starts small.
//! 3. `alike`: of links that are alike some are simulated, from the least to the most loaded; of a host's cable both
//!    directions together.
//! 4. `limits`: what the rest of its path leaves each flow that lasts, over time, how long it waits by that, and with how
//!    many others each flow shares each link: by a flow-level model of the whole network.
//! 5. `apart`, `star`: such a link, with its flows, on a small network that keeps their round-trip times and rates,
//!    and holds flows back as the rest of their paths does. What a flow takes there beyond what it takes alone, and
//!    what it waits by the flow-level model, is the link's delay.
//! 6. `pool`: at a link that was not simulated, a flow has the delay of a flow of about its size that shares a link that
//!    is alike with about as many others, drawn at random.
//!
//! A flow's FCT is then its best FCT, what it takes more when it is alone, what it waits by the flow-level model, and
//! its delays at all its links. So what queues of packets add to fair shares is taken to add up, and to be independent
//! from link to link. For a large flow, it is what its bottleneck alone adds, in parts of what it takes otherwise.

mod alike;
mod alone;
mod apart;
mod crossings;
mod limits;
mod parallel;
mod pool;
mod star;

use super::fidelity::LinkRung;
use super::{Monitor, Outcome, Simulation};
use crate::flow::Flow;
use crate::measure::Collector;
use crate::narrow::{narrow, saturated};
use crate::random::{Purpose, Stream};
use crate::spec::Complaint;
use crate::units::Time;
use alike::{Classes, Section};
use alone::Alone;
use apart::{Apart, Effect, Effects};
use crossings::Crossings;
use limits::Limits;
use pool::{Kind, Pools};

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
    let simulated = &classes.simulated;
    let links: Vec<u32> = simulated.iter().flat_map(|section| section.links()).collect();
    let limits = Limits::of(&setting, &crossings, &links);
    let apart = Apart::new(&setting, &crossings, &environment, monitor, &limits);
    let (alone, alone_took) = Alone::of(&apart, setting.threads)?;
    let count = |section: &Section| section.links().map(|link| crossings.at(link).len()).sum::<usize>();
    let all: usize = simulated.iter().map(count).sum();
    let work = |nth: usize| {
        let found = apart.effects(simulated[nth], &alone);
        let hops = found.as_ref().map_or(0, |found| found.tally.packet_hops);
        monitor.add(hops, || count(&simulated[nth]) as f64 / all as f64);
        found
    };
    let (found, took) = parallel::all(setting.threads, simulated.len(), &work);
    let (mut effects, mut tally, mut problem) = (Effects::new(), alone.tally, None);
    for found in found {
        let found = found?;
        effects.extend(found.effects);
        tally = tally + found.tally;
        problem = problem.or(found.problem);
    }
    let is_wanted = monitor.is_wanted();
    let mut collector = Collector::new(setting.format, background);
    let pools = Pools::new(rung.neighbours, setting.case.seed, &classes, &crossings, &limits, &effects);
    let (crossings, limits, effects) = (&crossings, &limits, &effects);
    let mut estimates = Estimates { pools, crossings, limits, effects, seed: setting.case.seed };
    for (index, flow) in crossings.flows.iter().enumerate().filter(|_| is_wanted) {
        collector.start(*flow, &setting.topology);
        let best = collector.best_fct(flow.id);
        let alone_ps = best.as_ps() as f64 + alone.excess_ps(crossings, index);
        let fct_ps = estimates.fct_ps(index, flow, alone_ps).max(best.as_ps() as f64);
        let end = if fct_ps.is_finite() {
            flow.start.saturating_add(Time(saturated::<u64>(fct_ps.round())))
        } else {
            Time::NEVER
        };
        if end <= max_time && end != Time::NEVER {
            collector.finish(flow.id, end);
        }
    }
    let counts = (links.len(), crossings.used());
    let mut outcome = setting.outcome(collector, &[], tally);
    outcome.cancelled = !is_wanted;
    outcome.helpers_took = alone_took + took;
    outcome.warnings.push(format!("of {} links that flows cross, {} were simulated", counts.1, counts.0));
    outcome.warnings.extend(problem);
    Ok(outcome)
}

/// Puts together what links do to flows.
struct Estimates<'a> {
    pools: Pools<'a>,
    crossings: &'a Crossings,
    limits: &'a Limits,
    effects: &'a Effects,
    seed: u64,
}

impl Estimates<'_> {
    /// What a flow takes that would take `alone_ps` alone.
    fn fct_ps(&mut self, index: usize, flow: &Flow, alone_ps: f64) -> f64 {
        let (number, crossings) = (narrow::<u32>(index), self.crossings);
        let expected_ps = alone_ps + self.limits.wait_ps(number);
        if self.limits.is_large(number) {
            return expected_ps * self.effect(index, flow, self.limits.held_by(number));
        }
        let path = crossings.path(index).iter();
        expected_ps + path.map(|&link| self.effect(index, flow, link)).sum::<f64>()
    }

    /// A flow's delay at a link in ps, or by what a large one is stretched there: its own where the link was simulated,
    /// else drawn.
    fn effect(&mut self, index: usize, flow: &Flow, link: u32) -> f64 {
        let Estimates { pools, crossings, limits, effects, seed } = self;
        let own = effects.get(&link).map(|effects| {
            let place = crossings.at(link).binary_search(&narrow::<u32>(index));
            effects[place.expect("a flow is among those of its links")]
        });
        if let Some(Effect::Delay(own) | Effect::Stretch(own)) = own {
            return own;
        }
        let key = u64::from(flow.id) << 32 | u64::from(link);
        let mut stream = Stream::new(*seed, Purpose::Estimates, key);
        let like = (crossings.packets[index], limits.others(crossings, link, narrow::<u32>(index)));
        if limits.is_large(narrow::<u32>(index)) {
            pools.draw((link, Kind::Large), like, &mut stream).unwrap_or(1.0)
        } else {
            pools.draw((link, Kind::Small), like, &mut stream).unwrap_or(0.0)
        }
    }
}

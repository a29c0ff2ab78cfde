//! The traffic of one simulation: flows in order of start, and chains of closed loops.

use super::build;
use super::chain::{Chain, Numbering};
use super::facts::SourceFacts;
use super::members;
use super::source::OpenSource;
use crate::flow::{Flow, FlowId};
use crate::spec::{Complaint, Values};
use crate::units::{Rate, Time};

/// What a workload has to know of the rest of the scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// How many hosts there are.
    pub hosts: u32,
    /// The rate of a host's link.
    pub host_rate: Rate,
    /// Application bytes in a full packet.
    pub mss: u64,
    /// Header bytes of every packet.
    pub header: u64,
    /// Mean bytes offered per host and second, headers included, over the host link's rate.
    pub load: Option<f64>,
    /// The seed of every draw.
    pub seed: u64,
    /// How many flows the run has: open-loop sources without a number of their own share it, the first so many in
    /// order of start; each closed-loop source has it for itself, spread evenly over its chains.
    pub flow_limit: Option<u64>,
    /// Flows start before this.
    pub duration: Option<Time>,
}

/// From here on chains number their flows where the number of the others is not known beforehand.
const HIGH_BASE: FlowId = 1 << 31;

/// The traffic of one simulation.
#[derive(Debug)]
pub struct Workload {
    open: Vec<OpenLoop>,
    /// How many more flows the sources without a number of their own may start.
    shared_left: u64,
    next_id: FlowId,
    /// Flows that go by the clock are numbered below this.
    end_id: FlowId,
    chains: Vec<Chain>,
    facts: Vec<SourceFacts>,
    /// For each source, whether the case does not wait for its flows.
    background: Vec<bool>,
}

/// A source that goes by the clock.
#[derive(Debug)]
pub(super) struct OpenLoop {
    pub(super) source: OpenSource,
    /// Whether its flows count towards the run's number.
    pub(super) shares_limit: bool,
    /// Whether the case does not wait for its flows.
    pub(super) is_background: bool,
    /// How many flows it has at most, where that is known.
    pub(super) count: Option<u64>,
}

/// What a `[[workload]]` section comes to.
pub(super) enum Built {
    Open(OpenLoop, SourceFacts),
    Closed(Vec<Chain>, SourceFacts),
}

impl Workload {
    /// The traffic that `specs`, the scenario's `workload` components, ask for.
    ///
    /// # Errors
    /// A complaint whose key begins with `workload[i]`, the source at fault counted from 0, or is the key of the
    /// scenario's part at fault.
    pub fn build(specs: &[Values], env: &Environment) -> Result<Workload, Complaint> {
        build::check_together(specs, env)?;
        let (mut open, mut chains, mut facts) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (spec, members)) in specs.iter().zip(members::choose(specs, env)?).enumerate() {
            let among = members.describe(env.hosts);
            let built = build::source(spec, env, index as u8, members)
                .map_err(|complaint| build::inside(&format!("workload[{index}]"), complaint))?;
            let mut fact = match built {
                Built::Open(source, fact) => {
                    open.push(source);
                    fact
                }
                Built::Closed(more, fact) => {
                    chains.extend(more);
                    fact
                }
            };
            fact.pattern.extend(among.map(|among| format!(" {among}")));
            facts.push(fact);
        }
        let base = first_chain_id(&open, env.flow_limit);
        let numbering = Numbering { base, chains: chains.len() as u32 };
        for (number, chain) in (0..).zip(&mut chains) {
            chain.set_number(number, numbering);
        }
        let end_id = if chains.is_empty() { FlowId::MAX } else { base };
        let shared_left = env.flow_limit.unwrap_or(u64::MAX);
        let background = specs.iter().map(|spec| spec.flag("background")).collect();
        Ok(Workload { open, shared_left, next_id: 0, end_id, chains, facts, background })
    }

    /// For each source, whether the case does not wait for its flows.
    pub fn background(&self) -> &[bool] {
        &self.background
    }

    /// Whether flows are still to start that the case waits for; those of closed loops it does not know.
    pub fn has_foreground_left(&self) -> bool {
        let may_start =
            |open: &&OpenLoop| !open.is_background && (!open.shares_limit || self.shared_left > 0);
        self.open.iter().filter(may_start).any(|open| open.source.peek_start().is_some())
    }

    /// When the next flow starts that goes by the clock.
    pub fn peek_start(&self) -> Option<Time> {
        self.next_source().map(|(start, _)| start)
    }

    /// The next flow that goes by the clock, in order of start, then of source, then of being drawn.
    ///
    /// # Panics
    /// If there are more flows than a [`FlowId`] can number.
    pub fn next_flow(&mut self) -> Option<Flow> {
        let (_, index) = self.next_source()?;
        let open = &mut self.open[index];
        let flow = open.source.next_flow()?;
        if open.shares_limit {
            self.shared_left -= 1;
        }
        let id = self.next_id;
        assert!(id < self.end_id, "more flows than can be numbered");
        self.next_id += 1;
        Some(Flow { id, ..flow })
    }

    /// The closed loops' chains, in order of their number; each belongs to its sending host from now on.
    pub fn take_chains(&mut self) -> Vec<Chain> {
        std::mem::take(&mut self.chains)
    }

    /// What each source comes to.
    pub fn describe(&self) -> &[SourceFacts] {
        &self.facts
    }

    fn next_source(&self) -> Option<(Time, usize)> {
        let may_start = |open: &OpenLoop| !open.shares_limit || self.shared_left > 0;
        let sources = self.open.iter().enumerate().filter(|(_, open)| may_start(open));
        sources.filter_map(|(index, open)| Some((open.source.peek_start()?, index))).min()
    }
}

/// Above every flow that goes by the clock: how many there are at most, or else a number that they stay below.
fn first_chain_id(open: &[OpenLoop], flow_limit: Option<u64>) -> FlowId {
    let total = |shares_limit: bool| {
        let sources = open.iter().filter(|source| source.shares_limit == shares_limit);
        sources.map(|source| source.count).try_fold(0_u64, |sum, count| sum.checked_add(count?))
    };
    let shared = match (total(true), flow_limit) {
        (Some(total), Some(limit)) => Some(total.min(limit)),
        (total, limit) => total.or(limit),
    };
    let all = total(false).zip(shared).and_then(|(own, shared)| own.checked_add(shared));
    all.and_then(|all| FlowId::try_from(all).ok()).map_or(HIGH_BASE, |all| all.min(HIGH_BASE))
}

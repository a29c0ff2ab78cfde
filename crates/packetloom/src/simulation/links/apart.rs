//! Links, simulated with the flows that cross them, in a star (`star`): what they do to each of these.
//!
//! Where flows have a sender's link in common, they wait there for each other. That belongs to another link's delay, the
//! sender's own, so it is left out here: such flows are run once more with nothing but the senders' links in their way,
//! and the delay is what they take beyond that.
//!
//! Flows that last are held back by what the rest of their paths leaves them (`limits`). What a flow waits for by the
//! flow-level model is known, and is not the link's delay. A large flow waits in its bottleneck's queue: what it takes
//! in that link's simulation is what it takes in all.

use super::super::{Monitor, Setting, Simulation};
use super::alike::Section;
use super::alone::Alone;
use super::crossings::{Crossings, Way};
use super::limits::Limits;
use super::star::{Paces, one_packet};
use crate::engine::Tally;
use crate::fault::Faults;
use crate::flow::{Flow, HostId};
use crate::measure::FlowRow;
use crate::packet::Format;
use crate::scenario::Case;
use crate::spec::{Complaint, Value, Values};
use crate::topology::Topology;
use crate::transport::PacketFormat;
use crate::units::Time;
use crate::workload::{Environment, Workload};
use std::collections::{BTreeMap, BTreeSet};

/// What a link does to a flow; infinite, if the flow did not end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Effect {
    /// It takes longer by this than alone and by the flow-level model, in ps.
    Delay(f64),
    /// A large one, of which it is the bottleneck: it takes so many times what it would alone and by that model.
    Stretch(f64),
    /// A large one whose bottleneck is elsewhere.
    Elsewhere,
}

/// What links do to their flows, in the order of these.
pub(super) type Effects = BTreeMap<u32, Vec<Effect>>;

/// What came of links that were simulated together.
pub(super) struct Found {
    pub(super) effects: Effects,
    pub(super) tally: Tally,
    /// What went wrong, if something did.
    pub(super) problem: Option<String>,
}

/// What all of these simulations have in common.
pub(super) struct Apart<'a> {
    pub(super) setting: &'a Setting,
    pub(super) crossings: &'a Crossings,
    environment: &'a Environment,
    monitor: &'a Monitor,
    pub(super) limits: &'a Limits,
    /// The case, but for what belongs to the whole network.
    case: Case,
    pub(super) ack: Format,
    /// For each kind of path what a full packet takes to the receiver, and an acknowledgement back.
    pub(super) one_way: Vec<(Time, Time)>,
}

impl<'a> Apart<'a> {
    pub(super) fn new(
        setting: &'a Setting,
        crossings: &'a Crossings,
        environment: &'a Environment,
        monitor: &'a Monitor,
        limits: &'a Limits,
    ) -> Apart<'a> {
        let mut case = setting.case.clone();
        case.run.entries.remove("fidelity");
        for key in ["flows", "duration"] {
            case.run.entries.insert(key.to_owned(), Value::Absent);
        }
        // Nothing has a choice in a star.
        let routing = Values { kind: "spray-random".to_owned(), ..Values::default() };
        case.scheme.entries.insert("routing".to_owned(), Value::Component(routing));
        let ack_bytes = PacketFormat::of(&case.scheme.component("transport")).ack_bytes.into();
        let ack = Format { mss_bytes: ack_bytes, header_bytes: 0 };
        let one_way = |way: &Way| {
            let chain = setting.topology.chain(&way.there, &way.back);
            (one_packet(&chain, setting.format, 0, 1), one_packet(&chain, ack, 1, 0))
        };
        let one_way = crossings.ways.iter().map(one_way).collect();
        Apart { setting, crossings, environment, monitor, limits, case, ack, one_way }
    }

    /// What a flow of so many full packets takes beyond its best FCT when it is alone on a kind of path, in ps.
    ///
    /// # Errors
    /// What can't be simulated.
    pub(super) fn alone(&self, way: usize, packets: u64) -> Result<(f64, Tally), Complaint> {
        let Way { there, back } = &self.crossings.ways[way];
        let flow = Flow {
            id: 0,
            src: 0,
            dst: 1,
            size_bytes: packets * self.setting.format.mss_bytes,
            start: Time::ZERO,
            deadline: Time::NEVER,
            class: 0,
            source: 0,
            chain: None,
        };
        let (rows, tally, _) =
            self.run(self.setting.topology.chain(there, back), vec![flow], Paces::new())?;
        Ok((rows.first().map_or(f64::INFINITY, more_ps), tally))
    }

    /// What links do to their flows.
    ///
    /// # Errors
    /// What can't be simulated.
    pub(super) fn effects(&self, section: Section, alone: &Alone) -> Result<Found, Complaint> {
        let star = self.star(section);
        let network = self.setting.topology.star(&star.arms);
        let (rows, mut tally, mut problem) = self.run(network, star.flows.clone(), star.paces.clone())?;
        let again = overlapping(&rows);
        let mut without_ps: BTreeMap<usize, f64> = BTreeMap::new();
        if !again.is_empty() {
            let flows = again.iter().map(|&nth| star.flows[nth]).collect();
            let (without, more, problem_there) =
                self.run(self.without_target(&star), flows, star.paces.clone())?;
            without_ps.extend(again.into_iter().zip(without.iter().map(more_ps)));
            tally = tally + more;
            problem = problem.or(problem_there);
        }
        let of_link = |link: u32| {
            let effect = |&flow: &u32| {
                let nth = star.numbers.binary_search(&flow).expect("a star has all flows of its links");
                let took = rows.get(nth).map(|row| (row, without_ps.get(&nth).copied()));
                took.map_or(Effect::Delay(f64::INFINITY), |took| self.effect(link, flow, alone, took))
            };
            (link, self.crossings.at(link).iter().map(effect).collect())
        };
        Ok(Found { effects: section.links().map(of_link).collect(), tally, problem })
    }

    /// What a link does to a flow that took so much there, and so much more than its best FCT without it.
    fn effect(
        &self,
        link: u32,
        flow: u32,
        alone: &Alone,
        (row, without_ps): (&FlowRow, Option<f64>),
    ) -> Effect {
        let limits = self.limits;
        let expected_ps = alone.excess_ps(self.crossings, flow as usize) + limits.wait_ps(flow);
        if limits.is_large(flow) {
            let is_bottleneck = limits.held_by(flow) == link;
            return if is_bottleneck {
                Effect::Stretch(stretch(row, expected_ps))
            } else {
                Effect::Elsewhere
            };
        }
        // The runs differ by what the link does, and that is partly in what is expected already.
        let here_ps = limits.wait_ps(flow) - limits.wait_without_ps(link, flow);
        Effect::Delay(more_ps(row) - without_ps.map_or(expected_ps, |without_ps| without_ps + here_ps))
    }

    /// Runs flows packet by packet; returns a row for each that started, what was done, and what went wrong.
    fn run(
        &self,
        topology: Topology,
        flows: Vec<Flow>,
        paces: Paces,
    ) -> Result<(Vec<FlowRow>, Tally, Option<String>), Complaint> {
        let setting = Setting {
            faults: Faults::of_paces(paces),
            case: self.case.clone(),
            topology,
            captured: BTreeSet::new(),
            watched: None,
            flow_ports: None,
            measured: None,
            format: self.setting.format,
            longest_window: self.setting.longest_window,
            threads: 1,
            take_turns: false,
            is_audited: self.setting.is_audited,
        };
        let workload = Workload::of_flows(flows);
        let simulation = Simulation { setting, workload, environment: self.environment.clone() };
        let outcome = simulation.run_together(&self.monitor.under())?;
        let problem = outcome.violation.map(|violation| violation.to_string()).or(outcome.stalled);
        Ok((outcome.flows, outcome.tally, problem))
    }
}

/// What a flow took beyond its best FCT, in ps.
fn more_ps(row: &FlowRow) -> f64 {
    row.fct().map_or(f64::INFINITY, |fct| fct.as_ps() as f64 - row.best_fct.as_ps() as f64)
}

/// How many times what was expected a flow took, which is its best FCT and so much more.
fn stretch(row: &FlowRow, more_ps: f64) -> f64 {
    let expected_ps = row.best_fct.as_ps() as f64 + more_ps;
    row.fct().map_or(f64::INFINITY, |fct| fct.as_ps() as f64 / expected_ps)
}

/// The flows that were under way together with others of their sender, if that is not the first host.
fn overlapping(rows: &[FlowRow]) -> Vec<usize> {
    let mut latest: BTreeMap<HostId, (Time, usize)> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for (nth, row) in rows.iter().enumerate().filter(|(_, row)| row.flow.src != 0) {
        let (until, before) = latest.entry(row.flow.src).or_insert((Time::ZERO, nth));
        if row.flow.start < *until {
            found.extend([*before, nth]);
        }
        if row.delivered > *until {
            (*until, *before) = (row.delivered, nth);
        }
    }
    found.into_iter().collect()
}

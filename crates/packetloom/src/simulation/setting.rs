//! What a case is set in: what its parts promise of each other, and the outcome of its run.

use super::fidelity::Fidelity;
use super::monitor::Goal;
use super::outcome::Outcome;
use super::warnings::{never_asked, unfinished, unmeasured};
use super::{Setting, takes_one_path};
use crate::engine::{FlowStatus, Tally, WindowCosts};
use crate::flow::Flow;
use crate::measure::{Collector, FlowRow};
use crate::units::Time;
use crate::workload::Workload;
use crate::{central, transport};
use std::collections::BTreeMap;
use std::time::Duration;

impl Setting {
    pub(super) fn max_time(&self) -> Time {
        self.case.run.optional_time("max_time").unwrap_or(Time::NEVER)
    }

    /// Whether all packets of a flow take one path, whether a flow's sender knows of its end only after its receiver, and
    /// whether flows are cut up by plan.
    pub(super) fn promises(&self) -> (bool, bool, bool) {
        let scheme = &self.case.scheme;
        let values = scheme.component("transport");
        let is_planned = central::is_central(&values.kind);
        let answered = transport::find(&values.kind).map_or(!is_planned, |one| (one.is_answered)(&values));
        // The sender can have the last acknowledgement while the receiver's host still deals with the message.
        let is_free = self.topology.message_costs.receive == Time::ZERO;
        let has_packets = matches!(Fidelity::of(&self.case.run), Fidelity::Packets | Fidelity::Steady(_));
        (
            takes_one_path(scheme, &self.topology),
            answered && has_packets && is_free,
            central::cuts_up(&values),
        )
    }

    /// What there is to do.
    pub(super) fn goal(&self, workload: &Workload) -> Goal {
        let run = &self.case.run;
        let end = run.optional_time("max_time").or(run.optional_time("duration"));
        Goal { flows: run.optional_count("flows").or(workload.known_flows()), end }
    }

    /// How long a flow takes on the slower of its hosts' links.
    pub(super) fn work(&self, flow: &Flow) -> Time {
        let packets = self.format.packets(flow.size_bytes);
        let framing_bytes = packets * self.topology.framing_bytes;
        let [src, dst] = [flow.src, flow.dst].map(|host| self.topology.rate_of(host));
        src.min(dst).time_for(self.format.wire_bytes(flow.size_bytes) + framing_bytes)
    }

    /// The outcome, except for what only an engine knows; `statuses`: of unfinished flows, if senders report any.
    pub(super) fn outcome(self, collector: Collector, statuses: &[FlowStatus], tally: Tally) -> Outcome {
        let (started, finished) = (collector.started(), collector.finished());
        let mut flows = collector.into_rows(&self.topology);
        let mut warnings = self.topology.notes.clone();
        warnings.extend(unfinished(&flows, statuses, &self.faults, &self.topology));
        let foreground = || flows.iter().filter(|row| row.measured);
        let ended = foreground().map(FlowRow::ended).filter(|at| *at != Time::NEVER).max();
        let last_start = foreground().map(|row| row.flow.start).max().unwrap_or(Time::ZERO);
        let from = self.case.run.time("warm_up");
        let until = last_start.since(self.case.run.time("cool_down"));
        for row in &mut flows {
            row.measured &= (from..=until).contains(&row.flow.start);
        }
        let simulated = if finished == started { ended.unwrap_or(Time::ZERO) } else { self.max_time() };
        warnings.extend(unmeasured(&self.case.run, &flows, last_start));
        warnings.extend(never_asked(&self.case.scheme, simulated));
        Outcome {
            cancelled: false,
            is_estimated: false,
            flows,
            ports: Vec::new(),
            reordering: None,
            balancing: BTreeMap::new(),
            flow_samples: Vec::new(),
            pulls: Vec::new(),
            topology: self.topology,
            tally,
            simulated,
            warm_up: from,
            helpers_took: Duration::ZERO,
            window_costs: WindowCosts::default(),
            warnings,
            never_started: 0,
            stalled: None,
            violation: None,
            refused: None,
            control: None,
            jobs: Vec::new(),
            iterations: Vec::new(),
            requests: Vec::new(),
            ranks: Vec::new(),
            operations: Vec::new(),
            critical_path: Vec::new(),
            timelines: Vec::new(),
            captures: Vec::new(),
            format: self.format,
        }
    }
}

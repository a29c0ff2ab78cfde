//! Scenario in, results out: the only module that knows every other.

mod alone;
mod bare;
mod bursts;
mod checks;
mod circles;
mod critical;
mod demand;
mod doubts;
mod driven;
mod facts;
mod fidelity;
mod flow_cost;
mod flow_level;
mod flow_rung;
mod footing;
mod jobs;
mod links;
mod monitor;
mod network_facts;
mod outcome;
mod packets;
mod planned;
mod preset_fact;
mod rank_faults;
mod serving;
mod setting;
mod settling;
mod slow_alone;
mod steady;
mod stragglers;
mod timelines;
mod trial;
mod warnings;

pub use critical::{Bound, MessageOnPath, PathRow, Spent};
pub use demand::Demand;
pub use driven::{Change, Driven, Failure, Moment, SwitchPort};
pub use fidelity::{FIDELITY_COMPONENTS, doubts};
pub use footing::{Unequal, unequal};
pub use jobs::{IterationRow, JobRow, OperationRow};
pub use monitor::{Monitor, Progress};
pub use outcome::{ClassSample, Control, FlowSample, Outcome, PortRow};
pub use serving::RequestRow;
pub use settling::{SLOWEST_FIT, Settling};
pub use slow_alone::{PathAcross, path_across, slow_alone};
pub use stragglers::RankRow;
pub use timelines::Timeline;
pub use trial::{Cost, Trial};

use crate::audit::{Violation, check_rows};
use crate::central;
use crate::engine::FlowWatch;
use crate::fault::{self, Faults};
use crate::flow::HostId;
use crate::fluid;
use crate::narrow::exact;
use crate::packet::Format;
use crate::queue::Specification;
use crate::routing::{self, ConnectionNumbers, FlowPorts};
use crate::scenario::{Case, Problems, Scenario};
use crate::spec::{self, Complaint, Component, Registered, Value, Values};
use crate::topology::Topology;
use crate::topology::best_fct;
use crate::transport::{self, PacketFormat};
use crate::units::Time;
use crate::workload::{Environment, Wire, Workload};
use alone::Alone;
use checks::{
    captured, check_credits, check_links, check_paths, check_processing, check_queues, check_retry,
    check_returns, check_samples, check_sizes, check_traffic, check_unscheduled, load_classes, watched,
};
use fidelity::{Fidelity, check_rung, wholes};
use flow_level::{Model, run_fluid};
use flow_rung::measured::Measured;
use flow_rung::run_flows;
use links::run_links;
pub use network_facts::RoundTrips;
use planned::run_central;
use rank_faults::rank_faults;
use serving::run_serving;
use settling::with_warm_up;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// The flow-level models: transports without packets.
const FLUID_MODELS: &[Registered<Model>] = &[
    Registered {
        component: Component {
            section: "transport",
            kind: "ideal",
            doc: "Ideal end-to-end SRPT at flow level: flows are served greedily in order of remaining size, each alone on its source's and destination's edge link.",
            source: "pFabric §2.1, §3: Ideal",
            params: &[transport::FORMAT_PARAMS],
            check: transport::check_format,
        },
        factory: |rates, jobs, over| fluid::srpt::run(exact::<u32>(rates.len()), jobs, over),
    },
    Registered {
        component: Component {
            section: "transport",
            kind: "max-min",
            doc: "Max-min fair sharing of the edge links at flow level.",
            source: "Bertsekas and Gallager, Data Networks, §6.5.2",
            params: &[transport::FORMAT_PARAMS],
            check: transport::check_format,
        },
        factory: |rates, jobs, over| fluid::max_min::run(rates, jobs, over),
    },
];

/// Their components.
pub const FLUID_COMPONENTS: &[Component] = &spec::components::<_, { FLUID_MODELS.len() }>(FLUID_MODELS);

/// Whether a transport is a flow-level model.
pub(crate) fn is_fluid(transport: &str) -> bool {
    FLUID_COMPONENTS.iter().any(|fluid| fluid.kind == transport)
}

/// Below so many hosts a thread costs more in handing over than it saves (docs/performance.md).
const HOSTS_PER_THREAD: u32 = 64;

/// A case, ready to run.
#[derive(Debug)]
pub struct Simulation {
    setting: Setting,
    workload: Workload,
    environment: Environment,
}

/// Builds the network and traffic of each of a scenario's variants, for one load and seed.
///
/// # Errors
/// What can't be simulated, with its line in the scenario.
pub fn check(scenario: &Scenario) -> Result<(), Problems> {
    check_each(scenario, |_, _| {})
}

/// The same; what was built of each case that was looked at goes to `built`.
///
/// # Errors
/// What can't be simulated, with its line in the scenario.
pub fn check_each(scenario: &Scenario, mut built: impl FnMut(Case, Simulation)) -> Result<(), Problems> {
    let mut first: Option<(Option<f64>, u64)> = None;
    for case in scenario.cases() {
        if *first.get_or_insert((case.load, case.seed)) == (case.load, case.seed) {
            let simulation =
                Simulation::new(case.clone()).map_err(|complaint| scenario.locate(&case, &complaint))?;
            built(case, simulation);
        }
    }
    Ok(())
}

/// A case and its network.
#[derive(Debug)]
struct Setting {
    case: Case,
    topology: Topology,
    faults: Faults,
    /// Links whose packets are captured.
    captured: BTreeSet<usize>,
    /// Flows that are sampled.
    watched: Option<FlowWatch>,
    flow_ports: Option<FlowPorts>,
    /// What packets showed of the transport, where an estimate asks for it.
    measured: Option<Arc<Measured>>,
    format: Format,
    longest_window: Time,
    threads: u32,
    take_turns: bool,
    is_audited: bool,
}

impl Simulation {
    /// Builds the network and the traffic of a case.
    ///
    /// # Errors
    /// What of the case can't be simulated, by its key in the scenario.
    pub fn new(case: Case) -> Result<Simulation, Complaint> {
        Simulation::with(case, |case, environment| Workload::build(&case.workloads, environment))
    }

    /// Builds the network of a case, for traffic that `traffic` makes.
    fn with(
        case: Case,
        traffic: impl FnOnce(&Case, &Environment) -> Result<Workload, Complaint>,
    ) -> Result<Simulation, Complaint> {
        load_classes(&case.scheme)?;
        let topology = Topology::build(&case.topology)
            .map_err(|complaint| Complaint { key: format!("topology.{}", complaint.key), ..complaint })?;
        let transport = case.scheme.component("transport");
        let routing = case.scheme.component("routing");
        central::check(&transport.kind, &routing.kind, &topology)?;
        transport::check_network(&transport, &topology)?;
        let is_fluid = is_fluid(&transport.kind);
        if !is_fluid && case.scheme.optional_component("queue").is_none() {
            return Err(Complaint::new("scheme.queue", "is missing; write one such as \"drop-tail\""));
        }
        let is_central = central::is_central(&transport.kind);
        if case.faults.iter().any(fault::happens) && (is_fluid || is_central) {
            let why = if is_central {
                "sends no packet twice"
            } else {
                "is a flow-level model, which has no packets to lose"
            };
            let message = format!("{:?} {why}", transport.kind);
            return Err(Complaint::new("fault", message + "; leave the faults, or this scheme, out"));
        }
        let faults = Faults::build(&case.faults, &topology)?;
        check_retry(&topology, &faults)?;
        routing::check(&routing, &topology)?;
        check_paths(&transport.kind, &routing, &topology)?;
        check_links(&case.scheme, &topology, is_fluid)?;
        transport::check_routing(&transport, &routing, &topology)?;
        let format = if is_central { central::FORMAT } else { PacketFormat::of(&transport).data };
        check_returns(&case)?;
        check_unscheduled(&case)?;
        check_processing(&topology, (is_fluid, is_central))?;
        let captured = captured(&case, &topology, is_fluid)?;
        let watched = watched(&case, !is_fluid && !is_central)?;
        if case.load.is_some() && !topology.hosts_are_alike() {
            let message = "the hosts' links differ in rate, so there is no rate that a load could be a part of; leave loads \
                           out and write a source's own rate_per_second or interval, or a list of flows";
            return Err(Complaint::new("topology.file", message));
        }
        let environment = Environment {
            hosts: topology.working_hosts(),
            host_ids: topology.ids.iter().copied().take(topology.hosts as usize).collect(),
            server_hosts: topology.server_hosts,
            nodes: (topology.working_hosts()..topology.hosts).collect(),
            host_rate: topology.hosts_are_alike().then(|| topology.host_rate()),
            wire: wire(&topology, format),
            mss: format.mss_bytes,
            header: format.header_bytes,
            load: case.load,
            seed: case.seed,
            flow_limit: case.run.optional_count("flows"),
            duration: case.run.optional_time("duration"),
            whole: wholes(&case, &topology),
            rank_faults: rank_faults(&case)?,
        };
        let workload = traffic(&case, &environment)?;
        if workload.serving().is_some() {
            serving::check(&case)?;
        }
        if is_fluid || is_central {
            check_traffic(&workload, &transport.kind, is_central)?;
        }
        check_rung(&case, &workload, (&topology, &faults))?;
        if !is_fluid && Fidelity::of(&case.run) != Fidelity::Flows {
            check_sizes(&workload, format)?;
        }
        alone::check(&case, workload.jobs())?;
        let flow_ports = flow_ports(&case, &environment)?;
        check_credits(&case, &workload, (&topology, &faults), format)?;
        if !is_fluid {
            check_queues(&case, format)?;
            check_samples(&case, &workload, &topology)?;
        }
        let case = with_warm_up(case, &workload, &environment, &topology)?;
        let setting = Setting {
            case: with_sizes(case, &topology, &workload),
            topology,
            faults,
            captured,
            watched,
            flow_ports,
            measured: None,
            format,
            longest_window: Time::NEVER,
            threads: 1,
            take_turns: false,
            is_audited: cfg!(debug_assertions),
        };
        Ok(Simulation { setting, workload, environment })
    }
}

impl Simulation {
    /// The flows that start by the clock.
    #[cfg(test)]
    pub(crate) fn flows(mut self) -> Vec<crate::flow::Flow> {
        std::iter::from_fn(|| self.workload.next_flow()).collect()
    }

    /// Has the engine process shorter windows of time than it could, to show that results do not depend on it.
    pub fn with_windows_up_to(mut self, longest: Time) -> Simulation {
        self.setting.longest_window = longest;
        self
    }

    /// Checks the invariants (`crate::audit`), or not; by default debug builds do. Results do not depend on it.
    pub fn with_audit(mut self, is_audited: bool) -> Simulation {
        self.setting.is_audited = is_audited;
        self
    }

    /// Shares out the network's nodes to so many threads. Results do not depend on it.
    pub fn with_threads(mut self, threads: u32) -> Simulation {
        self.setting.threads = threads.max(1);
        self
    }

    /// Has one thread do in turn what so many would do at once, and time it ([`Outcome::window_costs`]). Results do not
    /// depend on it.
    pub fn with_threads_in_turn(mut self, threads: u32) -> Simulation {
        self.setting.take_turns = true;
        self.with_threads(threads)
    }

    /// Uses at most so many threads: as many as have enough to do.
    pub fn with_up_to_threads(self, most: u32) -> Simulation {
        if matches!(Fidelity::of(&self.setting.case.run), Fidelity::Links(_)) {
            return self.with_threads(most);
        }
        let is_steady = matches!(Fidelity::of(&self.setting.case.run), Fidelity::Steady(_));
        if is_steady || self.workload.serving().is_some() {
            return self.with_threads(1);
        }
        let useful = self.setting.topology.hosts / HOSTS_PER_THREAD;
        self.with_threads(useful.min(most))
    }

    /// Runs the case to its end.
    ///
    /// # Errors
    /// What of the case can't be simulated.
    pub fn run(mut self, monitor: &Monitor) -> Result<Outcome, Complaint> {
        self.setting.measured = Measured::of(&self.setting, &self.workload, monitor)?;
        let alone = Alone::of(&self.setting, self.workload.jobs())?;
        let overloaded = self.overloaded();
        let mut outcome = self.run_together(monitor)?;
        outcome.warnings.extend(overloaded.map(|doubt| format!("{}: {}", doubt.key, doubt.message)));
        alone.add_to(&mut outcome, monitor)?;
        Ok(outcome)
    }

    /// Runs the case itself.
    fn run_together(self, monitor: &Monitor) -> Result<Outcome, Complaint> {
        let kind = &self.setting.case.scheme.component("transport").kind;
        let rung = Fidelity::of(&self.setting.case.run);
        let (promises, is_audited) = (self.setting.promises(), self.setting.is_audited);
        let measured = self.setting.measured.clone();
        let mut outcome = if let Fidelity::Links(links) = rung {
            run_links(self, links, monitor)
        } else if rung == Fidelity::Flows {
            Ok(run_flows(self, monitor))
        } else if is_fluid(kind) {
            Ok(run_fluid(self, spec::factory(FLUID_MODELS, kind), monitor))
        } else if central::is_central(kind) {
            run_central(self, monitor)
        } else if let Some(plan) = self.workload.serving().cloned() {
            run_serving(self, &plan, monitor)
        } else {
            let entry = transport::find(kind);
            let unknown = || Complaint::new("scheme.transport", format!("no transport is called {kind}"));
            entry.map(|entry| self.run_built(monitor, |plan| entry.engine(plan))).ok_or_else(unknown)
        }?;
        outcome.warnings.extend(rung.note().map(str::to_owned));
        outcome.warnings.extend(measured.map(|measured| measured.told()));
        outcome.is_estimated = rung != Fidelity::Packets;
        if let Some(refused) = outcome.refused.take() {
            return Err(refused);
        }
        if is_audited && outcome.violation.is_none() {
            let checked = check_rows(&outcome.flows, &outcome.topology, outcome.format, promises);
            outcome.violation = checked.err();
        }
        debug_assert!(
            outcome.violation.is_none(),
            "{}",
            outcome.violation.as_ref().map_or(String::new(), Violation::to_string)
        );
        Ok(outcome)
    }
}

/// What the empty network takes from the first host.
fn wire(topology: &Topology, format: Format) -> Wire {
    let server = topology.server_hosts.unwrap_or(1).min(topology.working_hosts());
    let least = |hosts: std::ops::Range<HostId>, bytes: u64| {
        let takes = |dst: HostId| best_fct(topology, format, 0, dst, bytes);
        hosts.map(takes).min().unwrap_or(Time::ZERO)
    };
    let inside = least(1..server, 1);
    Wire {
        inside,
        nearest: least(server..topology.working_hosts(), 1),
        mib_inside: least(1..server, 1 << 20).since(inside),
    }
}

/// The case, with what its transport works out of how large flows are.
fn with_sizes(mut case: Case, topology: &Topology, workload: &Workload) -> Case {
    let transport = case.scheme.component("transport");
    let transport = transport::on_sizes(transport, topology, || workload.size_shares());
    case.scheme.entries.insert("transport".to_owned(), Value::Component(transport));
    case
}

/// Whether all packets of a flow take one path as long as nothing breaks.
fn takes_one_path(scheme: &Values, topology: &Topology) -> bool {
    let kind = scheme.component("transport").kind;
    routing::path_per_flow(&scheme.component("routing"), topology).0 && kind != "mptcp"
}

/// The numbers of flows' connections, as far as switches hash them.
fn connection_numbers(scheme: &Values) -> ConnectionNumbers {
    let values = scheme.component("transport");
    let are_numbered = transport::find(&values.kind).is_some_and(|one| (one.numbers_connections)(&values));
    ConnectionNumbers::of(are_numbered, &scheme.component("routing"))
}

/// The queues of switches and of hosts, if there are any.
fn queues(case: &Case, workload: &Workload) -> Option<[Specification; 2]> {
    let queues = Specification::of_scheme(&case.scheme)?;
    let has_queries = workload.query_specs().next().is_some();
    Some(if has_queries { queues } else { queues.map(Specification::without_loans) })
}

/// From so many flows on a list that may have no end is given up.
const MOST_NUMBERED: usize = 10_000_000;

/// What the routing has to be told of each flow's ports, if it hashes such: both where they are counted at each host in
/// the order in which flows start; and the destination port of a list that has it.
fn flow_ports(case: &Case, environment: &Environment) -> Result<Option<FlowPorts>, Complaint> {
    let routing = case.scheme.component("routing");
    let Some(first_port) = routing::first_destination_port(&routing) else { return Ok(None) };
    let is_by_host = routing::numbers_ports(&routing);
    let mut workload = Workload::build(&case.workloads, environment)?;
    let mut listed = workload.listed_ports();
    if !is_by_host && listed.is_empty() {
        return Ok(None);
    }
    let (mut from, mut to) = (BTreeMap::<HostId, u16>::new(), BTreeMap::<HostId, u16>::new());
    let next = |count: &mut u16| {
        *count = count.wrapping_add(1);
        count.wrapping_sub(1)
    };
    let mut ports: Vec<(Option<u16>, u16)> = Vec::new();
    while ports.len() < MOST_NUMBERED
        && let Some(flow) = workload.next_flow()
    {
        let source = is_by_host.then(|| next(from.entry(flow.src).or_default()));
        let nth_to = if is_by_host { next(to.entry(flow.dst).or_default()) } else { 0 };
        let port = listed.get_mut(&flow.source).and_then(VecDeque::pop_front);
        // Flows that wait for others have the numbers before it.
        ports.resize(flow.id as usize, (is_by_host.then_some(0), 0));
        ports.push((source, port.map_or(nth_to, |port| port.wrapping_sub(first_port))));
    }
    if ports.len() == MOST_NUMBERED {
        let (key, instead) =
            if is_by_host { ("scheme.routing.ports", ", or \"pair\"") } else { ("scheme.routing.hash", "") };
        let message = format!(
            "numbers the flows of a list before they start, and here they do not end; write flows under [run]{instead}"
        );
        return Err(Complaint::new(key, message));
    }
    Ok(Some(ports.into()))
}

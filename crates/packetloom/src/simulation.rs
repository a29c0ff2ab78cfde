//! Scenario in, results out: the only room that knows every other.

use crate::audit::{Audit, Terms, Violation, check_rows};
use crate::central::{self, Carrier, ControlTraffic, Plan as CentralPlan};
use crate::engine::{Engine, PathNeeds, Plan, PortCounters, Standing, Tally, Transport};
use crate::fault::Faults;
use crate::flow::{Flow, HostId};
use crate::fluid;
use crate::measure::{Capture, Captured, Collector, FlowRow, Format, QueueRecorder, SentRecorder, pcapng};
use crate::queue;
use crate::routing;
use crate::scenario::{Case, Problems, Scenario};
use crate::spec::{Complaint, Component, Value, Values};
use crate::stall::{self, StallWatch};
use crate::topology::{Link, Topology};
use crate::transport::{self, PacketFormat, Scheme, WithScheme};
use crate::units::Time;
use crate::workload::{Environment, Job, SourceFacts, Workload};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The flow-level models: transports without packets.
pub const FLUID_COMPONENTS: &[Component] = &[
    Component {
        section: "transport",
        kind: "ideal",
        doc: "Ideal end-to-end SRPT at flow level: flows are served greedily in order of remaining size, each alone on its source's and destination's edge link.",
        source: "pFabric §2.1, §3: Ideal",
        params: &[transport::FORMAT_PARAMS],
        check: transport::check_format,
    },
    Component {
        section: "transport",
        kind: "max-min",
        doc: "Max-min fair sharing of the edge links at flow level.",
        source: "Bertsekas and Gallager, Data Networks, §6.5.2",
        params: &[transport::FORMAT_PARAMS],
        check: transport::check_format,
    },
];

/// How far a run is, and a way to end it, for another thread.
#[derive(Debug, Default)]
pub struct Monitor {
    cancelled: AtomicBool,
    packet_hops: AtomicU64,
    /// In millionths.
    done: AtomicU64,
}

impl Monitor {
    /// Ends the run soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// The share done, from 0 to 1, and the packet-hops so far.
    pub fn progress(&self) -> (f64, u64) {
        (self.done.load(Ordering::Relaxed) as f64 / 1e6, self.packet_hops.load(Ordering::Relaxed))
    }

    /// Notes how far the run is; returns whether it should go on.
    fn report(&self, packet_hops: u64, done: f64) -> bool {
        self.packet_hops.store(packet_hops, Ordering::Relaxed);
        self.done.store((done * 1e6) as u64, Ordering::Relaxed);
        !self.cancelled.load(Ordering::Relaxed)
    }
}

/// When a case is done: after so many flows or at a time, whichever it names.
#[derive(Clone, Copy, Debug)]
struct Goal {
    flows: Option<u64>,
    end: Option<Time>,
}

impl Goal {
    /// How much is done, when so many flows are over at a time.
    fn share_done(&self, finished: u64, now: Time) -> f64 {
        let by_flows = self.flows.map(|flows| finished as f64 / flows as f64);
        let by_time = self.end.map(|end| now.as_ps() as f64 / end.as_ps() as f64);
        by_flows.into_iter().chain(by_time).fold(0.0, f64::max).min(1.0)
    }
}

/// What went through a port, and how its queue was.
#[derive(Clone, Debug)]
pub struct PortRow {
    /// The index of its link in the topology.
    pub link: usize,
    /// What went through.
    pub counters: PortCounters,
    /// Its queue, if it was watched.
    pub queue: Option<QueueRecorder>,
    /// What its link carried over time, if that was asked for.
    pub sent: Option<SentRecorder>,
}

/// A sample of a traffic class at a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassSample {
    /// The port.
    pub port: u32,
    /// When it was taken, in ns.
    pub time_ns: f64,
    /// The class.
    pub class: u8,
    /// Bytes of its data packets that were put onto the link from this sample to the next.
    pub data_bytes: u64,
    /// What waited of it, if the queue knows classes.
    pub queue_bytes: Option<u64>,
    /// How much of the far end's buffer it used, if there are credits.
    pub credit_bytes: Option<u64>,
}

/// What came of a case.
#[derive(Debug)]
pub struct Outcome {
    /// Whether it was ended before its time.
    pub cancelled: bool,
    /// A row per flow, in order of identity.
    pub flows: Vec<FlowRow>,
    /// A row per port, in the order of the topology's links.
    pub ports: Vec<PortRow>,
    /// The queue of pulls of each host, where the transport has one and it was watched.
    pub pulls: Vec<(HostId, QueueRecorder)>,
    /// The network.
    pub topology: Topology,
    /// What was done.
    pub tally: Tally,
    /// When the last flow ended, or the run was stopped.
    pub simulated: Time,
    /// The processor time of all threads but the one that asked for the run.
    pub helpers_took: Duration,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Why the case could not go on, if it could not: which flows wait, and for what.
    pub stalled: Option<String>,
    /// The law that was found broken, if one was: then the run ended there, and its results are not to be believed.
    pub violation: Option<Violation>,
    /// What central control took, where there was any.
    pub control: Option<Control>,
    /// A row per operation among hosts.
    pub jobs: Vec<JobRow>,
    /// What went over the links that were to be captured.
    pub captures: Vec<Capture>,
    /// How the transport cuts flows into packets.
    pub format: Format,
}

/// An operation among hosts, and what became of it.
#[derive(Clone, Debug)]
pub struct JobRow {
    /// The operation.
    pub job: Job,
    /// When its first flow started; [`Time::NEVER`] if none did.
    pub start: Time,
    /// When its last byte was received; [`Time::NEVER`] if not all were.
    pub end: Time,
}

impl JobRow {
    /// From the flows' rows, in order of identity.
    fn of(job: &Job, flows: &[FlowRow]) -> JobRow {
        let place = |id| flows.partition_point(|row| row.flow.id < id);
        let rows = &flows[place(job.flows.start)..place(job.flows.end)];
        let is_whole = rows.len() == job.flows.len();
        let end = rows.iter().map(|row| row.delivered).max().filter(|_| is_whole);
        let start = rows.iter().map(|row| row.flow.start).min();
        JobRow { job: job.clone(), start: start.unwrap_or(Time::NEVER), end: end.unwrap_or(Time::NEVER) }
    }

    /// How long it took, if it was done.
    pub fn completion_time(&self) -> Option<Time> {
        (self.end != Time::NEVER).then(|| self.end - self.start)
    }

    /// Its bytes over its time in Gb/s, if it was done.
    pub fn algorithm_gbps(&self) -> Option<f64> {
        self.completion_time().map(|took| self.job.collective.size_bytes as f64 * 8.0 / took.as_ns_f64())
    }

    /// What of that each host's link carried in Gb/s.
    pub fn bus_gbps(&self) -> Option<f64> {
        self.algorithm_gbps().map(|gbps| gbps * self.job.collective.bus_factor(self.job.ranks))
    }
}

/// What central control took, and where packets spent their time under it.
#[derive(Clone, Debug)]
pub struct Control {
    /// Reports, grants and rates.
    pub traffic: ControlTraffic,
    /// How long packets waited at their servers, in ps, in increasing order.
    pub server_latencies_ps: Vec<u64>,
    /// How long they were in the network after that, in ps, in increasing order.
    pub network_latencies_ps: Vec<u64>,
}

impl Outcome {
    /// The share of the simulated time for which a port's link was sending.
    pub fn utilisation(&self, row: &PortRow) -> f64 {
        let framing_bytes = row.counters.packets * self.topology.framing_bytes;
        let busy = self.topology.links[row.link].rate.time_for(row.counters.bytes + framing_bytes);
        if self.simulated == Time::ZERO { 0.0 } else { busy.as_secs_f64() / self.simulated.as_secs_f64() }
    }

    fn capture(&self, link: usize, packets: Vec<Captured>) -> Capture {
        let Link { src, dst, rate, .. } = self.topology.links[link];
        let name = format!("{} to {}", self.topology.node_name(src), self.topology.node_name(dst));
        Capture { name, rate, packets }
    }

    /// What was captured, as a pcapng file; nothing where nothing was to be.
    pub fn pcapng(&self) -> Vec<u8> {
        if self.captures.is_empty() {
            return Vec::new();
        }
        let size_of = |id| {
            let place = self.flows.binary_search_by_key(&id, |row| row.flow.id);
            place.map_or(0, |place| self.flows[place].flow.size_bytes)
        };
        pcapng(&self.captures, self.format, size_of)
    }

    /// Every sample of every host's queue of pulls: host, time in ns, pulls.
    pub fn pull_samples(&self) -> impl Iterator<Item = (HostId, f64, u64)> {
        self.pulls
            .iter()
            .flat_map(|(host, queue)| queue.samples().map(move |(at, pulls)| (*host, at.as_ns_f64(), pulls)))
    }

    /// Every sample of every port: port, time in ns, bytes that waited, bytes put onto the link until the next sample.
    pub fn samples(&self) -> impl Iterator<Item = (u32, f64, u64, u64)> {
        self.ports.iter().flat_map(|row| {
            let samples = row.queue.iter().flat_map(|queue| queue.samples().enumerate());
            samples.map(move |(nth, (at, bytes))| {
                let sent = row.sent.as_ref().map_or(0, |sent| sent.bytes(nth));
                (row.link as u32, at.as_ns_f64(), bytes, sent)
            })
        })
    }

    /// The same for every traffic class at every port.
    pub fn class_samples(&self) -> impl Iterator<Item = ClassSample> {
        let pairs = self
            .ports
            .iter()
            .filter_map(|row| Some((row.link as u32, row.queue.as_ref()?, row.sent.as_ref()?)));
        let pairs = pairs.filter(|(_, queue, _)| queue.follows_classes());
        pairs.flat_map(|(port, queue, sent)| {
            let classes = queue.classes().len().max(sent.classes());
            (0..classes).flat_map(move |class| class_samples(port, class, queue, sent))
        })
    }
}

fn class_samples(
    port: u32,
    class: usize,
    queue: &QueueRecorder,
    sent: &SentRecorder,
) -> impl Iterator<Item = ClassSample> {
    // A class of which nothing was noted before had nothing.
    let of = |recorder: &QueueRecorder| recorder.samples().map(|(_, bytes)| bytes).collect::<Vec<u64>>();
    let record = queue.classes().get(class);
    let waited = record.map(|record| of(&record.queue));
    let credit = record.and_then(|record| record.credit.as_ref()).map(of);
    queue.samples().enumerate().map(move |(nth, (at, _))| ClassSample {
        port,
        time_ns: at.as_ns_f64(),
        class: class as u8,
        data_bytes: sent.data_bytes(class, nth),
        queue_bytes: waited.as_ref().and_then(|samples| samples.get(nth).copied()),
        credit_bytes: credit.as_ref().and_then(|samples| samples.get(nth).copied()),
    })
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
    let mut first: Option<(Option<f64>, u64)> = None;
    for case in scenario.cases() {
        if *first.get_or_insert((case.load, case.seed)) == (case.load, case.seed) {
            Simulation::new(case.clone()).map_err(|complaint| scenario.locate(&case, &complaint))?;
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
    format: Format,
    longest_window: Time,
    threads: u32,
    is_audited: bool,
}

impl Simulation {
    /// Builds the network and the traffic of a case.
    ///
    /// # Errors
    /// What of the case can't be simulated, by its key in the scenario.
    pub fn new(case: Case) -> Result<Simulation, Complaint> {
        let topology = Topology::build(&case.topology)
            .map_err(|complaint| Complaint { key: format!("topology.{}", complaint.key), ..complaint })?;
        let transport = case.scheme.component("transport");
        let routing = case.scheme.component("routing");
        central::check(&transport.kind, &routing.kind, &topology)?;
        transport::check_network(&transport, &topology)?;
        let is_fluid = FLUID_COMPONENTS.iter().any(|fluid| fluid.kind == transport.kind);
        if !is_fluid && case.scheme.optional_component("queue").is_none() {
            return Err(Complaint::new("scheme.queue", "is missing; write one such as \"drop-tail\""));
        }
        let is_central = central::is_central(&transport.kind);
        if let ([_, ..], true) = (&case.faults[..], is_fluid || is_central) {
            let why = if is_central {
                "sends no packet twice"
            } else {
                "is a flow-level model, which has no packets to lose"
            };
            let message = format!("{:?} {why}", transport.kind);
            return Err(Complaint::new("fault", message + "; leave the faults, or this scheme, out"));
        }
        let faults = Faults::build(&case.faults, &topology)?;
        routing::check(&routing, &topology)?;
        check_paths(&transport.kind, &routing, &topology)?;
        check_links(&case.scheme, &topology)?;
        let format = if is_central { central::FORMAT } else { PacketFormat::of(&transport).data };
        check_returns(&case)?;
        let captured = captured(&case, &topology, is_fluid)?;
        if case.load.is_some() && !topology.hosts_are_alike() {
            let message = "the hosts' links differ in rate, so there is no rate that a load could be a part of; leave loads \
                           out and write a source's own rate_per_second or interval, or a list of flows";
            return Err(Complaint::new("topology.file", message));
        }
        let environment = Environment {
            hosts: topology.hosts,
            host_ids: topology.ids.iter().copied().take(topology.hosts as usize).collect(),
            host_rate: topology.hosts_are_alike().then(|| topology.host_rate()),
            mss: format.mss_bytes,
            header: format.header_bytes,
            load: case.load,
            seed: case.seed,
            flow_limit: case.run.optional_count("flows"),
            duration: case.run.optional_time("duration"),
        };
        let workload = Workload::build(&case.workloads, &environment)?;
        check_credits(&case, &workload, &topology, format)?;
        let setting = Setting {
            case,
            topology,
            faults,
            captured,
            format,
            longest_window: Time::NEVER,
            threads: 1,
            is_audited: cfg!(debug_assertions),
        };
        Ok(Simulation { setting, workload, environment })
    }

    /// What each source of traffic comes to.
    pub fn facts(&self) -> &[SourceFacts] {
        self.workload.describe()
    }

    /// The flows that start by the clock.
    #[cfg(test)]
    pub(crate) fn flows(mut self) -> Vec<Flow> {
        std::iter::from_fn(|| self.workload.next_flow()).collect()
    }

    /// Has the engine process shorter windows of time than it could, to show that results do not depend on it.
    pub fn with_windows_up_to(mut self, longest: Time) -> Simulation {
        self.setting.longest_window = longest;
        self
    }

    /// Checks the laws (`crate::audit`), or not; debug builds do if nothing is said. Results do not depend on it.
    pub fn with_audit(mut self, is_audited: bool) -> Simulation {
        self.setting.is_audited = is_audited;
        self
    }

    /// Shares out the network's nodes to so many threads. Results do not depend on it.
    pub fn with_threads(mut self, threads: u32) -> Simulation {
        self.setting.threads = threads.max(1);
        self
    }

    /// Uses at most so many threads: as many as have enough to do.
    pub fn with_up_to_threads(self, most: u32) -> Simulation {
        let useful = self.setting.topology.hosts / HOSTS_PER_THREAD;
        self.with_threads(useful.min(most))
    }

    /// Runs the case to its end.
    ///
    /// # Errors
    /// What of the case can't be simulated.
    pub fn run(self, monitor: &Monitor) -> Result<Outcome, Complaint> {
        let scheme = &self.setting.case.scheme;
        let kind = scheme.component("transport").kind;
        let answered = !central::is_central(&kind);
        let (one_path, is_audited) =
            (takes_one_path(scheme, &self.setting.topology), self.setting.is_audited);
        let mut outcome = match kind.as_str() {
            "ideal" => {
                run_fluid(self, |rates, jobs, over| fluid::srpt::run(rates.len() as u32, jobs, over), monitor)
            }
            "max-min" => run_fluid(self, |rates, jobs, over| fluid::max_min::run(rates, jobs, over), monitor),
            "syn" | "asy" => run_central(self, monitor),
            _ => transport::with_scheme(&kind, OnPackets { simulation: self, monitor })
                .ok_or_else(|| Complaint::new("scheme.transport", format!("no transport is called {kind}"))),
        }?;
        if is_audited && outcome.violation.is_none() {
            let checked = check_rows(&outcome.flows, &outcome.topology, outcome.format, (one_path, answered));
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

/// Whether all packets of a flow take one path as long as nothing breaks.
fn takes_one_path(scheme: &Values, topology: &Topology) -> bool {
    let kind = scheme.component("transport").kind;
    routing::path_per_flow(&scheme.component("routing"), topology).0 && kind != "mptcp"
}

/// The queues of switches and of hosts, if there are any.
fn queues(case: &Case, workload: &Workload) -> Option<(Values, Values)> {
    let queue = case.scheme.optional_component("queue")?;
    let nic = case.scheme.optional_component("nic").unwrap_or_else(|| queue::default_nic(&queue));
    let has_queries = workload.asking().next().is_some();
    let as_needed = |queue: Values| if has_queries { queue } else { queue::without_loans(&queue) };
    Some((as_needed(queue), as_needed(nic)))
}

/// Credits must be enough to send a packet, must not be lost, and use the field in which sources write paths.
fn check_credits(
    case: &Case,
    workload: &Workload,
    topology: &Topology,
    format: Format,
) -> Result<(), Complaint> {
    let Some((queue, nic)) = queues(case, workload) else { return Ok(()) };
    queue::check_credits(&queue, &nic, topology, format.mss_bytes + format.header_bytes)?;
    let transport = case.scheme.component("transport").kind;
    if queue::credit_bytes(&queue).is_none() {
        if transport::needs(&transport).no_losses {
            let message = format!("{transport} does not repair losses; write \"daq\", which has none");
            return Err(Complaint::new("scheme.queue", message));
        }
        return Ok(());
    }
    if !case.faults.is_empty() {
        let message = "a lost credit never comes back, so its link would stand still; leave faults out where the queue is \"daq\"";
        return Err(Complaint::new("fault", message));
    }
    if case.scheme.component("routing").kind == "permutation" {
        return Err(Complaint::new(
            "scheme.routing",
            "credits need switches to choose paths; write \"ecmp\"",
        ));
    }
    Ok(())
}

/// The links whose packets are to be captured.
fn captured(case: &Case, topology: &Topology, is_fluid: bool) -> Result<BTreeSet<usize>, Complaint> {
    let key = "measure.capture";
    let mut links = BTreeSet::new();
    for port in case.measure.optional_list("capture").into_iter().flatten() {
        let Value::Text(port) = &port else { panic!("a port's name is {port:?}") };
        links.extend(topology.links_called(port, key)?);
    }
    if is_fluid && !links.is_empty() {
        let message = "a flow-level model has no packets to capture; leave this, or the scheme, out";
        return Err(Complaint::new(key, message));
    }
    Ok(links)
}

/// Headers go back only from switches, and only NDP's senders know what to do with them.
fn check_returns(case: &Case) -> Result<(), Complaint> {
    let returns = |key| case.scheme.optional_component(key).as_ref().is_some_and(queue::returns_to_sender);
    let transport = case.scheme.component("transport").kind;
    if returns("nic") {
        let message = "a host's own queue returns nothing; leave return_to_sender out of it";
        return Err(Complaint::new("scheme.nic", message));
    }
    if returns("queue") && transport != "ndp" {
        let message = format!("{transport} does not know headers that come back; leave return_to_sender out");
        return Err(Complaint::new("scheme.queue", message));
    }
    Ok(())
}

/// Some schemes know of one link at each host: their controllers plan for it, or they keep its books.
fn check_links(scheme: &Values, topology: &Topology) -> Result<(), Complaint> {
    let transport = scheme.component("transport").kind;
    let has_credits =
        scheme.optional_component("queue").is_some_and(|queue| queue::credit_bytes(&queue).is_some());
    let (key, what, instead) =
        if central::is_central(&transport) || transport::needs(&transport).one_link_a_host {
            ("scheme.transport", transport, "\"dctcp\"")
        } else if has_credits {
            ("scheme.queue", "a queue with credits".to_owned(), "\"ecn\"")
        } else {
            return Ok(());
        };
    if !topology.has_hosts_with_several_links() {
        return Ok(());
    }
    let message = format!(
        "{what} knows of one link at each host, and here some have several; write another, such as {instead}"
    );
    Err(Complaint::new(key, message))
}

/// What switches remember of a flow is right only if its packets keep coming by.
fn check_paths(transport: &str, routing: &Values, topology: &Topology) -> Result<(), Complaint> {
    let (one_per_flow, symmetric) = routing::path_per_flow(routing, topology);
    let (is_met, what, instead) = match transport::needs(transport).paths {
        PathNeeds::Nothing => return Ok(()),
        PathNeeds::OnePerFlow => (one_per_flow, "all of a flow's packets to take one path", "\"ecmp\""),
        PathNeeds::Symmetric => {
            let instead = "{ kind = \"ecmp\", symmetric = true }";
            (symmetric, "answers to come back by the path of the data", instead)
        }
    };
    if is_met {
        return Ok(());
    }
    Err(Complaint::new("scheme.routing", format!("{transport} needs {what}; write {instead}")))
}

impl Setting {
    fn max_time(&self) -> Time {
        self.case.run.optional_time("max_time").unwrap_or(Time::NEVER)
    }

    /// What there is to do.
    fn goal(&self) -> Goal {
        let run = &self.case.run;
        let end = run.optional_time("max_time").or(run.optional_time("duration"));
        Goal { flows: run.optional_count("flows"), end }
    }

    /// How long a flow takes on the slower of its hosts' links.
    fn work(&self, flow: &Flow) -> Time {
        let packets = self.format.packets(flow.size_bytes);
        let framing_bytes = packets * self.topology.framing_bytes;
        let [src, dst] = [flow.src, flow.dst].map(|host| self.topology.rate_of(host));
        src.min(dst).time_for(self.format.wire_bytes(flow.size_bytes) + framing_bytes)
    }

    /// What came of it, but for what only an engine knows; `standings`: how unfinished flows stand, if senders tell.
    fn outcome(self, collector: Collector, standings: &[Standing], tally: Tally) -> Outcome {
        let (started, finished) = (collector.started(), collector.finished());
        let mut flows = collector.into_rows();
        let mut warnings = self.topology.notes.clone();
        if started > finished {
            warnings.push(unfinished((started, finished), &flows, standings, &self.faults, &self.topology));
        }
        let foreground = || flows.iter().filter(|row| row.measured);
        let last_start = foreground().map(|row| row.flow.start).max().unwrap_or(Time::ZERO);
        let ended = foreground().map(|row| row.closed).filter(|at| *at != Time::NEVER).max();
        let from = self.case.run.time("warm_up");
        let until = last_start.since(self.case.run.time("cool_down"));
        for row in &mut flows {
            row.measured &= (from..=until).contains(&row.flow.start);
        }
        let simulated = if finished == started { ended.unwrap_or(Time::ZERO) } else { self.max_time() };
        Outcome {
            cancelled: false,
            flows,
            ports: Vec::new(),
            pulls: Vec::new(),
            topology: self.topology,
            tally,
            simulated,
            helpers_took: Duration::ZERO,
            warnings,
            stalled: None,
            violation: None,
            control: None,
            jobs: Vec::new(),
            captures: Vec::new(),
            format: self.format,
        }
    }
}

/// Runs a flow-level model, which gets the rates of the hosts' links as parts of the first one's: each flow's work is its
/// time on the slower of its two; what its first packet takes to cross the fabric is added to its completion.
fn run_fluid(
    simulation: Simulation,
    model: impl Fn(&[f64], &mut dyn Iterator<Item = fluid::Job>, &mut dyn FnMut(u32, Time)),
    monitor: &Monitor,
) -> Result<Outcome, Complaint> {
    let Simulation { setting, mut workload, .. } = simulation;
    if !workload.take_chains().is_empty() {
        return Err(Complaint::new("workload", "a closed loop can't drive a flow-level model"));
    }
    if workload.has_dependencies() {
        let message = "flows that wait for others can't drive a flow-level model";
        return Err(Complaint::new("workload", message));
    }
    if workload.background().contains(&true) {
        let message =
            "a flow-level model runs every flow to its end; leave background out, and write how many flows";
        return Err(Complaint::new("workload", message));
    }
    if workload.asking().next().is_some() {
        return Err(Complaint::new("workload", "a flow-level model has no queries; leave query out"));
    }
    let flows: Vec<Flow> = std::iter::from_fn(|| workload.next_flow()).collect();
    let mut collector = Collector::new(setting.format, Vec::new());
    for flow in &flows {
        collector.start(*flow, &setting.topology);
    }
    let mut jobs = flows.iter().map(|flow| fluid::Job {
        id: flow.id,
        src: flow.src,
        dst: flow.dst,
        work: setting.work(flow),
        start: flow.start,
    });
    let max_time = setting.max_time();
    let mut finished = 0;
    let bps = |host| setting.topology.rate_of(host).as_bps() as f64;
    let rates: Vec<f64> = (0..setting.topology.hosts).map(|host| bps(host) / bps(0)).collect();
    model(&rates, &mut jobs, &mut |flow, at| {
        let index = flows.partition_point(|other| other.id < flow);
        let latency = collector.best_fct(flow).since(setting.work(&flows[index]));
        if at + latency <= max_time {
            collector.finish(flow, at + latency);
        }
        finished += 1;
        monitor.report(0, f64::from(finished) / flows.len() as f64);
    });
    let tally = Tally { packet_hops: 0, events: 2 * flows.len() as u64 };
    Ok(setting.outcome(collector, &[], tally))
}

/// A threshold beyond every deadline makes every flow urgent: then DAQ's two queues are one.
fn useless_threshold(queue: &Values, flows: &[FlowRow]) -> Option<String> {
    let threshold = queue::threshold(queue)?;
    let spans = flows.iter().filter_map(|row| row.deadline().map(|deadline| deadline.since(row.flow.start)));
    let longest = spans.max().filter(|&longest| longest <= threshold)?;
    Some(format!(
        "every flow is urgent: the threshold, {threshold}, is beyond the longest deadline, {longest}"
    ))
}

fn never_started(waiting: u64) -> Option<String> {
    let message = format!("{waiting} flows never started, as what they wait for did not come");
    (waiting > 0).then_some(message)
}

/// So many of the flows that could not be finished are named.
const MOST_NAMED: usize = 5;

/// Which flows were not finished, and why, where that is known.
fn unfinished(
    (started, finished): (u64, u64),
    flows: &[FlowRow],
    standings: &[Standing],
    faults: &Faults,
    topology: &Topology,
) -> String {
    let is_open = |row: &&FlowRow| row.measured && !row.is_over();
    let name = |row: &FlowRow| {
        let [src, dst] = [row.flow.src, row.flow.dst];
        let is_cut_off = faults.cut_off(topology, src, dst);
        let place = standings.binary_search_by_key(&row.flow.id, |one| one.flow);
        let why = match place.map(|place| &standings[place]) {
            _ if is_cut_off => ", cut off for good".to_owned(),
            Ok(Standing { arrived, packets, waits_for, .. }) => {
                format!(", {arrived} of {packets} packets arrived, waits for {waits_for}")
            }
            Err(_) => String::new(),
        };
        format!("{} ({} to {}{why})", row.flow.id, topology.node_name(src), topology.node_name(dst))
    };
    let named: Vec<String> = flows.iter().filter(is_open).take(MOST_NAMED).map(name).collect();
    let more = if started - finished > MOST_NAMED as u64 { ", ..." } else { "" };
    let left = started - finished;
    format!("{left} of {started} flows were not finished when the run ended: {}{more}", named.join(", "))
}

/// A simulation packet by packet, once the transport's type is known.
struct OnPackets<'a> {
    simulation: Simulation,
    monitor: &'a Monitor,
}

impl WithScheme for OnPackets<'_> {
    type Output = Outcome;

    fn run<T: Scheme>(self) -> Outcome {
        let OnPackets { simulation: Simulation { setting, workload, .. }, monitor } = self;
        let transport = setting.case.scheme.component("transport");
        let config = T::configure(&transport);
        let smallest = PacketFormat::of(&transport).smallest_bytes();
        let routing = setting.case.scheme.component("routing");
        setting.run_packets(workload, &routing, smallest, monitor, || T::new(&config))
    }
}

impl Setting {
    /// How queues are watched, if they are.
    fn recorder(&self) -> Option<QueueRecorder> {
        let interval = self.case.measure.optional_time("series_interval");
        let recorder = QueueRecorder::new(interval);
        let recorder = if self.case.measure.flag("by_class") { recorder.by_class() } else { recorder };
        (self.case.measure.flag("queues") || interval.is_some()).then_some(recorder)
    }

    /// Runs a transport packet by packet.
    fn run_packets<T: Transport>(
        self,
        mut workload: Workload,
        routing: &Values,
        smallest_packet_bytes: u64,
        monitor: &Monitor,
        transport: impl Fn() -> T,
    ) -> Outcome {
        let (queue, nic) = queues(&self.case, &workload).expect("a scheme with packets has a queue");
        let trimmed = [&queue, &nic].into_iter().filter_map(queue::trims_to_bytes);
        let queries = workload.asking().map(|asking| asking.size_bytes.into());
        let smallest = trimmed.chain(queue::credit_bytes(&queue)).chain(queries);
        let plan = Plan {
            topology: &self.topology,
            queue: &queue,
            nic: &nic,
            transport: &self.case.scheme.component("transport"),
            routing,
            faults: &self.faults,
            seed: self.case.seed,
            smallest_packet_bytes: smallest.fold(smallest_packet_bytes, u64::min),
            recorder: self.recorder(),
            captured: &self.captured,
            sent_interval: self.case.measure.optional_time("series_interval"),
            audited: self.is_audited,
            longest_window: self.longest_window.min(workload.word_takes()),
            threads: self.threads,
        };
        let mut engine = Engine::<T>::new(&plan, transport);
        let background = workload.background().to_vec();
        let has_background = background.contains(&true);
        let mut collector = Collector::new(self.format, background);
        let (goal, max_time) = (self.goal(), self.max_time());
        let mut is_wanted = true;
        let ack = match plan.transport.entries.get("ack") {
            Some(Value::Bytes(bytes)) => *bytes,
            _ => 0,
        };
        let terms = Terms {
            topology: &self.topology,
            queue: &queue,
            nic: &nic,
            format: self.format,
            largest_packet_bytes: ack.max(self.format.mss_bytes + self.format.header_bytes),
            one_path: routing::path_per_flow(routing, &self.topology).0,
            has_faults: !self.case.faults.is_empty() || !self.topology.error_rates.is_empty(),
        };
        let mut audit = self.is_audited.then(|| Audit::new(terms));
        let mut watch = StallWatch::new(self.faults.last_change());
        let mut violation = None;
        let stalled = loop {
            let (mut is_suspicious, mut is_over, mut is_due) = (false, false, false);
            let mut events = 0;
            engine.run(&mut workload, max_time, |log, tally, now, left| {
                if !log.events.is_empty() {
                    audit.iter_mut().for_each(|audit| audit.hear(&log.events));
                    collector.read(log, &self.topology);
                }
                let (started, finished) = (collector.started(), collector.finished());
                is_wanted = monitor.report(tally.packet_hops, goal.share_done(finished, now));
                is_over = has_background && finished == started && !left.has_foreground_left();
                events = tally.events;
                is_suspicious = watch.is_suspicious(now, events, started, finished);
                is_due = audit.as_ref().is_some_and(|audit| audit.is_due(tally.packet_hops));
                is_wanted && !is_over && !is_suspicious && !is_due
            });
            let now = engine.now();
            if let Some(audit) = &mut audit {
                let mut seen = engine.inspect(audit.follows_order());
                // A window that the end cuts short leaves what comes after it undone, and nobody to be woken for it.
                seen.is_idle &= now < max_time;
                violation = audit.look(&seen, engine.tally().packet_hops).err();
                let is_at_rest = is_suspicious || is_over || !is_wanted || now >= max_time;
                if violation.is_none() && is_due && !is_at_rest {
                    continue;
                }
            }
            if violation.is_some() {
                break None;
            }
            // Of a flow that is asked for nothing is known until the query has come.
            let is_asked_for = |flow| !collector.knows(flow);
            let is_awaited = |flow| collector.awaits(flow) || is_asked_for(flow);
            let unfinished = collector.started() > collector.finished()
                || engine.standings().iter().any(|one| is_asked_for(one.flow));
            let why = if is_suspicious && is_wanted && !is_over && now < max_time {
                if !watch.is_stalled(events, engine.standings(), is_awaited) || !unfinished {
                    continue;
                }
                "packets move, but no flow comes nearer to its end"
            } else if is_wanted && unfinished && now < max_time && engine.is_idle(&workload) {
                "nothing is left to happen"
            } else {
                break None;
            };
            let mut standings = engine.standings();
            standings.retain(|one| is_awaited(one.flow));
            break Some(stall::message(why, now, &standings, |flow| collector.pair(flow)));
        };
        let (tally, end) = (engine.tally(), engine.now());
        let violation = violation.or_else(|| audit.and_then(|audit| audit.finish().err()));
        let is_watched = self.recorder().is_some();
        let mut outcome = self.outcome(collector, &engine.standings(), tally);
        outcome.violation = violation;
        outcome.jobs = workload.jobs().iter().map(|job| JobRow::of(job, &outcome.flows)).collect();
        outcome.warnings.extend(never_started(workload.waiting()));
        outcome.simulated = outcome.simulated.min(end);
        outcome.cancelled = !is_wanted;
        outcome.helpers_took = engine.helpers_took();
        outcome.warnings.extend(stalled.clone());
        outcome.stalled = stalled;
        outcome.warnings.extend(useless_threshold(&queue, &outcome.flows));
        // The engine goes on until the last timer; queues are watched until the last flow ended.
        let ports = engine.ports(outcome.simulated).into_iter().enumerate();
        let row = |(link, (counters, queue, sent))| {
            let queue: Option<QueueRecorder> = queue;
            PortRow { link, counters, queue: queue.filter(|_| is_watched), sent }
        };
        outcome.ports = ports.map(row).collect();
        outcome.pulls = engine.pulls(outcome.simulated).collect();
        let captures = engine.captured(outcome.simulated);
        outcome.captures =
            captures.into_iter().map(|(link, packets)| outcome.capture(link, packets)).collect();
        outcome
    }
}

/// Runs a centrally controlled transport: first all of the controller's decisions, then the packets.
fn run_central(simulation: Simulation, monitor: &Monitor) -> Result<Outcome, Complaint> {
    let Simulation { setting, mut workload, environment } = simulation;
    if !workload.take_chains().is_empty() {
        return Err(Complaint::new("workload", "a closed loop can't drive a centrally controlled transport"));
    }
    if workload.has_dependencies() {
        let message = "flows that wait for others can't drive a centrally controlled transport";
        return Err(Complaint::new("workload", message));
    }
    if workload.asking().next().is_some() {
        let message = "a controller that plans all departures can't wait for queries; leave query out";
        return Err(Complaint::new("workload", message));
    }
    let flows: Vec<Flow> = std::iter::from_fn(|| workload.next_flow()).collect();
    let case = &setting.case;
    let (transport, routing) = (case.scheme.component("transport"), case.scheme.component("routing"));
    let until = setting.max_time();
    let recorder = setting.recorder();
    let plan = CentralPlan::new(&transport, flows, &setting.topology, case.seed, until, recorder.as_ref());
    // The same flows once more: the first time they told the controller.
    let workload = Workload::build(&case.workloads, &environment)?;
    let book = plan.book.clone();
    let carrier = || Carrier::new(book.clone());
    let mut outcome =
        setting.run_packets(workload, &routing, central::SMALLEST_PACKET_BYTES, monitor, carrier);
    for row in &mut outcome.flows {
        row.best_fct = plan.book.traffic.best_fct(plan.book.traffic.index_of(row.flow.id), &outcome.topology);
    }
    // A server's queue is its transmission queues: what its NIC holds was counted there.
    let servers = plan.servers.iter().flatten();
    for (port, queue) in outcome.ports.iter_mut().zip(servers) {
        let mut queue = queue.clone();
        queue.close(outcome.simulated);
        port.queue = Some(queue);
    }
    let mut server_latencies_ps = plan.server_latencies_ps();
    let network = plan.book.latencies_ps.lock().map(|latencies| latencies.clone());
    let mut network_latencies_ps = network.unwrap_or_default();
    server_latencies_ps.sort_unstable();
    network_latencies_ps.sort_unstable();
    outcome.control = Some(Control { traffic: plan.control, server_latencies_ps, network_latencies_ps });
    Ok(outcome)
}

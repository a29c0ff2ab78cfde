//! The engine: clock, windows, and the nodes' turns.
//!
//! Nodes share nothing, and nothing gets from one to another sooner than the shortest link lets it. So time is
//! processed in windows no longer than that (see `calendar.rs`); in each, every node with something to do gets one
//! turn, in which it merges what arrives over its links, in order of time and then link, with its own timers. No
//! global order of events exists, and none is needed: what a node sees does not depend on when other nodes have
//! their turns, nor on how long a window is.

mod agenda;
mod agent;
mod arrival;
mod assembly;
mod calendar;
mod clock;
mod deadlock;
mod driven;
mod due;
mod endpoint;
mod flow_samples;
mod host;
mod inspection;
mod lane;
mod link_table;
mod log;
mod nic;
mod partition;
mod port;
mod sending;
mod shard;
mod switch;
mod thread_pool;
mod transmitter;
mod transports;
mod view;
mod worker;

pub use agenda::Timer;
pub use agent::{Leaving, Moment, PathNeeds, PortAgent, PortInfo};
pub use arrival::Arrival;
pub use assembly::at_switches;
pub use calendar::Calendar;
pub use clock::Clock;
pub use deadlock::PauseCycle;
pub use driven::Step;
pub use due::Due;
pub use endpoint::{Context, FlowStatus, Transport};
pub use flow_samples::{FlowSamples, FlowWatch};
pub use inspection::{BalancedSwitch, Held, Inspection, LinkCharge, LinkState, Passage, SharedBuffer};
pub use log::{Event, Log, Report};
pub use port::{Discipline, Port, PortCounters};
pub use sending::Sending;

use crate::fault::Faults;
use crate::flow::{Flow, FlowId, HostId};
use crate::packet::Packet;
use crate::queue::{CLASSES, PauseRecord, Specification};
use crate::record::{Captured, QueueRecorder, Reordering, Segment, SentRecorder};
use crate::routing::FlowPorts;
use crate::spec::Values;
use crate::topology::Topology;
use crate::units::Time;
use crate::workload::job::{Round, Span, Walker};
use crate::workload::{Start, Workload};
use assembly::Assembly;
use driven::{Driven, Nodes};
use partition::Partition;
use shard::Shard;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
pub use thread_pool::WindowCosts;
use thread_pool::{AnyThreadPool, ThreadPool, Window};
use view::View;
pub use worker::{Meeting, meeting};

/// What was done, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets that reached the far end of a link, of any kind.
    pub packet_hops: u64,
    /// Arrivals, departures from buffers, timers and flow starts.
    pub events: u64,
}

impl std::ops::Add for Tally {
    type Output = Tally;

    fn add(self, other: Tally) -> Tally {
        Tally { packet_hops: self.packet_hops + other.packet_hops, events: self.events + other.events }
    }
}

/// What can be seen of a run between two windows.
pub struct AfterWindow<'a> {
    /// What happened to flows at hosts, to be read and emptied.
    pub log: &'a mut Log,
    /// What was done so far, but for departures from buffers.
    pub tally: Tally,
    /// The time up to which everything happened.
    pub now: Time,
    /// What is left of the workload.
    pub left: &'a Workload,
    /// Collects the status of every unfinished flow, in order of identity.
    pub statuses: &'a dyn Fn() -> Vec<FlowStatus>,
}

/// Everything an engine is built from.
pub struct Plan<'a> {
    /// The network.
    pub topology: &'a Topology,
    /// The queue of every switch port.
    pub queue: &'a Specification,
    /// The queue of every host's NIC.
    pub nic: &'a Specification,
    /// The transport, whose parameters its agents at the ports read.
    pub transport: &'a Values,
    /// How switches choose among equal next hops.
    pub routing: &'a Values,
    /// The ports of each flow, where switches hash those of another simulator's.
    pub flow_ports: Option<FlowPorts>,
    /// What breaks.
    pub faults: &'a Faults,
    /// The run's seed.
    pub seed: u64,
    /// The smallest packet that the transport sends.
    pub smallest_packet_bytes: u64,
    /// The largest packet that any host sends.
    pub largest_packet_bytes: u64,
    /// Whether it is kept when which class of which link was paused, where switches do that.
    pub logs_pauses: bool,
    /// Whether it is measured in which order packets arrive.
    pub measures_order: bool,
    /// How queues are observed, if they are.
    pub recorder: Option<QueueRecorder>,
    /// Which flows are sampled, if any are. Results must not depend on it.
    pub watched: Option<FlowWatch>,
    /// Links whose packets are captured.
    pub captured: &'a BTreeSet<usize>,
    /// How often what links carry is summed up, if it is.
    pub sent_interval: Option<Time>,
    /// Whether the data of an [`Inspection`] are gathered. Results must not depend on it.
    pub audited: bool,
    /// How long a window may be, beside what the network allows. Results must not depend on it.
    pub longest_window: Time,
    /// How many threads share out the nodes; at least 1. Results must not depend on it.
    pub threads: u32,
    /// Whether what these threads would do is done by one, which times it. Results must not depend on it.
    pub take_turns: bool,
}

/// What is kept of a port: its counters, its queue's record and its link's.
pub type PortRecords = (PortCounters, Option<QueueRecorder>, Option<SentRecorder>);

/// A simulation on one network, whatever its transport: what the rest of the program sees of an [`Engine`], so that
/// it is compiled once and not for each transport.
pub trait AnyEngine: Send {
    /// Runs the workload to its end, or to `max_time`; what was stopped between two windows goes on where it was.
    /// `after_window` returns whether to go on.
    fn run(
        &mut self,
        workload: &mut Workload,
        max_time: Time,
        after_window: &mut dyn FnMut(AfterWindow<'_>) -> bool,
    );

    /// Instead of [`AnyEngine::run`], for who has flows start as others end: goes on until flows end, a window is over,
    /// or all happened up to `until`. Nothing happens at `max_time` or after. The log has what happened since it was last
    /// emptied.
    fn step(&mut self, until: Time, max_time: Time, log: &mut Log) -> Step;

    /// Has a flow start in a run that goes on step by step, at the moment of the last step or later.
    fn add_flow(&mut self, flow: Flow);

    /// Ends such a run before `end`, up to which all has happened at hosts.
    fn cut(&mut self, end: Time, log: &mut Log);

    /// The state of a flow at its sender now, between two steps; `None` of a flow that is not being sent.
    fn sending(&self, src: HostId, flow: FlowId, now: Time) -> Option<Sending>;

    /// Has the transport of a host go on with other values, now, between two steps (see [`Transport::set`]).
    fn set(&mut self, host: HostId, values: &Values, now: Time);

    /// Has ports of switches mark by another queue's rule from the end of the window under way on, or at once where
    /// none is; each by its link, with that queue as it would be there.
    fn mark_by(&mut self, rules: Vec<(u32, Discipline)>);

    /// Has the balancer of a switch go by other values, from the same time on.
    fn balance_by(&mut self, switch: u32, values: &Values);

    /// Has a host choose paths by other values, now, between two steps.
    fn choose_by(&mut self, host: HostId, values: &Values);

    /// What waits at each port of a switch as the last window ended, as far as that is known, in the order of the
    /// topology's links; of hosts' ports nothing.
    fn waiting(&mut self) -> Vec<u64>;

    /// The time up to which everything happened.
    fn now(&self) -> Time;

    /// The processor time of all threads but the one that ran the engine.
    fn helpers_took(&self) -> Duration;

    /// What windows cost, where what threads would do was done in turn.
    fn window_costs(&self) -> WindowCosts;

    /// What was done.
    fn tally(&self) -> Tally;

    /// Whether nothing is left to happen.
    fn is_idle(&self, workload: &Workload) -> bool;

    /// What was done so far for every flow whose sender is not done, in no order.
    fn reports(&self) -> Vec<(FlowId, Report)>;

    /// The status of every unfinished flow, in order of identity.
    fn statuses(&self) -> Vec<FlowStatus>;

    /// When the last of the packets that are on links, or wait for one that may be sent, is at the next node, as far as
    /// that is known. Only between two windows.
    fn arrives_by(&self) -> Time;

    /// What went through every port until `end`, in the order of the topology's links: of packets and bytes what started
    /// before it, which is known until the window after its own.
    fn counters(&self, end: Time) -> Vec<PortCounters>;

    /// The same, with the queue's record and the link's.
    fn ports(&mut self, end: Time) -> Vec<PortRecords>;

    /// What was captured until `end`, with its link, in the order of links.
    fn captured(&self, end: Time) -> Vec<(usize, Vec<Captured>)>;

    /// What was paused of each port that can be, in the order of the topology's links: the port's link, then each
    /// class.
    fn pauses(&self, end: Time) -> Vec<(usize, [PauseRecord; CLASSES])>;

    /// A cycle of paused ports that nothing will resume, if there is one. Only between two windows.
    fn pause_cycle(&self) -> Option<PauseCycle>;

    /// In which order the packets of each flow arrived, by flow, if that was measured.
    fn reordering(&self) -> BTreeMap<FlowId, Reordering>;

    /// What the ranks of jobs did: source, rank, and its operations.
    fn spans(&self) -> Vec<(u8, u32, Vec<Span>)>;

    /// What the balancers of all switches counted, by name.
    fn balancing(&self) -> BTreeMap<&'static str, u64>;

    /// The record of every host's queue of pulls until `end`, where there is one.
    fn pulls(&self, end: Time) -> Vec<(HostId, QueueRecorder)>;

    /// The samples of the chosen flows until `end`, in order of identity.
    fn flow_samples(&mut self, end: Time) -> Vec<FlowSamples>;

    /// Leaves out so many packets of a flow that its sender has not sent (see [`Transport::shorten`]).
    fn shorten(&mut self, src: HostId, flow: FlowId, packets: u32) -> bool;

    /// The collective operation that all ranks of all jobs are in, if they are in one and nothing else goes on there.
    fn round(&self) -> Option<Round>;

    /// Leaves out so many stages of that operation that no rank has begun.
    fn skip_stages(&mut self, stages: u32);

    /// Has all that faults have yet to do happen so much sooner; nothing does within that time.
    fn bring_faults_forward(&mut self, by: Time);

    /// The state of everything; `identify`: data packets get identities. Valid only between two windows, and only
    /// for an engine that was built to be audited.
    fn inspect(&mut self, identify: bool) -> Inspection;
}

/// A simulation of one transport on one network: of the transport only its packets' format and its agents at ports are
/// of the type.
pub struct Engine<'t, H, A> {
    shards: Vec<Shard<'t, H, A>>,
    partition: Partition,
    now: Time,
    helpers_took: Duration,
    take_turns: bool,
    window_costs: WindowCosts,
    /// The window under way, of a run that goes on step by step.
    driven: Driven,
    /// See [`Transport::segment`].
    segment: fn(&Packet<H>) -> Segment,
}

impl<'t, H: Copy + Default, A: PortAgent<H>> Engine<'t, H, A> {
    /// A network at rest, with a transport for each host.
    pub fn new<T: Transport<Header = H, Agent = A> + 't>(
        plan: &Plan<'_>,
        transport: impl Fn() -> T,
    ) -> Engine<'t, H, A> {
        let partition = Partition::new(plan.topology, plan.threads);
        let assembly = Assembly::new(plan, &partition, A::SEES_DEPARTURES);
        let shards = (0..plan.threads as usize).map(|shard| assembly.shard(shard, &transport)).collect();
        Engine {
            shards,
            partition,
            now: Time::ZERO,
            helpers_took: Duration::ZERO,
            take_turns: plan.take_turns,
            window_costs: WindowCosts::default(),
            driven: Driven::default(),
            segment: T::segment,
        }
    }

    fn views(&self) -> Vec<View<'_, H, A>> {
        self.shards.iter().map(Shard::view).collect()
    }

    /// What was done so far, but for departures from buffers.
    fn done(&self) -> Tally {
        self.shards.iter().fold(Tally::default(), |sum, shard| sum + shard.tally)
    }

    fn shard_of(&mut self, host: HostId) -> &mut Shard<'t, H, A> {
        &mut self.shards[self.partition.places[host as usize].0 as usize]
    }
}

impl<H: Copy + Default + std::fmt::Debug + Send + 'static, A: PortAgent<H>> AnyEngine for Engine<'_, H, A> {
    fn run(
        &mut self,
        workload: &mut Workload,
        max_time: Time,
        after_window: &mut dyn FnMut(AfterWindow<'_>) -> bool,
    ) {
        for chain in workload.take_chains() {
            self.shard_of(chain.src).add_chain(chain);
        }
        let (flows, triggers) = workload.take_dependencies();
        for flow in flows {
            self.shard_of(flow.src).add_flow(flow);
        }
        for (host, triggers) in triggers {
            self.shard_of(host).add_triggers(host, triggers);
        }
        for (host, rank) in workload.take_ranks() {
            self.shard_of(host).add_rank(host, rank);
        }
        let clock = self.shards[0].link_table.calendar.clock();
        let places = &self.partition.places;
        let (under_way, took, costs) = std::thread::scope(|scope| {
            let mut thread_pool = ThreadPool::new(scope, &mut self.shards, self.take_turns);
            self.now = lead(&mut thread_pool, clock, places, workload, (self.now, max_time), after_window);
            thread_pool.end()
        });
        self.helpers_took += took;
        self.window_costs += costs;
        for (shard, mut crossings) in self.shards.iter_mut().zip(under_way) {
            shard.take_in(&mut crossings);
        }
    }

    fn step(&mut self, until: Time, max_time: Time, log: &mut Log) -> Step {
        let nodes = Nodes { shards: &mut self.shards, places: &self.partition.places };
        let (step, end) = self.driven.step(nodes, (until, max_time), log);
        self.now = end.unwrap_or(self.now);
        match step {
            Step::WindowOver(_) => Step::WindowOver(self.done()),
            step => step,
        }
    }

    fn add_flow(&mut self, flow: Flow) {
        let nodes = Nodes { shards: &mut self.shards, places: &self.partition.places };
        self.driven.add_flow(nodes, flow);
    }

    fn cut(&mut self, end: Time, log: &mut Log) {
        let nodes = Nodes { shards: &mut self.shards, places: &self.partition.places };
        self.driven.cut(nodes, end, log);
        self.now = self.now.max(end);
    }

    fn sending(&self, src: HostId, flow: FlowId, now: Time) -> Option<Sending> {
        let (shard, place) = self.partition.places[src as usize];
        self.shards[shard as usize].sending(place, flow, now)
    }

    fn set(&mut self, host: HostId, values: &Values, now: Time) {
        let (shard, place) = self.partition.places[host as usize];
        self.shards[shard as usize].transports.set(place, values, now);
    }

    fn mark_by(&mut self, rules: Vec<(u32, Discipline)>) {
        self.driven.mark_by(&mut self.shards, rules);
    }

    fn balance_by(&mut self, switch: u32, values: &Values) {
        let place = self.partition.places[switch as usize];
        self.driven.balance_by(&mut self.shards, place, values.clone());
    }

    fn choose_by(&mut self, host: HostId, values: &Values) {
        let (shard, place) = self.partition.places[host as usize];
        self.shards[shard as usize].hosts[place as usize].choose_by(values);
    }

    fn waiting(&mut self) -> Vec<u64> {
        let last = Time(self.now.as_ps().saturating_sub(1));
        let mut all = vec![0; self.partition.far_ends.len()];
        for shard in &mut self.shards {
            let Shard { ports, links, link_table, .. } = shard;
            let of_hosts = links.len() - ports.len();
            for (port, link) in ports.iter_mut().zip(&links[of_hosts..]) {
                all[*link as usize] = port.queued_bytes_at(last, link_table);
            }
        }
        all
    }

    fn now(&self) -> Time {
        self.now
    }

    fn helpers_took(&self) -> Duration {
        self.helpers_took + self.driven.helpers_took()
    }

    fn window_costs(&self) -> WindowCosts {
        self.window_costs
    }

    fn tally(&self) -> Tally {
        self.shards.iter().map(|shard| shard.tally(self.now)).fold(Tally::default(), |sum, one| sum + one)
    }

    fn is_idle(&self, workload: &Workload) -> bool {
        workload.peek_start().is_none() && self.shards.iter().all(|shard| shard.next_window().is_none())
    }

    fn reports(&self) -> Vec<(FlowId, Report)> {
        self.shards.iter().flat_map(Shard::reports).collect()
    }

    fn statuses(&self) -> Vec<FlowStatus> {
        endpoint::in_order(self.shards.iter().flat_map(Shard::statuses).collect())
    }

    fn arrives_by(&self) -> Time {
        self.shards.iter().map(Shard::arrives_by).max().unwrap_or(Time::ZERO)
    }

    fn counters(&self, end: Time) -> Vec<PortCounters> {
        view::counters(&self.views(), &self.partition.far_ends, end)
    }

    fn ports(&mut self, end: Time) -> Vec<PortRecords> {
        let queues = self.shards.iter_mut().map(|shard| shard.queue_records(end)).collect();
        view::port_records(&self.views(), queues, &self.partition.far_ends, end)
    }

    fn captured(&self, end: Time) -> Vec<(usize, Vec<Captured>)> {
        view::captured(&self.views(), end, self.segment)
    }

    fn pauses(&self, end: Time) -> Vec<(usize, [PauseRecord; CLASSES])> {
        view::pauses(&self.views(), end)
    }

    fn pause_cycle(&self) -> Option<PauseCycle> {
        deadlock::find(&self.views(), &self.partition.far_ends)
    }

    fn reordering(&self) -> BTreeMap<FlowId, Reordering> {
        let mut flows = BTreeMap::new();
        self.shards.iter().for_each(|shard| flows.extend(shard.reordering()));
        flows
    }

    fn spans(&self) -> Vec<(u8, u32, Vec<Span>)> {
        let of = |rank: &Walker| (rank.plan().settings.number, rank.rank(), rank.spans().collect());
        let mut all: Vec<_> = self.shards.iter().flat_map(Shard::ranks).map(of).collect();
        all.sort_unstable_by_key(|&(source, rank, _)| (source, rank));
        all
    }

    fn balancing(&self) -> BTreeMap<&'static str, u64> {
        view::balancing(&self.views())
    }

    fn pulls(&self, end: Time) -> Vec<(HostId, QueueRecorder)> {
        self.shards.iter().flat_map(move |shard| shard.pulls(end)).collect()
    }

    fn flow_samples(&mut self, end: Time) -> Vec<FlowSamples> {
        let mut all: Vec<_> = self.shards.iter_mut().flat_map(|shard| shard.flow_samples(end)).collect();
        all.sort_unstable_by_key(FlowSamples::flow);
        all
    }

    fn shorten(&mut self, src: HostId, flow: FlowId, packets: u32) -> bool {
        self.shard_of(src).shorten(src, flow, packets)
    }

    fn round(&self) -> Option<Round> {
        let mut rounds = self.shards.iter().flat_map(Shard::ranks).map(Walker::round);
        let first = rounds.next()??;
        rounds.try_fold(first, |all, one| all.with(one?))
    }

    fn skip_stages(&mut self, stages: u32) {
        self.shards.iter_mut().flat_map(Shard::ranks_mut).for_each(|rank| rank.skip_stages(stages));
    }

    fn bring_faults_forward(&mut self, by: Time) {
        let now = self.now;
        self.shards.iter_mut().for_each(|shard| shard.bring_faults_forward(now, by));
    }

    fn inspect(&mut self, identify: bool) -> Inspection {
        let puts =
            self.shards.iter_mut().map(|shard| std::mem::take(&mut shard.link_table.audited)).collect();
        let due = self.shards.iter().flat_map(Shard::due).collect();
        let is_idle = self.shards.iter().all(|shard| shard.next_window().is_none());
        let mut seen = inspection::inspect(&self.views(), &self.partition.far_ends, puts, identify);
        seen.shared_buffers.extend(self.shards.iter().flat_map(inspection::intakes));
        Inspection { now: self.now, is_idle, due, ..seen }
    }
}

/// Leads the threads through time.
fn lead(
    thread_pool: &mut dyn AnyThreadPool,
    clock: Clock,
    places: &[(u32, u32)],
    workload: &mut Workload,
    (mut now, max_time): (Time, Time),
    after_window: &mut dyn FnMut(AfterWindow<'_>) -> bool,
) -> Time {
    loop {
        let flow = workload.peek_start().map(|start| clock.window_of(start));
        let Some(number) = flow.into_iter().chain(thread_pool.next_window()).min() else { return now };
        let (start, end) = (clock.start_of(number), clock.start_of(number + 1).min(max_time));
        if start >= max_time {
            return now;
        }
        while workload.peek_start().is_some_and(|start| start < end) {
            let shard = |host: HostId| places[host as usize].0;
            match workload.next_start() {
                Some(Start::Flow(flow)) => thread_pool.add_flow(shard(flow.src), flow),
                Some(Start::Query(query)) => {
                    thread_pool.add_query(shard(query.flow.src), shard(query.flow.dst), query);
                }
                None => break,
            }
        }
        let tally = thread_pool.process(Window { number, start, end });
        now = end;
        if workload.has_dependencies() {
            thread_pool.log().notify(workload);
        }
        let log = &mut std::mem::take(thread_pool.log());
        let statuses = &|| thread_pool.statuses();
        let continues = after_window(AfterWindow { log, tally, now, left: workload, statuses });
        std::mem::swap(thread_pool.log(), log);
        // What is left of a window that max_time cuts short must not be processed again.
        if !continues || end == max_time {
            return now;
        }
    }
}

//! An engine: a network's shards.

use super::agent::PortAgent;
use super::assembly::Assembly;
use super::driven::{Driven, Nodes};
use super::leader::lead;
use super::log::Log;
use super::partition::Partition;
use super::shard::Shard;
use super::thread_pool::ThreadPool;
use super::view::{self, View};
use super::{
    AfterWindow, AnyEngine, Discipline, FlowSamples, FlowStatus, Inspection, PauseCycle, Plan, PortCounters,
    PortRecords, Report, Sending, Step, Tally, Transport, WindowCosts, deadlock, endpoint, inspection,
};
use crate::flow::{Flow, FlowId, HostId};
use crate::packet::Packet;
use crate::queue::{CLASSES, PauseRecord};
use crate::record::{Captured, QueueRecorder, Reordering, Segment};
use crate::spec::Values;
use crate::units::Time;
use crate::workload::Workload;
use crate::workload::job::{Rounds, Span, Walker, rounds};
use std::collections::BTreeMap;
use std::time::Duration;

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
        let turns = self.take_turns.then_some(&mut self.window_costs);
        let (under_way, took) = std::thread::scope(|scope| {
            let mut thread_pool = ThreadPool::new(scope, &mut self.shards, turns);
            self.now = lead(&mut thread_pool, clock, places, workload, (self.now, max_time), after_window);
            thread_pool.end()
        });
        self.helpers_took += took;
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
        self.window_costs.clone()
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

    fn rounds(&self) -> Option<Rounds> {
        rounds(self.shards.iter().flat_map(Shard::ranks).map(Walker::round))
    }

    fn skip_stages(&mut self, stages: u32) {
        self.shards.iter_mut().flat_map(Shard::ranks_mut).for_each(|rank| rank.skip_stages(stages));
    }

    fn bring_faults_forward(&mut self, by: Time) {
        let now = self.now;
        self.shards.iter_mut().for_each(|shard| shard.bring_faults_forward(now, by));
    }

    fn ranks_act_at(&self) -> Time {
        let ranks = self.shards.iter().flat_map(Shard::ranks);
        ranks.map(Walker::next_at).min().unwrap_or(Time::NEVER)
    }

    fn bring_ranks_forward(&mut self, by: Time) {
        let now = self.now;
        self.shards.iter_mut().for_each(|shard| shard.bring_ranks_forward(now, by));
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

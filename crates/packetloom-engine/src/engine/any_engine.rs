//! What the rest of the program sees of an engine, and of a run between two windows.

use super::{
    Discipline, FlowSamples, FlowStatus, Inspection, Log, PauseCycle, PortCounters, Report, Sending, Step,
    WindowCosts,
};
use crate::flow::{Flow, FlowId, HostId};
use crate::queue::{CLASSES, PauseRecord};
use crate::record::{Captured, QueueRecorder, Reordering, SentRecorder};
use crate::spec::Values;
use crate::units::Time;
use crate::workload::Workload;
use crate::workload::job::{Rounds, Span};
use std::collections::BTreeMap;
use std::time::Duration;

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

/// What is kept of a port: its counters, its queue's record and its link's.
pub type PortRecords = (PortCounters, Option<QueueRecorder>, Option<SentRecorder>);

/// A simulation on one network, whatever its transport: what the rest of the program sees of an `Engine`, so that
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

    /// Has the transport of a host go on with other values, now, between two steps (see `Transport::set`).
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

    /// Leaves out so many packets of a flow that its sender has not sent (see `Transport::shorten`).
    fn shorten(&mut self, src: HostId, flow: FlowId, packets: u32) -> bool;

    /// The collective operations that the ranks of all jobs are in, if each is in one and nothing else goes on there.
    fn rounds(&self) -> Option<Rounds>;

    /// Leaves out so many stages of each of those operations that no rank has begun.
    fn skip_stages(&mut self, stages: u32);

    /// Has all that faults have yet to do happen so much sooner; nothing does within that time.
    fn bring_faults_forward(&mut self, by: Time);

    /// When a rank of a job next does something by itself, such as the end of what it computes.
    fn ranks_act_at(&self) -> Time;

    /// Has all that ranks have yet to do by themselves happen so much sooner; nothing does within that time.
    fn bring_ranks_forward(&mut self, by: Time);

    /// The state of everything; `identify`: data packets get identities. Valid only between two windows, and only
    /// for an engine that was built to be audited.
    fn inspect(&mut self, identify: bool) -> Inspection;
}

//! What came of a case.

use super::critical::PathRow;
use super::jobs::{IterationRow, JobRow, OperationRow};
use super::serving::RequestRow;
use super::stragglers::RankRow;
use super::timelines::Timeline;
use crate::audit::Violation;
use crate::central::{ControlTraffic, Normalisations};
use crate::engine::FlowSamples;
use crate::engine::{PortCounters, Report, Sending, Tally, WindowCosts};
use crate::flow::{FlowId, HostId};
use crate::measure::FlowRow;
use crate::narrow::exact;
use crate::packet::Format;
use crate::queue::{CLASSES, Pause, PauseRecord};
use crate::record::{Capture, Captured, QueueRecorder, Reordering, SentRecorder, pcapng};
use crate::spec::Complaint;
use crate::topology::Topology;
use crate::units::{Rate, Time};
use std::collections::BTreeMap;
use std::time::Duration;

/// What went through a port, and how its queue was.
#[derive(Clone, Debug)]
pub struct PortRow {
    /// The index of its link in the topology.
    pub link: usize,
    /// What went through, until nothing was left to happen.
    pub counters: PortCounters,
    /// The packets that started by the end of the simulated time, and their bytes: what goes on after the last flow's
    /// end is not among them.
    pub carried: (u64, u64),
    /// What was paused of each class, if that can be.
    pub pauses: Option<Box<[PauseRecord; CLASSES]>>,
    /// Its queue, if it was observed.
    pub queue: Option<QueueRecorder>,
    /// What its link carried over time, if that was recorded.
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

/// A sample of a flow at its sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSample {
    /// The flow.
    pub flow: FlowId,
    /// When it was taken.
    pub at: Time,
    /// The window in bytes of payload, of a scheme that has one.
    pub window_bytes: Option<f64>,
    /// How fast packets may leave, of a scheme that has a rate.
    pub rate: Option<Rate>,
    /// The round-trip time, of a scheme that measures it.
    pub rtt: Option<Time>,
    /// Payload that the sender holds to be in flight.
    pub in_flight_bytes: u64,
    /// Payload that it knows to have arrived.
    pub arrived_bytes: u64,
    /// What it has done so far.
    pub report: Report,
}

impl FlowSample {
    fn of(flow: FlowId, at: Time, state: &Sending, size_bytes: u64, format: Format) -> FlowSample {
        let bytes = |packets: u32| (u64::from(packets) * format.mss_bytes).min(size_bytes);
        FlowSample {
            flow,
            at,
            window_bytes: state.window.map(|packets| packets * format.mss_bytes as f64),
            rate: state.rate,
            rtt: state.rtt,
            in_flight_bytes: bytes(state.in_flight),
            arrived_bytes: bytes(state.arrived),
            report: state.report,
        }
    }
}

/// What came of a case.
#[derive(Debug)]
pub struct Outcome {
    /// Whether it was ended before its time.
    pub cancelled: bool,
    /// Whether a rung below packets was run, so that flows' times are estimates.
    pub is_estimated: bool,
    /// A row per flow, in order of identity.
    pub flows: Vec<FlowRow>,
    /// A row per port, in the order of the topology's links.
    pub ports: Vec<PortRow>,
    /// In which order the packets of each flow arrived, if that was measured.
    pub reordering: Option<BTreeMap<FlowId, Reordering>>,
    /// What the balancers of all switches counted, by name; nothing where the routing has none that count.
    pub balancing: BTreeMap<&'static str, u64>,
    /// The samples of the chosen flows, in order of identity.
    pub flow_samples: Vec<FlowSamples>,
    /// The pull queue of each host, where the transport has one and it was observed.
    pub pulls: Vec<(HostId, QueueRecorder)>,
    /// The network.
    pub topology: Topology,
    /// What was done.
    pub tally: Tally,
    /// When the last flow ended, or the run was stopped.
    pub simulated: Time,
    /// Flows that started before this are not measured.
    pub warm_up: Time,
    /// The processor time of all threads but the one that started the run.
    pub helpers_took: Duration,
    /// What windows cost, where what threads would do was done in turn.
    pub window_costs: WindowCosts,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Flows that were still to start when the case ended: what they wait for did not come, or the case stalled, or
    /// its time was over.
    pub never_started: u64,
    /// Why the case could not go on, if it could not: which flows wait, and for what.
    pub stalled: Option<String>,
    /// The invariant that was violated, if one was: then the run ended there, and its results are void.
    pub violation: Option<Violation>,
    /// What a congestion control of the user's did wrong, if it did: then there is no result.
    pub refused: Option<Complaint>,
    /// What central control took, where there was any.
    pub control: Option<Control>,
    /// A row per collective operation and repetition.
    pub jobs: Vec<JobRow>,
    /// A row per repetition of a job.
    pub iterations: Vec<IterationRow>,
    /// A row per request to a model that is served.
    pub requests: Vec<RequestRow>,
    /// A row per rank and repetition.
    pub ranks: Vec<RankRow>,
    /// What every rank of every job did, if that was measured.
    pub operations: Vec<OperationRow>,
    /// What each repetition waited for, from its beginning to its end, if that was measured.
    pub critical_path: Vec<PathRow>,
    /// What ranks did, for other tools.
    pub timelines: Vec<Timeline>,
    /// What went over the links that were to be captured.
    pub captures: Vec<Capture>,
    /// How the transport cuts flows into packets.
    pub format: Format,
}

/// What central control took, and where packets spent their time under it.
#[derive(Clone, Debug)]
pub struct Control {
    /// Reports, grants and rates.
    pub traffic: ControlTraffic,
    /// What rates took to work out, if it gave out rates.
    pub normalisations: Option<Normalisations>,
    /// How long packets waited at their servers, in ps, in increasing order.
    pub server_latencies_ps: Vec<u64>,
    /// How long they were in the network after that, in ps, in increasing order.
    pub network_latencies_ps: Vec<u64>,
}

impl Outcome {
    /// The share of the simulated time for which a port's link was sending. A packet that is being sent as that time
    /// ends is among the port's, with all of its bytes; the link was busy with it until then.
    pub fn utilisation(&self, row: &PortRow) -> f64 {
        let (packets, bytes) = row.carried;
        let framing_bytes = packets * self.topology.framing_bytes;
        let busy = self.topology.links[row.link].rate.time_for(bytes + framing_bytes);
        let busy = busy.min(self.simulated);
        if self.simulated == Time::ZERO { 0.0 } else { busy.as_secs_f64() / self.simulated.as_secs_f64() }
    }

    pub(super) fn capture(&self, link: usize, packets: Vec<Captured>) -> Capture {
        let rate = self.topology.links[link].rate;
        Capture { name: self.topology.link_name(exact::<u32>(link)), rate, packets }
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

    /// Every sample of every flow that was sampled.
    pub fn flow_series(&self) -> impl Iterator<Item = FlowSample> {
        let size_of = |id| {
            let place = self.flows.binary_search_by_key(&id, |row| row.flow.id);
            place.map_or(0, |place| self.flows[place].flow.size_bytes)
        };
        self.flow_samples.iter().flat_map(move |flow| {
            let (id, size_bytes, format) = (flow.flow(), size_of(flow.flow()), self.format);
            flow.samples().map(move |(at, state)| FlowSample::of(id, at, &state, size_bytes, format))
        })
    }

    /// Every pause that was noted: port, class, and the pause.
    pub fn pauses(&self) -> impl Iterator<Item = (u32, u8, Pause)> {
        self.ports.iter().flat_map(|row| {
            let classes = row.pauses.iter().flat_map(|classes| classes.iter().zip(0..));
            classes.flat_map(move |(record, class)| {
                record.each.iter().map(move |&pause| (exact::<u32>(row.link), class, pause))
            })
        })
    }

    /// Every sample of every port: port, time in ns, bytes that waited, bytes put onto the link until the next
    /// sample.
    pub fn samples(&self) -> impl Iterator<Item = (u32, f64, u64, u64)> {
        self.ports.iter().flat_map(|row| {
            let samples = row.queue.iter().flat_map(|queue| queue.samples().enumerate());
            samples.map(move |(nth, (at, bytes))| {
                let sent = row.sent.as_ref().map_or(0, |sent| sent.bytes(nth));
                (exact::<u32>(row.link), at.as_ns_f64(), bytes, sent)
            })
        })
    }

    /// The same for every traffic class at every port.
    pub fn class_samples(&self) -> impl Iterator<Item = ClassSample> {
        let pairs = self
            .ports
            .iter()
            .filter_map(|row| Some((exact::<u32>(row.link), row.queue.as_ref()?, row.sent.as_ref()?)));
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
        class: exact::<u8>(class),
        data_bytes: sent.data_bytes(class, nth),
        queue_bytes: waited.as_ref().and_then(|samples| samples.get(nth).copied()),
        credit_bytes: credit.as_ref().and_then(|samples| samples.get(nth).copied()),
    })
}

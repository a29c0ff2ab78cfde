//! Stages of collective operations.

use super::jumps::Jumps;
use super::{Stand, SteadyRung};
use crate::engine::{Event, Log, PortCounters};
use crate::flow::{Flow, FlowId};
use crate::measure::Collector;
use crate::narrow::narrow;
use crate::topology::Topology;
use crate::units::Time;
use crate::workload::job::{Exchange, Job, Operation, Plan};
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many stages of an operation are left after a skip: the one that is under way at some ranks when it is the
/// next one at others, and a whole one.
const LEFT: u32 = 2;

/// How many stages in a row are compared.
const WATCHED: usize = 2;

/// Where an operation is: source, repetition, exchange.
type Key = (u8, u32, u32);

/// Watches stages, and skips those that are like them.
pub struct Stages {
    rung: SteadyRung,
    jobs: Vec<(u8, Arc<Plan>)>,
    current: Option<Current>,
    /// How many stages of each operation were skipped.
    skipped: BTreeMap<Key, u32>,
    /// Messages that are under way.
    messages: BTreeMap<FlowId, Message>,
    /// Once a fault has changed something: what a stage took at the last skip, and how often that has held since.
    held: Option<(Time, u32)>,
}

/// The operation that began last.
struct Current {
    key: Key,
    operation: Arc<Operation>,
    /// What each rank does in each lane.
    tracks: Vec<Track>,
    /// How many of these have begun as many stages as are compared, and how many any.
    ready: usize,
    begun: usize,
    next_at: Time,
    /// When ports were looked at, and what had gone through them.
    first: Option<(Time, Vec<PortCounters>)>,
}

/// A rank in a lane.
#[derive(Clone, Copy, Default)]
struct Track {
    /// When its last stages began, the last one last.
    starts: [Time; WATCHED + 1],
    known: usize,
    /// Its last message.
    message: FlowId,
}

/// A message under way.
#[derive(Clone, Copy)]
struct Message {
    /// What it stands for.
    original: Flow,
    /// How much later it is than by the engine's clock.
    later: Time,
    /// How often it happens again, and how much later each time.
    again: Option<(u32, Time)>,
}

impl Stages {
    pub fn new(rung: SteadyRung, jobs: &[Job]) -> Stages {
        let jobs = jobs.iter().map(|job| (job.source, Arc::clone(&job.plan))).collect();
        Stages { rung, jobs, current: None, skipped: BTreeMap::new(), messages: BTreeMap::new(), held: None }
    }

    /// Which operation a flow belongs to, and its number there.
    fn locate(&self, flow: FlowId) -> Option<(Key, u32, &Arc<Operation>)> {
        self.jobs.iter().find_map(|(source, plan)| {
            let at = plan.locate(flow)?;
            let Exchange::Collective(operation) = plan.exchange(at.exchange) else { return None };
            Some(((*source, at.iteration, at.exchange), at.index, operation))
        })
    }

    /// The message that the engine knows by this number; one that is over keeps the number it has.
    pub fn original(&self, flow: FlowId) -> FlowId {
        if let Some(message) = self.messages.get(&flow) {
            return message.original.id;
        }
        let Some((key, _, operation)) = self.locate(flow) else { return flow };
        flow + self.skipped.get(&key).copied().unwrap_or(0) * operation.ranks
    }

    /// Reads the log, and what happened again.
    pub fn read(&mut self, log: &mut Log, jumps: &Jumps, collector: &mut Collector, topology: &Topology) {
        let mut over = Vec::new();
        for event in &mut log.events {
            match event {
                Event::Started(flow) => *flow = self.started(*flow, jumps.skipped()),
                Event::Delivered { flow, at } => {
                    let (original, later) = self.of(*flow, jumps);
                    (*flow, *at) = (original, *at + later);
                }
                Event::Closed { flow, at, .. } => {
                    let (original, later) = self.of(*flow, jumps);
                    over.extend(self.messages.remove(flow));
                    (*flow, *at) = (original, *at + later);
                }
                Event::RankEnded { at, .. } | Event::Refused { at, .. } => *at += jumps.skipped(),
            }
        }
        collector.read(log, topology);
        for message in over {
            self.repeat(&message, collector, topology);
        }
    }

    fn of(&self, flow: FlowId, jumps: &Jumps) -> (FlowId, Time) {
        let known = self.messages.get(&flow).map(|message| (message.original.id, message.later));
        known.unwrap_or((flow, jumps.skipped()))
    }

    /// A flow has started by the engine's clock; returns what it stands for.
    fn started(&mut self, flow: Flow, later: Time) -> Flow {
        let dated = Flow { start: flow.start + later, ..flow };
        let Some((key, index, operation)) = self.locate(flow.id) else { return dated };
        let operation = Arc::clone(operation);
        let part = operation.part(index);
        let skipped = self.skipped.get(&key).copied().unwrap_or(0);
        let original = Flow {
            id: flow.id + skipped * operation.ranks,
            size_bytes: size_of(&operation, index, skipped),
            ..dated
        };
        self.messages.insert(flow.id, Message { original, later, again: None });
        let is_later = self.current.as_ref().is_none_or(|current| current.key < key);
        let current = if is_later {
            self.current.insert(Current::new(key, operation))
        } else {
            match &mut self.current {
                Some(current) if current.key == key => current,
                _ => return original,
            }
        };
        let track = &mut current.tracks[(part.lane * current.operation.ranks + part.from) as usize];
        track.starts.rotate_left(1);
        track.starts[WATCHED] = flow.start;
        track.message = flow.id;
        current.begun += usize::from(track.known == 0);
        current.ready += usize::from(track.known == WATCHED);
        track.known += 1;
        original
    }

    /// Whether it is time to look.
    #[inline]
    pub fn is_due(&mut self, now: Time) -> bool {
        let Some(current) = &self.current else { return false };
        let tracks = current.tracks.len();
        now >= current.next_at
            && (current.ready == tracks || current.begun == tracks && current.first.is_none())
    }

    /// What was watched so far says nothing of what comes.
    pub fn start_anew(&mut self) {
        self.held = Some((Time::ZERO, 0));
        if let Some(current) = &mut self.current {
            (current.ready, current.begun, current.first) = (0, 0, None);
            current.tracks.iter_mut().for_each(|track| track.known = 0);
        }
    }

    /// Skips stages, if those that all ranks have begun are alike.
    pub fn look(&mut self, stand: &mut Stand<'_>, jumps: &mut Jumps) {
        let now = stand.engine.now();
        let Some(current) = &mut self.current else { return };
        if current.first.is_none() {
            current.first = Some((now, stand.counters()));
        }
        if current.ready < current.tracks.len() {
            return;
        }
        let Some(takes) = current.stage_takes(now, self.rung) else {
            current.next_at = now + current.mean_stage();
            return;
        };
        current.next_at = now + takes;
        let (key, tracks, ranks) = (current.key, current.tracks.clone(), current.operation.ranks);
        let round =
            stand.engine.round().filter(|round| (round.source, round.iteration, round.exchange) == key);
        let Some(round) = round.filter(|_| self.is_alone(key, stand)) else { return };
        // Messages that are under way end, too, before the run does.
        let time = stand.until_next(now).since(takes.times(2));
        let held = self.held_by(takes);
        let trusted = held.map_or(self.rung.stretch, |(_, times)| 2_u64.saturating_pow(times));
        let most = [
            u64::from(round.left.saturating_sub(LEFT)),
            WATCHED as u64 * trusted.min(self.rung.stretch),
            time.as_ps() / takes.as_ps().max(1),
        ];
        let stages = narrow::<u32>(most.into_iter().min().unwrap_or(0));
        if (stages as usize) < WATCHED {
            return;
        }
        self.held = held;
        debug_assert_eq!(narrow::<u32>(tracks.len()) % ranks, 0);
        stand.engine.skip_stages(stages);
        stand.workload.note_skipped(key.0, u64::from(stages) * tracks.len() as u64);
        let time = takes.times(stages.into());
        stand.bring_forward(time);
        let mut over = Vec::new();
        for track in &tracks {
            match self.messages.get_mut(&track.message) {
                Some(message) => message.again = Some((stages, takes)),
                None => over.push(track.message),
            }
        }
        for flow in over {
            let original = self.original(flow);
            self.repeat_over((original, stages, takes), stand.collector, &stand.setting.topology);
        }
        *self.skipped.entry(key).or_default() += stages;
        self.jump(now, time, stand, jumps);
    }

    /// What a stage takes now, and how often that has held. Rates may recover from a fault more slowly than two stages
    /// show, as DCQCN's do, so first no more is left out than was watched, and twice as much each time that stages turn
    /// out to take as long.
    fn held_by(&self, takes: Time) -> Option<(Time, u32)> {
        let (before, times) = self.held?;
        let differs = takes.as_ps().abs_diff(before.as_ps()) as f64;
        let holds = differs <= self.rung.together() * takes.as_ps() as f64;
        Some((takes, if holds { times + 1 } else { 0 }))
    }

    fn jump(&mut self, now: Time, time: Time, stand: &mut Stand<'_>, jumps: &mut Jumps) {
        let Some(current) = &mut self.current else { return };
        let ports = stand.counters();
        if let Some((at, before)) = current.first.replace((now, ports.clone())) {
            jumps.add(now, time, (&before, &ports), now - at);
        }
        // The last start is the first of those to come.
        current.ready = 0;
        current.tracks.iter_mut().for_each(|track| track.known = 1);
    }

    /// Whether nothing is under way but messages of an operation.
    fn is_alone(&self, key: Key, stand: &Stand<'_>) -> bool {
        let is_of = |flow| self.locate(flow).is_some_and(|(other, ..)| other == key);
        stand.engine.statuses().iter().all(|status| is_of(status.flow))
    }

    /// A message is over, and so are those that do the same later.
    fn repeat(&self, message: &Message, collector: &mut Collector, topology: &Topology) {
        if let Some((stages, takes)) = message.again {
            self.repeat_over((message.original.id, stages, takes), collector, topology);
        }
    }

    fn repeat_over(
        &self,
        (flow, stages, takes): (FlowId, u32, Time),
        collector: &mut Collector,
        topology: &Topology,
    ) {
        let Some((_, index, operation)) = self.locate(flow) else { return };
        let again = (1..=stages).map(|nth| {
            (flow + nth * operation.ranks, size_of(operation, index, nth), takes.times(nth.into()))
        });
        collector.repeat(flow, again, topology);
    }
}

/// The bytes of the message so many stages after one.
fn size_of(operation: &Operation, index: u32, stages: u32) -> u64 {
    operation.part(index + stages * operation.ranks).message.bytes
}

impl Current {
    fn new(key: Key, operation: Arc<Operation>) -> Current {
        let tracks = vec![Track::default(); (operation.lanes * operation.ranks) as usize];
        Current { key, operation, tracks, ready: 0, begun: 0, next_at: Time::ZERO, first: None }
    }

    /// What the last stages took on the mean.
    fn mean_stage(&self) -> Time {
        let took: u64 = self.tracks.iter().map(|track| (track.starts[2] - track.starts[0]).as_ps()).sum();
        Time(took / (WATCHED * self.tracks.len()) as u64)
    }

    /// What a stage takes, if it always takes that: all ranks together took as long for one as for the other of those
    /// that are compared. A rank that was held up in one of them passes that on to the next rank, and so it goes
    /// round. One that was held up in both would hold up all others in the end, so then nothing is known yet.
    fn stage_takes(&self, now: Time, rung: SteadyRung) -> Option<Time> {
        let mean = self.mean_stage();
        let more_than_mean = |took: u64| took as f64 / mean.as_ps() as f64 - 1.0;
        let mut sums = [0, 0];
        for track in &self.tracks {
            let took = [0, 1].map(|nth| (track.starts[nth + 1] - track.starts[nth]).as_ps());
            let always = more_than_mean(took[0].min(took[1]));
            let on_the_mean = more_than_mean((took[0] + took[1]) / 2).abs();
            let so_far = more_than_mean((now - track.starts[2]).as_ps());
            if always > rung.tolerance / 2.0 || on_the_mean > rung.tolerance || so_far > rung.tolerance {
                return None;
            }
            sums = [sums[0] + took[0], sums[1] + took[1]];
        }
        let is_constant = sums[0].abs_diff(sums[1]) as f64 <= rung.together() * sums[0] as f64;
        is_constant.then_some(mean)
    }
}

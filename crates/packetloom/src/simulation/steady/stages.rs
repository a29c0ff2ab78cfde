//! Stages of collective operations.

use super::jumps::Jumps;
use super::{Stand, SteadyRung};
use crate::engine::{Event, Log, PortCounters};
use crate::flow::{Flow, FlowId};
use crate::measure::Collector;
use crate::narrow::{narrow, saturated};
use crate::topology::Topology;
use crate::units::Time;
use crate::workload::job::{Exchange, Job, Operation, Part, Plan, RoundKey as Key, Rounds};
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many stages of an operation are left after a skip: the one that is under way at some ranks when it is the
/// next one at others, and a whole one.
const LEFT: u32 = 2;

/// How many rounds in a row are compared. A round is as many stages as times repeat after.
const WATCHED: usize = 2;

/// Where ranks are in several operations, or in none, how often within a round it is looked whether that is over.
const LOOKS: u64 = 8;

/// Watches stages, and skips those that are like them.
pub struct Stages {
    rung: SteadyRung,
    jobs: Vec<(u8, Arc<Plan>)>,
    /// Of each group of ranks the operation that began last.
    current: BTreeMap<Key, Current>,
    /// In how many of these all ranks have begun as many rounds as are compared, and any stage.
    ready: usize,
    begun: usize,
    next_at: Time,
    /// When ports were looked at, and what had gone through them.
    first: Option<(Time, Vec<PortCounters>)>,
    /// How many stages of each operation were skipped.
    skipped: BTreeMap<Key, u32>,
    /// Messages that are under way.
    messages: BTreeMap<FlowId, Message>,
    /// Once a fault has changed something: what a round took at the last skip, and how often that has held since.
    held: Option<(Time, u32)>,
}

/// An operation of which messages are under way, or were last.
struct Current {
    operation: Arc<Operation>,
    /// How many stages a round has.
    round: usize,
    /// What each rank does in each lane.
    tracks: Vec<Track>,
    /// How many of these have begun as many rounds as are compared, and how many any stage.
    ready: usize,
    begun: usize,
    /// By which part of it a round would have changed in what was left out, had it gone on changing as those watched.
    owed: f64,
}

/// A round of all operations, and of each by which part of it the last one took longer.
struct Pace {
    takes: Time,
    drifts: Vec<f64>,
    /// How many stages a round has.
    stages: u32,
}

/// A rank in a lane.
#[derive(Clone)]
struct Track {
    /// When the stages of its last rounds began, the last one last, and the first of the next.
    starts: Vec<Time>,
    known: usize,
    /// The messages of its last round.
    messages: Vec<FlowId>,
}

/// A message under way.
#[derive(Clone, Copy)]
struct Message {
    /// What it stands for.
    original: Flow,
    /// How much later it is than by the engine's clock.
    later: Time,
    again: Option<Again>,
}

/// What happens again after a message.
#[derive(Clone, Copy)]
struct Again {
    /// How often.
    times: u32,
    /// How many stages later each time, and how much later.
    stages: u32,
    takes: Time,
}

impl Stages {
    pub fn new(rung: SteadyRung, jobs: &[Job]) -> Stages {
        let jobs = jobs.iter().map(|job| (job.source, Arc::clone(&job.plan))).collect();
        Stages {
            rung,
            jobs,
            current: BTreeMap::new(),
            ready: 0,
            begun: 0,
            next_at: Time::ZERO,
            first: None,
            skipped: BTreeMap::new(),
            messages: BTreeMap::new(),
            held: None,
        }
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
        let Some((key, index, operation)) = self.locate(flow) else { return flow };
        flow + self.skipped_of(key, &operation.part(index), operation) * operation.ranks
    }

    /// Reads the log, and what happened again.
    pub fn read(&mut self, log: &mut Log, jumps: &Jumps, collector: &mut Collector, topology: &Topology) {
        let mut ended = Vec::new();
        for event in &mut log.events {
            match event {
                Event::Started(flow) => *flow = self.started(*flow, jumps.skipped()),
                Event::Delivered { flow, at } | Event::Closed { flow, at, .. } => {
                    let (original, later) = self.of(*flow, jumps);
                    ended.push(*flow);
                    (*flow, *at) = (original, *at + later);
                }
                Event::RankEnded { at, .. } | Event::Refused { at, .. } => *at += jumps.skipped(),
            }
        }
        collector.read(log, topology);
        // Its two ends come in any order: a host may take time for what it received.
        for flow in ended {
            let Some(message) = self.messages.get(&flow) else { continue };
            if collector.open(message.original.id).is_some() {
                continue;
            }
            if let Some(again) = message.again {
                self.repeat((message.original.id, again), collector, topology);
            }
            self.messages.remove(&flow);
        }
    }

    fn of(&self, flow: FlowId, jumps: &Jumps) -> (FlowId, Time) {
        let known = self.messages.get(&flow).map(|message| (message.original.id, message.later));
        known.unwrap_or((flow, jumps.skipped()))
    }

    /// How many stages were left out before a message: of those that are alike, the last are not sent.
    fn skipped_of(&self, key: Key, part: &Part, operation: &Operation) -> u32 {
        let skipped = self.skipped.get(&key).copied().unwrap_or(0);
        if is_alike(part, operation) { skipped } else { 0 }
    }

    /// A flow has started by the engine's clock; returns what it stands for.
    fn started(&mut self, flow: Flow, later: Time) -> Flow {
        let dated = Flow { start: flow.start + later, ..flow };
        let Some((key, index, operation)) = self.locate(flow.id) else { return dated };
        let operation = Arc::clone(operation);
        let part = operation.part(index);
        let skipped = self.skipped_of(key, &part, &operation);
        let original = Flow {
            id: flow.id + skipped * operation.ranks,
            size_bytes: size_of(&operation, index, skipped),
            ..dated
        };
        self.messages.insert(flow.id, Message { original, later, again: None });
        if !is_alike(&part, &operation) {
            return original;
        }
        if !self.current.contains_key(&key) && !self.begin(key, operation) {
            return original;
        }
        let Some(current) = self.current.get_mut(&key) else { return original };
        let track = &mut current.tracks[(part.lane * current.operation.ranks + part.from) as usize];
        track.begin(flow.id, flow.start);
        if track.known == 1 {
            current.begun += 1;
            self.begun += usize::from(current.has_begun());
        } else if track.known == track.starts.len() {
            current.ready += 1;
            self.ready += usize::from(current.is_ready());
        }
        original
    }

    /// An operation begins, in place of the last one of its group; false if that was a later one.
    fn begin(&mut self, key: Key, operation: Arc<Operation>) -> bool {
        let is_of_group = |(other, current): (&Key, &Current)| {
            (other.0 == key.0 && current.operation.group == operation.group).then_some(*other)
        };
        let last = self.current.iter().find_map(is_of_group);
        if last.is_some_and(|last| last > key) {
            return false;
        }
        last.map(|last| self.current.remove(&last));
        self.current.insert(key, Current::new(operation));
        self.count();
        (self.next_at, self.first) = (Time::ZERO, None);
        true
    }

    fn count(&mut self) {
        self.ready = self.current.values().filter(|current| current.is_ready()).count();
        self.begun = self.current.values().filter(|current| current.has_begun()).count();
    }

    /// Whether it is time to look.
    #[inline]
    pub fn is_due(&mut self, now: Time) -> bool {
        now >= self.next_at && (self.ready > 0 || self.begun > 0 && self.has_begun() && self.first.is_none())
    }

    /// Whether all ranks of all operations have begun a stage.
    fn has_begun(&self) -> bool {
        self.begun == self.current.len()
    }

    /// What was watched so far says nothing of what comes.
    pub fn start_anew(&mut self) {
        self.held = Some((Time::ZERO, 0));
        self.first = None;
        for current in self.current.values_mut() {
            (current.ready, current.begun) = (0, 0);
            current.tracks.iter_mut().for_each(|track| track.known = 0);
        }
        self.count();
    }

    /// Skips rounds, if those that all ranks have begun are alike.
    pub fn look(&mut self, stand: &mut Stand<'_>, jumps: &mut Jumps) {
        let now = stand.engine.now();
        if self.current.len() > 1 && !self.drop_what_is_over(stand) {
            self.next_at = now + Time(self.longest_round().as_ps() / LOOKS);
            return;
        }
        if self.first.is_none() && self.has_begun() {
            self.first = Some((now, stand.counters()));
        }
        if self.ready < self.current.len() {
            return;
        }
        let Some(Pace { takes, drifts, stages: in_a_round }) = self.pace(now) else {
            self.next_at = now + self.longest_round();
            return;
        };
        self.next_at = now + takes;
        let stays = self.current.values().zip(&drifts).map(|(one, drift)| one.stays(*drift, self.rung)).min();
        let is_known = |rounds: &Rounds| rounds.keys().eq(self.current.keys());
        let Some(rounds) = stand.engine.rounds().filter(is_known).filter(|_| self.are_alone(stand)) else {
            return;
        };
        if self.first.as_ref().is_none_or(|(at, _)| now.since(*at) < takes) {
            return;
        }
        // Messages that are under way end, too, before the run does.
        let time = stand.until_next(now).since(takes.times(2));
        let held = self.held_by(takes);
        let trusted = held.map_or(self.rung.stretch, |(_, times)| 2_u64.saturating_pow(times));
        let left = rounds.values().copied().min().unwrap_or(0);
        let most = [
            u64::from(left.saturating_sub(LEFT) / in_a_round),
            WATCHED as u64 * trusted.min(self.rung.stretch),
            time.as_ps() / takes.as_ps().max(1),
            stays.unwrap_or(0),
        ];
        // What alternates from round to round goes on so.
        let times = narrow::<u32>(most.into_iter().min().unwrap_or(0)) / 2 * 2;
        if (times as usize) < WATCHED {
            return;
        }
        self.held = held;
        let stages = times * in_a_round;
        stand.engine.skip_stages(stages);
        for ((key, current), drift) in self.current.iter_mut().zip(drifts) {
            current.owed += drift * f64::from(times);
            stand.workload.note_skipped(key.0, u64::from(stages) * current.tracks.len() as u64);
        }
        let time = takes.times(times.into());
        stand.bring_forward(time);
        self.repeat_last_round(Again { times, stages: in_a_round, takes }, stand);
        for key in self.current.keys() {
            *self.skipped.entry(*key).or_default() += stages;
        }
        self.jump(now, time, stand, jumps);
    }

    /// Forgets operations that no rank is in any more; false if any rank is in none, or in several.
    fn drop_what_is_over(&mut self, stand: &Stand<'_>) -> bool {
        let Some(rounds) = stand.engine.rounds() else { return false };
        let before = self.current.len();
        self.current.retain(|key, _| rounds.contains_key(key));
        if self.current.len() < before {
            self.first = None;
            self.count();
        }
        true
    }

    /// The longest of the mean rounds that are known.
    fn longest_round(&self) -> Time {
        let known = self.current.values().filter(|current| current.is_ready());
        known.map(Current::mean_round).max().unwrap_or_default()
    }

    /// What a round of all operations takes, if they are alike in that.
    fn pace(&self, now: Time) -> Option<Pace> {
        let paces: Option<Vec<(Time, f64)>> =
            self.current.values().map(|current| current.round_takes(now, self.rung)).collect();
        let paces = paces?;
        let stages = self.current.values().next()?.round;
        let count = paces.len() as u64;
        let takes = Time(paces.iter().map(|(takes, _)| takes.as_ps()).sum::<u64>() / count);
        let is_near = |one: Time| {
            one.as_ps().abs_diff(takes.as_ps()) as f64 <= self.rung.together() * takes.as_ps() as f64
        };
        let are_alike = paces.iter().all(|(takes, _)| is_near(*takes))
            && self.current.values().all(|current| current.round == stages);
        let drifts = paces.into_iter().map(|(_, drift)| drift).collect();
        are_alike.then_some(Pace { takes, drifts, stages: narrow::<u32>(stages) })
    }

    /// What ranks did last happens again.
    fn repeat_last_round(&mut self, again: Again, stand: &mut Stand<'_>) {
        let Stages { current, messages, .. } = self;
        let mut over = Vec::new();
        for flow in current.values().flat_map(|one| &one.tracks).flat_map(|track| &track.messages) {
            match messages.get_mut(flow) {
                Some(message) => message.again = Some(again),
                None => over.push(*flow),
            }
        }
        for flow in over {
            self.repeat((self.original(flow), again), stand.collector, &stand.setting.topology);
        }
    }

    /// What a round takes now, and how often that has held. Rates may recover from a fault more slowly than two rounds
    /// show, as DCQCN's do, so first no more is left out than was watched, and twice as much each time that rounds turn
    /// out to take as long.
    fn held_by(&self, takes: Time) -> Option<(Time, u32)> {
        let (before, times) = self.held?;
        let differs = takes.as_ps().abs_diff(before.as_ps()) as f64;
        let holds = differs <= self.rung.together() * takes.as_ps() as f64;
        Some((takes, if holds { times + 1 } else { 0 }))
    }

    fn jump(&mut self, now: Time, time: Time, stand: &mut Stand<'_>, jumps: &mut Jumps) {
        let ports = stand.counters();
        if let Some((at, before)) = self.first.replace((now, ports.clone())) {
            jumps.add(now, time, (&before, &ports), now - at);
        }
        for current in self.current.values_mut() {
            // The last start is the first of those to come.
            current.ready = 0;
            current.tracks.iter_mut().for_each(|track| track.known = 1);
        }
        self.count();
    }

    /// Whether nothing is under way but messages of these operations.
    fn are_alone(&self, stand: &Stand<'_>) -> bool {
        let is_of = |flow| self.locate(flow).is_some_and(|(key, ..)| self.current.contains_key(&key));
        stand.engine.statuses().iter().all(|status| is_of(status.flow))
    }

    /// A message is over, and so are those that do the same later.
    fn repeat(&self, (flow, again): (FlowId, Again), collector: &mut Collector, topology: &Topology) {
        let Some((_, index, operation)) = self.locate(flow) else { return };
        let again = (1..=again.times).map(|nth| {
            let stages = nth * again.stages;
            let size = size_of(operation, index, stages);
            (flow + stages * operation.ranks, size, again.takes.times(nth.into()))
        });
        collector.repeat(flow, again, topology);
    }
}

/// Whether a message is of the stages that are alike.
fn is_alike(part: &Part, operation: &Operation) -> bool {
    let alike = operation.pattern(part.lane).alike();
    alike.is_some_and(|alike| alike.stages.contains(&part.message.stage))
}

/// The bytes of the message so many stages after one.
fn size_of(operation: &Operation, index: u32, stages: u32) -> u64 {
    operation.part(index + stages * operation.ranks).message.bytes
}

impl Track {
    /// It begins a stage.
    fn begin(&mut self, message: FlowId, at: Time) {
        self.starts.rotate_left(1);
        self.messages.rotate_left(1);
        if let (Some(last), Some(sent)) = (self.starts.last_mut(), self.messages.last_mut()) {
            (*last, *sent) = (at, message);
        }
        self.known += 1;
    }

    /// When it began its last stage.
    fn last(&self) -> Time {
        self.starts.last().copied().unwrap_or_default()
    }

    /// What its last rounds took.
    fn rounds(&self) -> [Time; WATCHED] {
        let round = self.messages.len();
        std::array::from_fn(|nth| self.starts[(nth + 1) * round] - self.starts[nth * round])
    }
}

impl Current {
    fn new(operation: Arc<Operation>) -> Current {
        let every = |lane| operation.pattern(lane).alike().map_or(1, |alike| alike.every as usize);
        let round = (0..operation.lanes).map(every).max().unwrap_or(1);
        let track =
            Track { starts: vec![Time::ZERO; WATCHED * round + 1], known: 0, messages: vec![0; round] };
        let tracks = vec![track; (operation.lanes * operation.ranks) as usize];
        Current { operation, round, tracks, ready: 0, begun: 0, owed: 0.0 }
    }

    /// Whether all ranks have begun as many rounds as are compared.
    fn is_ready(&self) -> bool {
        self.ready == self.tracks.len()
    }

    /// Whether all ranks have begun a stage.
    fn has_begun(&self) -> bool {
        self.begun == self.tracks.len()
    }

    /// What the last rounds took on the mean.
    fn mean_round(&self) -> Time {
        let took: u64 = self.tracks.iter().flat_map(Track::rounds).map(Time::as_ps).sum();
        Time(took / (WATCHED * self.tracks.len()) as u64)
    }

    /// In how many rounds the next ones leave the tolerance, if each changes as the last did from the one before.
    fn stays(&self, drift: f64, rung: SteadyRung) -> u64 {
        let room = rung.tolerance - self.owed * drift.signum();
        if drift == 0.0 { u64::MAX } else { saturated(room.max(0.0) / drift.abs()) }
    }

    /// What a round takes, if it always takes that, and by which part of it the last one took longer: all ranks together took as long for one as for the other of those
    /// that are compared. A rank that was held up in one of them passes that on to the next rank, and so it goes
    /// round. One that was held up in both would hold up all others in the end, so then nothing is known yet.
    fn round_takes(&self, now: Time, rung: SteadyRung) -> Option<(Time, f64)> {
        let mean = self.mean_round();
        let more_than_mean = |took: u64| took as f64 / mean.as_ps() as f64 - 1.0;
        let mut sums = [0, 0];
        for track in &self.tracks {
            let took = track.rounds().map(Time::as_ps);
            let always = more_than_mean(took[0].min(took[1]));
            let on_the_mean = more_than_mean((took[0] + took[1]) / 2).abs();
            let so_far = more_than_mean((now - track.last()).as_ps());
            if always > rung.tolerance / 2.0 || on_the_mean > rung.tolerance || so_far > rung.tolerance {
                return None;
            }
            sums = [sums[0] + took[0], sums[1] + took[1]];
        }
        let drift = sums[1] as f64 / sums[0] as f64 - 1.0;
        (drift.abs() <= rung.together()).then_some((mean, drift))
    }
}

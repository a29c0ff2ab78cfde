//! Collective operations as wholes: flows that go at one pace, instead of a flow for each message.
//!
//! In a stage, each rank waits for what others send. So all that is sent in it goes at the pace of the slowest link:
//! it is one transfer, which takes a share of every link that any message of the stage crosses. Stages of a ring that
//! are alike are one transfer of as many times the bits. Only its start, its end, and what changes the shares of links
//! in between are events; so what an operation costs depends neither on its bytes nor on how many stages are alike.

use super::plans::Plans;
use super::shapes::{Shape, Stretch};
use super::ways::Ways;
use crate::flow::{FlowId, HostId};
use crate::fluid::on_links::Sharing;
use crate::narrow::{exact, saturated};
use crate::simulation::critical::WholeFacts;
use crate::units::Time;
use crate::workload::job::{Exchange, Operation, Told};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A repetition of an operation: source, repetition, exchange.
type Key = (u8, u32, u32);
/// What operations have the same shape by: source, group, matrix, bytes, kind and algorithm, lanes.
type Alike = (u8, u32, Option<u32>, u64, (crate::job::Collective, crate::workload::job::Algorithm), u32);

/// Of ranks that end at different times, at most so many times are told apart.
const MOST_ENDS: u32 = 8;
/// A link holds a transfer back if it gives it no more than its rate, but for this.
const SAME: f64 = 1.0 + 1e-6;

/// A rank that has begun an operation.
#[derive(Clone, Copy, Debug)]
struct Begun {
    rank: u32,
    told: Told,
    at: Time,
}

/// An operation under way, or that some ranks have begun.
#[derive(Debug, Default)]
struct Under {
    begun: Vec<Begun>,
    lanes_left: u32,
    shape: Option<Arc<Shape>>,
    /// After how many stages which of `begun` end, where they do not all end together; the last with the operation.
    ends: Vec<(u32, Vec<u32>)>,
}

/// A lane under way.
#[derive(Clone, Debug)]
struct Lane {
    key: Key,
    lane: u32,
    phase: u32,
    began: Time,
    /// How many of the operation's `ends` are before this.
    ended: u32,
    /// How many of the phase's stages are under way or over.
    stages: u32,
    /// The share of its messages that cross a link which holds it back.
    held: f64,
}

/// What follows when a lane's transfer has moved its bits.
pub(super) struct Moved {
    /// When what it moved so far is over.
    pub(super) over: Time,
    /// Which of the ends of the operation that is.
    pub(super) nth: u32,
}

/// A rank that ends an operation: its host, its source and number, and the operation.
pub(super) type Ending = (HostId, (u8, u32), Told);

/// All operations that are carried out as wholes.
#[derive(Debug, Default)]
pub(super) struct Wholes {
    plans: Plans,
    under: BTreeMap<Key, Under>,
    lanes: Vec<Option<Lane>>,
    free: Vec<u32>,
    shapes: BTreeMap<Alike, Arc<Shape>>,
}

impl Wholes {
    pub(super) fn new(plans: Plans) -> Wholes {
        Wholes { plans, ..Wholes::default() }
    }

    /// The number that a lane's transfer has among flows: from the highest down, which no flow has.
    fn id(lane: u32) -> FlowId {
        FlowId::MAX - lane
    }

    /// The lane whose transfer has this number, if one has.
    pub(super) fn lane(&self, id: FlowId) -> Option<u32> {
        let lane = FlowId::MAX - id;
        ((lane as usize) < self.lanes.len()).then_some(lane)
    }

    /// A rank has begun an operation; returns it once all of its ranks have.
    pub(super) fn begin(&mut self, (source, rank): (u8, u32), told: Told, at: Time) -> Option<Key> {
        let key = (source, told.iteration, told.exchange);
        let ranks = self.operation(key)?.ranks;
        let under = self.under.entry(key).or_default();
        under.begun.push(Begun { rank, told, at });
        (under.begun.len() == ranks as usize).then_some(key)
    }

    /// The operation of a repetition.
    fn operation(&self, (source, _, exchange): Key) -> Option<Arc<Operation>> {
        match self.plans.of(source)?.exchange(exchange) {
            Exchange::Collective(operation) => Some(Arc::clone(operation)),
            Exchange::Send { .. } => None,
        }
    }

    /// All ranks have begun an operation; returns its lanes, which start.
    pub(super) fn start(
        &mut self,
        key: Key,
        now: Time,
        ways: &mut Ways<'_>,
        sharing: &mut Sharing,
    ) -> Vec<u32> {
        let Some(shape) = self.shape(key, ways) else { return Vec::new() };
        let Some(under) = self.under.get_mut(&key) else { return Vec::new() };
        under.lanes_left = exact::<u32>(shape.lanes.len());
        under.ends = ends(&under.begun, &shape, now);
        under.shape = Some(Arc::clone(&shape));
        let mut started = Vec::new();
        for lane in 0..exact::<u32>(shape.lanes.len()) {
            let new = Lane { key, lane, phase: 0, began: now, ended: 0, stages: 0, held: 1.0 };
            let slot = self.free.pop().unwrap_or_else(|| {
                self.lanes.push(None);
                exact::<u32>(self.lanes.len() - 1)
            });
            self.lanes[slot as usize] = Some(new);
            self.go_on(slot, now, sharing);
            started.push(slot);
        }
        started
    }

    /// Whether it matters to a lane which of its messages cross links that hold it back.
    pub(super) fn wants_look(&self, slot: u32) -> bool {
        self.stretch(slot).is_some_and(|(shape, lane)| !stretch(&shape, &lane).paths.is_empty())
    }

    /// Looks which these are.
    pub(super) fn look(&mut self, slot: u32, sharing: &mut Sharing) {
        let Some((shape, lane)) = self.stretch(slot) else { return };
        let stretch = stretch(&shape, &lane);
        let levels = sharing.settled();
        let lowest =
            stretch.links.iter().map(|&(link, _)| levels[link as usize]).fold(f64::INFINITY, f64::min);
        let holds = |path: &[u32]| path.iter().any(|&link| levels[link as usize] <= lowest * SAME);
        let held = stretch.paths.iter().filter(|path| holds(path)).count();
        if let Some(lane) = &mut self.lanes[slot as usize] {
            lane.held = held as f64 / stretch.paths.len() as f64;
        }
    }

    fn stretch(&self, slot: u32) -> Option<(Arc<Shape>, Lane)> {
        let lane = self.lanes[slot as usize].clone()?;
        let shape = self.under.get(&lane.key)?.shape.clone()?;
        Some((shape, lane))
    }

    /// Moves what comes next of a lane: up to the next end of a rank.
    fn go_on(&mut self, slot: u32, now: Time, sharing: &mut Sharing) {
        let Some((shape, lane)) = self.stretch(slot) else { return };
        let stretch = stretch(&shape, &lane);
        let until = self.until(&lane, stretch);
        if let Some(own) = &mut self.lanes[slot as usize] {
            own.stages = until;
        }
        let bits = stretch.bits * f64::from(until - lane.stages);
        sharing.arrive_on(now, Wholes::id(slot), bits, &stretch.links);
    }

    /// After which of a phase's stages something is to be done.
    fn until(&self, lane: &Lane, stretch: &Stretch) -> u32 {
        let ends = self.under.get(&lane.key).map_or(&[][..], |under| &under.ends);
        ends.get(lane.ended as usize).map_or(stretch.times, |(stages, _)| *stages)
    }

    /// A lane's bits have been moved: what follows of it.
    pub(super) fn moved(&mut self, slot: u32, now: Time, sharing: &mut Sharing) -> Option<Moved> {
        let (shape, lane) = self.stretch(slot)?;
        let stretch = stretch(&shape, &lane);
        let moved = Moved {
            over: lane.began.saturating_add(took(stretch, &lane, now.since(lane.began))),
            nth: lane.ended,
        };
        if lane.stages < stretch.times {
            if let Some(own) = &mut self.lanes[slot as usize] {
                own.ended += 1;
            }
            self.go_on(slot, now, sharing);
        }
        Some(moved)
    }

    /// What a lane moved up to one of the ends of its operation is over: the ranks that end now, and whether the lane
    /// has begun its next phase.
    pub(super) fn over(
        &mut self,
        (slot, nth): (u32, u32),
        now: Time,
        sharing: &mut Sharing,
    ) -> (Vec<Ending>, bool) {
        let Some((shape, lane)) = self.stretch(slot) else { return (Vec::new(), false) };
        let Some(under) = self.under.get_mut(&lane.key) else { return (Vec::new(), false) };
        if (nth as usize + 1) < under.ends.len() {
            let ranks = std::mem::take(&mut under.ends[nth as usize].1);
            let begun: Vec<Begun> = ranks.into_iter().map(|place| under.begun[place as usize]).collect();
            return (self.endings(lane.key, begun), false);
        }
        if (lane.phase as usize + 1) < shape.lanes[lane.lane as usize].len() {
            self.lanes[slot as usize] =
                Some(Lane { phase: lane.phase + 1, began: now, stages: 0, held: 1.0, ..lane });
            self.go_on(slot, now, sharing);
            return (Vec::new(), true);
        }
        self.lanes[slot as usize] = None;
        self.free.push(slot);
        under.lanes_left -= 1;
        if under.lanes_left > 0 {
            return (Vec::new(), false);
        }
        let Some(Under { begun, mut ends, .. }) = self.under.remove(&lane.key) else {
            return (Vec::new(), false);
        };
        let last = match ends.pop() {
            Some((_, ranks)) => ranks.into_iter().map(|place| begun[place as usize]).collect(),
            None => begun,
        };
        (self.endings(lane.key, last), false)
    }

    fn endings(&self, (source, ..): Key, begun: Vec<Begun>) -> Vec<Ending> {
        let Some(plan) = self.plans.of(source) else { return Vec::new() };
        let ending = |one: Begun| (plan.settings.hosts[one.rank as usize], (source, one.rank), one.told);
        begun.into_iter().map(ending).collect()
    }

    fn shape(&mut self, key: Key, ways: &mut Ways<'_>) -> Option<Arc<Shape>> {
        let operation = self.operation(key)?;
        let alike = alike(key.0, &operation);
        if let Some(known) = self.shapes.get(&alike) {
            return Some(Arc::clone(known));
        }
        let shape = Arc::new(Shape::of(self.plans.of(key.0)?, &operation, ways));
        self.shapes.insert(alike, Arc::clone(&shape));
        Some(shape)
    }

    /// What an operation takes alone, and what bounds it, if it was carried out as a whole.
    pub(super) fn facts(&self, source: u8, exchange: u32) -> Option<WholeFacts> {
        let operation = self.operation((source, 0, exchange)).filter(|operation| operation.is_whole)?;
        self.shapes.get(&alike(source, &operation)).map(|shape| shape.facts)
    }
}

fn alike(source: u8, operation: &Operation) -> Alike {
    let Operation { group, matrix, bytes, kind, algorithm, lanes, .. } = *operation;
    (source, group, matrix, bytes, (kind, algorithm), lanes)
}

fn stretch<'a>(shape: &'a Shape, lane: &Lane) -> &'a Stretch {
    &shape.lanes[lane.lane as usize][lane.phase as usize]
}

/// What the stages of a phase take that have moved their bits in so much time.
///
/// A stage takes its messages' time at the pace, and what their last packets take behind that. In a ring that is one
/// hop's in one stage and the next one's in the next, so that stages take the mean over the hops in the end, or what the
/// slowest link takes to carry them one after the other, whichever is more. Hops that do not cross a link which holds
/// the ring back take what they take alone.
fn took(stretch: &Stretch, lane: &Lane, moving: Time) -> Time {
    let last = moving.saturating_add(stretch.most_behind);
    if stretch.times == 1 {
        return last.max(stretch.longest);
    }
    let alone = stretch.alone(lane.stages);
    let moving_alone = stretch.moving_alone(lane.stages).as_ps() as f64;
    let waited = (moving.as_ps() as f64 - moving_alone).max(0.0) * lane.held;
    last.max(alone.saturating_add(Time(saturated::<u64>(waited.round()))))
}

/// After how many stages which ranks end, where these began at different times: a rank has its last message when all
/// that had to come to it has come round the ring, from each rank since that began. `now`: when the last began.
fn ends(begun: &[Begun], shape: &Shape, now: Time) -> Vec<(u32, Vec<u32>)> {
    let Some((stretch, order)) = shape.ring() else { return Vec::new() };
    if begun.iter().all(|one| one.at == now) {
        return Vec::new();
    }
    let ranks = begun.len();
    let stage = stretch.alone(1).as_ps().max(1) as f64;
    // By position on the ring: when each began, in stages before the last.
    let mut before = vec![0.0; ranks];
    let places: Vec<usize> = begun.iter().map(|one| shape.position(order, one.rank)).collect();
    for (one, &at) in begun.iter().zip(&places) {
        before[at] = -(now.since(one.at).as_ps() as f64) / stage;
    }
    let stages = stages_left(&before, stretch.times);
    let mut all: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let stages: Vec<u32> = places.iter().map(|&at| stages[at]).collect();
    let least = stages.iter().copied().min().unwrap_or(stretch.times);
    let step = (stretch.times - least).div_ceil(MOST_ENDS).max(1);
    for (place, stages) in (0..).zip(stages) {
        all.entry(stretch.times - (stretch.times - stages) / step * step).or_default().push(place);
    }
    all.entry(stretch.times).or_default();
    all.into_iter().collect()
}

/// By position on a ring of so many stages: after how many of them each rank ends, counted from when the last began;
/// `before`: when each began, in stages, none of which is after 0.
///
/// What a rank gets in the last stage has come from the rank `times` before it, and each rank on its way sent it on
/// once it had begun. Of a rank that it came to several times the first is what counts.
fn stages_left(before: &[f64], times: u32) -> Vec<u32> {
    let ranks = before.len();
    let count = f64::from(exact::<u32>(ranks));
    let late: Vec<f64> = before.iter().zip(0_u32..).map(|(before, at)| before - f64::from(at)).collect();
    let most = |max: &mut f64, one: &f64| {
        *max = max.max(*one);
        Some(*max)
    };
    let up_to: Vec<f64> = late.iter().scan(f64::NEG_INFINITY, most).collect();
    let mut from: Vec<f64> = late.iter().rev().scan(f64::NEG_INFINITY, most).collect();
    from.reverse();
    let after = |at: usize| {
        let times_around = times as usize % ranks;
        let first = (at + ranks - times_around) % ranks;
        let around = if first > 0 { up_to[first - 1] - count } else { f64::NEG_INFINITY };
        let stages = from[first].max(around) + f64::from(exact::<u32>(first)) + f64::from(times);
        saturated::<u32>(stages.ceil()).clamp(1, times)
    };
    (0..ranks).map(after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    /// Message by message: a rank sends in a stage once it has begun and has what it received in the stage before.
    fn by_messages(begun: &[f64], times: u32) -> Vec<f64> {
        let ranks = begun.len();
        let mut sent = begun.to_vec();
        for _ in 1..times {
            sent = (0..ranks).map(|at| begun[at].max(sent[(at + ranks - 1) % ranks] + 1.0)).collect();
        }
        (0..ranks).map(|at| sent[(at + ranks - 1) % ranks] + 1.0).collect()
    }

    #[test]
    fn ranks_of_a_ring_that_began_apart_end_as_message_by_message() {
        let mut random = Stream::new(1, Purpose::Pattern, 0);
        for round in 0..200 {
            let ranks = 2 + random.below(12);
            let times = if round % 2 == 0 { ranks - 1 } else { 2 * (ranks - 1) };
            let mut begun: Vec<f64> = (0..ranks).map(|_| -f64::from(random.below(40))).collect();
            begun[random.below(ranks) as usize] = 0.0;
            let expected: Vec<u32> =
                by_messages(&begun, times).iter().map(|end| saturated::<u32>(*end).max(1)).collect();
            assert_eq!(stages_left(&begun, times), expected, "{begun:?}, {times}");
        }
    }
}

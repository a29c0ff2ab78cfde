//! How far a rank is with a collective operation.

use super::counts::Counts;
use super::pattern::{Alike, Message, Stage};
use super::plan::Operation;
use super::threads::Labour;
use crate::flow::FlowId;
use crate::narrow::exact;
use crate::units::Time;
use std::ops::Range;
use std::sync::Arc;

/// A rank's part of a collective operation.
#[derive(Clone, Debug)]
pub struct Progress {
    operation: Arc<Operation>,
    /// The rank's place in the group.
    place: u32,
    /// The operation's place among those of the rank, once it has begun.
    begun: Option<u32>,
    lanes: Vec<Lane>,
    lanes_left: u32,
    /// How many of its stages are left out, the last ones of those that are alike.
    skipped: u32,
    /// Messages whose buffers have become free, of those that senders wait for.
    freed: Vec<u32>,
    /// What threads have begun with, by lane and what they take, since this was last asked.
    begun_with: Vec<(u32, Time)>,
    /// The message that came last.
    last: Option<FlowId>,
}

/// One of its independent parts.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// The next stage.
    stage: u32,
    is_over: bool,
    /// How many messages have arrived for each stage that has not been passed.
    arrived: Counts,
    /// How many of its own messages were acknowledged for each of those.
    acknowledged: Counts,
    /// How many messages of each stage are yet to be acknowledged; kept where anything waits for that.
    under_way: Counts,
    /// The largest message of those that have arrived for each stage, where threads take time for that.
    largest: Counts,
    /// For how much its threads wait before they go on: that data is moved, and that neighbours have it.
    busy_with: u32,
    /// Whether it is over when they are done.
    is_ending: bool,
    /// Messages that have come, of those whose senders wait for their buffers: the stage that awaits each, and its number.
    held: Vec<(u32, u32)>,
}

/// A step that is posted without data has a byte.
const EMPTY: u64 = 1;

/// A message to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Its number in the operation.
    pub index: u32,
    /// What it is.
    pub message: Message,
    /// Its lane.
    pub lane: u32,
}

impl Progress {
    /// Of the rank at a place of the group, before it begins.
    pub fn new(operation: Arc<Operation>, place: u32) -> Progress {
        let lanes = operation.lanes;
        Progress {
            operation,
            place,
            begun: None,
            lanes: vec![Lane::default(); lanes as usize],
            lanes_left: lanes,
            skipped: 0,
            freed: Vec::new(),
            begun_with: Vec::new(),
            last: None,
        }
    }

    /// The operation.
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// The place of the operation among those of the rank, if its part is over.
    pub fn over_at(&self) -> Option<u32> {
        self.begun.filter(|_| self.lanes_left == 0)
    }

    /// The stages of a lane that are left out, if any can be.
    fn left_out(&self, lane: u32) -> Option<Range<u32>> {
        self.operation.pattern(lane).alike().map(|Alike { stages, .. }| stages.end - self.skipped..stages.end)
    }

    /// This stage of a lane, or the first one after those that are left out.
    fn not_left_out(&self, lane: u32, stage: u32) -> u32 {
        if self.skipped == 0 {
            return stage;
        }
        self.left_out(lane).filter(|stages| stages.contains(&stage)).map_or(stage, |stages| stages.end)
    }

    /// In how many stages any lane has yet to send, at least, that are like the one before; nothing if a lane is not among
    /// such stages.
    pub fn stages_left(&self) -> Option<u32> {
        if self.begun.is_none() || self.operation.gate.is_some() {
            return None;
        }
        let left = |(lane, state): (u32, &Lane)| {
            let first = self.operation.pattern(lane).alike()?.stages.start;
            let end = self.left_out(lane)?.start;
            (state.stage > first).then(|| end.saturating_sub(state.stage))
        };
        (0..).zip(&self.lanes).map(left).try_fold(u32::MAX, |least, left| Some(least.min(left?)))
    }

    /// Leaves out so many of those stages.
    pub fn skip(&mut self, stages: u32) {
        debug_assert!(self.stages_left().is_some_and(|left| stages <= left), "they have begun");
        self.skipped += stages;
    }

    /// The rank begins, as the operation at this place.
    pub fn begin(&mut self, operation: u32, send: &mut Vec<Sending>) {
        self.begun = Some(operation);
        for lane in 0..exact::<u32>(self.lanes.len()) {
            self.advance(lane, send);
        }
    }

    /// The messages whose buffers have become free since this was last asked, of those that senders wait for.
    pub fn take_freed(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.freed)
    }

    /// A message of this number has come, whose sender waits for its buffer; [`Progress::arrive`] follows.
    pub fn hold(&mut self, lane: u32, stage: u32, index: u32) {
        if self.operation.pattern(lane).frees_on_arrival() {
            self.freed.push(index);
        } else {
            self.lanes[lane as usize].held.push((stage, index));
        }
    }

    /// A stage of a lane is passed: the buffers of what it awaited are free.
    fn free(&mut self, lane: u32, stage: u32) {
        let Progress { lanes, freed, .. } = self;
        lanes[lane as usize].held.retain(|&(awaited_by, index)| {
            let is_free = awaited_by == stage;
            if is_free {
                freed.push(index);
            }
            !is_free
        });
    }

    /// A message of so many bytes has arrived for a lane.
    pub fn arrive(&mut self, lane: u32, stage: u32, (bytes, flow): (u64, FlowId), send: &mut Vec<Sending>) {
        let stage = self.not_left_out(lane, stage);
        let has_threads = self.operation.threads_of(lane, self.place).is_some();
        let Lane { arrived, largest, .. } = &mut self.lanes[lane as usize];
        arrived.set(stage, arrived.of(stage) + 1);
        if has_threads {
            largest.set(stage, largest.of(stage).max(u32::try_from(bytes).unwrap_or(u32::MAX)));
        }
        self.last = Some(flow);
        self.advance(lane, send);
    }

    /// The message that came last.
    pub fn last(&self) -> Option<FlowId> {
        self.last
    }

    /// The lanes whose threads have begun with something since this was last asked, and what it takes them.
    pub fn take_begun(&mut self) -> Vec<(u32, Time)> {
        std::mem::take(&mut self.begun_with)
    }

    /// Threads begin with a stage that is passed and sends these; returns whether they have anything to do.
    fn work(&mut self, lane: u32, at: u32, sent: &[Sending]) -> bool {
        let Some((threads, labour)) = self.operation.threads_of(lane, self.place) else { return false };
        let state = &mut self.lanes[lane as usize];
        let of_messages = sent.iter().map(|one| one.message.bytes);
        let received = match labour {
            Labour::Together => state.largest.of(at).into(),
            _ => 0,
        };
        let bytes = of_messages.max().unwrap_or(received);
        state.largest.set(at, 0);
        if bytes <= EMPTY {
            return false;
        }
        let is_awaited = |one: &&Sending| {
            let Message { to, bytes, .. } = one.message;
            threads.are_fenced && bytes > EMPTY && threads.are_neighbours(self.place, to)
        };
        state.busy_with = 1 + exact::<u32>(sent.iter().filter(is_awaited).count());
        self.begun_with.push((lane, threads.take(labour, bytes)));
        true
    }

    /// Something is done for which the threads of a lane wait.
    pub fn worked(&mut self, lane: u32, send: &mut Vec<Sending>) {
        let state = &mut self.lanes[lane as usize];
        state.busy_with -= 1;
        if state.busy_with > 0 {
            return;
        }
        if state.is_ending {
            state.is_over = true;
            self.lanes_left -= 1;
        } else {
            self.advance(lane, send);
        }
    }

    fn sending(&self, lane: u32, slot: u32) -> Sending {
        let Progress { operation, place, .. } = self;
        let (index, message) = (operation.index(lane, *place, slot), operation.message(lane, *place, slot));
        Sending { index, message, lane }
    }

    /// A message of its own was acknowledged.
    pub fn acknowledge(&mut self, lane: u32, message: &Message, send: &mut Vec<Sending>) {
        let state = &mut self.lanes[lane as usize];
        if let Some(stage) = message.stage_after {
            state.acknowledged.set(stage, state.acknowledged.of(stage) + 1);
            self.advance(lane, send);
        }
        self.end_stage(lane, message.stage, send);
        let is_awaited = self.operation.threads_of(lane, self.place).is_some_and(|(threads, _)| {
            threads.are_fenced && message.bytes > EMPTY && threads.are_neighbours(self.place, message.to)
        });
        if is_awaited {
            self.worked(lane, send);
        }
    }

    /// When all of a stage was acknowledged here, later stages may go on, and the next piece of the channel.
    fn end_stage(&mut self, lane: u32, stage: u32, send: &mut Vec<Sending>) {
        let under_way = &mut self.lanes[lane as usize].under_way;
        let Some(left) = under_way.of(stage).checked_sub(1) else { return };
        under_way.set(stage, left);
        if left == 0 {
            self.advance(lane, send);
            if let Some(next) = self.operation.gate.map(|gate| lane + gate)
                && next < self.operation.lanes
            {
                self.advance(next, send);
            }
        }
    }

    /// Passes what stages of a lane can be passed; and of those that wait for it, since a stage in which nothing is
    /// sent, or the end of the lane, is acknowledged by nobody.
    fn advance(&mut self, mut lane: u32, send: &mut Vec<Sending>) {
        while self.advance_one(lane, send)
            && let Some(gate) = self.operation.gate
            && lane + gate < self.operation.lanes
        {
            lane += gate;
        }
    }

    /// Returns whether any stage was passed.
    fn advance_one(&mut self, lane: u32, send: &mut Vec<Sending>) -> bool {
        if self.begun.is_none() || self.lanes[lane as usize].is_over {
            return false;
        }
        let before = self.lanes[lane as usize].stage;
        let operation = Arc::clone(&self.operation);
        let pattern = operation.pattern(lane);
        let stages = pattern.stages(self.place);
        loop {
            let at = self.lanes[lane as usize].stage;
            if self.lanes[lane as usize].busy_with > 0 {
                return at > before;
            }
            let stage = pattern.stage(self.place, at);
            if !self.may_pass(lane, at, &stage) {
                return at > before;
            }
            if !self.lanes[lane as usize].held.is_empty() {
                self.free(lane, at);
            }
            let state = &mut self.lanes[lane as usize];
            state.arrived.set(at, 0);
            state.acknowledged.set(at, 0);
            if at == stages {
                let is_working = self.work(lane, at, &[]);
                let state = &mut self.lanes[lane as usize];
                state.is_ending = is_working;
                state.is_over = !is_working;
                self.lanes_left -= u32::from(!is_working);
                return true;
            }
            let is_awaited = operation.gate.is_some() || pattern.most_under_way().is_some();
            if is_awaited {
                state.under_way.set(at, exact::<u32>(stage.slots.len()));
            }
            self.lanes[lane as usize].stage = self.not_left_out(lane, at + 1);
            let first = send.len();
            send.extend(stage.slots.map(|slot| self.sending(lane, slot)));
            self.work(lane, at, &send[first..]);
        }
    }

    fn may_pass(&self, lane: u32, at: u32, stage: &Stage) -> bool {
        let state = &self.lanes[lane as usize];
        let has_come = state.arrived.of(at) == stage.awaits && state.acknowledged.of(at) == stage.awaits_own;
        has_come && self.has_room(lane, at) && self.is_open(lane, at)
    }

    /// Whether a stage may have messages under way, beside those of the stages before it.
    fn has_room(&self, lane: u32, at: u32) -> bool {
        let Some(before) = self.operation.pattern(lane).room(self.place, at) else { return true };
        at == self.operation.pattern(lane).stages(self.place)
            || self.lanes[lane as usize].under_way.of(before) == 0
    }

    /// Whether the piece before the last of the same channel has passed a stage, and all of that was acknowledged.
    fn is_open(&self, lane: u32, at: u32) -> bool {
        let Some(before) = self.operation.gate.and_then(|gate| lane.checked_sub(gate)) else { return true };
        let before = &self.lanes[before as usize];
        before.is_over || (before.stage > at && before.under_way.of(at) == 0)
    }
}

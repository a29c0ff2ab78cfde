//! How far a rank is with a collective operation.

use super::pattern::{Message, Stage};
use super::plan::Operation;
use std::collections::BTreeMap;
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
}

/// One of its independent parts.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// The next stage; where stages need not be passed in order, how many were passed.
    stage: u32,
    is_over: bool,
    /// How many messages have arrived for each stage that has not been passed.
    arrived: BTreeMap<u32, u32>,
    /// How many of its own messages were acknowledged for each of those.
    acknowledged: BTreeMap<u32, u32>,
    /// How many messages of each stage are yet to be acknowledged; kept where another lane waits for that.
    under_way: BTreeMap<u32, u32>,
}

/// A message to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Its number in the operation.
    pub index: u32,
    /// What it is.
    pub message: Message,
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

    /// The rank begins, as the operation at this place.
    pub fn begin(&mut self, operation: u32, send: &mut Vec<Sending>) {
        self.begun = Some(operation);
        for lane in 0..self.lanes.len() as u32 {
            if self.is_in_order(lane) {
                self.advance(lane, send);
                continue;
            }
            let came: Vec<u32> = self.lanes[lane as usize].arrived.keys().copied().collect();
            std::iter::once(0).chain(came).for_each(|stage| self.pass(lane, stage, send));
        }
    }

    /// Whether a lane's stages are passed one after the other, as they always are in pieces.
    fn is_in_order(&self, lane: u32) -> bool {
        self.operation.gate.is_some() || self.operation.pattern(lane).is_in_order()
    }

    /// A message has arrived.
    pub fn arrive(&mut self, lane: u32, stage: u32, send: &mut Vec<Sending>) {
        *self.lanes[lane as usize].arrived.entry(stage).or_default() += 1;
        if self.is_in_order(lane) {
            self.advance(lane, send);
        } else {
            self.pass(lane, stage, send);
        }
    }

    /// Passes a stage that needs no other, if all that it awaits has come.
    fn pass(&mut self, lane: u32, stage: u32, send: &mut Vec<Sending>) {
        if self.begun.is_none() {
            return;
        }
        let operation = Arc::clone(&self.operation);
        let pattern = operation.pattern(lane);
        let Stage { awaits, slots, .. } = pattern.stage(self.place, stage);
        let state = &mut self.lanes[lane as usize];
        if state.arrived.get(&stage).copied().unwrap_or(0) < awaits {
            return;
        }
        state.arrived.remove(&stage);
        state.stage += 1;
        if state.stage > pattern.stages(self.place) {
            state.is_over = true;
            self.lanes_left -= 1;
        }
        send.extend(slots.map(|slot| self.sending(lane, slot)));
    }

    fn sending(&self, lane: u32, slot: u32) -> Sending {
        let Progress { operation, place, .. } = self;
        Sending { index: operation.index(lane, *place, slot), message: operation.message(lane, *place, slot) }
    }

    /// A message of its own was acknowledged.
    pub fn acknowledge(&mut self, lane: u32, message: &Message, send: &mut Vec<Sending>) {
        let state = &mut self.lanes[lane as usize];
        if let Some(stage) = message.stage_after {
            *state.acknowledged.entry(stage).or_default() += 1;
            self.advance(lane, send);
        }
        self.open_gate(lane, message.stage, send);
    }

    /// The next piece of the channel may go on when all of a stage was acknowledged here.
    fn open_gate(&mut self, lane: u32, stage: u32, send: &mut Vec<Sending>) {
        let Some(gate) = self.operation.gate else { return };
        let under_way = &mut self.lanes[lane as usize].under_way;
        if let Some(left) = under_way.get_mut(&stage) {
            *left -= 1;
            if *left == 0 {
                under_way.remove(&stage);
                if lane + gate < self.operation.lanes {
                    self.advance(lane + gate, send);
                }
            }
        }
    }

    fn advance(&mut self, lane: u32, send: &mut Vec<Sending>) {
        if self.begun.is_none() || self.lanes[lane as usize].is_over {
            return;
        }
        let operation = Arc::clone(&self.operation);
        let pattern = operation.pattern(lane);
        let stages = pattern.stages(self.place);
        loop {
            let at = self.lanes[lane as usize].stage;
            let stage = pattern.stage(self.place, at);
            if !self.may_pass(lane, at, &stage) {
                return;
            }
            let state = &mut self.lanes[lane as usize];
            state.arrived.remove(&at);
            state.acknowledged.remove(&at);
            if at == stages {
                state.is_over = true;
                self.lanes_left -= 1;
                return;
            }
            state.stage += 1;
            if operation.gate.is_some() && !stage.slots.is_empty() {
                state.under_way.insert(at, stage.slots.len() as u32);
            }
            send.extend(stage.slots.map(|slot| self.sending(lane, slot)));
        }
    }

    fn may_pass(&self, lane: u32, at: u32, stage: &Stage) -> bool {
        let state = &self.lanes[lane as usize];
        let count = |of: &BTreeMap<u32, u32>| of.get(&at).copied().unwrap_or(0);
        let has_come =
            count(&state.arrived) == stage.awaits && count(&state.acknowledged) == stage.awaits_own;
        has_come && self.is_open(lane, at)
    }

    /// Whether the piece before the last of the same channel has passed a stage, and all of that was acknowledged.
    fn is_open(&self, lane: u32, at: u32) -> bool {
        let Some(before) = self.operation.gate.and_then(|gate| lane.checked_sub(gate)) else { return true };
        let before = &self.lanes[before as usize];
        before.is_over || (before.stage > at && !before.under_way.contains_key(&at))
    }
}

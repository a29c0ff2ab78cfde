//! A collective operation, as its group carries it out.

use super::patterns::Strands;
use crate::job::Collective;
use crate::narrow::exact;
use crate::nccl::GRANT_BYTES;
use crate::units::Time;
use crate::workload::job::library::{Call, LaneBytes};
use crate::workload::job::pattern::{Algorithm, Message, Pattern, Shares};
use crate::workload::job::threads::{Labour, Threads};

/// A collective operation, as its group carries it out.
#[derive(Debug)]
pub struct Operation {
    /// Which.
    pub kind: Collective,
    /// How.
    pub algorithm: Algorithm,
    /// Among whom.
    pub group: u32,
    /// How many they are.
    pub ranks: u32,
    /// The same with the nodes in switches that take part: they have places after the ranks'.
    pub(super) places: u32,
    /// Bytes of the whole.
    pub bytes: u64,
    /// Which of the program's matrices says what each pair of ranks has, if one does.
    pub matrix: Option<u32>,
    /// In how many parts it is under way at once.
    pub(super) channels: u32,
    /// Independent parts of it.
    pub lanes: u32,
    /// What a library chose, if one did.
    pub call: Option<Call>,
    /// Whether a model says when it is over, and nothing is sent.
    pub is_modelled: bool,
    /// Whether its messages are not sent one by one: who runs the job says when it is over.
    pub is_whole: bool,
    /// How many lanes later the next piece of a channel waits for this one, if it does.
    pub gate: Option<u32>,
    pub(super) lane_bytes: LaneBytes,
    pub(super) patterns: Strands,
    pub(super) slots: u32,
    /// Where receivers grant buffers to senders on other servers: the server of each place.
    pub(super) grants: Option<Vec<u32>>,
    /// Whose threads move data, where they are slower than links.
    pub threads: Option<Threads>,
}

/// A message of a collective operation, as its number tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The lane.
    pub lane: u32,
    /// The receiver's lane.
    pub lane_there: u32,
    /// The sender's place in the group.
    pub from: u32,
    /// What it is.
    pub message: Message,
}

impl Operation {
    /// Whether its ranks wait for a word of who runs the job instead of messages.
    pub fn is_told(&self) -> bool {
        self.is_modelled || self.is_whole
    }

    /// How many numbers its messages take.
    pub(super) fn numbers(&self) -> Result<u32, String> {
        if self.is_told() {
            return Ok(0);
        }
        let each = if self.grants.is_some() { 2 } else { 1 };
        let numbers = [self.slots, self.places, each].into_iter().try_fold(self.lanes, u32::checked_mul);
        numbers.ok_or_else(|| format!("{} has more messages than can be numbered", self.kind.name()))
    }

    /// How many messages its ranks send one by one.
    pub fn messages(&self) -> u64 {
        if self.is_told() {
            return 0;
        }
        self.of_all_lanes(|lane| self.pattern(lane).messages(self.places)) + self.grants()
    }

    /// How many of these are receivers' grants.
    pub fn grants(&self) -> u64 {
        self.of_all_lanes(|lane| self.grants_of(lane))
    }

    /// The sum of what lanes have: those of one pattern have the same.
    fn of_all_lanes(&self, of: impl Fn(u32) -> u64) -> u64 {
        let kinds = exact::<u32>(self.patterns.len());
        let every = (0..kinds).map(&of).sum::<u64>() * u64::from(self.lanes / kinds);
        every + (0..self.lanes % kinds).map(&of).sum::<u64>()
    }

    /// How many of a lane's messages are granted.
    fn grants_of(&self, lane: u32) -> u64 {
        let Some(servers) = &self.grants else { return 0 };
        let pattern = self.pattern(lane);
        let of = |from: u32| {
            let slots = (0..pattern.stages(from)).flat_map(move |stage| pattern.stage(from, stage).slots);
            let to = slots.map(move |slot| pattern.message(from, slot, 1).to);
            to.filter(move |&to| servers[from as usize] != servers[to as usize]).count() as u64
        };
        (0..self.places).map(of).sum()
    }

    pub(super) fn sizes(&self, sizes: &mut Vec<u64>, most: usize) {
        for from in 0..self.places {
            if sizes.len() > most {
                return;
            }
            for lane in 0..self.lanes {
                let pattern = self.pattern(lane);
                let stages = 0..pattern.stages(from);
                let slots = stages.flat_map(|stage| pattern.stage(from, stage).slots);
                sizes.extend(slots.map(|slot| self.message(lane, from, slot).bytes));
            }
        }
    }

    /// Whether it has stages that repeat in every lane.
    pub fn repeats(&self) -> bool {
        self.gate.is_none()
            && !self.is_told()
            && (0..self.lanes).all(|lane| self.pattern(lane).alike().is_some())
    }

    /// The pattern of a lane.
    pub fn pattern(&self, lane: u32) -> &dyn Pattern {
        &*self.patterns[lane as usize % self.patterns.len()]
    }

    /// How many numbers its messages take without grants: a grant has the number of its message, and so many more.
    fn ungranted(&self) -> u32 {
        self.lanes * self.slots * self.places
    }

    /// The message that a number grants the buffer of, if it is a grant's.
    pub fn granted(&self, index: u32) -> Option<u32> {
        self.grants.as_ref().and_then(|_| index.checked_sub(self.ungranted()))
    }

    /// The number of the grant by which the buffer of a message becomes free, of one that has a grant.
    pub fn grant(&self, index: u32) -> u32 {
        self.ungranted() + index
    }

    /// Whether the buffer of a message becomes free by a grant.
    pub fn has_grant(&self, part: &Part) -> bool {
        let differ = |servers: &Vec<u32>| servers[part.from as usize] != servers[part.message.to as usize];
        self.grants.as_ref().is_some_and(differ)
    }

    /// The threads of a lane of the rank at a place, if it has any.
    pub fn threads_of(&self, lane: u32, place: u32) -> Option<(&Threads, Labour)> {
        let labour = self.pattern(lane).labour();
        let threads = self.threads.as_ref().filter(|_| place < self.ranks && labour != Labour::None);
        threads.map(|threads| (threads, labour))
    }

    /// How much later than its bytes can be there a message is taken, since threads write and copy it.
    pub fn trail(&self, part: &Part) -> Time {
        let &Part { lane, lane_there, from, message } = part;
        let sender = self.threads_of(lane, from);
        let sender = sender.filter(|(threads, _)| threads.are_neighbours(from, message.to));
        let written = sender.map_or(Time::ZERO, |(threads, labour)| threads.trail(labour, message.bytes));
        match self.threads_of(lane_there, message.to) {
            // It is copied beside others; else that is a part of the stage that awaits it.
            Some((threads, labour @ Labour::Beside(_))) => {
                written.saturating_add(threads.take(labour, message.bytes))
            }
            _ => written,
        }
    }

    /// The message of this number.
    pub fn part(&self, index: u32) -> Part {
        if let Some(granted) = self.granted(index) {
            let part = self.part(granted);
            let Message { to, stage, stage_there, .. } = part.message;
            let message = Message {
                to: part.from,
                bytes: GRANT_BYTES,
                stage: stage_there,
                stage_there: stage,
                ..part.message
            };
            return Part { lane: part.lane_there, lane_there: part.lane, from: to, message };
        }
        let (slot, from) = (index / self.places, index % self.places);
        let (lane, slot) = (slot / self.slots, slot % self.slots);
        let message = self.message(lane, from, slot);
        Part { lane, lane_there: lane ^ message.beside, from, message }
    }

    /// The message that the rank at a place of the group sends in a slot.
    pub fn message(&self, lane: u32, from: u32, slot: u32) -> Message {
        let bytes = match self.lane_bytes {
            LaneBytes::Part(parts, together) => Shares { bytes: self.bytes, parts }.one(lane / together),
            LaneBytes::Each(bytes) => bytes,
        };
        self.pattern(lane).message(from, slot, bytes)
    }

    /// The number of that message.
    pub fn index(&self, lane: u32, from: u32, slot: u32) -> u32 {
        (lane * self.slots + slot) * self.places + from
    }

    /// How it is carried out, in a word.
    pub fn algorithm_name(&self) -> &'static str {
        self.call.as_ref().map_or(self.algorithm.name(), |call| call.algorithm)
    }

    /// Who chose that.
    pub fn library_name(&self) -> &'static str {
        if self.call.is_some() { "nccl" } else { "plain" }
    }

    /// How data and flags go together, in a word; of plain operations nothing.
    pub fn protocol_name(&self) -> &'static str {
        self.call.as_ref().map_or("", |call| call.protocol)
    }

    /// In how many parts that are under way at once it is carried out.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// What the library's cost model says that it takes, if there is one.
    pub fn modelled(&self) -> Option<Time> {
        self.call.as_ref().and_then(Call::takes)
    }

    /// For algorithm bandwidth S/t, how much of it a link carries (NCCL tests, PERFORMANCE.md): what makes
    /// operations and numbers of ranks comparable.
    pub fn bus_factor(&self) -> f64 {
        let share = f64::from(self.ranks.saturating_sub(1)) / f64::from(self.ranks.max(1));
        match self.kind {
            Collective::AllReduce => 2.0 * share,
            Collective::AllGather | Collective::ReduceScatter | Collective::AllToAll => share,
            Collective::Broadcast | Collective::Reduce | Collective::Barrier => 1.0,
        }
    }
}

//! A program and all that its ranks share while it is executed. Nothing in it changes then.
//!
//! Every message has a number that follows from the program alone, so that a receiver knows by a flow's identity what
//! came, and nothing has to be sent for that.

mod dependents;
mod execution;
mod operation;
mod patterns;

pub use execution::{Costs, Life, Settings};
pub use operation::{Operation, Part};

use crate::flow::{Flow, FlowId};
use crate::job::{Event, Program, Rank, Work};
use crate::narrow::exact;
use crate::units::Time;
use crate::workload::job::library::Nccl;
use dependents::Dependents;
use patterns::Patterns;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What has messages in a program: a send, or a collective operation.
#[derive(Clone, Debug)]
pub enum Exchange {
    /// A message.
    Send {
        /// Its sender.
        rank: u32,
        /// Its place there.
        place: u32,
    },
    /// A collective operation.
    Collective(Arc<Operation>),
}

/// Of a send's numbers the message's, and that of its receiver's word that it was taken, if there is such.
pub const MESSAGE: u32 = 0;
/// See [`MESSAGE`].
pub const ANSWER: u32 = 1;

/// A message, as its number tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    /// In which repetition.
    pub iteration: u32,
    /// Which exchange it belongs to.
    pub exchange: u32,
    /// Which message of it.
    pub index: u32,
}

/// A program at work.
#[derive(Debug)]
pub struct Plan {
    /// What is executed.
    pub program: Arc<Program>,
    /// And how.
    pub settings: Settings,
    exchanges: Vec<Exchange>,
    /// The number of each exchange's first message.
    firsts: Vec<u32>,
    /// How many numbers a repetition takes.
    span: u32,
    /// How many messages it has; not every number is used.
    messages: u64,
    /// For each rank and operation, the exchange; `u32::MAX` if it has none.
    exchange_of: Vec<Vec<u32>>,
    /// Of each exchange that is a send: which one of its channel.
    nths: Vec<u32>,
    /// The sends of one rank to another with one tag, where there are several.
    channels: BTreeMap<Channel, Vec<u32>>,
    /// Those of them, and of those that have one send, in which any is so large that its sender waits for an answer. All
    /// in such a channel are answered.
    answered: BTreeSet<Channel>,
    /// Each group's members in order of rank, with their places in the group.
    places: Vec<Vec<(u32, u32)>>,
    /// The nodes in the switches of each group's servers.
    nodes: Vec<Vec<u32>>,
    dependents: Vec<Arc<Dependents>>,
    base: FlowId,
}

/// Sender, receiver and tag.
type Channel = (u32, u32, u32);

const NO_EXCHANGE: u32 = u32::MAX;

impl Plan {
    /// Prepares a program that was checked.
    ///
    /// # Errors
    /// What of its operations can't be carried out, or that it has too many messages.
    pub fn new(program: impl Into<Arc<Program>>, settings: Settings) -> Result<Plan, String> {
        let mut program = program.into();
        if let Some(program) = Arc::get_mut(&mut program) {
            program.ranks.iter_mut().for_each(Rank::shrink_to_fit);
        }
        let places = program.groups.iter().map(|members| {
            let mut places: Vec<(u32, u32)> = members.iter().copied().zip(0..).collect();
            places.sort_unstable();
            places
        });
        let nodes = program.groups.iter().map(|members| settings.nodes(members));
        let mut plan = Plan {
            places: places.collect(),
            nodes: nodes.collect(),
            dependents: Dependents::of_all(&program.ranks),
            exchange_of: program
                .ranks
                .iter()
                .map(|rank| vec![NO_EXCHANGE; rank.operations().len()])
                .collect(),
            exchanges: Vec::new(),
            nths: Vec::new(),
            channels: BTreeMap::new(),
            answered: BTreeSet::new(),
            firsts: Vec::new(),
            span: 0,
            messages: 0,
            base: 0,
            program,
            settings,
        };
        plan.note_answered();
        plan.number_messages()?;
        plan.number_channels();
        if u64::from(plan.span) * u64::from(plan.settings.repeat) > u64::from(FlowId::MAX / 2) {
            return Err("it has more messages than can be numbered; repeat it less often".to_owned());
        }
        Ok(plan)
    }

    fn number_messages(&mut self) -> Result<(), String> {
        let mut made = Patterns::default();
        // Of each group, the collective operations that were found so far.
        let mut found: Vec<Vec<u32>> = vec![Vec::new(); self.program.groups.len()];
        for rank in 0..self.program.ranks.len() {
            let mut done: BTreeMap<u32, usize> = BTreeMap::new();
            for place in 0..self.program.ranks[rank].operations().len() {
                let exchange = match self.program.ranks[rank].operations()[place].work {
                    Work::Send { peer, tag, .. } => {
                        if self.settings.library.as_ref().is_some_and(Nccl::is_modelled) {
                            return Err("NCCL's cost model (mode = \"tuner\") has no sends, which this job has; write mode = \"packets\", or library = \"plain\"".to_owned());
                        }
                        let is_answered = self.answered.contains(&(exact::<u32>(rank), peer, tag));
                        let messages = if is_answered { 2 } else { 1 };
                        let send = Exchange::Send { rank: exact::<u32>(rank), place: exact::<u32>(place) };
                        self.add(send, messages, messages.into())?
                    }
                    Work::Collective { operation, group, sizes } => {
                        let nth = done.entry(group).or_default();
                        *nth += 1;
                        match found[group as usize].get(*nth - 1) {
                            Some(&known) => known,
                            None => {
                                let operation = made.operation(self, operation, group, sizes)?;
                                let (numbers, messages) = (operation.numbers()?, operation.messages());
                                let new =
                                    self.add(Exchange::Collective(Arc::new(operation)), numbers, messages)?;
                                found[group as usize].push(new);
                                new
                            }
                        }
                    }
                    Work::Compute { .. } | Work::Receive { .. } => continue,
                };
                self.exchange_of[rank][place] = exchange;
            }
        }
        Ok(())
    }

    fn note_answered(&mut self) {
        if self.settings.costs.eager.is_none() {
            return;
        }
        for (number, rank) in (0..).zip(&self.program.ranks) {
            for operation in rank.operations() {
                if let Work::Send { peer, bytes, tag } = operation.work
                    && self.settings.costs.is_answered(bytes)
                {
                    self.answered.insert((number, peer, tag));
                }
            }
        }
    }

    /// Numbers the sends of each channel.
    fn number_channels(&mut self) {
        for (exchange, one) in (0..).zip(&self.exchanges) {
            let mut nth = 0;
            if let &Exchange::Send { rank, place } = one
                && let Work::Send { peer, tag, .. } =
                    self.program.ranks[rank as usize].operations()[place as usize].work
            {
                let channel = self.channels.entry((rank, peer, tag)).or_default();
                nth = exact::<u32>(channel.len());
                channel.push(exchange);
            }
            self.nths.push(nth);
        }
        self.channels.retain(|_, sends| sends.len() > 1);
    }

    fn add(&mut self, exchange: Exchange, numbers: u32, messages: u64) -> Result<u32, String> {
        let place = exact::<u32>(self.exchanges.len());
        self.exchanges.push(exchange);
        self.firsts.push(self.span);
        self.messages += messages;
        self.span = self.span.checked_add(numbers).ok_or("it has more messages than can be numbered")?;
        Ok(place)
    }

    /// Gives its messages numbers from `base` on.
    pub fn number_from(&mut self, base: FlowId) {
        self.base = base;
    }

    /// How many numbers all repetitions take.
    pub fn numbers(&self) -> u32 {
        self.span * self.settings.repeat
    }

    /// Whether all of its collective operations are carried out as wholes, so that messages are few.
    pub fn has_wholes(&self) -> bool {
        let is_single = |exchange: &Exchange| match exchange {
            Exchange::Collective(operation) => !operation.is_told() && operation.ranks > 1,
            Exchange::Send { .. } => false,
        };
        !self.exchanges.iter().any(is_single)
    }

    /// How many ranks do anything; of a whole job all count.
    pub fn ranks(&self) -> u32 {
        let is_counted =
            |rank: &&Rank| self.settings.life != Life::AfterFailure || !rank.operations().is_empty();
        let ranks = self.settings.nodes_from.map_or(self.program.ranks.len(), |first| first as usize);
        exact::<u32>(self.program.ranks[..ranks].iter().filter(is_counted).count())
    }

    /// How many messages all repetitions have.
    pub fn messages(&self) -> u64 {
        self.messages * u64::from(self.settings.repeat)
    }

    /// The sizes of its messages; where there are more than so many, of some ranks alone.
    pub fn sizes(&self, most: usize) -> Vec<u64> {
        let mut sizes = Vec::new();
        for exchange in &self.exchanges {
            match exchange {
                &Exchange::Send { rank, place } => {
                    if let Work::Send { peer, bytes, tag } =
                        self.program.ranks[rank as usize].operations()[place as usize].work
                    {
                        sizes.push(bytes);
                        sizes.extend(self.answered.contains(&(rank, peer, tag)).then_some(1));
                    }
                }
                Exchange::Collective(operation) => operation.sizes(&mut sizes, most),
            }
        }
        sizes
    }

    /// Whether nothing of it is sent, since a model says what its operations take.
    pub fn is_modelled(&self) -> bool {
        self.settings.library.as_ref().is_some_and(Nccl::is_modelled)
    }

    /// Whether any of its collective operations has stages that repeat.
    pub fn repeats(&self) -> bool {
        let repeats = |exchange: &Exchange| matches!(exchange, Exchange::Collective(one) if one.repeats());
        self.exchanges.iter().any(repeats)
    }

    /// What the library chooses for each kind and size of operation, and why.
    pub fn choices(&self) -> Vec<String> {
        let mut told = Vec::new();
        for exchange in &self.exchanges {
            if let Exchange::Collective(operation) = exchange
                && let Some(call) = &operation.call
            {
                let line = call.told(operation.kind, operation.bytes);
                if !told.contains(&line) {
                    told.push(line);
                }
            }
        }
        told
    }

    /// The collective operations and sends of a repetition, in the order of their numbers.
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// The exchange that an operation of a rank belongs to.
    pub fn exchange_of(&self, rank: u32, place: u32) -> u32 {
        self.exchange_of[rank as usize][place as usize]
    }

    /// The sends of a rank to another with a tag, where there are several. Which of them is the first is known only when
    /// it is sent: then it takes the first one's number, so that a message's number says where it stands.
    pub fn channel(&self, rank: u32, peer: u32, tag: u32) -> Option<&[u32]> {
        self.channels.get(&(rank, peer, tag)).map(Vec::as_slice)
    }

    /// Where a message of this number stands among those of its sender and tag.
    pub fn nth_of_channel(&self, exchange: u32) -> u32 {
        self.nths[exchange as usize]
    }

    /// The exchange of this number.
    pub fn exchange(&self, exchange: u32) -> &Exchange {
        &self.exchanges[exchange as usize]
    }

    /// Of an exchange that is a send: the sender, the bytes, and whether the receiver answers. Where a rank sends several
    /// messages of one channel in another order than the program has them, the bytes are another's of them: who receives
    /// does not know more.
    pub fn send(&self, exchange: u32) -> Option<(u32, u64, bool)> {
        let &Exchange::Send { rank, place } = self.exchange(exchange) else { return None };
        let work = self.program.ranks[rank as usize].operations()[place as usize].work;
        let Work::Send { peer, bytes, tag } = work else { return None };
        Some((rank, bytes, self.answered.contains(&(rank, peer, tag))))
    }

    /// What a flow is, if it is one of these.
    pub fn locate(&self, flow: FlowId) -> Option<Located> {
        let number = flow.checked_sub(self.base).filter(|&number| number < self.numbers())?;
        let (iteration, within) = (number / self.span, number % self.span);
        let exchange = self.firsts.partition_point(|&first| first <= within) - 1;
        Some(Located { iteration, exchange: exact::<u32>(exchange), index: within - self.firsts[exchange] })
    }

    /// The number of a message: what [`Plan::locate`] reads.
    pub fn number(&self, at: Located) -> FlowId {
        self.base + at.iteration * self.span + self.firsts[at.exchange as usize] + at.index
    }

    /// A message, to start at `start`.
    pub fn flow(&self, at: Located, from: u32, to: u32, bytes: u64, start: Time) -> Flow {
        Flow {
            id: self.number(at),
            src: self.settings.hosts[from as usize],
            dst: self.settings.hosts[to as usize],
            size_bytes: bytes,
            start,
            ..self.settings.like
        }
    }

    /// What a rank takes for a message of a collective operation from another, once it has come.
    pub fn hop_cost(&self, operation: &Operation, from: u32, to: u32) -> Time {
        let Some(call) = &operation.call else { return Time::ZERO };
        let server =
            |rank: u32| self.settings.servers.as_ref().map_or(rank, |servers| servers[rank as usize]);
        match server(from) == server(to) {
            true if self.is_node(to) => Time::ZERO,
            true => call.costs.inside,
            false => call.costs.network,
        }
    }

    /// Whether a rank is a node in a server's switch.
    pub fn is_node(&self, rank: u32) -> bool {
        self.settings.nodes_from.is_some_and(|first| rank >= first)
    }

    /// A rank's place in a group.
    pub fn place_in(&self, group: u32, rank: u32) -> u32 {
        let places = &self.places[group as usize];
        if self.is_node(rank) {
            let nth = self.nodes[group as usize].iter().position(|&node| node == rank);
            return exact::<u32>(places.len() + nth.expect("it takes part"));
        }
        let found = places.binary_search_by_key(&rank, |&(member, _)| member);
        places[found.expect("the program was checked")].1
    }

    /// The rank at a place of a group.
    pub fn rank_at(&self, group: u32, place: u32) -> u32 {
        let members = &self.program.groups[group as usize];
        let node = || self.nodes[group as usize][place as usize - members.len()];
        members.get(place as usize).copied().unwrap_or_else(node)
    }

    /// What depends on an operation of a rank.
    pub fn dependents(&self, rank: u32, place: u32) -> &[(Event, u32)] {
        let Dependents { ends, all } = &*self.dependents[rank as usize];
        let first = if place == 0 { 0 } else { ends[place as usize - 1] };
        &all[first as usize..ends[place as usize] as usize]
    }
}

//! A program and all that its ranks share while it is executed. Nothing in it changes then.
//!
//! Every message has a number that follows from the program alone, so that a receiver knows by a flow's identity what
//! came, and nothing has to be sent for that.

use super::disturbance::Disturbances;
use super::library::{Call, LaneBytes, Lanes, Nccl};
use super::pattern::{self, Algorithm, Awaited, Message, Pairs, Pattern, Reordered, Shares};
use super::whole::Whole;
use crate::flow::{Flow, FlowId, HostId};
use crate::job::{Collective, Event, Program, Rank, Sizes, Work};
use crate::narrow::exact;
use crate::nccl::GRANT_BYTES;
use crate::units::{Rate, Time};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How a program is executed.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The host of each rank.
    pub hosts: Vec<HostId>,
    /// What all messages have in common: start of the job, class, source.
    pub like: Flow,
    /// How often; a rank begins anew when all of its operations have ended.
    pub repeat: u32,
    /// How each operation is carried out, where not as usual.
    pub algorithms: BTreeMap<Collective, Algorithm>,
    /// The server of each rank, if hosts share servers.
    pub servers: Option<Vec<u32>>,
    /// In how many parts that are under way at once a collective operation is carried out.
    pub channels: u32,
    /// In how many pieces, one after the other, each of those.
    pub chunks: u32,
    /// What a host takes to send a message, and to receive one; it does one at a time of each.
    pub costs: Costs,
    /// The library that decides how each operation is carried out, if one does.
    pub library: Option<Nccl>,
    /// The operations of which no message is sent by itself.
    pub whole: Whole,
    /// The number of the job ([`super::Job::source`]).
    pub number: u8,
    /// What goes wrong with its ranks.
    pub disturbances: Arc<Disturbances>,
    /// Which part of the job it is.
    pub life: Life,
    /// The first of the ranks, the last ones, that are nodes in servers' switches: one for each server, by number. They
    /// have no operations of their own.
    pub nodes_from: Option<u32>,
}

/// A rank that fails divides its job into two parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Life {
    /// No rank fails.
    #[default]
    Whole,
    /// It ends when one fails.
    UntilFailure,
    /// It goes on from the first repetition that was not finished then.
    AfterFailure,
}

/// What a host takes for a message: the parameters of LogGOPS that are not the network's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// To send it: o.
    pub send: Time,
    /// To receive it: o.
    pub receive: Time,
    /// To send or receive each byte after the first: O.
    pub per_byte: Time,
    /// Between two messages that its NIC sends, and between two that it receives: g, and the rate at which the bytes
    /// themselves pass.
    pub gap: Option<(Time, Rate)>,
    /// A send of more bytes ends when its receiver has said that a receive has taken the message: S.
    pub eager: Option<u64>,
}

impl Costs {
    fn bytes(&self, bytes: u64) -> Time {
        Time(self.per_byte.as_ps().saturating_mul(bytes.saturating_sub(1)))
    }

    /// What the host takes to send a message.
    pub fn to_send(&self, bytes: u64) -> Time {
        self.send.saturating_add(self.bytes(bytes))
    }

    /// What it takes to receive one.
    pub fn to_receive(&self, bytes: u64) -> Time {
        self.receive.saturating_add(self.bytes(bytes))
    }

    /// How long the NIC has to do with a message before the next; nothing where messages have no gap.
    pub fn occupied(&self, bytes: u64) -> Time {
        let Some((gap, rate)) = self.gap else { return Time::ZERO };
        let bytes = u128::from(bytes) * 8_000_000_000_000 / u128::from(rate.as_bps().max(1));
        gap.saturating_add(Time(u64::try_from(bytes).unwrap_or(u64::MAX)))
    }

    /// Whether the sender waits for the receiver's word.
    pub fn is_answered(&self, bytes: u64) -> bool {
        self.eager.is_some_and(|eager| bytes > eager)
    }
}

impl Settings {
    /// Whether operations of a group are carried out as wholes.
    fn is_whole(&self, group: &[u32]) -> bool {
        let Costs { gap, .. } = self.costs;
        gap.is_none() && self.whole.holds(group.iter().map(|&rank| self.hosts[rank as usize]))
    }

    /// On how many servers a group is, equally many ranks on each.
    fn servers_of(&self, group: &[u32]) -> Result<u32, String> {
        let ranks = exact::<u32>(group.len());
        if self.servers.is_none() {
            return Ok(ranks);
        }
        let seating = self.seating(group).ok_or(
            "NCCL is modelled for equally many ranks of a group in each server; write ranks or a placement for which that is so, or library = \"plain\"",
        )?;
        Ok(ranks / seating.ranks)
    }

    /// The nodes in the switches of a group's servers, in the order in which patterns have servers.
    fn nodes(&self, group: &[u32]) -> Vec<u32> {
        let Some((first, servers)) = self.nodes_from.zip(self.servers.as_ref()) else { return Vec::new() };
        let Some(Seating { ranks, members }) = self.seating(group) else { return Vec::new() };
        let place = |at: usize| members.as_ref().map_or(at, |members| members[at] as usize);
        let heads = (0..group.len()).step_by(ranks as usize);
        heads.map(|at| first + servers[group[place(at)] as usize]).collect()
    }

    /// Which of a group share servers, if these have equally many.
    fn seating(&self, group: &[u32]) -> Option<Seating> {
        let servers = self.servers.as_ref()?;
        // In the order in which the group comes to them.
        let (mut order, mut seats) = (Vec::new(), BTreeMap::<u32, Vec<u32>>::new());
        for (place, &rank) in (0..).zip(group) {
            let server = servers[rank as usize];
            let seats = seats.entry(server).or_insert_with(|| {
                order.push(server);
                Vec::new()
            });
            seats.push(place);
        }
        let ranks = seats.values().next()?.len();
        if seats.values().any(|seats| seats.len() != ranks) {
            return None;
        }
        let mut members: Vec<u32> = order.iter().flat_map(|server| &seats[server]).copied().collect();
        let are_neighbours = members.is_sorted();
        // By host: those of one place in all servers share a rail.
        let host = |&place: &u32| self.hosts[group[place as usize] as usize];
        members.chunks_mut(ranks).for_each(|seats| seats.sort_by_key(host));
        Some(Seating { ranks: exact::<u32>(ranks), members: (!are_neighbours).then_some(members) })
    }
}

/// Which ranks of a group share servers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Seating {
    /// How many share each.
    ranks: u32,
    /// The places in the group, server by server, where those of a server are not next to each other.
    members: Option<Vec<u32>>,
}

/// Of the pieces of a channel, so many may be under way at once: the next one begins while the last is being
/// acknowledged.
const PIECES_UNDER_WAY: u32 = 2;

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
    places: u32,
    /// Bytes of the whole.
    pub bytes: u64,
    /// Which of the program's matrices says what each pair of ranks has, if one does.
    pub matrix: Option<u32>,
    /// In how many parts it is under way at once.
    channels: u32,
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
    lane_bytes: LaneBytes,
    patterns: Strands,
    slots: u32,
    /// Where receivers grant buffers to senders on other servers: the server of each place.
    grants: Option<Vec<u32>>,
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

/// What is done when, by what depends on it.
#[derive(Clone, Debug, Default)]
struct Dependents {
    ends: Vec<u32>,
    all: Vec<(Event, u32)>,
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

impl Dependents {
    /// Those of each rank; ranks next to each other may be alike.
    fn of_all(ranks: &[Rank]) -> Vec<Arc<Dependents>> {
        let mut all: Vec<Arc<Dependents>> = Vec::with_capacity(ranks.len());
        for (number, rank) in ranks.iter().enumerate() {
            let same = number.checked_sub(1).filter(|&before| rank.shares_graph(&ranks[before]));
            all.push(same.map_or_else(|| Arc::new(Dependents::of(rank)), |before| Arc::clone(&all[before])));
        }
        all
    }

    fn of(rank: &crate::job::Rank) -> Dependents {
        let count = exact::<u32>(rank.operations().len());
        let mut all: Vec<(u32, Event, u32)> = (0..count)
            .flat_map(|place| rank.dependencies(place).iter().map(move |one| (one.on, one.event, place)))
            .collect();
        all.sort_unstable();
        let ends =
            (0..count).map(|place| exact::<u32>(all.partition_point(|&(on, ..)| on <= place))).collect();
        Dependents { ends, all: all.into_iter().map(|(_, event, place)| (event, place)).collect() }
    }
}

/// The patterns among which the lanes of an operation are divided.
type Strands = Arc<Vec<Box<dyn Pattern>>>;

/// Patterns that were made, so that operations which are alike share one.
#[derive(Default)]
struct Patterns {
    /// By operation, algorithm, number of ranks, and how they share servers where the algorithm goes by that.
    made: BTreeMap<(Collective, Algorithm, u32, Option<Seating>), Strands>,
}

impl Patterns {
    fn operation(
        &mut self,
        plan: &Plan,
        kind: Collective,
        group: u32,
        sizes: Sizes,
    ) -> Result<Operation, String> {
        let Settings { algorithms, channels, chunks, library, .. } = &plan.settings;
        let ranks = exact::<u32>(plan.program.groups[group as usize].len());
        if let Some(library) = library.as_ref().filter(|_| ranks > 1) {
            return by_library(plan, library, (kind, group, sizes));
        }
        let algorithm = algorithms.get(&kind).copied().unwrap_or(Algorithm::usual(kind));
        let (bytes, patterns, pieces) = match sizes {
            Sizes::Matrix(matrix) => {
                let matrix = &plan.program.matrices[matrix as usize];
                let pairs: Box<dyn Pattern> = Box::new(Pairs::new(ranks, matrix));
                let most = matrix.chunks(ranks as usize).map(|row| row.iter().sum::<u64>()).max();
                (most.unwrap_or(0), Arc::new(vec![pairs]), (1, 1))
            }
            Sizes::Whole(bytes) => {
                let members = &plan.program.groups[group as usize];
                let seating = if algorithm.knows_servers() { plan.settings.seating(members) } else { None };
                let patterns = match self.made.entry((kind, algorithm, ranks, seating)) {
                    Entry::Occupied(known) => Arc::clone(known.get()),
                    Entry::Vacant(new) => {
                        let patterns = patterns(kind, algorithm, ranks, new.key().3.as_ref())?;
                        Arc::clone(new.insert(Arc::new(patterns)))
                    }
                };
                let pieces = if kind == Collective::Barrier { (1, 1) } else { (*channels, *chunks) };
                (bytes, patterns, pieces)
            }
        };
        let strands = exact::<u32>(patterns.len());
        let (channels, chunks) = pieces;
        let lanes = [chunks, strands].into_iter().try_fold(channels, u32::checked_mul);
        let lanes = lanes.ok_or_else(|| {
            format!("{} has more parts than can be numbered; write fewer channels or chunks", kind.name())
        })?;
        let gate = (chunks > PIECES_UNDER_WAY).then_some(channels * strands * PIECES_UNDER_WAY);
        let slots = patterns.iter().map(|pattern| pattern.slots()).max().unwrap_or(0);
        let (call, is_modelled) = (None, false);
        let is_simple = gate.is_none() && patterns.iter().all(|one| one.phases().is_some());
        let is_whole = ranks > 1 && is_simple && plan.settings.is_whole(&plan.program.groups[group as usize]);
        Ok(Operation {
            kind,
            algorithm,
            group,
            ranks,
            places: ranks,
            bytes,
            matrix: if let Sizes::Matrix(matrix) = sizes { Some(matrix) } else { None },
            channels,
            lanes,
            call,
            is_modelled,
            is_whole,
            gate,
            lane_bytes: LaneBytes::Part(lanes, 1),
            patterns,
            slots,
            grants: None,
        })
    }
}

/// An operation as a library carries it out.
fn by_library(
    plan: &Plan,
    library: &Nccl,
    (kind, group, sizes): (Collective, u32, Sizes),
) -> Result<Operation, String> {
    let members = &plan.program.groups[group as usize];
    let ranks = exact::<u32>(members.len());
    let Sizes::Whole(bytes) = sizes else {
        let message =
            "NCCL is modelled for all-to-all of one size; write library = \"plain\" for this workload";
        return Err(message.to_owned());
    };
    let machine = library.machine(ranks, plan.settings.servers_of(members)?);
    let call = library.call(kind, bytes, machine)?;
    let is_modelled = library.is_modelled();
    let Lanes { patterns, lanes, bytes: lane_bytes } = if is_modelled {
        Lanes { patterns: vec![Box::new(Awaited)], lanes: 1, bytes: LaneBytes::Part(1, 1) }
    } else {
        library.lanes(kind, bytes, &call)?
    };
    let seating = plan.settings.seating(members);
    let patterns = match seating.as_ref().and_then(|seating| seating.members.as_ref()) {
        Some(members) => reordered(patterns, members),
        None => patterns,
    };
    let slots = patterns.iter().map(|pattern| pattern.slots()).max().unwrap_or(0);
    let server = |rank: &u32| plan.settings.servers.as_ref().map_or(*rank, |servers| servers[*rank as usize]);
    let nodes: &[u32] = if call.is_switched() { &plan.nodes[group as usize] } else { &[] };
    let grants = library.has_grants().then(|| members.iter().chain(nodes).map(server).collect());
    Ok(Operation {
        kind,
        algorithm: Algorithm::usual(kind),
        group,
        ranks,
        places: ranks + exact::<u32>(nodes.len()),
        bytes,
        matrix: None,
        channels: call.channels,
        lanes,
        call: Some(call),
        is_modelled,
        is_whole: false,
        gate: None,
        lane_bytes,
        patterns: Arc::new(patterns),
        slots,
        grants,
    })
}

/// The patterns of an operation among ranks that share servers so.
fn patterns(
    kind: Collective,
    algorithm: Algorithm,
    ranks: u32,
    seating: Option<&Seating>,
) -> Result<Vec<Box<dyn Pattern>>, String> {
    let made = pattern::patterns(kind, algorithm, ranks, seating.map(|seating| seating.ranks))?;
    let Some(members) = seating.and_then(|seating| seating.members.as_ref()) else { return Ok(made) };
    Ok(reordered(made, members))
}

/// Patterns of ranks that have another order than their group.
fn reordered(made: Vec<Box<dyn Pattern>>, members: &[u32]) -> Vec<Box<dyn Pattern>> {
    made.into_iter().map(|one| -> Box<dyn Pattern> { Box::new(Reordered::new(one, members)) }).collect()
}

impl Operation {
    /// Whether its ranks wait for a word of who runs the job instead of messages.
    pub fn is_told(&self) -> bool {
        self.is_modelled || self.is_whole
    }

    /// How many numbers its messages take.
    fn numbers(&self) -> Result<u32, String> {
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

    fn sizes(&self, sizes: &mut Vec<u64>, most: usize) {
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

    /// The number of the grant by which the buffer of a message becomes free, if it does so.
    pub fn grant(&self, index: u32) -> Option<u32> {
        let servers = self.grants.as_ref()?;
        let Part { from, message, .. } = self.part(index);
        let crosses = servers[from as usize] != servers[message.to as usize];
        crosses.then(|| self.ungranted() + index)
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

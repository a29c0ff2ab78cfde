//! From the nodes of all ranks to a program.

use super::super::names::Names;
use super::node::{About, Kind, Node, SENDS};
use super::report::{RankReport, Report};
use super::wire::MOST_NUMBERS;
use super::{
    AllGatherSize, Control, CpuCommunication, Groups, Loose, Missing, Options, Order, Source, TraceError,
};
use super::{json, protobuf, rank, unpacked};
use crate::formats::FileError;
use crate::job::{Collective, Dependency, LONGEST, Operation, Program, Rank, Sizes, Work};
use crate::narrow::exact;
use crate::units::Time;
use std::collections::BTreeMap;

/// The most nodes that a rank may have, and all ranks together.
const MOST_NODES: usize = 1 << 23;
const MOST_OPERATIONS: usize = 1 << 26;
/// The most that a file in JSON may hold: as a tree it takes some ten times as much.
const MOST_JSON_BYTES: usize = 1 << 28;

/// The streams of a rank.
pub(super) const CPU: u16 = 0;
pub(super) const GPU: u16 = 1;
pub(super) const GPU_COMMUNICATION: u16 = 2;

/// A trace that was read, whatever the report has against it.
#[derive(Clone, Debug)]
pub struct Import {
    /// What the ranks do.
    pub program: Program,
    /// What was found.
    pub report: Report,
    /// The files, by rank.
    files: Vec<String>,
    /// The nodes' numbers, by rank and place.
    ids: Vec<Vec<u64>>,
    control: Control,
}

impl Import {
    /// Checks that the program can be executed.
    ///
    /// # Errors
    /// What [`Program::check`] finds, with the file and the node.
    pub fn check(&self) -> Result<(), TraceError> {
        self.program.check().map_err(|mut problem| {
            if self.control == Control::Follow && problem.message.starts_with("depends on itself") {
                problem.message +=
                    "; control = \"ignore\" follows data dependencies alone, as Chakra's own feeder does";
            }
            let place = problem.operation.map(|place| self.ids[problem.rank as usize][place as usize]);
            let message = match place {
                Some(id) => format!("node {id}: {}", problem.message),
                None => problem.message,
            };
            let file = self.files.get(problem.rank as usize).cloned().unwrap_or_default();
            TraceError { file, error: FileError::whole(message) }
        })
    }
}

/// Reads a trace without refusing what the report has against it.
///
/// # Errors
/// What is malformed.
pub fn import(
    ranks: u32,
    sources: impl Iterator<Item = Result<Source, TraceError>>,
    groups: &Groups,
    options: &Options,
) -> Result<Import, TraceError> {
    let mut importer = Importer::new(ranks, groups, *options);
    for (number, source) in (0..ranks).zip(sources) {
        let source = source?;
        let result = importer.rank(number, &source);
        result.map_err(|error| TraceError { file: source.name.clone(), error })?;
        importer.files.push(source.name);
    }
    Ok(importer.finish())
}

struct Importer<'a> {
    ranks: u32,
    given_groups: &'a Groups,
    options: Options,
    program: Program,
    names: Names,
    /// Groups by name and members: a name may stand for others at other ranks.
    groups: BTreeMap<(String, Vec<u32>), u32>,
    /// Those that the rank at hand used already, by name; the group of all has none.
    used: BTreeMap<Option<String>, u32>,
    reports: Vec<RankReport>,
    files: Vec<String>,
    ids: Vec<Vec<u64>>,
}

/// What a rank's nodes say of each other.
struct Graph {
    /// What each depends on, in order.
    dependencies: Vec<Vec<u32>>,
    has_dependent: Vec<bool>,
}

impl<'a> Importer<'a> {
    fn new(ranks: u32, given_groups: &'a Groups, options: Options) -> Importer<'a> {
        Importer {
            ranks,
            given_groups,
            options,
            program: Program::default(),
            names: Names::default(),
            groups: BTreeMap::new(),
            used: BTreeMap::new(),
            reports: Vec::new(),
            files: Vec::new(),
            ids: Vec::new(),
        }
    }

    fn finish(mut self) -> Import {
        self.program.names = self.names.all();
        let mut names = vec![String::new(); self.groups.len()];
        for ((name, _), place) in self.groups {
            names[place as usize] = name;
        }
        let report = Report::new(self.reports, &self.program, names);
        let control = self.options.control;
        Import { program: self.program, report, files: self.files, ids: self.ids, control }
    }

    fn rank(&mut self, number: u32, source: &Source) -> Result<(), FileError> {
        let content = unpacked(&source.content)?;
        let mut nodes: Vec<Node<'_>> = Vec::new();
        let before = self.program.operations();
        let mut numbers = 0;
        let mut bound = |count: usize, node: &Node<'_>| {
            numbers += node.control.len() + node.data.len();
            if numbers > MOST_NUMBERS {
                return Err(node.error(format!(
                    "there are too many dependencies; read are up to {MOST_NUMBERS} of a rank"
                )));
            }
            if count == MOST_NODES || before + count >= MOST_OPERATIONS {
                return Err(node.error(format!(
                    "there are too many; read are up to {MOST_NODES} of a rank and {MOST_OPERATIONS} of all ranks"
                )));
            }
            Ok(())
        };
        let about = if source.name.ends_with(".json") {
            if content.len() > MOST_JSON_BYTES {
                let most = MOST_JSON_BYTES >> 20;
                return Err(FileError::whole(format!(
                    "it is JSON larger than {most} MiB, the most that is read of it"
                )));
            }
            json::read(super::super::text(&content)?, |node| {
                bound(nodes.len(), &node)?;
                nodes.push(node);
                Ok(())
            })?
        } else {
            protobuf::read(&content, |node| {
                bound(nodes.len(), &node)?;
                nodes.push(node);
                Ok(())
            })?
        };
        self.nodes(number, &mut nodes, about)
    }

    fn nodes(&mut self, number: u32, nodes: &mut [Node<'_>], about: About) -> Result<(), FileError> {
        let blocks = about.sends_block.unwrap_or(true);
        if number > 0 && blocks != self.program.sends_block {
            return Err(FileError::whole(format!("its {SENDS} is another than that of rank 0")));
        }
        self.program.sends_block = blocks;
        if self.options.order == Order::Start {
            nodes.sort_by_key(|node| node.start_micros);
        }
        let mut report = RankReport::of(nodes);
        let own_groups = self.own_groups(nodes)?;
        let mut graph = self.graph(nodes, &mut report)?;
        // What packetloom wrote has all the dependencies that there were.
        let is_own = about.sends_block.is_some();
        let streams = if is_own { Vec::new() } else { by_stream(nodes, self.options.is_cpu_op) };
        report.note_loose(nodes, streams.iter().flat_map(|stream| loose(stream, &graph)));
        if self.options.loose == Loose::ChainStreams {
            chain(&streams, &mut graph);
        }
        self.used.clear();
        let mut rank = Rank::default();
        for (node, dependencies) in nodes.iter().zip(&graph.dependencies) {
            let (work, stream) = self.work(number, node, &own_groups)?;
            let stream = node.attributes.own_stream.unwrap_or(stream);
            if let Work::Collective { operation, .. } = work {
                *report.collectives.entry(operation).or_default() += 1;
            }
            let name = self.names.place(&node.name);
            rank.add(Operation { work, stream, name }, dependencies.iter().map(|&on| Dependency::on_end(on)));
        }
        rank.take_turns(turns(nodes));
        self.program.ranks.push(rank);
        self.reports.push(report);
        self.ids.push(nodes.iter().map(|node| node.id).collect());
        Ok(())
    }

    /// The groups that the rank's own nodes name.
    fn own_groups(&self, nodes: &[Node<'_>]) -> Result<Groups, FileError> {
        let mut groups = Groups::new();
        for node in nodes.iter().filter(|node| node.kind == Kind::Metadata && node.values.contains("pg_name"))
        {
            let found = process_groups(&node.values).ok_or_else(|| {
                node.error("its process groups are not of the form [{\"pg_name\": \"0\", \"ranks\": [0, 1]}]")
            })?;
            for (name, mut ranks) in found {
                if ranks.is_empty() {
                    ranks = (0..self.ranks).collect();
                }
                groups.insert(name, ranks);
            }
        }
        Ok(groups)
    }

    fn graph(&self, nodes: &[Node<'_>], report: &mut RankReport) -> Result<Graph, FileError> {
        let mut places: Vec<(u64, u32)> = nodes.iter().map(|node| node.id).zip(0..).collect();
        places.sort_unstable();
        if let Some(pair) = places.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(nodes[pair[1].1 as usize].error("another node has the same id"));
        }
        let mut has_dependent = vec![false; nodes.len()];
        let mut dependencies = Vec::with_capacity(nodes.len());
        for node in nodes {
            let mut own = Vec::with_capacity(node.control.len() + node.data.len());
            let follows = self.options.control == Control::Follow;
            let control = node.control.iter().filter(|_| follows);
            for &id in control.chain(&node.data) {
                match places.binary_search_by_key(&id, |&(id, _)| id) {
                    Ok(found) => {
                        let place = places[found].1;
                        has_dependent[place as usize] = true;
                        own.push(place);
                    }
                    Err(_) if self.options.missing == Missing::Drop => report.dropped += 1,
                    Err(_) => {
                        return Err(node.error(format!(
                            "depends on node {id}, which is not there; missing = \"drop\" drops such dependencies"
                        )));
                    }
                }
            }
            // A node may depend on another by control and by data.
            own.sort_unstable();
            own.dedup();
            dependencies.push(own);
        }
        Ok(Graph { dependencies, has_dependent })
    }

    fn work(
        &mut self,
        rank: u32,
        node: &Node<'_>,
        own_groups: &Groups,
    ) -> Result<(Work, Option<u16>), FileError> {
        let is_cpu_op = node.attributes.is_cpu_op.unwrap_or(self.options.is_cpu_op);
        if is_cpu_op
            && node.kind.is_communication()
            && self.options.cpu_communication == CpuCommunication::Refuse
        {
            return Err(node.error(
                "communication on the CPU; cpu_communication = \"compute\" lets it take its duration and move nothing",
            ));
        }
        let compute = |stream| Ok((Work::Compute { duration: duration(node)? }, Some(stream)));
        match node.kind {
            Kind::Metadata => Ok((Work::Compute { duration: Time::ZERO }, None)),
            _ if is_cpu_op => compute(CPU),
            Kind::Comp => compute(GPU),
            Kind::MemLoad | Kind::MemStore => compute(GPU_COMMUNICATION),
            Kind::CommSend => {
                let (peer, bytes, tag) = self.message(rank, node, true)?;
                Ok((Work::Send { peer, bytes, tag }, Some(GPU_COMMUNICATION)))
            }
            Kind::CommRecv => {
                let (peer, bytes, tag) = self.message(rank, node, false)?;
                Ok((Work::Receive { peer: Some(peer), bytes, tag: Some(tag) }, None))
            }
            Kind::CommColl => Ok((self.collective(rank, node, own_groups)?, Some(GPU_COMMUNICATION))),
        }
    }

    /// The peer, the size and the tag.
    fn message(&self, rank: u32, node: &Node<'_>, is_send: bool) -> Result<(u32, u64, u32), FileError> {
        let attributes = &node.attributes;
        let (own, other) = (("comm_src", attributes.comm_src), ("comm_dst", attributes.comm_dst));
        let (own, other) = if is_send { (own, other) } else { (other, own) };
        if let (key, Some(own)) = own
            && own != u64::from(rank)
        {
            return Err(node.error(format!("{key} is {own}, but this is rank {rank}")));
        }
        let (key, peer) = other;
        let peer = peer.ok_or_else(|| node.error(format!("{key} is missing")))?;
        let peer =
            u32::try_from(peer).map_err(|_| node.error(format!("{key} is {peer}, which is no rank")))?;
        let tag = attributes.comm_tag.unwrap_or(0);
        let tag =
            u32::try_from(tag).map_err(|_| node.error(format!("comm_tag is {tag}, which is too large")))?;
        Ok((peer, size(node)?, tag))
    }

    fn collective(&mut self, rank: u32, node: &Node<'_>, own_groups: &Groups) -> Result<Work, FileError> {
        if node.attributes.leaves_out_dimension {
            return Err(node.error("involved_dim leaves a dimension out; name the ranks by pg_name"));
        }
        let operation = match node.attributes.comm_type {
            Some(0) => Collective::AllReduce,
            Some(1) => Collective::Reduce,
            Some(2) => Collective::AllGather,
            Some(5) => Collective::Broadcast,
            Some(6) => Collective::AllToAll,
            Some(7 | 8) => Collective::ReduceScatter,
            Some(9) => Collective::Barrier,
            Some(kind @ (3 | 4)) => {
                let name = if kind == 3 { "GATHER" } else { "SCATTER" };
                return Err(node.error(format!("comm_type is {name}, which is not supported")));
            }
            Some(kind) => return Err(node.error(format!("comm_type is {kind}; there are 0 to 9"))),
            None => return Err(node.error("comm_type is missing")),
        };
        let group = self.group(rank, node, own_groups)?;
        let members = self.program.groups[group as usize].len() as u64;
        let bytes = match operation {
            Collective::Barrier => 0,
            Collective::AllGather if node.attributes.total_bytes.is_some() => {
                node.attributes.total_bytes.unwrap_or_default()
            }
            Collective::AllGather if self.options.all_gather_size == AllGatherSize::PerRank => {
                size(node)?.checked_mul(members).ok_or_else(|| node.error("comm_size is too large"))?
            }
            _ => size(node)?,
        };
        Ok(Work::Collective { operation, group, sizes: Sizes::Whole(bytes) })
    }

    fn group(&mut self, rank: u32, node: &Node<'_>, own_groups: &Groups) -> Result<u32, FileError> {
        let name = node.attributes.pg_name.as_deref().map(str::to_owned);
        if let Some(&place) = self.used.get(&name) {
            return Ok(place);
        }
        let key = match name.as_deref() {
            None => (String::new(), (0..self.ranks).collect()),
            Some(name) => {
                let found = own_groups.get(name).or_else(|| self.given_groups.get(name));
                let members = found.ok_or_else(|| {
                    node.error(format!(
                        "no METADATA node says who is in process group {name:?}; write groups = \"FILE\", a file of groups that does"
                    ))
                })?;
                (name.to_owned(), members.clone())
            }
        };
        if !key.1.contains(&rank) {
            return Err(node.error(format!("rank {rank} is not in process group {:?}", key.0)));
        }
        let groups = &mut self.program.groups;
        let next = exact::<u32>(groups.len());
        let place = *self.groups.entry(key).or_insert_with_key(|(_, members)| {
            groups.push(members.clone());
            next
        });
        self.used.insert(name, place);
        Ok(place)
    }
}

/// Where each node stands among all by its id.
fn turns(nodes: &[Node<'_>]) -> Vec<u32> {
    let mut places: Vec<u32> = (0..exact::<u32>(nodes.len())).collect();
    places.sort_unstable_by_key(|&place| nodes[place as usize].id);
    let mut turns = vec![0; nodes.len()];
    for (turn, place) in (0..).zip(places) {
        turns[place as usize] = turn;
    }
    turns
}

fn size(node: &Node<'_>) -> Result<u64, FileError> {
    node.attributes.comm_size.ok_or_else(|| node.error("comm_size is missing"))
}

fn duration(node: &Node<'_>) -> Result<Time, FileError> {
    let micros = node.duration_micros.checked_mul(1_000_000);
    let ps = node.attributes.duration_ps.or(micros).filter(|&ps| ps <= LONGEST.as_ps());
    ps.map(Time).ok_or_else(|| {
        node.error(format!(
            "duration_micros is {}; the longest there may be is {LONGEST}",
            node.duration_micros
        ))
    })
}

/// A list of process groups: itself, or the text of one in a list as Python prints it.
fn process_groups(values: &str) -> Option<Groups> {
    let parsed = serde_json::from_str(values).or_else(|_| {
        let inner = values.get(2..values.len().saturating_sub(2)).unwrap_or_default();
        serde_json::from_str(inner)
    });
    let mut parsed: serde_json::Value = parsed.ok()?;
    if let Some(text) = parsed.get(0).and_then(serde_json::Value::as_str) {
        parsed = serde_json::from_str(text).ok()?;
    }
    let group = |one: &serde_json::Value| {
        let ranks = one.get("ranks")?.as_array()?.iter().map(rank).collect::<Option<_>>()?;
        Some((one.get("pg_name")?.as_str()?.to_owned(), ranks))
    };
    parsed.as_array()?.iter().map(group).collect()
}

/// The GPU's nodes by stream, in the order of their start times; none if there are no start times. A stream is what
/// the attribute says, or computation or communication.
fn by_stream(nodes: &[Node<'_>], default: bool) -> Vec<Vec<u32>> {
    if nodes.iter().all(|node| node.start_micros == 0) {
        return Vec::new();
    }
    let mut streams: BTreeMap<(Option<u64>, bool), Vec<u32>> = BTreeMap::new();
    for (place, node) in (0..).zip(nodes) {
        if node.kind != Kind::Metadata && !node.attributes.is_cpu_op.unwrap_or(default) {
            let stream = node.attributes.stream;
            let key = (stream, stream.is_none() && node.kind == Kind::Comp);
            streams.entry(key).or_default().push(place);
        }
    }
    let mut streams: Vec<Vec<u32>> = streams.into_values().collect();
    for stream in &mut streams {
        stream.sort_by_key(|&place| nodes[place as usize].start_micros);
    }
    streams
}

/// Those of a stream that nothing depends on, the last aside.
fn loose<'a>(stream: &'a [u32], graph: &'a Graph) -> impl Iterator<Item = u32> + 'a {
    let before_last = &stream[..stream.len().saturating_sub(1)];
    before_last.iter().copied().filter(|&place| !graph.has_dependent[place as usize])
}

fn chain(streams: &[Vec<u32>], graph: &mut Graph) {
    for pair in streams.iter().flat_map(|stream| stream.windows(2)) {
        let own = &mut graph.dependencies[pair[1] as usize];
        if let Err(place) = own.binary_search(&pair[0]) {
            own.insert(place, pair[0]);
        }
    }
}

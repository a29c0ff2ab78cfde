//! Programs as Chakra traces.

use super::import::{CPU, GPU, GPU_COMMUNICATION};
use super::node::{DURATION_PS, Kind, SENDS, STREAM, TOTAL_BYTES, sends};
use crate::job::{Collective, Event, Operation, Problem, Program, Rank, Sizes, Span, Work};
use crate::narrow::exact;
use crate::units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// What is written of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// A file for each rank.
    pub files: Vec<Vec<u8>>,
    /// The file of process groups, where there are others than the group of all.
    pub groups: Option<String>,
}

/// The field of an attribute's value, by its kind.
#[derive(Clone, Copy)]
enum AttributeKind {
    Int32 = 7,
    Int64 = 9,
    Uint32 = 11,
    Uint64 = 13,
    Bool = 27,
}

/// Writes a program, with the times of a run where `spans` has them, so that astra-sim executes it as it is, and reads
/// come back to the same program.
///
/// Nodes have their ids in the order in which they began, so that where the lowest id goes first each stream executes
/// them in that order again. A computation on stream 0 is the CPU's; on any other it is the GPU's. Times are in whole
/// microseconds, rounded down. Groups are numbered from 1: to astra-sim "0" is the group of all. Operations on no stream
/// that take no time are left out, since astra-sim stops at METADATA: what waits for one waits for what that waited for.
///
/// Attributes of packetloom's own, which other tools pass over, say what Chakra has no word for: a computation's time to
/// the picosecond, a stream other than that of the node's kind, the size of an all-gather whose ranks have unequal parts,
/// and when sends end.
///
/// # Errors
/// The first operation for which Chakra has no words: it depends on the beginning of another, receives from any rank
/// or with any tag, or has a size for each pair.
pub fn write(program: &Program, spans: &[Span]) -> Result<Written, Problem> {
    let mut times: BTreeMap<(u32, u32), (usize, Span)> = BTreeMap::new();
    times.extend(spans.iter().enumerate().map(|(nth, span)| ((span.rank, span.operation), (nth, *span))));
    let everyone: Vec<u32> = (0..exact::<u32>(program.ranks.len())).collect();
    // The first group of all has no name; another of the same ranks needs one, because it is another.
    let unnamed = program.groups.iter().position(|group| *group == everyone);
    let mut files = Vec::new();
    for (number, rank) in (0..).zip(&program.ranks) {
        let mut file = Vec::new();
        let about = [text(1, SENDS), text(29, sends(program.sends_block))].concat();
        delimited(&mut file, &[text(1, "0.0.4"), field(2, &about)].concat());
        let ids = ids(rank, |place| times.get(&(number, place)).map(|(nth, span)| (span.start, *nth)));
        let awaited = Awaited::of(rank);
        for (place, operation) in (0..).zip(rank.operations()) {
            let span = times.get(&(number, place)).map(|(_, span)| span);
            let name = program.names.get(operation.name as usize).map_or("", String::as_str);
            let mut node = Node::default();
            let written = if rank.dependencies(place).iter().any(|one| one.event == Event::Begins) {
                Err("it depends on the beginning of another; Chakra has dependencies on ends alone")
            } else {
                let mut on: Vec<u64> = awaited.by(rank, place).iter().map(|&on| ids[on as usize]).collect();
                on.sort_unstable();
                node.begin(ids[place as usize], name, kind(operation), &on);
                node.times(operation, span);
                node.attributes(number, operation, program, unnamed)
            };
            written.map_err(|message| Problem {
                rank: number,
                operation: Some(place),
                message: message.to_owned(),
            })?;
            if !is_left_out(operation) {
                delimited(&mut file, &node.0);
            }
        }
        files.push(file);
    }
    let of_all = program.ranks.iter().flat_map(Rank::operations);
    let used: BTreeSet<usize> = of_all.filter_map(|operation| group(operation.work)).collect();
    let named = program.groups.iter().enumerate();
    let named = named.filter(|&(place, _)| used.contains(&place) && Some(place) != unnamed);
    let groups: serde_json::Map<_, _> =
        named.map(|(place, ranks)| (group_name(place), ranks.clone().into())).collect();
    let groups = (!groups.is_empty()).then(|| serde_json::Value::Object(groups).to_string());
    Ok(Written { files, groups })
}

fn group(work: Work) -> Option<usize> {
    if let Work::Collective { group, .. } = work { Some(group as usize) } else { None }
}

fn group_name(place: usize) -> String {
    (place + 1).to_string()
}

/// Whether an operation does nothing but wait.
fn is_left_out(operation: &Operation) -> bool {
    operation.stream.is_none() && matches!(operation.work, Work::Compute { duration: Time::ZERO })
}

/// The nodes' ids: in the order in which they began, then those that did not, in the order of their turns or places.
fn ids(rank: &Rank, began: impl Fn(u32) -> Option<(Time, usize)>) -> Vec<u64> {
    let mut places: Vec<u32> = (0..exact::<u32>(rank.operations().len())).collect();
    places.sort_by_key(|&place| {
        let (at, nth) = began(place).unwrap_or((Time::NEVER, usize::MAX));
        (at, nth, rank.turn(place).unwrap_or(place))
    });
    let mut ids = vec![0; places.len()];
    for (id, place) in (0..).zip(places) {
        ids[place as usize] = id;
    }
    ids
}

/// What each operation that is left out waits for, among those that are not.
struct Awaited(BTreeMap<u32, Vec<u32>>);

impl Awaited {
    fn of(rank: &Rank) -> Awaited {
        let mut awaited = Awaited(BTreeMap::new());
        let left_out = |place: &u32| rank.operations().get(*place as usize).is_some_and(is_left_out);
        for place in (0..exact::<u32>(rank.operations().len())).filter(left_out) {
            let mut stack = vec![place];
            while let Some(&top) = stack.last() {
                let before = stack.len();
                let on = rank.dependencies(top).iter().map(|one| one.on).filter(left_out);
                stack.extend(on.filter(|on| !awaited.0.contains_key(on)));
                if stack.len() == before {
                    let by = awaited.by(rank, top);
                    awaited.0.insert(top, by);
                    stack.pop();
                }
            }
        }
        awaited
    }

    /// What an operation waits for, once each.
    fn by(&self, rank: &Rank, place: u32) -> Vec<u32> {
        let mut all = Vec::new();
        for one in rank.dependencies(place) {
            match self.0.get(&one.on) {
                Some(instead) => all.extend(instead),
                None => all.push(one.on),
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn kind(operation: &Operation) -> Kind {
    match operation.work {
        Work::Compute { .. } => Kind::Comp,
        Work::Send { .. } => Kind::CommSend,
        Work::Receive { .. } => Kind::CommRecv,
        Work::Collective { .. } => Kind::CommColl,
    }
}

/// The stream that a node of this kind holds where nothing else is said.
fn usual_stream(operation: &Operation) -> Option<u16> {
    match operation.work {
        Work::Compute { .. } if operation.stream == Some(CPU) => Some(CPU),
        Work::Compute { .. } => Some(GPU),
        Work::Send { .. } | Work::Collective { .. } => Some(GPU_COMMUNICATION),
        Work::Receive { .. } => None,
    }
}

fn comm_type(operation: Collective) -> u64 {
    match operation {
        Collective::AllReduce => 0,
        Collective::Reduce => 1,
        Collective::AllGather => 2,
        Collective::Broadcast => 5,
        Collective::AllToAll => 6,
        Collective::ReduceScatter => 7,
        Collective::Barrier => 9,
    }
}

/// A node's message while it is written.
#[derive(Default)]
struct Node(Vec<u8>);

impl Node {
    fn begin(&mut self, id: u64, name: &str, kind: Kind, dependencies: &[u64]) {
        self.integer(1, id);
        self.0.extend(text(2, name));
        self.integer(3, kind as u64);
        if !dependencies.is_empty() {
            let mut packed = Vec::new();
            dependencies.iter().for_each(|&id| varint(&mut packed, id));
            self.0.extend(field(5, &packed));
        }
    }

    fn times(&mut self, operation: &Operation, span: Option<&Span>) {
        const MICROSECOND: u64 = 1_000_000;
        let measured = span.map_or(Time::ZERO, |span| span.end.since(span.start));
        let duration = match operation.work {
            Work::Compute { duration } => duration,
            _ => measured,
        };
        self.integer(6, span.map_or(0, |span| span.start.as_ps() / MICROSECOND));
        self.integer(7, duration.as_ps() / MICROSECOND);
        if matches!(operation.work, Work::Compute { .. }) && !duration.as_ps().is_multiple_of(MICROSECOND) {
            self.attribute(DURATION_PS, AttributeKind::Uint64, duration.as_ps());
        }
    }

    fn attributes(
        &mut self,
        rank: u32,
        operation: &Operation,
        program: &Program,
        unnamed: Option<usize>,
    ) -> Result<(), &'static str> {
        let is_cpu_op = matches!(operation.work, Work::Compute { .. }) && operation.stream == Some(CPU);
        self.attribute("is_cpu_op", AttributeKind::Bool, u64::from(is_cpu_op));
        if operation.stream != usual_stream(operation) {
            // -1 in two's complement, as Protocol Buffers have it.
            self.attribute(STREAM, AttributeKind::Int64, operation.stream.map_or(u64::MAX, u64::from));
        }
        match operation.work {
            Work::Compute { .. } => {}
            Work::Send { peer, bytes, tag } => self.message(rank, peer, bytes, tag),
            Work::Receive { peer: Some(peer), bytes, tag: Some(tag) } => self.message(peer, rank, bytes, tag),
            Work::Receive { .. } => {
                return Err("it receives from any rank or with any tag; Chakra has no word for it");
            }
            Work::Collective { sizes: Sizes::Matrix(_), .. } => {
                return Err("it has a size for each pair; Chakra has one for all");
            }
            Work::Collective { operation, group, sizes: Sizes::Whole(bytes) } => {
                self.attribute("comm_type", AttributeKind::Int64, comm_type(operation));
                let ranks = program.groups.get(group as usize).map_or(1, |ranks| ranks.len().max(1) as u64);
                let parts = if operation == Collective::AllGather { ranks } else { 1 };
                self.attribute("comm_size", AttributeKind::Int64, bytes.div_ceil(parts));
                if !bytes.is_multiple_of(parts) {
                    self.attribute(TOTAL_BYTES, AttributeKind::Uint64, bytes);
                }
                if Some(group as usize) != unnamed {
                    let name = [text(1, "pg_name"), text(29, &group_name(group as usize))].concat();
                    self.0.extend(field(10, &name));
                }
            }
        }
        Ok(())
    }

    /// The kinds are those that Chakra's feeder reads (`src/feeder/et_feeder_node.cpp`).
    fn message(&mut self, src: u32, dst: u32, bytes: u64, tag: u32) {
        self.attribute("comm_size", AttributeKind::Int64, bytes);
        for (name, number) in [("comm_src", src), ("comm_dst", dst), ("comm_tag", tag)] {
            let fits = i32::try_from(number).is_ok();
            let kind = if fits { AttributeKind::Int32 } else { AttributeKind::Uint32 };
            self.attribute(name, kind, u64::from(number));
        }
    }

    fn attribute(&mut self, name: &str, kind: AttributeKind, value: u64) {
        let mut attribute = text(1, name);
        varint(&mut attribute, (kind as u64) << 3);
        varint(&mut attribute, value);
        self.0.extend(field(10, &attribute));
    }

    /// A field, which is left out where it is 0.
    fn integer(&mut self, field: u64, number: u64) {
        if number > 0 {
            varint(&mut self.0, field << 3);
            varint(&mut self.0, number);
        }
    }
}

/// A text, which is left out where it is empty.
fn text(number: u64, text: &str) -> Vec<u8> {
    if text.is_empty() { Vec::new() } else { field(number, text.as_bytes()) }
}

/// A field of any length.
fn field(number: u64, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(&mut bytes, number << 3 | 2);
    delimited(&mut bytes, content);
    bytes
}

fn delimited(to: &mut Vec<u8>, bytes: &[u8]) {
    varint(to, bytes.len() as u64);
    to.extend(bytes);
}

fn varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    to.push(exact::<u8>(number));
}

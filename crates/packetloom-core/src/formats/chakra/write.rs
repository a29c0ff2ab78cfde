//! Programs as Chakra traces.

use super::import::{CPU, GPU_COMMUNICATION};
use super::node::{DURATION_PS, Kind};
use crate::job::{Collective, Event, Operation, Problem, Program, Sizes, Span, Work};
use crate::units::Time;
use std::collections::BTreeMap;

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

/// Writes a program, with the times of a run where `spans` has them: a node's id is the operation's place.
///
/// A computation on stream 0 is the CPU's; on any other it is the GPU's, and the attribute `stream` has the number
/// if it is not 1. Operations on no stream that take no time are METADATA. Times are in whole microseconds, rounded
/// down; where a computation has more digits, `packetloom_duration_ps` has all. The size of an all-gather is the
/// total.
///
/// # Errors
/// The first operation for which Chakra has no words: it depends on the beginning of another, receives from any rank
/// or with any tag, or has a size for each pair.
pub fn write(program: &Program, spans: &[Span]) -> Result<Written, Problem> {
    let times: BTreeMap<(u32, u32), Span> =
        spans.iter().map(|span| ((span.rank, span.operation), *span)).collect();
    let everyone: Vec<u32> = (0..program.ranks.len() as u32).collect();
    // The first group of all has no name; another of the same ranks needs one, because it is another.
    let unnamed = program.groups.iter().position(|group| *group == everyone);
    let mut files = Vec::new();
    for (number, rank) in (0..).zip(&program.ranks) {
        let mut file = Vec::new();
        delimited(&mut file, &text(1, "0.0.4"));
        for (place, operation) in (0..).zip(rank.operations()) {
            let span = times.get(&(number, place));
            let name = program.names.get(operation.name as usize).map_or("", String::as_str);
            let mut node = Node::default();
            let dependencies = rank.dependencies(place);
            let written = if dependencies.iter().any(|dependency| dependency.event == Event::Begins) {
                Err("it depends on the beginning of another; Chakra has dependencies on ends alone")
            } else {
                let dependencies = dependencies.iter().map(|dependency| u64::from(dependency.on));
                node.begin(place, name, kind(operation), &dependencies.collect::<Vec<_>>());
                node.times(operation, span);
                node.attributes(number, operation, unnamed)
            };
            written.map_err(|message| Problem {
                rank: number,
                operation: Some(place),
                message: message.to_owned(),
            })?;
            delimited(&mut file, &node.0);
        }
        files.push(file);
    }
    let named = program.groups.iter().enumerate().filter(|&(place, _)| Some(place) != unnamed);
    let groups: serde_json::Map<_, _> =
        named.map(|(place, ranks)| (place.to_string(), ranks.clone().into())).collect();
    let groups = (!groups.is_empty()).then(|| serde_json::Value::Object(groups).to_string());
    Ok(Written { files, groups })
}

impl Written {
    /// The files with who is in the groups: each ends with a METADATA node that names those of its rank, as traces of
    /// PyTorch have it, so that nothing else is needed to read them.
    pub fn with_groups(mut self, program: &Program) -> Vec<Vec<u8>> {
        for (number, (file, rank)) in (0..).zip(self.files.iter_mut().zip(&program.ranks)) {
            let own = program.groups.iter().enumerate().filter(|(_, ranks)| ranks.contains(&number));
            if self.groups.is_some() {
                let groups: serde_json::Value = own.map(|(place, ranks)| named(place, ranks)).collect();
                let mut node = Node::default();
                node.begin(rank.operations().len() as u32, "process groups", Kind::Metadata, &[]);
                varint(&mut node.0, 8 << 3 | 2);
                delimited(&mut node.0, &text(1, &groups.to_string()));
                delimited(file, &node.0);
            }
        }
        self.files
    }
}

fn named(group: usize, ranks: &[u32]) -> serde_json::Value {
    serde_json::json!({ "pg_name": group.to_string(), "ranks": ranks })
}

fn kind(operation: &Operation) -> Kind {
    match operation.work {
        Work::Compute { duration: Time::ZERO } if operation.stream.is_none() => Kind::Metadata,
        Work::Compute { .. } if operation.stream == Some(GPU_COMMUNICATION) => Kind::MemLoad,
        Work::Compute { .. } => Kind::Comp,
        Work::Send { .. } => Kind::CommSend,
        Work::Receive { .. } => Kind::CommRecv,
        Work::Collective { .. } => Kind::CommColl,
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
    fn begin(&mut self, id: u32, name: &str, kind: Kind, dependencies: &[u64]) {
        self.integer(1, u64::from(id));
        self.0.extend(text(2, name));
        self.integer(3, kind as u64);
        if !dependencies.is_empty() {
            let mut packed = Vec::new();
            dependencies.iter().for_each(|&id| varint(&mut packed, id));
            varint(&mut self.0, 5 << 3 | 2);
            delimited(&mut self.0, &packed);
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
        unnamed: Option<usize>,
    ) -> Result<(), &'static str> {
        let is_cpu_op = matches!(operation.work, Work::Compute { .. }) && operation.stream == Some(CPU);
        self.attribute("is_cpu_op", AttributeKind::Bool, u64::from(is_cpu_op));
        if let Some(stream) = operation.stream.filter(|&stream| stream > GPU_COMMUNICATION) {
            self.attribute("stream", AttributeKind::Int64, u64::from(stream));
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
                self.attribute("comm_size", AttributeKind::Int64, bytes);
                if Some(group as usize) != unnamed {
                    let name = [text(1, "pg_name"), text(29, &group.to_string())].concat();
                    varint(&mut self.0, 10 << 3 | 2);
                    delimited(&mut self.0, &name);
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
        varint(&mut self.0, 10 << 3 | 2);
        delimited(&mut self.0, &attribute);
    }

    /// A field, which is left out where it is 0.
    fn integer(&mut self, field: u64, number: u64) {
        if number > 0 {
            varint(&mut self.0, field << 3);
            varint(&mut self.0, number);
        }
    }
}

fn text(field: u64, text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    if !text.is_empty() {
        varint(&mut bytes, field << 3 | 2);
        delimited(&mut bytes, text.as_bytes());
    }
    bytes
}

fn delimited(to: &mut Vec<u8>, bytes: &[u8]) {
    varint(to, bytes.len() as u64);
    to.extend(bytes);
}

fn varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

//! What was found in a trace.

use super::node::{Kind, Node};
use super::{Loose, Options};
use crate::job::{Collective, Program, Work};
use std::collections::BTreeMap;
use std::fmt;

/// What was found in a trace, and what is against it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// By rank.
    pub ranks: Vec<RankReport>,
    /// The names of the program's groups; empty for the group of all.
    pub group_names: Vec<String>,
    /// Messages that are sent and not received, or the reverse.
    pub unmatched: Vec<Unmatched>,
    /// Collective operations in which not every rank of the group takes part.
    pub partial: Vec<Partial>,
}

/// What was found in a rank's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankReport {
    /// How many nodes.
    pub nodes: usize,
    /// How many send and receive a message.
    pub messages: (usize, usize),
    /// How many collective operations of each kind.
    pub collectives: BTreeMap<Collective, usize>,
    /// How many dependencies were dropped because what they name is not there.
    pub dropped: usize,
    /// How many GPU nodes have no children and are not the last of their stream, and the first of them.
    pub loose: usize,
    /// The id of the first of them.
    pub first_loose: Option<u64>,
    /// How many computations have operations, but no time, and so take none.
    pub without_time: usize,
}

/// Messages from one rank to another with one tag, whose numbers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// The tag.
    pub tag: u32,
    /// How many are sent.
    pub sent: u64,
    /// How many are received.
    pub received: u64,
}

/// A kind of collective operation of which ranks of a group have different numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// The group's name; empty for the group of all.
    pub group: String,
    /// Which operation.
    pub operation: Collective,
    /// The rank that has the fewest, and how many.
    pub fewest: (u32, u64),
    /// The rank that has the most, and how many.
    pub most: (u32, u64),
}

impl RankReport {
    pub(super) fn of(nodes: &[Node<'_>]) -> RankReport {
        let count = |kind| nodes.iter().filter(|node| node.kind == kind).count();
        let is_without_time = |node: &&Node<'_>| {
            node.duration_micros == 0 && node.attributes.num_ops.is_some_and(|count| count > 0)
        };
        RankReport {
            nodes: nodes.len(),
            messages: (count(Kind::CommSend), count(Kind::CommRecv)),
            without_time: nodes.iter().filter(is_without_time).count(),
            ..RankReport::default()
        }
    }

    pub(super) fn note_loose(&mut self, nodes: &[Node<'_>], loose: impl Iterator<Item = u32>) {
        for place in loose {
            self.loose += 1;
            self.first_loose.get_or_insert(nodes[place as usize].id);
        }
    }
}

impl Report {
    pub(super) fn new(ranks: Vec<RankReport>, program: &Program, group_names: Vec<String>) -> Report {
        let partial = partial(program, &group_names);
        Report { ranks, group_names, unmatched: unmatched(program), partial }
    }

    /// What the trace does not say, or what was passed over of it, in words; empty if there is no such thing.
    pub fn left_out(&self) -> String {
        let sum = |of: fn(&RankReport) -> usize| self.ranks.iter().map(of).sum::<usize>();
        let without_time = match sum(|one| one.without_time) {
            0 => None,
            1 => Some("1 computation has no time and takes none".to_owned()),
            count => Some(format!("{count} computations have no time and take none")),
        };
        let dropped = match sum(|one| one.dropped) {
            0 => None,
            1 => Some("1 dependency on a node that is not there was dropped".to_owned()),
            count => Some(format!("{count} dependencies on nodes that are not there were dropped")),
        };
        [without_time, dropped].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// The first thing that is against the trace.
    pub fn problem(&self, options: &Options) -> Option<String> {
        if let Some(one) = self.partial.first() {
            return Some(one.to_string());
        }
        if let Some(one) = self.unmatched.first() {
            return Some(one.to_string());
        }
        if options.loose != Loose::Refuse {
            return None;
        }
        let (rank, one) = self.ranks.iter().enumerate().find(|(_, one)| one.loose > 0)?;
        Some(format!(
            "rank {rank}: nothing depends on {} nodes of the GPU, the first of them node {}, though their streams go \
             on: what followed them could begin too early; repair = \"chain-streams\" lets each depend on the one before \
             it, repair = \"keep\" leaves them alone",
            one.loose,
            one.first_loose.unwrap_or_default()
        ))
    }
}

fn unmatched(program: &Program) -> Vec<Unmatched> {
    let mut channels: BTreeMap<(u32, u32, u32), (u64, u64)> = BTreeMap::new();
    for (number, rank) in (0..).zip(&program.ranks) {
        for operation in rank.operations() {
            match operation.work {
                Work::Send { peer, tag, .. } => channels.entry((number, peer, tag)).or_default().0 += 1,
                Work::Receive { peer: Some(peer), tag: Some(tag), .. } => {
                    channels.entry((peer, number, tag)).or_default().1 += 1;
                }
                _ => {}
            }
        }
    }
    let differing = channels.into_iter().filter(|(_, (sent, received))| sent != received);
    differing.map(|((from, to, tag), (sent, received))| Unmatched { from, to, tag, sent, received }).collect()
}

fn partial(program: &Program, names: &[String]) -> Vec<Partial> {
    let mut counts: BTreeMap<(u32, Collective), BTreeMap<u32, u64>> = BTreeMap::new();
    for (number, rank) in (0..).zip(&program.ranks) {
        for operation in rank.operations() {
            if let Work::Collective { operation, group, .. } = operation.work {
                *counts.entry((group, operation)).or_default().entry(number).or_default() += 1;
            }
        }
    }
    let mut partial = Vec::new();
    for ((group, operation), counts) in counts {
        let of = |&rank: &u32| (rank, counts.get(&rank).copied().unwrap_or(0));
        let members = || program.groups[group as usize].iter().map(of);
        let (Some(fewest), Some(most)) =
            (members().min_by_key(|&(_, count)| count), members().max_by_key(|&(_, count)| count))
        else {
            continue;
        };
        if fewest.1 < most.1 {
            partial.push(Partial { group: names[group as usize].clone(), operation, fewest, most });
        }
    }
    partial
}

impl fmt::Display for Unmatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unmatched { from, to, tag, sent, received } = self;
        write!(
            f,
            "rank {from} sends {sent} messages with tag {tag} to rank {to}, which receives {received} such"
        )
    }
}

impl fmt::Display for Partial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Partial { group, operation, fewest, most } = self;
        match group.as_str() {
            "" => write!(f, "the group of all: ")?,
            name => write!(f, "process group {name:?}: ")?,
        }
        let name = operation.name();
        write!(f, "rank {} has {} {name} operations, rank {} {}", most.0, most.1, fewest.0, fewest.1)
    }
}

impl fmt::Display for RankReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} nodes", self.nodes)?;
        let (sent, received) = self.messages;
        let counts = [
            (sent, "sends"),
            (received, "receives"),
            (self.dropped, "dropped dependencies"),
            (self.loose, "GPU nodes without children before their stream's end"),
            (self.without_time, "computations with operations but no time"),
        ];
        let collectives = self.collectives.iter().map(|(operation, &count)| (count, operation.name()));
        for (count, name) in collectives.chain(counts).filter(|&(count, _)| count > 0) {
            write!(f, ", {count} {name}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    /// A line for each stretch of ranks of which the same is to be said, and one for each thing against the trace.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alike = |one: &RankReport, other: &RankReport| {
            let without_id = |one: &RankReport| RankReport { first_loose: None, ..one.clone() };
            without_id(one) == without_id(other)
        };
        let mut first = 0;
        for stretch in self.ranks.chunk_by(alike) {
            match stretch.len() {
                1 => write!(f, "rank {first}: ")?,
                count => write!(f, "ranks {first} to {}: ", first + count - 1)?,
            }
            writeln!(f, "{}", stretch[0])?;
            first += stretch.len();
        }
        self.partial.iter().try_for_each(|one| writeln!(f, "{one}"))?;
        self.unmatched.iter().try_for_each(|one| writeln!(f, "{one}"))
    }
}

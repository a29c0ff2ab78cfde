//! What must hold of a program before it is executed.

use super::{Collective, LONGEST, MOST_BYTES, Program, Rank, Sizes, Work};
use crate::narrow::exact;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What is wrong with a program, and at which operation of which rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The rank.
    pub rank: u32,
    /// The place of its operation, where there is one.
    pub operation: Option<u32>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operation {
            Some(operation) => write!(f, "rank {}, operation {operation}: {}", self.rank, self.message),
            None => write!(f, "rank {}: {}", self.rank, self.message),
        }
    }
}

/// A collective operation, for messages.
fn told(work: &Work) -> String {
    match work {
        Work::Collective { operation, sizes: Sizes::Whole(0), .. } => operation.name().to_owned(),
        Work::Collective { operation, sizes: Sizes::Whole(bytes), .. } => {
            format!("{} of {bytes} B", operation.name())
        }
        Work::Collective { operation, sizes: Sizes::Matrix(matrix), .. } => {
            format!("{} with the sizes of matrix {matrix}", operation.name())
        }
        _ => "an operation of one rank".to_owned(),
    }
}

/// Messages from one rank to another with one tag.
type Channel = (u32, u32, u32);

/// What is known of a channel.
#[derive(Default)]
struct Traffic {
    /// How many more messages are sent than received.
    left: i64,
    /// The largest that is sent.
    sent: u64,
    /// The largest that is received.
    received: u64,
}

impl Program {
    /// Checks that every operation can be executed: what it names is there, no operation depends on itself, the
    /// ranks of a group have the same collective operations, and what is sent is received.
    ///
    /// # Errors
    /// The first problem.
    pub fn check(&self) -> Result<(), Problem> {
        for (group, members) in self.groups.iter().enumerate() {
            self.check_group(group, members)?;
        }
        let sorted = |group: &Vec<u32>| {
            let mut members = group.clone();
            members.sort_unstable();
            members
        };
        let members: Vec<Vec<u32>> = self.groups.iter().map(sorted).collect();
        for (number, rank) in (0..).zip(&self.ranks) {
            let problem = |operation, message: String| Problem { rank: number, operation, message };
            for (place, operation) in (0..).zip(rank.operations()) {
                self.check_work(number, &operation.work, &members)
                    .map_err(|message| problem(Some(place), message))?;
            }
            rank.check_order().map_err(|(place, message)| problem(Some(place), message))?;
        }
        self.check_collectives()?;
        self.check_messages()
    }

    fn check_group(&self, group: usize, members: &[u32]) -> Result<(), Problem> {
        let problem = |rank, message| Err(Problem { rank, operation: None, message });
        let mut seen = BTreeSet::new();
        for &rank in members {
            if rank as usize >= self.ranks.len() {
                return problem(
                    rank,
                    format!("is in group {group}, but there are {} ranks", self.ranks.len()),
                );
            }
            if !seen.insert(rank) {
                return problem(rank, format!("is twice in group {group}"));
            }
        }
        Ok(())
    }

    /// Checks an operation; `groups` are those of the program, sorted.
    fn check_work(&self, rank: u32, work: &Work, groups: &[Vec<u32>]) -> Result<(), String> {
        let check_peer = |peer: u32| match peer {
            peer if peer as usize >= self.ranks.len() => {
                Err(format!("the peer is rank {peer}, but there are {} ranks", self.ranks.len()))
            }
            peer if peer == rank => Err("the peer is the rank itself".to_owned()),
            _ => Ok(()),
        };
        match *work {
            Work::Compute { duration } if duration > LONGEST => {
                Err(format!("computes for {duration}; write at most {LONGEST}"))
            }
            Work::Compute { .. } => Ok(()),
            Work::Send { bytes, .. } | Work::Receive { bytes, .. } if bytes > MOST_BYTES => {
                Err(format!("a message of {bytes} B; write at most {MOST_BYTES}"))
            }
            Work::Send { bytes: 0, .. } => Err("sends 0 B; a message has 1 B at least".to_owned()),
            Work::Send { peer, .. } => check_peer(peer),
            Work::Receive { peer, .. } => peer.map_or(Ok(()), check_peer),
            Work::Collective { operation, group, sizes } => {
                let Some(members) = groups.get(group as usize) else {
                    return Err(format!("there is no group {group}"));
                };
                if members.binary_search(&rank).is_err() {
                    return Err(format!("is not a member of group {group}"));
                }
                self.check_sizes(operation, members.len(), sizes)
            }
        }
    }

    fn check_sizes(&self, operation: Collective, ranks: usize, sizes: Sizes) -> Result<(), String> {
        match sizes {
            Sizes::Whole(0) if operation != Collective::Barrier && ranks > 1 => {
                Err(format!("{} of 0 B; write more", operation.name()))
            }
            Sizes::Whole(bytes) if bytes > MOST_BYTES => {
                Err(format!("{} of {bytes} B; write at most {MOST_BYTES}", operation.name()))
            }
            Sizes::Whole(_) => Ok(()),
            Sizes::Matrix(_) if operation != Collective::AllToAll => {
                Err(format!("{} has one size, not one for each pair", operation.name()))
            }
            Sizes::Matrix(matrix) => match self.matrices.get(matrix as usize) {
                Some(sizes) if sizes.iter().any(|&bytes| bytes > MOST_BYTES) => {
                    Err(format!("has a message of more than {MOST_BYTES} B, the most there may be"))
                }
                Some(sizes) if sizes.len() == ranks * ranks => Ok(()),
                Some(sizes) => {
                    Err(format!("has {} sizes for {ranks} ranks; write {}", sizes.len(), ranks * ranks))
                }
                None => Err(format!("there is no matrix {matrix}")),
            },
        }
    }

    /// Every rank of a group must have the same collective operations in the same order.
    fn check_collectives(&self) -> Result<(), Problem> {
        let mut sequences: Vec<BTreeMap<u32, Vec<(u32, Work)>>> = vec![BTreeMap::new(); self.groups.len()];
        for (number, rank) in (0..).zip(&self.ranks) {
            for (place, operation) in (0..).zip(rank.operations()) {
                if let work @ Work::Collective { group, .. } = operation.work {
                    sequences[group as usize].entry(number).or_default().push((place, work));
                }
            }
        }
        for (members, sequences) in self.groups.iter().zip(sequences) {
            let of = |rank: &u32| sequences.get(rank).map_or(&[][..], |all| &all[..]);
            let Some(first) = members.first() else { continue };
            for rank in members {
                let differs = of(first).iter().zip(of(rank)).find(|((_, one), (_, other))| one != other);
                if let Some(((_, expected), (place, found))) = differs {
                    let (expected, found) = (told(expected), told(found));
                    let message = format!("has {found} where rank {first} of its group has {expected}");
                    return Err(Problem { rank: *rank, operation: Some(*place), message });
                }
                let (here, there) = (of(rank).len(), of(first).len());
                if here != there {
                    let message = format!(
                        "has {here} collective operations of a group of which rank {first} has {there}"
                    );
                    return Err(Problem { rank: *rank, operation: None, message });
                }
            }
        }
        Ok(())
    }

    /// Every message must have a receive, and every receive a message, as far as that can be known: where a rank
    /// receives from any rank or with any tag, only numbers are compared; elsewhere the largest message must not be
    /// larger than the largest receive, too.
    fn check_messages(&self) -> Result<(), Problem> {
        let mut channels: BTreeMap<Channel, Traffic> = BTreeMap::new();
        let mut open: BTreeMap<u32, i64> = BTreeMap::new();
        let mut takes_any = BTreeSet::new();
        for (number, rank) in (0..).zip(&self.ranks) {
            for operation in rank.operations() {
                match operation.work {
                    Work::Send { peer, tag, bytes } => {
                        let channel = channels.entry((number, peer, tag)).or_default();
                        channel.left += 1;
                        channel.sent = channel.sent.max(bytes);
                        *open.entry(peer).or_default() += 1;
                    }
                    Work::Receive { peer, tag, bytes } => {
                        *open.entry(number).or_default() -= 1;
                        if let (Some(peer), Some(tag)) = (peer, tag) {
                            let channel = channels.entry((peer, number, tag)).or_default();
                            channel.left -= 1;
                            channel.received = channel.received.max(bytes);
                        } else {
                            takes_any.insert(number);
                        }
                    }
                    _ => {}
                }
            }
        }
        for (rank, left) in open {
            if left != 0 {
                let what = if left > 0 {
                    "messages are sent to it that it does not receive"
                } else {
                    "messages are received that nobody sends"
                };
                return Err(Problem { rank, operation: None, message: format!("{} {what}", left.abs()) });
            }
        }
        for ((from, rank, tag), Traffic { left, sent, received }) in channels {
            let of = format!("from rank {from} with tag {tag}");
            let message = if left < 0 {
                format!("{} messages {of} are received but not sent", -left)
            } else if left == 0 && sent > received && !takes_any.contains(&rank) {
                format!("a message {of} has {sent} B, but {received} B at most are received; write as many")
            } else {
                continue;
            };
            return Err(Problem { rank, operation: None, message });
        }
        Ok(())
    }
}

impl Rank {
    /// What an operation depends on must be there, and must not depend on it.
    fn check_order(&self) -> Result<(), (u32, String)> {
        let count = self.operations().len();
        let mut left = vec![0_u32; count];
        let mut dependents: Vec<Vec<u32>> = vec![Vec::new(); count];
        for place in 0..exact::<u32>(count) {
            for dependency in self.dependencies(place) {
                let Some(of) = dependents.get_mut(dependency.on as usize) else {
                    return Err((
                        place,
                        format!("depends on operation {}, which is not there", dependency.on),
                    ));
                };
                of.push(place);
                left[place as usize] += 1;
            }
        }
        let mut ready: Vec<u32> =
            (0..exact::<u32>(count)).filter(|&place| left[place as usize] == 0).collect();
        while let Some(place) = ready.pop() {
            for &dependent in &dependents[place as usize] {
                left[dependent as usize] -= 1;
                if left[dependent as usize] == 0 {
                    ready.push(dependent);
                }
            }
        }
        match left.iter().position(|&left| left > 0) {
            Some(place) => Err((exact::<u32>(place), "depends on itself, by way of others".to_owned())),
            None => Ok(()),
        }
    }
}

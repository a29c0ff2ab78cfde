//! LogGOPSim's binary schedules, as its `txt2bin` writes them: little endian, without gaps between fields.
//!
//! After the number 4223 (u64) come the number of ranks (u32) and the highest cpu and nic (u8 each); for each rank
//! the start and the end of its part (u64 each, from the byte after the first number). A part has the numbers of
//! nodes and of roots (u32 each), the roots' places (u32), the nodes of 39 bytes, and an appendix of nodes' places
//! (u32), of which each node names a stretch for those that depend on its end, and one for those that depend on its
//! start.
//!
//! Parts follow each other, and no place of an appendix is named by two nodes: so what is kept is in proportion to
//! the file.

use super::FileError;
use super::goal::{Options, duration, told};
use super::names::Names;
use crate::job::{Dependency, Event, Operation, Program, Rank, Work};
use crate::narrow::exact;
use crate::units::Time;
use std::ops::Range;

const MAGIC: u64 = 4223;
/// LogGOPSim leaves this in a file that it runs, because it counts down in it.
const USED: u64 = 2342;
const MAGIC_BYTES: usize = 8;
const NODE_BYTES: usize = 39;
const ANY: u32 = u32::MAX;

/// Whether a file begins like a binary schedule.
pub fn is_binary(content: &[u8]) -> bool {
    let first = content.first_chunk().map(|&bytes| u64::from_le_bytes(bytes));
    matches!(first, Some(MAGIC | USED))
}

/// Reads the file.
///
/// # Errors
/// What is wrong, with the byte.
pub fn read(content: &[u8], options: &Options) -> Result<Program, FileError> {
    let content = Content(content);
    if content.number::<8>(0, "the first number")? == USED {
        let message = "the first number is 2342: LogGOPSim used this file up; make it again with txt2bin";
        return Err(FileError::at_byte(0, message));
    }
    let ranks = content.number::<4>(MAGIC_BYTES, "the number of ranks")?;
    let table = MAGIC_BYTES + 4 + 2;
    let parts = table + usize::try_from(ranks).unwrap_or(usize::MAX).saturating_mul(16);
    if ranks == 0 || parts > content.0.len() {
        let message = format!("{ranks} ranks, for which the file's {} bytes are no table", content.0.len());
        return Err(FileError::at_byte(MAGIC_BYTES as u64, message));
    }
    let mut names = Names::default();
    let mut program = Program::default();
    let mut nodes_at = Vec::new();
    let mut end = parts;
    for rank in 0..exact::<usize>(ranks) {
        let part = content.part(table + 16 * rank, end)?;
        end = part.end;
        let part = Part::new(Content(&content.0[..part.end]), part.start)?;
        nodes_at.push(part.nodes);
        program.ranks.push(part.rank(options.unit, &mut names)?);
    }
    program.names = names.all();
    program.check().map_err(|problem| {
        let at = problem.operation.map(|place| nodes_at[problem.rank as usize] + NODE_BYTES * place as usize);
        told(&problem, |message| match at {
            Some(at) => FileError::at_byte(at as u64, message),
            None => FileError::whole(message),
        })
    })?;
    Ok(program)
}

/// The file's bytes, or those up to the end of a part.
#[derive(Clone, Copy)]
struct Content<'a>(&'a [u8]);

impl Content<'_> {
    /// The number of so many bytes there.
    fn number<const BYTES: usize>(self, at: usize, what: &str) -> Result<u64, FileError> {
        let bytes = at.checked_add(BYTES).and_then(|end| self.0.get(at..end));
        let bytes = bytes.ok_or_else(|| {
            FileError::at_byte(at as u64, format!("there should be {what}, but at {} it ends", self.0.len()))
        })?;
        Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// The part that the table's entry at `at` says, which may begin at `first`.
    fn part(self, at: usize, first: usize) -> Result<Range<usize>, FileError> {
        let place = |at| {
            let number = self.number::<8>(at, "a place in the file")?;
            Ok(usize::try_from(number)
                .ok()
                .and_then(|number| number.checked_add(MAGIC_BYTES))
                .unwrap_or(usize::MAX))
        };
        let (start, end) = (place(at)?, place(at + 8)?);
        if start < first || end < start || end > self.0.len() {
            let message = format!(
                "a rank's part goes from byte {start} to {end}; parts follow each other from byte {first} to the \
                 file's end at {}",
                self.0.len()
            );
            return Err(FileError::at_byte(at as u64, message));
        }
        Ok(start..end)
    }
}

/// The part of a rank: where its nodes begin, and its appendix.
struct Part<'a> {
    content: Content<'a>,
    roots: usize,
    nodes: usize,
    count: usize,
    appendix: usize,
    /// How many places the appendix has.
    places: usize,
}

impl<'a> Part<'a> {
    fn new(content: Content<'a>, start: usize) -> Result<Part<'a>, FileError> {
        let count = exact::<usize>(content.number::<4>(start, "the number of nodes")?);
        let roots_count = exact::<usize>(content.number::<4>(start + 4, "the number of roots")?);
        let roots = start + 8;
        let nodes = roots.saturating_add(roots_count.saturating_mul(4));
        let appendix = nodes.saturating_add(count.saturating_mul(NODE_BYTES));
        let end = content.0.len();
        if roots_count > count || appendix > end {
            let message = format!(
                "{count} nodes and {roots_count} roots, but the rank's part goes on for {} bytes",
                end - roots
            );
            return Err(FileError::at_byte(start as u64, message));
        }
        if !(end - appendix).is_multiple_of(4) {
            let message = format!("an appendix of {} bytes, which are no whole places of 4", end - appendix);
            return Err(FileError::at_byte(appendix as u64, message));
        }
        Ok(Part { content, roots, nodes, count, appendix, places: (end - appendix) / 4 })
    }

    fn node(&self, place: usize) -> usize {
        self.nodes + NODE_BYTES * place
    }

    fn rank(&self, unit: Time, names: &mut Names) -> Result<Rank, FileError> {
        let mut edges = self.edges()?;
        edges.sort_by_key(|&(place, _)| place);
        let mut rest = edges.as_slice();
        let mut rank = Rank::default();
        for place in 0..self.count {
            let (own, others) = rest.split_at(rest.partition_point(|&(of, _)| of as usize == place));
            rest = others;
            let said = self.content.number::<4>(self.node(place), "the number of dependencies")?;
            if said != own.len() as u64 {
                let message = format!(
                    "node {place} has {said} dependencies, but {} nodes name it as theirs",
                    own.len()
                );
                return Err(FileError::at_byte(self.node(place) as u64, message));
            }
            rank.add(self.operation(place, unit, names)?, own.iter().map(|&(_, dependency)| dependency));
        }
        self.check_roots(&rank)?;
        Ok(rank)
    }

    /// Which node depends on what.
    fn edges(&self) -> Result<Vec<(u32, Dependency)>, FileError> {
        let mut edges = Vec::new();
        for place in 0..self.count {
            let at = self.node(place) + 23;
            for (at, event) in [(at, Event::Ends), (at + 8, Event::Begins)] {
                let count = exact::<usize>(self.content.number::<4>(at, "the number of dependents")?);
                let first = exact::<usize>(self.content.number::<4>(at + 4, "the first dependent")?);
                if count == 0 {
                    continue;
                }
                if count.saturating_add(first) > self.places || edges.len() + count > self.places {
                    let message = format!(
                        "node {place} has {count} dependents from place {first} of an appendix of {}, each of \
                         which is for one node",
                        self.places
                    );
                    return Err(FileError::at_byte(at as u64, message));
                }
                for index in first..first + count {
                    let at = self.appendix + 4 * index;
                    let dependent = self.content.number::<4>(at, "a dependent")?;
                    if dependent >= self.count as u64 {
                        let message = format!("there is no node {dependent} among {}", self.count);
                        return Err(FileError::at_byte(at as u64, message));
                    }
                    edges.push((exact::<u32>(dependent), Dependency { on: exact::<u32>(place), event }));
                }
            }
        }
        Ok(edges)
    }

    fn operation(&self, place: usize, unit: Time, names: &mut Names) -> Result<Operation, FileError> {
        let at = self.node(place);
        let kind = self.content.number::<1>(at + 4, "the kind")?;
        let peer = exact::<u32>(self.content.number::<4>(at + 5, "the peer")?);
        let size = self.content.number::<8>(at + 9, "the size")?;
        let tag = exact::<u32>(self.content.number::<4>(at + 17, "the tag")?);
        let cpu = self.content.number::<1>(at + 21, "the cpu")?;
        let any = |number: u32| (number != ANY).then_some(number);
        let error = |message: String| FileError::at_byte(at as u64, message);
        let (work, name) = match kind {
            1 if tag == ANY => {
                return Err(error(format!("node {place}: a send has a tag of its own; only recv takes any")));
            }
            1 => (Work::Send { peer, bytes: size.max(1), tag }, "send"),
            2 => (Work::Receive { peer: any(peer), bytes: size.max(1), tag: any(tag) }, "recv"),
            3 => (Work::Compute { duration: duration(size, unit).map_err(error)? }, "calc"),
            _ => return Err(error(format!("node {place} is of kind {kind}; 1 is send, 2 recv, 3 calc"))),
        };
        Ok(Operation { work, stream: Some(exact::<u16>(cpu)), name: names.place(name) })
    }

    /// The roots are those that depend on nothing.
    fn check_roots(&self, rank: &Rank) -> Result<(), FileError> {
        let mut at = self.roots;
        let is_root = |place: &u32| rank.dependencies(*place).is_empty();
        for place in (0..exact::<u32>(self.count)).filter(is_root) {
            if at == self.nodes || self.content.number::<4>(at, "a root")? != u64::from(place) {
                let message =
                    format!("the roots are not the nodes without dependencies: here should be {place}");
                return Err(FileError::at_byte(at as u64, message));
            }
            at += 4;
        }
        if at < self.nodes {
            return Err(FileError::at_byte(at as u64, "a root that depends on others, or is listed twice"));
        }
        Ok(())
    }
}

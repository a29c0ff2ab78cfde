//! GOAL schedules (Hoefler et al., "LogGOPSim", LSAP 2010), as text and as LogGOPSim's `txt2bin` packs them.
//!
//! The text has `num_ranks n` and a block `rank r { ... }` for each rank. A line of it is an operation, perhaps after
//! a label and a colon: `send 8b to 1 tag 2 cpu 0 nic 0`, `recv 8b from 0 tag 2` or `calc 100`; or a dependency:
//! `a requires b` when a begins after b ended, `a irequires b` when it begins after b began. Labels belong to their
//! rank and are defined before they are used; `-1` is any source or any tag of a `recv`.
//!
//! Operations of one `cpu` are executed one at a time: it is their stream. The number after `nic` is read and not
//! used, because the scenario says which ports a host has. A message of 0 bytes is read as one of 1: its header is
//! sent, and here no message is without a byte. The unit of `calc` is that of LogGOPSim's parameters, nanoseconds in
//! its defaults, and an option here.

use super::goal_lexer::{Lexer, Token};
use super::names::Names;
use super::{FileError, goal_binary, text};
use crate::job::{Dependency, LONGEST, Operation, Problem, Program, Rank, Work};
use crate::narrow::exact;
use crate::units::Time;
use std::collections::BTreeMap;

/// How a schedule is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What one of `calc` takes.
    pub unit: Time,
}

impl Default for Options {
    fn default() -> Options {
        Options { unit: Time::from_ns(1) }
    }
}

/// Reads a schedule, text or binary: that begins with the number 4223. What is kept of it is at most 100 times as
/// large as the file.
///
/// # Errors
/// What is wrong, with the line or byte; and what [`Program::check`] finds.
pub fn read(content: &[u8], options: &Options) -> Result<Program, FileError> {
    if goal_binary::is_binary(content) {
        goal_binary::read(content, options)
    } else {
        read_text(text(content)?, options)
    }
}

/// Reads the text of a schedule.
///
/// # Errors
/// As [`read`].
pub fn read_text(text: &str, options: &Options) -> Result<Program, FileError> {
    let mut reader = Reader {
        lexer: Lexer::new(text)?,
        unit: options.unit,
        ranks: BTreeMap::new(),
        names: Names::default(),
    };
    let count = reader.file()?;
    let last_line = reader.lexer.line();
    let mut program = Program::default();
    let mut lines = Vec::new();
    for (expected, (number, block)) in (0..).zip(reader.ranks) {
        if number != expected {
            return Err(missing(expected, count, last_line));
        }
        let (rank, its_lines) = block.finish();
        program.ranks.push(rank);
        lines.push(its_lines);
    }
    if (program.ranks.len() as u64) < u64::from(count) {
        return Err(missing(exact::<u32>(program.ranks.len()), count, last_line));
    }
    program.names = reader.names.all();
    program.check().map_err(|problem| {
        let line = problem.operation.map(|place| lines[problem.rank as usize][place as usize] as usize);
        told(&problem, |message| {
            line.map_or(FileError::whole(message.clone()), |line| FileError::new(line, message))
        })
    })?;
    Ok(program)
}

fn missing(rank: u32, count: u32, line: usize) -> FileError {
    FileError::new(
        line,
        format!("rank {rank} of {count} has no block; write `rank {rank} {{ }}` if it does nothing"),
    )
}

/// What [`Program::check`] found, where the file has it.
pub(super) fn told(problem: &Problem, place: impl FnOnce(String) -> FileError) -> FileError {
    place(format!("rank {}: {}", problem.rank, problem.message))
}

/// How long `calc` takes.
pub(super) fn duration(units: u64, unit: Time) -> Result<Time, String> {
    let ps = units.checked_mul(unit.as_ps()).filter(|&ps| ps <= LONGEST.as_ps());
    ps.map(Time).ok_or_else(|| format!("calc {units} takes longer than {LONGEST}, the most there may be"))
}

/// A rank while it is read.
#[derive(Default)]
struct Block<'a> {
    operations: Vec<(Operation, u32)>,
    /// Of each dependency the operation that has it.
    dependencies: Vec<(u32, Dependency)>,
    labels: BTreeMap<&'a str, u32>,
}

impl Block<'_> {
    /// The rank, and the line of each operation.
    fn finish(mut self) -> (Rank, Vec<u32>) {
        self.dependencies.sort_by_key(|&(place, _)| place);
        let mut rest = self.dependencies.as_slice();
        let (mut rank, mut lines) = (Rank::default(), Vec::with_capacity(self.operations.len()));
        for (place, (operation, line)) in (0..).zip(self.operations) {
            let (own, others) = rest.split_at(rest.partition_point(|&(of, _)| of == place));
            rest = others;
            rank.add(operation, own.iter().map(|&(_, dependency)| dependency));
            lines.push(line);
        }
        (rank, lines)
    }
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    unit: Time,
    ranks: BTreeMap<u32, Block<'a>>,
    names: Names,
}

impl<'a> Reader<'a> {
    /// How many ranks the file says there are.
    fn file(&mut self) -> Result<u32, FileError> {
        self.lexer.skip_line_ends()?;
        self.lexer.expect(Token::Word("num_ranks"), "`num_ranks`")?;
        let line = self.lexer.line();
        let count: u32 = self.lexer.number("the number of ranks")?;
        if count == 0 {
            return Err(FileError::new(line, "no ranks; write how many there are"));
        }
        self.lexer.skip_line_ends()?;
        while self.lexer.peek() != Token::End {
            self.block(count)?;
            self.lexer.skip_line_ends()?;
        }
        Ok(count)
    }

    fn block(&mut self, count: u32) -> Result<(), FileError> {
        self.lexer.expect(Token::Word("rank"), "`rank`")?;
        let line = self.lexer.line();
        let rank: u32 = self.lexer.number("a rank")?;
        if rank >= count {
            return Err(FileError::new(line, format!("rank {rank}, but there are {count} ranks")));
        }
        if self.ranks.contains_key(&rank) {
            return Err(FileError::new(line, format!("rank {rank} has two blocks; write all in one")));
        }
        self.lexer.skip_line_ends()?;
        self.lexer.expect(Token::Mark('{'), "`{`")?;
        let mut block = Block::default();
        loop {
            self.lexer.skip_line_ends()?;
            if self.lexer.take_if(Token::Mark('}'))? {
                self.ranks.insert(rank, block);
                return Ok(());
            }
            self.statement(rank, &mut block)?;
            if !matches!(self.lexer.peek(), Token::LineEnd | Token::Mark('}')) {
                return Err(self.lexer.unexpected("the end of the line"));
            }
        }
    }

    fn statement(&mut self, rank: u32, block: &mut Block<'a>) -> Result<(), FileError> {
        let line = self.lexer.line();
        let Token::Word(word) = self.lexer.peek() else {
            return Err(self.lexer.unexpected("`send`, `recv`, `calc`, a label or `}`"));
        };
        if matches!(word, "send" | "recv" | "calc") {
            return self.operation(None, block);
        }
        self.lexer.take()?;
        match self.lexer.peek() {
            Token::Mark(':') => {
                self.lexer.take()?;
                if let Some(&first) = block.labels.get(word) {
                    let (_, first) = block.operations[first as usize];
                    return Err(FileError::new(line, format!("{word:?} is a label in line {first} already")));
                }
                block.labels.insert(word, exact::<u32>(block.operations.len()));
                self.operation(Some(word), block)
            }
            Token::Word(verb @ ("requires" | "irequires")) => {
                self.lexer.take()?;
                let place = label(block, rank, word, line)?;
                let Token::Word(other) = self.lexer.peek() else {
                    return Err(self.lexer.unexpected("a label"));
                };
                self.lexer.take()?;
                let on = label(block, rank, other, line)?;
                let dependency =
                    if verb == "requires" { Dependency::on_end(on) } else { Dependency::on_begin(on) };
                block.dependencies.push((place, dependency));
                Ok(())
            }
            _ => Err(self.lexer.unexpected(&format!("`:`, `requires` or `irequires` after {word:?}"))),
        }
    }

    fn operation(&mut self, name: Option<&'a str>, block: &mut Block<'a>) -> Result<(), FileError> {
        let line = self.lexer.line();
        let verb = match self.lexer.peek() {
            Token::Word(verb @ ("send" | "recv" | "calc")) => verb,
            _ => return Err(self.lexer.unexpected("`send`, `recv` or `calc`")),
        };
        self.lexer.take()?;
        let work = if verb == "calc" {
            let units = self.lexer.number("the time")?;
            let duration = duration(units, self.unit).map_err(|message| FileError::new(line, message))?;
            Work::Compute { duration }
        } else {
            self.message(verb == "send")?
        };
        let cpu: u8 = self.option("cpu")?.unwrap_or(0);
        if verb != "calc" {
            self.option::<u8>("nic")?;
        }
        let name = self.names.place(name.unwrap_or(verb));
        block.operations.push((Operation { work, stream: Some(u16::from(cpu)), name }, exact::<u32>(line)));
        Ok(())
    }

    fn message(&mut self, is_send: bool) -> Result<Work, FileError> {
        let bytes = self.lexer.number::<u64>("the size")?.max(1);
        self.lexer.expect(Token::Word("b"), "`b` after the size")?;
        let way = if is_send { "to" } else { "from" };
        self.lexer.expect(Token::Word(way), &format!("`{way}`"))?;
        let any = Token::Number("-1");
        if is_send {
            let peer = self.lexer.number("the peer")?;
            let has_tag = self.lexer.take_if(Token::Word("tag"))?;
            if has_tag && self.lexer.peek() == any {
                let message = "a send has a tag of its own; only recv takes any, which is -1";
                return Err(FileError::new(self.lexer.line(), message));
            }
            let tag = if has_tag { self.lexer.number("tag")? } else { 0 };
            return Ok(Work::Send { peer, bytes, tag });
        }
        let peer = if self.lexer.take_if(any)? { None } else { Some(self.lexer.number("the peer")?) };
        let tag = match self.lexer.take_if(Token::Word("tag"))? {
            true if self.lexer.take_if(any)? => None,
            true => Some(self.lexer.number("tag")?),
            false => Some(0),
        };
        Ok(Work::Receive { peer, bytes, tag })
    }

    fn option<T: TryFrom<u64>>(&mut self, name: &str) -> Result<Option<T>, FileError> {
        if self.lexer.take_if(Token::Word(name))? { self.lexer.number(name).map(Some) } else { Ok(None) }
    }
}

fn label(block: &Block<'_>, rank: u32, label: &str, line: usize) -> Result<u32, FileError> {
    let found = block.labels.get(label).copied();
    found.ok_or_else(|| FileError::new(line, format!("{label:?} is no label of rank {rank} above this line")))
}

#[cfg(test)]
#[path = "goal_tests.rs"]
mod tests;

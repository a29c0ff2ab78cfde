//! Other simulators' files, read unchanged: one module for each format. The result is plain figures, or a program of
//! a job; `topology` and `workload` decide what they mean for a network or its traffic.

pub mod chakra;
pub mod chrome_trace;
#[cfg(test)]
mod examples;
mod fields;
pub mod goal;
mod goal_binary;
mod goal_lexer;
pub mod hpcc_flows;
pub mod hpcc_topology;
pub mod htsim_connections;
pub mod htsim_topology;
mod names;
pub mod simai;

use crate::files::{self, MOST_LIST_BYTES};
use std::path::Path;

/// Where in a file something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// A line, from 1.
    Line(usize),
    /// A byte, from 0, of what the file holds; of what it unpacks to where it is compressed.
    Byte(u64),
    /// No place of its own: the message says what is meant.
    Whole,
}

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// Where.
    pub at: At,
    /// What is wrong and what to write.
    pub message: String,
}

impl FileError {
    /// Something wrong in a line.
    pub fn new(line: usize, message: impl Into<String>) -> FileError {
        FileError { at: At::Line(line), message: message.into() }
    }

    /// Something wrong at a byte.
    pub fn at_byte(byte: u64, message: impl Into<String>) -> FileError {
        FileError { at: At::Byte(byte), message: message.into() }
    }

    /// Something wrong with the whole.
    pub fn whole(message: impl Into<String>) -> FileError {
        FileError { at: At::Whole, message: message.into() }
    }

    /// The message with the file's name before it.
    pub fn of(&self, file: &str) -> String {
        match self.at {
            At::Line(line) => format!("{file}:{line}: {}", self.message),
            At::Byte(byte) => format!("{file}: at byte {byte}: {}", self.message),
            At::Whole => format!("{file}: {}", self.message),
        }
    }
}

/// Reads a file that a scenario names under the key `file`, by one of the readers here.
///
/// # Errors
/// What is wrong, with the file's name and the line.
pub fn read<T>(
    file: &str,
    reader: impl FnOnce(&str) -> Result<T, FileError>,
) -> Result<T, crate::spec::Complaint> {
    let complain = |message: String| crate::spec::Complaint::new("file", message);
    let text = files::read_text(Path::new(file), MOST_LIST_BYTES)
        .map_err(|error| complain(format!("{file}: {error}")))?;
    reader(&text).map_err(|error| complain(error.of(file)))
}

/// Reads a file that a scenario names under the key `file`, which need not be a text.
///
/// # Errors
/// What is wrong, with the file's name and the line or byte.
pub fn read_bytes<T>(
    file: &str,
    reader: impl FnOnce(&[u8]) -> Result<T, FileError>,
) -> Result<T, crate::spec::Complaint> {
    let complain = |message: String| crate::spec::Complaint::new("file", message);
    let content = files::read(Path::new(file), MOST_LIST_BYTES)
        .map_err(|error| complain(format!("{file}: {error}")))?;
    reader(&content).map_err(|error| complain(error.of(file)))
}

/// What a text file holds.
fn text(content: &[u8]) -> Result<&str, FileError> {
    std::str::from_utf8(content).map_err(|error| {
        let byte = error.valid_up_to() as u64;
        FileError::at_byte(byte, "it is not a text file: this is not UTF-8")
    })
}

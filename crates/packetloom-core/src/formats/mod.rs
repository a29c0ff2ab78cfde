//! Other simulators' files, read unchanged: one module for each format. The result is plain figures; `topology` and
//! `workload` decide what they mean for a network or its traffic.

mod fields;
pub mod hpcc_flows;
pub mod hpcc_topology;
pub mod htsim_connections;
pub mod htsim_topology;

use crate::files::{self, MOST_LIST_BYTES};
use std::path::Path;

/// What is wrong with a file, and in which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what to write.
    pub message: String,
}

impl FileError {
    /// Something wrong in a line.
    pub fn new(line: usize, message: impl Into<String>) -> FileError {
        FileError { line, message: message.into() }
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
    reader(&text).map_err(|error| complain(format!("{file}:{}: {}", error.line, error.message)))
}

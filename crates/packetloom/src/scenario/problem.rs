//! What is wrong with a scenario: where, what, and what to write instead.

use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1, where the scenario is a file of lines.
    pub line: Option<usize>,
    /// The dotted key, such as `scheme[1].transport.min_rto`; empty where it is the file as a whole.
    pub key: String,
    /// What is wrong and what to write instead.
    pub message: String,
}

/// All that is wrong with a scenario, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    /// The file, or what else the scenario came from.
    pub source: String,
    /// At least one.
    pub problems: Vec<Problem>,
}

impl Problems {
    /// What is wrong with `source`, in the order of its lines.
    pub(super) fn new(source: &str, mut problems: Vec<Problem>) -> Problems {
        problems.sort_by_key(|problem| problem.line);
        Problems { source: source.to_owned(), problems }
    }

    /// One problem with `source` as a whole, or with one of its lines.
    pub(super) fn one(source: &str, line: Option<usize>, message: impl Into<String>) -> Problems {
        Problems::new(source, vec![Problem { line, key: String::new(), message: message.into() }])
    }
}

/// `fabric.toml:12: scheme[1].transport.min_rto: "200" has no unit; write a time such as "200us"`.
pub(super) fn line_of_text(source: &str, problem: &Problem) -> String {
    let line = problem.line.map_or(String::new(), |line| format!(":{line}"));
    let key = if problem.key.is_empty() { String::new() } else { format!("{}: ", problem.key) };
    format!("{source}{line}: {key}{}", problem.message)
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> =
            self.problems.iter().map(|problem| line_of_text(&self.source, problem)).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Problems {}
